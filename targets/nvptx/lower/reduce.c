/* Reductions: registers first, then lanes by butterflies, then warps through shared memory; everybody who needs the
 * result ends with it.
 *
 * The steps come from the layout: each combines the values of two positions that differ in one bit.  The seven kinds
 * commute, so for them the cheapest steps go first.  A function of the source is only associative, its left operand being
 * the one with the smaller indexes; and `fixed` asks for the tree of neighbours.  Both fold the axis's bits from the
 * lowest up, so that at each moment a value stands for an aligned range of indexes.  Where the last of several values is
 * its position, a thread folds what it has in order, and the cheapest steps come first again: from there on the left operand is
 * the one with the smaller position (argmax, of which the first of equals counts).
 *
 * Several values are left where warps share the axis, or where it has an odd repeat.  They are folded by the same tree:
 * neighbours first, an odd last one waiting.  Where the result is only stored, only the warps that store it do this. */
#include "base/plant.h"
#include "ir/facts/scratch.h"
#include "targets/nvptx/lower/lower.h"

#include <string.h>

enum step_kind { STEP_REGISTER, STEP_LANE, STEP_WARP };
struct step {
    enum step_kind kind;
    const struct layout_step *step;
    int weight;
};

void fold_combine(struct lowering *l, const struct fold *f, const LLVMValueRef *left, const LLVMValueRef *right,
                  LLVMValueRef *out)
{
    enum ir_reduce_kind kind = (enum ir_reduce_kind)ir_number(f->operation, IR_ATTRIBUTE_KIND, IR_REDUCE_ADD);
    if (kind == IR_REDUCE_REGION) {
        LLVMValueRef arguments[2 * 16], swap = NULL;
        int last = f->operands - 1;
        if (f->mixed)
            swap = LLVMBuildICmp(l->builder, LLVMIntSGT, left[last], right[last], "");
        for (int o = 0; o < f->operands; o++) {
            arguments[o] = swap ? LLVMBuildSelect(l->builder, swap, right[o], left[o], "") : left[o];
            arguments[f->operands + o] = swap ? LLVMBuildSelect(l->builder, swap, left[o], right[o], "") : right[o];
        }
        lower_region(l, f->operation->regions[0], arguments, out);
        return;
    }
    bool nan = ir_number(f->operation, IR_ATTRIBUTE_NAN, IR_NAN_SKIP) == IR_NAN_PROPAGATE;
    nan &= !PLANTED(nvptx_loses_nan_in_min);
    out[0] = arithmetic_combine(l, kind, f->operation->operands[0]->type->element, nan, left[0], right[0]);
}

static void take(const struct fold *f, int reg, LLVMValueRef *values)
{
    for (int o = 0; o < f->operands; o++)
        values[o] = f->value[o][reg];
}
static void put(struct fold *f, int reg, const LLVMValueRef *values)
{
    for (int o = 0; o < f->operands; o++)
        f->value[o][reg] = values[o];
}

/* Remembers how `target` came to stand behind `left`, which stood in `keep`. */
static void remember(struct lowering *l, struct fold *f, int keep, int target, const LLVMValueRef *left,
                     LLVMValueRef condition)
{
    if (!f->remembers)
        return;
    struct fold_event event = {.keep = keep, .target = target, .condition = condition};
    event.left = arena_copy(l->arena, left, sizeof *left * (size_t)f->operands);
    vector_push(l->arena, &f->events, event);
}

static int axis_coordinate(const struct fold *f, int reg)
{
    int coordinates[LAYOUT_RANK];
    struct layout_position position = {.part = {[LAYOUT_REGISTER] = reg}};
    layout_coordinates(f->layout, &position, coordinates);
    return coordinates[f->axis];
}

/* Folds register `other` into `keep`. */
static void fold_registers(struct lowering *l, struct fold *f, int keep, int other)
{
    LLVMValueRef a[16], b[16], out[16];
    take(f, keep, a);
    take(f, other, b);
    remember(l, f, keep, other, a, NULL);
    fold_combine(l, f, a, b, out);
    put(f, keep, out);
    f->alive[other] = false;
    for (int r = 0; r < f->registers; r++)
        if (f->head[r] == other)
            f->head[r] = keep;
}

static void register_step(struct lowering *l, struct fold *f, int mask)
{
    for (int reg = 0; reg < f->registers; reg++) {
        int other = reg ^ mask;
        if (other < reg || other >= f->registers || !f->alive[reg] || !f->alive[other])
            continue;
        bool first = (axis_coordinate(f, reg) <= axis_coordinate(f, other)) != f->reverse;
        fold_registers(l, f, first ? reg : other, first ? other : reg);
    }
}

/* The registers that the first steps, all of registers, bring together from `reg` on, in order. */
static int gather_run(const struct fold *f, const struct step *list, int steps, int reg, int *members)
{
    int count = 1;
    members[0] = reg;
    for (int s = 0; s < steps; s++, count *= 2)
        for (int i = 0; i < count; i++)
            members[count + i] = members[i] ^ list[s].step->part[LAYOUT_REGISTER];
    for (int i = 1; i < count; i++)
        for (int j = i; j > 0 && (axis_coordinate(f, members[j]) < axis_coordinate(f, members[j - 1])) != f->reverse;
             j--) {
            int swap = members[j];
            members[j] = members[j - 1];
            members[j - 1] = swap;
        }
    return count;
}

/* Scans runs of registers one element after the other, which takes half of what the tree does and holds half as much;
 * where the order is fixed each register is a run. */
static void scan_runs(struct lowering *l, struct fold *f, const struct step *list, int steps)
{
    f->run = ARENA_ARRAY(l->arena, LLVMValueRef *, f->registers);
    f->in_front = ARENA_ARRAY(l->arena, int, f->registers);
    int *members = ARENA_ARRAY(l->arena, int, f->registers);
    for (int reg = 0; reg < f->registers; reg++) {
        if (f->run[reg])
            continue;
        int count = gather_run(f, list, steps, reg, members);
        for (int i = 0; i < count; i++) {
            LLVMValueRef *value = f->run[members[i]] = value_array(l, f->operands);
            take(f, members[i], value);
            f->in_front[members[i]] = i ? members[i - 1] : -1;
            if (i)
                fold_combine(l, f, f->run[members[i - 1]], value, value);
            f->alive[members[i]] = i == 0;
            f->head[members[i]] = members[0];
        }
        put(f, members[0], f->run[members[count - 1]]);
    }
}

/* In order the lane whose coordinate has the bit clear is the left operand. */
static void lane_step(struct lowering *l, struct fold *f, const struct layout_step *step)
{
    int mask = step->part[LAYOUT_LANE];
    LLVMValueRef upper = NULL;
    if (f->ordered) {
        LLVMValueRef bit = LLVMBuildAnd(l->builder, l->lane, value_i32(l, mask & -mask), "");
        LLVMIntPredicate is_upper = PLANTED(nvptx_ordered_lanes_swapped) != f->reverse ? LLVMIntEQ : LLVMIntNE;
        upper = LLVMBuildICmp(l->builder, is_upper, bit, value_i32(l, 0), "");
    }
    for (int reg = 0; reg < f->registers; reg++) {
        if (!f->alive[reg])
            continue;
        LLVMValueRef mine[16], theirs[16], left[16], right[16], out[16];
        take(f, reg, mine);
        for (int o = 0; o < f->operands; o++)
            theirs[o] = ptx_shuffle_xor(l, f->operation->operands[o]->type->element, mine[o], mask);
        remember(l, f, reg, reg, theirs, upper);
        for (int o = 0; o < f->operands; o++) {
            left[o] = upper ? LLVMBuildSelect(l->builder, upper, theirs[o], mine[o], "") : mine[o];
            right[o] = upper ? LLVMBuildSelect(l->builder, upper, mine[o], theirs[o], "") : theirs[o];
        }
        fold_combine(l, f, left, right, out);
        put(f, reg, out);
    }
}

/* Bits of `value` under `mask`, packed. */
static LLVMValueRef packed_bits(struct lowering *l, LLVMValueRef value, uint32_t mask)
{
    LLVMBuilderRef b = l->builder;
    LLVMValueRef sum = value_i32(l, 0);
    int at = 0;
    for (int bit = 0; bit < 32; bit++) {
        if (!(mask >> bit & 1))
            continue;
        LLVMValueRef part = LLVMBuildAnd(b, LLVMBuildLShr(b, value, value_i32(l, bit), ""), value_i32(l, 1), "");
        sum = LLVMBuildOr(b, sum, LLVMBuildShl(b, part, value_i32(l, at), ""), "");
        at++;
    }
    return sum;
}

/* What crosses warps.  Partials of one row are neighbours in scratch, [row of warps][register][row of lanes][partial];
 * the threads that hold copies of a row do not write.  Everybody reads all partials of its rows in order. */
struct crossing {
    uint32_t warp_mask; /* bits that the reduction crosses */
    int partials, rows_of_lanes, rows_of_warps, live;
    LLVMValueRef row, partial, writer;
};

static void plan_crossing(struct lowering *l, const struct fold *f, struct crossing *c)
{
    LLVMBuilderRef b = l->builder;
    const struct layout_reduction *steps = &f->steps;
    struct scratch_crossing plan;
    scratch_reduction(f->layout, f->axis, f->ordered, &plan);
    uint32_t lanes = plan.lanes;
    *c = (struct crossing){.rows_of_lanes = plan.rows_of_lanes};
    for (int i = 0; i < steps->warp_steps; i++)
        c->warp_mask |= (uint32_t)steps->warp_step[i].part[LAYOUT_WARP];
    for (int r = 0; r < f->registers; r++)
        c->live += f->alive[r];
    if (c->live != plan.live)
        die("a reduction folds %d registers to %d, not %d", f->registers, c->live, plan.live);
    int warp_bits = f->layout->bits[LAYOUT_WARP], group_warps = 1 << warp_bits;
    c->partials = steps->partials;
    uint32_t other_warps = (uint32_t)(group_warps - 1) & ~c->warp_mask;
    c->rows_of_warps = 1 << __builtin_popcount(other_warps);
    LLVMValueRef warp_in_group = l->warp, group = value_i32(l, 0);
    if (f->layout->warp_groups > 1) {
        warp_in_group = LLVMBuildAnd(b, l->warp, value_i32(l, group_warps - 1), "");
        group = LLVMBuildLShr(b, l->warp, value_i32(l, warp_bits), "");
    }
    LLVMValueRef row = packed_bits(l, warp_in_group, other_warps);
    if (f->layout->warp_groups > 1 && steps->group_repeats == 1) { /* each group has rows, or copies, of its own */
        row = LLVMBuildAdd(b, LLVMBuildMul(b, group, value_i32(l, c->rows_of_warps), ""), row, "");
        c->rows_of_warps *= f->layout->warp_groups;
    }
    c->row = LLVMBuildMul(b, row, value_i32(l, c->live * c->rows_of_lanes), "");
    c->row = LLVMBuildAdd(b, c->row, packed_bits(l, l->lane, 31u & ~lanes), "");
    c->partial = packed_bits(l, warp_in_group, c->warp_mask);
    if (steps->group_repeats > 1) {
        int below = PLANTED(nvptx_reduce_groups_overlap) ? 0 : __builtin_popcount(c->warp_mask);
        LLVMValueRef above = LLVMBuildShl(b, group, value_i32(l, below), "");
        c->partial = LLVMBuildOr(b, c->partial, above, "");
    }
    if (lanes) {
        LLVMValueRef rest = LLVMBuildAnd(b, l->lane, value_i32(l, lanes), "");
        c->writer = LLVMBuildICmp(b, LLVMIntEQ, rest, value_i32(l, 0), "");
    }
}

/* Elements of scratch one operand takes: one for each warp, live register and row of lanes. */
static int64_t crossing_bytes(const struct crossing *c, enum ir_element element)
{
    int64_t count = (int64_t)c->rows_of_warps * c->live * c->rows_of_lanes * c->partials;
    return (count * value_bytes(element) + 15) / 16 * 16;
}

static void write_partials(struct lowering *l, struct fold *f, const struct crossing *c, const int64_t *start)
{
    LLVMBuilderRef b = l->builder;
    LLVMBasicBlockRef write = NULL, join = NULL;
    if (c->writer) {
        write = value_block(l, "partials");
        join = value_block(l, "written");
        LLVMBuildCondBr(b, c->writer, write, join);
        LLVMPositionBuilderAtEnd(b, write);
    }
    for (int o = 0; o < f->operands; o++) {
        enum ir_element element = f->operation->operands[o]->type->element;
        int bytes = value_bytes(element), live = 0;
        for (int reg = 0; reg < f->registers; reg++) {
            if (!f->alive[reg])
                continue;
            LLVMValueRef row = LLVMBuildAdd(b, c->row, value_i32(l, live++ * c->rows_of_lanes), "");
            LLVMValueRef place = LLVMBuildAdd(b, LLVMBuildMul(b, row, value_i32(l, c->partials), ""), c->partial, "");
            place = LLVMBuildMul(b, place, value_i32(l, bytes), "");
            shared_store(l, element, f->value[o][reg], shared_address(l, start[o], place), bytes);
        }
    }
    if (!c->writer)
        return;
    LLVMBuildBr(b, join);
    LLVMPositionBuilderAtEnd(b, join);
}

/* All partials of a row, 16 bytes at a time where they are that many. */
static LLVMValueRef *read_partials(struct lowering *l, const struct fold *f, const struct crossing *c, int operand,
                                   int64_t start, LLVMValueRef row)
{
    LLVMBuilderRef b = l->builder;
    enum ir_element element = f->operation->operands[operand]->type->element;
    int size = value_bytes(element), together = 1;
    while (together * size < 16 && c->partials % (2 * together) == 0)
        together *= 2;
    LLVMValueRef *partial = value_array(l, c->partials);
    LLVMValueRef place = LLVMBuildMul(b, row, value_i32(l, c->partials * size), "");
    for (int p = 0; p < c->partials; p += together)
        shared_load_vector(l, element, partial + p, together, shared_address(l, start + p * size, place));
    bool turned = f->reverse && !PLANTED(nvptx_reverse_scan_of_warps_forward);
    for (int p = 0; turned && p < c->partials / 2; p++) {
        LLVMValueRef swap = partial[p];
        partial[p] = partial[c->partials - 1 - p];
        partial[c->partials - 1 - p] = swap;
    }
    return partial;
}

static void fold_partial(struct lowering *l, struct fold *f, LLVMValueRef **partial, int to, int from)
{
    LLVMValueRef left[16], right[16], out[16];
    for (int o = 0; o < f->operands; o++) {
        left[o] = partial[o][to];
        right[o] = partial[o][from];
    }
    fold_combine(l, f, left, right, out);
    for (int o = 0; o < f->operands; o++)
        partial[o][to] = out[o];
}

/* The node on the left of this thread's own, if that is the right one of two, before a round of the tree. */
static void remember_partials(struct lowering *l, struct fold *f, int reg, const struct crossing *c,
                              LLVMValueRef **partial, int step)
{
    LLVMBuilderRef b = l->builder;
    LLVMValueRef own = c->partial, left[16];
    if (f->reverse)
        own = LLVMBuildSub(b, value_i32(l, c->partials - 1), own, "");
    own = LLVMBuildLShr(b, own, value_i32(l, log2_floor((uint64_t)step)), "");
    for (int o = 0; o < f->operands; o++)
        left[o] = partial[o][0];
    for (int node = 2; (node + 1) * step < c->partials; node += 2) {
        LLVMValueRef is_next = LLVMBuildICmp(b, LLVMIntEQ, own, value_i32(l, node + 1), "");
        for (int o = 0; o < f->operands; o++)
            left[o] = LLVMBuildSelect(b, is_next, partial[o][node * step], left[o], "");
    }
    LLVMValueRef odd = LLVMBuildAnd(b, own, value_i32(l, 1), "");
    remember(l, f, reg, reg, left, LLVMBuildICmp(b, LLVMIntNE, odd, value_i32(l, 0), ""));
}

/* partial[operand][count] into the first: one after the other, so that few wait in registers beside the tile, or by the
 * tree, which keeps the order and whose sums do not wait for each other. */
static void fold_partials(struct lowering *l, struct fold *f, const struct crossing *c, int reg, LLVMValueRef **partial,
                          bool tree)
{
    int count = c->partials;
    if (!tree) {
        for (int p = 1; p < count; p++)
            fold_partial(l, f, partial, 0, p);
        return;
    }
    for (int step = 1; step < count; step *= 2) {
        if (f->remembers)
            remember_partials(l, f, reg, c, partial, step);
        for (int p = 0; p + step < count; p += 2 * step)
            fold_partial(l, f, partial, p, p + step);
    }
}

static bool is_index(const struct ir_access *access, const struct ir_value *value)
{
    for (int i = 0; i < access->rank; i++)
        if (access->index[i] == value)
            return true;
    return false;
}

/* Whether the value is but stored, or part of what is but stored: by the first of the threads that hold it. */
static bool is_stored_alone(const struct ir_value *value, int depth)
{
    enum { DEPTH = 8 };
    for (const struct ir_use *use = value->uses; use; use = use->next) {
        const struct ir_operation *user = use->user;
        struct ir_access access;
        if (user->opcode == OP_STORE) {
            if (!ir_access_of(user, &access) || is_index(&access, value) ||
                access.value->type->layout != value->type->layout)
                return false;
        } else if (!(ir_op_info[user->opcode].traits & IR_TRAIT_ELEMENTWISE) || user->region_count ||
                   user->result_count != 1 || user->results[0]->type->layout != value->type->layout || depth == DEPTH ||
                   !is_stored_alone(user->results[0], depth + 1))
            return false;
    }
    return true;
}

/* The warps that need the result, as i1; NULL: all.  A region may go on for long with what is no partial. */
static LLVMValueRef wanted_by(struct lowering *l, const struct fold *f)
{
    if (ir_number(f->operation, IR_ATTRIBUTE_KIND, IR_REDUCE_ADD) == IR_REDUCE_REGION)
        return NULL;
    const struct ir_value *result = f->operation->results[0];
    return is_stored_alone(result, 0) ? coordinate_leader_warp(l, result->type->rank ? result->type->layout : NULL)
                                      : NULL;
}

static void read_rows(struct lowering *l, struct fold *f, const struct crossing *c, const int64_t *start, bool tree)
{
    int live = 0;
    for (int reg = 0; reg < f->registers; reg++) {
        if (!f->alive[reg])
            continue;
        LLVMValueRef row = LLVMBuildAdd(l->builder, c->row, value_i32(l, live++ * c->rows_of_lanes), "");
        LLVMValueRef sum[16], *partial[16];
        for (int o = 0; o < f->operands; o++)
            partial[o] = read_partials(l, f, c, o, start[o], row);
        fold_partials(l, f, c, reg, partial, tree);
        for (int o = 0; o < f->operands; o++)
            sum[o] = partial[o][0];
        put(f, reg, sum);
    }
}

/* By the warps in question; the others go on with 0. */
static void read_rows_where(struct lowering *l, struct fold *f, const struct crossing *c, const int64_t *start,
                            LLVMValueRef wanted)
{
    LLVMBuilderRef b = l->builder;
    LLVMBasicBlockRef before = LLVMGetInsertBlock(b), read = value_block(l, "whole"), join = value_block(l, "folded");
    LLVMBuildCondBr(b, wanted, read, join);
    LLVMPositionBuilderAtEnd(b, read);
    read_rows(l, f, c, start, true);
    LLVMBasicBlockRef blocks[2] = {LLVMGetInsertBlock(b), before};
    LLVMBuildBr(b, join);
    LLVMPositionBuilderAtEnd(b, join);
    for (int o = 0; o < f->operands; o++)
        for (int reg = 0; reg < f->registers; reg++) {
            if (!f->alive[reg])
                continue;
            LLVMValueRef values[2] = {f->value[o][reg], LLVMConstNull(LLVMTypeOf(f->value[o][reg]))};
            f->value[o][reg] = LLVMBuildPhi(b, LLVMTypeOf(values[0]), "");
            LLVMAddIncoming(f->value[o][reg], values, blocks, 2);
        }
}

static void warp_steps(struct lowering *l, struct fold *f)
{
    struct crossing c;
    plan_crossing(l, f, &c);
    int64_t start[16], bytes = 0;
    for (int o = 0; o < f->operands; o++) {
        start[o] = bytes;
        bytes += crossing_bytes(&c, f->operation->operands[o]->type->element);
    }
    int64_t scratch = shared_scratch(l, f->operation, bytes);
    for (int o = 0; o < f->operands; o++)
        start[o] += scratch;
    write_partials(l, f, &c, start);
    if (!PLANTED(nvptx_reduce_barrier_dropped))
        ptx_barrier(l);
    LLVMValueRef wanted = f->remembers ? NULL : wanted_by(l, f);
    if (wanted)
        read_rows_where(l, f, &c, start, wanted);
    else
        read_rows(l, f, &c, start, f->ordered);
}

static int step_weight(const struct fold *f, const struct layout_step *step)
{
    int coordinates[LAYOUT_RANK];
    struct layout_position position = {{0}};
    memcpy(position.part, step->part, sizeof position.part);
    layout_coordinates(f->layout, &position, coordinates);
    return coordinates[f->axis];
}

static int list_steps(const struct fold *f, struct step *list)
{
    int count = 0;
    const struct layout_reduction *s = &f->steps;
    for (int i = 0; i < s->register_steps; i++)
        list[count++] = (struct step){STEP_REGISTER, &s->register_step[i], step_weight(f, &s->register_step[i])};
    for (int i = 0; i < s->lane_steps; i++)
        list[count++] = (struct step){STEP_LANE, &s->lane_step[i], step_weight(f, &s->lane_step[i])};
    for (int i = 0; i < s->warp_steps; i++)
        list[count++] = (struct step){STEP_WARP, &s->warp_step[i], step_weight(f, &s->warp_step[i])};
    bool positions = ir_number(f->operation, IR_ATTRIBUTE_POSITIONS, 0) != 0;
    if (!f->ordered && !positions)
        return count;
    for (int i = 1; i < (positions ? s->register_steps : count); i++)
        for (int j = i; j > 0 && list[j].weight < list[j - 1].weight; j--) {
            struct step swap = list[j];
            list[j] = list[j - 1];
            list[j - 1] = swap;
        }
    return count;
}

static bool same_row(const struct fold *f, int a, int b)
{
    int at_a[LAYOUT_RANK], at_b[LAYOUT_RANK];
    struct layout_position first = {.part = {[LAYOUT_REGISTER] = a}}, second = {.part = {[LAYOUT_REGISTER] = b}};
    layout_coordinates(f->layout, &first, at_a);
    layout_coordinates(f->layout, &second, at_b);
    for (int d = 0; d < f->layout->rank; d++)
        if (d != f->axis && at_a[d] != at_b[d])
            return false;
    return true;
}

/* The odd repeat of the axis in registers: what is alive of one row, in order of registers, which is that of
 * coordinates.  In order each round folds neighbours, the last of an odd number staying for the next round. */
static void register_repeats(struct lowering *l, struct fold *f)
{
    bool folded = true;
    while (folded) {
        folded = false;
        for (int i = 0; i < f->registers; i++) {
            int keep = f->reverse ? f->registers - 1 - i : i, step = f->reverse ? -1 : 1;
            for (int other = keep + step; other >= 0 && other < f->registers && f->alive[keep]; other += step) {
                if (!f->alive[other] || !same_row(f, keep, other))
                    continue;
                fold_registers(l, f, keep, other);
                folded = true;
                if (f->ordered && !PLANTED(nvptx_odd_repeats_in_a_row))
                    break;
            }
        }
    }
}

void fold_open(struct lowering *l, struct fold *f, struct ir_operation *operation)
{
    *f = (struct fold){.operation = operation,
                       .layout = operation->operands[0]->type->layout,
                       .axis = (int)ir_number(operation, IR_ATTRIBUTE_AXIS, 0),
                       .reverse = ir_number(operation, IR_ATTRIBUTE_REVERSE, 0) != 0,
                       .ordered = ir_reduce_is_ordered(operation),
                       .operands = operation->result_count};
    if (!f->layout || f->operands > 16)
        die("a reduction of %d operands", f->operands);
    f->registers = layout_registers(f->layout);
    f->value = ARENA_ARRAY(l->arena, LLVMValueRef *, f->operands);
    f->alive = ARENA_ARRAY(l->arena, bool, f->registers);
    f->head = ARENA_ARRAY(l->arena, int, f->registers);
    for (int o = 0; o < f->operands; o++) {
        f->value[o] = value_array(l, f->registers);
        for (int r = 0; r < f->registers; r++)
            f->value[o][r] = value_register(l, operation->operands[o], r);
    }
    for (int r = 0; r < f->registers; r++) {
        f->alive[r] = true;
        f->head[r] = r;
    }
    layout_reduction(f->layout, f->axis, &f->steps);
}

void fold_run(struct lowering *l, struct fold *f)
{
    struct step list[3 * LAYOUT_BITS];
    int count = list_steps(f, list);
    bool crosses = f->steps.warp_steps > 0 || f->steps.group_repeats > 1, crossed = false,
         repeats = f->steps.register_repeats > 1;
    bool positions = ir_number(f->operation, IR_ATTRIBUTE_POSITIONS, 0) != 0;
    int first = 0;
    if (f->remembers) {
        bool fixed = ir_number(f->operation, IR_ATTRIBUTE_FIXED, 0) != 0;
        while (!fixed && first < count && list[first].kind == STEP_REGISTER)
            first++;
        scan_runs(l, f, list, first);
    }
    for (int i = first; i < count; i++) {
        f->mixed |= positions && list[i].kind != STEP_REGISTER;
        if (!f->ordered && repeats && list[i].kind != STEP_REGISTER) {
            register_repeats(l, f);
            repeats = false;
        }
        if (list[i].kind == STEP_REGISTER)
            register_step(l, f, list[i].step->part[LAYOUT_REGISTER]);
        else if (list[i].kind == STEP_LANE)
            lane_step(l, f, list[i].step);
        else if (!crossed) { /* all warp steps at once */
            warp_steps(l, f);
            crossed = true;
        }
    }
    if (!f->ordered && repeats)
        register_repeats(l, f);
    f->mixed |= positions;
    if (crosses && !crossed)
        warp_steps(l, f);
    if (f->ordered && repeats)
        register_repeats(l, f);
}

void lower_reduce(struct lowering *l, struct ir_operation *operation)
{
    struct fold f;
    fold_open(l, &f, operation);
    fold_run(l, &f);
    /* The layout in which steps leave the rows; the result's own may only say the same. */
    const struct layout *rows = f.layout->rank > 1 ? layout_remove_dimension(l->layouts, f.layout, f.axis) : NULL;
    for (int o = 0; o < f.operands; o++) {
        struct ir_value *result = operation->results[o];
        LLVMValueRef *out = value_define(l, result);
        if (result->type->rank && rows && !layout_equal(result->type->layout, rows))
            die("a reduction's result has another layout");
        for (int r = 0; r < value_registers(result->type); r++)
            out[r] = f.value[o][f.head[result->type->rank ? layout_reduction_register(f.layout, rows, f.axis, r) : 0]];
    }
}
