/* Errors of src/std/math.tile, in units in the last place, against libm in long double, over dense and special
 * arguments.  The functions run in the interpreter, so the test needs no code generator. */
#include "front/front.h"
#include "interp/interp.h"
#include "ir/verify/verify.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

struct subject {
    const char *name;
    enum ir_math function;
    long double (*exact)(long double x);
    double low, high;     /* where errors are measured */
    double single, twice; /* largest errors allowed in f32 and f64, in ulp */
};

static long double sigmoid(long double x) { return 1.0L / (1.0L + expl(-x)); }

static const struct subject subjects[] = {
    {"exp", IR_MATH_EXP, expl, -104, 88.7, 1.0, 1.0},         {"exp2", IR_MATH_EXP2, exp2l, -150, 127.9, 1.0, 1.0},
    {"expm1", IR_MATH_EXPM1, expm1l, -20, 88.7, 1.0, 1.1},    {"log", IR_MATH_LOG, logl, 1e-44, 3e38, 1.0, 1.0},
    {"log2", IR_MATH_LOG2, log2l, 1e-44, 3e38, 1.0, 1.0},     {"log1p", IR_MATH_LOG1P, log1pl, -0.9999, 1e30, 1.4, 1.3},
    {"sin", IR_MATH_SIN, sinl, -3e38, 3e38, 1.0, 1.0},        {"cos", IR_MATH_COS, cosl, -3e38, 3e38, 1.0, 1.0},
    {"tan", IR_MATH_TAN, tanl, -3e38, 3e38, 1.5, 1.2},        {"tanh", IR_MATH_TANH, tanhl, -12, 12, 1.4, 1.0},
    {"sinh", IR_MATH_SINH, sinhl, -89, 89, 1.0, 1.0},         {"cosh", IR_MATH_COSH, coshl, -89, 89, 1.0, 1.0},
    {"sigmoid", IR_MATH_SIGMOID, sigmoid, -80, 80, 2.0, 2.0}, {"erf", IR_MATH_ERF, erfl, -5, 5, 1.0, 1.0},
    {"atan", IR_MATH_ATAN, atanl, -1e6, 1e6, 1.5, 1.0},       {"asin", IR_MATH_ASIN, asinl, -1, 1, 1.2, 1.3},
    {"acos", IR_MATH_ACOS, acosl, -1, 1, 1.2, 1.2},
};

struct session {
    struct front_options options;
    struct ir_module *module;
    int failures;
};

static const char *no_target(int target)
{
    (void)target;
    return "cpu";
}

static double run(const struct ir_function *function, enum ir_element element, int count, const double *x)
{
    struct interp_argument arguments[2] = {{0}};
    struct interp_options options = {0};
    struct interp_problem problem;
    uint64_t result;
    uint64_t *results[1] = {&result};
    for (int i = 0; i < count; i++)
        arguments[i].bits = ir_double_to_bits(element, x[i]);
    if (!interp_run(function, count, arguments, &options, results, &problem)) {
        fprintf(stderr, "%s: %s\n", function->name, problem.text);
        exit(1);
    }
    return ir_bits_to_double(element, result);
}

/* Distance between two neighbours of the element at |y|. */
static long double unit(enum ir_element element, long double y)
{
    int digits = element == IR_F32 ? 24 : 53, least = element == IR_F32 ? -149 : -1074, exponent;
    if (y == 0)
        return ldexpl(1, least);
    frexpl(y, &exponent);
    return ldexpl(1, exponent - digits < least ? least : exponent - digits);
}

static double as_element(enum ir_element element, double x) { return element == IR_F32 ? (double)(float)x : x; }

/* The argument number i of n: linear over the range and, for every other one, over its powers of two. */
static double sample(const struct subject *s, int i, int n)
{
    double t = ((double)(i / 2) + 0.37) / (n / 2 + 1);
    if (i % 2 == 0)
        return s->low + (s->high - s->low) * t;
    double size = exp2(-60 + t * (60 + log2(fabs(s->high))));
    return (i % 4 == 1 || s->low >= 0) ? fmin(size, s->high) : fmax(-size, s->low);
}

static void measure(struct session *session, const struct subject *s, enum ir_element element)
{
    enum { SAMPLES = 4000 };
    double limit = element == IR_F32 ? s->single : s->twice, worst = 0, at = 0;
    const struct ir_function *function = front_math_function(&session->options, session->module, s->function, element);
    if (!function) {
        fprintf(stderr, "%s: missing\n", s->name);
        session->failures++;
        return;
    }
    for (int i = 0; i < SAMPLES; i++) {
        double x = as_element(element, sample(s, i, SAMPLES));
        if (x < s->low || x > s->high)
            continue;
        long double exact = s->exact(x);
        if (element == IR_F32 && fabsl(exact) > 3.4028234e38L)
            continue;
        double error = (double)(fabsl((long double)run(function, element, 1, &x) - exact) / unit(element, exact));
        if (!(error <= worst)) {
            worst = error;
            at = x;
        }
    }
    if (getenv("VERBOSE"))
        printf("%-8s %s %.3f at %.9g\n", s->name, ir_element_info[element].text, worst, at);
    if (worst <= limit)
        return;
    printf("%s of %s: %.3f ulp at %.17g, allowed %.2f\n", s->name, ir_element_info[element].text, worst, at, limit);
    session->failures++;
}

/* Infinities, NaN, zeros with their sign, and arguments outside the domain: as C says. */
static void check_special(struct session *session, const struct subject *s, enum ir_element element)
{
    static const double values[] = {0.0,  -0.0,  INFINITY, -INFINITY, NAN,   -1.0,   1.0,   1e-40, -1e-40,
                                    1e30, -1e30, 2.0,      -2.0,      200.0, -200.0, 800.0, -800.0};
    const struct ir_function *function = front_math_function(&session->options, session->module, s->function, element);
    for (size_t i = 0; function && i < sizeof values / sizeof *values; i++) {
        double x = as_element(element, values[i]), got = run(function, element, 1, &x),
               exact = as_element(element, (double)s->exact(x));
        bool good = isnan(exact)   ? isnan(got)
                    : isinf(exact) ? got == exact
                    : exact == 0   ? got == 0 && signbit(got) == signbit(exact)
                                   : fabs(got - exact) <= 4 * (double)unit(element, exact);
        if (good)
            continue;
        printf("%s of %s: %g gives %.17g, not %.17g\n", s->name, ir_element_info[element].text, x, got, exact);
        session->failures++;
    }
}

static void check_two(struct session *session, const char *name, enum ir_math math,
                      long double (*exact)(long double, long double), enum ir_element element, double limit)
{
    static const double values[] = {0.0,  -0.0, 1.0,  -1.0, 0.5,   -0.5, 2.0,   -2.0,     3.0,       -3.0, 2.5,
                                    -2.5, 7.25, 1e-3, 1e10, -1e10, 33.3, 1e-30, INFINITY, -INFINITY, NAN};
    enum { COUNT = sizeof values / sizeof *values };
    const struct ir_function *function = front_math_function(&session->options, session->module, math, element);
    if (!function) {
        printf("%s is missing\n", name);
        session->failures++;
        return;
    }
    for (int i = 0; i < COUNT * COUNT; i++) {
        double x[2] = {as_element(element, values[i / COUNT]), as_element(element, values[i % COUNT])};
        long double wanted = exact(x[0], x[1]);
        double got = run(function, element, 2, x), rounded = as_element(element, (double)wanted);
        bool good = isnan(rounded)                ? isnan(got)
                    : isinf(rounded)              ? got == rounded
                    : rounded == 0 && wanted == 0 ? got == 0 && signbit(got) == signbit(rounded)
                                                  : fabsl(got - wanted) <= limit * unit(element, wanted);
        if (good)
            continue;
        printf("%s of %s: %g, %g gives %.17g, not %.17g\n", name, ir_element_info[element].text, x[0], x[1], got,
               rounded);
        session->failures++;
    }
}

int main(void)
{
    struct arena *arena = arena_create();
    struct session session = {0};
    session.options.arena = arena;
    session.options.context = ir_context_create(arena);
    session.options.diagnostics = diagnostics_create(arena);
    session.options.target_name = no_target;
    session.module = ir_module_create(session.options.context, arena);
    for (size_t i = 0; i < sizeof subjects / sizeof *subjects; i++)
        for (int wide = 0; wide < 2; wide++) {
            measure(&session, &subjects[i], wide ? IR_F64 : IR_F32);
            check_special(&session, &subjects[i], wide ? IR_F64 : IR_F32);
        }
    check_two(&session, "pow", IR_MATH_POW, powl, IR_F32, 1.0);
    check_two(&session, "pow", IR_MATH_POW, powl, IR_F64, 1.5);
    check_two(&session, "atan2", IR_MATH_ATAN2, atan2l, IR_F32, 2.0);
    check_two(&session, "atan2", IR_MATH_ATAN2, atan2l, IR_F64, 1.5);
    if (!ir_verify_module(session.module, session.options.diagnostics))
        session.failures++;
    diag_print(session.options.diagnostics, stdout, false);
    arena_destroy(arena);
    if (session.failures)
        printf("%d failures\n", session.failures);
    return session.failures != 0;
}
