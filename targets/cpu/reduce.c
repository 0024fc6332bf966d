/* reduce.  Where the lanes run along the reduced dimension each lane (and each unrolled copy) keeps an accumulator of
 * its own, so a long sum is a sum of many short ones; they meet at the end of the row.  Where the lanes run along
 * another dimension the result's buffer accumulates, row by row.  A user's function keeps the order of indexes: its
 * lanes never meet out of order. */
#include "base/plant.h"
#include "targets/cpu/combine.h"
#include <string.h>

#define B e->builder

enum { MAX_COPIES = 4 };

struct reduction {
    struct cpu_combining by;
    int axis;
    LLVMValueRef slot[MAX_COPIES][CPU_COMBINED]; /* accumulators when the lanes run along the axis */
    LLVMValueRef fresh;                          /* in order: no element was seen yet */
    struct cpu_buffer *buffer[CPU_COMBINED];     /* NULL: the result is a scalar */
};

void cpu_point_without(const struct cpu_nest *nest, int axis, const struct cpu_point *point, struct cpu_point *out)
{
    *out = (struct cpu_point){.rank = nest->rank - 1, .lanes_dim = -1};
    for (int d = 0, to = 0; d < nest->rank; d++) {
        if (d == axis)
            continue;
        out->index[to] = point->index[d];
        if (d == point->lanes_dim)
            out->lanes_dim = to;
        to++;
    }
}

/* ---- lanes along the axis ---- */

static LLVMValueRef slot_load(struct cpu_emitter *e, const struct reduction *r, int copy, int i, int lanes)
{
    LLVMValueRef value = LLVMBuildLoad2(B, cpu_slot_type(e, r->by.element[i], lanes), r->slot[copy][i], "");
    return r->by.element[i] == IR_BOOL ? LLVMBuildTrunc(B, value, cpu_vector_of(e->i1, lanes), "") : value;
}

static void slot_store(struct cpu_emitter *e, const struct reduction *r, int copy, int i, LLVMValueRef value, int lanes)
{
    if (r->by.element[i] == IR_BOOL)
        value = LLVMBuildZExt(B, value, cpu_vector_of(e->i8, lanes), "");
    LLVMBuildStore(B, value, r->slot[copy][i]);
}

static void axis_begin(struct cpu_nest *nest, const struct cpu_point *point)
{
    struct cpu_emitter *e = nest->e;
    struct reduction *r = nest->context;
    (void)point;
    for (int copy = 0; copy < nest->unroll; copy++)
        for (int i = 0; i < r->by.count; i++)
            slot_store(e, r, copy, i, cpu_combining_identity(e, &r->by, i, nest->lanes), nest->lanes);
    if (r->fresh)
        LLVMBuildStore(B, LLVMConstInt(e->i1, 1, 0), r->fresh);
}

static void axis_body(struct cpu_nest *nest, const struct cpu_point *point, int copy)
{
    struct cpu_emitter *e = nest->e;
    struct reduction *r = nest->context;
    LLVMValueRef value[CPU_COMBINED], sum[CPU_COMBINED], next[CPU_COMBINED];
    for (int i = 0; i < r->by.count; i++) {
        value[i] = cpu_combining_widen(e, &r->by, i, cpu_element_full(nest, nest->roots.data[i], point));
        if (nest->active)
            value[i] = LLVMBuildSelect(B, nest->active, value[i], cpu_combining_identity(e, &r->by, i, nest->lanes),
                                       "");
        sum[i] = slot_load(e, r, copy, i, nest->lanes);
    } /* a body of one lane works on the first of the accumulators: they start at the same address */
    cpu_combining_apply(e, &r->by, sum, value, next);
    LLVMValueRef first = r->fresh ? LLVMBuildLoad2(B, e->i1, r->fresh, "") : NULL;
    for (int i = 0; i < r->by.count; i++)
        slot_store(e, r, copy, i, first ? LLVMBuildSelect(B, first, value[i], next[i], "") : next[i], nest->lanes);
    if (r->fresh)
        LLVMBuildStore(B, LLVMConstInt(e->i1, 0, 0), r->fresh);
}

static void axis_end(struct cpu_nest *nest, const struct cpu_point *point)
{
    struct cpu_emitter *e = nest->e;
    struct reduction *r = nest->context;
    struct cpu_point at;
    cpu_point_without(nest, r->axis, point, &at);
    for (int i = 0; i < r->by.count; i++) {
        LLVMValueRef all[MAX_COPIES];
        for (int copy = 0; copy < nest->unroll; copy++)
            all[copy] = slot_load(e, r, copy, i, nest->lanes);
        for (int left = nest->unroll; left > 1; left /= 2)
            for (int k = 0; k < left / 2; k++)
                all[k] = cpu_combine(e, r->by.kind, r->by.element[i], all[2 * k],
                                     all[2 * k + !PLANTED(cpu_reduce_drops_copy)], r->by.nan);
        LLVMValueRef one = all[0];
        if (nest->lanes > 1)
            one = cpu_reduce_kind_lanes(e, r->by.kind, r->by.element[i], one, r->by.nan);
        one = cpu_combining_narrow(e, &r->by, i, one);
        if (r->buffer[i])
            cpu_buffer_store(nest, r->buffer[i], r->by.operation->results[i]->type, &at, one);
        else
            cpu_set_scalar(e, r->by.operation->results[i], one);
    }
}

/* ---- lanes along another dimension ---- */

static void across_body(struct cpu_nest *nest, const struct cpu_point *point, int copy)
{
    struct cpu_emitter *e = nest->e;
    struct reduction *r = nest->context;
    struct cpu_point at;
    LLVMValueRef value[CPU_COMBINED], sum[CPU_COMBINED], next[CPU_COMBINED];
    (void)copy;
    cpu_point_without(nest, r->axis, point, &at);
    LLVMValueRef first = LLVMBuildICmp(B, LLVMIntEQ, point->index[r->axis], cpu_int(e, 0), "");
    for (int i = 0; i < r->by.count; i++) {
        value[i] = cpu_combining_widen(e, &r->by, i, cpu_element_full(nest, nest->roots.data[i], point));
        LLVMValueRef old = cpu_buffer_load(nest, r->buffer[i], r->by.operation->results[i]->type, &at);
        sum[i] = cpu_select(e, first, cpu_combining_identity(e, &r->by, i, nest->lanes),
                            cpu_combining_widen(e, &r->by, i, old));
    }
    cpu_combining_apply(e, &r->by, sum, value, next);
    for (int i = 0; i < r->by.count; i++) {
        LLVMValueRef result = cpu_select(e, first, value[i], next[i]);
        cpu_buffer_store(nest, r->buffer[i], r->by.operation->results[i]->type, &at,
                         cpu_combining_narrow(e, &r->by, i, result));
    }
}

/* ---- the tree of adjacent pairs, by extent alone ---- */

/* One line of the axis in the work buffers of the tiles, element k at origin + k * stride. */
struct tree {
    struct cpu_emitter *e;
    struct reduction *r;
    LLVMValueRef base[CPU_COMBINED], origin;
    int64_t stride;
};

static LLVMValueRef tree_address(const struct tree *t, int i, LLVMValueRef k)
{
    struct cpu_emitter *e = t->e;
    LLVMValueRef offset = LLVMBuildMul(B, k, cpu_int(e, t->stride), "");
    return cpu_address(e, t->r->by.operation->operands[i]->type->element, t->base[i],
                       LLVMBuildAdd(B, t->origin, offset, ""));
}

static void tree_read(const struct tree *t, LLVMValueRef k, LLVMValueRef *values)
{
    for (int i = 0; i < t->r->by.count; i++)
        values[i] = cpu_combining_widen(
            t->e, &t->r->by, i,
            cpu_read(t->e, t->r->by.operation->operands[i]->type->element, tree_address(t, i, k), 1));
}

static void tree_write(const struct tree *t, LLVMValueRef k, LLVMValueRef *values)
{
    for (int i = 0; i < t->r->by.count; i++)
        cpu_write(t->e, t->r->by.operation->operands[i]->type->element, tree_address(t, i, k),
                  cpu_combining_narrow(t->e, &t->r->by, i, values[i]));
}

static void combine_in_memory(const struct tree *t, LLVMValueRef to, LLVMValueRef left, LLVMValueRef right)
{
    LLVMValueRef a[CPU_COMBINED], b[CPU_COMBINED], out[CPU_COMBINED];
    tree_read(t, left, a);
    tree_read(t, right, b);
    cpu_combining_apply(t->e, &t->r->by, a, b, out);
    tree_write(t, to, out);
}

/* Rounds of pairs until one element is left, the first. */
static void emit_rounds(const struct tree *t, int64_t extent)
{
    struct cpu_emitter *e = t->e;
    struct cpu_loop pairs;
    LLVMValueRef one = cpu_int(e, 1), start = cpu_int(e, extent), values[CPU_COMBINED];
    LLVMBasicBlockRef before = LLVMGetInsertBlock(B), head = cpu_block(e, "level"), level = cpu_block(e, "pairs"),
                      done = cpu_block(e, "one");
    LLVMBuildBr(B, head);
    LLVMPositionBuilderAtEnd(B, head);
    LLVMValueRef left = LLVMBuildPhi(B, e->i64, "");
    LLVMAddIncoming(left, &start, &before, 1);
    LLVMBuildCondBr(B, LLVMBuildICmp(B, LLVMIntSGT, left, one, ""), level, done);
    LLVMPositionBuilderAtEnd(B, level);
    LLVMValueRef half = LLVMBuildLShr(B, left, one, ""),
                 next = LLVMBuildLShr(B, LLVMBuildAdd(B, left, one, ""), one, "");
    cpu_loop_begin(e, &pairs, cpu_int(e, 0), half, 1);
    LLVMValueRef twice = LLVMBuildShl(B, pairs.index, one, "");
    combine_in_memory(t, pairs.index, twice, LLVMBuildAdd(B, twice, one, ""));
    cpu_loop_end(e, &pairs);
    /* an odd one moves down; with an even count the last pair's own result is copied onto itself */
    LLVMValueRef odd = LLVMBuildICmp(B, LLVMIntNE, next, half, "");
    if (PLANTED(cpu_tree_loses_odd_end))
        odd = LLVMConstInt(e->i1, 0, 0);
    LLVMValueRef last = LLVMBuildSub(B, next, one, "");
    tree_read(t, LLVMBuildSelect(B, odd, LLVMBuildSub(B, left, one, ""), last, ""), values);
    tree_write(t, last, values);
    LLVMBasicBlockRef latch = LLVMGetInsertBlock(B);
    LLVMAddIncoming(left, &next, &latch, 1);
    LLVMBuildBr(B, head);
    LLVMPositionBuilderAtEnd(B, done);
}

static void emit_tree(struct cpu_emitter *e, struct reduction *r)
{
    const struct ir_type *type = r->by.operation->operands[0]->type;
    struct cpu_buffer *work[CPU_COMBINED];
    struct tree t = {.e = e, .r = r, .stride = 1};
    LLVMValueRef top[CPU_COMBINED], slot[CPU_COMBINED];
    struct cpu_loop rows, columns;
    int64_t outer = 1, extent = type->extent[r->axis];
    for (int d = 0; d < type->rank; d++)
        *(d < r->axis ? &outer : &t.stride) *= d == r->axis ? 1 : type->extent[d];
    for (int i = 0; i < r->by.count; i++) {
        work[i] = cpu_buffer_create(e, cpu_tile_bytes(r->by.operation->operands[i]->type), NULL, 0);
        cpu_fill(e, r->by.operation->operands[i], work[i]);
        slot[i] = cpu_alloca(e, cpu_register_type(e, r->by.element[i]));
    }
    for (int i = 0; i < r->by.count; i++)
        t.base[i] = cpu_buffer_address(e, work[i]);
    cpu_loop_begin(e, &rows, cpu_int(e, 0), cpu_int(e, outer), 1);
    cpu_loop_begin(e, &columns, cpu_int(e, 0), cpu_int(e, t.stride), 1);
    t.origin = LLVMBuildAdd(B, LLVMBuildMul(B, rows.index, cpu_int(e, extent * t.stride), ""), columns.index, "");
    emit_rounds(&t, extent);
    tree_read(&t, cpu_int(e, 0), top);
    LLVMValueRef to = LLVMBuildAdd(B, LLVMBuildMul(B, rows.index, cpu_int(e, t.stride), ""), columns.index, "");
    for (int i = 0; i < r->by.count; i++) {
        enum ir_element element = r->by.operation->results[i]->type->element;
        if (r->buffer[i])
            cpu_write(e, element, cpu_address(e, element, cpu_buffer_address(e, r->buffer[i]), to),
                      cpu_combining_narrow(e, &r->by, i, top[i]));
        LLVMBuildStore(B, top[i], slot[i]);
    }
    cpu_loop_end(e, &columns);
    cpu_loop_end(e, &rows);
    for (int i = 0; i < r->by.count; i++) {
        if (!r->buffer[i])
            cpu_set_scalar(e, r->by.operation->results[i],
                           cpu_combining_narrow(
                               e, &r->by, i, LLVMBuildLoad2(B, cpu_register_type(e, r->by.element[i]), slot[i], "")));
        cpu_buffer_release(e, work[i]);
    }
}

/* ---- reduce ---- */

void cpu_emit_reduce(struct cpu_emitter *e, const struct cpu_plan *plan, struct ir_operation *operation, int position)
{
    struct reduction r = {.axis = (int)ir_number(operation, IR_ATTRIBUTE_AXIS, 0)};
    (void)plan;
    (void)position;
    if (!cpu_combining_init(e, &r.by, operation))
        return;
    const struct ir_type *shape = operation->operands[0]->type;
    for (int i = 0; i < r.by.count; i++) {
        struct ir_value *result = operation->results[i];
        if (cpu_is_tile(result))
            r.buffer[i] = cpu_buffer_create(e, cpu_tile_bytes(result->type), result->block,
                                            cpu_state_of(e, result)->last);
    }
    if (ir_number(operation, IR_ATTRIBUTE_FIXED, 0)) {
        emit_tree(e, &r);
    } else {
        struct cpu_nest nest = {.e = e, .rank = shape->rank, .lanes_dim = -1, .context = &r};
        memcpy(nest.extent, shape->extent, sizeof nest.extent);
        for (int i = 0; i < r.by.count; i++)
            vector_push(e->arena, &nest.roots, operation->operands[i]);
        if (shape->rank == 1)
            nest.lanes_dim = 0;
        cpu_nest_choose(&nest);
        if (nest.lanes_dim == r.axis) {
            if (r.by.kind == IR_REDUCE_REGION) {
                nest.lanes = nest.unroll = 1;
                nest.in_order = true;
                r.fresh = cpu_alloca(e, e->i1);
            }
            for (int copy = 0; copy < nest.unroll; copy++)
                for (int i = 0; i < r.by.count; i++)
                    r.slot[copy][i] = cpu_alloca(e, cpu_slot_type(e, r.by.element[i], nest.lanes));
        }
        bool along = nest.lanes_dim == r.axis;
        nest.body = along ? axis_body : across_body;
        nest.row_begin = along ? axis_begin : NULL;
        nest.row_end = along ? axis_end : NULL;
        if (!along && nest.unroll > 2)
            nest.unroll = 2;
        cpu_nest_emit(&nest);
    }
    for (int i = 0; i < r.by.count; i++)
        if (r.buffer[i])
            cpu_set_buffer(e, operation->results[i], r.buffer[i]);
}
