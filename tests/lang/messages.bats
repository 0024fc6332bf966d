#!/usr/bin/env bats
# What messages look like: the shapes of tiles and where each extent came from, the instance, the call, the fix-its.

@test "messages are as written beside the sources" {
    bad=0
    cd "$SRCDIR/tests/lang/messages"
    for file in *.tile; do
        "$TILECC" -fsyntax-only "$file" > "$BATS_TEST_TMPDIR/out" 2>&1 && { echo "$file: no error"; bad=1; }
        diff "${file%.tile}.txt" "$BATS_TEST_TMPDIR/out" || { echo "$file"; bad=1; }
    done
    [ $bad = 0 ]
}

@test "an error that all instances have is reported once" {
    count=$("$TILECC" -arch=cpu,sm_80,sm_90a -fsyntax-only "$SRCDIR/tests/lang/messages/instances.tile" 2>&1 | grep -c "is not known \[E0201\]")
    [ "$count" = 1 ]
}
