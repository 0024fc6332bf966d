/* Launches an empty kernel so many times from several threads, between them at times other calls, and fails where the process
 * then holds more than it did behind the first hundredth: memory, open files, mappings, memory of the device.
 *
 *     launches_check [COUNT] [leak]       1000000; leak: it loses 16 bytes each time itself, which must be told
 *
 * On the processor, or with TILE_TEST_STREAM=gpu on the first GPU, a stream a thread. */
#include "launches.h"
#include <dirent.h>
#include <dlfcn.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { THREADS = 4, STEPS = 3, ROWS = 4, OTHERS_EVERY = 1000, WAIT_EVERY = 256 };
static const int percent[STEPS] = {1, 50, 100};

#define DRIVER(X)                                                       \
    X(init, cuInit, (unsigned))                                         \
    X(retain, cuDevicePrimaryCtxRetain, (void **, int))                 \
    X(set_current, cuCtxSetCurrent, (void *))                           \
    X(allocate, cuMemAlloc_v2, (uintptr_t *, size_t))                   \
    X(create_stream, cuStreamCreate, (struct CUstream_st **, unsigned)) \
    X(wait, cuStreamSynchronize, (struct CUstream_st *))                \
    X(memory, cuMemGetInfo_v2, (size_t *, size_t *))

static struct {
#define X(name, symbol, parameters) int(*name) parameters;
    DRIVER(X)
#undef X
} cu;

/* What the process holds. */
struct holding {
    int64_t memory, files, mappings, device;
};
static const struct holding allowance = {512 << 10, 0, 8, 32 << 20}, gpu_allowance = {4 << 20, 0, 16, 32 << 20};

static int on_gpu, leaks;
static int64_t launches;
static void *context;
static pthread_barrier_t barrier;

static void check(int holds, const char *what)
{
    if (holds)
        return;
    fprintf(stderr, "launches_check: %s: %s\n", what, tile_last_error());
    exit(1);
}

static void open_driver(void)
{
    void *library = dlopen("libcuda.so.1", RTLD_NOW), *address;
    check(library != NULL, "no driver");
#define X(name, symbol, parameters)        \
    address = dlsym(library, #symbol);     \
    check(address != NULL, "no " #symbol); \
    memcpy(&cu.name, &address, sizeof address);
    DRIVER(X)
#undef X
    check(cu.init(0) == 0 && cu.retain(&context, 0) == 0 && cu.set_current(context) == 0, "no GPU");
}

/* ---- what the process holds ---- */

static int64_t count_lines(const char *name)
{
    FILE *file = fopen(name, "r");
    int64_t count = 0;
    for (int c; file && (c = getc(file)) != EOF;)
        count += c == '\n';
    if (file)
        fclose(file);
    return count;
}

static int64_t count_files(void)
{
    DIR *list = opendir("/proc/self/fd");
    int64_t count = 0;
    while (list && readdir(list) != NULL)
        count++;
    if (list)
        closedir(list);
    return count;
}

static struct holding take_stock(void)
{
    struct holding now = {0, count_files(), count_lines("/proc/self/maps"), 0};
    FILE *file = fopen("/proc/self/statm", "r");
    long long all, resident = 0;
    check(file != NULL && fscanf(file, "%lld %lld", &all, &resident) == 2, "no /proc");
    fclose(file);
    now.memory = (int64_t)resident * sysconf(_SC_PAGESIZE);
    size_t left, total;
    if (on_gpu) {
        check(cu.memory(&left, &total) == 0, "the device's memory");
        now.device = (int64_t)(total - left);
    }
    return now;
}

static int has_grown(const char *what, int64_t before, int64_t now, int64_t allowed)
{
    if (now - before <= allowed)
        return 0;
    printf("%s: %" PRId64 " behind the first hundredth, %" PRId64 " at the end\n", what, before, now);
    return 1;
}

/* ---- launches ---- */

struct thread {
    pthread_t id;
    struct CUstream_st *stream;
    struct tile_f32_2 x, y;
    struct tile_f32_1 few;
    int64_t calls;
};

static void begin_thread(struct thread *t)
{
    float *data = NULL;
    if (on_gpu) {
        uintptr_t address;
        check(cu.set_current(context) == 0 && cu.create_stream(&t->stream, 1) == 0 &&
                  cu.allocate(&address, 3 * ROWS * ROWS * sizeof *data) == 0,
              "a stream");
        data = (float *)address;
    } else {
        t->stream = TILE_CPU;
        data = calloc(3 * ROWS * ROWS, sizeof *data);
    }
    t->x = tile_f32_2_row_major(data, ROWS, ROWS);
    t->y = tile_f32_2_row_major(data + ROWS * ROWS, ROWS, ROWS);
    t->few = tile_f32_1_row_major(data + 2 * ROWS * ROWS, ROWS);
}

/* A kernel with scratch, one that is refused, and the calls that launch nothing. */
static void call_others(struct thread *t)
{
    struct tile_launch_options options = {sizeof options, TILE_LAUNCH_THIS_THREAD, 0, 0};
    struct tile_kernel_info info;
    struct tile_f32_2 wrong = t->y;
    wrong.extent[0]++;
    check(launches_kept(t->stream, &t->few) == TILE_OK, "kept");
    check(launches_kept_workspace(t->stream, &t->few) > 0, "kept_workspace");
    check(launches_nothing(t->stream, &t->x, &wrong, 1) == TILE_ERR_ARG, "nothing, wrongly");
    check(launches_nothing(t->stream, &t->x, &t->x, 1) == TILE_ERR_ALIAS, "nothing, on itself");
    check(launches_nothing_query(t->stream, &t->x, &t->y, 1, &info) == TILE_OK, "nothing_query");
    check(launches_nothing_launch_ex(t->stream, &t->x, &t->y, 1, &options) == TILE_OK, "nothing_launch_ex");
    check(launches_nothing_variant(t->stream, &t->x, &t->y, 1, 1000) == TILE_ERR_ARG, "nothing_variant, wrongly");
}

static void launch_until(struct thread *t, int64_t end)
{
    for (; t->calls < end; t->calls++) {
        if (launches_nothing(t->stream, &t->x, &t->y, 1) != TILE_OK)
            check(0, "nothing");
        if (t->calls % OTHERS_EVERY == 0)
            call_others(t);
        if (on_gpu && t->calls % WAIT_EVERY == 0)
            check(cu.wait(t->stream) == 0, "a wait");
        if (leaks && malloc(16) == NULL)
            check(0, "memory");
    }
    if (on_gpu)
        check(cu.wait(t->stream) == 0, "a wait");
}

static void *work(void *argument)
{
    struct thread *t = argument;
    begin_thread(t);
    for (int i = 0; i < STEPS; i++) {
        launch_until(t, launches / THREADS * percent[i] / 100);
        pthread_barrier_wait(&barrier); /* all are there */
        pthread_barrier_wait(&barrier); /* and are counted */
    }
    return NULL;
}

int main(int count, char **arguments)
{
    static struct thread threads[THREADS];
    struct holding held[STEPS];
    const char *stream = getenv("TILE_TEST_STREAM");
    on_gpu = stream != NULL && strcmp(stream, "gpu") == 0;
    launches = count > 1 ? strtoll(arguments[1], NULL, 10) : 1000000;
    leaks = count > 2 && strcmp(arguments[2], "leak") == 0;
    if (on_gpu)
        open_driver();
    pthread_barrier_init(&barrier, NULL, THREADS + 1);
    for (int i = 0; i < THREADS; i++)
        check(pthread_create(&threads[i].id, NULL, work, &threads[i]) == 0, "a thread");
    for (int i = 0; i < STEPS; i++) {
        pthread_barrier_wait(&barrier);
        held[i] = take_stock();
        printf("%3d %%: %" PRId64 " KiB, %" PRId64 " files, %" PRId64 " mappings, %" PRId64 " KiB of the device\n",
               percent[i], held[i].memory >> 10, held[i].files, held[i].mappings, held[i].device >> 10);
        fflush(stdout);
        pthread_barrier_wait(&barrier);
    }
    for (int i = 0; i < THREADS; i++)
        pthread_join(threads[i].id, NULL);
    const struct holding *first = &held[0], *last = &held[STEPS - 1];
    const struct holding *allowed = on_gpu ? &gpu_allowance : &allowance;
    int grown = has_grown("memory", first->memory, last->memory, allowed->memory) |
                has_grown("files", first->files, last->files, allowed->files) |
                has_grown("mappings", first->mappings, last->mappings, allowed->mappings) |
                has_grown("memory of the device", first->device, last->device, allowed->device);
    return grown;
}
