/* Functions of f32 as PTX run by the reader of PTX, against the C library's of f64.  The reader computes ex2.approx and its
 * kind exactly, so this is about what stands around them: ranges, scales, signs, what has no value. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "support/run_text.h"
#include "targets/nvptx/assemble/assemble.h"

enum { COUNT = 256 };

static double inverse_root(double x) { return 1 / sqrt(x); }
static double reciprocal(double x) { return 1 / x; }

/* Numbers between -range and range, beside special ones. */
static const struct function {
    const char *name;
    double (*of)(double);
    double range;
} functions[] = {{"exp", exp, 90},           {"exp2", exp2, 130},      {"expm1", expm1, 20}, {"log", log, 1e6},
                 {"log2", log2, 1e6},        {"log1p", log1p, 9},      {"sin", sin, 50},     {"cos", cos, 50},
                 {"tan", tan, 1.5},          {"tanh", tanh, 5},        {"erf", erf, 3},      {"sqrt", sqrt, 1e6},
                 {"rsqrt", inverse_root, 9}, {"rcp", reciprocal, 1e4}, {"atan", atan, 20},   {"sinh", sinh, 20},
                 {"cosh", cosh, 20},         {"asin", asin, 1},        {"acos", acos, 1},    {"floor", floor, 99},
                 {"ceil", ceil, 99},         {"trunc", trunc, 99},     {"round", rint, 99}};
static const float special[] = {0,          -0.0f,    1,         -1,   INFINITY, -INFINITY, NAN,   0x1p-120f,
                                -0x1p-120f, 0x1p100f, -0x1p100f, 0.5f, -0.5f,    1.5f,      -2.5f, 0x1.000002p23f};

struct data {
    float x[COUNT], y[COUNT];
};

static void fill(struct data *data, const struct function *function)
{
    enum { SPECIAL = sizeof special / sizeof *special };
    for (int i = 0; i < COUNT; i++) {
        double part = (double)(((uint32_t)i * 2654435761u) >> 8) / 0x1p23 - 1;
        data->x[i] = i % 16 == 3 ? special[i / 16 % SPECIAL] : (float)(part * function->range);
        data->y[i] = 0;
    }
}

/* An f32 beyond what it holds is infinite; results below 2^-126 may be 0. */
static bool is_near(float got, double wanted)
{
    if (isnan(wanted) || isnan(got))
        return isnan(wanted) && isnan(got);
    if (isinf((float)wanted) || isinf(got))
        return got == (float)wanted || fabs(wanted) > 0x1.fffffp127;
    if (wanted == 0 && got == 0)
        return !signbit(wanted) == !signbit(got);
    return fabs((double)got - wanted) <= 2e-6 * fabs(wanted) + 0x1p-126;
}

static int check(const struct function *function, const char *row)
{
    struct arena *arena = arena_create();
    struct data data;
    const char *ir = arena_printf(
        arena,
        "kernel @math(%%x: view<f32, [256], [1], in>, %%y: view<f32, [256], [1], out>) grid(1) warps(1) {\n"
        "    %%zero = constant value(0) : index\n    %%o = constant value(0.0) : f32\n"
        "    %%a = load %%x[%%zero +: 256], %%o : f32[256]\n    %%r = math function(%s) %%a : f32[256]\n"
        "    store %%y[%%zero +: 256], %%r\n    return\n}\n",
        function->name);
    uint64_t slots[] = {(uint64_t)(uintptr_t)data.x, COUNT, 1, (uint64_t)(uintptr_t)data.y, COUNT, 1, 1, 0};
    struct ptx_memory memory = {(unsigned char *)&data, sizeof data, false, false};
    struct run_text *text = run_text_make(arena, ir, row);
    int failures = text == NULL, wrong = 0;
    fill(&data, function);
    failures = failures || !run_text_once(arena, text, slots, sizeof slots / sizeof *slots, memory);
    for (int i = 0; i < COUNT && !failures; i++) {
        double wanted = function->of((double)data.x[i]);
        if (!is_near(data.y[i], wanted) && wrong++ < 3)
            printf("%s: %s(%.9g) is %.9g, not %.9g\n", row, function->name, (double)data.x[i], wanted,
                   (double)data.y[i]);
    }
    arena_destroy(arena);
    return failures + wrong;
}

int main(void)
{
    int failures = 0;
    nvptx_begin(NULL);
    for (size_t i = 0; i < sizeof functions / sizeof *functions; i++)
        failures += check(&functions[i], "sm_75") + check(&functions[i], "sm_90a");
    return failures != 0;
}
