#!/usr/bin/env bats
# Rows as wide as registers allow, compiled for a GPU and interpreted as the machine runs them, against the same source as it
# came from the front end: held in shared memory, reduced and written by pieces, in place, with rests that are no vector.

setup() { cd "$BATS_TEST_TMPDIR" || return 1; }

# prepare SOURCE REMARK: SOURCE.tile in both forms; the pass has done what it says.
prepare() {
    "$TILECC" -arch=sm_90a --save-temps -Rpass=split_wide_tiles "$1.tile" -o "$1.o" 2>"$1.remarks"
    grep -q "$2" "$1.remarks" || { cat "$1.remarks"; return 1; }
    "$TILECC" -arch=sm_90a --emit=tir "$1.tile"
}

# same SOURCE ARGUMENTS…: both instances give what the source means, bit by bit.
same() {
    source=$1
    shift
    for arguments in "$@"; do
        for instance in 0 1; do
            "$TILECC" --interpret="${source}_row__$instance($arguments)" "${source}_row.$instance.sm_90a.tir" >want
            "$TILECC" --interpret="${source}_row__$instance($arguments)" "$source.${source}_row.$instance.sm_90a.tir" >got
            cmp want got || { echo "$source($arguments), instance $instance"; return 1; }
        done
    done
}

@test "a row whose exponentials are partly kept, partly computed again from shared memory" {
    cat >soft.tile <<'END'
kernel row(x: in bf16[M, N], y: out bf16[M, N]) alias(x, y) const(B: {16384} >= N) grid(row: M) tune(warps: {4} = 4) {
    let v = f32(load(x[row, 0 +: B], other = -inf));
    let e = exp(v - max(v));
    y[row, 0 +: B] = bf16(e / sum(e));
}
END
    prepare soft 'the tile stays in shared memory, 32768 bytes'
    same soft '[2, 16384], [2, 16384]' '[1, 9001], [1, 9001]' '[1, 1], [1, 1]'
}

@test "a row of two sums that leaves registers to a third block" {
    cat >norm.tile <<'END'
kernel row(x: in bf16[M, N], w: in bf16[N], y: out bf16[M, N]) const(B: {16384} >= N) grid(row: M) {
    let v = f32(x[row, 0 +: B]);
    let d = where(inside(x[row, 0 +: B]), v - sum(v) / f32(N), 0.0);
    y[row, 0 +: B] = bf16(d * (sum(d*d) / f32(N)) * f32(w[0 +: B]));
}
END
    prepare norm 'registers for 3 blocks'
    same norm '[2, 16384], [16384], [2, 16384]' '[1, 777], [777], [1, 777]'
}

@test "a row that shared memory has no room for is read again, also in place" {
    cat >wide.tile <<'END'
kernel row(x: in f32[M, N], y: out f32[M, N]) alias(x, y) const(B: {65536} >= N) grid(row: M) {
    let v = x[row, 0 +: B];
    y[row, 0 +: B] = v - sum(v);
}
END
    prepare wide 'written in 4 pieces'
    same wide '[1, 40000], [1, 40000]'
    ! grep -q 'stays in shared memory' wide.remarks || false
}

@test "a store in front of the sum that keeps pieces, two stores, a view written beyond another's end" {
    cat >early.tile <<'END'
kernel row(x: in bf16[M, N], z: out bf16[M, N], y: out bf16[M, N]) const(B: {4096} >= N) grid(r: M) tune(warps: {1} = 1) {
    let v = f32(x[r, 0 +: B]);
    let e = exp2(v);
    z[r, 0 +: B] = bf16(e + max(v));
    y[r, 0 +: B] = bf16(e * sum(e));
}
END
    cat >longer.tile <<'END'
kernel row(x: in bf16[M, N], y: out bf16[M, K]) const(B: {4096} >= N) grid(r: M) tune(warps: {1} = 1) {
    let v = f32(x[r, 0 +: B]);
    let d = where(inside(x[r, 0 +: B]), v - max(v), 1.0);
    y[r, 0 +: B] = bf16(d + sum(d * d));
}
END
    prepare early 'written in 8 pieces'
    same early '[2, 4096], [2, 4096], [2, 4096]' '[1, 3001], [1, 3001], [1, 3001]'
    prepare longer 'without a mask where all of the row is inside'
    same longer '[2, 4096], [2, 4096]' '[1, 3001], [1, 4096]' '[1, 8], [1, 5]'
}

@test "weights whose place the last sum tells are not read in front of it" {
    cat >told.tile <<'END'
kernel row(x: in bf16[M, N], w: in bf16[K], y: out bf16[M, N]) const(B: {4096} >= N) grid(r: M) tune(warps: {1} = 1) {
    let v = f32(x[r, 0 +: B]);
    let t = max(v);
    y[r, 0 +: B] = bf16(v * t * f32(w[i64(t) +: B]));
}
END
    prepare told 'written in 8 pieces'
    same told '[2, 4096], [8192], [2, 4096]' '[1, 77], [300], [1, 77]'
}
