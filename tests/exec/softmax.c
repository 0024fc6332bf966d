/* examples/softmax.tile, also in place. */
#include "softmax.h"
#include "exec.h"
#include <math.h>

/* One row of the reference: what NaN and infinities give follows from the formula, whose maximum skips NaN. */
static void expect_row(struct exec_case *c, const struct exec_tensor *x, const struct exec_tensor *y, int64_t row,
                       int64_t n, double tolerance)
{
    double most = -INFINITY, sum = 0.0;
    for (int64_t i = 0; i < n; i++)
        most = fmax(most, exec_before(x, row * n + i));
    for (int64_t i = 0; i < n; i++)
        sum += exp(exec_before(x, row * n + i) - most);
    for (int64_t i = 0; i < n; i++)
        exec_expect(c, y, row * n + i, exp(exec_before(x, row * n + i) - most) / sum, tolerance);
}

#define SOFTMAX(type, TYPE, tolerance)                                                                            \
    static void run_##type(struct exec_case *c)                                                                   \
    {                                                                                                             \
        int64_t shape[2] = {c->extent[0], c->extent[1]};                                                          \
        struct exec_tensor *x = exec_input(c, EXEC_##TYPE, 2, shape), *y = exec_output(c, EXEC_##TYPE, 2, shape), \
                           *z = exec_inout(c, EXEC_##TYPE, 2, shape);                                             \
        struct tile_##type##_2 vx, vy, vz;                                                                        \
        EXEC_BIND(vx, x);                                                                                         \
        EXEC_BIND(vy, y);                                                                                         \
        EXEC_BIND(vz, z);                                                                                         \
        int status = softmax_##type(c->stream, &vx, &vy);                                                         \
        exec_called(c, status ? status : softmax_##type(c->stream, &vz, &vz));                                    \
        for (int64_t row = 0; row < shape[0]; row++) {                                                            \
            expect_row(c, x, y, row, shape[1], tolerance);                                                        \
            expect_row(c, z, z, row, shape[1], tolerance);                                                        \
        }                                                                                                         \
    }
SOFTMAX(f32, F32, 1e-6)
SOFTMAX(f16, F16, 1e-3)

static const struct exec_test tests[] = {
    {"softmax_f32", run_f32, 2, {7, 300}, 0},
    {"softmax_f16", run_f16, 2, {7, 300}, 0},
    {"softmax_f32 of one tile", run_f32, 2, {3, 256}, 1},
};

int main(int count, char **arguments) { return exec_main(count, arguments, tests, sizeof tests / sizeof *tests); }
