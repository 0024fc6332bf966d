/* Coordinates and offsets as a few shifts, masks and XORs; vectors; bank conflicts; the steps of a reduction. */
#include <string.h>

#include "ir/layout/layout_internal.h"

void formula_add(struct layout_formula *formula, int input, const uint32_t *values, int count)
{
    for (int bit = 0; bit < count;) {
        int run = 1;
        if (values[bit] && is_power_of_two(values[bit]))
            while (bit + run < count && values[bit] << run == values[bit + run])
                run++;
        if (values[bit])
            formula->field[formula->fields++] = (struct layout_field){(enum layout_input)input, bit, run, values[bit]};
        bit += run;
    }
}

void formula_finish(struct layout_formula *formula, const uint32_t *register_values, int count)
{
    uint32_t seen = 0;
    formula->fields_disjoint = formula->register_disjoint = true;
    for (int i = 0; i < formula->fields; i++) {
        const struct layout_field *field = &formula->field[i];
        uint32_t bits = field->multiplier * ((UINT32_C(1) << field->count) - 1);
        formula->fields_disjoint &= !(seen & bits);
        seen |= bits;
    }
    for (int i = 0; i < count; i++)
        formula->register_disjoint &= !(seen & register_values[i]);
}

void layout_thread_formula(const struct layout *layout, int dimension, struct layout_formula *formula)
{
    uint32_t values[LAYOUT_BITS];
    memset(formula, 0, sizeof *formula);
    for (int input = LAYOUT_LANE; input <= LAYOUT_BLOCK; input++) {
        for (int bit = 0; bit < layout->bits[input]; bit++)
            values[bit] = layout_part_of(layout, layout->column[input][bit], dimension);
        formula_add(formula, input, values, layout->bits[input]);
    }
    for (int bit = 0; bit < layout->bits[LAYOUT_REGISTER]; bit++)
        values[bit] = layout_part_of(layout, layout->column[LAYOUT_REGISTER][bit], dimension);
    formula_finish(formula, values, layout->bits[LAYOUT_REGISTER]);
    if (dimension == layout->warp_dimension) {
        formula->group_warps = 1 << layout->bits[LAYOUT_WARP];
        formula->group_multiplier = 1 << layout->atom_bits[dimension];
    }
}

void layout_register_parts(const struct layout *layout, int reg, int dimension, int *atom_part, int *repeat_part)
{
    uint64_t atom = (uint64_t)reg & ((UINT64_C(1) << layout->bits[LAYOUT_REGISTER]) - 1);
    int stride = layout_repeat_stride(layout, dimension), repeat = reg >> layout->bits[LAYOUT_REGISTER];
    *atom_part = (int)layout_part_of(layout, layout_apply(layout, atom), dimension);
    *repeat_part = stride ? repeat / stride % layout->repeat[dimension] << layout->atom_bits[dimension] : 0;
}

/* Offset of an atom's column in shared memory. */
static uint32_t offset_of(const struct f2_basis *basis, uint32_t column)
{
    uint64_t origin;
    if (!f2_solve(basis, column, &origin))
        die("a shared layout does not hold every element");
    return packed_part(origin, LAYOUT_OFFSET);
}

void layout_memory_formula(const struct layout *registers, const struct layout *shared, struct layout_formula *formula)
{
    struct f2_basis basis;
    uint32_t values[LAYOUT_BITS];
    layout_basis(shared, &basis);
    memset(formula, 0, sizeof *formula);
    for (int input = LAYOUT_LANE; input <= LAYOUT_BLOCK; input++) {
        for (int bit = 0; bit < registers->bits[input]; bit++)
            values[bit] = offset_of(&basis, registers->column[input][bit]);
        formula_add(formula, input, values, registers->bits[input]);
    }
    for (int bit = 0; bit < registers->bits[LAYOUT_REGISTER]; bit++)
        values[bit] = offset_of(&basis, registers->column[LAYOUT_REGISTER][bit]);
    formula_finish(formula, values, registers->bits[LAYOUT_REGISTER]);
    if (registers->warp_dimension >= 0) {
        formula->group_warps = 1 << registers->bits[LAYOUT_WARP];
        formula->group_multiplier = layout_repeat_stride(shared, registers->warp_dimension)
                                    << shared->bits[LAYOUT_OFFSET];
    }
}

void layout_memory_parts(const struct layout *registers, const struct layout *shared, int reg, int *atom_part,
                         int *repeat_part)
{
    struct f2_basis basis;
    layout_basis(shared, &basis);
    uint64_t atom = (uint64_t)reg & ((UINT64_C(1) << registers->bits[LAYOUT_REGISTER]) - 1);
    int repeat = reg >> registers->bits[LAYOUT_REGISTER], panel = 0;
    *atom_part = (int)offset_of(&basis, layout_apply(registers, atom));
    for (int d = 0; d < registers->rank; d++) {
        int stride = layout_repeat_stride(registers, d);
        if (stride)
            panel += repeat / stride % registers->repeat[d] * layout_repeat_stride(shared, d);
    }
    *repeat_part = panel << shared->bits[LAYOUT_OFFSET];
}

/* ---- vectors ---- */

/* values: of register columns that move along the vector alone, 0 for others; parts: what any column moves along it.
 * Vectors start at multiples of their size: no other column has a bit below it. */
static struct layout_vector find_vector(const uint32_t *values, const uint32_t *parts, int count, uint32_t of_threads,
                                        int limit)
{
    struct layout_vector vector = {.size = 1};
    for (int k = 0; vector.size * 2 <= limit; k++) {
        int bit = 0;
        while (bit < count && values[bit] != UINT32_C(1) << k)
            bit++;
        if (bit == count)
            break;
        vector.bit[k] = bit;
        vector.register_mask |= 1 << bit;
        vector.size *= 2;
    }
    uint32_t others = of_threads;
    for (int bit = 0; bit < count; bit++)
        if (!(vector.register_mask >> bit & 1))
            others |= parts[bit];
    while (others & ((uint32_t)vector.size - 1)) {
        vector.size /= 2;
        vector.register_mask &= ~(1 << vector.bit[__builtin_ctz((unsigned)vector.size)]);
    }
    return vector;
}

struct layout_vector layout_vector(const struct layout *layout, int dimension, int limit)
{
    uint32_t values[LAYOUT_BITS], parts[LAYOUT_BITS], of_threads = 0;
    for (int bit = 0; bit < layout->bits[LAYOUT_REGISTER]; bit++) {
        uint32_t column = layout->column[LAYOUT_REGISTER][bit];
        parts[bit] = layout_part_of(layout, column, dimension);
        values[bit] = parts[bit] << layout->shift[dimension] == column ? parts[bit] : 0;
    }
    for (int input = LAYOUT_LANE; input <= LAYOUT_BLOCK; input++)
        for (int bit = 0; bit < layout->bits[input]; bit++)
            of_threads |= layout_part_of(layout, layout->column[input][bit], dimension);
    if (limit > 1 << layout->atom_bits[dimension])
        limit = 1 << layout->atom_bits[dimension];
    return find_vector(values, parts, layout->bits[LAYOUT_REGISTER], of_threads, limit);
}

struct layout_vector layout_memory_vector(const struct layout *registers, const struct layout *shared, int limit)
{
    struct f2_basis basis;
    uint32_t values[LAYOUT_BITS], of_threads = 0;
    layout_basis(shared, &basis);
    for (int bit = 0; bit < registers->bits[LAYOUT_REGISTER]; bit++)
        values[bit] = offset_of(&basis, registers->column[LAYOUT_REGISTER][bit]);
    for (int input = LAYOUT_LANE; input <= LAYOUT_BLOCK; input++)
        for (int bit = 0; bit < registers->bits[input]; bit++)
            of_threads |= offset_of(&basis, registers->column[input][bit]);
    return find_vector(values, values, registers->bits[LAYOUT_REGISTER], of_threads, limit);
}

int layout_vector_register(const struct layout_vector *vector, int base, int index)
{
    for (int k = 0; index >> k; k++)
        if (index >> k & 1)
            base |= 1 << vector->bit[k];
    return base;
}

int layout_bank_wavefronts(const struct layout *registers, const struct layout *shared, int bytes, int vector,
                           int *ideal)
{
    struct f2_basis basis, words = {0}, banks = {0};
    int width = bytes * vector, lanes = 5;
    layout_basis(shared, &basis);
    while (lanes > 3 && (width << lanes) > 128)
        lanes--;
    /* Lanes of one wavefront that touch one bank in different words: the words' span minus the banks' span. */
    for (int bit = 0; bit < lanes && bit < registers->bits[LAYOUT_LANE]; bit++) {
        uint32_t byte = offset_of(&basis, registers->column[LAYOUT_LANE][bit]) * (uint32_t)bytes;
        uint32_t unit = width > 4 ? byte / (uint32_t)width * (uint32_t)width : byte & ~3u;
        f2_insert(&words, unit, 0);
        f2_insert(&banks, unit & 127u, 0);
    }
    int instructions = layout_registers(registers) / vector;
    *ideal = instructions << (5 - lanes);
    return *ideal << (words.count - banks.count);
}

/* ---- reductions ---- */

static void add_step(struct layout_reduction *reduction, uint64_t packed)
{
    struct layout_step step = {{0}};
    int parts = 0;
    for (int input = 0; input < LAYOUT_INPUTS; input++) {
        step.part[input] = (int)packed_part(packed, input);
        parts += step.part[input] != 0;
    }
    reduction->plain &= parts == 1;
    if (step.part[LAYOUT_WARP] || step.part[LAYOUT_BLOCK])
        reduction->warp_step[reduction->warp_steps++] = step;
    else if (step.part[LAYOUT_LANE])
        reduction->lane_step[reduction->lane_steps++] = step;
    else
        reduction->register_step[reduction->register_steps++] = step;
}

/* Positions that differ by a step hold elements that differ along the axis alone: steps are the kernel of the layout
 * with the axis taken out, modulo the positions that hold the very same element. */
void layout_reduction(const struct layout *layout, int axis, struct layout_reduction *reduction)
{
    struct f2_basis others = {0}, seen = {0};
    uint32_t mask = ((UINT32_C(1) << layout->atom_bits[axis]) - 1) << layout->shift[axis], last = 0;
    memset(reduction, 0, sizeof *reduction);
    reduction->plain = reduction->ascending = true;
    for (int input = LAYOUT_REGISTER; input <= LAYOUT_BLOCK; input++)
        for (int bit = 0; bit < layout->bits[input]; bit++) {
            uint32_t column = layout->column[input][bit] & ~mask;
            uint64_t origin = packed_bit(input, bit);
            f2_reduce(&others, &column, &origin);
            if (column) {
                f2_insert(&others, layout->column[input][bit] & ~mask, packed_bit(input, bit));
                continue;
            }
            uint32_t along = layout_apply(layout, origin);
            if (!f2_insert(&seen, along, 0))
                continue;
            reduction->ascending &= is_power_of_two(along) && along > last;
            last = along;
            add_step(reduction, origin);
        }
    reduction->register_repeats = axis == layout->warp_dimension ? 1 : layout->repeat[axis];
    reduction->group_repeats = axis == layout->warp_dimension ? layout->warp_groups : 1;
    reduction->partials = (1 << reduction->warp_steps) * reduction->group_repeats;
}
