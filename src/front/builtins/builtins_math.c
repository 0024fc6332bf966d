/* Element-by-element functions. */
#include "front/builtins/builtins.h"

#include <math.h>
#include <string.h>

#include "base/plant.h"

static bool can_build(struct elaborator *e, const struct call *call)
{
    if (e->function)
        return true;
    front_report(e, DIAGNOSTIC_E0409, call->at, "`%s` cannot be evaluated here", call->builtin->name);
    return false;
}

static struct value with_origin(struct value v, struct value from)
{
    v.origin = from.kind == VALUE_RUN ? from.origin : NULL;
    return v;
}

static double fold_math(int function, double x)
{
    switch (function) {
    case IR_MATH_EXP: return exp(x);
    case IR_MATH_EXP2: return exp2(x);
    case IR_MATH_LOG: return log(x);
    case IR_MATH_LOG2: return log2(x);
    case IR_MATH_SQRT: return sqrt(x);
    case IR_MATH_RSQRT: return 1.0 / sqrt(x);
    case IR_MATH_FLOOR: return floor(x);
    case IR_MATH_CEIL: return ceil(x);
    case IR_MATH_TRUNC: return trunc(x);
    default: return (double)NAN;
    }
}

static bool folds(int function)
{
    switch (function) {
    case IR_MATH_EXP:
    case IR_MATH_EXP2:
    case IR_MATH_LOG:
    case IR_MATH_LOG2:
    case IR_MATH_SQRT:
    case IR_MATH_RSQRT:
    case IR_MATH_FLOOR:
    case IR_MATH_CEIL:
    case IR_MATH_TRUNC: return true;
    default: return false;
    }
}

struct value build_math(struct elaborator *e, struct call *call, int function)
{
    struct value v = call->argument[0];
    bool number = v.kind == VALUE_REAL || v.kind == VALUE_INTEGER;
    if (number && v.element == IR_ELEMENT_COUNT && folds(function))
        return value_real(fold_math(function, v.kind == VALUE_REAL ? v.real.number : (double)v.integer), call->at);
    if (!can_build(e, call))
        return value_error(call->at);
    if (v.kind == VALUE_INTEGER && v.element == IR_ELEMENT_COUNT)
        v = constant_to_element(e, v, IR_F32, false);
    if (value_is_constant(v))
        v = value_materialize(e, v);
    if (v.kind != VALUE_RUN || !ir_is_float(v.run->type->element) || v.run->type->element == IR_F8E4M3 ||
        v.run->type->element == IR_F8E5M2) {
        struct value wrong = call_wrong(e, call, v, "f16, bf16, f32 or f64");
        return wrong;
    }
    return with_origin(value_run(ir_math(&e->builder, (enum ir_math)function, v.run, NULL), call->at), v);
}

static void literals_to_reals(struct call *call, int count)
{
    for (int i = 0; i < count; i++)
        if (call->argument[i].kind == VALUE_INTEGER && call->argument[i].element == IR_ELEMENT_COUNT)
            call->argument[i] = value_real((double)call->argument[i].integer, call->argument[i].at);
}

static bool unify_floats(struct elaborator *e, struct call *call, int count)
{
    literals_to_reals(call, count);
    if (!can_build(e, call) || !convert_unify(e, count, call->argument, call->builtin->name, call->at))
        return false;
    if (ir_is_float(call->argument[0].run->type->element))
        return true;
    call_wrong(e, call, call->argument[0], "floats");
    return false;
}

struct value build_math2(struct elaborator *e, struct call *call, int function)
{
    if (!unify_floats(e, call, 2))
        return value_error(call->at);
    return with_origin(
        value_run(ir_math(&e->builder, (enum ir_math)function, call->argument[0].run, call->argument[1].run), call->at),
        call->argument[0]);
}

/* |x| = inf, or |x| < inf. */
struct value build_class(struct elaborator *e, struct call *call, int finite)
{
    struct value v = call->argument[0];
    if (!can_build(e, call))
        return value_error(call->at);
    v = value_materialize(e, v);
    if (v.kind != VALUE_RUN || !ir_is_float(v.run->type->element))
        return call_wrong(e, call, v, "floats");
    struct ir_value *size = ir_unary(&e->builder, OP_ABS, v.run);
    struct ir_value *limit = ir_constant_float(&e->builder, v.run->type, INFINITY);
    return with_origin(
        value_run(ir_compare(&e->builder, finite ? IR_PREDICATE_LT : IR_PREDICATE_EQ, size, limit), call->at), v);
}

/* Integers known while compiling, or trees for the wrapper. */
static bool all_constant_integers(const struct call *call)
{
    for (int i = 0; i < call->count; i++)
        if (call->argument[i].kind != VALUE_INTEGER)
            return false;
    return true;
}

static bool any_host(const struct call *call)
{
    for (int i = 0; i < call->count; i++)
        if (call->argument[i].kind == VALUE_HOST)
            return true;
    return false;
}

static struct value host_call(struct elaborator *e, struct call *call, enum kernel_host_op op)
{
    for (int i = 0; i < call->count; i++)
        if (call->argument[i].kind != VALUE_INTEGER &&
            !(call->argument[i].kind == VALUE_HOST && call->argument[i].host.element == IR_I64)) {
            front_report(e, DIAGNOSTIC_E0409, call->argument[i].at, "the wrapper computes `%s` of integers, not of %s",
                         call->builtin->name, front_describe(e, call->argument[i]));
            return value_error(call->at);
        }
    struct value result = call->argument[0];
    if (call->count == 1)
        return host_operate(e, op, IR_I64, 1, call->argument, call->at);
    for (int i = 1; i < call->count; i++) {
        struct value pair[2] = {result, call->argument[i]};
        result = host_operate(e, op, IR_I64, 2, pair, call->at);
    }
    return result;
}

static int nan_option(struct elaborator *e, const struct call *call)
{
#define X(id, text) text,
    static const char *const words[] = { IR_NANS(X) };
#undef X
    return call_option_word(e, call, "nan", IR_NAN_COUNT, words, IR_NAN_SKIP);
}

static bool is_number(struct value v) { return v.kind == VALUE_INTEGER || v.kind == VALUE_REAL; }
static bool is_nan(struct value v) { return v.kind == VALUE_REAL && isnan(v.real.number); }

static struct value min_max_pair(struct elaborator *e, struct call *call, struct value a, struct value b, int maximum,
                                 int nan)
{
    if (is_number(a) && is_number(b)) {
        if (!constant_meet(e, &a, &b))
            return value_error(call->at);
        if (!PLANTED(front_constant_max_of_nan) && (is_nan(a) || is_nan(b)))
            return is_nan(a) == (nan == IR_NAN_PROPAGATE) ? a : b;
        if (a.kind == VALUE_REAL && a.real.number == b.real.number) /* -0 is under 0 */
            return (signbit(a.real.number) != 0) == (maximum != 0) ? b : a;
        struct value less = constant_binary(e, OPERATOR_LESS, a, b, call->at);
        if (value_is_error(less))
            return less;
        return less.truth == (maximum != 0) ? b : a;
    }
    struct value pair[2] = {a, b};
    if (!can_build(e, call) || !convert_unify(e, 2, pair, call->builtin->name, call->at))
        return value_error(call->at);
    enum ir_element element = pair[0].run->type->element;
    if ((!ir_is_integer(element) && !ir_is_float(element)) || pair[0].enumeration)
        return call_wrong(e, call, a, "numbers");
    struct value result = value_run(ir_binary(&e->builder, maximum ? OP_MAX : OP_MIN, pair[0].run, pair[1].run),
                                    call->at);
    if (nan > 0)
        ir_set_number(result.run->definition, IR_ATTRIBUTE_NAN, nan);
    return with_origin(result, pair[0]);
}

/* One argument reduces, more go element by element. */
struct value build_min_max(struct elaborator *e, struct call *call, int maximum)
{
    if (call->count == 1)
        return build_reduce_kind(e, call, maximum ? IR_REDUCE_MAX : IR_REDUCE_MIN);
    if (call_option(call, "axis")) {
        front_report(e, DIAGNOSTIC_E0309, call->at,
                     "`axis` goes with one argument: `%s(x, axis = 0)` reduces, `%s(a, b)` goes element by element",
                     call->builtin->name, call->builtin->name);
        return value_error(call->at);
    }
    int nan = nan_option(e, call);
    if (nan == -2)
        return value_error(call->at);
    if (any_host(call))
        return host_call(e, call, maximum ? KERNEL_HOST_MAX : KERNEL_HOST_MIN);
    struct value result = call->argument[0];
    for (int i = 1; i < call->count && !value_is_error(result); i++)
        result = min_max_pair(e, call, result, call->argument[i], maximum, nan);
    return result;
}

struct value build_clamp(struct elaborator *e, struct call *call, int detail)
{
    (void)detail;
    int nan = nan_option(e, call);
    if (nan == -2)
        return value_error(call->at);
    if (any_host(call)) {
        struct call low = *call, high = *call;
        low.count = high.count = 2;
        high.argument[0] = host_call(e, &low, KERNEL_HOST_MAX);
        high.argument[1] = call->argument[2];
        return value_is_error(high.argument[0]) ? high.argument[0] : host_call(e, &high, KERNEL_HOST_MIN);
    }
    struct value result = min_max_pair(e, call, call->argument[0], call->argument[1], 1, nan);
    if (!value_is_error(result))
        result = min_max_pair(e, call, result, call->argument[2], 0, nan);
    return result;
}

struct value build_abs(struct elaborator *e, struct call *call, int detail)
{
    (void)detail;
    struct value v = call->argument[0];
    if (v.kind == VALUE_INTEGER)
        return v.integer < 0 ? constant_unary(e, OPERATOR_NEGATE, v, call->at) : v;
    if (v.kind == VALUE_REAL) {
        v.real.number = fabs(v.real.number);
        return v;
    }
    if (v.kind == VALUE_HOST)
        return host_call(e, call, KERNEL_HOST_ABS);
    if (v.kind != VALUE_RUN || v.enumeration ||
        (!ir_is_integer(v.run->type->element) && !ir_is_float(v.run->type->element)))
        return call_wrong(e, call, v, "numbers");
    if (ir_is_integer(v.run->type->element) && !ir_is_signed(v.run->type->element))
        return v;
    return with_origin(value_run(ir_unary(&e->builder, OP_ABS, v.run), call->at), v);
}

/* a / b where the last bits do not matter. */
struct value build_fdiv(struct elaborator *e, struct call *call, int detail)
{
    (void)detail;
    bool known = value_is_constant(call->argument[0]) && value_is_constant(call->argument[1]);
    if (!unify_floats(e, call, 2))
        return value_error(call->at);
    struct ir_value *run = ir_binary(&e->builder, OP_DIV, call->argument[0].run, call->argument[1].run);
    if (!known)
        ir_set_number(run->definition, IR_ATTRIBUTE_NEAR, 1);
    return with_origin(value_run(run, call->at), call->argument[0]);
}

struct value build_where(struct elaborator *e, struct call *call, int detail)
{
    (void)detail;
    struct value condition = call->argument[0];
    struct value three[3] = {condition, call->argument[1], call->argument[2]};
    if (condition.kind == VALUE_BOOL && value_is_constant(three[1]) && value_is_constant(three[2])) {
        if (is_number(three[1]) && is_number(three[2]) && !constant_meet(e, three + 1, three + 2))
            return value_error(call->at);
        return condition.truth ? three[1] : three[2];
    }
    if (!can_build(e, call) || !convert_unify(e, 2, three + 1, "the arms of `where`", call->at))
        return value_error(call->at);
    if (condition.kind == VALUE_BOOL)
        return condition.truth ? three[1] : three[2];
    if (condition.kind != VALUE_RUN || condition.run->type->element != IR_BOOL)
        return call_wrong(e, call, condition, "a bool condition");
    if (!convert_broadcast(e, 3, three, "`where`", call->at))
        return value_error(call->at);
    struct value result = value_run(ir_select(&e->builder, three[0].run, three[1].run, three[2].run), call->at);
    result.enumeration = three[1].enumeration;
    return with_origin(result, three[1]);
}

/* Whether the rest of a/b and b are both above 0, or both below: the quotient, cut towards zero, is then one short. */
static struct ir_value *is_cut_down(struct ir_builder *builder, struct ir_value *rest, struct ir_value *b)
{
    struct ir_value *zero = ir_constant_int(builder, b->type, 0);
    struct ir_value *above = ir_compare(builder, IR_PREDICATE_GT, rest, zero);
    int64_t divisor;
    if (ir_constant_integer(b, &divisor) && divisor > 0)
        return above;
    above = ir_binary(builder, OP_AND, above, ir_compare(builder, IR_PREDICATE_GT, b, zero));
    if (!ir_is_signed(b->type->element))
        return above;
    struct ir_value *below = ir_binary(builder, OP_AND, ir_compare(builder, IR_PREDICATE_LT, rest, zero),
                                       ir_compare(builder, IR_PREDICATE_LT, b, zero));
    return ir_binary(builder, OP_OR, above, below);
}

/* A number made of arguments known when compiling: of the widest type that one of them has, or of none. */
static struct value number_like(struct elaborator *e, const struct call *call, wide_integer number)
{
    enum ir_element element = IR_ELEMENT_COUNT;
    struct value v = value_integer(number, call->at);
    for (int i = 0; i < call->count; i++) {
        enum ir_element own = call->argument[i].element;
        if (own != IR_ELEMENT_COUNT &&
            (element == IR_ELEMENT_COUNT || ir_element_info[own].bits > ir_element_info[element].bits))
            element = own;
    }
    return element == IR_ELEMENT_COUNT ? v : constant_to_element(e, v, element, true);
}

/* a/b rounded up; 0 for b = 0. */
struct value build_cdiv(struct elaborator *e, struct call *call, int detail)
{
    (void)detail;
    if (all_constant_integers(call)) {
        wide_integer a = call->argument[0].integer, b = call->argument[1].integer, most;
        if (!arithmetic_exact(OP_DIV, a, b, &most)) {
            front_report(e, DIAGNOSTIC_E0505, call->at, "the value of a constant is too large");
            return value_error(call->at);
        }
        return number_like(e, call, arithmetic_divide_up(a, b));
    }
    if (any_host(call))
        return host_call(e, call, KERNEL_HOST_CDIV);
    if (!can_build(e, call) || !convert_unify(e, 2, call->argument, "`cdiv`", call->at))
        return value_error(call->at);
    struct ir_value *a = call->argument[0].run, *b = call->argument[1].run;
    if (!ir_is_integer(a->type->element))
        return call_wrong(e, call, call->argument[0], "integers");
    struct ir_value *rest = ir_binary(&e->builder, OP_REM, a, b);
    struct ir_value *more = ir_cast(&e->builder, is_cut_down(&e->builder, rest, b), a->type->element);
    return with_origin(value_run(ir_binary(&e->builder, OP_ADD, ir_binary(&e->builder, OP_DIV, a, b), more), call->at),
                       call->argument[0]);
}

struct value build_ilog2(struct elaborator *e, struct call *call, int detail)
{
    (void)detail;
    struct value v = call->argument[0];
    if (v.kind == VALUE_INTEGER)
        return number_like(e, call, arithmetic_log2(v.integer));
    if (v.kind == VALUE_HOST)
        return host_call(e, call, KERNEL_HOST_ILOG2);
    if (v.kind != VALUE_RUN || !ir_is_integer(v.run->type->element))
        return call_wrong(e, call, v, "integers");
    int bits = ir_element_info[v.run->type->element].bits;
    struct ir_value *zeros = ir_unary(&e->builder, OP_CLZ, v.run);
    struct ir_value *top = ir_constant_int(&e->builder, v.run->type, bits - 1);
    struct ir_value *log = ir_binary(&e->builder, OP_SUB, top, zeros); /* of 0: -1 */
    if (ir_is_signed(v.run->type->element)) {
        struct ir_value *zero = ir_constant_int(&e->builder, v.run->type, 0);
        struct ir_value *none = ir_constant_int(&e->builder, v.run->type, -1);
        log = ir_select(&e->builder, ir_compare(&e->builder, IR_PREDICATE_LT, v.run, zero), none, log);
    }
    return with_origin(value_run(log, call->at), v);
}

/* An operation that is a function of the language by its row in ops.def. */
struct value build_operation(struct elaborator *e, struct call *call, int opcode)
{
    const struct ir_op_info *info = &ir_op_info[opcode];
    struct ir_value *operands[MOST_ARGUMENTS];
    if (info->takes == IR_TAKES_FLOATS)
        literals_to_reals(call, call->count);
    if (!can_build(e, call) || !convert_unify(e, call->count, call->argument, call->builtin->name, call->at))
        return value_error(call->at);
    if (!ir_takes((enum ir_opcode)opcode, call->argument[0].run->type->element) || call->argument[0].enumeration)
        return call_wrong(e, call, call->argument[0], ir_takes_words((enum ir_opcode)opcode));
    for (int i = 0; i < call->count; i++)
        operands[i] = call->argument[i].run;
    return with_origin(
        value_run(ir_build_value(&e->builder, (enum ir_opcode)opcode, operands[0]->type, call->count, operands),
                  call->at),
        call->argument[0]);
}
