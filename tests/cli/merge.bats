#!/usr/bin/env bats
# Instances of `specialize` whose code is that of another are made and stored once.

load helper

write() { # CLAUSES OF THE PRODUCT, OF ROWS [rows: these alone]
    cat >f.tile <<END
kernel k(a: in strided f16[M, K], b: in strided f16[K, N], c: out f16[M, N])
    grid(m: cdiv(M, 128), n: cdiv(N, 128))
    $1
{
    var acc = f32[128, 128](0);
    for k in 0..K step 32 acc += a[m*128 +: 128, k +: 32] @ b[k +: 32, n*128 +: 128];
    c[m*128 +: 128, n*128 +: 128] = f16(acc);
}
kernel rows(x: in f32[M, N], y: out f32[M, N]) grid(i: M) $2 { y[i, 0 +: 64] = x[i, 0 +: 64] * 2.0; }
END
    [ "${3-}" != rows ] || sed -i '/^kernel k/,/^}/d' f.tile
}
# instances KERNEL COUNT: of sm_90a, with an image each
instances() {
    expect 0 tilecc -arch=sm_90a f.tile -o f.o
    "$TILECC" info f.o >listed
    sed -n "/^kernel  f_$1:/,/^kernel/p" listed | grep -q "sm_90a: $2 instances" || { cat listed; return 1; }
    [ "$(grep -c "^image   f_$1__" listed)" = "$2" ] || { cat listed; return 1; }
}

@test "conditions that are automatic facts make no instance" {
    write '' ''
    instances k 11
    size=$(stat -c %s f.o)
    for clause in 'specialize(a.stride[1] == 1, b.stride[1] == 1)' \
        'specialize(a.stride[1] == 1, b.stride[1] == 1) specialize(a.stride[1] == 1, b.stride[0] == 1)' \
        'specialize(b.stride[0] == 1, a.stride[0] == 1) specialize(b.stride[0] == 1, a.stride[0] == 1)' \
        'specialize(1 == a.stride[1])' 'specialize(a.stride[1] == 1) specialize(b.stride[1] == 1)'; do
        write "$clause" ''
        instances k 11 || { echo "$clause"; false; }
        [ $(($(stat -c %s f.o) - size)) -le 256 ]
    done
}

@test "conditions that the code makes use of make one, and those said twice one" {
    write '' '' rows
    instances rows 2
    write '' 'specialize(N == 64)' rows
    instances rows 3
    write '' 'specialize(N == 64) specialize(64 == N) specialize(N == 64)' rows
    instances rows 3
    write 'specialize(K == 64)' ''
    instances k 15
}

@test "conditions on scalars that the code makes no use of make no instance" {
    write '' 'specialize(N == 64)' rows
    sed -i 's/^kernel rows(/kernel rows(n: i64, m: i32, f: bool, /' f.tile
    instances rows 3
    for clause in 'specialize(n == 3)' 'specialize(n > 7) specialize(f)' 'specialize(n % 16 == 0, (n \& 15) == 0)' \
        'specialize(n * n > n - 1) specialize(f, n == m)'; do
        write '' 'specialize(N == 64)' rows
        sed -i "s/^kernel rows(/kernel rows(n: i64, m: i32, f: bool, /; s/specialize(N == 64)/& $clause/" f.tile
        instances rows 3 || { echo "$clause"; false; }
        expect 0 tilecc -arch=cpu f.tile -o f.o
        "$TILECC" info f.o | sed -n '/^kernel  f_rows:/,/^kernel/p' | grep -q 'cpu-baseline: 2 instances'
    done
    sed -i 's/ \* 2.0/ * (n == 3 ? 2.0 : f32(n))/; s/specialize(n .*) {/specialize(n == 3) {/' f.tile
    instances rows 4
}

@test "the same code for a GPU is stored once, whatever its instances are for" {
    cat >f.tile <<'END'
enum mode { plain, same, twice }
kernel copy<T: {i32, u32, f32, f64}>(x: in T[N], y: out T[N]) grid(i: cdiv(N, 256)) { y[i*256 +: 256] = x[i*256 +: 256]; }
kernel told(x: in f32[N], y: out f32[N]) grid(i: cdiv(N, 256)) specialize(N % 16 == 0) specialize((N & 15) == 0) { y[i*256 +: 256] = x[i*256 +: 256]; }
kernel scaled<M: mode>(x: in f32[N], y: out f32[N]) grid(i: cdiv(N, 256)) { y[i*256 +: 256] = x[i*256 +: 256] * (M == mode.twice ? 2.0 : 1.0); }
kernel other(a: in f32[N], b: out f32[N]) grid(i: cdiv(N, 256)) { b[i*256 +: 256] = a[i*256 +: 256]; }
END
    expect 0 tilecc -arch=sm_90a f.tile -o f.o
    "$TILECC" info f.o >listed
    for counts in 'copy 4' 'told 3' 'scaled 4' 'other 2'; do
        read -r kernel images <<<"$counts"
        [ "$(grep -c "^image   f_${kernel}_" listed)" = "$images" ] || { cat listed; return 1; }
    done
    # each instance is told with what it became, beside the others of its image
    for name in i32 u32 f32 f64; do
        [ "$(grep -c "^        copy<$name> sm_90a .*registers" listed)" = 2 ] || { cat listed; return 1; }
    done
    # a file of its own holds the instance's own name
    expect 0 tilecc -arch=sm_90a --emit=cubin --spec 'copy<u32> sm_90a general' f.tile -o one.cubin
    grep -q f_copy_u32__ one.cubin
}

@test "the CPU's code is made once, too, and a call finds it" {
    write 'specialize(a.stride[1] == 1, b.stride[1] == 1)' ''
    expect 0 tilecc -arch=cpu f.tile -o f.o
    "$TILECC" info f.o | sed -n '/^kernel  f_k:/,/^kernel/p' | grep -q 'cpu-baseline: 2 instances'
    "$TILECC" -arch=cpu -Rpass=instance f.tile -o f.o 2>&1 | grep -c 'instance: k cpu' >count
    [ "$(cat count)" = 2 ]
}

@test "an instance asked for by its name is made whatever others are" {
    write 'specialize(a.stride[1] == 1, b.stride[1] == 1)' ''
    expect 0 tilecc -arch=sm_90a --emit=ptx --spec 'k sm_90a special1 a.stride[1]=1 b.stride[1]=1 aligned' -o one.ptx f.tile
    grep -q 'entry f_k__0' one.ptx
}

write_alike() { # kernels whose instances have the same code, or not
    cat >f.tile <<'END'
enum mode { plain, same, twice }
kernel copy<T: {i32, u32, f64}>(x: in T[N], y: out T[N]) grid(i: cdiv(N, 256)) { y[i*256 +: 256] = x[i*256 +: 256]; }
kernel told(x: in f32[N], y: out f32[N]) grid(i: cdiv(N, 256)) specialize(N % 16 == 0) specialize((N & 15) == 0) { y[i*256 +: 256] = x[i*256 +: 256] + 1.0; }
kernel scaled<M: mode>(x: in f32[N], y: out f32[N]) grid(i: cdiv(N, 256)) { y[i*256 +: 256] = x[i*256 +: 256] * (M == mode.twice ? 2.0 : 1.0); }
kernel keyed<K: {1, 2, 3}>(x: in f32[N], y: out f32[N]) grid(i: cdiv(N, 256)) { y[i*256 +: 256] = x[i*256 +: 256] - 1.0; }
kernel sums<T: {i64, u64}>(x: in T[N], y: inout T[N]) grid(i: cdiv(N, 64)) { let a = y[i*64 +: 64]; y[i*64 +: 64] = a*x[i*64 +: 64] + a; }
kernel quotients<T: {i64, u64}>(x: in T[N], y: out T[N]) grid(i: cdiv(N, 64)) { y[i*64 +: 64] = x[i*64 +: 64] / 3; }
END
}

@test "the same code for a processor is made and stored once, whatever its instances are for" {
    write_alike
    expect 0 tilecc -arch=cpu f.tile -o f.o
    for counts in 'copy 2' 'told 1' 'scaled 2' 'keyed 1' 'sums 1' 'quotients 2'; do
        read -r kernel functions <<<"$counts"
        [ "$(nm f.o | grep -c " t f_${kernel}_*[a-z0-9]*\.[0-9]*\.baseline$")" = "$functions" ] || { nm f.o; echo "$counts"; return 1; }
        [ "$(nm f.o | grep -c " t f_${kernel}_*[a-z0-9]*\.[0-9]*\.avx512$")" = "$functions" ]
    done
    "$TILECC" info f.o >listed
    sed -n '/^kernel  f_told:/,/^kernel/p' listed | grep -q 'cpu-baseline: 1 instance$'
    # the linker keeps shared code without the kernel that it was made for
    [ "$(grep -c '^shared  f_\(copy_i32\|sums_i64\):' listed)" = 2 ] || { cat listed; return 1; }
    cat >main.c <<'END'
#include "f.h"
#include <stdio.h>
enum { N = 1003 };
static int bad;
#define ALIKE(T, kernel, rest, ...) \
    for (int n = N; n >= N - 11; n -= 11) { \
        static T x[N], y[N]; \
        for (int i = 0; i < N; i++) x[i] = (T)(i * 77 - 500), y[i] = (T)(9 - i); \
        struct tile_##rest vx = {x, {n}, {1}}, vy = {y, {n}, {1}}; \
        bad += kernel(TILE_CPU, &vx, &vy __VA_ARGS__) != TILE_OK; \
        for (int i = 0; i < N; i++) { T a = x[i], b = (T)(9 - i); (void)a; bad += y[i] != (T)(i < n ? WANTED : b); } \
    }
int main(void)
{
#define WANTED a
    ALIKE(int32_t, f_copy_i32, i32_1)
    ALIKE(uint32_t, f_copy_u32, u32_1)
    ALIKE(double, f_copy_f64, f64_1)
#undef WANTED
#define WANTED a + 1
    ALIKE(float, f_told, f32_1)
#undef WANTED
#define WANTED a * (m == 2 ? 2 : 1)
    for (int m = 0; m < 3; m++) ALIKE(float, f_scaled, f32_1, , m)
#undef WANTED
#define WANTED a - 1
    for (int k = 1; k < 4; k++) ALIKE(float, f_keyed, f32_1, , k)
#undef WANTED
#define WANTED b * a + b
    ALIKE(int64_t, f_sums_i64, i64_1)
    ALIKE(uint64_t, f_sums_u64, u64_1)
#undef WANTED
#define WANTED a / 3
    ALIKE(int64_t, f_quotients_i64, i64_1)
    ALIKE(uint64_t, f_quotients_u64, u64_1)
    printf("%d bad\n", bad);
    return bad != 0;
}
END
    expect 0 tilecc --emit-runtime -o rt.o
    expect 0 "$CC" -I. -Wl,--gc-sections main.c f.o rt.o -o main -lm -ldl -lpthread
    for isa in baseline avx2 avx512; do TILE_CPU_ISA=$isa ./main; done
    # a program with one of two kernels that share code has that code, and not the other kernel
    echo '#include "f.h"
int main(void) { return f_copy_u32(TILE_CPU, 0, 0) == TILE_OK; }' >one.c
    expect 0 "$CC" -I. -Wl,--gc-sections one.c f.o rt.o -o one -lm -ldl -lpthread
    ./one
    nm one >names
    grep -q ' t f_copy_i32\.0\.baseline$' names
    ! grep -q ' T f_copy_i32$' names || false
}

@test "neither LLVM nor ptxas is asked for the same code twice" {
    needs_ptxas
    write_alike
    fake_ptxas <<END
echo run >>'$PWD/runs'
exec '$PTXAS' "\$@"
END
    for counts in 'copy<i32>,copy<u32> 2' 'told 3' 'scaled 4' 'keyed 2' 'sums<i64>,sums<u64> 2' 'quotients<i64>,quotients<u64> 4'; do
        read -r kernels runs <<<"$counts"
        : >runs
        expect 0 tilecc -arch=sm_90a --cuda-path="$PWD/toolkit" --spec "${kernels%,*}" --spec "${kernels#*,}" f.tile -o f.o
        [ "$(wc -l <runs)" = "$runs" ] || { echo "$counts: $(wc -l <runs)"; "$TILECC" info f.o; return 1; }
        [ "$("$TILECC" info f.o | grep -c '^image')" = "$runs" ]
    done
}

@test "helpers that constants of their callers went into stay apart" {
    cat >helped.tile <<'END'
kernel first(x: in f64[N], y: out f64[N]) grid(b: cdiv(N, 64)) { y[b*64 +: 64] = fma(x[b*64 +: 64], 1.5, 2.5); }
kernel second(x: in f64[N], y: out f64[N]) grid(b: cdiv(N, 64)) { y[b*64 +: 64] = fma(x[b*64 +: 64], 1.75, 2.5); }
END
    cat >helped.c <<'END'
#include "helped.h"
int main(void)
{
    double x[64], y[64], z[64];
    for (int i = 0; i < 64; i++) x[i] = 1e308;
    struct tile_f64_1 vx = {x, {64}, {1}}, vy = {y, {64}, {1}}, vz = {z, {64}, {1}};
    return helped_first(TILE_CPU, &vx, &vy) || helped_second(TILE_CPU, &vx, &vz) || y[5] != 1.5e308 || z[5] != 1.75e308;
}
END
    "$TILECC" --emit-runtime -o helped_rt.o
    for level in 1 2 3; do
        "$TILECC" -w -arch=cpu -O$level helped.tile
        ${CC:-cc} -I. helped.c helped.o helped_rt.o -o helped -ldl -lpthread -lm
        TILE_CPU_ISA=baseline ./helped
    done
}
