/* The rate of a running sum over 2^28 f32 in one launch (across.tile) under several schedules, against a copy's.  Every
 * element is compared with the exact sum: inputs are whole numbers small enough for that.  `across-build` makes it.
 *
 * usage: across [LOG2 [ROUNDS]]      prints one line of JSON a schedule */
#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "across_schedules.h" /* SCHEDULES(X): X(prefix, text), and the headers of all */

struct driver {
    int (*init)(unsigned);
    int (*device_get)(int *, int);
    int (*primary_retain)(void **, int);
    int (*set_current)(void *);
    int (*allocate)(uint64_t *, size_t);
    int (*to_device)(uint64_t, const void *, size_t);
    int (*to_host)(void *, uint64_t, size_t);
    int (*copy)(uint64_t, uint64_t, size_t, void *);
    int (*event_create)(void **, unsigned);
    int (*event_record)(void *, void *);
    int (*event_wait)(void *);
    int (*elapsed)(float *, void *, void *);
};
static struct driver d;
static int64_t count;
static uint64_t from, to;
static float *values, *got;

static void need(int status, const char *what)
{
    if (status) {
        fprintf(stderr, "%s failed: %d (%s)\n", what, status, tile_last_error());
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

static void open_driver(void)
{
    void *library = dlopen("libcuda.so.1", RTLD_NOW), *context;
    int device;
    if (!library) {
        fprintf(stderr, "no driver: %s\n", dlerror());
        exit(1);
    }
    *(void **)&d.init = symbol(library, "cuInit");
    *(void **)&d.device_get = symbol(library, "cuDeviceGet");
    *(void **)&d.primary_retain = symbol(library, "cuDevicePrimaryCtxRetain");
    *(void **)&d.set_current = symbol(library, "cuCtxSetCurrent");
    *(void **)&d.allocate = symbol(library, "cuMemAlloc_v2");
    *(void **)&d.to_device = symbol(library, "cuMemcpyHtoD_v2");
    *(void **)&d.to_host = symbol(library, "cuMemcpyDtoH_v2");
    *(void **)&d.copy = symbol(library, "cuMemcpyDtoDAsync_v2");
    *(void **)&d.event_create = symbol(library, "cuEventCreate");
    *(void **)&d.event_record = symbol(library, "cuEventRecord");
    *(void **)&d.event_wait = symbol(library, "cuEventSynchronize");
    *(void **)&d.elapsed = symbol(library, "cuEventElapsedTime");
    need(d.init(0), "cuInit");
    need(d.device_get(&device, 0), "cuDeviceGet");
    need(d.primary_retain(&context, device), "cuDevicePrimaryCtxRetain");
    need(d.set_current(context), "cuCtxSetCurrent");
}

typedef int kernel(struct CUstream_st *stream, const struct tile_f32_1 *x, const struct tile_f32_1 *y);

static int run(kernel *what)
{
    struct tile_f32_1 x = {(float *)(uintptr_t)from, {count}, {1}}, y = {(float *)(uintptr_t)to, {count}, {1}};
    return what ? what(NULL, &x, &y) : d.copy(to, from, sizeof(float) * (size_t)count, NULL);
}

static int compare(const void *a, const void *b)
{
    float x = *(const float *)a, y = *(const float *)b;
    return (x > y) - (x < y);
}

/* The median of single launches, in microseconds. */
static double measure(kernel *what, int rounds)
{
    float *times = calloc((size_t)rounds, sizeof *times);
    void *begin, *end;
    need(d.event_create(&begin, 0) || d.event_create(&end, 0), "cuEventCreate");
    for (int i = -5; i < rounds; i++) {
        float ms;
        need(d.event_record(begin, NULL), "cuEventRecord");
        need(run(what), "a launch");
        need(d.event_record(end, NULL) || d.event_wait(end), "cuEventSynchronize");
        need(d.elapsed(&ms, begin, end), "cuEventElapsedTime");
        if (i >= 0)
            times[i] = 1000 * ms;
    }
    qsort(times, (size_t)rounds, sizeof *times, compare);
    double median = (double)times[rounds / 2];
    free(times);
    return median;
}

/* How many elements are not the exact sum. */
static int64_t count_wrong(kernel *what)
{
    int64_t wrong = 0;
    double sum = 0;
    memset(got, 0xff, sizeof *got * (size_t)count);
    need(d.to_device(to, got, sizeof *got * (size_t)count), "cuMemcpyHtoD");
    need(run(what), "a launch");
    need(d.to_host(got, to, sizeof *got * (size_t)count), "cuMemcpyDtoH");
    for (int64_t i = 0; i < count; i++) {
        sum += (double)values[i];
        wrong += (double)got[i] != sum;
    }
    return wrong;
}

int main(int argument_count, char **arguments)
{
    int rounds = argument_count > 2 ? atoi(arguments[2]) : 40;
    count = (int64_t)1 << (argument_count > 1 ? atoi(arguments[1]) : 28);
    open_driver();
    values = malloc(sizeof *values * (size_t)count);
    got = malloc(sizeof *got * (size_t)count);
    uint32_t random = 12345;
    int level = 0;
    for (int64_t i = 0; i < count; i++) { /* a walk that stays within what a float holds exactly */
        random = random * 1664525u + 1013904223u;
        int next = (int)(random >> 20) % 2001 - 1000;
        next = level > 1000000 || level < -1000000 ? -level / 2 : next;
        values[i] = (float)next;
        level += next;
    }
    need(d.allocate(&from, sizeof *values * (size_t)count) || d.allocate(&to, sizeof *values * (size_t)count),
         "cuMemAlloc");
    need(d.to_device(from, values, sizeof *values * (size_t)count), "cuMemcpyHtoD");
    double bytes = 8.0 * (double)count, driver = measure(NULL, rounds), copied = measure(COPY, rounds);
    double best = driver < copied ? driver : copied;
    printf("{\"kernel\": \"copy\", \"us\": %.1f, \"GB/s\": %.0f, \"driver's\": %.1f}\n", copied, bytes / copied / 1000,
           driver);
#define X(prefix, text)                                                                                             \
    {                                                                                                               \
        double us = measure(prefix##scan, rounds);                                                                  \
        printf("{\"kernel\": \"scan\", \"schedule\": \"%s\", \"us\": %.1f, \"GB/s\": %.0f, \"of the copy\": %.3f, " \
               "\"wrong\": %lld}\n",                                                                                \
               text, us, bytes / us / 1000, best / us, (long long)count_wrong(prefix##scan));                       \
        fflush(stdout);                                                                                             \
    }
    SCHEDULES(X)
    return 0;
}
