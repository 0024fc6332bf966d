/* Host expressions (ir/kernel.h) that are made of others, and their values at one point. */
#ifndef TILECC_SCHEDULES_EXPRESSIONS_H
#define TILECC_SCHEDULES_EXPRESSIONS_H
#include "ir/kernel.h"

const struct kernel_expression *expression_leaf(struct arena *arena, enum kernel_host_op op, int64_t number);
/* Of two operands, where both are there, else NULL.  Simplified by what holds where extents are not negative. */
const struct kernel_expression *expression_make(struct arena *arena, enum kernel_host_op op,
                                                const struct kernel_expression *a, const struct kernel_expression *b);

/* What the names of an entry, its keys and scalars are, the strides of its views, and the multiprocessors. */
struct expression_point {
    const int64_t *names, *keys, *scalars, *pitches; /* one an entry->names, ->keys, ->parameters twice */
    int64_t processors;
};
/* i64 that does not overflow; of what a point does not say: 0. */
int64_t expression_value(const struct expression_point *point, const struct kernel_expression *e);
/* The two halves of that: of an expression without two operands, and of one from the values of its operands. */
int64_t expression_leaf_value(const struct expression_point *point, enum kernel_host_op op, int64_t number);
int64_t expression_apply(enum kernel_host_op op, const int64_t operand[3]);
#endif
