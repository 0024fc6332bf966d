#!/usr/bin/env bats
# The installed package: by hand, and with the build systems of examples/build.

setup_file() {
    cd "$BATS_FILE_TMPDIR" || return 1
    mkdir prefix
    (
        unset MAKEFLAGS MFLAGS MAKEOVERRIDES
        make -s -C "$BUILDDIR" install PREFIX="$PWD/prefix" >install.log 2>&1
    ) || cat install.log
    mkdir examples
    cp -r "$SRCDIR/examples/build" "$SRCDIR/examples/saxpy.tile" examples
}

setup() {
    cd "$BATS_FILE_TMPDIR"
    export PKG_CONFIG_PATH=$PWD/prefix/lib/pkgconfig
    unset MAKEFLAGS MFLAGS MAKEOVERRIDES
}

@test "by hand, with the archive and with the shared library" {
    mkdir hand
    cd hand
    ../prefix/bin/tilecc -arch=cpu ../examples/saxpy.tile -o saxpy.o
    ${CC:-cc} -I. ../examples/build/main.c saxpy.o ../prefix/lib/libtilert.a -o static -ldl -lpthread
    ./static
    ${CC:-cc} -I. ../examples/build/main.c saxpy.o -L../prefix/lib -ltilert -Wl,-rpath,"$PWD/../prefix/lib" -o shared
    ./shared
    readelf -dW shared | grep -q 'NEEDED.*libtilert.so.0'
}

@test "by make and pkg-config, and again after a change" {
    command -v pkg-config >/dev/null || skip "no pkg-config"
    mkdir make
    make -s -C make -f ../examples/build/Makefile SOURCE=../examples/build CC="${CC:-cc}"
    make/app
    ! readelf -dW make/app | grep -q libtilert || false # the archive: a program starts wherever the prefix is
    make -q -C make -f ../examples/build/Makefile SOURCE=../examples/build
    sleep 1
    touch examples/saxpy.tile
    ! make -q -C make -f ../examples/build/Makefile SOURCE=../examples/build || false
    sed -i '1s,^,// Another comment.\n,' examples/saxpy.tile
    make -C make -f ../examples/build/Makefile SOURCE=../examples/build CC="${CC:-cc}" >build.log
    grep -q 'saxpy.o' build.log
    ! grep -q 'main.c' build.log || false # the header is the same
    make -C make -f ../examples/build/Makefile SOURCE=../examples/build CC="${CC:-cc}" >build.log
    grep -q 'up to date' build.log
}

@test "by CMake, and again after a change" {
    command -v cmake >/dev/null || skip "no cmake"
    CC=${CC##* } cmake -S examples/build -B cmake -DCMAKE_PREFIX_PATH="$PWD/prefix" >cmake.log 2>&1 || {
        cat cmake.log
        false
    }
    cmake --build cmake >build.log 2>&1 || { cat build.log; false; }
    grep -q 'Compiling tile' build.log
    cmake/app
    cmake --build cmake >build.log 2>&1
    ! grep -q 'Compiling tile' build.log || false
    sleep 1
    touch examples/saxpy.tile
    cmake --build cmake >build.log 2>&1
    grep -q 'Compiling tile' build.log
}

@test "by CMake an import is seen, and nothing made twice, with each generator and in a folder with a space" {
    command -v cmake >/dev/null || skip "no cmake"
    mkdir -p 'a space/sub'
    echo 'fn factor() -> f32 = 2.0;' >'a space/sub/util.tile'
    echo 'import "sub/util.tile"; kernel twice(x: inout f32[N]) grid(i: N) { x[i] *= factor(); }' >'a space/twice.tile'
    cat >'a space/app.c' <<'END'
#include <stdio.h>
#include "twice.h"
int main(void)
{
    float data[1] = {1};
    struct tile_f32_1 x = tile_f32_1_row_major(data, 1);
    if (twice(TILE_CPU, &x) != TILE_OK) return 1;
    printf("%g\n", data[0]);
    return 0;
}
END
    cat >'a space/CMakeLists.txt' <<'END'
cmake_minimum_required(VERSION 3.16)
project(app C)
find_package(tilecc REQUIRED)
tile_add_library(kernels twice.tile ARCHITECTURES cpu PYTHON CXX_NAMESPACE doubled
    SHARED_HEADER tile_common.h)
add_executable(app app.c)
target_link_libraries(app PRIVATE kernels)
END
    called() { # twice() of one by the Python module in the build folder
        command -v python3 >/dev/null || { echo "$1"; return; }
        (cd "$build/kernels.tile/python" && python3 -B -c 'import array, twice; x = array.array("f", [1]); twice.twice(x); print("%g" % x[0])')
    }
    for generator in 'Unix Makefiles' Ninja; do
        [ "$generator" != Ninja ] || command -v ninja >/dev/null || continue
        build="a space/$generator"
        sed -i 's/=.*;/= 2.0;/' 'a space/sub/util.tile'
        CC=${CC##* } cmake -G "$generator" -S 'a space' -B "$build" -DCMAKE_PREFIX_PATH="$PWD/prefix" >cmake.log 2>&1 || { cat cmake.log; false; }
        cmake --build "$build" >build.log 2>&1 || { cat build.log; false; }
        [ "$("$build/app")" = 2 ]
        [ "$(called 2)" = 2 ]
        grep -q 'namespace doubled {' "$build/kernels.tile/twice.hpp"
        [ -e "$build/kernels.tile/tile_common.h" ]
        cmake --build "$build" >build.log 2>&1
        ! grep -qE 'Compiling tile|Python module' build.log || { echo "$generator: again"; cat build.log; return 1; }
        sleep 1
        sed -i 's/=.*;/= 3.0;/' 'a space/sub/util.tile'
        cmake --build "$build" >build.log 2>&1
        [ "$("$build/app")" = 3 ] || { echo "$generator: the import was not seen"; cat build.log; return 1; }
        [ "$(called 3)" = 3 ]
        ! grep -q 'app.c' build.log || { echo "$generator: the header is the same"; cat build.log; return 1; }
        cmake --build "$build" >build.log 2>&1
        ! grep -qE 'Compiling tile|Python module' build.log || { echo "$generator: and again"; cat build.log; return 1; }
    done
}

# scaled FOLDER: a source with an import in a folder of its own, and a program of C++ that calls it.
scaled() {
    mkdir -p "$1/sub"
    echo 'fn factor() -> f32 = 2.0;' >"$1/sub/factor.tile"
    echo 'import "factor.tile"; kernel scale(x: inout f32[N]) grid(i: N) { x[i] *= factor(); }' >"$1/scale.tile"
    cat >"$1/app.cc" <<'END'
#include <cstdio>
#include <vector>
#include "scale.hpp"
int run(void);
int run(void)
{
    std::vector<float> x{1};
    if (tile::scale(TILE_CPU, tile::view(x, 1)) != TILE_OK) return 1;
    std::printf("%g\n", x[0]);
    return 0;
}
END
    cat >"$1/CMakeLists.txt" <<'END'
cmake_minimum_required(VERSION 3.16)
project(app CXX)
find_package(tilecc REQUIRED)
tile_add_library(kernels scale.tile ARCHITECTURES cpu SHARED_HEADER tile_common.h
    OPTIONS -fc++ -Isub $<$<BOOL:OFF>:-O1> $<$<BOOL:ON>:-O2>)
END
}

@test "by CMake each file that is gone is made anew, and clean removes all" {
    command -v cmake >/dev/null || skip "no cmake"
    scaled scaled
    printf '%s\n' 'int run(void);' 'int main() { return run(); }' >scaled/main.cc
    printf '%s\n' 'add_executable(app app.cc main.cc)' 'target_link_libraries(app PRIVATE kernels)' >>scaled/CMakeLists.txt
    for generator in 'Unix Makefiles' Ninja; do
        [ "$generator" != Ninja ] || command -v ninja >/dev/null || continue
        build="scaled/$generator"
        CXX=${CXX##* } cmake -G "$generator" -S scaled -B "$build" -DCMAKE_PREFIX_PATH="$PWD/prefix" >cmake.log 2>&1 || { cat cmake.log; false; }
        cmake --build "$build" >build.log 2>&1 || { cat build.log; false; }
        [ "$("$build/app")" = 2 ]
        # warnings in the headers are none of the project's
        grep -rqE -e '-isystem [^ ]*scaled/.*kernels\.tile' "$build" --include=flags.make --include=build.ninja
        for file in scale.o scale.h scale.hpp tile_common.h tile_common.hpp; do
            rm "$build/kernels.tile/$file"
            cmake --build "$build" >build.log 2>&1 || { cat build.log; false; }
            [ -e "$build/kernels.tile/$file" ] || { echo "$generator: $file"; cat build.log; return 1; }
        done
        cmake --build "$build" --target clean >build.log 2>&1
        [ "$(find "$build/kernels.tile" -type f)" = "" ] || { find "$build/kernels.tile"; return 1; }
    done
}

@test "by CMake a library that holds kernels is installed and exported" {
    command -v cmake >/dev/null || skip "no cmake"
    scaled engine
    cat >>engine/CMakeLists.txt <<'END'
add_library(engine STATIC app.cc)
target_link_libraries(engine PRIVATE kernels)
install(TARGETS engine kernels EXPORT engine DESTINATION lib)
install(EXPORT engine NAMESPACE engine:: DESTINATION lib/cmake/engine FILE engine-targets.cmake)
file(WRITE "${CMAKE_CURRENT_BINARY_DIR}/engine-config.cmake" "include(CMakeFindDependencyMacro)
find_dependency(tilecc)
include(\"\${CMAKE_CURRENT_LIST_DIR}/engine-targets.cmake\")
")
install(FILES "${CMAKE_CURRENT_BINARY_DIR}/engine-config.cmake" DESTINATION lib/cmake/engine)
END
    CXX=${CXX##* } cmake -S engine -B engine/build -DCMAKE_PREFIX_PATH="$PWD/prefix" \
        -DCMAKE_INSTALL_PREFIX="$PWD/engine/installed" >cmake.log 2>&1 || { cat cmake.log; false; }
    cmake --build engine/build --target install >build.log 2>&1 || { cat build.log; false; }
    rm -r engine/build
    mkdir user
    printf '%s\n' 'int run(void);' 'int main() { return run(); }' >user/main.cc
    printf '%s\n' 'cmake_minimum_required(VERSION 3.16)' 'project(user CXX)' 'find_package(engine REQUIRED)' \
        'add_executable(user main.cc)' 'target_link_libraries(user PRIVATE engine::engine)' >user/CMakeLists.txt
    CXX=${CXX##* } cmake -S user -B user/build "-DCMAKE_PREFIX_PATH=$PWD/prefix;$PWD/engine/installed" >cmake.log 2>&1 || { cat cmake.log; false; }
    cmake --build user/build >build.log 2>&1 || { cat build.log; false; }
    [ "$(user/build/user)" = 2 ]
}

# refused WORDS SENTENCE: CMake refuses tile_add_library(kernels WORDS) with a sentence.
refused() {
    printf '%s\n' 'cmake_minimum_required(VERSION 3.16)' 'project(refused C)' 'find_package(tilecc REQUIRED)' \
        "tile_add_library(kernels $1)" >refused/CMakeLists.txt
    ! CC=${CC##* } cmake -S refused -B refused/build -DCMAKE_PREFIX_PATH="$PWD/prefix" >cmake.log 2>&1 || { echo "$1"; return 1; }
    tr -s ' \n' ' ' <cmake.log | grep -qF "$2" || { cat cmake.log; return 1; }
}

@test "by CMake words that are misspelt and sources that are not there are refused" {
    command -v cmake >/dev/null || skip "no cmake"
    mkdir refused
    cp examples/saxpy.tile refused
    refused 'saxpy.tile ARCHITECTURE cpu 80' "'ARCHITECTURE' is no source (.tile or .tir), and the words are ARCHITECTURES, PREFIX"
    refused 'saxpy.tile missing.tile' "there is no file $PWD/refused/missing.tile"
    refused 'saxpy.tile OPTIONS $<$<BOOL:ON>:-fc++>' 'what is written must be known here: CXX'
    refused 'ARCHITECTURES cpu' 'no .tile source is named'
    mkdir refused/other
    cp examples/saxpy.tile refused/other
    refused 'saxpy.tile other/saxpy.tile' "'saxpy.tile' and 'other/saxpy.tile' would both make saxpy.o and saxpy.h"
    refused 'saxpy.tile TUNING saxpy.tuning' "as gemm.tile=gemm.tuning, not 'saxpy.tuning'"
    refused 'saxpy.tile TUNING other.tile=saxpy.tuning' "not 'other.tile=saxpy.tuning'"
}

@test "by CMake a source has its file of tuning, and is compiled again when that changes" {
    command -v cmake >/dev/null || skip "no cmake"
    mkdir -p tuned/sub
    cp examples/saxpy.tile tuned
    echo 'kernel twice(x: inout f32[N]) grid(i: cdiv(N, B)) tune(B: {64, 128} = 64) { x[i*B +: B] = x[i*B +: B] * 2.0; }' >tuned/twice.tile
    printf 'tuning 1\ntwice cpu\n    [B=128] when N >= 4096\n' >tuned/sub/twice.tuning
    printf '%s\n' 'cmake_minimum_required(VERSION 3.16)' 'project(tuned C)' 'find_package(tilecc REQUIRED)' \
        'tile_add_library(kernels saxpy.tile twice.tile ARCHITECTURES cpu TUNING twice.tile=sub/twice.tuning PYTHON)' >tuned/CMakeLists.txt
    for generator in 'Unix Makefiles' Ninja; do
        [ "$generator" != Ninja ] || command -v ninja >/dev/null || continue
        build="tuned/$generator"
        CC=${CC##* } cmake -G "$generator" -S tuned -B "$build" -DCMAKE_PREFIX_PATH="$PWD/prefix" >cmake.log 2>&1 || { cat cmake.log; false; }
        cmake --build "$build" >build.log 2>&1 || { cat build.log; false; }
        grep -q B=128 "$build/kernels.tile/twice.o"
        sleep 1
        touch tuned/sub/twice.tuning
        cmake --build "$build" >build.log 2>&1
        grep -q 'Compiling tile kernels twice.tile' build.log
        ! grep -q 'Compiling tile kernels saxpy.tile' build.log || false
    done
}

@test "by CMake for AArch64" {
    command -v cmake >/dev/null || skip "no cmake"
    command -v aarch64-linux-gnu-gcc >/dev/null || skip "no compiler for AArch64"
    cmake -S examples/build -B aarch64 -DCMAKE_PREFIX_PATH="$PWD/prefix" -DCMAKE_SYSTEM_NAME=Linux \
        -DCMAKE_SYSTEM_PROCESSOR=aarch64 -DCMAKE_C_COMPILER=aarch64-linux-gnu-gcc \
        -DCMAKE_FIND_ROOT_PATH_MODE_PACKAGE=NEVER >cmake.log 2>&1 || { cat cmake.log; false; }
    cmake --build aarch64 >build.log 2>&1 || { cat build.log; false; }
    readelf -h aarch64/app | grep -q AArch64
    ! command -v qemu-aarch64 >/dev/null || qemu-aarch64 -L /usr/aarch64-linux-gnu aarch64/app
    ! cmake -S examples/build -B riscv -DCMAKE_PREFIX_PATH="$PWD/prefix" -DCMAKE_SYSTEM_NAME=Linux \
        -DCMAKE_SYSTEM_PROCESSOR=riscv64 >cmake.log 2>&1 || false
    tr -s ' \n' ' ' <cmake.log | grep -q 'not for riscv64'
}

# asked WORDS: the -arch of tile_add_library where CMAKE_CUDA_ARCHITECTURES is these words, or what CMake says.
asked() {
    CC=${CC##* } cmake -S words -B words/build -DCMAKE_PREFIX_PATH="$PWD/prefix" -DCMAKE_EXPORT_COMPILE_COMMANDS=ON \
        "-DCMAKE_CUDA_ARCHITECTURES=$1" >cmake.log 2>&1 || { tr '\n' ' ' <cmake.log | tr -s ' '; return 1; }
    grep -rhoE -e '-arch=[a-z0-9_,]+' words/build --include=build.make --include=build.ninja | head -1
}

@test "architectures of CMake are obeyed, or refused with a sentence" {
    command -v cmake >/dev/null || skip "no cmake"
    mkdir words
    cp examples/saxpy.tile words
    printf '%s\n' 'cmake_minimum_required(VERSION 3.16)' 'project(words C)' 'find_package(tilecc REQUIRED)' \
        'tile_add_library(kernels saxpy.tile)' >words/CMakeLists.txt
    [ "$(asked '80;90a')" = -arch=cpu,sm_80,sm_90a ]
    [ "$(asked 86-real)" = -arch=cpu,sm_86 ]
    [ "$(asked 86-virtual)" = -arch=cpu,compute_86 ]
    [ "$(asked '86-real;86-virtual')" = -arch=cpu,sm_86,compute_86 ]
    [ "$(asked OFF)" = "" ]
    [ "$(asked all)" = "-arch=$("$TILECC" --print-targets | awk 'NR > 1 { print $1 }' | paste -sd, -)" ]
    run asked all-major
    [[ $status == 1 && $output == *'there is no all-major'* ]]
    run asked newest
    [[ $status == 1 && $output == *"there is no architecture 'newest'"* ]]
    mkdir -p smi
    printf '#!/bin/sh\necho 9.0\necho 8.6\necho 9.0\n' >smi/nvidia-smi
    chmod +x smi/nvidia-smi
    [ "$(PATH=$PWD/smi:$PATH asked native)" = -arch=cpu,sm_90a,sm_86 ]
    printf '#!/bin/sh\nexit 9\n' >smi/nvidia-smi
    PATH=$PWD/smi:$PATH run asked native
    [[ $status == 1 && $output == *'nvidia-smi tells of no GPU here'* ]]
    sed -i 's/saxpy.tile)/saxpy.tile NO_CPU)/' words/CMakeLists.txt
    [ "$(asked 80)" = -arch=sm_80 ]
    run asked OFF
    [[ $status == 1 && $output == *'NO_CPU needs ARCHITECTURES'* ]]
}

# The text between ```WORD and ```.
readme() { sed -n "/^\`\`\`$1\$/,/^\`\`\`\$/p" "$SRCDIR/README.md" | sed '1d;$d'; }

project_of_readme() {
    rm -rf "$1"
    mkdir "$1"
    cp examples/saxpy.tile "$1"
    cp examples/build/main.c "$1/app.c"
}

@test "the Makefile of the README" {
    command -v pkg-config >/dev/null || skip "no pkg-config"
    [ -n "${PTXAS-}" ] || skip "no ptxas"
    project_of_readme of_readme
    readme make >of_readme/Makefile
    grep -q 'saxpy.o: saxpy.tile' of_readme/Makefile
    make -s -C of_readme CC="${CC:-cc}"
    of_readme/app
    make -q -C of_readme
    rm of_readme/saxpy.h
    make -s -j2 -C of_readme CC="${CC:-cc}"
    [ -e of_readme/saxpy.h ]
    make -q -C of_readme
}

@test "a prefix with a space, one that moves by DESTDIR, and uninstall, which leaves what others have" {
    command -v pkg-config >/dev/null || skip "no pkg-config"
    make -s -C "$BUILDDIR" install PREFIX="$PWD/a prefix" >install.log 2>&1 || { cat install.log; false; }
    project_of_readme of_readme
    readme make | sed 's/-arch=[^ ]*/-arch=cpu/' >of_readme/Makefile
    PKG_CONFIG_PATH="$PWD/a prefix/lib/pkgconfig" make -s -C of_readme CC="${CC:-cc}"
    of_readme/app
    touch "a prefix/lib/libother.a" "a prefix/share/man/man7/other.7"
    make -s -C "$BUILDDIR" uninstall PREFIX="$PWD/a prefix"
    [ "$(cd "a prefix" && find . ! -type d | sort | tr '\n' ' ')" = "./lib/libother.a ./share/man/man7/other.7 " ]
    make -s -C "$BUILDDIR" install DESTDIR="$PWD/root" PREFIX=/opt/tile >install.log 2>&1 || { cat install.log; false; }
    grep -qx 'prefix=/opt/tile' root/opt/tile/lib/pkgconfig/tilecc.pc
    for file in bin/tilecc lib/libtilert.so.0 share/man/man5/tilecc-tuning.5 share/doc/tilecc/CHANGELOG.md share/doc/tilecc/LICENSE.runtime \
        share/bash-completion/completions/tilecc share/vim/vimfiles/syntax/tile.vim share/vim/vimfiles/ftdetect/tile.vim; do
        [ -s "root/opt/tile/$file" ]
    done
    grep -E 'syn keyword tileKeyword (.* )?inout( |$)' root/opt/tile/share/vim/vimfiles/syntax/tile.vim
    grep -E 'syn keyword tileType (.* )?f8e4m3( |$)' root/opt/tile/share/vim/vimfiles/syntax/tile.vim
    make -s -C "$BUILDDIR" uninstall DESTDIR="$PWD/root" PREFIX=/opt/tile
    [ -z "$(find root ! -type d)" ]
    make -s -C "$BUILDDIR" install PREFIX=here >install.log 2>&1 && false
    grep -q 'PREFIX is where files are used' install.log
    [ ! -e "$BUILDDIR/here" ]
}

@test "the CMakeLists.txt of the README, and a project of C++ alone with a plug-in" {
    command -v cmake >/dev/null || skip "no cmake"
    [ -n "${PTXAS-}" ] || skip "no ptxas"
    project_of_readme of_readme
    readme cmake >of_readme/CMakeLists.txt
    grep -q 'tile_add_library' of_readme/CMakeLists.txt
    CC=${CC##* } cmake -S of_readme -B of_readme/build -DCMAKE_PREFIX_PATH="$PWD/prefix" >cmake.log 2>&1 || { cat cmake.log; false; }
    cmake --build of_readme/build >build.log 2>&1 || { cat build.log; false; }
    of_readme/build/app

    project_of_readme of_readme
    mv of_readme/app.c of_readme/app.cc
    sed -i 's/int main(void)/int run(void); int run(void)/' of_readme/app.cc
    printf 'int run(void);\nint main() { return run(); }\n' >of_readme/main.cc
    sed -e 's/project(app C)/project(app CXX)/' -e 's/ ARCHITECTURES.*)/ ARCHITECTURES cpu PREFIX "" OPTIONS -O1)/' \
        -e 's/add_executable(app app.c)/add_library(plug SHARED app.cc)\nadd_executable(app main.cc)/' \
        -e 's/target_link_libraries(app.*/target_link_libraries(plug PRIVATE kernels)\ntarget_link_libraries(app PRIVATE plug)/' \
        <(readme cmake) >of_readme/CMakeLists.txt
    CXX=${CXX##* } cmake -S of_readme -B of_readme/build -DCMAKE_PREFIX_PATH="$PWD/prefix" >cmake.log 2>&1 || { cat cmake.log; false; }
    cmake --build of_readme/build >build.log 2>&1 || { cat build.log; false; }
    of_readme/build/app
}

@test "by Meson" {
    command -v meson >/dev/null && command -v ninja >/dev/null || skip "no meson"
    CC=${CC##* } meson setup meson examples/build >meson.log 2>&1 || { cat meson.log; false; }
    ninja -C meson >build.log 2>&1 || { cat build.log; false; }
    meson/app
}

# The commands of a step, by the beginning of its name.
step() { awk -v name="      - name: $1" 'index($0, "      - ") == 1 { mine = index($0, name) == 1 } mine && /^          / { print substr($0, 11) }' "$2"; }

@test "the steps of the workflow for GitHub Actions, without the installation" {
    [ -n "${PTXAS-}" ] || skip "no ptxas"
    mkdir workflow
    cp examples/saxpy.tile examples/build/main.c workflow
    file=$PWD/examples/build/github-actions.yml
    step Install "$file" | grep -q 'configure --bootstrap'
    cd workflow
    for name in Compile Run; do
        step "$name" "$file" >"$name.sh"
        [ "$(wc -l <"$name.sh")" -ge 3 ]
        PATH=$BATS_FILE_TMPDIR/prefix/bin:$PATH bash -e "$name.sh" >"$name.log" 2>&1 || { cat "$name.log"; false; }
    done
    for gpu in sm_75 sm_80 sm_86 sm_89 sm_90a sm_100a; do grep -q "$gpu" Compile.log; done
    readelf -h aarch64/saxpy.o | grep -q AArch64
    grep -q 'y\[999\] = 1999' Run.log
}
