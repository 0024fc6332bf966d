#!/usr/bin/env bats
# Registers of rows that are split into pieces: blocks share a multiprocessor's only where what stands behind the pieces
# has enough of them, too.  ptxas says what is spilled.

setup_file() {
    cd "$BATS_FILE_TMPDIR" || return 1
    cat >rows.tile <<'END'
kernel minimal(x: in bf16[M, N], y: in bf16[M, N], w: in bf16[N], r: out bf16[M, N], p: inout f32[M, N], q: inout f32[M, N])
    const(B: {16384} >= N)
    grid(row: M)
{
    let v = f32(x[row, 0 +: B]);
    let d = f32(y[row, 0 +: B]);
    let wd = f32(w[0 +: B]) * d;
    let c = sum(v * wd);
    let e = sum(wd);
    r[row, 0 +: B] = bf16(wd - (v*c + e));
    var a = d*v;
    var b = d;
    if (N > 5) { a += p[row, 0 +: B]; b += q[row, 0 +: B]; }
    p[row, 0 +: B] = a;
    q[row, 0 +: B] = b;
}
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
    "$TILECC" -arch=sm_90a --resource-usage -o rows.o rows.tile >log 2>&1
}

setup() { cd "$BATS_FILE_TMPDIR"; }

# spilled KERNEL: the most bytes that an instance stores, for lack of registers
spilled() { sed -n "s/^$1\\[B=16384\\] sm_90a .*spills: \\([0-9]*\\) bytes stored.*/\\1/p; s/^$1\\[B=16384\\] .* no spills.*/0/p" log | sort -n | tail -1; }

@test "what stands behind the pieces counts" {
    cat log
    [ "$(spilled minimal)" -eq 0 ] # two tiles of 32 registers, and two more under a condition: all registers of a thread
    for kernel in one late early looped; do [ "$(spilled $kernel)" -le 32 ]; done
}

@test "where it has room, three blocks share" {
    grep -q 'plain\[B=16384\] sm_90a aligned: 512 threads, 16 warps; 40 registers, no spills' log
    "$TILECC" -arch=sm_90a --dryrun -Rpass=split_wide_tiles --spec plain -o rows.o rows.tile 2>&1 | grep -q 'registers for 3 blocks of a multiprocessor'
    "$TILECC" -arch=sm_90a --dryrun -Rpass=split_wide_tiles --spec looped -o rows.o rows.tile 2>&1 | grep -q 'one block of a multiprocessor: tiles take [0-9]* registers at once'
    "$TILECC" -arch=sm_90a --dryrun -Rpass=split_wide_tiles --spec minimal -o rows.o rows.tile 2>&1 | grep -q 'the tile stays in shared memory, 32768 bytes'
}
