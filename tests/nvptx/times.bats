#!/usr/bin/env bats
# How long tilecc itself takes, without ptxas: ratios between kernels or between sizes of one, so that they hold on any
# machine.

setup() { cd "$BATS_TEST_TMPDIR" || return 1; }

# least_user OUT FILE [ARCH]: the least user time of four compilations to PTX, in milliseconds.
least_user() {
    local TIMEFORMAT=%3U least=999999 now
    for _ in 1 2 3 4; do
        now=$({ time "$TILECC" -arch="${3-sm_80}" -j1 -w --emit=ptx -o - "$2" >"$1"; } 2>&1)
        now=$((10#${now/./}))
        [ "$now" -ge "$least" ] || least=$now
    done
    echo "$least"
}

@test "a product is compiled about as fast with an epilogue that loads or draws random numbers" {
    # LLVM went through the whole function again for every block in which it changed anything: three times as long;
    # sixty instructions for each random number: seven times
    write() { # FILE RESULT
        cat >"$1" <<END
kernel sum(a: in bf16[M, K], b: in bf16[K, N], old: in f32[M, N], seed: u64, o: out f32[M, N])
    grid(m: cdiv(M, 128), n: cdiv(N, 128))
{
    var s = f32[128, 128](0);
    for k in 0..K step 32 s += a[m*128 +: 128, k +: 32] @ b[k +: 32, n*128 +: 128];
    let at = iota(128)[:, None] * N + iota(128)[None, :];
    o[m*128 +: 128, n*128 +: 128] = $2;
}
END
    }
    write sum.tile s
    write added.tile 's + old[m*128 +: 128, n*128 +: 128]'
    write dropped.tile 'where(rand(seed, at) < 0.1, 0.0, s)'
    alone=$(least_user alone.ptx sum.tile)
    added=$(least_user added.ptx added.tile)
    dropped=$(least_user dropped.ptx dropped.tile)
    [ "$(grep -c ld.global added.ptx)" -gt "$(grep -c ld.global alone.ptx)" ]
    [ "$(grep -c 'mul.wide.u32' dropped.ptx)" -ge 2560 ] # ten for each of 128 sums of a thread, twice
    [ $((added * 2)) -lt $((alone * 5)) ] && [ "$dropped" -lt $((alone * 4)) ] ||
        { echo "$alone, $added and $dropped milliseconds"; return 1; }
}

@test "a loop with four times the loads takes about four times as long" {
    # each load was compared with each, in every round of making room for them: forty times as long
    for count in 100 400; do
        cat >loads$count.tile <<END
kernel sums(x: in f32[M, N], y: out f32[M])
    grid(i: cdiv(M, 128))
{
    var r = f32[128](0);
    for j in 0..N step $count {
        static for k in 0..$count r = r + x[i*128 +: 128, j + k];
    }
    y[i*128 +: 128] = r;
}
END
    done
    few=$(least_user few.ptx loads100.tile sm_90a)
    many=$(least_user many.ptx loads400.tile sm_90a)
    [ "$(grep -c ld.global many.ptx)" -ge $((2 * $(grep -c ld.global few.ptx))) ]
    [ "$many" -lt $((few * 8)) ] || { echo "$few and $many milliseconds"; return 1; }
}

@test "an index is not computed anew for each way that leads to what it comes from" {
    # twenty-four steps that use the one before twice: sixteen million ways
    for count in 2 24; do
        cat >steps$count.tile <<END
kernel sums(x: in f32[N], n: i32, y: out f32[M])
    grid(m: cdiv(M, 128))
{
    var s = f32[128](0);
    for k in 0..n {
        var i = k;
        static for j in 0..$count i = i * i + i;
        s += x[i64(i) +: 128];
    }
    y[m*128 +: 128] = s;
}
END
    done
    few=$(least_user few.ptx steps2.tile)
    many=$(least_user many.ptx steps24.tile)
    [ "$(grep -c mul.lo many.ptx)" -ge $((2 * $(grep -c mul.lo few.ptx))) ]
    [ "$many" -lt $((few * 3 + 100)) ] || { echo "$few and $many milliseconds"; return 1; }
}

@test "a product in three loops is compiled about as fast as in one" {
    # check_machine ran all rounds of the inner loops until it had no steps left: six times as long
    write() { # FILE LOOPS FACTORS
        cat >"$1" <<END
kernel sum(x: in f16[R, Q, M, K], w: in f16[R, Q, K, N], y: out f16[M, N])
    grid(n: cdiv(N, 64), m: cdiv(M, 64))
{
    var s = f32[64, 64](0);
    $2 for k in 0..K step 32
        s += x[$3, m*64 +: 64, k +: 32] @ w[$3, k +: 32, n*64 +: 64];
    y[m*64 +: 64, n*64 +: 64] = f16(s);
}
END
    }
    write flat.tile '' '0, 0'
    write nested.tile 'for r in 0..R for q in 0..Q' 'r, q'
    flat=$(least_user flat.ptx flat.tile sm_90a)
    nested=$(least_user nested.ptx nested.tile sm_90a)
    [ "$(grep -c mbarrier.try_wait nested.ptx)" -ge "$(grep -c mbarrier.try_wait flat.ptx)" ]
    [ "$nested" -lt $((flat * 5 / 2)) ] || { echo "$flat and $nested milliseconds"; return 1; }
}
