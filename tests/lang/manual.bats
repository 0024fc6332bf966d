#!/usr/bin/env bats
# Every example of man/tile.7 does what the manual says of it.

setup_file() {
    export WORK="$BATS_FILE_TMPDIR/manual"
    "$SRCDIR/tests/lang/make-manual" "$WORK" cpu > "$BATS_FILE_TMPDIR/made" 2>&1 || touch "$BATS_FILE_TMPDIR/failed"
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
    cat "$BATS_FILE_TMPDIR/made"
    [ ! -e "$BATS_FILE_TMPDIR/failed" ]
    for name in $(names compile); do "$TILECC" -arch=cpu -o "$WORK/$name.o" "$WORK/$name.tile"; done
    "$WORK/manual"
}

@test "the programs of the manual compile for the CPU" {
    for name in $(names same); do "$TILECC" -arch=cpu -o "$WORK/$name.o" "$WORK/$name.tile"; done
}
