/* dot: packed panels and a register micro-kernel.
 *
 * Both operands are evaluated once into scratch in the type of the accumulator (conversions happen there): the left one
 * row-major [m][k], the right one in panels of NR columns, [n / NR][k][NR], the last panel filled with zeros.  The
 * micro-kernel keeps MR rows of NR columns of the result in registers over the whole of k; edges in m have a kernel of
 * their own, edges in n a mask. */
#include "base/plant.h"
#include "targets/cpu/emit.h"
#include <string.h>

#define B e->builder

struct product {
    struct ir_operation *operation;
    enum ir_element element; /* of the accumulator */
    int64_t m, n, k;
    int lanes, rows, vectors; /* MR = rows, NR = lanes * vectors */
    struct cpu_buffer *left, *right, *result;
    LLVMValueRef result_address; /* of this batch's first element */
};

static LLVMValueRef converted(struct cpu_emitter *e, LLVMValueRef value, enum ir_element from, enum ir_element to)
{
    return cpu_cast(e, value, from, to, IR_ROUND_RTNE, false);
}

/* ---- packing ---- */

static void store_lanes(struct cpu_nest *nest, enum ir_element element, LLVMValueRef base, LLVMValueRef index,
                        int64_t stride, LLVMValueRef value)
{
    struct cpu_emitter *e = nest->e;
    LLVMValueRef address = cpu_address(e, element, base, index);
    if (nest->lanes == 1 || (stride == 1 && !nest->active)) {
        cpu_write(e, element, address, value);
        return;
    }
    LLVMValueRef alignment = LLVMConstInt(e->i32, (unsigned)cpu_bytes(element), 0);
    LLVMValueRef mask = nest->active ? nest->active : LLVMConstAllOnes(LLVMVectorType(e->i1, (unsigned)nest->lanes));
    if (stride != 1) {
        LLVMValueRef lanes = LLVMBuildMul(B, cpu_iota(e, e->i64, nest->lanes),
                                          cpu_splat(e, cpu_int(e, stride), nest->lanes), "");
        address = cpu_address(e, element, base, LLVMBuildAdd(B, cpu_splat(e, index, nest->lanes), lanes, ""));
    }
    LLVMTypeRef types[2] = {LLVMTypeOf(value), LLVMTypeOf(address)};
    cpu_intrinsic(e, stride == 1 ? "llvm.masked.store" : "llvm.masked.scatter", 2, types, 4,
                  (LLVMValueRef[]){value, address, alignment, mask});
}

static void pack_left(struct cpu_nest *nest, const struct cpu_point *point, int copy)
{
    struct cpu_emitter *e = nest->e;
    struct product *p = nest->context;
    struct ir_value *root = nest->roots.data[0];
    (void)copy;
    LLVMValueRef value = converted(e, cpu_element_full(nest, root, point), root->type->element, p->element);
    LLVMValueRef row = cpu_point_index(nest, point, nest->rank - 2),
                 column = cpu_point_index(nest, point, nest->rank - 1);
    LLVMValueRef index = LLVMBuildAdd(B, LLVMBuildMul(B, row, cpu_int(e, p->k), ""), column, "");
    store_lanes(nest, p->element, cpu_buffer_address(e, p->left), index, point->lanes_dim == nest->rank - 1 ? 1 : p->k,
                value);
}

/* Lanes along n stay in one panel: panels are a multiple of the lanes wide, and the nest is told to start at such
 * multiples. */
static void pack_right(struct cpu_nest *nest, const struct cpu_point *point, int copy)
{
    struct cpu_emitter *e = nest->e;
    struct product *p = nest->context;
    struct ir_value *root = nest->roots.data[0];
    int64_t width = (int64_t)p->lanes * p->vectors;
    (void)copy;
    LLVMValueRef value = converted(e, cpu_element_full(nest, root, point), root->type->element, p->element);
    LLVMValueRef row = cpu_point_index(nest, point, nest->rank - 2),
                 column = cpu_point_index(nest, point, nest->rank - 1);
    LLVMValueRef inside = LLVMBuildAnd(B, column, cpu_int(e, width - 1), ""),
                 panel = LLVMBuildSub(B, column, inside, "");
    LLVMValueRef index = LLVMBuildAdd(B, LLVMBuildMul(B, panel, cpu_int(e, p->k), ""),
                                      LLVMBuildMul(B, row, cpu_int(e, width), ""), "");
    index = LLVMBuildAdd(B, index, inside, "");
    LLVMValueRef base = cpu_buffer_address(e, p->right);
    store_lanes(nest, p->element, base, index, point->lanes_dim == nest->rank - 1 ? 1 : width, value);
}

static void pack(struct cpu_emitter *e, struct product *p, struct ir_value *value, const struct cpu_point *batch,
                 bool right)
{
    const struct ir_type *type = value->type;
    struct cpu_nest nest = {.e = e,
                            .rank = type->rank,
                            .fixed = type->rank - 2,
                            .lanes_dim = -1,
                            .context = p,
                            .partial = true,
                            .aligned = true};
    memcpy(nest.extent, type->extent, sizeof nest.extent);
    memcpy(nest.index, batch->index, sizeof nest.index);
    nest.body = right ? pack_right : pack_left;
    vector_push(e->arena, &nest.roots, value);
    cpu_nest_emit(&nest);
}

/* ---- micro-kernel ---- */

static LLVMValueRef lanes_mask(struct cpu_emitter *e, int lanes, int64_t valid)
{
    LLVMValueRef bits[64];
    for (int i = 0; i < lanes; i++)
        bits[i] = LLVMConstInt(e->i1, i < valid, 0);
    return LLVMConstVector(bits, (unsigned)lanes);
}

static LLVMValueRef result_load(struct cpu_emitter *e, const struct product *p, LLVMValueRef address, int64_t valid)
{
    LLVMTypeRef type = LLVMVectorType(cpu_register_type(e, p->element), (unsigned)p->lanes),
                types[2] = {type, e->pointer};
    if (valid >= p->lanes)
        return cpu_read(e, p->element, address, p->lanes);
    if (valid <= 0)
        return LLVMConstNull(type);
    return cpu_intrinsic(e, "llvm.masked.load", 2, types, 4,
                         (LLVMValueRef[]){address, LLVMConstInt(e->i32, (unsigned)cpu_bytes(p->element), 0),
                                          lanes_mask(e, p->lanes, valid), LLVMConstNull(type)});
}

static void result_store(struct cpu_emitter *e, const struct product *p, LLVMValueRef address, LLVMValueRef value,
                         int64_t valid)
{
    LLVMTypeRef types[2] = {LLVMTypeOf(value), e->pointer};
    if (valid >= p->lanes)
        cpu_write(e, p->element, address, value);
    else if (valid > 0)
        cpu_intrinsic(e, "llvm.masked.store", 2, types, 4,
                      (LLVMValueRef[]){value, address, LLVMConstInt(e->i32, (unsigned)cpu_bytes(p->element), 0),
                                       lanes_mask(e, p->lanes, valid)});
}

enum { MOST_ROWS = 16, MOST_VECTORS = 4 };

/* rows x (vectors * lanes) of the result at (row, column), `valid` of the columns being there. */
static void micro_kernel(struct cpu_emitter *e, const struct product *p, LLVMValueRef row, LLVMValueRef column,
                         int rows, int64_t valid)
{
    int64_t width = (int64_t)p->lanes * p->vectors;
    bool real = ir_is_float(p->element);
    LLVMTypeRef type = LLVMVectorType(cpu_register_type(e, p->element), (unsigned)p->lanes);
    LLVMValueRef address[MOST_ROWS][MOST_VECTORS], sum[MOST_ROWS][MOST_VECTORS], phi[MOST_ROWS][MOST_VECTORS];
    LLVMValueRef left = cpu_address(e, p->element, cpu_buffer_address(e, p->left),
                                    LLVMBuildMul(B, row, cpu_int(e, p->k), ""));
    LLVMValueRef right = cpu_address(e, p->element, cpu_buffer_address(e, p->right),
                                     LLVMBuildMul(B, column, cpu_int(e, p->k), ""));
    LLVMValueRef corner = LLVMBuildAdd(B, LLVMBuildMul(B, row, cpu_int(e, p->n), ""), column, "");
    int vectors = (int)int64_min(p->vectors, (valid + p->lanes - 1) / p->lanes);
    for (int i = 0; i < rows; i++)
        for (int v = 0; v < vectors; v++) {
            LLVMValueRef at = LLVMBuildAdd(B, corner, cpu_int(e, i * p->n + v * p->lanes), "");
            address[i][v] = cpu_address(e, p->element, p->result_address, at);
            sum[i][v] = result_load(e, p, address[i][v], valid - v * p->lanes);
        }
    LLVMBasicBlockRef before = LLVMGetInsertBlock(B), body = cpu_block(e, "k"), done = cpu_block(e, "stored");
    LLVMValueRef zero = cpu_int(e, 0);
    LLVMBuildBr(B, body);
    LLVMPositionBuilderAtEnd(B, body);
    LLVMValueRef k = LLVMBuildPhi(B, e->i64, "k");
    LLVMAddIncoming(k, &zero, &before, 1);
    for (int i = 0; i < rows; i++)
        for (int v = 0; v < vectors; v++) {
            phi[i][v] = LLVMBuildPhi(B, type, "");
            LLVMAddIncoming(phi[i][v], &sum[i][v], &before, 1);
        }
    LLVMValueRef panel[MOST_VECTORS], line = LLVMBuildMul(B, k, cpu_int(e, width), "");
    for (int v = 0; v < vectors; v++)
        panel[v] = cpu_read(e, p->element,
                            cpu_address(e, p->element, right, LLVMBuildAdd(B, line, cpu_int(e, v * p->lanes), "")),
                            p->lanes);
    for (int i = 0; i < rows; i++) {
        LLVMValueRef at = LLVMBuildAdd(B, k, cpu_int(e, i * p->k), "");
        LLVMValueRef one = cpu_splat(e, cpu_read(e, p->element, cpu_address(e, p->element, left, at), 1), p->lanes);
        for (int v = 0; v < vectors; v++)
            sum[i][v] = cpu_multiply_add(e, one, panel[v], phi[i][v], real);
    }
    LLVMValueRef next = LLVMBuildNSWAdd(B, k, cpu_int(e, 1), "");
    LLVMAddIncoming(k, &next, &body, 1);
    for (int i = 0; i < rows; i++)
        for (int v = 0; v < vectors; v++)
            LLVMAddIncoming(phi[i][v], &sum[i][v], &body, 1);
    LLVMValueRef more = LLVMBuildICmp(B, LLVMIntSLT, next, cpu_int(e, p->k), "");
    cpu_loop_hint(e, LLVMBuildCondBr(B, more, body, done), 1);
    LLVMPositionBuilderAtEnd(B, done);
    for (int i = 0; i < rows; i++)
        for (int v = 0; v < vectors; v++)
            result_store(e, p, address[i][v], sum[i][v], valid - v * p->lanes);
}

static void column_of_kernels(struct cpu_emitter *e, const struct product *p, LLVMValueRef column, int64_t valid)
{
    struct cpu_loop rows;
    int64_t whole = p->m / p->rows * p->rows;
    if (whole) {
        cpu_loop_begin(e, &rows, cpu_int(e, 0), cpu_int(e, whole), p->rows);
        micro_kernel(e, p, rows.index, column, p->rows, valid);
        cpu_loop_end(e, &rows);
    }
    if (p->m > whole + PLANTED(cpu_dot_skips_single_row))
        micro_kernel(e, p, cpu_int(e, whole), column, (int)(p->m - whole), valid);
}

static void multiply(struct cpu_emitter *e, const struct product *p)
{
    int64_t width = (int64_t)p->lanes * p->vectors, whole = p->n / width * width;
    struct cpu_loop columns;
    if (whole) {
        cpu_loop_begin(e, &columns, cpu_int(e, 0), cpu_int(e, whole), width);
        column_of_kernels(e, p, columns.index, width);
        cpu_loop_end(e, &columns);
    }
    if (p->n > whole)
        column_of_kernels(e, p, cpu_int(e, whole), p->n - whole);
}

/* Registers: rows * vectors accumulators, one panel line, one broadcast. */
static void choose_kernel(struct cpu_emitter *e, struct product *p)
{
    bool many = e->arm || e->isa == CPU_WIDEST; /* 32 vector registers, else 16 */
    p->lanes = e->vector_bytes / cpu_bytes(p->element);
    p->vectors = 2;
    p->rows = many ? 8 : 4;
    while (p->vectors > 1 && p->n <= (int64_t)p->lanes * (p->vectors - 1))
        p->vectors--;
}

static void emit_batches(struct cpu_emitter *e, struct product *p, struct cpu_point *batch, int dimension)
{
    const struct ir_type *type = p->operation->results[0]->type;
    if (dimension < type->rank - 2) {
        struct cpu_loop loop;
        cpu_loop_begin(e, &loop, cpu_int(e, 0), cpu_int(e, type->extent[dimension]), 1);
        batch->index[dimension] = loop.index;
        emit_batches(e, p, batch, dimension + 1);
        cpu_loop_end(e, &loop);
        return;
    }
    LLVMValueRef number = cpu_int(e, 0);
    for (int d = 0; d < type->rank - 2; d++)
        number = LLVMBuildAdd(B, LLVMBuildMul(B, number, cpu_int(e, type->extent[d]), ""), batch->index[d], "");
    p->result_address = cpu_address(e, p->element, cpu_buffer_address(e, p->result),
                                    LLVMBuildMul(B, number, cpu_int(e, p->m * p->n), ""));
    int64_t width = (int64_t)p->lanes * p->vectors;
    if (p->n % width) { /* the last panel's missing columns */
        LLVMValueRef from = cpu_int(e, p->n / width * width * p->k * cpu_bytes(p->element));
        LLVMValueRef panel = LLVMBuildInBoundsGEP2(B, e->i8, cpu_buffer_address(e, p->right), &from, 1, "");
        LLVMBuildMemSet(B, panel, LLVMConstInt(e->i8, 0, 0), cpu_int(e, width * p->k * cpu_bytes(p->element)), 1);
    }
    pack(e, p, p->operation->operands[0], batch, false);
    pack(e, p, p->operation->operands[1], batch, true);
    multiply(e, p);
}

/* What the product adds onto: the accumulator's own buffer when it dies here, else a copy. */
static struct cpu_buffer *accumulator(struct cpu_emitter *e, struct ir_operation *operation, int position)
{
    struct ir_value *initial = operation->operands[2];
    const struct ir_value *result = operation->results[0];
    struct cpu_buffer *buffer = cpu_reusable(e, initial, operation->block, position);
    for (int i = 0; buffer && i < 2; i++) /* the factors are read while it changes */
        if (cpu_reads(e, operation->operands[i], buffer) != CPU_READS_NOT && !PLANTED(cpu_dot_into_its_factor))
            buffer = NULL;
    if (!buffer)
        buffer = cpu_buffer_create(e, cpu_tile_bytes(result->type), result->block, cpu_state_of(e, result)->last);
    cpu_fill(e, initial, buffer);
    return buffer;
}

void cpu_emit_dot(struct cpu_emitter *e, const struct cpu_plan *plan, struct ir_operation *operation, int position)
{
    const struct ir_type *a = operation->operands[0]->type, *type = operation->results[0]->type;
    struct product p = {.operation = operation,
                        .element = type->element,
                        .m = type->extent[type->rank - 2],
                        .n = type->extent[type->rank - 1],
                        .k = a->extent[a->rank - 1]};
    (void)plan;
    if (p.element != IR_F32 && p.element != IR_F64 && cpu_bytes(p.element) != 4 && cpu_bytes(p.element) != 8) {
        cpu_report(e, operation->at, "a product that accumulates in so narrow a type");
        return;
    }
    choose_kernel(e, &p);
    /* what the factors need as buffers is made before the batch loops: it must not be made anew, or seen only, inside
     * them */
    for (int i = 0; i < 2; i++) {
        struct cpu_nest dry = {.e = e, .rank = 0, .partial = true};
        vector_push(e->arena, &dry.roots, operation->operands[i]);
        cpu_prepare(&dry);
    }
    p.result = accumulator(e, operation, position);
    int64_t width = (int64_t)p.lanes * p.vectors, bytes = cpu_bytes(p.element);
    p.left = cpu_buffer_create(e, p.m * p.k * bytes, NULL, 0);
    p.right = cpu_buffer_create(e, ceiling_divide(p.n, width) * width * p.k * bytes, NULL, 0);
    struct cpu_point batch = {.lanes_dim = -1};
    emit_batches(e, &p, &batch, 0);
    cpu_buffer_release(e, p.left);
    cpu_buffer_release(e, p.right);
    cpu_set_buffer(e, operation->results[0], p.result);
}
