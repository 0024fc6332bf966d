#!/usr/bin/env bats
# print, and asserts with values: the same lines from the interpreter and from the object, whatever the passes do.

setup_file() {
    cd "$BATS_FILE_TMPDIR" || return 1
    cat >p.tile <<'TILE'
fn note(x: f32[A, N], const k) -> f32[A, N] { print("note {} {:.2f}", k, x); return x * 2.0; }
kernel p(a: i32, x: in f32[M, N], r: out f32[M, N])
    grid(m: cdiv(M, 2), n: cdiv(N, 4))
{
    let v = x[m*2 +: 2, n*4 +: 4];
    print("start {} 100% {{}} {} {:04x} {} {:5}|{:05}|{:X}", a, m == 0, a, u8(200), a, -a, u64(1) << 63);
    if (n == 1) print("v {} col {:3} bits {:x} {}", v, iota(4)[None, :], i16(-1), v > 0.0);
    for k in 0..2 print("k {} {:e} {:8.3f} {:g}", k, f64(k) / 3.0, v[0 +: 1, 0 +: 2], f16(k) / f16(0.0));
    r[m*2 +: 2, n*4 +: 4] = v + note(v, 3);
    assert(a < 5 or n < 1, "100% of {} at ({}, {}): {:.1f}, {{}}", a, m, n, f32(a) / 8.0);
}
kernel quiet(x: in f32[N], r: out f32[N]) grid(i: N) { r[i] = x[i]; }
TILE
    cat >p.c <<'C'
#include "p.h"
#include <stdio.h>
#include <stdlib.h>
int main(int count, char **arguments)
{
    float x[15], r[15];
    struct tile_f32_2 vx = tile_f32_2_row_major(x, 3, 5), vr = tile_f32_2_row_major(r, 3, 5);
    for (int i = 0; i < 15; i++) x[i] = (float)((i * 7 + 3) % 11 - 5);
    for (int k = 1; k < count; k++) {
        int status = p(TILE_CPU, atoi(arguments[k]), &vx, &vr);
        if (status) printf("%d %s\n", status, tile_last_error());
        for (int i = 0; i < 3; i++)
            printf("r[%d] = %.9g %.9g %.9g %.9g %.9g\n", i, r[5 * i], r[5 * i + 1], r[5 * i + 2], r[5 * i + 3], r[5 * i + 4]);
    }
    return 0;
}
C
    "$TILECC" --emit-runtime -o tile_rt.o
}

setup() { cd "$BATS_FILE_TMPDIR"; }

program() { # options of tilecc...
    "$TILECC" -arch=cpu "$@" p.tile
    ${CC:-cc} -std=c99 -Wall -Wextra -Werror -I. p.c p.o tile_rt.o -o p -ldl -lpthread
}

@test "the object prints what the interpreter prints, in its order on one thread" {
    program
    "$TILECC" --interpret='p(-3, [3, 5], [3, 5])' p.tile >interpreted
    TILE_CPU_THREADS=1 ./p -3 >printed
    diff interpreted printed
    grep -qx 'p(1, 0): start -3 100% {} false fffffffd 200    -3|00003|8000000000000000' printed
    grep -qx 'p(0, 1)\[1, 2\]: v 0 col   2 bits ffff false' printed
    grep -qx 'p(0, 0)\[0, 1\]: k 1 3.333333e-01    5.000 inf' printed
    grep -qx 'p(0, 0)\[0, 0\]: k 0 0.000000e+00   -2.000 nan' printed
    [ "$(grep -c 'note 3' printed)" = 32 ]
}

@test "on several threads the lines of an instance stay in order" {
    program
    TILE_CPU_THREADS=1 ./p 2 | grep '^p(1, 1)' >one
    for i in 1 2 3; do
        TILE_CPU_THREADS=4 ./p 2 >all
        grep '^p(1, 1)' all | diff one -
        [ "$(wc -l <all)" = "$(TILE_CPU_THREADS=1 ./p 2 | wc -l)" ]
    done
}

@test "passes change no line, and no level of optimisation" {
    "$TILECC" --interpret='p(4, [3, 5], [3, 5])' p.tile >plain
    for arch in cpu sm_80 sm_90a; do
        "$TILECC" -arch=$arch --interpret='p(4, [3, 5], [3, 5])' --passes=inline,simplify,fold,cse,licm,dce,unroll,peel,simplify,cse,dce p.tile | diff plain -
    done
    for level in 0 1 3; do
        program -O$level
        TILE_CPU_THREADS=1 ./p 4 | diff plain -
    done
}

@test "room that is too small is told, and the next call has it again" {
    program
    TILE_CPU_THREADS=1 TILE_PRINT_BYTES=400 ./p 1 1 >small
    [ "$(grep -c 'p: there was no room for all that it prints; TILE_PRINT_BYTES=[0-9]* would do' small)" = 2 ]
    bytes=$(sed -n 's/.*TILE_PRINT_BYTES=\([0-9]*\) .*/\1/p' small | head -1)
    TILE_CPU_THREADS=1 TILE_PRINT_BYTES=$bytes ./p 1 >enough
    TILE_CPU_THREADS=1 ./p 1 | diff enough -
    TILE_CPU_THREADS=1 TILE_PRINT_BYTES=$((bytes - 8)) ./p 1 | grep -q 'no room'
}

@test "an assert tells its values, of the first instance that fails, in both" {
    program -g
    TILE_CPU_THREADS=1 ./p 7 4 >said
    grep -qx '14 p: p.tile:10:5: assert(a < 5 or n < 1) (100% of 7 at (0, 1): 0.9, {}) does not hold in program 2' said
    [ "$(grep -c '^14' said)" = 1 ]
    run "$TILECC" --checks --interpret='p(7, [3, 5], [3, 5])' p.tile
    [ "$status" -eq 1 ]
    [[ $output == *'p.tile:10:5: instance 2: assert(a < 5 or n < 1) (100% of 7 at (0, 1): 0.9, {}) does not hold'* ]]
    program
    ./p 7 | grep -c '^14' | grep -qx 0
}

@test "only kernels that come to a print wait for it" {
    "$TILECC" -arch=cpu --emit=tir -o - p.tile | grep '^kernel' >heads
    [ "$(grep -c report heads)" = "$(grep -vc quiet heads)" ]
    echo 'fn f(x: f32) -> f32 { return g(x); } fn g(x: f32) -> f32 { print("g"); return x; }' >lib.tile
    { echo 'import "lib.tile" as m;'; echo 'kernel a(x: inout f32[N]) grid(i: N) { x[i] = m.f(x[i]); }'; } >a.tile
    { echo 'import "lib.tile";'; echo 'kernel b(x: inout f32[N]) grid(i: N) { x[i] = f(x[i]); }'; } >b.tile
    { echo 'fn print(x: f32) -> f32 = x;'; echo 'kernel c(x: inout f32[N]) grid(i: N) { x[i] = print(x[i]); }'; } >c.tile
    for name in a b; do
        [ "$("$TILECC" --interpret="$name([1])" $name.tile | head -1)" = "$name(0): g" ]
    done
    [ "$("$TILECC" --interpret='c([1])' c.tile)" = 'x[0] = -2' ]
    ! "$TILECC" -arch=cpu --emit=tir -o - c.tile | grep -q report || false
}

@test "for GPUs it is assembled" {
    "$TILECC" -arch=sm_75,sm_80,sm_90a,sm_100a,sm_120a --checks p.tile -o gpu.o
}
