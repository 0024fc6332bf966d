#!/usr/bin/env bats
# gpu_check.c is built here everywhere and run where a GPU is.

@test "the run time on a GPU" {
    [ -n "${PTXAS-}" ] || skip "no ptxas"
    cd "$BATS_TEST_TMPDIR"
    here=$SRCDIR/tests/runtime
    "$TILECC" -arch=cpu,sm_80,sm_90a -o gpu.o "$here/gpu.tile"
    "$TILECC" -arch=sm_80 --prefix=old_ -o old.o "$here/gpu.tile"
    "$TILECC" -arch=sm_90a --checks --prefix=checked_ -o checked.o "$here/gpu.tile"
    "$TILECC" -arch=sm_80,compute_80 --prefix=later_ -o later.o "$here/gpu.tile"
    "$TILECC" --emit-runtime -o tile_rt.o
    ${CC:-cc} -std=c11 -D_GNU_SOURCE -Wall -Wextra -Wpedantic -Wconversion -Wshadow -Werror -O1 -I. -I"$here" \
        -I"$SRCDIR/runtime-stub" "$here/gpu_check.c" gpu.o old.o checked.o later.o tile_rt.o -o gpu_check -ldl -lpthread
    run ./gpu_check
    if [ "$status" -eq 77 ]; then skip "$output"; fi
    echo "$output"
    [ "$status" -eq 0 ]
}
