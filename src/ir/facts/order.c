/* See order.h.  What is looked for is how far a maximum has moved:
 *
 *     %m2 = max %m, …                        m <= m2
 *     %ms = select %m2 > -inf, %m2 * %c, 0   m * c <= ms, where c is known to be positive
 *     %f = exp2 (%m * %c - %ms)              0 <= f <= 1
 *
 * All rules hold for infinities; where one side is NaN nothing is claimed. */
#include "ir/facts/order.h"

#include <math.h>

enum { MOST_STEPS = 8 };

/* What every element of the value is, or what it repeats. */
static const struct ir_value *behind_copies(const struct ir_value *value)
{
    while (value->definition && (value->definition->opcode == OP_SPLAT || value->definition->opcode == OP_BROADCAST ||
                                 value->definition->opcode == OP_RESHAPE))
        value = value->definition->operands[0];
    return value;
}

static bool is_constant_float(const struct ir_value *value, double *number)
{
    value = behind_copies(value);
    uint64_t bits;
    if (!ir_is_float(value->type->element) || !ir_constant_of(value, &bits))
        return false;
    *number = ir_bits_to_double(value->type->element, bits);
    return true;
}

/* Whether an assumption of the function's body says that the value is positive. */
static bool is_assumed_positive(const struct ir_value *value)
{
    double number;
    for (const struct ir_use *use = value->uses; use; use = use->next) {
        const struct ir_operation *compare = use->user;
        if (compare->opcode != OP_COMPARE || use->index != 0 ||
            ir_number(compare, IR_ATTRIBUTE_PREDICATE, 0) != IR_PREDICATE_GT ||
            !is_constant_float(compare->operands[1], &number) || !(number >= 0))
            continue;
        for (const struct ir_use *other = compare->results[0]->uses; other; other = other->next)
            if (other->user->opcode == OP_ASSUME && !other->user->block->parent)
                return true;
    }
    return false;
}

/* Zero or more, or NaN. */
static bool is_not_negative(const struct ir_value *value, int steps)
{
    double number;
    value = behind_copies(value);
    const struct ir_operation *op = value->definition;
    if (is_constant_float(value, &number))
        return number >= 0;
    if (is_assumed_positive(value))
        return true;
    return op && op->opcode == OP_MUL && steps > 0 && is_not_negative(op->operands[0], steps - 1) &&
           is_not_negative(op->operands[1], steps - 1);
}

/* a <= b, or one of them is NaN. */
static bool is_at_most(const struct ir_value *a, const struct ir_value *b, int steps)
{
    const struct ir_operation *one = a->definition, *other = b->definition;
    if (a == b)
        return true;
    if (!other || steps == 0)
        return false;
    if (other->opcode == OP_MAX && ir_number(other, IR_ATTRIBUTE_NAN, IR_NAN_SKIP) == IR_NAN_SKIP)
        return is_at_most(a, other->operands[0], steps - 1) || is_at_most(a, other->operands[1], steps - 1);
    if (!one || one->opcode != OP_MUL)
        return false;
    if (other->opcode == OP_MUL) {
        for (int i = 0; i < 4; i++) { /* the factor that both have */
            const struct ir_value *factor = one->operands[i & 1];
            if (behind_copies(factor) == behind_copies(other->operands[i >> 1]) && is_not_negative(factor, steps - 1) &&
                is_at_most(one->operands[1 - (i & 1)], other->operands[1 - (i >> 1)], steps - 1))
                return true;
        }
        return false;
    }
    if (other->opcode != OP_SELECT || !is_at_most(a, other->operands[1], steps - 1))
        return false;
    /* Where the condition fails, what a multiplies is -inf or NaN, as what is no less than it: of a maximum that skips NaN
     * each operand is NaN then.  One that propagates it may be NaN beside any number. */
    const struct ir_operation *compare = other->operands[0]->definition;
    double number;
    if (!compare || compare->opcode != OP_COMPARE || ir_number(compare, IR_ATTRIBUTE_PREDICATE, 0) != IR_PREDICATE_GT ||
        !is_constant_float(compare->operands[1], &number) || !isinf(number) || number > 0)
        return false;
    for (int i = 0; i < 2; i++)
        if (is_at_most(one->operands[i], compare->operands[0], steps - 1) &&
            is_not_negative(one->operands[1 - i], steps - 1))
            return true;
    return false;
}

bool order_is_fraction(const struct ir_value *value)
{
    double number;
    value = behind_copies(value);
    if (is_constant_float(value, &number))
        return number >= 0 && number <= 1;
    const struct ir_operation *op = value->definition;
    int64_t function = op && op->opcode == OP_MATH ? ir_number(op, IR_ATTRIBUTE_FUNCTION, 0) : -1;
    const struct ir_operation *difference = function == IR_MATH_EXP || function == IR_MATH_EXP2
                                                ? op->operands[0]->definition
                                                : NULL;
    return difference && difference->opcode == OP_SUB &&
           is_at_most(difference->operands[0], difference->operands[1], MOST_STEPS);
}
