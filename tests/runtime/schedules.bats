#!/usr/bin/env bats
# Which schedule a call takes, with compiled code on the made-up driver.

@test "a call takes the schedule whose modelled time is least" {
    [ -n "${PTXAS-}" ] || skip "no ptxas"
    here=$SRCDIR/tests/runtime
    cd "$BATS_TEST_TMPDIR"
    "$TILECC" -w -arch=sm_90a --schedules=3 "$here/schedules.tile" -o schedules.o
    "$TILECC" info schedules.o | grep -q '6 instances'
    "$TILECC" --emit-runtime -o tile_rt.o
    ${CC:-cc} -std=c11 -D_GNU_SOURCE -Wall -Wextra -Wconversion -Werror -shared -fPIC "$here/fake_cuda.c" -o libcuda.so.1 -lpthread
    ${CC:-cc} -std=c11 -D_GNU_SOURCE -Wall -Wextra -Wconversion -Werror -Wl,--wrap=tile_rt_query -I. -I"$here" -I"$SRCDIR/runtime-stub" \
        "$here/schedules_check.c" schedules.o tile_rt.o -o check -ldl -lpthread
    LD_LIBRARY_PATH=$PWD ./check
}
