#!/usr/bin/env bats
# Loops of const fn that the wrapper takes: loops.tile compiled, called by loops_check.c, and interpreted.

@test "the wrapper takes loops as C and the kernel do" {
    cd "$BATS_TEST_TMPDIR"
    here=$SRCDIR/tests/runtime
    "$TILECC" -arch=cpu -o loops.o "$here/loops.tile"
    "$TILECC" --emit-runtime -o tile_rt.o
    ${CC:-cc} -std=c11 -D_GNU_SOURCE -Wall -Wextra -Wpedantic -Wconversion -Wshadow -Werror -g -O1 -I. -I"$here" \
        -I"$SRCDIR/runtime-stub" "$here/loops_check.c" loops.o tile_rt.o -o check -ldl -lpthread
    ./check
}

@test "--interpret takes them, and ends at the same limit" {
    cd "$SRCDIR/tests/runtime"
    run "$TILECC" --interpret='value(2, 30, 0, 10, [2])' loops.tile
    [[ $output == *" 10" ]]
    run "$TILECC" --interpret='value(5, 40, 9, 0, [2])' loops.tile
    [ "$status" -ne 0 ]
    [[ $output == *"requires(compute(which, n, m) == wanted) does not hold"* ]]
    run "$TILECC" --interpret='ends(1000, [1])' loops.tile
    [ "$status" -ne 0 ]
    [[ $output == *"or endless(n) > 0 takes more than 1000000 turns of its loops for these arguments"* ]]
    run "$TILECC" --interpret='ends(-1, [1])' loops.tile
    [ "$status" -ne 0 ]
    [[ $output == *"the grid takes more than 1000000 turns of its loops for these arguments"* ]]
}
