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
