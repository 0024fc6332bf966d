/* examples/matmul.tile: rows or columns dense, with bias and without, each function of the epilogue. */
#include "matmul.h"
#include "exec.h"
#include <math.h>

static double activated(int f, double x)
{
    switch (f) {
    case TILE_ACT_RELU: return x > 0.0 ? x : 0.0;
    case TILE_ACT_GELU: return 0.5 * x * (1.0 + erf(x * 0.7071067811865476));
    case TILE_ACT_SILU: return x / (1.0 + exp(-x));
    default: return x;
    }
}

#define MATMUL(type, TYPE, tolerance)                                                                 \
    static void run_##type(struct exec_case *c, int f)                                                \
    {                                                                                                 \
        int64_t m = c->extent[0], n = c->extent[1], k = c->extent[2];                                 \
        struct exec_tensor *a = exec_strided(c, EXEC_##TYPE, 2, (int64_t[]){m, k}, 0);                \
        c->columns_first = !c->columns_first;                                                         \
        struct exec_tensor *b = exec_strided(c, EXEC_##TYPE, 2, (int64_t[]){k, n}, 0),                \
                           *bias = exec_input(c, EXEC_F32, 1, &n),                                    \
                           *r = exec_output(c, EXEC_##TYPE, 2, (int64_t[]){m, n});                    \
        struct tile_##type##_2 va, vb, vr;                                                            \
        struct tile_f32_1 vbias;                                                                      \
        f = c->special ? TILE_ACT_NONE : f;                                                           \
        EXEC_BIND(va, a);                                                                             \
        EXEC_BIND(vb, b);                                                                             \
        EXEC_BIND(vbias, bias);                                                                       \
        EXEC_BIND(vr, r);                                                                             \
        exec_called(c, matmul_##type##_##type(c->stream, &va, &vb, c->gaps ? NULL : &vbias, &vr, f)); \
        for (int64_t i = 0; i < m; i++)                                                               \
            for (int64_t j = 0; j < n; j++) {                                                         \
                double sum = exec_dot(a, i * k, 1, b, j, n, k);                                       \
                sum += c->gaps ? 0.0 : exec_before(bias, j);                                          \
                exec_expect(c, r, i *n + j, activated(f, sum), tolerance);                            \
            }                                                                                         \
    }
MATMUL(f16, F16, 2e-3)
MATMUL(f32, F32, 1e-4)

static void f16_none(struct exec_case *c) { run_f16(c, TILE_ACT_NONE); }
static void f16_relu(struct exec_case *c) { run_f16(c, TILE_ACT_RELU); }
static void f32_gelu(struct exec_case *c) { run_f32(c, TILE_ACT_GELU); }
static void f32_silu(struct exec_case *c) { run_f32(c, TILE_ACT_SILU); }

static const struct exec_test tests[] = {
    {"matmul_f16", f16_none, 3, {70, 50, 90}, 0},
    {"matmul_f16 relu", f16_relu, 3, {129, 20, 33}, 0},
    {"matmul_f32 gelu", f32_gelu, 3, {30, 70, 20}, 0},
    {"matmul_f32 silu", f32_silu, 3, {9, 130, 40}, 0},
};

int main(int count, char **arguments) { return exec_main(count, arguments, tests, sizeof tests / sizeof *tests); }
