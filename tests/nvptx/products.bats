#!/usr/bin/env bats
# What the code of the examples' products must look like on sm_80 and sm_90a, without a GPU: nothing that ptxas
# complains of, no spills, and in the loops only what belongs there.

setup() {
    [ -n "${PTXAS-}" ] || skip "no ptxas"
    cd "$BATS_TEST_TMPDIR" || return 1
    examples=$SRCDIR/examples
    rewritten=$SRCDIR/tests/exec/rewritten.tile
}

# texts ARCH SPEC FILE: PTX of every instance with the default schedule, NAME.NUMBER.ARCH.ptx.  Made once for all tests here;
# SPEC may be empty, for all kernels.
texts() {
    local made
    made=$BATS_FILE_TMPDIR/$(printf '%s\n' "$@" | cksum | tr ' ' -)
    rm -f -- ./*.ptx
    if [ ! -d "$made" ]; then
        "$TILECC" -arch="$1" --schedules=1 ${2:+--spec "$2"} --emit=ptx "$3" || return 1
        mkdir "$made"
        cp -- ./*.ptx "$made"
        return
    fi
    cp -- "$made"/*.ptx .
}

# clean ARCH TEXT: assembled to out.cubin; ptxas finds no fault and no register lives in memory.
clean() {
    "$PTXAS" -v -arch="$1" "$2" -o out.cubin >log 2>&1 || { cat log; return 1; }
    if grep -Ei 'warning|serialized|C75[0-9][0-9]|[1-9][0-9]* bytes spill' log; then
        echo "$2"
        return 1
    fi
}

# hot_loops: of out.cubin, in the files loop.1, loop.2 …; their number is $loops.
hot_loops() {
    "$NVDISASM" -c out.cubin >sass
    rm -f loop.*
    awk -f "$SRCDIR/tests/nvptx/support/loops.awk" sass | awk '{ file = "loop." $1; sub(/^[0-9]+ /, ""); print >file }'
    loops=$(find . -name 'loop.*' | wc -l)
    [ "$loops" -gt 0 ]
}

# counts FILE PATTERN: how many instructions of the file are of this kind.
counts() { grep -cE "(^|[ @])$2" "$1" || true; }

# nothing FILE KIND…: none of these instructions is in the file.
nothing() {
    local file=$1 kind
    shift
    for kind; do
        if grep -E "(^| )$kind" "$file"; then
            echo "$kind in $file"
            return 1
        fi
    done
}

@test "matmul on sm_90a: one producer, wgmma from shared memory, nothing else in the loop" {
    for type in bf16 f16; do
        texts sm_90a "matmul<$type, $type>" "$examples/matmul.tile"
        for form in 0 1; do # the second factor by rows and by columns
            text=matmul_${type}_$type.$form.sm_90a.ptx
            grep -q 'cp\.async\.bulk\.tensor' "$text"
            clean sm_90a "$text"
            [ -n "${NVDISASM-}" ] || continue
            hot_loops
            [ "$loops" -eq 1 ]
            [ "$(counts loop.1 'HGMMA\.64x256x16\.F32')" -eq 4 ]
            [ "$(counts loop.1 WARPGROUP\\.ARRIVE)" -eq 1 ]
            [ "$(counts loop.1 SYNCS\\.PHASECHK)" -eq 1 ]
            [ "$(counts loop.1 SYNCS\\.ARRIVE)" -eq 1 ]
            [ "$(counts loop.1 UTMALDG)" -eq 0 ]
            [ "$(wc -l <loop.1)" -lt 80 ]
            nothing loop.1 R2UR LDL STL LDG STG LDS STS LDSM BAR
            [ "$(grep -c USETMAXREG sass)" -eq 2 ]
            grep -q 'STSM\.16.*\.4' sass
            grep -q UTMASTG sass
            grep -q UTMALDG sass
            # behind the loop each element of a thread is stored once more, by itself: where the result has no map
            [ "$(counts sass 'STG\.E\.U16')" -eq 128 ]
            nothing sass 'STG\.E ' 'STS '
        done
    done
    [ -n "${NVDISASM-}" ] || skip "the text is right; no nvdisasm to look at machine code"
}

@test "attention on sm_90a: both products by wgmma, probabilities in registers" {
    for columns in 64 128; do
        for causal in false true; do
            texts sm_90a "attention<bf16>[D=$columns,CAUSAL=$causal]" "$examples/attention.tile"
            clean sm_90a attention_bf16.1.sm_90a.ptx # of any alignment
            clean sm_90a attention_bf16.0.sm_90a.ptx
            [ -n "${NVDISASM-}" ] || continue
            hot_loops
            complete=0
            for loop in loop.*; do # scores: 64 x 128 of k columns; output: 64 x columns of k 128, A from registers
                [ "$(counts "$loop" 'HGMMA\.64x128x16\.F32\.BF16 R[0-9]+, gdesc')" -eq $((columns / 16)) ] || continue
                [ "$(counts "$loop" "HGMMA\\.64x${columns}x16\\.F32\\.BF16 R[0-9]+, R")" -eq 8 ] || continue
                complete=$((complete + 1))
                [ "$(counts "$loop" MUFU\\.EX2)" -ge 64 ]
                nothing "$loop" R2UR LDL STL LDG STG LDS STS
            done
            [ "$complete" -ge 1 ]
            [ "$(grep -c USETMAXREG sass)" -eq 2 ]
        done
    done
    [ -n "${NVDISASM-}" ] || skip "the text is right; no nvdisasm to look at machine code"
}

@test "attention on sm_90a with 192 rows over three warpgroups" {
    for causal in false true; do
        for block in 64 128; do
            texts sm_90a "attention<bf16>[D=128,CAUSAL=$causal,BM=192,BN=$block]" "$examples/attention.tile"
            grep -q 'maxntid 512' attention_bf16.0.sm_90a.ptx # and a producer
            clean sm_90a attention_bf16.0.sm_90a.ptx
            [ -n "${NVDISASM-}" ] || continue
            hot_loops
            complete=0
            for loop in loop.*; do
                [ "$(counts "$loop" "HGMMA\\.64x${block}x16\\.F32\\.BF16 R[0-9]+, gdesc")" -eq 8 ] || continue
                [ "$(counts "$loop" 'HGMMA\.64x128x16\.F32\.BF16 R[0-9]+, R')" -eq $((block / 16)) ] || continue
                complete=$((complete + 1))
                nothing "$loop" LDL STL LDG STG LDS STS
            done
            [ "$complete" -ge 1 ]
        done
    done
}

@test "several outputs of one accumulator" {
    texts sm_90a extra "$rewritten"
    clean sm_90a rewritten_extra.0.sm_90a.ptx
}

@test "a long function behind a product passes through registers, in a loop" {
    for kernel in gelu_of silu_of gated kept; do
        texts sm_80,sm_90a "$kernel" "$SRCDIR/tests/nvptx/epilogues.tile"
        for arch in sm_80 sm_90a; do
            text=epilogues_$kernel.0.$arch.ptx
            ! grep -n '\.local' "$text" || { echo "$text: local memory"; return 1; }
            clean "$arch" "$text"
            [ "$(wc -l <"$text")" -lt 8000 ] || { echo "$text: written out"; return 1; }
        done
        grep -q ' 0 bytes stack frame' log # of sm_90a
    done
    # of any alignment, too, where the accumulator is all the registers; and with four warps of mma.sync
    texts sm_90a gelu_of "$SRCDIR/tests/nvptx/epilogues.tile"
    clean sm_90a epilogues_gelu_of.1.sm_90a.ptx
    texts sm_80 'matmul<bf16, bf16>' "$examples/matmul.tile"
    clean sm_80 matmul_bf16_bf16.0.sm_80.ptx
}

# What an instance costs to compile is what its text holds: each function once for the tile, or once for a part of it.
@test "the text of an instance of matmul stays short" {
    texts sm_80,sm_90a 'matmul<bf16, bf16>' "$examples/matmul.tile"
    for text in matmul_*.sm_80.ptx matmul_*.sm_90a.ptx; do
        most=4400
        # by TMA, whose stores have a way by threads beside it: 128 elements, eight instructions each
        case $text in *.[0-3].sm_90a.ptx) most=6600 ;; esac
        count=$(grep -cE '^[[:space:]]+(@!?%p[0-9]+ )?[a-z]' "$text")
        [ "$count" -gt 2000 ] && [ "$count" -lt "$most" ] || { echo "$text: $count instructions"; return 1; }
    done
}

@test "the text of an instance of attention stays short: products and single elements come several at a time" {
    # LLVM's time goes by calls: 512 products would be 512 texts, 320 loads 320 texts
    texts sm_80 'attention<bf16>[D=128]' "$examples/attention.tile"
    for text in attention_bf16.*.sm_80.ptx; do
        [ "$(grep -c mma.sync "$text")" -eq 512 ]
        count=$(grep -cE '^[[:space:]]+(@!?%p[0-9]+ )?[a-z]' "$text")
        [ "$count" -gt 2000 ] && [ "$count" -lt 5000 ] || { echo "$text: $count instructions"; return 1; }
    done
    "$TILECC" -arch=sm_80 -w --spec 'attention<bf16>[D=128]' --emit=llvm "$examples/attention.tile"
    for text in attention_bf16.*.ll; do
        inline=$(grep -c ' asm ' "$text")
        [ "$inline" -gt 100 ] && [ "$inline" -lt 700 ] || { echo "$text: $inline texts"; return 1; }
    done
}

@test "sm_80: mma.sync, fragments by ldmatrix, 128-bit copies ahead" {
    [ -n "${NVDISASM-}" ] || skip "no nvdisasm"
    for type in bf16 f16; do
        texts sm_80 "matmul<$type, $type>" "$examples/matmul.tile"
        clean sm_80 "matmul_${type}_$type.0.sm_80.ptx"
        hot_loops
        for loop in loop.*; do # 64 x 64 a warp, 64 of k; each fragment read once
            [ "$(counts "$loop" HMMA\\.16816)" -eq 128 ]
            [ "$(counts "$loop" LDSM)" -eq "$(counts "$loop" 'LDSM\.16\.M.*\.4')" ]
            [ "$(counts "$loop" LDSM)" -eq 32 ]
            [ "$(counts "$loop" LDGSTS)" -eq "$(counts "$loop" "LDGSTS\\.E\\.BYPASS\\.(LTC[0-9]*B\\.)?128")" ]
            nothing "$loop" LDL STL 'LDG\.' STG 'STS'
        done
    done
    for columns in 64 128; do
        for causal in false true; do
            texts sm_80 "attention<bf16>[D=$columns,CAUSAL=$causal]" "$examples/attention.tile"
            clean sm_80 attention_bf16.0.sm_80.ptx
            hot_loops
            for loop in loop.*; do
                [ "$(counts "$loop" HMMA\\.16816)" -eq $((columns * 2)) ]
                [ "$(counts "$loop" LDSM)" -eq "$(counts "$loop" 'LDSM\.16\.M.*\.4')" ]
                [ "$(counts "$loop" LDGSTS)" -eq "$(counts "$loop" "LDGSTS\\.E\\.BYPASS\\.(LTC[0-9]*B\\.)?128")" ]
                nothing "$loop" LDL STL 'LDG\.' STG 'STS'
            done
        done
    done
}

@test "sm_80: loops in turn, side by side and around each other keep what they compute in registers" {
    for kernel in sequence nested added; do
        texts sm_80 "$kernel" "$rewritten"
        clean sm_80 "rewritten_$kernel.0.sm_80.ptx"
    done
    texts sm_80 beside "$SRCDIR/tests/nvptx/beside.tile"
    clean sm_80 beside.0.sm_80.ptx
    clean sm_80 beside.1.sm_80.ptx
}

@test "sm_80: two products an iteration run ahead as one does" {
    [ -n "${NVDISASM-}" ] || skip "no nvdisasm"
    for kernel in two shared; do
        "$TILECC" -arch=sm_80 -Rpass --spec "$kernel" --emit=ptx "$rewritten" 2>remarks
        remarked "$kernel" 'prefetch_copies: [34] copies of this loop run 2 .* in 3 slots'
        remarked "$kernel" 'prefetch_fragments: fragments of the next .* are read before this one ends'
        "$PTXAS" -arch=sm_80 "rewritten_$kernel.0.sm_80.ptx" -o out.cubin
        hot_loops
        nothing loop.1 LDL STL 'LDG\.' STG STS
        [ "$(counts loop.1 LDSM)" -eq "$(counts loop.1 'LDSM\.16\.M.*\.4')" ]
        case $kernel in # 64 x 64 a warp: 8 LDSM for 32 HMMA
        two) [ "$(counts loop.1 HMMA\\.16816)" -eq 256 ] && [ "$(counts loop.1 LDSM)" -eq 64 ] || false ;;
        *) [ "$(counts loop.1 HMMA\\.16816)" -eq 128 ] && [ "$(counts loop.1 LDSM)" -eq 32 ] || false ;;
        esac
    done
}

# What the remarks of -Rpass call the kernel's loop: KERNEL WORDS
remarked() {
    grep -qE -- "$2" remarks || { echo "$1: no remark '$2'"; cat remarks; return 1; }
}

@test "the same product in other words takes the same way" {
    texts sm_90a '' "$rewritten"
    for kernel in reversed whiled two shared swapped turned flat branched sequence nested; do
        text=rewritten_$kernel.0.sm_90a.ptx
        grep -q 'wgmma\.mma_async' "$text" || { echo "$kernel: no wgmma"; return 1; }
        grep -q 'setmaxnreg' "$text" || { echo "$kernel: no roles"; return 1; }
        grep -q 'cp\.async\.bulk\.tensor' "$text" || { echo "$kernel: no TMA"; return 1; }
        grep -q 'stmatrix' "$text" || { echo "$kernel: the store is not staged"; return 1; }
        case $kernel in two | shared | whiled | sequence) clean sm_90a "$text" ;; esac
    done
}

@test "8-bit factors along k go by wgmma, with sums that leave the tensor core after so many products where they have to" {
    texts sm_90a '' "$rewritten"
    for kernel in bytes eighths_f8e4m3 eighths_f8e5m2; do
        text=rewritten_$kernel.0.sm_90a.ptx
        grep -qE 'wgmma\.mma_async\.sync\.aligned\.m64n128k32\.(s32\.s8\.s8|f32\.e(4m3\.e4m3|5m2\.e5m2))' "$text"
        grep -q 'cp\.async\.bulk\.tensor' "$text" && grep -q 'setmaxnreg' "$text" || false
        clean sm_90a "$text"
    done
    cat >promoted.tile <<'TILE'
kernel promoted(a: in f8e4m3[M, K], b: in f8e4m3[N, K], y: out f32[M, N])
    tune(LEAST: {64, 128} = 128)
    grid(m: cdiv(M, 128), n: cdiv(N, 128))
{
    var s = f32[128, 128](0);
    for t in 0..K step 128 s = dot(a[m*128 +: 128, t +: 128], trans(b[n*128 +: 128, t +: 128]), s, promote = LEAST);
    y[m*128 +: 128, n*128 +: 128] = s;
}
TILE
    "$TILECC" -arch=sm_90a --emit=ptx promoted.tile
    clean sm_90a promoted.0.sm_90a.ptx
    [ "$(grep -c 'wgmma\.mma_async' promoted.0.sm_90a.ptx)" = 4 ] # none of which adds to the sum
    [ "$(grep -c 'add\.\(rn\.\)\?f32' promoted.0.sm_90a.ptx)" = 64 ]
    "$TILECC" -w -arch=sm_90a -D LEAST=64 --emit=ptx promoted.tile # twice in a product: as f16, whose sums are exact
    run grep wgmma promoted.0.sm_90a.ptx
    [ "$status" -eq 1 ]
}

@test "or a remark with its line says why not" {
    "$TILECC" -arch=sm_90a -Rpass --spec 'added' --emit=ptx "$rewritten" 2>remarks
    remarked added 'rewritten\.tile:143:5: remark: specialise: this store does not go through shared memory: something'
    "$TILECC" -arch=sm_90a -Rpass --spec 'helped' --emit=ptx "$rewritten" 2>remarks
    remarked helped 'rewritten\.tile:164:21: remark: buffer_operands: this factor is read through registers: .*masked'
    for arch in sm_80 sm_90a; do # the tile is the author's
        "$TILECC" -arch="$arch" -Rpass --spec nested --emit=ptx "$rewritten" 2>remarks
        remarked nested 'rewritten\.tile:131:20: remark: choose_product: sums of 128 x 128 read 33 % more .* than 128 x 256'
    done
    "$TILECC" -arch=sm_80 -Rpass --spec whiled --emit=ptx "$rewritten" 2>remarks
    run grep 'choose_product: sums of' remarks
    [ "$status" -eq 1 ]
    # what reads its own output must not leave its store to TMA
    run grep -q 'cp\.async\.bulk\.tensor.*global\.shared' rewritten_added.0.sm_90a.ptx
    [ "$status" -eq 1 ]
}

@test "every form compiles for every kind of target" {
    for arch in sm_75 sm_80 sm_90 sm_90a; do
        texts "$arch" '' "$rewritten"
        [ "$(find . -name "*.0.$arch.ptx" | wc -l)" -eq 21 ]
    done
    for shape in BM=64,BN=64,BK=64 BM=64,BN=160,BK=128 BM=192,BN=96,BK=64 BM=192,BN=160,BK=32 BM=256,BN=64,BK=128; do
        texts sm_80,sm_90a "batch[$shape]" "$rewritten"
        [ -f rewritten_batch.0.sm_80.ptx ]
        grep -q 'wgmma\.mma_async' rewritten_batch.0.sm_90a.ptx
        grep -q 'setmaxnreg' rewritten_batch.0.sm_90a.ptx
    done
}

@test "a part of a view, or a turn of it, is brought by TMA as the view itself is" {
    cat >views.tile <<'END'
fn block(a: in bf16[M, K], b: in bf16[K, N], m: i64, n: i64) -> f32[128, 128]
{
    var s = f32[128, 128](0);
    for k in 0..K step 64 s += a[m*128 +: 128, k +: 64] @ b[k +: 64, n*128 +: 128];
    return s;
}
kernel of_many(a: in bf16[Z, M, K], b: in bf16[Z, K, N], o: out f32[Z, M, N]) grid(m: cdiv(M, 128), n: cdiv(N, 128), z: Z)
{
    o[z, m*128 +: 128, n*128 +: 128] = block(a[z, .., ..], b[z, .., ..], m, n);
}
kernel turned(a: in bf16[K, M], b: in bf16[K, N], o: out f32[M, N]) grid(m: cdiv(M, 128), n: cdiv(N, 128))
{
    o[m*128 +: 128, n*128 +: 128] = block(trans(a), b, m, n);
}
kernel both(a: in bf16[Z, K, M], b: in bf16[K, N], o: out f32[Z, M, N]) grid(m: cdiv(M, 128), n: cdiv(N, 128), z: Z)
{
    let at = trans(a[z, .., ..]);
    o[z, m*128 +: 128, n*128 +: 128] = block(at, b, m, n);
}
END
    "$TILECC" -arch=sm_90a --emit=ptx views.tile
    for kernel in of_many turned both; do
        grep -q 'cp\.async\.bulk\.tensor.*shared.*global' "views_$kernel.0.sm_90a.ptx"
        grep -q 'setmaxnreg' "views_$kernel.0.sm_90a.ptx"
        grep -q 'wgmma\.mma_async' "views_$kernel.0.sm_90a.ptx"
        clean sm_90a "views_$kernel.0.sm_90a.ptx"
    done
}

@test "a sum that products are taken from is kept as one that they are added to, or a remark says why not" {
    cat >less.tile <<'END'
kernel less(a: in bf16[M, K], b: in bf16[K, N], o: out f32[M, N]) grid(m: cdiv(M, 128), n: cdiv(N, 256)) {
    var s = f32[128, 256](0);
    for k in 0..K step 64 s -= a[m*128 +: 128, k +: 64] @ b[k +: 64, n*256 +: 256];
    o[m*128 +: 128, n*256 +: 256] = s;
}
kernel scaled(a: in bf16[M, K], b: in bf16[K, N], o: out f32[M, N]) grid(m: cdiv(M, 128), n: cdiv(N, 256)) {
    var s = f32[128, 256](0);
    for k in 0..K step 64 s += 0.5 * (a[m*128 +: 128, k +: 64] @ b[k +: 64, n*256 +: 256]);
    o[m*128 +: 128, n*256 +: 256] = s;
}
END
    "$TILECC" -arch=sm_80,sm_90a -Werror=spills --spec less -o less.o less.tile
    run "$TILECC" -arch=sm_90a -w -Rpass=choose_product --spec scaled -o scaled.o less.tile
    [[ $output == *"less.tile:8:38: remark: choose_product: what this product gives is changed before it is added up: it and the sum both take registers"* ]]
    sed -i '8s/.*/    for k in 0..K step 64 { s += a[m*128 +: 128, k +: 64] @ b[k +: 64, n*256 +: 256]; s -= a[m*128 +: 128, k + 64 +: 64] @ b[k +: 64, n*256 +: 256]; }/' less.tile
    run "$TILECC" -arch=sm_90a -w -Rpass=choose_product --spec scaled -o scaled.o less.tile
    [[ $output == *"less.tile:8:92: remark: choose_product: what this product gives is changed before it is added up: it and the sum both take registers"* ]]
}

@test "a difference of products takes the sum that it is added to: re += x @ u - y @ v in registers" {
    cat >complex.tile <<'END'
kernel both(ar: in f16[M, K], ai: in f16[M, K], br: in f16[K, N], bi: in f16[K, N], cr: out f32[M, N], ci: out f32[M, N])
    grid(m: cdiv(M, 64), n: cdiv(N, 128))
{
    var re = f32[64, 128](0); var im = f32[64, 128](0);
    for t in 0..K step 32 {
        let x = ar[m*64 +: 64, t +: 32]; let y = ai[m*64 +: 64, t +: 32];
        let u = br[t +: 32, n*128 +: 128]; let v = bi[t +: 32, n*128 +: 128];
        re += x @ u - y @ v;
        im += x @ v + y @ u;
    }
    cr[m*64 +: 64, n*128 +: 128] = re; ci[m*64 +: 64, n*128 +: 128] = im;
}
END
    "$TILECC" -arch=sm_80,sm_90a -Wno-spills -o complex.o complex.tile
    [ "$("$TILECC" info complex.o | grep 'both.* aligned: ' | grep -c ', no spills, ')" = 2 ]
}

@test "tiles that live beside a product count when warps are chosen: scaled before it is added up, looked at in each iteration" {
    cat >beside.tile <<'END'
kernel scaled<T: {f16, f8e4m3}>(a: in T[M, K], b: in T[N, K], sa: in f32[G, M], sb: in f32[G], r: out bf16[M, N])
    requires(K == 64*G) grid(m: cdiv(M, 128), n: cdiv(N, 128)) tune(warps)
{
    var s = f32[128, 128](0);
    for g in 0..G {
        let p = a[m*128 +: 128, g*64 +: 64] @ trans(b[n*128 +: 128, g*64 +: 64]);
        s += p * (sa[g, m*128 +: 128] * sb[g])[:, None];
    }
    r[m*128 +: 128, n*128 +: 128] = bf16(s);
}
kernel exponents(x: in bf16[M, 128], w: in bf16[V, 128], y: out f32[M]) grid(m: cdiv(M, 128)) {
    var most = f32[128](-1e30); var all = f32[128](0); var odd = f32[128](0);
    for j in 0..V step 128 {
        let cols = j + iota(128);
        let z = where((cols < V)[None, :], x[m*128 +: 128, :] @ trans(w[j +: 128, :]), -1e30);
        let next = max(most, max(z, axis = 1));
        all = all*exp(most - next) + sum(exp(z - next[:, None]), axis = 1);
        odd += sum(where((cols % 2 == 1)[None, :], z, 0.0), axis = 1);
        most = next;
    }
    y[m*128 +: 128] = most + log(all) - odd;
}
END
    "$TILECC" -arch=sm_90a -Werror=spills --spec 'scaled<f8e4m3>' -o beside.o beside.tile
    "$TILECC" info beside.o | grep 'scaled.* aligned: ' | grep -q ' 2 consumers'
    # without a producer it pays later, and what is told stays
    "$TILECC" -arch=sm_80 -Wno-spills --spec 'scaled<f16>' --spec exponents -o beside.o beside.tile
    "$TILECC" info beside.o >four
    [ "$(grep ' aligned: ' four | grep -c ' 4 warps')" = 2 ]
    "$TILECC" -arch=sm_80 -Wno-spills --spec 'scaled<f16>' -D warps=8 -o beside.o beside.tile
    "$TILECC" info beside.o | grep 'scaled.* aligned: ' | grep -q ' 8 warps'
}

@test "mma.sync of more sums than eight warps hold: three consumers where the rows go to them, not four with 96 registers" {
    cat >bytes.tile <<'TILE'
kernel bytes(a: in i8[K, M], b: in i8[N, K], y: out i32[M, N])
    grid(m: cdiv(M, 192), n: cdiv(N, 256))
{
    var s = i32[192, 256](0);
    for t in 0..K step 64 s += trans(a[t +: 64, m*192 +: 192]) @ trans(b[n*256 +: 256, t +: 64]);
    y[m*192 +: 192, n*256 +: 256] = s;
}
TILE
    "$TILECC" -arch=sm_90a -Wno-spills -o bytes.o bytes.tile
    "$TILECC" info bytes.o | grep 'bytes.* aligned: ' | grep -E ', (no spills|spills: 16 bytes stored, 0 loaded),' |
        grep -q ' 3 consumers'
}

@test "factors neither of whose extents is a power of two: one wgmma for each 16 of k, one box for each panel" {
    local n
    for n in 48 96 176; do
        cat >odd.tile <<TILE
kernel odd(a: in bf16[M, K], b: in bf16[N, K], c: out f32[M, N])
    grid(i: cdiv(M, 64), j: cdiv(N, $n))
{
    var s = f32[64, $n](0);
    for k in 0..K step 80
        s += a[i*64 +: 64, k +: 80] @ trans(b[j*$n +: $n, k +: 80]);
    c[i*64 +: 64, j*$n +: $n] = s;
}
TILE
        rm -f -- ./*.ptx
        "$TILECC" -w -arch=sm_90a --plan='odd.tile:5: programs(1)' --emit=ptx odd.tile # two consumers would have the text twice
        text=odd.0.sm_90a.ptx
        [ "$(grep -c 'wgmma\.mma_async' "$text")" -eq 5 ]
        [ "$(grep -c "m64n${n}k16" "$text")" -eq 5 ]
        [ "$(grep -c 'cp\.async\.bulk\.tensor.*shared::cluster' "$text")" -eq 10 ] # of 16 columns: as wide as the swizzle
    done
}

@test "factors that begin anywhere along their rows do not go by TMA, unless a clause says that it is at 16 bytes" {
    for clause in '' 'requires(from % 8 == 0)'; do
        cat >from.tile <<TILE
kernel from(a: in bf16[M, K], b: in bf16[N, K], c: out f32[M, N], from: i32) $clause
    grid(m: cdiv(M, 128), n: cdiv(N, 128))
{
    var s = f32[128, 128](0);
    for k in 0..K step 64 s += a[m*128 +: 128, from + k +: 64] @ trans(b[n*128 +: 128, from + k +: 64]);
    c[m*128 +: 128, n*128 +: 128] = s;
}
TILE
        "$TILECC" -arch=sm_90a -w -Rpass --emit=ptx -o - from.tile >from.ptx 2>remarks
        count=$(grep -c 'cp\.async\.bulk\.tensor.*shared::cluster' from.ptx || :)
        if [ -z "$clause" ]; then
            [ "$count" -eq 0 ] && [ "$(grep -c 'not known to be a multiple of 16 bytes' remarks)" -ge 2 ] || false
        else
            [ "$count" -eq 2 ]
        fi || { echo "$clause: $count"; cat remarks; return 1; }
    done
}

@test "a loop that stores to one place again and again does so by ordinary stores, one that moves on by TMA" {
    for place in 'n*64' 'j'; do
        cat >turns.tile <<TILE
kernel turns(a: in bf16[M, K], b: in bf16[K, N], c: out bf16[M, N]) grid(m: cdiv(M, 64), n: cdiv(N, 128))
{
    for j in 0..K step 64
        c[m*64 +: 64, $place +: 64] = bf16(a[m*64 +: 64, j +: 64] @ b[j +: 64, n*64 +: 64]);
}
TILE
        "$TILECC" -arch=sm_90a -w -Rpass --emit=ptx -o - turns.tile >turns.ptx 2>remarks
        stores=$(grep -c 'cp\.async\.bulk\.tensor.*global\.shared' turns.ptx || :)
        if [ "$place" = j ]; then [ "$stores" -gt 0 ]
        else [ "$stores" -eq 0 ] && grep -q 'iterations of a loop may store to the same place' remarks || false
        fi || { echo "$place: $stores"; cat remarks; return 1; }
    done
}
