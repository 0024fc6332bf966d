/* Where the examples of the manual run: on the CPU, or with TILE_TEST_STREAM=gpu on a GPU, whose driver is loaded by
 * hand and whose managed memory both sides see. */
#include <dlfcn.h>
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct CUstream_st;
static int (*manual_allocate)(uint64_t *address, size_t size, unsigned flags);
static int (*manual_synchronize)(void);

static void *manual_symbol(void *library, const char *name)
{
    void *symbol = library ? dlsym(library, name) : NULL;
    if (!symbol) {
        fprintf(stderr, "no %s in libcuda.so.1\n", name);
        exit(2);
    }
    return symbol;
}

static void manual_start(void)
{
    const char *where = getenv("TILE_TEST_STREAM");
    int (*initialize)(unsigned), (*retain)(void **, int), (*set)(void *), error;
    void *context = NULL;
    if (!where || strcmp(where, "gpu") != 0)
        return;
    void *library = dlopen("libcuda.so.1", RTLD_NOW);
    *(void **)&initialize = manual_symbol(library, "cuInit");
    *(void **)&retain = manual_symbol(library, "cuDevicePrimaryCtxRetain");
    *(void **)&set = manual_symbol(library, "cuCtxSetCurrent");
    *(void **)&manual_allocate = manual_symbol(library, "cuMemAllocManaged");
    *(void **)&manual_synchronize = manual_symbol(library, "cuCtxSynchronize");
    if ((error = initialize(0)) || (error = retain(&context, 0)) || (error = set(context))) {
        fprintf(stderr, "no GPU: error %d\n", error);
        exit(2);
    }
}

static struct CUstream_st *manual_stream(struct CUstream_st *cpu) { return manual_allocate ? NULL : cpu; }

/* A view's elements where the kernel can reach them. */
static void *manual_place(void *data, size_t size)
{
    uint64_t address;
    if (!manual_allocate)
        return data;
    if (manual_allocate(&address, size, 1)) {
        fprintf(stderr, "no managed memory\n");
        exit(2);
    }
    return memcpy((void *)(uintptr_t)address, data, size);
}

/* Waits; 1: the kernel failed. */
static int manual_finish(const char *name)
{
    int error = manual_synchronize ? manual_synchronize() : 0;
    if (error)
        printf("%s: driver error %d\n", name, error);
    return error != 0;
}

/* NaN meets NaN. */
static inline int manual_equal(double got, double expected)
{
    return got == expected || (got != got && expected != expected);
}

/* Whether a result is near enough to what was computed in f64; infinities are equal or not, NaN meets NaN. */
static inline int manual_close(double got, double expected, double within)
{
    double size = fabs(expected) > 1.0 ? fabs(expected) : 1.0;
    return manual_equal(got, expected) || fabs(got - expected) <= within * size;
}
