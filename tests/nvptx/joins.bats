# Lanes that a branch parts meet again before the warp does something as a whole: in ptxas' code for the examples.
# joins_test.c does the same for random kernels, and says what is looked for.

setup() {
    cd "$BATS_TEST_TMPDIR" || return 1
}

@test "in the code of the examples lanes that go apart meet again" {
    [ -n "${NVDISASM-}" ] || skip "no nvdisasm"
    [ -x "$BUILDDIR/obj/tests/nvptx/joins_test" ] || skip "joins_test is not built"
    for spec in 'softmax<f16>[B=1024]' 'attention<bf16>[D=64,CAUSAL=true]'; do
        kernel=${spec%%[<]*}
        "$TILECC" -arch=sm_80,sm_90a --emit=cubin --spec "$spec" "$SRCDIR/examples/$kernel.tile"
    done
    "$BUILDDIR/obj/tests/nvptx/joins_test" ./*.cubin
}
