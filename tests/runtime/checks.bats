#!/usr/bin/env bats
# --checks: what assume() and assert() state is checked where the kernel runs, and told by the launch.

setup_file() {
    cd "$BATS_FILE_TMPDIR" || return 1
    cat >k.tile <<'END'
fn positive(v: f32) -> f32 { assume(v > 0.0); return v; }
kernel f(x: in f32[M, N], i: in i32[M], y: out f32[M, N], by: i64)
    grid(r: M, c: cdiv(N, 64))
{
    assume(by % 4 == 0);
    let k = i[r];
    assert(k >= 0 and k < i32(M), "rows of i lie in x");
    for j in 0..2 { assert(by + j < 100); }
    y[r, c*64 +: 64] = positive(x[i64(k), c*64 +: 64]) * f32(by);
}
END
    cat >m.c <<'END'
#include "k.h"
#include <stdio.h>
int main(void)
{
    float x[500], y[500] = {0};
    int32_t i[5] = {0, 4, 2, 1, 3};
    struct tile_f32_2 vx = tile_f32_2_row_major(x, 5, 100), vy = tile_f32_2_row_major(y, 5, 100);
    struct tile_i32_1 vi = tile_i32_1_row_major(i, 5);
    int64_t by[5] = {8, 6, 100, 4, 8};
    for (int k = 0; k < 500; k++)
        x[k] = (float)k;
    for (int k = 0; k < 5; k++) {
        i[3] = k == 3 ? 5 : 1;
        int status = k_f(TILE_CPU, &vx, &vi, &vy, by[k]);
        printf("%d %s\n", status, status ? tile_last_error() : "");
    }
    return y[101] != 401.0f * 8.0f;
}
END
}

setup() { cd "$BATS_FILE_TMPDIR"; }

run_with() { # options of tilecc...
    "$TILECC" -arch=cpu "$@" -o k.o k.tile
    "$TILECC" --emit-runtime -o tile_rt.o
    ${CC:-cc} -std=c99 -Wall -Wextra -Werror -I. m.c k.o tile_rt.o -o m -ldl -lpthread
    TILE_CPU_THREADS=1 ./m | sed 's/ *$//' >out
}

@test "the status names kernel, place, condition and program" {
    run_with --checks
    diff - out <<'END'
0
14 k_f: k.tile:5:5: assume(by % 4 == 0) does not hold in program 9
14 k_f: k.tile:8:21: assert(by + j < 100) does not hold in program 9
14 k_f: k.tile:7:5: assert(k >= 0 and k < i32(M)) (rows of i lie in x) does not hold in program 8
0
END
    run_with --checks -O0
    grep -q '14 k_f: k.tile:7:5: assert' out
}

@test "-g checks asserts alone, and without both nothing is checked" {
    run_with -g
    [ "$(grep -c '^0$' out)" = 3 ] && grep -q '14 k_f: k.tile:8:21: assert' out && grep -q '14 k_f: k.tile:7:5: assert' out || false
    run_with
    [ "$(sort -u out)" = 0 ]
    run_with --checks -ffile-prefix-map=k=renamed
    grep -q 'renamed.tile:5:5' out
}

@test "the interpreter says it, too" {
    run "$TILECC" -arch=cpu --checks --interpret='k_f([5, 100], [5], [5, 100], 6)' k.tile
    [ "$status" -eq 1 ]
    [[ $output = *"k.tile:5:5: instance 9: assume(by % 4 == 0) does not hold"* ]] || { echo "$output"; false; }
    run "$TILECC" -arch=cpu --checks --interpret='k_f([5, 100], [5], [5, 100], 100)' k.tile
    [[ $output = *"k.tile:8:21: instance 9: assert(by + j < 100) does not hold"* ]]
    "$TILECC" -arch=cpu --interpret='k_f([5, 100], [5], [5, 100], 100)' k.tile >/dev/null
}

@test "a false assert compiles, and a check is a store under a branch on GPUs" {
    echo 'kernel f(x: out f32[N]) grid(i: N) { assert(false, "never here"); x[i] = 0.0; }' >never.tile
    "$TILECC" -arch=cpu -o never.o never.tile
    mkdir -p with without
    (cd with && "$TILECC" -arch=sm_80 -S --checks ../never.tile)
    (cd without && "$TILECC" -arch=sm_80 -S ../never.tile)
    [ "$(cat with/*.ptx | grep -c 'st.*\.u\?b\?64')" -gt "$(cat without/*.ptx | grep -c 'st.*\.u\?b\?64')" ]
}

@test "an assume in a function that is applied element by element is none" {
    "$TILECC" -arch=cpu,sm_80 -fsyntax-only k.tile
    "$TILECC" -arch=cpu --passes=inline,simplify --emit=tir -o - k.tile >k.tir
    [ "$(grep -c 'assume' k.tir)" -ge 1 ]
}

@test "an example with checks" {
    "$TILECC" -arch=cpu,sm_90a --checks --dryrun "$SRCDIR/examples/saxpy.tile"
}

@test "extents that a function writes for a view are checked where they are known only when running" {
    cat >extents.tile <<'END'
fn square(m: in f32[R, R]) -> i64 = R * 100 + m.extent[1];
fn four(m: in f32[4, C]) -> i64 = C;
kernel extents(y: in f32[M, L], r: out i64[2]) grid(i: 1) { r[0] = square(y); r[1] = four(y); }
END
    said() { run "$TILECC" "$@" extents.tile; }
    said --checks --interpret='extents([4, 4], [2])'
    [ "$output" = 'r[0] = 404 4' ]
    said --checks --interpret='extents([4, 5], [2])'
    [[ $output == *'extents.tile:3:75: instance 0: extent `R` of parameter `m` of `square` does not hold' ]]
    said --checks --interpret='extents([3, 3], [2])'
    [[ $output == *'extents.tile:3:91: instance 0: extent `4` of parameter `m` of `four` does not hold' ]]
    said --interpret='extents([4, 5], [2])'
    [ "$output" = 'r[0] = 405 5' ]
    cat >extents.tile <<'END'
fn even(m: in f32[2*R]) -> i64 = R;
kernel extents(y: in f32[N], r: out i64[1]) grid(i: 1) { r[0] = even(y); }
END
    said --checks --interpret='extents([6], [1])'
    [ "$output" = 'r[0] = 3' ]
    said --checks --interpret='extents([7], [1])'
    [[ $output == *'instance 0: extent `2 * R` of parameter `m` of `even` does not hold' ]]
}

@test "a range that a caller's step does not advance is empty, and told" {
    cat >steps.tile <<'END'
fn turns(a: i64, s: i64) -> i64 {
    var n = i64(0);
    for i in a..20 step s + 1 n += 1;
    return n;
}
kernel steps(a: i64, b: i64, s: i64, r: out i64[5]) grid(g: 1)
{
    r[0] = turns(a, s);
    var n = i64(0);
    for i in a..b step *s n += 1;
    r[1] = n; n = 0;
    for i in a..b step *2 n += 1;
    r[2] = n; n = 0;
    for i in a..b step s { n += 1; if (n > 9) break; }
    r[3] = n; n = 0;
    for i in a..b step *3 { n += 1; if (n > 9) break; }
    r[4] = n;
}
END
    said() { # options, what each call says
        while read -r a b s expected; do
            run timeout 60 "$TILECC" $1 --interpret="steps($a, $b, $s, [5])" steps.tile
            [[ $output == *"$expected" ]] || { echo "$a $b $s: $output"; return 1; }
        done
    }
    said '' <<'END'
1 20 2 r[0] = 7 5 5 10 3
0 20 2 r[0] = 7 0 0 10 0
-4 20 2 r[0] = 8 0 0 10 0
1 20 1 r[0] = 10 0 5 10 3
1 20 0 r[0] = 19 0 5 0 3
1 20 -1 r[0] = 0 0 5 0 3
1 20 -2 r[0] = 0 0 5 0 3
20 1 -1 r[0] = 0 0 0 0 0
END
    said --checks <<'END'
1 20 2 r[0] = 7 5 5 10 3
0 20 2 steps.tile:16:14: instance 0: the start a >= 1 of a range that multiplies does not hold
0 0 2 r[0] = 7 0 0 0 0
1 20 1 steps.tile:10:14: instance 0: the factor s >= 2 of a range does not hold
1 20 -1 steps.tile:14:14: instance 0: the step s >= 1 of a range does not hold
20 1 -1 steps.tile:14:14: instance 0: the step s >= 1 of a range does not hold
END
    cat >m2.c <<'END'
#include "steps.h"
#include <stdio.h>
int main(void)
{
    int64_t r[5], cases[5][3] = {{1, 20, 2}, {0, 20, 2}, {1, 20, 0}, {20, 1, -1}, {-4, 20, -2}};
    struct tile_i64_1 out = tile_i64_1_row_major(r, 5);
    for (int k = 0; k < 5; k++) {
        int status = steps(TILE_CPU, cases[k][0], cases[k][1], cases[k][2], &out);
        printf("%d %d %d %d %d %d %s\n", status, (int)r[0], (int)r[1], (int)r[2], (int)r[3], (int)r[4],
               status ? tile_last_error() : "");
    }
    return 0;
}
END
    for options in -O2 -O0 --checks; do
        "$TILECC" -arch=cpu $options -o steps.o steps.tile
        ${CC:-cc} -std=c99 -Wall -Wextra -Werror -I. m2.c steps.o tile_rt.o -o m2 -ldl -lpthread
        TILE_CPU_THREADS=1 timeout 60 ./m2 | sed -e 's/ *$//' >out
        cut -d' ' -f2-6 out | diff - <(printf '%s\n' '7 5 5 10 3' '7 0 0 10 0' '19 0 5 0 3' '0 0 0 0 0' '0 0 0 0 0')
    done
    # the last check that did not hold is told
    [ "$(cut -d' ' -f1 out | tr '\n' ' ')" = '0 14 14 14 14 ' ]
    grep -q '^14 .*steps: steps.tile:[0-9]*:14: the start a >= 1 of a range that multiplies does not hold in program 0' out
}

@test "pointers and views behind them stay within what the host says is allocated" {
    mkdir -p pointers && cd pointers
    cat >k.tile <<'END'
struct place { p: *f32; n: i64; }
kernel tiles(p: *f32, n: i64) grid(b: cdiv(n, 8))
{
    let at = b*8 + iota(8);
    let v = load(p + at, other = 0.0, mask = at < n);
    store(p + at, v + 1.0, mask = at < n);
}
kernel seen(p: *const f32, r: out f32[4], n: i64) grid(b: 1)
{
    let v = view(p + 1, [n, 2], strides = [3, 1]);
    r[:] = v[0 +: 4, 0];
}
kernel member(w: place) grid(b: 1) { store(w.p + w.n, 1.0); }
kernel of_view(x: inout f32[N], n: i64) grid(b: 1) { atomic_add(x.ptr + n, 1.0); }
kernel of_bytes(x: in i8[N], r: out f32[4]) grid(b: 1) { r[0] = f32(load(x.ptr)); }
kernel before(p: *const i16, r: out i16[1]) grid(b: 1) { r[0] = load(p - 1); }
kernel distant(p: *f32, n: i64, r: out f32[8]) grid(b: 1)
{
    let v = view(p, [n, 8], strides = [n, 1]);
    v[n - 1, 0 +: 8] = f32[8](1.0);
    r[:] = load(p + n*n + iota(8), other = 9.0);
}
END
    cat >m.c <<'END'
#include "k.h"
#include <stdio.h>
static int told(int status) { return status == TILE_ERR_CHECK ? printf("%s\n", tile_last_error()) > 0 : status ? 2 : 0; }
int main(void)
{
    static float data[64], four[4], far[8];
    int16_t half[4] = {0}, one[1];
    struct tile_f32_1 r = tile_f32_1_row_major(four, 4), x = tile_f32_1_row_major(data + 8, 10);
    struct tile_f32_1 f = tile_f32_1_row_major(far, 8);
    struct tile_i16_1 o = tile_i16_1_row_major(one, 1);
    struct tile_place w = {data, 20};
    int right = told(k_tiles(TILE_CPU, data, 21)) == 0;               /* nobody says */
    right &= told(k_of_view(TILE_CPU, &x, 9)) == 0 && told(k_of_view(TILE_CPU, &x, 10)) == 1;
    tile_set_allocation(data, 20 * sizeof *data);
    right &= told(k_tiles(TILE_CPU, data, 20)) == 0 && told(k_tiles(TILE_CPU, data, 21)) == 1;
    right &= told(k_tiles(TILE_CPU, data + 4, 16)) == 0 && told(k_tiles(TILE_CPU, data + 4, 17)) == 1;
    right &= data[20] == 1.0f && data[19] == 5.0f;                   /* outside only where nobody had said */
    right &= told(k_seen(TILE_CPU, data, &r, 6)) == 0 && told(k_seen(TILE_CPU, data, &r, 7)) == 1;
    right &= told(k_seen(TILE_CPU, data, &r, 0)) == 0;
    right &= told(k_member(TILE_CPU, &w)) == 1;
    w.n = 19;
    right &= told(k_member(TILE_CPU, &w)) == 0;
    right &= told(k_of_view(TILE_CPU, &x, 11)) == 0 && told(k_of_view(TILE_CPU, &x, 12)) == 1;
    tile_set_allocation(half, sizeof half);
    right &= told(k_before(TILE_CPU, half + 1, &o)) == 0 && told(k_before(TILE_CPU, half, &o)) == 1;
    for (int n = 1; n >= 0; n--) { /* of an empty view nothing is read */
        struct tile_f32_1 empty = tile_f32_1_row_major(far, n);
        int8_t byte[1] = {1};
        struct tile_i8_1 bytes = tile_i8_1_row_major(byte, n);
        right &= told(k_of_view(TILE_CPU, &empty, 0)) == !n && told(k_of_bytes(TILE_CPU, &bytes, &r)) == !n;
    }
    right &= told(k_distant(TILE_CPU, data, (int64_t)1 << 28, &f)) == 1 && far[0] == 9.0f;
    return !right;
}
END
    "$TILECC" -arch=cpu --checks -o k.o k.tile
    "$TILECC" -arch=sm_75,sm_90a --checks -o gpu.o k.tile
    "$TILECC" --emit-runtime -o tile_rt.o
    ${CC:-cc} -std=c99 -Wall -Wextra -Werror -I. m.c k.o tile_rt.o -o m -ldl -lpthread
    TILE_CPU_THREADS=1 ./m >out || { cat out; false; }
    grep -qxF 'k_tiles: k.tile:6:5: store(p + at, v + 1.0, mask = at < n) within its allocation does not hold in program 2' out
    grep -qxF 'k_seen: k.tile:10:13: view(p + 1, [n, 2], strides = [3, 1]) within its allocation does not hold in program 0' out
}
