#!/usr/bin/env bats
# Files: what cannot be read or written, all outputs or none, dependency files, names that are hard to write.

load helper

nothing_but() { # files that may be here
    local now
    now=$(find . -mindepth 1 -maxdepth 1 | sed 's,^./,,' | sort)
    [ "$now" = "$(printf '%s\n' "$@" | sort)" ] || { echo "here: $now"; return 1; }
}

@test "an input that cannot be read: exit 3" {
    expect 3 tilecc missing.tile
    contains "missing.tile"
    mkdir folder.tile
    expect 3 tilecc folder.tile
    expect 3 tilecc -arch=cpu -o x.o /dev/zero
    contains "16 MiB"
    head -c 16777217 /dev/zero | tr '\0' ' ' >large.tile
    expect 3 tilecc large.tile
    rm -r folder.tile large.tile
    nothing_but k.tile
}

@test "an output that cannot be written: exit 3 and nothing else appears" {
    expect 3 tilecc -arch=cpu -o no/such/k.o k.tile
    contains "no/such"
    expect 3 tilecc -arch=cpu -o /dev/full k.tile
    contains "/dev/full"
    mkdir k.h
    expect 3 tilecc -arch=cpu k.tile
    rmdir k.h
    expect 3 tilecc -arch=cpu -MD -MF no/such.d k.tile
    nothing_but k.tile
}

@test "a failed run leaves old outputs byte for byte" {
    echo old >k.o; echo old >k.h; echo old >k.d
    expect 3 tilecc -arch=cpu -MD -MF /dev/full k.tile
    echo 'kernel broken(' >k.tile
    expect 1 tilecc -arch=cpu -MD k.tile
    [ "$(cat k.o k.h k.d)" = "$(printf 'old\nold\nold')" ]
    nothing_but k.tile k.o k.h k.d
}

@test "a limit on the size of files" {
    expect 3 sh -c 'ulimit -f 1; "$TILECC" -arch=cpu k.tile'
    nothing_but k.tile
}

needs_namespaces() { unshare -rm true 2>/dev/null || skip "no file systems of one's own here"; }

# Runs a script where ./small is a file system of the given size; 99: not allowed.
on_small_disk() { # kilobytes, script
    mkdir -p small
    unshare -rm sh -c 'mount -t tmpfs -o size='"$1"'k none small || exit 99; '"$2"
}

@test "a full disk: old outputs stay, and nothing hidden takes its room" {
    needs_namespaces
    for kilobytes in 4 8 12 16 20; do
        run on_small_disk $kilobytes 'echo old >small/k.o; ln small/k.o small/k.h; "$TILECC" -arch=cpu -MD -o small/k.o k.tile
            echo "code $?"; cat small/k.o small/k.h; ls -A small'
        [ "$status" != 99 ] || skip "no file systems of one's own here"
        [ "$output" = "$(printf "tilecc: error: cannot write 'small/k.o': No space left on device\ncode 3\nold\nold\nk.h\nk.o")" ] || {
            # The object fits and the header or the dependency file does not.
            contains "No space left on device"
            contains "$(printf 'code 3\nold\nold\nk.h\nk.o')"
        }
    done
    run on_small_disk 1000 '"$TILECC" -arch=cpu -MD -o small/k.o k.tile; echo "code $?"; ls -A small'
    [ "$output" = "$(printf 'code 0\nk.d\nk.h\nk.o')" ]
}

@test "a folder that cannot be written, whoever asks" {
    needs_namespaces
    mkdir -p folder
    run unshare -rm sh -c 'echo old >folder/k.o; mount --bind folder folder && mount -o remount,bind,ro folder || exit 99
        "$TILECC" -arch=cpu -o folder/k.o k.tile'
    [ "$status" != 99 ] || skip "no file systems of one's own here"
    [ "$status" = 3 ]
    contains "cannot write 'folder/k.o': Read-only file system"
    [ "$(cat folder/*)" = old ]
    expect 3 tilecc -arch=cpu -o /proc/k.o k.tile
    expect 3 tilecc -arch=cpu -MD -MF /sys/k.d k.tile
    [ ! -e k.o ]
}

@test "standard descriptors that are closed, each and together" {
    for closed in '<&-' '>&-' '2>&-' '<&- >&-' '<&- >&- 2>&-'; do
        rm -f k.o k.h
        sh -c '"$TILECC" -arch=cpu k.tile '"$closed"
        [ -s k.o ] && [ -s k.h ] || false
        run sh -c 'echo "kernel broken(" | "$TILECC" -arch=cpu -o b.o - '"$closed"
        [ "$status" = 1 ] || [ "$status" = 3 ]
        nothing_but k.tile k.o k.h
    done
    expect 3 sh -c '"$TILECC" -arch=cpu --emit=header -o - k.tile >&-'
    expect 3 sh -c '"$TILECC" --print-targets >&-'
    expect 3 sh -c '"$TILECC" info k.o >&-'
    expect 3 sh -c '"$TILECC" explain E0101 >/dev/full'
    expect 3 sh -c '"$TILECC" --interpret=k_axpy"(2, [3], [3])" k.tile >/dev/full'
    expect 1 sh -c 'echo broken >b.tile; "$TILECC" b.tile 2>/dev/full'
}

@test "an output must not be an input" {
    cp k.tile before
    expect 2 tilecc -arch=cpu -o k.tile k.tile
    ln k.tile hard.o
    expect 2 tilecc -arch=cpu -o hard.o k.tile
    ln -s k.tile soft.o
    expect 2 tilecc -arch=cpu -o soft.o k.tile
    cmp before k.tile
    expect 2 tilecc -arch=cpu -o k.h k.tile
}

@test "a symbolic link is replaced, not followed" {
    echo precious >victim
    ln -s victim k.o
    expect 0 tilecc -arch=cpu k.tile
    [ "$(cat victim)" = precious ]
    [ ! -L k.o ]
}

@test "a read-only file, a file of two names, a link to nowhere and a loop of links are replaced; a folder is not" {
    echo old >k.o
    chmod 444 k.o
    ln k.o twin
    ln -s no/where k.h
    expect 0 tilecc -arch=cpu k.tile
    [ "$(cat twin)" = old ]
    [ "$(stat -c %h k.o)" = 1 ]
    [ "$(stat -c %a k.o)" = "$(printf %o $((0666 & ~$(umask))))" ]
    [ ! -L k.h ]
    [ -s k.h ]
    rm k.o k.h
    ln -s k.o k.o
    expect 0 tilecc -arch=cpu k.tile
    [ ! -L k.o ]
    rm k.o
    mkdir folder
    ln -s folder k.o
    expect 3 tilecc -arch=cpu k.tile
    contains k.o
    ln -sf /dev/null null.o
    expect 0 tilecc -arch=cpu -o null.o k.tile
    [ -L null.o ]
    if [ "$(id -u)" != 0 ]; then
        chmod 555 folder
        expect 3 tilecc -arch=cpu -o folder/k.o k.tile
    fi
}

@test "a line end in a name is an error where a dependency file would hold it, and nothing is written" {
    odd=$(printf 'a\nb')
    cp k.tile "$odd.tile"
    echo 'fn one() -> f32 = 1.0;' >"$odd-import.tile"
    printf 'import "%s";\nkernel i(r: out f32[N]) grid(g: N) { r[g] = one(); }\n' 'a\nb-import.tile' >i.tile
    for options in "-MD $odd.tile" "-MD -o $odd.o k.tile" "-MD i.tile" "-MD -MF d $odd.tile" "-MD -MT t $odd.tile" "-MD -MQ $odd k.tile" "-fsyntax-only -MD $odd.tile"; do
        IFS=' ' read -r -d '' -a words <<<"$options" || true
        words[-1]=${words[-1]%$'\n'}
        expect 2 tilecc -arch=cpu "${words[@]}"
        contains "line end"
        [ -z "$(find . -name '*.[ohd]')" ]
    done
    expect 0 tilecc -arch=cpu "$odd.tile"
    [ -s "$odd.o" ]
    expect 0 tilecc -arch=cpu -MD -MT k.o -MF d -o "$odd.o" k.tile
}

@test "object on standard output is the object in a file" {
    expect 0 tilecc -arch=cpu -o k.o k.tile
    "$TILECC" -arch=cpu -o - k.tile >piped.o
    cmp k.o piped.o
    mkfifo pipe
    cat pipe >fifo.o &
    expect 0 tilecc -arch=cpu -o pipe --emit=header k.tile
    wait
    cmp fifo.o k.h
}

@test "the mode of outputs follows umask" {
    (umask 077; "$TILECC" -arch=cpu k.tile)
    [ "$(stat -c %a k.o)" = 600 ]
}

@test "dependency files that make undoes, with odd names" {
    mkdir 'a b'
    for name in 'plain' 'a b/sp ace' 'ha#sh' 'dol$lar' 'co:lon' 'back\slash' "quo'te" 'tilde~' 'bs\ sp' '(par)' 'per%cent' '%' 'a%b%c' 'b\%c' 'b\\%c' 'back\' 'a  b' 'x&y' 'x,y' '@' '{a}'; do
        cp k.tile "$name.tile"
        expect 0 tilecc --emit=header -MD -o "$name.h" "$name.tile"
        [ -s "$name.d" ]
        touch -d '2001-01-01' "$name.tile"
        touch "$name.h"
        cat >Makefile <<END
include $(printf '%s' "$name.d" | sed 's/[ #:]/\\&/g; s/\$/$$/g; s/\\\\ /\\\\\\ /g')
END
        # The rule has our names: touching the source makes the header out of date, so that make wants to make it.
        goal=()
        case $name in *%*) goal=("$name.h") ;; esac # make takes no target with a `%` as its first goal
        first=$(make -n --debug=b -f "$name.d" "${goal[@]}" 2>&1 || true)
        [[ $first != *"No rule"* ]] || { echo "$name: $first"; cat "$name.d"; return 1; }
        touch -d '2037-01-01' "$name.tile"
        second=$(make -n --debug=b -f "$name.d" "${goal[@]}" 2>&1 || true)
        [[ $second == *"newer than"* || $second == *"Must remake"* ]] || { echo "$name: $second"; cat "$name.d"; return 1; }
        rm -f "$name".[dh] "$name.tile"
    done
}

@test "targets of dependency files" {
    expect 0 tilecc -arch=cpu -MD -o out.o k.tile
    [ "$(cat out.d)" = "$(printf 'out.o out.h: \\\n  k.tile')" ]
    expect 0 tilecc -arch=cpu -MD -MF d -MT 'one two' -MQ 'three four' k.tile
    [ "$(cat d)" = "$(printf 'one two three\\ four: \\\n  k.tile')" ]
}

@test "imports are in the dependency file, and get phony rules" {
    mkdir sub
    echo 'fn twice(x: f32) -> f32 { return x + x; }' >sub/u.tile
    { echo 'import "u.tile";'; sed 's/a \* x/twice(a) * x/' k.tile; } >i.tile
    sed -i '2,$s/twice(a) \* x\[i +: B\]/twice(a) * x[i +: B]/' i.tile
    expect 0 tilecc -arch=cpu -I sub -MD -MP i.tile
    grep -q 'sub/u.tile' i.d
    grep -q '^sub/u.tile:$' i.d
    [ "$(grep -c 'i.tile' i.d)" = 1 ]
}

@test "names of 255 bytes, with control characters, not UTF-8" {
    long=$(printf 'x%.0s' $(seq 250))
    cp k.tile "$long.tile"
    expect 0 tilecc -arch=cpu --emit=header "$long.tile"
    [ -s "$long.h" ]
    odd=$(printf 'a\033[1m\377')
    echo bad >"$odd.tile"
    expect 1 tilecc "$odd.tile"
    lacks "$(printf '\033')"
}

@test "ended by a signal at any moment: object and header are whole or not there, nothing hidden stays" {
    mkdir good
    cp k.tile good/
    (cd good && "$TILECC" -arch=cpu k.tile)
    for i in $(seq 0 24); do
        rm -f k.o k.h
        "$TILECC" -arch=cpu k.tile &
        child=$!
        sleep "0.0$((i * 4 / 10))$((i * 4 % 10))"
        kill -TERM $child 2>/dev/null || true
        wait $child || true
        if [ -e k.o ] || [ -e k.h ]; then
            cmp k.o good/k.o
            cmp k.h good/k.h
        fi
        [ -z "$(find . -name '.tilecc-*')" ]
    done
}

@test "sixteen at a time to one output" {
    "$TILECC" -arch=cpu -o one.o k.tile
    pids=
    for i in $(seq 16); do
        "$TILECC" -arch=cpu -o same.o k.tile &
        pids="$pids $!"
    done
    for pid in $pids; do wait "$pid"; done
    cmp one.o same.o
    [ -z "$(find . -name '.tilecc-*')" ]
}

@test "too little memory: a message, exit 4, no output" {
    [ "${SANITIZE-}" != yes ] || skip "AddressSanitizer reserves memory itself"
    run sh -c 'ulimit -v 400000; exec "$TILECC" -arch=cpu k.tile'
    if [ "$status" = 0 ]; then [ -s k.o ]; else [ ! -e k.o ] && [ ! -e k.h ] && [ -n "$output" ]; fi
    for kilobytes in 300000 250000 230000; do
        rm -f k.o k.h
        run sh -c "ulimit -v $kilobytes; exec \"\$TILECC\" -arch=cpu k.tile"
        [ "$status" -lt 128 ]
        if [ "$status" = 0 ]; then [ -s k.o ]; else [ ! -e k.o ] && [ ! -e k.h ] && [ -n "$output" ]; fi
    done
}

@test "two sources of one stem are refused before anything is written" {
    mkdir -p a b
    cp k.tile a/saxpy.tile
    cp k.tile b/saxpy.tile
    expect 2 tilecc -arch=cpu a/saxpy.tile b/saxpy.tile
    [[ $output = *"'a/saxpy.tile' and 'b/saxpy.tile' would both give saxpy.o"* ]]
    [ ! -e saxpy.o ] && [ ! -e saxpy.h ] || false
    expect 2 tilecc -arch=cpu -MD a/saxpy.tile a/saxpy.tile
    [ ! -e saxpy.o ] && [ ! -e saxpy.d ] || false
    expect 0 tilecc -fsyntax-only a/saxpy.tile b/saxpy.tile
}

@test "two sources whose instances get one name" {
    echo 'kernel b_c(y: out f32[N]) grid(i: 1) { y[0] = 1.0; }' >a.tile
    echo 'kernel c(y: out f32[N]) grid(i: 1) { y[0] = 2.0; }' >a_b.tile
    expect 2 tilecc -arch=sm_80 --emit=tir a.tile a_b.tile
    [[ $output = *"two outputs have the name 'a_b_c."* ]]
}

@test "nothing is written beside a device" {
    mkdir dev
    mkfifo dev/null
    cat dev/null >bytes &
    expect 0 tilecc -arch=cpu -MD --save-temps -o dev/null k.tile
    wait
    [ -s bytes ]
    [ "$(ls dev)" = null ]
    [ -s k.d ]
    grep -q '^dev/null[ :]' k.d
    expect 0 tilecc -arch=cpu -o /dev/null k.tile
    [ ! -e /dev/null.h ]
    expect 0 tilecc -arch=cpu -MD -o /dev/null k.tile
    [ ! -e /dev/null.d ]
}

@test "dependencies of what is only checked" {
    rm -f k.o k.d
    expect 0 tilecc -arch=cpu -fsyntax-only -MD k.tile
    grep -q '^k\.o:' k.d
    grep -q 'k\.tile' k.d
    [ ! -e k.o ]
    expect 0 tilecc -arch=cpu -fsyntax-only -MD -MF other.d -MT what k.tile
    grep -q '^what:' other.d
}

@test "dependencies alone, as of other compilers" {
    rm -f k.o k.h k.d
    for option in -M -MM; do
        [ "$("$TILECC" -arch=cpu,sm_80 $option k.tile)" = "$(printf 'k.o: \\\n  k.tile')" ]
        expect 0 tilecc -arch=cpu $option -o written k.tile
        [ "$(cat written)" = "$(printf 'k.o: \\\n  k.tile')" ]
        expect 0 tilecc -arch=cpu -c $option -MF filed -MT what k.tile
        [ "$(cat filed)" = "$(printf 'what: \\\n  k.tile')" ]
        expect 2 tilecc $option -MF a -o b k.tile
        contains 'one file'
        expect 2 tilecc $option --interpret k.tile
        contains 'makes nothing'
    done
    [ ! -e k.o ] && [ ! -e k.h ] && [ ! -e k.d ] || false
    expect 0 tilecc -arch=cpu -MMD k.tile
    [ "$(cat k.d)" = "$(printf 'k.o k.h: \\\n  k.tile')" ] && [ -s k.o ] || false
    echo 'import "none.tile";' >i.tile
    expect 3 tilecc -M i.tile
    tilecc --emit=tir -o k.tir k.tile
    expect 2 tilecc -M k.tir
    contains 'imports nothing'
}

@test "the report of times tells tilecc, LLVM and ptxas apart" {
    # Five runs each: some machines' clock of processor time stands still for some milliseconds and then jumps.
    part() { awk -v part="$1" -F: '/^processor time/ { sub(/^ */, "", $2); if (index($2, part) == 1) { sub(/ ms$/, "", $2); sub(/.* /, "", $2); sum += $2 } } END { print sum + 0 }' times; }
    for i in 1 2 3 4 5; do
        tilecc -arch=cpu,sm_80 --time-report -o k.o k.tile
    done 2>times
    [ "$(grep -c '^processor time: ' times)" = 20 ]
    for name in tilecc 'LLVM, GPU code' 'LLVM, host code' ptxas; do
        awk -v t="$(part "$name")" 'BEGIN { exit !(t > 2.5) }' || { echo "$name"; cat times; return 1; }
    done
    for i in 1 2 3 4 5; do
        tilecc -arch=sm_80 --emit=ptx --time-report -o - k.tile # a text alone: nothing is assembled
    done 2>times >text
    awk -v l="$(part 'LLVM, GPU code')" -v p="$(part ptxas)" -v h="$(part 'LLVM, host code')" 'BEGIN { exit !(l > 2.5 && p == 0 && h == 0) }' || { cat times; return 1; }
}

@test "texts that are asked for count as GPU code in the report of times" {
    for kind in ptx llvm; do
        tilecc -arch=sm_80 --emit=$kind --time-report -o - k.tile 2>times >text
        awk '/^time: GPU code/ { gpu = $4 } /^time: total/ { total = $3 } END { exit !(gpu > 2 && total >= gpu) }' times
    done
}

@test "a header that is the same keeps its time, an object does not" {
    tilecc -arch=cpu k.tile -o k.o
    touch -d 2001-01-01 k.o k.h
    echo '// A comment.' >>k.tile
    tilecc -arch=cpu k.tile -o k.o
    [ "$(stat -c %y k.h | cut -c 1-4)" = 2001 ]
    [ "$(stat -c %y k.o | cut -c 1-4)" != 2001 ]
    sed -i 's/f32/f64/g' k.tile
    tilecc -arch=cpu k.tile -o k.o
    [ "$(stat -c %y k.h | cut -c 1-4)" != 2001 ]
    cp k.h other.h
    ln -sf other.h k.h
    touch -d 2001-01-01 other.h
    tilecc -arch=cpu k.tile -o k.o
    [ ! -L k.h ]
    nothing_but k.tile k.o k.h other.h
}
