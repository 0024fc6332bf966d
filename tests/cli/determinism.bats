#!/usr/bin/env bats
# The same bytes from any folder, at any -j, under any locale.

load helper

build() { # folder, options...
    local folder=$1
    shift
    mkdir -p "$folder"
    cp k.tile "$folder/k.tile"
    (cd "$folder" && "$TILECC" -lineinfo "$@" -o k.o k.tile)
}

same() {
    cmp one/k.o "$1/k.o" && cmp one/k.h "$1/k.h" || false
}

arches() { if [ -n "${PTXAS-}" ]; then echo cpu,sm_80,sm_90a; else echo cpu; fi; }

@test "two folders, -j1 and -j8, two locales, other times and environment" {
    build one -arch="$(arches)" -j1
    build 'two with a longer name' -arch="$(arches)" -j8
    same 'two with a longer name'
    LC_ALL=de_DE.UTF-8 LANG=tr_TR.UTF-8 TZ=Asia/Tokyo HOME=/ TMPDIR="$PWD" USER=x build three -arch="$(arches)" -j2
    same three
    MALLOC_PERTURB_=77 build four -arch="$(arches)"
    same four
    touch -d 2001-01-01 k.tile
    build five -arch="$(arches)"
    same five
}

@test "no name of a folder gets into the outputs" {
    build one -arch="$(arches)"
    ! grep -q "$PWD" one/k.o || false
    ! grep -q "$PWD" one/k.h || false
}

@test "under make's jobserver" {
    printf 'all: k.o\n\t+"$(TILECC)" -arch=%s -lineinfo -o k.o k.tile\nk.o: all\n' "$(arches)" >Makefile
    printf 'all:\n\t+"$(TILECC)" -arch=%s -lineinfo -o k.o k.tile\n' "$(arches)" >Makefile
    build one -arch="$(arches)" -j1
    expect 0 make -j4
    cmp one/k.o k.o
}
