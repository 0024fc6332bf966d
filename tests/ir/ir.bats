#!/usr/bin/env bats
# Tile IR from the command line.

write() { printf '%s\n' "$@" > "$BATS_TEST_TMPDIR/a.tir"; }

rejects() {
    run "$TILECC" "$BATS_TEST_TMPDIR/a.tir"
    [ "$status" -eq 1 ] || { echo "status $status"; return 1; }
    [[ "$output" == *"$1"* ]] || { echo "$output"; return 1; }
}

@test "E1001: text that is no tile IR" {
    write 'function @f() {' '    retorn' '}'
    rejects "a.tir:2:5: error: no operation is called 'retorn' [E1001]"
}

@test "E1002: a value that is not defined" {
    write 'function @f() -> i32 {' '    return %x' '}'
    rejects "a.tir:2:12: error: %x is not defined above [E1002]"
}

@test "E1003: a type that is none" {
    write 'function @f(%x: f31) {' '    return' '}'
    rejects "a.tir:1:17: error: an element type such as f32 or index is expected here [E1003]"
}

@test "E1004: a rule of an operation that is broken" {
    write 'function @f(%x: f32, %y: i32) {' '    %z = add %x, %y : f32' '    return' '}'
    rejects "[E1004]"
}

@test "errors in several functions in one run" {
    write 'function @f() {' '    retorn' '}' 'function @g() {' '    retarn' '}'
    rejects "retarn"
    rejects "retorn"
}

@test "R2001: remarks with -Rpass" {
    write 'function @f(%x: f32) -> f32 {' '    %c = constant value(3) : index' '    %s = constant value(1) : index' \
        '    %r = for unroll(1) %k: index = %s to %c step %s iter(%a: f32 = %x) {' '        %b = add %a, %x : f32' \
        '        yield %b' '    }' '    return %r' '}'
    run "$TILECC" -Rpass --passes=unroll "$BATS_TEST_TMPDIR/a.tir"
    [ "$status" -eq 0 ]
    [[ "$output" == *"a.tir:4:5: remark: unroll: unrolled 2 iterations [R2001]"* ]] || { echo "$output"; return 1; }
}

@test "what --emit=tir prints can be read again" {
    "$TILECC" --emit=tir -arch=cpu "$SRCDIR/examples/saxpy.tile" -o "$BATS_TEST_TMPDIR/a.tir" || skip "one instance a file"
    "$TILECC" "$BATS_TEST_TMPDIR/a.tir" -o "$BATS_TEST_TMPDIR/b.tir"
    "$TILECC" "$BATS_TEST_TMPDIR/b.tir" -o "$BATS_TEST_TMPDIR/c.tir"
    cmp "$BATS_TEST_TMPDIR/b.tir" "$BATS_TEST_TMPDIR/c.tir"
}

@test "any bytes: a message, no crash" {
    head -c 4000 /dev/urandom > "$BATS_TEST_TMPDIR/a.tir"
    run "$TILECC" "$BATS_TEST_TMPDIR/a.tir"
    [ "$status" -eq 1 ]
    : > "$BATS_TEST_TMPDIR/a.tir"
    run "$TILECC" "$BATS_TEST_TMPDIR/a.tir"
    [ "$status" -eq 0 ]
    awk 'BEGIN { printf "function @f(%%c: bool) {\n"; for (i = 0; i < 5000; i++) printf "if %%c {\n" }' > "$BATS_TEST_TMPDIR/a.tir"
    run "$TILECC" "$BATS_TEST_TMPDIR/a.tir"
    [ "$status" -eq 1 ]
    [[ "$output" == *"nested too deeply"* ]]
}

@test "a kernel's IR tells what its grid covers and which extents are equal" {
    run "$TILECC" --emit=tir -O0 -arch=cpu --spec 'saxpy[B=256]' "$SRCDIR/examples/saxpy.tile" -o -
    [ "$status" -eq 0 ]
    [[ "$output" == *"grid(1) grid_limit(8388608) grid_class(1) grid_step(256)"* ]] || { echo "$output"; return 1; }
    [[ "$output" == *"%x: view<f32, [?], [1], in> {limit(2147483648), restrict, extent_class(1)}"* ]] || { echo "$output"; return 1; }
    [[ "$output" == *"%y: view<f32, [?], [1], inout> {limit(2147483648), restrict, extent_class(1)}"* ]]
}
