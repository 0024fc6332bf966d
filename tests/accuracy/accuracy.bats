#!/usr/bin/env bats
# No error of a math function is above what the manual says: every f16 and bf16, a slice of f32, samples of f64.

setup() { export WORK="$BATS_FILE_TMPDIR"; }

@test "errors are within the manual's table" {
    run "$SRCDIR/tests/accuracy/run" --step 8192 --limits "$SRCDIR/man/tile-library.7"
    echo "$output"
    [ "$status" -eq 0 ]
    [ "$(echo "$output" | grep -c ' f32 .* f64 .* f16 .* bf16 ')" -ge 23 ]
}

@test "an error above the table is found" {
    sed 's/^sigmoid .*/sigmoid  0.6 0.6 0.6 0.6 0.6/' "$SRCDIR/man/tile-library.7" > "$BATS_TEST_TMPDIR/low"
    run "$SRCDIR/tests/accuracy/run" --step 65536 --only sigmoid --limits "$BATS_TEST_TMPDIR/low"
    echo "$output"
    [ "$status" -eq 1 ]
    echo "$output" | grep -q 'sigmoid of f32: .*the manual allows 0.60'
}

@test "every instruction set gives the same bits" {
    bits() { "$SRCDIR/tests/accuracy/run" --step 65536 | sed 's/ .* bits / /'; }
    bits > "$BATS_TEST_TMPDIR/widest"
    TILE_CPU_ISA=baseline bits > "$BATS_TEST_TMPDIR/baseline"
    [ "$(wc -l < "$BATS_TEST_TMPDIR/widest")" -ge 23 ]
    diff "$BATS_TEST_TMPDIR/widest" "$BATS_TEST_TMPDIR/baseline"
}

@test "fma rounds once at every instruction set, denormal and near the largest, too" {
    cd "$BATS_TEST_TMPDIR"
    "$TILECC" -arch=cpu "$SRCDIR/tests/accuracy/fused.tile" -o fused.o
    "$TILECC" --emit-runtime -o tile_rt.o
    $CC -std=gnu99 -O2 -Wall -Werror -I. "$SRCDIR/tests/accuracy/fused.c" fused.o tile_rt.o -lm -ldl -lpthread -o fused
    ./fused 200000
    TILE_CPU_ISA=baseline ./fused 400000
}
