#!/usr/bin/env bats
# What the text for GPUs must say where only a GPU could show that it does not: masks, barriers, fences, who of several threads
# acts, how wide offsets are.  No test compares whole texts: each looks for the few instructions that make its kernel right.

setup() {
    cd "$BATS_TEST_TMPDIR" || return 1
    cat >k.tile <<'END'
fn first(a: f32, b: f32) -> f32 { return a; }
kernel masked(x: in f32[N], y: inout f32[N]) grid(b: cdiv(N, 512)) {
    let i = b*512;
    let v = x[i +: 512];
    store(y[i +: 512], v, mask = v > 0.0);
}
kernel ragged(x: in f32[M, N], y: out f32[M, N]) grid(r: M) {
    for j in 0..N step 512 { y[r, j +: 512] = x[r, j +: 512] * 2.0; }
}
kernel column(x: in f32[M, N], y: out f32[M, N]) grid(r: cdiv(M, 64)) {
    y[r*64 +: 64, 0 +: 4] = x[r*64 +: 64, 0 +: 4] * 2.0;
}
kernel total(x: in f32[N], y: out f32[K]) grid(b: cdiv(N, 4096)) {
    y[b] = sum(x[b*4096 +: 4096]);
}
kernel lowest(x: in f32[N], y: out f32[K]) grid(b: cdiv(N, 64)) {
    y[b] = min(x[b*64 +: 64], nan = propagate);
}
kernel leftmost(x: in f32[N], y: out f32[K]) grid(b: cdiv(N, 32)) {
    y[b] = reduce(x[b*32 +: 32], first);
}
kernel unlock(l: inout i32[N]) grid(b: cdiv(N, 1)) {
    atomic_store(l[b], 0, order = release);
}
kernel count(c: inout i32[N], x: in i32[N]) grid(b: cdiv(N, 8)) {
    atomic_add(c[b*8 +: 8], x[b*8 +: 8]);
}
END
}

# The text of a kernel's instance, 0 the aligned one, without comments, one instruction a line.
text() { # kernel, instance
    "$TILECC" -arch=sm_80 --spec "$1" --emit=ptx k.tile || return 1
    grep -vE '^[[:space:]]*//' "k_$1.$2.sm_80.ptx" | sed 's/^[[:space:]]*//' >"$1"
}

# The line of the first match, or fails.
line() { grep -nE -m 1 -e "$1" "$2" | cut -d: -f1 | grep .; }

@test "a mask reaches the predicate of each store" {
    text masked 1
    [ "$(grep -c 'setp\.gt\.f32' masked)" -ge 4 ]
    for predicate in $(sed -n 's/^@\(%p[0-9]*\) st\.global.*/\1/p' masked); do
        grep -qE "^and\.pred +$predicate, " <(tr '\t' ' ' <masked)
    done
    [ "$(grep -c '^st\.global' masked)" = 0 ]
}

@test "a vector that straddles the end of its row is taken element by element" {
    text ragged 0
    grep -q 'st\.global\.v4\.b32' ragged
    [ "$(grep -cE 'st\.global\.b32' ragged)" -ge 4 ]
    [ "$(grep -cE 'ld\.global(\.nc)?\.b32' ragged)" -ge 4 ]
}

@test "strides multiply in 64 bits" {
    text column 1
    grep -qE 'mul\.lo\.s64|mad\.lo\.s64' column
    cut=$(grep -cE 'and\.b64.*4294967295' column || :) # a product cut to its low half
    [ "$cut" = 0 ]
}

@test "warps meet between writing and reading their parts of a sum" {
    text total 1
    last_write=$(grep -n 'st\.shared' total | tail -n 1 | cut -d: -f1)
    meeting=$(sed "1,${last_write}d" total | grep -nm 1 'bar\.sync' | cut -d: -f1)
    reading=$(sed "1,${last_write}d" total | grep -nm 1 'ld\.shared' | cut -d: -f1)
    [ -n "$meeting" ] && [ -n "$reading" ] && [ "$meeting" -lt "$reading" ] || false
}

@test "a minimum that propagates NaN says so at each step" {
    text lowest 1
    [ "$(grep -c 'min\.NaN\.f32' lowest)" -ge 5 ]
    [ "$(grep -c 'min\.f32' lowest)" = 0 ]
}

@test "a function that does not commute gets the lower lane as its left side" {
    text leftmost 1
    # lane & bit is not 0: what comes from the other lane is on the left
    tr '\t' ' ' <leftmost >spaces
    for step in 1 2 4 8 16; do
        bit=$(sed -n "s/^and\.b32 *\(%r[0-9]*\), %r[0-9]*, $step;.*/\1/p" spaces | head -n 1)
        test=$(grep -E "^setp\.[a-z]*\.[bsu]32 *%p[0-9]*, $bit, [0-9]*;" spaces | head -n 1)
        predicate=$(printf '%s' "$test" | sed 's/^[^%]*\(%p[0-9]*\),.*/\1/')
        case $test in *.eq.*", 0;" | *.ne.*", $step;") kind=clear ;; *.ne.*", 0;" | *.eq.*", $step;") kind=set ;; *) kind=$test ;; esac
        shuffled=$(grep -E "shfl\.sync\.bfly\.b32 .*, $step, " spaces | sed -n 's/^shfl\.sync\.bfly\.b32 *\(%r[0-9]*\).*/\1/p' | head -n 1)
        pick=$(grep -E "^selp\.[a-z]32 .*$predicate;" spaces | head -n 1)
        [ -n "$bit" ] && [ -n "$predicate" ] && [ -n "$shuffled" ] && [ -n "$pick" ] || false
        yes=$(printf '%s' "$pick" | sed 's/^[^,]*, *\([^,]*\),.*/\1/')
        no=$(printf '%s' "$pick" | sed 's/^[^,]*,[^,]*, *\([^,]*\),.*/\1/')
        case $kind in
        clear) [ "$no" = "$shuffled" ] || { echo "step $step: $kind $pick, $shuffled"; return 1; } ;;
        set) [ "$yes" = "$shuffled" ] || { echo "step $step: $kind $pick, $shuffled"; return 1; } ;;
        *) echo "$kind"; return 1 ;;
        esac
    done
}

@test "an atomic has the scope that it is given, and fences of that scope on the sides of its order" {
    for scope in block:cta gpu:gpu system:sys; do
        for order in relaxed:0:0 acquire:0:1 release:1:0 acq_rel:1:1; do
            IFS=: read -r word before behind <<<"$order"
            cat >k.tile <<END
kernel k(c: inout i32[N], y: out i32[M]) grid(b: cdiv(N, N)) {
    y[0] = atomic_add(c[0], 1, order = $word, scope = ${scope%:*});
}
END
            "$TILECC" -arch=sm_80 --emit=ptx k.tile
            # All threads have met before what the release tells, and none goes on before what the acquire learns.
            sed 's/^[[:space:]]*//; s/^@%p[0-9]* //' k.0.sm_80.ptx | grep -E '^(atom|fence|membar|bar\.sync|st\.)' |
                sed '/^st/,$d' >found
            {
                [ "$before" = 0 ] || printf 'bar.sync;\nfence.acq_rel.%s;\n' "${scope#*:}"
                echo atom
                [ "$behind" = 0 ] || printf 'fence.acq_rel.%s;\nbar.sync;\n' "${scope#*:}"
            } >wanted
            [ "$(grep -c "^atom[.a-z]*\.${scope#*:}\." found)" = 1 ] || { cat found; return 1; }
            sed 's/^atom.*/atom/; s/^bar\.sync.*/bar.sync;/; s/;.*/;/' found | diff - wanted
        done
    done
}

@test "a release stands behind a barrier and a fence" {
    text unlock 1
    barrier=$(line '^bar\.sync' unlock)
    fence=$(line '^fence\.acq_rel\.gpu' unlock)
    store=$(line 'st\.relaxed\.gpu' unlock)
    [ "$barrier" -lt "$fence" ]
    [ "$fence" -lt "$store" ]
}

@test "of the lanes that hold an element one counts it" {
    text count 1
    tr '\t' ' ' <count >spaces
    predicate=$(sed -n 's/^@\(%p[0-9]*\) atom.*/\1/p' spaces | head -n 1)
    [ -n "$predicate" ]
    lanes=$(sed -n 's/^and\.b32 *\(%r[0-9]*\), %r[0-9]*, 24;.*/\1/p' spaces | head -n 1) # 8 elements: lanes 8 to 31 have copies
    [ -n "$lanes" ]
    leader=$(sed -n "s/^setp\.eq\.s32 *\(%p[0-9]*\), $lanes, 0;.*/\1/p" spaces | head -n 1)
    [ -n "$leader" ]
    grep -qE "^and\.pred *$predicate, .*$leader" spaces
}

@test "of a warp one lane tells an mbarrier that it is through" {
    "$TILECC" -arch=sm_90a --spec 'matmul<bf16, bf16>' --emit=ptx "$SRCDIR/examples/matmul.tile"
    tr '\t' ' ' <matmul_bf16_bf16.0.sm_90a.ptx | sed 's/^ *//' >spaces
    grep 'mbarrier\.arrive' spaces | grep -v expect_tx >told
    [ -s told ]
    while read -r predicate rest; do
        case $predicate in @%p*) ;; *) echo "$predicate $rest"; return 1 ;; esac
        grep -qE "^setp\.eq\.s32 +${predicate#@}, %r[0-9]+, 0;" spaces
    done <told
}

# ordered FRONT INSIDE BEHIND LAST: a product with something in front of its loop, inside, behind it, and behind its store;
# tells which way TMA goes
ordered() {
    cat >ordered.tile <<END
kernel ordered(a: in bf16[M, K], b: in bf16[K, N], flag: inout i32[1], c: out bf16[M, N])
    grid(m: cdiv(M, 128), j: cdiv(N, 128))
{
    var sum0 = f32[128, 128](0);
    $1
    for k in 0..K step 64 {
        $2
        sum0 += a[m*128 +: 128, k +: 64] @ b[k +: 64, j*128 +: 128];
    }
    $3
    c[m*128 +: 128, j*128 +: 128] = bf16(sum0);
    $4
}
END
    "$TILECC" -arch=sm_90a --emit=ptx ordered.tile
    grep -q 'wgmma\.mma_async' ordered.0.sm_90a.ptx
    local ways=
    ! grep -q 'cp\.async\.bulk\.tensor.*shared::cluster\.global' ordered.0.sm_90a.ptx || ways=in
    ! grep -q 'cp\.async\.bulk\.tensor.*global\.shared::cta' ordered.0.sm_90a.ptx || ways="$ways out"
    [ "$ways" = "$5" ] || { echo "'$1' '$2' '$3' '$4': TMA goes '$ways', not '$5'"; return 1; }
}

@test "nothing is brought ahead of an acquire, nor stored by TMA in front of a release" {
    acquire='sum0 += f32(atomic_load(flag[0], order = acquire));'
    release='atomic_store(flag[0], 1, order = release);'
    both='sum0 += f32(atomic_add(flag[0], 1, order = acq_rel));'
    ordered '' '' '' '' 'in out'
    ordered 'atomic_add(flag[0], 1);' '' '' 'atomic_add(flag[0], 1);' 'in out' # relaxed: orders nothing
    ordered "$acquire" '' '' '' ''
    ordered '' "$acquire" '' '' ''
    ordered '' '' "$acquire" '' 'in out'
    ordered '' '' '' "$acquire" 'in out'
    ordered "$release" '' '' '' 'in out'
    ordered '' "$release" '' '' 'in out'
    ordered '' '' "$release" '' 'in out'
    ordered '' '' '' "$release" 'in'
    ordered '' '' "$both" '' 'in out'
    ordered "$both" '' '' '' ''
    ordered '' '' '' "if (m == 0) $both" 'in'
    # programs that wait for each other are left in the order in which they are started
    ordered '' '' 'while (atomic_load(flag[0], order = acquire) == 0) { }' '' ''
}

# Where a block ends in a branch on the condition under which it was entered, ptxas loses the point where threads meet
# again.
@test "a store and the load behind it ask their common condition once each" {
    cat >back.tile <<'END'
kernel again(x: in f32[M, N], y: inout f32[M, N], z: out f32[M, N]) grid(r: cdiv(M, 16)) {
    y[r*16 +: 16, 0 +: 32] = x[r*16 +: 16, 0 +: 32] * 2.0;
    z[r*16 +: 16, 0 +: 32] = y[r*16 +: 16, 0 +: 32] + 1.0;
}
END
    "$TILECC" -arch=sm_80 --emit=ptx back.tile
    sed 's/\t/ /g; s/^ *//' back_again.0.sm_80.ptx >again
    grep -q '^@!*%p[0-9]* bra' again
    awk '/^[^ ].*:$/ { label = substr($1, 1, length($1) - 1) }
         $2 == "bra" { sub(/^@!?/, "", $1); sub(/;$/, "", $3)
                       if (NR != FNR && entered[label] == $1) { print "asked twice: " label; twice = 1 }
                       if (NR == FNR) entered[$3] = $1 }
         END { exit twice }' again again
}

@test "a quotient by one number may be near only where it becomes a bf16, on sm_90 and later" {
    cat >quotient.tile <<'END'
kernel half(x: in f32[N], s: f32, y: out bf16[N]) grid(b: cdiv(N, 1024)) { y[b*1024 +: 1024] = bf16(x[b*1024 +: 1024] / s); }
kernel other(x: in f32[N], s: f32, y: out f16[N]) grid(b: cdiv(N, 1024)) { y[b*1024 +: 1024] = f16(x[b*1024 +: 1024] / s); }
kernel both(x: in f32[N], s: f32, y: out bf16[N], z: out f32[N]) grid(b: cdiv(N, 1024)) {
    let q = x[b*1024 +: 1024] / s;
    y[b*1024 +: 1024] = bf16(q);
    z[b*1024 +: 1024] = q;
}
END
    "$TILECC" -arch=sm_90a,sm_80 --emit=ptx quotient.tile
    # The least of the lower halves against a tie; behind the branch every quotient is rounded right.
    grep -q 'min\.s16x2' quotient_half.0.sm_90a.ptx
    [ "$(grep -c 'div\.rn\.f32' quotient_half.0.sm_90a.ptx)" -ge 4 ]
    for file in quotient_half.0.sm_80.ptx quotient_other.0.sm_90a.ptx quotient_both.0.sm_90a.ptx; do
        [ -s "$file" ]
        ! grep -q 'min\.s16x2' "$file" || { echo "$file: near quotients"; return 1; }
    done
}

@test "fdiv is the quick quotient, / the right one" {
    cat >k.tile <<'END'
kernel quick(x: in f32[N], z: in f32[N], y: out f32[N]) grid(b: cdiv(N, 128)) { y[b*128 +: 128] = fdiv(x[b*128 +: 128], z[b*128 +: 128]); }
kernel right(x: in f32[N], z: in f32[N], y: out f32[N]) grid(b: cdiv(N, 128)) { y[b*128 +: 128] = x[b*128 +: 128] / z[b*128 +: 128]; }
END
    "$TILECC" -arch=sm_80 -S --spec quick k.tile -o - >quick.ptx
    "$TILECC" -arch=sm_80 -S --spec right k.tile -o - >right.ptx
    grep -q 'div\.full\.f32' quick.ptx
    ! grep -q 'div\.r[nz]\.f32' quick.ptx || false
    grep -q 'div\.rn\.f32' right.ptx
    ! grep -q 'div\.full' right.ptx || false
}

@test "the machine clamps where a float becomes an integer; of NaN we make 0 where it does not" {
    cat >k.tile <<'END'
kernel whole<A: {f32, f64}, B: {i16, i32, i64}>(x: in A[N], y: out B[N]) grid(b: cdiv(N, 128)) { y[b*128 +: 128] = B(x[b*128 +: 128]); }
END
    "$TILECC" -arch=sm_80 --emit=ptx k.tile
    grep -q 'cvt\.rzi\.s32\.f32' k_whole_f32_i32.0.sm_80.ptx
    ! grep -qE 'selp|setp.*\.f32' k_whole_f32_i32.0.sm_80.ptx || false
    grep -q 'min\.s32.* 32767' k_whole_f32_i16.0.sm_80.ptx
    grep -q 'max\.s32.* -32768' k_whole_f32_i16.0.sm_80.ptx
    for types in f32_i64 f64_i32 f64_i64; do
        grep -q 'setp\.nan\.f' "k_whole_$types.0.sm_80.ptx" || { echo "$types: NaN"; return 1; }
    done
}

@test "what is read once, and mostly read, leaves the caches first; a row of one sum takes two loads a thread" {
    cat >rows.tile <<'END'
kernel sums<T: {f32, bf16}>(x: in T[M, N], y: out f32[M]) const(B: {4096} >= N) grid(r: M) { y[r] = sum(f32(x[r, 0 +: B])); }
kernel twice(x: in bf16[M, N], y: out bf16[M, N]) const(B: {4096} >= N) grid(r: M) { y[r, 0 +: B] = x[r, 0 +: B] + x[r, 0 +: B]; }
kernel kept(x: in bf16[M, N], y: out f32[M]) const(B: {4096} >= N) grid(r: M) { y[r] = sum(f32(load(x[r, 0 +: B], cache = ca))); }
kernel product(x: in bf16[M, N], v: in bf16[N], y: out f32[M]) const(B: {1024} >= N) grid(r: M) {
    y[r] = sum(f32(x[r, 0 +: B]) * f32(v[0 +: B]));
}
END
    "$TILECC" -arch=sm_90a --emit=ptx rows.tile
    for file in rows_sums_f32.0.sm_90a.ptx rows_sums_bf16.0.sm_90a.ptx; do
        [ "$(grep -c 'ld\.global\.cs\.v4' "$file")" -eq 2 ]
        ! grep -q 'ld\.global\.nc' "$file" || false
    done
    for file in rows_twice.0.sm_90a.ptx rows_kept.0.sm_90a.ptx; do
        grep -q 'ld\.global\.nc\.v4' "$file"
        ! grep -q 'ld\.global\.cs' "$file" || false
    done
    grep -q 'ld\.global\.cs\.v4' rows_product.0.sm_90a.ptx
    grep -q 'ld\.global\.nc\.v4' rows_product.0.sm_90a.ptx
}

# Threads of a kernel's block.
threads() { "$TILECC" -arch=sm_90a --emit=ptx --spec "$1" -o - rows.tile | sed -n 's/^\.reqntid \([0-9]*\).*/\1/p;s/^\.maxntid \([0-9]*\).*/\1/p' | sort -u; }

@test "a row of one sum has many threads, one that waits for two few" {
    cat >rows.tile <<'END'
kernel sums(x: in bf16[M, N], y: out f32[M]) const(B: {4096, 16384, 65536} >= N) grid(r: M) { y[r] = sum(f32(x[r, 0 +: B])); }
kernel logs(x: in bf16[M, N], y: out f32[M]) const(B: {4096, 16384, 65536} >= N) grid(r: M) {
    let v = f32(load(x[r, 0 +: B], other = -inf));
    let m = max(v);
    y[r] = m + log(sum(exp(v - m)));
}
kernel best(x: in bf16[M, N], y: out i64[M]) const(B: {4096} >= N) grid(r: M) { y[r] = argmax(x[r, 0 +: B]); }
END
    [ "$(threads 'sums[B=4096]')" = 256 ]
    [ "$(threads 'sums[B=16384]')" = 1024 ]
    [ "$(threads 'sums[B=65536]')" = 512 ]
    [ "$(threads 'logs[B=4096]')" = 64 ]
    [ "$(threads 'logs[B=16384]')" = 256 ]
    [ "$(threads 'logs[B=65536]')" = 512 ]
    [ "$(threads 'best[B=4096]')" = 128 ]
}

@test "products of a wide row's first pieces are made before the last piece is read" {
    cat >k.tile <<'END'
kernel product(a: in f32[M, N], x: in f32[N], y: out f32[M]) const(B: {32768} >= N) grid(r: M) {
    y[r] = sum(a[r, 0 +: B] * x[0 +: B]);
}
END
    text product 0
    last=$(grep -nE '(^| )ld\.global' product | tail -n 1 | cut -d: -f1)
    [ "$(head -n "$last" product | grep -cE '^(fma|mul|add)\.rn\.f32')" -ge 32 ]
}

# What stands between the last barrier and the first read of shared memory behind it, and those reads.
behind_barrier() { sed -n '/^bar\.sync/,/^ld\.shared/p' "$1" | tac | sed '/^bar\.sync/q' | tac; }

@test "where a sum is but stored, one warp alone adds what the warps have left; where all need it, each does" {
    cat >k.tile <<'END'
kernel stored(x: in f32[M, N], y: out f32[M]) const(B: {4096} >= N) grid(r: M) { y[r] = sqrt(sum(x[r, 0 +: B])) + 1.0; }
kernel needed(x: in f32[M, N], y: out f32[M, N]) const(B: {4096} >= N) grid(r: M) {
    let v = x[r, 0 +: B];
    y[r, 0 +: B] = v - sum(v);
}
kernel place(x: in i32[M, N], y: out i32[M]) const(B: {4096} >= N) grid(r: M) {
    let s = sum(x[r, 0 +: B]);
    y[s] = s;
}
kernel branch(x: in f32[M, N], y: out f32[M]) const(B: {4096} >= N) grid(r: M) {
    if (sum(x[r, 0 +: B]) > 0.0) { y[r] = 1.0; }
}
END
    text stored 0
    behind_barrier stored | grep -qE '^@!?%p[0-9]+ bra'
    grep -qE '^setp\.[a-z]+\.u32 .*, (31|32);' stored
    for kernel in needed place branch; do
        text $kernel 0
        behind_barrier $kernel | grep -q '^ld\.shared'
        ! behind_barrier $kernel | grep -q bra || false
    done
}

@test "a kernel waits for the one in front of it before it touches memory, on sm_90 and later" {
    cat >beside.tile <<'END'
kernel sums(x: in f32[M, N], y: out f32[M]) const(B: {512} >= N) grid(r: M) { y[r] = sum(x[r, 0 +: B]); }
kernel product(a: in bf16[M, K], b: in bf16[K, N], c: out bf16[M, N]) grid(i: cdiv(M, 128), j: cdiv(N, 128)) {
    var acc: f32[128, 128] = 0.0;
    for k in 0..K step 64 { acc += a[i*128 +: 128, k +: 64] @ b[k +: 64, j*128 +: 128]; }
    c[i*128 +: 128, j*128 +: 128] = bf16(acc);
}
END
    "$TILECC" -arch=sm_90a,sm_80 --emit=ptx beside.tile
    for kernel in sums product; do
        wait=$(line '^[[:space:]]*griddepcontrol\.wait;' "beside_$kernel.0.sm_90a.ptx")
        touch=$(line '(ld|st)\.global|cp\.async|prefetch' "beside_$kernel.0.sm_90a.ptx")
        [ "$wait" -lt "$touch" ]
        ! grep -q launch_dependents "beside_$kernel.0.sm_90a.ptx" || false # a kernel of small blocks would take half as long again
        ! grep -q griddepcontrol "beside_$kernel.0.sm_80.ptx" || false
    done
}

@test "single elements are stored several a text, and halves of a word go on as that word" {
    # LLVM's time goes by texts: 128 stores would be 128 texts, each with an address and a predicate
    cat >single.tile <<'END'
kernel product(a: in bf16[M, K], b: in bf16[K, N], o: out bf16[M, N]) grid(m: cdiv(M, 128), n: cdiv(N, 128)) {
    var s = f32[128, 128](0);
    for k in 0..K step 32 s += a[m*128 +: 128, k +: 32] @ b[k +: 32, n*128 +: 128];
    o[m*128 +: 128, n*128 +: 128] = bf16(s);
}
END
    "$TILECC" -arch=sm_80 -w --emit=ptx single.tile
    for text in single_product.*.sm_80.ptx; do
        [ "$(grep -c 'st\.global\.b16' "$text")" -eq 128 ]
        stores=$(awk '/begin inline/ { one = 0 } /st\.global\.b16/ && !one { one = 1; n++ } END { print n }' "$text")
        [ "$stores" -le 32 ] || { echo "$text: $stores texts"; return 1; }
    done
    [ "$(grep -c 'mov\.b32 {%e' single_product.0.sm_80.ptx)" -eq 64 ] # words are taken apart where they are stored,
    ! grep -q 'cvt\.u16\.u32' single_product.0.sm_80.ptx || false # and nowhere else
}

@test "a thread with many random numbers compares the words that they are made of" {
    cat >k.tile <<'END'
kernel dropped(x: in bf16[N], y: out bf16[N], p: f32, seed: u64) grid(b: cdiv(N, 4096)) {
    let r0, r1, r2, r3 = rand4(seed, b*1024 + iota(1024));
    let keep = reshape(join(join(r0, r2), join(r1, r3)), 4096) >= p;
    y[b*4096 +: 4096] = bf16(where(keep, f32(x[b*4096 +: 4096]) / (1.0 - p), 0.0));
}
END
    text dropped 0
    [ "$(grep -c '^min\.u32' dropped)" = 16 ]
    ! grep -q '^cvt\.rn\.f32\.s32' dropped || false
}
