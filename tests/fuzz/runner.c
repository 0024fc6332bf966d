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
#include <unistd.h>

enum { PROGRAM_SECONDS = 30, MAX_ARGUMENTS = 16, RED_ZONE = 256, FLOAT_ARGUMENTS = 8, INTEGER_ARGUMENTS = 16 };

struct argument { uint32_t kind, element, rank, absent; int64_t bytes; uint64_t bits; int64_t extent[8], stride[8];
                  const unsigned char *first, *expected; unsigned char *memory; };
struct program { char symbol[33]; uint64_t seed; uint32_t count; struct argument arguments[MAX_ARGUMENTS]; };

/* ---- memory, on the host or through the driver ---- */

static struct {
    int (*allocate)(uint64_t *, size_t);
    int (*release)(uint64_t);
    int (*to_device)(uint64_t, const void *, size_t);
    int (*from_device)(void *, uint64_t, size_t);
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
    *(void **)&driver.synchronize = dlsym(library, "cuCtxSynchronize");
    need(init(0) == 0 && retain(&context, 0) == 0 && set(context) == 0, "starting the driver");
}

/* A copy of the content between two red zones; the address of the content. */
static unsigned char *place(const unsigned char *content, int64_t bytes)
{
    size_t size = (size_t)bytes + 2 * RED_ZONE;
    unsigned char *staged = malloc(size);
    need(staged != NULL, "malloc");
    memset(staged, 0xAB, size);
    memcpy(staged + RED_ZONE, content, (size_t)bytes);
    if (!on_gpu)
        return staged + RED_ZONE;
    uint64_t address;
    need(driver.allocate(&address, size) == 0 && driver.to_device(address, staged, size) == 0, "device memory");
    free(staged);
    return (unsigned char *)(uintptr_t)(address + RED_ZONE);
}

/* The content with its red zones, back on the host; releases the device's copy. */
static unsigned char *fetch(unsigned char *at, int64_t bytes)
{
    size_t size = (size_t)bytes + 2 * RED_ZONE;
    if (!on_gpu)
        return at - RED_ZONE;
    unsigned char *back = malloc(size);
    uint64_t address = (uint64_t)(uintptr_t)at - RED_ZONE;
    need(back && driver.from_device(back, address, size) == 0 && driver.release(address) == 0, "copying back");
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
        memcpy(&a->bytes, take(at, 8), 8);
        memcpy(&a->bits, take(at, 8), 8);
        memcpy(a->extent, take(at, 64), 64);
        memcpy(a->stride, take(at, 64), 64);
        a->first = a->bytes ? take(at, (size_t)a->bytes) : NULL;
        a->expected = a->bytes ? take(at, (size_t)a->bytes) : NULL;
    }
}

/* ---- calls ---- */

/* The C interface passes integers and pointers in one class of registers and floats in another, in order, on x86-64
 * and on AArch64; an entry ignores what it has no parameter for.  So one prototype calls them all. */
typedef int entry_function(void *stream, uint64_t, uint64_t, uint64_t, uint64_t, uint64_t, uint64_t, uint64_t, uint64_t,
                           uint64_t, uint64_t, uint64_t, uint64_t, uint64_t, uint64_t, uint64_t, uint64_t, double,
                           double, double, double, double, double, double, double);

struct view { void *data; int64_t numbers[16]; };

static int call(entry_function *entry, struct program *program)
{
    struct view views[MAX_ARGUMENTS];
    uint64_t integers[INTEGER_ARGUMENTS] = { 0 };
    double floats[FLOAT_ARGUMENTS] = { 0 };
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
    static const struct { int bytes; uint64_t magnitude, infinity; } formats[6] = {
        { 2, 0x7fff, 0x7c00 }, { 2, 0x7fff, 0x7f80 }, { 4, 0x7fffffff, 0x7f800000 },
        { 8, UINT64_C(0x7fffffffffffffff), UINT64_C(0x7ff0000000000000) }, { 1, 0x7f, 0x7e }, { 1, 0x7f, 0x7c } };
    if (element < 9 || element > 14)
        return 0;
    memcpy(&bits, at, (size_t)formats[element - 9].bytes);
    return (bits & formats[element - 9].magnitude) > formats[element - 9].infinity;
}

static int element_bytes(uint32_t element)
{
    static const unsigned char bytes[] = { 1, 1, 2, 4, 8, 1, 2, 4, 8, 2, 2, 4, 8, 1, 1, 8, 8 };
    return element < sizeof bytes ? bytes[element] : 1;
}

static int compare(const struct program *program, uint32_t which, const unsigned char *got)
{
    const struct argument *a = &program->arguments[which];
    int size = element_bytes(a->element);
    for (int64_t i = 0; i < RED_ZONE; i++)
        if (got[i] != 0xAB || got[RED_ZONE + a->bytes + i] != 0xAB) {
            printf("%s: argument %" PRIu32 ": wrote outside the view\n", program->symbol, which);
            return 0;
        }
    int64_t differ = 0, first = 0;
    for (int64_t i = 0; i < a->bytes; i += size) {
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
               " of %" PRId64 " differ\n", program->symbol, which, first / size, left, right, differ, a->bytes / size);
    }
    return !differ;
}

static int run(void *library, entry_function *entry, struct program *program)
{
    const char *(*last_error)(void);
    *(void **)&last_error = dlsym(library, "tile_last_error");
    need(last_error != NULL, "dlsym");
    for (uint32_t i = 0; i < program->count; i++)
        if (program->arguments[i].bytes)
            program->arguments[i].memory = place(program->arguments[i].first, program->arguments[i].bytes);
    int status = call(entry, program), good = status == 0;
    if (good && on_gpu)
        need(driver.synchronize() == 0, program->symbol);
    if (!good)
        printf("%s: status %d: %s\n", program->symbol, status, last_error());
    for (uint32_t i = 0; i < program->count; i++) {
        struct argument *a = &program->arguments[i];
        if (!a->bytes)
            continue;
        unsigned char *got = fetch(a->memory, a->bytes);
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
    need(version == 1, "version of the plan");
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
