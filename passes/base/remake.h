/* Values made again: for another iteration of a loop, in front of it, or for a role of the kernel.
 *
 *     for %k … { %i = add %k, %base   %v = load %x[%i] … }
 * where %n stands for %k, %v is
 *     %j = add %n, %base   %w = load %x[%j]
 *
 * A map says what stands for a value: for the loop's variable and what the loop carries, which the caller sets, and for
 * what has been made again.  What is not made in the loop is the same in every iteration, and stays. */
#ifndef TILECC_PASSES_REMAKE_H
#define TILECC_PASSES_REMAKE_H
#include "ir/query.h"

struct remake {
    const struct ir_operation *loop; /* whose values are made again; NULL: the caller makes all that is */
    struct ir_value **map;           /* by id: what stands for the value; NULL: nothing yet */
    int count;                       /* of ids; values made later stay */
    const struct remake *loads;      /* what makes loads, for an iteration in which they may read; NULL: this does */
};
/* A map in which nothing stands for the function's values. */
struct remake remake_open(struct arena *arena, const struct ir_function *function, const struct ir_operation *loop);

static inline void remake_set(const struct remake *again, const struct ir_value *value, struct ir_value *made)
{
    again->map[value->id] = made;
}
/* What stands for the value; the value itself where nothing does. */
static inline struct ir_value *remake_find(const struct remake *again, struct ir_value *value)
{
    return value->id < again->count && again->map[value->id] ? again->map[value->id] : value;
}
/* The same operation of what stands for its operands; its results then stand for the old ones. */
static inline struct ir_operation *remake_operation(const struct remake *again, struct ir_builder *builder,
                                                    const struct ir_operation *op)
{
    return ir_clone(builder, op, again->map);
}
/* What stands for the value, made at the builder's point with all that it needs where nothing stands for it yet. */
struct ir_value *remake_value(const struct remake *again, struct ir_builder *builder, struct ir_value *value);
#endif
