#include "exec.h"
#include "functions.h"
#include <math.h>

static double with_log(double x) { return log(fabs(x)); }
static double with_log2(double x) { return log2(fabs(x)); }
static double rsqrt_of(double x) { return 1.0 / sqrt(x); }
static double rcp_of(double x) { return 1.0 / x; }
static double sigmoid_of(double x) { return 1.0 / (1.0 + exp(-x)); }

#define FOUR(test, type, TYPE, f0, f1, f2, f3)                                                           \
    static void run_##test##_##type(struct exec_case *c)                                                 \
    {                                                                                                    \
        double (*const functions[4])(double) = {f0, f1, f2, f3};                                         \
        int64_t n = c->extent[0];                                                                        \
        struct exec_tensor *t[5];                                                                        \
        struct tile_##type##_1 v[5];                                                                     \
        for (int i = 0; i < 5; i++) {                                                                    \
            t[i] = i < 1 ? exec_input(c, EXEC_##TYPE, 1, &n) : exec_output(c, EXEC_##TYPE, 1, &n);       \
            EXEC_BIND(v[i], t[i]);                                                                       \
        }                                                                                                \
        exec_called(c, functions_##test##_##type(c->stream, v, v + 1, v + 2, v + 3, v + 4));             \
        for (int64_t i = 0; i < n; i++)                                                                  \
            for (int k = 0; k < 4; k++)                                                                  \
                exec_expect(c, t[k + 1], i, exec_round(EXEC_##TYPE, functions[k](exec_before(t[0], i))), \
                            3.0 * exec_epsilon(EXEC_##TYPE));                                            \
    }
FOUR(powers, f32, F32, exp, exp2, with_log, with_log2)
FOUR(powers, f64, F64, exp, exp2, with_log, with_log2)
FOUR(powers, f16, F16, exp, exp2, with_log, with_log2)
FOUR(powers, bf16, BF16, exp, exp2, with_log, with_log2)
FOUR(circles, f32, F32, sin, cos, tanh, erf)
FOUR(circles, f64, F64, sin, cos, tanh, erf)
FOUR(roots, f32, F32, sqrt, rsqrt_of, rcp_of, sigmoid_of)
FOUR(roots, f64, F64, sqrt, rsqrt_of, rcp_of, sigmoid_of)
FOUR(roots, f16, F16, sqrt, rsqrt_of, rcp_of, sigmoid_of)

static const struct exec_test tests[] = {
    {"powers_f32", run_powers_f32, 1, {256}, 0},   {"powers_f64", run_powers_f64, 1, {256}, 0},
    {"powers_f16", run_powers_f16, 1, {256}, 0},   {"powers_bf16", run_powers_bf16, 1, {256}, 0},
    {"circles_f32", run_circles_f32, 1, {256}, 0}, {"circles_f64", run_circles_f64, 1, {256}, 0},
    {"roots_f32", run_roots_f32, 1, {256}, 0},     {"roots_f64", run_roots_f64, 1, {256}, 0},
    {"roots_f16", run_roots_f16, 1, {256}, 0},
};

int main(int count, char **arguments) { return exec_main(count, arguments, tests, sizeof tests / sizeof *tests); }
