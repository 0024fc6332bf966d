#!/usr/bin/env bats
# The parts of the bench that need no GPU.

@test "arguments, instances, rounds, tables and plots" {
    command -v python3 >/dev/null || skip "no python3"
    python3 -B "$SRCDIR/tests/bench/unit.py"
}

@test "the tables of README.md are what table.py makes of the newest runs" {
    command -v python3 >/dev/null || skip "no python3"
    python3 -B "$SRCDIR/tests/bench/table.py" --check "$SRCDIR/README.md"
}

@test "every program of the bench is Python" {
    command -v python3 >/dev/null || skip "no python3"
    for program in "$SRCDIR"/tests/bench/*.py; do
        python3 -B -c 'import ast, sys; ast.parse(open(sys.argv[1]).read())' "$program"
    done
    python3 -B "$SRCDIR/tests/bench/compare.py" --help >/dev/null
    python3 -B "$SRCDIR/tests/bench/check.py" --help >/dev/null
}
