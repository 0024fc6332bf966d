/* Functions of a test block: those of the language that have a meaning in f64, random tensors, and expectations. */
#include "driver/run/test_walk.h"

#include <math.h>
#include <string.h>

const struct ast_expression *test_argument(const struct ast_expression *call, const char *name, int position)
{
    for (int i = 0; i < call->arguments.count; i++) {
        const struct ast_argument *a = call->arguments.data[i];
        if (a->name.text ? name && strcmp(a->name.text, name) == 0 : i == position)
            return a->value;
    }
    return NULL;
}

/* ---- element by element ---- */

static double sigmoid(double x) { return 1 / (1 + exp(-x)); }
static double rsqrt(double x) { return 1 / sqrt(x); }
static double reciprocal(double x) { return 1 / x; }
static double least(double a, double b) { return isnan(a) ? b : isnan(b) ? a : a < b ? a : b; }
static double most(double a, double b) { return isnan(a) ? b : isnan(b) ? a : a > b ? a : b; }
static double divide_up(double a, double b) { return b == 0 ? 0 : ceil(a / b); }

static const struct {
    const char *name;
    double (*one)(double);
    double (*two)(double, double);
} functions[] = {{"exp", exp, NULL},   {"exp2", exp2, NULL},       {"log", log, NULL},        {"log2", log2, NULL},
                 {"sqrt", sqrt, NULL}, {"rsqrt", rsqrt, NULL},     {"rcp", reciprocal, NULL}, {"abs", fabs, NULL},
                 {"sin", sin, NULL},   {"cos", cos, NULL},         {"tan", tan, NULL},        {"tanh", tanh, NULL},
                 {"erf", erf, NULL},   {"sigmoid", sigmoid, NULL}, {"floor", floor, NULL},    {"ceil", ceil, NULL},
                 {"pow", NULL, pow},   {"fdiv", NULL, NULL},       {"cdiv", NULL, divide_up}, {"min", NULL, least},
                 {"max", NULL, most}};
enum { FUNCTIONS = sizeof functions / sizeof *functions };

static struct test_value map_one(struct test_walk *t, double (*f)(double), const struct tensor *x, struct location at)
{
    struct tensor *y = tensor_make(t->arena, f == fabs && !ir_is_float(x->element) ? IR_I64 : IR_F64, x->rank,
                                   x->extent);
    for (int64_t i = 0; i < y->count; i++)
        y->data[i] = f(x->data[i]);
    return test_of(y, at);
}

static struct test_value map_two(struct test_walk *t, double (*f)(double, double), const struct tensor *a,
                                 const struct tensor *b, struct location at)
{
    int64_t extent[IR_MAX_RANK];
    int rank;
    if (!tensor_meet(a, b, &rank, extent))
        return test_stop(t, at, "these shapes do not go together");
    a = tensor_stretch(t->arena, a, rank, extent);
    b = tensor_stretch(t->arena, b, rank, extent);
    bool whole = !ir_is_float(a->element) && !ir_is_float(b->element);
    struct tensor *y = tensor_make(t->arena, whole ? IR_I64 : IR_F64, rank, extent);
    for (int64_t i = 0; i < y->count; i++)
        y->data[i] = f(a->data[i], b->data[i]);
    return test_of(y, at);
}

/* ---- reductions: of all elements, or along an axis ---- */

static double add(double a, double b) { return a + b; }
static double multiply(double a, double b) { return a * b; }
static double either(double a, double b) { return a != 0 || b != 0; }
static double both(double a, double b) { return a != 0 && b != 0; }

static const struct {
    const char *name;
    double (*f)(double, double);
    double start;
} reductions[] = {{"sum", add, 0},  {"product", multiply, 1}, {"any", either, 0},
                  {"all", both, 1}, {"min", least, INFINITY}, {"max", most, -INFINITY}};
enum { REDUCTIONS = sizeof reductions / sizeof *reductions };

static struct test_value reduce(struct test_walk *t, int which, const struct tensor *x,
                                const struct ast_expression *call)
{
    const struct ast_expression *written = test_argument(call, "axis", -1);
    double axis = -1;
    int64_t extent[IR_MAX_RANK], index[IR_MAX_RANK];
    int rank = 0;
    if (written && (!test_number(t, written, &axis) || axis < 0 || axis >= x->rank))
        return t->stopped ? test_of(NULL, call->at)
                          : test_stop(t, written->at, "this is no axis of %d dimensions", x->rank);
    for (int d = 0; written && d < x->rank; d++)
        if (d != (int)axis)
            extent[rank++] = x->extent[d];
    bool truth = reductions[which].f == either || reductions[which].f == both;
    struct tensor *y = tensor_make(t->arena, truth ? IR_BOOL : ir_is_float(x->element) ? IR_F64 : IR_I64, rank, extent);
    for (int64_t i = 0; i < y->count; i++)
        y->data[i] = reductions[which].start;
    for (int64_t i = 0; i < x->count; i++) {
        tensor_place(x, i, index);
        for (int d = (int)axis; written && d + 1 < x->rank; d++)
            index[d] = index[d + 1];
        double *to = &y->data[written ? tensor_number(y, index) : 0];
        *to = reductions[which].f(*to, x->data[i]);
    }
    return test_of(y, call->at);
}

/* ---- random tensors ---- */

static uint64_t mix(uint64_t x) /* splitmix64 */
{
    x += 0x9e3779b97f4a7c15u;
    x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9u;
    x = (x ^ x >> 27) * 0x94d049bb133111ebu;
    return x ^ x >> 31;
}

static double unit(uint64_t seed, uint64_t number) { return ldexp((double)(mix(mix(seed) + number) >> 11), -53); }

static bool option(struct test_walk *t, const struct ast_expression *call, const char *name, int position,
                   double *value)
{
    const struct ast_expression *written = test_argument(call, name, position);
    return !written || test_number(t, written, value);
}

/* normal(T[…], seed), uniform(T[…], seed, low, high), integers(T[…], seed, low, high), zeros(T[…]) */
static struct test_value generate(struct test_walk *t, const struct ast_expression *call, char kind)
{
    const struct ast_expression *first = test_argument(call, NULL, 0);
    struct test_value type = first ? test_evaluate(t, first) : (struct test_value){.kind = TEST_NOTHING};
    double seed = 0, low = kind == 'i' ? -8 : 0, high = kind == 'i' ? 8 : 1;
    if (t->stopped)
        return type;
    if (type.kind != TEST_TYPE || type.rank < 0)
        return test_stop(t, call->at, "a type with extents comes first, as in `normal(f32[3, 1000], seed = 1)`");
    if (!option(t, call, "seed", 1, &seed) || !option(t, call, "low", 2, &low) || !option(t, call, "high", 3, &high))
        return type;
    struct tensor *x = tensor_make(t->arena, type.element, type.rank, type.extent);
    x->typed = true;
    for (int64_t i = 0; i < x->count && kind != 'z'; i++) {
        double a = unit((uint64_t)(int64_t)seed, 2 * (uint64_t)i),
               b = unit((uint64_t)(int64_t)seed, 2 * (uint64_t)i + 1);
        double v = kind == 'n'   ? sqrt(-2 * log(1 - a)) * cos(2 * acos(-1) * b)
                   : kind == 'u' ? low + a * (high - low)
                                 : floor(low + a * (high - low + 1));
        x->data[i] = tensor_round(x->element, v);
    }
    return test_of(x, call->at);
}

/* ---- expectations ---- */

static double tolerance_of(enum ir_element element)
{
    switch (element) {
    case IR_F64: return 1e-10;
    case IR_F32: return 1e-5;
    case IR_F16: return 2e-3;
    case IR_BF16: return 1.6e-2;
    case IR_F8E4M3: return 0.07;
    case IR_F8E5M2: return 0.13;
    default: return 0;
    }
}

/* Of what was computed nobody says how good it is: as of f32, where it is no integer. */
static double default_tolerance(const struct tensor *actual, const struct tensor *expected)
{
    const struct tensor *said = actual->typed ? actual : expected;
    return tolerance_of(said->typed || !ir_is_float(said->element) ? said->element : IR_F32);
}

static bool is_close(double actual, double expected, double relative, double absolute)
{
    if (isnan(actual) || isnan(expected))
        return isnan(actual) && isnan(expected);
    return actual == expected || fabs(actual - expected) <= absolute + relative * fabs(expected);
}

static void report(struct test_walk *t, const struct ast_expression *call, const struct tensor *a,
                   const struct tensor *e, int64_t first, int64_t wrong)
{
    struct buffer place = {0};
    int64_t index[IR_MAX_RANK];
    tensor_place(a, first, index);
    if (a->rank) {
        buffer_puts(&place, "element ");
        tensor_put_list(&place, a->rank, index);
    } else
        buffer_puts(&place, "it");
    bool unwritten = a->unwritten && a->unwritten[first];
    struct diagnostic *d = test_fail(
        t, call->at,
        arena_printf(t->arena,
                     unwritten ? "%s was never written, and %.9g is expected" : "%s is %.9g, and %.9g is expected",
                     place.data, unwritten ? e->data[first] : a->data[first], e->data[first]));
    if (wrong > 1)
        diag_note(t->diagnostics, d, call->at, "%lld of %lld elements differ by more than rtol and atol allow",
                  (long long)wrong, (long long)a->count);
    buffer_free(&place);
}

/* |actual - expected| <= atol + rtol * |expected| */
static struct test_value expect(struct test_walk *t, const struct ast_expression *call)
{
    const struct ast_expression *first = test_argument(call, NULL, 0), *second = test_argument(call, NULL, 1);
    struct test_value nothing = {.kind = TEST_NOTHING, .at = call->at};
    if (!first || !second)
        return test_stop(t, call->at, "`expect` takes what is there and what should be");
    struct tensor *actual = test_tensor(t, first), *expected = actual ? test_tensor(t, second) : NULL;
    if (!expected)
        return nothing;
    double relative = default_tolerance(actual, expected), absolute = relative;
    if (!option(t, call, "rtol", 2, &relative) || !option(t, call, "atol", 3, &absolute))
        return nothing;
    if (expected->rank &&
        (expected->rank != actual->rank ||
         memcmp(expected->extent, actual->extent, sizeof *actual->extent * (size_t)actual->rank) != 0))
        return test_stop(t, call->at, "%s cannot be compared with %s", test_describe(t, test_of(actual, call->at)),
                         test_describe(t, test_of(expected, call->at)));
    expected = tensor_stretch(t->arena, expected, actual->rank, actual->extent);
    int64_t wrong = 0, at = 0;
    for (int64_t i = actual->count - 1; i >= 0; i--)
        if ((actual->unwritten && actual->unwritten[i]) ||
            !is_close(actual->data[i], expected->data[i], relative, absolute)) {
            wrong++;
            at = i;
        }
    t->expectations++;
    if (wrong)
        report(t, call, actual, expected, at, wrong);
    return nothing;
}

/* expect_error(k(...), "text"): the wrapper of the kernel refuses the call, and says so. */
static struct test_value expect_error(struct test_walk *t, const struct ast_expression *call)
{
    const struct ast_expression *first = test_argument(call, NULL, 0), *second = test_argument(call, NULL, 1);
    struct test_value nothing = {.kind = TEST_NOTHING, .at = call->at};
    struct test_value text = second ? test_evaluate(t, second) : (struct test_value){.kind = TEST_TEXT, .text = ""};
    if (!first || text.kind != TEST_TEXT)
        return t->stopped ? nothing : test_stop(t, call->at, "`expect_error` takes a call of a kernel and a text");
    t->refusal = NULL;
    t->expects_refusal = true;
    test_evaluate(t, first);
    t->expects_refusal = false;
    if (t->stopped)
        return nothing;
    t->expectations++;
    if (t->refusal && strstr(t->refusal, text.text))
        return nothing;
    test_fail(t, call->at,
              t->refusal ? arena_printf(t->arena, "the call fails with \"%s\"", t->refusal) : "the call does not fail");
    return nothing;
}

/* ---- the whole ---- */

static const char *const others[] = {"where",    "iota",   "zeros", "normal",  "uniform",
                                     "integers", "expect", "trans", "reshape", "expect_error"};

bool test_is_builtin(const char *name)
{
    for (int i = 0; i < FUNCTIONS; i++)
        if (strcmp(functions[i].name, name) == 0)
            return true;
    for (int i = 0; i < REDUCTIONS; i++)
        if (strcmp(reductions[i].name, name) == 0)
            return true;
    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        if (strcmp(others[i], name) == 0)
            return true;
    return false;
}

static struct test_value choose(struct test_walk *t, const struct ast_expression *call, struct tensor *c,
                                struct tensor *a, struct tensor *b)
{
    int64_t extent[IR_MAX_RANK], all[IR_MAX_RANK];
    int rank;
    if (!tensor_meet(a, b, &rank, extent))
        return test_stop(t, call->at, "these shapes do not go together");
    struct tensor *shape = tensor_make(t->arena, IR_F64, rank, extent);
    if (!tensor_meet(c, shape, &rank, all))
        return test_stop(t, call->at, "these shapes do not go together");
    c = tensor_stretch(t->arena, c, rank, all);
    bool whole = !ir_is_float(a->element) && !ir_is_float(b->element);
    a = tensor_stretch(t->arena, a, rank, all);
    b = tensor_stretch(t->arena, b, rank, all);
    struct tensor *y = tensor_make(t->arena, whole ? IR_I64 : IR_F64, rank, all);
    for (int64_t i = 0; i < y->count; i++)
        y->data[i] = c->data[i] != 0 ? a->data[i] : b->data[i];
    return test_of(y, call->at);
}

static struct test_value reshape(struct test_walk *t, const struct ast_expression *call, const struct tensor *x)
{
    int64_t extent[IR_MAX_RANK];
    int rank = call->arguments.count - 1;
    for (int d = 0; d < rank && d < IR_MAX_RANK; d++) {
        double number;
        if (!test_number(t, call->arguments.data[d + 1]->value, &number))
            return test_of(NULL, call->at);
        extent[d] = number >= 0 ? (int64_t)number : 0;
    }
    struct tensor *y = rank <= IR_MAX_RANK ? tensor_make(t->arena, x->element, rank, extent) : NULL;
    if (!y || y->count != x->count)
        return test_stop(t, call->at, "a reshape keeps the number of elements, %lld", (long long)x->count);
    y->typed = x->typed;
    memcpy(y->data, x->data, sizeof *x->data * (size_t)x->count);
    return test_of(y, call->at);
}

static struct test_value call_of_tensors(struct test_walk *t, const struct ast_expression *call, const char *name)
{
    struct tensor *x[3] = {NULL};
    int count = 0;
    for (int i = 0; i < call->arguments.count && count < 3; i++)
        if (!call->arguments.data[i]->name.text && !(x[count++] = test_tensor(t, call->arguments.data[i]->value)))
            return test_of(NULL, call->at);
    if (strcmp(name, "where") == 0 && count == 3)
        return choose(t, call, x[0], x[1], x[2]);
    if (strcmp(name, "reshape") == 0 && count > 1)
        return reshape(t, call, x[0]);
    if (strcmp(name, "trans") == 0 && count == 1 && x[0]->rank > 1)
        return test_of(tensor_transpose(t->arena, x[0]), call->at);
    if (strcmp(name, "iota") == 0 && count == 1 && !x[0]->rank && x[0]->data[0] >= 0) {
        struct tensor *y = tensor_make(t->arena, IR_I64, 1, (int64_t[]){(int64_t)x[0]->data[0]});
        for (int64_t i = 0; i < y->count; i++)
            y->data[i] = (double)i;
        return test_of(y, call->at);
    }
    for (int i = 0; i < REDUCTIONS && count == 1; i++)
        if (strcmp(reductions[i].name, name) == 0)
            return reduce(t, i, x[0], call);
    for (int i = 0; i < FUNCTIONS; i++)
        if (strcmp(functions[i].name, name) == 0 && count == 1 && functions[i].one)
            return map_one(t, functions[i].one, x[0], call->at);
        else if (strcmp(functions[i].name, name) == 0 && count == 2)
            return functions[i].two ? map_two(t, functions[i].two, x[0], x[1], call->at)
                                    : test_binary(t, OPERATOR_DIVIDE, x[0], x[1], call->at);
    return test_stop(t, call->at, "`%s` does not take these arguments", name);
}

struct test_value test_call_builtin(struct test_walk *t, const struct ast_expression *call)
{
    const char *name = call->base->name;
    static const char *const generators[] = {"zeros", "normal", "uniform", "integers"};
    for (int i = 0; i < 4; i++)
        if (strcmp(name, generators[i]) == 0)
            return generate(t, call, name[0]);
    if (strcmp(name, "expect") == 0)
        return expect(t, call);
    if (strcmp(name, "expect_error") == 0)
        return expect_error(t, call);
    return call_of_tensors(t, call, name);
}
