/* Algebra of what moves along an axis, for simplify. */
#include "base/plant.h"
#include "passes/value/simplify.h"

/* Whether the part lies in operand `source` alone, which begins at `first` along the axis. */
static bool lies_in(const struct ir_operation *part, const struct ir_operation *whole, int source, int64_t first)
{
    int64_t axis = ir_number(whole, IR_ATTRIBUTE_AXIS, 0), start = ir_attribute(part, IR_ATTRIBUTE_START)->list[axis];
    int64_t extent = part->results[0]->type->extent[axis];
    return start >= first && start + extent <= first + whole->operands[source]->type->extent[axis] &&
           (start - first) % extent == 0;
}

/* extract(concatenate(…, x, …)) = extract x, where the part is x's alone */
static struct ir_value *part_of_parts(struct ir_operation *op, const struct ir_operation *whole)
{
    int64_t axis = ir_number(whole, IR_ATTRIBUTE_AXIS, 0), first = 0, start[IR_MAX_RANK];
    const struct ir_attribute *from = ir_attribute(op, IR_ATTRIBUTE_START);
    for (int i = 0; i < whole->operand_count; i++) {
        if (!lies_in(op, whole, i, first)) {
            first += whole->operands[i]->type->extent[axis];
            continue;
        }
        for (int d = 0; d < from->count; d++)
            start[d] = from->list[d] - (d == axis ? first : 0);
        struct ir_builder builder = rewrite_before(op);
        struct ir_value *part = ir_build_value(&builder, OP_EXTRACT, op->results[0]->type, 1, &whole->operands[i]);
        ir_set_list(part->definition, IR_ATTRIBUTE_START, from->count, start);
        return part;
    }
    return NULL;
}

/* The tile of which the operands are all parts along the axis, in order; NULL: there is none. */
static struct ir_value *whole_of(const struct ir_operation *op)
{
    int64_t axis = ir_number(op, IR_ATTRIBUTE_AXIS, 0), first = 0;
    struct ir_value *whole = NULL;
    for (int i = 0; i < op->operand_count; i++) {
        const struct ir_operation *part = simplify_definition(op->operands[i], OP_EXTRACT);
        if (!part || (whole && part->operands[0] != whole))
            return NULL;
        whole = part->operands[0];
        const struct ir_attribute *start = ir_attribute(part, IR_ATTRIBUTE_START);
        for (int d = 0; d < start->count; d++)
            if (start->list[d] != (d == axis ? first : 0))
                return NULL;
        first += op->operands[i]->type->extent[axis];
    }
    return whole && whole->type == op->results[0]->type ? whole : NULL;
}

/* extract(concatenate(…, x, …)) = extract x;  concatenate x = x;  of all parts of x in order = x;  flip(flip x) = x along one axis;  flip x = x along an extent of 1 */
struct ir_value *simplify_move(struct ir_operation *op)
{
    const struct ir_operation *joined = op->operand_count ? simplify_definition(op->operands[0], OP_CONCATENATE) : NULL;
    if (op->opcode == OP_EXTRACT)
        return joined && !op->results[0]->type->layout ? part_of_parts(op, joined) : NULL;
    if (op->opcode == OP_CONCATENATE)
        return op->operand_count == 1 && op->operands[0]->type == op->results[0]->type ? op->operands[0] : whole_of(op);
    if (op->opcode != OP_FLIP)
        return NULL;
    int64_t axis = ir_number(op, IR_ATTRIBUTE_AXIS, 0);
    const struct ir_operation *inner = simplify_definition(op->operands[0], OP_FLIP);
    if (inner && (ir_number(inner, IR_ATTRIBUTE_AXIS, 0) == axis || PLANTED(flips_cancel_along_any_axis)))
        return inner->operands[0];
    bool same = op->results[0]->type->extent[axis] == 1 || simplify_definition(op->operands[0], OP_SPLAT);
    return same ? op->operands[0] : NULL;
}
