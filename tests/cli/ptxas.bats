#!/usr/bin/env bats
# ptxas and what comes of it.  In ptxas_faults.bats it fails in every way.

load helper

@test "no toolkit where --cuda-path says: exit 4" {
    expect 4 tilecc -arch=sm_80 --cuda-path=/nonexistent k.tile
    contains "ptxas"
    contains "E1202"
    [ ! -e k.o ]
    expect 0 tilecc -arch=cpu --cuda-path=/nonexistent k.tile
}

@test "a ptxas of another machine: exit 4 or 5" {
    mkdir -p toolkit/bin
    printf '\177ELF garbage' >toolkit/bin/ptxas
    chmod +x toolkit/bin/ptxas
    run tilecc -arch=sm_80 --cuda-path="$PWD/toolkit" k.tile
    [ "$status" = 4 ] || [ "$status" = 5 ]
    contains "ptxas"
}

@test "the real one makes cubins, PTX, fatbins and objects" {
    needs_ptxas
    expect 0 tilecc -arch=sm_80,sm_90a --emit=cubin --spec 'axpy[B=64]' k.tile
    ls
    [ "$(find . -name 'k_axpy.*.sm_80.cubin' | wc -l)" -ge 1 ]
    [ "$(find . -name 'k_axpy.*.sm_90a.cubin' | wc -l)" -ge 1 ]
    expect 0 tilecc -arch=sm_80 -S --spec 'axpy[B=64]' -o - k.tile
    contains ".target sm_80"
    contains ".visible .entry"
    expect 0 tilecc -arch=cpu,sm_80,sm_90a -o k.o k.tile
    expect 0 tilecc info k.o
    contains "axpy"
    contains "sm_90a"
    contains "registers"
    contains "128 threads a block, 4 programs a block"
    if [ -n "${FATBINARY-}" ]; then
        expect 0 tilecc -arch=sm_80,sm_90a --emit=fatbin --spec 'axpy[B=64]' k.tile
        [ "$(od -An -tx4 -N4 k_axpy.fatbin | tr -d ' ')" = ba55ed50 ]
        expect 2 tilecc -arch=sm_80,sm_90a --emit=fatbin --spec 'axpy[B=64]' k.tile -o one.fatbin
        contains '2 variants give a file each; give -o a folder'
    fi
    expect 2 tilecc -arch=compute_80 --emit=cubin -o k.cubin k.tile
    contains "compute_80 is PTX"
    expect 0 tilecc -arch=compute_80 -S --spec 'axpy[B=64]' -o - k.tile
    contains ".target sm_80"
}

@test "more shared memory than there is: an error in words of the source" {
    needs_ptxas
    cat >big.tile <<'END'
kernel big(x: in f64[M, N], y: out f64[N, M]) grid(m: cdiv(M, 256), n: cdiv(N, 256)) {
    y[n*256 +: 256, m*256 +: 256] = trans(x[m*256 +: 256, n*256 +: 256]);
}
END
    expect 1 tilecc -arch=sm_75 big.tile
    contains "[E1201]"
    contains "big.tile:1:8"
    [ ! -e big.o ]
}

@test "text that ptxas does not take is told at its place in the source, once" {
    needs_ptxas
    cat >text.tile <<'END'
fn bent(x: f32) -> f32 = asm("ex2.approxx.f32 $0, $1;", x, type = f32);
kernel one(x: in f32[N], y: out f32[N]) grid(b: cdiv(N, 1024)) {
    y[b*1024 +: 1024] = bent(x[b*1024 +: 1024]);
}
kernel two(x: in f32[N], y: out f32[N]) grid(b: cdiv(N, 1024)) {
    let v = x[b*1024 +: 1024];
    y[b*1024 +: 1024] = asm("mov.f32 $0, $1;", "add.s32 $0, $0, $0;",
                            v, type = f32) + asm("mov.f32 $0, $1;", v, type = f32);
}
END
    expect 1 tilecc -arch=sm_80,sm_90a text.tile
    contains "text.tile:1:26: error: ptxas does not take this text: Unknown modifier '.approxx' [E1207]"
    contains "text.tile:7:25: error: ptxas does not take this text: Arguments mismatch for instruction 'add' [E1207]"
    [ "$(grep -c E1207 <<<"$output")" = 2 ]
    [ ! -e text.o ]
}

@test "fatbinary: missing, failing, hanging, or writing less than all" {
    needs_ptxas
    [ -n "${FATBINARY-}" ] || skip "no fatbinary"
    mkdir -p toolkit/bin
    ln -s "$PTXAS" toolkit/bin/ptxas
    fails_with() { # code, words
        expect "$1" timeout 60 "$TILECC" -arch=sm_80 --emit=fatbin --spec 'axpy[B=64]' --tool-timeout=1 --cuda-path="$PWD/toolkit" k.tile
        contains fatbinary
        contains "$2"
        [ -z "$(find . -name '*.fatbin' -o -name '.tilecc-*')" ]
    }
    # Its output is named by --create=; it writes there through the real one.
    fake() { { echo '#!/bin/sh'; echo 'for word; do case $word in --create=*) out=${word#--create=} ;; esac; done'; cat; } >toolkit/bin/fatbinary
        chmod +x toolkit/bin/fatbinary; }
    fails_with 4 "there is none"
    fake <<<'exit 3'
    fails_with 5 "no message"
    fake <<<'echo "fatbinary fatal : strange" >&2; exit 1'
    fails_with 5 "strange"
    fake <<<'kill -SEGV $$'
    fails_with 5 "ended by a signal"
    fake <<<'/bin/sleep 5'
    fails_with 5 "took too long"
    fake <<<'exit 0'
    fails_with 5 "not whole"
    fake <<<'echo "no fat binary, but long enough to hold a header" >"$out"'
    fails_with 5 "not whole"
    fake <<<"'$FATBINARY' \"\$@\" && /usr/bin/truncate -s -8 \"\$out\""
    fails_with 5 "not whole"
    fake <<<"exec '$FATBINARY' \"\$@\""
    expect 0 tilecc -arch=sm_80 --emit=fatbin --spec 'axpy[B=64]' --cuda-path="$PWD/toolkit" k.tile
    [ -s k_axpy.fatbin ]
}

@test "registers in memory with registers left: once more with the promise of one block, and the better of both is taken" {
    needs_ptxas
    mkdir -p toolkit/bin
    # Says 32 registers and spills; with the promise what the file `then` says.
    cat >toolkit/bin/ptxas <<END
#!/bin/sh
PATH=/usr/bin:/bin
cat >'$PWD/in.ptx'
echo run >>'$PWD/runs'
'$PTXAS' "\$@" <'$PWD/in.ptx' 2>/dev/null
spills='900 bytes stack frame, 900 bytes spill stores, 900 bytes spill loads'
grep -q '^[.]minnctapersm 1$' '$PWD/in.ptx' && spills=\$(cat '$PWD/then')
printf '    %s\nptxas info    : Used %s registers\n' "\$spills" "\$(cat '$PWD/used')" >&2
END
    chmod +x toolkit/bin/ptxas
    make_axpy() { # spills then, registers used, options: what is said of spills; how often ptxas ran
        echo "$1" >then
        echo "$2" >used
        rm -f runs
        "$TILECC" -arch=sm_80 -j1 --spec 'axpy[B=64]' --cuda-path="$PWD/toolkit" -Wno-spills -Rpass=instance "${@:3}" -o k.o k.tile 2>said
        runs=$(wc -l <runs)
        instances=$(grep -c 'instance: axpy.*sm_80' said)
    }
    less='8 bytes stack frame, 8 bytes spill stores, 8 bytes spill loads'
    more='1000 bytes stack frame, 1000 bytes spill stores, 1000 bytes spill loads'
    make_axpy "$less" 32
    [ "$runs" -eq $((2 * instances)) ]
    [ "$(grep -c 'spills: 8 bytes stored' said)" -eq "$instances" ]
    make_axpy "$more" 32
    [ "$runs" -eq $((2 * instances)) ]
    [ "$(grep -c 'spills: 900 bytes stored' said)" -eq "$instances" ]
    make_axpy "$less" 255 # none left
    [ "$runs" -eq "$instances" ]
    make_axpy "$less" 32 -Xptxas=--maxrregcount=32 # asked for
    [ "$runs" -eq "$instances" ]
    grep -q 'spills: 900 bytes stored' said
}
