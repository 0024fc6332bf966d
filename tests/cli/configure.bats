#!/usr/bin/env bats
# configure takes what it is told to take, or says that it cannot; nothing else comes in its place.

setup() { cd "$BATS_TEST_TMPDIR" || return 1; }

refuses() { # argument, what the message names
    run "$SRCDIR/configure" "$1"
    [ "$status" = 1 ] || { echo "$1: exit $status"; return 1; }
    [[ ${lines[-1]} == "configure: error: $1 is no $2"* ]] || { echo "$output"; return 1; }
    [ ! -e Makefile ]
}

@test "a tool that was asked for and is none" {
    refuses --with-llvm-config=/nonexistent "llvm-config of LLVM"
    refuses --with-llvm-config=/bin/false "llvm-config of LLVM"
    refuses --with-cuda=/nonexistent "folder with ptxas"
    refuses CC=nocc "compiler of C11"
    refuses CC=/bin/false "compiler of C11"
    CC=nocc run "$SRCDIR/configure"
    [ "$status" = 1 ]
}
