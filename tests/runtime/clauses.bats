#!/usr/bin/env bats
# What clauses say of scalars means the same to the wrapper, to the interpreter and to the code that believes it:
# integers are i64 whatever their type, a u64 that no i64 is makes the call fail, floats are what the kernel gets.

setup_file() {
    cd "$BATS_FILE_TMPDIR" || return 1
    cat >clauses.tile <<'TILE'
kernel below(n: u32, x: inout i64[N]) grid(i: 1) requires(n - 5 < 0) { x[0] = n < 5 ? 7 : 8; }
kernel product(n: i32, x: inout i64[N]) grid(i: 1) requires(n * 65536 > 5) { x[0] = n > 0 ? 7 : 8; }
kernel byte(n: u8, x: inout i64[N]) grid(i: 1) requires(n + 1 > 255) { x[0] = n == 255 ? 7 : 8; }
kernel wide(n: u64, x: inout i64[N]) grid(i: 1) requires(n > 5) { x[0] = n > 5 ? 7 : 8; }
kernel special(n: u64, x: inout i64[N]) grid(i: 1) specialize(n > 5) { x[0] = n > 5 ? 7 : 8; }
kernel counted(n: u64, x: inout i64[N]) grid(i: n) { x[i] = 7; }
kernel extent(n: u64, x: inout i64[n]) grid(i: 1) { x[0] = x.extent[0]; }
kernel less(n: u32, x: inout i64[n - 5]) grid(i: 1) { x[0] = x.extent[0]; }
kernel five(n: u32, x: inout i64[5]) grid(i: 1) { x[0] = x.extent[0]; }
kernel bracketed(n: u32, x: inout i64[(6)]) grid(i: 1) { x[0] = x.extent[0]; }
kernel hexadecimal(n: u32, x: inout i64[0x10]) grid(i: 1) { x[0] = x.extent[0]; }
kernel sum(n: u32, x: inout i64[3 + 3]) grid(i: 1) { x[0] = x.extent[0]; }
const W = 7;
kernel named(n: u32, x: inout i64[W]) grid(i: 1) { x[0] = x.extent[0]; }
kernel least(n: u32, x: inout i64[N]) const(B: {2, 8} >= 300) grid(i: 1) { x[0] = B; }
kernel large(n: u32, x: inout i64[N]) const(B: {2, 8} >= n) grid(i: 1) { x[0] = B; }
kernel half(h: f16, x: inout i64[N]) grid(i: 1) requires(h < 1.0) { x[0] = h < 1.0 ? 7 : 8; }
kernel brain(h: bf16, x: inout i64[N]) grid(i: 1) requires(h < 1.0) { x[0] = h < 1.0 ? 7 : 8; }
kernel tenth(h: f32, x: inout i64[N]) grid(i: 1) requires(h <= 0.1) { x[0] = h <= 0.1 ? 7 : 8; }
kernel above(h: f32, x: inout i64[N]) grid(i: 1) requires(h > 0.1) { x[0] = h > 0.1 ? 7 : 8; }
kernel nothing(n: u32, x: inout i64[N]) grid(i: 1) requires((n - n) << n == 0) { x[0] = 7; }
kernel lowest(n: u32, x: inout i64[N]) grid(i: 1) requires(-1 << n < 0) { x[0] = 7; }
kernel highest(n: u32, x: inout i64[N]) grid(i: 1) requires(1 << n > 0) { x[0] = 7; }
TILE
    # kernel, argument, what x[0] is then or what is said of it
    cat >cases <<'CASES'
below 2 7
below 5 requires(n - 5 < 0) does not hold
product 65536 7
product 0 requires(n * 65536 > 5) does not hold
byte 255 7
wide 9223372036854775807 7
wide 9223372036854775808 n > 5 does not fit 64 bits
special 9223372036854775808 7
special 3 8
counted 9223372036854775808 the grid does not fit 64 bits
extent 9223372036854775812 n does not fit 64 bits
extent 4 4
less 9 4
less 1 extent 0 of x is 4, but n - 5 is -4
five 3 extent 0 of x is 4, but it must be 5
bracketed 3 extent 0 of x is 4, but it must be 6
hexadecimal 3 extent 0 of x is 4, but 0x10 is 16
sum 3 extent 0 of x is 4, but 3 + 3 is 6
named 3 extent 0 of x is 4, but W is 7
least 3 no member of B: {2, 8} is at least 300.
large 9 no member of B: {2, 8} is at least n, which is 9
large 5 8
half 0.99999 requires(h < 1.0) does not hold
half 0.99 7
brain 0.999 requires(h < 1.0) does not hold
tenth 0.1 7
above 0.1 requires(h > 0.1) does not hold
nothing 100 7
lowest 63 7
lowest 64 -1 << n < 0 does not fit 64 bits
highest 62 7
highest 63 1 << n > 0 does not fit 64 bits
CASES
    {
        printf '#include <stdio.h>\n#include "clauses.h"\nint main(void)\n{\n    int64_t data[4];\n'
        printf '    struct tile_i64_1 x = tile_i64_1_row_major(data, 4);\n'
        while read -r kernel argument expected; do
            case $argument in *.*) argument=${argument}f ;; *) argument=${argument}u ;; esac
            printf '    if (clauses_%s(TILE_CPU, %s, &x) != TILE_OK) puts(tile_last_error());\n' "$kernel" "$argument"
            printf '    else printf("%%d\\n", (int)data[0]);\n'
        done <cases
        printf '    return 0;\n}\n'
    } >program.c
}

setup() { cd "$BATS_FILE_TMPDIR"; }

as_expected() { # the answers, a line a case
    bad=0
    while read -r kernel argument expected && read -r answer <&3; do
        case $expected in
        ?) [ "$answer" = "$expected" ] ;;
        *.) [[ $answer == *"${expected%.}" ]] ;;
        *) [[ $answer == *"$expected"* ]] ;;
        esac || { echo "$kernel($argument): $answer, not $expected"; bad=1; }
    done <cases 3<"$1"
    [ "$(wc -l <"$1")" = "$(wc -l <cases)" ]
    [ $bad = 0 ]
}

@test "to the wrapper and the code" {
    for optimize in -O0 -O3; do
        "$TILECC" -arch=cpu $optimize clauses.tile
        "$TILECC" --emit-runtime -o rt.o
        ${CC:-cc} -std=c99 program.c clauses.o rt.o -o program -ldl -lpthread -lm
        ./program >answers
        as_expected answers
    done
}

@test "to the interpreter" {
    while read -r kernel argument expected; do
        "$TILECC" --interpret="$kernel($argument, [4])" clauses.tile 2>&1 | sed -n '1s/^x\[0\] = \([0-9-]*\).*/\1/; 1p'
    done <cases >answers
    as_expected answers
}
