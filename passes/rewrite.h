/* Small things that most passes need. */
#ifndef TILECC_PASSES_REWRITE_H
#define TILECC_PASSES_REWRITE_H
#include "ir/ir.h"

/* Builds in front of an operation, under its place in the source. */
static inline struct ir_builder rewrite_before(struct ir_operation *op)
{
    return (struct ir_builder){.module = op->block->function->module, .block = op->block, .before = op, .at = op->at};
}
static inline struct ir_context *rewrite_context(const struct ir_operation *op)
{
    return op->block->function->module->context;
}
static inline bool rewrite_has_trait(const struct ir_operation *op, unsigned traits)
{
    return ir_op_info[op->opcode].traits & traits;
}
static inline bool rewrite_is_used(const struct ir_operation *op)
{
    for (int i = 0; i < op->result_count; i++)
        if (op->results[i]->uses)
            return true;
    return false;
}
/* The operation of the block that `op` is or lies in; NULL: it lies elsewhere. */
static inline struct ir_operation *rewrite_ancestor_in(const struct ir_block *block, const struct ir_operation *op)
{
    while (op && op->block != block)
        op = op->block->parent;
    return (struct ir_operation *)op;
}
/* Of one block: `second` is `first` or stands behind it. */
static inline bool rewrite_comes_before(const struct ir_operation *first, const struct ir_operation *second)
{
    while (first && first != second)
        first = first->next;
    return first;
}
/* Whether a value is made by or in the operation's regions: an argument of theirs, or a result in them. */
static inline bool rewrite_is_inside(const struct ir_value *value, const struct ir_operation *op)
{
    for (const struct ir_block *block = value->block; block; block = block->parent ? block->parent->block : NULL)
        if (block->parent == op)
            return true;
    return false;
}
static inline bool rewrite_is_in_loop(const struct ir_operation *op)
{
    for (op = op->block->parent; op; op = op->block->parent)
        if (rewrite_has_trait(op, IR_TRAIT_LOOP))
            return true;
    return false;
}
/* Regions that see only their own values (see ir/verify.c). */
static inline bool rewrite_is_isolated(const struct ir_operation *op)
{
    return op->opcode == OP_MAP || op->opcode == OP_REDUCE;
}
/* The one constant that fills the whole of a constant tile. */
static inline bool rewrite_is_constant(const struct ir_value *value)
{
    return value->definition && value->definition->opcode == OP_CONSTANT;
}

/* The same `for` or `while` with `count` more carried values, at the end of the old ones: they start as `initial`, and
 * the body, which is moved over, has yet to yield them.  Names may be NULL.  The old loop is gone. */
struct ir_operation *rewrite_carry(struct arena *arena, struct ir_operation *loop, int count,
                                   struct ir_value *const *initial, const char *const *names);

/* Computes an operation whose operands are constants (each one number for the whole tile): the bits that fill its
 * result, as the program itself would compute them on every target.  False: not all constant, or the result is a NaN
 * (whose bits differ between targets) or belongs to a function that targets approximate. */
bool fold_operation(const struct ir_operation *operation, uint64_t *bits);
#endif
