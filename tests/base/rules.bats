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
        includes passes 'base/|ir/|passes/|targets/target.h|targets/costs.h|targets/product_choice.h'
        includes targets 'base/|ir/|targets/|runtime-stub/tile_rt.h'
        includes runtime-stub 'tile_rt'
    )
    echo "$found"
    [ -z "$found" ]
}

# "room room symbol" for each symbol that an object of one folder takes from another; the grammar and what it calls are one room.
# Objects whose source is gone are left out.
arrows() {
    cd "$BUILDDIR/obj" || return 1
    find src passes targets grammar -name '*.o' | while read -r object; do
        case $object in grammar/*) ;; *) [ -e "$SRCDIR/${object%.o}.c" ] || continue ;; esac
        echo "$object"
    done | xargs nm -A | awk '
        { room = $1; sub(/\.o:.*/, "", room); sub(/\/[^\/]*$/, "", room); if (room == "grammar") room = "src/front/syntax" }
        $(NF - 1) ~ /^[TDRB]$/ { home[$NF] = room }
        $(NF - 1) == "U" { used[room " " $NF] }
        END {
            for (use in used) {
                split(use, part, " ")
                if (part[2] in home && home[part[2]] != part[1]) print part[1], home[part[2]], part[2]
            }
        }' | sort
}

@test "arrows between folders go one way" {
    arrows >"$BATS_TEST_TMPDIR/arrows"
    [ "$(wc -l <"$BATS_TEST_TMPDIR/arrows")" -gt 1000 ]
    cut -d ' ' -f 1,2 "$BATS_TEST_TMPDIR/arrows" | sort -u | tsort >"$BATS_TEST_TMPDIR/order" 2>"$BATS_TEST_TMPDIR/loop" || {
        sed -n 's/^tsort: \([a-z].*\)/\1/p' "$BATS_TEST_TMPDIR/loop" | sort -u >"$BATS_TEST_TMPDIR/rooms"
        echo "these folders use each other, by so many symbols, such as:"
        awk 'NR == FNR { in_loop[$1]; next }
            $1 in in_loop && $2 in in_loop { count[$1 " -> " $2]++; symbol[$1 " -> " $2] = $3 }
            END { for (pair in count) print count[pair], pair, symbol[pair] }' \
            "$BATS_TEST_TMPDIR/rooms" "$BATS_TEST_TMPDIR/arrows" | sort -n
        return 1
    }
}

@test "no folder with more than 45 files" {
    found=$(cd "$SRCDIR" && find -L src passes targets -type f | sed 's,/[^/]*$,,' | sort | uniq -c | awk '$1 > 45')
    echo "$found"
    [ -z "$found" ]
}

# By the one style, a function is from a line `{` to the next line `}`, its head the line or lines before.
@test "no function over 80 lines but a switch" {
    found=$(sources | grep '\.c$' | tr '\n' '\0' | xargs -0 awk '
        FNR == 1 || /^$/ { head = FNR + 1; from = "" }
        /^\{$/ { from = head; has_switch = 0 }
        /^    switch \(/ { has_switch = 1 }
        /^\}$/ && from { if (FNR - from + 1 > 80 && !has_switch) print FILENAME ":" from ": " FNR - from + 1; from = "" }')
    echo "$found"
    [ -z "$found" ]
}

@test "all C is formatted by .clang-format" {
    command -v clang-format-19 >/dev/null || skip "no clang-format-19"
    find -L "$SRCDIR"/src "$SRCDIR"/passes "$SRCDIR"/targets "$SRCDIR"/runtime-stub "$SRCDIR"/tests "$SRCDIR"/examples \
        -name '*.[ch]' -print0 | xargs -0 clang-format-19 --dry-run --Werror
}

@test "only the rooms of targets see LLVM" {
    found=$(sources | grep -v -E '/targets/(nvptx|cpu|host|common)/' | tr '\n' '\0' | xargs -0 grep -l 'llvm-c' || true)
    echo "$found"
    [ "$(echo "$found" | grep -v 'targets/target.h$' | grep -c .)" = 0 ]
    ! grep -n '#include <llvm' "$SRCDIR/targets/target.h" || false
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

# "file name" for each name of a source in a comment, or in the text of a manual page for people who read sources.
names_in_comments() {
    (cd "$SRCDIR" && find src passes targets runtime-stub grammar -name '*.[chyl]' -o -name '*.def' | sort) | while read -r file; do
        awk -v file="$file" '
            { line = $0; text = "" }
            !inside && match(line, /\/\*|\/\//) { inside = substr(line, RSTART, 2) == "/*"; text = substr(line, RSTART + 2); line = text }
            inside && text == "" { text = line }
            inside && (end = index(line, "*/")) { text = substr(line, 1, end - 1); inside = 0 }
            {
                while (match(text, /[A-Za-z0-9_\/.-]*[A-Za-z0-9_]\.(c|h|def)[^A-Za-z0-9_]/) || match(text, /[A-Za-z0-9_\/.-]*[A-Za-z0-9_]\.(c|h|def)$/)) {
                    name = substr(text, RSTART, RLENGTH)
                    text = substr(text, RSTART + RLENGTH)
                    sub(/[^A-Za-z0-9_]$/, "", name)
                    print file, name
                }
            }' "$SRCDIR/$file"
    done
    grep -oE '[a-z0-9_/-]+\.(c|h|def|bats)\b' "$SRCDIR/README.md" | sed 's/^/README.md /'
    grep -oE '[a-z0-9_/-]+\.(c|h|def|bats)\b' "$SRCDIR/CONTRIBUTING.md" | sed 's/^/CONTRIBUTING.md /'
}

@test "files that comments name are there" {
    names_in_comments | sort -u >"$BATS_TEST_TMPDIR/names"
    [ "$(wc -l <"$BATS_TEST_TMPDIR/names")" -gt 200 ]
    (cd "$SRCDIR" && find . -type f -not -path './obj/*' -not -path './.git/*' | sed 's,^\./,/,') >"$BATS_TEST_TMPDIR/files"
    found=$(while read -r file name; do
        # what programs of users, the driver and other systems have
        case $name in app.[ch] | saxpy.h | dlpack.h | std*.h | config.h | grammar-tile.* | _*.c) continue ;; esac
        grep -q -- "/$name\$" "$BATS_TEST_TMPDIR/files" || echo "$file: $name"
    done <"$BATS_TEST_TMPDIR/names")
    echo "$found"
    [ -z "$found" ]
}

# tile_rt_text.c stands in for printf, and has no more than this.  What kernels print goes through the C library's.
@test "texts of the run time ask for no conversion that it does not have" {
    found=$(cd "$SRCDIR" && grep -n '"' runtime-stub/*.c | grep -v -e 'snprintf(' -e 'strcspn(' -e '"m[rs][sr] ' |
        grep -oE '^[^:]*:[0-9]*|"([^"\\]|\\.)*"' | awk '/^runtime/ { at = $0; next } { print at ": " $0 }' | sed 's/%%//g' |
        grep -E '%' | sed -E 's/%(\+lld|0[34][ux]|\.\*s|(l|ll|z)?[dux]|[scp])//g' | grep '%' || true)
    echo "$found"
    [ -z "$found" ]
}

# bash -e overlooks `! command`, and all but the last of `this && that`, unless they are the last line of a test.
@test "what tests ask for can fail" {
    found=$(cd "$SRCDIR" && find tests -name '*.bats' -exec awk '
        { line = joined $0 }
        /\\$/ { joined = substr(line, 1, length(line) - 1); next }
        { joined = ""; rest = line; gsub(/\$\([^()]*\)/, "", rest); sub(/^ *\[\[.*\]\]( *#.*)?$/, "", rest) }
        rest ~ /^ +! / && rest !~ /\|\|/ { print FILENAME ": " line }
        rest ~ /^ +(\[|\[\[|grep|cmp|says|contains) .* && / && rest !~ /\|\||&& (return|skip|continue|false)/ { print FILENAME ": " line }
        ' {} +)
    echo "$found"
    [ -z "$found" ] || { echo 'add "|| false"'; return 1; }
}
