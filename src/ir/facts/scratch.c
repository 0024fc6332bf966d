/* Sizes of scratch in shared memory.  See scratch.h. */
#include "ir/facts/scratch.h"

#include <string.h>

#include "ir/facts/move_plan.h"

static int64_t round_up(int64_t bytes, int64_t step) { return (bytes + step - 1) / step * step; }

static int step_weight(const struct layout *layout, int axis, const struct layout_step *step)
{
    int coordinates[LAYOUT_RANK];
    struct layout_position position = {{0}};
    memcpy(position.part, step->part, sizeof position.part);
    layout_coordinates(layout, &position, coordinates);
    return coordinates[axis];
}

/* Registers are folded before the warps meet, but in an ordered reduction those whose step lies above the first warp
 * step. */
void scratch_reduction(const struct layout *layout, int axis, bool ordered, struct scratch_crossing *crossing)
{
    struct layout_reduction steps;
    layout_reduction(layout, axis, &steps);
    int first_warp = INT32_MAX;
    for (int i = 0; i < steps.warp_steps; i++) {
        int weight = step_weight(layout, axis, &steps.warp_step[i]);
        if (weight < first_warp)
            first_warp = weight;
    }
    crossing->live = layout_registers(layout);
    for (int i = 0; i < steps.register_steps; i++)
        if (!ordered || step_weight(layout, axis, &steps.register_step[i]) < first_warp)
            crossing->live /= 2;
    if (!ordered)
        crossing->live /= steps.register_repeats;
    crossing->lanes = layout_redundant_bits(layout, LAYOUT_LANE);
    for (int i = 0; i < steps.lane_steps; i++) {
        uint32_t mask = (uint32_t)steps.lane_step[i].part[LAYOUT_LANE];
        bool folded = !ordered || step_weight(layout, axis, &steps.lane_step[i]) < first_warp;
        if (folded && is_power_of_two(mask))
            crossing->lanes |= mask;
    }
    crossing->rows_of_lanes = 32 >> __builtin_popcount(crossing->lanes);
}

static int64_t reduction_bytes(const struct ir_operation *operation)
{
    const struct layout *layout = operation->operands[0]->type->layout;
    int axis = (int)ir_number(operation, IR_ATTRIBUTE_AXIS, 0);
    bool ordered = ir_reduce_is_ordered(operation);
    struct layout_reduction steps;
    if (!layout)
        return 0;
    layout_reduction(layout, axis, &steps);
    if (steps.warp_steps == 0 && steps.group_repeats <= 1)
        return 0;
    struct scratch_crossing crossing;
    scratch_reduction(layout, axis, ordered, &crossing);
    int64_t bytes = 0;
    for (int i = 0; i < operation->result_count; i++) {
        int size = ir_element_info[operation->operands[i]->type->element].bits / 8;
        bytes += round_up((int64_t)layout_warps(layout) * crossing.live * crossing.rows_of_lanes * size, 16);
    }
    return bytes;
}

void scratch_sort(const struct ir_operation *sort, struct scratch_sort *plan)
{
    const struct ir_type *type = sort->operands[0]->type;
    int key_bytes = ir_element_info[type->element].bits / 8;
    *plan = (struct scratch_sort){
        .extent = type->extent[ir_number(sort, IR_ATTRIBUTE_AXIS, 0)], .padded = 1, .parts = 1};
    for (int i = 1; i < sort->result_count; i++)
        plan->positions |= sort->results[i]->uses != NULL;
    while (plan->padded < plan->extent)
        plan->padded *= 2;
    plan->lines = ir_type_elements(type) / plan->extent;
    plan->pitch = plan->padded + plan->padded / 32;
    plan->part_bytes[0] = key_bytes * (plan->positions ? 2 : 1) > 4 ? 8 : 4;
    if (plan->positions && key_bytes == 8) {
        plan->parts = 2;
        plan->part_bytes[1] = 4;
    }
    for (int i = 0; i < plan->parts; i++) {
        plan->part_start[i] = plan->bytes;
        plan->bytes += round_up(plan->lines * plan->pitch * plan->part_bytes[i], 16);
    }
}

static int64_t sort_bytes(const struct ir_operation *sort, int index)
{
    struct scratch_sort plan;
    scratch_sort(sort, &plan);
    int64_t bytes = plan.bytes;
    for (int i = 1; i < index; i++)
        if (sort->results[i]->uses)
            bytes += round_up(ir_type_bytes(sort->operands[i]->type), 16);
    return bytes;
}

int64_t scratch_sort_tile(const struct ir_operation *sort, int index)
{
    return sort->results[index]->uses ? sort_bytes(sort, index) : -1;
}

int64_t scratch_product(const struct ir_operation *dot, int64_t *piece, int64_t *first_bytes)
{
    const struct ir_type *a = dot->operands[0]->type, *b = dot->operands[1]->type;
    int64_t k = a->extent[a->rank - 1], rows = ir_type_elements(a) / k, columns = ir_type_elements(b) / k;
    int bytes_a = ir_element_info[a->element].bits / 8, bytes_b = ir_element_info[b->element].bits / 8;
    *piece = k;
    while (*piece % 2 == 0 && rows * *piece * bytes_a + columns * *piece * bytes_b > SCRATCH_ROUND_BYTES)
        *piece /= 2;
    *first_bytes = round_up(rows * *piece * bytes_a, 16);
    return *first_bytes + columns * *piece * bytes_b;
}

/* Somebody uses the old value, and not every thread did the operation itself: else nobody meets. */
static int64_t atomic_bytes(const struct ir_operation *operation)
{
    const struct ir_value *result = operation->results[0];
    bool copies = result->type->rank == 0 || !result->type->layout || !layout_is_held_once(result->type->layout);
    return result->uses && copies ? ir_type_bytes(result->type) : 0;
}

static int64_t move_bytes(struct arena *arena, const struct ir_operation *operation)
{
    for (int i = 0; i < operation->operand_count; i++)
        if (!operation->operands[i]->type->layout)
            return 0;
    if (!operation->results[0]->type->layout)
        return 0;
    const struct move_plan *plan = move_plan(arena, operation);
    int size = ir_element_info[operation->results[0]->type->element].bits / 8;
    return plan->kind == MOVE_SHARED ? plan->elements * size : 0;
}

int64_t scratch_bytes(struct layout_table *table, struct arena *arena, const struct ir_operation *operation)
{
    int64_t piece, first;
    switch (operation->opcode) {
    case OP_CONVERT_LAYOUT: {
        const struct ir_type *from = operation->operands[0]->type, *to = operation->results[0]->type;
        int size = ir_element_info[to->element].bits / 8;
        if (to->rank == 0 || !from->layout || !to->layout)
            return 0;
        const struct layout_conversion *plan = layout_conversion_plan(table, arena, from->layout, to->layout, size,
                                                                      SCRATCH_ROUND_BYTES);
        return plan->kind == CONVERT_SHARED ? plan->scratch_elements * size : 0;
    }
    case OP_CONCATENATE:
    case OP_FLIP:
    case OP_GATHER: return move_bytes(arena, operation);
    case OP_REDUCE:
    case OP_SCAN: return reduction_bytes(operation);
    case OP_SORT: return sort_bytes(operation, operation->operand_count);
    case OP_HISTOGRAM: return ir_type_bytes(operation->results[0]->type);
    case OP_DOT: /* matrix instructions take factors as they are */
        if (ir_number(operation, IR_ATTRIBUTE_INSTRUCTION, IR_INSTRUCTION_FMA) != IR_INSTRUCTION_FMA)
            return 0;
        return scratch_product(operation, &piece, &first);
    case OP_ATOMIC:
    case OP_ATOMIC_CAS:
    case OP_POINTER_ATOMIC:
    case OP_POINTER_CAS: return atomic_bytes(operation);
    case OP_ASM_EFFECT: return operation->result_count ? atomic_bytes(operation) : 0;
    default: return 0;
    }
}

enum { COPY_ALIGNMENT = 128, SWIZZLE_ALIGNMENT = 1024, CHUNK = 16 };

int64_t scratch_slot_bytes(const struct ir_type *buffer)
{
    return buffer->slots > 1 ? scratch_ring_bytes(buffer) : round_up(ir_type_bytes(buffer), CHUNK);
}

int64_t scratch_buffer_alignment(const struct ir_type *buffer)
{
    return buffer->rank > 1 ? SWIZZLE_ALIGNMENT : COPY_ALIGNMENT;
}

int64_t scratch_ring_bytes(const struct ir_type *buffer)
{
    return round_up(ir_type_bytes(buffer), scratch_buffer_alignment(buffer));
}
