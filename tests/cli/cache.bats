#!/usr/bin/env bats
# Code that was compiled before is not compiled again, and nobody can tell by the object.

load helper

begin() {
    export TILECC_CACHE=$PWD/kept
    cat >two.tile <<'END'
// Two kernels.
kernel scale(x: in f32[M, N], y: out f32[M, N])
    const(B: {32, 64} >= N)
    grid(m: M)
{
    y[m, 0 +: B] = 2 * x[m, 0 +: B];
}
kernel shift<T: {f32, f64}>(x: in T[N], y: out T[N])
    grid(b: cdiv(N, 64))
{
    y[b*64 +: 64] = x[b*64 +: 64] + T(1);
}
END
}

arches() { if [ -n "${PTXAS-}" ]; then echo cpu,sm_80,sm_90a; else echo cpu; fi; }

# "FOUND of ASKED" of a compilation
counts() { "$TILECC" -v -arch="$(arches)" "$@" 2>&1 | sed -n 's/^tilecc: \(.*\) pieces of code were in the cache$/\1/p'; }
count_asked() { counts "$@" | sed 's/.* of //'; }
all_found() { # a compilation with the given options
    local said
    said=$(counts "$@")
    [ -n "$said" ] && [ "${said% of *}" = "${said#* of }" ] || { echo "'$said': $*"; return 1; }
}

# The object is what it is without a cache.
as_without() {
    "$TILECC" --no-cache -arch="$(arches)" "$@" -o plain.o
    cmp plain.o cached.o
    cmp plain.h cached.h
}
# The same, of what as_without has just looked at.
as_before() {
    cmp plain.o cached.o
    cmp plain.h cached.h
}

@test "a second time nothing is compiled, and the object is the same" {
    begin
    said=$(counts two.tile -o cached.o)
    [ "${said% of *}" = 0 ]
    as_without two.tile
    rm cached.o cached.h
    all_found two.tile -o cached.o
    as_before
    rm cached.o cached.h
    all_found two.tile -o cached.o -j1
    as_before
}

@test "a comment compiles nothing, and remarks and asserts tell the lines of today" {
    begin
    "$TILECC" -arch="$(arches)" -Rpass=instance two.tile -o cached.o 2>before
    sed -i '1s/$/ And a comment\n\n\n/' two.tile
    all_found two.tile -o cached.o
    as_without two.tile
    "$TILECC" -arch="$(arches)" -Rpass=instance two.tile -o cached.o 2>after
    "$TILECC" --no-cache -arch="$(arches)" -Rpass=instance two.tile -o cached.o 2>plain
    cmp after plain
    grep -q '^two.tile:2:' before
    grep -q '^two.tile:5:' after
    ! grep -q '^two.tile:2:' after || false
    echo 'kernel f(x: inout f32[N]) grid(b: N) { assert(N < 9); x[b] = 2 * x[b]; }' >a.tile
    "$TILECC" -arch="$(arches)" --checks a.tile -o a.o
    sed -i '1s/^/\n\n/' a.tile
    all_found --checks a.tile -o cached.o
    as_without --checks a.tile
    grep -qa 'a.tile:3:' cached.o
}

@test "warnings of what was compiled before are there again" {
    needs_ptxas
    begin
    fake_ptxas <<END
echo "ptxas info    : Function properties for f" >&2
echo "    4096 bytes stack frame, 4000 bytes spill stores, 4000 bytes spill loads" >&2
exec '$PTXAS' "\$@"
END
    echo 'kernel f(x: inout f32[N]) grid(b: N) { x[b] = 2 * x[b]; }' >w.tile
    "$TILECC" -arch=sm_80 --cuda-path="$PWD/toolkit" w.tile -o w.o 2>first
    sed -i '1s/^/\n/' w.tile
    "$TILECC" -arch=sm_80 --cuda-path="$PWD/toolkit" w.tile -o w.o 2>second
    grep -q '^w.tile:1:.*keeps registers in local memory' first
    grep -q '^w.tile:2:.*keeps registers in local memory' second
    "$TILECC" -arch=sm_80 --cuda-path="$PWD/toolkit" w.tile --resource-usage -o w.o 2>third
    grep -q 'spills: 4000 bytes stored' third
    expect 1 tilecc -arch=sm_80 --cuda-path="$PWD/toolkit" -Werror w.tile -o w.o
}

@test "a changed kernel is compiled alone" {
    begin
    all=$(count_asked two.tile -o cached.o)
    sed -i 's/2 \* x/3 * x/' two.tile
    said=$(counts two.tile -o cached.o)
    found=${said% of *}
    [ "$found" -gt 0 ]
    [ "$found" -lt "$all" ]
    as_without two.tile
    sed -i 's/T(1)/T(7)/' two.tile
    counts two.tile -o cached.o
    as_without two.tile
    sed -i 's/3 \* x/2 * x/; s/T(7)/T(1)/' two.tile # back to what is there from the first time
    all_found two.tile -o cached.o
    as_without two.tile
}

@test "what changes code is told apart: options, places of lines, the assembler" {
    begin
    for options in -O0 -O1 -O3 --strict-fp -g -lineinfo '-lineinfo -ffile-prefix-map=two=zwei' --host-target=aarch64-linux --prefix=my_; do
        "$TILECC" -arch="$(arches)" $options two.tile -o cached.o
        as_without $options two.tile
        rm cached.o cached.h
        all_found $options two.tile -o cached.o
        as_before
    done
    for options in -g -lineinfo; do
        sed -i '1s/$/\n/' two.tile
        "$TILECC" -arch="$(arches)" $options two.tile -o cached.o
        as_without $options two.tile
    done
}

@test "also what has one instance for the processor is kept" {
    begin
    echo 'kernel one(x: inout f32[N]) grid(b: N) { x[b] = 2 * x[b]; }' >one.tile
    arches() { echo cpu; }
    said=$(counts one.tile -o cached.o)
    [ "$said" = "0 of ${said#* of }" ]
    sed -i '1s/^/\n/' one.tile
    all_found one.tile -o cached.o
    as_without one.tile
}

@test "another ptxas and other options of it find nothing of the first" {
    needs_ptxas
    begin
    fake_ptxas <<END
echo run >>'$PWD/runs'
exec '$PTXAS' "\$@"
END
    build() { "$TILECC" -arch=sm_80 --cuda-path="$PWD/toolkit" --spec 'axpy[B=64]' k.tile -o k.o "$@" && wc -l <runs; }
    first=$(build)
    [ "$first" -gt 0 ]
    [ "$(build)" = "$first" ]
    second=$(build -Xptxas -O1)
    [ "$second" -gt "$first" ]
    [ "$(build)" = "$second" ]
    touch -d '2001-01-01' toolkit/bin/ptxas
    [ "$(build)" -gt "$second" ]
}

@test "what ptxas failed on and what it left half done is not kept" {
    needs_ptxas
    begin
    fake_ptxas <<END
if [ -e '$PWD/whole' ]; then exec '$PTXAS' "\$@"; fi
'$PTXAS' "\$@" | '$(command -v head)' -c 2000
END
    expect 5 tilecc -arch=sm_80 --cuda-path="$PWD/toolkit" --spec 'axpy[B=64]' k.tile -o k.o
    touch whole
    expect 0 tilecc -arch=sm_80 --cuda-path="$PWD/toolkit" --spec 'axpy[B=64]' k.tile -o k.o
}

@test "damaged files are as if they were not there" {
    begin
    "$TILECC" -arch="$(arches)" two.tile -o cached.o
    find kept -type f | while read -r file; do truncate -s 60 "$file"; done
    said=$(counts two.tile -o cached.o)
    [ "${said% of *}" = 0 ]
    as_without two.tile
    all_found two.tile -o cached.o
    find kept -type f | while read -r file; do printf X | dd of="$file" bs=1 seek=200 conv=notrunc status=none; done
    said=$(counts two.tile -o cached.o)
    [ "${said% of *}" = 0 ]
    as_without two.tile
    find kept -type f | sort >names # each file under the next one's name
    first=$(head -n 1 names)
    cp "$first" keep
    while read -r file; do
        [ "$file" = "$first" ] || cp "$file" "$last"
        last=$file
    done <names
    cp keep "$last"
    "$TILECC" -arch="$(arches)" two.tile -o cached.o
    as_without two.tile
}

@test "builds at once, and some of them killed" {
    begin
    "$TILECC" --no-cache -arch="$(arches)" two.tile -o plain.o
    for round in 1 2 3 4 5 6; do
        "$TILECC" -arch="$(arches)" two.tile -o "killed$round.o" &
        victim=$!
        sleep "0.0$((round * round))"
        kill -9 $victim || true
        wait $victim || true
    done
    pids=
    for number in 1 2 3; do
        "$TILECC" -arch="$(arches)" two.tile -o "at-once$number.o" &
        pids="$pids $!"
    done
    for pid in $pids; do wait "$pid"; done
    for number in 1 2 3; do cmp plain.o "at-once$number.o"; done
    all_found two.tile -o cached.o
    cmp plain.o cached.o
}

@test "where it is, and where there is none" {
    begin
    unset TILECC_CACHE
    HOME=$PWD/home XDG_CACHE_HOME=$PWD/xdg tilecc -arch=cpu k.tile -o k.o
    [ -d xdg/tilecc ]
    [ ! -e home ]
    [ "$(stat -c %a xdg/tilecc)" = 700 ]
    (unset XDG_CACHE_HOME && HOME=$PWD/home tilecc -arch=cpu k.tile -o k.o)
    [ -d home/.cache/tilecc ]
    rm -r home xdg
    for off in TILECC_CACHE= XDG_CACHE_HOME=/proc/none TILECC_CACHE=/dev/null TILECC_CACHE=/dev/null/x; do
        run env HOME="$PWD/home" "$off" "$TILECC" -arch=cpu k.tile -o k.o
        [ "$status$output" = 0 ]
        [ ! -e home ]
    done
    run env -u HOME -u XDG_CACHE_HOME "$TILECC" -arch=cpu k.tile -o k.o
    [ "$status$output" = 0 ]
    TILECC_CACHE=here tilecc -arch=cpu k.tile -o k.o
    [ -d here ]
    for words in '--dryrun -o k.o' -fsyntax-only '--emit=tir -o k.tir' '--emit=header -o k.h' '--emit=llvm -o k.ll'; do
        TILECC_CACHE=$PWD/dry tilecc -arch=cpu $words k.tile
        [ ! -e dry ]
    done
}

@test "it stays as small as was asked" {
    begin
    "$TILECC" -arch="$(arches)" two.tile -o cached.o
    [ "$(find kept -type f | wc -l)" -gt 4 ]
    rm -r kept
    TILECC_CACHE_SIZE=0 "$TILECC" -arch="$(arches)" two.tile -o cached.o
    [ "$(find kept -type f | wc -l)" = 0 ]
    as_without two.tile
    TILECC_CACHE_SIZE=64K "$TILECC" -arch="$(arches)" two.tile -o cached.o
    [ "$(find kept -type f -printf '%b\n' | awk '{ n += $1 } END { print n + 0 }')" -le 128 ] # blocks of 512 bytes
    TILECC_CACHE_SIZE=much "$TILECC" -arch="$(arches)" two.tile -o cached.o 2>said
    [ "$(cat said)" = 'tilecc: warning: TILECC_CACHE_SIZE is no number of bytes such as 300M: the cache takes 1G' ]
    TILECC_CACHE_SIZE=much "$TILECC" -w -arch="$(arches)" two.tile -o cached.o 2>said
    [ ! -s said ]
    all_found two.tile -o cached.o
}

@test "-v shows the commands that are run, and none for what was in the cache" {
    needs_ptxas
    export TILECC_CACHE=$PWD/shown
    expect 0 tilecc -v -arch=sm_80 k.tile -o k.o
    [ "$(grep -c '^[^ ]*ptxas ' <<<"$output")" -ge 1 ]
    expect 0 tilecc -v -arch=sm_80 k.tile -o k.o
    ! grep '^[^ ]*ptxas ' <<<"$output" || false
    grep -q '^tilecc: \([0-9]*\) of \1 pieces of code were in the cache$' <<<"$output"
}

@test "-lineinfo gives the same bytes where /tmp cannot be written, whenever the source was" {
    needs_ptxas
    begin
    local closed='mount --bind /tmp /tmp && mount -o remount,bind,ro /tmp' # tilecc itself may lie there
    unshare -rm sh -c "$closed" || skip "no namespaces"
    cp -r "$PWD" /var/tmp/tilecc-elsewhere.$$
    "$TILECC" --no-cache -arch=sm_80 -lineinfo two.tile -o plain.o
    cp plain.o "/var/tmp/tilecc-elsewhere.$$"
    cd "/var/tmp/tilecc-elsewhere.$$"
    touch -d '2001-01-01' two.tile
    unshare -rm sh -c "$closed"' && "$1" --no-cache -arch=sm_80 -lineinfo two.tile -o elsewhere.o' - "$TILECC" || said=$?
    cmp plain.o elsewhere.o || said=$?
    cd - >/dev/null
    rm -r "/var/tmp/tilecc-elsewhere.$$"
    [ -z "${said-}" ]
}

@test "what the check of machine code remarks is there again" {
    needs_ptxas
    begin
    cat >sums.tile <<'TILE'
kernel sums(a: in bf16[M, K], b: in bf16[K, N], c: out bf16[M, N]) grid(m: cdiv(M, 128), n: cdiv(N, 256))
{
    var even = f32[128, 256](0);
    var odd = f32[128, 256](0);
    for k in 0..K step 128 {
        even += a[m*128 +: 128, k +: 64] @ b[k +: 64, n*256 +: 256];
        odd += a[m*128 +: 128, k + 64 +: 64] @ b[k + 64 +: 64, n*256 +: 256];
    }
    c[m*128 +: 128, n*256 +: 256] = bf16(even * odd);
}
TILE
    "$TILECC" -arch=sm_90a -Rpass=check_machine sums.tile -o s.o 2>first
    "$TILECC" -arch=sm_90a -Rpass=check_machine sums.tile -o s.o 2>second
    grep -q 'little is left for the rest' first
    cmp first second
}
