#!/usr/bin/env bats
# --interpret: calls by text, the values that a wrapper would compute, and the same results after passes.

load helper

# a times the fixed pattern, 0..n-1
pattern() { awk -v n="$1" -v a="$2" 'BEGIN { for (i = 0; i < n; i++) printf " %d", a * ((i * 7 + 3) % 11 - 5) }'; }

@test "a call computes what the source says, at extents round the tile" {
    for n in 1 63 64 65 130; do
        expect 0 tilecc --interpret="k_axpy(2, [$n], [$n])" k.tile
        [ "$output" = "y[0] =$(pattern "$n" 3)" ]
    done
    expect 0 tilecc --interpret="axpy(2, [65], [65])" k.tile # the kernel's name where it has one entry
    [ "$output" = "y[0] =$(pattern 65 3)" ]
    expect 0 tilecc --interpret='k_axpy(2, [0], [0])' k.tile
    [ "$output" = "y = (empty)" ]
}

@test "views whose extents the others tell may be left out" {
    expect 0 tilecc --interpret='k_axpy(2, [65])' k.tile
    plain=$(tilecc --interpret='k_axpy(2, [65], [65])' k.tile)
    [ "$output" = "$plain" ]
    expect 0 tilecc --interpret='k_axpy(2, [65], _)' k.tile
    [ "$output" = "$plain" ]
    expect 2 tilecc --interpret='k_axpy(2, _, [65])' k.tile
    contains '--interpret: k_axpy: `x` alone tells its extent `N`: give it in the call'
    expect 2 tilecc --interpret='k_axpy(2)' k.tile
    contains '`x` alone tells its extent `N`'
}

@test "passes change nothing" {
    for example in 'saxpy(3, [2000], [2000])' 'softmax_f32([3, 300], [3, 300])'; do
        file=$SRCDIR/examples/${example%%[_(]*}.tile
        expect 0 tilecc --interpret="$example" "$file"
        plain=$output
        for list in inline inline,simplify inline,simplify,cse,dce,licm,unroll inline,simplify,peel,cse,dce; do
            expect 0 tilecc --passes=$list --interpret="$example" "$file"
            [ "$output" = "$plain" ] || { echo "after $list"; echo "$output"; return 1; }
        done
    done
}

@test "signs of constants, and which of equals is picked" {
    cat >edges.tile <<'END'
const big: u64 = 9223372036854775808;
const one: u64 = 1;
kernel edges(y: out i64[N], x: in f32[M]) grid(p: cdiv(N, N)) {
    y[0] = i64(-7 % 3);
    y[1] = where(big > one, 1, 0);
    let k = iota(8);
    let none = sqrt(x[0] - x[0] - 1.0);                    // no number
    y[2] = i64(argmin(where(k == 0, none, f32(9 - k))));
    y[3] = i64(argmax(where(k < 3, f32(1), f32(2))));
}
END
    expect 0 tilecc --interpret='edges([4], [1])' edges.tile
    [ "$output" = 'y[0] = -1 1 7 3' ]
}

@test "the ends of floats are infinities where they have them, also of 8 bits" {
    cat >ends.tile <<'TILE'
kernel ends<T: {f8e4m3, f8e5m2, f16}>(r: out T[4]) grid(i: 1)
{
    r[0] = lowest(T);
    r[1] = highest(T);
    r[2] = -lowest(T);
    r[3] = T(f32(lowest(T))); /* a number that is converted to 8 bits stays finite */
}
TILE
    expect 0 tilecc --interpret='ends_f8e4m3([4])' ends.tile
    [ "$output" = 'r[0] = -448 448 448 -448' ]
    expect 0 tilecc --interpret='ends_f8e5m2([4])' ends.tile
    [ "$output" = 'r[0] = -inf inf inf -57344' ]
    expect 0 tilecc --interpret='ends_f16([4])' ends.tile
    [ "$output" = 'r[0] = -inf inf inf -inf' ]
}

@test "without a call the entries are listed" {
    expect 0 tilecc --interpret "$SRCDIR/examples/softmax.tile"
    contains 'softmax_f32(x[M, N], y[M, N])'
    contains 'softmax_bf16('
}

@test "what does not fit is an error that names it" {
    expect 2 tilecc --interpret='k_axpy(2, [4], [5])' k.tile
    contains "y"
    expect 2 tilecc --interpret='axpi(2, [4], [4])' k.tile
    contains "no entry 'axpi'; did you mean 'axpy'?"
    expect 2 tilecc --interpret='k_axpi(2, [4], [4])' k.tile
    contains "did you mean 'k_axpy'?"
    expect 2 tilecc --interpret='nothing_like_it()' k.tile
    contains "lists them"
    expect 2 tilecc --interpret='softmax([3, 4], [3, 4])' "$SRCDIR/examples/softmax.tile"
    contains "'softmax' has several entries: softmax_f32, softmax_f16, softmax_bf16"
    expect 2 tilecc --interpret='softmax_f23([3, 4], [3, 4])' "$SRCDIR/examples/softmax.tile"
    contains "did you mean 'softmax_f32'?"
    expect 2 tilecc --interpret='softmaxes([3, 4], [3, 4])' "$SRCDIR/examples/softmax.tile"
    contains "those of 'softmax' are softmax_f32, softmax_f16, softmax_bf16"
    expect 2 tilecc --interpret='softmax_f32([3, 4' "$SRCDIR/examples/softmax.tile"
    contains "']' is missing behind the extents for 'x'"
    expect 2 tilecc --interpret='softmax_f32([3, 4, 5], [3, 4])' "$SRCDIR/examples/softmax.tile"
    contains "too many extents for 'x'"
    expect 2 tilecc --interpret='k_axpy([4])' k.tile
    expect 2 tilecc --interpret='k_axpy(2, [4], [4], 5)' k.tile
    expect 2 tilecc --interpret='k_axpy(two, [4], [4])' k.tile
    contains "'a'"
    expect 2 tilecc --interpret='k_axpy(2, none, [4])' k.tile
    contains "k_axpy: view x is NULL"
    expect 2 tilecc --interpret='k_axpy(2, [4, 4], [4])' k.tile
    expect 2 tilecc --interpret='k_axpy(2, [-4], [4])' k.tile
    expect 2 tilecc --interpret='k_axpy' k.tile
    echo 'kernel m(x: out f32[N], w: in? f32[N]) grid(i: N) { x[i] = w ? w[i] : 1.0; }' >m.tile
    expect 2 tilecc --interpret='m([4], None)' m.tile
    contains "an argument of extents, [n, m], or none is needed for 'w'"
    expect 0 tilecc --interpret='m([4], none)' m.tile
}

@test "requires and optional views" {
    cat >r.tile <<'END'
kernel half(x: in f32[N], bias: in? f32[N], y: out f32[N])
    requires(N % 2 == 0)
    grid(b: cdiv(N, 64))
{
    var v = x[b*64 +: 64];
    if (bias) v += bias[b*64 +: 64];
    y[b*64 +: 64] = v;
}
END
    expect 2 tilecc --interpret='r_half([3], none, [3])' r.tile
    contains "N % 2 == 0"
    expect 0 tilecc --interpret='r_half([6], none, [6])' r.tile
    [ "$output" = "y[0] =$(pattern 6 1)" ]
    expect 0 tilecc --interpret='r_half([6], [6], [6])' r.tile
    [ "$output" = "y[0] =$(pattern 6 2)" ]
}

@test "the last form of IR with a view that is not there" {
    cat >k.tile <<'EOF'
kernel f(x: in f32[M, N], bias: in? f32[N], total: out? f32[M], y: out f32[M, N]) grid(i: M) {
    var t = x[i, 0 +: 16];
    if (bias) t += bias[0 +: 16];
    total[i] = sum(t);
    y[i, 0 +: 16] = t;
}
EOF
    for last in "sm_80 check_machine" "cpu dce"; do
        read -r arch pass <<<"$last"
        "$TILECC" -arch="$arch" --print-after="$pass" -o k.o k.tile 2>all.tir
        awk '/^\/\/ after/ { text = "" } { text = text $0 "\n" } END { printf "%s", text }' all.tir >last.tir
        name=$(sed -n 's/^kernel @\([a-z0-9_]*\)(.*/\1/p' last.tir | tail -1)
        "$TILECC" --interpret="$name([3, 5], none, none, [3, 5])[3]" last.tir >got
        "$TILECC" --interpret='k_f([3, 5], none, none, [3, 5])' k.tile >wanted
        diff wanted got
    done
}

@test "IR with a view that is not there, whose extents are computed" {
    cat >k.tile <<'EOF'
const fn up(n: i64) -> i64 { var p = 1; while (p < n) p *= 2; return p; }
kernel a(x: in f32[K, N], z: in? f32[K / 2, N], r: out f32[K, N]) grid(i: K) { r[i, 0 +: 4] = x[i, 0 +: 4] + z[i / 2, 0 +: 4] + f32(z.extent[0]); }
kernel b(x: in f32[K], z: in? f32[2 * K + 1], w: out? f32[K - 3], r: out f32[K]) grid(i: K) { r[i] = x[i] + z[i] + f32(z.extent[0] * 100 + w.extent[0]); w[i] = 1.0; }
kernel c(x: in f32[K], n: i64, z: in? f32[cdiv(K, n)], r: out f32[K]) grid(i: K) { r[i] = x[i] + z[i] + f32(z.extent[0]); }
kernel d(x: in f32[K], z: in? f32[max(K, 4), K % 3 + 1], r: out f32[K]) grid(i: K) { r[i] = x[i] + z[i, 0] + f32(z.extent[0] * 100 + z.extent[1]); }
kernel e(x: in f32[K], z: in? f32[(K > 4 ? 2 * K : 3)], r: out f32[K]) grid(i: K) { r[i] = x[i] + f32(z.extent[0]); }
kernel f(x: in f32[K], z: in? f32[up(K)], r: out f32[K]) grid(i: K) { r[i] = x[i] + f32(z.extent[0]); }
EOF
    while read -r name arguments; do
        "$TILECC" --interpret="$name($arguments)" k.tile >wanted
        for last in "cpu none" "cpu dce" "sm_80 check_machine"; do
            read -r arch pass <<<"$last"
            if [ "$pass" = none ]; then
                "$TILECC" --emit=tir --spec "$name" -o all.tir k.tile
            else
                "$TILECC" -arch="$arch" --spec "$name" --print-after="$pass" -o k.o k.tile 2>all.tir
            fi
            awk '/^\/\/ after/ { text = "" } { text = text $0 "\n" } END { printf "%s", text }' all.tir >last.tir
            symbol=$(sed -n 's/^kernel @\([a-z0-9_]*\)(.*/\1/p' last.tir | tail -1)
            "$TILECC" --interpret="$symbol($arguments)[${arguments:1:1}]" last.tir >got
            diff wanted got || { echo "$name $last"; return 1; }
        done
    done <<'END'
a [5, 6], none, [5, 6]
b [5], none, none, [5]
b [5], [11], none, [5]
b [2], none, none, [2]
c [5], 2, none, [5]
c [5], -2, none, [5]
d [5], none, [5]
e [5], none, [5]
f [5], none, [5]
END
}

@test "calls are checked as the C function does, in its words" {
    cat >w.tile <<'END'
kernel pairs(x: in f32[2*N], z: in f32[2 + M], w: in f32[N + M], r: inout i64[1]) grid(i: 1) { r[0] = N * 100 + M; }
kernel either(x: in? f32[A, B], y: in? i32[A], r: inout i64[1]) grid(i: 1) { r[0] = x.extent[0] * 10 + y.extent[0]; }
kernel sized<E: {2, 4}>(x: in f32[N, 4], n: i64, r: inout i64[1])
    requires(n > 5, N % 2 == 0)
    const(B: {E, 4 * E} >= N)
    grid(i: 1) { r[0] = B; }
kernel least(n: i64, r: inout i64[1]) const(B: {4} >= n * n) grid(i: 1) { r[0] = B; }
kernel narrow(a: i8, b: u8, c: bool, r: inout i64[1]) grid(i: 1) { r[0] = i64(a) + i64(b) + (c ? 1 : 0); }
END
    cat >calls <<'END'
w_pairs([8], [3], [5], [1])|w_pairs(TILE_CPU, F(8), F(3), F(5), &r)
w_pairs([7], [3], [5], [1])|w_pairs(TILE_CPU, F(7), F(3), F(5), &r)
w_pairs([8], [1], [5], [1])|w_pairs(TILE_CPU, F(8), F(1), F(5), &r)
w_pairs([8], [3], [6], [1])|w_pairs(TILE_CPU, F(8), F(3), F(6), &r)
w_either(none, [3], [1])|w_either(TILE_CPU, NULL, I(3), &r)
w_either([2, 5], none, [1])|w_either(TILE_CPU, G(2, 5), NULL, &r)
w_either(none, none, [1])|w_either(TILE_CPU, NULL, NULL, &r)
w_either([2, 5], [3], [1])|w_either(TILE_CPU, G(2, 5), I(3), &r)
w_sized([2, 4], 6, [1], 2)|w_sized(TILE_CPU, G(2, 4), 6, &r, 2)
w_sized([16, 4], 6, [1], 4)|w_sized(TILE_CPU, G(16, 4), 6, &r, 4)
w_sized([16, 4], 6, [1], 2)|w_sized(TILE_CPU, G(16, 4), 6, &r, 2)
w_sized([16, 4], 6, [1], 3)|w_sized(TILE_CPU, G(16, 4), 6, &r, 3)
w_sized([16, 5], 6, [1], 4)|w_sized(TILE_CPU, G(16, 5), 6, &r, 4)
w_sized([3, 4], 6, [1], 4)|w_sized(TILE_CPU, G(3, 4), 6, &r, 4)
w_sized([4, 4], 5, [1], 4)|w_sized(TILE_CPU, G(4, 4), 5, &r, 4)
w_sized(none, 6, [1], 4)|w_sized(TILE_CPU, NULL, 6, &r, 4)
w_least(2, [1])|w_least(TILE_CPU, 2, &r)
w_least(3, [1])|w_least(TILE_CPU, 3, &r)
w_least(5000000000, [1])|w_least(TILE_CPU, 5000000000, &r)
w_narrow(-128, 255, 1, [1])|w_narrow(TILE_CPU, -128, 255, 1, &r)
w_narrow(300, 0, 0, [1])|w_narrow(TILE_CPU, 300, 0, 0, &r)
w_narrow(0, 256, 0, [1])|w_narrow(TILE_CPU, 0, 256, 0, &r)
w_narrow(0, 0, 2, [1])|w_narrow(TILE_CPU, 0, 0, 2, &r)
END
    {
        echo '#include <stdio.h>'
        echo '#include "w.h"'
        echo '#define F(n) &(struct tile_f32_1){x, {n}, {1}}'
        echo '#define I(n) &(struct tile_i32_1){y, {n}, {1}}'
        echo '#define G(m, n) &(struct tile_f32_2){x, {m, n}, {n, 1}}'
        echo '#define CALL(e) (e) ? puts(tile_last_error()) : printf("r[0] = %lld\n", (long long)n)'
        echo 'static float x[100]; static int y[9]; static int64_t n; static struct tile_i64_1 r = {&n, {1}, {1}};'
        echo 'int main(void) {'
        sed 's/.*|\(.*\)/CALL(\1);/' calls
        echo '}'
    } >main.c
    expect 0 tilecc -arch=cpu w.tile -o w.o
    expect 0 tilecc --emit-runtime -o rt.o
    ${CC:-cc} -w -o main main.c w.o rt.o -ldl -lpthread
    ./main >wanted
    while IFS='|' read -r call _; do
        "$TILECC" --interpret="$call" w.tile 2>&1 | sed 's/^tilecc: error: --interpret: //'
    done <calls >found
    diff wanted found
    [ "$(wc -l <found)" = 23 ]
}

@test "numbers that their type does not hold are refused, and u64 is printed whole" {
    echo 'kernel u(a: u64, b: i32, x: in f32[N], r: out u64[2]) grid(i: 1) { r[0] = a; r[1] = u64(b); }' >u.tile
    expect 0 tilecc --interpret='u(18446744073709551615, -1, [1], [2])' u.tile
    [ "$output" = 'r[0] = 18446744073709551615 18446744073709551615' ]
    expect 2 tilecc --interpret='u(18446744073709551616, 0, [1], [2])' u.tile
    contains "u: a is 18446744073709551616, outside 0 to 18446744073709551615"
    expect 2 tilecc --interpret='u(0, 4294967296, [1], [2])' u.tile
    contains "u: b is 4294967296, outside -2147483648 to 2147483647"
    expect 2 tilecc --interpret='u(-1, 0, [1], [2])' u.tile
    contains "u: a is -1, outside 0"
    expect 2 tilecc --interpret='u(1.5, 0, [1], [2])' u.tile
    contains "not a value for 'a'"
}

@test "pointers are given by the elements behind them" {
    cat >p.tile <<'END'
kernel walk(n: i64, from: *const i32, to: *i32, maybe: *f32) grid(i: n) {
    store(to + i, load(from + (n - 1 - i)) * 10);
    if (maybe != null) store(maybe + i, 1.0);
}
END
    expect 0 tilecc --interpret='walk(3, [3], [4], none)' p.tile # -2 5 1
    [ "$output" = 'to[0] = 10 50 -20 -3' ]
    expect 0 tilecc --interpret='walk(3, [3], [3], [5])' --passes=inline,simplify,cse,dce p.tile
    [ "$output" = $'to[0] = 10 50 -20\nmaybe[0] = 1 1 1 -3 4' ]
    expect 1 tilecc --interpret='walk(3, [2], [3], none)' p.tile
    contains "p.tile:2:19: instance 0: reads memory that no argument owns"
    expect 0 tilecc --interpret='rows_f32([4, 5], [3], [3, 5], [15], 7)' "$SRCDIR/examples/rows.tile"
    contains "out[0] ="
    contains "p[0] ="
}

@test "--interpret: a null pointer is an error where it is read or written, and masked it is none" {
    cat >null.tile <<'END'
kernel one(x: inout f32[4], p: *f32) grid(i: 1) { x[0] = load(p); }
kernel tile(x: inout f32[4]) grid(i: 1) { let t: *f32[4] = null; x[:] = load(t, other = 1.0); }
kernel some(x: inout f32[4], p: *f32) grid(i: 1) { let at = iota(4); x[:] = load(where(at < 2, x.ptr + at, null)); }
kernel write(x: inout f32[4]) grid(i: 1) { let t: *f32[4] = null; store(t, x[:]); }
kernel count(p: *i32) grid(i: 1) { atomic_add(p, 1); }
kernel masked(x: inout f32[4], p: *f32) grid(i: 1) { x[:] = load(where(iota(4) < 0, p, null), mask = iota(4) < 0); }
END
    for call in 'one([4], none)' 'tile([4])' 'some([4], none)'; do
        expect 1 tilecc --interpret="$call" null.tile
        contains "instance 0: reads through a null pointer"
    done
    for call in 'write([4])' 'count(none)'; do
        expect 1 tilecc --interpret="$call" null.tile
        contains "instance 0: writes through a null pointer"
    done
    expect 0 tilecc --interpret='masked([4], none)' null.tile
    contains "x[0] = 0 0 0 0"
}

@test "--interpret: a struct is given by its members" {
    cd "$BATS_TEST_TMPDIR"
    cat >s.tile <<'END'
enum way { up, down = 4 }
struct norm { eps: f32; way: way; at: *const i32; on: bool; }
kernel k(p: norm, x: in f32[N], r: out f32[N]) grid(i: N) requires(p.eps > 0.0)
{
    r[i] = (p.way == way.down ? -x[i] : x[i]) * p.eps + f32(load(p.at + 1)) + (p.on ? 100.0 : 0.0);
}
END
    run "$TILECC" --interpret s.tile
    [ "$output" = 's_k(p {eps, way, at, on}, x[N], r[N])' ]
    run "$TILECC" --interpret='k({0.5, down, [2], true}, [3], [3])' s.tile
    [ "$output" = 'r[0] = 106 102.5 104.5' ]
    run "$TILECC" --interpret='k({0.5, 0, [2], false}, [3], [3])' s.tile
    [ "$output" = 'r[0] = 4 7.5 5.5' ]
    refused() {
        run "$TILECC" --interpret="$1" s.tile
        [ "$status" = 2 ]
        [[ $output == *"$2"* ]]
    }
    refused 'k({0, up, [2], true}, [3], [3])' 'requires(p.eps > 0.0) does not hold'
    refused 'k({1, up, [2]}, [3], [3])' "no value for 'p.on'"
    refused 'k({1, up, [2], true, 4}, [3], [3])' "too many members for 'p'"
    refused 'k(1, [3], [3])' "members, {a, b}, are needed for 'p'"
    refused 'k({1, 3, [2], true}, [3], [3])' 'p.way is 3, which is no member of its enum'
}

@test "text for GPUs has its else, and where a GPU is asked for it cannot be run" {
    cat >text.tile <<'END'
kernel t(x: in f32[N], y: out f32[N]) grid(i: N) {
    y[i] = asm("abs.f32 $0, $1;", x[i], type = f32, else = abs(x[i]) + 0.5);
}
END
    expect 0 tilecc --interpret='t([3], [3])' text.tile
    [ "$output" = "y[0] = 2.5 5.5 1.5" ]
    expect 1 tilecc -arch=sm_80 --interpret='t([3], [3])' text.tile
    contains "'asm' is text for another machine, which is not interpreted"
}

@test "instances that wait for each other: scratch is the launch's, and release and acquire order it" {
    cat >hand.tile <<'END'
kernel hand(x: in i32[N], y: out i32[N])
    grid(ordered b: cdiv(N, 4))
    scratch(done: u32[cdiv(N, 4)] = 0, sums: i32[cdiv(N, 4)])
{
    let v = x[b*4 +: 4];
    var before = i32(0);
    if (b > 0) {
        while (atomic_load(done[b - 1], order = acquire) == 0) {}
        before = sums[b - 1];
    }
    sums[b] = before + sum(v);
    atomic_store(done[b], 1, order = release);
    y[b*4 +: 4] = before + cumsum(v);
}
END
    expect 0 tilecc -Wrace --interpret='hand([9], [9])' hand.tile
    [ "$output" = "y[0] = -2 3 4 1 5 5 1 4 3" ]
    expect 0 tilecc --passes=inline,simplify,cse,dce,licm --interpret='hand([9], [9])' hand.tile
    [ "$output" = "y[0] = -2 3 4 1 5 5 1 4 3" ]
    sed 's/order = release/order = relaxed/' hand.tile >race.tile
    expect 0 tilecc -Wrace --interpret='hand([9], [9])' race.tile
    contains 'instance b = 1 loads element 0 of `sums`, which instance b = 0 stores, and nothing orders them'
    sed 's/before = sums\[b - 1\]/before = sums[b]/' hand.tile >early.tile # scratch without a value holds anything
    expect 1 tilecc --interpret='hand([9], [9])' early.tile
    contains "instance 1: "
    sed 's/u32\[cdiv(N, 4)\]/u32[cdiv(N, 4) - 9]/' hand.tile >less.tile
    expect 1 tilecc --interpret='hand([9], [9])' less.tile
    contains 'extent 0 of scratch done would be -6'
}

@test "instances that write halves of one byte are a race, and those that write bytes of their own are none" {
    cat >halves.tile <<'END'
kernel one(w: inout u4[K]) grid(k: K) { w[k] = u8(k); }
kernel two(w: inout u4[K]) grid(k: K / 2) { w[2*k] = u8(k); w[2*k + 1] = 3; }
END
    expect 0 tilecc --interpret='one([3])' halves.tile
    contains 'instances next to each other along `k` store the same bytes of `w`'
    contains 'elements of 4 bits lie two a byte'
    contains 'halves.tile:1:41: warning: instance k = 1 loads element 0 of `w`, which instance k = 0 stores'
    expect 0 tilecc -Wno-overlap --interpret='two([3])' halves.tile
    lacks race
    [ "$output" = "w[0] = 48 49 50" ]
}
