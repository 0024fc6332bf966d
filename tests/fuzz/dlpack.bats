#!/usr/bin/env bats
# DLPack tensors by chance, hostile ones among them, for generated headers and the run time, under sanitizers.

@test "300000 tensors are taken as they are, or refused" {
    cd "$BATS_TEST_TMPDIR"
    "$TILECC" -arch=cpu -o dlpack.o "$SRCDIR/tests/fuzz/dlpack.tile"
    cat >main.c <<'END'
#include <stddef.h>
#include <stdint.h>
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int main(void)
{
    uint64_t state = 0x9e3779b97f4a7c15u;
    uint8_t bytes[96];
    for (int input = 0; input < 300000; input++) {
        for (size_t i = 0; i < sizeof bytes; i++) {
            state = state * 6364136223846793005u + 1442695040888963407u;
            bytes[i] = (uint8_t)(state >> 56);
        }
        if (input % 4) /* most are of the type and the place that the header asks for */
            bytes[0] &= 0x27;
        for (size_t i = 1; i < 5 && input % 8 == 1; i++)
            bytes[i] %= 40; /* and some are what a kernel may run with */
        LLVMFuzzerTestOneInput(bytes, (size_t)(input % 97));
    }
    return 0;
}
END
    ${CC:-cc} -std=gnu11 -g -O1 -fsanitize=address,undefined -fno-sanitize-recover=all -I. -I"$SRCDIR/runtime-stub" \
        "$SRCDIR/tests/fuzz/dlpack_fuzzer.c" main.c "$SRCDIR"/runtime-stub/*.c dlpack.o -o try -ldl -lpthread -lm
    ./try
}
