# Numeric tests compiled for AArch64, run under qemu.

setup_file() { export EXEC_SHARED=$BATS_FILE_TMPDIR; }

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

@test "elementwise floats on AArch64" { arm elementwise; }
@test "casts on AArch64" { arm casts; }
@test "reductions on AArch64" { arm reduce; }
@test "products on AArch64" { arm products; }
@test "atomics on AArch64" { arm atomics; }
