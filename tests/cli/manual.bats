#!/usr/bin/env bats
# The commands that man/tilecc.1 shows do what it says, on the examples.

load helper

commands() { # of a section
    sed -n "/^\.SH $1/,/^\.SH /p" "$SRCDIR/man/tilecc.1" | sed -n 's/\\-/-/g; s/^tilecc /"$TILECC" /p'
}

@test "every command of LOOKING INSIDE works and shows something" {
    needs_ptxas
    cp "$SRCDIR"/examples/*.tile .
    commands 'LOOKING INSIDE' >list
    [ "$(wc -l <list)" -ge 10 ]
    while read -r command; do
        ls -l >before
        sh -c "$command" >out 2>&1 || { echo "$command"; cat out; return 1; }
        [ -s out ] || ! ls -l | cmp -s - before || { echo "nothing: $command"; return 1; }
    done <list
    grep -q 'level(machine)' last.tir
    sed -n '/^kernel/,$p' last.tir >one.tir
    expect 0 tilecc -fsyntax-only one.tir
    expect 0 tilecc info softmax.o
    contains 'softmax<f16>[B=1024] sm_90a'
    contains ' registers, no spills, '
    grep -q 'define.*saxpy' saxpy.ll
}

@test "--print-products of some architectures" {
    expect 0 tilecc --print-products -arch=sm_90a,cpu
    contains "sm_90a   bf16        wgmma m64n256k16"
    lacks "sm_80 "
    [ "$(grep -c '^sm_90a' <<<"$output")" -eq "$(tilecc --print-products | grep -c '^sm_90a')" ]
}

@test "every warning is named" {
    for name in $(sed -nE 's/^DIAGNOSTIC\(W[0-9]*, warning, "([a-z-]*)".*/\1/p' "$SRCDIR/src/base/diagnostics.def"); do
        sed 's/\\-/-/g' "$SRCDIR/man/tilecc.1" | grep -qF "\fB$name\fR" || { echo "$name"; return 1; }
        expect 0 tilecc -fsyntax-only "-Wno-$name" k.tile
    done
}
