#!/usr/bin/env bats
# The table of long runs is made from their counts, and a long run says what it found.

@test "COUNTS.md is the table of counts.jsonl" {
    sh "$SRCDIR/tests/fuzz/counts-table" "$SRCDIR/tests/fuzz/counts.jsonl" | diff - "$SRCDIR/tests/fuzz/COUNTS.md"
}

@test "the table adds up what runs of one tool did" {
    cd "$BATS_TEST_TMPDIR"
    cat >counts <<'END'
{"date": "2026-01-02", "tool": "a_test", "seed": 7, "seconds": 60, "programs": 10, "runs": 100, "findings": 1, "version": "v1"}
{"date": "2026-01-01", "tool": "a_test", "seed": 9, "seconds": 60, "programs": 5, "runs": 50, "findings": 0, "version": "v2"}
{"date": "2026-01-03", "tool": "b_fuzzer", "seed": 3, "seconds": 60, "programs": 0, "runs": 1000, "findings": 0, "version": "v1"}
END
    sh "$SRCDIR/tests/fuzz/counts-table" counts >table
    grep -q '^| a_test | 2 | 15 | 150 | 1 | 7, 9 |' table
    grep -q '^| b_fuzzer | 1 | 0 | 1000 | 0 | 3 |' table
    grep -q '^From 2026-01-01 to 2026-01-03' table
    [ "$(grep -c '^- v' table)" = 2 ]
}

@test "a finding makes a long run fail, and is named with the command that shows it" {
    cd "$BATS_TEST_TMPDIR"
    mkdir -p "build/obj/tests/fuzz"
    cat >build/obj/tests/fuzz/differential_test <<'END'
#!/bin/sh
sleep 1
echo "seed $1: cse: a value differs"
echo "{\"tool\": \"differential_test\", \"first\": $1, \"programs\": $2, \"runs\": 1, \"failures\": 1}"
exit 1
END
    printf '#!/bin/sh\nsleep 1\necho "{\\"programs\\": $2, \\"runs\\": 1, \\"failures\\": 0}"\n' >build/obj/tests/fuzz/cpu_test
    for other in machine front_corpus ir_corpus parse_corpus cubin_corpus object_corpus; do
        cp build/obj/tests/fuzz/cpu_test "build/obj/tests/fuzz/${other}_test"
    done
    chmod +x build/obj/tests/fuzz/*
    BUILDDIR=$PWD/build TIME=1 SEED=4000 COUNTS=$PWD/counts run sh "$SRCDIR/tests/fuzz/long-run"
    [ "$status" = 1 ]
    echo "$output"
    [[ $output == *"differential_test' 4000 1"* ]]
    grep -q '"tool": "differential_test".*"findings": 1' counts
    grep -q '"tool": "cpu_test".*"findings": 0' counts
}
