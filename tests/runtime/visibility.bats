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
    ! readelf --dyn-syms -W liba.so | grep 'DEFAULT.* tile_' | grep -v UND || false
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
    ! readelf --dyn-syms -W liba.so | grep -qw act || false
}

@test "default: the first that is loaded is everybody's" {
    library 2 a -fvisibility=default
    library 3 b -fvisibility=default
    run both_run_their_own
    [ "$status" -eq 1 ]
}

@test "libtilert.so shows what programs and kernels call, by version" {
    readelf --dyn-syms -W "$BUILDDIR/libtilert.so" | grep 'tile_rt_launch@@TILERT_0'
    ! readelf --dyn-syms -W "$BUILDDIR/libtilert.so" | grep -E 'GLOBAL.*[0-9] [^U].*' | grep -vE 'UND|TILERT_0' || false
}

# archive FACTOR NAME [OPTION]: libNAME.a, whose NAME_run multiplies by FACTOR.
archive() {
    library "$@"
    ${CC:-cc} -c run.c
    rm -f "lib$2.a" "lib$2.so"
    ar rcs "lib$2.a" act.o run.o
}

# Programs of two archives whose runs multiply by these.
link_both() {
    cat >main.c <<END
int a_run(float *), b_run(float *);
int main(void)
{
    float x = 1, y = 1;
    return a_run(&x) || b_run(&y) || x != $1 || y != $2;
}
END
    ${CC:-cc} $3 main.c -o main -L. $4 tile_rt.o -ldl -lpthread
}

@test "two archives with other code under one name do not link, in whatever order" {
    [[ $(${CC:-cc} -Wl,--version 2>/dev/null) == *"GNU ld"* ]] || skip "the linker is not GNU ld"
    archive 2 a
    archive 3 b
    for order in "-la -lb" "-lb -la" "-la -lb -la" "-Wl,--start-group -la -lb -Wl,--end-group" "-Wl,--gc-sections -la -lb"; do
        run link_both 2 3 "" "$order"
        [ "$status" != 0 ]
        [[ $output == *"multiple definition of \`act"* ]]
    done
    for option in -fvisibility=hidden -fvisibility=default; do
        archive 2 a $option
        archive 3 b $option
        run link_both 2 3 "" "-la -lb"
        [ "$status" != 0 ]
    done
}

@test "each pair of many bodies is told apart" {
    [[ $(${CC:-cc} -Wl,--version 2>/dev/null) == *"GNU ld"* ]] || skip "the linker is not GNU ld"
    for factor in 2 3 4 5 6 7; do
        archive $factor "n$factor"
    done
    for first in 2 3 4 5 6 7; do
        for second in 2 3 4 5 6 7; do
            echo "int n${first}_run(float *), n${second}_run(float *); int main(void) { return n${first}_run(0) + n${second}_run(0); }" >pair.c
            run ${CC:-cc} pair.c -o pair -L. "-ln$first" "-ln$second" tile_rt.o -ldl -lpthread
            [ "$((first == second))" = "$((status == 0))" ]
        done
    done
}

@test "archives with the same code under one name link, and so do two libraries, --prefix, and parts of a program" {
    archive 2 a
    archive 2 b
    link_both 2 2 "" "-la -lb"
    ./main
    link_both 2 2 "-Wl,--gc-sections" "-lb -la"
    ./main
    sed -i '1s/^/\n\n/' act.tile # other lines, same code
    "$TILECC" -arch=cpu act.tile
    ar rcs libb.a act.o
    link_both 2 2 "" "-la -lb"
    ./main
    library 2 a
    library 3 b
    both_run_their_own
    ld -r act.o tile_rt.o -o whole.o
    objcopy --localize-hidden whole.o
    echo '#include "act.h"
int main(void) { return act(TILE_CPU, 0) != TILE_ERR_ARG; }' >one.c
    ${CC:-cc} one.c whole.o -o one -ldl -lpthread
    ./one
}
