#include "exec.h"
#include "elementwise.h"
#include <math.h>

#define ONE(n) \
    1, (int64_t[]) { n }

static void run_saxpy(struct exec_case *c)
{
    int64_t n = c->extent[0];
    struct exec_tensor *x = exec_input(c, EXEC_F32, ONE(n)), *y = exec_inout(c, EXEC_F32, ONE(n));
    struct tile_f32_1 vx, vy;
    EXEC_BIND(vx, x);
    EXEC_BIND(vy, y);
    exec_called(c, elementwise_saxpy(c->stream, 2.5f, &vx, &vy));
    for (int64_t i = 0; i < n; i++)
        exec_expect(c, y, i, 2.5 * exec_before(x, i) + exec_before(y, i), 1e-6);
}

#define BASICS(type, TYPE)                                                                           \
    static void run_basics_##type(struct exec_case *c)                                               \
    {                                                                                                \
        int64_t n = c->extent[0];                                                                    \
        struct exec_tensor *t[6];                                                                    \
        struct tile_##type##_1 v[6];                                                                 \
        for (int i = 0; i < 6; i++) {                                                                \
            t[i] = i < 2 ? exec_input(c, EXEC_##TYPE, ONE(n)) : exec_output(c, EXEC_##TYPE, ONE(n)); \
            EXEC_BIND(v[i], t[i]);                                                                   \
        }                                                                                            \
        exec_called(c, elementwise_basics_##type(c->stream, v, v + 1, v + 2, v + 3, v + 4, v + 5));  \
        for (int64_t i = 0; i < n; i++) {                                                            \
            double x = exec_before(t[0], i), y = exec_before(t[1], i);                               \
            exec_expect(c, t[2], i, exec_round(EXEC_##TYPE, x + y), 0.0);                            \
            exec_expect(c, t[3], i, exec_round(EXEC_##TYPE, x - y), 0.0);                            \
            exec_expect(c, t[4], i, exec_round(EXEC_##TYPE, x *y), 0.0);                             \
            exec_expect(c, t[5], i, exec_round(EXEC_##TYPE, x / y), 0.0);                            \
        }                                                                                            \
    }
BASICS(f32, F32)
BASICS(f64, F64)
BASICS(f16, F16)
BASICS(bf16, BF16)

/* min and max skip a NaN, and -0 < +0; 1/x tells the zeros apart. */
static double least(double x, double y)
{
    return isnan(x) ? y : isnan(y) ? x : x < y || (x == y && signbit(x)) ? x : y;
}
static double most(double x, double y)
{
    return isnan(x) ? y : isnan(y) ? x : x > y || (x == y && !signbit(x)) ? x : y;
}

#define EXTREMES(type, TYPE)                                                                                 \
    static void run_extremes_##type(struct exec_case *c)                                                     \
    {                                                                                                        \
        int64_t n = c->extent[0];                                                                            \
        struct exec_tensor *t[6];                                                                            \
        struct tile_##type##_1 v[6];                                                                         \
        for (int i = 0; i < 6; i++) {                                                                        \
            t[i] = i < 2 ? exec_input(c, EXEC_##TYPE, ONE(n)) : exec_output(c, EXEC_##TYPE, ONE(n));         \
            EXEC_BIND(v[i], t[i]);                                                                           \
        }                                                                                                    \
        exec_called(c, elementwise_extremes_##type(c->stream, v, v + 1, v + 2, v + 3, v + 4, v + 5));        \
        for (int64_t i = 0; i < n; i++) {                                                                    \
            double x = exec_before(t[0], i), y = exec_before(t[1], i), low = least(x, y), high = most(x, y); \
            exec_expect(c, t[2], i, low, 0.0);                                                               \
            exec_expect(c, t[3], i, high, 0.0);                                                              \
            exec_expect(c, t[4], i, isnan(x) || isnan(y) ? NAN : high, 0.0);                                 \
            exec_expect(c, t[5], i, isnan(x) || isnan(y) ? NAN : low, 0.0);                                  \
            if ((low == 0.0 && signbit(low) != signbit(exec_value(t[2], i))) ||                              \
                (high == 0.0 && signbit(high) != signbit(exec_value(t[3], i))))                              \
                exec_fail(c, "element %lld is a zero of the wrong sign", (long long)i);                      \
        }                                                                                                    \
    }
EXTREMES(f32, F32)
EXTREMES(f64, F64)
EXTREMES(f16, F16)
EXTREMES(bf16, BF16)
EXTREMES(f8e4m3, F8E4M3)
EXTREMES(f8e5m2, F8E5M2)

static void run_compares(struct exec_case *c)
{
    int64_t n = c->extent[0];
    struct exec_tensor *x = exec_input(c, EXEC_F32, ONE(n)), *y = exec_input(c, EXEC_F32, ONE(n)), *b[3];
    struct exec_tensor *pick = exec_output(c, EXEC_F32, ONE(n));
    struct tile_f32_1 vx, vy, vp;
    struct tile_bool_1 vb[3];
    EXEC_BIND(vx, x);
    EXEC_BIND(vy, y);
    EXEC_BIND(vp, pick);
    for (int i = 0; i < 3; i++) {
        b[i] = exec_output(c, EXEC_BOOL, ONE(n));
        EXEC_BIND(vb[i], b[i]);
    }
    exec_called(c, elementwise_compares(c->stream, &vx, &vy, vb, vb + 1, vb + 2, &vp));
    for (int64_t i = 0; i < n; i++) {
        double u = exec_before(x, i), v = exec_before(y, i);
        exec_expect_int(c, b[0], i, u < v);
        exec_expect_int(c, b[1], i, u != v);
        exec_expect_int(c, b[2], i, u >= v);
        exec_expect(c, pick, i, u < v && u != 0.0 ? -u : fabs(v), 0.0);
    }
}

static void run_fused(struct exec_case *c)
{
    int64_t n = c->extent[0];
    struct exec_tensor *t[5];
    struct tile_f32_1 v[5];
    for (int i = 0; i < 5; i++) {
        t[i] = i < 3 ? exec_input(c, EXEC_F32, ONE(n)) : exec_output(c, EXEC_F32, ONE(n));
        for (int64_t k = 0; i < 3 && k < n; k++) /* products that do not fit into f32 */
            exec_set(t[i], k, exec_before(t[i], k) * (1.0 + (double)(k % 97) * 0x1p-20));
        EXEC_BIND(v[i], t[i]);
    }
    exec_called(c, elementwise_fused(c->stream, v, v + 1, v + 2, v + 3, v + 4));
    for (int64_t i = 0; i < n; i++) {
        double x = exec_before(t[0], i), y = exec_before(t[1], i), z = exec_before(t[2], i);
        exec_expect(c, t[3], i, (double)fmaf((float)x, (float)y, (float)z), 0.0);
        exec_expect(c, t[4], i, fmod(x, y), 0.0);
    }
}

#define ROUNDING(type, TYPE)                                                                             \
    static void run_rounding_##type(struct exec_case *c)                                                 \
    {                                                                                                    \
        int64_t n = c->extent[0];                                                                        \
        struct exec_tensor *t[6];                                                                        \
        struct tile_##type##_1 v[6];                                                                     \
        for (int i = 0; i < 6; i++) {                                                                    \
            t[i] = i < 1 ? exec_input(c, EXEC_##TYPE, ONE(n)) : exec_output(c, EXEC_##TYPE, ONE(n));     \
            EXEC_BIND(v[i], t[i]);                                                                       \
        }                                                                                                \
        exec_called(c, elementwise_rounding_##type(c->stream, v, v + 1, v + 2, v + 3, v + 4, v + 5));    \
        for (int64_t i = 0; i < n; i++) {                                                                \
            double x = exec_before(t[0], i), want[5] = {floor(x), ceil(x), trunc(x), nearbyint(x), 0.0}; \
            for (int k = 0; k < 4; k++)                                                                  \
                exec_expect(c, t[1 + k], i, want[k], 0.0);                                               \
            exec_expect(c, t[5], i, exec_round(EXEC_##TYPE, sqrt(fabs(x))), 0.0);                        \
        }                                                                                                \
    }
ROUNDING(f32, F32)
ROUNDING(f64, F64)
ROUNDING(f16, F16)

static void run_ordered(struct exec_case *c)
{
    int64_t n = c->extent[0];
    struct exec_tensor *x = exec_inout(c, EXEC_F32, ONE(n)), *y = exec_output(c, EXEC_F32, ONE(n));
    struct tile_f32_1 vx, vy;
    EXEC_BIND(vx, x);
    EXEC_BIND(vy, y);
    exec_called(c, elementwise_ordered(c->stream, &vx, &vy));
    for (int64_t i = 0; i < n; i++) {
        double before = exec_before(x, i);
        exec_expect(c, x, i, before + 1.0, 1e-6);
        exec_expect(c, y, i, before * 1000.0 + (before + 1.0), 1e-6);
    }
}

static const struct exec_test tests[] = {
    {"saxpy", run_saxpy, 1, {1024}, 0},
    {"basics_f32", run_basics_f32, 1, {512}, 0},
    {"basics_f64", run_basics_f64, 1, {512}, 0},
    {"basics_f16", run_basics_f16, 1, {512}, 0},
    {"basics_bf16", run_basics_bf16, 1, {512}, 0},
    {"extremes_f32", run_extremes_f32, 1, {512}, 0},
    {"extremes_f64", run_extremes_f64, 1, {512}, 0},
    {"extremes_f16", run_extremes_f16, 1, {256}, 0},
    {"extremes_bf16", run_extremes_bf16, 1, {256}, 0},
    {"extremes_f8e4m3", run_extremes_f8e4m3, 1, {256}, 0},
    {"extremes_f8e5m2", run_extremes_f8e5m2, 1, {256}, 0},
    {"compares", run_compares, 1, {512}, 0},
    {"fused", run_fused, 1, {512}, 0},
    {"rounding_f32", run_rounding_f32, 1, {256}, 0},
    {"rounding_f64", run_rounding_f64, 1, {256}, 0},
    {"rounding_f16", run_rounding_f16, 1, {256}, 0},
    {"ordered", run_ordered, 1, {1000}, 0},
};

int main(int count, char **arguments) { return exec_main(count, arguments, tests, sizeof tests / sizeof *tests); }
