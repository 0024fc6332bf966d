/* concatenate, flip, gather: elements move along an axis into a buffer of the result's own. */
#include "targets/cpu/emit.h"

#define B e->builder

/* Where a nest over one operand puts its elements. */
struct placing {
    struct cpu_buffer *buffer;
    const struct ir_type *type;
    int axis;
    int64_t first; /* along it */
    bool flipped;
};

static void place_elements(struct cpu_nest *nest, const struct cpu_point *point, int copy)
{
    (void)copy;
    const struct placing *p = nest->context;
    struct cpu_point to = *point;
    to.offset[p->axis] += p->first;
    LLVMValueRef value = cpu_element_full(nest, nest->roots.data[0], point);
    if (p->flipped)
        cpu_buffer_store_flipped(nest, p->buffer, p->type, &to, p->axis, value);
    else
        cpu_buffer_store(nest, p->buffer, p->type, &to, value);
}

static void place_operand(struct cpu_emitter *e, struct ir_value *value, struct placing *placing)
{
    struct cpu_nest nest = {
        .e = e, .rank = value->type->rank, .lanes_dim = -1, .body = place_elements, .context = placing};
    for (int d = 0; d < nest.rank; d++)
        nest.extent[d] = value->type->extent[d];
    vector_push(e->arena, &nest.roots, value);
    cpu_nest_emit(&nest);
}

struct gathering {
    struct cpu_buffer *from, *to;
    const struct ir_operation *operation;
};

/* Row-major number of the elements that the lanes ask for, `at` along the axis. */
static LLVMValueRef place_of(struct cpu_nest *nest, const struct ir_type *type, const struct cpu_point *point, int axis,
                             LLVMValueRef at)
{
    struct cpu_emitter *e = nest->e;
    LLVMValueRef sum = NULL;
    for (int d = 0; d < type->rank; d++) {
        LLVMValueRef index = at;
        if (d != axis) {
            index = cpu_splat(e, cpu_point_index(nest, point, d), nest->lanes);
            if (d == point->lanes_dim && nest->lanes > 1)
                index = LLVMBuildAdd(B, index, cpu_iota(e, e->i64, nest->lanes), "");
        }
        LLVMValueRef scaled = sum ? LLVMBuildMul(B, sum, integer_constant(LLVMTypeOf(sum), type->extent[d]), "") : NULL;
        sum = scaled ? LLVMBuildAdd(B, scaled, index, "") : index;
    }
    return sum;
}

static LLVMValueRef read_places(struct cpu_nest *nest, enum ir_element element, const struct cpu_buffer *buffer,
                                LLVMValueRef place)
{
    struct cpu_emitter *e = nest->e;
    LLVMValueRef base = cpu_buffer_address(e, buffer);
    if (nest->lanes == 1)
        return cpu_read(e, element, cpu_address(e, element, base, place), 1);
    LLVMValueRef result = LLVMGetPoison(cpu_vector_of(cpu_register_type(e, element), nest->lanes));
    for (int lane = 0; lane < nest->lanes; lane++) {
        LLVMValueRef number = LLVMConstInt(e->i32, (unsigned)lane, 0);
        LLVMValueRef at = LLVMBuildExtractElement(B, place, number, "");
        LLVMValueRef one = cpu_read(e, element, cpu_address(e, element, base, at), 1);
        result = LLVMBuildInsertElement(B, result, one, number, "");
    }
    return result;
}

static void gather_elements(struct cpu_nest *nest, const struct cpu_point *point, int copy)
{
    (void)copy;
    const struct gathering *g = nest->context;
    struct cpu_emitter *e = nest->e;
    const struct ir_value *x = g->operation->operands[0];
    struct ir_value *index = g->operation->operands[1];
    int axis = (int)ir_number(g->operation, IR_ATTRIBUTE_AXIS, 0);
    LLVMValueRef at = cpu_cast(e, cpu_element_full(nest, index, point), index->type->element, IR_INDEX, IR_ROUND_RTNE,
                               false);
    at = cpu_splat(e, at, nest->lanes);
    LLVMValueRef zero = LLVMConstNull(LLVMTypeOf(at)), limit = integer_constant(LLVMTypeOf(at), x->type->extent[axis]);
    LLVMValueRef inside = LLVMBuildICmp(B, LLVMIntULT, at, limit, "");
    LLVMValueRef place = place_of(nest, x->type, point, axis, LLVMBuildSelect(B, inside, at, zero, ""));
    if (nest->active)
        place = LLVMBuildSelect(B, nest->active, place, zero, "");
    LLVMValueRef value = read_places(nest, x->type->element, g->from, place);
    value = LLVMBuildSelect(B, inside, value, LLVMConstNull(LLVMTypeOf(value)), "");
    cpu_buffer_store(nest, g->to, g->operation->results[0]->type, point, value);
}

static void gather(struct cpu_emitter *e, const struct ir_operation *operation, struct cpu_buffer *to, int position)
{
    const struct ir_type *type = operation->results[0]->type;
    struct gathering g = {cpu_materialise(e, operation->operands[0], operation->block, position), to, operation};
    struct cpu_nest nest = {.e = e, .rank = type->rank, .lanes_dim = -1, .body = gather_elements, .context = &g};
    for (int d = 0; d < nest.rank; d++)
        nest.extent[d] = type->extent[d];
    vector_push(e->arena, &nest.roots, operation->operands[1]);
    cpu_nest_emit(&nest);
}

void cpu_emit_move(struct cpu_emitter *e, struct ir_operation *operation, int position)
{
    struct ir_value *result = operation->results[0];
    int64_t bytes = cpu_tile_bytes(result->type);
    struct cpu_buffer *buffer = cpu_buffer_create(e, bytes, result->block, cpu_state_of(e, result)->last);
    struct placing placing = {.buffer = buffer, .type = result->type, .flipped = operation->opcode == OP_FLIP};
    placing.axis = (int)ir_number(operation, IR_ATTRIBUTE_AXIS, 0);
    if (operation->opcode == OP_GATHER)
        gather(e, operation, buffer, position);
    for (int i = 0; operation->opcode != OP_GATHER && i < operation->operand_count; i++) {
        place_operand(e, operation->operands[i], &placing);
        placing.first += operation->operands[i]->type->extent[placing.axis];
    }
    cpu_set_buffer(e, result, buffer);
}
