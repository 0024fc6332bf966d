#!/usr/bin/env bats
# man/tilert.7 names every status, function and environment variable of the run time, and no others.

words() { grep -ohE "$1" "${@:2}" | sort -u; }

setup() { cd "$SRCDIR"; }

@test "statuses" {
    diff <(words 'TILE_(OK|ERR_[A-Z_]+)' runtime-stub/tile_rt.h) <(words 'TILE_(OK|ERR_[A-Z_]+)' man/tilert.7)
}

@test "environment variables" {
    diff <(words '"TILE_[A-Z_]+"' runtime-stub/*.c | tr -d '"') \
        <(sed -n '/^.SH ENVIRONMENT/,/^.SH REQ/p' man/tilert.7 | words '^\.B TILE_[A-Z_]+' | sed 's/^\.B //')
}

@test "functions" {
    for name in tile_strerror tile_last_error tile_last_cuda_error tile_set_workspace tile_set_allocation \
        tile_set_parallel_for; do
        grep -q "$name" man/tilert.7
        grep -q "$name(" runtime-stub/tile_rt.h
    done
}
