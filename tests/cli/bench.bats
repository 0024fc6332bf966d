#!/usr/bin/env bats
# tilecc bench: calls timed on the processor, what is told of them, and two runs compared.

load helper

setup_file() { export TILECC_CACHE=; }

# A run's results with other times: each sample of the calls that hold $1 times $2.
scaled() {
    awk -v word="$1" -v by="$2" '
        /"call":/ { hit = index($0, word) > 0 }
        /"samples_ns":/ && hit { count = split($0, part, /[][,]/); line = part[1] "["
            for (i = 2; i < count; i++) line = line (i > 2 ? "," : "") part[i] * by
            print line "]"; next }
        { print }' j.json
}

@test "calls of a sweep, each with its rate, its bound and its error" {
    expect 0 tilecc bench -arch=cpu --seconds=0.05 k.tile 'k_axpy(2, [N])' 'k_axpy(-1, [7], [7])' N=64,1000 --json=j.json
    [ "$(grep -c '^k_axpy(2, \[64\]) .*%.*%.* 0$' <<<"$output")" = 1 ] || { echo "$output"; return 1; }
    [ "$(grep -c '^k_axpy' <<<"$output")" = 3 ]
    contains 'a copy moves'
    grep -q '"call":.*"k_axpy(2, \[1000\])"' j.json
    grep -q '"N":.*1000' j.json
    grep -q '"bytes":.*12000,' j.json
}

@test "values by lists, factors and steps" {
    expect 0 tilecc bench -arch=cpu --seconds=1e-9 k.tile 'k_axpy(2, [N])' N=8..64*2
    [ "$(grep -c '^k_axpy' <<<"$output")" = 4 ]
    expect 0 tilecc bench -arch=cpu --seconds=1e-9 k.tile 'k_axpy(2, [N])' N=8..24+8
    [ "$(grep -c '^k_axpy' <<<"$output")" = 3 ]
    for bad in N= N=a N=4..2 N=1..8*1 N=1..8- N=0..8*2 N=1,,2; do
        expect 2 tilecc bench -arch=cpu k.tile 'k_axpy(2, [N])' "$bad"
        contains "is no list of values"
    done
}

@test "a wrong result shows as an error" {
    cat >wrong.tile <<'END'
kernel f(x: in f32[N], y: out f32[N]) grid(i: cdiv(N, 64)) { y[i*64 +: 64] = 1.0 / x[i*64 +: 64]; }
END
    expect 0 tilecc bench -arch=cpu --seconds=1e-9 wrong.tile 'wrong_f([100])'
    grep -q ' 0$' <<<"$output" || { echo "$output"; return 1; }
    expect 0 tilecc bench -arch=cpu --seconds=1e-9 --save-temps wrong.tile 'wrong_f([100])'
    folder=$(sed -n 's/^tilecc: kept //p' <<<"$output")
    # the interpreter's inputs changed behind its back
    head -c 400 /dev/zero >"$folder/0.0.in"
    (cd "$folder" && ./measure cpu cold 1e-9 "$folder" >/dev/null)
    run cmp -s "$folder/0.1.out" "$folder/0.0.in"
    [ "$status" = 1 ]
    [ "$(od -An -tx4 -N4 "$folder/0.1.out" | tr -d ' ')" = 7f800000 ]
    rm -r "$folder"
}

@test "what is slower than before is told, and ends with 1" {
    expect 0 tilecc bench -arch=cpu --seconds=0.1 k.tile 'k_axpy(2, [N])' N=1000,2000 --json=j.json
    scaled '[1000]' 0.01 >fast.json
    expect 1 tilecc bench -arch=cpu --seconds=0.1 k.tile 'k_axpy(2, [N])' N=1000,2000 --against=fast.json
    grep -q '\[1000\]).* of the time before .*: slower$' <<<"$output" || { echo "$output"; return 1; }
    scaled '[' 100 >slow.json
    expect 0 tilecc bench -arch=cpu --seconds=0.1 k.tile 'k_axpy(2, [N])' N=1000,3000 --against=slow.json
    grep -q '\[1000\]).*: faster$' <<<"$output"
    grep -q '\[3000\])  was not measured: it is not in slow.json$' <<<"$output" || { echo "$output"; return 1; }
    grep -q '\[2000\])  is in slow.json and was not measured now$' <<<"$output"
    for bad in '' '{}' '[]' '{"device": "x", "calls": [{}]}' '{"device": "x", "calls": [{"call": "a", "samples_ns": [-1]}]}'; do
        printf '%s' "$bad" >bad.json
        expect 3 tilecc bench -arch=cpu k.tile 'k_axpy(2, [9])' --against=bad.json
        contains "'bad.json' does not hold results"
    done
    expect 3 tilecc bench -arch=cpu k.tile 'k_axpy(2, [9])' --against=none.json
}

@test "operations by a formula" {
    expect 0 tilecc bench -arch=cpu --seconds=1e-9 k.tile 'k_axpy(2, [500])' '--operations=2*(N+N)/4 - 1' --json=j.json
    grep -q '"operations":.*499,' j.json
    contains 'TFLOP/s'
    for bad in 2* '(N' 'N)' Q 'N N' '1/0' ' ' '-'; do
        expect 2 tilecc bench -arch=cpu k.tile 'k_axpy(2, [500])' "--operations=$bad"
        contains "--operations: "
    done
    expect 2 tilecc bench -arch=cpu k.tile 'k_axpy(2, [500])' "--operations=$(printf '(%.0s' $(seq 100000))"
    contains 'brackets'
}

@test "a picture" {
    expect 0 tilecc bench -arch=cpu --seconds=1e-9 k.tile 'k_axpy(2, [N])' N=64..4096*8 --plot=p.svg --operations=N
    [ "$(grep -c '<circle' p.svg)" -ge 3 ]
    grep -q 'operations a byte' p.svg
    [ "$(tail -1 p.svg)" = '</svg>' ]
}

@test "structs, enums, small floats and views that are not there are passed" {
    cat >all.tile <<'END'
enum act { none, relu }
struct line { scale: f32; shift: i32; how: act; }
kernel f<T: {f16, bf16}>(x: in T[N], b: in? f32[N], y: out T[N], p: line, w: T, big: i64) grid(i: cdiv(N, 64)) {
    var v = f32(x[i*64 +: 64]) * p.scale + f32(p.shift) + f32(w);
    if (b) { v += b[i*64 +: 64]; }
    if (p.how == act.relu) { v = max(v, 0.0); }
    if (big < 0) { v = -v; }
    y[i*64 +: 64] = T(v);
}
END
    expect 0 tilecc bench -arch=cpu --seconds=1e-9 all.tile 'all_f_f16([100], none, _, {0.5, -3, relu}, 0.25, -9223372036854775808)' \
        'all_f_bf16([100], [100], [100], {inf, 2, none}, nan, 7)'
    [ "$(grep -c ' 0$' <<<"$output")" = 2 ] || { echo "$output"; return 1; }
}

@test "what does not fit is said before anything is made" {
    expect 2 tilecc bench k.tile
    contains "needs a .tile file and a call"
    expect 2 tilecc bench 'k_axpy(2, [9])'
    expect 2 tilecc bench k.tile k.tile 'k_axpy(2, [9])'
    contains "one source"
    expect 2 tilecc bench k.tile N=3
    contains "no call"
    expect 2 tilecc bench k.tile 'k_axpy(2, [9])' N=3
    contains "N is given values and stands in no call"
    expect 2 tilecc bench k.tile 'k_axpy(2, [N])' N=3 N=4
    contains "N is given values twice"
    for named in 'k_axpy(a=2, x=[9])' 'k_axpy(2, x = [9])'; do
        expect 2 tilecc bench -arch=cpu k.tile "$named"
        contains "arguments go by position, without their names, so not "
    done
    expect 2 tilecc bench -arch=cpu k.tile 'k_axpy(2, [N])'
    contains "bench: an extent is not a number: N of 'k_axpy(2, [N])' has no value; give N=128, or several as N=128,256"
    expect 2 tilecc bench -arch=cpu k.tile 'k_axpy(2, [1M])'
    contains "an extent is not a number from 0 to 1099511627776, but '1M', for 'x'"
    expect 2 tilecc bench -arch=cpu k.tile 'k_axpy(2, [9], [8])'
    contains "bench: k_axpy: extent 0 of y is 8, but N is 9"
    for option in '-o x.o' -S --emit=ptx -fsyntax-only --interpret --passes=cse -MD --dryrun -fc++ --shared-header=../x.h; do
        expect 2 tilecc bench $option k.tile 'k_axpy(2, [9])'
        contains "makes what it measures"
    done
    expect 2 tilecc --warm k.tile
    contains "belong to 'tilecc bench'"
    CC=/nonexistent PATH=/nonexistent expect 4 "$TILECC" bench -arch=cpu k.tile 'k_axpy(2, [9])'
    contains "needs a C compiler"
}

@test "a call is measured for a second, or 400 times, where nothing else is asked" {
    expect 0 tilecc bench -arch=cpu k.tile 'k_axpy(2, [9])' --json=j.json
    [ "$(grep '"samples_ns":' j.json | tr ',' '\n' | grep -c '[0-9]')" = 400 ]
}

@test "sources of any name" {
    for stem in measure 'a "b, c' -x; do
        cp k.tile "./$stem.tile"
        expect 0 tilecc bench -arch=cpu --seconds=1e-9 "./$stem.tile" 'axpy(2, [9])'
    done
}

@test "views of pointers are refused, also where the others tell their extents" {
    echo 'kernel f(x: in f32[N], p: in *f32[N], y: out f32[N]) grid(b: N) { y[b] = x[b]; }' >p.tile
    for call in 'f([4])' 'f([4], _, [4])' 'f([4], [4], [4])'; do
        expect 2 tilecc bench -arch=cpu p.tile "$call"
        contains "views of pointers cannot be given, so not 'p'"
        expect 2 tilecc "--interpret=$call" p.tile
        contains "views of pointers cannot be given, so not 'p'"
    done
}

@test "what kernels print is not taken for results, and a call without memory hinders no other" {
    cat >p.tile <<'END'
kernel f(x: in f32[N], y: out f32[N]) grid(b: cdiv(N, 64)) { print("a\ncall 0\nfailed x {}", b); y[b*64 +: 64] = x[b*64 +: 64]; }
END
    expect 0 tilecc bench -arch=cpu p.tile 'f([65])' --json=j.json
    contains 'failed x 1' # in the interpreter
    lacks 'failed: '
    [ "$(grep '"samples_ns":' j.json | tr ',' '\n' | grep -c '[0-9]')" = 400 ]
    expect 1 tilecc bench -arch=cpu --seconds=1e-9 k.tile 'k_axpy(2, [N])' N=1099511627776,9 --json=j.json
    contains 'failed: there is no memory for it'
    grep -q '^k_axpy(2, \[9\]) .*% ' <<<"$output"
}

# A C compiler that does not end: $1 and more are killed while it runs.
killed_while_compiling() {
    rm -rf folders started
    mkdir folders
    TMPDIR=$PWD/folders CC=$PWD/slow "$TILECC" "$@" 3>&- &
    for _ in $(seq 400); do
        [ ! -e started ] || break
        sleep 0.05
    done
    [ -n "$(ls folders)" ] || { echo "no folder is made"; return 1; }
    kill -s "$signal" $!
    wait $! || true
    for _ in $(seq 400); do
        [ -n "$(ls folders)" ] || return 0
        sleep 0.05
    done
    ls -R folders
    return 1
}

@test "the folder goes, however tilecc ends" {
    printf '#!/bin/sh\ntouch "%s/started"\nsleep 100\n' "$PWD" >slow
    printf '#!/bin/sh\nexit 1\n' >bad
    chmod +x slow bad
    for signal in KILL TERM; do
        killed_while_compiling bench -arch=cpu k.tile 'k_axpy(2, [9])'
        killed_while_compiling -arch=cpu --emit=python k.tile
    done
    TMPDIR=$PWD/folders expect 0 tilecc bench -arch=cpu --seconds=1e-9 k.tile 'k_axpy(2, [9])'
    TMPDIR=$PWD/folders expect 0 tilecc -arch=cpu --emit=python k.tile
    TMPDIR=$PWD/folders CC=$PWD/bad expect 5 tilecc bench -arch=cpu k.tile 'k_axpy(2, [9])'
    TMPDIR=$PWD/folders CC=$PWD/bad expect 5 tilecc -arch=cpu --emit=python k.tile
    [ -z "$(ls -A folders)" ]
    TMPDIR=$PWD/none expect 3 tilecc bench -arch=cpu k.tile 'k_axpy(2, [9])'
    contains "cannot make the folder '$PWD/none/tilecc-bench-"
    TMPDIR=$PWD/none expect 3 tilecc -arch=cpu --emit=python k.tile
    contains "cannot make the folder '$PWD/none/tilecc-"
}

@test "kernels may have the names of the program that calls them" {
    for name in call_0 query_0 calls memories_0 measure_main measure_copy copy count arguments stream memory info p0 p1; do
        echo "kernel $name(p0: in f32[N], stream: f32, p1: out f32[N]) grid(i: cdiv(N, 64)) { p1[i*64 +: 64] = p0[i*64 +: 64] + stream; }"
    done >names.tile
    sed -n 's/^kernel \([a-z0-9_]*\).*/\1([100], 2)/p' names.tile >calls
    mapfile -t calls <calls
    expect 0 tilecc bench -arch=cpu --seconds=1e-9 --prefix= names.tile "${calls[@]}" --json=j.json
    [ "$(grep -cE '^[a-z0-9_]+\(\[100\], 2\) .* 0$' <<<"$output")" = "${#calls[@]}" ] || { echo "$output"; return 1; }
}

@test "without a GPU that is said" {
    [ ! -e /dev/nvidiactl ] || skip "there is one"
    needs_ptxas
    expect 5 tilecc bench -arch=sm_80 k.tile 'k_axpy(2, [9])'
    contains "/measure failed: there is no NVIDIA driver"
}
