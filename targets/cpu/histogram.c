/* histogram: a loop over the elements, one at a time.  What is no bin counts in one behind them, in the padding that each
 * buffer has, so that the loop knows no branch. */
#include "base/plant.h"
#include "targets/cpu/emit.h"

#define B e->builder

static void count_element(struct cpu_nest *nest, const struct cpu_point *point, int copy)
{
    struct cpu_emitter *e = nest->e;
    const struct ir_operation *histogram = nest->context;
    struct ir_value *numbers = histogram->operands[0];
    (void)copy;
    LLVMValueRef bins = cpu_int(e, histogram->results[0]->type->extent[0]);
    LLVMValueRef number = cpu_element_full(nest, numbers, point);
    number = LLVMBuildIntCast2(B, number, e->i64, ir_is_signed(numbers->type->element), "");
    LLVMValueRef end = PLANTED(cpu_histogram_loses_last_bin) ? cpu_int(e, histogram->results[0]->type->extent[0] - 1)
                                                             : bins;
    number = LLVMBuildSelect(B, LLVMBuildICmp(B, LLVMIntULT, number, end, ""), number, bins, "");
    LLVMValueRef address = cpu_address(e, IR_I32, cpu_buffer_address(e, cpu_state_of(e, histogram->results[0])->buffer),
                                       number);
    LLVMValueRef count = LLVMBuildLoad2(B, e->i32, address, "");
    LLVMBuildStore(B, LLVMBuildAdd(B, count, LLVMConstInt(e->i32, 1, 0), ""), address);
}

void cpu_emit_histogram(struct cpu_emitter *e, struct ir_operation *operation)
{
    struct ir_value *result = operation->results[0];
    const struct ir_type *type = operation->operands[0]->type;
    int64_t bytes = cpu_tile_bytes(result->type);
    struct cpu_buffer *buffer = cpu_buffer_create(e, bytes, result->block, cpu_state_of(e, result)->last);
    LLVMBuildMemSet(B, cpu_buffer_address(e, buffer), LLVMConstInt(e->i8, 0, 0), cpu_int(e, bytes), 64);
    struct cpu_nest nest = {.e = e, .rank = type->rank, .context = operation, .body = count_element};
    nest.lanes = nest.unroll = 1;
    nest.lanes_dim = type->rank - 1;
    nest.in_order = true;
    for (int d = 0; d < type->rank; d++)
        nest.extent[d] = type->extent[d];
    vector_push(e->arena, &nest.roots, operation->operands[0]);
    cpu_set_buffer(e, result, buffer);
    cpu_nest_emit(&nest);
}
