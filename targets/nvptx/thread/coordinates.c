/* Where a thread stands in a tile: the affine-xor formulas of layouts as a few instructions.  What lane and warp give
 * is made once, in the prologue; what a register adds is a constant. */
#include "base/plant.h"
#include "targets/nvptx/thread/thread.h"

static LLVMValueRef position_part(struct lowering *l, enum layout_input input)
{
    if (input == LAYOUT_LANE)
        return l->lane;
    if (input == LAYOUT_WARP)
        return l->warp;
    return value_i32(l, 0);
}

/* Emits at the builder's place; the fields are a handful of and, shift and multiply. */
LLVMValueRef coordinate_formula(struct lowering *l, const struct layout_formula *formula)
{
    LLVMBuilderRef b = l->builder;
    LLVMValueRef sum = NULL;
    for (int i = 0; i < formula->fields; i++) {
        const struct layout_field *field = &formula->field[i];
        if (field->input != LAYOUT_LANE && field->input != LAYOUT_WARP)
            continue;
        LLVMValueRef part = position_part(l, field->input);
        uint32_t mask = (uint32_t)((1ULL << field->count) - 1);
        if (field->bit)
            part = LLVMBuildLShr(b, part, value_i32(l, field->bit), "");
        part = LLVMBuildAnd(b, part, value_i32(l, mask), "");
        part = value_product(l, part, value_i32(l, field->multiplier));
        if (!sum)
            sum = part;
        else
            sum = formula->fields_disjoint ? LLVMBuildAdd(b, sum, part, "") : LLVMBuildXor(b, sum, part, "");
    }
    return sum ? sum : value_i32(l, 0);
}

static LLVMValueRef group_part(struct lowering *l, const struct layout_formula *formula)
{
    if (!formula->group_multiplier)
        return NULL;
    LLVMValueRef group = LLVMBuildUDiv(l->builder, l->warp, value_i32(l, formula->group_warps), "");
    return LLVMBuildMul(l->builder, group, value_i32(l, formula->group_multiplier), "");
}

/* When registers share bits with the thread's part, the group part cannot be folded in before the XOR: it is kept apart
 * by asking for the value with the key (layout, dimension + LAYOUT_RANK). */
static LLVMValueRef cached(struct lowering *l, const struct layout *layout, int dimension)
{
    for (struct thread_coordinate *c = l->coordinates; c; c = c->next)
        if (c->layout == layout && c->dimension == dimension)
            return c->value;
    struct layout_formula formula;
    layout_thread_formula(layout, dimension % LAYOUT_RANK, &formula);
    LLVMBuilderRef keep = l->builder;
    l->builder = l->entry;
    LLVMValueRef value, group = group_part(l, &formula);
    if (dimension >= LAYOUT_RANK) {
        value = group ? group : value_i32(l, 0);
    } else {
        value = coordinate_formula(l, &formula);
        if (group && formula.register_disjoint)
            value = LLVMBuildAdd(l->builder, value, group, "");
    }
    l->builder = keep;
    struct thread_coordinate *entry = ARENA_NEW(l->arena, struct thread_coordinate);
    *entry = (struct thread_coordinate){layout, dimension, value, l->coordinates};
    l->coordinates = entry;
    return value;
}

LLVMValueRef coordinate_thread(struct lowering *l, const struct layout *layout, int dimension)
{
    return cached(l, layout, dimension);
}

bool coordinate_adds(const struct layout *layout, int dimension, int reg, int *part)
{
    struct layout_formula formula;
    layout_thread_formula(layout, dimension, &formula);
    int atom_part, repeat_part;
    layout_register_parts(layout, reg, dimension, &atom_part, &repeat_part);
    *part = atom_part + repeat_part;
    return formula.register_disjoint || atom_part == 0;
}

LLVMValueRef coordinate_register(struct lowering *l, const struct layout *layout, int dimension, int reg)
{
    LLVMValueRef thread = coordinate_thread(l, layout, dimension);
    struct layout_formula formula;
    layout_thread_formula(layout, dimension, &formula);
    int atom_part, repeat_part;
    layout_register_parts(layout, reg, dimension, &atom_part, &repeat_part);
    if (formula.register_disjoint)
        return value_sum(l, thread, value_i32(l, atom_part + repeat_part));
    LLVMValueRef value = LLVMBuildXor(l->builder, thread, value_i32(l, atom_part), "");
    value = value_sum(l, value, value_i32(l, repeat_part));
    if (formula.group_multiplier)
        value = LLVMBuildAdd(l->builder, value, cached(l, layout, dimension + LAYOUT_RANK), "");
    return value;
}

LLVMValueRef coordinate_leader_warp(struct lowering *l, const struct layout *layout)
{
    LLVMBuilderRef b = l->builder;
    if (!layout)
        return LLVMBuildICmp(b, LLVMIntEQ, l->warp, value_i32(l, 0), "");
    uint32_t warps = layout_redundant_bits(layout, LAYOUT_WARP);
    LLVMValueRef leader = NULL;
    if (warps) {
        LLVMValueRef rest = LLVMBuildAnd(b, l->warp, value_i32(l, warps), "");
        leader = LLVMBuildICmp(b, LLVMIntEQ, rest, value_i32(l, 0), "");
    }
    /* Warps beyond those the layout speaks of, and all groups but the first that hold the same. */
    int unique_warps = layout->warp_dimension < 0 ? 1 << layout->bits[LAYOUT_WARP] : layout_warps(layout);
    if (l->warps > unique_warps && !PLANTED(nvptx_every_group_leads)) {
        LLVMValueRef inside = LLVMBuildICmp(b, LLVMIntULT, l->warp, value_i32(l, unique_warps), "");
        leader = leader ? LLVMBuildAnd(b, leader, inside, "") : inside;
    }
    return leader;
}

LLVMValueRef coordinate_leader(struct lowering *l, const struct layout *layout)
{
    if (!layout)
        return coordinate_first_thread(l);
    uint32_t lanes = layout_redundant_bits(layout, LAYOUT_LANE);
    LLVMBuilderRef b = l->builder;
    LLVMValueRef leader = NULL;
    if (lanes && !PLANTED(nvptx_leader_ignored)) {
        LLVMValueRef rest = LLVMBuildAnd(b, l->lane, value_i32(l, lanes), "");
        leader = LLVMBuildICmp(b, LLVMIntEQ, rest, value_i32(l, 0), "");
    }
    LLVMValueRef warp = coordinate_leader_warp(l, layout);
    if (!leader)
        return warp;
    return warp ? LLVMBuildAnd(b, leader, warp, "") : leader;
}

LLVMValueRef coordinate_first_thread(struct lowering *l)
{
    return LLVMBuildICmp(l->builder, LLVMIntEQ, l->thread, value_i32(l, 0), "");
}

int coordinate_find_register(const struct layout *layout, const int *coordinates)
{
    int count = layout_registers(layout), got[LAYOUT_RANK];
    for (int reg = 0; reg < count; reg++) {
        struct layout_position position = {.part = {[LAYOUT_REGISTER] = reg}};
        layout_coordinates(layout, &position, got);
        bool same = true;
        for (int d = 0; d < layout->rank; d++)
            same = same && got[d] == coordinates[d];
        if (same)
            return reg;
    }
    return -1;
}
