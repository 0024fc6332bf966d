#!/usr/bin/env bats
# The front end as a whole: what tests/lang/accept holds compiles, what tests/lang/reject holds fails with exactly the errors that
# its first lines say (`// EXPECT: E0112 at 3:7`; `// FLAGS:` adds options), and every code has a file and a page.

@test "every file of accept passes" {
    "$TILECC" -fsyntax-only "$SRCDIR"/tests/lang/accept/*.tile
}

@test "every file of reject fails as it says, with exit code 1, 3 for files, 2 for the command line" {
    bad=0
    for file in "$SRCDIR"/tests/lang/reject/*.tile; do
        flags=$(sed -n 's,^// FLAGS: ,,p' "$file")
        expected=$(sed -n 's,^// EXPECT: ,,p' "$file")
        status=0
        # shellcheck disable=SC2086
        "$TILECC" -fsyntax-only -fdiagnostics-format=json $flags "$file" > "$BATS_TEST_TMPDIR/out" 2>&1 || status=$?
        found=$(sed -nE -e 's/^\{"version":1,"severity":"error","code":"([A-Z0-9]*)".*"spans":\[\],.*/\1/p' -e 's/^\{"version":1,"severity":"error","code":"([A-Z0-9]*)".*"spans":\[\{"file":"[^"]*","line":([0-9]*),"column":([0-9]*).*"notes".*/\1 at \2:\3/p' \
                "$BATS_TEST_TMPDIR/out")
        case $expected in E08*) code=3 ;; E0414*) code=2 ;; *) code=1 ;; esac
        if [ "$status" != $code ] || [ "$found" != "$expected" ]; then
            echo "$file: exit $status, expected:"; echo "$expected"; echo "found:"; echo "$found"; bad=1
        fi
    done
    [ $bad = 0 ]
}

@test "every code of the front end has a file in reject, and explain knows every code" {
    bad=0 count=0
    for code in $(sed -nE 's/^DIAGNOSTIC\(([A-Z][0-9]+),.*/\1/p' "$SRCDIR/src/base/diagnostics.def"); do
        count=$((count + 1))
        page=$("$TILECC" explain "$code") || { echo "$code: no page"; bad=1; }
        [ "${#page}" -gt 80 ] || { echo "$code: short page"; bad=1; }
        case $code in E0802 | E0803 | W12*) continue ;; E0* | W*) ;; *) continue ;; esac
        grep -qs "EXPECT: $code" "$SRCDIR"/tests/lang/reject/*.tile || { echo "$code: nothing in reject"; bad=1; }
    done
    [ $count -gt 100 ]
    [ $bad = 0 ]
}

@test "several errors of one run are all reported, at most twenty" {
    { echo 'kernel f(x: inout f32[N]) grid(i: N) {'; for i in $(seq 30); do echo "    x[i] = unknown$i;"; done; echo '}'; } > "$BATS_TEST_TMPDIR/many.tile"
    run "$TILECC" -fsyntax-only "$BATS_TEST_TMPDIR/many.tile"
    [ "$status" = 1 ]
    [ "$(printf '%s\n' "$output" | grep -c ' error: ')" = 20 ]
}

@test "R2002: a noinline function is inlined, and -Rpass says so" {
    echo 'noinline fn twice(x: f32) -> f32 = x + x; kernel k(x: inout f32[N]) grid(i: N) { x[i] = twice(x[i]); }' \
        > "$BATS_TEST_TMPDIR/n.tile"
    run "$TILECC" -fsyntax-only -Rpass "$BATS_TEST_TMPDIR/n.tile"
    [ "$status" = 0 ]
    [[ $output == *'n.tile:1:89: remark: the call of `twice` is inlined although it is `noinline` [R2002]'* ]]
    run "$TILECC" -fsyntax-only "$BATS_TEST_TMPDIR/n.tile"
    [ -z "$output" ]
}

@test "constants: the last that each element takes, and the first that it does not" {
    cd "$BATS_TEST_TMPDIR"
    takes() {
        printf 'kernel k(y: out %s[N]) grid(b: N) {\n    let v: %s = %s;\n    y[b] = v;\n}\n' "$1" "$1" "$2" >k.tile
        "$TILECC" -fsyntax-only k.tile >log 2>&1
    }
    while read -r element last next; do
        takes "$element" "$last" || { echo "$element: $last is refused"; cat log; return 1; }
        ! takes "$element" "$next" || { echo "$element: $next is taken"; return 1; }
    done <<'END'
i8 127 128
i8 -128 -129
u8 255 256
u8 0 -1
i16 32767 32768
i16 -32768 -32769
u16 65535 65536
i32 2147483647 2147483648
i32 -2147483648 -2147483649
u32 4294967295 4294967296
i64 9223372036854775807 9223372036854775808
i64 -9223372036854775808 -9223372036854775809
u64 18446744073709551615 18446744073709551616
f8e4m3 464 465
f8e4m3 -464 -465
f8e5m2 61439 61440
f16 65519 65520
f16 -65519 -65520
f32 3.4028235677973362e38 3.4028235677973367e38
END
}

@test "precision = ieee changes nothing but for f32 under another default" {
    cd "$BATS_TEST_TMPDIR"
    for arch in cpu sm_80 sm_90a; do
        cp "$SRCDIR/tests/lang/accept/one_precision.tile" k.tile
        "$TILECC" -arch=$arch --emit=tir k.tile -o - | sed 's/@[0-9:]*//' >said
        sed -i 's/, precision = ieee//' k.tile
        ! grep '^[^/]*precision' k.tile || false # in the comment it stays
        "$TILECC" -arch=$arch --emit=tir k.tile -o - | sed 's/@[0-9:]*//' >unsaid
        cmp said unsaid
    done
}
