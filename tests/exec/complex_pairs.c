#include "exec.h"
#include "complex_pairs.h"
#include <complex.h>
#include <float.h>
#include <math.h>
#include <string.h>

#define ONE(n) \
    1, (int64_t[]) { n }
#define ROWS(k, n) \
    2, (int64_t[]) { k, n }

static double complex made(double re, double im)
{
    double complex z;
    double both[2] = {re, im};
    memcpy(&z, both, sizeof z);
    return z;
}

static int is_near(double got, double want, double bound)
{
    return isnan(want) ? isnan(got) : fabs(got - want) <= bound;
}

/* Near by what stands in the way of it: at most `units` of the last place of `size`. */
static void expect(struct exec_case *c, enum exec_type type, struct exec_tensor *const *pair, int64_t at,
                   double complex want, double size, double units)
{
    static const double most[] = {
        [EXEC_F16] = 65504.0, [EXEC_BF16] = 0x1p127, [EXEC_F32] = 0x1p127, [EXEC_F64] = DBL_MAX};
    static const double least[] = {
        [EXEC_F16] = 0x1p-24, [EXEC_BF16] = 0x1p-133, [EXEC_F32] = 0x1p-149, [EXEC_F64] = 0x1p-1074};
    double re = exec_value(pair[0], at), im = exec_value(pair[1], at);
    double bound = units * (exec_epsilon(type) * size + least[type]);
    if (!(size < most[type] / 8)) /* an overflow on the way is allowed, and so is one of a NaN */
        return;
    if (!is_near(re, creal(want), bound) || !is_near(im, cimag(want), bound))
        exec_fail(c, "element %lld: %.17g + %.17gi, not %.17g + %.17gi", (long long)at, re, im, creal(want),
                  cimag(want));
}

/* Sizes far apart, so that the square of one would overflow or vanish. */
static void spread(struct exec_tensor *const *pair, int64_t n, int reach)
{
    for (int64_t i = 0; i < n; i++)
        for (int k = 0; k < 2; k++)
            exec_set(pair[k], i, ldexp(exec_before(pair[k], i), (int)(i * 37 % (2 * reach + 1)) - reach));
}

static double complex number(struct exec_tensor *const *pair, int64_t i)
{
    return made(exec_before(pair[0], i), exec_before(pair[1], i));
}

/* The quotient in long double: f64's own would overflow where ours does not. */
static double complex quotient(double complex x, double complex y)
{
    long double complex z = (long double complex)x / (long double complex)y;
    return made((double)creall(z), (double)cimagl(z));
}

#define PAIRS(type, TYPE, reach)                                                                             \
    static void run_pairs_##type(struct exec_case *c)                                                        \
    {                                                                                                        \
        int64_t n = c->extent[0];                                                                            \
        struct exec_tensor *t[6];                                                                            \
        struct tile_##type##_1 v[4];                                                                         \
        struct tile_##type##_2 w[2];                                                                         \
        for (int k = 0; k < 4; k++)                                                                          \
            t[k] = exec_input(c, EXEC_##TYPE, ONE(n));                                                       \
        spread(t, n, (reach) / 4);                                                                           \
        spread(t + 2, n, reach);                                                                             \
        for (int k = 0; k < 4; k++)                                                                          \
            EXEC_BIND(v[k], t[k]);                                                                           \
        for (int k = 0; k < 2; k++) {                                                                        \
            t[4 + k] = exec_output(c, EXEC_##TYPE, ROWS(5, n));                                              \
            EXEC_BIND(w[k], t[4 + k]);                                                                       \
        }                                                                                                    \
        exec_called(c, complex_pairs_pairs_##type(c->stream, v, v + 1, v + 2, v + 3, w, w + 1));             \
        for (int64_t i = 0; i < n; i++) {                                                                    \
            double complex x = number(t, i), y = number(t + 2, i);                                           \
            expect(c, EXEC_##TYPE, t + 4, i, x + y, cabs(x) + cabs(y), 1);                                   \
            expect(c, EXEC_##TYPE, t + 4, n + i, x - y, cabs(x) + cabs(y), 1);                               \
            expect(c, EXEC_##TYPE, t + 4, 2 * n + i, x * y, cabs(x) * cabs(y), 3);                           \
            if (cabs(y) > 0)                                                                                 \
                expect(c, EXEC_##TYPE, t + 4, 3 * n + i, quotient(x, y), cabs(quotient(x, y)) + cabs(x), 8); \
            expect(c, EXEC_##TYPE, t + 4, 4 * n + i, conj(x), cabs(x), 0);                                   \
        }                                                                                                    \
    }
PAIRS(f16, F16, 8)
PAIRS(bf16, BF16, 100)
PAIRS(f32, F32, 100)
PAIRS(f64, F64, 900)

#define CURVES(type, TYPE, reach)                                                                         \
    static void run_curves_##type(struct exec_case *c)                                                    \
    {                                                                                                     \
        int64_t n = c->extent[0];                                                                         \
        struct exec_tensor *t[6];                                                                         \
        struct tile_##type##_1 v[4];                                                                      \
        struct tile_##type##_2 w[2];                                                                      \
        for (int k = 0; k < 2; k++)                                                                       \
            t[k] = exec_input(c, EXEC_##TYPE, ONE(n));                                                    \
        for (int64_t i = 0; i < n; i += 3) /* where e^a alone overflows, and nearly so */                 \
            exec_set(t[0], i, exec_before(t[0], i) + (i % 2 ? -(reach) : (reach)));                       \
        for (int64_t i = 1; i < n; i += 3)                                                                \
            exec_set(t[1], i, ldexp(exec_before(t[1], i), (int)(i % (reach)) - (reach) / 2));             \
        for (int k = 0; k < 2; k++)                                                                       \
            EXEC_BIND(v[k], t[k]);                                                                        \
        for (int k = 2; k < 6; k++)                                                                       \
            t[k] = k < 4 ? exec_output(c, EXEC_##TYPE, ROWS(2, n)) : exec_output(c, EXEC_##TYPE, ONE(n)); \
        for (int k = 0; k < 2; k++) {                                                                     \
            EXEC_BIND(w[k], t[2 + k]);                                                                    \
            EXEC_BIND(v[2 + k], t[4 + k]);                                                                \
        }                                                                                                 \
        exec_called(c, complex_pairs_curves_##type(c->stream, v, v + 1, w, w + 1, v + 2, v + 3));         \
        for (int64_t i = 0; i < n; i++) {                                                                 \
            double complex x = number(t, i), e = cexp(x);                                                 \
            double r = creal(x), a = cimag(x);                                                            \
            expect(c, EXEC_##TYPE, t + 2, i, e, cabs(e), 8);                                              \
            expect(c, EXEC_##TYPE, t + 2, n + i, made(r * cos(a), r * sin(a)), fabs(r), 4);               \
            exec_expect(c, t[4], i, exec_round(EXEC_##TYPE, cabs(x)), 4 * exec_epsilon(EXEC_##TYPE));     \
            exec_expect(c, t[5], i, exec_round(EXEC_##TYPE, carg(x)), 4 * exec_epsilon(EXEC_##TYPE));     \
        }                                                                                                 \
    }
CURVES(f32, F32, 86)
CURVES(f64, F64, 706)

static const struct exec_test tests[] = {
    {"pairs_f16", run_pairs_f16, 1, {600}, 0},   {"pairs_bf16", run_pairs_bf16, 1, {600}, 0},
    {"pairs_f32", run_pairs_f32, 1, {600}, 0},   {"pairs_f64", run_pairs_f64, 1, {600}, 0},
    {"curves_f32", run_curves_f32, 1, {600}, 0}, {"curves_f64", run_curves_f64, 1, {600}, 0},
};

int main(int count, char **arguments) { return exec_main(count, arguments, tests, sizeof tests / sizeof *tests); }
