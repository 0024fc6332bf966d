/* Loops, branches and the regions of map and reduce.  Scalars are the same in all threads, so every branch on them is
 * taken by the whole block, or role, and barriers may stand anywhere; inside map each element goes its own way and no
 * barrier stands there. */
#include "base/plant.h"
#include "targets/nvptx/lower/lower.h"
#include "targets/nvptx/thread/memory.h"

/* Everything a value is made of, flat: registers of a tile, or the parts of a view. */
struct parts {
    int count;
    LLVMValueRef *part;
};

static struct parts take(struct lowering *l, const struct ir_value *value)
{
    struct lowered *lowered = value_of(l, value);
    if (!lowered->view)
        return (struct parts){lowered->count, lowered->registers};
    const struct view *view = lowered->view;
    int rank = value->type->rank;
    struct parts parts = {2 + 2 * rank, value_array(l, 2 + 2 * rank)};
    parts.part[0] = view->data;
    parts.part[1] = view->present;
    for (int d = 0; d < rank; d++) {
        parts.part[2 + d] = view->extent[d];
        parts.part[2 + rank + d] = view->stride[d];
    }
    return parts;
}

/* A value made of parts that came from `like` or another value of its type: of a view only what its type says is known.
 */
static void give(struct lowering *l, const struct ir_value *value, LLVMValueRef *part, int count)
{
    struct lowered *lowered = &l->values[value->id];
    if (value->type->kind != IR_VIEW) {
        lowered->count = count;
        lowered->registers = part;
        return;
    }
    struct view *view = ARENA_NEW(l->arena, struct view);
    int rank = value->type->rank;
    *view = (struct view){.data = part[0], .present = part[1], .alignment = value_bytes(value->type->element)};
    for (int d = 0; d < rank; d++) {
        view->extent[d] = part[2 + d];
        view->stride[d] = part[2 + rank + d];
        view->extent_multiple[d] = view->stride_multiple[d] = 1;
    }
    lowered->view = view;
}

/* Phis at the builder's place for a value; `from` gives the first incoming edge. */
static LLVMValueRef *make_phis(struct lowering *l, const struct ir_value *value, struct parts first,
                               LLVMBasicBlockRef block)
{
    LLVMValueRef *phis = value_array(l, first.count);
    for (int i = 0; i < first.count; i++) {
        phis[i] = LLVMBuildPhi(l->builder, LLVMTypeOf(first.part[i]), "");
        LLVMAddIncoming(phis[i], &first.part[i], &block, 1);
    }
    if (value)
        give(l, value, phis, first.count);
    return phis;
}

static void add_incoming(LLVMValueRef *phis, struct parts parts, LLVMBasicBlockRef block)
{
    for (int i = 0; i < parts.count; i++)
        LLVMAddIncoming(phis[i], &parts.part[i], &block, 1);
}

/* What a loop reads for its next iteration, fragments from shared memory or tiles from global memory, comes in words of
 * two elements and goes round so: it takes half the registers, and nothing looks into words that are still on their
 * way.  An `if` may stand around the load. */
static bool goes_in_words(const struct ir_value *value)
{
    const struct ir_operation *op = value->definition;
    if (!op || value->type->kind != IR_TILE || ir_element_info[value->type->element].bits != 16 ||
        value_registers(value->type) % 2)
        return false;
    if (op->opcode == OP_IF)
        return goes_in_words(ir_terminator(op->regions[0])->operands[value->index]);
    return op->opcode == OP_BUFFER_LOAD || op->opcode == OP_LOAD;
}

static struct parts take_words(struct lowering *l, const struct ir_value *value)
{
    struct parts parts = take(l, value);
    LLVMValueRef *words = value_array(l, parts.count / 2);
    struct memory_shape shape = {.unit = 4, .words = parts.count / 2, .each = 2};
    memory_pack(l, value->type->element, shape, parts.part, words);
    return (struct parts){parts.count / 2, words};
}

static void give_words(struct lowering *l, const struct ir_value *value, LLVMValueRef *words)
{
    int count = value_registers(value->type);
    struct memory_shape shape = {.unit = 4, .words = count / 2, .each = 2};
    LLVMValueRef *registers = value_array(l, count);
    memory_unpack(l, value->type->element, shape, words, registers);
    give(l, value, registers, count);
}

/* A value as it goes round or out of an arm: in words if `way`, which it takes, does. */
static struct parts take_for(struct lowering *l, const struct ir_value *way, const struct ir_value *value)
{
    return goes_in_words(way) ? take_words(l, value) : take(l, value);
}

static void give_from(struct lowering *l, const struct ir_value *way, const struct ir_value *value, LLVMValueRef *part,
                      int count)
{
    if (goes_in_words(way))
        give_words(l, value, part);
    else
        give(l, value, part, count);
}

/* The variable of the next iteration; where the element has no such number, the end, so that there is none. */
static LLVMValueRef next_variable(struct lowering *l, const struct ir_operation *loop, LLVMValueRef variable, bool down)
{
    LLVMBuilderRef b = l->builder;
    enum ir_element element = loop->operands[0]->type->element;
    bool is_signed = ir_is_signed(element), multiply = ir_number(loop, IR_ATTRIBUTE_MULTIPLY, 0) != 0;
    LLVMValueRef upper = value_register(l, loop->operands[1], 0), step = value_register(l, loop->operands[2], 0);
    LLVMValueRef exists;
    LLVMTypeRef type = LLVMTypeOf(variable);
    LLVMValueRef next = multiply ? LLVMBuildMul(b, variable, step, "") : LLVMBuildAdd(b, variable, step, "");
    if (range_loop_ends(l->ranges, loop) || PLANTED(nvptx_loop_starts_again))
        return next;
    if (multiply) {
        int unused = 64 - ir_element_info[element].bits + is_signed;
        LLVMValueRef one = LLVMConstInt(type, 1, false), most = LLVMConstInt(type, UINT64_MAX >> unused, false);
        LLVMValueRef by = LLVMBuildSelect(b, LLVMBuildICmp(b, LLVMIntULT, step, one, ""), one, step, "");
        exists = LLVMBuildICmp(b, LLVMIntULE, variable, LLVMBuildUDiv(b, most, by, ""), "");
    } else {
        LLVMIntPredicate predicate = down ? (is_signed ? LLVMIntSLT : LLVMIntULT) : is_signed ? LLVMIntSGT : LLVMIntUGT;
        exists = LLVMBuildICmp(b, predicate, next, variable, "");
    }
    return LLVMBuildSelect(b, exists, next, upper, "");
}

static void lower_loop_body(struct lowering *l, struct ir_block *body)
{
    struct lowering outside = *l;
    role_in_loop(l, body);
    lower_block(l, body);
    role_restore(l, &outside);
    l->numbered_here = outside.numbered_here;
}

static void lower_for(struct lowering *l, struct ir_operation *operation)
{
    LLVMBuilderRef b = l->builder;
    struct ir_block *region = operation->regions[0];
    int carried = operation->operand_count - 3;
    LLVMValueRef lower = value_register(l, operation->operands[0], 0),
                 upper = value_register(l, operation->operands[1], 0);
    bool multiply = ir_number(operation, IR_ATTRIBUTE_MULTIPLY, 0) != 0,
         is_signed = ir_is_signed(operation->operands[0]->type->element);
    int64_t known;
    bool down = !multiply && ir_constant_integer(operation->operands[2], &known) && known < 0;
    const struct ir_operation *yield = ir_terminator(region);
    struct parts *first = ARENA_ARRAY(l->arena, struct parts, carried);
    for (int i = 0; i < carried; i++)
        first[i] = take_for(l, yield->operands[i], operation->operands[i + 3]);
    LLVMBasicBlockRef before = LLVMGetInsertBlock(b), head = value_block(l, "for"), body = value_block(l, "do"),
                      after = value_block(l, "done");
    LLVMBuildBr(b, head);
    LLVMPositionBuilderAtEnd(b, head);
    LLVMValueRef variable = LLVMBuildPhi(b, LLVMTypeOf(lower), "");
    LLVMAddIncoming(variable, &lower, &before, 1);
    LLVMValueRef *counter = value_array(l, 1);
    counter[0] = variable;
    give(l, region->arguments.data[0], counter, 1);
    LLVMValueRef **phis = ARENA_ARRAY(l->arena, LLVMValueRef *, carried);
    for (int i = 0; i < carried; i++)
        phis[i] = make_phis(l, NULL, first[i], before);
    for (int i = 0; i < carried; i++)
        give_from(l, yield->operands[i], region->arguments.data[i + 1], phis[i], first[i].count);
    LLVMIntPredicate predicate = down ? (is_signed ? LLVMIntSGT : LLVMIntUGT) : (is_signed ? LLVMIntSLT : LLVMIntULT);
    LLVMBuildCondBr(b, LLVMBuildICmp(b, predicate, variable, upper, ""), body, after);
    LLVMPositionBuilderAtEnd(b, body);
    lower_loop_body(l, region);
    LLVMBasicBlockRef last = LLVMGetInsertBlock(b);
    for (int i = 0; i < carried; i++)
        add_incoming(phis[i], take_for(l, yield->operands[i], yield->operands[i]), last);
    LLVMValueRef next = next_variable(l, operation, variable, down);
    LLVMAddIncoming(variable, &next, &last, 1);
    LLVMBuildBr(b, head);
    LLVMPositionBuilderAtEnd(b, after);
    for (int i = 0; i < carried; i++)
        give_from(l, yield->operands[i], operation->results[i], phis[i], first[i].count);
    role_behind_loop(l, operation);
}

static void lower_while(struct lowering *l, struct ir_operation *operation)
{
    LLVMBuilderRef b = l->builder;
    struct ir_block *test = operation->regions[0], *region = operation->regions[1];
    int carried = operation->operand_count;
    LLVMBasicBlockRef before = LLVMGetInsertBlock(b), head = value_block(l, "while"), body = value_block(l, "do"),
                      after = value_block(l, "done");
    LLVMBuildBr(b, head);
    LLVMPositionBuilderAtEnd(b, head);
    LLVMValueRef **phis = ARENA_ARRAY(l->arena, LLVMValueRef *, carried);
    for (int i = 0; i < carried; i++)
        phis[i] = make_phis(l, test->arguments.data[i], take(l, operation->operands[i]), before);
    lower_block(l, test);
    struct ir_operation *condition = ir_terminator(test);
    for (int i = 0; i < carried; i++) {
        struct parts parts = take(l, condition->operands[i + 1]);
        give(l, region->arguments.data[i], parts.part, parts.count);
        give(l, operation->results[i], parts.part, parts.count);
    }
    LLVMBuildCondBr(b, value_register(l, condition->operands[0], 0), body, after);
    LLVMPositionBuilderAtEnd(b, body);
    lower_loop_body(l, region);
    struct ir_operation *yield = ir_terminator(region);
    LLVMBasicBlockRef last = LLVMGetInsertBlock(b);
    for (int i = 0; i < carried; i++)
        add_incoming(phis[i], take(l, yield->operands[i]), last);
    LLVMBuildBr(b, head);
    LLVMPositionBuilderAtEnd(b, after);
}

static bool touches_memory(const struct ir_block *block)
{
    for (const struct ir_operation *op = block->first; op; op = op->next)
        if (ir_op_info[op->opcode].traits & (IR_TRAIT_READ | IR_TRAIT_WRITE | IR_TRAIT_ATOMIC) || ir_has_effect(op))
            return true;
    return false;
}

static void lower_if(struct lowering *l, struct ir_operation *operation)
{
    LLVMBuilderRef b = l->builder;
    LLVMBasicBlockRef arms[2] = {value_block(l, "then"), value_block(l, "else")}, join = value_block(l, "join"),
                      ends[2];
    struct parts *given[2];
    LLVMBuildCondBr(b, value_register(l, operation->operands[0], 0), arms[0], arms[1]);
    for (int i = 0; i < 2; i++) {
        LLVMPositionBuilderAtEnd(b, arms[i]);
        lower_block(l, operation->regions[i]);
        given[i] = ARENA_ARRAY(l->arena, struct parts, operation->result_count + 1);
        for (int r = 0; r < operation->result_count; r++)
            given[i][r] = take_for(l, operation->results[r], ir_terminator(operation->regions[i])->operands[r]);
        if (touches_memory(operation->regions[i]))
            ptx_end_arm(l);
        ends[i] = LLVMGetInsertBlock(b);
        LLVMBuildBr(b, join);
    }
    LLVMPositionBuilderAtEnd(b, join);
    LLVMValueRef **phis = ARENA_ARRAY(l->arena, LLVMValueRef *, operation->result_count + 1);
    for (int r = 0; r < operation->result_count; r++) {
        phis[r] = make_phis(l, NULL, given[0][r], ends[0]);
        add_incoming(phis[r], given[1][r], ends[1]);
    }
    for (int r = 0; r < operation->result_count; r++)
        give_from(l, operation->results[r], operation->results[r], phis[r], given[0][r].count);
}

void lower_region(struct lowering *l, struct ir_block *block, const LLVMValueRef *arguments, LLVMValueRef *results)
{
    for (int i = 0; i < block->arguments.count; i++) {
        LLVMValueRef *one = value_array(l, 1);
        one[0] = arguments[i];
        give(l, block->arguments.data[i], one, 1);
    }
    l->per_element++;
    lower_block(l, block);
    l->per_element--;
    const struct ir_operation *yield = ir_terminator(block);
    for (int i = 0; i < yield->operand_count; i++)
        results[i] = value_register(l, yield->operands[i], 0);
}

void lower_control(struct lowering *l, struct ir_operation *operation)
{
    switch (operation->opcode) {
    case OP_FOR: lower_for(l, operation); return;
    case OP_WHILE: lower_while(l, operation); return;
    case OP_IF: lower_if(l, operation); return;
    case OP_MAP: lower_map(l, operation); return;
    default: die("no control flow");
    }
}
