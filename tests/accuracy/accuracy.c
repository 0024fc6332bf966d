/* Errors of the math functions, in units in the last place, on the processor or (TILE_TEST_STREAM=gpu) on a GPU.
 *
 * f16 and bf16: every argument.  f32: every STEP-th bit pattern from a start that differs from exponent to exponent,
 * the first and last of each exponent, and neighbours of multiples of pi/2; compared with libm in f64.  f64 and
 * functions of two arguments: random bit patterns; compared with libm in long double.  Infinities, NaN and zeros must
 * be as C says.
 *
 *     accuracy [--step STEP] [--only FUNCTION] [--limits FILE]
 *
 * prints a table, and a hash of the results, which tells whether two targets agree in every bit; with a manual that holds
 * such a table, checks that no error is above what is written there. */
#include <dlfcn.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "accuracy.h"

enum type { F32, F64, F16, BF16, TYPES };
enum { BLOCK = 1 << 16 };
static const char *const type_names[TYPES] = {"f32", "f64", "f16", "bf16"};
static const struct {
    int bits, digits, least; /* significant bits; exponent of the smallest denormal */
} formats[TYPES] = {{32, 24, -149}, {64, 53, -1074}, {16, 11, -24}, {16, 8, -133}};

typedef int call1(struct CUstream_st *, const void *x, const void *y);
typedef int call2(struct CUstream_st *, const void *x, const void *z, const void *y);

struct function {
    const char *name;
    double (*in_double)(double);
    long double (*in_long)(long double);
    long double (*of_two)(long double, long double);
    call1 *one[TYPES];
    call2 *two[TYPES];
};

static double rsqrt_double(double x) { return 1.0 / sqrt(x); }
static double rcp_double(double x) { return 1.0 / x; }
static double sigmoid_double(double x) { return 1.0 / (1.0 + exp(-x)); }
static long double rsqrt_long(long double x) { return 1.0L / sqrtl(x); }
static long double fdivl(long double x, long double z) { return x / z; }
static long double rcp_long(long double x) { return 1.0L / x; }
static long double sigmoid_long(long double x) { return 1.0L / (1.0L + expl(-x)); }

/* Views are passed by address, so all views of rank 1 look alike to a call through `void *`. */
#define CALLS(kernel, count)                                                                   \
    {(call##count *)(void (*)(void))kernel##_f32, (call##count *)(void (*)(void))kernel##_f64, \
     (call##count *)(void (*)(void))kernel##_f16, (call##count *)(void (*)(void))kernel##_bf16}
#define LIBM(name)                                                           \
    {                                                                        \
        #name, name, name##l, NULL, CALLS(accuracy_##name##_of, 1), { NULL } \
    }
#define OURS(name)                                                                        \
    {                                                                                     \
        #name, name##_double, name##_long, NULL, CALLS(accuracy_##name##_of, 1), { NULL } \
    }
#define TWO(name) {#name, NULL, NULL, name##l, {NULL}, CALLS(accuracy_##name##_of, 2)}
static const struct function functions[] = {
    LIBM(exp),  LIBM(exp2),  LIBM(expm1), LIBM(log),     LIBM(log2), LIBM(log1p), LIBM(sin),  LIBM(cos),
    LIBM(tan),  LIBM(asin),  LIBM(acos),  LIBM(atan),    LIBM(sinh), LIBM(cosh),  LIBM(tanh), LIBM(erf),
    LIBM(sqrt), OURS(rsqrt), OURS(rcp),   OURS(sigmoid), TWO(pow),   TWO(atan2),  TWO(fdiv),
};

/* ---- memory ---- */
static struct {
    int used;
    int (*allocate)(uint64_t *, size_t);
    int (*upload)(uint64_t, const void *, size_t);
    int (*download)(void *, uint64_t, size_t);
} gpu;
static uint64_t arguments_at[3]; /* what the kernels see: x, z, y */
static unsigned char here[3][8 * BLOCK];

static void *driver(void *library, const char *name)
{
    void *symbol = dlsym(library, name);
    if (!symbol) {
        fprintf(stderr, "libcuda.so.1 has no %s\n", name);
        exit(2);
    }
    return symbol;
}

static void open_memory(void)
{
    const char *stream = getenv("TILE_TEST_STREAM");
    for (int i = 0; i < 3; i++)
        arguments_at[i] = (uint64_t)(uintptr_t)here[i];
    if (!stream || strcmp(stream, "gpu"))
        return;
    void *library = dlopen("libcuda.so.1", RTLD_NOW), *context;
    int (*init)(unsigned), (*device_get)(int *, int), (*retain)(void **, int), (*set)(void *), device;
    if (!library) {
        fprintf(stderr, "no driver: %s\n", dlerror());
        exit(2);
    }
    *(void **)&init = driver(library, "cuInit");
    *(void **)&device_get = driver(library, "cuDeviceGet");
    *(void **)&retain = driver(library, "cuDevicePrimaryCtxRetain");
    *(void **)&set = driver(library, "cuCtxSetCurrent");
    *(void **)&gpu.allocate = driver(library, "cuMemAlloc_v2");
    *(void **)&gpu.upload = driver(library, "cuMemcpyHtoD_v2");
    *(void **)&gpu.download = driver(library, "cuMemcpyDtoH_v2");
    if (init(0) || device_get(&device, 0) || retain(&context, device) || set(context)) {
        fprintf(stderr, "no GPU\n");
        exit(2);
    }
    for (int i = 0; i < 3; i++)
        if (gpu.allocate(&arguments_at[i], sizeof here[i]))
            exit(2);
    gpu.used = 1;
}

/* ---- numbers ---- */
static uint64_t get_bits(enum type type, const unsigned char *memory, int i)
{
    uint64_t bits = 0;
    size_t size = (size_t)formats[type].bits / 8;
    memcpy(&bits, memory + (size_t)i * size, size);
    return bits;
}

static void set_bits(enum type type, unsigned char *memory, int i, uint64_t bits)
{
    size_t size = (size_t)formats[type].bits / 8;
    memcpy(memory + (size_t)i * size, &bits, size);
}

static double value_of(enum type type, uint64_t bits)
{
    union {
        uint64_t u;
        double d;
    } wide = {bits};
    union {
        uint32_t u;
        float f;
    } narrow = {(uint32_t)bits};
    if (type == F64)
        return wide.d;
    if (type == BF16)
        narrow.u <<= 16;
    if (type != F16)
        return (double)narrow.f;
    int exponent = (int)(bits >> 10 & 31);
    double fraction = (double)(bits & 1023), sign = bits >> 15 ? -1.0 : 1.0;
    if (exponent == 31)
        return fraction != 0.0 ? NAN : sign * INFINITY;
    return sign * (exponent ? ldexp(fraction + 1024.0, exponent - 25) : ldexp(fraction, -24));
}

/* Distance of neighbours at |y|. */
static long double unit_at(enum type type, long double y)
{
    int exponent;
    frexpl(y, &exponent);
    exponent -= formats[type].digits;
    return ldexpl(1.0L, exponent < formats[type].least ? formats[type].least : exponent);
}

static long double end_of(enum type type) /* the power of two past the largest finite number */
{
    return ldexpl(1.0L, type == F64 ? 1024 : type == F16 ? 16 : 128);
}

/* Error of `got` in units; INFINITY where an infinity, a NaN or a zero's sign is wrong. */
static double error_of(enum type type, double got, long double exact)
{
    long double end = end_of(type);
    if (isnan(exact) || isnan(got))
        return isnan(exact) && isnan(got) ? 0.0 : INFINITY;
    if (exact == 0.0L)
        return got == 0.0 && !signbit(got) == !signbit(exact) ? 0.0 : INFINITY;
    if (isinf(exact))
        return (long double)got == exact ? 0.0 : INFINITY;
    if (fabsl(exact) >= end) /* overflows */
        return isinf(got) && (got > 0.0) == (exact > 0.0L) ? 0.0 : INFINITY;
    long double value = isinf(got) ? (got > 0.0 ? end : -end) : (long double)got;
    return (double)(fabsl(value - exact) / unit_at(type, exact));
}

/* The same from a reference in f64, without calls. */
static double fast_error(double got, double exact)
{
    union {
        double d;
        uint64_t u;
    } bits = {exact}, scale;
    int exponent = (int)(bits.u >> 52 & 2047);
    if (exponent == 2047 || exponent < 1023 - 148 || exponent > 1023 + 126 || !(fabs(got) < INFINITY) || exact == 0.0)
        return error_of(F32, got, exact);
    int least = exponent - 23 < 1023 - 149 ? 1023 - 149 : exponent - 23;
    scale.u = (uint64_t)(2046 - least) << 52; /* 1 / unit */
    return fabs(got - exact) * scale.d;
}

/* ---- one function ---- */
struct worst {
    double error, x, z;
    uint64_t results; /* a hash of all of them, NaN whatever its bits */
};

struct view {
    uint64_t data;
    int64_t extent, stride;
};

static void run_block(const struct function *f, enum type type, int count, struct worst *worst)
{
    struct view view[3];
    size_t size = (size_t)count * (size_t)formats[type].bits / 8;
    int status;
    for (int i = 0; i < 3; i++)
        view[i] = (struct view){arguments_at[i], count, 1};
    if (gpu.used && (gpu.upload(arguments_at[0], here[0], size) || gpu.upload(arguments_at[1], here[1], size)))
        exit(2);
    struct CUstream_st *stream = gpu.used ? NULL : TILE_CPU;
    status = f->of_two ? f->two[type](stream, &view[0], &view[1], &view[2]) : f->one[type](stream, &view[0], &view[2]);
    if (status || (gpu.used && gpu.download(here[2], arguments_at[2], size))) {
        fprintf(stderr, "%s: %s\n", f->name, tile_last_error());
        exit(2);
    }
    for (int i = 0; i < count; i++) {
        double x = value_of(type, get_bits(type, here[0], i)), z = 0.0, error;
        double got = value_of(type, get_bits(type, here[2], i));
        if (f->of_two) {
            z = value_of(type, get_bits(type, here[1], i));
            error = error_of(type, got, f->of_two(x, z));
        } else if (type == F32) {
            error = fast_error(got, f->in_double(x));
        } else {
            error = error_of(type, got, f->in_long(x));
        }
        worst->results = (worst->results ^ (isnan(got) ? 1 : get_bits(type, here[2], i))) * 0x100000001b3u;
        if (error > worst->error)
            *worst = (struct worst){error, x, z, worst->results};
    }
}

static uint64_t random_bits(uint64_t *state)
{
    *state += 0x9e3779b97f4a7c15u;
    uint64_t z = *state;
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
    z = (z ^ z >> 27) * 0x94d049bb133111ebu;
    return z ^ z >> 31;
}

struct sweep {
    const struct function *function;
    enum type type;
    int count;
    struct worst worst;
};

static void add(struct sweep *sweep, uint64_t x, uint64_t z)
{
    set_bits(sweep->type, here[0], sweep->count, x);
    set_bits(sweep->type, here[1], sweep->count, z);
    if (++sweep->count == BLOCK) {
        run_block(sweep->function, sweep->type, BLOCK, &sweep->worst);
        sweep->count = 0;
    }
}

static uint32_t float_bits(float x)
{
    uint32_t bits;
    memcpy(&bits, &x, sizeof bits);
    return bits;
}

static void sweep_f32(struct sweep *sweep, uint64_t step)
{
    uint64_t state = 1;
    for (uint64_t top = 0; top < 512; top++) { /* sign and exponent */
        uint64_t first = top << 23, last = first + (1u << 23) - 1;
        for (uint64_t k = 0; k < 4; k++) {
            add(sweep, first + k, 0);
            add(sweep, last - k, 0);
        }
        for (uint64_t x = first + random_bits(&state) % step; x <= last; x += step)
            add(sweep, x, 0);
    }
    for (int k = 1; k < 3000; k++) { /* where circular functions vanish, and where their reduction is hard */
        uint32_t near = float_bits((float)(k * 1.5707963267948966));
        for (uint32_t d = 0; d < 5; d++) {
            add(sweep, near + d - 2, 0);
            add(sweep, near + d - 2 + 0x80000000u, 0);
        }
    }
    static const float hard[] = {16367173.0f * 0x1p72f, 0x1.6ac5b2p+96f, 0x1.fffffep+127f, 2.50930992e9f, 5.3717e8f};
    for (size_t k = 0; k < sizeof hard / sizeof *hard; k++)
        add(sweep, float_bits(hard[k]), 0);
}

/* f64, and two arguments: half of them near 1 in size, half any bits; with a second argument also small whole ones. */
static void sweep_random(struct sweep *sweep, int samples)
{
    static const double special[] = {0.0,  -0.0, 1.0,   -1.0, 0.5, -0.5, 2.0,      -2.0,      3.0,
                                     -3.0, 2.5,  1e-40, 1e30, 710, -746, INFINITY, -INFINITY, NAN};
    enum { COUNT = sizeof special / sizeof *special };
    enum type type = sweep->type;
    int digits = formats[type].digits - 1, bits = formats[type].bits, bias = (1 << (bits - digits - 2)) - 1;
    uint64_t state = 2;
    for (int i = 0; i < samples; i++) {
        uint64_t x[2];
        for (int k = 0; k < 2; k++) {
            x[k] = random_bits(&state);
            if (i % 2 == 0) { /* exponents of -15 to 10 */
                uint64_t exponent = (uint64_t)(bias - 15) + random_bits(&state) % 26;
                x[k] = (x[k] & ((UINT64_C(1) << digits) - 1)) | exponent << digits | (x[k] >> 63) << (bits - 1);
            }
        }
        add(sweep, x[0], x[1]);
    }
    if (type != F64 && type != F32)
        return;
    for (int i = 0; i < COUNT * COUNT; i++) {
        double a = special[i / COUNT], b = special[i % COUNT];
        uint64_t x, z;
        memcpy(&x, &a, 8);
        memcpy(&z, &b, 8);
        add(sweep, type == F64 ? x : float_bits((float)a), type == F64 ? z : float_bits((float)b));
    }
}

static struct worst measure(const struct function *f, enum type type, uint64_t step)
{
    struct sweep sweep = {f, type, 0, {0.0, 0.0, 0.0, 0xcbf29ce484222325u}};
    int samples = step > 4096 ? 20000 : step > 64 ? 200000 : 2000000;
    if (f->of_two || type == F64)
        sweep_random(&sweep, samples);
    else if (type == F32)
        sweep_f32(&sweep, step);
    else
        for (uint64_t x = 0; x < 65536; x++)
            add(&sweep, x, 0);
    run_block(f, type, sweep.count, &sweep.worst);
    return sweep.worst;
}

/* The manual's line `name  f32  f64  f16  bf16  f32-on-a-GPU`.  False where the manual has none. */
static int read_limits(const char *path, const char *name, double *limits)
{
    char line[400], word[40];
    double gpu_f32 = 0.0;
    FILE *file = fopen(path, "r");
    int found = 0;
    while (file && !found && fgets(line, sizeof line, file))
        found = sscanf(line, "%39s %lf %lf %lf %lf %lf", word, &limits[F32], &limits[F64], &limits[F16], &limits[BF16],
                       &gpu_f32) == 6 &&
                !strcmp(word, name);
    if (file)
        fclose(file);
    if (gpu.used)
        limits[F32] = gpu_f32;
    return found;
}

int main(int count, char **arguments)
{
    uint64_t step = 64;
    const char *only = NULL, *limits = NULL;
    int failures = 0;
    for (int i = 1; i + 1 < count; i += 2) {
        if (!strcmp(arguments[i], "--step"))
            step = strtoull(arguments[i + 1], NULL, 10);
        else if (!strcmp(arguments[i], "--only"))
            only = arguments[i + 1];
        else if (!strcmp(arguments[i], "--limits"))
            limits = arguments[i + 1];
    }
    open_memory();
    setvbuf(stdout, NULL, _IOLBF, 0);
    for (size_t k = 0; k < sizeof functions / sizeof *functions; k++) {
        const struct function *f = &functions[k];
        double allowed[TYPES] = {0};
        if (only && strcmp(only, f->name))
            continue;
        if (limits && !read_limits(limits, f->name, allowed)) {
            printf("%s: the manual says nothing\n", f->name);
            failures++;
            continue;
        }
        struct worst worst[TYPES];
        printf("%-8s", f->name);
        for (int t = 0; t < TYPES; t++) {
            worst[t] = measure(f, (enum type)t, step ? step : 1);
            printf("  %s %.3f", type_names[t], worst[t].error);
        }
        printf("   at %.9g, %.17g, %.9g, %.9g", worst[0].x, worst[1].x, worst[2].x, worst[3].x);
        if (f->of_two)
            printf(" and %.9g, %.17g, %.9g, %.9g", worst[0].z, worst[1].z, worst[2].z, worst[3].z);
        printf("   bits");
        for (int t = 0; t < TYPES; t++)
            printf(" %016llx", (unsigned long long)worst[t].results);
        printf("\n");
        for (int t = 0; limits && t < TYPES; t++)
            if (!(worst[t].error <= allowed[t])) {
                printf("%s of %s: %.3f, the manual allows %.2f\n", f->name, type_names[t], worst[t].error, allowed[t]);
                failures++;
            }
    }
    return failures != 0;
}
