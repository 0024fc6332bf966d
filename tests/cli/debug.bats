#!/usr/bin/env bats
# -g: lines of code for the processor, through calls and imports.

setup() {
    mkdir -p "$BATS_TEST_TMPDIR/sources/parts"
    cd "$BATS_TEST_TMPDIR/sources" || return
    cat >parts/helper.tile <<'END'
fn helper(x: f32) -> f32 {
    let y = x * 3.0;
    return sin(y);
}
END
    cat >main.tile <<'END'
import "parts/helper.tile" as parts;

kernel one(x: in f32[N], r: out f32[N])
    tune(B: {64, 128, 256})
    grid(b: cdiv(N, B))
{
    let v = x[b*B +: B];
    r[b*B +: B] = parts.helper(v)
        + 2.0;
}

kernel two(x: in f32[N], r: out f32[N]) grid(b: cdiv(N, 64)) {
    r[b*64 +: 64] = gelu(x[b*64 +: 64]);
}
END
}

@test "the object says which line of which file an instruction comes from" {
    "$TILECC" -arch=cpu -g main.tile
    objdump -dl main.o | grep -E '^[a-z/]+\.tile:' | sort -u >lines
    for line in main.tile:7 main.tile:8 main.tile:13 parts/helper.tile:2 parts/helper.tile:3; do
        grep -qE "^$line( |$)" lines
    done
    grep -q '^std/std\.tile:' lines
    run grep -E '^(main\.tile:(1[5-9]|[2-9][0-9])|parts/helper\.tile:([5-9]|[1-9][0-9]))' lines
    [ "$status" = 1 ]
}

@test "code is the same with -g and without, and the object at every -j" {
    "$TILECC" -arch=cpu -g -j1 -o one.o main.tile
    "$TILECC" -arch=cpu -g -j4 -o four.o main.tile
    cmp one.o four.o
    "$TILECC" -arch=cpu -o plain.o main.tile
    for object in one plain; do
        objcopy -O binary --only-section=.text.tile.main_one "$object.o" "$object.bin"
        test -s "$object.bin"
    done
    cmp one.bin plain.bin
    run objdump -h plain.o
    [[ $output != *.debug* ]]
}

@test "a debugger stops in an inlined function and shows what called it" {
    command -v gdb >/dev/null || skip "no gdb"
    "$TILECC" -arch=cpu -g main.tile
    "$TILECC" --emit-runtime -o rt.o
    cat >m.c <<'END'
#include "main.h"
static float x[100], r[100];
int main(void) {
    struct tile_f32_1 a = {x, {100}, {1}}, b = {r, {100}, {1}};
    return main_one(TILE_CPU, &a, &b);
}
END
    $CC m.c main.o rt.o -o m -lpthread -ldl -lm
    timeout 60 gdb -nx -batch -ex 'set debuginfod enabled off' -ex 'break parts/helper.tile:3' -ex run -ex bt ./m \
        >log 2>&1 </dev/null || true
    grep -q 'ptrace: Operation not permitted' log && skip "gdb may not trace here"
    grep -qE 'helper \(\) at parts/helper.tile:3' log
    grep -qE 'one \(\) at main.tile:8' log
}

@test "names of sources in the object follow -ffile-prefix-map" {
    "$TILECC" -arch=cpu -g -ffile-prefix-map=parts=elsewhere -ffile-prefix-map="$PWD"=here "$PWD/main.tile" -o k.o
    objdump -dl k.o | grep -q '^here/main\.tile:'
    run grep -a "$PWD" k.o
    [ "$status" = 1 ]
}
