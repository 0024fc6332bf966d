/* The library behind the numeric tests: see exec.h. */
#define _GNU_SOURCE
#include "exec.h"
#include <dlfcn.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum { RED_ZONE = 4096, POISON = 0xa5 };
#define CPU_STREAM ((struct CUstream_st *)(uintptr_t)0x435055)
extern const char *tile_last_error(void);

static const int type_bytes[] = {1, 1, 2, 4, 8, 1, 2, 4, 8, 2, 2, 4, 8, 1, 1};

static int is_float(enum exec_type type) { return type >= EXEC_F16; }

/* ---- the GPU, when asked for ---- */
static struct {
    int used;
    int (*allocate)(uint64_t *, size_t);
    int (*release)(uint64_t);
    int (*upload)(uint64_t, const void *, size_t);
    int (*download)(void *, uint64_t, size_t);
    int (*synchronize)(void);
} gpu;

static void *driver_symbol(void *library, const char *name)
{
    void *symbol = dlsym(library, name);
    if (!symbol) {
        fprintf(stderr, "libcuda.so.1 has no %s\n", name);
        exit(2);
    }
    return symbol;
}

static void open_gpu(void)
{
    const char *stream = getenv("TILE_TEST_STREAM");
    if (!stream || strcmp(stream, "gpu"))
        return;
    void *library = dlopen("libcuda.so.1", RTLD_NOW), *context;
    int (*init)(unsigned), (*device_get)(int *, int), (*retain)(void **, int), (*set)(void *), device;
    if (!library) {
        fprintf(stderr, "no driver: %s\n", dlerror());
        exit(2);
    }
    *(void **)&init = driver_symbol(library, "cuInit");
    *(void **)&device_get = driver_symbol(library, "cuDeviceGet");
    *(void **)&retain = driver_symbol(library, "cuDevicePrimaryCtxRetain");
    *(void **)&set = driver_symbol(library, "cuCtxSetCurrent");
    *(void **)&gpu.allocate = driver_symbol(library, "cuMemAlloc_v2");
    *(void **)&gpu.release = driver_symbol(library, "cuMemFree_v2");
    *(void **)&gpu.upload = driver_symbol(library, "cuMemcpyHtoD_v2");
    *(void **)&gpu.download = driver_symbol(library, "cuMemcpyDtoH_v2");
    *(void **)&gpu.synchronize = driver_symbol(library, "cuCtxSynchronize");
    if (init(0) || device_get(&device, 0) || retain(&context, device) || set(context)) {
        fprintf(stderr, "no GPU\n");
        exit(2);
    }
    gpu.used = 1;
}

/* ---- numbers ---- */

static uint64_t next_random(struct exec_case *c)
{
    uint64_t z = c->random += UINT64_C(0x9e3779b97f4a7c15);
    z = (z ^ z >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ z >> 27) * UINT64_C(0x94d049bb133111eb);
    return z ^ z >> 31;
}

/* Narrow formats: bits of exponent and mantissa; fp8 e4m3 has no infinities. */
static void format_of(enum exec_type type, int *exponent, int *mantissa, double *largest)
{
    *exponent = type == EXEC_F16 || type == EXEC_F8E5M2 ? 5 : type == EXEC_BF16 ? 8 : 4;
    *mantissa = type == EXEC_F16 ? 10 : type == EXEC_BF16 ? 7 : type == EXEC_F8E4M3 ? 3 : 2;
    *largest = type == EXEC_F16 ? 65504.0 : type == EXEC_BF16 ? 0x1.fep127 : type == EXEC_F8E4M3 ? 448.0 : 57344.0;
}

/* Elements are read and rounded by millions, and ldexp is a call. */
static double power_of_two(int exponent)
{
    if (exponent < -1022 || exponent > 1023)
        return ldexp(1.0, exponent);
    uint64_t bits = (uint64_t)(exponent + 1023) << 52;
    double power;
    memcpy(&power, &bits, sizeof power);
    return power;
}

double exec_round_to(enum exec_type type, double value, int direction)
{
    int exponent_bits, mantissa, exponent;
    double largest;
    if (type == EXEC_F64 || !is_float(type) || isnan(value))
        return value;
    if (type == EXEC_F32 && direction == 0)
        return (double)(float)value;
    format_of(type, &exponent_bits, &mantissa, &largest);
    int small = type == EXEC_F8E4M3 || type == EXEC_F8E5M2;
    if (isinf(value))
        return small ? copysign(largest, value) : value;
    frexp(value, &exponent);
    int least = 2 - (1 << (exponent_bits - 1)); /* exponent of the least normal number */
    int unit = (exponent - 1 < least ? least : exponent - 1) - mantissa;
    double scaled = value * power_of_two(-unit);
    scaled = direction == 0   ? nearbyint(scaled)
             : direction == 2 ? trunc(scaled)
             : direction < 0  ? floor(scaled)
                              : ceil(scaled);
    double rounded = copysign(fabs(scaled) * power_of_two(unit), value);
    if (fabs(rounded) <= largest)
        return rounded;
    int stays = direction == 2 || (direction < 0 && value > 0.0) || (direction == 1 && value < 0.0);
    return copysign(small || stays ? largest : INFINITY, value);
}

double exec_round(enum exec_type type, double value) { return exec_round_to(type, value, 0); }

double exec_epsilon(enum exec_type type)
{
    int exponent, mantissa;
    double largest;
    if (type == EXEC_F32 || type == EXEC_F64)
        return type == EXEC_F32 ? 0x1p-23 : 0x1p-52;
    if (!is_float(type))
        return 0.0;
    format_of(type, &exponent, &mantissa, &largest);
    return ldexp(1.0, -mantissa);
}

static uint64_t narrow_bits(enum exec_type type, double value)
{
    int exponent_bits, mantissa, exponent;
    double largest;
    format_of(type, &exponent_bits, &mantissa, &largest);
    int width = 8 * type_bytes[type];
    uint64_t sign = (uint64_t)(signbit(value) != 0) << (width - 1);
    if (isnan(value))
        return type == EXEC_F8E4M3 ? 0x7f
                                   : (((UINT64_C(1) << exponent_bits) - 1) << mantissa) | UINT64_C(1) << (mantissa - 1);
    value = exec_round(type, value);
    if (isinf(value))
        return sign | ((UINT64_C(1) << exponent_bits) - 1) << mantissa;
    if (value == 0.0)
        return sign;
    frexp(value, &exponent);
    int least = 2 - (1 << (exponent_bits - 1));
    if (exponent - 1 < least)
        return sign | (uint64_t)(fabs(value) * power_of_two(mantissa - least));
    uint64_t fraction = (uint64_t)(fabs(value) * power_of_two(mantissa - (exponent - 1)));
    return sign | (((uint64_t)(exponent - 1 - least) << mantissa) + fraction); /* the leading one adds 1 to the field */
}

static double narrow_value(enum exec_type type, uint64_t bits)
{
    int exponent_bits, mantissa;
    double largest;
    format_of(type, &exponent_bits, &mantissa, &largest);
    int width = 8 * type_bytes[type], least = 2 - (1 << (exponent_bits - 1));
    double sign = bits >> (width - 1) ? -1.0 : 1.0;
    uint64_t magnitude = bits & ((UINT64_C(1) << (width - 1)) - 1);
    uint64_t field = magnitude >> mantissa, fraction = magnitude & ((UINT64_C(1) << mantissa) - 1),
             full = (UINT64_C(1) << exponent_bits) - 1;
    if (type == EXEC_F8E4M3 ? magnitude == 0x7f : field == full)
        return type != EXEC_F8E4M3 && fraction == 0 ? sign * INFINITY : NAN;
    if (field == 0)
        return sign * ((double)fraction * power_of_two(least - mantissa));
    return sign * ((double)(fraction + (UINT64_C(1) << mantissa)) * power_of_two(least + (int)field - 1 - mantissa));
}

static int64_t read_int(enum exec_type type, const unsigned char *at)
{
    uint64_t bits = 0;
    memcpy(&bits, at, (size_t)type_bytes[type]);
    switch (type) {
    case EXEC_I8: return (int8_t)bits;
    case EXEC_I16: return (int16_t)bits;
    case EXEC_I32: return (int32_t)bits;
    default: return (int64_t)bits;
    }
}

static double read_value(enum exec_type type, const unsigned char *at)
{
    float f;
    double d;
    if (type == EXEC_F32) {
        memcpy(&f, at, sizeof f);
        return (double)f;
    }
    if (type == EXEC_F64) {
        memcpy(&d, at, sizeof d);
        return d;
    }
    if (is_float(type))
        return narrow_value(type, (uint64_t)read_int(type, at));
    return type == EXEC_U64 ? (double)(uint64_t)read_int(type, at) : (double)read_int(type, at);
}

static void write_int(enum exec_type type, unsigned char *at, int64_t value)
{
    memcpy(at, &value, (size_t)type_bytes[type]);
}

static void write_value(enum exec_type type, unsigned char *at, double value)
{
    float f = (float)value;
    if (type == EXEC_F32)
        memcpy(at, &f, sizeof f);
    else if (type == EXEC_F64)
        memcpy(at, &value, sizeof value);
    else
        write_int(type, at, is_float(type) ? (int64_t)narrow_bits(type, value) : (int64_t)value);
}

static void set_random(struct exec_case *c, enum exec_type type, unsigned char *at, int64_t low, int64_t high)
{
    static const double specials[] = {NAN, INFINITY, -INFINITY, -0.0, 0.0, 1.0};
    uint64_t r = next_random(c);
    if (low < high) {
        int64_t number = low + (int64_t)(r % ((uint64_t)(high - low) + 1));
        if (is_float(type))
            write_value(type, at, (double)number);
        else
            write_int(type, at, number);
    } else if (type == EXEC_BOOL) {
        write_int(type, at, (int64_t)(r & 1));
    } else if (!is_float(type)) {
        write_int(type, at,
                  r % 5 ? (int64_t)(r >> 8) : (int64_t)(r >> 8) % 4 - 2); /* small ones and zeros among them */
    } else if (c->special && (r >> 40) % 6 == 0) {
        write_value(type, at, specials[(r >> 20) % 6]);
    } else {
        write_value(type, at, (double)((int64_t)(r % 513) - 256) / 64.0);
    }
}

/* ---- tensors ---- */

static size_t offset_of(const struct exec_tensor *t, int64_t index)
{
    int64_t at = t->dense ? index : 0;
    for (int d = t->rank - 1; d >= 0 && !t->dense; d--) {
        at += index % t->extent[d] * t->stride[d];
        index /= t->extent[d];
    }
    return t->offset + (size_t)at * (size_t)type_bytes[t->type];
}

/* Goes over all elements in row-major order, from a walk of zeros but for the tensor and its offset. */
struct walk {
    const struct exec_tensor *tensor;
    size_t offset; /* of the element that it stands on */
    int64_t at[EXEC_MAX_RANK];
};

static struct walk walk_begin(const struct exec_tensor *t) { return (struct walk){.tensor = t, .offset = t->offset}; }

static void walk_step(struct walk *walk)
{
    const struct exec_tensor *t = walk->tensor;
    int64_t bytes = type_bytes[t->type], steps = 0;
    for (int d = t->rank - 1; d >= 0; d--) {
        steps += t->stride[d];
        if (++walk->at[d] < t->extent[d])
            break;
        steps -= t->extent[d] * t->stride[d];
        walk->at[d] = 0;
    }
    walk->offset += (size_t)(steps * bytes);
}

static void *checked(void *pointer)
{
    if (!pointer) {
        fprintf(stderr, "no memory\n");
        exit(2);
    }
    return pointer;
}

/* Host memory with an untouchable page on the side asked for, against its last or first byte; the other side too,
 * further off. */
static unsigned char *guarded(size_t size, int behind)
{
    size_t page = (size_t)sysconf(_SC_PAGESIZE), room = (size + page - 1) / page * page;
    unsigned char *base = mmap(NULL, room + 2 * page, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (base == MAP_FAILED || (room && mprotect(base + page, room, PROT_READ | PROT_WRITE))) {
        fprintf(stderr, "no memory\n");
        exit(2);
    }
    return base + page + (behind ? room - size : 0);
}

static struct exec_tensor *make(struct exec_case *c, enum exec_type type, int rank, const int64_t *extent, int strided,
                                int packed, int written)
{
    struct exec_tensor *t = checked(calloc(1, sizeof *t));
    int bytes = type_bytes[type], gaps = c->gaps && !packed;
    int64_t span = 1, stride = 1;
    *t = (struct exec_tensor){.type = type, .rank = rank, .elements = 1, .written = written, .next = c->tensors};
    for (int k = 0; k < rank; k++) {
        int d = strided && c->columns_first ? k : rank - 1 - k;
        t->extent[d] = extent[d];
        t->stride[d] = k == 0 && strided && gaps ? 2 : stride;
        stride = t->stride[d] * (extent[d] > 0 ? extent[d] : 1) + (gaps ? 3 : 0);
        t->elements *= extent[d];
        span += (extent[d] > 0 ? extent[d] - 1 : 0) * t->stride[d];
    }
    span = t->elements ? span : 0;
    t->dense = !gaps && !(strided && c->columns_first);
    t->size = (size_t)span * (size_t)bytes;
    t->before = checked(malloc(t->size + 1));
    t->after = checked(malloc(t->size + 1));
    t->values = checked(calloc(1, sizeof *t->values));
    memset(t->before, POISON, t->size);
    if (gpu.used) {
        uint64_t address;
        if (gpu.allocate(&address, t->size + 2 * RED_ZONE + 64)) {
            fprintf(stderr, "no GPU memory\n");
            exit(2);
        }
        t->base = address;
        t->memory = (unsigned char *)(uintptr_t)address + RED_ZONE + (gaps ? bytes : 0);
    } else {
        t->memory = guarded(t->size, c->guard_behind);
    }
    c->tensors = t;
    return t;
}

static void fill_random(struct exec_case *c, struct exec_tensor *t, int64_t low, int64_t high)
{
    struct walk walk = walk_begin(t);
    for (int64_t i = 0; i < t->elements; i++, walk_step(&walk))
        set_random(c, t->type, t->before + walk.offset, low, high);
}

struct exec_tensor *exec_input(struct exec_case *c, enum exec_type type, int rank, const int64_t *extent)
{
    struct exec_tensor *t = make(c, type, rank, extent, 0, 0, 0);
    fill_random(c, t, 0, 0);
    return t;
}

struct exec_tensor *exec_range(struct exec_case *c, enum exec_type type, int rank, const int64_t *extent, int64_t low,
                               int64_t high)
{
    struct exec_tensor *t = make(c, type, rank, extent, 0, 0, 0);
    fill_random(c, t, low, high);
    return t;
}

struct exec_tensor *exec_output(struct exec_case *c, enum exec_type type, int rank, const int64_t *extent)
{
    return make(c, type, rank, extent, 0, 0, 1);
}

struct exec_tensor *exec_inout(struct exec_case *c, enum exec_type type, int rank, const int64_t *extent)
{
    struct exec_tensor *t = make(c, type, rank, extent, 0, 0, 1);
    fill_random(c, t, 0, 0);
    return t;
}

struct exec_tensor *exec_strided(struct exec_case *c, enum exec_type type, int rank, const int64_t *extent, int written)
{
    struct exec_tensor *t = make(c, type, rank, extent, 1, 0, written);
    if (!written)
        fill_random(c, t, 0, 0);
    return t;
}

struct exec_tensor *exec_packed(struct exec_case *c, enum exec_type type, int rank, const int64_t *extent, int written)
{
    struct exec_tensor *t = make(c, type, rank, extent, 0, 1, written);
    if (!written)
        fill_random(c, t, 0, 0);
    return t;
}

static void note_set(struct exec_tensor *t, int64_t index, const unsigned char *at)
{
    if (t->values->before)
        t->values->before[index] = read_value(t->type, at);
    if (t->values->integers)
        t->values->integers[index] = read_int(t->type, at);
}

void exec_set(struct exec_tensor *t, int64_t index, double value)
{
    unsigned char *at = t->before + offset_of(t, index);
    write_value(t->type, at, value);
    note_set(t, index, at);
}
void exec_set_int(struct exec_tensor *t, int64_t index, int64_t value)
{
    unsigned char *at = t->before + offset_of(t, index);
    write_int(t->type, at, value);
    note_set(t, index, at);
}

/* What stands in the allocation goes to where the kernel sees it. */
static void send(struct exec_tensor *t)
{
    if (!gpu.used) {
        memcpy(t->memory, t->before, t->size);
        return;
    }
    unsigned char *zone = checked(malloc(t->size + 2 * RED_ZONE));
    memset(zone, POISON, t->size + 2 * RED_ZONE);
    memcpy(zone + RED_ZONE, t->before, t->size);
    if (gpu.upload((uint64_t)(uintptr_t)t->memory - RED_ZONE, zone, t->size + 2 * RED_ZONE)) {
        fprintf(stderr, "upload failed\n");
        exit(2);
    }
    free(zone);
}

static void fetch(struct exec_case *c, struct exec_tensor *t)
{
    free(t->values->after);
    t->values->after = NULL;
    if (!gpu.used) {
        memcpy(t->after, t->memory, t->size);
        return;
    }
    unsigned char *zone = checked(malloc(t->size + 2 * RED_ZONE));
    if (gpu.download(zone, (uint64_t)(uintptr_t)t->memory - RED_ZONE, t->size + 2 * RED_ZONE)) {
        fprintf(stderr, "download failed\n");
        exit(2);
    }
    for (size_t i = 0; i < 2 * RED_ZONE; i++)
        if (zone[i < RED_ZONE ? i : t->size + i] != POISON) {
            exec_fail(c, "a write outside the view, into its red zone");
            break;
        }
    memcpy(t->after, zone + RED_ZONE, t->size);
    free(zone);
}

void exec_bind(struct exec_tensor *t, void *view, size_t size)
{
    unsigned char *to = view;
    void *data = t->memory + t->offset;
    if (size != sizeof data + 16 * (size_t)t->rank) {
        fprintf(stderr, "a view struct of another rank\n");
        exit(2);
    }
    send(t);
    memcpy(to, &data, sizeof data);
    memcpy(to + sizeof data, t->extent, 8 * (size_t)t->rank);
    memcpy(to + sizeof data + 8 * (size_t)t->rank, t->stride, 8 * (size_t)t->rank);
}

void *exec_pointer(struct exec_tensor *t)
{
    send(t);
    return t->memory + t->offset;
}

/* Only elements of outputs may have changed. */
static void check_untouched(struct exec_case *c, struct exec_tensor *t)
{
    size_t bytes = (size_t)type_bytes[t->type];
    unsigned char *allowed = checked(calloc(1, t->size + 1));
    struct walk walk = walk_begin(t);
    for (int64_t i = 0; t->written && i < t->elements; i++, walk_step(&walk))
        memset(allowed + walk.offset, 1, bytes);
    for (size_t i = 0; i < t->size; i++)
        if (!allowed[i] && t->before[i] != t->after[i]) {
            exec_fail(c, "a write to byte %zu of a tensor, which is no element of an output", i);
            break;
        }
    free(allowed);
}

void exec_called(struct exec_case *c, int status)
{
    if (status) {
        exec_fail(c, "status %d: %s", status, tile_last_error());
        exit(1);
    }
    if (gpu.used && gpu.synchronize()) {
        exec_fail(c, "the kernel failed on the GPU");
        exit(1);
    }
    for (struct exec_tensor *t = c->tensors; t; t = t->next) {
        fetch(c, t);
        check_untouched(c, t);
    }
}

static void check_index(const struct exec_tensor *t, int64_t index)
{
    if (index >= 0 && index < t->elements)
        return;
    fprintf(stderr, "a test asks for element %lld of %lld\n", (long long)index, (long long)t->elements);
    exit(2);
}

static double value_of(const struct exec_tensor *t, double **values, const unsigned char *memory, int64_t index)
{
    check_index(t, index);
    if (!*values) {
        *values = checked(malloc((size_t)t->elements * sizeof **values));
        struct walk walk = walk_begin(t);
        for (int64_t i = 0; i < t->elements; i++, walk_step(&walk))
            (*values)[i] = read_value(t->type, memory + walk.offset);
    }
    return (*values)[index];
}

double exec_read_before(const struct exec_tensor *t, int64_t index)
{
    return value_of(t, &t->values->before, t->before, index);
}
double exec_read_value(const struct exec_tensor *t, int64_t index)
{
    return value_of(t, &t->values->after, t->after, index);
}
double exec_dot(const struct exec_tensor *a, int64_t first_a, int64_t step_a, const struct exec_tensor *b,
                int64_t first_b, int64_t step_b, int64_t count)
{
    double sum[4] = {0.0, 0.0, 0.0, 0.0};
    if (count <= 0)
        return 0.0;
    exec_before(a, first_a), exec_before(a, first_a + (count - 1) * step_a);
    exec_before(b, first_b), exec_before(b, first_b + (count - 1) * step_b);
    const double *of_a = a->values->before + first_a, *of_b = b->values->before + first_b;
    for (int64_t i = 0; i < count; i++)
        sum[i % 4] += of_a[i * step_a] * of_b[i * step_b];
    return sum[0] + sum[1] + (sum[2] + sum[3]);
}
int64_t exec_read_before_int(const struct exec_tensor *t, int64_t index)
{
    check_index(t, index);
    if (!t->values->integers) {
        t->values->integers = checked(malloc((size_t)t->elements * sizeof *t->values->integers));
        struct walk walk = walk_begin(t);
        for (int64_t i = 0; i < t->elements; i++, walk_step(&walk))
            t->values->integers[i] = read_int(t->type, t->before + walk.offset);
    }
    return t->values->integers[index];
}
int64_t exec_value_int(const struct exec_tensor *t, int64_t index)
{
    return read_int(t->type, t->after + offset_of(t, index));
}

/* ---- checks ---- */

void exec_fail(struct exec_case *c, const char *format, ...)
{
    va_list list;
    if (c->failures++ >= 5)
        return;
    printf("%s: ", c->name);
    va_start(list, format);
    vprintf(format, list);
    va_end(list);
    putchar('\n');
}

void exec_expect(struct exec_case *c, const struct exec_tensor *t, int64_t index, double want, double tolerance)
{
    double got = exec_value(t, index);
    if (isnan(want)                 ? isnan(got)
        : isinf(want) || isinf(got) ? got == want
                                    : fabs(got - want) <= tolerance * (1.0 + fabs(want)))
        return;
    exec_fail(c, "element %lld is %.9g (%a), not %.9g (%a)", (long long)index, got, got, want, want);
}

void exec_expect_int(struct exec_case *c, const struct exec_tensor *t, int64_t index, int64_t want)
{
    int64_t got = exec_value_int(t, index),
            mask = type_bytes[t->type] == 8 ? -1 : ((int64_t)1 << 8 * type_bytes[t->type]) - 1;
    if ((got & mask) != (want & mask))
        exec_fail(c, "element %lld is %lld, not %lld", (long long)index, (long long)got, (long long)want);
}

/* ---- room ---- */

int exec_space_open(struct exec_case *c, struct exec_space *space, int64_t bytes)
{
    *space = (struct exec_space){NULL, bytes};
    if (gpu.used) {
        uint64_t base = 0;
        if (gpu.allocate(&base, (size_t)bytes) == 0)
            space->base = (void *)(uintptr_t)base;
    } else {
        void *base = mmap(NULL, (size_t)bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1,
                          0);
        space->base = base == MAP_FAILED ? NULL : base;
    }
    if (!space->base)
        printf("# %s: no room for %lld bytes\n", c->name, (long long)bytes);
    return space->base != NULL;
}

void exec_space_close(struct exec_space *space)
{
    if (!space->base)
        return;
    if (gpu.used)
        gpu.release((uint64_t)(uintptr_t)space->base);
    else
        munmap(space->base, (size_t)space->size);
    space->base = NULL;
}

void exec_space_put(const struct exec_space *space, int64_t offset, const void *from, size_t bytes)
{
    if (gpu.used)
        gpu.upload((uint64_t)(uintptr_t)space->base + (uint64_t)offset, from, bytes);
    else
        memcpy((char *)space->base + offset, from, bytes);
}

void exec_space_get(const struct exec_space *space, int64_t offset, void *to, size_t bytes)
{
    if (gpu.used)
        gpu.download(to, (uint64_t)(uintptr_t)space->base + (uint64_t)offset, bytes);
    else
        memcpy(to, (const char *)space->base + offset, bytes);
}

int64_t exec_cdiv(int64_t a, int64_t b) { return (a + b - 1) / b; }

/* ---- cases ---- */

static int run_case(const struct exec_test *test, int number, const char *what, const int64_t *extent, int gaps,
                    int special)
{
    char name[160];
    struct exec_case c = {.stream = gpu.used ? NULL : CPU_STREAM,
                          .name = name,
                          .gaps = gaps,
                          .special = special,
                          .columns_first = number % 3 == 2,
                          .guard_behind = number % 2,
                          .random = (uint64_t)number * 7919 + 1};
    snprintf(name, sizeof name, "%s, %s", test->name, what);
    memcpy(c.extent, extent, sizeof c.extent);
    test->run(&c);
    for (struct exec_tensor *t = c.tensors, *next; t; t = next) {
        next = t->next;
        if (gpu.used)
            gpu.release(t->base);
        free(t->before);
        free(t->after);
        free(t->values->before);
        free(t->values->after);
        free(t->values->integers);
        free(t->values);
        free(t);
    }
    return c.failures != 0;
}

static int run_test(const struct exec_test *test)
{
    int64_t extent[EXEC_MAX_RANK];
    int failures = 0, number = 0;
    failures += run_case(test, number++, "typical", test->typical, 0, 0);
    failures += run_case(test, number++, "gaps", test->typical, 1, 0);
    if (test->same_extents)
        return failures;
    for (int k = 0; k < test->names; k++)
        extent[k] = test->typical[k] > 40 ? test->typical[k] - 37 : test->typical[k] * 2 + 1;
    failures += run_case(test, number++, "odd", extent, 0, 0);
    failures += run_case(test, number++, "odd, gaps", extent, 1, 0);
    failures += run_case(test, number++, "NaN and inf", extent, 0, 1);
    for (int k = 0; k < test->names; k++)
        extent[k] = test->typical[k] * 2 + 13;
    failures += run_case(test, number++, "longer", extent, 1, 0);
    for (int k = 0; k < test->names; k++)
        extent[k] = 1;
    failures += run_case(test, number++, "one", extent, 0, 0);
    failures += run_case(test, number++, "one, gaps", extent, 1, 1);
    for (int k = 0; k < test->names; k++) {
        memcpy(extent, test->typical, sizeof extent);
        extent[k] = 0;
        failures += run_case(test, number++, "empty", extent, 0, 0);
    }
    return failures;
}

int exec_main(int count, char **arguments, const struct exec_test *tests, int test_count)
{
    int failures = 0;
    setvbuf(stdout, NULL, _IOLBF, 4096); /* what was said before a crash counts */
    open_gpu();
    for (int i = 0; i < test_count; i++) {
        int wanted = count < 2;
        for (int a = 1; a < count; a++)
            wanted |= !strcmp(arguments[a], tests[i].name);
        if (wanted) {
            int failed = run_test(&tests[i]);
            printf("%s %s\n", failed ? "not ok" : "ok", tests[i].name);
            failures += failed;
        }
    }
    return failures != 0;
}
