#!/usr/bin/env bats
# Tile IR as a source: read, check, run passes, print.

load helper

write_scale() {
    cat >s.tir <<'END'
kernel @scale(%a: f32, %x: view<f32, [?], [1], inout> {align(16), limit(2147483648)}) grid(1) {
    %b = grid_index dimension(0) : index
    %zero = constant value(0.0) : f32
    %0 = load %x[%b +: 64], %zero : f32[64]
    %1 = splat %a : f32[64]
    %2 = mul %0, %1 : f32[64]
    %3 = mul %0, %1 : f32[64]
    %4 = add %2, %3 : f32[64]
    store %x[%b +: 64], %4
    return
}
END
}

@test "printing what was read gives the same bytes" {
    write_scale
    tilecc s.tir >once
    tilecc -o twice.tir s.tir
    cmp once twice.tir
    cmp once s.tir
}

@test "passes run alone, in the order given" {
    write_scale
    expect 0 tilecc --passes=cse s.tir
    [ "$(grep -c ' = mul ' <<<"$output")" = 1 ]
    expect 0 tilecc --passes=dce s.tir
    [ "$(grep -c ' = mul ' <<<"$output")" = 2 ]
    expect 0 tilecc --fuel=0 --passes=cse s.tir
    [ "$(grep -c ' = mul ' <<<"$output")" = 2 ]
    expect 0 tilecc --fuel=1 --passes=cse s.tir
    [ "$(grep -c ' = mul ' <<<"$output")" = 1 ]
    expect 0 tilecc --passes=cse,dce --print-after=dce -o x.tir s.tir
    contains "// after dce"
    expect 2 tilecc --passes=split_stores -o x.tir s.tir
    contains "the pass 'split_stores' does not work at the value level"
}

@test "what is no tile IR: a place and a code, exit 1" {
    echo 'kernel @f(' >a.tir
    expect 1 tilecc a.tir
    contains 'a.tir:2:1: error:'
    contains '[E1001]'
    printf 'kernel @f() grid(1) {\n    %%1 = add %%nope, %%nope : f32\n    return\n}\n' >b.tir
    expect 1 tilecc b.tir
    contains '[E1002]'
    printf 'kernel @f(%%a: f33) grid(1) {\n    return\n}\n' >c.tir
    expect 1 tilecc c.tir
    contains '[E1003]'
    printf 'kernel @f(%%a: f32, %%b: f64) grid(1) {\n    %%1 = add %%a, %%b : f32\n    return\n}\n' >d.tir
    expect 1 tilecc d.tir
    contains '[E1004]'
}

@test "code is not made from tile IR" {
    write_scale
    expect 2 tilecc s.tir -o s.o
    contains "a .tir file gives tile IR (-o NAME.tir, or --emit=tir)"
    [ ! -e s.o ]
    expect 0 tilecc s.tir --emit=tir -o s.text
    expect 0 tilecc s.tir -o s2.tir
    cmp s.text s2.tir
    expect 2 tilecc -S s.tir
    expect 2 tilecc --emit=header s.tir
}

@test "the IR of every example passes through its own text" {
    for file in "$SRCDIR"/examples/*.tile; do
        rm -f ./*.tir
        expect 0 tilecc --emit=tir "$file"
        for one in ./*.tir; do
            tilecc "$one" >again || { echo "$one"; return 1; }
            cmp "$one" again
        done
    done
}
