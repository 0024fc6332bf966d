#!/usr/bin/env bats
# What the code of hot kernels must look like, without a GPU: wide accesses, no spills, nothing that ptxas complains of,
# and the same bytes wherever and whenever the source lies.

setup() {
    [ -n "${PTXAS-}" ] || skip "no ptxas"
    cd "$BATS_TEST_TMPDIR" || return 1
    examples=$SRCDIR/examples
    bench=$SRCDIR/tests/bench/memory.tile
}

# resources SPEC FILE: one line for each instance; the aligned one first.
resources() { "$TILECC" -v -arch=sm_90a --spec "$1" "$2" -o k.o 2>&1 | grep ' registers, '; }

no_spills() {
    local line
    line=$(resources "$1" "$2" | head -n 1)
    case $line in
    *" aligned: "*", no spills"*) ;;
    *) echo "$1: $line"; return 1 ;;
    esac
}

@test "row and elementwise kernels keep everything in registers" {
    for kernel in 'softmax<bf16>' 'layernorm<bf16>' 'rmsnorm<bf16>' 'rowsum<bf16>' 'softmax<f32>'; do
        for rows in 1024 4096 16384; do no_spills "${kernel}[B=$rows]" "$bench"; done
    done
    for kernel in 'softmax<bf16>' 'layernorm<bf16>'; do no_spills "${kernel}[B=65536]" "$bench"; done
    for kernel in 'saxpy<f32>' 'add<bf16>' 'gelu<bf16>' 'swiglu<bf16>'; do no_spills "$kernel" "$bench"; done
}

@test "a known alignment gives 128-bit accesses in PTX" {
    for kernel in 'saxpy<f32>' 'softmax<bf16>[B=4096]' 'layernorm<bf16>[B=4096]'; do
        rm -f -- *.ptx
        "$TILECC" -arch=sm_90a --spec "$kernel" --emit=ptx "$bench"
        first=$(ls -- *.0.sm_90a.ptx)
        grep -q 'ld\.global.*\.v4\.b32' "$first"
        grep -q 'st\.global.*\.v4\.b32' "$first"
    done
}

@test "and in machine code" {
    [ -n "${NVDISASM-}" ] || skip "no nvdisasm"
    "$TILECC" -arch=sm_90a --spec 'softmax<bf16>[B=4096]' --emit=cubin "$bench"
    "$NVDISASM" -c ./*.0.sm_90a.cubin >sass
    grep -q 'LDG\.E\.128' sass
    grep -q 'STG\.E\.128' sass
}

@test "an unknown alignment gives no wide access" {
    "$TILECC" -arch=sm_90a --spec 'softmax<bf16>[B=4096]' --emit=ptx "$bench"
    run grep -E 'global.*\.v[24]\.' -- *.1.sm_90a.ptx
    [ "$status" = 1 ]
}

@test "ptxas has nothing to say" {
    for kernel in 'saxpy<f32>' 'softmax<bf16>[B=4096]' 'gelu<bf16>'; do
        rm -f -- *.ptx
        "$TILECC" -arch=sm_90a --spec "$kernel" --emit=ptx "$bench"
        for text in *.ptx; do
            "$PTXAS" -v -arch=sm_90a "$text" -o out.cubin >log 2>&1
            if grep -Ei 'warning|serialized|C75[0-9][0-9]|[1-9][0-9]* bytes spill' log; then return 1; fi
        done
    done
}

@test "line information does not tell when or where the source was" {
    mkdir -p one "an other"
    for folder in one "an other"; do
        cp "$examples/saxpy.tile" "$folder/"
        touch -d "200$((${#folder} % 9))-01-01" "$folder/saxpy.tile"
        (cd "$folder" && "$TILECC" -lineinfo -arch=sm_80,sm_90a saxpy.tile -o k.o)
    done
    cmp one/k.o "an other/k.o"
    "$TILECC" -lineinfo -arch=sm_90a "$PWD/one/saxpy.tile" -o first.o
    touch one/saxpy.tile
    "$TILECC" -lineinfo -arch=sm_90a "$PWD/one/saxpy.tile" -o second.o
    cmp first.o second.o
    "$TILECC" -lineinfo -arch=sm_90a --emit=ptx one/saxpy.tile
    grep -q '\.loc' -- *.ptx
    run grep -E '\.target.*debug' -- *.ptx
    [ "$status" = 1 ]
}

@test "the widest sums of three consumers, and registers that are told: ptxas takes them, and no thread waits for more than there are" {
    cat >wide.tile <<'TILE'
kernel wide(a: in bf16[M, K], b: in bf16[K, N], c: out bf16[M, N])
    grid(m: cdiv(M, 192), n: cdiv(N, W))
    tune(W: {208, 240, 256}, maxnreg)
{
    var s = f32[192, W](0);
    for k in 0..K step 64 s += a[m*192 +: 192, k +: 64] @ b[k +: 64, n*W +: W];
    c[m*192 +: 192, n*W +: W] = bf16(s);
}
TILE
    for width in 208 240 256; do no_spills "wide[W=$width]" wide.tile; done
    for most in 64 128 255; do # 512 threads start with at most 128
        "$TILECC" -w -arch=sm_90a -D W=256 -D maxnreg=$most wide.tile -o k.o
        "$TILECC" -w -arch=sm_90a -D W=256 -D maxnreg=$most --emit=ptx wide.tile
        grep -q 'm64n[0-9]*k16' wide.0.sm_90a.ptx
        if [ "$most" = 255 ]; then grep -q 'setmaxnreg\.inc.* 160;' wide.0.sm_90a.ptx
        elif [ "$most" = 64 ]; then grep -q 'setmaxnreg\.inc.* 72;' wide.0.sm_90a.ptx # what the producer's gave back
        elif grep 'setmaxnreg\.inc' wide.0.sm_90a.ptx; then return 1; fi
    done
}

@test "slots that are no multiple of 1024 bytes: a ring takes what it pads, and fits" {
    cat >padded.tile <<'TILE'
kernel padded(a: in f16[M, K], b: in f16[N, K], c: out f32[M, N])
    grid(m: cdiv(M, 64), n: cdiv(N, 176))
{
    var s = f32[64, 176](0);
    for k in 0..K step 80 s += a[m*64 +: 64, k +: 80] @ trans(b[n*176 +: 176, k +: 80]);
    c[m*64 +: 64, n*176 +: 176] = s;
}
TILE
    no_spills padded padded.tile # 6 slots of 38400 bytes would take 230400, and 233472 as they lie
}
