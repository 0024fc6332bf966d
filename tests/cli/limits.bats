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
