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
    contains "32 threads a block"
    if [ -n "${FATBINARY-}" ]; then
        expect 0 tilecc -arch=sm_80,sm_90a --emit=fatbin --spec 'axpy[B=64]' k.tile
        [ "$(od -An -tx4 -N4 k_axpy.fatbin | tr -d ' ')" = ba55ed50 ]
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
