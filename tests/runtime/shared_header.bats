#!/usr/bin/env bats
# --shared-header: headers that include what they share.

setup_file() {
    cd "$BATS_FILE_TMPDIR" || return 1
    export TILECC_CACHE=
    echo 'kernel twice<T: {f32, f16}>(x: in T[N], y: out T[N]) grid(i: N) { y[i] = x[i] + x[i]; }' >one.tile
    echo 'kernel half(x: in f32[N], y: out f32[N]) grid(i: N) { y[i] = x[i] * 0.5; }' >two.tile
    mkdir out apart
    "$TILECC" -arch=cpu --shared-header=common.h one.tile -o out/one.o
    "$TILECC" -arch=cpu --shared-header=common.h two.tile -o out/two.o
    "$TILECC" -arch=cpu --emit=header two.tile -o apart/two.h
    "$TILECC" --emit-runtime -o tile_rt.o
}

setup() {
    cd "$BATS_FILE_TMPDIR"
    export TILECC_CACHE=
}

@test "what is shared is in one file, and headers with and without it fit together" {
    grep -q '^#include "common.h"' out/one.h
    grep -q 'enum tile_status' out/common.h
    ! grep -q '^enum tile_status\|tile_round_float' out/one.h out/two.h || false
    [ "$(wc -l <out/two.h)" -lt $(($(wc -l <apart/two.h) - 50)) ]
    for order in one,two two,one one,../apart/two ../apart/two,one common,one,two; do
        printf '#include "%s.h"\n' ${order//,/ } >order.c
        cp order.c order.cc
        for standard in c99 c17; do ${CC:-cc} -std=$standard -Wall -Wextra -Wpedantic -Wconversion -Werror -Iout -fsyntax-only order.c; done
        ! command -v g++ >/dev/null || g++ -std=c++11 -Wall -Wextra -Wpedantic -Wconversion -Werror -Iout -fsyntax-only order.cc
    done
    cat >app.c <<'END'
#include "one.h"
#include "two.h"
int main(void)
{
    float x[2] = {1, 2}, y[2];
    tile_f16 h[1] = {0x3c00}, g[1];
    struct tile_f32_1 a = tile_f32_1_row_major(x, 2), b = tile_f32_1_row_major(y, 2);
    struct tile_f16_1 c = tile_f16_1_row_major(h, 1), d = tile_f16_1_row_major(g, 1);
    return one_twice_f32(TILE_CPU, &a, &b) || y[1] != 4 || two_half(TILE_CPU, &a, &b) || y[1] != 1 ||
           one_twice_f16(TILE_CPU, &c, &d) || tile_f16_to_float(g[0]) != 2;
}
END
    ${CC:-cc} -Iout app.c out/one.o out/two.o tile_rt.o -o app -ldl -lpthread
    ./app
}

@test "with -fc++" {
    command -v g++ >/dev/null || skip "no g++"
    mkdir -p cxx
    "$TILECC" -arch=cpu -fc++ --shared-header=common.h one.tile -o cxx/one.o
    "$TILECC" -arch=cpu -fc++ --shared-header=common.h two.tile -o cxx/two.o
    [ "$(cd cxx && echo *.h*)" = "common.h common.hpp one.h one.hpp two.h two.hpp" ]
    ! grep -q 'struct const_view' cxx/one.hpp || false
    cmp cxx/common.h out/common.h
    for order in one,two common,two,one; do
        printf '#include "%s.hpp"\n' ${order//,/ } >order.cc
        g++ -std=c++17 -Wall -Wextra -Wpedantic -Wconversion -Werror -Icxx -fsyntax-only order.cc
    done
}

@test "it is the same whatever the source and the folder, keeps its time, and is no target" {
    mkdir -p again/sub
    "$TILECC" --emit=header --shared-header=../common.h one.tile -o again/sub/one.h
    grep -q '^#include "../common.h"' again/sub/one.h
    cmp again/common.h out/common.h
    touch -d 2020-01-01 again/common.h
    "$TILECC" -arch=cpu --shared-header=../common.h -MD two.tile -o again/sub/two.o
    [ "$(stat -c %y again/common.h | cut -c 1-4)" = 2020 ]
    ! grep -q common again/sub/two.d || false
    echo 'damaged' >again/common.h
    "$TILECC" --emit=header --shared-header=../common.h one.tile -o again/sub/one.h
    cmp again/common.h out/common.h
    mkdir -p both
    (cd both && "$TILECC" -arch=cpu --shared-header=common.h ../one.tile ../two.tile)
    cmp both/common.h out/common.h
    [ "$(cd both && echo *)" = "common.h one.h one.o two.h two.o" ]
    rm -r both/*
    for i in 1 2 3 4 5 6; do (cd both && "$TILECC" --emit=header --shared-header=common.h ../one.tile -o $i.h) & done
    wait
    cmp both/common.h out/common.h
    [ "$(cd both && echo *)" = "1.h 2.h 3.h 4.h 5.h 6.h common.h" ]
    run "$TILECC" --emit=header --dryrun --shared-header=none.h one.tile
    [[ $output == *"would write none.h"* ]]
    [ ! -e none.h ]
}

@test "what does not fit" {
    for name in /tmp/common.h common .h sub/.h 'a"b.h' 'a\b.h' common.hpp; do
        run "$TILECC" --emit=header "--shared-header=$name" one.tile
        [ "$status" = 2 ] && [[ $output == *"is no name of a header"* ]] || { echo "$name: $output"; return 1; }
    done
    for options in '-S' '--emit=header -o -' '--emit=python'; do
        run "$TILECC" -arch=cpu $options --shared-header=common.h one.tile
        [ "$status" = 2 ] && [[ $output == *"goes beside a header, which this command does not write to a file"* ]] || false
    done
    run "$TILECC" --emit=header --shared-header=one.h one.tile
    [ "$status" = 2 ] && [[ $output == *"two outputs have the name 'one.h'"* ]] || false
    cp one.tile common.tile
    run "$TILECC" --emit=header --shared-header=common.h common.tile two.tile
    [ "$status" = 2 ] && [[ $output == *"two outputs have the name 'common.h'"* ]] || false
    cp one.tile in.h
    run "$TILECC" --emit=header --shared-header=in.h in.h -o x.h
    [ "$status" = 2 ] && [[ $output == *"the output 'in.h' is the input 'in.h'"* ]] || false
    mkdir -p way
    ln -sfn way link
    cp one.tile way/one.tile
    for name in ./one.h ../way/one.h .././way/one.h ../link/one.h; do
        run "$TILECC" --emit=header "--shared-header=$name" way/one.tile -o way/one.h
        [ "$status" = 2 ] && [[ $output == *"two outputs have the name 'way/$name'"* ]] && [ ! -e way/one.h ] || { echo "$name: $output"; return 1; }
    done
    "$TILECC" --emit=header --shared-header=../one.h way/one.tile -o way/one.h # of the same name in another folder
    grep -q '^#include "../one.h"' way/one.h
    ! grep -q '#include "' one.h || false
    rm one.h
    run "$TILECC" --emit=header --shared-header=nowhere/common.h two.tile
    [ "$status" = 3 ]
}
