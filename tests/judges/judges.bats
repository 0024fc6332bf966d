# Suites from outside, at small and odd sizes on the CPU; see tests/judges/README.md.

setup_file() { export LEVEL=1; }

@test "KernelBench, level 1: 100 operators" {
    sh "$SRCDIR/tests/judges/build" kernelbench "$BATS_TEST_TMPDIR/judge" cpu
    run env TILE_CPU_THREADS=2 "$BATS_TEST_TMPDIR/judge/judge"
    echo "$output" | grep -v '^right' || true
    [ "$status" -eq 0 ]
    [[ "$output" == *"100 judged, 0 not right" ]]
}

@test "NPBench: 54 programs" {
    sh "$SRCDIR/tests/judges/build" npbench "$BATS_TEST_TMPDIR/judge" cpu
    run env TILE_CPU_THREADS=2 "$BATS_TEST_TMPDIR/judge/judge" --stored "$SRCDIR/tests/judges/npbench/results.txt"
    echo "$output" | grep -v "^right" || true
    [ "$status" -eq 0 ]
    [[ "$output" == *"54 judged, 0 not right" ]]

    # One that is not what NumPy gave is found, and one that NumPy never gave.
    sed '/^atax/s/ [^ ]*$/ 5.25/; /^mvt x2/d' "$SRCDIR/tests/judges/npbench/results.txt" >"$BATS_TEST_TMPDIR/changed.txt"
    run "$BATS_TEST_TMPDIR/judge/judge" --stored "$BATS_TEST_TMPDIR/changed.txt" =atax =mvt =bicg
    [ "$status" -eq 1 ]
    [[ "$output" == *"wrong   atax"* ]]
    [[ "$output" == *"not stored mvt"* ]]
    [[ "$output" == *"right   bicg"* ]]
}

@test "KernelBench, level 2: every third operator" {
    sh "$SRCDIR/tests/judges/build" kernelbench2 "$BATS_TEST_TMPDIR/judge" cpu
    run env TILE_CPU_THREADS=2 "$BATS_TEST_TMPDIR/judge/judge" --brief
    echo "$output"
    [ "$status" -eq 0 ]
    [[ "$output" == *"34 judged, 0 not right" ]]
}

@test "KernelBench, level 3: six networks and blocks" {
    sh "$SRCDIR/tests/judges/build" kernelbench3 "$BATS_TEST_TMPDIR/judge" cpu
    run env TILE_CPU_THREADS=2 "$BATS_TEST_TMPDIR/judge/judge"
    echo "$output"
    [ "$status" -eq 0 ]
    [[ "$output" == *"6 judged, 0 not right" ]]
}

@test "what Triton's test_core asks: every 19th case" {
    EACH=19 sh "$SRCDIR/tests/judges/build" core "$BATS_TEST_TMPDIR/judge" cpu
    run env TILE_CPU_THREADS=2 "$BATS_TEST_TMPDIR/judge/judge" --brief
    echo "$output"
    [ "$status" -eq 0 ]
    [[ "$output" == *" judged, 0 not right" ]]
}

@test "a case that is wrong is found, by its last bit or the sign of 0" {
    mkdir -p "$BATS_TEST_TMPDIR/source/tests"
    cp -r "$SRCDIR/tests/judges" "$BATS_TEST_TMPDIR/source/tests"
    cat >"$BATS_TEST_TMPDIR/source/tests/judges/core/unary.cases" <<'EOF'
neg.right: T = f32 i64
    x:$T[37]~any > r:$T[37]
    r[:] = -x[:];

neg.bit: T = i64
    x:$T[37]~any > r:$T[37]
    r[:] = where(iota(37) == 30, -x[:] ^ 1, -x[:]);

neg.sign: T = f32
    x:$T[37]~any > r:$T[37]
    r[:] = 0.0 - x[:];
EOF
    SRCDIR=$BATS_TEST_TMPDIR/source sh "$SRCDIR/tests/judges/build" core "$BATS_TEST_TMPDIR/judge" cpu unary
    run "$BATS_TEST_TMPDIR/judge/judge"
    echo "$output"
    [[ "$output" == *"right   unary neg.right f32"*"right   unary neg.right i64"* ]]
    [[ "$output" == *"wrong   unary neg.bit i64: 31 elements"* ]]
    [[ "$output" == *"wrong   unary neg.sign f32"* ]]
}

@test "a wrong result is found" {
    # One element of 4,095 is off by a thousandth.
    cp -r "$SRCDIR/tests/judges" "$BATS_TEST_TMPDIR/tests"
    mkdir -p "$BATS_TEST_TMPDIR/source/tests"
    mv "$BATS_TEST_TMPDIR/tests" "$BATS_TEST_TMPDIR/source/tests/judges"
    file=$BATS_TEST_TMPDIR/source/tests/judges/kernelbench/elementwise/22_tanh.tile
    sed -i 's/tanh(v);/where(n*B + iota(B) == 700 and m == 3, tanh(v) + 0.001, tanh(v));/' "$file"
    SRCDIR=$BATS_TEST_TMPDIR/source sh "$SRCDIR/tests/judges/build" kernelbench "$BATS_TEST_TMPDIR/judge" cpu elementwise
    run "$BATS_TEST_TMPDIR/judge/judge" 22_ 19_
    [ "$status" -eq 1 ]
    [[ "$output" == *"wrong   22_Tanh"* ]]
    [[ "$output" == *"right   19_ReLU"* ]]
}
