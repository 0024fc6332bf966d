# Numeric tests: NAME.tile with its driver NAME.c, against f64, at every instruction set of this machine.

setup_file() { export EXEC_SHARED=$BATS_FILE_TMPDIR; }

numbers() {
    run "$SRCDIR/tests/exec/run-exec" "$@"
    echo "$output" | grep -v '^ok' || true
    [ "$status" -eq 0 ]
}

@test "elementwise floats" { numbers elementwise; }
@test "integers" { numbers integers; }
@test "casts" { numbers casts; }
@test "math" { numbers functions; }
@test "complex numbers" { numbers complex_pairs; }
@test "4-bit integers, two a byte" { numbers halves; }
@test "structs" { numbers structs; }
@test "text for GPUs, and what stands for it elsewhere" { numbers assembly; }
@test "sort, argsort, topk" { numbers sort; }
@test "print, and asserts with values" { numbers prints; }
@test "products with scales" { numbers scaled; }
@test "reductions" { numbers reduce; }
@test "rows behind their sums" { numbers behind; }
@test "code that the driver unpacks" { numbers packed; }
@test "scans" { numbers scans; }
@test "shapes and views" { numbers views; }
@test "elements 2^31 and 2^32 away" { numbers far; }
@test "elements along axes" { numbers moves; }
@test "views in another shape" { numbers reseen; }
@test "gather, scatter, pointers, random numbers" { numbers scatter; }
@test "control flow" { numbers control; }
@test "atomics" { numbers atomics; }
@test "products" { numbers products; }
@test "all instances together" { numbers across; }
@test "loops of several products" { numbers loops; }
@test "parts of views with bounds known only when running" { numbers parts; }
@test "one product in many words" { numbers rewritten; }
@test "loops that several instances share" { numbers split; }

@test "examples: saxpy" { numbers saxpy; }
@test "examples: softmax" { numbers softmax; }
@test "examples: rows" { numbers rows; }
@test "examples: matmul" { numbers matmul; }
@test "examples: attention" { numbers attention; }

@test "every driver has a test here" {
    for driver in "$SRCDIR"/tests/exec/*.tile; do
        grep -q "numbers $(basename "$driver" .tile);" "$SRCDIR/tests/exec/exec.bats"
    done
}
