/* Views: arguments from their slots, sub-views, permutations, views seen in another shape.  An absent view is one whose data
 * is null. */
#include "base/plant.h"
#include "ir/facts/alias.h"
#include "targets/nvptx/thread/thread.h"

LLVMValueRef view_slot(struct lowering *l, int slot)
{
    LLVMValueRef index = value_i64(l, slot);
    LLVMValueRef address = LLVMBuildGEP2(l->entry, l->i64, l->slots, &index, 1, "");
    LLVMValueRef load = LLVMBuildLoad2(l->entry, l->i64, address, "");
    LLVMSetAlignment(load, 8);
    return load;
}

static LLVMValueRef known_or_slot(struct lowering *l, int64_t known, int slot)
{
    return known == IR_DYNAMIC ? view_slot(l, slot) : value_i64(l, known);
}

static int64_t low_bit(int64_t number, int64_t most)
{
    if (number == 0)
        return most;
    return int64_min(most, number & -number);
}

/* What stores may count on where view_ask says so. */
static void suppose_alignment(const struct ir_value *argument, int64_t asked, struct view *view)
{
    const struct ir_type *type = argument->type;
    view->alignment = asked;
    view->asked = argument;
    for (int d = 0; d < type->rank; d++)
        if (type->stride[d] == IR_DYNAMIC)
            view->stride_multiple[d] = int64_max(asked / value_bytes(type->element), 1);
}

/* All are in one number of bytes, in which no bit below the alignment is set. */
LLVMValueRef view_ask(struct lowering *l, const struct ir_value *argument, bool rows)
{
    LLVMBuilderRef b = l->builder;
    const struct view *view = value_of(l, argument)->view;
    const struct ir_type *type = argument->type;
    LLVMValueRef bytes = LLVMBuildPtrToInt(b, view->data, l->i64, "");
    for (int d = 0; d < type->rank; d++) {
        LLVMValueRef steps = type->stride[d] != 1 ? view->stride[d] : rows ? view->extent[d] : NULL;
        if (steps)
            bytes = LLVMBuildOr(b, bytes, LLVMBuildMul(b, steps, value_i64(l, value_bytes(type->element)), ""), "");
    }
    int64_t asked = l->function->facts.data[argument->index].asked_alignment;
    LLVMValueRef rest = LLVMBuildAnd(b, bytes, value_i64(l, asked - 1), "");
    return LLVMBuildICmp(b, LLVMIntEQ, rest, value_i64(l, 0), "");
}

/* What assumptions say of an argument's extent, where the function asks for it in front of everything. */
static int64_t assumed_multiple(const struct lowering *l, const struct ir_value *argument, int dimension)
{
    int64_t multiple = 1;
    for (const struct ir_operation *op = l->function->body->first; op; op = op->next)
        if (op->opcode == OP_EXTENT && op->operands[0] == argument &&
            ir_number(op, IR_ATTRIBUTE_DIMENSION, 0) == dimension)
            multiple = int64_max(multiple, fact_divisor(l, op->results[0]));
    return multiple;
}

void view_of_argument(struct lowering *l, const struct ir_value *argument, const struct ir_argument_fact *fact,
                      int first_slot)
{
    const struct ir_type *type = argument->type;
    struct view *view = ARENA_NEW(l->arena, struct view);
    view->data = LLVMBuildIntToPtr(l->entry, view_slot(l, first_slot), l->pointer, "");
    view->present = type->optional ? LLVMBuildIsNotNull(l->entry, view->data, "") : value_i1(l, true);
    view->alignment = int64_max(fact ? fact->base_alignment : 0, value_bytes(type->element));
    bool is_alone = fact && (fact->restricted || (fact->apart && !alias_is_written(l->function, argument)));
    view->constant_memory = is_alone && !type->writable;
    for (int d = 0; d < type->rank; d++) {
        view->extent[d] = known_or_slot(l, type->extent[d], first_slot + 1 + d);
        view->stride[d] = known_or_slot(l, type->stride[d], first_slot + 1 + type->rank + d);
        int64_t stride = type->stride[d], extent = type->extent[d];
        view->stride_multiple[d] = stride != IR_DYNAMIC ? low_bit(stride, 1 << 20)
                                   : fact               ? int64_max(1, fact->stride_multiple[d])
                                                        : 1;
        view->extent_multiple[d] = extent != IR_DYNAMIC ? low_bit(extent, 1 << 20)
                                   : fact               ? int64_max(1, fact->extent_multiple[d])
                                                        : 1;
        view->extent_multiple[d] = int64_max(view->extent_multiple[d], assumed_multiple(l, argument, d));
    }
    if (fact && fact->asked_alignment)
        suppose_alignment(argument, fact->asked_alignment, view);
    l->values[argument->id].view = view;
}

static LLVMValueRef clamp(struct lowering *l, LLVMValueRef value, LLVMValueRef least, LLVMValueRef most)
{
    LLVMValueRef low[2] = {value, least};
    LLVMValueRef high[2] = {value_intrinsic(l, "llvm.smax", l->i64, low, 2), most};
    return value_intrinsic(l, "llvm.smin", l->i64, high, 2);
}

static void lower_subview(struct lowering *l, struct ir_operation *operation)
{
    LLVMBuilderRef b = l->builder;
    const struct ir_value *source = operation->operands[0];
    const struct view *from = value_of(l, source)->view;
    struct view *view = ARENA_NEW(l->arena, struct view);
    int64_t drop = ir_number(operation, IR_ATTRIBUTE_DROP, 0);
    int bytes = value_bytes(source->type->element), kept = 0;
    LLVMValueRef offset = value_i64(l, 0), present = from->present;
    *view = (struct view){.alignment = from->alignment, .asked = from->asked, .constant_memory = from->constant_memory};
    for (int d = 0; d < source->type->rank; d++) {
        const struct ir_value *start_value = operation->operands[1 + 2 * d],
                              *stop_value = operation->operands[2 + 2 * d];
        LLVMValueRef start = value_wide(l, start_value->type->element, value_register(l, start_value, 0));
        LLVMValueRef stop = value_wide(l, stop_value->type->element, value_register(l, stop_value, 0));
        int64_t start_divisor = fact_divisor(l, start_value);
        if (drop >> d & 1) {
            LLVMIntPredicate below = PLANTED(nvptx_negative_row_is_there) ? LLVMIntSLT : LLVMIntULT;
            LLVMValueRef inside = LLVMBuildICmp(b, below, start, from->extent[d], "");
            present = LLVMBuildAnd(b, present, inside, "");
        } else {
            LLVMValueRef zero = value_i64(l, 0);
            start = clamp(l, start, zero, from->extent[d]);
            stop = clamp(l, stop, start, from->extent[d]);
            /* A start that was clamped is 0 or the extent: then nothing is left, or its divisor is at least the fact's.
             */
            const struct ir_type *type = operation->results[0]->type;
            view->extent[kept] = type->extent[kept] != IR_DYNAMIC ? value_i64(l, type->extent[kept])
                                                                  : LLVMBuildSub(b, stop, start, "");
            view->stop[kept] = stop;
            view->stride[kept] = from->stride[d];
            view->stride_multiple[kept] = from->stride_multiple[d];
            view->extent_multiple[kept] = type->extent[kept] != IR_DYNAMIC
                                              ? low_bit(type->extent[kept], 1 << 20)
                                              : int64_min(start_divisor, PLANTED(nvptx_part_multiple_of_whole)
                                                                             ? from->extent_multiple[d]
                                                                             : int64_min(fact_divisor(l, stop_value),
                                                                                         from->extent_multiple[d]));
            kept++;
        }
        offset = LLVMBuildAdd(b, offset, LLVMBuildMul(b, start, from->stride[d], ""), "");
        view->alignment = int64_min(view->alignment,
                                    low_bit(start_divisor * from->stride_multiple[d] * bytes, 1 << 20));
    }
    LLVMValueRef distance = LLVMBuildMul(b, offset, value_i64(l, bytes), "");
    view->data = LLVMBuildGEP2(b, l->i8, from->data, &distance, 1, "");
    view->present = present;
    l->values[operation->results[0]->id].view = view;
}

static void lower_view_permute(struct lowering *l, struct ir_operation *operation)
{
    const struct view *from = value_of(l, operation->operands[0])->view;
    const struct ir_attribute *order = ir_attribute(operation, IR_ATTRIBUTE_PERMUTATION);
    struct view *view = ARENA_NEW(l->arena, struct view);
    *view = *from;
    for (int d = 0; d < order->count; d++) {
        int64_t source = order->list[d];
        view->extent[d] = from->extent[source];
        view->stride[d] = from->stride[source];
        view->stride_multiple[d] = from->stride_multiple[source];
        view->extent_multiple[d] = from->extent_multiple[source];
    }
    l->values[operation->results[0]->id].view = view;
}

static void lower_make_view(struct lowering *l, struct ir_operation *operation)
{
    const struct ir_value *base = operation->operands[0];
    const struct ir_type *type = operation->results[0]->type;
    struct view *view = ARENA_NEW(l->arena, struct view);
    if (base->type->kind == IR_VIEW) {
        *view = *value_of(l, base)->view;
    } else {
        view->data = value_register(l, base, 0);
        view->present = LLVMBuildIsNotNull(l->builder, view->data, "");
        view->alignment = int64_max(fact_divisor(l, base), value_bytes(type->element));
    }
    for (int d = 0; d < type->rank; d++) {
        const struct ir_value *extent = operation->operands[1 + d], *stride = operation->operands[1 + type->rank + d];
        view->extent[d] = value_wide(l, extent->type->element, value_register(l, extent, 0));
        view->stride[d] = value_wide(l, stride->type->element, value_register(l, stride, 0));
        view->extent_multiple[d] = fact_divisor(l, extent);
        view->stride_multiple[d] = fact_divisor(l, stride);
    }
    l->values[operation->results[0]->id].view = view;
}

void lower_view_operation(struct lowering *l, struct ir_operation *operation)
{
    if (operation->opcode == OP_SUBVIEW) {
        lower_subview(l, operation);
        return;
    }
    if (operation->opcode == OP_VIEW_PERMUTE) {
        lower_view_permute(l, operation);
        return;
    }
    if (operation->opcode == OP_MAKE_VIEW) {
        lower_make_view(l, operation);
        return;
    }
    const struct view *view = value_of(l, operation->operands[0])->view;
    struct ir_value *result = operation->results[0];
    int64_t d = ir_number(operation, IR_ATTRIBUTE_DIMENSION, 0);
    LLVMValueRef *out = value_define(l, result);
    switch (operation->opcode) {
    case OP_EXTENT:
        out[0] = LLVMBuildIntCast2(l->builder, view->extent[d], lower_value_type(l, result->type->element), true, "");
        break;
    case OP_STRIDE:
        out[0] = LLVMBuildIntCast2(l->builder, view->stride[d], lower_value_type(l, result->type->element), true, "");
        break;
    case OP_PRESENT: out[0] = view->present; break;
    case OP_VIEW_POINTER: out[0] = view->data; break;
    default: die("%s is no operation on views", ir_op_info[operation->opcode].text);
    }
}
