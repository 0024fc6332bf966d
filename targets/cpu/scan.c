/* scan.  What stands before an element, the carry, goes along the axis.  Where the lanes run along another dimension
 * each line has a carry of its own, in a buffer without the axis.  Where they run along the axis a kind scans each
 * vector by shifts, doubling, and adds the carry; a user's function goes from element to element. */
#include "base/plant.h"
#include "targets/cpu/combine.h"

#include <string.h>

#define B e->builder

struct scan {
    struct cpu_combining by;
    int axis;
    bool reverse, exclusive;
    struct cpu_buffer *buffer[CPU_COMBINED]; /* the results' */
    struct cpu_buffer *row[CPU_COMBINED];    /* lanes across: the carries */
    const struct ir_type *row_type[CPU_COMBINED];
    LLVMValueRef slot[CPU_COMBINED]; /* lanes along: the carry */
    LLVMValueRef fresh;              /* lanes along, a region: nothing stands before */
};

/* The first carry. */
static LLVMValueRef first_carry(struct cpu_emitter *e, const struct scan *s, int i, int lanes)
{
    if (!s->exclusive)
        return cpu_combining_identity(e, &s->by, i, lanes);
    LLVMValueRef scalar = cpu_scalar(e, s->by.operation->operands[s->by.count + i]);
    return cpu_splat(e, cpu_combining_widen(e, &s->by, i, scalar), lanes);
}

static void give(struct cpu_nest *nest, const struct scan *s, const struct cpu_point *point, LLVMValueRef *values)
{
    struct cpu_emitter *e = nest->e;
    for (int i = 0; i < s->by.count; i++)
        cpu_buffer_store(nest, s->buffer[i], s->by.operation->results[i]->type, point,
                         cpu_combining_narrow(e, &s->by, i, values[i]));
}

/* ---- lanes along the axis ---- */

static void carry_store(struct cpu_emitter *e, const struct scan *s, int i, LLVMValueRef value)
{
    if (s->by.element[i] == IR_BOOL)
        value = LLVMBuildZExt(B, value, e->i8, "");
    LLVMBuildStore(B, value, s->slot[i]);
}

static LLVMValueRef carry_load(struct cpu_emitter *e, const struct scan *s, int i)
{
    LLVMValueRef value = LLVMBuildLoad2(B, cpu_slot_type(e, s->by.element[i], 1), s->slot[i], "");
    return s->by.element[i] == IR_BOOL ? LLVMBuildTrunc(B, value, e->i1, "") : value;
}

static void along_begin(struct cpu_nest *nest, const struct cpu_point *point)
{
    struct cpu_emitter *e = nest->e;
    const struct scan *s = nest->context;
    (void)point;
    for (int i = 0; i < s->by.count; i++)
        carry_store(e, s, i, first_carry(e, s, i, 1));
    if (s->fresh)
        LLVMBuildStore(B, LLVMConstInt(e->i1, 1, 0), s->fresh);
}

/* Lane i is lane i - by of the vector (reverse: i + by), or a lane of `before` where there is none. */
static LLVMValueRef shifted(struct cpu_emitter *e, const struct scan *s, LLVMValueRef vector, LLVMValueRef before,
                            int by)
{
    int lanes = cpu_lanes(vector);
    LLVMValueRef mask[64];
    for (int i = 0; i < lanes; i++) {
        int from = s->reverse ? i + by : i - by;
        mask[i] = LLVMConstInt(e->i32, (unsigned)(from >= 0 && from < lanes ? from : lanes + i), 0);
    }
    return LLVMBuildShuffleVector(B, vector, before, LLVMConstVector(mask, (unsigned)lanes), "");
}

/* One tile, one of the kinds. */
static void along_vector(struct cpu_nest *nest, const struct cpu_point *point)
{
    struct cpu_emitter *e = nest->e;
    const struct scan *s = nest->context;
    int lanes = nest->lanes;
    LLVMValueRef neutral = cpu_combining_identity(e, &s->by, 0, lanes);
    LLVMValueRef value = cpu_element_full(nest, nest->roots.data[0], point), carry = carry_load(e, s, 0);
    value = cpu_combining_widen(e, &s->by, 0, value);
    if (nest->active)
        value = LLVMBuildSelect(B, nest->active, value, neutral, "");
    for (int by = 1; by < lanes; by *= 2) {
        LLVMValueRef left = shifted(e, s, value, neutral, by);
        cpu_combining_apply(e, &s->by, &left, &value, &value);
    }
    LLVMValueRef before = cpu_splat(e, carry, lanes), all;
    cpu_combining_apply(e, &s->by, &before, &value, &all);
    LLVMValueRef end = LLVMConstInt(e->i32,
                                    s->reverse && !PLANTED(cpu_scan_carries_wrong_end) ? 0 : (unsigned)lanes - 1, 0);
    carry_store(e, s, 0, LLVMBuildExtractElement(B, all, end, ""));
    LLVMValueRef out = s->exclusive ? shifted(e, s, all, before, 1) : all;
    give(nest, s, point, &out);
}

static void along_body(struct cpu_nest *nest, const struct cpu_point *point, int copy)
{
    struct cpu_emitter *e = nest->e;
    const struct scan *s = nest->context;
    LLVMValueRef value[CPU_COMBINED], carry[CPU_COMBINED], next[CPU_COMBINED];
    (void)copy;
    if (nest->lanes > 1) {
        along_vector(nest, point);
        return;
    }
    for (int i = 0; i < s->by.count; i++) {
        value[i] = cpu_combining_widen(e, &s->by, i, cpu_element_full(nest, nest->roots.data[i], point));
        carry[i] = carry_load(e, s, i);
    }
    LLVMValueRef first = s->fresh ? LLVMBuildLoad2(B, e->i1, s->fresh, "") : NULL;
    for (int i = 0; first && i < s->by.count; i++) /* a function sees true elements alone */
        carry[i] = LLVMBuildSelect(B, first, value[i], carry[i], "");
    cpu_combining_apply(e, &s->by, carry, value, next);
    for (int i = 0; i < s->by.count; i++) {
        next[i] = first ? LLVMBuildSelect(B, first, value[i], next[i], "") : next[i];
        carry_store(e, s, i, next[i]);
    }
    if (first)
        LLVMBuildStore(B, LLVMConstInt(e->i1, 0, 0), s->fresh);
    give(nest, s, point, s->exclusive ? carry : next);
}

/* ---- lanes along another dimension ---- */

static void across_body(struct cpu_nest *nest, const struct cpu_point *point, int copy)
{
    struct cpu_emitter *e = nest->e;
    const struct scan *s = nest->context;
    struct cpu_point at;
    LLVMValueRef value[CPU_COMBINED], carry[CPU_COMBINED], next[CPU_COMBINED];
    (void)copy;
    cpu_point_without(nest, s->axis, point, &at);
    int64_t end = s->reverse ? nest->extent[s->axis] - 1 : 0;
    LLVMValueRef first = LLVMBuildICmp(B, LLVMIntEQ, point->index[s->axis], cpu_int(e, end), "");
    for (int i = 0; i < s->by.count; i++) {
        value[i] = cpu_combining_widen(e, &s->by, i, cpu_element_full(nest, nest->roots.data[i], point));
        LLVMValueRef start = s->exclusive || s->by.kind != IR_REDUCE_REGION ? first_carry(e, s, i, nest->lanes)
                                                                            : value[i];
        carry[i] = cpu_select(e, first, start, cpu_buffer_load(nest, s->row[i], s->row_type[i], &at));
    }
    cpu_combining_apply(e, &s->by, carry, value, next);
    for (int i = 0; i < s->by.count; i++) {
        if (!s->exclusive)
            next[i] = cpu_select(e, first, value[i], next[i]);
        cpu_buffer_store(nest, s->row[i], s->row_type[i], &at, next[i]);
    }
    give(nest, s, point, s->exclusive ? carry : next);
}

static void emit_nest(struct cpu_emitter *e, struct scan *s)
{
    const struct ir_type *shape = s->by.operation->operands[0]->type;
    struct cpu_nest nest = {.e = e, .rank = shape->rank, .lanes_dim = -1, .context = s};
    memcpy(nest.extent, shape->extent, sizeof nest.extent);
    for (int i = 0; i < s->by.count; i++)
        vector_push(e->arena, &nest.roots, s->by.operation->operands[i]);
    if (shape->rank == 1)
        nest.lanes_dim = 0;
    nest.unroll = 1;
    cpu_nest_choose(&nest);
    nest.descending = s->reverse ? 1u << s->axis : 0;
    bool along = nest.lanes_dim == s->axis;
    nest.body = along ? along_body : across_body;
    if (along) {
        nest.row_begin = along_begin;
        nest.in_order = true;
        if (s->by.kind == IR_REDUCE_REGION) {
            nest.lanes = 1;
            s->fresh = s->exclusive ? NULL : cpu_alloca(e, e->i1);
        }
        for (int i = 0; i < s->by.count; i++)
            s->slot[i] = cpu_alloca(e, cpu_slot_type(e, s->by.element[i], 1));
    }
    for (int i = 0; i < s->by.count && !along; i++) {
        struct ir_type type = *shape;
        type.rank--;
        type.element = s->by.element[i];
        type.pointee = s->by.operation->operands[i]->type->pointee;
        memmove(type.extent + s->axis, type.extent + s->axis + 1, sizeof *type.extent * (size_t)(type.rank - s->axis));
        s->row_type[i] = arena_copy(e->arena, &type, sizeof type);
        s->row[i] = cpu_buffer_create(e, cpu_tile_bytes(s->row_type[i]), NULL, 0);
    }
    cpu_nest_emit(&nest);
    for (int i = 0; i < s->by.count && !along; i++)
        cpu_buffer_release(e, s->row[i]);
}

/* ---- the tree of adjacent pairs, by extent alone ---- */

/* One line: the levels of the tree behind one another, from the elements on; then what stands before each node of a
 * level, which the way down spreads in place. */
struct tree {
    struct cpu_emitter *e;
    const struct scan *s;
    struct cpu_buffer *levels[CPU_COMBINED], *before[CPU_COMBINED];
};

static void take(const struct tree *t, struct cpu_buffer *const *buffers, LLVMValueRef at, LLVMValueRef *values)
{
    struct cpu_emitter *e = t->e;
    for (int i = 0; i < t->s->by.count; i++) {
        enum ir_element element = t->s->by.operation->operands[i]->type->element;
        LLVMValueRef address = cpu_address(e, element, cpu_buffer_address(e, buffers[i]), at);
        values[i] = cpu_combining_widen(e, &t->s->by, i, cpu_read(e, element, address, 1));
    }
}

static void put(const struct tree *t, struct cpu_buffer *const *buffers, LLVMValueRef at, LLVMValueRef *values)
{
    struct cpu_emitter *e = t->e;
    for (int i = 0; i < t->s->by.count; i++) {
        enum ir_element element = t->s->by.operation->operands[i]->type->element;
        LLVMValueRef address = cpu_address(e, element, cpu_buffer_address(e, buffers[i]), at);
        cpu_write(e, element, address, cpu_combining_narrow(e, &t->s->by, i, values[i]));
    }
}

/* left combined with right, or right where `lone` says that there is no left. */
static void combine(const struct tree *t, LLVMValueRef lone, LLVMValueRef *left, LLVMValueRef *right, LLVMValueRef *out)
{
    struct cpu_emitter *e = t->e;
    LLVMValueRef both[CPU_COMBINED];
    cpu_combining_apply(e, &t->s->by, left, right, both);
    for (int i = 0; i < t->s->by.count; i++)
        out[i] = lone && !t->s->exclusive ? LLVMBuildSelect(B, lone, right[i], both[i], "") : both[i];
}

/* Level of `extent` nodes at `from` to the next. */
static void climb(const struct tree *t, int64_t from, int64_t extent)
{
    struct cpu_emitter *e = t->e;
    struct cpu_loop pairs;
    LLVMValueRef left[CPU_COMBINED], right[CPU_COMBINED];
    int64_t to = from + extent;
    cpu_loop_begin(e, &pairs, cpu_int(e, 0), cpu_int(e, extent / 2), 1);
    LLVMValueRef twice = LLVMBuildAdd(B, LLVMBuildShl(B, pairs.index, cpu_int(e, 1), ""), cpu_int(e, from), "");
    take(t, t->levels, twice, left);
    take(t, t->levels, LLVMBuildAdd(B, twice, cpu_int(e, 1), ""), right);
    combine(t, NULL, left, right, left);
    put(t, t->levels, LLVMBuildAdd(B, pairs.index, cpu_int(e, to), ""), left);
    cpu_loop_end(e, &pairs);
    if (extent % 2) {
        take(t, t->levels, cpu_int(e, to - 1), left);
        put(t, t->levels, cpu_int(e, to + extent / 2), left);
    }
}

/* From the nodes above a level of `extent` nodes at `from` to that level, from the right: node k becomes 2k, 2k + 1. */
static void descend(const struct tree *t, int64_t from, int64_t extent)
{
    struct cpu_emitter *e = t->e;
    struct cpu_loop nodes;
    LLVMValueRef before[CPU_COMBINED], left[CPU_COMBINED], next[CPU_COMBINED];
    int64_t above = (extent + 1) / 2;
    cpu_loop_begin(e, &nodes, cpu_int(e, 0), cpu_int(e, above), 1);
    LLVMValueRef k = LLVMBuildSub(B, cpu_int(e, above - 1), nodes.index, "");
    LLVMValueRef twice = LLVMBuildShl(B, k, cpu_int(e, 1), "");
    take(t, t->before, k, before);
    take(t, t->levels, LLVMBuildAdd(B, twice, cpu_int(e, from), ""), left);
    combine(t, LLVMBuildICmp(B, LLVMIntEQ, k, cpu_int(e, 0), ""), before, left, next);
    put(t, t->before, LLVMBuildAdd(B, twice, cpu_int(e, 1), ""), next);
    put(t, t->before, twice, before);
    cpu_loop_end(e, &nodes);
}

/* Element `index` of the line, from where it starts, in the direction of the scan. */
static LLVMValueRef place_in_tile(const struct tree *t, LLVMValueRef origin, LLVMValueRef index, int64_t extent,
                                  int64_t stride)
{
    struct cpu_emitter *e = t->e;
    if (t->s->reverse)
        index = LLVMBuildSub(B, cpu_int(e, extent - 1), index, "");
    return LLVMBuildAdd(B, origin, LLVMBuildMul(B, index, cpu_int(e, stride), ""), "");
}

static void emit_line(const struct tree *t, struct cpu_buffer *const *tiles, LLVMValueRef origin, int64_t extent,
                      int64_t stride)
{
    struct cpu_emitter *e = t->e;
    const struct scan *s = t->s;
    struct cpu_loop elements;
    LLVMValueRef values[CPU_COMBINED], before[CPU_COMBINED], first[CPU_COMBINED];
    int64_t from[64], count[64], levels = 0;
    cpu_loop_begin(e, &elements, cpu_int(e, 0), cpu_int(e, extent), 1);
    take(t, tiles, place_in_tile(t, origin, elements.index, extent, stride), values);
    put(t, t->levels, elements.index, values);
    cpu_loop_end(e, &elements);
    from[0] = 0;
    for (count[0] = extent; count[levels] > 1; levels++) {
        climb(t, from[levels], count[levels]);
        from[levels + 1] = from[levels] + count[levels];
        count[levels + 1] = (count[levels] + 1) / 2;
    }
    for (int i = 0; i < s->by.count; i++)
        first[i] = first_carry(e, s, i, 1);
    put(t, t->before, cpu_int(e, 0), first);
    while (levels-- > 0)
        descend(t, from[levels], count[levels]);
    cpu_loop_begin(e, &elements, cpu_int(e, 0), cpu_int(e, extent), 1);
    take(t, t->before, elements.index, before);
    take(t, t->levels, elements.index, values);
    if (!s->exclusive)
        combine(t, LLVMBuildICmp(B, LLVMIntEQ, elements.index, cpu_int(e, 0), ""), before, values, before);
    put(t, s->buffer, place_in_tile(t, origin, elements.index, extent, stride), before);
    cpu_loop_end(e, &elements);
}

static void emit_tree(struct cpu_emitter *e, const struct scan *s)
{
    const struct ir_type *type = s->by.operation->operands[0]->type;
    struct tree t = {.e = e, .s = s};
    struct cpu_buffer *tiles[CPU_COMBINED];
    struct cpu_loop rows, columns;
    int64_t outer = 1, stride = 1, extent = type->extent[s->axis];
    for (int d = 0; d < type->rank; d++)
        *(d < s->axis ? &outer : &stride) *= d == s->axis ? 1 : type->extent[d];
    for (int i = 0; i < s->by.count; i++) {
        const struct ir_value *tile = s->by.operation->operands[i];
        int bytes = cpu_bytes(tile->type->element);
        tiles[i] = cpu_buffer_create(e, cpu_tile_bytes(tile->type), NULL, 0);
        cpu_fill(e, s->by.operation->operands[i], tiles[i]);
        t.levels[i] = cpu_buffer_create(e, (2 * extent + 64) * bytes, NULL, 0);
        t.before[i] = cpu_buffer_create(e, (extent + 2) * bytes, NULL, 0);
    }
    cpu_loop_begin(e, &rows, cpu_int(e, 0), cpu_int(e, outer), 1);
    cpu_loop_begin(e, &columns, cpu_int(e, 0), cpu_int(e, stride), 1);
    LLVMValueRef row = LLVMBuildMul(B, rows.index, cpu_int(e, extent * stride), "");
    emit_line(&t, tiles, LLVMBuildAdd(B, row, columns.index, ""), extent, stride);
    cpu_loop_end(e, &columns);
    cpu_loop_end(e, &rows);
    for (int i = 0; i < s->by.count; i++) {
        cpu_buffer_release(e, tiles[i]);
        cpu_buffer_release(e, t.levels[i]);
        cpu_buffer_release(e, t.before[i]);
    }
}

/* ---- scan ---- */

void cpu_emit_scan(struct cpu_emitter *e, struct ir_operation *operation)
{
    struct scan s = {.axis = (int)ir_number(operation, IR_ATTRIBUTE_AXIS, 0),
                     .reverse = ir_number(operation, IR_ATTRIBUTE_REVERSE, 0) != 0,
                     .exclusive = ir_number(operation, IR_ATTRIBUTE_EXCLUSIVE, 0) != 0};
    if (!cpu_combining_init(e, &s.by, operation))
        return;
    for (int i = 0; i < s.by.count; i++) {
        struct ir_value *result = operation->results[i];
        s.buffer[i] = cpu_buffer_create(e, cpu_tile_bytes(result->type), result->block, cpu_state_of(e, result)->last);
    }
    if (ir_number(operation, IR_ATTRIBUTE_FIXED, 0))
        emit_tree(e, &s);
    else
        emit_nest(e, &s);
    for (int i = 0; i < s.by.count; i++)
        cpu_set_buffer(e, operation->results[i], s.buffer[i]);
}
