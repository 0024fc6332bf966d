#!/usr/bin/env bats
# The tables of man/tile-from.7 are true: each name of Triton stands there once, what the rows call a function of the
# language is one, and their tests are there and show it.

setup() { cd "$BATS_TEST_TMPDIR"; }

rows() { # names | how | test, continued names joined
    awk '/^\.Bd/ { inside = 1; next } /^\.Ed/ { if (row != "") print row; row = ""; inside = 0 }
         inside && / \| / { if (row != "") print row; row = $0; next }
         inside && /^[A-Za-z]/ { at = index(row, "|"); row = substr(row, 1, at - 1) $0 " " substr(row, at) }' \
        "$SRCDIR/man/tile-from.7"
}
part() { awk -F ' *[|] *' -v part="$1" '{ print $part }'; }
# The words of a row that are called.
called() { grep -oE '\b[a-z_][a-z_0-9]*\(' | tr -d '(' | grep -vxE 'grid|tune|requires|alias|on|if|while|const|kernel|fn|k|f'; }

@test "every name of Triton has a row, and no name has two" {
    sed '/^\.Sh FROM CUDA/,$d' "$SRCDIR/man/tile-from.7" >triton.7
    rows | part 1 | tr ' ' '\n' | grep . | sort >all
    while read -r name; do
        grep -qx -- "$name" all || { echo "no row for $name"; return 1; }
    done <"$SRCDIR/tests/lang/triton-names.txt"
    [ "$(wc -l <"$SRCDIR/tests/lang/triton-names.txt")" -ge 330 ]
    [ "$(uniq -d all | grep -vxE 'asm|assert|curand' | wc -l)" = 0 ] || { uniq -d all; return 1; }
}

@test "what the rows call is known to the compiler" {
    rows | part 2 | called | sort -u >words
    [ "$(wc -l <words)" -ge 90 ]
    { echo 'kernel k(x: inout f32[64]) grid(i: 1) {'; sed 's/.*/    &();/' words; echo '}'; } >probe.tile
    "$TILECC" -fsyntax-only -ferror-limit=0 probe.tile 2>errors || true
    grep 'is not known\|is not there yet' errors && return 1
    { echo 'kernel k(x: inout f32[64]) grid(i: 1) {'; echo 'nosuch();'; echo '}'; } >probe.tile
    "$TILECC" -fsyntax-only probe.tile 2>&1 | grep -q 'is not known'
}

@test "the tests of the rows are there and show what they call" {
    bad=0
    while IFS='|' read -r names how test; do
        test=$(echo "$test" | tr -d ' ')
        [ -n "$test" ] || continue
        [ -f "$SRCDIR/tests/$test" ] || { echo "$names: no tests/$test"; bad=1; continue; }
        case $how in *no:*) continue ;; esac
        word=$(echo "$how" | called | head -n 1)
        [ -z "$word" ] && continue
        case $test in *conversions_test.c | *manual.bats | *wrapper.bats) continue ;; esac
        grep -qw -- "$word" "$SRCDIR/tests/$test" || { echo "$names: tests/$test has no $word"; bad=1; }
    done < <(rows)
    [ $bad = 0 ]
}
