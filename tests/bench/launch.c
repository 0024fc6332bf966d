/* Host time of one call of an entry against the bare driver call that it ends in: medians over 200 batches of 256 calls of a
 * kernel with an empty body and the same parameters, the two interleaved.  Beside them a product with tensor maps, on the same
 * views again and again and on a new one each time, and what the driver takes to make a map.  Prints one line of JSON.
 *
 * launch.tile is compiled with --prefix= for the entries and with --emit=cubin for the bare call: see build.
 *
 * usage: launch CUBIN KERNEL     the cubin for this GPU and the name of the kernel in it */
#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "launch.h"

enum { BATCHES = 200, CALLS = 256, PLACES = 64 };

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
    int (*launch)(void *, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, void *, void **,
                  void **);
    int (*encode)(void *, int, unsigned, void *, const uint64_t *, const uint64_t *, const uint32_t *, const uint32_t *,
                  int, int, int, int);
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
    *(void **)&d.encode = symbol(library, "cuTensorMapEncodeTiled");
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

/* Nanoseconds of one cuTensorMapEncodeTiled. */
static double encode_cost(const struct driver *d, uint64_t memory)
{
    static double costs[BATCHES];
    static _Alignas(64) char map[128];
    uint64_t extents[2] = {64, 128}, strides[1] = {128};
    uint32_t box[2] = {64, 128}, steps[2] = {1, 1};
    for (int batch = 0; batch < BATCHES; batch++) {
        double start = now();
        for (int i = 0; i < CALLS; i++)
            need(d->encode(map, 9, 2, (void *)(uintptr_t)memory, extents, strides, box, steps, 0, 3, 3, 0),
                 "cuTensorMapEncodeTiled");
        costs[batch] = (now() - start) / CALLS;
    }
    return median(costs);
}

/* Nanoseconds of a launch whose view a moves to the next of `places`. */
static double product_cost(const struct driver *d, uint64_t memory, int places)
{
    static double costs[BATCHES];
    tile_bf16 *base = (tile_bf16 *)(uintptr_t)memory;
    struct tile_bf16_2 a = {base, {128, 64}, {64, 1}}, b = {base + (PLACES << 13), {64, 128}, {128, 1}};
    struct tile_bf16_2 c = {base + ((PLACES + 1) << 13), {128, 128}, {128, 1}};
    int place = 0;
    for (int batch = -2; batch < BATCHES; batch++) { /* two to warm up */
        need(d->synchronize(), "cuCtxSynchronize");
        double start = now();
        for (int i = 0; i < CALLS; i++) {
            place = place + 1 < places ? place + 1 : 0;
            a.data = base + (place << 13);
            need(product(NULL, &a, &b, &c), "product");
        }
        if (batch >= 0)
            costs[batch] = (now() - start) / CALLS;
    }
    return median(costs);
}

static int maps_of_product(uint64_t memory)
{
    struct tile_bf16_2 a = {(tile_bf16 *)(uintptr_t)memory, {128, 64}, {64, 1}}, b = a, c = a;
    struct tile_kernel_info info;
    b.data += 1 << 14;
    b = (struct tile_bf16_2){b.data, {64, 128}, {128, 1}};
    c = (struct tile_bf16_2){b.data + (1 << 14), {128, 128}, {128, 1}};
    need(product_query(NULL, &a, &b, &c, &info), "product_query");
    return info.maps;
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
    need(d.allocate(&memory, 4 << 20), "cuMemAlloc");
    need(d.module_load(&module, read_file(arguments[1])), "cuModuleLoadData");
    need(d.get_function(&function, module, arguments[2]), "cuModuleGetFunction");

    tile_bf16 *base = (tile_bf16 *)(uintptr_t)memory;
    struct tile_bf16_2 a = {base, {64, 64}, {64, 1}}, b = {base + 32768, {64, 64}, {64, 1}};
    struct tile_bf16_2 c = {base + 65536, {64, 64}, {64, 1}};
    uint64_t slots[64] = {memory, 64, 64, 64, 1, memory + 65536, 64, 64, 64, 1, memory + 131072, 64, 64,
                          64,     1,  0,  1,  0};
    void *parameters[1] = {slots};
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
    double kept = product_cost(&d, memory, 1), fresh = product_cost(&d, memory, PLACES),
           encode = encode_cost(&d, memory);
    printf(
        "{\"ours_ns\": %.0f, \"bare_ns\": %.0f, \"ratio\": %.3f, \"ours_p10\": %.0f, \"ours_p90\": %.0f, \"bare_p10\": %.0f, "
        "\"bare_p90\": %.0f, \"maps\": %d, \"kept_maps_ns\": %.0f, \"kept_maps_ratio\": %.3f, \"new_map_ns\": %.0f, "
        "\"encode_ns\": %.0f}\n",
        our_median, bare_median, our_median / bare_median, ours[BATCHES / 10], ours[BATCHES * 9 / 10],
        bare[BATCHES / 10], bare[BATCHES * 9 / 10], maps_of_product(memory), kept, kept / bare_median, fresh, encode);
    return 0;
}
