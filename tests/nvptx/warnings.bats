#!/usr/bin/env bats
# What a user is told without asking: products that could be faster (W1203), registers in memory (W1202); and with -Rpass
# one line for each instance (R2003).  Each reason is brought about by a program that gives exactly that one.

setup() {
    cd "$BATS_TEST_TMPDIR" || return 1
    cat >p.tile <<'END'
kernel product<T: {f16, bf16, f32, f8e4m3}>(a: in T[M, K], b: in T[K, N], c: out f32[M, N])
    grid(m: cdiv(M, BM), n: cdiv(N, BN))
    tune(BM: {8, 16, 32, 64} = 64, BN: {4, 8, 32, 64} = 64, BK: {4, 8, 16, 32} = 32, warps: {2, 4}, maxnreg)
{
    var acc = f32[BM, BN](0);
    for k in 0..K step BK
        acc += a[m*BM +: BM, k +: BK] @ b[k +: BK, n*BN +: BN];
    c[m*BM +: BM, n*BN +: BN] = acc;
}
kernel batch(a: in f16[Z, 64, 64], b: in f16[Z, 64, 64], c: out f32[Z, 64, 64])
    grid(z: cdiv(Z, 2))
{
    c[z*2 +: 2, :, :] = a[z*2 +: 2, :, :] @ b[z*2 +: 2, :, :];
}
kernel promoted(a: in f8e4m3[64, 64], b: in f8e4m3[64, 64], c: out f32[64, 64])
    grid(z: 1)
{
    c[:, :] = dot(a[:, :], b[:, :], f32[64, 64](0), promote = 32);
}
kernel wide(a: in f16[256, 512], b: in f16[512, 256], c: out f32[256, 256])
    grid(z: 1)
{
    c[:, :] = (a[:, :] + 1.0) @ (b[:, :] + 1.0);
}
END
}

# said ARCH SPEC OPTION...: standard error without source lines, of the default schedule.
said() {
    local arch=$1 spec=$2
    shift 2
    "$TILECC" -arch="$arch" --schedules=1 --dryrun --spec "$spec" "$@" -o p.o p.tile 2>&1 |
        grep -v -E '^ *([0-9]+)? \||would write| # p_' || true
}

# warns TEXT ARCH SPEC OPTION...: exactly one warning, at the product, with this text, for both instances.
warns() {
    local text=$1
    shift
    said "$@" >log
    [ "$(grep -c warning: log)" -eq 1 ] || { cat log; return 1; }
    grep -q -E "^p\.tile:[0-9]+:[0-9]+: warning: this product is computed by $text \[-Wslow-product\]$" log || { cat log; return 1; }
    [ "$(grep -c '^      = in .* \(aligned\|general\)$' log)" -eq 2 ] || { cat log; return 1; }
}

silent() { said "$@" >log; [ ! -s log ] || { cat log; return 1; }; }

@test "W1203: each reason alone, with its numbers" {
    silent sm_80 'product<f16>'
    silent sm_90a 'product<f16>'
    for arch in sm_80 sm_90a; do
        warns 'multiply-adds: k is 4, no multiple of 8' $arch 'product<f16>' -D BK=4
        warns 'multiply-adds: the rows are 8, no multiple of 16' $arch 'product<f16>' -D BM=8 -D BN=32
        warns 'multiply-adds: the columns are 4, no multiple of 8' $arch 'product<f16>' -D BN=4
        warns 'multiply-adds: it has batch dimensions' $arch batch
    done
    silent sm_80 'product<f16>' -D BK=8
    warns 'mma\.sync, not by wgmma: k is 8, no multiple of 16' sm_90a 'product<f16>' -D BK=8
    warns 'mma\.sync, not by wgmma: the rows are 32, no multiple of 64' sm_90a 'product<f16>' -D BM=32 -D BN=32
    silent sm_90a 'product<f16>' -D BM=32
    silent sm_90a 'product<f16>' -D BM=8
    said sm_90a 'product<f16>' -D BM=8 -Rpass=choose_product |
        grep -q 'wgmma takes the columns of this product for its rows: it has 8 rows \[R2001\]'
    warns 'mma\.sync, not by wgmma: the warps are 2, no multiple of 4' sm_90a 'product<f16>' -D warps=2
    warns 'multiply-adds: k is 8, no multiple of 16' sm_90a 'product<f8e4m3>' -D BK=8
    warns 'multiply-adds: the tensor cores take these elements from sm_80 on' sm_75 'product<bf16>'
    warns 'multiply-adds after all: its factors do not fit into shared memory beside the others' sm_80 wide
    # neither k nor the columns a multiple of 16: rows of 16 bytes in shared memory, so what is said first stays true
    cat >odd.tile <<'TILE'
kernel odd(a: in f16[M, K], b: in f16[K, N], c: out f16[M, N]) grid(m: cdiv(M, 80), n: cdiv(N, 24)) {
    var acc = f32[80, 24](0);
    for k in 0..K step 40
        acc += a[m*80 +: 80, k +: 40] @ b[k +: 40, n*24 +: 24];
    c[m*80 +: 80, n*24 +: 24] = f16(acc);
}
TILE
    for arch in sm_80 sm_90a; do
        "$TILECC" -arch=$arch -S -o - odd.tile 2>said >odd.ptx
        [ "$(grep -c multiply-adds said)" -eq 0 ] || { cat said; return 1; }
        grep -q 'mma\.sync.*m16n8k8' odd.ptx
    done
    [ "$(grep -c 'by mma\.sync, not by wgmma: k is 40, no multiple of 16, and the rows are 80, no multiple of 64' said)" -eq 1 ]
}

@test "W1203: several reasons at once are all said" {
    warns 'multiply-adds: k is 4, no multiple of 8, and the rows are 8, no multiple of 16, and the columns are 4, no multiple of 8' \
        sm_90a 'product<f16>' -D BM=8 -D BN=4 -D BK=4
}

@test "W1203: nothing where the elements have no faster instruction, but a remark" {
    silent sm_90a 'product<f32>'
    silent sm_90a 'product<f8e4m3>'
    silent sm_75 'product<f8e4m3>'
    silent sm_90a promoted
    said sm_90a 'product<f32>' -Rpass=choose_product | grep -q 'multiply-adds: f32 with precision = ieee has no tensor instruction \[R2001\]'
    said sm_90a 'product<f8e4m3>' -Rpass=choose_product | grep -q 'mma.sync, not by wgmma: the second factor lies in memory with n contiguous: k has to be, for wgmma turns only 16-bit factors \[R2001\]'
    said sm_75 'product<f8e4m3>' -Rpass=choose_product | grep -q 'this product is computed by mma.sync \[R2001\]'
    said sm_90a 'product<f16>' -Rpass=choose_product | grep -q 'this product is computed by wgmma \[R2001\]'
    silent cpu 'product<f16>' -fsyntax-only
}

@test "W1203: from sm_100a on, once for a kernel, until tcgen05 is there" {
    cat >two.tile <<'END'
kernel two<T: {f16, bf16, f32}>(a: in T[M, K], b: in T[K, N], c: out f32[M, N], d: out f32[M, N])
    grid(m: cdiv(M, 64), n: cdiv(N, 64))
{
    var x, y = f32[64, 64](0), f32[64, 64](0);
    for k in 0..K step 32 {
        x += dot(a[m*64 +: 64, k +: 32], b[k +: 32, n*64 +: 64]);
        y += dot(a[m*64 +: 64, k +: 32] + 1.0, b[k +: 32, n*64 +: 64]);
    }
    c[m*64 +: 64, n*64 +: 64] = x;
    d[m*64 +: 64, n*64 +: 64] = y;
}
kernel none(a: inout f16[N]) grid(i: cdiv(N, 64)) { a[i*64 +: 64] = exp(a[i*64 +: 64]); }
END
    for arch in sm_100a sm_100f sm_103a sm_110a sm_120a sm_121a; do
        case $arch in sm_12*) what="TMA is not there yet" ;; *) what="tcgen05, which this target is made for, is not there yet" ;; esac
        "$TILECC" -arch=$arch --dryrun -o two.o two.tile >log 2>&1
        [ "$(grep -c warning: log)" -eq 1 ] || { cat log; false; }
        grep -q "^two.tile:1:8: warning: .* mma.sync.*$what \[-Wslow-product\]$" log
        [ "$(grep -c "= in two<b*f16> $arch" log)" -eq 4 ] # f32 is made of multiply-adds anywhere
    done
    "$TILECC" -arch=sm_100a,sm_90a --dryrun -o two.o two.tile 2>&1 | grep "= in" >log
    ! grep sm_90a log || false
    "$TILECC" -arch=sm_100a,sm_90a -Wno-slow-product -Werror --dryrun -o two.o two.tile
    "$TILECC" -arch=sm_100a -Werror --spec none --dryrun -o two.o two.tile
    run "$TILECC" -arch=sm_100a -Werror --spec 'two<f16>' --dryrun -o two.o two.tile
    [ "$status" -eq 1 ]
}

@test "W1203 is turned off, and then a remark; -Werror makes it fail" {
    silent sm_90a batch -Wno-slow-product
    silent sm_90a batch -w
    said sm_90a batch -Wno-slow-product -Rpass=choose | grep -q 'remark: choose_product: this product is computed by multiply-adds: it has batch dimensions'
    run "$TILECC" -arch=sm_90a --spec batch -Werror -o batch.o p.tile
    [ "$status" -eq 1 ]
    [[ $output == *"error: this product is computed by multiply-adds: it has batch dimensions [-Werror=slow-product]"* ]]
    [ ! -e batch.o ]
}

@test "a product of few rows and columns takes as many warps as it has blocks" {
    cat >p.tile <<'END'
kernel p_small(a: in f16[16, 32], b: in f16[32, 16], c: out f32[16, 16])
    grid(i: 1)
    tune(warps: {2, 3, 4, 8}, stages: 2..=7)
{
    c[:, :] = a[:, :] @ b[:, :];
}
END
    silent sm_80 p_small
    said sm_80 p_small -Rpass=assign | grep -q 'a program has 2 warps'
    # what was asked for and cannot be is said
    said sm_80 p_small -D warps=8 -Rpass=assign | grep -q 'warps = 8 has no effect here: the tiles go to 2'
    said sm_80 p_small -D warps=3 -Rpass=assign | grep -q 'warps = 3 has no effect here: the tiles go to 2'
    said sm_80 p_small -D stages=6 -Rpass=settle | grep -q 'stages = 6 has no effect here: no loop brings tiles ahead into shared memory'
}

@test "W1202: spilled bytes, with line and instance" {
    [ -n "${PTXAS-}" ] || skip "no ptxas"
    run "$TILECC" -arch=sm_80 --spec 'product<f16>' -D maxnreg=40 -o p.o p.tile
    [ "$status" -eq 0 ]
    [[ $output == *"p.tile:1:8: warning: this kernel keeps registers in local memory [-Wspills]"* ]]
    grep -q -E '^      = in product<f16>\[BM=64,BN=64,BK=32,maxnreg=40\] sm_80 aligned: [1-9][0-9]* bytes of spill stores, [1-9][0-9]* of spill loads$' <<<"$output"
    "$TILECC" info p.o | grep -q -E 'product<f16>.* aligned: mma\.sync 64x64.*; [0-9]+ registers, spills: [1-9][0-9]* bytes stored'
    run "$TILECC" -arch=sm_80 --spec 'product<f16>' -D maxnreg=40 -Wno-spills -o p.o p.tile
    [ "$status" -eq 0 ]
    [ -z "$output" ]
    run "$TILECC" -arch=sm_80 --spec 'product<f16>' -D maxnreg=40 -Werror=spills -o q.o p.tile
    [ "$status" -eq 1 ]
    [ ! -e q.o ]
    run "$TILECC" -arch=sm_80 --spec 'product<f16>' -o p.o p.tile
    [ "$status" -eq 0 ]
    [ -z "$output" ]
}

@test "W1202 and ptxas on registers: where tiles take them, how many of how many, and what is enough" {
    [ -n "${PTXAS-}" ] || skip "no ptxas"
    cat >sums.tile <<'END'
kernel sums(a: in bf16[M, K], b: in bf16[K, N], c: out bf16[M, N]) grid(m: cdiv(M, 128), n: cdiv(N, BN))
    tune(BN: {128, 256} = 256)
{
    var even = f32[128, BN](0);
    var odd = f32[128, BN](0);
    for k in 0..K step 128 {
        even += a[m*128 +: 128, k +: 64] @ b[k +: 64, n*BN +: BN];
        odd += a[m*128 +: 128, k + 64 +: 64] @ b[k + 64 +: 64, n*BN +: BN];
    }
    c[m*128 +: 128, n*BN +: BN] = bf16(even * odd);
}
END
    "$TILECC" -arch=sm_90a -o s.o sums.tile 2>log
    grep -q 'instructions are serialized due to insufficient register resources' log
    held='in sums\[BN=256\] sm_90a aligned a thread holds at least 256 registers of tiles here \(2 of f32\[128, 256\]\) and has 240'
    helps='what helps is a smaller tile, such as f32\[128, 128\] by BN = 128 \(then 128\), or no more than 1 of them at a time, as in one loop after the other'
    [ "$(grep -c -E "^sums.tile:[78]:[0-9]+: note: $held: $helps\$" log)" -eq 2 ] || { cat log; false; }
    "$TILECC" -arch=sm_90a -D BN=128 -o s.o sums.tile 2>log # true
    [ ! -s log ] || { cat log; false; }
    # where maxnreg is the reason, tiles are not
    "$TILECC" -arch=sm_80 --spec 'product<f16>' -D maxnreg=40 -o p.o p.tile 2>log
    helps='smaller tiles \(a `tune` knob, -D or --spec\), more `warps`, a larger `maxnreg`, or fewer values alive at a time help'
    grep -q -E "note: in product<f16>\[.*\] sm_80 aligned a thread holds at least [0-9]+ registers of tiles here \(.*\) and has 40: $helps\$" log ||
        { cat log; false; }
}

@test "W1202: not for eight registers, as of the examples" {
    [ -n "${PTXAS-}" ] || skip "no ptxas"
    run "$TILECC" -arch=sm_90a --schedules=1 --spec 'matmul<f8e4m3, bf16>' -o m.o "$SRCDIR/examples/matmul.tile"
    [ "$status" -eq 0 ]
    [ -z "$output" ]
    "$TILECC" info m.o | grep -qE 'spills: ([48]|1[26]|2[048]|32) bytes stored'
}

@test "W1205: tiles in local memory that ptxas calls no spill" {
    [ -n "${PTXAS-}" ] || skip "no ptxas"
    cat >wide.tile <<'END'
kernel wide(x: in f32[N], y: out f32[M]) grid(b: cdiv(N, B)) tune(B: {4096, 32768} = 32768, warps: {4}) { y[b] = sum(erf(x[b*B +: B])); }
END
    run "$TILECC" -arch=sm_80 -D B=32768 -D warps=4 -Wno-spills -o w.o wide.tile
    [ "$status" -eq 0 ]
    [[ $output == *"wide.tile:1:8: warning: this kernel passes tiles through local memory [-Wlocal-arrays]"* ]]
    grep -q -E '^      = in wide\[B=32768,warps=4\] sm_80.*: [1-9][0-9]* bytes a thread$' <<<"$output"
    run "$TILECC" -arch=sm_80 -D B=32768 -D warps=4 -Wno-local-arrays -Wno-spills -o w.o wide.tile
    [ -z "$output" ]
    run "$TILECC" -arch=sm_80 -D B=4096 -D warps=4 -o w.o wide.tile
    [ "$status" -eq 0 ]
    [ -z "$output" ]
}

@test "W1007: tiles that make each thread's code long, said before the code is made" {
    cat >big.tile <<'END'
kernel big(r: inout f32[N]) grid(i: cdiv(N, B)) tune(B: {262144, 1048576} = 1048576) {
    let t = r[i*B +: B];
    r[i*B +: B] = t * sum(t);
}
END
    passes() { "$TILECC" --emit=tir --print-after=settle_knobs -o - "$@" big.tile 2>said >big.tir; } # no LLVM, no ptxas
    passes -arch=sm_90a
    grep -q '^big.tile:1:8: warning: `big` has more than 8192 operations for each thread.* \[-Wlong-code\]$' said
    grep -q '^      = in big\[B=1048576\] sm_90a aligned$' said
    grep -q '^      = in big\[B=1048576\] sm_90a general$' said
    for quiet in "-arch=cpu" "-arch=sm_90a -D B=262144" "-arch=sm_90a -Wno-long-code"; do
        # shellcheck disable=SC2086
        passes $quiet
        [ "$(grep -c Wlong-code said)" = 0 ]
    done
}

@test "that several instances do not fit one file is said before they are made" {
    cp "$BATS_TEST_DIRNAME/../../examples/softmax.tile" .
    mkdir -p toolkit/bin
    printf '#!/bin/sh\n: >%s\nexit 1\n' "$PWD/started" >toolkit/bin/ptxas
    chmod +x toolkit/bin/ptxas
    run "$TILECC" -arch=sm_80 --emit=cubin --cuda-path="$PWD/toolkit" -o x.cubin softmax.tile
    [ "$status" -eq 2 ]
    [[ $output == *" instances give a file each; choose one with --spec and -arch, such as --spec 'softmax<f32>[B=256] sm_80 aligned', give -o a folder that is there, or leave -o out"* ]]
    [ ! -e started ]
}

@test "warnings are shown before ptxas is started" {
    echo 'kernel hides(r: out f32[N]) grid(i: N) { let a = 1.0; if (i > 0) { let a = 2.0; r[i] = a; } }' >hides.tile
    mkdir -p toolkit/bin
    printf '#!/bin/sh\n[ -s %s ] && : >%s\nexit 1\n' "$PWD/said" "$PWD/in_time" >toolkit/bin/ptxas
    chmod +x toolkit/bin/ptxas
    "$TILECC" -arch=sm_80 --cuda-path="$PWD/toolkit" -o h.o hides.tile 2>said || [ $? = 5 ]
    [ -e in_time ]
    [ "$(grep -c Wshadow said)" = 1 ]
}

@test "R2003: one line for each instance, and the same in info" {
    [ -n "${PTXAS-}" ] || skip "no ptxas"
    "$TILECC" -arch=sm_90a --schedules=1 --spec 'product<f16>' -Rpass=instance -o p.o p.tile 2>&1 | grep remark: >log
    [ "$(wc -l <log)" -eq 2 ]
    grep -q -E '^p\.tile:1:8: remark: instance: product<f16>\[BM=64,BN=64,BK=32\] sm_90a aligned: wgmma 64x64x32, 12 stages, 2 consumers in turn and a producer by TMA, persistent; [0-9]+ registers, no spills, [0-9]+ (KiB|bytes) shared \[R2003\]$' log || { cat log; false; }
    "$TILECC" info p.o >said
    sed -E 's/.*instance: (.*) \[R2003\]/        \1/' log | while read -r line; do grep -qF -- "$line" said; done
}

@test "remarks name the instances they are true for, in JSON all of them" {
    "$TILECC" -arch=sm_80,sm_90a --schedules=1 -Rpass=choose_product -fdiagnostics-format=json --emit=ptx --spec 'product<f16>' p.tile 2>log
    [ "$(grep -c '"code":"R2001"' log)" -eq 3 ] || { cat log; false; }
    grep -q '"instances":\["product<f16>\[BM=64,BN=64,BK=32\] sm_90a aligned","product<f16>\[BM=64,BN=64,BK=32\] sm_90a general"\]}$' log
}

@test "blocks that walk over an ordered grid ask for no more of a multiprocessor than it takes: ptxas has no warning" {
    cat >few.tile <<'K'
fn add(a: f32, b: f32) -> f32 = a + b;
kernel few(x: in f32[N], y: out f32[N]) grid(ordered b: cdiv(N, 256)) scratch(state: u64[cdiv(N, 256), 16] = 0)
    tune(warps: {1} = 1)
{
    let v = x[b*256 +: 256];
    y[b*256 +: 256] = cumsum(v) + look_back(state, b, sum(v), add, 0.0);
}
K
    for target in sm_75 sm_80 sm_86 sm_90a sm_100a sm_120a; do
        "$TILECC" -arch=$target -S few.tile -o - >few.ptx
        awk '$1 == ".minnctapersm" && $2 > 16 { exit 1 }' few.ptx
        [ $target = sm_75 ] || grep -q '^\.minnctapersm' few.ptx # which has no copies ahead
        [ -z "${PTXAS-}" ] || [ -z "$("$TILECC" -arch=$target few.tile -o few.o 2>&1)" ]
    done
}
