/* What a program that `tilecc bench` makes runs: it fills memory, calls kernels, and prints what it saw, a word and its
 * values a line, on standard output:
 *
 *   device NAME        driver VERSION      clock MHZ (the most)      processors N
 *   copy BYTES_PER_SECOND                  of the same memory's copy, its bytes counted twice: read and written
 *   call I             and of this call: `failed TEXT`, or
 *   variant TEXT       which code ran
 *   sample NANOSECONDS                     one launch each
 *   running MHZ WATTS                      clock and power while it ran, where the driver tells them
 *
 * Calls that are to be checked run once before, on the bytes of FOLDER/I.K.in, or on what the program fills memory with,
 * and write FOLDER/I.K.out, of memory K; with FOLDER "-" none does.  What is large and of the program's own inputs is
 * written in two files, I.K.out and I.K.out-end: its first and its last 4 MiB.
 * On a GPU a sample is the time between two events of the driver on a stream; in front of the first, memory as large as
 * twice the L2 cache is overwritten, so that nothing of the last launch is in it (`warm`: not).
 *
 * C99 and POSIX; the driver's functions are found as the run time finds them, with no header of CUDA. */
#include <dlfcn.h>
#include <math.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

/* Whether a call runs once before, and on which inputs. */
enum measure_check { MEASURE_UNCHECKED, MEASURE_GIVEN, MEASURE_OWN };
enum measure_fill {
    MEASURE_NOTHING,
    MEASURE_BOOL,
    MEASURE_SMALL,
    MEASURE_F16,
    MEASURE_BF16,
    MEASURE_F32,
    MEASURE_F64,
    MEASURE_BYTES
};
struct measure_memory {
    size_t bytes;
    int width; /* bytes of an element */
    enum measure_fill fill;
    int given, wanted; /* of a check: it has an input, an output */
};
struct measure_call {
    int (*run)(struct CUstream_st *stream, void *const *memory);
    int (*query)(struct CUstream_st *stream, void *const *memory, struct tile_kernel_info *info);
    int memory_count, check; /* enum measure_check */
    const struct measure_memory *memory;
};
struct measure_options {
    int on_gpu, warm;
    double seconds; /* of each call */
    const char *folder;
};

enum { MEASURE_MOST_SAMPLES = 400, MEASURE_BATCH = 20, MEASURE_MOST_MEMORIES = 128 };

static double measure_clock(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

/* Standard output as it was when the program began: what kernels print does not come between. */
static FILE *measure_out;

static void measure_open_output(void)
{
    int copy = dup(1);
    measure_out = copy < 0 ? NULL : fdopen(copy, "w");
    if (!measure_out || !freopen("/dev/null", "w", stdout))
        exit(1);
}

enum { MEASURE_NO_FILE = 3 }; /* the exit code where files are to blame, as of tilecc */

static void measure_end(const char *what, int code)
{
    fprintf(measure_out, "failed %s\n", what);
    exit(code);
}

static void measure_stop(const char *what) { measure_end(what, 1); }

/* ---- the driver ---- */

static struct {
    void *library, *management, *device_handle;
    int (*memory_allocate)(uint64_t *, size_t), (*memory_free)(uint64_t);
    int (*to_device)(uint64_t, const void *, size_t), (*to_host)(void *, uint64_t, size_t);
    int (*copy)(uint64_t, uint64_t, size_t, struct CUstream_st *);
    int (*set)(uint64_t, unsigned char, size_t, struct CUstream_st *);
    int (*event_create)(void **, unsigned), (*event_record)(void *, struct CUstream_st *);
    int (*event_elapsed)(float *, void *, void *);
    int (*synchronize)(struct CUstream_st *), (*attribute)(int *, int, int);
    int (*clock_info)(void *, int, unsigned *), (*power)(void *, unsigned *);
    struct CUstream_st *stream;
    void *event[2 * MEASURE_BATCH];
    uint64_t flush;
    size_t flush_bytes;
} measure_gpu;

static void *measure_find(void *library, const char *name)
{
    void *function = library ? dlsym(library, name) : NULL;
    if (!function && library == measure_gpu.library)
        measure_stop("the NVIDIA driver lacks a function");
    return function;
}

static void measure_must(int result, const char *what)
{
    if (result)
        measure_stop(what);
}

/* ISO C has no conversion from what dlsym gives to a function. */
#define MEASURE_FIND(library, member, name) (*(void **)&measure_gpu.member = measure_find(library, name))

static void measure_open_management(int device)
{
    int (*start)(void), (*by_bus)(const char *, void **), (*bus)(char *, int, int);
    char place[32] = "";
    void *library = dlopen("libnvidia-ml.so.1", RTLD_NOW);
    measure_gpu.management = library;
    *(void **)&start = measure_find(library, "nvmlInit_v2");
    *(void **)&by_bus = measure_find(library, "nvmlDeviceGetHandleByPciBusId_v2");
    *(void **)&bus = dlsym(measure_gpu.library, "cuDeviceGetPCIBusId");
    if (!start || !by_bus || !bus || start() || bus(place, sizeof place, device) ||
        by_bus(place, &measure_gpu.device_handle))
        return;
    MEASURE_FIND(library, clock_info, "nvmlDeviceGetClockInfo");
    MEASURE_FIND(library, power, "nvmlDeviceGetPowerUsage");
}

enum { MEASURE_PROCESSORS = 16, MEASURE_CLOCK = 13, MEASURE_L2 = 38 }; /* attributes of a device */

static void measure_open_gpu(void)
{
    int (*start)(unsigned), (*get)(int *, int), (*retain)(void **, int), (*current)(void *), (*version)(int *);
    int (*name)(char *, int, int), (*stream_create)(struct CUstream_st **, unsigned);
    int device = 0, number = 0, value = 0;
    char text[128] = "";
    void *context, *library = measure_gpu.library = dlopen("libcuda.so.1", RTLD_NOW);
    if (!library)
        measure_stop("there is no NVIDIA driver");
    *(void **)&start = measure_find(library, "cuInit");
    *(void **)&get = measure_find(library, "cuDeviceGet");
    *(void **)&retain = measure_find(library, "cuDevicePrimaryCtxRetain");
    *(void **)&current = measure_find(library, "cuCtxSetCurrent");
    *(void **)&version = measure_find(library, "cuDriverGetVersion");
    *(void **)&name = measure_find(library, "cuDeviceGetName");
    *(void **)&stream_create = measure_find(library, "cuStreamCreate");
    MEASURE_FIND(library, memory_allocate, "cuMemAlloc_v2");
    MEASURE_FIND(library, memory_free, "cuMemFree_v2");
    MEASURE_FIND(library, to_device, "cuMemcpyHtoD_v2");
    MEASURE_FIND(library, to_host, "cuMemcpyDtoH_v2");
    MEASURE_FIND(library, copy, "cuMemcpyDtoDAsync_v2");
    MEASURE_FIND(library, set, "cuMemsetD8Async");
    MEASURE_FIND(library, event_create, "cuEventCreate");
    MEASURE_FIND(library, event_record, "cuEventRecord");
    MEASURE_FIND(library, event_elapsed, "cuEventElapsedTime");
    MEASURE_FIND(library, synchronize, "cuStreamSynchronize");
    MEASURE_FIND(library, attribute, "cuDeviceGetAttribute");
    if (start(0) || get(&device, 0) || retain(&context, device) || current(context))
        measure_stop("the NVIDIA driver does not start");
    measure_must(stream_create(&measure_gpu.stream, 1), "a stream cannot be made");
    for (int i = 0; i < 2 * MEASURE_BATCH; i++)
        measure_must(measure_gpu.event_create(&measure_gpu.event[i], 0), "an event cannot be made");
    measure_gpu.attribute(&value, MEASURE_L2, device);
    measure_gpu.flush_bytes = 2 * (size_t)value + (1 << 20);
    measure_must(measure_gpu.memory_allocate(&measure_gpu.flush, measure_gpu.flush_bytes), "the GPU's memory is full");
    name(text, sizeof text, device);
    version(&number);
    fprintf(measure_out, "device %s\ndriver %d.%d\n", text, number / 1000, number % 1000 / 10);
    measure_gpu.attribute(&value, MEASURE_CLOCK, device);
    fprintf(measure_out, "clock %d\n", value / 1000);
    measure_gpu.attribute(&value, MEASURE_PROCESSORS, device);
    fprintf(measure_out, "processors %d\n", value);
    measure_open_management(device);
}

static void measure_open_cpu(void)
{
    char line[256], name[256] = "a processor";
    FILE *file = fopen("/proc/cpuinfo", "r");
    while (file && fgets(line, sizeof line, file))
        if (strncmp(line, "model name", 10) == 0 && strchr(line, ':')) {
            snprintf(name, sizeof name, "%s", strchr(line, ':') + 2);
            name[strcspn(name, "\n")] = 0;
            break;
        }
    if (file)
        fclose(file);
    fprintf(measure_out, "device %s\nprocessors %ld\n", name, sysconf(_SC_NPROCESSORS_ONLN));
}

/* ---- memory ---- */

/* NULL: there is none. */
static void *measure_allocate(const struct measure_options *options, size_t bytes)
{
    void *memory = NULL;
    uint64_t device = 0;
    bytes = bytes ? bytes : 1;
    if (options->on_gpu ? measure_gpu.memory_allocate(&device, bytes) : posix_memalign(&memory, 256, bytes))
        return NULL;
    return options->on_gpu ? (void *)(uintptr_t)device : memory;
}

static void measure_free(const struct measure_options *options, void *memory)
{
    if (options->on_gpu)
        measure_gpu.memory_free((uint64_t)(uintptr_t)memory);
    else
        free(memory);
}

static void measure_write(const struct measure_options *options, void *memory, const void *from, size_t bytes)
{
    if (!options->on_gpu)
        memcpy(memory, from, bytes);
    else if (bytes)
        measure_must(measure_gpu.to_device((uint64_t)(uintptr_t)memory, from, bytes), "a copy to the GPU failed");
}

/* An element: floats from -1 to 1, integers from 0 to 10, so that indexes stay inside of what is large enough. */
static void measure_element(const struct measure_memory *m, uint64_t *state, unsigned char *at)
{
    *state = *state * 6364136223846793005u + 1442695040888963407u;
    uint64_t word = *state >> 33;
    float real = (float)word * 0x1p-30f - 1;
    double wide = real;
    uint64_t bits = 0;
    uint32_t single;
    memcpy(&single, &real, 4);
    switch (m->fill) {
    case MEASURE_F16: /* the sign, exponent and first bits, none of them under the smallest normal number */
        bits = fabsf(real) < 0x1p-14f
                   ? 0
                   : (single >> 16 & 0x8000) | ((single >> 23 & 255) - 112) << 10 | (single >> 13 & 1023);
        break;
    case MEASURE_BF16: bits = single >> 16; break;
    case MEASURE_F32: bits = single; break;
    case MEASURE_F64: memcpy(&bits, &wide, 8); break;
    case MEASURE_BYTES: bits = word & 0xb7; break; /* of 8-bit floats, none of them large or NaN */
    case MEASURE_SMALL: bits = word % 11; break;
    case MEASURE_BOOL: bits = word & 1; break;
    case MEASURE_NOTHING: break;
    }
    memcpy(at, &bits, (size_t)m->width);
}

enum { MEASURE_BLOCK = 1 << 22 };

static void measure_fill_memory(const struct measure_options *options, const struct measure_memory *m, void *memory)
{
    static unsigned char block[MEASURE_BLOCK];
    static uint64_t state = 1;
    size_t used = m->bytes < MEASURE_BLOCK ? m->bytes : MEASURE_BLOCK;
    if (m->fill == MEASURE_NOTHING)
        return;
    for (size_t at = 0; at + (size_t)m->width <= used; at += (size_t)m->width)
        measure_element(m, &state, block + at);
    for (size_t at = 0; at < m->bytes; at += used)
        measure_write(options, (char *)memory + at, block, m->bytes - at < used ? m->bytes - at : used);
}

/* ---- checks ---- */

static void measure_file(const struct measure_options *options, int call, int k, const char *suffix, void *memory,
                         const struct measure_memory *m)
{
    char path[4096];
    int writes = suffix[0] == 'o';
    unsigned char *bytes = malloc(m->bytes + 1);
    snprintf(path, sizeof path, "%s/%d.%d.%s", options->folder, call, k, suffix);
    FILE *file = fopen(path, writes ? "wb" : "rb");
    if (!file || !bytes)
        measure_end("a file of the check cannot be opened", MEASURE_NO_FILE);
    if (writes && !options->on_gpu)
        memcpy(bytes, memory, m->bytes);
    else if (writes && m->bytes)
        measure_must(measure_gpu.to_host(bytes, (uint64_t)(uintptr_t)memory, m->bytes), "a copy from the GPU failed");
    if ((writes ? fwrite(bytes, 1, m->bytes, file) : fread(bytes, 1, m->bytes, file)) != m->bytes || fclose(file))
        measure_end("a file of the check cannot be read or written", MEASURE_NO_FILE);
    if (!writes)
        measure_write(options, memory, bytes, m->bytes);
    free(bytes);
}

/* What the program itself gives: the same bytes each time, and 0 where the kernel is to write. */
static void measure_fill_own(const struct measure_options *options, const struct measure_memory *m, void *memory)
{
    static unsigned char nothing[MEASURE_BLOCK];
    if (m->given)
        measure_fill_memory(options, m, memory);
    for (size_t at = 0; !m->given && at < m->bytes; at += MEASURE_BLOCK)
        measure_write(options, (char *)memory + at, nothing,
                      m->bytes - at < MEASURE_BLOCK ? m->bytes - at : MEASURE_BLOCK);
}

static int measure_check(const struct measure_options *options, const struct measure_call *call, int number,
                         struct CUstream_st *stream, void *const *memory)
{
    for (int k = 0; k < call->memory_count; k++)
        if (call->check == MEASURE_OWN)
            measure_fill_own(options, &call->memory[k], memory[k]);
        else if (call->memory[k].given)
            measure_file(options, number, k, "in", memory[k], &call->memory[k]);
    int status = call->run(stream, memory);
    if (status || (options->on_gpu && measure_gpu.synchronize(stream)))
        return status ? status : -1;
    for (int k = 0; k < call->memory_count; k++) {
        struct measure_memory part = call->memory[k];
        int ends = call->check == MEASURE_OWN && part.bytes > 2 * (size_t)MEASURE_BLOCK;
        part.bytes = ends ? MEASURE_BLOCK : part.bytes;
        if (part.wanted)
            measure_file(options, number, k, "out", memory[k], &part);
        if (part.wanted && ends)
            measure_file(options, number, k, "out-end", (char *)memory[k] + call->memory[k].bytes - MEASURE_BLOCK,
                         &part);
    }
    return 0;
}

/* ---- time ---- */

static void measure_print_running(void)
{
    unsigned clock = 0, power = 0;
    if (measure_gpu.clock_info && measure_gpu.power && !measure_gpu.clock_info(measure_gpu.device_handle, 1, &clock) &&
        !measure_gpu.power(measure_gpu.device_handle, &power))
        fprintf(measure_out, "running %u %u\n", clock, power / 1000);
}

/* Nanoseconds of so many launches, which stand in the stream before the first of them begins. */
static int measure_batch(const struct measure_options *options, const struct measure_call *call, void *const *memory,
                         int count, double *samples)
{
    for (int i = 0; i < count; i++) {
        if (!options->warm)
            measure_gpu.set(measure_gpu.flush, 0, measure_gpu.flush_bytes, measure_gpu.stream);
        measure_gpu.event_record(measure_gpu.event[2 * i], measure_gpu.stream);
        int status = call->run(measure_gpu.stream, memory);
        if (status)
            return status;
        measure_gpu.event_record(measure_gpu.event[2 * i + 1], measure_gpu.stream);
    }
    measure_print_running();
    if (measure_gpu.synchronize(measure_gpu.stream))
        return -1;
    for (int i = 0; i < count; i++) {
        float milliseconds = 0;
        measure_gpu.event_elapsed(&milliseconds, measure_gpu.event[2 * i], measure_gpu.event[2 * i + 1]);
        samples[i] = (double)milliseconds * 1e6;
    }
    return 0;
}

static int measure_time(const struct measure_options *options, const struct measure_call *call, void *const *memory)
{
    double samples[MEASURE_BATCH];
    int count = 0, status = 0;
    for (int i = 0; i < 3 && !status; i++) /* loads the code, and what is made at the first call */
        status = call->run(options->on_gpu ? measure_gpu.stream : TILE_CPU, memory);
    if (!status && options->on_gpu && measure_gpu.synchronize(measure_gpu.stream))
        status = -1;
    double begin = measure_clock();
    while (!status && count < MEASURE_MOST_SAMPLES && (count < 5 || measure_clock() - begin < options->seconds)) {
        int here = options->on_gpu ? MEASURE_BATCH : 1;
        if (options->on_gpu)
            status = measure_batch(options, call, memory, here, samples);
        else {
            double start = measure_clock();
            status = call->run(TILE_CPU, memory);
            samples[0] = (measure_clock() - start) * 1e9;
        }
        for (int i = 0; i < here && !status; i++)
            fprintf(measure_out, "sample %.1f\n", samples[i]);
        count += here;
    }
    return status;
}

struct measure_piece {
    char *to;
    const char *from;
    size_t bytes;
};
static void *measure_copy_piece(void *piece)
{
    const struct measure_piece *p = piece;
    memcpy(p->to, p->from, p->bytes);
    return NULL;
}

enum { MEASURE_COPY = 256 << 20 /* more than caches hold */, MEASURE_MOST_THREADS = 64 };

/* By a thread a processor. */
static double measure_copy_cpu(void *to, void *from)
{
    long threads = sysconf(_SC_NPROCESSORS_ONLN);
    pthread_t thread[MEASURE_MOST_THREADS];
    struct measure_piece piece[MEASURE_MOST_THREADS];
    int started = 0, count = threads < 1 ? 1 : threads > MEASURE_MOST_THREADS ? MEASURE_MOST_THREADS : (int)threads;
    size_t bytes = MEASURE_COPY / (size_t)count;
    double begin = measure_clock();
    for (int i = 0; i < count; i++) {
        piece[i] = (struct measure_piece){(char *)to + bytes * (size_t)i, (char *)from + bytes * (size_t)i, bytes};
        started += i && pthread_create(&thread[started], NULL, measure_copy_piece, &piece[i]) == 0;
    }
    measure_copy_piece(&piece[0]);
    for (int i = 0; i < started; i++)
        pthread_join(thread[i], NULL);
    double seconds = measure_clock() - begin;
    return started == count - 1 ? 2 * (double)(bytes * (size_t)count) / seconds : 0;
}

static double measure_copy_gpu(void *to, void *from)
{
    float milliseconds = 0;
    measure_gpu.set(measure_gpu.flush, 0, measure_gpu.flush_bytes, measure_gpu.stream);
    measure_gpu.event_record(measure_gpu.event[0], measure_gpu.stream);
    measure_gpu.copy((uint64_t)(uintptr_t)to, (uint64_t)(uintptr_t)from, MEASURE_COPY, measure_gpu.stream);
    measure_gpu.event_record(measure_gpu.event[1], measure_gpu.stream);
    measure_must(measure_gpu.synchronize(measure_gpu.stream), "a copy on the GPU failed");
    measure_gpu.event_elapsed(&milliseconds, measure_gpu.event[0], measure_gpu.event[1]);
    return 2.0 * MEASURE_COPY / ((double)milliseconds * 1e-3);
}

static void measure_copy(const struct measure_options *options)
{
    double best = 0;
    void *from = measure_allocate(options, MEASURE_COPY), *to = measure_allocate(options, MEASURE_COPY);
    if (!from || !to)
        measure_stop("memory is full");
    if (!options->on_gpu)
        memset(from, 1, MEASURE_COPY);
    for (int i = 0; i < (options->on_gpu ? 20 : 4); i++) {
        double rate = options->on_gpu ? measure_copy_gpu(to, from) : measure_copy_cpu(to, from);
        best = i && rate > best ? rate : best; /* the first one touches the memory */
    }
    fprintf(measure_out, "copy %.4g\n", best);
    measure_free(options, from);
    measure_free(options, to);
}

static int measure_with(const struct measure_options *options, const struct measure_call *call, int number,
                        void *const *memory)
{
    struct CUstream_st *stream = options->on_gpu ? measure_gpu.stream : TILE_CPU;
    struct tile_kernel_info info = {0};
    int checks = call->check != MEASURE_UNCHECKED && strcmp(options->folder, "-") != 0;
    int status = checks ? measure_check(options, call, number, stream, memory) : 0;
    for (int k = 0; k < call->memory_count && !status; k++)
        measure_fill_memory(options, &call->memory[k], memory[k]);
    status = status ? status : call->query(stream, memory, &info);
    if (!status)
        fprintf(measure_out, "variant %s %s\n", info.target, info.variant_text ? info.variant_text : "");
    return status ? status : measure_time(options, call, memory);
}

static void measure_one(const struct measure_options *options, const struct measure_call *call, int number)
{
    void *memory[MEASURE_MOST_MEMORIES];
    int made = 0;
    fprintf(measure_out, "call %d\n", number);
    while (made < call->memory_count && (memory[made] = measure_allocate(options, call->memory[made].bytes)) != NULL)
        made++;
    if (made < call->memory_count)
        fprintf(measure_out, "failed there is no memory for it\n");
    else {
        int status = measure_with(options, call, number, memory);
        if (status)
            fprintf(measure_out, "failed %s\n", status < 0 ? "the GPU stopped with an error" : tile_last_error());
    }
    while (made-- > 0)
        measure_free(options, memory[made]);
    fflush(measure_out);
}

/* arguments: gpu or cpu, cold or warm, seconds of each call, the folder of checks, and `alone`: no copy is measured */
static int measure_main(const struct measure_call *calls, int count, int argument_count, char **arguments)
{
    if (argument_count != 5 && argument_count != 6) {
        fprintf(stderr, "usage: %s gpu|cpu cold|warm SECONDS FOLDER|- [alone]\n", arguments[0]);
        return 2;
    }
    struct measure_options options = {strcmp(arguments[1], "gpu") == 0, strcmp(arguments[2], "warm") == 0,
                                      atof(arguments[3]), arguments[4]};
    measure_open_output();
    if (options.on_gpu)
        measure_open_gpu();
    else
        measure_open_cpu();
    if (argument_count == 5)
        measure_copy(&options);
    for (int i = 0; i < count; i++)
        measure_one(&options, &calls[i], i);
    return 0;
}
