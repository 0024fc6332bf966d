/* Any bytes as a cubin: the reader must refuse with a reason or describe kernels that a device could have, and what it
 * accepts it must refuse when the last byte is missing or one follows.  Not part of make check;
 * `make fuzz` builds it with a clang that has libFuzzer and runs it (tests/fuzz/long-run). */
#include "targets/nvptx/assemble/cubin.c"

#include <stdlib.h>

/* The bytes end where their memory does, so that reading one too many is found. */
static bool read_exactly(struct arena *arena, const uint8_t *data, size_t size)
{
    int architecture = -1, count = -1;
    struct cubin_kernel *kernels = NULL;
    const char *problem = NULL;
    uint8_t *exact = malloc(size ? size : 1);
    memcpy(exact, data, size);
    bool good = cubin_read(arena, exact, size, &architecture, &count, &kernels, &problem);
    free(exact);
    if (good != (problem == NULL))
        abort();
    if (good && (count < 1 || architecture < 0 || architecture > 255))
        abort();
    for (int i = 0; good && i < count; i++) {
        const struct cubin_kernel *k = &kernels[i];
        if (k->registers < 1 || k->registers > 255 || k->threads < 0 || k->threads > 1024)
            abort();
        if (k->shared_bytes < 0 || k->shared_bytes > INT32_MAX || k->local_bytes < 0 || strlen(k->symbol) > size)
            abort();
    }
    return good;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct arena *arena = arena_create();
    if (read_exactly(arena, data, size)) {
        if (read_exactly(arena, data, size - 1))
            abort();
        uint8_t *longer = malloc(size + 1);
        memcpy(longer, data, size);
        longer[size] = 0;
        if (read_exactly(arena, longer, size + 1))
            abort();
        free(longer);
    }
    arena_destroy(arena);
    return 0;
}
