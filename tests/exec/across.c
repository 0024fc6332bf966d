#include "across.h"
#include "exec.h"
#include <math.h>

#define ONE(n) \
    1, (int64_t[]) { n }
#define TWO(m, n) \
    2, (int64_t[]) { m, n }

static double larger(double a, double b) { return isnan(a) ? b : isnan(b) ? a : a > b ? a : b; }

static void run_sums(struct exec_case *c)
{
    int64_t n = c->extent[0];
    struct exec_tensor *x = exec_input(c, EXEC_F32, ONE(n)), *y = exec_output(c, EXEC_F32, ONE(n));
    struct tile_f32_1 vx, vy;
    double sum = 0.0, all = 0.0;
    EXEC_BIND(vx, x);
    EXEC_BIND(vy, y);
    exec_called(c, across_sums(c->stream, &vx, &vy));
    for (int64_t i = 0; i < n; i++) {
        double v = exec_before(x, i);
        sum += v;
        all += fabs(v);
        exec_expect(c, y, i, sum, isfinite(all) ? 2e-6 * (1 + all) : 2e-6);
    }
}

static void run_counts(struct exec_case *c)
{
    int64_t n = c->extent[0];
    struct exec_tensor *x = exec_range(c, EXEC_I32, ONE(n), -100, 100), *y = exec_output(c, EXEC_I32, ONE(n));
    struct tile_i32_1 vx, vy;
    int64_t sum = 0;
    EXEC_BIND(vx, x);
    EXEC_BIND(vy, y);
    exec_called(c, across_counts(c->stream, &vx, &vy));
    for (int64_t i = 0; i < n; i++) {
        sum += exec_before_int(x, i);
        exec_expect_int(c, y, i, sum);
    }
}

#define PEAKS(type, TYPE)                                                                                     \
    static void run_peaks_##type(struct exec_case *c)                                                         \
    {                                                                                                         \
        int64_t n = c->extent[0];                                                                             \
        struct exec_tensor *x = exec_input(c, EXEC_##TYPE, ONE(n)), *y = exec_output(c, EXEC_##TYPE, ONE(n)); \
        struct tile_##type##_1 vx, vy;                                                                        \
        double high = -INFINITY;                                                                              \
        EXEC_BIND(vx, x);                                                                                     \
        EXEC_BIND(vy, y);                                                                                     \
        exec_called(c, across_peaks_##type(c->stream, &vx, &vy));                                             \
        for (int64_t i = 0; i < n; i++) {                                                                     \
            high = larger(high, exec_before(x, i));                                                           \
            exec_expect(c, y, i, high, 0.0);                                                                  \
        }                                                                                                     \
    }
PEAKS(f32, F32)
PEAKS(f16, F16)
PEAKS(bf16, BF16)

static void run_peaks_i32(struct exec_case *c)
{
    int64_t n = c->extent[0], high = INT32_MIN;
    struct exec_tensor *x = exec_range(c, EXEC_I32, ONE(n), -1000000, 1000000), *y = exec_output(c, EXEC_I32, ONE(n));
    struct tile_i32_1 vx, vy;
    EXEC_BIND(vx, x);
    EXEC_BIND(vy, y);
    exec_called(c, across_peaks_i32(c->stream, &vx, &vy));
    for (int64_t i = 0; i < n; i++) {
        high = exec_before_int(x, i) > high ? exec_before_int(x, i) : high;
        exec_expect_int(c, y, i, high);
    }
}

static void run_wide(struct exec_case *c)
{
    int64_t n = c->extent[0];
    struct exec_tensor *x = exec_input(c, EXEC_F32, ONE(n)), *y = exec_output(c, EXEC_F64, ONE(n));
    struct tile_f32_1 vx;
    struct tile_f64_1 vy;
    double sum = 0.0, all = 0.0;
    EXEC_BIND(vx, x);
    EXEC_BIND(vy, y);
    exec_called(c, across_wide(c->stream, &vx, &vy));
    for (int64_t i = 0; i < n; i++) {
        sum += exec_before(x, i);
        all += fabs(exec_before(x, i));
        exec_expect(c, y, i, sum, isfinite(all) ? 1e-12 * (1 + all) : 1e-12);
    }
}

/* Factors of -1, 0, 1 and small whole numbers: every product and sum is exact. */
static void run_decay(struct exec_case *c)
{
    int64_t n = c->extent[0];
    double h = 0.0;
    struct exec_tensor *a = exec_input(c, EXEC_F32, ONE(n)), *x = exec_input(c, EXEC_F32, ONE(n)),
                       *y = exec_output(c, EXEC_F32, ONE(n));
    for (int64_t i = 0; i < n; i++) {
        exec_set(a, i, i % 97 == 5 ? 0.0 : i % 3 ? 1.0 : -1.0);
        exec_set(x, i, (double)(i * 7 % 23 - 9));
    }
    struct tile_f32_1 va, vx, vy;
    EXEC_BIND(va, a);
    EXEC_BIND(vx, x);
    EXEC_BIND(vy, y);
    exec_called(c, across_decay(c->stream, &va, &vx, &vy));
    for (int64_t i = 0; i < n; i++) {
        h = exec_before(a, i) * h + exec_before(x, i);
        exec_expect(c, y, i, h, 0.0);
    }
}

static void run_rows(struct exec_case *c)
{
    int64_t m = c->extent[0], n = c->extent[1];
    struct exec_tensor *x = exec_range(c, EXEC_U16, TWO(m, n), 0, 60000), *y = exec_output(c, EXEC_U16, TWO(m, n));
    struct tile_u16_2 vx, vy;
    EXEC_BIND(vx, x);
    EXEC_BIND(vy, y);
    exec_called(c, across_rows(c->stream, &vx, &vy));
    for (int64_t r = 0; r < m; r++) {
        uint16_t sum = 0;
        for (int64_t i = 0; i < n; i++) {
            sum = (uint16_t)(sum + exec_before_int(x, r * n + i));
            exec_expect_int(c, y, r * n + i, sum);
        }
    }
}

static void run_filled(struct exec_case *c)
{
    int64_t n = c->extent[0];
    struct exec_tensor *ok = exec_inout(c, EXEC_I32, ONE(8));
    struct tile_i32_1 v;
    int status = 0;
    for (int i = 0; i < 8; i++)
        exec_set_int(ok, i, 0);
    EXEC_BIND(v, ok);
    for (int round = 0; round < 3 && status == 0; round++)
        status = across_filled(c->stream, &v, n);
    exec_called(c, status);
    for (int i = 0; i < 8; i++)
        exec_expect_int(c, ok, i, 3 * n);
}

static const struct exec_test tests[] = {
    {"sums", run_sums, 1, {100000}, 0},
    {"counts", run_counts, 1, {40000}, 0},
    {"peaks_f32", run_peaks_f32, 1, {5000}, 0},
    {"peaks_f16", run_peaks_f16, 1, {5000}, 0},
    {"peaks_bf16", run_peaks_bf16, 1, {5000}, 0},
    {"peaks_i32", run_peaks_i32, 1, {5000}, 0},
    {"wide", run_wide, 1, {30000}, 0},
    {"decay", run_decay, 1, {20000}, 0},
    {"rows", run_rows, 2, {7, 1000}, 0},
    {"filled", run_filled, 1, {300}, 0},
};

int main(int count, char **arguments) { return exec_main(count, arguments, tests, sizeof tests / sizeof *tests); }
