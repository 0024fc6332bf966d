#!/usr/bin/env bats
# Every example of man/tile.7 does what the manual says of it.

setup_file() {
    export WORK="$BATS_FILE_TMPDIR/manual"
    mkdir -p "$WORK"
    awk -v folder="$WORK" -f "$SRCDIR/tests/lang/manual.awk" "$SRCDIR/man/tile.7" > "$WORK/list"
}

names() { awk -v kind="$1" '$1 == kind { print $2 }' "$WORK/list"; }

@test "the manual has examples of every kind" {
    [ "$(names run | wc -l)" -ge 15 ]
    [ "$(names same | wc -l)" -eq 5 ]
    [ "$(names reject | wc -l)" -ge 3 ]
}

@test "the programs of the manual are the files of examples/" {
    while read -r kind name file; do
        [ "$kind" = same ] || continue
        tail -n +2 "$SRCDIR/$file" | diff - "$WORK/$name.tile"
    done < "$WORK/list"
}

@test "what the manual calls an error is one, with its code" {
    bad=0
    while read -r kind name code; do
        [ "$kind" = reject ] || continue
        if "$TILECC" -fsyntax-only "$WORK/$name.tile" 2> "$WORK/errors"; then
            echo "$name: accepted"; bad=1
        elif ! grep -m1 'error:' "$WORK/errors" | grep -q "\[$code\]"; then
            echo "$name: expected $code"; cat "$WORK/errors"; bad=1
        fi
    done < "$WORK/list"
    [ $bad = 0 ]
}

@test "examples compile, run on the CPU and give what the manual says" {
    bad=0
    printf '#include <math.h>\n#include <stdint.h>\n#include <stdio.h>\n' > "$WORK/main.c"
    calls=
    objects=()
    for name in $(names run); do
        if ! "$TILECC" -arch=cpu -o "$WORK/$name.o" "$WORK/$name.tile"; then echo "$name: does not compile"; bad=1; continue; fi
        awk -v kernel="$name" -f "$SRCDIR/tests/lang/caller.awk" "$WORK/$name.tile" >> "$WORK/main.c"
        calls="$calls wrong += call_$name();"
        objects+=("$WORK/$name.o")
    done
    for name in $(names compile); do
        "$TILECC" -arch=cpu -o "$WORK/$name.o" "$WORK/$name.tile" || { echo "$name: does not compile"; bad=1; }
    done
    echo "int main(void) { int wrong = 0;$calls return wrong != 0; }" >> "$WORK/main.c"
    "$TILECC" --emit-runtime -o "$WORK/tile_rt.o"
    $CC -std=c99 -Wall -Wextra -Werror -I"$WORK" "$WORK/main.c" "${objects[@]}" "$WORK/tile_rt.o" -o "$WORK/main" -ldl -lpthread -lm
    "$WORK/main" || bad=1
    [ $bad = 0 ]
}
