#!/usr/bin/env bats
# tilecc test: the `test` blocks of a source.

load helper

setup_file() {
    cat >"$BATS_FILE_TMPDIR/t.tile" <<'TILE'
struct norm { eps: f32; rows: i32; }
enum way { up, down = 4 }
const K = 3;
fn reference<T>(x: T[M, N]) -> T[M, N] {
    let e = exp(x - max(x, axis = 1)[:, None]);
    return e / sum(e, axis = 1)[:, None];
}
kernel saxpy(a: f32, x: in f32[N], y: inout f32[N]) grid(b: cdiv(N, B)) tune(B: {64, 256} = 64)
{
    y[b*B +: B] = a * x[b*B +: B] + y[b*B +: B];
}
kernel softmax<T: {f32, f16}>(x: in T[M, N], y: out T[M, N]) const(B: 16..=4096 step *2 >= N) grid(r: M)
{
    let v = f32(load(x[r, 0 +: B], other = -inf));
    let e = exp(v - max(v));
    y[r, 0 +: B] = T(e / sum(e));
}
kernel parts<D: {2, 4}>(p: norm, x: in i32[N], m: way, bias: in? i32[N], r: out i64[D], s: out i32[N])
    grid(i: 1)
    requires(p.eps > 0.0)
{
    r[0] = i64(p.rows);
    r[1] = D;
    for j in 0..N if (j != 2) s[j] = x[j] + bias[j] + (m == way.down ? i32(1) : 0);
}
kernel told(x: in f32[N], r: out f32[L]) grid(i: L) { print("i {}", i); r[i] = x[0]; assert(x[0] >= 0.0, "x is {}", x[0]); }
TILE
}

# Appends the tests given to the kernels and runs them.
tests() {
    { cat "$BATS_FILE_TMPDIR/t.tile"; cat; } >t.tile
    run --separate-stderr "$TILECC" test "$@" t.tile
}

@test "views of 4-bit elements are tensors of elements" {
    cat >fours.tile <<'TILE'
kernel fours(x: in i4[M, N], y: out u4[M, N], z: out i8[M, N]) grid(m: M)
{
    y[m, 0 +: 8] = u8(x[m, 0 +: 8] + 8);
    z[m, 0 +: 8] = x[m, 0 +: 8];
}
test "fours" {
    let x = [[-8, 7, 0, -1, 3, 2], [1, -2, 3, -4, 5, -6]];
    let y, z = fours(x);
    expect(y, x + 8);
    expect(z, x);
}
TILE
    "$TILECC" test fours.tile
    echo 'test "too large" { let y, z = fours([[8, 0]]); } test "odd" { let y, z = fours([[1, 2, 3]]); }' >>fours.tile
    ! "$TILECC" test fours.tile 2>log || false
    grep -qF '`x` is given 8, which is no i4' log
    grep -qF 'two a byte, and the last extent of `x` is 3' log
}

@test "kernels against references, by position and by name, of several types" {
    tests <<'TILE'
test "saxpy" {
    for n in 1..400 step 133 {
        let x = normal(f32[n], seed = n);
        let y = uniform(f32[n], seed = 2, low = -1.0, high = 1.0);
        expect(saxpy(2.0, x, y), 2.0*x + y, rtol = 1e-6);
    }
    expect(saxpy(y = [1, 2, 3], x = [4, 5, 6], a = 0.5), [3, 4.5, 6]);
    expect(saxpy(1.0, zeros(f32[0]), zeros(f32[0])), zeros(f32[0]));
}
test "softmax of both types" {
    let x = normal(f32[5, 33], seed = 4);
    expect(softmax(x), reference(x));
    expect(softmax(f16(x)), reference(f16(x)));
    expect(sum(softmax(x), axis = 1), 1.0);
    expect(softmax([[0, 0]]), [[0.5, 0.5]]);
}
test "structs, enums, keys, optional and given views" {
    let x = integers(i32[4], seed = 1, low = 0, high = 9);
    let r, s = parts(norm(eps = 1.0, rows = K), x, way.down, null, r = zeros(i64[2]));
    expect(r, [3, 2]);
    expect(s[0 +: 2], x[0 +: 2] + 1);
    let q, z = parts(norm(1.0, 7), x, way.up, bias = x, s = zeros(i32[4]), r = zeros(i64[4]));
    expect(z, where(iota(4) == 2, 0, 2*x));
    expect(q[1], 4);
}
TILE
    echo "$output" "$stderr"
    [ "$status" -eq 0 ]
    [ "${lines[0]}" = 'ok   saxpy (5 expectations)' ]
    [ "${lines[2]}" = 'ok   structs, enums, keys, optional and given views (4 expectations)' ]
    [ "${lines[3]}" = 't.tile: 3 tests passed, 0 failed' ]
    [ -z "$stderr" ]
    [ ! -e t.o ] && [ ! -e t.h ] || false
}

@test "what tests compute with" {
    tests <<'TILE'
fn power(x: i64, n: i64) -> i64 {
    var p = 1;
    for i in 0..n p *= x;
    return p;
}
test "arithmetic" {
    expect(7 / 2, 3);
    expect(7.0 / 2, 3.5);
    expect(-7 % 3, -1);
    expect(trans([[1, 2], [3, 4]]) @ [[1.0, 0], [0, 1]], [[1, 3], [2, 4]]);
    expect(f16(2049), 2048);
    expect(i8(300.5), 127);
    expect(max([[1, 5], [7, 2]], axis = 0), [7, 5]);
    expect(sum(iota(5)), 10);
    expect(reshape(iota(6), 2, 3)[1, 0..2], [3, 4]);
    expect(power(3, 4), 81);
    expect(nan, nan);
    expect(-inf, -inf);
    expect(normal(f32[100], seed = 3), normal(f32[100], seed = 3), rtol = 0, atol = 0);
    expect(any(normal(f32[100], seed = 3) != normal(f32[100], seed = 4)), true);
    var n = 0;
    while (true) { n += 1; if (n > 6) break; if (n % 2 == 0) continue; }
    expect(n, 7);
    expect(abs(sum(normal(f64[20000], seed = 5)) / 20000.0) < 0.03, true);
}
TILE
    echo "$output" "$stderr"
    [ "$status" -eq 0 ]
    [ "${lines[0]}" = 'ok   arithmetic (16 expectations)' ]
}

@test "E1301: what does not hold is told with line, element and both values; the others run on" {
    tests <<'TILE'
test "fails" {
    let x = [1.0, 2.0, 3.0];
    expect(saxpy(1.0, x, x), [2, 4.5, 7]);
    let r, s = parts(norm(1.0, 7), [1, 2, 3], way.up, r = zeros(i64[2]));
    expect(s, [1, 2, 3]);
    expect(nan, 1.0);
    expect_error(saxpy(1.0, x, x), "never");
    expect_error(saxpy(1.0, x, [1.0]), "another text");
}
test "holds" { expect(1, 1); }
TILE
    [ "$status" -eq 1 ]
    [ "$output" = 'FAIL fails (5 expectations): element [1] is 4, and 4.5 is expected
ok   holds (1 expectation)
t.tile: 1 test passed, 1 failed
t.tile: what kernels assert was not checked; --checks does' ]
    [[ $stderr == *'t.tile:29:5: error: test "fails": element [1] is 4, and 4.5 is expected [E1301]'* ]]
    [[ $stderr == *'2 of 3 elements differ'* ]]
    [[ $stderr == *'t.tile:31:5: error: test "fails": element [2] was never written, and 3 is expected [E1301]'* ]]
    [[ $stderr == *'t.tile:32:5: error: test "fails": it is nan, and 1 is expected'* ]]
    [[ $stderr == *'t.tile:33:5: error: test "fails": the call does not fail'* ]]
    [[ $stderr == *'t.tile:34:5: error: test "fails": the call fails with "extent 0 of y is 1, but N is 3"'* ]]
}

@test "E1302: what tests cannot do ends the test" {
    says() {
        tests <<<"test \"x\" { $1 expect(1, 2); }"
        [ "$status" -eq 1 ] && [[ $stderr == *"$2"* && $stderr == *E1302* && $stderr != *E1301* ]] || { echo "$1: $stderr"; false; }
    }
    says 'let y = unknown + 1;' '`unknown` is not known in this test'
    says 'let y = [1, 2] + [1, 2, 3];' 'the shapes of i64[2] and i64[3] do not go together; extents are equal or 1'
    says 'let y = zeros(f32[3, 4]) + zeros(f32[4]);' 'do not go together; ranks must be equal, so give the smaller one extents of 1 with `None`, as in `v[None, :]`'
    says 'let y = zeros(f32[3, 4]) + zeros(f32[3]);' 'as in `v[:, None]`'
    [[ $output == 'FAIL x (0 expectations): `+`: the shapes of f32[3, 4] and f32[3] do not go together'* ]]
    says 'let y = told([1.0]);' '`r` alone tells its extent `L`'
    says 'let y = saxpy(1.0, [1.0]);' 'needs a tensor of 1 dimension for `y`'
    says 'let y = saxpy(1.0, f16[2](0), [1.0, 2.0]);' 'has no instance for tensors of these types'
    says 'let y = saxpy(1.0, [1.0], [1.0, 2.0]);' 'extent 0 of y is 2, but N is 1'
    says 'let x = [1, 2]; let y = x[2];' 'reaches outside of an extent of 2'
    says 'while (true) {}' 'this test does not end'
    says 'let a, b = saxpy(1.0, [1.0], [1.0]);' '2 names need 2 values'
}

@test "prints and asserts of kernels, and where a kernel is wrong" {
    tests <<<'test "p" { expect(told([5.0], r = zeros(f32[2])), 5.0); }'
    [ "$status" -eq 0 ]
    [ "${lines[0]}" = 't_told(0): i 0' ] && [ "${lines[1]}" = 't_told(1): i 1' ] || false
    [[ "${lines[${#lines[@]} - 1]}" == *': what kernels assert was not checked; --checks does' ]]
    tests --checks <<<'test "p" { expect(told([-5.0], r = zeros(f32[2])), 5.0); }'
    [ "$status" -eq 1 ]
    [[ $stderr == *'assert(x[0] >= 0.0) (x is -5) does not hold in instance 0'* ]]
}

@test "a range that does not advance: an error where that is written, empty or told by --checks where only running tells" {
    echo 'kernel turns(x: out f32[N], n: i32, from: i64) grid(i: 1) {
        var s, t = 0.0, 0.0;
        if (from < 100) { for j in from..9 step *n t += 1.0; } else { for j in 0..4 step n s += 1.0; }
        x[0] = s; x[1] = t;
    }' >turns.tile
    of() { # words, code, lines of a test: it passes where there are no words
        { cat turns.tile; echo "test \"x\" { $3 }"; } >range.tile
        run --separate-stderr "$TILECC" test $checks range.tile
        if [ -z "$1" ]; then [ "$status" -eq 0 ]; else [ "$status" -eq 1 ] && [[ $stderr == *"$1"*"$2"* ]]; fi || { echo "$3: $stderr"; false; }
    }
    local checks=
    for n in 0 -1 1; do of '' '' "let x = turns($n, 1, x = zeros(f32[2])); expect(x[1], 0);"; done
    for from in 1 200; do of '' '' "expect(turns(0, $from, x = zeros(f32[2])), [0, 0]);"; done
    of '' '' 'var n, s = 0, 0; for i in 0..4 step n s += 1; n = -1; for i in 4..0 step n s += 1; for i in 1..4 step *n s += 1; expect(s, 0);'
    of '' '' 'var n, s = 0, 0; for i in n..4 step *2 s += 1; for i in 3..0 step -1 s += 1; for i in 0..3 s += 1; expect(s, 6);'
    of 'the step of a range is not 0' E0507 'for i in 0..4 step 0 expect(1, 1);'
    of 'a factor of a range is 2 or more' E0507 'for i in 1..4 step *1 expect(1, 1);'
    of 'a range whose step multiplies starts at 1 or more' E0507 'for i in 0..4 step *2 expect(1, 1);'
    checks=--checks
    of 'the step n >= 1 of a range does not hold in instance 0' E1301 'let x = turns(0, 200, x = zeros(f32[2]));'
    of 'the factor n >= 2 of a range does not hold in instance 0' E1301 'let x = turns(1, 1, x = zeros(f32[2]));'
    of 'the start from >= 1 of a range that multiplies does not hold in instance 0' E1301 'let x = turns(2, 0, x = zeros(f32[2]));'
    of '' '' 'expect_error(turns(-3, 200, x = zeros(f32[2])), "the step n >= 1 of a range");'
}

@test "a compilation makes nothing of tests, and a file without them has none" {
    cat "$BATS_FILE_TMPDIR/t.tile" >a.tile
    { cat a.tile; echo 'test "t" { expect(1, 2); let x = unknown; }'; } >b.tile
    expect 0 tilecc --cpu-isa=baseline -arch=cpu a.tile -o a.o
    expect 0 tilecc --cpu-isa=baseline -arch=cpu --prefix=a_ a.tile -o a.o
    expect 0 tilecc --cpu-isa=baseline -arch=cpu --prefix=a_ b.tile -o b.o
    run --separate-stderr "$TILECC" test a.tile b.tile
    [ "$status" -eq 1 ]
    [ "${lines[0]}" = 'a.tile: 0 tests passed, 0 failed' ]
    [ "${lines[2]}" = 'b.tile: 0 tests passed, 1 failed' ]
    expect 2 tilecc test
    for option in '-o x.o' -S --emit=tir -fsyntax-only "--interpret=a_saxpy(1,[1],[1])" --passes=cse --print-after=all; do
        expect 2 tilecc test $option a.tile
        contains "runs tests alone"
    done
    tilecc -arch=cpu --spec a_saxpy --emit=tir a.tile -o a.tir || tilecc -arch=cpu --spec saxpy --emit=tir a.tile -o a.tir
    expect 2 tilecc test a.tir
    contains "has no tests"
    echo 'test "t" { let x = ; }' >c.tile
    expect 1 tilecc test c.tile
}

@test "the examples have tests in the manual's words" {
    { cat "$SRCDIR/examples/saxpy.tile"; echo 'test "saxpy" { let x = normal(f32[3000], seed = 1); expect(saxpy(-0.5, x, x), 0.5*x); }'; } >e.tile
    run "$TILECC" test e.tile
    [ "$status" -eq 0 ]
}

@test "kernels of tests have scratch of their own" {
    cat >s.tile <<'END'
fn add(a: f32, b: f32) -> f32 = a + b;
kernel total(x: in f32[N], y: out f32[N])
    grid(ordered b: cdiv(N, 4))
    scratch(state: u64[cdiv(N, 4), 16] = 0)
{
    let v = x[b*4 +: 4];
    y[b*4 +: 4] = cumsum(v) + look_back(state, b, sum(v), add, 0.0);
}
test "total" {
    expect(total([1.0, 2.0, 3.0, 4.0, 5.0, 6.0]), [1.0, 3.0, 6.0, 10.0, 15.0, 21.0]);
    for n in 0..150 step 37 {
        let x = normal(f32[n], seed = n);
        expect(total(x), total(x));
    }
}
END
    expect 0 tilecc test s.tile
}
