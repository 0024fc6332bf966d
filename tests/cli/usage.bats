#!/usr/bin/env bats
# Wrong use: exit 2, and a message that says what would be right.

load helper

@test "no argument: usage, exit 2, nothing read" {
    expect 2 tilecc </dev/zero
    contains "Usage: tilecc"
}

@test "help names each command that is there" {
    expect 0 tilecc --help
    help=$output count=0
    for word in $(sed -n 's/^\.B tilecc \([a-z]*\)$/\1/p' "$SRCDIR/man/tilecc.1" | sort -u); do
        output=$help
        contains "tilecc $word "
        expect 0 tilecc "$word" --help
        [ "$output" = "$help" ]
        count=$((count + 1))
    done
    [ $count -ge 5 ]
    [[ $help != *"not there"* ]]
}

@test "unknown options suggest the nearest" {
    expect 2 tilecc --emti=ptx k.tile
    contains "did you mean '--emit'?"
    expect 2 tilecc -fsyntax-olny k.tile
    contains "did you mean '-fsyntax-only'?"
    expect 2 tilecc -Z k.tile
    contains "unknown option '-Z'; see tilecc --help"
    expect 2 tilecc --zzzzzzzz k.tile
    contains "see tilecc --help"
}

@test "what is planned says that it is not there yet" {
    for word in fmt lsp; do
        expect 2 tilecc $word
        contains "not there yet"
    done
    for option in --report=r.html --emit=c --emit=manifest; do
        expect 2 tilecc $option k.tile
        contains "not there yet"
    done
    [ -z "$(ls | grep -v '^k.tile$')" ]
}

@test "a file may have the name of a subcommand" {
    cp k.tile info
    expect 0 tilecc info -fsyntax-only
}

@test "values are checked" {
    for option in -O4 -Ofast -j0 -jx --fuel=-1 --fuel=x --max-instances=0 --max-instances=9999999 -ferror-limit=x \
        -fdiagnostics-format=xml -fdiagnostics-color=red --prefix=1a --prefix=a-b --host-target=plan9 --emit=exe -D=3 \
        -ffile-prefix-map=x '-Rpass=(' -Wno-such-warning -arch=sm_12 -arch= --passes=nosuch --print-after=nosuch -MF -o; do
        expect 2 tilecc k.tile "$option"
        contains "tilecc: error:"
    done
}

@test "ptxas gets only what is on the list" {
    for word in -o=x --output-file=x --options-file=x @file --input-as-string=x -O3,--dump-all '--maxrregcount=1;x' -dlcm=xx --maxrregcount= -v; do
        expect 2 tilecc -arch=sm_80 -Xptxas "$word" k.tile
        contains "not allowed"
    done
    expect 0 tilecc -arch=sm_80 --dryrun -Xptxas -O3,--maxrregcount=64 k.tile
}

@test "an architecture that is not known suggests one" {
    answered() {
        expect 2 tilecc "-arch=$1" k.tile
        contains "$2"
    }
    answered sm_90b "did you mean 'sm_90'?"
    for word in 90 sm90 9.0 compute90 cc90; do answered $word "did you mean 'sm_90'?"; done
    answered sm90a "did you mean 'sm_90a'?"
    answered sm_100 "did you mean 'sm_100a'?"
    answered sm_82 "the nearest below is 'sm_80'"
    answered sm_42 "the oldest is 'sm_75'"
    answered sm_999 "the newest is 'sm_121a'"
    answered cpi "did you mean 'cpu'?"
    answered native "nvidia-smi"
    expect 2 tilecc -arch=sm_42 k.tile
    lacks "did you mean"
}

@test "an empty argument is called so" {
    for words in ' k.tile -o k.o' '-fsyntax-only  k.tile' '--  k.tile' 'bench k.tile '; do
        mapfile -d ' ' -t given <<<"$words "
        unset 'given[-1]'
        expect 2 tilecc "${given[@]}"
        contains "an empty argument: an option or a file is meant"
    done
}

@test "several files and one output" {
    cp k.tile l.tile
    expect 2 tilecc -o x.o k.tile l.tile
    expect 0 tilecc -arch=cpu k.tile l.tile
    [ -s k.o ] && [ -s l.o ] && [ -s k.h ] && [ -s l.h ] || false
}

@test "standard input needs -o, and has it" {
    expect 2 tilecc - <k.tile
    contains "needs -o"
    expect 0 tilecc -arch=cpu -o k.o - <k.tile
    [ -s k.o ] && [ -s k.h ] || false
}

@test "dependency options need -MD" {
    expect 2 tilecc -MF x.d k.tile
    contains "needs -MD"
}

@test "response files, with GNU's quotes, inside each other" {
    printf -- "-arch=cpu -o 'a b.o'\n" >inner
    printf '%s\n' '@inner "k.tile"' >outer
    expect 0 tilecc @outer
    [ -s 'a b.o' ] && [ -s 'a b.h' ] || false
    printf '%s' '-o c\ d.o -arch=cpu' >third
    expect 0 tilecc @third k.tile
    [ -s 'c d.o' ]
    echo '@loop' >loop
    expect 3 tilecc @loop
    contains "loop"
}

@test "the rest after -- is files" {
    cp k.tile ./-odd.tile
    expect 0 tilecc -arch=cpu -- -odd.tile
    [ -s ./-odd.o ]
}

@test "version is one line; explain has a page for every code" {
    expect 0 tilecc --version
    [ "${#lines[@]}" = 1 ]
    [[ $output == "tilecc "* ]]
    expect 0 tilecc explain
    [ "${#lines[@]}" -gt 40 ]
    for code in $(printf '%s\n' "${lines[@]}" | cut -d' ' -f1); do
        run tilecc explain "$code"
        [ "$status" = 0 ] && [ "${#lines[@]}" -ge 2 ] && [ "${#output}" -gt 80 ] || { echo "$code: $output"; return 1; }
    done
    for word in -Wpadding '[-Wpadding]' -Werror=padding padding w1011 '[W1011]'; do
        expect 0 tilecc explain "$word"
        contains 'W1011 (warning, padding)'
    done
    for word in E9999 -W '[' paddin -Wpaddings; do expect 2 tilecc explain "$word"; done
    expect 2 tilecc explain a b
}

@test "closed and full standard output" {
    expect 3 sh -c '"$TILECC" --help >/dev/full'
    expect 3 sh -c '"$TILECC" -arch=cpu -o - k.tile >/dev/full'
    expect 3 sh -c '"$TILECC" -arch=cpu -o - k.tile >&-'
}

@test "-o may name the folder of a file for each instance" {
    mkdir 'a folder'
    for kind in ptx llvm tir; do
        expect 0 tilecc -arch=sm_80,sm_90a --emit=$kind k.tile
        expect 0 tilecc -arch=sm_80,sm_90a --emit=$kind -MD -o 'a folder' k.tile
        [ "$(ls ./*.sm_90a.* | wc -l)" -gt 0 ]
        for file in ./*.sm_*; do cmp "$file" "a folder/$file"; done
        grep -q '^a\\ folder/k.*sm_80' 'a folder/k.d'
        rm ./*.sm_* 'a folder'/*
    done
    expect 2 tilecc -arch=sm_80,sm_90a -S -o no/folder k.tile
    contains "give -o a folder that is there"
}

@test "there are no further warnings to turn on" {
    expect 2 tilecc -arch=cpu -Wextra k.tile
    contains "-Wextra: there are no further warnings; all are on"
    expect 2 tilecc -arch=cpu -Wno-extra k.tile
    expect 0 tilecc -arch=cpu -Wall -fsyntax-only k.tile
}

@test "kinds of output that processors do not have" {
    for option in -S --emit=ptx --emit=cubin --emit=fatbin; do
        expect 2 tilecc -arch=cpu $option k.tile
        contains "made for GPUs alone"
        contains "--emit=llvm"
    done
    expect 0 tilecc -arch=cpu --emit=llvm -o k.ll k.tile
    grep -q '^define' k.ll
}

@test "info lists the instances, as a product and by name, with the number that KERNEL_variant takes" {
    expect 0 tilecc -arch=cpu -o s.o "$SRCDIR/examples/softmax.tile"
    expect 0 tilecc info s.o
    contains "        cpu-baseline: 10 instances = 10 of B"
    [ "$(grep -c '^            [0-9]*: softmax<f16>\[B=[0-9]*\] cpu general: [0-9]* bytes of scratch a thread$' <<<"$output")" = 10 ]
    [ "$(grep -c "cpu-avx512: 10 instances" <<<"$output")" = 3 ]
    expect 0 tilecc -arch=cpu --host-target=aarch64-linux -o s.o --spec 'attention<f16>[D=64]' "$SRCDIR/examples/attention.tile"
    expect 0 tilecc info s.o
    contains "cpu-baseline: 2 instances = 1 of D x 2 of CAUSAL"
}

@test "info tells what takes the bytes: kernels, GPUs, the rest" {
    needs_ptxas
    expect 0 tilecc -arch=cpu,sm_80,sm_90a,compute_90a -o s.o --spec 'softmax<f16>[B=1024]' --spec 'softmax<f32>[B=1024]' "$SRCDIR/examples/softmax.tile"
    "$TILECC" info s.o | sed -n 's/^size    //p' >sizes
    [ "$(cut -d: -f1 sizes | tr '\n' ' ')" = 'softmax_f16 softmax_f32 sm_80 sm_90a sm_90a.ptx all ' ]
    [ "$(sed -n 's/^all: \([0-9]*\) .*/\1/p' sizes)" = "$(stat -c %s s.o)" ]
    images() { # bytes of the images whose names end so
        local all=0 size
        for size in $(readelf -SW s.o | sed -nE "s/.* \\.rodata\\.tile\\.image\\.$1 +PROGBITS +[0-9a-f]+ [0-9a-f]+ ([0-9a-f]+) .*/\\1/p"); do
            all=$((all + 16#$size))
        done
        echo $all
    }
    for target in sm_80 sm_90a sm_90a.ptx; do
        [ "$(sed -n "s/^$target: \([0-9]*\) .* 4 images\$/\1/p" sizes)" = "$(images "softmax_[^ ]*[.]$target")" ]
    done
    [ "$(sed -n 's/^softmax_f16: .* \([0-9]*\) in 6 images$/\1/p' sizes)" = "$(images 'softmax_f16__[^ ]*')" ]
    # kernels and the rest are all
    awk '/^softmax/ { n += $2 } /^all/ { n += $4; exit n != $2 }' sizes
    expect 0 tilecc -arch=cpu -o k.o k.tile
    expect 0 tilecc info k.o
    contains "size    k_axpy: "
    lacks " images"
}

@test "info --json is one object with the kernels, instances and images of the text" {
    needs_ptxas
    command -v python3 >/dev/null || skip "no python3"
    expect 0 tilecc -arch=cpu,sm_90a,compute_90a -o s.o --spec 'softmax<f16>[B=1024]' --spec 'softmax<f32>[B=1024]' "$SRCDIR/examples/softmax.tile"
    "$TILECC" info --json s.o >json
    [ "$(wc -l <json)" = 1 ]
    "$TILECC" info s.o >text
    python3 - <<'END'
import json, os
info, text = json.load(open("json")), open("text").read()
assert info["version"] == 1 and info["object"] == "s.o" and info["bytes"] == os.path.getsize("s.o")
assert sorted(k["name"] for k in info["kernels"]) == ["softmax_f16", "softmax_f32"]
images = {i["name"]: i for i in info["images"]}
assert len(images) == text.count("\nimage ")
for name, image in images.items():
    assert f"image   {name}: {image['bytes']} bytes" in text
    for f in image.get("functions", []):
        assert f"{f['symbol']}: {f['registers']} registers, {f['shared_bytes']} bytes shared, {f['local_bytes']} bytes local" in text
    assert ("functions" in image) != name.endswith(".ptx")
for kernel in info["kernels"]:
    assert f"kernel  {kernel['name']}: {kernel['host_bytes']} bytes" in text
    names = [t["name"] for t in kernel["targets"]]
    assert "sm_90a" in names and "compute_90a" in names and "cpu-avx2" in names
    for target in kernel["targets"]:
        assert [i["number"] for i in target["instances"]] == list(range(len(target["instances"]))) != []
        for i in target["instances"]:
            assert kernel["name"] == images[i["image"]]["kernel"] if "threads" in i else "scratch_bytes" in i
            assert "threads" not in i or f"{i['threads']} threads a block" in text
            assert i["summary"].startswith(f"softmax<{kernel['name'][-3:]}>")
END
    echo 'int i;' >c.c
    ${CC:-cc} -c c.c -o c.o
    expect 3 tilecc info --json c.o
    contains 'no kernels'
    expect 2 tilecc info --json
}

@test "info --extract writes the images of a target, or none" {
    needs_ptxas
    expect 0 tilecc -arch=cpu,sm_80,sm_90a,compute_90a -o s.o --save-temps --spec 'softmax<f16>[B=1024]' --spec 'softmax<f32>[B=1024]' "$SRCDIR/examples/softmax.tile"
    sections() { readelf -SW s.o | grep -oE "\\.rodata\\.tile\\.image\\.$1 " | sed 's/.*image\.//; s/ *$//' | sort; }
    mkdir one all text
    (cd one && "$TILECC" info --extract=sm_90a:softmax_f16 ../s.o)
    [ "$(cd one && ls)" = "$(sections 'softmax_f16__[0-9]+\.sm_90a' | sed 's/$/.cubin/')" ] && [ -n "$(ls one)" ] || false
    (cd all && "$TILECC" info --extract=sm_90a ../s.o)
    [ "$(cd all && ls)" = "$(sections '[^ ]*\.sm_90a' | sed 's/$/.cubin/' )" ]
    for cubin in all/*; do # each is one that was assembled
        found=no
        for made in s.*.sm_90a.cubin; do ! cmp -s "$cubin" "$made" || found=yes; done
        [ "$found" = yes ] || { echo "$cubin"; ls; return 1; }
    done
    (cd text && "$TILECC" info --extract=compute_90a ../s.o)
    [ "$(cd text && ls)" = "$(sections '[^ ]*\.sm_90a\.ptx')" ]
    for ptx in text/*; do grep -q '^\.target sm_90a' "$ptx" && ! grep -qP '\x00' "$ptx"; done
    for absent in sm_86 sm_90 sm_90a:softmax compute_80 ''; do
        expect 3 tilecc info "--extract=$absent" s.o
        contains "it holds no image of $absent;"
    done
    expect 2 tilecc info --extract=sm_80
    sed 's,\.image\.softmax_f16__,.image.softmax_f16/_,g' s.o >odd.o # a name that is a path
    expect 3 tilecc info --extract=sm_80 odd.o
    contains 'no name of a file'
}

@test "info reads the objects of an archive, and says of what is linked where to look" {
    expect 0 tilecc -arch=cpu k.tile
    cp k.o a_long_name_of_an_object.o
    tilecc --emit-runtime -o rt.o
    ar rc k.a rt.o k.o a_long_name_of_an_object.o
    expect 0 tilecc info k.a
    [ "$(grep '^object' <<<"$output")" = "object  k.a(k.o): $(uname -m)
object  k.a(a_long_name_of_an_object.o): $(uname -m)" ]
    [ "$(grep -v '^object' <<<"$output")" = "$({ tilecc info k.o; tilecc info k.o; } | grep -v '^object')" ]
    expect 0 tilecc info --json k.a
    [ "$(grep -c '^{"version":1,"object":"k.a(.*o)",' <<<"$output")" = 2 ]
    ar rc none.a rt.o
    expect 3 tilecc info none.a
    contains "'none.a' holds no kernels of tilecc"
    head -c 3000 k.a >short.a
    expect 3 tilecc info short.a
    "$CC" -shared -o k.so k.o rt.o -ldl -lpthread -lm
    expect 3 tilecc info k.so
    contains "'k.so' is linked, where kernels no longer stand apart; give the objects or the archive that it was linked from"
}

@test "info shows a damaged object's names without control characters, and refuses one cut short" {
    expect 0 tilecc -arch=cpu k.tile
    sed 's/\.text\.tile\.k_axpy/.text.tile.\x1b[1mab/' k.o >odd.o
    expect 0 tilecc info odd.o
    contains "kernel  ?[1mab"
    lacks "$(printf '\033')"
    expect 0 tilecc info --json odd.o
    contains '"name":"\u001b[1mab'
    lacks "$(printf '\033')"
    size=$(stat -c %s k.o)
    for part in 0 1 63 64 100 $((size / 2)); do
        head -c "$part" k.o >cut.o
        for option in '' --json; do
            expect 3 tilecc info $option cut.o
            contains "cut.o"
        done
    done
}

@test "errors of the command are objects of json where json is asked for" {
    object='^{"version":1,"severity":"error","code":"E1007","name":"command","message":".*","spans":\[\],"notes":\[\],"fixits":\[\],"instances":\[\]}$'
    said() { # code, words of the message, arguments: with the option in front and behind
        local code=$1 words=$2
        shift 2
        for order in front behind; do
            if [ $order = front ]; then expect "$code" tilecc -fdiagnostics-format=json "$@"
            else expect "$code" tilecc "$@" -fdiagnostics-format=json; fi
            [ "$(printf '%s\n' "$output" | wc -l)" = 1 ] && printf '%s\n' "$output" | grep -q "$object" || { echo "$output"; return 1; }
            contains "$words"
        done
    }
    said 2 'unknown option' --nonsense k.tile
    said 2 'no input' -arch=cpu
    said 2 'is not a number' -ferror-limit=x k.tile
    said 2 'unknown architecture' -arch=sm_1 k.tile
    said 3 "cannot read 'none.tile'" none.tile
    said 3 "cannot read 'infos': No such file or directory; did you mean the command 'info'?" infos
    printf '\177ELF\002' >elf.o
    said 3 "'elf.o' is an object, not a source; did you mean 'tilecc info elf.o'?" elf.o
    said 3 "cannot read '@none'" @none
    said 2 'there is no pass' --passes=nothing --emit=tir k.tile
    said 2 'k_axpy: view x is NULL' --interpret='k_axpy(2, none, [4])' k.tile
    said 2 'needs -MD' -MP k.tile
    said 2 'here: -Xptxas=--maxrregcount=N, and' -maxrregcount=32 k.tile
    said 2 'here: -Xptxas=--maxrregcount=N, and' --maxrregcount 32 k.tile
    said 2 "'-gencode=arch=compute_80,code=sm_80'; here: -arch=sm_80" -gencode=arch=compute_80,code=sm_80 k.tile
    said 2 'here: --emit=ptx, or -S' --ptx k.tile
    said 2 'here: each object may go into a shared library' -fPIC k.tile
    said 2 'here: the variable TILECC_CACHE' --cache-dir=x k.tile
    said 2 "did you mean '--help'" -help
    said 3 "cannot write 'none/k.o'" -arch=cpu -o none/k.o k.tile
    expect 2 tilecc -fdiagnostics-format=json --nonsense -fdiagnostics-format=text k.tile # the last one counts
    contains "tilecc: error: unknown option"
    expect 2 tilecc -fdiagnostics-format=jsn k.tile
    contains "is not text or json"
}

@test "a stack too small is no bug of ours: it is raised, or said" {
    { echo 'const fn deep(n: i64) -> i64 { if (n <= 0) return 0; return 1 + deep(n - 1); }'
      echo 'kernel k(x: inout f32[N]) grid(i: N) { static_assert(deep(190) == 190); x[i] = 1.0; }'; } >deep.tile
    run bash -c "ulimit -s 64; exec '$TILECC' -arch=cpu -o k.o k.tile"
    [ "$status" = 4 ]
    contains "the stack is limited to 64 KiB, and"
    needed=$(sed -n 's/.*, and \([0-9]*\) are needed (ulimit -s).*/\1/p' <<<"$output") # more with sanitizers
    [ "$needed" -ge 1024 ] && [ "$needed" -le 4096 ] || false
    [ ! -e k.o ]
    run bash -c "ulimit -S -s 256; exec '$TILECC' -arch=cpu -o deep.o deep.tile" # the soft limit alone
    [ "$status" = 0 ]
    run bash -c "ulimit -s $needed; exec '$TILECC' -arch=cpu -o deep.o deep.tile"
    [ "$status" = 0 ]
}

@test "bash completes options that --help names, targets behind -arch= and commands" {
    complete_words() { # the words of a command line, of which the last is completed
        bash -c 'source "$0"; COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _tilecc; echo "${COMPREPLY[@]}"' "$SRCDIR/man/tilecc.bash" "$TILECC" "$@"
    }
    run complete_words --sched
    [ "$output" = "--schedules=" ]
    run complete_words -arch = cpu,sm_90
    [ "$output" = "cpu,sm_90 cpu,sm_90a" ]
    run complete_words --f32-dot = tf
    [ "$output" = "tf32 tf32x3" ]
    run complete_words tu
    [ "$output" = tune ]
    run complete_words bench --ag
    [ "$output" = "--against=" ]
    touch "kernel of mine.tile" other.c
    run complete_words ke
    [ "$output" = "kernel of mine.tile" ]
    # Kinds and answers that the script lists are the compiler's.
    for kind in $(sed -n "s/.*--emit) COMPREPLY=.*-W '\([a-z ]*\)'.*/\1/p" "$SRCDIR/man/tilecc.bash"); do
        expect 0 tilecc --help
        sed -n '/--emit=KIND/,/^  --compress/p' <<<"$output" | grep -qw "$kind"
    done
}
