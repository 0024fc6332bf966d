#!/usr/bin/env bats
# What does not fit a GPU is told before LLVM and ptxas work on it, and does not end what does fit.
load helper

setup() { cd "$BATS_TEST_TMPDIR" || return 1; }

@test "-fsyntax-only -arch: tiles that no thread holds, shared memory that is not there, and what would fit" {
    cat >wide.tile <<'END'
kernel wide(x: in f32[M, N], y: out f32[M, N]) grid(m: cdiv(M, 4096)) {
    y[m*4096 +: 4096, 0 +: 4096] = x[m*4096 +: 4096, 0 +: 4096];
}
END
    expect 0 tilecc -fsyntax-only wide.tile
    expect 1 timeout 20 "$TILECC" -fsyntax-only -arch=sm_90a wide.tile
    contains "wide.tile:2:36: error: this tile has 32768 elements for each of 512 threads; 4096 is the most [E1206]"
    contains "a tile of up to 2097152 elements fits 512 threads"
    cat >turn.tile <<'END'
kernel turn(x: in f64[M, N], y: out f64[N, M]) grid(m: cdiv(M, 256), n: cdiv(N, 256)) {
    y[n*256 +: 256, m*256 +: 256] = trans(x[m*256 +: 256, n*256 +: 256]);
}
END
    expect 1 timeout 20 "$TILECC" -fsyntax-only -arch=sm_75 turn.tile
    contains "turn.tile:1:8: error: turn sm_75 aligned needs 262144 bytes of shared memory, sm_75 has 65536 [E1201]"
    contains "262144 of these bytes are taken here; tiles with 4 times fewer elements fit"
}

@test "W1202: registers that tiles are certain to need" {
    cat >rows.tile <<'END'
kernel rows(x: in f32[M, N], w: in f32[N], r: out f32[N]) const(B: {16384} >= N) grid(p: 16) tune(warps: {4}) {
    var a, b, c = f32[B](0), f32[B](0), f32[B](0);
    let g = w[0 +: B];
    for m in p..M step 16 {
        let v = x[m, 0 +: B];
        let s = sum(v * g);
        a += v * s;
        b += v * v * s;
        c += exp(v) * s;
    }
    if (p == 0) r[0 +: B] = a + b * c;
}
END
    expect 0 tilecc -fsyntax-only -arch=sm_90a rows.tile
    contains "this kernel keeps registers in local memory [-Wspills]"
    contains "registers of tiles a thread, which has 255"
}

@test "W1206: an instance that cannot be made is left out, and what takes its calls is said" {
    cat >k.tile <<'END'
kernel turn(x: in f64[M, N], y: out f64[N, M]) const(B: {32, 64, 256} >= M) grid(n: cdiv(N, B)) {
    y[n*B +: B, 0 +: B] = trans(x[0 +: B, n*B +: B]);
}
END
    expect 0 tilecc -fsyntax-only -arch=sm_90a k.tile
    contains "an instance is left out: turn[B=256] sm_90a aligned needs 262144 bytes of shared memory, sm_90a has 232448 [-Winstance-left-out]"
    contains "turn[B=256] sm_90a general takes its calls"
    expect 0 tilecc -fsyntax-only -arch=sm_75 k.tile
    contains "a call that needs turn[B=256] sm_75 general gets TILE_ERR_NO_IMAGE"
    expect 1 tilecc -fsyntax-only -Werror=instance-left-out -arch=sm_75 k.tile
    expect 1 tilecc -fsyntax-only --spec 'turn[B=256]' -arch=sm_75 k.tile
    contains "[E1201]"
}

@test "an object without the instance holds the others, and the CPU has all" {
    needs_ptxas
    cat >k.tile <<'END'
kernel turn(x: in f64[M, N], y: out f64[N, M]) const(B: {32, 256} >= M) grid(n: cdiv(N, B)) {
    y[n*B +: B, 0 +: B] = trans(x[0 +: B, n*B +: B]);
}
END
    expect 0 tilecc -arch=cpu,sm_75 k.tile -o k.o
    contains "[-Winstance-left-out]"
    expect 0 "$TILECC" info k.o
    contains "B=32"
    [ "$(grep -c 'B=256.*sm_75' <<<"$output")" = 0 ]
}

@test "W1209: of the schedules that the compiler has chosen one that cannot be compiled is left out" {
    needs_ptxas
    cat >k.tile <<'END'
kernel product(a: in f16[M, K], b: in f16[K, N], c: out f16[M, N]) grid(m: cdiv(M, BM), n: cdiv(N, 128))
    tune(BM: {64, 128} = 128) {
    var s = f32[BM, 128](0.0);
    for k in 0..K step 64 { s += a[m*BM +: BM, k +: 64] @ b[k +: 64, n*128 +: 128]; }
    if (BM == 64) s = asm("frobnicate.f32 $0, $1;", s, type = f32, else = s);
    c[m*BM +: BM, n*128 +: 128] = f16(s);
}
END
    expect 0 tilecc -arch=sm_90a k.tile
    contains "k.tile:5:23: warning: a schedule that the compiler has chosen is left out, as it cannot be compiled: ptxas does not take this text"
    contains "'frobnicate' [E1207] [-Wchosen-schedule]"
    expect 0 tilecc info k.o
    contains "0: product[BM=128] sm_90a aligned"
    lacks "BM=64"
    lacks "modelled"
    expect 1 tilecc -arch=sm_90a -Werror=chosen-schedule k.tile
    expect 1 tilecc -arch=sm_90a -D BM=64 k.tile
    contains "[E1207]"
    printf 'tuning 1\nproduct<>[] sm_90a\n    [BM=64] when M < 999\n    []\n' >k.tuning
    expect 1 tilecc -arch=sm_90a --tuning=k.tuning k.tile
    contains "[E1207]"
}

@test "where the default does not fit, what is next is the default, without which nothing takes its calls" {
    needs_ptxas
    cat >turn.tile <<'END'
kernel turn(x: in f64[M, N], y: out f64[N, M]) grid(n: cdiv(N, B), m: cdiv(M, B)) tune(B: {64, 512} = 512) {
    var v = trans(x[m*B +: B, n*B +: B]);
    if (B == 64) v = asm("frobnicate.f64 $0, $1;", v, type = f64, else = v);
    y[n*B +: B, m*B +: B] = v;
}
END
    expect 1 tilecc -arch=sm_90a turn.tile
    contains "turn[B=64] sm_90a general takes its calls"
    contains "'frobnicate' [E1207]"
    lacks "chosen-schedule"
    [ ! -e turn.o ]
}

@test "instances for words are left out where there would be too many" {
    cat >sum.tile <<'END'
kernel sum(a: in strided f16[M, K], b: in strided f16[K, N], d: in strided f16[M, N], e: in strided f16[M, N],
           f: in strided f16[M, N], g: in strided f16[M, N], c: out strided f16[M, N])
    grid(i: cdiv(M, 64), j: cdiv(N, 64))
{
    var s = f32(d[i*64 +: 64, j*64 +: 64] + e[i*64 +: 64, j*64 +: 64] + f[i*64 +: 64, j*64 +: 64] + g[i*64 +: 64, j*64 +: 64]);
    for k in 0..K step 32
        s += a[i*64 +: 64, k +: 32] @ b[k +: 32, j*64 +: 64];
    c[i*64 +: 64, j*64 +: 64] = f16(s);
}
END
    expect 0 tilecc -arch=sm_90a --schedules=1 -fsyntax-only sum.tile # 136 of them, and 128 more for words
    contains "sum\` has 136 instances for sm_90a [-Wmany-instances]"
    cat >product.tile <<'END'
kernel product(a: in strided f16[M, K], b: in strided f16[K, N], c: out f32[M, N]) grid(m: cdiv(M, 64), n: cdiv(N, 64)) {
    var s = f32[64, 64](0);
    for k in 0..K step 32
        s += a[m*64 +: 64, k +: 32] @ b[k +: 32, n*64 +: 64];
    c[m*64 +: 64, n*64 +: 64] = s;
}
END
    expect 0 tilecc -arch=sm_90a --schedules=1 --emit=tir -o - product.tile
    [ "$(grep -c "^kernel.*extent_multiple" <<<"$output")" -eq 4 ]
    expect 0 tilecc -arch=sm_90a --schedules=1 --max-instances=7 --emit=tir -o - product.tile
    [ "$(grep -c "^kernel" <<<"$output")" -eq 7 ] && lacks "extent_multiple" || false
    expect 1 tilecc -arch=sm_90a --schedules=1 --max-instances=6 -fsyntax-only product.tile
    contains "[E0406]"
}
