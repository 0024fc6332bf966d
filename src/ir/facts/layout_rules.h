/* Which layouts the operands and results of a Schedule-level operation must have for each other: the contract between
 * the passes that assign layouts and the targets.
 *
 *   elementwise, select, map, philox, for, while, if     one layout for all tiles of a shape
 *   splat, constant, iota                                any
 *   broadcast    operand: layout_broadcast_source(result)            moves nothing
 *   permute      operand: the inverse permutation of the result      moves nothing
 *   reshape      operand: layout_reshape(result), or both replicated moves nothing
 *   extract      operand: layout_extend(result)                      moves nothing
 *   scan         operands and results: one layout, in order along the axis
 *   concatenate  operands: any; layout_shrink(result) moves nothing
 *   flip         operand and result alike
 *   gather       index and result alike; the tile any
 *   reduce       result: layout_remove_dimension(operand, axis); the reduction is plain and, for regions, in order
 *   load, store, inside, atomics    tiles of the place's shape alike; index tiles: that without its other dimensions
 *   dot          accumulator and result alike; factors any (they pass through shared memory)
 *   sort, histogram                 any to any (they pass through shared memory)
 *   convert_layout                  any to any */
#ifndef TILECC_LAYOUT_RULES_H
#define TILECC_LAYOUT_RULES_H
#include "ir/ir.h"
#include "ir/layout/layout.h"

/* The layout that operand `index`, a tile of rank >= 1, must have when the operation's tile (its first result's, else
 * that of the value it stores) has `layout`.  NULL: any will do (*possible is true), or none can (false). */
const struct layout *layout_rule_operand(struct layout_table *table, const struct ir_operation *operation, int index,
                                         const struct layout *layout, bool *possible);
/* The layout that the result of a reduce, permute, reshape, extract or concatenate has, where no element leaves its
 * thread, when operand 0 has `layout`; NULL: not told by it. */
const struct layout *layout_rule_result(struct layout_table *table, const struct ir_operation *operation,
                                        const struct layout *layout);
/* Whether a reduce or scan can work on operands of this layout. */
bool layout_rule_reduces(const struct ir_operation *operation, const struct layout *layout);
/* About how many instructions a thread it takes; 1e9 when it cannot. */
double layout_rule_reduce_cost(const struct ir_operation *operation, const struct layout *layout);
/* Operands and results that must have one layout, by index; results follow operands. */
bool layout_rule_same(const struct ir_operation *operation, int index);
/* Whether a value costs so little that making it again in another layout beats converting it. */
bool layout_rule_cheap(const struct ir_value *value);
/* The tile that tells an operation's layout: its first tile result, or the value it stores; NULL: none. */
struct ir_value *layout_rule_tile(const struct ir_operation *operation);
static inline bool layout_rule_has(const struct ir_value *value)
{
    return value->type->kind == IR_TILE && value->type->rank > 0;
}

/* `value` in `layout` at the builder's point: itself, made again when cheap, or converted right behind its
 * definition.  Conversions made so are found again. */
struct layout_adapter {
    struct ir_module *module;
    struct layout_table *table;
    struct arena *arena;
    int warps;
};
struct ir_value *layout_adapt(const struct layout_adapter *adapter, struct ir_builder *builder, struct ir_value *value,
                              const struct layout *layout);

/* What a thread moves of a copy to a buffer of this type, as registers that stand for it: rows of the dimension that is
 * contiguous in memory, up to 16 bytes at a time.  The index tiles of a copy that gathers have its parts. */
const struct layout *layout_rule_copy(struct layout_table *table, const struct ir_access *access,
                                      const struct ir_type *buffer, int warps);
/* The same by moves of so many elements; NULL: there is none. */
const struct layout *layout_rule_copy_by(struct layout_table *table, const struct ir_access *access,
                                         const struct ir_type *buffer, int vector, int warps);
const struct layout *layout_rule_copy_index(struct layout_table *table, const struct ir_access *access,
                                            const struct layout *copy);
#endif
