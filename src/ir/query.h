/* Questions about operations and values that most rooms ask: traits, uses, and where one stands to another. */
#ifndef TILECC_IR_QUERY_H
#define TILECC_IR_QUERY_H
#include "ir/ir.h"

static inline bool ir_has_trait(const struct ir_operation *op, unsigned traits)
{
    return ir_op_info[op->opcode].traits & traits;
}
static inline bool ir_is_used(const struct ir_operation *op)
{
    for (int i = 0; i < op->result_count; i++)
        if (op->results[i]->uses)
            return true;
    return false;
}
/* The operation of the block that `op` is or lies in; NULL: it lies elsewhere. */
static inline struct ir_operation *ir_ancestor_in(const struct ir_block *block, const struct ir_operation *op)
{
    while (op && op->block != block)
        op = op->block->parent;
    return (struct ir_operation *)op;
}
/* Of one block: `second` is `first` or stands behind it. */
static inline bool ir_comes_before(const struct ir_operation *first, const struct ir_operation *second)
{
    while (first && first != second)
        first = first->next;
    return first;
}
/* Whether `inner` is `outer` or stands in a region of one of its operations. */
static inline bool ir_block_holds(const struct ir_block *outer, const struct ir_block *inner)
{
    while (inner && inner != outer)
        inner = inner->parent ? inner->parent->block : NULL;
    return inner;
}
/* Whether a value is made in the operation's regions: an argument of theirs, or a result in them. */
static inline bool ir_is_inside(const struct ir_value *value, const struct ir_operation *op)
{
    for (int r = 0; r < op->region_count; r++)
        if (ir_block_holds(op->regions[r], value->block))
            return true;
    return false;
}
/* Operations of a block, those in their regions too. */
static inline int ir_count_operations(const struct ir_block *block)
{
    int count = 0;
    for (const struct ir_operation *op = block->first; op; op = op->next) {
        count++;
        for (int r = 0; r < op->region_count; r++)
            count += ir_count_operations(op->regions[r]);
    }
    return count;
}
static inline bool ir_is_in_loop(const struct ir_operation *op)
{
    for (op = op->block->parent; op; op = op->block->parent)
        if (ir_has_trait(op, IR_TRAIT_LOOP))
            return true;
    return false;
}
/* Regions that see only their own values (see ir/verify/verify.c). */
static inline bool ir_is_isolated(const struct ir_operation *op)
{
    return op->opcode == OP_MAP || op->opcode == OP_REDUCE || op->opcode == OP_SCAN;
}
/* How many registers of asm hold an element, or `pack` of them side by side, the first in the lowest bits: those of 64 bits and
 * bool have one each, others share registers of 32 bits, and what has 16 bits or less in all has one of 16. */
static inline int ir_asm_registers(enum ir_element element, int pack)
{
    int bits = ir_element_info[element].bits;
    return bits == 64 ? pack : bits * pack <= 32 ? 1 : bits * pack / 32;
}
/* Warps of a block: of its one program, or of several that have one each. */
static inline int ir_block_warps(const struct ir_function *function)
{
    return function->together ? function->together : function->warps;
}
/* Blocks that run at the same time and reach each other's memory. */
static inline int ir_cluster_blocks(const struct ir_function *function)
{
    int blocks = function->parts > function->cluster ? function->parts : function->cluster;
    return blocks > 1 ? blocks : 1;
}
/* The blocks of an ordered grid take numbers themselves, one after the other (passes/value/walk_ordered.c). */
static inline bool ir_walks_in_order(const struct ir_function *function)
{
    return function->ordered && function->persistent > 0;
}
/* The one constant that fills the whole of a constant tile. */
static inline bool ir_is_constant(const struct ir_value *value)
{
    return value->definition && value->definition->opcode == OP_CONSTANT;
}
#endif
