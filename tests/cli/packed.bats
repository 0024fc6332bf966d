#!/usr/bin/env bats
# --compress-images: GPU code that fatbinary packs and the driver unpacks.

load helper

packs() {
    needs_ptxas
    [ -n "${FATBINARY-}" ] || skip "no fatbinary"
    "$FATBINARY" --help | grep -q compress-mode || skip "fatbinary is older than CUDA 12.8"
    cp "$SRCDIR/examples/softmax.tile" .
    specs=(--spec 'softmax<f16>[B=1024]' --spec 'softmax<f32>[B=4096]')
}

images_of() { "$TILECC" info "$1" | sed -n '/^image/,/^size/p' | sed '/^size/d; s/^\(image  *[^:]*\): .* bytes.*,/\1:/'; }

@test "an object of less than half the bytes, with the same code in it" {
    packs
    "$TILECC" -arch=sm_80,sm_90a "${specs[@]}" softmax.tile -o plain.o --save-temps
    "$TILECC" -arch=sm_80,sm_90a "${specs[@]}" softmax.tile -o packed.o --compress-images
    cmp plain.h packed.h
    [ "$(stat -c %s packed.o)" -lt "$(($(stat -c %s plain.o) / 2))" ]
    diff <(images_of plain.o) <(images_of packed.o)
    "$TILECC" info packed.o | grep -q '^image .*: [0-9]* bytes, unpacked [0-9]*, architecture 90'
    mkdir out_plain out_packed
    (cd out_plain && "$TILECC" info --extract=sm_90a ../plain.o)
    (cd out_packed && "$TILECC" info --extract=sm_90a ../packed.o)
    [ -n "$(ls out_plain)" ] && diff -r out_plain out_packed || false
    "$TILECC" -arch=sm_80,sm_90a "${specs[@]}" softmax.tile -o again.o --compress-images -j1
    cmp packed.o again.o
    "$TILECC" -arch=sm_80,sm_90a "${specs[@]}" softmax.tile -o packed.o --compress-images --save-temps
    for cubin in plain.*.cubin; do cmp "$cubin" "packed.${cubin#plain.}"; done
}

@test "NVIDIA's tools unpack what is in there" {
    packs
    [ -n "${CUOBJDUMP-}" ] && [ -x "$CUOBJDUMP" ] || skip "no cuobjdump"
    "$TILECC" -arch=sm_90a --spec 'axpy[B=64]' k.tile -o k.o --compress-images --save-temps
    for cubin in k.*.cubin; do
        sum=$(cksum <"$cubin")
        found=no
        for section in $(readelf -SW k.o | grep -o '\.rodata\.tile\.image\.[^ ]*'); do
            ${OBJCOPY:-objcopy} -O binary --only-section="$section" --set-section-flags "$section=alloc" k.o one.fatbin
            [ "$(od -An -tx4 -N4 one.fatbin | tr -d ' ')" = ba55ed50 ]
            rm -f ./*.sm_90a.unpacked
            mkdir -p unpacked && (cd unpacked && rm -f ./* && "$CUOBJDUMP" -xelf all ../one.fatbin >/dev/null)
            [ "$(cksum <unpacked/*)" != "$sum" ] || found=yes
        done
        [ $found = yes ]
    done
}

@test "the cache keeps what was packed, too" {
    packs
    "$TILECC" -arch=sm_80 "${specs[@]}" softmax.tile -o packed.o --compress-images
    for round in first second; do
        TILECC_CACHE=$PWD/kept "$TILECC" -v -arch=sm_80 "${specs[@]}" softmax.tile -o "$round.o" --compress-images 2>"$round.log"
        cmp packed.o "$round.o"
    done
    grep -q -- --compress-all first.log
    ! grep -q -- --compress-all second.log || false
}

@test "fatbinary that is missing, too old or broken is told, and what packs badly stays as it is" {
    needs_ptxas
    fake_ptxas <<<"exec '$PTXAS' \"\$@\""
    PATH=/nonexistent expect 4 "$TILECC" -arch=sm_80 --spec 'axpy[B=64]' --cuda-path="$PWD/toolkit" k.tile --compress-images
    contains "--compress-images needs fatbinary"
    printf '#!/bin/sh\necho "fatbinary fatal : Unknown option --compress-mode" >&2; exit 1\n' >toolkit/bin/fatbinary
    chmod +x toolkit/bin/fatbinary
    expect 5 tilecc -arch=sm_80 --spec 'axpy[B=64]' --cuda-path="$PWD/toolkit" k.tile --compress-images
    contains "fatbinary failed: fatbinary fatal : Unknown option --compress-mode"
    ! grep -q '[?]' <<<"$output" || false
    [ ! -e k.o ]
    [ -n "${FATBINARY-}" ] || skip "no fatbinary"
    printf '#!/bin/sh\nexec %s --create=${2#--create=} %s %s\n' "'$FATBINARY' -64" '--compress-mode=none' '"$5"' >toolkit/bin/fatbinary
    expect 0 tilecc -arch=sm_80 --spec 'axpy[B=64]' --cuda-path="$PWD/toolkit" k.tile -o k.o --compress-images
    "$TILECC" -arch=sm_80 --spec 'axpy[B=64]' --cuda-path="$PWD/toolkit" k.tile -o plain.o
    cmp plain.o k.o
}

@test "nothing to pack: code for the processor alone needs no tool" {
    PATH=/nonexistent expect 0 "$TILECC" -arch=cpu --cuda-path=/nonexistent k.tile -o k.o --compress-images
}

@test "a fatbinary that hangs is waited for once" {
    needs_ptxas
    mkdir -p toolkit/bin
    ln -s "$PTXAS" toolkit/bin/ptxas
    printf '#!/bin/sh\necho run >>%s\nexec %s 100\n' "'$PWD/runs'" "$(command -v sleep)" >toolkit/bin/fatbinary
    chmod +x toolkit/bin/fatbinary
    expect 5 tilecc -arch=sm_80,sm_90a -j1 --spec 'axpy[B=64]' --cuda-path="$PWD/toolkit" k.tile -o k.o --compress-images --tool-timeout=2
    contains 'fatbinary failed: it took too long'
    [ "$(wc -l <runs)" = 1 ]
    [ ! -e k.o ]
}
