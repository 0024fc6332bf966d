#!/usr/bin/env bats
# Launches leave nothing behind.  10^8 of them on the processor, or 10^7 on a GPU, are by hand:
#
#     ./launches 100000000                TILE_TEST_STREAM=gpu gpu-bundle/launches_check 10000000

@test "a million launches of four threads, and what else they call, hold no more than the first hundredth" {
    cd "$BATS_TEST_TMPDIR"
    "$TILECC" -arch=cpu -o launches.o "$SRCDIR/tests/runtime/launches.tile"
    "$TILECC" --emit-runtime -o tile_rt.o
    ${CC:-cc} -std=c11 -D_GNU_SOURCE -Wall -Wextra -Wpedantic -Wconversion -Wshadow -Werror -O1 -I. \
        "$SRCDIR/tests/runtime/launches_check.c" launches.o tile_rt.o -o launches -ldl -lpthread
    ./launches 1000000
    run ./launches 200000 leak
    [ "$status" = 1 ]
    [[ $output == *"memory: "*" at the end"* ]]
}
