/* Runs a plan of random programs (tests/fuzz/support/emit.h) against a shared library made of their object, on the
 * CPU or on a GPU, and compares every byte of every view with what the interpreter said, red zones around the views
 * included.  Stands alone: C11, libdl; neither the compiler nor a CUDA toolkit.
 *
 * usage: runner LIBRARY PLAN cpu|gpu [FROM]     FROM: number of the first program of the plan that is run
 *
 * With FROM each program is named before it runs, so that one that ends the process or the GPU's context is known.
 * One that the library lacks was refused by the compiler. */
#include <dlfcn.h>
#include <inttypes.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum {
    PROGRAM_SECONDS = 30,
    MAX_ARGUMENTS = 16,
    RED_ZONE = 256,
    MOST_WINDOWS = 8,
    FLOAT_ARGUMENTS = 8,
    INTEGER_ARGUMENTS = 16
};

/* alias: 1 + the earlier argument in whose memory, `offset` bytes from its start, this one lies.  Of `bytes` the
 * windows hold content and are compared; the others are 0. */
struct argument {
    uint32_t kind, element, rank, absent, alias, windows;
    int64_t bytes;
    uint64_t bits;
    int64_t extent[8], stride[8], offset, window_bytes, window[MOST_WINDOWS];
    const unsigned char *first, *expected;
    unsigned char *memory;
};
struct program {
    char symbol[33];
    uint64_t seed;
    uint32_t count;
    struct argument arguments[MAX_ARGUMENTS];
};

/* ---- memory, on the host or through the driver ---- */

static struct {
    int (*allocate)(uint64_t *, size_t);
    int (*release)(uint64_t);
    int (*to_device)(uint64_t, const void *, size_t);
    int (*from_device)(void *, uint64_t, size_t);
    int (*set)(uint64_t, unsigned char, size_t);
    int (*synchronize)(void);
} driver;
static int on_gpu;

static void need(int good, const char *what)
{
    if (!good) {
        fprintf(stderr, "%s failed\n", what);
        exit(2);
    }
}

static void open_driver(void)
{
    void *library = dlopen("libcuda.so.1", RTLD_NOW), *context;
    int (*init)(unsigned), (*retain)(void **, int), (*set)(void *);
    need(library != NULL, "dlopen of libcuda.so.1");
    *(void **)&init = dlsym(library, "cuInit");
    *(void **)&retain = dlsym(library, "cuDevicePrimaryCtxRetain");
    *(void **)&set = dlsym(library, "cuCtxSetCurrent");
    *(void **)&driver.allocate = dlsym(library, "cuMemAlloc_v2");
    *(void **)&driver.release = dlsym(library, "cuMemFree_v2");
    *(void **)&driver.to_device = dlsym(library, "cuMemcpyHtoD_v2");
    *(void **)&driver.from_device = dlsym(library, "cuMemcpyDtoH_v2");
    *(void **)&driver.set = dlsym(library, "cuMemsetD8_v2");
    *(void **)&driver.synchronize = dlsym(library, "cuCtxSynchronize");
    need(init(0) == 0 && retain(&context, 0) == 0 && set(context) == 0, "starting the driver");
}

static size_t whole(const struct argument *a) { return (size_t)a->bytes + 2 * RED_ZONE; }
static int is_small(const struct argument *a) { return a->windows == 1 && a->window_bytes == a->bytes; }

static void write_bytes(unsigned char *to, const unsigned char *from, size_t size)
{
    if (on_gpu)
        need(driver.to_device((uint64_t)(uintptr_t)to, from, size) == 0, "copying to the device");
    else
        memcpy(to, from, size);
}

static void read_bytes(unsigned char *to, const unsigned char *from, size_t size)
{
    if (on_gpu)
        need(driver.from_device(to, (uint64_t)(uintptr_t)from, size) == 0, "copying back");
    else
        memcpy(to, from, size);
}

/* Room for the content between two red zones; the address of the content. */
static unsigned char *place(const struct argument *a)
{
    unsigned char zone[RED_ZONE], *base;
    uint64_t address;
    memset(zone, 0xAB, sizeof zone);
    if (on_gpu) {
        need(driver.allocate(&address, whole(a)) == 0, "device memory");
        need(is_small(a) || driver.set(address, 0, whole(a)) == 0, "clearing device memory");
        base = (unsigned char *)(uintptr_t)address;
    } else {
        void *mapped = mmap(NULL, whole(a), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
        need(mapped != MAP_FAILED, "memory");
        base = mapped;
    }
    write_bytes(base, zone, RED_ZONE);
    write_bytes(base + RED_ZONE + a->bytes, zone, RED_ZONE);
    for (uint32_t w = 0; w < a->windows; w++)
        write_bytes(base + RED_ZONE + a->window[w], a->first + w * a->window_bytes, (size_t)a->window_bytes);
    return base + RED_ZONE;
}

/* The windows, one behind the other, between the red zones; releases the memory. */
static unsigned char *fetch(const struct argument *a)
{
    size_t content = (size_t)a->window_bytes * a->windows;
    unsigned char *back = malloc(content + 2 * RED_ZONE), *base = a->memory - RED_ZONE;
    need(back != NULL, "malloc");
    read_bytes(back, base, RED_ZONE);
    for (uint32_t w = 0; w < a->windows; w++)
        read_bytes(back + RED_ZONE + w * a->window_bytes, a->memory + a->window[w], (size_t)a->window_bytes);
    read_bytes(back + RED_ZONE + content, a->memory + a->bytes, RED_ZONE);
    need((on_gpu ? driver.release((uint64_t)(uintptr_t)base) : munmap(base, whole(a))) == 0, "releasing memory");
    return back;
}

/* ---- the plan ---- */

static const unsigned char *take(const unsigned char **at, size_t size)
{
    const unsigned char *here = *at;
    *at += size;
    return here;
}

static uint32_t take32(const unsigned char **at)
{
    uint32_t number;
    memcpy(&number, take(at, 4), 4);
    return number;
}

static void read_program(const unsigned char **at, struct program *program)
{
    memset(program, 0, sizeof *program);
    memcpy(program->symbol, take(at, 32), 32);
    memcpy(&program->seed, take(at, 8), 8);
    program->count = take32(at);
    need(program->count <= MAX_ARGUMENTS, "reading the plan");
    for (uint32_t i = 0; i < program->count; i++) {
        struct argument *a = &program->arguments[i];
        a->kind = take32(at);
        a->element = take32(at);
        a->rank = take32(at);
        a->absent = take32(at);
        a->alias = take32(at);
        a->windows = take32(at);
        need(a->alias <= i && a->windows <= MOST_WINDOWS, "reading the plan");
        memcpy(&a->bytes, take(at, 8), 8);
        memcpy(&a->bits, take(at, 8), 8);
        memcpy(a->extent, take(at, 64), 64);
        memcpy(a->stride, take(at, 64), 64);
        memcpy(&a->offset, take(at, 8), 8);
        memcpy(&a->window_bytes, take(at, 8), 8);
        memcpy(a->window, take(at, sizeof a->window), sizeof a->window);
        a->first = take(at, (size_t)a->window_bytes * a->windows);
        a->expected = take(at, (size_t)a->window_bytes * a->windows);
    }
}

/* ---- calls ---- */

/* The C interface passes integers and pointers in one class of registers and floats in another, in order, on x86-64
 * and on AArch64; an entry ignores what it has no parameter for.  So one prototype calls them all. */
typedef int entry_function(void *stream, uint64_t, uint64_t, uint64_t, uint64_t, uint64_t, uint64_t, uint64_t, uint64_t,
                           uint64_t, uint64_t, uint64_t, uint64_t, uint64_t, uint64_t, uint64_t, uint64_t, double,
                           double, double, double, double, double, double, double);

struct view {
    void *data;
    int64_t numbers[16];
};

static int call(entry_function *entry, struct program *program)
{
    struct view views[MAX_ARGUMENTS];
    uint64_t integers[INTEGER_ARGUMENTS] = {0};
    double floats[FLOAT_ARGUMENTS] = {0};
    int integer_count = 0, float_count = 0;
    for (uint32_t i = 0; i < program->count; i++) {
        struct argument *a = &program->arguments[i];
        if (a->kind == 0) {
            views[i].data = a->memory;
            memcpy(views[i].numbers, a->extent, a->rank * 8);
            memcpy(views[i].numbers + a->rank, a->stride, a->rank * 8);
            integers[integer_count++] = a->absent ? 0 : (uint64_t)(uintptr_t)&views[i];
        } else if (a->kind == 1) {
            integers[integer_count++] = a->bits;
        } else {
            memcpy(&floats[float_count++], &a->bits, 8);
        }
    }
    const uint64_t *n = integers;
    const double *f = floats;
    return entry(on_gpu ? NULL : (void *)(uintptr_t)0x435055, n[0], n[1], n[2], n[3], n[4], n[5], n[6], n[7], n[8],
                 n[9], n[10], n[11], n[12], n[13], n[14], n[15], f[0], f[1], f[2], f[3], f[4], f[5], f[6], f[7]);
}

/* NaN equals NaN; all else bit by bit.  Elements by enum ir_element: f16 9, bf16 10, f32 11, f64 12, f8e4m3 13,
 * f8e5m2 14. */
static int is_nan(uint32_t element, const unsigned char *at)
{
    uint64_t bits = 0;
    static const struct {
        int bytes;
        uint64_t magnitude, infinity;
    } formats[6] = {{2, 0x7fff, 0x7c00},
                    {2, 0x7fff, 0x7f80},
                    {4, 0x7fffffff, 0x7f800000},
                    {8, UINT64_C(0x7fffffffffffffff), UINT64_C(0x7ff0000000000000)},
                    {1, 0x7f, 0x7e},
                    {1, 0x7f, 0x7c}};
    if (element < 9 || element > 14)
        return 0;
    memcpy(&bits, at, (size_t)formats[element - 9].bytes);
    return (bits & formats[element - 9].magnitude) > formats[element - 9].infinity;
}

static int element_bytes(uint32_t element)
{
    static const unsigned char bytes[] = {1, 1, 2, 4, 8, 1, 2, 4, 8, 2, 2, 4, 8, 1, 1, 8, 8};
    return element < sizeof bytes ? bytes[element] : 1;
}

static int compare(const struct program *program, uint32_t which, const unsigned char *got)
{
    const struct argument *a = &program->arguments[which];
    int64_t size = element_bytes(a->element), content = a->window_bytes * a->windows;
    for (int64_t i = 0; i < RED_ZONE; i++)
        if (got[i] != 0xAB || got[RED_ZONE + content + i] != 0xAB) {
            printf("%s: argument %" PRIu32 ": wrote outside the view\n", program->symbol, which);
            return 0;
        }
    int64_t differ = 0, first = 0;
    for (int64_t i = 0; i < content; i += size) {
        const unsigned char *x = got + RED_ZONE + i, *y = a->expected + i;
        if (!memcmp(x, y, (size_t)size) || (is_nan(a->element, x) && is_nan(a->element, y)))
            continue;
        first = differ++ ? first : i;
    }
    if (differ) {
        uint64_t left = 0, right = 0;
        memcpy(&left, got + RED_ZONE + first, (size_t)size);
        memcpy(&right, a->expected + first, (size_t)size);
        printf("%s: argument %" PRIu32 " element %" PRId64 ": got %" PRIx64 ", expected %" PRIx64 ", %" PRId64
               " of %" PRId64 " differ\n",
               program->symbol, which, (a->window[first / a->window_bytes] + first % a->window_bytes) / size, left,
               right, differ, content / size);
    }
    return !differ;
}

static int run(void *library, entry_function *entry, struct program *program)
{
    const char *(*last_error)(void);
    *(void **)&last_error = dlsym(library, "tile_last_error");
    need(last_error != NULL, "dlsym");
    for (uint32_t i = 0; i < program->count; i++) {
        struct argument *a = &program->arguments[i];
        a->memory = a->alias ? program->arguments[a->alias - 1].memory + a->offset : a->bytes ? place(a) : NULL;
    }
    int status = call(entry, program), good = status == 0;
    if (good && on_gpu)
        need(driver.synchronize() == 0, program->symbol);
    if (!good)
        printf("%s: status %d: %s\n", program->symbol, status, last_error());
    for (uint32_t i = 0; i < program->count; i++) {
        struct argument *a = &program->arguments[i];
        if (!a->bytes)
            continue;
        unsigned char *got = fetch(a);
        good = good && compare(program, i, got);
        free(got);
    }
    return good;
}

int main(int count, char **arguments)
{
    if (count != 4 && count != 5) {
        fprintf(stderr, "usage: runner LIBRARY PLAN cpu|gpu [FROM]\n");
        return 2;
    }
    on_gpu = !strcmp(arguments[3], "gpu");
    void *library = dlopen(arguments[1], RTLD_NOW);
    if (!library) {
        fprintf(stderr, "%s\n", dlerror());
        return 2;
    }
    FILE *file = fopen(arguments[2], "rb");
    need(file && fseek(file, 0, SEEK_END) == 0, "opening the plan");
    long size = ftell(file);
    unsigned char *plan = malloc((size_t)size + 1);
    rewind(file);
    need(plan && fread(plan, 1, (size_t)size, file) == (size_t)size && !memcmp(plan, "TILEPLAN", 8),
         "reading the plan");
    fclose(file);
    if (on_gpu)
        open_driver();
    const unsigned char *at = plan + 8;
    static struct program program;
    uint32_t version = take32(&at), programs = take32(&at), failed = 0, refused = 0;
    uint32_t from = count > 4 ? (uint32_t)strtoul(arguments[4], NULL, 10) : 0;
    need(version == 2, "version of the plan");
    for (uint32_t i = 0; i < programs; i++) {
        entry_function *entry;
        read_program(&at, &program);
        if (i < from)
            continue;
        *(void **)&entry = dlsym(library, program.symbol);
        if (!entry) {
            refused++;
            continue;
        }
        if (count > 4) {
            printf("at %" PRIu32 " %s\n", i, program.symbol);
            fflush(stdout);
        }
        alarm(PROGRAM_SECONDS);
        if (!run(library, entry, &program))
            failed++;
    }
    printf("%" PRIu32 " programs, %" PRIu32 " failed, %" PRIu32 " refused\n",
           programs - (from < programs ? from : programs), failed, refused);
    return failed != 0;
}
