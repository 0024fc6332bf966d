/* convert_layout: nothing, other register numbers, shuffles between selects, or a trip through shared memory, as the
 * plan of ir/layout/layout.h says. */
#include "base/plant.h"
#include "ir/facts/scratch.h"
#include "targets/nvptx/lower/lower.h"

/* Parity of the lane's bits under a mask: which half of a conditional swap this lane is. */
static LLVMValueRef lane_parity(struct lowering *l, uint32_t mask)
{
    LLVMBuilderRef b = l->builder;
    LLVMValueRef bits = LLVMBuildAnd(b, l->lane, value_i32(l, mask), "");
    if (!is_power_of_two(mask)) {
        LLVMValueRef count = value_intrinsic(l, "llvm.ctpop", l->i32, &bits, 1);
        bits = LLVMBuildAnd(b, count, value_i32(l, 1), "");
    }
    return LLVMBuildICmp(b, LLVMIntNE, bits, value_i32(l, 0), "");
}

static void swap_registers(struct lowering *l, const struct layout_swap *swap, LLVMValueRef *values, int atom,
                           int repeats)
{
    LLVMValueRef odd = lane_parity(l, swap->lane_mask);
    LLVMValueRef *old = value_array(l, atom);
    for (int r = 0; r < repeats; r++) {
        LLVMValueRef *part = values + r * atom;
        for (int i = 0; i < atom; i++)
            old[i] = part[i];
        for (int i = 0; i < atom; i++)
            part[i] = LLVMBuildSelect(l->builder, odd, old[i ^ swap->register_xor], old[i], "");
    }
}

/* The lane that is asked: E lane XOR a constant. */
static LLVMValueRef asked_lane(struct lowering *l, const struct layout_conversion *plan, uint32_t lane_xor)
{
    LLVMBuilderRef b = l->builder;
    LLVMValueRef lane = value_i32(l, lane_xor);
    for (int bit = 0; bit < 5; bit++) {
        LLVMValueRef part = LLVMBuildAnd(b, LLVMBuildLShr(b, l->lane, value_i32(l, bit), ""), value_i32(l, 1), "");
        lane = LLVMBuildXor(b, lane, LLVMBuildMul(b, part, value_i32(l, plan->lane_map[bit]), ""), "");
    }
    return lane;
}

static void by_shuffles(struct lowering *l, const struct layout_conversion *plan, enum ir_element element,
                        const LLVMValueRef *in, LLVMValueRef *out)
{
    int from = plan->from_atom_registers, to = plan->to_atom_registers;
    LLVMValueRef *values = value_array(l, from * plan->repeats);
    for (int i = 0; i < from * plan->repeats; i++)
        values[i] = in[i];
    for (int s = 0; s < plan->before_count; s++)
        swap_registers(l, &plan->before[s], values, from, plan->repeats);
    for (int r = 0; r < plan->repeats; r++)
        for (int i = 0; i < to; i++) {
            const struct layout_shuffle *shuffle = &plan->shuffle[i];
            LLVMValueRef value = values[r * from + shuffle->source_register];
            if (!plan->lane_map_identity)
                value = ptx_shuffle_index(l, element, value, asked_lane(l, plan, shuffle->lane_xor));
            else if (shuffle->lane_xor)
                value = ptx_shuffle_xor(l, element, value, (int)shuffle->lane_xor);
            out[r * to + i] = value;
        }
    for (int s = 0; s < plan->after_count; s++)
        swap_registers(l, &plan->after[s], out, to, plan->repeats);
}

/* One element or vector at (thread XOR atom part) + repeat part. */
static LLVMValueRef transfer_address(struct lowering *l, const struct layout_transfers *side,
                                     const struct layout_transfer *one, LLVMValueRef thread, int64_t start, int bytes)
{
    LLVMBuilderRef b = l->builder;
    LLVMValueRef place;
    int64_t constant = (int64_t)one->repeat_part;
    if (side->formula.register_disjoint) {
        place = thread;
        constant += one->atom_part;
    } else {
        place = LLVMBuildXor(b, thread, value_i32(l, one->atom_part), "");
    }
    if (side->formula.group_multiplier && !PLANTED(nvptx_convert_group_lost)) {
        LLVMValueRef group = LLVMBuildUDiv(b, l->warp, value_i32(l, side->formula.group_warps), "");
        place = LLVMBuildAdd(b, place, LLVMBuildMul(b, group, value_i32(l, side->formula.group_multiplier), ""), "");
    }
    place = LLVMBuildMul(b, place, value_i32(l, bytes), "");
    return shared_address(l, start + constant * bytes, place);
}

/* Threads that hold copies need not store.  NULL: all do. */
static LLVMValueRef storing_thread(struct lowering *l, const struct layout_transfers *side, const struct layout *from)
{
    LLVMBuilderRef b = l->builder;
    LLVMValueRef test = NULL;
    const uint32_t mask[2] = {side->redundant_lanes, side->redundant_warps};
    const LLVMValueRef part[2] = {l->lane, l->warp};
    for (int i = 0; i < 2; i++) {
        if (!mask[i])
            continue;
        LLVMValueRef rest = LLVMBuildAnd(b, part[i], value_i32(l, mask[i]), "");
        LLVMValueRef zero = LLVMBuildICmp(b, LLVMIntEQ, rest, value_i32(l, 0), "");
        test = test ? LLVMBuildAnd(b, test, zero, "") : zero;
    }
    if (side->redundant_groups) {
        LLVMValueRef first = LLVMBuildICmp(b, LLVMIntULT, l->warp, value_i32(l, 1 << from->bits[LAYOUT_WARP]), "");
        test = test ? LLVMBuildAnd(b, test, first, "") : first;
    }
    return test;
}

static void by_shared(struct lowering *l, struct ir_operation *operation, const struct layout_conversion *plan,
                      enum ir_element element, const LLVMValueRef *in, LLVMValueRef *out)
{
    LLVMBuilderRef b = l->builder;
    int bytes = value_bytes(element);
    int64_t start = shared_scratch(l, operation, plan->scratch_elements * bytes);
    LLVMValueRef storing = storing_thread(l, &plan->store, operation->operands[0]->type->layout);
    LLVMValueRef store_thread = coordinate_formula(l, &plan->store.formula),
                 load_thread = coordinate_formula(l, &plan->load.formula);
    for (int round = 0; round < plan->rounds; round++) {
        if (round)
            ptx_barrier(l);
        LLVMBasicBlockRef join = NULL;
        if (storing) {
            LLVMBasicBlockRef store = value_block(l, "put");
            join = value_block(l, "kept");
            LLVMBuildCondBr(b, storing, store, join);
            LLVMPositionBuilderAtEnd(b, store);
        }
        LLVMValueRef values[16];
        for (int i = 0; i < plan->store.count; i++) {
            const struct layout_transfer *one = &plan->store.each[i];
            if (one->round != round)
                continue;
            for (int v = 0; v < plan->store.vector; v++)
                values[v] = in[one->registers[v]];
            shared_store_vector(l, element, values, plan->store.vector,
                                transfer_address(l, &plan->store, one, store_thread, start, bytes));
        }
        if (join) {
            LLVMBuildBr(b, join);
            LLVMPositionBuilderAtEnd(b, join);
        }
        ptx_barrier(l);
        for (int i = 0; i < plan->load.count; i++) {
            const struct layout_transfer *one = &plan->load.each[i];
            if (one->round != round)
                continue;
            shared_load_vector(l, element, values, plan->load.vector,
                               transfer_address(l, &plan->load, one, load_thread, start, bytes));
            for (int v = 0; v < plan->load.vector; v++)
                out[one->registers[v]] = values[v];
        }
    }
}

void lower_convert(struct lowering *l, struct ir_operation *operation)
{
    const struct ir_value *source = operation->operands[0];
    struct ir_value *result = operation->results[0];
    enum ir_element element = source->type->element;
    LLVMValueRef *out = value_define(l, result);
    const LLVMValueRef *in = value_of(l, source)->registers;
    int count = value_registers(result->type);
    if (result->type->rank == 0) {
        out[0] = in[0];
        return;
    }
    const struct layout_conversion *plan = layout_conversion_plan(
        l->layouts, l->arena, source->type->layout, result->type->layout, value_bytes(element), SCRATCH_ROUND_BYTES);
    switch (plan->kind) {
    case CONVERT_NOTHING:
        for (int i = 0; i < count; i++)
            out[i] = in[i];
        return;
    case CONVERT_REGISTERS:
        for (int i = 0; i < count; i++)
            out[i] = in[plan->source_register[i]];
        return;
    case CONVERT_SHUFFLES: by_shuffles(l, plan, element, in, out); return;
    case CONVERT_SHARED: by_shared(l, operation, plan, element, in, out); return;
    }
}
