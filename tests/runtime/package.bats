#!/usr/bin/env bats
# The installed package, by hand, by pkg-config, by CMake.

setup_file() {
    cd "$BATS_FILE_TMPDIR" || return 1
    mkdir prefix source
    (unset MAKEFLAGS MFLAGS MAKEOVERRIDES; make -s -C "$BUILDDIR" install PREFIX="$PWD/prefix" >install.log 2>&1) || cat install.log
    cat >source/fill.tile <<'END'
kernel fill(a: f32, y: out f32[N])
    grid(b: cdiv(N, 64))
{
    y[b*64 +: 64] = f32[64](a);
}
END
    cat >source/main.c <<'END'
#include "fill.h"
int main(void)
{
    float data[100] = {0};
    struct tile_f32_1 y = tile_f32_1_row_major(data, 99);
    return fill(TILE_CPU, 2.0f, &y) != TILE_OK || data[98] != 2.0f || data[99] != 0.0f;
}
END
    cat >source/CMakeLists.txt <<'END'
cmake_minimum_required(VERSION 3.16)
project(app C)
find_package(tilecc REQUIRED)
tile_add_library(kernels fill.tile ARCHITECTURES cpu OPTIONS -O2)
add_executable(app main.c)
target_link_libraries(app PRIVATE kernels)
END
}

setup() { cd "$BATS_FILE_TMPDIR"; }

@test "by hand, with the archive and with the shared library" {
    cd source
    ../prefix/bin/tilecc -arch=cpu fill.tile -o fill.o
    ${CC:-cc} main.c fill.o ../prefix/lib/libtilert.a -o static -ldl -lpthread
    ./static
    ${CC:-cc} main.c fill.o -L../prefix/lib -ltilert -Wl,-rpath,"$PWD/../prefix/lib" -o shared
    ./shared
    readelf -dW shared | grep -q 'NEEDED.*libtilert.so.0'
}

@test "by pkg-config" {
    command -v pkg-config >/dev/null || skip "no pkg-config"
    export PKG_CONFIG_PATH=$PWD/prefix/lib/pkgconfig
    cd source
    "$(pkg-config --variable=tilecc tilecc)" -arch=cpu fill.tile -o fill.o
    ${CC:-cc} main.c fill.o $(pkg-config --cflags --libs tilecc) -Wl,-rpath,"$PWD/../prefix/lib" -o package
    ./package
}

@test "by CMake, and again after a change" {
    command -v cmake >/dev/null || skip "no cmake"
    cmake -S source -B build -Dtilecc_DIR="$PWD/prefix/lib/cmake/tilecc" -DCMAKE_C_COMPILER="${CC##* }" >cmake.log 2>&1 || {
        cat cmake.log
        false
    }
    cmake --build build >build.log 2>&1 || { cat build.log; false; }
    build/app
    cmake --build build 2>&1 | grep -qv 'Compiling tile'
    sleep 1
    sed -i 's/f32\[64\](a)/f32[64](a + 1.0)/' source/fill.tile
    cmake --build build >build.log 2>&1
    ! build/app
}
