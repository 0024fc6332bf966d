#!/usr/bin/env bats
# Generated headers: clean in C99 to C17 and C++11 to C++20, alone, twice, two modules together; what they declare.

setup_file() {
    cd "$BATS_FILE_TMPDIR" || return 1
    cat >first.tile <<'END'
enum act { none, relu }
/// Scales. A comment that would end one: */ and begin one: /* and a trigraph ??/ here.
kernel scale<T: {f32, f16, bf16}>(int: in T[M, N], y: out T[M, N], a: f32, f: act, new: in? f32[N])
    grid(row: M)
    tune(B: {64} = 64)
{
    for j in 0..N step B
        y[row, j +: B] = T(a * f32(int[row, j +: B]));
}
kernel every(b: in bool[N], c: in i8[N], class: in u16[N], h: in strided i64[N, N], e: in f8e4m3[N], g: in f8e5m2[N],
             d: in packed f64[N, 3], info: f32, variant: f32, options: *f32, p: *f32, q: restrict *f32, s: i8, t: u64, y: out u32[N])
    grid(k: N)
{
    y[k] = u32(1);
}
END
    sed 's/kernel scale/kernel other/; s/kernel every/kernel another/' first.tile >second.tile
    "$TILECC" --emit=header -o first.h first.tile
    "$TILECC" --emit=header -o second.h second.tile
}

setup() { cd "$BATS_FILE_TMPDIR"; }

# Every compiler here in every standard it knows: `each SUFFIX file`
each() {
    local compiler standard found=0
    if [ "$1" = c ]; then set -- "$2" gcc clang clang-19 -- c99 c11 c17; else set -- "$2" g++ clang++ clang++-19 -- c++11 c++20; fi
    local file=$1 compilers=()
    shift
    while [ "$1" != -- ]; do compilers+=("$1"); shift; done
    shift
    for compiler in "${compilers[@]}"; do
        command -v "$compiler" >/dev/null || continue
        for standard; do
            found=1
            case $standard in c++*) extra=-Wold-style-cast ;; *) extra=-Wstrict-prototypes ;; esac
            "$compiler" -std="$standard" -Wall -Wextra -Wpedantic -Wconversion -Wshadow $extra -Werror -fsyntax-only -I. "$file"
        done
    done
    [ "$found" = 1 ]
}

@test "alone" {
    printf '#include "first.h"\nint on_cpu(struct CUstream_st *stream);\nint on_cpu(struct CUstream_st *stream) { return stream == TILE_CPU; }\n' >alone.c
    cp alone.c alone.cc
    each c alone.c
    each c++ alone.cc
}

@test "twice, and two modules, in both orders" {
    printf '#include "%s.h"\n' first first second >both.c
    printf '#include "%s.h"\n' second first second >other.c
    for file in both other; do
        cp $file.c $file.cc
        each c $file.c
        each c++ $file.cc
    done
}

@test "with the run time's own header, before and after" {
    for order in 'first tile_rt second' 'tile_rt first'; do
        printf '#include "%s.h"\n' $order >order.c
        cp "$SRCDIR/runtime-stub/tile_rt.h" .
        cp order.c order.cc
        each c order.c
        each c++ order.cc
    done
}

@test "with DLPack" {
    cat >dlpack.h <<'END'
#ifndef DLPACK_DLPACK_H_
#define DLPACK_DLPACK_H_
#include <stdint.h>
typedef enum { kDLCPU = 1, kDLCUDA = 2, kDLCUDAHost = 3 } DLDeviceType;
typedef struct { DLDeviceType device_type; int32_t device_id; } DLDevice;
typedef struct { uint8_t code, bits; uint16_t lanes; } DLDataType;
typedef struct {
    void *data; DLDevice device; int32_t ndim; DLDataType dtype; int64_t *shape; int64_t *strides; uint64_t byte_offset;
} DLTensor;
#endif
END
    cat >dl.c <<'END'
#include "first.h"
#include "dlpack.h"
#include "second.h"
int main(void)
{
    float data[12] = {0};
    int64_t shape[2] = {3, 4};
    DLDevice device = {kDLCPU, 0};
    DLTensor tensor = {data, {kDLCPU, 0}, 2, {2, 32, 1}, shape, 0, 4};
    struct tile_f32_2 view = tile_f32_2_row_major(data, 1, 1);
    struct tile_f16_2 half;
    struct CUstream_st *gpu = NULL;
    if (tile_f16_2_from_dlpack(&tensor, TILE_CPU, &half) != TILE_ERR_ARG)
        return 1;
    if (tile_f32_2_from_dlpack(&tensor, TILE_CPU, &view) != TILE_OK)
        return 2;
    if (tile_f32_2_from_dlpack(&tensor, gpu, &view) != TILE_ERR_ARG)
        return 4;
    tensor.device.device_type = kDLCUDA;
    if (tile_f32_2_from_dlpack(&tensor, TILE_CPU, &view) != TILE_ERR_ARG ||
        tile_f32_2_from_dlpack(&tensor, gpu, &view) != TILE_OK)
        return 5;
    tensor.device.device_type = kDLCUDAHost;
    if (tile_f32_2_from_dlpack(&tensor, TILE_CPU, &view) != TILE_OK ||
        tile_f32_2_from_dlpack(&tensor, gpu, &view) != TILE_OK)
        return 6;
    if (view.data != data + 1 || view.extent[0] != 3 || view.stride[0] != 4 || view.stride[1] != 1)
        return 3;
    tensor = tile_f32_2_to_dlpack(&view, device);
    return tensor.shape[1] != 4 || tensor.strides[0] != 4 || tensor.dtype.bits != 32;
}
END
    for compiler in "${CC:-cc} -std=c99" "${CXX:-c++} -std=c++11 -x c++"; do
        $compiler -Wall -Wextra -Wpedantic -Wconversion -Werror -I. dl.c -o dl
        ./dl
    done
}

@test "names that C or C++ reserves, comments that end comments, constants of tiles" {
    grep -q 'const struct tile_f32_2 \*int_' first.h
    grep -q 'tile_f32_1 \*new_' first.h
    grep -q '\* / and begin one: / \* and a trigraph ? ?/' first.h
    grep -q '^#define FIRST_SCALE_F32_B 64$' first.h
    "$TILECC" -arch=cpu --emit=header -o matmul.h "$SRCDIR/examples/matmul.tile"
    grep -q '^#define MATMUL_F16_F16_BM 128$' matmul.h
    ! grep -q '^#define MATMUL_F16_F16_WARPS' matmul.h || false # left to the compiler: no value that a caller could use
    grep -q 'TILE_ACT_RELU = 1' first.h
    grep -q 'int first_scale_f32(struct CUstream_st \*stream' first.h
    grep -q 'int first_scale_bf16_query(' first.h
    grep -q 'int first_scale_f16_load(void);' first.h
    grep -q 'int first_scale_f16_unload(void);' first.h
    grep -q 'size_t first_scale_f16_workspace(' first.h
    tr -s '\n ' '  ' <first.h >flat # parameters of the kernel give way to the function's own
    grep -q 'int first_scale_f16_variant([^)]*, int variant)' flat
    grep -q 'int first_scale_f16_launch_ex([^)]*, const struct tile_launch_options \*options)' flat
    grep -q 'int first_every_variant([^)]*float info_, float variant_, [^)]*\*options_,[^)]* int variant)' flat
}

@test "every element, eight dimensions, parameters that are macros of system headers" {
    {
        printf 'enum color { red, green = 5 }\nkernel k('
        for element in bool i8 i16 i32 i64 u8 u16 u32 u64 f16 bf16 f32 f64 f8e4m3 f8e5m2; do
            printf 'v_%s: in %s[N], p_%s: in *%s[N], ' $(yes $element | head -4)
        done
        printf 'errno: in f32[N], stdin: i8, I: i16, complex: u16, NAN: f16, assert: bool, min: color, max: u64) grid(i: 1) {}\nkernel l('
        for element in bool i8 i16 i32 i64 u8 u16 u32 u64 f16 bf16 f32 f64 f8e4m3 f8e5m2; do
            printf 'w_%s: out packed %s[N, N, N, N, N, N, N, N], q_%s: *%s, ' $(yes $element | head -4)
        done
        printf 'n: i32) grid(i: 1) {}\n'
    } >many.tile
    "$TILECC" --emit=header -o many.h many.tile
    {
        for header in assert complex errno limits math signal stdarg stdbool stdio stdlib; do echo "#include <$header.h>"; done
        printf '#undef I\n#define I 1\n#define min(a, b) 0\n#define max(a, b) 0\n#include "many.h"\n'
    } >many.c
    each c many.c
    sed '/complex/d' many.c >many.cc
    each c++ many.cc
}

@test "names of files with dots, dashes, spaces and letters of other scripts; long names; one kernel in two files" {
    body='(y: out f32[N]) grid(i: N) { y[i] = 1.0; }'
    long=$(printf 'k%.0s' $(seq 240))
    for stem in 'a.b-c' '9 lives' 'größe' "${long:0:200}" first-again; do echo "kernel $long$body kernel scale$body" >"$stem.tile"; done
    for stem in 'a.b-c' '9 lives' 'größe' "${long:0:200}" first-again; do
        "$TILECC" -arch=cpu "$stem.tile"
        printf '#include "%s.h"\n' "$stem" >>stems.c
    done
    cp stems.c stems.cc
    each c stems.c
    each c++ stems.cc
    ${CC:-cc} -r -nostdlib ./a.b-c.o ./9*.o ./gr*.o ./kkk*.o first-again.o -o all.o
}

@test "names of files in other scripts give names of C that can be read" {
    while read -r stem name; do
        echo 'kernel k(y: out f32[N]) grid(i: N) { y[i] = 1.0; }' >"$stem.tile"
        "$TILECC" -arch=cpu -o readable.o "$stem.tile"
        grep -q "int $name(struct CUstream_st" readable.h || { echo "$stem: not $name"; return 1; }
        echo '#include "readable.h"' >readable.c
        each c readable.c
    done <<'END'
größe grosse_k
Œuvre_ÞÝ OEuvre_THY_k
žluťoučký-kůň zlutoucky_kun_k
日本 u65e5u672c_k
1½ñ _1_n_k
x×y÷z x_y_z_k
матрица u43cu430u442u440u438u446u430_k
END
    echo 'kernel k(y: out f32[N]) grid(i: N) { y[i] = 1.0; }' >$'a\xffb.tile'
    "$TILECC" -arch=cpu -o readable.o $'a\xffb.tile'
    grep -q 'int a_b_k(' readable.h
}

@test "conversions of 16- and 8-bit floats" {
    cat >convert.c <<'END'
#include "first.h"
#include <math.h>
#include <stdio.h>
#define EXPECT(condition) if (!(condition)) { puts(#condition); return 1; }
int main(void)
{
    int i;
    for (i = 0; i < 65536; i++) {
        float half = tile_f16_to_float((tile_f16)i), brain = tile_bf16_to_float((tile_bf16)i);
        EXPECT(half != half || tile_f16_from_float(half) == i);
        EXPECT(brain != brain || tile_bf16_from_float(brain) == i);
    }
    for (i = 0; i < 256; i++) {
        float four = tile_f8e4m3_to_float((tile_f8e4m3)i), five = tile_f8e5m2_to_float((tile_f8e5m2)i);
        EXPECT(four != four || tile_f8e4m3_from_float(four) == i);
        EXPECT(five != five || five > 60000.0f || five < -60000.0f || tile_f8e5m2_from_float(five) == i);
    }
    EXPECT(tile_f16_to_float(0x3c00) == 1.0f && tile_f16_to_float(0x0001) == ldexpf(1.0f, -24));
    EXPECT(tile_f16_from_float(65519.0f) == 0x7bff && tile_f16_from_float(65520.0f) == 0x7c00);
    EXPECT(tile_f16_from_float(ldexpf(1.0f, -25)) == 0 && tile_f16_from_float(ldexpf(1.5f, -25)) == 1);
    EXPECT(tile_f16_from_float(2049.0f) == tile_f16_from_float(2048.0f)); /* ties to even */
    EXPECT(tile_bf16_to_float(0x3f80) == 1.0f && tile_bf16_from_float(INFINITY) == 0x7f80);
    EXPECT(tile_f8e4m3_to_float(0x7e) == 448.0f && tile_f8e4m3_from_float(1e9f) == 0x7e && tile_f8e4m3_from_float(-INFINITY) == 0xfe);
    EXPECT(tile_f8e5m2_from_float(1e9f) == 0x7b && tile_f8e5m2_to_float(0x7b) == 57344.0f);
    EXPECT(tile_f8e4m3_to_float(0x7f) != tile_f8e4m3_to_float(0x7f) && tile_f16_from_float(NAN) == 0x7e00);
    return 0;
}
END
    ${CC:-cc} -std=c99 -O1 -I. convert.c -o convert -lm
    ./convert
}

@test "parameters that are called as types and macros of C are renamed" {
    names=
    for name in int32_t size_t uint8_t TILE_CPU TILE_SIGNATURE __LINE__ __GNUC__ tile_f16 INT64_C stream stream_ int; do
        names="$names $name: i32,"
    done
    echo "kernel k($names h: f16, y: out f16[N]) grid(i: N) { y[i] = h; }" >named.tile
    "$TILECC" -arch=cpu -Werror named.tile
    grep -q 'int32_t int32_t_,' named.h
    grep -q 'int32_t stream__,' named.h
    grep -q 'int32_t int_,' named.h
    echo 'kernel k(double: in f32[N], info: inout f32[N]) grid(i: N) { info[i] += double[i]; }' >words.tile
    "$TILECC" -arch=cpu --emit=header -o - words.tile >words.h
    grep -q '@param double_ ' words.h
    grep -q '@param info_ .*may not overlap double_ ' words.h
    run "$TILECC" --interpret='words_k([2], [3])' words.tile
    [[ $output == *"extent 0 of info is 3"* ]]
    echo '#include "named.h"' >named.c
    ${CC:-cc} -std=c99 -Wall -Wextra -Wpedantic -Wconversion -Werror -c named.c -o named_c.o
    ${CXX:-c++} -x c++ -std=c++11 -Wall -Wextra -Wpedantic -Wconversion -Werror -c named.c -o named_cpp.o
}

@test "names that would clash in C: E1103" {
    clash() { # part of the message, source
        echo "$2" >clash.tile
        run "$TILECC" -arch=cpu -o clash.o clash.tile
        [ "$status" -eq 1 ]
        case $output in *"$1"*'[E1103]'*) ;; *) echo "$output"; return 1 ;; esac
        [ ! -e clash.o ] && [ ! -e clash.h ] || false
    }
    body='(s: e, y: out f32[N]) grid(i: N) { y[i] = 1.0; }'
    clash 'enum tile_status' "enum status { a, b } kernel k${body/s: e/s: status}"
    clash 'TILE_ERR_ARG' "enum err { arg } kernel k${body/s: e/s: err}"
    clash 'enum tile_f32_1' "enum f32_1 { a } kernel k${body/s: e/s: f32_1}"
    clash 'TILE_A_B_C' "enum a { b_c } enum a_b { c } kernel k${body/s: e/s: a, t: a_b}"
    [[ $output == *'clash.tile:1:21: error: '* && $output == *'clash.tile:1:6: note: the other'* ]] # the enums
    clash 'clash_f_load' "kernel f(y: out f32[N]) grid(i: N) { y[i] = 1.0; } kernel f_load(y: out f32[N]) grid(i: N) { y[i] = 2.0; }"
    clash 'clash_f_unload' "kernel f(y: out f32[N]) grid(i: N) { y[i] = 1.0; } kernel f_unload(y: out f32[N]) grid(i: N) { y[i] = 2.0; }"
    clash 'clash_f_workspace' "kernel f(y: out f32[N]) grid(i: N) { y[i] = 1.0; } kernel f_workspace(y: out f32[N]) grid(i: N) { y[i] = 2.0; }"
    for suffix in variant launch_ex; do
        clash "clash_f_$suffix" "kernel f(y: out f32[N]) grid(i: N) { y[i] = 1.0; } kernel f_$suffix(y: out f32[N]) grid(i: N) { y[i] = 2.0; }"
    done
    clash 'enum tile_launch_flags' "enum launch_flags { a, b } kernel k${body/s: e/s: launch_flags}"
    clash 'TILE_LAUNCH_OVERLAP' "enum launch { overlap } kernel k${body/s: e/s: launch}"
    for word in main exp printf write int register new class _Bool assert; do
        echo "kernel $word(y: out f32[N]) grid(i: N) { y[i] = 1.0; }" >"$word.tile"
        run "$TILECC" -arch=cpu "$word.tile"
        [ "$status" -eq 1 ]
        case $output in *"in C this gives \`$word\`"*'--prefix='*'[E1103]'*) ;; *) echo "$output"; return 1 ;; esac
        "$TILECC" -arch=cpu --emit=header --prefix=my_ "$word.tile"
    done
    for word in strerror last_error f32_1_row_major f16_from_float rt_launch; do # of the run time
        echo "kernel $word(y: out f32[N]) grid(i: N) { y[i] = 1.0; }" >tile.tile
        run "$TILECC" -arch=cpu tile.tile
        [ "$status" -eq 1 ]
        [[ $output == *"in C this gives \`tile_$word\`, which belongs to the run time [E1103]"* ]]
    done
    tuned() { echo "kernel $1(y: out f32[N]) grid(i: cdiv(N, $2)) tune($2: {$3}) { y[i*$2 +: $2] = 1.0; }"; }
    tuned err ARG 4 >tile.tile
    run "$TILECC" -arch=cpu tile.tile
    [[ $status == 1 && $output == *'in C this gives `TILE_ERR_ARG`, which belongs to the run time [E1103]'* ]]
    clash 'in C this gives `CLASH_A_B_T`, and so does something else' "$(tuned a_b T 4; tuned a B_T 8)"
    clash 'in C this gives `CLASH_F_T`, and so does something else' "$(tuned f T 4; tuned F T 8)"
    clash 'in C the parameter `CLASH_F_T` meets a #define of that name' "$(tuned f T 4 | sed 's/(y/(CLASH_F_T: i32, y/')"
    clash 'clash_f_query' "kernel f_query(y: out f32[N]) grid(i: N) { y[i] = 1.0; } kernel f(y: out f32[N]) grid(i: N) { y[i] = 2.0; }"
}

@test "two headers: the same enum is one, different ones of a name are an error that says so" {
    cd "$BATS_TEST_TMPDIR"
    kernel() { echo "kernel $1(m: mode, r: out i32[N]) grid(i: N) { r[i] = i32(m); }"; }
    { echo 'enum mode { keep, negate = 5 }'; kernel a; } >a.tile
    { echo 'enum mode { keep, negate = 5 }'; kernel b; } >b.tile
    { echo 'enum mode { slow, fast = 7 }'; kernel c; } >c.tile
    for name in a b c; do "$TILECC" -arch=cpu --emit=header "$name.tile" -o "$name.h"; done
    printf '#include "a.h"\n#include "b.h"\nint n = TILE_MODE_NEGATE;\n' >same.c
    ${CC:-cc} -Wall -Werror -I. -c same.c
    printf '#include "a.h"\n#include "c.h"\n' >other.c
    run ${CC:-cc} -I. -c other.c
    [ "$status" -ne 0 ]
    [[ $output == *"two headers declare different enums tile_mode: rename one"* ]]
}

@test "two headers: the same struct is one, different ones of a name are an error; sizes are asserted, NULL is named" {
    cd "$BATS_TEST_TMPDIR"
    kernel() { echo "kernel $1(p: norm, r: out f32[N]) grid(i: N) requires(p.eps > 0.0) { r[i] = f32(p.eps); }"; }
    { echo '/// What a norm needs.'; echo 'struct norm { rows: u8; eps: f32; int: i64; }'; kernel a; } >a.tile
    { echo 'struct norm { rows: u8; eps: f32; int: i64; }'; kernel b; } >b.tile
    { echo 'struct norm { rows: u8; eps: f64; int: i64; }'; kernel c; } >c.tile
    for name in a b c; do "$TILECC" -arch=cpu "$name.tile"; done
    "$TILECC" --emit-runtime -o rt.o
    cat >same.c <<'END'
#include "a.h"
#include "b.h"
#include <stdio.h>
#include <string.h>
int main(void)
{
    float data[2];
    struct tile_f32_1 r = tile_f32_1_row_major(data, 2);
    struct tile_norm p = {1, 0.5f, 7};
    if (sizeof p != 16 || a(TILE_CPU, &p, &r) != TILE_OK || data[1] != 0.5f) return 1;
    p.eps = 0.25f;
    if (b(TILE_CPU, &p, &r) != TILE_OK || data[0] != 0.25f) return 2;
    p.rows = 256;
    if (b(TILE_CPU, &p, &r) != TILE_ERR_ARG || strcmp(tile_last_error(), "b: p.rows is 256, outside 0 to 255")) return 3;
    p.rows = 255, p.eps = -1;
    if (b(TILE_CPU, &p, &r) != TILE_ERR_ARG || !strstr(tile_last_error(), "p.eps > 0.0")) return 4;
    puts(tile_last_error());
    return a(TILE_CPU, NULL, &r) != TILE_ERR_ARG || strcmp(tile_last_error(), "a: struct p is NULL");
}
END
    ${CC:-cc} -std=c99 -Wall -Wextra -Wpedantic -Werror same.c a.o b.o rt.o -o same -ldl -lpthread -lm
    ./same
    printf '#include "a.h"\n#include "b.h"\n' >both.c
    cp both.c both.cc
    each c both.c
    each c++ both.cc
    grep -q 'sizeof(struct tile_norm) == 16' a.h
    printf '#include "a.h"\n#include "c.h"\n' >other.c
    run ${CC:-cc} -I. -c other.c
    [ "$status" -ne 0 ]
    [[ $output == *"two headers declare different structs tile_norm: rename one"* ]]
    "$TILECC" -arch=cpu --emit=header --prefix=my_ a.tile -o p.h
    grep -q 'const struct my_norm \*p' p.h
    echo 'struct f32_1 { a: f32; } kernel k(p: f32_1, r: out f32[N]) grid(i: N) { r[i] = p.a; }' >clash.tile
    run "$TILECC" -arch=cpu clash.tile
    [ "$status" -eq 1 ]
    [[ $output == *'in C this gives `struct tile_f32_1`, which belongs to the run time'*E1103* ]]
}

@test "--prefix reaches enums, those of the library not" {
    cd "$BATS_TEST_TMPDIR"
    kernel='kernel k(m: mode, a: act, r: out i32[N]) grid(i: N) { r[i] = i32(m) + i32(a); }'
    echo "enum mode { keep, negate = 5 } $kernel" >a.tile
    echo "enum mode { slow, fast = 7 } $kernel" >b.tile
    "$TILECC" -arch=cpu --prefix=one_ a.tile
    "$TILECC" -arch=cpu --prefix=two_ b.tile
    "$TILECC" --emit-runtime -o rt.o
    cat >both.c <<'END'
#include "a.h"
#include "b.h"
int main(void)
{
    int32_t data[2] = {0, 0};
    struct tile_i32_1 r = tile_i32_1_row_major(data, 2);
    enum one_mode one = ONE_MODE_NEGATE;
    enum two_mode two = TWO_MODE_FAST;
    if (one_k(TILE_CPU, one, TILE_ACT_RELU, &r) != TILE_OK || data[1] != 6) return 1;
    if (two_k(TILE_CPU, two, TILE_ACT_NONE, &r) != TILE_OK || data[0] != 7) return 2;
    return one_k(TILE_CPU, two, TILE_ACT_NONE, &r) == TILE_ERR_ARG ? 0 : 3;
}
END
    ${CC:-cc} -std=c99 -Wall -Wextra -Wpedantic -Wconversion -Werror both.c a.o b.o rt.o -o both -ldl -lpthread -lm
    ./both
    ${CXX:-c++} -x c++ -std=c++11 -Wall -Wextra -Wpedantic -Wconversion -Werror -c both.c -o both_cpp.o
    "$TILECC" -arch=cpu --prefix= --emit=header -o - a.tile | grep -q 'enum tile_mode {'
    echo "enum t { a } kernel k(m: t, r: out i32[N]) grid(i: N) { r[i] = i32(m); }" >c.tile
    run "$TILECC" -arch=cpu --prefix=int8_ c.tile
    [[ $status == 1 && $output == *'in C this gives `int8_t`, which the C library has already'*'[E1103]'* ]]
    echo "enum int { max } kernel k(m: int, r: out i32[N]) grid(i: N) { r[i] = i32(m); }" >d.tile
    run "$TILECC" -arch=cpu --prefix=h d.tile
    [ "$status" -eq 0 ]
    echo "enum nt { max } kernel k(m: nt, r: out i32[N]) grid(i: N) { r[i] = i32(m); }" >e.tile
    run "$TILECC" -arch=cpu --prefix=i e.tile
    [[ $status == 1 && $output == *'in C this gives `int`, which is a keyword'* && $output == *'`INT_MAX`'* ]]
}

@test "the memory of a launch stands in the comment, and in no prototype" {
    cat >s.tile <<'END'
kernel f(x: in f32[N], y: out f32[N])
    grid(ordered b: cdiv(N, B)) tune(B: {64} = 64)
    scratch(state: u64[cdiv(N, B), 2] = 0, part: f32[B])
{
    part[0] = 1.0;
    y[b*B +: B] = x[b*B +: B] + f32(state[b, 0]);
}
END
    "$TILECC" --emit=header --prefix= -o s.h s.tile
    grep -qxF ' *  Memory of a launch: state [cdiv(N, B), 2], u64, filled' s.h
    grep -qxF ' *  Memory of a launch: part [B], f32' s.h
    grep -qxF ' *  Memory of a launch: how many of its ordered instances have started' s.h
    grep -qF 'int f(struct CUstream_st *stream, const struct tile_f32_1 *x, const struct tile_f32_1 *y)' s.h
    echo 'kernel g(x: in f32[K], y: out f32[1]) grid(i: 1) tune(split_k: {4}) { var s = 0.0; for k in 0..K s += x[k]; y[0] = s; }' >g.tile
    "$TILECC" --emit=header --prefix= -o g.h g.tile
    grep -qxF ' *  Memory of a launch: the sums of the instances that share a loop, and how many are there' g.h
    grep -qF 'size_t g_workspace(struct CUstream_st *stream, const struct tile_f32_1 *x' g.h
}

@test "extents whose strides 64 bits do not hold give a view that calls refuse, and nothing undefined" {
    echo 'kernel fill(x: out f32[A, B, C]) grid(a: A) { for b in 0..B for c in 0..C x[a, b, c] = 1.0; }' >large.tile
    "$TILECC" -arch=cpu --prefix= large.tile
    "$TILECC" --emit-runtime -o large_rt.o
    cat >large.c <<'END'
#include "large.h"
#include <stdio.h>
static int refused(int64_t a, int64_t b, int64_t c)
{
    float element = 0;
    struct tile_f32_3 view = tile_f32_3_row_major(&element, a, b, c);
    int status = fill(TILE_CPU, &view);
    if (status == TILE_ERR_ARG && element == 0)
        return 1;
    printf("%lld %lld %lld: %d\n", (long long)a, (long long)b, (long long)c, status);
    return 0;
}
int main(void)
{
    const int64_t large = (int64_t)1 << 40, least = -1 - (int64_t)(~(uint64_t)0 >> 1);
    float elements[24] = {0};
    struct tile_f32_3 view = tile_f32_3_row_major(elements, 2, 3, 4), empty = tile_f32_3_row_major(elements, 0, 3, 4);
    if (view.stride[0] != 12 || view.stride[1] != 4 || view.stride[2] != 1 || fill(TILE_CPU, &view) || elements[23] != 1)
        return 1;
    if (empty.stride[0] != 12 || fill(TILE_CPU, &empty))
        return 2;
    return !(refused(1, large, large) && refused(1, 2, -4) && refused(large, large, large) && refused(1, large, least) &&
             refused(1, least, least) && refused(1, -1, 1));
}
END
    undefined=
    echo 'int main(void) { return 0; }' >plain.c
    ! $CC -fsanitize=undefined -fno-sanitize-recover plain.c -o plain 2>/dev/null || undefined='-fsanitize=undefined -fno-sanitize-recover'
    # shellcheck disable=SC2086
    $CC -std=c99 -Wall -Wextra -Wpedantic -Werror $undefined large.c large.o large_rt.o -o large -ldl -lpthread
    ./large
}
