/* Small things that most passes need. */
#ifndef TILECC_PASSES_REWRITE_H
#define TILECC_PASSES_REWRITE_H
#include "ir/query.h"

/* Builds in front of an operation, under its place in the source. */
static inline struct ir_builder rewrite_before(struct ir_operation *op)
{
    return (struct ir_builder){.module = op->block->function->module, .block = op->block, .before = op, .at = op->at};
}
static inline struct ir_context *rewrite_context(const struct ir_operation *op)
{
    return op->block->function->module->context;
}

/* The same `for` or `while` with `count` more carried values, at the end of the old ones: they start as `initial`, and
 * the body, which is moved over, has yet to yield them.  Names may be NULL.  The old loop is gone. */
struct ir_operation *rewrite_carry(struct arena *arena, struct ir_operation *loop, int count,
                                   struct ir_value *const *initial, const char *const *names);

/* Gives an operation the place, proofs and caching of another that reads the same slice. */
void rewrite_copy_access(struct ir_operation *to, const struct ir_operation *from);

bool rewrite_holds(const struct ir_operation *op, enum ir_opcode opcode); /* it is one, or has one inside */
/* A slot of a ring; the number of the slot behind one, round the ring. */
struct ir_value *rewrite_slot(struct ir_builder *builder, struct ir_value *ring, struct ir_value *number);
struct ir_value *rewrite_next_slot(struct ir_builder *builder, struct ir_value *number, int slots);
/* Removes each operation in the block that nothing uses and that does nothing else that could be seen, as long as there is
 * fuel; of a branch that does something else, the results that nothing uses.  The walk begins at the end, so one removes
 * chains. */
struct pass_context;
bool rewrite_remove_dead(struct ir_block *block, struct pass_context *context);

/* Computes an operation whose operands are constants (each one number for the whole tile): the bits that fill its
 * result, as the program itself would compute them on every target.  False: not all constant, or the result is a NaN
 * (whose bits differ between targets) or belongs to a function that targets approximate. */
bool fold_operation(const struct ir_operation *operation, uint64_t *bits);
#endif
