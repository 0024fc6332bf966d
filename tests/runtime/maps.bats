#!/usr/bin/env bats
# Compiled code with tensor maps, launched on the made-up driver.

@test "the launch describes the views that the code copies" {
    [ -n "${PTXAS-}" ] || skip "no ptxas"
    here=$SRCDIR/tests/runtime
    cd "$BATS_TEST_TMPDIR"
    "$TILECC" -arch=sm_90a "$here/maps.tile" -o maps.o
    "$TILECC" info maps.o | grep -q '3 tensor maps'
    "$TILECC" --emit-runtime -o tile_rt.o
    ${CC:-cc} -std=c11 -D_GNU_SOURCE -Wall -Wextra -Wconversion -Werror -shared -fPIC "$here/fake_cuda.c" -o libcuda.so.1 -lpthread
    ${CC:-cc} -std=c11 -D_GNU_SOURCE -Wall -Wextra -Wconversion -Werror -I. -I"$here" -I"$SRCDIR/runtime-stub" \
        "$here/maps_check.c" maps.o tile_rt.o -o check -ldl -lpthread
    LD_LIBRARY_PATH=$PWD ./check
}

@test "memory of the launch is reached without a map: there is none yet when the run time makes maps" {
    cd "$BATS_TEST_TMPDIR"
    cat >own.tile <<'END'
kernel own(a: in f16[M, K], c: out f32[M, 256], n: i64)
    grid(i: cdiv(M, 128)) requires(K % 64 == 0, M % 128 == 0)
    scratch(u: f16[n, 256] = 1.0, t: f32[M, 256])
{
    var s = f32[128, 256](0.0);
    for k in 0..cdiv(K, 64) { s += a[i*128 +: 128, k*64 +: 64] @ u[k*64 +: 64, 0 +: 256]; }
    t[i*128 +: 128, 0 +: 256] = s;
    c[i*128 +: 128, 0 +: 256] = t[i*128 +: 128, 0 +: 256] + 1.0;
}
END
    "$TILECC" -w -arch=sm_90a --emit=tir -o - own.tile >own.tir
    grep -q 'restrict, scratch' own.tir
    "$TILECC" -w -arch=sm_90a --emit=ptx -o - own.tile >own.ptx
    [ -z "${PTXAS-}" ] || "$TILECC" -w -arch=sm_90a own.tile
}
