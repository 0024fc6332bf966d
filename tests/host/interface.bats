#!/usr/bin/env bats
# An object of an earlier tilecc runs with the run time of today, and one of another version is refused in words.
#
# interface/11.tar.gz holds kernels.o and kernels.h, which tilecc of commit 49b09e76 made, the first one of version 11
# (TILE_RT_ABI), of what is now interface/kernels.tile:
#
#     tilecc -arch=cpu,sm_80,sm_90a --checks --prefix=old_ kernels.tile && tar -czf 11.tar.gz kernels.o kernels.h
#
# Who raises TILE_RT_ABI commits that, and then an archive of the new number, made in the same way by the compiler of that
# commit; the old archive stays, for it must be refused.  Nothing else is a reason to make one anew: an object that does
# not run any more is a change of the interface that nobody meant.

setup_file() {
    cd "$BATS_FILE_TMPDIR" || return 1
    number=$(sed -n 's/^#define TILE_RT_ABI \([0-9]*\)$/\1/p' "$SRCDIR/runtime-stub/tile_rt.h")
    export number
    for archive in "$SRCDIR"/tests/host/interface/*.tar.gz; do
        mkdir "$(basename "$archive" .tar.gz)"
        tar -xzf "$archive" -C "$(basename "$archive" .tar.gz)"
    done
    "$TILECC" --emit-runtime -o tile_rt.o
    mkdir library
    ln -s "$BUILDDIR/libtilert.so" library/libtilert.so
    ln -s "$BUILDDIR/libtilert.so" library/libtilert.so.0
}

setup() {
    [ "$(uname -m)" = x86_64 ] || skip "the objects are for x86-64"
    cd "$BATS_FILE_TMPDIR"
}

# build NUMBER PROGRAM [ARGUMENT...]: the check against the object of that number
build() {
    local version=$1 program=$2
    shift 2
    ${CC:-cc} -std=c99 -Wall -Wextra -Werror -I"$version" "$SRCDIR/tests/host/interface/check.c" "$version/kernels.o" \
        "$@" -o "$program" -ldl -lpthread
}

# Between object and run time: each descriptor becomes one of that version and needs.
build_changed() {
    local names='' name
    for name in launch launch_variant launch_ex query workspace load unload; do
        names="$names -Wl,--wrap=tile_rt_$name"
    done
    # shellcheck disable=SC2086
    build "$number" "$1" -DABI="$2" -DNEEDS="$3" -I"$SRCDIR/runtime-stub" "$SRCDIR/tests/host/interface/changed.c" tile_rt.o $names
}

printed() { printf '%s\n' "old_told(0): 0 is 1.00" "old_told(1): 1 is 2.50" "old_told(2): 2 is 9.00" "old_told(0): 0 is 1.00" "old_told(1): 1 is 2.50" | sort; }

@test "there is an object of today's version" { [ -e "$number/kernels.o" ]; }

@test "it runs on the processor, with each instruction set, by archive and by shared library" {
    build "$number" static tile_rt.o
    build "$number" shared -Llibrary -ltilert -Wl,-rpath,"$PWD/library"
    for program in ./static ./shared 'env TILE_CPU_ISA=baseline ./static' 'env TILE_CPU_THREADS=1 ./static'; do
        $program >said || { cat said; false; }
        sort said | diff - <(printed)
    done
}

@test "its code for GPUs is found, and today's tilecc reads it" {
    "$TILECC" info "$number/kernels.o" >said
    grep -q 'kernel  old_rows: ' said
    [ "$(grep -cE '^ +sm_(80|90a): ' said)" = 6 ]
    "$TILECC" info --json "$number/kernels.o" | grep -q '"name":"sm_90a","instances":\[{'
}

@test "a newer object is refused" {
    build_changed newer $((number + 1)) 0
    ./newer refused >said || { cat said; false; }
    grep -q "an object made for version $((number + 1)) of the run time meets version $number; .*or a later one" said
    build_changed needs "$number" 0x10
    ./needs refused >said || { cat said; false; }
    grep -q "does not know yet (bits 10); .*or a later one" said
    build_changed same "$number" 0 # what changes nothing runs
    ./same
}

@test "an older object is refused" {
    build_changed older $((number - 1)) 0
    ./older refused >said || { cat said; false; }
    grep -q "made for version $((number - 1)) .*compile the .tile file again, or" said
    for version in [0-9]*; do
        [ "$version" = "$number" ] && continue
        build "$version" old tile_rt.o
        ./old refused
    done
}

@test "libtilert.so gives each name by the version that brought it" {
    build "$number" shared -Llibrary -ltilert -Wl,-rpath,"$PWD/library"
    readelf --dyn-syms -W "$BUILDDIR/libtilert.so" | sed -n 's/.* \([^ ]*\)@@\(TILERT_[0-9]*\)$/\1 \2/p' | sort >given
    cat >released <<'NAMES'
tile_last_cuda_error TILERT_0
tile_last_error TILERT_0
tile_rt_launch TILERT_0
tile_rt_launch_ex TILERT_0
tile_rt_launch_variant TILERT_0
tile_rt_load TILERT_0
tile_rt_query TILERT_0
tile_rt_unload TILERT_0
tile_rt_workspace TILERT_0
tile_set_allocation TILERT_0
tile_set_parallel_for TILERT_0
tile_set_workspace TILERT_0
tile_strerror TILERT_0
NAMES
    [ -z "$(comm -23 released given)" ] # none is gone or elsewhere
    [ -z "$(readelf --dyn-syms -W shared | grep ' tile_' | grep UND | grep -v '@TILERT_0')" ]
    echo 'TILERT_9 { global: *; };' >later.map # what was linked with a later library does not start with this one
    echo 'int tile_later(void) { return 0; }' >later.c
    mkdir later
    ${CC:-cc} -shared -fPIC later.c -Wl,-soname,libtilert.so.0 -Wl,--version-script,later.map -o later/libtilert.so
    echo 'int tile_later(void); int main(void) { return tile_later(); }' >main.c
    ${CC:-cc} main.c -Llater -ltilert -o main
    run env LD_LIBRARY_PATH="$PWD/library" ./main
    [ "$status" != 0 ]
    [[ $output == *"TILERT_9' not found"* ]]
}
