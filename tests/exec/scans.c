#include "scans.h"
#include "exec.h"
#include <math.h>
#include <stdlib.h>

#define TWO(m, n) \
    2, (int64_t[]) { m, n }

static double least(double x, double y) { return isnan(x) ? y : isnan(y) ? x : x < y ? x : y; }
static double most(double x, double y) { return isnan(x) ? y : isnan(y) ? x : x > y ? x : y; }
static double least_or_nan(double x, double y) { return isnan(x) ? x : isnan(y) ? y : x < y ? x : y; }

/* A sum of n elements differs from the exact one by its rounding; infinities and NaN come out as they are. */
static void expect_sum(struct exec_case *c, struct exec_tensor *t, int64_t at, double sum, double all, double tolerance)
{
    exec_expect(c, t, at, sum, isfinite(all) ? tolerance * (1 + all) : tolerance);
}

#define ROWS(type, TYPE)                                                                                          \
    static void run_rows_##type(struct exec_case *c)                                                              \
    {                                                                                                             \
        int64_t m = c->extent[0], n = c->extent[1];                                                               \
        struct exec_tensor *x = exec_input(c, EXEC_##TYPE, TWO(m, n)), *s = exec_output(c, EXEC_F64, TWO(m, n));  \
        struct exec_tensor *b = exec_output(c, EXEC_F64, TWO(m, n)), *h = exec_output(c, EXEC_##TYPE, TWO(m, n)); \
        struct tile_##type##_2 vx, vh;                                                                            \
        struct tile_f64_2 vs, vb;                                                                                 \
        EXEC_BIND(vx, x);                                                                                         \
        EXEC_BIND(vs, s);                                                                                         \
        EXEC_BIND(vb, b);                                                                                         \
        EXEC_BIND(vh, h);                                                                                         \
        exec_called(c, scans_rows_##type(c->stream, &vx, &vs, &vb, &vh));                                         \
        for (int64_t r = 0; r < m; r++) {                                                                         \
            double sum = 0.0, high = NAN;                                                                         \
            for (int64_t i = 0; i < n; i++) {                                                                     \
                double v = exec_before(x, r * n + i);                                                             \
                sum += v;                                                                                         \
                high = most(high, v);                                                                             \
                exec_expect(c, s, r *n + i, sum, 1e-12);                                                          \
                exec_expect(c, h, r *n + i, high, 0.0);                                                           \
            }                                                                                                     \
            sum = 0.0;                                                                                            \
            for (int64_t i = n - 1; i >= 0; i--) {                                                                \
                exec_expect(c, b, r *n + i, sum, 1e-12);                                                          \
                sum += exec_before(x, r * n + i);                                                                 \
            }                                                                                                     \
        }                                                                                                         \
    }
ROWS(f32, F32)
ROWS(f64, F64)
ROWS(f16, F16)

static void run_blocks(struct exec_case *c)
{
    int64_t m = c->extent[0], n = c->extent[1];
    struct exec_tensor *x = exec_input(c, EXEC_F32, TWO(m, n)), *s = exec_output(c, EXEC_F32, TWO(m, n)),
                       *lo = exec_output(c, EXEC_F32, TWO(m, n));
    struct tile_f32_2 vx, vs, vl;
    EXEC_BIND(vx, x);
    EXEC_BIND(vs, s);
    EXEC_BIND(vl, lo);
    exec_called(c, scans_blocks(c->stream, &vx, &vs, &vl));
    for (int64_t r = 0; r < m; r++) {
        double sum = 0.0, all = 0.0, low = INFINITY;
        for (int64_t i = 0; i < n; i++) {
            double v = exec_before(x, r * n + i);
            sum += v;
            all += fabs(v);
            low = least_or_nan(low, v);
            expect_sum(c, s, r * n + i, sum, all, 1e-6);
            exec_expect(c, lo, r * n + i, low, 0.0);
        }
    }
}

static void run_columns(struct exec_case *c)
{
    int64_t m = c->extent[0], n = c->extent[1];
    struct exec_tensor *x = exec_input(c, EXEC_F32, TWO(m, n)), *s = exec_output(c, EXEC_F32, TWO(m, n)),
                       *up = exec_output(c, EXEC_F32, TWO(m, n));
    struct tile_f32_2 vx, vs, vu;
    int64_t tile = 16;
    EXEC_BIND(vx, x);
    EXEC_BIND(vs, s);
    EXEC_BIND(vu, up);
    exec_called(c, scans_columns(c->stream, &vx, &vs, &vu));
    while (tile < m)
        tile *= 4;
    for (int64_t i = 0; i < n; i++) {
        double sum = 0.0, all = 0.0, high = tile > m ? -INFINITY : NAN;
        for (int64_t r = 0; r < m; r++) {
            double v = exec_before(x, r * n + i);
            expect_sum(c, s, r * n + i, sum, all, 1e-6);
            sum += v;
            all += fabs(v);
        }
        for (int64_t r = m - 1; r >= 0; r--) { /* rows outside the view are scanned, too */
            high = most(high, exec_before(x, r * n + i));
            exec_expect(c, up, r * n + i, high, 0.0);
        }
    }
}

static void run_integers(struct exec_case *c)
{
    int64_t m = c->extent[0], n = c->extent[1];
    struct exec_tensor *x = exec_input(c, EXEC_I32, TWO(m, n)), *s = exec_output(c, EXEC_I32, TWO(m, n)),
                       *p = exec_output(c, EXEC_I32, TWO(m, n)), *a = exec_output(c, EXEC_I32, TWO(m, n));
    struct tile_i32_2 vx, vs, vp, va;
    EXEC_BIND(vx, x);
    EXEC_BIND(vs, s);
    EXEC_BIND(vp, p);
    EXEC_BIND(va, a);
    exec_called(c, scans_integers(c->stream, &vx, &vs, &vp, &va));
    for (int64_t r = 0; r < m; r++) {
        uint32_t sum = 0, product = 1;
        int32_t low = INT32_MAX;
        for (int64_t i = 0; i < n; i++) {
            int32_t v = (int32_t)exec_before_int(x, r * n + i);
            exec_expect_int(c, p, r * n + i, (int32_t)product);
            exec_expect_int(c, a, r * n + i, low);
            product *= (uint32_t)v | 1;
            low = v < low ? v : low;
        }
        for (int64_t i = n - 1; i >= 0; i--) {
            sum += (uint32_t)exec_before_int(x, r * n + i);
            exec_expect_int(c, s, r * n + i, (int32_t)sum);
        }
    }
}

/* Whole numbers from -most to most, of floats. */
static struct exec_tensor *small(struct exec_case *c, int rank, const int64_t *extent, int most)
{
    struct exec_tensor *t = exec_input(c, EXEC_F32, rank, extent);
    uint64_t random = c->random + (uint64_t)most;
    for (int64_t i = 0; i < t->elements; i++) {
        random = random * UINT64_C(6364136223846793005) + 1442695040888963407;
        exec_set(t, i, (double)((int)(random >> 40) % (2 * most + 1) - most));
    }
    return t;
}

/* Factors of 1, -1 and 0: any order gives the same but for the rounding of sums. */
static void run_chains(struct exec_case *c)
{
    int64_t m = c->extent[0], n = c->extent[1];
    struct exec_tensor *a = small(c, TWO(m, n), 1), *b = small(c, TWO(m, n), 8),
                       *h = exec_output(c, EXEC_F32, TWO(m, n)), *g = exec_output(c, EXEC_F32, TWO(m, n));
    struct tile_f32_2 va, vb, vh, vg;
    EXEC_BIND(va, a);
    EXEC_BIND(vb, b);
    EXEC_BIND(vh, h);
    EXEC_BIND(vg, g);
    exec_called(c, scans_chains(c->stream, &va, &vb, &vh, &vg));
    for (int64_t r = 0; r < m; r++) {
        double x = 0.0;
        for (int64_t i = 0; i < n; i++) {
            x = exec_before(a, r * n + i) * x + exec_before(b, r * n + i);
            exec_expect(c, h, r * n + i, x, 0.0);
        }
        x = 1.0; /* the maps behind, the last first, of 1 */
        for (int64_t i = n - 1; i >= 0; i--) {
            exec_expect(c, g, r * n + i, x, 0.0);
            x = exec_before(a, r * n + i) * x + exec_before(b, r * n + i);
        }
    }
}

static void run_middle(struct exec_case *c)
{
    int64_t count = c->extent[0];
    int64_t extent[3] = {count, 20, 12};
    struct exec_tensor *x = small(c, 3, extent, 50), *s = exec_output(c, EXEC_F32, 3, extent);
    struct tile_f32_3 vx, vs;
    EXEC_BIND(vx, x);
    EXEC_BIND(vs, s);
    exec_called(c, scans_middle(c->stream, &vx, &vs));
    for (int64_t i = 0; i < count; i++)
        for (int64_t k = 0; k < 12; k++) {
            double sum = 0.0;
            for (int64_t j = 19; j >= 0; j--) {
                sum += exec_before(x, (i * 20 + j) * 12 + k);
                exec_expect(c, s, (i * 20 + j) * 12 + k, sum, 0.0);
            }
        }
}

static const struct exec_test tests[] = {
    {"rows_f32", run_rows_f32, 2, {5, 300}, 0}, {"rows_f64", run_rows_f64, 2, {5, 300}, 0},
    {"rows_f16", run_rows_f16, 2, {5, 300}, 0}, {"blocks", run_blocks, 2, {9, 300}, 0},
    {"columns", run_columns, 2, {60, 70}, 0},   {"integers", run_integers, 2, {5, 200}, 0},
    {"chains", run_chains, 2, {5, 100}, 0},     {"middle", run_middle, 1, {5}, 0},
};

int main(int count, char **arguments) { return exec_main(count, arguments, tests, sizeof tests / sizeof *tests); }
