#!/usr/bin/env bats
# What -Rpass gives as a reason is the reason: each program below is right but for one thing, and exactly that is named.

setup() { cd "$BATS_TEST_TMPDIR" || return 1; }

# a product whose left factor, clauses or end differ: product LEFT [PARAMETERS [STORE [BEFORE]]]
product() {
    cat >k.tile <<END
kernel k(a: in f16[M, K], b: in f16[K, N], c: out f32[M, N]${2-}) grid(m: cdiv(M, 64), n: cdiv(N, 64))
{
    ${4-}
    var acc = f32[64, 64](0);
    for k in 0..K step 64
        acc += $1 @ b[k +: 64, n*64 +: 64];
    ${3-c[m*64 +: 64, n*64 +: 64] = acc;}
}
END
}

remarks() { "$TILECC" -arch="$1" --dryrun -Rpass="$2" -fdiagnostics-format=json -o k.o k.tile 2>&1 | grep '"R2001"' || true; }

# gives ARCH PASS REASON: the aligned instance has this remark of the pass
gives() {
    remarks "$1" "$2" >log
    grep -F "\"message\":\"$2: $3\"" log | grep -q '"k[^ "]* sm_[^"]* aligned"' || { cat k.tile log; return 1; }
}
lacks() {
    remarks "$1" "$2" >log
    ! grep -F "$3" log | grep -q '"k sm_[^"]* aligned"' || { cat k.tile log; return 1; }
}

slice='a[m*64 +: 64, k +: 64]'

@test "why a factor is read through registers" {
    local what='this factor is read through registers:'
    for arch in sm_80 sm_90a; do
        product "$slice"
        lacks $arch buffer_operands "$what"
        product "load($slice, other = 1.0)"
        gives $arch buffer_operands "$what what lies outside the view is not zero"
        product "load($slice, mask = (k + iota(64))[None, :] != 7)"
        gives $arch buffer_operands "$what it is masked"
        product 'a[rows, k +: 64]' '' 'c[rows, n*64 +: 64] = acc;' 'let rows = M - 1 - (m*64 + iota(64));'
        lacks $arch buffer_operands "$what" # all threads copy, on sm_90a, too
        product 'a[m*64 +: 64, K - 1 - (k + iota(64))]'
        gives $arch buffer_operands "$what it gathers along what is contiguous"
    done
    product 'a[rows, k +: 64]' '' 'c[rows, n*64 +: 64] = acc;' 'let rows = M - 1 - (m*64 + iota(64));'
    gives sm_90a plan_roles 'no producer of its own: the place gathers elements'
    sed -i 's/(m: cdiv/ (m: cdiv/; s/a: in f16\[M, K\]/a: in f16[M, 4, K]/; s/a\[rows, k/a[rows, k % 3, k + 2/' k.tile
    gives sm_90a buffer_operands "$what it gathers, which TMA does not do"
    product "sub[m*64 +: 64, k +: 64]" '' 'c[m*64 +: 64, n*64 +: 64] = acc;' 'let sub = a[0 .. M - 1, ..];'
    lacks sm_80 buffer_operands "$what"
    lacks sm_90a buffer_operands "$what" # a tensor map of a part along one dimension
    sed -i 's/M - 1, ..\]/M - 1, 0 .. K - 8]/' k.tile
    gives sm_90a buffer_operands "$what the view is a part of another whose bounds are known only when running"
    sed -i 's/b\[k +: 64, n/rest[k +: 64, n/; s/let sub/let rest = b[0 .. K - 1, 0 .. N - 8]; &/' k.tile
    lacks sm_90a buffer_operands "$what" # TMA would bring neither: all threads copy
    gives sm_90a plan_roles 'no producer of its own: the view is a part of another whose bounds are known only when running'
    product "sub[m*64 +: 64, k +: 64]" '' 'c[m*64 +: 64, n*64 +: 64] = acc;' 'let sub = a[0 .. 4096, 0 .. 64];'
    gives sm_90a buffer_operands "$what the view is a part of another that ends elsewhere"
    for part in '0 .. 640' '0 .. K - 8'; do
        product "sub[m*64 +: 64, k +: 64]" '' 'c[m*64 +: 64, n*64 +: 64] = acc;' "let sub = a[.., $part];"
        gives sm_90a buffer_operands "$what the view is a part of another along what is contiguous"
    done
    product "sub[m*64 +: 64, k +: 64]" '' 'c[m*64 +: 64, n*64 +: 64] = acc;' 'let sub = a[4 .., 8 ..];'
    lacks sm_90a buffer_operands "$what"
    product 'w[m*64 +: 64, k +: 64]' ', w: inout f16[M, K]' "c[m*64 +: 64, n*64 +: 64] = acc; w[m*64 +: 64, 0 +: 64] = f16(acc);"
    gives sm_90a buffer_operands "$what the kernel may write what it reads"
    sed -i 's/w\[m\*64 +: 64, 0/a[m*64 +: 64, 0/; s/w\[m\*64/a[m*64/; s/a: in/a: inout/; s/w: inout/w: in/' k.tile
    gives sm_90a buffer_operands "$what the kernel may write what it reads"
    product "$slice" ', w: inout f16[M, K]' "c[m*64 +: 64, n*64 +: 64] = acc; w[m*64 +: 64, 0 +: 64] = f16(acc);"
    lacks sm_90a buffer_operands "$what"
    sed -i 's/ grid(/ alias(a, w) grid(/' k.tile
    gives sm_90a buffer_operands "$what the kernel may write what it reads: by \`alias\` it may be the memory of \`w\`"
    product "$slice" ', lock: inout i32[1]' 'c[m*64 +: 64, n*64 +: 64] = acc;' 'while (atomic_load(lock[0], order = acquire) == 0) {}'
    lacks sm_90a buffer_operands "$what"
    gives sm_90a plan_roles 'no producer of its own: the kernel waits for others that may write what it reads'
    # also where what others have written is not looked at: programs in pairs would wait for each other
    product "$slice" ', lock: inout i32[1]' 'c[m*64 +: 64, n*64 +: 64] = acc;' 'while (atomic_add(lock[0], 0) == 0) {}'
    gives sm_90a plan_roles 'no producer of its own: the kernel waits for others that may write what it reads'
    product "$slice" ', lock: inout i32[1]' 'c[m*64 +: 64, n*64 +: 64] = acc;' 'var n = 0; while (atomic_add(lock[0], 1) < 7) { print("{}", n); n += 1; }'
    lacks sm_90a plan_roles 'no producer of its own: the kernel waits for others that may write what it reads'
    product 'o[m*64 +: 64, k +: 64]' ', o: in? f16[M, K]'
    gives sm_90a buffer_operands "$what the view may be absent"
    product 'o[0, 0, 0, 0, m*64 +: 64, k +: 64]' ', o: in f16[1, 1, 1, 1, M, K]'
    gives sm_90a buffer_operands "$what the view has more than 5 dimensions"
}

@test "why a store does not go through shared memory" {
    local what='this store does not go through shared memory:'
    product "$slice"
    lacks sm_90a specialise "$what"
    product "$slice" '' 'store(c[m*64 +: 64, n*64 +: 64], acc, mask = (m*64 + iota(64))[:, None] != 7);'
    gives sm_90a specialise "$what it is masked"
    product "$slice" '' 'c[M - 1 - (m*64 + iota(64)), n*64 +: 64] = acc;'
    gives sm_90a specialise "$what it scatters"
    product "$slice" ', t: out strided f32[M, N]' 't[m*64 +: 64, n*64 +: 64] = acc;'
    gives sm_90a specialise "$what its view's last dimension is not known to be contiguous"
    product "$slice" '' 'c[m*64 +: 64, n*64 +: 64] = acc; atomic_store(flag[0], 1, order = release);' ''
    sed -i 's/c: out f32\[M, N\]/c: out f32[M, N], flag: inout i32[1]/' k.tile
    gives sm_90a specialise "$what the kernel tells others that it has written, by an atomic or a call"
}

@test "why copies do not run ahead" {
    product 'a[m*64 +: 64, at[k/64]*64 +: 64]' ', at: in i64[Q]'
    lacks sm_80 prefetch_copies 'wait' # the table is read ahead, too
    product 'a[m*64 +: 64, at[k/64]*64 +: 64]' ', at: inout i64[Q]'
    sed -i 's/^        acc += \(.*\);/    {\n        acc += \1;\n        at[k\/64 + 2] = k;\n    }/' k.tile
    gives sm_80 prefetch_copies 'this copy is waited for where it stands: where it reads depends on more than the loop'"'"'s variable'
    product 'w[m*64 +: 64, k +: 64]' ', w: inout f16[M, K]'
    sed -i 's/^        acc += \(.*\);/    {\n        acc += \1;\n        w[m*64 +: 64, 0 +: 64] = f16(acc);\n    }/' k.tile
    gives sm_80 prefetch_copies 'this copy is waited for where it stands: the loop may write what it reads'
    product "$slice"
    sed -i 's/for k in 0..K step 64/for k in 64..K step *2/' k.tile
    gives sm_80 prefetch_copies 'copies wait in this loop: its step multiplies'
    product "$slice"
    lacks sm_80 prefetch_copies 'wait'
}

@test "how many slots a ring gets, and why" {
    local hide='an iteration takes 512 cycles, a copy 1512, so that 4 hide it;'
    product "$slice"
    gives sm_80 prefetch_copies "2 copies of this loop run 3 iterations ahead, in 4 slots: $hide more would bring nothing"
    sed -i 's/^{/    tune(stages: 2..=4 = 2)\n{/' k.tile
    gives sm_80 prefetch_copies "2 copies of this loop run 1 iteration ahead, in 2 slots: $hide the schedule asks for no more"
    product "$slice"
    hide='an iteration takes 512 cycles, a copy 1512, so that 4 hide it;'
    gives sm_90a specialise "a producer brings this by TMA: 8 slots of 16384 bytes: $hide more would bring nothing"
    # stores that keep two panels would leave one slot of 96 KiB
    wide >k.tile
    gives sm_90a specialise "a producer brings this by TMA: 2 slots of 98304 bytes: an iteration takes 3072 cycles, a copy 4072, so that 2 hide it; shared memory has room for no more"
}

wide() {
    cat <<'END'
kernel k(a: in f32[M, K], b: in f32[N, K], c: out f32[M, N]) grid(m: cdiv(M, 256), n: cdiv(N, 128))
{
    var acc = f32[256, 128](0);
    for k in 0..K step 64
        acc = dot(a[m*256 +: 256, k +: 64], trans(b[n*128 +: 128, k +: 64]), acc, precision = tf32);
    c[m*256 +: 256, n*128 +: 128] = acc;
}
END
}

@test "rows of whole words come by copies of 4 bytes, lanes side by side" {
    cat >k.tile <<'END'
kernel k(a: in strided bf16[M, K], b: in strided bf16[K, N], c: out bf16[M, N]) grid(m: cdiv(M, 64), n: cdiv(N, 64))
{
    var acc = f32[64, 64](0);
    for k in 0..K step 64 acc += a[m*64 +: 64, k +: 64] @ b[k +: 64, n*64 +: 64];
    c[m*64 +: 64, n*64 +: 64] = bf16(acc);
}
END
    "$TILECC" -arch=sm_90a --emit=tir --passes= -o - k.tile | grep -o '^kernel @[a-z0-9_]*' >kernels
    [ "$(grep -c . kernels)" = 11 ]
    "$TILECC" -arch=sm_90a -S --spec 'k sm_90a a.stride[1]=1 b.stride[1]=1 words' -o words.ptx k.tile
    grep -qE 'cp.async.ca.shared.global \[[^]]*\], \[[^]]*\], 4, ' words.ptx || { grep cp.async words.ptx; return 1; }
    ! grep -qE 'cp.async.ca.shared.global \[%r[0-9]+\+4\]' words.ptx || false # not by the same thread
    ! grep -q 'cp.async.bulk' words.ptx || false
    grep -q 'wgmma' words.ptx
    sed -i 's/bf16\[/f32[/g; s/bf16(acc)/acc/' k.tile # of 4 bytes each
    "$TILECC" -arch=sm_90a --emit=tir --passes= -o - k.tile | grep -o '^kernel @[a-z0-9_]*' >kernels
    [ "$(grep -c . kernels)" = 7 ]
}

@test "why wide loads do not go through shared memory" {
    local what='loads of this loop do not go through shared memory:'
    rows() { # PARAMETER LOOP [CLAUSE]
        cat >k.tile <<END
kernel k(x: in f32[M, N]${1:+, $1}, y: out f32[M]) grid(m: M) ${3-}
{
    var acc = f32[16384](0);
    $2
    y[m] = sum(acc, axis = 0);
}
END
    }
    local all='for j in 0..N step 16384'
    rows '' "$all acc += x[m, j +: 16384];"
    gives sm_80 buffer_loads "$what its iterations may be few; with stages = 3 (tune) they would, and an iteration would take 2048 cycles instead of 2976"
    rows '' "$all acc += x[m, j +: 16384];" 'tune(stages: 2..=4 = 3)'
    lacks sm_80 buffer_loads "$what"
    gives sm_80 buffer_loads 'this load goes through shared memory, to run ahead: loads of another iteration would take 32 registers and there are 16; an iteration takes 2048 cycles instead of 2976'
    gives sm_90a prefetch_copies '1 copy of this loop runs 2 iterations ahead, in 3 slots: an iteration takes 2048 cycles, a copy 3048, so that 3 hide it; the schedule asks for no more'
    rows '' 'for j in 0..262144 step 16384 acc += x[m, j +: 16384];'
    lacks sm_80 buffer_loads "$what"
    rows '' "$all acc += load(x[m, j +: 16384], other = 1.0);" 'tune(stages: 2..=4 = 3)'
    gives sm_80 buffer_loads "$what what lies outside the view is not zero"
    rows 'at: in i64[Q]' "$all acc += x[m, at[j/16384]*16384 +: 16384];" 'tune(stages: 2..=4 = 3)'
    lacks sm_80 buffer_loads "$what"
    rows 'at: inout i64[Q]' "$all { acc += x[m, at[j/16384]*16384 +: 16384]; at[0] = j; }" 'tune(stages: 2..=4 = 3)'
    gives sm_80 buffer_loads "$what where it reads depends on more than the loop's variable"
    rows '' 'for j in 1..N step *2 acc += x[m, j*16384 +: 16384];' 'tune(stages: 2..=4 = 3)'
    gives sm_80 buffer_loads "$what its step multiplies"
}

@test "what a loop may write of what it reads, and what says so" {
    local stays='this load stays where it is: the loop'
    loop() { # PARAMETERS CLAUSE BODY
        printf 'struct ends { last: *f32; first: *f32; }
            kernel k(%s) grid(i: 1) %s { for k in 0..n step 64 { %s } }\n' "$@" >k.tile
    }
    reasons() { # SUFFIX: of the load that stands in the loop, and of the one that would not
        gives sm_80 prefetch_loads "$stays$1"
        gives sm_80 licm "the load stays in the loop: the loop$1"
    }
    loop 'x: in f32[N], y: out f32[N], n: i32' '' 'y[k +: 64] = x[k +: 64] + x[0 +: 64];'
    lacks sm_80 prefetch_loads "$stays"
    lacks sm_80 licm 'the load stays'
    loop 'x: in f32[N], y: inout f32[N], n: i32' 'alias(x, y)' 'y[k +: 64] = x[k +: 64] + x[0 +: 64];'
    reasons ' may write what it reads: by `alias` it may be the memory of `y`'
    loop 'x: in f32[N], other: inout f32[N], n: i32' 'alias(x, other)' 'atomic_add(other[k +: 64], x[k +: 64] + x[0 +: 64]);'
    reasons ' may write what it reads: by `alias` it may be the memory of `other`'
    loop 'x: inout f32[N], n: i32' '' 'x[k +: 64] = x[k +: 64] + x[0 +: 64];'
    reasons ' may write what it reads'
    loop 'x: inout f32[N], y: inout f32[N], n: i32' 'alias(x, y)' 'y[k +: 64] = x[k +: 64] + x[0 +: 64]; x[k +: 64] = 1.0;'
    reasons ' may write what it reads'
    loop 'x: *f32, y: *f32, n: i32' '' 'store(y + k + iota(64), load(x + iota(64) + k));'
    gives sm_80 prefetch_loads "$stays may write what it reads: \`y\` may point there, as nothing says \`restrict\`"
    # a pointer that is not used, or only read, or written elsewhere, costs nothing
    for there in '' 'let v = load(p);' 'let v = load(p + n);'; do
        loop 'x: in f32[N], y: out f32[N], p: *f32, n: i32' '' "$there y[k +: 64] = x[k +: 64] + x[0 +: 64];"
        lacks sm_80 prefetch_loads "$stays"
        lacks sm_80 licm 'the load stays'
    done
    loop 'x: in f32[N], y: inout f32[N], n: i32' '' 'y[k +: 64] = x[k +: 64] + x[0 +: 64] + load(x.ptr) + load(y.ptr);'
    lacks sm_80 licm 'by `alias`'
    loop 'x: in f32[N], y: out f32[N], p: *f32, n: i32' '' 'y[k +: 64] = x[k +: 64] + x[0 +: 64]; store(p + k, 1.0);'
    reasons ' may write what it reads: `p` may point there, as nothing says `restrict`'
    loop 'x: in f32[N], y: out f32[N], p: ends, n: i32' '' 'y[k +: 64] = x[k +: 64] + x[0 +: 64]; store(p.first + k, 1.0);'
    reasons ' may write what it reads: `p.first` may point there, as nothing says `restrict`'
    loop 'x: in f32[N], y: out f32[N], p: restrict *f32, n: i32' '' 'y[k +: 64] = x[k +: 64] + x[0 +: 64]; store(p + k, 1.0);'
    lacks sm_80 licm 'the load stays'
    loop 'x: in f32[N], y: out f32[N], f: inout i32[1], n: i32' '' 'y[k +: 64] = x[k +: 64] + x[0 +: 64]; atomic_add(f[0], 1, order = acq_rel);'
    reasons ' orders memory'
}

@test "registers that loads ahead would take, and those that are there" {
    wide() { # REGISTERS
        cat >k.tile <<END
kernel k(a: in strided f32[M, K], b: in strided f32[K, N], c: out f32[M, N]) grid(m: 1) tune(maxnreg: {$1} = $1)
{
    var acc = f32[64, 64](0);
    for k in 0..K step 16 acc += a[0 +: 64, k +: 16] @ b[k +: 16, 0 +: 64];
    c[0 +: 64, 0 +: 64] = acc;
}
END
        remarks sm_80 prefetch_loads | grep -o 'tiles[a-z ]* take [0-9]* registers at once, and the loop has [0-9]* for them' >numbers || true
    }
    for registers in 56 64 96 128 168; do
        wide $registers
        while read -r _ _ _ taken _ _ _ _ _ _ _ there _; do
            echo "$registers: $taken of $there" >>all
            [ "$taken" -gt "$there" ] && [ "$there" = $((registers - 48)) ] || false
        done < <(sed 's/would take/take/; s/tiles take/tiles of take/' numbers)
    done
    [ "$(wc -l <all)" -ge 3 ]
}

@test "loads beside a loop in a loop" {
    cat >k.tile <<END
kernel k(x: in f32[M, N], y: inout f32[M, N], z: in f32[Q]) grid(p: 1)
{
    for m in 0..M {
        var acc = f32[256](0);
        let b = z[m*256 +: 256];
        for j in 0..N step 256 acc += x[m, j +: 256];
        y[m, 0 +: 256] = acc + b;
    }
}
END
    gives sm_80 prefetch_loads 'this load stays where it is: its loop holds another, whose length is not known'
    gives sm_80 prefetch_loads '4 iterations of this loop make their loads together, in 16 registers'
}

@test "what is gained by overlapping products" {
    chained() { # WORK
        cat >k.tile <<END
kernel k(q: in bf16[L, 64], k: in bf16[S, 64], v: in bf16[S, 64], o: out bf16[L, 64]) grid(i: cdiv(L, 64))
{
    let x = q[i*64 +: 64, :];
    var acc = f32[64, 64](0);
    for j in 0..S step 64
        acc += bf16($1(x @ trans(k[j +: 64, :]))) @ v[j +: 64, :];
    o[i*64 +: 64, :] = bf16(acc);
}
END
    }
    chained exp2
    gives sm_90a overlap_products 'the second product of each iteration runs beside the first one of the next: an iteration takes 602 cycles instead of 730'
    chained ''
    gives sm_90a overlap_products 'products of two iterations are not overlapped: an iteration would take 512 cycles instead of 518'
}

@test "why blocks of a cluster do not work together" {
    product "$slice"
    sed -i 's/^{/    tune(cluster: {1, 2, 3, 4} = 2)\n{/' k.tile
    lacks sm_90a specialise 'has no effect here'
    sed -i 's/= 2)/= 4)/' k.tile
    gives sm_90a specialise 'four blocks bring this together: neighbours along grid dimension 0'
    lacks sm_90a specialise 'has no effect here'
    gives_settle() { remarks sm_90a specialise >log; grep -qF "$1" log || { cat log; return 1; }; }
    sed -i 's/= 4)/= 3)/' k.tile
    gives_settle 'cluster = 3 has no effect here: clusters have 2 or 4 blocks'
    sed -i 's/= 3)/= 2, persistent: bool = false)/' k.tile
    gives_settle 'cluster = 2 has no effect here: its blocks do not walk over programs'
    product "$slice" ', lim: in i32[L], low: in i32[L]'
    sed -i 's/^{/    tune(cluster: {2} = 2, persistent: {true} = true)\n{/; s/0\.\.K/0..min(K, m*64)/' k.tile # another number of turns down the column, where b is shared
    lacks sm_90a specialise 'has no effect here'                               # but not along the row
    sed -i 's/m\*64)/m*64 + n*64)/' k.tile
    gives_settle 'cluster = 2 has no effect here: loops or branches of neighbouring programs that read the same depend on their places'
    sed -i 's/m\*64 + n\*64)/i64(lim[m]))/' k.tile # what is loaded is the same for neighbours that load it from one place
    lacks sm_90a specialise 'has no effect here'
    gives sm_90a specialise 'two blocks bring this together: neighbours along grid dimension 1'
    sed -i 's/lim\[m\]/lim[m] + low[n]/' k.tile
    gives_settle 'cluster = 2 has no effect here: loops or branches of neighbouring programs that read the same depend on their places'
    product "$slice"
    sed -i 's/^{/    tune(cluster: {2} = 2, persistent: {true} = true)\n{/; s/m: cdiv(M, 64), n: cdiv(N, 64)/m: cdiv(M, 64)/; s/n\*64/m*64/g' k.tile
    gives_settle 'cluster = 2 has no effect here: no two neighbouring programs read the same'
}

@test "why fragments are not read an iteration ahead" {
    local done='fragments of the next iteration are read before this one ends'
    local not='fragments of this product are not read an iteration ahead:'
    product "$slice"
    gives sm_80 prefetch_fragments "$done"
    # rows that are summed behind the loop do not change how its product is spread over warps
    cat >k.tile <<'END'
kernel k(a: in bf16[M, K], b: in bf16[K, N], c: out bf16[M, N], r: out f32[M]) grid(m: cdiv(M, 128), n: cdiv(N, 256))
{
    var acc = f32[128, 256](0);
    for k in 0..K step 64
        acc += a[m*128 +: 128, k +: 64] @ b[k +: 64, n*256 +: 256];
    c[m*128 +: 128, n*256 +: 256] = bf16(acc);
    if (n == 0) r[m*128 +: 128] = sum(acc, axis = 1);
}
END
    gives sm_80 prefetch_fragments "$done"
    cat >k.tile <<'END'
kernel k(a: in bf16[M, K], b: in bf16[K, N], d: in bf16[K, N], c: out bf16[M, N], e: out bf16[M, N])
    grid(m: cdiv(M, 128), n: cdiv(N, 128))
{
    var acc = f32[128, 128](0);
    var other = f32[128, 128](0);
    for k in 0..K step 64 {
        let x = a[m*128 +: 128, k +: 64];
        acc += x @ b[k +: 64, n*128 +: 128];
        other += x @ d[k +: 64, n*128 +: 128];
    }
    c[m*128 +: 128, n*128 +: 128] = bf16(acc);
    e[m*128 +: 128, n*128 +: 128] = bf16(other);
}
END
    gives sm_80 prefetch_fragments "$done"
}

@test "a loop's plan: ways, slots and roles, reasons, what limits it, and a timeline" {
    product "$slice"
    remarks sm_90a plan | sed -n 's/.*"message":"\(settle_plans: [^"]*\)".*/\1/p' | sed 's/\\n *| */\n/g' >log
    grep -qE '^settle_plans: an iteration takes [0-9]+ cycles or more; its limit: ' log || { cat log; return 1; }
    grep -qE '^input a: tma, [0-9]+ slots of 8192 bytes \(an iteration takes' log
    grep -qE '^input b: tma, [0-9]+ slots of 8192 bytes' log
    grep -qE '^product 0: in its own iteration, waited for behind the next one' log
    grep -qE '^8 warps with 232 registers compute, 4 with 40 bring; 2 groups of warps take programs in turn' log
    grep -qE '^cycles: issue of its warps [0-9]+, tensor cores 128, shared memory [0-9]+, L2 [0-9]+, round the loop [0-9]+$' log
    grep -qE '^warps   \|p[.w]*.*\| [0-9]+ cycles in order$' log
    grep -qE '^tensor  \|\.*0+\.*\|$' log
    product "load($slice, other = 1.0)"
    remarks sm_90a plan | sed 's/\\n *| */\n/g' >log
    grep -q '^input a: registers (what lies outside the view is not zero)' log || { cat log; return 1; }
    remarks sm_80 plan | sed 's/\\n *| */\n/g' >log
    grep -qE '^input b: cp_async, [0-9]+ slots of 8192 bytes, [0-9]+ iterations ahead' log || { cat log; return 1; }
}

@test "why products of three or more stay in their iteration, and what stages would bring" {
    cat >k.tile <<'END'
kernel k(q: in bf16[M, 64], k: in bf16[L, 64], v: in bf16[L, 64], o: out f32[M, 64], p: out f32[M, 64])
    requires(M % 8 == 0, L % 8 == 0) grid(m: cdiv(M, 128))
{
    let x = q[m*128 +: 128, 0 +: 64];
    var acc = f32[128, 64](0);
    var other = f32[128, 64](0);
    for j in 0..L step 64 {
        let s = bf16(exp2(dot(x, trans(k[j +: 64, 0 +: 64]))));
        acc += s @ v[j +: 64, 0 +: 64];
        other += s @ k[j +: 64, 0 +: 64];
    }
    o[m*128 +: 128, 0 +: 64] = acc;
    p[m*128 +: 128, 0 +: 64] = other;
}
END
    remarks sm_90a overlap_products | grep aligned >log
    [ "$(grep -c 'this product stays in its iteration: beside products of the next iteration it would make an iteration take' log)" -eq 2 ] || { cat log; return 1; }
    grep -q '"line":9,' log && grep -q '"line":10,' log || false # the two sums, not what the exponentials are of
    remarks sm_90a settle_plans | grep -q 'product 2: in its own iteration.*where there are more than two none is moved'
}
