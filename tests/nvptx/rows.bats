#!/usr/bin/env bats
# Rows that registers do not hold beside what stands behind their sums: nothing is kept in local memory.  Blocks share a
# multiprocessor's registers only where what stands behind the pieces has enough of them, too.

load ../cli/helper

# no_spills ARCHITECTURES [BYTES]: of all instances of f.tile; a register or two of those that read element by element
no_spills() {
    needs_ptxas
    expect 0 tilecc "-arch=$1" --resource-usage f.tile -o f.o
    grep -q ' aligned: [0-9]* threads, ' <<<"$output"
    lacks '[-Wspills]'
    ! grep ' aligned: .*spills: ' <<<"$output" || false
    for bytes in $(sed -n 's/.* threads, .*spills: \([0-9]*\) bytes stored.*/\1/p' <<<"$output"); do
        [ "$bytes" -le "${2:-8}" ] || return 1
    done
}

@test "the gradient of a norm, with rows added under a condition" {
    cat >f.tile <<'END'
kernel norm<T: {bf16, f32}>(x: in T[M, N], y: in T[M, N], w: in T[N], r: out T[M, N], p: inout f32[M, N], q: inout f32[M, N])
    const(B: {16384, 32768} >= N)
    grid(row: M)
{
    let v = f32(x[row, 0 +: B]);
    let d = f32(y[row, 0 +: B]);
    let wd = f32(w[0 +: B]) * d;
    let c = sum(v * wd);
    let e = sum(wd);
    r[row, 0 +: B] = T(wd - (v*c + e));
    var a = d*v;
    var b = d;
    if (N > 5) { a += p[row, 0 +: B]; b += q[row, 0 +: B]; }
    p[row, 0 +: B] = a;
    q[row, 0 +: B] = b;
}
END
    no_spills sm_80,sm_90a
    # two tiles of 32 registers, and two more under a condition: all registers of a thread
    [ "$(grep -c '^norm<bf16>.B=16384. sm_90a .* no spills' <<<"$output")" -eq 2 ]
    expect 0 tilecc -arch=sm_90a --dryrun -Rpass=split_wide_tiles --spec 'norm<bf16>' f.tile -o f.o
    contains 'the tile stays in shared memory, 32768 bytes'
}

@test "the gradient of a norm that rows of a group add one after the other, under a lock" {
    cat >f.tile <<'END'
kernel norm<T: {bf16, f32}>(x: in T[M, N], y: in T[M, N], w: in T[N], mean: in f32[M], scale: in f32[M], r: out T[M, N], p: inout f32[G, N], q: inout f32[G, N], lock: inout i32[G], count: inout i32[G])
    const(B: {16384, 65536} >= N)
    grid(row: M)
{
    let g = row % G;
    let v = where(inside(x[row, 0 +: B]), (f32(x[row, 0 +: B]) - mean[row]) * scale[row], 0.0);
    let d = f32(y[row, 0 +: B]);
    let wd = f32(w[0 +: B]) * d;
    let c = sum(v * wd) / f32(N);
    let e = sum(wd) / f32(N);
    r[row, 0 +: B] = T((wd - (v*c + e)) * scale[row]);
    var a = d*v;
    var b = d;
    while (atomic_cas(lock[g], 0, 1, order = acquire) != 0) {}
    if (count[g] == 0) { count[g] = 1; } else { a += p[g, 0 +: B]; b += q[g, 0 +: B]; }
    p[g, 0 +: B] = a;
    q[g, 0 +: B] = b;
    atomic_xchg(lock[g], 0, order = release);
}
END
    no_spills sm_90a
    # what nobody writes is read again behind the lock, from shared memory where it has room
    expect 0 tilecc -arch=sm_90a --dryrun -Rpass=split_wide_tiles --spec 'norm<bf16>[B=16384]' f.tile -o f.o
    [ "$(grep -c 'the tile stays in shared memory' <<<"$output")" -ge 3 ]
    [ "$(grep -c 'written in 2 pieces, computed again for each' <<<"$output")" -ge 3 ]
}

@test "the gradient of a norm that all rows add to columns, read element by element or not" {
    cat >f.tile <<'END'
kernel norm<T: {bf16, f32}>(x: in T[M, N], y: in T[M, N], w: in T[N], mean: in f32[M], scale: in f32[M], r: out T[M, N], p: inout f32[N], q: inout f32[N])
    const(B: {16384, 32768} >= N)
    grid(row: M)
{
    let v = (f32(x[row, 0 +: B]) - mean[row]) * scale[row];
    let d = f32(y[row, 0 +: B]);
    let wd = f32(w[0 +: B]) * d;
    let c = sum(v * wd) / f32(N);
    let e = sum(wd) / f32(N);
    r[row, 0 +: B] = T((wd - (v*c + e)) * scale[row]);
    atomic_add(p[0 +: B], d*v);
    atomic_add(q[0 +: B], d);
}
END
    no_spills sm_80,sm_90a
}

@test "the same with a limit for two blocks and rows that are added without a condition" {
    cat >f.tile <<'END'
kernel norm(x: in bf16[M, N], y: in bf16[M, N], w: in bf16[N], mean: in f32[M], scale: in f32[M], r: out bf16[M, N], p: inout f32[P, N], q: inout f32[P, N])
    const(B: {16384, 32768} >= N)
    grid(row: M)
{
    let v = (f32(x[row, 0 +: B]) - mean[row]) * scale[row];
    let d = f32(y[row, 0 +: B]);
    let wd = f32(w[0 +: B]) * d;
    let c = sum(v * wd) / f32(N);
    let e = sum(wd) / f32(N);
    r[row, 0 +: B] = bf16((wd - (v*c + e)) * scale[row]);
    p[row % P, 0 +: B] = p[row % P, 0 +: B] + d*v;
    q[row % P, 0 +: B] = q[row % P, 0 +: B] + d;
}
END
    no_spills sm_80,sm_90a
}

@test "a limit for three blocks is not taken where it spills" {
    cat >f.tile <<'END'
kernel norm(x: in bf16[M, N], s: in bf16[M, N], w: in bf16[N], b: in bf16[N], y: out bf16[M, N], h: out bf16[M, N])
    const(B: {16384} >= N)
    grid(row: M)
{
    let v = f32(x[row, 0 +: B]) + f32(s[row, 0 +: B]);
    h[row, 0 +: B] = bf16(v);
    let mean = sum(v) / f32(N);
    let d = where(iota(B) < N, v - mean, 0.0);
    let r = rsqrt(sum(d*d) / f32(N) + 1.0e-5);
    y[row, 0 +: B] = bf16(d * r * f32(w[0 +: B]) + f32(b[0 +: B]));
}
END
    no_spills sm_90a
    # a limit that was asked for is kept
    sed -i 's/grid(/tune(maxnreg: {40}) &/' f.tile
    expect 0 tilecc -w -arch=sm_90a --resource-usage f.tile -o f.o
    contains '; 40 registers, spills: '
}

@test "a product that is added to what the store overwrites, read element by element: by quarters, in another layout" {
    cat >f.tile <<'END'
kernel product(alpha: f32, a: in strided f16[M, K], b: in strided f16[K, N], beta: f32, c: inout f16[M, N])
    grid(m: cdiv(M, 128), n: cdiv(N, 128))
{
    var acc = f32[128, 128](0);
    for k in 0..K step 32 acc = dot(a[m*128 +: 128, k +: 32], b[k +: 32, n*128 +: 128], acc);
    acc *= alpha;
    if (beta != 0.0) acc += beta * f32(c[m*128 +: 128, n*128 +: 128]);
    c[m*128 +: 128, n*128 +: 128] = f16(acc);
}
END
    no_spills sm_80 0
}

@test "a softmax of sums, whose exponentials are stored twice, once under a condition" {
    cat >f.tile <<'END'
kernel soft(x: in bf16[M, N], bias: in? f32[M, N], y: out bf16[M, N], t: inout f32[M, N], adds: bool)
    const(B: {32768} >= N)
    grid(row: M)
{
    let inside = iota(B) < N;
    let v = f32(x[row, 0 +: B]) + bias[row, 0 +: B];
    let e = where(inside, exp(v - max(where(inside, v, -inf))), 0.0);
    let q = e / sum(e);
    y[row, 0 +: B] = bf16(q);
    if (adds) t[row, 0 +: B] = t[row, 0 +: B] + q;
}
END
    no_spills sm_90a
}

@test "rows that are chosen in branches of branches" {
    cat >f.tile <<'END'
kernel sums(x: in f32[M, N], y: in f32[M, N], z: in f32[M, N], r: out f32[M, N], s: out f32[M, N], p: inout f32[M, N], n: i32)
    const(B: {16384, 32768} >= N)
    grid(row: M)
{
    let v = x[row, 0 +: B];
    let d = y[row, 0 +: B];
    let g = z[row, 0 +: B];
    let c = sum(v * d);
    let f = sum(g * d);
    r[row, 0 +: B] = d - v*c + g*f;
    s[row, 0 +: B] = g*c + d;
    var a = d*v;
    if (n > 0) { if (n > 1) a += p[row, 0 +: B]; else a -= g; }
    p[row, 0 +: B] = a;
}
END
    no_spills sm_90a
}

@test "registers are counted in the function as it is split: what is read ahead, and what is widened once for several" {
    for rows in f16:16384 f16:32768 f32:16384; do
        type=${rows%:*} elements=${rows#*:}
        sed "s/TYPE/$type/g; s/ELEMENTS/$elements/" >f.tile <<'END'
kernel late(x: in TYPE[M, N], w: in TYPE[N], r: out TYPE[M, N], p: inout f32[M, N], q: inout f32[M, N]) const(B: {ELEMENTS} >= N) grid(row: M) {
    let v = f32(x[row, 0 +: B]); let c = sum(v); let e = sum(v*c);
    r[row, 0 +: B] = TYPE(v*c - e);
    let a = p[row, 0 +: B]; let b = q[row, 0 +: B];
    let z = sum(a * b);
    p[row, 0 +: B] = a * z + v;
    q[row, 0 +: B] = b * z - v;
}
END
        no_spills sm_75,sm_80,sm_90a,sm_100a 24
    done
    cat >f.tile <<'END'
kernel added(x: in f16[M, N], y: in f16[M, N], w: in f16[N], r: out f16[M, N], p: inout f32[N], q: inout f32[N]) const(B: {32768} >= N) grid(row: M) {
    let v = f32(x[row, 0 +: B]); let d = f32(y[row, 0 +: B]); let wd = f32(w[0 +: B]) * d;
    let m = sum(v) / f32(N); let c = sum(v * wd); let e = sum(wd);
    r[row, 0 +: B] = f16(wd - ((v - m)*c + e));
    atomic_add(p[0 +: B], d*v);
    atomic_add(q[0 +: B], d);
}
kernel branched(x: in f16[M, N], w: in f16[N], r: out f16[M, N], p: inout f32[M, N]) const(B: {32768} >= N) grid(row: M) {
    let v = f32(x[row, 0 +: B]); let c = sum(v); let e = sum(v*c);
    r[row, 0 +: B] = f16(v*c - e);
    var a = v;
    if (N > 5) a += p[row, 0 +: B];
    p[row, 0 +: B] = a;
}
kernel twice(x: in f16[M, N], y: in f16[M, N], r: out f16[M, N], s: out f16[M, N]) const(B: {32768} >= N) grid(row: M) {
    let v = f32(x[row, 0 +: B]); let u = f32(y[row, 0 +: B]);
    let c = sum(v); let e = max(u - c);
    r[row, 0 +: B] = f16(v*c - e);
    let g = sum(exp(u - e)); let h = sum(v * u);
    s[row, 0 +: B] = f16(exp(u - e) / g + v * h);
}
END
    no_spills sm_75,sm_80,sm_90a,sm_100a 24
}

@test "what stands behind the pieces counts; where it has room, three blocks share" {
    cat >f.tile <<'END'
kernel plain(x: in bf16[M, N], w: in bf16[N], r: out bf16[M, N]) const(B: {16384} >= N) grid(row: M) {
    let v = f32(x[row, 0 +: B]);
    let m = sum(v) / f32(N);
    let d = v - m;
    let s = rsqrt(sum(d*d) / f32(N) + 1e-5);
    r[row, 0 +: B] = bf16(d * s * f32(w[0 +: B]));
}
kernel one(x: in bf16[M, N], w: in bf16[N], r: out bf16[M, N], p: inout f32[M, N]) const(B: {16384} >= N) grid(row: M) {
    let v = f32(x[row, 0 +: B]); let c = sum(v); let e = sum(v*c);
    r[row, 0 +: B] = bf16(v*c - e);
    var a = v;
    if (N > 5) a += p[row, 0 +: B];
    p[row, 0 +: B] = a;
}
kernel late(x: in bf16[M, N], w: in bf16[N], r: out bf16[M, N], p: inout f32[M, N], q: inout f32[M, N]) const(B: {16384} >= N) grid(row: M) {
    let v = f32(x[row, 0 +: B]); let c = sum(v); let e = sum(v*c);
    r[row, 0 +: B] = bf16(v*c - e);
    let a = p[row, 0 +: B]; let b = q[row, 0 +: B];
    let z = sum(a * b);
    p[row, 0 +: B] = a * z + v;
    q[row, 0 +: B] = b * z - v;
}
kernel early(x: in bf16[M, N], y: in bf16[M, N], r: out bf16[M, N], p: inout f32[M, N]) const(B: {16384} >= N) grid(row: M) {
    let v = f32(x[row, 0 +: B]); let u = f32(y[row, 0 +: B]);
    let c = sum(v); let e = sum(u*c); let g = sum(v*u);
    p[row, 0 +: B] = v * g + u;
    r[row, 0 +: B] = bf16(v*c - e * u);
}
kernel looped(x: in bf16[M, N], r: out bf16[M, N], p: inout f32[M, N], n: i32) const(B: {16384} >= N) grid(row: M) {
    let v = f32(x[row, 0 +: B]); let c = sum(v); let e = sum(v*c);
    r[row, 0 +: B] = bf16(v*c - e);
    var a = p[row, 0 +: B];
    for i in 0..n a = a * 2.0 + v;
    p[row, 0 +: B] = a;
}
END
    needs_ptxas
    expect 0 tilecc -arch=sm_90a --resource-usage -o f.o f.tile
    ! grep ' threads, .*spills: ' <<<"$output" || false
    contains 'plain[B=16384] sm_90a aligned: 512 threads, 16 warps; 40 registers, no spills'
    expect 0 tilecc -arch=sm_90a --dryrun -Rpass=split_wide_tiles --spec plain -o f.o f.tile
    contains 'registers for 3 blocks of a multiprocessor'
    expect 0 tilecc -arch=sm_90a --dryrun -Rpass=split_wide_tiles --spec looped -o f.o f.tile
    grep -q 'one block of a multiprocessor: tiles take [0-9]* registers at once' <<<"$output"
}

@test "nothing is spilled in any class of rows; short ones share blocks" {
    cat >f.tile <<'END'
kernel soft<T: {bf16, f16, f32}>(x: in T[M, N], y: out T[M, N]) const(B: 256..=65536 step *2 >= N) grid(row: M) {
    let v = f32(load(x[row, 0 +: B], other = -inf));
    let e = exp(v - max(v));
    y[row, 0 +: B] = T(e / sum(e));
}
kernel norm<T: {bf16, f32}>(x: in T[M, N], w: in T[N], y: out T[M, N], eps: f32) const(B: 256..=65536 step *2 >= N) grid(row: M) {
    let v = f32(x[row, 0 +: B]);
    y[row, 0 +: B] = T(v * rsqrt(sum(v*v) / f32(N) + eps) * f32(w[0 +: B]));
}
kernel back(dy: in bf16[M, N], y: in bf16[M, N], dx: out bf16[M, N]) const(B: 256..=32768 step *2 >= N) grid(row: M) {
    let d = f32(dy[row, 0 +: B]);
    let p = f32(y[row, 0 +: B]);
    dx[row, 0 +: B] = bf16(p * (d - sum(p * d)));
}
END
    no_spills sm_90a
    [ "$(grep -c 'B=\(256\|512\). sm_90a .*: 128 threads, 1 warp, 4 programs a block; ' <<<"$output")" -eq 24 ]
    lacks 'B=1024] sm_90a aligned: 128 threads'
    expect 0 tilecc info f.o
    contains '128 threads a block, 4 programs a block'
}

@test "a number of the row to come waits in a register of each thread: a uniform one would wait for its load" {
    needs_ptxas
    cat >f.tile <<'END'
kernel sums(x: in bf16[M, N], s: in f32[M], y: out bf16[M, N], w: out f32[P, N]) const(B: {256, 2048} >= N) grid(p: P)
{
    var all = f32[B](0);
    for row in p..M step P {
        let v = f32(x[row, 0 +: B]) * s[row];
        y[row, 0 +: B] = bf16(v * sum(v));
        all += v;
    }
    w[p, 0 +: B] = all;
}
END
    for B in 256 2048; do
        "$TILECC" -arch=sm_90a --spec "sums[B=$B] sm_90a aligned" --emit=cubin -o k.cubin f.tile
        "$NVDISASM" -c k.cubin >sass
        grep -q 'LDG' sass
        [ "$(grep -c R2UR sass)" -eq 0 ]
    done
}
