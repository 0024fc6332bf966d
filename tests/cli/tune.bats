#!/usr/bin/env bats
# tilecc tune: schedules measured on the processor, chosen from logs whose numbers are known, and calls traced.

load helper

setup_file() { export TILECC_CACHE=; }

# k.tile, whose default takes one element a program.
slow_default() { sed -i 's/tune(.*)/tune(B: {1, 4096} = 1)/' k.tile; }
tune() { expect 0 tilecc tune -arch=cpu --seconds=0.01 "$@"; }

@test "a schedule that is faster beyond the noise is chosen, and the same command again measures nothing" {
    slow_default
    mkdir folders
    export TMPDIR=$PWD/folders # alone: others may tune at the same time
    tune k.tile 'k_axpy(2, [N])' N=20000,40000
    contains '2 calls of 1 instance, 1 schedule beside the defaults, 1 of them new'
    grep -q '^k_axpy(2, \[40000\]) .* [1-9][0-9.]*x .*\[B=4096\]$' <<<"$output" || { echo "$output"; return 1; }
    grep -q '^with --tuning=k.tuning, measured again: [1-9][0-9.]*x of the default in the mean of 2 calls$' <<<"$output"
    # what the file makes is what was chosen
    expect 0 tilecc -arch=cpu --tuning=k.tuning k.tile -o k.o
    expect 0 tilecc info k.o
    contains 'axpy[B=4096] cpu'
    cat k.tuning
    [ "$(sed -n 2p k.tuning)" = 'tuning 1' ]
    grep -qx 'axpy cpu' k.tuning
    grep -q '^    \[B=4096\] when N >= 16384 and N <= 65536  *# [1-9][0-9.]*x of the default over 2 shapes$' k.tuning
    cp k.tuning first && cp k.tuning.log first.log
    tune k.tile 'k_axpy(2, [N])' N=20000,40000
    contains '0 of them new'
    lacks 'measured again'
    cmp k.tuning first && cmp k.tuning.log first.log || false
    # another source: nothing of the log holds
    sed -i 's/{1, 4096}/{1, 2048}/' k.tile
    tune k.tile 'k_axpy(2, [N])' N=20000
    contains '1 of them new'
    run grep -c 4096 k.tuning.log
    [ "$output" = 0 ]
    [ -z "$(ls folders)" ]
}

@test "of a look that was cut off and made again the log has some calls twice" {
    slow_default
    tune k.tile 'k_axpy(2, [N])' N=20000,40000
    sed -i '/"round"/d' k.tuning.log
    for call in 20000,1000 20000,1000 40000,10; do
        printf '{"kernel": "axpy", "values": "B=4096", "call": "k_axpy(2, [%s])", "round": 0, "ns": [%s.0], "default": [1000.0]}\n' \
            "${call%,*}" "${call#*,}" >>k.tuning.log
    done
    tune k.tile 'k_axpy(2, [N])' N=20000,40000
    contains '0 of them new'
    grep -q '"round": 1' k.tuning.log || { cat k.tuning.log; return 1; } # the second call promises much
}

@test "what gives other results or cannot be made is dropped, and the log says why" {
    sed -i 's/tune(.*)/tune(B: {64, 1073741824} = 64, C: {1, 2} = 1)/; s/y\[i +: B\];/y[i +: B] + f32(C);/' k.tile
    tune -w k.tile 'k_axpy(2, [1000])'
    grep -q '"values": "C=2", "dropped": "k_axpy(2, \[1000\]): .y. differs from what the default gives"' k.tuning.log || { cat k.tuning.log; return 1; }
    grep -q '"values": "B=1073741824", "dropped": ' k.tuning.log
    grep -q '^# axpy cpu: over 1 shape none of 0 schedules is better than the default by more than the noise$' k.tuning
}

@test "facts of strides are told where all names of tune are the compiler's own" {
    cat >rows.tile <<'END'
kernel rows(x: in strided f32[M, K], y: out f32[M]) grid(m: M) tune(split_k: {1, 4})
{
    var s = f32(0);
    for k in 0 .. cdiv(K, 64) {
        s += sum(x[m, k*64 +: 64]);
    }
    y[m] = s;
}
END
    tune --budget=5 rows.tile 'rows([10, 400])'
    grep -q '"kernel": "rows", "facts": "x.stride\[1\]=1 general"' rows.tuning.log
    grep -q '^\(# \)\?rows cpu x.stride\[1\]=1 general' rows.tuning || { cat rows.tuning; return 1; }
    printf 'tuning 1\nrows cpu x.stride[1]=1 general\n    [split_k=4] when K >= 64\n' >by.tuning
    expect 0 tilecc -arch=cpu --tuning=by.tuning rows.tile -o rows.o
    expect 0 tilecc info rows.o
    contains 'rows[split_k=4] cpu x.stride[1]=1 general: '
    contains '; when K >= 64'
}

@test "instances of other types and keys are tuned by themselves" {
    cat >rows.tile <<'END'
kernel rows<T: {f32, f16}>(x: in T[M, N], y: out T[M]) const(B: {64, 256} >= N) grid(m: cdiv(M, R)) tune(R: {1, 64} = 1)
{
    y[m*R +: R] = T(sum(f32(x[m*R +: R, 0 +: B]), axis = 1));
}
END
    expect 0 tilecc tune -arch=cpu --seconds=0.01 rows.tile 'rows_f32([2000, N])' 'rows_f16([2000, 50])' N=50,60,200
    contains '4 calls of 3 instances, 3 schedules beside the defaults, 3 of them new'
    for head in 'rows<f32>\[B=64\]' 'rows<f32>\[B=256\]' 'rows<f16>\[B=64\]'; do
        [ "$(grep -c "^\(# \)\?$head cpu" rows.tuning)" = 1 ] || { cat rows.tuning; return 1; }
    done
    grep -q '"call": "rows_f32(\[2000, 200\])", "kernel": "rows<f32>\[B=256\]", .*"N": 200' rows.tuning.log
    expect 0 tilecc -arch=cpu --tuning=rows.tuning rows.tile -o rows.o
}

@test "a run that was killed goes on from its log" {
    sed -i 's/tune(.*)/tune(B: {1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024, 2048} = 1)/' k.tile
    # some thing of it is in the log, but not all
    setsid "$TILECC" tune -arch=cpu --seconds=0.01 k.tile 'k_axpy(2, [30000])' >out 2>&1 3>&- &
    while ! grep -q '"round"' k.tuning.log 2>/dev/null; do
        kill -0 $! || { cat out; return 1; }
        sleep 0.02
    done
    kill -9 $!
    wait $! || true
    kept=$(wc -l <k.tuning.log)
    head -n "$kept" k.tuning.log >before
    [ ! -e k.tuning ]
    printf '{"kernel": "axpy", "val' >>k.tuning.log # a line that was cut off
    tune k.tile 'k_axpy(2, [30000])'
    lacks '11 of them new'
    head -n "$kept" k.tuning.log | cmp - before
    [ "$(grep -c '"round": 0' k.tuning.log)" = 11 ]
    run grep -c '"val$' k.tuning.log
    [ "$output" = 0 ]
    grep -q '\[B=' k.tuning
}

@test "shares of the candidates, and their logs joined" {
    sed -i 's/tune(.*)/tune(B: {1, 2, 4096} = 1)/' k.tile
    tune k.tile 'k_axpy(2, [30000])' --part=1/2 -o a.tuning
    contains '1 of them new'
    tune k.tile 'k_axpy(2, [30000])' --part=2/2 -o b.tuning
    contains '1 of them new'
    expect 0 tilecc tune --merge a.tuning.log b.tuning.log -o merged.tuning
    grep -q '\[B=4096\]' merged.tuning
    # one run with all that is in both
    { cat a.tuning.log; grep '"values"' b.tuning.log; } >whole.tuning.log
    tune k.tile 'k_axpy(2, [30000])' -o whole.tuning
    contains '0 of them new'
    cmp merged.tuning whole.tuning
    # another share in the same log
    tune k.tile 'k_axpy(2, [30000])' --part=1/2 -o b.tuning
    contains '1 of them new'
    tune k.tile 'k_axpy(2, [30000])' --part=2/2 -o b.tuning
    contains '0 of them new'
}

# A log of calls f([M,K]) and schedules: `log <<<'M K NAME:FACTOR ...'` with lines of what each takes of the default's time; its
# samples spread by two per cent.  `NAME:A/B/C/D/E` says each round.
log() {
    awk '
        function sample(center) { seed = (seed * 1103515245 + 12345) % 2147483648; return center * (0.99 + 0.02 * seed / 2147483648) }
        function list(center,   text, i) { for (i = 0; i < 20; i++) text = text (i ? ", " : "") sprintf("%.1f", sample(center)); return text }
        BEGIN { seed = 7; print "{\"tuning\": 1, \"source\": \"f.tile\", \"content\": \"00\", \"target\": \"sm_90a\", \"device\": \"a GPU\", \"driver\": \"13.0\"}" }
        { call = "f([" $1 "," $2 "])"
          printf "{\"call\": \"%s\", \"kernel\": \"f<bf16>\", \"facts\": \"aligned\", \"names\": {\"M\": %s, \"K\": %s}, \"weight\": 1}\n", call, $1, $2
          for (i = 3; i <= NF; i++) {
              split($i, part, ":"); count = split(part[2], factor, "/")
              for (round = 0; round <= 5; round++) {
                  here = factor[count > 1 && round ? round : 1]
                  printf "{\"kernel\": \"f<bf16>\", \"values\": \"%s\", \"call\": \"%s\", \"round\": %d, \"ns\": [%s], \"default\": [%s]}\n", part[1], call, round, list(1000 * here), list(1000)
              }
          } }'
}
merge() { expect 0 tilecc tune --merge f.log -o f.tuning "$@"; }
# chosen 'a schedule, its condition, and what is said of it, as grep takes them' <log
chosen() {
    log >f.log
    merge
    grep -q "^    $1$" f.tuning || { cat f.tuning; return 1; }
}

@test "nothing is chosen by less than the noise" {
    log >f.log <<'END'
64 64 A=1:1 A=2:0.994 A=3:0.9/0.9/0.9/0.9/1.02 A=4:1.3
128 64 A=1:1 A=2:0.994 A=3:0.9/0.9/0.9/0.9/1.02 A=4:1.3
END
    merge
    run grep -v '^#' f.tuning
    [ "$output" = "$(printf 'tuning 1\n')" ] || { cat f.tuning; return 1; }
    chosen '\[A=5\] when M == 64 and K == 64  *# 1.05x of the default over 1 shape' <<<'64 64 A=1:1 A=5:0.95'
}

@test "a call that was not measured beside a schedule has no time" {
    log >f.log <<<'64 64'
    merge
    grep -q '^f(\[64,64\])  not measured           -       -             the default$' <<<"$output" || { echo "$output"; return 1; }
    [ "$(grep -c 'none of 0 schedules' f.tuning)" = 1 ]
}

@test "conditions that a person can read" {
    log >f.log <<'END'
16 1024 A=1:0.5 B=1:0.9
64 4096 A=1:0.5 B=1:0.9
64 16384 A=1:0.5 B=1:0.9
256 1024 A=1:1.4 B=1:0.8
256 4096 A=1:1.4 B=1:0.8
1024 1024 A=1:1.4 B=1:0.8
4096 4096 A=1:1.4 B=1:1.2
8192 4096 A=1:1.4 B=1:1.2
END
    merge
    sed 's/  *#.*//; /^#/d; /^$/d' f.tuning >got
    printf '%s\n' 'tuning 1' 'f<bf16> sm_90a aligned' '    [A=1] when M >= 16 and M <= 128 and K >= 1024 and K <= 16384' \
        '    [B=1] when M >= 128 and M <= 2048 and K >= 1024 and K <= 8192' | diff - got
    # two of them at most: one beside the default
    merge --schedules=2
    [ "$(grep -c '^    \[' f.tuning)" = 1 ] || { cat f.tuning; return 1; }
    # products, and two thresholds at once
    chosen '\[A=1\] when M\*K <= [0-9]* and M >= 64 and .*' <<'END'
64 64 A=1:0.5
64 1024 A=1:1.5
64 16384 A=1:1.5
1024 64 A=1:1.5
1024 1024 A=1:1.5
1024 16384 A=1:1.5
16384 64 A=1:1.5
16384 1024 A=1:1.5
16384 16384 A=1:1.5
END
    chosen '\[A=1\] when M >= 64 and M <= 256 and K >= 4096 and K <= 16384 .*' <<'END'
64 64 A=1:1.5
64 16384 A=1:0.5
1024 1024 A=1:1.5
16384 64 A=1:1.5
16384 16384 A=1:1.5
1024 16384 A=1:1.5
END
    # best everywhere
    chosen '\[A=1\] when M >= 64 and M <= 128 and K == 64  *# 1.83x of the default over 2 shapes' <<'END'
64 64 A=1:0.5
128 64 A=1:0.6
END
}

# bounds 'the condition of the only line' <log
bounds() {
    log >f.log
    merge
    [ "$(sed -n 's/^    \[A=1\] //; s/  *# .*shapes*$//; /^when/p' f.tuning)" = "$1" ] || { cat f.tuning; return 1; }
}

@test "no schedule is taken beyond the extents that were measured" {
    bounds 'when M <= 1 and K == 1024' <<<'1 1024 A=1:0.5'
    bounds 'when M <= 1 and K <= 1' <<<'0 1 A=1:0.5'
    # up to a power of two on both sides
    bounds 'when M >= 64 and M <= 128 and K >= 512 and K <= 1024' <<<'100 1000 A=1:0.5'
    bounds 'when M <= 32 and K >= 256 and K <= 4096' <<'END'
1 300 A=1:0.5
17 2049 A=1:0.5
END
    # between calls that take it and calls that do not
    bounds 'when M <= 64 and K >= 1024 and K <= 4096' <<'END'
1 1024 A=1:0.5
1 2048 A=1:0.5
4096 8192 A=1:1.5
END
    bounds 'when M >= 64 and M <= 4096 and K == 1024' <<'END'
1 1024 A=1:1.5
4096 1024 A=1:0.5
END
}

@test "calls beyond what was measured take the default" {
    slow_default
    tune k.tile 'k_axpy(2, [40000])'
    grep -q '^    \[B=4096\] when N >= 32768 and N <= 65536 ' k.tuning || { cat k.tuning; return 1; }
    expect 0 tilecc -arch=cpu --tuning=k.tuning k.tile -o k.o
    cat >m.c <<'END'
#include "k.h"
#include <stdio.h>
static int number(int n)
{
    static float from[65537], to[65537];
    struct tile_f32_1 x = {from, {n}, {1}}, y = {to, {n}, {1}};
    struct tile_kernel_info info;
    return k_axpy_query(TILE_CPU, 2, &x, &y, &info) ? -1 : info.variant;
}
int main(void)
{
    printf("%d %d %d %d\n", number(32767), number(32768), number(65536), number(65537));
}
END
    tilecc --emit-runtime -o rt.o
    "$CC" -I"$SRCDIR/runtime-stub" m.c k.o rt.o -ldl -lpthread -lm -o m
    [ "$(./m)" = '1 0 0 1' ] || { ./m; return 1; }
}

@test "of a trace with many calls those that came most often are measured" {
    for i in $(seq 300); do printf '%12d  k_axpy(2,[%d],[%d])  # packed aligned\n' "$i" "$i" "$i"; done >trace
    tune k.tile --trace=trace --seconds=0.000001 --budget=10
    contains '44 calls of the trace are not measured; 256 are'
    made=$(grep -c '"weight"' k.tuning.log) # fewer where the seconds are over before
    [ "$made" -gt 0 ] && [ "$made" -le 256 ] || false
    grep -q '"weight": 300}' k.tuning.log
    run grep '"weight": 44}' k.tuning.log
    [ -z "$output" ]
}

@test "logs that do not belong together" {
    log >f.log <<<'64 64 A=1:0.5'
    sed 's/"a GPU"/"another GPU"/' f.log >g.log
    expect 3 tilecc tune --merge f.log g.log -o f.tuning
    contains "'g.log' is of another device than the logs before it"
    sed 's/"00"/"01"/' f.log >g.log
    expect 3 tilecc tune --merge f.log g.log -o f.tuning
    contains "'g.log' is of another source, option or tilecc than the logs before it"
    for bad in 'x' '{}'; do
        echo "$bad" >g.log
        expect 3 tilecc tune --merge g.log -o f.tuning
        contains "cannot take 'g.log': line 1 is not the beginning of a log of tilecc tune"
    done
    echo '{"tuning": 2}' >g.log
    expect 3 tilecc tune --merge g.log -o f.tuning
    contains "cannot take 'g.log': line 1 is of another version of tilecc tune"
    # a call of other names, of names and weights that no call has, and more calls than there may be
    for bad in 's/"M": 64, /"M": 64, "N": 1, /' 's/"M": 64/"M": 1e300/' 's/"weight": 1/"weight": 1e999/'; do
        { cat f.log; sed -n 2p f.log | sed "s/f(/g(/; $bad"; } >g.log
        expect 3 tilecc tune --merge g.log -o f.tuning
        contains "cannot take 'g.log': line 9 is not as tilecc tune writes it"
    done
    more_calls() { awk -v from="$1" 'NR == 2 { for (i = from; i < from + 200; i++) { line = $0; sub(/f\(\[64/, "f([" i, line); print line } }' f.log; }
    { cat f.log; more_calls 100; more_calls 300; } >g.log
    expect 3 tilecc tune --merge g.log -o f.tuning
    contains "is not as tilecc tune writes it"
    for part in 1 2; do
        { head -n 1 f.log; more_calls ${part}000; } >g$part.log
    done
    expect 3 tilecc tune --merge g1.log g2.log -o f.tuning
    contains "'g2.log' has more calls than the logs before it"
    : >g.log
    expect 3 tilecc tune --merge g.log -o f.tuning
    contains "cannot take 'g.log': it is empty"
    expect 3 tilecc tune --merge none.log -o f.tuning
    contains "cannot take 'none.log': No such file or directory"
    expect 2 tilecc tune --merge --part=1/2 f.log -o f.tuning
    contains "it takes no --part"
    expect 2 tilecc tune --merge f.log
    contains "tune --merge needs logs and -o"
    for format in 'x\n' x; do
        printf "$format" >k.tuning.log
        expect 3 tilecc tune -arch=cpu k.tile 'k_axpy(2, [9])'
        contains "cannot go on with 'k.tuning.log'"
        [ "$(cat k.tuning.log)" = x ]
    done
}

@test "one process at a time writes a log, and the log of another source is kept" {
    exec 9>k.tuning.log
    flock 9
    expect 3 tilecc tune -arch=cpu k.tile 'k_axpy(2, [9])' 9>&-
    contains "another 'tilecc tune' writes 'k.tuning.log' now"
    exec 9>&-
    log >k.tuning.log <<<'64 64 A=1:0.5'
    cp k.tuning.log before
    tune k.tile 'k_axpy(2, [9])'
    contains "'k.tuning.log' is of another source, tilecc or option: it is 'k.tuning.log.old' now"
    cmp before k.tuning.log.old
}

@test "where no file can be made the search ends, and no schedule is dropped for it" {
    mkdir tools
    cat >tools/cc <<END
#!/bin/sh
case \$* in *'-I 1 '*) echo 'ld: final link failed: No space left on device' >&2; exit 1 ;; esac
exec $(command -v "${CC:-cc}") "\$@"
END
    chmod +x tools/cc
    CC=$PWD/tools/cc expect 3 tilecc tune -arch=cpu k.tile 'k_axpy(2, [9])'
    contains 'cannot make the program: ld: final link failed: No space left on device'
    run grep -c dropped k.tuning.log
    [ "$output" = 0 ]
}

@test "what is refused" {
    expect 2 tilecc tune
    contains "tune needs a .tile file and a call"
    expect 2 tilecc tune k.tile
    contains "tune needs a .tile file and a call"
    expect 2 tilecc tune -arch=cpu k.tile 'k_axpy(2, [x])'
    contains "tune: an extent is not a number"
    expect 2 tilecc tune -arch=cpu,sm_80 k.tile 'k_axpy(2, [9])'
    contains "'tilecc tune' measures one architecture"
    expect 2 tilecc tune -arch=cpu --spec axpy k.tile 'k_axpy(2, [9])'
    contains "it takes no --spec"
    for bad in - /dev/null .; do
        expect 2 tilecc tune -arch=cpu k.tile 'k_axpy(2, [9])' -o $bad
        contains "-o names a file, which '$bad' is not"
    done
    for bad in 0/2 3/2 1 1/ x/2; do
        expect 2 tilecc tune -arch=cpu --part=$bad k.tile 'k_axpy(2, [9])'
        contains "--part: '$bad' is no share such as 1/8"
    done
    expect 2 tilecc tune -arch=cpu --budget=x k.tile 'k_axpy(2, [9])'
    contains "--budget: 'x' is no number over 0"
    expect 2 tilecc -arch=cpu --budget=3 k.tile
    contains "belong to 'tilecc tune'"
    echo 'kernel f(x: inout f32[N]) grid(i: N) { x[i] += 1.0; }' >plain.tile
    expect 2 tilecc tune -arch=cpu plain.tile 'plain_f([9])'
    contains "have no choice"
    [ ! -e plain.tuning.log ]
    echo '3 g_f([9])' >trace
    expect 2 tilecc tune -arch=cpu k.tile --trace=trace
    contains "the source has none of the kernels that the trace calls, such as g_f([9])"
    for bad in 'inf k_axpy(2, [9])' '1e300 k_axpy(2, [9])' '0 k_axpy(2, [9])' '3 k_axpy(2, [9]) x'; do
        echo "$bad" >trace
        expect 2 tilecc tune -arch=cpu k.tile --trace=trace
        contains "'trace', line 1: not a count and a call"
    done
    echo '12 f' >trace
    expect 2 tilecc tune -arch=cpu k.tile --trace=trace
    contains "'trace', line 1: not a count and a call"
    expect 2 tilecc tune -arch=cpu k.tile --trace=none
    contains "cannot read 'none'"
}

# k.tile, and a program that calls it.
traced_program() {
    expect 0 tilecc -arch=cpu k.tile -o k.o
    expect 0 tilecc --emit-runtime -o tile_rt.o
    { echo '#include "k.h"
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>
static float x[10000], y[10000];
static int call(float a, int64_t n, int64_t stride) {
    struct tile_f32_1 vx = {x, {n}, {stride}}, vy = {y, {n}, {1}};
    return k_axpy(TILE_CPU, a, &vx, &vy);
}
static void *calls(void *unused) { for (int i = 0; i < 100; i++) call(2, 64, 1); return unused; }
int main(void) {'
      cat
      echo 'return 0; }'
    } >app.c
    ${CC:-cc} app.c k.o tile_rt.o -o app -ldl -lpthread -lm
}

@test "TILE_TRACE: a line for each call that differs, with how often it came, also from threads" {
    sed -i 's/x: in f32/x: in strided f32/' k.tile
    traced_program <<'END'
    pthread_t threads[4];
    for (int i = 0; i < 5; i++) if (call(1.5f + (float)i, 4000, 1)) return 1;
    call(2, 77, 1); call(2, 77, 3); call(3, 77, 1);
    for (int i = 0; i < 4; i++) pthread_create(&threads[i], NULL, calls, NULL);
    for (int i = 0; i < 4; i++) pthread_join(threads[i], NULL);
END
    TILE_TRACE=trace ./app
    cat >wanted <<'END'
           5  k_axpy(1.5,[4000],[4000])  # packed aligned
           2  k_axpy(2,[77],[77])  # packed aligned
           1  k_axpy(2,[77],[77])  # strided aligned
         400  k_axpy(2,[64],[64])  # packed aligned
END
    diff wanted trace
    slow_default
    printf '%12d  other_f([9])  # packed\n' 3 >>trace
    tune k.tile --trace=trace
    contains '3 calls of 1 instance' # how views lie does not tell calls of the command line apart
    contains 'the trace has calls of kernels that the source does not have, such as other_f([9])'
    grep -q '"call": "k_axpy(2,\[77\],\[77\])".*"weight": 3}' k.tuning.log
}

@test "TILE_TRACE: the child of a fork has a file of its own or none, and what cannot be written is told" {
    traced_program <<'END'
    call(2, 10, 1);
    if (fork() == 0) { call(2, 20, 1); call(2, 20, 1); exit(0); }
    wait(NULL);
    for (int i = 0; i < 3; i++) call(2, 10, 1);
    if (getenv("ABRUPT")) _exit(0); /* the count is as it was at 4 */
    if (call(2, 10, 1)) { puts(tile_last_error()); return 3; }
END
    TILE_TRACE=trace ./app
    printf '           5  k_axpy(2,[10],[10])  # packed aligned\n' | diff - trace
    TILE_TRACE=trace-%p ./app
    [ "$(ls trace-* | wc -l)" = 2 ]
    [ "$(cat trace-* | sort)" = "$(printf '           2  k_axpy(2,[20],[20])  # packed aligned\n           5  k_axpy(2,[10],[10])  # packed aligned')" ]
    ABRUPT=1 TILE_TRACE=trace ./app
    printf '           4  k_axpy(2,[10],[10])  # packed aligned\n' | diff - trace
    expect 3 env TILE_TRACE=none/trace ./app
    contains 'TILE_TRACE=none/trace: No such file or directory'
    expect 3 env TILE_TRACE=/dev/null ./app
    contains 'TILE_TRACE=/dev/null: not a file that can be written'
    TILE_TRACE=both TILE_PROFILE=profile ./app
    grep -q '"name":"k_axpy"' profile
    [ "$(wc -l <both)" = 1 ]
}

@test "TILE_TRACE: scalars, enums, structs and pointers as the command line takes them" {
    cat >k.tile <<'END'
enum act { none, relu }
struct shape { eps: f32; n: i32; }
kernel axpy(s: shape, x: in f32[N], t: shape, a: act, y: out f32[N], on: bool, c: f64, u: u64) grid(i: cdiv(N, B)) tune(B: {64, 128} = 64)
{
    y[i*B +: B] = on ? s.eps + f32(s.n) + f32(c) : x[i*B +: B] + t.eps + f32(t.n) + f32(u) + f32(i32(a));
}
kernel pointed(q: *const f32, y: out f32[N]) grid(i: N) { y[i] = load(q); }
END
    expect 0 tilecc -arch=cpu k.tile -o k.o
    expect 0 tilecc --emit-runtime -o tile_rt.o
    cat >app.c <<'END'
#include "k.h"
int main(void) {
    float x[9] = {0}, y[9], q = 1;
    struct tile_f32_1 vx = {x, {9}, {1}}, vy = {y, {9}, {1}};
    struct tile_shape s = {0.5f, -3}, t = {1, 2};
    return k_axpy(TILE_CPU, &s, &vx, &t, TILE_ACT_RELU, &vy, 1, -1.0 / 0.0, ~0ull) || k_pointed(TILE_CPU, &q, &vy);
}
END
    ${CC:-cc} app.c k.o tile_rt.o -o app -ldl -lpthread -lm
    TILE_TRACE=trace ./app
    printf '           1  %s  # packed\n' 'k_axpy({0.5,-3},[9],{1,2},1,[9],1,-inf,18446744073709551615)' 'k_pointed(?,[9])' | diff - <(sed 's/ aligned$//' trace)
    tune k.tile --trace=trace
    contains '1 call of 1 instance,'
    contains 'are not measured, such as k_pointed(?,[9])'
}
