#include "exec.h"
#include "split.h"
#include <math.h>
#include <stdint.h>
#include <string.h>

#define ONE(n) \
    1, (int64_t[]) { n }
#define TWO(m, n) \
    2, (int64_t[]) { m, n }

/* What a call gives twice from the same: parts are added in their order, whoever comes last. */
#define PRODUCT(type, TYPE, tolerance)                                                                             \
    static void run_product_##type(struct exec_case *c)                                                            \
    {                                                                                                              \
        int64_t m = c->extent[0], n = c->extent[1], k = c->extent[2];                                              \
        struct exec_tensor *a = exec_input(c, EXEC_##TYPE, TWO(m, k)), *b = exec_input(c, EXEC_##TYPE, TWO(k, n)); \
        struct exec_tensor *bias = exec_input(c, EXEC_F32, ONE(n)), *y = exec_inout(c, EXEC_##TYPE, TWO(m, n));    \
        struct tile_##type##_2 va, vb, vy;                                                                         \
        struct tile_f32_1 vbias;                                                                                   \
        EXEC_BIND(va, a);                                                                                          \
        EXEC_BIND(vb, b);                                                                                          \
        EXEC_BIND(vbias, bias);                                                                                    \
        EXEC_BIND(vy, y);                                                                                          \
        exec_called(c, split_product_##type(c->stream, &va, &vb, c->gaps ? NULL : &vbias, &vy));                   \
        for (int64_t i = 0; i < m * n; i++) {                                                                      \
            double sum = exec_dot(a, i / n * k, 1, b, i % n, n, k);                                                \
            sum += c->gaps ? 0.0 : exec_before(bias, i % n);                                                       \
            sum = isnan(sum) || sum > 0.0 ? sum : 0.0;                                                             \
            exec_expect(c, y, i, exec_before(y, i) + sum, tolerance);                                              \
        }                                                                                                          \
    }
PRODUCT(bf16, BF16, 0x1p-8)
PRODUCT(f32, F32, 1e-4)

/* Two calls on copies of the same numbers give the same bits. */
static void run_twice(struct exec_case *c)
{
    int64_t m = c->extent[0], n = c->extent[1], k = c->extent[2];
    struct exec_tensor *a = exec_input(c, EXEC_F32, TWO(m, k)), *b = exec_input(c, EXEC_F32, TWO(k, n));
    struct exec_tensor *y[2] = {exec_inout(c, EXEC_F32, TWO(m, n)), exec_inout(c, EXEC_F32, TWO(m, n))};
    struct tile_f32_2 va, vb, vy[2];
    int status = 0;
    EXEC_BIND(va, a);
    EXEC_BIND(vb, b);
    for (int i = 0; i < 2; i++) {
        for (int64_t k0 = 0; k0 < m * n; k0++)
            exec_set(y[i], k0, 0.0);
        EXEC_BIND(vy[i], y[i]);
    }
    for (int i = 0; i < 2 && !status; i++)
        status = split_product_f32(c->stream, &va, &vb, NULL, &vy[i]);
    exec_called(c, status);
    for (int64_t i = 0; i < m * n; i++)
        exec_expect(c, y[1], i, exec_value(y[0], i), 0.0);
}

static void run_columns(struct exec_case *c)
{
    int64_t k = c->extent[0], n = c->extent[1], turns = 0;
    struct exec_tensor *x = exec_input(c, EXEC_F64, TWO(k, n)), *s = exec_output(c, EXEC_F64, ONE(n));
    struct exec_tensor *h = exec_output(c, EXEC_F16, ONE(n)), *count = exec_output(c, EXEC_I32, ONE(n));
    struct exec_tensor *w = exec_output(c, EXEC_I64, ONE(n)), *all = exec_output(c, EXEC_I64, ONE(1));
    struct tile_f64_2 vx;
    struct tile_f64_1 vs;
    struct tile_f16_1 vh;
    struct tile_i32_1 vc;
    struct tile_i64_1 vw, va;
    EXEC_BIND(vx, x);
    EXEC_BIND(vs, s);
    EXEC_BIND(vh, h);
    EXEC_BIND(vc, count);
    EXEC_BIND(vw, w);
    EXEC_BIND(va, all);
    exec_called(c, split_columns(c->stream, &vx, &vs, &vh, &vc, &vw, &va));
    for (int64_t j = 0; j < n; j++) {
        double sum = 0.0, half = 0.0;
        int64_t positive = 0, wide = 0;
        for (int64_t i = k - 1; i >= 0; i -= 3) {
            double v = exec_before(x, i * n + j);
            sum += v;
            half += i % 2 == 0 ? v : 0.0;
            positive += v > 0.0;
            wide += isnan(v) ? 0 : isinf(v) ? 0 : (int64_t)((uint64_t)(int64_t)(64.0 * v) << 30);
        }
        exec_expect(c, s, j, sum, 1e-12);
        exec_expect(c, h, j, half, 0x1p-7);
        exec_expect_int(c, count, j, positive);
        if (isfinite(sum))
            exec_expect_int(c, w, j, wide);
    }
    for (int64_t i = k - 1; i >= 0; i -= 3)
        turns++;
    if (n > 0)
        exec_expect_int(c, all, 0, turns);
}

static void run_int4(struct exec_case *c)
{
    int64_t m = c->extent[0], n = 8 * c->extent[1], groups = c->extent[2], k = 128 * groups;
    struct exec_tensor *x = exec_range(c, EXEC_BF16, TWO(m, k), -8, 8), *w = exec_input(c, EXEC_I32, TWO(k / 8, n));
    struct exec_tensor *s = exec_range(c, EXEC_BF16, TWO(groups, n), -4, 4), *y = exec_output(c, EXEC_BF16, TWO(m, n));
    struct tile_bf16_2 vx, vs, vy;
    struct tile_i32_2 vw;
    EXEC_BIND(vx, x);
    EXEC_BIND(vw, w);
    EXEC_BIND(vs, s);
    EXEC_BIND(vy, y);
    exec_called(c, split_int4(c->stream, &vx, &vw, &vs, &vy));
    for (int64_t i = 0; i < m * n; i++) {
        double sum = 0.0;
        for (int64_t at = 0; at < k; at++) {
            int64_t word = exec_before_int(w, at / 8 * n + i % n);
            sum += exec_before(x, i / n * k + at) * (double)((word >> 4 * (at % 8) & 15) - 8) *
                   exec_before(s, at / 128 * n + i % n);
        }
        exec_expect(c, y, i, sum, 0x1p-8);
    }
}

static double bf16_of(double value)
{
    float single = (float)value;
    uint32_t bits;
    memcpy(&bits, &single, sizeof bits);
    bits = (bits + 0x7fff + (bits >> 16 & 1)) & 0xffff0000;
    memcpy(&single, &bits, sizeof single);
    return single;
}

static void run_weights(struct exec_case *c)
{
    int64_t m = c->extent[0], n = 8 * c->extent[1], groups = c->extent[2], k = 128 * groups;
    struct exec_tensor *x = exec_range(c, EXEC_BF16, TWO(m, k), -8, 8), *w = exec_input(c, EXEC_I32, TWO(k / 8, n));
    struct exec_tensor *s = exec_range(c, EXEC_BF16, TWO(groups, n), -4, 4),
                       *z = exec_input(c, EXEC_I32, TWO(groups, n));
    struct exec_tensor *y = exec_output(c, EXEC_BF16, TWO(m, n));
    struct tile_bf16_2 vx, vs, vy;
    struct tile_i32_2 vw, vz;
    EXEC_BIND(vx, x);
    EXEC_BIND(vw, w);
    EXEC_BIND(vs, s);
    EXEC_BIND(vz, z);
    EXEC_BIND(vy, y);
    exec_called(c, split_weights(c->stream, &vx, &vw, &vs, c->gaps ? NULL : &vz, &vy));
    for (int64_t i = 0; i < m * n; i++) {
        double sum = 0.0;
        for (int64_t at = 0; at < k; at++) {
            int64_t word = exec_before_int(w, at / 8 * n + i % n), group = at / 128 * n + i % n;
            double less = c->gaps ? 8 : (double)(exec_before_int(z, group) & 15);
            sum += exec_before(x, i / n * k + at) *
                   bf16_of(((double)(word >> 4 * (at % 8) & 15) - less) * exec_before(s, group));
        }
        exec_expect(c, y, i, sum, 0x1p-8);
    }
}

static const struct exec_test tests[] = {
    {"product_bf16", run_product_bf16, 3, {70, 90, 500}, 0},
    {"product_f32", run_product_f32, 3, {33, 65, 97}, 0},
    {"twice", run_twice, 3, {130, 60, 777}, 0},
    {"columns", run_columns, 2, {40, 70}, 0},
    {"int4", run_int4, 3, {9, 9, 6}, 0},
    {"weights", run_weights, 3, {9, 9, 6}, 0},
};

int main(int count, char **arguments) { return exec_main(count, arguments, tests, sizeof tests / sizeof *tests); }
