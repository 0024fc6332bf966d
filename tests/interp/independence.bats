#!/usr/bin/env bats
# The oracle shares no code with what it judges: it links with base and ir alone, and no other room's symbol is in it.

@test "the interpreter links with base and ir alone" {
    cat > "$BATS_TEST_TMPDIR/main.c" <<'END'
#include "interp/interp.h"
int main(void) { struct interp_problem p; return interp_run(0, 0, 0, 0, 0, &p); }
END
    for file in "$SRCDIR"/src/interp/*.c "$SRCDIR"/src/base/*.c "$SRCDIR"/src/ir/*.c "$SRCDIR"/src/ir/*/*.c "$BATS_TEST_TMPDIR/main.c"; do
        ${CC:-cc} -std=c11 -D_GNU_SOURCE -O0 -I"$SRCDIR/src" -I"$SRCDIR" -c "$file" \
            -o "$BATS_TEST_TMPDIR/$(echo "$file" | tr '/ ' '__').o"
    done
    ${CC:-cc} "$BATS_TEST_TMPDIR"/*.o -lm -o "$BATS_TEST_TMPDIR/program"
}

@test "no symbol of passes, targets or front is named in the interpreter" {
    for file in "$SRCDIR"/src/interp/*.c; do
        ${CC:-cc} -std=c11 -D_GNU_SOURCE -O0 -I"$SRCDIR/src" -I"$SRCDIR" -c "$file" -o "$BATS_TEST_TMPDIR/one.o"
        run nm -u "$BATS_TEST_TMPDIR/one.o"
        [ "$status" -eq 0 ]
        [ -z "$(echo "$output" | grep -E ' (pass|target|nvptx|cpu|host|front|analysis|layout)_' || true)" ]
    done
}
