#!/usr/bin/env bats
# The table of long runs is made from their counts, and a long run says what it found.

@test "COUNTS.md is the table of counts.jsonl" {
    sh "$SRCDIR/tests/fuzz/counts-table" "$SRCDIR/tests/fuzz/counts.jsonl" | diff - "$SRCDIR/tests/fuzz/COUNTS.md"
}

@test "the table adds up what runs of one tool did" {
    cd "$BATS_TEST_TMPDIR"
    cat >counts <<'END'
{"date": "2026-01-02", "tool": "a_test", "seed": 7, "seconds": 60, "programs": 10, "runs": 100, "findings": 2, "fixed": 1, "version": "v1"}
{"date": "2026-01-01", "tool": "a_test", "seed": 9, "seconds": 60, "programs": 5, "runs": 50, "findings": 0, "version": "v2"}
{"date": "2026-01-03", "tool": "b_fuzzer", "seed": 3, "seconds": 60, "programs": 0, "runs": 1000, "findings": 0, "version": "v1"}
END
    sh "$SRCDIR/tests/fuzz/counts-table" counts >table
    grep -q '^| a_test | 2 | 15 | 150 | 2 | 1 | 7, 9 |' table
    grep -q '^| b_fuzzer | 1 | 0 | 1000 | 0 | 0 | 3 |' table
    grep -q '^From 2026-01-01 to 2026-01-03' table
    [ "$(grep -c '^- v' table)" = 2 ]
}

@test "a finding makes a long run fail, and is named with the command that shows it" {
    cd "$BATS_TEST_TMPDIR"
    mkdir -p build/obj/tests/fuzz
    cat >build/obj/tests/fuzz/campaign <<'END'
#!/bin/sh
findings=0
[ "$1" != passes ] || { echo "seed $2: cse: a value differs" >"$FOLDER/$1-$2.txt"; findings=1; }
echo "{\"tool\": \"campaign $1\", \"seed\": $2, \"programs\": 5, \"runs\": 7, \"findings\": $findings}" >>"$COUNTS"
exit $findings
END
    chmod +x build/obj/tests/fuzz/campaign
    BUILDDIR=$PWD/build TIME=1 SEED=4000 COUNTS=$PWD/counts run sh "$SRCDIR/tests/fuzz/long-run"
    [ "$status" = 1 ]
    echo "$output"
    [[ $output == *"seed 4000: cse: a value differs"* ]]
    [[ $output == *"campaign' passes 4000 1"* ]]
    grep -q '"tool": "campaign passes".*"findings": 1' counts
    grep -q '"tool": "campaign cpu".*"findings": 0' counts
}

@test "a campaign outlives an input that crashes, and names it" {
    cd "$BATS_TEST_TMPDIR"
    mkdir -p found
    cat >some_corpus_test <<'END'
#!/bin/sh
[ "$1" = seeds ] || exit 2
[ $(($2 % 2000)) = 0 ] && [ "$3" = 2000 ] && [ "$2" != 4000 ] && exit 0
[ "$2" -le 4003 ] && [ $(($2 + $3)) -gt 4003 ] && kill -SEGV $$
exit 0
END
    chmod +x some_corpus_test
    JOBS=3 FOLDER=$PWD/found COUNTS=$PWD/counts run "$BUILDDIR/obj/tests/fuzz/campaign" inputs 0 6 "$PWD/some_corpus_test"
    [ "$status" = 1 ]
    grep -q 'seed 4003: status' found/inputs-2.txt
    grep -q '"runs": 12000, .*"findings": 1' counts
}
