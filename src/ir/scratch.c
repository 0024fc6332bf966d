/* Scratch in shared memory: sizes and places inside it.  See scratch.h. */
#include "ir/scratch.h"

enum { CONVERSION_LIMIT = 64 * 1024 }; /* bytes; larger conversions go in rounds where they can */

static int element_bytes(const struct ir_type *type) { return ir_element_info[type->element].bits / 8; }
static int64_t round_up(int64_t bytes) { return (bytes + 15) / 16 * 16; }

static struct layout_table *layouts_of(const struct ir_operation *operation)
{
    return ir_context_layouts(operation->block->function->module->context);
}

const struct layout_conversion *scratch_conversion(const struct ir_operation *operation, struct arena *arena)
{
    const struct ir_type *from = operation->operands[0]->type, *to = operation->results[0]->type;
    return layout_conversion_plan(layouts_of(operation), arena, from->layout, to->layout, element_bytes(from),
                                  CONVERSION_LIMIT);
}

void scratch_reduction(const struct ir_operation *operation, struct scratch_reduction *reduction)
{
    const struct layout *layout = operation->operands[0]->type->layout;
    int axis = (int)ir_number(operation, IR_ATTRIBUTE_AXIS, 0);
    *reduction = (struct scratch_reduction){ .result = layout_remove_dimension(layouts_of(operation), layout, axis) };
    layout_reduction(layout, axis, &reduction->steps);
    reduction->registers = layout_registers(reduction->result);
    reduction->warps = layout_warps(layout);
    reduction->lane_mask = 31u & ~layout_redundant_bits(reduction->result, LAYOUT_LANE);
    reduction->lane_mask &= (UINT32_C(1) << reduction->result->bits[LAYOUT_LANE]) - 1;
    reduction->lanes = 1 << __builtin_popcount(reduction->lane_mask);
    if (reduction->steps.partials == 1)
        return;
    for (int i = 0; i < operation->operand_count; i++) {
        if (i < 16)
            reduction->offset[i] = reduction->bytes;
        reduction->bytes += round_up((int64_t)reduction->registers * reduction->warps * reduction->lanes *
                                     element_bytes(operation->operands[i]->type));
    }
}

int64_t scratch_dot(const struct ir_operation *operation, int64_t *b_offset)
{
    const struct ir_type *a = operation->operands[0]->type, *b = operation->operands[1]->type;
    *b_offset = round_up(ir_type_elements(a) * element_bytes(a));
    return *b_offset + round_up(ir_type_elements(b) * element_bytes(b));
}

int64_t scratch_atomic(const struct ir_operation *operation)
{
    const struct ir_value *result = operation->results[0];
    const struct layout *layout = result->type->layout;
    if (!result->uses)
        return 0;
    bool shared = !layout || layout_redundant_bits(layout, LAYOUT_LANE) || layout_redundant_bits(layout, LAYOUT_WARP) ||
                  (layout->warp_groups > 1 && layout->warp_dimension < 0);
    return shared ? round_up(ir_type_elements(result->type) * element_bytes(result->type)) : 0;
}

int64_t scratch_bytes(const struct ir_operation *operation, struct arena *arena)
{
    struct scratch_reduction reduction;
    int64_t offset;
    switch (operation->opcode) {
    case OP_CONVERT_LAYOUT: {
        const struct layout_conversion *plan = scratch_conversion(operation, arena);
        return plan->kind == CONVERT_SHARED
                   ? round_up(plan->scratch_elements * element_bytes(operation->operands[0]->type)) : 0;
    }
    case OP_REDUCE:
        if (!operation->operands[0]->type->layout)
            return 0;
        scratch_reduction(operation, &reduction);
        return reduction.bytes;
    case OP_DOT:
        return operation->results[0]->type->layout ? scratch_dot(operation, &offset) : 0;
    case OP_ATOMIC: case OP_ATOMIC_CAS: case OP_POINTER_ATOMIC: case OP_POINTER_CAS:
        return scratch_atomic(operation);
    default:
        return 0;
    }
}
