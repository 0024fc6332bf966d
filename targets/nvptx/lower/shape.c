/* Operations that move no element to another thread when their layouts agree: iota, splat, broadcast, permute, reshape,
 * extract. Where they do not agree the tile goes through shared memory in row-major order. */
#include "targets/nvptx/lower/lower.h"

/* A position of the source for a position of the result; false: the operation has another form. */
static void source_coordinates(const struct ir_operation *operation, const int *result, int *source)
{
    const struct ir_type *from = operation->operands[0]->type, *to = operation->results[0]->type;
    const struct ir_attribute *list;
    switch (operation->opcode) {
    case OP_PERMUTE:
        list = ir_attribute(operation, IR_ATTRIBUTE_PERMUTATION);
        for (int d = 0; d < to->rank; d++)
            source[list->list[d]] = result[d];
        return;
    case OP_EXTRACT:
        list = ir_attribute(operation, IR_ATTRIBUTE_START);
        for (int d = 0; d < to->rank; d++)
            source[d] = result[d] + (int)list->list[d];
        return;
    case OP_BROADCAST:
        for (int d = 0; d < to->rank; d++)
            source[d] = from->extent[d] == 1 ? 0 : result[d];
        return;
    default: { /* reshape */
        int64_t linear = 0;
        for (int d = 0; d < to->rank; d++)
            linear = linear * to->extent[d] + result[d];
        for (int d = from->rank - 1; d >= 0; d--) {
            source[d] = (int)(linear % from->extent[d]);
            linear /= from->extent[d];
        }
    }
    }
}

/* source_register[i] for register i of the result when no element leaves its thread.  Maps are affine over positions,
 * so lane 0 of warp 0 and one position for each bit of lane and warp decide it, for each register. */
static bool same_thread(const struct ir_operation *operation, int warps, int *source_register)
{
    const struct ir_type *from = operation->operands[0]->type, *to = operation->results[0]->type;
    int count = layout_registers(to->layout), want[LAYOUT_RANK], source[LAYOUT_RANK], got[LAYOUT_RANK];
    for (int reg = 0; reg < count; reg++) {
        struct layout_position position = {.part = {[LAYOUT_REGISTER] = reg}};
        layout_coordinates(to->layout, &position, want);
        source_coordinates(operation, want, source);
        source_register[reg] = coordinate_find_register(from->layout, source);
        if (source_register[reg] < 0)
            return false;
        for (int thread = 1; thread < 32 * warps; thread++) {
            if (thread < 32 ? (thread & (thread - 1)) != 0 : thread % 32 != 0)
                continue;
            struct layout_position there = {
                .part = {[LAYOUT_REGISTER] = reg, [LAYOUT_LANE] = thread % 32, [LAYOUT_WARP] = thread / 32}};
            layout_coordinates(to->layout, &there, want);
            source_coordinates(operation, want, source);
            there.part[LAYOUT_REGISTER] = source_register[reg];
            layout_coordinates(from->layout, &there, got);
            for (int d = 0; d < from->rank; d++)
                if (got[d] != source[d])
                    return false;
        }
    }
    return true;
}

/* Row-major number of what a register of the source holds, and of what one of the result wants (i32). */
static LLVMValueRef linear_number(struct lowering *l, LLVMValueRef *coordinate, const int64_t *extent, int rank)
{
    LLVMValueRef sum = value_i32(l, 0);
    for (int d = 0; d < rank; d++) {
        sum = LLVMBuildMul(l->builder, sum, value_i32(l, extent[d]), "");
        sum = LLVMBuildAdd(l->builder, sum, coordinate[d], "");
    }
    return sum;
}

static void through_shared(struct lowering *l, struct ir_operation *operation, LLVMValueRef *out)
{
    LLVMBuilderRef b = l->builder;
    const struct ir_value *source = operation->operands[0];
    const struct ir_type *from = source->type, *to = operation->results[0]->type;
    enum ir_element element = from->element;
    int bytes = value_bytes(element);
    int64_t start = shared_scratch(l, operation, ir_type_elements(from) * bytes);
    LLVMValueRef coordinate[LAYOUT_RANK], wanted[LAYOUT_RANK];
    for (int reg = 0; reg < layout_registers(from->layout); reg++) {
        for (int d = 0; d < from->rank; d++)
            coordinate[d] = coordinate_register(l, from->layout, d, reg);
        LLVMValueRef place = LLVMBuildMul(b, linear_number(l, coordinate, from->extent, from->rank),
                                          value_i32(l, bytes), "");
        shared_store(l, element, value_register(l, source, reg), shared_address(l, start, place), bytes);
    }
    ptx_barrier(l);
    const struct ir_attribute *permutation = ir_attribute(operation, IR_ATTRIBUTE_PERMUTATION);
    const struct ir_attribute *begin = ir_attribute(operation, IR_ATTRIBUTE_START);
    for (int reg = 0; reg < layout_registers(to->layout); reg++) {
        for (int d = 0; d < to->rank; d++)
            coordinate[d] = coordinate_register(l, to->layout, d, reg);
        LLVMValueRef number;
        if (operation->opcode == OP_RESHAPE) {
            number = linear_number(l, coordinate, to->extent, to->rank);
        } else {
            for (int d = 0; d < to->rank; d++) {
                if (operation->opcode == OP_PERMUTE)
                    wanted[permutation->list[d]] = coordinate[d];
                else if (operation->opcode == OP_EXTRACT)
                    wanted[d] = LLVMBuildAdd(b, coordinate[d], value_i32(l, begin->list[d]), "");
                else
                    wanted[d] = from->extent[d] == 1 ? value_i32(l, 0) : coordinate[d];
            }
            number = linear_number(l, wanted, from->extent, from->rank);
        }
        LLVMValueRef place = LLVMBuildMul(b, number, value_i32(l, bytes), "");
        out[reg] = shared_load(l, element, shared_address(l, start, place), bytes);
    }
}

static void lower_iota(struct lowering *l, struct ir_operation *operation)
{
    struct ir_value *result = operation->results[0];
    LLVMValueRef *out = value_define(l, result);
    LLVMTypeRef type = lower_value_type(l, result->type->element);
    for (int i = 0; i < value_registers(result->type); i++)
        out[i] = LLVMBuildIntCast2(l->builder, coordinate_register(l, result->type->layout, 0, i), type, false, "");
}

void lower_shape(struct lowering *l, struct ir_operation *operation)
{
    struct ir_value *result = operation->results[0];
    if (operation->opcode == OP_IOTA) {
        lower_iota(l, operation);
        return;
    }
    int count = value_registers(result->type);
    LLVMValueRef *out = value_define(l, result);
    const struct ir_value *source = operation->operands[0];
    if (source->type->rank == 0 || count == 0) {
        for (int i = 0; i < count; i++)
            out[i] = value_register(l, source, 0);
        return;
    }
    if (result->type->rank == 0) { /* a reshape or extract of one element: every thread may hold another copy of it */
        out[0] = value_register(l, source, 0);
        if (ir_type_elements(source->type) == 1)
            return;
        die("%s to a scalar", ir_op_info[operation->opcode].text);
    }
    int *from = ARENA_ARRAY(l->arena, int, count);
    if (same_thread(operation, l->warps, from)) {
        for (int i = 0; i < count; i++)
            out[i] = value_register(l, source, from[i]);
        return;
    }
    through_shared(l, operation, out);
}
