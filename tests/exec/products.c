#include "exec.h"
#include "products.h"
#include <math.h>

#define TWO(m, n) \
    2, (int64_t[]) { m, n }
#define ONE(n) \
    1, (int64_t[]) { n }

#define PRODUCT(name, call, type, TYPE, out, OUT, tolerance)                                                       \
    static void run_##name(struct exec_case *c)                                                                    \
    {                                                                                                              \
        int64_t m = c->extent[0], n = c->extent[1], k = c->extent[2];                                              \
        struct exec_tensor *a = exec_input(c, EXEC_##TYPE, TWO(m, k)), *b = exec_input(c, EXEC_##TYPE, TWO(k, n)); \
        struct exec_tensor *r = exec_output(c, EXEC_##OUT, TWO(m, n));                                             \
        struct tile_##type##_2 va, vb;                                                                             \
        struct tile_##out##_2 vr;                                                                                  \
        EXEC_BIND(va, a);                                                                                          \
        EXEC_BIND(vb, b);                                                                                          \
        EXEC_BIND(vr, r);                                                                                          \
        exec_called(c, products_##call(c->stream, &va, &vb, &vr));                                                 \
        for (int64_t i = 0; i < m; i++)                                                                            \
            for (int64_t j = 0; j < n; j++) {                                                                      \
                exec_expect(c, r, i *n + j, exec_dot(a, i * k, 1, b, j, n, k), tolerance);                         \
            }                                                                                                      \
    }
#define MATMUL(name, type, TYPE, out, OUT, tolerance) \
    PRODUCT(name, matmul_##type##_##out, type, TYPE, out, OUT, tolerance)
MATMUL(f32, f32, F32, f32, F32, 1e-4)
MATMUL(f64, f64, F64, f64, F64, 1e-12)
MATMUL(f16, f16, F16, f32, F32, 1e-4)
MATMUL(bf16, bf16, BF16, f32, F32, 1e-4)
MATMUL(f8e4m3, f8e4m3, F8E4M3, f32, F32, 1e-4)
MATMUL(f8e5m2, f8e5m2, F8E5M2, f32, F32, 1e-4)
MATMUL(i8, i8, I8, i32, I32, 0.0)
PRODUCT(in_fours, in_fours, bf16, BF16, f32, F32, 1e-4)

static void run_transposed(struct exec_case *c)
{
    int64_t m = c->extent[0], n = c->extent[1], k = c->extent[2];
    struct exec_tensor *a = exec_input(c, EXEC_F32, TWO(k, m)), *b = exec_input(c, EXEC_F32, TWO(n, k)),
                       *bias = exec_input(c, EXEC_F32, ONE(n));
    struct exec_tensor *r = exec_output(c, EXEC_F32, TWO(m, n));
    struct tile_f32_2 va, vb, vr;
    struct tile_f32_1 vc;
    EXEC_BIND(va, a);
    EXEC_BIND(vb, b);
    EXEC_BIND(vc, bias);
    EXEC_BIND(vr, r);
    exec_called(c, products_transposed(c->stream, &va, &vb, c->gaps ? NULL : &vc, &vr,
                                       c->gaps ? TILE_ACT_SILU : TILE_ACT_NONE));
    for (int64_t i = 0; i < m * n; i++) {
        double sum = exec_dot(a, i / n, m, b, i % n * k, 1, k) + (c->gaps ? 0.0 : exec_before(bias, i % n));
        exec_expect(c, r, i, c->gaps ? sum / (1.0 + exp(-sum)) : sum, 1e-4);
    }
}

static void run_batched(struct exec_case *c)
{
    int64_t z = c->extent[0], m = 24, n = 20, k = 12;
    struct exec_tensor *a = exec_input(c, EXEC_F32, 3, (int64_t[]){z, m, k}),
                       *b = exec_input(c, EXEC_F32, 3, (int64_t[]){z, k, n});
    struct exec_tensor *r = exec_output(c, EXEC_F32, 3, (int64_t[]){z, m, n});
    struct tile_f32_3 va, vb, vr;
    EXEC_BIND(va, a);
    EXEC_BIND(vb, b);
    EXEC_BIND(vr, r);
    exec_called(c, products_batched(c->stream, &va, &vb, &vr));
    for (int64_t i = 0; i < z * m * n; i++) {
        int64_t batch = i / n / m, row = i / n % m, column = i % n;
        double sum = exec_dot(a, (batch * m + row) * k, 1, b, batch * k * n + column, n, k);
        exec_expect(c, r, i, sum, 1e-5);
    }
}

static void fill_positive(struct exec_tensor *a, struct exec_tensor *b)
{
    for (int64_t i = 0; i < a->elements; i++)
        exec_set(a, i, 1.0 + (double)(i * 7919 % 10007) / 10007.0);
    for (int64_t i = 0; i < b->elements; i++)
        exec_set(b, i, 1.0 + (double)(i * 6007 % 9973) / 9973.0);
}

/* Thousands of positive products: an addition that cuts off instead of rounding would drift away. */
static void run_three_parts(struct exec_case *c)
{
    int64_t m = c->extent[0], n = c->extent[1], k = c->extent[2];
    struct exec_tensor *a = exec_input(c, EXEC_F32, TWO(m, k)), *b = exec_input(c, EXEC_F32, TWO(k, n));
    struct exec_tensor *r = exec_output(c, EXEC_F32, TWO(m, n));
    struct tile_f32_2 va, vb, vr;
    fill_positive(a, b);
    EXEC_BIND(va, a);
    EXEC_BIND(vb, b);
    EXEC_BIND(vr, r);
    exec_called(c, products_three_parts(c->stream, &va, &vb, &vr));
    for (int64_t i = 0; i < m * n; i++)
        exec_expect(c, r, i, exec_dot(a, i / n * k, 1, b, i % n, n, k), 1.5e-5);
}

static void turn(struct tile_f32_2 *view)
{
    int64_t extent = view->extent[0], stride = view->stride[0];
    view->extent[0] = view->extent[1], view->stride[0] = view->stride[1];
    view->extent[1] = extent, view->stride[1] = stride;
}

/* Positive factors, each off by half a bit of tf32 at most, or not at all; way: which of them lie by columns. */
static void run_rounded_way(struct exec_case *c, int way)
{
    int64_t m = c->extent[0], n = c->extent[1], k = c->extent[2];
    int64_t of_a[2] = {way & 1 ? k : m, way & 1 ? m : k}, of_b[2] = {way & 2 ? n : k, way & 2 ? k : n};
    struct exec_tensor *a = exec_input(c, EXEC_F32, 2, of_a), *b = exec_input(c, EXEC_F32, 2, of_b);
    struct exec_tensor *r = exec_output(c, EXEC_F32, TWO(m, n));
    struct tile_f32_2 va, vb, vr;
    fill_positive(a, b);
    EXEC_BIND(va, a);
    EXEC_BIND(vb, b);
    EXEC_BIND(vr, r);
    if (way & 1)
        turn(&va);
    if (way & 2)
        turn(&vb);
    exec_called(c, products_rounded(c->stream, &va, &vb, &vr));
    for (int64_t i = 0; i < m * n; i++) {
        double sum = exec_dot(a, way & 1 ? i / n : i / n * k, way & 1 ? m : 1, b, way & 2 ? i % n * k : i % n,
                              way & 2 ? 1 : n, k);
        exec_expect(c, r, i, sum, 1e-4);
    }
}
static void run_rounded(struct exec_case *c) { run_rounded_way(c, 2); }
static void run_rounded_by_rows(struct exec_case *c) { run_rounded_way(c, 0); }
static void run_rounded_by_columns(struct exec_case *c) { run_rounded_way(c, 3); }

static void run_attention(struct exec_case *c)
{
    int64_t l = c->extent[0], s = c->extent[1], d = 32;
    struct exec_tensor *q = exec_input(c, EXEC_F32, TWO(l, d)), *k = exec_input(c, EXEC_F32, TWO(s, d)),
                       *v = exec_input(c, EXEC_F32, TWO(s, d));
    struct exec_tensor *o = exec_output(c, EXEC_F32, TWO(l, d));
    struct tile_f32_2 vq, vk, vv, vo;
    double weight[512];
    if (c->special || s > 512)
        return;
    EXEC_BIND(vq, q);
    EXEC_BIND(vk, k);
    EXEC_BIND(vv, v);
    EXEC_BIND(vo, o);
    exec_called(c, products_attention(c->stream, &vq, &vk, &vv, &vo, 0.125f));
    for (int64_t i = 0; i < l; i++) {
        double high = -INFINITY, total = 0.0;
        for (int64_t j = 0; j < s; j++) {
            weight[j] = 0.0;
            for (int64_t e = 0; e < d; e++)
                weight[j] += 0.125 * exec_before(q, i * d + e) * exec_before(k, j * d + e);
            weight[j] = j <= i + s - l ? weight[j] : -INFINITY;
            high = fmax(high, weight[j]);
        }
        for (int64_t j = 0; j < s; j++)
            total += weight[j] = high == -INFINITY ? 0.0 : exp(weight[j] - high);
        for (int64_t e = 0; e < d; e++) {
            double sum = 0.0;
            for (int64_t j = 0; j < s; j++)
                sum += weight[j] * exec_before(v, j * d + e);
            exec_expect(c, o, i * d + e, total > 0.0 ? sum / total : 0.0, 1e-4);
        }
    }
}

static const struct exec_test tests[] = {
    {"f32", run_f32, 3, {50, 70, 40}, 0},
    {"f64", run_f64, 3, {50, 70, 40}, 0},
    {"f16", run_f16, 3, {50, 70, 40}, 0},
    {"bf16", run_bf16, 3, {50, 70, 40}, 0},
    {"f8e4m3", run_f8e4m3, 3, {50, 70, 40}, 0},
    {"f8e5m2", run_f8e5m2, 3, {50, 70, 40}, 0},
    {"i8", run_i8, 3, {50, 70, 40}, 0},
    {"in_fours", run_in_fours, 3, {328, 136, 264}, 0},
    {"in_fours_once", run_in_fours, 3, {520, 72, 200}, 0},
    {"transposed", run_transposed, 3, {50, 70, 40}, 0},
    {"batched", run_batched, 1, {5}, 0},
    {"attention", run_attention, 2, {40, 60}, 0},
    {"rounded", run_rounded, 3, {148, 140, 300}, 0},
    {"rounded_by_rows", run_rounded_by_rows, 3, {148, 140, 300}, 0},
    {"rounded_by_columns", run_rounded_by_columns, 3, {148, 140, 300}, 0},
    {"three_parts", run_three_parts, 3, {33, 35, 4099}, 0},
};

int main(int count, char **arguments) { return exec_main(count, arguments, tests, sizeof tests / sizeof *tests); }
