/* dot by plain means, for every type.  Both operands go to shared memory in row-major order, and each thread walks
 * along k with one multiply-add for each element of the accumulator that it holds.  Operands that are too large for
 * shared memory go there in pieces of k. */
#include "base/plant.h"
#include "ir/facts/scratch.h"
#include "targets/nvptx/lower/lower.h"

struct product {
    struct ir_operation *operation;
    const struct ir_type *a, *b, *c;
    int rank;
    int64_t k, piece; /* extent of k; what is in shared memory at once */
    int64_t start_a, start_b;
};

/* The sum of both: what differs between registers alone is a constant, which addresses take last. */
struct coordinate {
    LLVMValueRef value;
    int64_t constant;
};

static struct coordinate coordinate_of(struct lowering *l, const struct layout *layout, int dimension, int reg)
{
    int part;
    if (!coordinate_adds(layout, dimension, reg, &part))
        return (struct coordinate){coordinate_register(l, layout, dimension, reg), 0};
    return (struct coordinate){coordinate_thread(l, layout, dimension), part};
}

/* Address of an element in a piece of an operand whose dimension `cut` has the extent of the piece. */
static LLVMValueRef place_of(struct lowering *l, const struct ir_type *type, const struct coordinate *coordinate,
                             int cut, int64_t piece, int64_t start)
{
    LLVMBuilderRef b = l->builder;
    LLVMValueRef number = value_i32(l, 0), bytes = value_i32(l, value_bytes(type->element));
    int64_t constant = 0;
    for (int d = 0; d < type->rank; d++) {
        int64_t extent = d == cut ? piece : type->extent[d];
        number = LLVMBuildAdd(b, LLVMBuildMul(b, number, value_i32(l, extent), ""), coordinate[d].value, "");
        constant = constant * extent + coordinate[d].constant;
    }
    return shared_address(l, start + constant * value_bytes(type->element), LLVMBuildMul(b, number, bytes, ""));
}

/* Stores what of the operand lies in [from, from + piece) of k, neighbours along the last dimension together. */
static void put_operand(struct lowering *l, const struct product *p, int operand, LLVMValueRef from, int64_t start)
{
    LLVMBuilderRef b = l->builder;
    const struct ir_value *value = p->operation->operands[operand];
    const struct ir_type *type = value->type;
    int last = p->rank - 1, cut = operand == 0 ? last : last - 1, bytes = value_bytes(type->element);
    int64_t row = cut == last ? p->piece : type->extent[last];
    struct layout_vector vector = layout_vector(type->layout, last, 16 / bytes);
    while (row % vector.size)
        vector = layout_vector(type->layout, last, vector.size / 2);
    for (int reg = 0; reg < layout_registers(type->layout); reg++) {
        if (reg & vector.register_mask)
            continue;
        LLVMValueRef values[16];
        struct coordinate coordinate[LAYOUT_RANK];
        for (int d = 0; d < type->rank; d++)
            coordinate[d] = coordinate_of(l, type->layout, d, reg);
        LLVMBasicBlockRef put = NULL, join = NULL;
        if (p->piece < p->k) {
            LLVMValueRef inside = LLVMBuildSub(b, coordinate_register(l, type->layout, cut, reg), from, "");
            coordinate[cut] = (struct coordinate){inside, 0};
            put = value_block(l, "put");
            join = value_block(l, "next");
            LLVMBuildCondBr(b, LLVMBuildICmp(b, LLVMIntULT, inside, value_i32(l, p->piece), ""), put, join);
            LLVMPositionBuilderAtEnd(b, put);
        }
        LLVMValueRef place = place_of(l, type, coordinate, cut, p->piece, start);
        for (int i = 0; i < vector.size; i++)
            values[i] = value_register(l, value, vector.size > 1 ? layout_vector_register(&vector, reg, i) : reg);
        shared_store_vector(l, type->element, values, vector.size, place);
        if (!join)
            continue;
        LLVMBuildBr(b, join);
        LLVMPositionBuilderAtEnd(b, join);
    }
}

static LLVMValueRef widen(struct lowering *l, enum ir_element from, enum ir_element to, LLVMValueRef value)
{
    return cast_value(l, from, to, value, IR_ROUND_RTNE, false);
}

/* The operand's element at (batch…, row or column of the accumulator's register, k). */
static LLVMValueRef get_operand(struct lowering *l, const struct product *p, int operand, int reg, LLVMValueRef k,
                                int64_t start)
{
    const struct ir_type *type = operand == 0 ? p->a : p->b;
    struct coordinate coordinate[LAYOUT_RANK];
    int cut = operand == 0 ? p->rank - 1 : p->rank - 2;
    for (int d = 0; d < p->rank; d++)
        coordinate[d] = d == cut ? (struct coordinate){k, 0} : coordinate_of(l, p->c->layout, d, reg);
    LLVMValueRef place = place_of(l, type, coordinate, cut, p->piece, start);
    return widen(l, type->element, p->c->element, shared_load(l, type->element, place, value_bytes(type->element)));
}

/* Registers of the accumulator that need the same element of an operand share it: key[reg] is the first of them. */
static int *sharing(struct lowering *l, const struct product *p, int operand)
{
    int count = layout_registers(p->c->layout), skip = operand == 0 ? p->rank - 1 : p->rank - 2;
    int *key = ARENA_ARRAY(l->arena, int, count);
    for (int reg = 0; reg < count; reg++) {
        key[reg] = reg;
        for (int other = 0; other < reg && key[reg] == reg; other++) {
            bool same = key[other] == other;
            for (int d = 0; d < p->rank && same; d++) {
                int a[2], r[2];
                if (d == skip)
                    continue;
                layout_register_parts(p->c->layout, reg, d, &a[0], &r[0]);
                layout_register_parts(p->c->layout, other, d, &a[1], &r[1]);
                same = a[0] == a[1] && r[0] == r[1];
            }
            if (same)
                key[reg] = other;
        }
    }
    return key;
}

static LLVMValueRef multiply_add(struct lowering *l, enum ir_element element, LLVMValueRef a, LLVMValueRef b,
                                 LLVMValueRef c)
{
    LLVMValueRef arguments[3] = {a, b, c};
    if (ir_is_float(element))
        return value_intrinsic(l, "llvm.fma", LLVMTypeOf(c), arguments, 3);
    return LLVMBuildAdd(l->builder, LLVMBuildMul(l->builder, a, b, ""), c, "");
}

/* One loop over [0, piece) with the accumulators as phis. */
static void multiply_piece(struct lowering *l, const struct product *p, int *const key[2], LLVMValueRef *sum)
{
    LLVMBuilderRef b = l->builder;
    int count = layout_registers(p->c->layout);
    LLVMBasicBlockRef before = LLVMGetInsertBlock(b), loop = value_block(l, "k"), after = value_block(l, "product");
    LLVMBuildBr(b, loop);
    LLVMPositionBuilderAtEnd(b, loop);
    LLVMValueRef k = LLVMBuildPhi(b, l->i32, ""), zero = value_i32(l, 0);
    LLVMAddIncoming(k, &zero, &before, 1);
    LLVMValueRef *phi = value_array(l, count), *a = value_array(l, count), *c = value_array(l, count);
    for (int i = 0; i < count; i++) {
        phi[i] = LLVMBuildPhi(b, LLVMTypeOf(sum[i]), "");
        LLVMAddIncoming(phi[i], &sum[i], &before, 1);
    }
    for (int i = 0; i < count; i++) {
        a[i] = key[0][i] == i ? get_operand(l, p, 0, i, k, p->start_a) : a[key[0][i]];
        c[i] = key[1][i] == i ? get_operand(l, p, 1, i, k, p->start_b) : c[key[1][i]];
    }
    for (int i = 0; i < count; i++)
        sum[i] = multiply_add(l, p->c->element, a[i], c[i], phi[i]);
    LLVMValueRef next = LLVMBuildAdd(b, k, value_i32(l, 1), "");
    LLVMAddIncoming(k, &next, &loop, 1);
    for (int i = 0; i < count; i++)
        LLVMAddIncoming(phi[i], &sum[i], &loop, 1);
    LLVMBuildCondBr(b, LLVMBuildICmp(b, LLVMIntULT, next, value_i32(l, p->piece), ""), loop, after);
    LLVMPositionBuilderAtEnd(b, after);
}

void lower_dot(struct lowering *l, struct ir_operation *operation)
{
    struct product p = {.operation = operation,
                        .a = operation->operands[0]->type,
                        .b = operation->operands[1]->type,
                        .c = operation->results[0]->type};
    p.rank = p.c->rank;
    p.k = p.a->extent[p.rank - 1];
    int count = layout_registers(p.c->layout);
    LLVMValueRef *out = value_define(l, operation->results[0]);
    for (int i = 0; i < count; i++)
        out[i] = value_register(l, operation->operands[2], i);
    int64_t first_bytes, bytes = scratch_product(operation, &p.piece, &first_bytes);
    p.start_a = shared_scratch(l, operation, bytes);
    p.start_b = p.start_a + first_bytes;
    int *key[2] = {sharing(l, &p, 0), sharing(l, &p, 1)};
    for (int64_t from = 0; from < p.k; from += p.piece) {
        if (from && !PLANTED(nvptx_dot_piece_barrier))
            ptx_barrier(l);
        put_operand(l, &p, 0, value_i32(l, from), p.start_a);
        put_operand(l, &p, 1, value_i32(l, from), p.start_b);
        ptx_barrier(l);
        multiply_piece(l, &p, key, out);
    }
}
