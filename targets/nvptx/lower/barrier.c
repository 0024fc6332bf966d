/* Barriers in shared memory, and the fence between ordinary and asynchronous accesses.
 *
 * Thread 0 of the block sets mbarriers up; mbarrier_ready shows them to everybody.  All threads of a role wait; of each
 * warp one lane arrives. */
#include "base/plant.h"
#include "targets/nvptx/lower/lower.h"

enum { MBARRIER_BYTES = 8 };

static void make(struct lowering *l, struct ir_operation *operation)
{
    struct ir_value *result = operation->results[0];
    int64_t offset = ir_number(operation, IR_ATTRIBUTE_SHARED_OFFSET, -1);
    if (offset < 0)
        die("an mbarrier without a place in shared memory");
    l->shared_need = int64_max(l->shared_need, offset + (int64_t)MBARRIER_BYTES * result->type->slots);
    buffer_define(l, result, value_i32(l, offset), value_i32(l, offset / 16));
    const char *arrivals = arena_printf(l->arena, "%lld", (long long)ir_number(operation, IR_ATTRIBUTE_ARRIVALS, 1));
    role_single_begin(l);
    for (int i = 0; i < result->type->slots; i++) {
        LLVMValueRef address = LLVMBuildAdd(l->builder, l->shared_start,
                                            value_i32(l, offset + (int64_t)MBARRIER_BYTES * i), "");
        ptx_emit(l, PTX_MBARRIER_INIT, l->nothing, &address, 1, &arrivals);
    }
}

static void show(struct lowering *l)
{
    role_single_begin(l);
    ptx_emit(l, PTX_MBARRIER_SHOW, l->nothing, NULL, 0, NULL);
    for (int i = 0; i < l->map_count; i++)
        ptx_unary(l, PTX_MAP_PREFETCH, l->nothing, tma_map(l, i));
    role_single_end(l);
    ptx_barrier(l);
}

static LLVMValueRef address_of(struct lowering *l, struct ir_operation *operation, int first)
{
    LLVMBuilderRef b = l->builder;
    LLVMValueRef index = buffer_index(l, operation->operands[first + 1]);
    LLVMValueRef distance = LLVMBuildMul(b, index, value_i32(l, MBARRIER_BYTES), "");
    return LLVMBuildAdd(b, buffer_start(l, operation->operands[first]), distance, "");
}

/* Lane i of each warp, of a role of one thread its thread, tells block i of the cluster. */
static void arrive_everywhere(struct lowering *l, struct ir_operation *operation, int blocks)
{
    LLVMBuilderRef b = l->builder;
    LLVMValueRef arguments[3] = {NULL, address_of(l, operation, 0), l->lane};
    LLVMValueRef condition = operation->operand_count > 2 ? value_register(l, operation->operands[2], 0)
                                                          : value_i1(l, true);
    if (!l->one_thread) {
        if (l->warps_meet)
            ptx_emit(l, PTX_WARP_MEETS, l->nothing, NULL, 0, NULL);
        LLVMValueRef tells = LLVMBuildICmp(b, LLVMIntULT, l->lane, value_i32(l, blocks), "");
        arguments[0] = LLVMBuildAnd(b, tells, condition, "");
        ptx_emit(l, PTX_MBARRIER_TELL_BLOCK, l->nothing, arguments, 3, NULL);
        return;
    }
    arguments[0] = condition;
    for (int i = 0; i < blocks; i++) {
        arguments[2] = value_i32(l, i);
        ptx_emit(l, PTX_MBARRIER_TELL_BLOCK, l->nothing, arguments, 3, NULL);
    }
}

static void arrive(struct lowering *l, struct ir_operation *operation)
{
    LLVMBuilderRef b = l->builder;
    int blocks = (int)ir_number(operation, IR_ATTRIBUTE_CLUSTER, 1);
    if (ir_attribute(operation, IR_ATTRIBUTE_FENCED))
        ptx_emit(l, PTX_FENCE_ASYNC, l->nothing, NULL, 0, NULL);
    if (blocks > 1) {
        arrive_everywhere(l, operation, blocks);
        return;
    }
    LLVMValueRef arguments[2] = {NULL, address_of(l, operation, 0)};
    if (operation->operand_count > 2)
        arguments[0] = value_register(l, operation->operands[2], 0);
    if (!l->one_thread && !PLANTED(nvptx_all_lanes_arrive)) {
        if (l->warps_meet)
            ptx_emit(l, PTX_WARP_MEETS, l->nothing, NULL, 0, NULL);
        LLVMValueRef first = LLVMBuildICmp(b, LLVMIntEQ, l->lane, value_i32(l, 0), "");
        arguments[0] = arguments[0] ? LLVMBuildAnd(b, first, arguments[0], "") : first;
    }
    if (arguments[0])
        ptx_emit(l, PTX_MBARRIER_TELL_IF, l->nothing, arguments, 2, NULL);
    else
        ptx_unary(l, PTX_MBARRIER_TELL, l->nothing, arguments[1]);
}

static void expect(struct lowering *l, struct ir_operation *operation)
{
    const char *bytes = arena_printf(l->arena, "%lld", (long long)ir_number(operation, IR_ATTRIBUTE_BYTES, 0));
    role_single_begin(l);
    LLVMValueRef address = address_of(l, operation, 0);
    ptx_emit(l, PTX_MBARRIER_EXPECT, l->nothing, &address, 1, &bytes);
}

static void wait(struct lowering *l, struct ir_operation *operation)
{
    LLVMValueRef arguments[2] = {address_of(l, operation, 0), buffer_index(l, operation->operands[2])};
    ptx_emit(l, PTX_MBARRIER_WAIT, l->nothing, arguments, 2, NULL);
}

/* Warpgroup g sleeps at barrier IR_BARRIER_OF_TURNS + g with its 128 threads until the 128 of the one before have come by. */
void lower_turn(struct lowering *l, struct ir_operation *operation)
{
    enum { TURN = IR_BARRIER_OF_TURNS, BOTH_THREADS = 256 };
    LLVMBuilderRef b = l->builder;
    int groups = l->warps / 4;
    const char *threads = arena_printf(l->arena, "%d", BOTH_THREADS);
    if (groups < 2 || groups > 16 - TURN || l->warps % 4)
        return;
    LLVMValueRef group = LLVMBuildLShr(b, l->warp, value_i32(l, 2), ""), first = value_i32(l, TURN);
    if (operation->opcode == OP_TURN_TAKE) {
        LLVMValueRef own = LLVMBuildAdd(b, group, first, "");
        ptx_emit(l, PTX_TURN_TAKE, l->nothing, &own, 1, &threads);
        return;
    }
    LLVMValueRef last = LLVMBuildICmp(b, LLVMIntEQ, group, value_i32(l, groups - 1), "");
    if (operation->opcode == OP_TURN_PASS) {
        LLVMValueRef next = LLVMBuildAdd(b, group, value_i32(l, TURN + 1), "");
        next = LLVMBuildSelect(b, last, first, next, "");
        ptx_emit(l, PTX_TURN_PASS, l->nothing, &next, 1, &threads);
        return;
    }
    LLVMBasicBlockRef start = value_block(l, "turn.start"), behind = value_block(l, "turn.started");
    LLVMBuildCondBr(b, last, start, behind);
    LLVMPositionBuilderAtEnd(b, start);
    ptx_emit(l, PTX_TURN_PASS, l->nothing, &first, 1, &threads);
    LLVMBuildBr(b, behind);
    LLVMPositionBuilderAtEnd(b, behind);
}

void lower_mbarrier(struct lowering *l, struct ir_operation *operation)
{
    switch (operation->opcode) {
    case OP_MBARRIER: make(l, operation); return;
    case OP_MBARRIER_READY: show(l); return;
    case OP_MBARRIER_WAIT: wait(l, operation); return;
    case OP_MBARRIER_ARRIVE: arrive(l, operation); return;
    case OP_MBARRIER_EXPECT: expect(l, operation); return;
    case OP_CLUSTER_BARRIER: ptx_emit(l, PTX_CLUSTER_BARRIER, l->nothing, NULL, 0, NULL); return;
    case OP_FENCE_ASYNC: ptx_emit(l, PTX_FENCE_ASYNC, l->nothing, NULL, 0, NULL); return;
    default: die("%s is no barrier", ir_op_info[operation->opcode].text);
    }
}
