#!/usr/bin/env bats
# configure takes what it is told to take, or says that it cannot; nothing else comes in its place.

setup() { cd "$BATS_TEST_TMPDIR" || return 1; }

refuses() { # argument, what the message names
    run "$SRCDIR/configure" "$1"
    [ "$status" = 1 ] || { echo "$1: exit $status"; return 1; }
    [[ ${lines[-1]} == "configure: error: $1 is no $2"* ]] || { echo "$output"; return 1; }
    [ ! -e Makefile ]
}

@test "the sources are reached by their own name, and by a link alone where that has spaces" {
    for folder in plain 'with spaces'; do
        mkdir -p "$folder" "build of $folder"
        cp "$SRCDIR/configure" "$SRCDIR/Makefile.in" "$folder"
        (cd "build of $folder" && "../$folder/configure" >log) || { cat "build of $folder/log"; false; }
        way=$(sed -n 's/^SOURCE = //p' "build of $folder/Makefile")
        [ "build of $folder/$way" -ef "$folder" ]
        [ ! -e "build of $folder/source" ]
    done
    [ -z "$(find 'build of plain' -type l)" ]
    [ -L 'build of with spaces/.sources' ]
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

linked_with() { # what configure says, arguments of configure
    wanted=$1
    shift
    "$SRCDIR/configure" "$@" >log 2>&1 || { cat log; return 1; }
    grep -q "^LLVM .*, $wanted " log || { cat log; return 1; }
    if [ "$wanted" = static ]; then grep -q '^LLVM_LIBRARIES = .* -lLLVMCore ' Makefile
    else ! grep '^LLVM_LIBRARIES = ' Makefile | grep -q -e -lLLVMCore; fi
}

@test "LLVM's archives are linked where that works, its shared library where it does not or is asked for" {
    run "$SRCDIR/configure" --with-llvm=both
    [ "$status" = 1 ]
    linked_with shared --enable-debug
    # An archive that is there and cannot be linked.
    printf '#!/bin/sh\n"%s" "$@"\ncase " $* " in *" --link-static "*) echo -lmissing ;; esac\n' "$LLVM_CONFIG" >llvm-config
    chmod +x llvm-config
    linked_with shared --with-llvm-config="$PWD/llvm-config"
    run "$SRCDIR/configure" --with-llvm-config="$PWD/llvm-config" --with-llvm=static
    [ "$status" = 1 ]
    [[ ${lines[-1]} == "configure: error: no program can be linked with LLVM's archives"* ]]
    "$SRCDIR/configure" --with-llvm=static >log 2>&1 || skip "no archives of LLVM that can be linked"
    linked_with shared --with-llvm=shared
    linked_with static
    ! grep '^LLVM_TEST_LIBRARIES = ' Makefile | grep -q -e -lLLVMCore || false
    printf '#!/bin/sh\ncase " $* " in *" --link-shared "*) exit 1 ;; esac\nexec "%s" "$@"\n' "$LLVM_CONFIG" >llvm-config
    linked_with static --enable-debug --with-llvm-config="$PWD/llvm-config"
    grep '^LLVM_TEST_LIBRARIES = ' Makefile | grep -q -e -lLLVMCore
    run "$SRCDIR/configure" --with-llvm-config="$PWD/llvm-config" --with-llvm=shared
    [ "$status" = 1 ]
    [[ ${lines[-1]} == "configure: error: LLVM has no shared library"* ]]
}

@test "a compiler that contracts floats is told not to" {
    command -v clang || skip "no clang"
    for compiler in clang gcc; do
        "$SRCDIR/configure" CC=$compiler >log || { cat log; false; }
        grep '^CFLAGS' Makefile >flags
        [ $compiler = gcc ] || grep -F -e -ffp-contract=off flags
    done
    ! grep -F -e -ffp-contract flags || false
}
