/* tests/exec/packed.tile: rows without their mean, by code that the driver unpacks. */
#include "exec.h"
#include "packed.h"

#include <math.h>

static void expect_rows(struct exec_case *c, const struct exec_tensor *x, const struct exec_tensor *y, double tolerance)
{
    int64_t m = c->extent[0], n = c->extent[1];
    for (int64_t row = 0; row < m; row++) {
        double sum = 0, size = 0;
        for (int64_t i = 0; i < n; i++) {
            sum += exec_before(x, row * n + i);
            size += fabs(exec_before(x, row * n + i));
        }
        for (int64_t i = 0; i < n; i++)
            exec_expect(c, y, row * n + i, exec_before(x, row * n + i) - sum / (double)n,
                        tolerance * (size + fabs(sum)));
    }
}

#define CENTER(type, TYPE, tolerance)                                                                             \
    static void run_##type(struct exec_case *c)                                                                   \
    {                                                                                                             \
        int64_t shape[2] = {c->extent[0], c->extent[1]};                                                          \
        struct exec_tensor *x = exec_input(c, EXEC_##TYPE, 2, shape), *y = exec_output(c, EXEC_##TYPE, 2, shape); \
        struct tile_##type##_2 vx, vy;                                                                            \
        EXEC_BIND(vx, x);                                                                                         \
        EXEC_BIND(vy, y);                                                                                         \
        exec_called(c, packed_center_##type(c->stream, &vx, &vy));                                                \
        expect_rows(c, x, y, tolerance);                                                                          \
    }
CENTER(f32, F32, 1e-6)
CENTER(f64, F64, 1e-14)

static const struct exec_test tests[] = {
    {"center_f32 in a small tile", run_f32, 2, {5, 61}, 0},
    {"center_f32", run_f32, 2, {7, 900}, 0},
    {"center_f64", run_f64, 2, {3, 333}, 0},
};

int main(int count, char **arguments) { return exec_main(count, arguments, tests, sizeof tests / sizeof *tests); }
