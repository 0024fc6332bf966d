#!/usr/bin/env bats
# --schedules: which instances there are, what fixes them, what is said.  What the choice is worth: schedules_test.c.

setup() { cd "$BATS_TEST_TMPDIR" || return 1; }

matmul="$SRCDIR/examples/matmul.tile"
only='matmul<bf16, bf16>'

# The instances as --emit=tir has them, without what tells their number.
instances() { "$TILECC" -arch="${1-sm_90a}" --emit=tir -o - "${@:2}" | grep -o '^kernel @[^(]*'; }
count() { instances "$@" | wc -l; }
# The names of schedules that the remark gives.
sets() { "$TILECC" -arch=sm_90a --emit=tir -o - -Rpass=schedules "$@" 2>&1 >tir | grep 'remark: schedules:'; }

@test "three schedules of each instance, in the order of the facts" {
    [ "$(count sm_90a --schedules=1 --spec "$only" "$matmul")" = 11 ]
    [ "$(count sm_90a --schedules=3 --spec "$only" "$matmul")" = 26 ] # less aligned ones have two
    mkdir ptx
    "$TILECC" -arch=sm_90a --schedules=3 --spec "$only aligned" -S -o ptx "$matmul"
    [ "$(find ptx -name '*.ptx' | wc -l)" = 12 ]
    [ "$(cksum ptx/*.ptx | cut -d' ' -f1 | sort -u | wc -l)" = 12 ]
    "$TILECC" -arch=sm_90a -O0 --schedules=3 --spec "$only aligned" -S -o - "$matmul" >o0
    [ "$(grep -c '^\.visible \.entry\|^\.entry' o0)" = 12 ]
}

@test "without the option there are as many as with 8, one schedule is a part of them, and no choice leaves it alone" {
    for file in matmul attention softmax; do
        "$TILECC" -arch=sm_80,sm_90a --emit=tir -o - "$SRCDIR/examples/$file.tile" >usual
        "$TILECC" -arch=sm_80,sm_90a --schedules=8 --emit=tir -o - "$SRCDIR/examples/$file.tile" >eight
        cmp usual eight
    done
    [ "$(count sm_90a "$matmul")" -gt $((2 * $(count sm_90a --schedules=1 "$matmul"))) ]
    for words in "$SRCDIR/examples/softmax.tile" "-DBM=128 -DBN=256 -DBK=64 -Dsplit_k=1 -Dcluster=1 $matmul" "--reproducible $matmul"; do
        "$TILECC" -arch=sm_90a --schedules=1 --emit=tir -o - $words >one
        "$TILECC" -arch=sm_90a --schedules=4 --emit=tir -o - $words >four
        cmp one four
    done
    [ "$(count sm_90a --schedules=4 --spec 'matmul<bf16, bf16>[BM=64]' "$matmul")" = 11 ]
    [ "$(count cpu --schedules=4 "$matmul")" = "$(count cpu --schedules=1 "$matmul")" ]
}

@test "what is fixed stays, and the rest is chosen" {
    sets --schedules=4 -DBN=128 --spec "$only" "$matmul" >said
    ! grep -E '[ ,]BN=' said || false
    grep -F 'BM=64' said
    sets --schedules=4 -Dsplit_k=1 --spec "$only" "$matmul" >said
    ! grep -F 'split_k' said || false
    cat >k.tile <<'E'
kernel k(x: in f32[M, N], y: out f32[M]) grid(i: cdiv(M, BM))
    tune(BM: {8, 64} = 8, BN: {64, 256} = 64, BM*BN <= 4096)
    on(sm_90a, BM = 8)
{
    var total = f32[BM](0);
    for j in 0..N step BN
        total += sum(x[i*BM +: BM, j +: BN], axis = 1);
    y[i*BM +: BM] = total;
}
E
    sets --schedules=4 k.tile >said
    grep -F 'of 2 candidates' said
}

@test "the same command gives the same" {
    for i in 1 2; do "$TILECC" -arch=sm_80,sm_90a --schedules=4 --emit=tir -o - "$matmul" >"tir$i"; done
    cmp tir1 tir2
}

@test "what an object and the remark say" {
    "$TILECC" -arch=sm_90a --schedules=2 --spec "$only a.stride[1]=1 b.stride[1]=1 aligned" -S -o - "$matmul" >/dev/null
    sets --schedules=2 --spec "$only" "$matmul" >said
    grep -E '2 of 144 candidates: the default \([0-9.]+ % lost alone\), BM=32,BN=64,BK=128,stages=8 \([0-9.]+ % lost with it\)' said
    grep -E 'all extents 512: [0-9.]+, [0-9.]+ us' said
    sets --schedules=4 "$SRCDIR/examples/attention.tile" >said
    grep -E 'of 9 candidates: the default \([0-9.]+ % lost alone\), BM=64' said
}

@test "turns that extents do not tell leave the default alone, and kernels without loops have a choice" {
    cat >k.tile <<'E'
kernel k(x: in f32[M, N], n: in i32[M], y: out f32[M]) grid(i: cdiv(M, BM)) tune(BM: {1, 2, 16} = 16, BN: {64, 1024} = 64)
{
    var total = f32[BM](0);
    var j = 0;
    while (j < n[i]) {
        total += sum(x[i*BM +: BM, j +: BN], axis = 1);
        j += BN;
    }
    for k in 0..n[i] step BN
        total += sum(x[i*BM +: BM, k +: BN], axis = 1);
    y[i*BM +: BM] = total;
}
kernel squares(x: in f32[M, N], y: out f32[M]) grid(i: cdiv(M, BM)) tune(BM: {1, 16} = 16, BN: {64, 1024} = 64)
{
    var total = f32[BM](0);
    var end = N;
    static for s in 0..60 { end = (end * end) % 10007; }
    for k in 0..end step BN
        total += sum(x[i*BM +: BM, k +: BN], axis = 1);
    if (end > 3)
        y[i*BM +: BM] = total;
}
kernel copy(x: in f32[N], y: out f32[N]) grid(i: cdiv(N, B)) tune(B: {64, 256, 1024} = 1024)
{
    y[i*B +: B] = x[i*B +: B];
}
E
    sets --schedules=4 k.tile >said
    cat said
    [ "$(grep -c 'the default alone: how often a loop turns is not told by extents' said)" = 2 ]
    grep -F 'of 3 candidates' said
    [ "$(count sm_90a --schedules=4 --spec k k.tile)" = "$(count sm_90a --schedules=1 --spec k k.tile)" ]
}

@test "a candidate that cannot be built is none, and leaves no trace" {
    cat >k.tile <<'E'
kernel k(x: in f32[N], y: out f32[N]) grid(i: cdiv(N, B)) tune(B: {64, 128, 192} = 128)
{
    static_assert(B != 64, "not 64");
    y[i*B +: B] = x[i*B +: B];
}
E
    "$TILECC" -arch=sm_90a --schedules=4 --emit=tir -o - k.tile >tir 2>said
    [ ! -s said ]
    ! "$TILECC" -arch=sm_90a --schedules=4 -DB=64 --emit=tir -o - k.tile 2>said || false
    grep -F 'not 64' said
}

@test "what takes long to compile is left out without a warning, and the others are chosen among anew" {
    cat >k.tile <<'E'
kernel product(a: in bf16[M, K], b: in bf16[K, N], c: out bf16[M, N], f: i32)
    grid(m: cdiv(M, BM), n: cdiv(N, BN)) tune(BM: {64, 128} = 128, BN: {64, 128, 256} = 256, split_k: {1, 4})
{
    var acc = f32[BM, BN](0);
    for k in 0..K step 64
        acc += a[m*BM +: BM, k +: 64] @ b[k +: 64, n*BN +: BN];
    if (split_k == 4) {
        if (f > 0)
            static for i in 0..400 { acc = abs(acc - i); }
    }
    c[m*BM +: BM, n*BN +: BN] = bf16(acc);
}
E
    "$TILECC" -arch=compute_90a --schedules=4 -c -o k.o k.tile 2>said
    ! grep -F warning said || false
    "$TILECC" info k.o >all
    grep -F '0: product[BM=128,BN=256] sm_90a aligned; when the modelled time of the default is least' all
    grep -F '1: product[BM=64,BN=64] sm_90a aligned; when the modelled time of BM=64,BN=64 is least' all
    grep -x ' *2: product.BM=64,BN=256. sm_90a aligned' all
    "$TILECC" -arch=compute_90a --schedules=4 -Rpass=schedules -c -o k.o k.tile 2>said
    grep -F 'schedules: 4 of 12 candidates' said
    grep -F 'schedules: BM=64,BN=64,split_k=4 is left out: compiling it takes long' said
    "$TILECC" -arch=compute_90a -Dsplit_k=4 --schedules=4 -c -o k.o k.tile 2>said
    grep -F Wlong-code said
}

@test "what keeps tiles in local memory, where the default does not, is left out without a warning" {
    "$TILECC" -arch=compute_90a --schedules=3 --spec 'linear_attention<bf16>[D=128]' -Rpass=schedules -c -o k.o "$SRCDIR/examples/sequence/linear_attention.tile" 2>said
    cat said
    grep -E 'schedules: BE=128 is left out: a thread is short of [0-9]+ registers for tiles, and of none by the default' said
    ! grep -F warning said || false
    "$TILECC" info k.o >all
    grep -F 'BE=32' all
    ! grep -F 'BE=128' all || false
}

@test "many keys have fewer schedules each, as a wrapper knows so many conditions" {
    for most in 13 24 25 48 49; do
        keys=$(seq -s ', ' "$most")
        cat >k.tile <<E
kernel k<D: {$keys}>(x: in f32[M, N], g: in f32[D], y: out f32[M]) grid(i: cdiv(M, BM)) tune(BM: {1, 8, 64} = 64, BN: {16, 64} = 16)
{
    var total = f32[BM](0);
    for j in 0..N step BN
        total += sum(x[i*BM +: BM, j +: BN], axis = 1);
    y[i*BM +: BM] = total * D;
}
E
        echo "$most $(count sm_90a -w --schedules=4 k.tile)"
    done >counts
    # 48 beside the defaults at most: of 13 keys two where views are aligned and one else, of 25 one and none
    printf '%s\n' '13 65' '24 96' '25 75' '48 96' '49 98' | diff - counts
}

@test "loops of as many turns are counted once in the condition of a schedule" {
    for count in 1 8; do
        {
            echo 'kernel k(x: in f32[M, N], y: out f32[M]) grid(i: cdiv(M, BM)) tune(BM: {1, 8, 64} = 64, BN: {16, 64} = 16)'
            echo '{ var acc = f32[BM](0);'
            for ((i = 0; i < count; i++)); do
                echo 'for t in 0..N step BN { acc += sum(x[i*BM +: BM, t +: BN], axis = 1); }'
                echo 'for t in 0..M step BN { acc += sum(x[i*BM +: BM, t +: BN], axis = 1); }'
            done
            echo 'y[i*BM +: BM] = acc; }'
        } >k.tile
        "$TILECC" -arch=compute_90 -O0 --schedules=2 -c -o k.o k.tile
        "$TILECC" info k.o | sed -n 's/^kernel.*: \([0-9]*\) bytes of host code/\1/p'
    done >bytes
    { read -r one && read -r many; } <bytes
    [ "$many" -lt $((one + 100)) ]
}
