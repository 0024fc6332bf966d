#!/usr/bin/env bats
# Every example of man/tile.7, tile-library.7, tile-tutorial.7 and tile-c.7 does what the manual says of it.

setup_file() {
    export WORK="$BATS_FILE_TMPDIR/manual"
    "$SRCDIR/tests/lang/make-manual" "$WORK" cpu > "$BATS_FILE_TMPDIR/made" 2>&1 || touch "$BATS_FILE_TMPDIR/failed"
}

names() { awk -v kind="$1" '$1 == kind { print $2 }' "$WORK/list"; }

@test "the manual has examples of every kind" {
    [ "$(names run | wc -l)" -ge 15 ]
    [ "$(names same | wc -l)" -eq 5 ]
    [ "$(names reject | wc -l)" -ge 3 ]
}

@test "the programs of the manual are the files of examples/" {
    while read -r kind name file; do
        [ "$kind" = same ] || continue
        tail -n +2 "$SRCDIR/$file" | diff - "$WORK/$name.tile"
    done < "$WORK/list"
}

@test "what the manual calls an error is one, with its code" {
    bad=0
    while read -r kind name code; do
        [ "$kind" = reject ] || continue
        if "$TILECC" -fsyntax-only "$WORK/$name.tile" 2> "$WORK/errors"; then
            echo "$name: accepted"; bad=1
        elif ! grep -m1 'error:' "$WORK/errors" | grep -q "\[$code\]"; then
            echo "$name: expected $code"; cat "$WORK/errors"; bad=1
        fi
    done < "$WORK/list"
    [ $bad = 0 ]
}

@test "examples compile, run on the CPU and give what the manual says" {
    cat "$BATS_FILE_TMPDIR/made"
    [ ! -e "$BATS_FILE_TMPDIR/failed" ]
    for name in $(names compile); do "$TILECC" -arch=cpu -o "$WORK/$name.o" "$WORK/$name.tile"; done
    "$WORK/manual"
}

@test "programs of the manual in C compile with the objects, run and print what it says" {
    [ "$(names c | wc -l)" -ge 1 ]
    cd "$WORK"
    for name in $(names c); do
        "$TILECC" -arch=cpu "$name.tile"
        $CC -std=c99 -Wall -Wextra -Werror "$name.c" "$name.o" tile_rt.o -o "$name.program" -ldl -lpthread -lm
        "./$name.program" | diff "$name.expected" -
    done
}

@test "the programs of the manual pass the front end (the demo compiles and runs them)" {
    for name in $(names same); do "$TILECC" -fsyntax-only "$WORK/$name.tile"; done
}

@test "they give the same with each instruction set and on one thread" {
    for isa in baseline avx2 avx512; do
        [ "$isa" = baseline ] || grep -q "$(echo $isa | sed 's/avx512/avx512f/')" /proc/cpuinfo || continue
        TILE_CPU_ISA=$isa "$WORK/manual"
    done
    TILE_CPU_THREADS=1 "$WORK/manual"
}

@test "they give the same on AArch64" {
    command -v qemu-aarch64 && [ -n "${AARCH64_CC-}" ] && command -v "$AARCH64_CC" || skip "there is no qemu-aarch64 or compiler for it"
    CC="$AARCH64_CC -static" "$SRCDIR/tests/lang/make-manual" "$WORK/arm" cpu --host-target=aarch64-linux
    qemu-aarch64 "$WORK/arm/manual"
}

@test "the programs of tests/lang/run give the same in the interpreter" {
    mkdir "$BATS_TEST_TMPDIR/programs"
    python3 "$SRCDIR/tests/lang/as-test.py" "$BATS_TEST_TMPDIR/programs" "$SRCDIR"/tests/lang/run/*.tile >"$BATS_TEST_TMPDIR/left-out"
    cd "$BATS_TEST_TMPDIR/programs"
    "$TILECC" test *.tile >../log 2>&1 || { grep -v '^ok' ../log; grep '^FAIL' ../log; return 1; }
    count=$(ls "$SRCDIR"/tests/lang/run | grep -c '\.tile$') skipped=$(wc -l <../left-out)
    echo "$count programs, $skipped have numbers that no f64 holds"
    [ "$(grep -c ': [1-9][0-9]* tests\{0,1\} passed, 0 failed$' ../log)" -eq $((count - skipped)) ] # some have tests of their own
    [ "$count" -ge 150 ] && [ $((skipped * 20)) -le "$count" ] || false
}

@test "each feature of the language has five programs that use it" {
    python3 "$SRCDIR/tests/lang/features.py" "$SRCDIR/tests/lang/run" 5
}
