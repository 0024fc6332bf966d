/* Host time of one call of an entry against the bare driver call that it ends in: medians over 200 batches of 256 calls of a
 * kernel with an empty body and the same parameters, the two interleaved.  Prints one line of JSON.
 *
 * launch.tile is compiled with --prefix= for the entry and with --emit=cubin for the bare call.
 *
 * usage: launch CUBIN KERNEL     the cubin for this GPU and the name of the kernel in it */
#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "launch.h"

enum { BATCHES = 200, CALLS = 256 };

/* The few driver functions needed, by their documented signatures; handles are pointers. */
struct driver {
    int (*init)(unsigned);
    int (*device_get)(int *, int);
    int (*primary_retain)(void **, int);
    int (*set_current)(void *);
    int (*allocate)(uint64_t *, size_t);
    int (*synchronize)(void);
    int (*module_load)(void **, const void *);
    int (*get_function)(void **, void *, const char *);
    int (*launch)(void *, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, void *, void **, void **);
};

static void need(int status, const char *what)
{
    if (status) {
        fprintf(stderr, "%s failed: %d\n", what, status);
        exit(1);
    }
}

static void *symbol(void *library, const char *name)
{
    void *found = dlsym(library, name);
    if (!found) {
        fprintf(stderr, "libcuda.so.1 has no %s\n", name);
        exit(1);
    }
    return found;
}

static struct driver open_driver(void)
{
    void *library = dlopen("libcuda.so.1", RTLD_NOW);
    if (!library) {
        fprintf(stderr, "no driver: %s\n", dlerror());
        exit(1);
    }
    struct driver d;
    *(void **)&d.init = symbol(library, "cuInit");
    *(void **)&d.device_get = symbol(library, "cuDeviceGet");
    *(void **)&d.primary_retain = symbol(library, "cuDevicePrimaryCtxRetain");
    *(void **)&d.set_current = symbol(library, "cuCtxSetCurrent");
    *(void **)&d.allocate = symbol(library, "cuMemAlloc_v2");
    *(void **)&d.synchronize = symbol(library, "cuCtxSynchronize");
    *(void **)&d.module_load = symbol(library, "cuModuleLoadData");
    *(void **)&d.get_function = symbol(library, "cuModuleGetFunction");
    *(void **)&d.launch = symbol(library, "cuLaunchKernel");
    return d;
}

static void *read_file(const char *path)
{
    FILE *file = fopen(path, "rb");
    char *data = file ? malloc(1 << 24) : NULL;
    if (!data || !fread(data, 1, 1 << 24, file)) {
        fprintf(stderr, "cannot read %s\n", path);
        exit(1);
    }
    fclose(file);
    return data;
}

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

static int by_value(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static double median(double *values)
{
    qsort(values, BATCHES, sizeof *values, by_value);
    return values[BATCHES / 2];
}

int main(int count, char **arguments)
{
    if (count != 3) {
        fprintf(stderr, "usage: launch CUBIN KERNEL\n");
        return 2;
    }
    struct driver d = open_driver();
    void *context, *module, *function;
    int device;
    uint64_t memory;
    need(d.init(0), "cuInit");
    need(d.device_get(&device, 0), "cuDeviceGet");
    need(d.primary_retain(&context, device), "cuDevicePrimaryCtxRetain");
    need(d.set_current(context), "cuCtxSetCurrent");
    need(d.allocate(&memory, 1 << 20), "cuMemAlloc");
    need(d.module_load(&module, read_file(arguments[1])), "cuModuleLoadData");
    need(d.get_function(&function, module, arguments[2]), "cuModuleGetFunction");

    tile_bf16 *base = (tile_bf16 *)(uintptr_t)memory;
    struct tile_bf16_2 a = { base, { 64, 64 }, { 64, 1 } }, b = { base + 32768, { 64, 64 }, { 64, 1 } };
    struct tile_bf16_2 c = { base + 65536, { 64, 64 }, { 64, 1 } };
    uint64_t slots[64] = { memory, 64, 64, 64, 1, memory + 65536, 64, 64, 64, 1, memory + 131072, 64, 64, 64, 1, 0, 1, 0 };
    void *parameters[1] = { slots };
    struct tile_kernel_info info;
    need(noop_bf16_query(NULL, &a, &b, &c, 1.0f, &info), "noop_bf16_query");
    unsigned threads = (unsigned)info.threads;
    static double ours[BATCHES], bare[BATCHES];
    for (int i = 0; i < 1000; i++) {
        need(noop_bf16(NULL, &a, &b, &c, 1.0f), "noop");
        need(d.launch(function, 1, 1, 1, threads, 1, 1, 0, NULL, parameters, NULL), "cuLaunchKernel");
    }
    for (int batch = 0; batch < BATCHES; batch++) {
        need(d.synchronize(), "cuCtxSynchronize");
        double start = now();
        for (int i = 0; i < CALLS; i++)
            noop_bf16(NULL, &a, &b, &c, 1.0f);
        double middle = now();
        need(d.synchronize(), "cuCtxSynchronize");
        double again = now();
        for (int i = 0; i < CALLS; i++)
            d.launch(function, 1, 1, 1, threads, 1, 1, 0, NULL, parameters, NULL);
        bare[batch] = (now() - again) / CALLS;
        ours[batch] = (middle - start) / CALLS;
    }
    double our_median = median(ours), bare_median = median(bare);
    printf("{\"ours_ns\": %.0f, \"bare_ns\": %.0f, \"ratio\": %.3f, \"ours_p10\": %.0f, \"ours_p90\": %.0f, \"bare_p10\": %.0f, "
           "\"bare_p90\": %.0f}\n", our_median, bare_median, our_median / bare_median, ours[BATCHES / 10],
           ours[BATCHES * 9 / 10], bare[BATCHES / 10], bare[BATCHES * 9 / 10]);
    return 0;
}
