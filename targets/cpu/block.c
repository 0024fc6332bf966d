/* One block: scalars at once, tiles when somebody needs them, memory operations as nests, in program order. */
#include "targets/cpu/emit.h"
#include <limits.h>

#define B e->builder

LLVMValueRef cpu_scalar(struct cpu_emitter *e, struct ir_value *value)
{
    struct cpu_state *state = cpu_state_of(e, value);
    if (e->failed && state->kind != CPU_SCALAR)
        return LLVMGetPoison(cpu_register_type(e, value->type->element));
    if (state->kind != CPU_SCALAR)
        die("a scalar is used before it is there");
    return state->scalar;
}

/* ---- views ---- */

static LLVMValueRef index_of(struct cpu_emitter *e, struct ir_value *value)
{
    return cpu_cast(e, cpu_scalar(e, value), value->type->element, IR_INDEX, IR_ROUND_RTNE, false);
}

static LLVMValueRef clamp(struct cpu_emitter *e, LLVMValueRef value, LLVMValueRef low, LLVMValueRef high)
{
    return cpu_minimum(e, cpu_maximum(e, value, low), high);
}

static struct cpu_view *subview(struct cpu_emitter *e, const struct ir_operation *operation)
{
    const struct cpu_view *from = cpu_state_of(e, operation->operands[0])->view;
    struct cpu_view *view = ARENA_NEW(e->arena, struct cpu_view);
    int64_t drop = ir_number(operation, IR_ATTRIBUTE_DROP, 0);
    LLVMValueRef offset = cpu_int(e, 0), zero = cpu_int(e, 0);
    int kept = 0;
    view->present = from->present;
    view->root = from->root;
    for (int d = 0; d < operation->operands[0]->type->rank; d++) {
        LLVMValueRef start = index_of(e, operation->operands[1 + 2 * d]);
        if (drop >> d & 1) {
            view->present = cpu_both(e, view->present, LLVMBuildICmp(B, LLVMIntULT, start, from->extent[d], ""));
        } else {
            LLVMValueRef stop = index_of(e, operation->operands[2 + 2 * d]);
            start = clamp(e, start, zero, from->extent[d]);
            view->extent[kept] = LLVMBuildSub(B, clamp(e, stop, start, from->extent[d]), start, "");
            view->stride[kept++] = from->stride[d];
        }
        offset = LLVMBuildAdd(B, offset, LLVMBuildMul(B, start, from->stride[d], ""), "");
    }
    view->data = cpu_address(e, operation->operands[0]->type->element, from->data, offset);
    return view;
}

static struct cpu_view *make_view(struct cpu_emitter *e, const struct ir_operation *operation)
{
    struct ir_value *base = operation->operands[0];
    struct cpu_view *view = ARENA_NEW(e->arena, struct cpu_view);
    int rank = operation->results[0]->type->rank;
    if (base->type->kind == IR_VIEW) {
        *view = *cpu_state_of(e, base)->view;
    } else {
        LLVMValueRef address = cpu_scalar(e, base);
        view->data = LLVMBuildIntToPtr(B, address, e->pointer, "");
        view->present = LLVMBuildICmp(B, LLVMIntNE, address, cpu_int(e, 0), "");
        view->root = cpu_root_of(e, base);
    }
    for (int d = 0; d < rank; d++) {
        view->extent[d] = index_of(e, operation->operands[1 + d]);
        view->stride[d] = index_of(e, operation->operands[1 + rank + d]);
    }
    return view;
}

void cpu_emit_view(struct cpu_emitter *e, struct ir_operation *operation)
{
    struct cpu_state *state = cpu_state_of(e, operation->results[0]);
    state->kind = CPU_VIEW;
    if (operation->opcode != OP_VIEW_PERMUTE) {
        state->view = operation->opcode == OP_SUBVIEW ? subview(e, operation) : make_view(e, operation);
        return;
    }
    const struct cpu_view *from = cpu_state_of(e, operation->operands[0])->view;
    const int64_t *permutation = ir_attribute(operation, IR_ATTRIBUTE_PERMUTATION)->list;
    state->view = ARENA_NEW(e->arena, struct cpu_view);
    *state->view = *from;
    for (int d = 0; d < operation->results[0]->type->rank; d++) {
        state->view->extent[d] = from->extent[permutation[d]];
        state->view->stride[d] = from->stride[permutation[d]];
    }
}

static void emit_view_fact(struct cpu_emitter *e, const struct ir_operation *operation)
{
    const struct cpu_view *view = cpu_state_of(e, operation->operands[0])->view;
    int64_t d = ir_number(operation, IR_ATTRIBUTE_DIMENSION, 0);
    LLVMValueRef value = NULL;
    switch (operation->opcode) {
    case OP_EXTENT: value = view->extent[d]; break;
    case OP_STRIDE: value = view->stride[d]; break;
    case OP_PRESENT: value = view->present ? view->present : LLVMConstInt(e->i1, 1, 0); break;
    default: value = LLVMBuildPtrToInt(B, view->data, e->i64, ""); break;
    }
    if (operation->opcode == OP_EXTENT || operation->opcode == OP_STRIDE)
        value = cpu_cast(e, value, IR_INDEX, operation->results[0]->type->element, IR_ROUND_RTNE, false);
    cpu_set_scalar(e, operation->results[0], value);
}

/* ---- memory operations ---- */

static void store_body(struct cpu_nest *nest, const struct cpu_point *point, int copy)
{
    (void)copy;
    cpu_store_element(nest, nest->target, point);
}

static void atomic_body(struct cpu_nest *nest, const struct cpu_point *point, int copy)
{
    (void)copy;
    LLVMValueRef old = cpu_atomic_element(nest, nest->target, point);
    if (nest->context)
        cpu_buffer_store(nest, nest->context, nest->target->results[0]->type, point, old);
}

/* Elements outside give 0, and the nest of an atomic runs over what is inside only. */
static void clear_buffer(struct cpu_emitter *e, const struct cpu_buffer *buffer, int64_t bytes)
{
    LLVMBuildMemSet(B, cpu_buffer_address(e, buffer), LLVMConstInt(e->i8, 0, 0), cpu_int(e, bytes), 64);
}

static int shape_of(const struct ir_operation *operation, int64_t *extent)
{
    struct ir_access access;
    ir_access_of(operation, &access);
    if (access.place)
        return ir_place_shape(&access, extent);
    const struct ir_value *shape = access.view;
    for (int i = 1; i < operation->operand_count && shape->type->rank == 0; i++)
        shape = operation->operands[i];
    for (int d = 0; d < shape->type->rank; d++)
        extent[d] = shape->type->extent[d];
    return shape->type->rank;
}

static void emit_memory(struct cpu_emitter *e, const struct ir_operation *operation)
{
    bool store = operation->opcode == OP_STORE || operation->opcode == OP_POINTER_STORE;
    struct cpu_nest nest = {.e = e, .lanes_dim = -1, .target = operation, .partial = true};
    nest.rank = shape_of(operation, nest.extent);
    nest.mode = CPU_MIXED;
    if (nest.rank == 0) {
        struct cpu_point point = {.lanes_dim = -1};
        nest.lanes = 1;
        if (store)
            cpu_store_element(&nest, operation, &point);
        else
            cpu_set_scalar(e, operation->results[0], cpu_atomic_element(&nest, operation, &point));
        return;
    }
    for (int i = 0; i < operation->operand_count; i++)
        if (cpu_is_tile(operation->operands[i]))
            vector_push(e->arena, &nest.roots, operation->operands[i]);
    nest.body = store ? store_body : atomic_body;
    if (!store) {
        nest.lanes = nest.unroll = 1;
        nest.lanes_dim = nest.rank - 1;
        nest.in_order = true;
        const struct ir_value *result = operation->results[0];
        if (result->uses) {
            struct cpu_buffer *buffer = cpu_buffer_create(e, cpu_tile_bytes(result->type), result->block,
                                                          cpu_state_of(e, result)->last);
            clear_buffer(e, buffer, cpu_tile_bytes(result->type));
            nest.context = buffer;
        }
    }
    cpu_nest_emit(&nest);
    if (nest.context)
        cpu_set_buffer(e, operation->results[0], nest.context);
}

/* ---- calls ---- */

static void emit_call(struct cpu_emitter *e, struct ir_operation *operation, int position)
{
    const char *name = ir_attribute(operation, IR_ATTRIBUTE_CALLEE)->name;
    struct ir_function *callee = ir_function_find(operation->block->function->module, name);
    if (!callee || ++e->call_depth > 100) {
        cpu_report(e, operation->at, "a call of a function that is not in the module, or calls itself,");
        return;
    }
    for (int i = 0; i < operation->operand_count; i++) {
        struct ir_value *given = operation->operands[i], *argument = callee->body->arguments.data[i];
        struct cpu_state copy = *cpu_state_of(e, given);
        if (cpu_is_tile(given))
            copy.buffer = cpu_buffer_borrow(e, cpu_materialise(e, given, operation->block, position - 1), NULL,
                                            INT_MAX);
        struct cpu_state *state = cpu_state_of(e, argument);
        *state = (struct cpu_state){.kind = cpu_is_tile(given) ? CPU_BUFFER : copy.kind,
                                    .scalar = copy.scalar,
                                    .view = copy.view,
                                    .buffer = copy.buffer};
    }
    cpu_emit_block(e, callee->body);
    const struct ir_operation *end = ir_terminator(callee->body);
    for (int i = 0; i < operation->result_count; i++) {
        struct ir_value *result = operation->results[i], *given = end->operands[i];
        struct cpu_state *from = cpu_state_of(e, given), *to = cpu_state_of(e, result);
        if (cpu_is_tile(result)) {
            struct cpu_buffer *buffer = cpu_buffer_create(e, cpu_tile_bytes(result->type), result->block, to->last);
            cpu_fill(e, given, buffer);
            cpu_set_buffer(e, result, buffer);
            continue;
        }
        to->kind = from->kind;
        to->scalar = from->scalar;
        to->view = from->view;
    }
    cpu_block_end(e, callee->body);
    e->call_depth--;
}

/* ---- operations ---- */

static void emit_scalar(struct cpu_emitter *e, const struct ir_operation *operation)
{
    struct cpu_nest nest = {.e = e, .lanes_dim = -1, .lanes = 1, .mode = CPU_MIXED};
    struct cpu_point point = {.lanes_dim = -1};
    LLVMValueRef results[64];
    for (int i = 0; i < operation->result_count; i++)
        cpu_state_of(e, operation->results[i])->kind = CPU_UNSET;
    for (int i = 0; i < operation->result_count && i < 64; i++)
        results[i] = cpu_element(&nest, operation->results[i], &point);
    for (int i = 0; i < operation->result_count && i < 64; i++)
        cpu_set_scalar(e, operation->results[i], results[i]);
}

static void emit_reshape(struct cpu_emitter *e, struct ir_operation *operation, int position)
{
    struct cpu_buffer *buffer = cpu_materialise(e, operation->operands[0], operation->block, position);
    int last = cpu_state_of(e, operation->results[0])->last;
    if (buffer->owner == operation->block && last > buffer->last)
        buffer->last = last;
    struct cpu_state *state = cpu_state_of(e, operation->results[0]);
    state->kind = CPU_BUFFER;
    state->buffer = buffer;
}

/* The place in the grid or its size, in the integer that the operation gives. */
LLVMValueRef cpu_grid(struct cpu_emitter *e, const struct ir_operation *operation)
{
    int64_t d = ir_number(operation, IR_ATTRIBUTE_DIMENSION, 0);
    LLVMValueRef value = operation->opcode == OP_GRID_INDEX ? e->grid_index[d] : e->grid_size[d];
    return cpu_cast(e, value, IR_INDEX, operation->results[0]->type->element, IR_ROUND_RTNE, false);
}

static void emit_operation(struct cpu_emitter *e, const struct cpu_plan *plan, struct ir_operation *operation,
                           int position)
{
    switch (operation->opcode) {
    case OP_ASSUME: return;
    case OP_SUBVIEW:
    case OP_VIEW_PERMUTE:
    case OP_MAKE_VIEW: cpu_emit_view(e, operation); return;
    case OP_EXTENT:
    case OP_STRIDE:
    case OP_PRESENT:
    case OP_VIEW_POINTER: emit_view_fact(e, operation); return;
    case OP_GRID_INDEX:
    case OP_GRID_SIZE: cpu_set_scalar(e, operation->results[0], cpu_grid(e, operation)); return;
    case OP_STORE:
    case OP_POINTER_STORE:
    case OP_ATOMIC:
    case OP_ATOMIC_CAS:
    case OP_POINTER_ATOMIC:
    case OP_POINTER_CAS: emit_memory(e, operation); return;
    case OP_CONCATENATE:
    case OP_FLIP:
    case OP_GATHER: cpu_emit_move(e, operation, position); return;
    case OP_REDUCE: cpu_emit_reduce(e, plan, operation, position); return;
    case OP_SORT: cpu_emit_sort(e, operation, position); return;
    case OP_SCAN: cpu_emit_scan(e, operation); return;
    case OP_HISTOGRAM: cpu_emit_histogram(e, operation); return;
    case OP_DOT: cpu_emit_dot(e, plan, operation, position); return;
    case OP_FOR:
    case OP_WHILE:
    case OP_IF: cpu_emit_control(e, plan, operation, position); return;
    case OP_CALL: emit_call(e, operation, position); return;
    case OP_CONSTANT:
    case OP_IOTA:
    case OP_SPLAT:
    case OP_BROADCAST:
    case OP_RESHAPE:
    case OP_PERMUTE:
    case OP_EXTRACT:
    case OP_LOAD:
    case OP_POINTER_LOAD:
    case OP_INSIDE:
    case OP_PHILOX:
    case OP_MAP:
    case OP_YIELD:
    case OP_CONDITION:
    case OP_RETURN:
#define OP(...)
#define PER_ELEMENT(id, ...) case OP_##id:
#include "ir/ops.def"
        break;
    case OP_MEET: cpu_report(e, operation->at, "parts that meet in a cluster"); return;
    case OP_ASM:
    case OP_ASM_EFFECT: cpu_report(e, operation->at, "text for another machine"); return;
#define VALUE_LEVEL(id)
#define SCHEDULE_LEVEL(id) case OP_##id:
#define MACHINE_LEVEL(id) case OP_##id:
#define OP(id, text, level, ...) level##_LEVEL(id)
#include "ir/ops.def"
    case OP_COUNT: cpu_report(e, operation->at, "an operation below the Value level"); return;
    }
    if (operation->result_count == 0)
        return;
    if (!cpu_is_tile(operation->results[0])) {
        emit_scalar(e, operation);
        return;
    }
    if (operation->opcode == OP_RESHAPE && !cpu_reshape_is_trivial(operation)) {
        emit_reshape(e, operation, position);
        return;
    }
    for (int i = 0; i < operation->result_count; i++)
        cpu_state_of(e, operation->results[i])->kind = CPU_VIRTUAL;
    for (int i = 0; i < operation->result_count; i++)
        if (cpu_state_of(e, operation->results[i])->eager)
            cpu_materialise(e, operation->results[i], operation->block, position);
}

struct cpu_plan *cpu_emit_block(struct cpu_emitter *e, struct ir_block *block)
{
    struct cpu_plan *plan = cpu_plan_block(e, block);
    for (int i = 0; i < block->arguments.count; i++) {
        struct cpu_state *state = cpu_state_of(e, block->arguments.data[i]);
        if (state->kind == CPU_BUFFER && state->buffer->owner == block)
            state->buffer->last = state->last;
    }
    for (int position = 0; position + 1 < plan->count && !e->failed; position++) {
        LLVMMetadataRef place = cpu_enter_place(e, plan->operations[position]->at);
        emit_operation(e, plan, plan->operations[position], position);
        cpu_leave_place(e, place);
        cpu_buffer_release_dead(e, block, position);
    }
    return plan;
}

void cpu_block_end(struct cpu_emitter *e, const struct ir_block *block) { cpu_buffer_release_dead(e, block, INT_MAX); }
