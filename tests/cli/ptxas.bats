#!/usr/bin/env bats
# ptxas: missing, killed, lying, hanging.  Each has its message and its exit code, and nothing is written.

load helper

with_fake() { # expected status
    expect "$1" tilecc -arch=sm_80 --cuda-path="$PWD/toolkit" k.tile
    [ ! -e k.o ] && [ ! -e k.h ]
}

@test "no toolkit where --cuda-path says: exit 4" {
    expect 4 tilecc -arch=sm_80 --cuda-path=/nonexistent k.tile
    contains "ptxas"
    contains "E1202"
    [ ! -e k.o ]
    expect 0 tilecc -arch=cpu --cuda-path=/nonexistent k.tile
}

@test "a ptxas that is no program: exit 4" {
    mkdir -p toolkit/bin
    echo text >toolkit/bin/ptxas
    with_fake 4
    rm toolkit/bin/ptxas
    mkdir toolkit/bin/ptxas
    with_fake 4
}

@test "a ptxas of another machine: exit 4 or 5" {
    mkdir -p toolkit/bin
    printf '\177ELF garbage' >toolkit/bin/ptxas
    chmod +x toolkit/bin/ptxas
    run tilecc -arch=sm_80 --cuda-path="$PWD/toolkit" k.tile
    [ "$status" = 4 ] || [ "$status" = 5 ]
    contains "ptxas"
}

@test "ptxas fails with a text: exit 5, the text is shown" {
    fake_ptxas <<<'echo "ptxas fatal   : strange things" >&2; exit 255'
    with_fake 5
    contains "strange things"
    contains "[E1203]"
}

@test "ptxas is killed" {
    fake_ptxas <<<'kill -9 $$'
    with_fake 5
    contains "signal"
}

@test "ptxas succeeds and gives nothing, a part, or something else" {
    fake_ptxas <<<'exit 0'
    with_fake 5
    contains "[E1204]"
    fake_ptxas <<<'echo "not a cubin"'
    with_fake 5
    fake_ptxas <<<'/usr/bin/head -c 1000 /bin/sh'
    with_fake 5
}

@test "ptxas gives a cubin cut short, or for another architecture" {
    needs_ptxas
    tilecc -arch=sm_80,sm_90a --emit=cubin --spec 'axpy[B=64]' k.tile
    cp k_axpy.0.sm_90a.cubin other.cubin
    cp k_axpy.0.sm_80.cubin right.cubin
    fake_ptxas <<<"/bin/cat '$PWD/other.cubin'"
    with_fake 5
    size=$(stat -c %s right.cubin)
    for part in 1 63 64 500 $((size / 2)) $((size - 1)); do
        fake_ptxas <<<"/usr/bin/head -c $part '$PWD/right.cubin'"
        with_fake 5
    done
}

@test "ptxas floods its errors" {
    fake_ptxas <<<'i=0; while [ $i -lt 3000 ]; do echo "flood flood flood flood flood flood flood" >&2; i=$((i+1)); done; exit 1'
    with_fake 5
    [ "${#output}" -lt 200000 ]
}

@test "ptxas leaves a child that holds the pipes" {
    fake_ptxas <<<'/bin/sleep 100 & echo no >&2; exit 1'
    begin=$(date +%s)
    with_fake 5
    [ $(($(date +%s) - begin)) -lt 20 ]
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
