# Numeric tests: NAME.tile with its driver NAME.c, against f64, at every instruction set of this machine and for AArch64 under qemu.

numbers() {
    run "$SRCDIR/tests/exec/run-exec" "$@"
    echo "$output" | grep -v '^ok' || true
    [ "$status" -eq 0 ]
}

arm() {
    command -v qemu-aarch64 >/dev/null || skip "no qemu-aarch64"
    command -v aarch64-linux-gnu-gcc >/dev/null || skip "no aarch64-linux-gnu-gcc"
    numbers "$1" aarch64
}

@test "elementwise floats" { numbers elementwise; }
@test "integers" { numbers integers; }
@test "casts" { numbers casts; }
@test "math" { numbers functions; }
@test "reductions" { numbers reduce; }
@test "shapes and views" { numbers views; }
@test "gather, scatter, pointers, random numbers" { numbers scatter; }
@test "control flow" { numbers control; }
@test "atomics" { numbers atomics; }
@test "products" { numbers products; }
@test "elementwise floats on AArch64" { arm elementwise; }
@test "casts on AArch64" { arm casts; }
@test "reductions on AArch64" { arm reduce; }
@test "products on AArch64" { arm products; }
@test "atomics on AArch64" { arm atomics; }

@test "every driver has a test here" {
    for driver in "$SRCDIR"/tests/exec/*.tile; do
        grep -q "numbers $(basename "$driver" .tile);" "$SRCDIR/tests/exec/exec.bats"
    done
}
