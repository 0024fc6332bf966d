#!/usr/bin/env bats
# --tuning: schedules behind one entry, what takes which calls, and what a file may not say.

load helper

product() {
    cat >p.tile <<'END'
kernel product<T: {f32, f16}>(c: out f32[M, N], a: in strided T[M, K], b: in T[K, N])
    grid(i: cdiv(M, BM), j: cdiv(N, BN))
    tune(BM: {16, 32, 64} = 32, BN: {16, 32, 64} = 32, split_k: {1, 2, 4} = 1, warps: {1, 4}, BM*BN <= 2048)
{
    var acc = f32[BM, BN](0);
    for k in 0..K step 32
        acc += a[i*BM +: BM, k +: 32] @ b[k +: 32, j*BN +: BN];
    c[i*BM +: BM, j*BN +: BN] = acc;
}
END
}

tuning() { { echo 'tuning 1'; cat; } >p.tuning; }

# tuned CODE WORDS...: the compilation of p.tile with p.tuning ends so
tuned() {
    local code=$1
    shift
    expect "$code" tilecc -arch=cpu --tuning=p.tuning "$@" p.tile
}

refused() { # TEXT PLACE
    tuned 1 --emit=tir -o all.tir
    contains "$1"
    contains "p.tuning:$2: error: "
    lacks "p.tile:$2: error"
}

@test "three schedules of one kernel: the query says which, and why, and the results are right" {
    product
    tuning <<'END'
product<f32>[] cpu
    [BM=16, BN=16, split_k=4] when M <= 16 and K >= 256   # small
    [BM=64] when M*N <= 4096 and a.stride[0] >= K
END
    tuned 0
    cat >m.c <<'END'
#include "p.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
static int run(int m, int n, int k, int number, const char *text, long bm, long split)
{
    float *a = malloc(sizeof *a * m * k), *b = malloc(sizeof *b * k * n), *c = malloc(sizeof *c * m * n);
    for (int i = 0; i < m * k; i++) a[i] = (float)(i * 7 % 11 - 5);
    for (int i = 0; i < k * n; i++) b[i] = (float)(i * 5 % 13 - 6);
    struct tile_f32_2 va = {a, {m, k}, {k, 1}}, vb = {b, {k, n}, {n, 1}}, vc = {c, {m, n}, {n, 1}};
    struct tile_kernel_info info;
    long seen[2] = {0, 0};
    if (p_product_f32_query(TILE_CPU, &vc, &va, &vb, &info) || p_product_f32(TILE_CPU, &vc, &va, &vb))
        return printf("%s\n", tile_last_error()), 1;
    for (int i = 0; i < info.value_count; i++) {
        if (!strcmp(info.value_names[i], "BM")) seen[0] = info.values[i];
        if (!strcmp(info.value_names[i], "split_k")) seen[1] = info.values[i];
    }
    size_t tail = strlen(info.variant_text) < strlen(text) ? 0 : strlen(info.variant_text) - strlen(text);
    if (info.variant != number || strcmp(info.variant_text + tail, text) || seen[0] != bm || seen[1] != split)
        return printf("%dx%dx%d: %d '%s' BM=%ld split_k=%ld\n", m, n, k, info.variant, info.variant_text, seen[0], seen[1]), 1;
    for (int i = 0; i < m; i++)
        for (int j = 0; j < n; j++) {
            double sum = 0;
            for (int x = 0; x < k; x++) sum += (double)a[i * k + x] * b[x * n + j];
            if (sum != c[i * n + j]) return printf("c[%d, %d] is %g, not %g\n", i, j, c[i * n + j], sum), 1;
        }
    free(a), free(b), free(c);
    return 0;
}
int main(void)
{
    return run(16, 40, 256, 0, "; when M <= 16 and K >= 256", 16, 4) || run(9, 500, 300, 0, "; when M <= 16 and K >= 256", 16, 4) ||
           run(17, 33, 256, 1, "; when M * N <= 4096 and a.stride[0] >= K", 64, 1) || run(16, 16, 255, 1, "a.stride[0] >= K", 64, 1) ||
           run(70, 80, 32, 2, "(a.stride[1] == 1)", 32, 1);
}
END
    tilecc --emit-runtime -o rt.o
    "$CC" -I"$SRCDIR/runtime-stub" m.c p.o rt.o -ldl -lpthread -lm -o m
    ./m
    expect 0 tilecc info p.o
    contains "0: product<f32>[BM=16,BN=16,split_k=4] cpu a.stride[1]=1 general: "
    contains " bytes of scratch a thread; when M <= 16 and K >= 256"
    contains "6 instances = 6 by facts and schedules"
    contains "kernel  p_product_f16"
    expect 0 tilecc info --json p.o
    contains '"number":1,'
    contains '"when":"M * N <= 4096 and a.stride[0] >= K"'
    tuned 0 -Rpass=instance
    contains "bytes of scratch a thread; when M <= 16 and K >= 256 [R2003]"
    expect 0 tilecc --tuning=p.tuning --interpret='p_product_f32([8, 8], [8, 256], [256, 8])' p.tile
}

@test "conditions are arithmetic of the language, overflow is none, and a named variant needs none" {
    cat >k.tile <<'END'
kernel k(x: in strided huge f32[N], y: out huge f32[N], s: i32) grid(i: cdiv(N, B)) tune(B: {16, 32, 64, 128, 256, 512} = 16)
{
    y[i*B +: B] = x[i*B +: B];
}
END
    cat >k.tuning <<'END'
tuning 1
k cpu
    [B=32] when N > 1000 and N * N * N > 0
    [B=64] when (N - 100) / 64 < 0
    [B=128] when N / (N - 77) == 0 or N % 10 == 9
    [B=256] when x.stride[0] == s
    [B=512] when cdiv(N - 200, 64) == 0
END
    expect 0 tilecc -arch=cpu --tuning=k.tuning k.tile
    cat >m.c <<'END'
#include "k.h"
#include <stdio.h>
static float from[2000], to[2000];
static int asked(int64_t n, int64_t gap, int s)
{
    struct tile_f32_1 x = {from, {n}, {gap}}, y = {n > 2000 ? (float *)((int64_t)1 << 50) : to, {n}, {1}};
    struct tile_kernel_info info = {0};
    return k_query(TILE_CPU, &x, &y, s, &info) ? -1 : (int)info.values[0];
}
int main(void)
{
    struct tile_f32_1 x = {from, {100}, {1}}, y = {to, {100}, {1}};
    printf("%d %d %d %d %d", asked(1001, 1, 0), asked(((int64_t)1 << 40) + 1, 1, 0), asked(10, 1, 0), asked(36, 1, 0), asked(77, 1, 0));
    printf(" %d %d %d %d %d\n", asked(109, 1, 0), asked(300, 2, 2), asked(300, 2, 1), asked(150, 1, 0), asked(264, 1, 0));
    for (int i = 0; i < 6; i++)
        printf("%d", k_variant(TILE_CPU, &x, &y, 0, i));
    return 0;
}
END
    tilecc --emit-runtime -o rt.o
    "$CC" -I"$SRCDIR/runtime-stub" m.c k.o rt.o -ldl -lpthread -lm -o m
    expect 0 ./m
    # (2^40 + 1)^3 is no number of 64 bits; (36 - 100) / 64 is -1, and (77 - 77) divides to 0
    contains "32 16 64 64 128 128 256 16 512 16"
    contains "000000"
}

@test "heads choose by types, keys, architecture and facts; the first in the order of the files counts" {
    product
    tuning <<'END'
product<f16>[] cpu a.stride[1]=1 general
    [BM=16] when M <= 64
product<f16> cpu
    [BM=64] when M > 64
product<f32>   cpu   general
    [] when M > 1000
product<f32>[] sm_90a aligned
    [BM=64]
END
    printf 'tuning 1\nproduct<f16> cpu\n\t[BN=64]\r\n' >second
    tuned 0 --tuning=second -Rpass=instance
    grep -o 'instance: [^:]*:' <<<"$output" >seen
    cat >wanted <<'END'
instance: product<f32>[BM=32,BN=32,split_k=1] cpu a.stride[1]=1 general:
instance: product<f32>[BM=32,BN=32,split_k=1] cpu general:
instance: product<f16>[BM=16,BN=32,split_k=1] cpu a.stride[1]=1 general:
instance: product<f16>[BM=64,BN=32,split_k=1] cpu a.stride[1]=1 general:
instance: product<f16>[BM=32,BN=64,split_k=1] cpu a.stride[1]=1 general:
instance: product<f16>[BM=64,BN=32,split_k=1] cpu general:
instance: product<f16>[BM=32,BN=64,split_k=1] cpu general:
END
    diff wanted seen
}

@test "files that say what cannot be: the line and the column" {
    product
    printf 'product cpu\n' >p.tuning && refused 'begins with the line `tuning 1`' 1:1
    printf '# nothing\n\n' >p.tuning && refused 'and this one has none' 1:1
    printf 'tuning 1\n\0' >p.tuning && refused 'not a text' 2:1
    tuning <<<'produkt cpu' && refused 'p.tile has no kernel `produkt`; did you mean `product`?' 2:1
    tuning <<<'product<f32>[]' && refused 'a head is ' 2:1
    printf 'tuning 2\nproduct cpu\n' >p.tuning && refused 'reads `tuning 1`' 1:1
    tuning <<<'product<f32> sm_91a' && refused 'there is no architecture `sm_91a`; did you mean `sm_90a`?' 2:1
    tuning <<<'product<f32> sm_12' && refused 'there is no architecture `sm_12`' 2:1
    tuning <<<'product<bf16> cpu' && refused 'has no instances of these types' 2:1
    tuning <<<'product<f32>[D=4] cpu' && refused 'no key and no `const` name `D`' 2:14
    tuning <<<'product<f32> cpu aligned' && refused 'has the facts `aligned`: there are `a.stride[1]=1 general`, `general`' 2:1
    tuning <<<' [BM=16]' && refused 'stands under the head' 2:2
    line() { printf 'tuning 1\nproduct<f32> cpu\n  %s\n' "$1" >p.tuning; }
    line 'BM=16' && refused 'a schedule is ' 3:3
    line '[BM=16] while M > 3' && refused 'a schedule is ' 3:3
    line '[BQ=16]' && refused '`BQ` is not in `tune` of `product`' 3:4
    line '[BN=16, BM=16, BN=32]' && refused '`BN` of `product` has a value already' 3:18
    line '[BN=16, BM=48]' && refused '`BM` is one of {16, 32, 64}, not 48' 3:11
    line '[BN=64, BM=64]' && refused '`tune` rules this schedule out' 3:3
    contains 'note: this does not hold: `BM * BN <= 2048`'
    line '[] when M <= 64 and' && refused 'the end of the line cannot stand here; expected an expression' 3:22
    line '[] when (M <= 64' && refused 'is not closed before the end of the line' 3:19
    line '[] when M <= 64 N' && refused '`N` cannot stand here' 3:19
    line '[] when Q <= 64' && refused '`Q`' 3:11
    line '[] when M + 64' && refused 'E03' 3:11
    printf 'tuning 1\nproduct<f32> cpu\n  [BM=16]\n  [BM=64]\n' >p.tuning && refused 'nothing comes to this schedule' 4:3
    expect 3 tilecc -arch=cpu --tuning=nothing p.tile
    contains 'cannot read `nothing`'
}

@test "an instance has 64 schedules with conditions, and a file of more is told at once" {
    product
    lines() {
        local i
        echo 'product<f32> cpu'
        for ((i = 0; i < $1; i++)); do echo " [BM=$((16 << i % 2))] when M == $i"; done
    }
    lines 64 | tuning
    tuned 0 -fsyntax-only
    lines 65 | tuning
    refused "an instance has at most 64 schedules with conditions" 67:2
}

@test "a condition that cannot be read is one error" {
    product
    printf 'product<f32> cpu\n [BM=16] when M <= 16 and\n [BM=64]\n' | tuning
    refused "the end of the line cannot stand here" 3:26
    lacks "nothing comes to this schedule"
}

@test "the example of the manual, on the kernel that it is about" {
    sed -n '/^# H200/,/^\.Ed/p' "$SRCDIR/man/tilecc-tuning.5" | grep -v '^\.' >manual.tuning
    [ "$(grep -c . manual.tuning)" = 7 ]
    expect 0 tilecc -arch=cpu,sm_90a --schedules=1 --tuning=manual.tuning --emit=tir -o - "$SRCDIR/examples/matmul.tile"
    [ "$(grep -c '^kernel @matmul_f16_f16__' <<<"$output")" = 13 ]
    [ "$(grep -c '^kernel @matmul_bf16_bf16__' <<<"$output")" = 21 ]
    [ "$(grep -c '^kernel @matmul_f32_f32__' <<<"$output")" = 9 ]
}

@test "a condition that the keys decide leaves schedules out, or makes one the last" {
    cat >p.tile <<'END'
const LIMIT = 100;
const fn is_small(n: i64) -> bool = n < LIMIT;
kernel f<D: {2, 4}>(x: inout f32[N, D]) grid(i: cdiv(N, B)) tune(B: {8, 16, 32} = 8) { x[i*B +: B, :] += 1.0; }
END
    tuning <<'END'
f cpu
    [B=16] when D == 2
    [B=32] when is_small(N) and sm_count() > 0
END
    tuned 0 -Rpass=instance
    grep -o 'instance: [^:]*:' <<<"$output" >seen
    printf 'instance: f[D=%s] cpu general:\n' '2,B=16' '4,B=32' '4,B=8' | diff - seen
    contains '; when is_small(N) and sm_count() > 0 ['
    tuning <<<$'f[D=8] cpu\n [B=16]' && refused '`D` of `f` is one of {2, 4}, not 8' 2:3
}

@test "W1208: -D and --spec go before the file" {
    product
    tuning <<'END'
product<f32> cpu
    [BM=16] when M <= 16
    [BN=64]
END
    tuned 0 -D BM=32 --emit=tir -o -
    contains 'p.tuning:3:5: warning: this schedule is left out: `BM` has another value on the command line [-Wschedule-left-out]'
    [ "$(grep -c Wschedule-left-out <<<"$output")" = 1 ]
    [ "$(grep -c '^kernel @p_product_f32__' <<<"$output")" = 2 ]
    tuned 0 -D BM=64 --emit=tir -o -
    contains 'p.tuning:4:5: warning: this schedule is left out: a condition of `tune` does not hold with the values on the command line'
    tuned 0 --spec 'product<f32>[BM=16]' --emit=tir -o -
    lacks 'this schedule'
    [ "$(grep -c '^kernel @p_product_f32__' <<<"$output")" = 4 ]
}

@test "the file is an input where it is used: the same bytes again, the same as without it elsewhere, and a dependency" {
    product
    tilecc -arch=cpu -o without.o p.tile
    tuning <<<$'product<f32> sm_80\n [BM=16]'
    tuned 0 -MD -o other.o
    cmp without.o other.o
    grep -q 'p.tuning' other.d
    tuning <<<$'product<f32> cpu\n [BM=16] when M < 9'
    tuned 0 -o with.o
    tuned 0 -j4 -o again.o
    cmp with.o again.o
    ! cmp -s without.o with.o || false
    tilecc -M --tuning=p.tuning p.tile | grep -q 'p.tuning'
    expect 2 tilecc -arch=cpu --tuning=p.tuning -o p.tuning p.tile
    contains 'is the input'
}

@test "code in the cache is that of the schedule" {
    product
    tuning <<<$'product<f32> cpu\n [BM=16] when M < 9\n [BM=64]'
    tuned 0 -o with.o
    export TILECC_CACHE=$PWD/kept
    tilecc -arch=cpu -o without.o p.tile
    for _ in 1 2; do
        tuned 0 -o cached.o
        cmp with.o cached.o
    done
}

@test "W1206: where a schedule cannot be made another of its facts stands in, the default too" {
    cat >p.tile <<'END'
kernel turn(x: in f64[M, N], y: out f64[N, M]) grid(m: cdiv(M, B), n: cdiv(N, B)) tune(B: {32, 64, 256} = 32) {
    y[n*B +: B, m*B +: B] = trans(x[m*B +: B, n*B +: B]);
}
END
    tuning <<<$'turn sm_90a\n [B=256] when M > 999\n [B=64] when M > 99'
    expect 0 tilecc -fsyntax-only -arch=sm_90a --tuning=p.tuning p.tile
    contains 'an instance is left out: turn[B=256] sm_90a aligned needs 262144 bytes of shared memory'
    contains 'turn[B=32] sm_90a aligned takes its calls'
    needs_ptxas
    tuning <<<$'turn sm_90a aligned\n [B=64] when M > 99\n [B=256]'
    expect 0 tilecc -arch=sm_90a --tuning=p.tuning p.tile
    contains 'turn[B=64] sm_90a aligned takes its calls'
    expect 0 tilecc info p.o
    contains '0: turn[B=64] sm_90a aligned'
    lacks 'when M > 99'
    lacks 'B=256'
}

@test "several schedules of an instance count once" {
    product
    tuning <<<$'product<f32> cpu\n [BM=16] when M < 9\n [BM=64] when M > 999'
    tuned 0 --max-instances=4
    tuned 1 --max-instances=3
    contains '`product` has 4 instances for cpu, and 3 are the most'
}

@test "under --reproducible extents alone choose" {
    product
    tuning <<<$'product<f32> cpu\n [BM=16] when M < 9'
    tuned 0 --reproducible
    tuning <<<$'product<f32> cpu\n [BM=16] when M < sm_count()'
    tuned 1 --reproducible
    contains 'p.tuning:3:15: error: under --reproducible a schedule depends on extents, and not on the device'
    tuning <<<$'product<f32> cpu\n [BM=16] when a.stride[0] == K'
    tuned 1 --reproducible
    contains 'and not on strides'
    tuning <<<$'product<f32> cpu general\n [BM=16]'
    tuned 1 --reproducible
    contains 'p.tuning:2:1: error: under --reproducible a schedule depends on extents, and not on facts'
}

@test "any bytes as a file of schedules: an answer, no signal" {
    product
    for seed in $(seq 60); do
        printf 'tuning 1\nproduct<f32>[] cpu\n    [BM=16, split_k=4] when M <= 16 and K >= 256 # x\n    [BM=64] when M*N <= 4096\n' |
            awk -v seed="$seed" 'BEGIN { srand(seed); RS = "\001" } {
                for (n = 1 + int(rand() * 3); n--;) {
                    at = 1 + int(rand() * length($0)); what = substr("[]=<>,#()\n\t 9aM\"\\\xff/*when", 1 + int(rand() * 24), int(rand() * 3));
                    $0 = substr($0, 1, at - 1) what substr($0, at + int(rand() * 3));
                } printf "%s", $0 }' >p.tuning
        run timeout 60 "$TILECC" -fsyntax-only -arch=cpu --tuning=p.tuning p.tile
        [ "$status" -le 1 ] || { echo "$status"; cat p.tuning; echo "$output"; return 1; }
        [ "$status" = 0 ] || [ -n "$output" ]
    done
    head -c 20000 /dev/zero | tr '\0' '(' | sed 's/^/tuning 1\nproduct cpu\n [] when /' >p.tuning
    tuned 1
}

@test "two architectures, and the descriptor of sm_90a holds the facts and the conditions" {
    needs_ptxas
    product
    tuning <<'END'
product<f16> sm_90a aligned
    [BM=64, BN=16, warps=4, split_k=2] when M <= 64 and K >= 1024
product<f16> cpu
    [BM=16] when M <= 8
END
    expect 0 tilecc -arch=sm_90a,cpu --spec 'product<f16>' --tuning=p.tuning p.tile
    expect 0 tilecc info --json p.o
    contains '"when":"M <= 64 and K >= 1024"'
    contains '"when":"M <= 8"'
    expect 0 tilecc info p.o
    contains 'product<f16>[BM=64,BN=16,split_k=2,warps=4] sm_90a a.stride[1]=1 aligned'
    contains 'product<f16>[BM=32,BN=32,split_k=1] sm_90a a.stride[1]=1 aligned'
    [ "$(grep -c 'when M <= 64 and K >= 1024' <<<"$output")" -ge 2 ]
}

@test "more conditions than the run time has facts: each schedule's are one then" {
    echo 'kernel f(x: inout f32[N]) grid(i: cdiv(N, B)) tune(B: {8, 16} = 8) { x[i*B +: B] += 1.0; }' >p.tile
    { echo 'f cpu'; for i in $(seq 34); do echo "  [B=$((i % 2 ? 16 : 8))] when N >= $i and N < $((1000 + i))"; done; } | tuning
    tuned 0
    expect 0 tilecc info p.o
    contains '; when N >= 33 and N < 1033'
    echo 'kernel f<D: {1, 2}>(x: inout f32[N, D]) grid(i: cdiv(N, B)) tune(B: {8, 16} = 8) { x[i*B +: B, 0 +: D] += 1.0; }' >p.tile
    for i in $(seq 66); do ((i % 33 != 1)) || echo "f[D=$((1 + i / 34))] cpu"; echo "  [B=$((i % 2 ? 16 : 8))] when N == $i"; done | tuning
    expect 1 tilecc -arch=cpu -w --tuning=p.tuning p.tile
    contains 'rely on more than 64 different facts'
}

@test "neighbours of equal code become one, others stay: what comes between has its calls" {
    echo 'kernel f(x: inout f32[N]) grid(i: cdiv(N, B)) tune(B: {8, 16} = 8) { x[i*B +: B] += 1.0; }' >p.tile
    tuning <<'END'
f cpu
    [B=16] when N < 10
    [B=16] when N == 50
    [] when N > 100 or N == 70
    [B=16] when N > 60
END
    tuned 0
    expect 0 tilecc info p.o
    contains '0: f[B=16] cpu general: '
    contains 'when (N < 10) or (N == 50)'
    contains '1: f[B=8] cpu general: '
    contains '2: f[B=16] cpu general: '
    contains '3: f[B=8] cpu general: '
    contains '4 instances = '
}

@test "W1210: orders of machine code are proved, taken where their digest is found, and else left out" {
    cat >o.tile <<'EOF'
kernel f(x: inout f32[N]) grid(i: cdiv(N, 1024)) { x[i*1024 +: 1024] = exp(x[i*1024 +: 1024]) * 2.0 + 1.0; }
EOF
    order() { expect "$1" tilecc -arch=sm_80 --tuning="$2" -o other.o o.tile; }
    tilecc -arch=sm_80 -o plain.o o.tile
    expect 0 tilecc info --dependences plain.o
    contains 'its order is right'
    contains '    block at 0000'
    code=$(sed -n 's/.*: native sm_80 \([0-9a-f]*\), .*/\1/p' <<<"$output" | head -1)
    expect 0 tilecc info --orders=3 plain.o
    printf '%s\n' "$output" >o.tuning
    contains "native sm_80 $code # o_f__0.sm_80"
    order 0 o.tuning
    lacks 'left out'
    mkdir plain other
    (cd plain && "$TILECC" info --extract=sm_80 ../plain.o)
    (cd other && "$TILECC" info --extract=sm_80 ../other.o)
    ! cmp -s plain/o_f__0.sm_80.cubin other/o_f__0.sm_80.cubin || false
    [ "$(stat -c %s plain/o_f__0.sm_80.cubin)" = "$(stat -c %s other/o_f__0.sm_80.cubin)" ]
    expect 0 tilecc info --dependences other.o
    contains 'its order is right'
    cp other.o first.o
    order 0 o.tuning
    cmp first.o other.o
    printf 'tuning 1\nnative sm_80 %032d\n    0: 0.0fe842\n' 7 >none.tuning
    order 0 none.tuning
    contains 'none.tuning:2:1: warning: this order of machine code is left out: no code compiled here has its digest [-Worder-left-out]'
    cmp plain.o other.o
    printf 'tuning 1\nnative sm_80 %s\n    0: 10.0fe842 10.0fe842\n' "$code" >twice.tuning
    order 0 twice.tuning
    contains 'is left out: an instruction '
    cmp plain.o other.o
    printf 'tuning 1\nnative sm_80 %s\n    0: 8.0\n' "$code" >odd.tuning
    order 0 odd.tuning
    contains 'a line is `PLACE: PLACE.BITS'
    printf 'tuning 1\nnative sm_90a %032d\n' 7 >later.tuning
    order 0 later.tuning
    lacks 'left out'
    printf 'tuning 1\nnative sm_80 12\n' >short.tuning
    order 1 short.tuning
    contains 'E0421'
}
