#!/usr/bin/env bats
# What tilecc makes of known programs, counted by kinds of instructions: losses that leave results right show here.

# same ARCH: the counts are those that were looked at when they were last written.
same() {
    want=$SRCDIR/tests/passes/measures/$1.txt
    cd "$BATS_TEST_TMPDIR" || return 1
    # Another LLVM chooses other instructions.
    [ "$(sed -n 1p "$want")" = "$(sh "$SRCDIR/tests/passes/measure" version)" ] || skip "counted with another LLVM"
    sh "$SRCDIR/tests/passes/measure" "$1" >now 2>log || { cat log; return 1; }
    diff -u "$want" now && return
    echo "Each line above is more or less of something. If that is meant: make measures, and commit what changes."
    return 1
}

@test "counts of instructions for sm_80 are the known ones" { same sm_80; }
@test "counts of instructions for sm_90a are the known ones" { same sm_90a; }
@test "counts of instructions for the CPU are the known ones" { same cpu; }
