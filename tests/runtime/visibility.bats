# Libraries of one process that have kernels of one name.

setup() {
    cd "$BATS_TEST_TMPDIR" || return 1
    "$TILECC" --emit-runtime -o tile_rt.o
}

# library FACTOR NAME [OPTION]: libNAME.so, whose NAME_run multiplies by FACTOR.
library() {
    echo "kernel act(x: inout f32[N]) grid(b: cdiv(N, 64)) { x[b*64 +: 64] = x[b*64 +: 64] * $1.0; }" >act.tile
    "$TILECC" -arch=cpu ${3:+"$3"} act.tile
    cat >run.c <<END
#include "act.h"
int $2_run(float *x)
{
    struct tile_f32_1 v = tile_f32_1_row_major(x, 1);
    return act(TILE_CPU, &v);
}
END
    ${CC:-cc} -shared -fPIC -o "lib$2.so" run.c act.o tile_rt.o -ldl -lpthread
}

both_run_their_own() {
    cat >main.c <<'END'
int a_run(float *), b_run(float *);
int main(void)
{
    float x = 1, y = 1;
    return a_run(&x) || b_run(&y) || x != 2 || y != 3;
}
END
    ${CC:-cc} main.c -o main -L. -la -lb -Wl,-rpath,"$PWD"
    ./main
}

@test "each library runs its own kernel, and others find it" {
    library 2 a
    library 3 b
    both_run_their_own
    readelf --dyn-syms -W liba.so | grep 'PROTECTED.* act$'
    ! readelf --dyn-syms -W liba.so | grep 'DEFAULT.* tile_' | grep -v UND
    cat >find.c <<'END'
#include <dlfcn.h>
int main(void)
{
    void *library = dlopen("./libb.so", RTLD_NOW);
    return !library || !dlsym(library, "act") || !dlsym(library, "tile_last_error") || dlsym(library, "tile_rt_launch");
}
END
    ${CC:-cc} find.c -o find -ldl
    ./find
}

@test "hidden: nobody else sees it" {
    library 2 a -fvisibility=hidden
    library 3 b -fvisibility=hidden
    both_run_their_own
    ! readelf --dyn-syms -W liba.so | grep -qw act
}

@test "default: the first that is loaded is everybody's" {
    library 2 a -fvisibility=default
    library 3 b -fvisibility=default
    run both_run_their_own
    [ "$status" -eq 1 ]
}

@test "libtilert.so shows what programs and kernels call, by version" {
    readelf --dyn-syms -W "$BUILDDIR/libtilert.so" | grep 'tile_rt_launch@@TILERT_0'
    ! readelf --dyn-syms -W "$BUILDDIR/libtilert.so" | grep -E 'GLOBAL.*[0-9] [^U].*' | grep -vE 'UND|TILERT_0'
}
