/* See memory.h. */
#define _GNU_SOURCE
#include "memory.h"
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>

enum { LEAST_RUNS = 3, MOST_RUNS = 100 };
static const double SECONDS = 0.5;

static struct {
    bool used;
    int (*allocate)(uint64_t *, size_t);
    int (*release)(uint64_t);
    int (*fill)(uint64_t, unsigned char, size_t);
    int (*download)(void *, uint64_t, size_t);
    int (*upload)(uint64_t, const void *, size_t);
    int (*synchronize)(void);
    int (*event_create)(void **, unsigned);
    int (*event_record)(void *, void *);
    int (*event_elapsed)(float *, void *, void *);
    void *begin, *end;
} gpu;

static void need(int status, const char *what)
{
    if (status) {
        fprintf(stderr, "%s: error %d\n", what, status);
        exit(2);
    }
}

static void *symbol(void *library, const char *name)
{
    void *found = dlsym(library, name);
    if (!found) {
        fprintf(stderr, "libcuda.so.1 has no %s\n", name);
        exit(2);
    }
    return found;
}

static void open_gpu(void)
{
    void *library = dlopen("libcuda.so.1", RTLD_NOW), *context;
    int (*init)(unsigned), (*device_get)(int *, int), (*retain)(void **, int), (*set)(void *), device;
    if (!library) {
        fprintf(stderr, "no driver: %s\n", dlerror());
        exit(2);
    }
    *(void **)&init = symbol(library, "cuInit");
    *(void **)&device_get = symbol(library, "cuDeviceGet");
    *(void **)&retain = symbol(library, "cuDevicePrimaryCtxRetain");
    *(void **)&set = symbol(library, "cuCtxSetCurrent");
    *(void **)&gpu.allocate = symbol(library, "cuMemAlloc_v2");
    *(void **)&gpu.release = symbol(library, "cuMemFree_v2");
    *(void **)&gpu.fill = symbol(library, "cuMemsetD8_v2");
    *(void **)&gpu.download = symbol(library, "cuMemcpyDtoH_v2");
    *(void **)&gpu.upload = symbol(library, "cuMemcpyHtoD_v2");
    *(void **)&gpu.synchronize = symbol(library, "cuCtxSynchronize");
    *(void **)&gpu.event_create = symbol(library, "cuEventCreate");
    *(void **)&gpu.event_record = symbol(library, "cuEventRecord");
    *(void **)&gpu.event_elapsed = symbol(library, "cuEventElapsedTime");
    need(init(0), "cuInit");
    need(device_get(&device, 0), "cuDeviceGet");
    need(retain(&context, device), "cuDevicePrimaryCtxRetain");
    need(set(context), "cuCtxSetCurrent");
    need(gpu.event_create(&gpu.begin, 0), "cuEventCreate");
    need(gpu.event_create(&gpu.end, 0), "cuEventCreate");
    gpu.used = true;
}

void memory_open(bool on_gpu)
{
    if (on_gpu)
        open_gpu();
}

void *memory_allocate(size_t bytes)
{
    if (gpu.used) {
        uint64_t address;
        need(gpu.allocate(&address, bytes + 1), "cuMemAlloc");
        need(gpu.fill(address, 0xff, bytes), "cuMemsetD8");
        return (void *)(uintptr_t)address;
    }
    void *memory = mmap(NULL, bytes + 1, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED) {
        perror("mmap");
        exit(2);
    }
    memset(memory, 0xff, bytes);
    return memory;
}

void memory_release(void *memory, size_t bytes)
{
    if (gpu.used)
        need(gpu.release((uint64_t)(uintptr_t)memory), "cuMemFree");
    else
        munmap(memory, bytes + 1);
}

void memory_read(void *to, const void *from, size_t bytes)
{
    if (gpu.used)
        need(gpu.download(to, (uint64_t)(uintptr_t)from, bytes), "cuMemcpyDtoH");
    else
        memcpy(to, from, bytes);
}

void memory_write(void *to, const void *from, size_t bytes)
{
    if (gpu.used)
        need(gpu.upload((uint64_t)(uintptr_t)to, from, bytes), "cuMemcpyHtoD");
    else
        memcpy(to, from, bytes);
}

void memory_wait(void)
{
    if (gpu.used)
        need(gpu.synchronize(), "cuCtxSynchronize");
}

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static double time_once(int (*run)(void *), void *data)
{
    double begin = now();
    float milliseconds = 0;
    if (gpu.used)
        need(gpu.event_record(gpu.begin, NULL), "cuEventRecord");
    need(run(data), "a call");
    if (!gpu.used)
        return 1e6 * (now() - begin);
    need(gpu.event_record(gpu.end, NULL), "cuEventRecord");
    memory_wait();
    need(gpu.event_elapsed(&milliseconds, gpu.begin, gpu.end), "cuEventElapsedTime");
    return 1e3 * (double)milliseconds;
}

static int compare(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

double memory_time(int (*run)(void *), void *data)
{
    double times[MOST_RUNS], begin;
    int count = 0;
    time_once(run, data);
    for (begin = now(); count < MOST_RUNS && (count < LEAST_RUNS || now() - begin < SECONDS);)
        times[count++] = time_once(run, data);
    qsort(times, (size_t)count, sizeof *times, compare);
    return times[count / 2];
}
