#!/usr/bin/env bats
# How long tilecc itself takes, without ptxas: ratios between kernels or between sizes of one, so that they hold on any
# machine.

setup() { cd "$BATS_TEST_TMPDIR" || return 1; }

# repeated FILE: the kernel of standard input, with its NUMBER, COPIES times: so many that what is timed takes a tenth of a
# second and more, of which a ratio says something.
repeated() {
    local copy text
    text=$(cat)
    for ((copy = 0; copy < COPIES; copy++)); do printf '%s\n' "${text//NUMBER/$copy}"; done >"$1"
}

# least_user ARCH NAME...: compiles NAME.tile to NAME.ptx, all of them in turns, so that what else the machine does meets
# each; sets `least` to the least user time of each, in milliseconds.
declare -gA least
least_user() {
    local TIMEFORMAT=%3U arch=$1 name now
    shift
    least=()
    for _ in 1 2 3 4 5; do
        for name; do
            now=$({ time "$TILECC" -arch="$arch" -j1 -w --emit=ptx -o - "$name.tile" >"$name.ptx"; } 2>&1)
            now=$((10#${now/./}))
            [ "$now" -ge "${least[$name]-999999}" ] || least[$name]=$now
        done
    done
    for name; do echo "$name: ${least[$name]} milliseconds"; done
}

# count PATTERN NAME: lines of NAME.ptx with it.
count() { grep -c "$1" "$2.ptx"; }

@test "a product is compiled about as fast with an epilogue that loads or draws random numbers" {
    # LLVM went through the whole function again for every block in which it changed anything: three times as long;
    # sixty instructions for each random number: seven times
    COPIES=2
    write() { # NAME RESULT
        repeated "$1.tile" <<END
kernel sumNUMBER(a: in bf16[M, K], b: in bf16[K, N], old: in f32[M, N], seed: u64, o: out f32[M, N])
    grid(m: cdiv(M, 128), n: cdiv(N, 128))
{
    var s = f32[128, 128](0);
    for k in 0..K step 32 s += a[m*128 +: 128, k +: 32] @ b[k +: 32, n*128 +: 128];
    let at = iota(128)[:, None] * N + iota(128)[None, :];
    o[m*128 +: 128, n*128 +: 128] = $2;
}
END
    }
    write alone s
    write added 's + old[m*128 +: 128, n*128 +: 128]'
    write dropped 'where(rand(seed, at) < 0.1, 0.0, s)'
    least_user sm_80 alone added dropped
    [ "$(count ld.global added)" -gt "$(count ld.global alone)" ]
    [ "$(count 'mul.wide.u32' dropped)" -ge $((2560 * COPIES)) ] # ten for each of 128 sums of a thread, twice
    [ $((least[added] * 2)) -lt $((least[alone] * 5)) ]
    [ "${least[dropped]}" -lt $((least[alone] * 4)) ]
}

@test "a loop with four times the loads takes about four times as long" {
    # each load was compared with each, in every round of making room for them: forty times as long
    for count in 100 400; do
        COPIES=1 repeated loads$count.tile <<END
kernel sumsNUMBER(x: in f32[M, N], y: out f32[M])
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
    least_user sm_90a loads100 loads400
    [ "$(count ld.global loads400)" -ge $((2 * $(count ld.global loads100))) ]
    [ "${least[loads400]}" -lt $((least[loads100] * 8)) ]
}

@test "an index is not computed anew for each way that leads to what it comes from" {
    # twenty-four steps that use the one before twice: sixteen million ways, a second and more for each kernel
    for count in 2 24; do
        COPIES=10 repeated steps$count.tile <<END
kernel sumsNUMBER(x: in f32[N], n: i32, y: out f32[M])
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
    least_user sm_80 steps2 steps24
    [ "$(count mul.lo steps24)" -ge $((2 * $(count mul.lo steps2))) ]
    [ "${least[steps24]}" -lt $((least[steps2] * 5 + 100)) ]
}

@test "a product in three loops is compiled about as fast as in one" {
    # tiles of 64 rows would have two consumers in one loop and one in three
    # check_machine ran all rounds of the inner loops until it had no steps left: six times as long
    COPIES=2
    write() { # NAME LOOPS FACTORS
        repeated "$1.tile" <<END
kernel sumNUMBER(x: in f16[R, Q, M, K], w: in f16[R, Q, K, N], y: out f16[M, N])
    grid(n: cdiv(N, 64), m: cdiv(M, 128))
{
    var s = f32[128, 64](0);
    $2 for k in 0..K step 32
        s += x[$3, m*128 +: 128, k +: 32] @ w[$3, k +: 32, n*64 +: 64];
    y[m*128 +: 128, n*64 +: 64] = f16(s);
}
END
    }
    write flat '' '0, 0'
    write nested 'for r in 0..R for q in 0..Q' 'r, q'
    least_user sm_90a flat nested
    [ "$(count mbarrier.try_wait nested)" -ge "$(count mbarrier.try_wait flat)" ]
    [ "${least[nested]}" -lt $((least[flat] * 3)) ]
}
