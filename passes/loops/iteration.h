/* What passes that work for other iterations of a `for` ask: which way it counts, whether an iteration comes, how far
 * away its variable is, and what can be read for it.  What a value is in another iteration is in passes/base/remake.h. */
#ifndef TILECC_PASSES_ITERATION_H
#define TILECC_PASSES_ITERATION_H
#include "ir/ir.h"

/* Why what an operation reads in the body of a loop cannot be read for iterations to come, or why nothing in this loop
 * can; NULL: it can. */
const char *iteration_read_problem(const struct ir_operation *loop, const struct ir_operation *reader);
const char *iteration_loop_problem(const struct ir_operation *loop);
/* A store of the loop to places of the load's own view that other iterations do not read:
 *     %own = load %x[%i, %p]     store %x[%i, %p], %s
 * Along some dimension both have the same index, and it grows by at least as much as either covers.  The store stands
 * behind the load, so that what the load reads is written in later operations or earlier iterations alone, and these
 * write elsewhere: if the view is the same in all iterations, and does not overlap itself. */
bool iteration_writes_apart(const struct ir_operation *loop, const struct ir_operation *write,
                            const struct ir_operation *load);

static inline bool iteration_goes_down(const struct ir_operation *loop)
{
    int64_t step;
    return ir_constant_integer(loop->operands[2], &step) && step < 0;
}
/* Whether there is an iteration whose variable is `variable`, in front of `end`. */
static inline struct ir_value *iteration_comes(struct ir_builder *builder, const struct ir_operation *loop,
                                               struct ir_value *variable, struct ir_value *end)
{
    return ir_compare(builder, iteration_goes_down(loop) ? IR_PREDICATE_GT : IR_PREDICATE_LT, variable, end);
}
/* So many steps. */
static inline struct ir_value *iteration_steps(struct ir_builder *builder, struct ir_value *step, int64_t count)
{
    int64_t number;
    if (ir_constant_integer(step, &number))
        return ir_constant_int(builder, step->type, number * count);
    return count == 1 ? step : ir_binary(builder, OP_MUL, step, ir_constant_int(builder, step->type, count));
}
#endif
