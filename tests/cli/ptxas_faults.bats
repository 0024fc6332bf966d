#!/usr/bin/env bats
# Every way in which ptxas was seen, or can be imagined, to fail.  Whatever it does: a message that names it, exit code 4
# when it is not there and 5 when it misbehaves, no output, no process left; and what is only a warning is one.

load helper

# The real assembler under another name, for fakes that change what goes in or comes out of it.
real() { needs_ptxas; echo "'$PTXAS' \"\$@\""; }

# Fails with the code, the words that name ptxas, and further words; old outputs stay.
fails_with() { # code, words...
    local code=$1
    shift
    echo old >k.o; echo old >k.h
    run timeout 60 "$TILECC" -arch=sm_80 -j2 --spec "${spec:-axpy[B=64]}" --cuda-path="$PWD/toolkit" -o k.o \
        "${options[@]}" "${source:-k.tile}"
    [ "$status" = "$code" ] || { echo "status $status, not $code: $output"; return 1; }
    contains ptxas
    for words; do contains "$words"; done
    [ "${#output}" -lt 5000 ] || { echo "${#output} bytes of output"; return 1; }
    [ "$(cat k.o k.h)" = "$(printf 'old\nold')" ]
    [ -z "$(find . -name '.tilecc-*')" ]
}

# No process has the argument, which no other test uses.
nothing_runs() { ! grep -lzsx "$1" /proc/[0-9]*/cmdline; }

# A process of that session, or a sleep of so long, that has not ended.
lives() { # session, seconds
    ! nothing_runs "$2" || awk -v session="$1" '{ sub(/.*\) /, "") } $4 == session && $1 != "Z" { found = 1 } END { exit !found }' /proc/[0-9]*/stat 2>/dev/null
}

@test "not there: missing, a broken link, not executable, a folder, an empty folder as toolkit" {
    mkdir -p toolkit/bin
    fails_with 4 E1202
    ln -s nowhere toolkit/bin/ptxas
    fails_with 4 E1202
    rm toolkit/bin/ptxas
    echo 'echo no' >toolkit/bin/ptxas
    chmod 644 toolkit/bin/ptxas
    fails_with 4 E1202
    rm toolkit/bin/ptxas
    mkfifo toolkit/bin/ptxas
    fails_with 4 E1202
}

@test "cannot be run: no interpreter, no program, of another machine" {
    mkdir -p toolkit/bin
    printf '#!/no/such/interpreter\n' >toolkit/bin/ptxas
    chmod +x toolkit/bin/ptxas
    fails_with 5 E1203 "cannot be run: No such file"
    printf 'neither script nor program' >toolkit/bin/ptxas
    fails_with 5 E1203 "cannot be run: Exec format error"
    : >toolkit/bin/ptxas
    fails_with 5 E1203 "cannot be run"
}

@test "ends with a code: with words, with none, with an older one's refusal" {
    fake_ptxas <<<'exit 1'
    fails_with 5 E1203 "code 1 and no message"
    fake_ptxas <<<'exit 255'
    fails_with 5 E1203 "code 255"
    fake_ptxas <<<'echo "only on standard output"; exit 3'
    fails_with 5 E1203 "code 3"
    fake_ptxas <<<'echo "ptxas fatal   : Unsupported .version 8.0; current version is '"'7.0'"'" >&2; exit 255'
    fails_with 5 E1203 "Unsupported .version"
    fake_ptxas <<<'printf "a\033[31m\000b\377\n" >&2; exit 2'
    fails_with 5 E1203
    lacks "$(printf '\033')"
}

@test "is ended by a signal" {
    for signal in SEGV KILL ABRT TERM PIPE XCPU XFSZ BUS; do
        fake_ptxas <<<"kill -$signal \$\$; /bin/sleep 5"
        fails_with 5 E1203 "signal"
    done
}

@test "succeeds and writes nothing, text, a part of an ELF header, another ELF file, or nothing but zeros" {
    for script in ':' 'echo no cubin' 'printf "\177ELF"' '/bin/cat /bin/true' '/usr/bin/head -c 5000 /dev/zero' \
        '/bin/cat' '/usr/bin/head -c 300000 /dev/urandom'; do
        fake_ptxas <<<"$script"
        fails_with 5 E1204 "no usable cubin"
    done
}

@test "succeeds with a write error, as on a full disk: a cubin cut short, or with a hole" {
    fake_ptxas <<<"$(real) >'$PWD/whole'; /usr/bin/head -c \"\$(/bin/cat '$PWD/size')\" '$PWD/whole'"
    "$TILECC" -arch=sm_80 -j1 --emit=cubin --spec 'axpy[B=64]' k.tile
    whole=$(stat -c %s k_axpy.0.sm_80.cubin)
    for size in 1 63 64 4096 $((whole / 2)) $((whole - 1)); do
        echo "$size" >size
        fails_with 5 E1204 "no usable cubin"
    done
    fake_ptxas <<<"$(real) >'$PWD/whole'; /usr/bin/head -c 1024 /dev/zero | /bin/dd of='$PWD/whole' bs=1 seek=\$((\$(/usr/bin/stat -c %s '$PWD/whole') - 1024)) conv=notrunc 2>/dev/null; /bin/cat '$PWD/whole'"
    fails_with 5 E1204 "no usable cubin"
}

@test "succeeds for another architecture" {
    fake_ptxas <<<"$(real | sed 's/"\$@"/-arch=sm_90 "$2" "$3" "$4"/')"
    fails_with 5 E1204 "it is for sm_90"
}

@test "succeeds without the kernel, with another's name, or with a second one" {
    fake_ptxas <<<"/bin/sed 's/axpy__[0-9]*/other/' | $(real)"
    fails_with 5 E1204 "the kernel is not in it"
    fake_ptxas <<<"{ /bin/cat; echo '.visible .entry more() { ret; }'; } | $(real)"
    fails_with 5 E1204 "the kernel is not in it"
    fake_ptxas <<<"printf '.version 8.0\n.target sm_80\n.address_size 64\n.visible .func f() { ret; }\n' | $(real)"
    fails_with 5 E1204 "no kernel"
}

@test "succeeds with sizes that no device has" {
    for bytes in 2147483648 4294967296 8589934592; do # ptxas takes them without a word
        fake_ptxas <<<"/bin/sed '/^{/a .shared .align 4 .b8 huge[$bytes]; .reg .b32 %huge; mov.u32 %huge, huge; st.shared.u32 [%huge], %huge;' | $(real)"
        fails_with 5 E1204 "shared memory"
    done
    fake_ptxas <<<"/bin/sed 's/^\.maxntid .*/.maxntid 64, 1, 1/' | $(real)"
    fails_with 5 E1204 "64 threads instead of"
    fake_ptxas <<<"/bin/sed '/^{/a .local .align 4 .b8 huge[1048576]; .reg .b32 %h; .reg .b64 %i, %j; mov.u32 %h, %clock; cvt.u64.u32 %i, %h; and.b64 %i, %i, 0xffffc; mov.u64 %j, huge; add.u64 %j, %j, %i; st.local.u32 [%j], %h; mov.u32 %h, %clock; cvt.u64.u32 %i, %h; and.b64 %i, %i, 0xffffc; mov.u64 %j, huge; add.u64 %j, %j, %i; ld.local.u32 %h, [%j]; st.global.u32 [%i], %h;' | $(real)"
    fails_with 5 E1204 "local memory"
}

@test "hangs: it is ended with all its children when its time is over" {
    options=(--tool-timeout=1)
    fake_ptxas <<<'/bin/sleep 4717'
    fails_with 5 E1203 "longer than 1 second"
    nothing_runs 4717
    fake_ptxas <<<'trap "" TERM INT HUP; while :; do /bin/sleep 4718; done'
    fails_with 5 "longer than 1 second"
    nothing_runs 4718
    fake_ptxas <<<'kill -STOP $$'
    fails_with 5 "longer than 1 second"
    fake_ptxas <<<'while :; do :; done'
    fails_with 5 "longer than 1 second"
}

@test "tilecc is killed alone: neither workers nor ptxas, nor what a script of that name has started, go on" {
    fake_ptxas <<'END'
trap '' TERM INT HUP
/bin/sleep 4730 &
/bin/sleep 4730 | /bin/cat
END
    for signal in KILL TERM INT HUP QUIT; do
        for jobs in 1 3; do
            setsid python3 -c 'import os, signal, sys
for number in (signal.SIGINT, signal.SIGQUIT, signal.SIGHUP): signal.signal(number, signal.SIG_DFL)
os.execv(sys.argv[1], sys.argv[1:])' "$TILECC" -arch=sm_80,sm_90a -j$jobs --cuda-path="$PWD/toolkit" -o k.o k.tile >/dev/null 2>&1 3>&- &
            id=$!
            for ((i = 0; i < 600; i++)); do nothing_runs 4730 || break; sleep 0.05; done
            [ $i != 600 ]
            kill -$signal $id
            wait $id || true
            for ((i = 0; i < 100; i++)); do ! lives $id 4730 || sleep 0.05; done
            ! lives $id 4730 || false
        done
    done
}

@test "ends, and a child of it goes on, with the pipes or without" {
    fake_ptxas <<<'/bin/sleep 4719 & exit 0'
    fails_with 5 E1204
    nothing_runs 4719
    fake_ptxas <<<'(trap "" HUP; exec >/dev/null 2>&1 </dev/null; exec /bin/sleep 4720) & exit 1'
    fails_with 5 E1203
    nothing_runs 4720
    fake_ptxas <<<'(/bin/sleep 0.3; echo late) & exit 0'
    fails_with 5 E1204
}

@test "does not read its input, with more of it than a pipe holds" {
    sed 's/{64, 128} = 64/{262144} = 262144/' k.tile >large.tile
    mkdir out
    (cd out && "$TILECC" -arch=sm_80 -S -j1 ../large.tile)
    [ "$(cat out/*.ptx | wc -c)" -gt 200000 ]
    source=large.tile spec='axpy[B=262144]'
    fake_ptxas <<<'exec 0<&-; /bin/sleep 0.2; exit 0'
    fails_with 5 E1204
    fake_ptxas <<<'/usr/bin/head -c 10 >/dev/null; echo "ptxas fatal: enough" >&2; exit 1'
    fails_with 5 E1203 "enough"
    options=(--tool-timeout=1)
    fake_ptxas <<<'/bin/sleep 4721'
    fails_with 5 "longer than 1 second"
}

@test "floods: errors are cut, output has a limit" {
    fake_ptxas <<<'/usr/bin/head -c 50000000 /dev/zero | /usr/bin/tr "\0" x >&2; exit 1'
    fails_with 5 E1203 xxxx
    fake_ptxas <<<'exec /bin/cat /dev/zero'
    fails_with 5 "more than 256 MiB"
}

@test "closes everything and lives on" {
    options=(--tool-timeout=1)
    fake_ptxas <<<'exec 0<&- 1>&- 2>&-; /bin/sleep 4722'
    fails_with 5 "longer than 1 second"
    nothing_runs 4722
}

@test "writes slowly, in pieces: the cubin is whole" {
    fake_ptxas <<<"$(real) >'$PWD/whole'; /usr/bin/head -c 1001 '$PWD/whole'; /bin/sleep 0.3; /usr/bin/tail -c +1002 '$PWD/whole'"
    "$TILECC" -arch=sm_80 -j1 --spec 'axpy[B=64]' --cuda-path="$PWD/toolkit" -o slow.o k.tile
    "$TILECC" -arch=sm_80 -j1 --spec 'axpy[B=64]' -o fast.o k.tile
    cmp slow.o fast.o
}

@test "is another from one instance to the next: none is believed" {
    fake_ptxas <<<"/bin/mkdir '$PWD/called' 2>/dev/null || exit 7; exec $(real)"
    fails_with 5 E1203 "code 7"
}

@test "W1201, warns: the warning is shown, and an error with -Werror" {
    fake_ptxas <<<"echo 'ptxas info    : (C7510) Potential Performance Loss: wgmma.mma_async instructions are serialized' >&2
        echo 'ptxas warning : something else' >&2; echo 'ptxas info    : Used 10 registers' >&2; exec $(real)"
    expect 0 tilecc -arch=sm_80 -j1 --spec 'axpy[B=64]' --cuda-path="$PWD/toolkit" k.tile
    contains "wgmma.mma_async instructions are serialized [-Wptxas-warning]"
    contains "something else [-Wptxas-warning]"
    lacks "Used 10"
    expect 0 tilecc -fdiagnostics-format=json -arch=sm_80 -j1 --spec 'axpy[B=64]' --cuda-path="$PWD/toolkit" k.tile
    contains '"severity":"warning","code":"W1201"'
    rm k.o k.h
    options=(-Werror)
    fails_with 1 "[-Werror=ptxas-warning]"
    options=(-Wno-ptxas-warning)
    expect 0 tilecc -arch=sm_80 -j1 --spec 'axpy[B=64]' --cuda-path="$PWD/toolkit" "${options[@]}" k.tile
    [ -z "$output" ]
}

@test "says the same of every kernel: that is told once, other words are told too" {
    for k in a b c; do echo "kernel $k(x: inout f32[N]) grid(i: N) { x[i] = 1.0; }"; done >many.tile
    mkdir -p toolkit/bin
    rm -f toolkit/bin/ptxas
    printf '#!/bin/sh\necho "no licence" >&2; exit 1\n' >toolkit/bin/ptxas
    chmod 755 toolkit/bin/ptxas
    run timeout 60 "$TILECC" --cuda-path="$PWD/toolkit" -arch=sm_80 -o many.o many.tile
    [ "$status" = 5 ]
    [ "$(grep -c 'error:' <<<"$output")" = 1 ]
    contains 'no licence'
    printf '#!/bin/sh\necho "refused $$" >&2; exit 1\n' >toolkit/bin/ptxas
    run timeout 60 "$TILECC" --cuda-path="$PWD/toolkit" -arch=sm_80 -o many.o many.tile
    [ "$(grep -c 'error:' <<<"$output")" -ge 3 ]
    printf '#!/bin/sh\n/bin/cat >/dev/null; echo no cubin\n' >toolkit/bin/ptxas
    run timeout 60 "$TILECC" --cuda-path="$PWD/toolkit" -arch=sm_80 -o many.o many.tile
    [ "$status" = 5 ]
    [ "$(grep -c 'error:' <<<"$output")" = 1 ]
    contains E1204
}

@test "says the same for several architectures and sources: that is told once, and each has its exit code" {
    for k in a b c; do echo "kernel $k(x: inout f32[N]) grid(i: N) { x[i] = 1.0; }"; done >one.tile
    sed 's/kernel /kernel z/' one.tile >two.tile
    told_once() { # code, words; the time it may take
        run timeout "${3:-60}" "$TILECC" --cuda-path="$PWD/toolkit" --tool-timeout=2 -j2 -arch=sm_75,sm_80,sm_90a one.tile two.tile
        [ "$status" = "$1" ] || { echo "status $status, not $1: $output"; return 1; }
        [ "$(grep -c 'error:' <<<"$output")" = 1 ] || { echo "$output"; return 1; }
        contains "$2"
        [ -z "$(find . -name '*.o' -o -name '*.h')" ]
    }
    told_once 4 E1202
    fake_ptxas <<<'echo "no licence" >&2; exit 1'
    told_once 5 'no licence'
    fake_ptxas <<<'kill -SEGV $$'
    told_once 5 'signal 11'
    fake_ptxas <<<'echo no cubin'
    told_once 5 E1204
    fake_ptxas <<<'echo run >>'"'$PWD/runs'"'; /bin/sleep 4731'
    told_once 5 'longer than 2 seconds' 20 # and not begun again: it would be 36 seconds
    [ "$(wc -l <runs)" -le 2 ]
    nothing_runs 4731
}

@test "hangs once it has made a cubin that spills: the time is for all its runs, and the first one counts" {
    fake_ptxas <<END
if /bin/mkdir '$PWD/called' 2>/dev/null; then
    echo '    900 bytes stack frame, 900 bytes spill stores, 900 bytes spill loads' >&2
    echo 'ptxas info    : Used 32 registers' >&2
    exec $(real)
fi
echo run >>'$PWD/runs'
exec /bin/sleep 4732
END
    SECONDS=0
    expect 0 tilecc --emit=cubin -j1 --spec 'axpy[B=64] sm_80 aligned' --tool-timeout=3 --cuda-path="$PWD/toolkit" -Wno-spills -o k.cubin k.tile
    [ "$SECONDS" -lt 12 ]
    [ "$(wc -l <runs)" -ge 1 ]
    nothing_runs 4732
}

@test "W1201, warns about every instance: a warning for each kernel, which lists them" {
    for k in a b; do echo "kernel $k(x: inout f32[N]) grid(i: N) { x[i] = 1.0; }"; done >many.tile
    fake_ptxas <<<"echo 'ptxas warning : something else' >&2; exec $(real)"
    expect 0 tilecc -arch=sm_80,sm_90a --cuda-path="$PWD/toolkit" many.tile
    [ "$(grep -c 'something else' <<<"$output")" = 2 ]
    contains 'b sm_90a'
}

@test "a worker that ends with a code of somebody else is no error of the user's" {
    echo 'kernel a(x: inout f32[N]) grid(i: N) { x[i] = 1.0; }' >one.tile
    for code in 1 3 4 5 23 99; do
        printf '#include <unistd.h>\nint prctl(int option, ...) { (void)option; _exit(%d); }\n' "$code" >end.c
        ${CC:-cc} -shared -fPIC end.c -o end.so
        for arch in sm_80 cpu; do
            ASAN_OPTIONS=verify_asan_link_order=0 LD_PRELOAD="$PWD/end.so" run timeout 60 "$TILECC" -arch=$arch \
                -o one.o one.tile
            [ "$status" = 70 ]
            contains "code $code"
        done
    done
}
