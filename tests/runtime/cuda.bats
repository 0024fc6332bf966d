#!/usr/bin/env bats
# The GPU half of the run time against a made-up driver, and all of it under sanitizers.

setup_file() {
    cd "$BATS_FILE_TMPDIR" || return 1
    mkdir none new old
    echo 'no library' >none/libcuda.so.1 # found before the one that a machine with a GPU has
    here=$SRCDIR/tests/runtime
    strict=(-std=c11 -D_GNU_SOURCE -Wall -Wextra -Wpedantic -Wconversion -Wshadow -Werror -g -O1)
    ${CC:-cc} "${strict[@]}" -shared -fPIC "$here/fake_cuda.c" -o new/libcuda.so.1 -lpthread
    ${CC:-cc} "${strict[@]}" -DFAKE_OLD -shared -fPIC "$here/fake_cuda.c" -o old/libcuda.so.1 -lpthread
    ${CC:-cc} "${strict[@]}" -shared -fPIC "$here/fake_nvtx.c" -o new/libnvToolsExt.so.1 -lpthread
    # The run time is compiled once a sanitizer; each test program is linked with it.
    for sanitizer in address,undefined thread; do
        mkdir "objects-$sanitizer"
        (cd "objects-$sanitizer" && ${CC:-cc} -std=c99 -g -O1 -fsanitize="$sanitizer" -fno-sanitize-recover=all -c \
            "$SRCDIR"/runtime-stub/*.c)
        for program in cuda_cases map_cases launch_cases workspace_cases arguments_test pool_test; do
            [ "$program-$sanitizer" != arguments_test-thread ] || continue
            ${CC:-cc} "${strict[@]}" -fsanitize="$sanitizer" -fno-sanitize-recover=all -I"$SRCDIR/runtime-stub" \
                "$here/$program.c" "objects-$sanitizer"/*.o -o "$program-$sanitizer" -ldl -lpthread -lm
        done
    done
}

setup() {
    cd "$BATS_FILE_TMPDIR"
    export TSAN_OPTIONS=die_after_fork=0:exitcode=66
}

cases() { # group
    for sanitizer in address,undefined thread; do
        LD_LIBRARY_PATH="$PWD/$1" "./cuda_cases-$sanitizer" "$1"
    done
}

@test "no driver: a status, and the CPU still works" { cases none; }
@test "a driver of CUDA 13" { cases new; }
@test "a driver of CUDA 11: modules instead of libraries" { cases old; }

@test "tensor maps and persistent grids" {
    for sanitizer in address,undefined thread; do
        for group in new old; do LD_LIBRARY_PATH="$PWD/$group" "./map_cases-$sanitizer" "$group"; done
    done
}

@test "a named variant, launch options, records of launches" {
    for sanitizer in address,undefined thread; do
        for group in none new old; do LD_LIBRARY_PATH="$PWD/$group" "./launch_cases-$sanitizer" "$group"; done
    done
}

@test "memory of a launch: from the program, from a pool, from malloc; filled" {
    for sanitizer in address,undefined thread; do
        for group in none new old; do LD_LIBRARY_PATH="$PWD/$group" "./workspace_cases-$sanitizer" "$group"; done
    done
}

@test "arguments, under sanitizers" { ./arguments_test-address,undefined; }

@test "the pool, under sanitizers" {
    for sanitizer in address,undefined thread; do "./pool_test-$sanitizer"; done
}

@test "the run time is C99 for gcc and clang, and only documented symbols are visible" {
    found=0
    for compiler in gcc clang; do
        command -v "$compiler" >/dev/null || continue
        found=1
        "$compiler" -std=c99 -Wall -Wextra -Wpedantic -Wconversion -Wshadow -Werror -fPIC -O1 -shared -DTILE_RT_SHARED \
            "$SRCDIR"/runtime-stub/*.c -o "libtilert-$compiler.so" -ldl -lpthread -lm
        nm -D --defined-only "libtilert-$compiler.so" | sed 's/.* //; s/@.*//' | sort >symbols
        printf '%s\n' tile_last_cuda_error tile_last_error tile_rt_launch tile_rt_launch_ex \
            tile_rt_launch_variant tile_rt_load tile_rt_query tile_rt_unload \
            tile_rt_workspace tile_set_allocation tile_set_parallel_for tile_set_workspace tile_strerror | diff - symbols
        [ -z "$(nm --defined-only -D "libtilert-$compiler.so" | grep ' [BDC] ')" ]
        [ -z "$(readelf -SW "libtilert-$compiler.so" | grep -E 'tile_rt.*init_array')" ]
    done
    [ "$found" = 1 ]
    ! grep -nE '\b(exit|abort|assert|printf|puts) *\(' "$SRCDIR"/runtime-stub/*.c || false
}
