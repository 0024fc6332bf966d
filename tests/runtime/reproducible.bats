#!/usr/bin/env bats
# --reproducible: sums have one order, that of extents, on every instruction set, at every number of threads and -O.

setup() { cd "$BATS_TEST_TMPDIR"; }

build() { # options of tilecc...
    "$TILECC" -arch=cpu "$@" --prefix=order_ -o reproducible.o "$SRCDIR/tests/runtime/reproducible.tile"
    "$TILECC" --emit-runtime -o tile_rt.o
    ${CC:-cc} -std=c11 -O1 -ffp-contract=off -DPREFIX=order_ -I. "$SRCDIR/tests/runtime/reproducible_check.c" \
        reproducible.o tile_rt.o -o check -ldl -lpthread -lm
}

@test "every instruction set, one thread and several: the tree of neighbours to the bit" {
    for level in -O2 -O0; do
        build --reproducible $level
        for isa in baseline avx2 avx512 neon; do
            TILE_CPU_ISA=$isa ./check >out || grep -q 'TILE_CPU_ISA' out || { cat out; false; }
        done
        TILE_CPU_THREADS=1 ./check
    done
}

@test "without it the order is the machine's: the check can fail" {
    build
    run ./check
    [ "$status" -eq 1 ]
    [[ $output = *"is 0x"*"not 0x"* ]]
}
