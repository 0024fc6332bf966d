/* Between divisibility_rules.c, which says what operations make of powers of two, and the two walks that use it. */
#ifndef TILECC_IR_DIVISIBILITY_RULES_H
#define TILECC_IR_DIVISIBILITY_RULES_H
#include "ir/facts/analysis.h"

/* Where the rules find what is known of operands. */
struct divisibility_source {
    struct divisibility (*of)(const struct divisibility_source *source, const struct ir_value *value);
    const struct ranges *ranges; /* NULL: nothing is known */
    bool guesses;                /* see divisibility_guess */
};

/* The largest power of two that divides the number, at most 2^30. */
int64_t divisibility_power(int64_t number);
/* Nothing is known of values that are not tracked. */
bool divisibility_is_tracked(const struct ir_value *value);
struct divisibility divisibility_unknown(const struct ir_type *type);
/* What holds whichever of the two a value is. */
struct divisibility divisibility_meet(struct divisibility a, struct divisibility b);
bool divisibility_same(const struct divisibility *a, const struct divisibility *b);
/* Of an argument of the function, by its facts. */
struct divisibility divisibility_of_argument(const struct ir_value *value);
/* Of the only result of an operation that has no regions. */
struct divisibility divisibility_evaluate(const struct divisibility_source *source, const struct ir_operation *op);

/* What the scalar is a cast of, with the same 32 lowest bits at least: powers of two below divide both or none. */
const struct ir_value *divisibility_uncast(const struct ir_value *value);
/* The scalar that a condition says to be 0:  compare predicate(eq) %scalar, 0     NULL: it says something else. */
const struct ir_value *divisibility_told_zero(const struct ir_value *condition);
/* The scalar that a condition says to be a multiple of *by:  %rest = rem %scalar, by   compare predicate(eq) %rest, 0
 * or:  %rest = and %scalar, by - 1   ...   NULL: it says something else. */
const struct ir_value *divisibility_told(const struct ir_value *condition, int64_t *by);
/* What a value that goes round a while, and that its condition passes on as it is, becomes as far as the body sees it:
 *     %next = select %wraps, %end, %sum         while %k < %end
 * is %sum, as the body does not run with %end.  NULL: the condition makes something else of it. */
const struct ir_value *divisibility_next(const struct ir_operation *loop, int number);
#endif
