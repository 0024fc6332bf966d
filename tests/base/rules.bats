#!/usr/bin/env bats
# Rules of the house that a script can check.

sources() { find "$SRCDIR"/src "$SRCDIR"/passes "$SRCDIR"/targets "$SRCDIR"/runtime-stub "$SRCDIR"/grammar -name '*.[chyl]'; }

# What files of a room include with quotes, without the room's own.
includes() { # room, allowed pattern
    find "$SRCDIR/$1" -name '*.[ch]' -exec grep -Hn '^#include "' {} + | grep -v -E "#include \"($2)" || true
}

@test "each room knows only those before it" {
    found=$(
        includes src/base 'base/|config.h'
        includes src/ir 'base/|ir/'
        includes src/interp 'base/|ir/|interp/'
        includes src/front 'base/|ir/|front/|grammar-tile'
        includes passes 'base/|ir/|passes/|targets/target.h|targets/product_choice.h'
        includes targets 'base/|ir/|targets/|runtime-stub/tile_rt.h'
        includes runtime-stub 'tile_rt'
    )
    echo "$found"
    [ -z "$found" ]
}

@test "only the rooms of targets see LLVM" {
    found=$(sources | grep -v -E '/targets/(nvptx|cpu|host|common)/' | tr '\n' '\0' | xargs -0 grep -l 'llvm-c' || true)
    echo "$found"
    [ "$(echo "$found" | grep -v 'targets/target.h$' | grep -c .)" = 0 ]
    ! grep -n '#include <llvm' "$SRCDIR/targets/target.h"
}

@test "no shell is ever started" {
    found=$(sources | tr '\n' '\0' | xargs -0 grep -n -E '\b(system|popen|execlp|execvp|mktemp|tmpnam|gets|strcpy|strcat|sprintf)\(' || true)
    echo "$found"
    [ -z "$found" ]
}

@test "no file over 1000 lines" {
    found=$(sources | tr '\n' '\0' | xargs -0 wc -l | awk '$2 != "total" && $1 > 1000')
    echo "$found"
    [ -z "$found" ]
}

@test "nothing is left to do later without saying so to users" {
    found=$(sources | tr '\n' '\0' | xargs -0 grep -n -E '\b(TODO|FIXME|XXX|HACK)\b|\bfor now\b' || true)
    echo "$found"
    [ -z "$found" ]
}

@test "every diagnostic code has a test that names it" {
    missing=
    for code in $(sed -n 's/^DIAGNOSTIC(\([EW][0-9]*\),.*/\1/p' "$SRCDIR/src/base/diagnostics.def"); do
        case $code in E1005 | E1102 | E1205) continue ;; esac # bugs of ours: no program should bring them about
        grep -rq --include='*.bats' --include='*.c' --include='*.tile' --include='*.tir' --include='*.expected' --include='*.txt' \
            --include='*.err' -e "$code" "$SRCDIR/tests" || ls "$SRCDIR"/tests/*/*/ | grep -qi "$code" || missing="$missing $code"
    done
    echo "no test:$missing"
    [ -z "$missing" ]
}
