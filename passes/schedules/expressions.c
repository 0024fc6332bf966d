/* see expressions.h
 *
 * The rules make few operations of a count that the front end has written out for all cases:
 *
 *   max(x, 0)                   x                 x counts something
 *   (x + 63) / 64               cdiv(x, 64)
 *   cdiv(cdiv(x, 64), 2)        cdiv(x, 128)
 *   cdiv(x*64, 64)              x
 *   cdiv(min(x, y), 64)         min(cdiv(x, 64), cdiv(y, 64))
 *   min(cdiv(x, 64), cdiv(x, 128))      cdiv(x, 128) */
#include "passes/schedules/expressions.h"

typedef const struct kernel_expression *expression;

expression expression_leaf(struct arena *arena, enum kernel_host_op op, int64_t number)
{
    struct kernel_expression *e = ARENA_NEW(arena, struct kernel_expression);
    *e = (struct kernel_expression){.op = op, .number = number};
    return e;
}

static bool is_number(expression e, int64_t number) { return e->op == KERNEL_HOST_CONSTANT && e->number == number; }
static bool is_positive(expression e) { return e->op == KERNEL_HOST_CONSTANT && e->number > 0; }

/* Whether it cannot be negative by its form. */
static bool is_count(expression e)
{
    switch (e->op) {
    case KERNEL_HOST_CONSTANT: return e->number >= 0;
    case KERNEL_HOST_NAME:
    case KERNEL_HOST_EXTENT:
    case KERNEL_HOST_SM_COUNT: return true;
    case KERNEL_HOST_MAX: return is_count(e->operand[0]) || is_count(e->operand[1]);
    case KERNEL_HOST_ADD:
    case KERNEL_HOST_MUL:
    case KERNEL_HOST_DIV:
    case KERNEL_HOST_CDIV:
    case KERNEL_HOST_MIN: return is_count(e->operand[0]) && is_count(e->operand[1]);
    default: return false;
    }
}

static int64_t compute(enum kernel_host_op op, int64_t a, int64_t b)
{
    int64_t result;
    switch (op) {
    case KERNEL_HOST_ADD: return __builtin_add_overflow(a, b, &result) ? INT64_MAX : result;
    case KERNEL_HOST_SUB: return __builtin_sub_overflow(a, b, &result) ? INT64_MAX : result;
    case KERNEL_HOST_MUL: return __builtin_mul_overflow(a, b, &result) ? INT64_MAX : result;
    case KERNEL_HOST_DIV: return b > 0 ? a / b : 0;
    case KERNEL_HOST_REM: return b > 0 ? a % b : a;
    case KERNEL_HOST_CDIV: return b > 0 ? a / b + (a % b > 0) : 0;
    case KERNEL_HOST_MIN: return a < b ? a : b;
    case KERNEL_HOST_MAX: return a > b ? a : b;
    case KERNEL_HOST_EQ: return a == b;
    case KERNEL_HOST_NE: return a != b;
    case KERNEL_HOST_LT: return a < b;
    case KERNEL_HOST_LE: return a <= b;
    case KERNEL_HOST_GT: return a > b;
    case KERNEL_HOST_GE: return a >= b;
    case KERNEL_HOST_AND: return a && b;
    case KERNEL_HOST_OR: return a || b;
    case KERNEL_HOST_BIT_AND: return a & b;
    default: return 0;
    }
}

static expression make_sum(struct arena *arena, expression a, expression b)
{
    if (is_number(a, 0))
        return b;
    if (is_number(b, 0))
        return a;
    if (a->op == KERNEL_HOST_ADD && a->operand[1]->op == KERNEL_HOST_CONSTANT && b->op == KERNEL_HOST_CONSTANT)
        return expression_make(arena, KERNEL_HOST_ADD, a->operand[0],
                               expression_make(arena, KERNEL_HOST_ADD, a->operand[1], b));
    return NULL;
}

static expression make_quotient_up(struct arena *arena, expression a, expression b)
{
    if (is_number(b, 1))
        return a;
    if (!is_positive(b))
        return NULL;
    if (a->op == KERNEL_HOST_CDIV && is_positive(a->operand[1]))
        return expression_make(arena, KERNEL_HOST_CDIV, a->operand[0],
                               expression_make(arena, KERNEL_HOST_MUL, a->operand[1], b));
    if (a->op == KERNEL_HOST_MUL && kernel_expression_same(a->operand[1], b))
        return a->operand[0];
    if (a->op == KERNEL_HOST_MIN)
        return expression_make(arena, KERNEL_HOST_MIN, expression_make(arena, KERNEL_HOST_CDIV, a->operand[0], b),
                               expression_make(arena, KERNEL_HOST_CDIV, a->operand[1], b));
    return NULL;
}

static expression make_quotient(struct arena *arena, expression a, expression b)
{
    if (is_number(b, 1))
        return a;
    if (is_positive(b) && a->op == KERNEL_HOST_ADD && is_number(a->operand[1], b->number - 1) &&
        is_count(a->operand[0]))
        return expression_make(arena, KERNEL_HOST_CDIV, a->operand[0], b);
    return NULL;
}

static expression make_least(expression a, expression b)
{
    if (kernel_expression_same(a, b))
        return a;
    if (a->op == KERNEL_HOST_CDIV && b->op == KERNEL_HOST_CDIV && is_positive(a->operand[1]) &&
        is_positive(b->operand[1]) && kernel_expression_same(a->operand[0], b->operand[0]))
        return a->operand[1]->number > b->operand[1]->number ? a : b;
    return NULL;
}

static expression simplify(struct arena *arena, enum kernel_host_op op, expression a, expression b)
{
    if (a->op == KERNEL_HOST_CONSTANT && b->op == KERNEL_HOST_CONSTANT)
        return expression_leaf(arena, KERNEL_HOST_CONSTANT, compute(op, a->number, b->number));
    switch (op) {
    case KERNEL_HOST_ADD: return make_sum(arena, a, b);
    case KERNEL_HOST_SUB: return is_number(b, 0) ? a : NULL;
    case KERNEL_HOST_MUL:
        if (is_number(a, 0) || is_number(b, 1))
            return a;
        return is_number(b, 0) || is_number(a, 1) ? b : NULL;
    case KERNEL_HOST_CDIV: return make_quotient_up(arena, a, b);
    case KERNEL_HOST_DIV: return make_quotient(arena, a, b);
    case KERNEL_HOST_MAX: return is_number(b, 0) && is_count(a) ? a : is_number(a, 0) && is_count(b) ? b : NULL;
    case KERNEL_HOST_MIN: return make_least(a, b);
    default: return NULL;
    }
}

expression expression_make(struct arena *arena, enum kernel_host_op op, expression a, expression b)
{
    if (!a || !b)
        return NULL;
    expression simple = simplify(arena, op, a, b);
    if (simple)
        return simple;
    struct kernel_expression *e = ARENA_NEW(arena, struct kernel_expression);
    *e = (struct kernel_expression){.op = op, .operand = {a, b}};
    return e;
}

int64_t expression_leaf_value(const struct expression_point *point, enum kernel_host_op op, int64_t number)
{
    switch (op) {
    case KERNEL_HOST_CONSTANT: return number;
    case KERNEL_HOST_NAME: return point->names[number];
    case KERNEL_HOST_KEY: return point->keys[number];
    case KERNEL_HOST_SCALAR: return point->scalars[number];
    case KERNEL_HOST_SM_COUNT: return point->processors;
    case KERNEL_HOST_STRIDE: return point->pitches[number];
    default: return 0;
    }
}

int64_t expression_apply(enum kernel_host_op op, const int64_t operand[3])
{
    return op == KERNEL_HOST_SELECT ? operand[operand[0] ? 1 : 2] : compute(op, operand[0], operand[1]);
}

int64_t expression_value(const struct expression_point *point, expression e)
{
    if (!e->operand[0] || !e->operand[1])
        return expression_leaf_value(point, e->op, e->number);
    int64_t operand[3] = {0};
    for (int i = 0; i < 3 && e->operand[i]; i++)
        operand[i] = expression_value(point, e->operand[i]);
    return expression_apply(e->op, operand);
}
