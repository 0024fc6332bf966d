#include "exec.h"
#include "reduce.h"
#include <math.h>
#include <stdlib.h>

#define TWO(m, n) \
    2, (int64_t[]) { m, n }
#define ONE(n) \
    1, (int64_t[]) { n }

static double least(double x, double y) { return isnan(x) ? y : isnan(y) ? x : x < y ? x : y; }
static double most(double x, double y) { return isnan(x) ? y : isnan(y) ? x : x > y ? x : y; }

/* Outside the row there is the identity, also when nothing is inside. */
#define ROWS(type, TYPE)                                                                                         \
    static void run_rows_##type(struct exec_case *c)                                                             \
    {                                                                                                            \
        int64_t m = c->extent[0], n = c->extent[1], tile = 64;                                                   \
        struct exec_tensor *x = exec_input(c, EXEC_##TYPE, TWO(m, n)), *s = exec_output(c, EXEC_F64, ONE(m));    \
        struct exec_tensor *lo = exec_output(c, EXEC_##TYPE, ONE(m)), *hi = exec_output(c, EXEC_##TYPE, ONE(m)); \
        struct tile_##type##_2 vx;                                                                               \
        struct tile_f64_1 vs;                                                                                    \
        struct tile_##type##_1 vl, vh;                                                                           \
        EXEC_BIND(vx, x);                                                                                        \
        EXEC_BIND(vs, s);                                                                                        \
        EXEC_BIND(vl, lo);                                                                                       \
        EXEC_BIND(vh, hi);                                                                                       \
        exec_called(c, reduce_rows_##type(c->stream, &vx, &vs, &vl, &vh));                                       \
        while (tile < n)                                                                                         \
            tile *= 4;                                                                                           \
        for (int64_t r = 0; r < m; r++) {                                                                        \
            double sum = 0.0, low = tile > n ? INFINITY : NAN, high = tile > n ? -INFINITY : NAN;                \
            for (int64_t i = 0; i < n; i++) {                                                                    \
                double v = exec_before(x, r * n + i);                                                            \
                sum += v;                                                                                        \
                low = least(low, v);                                                                             \
                high = most(high, v);                                                                            \
            }                                                                                                    \
            exec_expect(c, s, r, sum, 1e-12);                                                                    \
            exec_expect(c, lo, r, low, 0.0);                                                                     \
            exec_expect(c, hi, r, high, 0.0);                                                                    \
        }                                                                                                        \
    }
ROWS(f32, F32)
ROWS(f64, F64)
ROWS(f16, F16)

static void run_columns(struct exec_case *c)
{
    int64_t m = c->extent[0], n = c->extent[1], tile = 16;
    struct exec_tensor *x = exec_input(c, EXEC_F32, TWO(m, n)), *s = exec_output(c, EXEC_F32, ONE(n)),
                       *hi = exec_output(c, EXEC_F32, ONE(n));
    struct tile_f32_2 vx;
    struct tile_f32_1 vs, vh;
    EXEC_BIND(vx, x);
    EXEC_BIND(vs, s);
    EXEC_BIND(vh, hi);
    exec_called(c, reduce_columns(c->stream, &vx, &vs, &vh));
    while (tile < m)
        tile *= 4;
    for (int64_t i = 0; i < n; i++) {
        double sum = 0.0, high = tile > m ? -INFINITY : NAN;
        for (int64_t r = 0; r < m; r++) {
            sum += exec_before(x, r * n + i);
            high = most(high, exec_before(x, r * n + i));
        }
        exec_expect(c, s, i, sum, 1e-4);
        exec_expect(c, hi, i, high, 0.0);
    }
}

static void softmax_row(const struct exec_tensor *x, int64_t row, int64_t n, double *out)
{
    double high = NAN, sum = 0.0;
    for (int64_t i = 0; i < n; i++)
        high = most(high, exec_before(x, row * n + i));
    for (int64_t i = 0; i < n; i++)
        sum += out[i] = exp(exec_before(x, row * n + i) - high);
    for (int64_t i = 0; i < n; i++)
        out[i] /= sum;
}

#define SOFTMAX(type, TYPE, tolerance)                                                                              \
    static void run_softmax_##type(struct exec_case *c)                                                             \
    {                                                                                                               \
        int64_t m = c->extent[0], n = c->extent[1];                                                                 \
        struct exec_tensor *x = exec_input(c, EXEC_##TYPE, TWO(m, n)), *y = exec_output(c, EXEC_##TYPE, TWO(m, n)); \
        struct tile_##type##_2 vx, vy;                                                                              \
        double *want = malloc(sizeof *want * (size_t)(n + 1));                                                      \
        EXEC_BIND(vx, x);                                                                                           \
        EXEC_BIND(vy, y);                                                                                           \
        exec_called(c, reduce_softmax_##type(c->stream, &vx, &vy));                                                 \
        for (int64_t r = 0; r < m; r++) {                                                                           \
            softmax_row(x, r, n, want);                                                                             \
            for (int64_t i = 0; i < n; i++)                                                                         \
                exec_expect(c, y, r *n + i, want[i], tolerance);                                                    \
        }                                                                                                           \
        free(want);                                                                                                 \
    }                                                                                                               \
    /* In place: the same view twice. */                                                                            \
    static void run_in_place_##type(struct exec_case *c)                                                            \
    {                                                                                                               \
        int64_t m = c->extent[0], n = c->extent[1];                                                                 \
        struct exec_tensor *x = exec_inout(c, EXEC_##TYPE, TWO(m, n));                                              \
        struct tile_##type##_2 vx;                                                                                  \
        double *want = malloc(sizeof *want * (size_t)(n + 1));                                                      \
        EXEC_BIND(vx, x);                                                                                           \
        exec_called(c, reduce_softmax_##type(c->stream, &vx, &vx));                                                 \
        for (int64_t r = 0; r < m; r++) {                                                                           \
            softmax_row(x, r, n, want);                                                                             \
            for (int64_t i = 0; i < n; i++)                                                                         \
                exec_expect(c, x, r *n + i, want[i], tolerance);                                                    \
        }                                                                                                           \
        free(want);                                                                                                 \
    }
SOFTMAX(f32, F32, 1e-6)
SOFTMAX(f16, F16, 1e-3)
SOFTMAX(bf16, BF16, 8e-3)

static void run_places(struct exec_case *c)
{
    int64_t m = c->extent[0], n = c->extent[1];
    struct exec_tensor *x = exec_input(c, EXEC_F32, TWO(m, n)), *hi = exec_output(c, EXEC_I64, ONE(m)),
                       *lo = exec_output(c, EXEC_I64, ONE(m));
    struct tile_f32_2 vx;
    struct tile_i64_1 vh, vl;
    if (c->special)
        return; /* which place a NaN has is another question */
    EXEC_BIND(vx, x);
    EXEC_BIND(vh, hi);
    EXEC_BIND(vl, lo);
    exec_called(c, reduce_places(c->stream, &vx, &vh, &vl));
    for (int64_t r = 0; r < m; r++) {
        int64_t high = 0, low = 0;
        for (int64_t i = 1; i < n; i++) {
            high = exec_before(x, r * n + i) > exec_before(x, r * n + high) ? i : high;
            low = exec_before(x, r * n + i) < exec_before(x, r * n + low) ? i : low;
        }
        exec_expect_int(c, hi, r, high);
        exec_expect_int(c, lo, r, low);
    }
}

static void run_integers(struct exec_case *c)
{
    int64_t m = c->extent[0], n = c->extent[1];
    struct exec_tensor *x = exec_input(c, EXEC_I32, TWO(m, n)), *t[5];
    struct tile_i32_2 vx;
    struct tile_i32_1 v[5];
    EXEC_BIND(vx, x);
    for (int i = 0; i < 5; i++) {
        t[i] = exec_output(c, EXEC_I32, ONE(m));
        EXEC_BIND(v[i], t[i]);
    }
    exec_called(c, reduce_integers(c->stream, &vx, v, v + 1, v + 2, v + 3, v + 4));
    for (int64_t r = 0; r < m; r++) {
        uint32_t sum = 0, product = 1, all = 0;
        int64_t low = INT32_MAX, high = INT32_MIN;
        for (int64_t i = 0; i < n; i++) {
            int32_t value = (int32_t)exec_before_int(x, r * n + i);
            sum += (uint32_t)value;
            product *= (uint32_t)value | 1u;
            all ^= (uint32_t)value;
            low = value < low ? value : low;
            high = value > high ? value : high;
        }
        exec_expect_int(c, t[0], r, sum);
        exec_expect_int(c, t[1], r, product);
        exec_expect_int(c, t[2], r, low);
        exec_expect_int(c, t[3], r, high);
        exec_expect_int(c, t[4], r, all);
    }
}

static void run_chains(struct exec_case *c)
{
    int64_t m = c->extent[0], n = c->extent[1];
    struct exec_tensor *a = exec_input(c, EXEC_F32, TWO(m, n)), *b = exec_input(c, EXEC_F32, TWO(m, n));
    struct exec_tensor *p = exec_output(c, EXEC_F32, ONE(m)), *q = exec_output(c, EXEC_F32, ONE(m));
    struct tile_f32_2 va, vb;
    struct tile_f32_1 vp, vq;
    for (int64_t i = 0; i < m * n; i++)
        exec_set(a, i, 1.0 + exec_before(b, i) / 64.0);
    EXEC_BIND(va, a);
    EXEC_BIND(vb, b);
    EXEC_BIND(vp, p);
    EXEC_BIND(vq, q);
    exec_called(c, reduce_chains(c->stream, &va, &vb, &vp, &vq));
    for (int64_t r = 0; r < m; r++) {
        double x = 1.0, y = 0.0;
        for (int64_t i = 0; i < n; i++) {
            x *= exec_before(a, r * n + i);
            y = y * exec_before(a, r * n + i) + exec_before(b, r * n + i);
        }
        if (c->special)
            continue;
        exec_expect(c, p, r, x, 1e-4);
        exec_expect(c, q, r, y, 1e-3);
    }
}

static void run_layernorm(struct exec_case *c)
{
    int64_t m = c->extent[0], n = c->extent[1];
    struct exec_tensor *x = exec_input(c, EXEC_F32, TWO(m, n)), *w = exec_input(c, EXEC_F32, ONE(n)),
                       *b = exec_input(c, EXEC_F32, ONE(n));
    struct exec_tensor *y = exec_output(c, EXEC_F32, TWO(m, n)),
                       *mean = c->gaps ? NULL : exec_output(c, EXEC_F32, ONE(m));
    struct tile_f32_2 vx, vy;
    struct tile_f32_1 vw, vb, vm;
    EXEC_BIND(vx, x);
    EXEC_BIND(vy, y);
    EXEC_BIND(vw, w);
    EXEC_BIND(vb, b);
    if (mean)
        EXEC_BIND(vm, mean);
    exec_called(c, reduce_layernorm(c->stream, &vx, &vw, &vb, &vy, mean ? &vm : NULL, 1e-5f));
    for (int64_t r = 0; r < m; r++) {
        double sum = 0.0, squares = 0.0;
        for (int64_t i = 0; i < n; i++)
            sum += exec_before(x, r * n + i);
        sum /= (double)n;
        for (int64_t i = 0; i < n; i++)
            squares += pow(exec_before(x, r * n + i) - sum, 2.0);
        double scale = 1.0 / sqrt(squares / (double)n + 1e-5f);
        for (int64_t i = 0; i < n; i++)
            exec_expect(c, y, r * n + i,
                        (exec_before(x, r * n + i) - sum) * scale * exec_before(w, i) + exec_before(b, i), 1e-5);
        if (mean && n)
            exec_expect(c, mean, r, sum, 1e-6);
    }
}

static void run_fixed_tree(struct exec_case *c)
{
    int64_t m = c->extent[0], n = c->extent[1], tile = 64;
    struct exec_tensor *x = exec_input(c, EXEC_F32, TWO(m, n)), *s = exec_output(c, EXEC_F32, ONE(m));
    struct tile_f32_2 vx;
    struct tile_f32_1 vs;
    for (int64_t i = 0; i < m * n; i++)
        exec_set(x, i, exec_before(x, i) * (1.0 + 1e-5 * (double)(i % 101)));
    EXEC_BIND(vx, x);
    EXEC_BIND(vs, s);
    exec_called(c, reduce_fixed_tree(c->stream, &vx, &vs));
    while (tile < n)
        tile *= 4;
    float *work = malloc(sizeof *work * (size_t)tile);
    for (int64_t r = 0; r < m; r++) {
        for (int64_t i = 0; i < tile; i++)
            work[i] = i < n ? (float)exec_before(x, r * n + i) : 0.0f;
        for (int64_t left = tile; left > 1; left = (left + 1) / 2) {
            for (int64_t i = 0; i < left / 2; i++)
                work[i] = work[2 * i] + work[2 * i + 1];
            if (left % 2)
                work[left / 2] = work[left - 1];
        }
        exec_expect(c, s, r, work[0], 0.0);
    }
    free(work);
}

/* Small whole numbers: any order of adding gives the same. */
static void run_wide_sum(struct exec_case *c)
{
    int64_t m = c->extent[0], n = c->extent[1];
    struct exec_tensor *x = exec_range(c, EXEC_F32, TWO(m, n), -8, 8), *s = exec_output(c, EXEC_F32, ONE(m));
    struct tile_f32_2 vx;
    struct tile_f32_1 vs;
    EXEC_BIND(vx, x);
    EXEC_BIND(vs, s);
    exec_called(c, reduce_wide_sum(c->stream, &vx, &vs));
    for (int64_t r = 0; r < m; r++) {
        double sum = 0.0;
        for (int64_t i = 0; i < n; i++)
            sum += exec_before(x, r * n + i);
        exec_expect(c, s, r, sum, 0.0);
    }
}

static const struct exec_test tests[] = {
    {"rows_f32", run_rows_f32, 2, {5, 300}, 0},
    {"rows_f64", run_rows_f64, 2, {5, 300}, 0},
    {"rows_f16", run_rows_f16, 2, {5, 300}, 0},
    {"columns", run_columns, 2, {60, 70}, 0},
    {"softmax_f32", run_softmax_f32, 2, {9, 300}, 0},
    {"softmax_f16", run_softmax_f16, 2, {9, 300}, 0},
    {"softmax_bf16", run_softmax_bf16, 2, {9, 300}, 0},
    {"in_place_f32", run_in_place_f32, 2, {6, 200}, 0},
    {"in_place_f16", run_in_place_f16, 2, {6, 200}, 0},
    {"in_place_bf16", run_in_place_bf16, 2, {6, 200}, 0},
    {"places", run_places, 2, {5, 200}, 0},
    {"integers", run_integers, 2, {5, 200}, 0},
    {"chains", run_chains, 2, {5, 100}, 0},
    {"layernorm", run_layernorm, 2, {5, 300}, 0},
    {"fixed_tree", run_fixed_tree, 2, {3, 200}, 0},
    {"wide_sum", run_wide_sum, 2, {3, 70000}, 0},
};

int main(int count, char **arguments) { return exec_main(count, arguments, tests, sizeof tests / sizeof *tests); }
