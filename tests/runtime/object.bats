#!/usr/bin/env bats
# The object: what is in it, how it links, and programs that call it.

setup_file() {
    cd "$BATS_FILE_TMPDIR" || return 1
    cat >kernels.tile <<'END'
/// y[i] = a*x[i] + y[i].
kernel saxpy(a: f32, x: in f32[N], y: inout f32[N])
    grid(b: cdiv(N, B))
    tune(B: {256, 1024} = 256)
{
    let i = b*B;
    y[i +: B] = a * x[i +: B] + y[i +: B];
}
/// y = x, and twice x where asked.
kernel twice<T: {f32, f64}, D: {2, 4}, TWICE: bool>(x: in T[N, D], y: out T[N, D])
    requires(N < 1000)
    grid(row: N)
{
    y[row, :] = TWICE ? x[row, :] + x[row, :] : x[row, :];
}
END
    "$TILECC" -arch=cpu -o kernels.o kernels.tile
    cat >app.c <<'END'
#include "kernels.h"
#include <stdio.h>
#include <string.h>
#define EXPECT(condition) if (!(condition)) { printf("%s: %s\n", #condition, tile_last_error()); return 1; }
int main(void)
{
    float x[1001], y[1001];
    double u[12], v[12];
    struct tile_f32_1 vx = tile_f32_1_row_major_const(x, 1000), vy = tile_f32_1_row_major(y, 1000);
    struct tile_f64_2 vu = tile_f64_2_row_major(u, 3, 4), vv = tile_f64_2_row_major(v, 3, 4);
    struct tile_kernel_info info;
    struct tile_launch_options options = {0, 0, 0, 0};
    int i;
    for (i = 0; i < 1001; i++)
        x[i] = (float)i, y[i] = 1.0f;
    for (i = 0; i < 12; i++)
        u[i] = i, v[i] = -1;
    EXPECT(kernels_saxpy(TILE_CPU, 2.0f, &vx, &vy) == TILE_OK);
    for (i = 0; i < 1001; i++)
        EXPECT(y[i] == (i < 1000 ? 2.0f * (float)i + 1.0f : 1.0f));
    EXPECT(kernels_twice_f64(TILE_CPU, &vu, &vv, 1) == TILE_OK);
    for (i = 0; i < 12; i++)
        EXPECT(v[i] == 2 * i);
    EXPECT(kernels_twice_f64(TILE_CPU, &vu, &vv, 0) == TILE_OK && v[3] == 3);
    EXPECT(kernels_twice_f64(TILE_CPU, &vu, &vv, 2) == TILE_ERR_ARG && strstr(tile_last_error(), "TWICE is 2"));
    vv.extent[1] = vu.extent[1] = 3;
    EXPECT(kernels_twice_f64(TILE_CPU, &vu, &vv, 0) == TILE_ERR_ARG && strstr(tile_last_error(), "D is 3"));
    EXPECT(kernels_saxpy(TILE_CPU, 2.0f, &vx, &vx) == TILE_ERR_ALIAS);
    EXPECT(kernels_saxpy(TILE_CPU, 2.0f, NULL, &vy) == TILE_ERR_ARG && strstr(tile_last_error(), "x is NULL"));
    vx.extent[0] = 999;
    EXPECT(kernels_saxpy(TILE_CPU, 2.0f, &vx, &vy) == TILE_ERR_ARG && strstr(tile_last_error(), "N is 999"));
    vx.extent[0] = vy.extent[0] = 0;
    EXPECT(kernels_saxpy(TILE_CPU, 2.0f, &vx, &vy) == TILE_OK);
    vx.extent[0] = vy.extent[0] = 513;
    EXPECT(kernels_saxpy_query(TILE_CPU, 2.0f, &vx, &vy, &info) == TILE_OK);
    vx.extent[0] = vy.extent[0] = 10;
    y[3] = 1.0f;
    EXPECT(kernels_saxpy_variant(TILE_CPU, 2.0f, &vx, &vy, info.variant) == TILE_OK && y[3] == 7.0f);
    EXPECT(kernels_saxpy_variant(TILE_CPU, 2.0f, &vx, &vy, -1) == TILE_ERR_ARG && strstr(tile_last_error(), "variant -1"));
    EXPECT(kernels_saxpy_variant(TILE_CPU, 2.0f, &vx, &vy, 1000) == TILE_ERR_ARG && y[3] == 7.0f);
    EXPECT(kernels_saxpy_launch_ex(TILE_CPU, 2.0f, &vx, &vy, NULL) == TILE_OK && y[3] == 13.0f);
    EXPECT(kernels_saxpy_launch_ex(TILE_CPU, 2.0f, &vx, &vy, &options) == TILE_OK && y[3] == 19.0f);
    options.flags = TILE_LAUNCH_OVERLAP;
    EXPECT(kernels_saxpy_launch_ex(TILE_CPU, 2.0f, &vx, &vy, &options) == TILE_ERR_ARG && y[3] == 19.0f);
    options.size = sizeof options;
    EXPECT(kernels_saxpy_launch_ex(TILE_CPU, 2.0f, &vx, &vy, &options) == TILE_OK && y[3] == 25.0f);
    EXPECT(strncmp(info.target, "cpu-", 4) == 0 && info.programs > 0 && info.value_count >= 1);
    return 0;
}
END
}

setup() { cd "$BATS_FILE_TMPDIR"; }

runtime() { # objects of the run time, made once
    [ -e libtilert.a ] && return
    "$TILECC" --emit-runtime -o tile_rt.o
    ar rcs libtilert.a tile_rt.o
}

link() { # output, options...
    local output=$1
    shift
    ${CC:-cc} -O1 -I. "$@" -o "$output" -ldl -lpthread
}

@test "a program with nothing installed: plain, PIE, not PIE, shared, no unused sections" {
    runtime
    link plain app.c kernels.o tile_rt.o
    ./plain
    link pie -fPIE -pie -Wl,-z,text -Wl,-z,relro,-z,now -Wl,--fatal-warnings app.c kernels.o tile_rt.o
    ./pie
    link fixed -fno-pie -no-pie app.c kernels.o tile_rt.o
    ./fixed
    link small -Wl,--gc-sections app.c kernels.o tile_rt.o
    ./small
    link shared -shared -fPIC -Wl,-z,text kernels.o tile_rt.o
    link user app.c ./shared
    ./user
}

@test "every instruction set that this processor has, and one thread" {
    runtime
    link plain app.c kernels.o tile_rt.o
    TILE_CPU_ISA=baseline ./plain
    TILE_CPU_THREADS=1 ./plain
    case $(uname -m) in
    x86_64)
        if grep -qw avx2 /proc/cpuinfo; then TILE_CPU_ISA=avx2 ./plain; fi
        if grep -qw avx512vl /proc/cpuinfo; then TILE_CPU_ISA=avx512 ./plain; fi ;;
    aarch64) TILE_CPU_ISA=neon ./plain ;;
    esac
}

@test "--cpu-isa: code for one set of instructions runs there alone, and the error names what the object holds" {
    runtime
    one=$BATS_TEST_TMPDIR
    "$TILECC" --host-target=x86_64-linux --cpu-isa=avx2 -arch=cpu -o "$one/kernels.o" kernels.tile
    "$TILECC" info "$one/kernels.o" >"$one/info"
    grep -q 'cpu-avx2: ' "$one/info"
    ! grep -qE 'cpu-(baseline|avx512|neon)' "$one/info" || false
    "$TILECC" --host-target=aarch64-linux --cpu-isa=neon -arch=cpu -o "$one/arm.o" kernels.tile
    for words in '--host-target=aarch64-linux --cpu-isa=avx2' '--host-target=aarch64-linux --cpu-isa=baseline,avx512' '--host-target=x86_64-linux --cpu-isa=neon' --cpu-isa=sse4 --cpu-isa=,avx2; do
        run "$TILECC" $words -arch=cpu -o "$one/none.o" kernels.tile
        [ "$status" -eq 2 ] && [[ $output == *"--cpu-isa: "* ]] && [ ! -e "$one/none.o" ] || { echo "$words: $output"; return 1; }
    done
    [ "$(uname -m)" = x86_64 ] && grep -qw avx2 /proc/cpuinfo || skip "this processor has no AVX2"
    link "$one/app" app.c "$one/kernels.o" tile_rt.o
    "$one/app"
    TILE_CPU_ISA=avx2 "$one/app"
    run env TILE_CPU_ISA=baseline "$one/app"
    [ "$status" -eq 1 ]
    [[ $output == *"wants code for the processor with baseline; the object holds cpu-avx2"* ]]
}

@test "symbols: entries are global, the run time is undefined, nothing else shows" {
    nm kernels.o | grep -v ' [a-z] ' | sed 's/^ *[0-9a-f]* *//' | sort >symbols
    for entry in saxpy twice_f32 twice_f64; do
        printf 'body kernels_%s\n' ${entry}.body_{a..p} # hidden: common symbols, and others for the descriptor
        printf 'T kernels_%s\n' ${entry}{,_launch_ex,_load,_query,_unload,_variant,_workspace} \
            ${entry}{,_launch_ex,_query,_variant,_workspace}.signature
    done >wanted
    printf 'U tile_rt_%s\n' launch launch_ex launch_variant load query unload workspace >>wanted
    # what LLVM may call for copies and fills
    sed -E 's/(signature)_[0-9a-f]{8}$/\1/; s/^[CDR] (.*\.body_[a-p])$/body \1/' symbols | grep -vxE 'U mem(cpy|set|move)' | sort | diff <(sort wanted) -
    sed -n '/^\.SH REQUIREMENTS/,/^\.SH SEE/p' "$SRCDIR/man/tilert.7" >requirements
    for name in $(sed -n 's/^U //p' wanted) memcpy memset memmove; do grep -qw "$name" requirements; done
}

@test "a header of another build does not link, and the message names the kernel" {
    runtime
    mkdir -p build
    declared='x: in f32[N], y: out f32[N], a: act' members='none, relu' size=64 value='x[b*B +: B]'
    build() {
        printf 'enum act { %s } kernel f(%s) grid(b: cdiv(N, B)) tune(B: {64, 128} = %s) { y[b*B +: B] = %s; }\n' \
            "$members" "$declared" "$size" "$value" >build/f.tile
        "$TILECC" -arch=cpu -o build/f.o build/f.tile
    }
    use() { ${CC:-cc} -Ibuild -c "build/use.$1" -o build/use.o && ${CC:-cc} build/use.o build/f.o tile_rt.o -o build/use -ldl -lpthread; }
    cat >build/use.c <<'END'
#include "f.h"
int main(void)
{
    float d[4] = {1, 2, 3, 4}, e[4] = {0};
    struct tile_f32_1 x = tile_f32_1_row_major(d, 4), y = tile_f32_1_row_major(e, 4);
    return f(TILE_CPU, &x, &y, TILE_ACT_RELU) != TILE_OK || e[3] != 4.0f || f_workspace(TILE_CPU, &x, &y, 0) != 0 ||
           f_workspace(TILE_CPU, &x, &x, 0) != (size_t)-1 || f_unload() != TILE_OK;
}
END
    cp build/use.c build/use.cc
    build
    cp build/f.h build/kept.h
    use c
    ./build/use
    ${CXX:-c++} -x c++ -Ibuild -c build/use.cc -o build/use.o
    ${CC:-cc} build/use.o build/f.o tile_rt.o -o build/use -ldl -lpthread
    ./build/use
    # what a caller does not see may change
    value='0.5*x[b*B +: B]' build
    cmp build/f.h build/kept.h
    use c
    mismatch() { # with the variables as they are
        build
        cp build/kept.h build/f.h
        run use c
        [ "$status" -ne 0 ]
        case $output in *undefined*f.signature_*) ;; *) echo "$output"; return 1 ;; esac
    }
    members='none, gelu, relu' mismatch
    size=128 mismatch
    declared='x: in? f32[N], y: out f32[N], a: act' value='1.0' mismatch
    declared='y: out f32[N], x: in f32[N], a: act' mismatch
    declared='x: in f32[N], y: out f32[N], a: act, s: i32' mismatch
    declared='x: in f16[N], y: out f32[N], a: act' value='f32(x[b*B +: B])' mismatch
}

@test "the header that is made alone is the object's" {
    mkdir -p alone
    for source in "$SRCDIR"/examples/*.tile; do
        [ "$source" != "$SRCDIR/examples/attention.tile" ] || continue # slow, and has nothing of its own here
        "$TILECC" -arch=cpu -O1 -o alone/a.o "$source"
        "$TILECC" -arch=cpu --emit=header -o alone/b.h "$source"
        cmp alone/a.h alone/b.h
    done
}

@test "PTX is in the object where compute_XX is asked for, with ptxas or without" {
    mkdir -p ptx
    if [ -n "${PTXAS-}" ]; then
        "$TILECC" -arch=cpu,sm_80,compute_80 -o ptx/both.o kernels.tile
        "$TILECC" info ptx/both.o >images
        grep -q 'kernels_saxpy__[0-9]*.sm_80.ptx: .* of PTX' images
        grep -q 'kernels_saxpy__[0-9]*.sm_80: .* architecture 80' images
        ! grep -q 'PTX  *none' images || false
        "$TILECC" -arch=cpu,sm_80 -o ptx/none.o kernels.tile
        "$TILECC" info ptx/none.o | grep -q 'PTX  *none'
    fi
    # Without the tool the text is all the same.
    "$TILECC" -arch=compute_90 -o ptx/only.o kernels.tile
    env -i PATH=/nonexistent "$TILECC" --cuda-path=/nonexistent -arch=compute_90 -o ptx/without.o kernels.tile 2>message || cat message
    "$TILECC" info ptx/without.o | grep -q 'sm_90.ptx: .* of PTX'
    ! "$TILECC" info ptx/without.o | grep -q 'architecture' || false
    for object in only without; do
        ${OBJCOPY:-objcopy} -O binary --only-section='.rodata.tile.image.*' ptx/$object.o ptx/$object.images
    done
    [ -s ptx/only.images ]
    cmp ptx/only.images ptx/without.images
}

@test "sections: no executable stack, nothing to run at start, read-only data" {
    readelf -SW kernels.o >sections
    grep -q '\.note\.GNU-stack .* 0 *[0-9]* *1$' sections
    ! grep -qE 'init_array|ctors|COMMON' sections || false
    ! grep -E ' WAX ' sections || false
    readelf -nW kernels.o | grep -qE 'IBT, SHSTK|BTI, PAC'
    runtime
    link plain app.c kernels.o tile_rt.o
    readelf -lW plain | grep -E 'GNU_STACK.* RW '
    ! readelf -dW plain | grep -q TEXTREL || false
}

@test "unused kernels are dropped" {
    runtime
    echo '#include "kernels.h"
        int main(void) { struct tile_f32_1 v = tile_f32_1_row_major(0, 0); return kernels_saxpy(TILE_CPU, 1.0f, &v, &v); }' >one.c
    link one -Wl,--gc-sections one.c kernels.o tile_rt.o
    ./one
    nm one | grep -q kernels_saxpy
    ! nm one | grep -q kernels_twice || false
}

@test "AArch64: the same program under qemu" {
    [ -n "${AARCH64_CC-}" ] && command -v qemu-aarch64 >/dev/null || skip "no cross compiler or no qemu-user"
    mkdir -p arm
    "$TILECC" -arch=cpu --host-target=aarch64-linux -o arm/kernels.o kernels.tile
    cmp arm/kernels.h kernels.h
    "$TILECC" --emit-runtime --host-target=aarch64-linux -o arm/tile_rt.o
    $AARCH64_CC -I. app.c arm/kernels.o arm/tile_rt.o -o arm/app -static -ldl -lpthread 2>/dev/null
    qemu-aarch64 arm/app
    readelf -hW arm/kernels.o | grep -q AArch64
    readelf -nW arm/kernels.o | grep -q 'BTI, PAC'
}

@test "called from Python" {
    command -v python3 >/dev/null || skip "no python3"
    runtime
    link kernels.so -shared -fPIC kernels.o tile_rt.o
    python3 - <<'END'
import ctypes
library = ctypes.CDLL("./kernels.so")
class View(ctypes.Structure):
    _fields_ = [("data", ctypes.c_void_p), ("extent", ctypes.c_int64 * 1), ("stride", ctypes.c_int64 * 1)]
def view(array):
    return View(ctypes.addressof(array), (ctypes.c_int64 * 1)(len(array)), (ctypes.c_int64 * 1)(1))
x = (ctypes.c_float * 700)(*range(700))
y = (ctypes.c_float * 700)(*([1.0] * 700))
cpu = ctypes.c_void_p(0x435055)
status = library.kernels_saxpy(cpu, ctypes.c_float(3.0), ctypes.byref(view(x)), ctypes.byref(view(y)))
assert status == 0, status
assert all(y[i] == 3.0 * i + 1.0 for i in range(700))
library.tile_last_error.restype = ctypes.c_char_p
assert library.kernels_saxpy(cpu, ctypes.c_float(3.0), None, ctypes.byref(view(y))) == 1
assert b"x is NULL" in library.tile_last_error()
END
}

@test "a struct from Python" {
    runtime
    mkdir -p python
    echo 'struct norm { half: bool; eps: f64; rows: i16; at: *const f32; } kernel k(p: norm, r: out f32[N]) grid(i: N) {
        r[i] = f32(p.eps) * f32(p.rows) + load(p.at + 1) + (p.half ? 0.5 : 0.0); }' >python/k.tile
    (cd python && "$TILECC" -arch=cpu k.tile)
    link python/k.so -shared -fPIC python/k.o tile_rt.o
    python3 - <<'END'
import ctypes
library = ctypes.CDLL("./python/k.so")
class View(ctypes.Structure):
    _fields_ = [("data", ctypes.c_void_p), ("extent", ctypes.c_int64 * 1), ("stride", ctypes.c_int64 * 1)]
class Norm(ctypes.Structure):
    _fields_ = [("half", ctypes.c_int), ("eps", ctypes.c_double), ("rows", ctypes.c_int32), ("at", ctypes.POINTER(ctypes.c_float))]
r = (ctypes.c_float * 3)()
table = (ctypes.c_float * 2)(1, 100)
view = View(ctypes.addressof(r), (ctypes.c_int64 * 1)(3), (ctypes.c_int64 * 1)(1))
p = Norm(1, 0.25, -8, table)
assert library.k(ctypes.c_void_p(0x435055), ctypes.byref(p), ctypes.byref(view)) == 0
assert list(r) == [98.5] * 3, list(r)
p.rows = 40000
assert library.k(ctypes.c_void_p(0x435055), ctypes.byref(p), ctypes.byref(view)) == 1
END
}

@test "no driver: a status" {
    runtime
    echo '#include "kernels.h"
        #include <stdio.h>
        int main(void) { float d[4]; struct tile_f32_1 v = tile_f32_1_row_major(d, 4), w = tile_f32_1_row_major(d, 0);
            int s = kernels_saxpy(NULL, 1.0f, &w, &w); (void)v; puts(tile_last_error()); return s != TILE_ERR_NO_DRIVER; }' >none.c
    link none none.c kernels.o tile_rt.o
    mkdir -p empty
    if ldconfig -p 2>/dev/null | grep -q 'libcuda\.so\.1'; then skip "there is a driver"; fi
    ./none
}

@test "a kernel beyond the wrapper's limits: E1101" {
    mkdir -p limits
    {
        printf 'kernel many('
        for i in $(seq 60); do printf 'x%d: in f32[N, N, N, N], ' "$i"; done
        printf 'y: out f32[N])\n    grid(i: N)\n{\n    y[i] = 1.0;\n}\n'
    } >limits/many.tile
    run "$TILECC" -arch=cpu -o limits/many.o limits/many.tile
    [ "$status" -eq 1 ]
    case $output in *'61 parameters with 543 slots'*'the limits are 64, 500'*'[E1101]'*) ;; *) echo "$output"; false ;; esac
    [ ! -e limits/many.o ]
}

@test "LLVM dies in its worker: E1102, a clear message and no output" {
    [ "${SANITIZE-}" != yes ] || skip "a sanitizer wants to be loaded first"
    mkdir -p dies
    cat >dies.c <<'END'
#define _GNU_SOURCE
#include <dlfcn.h>
#include <unistd.h>
pid_t fork(void)
{
    pid_t child = ((pid_t (*)(void))dlsym(RTLD_NEXT, "fork"))();
    if (child == 0)
        __builtin_trap();
    return child;
}
END
    ${CC:-cc} -shared -fPIC dies.c -o dies.so -ldl
    run env LD_PRELOAD="$PWD/dies.so" "$TILECC" -arch=cpu -o dies/kernels.o kernels.tile
    [ "$status" -ne 0 ]
    case $output in *'[E1102]'*) ;; *) echo "$output"; false ;; esac
    [ -z "$(ls dies)" ]
}

@test "a library of kernels that is opened and closed again and again" {
    runtime
    link kernels.so -shared -fPIC kernels.o tile_rt.o
    cat >again.c <<'END'
#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
struct view { void *data; int64_t extent[1], stride[1]; };
int main(void)
{
    float x[5000], y[5000];
    struct view vx = {x, {5000}, {1}}, vy = {y, {5000}, {1}};
    int i, round;
    for (i = 0; i < 5000; i++)
        x[i] = 1.0f, y[i] = 0.0f;
    for (round = 0; round < 300; round++) {
        void *library = dlopen("./kernels.so", RTLD_NOW | RTLD_LOCAL);
        int (*saxpy)(void *, float, struct view *, struct view *);
        if (!library)
            return 1;
        *(void **)&saxpy = dlsym(library, "kernels_saxpy");
        if (saxpy((void *)0x435055, 1.0f, &vx, &vy) != 0)
            return 2;
        dlclose(library);
    }
    return y[4999] != 300.0f;
}
END
    link again again.c
    TILE_CPU_THREADS=4 ./again
}

@test "the run time's object keeps the hardening of a program" {
    runtime
    case $(uname -m) in
    x86_64) if echo | ${CC:-cc} -fcf-protection -x c -c - -o /dev/null 2>/dev/null; then
            readelf -nW tile_rt.o | grep -q 'IBT, SHSTK'
        fi ;;
    aarch64) readelf -nW tile_rt.o | grep -q 'BTI, PAC' ;;
    esac
    readelf -SW tile_rt.o | grep -q '\.note\.GNU-stack .* 0 *[0-9]* *1$'
}
