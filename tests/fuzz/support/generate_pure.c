/* Random operations without memory: arithmetic, shapes, reductions, products, maps. */
#include <math.h>

#include "generate.h"
#include "operations.h"

static bool is_real(const struct ir_type *type) { return ir_is_float(type->element); }
static bool is_integral(const struct ir_type *type) { return ir_is_integer(type->element); }
static bool is_tile(const struct ir_type *type) { return type->rank > 0; }
static bool is_vector_up(const struct ir_type *type) { return type->rank >= 1 && type->rank < 4; }

/* One that is there, or one of an element that is drawn evenly. */
static struct known any_or_new(struct generator *g, bool (*accept)(const struct ir_type *type))
{
    struct known out;
    if (random_chance(&g->random, 55) && fuzz_any(g, accept, &out))
        return out;
    if (!g->scalars_only && (accept == is_tile || accept == is_vector_up) && random_chance(&g->random, 28)) {
        const struct ir_type *pointer = ir_type_pointer(g->context,
                                                        (enum ir_element)random_below(&g->random, IR_POINTER), true);
        const struct ir_type *shape = fuzz_type(g, IR_I32);
        if (accept(shape))
            return fuzz_of_type(g, ir_type_with_shape(g->context, pointer, shape->rank, shape->extent), false);
    }
    for (;;) {
        const struct ir_type *type = fuzz_type(g, (enum ir_element)random_below(&g->random, IR_POINTER));
        if (!accept || accept(type))
            return fuzz_of_type(g, type, false);
        if (!type->rank && accept && (accept == is_tile || accept == is_vector_up) && g->scalars_only)
            return fuzz_of_type(g, ir_type_scalar(g->context, IR_I32), false); /* the caller checks the rank again */
    }
}

static double float_bound(struct known a, enum ir_opcode opcode, struct known b)
{
    return opcode == OP_MUL ? a.bound * b.bound : a.bound + b.bound;
}

/* One of the operations that take a and so many operands of its type.  Of floats, nothing is known of the result. */
static bool one_of(struct generator *g, const struct operations *operations, struct known a, int operands)
{
    struct ir_value *of[3] = {a.value};
    if (!operations->count)
        return false;
    for (int i = 1; i < operands; i++)
        of[i] = fuzz_of_type(g, a.value->type, true).value; /* no NaN, whose sign is free */
    int number = operations->count > 1 ? random_below(&g->random, operations->count) : 0;
    fuzz_know(g, ir_build_value(&g->builder, operations->of[number], a.value->type, operands, of), 0, false);
    return true;
}

/* Floats that those below know no bound of, and operations of three operands: chosen now and then, where there are any. */
static bool other_one(struct generator *g, struct known a, int operands)
{
    struct operations operations = operations_intrinsic(a.value->type->element, operands);
    return operations.count && random_chance(&g->random, 20) && one_of(g, &operations, a, operands);
}

static void integer_binary(struct generator *g)
{
    struct known a = any_or_new(g, is_integral);
    struct operations operations = operations_on(a.value->type->element, 2);
    if (other_one(g, a, 3))
        return;
    struct known b = fuzz_of_type(g, a.value->type, false);
    enum ir_opcode opcode = random_chance(&g->random, 20) ? (random_chance(&g->random, 50) ? OP_MIN : OP_MAX)
                                                          : operations.of[random_below(&g->random, operations.count)];
    struct ir_value *made = ir_binary(&g->builder, opcode, a.value, b.value);
    if ((opcode == OP_MIN || opcode == OP_MAX) && random_chance(&g->random, 80)) /* means nothing here */
        ir_set_number(made->definition, IR_ATTRIBUTE_NAN, random_below(&g->random, IR_NAN_COUNT));
    fuzz_know(g, made, 0, true);
}

static void bool_operation(struct generator *g)
{
    static const enum ir_opcode opcodes[] = {OP_AND, OP_OR, OP_XOR};
    const struct ir_type *type = fuzz_type(g, IR_BOOL);
    struct ir_value *a = fuzz_of_type(g, type, false).value, *b = fuzz_of_type(g, type, false).value;
    struct ir_value *made = random_chance(&g->random, 25)
                                ? ir_unary(&g->builder, OP_NOT, a)
                                : ir_binary(&g->builder, opcodes[random_below(&g->random, 3)], a, b);
    fuzz_know(g, made, 0, true);
}

static void float_binary(struct generator *g)
{
    struct known a = any_or_new(g, is_real);
    if (other_one(g, a, 2))
        return;
    struct known b = fuzz_of_type(g, a.value->type, false);
    enum ir_opcode opcode = (const enum ir_opcode[]){
        OP_ADD, OP_SUB, OP_MUL, OP_DIV, OP_MIN, OP_MAX, OP_REM}[random_below(&g->random, 7)];
    enum ir_element element = a.value->type->element;
    if (opcode == OP_MIN || opcode == OP_MAX) {
        struct ir_value *made = ir_binary(&g->builder, opcode, a.value, b.value);
        if (random_chance(&g->random, 70))
            ir_set_number(made->definition, IR_ATTRIBUTE_NAN, random_below(&g->random, IR_NAN_COUNT));
        fuzz_know(g, made, a.bound > b.bound ? a.bound : b.bound, a.exact && b.exact);
    } else if (opcode == OP_DIV || opcode == OP_REM) {
        fuzz_know(g, ir_binary(&g->builder, opcode, a.value, b.value), 0, false);
    } else if (a.exact && b.exact && float_bound(a, opcode, b) <= fuzz_limit(element)) {
        fuzz_know(g, ir_binary(&g->builder, opcode, a.value, b.value), float_bound(a, opcode, b), true);
    }
}

static void unary(struct generator *g)
{
    struct known a = any_or_new(g, NULL);
    enum ir_element element = a.value->type->element;
    if (element == IR_POINTER)
        return;
    struct operations operations = operations_on(element, 1);
    if (!ir_is_float(element)) {
        one_of(g, &operations, a, 1);
    } else if (!other_one(g, a, 1)) {
        fuzz_know(g, ir_unary(&g->builder, random_chance(&g->random, 50) ? OP_NEG : OP_ABS, a.value), a.bound, a.exact);
    }
}

/* Functions whose result is correctly rounded on every target. */
static void exact_math(struct generator *g)
{
    static const enum ir_math functions[] = {IR_MATH_SQRT,  IR_MATH_FLOOR, IR_MATH_CEIL,    IR_MATH_TRUNC,
                                             IR_MATH_ROUND, IR_MATH_ISNAN, IR_MATH_COPYSIGN};
    struct known a = any_or_new(g, is_real);
    enum ir_math function = functions[random_below(&g->random, 7)];
    struct ir_value *second = function == IR_MATH_COPYSIGN ? fuzz_of_type(g, a.value->type, true).value : NULL;
    bool keeps = function != IR_MATH_SQRT && function != IR_MATH_ISNAN;
    fuzz_know(g, ir_math(&g->builder, function, a.value, second), a.bound, a.exact && keeps);
}

static double reference(enum ir_math function, double x, double y)
{
    switch (function) {
    case IR_MATH_EXP: return exp(x);
    case IR_MATH_EXP2: return exp2(x);
    case IR_MATH_EXPM1: return expm1(x);
    case IR_MATH_LOG: return log(x);
    case IR_MATH_LOG2: return log2(x);
    case IR_MATH_LOG1P: return log1p(x);
    case IR_MATH_SIN: return sin(x);
    case IR_MATH_COS: return cos(x);
    case IR_MATH_TAN: return tan(x);
    case IR_MATH_TANH: return tanh(x);
    case IR_MATH_ERF: return erf(x);
    case IR_MATH_RSQRT: return 1 / sqrt(x);
    case IR_MATH_RCP: return 1 / x;
    case IR_MATH_POW: return pow(x, y);
    case IR_MATH_ATAN2: return atan2(x, y);
    case IR_MATH_ATAN: return atan(x);
    case IR_MATH_ASIN: return asin(x);
    case IR_MATH_ACOS: return acos(x);
    case IR_MATH_SINH: return sinh(x);
    case IR_MATH_COSH: return cosh(x);
    case IR_MATH_SIGMOID: return 1 / (1 + exp(-x));
    default: return x;
    }
}

enum { RADIUS = 4 };

/* No small integers come near the threshold, relative to it by a quarter. */
static bool keeps_away(enum ir_math function, bool two, double threshold)
{
    for (int x = -RADIUS; x <= RADIUS; x++)
        for (int y = two ? -RADIUS : 0; y <= (two ? RADIUS : 0); y++) {
            double value = reference(function, x, y);
            if (!isnan(value) && fabs(value - threshold) < 0.02 + 0.25 * fabs(threshold))
                return false;
        }
    return true;
}

/* Functions that are bounded, not exact: of small integers, compared with a number that no result comes near. */
static void bounded_math(struct generator *g)
{
    static const double thresholds[] = {0.5, -0.5, 0.3, -0.3, 1.5,  -1.5, 5,    -5,
                                        12,  35,   0.1, -0.1, 0.05, 100,  -100, 400};
    enum ir_element element = (enum ir_element)random_between(&g->random, IR_F16, IR_F8E5M2);
    enum ir_math function = (enum ir_math)random_below(&g->random, IR_MATH_COUNT);
    bool two = function == IR_MATH_POW || function == IR_MATH_ATAN2;
    if (function == IR_MATH_ISNAN || function == IR_MATH_COPYSIGN)
        return;
    const struct ir_type *type = fuzz_type(g, element);
    struct ir_value *x = fuzz_clamp(g, fuzz_of_type(g, type, true).value, RADIUS);
    struct ir_value *y = two ? fuzz_clamp(g, fuzz_of_type(g, type, true).value, RADIUS) : NULL;
    if (two) { /* the signs of zeros would decide */
        struct ir_value *zero = ir_constant_int(&g->builder, type, 0);
        x = ir_binary(&g->builder, OP_ADD, x, zero);
        y = ir_binary(&g->builder, OP_ADD, y, zero);
    } else if (function == IR_MATH_RCP || function == IR_MATH_RSQRT) {
        x = ir_binary(&g->builder, OP_ADD, x, ir_constant_int(&g->builder, type, 0));
    }
    double threshold = thresholds[random_below(&g->random, 16)];
    for (int tries = 0; tries < 20 && !keeps_away(function, two, threshold); tries++)
        threshold = thresholds[random_below(&g->random, 16)];
    if (!keeps_away(function, two, threshold))
        return;
    struct ir_value *made = ir_math(&g->builder, function, x, y);
    fuzz_know(g,
              ir_compare(&g->builder, random_chance(&g->random, 50) ? IR_PREDICATE_GT : IR_PREDICATE_LE, made,
                         ir_constant_float(&g->builder, type, threshold)),
              0, true);
}

static void math(struct generator *g)
{
    if (random_chance(&g->random, 40))
        exact_math(g);
    else
        bounded_math(g);
}

static void fma_operation(struct generator *g)
{
    struct known a = any_or_new(g, is_real);
    if (other_one(g, a, 3))
        return;
    struct known b = fuzz_of_type(g, a.value->type, true), c = fuzz_of_type(g, a.value->type, true);
    double bound = a.bound * b.bound + c.bound;
    if (!a.exact || bound > fuzz_limit(a.value->type->element))
        return;
    struct ir_value *operands[3] = {a.value, b.value, c.value};
    fuzz_know(g, ir_build_value(&g->builder, OP_FMA, a.value->type, 3, operands), bound, true);
}

static void compare_or_select(struct generator *g)
{
    struct known a = any_or_new(g, NULL), b = fuzz_of_type(g, a.value->type, false);
    if (random_chance(&g->random, 60)) {
        bool ordered = a.value->type->element != IR_POINTER; /* which of two arguments lies first is free */
        enum ir_predicate predicate = (enum ir_predicate)random_below(&g->random, ordered ? IR_PREDICATE_COUNT : 2);
        fuzz_know(g, ir_compare(&g->builder, predicate, a.value, b.value), 0, true);
        return;
    }
    const struct ir_type *condition = random_chance(&g->random, 25) ? ir_type_scalar(g->context, IR_BOOL)
                                                                    : fuzz_like(g, IR_BOOL, a.value->type);
    struct ir_value *c = fuzz_of_type(g, condition, false).value;
    fuzz_know(g, ir_select(&g->builder, c, a.value, b.value), a.bound > b.bound ? a.bound : b.bound,
              a.exact && b.exact);
}

static void cast(struct generator *g)
{
    struct known a = any_or_new(g, NULL);
    enum ir_element from = a.value->type->element, to = (enum ir_element)random_below(&g->random, IR_POINTER);
    if (from == IR_POINTER)
        return;
    struct ir_value *made = ir_build_value(&g->builder, OP_CAST, fuzz_like(g, to, a.value->type), 1, &a.value);
    if (random_chance(&g->random, 40)) /* they mean something for floats, and something for integers */
        ir_set_number(made->definition, IR_ATTRIBUTE_ROUND, random_below(&g->random, IR_ROUND_COUNT));
    if (random_chance(&g->random, 25))
        ir_set_number(made->definition, IR_ATTRIBUTE_SATURATE, 1);
    bool exact = from == to ? a.exact : ir_is_float(from) ? a.exact && a.bound <= fuzz_limit(to) : from == IR_BOOL;
    fuzz_know(g, made, from == IR_BOOL ? 1 : a.bound, exact);
}

static bool is_number(const struct ir_type *type) { return ir_is_integer(type->element) || ir_is_float(type->element); }

static void bitcast(struct generator *g)
{
    if (random_chance(&g->random, 20)) { /* to what it is already */
        struct known same = any_or_new(g, random_chance(&g->random, 50) ? is_tile : NULL);
        fuzz_know(g, ir_build_value(&g->builder, OP_BITCAST, same.value->type, 1, &same.value), same.bound, same.exact);
        return;
    }
    struct known a = any_or_new(g, is_number);
    int bits = ir_element_info[a.value->type->element].bits;
    if (!a.exact) /* the bits of a NaN are free */
        a.value = ir_select(&g->builder, ir_math(&g->builder, IR_MATH_ISNAN, a.value, NULL),
                            ir_constant_int(&g->builder, a.value->type, 1), a.value);
    for (int tries = 0; tries < 40; tries++) {
        enum ir_element to = (enum ir_element)random_between(&g->random, IR_I8, IR_INDEX);
        if (ir_element_info[to].bits != bits || to == a.value->type->element)
            continue;
        const struct ir_type *type = fuzz_like(g, to, a.value->type);
        fuzz_know(g, ir_build_value(&g->builder, OP_BITCAST, type, 1, &a.value), 0, !ir_is_float(to));
        return;
    }
}

/* ---- shapes ---- */

static void iota(struct generator *g)
{
    int64_t length = INT64_C(1) << random_between(&g->random, 0, 6);
    static const enum ir_element elements[] = {IR_INDEX, IR_I8, IR_I16, IR_I32, IR_I64, IR_U8, IR_U16, IR_U32, IR_U64};
    enum ir_element element = elements[random_below(&g->random, 9)];
    fuzz_know(g, ir_build_value(&g->builder, OP_IOTA, ir_type_tile(g->context, element, 1, &length), 0, NULL), 0, true);
}

/* [4, 8] -> [1, 4, 8] -> [2, 4, 8]: None in an index, then a stretch */
static void expand(struct generator *g)
{
    struct known a = any_or_new(g, is_vector_up);
    const struct ir_type *type = a.value->type;
    int64_t shape[IR_MAX_RANK];
    int at = random_below(&g->random, type->rank + 1);
    for (int d = 0; d <= type->rank; d++)
        shape[d] = d < at ? type->extent[d] : d == at ? 1 : type->extent[d - 1];
    struct ir_value *thin = ir_build_value(&g->builder, OP_RESHAPE,
                                           ir_type_with_shape(g->context, type, type->rank + 1, shape), 1, &a.value);
    fuzz_know(g, thin, a.bound, a.exact);
    shape[at] = INT64_C(1) << random_below(&g->random, 4);
    if (ir_type_elements(thin->type) * shape[at] <= g->limits.max_elements)
        fuzz_know(g, ir_broadcast(&g->builder, thin, type->rank + 1, shape), a.bound, a.exact);
}

static void reshape(struct generator *g)
{
    struct known a = any_or_new(g, is_tile);
    int64_t left = ir_type_elements(a.value->type), shape[IR_MAX_RANK];
    int rank = random_between(&g->random, 1, g->limits.max_rank);
    for (int d = 0; d < rank; d++) {
        shape[d] = d == rank - 1 ? left : INT64_C(1) << random_below(&g->random, log2_floor((uint64_t)left) + 1);
        left /= shape[d];
    }
    const struct ir_type *type = ir_type_with_shape(g->context, a.value->type, rank, shape);
    fuzz_know(g, ir_build_value(&g->builder, OP_RESHAPE, type, 1, &a.value), a.bound, a.exact);
}

static void permute(struct generator *g)
{
    struct known a = any_or_new(g, is_tile);
    const struct ir_type *type = a.value->type;
    int64_t order[IR_MAX_RANK], shape[IR_MAX_RANK];
    for (int d = 0; d < type->rank; d++) {
        int other = random_below(&g->random, d + 1);
        order[d] = order[other];
        order[other] = d;
    }
    for (int d = 0; d < type->rank; d++)
        shape[d] = type->extent[order[d]];
    struct ir_value *made = ir_build_value(&g->builder, OP_PERMUTE,
                                           ir_type_with_shape(g->context, type, type->rank, shape), 1, &a.value);
    ir_set_list(made->definition, IR_ATTRIBUTE_PERMUTATION, type->rank, order);
    fuzz_know(g, made, a.bound, a.exact);
}

static void extract(struct generator *g)
{
    struct known a = any_or_new(g, is_tile);
    const struct ir_type *type = a.value->type;
    int64_t start[IR_MAX_RANK], shape[IR_MAX_RANK];
    for (int d = 0; d < type->rank; d++) {
        shape[d] = int64_max(1, type->extent[d] >> random_below(&g->random, 3));
        start[d] = shape[d] * random_below(&g->random, (int)(type->extent[d] / shape[d]));
    }
    struct ir_value *made = ir_build_value(&g->builder, OP_EXTRACT,
                                           ir_type_with_shape(g->context, type, type->rank, shape), 1, &a.value);
    ir_set_list(made->definition, IR_ATTRIBUTE_START, type->rank, start);
    fuzz_know(g, made, a.bound, a.exact);
}

/* ---- along an axis ---- */

static void flip(struct generator *g)
{
    struct known a = any_or_new(g, is_tile);
    struct ir_value *made = ir_build_value(&g->builder, OP_FLIP, a.value->type, 1, &a.value);
    ir_set_number(made->definition, IR_ATTRIBUTE_AXIS, random_below(&g->random, a.value->type->rank));
    fuzz_know(g, made, a.bound, a.exact);
}

static struct ir_value *half_along(struct generator *g, struct ir_value *value, int axis)
{
    const struct ir_type *type = value->type;
    int64_t start[IR_MAX_RANK] = {0}, shape[IR_MAX_RANK];
    for (int d = 0; d < type->rank; d++)
        shape[d] = d == axis ? type->extent[d] / 2 : type->extent[d];
    start[axis] = random_chance(&g->random, 50) ? shape[axis] : 0;
    struct ir_value *half = ir_build_value(&g->builder, OP_EXTRACT,
                                           ir_type_with_shape(g->context, type, type->rank, shape), 1, &value);
    ir_set_list(half->definition, IR_ATTRIBUTE_START, type->rank, start);
    return half;
}

/* A tile, and behind it itself, half of it, or others of its type. */
static void concatenate(struct generator *g)
{
    struct known a = any_or_new(g, is_tile), other;
    const struct ir_type *type = a.value->type;
    struct ir_value *parts[4] = {a.value};
    int64_t shape[IR_MAX_RANK];
    int axis = random_below(&g->random, type->rank), count = random_between(&g->random, 2, 4);
    for (int d = 0; d < type->rank; d++)
        shape[d] = type->extent[d];
    if (ir_type_elements(type) * count > g->limits.max_elements)
        return;
    for (int i = 1; i < count; i++) {
        bool new = random_chance(&g->random, 40);
        other = new ? fuzz_of_type(g, type, false) : a;
        parts[i] = other.value;
        if (!new && type->extent[axis] % 2 == 0 && random_chance(&g->random, 50))
            parts[i] = half_along(g, parts[i], axis);
        a.bound = a.bound > other.bound ? a.bound : other.bound;
        a.exact = a.exact && other.exact;
        shape[axis] += parts[i]->type->extent[axis];
    }
    struct ir_value *made = ir_build_value(&g->builder, OP_CONCATENATE,
                                           ir_type_with_shape(g->context, type, type->rank, shape), count, parts);
    ir_set_number(made->definition, IR_ATTRIBUTE_AXIS, axis);
    fuzz_know(g, made, a.bound, a.exact);
}

/* By an index that is mostly inside, where its element lets it. */
static void gather(struct generator *g)
{
    static const enum ir_element elements[] = {IR_INDEX, IR_I8, IR_I16, IR_I32, IR_I64, IR_U8, IR_U16, IR_U32, IR_U64};
    struct known a = any_or_new(g, is_tile);
    const struct ir_type *type = a.value->type;
    int64_t shape[IR_MAX_RANK];
    int axis = random_below(&g->random, type->rank);
    for (int d = 0; d < type->rank; d++)
        shape[d] = type->extent[d];
    if (random_chance(&g->random, 40))
        shape[axis] = INT64_C(1) << random_below(&g->random, 4);
    const struct ir_type *like = ir_type_with_shape(g->context, type, type->rank, shape);
    if (ir_type_elements(like) > g->limits.max_elements)
        return;
    struct ir_value *index = fuzz_of_type(g, fuzz_like(g, elements[random_below(&g->random, 9)], like), false).value;
    if (type->extent[axis] < 64 && random_chance(&g->random, 80))
        index = ir_binary(&g->builder, OP_AND, index,
                          ir_constant_int(&g->builder, index->type, 2 * type->extent[axis] - 1));
    struct ir_value *made = ir_build_value(&g->builder, OP_GATHER, like, 2, (struct ir_value *[]){a.value, index});
    ir_set_number(made->definition, IR_ATTRIBUTE_AXIS, axis);
    fuzz_know(g, made, a.bound, a.exact);
}

/* ---- across elements ---- */

static const struct ir_type *without_axis(struct generator *g, const struct ir_type *type, int axis)
{
    int64_t shape[IR_MAX_RANK];
    int rank = 0;
    for (int d = 0; d < type->rank; d++)
        if (d != axis)
            shape[rank++] = type->extent[d];
    return ir_type_with_shape(g->context, type, rank, shape);
}

/* A kind for the tile, which it makes such that no order rounds.  `lines`: elements that come together. */
static enum ir_reduce_kind choose_kind(struct generator *g, struct known *a, double lines)
{
    const struct ir_type *type = a->value->type;
    enum ir_reduce_kind kind;
    if (type->element == IR_BOOL)
        return (const enum ir_reduce_kind[]){IR_REDUCE_AND, IR_REDUCE_OR, IR_REDUCE_XOR}[random_below(&g->random, 3)];
    if (!ir_is_float(type->element))
        return (enum ir_reduce_kind)random_below(&g->random, IR_REDUCE_REGION);
    kind = (const enum ir_reduce_kind[]){IR_REDUCE_ADD, IR_REDUCE_MIN, IR_REDUCE_MAX,
                                         IR_REDUCE_MUL}[random_below(&g->random, a->exact ? 4 : 3)];
    if (kind == IR_REDUCE_MUL) { /* of signs */
        a->value = fuzz_clamp(g, a->value, 1);
        a->bound = 1;
    } else if (kind == IR_REDUCE_ADD && (!a->exact || a->bound * lines > fuzz_limit(type->element))) {
        a->bound = floor(fuzz_limit(type->element) / lines);
        a->value = fuzz_clamp(g, fuzz_of_type(g, type, true).value, a->bound);
        a->exact = true;
    }
    if (kind == IR_REDUCE_ADD)
        a->bound *= lines;
    return kind;
}

static void reduce(struct generator *g)
{
    struct known a = any_or_new(g, is_tile);
    int axis = random_below(&g->random, a.value->type->rank);
    if (a.value->type->element == IR_POINTER)
        return;
    enum ir_reduce_kind kind = choose_kind(g, &a, (double)a.value->type->extent[axis]);
    const struct ir_type *result = without_axis(g, a.value->type, axis);
    struct ir_operation *made = ir_build(&g->builder, OP_REDUCE, 1, &a.value, 1, &result);
    ir_set_number(made, IR_ATTRIBUTE_AXIS, axis);
    ir_set_number(made, IR_ATTRIBUTE_KIND, kind);
    if (random_chance(&g->random, 50))
        ir_set_number(made, IR_ATTRIBUTE_NAN, random_below(&g->random, IR_NAN_COUNT));
    if (random_chance(&g->random, 20))
        ir_set_number(made, IR_ATTRIBUTE_FIXED, 1);
    fuzz_know(g, made->results[0], a.bound, a.exact);
}

/* Where a scan goes, and how. */
static void set_scan(struct generator *g, struct ir_operation *made, int axis, int kind, bool exclusive)
{
    ir_set_number(made, IR_ATTRIBUTE_AXIS, axis);
    ir_set_number(made, IR_ATTRIBUTE_KIND, kind);
    if (random_chance(&g->random, 40))
        ir_set_number(made, IR_ATTRIBUTE_REVERSE, 1);
    if (exclusive)
        ir_set_number(made, IR_ATTRIBUTE_EXCLUSIVE, 1);
    if (random_chance(&g->random, 30))
        ir_set_number(made, IR_ATTRIBUTE_FIXED, 1);
    if (random_chance(&g->random, 30))
        ir_set_number(made, IR_ATTRIBUTE_NAN, random_below(&g->random, IR_NAN_COUNT));
}

static void scan(struct generator *g)
{
    struct known a = any_or_new(g, is_tile), first = {0};
    const struct ir_type *type = a.value->type;
    int axis = random_below(&g->random, type->rank);
    if (type->element == IR_POINTER)
        return;
    bool exclusive = random_chance(&g->random, 40);
    enum ir_reduce_kind kind = choose_kind(g, &a, (double)type->extent[axis] + 1);
    if (exclusive) {
        first = fuzz_of_type(g, ir_type_with_shape(g->context, type, 0, NULL), ir_is_float(type->element));
        bool bounded = ir_is_float(type->element) && (kind == IR_REDUCE_ADD || kind == IR_REDUCE_MUL);
        if (bounded)
            first.value = fuzz_clamp(g, first.value, 1);
        else if (ir_is_float(type->element) && first.bound > a.bound)
            a.bound = first.bound;
    }
    struct ir_operation *made = ir_build(&g->builder, OP_SCAN, exclusive ? 2 : 1,
                                         (struct ir_value *[]){a.value, first.value}, 1, &type);
    set_scan(g, made, axis, (int)kind, exclusive);
    fuzz_know(g, made->results[0], a.bound, a.exact);
}

/* Lines, or the first elements of them, alone or with a tile that follows; some results are used by nobody. */
static void sort(struct generator *g)
{
    struct known tiles[2] = {any_or_new(g, is_tile)};
    const struct ir_type *type = tiles[0].value->type, *results[3];
    if (type->element == IR_POINTER)
        return;
    int axis = random_below(&g->random, type->rank), count = random_between(&g->random, 1, 2);
    int64_t shape[IR_MAX_RANK];
    for (int d = 0; d < type->rank; d++)
        shape[d] = type->extent[d];
    if (random_chance(&g->random, 50))
        shape[axis] = INT64_C(1) << random_below(&g->random, log2_floor((uint64_t)shape[axis]) + 1);
    tiles[1] = count > 1 ? fuzz_of_type(g, fuzz_like(g, fuzz_element(g), type), false) : tiles[0];
    struct ir_value *operands[2] = {tiles[0].value, tiles[1].value};
    for (int i = 0; i < count; i++)
        results[i] = ir_type_with_shape(g->context, operands[i]->type, type->rank, shape);
    results[count] = ir_type_tile(g->context, IR_INDEX, type->rank, shape);
    struct ir_operation *made = ir_build(&g->builder, OP_SORT, count, operands, count + 1, results);
    ir_set_number(made, IR_ATTRIBUTE_AXIS, axis);
    if (random_chance(&g->random, 50))
        ir_set_number(made, IR_ATTRIBUTE_DESCENDING, 1);
    for (int i = 0; i <= count; i++)
        if (random_chance(&g->random, 70))
            fuzz_know(g, made->results[i], i < count ? tiles[i].bound : 0, i == count || tiles[i].exact);
}

/* Of numbers around the bins; some are below, and some above. */
static void histogram(struct generator *g)
{
    struct known a = any_or_new(g, is_tile);
    const struct ir_type *type = a.value->type;
    int64_t bins = INT64_C(1) << random_below(&g->random, 7);
    if (!ir_is_integer(type->element))
        return;
    struct ir_value *numbers = a.value;
    if (random_chance(&g->random, 70)) {
        struct ir_value *most = ir_constant_int(&g->builder, type, bins < 64 ? 2 * bins : 127);
        numbers = ir_binary(&g->builder, OP_REM, numbers, most);
    }
    struct ir_value *made = ir_build_value(&g->builder, OP_HISTOGRAM, ir_type_tile(g->context, IR_I32, 1, &bins), 1,
                                           &numbers);
    fuzz_know(g, made, 0, true);
}

static void philox(struct generator *g)
{
    const struct ir_type *scalar = ir_type_scalar(g->context, IR_U64), *counter = fuzz_type(g, IR_U64);
    struct ir_value *operands[2] = {fuzz_of_type(g, scalar, false).value, fuzz_of_type(g, counter, false).value};
    const struct ir_type *word = ir_type_with_element(g->context, counter, IR_U32);
    const struct ir_type *results[4] = {word, word, word, word};
    struct ir_operation *made = ir_build(&g->builder, OP_PHILOX, 2, operands, 4, results);
    for (int i = 0; i < 4; i++)
        fuzz_know(g, made->results[i], 0, true);
}

/* Where in the grid, in any integer. */
static void grid(struct generator *g)
{
    static const enum ir_element elements[] = {IR_INDEX, IR_I8, IR_I16, IR_I32, IR_I64, IR_U8, IR_U16, IR_U32, IR_U64};
    if (g->pure)
        return;
    struct ir_value *made = ir_build_value(&g->builder, random_chance(&g->random, 50) ? OP_GRID_INDEX : OP_GRID_SIZE,
                                           ir_type_scalar(g->context, elements[random_below(&g->random, 9)]), 0, NULL);
    ir_set_number(made->definition, IR_ATTRIBUTE_DIMENSION, random_below(&g->random, g->program->function->grid_rank));
    fuzz_know(g, made, 0, true);
}

/* A nested scope that sees only its own arguments: enters, runs statements, and leaves the pool as it was. */
static void inside_scope(struct generator *g, struct ir_block *block, struct generator *kept)
{
    *kept = *g;
    g->builder = (struct ir_builder){.module = g->builder.module, .block = block};
    g->pool.data = NULL;
    g->pool.count = g->pool.capacity = 0;
    g->pure = g->scalars_only = true;
}

static void leave_scope(struct generator *g, const struct generator *kept)
{
    struct random random = g->random;
    *g = *kept;
    g->random = random;
}

static void map(struct generator *g)
{
    if (g->scalars_only)
        return;
    struct known a = any_or_new(g, is_tile);
    int count = random_between(&g->random, 1, 3), results = random_between(&g->random, 1, 2);
    struct known operands[3] = {a};
    struct ir_value *values[3] = {a.value};
    for (int i = 1; i < count; i++) {
        operands[i] = fuzz_of_type(g, fuzz_like(g, fuzz_element(g), a.value->type), false);
        values[i] = operands[i].value;
    }
    const struct ir_type *types[2];
    for (int i = 0; i < results; i++)
        types[i] = fuzz_like(g, fuzz_element(g), a.value->type);
    struct ir_operation *made = ir_build(&g->builder, OP_MAP, count, values, results, types);
    struct generator kept;
    struct known yielded[2];
    struct ir_value *out[2];
    inside_scope(g, made->regions[0], &kept);
    for (int i = 0; i < count; i++) {
        const struct ir_type *type = ir_type_with_shape(g->context, values[i]->type, 0, NULL);
        fuzz_know(g, ir_block_argument(made->regions[0], type, NULL), operands[i].bound, operands[i].exact);
    }
    fuzz_statements(g, random_between(&g->random, 1, 6));
    for (int i = 0; i < results; i++) {
        yielded[i] = fuzz_of_type(g, ir_type_scalar(g->context, types[i]->element), false);
        out[i] = yielded[i].value;
    }
    ir_build(&g->builder, OP_YIELD, results, out, 0, NULL);
    leave_scope(g, &kept);
    for (int i = 0; i < results; i++)
        fuzz_know(g, made->results[i], yielded[i].bound, yielded[i].exact);
}

/* Associative functions of pairs; the order of the operands shows in all of them. */
static void combine(struct generator *g, int which, struct ir_value *const *v, struct ir_value **out)
{
    struct ir_builder *b = &g->builder;
    if (which == 0) { /* larger key with its companion, ties to the left */
        struct ir_value *right = ir_compare(b, IR_PREDICATE_GT, v[2], v[0]);
        out[0] = ir_select(b, right, v[2], v[0]);
        out[1] = ir_select(b, right, v[3], v[1]);
    } else if (which == 1) { /* affine maps, left first: x -> (x*a + b)*c + d */
        out[0] = ir_binary(b, OP_MUL, v[0], v[2]);
        out[1] = ir_binary(b, OP_ADD, ir_binary(b, OP_MUL, v[1], v[2]), v[3]);
    } else { /* first and last */
        out[0] = v[0];
        out[1] = v[3];
    }
}

struct pairs {
    struct known a, b;
    int which, axis;
};

static bool choose_pairs(struct generator *g, struct pairs *p)
{
    p->a = any_or_new(g, is_tile);
    const struct ir_type *type = p->a.value->type;
    if (!type->rank)
        return false;
    p->which = random_below(&g->random, 3);
    p->axis = random_below(&g->random, type->rank);
    if (type->element == IR_BOOL || type->element == IR_POINTER || (p->which == 1 && !ir_is_integer(type->element)) ||
        (p->which == 0 && !p->a.exact))
        p->which = 2;
    const struct ir_type *other = p->which == 1 ? type : fuzz_like(g, fuzz_element(g), type);
    p->b = fuzz_of_type(g, other, false);
    return true;
}

static void combine_pairs(struct generator *g, const struct pairs *p, struct ir_operation *made)
{
    struct generator kept;
    struct ir_value *v[4], *out[2];
    inside_scope(g, made->regions[0], &kept);
    for (int i = 0; i < 4; i++)
        v[i] = ir_block_argument(made->regions[0],
                                 ir_type_with_shape(g->context, (i & 1 ? p->b : p->a).value->type, 0, NULL), NULL);
    combine(g, p->which, v, out);
    ir_build(&g->builder, OP_YIELD, 2, out, 0, NULL);
    leave_scope(g, &kept);
    fuzz_know(g, made->results[0], p->a.bound, p->a.exact);
    fuzz_know(g, made->results[1], p->b.bound, p->b.exact);
}

void fuzz_reduce_region(struct generator *g)
{
    struct pairs p;
    if (!choose_pairs(g, &p))
        return;
    const struct ir_type *results[2] = {without_axis(g, p.a.value->type, p.axis),
                                        without_axis(g, p.b.value->type, p.axis)};
    struct ir_operation *made = ir_build(&g->builder, OP_REDUCE, 2, (struct ir_value *[]){p.a.value, p.b.value}, 2,
                                         results);
    ir_set_number(made, IR_ATTRIBUTE_AXIS, p.axis);
    ir_set_number(made, IR_ATTRIBUTE_KIND, IR_REDUCE_REGION);
    if (random_chance(&g->random, 30))
        ir_set_number(made, IR_ATTRIBUTE_FIXED, 1);
    if (random_chance(&g->random, 30)) /* the function says itself what it does */
        ir_set_number(made, IR_ATTRIBUTE_NAN, random_below(&g->random, IR_NAN_COUNT));
    combine_pairs(g, &p, made);
}

static void scan_region(struct generator *g)
{
    struct pairs p;
    if (!choose_pairs(g, &p))
        return;
    bool exclusive = random_chance(&g->random, 40);
    struct ir_value *operands[4] = {p.a.value, p.b.value};
    const struct ir_type *results[2] = {p.a.value->type, p.b.value->type};
    for (int i = 0; exclusive && i < 2; i++) {
        struct known *known = i ? &p.b : &p.a;
        struct known first = fuzz_of_type(g, ir_type_with_shape(g->context, results[i], 0, NULL), known->exact);
        operands[2 + i] = first.value;
        known->bound = first.bound > known->bound ? first.bound : known->bound;
    }
    struct ir_operation *made = ir_build(&g->builder, OP_SCAN, exclusive ? 4 : 2, operands, 2, results);
    set_scan(g, made, p.axis, IR_REDUCE_REGION, exclusive);
    combine_pairs(g, &p, made);
}

/* A pure function of the module and a call of it. */
static void call(struct generator *g)
{
    if (g->pure)
        return;
    char name[24];
    snprintf(name, sizeof name, "helper%d", g->program->helpers++);
    struct ir_function *function = ir_function_create(g->program->module, name, (struct location){0});
    int count = random_between(&g->random, 1, 3), results = random_between(&g->random, 1, 2);
    struct known operands[3], yielded[2];
    struct ir_value *values[3], *out[2];
    const struct ir_type *types[2];
    for (int i = 0; i < count; i++) {
        operands[i] = any_or_new(g, NULL);
        values[i] = operands[i].value;
    }
    struct generator kept;
    inside_scope(g, function->body, &kept);
    g->scalars_only = false;
    for (int i = 0; i < count; i++)
        fuzz_know(g, ir_block_argument(function->body, values[i]->type, NULL), operands[i].bound, operands[i].exact);
    fuzz_statements(g, random_between(&g->random, 1, 8));
    for (int i = 0; i < results; i++) {
        if (!fuzz_any(g, NULL, &yielded[i]))
            yielded[i] = g->pool.data[0];
        out[i] = yielded[i].value;
        types[i] = out[i]->type;
        vector_push(g->arena, &function->results, types[i]);
    }
    ir_build(&g->builder, OP_RETURN, results, out, 0, NULL);
    leave_scope(g, &kept);
    struct ir_operation *made = ir_build(&g->builder, OP_CALL, count, values, results, types);
    ir_set_name(made, IR_ATTRIBUTE_CALLEE, function->name);
    for (int i = 0; i < results; i++)
        fuzz_know(g, made->results[i], yielded[i].bound, yielded[i].exact);
}

typedef void statement(struct generator *g);

void fuzz_pure_statement(struct generator *g)
{
    static statement *const any_rank[] = {integer_binary,
                                          integer_binary,
                                          integer_binary,
                                          bool_operation,
                                          float_binary,
                                          float_binary,
                                          unary,
                                          unary,
                                          unary,
                                          math,
                                          math,
                                          math,
                                          math,
                                          fma_operation,
                                          compare_or_select,
                                          compare_or_select,
                                          compare_or_select,
                                          compare_or_select,
                                          integer_binary,
                                          float_binary,
                                          cast,
                                          cast,
                                          cast,
                                          cast,
                                          cast,
                                          bitcast,
                                          bitcast};
    static statement *const with_tiles[] = {
        iota,     expand,   reshape,  permute, extract, flip,        concatenate,
        gather,   reduce,   reduce,   reduce,  scan,    scan_region, fuzz_reduce_region,
        fuzz_dot, fuzz_dot, fuzz_dot, philox,  map,     call,        grid,
        sort,     sort,     histogram};
    if (g->scalars_only || random_chance(&g->random, 62))
        any_rank[random_below(&g->random, (int)(sizeof any_rank / sizeof *any_rank))](g);
    else
        with_tiles[random_below(&g->random, (int)(sizeof with_tiles / sizeof *with_tiles))](g);
}
