/* The table of functions that the language brings, and how their arguments are read. */
#include "front/builtins/builtins.h"

#include <string.h>

#define MATH(name, function) {name, 1, 1, 0, "", build_math, IR_MATH_##function}
#define ATOMIC(name, action) {"atomic_" name, 2, 2, 1, "mask order scope", build_atomic, IR_ACTION_##action}
static const struct builtin builtins[] = {
    MATH("exp", EXP),
    MATH("exp2", EXP2),
    MATH("expm1", EXPM1),
    MATH("log", LOG),
    MATH("log2", LOG2),
    MATH("log1p", LOG1P),
    MATH("sin", SIN),
    MATH("cos", COS),
    MATH("tan", TAN),
    MATH("tanh", TANH),
    MATH("erf", ERF),
    MATH("sqrt", SQRT),
    MATH("rsqrt", RSQRT),
    MATH("rcp", RCP),
    MATH("floor", FLOOR),
    MATH("ceil", CEIL),
    MATH("trunc", TRUNC),
    MATH("round", ROUND),
    MATH("atan", ATAN),
    MATH("asin", ASIN),
    MATH("acos", ACOS),
    MATH("sinh", SINH),
    MATH("cosh", COSH),
    MATH("sigmoid", SIGMOID),
    MATH("isnan", ISNAN),
    {"fdiv", 2, 2, 0, "", build_fdiv, 0},
    {"pow", 2, 2, 0, "", build_math2, IR_MATH_POW},
    {"atan2", 2, 2, 0, "", build_math2, IR_MATH_ATAN2},
    {"copysign", 2, 2, 0, "", build_math2, IR_MATH_COPYSIGN},
    {"isinf", 1, 1, 0, "", build_class, 0},
    {"isfinite", 1, 1, 0, "", build_class, 1},
    {"min", 1, MOST_EXTENTS, 0, "axis nan fixed", build_min_max, 0},
    {"max", 1, MOST_EXTENTS, 0, "axis nan fixed", build_min_max, 1},
    {"abs", 1, 1, 0, "", build_abs, 0},
    {"clamp", 3, 3, 0, "nan", build_clamp, 0},
    {"where", 3, 3, 0, "", build_where, 0},
    {"cdiv", 2, 2, 0, "", build_cdiv, 0},
    {"ilog2", 1, 1, 0, "", build_ilog2, 0},
    {"sum", 1, 1, 0, "axis fixed", build_reduce_kind, IR_REDUCE_ADD},
    {"product", 1, 1, 0, "axis fixed", build_reduce_kind, IR_REDUCE_MUL},
    {"any", 1, 1, 0, "axis", build_reduce_kind, IR_REDUCE_OR},
    {"all", 1, 1, 0, "axis", build_reduce_kind, IR_REDUCE_AND},
    {"xor_sum", 1, 1, 0, "axis", build_reduce_kind, IR_REDUCE_XOR},
    {"argmax", 1, 1, 0, "axis nan", build_arg, 1},
    {"argmin", 1, 1, 0, "axis nan", build_arg, 0},
    {"reduce", 2, 2, 2, "axis", build_reduce, 0},
    {"sort", 1, 1, 0, "axis descending", build_sort, 0},
    {"argsort", 1, 1, 0, "axis descending", build_sort, 1},
    {"topk", 2, 2, 2, "axis descending", build_sort, 2},
    {"scan", 2, 2, 2, "axis reverse exclusive initial", build_scan, 0},
    {"cumsum", 1, 1, 0, "axis reverse exclusive fixed", build_scan_kind, IR_REDUCE_ADD},
    {"cumprod", 1, 1, 0, "axis reverse exclusive fixed", build_scan_kind, IR_REDUCE_MUL},
    {"cummax", 1, 1, 0, "axis reverse exclusive nan", build_scan_kind, IR_REDUCE_MAX},
    {"cummin", 1, 1, 0, "axis reverse exclusive nan", build_scan_kind, IR_REDUCE_MIN},
    {"histogram", 2, 2, 2, "mask", build_histogram, 0},
    {"dot", 2, 3, 0, "precision promote", build_dot, 0},
    {"dot_scaled", 6, 7, 0, "", build_dot_scaled, 0},
    {"trans", 1, 1, 1, "", build_trans, 0},
    {"permute", 2, MOST_EXTENTS, 1, "", build_permute, 0},
    {"reshape", 2, MOST_EXTENTS, 0, "", build_reshape, 0},
    {"join", 2, 2, 0, "", build_join, 0},
    {"interleave", 2, 2, 0, "", build_join, 1},
    {"split", 1, 1, 0, "", build_split, 0},
    {"cat", 2, MOST_EXTENTS, 0, "axis", build_cat, 0},
    {"flip", 1, 1, 0, "axis", build_flip, 0},
    {"gather", 2, 2, 0, "axis", build_gather, 0},
    {"split_dim", 3, 3, 1, "", build_split_dim, 0},
    {"merge_dims", 3, 3, 1, "", build_merge_dims, 0},
    {"view", 2, 2, 0, "strides", build_view, 0},
    {"broadcast", 2, MOST_EXTENTS, 0, "", build_broadcast, 0},
    {"cast", 1, 2, 0, "round saturate", build_cast, 0},
    {"bitcast", 2, 2, 0, "", build_bitcast, 0},
    {"iota", 1, 1, 0, "", build_iota, 0},
    {"zeros", 1, 1, 0, "", build_zeros, 0},
    {"lowest", 1, 1, 0, "", build_limit, 0},
    {"highest", 1, 1, 0, "", build_limit, 1},
    {"rand", 2, 2, 0, "", build_random, 0},
    {"rand4", 2, 2, 0, "", build_random, 1},
    {"randint", 2, 2, 0, "", build_random, 2},
    {"randint4", 2, 2, 0, "", build_random, 3},
    {"randn", 2, 2, 0, "", build_random, 4},
    {"load", 1, 3, 1, "other mask cache", build_load, 0},
    {"store", 2, 3, 1, "mask cache", build_store, 0},
    {"inside", 1, 1, 1, "", build_inside, 0},
    ATOMIC("add", ADD),
    ATOMIC("min", MIN),
    ATOMIC("max", MAX),
    ATOMIC("and", AND),
    ATOMIC("or", OR),
    ATOMIC("xor", XOR),
    ATOMIC("xchg", EXCHANGE),
    ATOMIC("store", STORE),
    {"atomic_load", 1, 1, 1, "mask order scope", build_atomic, IR_ACTION_LOAD},
    {"atomic_cas", 3, 3, 1, "mask order scope", build_atomic_cas, 0},
    {"grid_size", 1, 1, 1, "", build_grid_size, 0},
    {"sm_count", 0, 0, 0, "", build_sm_count, 0},
    {"assume", 1, 1, 1, "", build_assume, 0},
    {"assert", 1, MOST_ARGUMENTS, 1, "", build_assert, 0},
    {"print", 1, 1 + KERNEL_REPORT_MOST_VALUES, 0, "", build_print, 0},
    {"static_assert", 1, 2, 0, "", build_static_assert, 0},
    {"asm", 1, MOST_ARGUMENTS, 1, "type pack effects arch else", build_asm, 0},
/* Operations of ops.def; those without a name in the language are none. */
#define OP(...)
#define PER_ELEMENT(...)
#define ARITHMETIC(id, text, operands, traits, elements, name, ...) \
    {name, operands, operands, 0, "", build_operation, OP_##id},
#include "ir/ops.def"
};
enum { BUILTIN_COUNT = sizeof builtins / sizeof *builtins };

const struct builtin *builtin_find(const char *name)
{
    for (int i = 0; i < BUILTIN_COUNT; i++)
        if (builtins[i].name && strcmp(builtins[i].name, name) == 0)
            return &builtins[i];
    return NULL;
}

static const char *builtin_nearest(const char *name, const char *but, int *distance)
{
    const char *near = NULL;
    for (int i = 0; i < BUILTIN_COUNT; i++) {
        if (!builtins[i].name || (but && strcmp(builtins[i].name, but) == 0))
            continue;
        int d = spelling_distance(name, builtins[i].name, *distance);
        if (d < *distance) {
            *distance = d;
            near = builtins[i].name;
        }
    }
    return near;
}

/* ---- options ---- */

const struct ast_expression *call_option(const struct call *call, const char *name)
{
    for (int i = 0; i < call->expression->arguments.count; i++) {
        const struct ast_argument *a = call->expression->arguments.data[i];
        if (a->name.text && strcmp(a->name.text, name) == 0)
            return a->value;
    }
    return NULL;
}

bool call_option_value(struct elaborator *e, const struct call *call, const char *name, struct value *value)
{
    const struct ast_expression *written = call_option(call, name);
    if (written)
        *value = elaborate_value(e, written);
    return written != NULL;
}

/* What IEEE 754, RISC-V, PTX and C call our words for roundings.  `rn` of PTX is the nearest, where one letter makes it
 * `rtn`, which is down. */
static const char *usual_word(const char *written)
{
    static const char *const words[][2] = {
        {"rne", "rtne"}, {"rn", "rtne"},         {"rz", "rtz"},       {"rd", "rtn"},
        {"rm", "rtn"},   {"rdn", "rtn"},         {"ru", "rtp"},       {"rup", "rtp"},
        {"rp", "rtp"},   {"even", "rtne"},       {"nearest", "rtne"}, {"nearest_even", "rtne"},
        {"zero", "rtz"}, {"toward_zero", "rtz"}, {"down", "rtn"},     {"up", "rtp"}};
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (strcasecmp(written, words[i][0]) == 0)
            return words[i][1];
    return NULL;
}

int call_option_word(struct elaborator *e, const struct call *call, const char *name, int count,
                     const char *const *words, int otherwise)
{
    const struct ast_expression *written = call_option(call, name);
    if (!written)
        return otherwise;
    const char *usual = written->kind == EXPRESSION_NAME ? usual_word(written->name) : NULL, *meant = NULL;
    struct buffer all = {0};
    for (int i = 0; i < count; i++) {
        if (usual && strcmp(usual, words[i]) == 0)
            meant = usual;
        if (written->kind == EXPRESSION_NAME && strcmp(written->name, words[i]) == 0) {
            buffer_free(&all);
            return i;
        }
        buffer_printf(&all, "%s`%s`", i ? ", " : "", words[i]);
    }
    struct diagnostic *d = front_report(e, DIAGNOSTIC_E0308, written->at,
                                        meant ? "`%s` is one of %s; `%s` is written `%s` here" : "`%s` is one of %s",
                                        name, all.data, meant ? written->name : NULL, meant);
    if (meant)
        front_fixit(e, d, written->at, FIXIT_CERTAIN, meant);
    buffer_free(&all);
    return -2;
}

bool call_option_integer(struct elaborator *e, const struct call *call, const char *name, int64_t *number, bool *given)
{
    const struct ast_expression *written = call_option(call, name);
    wide_integer wide;
    *given = written != NULL;
    if (!written)
        return true;
    if (!elaborate_integer(e, written, name, &wide))
        return false;
    if (wide < -1000000 || wide > 1000000) {
        front_report(e, DIAGNOSTIC_E0308, written->at, "`%s` is far out of range", name);
        return false;
    }
    *number = (int64_t)wide;
    return true;
}

bool call_option_axis(struct elaborator *e, const struct call *call, int rank, int64_t *axis, bool *given)
{
    *axis = -1;
    if (!call_option_integer(e, call, "axis", axis, given))
        return false;
    if (*given && (*axis < 0 || *axis >= rank)) {
        front_report(e, DIAGNOSTIC_E0309, call_option(call, "axis")->at,
                     "`axis` is between 0 and %d for a tile of %d dimension%s", rank - 1, rank, rank == 1 ? "" : "s");
        return false;
    }
    return true;
}

bool call_option_truth(struct elaborator *e, const struct call *call, const char *name, bool *truth)
{
    struct value v = value_bool(false, call->at);
    if (!call_option_value(e, call, name, &v))
        return true;
    if (v.kind != VALUE_BOOL) {
        if (!value_is_error(v))
            front_report(e, DIAGNOSTIC_E0308, v.at, "`%s` is true or false, known when compiling", name);
        return false;
    }
    *truth = v.truth;
    return true;
}

struct value call_wrong(struct elaborator *e, const struct call *call, struct value v, const char *wanted)
{
    if (value_is_error(v))
        return v;
    struct diagnostic *d = front_report(e, DIAGNOSTIC_E0306, v.at, "`%s` takes %s, not %s", call->builtin->name, wanted,
                                        front_describe(e, v));
    bool scalar = value_is_constant(v) || (v.kind == VALUE_RUN && v.run->type->rank == 0);
    if (scalar && strncmp(wanted, "a tile", 6) == 0)
        front_note(e, d, v.at, "a tile of one element is `f32[1](v)`, or whatever its type is");
    else
        front_note_shape(e, d, v, "the argument");
    return value_error(call->at);
}

static bool allows(const char *options, const char *name)
{
    size_t size = strlen(name);
    if (options[0] == '*')
        return true;
    for (const char *at = options; (at = strstr(at, name)) != NULL; at += size)
        if ((at == options || at[-1] == ' ') && (at[size] == 0 || at[size] == ' '))
            return true;
    return false;
}

/* iota(0, 256)   zeros((64, 64), dtype = float32): how tiles are made here. */
static void note_making(struct elaborator *e, struct diagnostic *d, const struct call *call)
{
    if (call->builtin->build == build_zeros)
        zeros_note(e, d, call->expression);
    if (call->builtin->build == build_iota)
        front_note(e, d, call->at, "n positions from 0 are `iota(n)`, n from a `a + iota(n)`");
}

static void report_option(struct elaborator *e, const struct call *call, const struct ast_argument *a)
{
    const struct builtin *builtin = call->builtin;
    struct buffer options = {0};
    for (const char *at = builtin->options; *at; at += strspn(at, " ")) {
        size_t size = strcspn(at, " ");
        buffer_printf(&options, "%s`%.*s`", options.size ? ", " : "", (int)size, at);
        at += size;
    }
    struct diagnostic *d = front_report(e, DIAGNOSTIC_E0307, a->at,
                                        options.size ? "`%s` has no option `%s`; it has %s" : "`%s` has no option `%s`",
                                        builtin->name, a->name.text, options.data);
    note_making(e, d, call);
    if (allows(builtin->options, "axis"))
        foreign_option(e, d, a->name.text, a->name.at);
    buffer_free(&options);
}

static bool read_argument(struct elaborator *e, struct call *call, const struct builtin *builtin,
                          const struct ast_argument *a)
{
    if (a->name.text) {
        if (allows(builtin->options, a->name.text))
            return true;
        report_option(e, call, a);
        return false;
    }
    if (call->count == builtin->most) {
        struct diagnostic *d = front_report(e, DIAGNOSTIC_E0307, a->at, "`%s` takes %d argument%s", builtin->name,
                                            builtin->most, builtin->most == 1 ? "" : "s");
        note_making(e, d, call);
        if (allows(builtin->options, "axis")) {
            struct location before = a->value->at;
            before.end_column = before.column;
            front_note(e, d, a->at, "the dimension is named, `axis = ...`");
            front_fixit(e, d, before, a->value->kind == EXPRESSION_INTEGER ? FIXIT_CERTAIN : FIXIT_PROBABLE, "axis = ");
        }
        return false;
    }
    struct value v;
    if (builtin->build == build_grid_size)
        v = (struct value){.kind = VALUE_VOID, .at = a->value->at};
    else {
        e->touching = call->expression;
        v = elaborate(e, a->value);
        e->touching = NULL;
    }
    if (!(builtin->raw & (1u << call->count)) && v.kind != VALUE_TYPE)
        v = value_read(e, v);
    call->argument[call->count++] = v;
    return v.kind != VALUE_ERROR;
}

static struct value call_builtin(struct elaborator *e, const struct builtin *builtin,
                                 const struct ast_expression *expression)
{
    struct call call = {.expression = expression, .at = expression->at, .builtin = builtin};
    bool good = true;
    for (int i = 0; i < expression->arguments.count; i++)
        good = read_argument(e, &call, builtin, expression->arguments.data[i]) && good;
    if (!good)
        return value_error(expression->at);
    if (call.count < builtin->least) {
        front_report(e, DIAGNOSTIC_E0307, expression->at, "`%s` takes %s%d argument%s, and %d %s given", builtin->name,
                     builtin->least == builtin->most ? "" : "at least ", builtin->least, builtin->least == 1 ? "" : "s",
                     call.count, call.count == 1 ? "is" : "are");
        return value_error(expression->at);
    }
    elaborate_at(e, expression->at);
    struct value result = builtin->build(e, &call, builtin->detail);
    if (!value_is_error(result))
        result.at = expression->at;
    return result;
}

const struct builtin_functions builtin_functions = {builtin_find, builtin_nearest, call_builtin};
