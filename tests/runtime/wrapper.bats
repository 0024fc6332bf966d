#!/usr/bin/env bats
# Wrappers from source to call: wrapper.tile compiled, called by wrapper_check.c.

@test "what wrappers check and compute" {
    cd "$BATS_TEST_TMPDIR"
    here=$SRCDIR/tests/runtime
    "$TILECC" -arch=cpu -o wrapper.o "$here/wrapper.tile"
    "$TILECC" --emit-runtime -o tile_rt.o
    ${CC:-cc} -std=c11 -D_GNU_SOURCE -Wall -Wextra -Wpedantic -Wconversion -Wshadow -Werror -g -O1 -I. -I"$here" \
        -I"$SRCDIR/runtime-stub" "$here/wrapper_check.c" wrapper.o tile_rt.o -o check -ldl -lpthread
    ./check
}
