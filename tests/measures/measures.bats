#!/usr/bin/env bats
# What tilecc makes of known programs, counted by kinds of instructions: losses that leave results right show here.

# list FILE: a line for each program and kind.
list() { awk '/^[^ ]/ { program = $0; next } { gsub(/^ +|,$/, ""); gsub(/, /, "\n" program ": "); print program ": " $0 }' "$1"; }

# same ARCH: the counts are those that were looked at when they were last written.
same() {
    want=$SRCDIR/tests/measures/$1.txt
    cd "$BATS_TEST_TMPDIR" || return 1
    # Another LLVM chooses other instructions.
    [ "$(sed -n 1p "$want")" = "$(sh "$SRCDIR/tests/measures/measure" version)" ] || skip "counted with another LLVM"
    sh "$SRCDIR/tests/measures/measure" "$1" >now 2>log || { cat log; return 1; }
    cmp -s "$want" now && return
    list "$want" >wanted
    list now >made
    diff wanted made || : # each line: a program, a kind and how many
    echo "Now there is more or less of something. If that is meant: make measures, and commit what changes."
    return 1
}

@test "counts of instructions for sm_80 are the known ones" { same sm_80; }
@test "counts of instructions for sm_90a are the known ones" { same sm_90a; }
@test "counts of instructions for the CPU are the known ones" { same cpu; }
