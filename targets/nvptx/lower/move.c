/* concatenate, flip, gather: elements from other registers, from other lanes, or through shared memory in row-major
 * order, as move_plan.h says. */
#include "base/plant.h"
#include "ir/facts/move_plan.h"
#include "targets/nvptx/lower/lower.h"

/* An index as i32, and whether it names an element of the extent. */
static LLVMValueRef read_index(struct lowering *l, const struct ir_value *index, int reg, int64_t extent,
                               LLVMValueRef *inside)
{
    enum ir_element element = index->type->element;
    LLVMValueRef value = value_register(l, index, reg);
    if (ir_element_info[element].bits < 32)
        value = LLVMBuildIntCast2(l->builder, value, l->i32, ir_is_signed(element), "");
    LLVMValueRef limit = LLVMConstInt(LLVMTypeOf(value), (unsigned long long)extent, false);
    *inside = LLVMBuildICmp(l->builder, LLVMIntULT, value, limit, "");
    return LLVMBuildIntCast2(l->builder, value, l->i32, false, "");
}

/* ---- from registers and lanes ---- */

static void from_sources(struct lowering *l, const struct ir_operation *op, const struct move_plan *plan,
                         LLVMValueRef *out)
{
    enum ir_element element = op->results[0]->type->element;
    for (int reg = 0; reg < value_registers(op->results[0]->type); reg++) {
        const struct move_source *source = &plan->source[reg];
        out[reg] = value_register(l, op->operands[source->operand], source->reg);
        if (source->lane_xor)
            out[reg] = ptx_shuffle_xor(l, element, out[reg], (int)source->lane_xor);
    }
}

/* The lane that holds the element: the index's bits in place of this lane's own along the axis. */
static LLVMValueRef lane_of_index(struct lowering *l, const struct move_plan *plan, LLVMValueRef index)
{
    LLVMBuilderRef b = l->builder;
    LLVMValueRef lane = LLVMBuildAnd(b, l->lane, value_i32(l, ~plan->axis_lanes & 31), "");
    for (int bit = 0; bit < LAYOUT_BITS; bit++) {
        int to = plan->lane_bit[bit];
        if (to < 0)
            continue;
        LLVMValueRef part = LLVMBuildAnd(b, index, value_i32(l, INT64_C(1) << bit), "");
        if (to > bit)
            part = LLVMBuildShl(b, part, value_i32(l, to - bit), "");
        else if (to < bit)
            part = LLVMBuildLShr(b, part, value_i32(l, bit - to), "");
        lane = LLVMBuildOr(b, lane, part, "");
    }
    return lane;
}

static void gather_lanes(struct lowering *l, const struct ir_operation *op, const struct move_plan *plan,
                         LLVMValueRef *out)
{
    LLVMBuilderRef b = l->builder;
    const struct ir_value *x = op->operands[0];
    enum ir_element element = x->type->element;
    int64_t extent = x->type->extent[ir_number(op, IR_ATTRIBUTE_AXIS, 0)];
    LLVMValueRef zero = value_constant(l, element, 0), inside;
    for (int reg = 0; reg < value_registers(op->results[0]->type); reg++) {
        LLVMValueRef index = read_index(l, op->operands[1], reg, extent, &inside);
        LLVMValueRef lane = plan->lane_mask ? lane_of_index(l, plan, index) : NULL;
        LLVMValueRef key = LLVMBuildAnd(b, index, value_i32(l, ~(int64_t)plan->lane_mask), "");
        for (int c = 0; c < plan->choices; c++) {
            LLVMValueRef value = value_register(l, x, plan->reg[reg * plan->choices + c]);
            if (lane)
                value = ptx_shuffle_index(l, element, value, lane);
            if (c > 0) {
                LLVMValueRef chosen = LLVMBuildICmp(b, LLVMIntEQ, key, value_i32(l, plan->value[c]), "");
                value = LLVMBuildSelect(b, chosen, value, out[reg], "");
            }
            out[reg] = value;
        }
        out[reg] = LLVMBuildSelect(b, inside, out[reg], zero, "");
    }
}

/* ---- through shared memory ---- */

/* Row-major number (i32) of what a register holds, in extents of which `moved`, or NULL, stands along the axis. */
static LLVMValueRef place_of(struct lowering *l, const struct ir_operation *op, const struct ir_type *holder, int reg,
                             const struct ir_type *whole, LLVMValueRef moved)
{
    LLVMBuilderRef b = l->builder;
    int axis = (int)ir_number(op, IR_ATTRIBUTE_AXIS, 0);
    LLVMValueRef sum = NULL;
    for (int d = 0; d < whole->rank; d++) {
        if (sum)
            sum = value_product(l, sum, value_i32(l, whole->extent[d]));
        LLVMValueRef at = d == axis && moved ? moved : coordinate_register(l, holder->layout, d, reg);
        sum = sum ? LLVMBuildAdd(b, sum, at, "") : at;
    }
    return sum;
}

struct trip {
    const struct ir_operation *op;
    const struct move_plan *plan;
    const struct ir_type *whole; /* whose row-major order the places are */
    int64_t start, low;          /* of scratch; of the round's first place */
};

/* The place among those of this round, and whether it is one of them (NULL: all are). */
static LLVMValueRef in_round(struct lowering *l, const struct trip *t, LLVMValueRef place, LLVMValueRef *is)
{
    *is = NULL;
    if (t->plan->rounds == 1)
        return place;
    place = value_without(l, place, t->low);
    *is = LLVMBuildICmp(l->builder, LLVMIntULT, place, value_i32(l, t->plan->elements), "");
    return place;
}

static LLVMValueRef address_of(struct lowering *l, const struct trip *t, LLVMValueRef place)
{
    int bytes = value_bytes(t->op->results[0]->type->element);
    return shared_address(l, t->start, LLVMBuildMul(l->builder, place, value_i32(l, bytes), ""));
}

static void put(struct lowering *l, const struct trip *t)
{
    enum ir_element element = t->op->results[0]->type->element;
    int axis = (int)ir_number(t->op, IR_ATTRIBUTE_AXIS, 0);
    int64_t first = 0;
    for (int i = 0; i < (t->op->opcode == OP_GATHER ? 1 : t->op->operand_count); i++) {
        const struct ir_value *from = t->op->operands[i];
        LLVMBasicBlockRef kept = value_enter_if(l, coordinate_leader(l, from->type->layout));
        for (int reg = 0; reg < value_registers(from->type); reg++) {
            LLVMValueRef at = NULL, is;
            if (t->op->opcode == OP_CONCATENATE)
                at = value_sum(l, coordinate_register(l, from->type->layout, axis, reg), value_i32(l, first));
            LLVMValueRef place = in_round(l, t, place_of(l, t->op, from->type, reg, t->whole, at), &is);
            LLVMBasicBlockRef next = value_enter_if(l, is);
            shared_store(l, element, value_register(l, from, reg), address_of(l, t, place), value_bytes(element));
            value_leave(l, next);
        }
        value_leave(l, kept);
        first += from->type->extent[axis];
    }
}

/* The index, and 0 where it names no element. */
static LLVMValueRef inside_index(struct lowering *l, const struct ir_value *index, int reg, int64_t extent,
                                 LLVMValueRef *inside)
{
    LLVMValueRef at = read_index(l, index, reg, extent, inside);
    return LLVMBuildSelect(l->builder, *inside, at, value_i32(l, 0), "");
}

static void take(struct lowering *l, const struct trip *t, LLVMValueRef *out)
{
    LLVMBuilderRef b = l->builder;
    const struct ir_value *result = t->op->results[0];
    enum ir_element element = result->type->element;
    int axis = (int)ir_number(t->op, IR_ATTRIBUTE_AXIS, 0);
    int64_t extent = t->whole->extent[axis];
    for (int reg = 0; reg < value_registers(result->type); reg++) {
        LLVMValueRef at = NULL, inside = NULL, is;
        if (t->op->opcode == OP_GATHER)
            at = inside_index(l, t->op->operands[1], reg, extent, &inside);
        else if (t->op->opcode == OP_FLIP)
            at = LLVMBuildSub(b, value_i32(l, extent - 1), coordinate_register(l, result->type->layout, axis, reg), "");
        LLVMValueRef place = in_round(l, t, place_of(l, t->op, result->type, reg, t->whole, at), &is);
        if (is)
            place = LLVMBuildSelect(b, is, place, value_i32(l, 0), "");
        LLVMValueRef value = shared_load(l, element, address_of(l, t, place), value_bytes(element));
        if (inside && !PLANTED(nvptx_gather_outside_is_first))
            value = LLVMBuildSelect(b, inside, value, value_constant(l, element, 0), "");
        out[reg] = is && t->low ? LLVMBuildSelect(b, is, value, out[reg], "") : value;
    }
}

static void through_shared(struct lowering *l, const struct ir_operation *op, const struct move_plan *plan,
                           LLVMValueRef *out)
{
    struct trip t = {.op = op, .plan = plan};
    t.whole = op->opcode == OP_GATHER ? op->operands[0]->type : op->results[0]->type;
    t.start = shared_scratch(l, op, plan->elements * value_bytes(op->results[0]->type->element));
    for (int round = 0; round < plan->rounds; round++) {
        t.low = round * plan->elements;
        if (round)
            ptx_barrier(l);
        put(l, &t);
        ptx_barrier(l);
        take(l, &t, out);
    }
}

void lower_move(struct lowering *l, struct ir_operation *operation)
{
    LLVMValueRef *out = value_define(l, operation->results[0]);
    const struct move_plan *plan = move_plan(l->arena, operation);
    if (plan->kind == MOVE_SHARED)
        through_shared(l, operation, plan, out);
    else if (operation->opcode == OP_GATHER)
        gather_lanes(l, operation, plan, out);
    else
        from_sources(l, operation, plan, out);
}
