/* One loop nest for one group of operations.
 *
 *   for each index of the outer dimensions (row-major order, the lanes' dimension left out):
 *       ranges of every place, values that do not depend on the lane            -- row
 *       for lanes fully inside all places, W*U at a time, then W at a time      -- INSIDE bodies
 *       for lanes outside all places, W at a time (reductions only)             -- OUTSIDE body
 *       for the rest, W at a time under a mask                                  -- MIXED body
 *
 * So the code of a nest is a handful of bodies whatever the tile's extent, and a long padded tail costs what its
 * arithmetic costs. */
#include "base/plant.h"
#include "targets/cpu/emit.h"

#define B e->builder

/* ---- which dimension the lanes run along ---- */
struct score {
    struct cpu_nest *nest;
    int good, mark, widest;
};

static bool stride_is_one(const struct ir_operation *operation, const struct cpu_point *point)
{
    struct ir_access access;
    ir_access_of(operation, &access);
    int dimension = 0;
    bool gathered = false; /* all index tiles stand for the same dimensions, where the first of them is */
    for (int d = 0; d < access.rank; d++) {
        if (access.place[d] == IR_GATHER) {
            int behind = gathered ? dimension : dimension + access.index[d]->type->rank;
            if (point->lanes_dim >= dimension && point->lanes_dim < behind)
                return false;
            dimension = behind;
            gathered = true;
        } else if (access.place[d] != IR_POINT && dimension++ == point->lanes_dim) {
            return access.view->type->stride[d] == 1;
        }
    }
    return false;
}

static void score_value(struct score *score, struct ir_value *value, const struct cpu_point *point)
{
    struct cpu_emitter *e = score->nest->e;
    if (value->type->kind != IR_TILE || value->type->rank == 0 || point->lanes_dim < 0)
        return;
    struct cpu_state *state = cpu_state_of(e, value);
    int bytes = cpu_bytes(value->type->element);
    if (ir_is_float(value->type->element) && bytes > score->widest)
        score->widest = bytes;
    bool moved = state->kind == CPU_BUFFER || (value->definition && value->definition->opcode == OP_LOAD);
    score->nest->narrow_memory |= moved && bytes < 4;
    if (state->kind == CPU_BUFFER) {
        score->good += point->lanes_dim == value->type->rank - 1 ? 1 : -1;
        return;
    }
    if (state->kind != CPU_VIRTUAL || state->mark == score->mark)
        return;
    state->mark = score->mark;
    const struct ir_operation *operation = value->definition;
    if (operation->opcode == OP_LOAD) {
        score->good += stride_is_one(operation, point) ? 2 : -2;
        return;
    }
    for (int i = 0; i < operation->operand_count; i++) {
        struct cpu_point at;
        cpu_point_operand(e, operation, i, point, &at);
        score_value(score, operation->operands[i], &at);
    }
}

static int score_dimension(struct cpu_nest *nest, int dimension, int *widest)
{
    struct cpu_emitter *e = nest->e;
    struct score score = {.nest = nest, .mark = e->marks += 2, .widest = *widest};
    struct cpu_point point = {.rank = nest->rank, .lanes_dim = dimension};
    for (int d = 0; d < nest->rank; d++)
        point.index[d] = d == dimension ? NULL : cpu_int(e, 0);
    for (int i = 0; i < nest->roots.count; i++)
        score_value(&score, nest->roots.data[i], &point);
    for (int i = 0; i < nest->roots.count; i++)
        nest->narrow_memory |= cpu_bytes(nest->roots.data[i]->type->element) < 4;
    if (nest->target && nest->target->opcode == OP_STORE)
        score.good += stride_is_one(nest->target, &point) ? 2 : -2;
    *widest = score.widest;
    int lanes = e->vector_bytes / 4;
    if (nest->extent[dimension] < lanes) /* vectors partly empty, though still better than gathers */
        score.good -= (int)(lanes / nest->extent[dimension]) - 1;
    return score.good;
}

void cpu_nest_choose(struct cpu_nest *nest)
{
    struct cpu_emitter *e = nest->e;
    int widest = 4, best = -1, best_score = 0;
    for (int d = nest->rank - 1; d >= nest->fixed && nest->lanes_dim < 0; d--) {
        int score = score_dimension(nest, d, &widest);
        if (best < 0 || score > best_score) {
            best = d;
            best_score = score;
        }
    }
    if (nest->lanes_dim >= 0)
        score_dimension(nest, nest->lanes_dim, &widest);
    else
        nest->lanes_dim = best;
    if (nest->lanes == 0) {
        nest->lanes = e->vector_bytes / widest;
        while (nest->lanes > nest->extent[nest->lanes_dim])
            nest->lanes /= 2;
    }
    if (nest->unroll == 0) {
        int cost = 0;
        for (int i = 0; i < nest->roots.count; i++)
            if (cpu_is_tile(nest->roots.data[i]))
                cost += cpu_state_of(e, nest->roots.data[i])->cost;
        nest->unroll = nest->lanes == 1 || cost > 24 ? 1 : cost > 6 ? 2 : 4;
    }
    while (nest->unroll > 1 && (int64_t)nest->unroll * nest->lanes > nest->extent[nest->lanes_dim])
        nest->unroll /= 2;
}

/* ---- bodies ---- */

static void body(struct cpu_nest *nest, const struct cpu_point *point, enum cpu_mode mode, LLVMValueRef base,
                 LLVMValueRef active, int copy)
{
    nest->mode = mode;
    nest->lane_base = base;
    nest->active = active;
    nest->memo.count = nest->row_memo;
    for (int i = 0; i < nest->sides.count; i++) {
        struct cpu_side *side = &nest->sides.data[i];
        cpu_buffer_store(nest, side->buffer, side->value->type, point, cpu_element_full(nest, side->value, point));
    }
    nest->body(nest, point, copy);
    nest->memo.count = nest->row_memo;
}

/* Lanes base..base+W-1 that are below stop. */
static LLVMValueRef active_lanes(struct cpu_nest *nest, LLVMValueRef base, LLVMValueRef stop)
{
    struct cpu_emitter *e = nest->e;
    if (nest->lanes == 1)
        return NULL;
    LLVMValueRef lane = LLVMBuildAdd(B, cpu_splat(e, base, nest->lanes), cpu_iota(e, e->i64, nest->lanes), "");
    return LLVMBuildICmp(B, LLVMIntSLT, lane, cpu_splat(e, stop, nest->lanes), "");
}

/* Where the processor has no masks a vector body under a mask would fall apart into branches: one element at a time is
 * less code. */
static bool has_masks(const struct cpu_nest *nest)
{
    const struct cpu_emitter *e = nest->e;
    return !e->arm && (e->isa == CPU_WIDEST || (e->isa == CPU_WIDE && !nest->narrow_memory));
}

/* One body over two stretches of lanes, so that its code stands once.  `whole`: stretches are multiples of W. */
static void two_stretches(struct cpu_nest *nest, const struct cpu_point *point, enum cpu_mode mode, LLVMValueRef start0,
                          LLVMValueRef stop0, LLVMValueRef start1, LLVMValueRef stop1, bool whole)
{
    struct cpu_emitter *e = nest->e;
    struct cpu_loop outer, inner;
    int lanes = nest->lanes;
    whole |= PLANTED(cpu_last_vector_unmasked);
    if (mode == CPU_MIXED && !has_masks(nest))
        nest->lanes = 1;
    if (start0)
        cpu_loop_begin(e, &outer, cpu_int(e, 0), cpu_int(e, 2), 1);
    LLVMValueRef start = start1, stop = stop1;
    if (start0) {
        LLVMValueRef second = LLVMBuildICmp(B, LLVMIntNE, outer.index, cpu_int(e, 0), "");
        start = LLVMBuildSelect(B, second, start1, start0, "");
        stop = LLVMBuildSelect(B, second, stop1, stop0, "");
    }
    cpu_loop_begin(e, &inner, start, stop, nest->lanes);
    LLVMValueRef base = inner.index;
    if (nest->descending >> nest->lanes_dim & 1) { /* the vector that stands as far from the last one */
        LLVMValueRef last = LLVMBuildSub(B, LLVMBuildSub(B, stop, start, ""), cpu_int(e, 1), "");
        last = LLVMBuildAnd(B, last, cpu_int(e, -nest->lanes), "");
        base = LLVMBuildSub(B, LLVMBuildAdd(B, start, last, ""), LLVMBuildSub(B, base, start, ""), "");
    }
    body(nest, point, mode, base, whole ? NULL : active_lanes(nest, base, stop), 0);
    cpu_loop_end(e, &inner);
    if (start0)
        cpu_loop_end(e, &outer);
    nest->lanes = lanes;
}

struct nest_bounds {
    LLVMValueRef start, stop, first, last, any_first, any_last;
    bool clipped;
};

static LLVMValueRef clamp(struct cpu_emitter *e, LLVMValueRef value, LLVMValueRef low, LLVMValueRef high)
{
    return cpu_minimum(e, cpu_maximum(e, value, low), high);
}

/* [start, stop): lanes to run.  [first, last): inside every place.  Beyond [any_first, any_last): outside every place.
 */
static struct nest_bounds find_bounds(struct cpu_nest *nest)
{
    struct cpu_emitter *e = nest->e;
    LLVMValueRef zero = cpu_int(e, 0), extent = cpu_int(e, nest->extent[nest->lanes_dim]);
    struct nest_bounds b = {.start = zero, .stop = extent};
    LLVMValueRef low = NULL, high = NULL, least = NULL, most = NULL;
    for (int i = 0; i < nest->accesses.count; i++) {
        const struct cpu_access *access = &nest->accesses.data[i];
        if (!access->low)
            continue;
        if (access->operation == nest->target) {
            b.start = clamp(e, access->low, zero, extent);
            b.stop = clamp(e, access->high, b.start, extent);
        }
        low = low ? cpu_maximum(e, low, access->low) : access->low;
        high = high ? cpu_minimum(e, high, access->high) : access->high;
        least = least ? cpu_minimum(e, least, access->low) : access->low;
        most = most ? cpu_maximum(e, most, access->high) : access->high;
    }
    b.clipped = low != NULL;
    b.first = low ? clamp(e, low, b.start, b.stop) : b.start;
    b.last = low ? clamp(e, high, b.first, b.stop) : b.stop;
    b.any_first = low ? clamp(e, least, b.start, b.first) : b.start;
    b.any_last = low ? clamp(e, most, b.last, b.stop) : b.stop;
    return b;
}

/* Head, whole vectors inside, tail; descending from the tail to the head. */
static void emit_in_order(struct cpu_nest *nest, const struct cpu_point *point, const struct nest_bounds *b)
{
    struct cpu_emitter *e = nest->e;
    bool descending = nest->descending >> nest->lanes_dim & 1;
    LLVMValueRef inside = LLVMBuildAnd(B, LLVMBuildSub(B, b->last, b->first, ""), cpu_int(e, -nest->lanes), "");
    LLVMValueRef whole = LLVMBuildAdd(B, b->first, inside, "");
    for (int part = 0; part < 3; part++) {
        int which = descending ? 2 - part : part;
        if (which == 1)
            two_stretches(nest, point, CPU_INSIDE, NULL, NULL, b->first, whole, true);
        else if (which == 0 && b->clipped)
            two_stretches(nest, point, CPU_MIXED, NULL, NULL, b->start, b->first, false);
        else if (which == 2 && (b->clipped || nest->extent[nest->lanes_dim] % nest->lanes))
            two_stretches(nest, point, CPU_MIXED, NULL, NULL, whole, b->stop, false);
    }
}

static void emit_lanes(struct cpu_nest *nest, const struct cpu_point *point)
{
    struct cpu_emitter *e = nest->e;
    struct nest_bounds b = find_bounds(nest);
    int64_t extent = nest->extent[nest->lanes_dim], lanes = nest->lanes, stride = lanes * nest->unroll;
    if (nest->in_order) {
        emit_in_order(nest, point, &b);
        return;
    }
    if (nest->aligned && b.clipped) {
        LLVMValueRef up = LLVMBuildAdd(B, b.first, cpu_int(e, lanes - 1), "");
        b.first = cpu_minimum(e, LLVMBuildAnd(B, up, cpu_int(e, -lanes), ""), b.stop);
        b.last = cpu_maximum(e, b.first, b.last);
    }
    LLVMValueRef at = b.first;
    struct cpu_loop loop;
    if (nest->unroll > 1) {
        LLVMValueRef stop = LLVMBuildSub(B, b.last, cpu_int(e, stride - 1), "");
        cpu_loop_begin(e, &loop, at, stop, stride);
        for (int copy = 0; copy < nest->unroll; copy++)
            body(nest, point, CPU_INSIDE, copy ? LLVMBuildAdd(B, loop.index, cpu_int(e, copy * lanes), "") : loop.index,
                 NULL, copy);
        cpu_loop_end(e, &loop);
        at = loop.index;
    }
    if (nest->unroll == 1 || b.clipped || extent % stride) {
        LLVMValueRef stop = LLVMBuildSub(B, b.last, cpu_int(e, lanes - 1), "");
        cpu_loop_begin(e, &loop, at, stop, lanes);
        body(nest, point, CPU_INSIDE, loop.index, NULL, 0);
        cpu_loop_end(e, &loop);
        at = loop.index;
    }
    if (!b.clipped) {
        if (extent % lanes)
            two_stretches(nest, point, CPU_MIXED, NULL, NULL, at, b.stop, false);
        return;
    }
    LLVMValueRef head = b.start, tail = b.stop;
    if (!nest->target && !nest->aligned) { /* lanes outside everything, in whole vectors from both ends */
        LLVMValueRef mask = cpu_int(e, -lanes);
        LLVMValueRef before = LLVMBuildAnd(B, LLVMBuildSub(B, b.any_first, b.start, ""), mask, "");
        LLVMValueRef from = cpu_maximum(e, b.any_last, at);
        LLVMValueRef behind = LLVMBuildAnd(B, LLVMBuildSub(B, b.stop, from, ""), mask, "");
        head = LLVMBuildAdd(B, b.start, before, "");
        tail = LLVMBuildSub(B, b.stop, behind, "");
        two_stretches(nest, point, CPU_OUTSIDE, b.start, head, tail, b.stop, true);
    }
    two_stretches(nest, point, CPU_MIXED, head, b.first, at, tail, false);
}

/* ---- the nest ---- */

static void emit_row(struct cpu_nest *nest, const struct cpu_point *point)
{
    nest->mode = CPU_MIXED;
    nest->lane_base = NULL;
    nest->active = NULL;
    nest->memo.count = 0;
    nest->accesses.count = 0;
    if (nest->target)
        cpu_nest_setup_memory(nest, nest->target, point);
    else
        for (int i = 0; i < nest->roots.count; i++)
            cpu_nest_setup(nest, nest->roots.data[i], point);
    int kept = 0;
    for (int i = 0; i < nest->memo.count; i++)
        if (nest->memo.data[i].result)
            nest->memo.data[kept++] = nest->memo.data[i];
    nest->memo.count = nest->row_memo = kept;
    if (nest->row_begin)
        nest->row_begin(nest, point);
    nest->row_memo = nest->memo.count;
    emit_lanes(nest, point);
    nest->memo.count = nest->row_memo;
    if (nest->row_end)
        nest->row_end(nest, point);
}

static void emit_outer(struct cpu_nest *nest, struct cpu_point *point, int dimension)
{
    struct cpu_emitter *e = nest->e;
    if (dimension == nest->rank) {
        emit_row(nest, point);
        return;
    }
    if (dimension == nest->lanes_dim || dimension < nest->fixed || nest->extent[dimension] == 1) {
        point->index[dimension] = dimension == nest->lanes_dim ? NULL
                                  : dimension < nest->fixed    ? nest->index[dimension]
                                                               : cpu_int(e, 0);
        emit_outer(nest, point, dimension + 1);
        return;
    }
    struct cpu_loop loop;
    cpu_loop_begin(e, &loop, cpu_int(e, 0), cpu_int(e, nest->extent[dimension]), 1);
    point->index[dimension] = loop.index;
    if (nest->descending >> dimension & 1)
        point->index[dimension] = LLVMBuildSub(B, cpu_int(e, nest->extent[dimension] - 1), loop.index, "");
    emit_outer(nest, point, dimension + 1);
    cpu_loop_end(e, &loop);
}

void cpu_nest_emit(struct cpu_nest *nest)
{
    cpu_prepare(nest);
    cpu_nest_choose(nest);
    struct cpu_point point = {.rank = nest->rank, .lanes_dim = nest->lanes_dim};
    emit_outer(nest, &point, 0);
    cpu_finish(nest);
}
