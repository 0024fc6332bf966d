/* for, while, if.  Scalars and views that cross become phis; tiles live in buffers that the operation owns: a loop's
 * carried tile has one, which the initial value gives up when nobody else needs it, and which the body's last operation
 * on it fills in place when the plan shows that the old value is dead. */
#include "base/plant.h"
#include "ir/facts/analysis.h"
#include "targets/cpu/emit.h"

#define B e->builder

enum { MAX_PARTS = 2 + 2 * IR_MAX_RANK };

/* The LLVM values a scalar or view consists of. */
static int parts_of(struct cpu_emitter *e, const struct ir_value *value, LLVMValueRef *parts)
{
    const struct cpu_state *state = cpu_state_of(e, value);
    if (value->type->kind != IR_VIEW) {
        parts[0] = state->scalar;
        return 1;
    }
    const struct cpu_view *view = state->view;
    int count = 0;
    parts[count++] = view->data;
    parts[count++] = view->present ? view->present : LLVMConstInt(e->i1, 1, 0);
    for (int d = 0; d < value->type->rank; d++) {
        parts[count++] = view->extent[d];
        parts[count++] = view->stride[d];
    }
    return count;
}

static void bind_parts(struct cpu_emitter *e, const struct ir_value *value, LLVMValueRef *parts, int root)
{
    struct cpu_state *state = cpu_state_of(e, value);
    if (value->type->kind != IR_VIEW) {
        cpu_set_scalar(e, value, parts[0]);
        return;
    }
    struct cpu_view *view = ARENA_NEW(e->arena, struct cpu_view);
    view->data = parts[0];
    view->present = parts[1];
    view->root = root;
    for (int d = 0; d < value->type->rank; d++) {
        view->extent[d] = parts[2 + 2 * d];
        view->stride[d] = parts[3 + 2 * d];
    }
    state->kind = CPU_VIEW;
    state->view = view;
}

/* Phis for `value` at the builder's point, one edge filled; binds `to`. */
static LLVMValueRef *phis_for(struct cpu_emitter *e, const struct ir_value *from, const struct ir_value *to,
                              LLVMBasicBlockRef edge)
{
    LLVMValueRef parts[MAX_PARTS], *phis = ARENA_ARRAY(e->arena, LLVMValueRef, MAX_PARTS);
    int count = parts_of(e, from, parts);
    for (int i = 0; i < count; i++) {
        phis[i] = LLVMBuildPhi(B, LLVMTypeOf(parts[i]), "");
        LLVMAddIncoming(phis[i], &parts[i], &edge, 1);
    }
    bind_parts(e, to, phis, -1);
    return phis;
}

static void close_phis(struct cpu_emitter *e, LLVMValueRef *phis, const struct ir_value *from, LLVMBasicBlockRef edge)
{
    LLVMValueRef parts[MAX_PARTS];
    int count = parts_of(e, from, parts);
    for (int i = 0; i < count; i++)
        LLVMAddIncoming(phis[i], &parts[i], &edge, 1);
}

/* ---- tiles ---- */

/* Values to buffers at the end of a region, as if all at once: what a later one still reads goes to a copy first. */
static void fill_all(struct cpu_emitter *e, int count, struct ir_value *const *values,
                     struct cpu_buffer *const *buffers)
{
    struct cpu_buffer **apart = ARENA_ARRAY(e->arena, struct cpu_buffer *, count + 1);
    for (int i = 0; i < count; i++) {
        if (!buffers[i])
            continue;
        bool read = false;
        for (int j = i + 1; j < count && !read; j++)
            read = buffers[j] && cpu_reads(e, values[j], buffers[i]) != CPU_READS_NOT;
        const struct cpu_state *state = cpu_state_of(e, values[i]);
        bool stays = state->kind == CPU_BUFFER && state->buffer->offset == buffers[i]->offset;
        if (read && !stays && !PLANTED(cpu_carried_tiles_overwrite)) {
            apart[i] = cpu_buffer_create(e, cpu_tile_bytes(values[i]->type), NULL, 0);
            cpu_fill(e, values[i], apart[i]);
        } else {
            cpu_fill(e, values[i], buffers[i]);
        }
    }
    for (int i = 0; i < count; i++)
        if (apart[i]) {
            LLVMBuildMemCpy(B, cpu_buffer_address(e, buffers[i]), 64, cpu_buffer_address(e, apart[i]), 64,
                            cpu_int(e, cpu_tile_bytes(values[i]->type)));
            cpu_buffer_release(e, apart[i]);
        }
}

/* Nothing but operand `index` of `operation` reads the value from here on, and it owns its buffer. */
static bool gives_up(struct cpu_emitter *e, const struct cpu_plan *plan, const struct ir_operation *operation,
                     int index, int position)
{
    const struct ir_value *value = operation->operands[index];
    const struct cpu_state *state = cpu_state_of(e, value);
    if (state->kind != CPU_BUFFER || value->block != operation->block || state->buffer->owner != operation->block ||
        state->buffer->last > position)
        return false;
    for (const struct ir_use *use = value->uses; use; use = use->next) {
        if (use->user == operation) {
            if (use->index != index)
                return false;
            continue;
        }
        if (cpu_plan_position(plan, use->user) >= position)
            return false;
        for (int r = 0; r < use->user->result_count; r++) {
            const struct cpu_state *result = cpu_state_of(e, use->user->results[r]);
            bool follows = result->kind == CPU_VIRTUAL ||
                           (result->kind == CPU_BUFFER && result->buffer == state->buffer);
            if (cpu_is_tile(use->user->results[r]) && follows && result->last >= position)
                return false;
        }
    }
    return true;
}

/* The buffer of a carried tile, holding operand `index`; it lives on as `result`. */
static struct cpu_buffer *carried_buffer(struct cpu_emitter *e, const struct cpu_plan *plan,
                                         struct ir_operation *operation, int index, int position,
                                         const struct ir_value *result)
{
    struct ir_value *initial = operation->operands[index];
    int last = result ? cpu_state_of(e, result)->last : position;
    struct cpu_buffer *buffer;
    if (gives_up(e, plan, operation, index, position)) {
        buffer = cpu_state_of(e, initial)->buffer;
        if (last > buffer->last)
            buffer->last = last;
    } else {
        buffer = cpu_buffer_create(e, cpu_tile_bytes(initial->type), operation->block,
                                   last > position ? last : position);
        cpu_fill(e, initial, buffer);
    }
    return buffer;
}

/* ---- for ---- */

static LLVMValueRef goes_on(struct cpu_emitter *e, enum ir_element element, LLVMValueRef variable, LLVMValueRef upper,
                            bool down)
{
    bool is_signed = ir_is_signed(element);
    LLVMIntPredicate predicate = down ? (is_signed ? LLVMIntSGT : LLVMIntUGT) : (is_signed ? LLVMIntSLT : LLVMIntULT);
    return LLVMBuildICmp(B, predicate, variable, upper, "");
}

static bool may_wrap(struct cpu_emitter *e, const struct ir_operation *loop)
{
    const struct ir_function *function = loop->block->function;
    if (e->ranged != function) {
        e->ranges = ranges_analyse(function, e->arena);
        e->ranged = function;
    }
    return !range_loop_ends(e->ranges, loop);
}

/* The largest number whose product by the step is a number of the element. */
static LLVMValueRef most_of(struct cpu_emitter *e, enum ir_element element, LLVMValueRef step)
{
    LLVMTypeRef type = LLVMTypeOf(step);
    int unused = 64 - ir_element_info[element].bits + ir_is_signed(element);
    LLVMValueRef one = LLVMConstInt(type, 1, 0), all = LLVMConstInt(type, UINT64_MAX >> unused, 0);
    LLVMValueRef by = LLVMBuildSelect(B, LLVMBuildICmp(B, LLVMIntULT, step, one, ""), one, step, "");
    return LLVMBuildUDiv(B, all, by, "");
}

static void emit_for(struct cpu_emitter *e, const struct cpu_plan *plan, struct ir_operation *operation, int position)
{
    struct ir_block *body = operation->regions[0];
    int count = operation->result_count;
    struct cpu_buffer **buffers = ARENA_ARRAY(e->arena, struct cpu_buffer *, count + 1);
    LLVMValueRef **phis = ARENA_ARRAY(e->arena, LLVMValueRef *, count + 1);
    enum ir_element element = operation->operands[0]->type->element;
    LLVMValueRef lower = cpu_scalar(e, operation->operands[0]), upper = cpu_scalar(e, operation->operands[1]);
    LLVMValueRef step = cpu_scalar(e, operation->operands[2]);
    int64_t number;
    bool fixed = ir_constant_integer(operation->operands[2], &number),
         multiply = ir_number(operation, IR_ATTRIBUTE_MULTIPLY, 0) != 0;
    bool down = fixed && number < 0 && ir_is_signed(element);
    for (int i = 0; i < count; i++)
        if (cpu_is_tile(operation->results[i]))
            buffers[i] = carried_buffer(e, plan, operation, 3 + i, position, operation->results[i]);
    LLVMBasicBlockRef before = LLVMGetInsertBlock(B), head = cpu_block(e, "for"), inside = cpu_block(e, "do"),
                      exit = cpu_block(e, "end");
    LLVMBuildBr(B, head);
    LLVMPositionBuilderAtEnd(B, head);
    LLVMValueRef variable = LLVMBuildPhi(B, LLVMTypeOf(lower), "k");
    LLVMAddIncoming(variable, &lower, &before, 1);
    cpu_set_scalar(e, body->arguments.data[0], variable);
    for (int i = 0; i < count; i++) {
        struct ir_value *argument = body->arguments.data[1 + i];
        if (buffers[i])
            cpu_set_buffer(e, argument, cpu_buffer_borrow(e, buffers[i], body, -1));
        else
            phis[i] = phis_for(e, operation->operands[3 + i], argument, before);
    }
    LLVMValueRef running = NULL, yes = LLVMConstInt(e->i1, 1, 0);
    if (may_wrap(e, operation)) {
        running = LLVMBuildPhi(B, e->i1, "");
        LLVMAddIncoming(running, &yes, &before, 1);
    }
    LLVMValueRef go = cpu_both(e, running, goes_on(e, element, variable, upper, down));
    LLVMBuildCondBr(B, go, inside, exit);
    LLVMPositionBuilderAtEnd(B, inside);
    cpu_emit_block(e, body);
    struct ir_operation *yield = ir_terminator(body);
    fill_all(e, count, yield->operands, buffers);
    cpu_block_end(e, body);
    LLVMValueRef next = multiply ? LLVMBuildMul(B, variable, step, "") : LLVMBuildAdd(B, variable, step, "");
    LLVMBasicBlockRef latch = LLVMGetInsertBlock(B);
    if (running) { /* past the end of its type the variable stops */
        LLVMValueRef advanced = multiply ? LLVMBuildICmp(B, LLVMIntULE, variable, most_of(e, element, step), "")
                                         : goes_on(e, element, next, variable, !down);
        if (PLANTED(cpu_loop_starts_again))
            advanced = yes;
        LLVMAddIncoming(running, &advanced, &latch, 1);
    }
    LLVMAddIncoming(variable, &next, &latch, 1);
    for (int i = 0; i < count; i++)
        if (!buffers[i])
            close_phis(e, phis[i], yield->operands[i], latch);
    cpu_loop_hint(e, LLVMBuildBr(B, head), 1);
    LLVMPositionBuilderAtEnd(B, exit);
    for (int i = 0; i < count; i++) {
        if (buffers[i])
            cpu_set_buffer(e, operation->results[i], buffers[i]);
        else
            bind_parts(e, operation->results[i], phis[i], -1);
    }
}

/* ---- while ---- */

/* Tiles that the condition hands on: an argument's buffer itself, else one of their own, filled before the branch. */
static void forward_tiles(struct cpu_emitter *e, const struct ir_operation *operation,
                          const struct ir_operation *condition, struct cpu_buffer **carried,
                          struct cpu_buffer **forwarded)
{
    struct ir_block *test = operation->regions[0];
    for (int i = 0; i + 1 < condition->operand_count; i++) {
        struct ir_value *value = condition->operands[i + 1];
        if (!cpu_is_tile(value))
            continue;
        for (int k = 0; k < test->arguments.count; k++)
            if (test->arguments.data[k] == value) {
                bool taken = false;
                for (int j = 0; j < i; j++)
                    taken |= forwarded[j] == carried[k];
                if (!taken)
                    forwarded[i] = carried[k];
            }
        if (!forwarded[i]) {
            forwarded[i] = cpu_buffer_create(e, cpu_tile_bytes(value->type), operation->block,
                                             cpu_state_of(e, operation->results[i])->last);
            cpu_fill(e, value, forwarded[i]);
        }
    }
}

static void emit_while(struct cpu_emitter *e, const struct cpu_plan *plan, struct ir_operation *operation, int position)
{
    struct ir_block *test = operation->regions[0], *body = operation->regions[1];
    int count = operation->operand_count, forwards = operation->result_count;
    struct cpu_buffer **carried = ARENA_ARRAY(e->arena, struct cpu_buffer *, count + 1);
    struct cpu_buffer **forwarded = ARENA_ARRAY(e->arena, struct cpu_buffer *, forwards + 1);
    LLVMValueRef **phis = ARENA_ARRAY(e->arena, LLVMValueRef *, count + 1);
    int longest = position;
    for (int i = 0; i < forwards; i++)
        if (cpu_state_of(e, operation->results[i])->last > longest)
            longest = cpu_state_of(e, operation->results[i])->last;
    for (int i = 0; i < count; i++)
        if (cpu_is_tile(operation->operands[i])) {
            carried[i] = carried_buffer(e, plan, operation, i, position, NULL);
            if (longest > carried[i]->last)
                carried[i]->last = longest;
        }
    LLVMBasicBlockRef before = LLVMGetInsertBlock(B), head = cpu_block(e, "while"), inside = cpu_block(e, "do"),
                      exit = cpu_block(e, "end");
    LLVMBuildBr(B, head);
    LLVMPositionBuilderAtEnd(B, head);
    for (int i = 0; i < count; i++) {
        if (carried[i]) /* read-only in the test: its owner is nobody, so that nothing is done in place */
            cpu_set_buffer(e, test->arguments.data[i], cpu_buffer_borrow(e, carried[i], NULL, position));
        else
            phis[i] = phis_for(e, operation->operands[i], test->arguments.data[i], before);
    }
    cpu_emit_block(e, test);
    struct ir_operation *condition = ir_terminator(test);
    forward_tiles(e, operation, condition, carried, forwarded);
    cpu_block_end(e, test);
    LLVMBuildCondBr(B, cpu_scalar(e, condition->operands[0]), inside, exit);
    LLVMPositionBuilderAtEnd(B, inside);
    for (int i = 0; i < body->arguments.count; i++) {
        LLVMValueRef parts[MAX_PARTS];
        if (forwarded[i]) {
            cpu_set_buffer(e, body->arguments.data[i], cpu_buffer_borrow(e, forwarded[i], body, -1));
        } else {
            parts_of(e, condition->operands[i + 1], parts);
            bind_parts(e, body->arguments.data[i], parts, -1);
        }
    }
    cpu_emit_block(e, body);
    struct ir_operation *yield = ir_terminator(body);
    fill_all(e, count, yield->operands, carried);
    cpu_block_end(e, body);
    LLVMBasicBlockRef latch = LLVMGetInsertBlock(B);
    for (int i = 0; i < count; i++)
        if (!carried[i])
            close_phis(e, phis[i], yield->operands[i], latch);
    cpu_loop_hint(e, LLVMBuildBr(B, head), 1);
    LLVMPositionBuilderAtEnd(B, exit);
    for (int i = 0; i < forwards; i++) {
        LLVMValueRef parts[MAX_PARTS];
        if (forwarded[i]) {
            cpu_set_buffer(e, operation->results[i], forwarded[i]);
        } else {
            parts_of(e, condition->operands[i + 1], parts);
            bind_parts(e, operation->results[i], parts, -1);
        }
    }
}

/* ---- if ---- */

/* A tile that a branch hands through and that dies here keeps its bytes: that branch then does nothing. */
static struct cpu_buffer *handed_through(struct cpu_emitter *e, const struct ir_operation *operation, int result,
                                         int position, struct cpu_buffer **taken)
{
    for (int r = 1; r >= 0; r--) {
        const struct ir_value *value = ir_terminator(operation->regions[r])->operands[result];
        const struct cpu_state *state = cpu_state_of(e, value);
        if (value->block != operation->block || state->kind != CPU_BUFFER || state->last > position ||
            state->buffer->owner != operation->block || state->buffer->last > position)
            continue;
        bool free = true;
        for (int i = 0; i < result; i++)
            free &= taken[i] != state->buffer;
        if (free)
            return state->buffer;
    }
    return NULL;
}

static void emit_if(struct cpu_emitter *e, struct ir_operation *operation, int position)
{
    int count = operation->result_count;
    struct cpu_buffer **buffers = ARENA_ARRAY(e->arena, struct cpu_buffer *, count + 1);
    LLVMValueRef **phis = ARENA_ARRAY(e->arena, LLVMValueRef *, count + 1);
    for (int i = 0; i < count; i++)
        if (cpu_is_tile(operation->results[i])) {
            int last = cpu_state_of(e, operation->results[i])->last;
            buffers[i] = handed_through(e, operation, i, position, buffers);
            if (!buffers[i])
                buffers[i] = cpu_buffer_create(e, cpu_tile_bytes(operation->results[i]->type), operation->block, last);
            else if (last > buffers[i]->last)
                buffers[i]->last = last;
        }
    LLVMBasicBlockRef starts[2] = {cpu_block(e, "then"), cpu_block(e, "else")}, join = cpu_block(e, "join"), ends[2];
    LLVMValueRef(*parts)[2][MAX_PARTS] = arena_alloc(e->arena, sizeof *parts * (size_t)(count + 1));
    LLVMBuildCondBr(B, cpu_scalar(e, operation->operands[0]), starts[0], starts[1]);
    for (int r = 0; r < 2; r++) {
        LLVMPositionBuilderAtEnd(B, starts[r]);
        cpu_emit_block(e, operation->regions[r]);
        struct ir_operation *yield = ir_terminator(operation->regions[r]);
        fill_all(e, count, yield->operands, buffers);
        for (int i = 0; i < count; i++)
            if (!buffers[i])
                parts_of(e, yield->operands[i], parts[i][r]);
        cpu_block_end(e, operation->regions[r]);
        ends[r] = LLVMGetInsertBlock(B);
        LLVMBuildBr(B, join);
    }
    LLVMPositionBuilderAtEnd(B, join);
    for (int i = 0; i < count; i++) {
        if (buffers[i]) {
            cpu_set_buffer(e, operation->results[i], buffers[i]);
            continue;
        }
        const struct ir_type *type = operation->results[i]->type;
        int parts_count = type->kind == IR_VIEW ? 2 + 2 * type->rank : 1;
        phis[i] = ARENA_ARRAY(e->arena, LLVMValueRef, MAX_PARTS);
        for (int p = 0; p < parts_count; p++) {
            phis[i][p] = LLVMBuildPhi(B, LLVMTypeOf(parts[i][0][p]), "");
            LLVMAddIncoming(phis[i][p], (LLVMValueRef[]){parts[i][0][p], parts[i][1][p]}, ends, 2);
        }
        bind_parts(e, operation->results[i], phis[i], -1);
    }
}

void cpu_emit_control(struct cpu_emitter *e, const struct cpu_plan *plan, struct ir_operation *operation, int position)
{
    switch (operation->opcode) {
    case OP_FOR: emit_for(e, plan, operation, position); return;
    case OP_WHILE: emit_while(e, plan, operation, position); return;
    default: emit_if(e, operation, position); return;
    }
}
