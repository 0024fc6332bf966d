/* See move_plan.h. */
#include "ir/facts/move_plan.h"

#include "ir/facts/scratch.h"

enum { MOST_CHOICES = 16, SHARED_COST = 60 };

bool move_is_planned(const struct ir_operation *operation)
{
    return operation->opcode == OP_CONCATENATE || operation->opcode == OP_FLIP || operation->opcode == OP_GATHER;
}

struct planning {
    struct arena *arena;
    const struct ir_operation *op;
    const struct layout *const *layouts; /* of operands, then of the result */
    int axis;
    struct move_plan *plan;
};

static const struct layout *result_layout(const struct planning *p) { return p->layouts[p->op->operand_count]; }

/* ---- concatenate: from the operand that holds the element, in the same thread ---- */

/* The operand that has the coordinate, which becomes one of its own. */
static int operand_at(const struct planning *p, int *coordinates)
{
    int i = 0;
    for (; coordinates[p->axis] >= p->op->operands[i]->type->extent[p->axis]; i++)
        coordinates[p->axis] -= (int)p->op->operands[i]->type->extent[p->axis];
    return i;
}

/* Where parts begin and end at multiples of what threads add, one position for each bit of lane and warp stands for all
 * threads. */
static bool parts_are_aligned(const struct planning *p)
{
    const struct layout *to = result_layout(p);
    if (to->warp_dimension == p->axis)
        return false;
    int whole = to->extent[p->axis], atom = whole & -whole, start = 0;
    bool by_atoms = true, by_bits = true;
    for (int i = 0; i < p->op->operand_count; i++) {
        int part = (int)p->op->operands[i]->type->extent[p->axis];
        by_atoms = by_atoms && part % atom == 0;
        by_bits = by_bits && is_power_of_two(part) && start % part == 0;
        start += part;
    }
    return by_atoms || by_bits;
}

static bool same_threads(const struct planning *p, int reg, bool aligned, struct move_source *source)
{
    const struct layout *to = result_layout(p);
    int threads = 32 * layout_warps(to), want[LAYOUT_RANK], got[LAYOUT_RANK];
    for (int thread = 0; thread < threads; thread++) {
        bool basis = thread < 32 ? (thread & (thread - 1)) == 0 : thread % 32 == 0;
        if (aligned && !basis)
            continue;
        struct layout_position there = {
            .part = {[LAYOUT_REGISTER] = reg, [LAYOUT_LANE] = thread % 32, [LAYOUT_WARP] = thread / 32}};
        layout_coordinates(to, &there, want);
        int operand = operand_at(p, want);
        const struct layout *from = p->layouts[operand];
        if (thread == 0) {
            int found = layout_warps(from) == layout_warps(to) ? layout_register_at(from, &there, want) : -1;
            *source = (struct move_source){.operand = operand, .reg = found};
            if (found < 0)
                return false;
            continue;
        }
        there.part[LAYOUT_REGISTER] = source->reg;
        layout_coordinates(from, &there, got);
        for (int d = 0; d < to->rank; d++)
            if (operand != source->operand || got[d] != want[d])
                return false;
    }
    return true;
}

static void plan_concatenate(struct planning *p)
{
    int count = layout_registers(result_layout(p));
    bool aligned = parts_are_aligned(p);
    p->plan->source = ARENA_ARRAY(p->arena, struct move_source, count);
    for (int reg = 0; reg < count; reg++)
        if (!same_threads(p, reg, aligned, &p->plan->source[reg]))
            return;
    p->plan->kind = MOVE_REGISTERS;
    p->plan->cost = 0;
}

/* ---- flip: all threads ask the lane at the same distance ---- */

/* i = atom part + atom * repeat becomes (the atom part XOR all its bits) + atom * (the repeat from the other end): a
 * constant XOR of the position, unless repeats lie across warps. */
static void plan_flip(struct planning *p)
{
    const struct layout *layout = result_layout(p);
    int count = layout_registers(layout), at[LAYOUT_RANK];
    bool lanes = false;
    if (layout->warp_dimension == p->axis)
        return;
    p->plan->source = ARENA_ARRAY(p->arena, struct move_source, count);
    for (int reg = 0; reg < count; reg++) {
        struct layout_position position = {.part = {[LAYOUT_REGISTER] = reg}}, from;
        layout_coordinates(layout, &position, at);
        at[p->axis] = layout->extent[p->axis] - 1 - at[p->axis];
        layout_find(layout, at, &from);
        if (from.part[LAYOUT_WARP] || from.part[LAYOUT_BLOCK])
            return;
        p->plan->source[reg] = (struct move_source){0, from.part[LAYOUT_REGISTER], (uint32_t)from.part[LAYOUT_LANE]};
        lanes |= from.part[LAYOUT_LANE] != 0;
    }
    p->plan->kind = lanes ? MOVE_SHUFFLES : MOVE_REGISTERS;
    p->plan->cost = lanes ? count : 0;
}

/* ---- gather: the index says which lane, and which of the registers there ---- */

static uint32_t column_along(const struct layout *layout, enum layout_input input, int bit, int dimension)
{
    return layout->column[input][bit] >> layout->shift[dimension] & ((UINT32_C(1) << layout->atom_bits[dimension]) - 1);
}

/* Both layouts put a bit of lane or warp to the same use in all dimensions but the axis. */
static bool agrees(const struct planning *p, enum layout_input input)
{
    const struct layout *from = p->layouts[0], *to = result_layout(p);
    if (from->bits[input] != to->bits[input])
        return false;
    for (int bit = 0; bit < from->bits[input]; bit++)
        for (int d = 0; d < from->rank; d++)
            if (d != p->axis && column_along(from, input, bit, d) != column_along(to, input, bit, d))
                return false;
    return true;
}

/* Lanes that hold the axis: each bit of theirs is one bit of it and no more; warps hold none of it. */
static bool find_lanes(const struct planning *p)
{
    const struct layout *from = p->layouts[0];
    for (int i = 0; i < LAYOUT_BITS; i++)
        p->plan->lane_bit[i] = -1;
    for (int bit = 0; bit < from->bits[LAYOUT_WARP]; bit++)
        if (column_along(from, LAYOUT_WARP, bit, p->axis))
            return false;
    for (int bit = 0; bit < from->bits[LAYOUT_LANE]; bit++) {
        uint32_t along = column_along(from, LAYOUT_LANE, bit, p->axis);
        if (!along)
            continue;
        if (from->column[LAYOUT_LANE][bit] != along << from->shift[p->axis] || !is_power_of_two(along) ||
            (p->plan->lane_mask & along))
            return false;
        p->plan->lane_mask |= along;
        p->plan->axis_lanes |= UINT32_C(1) << bit;
        p->plan->lane_bit[__builtin_ctz(along)] = bit;
    }
    return true;
}

static void plan_gather(struct planning *p)
{
    const struct layout *from = p->layouts[0], *to = result_layout(p);
    int count = layout_registers(to), extent = from->extent[p->axis], at[LAYOUT_RANK];
    bool groups = from->warp_groups == to->warp_groups && from->warp_dimension == to->warp_dimension &&
                  from->warp_dimension != p->axis;
    if (!groups || !agrees(p, LAYOUT_LANE) || !agrees(p, LAYOUT_WARP) || !find_lanes(p))
        return;
    int choices = extent >> __builtin_popcount(p->plan->lane_mask);
    if (choices > MOST_CHOICES)
        return;
    p->plan->choices = choices;
    p->plan->reg = ARENA_ARRAY(p->arena, int, count *choices);
    p->plan->value = ARENA_ARRAY(p->arena, int, choices);
    for (int value = 0, next = 0; value < extent; value++)
        if (!((uint32_t)value & p->plan->lane_mask))
            p->plan->value[next++] = value;
    const struct layout_position first = {{0}};
    for (int reg = 0; reg < count; reg++) {
        struct layout_position position = {.part = {[LAYOUT_REGISTER] = reg}};
        layout_coordinates(to, &position, at);
        for (int c = 0; c < choices; c++) {
            at[p->axis] = p->plan->value[c];
            int found = layout_register_at(from, &first, at);
            if (found < 0)
                return;
            p->plan->reg[reg * choices + c] = found;
        }
    }
    double cost = (double)count * choices * (p->plan->lane_mask ? 2 : 1);
    if (cost > p->plan->cost)
        return;
    p->plan->kind = p->plan->lane_mask ? MOVE_SHUFFLES : MOVE_REGISTERS;
    p->plan->cost = cost;
}

/* ---- all ---- */

const struct move_plan *move_plan_with(struct arena *arena, const struct ir_operation *operation,
                                       const struct layout *const *layouts)
{
    struct planning p = {arena, operation, layouts, (int)ir_number(operation, IR_ATTRIBUTE_AXIS, 0),
                         ARENA_NEW(arena, struct move_plan)};
    /* What goes through shared memory is all there is of the tile that elements come from. */
    const struct ir_type *type = operation->opcode == OP_GATHER ? operation->operands[0]->type
                                                                : operation->results[0]->type;
    int64_t elements = ir_type_elements(type), most = SCRATCH_ROUND_BYTES / (ir_element_info[type->element].bits / 8);
    p.plan->kind = MOVE_SHARED;
    p.plan->rounds = (elements + most - 1) / most;
    p.plan->elements = int64_min(elements, most);
    p.plan->cost = SHARED_COST * (double)p.plan->rounds;
    for (int i = 0; i <= operation->operand_count; i++)
        if (i != 1 || operation->opcode != OP_GATHER)
            p.plan->cost += 2.0 * layout_registers(layouts[i]);
    switch (operation->opcode) {
    case OP_CONCATENATE: plan_concatenate(&p); break;
    case OP_FLIP: plan_flip(&p); break;
    default: plan_gather(&p); break;
    }
    return p.plan;
}

const struct move_plan *move_plan(struct arena *arena, const struct ir_operation *operation)
{
    const struct layout **layouts = ARENA_ARRAY(arena, const struct layout *, operation->operand_count + 1);
    for (int i = 0; i < operation->operand_count; i++)
        layouts[i] = operation->operands[i]->type->layout;
    layouts[operation->operand_count] = operation->results[0]->type->layout;
    return move_plan_with(arena, operation, layouts);
}
