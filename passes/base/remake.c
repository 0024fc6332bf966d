/* Values made again.  See remake.h. */
#include "passes/base/remake.h"

struct remake remake_open(struct arena *arena, const struct ir_function *function, const struct ir_operation *loop)
{
    int count = function->next_value_id;
    return (struct remake){loop, ARENA_ARRAY(arena, struct ir_value *, count), count, NULL};
}

struct ir_value *remake_value(const struct remake *again, struct ir_builder *builder, struct ir_value *value)
{
    if (value->id >= again->count || !ir_is_inside(value, again->loop))
        return value;
    if (again->map[value->id])
        return again->map[value->id];
    const struct ir_operation *op = value->definition;
    if (again->loads && op->opcode == OP_LOAD) {
        remake_set(again, value, remake_value(again->loads, builder, value));
    } else {
        for (int i = 0; i < op->operand_count; i++)
            remake_value(again, builder, op->operands[i]);
        remake_operation(again, builder, op);
    }
    return again->map[value->id];
}
