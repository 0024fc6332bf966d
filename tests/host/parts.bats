#!/usr/bin/env bats
# Code for the processor that several workers made is one object: the same at every -j, right, and nothing of it is
# seen from outside.

setup() {
    cd "$BATS_TEST_TMPDIR"
    cat >many.tile <<'END'
/// The remainder of each pair.
kernel rest<T: {f32, f64}>(x: in T[N], y: in T[N], z: out T[N])
    grid(p: cdiv(N, 64))
{
    z[p*64 +: 64] = x[p*64 +: 64] % y[p*64 +: 64];
}

/// One rounding, and a remainder.
kernel fused(x: in f64[N], y: in f64[N], z: out f64[N])
    grid(p: cdiv(N, 64))
{
    z[p*64 +: 64] = fma(x[p*64 +: 64], y[p*64 +: 64], 1.0) % 8.0;
}
END
    cat >main.c <<'END'
#include "many.h"
#include <math.h>
#include <stdio.h>
enum { N = 200 };
int main(void)
{
    static double x[N], y[N], z[N];
    static float f[N], g[N], h[N];
    struct tile_f64_1 vx = {x, {N}, {1}}, vy = {y, {N}, {1}}, vz = {z, {N}, {1}};
    struct tile_f32_1 vf = {f, {N}, {1}}, vg = {g, {N}, {1}}, vh = {h, {N}, {1}};
    int bad = 0;
    for (int i = 0; i < N; i++) {
        x[i] = 1e3 / (i + 1) - 40;
        y[i] = 0.3 * i + 0.1;
        f[i] = (float)x[i];
        g[i] = (float)y[i];
    }
    if (many_rest_f64(TILE_CPU, &vx, &vy, &vz) || many_rest_f32(TILE_CPU, &vf, &vg, &vh))
        return 2;
    for (int i = 0; i < N; i++)
        bad += z[i] != fmod(x[i], y[i]) || h[i] != fmodf(f[i], g[i]);
    if (many_fused(TILE_CPU, &vx, &vy, &vz))
        return 2;
    for (int i = 0; i < N; i++)
        bad += z[i] != fmod(fma(x[i], y[i], 1.0), 8.0);
    printf("%d bad\n", bad);
    return bad != 0;
}
END
}

@test "parts link, run, and are the same at -j1 and -j8" {
    for level in 0 2 3; do
        "$TILECC" -O$level -j1 -arch=cpu many.tile -o many.o
        "$TILECC" -O$level -j8 -arch=cpu many.tile -o again.o
        cmp many.o again.o
        "$TILECC" --emit-runtime -o tile_rt.o
        $CC -I. main.c many.o tile_rt.o -o main -lm -ldl -lpthread
        ./main
        TILE_CPU_ISA=baseline ./main
    done
}

@test "functions of several workers are local, and what they call is there once" {
    "$TILECC" -arch=cpu many.tile -o many.o
    [ "$(readelf -sW many.o | grep -c ' LOCAL .* tilecc.fmod.f64$')" -eq 1 ]
    [ "$(readelf -SW many.o | grep -c '\] \.text\.tile_help\.tilecc\.fmod\.f64 ')" -eq 1 ]
    [ "$(readelf -sW many.o | grep -c ' LOCAL .* many_.*\.baseline$')" -eq 3 ]
    [ "$(readelf -sW many.o | grep -c 'GLOBAL .*\.baseline$')" -eq 0 ]
    [ "$(readelf -sW many.o | grep ' UND ' | grep -cv 'tile_rt_\|^ *0:')" -eq 0 ]
    [ "$(readelf -SW many.o | grep -c '\.note\.gnu\.property')" -le 1 ]
    [ -z "$(readelf -aW many.o 2>&1 >/dev/null)" ]
}

@test "the parts of one kernel go when nobody calls it" {
    "$TILECC" -arch=cpu many.tile -o many.o
    "$TILECC" --emit-runtime -o tile_rt.o
    echo '#include "many.h"
int main(void) { return many_rest_f32(TILE_CPU, 0, 0, 0) == TILE_OK; }' >one.c
    $CC -I. -Wl,--gc-sections one.c many.o tile_rt.o -o one -lm -ldl -lpthread
    ./one
    readelf -sW one | grep -q 'many_rest_f32\.0\.baseline'
    [ "$(readelf -sW one | grep -c 'many_fused\.0\.baseline')" -eq 0 ]
}
