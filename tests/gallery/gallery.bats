# The gallery, examples/FAMILY/NAME.tile: each kernel by its driver here, against f64 and at odd extents as in tests/exec, and what is
# written of it.

setup_file() { export EXEC_SHARED=$BATS_FILE_TMPDIR; }

family() {
    failed=0
    for source in "$SRCDIR/examples/$1"/*.tile; do
        [ ! -L "$source" ] || continue # a test of tests/exec
        run "$SRCDIR/tests/exec/run-exec" "$(basename "$source" .tile)"
        [ "$status" = 0 ] || { echo "$source: $output" | grep -v '^ok'; failed=1; }
    done
    [ $failed = 0 ]
}

@test "attention" { family attention; }
@test "losses" { family losses; }
@test "norms" { family norms; }
@test "products" { family products; }
@test "quantised" { family quantised; }
@test "by chance" { family random; }
@test "mixtures of experts" { family routing; }
@test "sequences" { family sequence; }

@test "a layer of a transformer by the same source as on a GPU" {
    cd "$BATS_TEST_TMPDIR"
    sh "$SRCDIR/tests/gallery/transformer" layer cpu
    ./layer --repeat 1
    ./layer --repeat 1 --tokens 71 --width 136 --heads 4 --key-heads 2 --hidden 200 --seed 7
    run ./layer --tokens 0
    [ "$status" = 2 ]
    run ./layer --gpu
    [ "$status" = 0 ] || [[ $output == *"no driver of a GPU here"* ]]
}

@test "tests that kernels bring along" {
    for source in "$SRCDIR"/examples/*/*.tile; do
        ! grep -q '^test ' "$source" || "$TILECC" test "$source"
    done
}

@test "each family has a test here, each kernel a driver, a section of its page and a row in the table" {
    for source in "$SRCDIR"/examples/*/*.tile; do
        name=$(basename "$source" .tile) family=$(basename "$(dirname "$source")")
        grep -q "family $family;" "$SRCDIR/tests/gallery/gallery.bats"
        [ -L "$source" ] || [ -f "$SRCDIR/tests/gallery/$name.c" ]
        grep -q "^## $name\$" "$(dirname "$source")/README.md" || { echo "no section of $name"; return 1; }
        grep -q "\[$name\]($family/README.md#" "$SRCDIR/examples/README.md" || { echo "no row of $name"; return 1; }
    done
}

@test "what pages show of C compiles" {
    command -v python3 >/dev/null || skip "no python3"
    cd "$BATS_TEST_TMPDIR"
    python3 -B "$SRCDIR/tests/gallery/pages.py" "$TILECC" "${CC:-cc}" "$SRCDIR/examples" 2>&1
}

@test "the figures that pages name are of runs that are kept" {
    for page in "$SRCDIR"/examples/*/README.md; do
        [ "$(grep -c '^## ' "$page")" = "$(grep -c '^Measured' "$page")" ] || { echo "$page: a section without figures"; return 1; }
        for run in $(grep -oE '20[0-9]{2}-[0-9-]+-[a-z0-9-]+\.json' "$page"); do [ -f "$SRCDIR/tests/bench/results/$run" ]; done
    done
}
