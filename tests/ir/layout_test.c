/* Layouts, checked on every element: fragments, blocked and swizzled layouts, random invertible atoms with repeats,
 * broadcasts. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ir/layout/layout.h"

static struct arena *arena;
static struct layout_table *table;
static int checks, failures;

static void check(bool right, const char *what, const struct layout *layout)
{
    checks++;
    if (right)
        return;
    if (failures++ < 20)
        printf("FAILED %s %s\n", what, layout ? layout_text(arena, layout) : "");
}

static uint32_t random_state = 12345;
static int random_below(int limit)
{
    random_state = random_state * 1664525u + 1013904223u;
    return (int)((random_state >> 8) % (unsigned)limit);
}

/* ---- enumeration ---- */

static int linear_index(const struct layout *layout, const int *coordinates)
{
    int index = 0;
    for (int d = 0; d < layout->rank; d++) {
        if (coordinates[d] < 0 || coordinates[d] >= layout->extent[d])
            return -1;
        index = index * layout->extent[d] + coordinates[d];
    }
    return index;
}

static int element_at(const struct layout *layout, int reg, int lane, int warp)
{
    int coordinates[LAYOUT_RANK];
    struct layout_position position = {{reg, lane, warp, 0, 0}};
    layout_coordinates(layout, &position, coordinates);
    return linear_index(layout, coordinates);
}

static void coordinates_of(const struct layout *layout, int index, int *coordinates)
{
    for (int d = layout->rank - 1; d >= 0; d--) {
        coordinates[d] = index % layout->extent[d];
        index /= layout->extent[d];
    }
}

static int evaluate(const struct layout_formula *formula, int lane, int warp)
{
    int parts[LAYOUT_INPUTS] = {0, lane, warp, 0, 0};
    uint32_t value = 0, sum = 0;
    for (int i = 0; i < formula->fields; i++) {
        const struct layout_field *field = &formula->field[i];
        uint32_t term = ((uint32_t)parts[field->input] >> field->bit & ((1u << field->count) - 1)) * field->multiplier;
        value ^= term;
        sum += term;
    }
    if (formula->fields_disjoint && sum != value)
        return -1;
    return (int)value;
}

static int group_part(const struct layout_formula *formula, int warp)
{
    return formula->group_warps ? warp / formula->group_warps * formula->group_multiplier : 0;
}

static void check_registers(const struct layout *layout)
{
    int size = (int)layout_size(layout), warps = layout_warps(layout);
    char *seen = calloc((size_t)size, 1);
    struct layout_formula formula[LAYOUT_RANK];
    for (int d = 0; d < layout->rank; d++)
        layout_thread_formula(layout, d, &formula[d]);
    uint32_t extra_lanes = layout_redundant_bits(layout, LAYOUT_LANE);
    uint32_t extra_warps = layout_redundant_bits(layout, LAYOUT_WARP);
    int owned = 0;
    for (int warp = 0; warp < warps; warp++)
        for (int lane = 0; lane < 32; lane++)
            for (int reg = 0; reg < layout_registers(layout); reg++) {
                int coordinates[LAYOUT_RANK], atom_part, repeat_part;
                struct layout_position position = {{reg, lane, warp, 0, 0}};
                layout_coordinates(layout, &position, coordinates);
                int index = linear_index(layout, coordinates);
                check(index >= 0, "coordinates inside", layout);
                if (index >= 0)
                    seen[index] = 1;
                bool first_group = layout->warp_dimension >= 0 || warp >> layout->bits[LAYOUT_WARP] == 0;
                owned += !((uint32_t)lane & extra_lanes) && !((uint32_t)warp & extra_warps) && first_group;
                check(layout_register_at(layout, &position, coordinates) == reg, "register_at", layout);
                for (int d = 0; d < layout->rank; d++) {
                    layout_register_parts(layout, reg, d, &atom_part, &repeat_part);
                    int base = evaluate(&formula[d], lane, warp);
                    if (formula[d].register_disjoint)
                        check((base ^ atom_part) == base + atom_part, "disjoint", layout);
                    check((base ^ atom_part) + repeat_part + group_part(&formula[d], warp) == coordinates[d], "formula",
                          layout);
                }
            }
    check(owned == size, "each element has one owner", layout);
    for (int i = 0; i < size; i++) {
        int coordinates[LAYOUT_RANK];
        struct layout_position position;
        check(seen[i], "onto", layout);
        coordinates_of(layout, i, coordinates);
        layout_find(layout, coordinates, &position);
        check(element_at(layout, position.part[0], position.part[1], position.part[2]) == i, "find", layout);
        check(!((uint32_t)position.part[1] & extra_lanes) && !((uint32_t)position.part[2] & extra_warps), "owner",
              layout);
    }
    free(seen);
}

static void check_text(const struct layout *layout)
{
    const char *text = layout_text(arena, layout), *cursor = text, *error;
    const struct layout *again = layout_parse(table, &cursor, &error);
    check(again == layout && !error && !*cursor, "text", layout);
    /* spaces behind signs and in front of the last are the same */
    struct buffer wide = {0};
    for (const char *c = text; *c; c++)
        buffer_printf(&wide, strchr("(,;", *c) ? "%c  " : *c == ')' ? " %c" : "%c", *c);
    buffer_puts(&wide, "");
    cursor = wide.data;
    again = layout_parse(table, &cursor, &error);
    check(again == layout && !error, "text with spaces", layout);
    buffer_free(&wide);
}

/* ---- making random ones ---- */

/* A random layout of atoms of `bits` bits over rank 2 and repeats r0, r1; warps: log2.  Every nonzero column random. */
static const struct layout *random_layout(int bits0, int bits1, int r0, int r1, int warp_bits, int in_warps, bool unit)
{
    for (;;) {
        struct layout_spec spec = {.rank = 2, .repeat_in_warps = in_warps};
        int bits = bits0 + bits1, order[32];
        spec.atom[0] = 1 << bits0;
        spec.atom[1] = 1 << bits1;
        spec.repeat[0] = r0;
        spec.repeat[1] = r1;
        uint32_t columns[32];
        for (int i = 0; i < bits; i++) {
            order[i] = i;
            columns[i] = unit ? 1u << i : (uint32_t)random_below(1 << bits);
        }
        for (int i = bits - 1; i > 0; i--) {
            int j = random_below(i + 1), swap = order[i];
            order[i] = order[j];
            order[j] = swap;
        }
        int next = 0;
        spec.bits[LAYOUT_LANE] = 5;
        spec.bits[LAYOUT_WARP] = warp_bits;
        for (int input = LAYOUT_LANE; input <= LAYOUT_WARP; input++)
            for (int bit = 0; bit < spec.bits[input]; bit++)
                if (next < bits && random_below(6)) {
                    uint32_t column = columns[order[next++]];
                    spec.column[input][bit][0] = (int)(column >> bits1);
                    spec.column[input][bit][1] = (int)(column & ((1u << bits1) - 1));
                }
        while (next < bits) {
            uint32_t column = columns[order[next++]];
            spec.column[LAYOUT_REGISTER][spec.bits[LAYOUT_REGISTER]][0] = (int)(column >> bits1);
            spec.column[LAYOUT_REGISTER][spec.bits[LAYOUT_REGISTER]++][1] = (int)(column & ((1u << bits1) - 1));
        }
        const struct layout *layout = layout_create(table, &spec);
        if (layout)
            return layout;
    }
}

/* ---- conversions ---- */

/* Runs shuffles and swaps on one warp's registers. */
static void run_shuffles(const struct layout_conversion *plan, int (*registers)[32], int (*result)[32])
{
    static int held[4096][32], moved[4096][32];
    for (int repeat = 0; repeat < plan->repeats; repeat++) {
        int(*from)[32] = registers + repeat * plan->from_atom_registers;
        int(*to)[32] = result + repeat * plan->to_atom_registers;
        memcpy(held, from, sizeof(int[32]) * (size_t)plan->from_atom_registers);
        for (int s = 0; s < plan->before_count; s++) {
            for (int i = 0; i < plan->from_atom_registers; i++)
                for (int lane = 0; lane < 32; lane++) {
                    int odd = __builtin_parity((unsigned)lane & plan->before[s].lane_mask);
                    moved[i][lane] = held[odd ? i ^ plan->before[s].register_xor : i][lane];
                }
            memcpy(held, moved, sizeof(int[32]) * (size_t)plan->from_atom_registers);
        }
        for (int i = 0; i < plan->to_atom_registers; i++)
            for (int lane = 0; lane < 32; lane++) {
                uint32_t source = plan->shuffle[i].lane_xor;
                for (int bit = 0; bit < 5; bit++)
                    if (lane >> bit & 1)
                        source ^= plan->lane_map[bit];
                moved[i][lane] = held[plan->shuffle[i].source_register][source];
            }
        memcpy(held, moved, sizeof(int[32]) * (size_t)plan->to_atom_registers);
        for (int s = 0; s < plan->after_count; s++) {
            for (int i = 0; i < plan->to_atom_registers; i++)
                for (int lane = 0; lane < 32; lane++) {
                    int odd = __builtin_parity((unsigned)lane & plan->after[s].lane_mask);
                    moved[i][lane] = held[odd ? i ^ plan->after[s].register_xor : i][lane];
                }
            memcpy(held, moved, sizeof(int[32]) * (size_t)plan->to_atom_registers);
        }
        memcpy(to, held, sizeof(int[32]) * (size_t)plan->to_atom_registers);
    }
}

/* Counts wavefronts of one access of a warp by looking at every lane. */
static int count_wavefronts(const int *offsets, uint32_t active, int bytes, int vector)
{
    int width = bytes * vector, lanes = 32, total = 0;
    while (lanes > 8 && lanes * width > 128)
        lanes /= 2;
    for (int first = 0; first < 32; first += lanes) {
        int most = 0;
        for (int bank = 0; bank < 32; bank++) {
            int words[256], count = 0;
            for (int lane = first; lane < first + lanes; lane++)
                for (int byte = 0; byte < width; byte += width < 4 ? width : 4) {
                    int word = (offsets[lane] * bytes + byte) / 4, i = 0;
                    if (word % 32 != bank || !(active >> lane & 1))
                        continue;
                    while (i < count && words[i] != word)
                        i++;
                    if (i == count)
                        words[count++] = word;
                }
            most = count > most ? count : most;
        }
        total += most ? most : 1;
    }
    return total;
}

static void transfer_round(const struct layout_conversion *plan, const struct layout_transfers *transfers, int round,
                           const struct layout *layout, int *scratch, int bytes, bool store, int (*result)[32])
{
    for (int warp = 0; warp < layout_warps(layout); warp++)
        for (int t = 0; t < transfers->count; t++) {
            const struct layout_transfer *transfer = &transfers->each[t];
            int offsets[32];
            if (transfer->round != round)
                continue;
            for (int lane = 0; lane < 32; lane++) {
                int base = evaluate(&transfers->formula, lane, warp);
                offsets[lane] = (base ^ transfer->atom_part) + transfer->repeat_part;
                offsets[lane] += group_part(&transfers->formula, warp);
                check(offsets[lane] >= 0 && offsets[lane] + transfers->vector <= plan->scratch_elements, "scratch",
                      layout);
                check(offsets[lane] % transfers->vector == 0, "aligned", layout);
                if (store &&
                    (((uint32_t)lane & transfers->redundant_lanes) || ((uint32_t)warp & transfers->redundant_warps) ||
                     (transfers->redundant_groups && warp >> layout->bits[LAYOUT_WARP])))
                    continue;
                for (int i = 0; i < transfers->vector; i++) {
                    int reg = transfer->registers[i], element = element_at(layout, reg, lane, warp);
                    if (store)
                        scratch[offsets[lane] + i] = element;
                    else
                        result[warp * layout_registers(layout) + reg][lane] = scratch[offsets[lane] + i];
                }
            }
            if (warp == 0)
                check(transfers->count * count_wavefronts(offsets, ~0u, bytes, transfers->vector) ==
                          transfers->wavefronts,
                      "wavefronts", layout);
        }
}

/* What passes weigh conversions by: instructions of a warp. */
static void check_cost(const struct layout_conversion *plan, const struct layout *to)
{
    int shuffles = 0;
    for (int i = 0; i < plan->to_atom_registers; i++)
        shuffles += plan->repeats * (plan->shuffle[i].lane_xor != 0 || !plan->lane_map_identity);
    int selects = plan->repeats *
                  (plan->before_count * plan->from_atom_registers + plan->after_count * plan->to_atom_registers);
    check(plan->shuffles == shuffles && plan->selects == selects && plan->cost > 0, "cost of shuffles", to);
}

static enum layout_conversion_kind check_conversion(const struct layout *from, const struct layout *to, int bytes,
                                                    int64_t limit, bool through_shared, bool conflict_free)
{
    struct layout_conversion *plan = (struct layout_conversion *)layout_conversion_plan(table, arena, from, to, bytes,
                                                                                        limit);
    int warps = layout_warps(to), to_registers = layout_registers(to), from_registers = layout_registers(from);
    int(*result)[32] = calloc((size_t)(warps * to_registers), sizeof *result);
    int(*source)[32] = calloc((size_t)from_registers, sizeof *source);
    if (through_shared)
        check(plan->kind == CONVERT_SHARED, "expected the way through shared memory", to);
    if (plan->kind == CONVERT_SHARED) {
        int *scratch = malloc(sizeof(int) * (size_t)plan->scratch_elements);
        for (int round = 0; round < plan->rounds; round++) {
            for (int64_t i = 0; i < plan->scratch_elements; i++)
                scratch[i] = -1;
            transfer_round(plan, &plan->store, round, from, scratch, bytes, true, NULL);
            transfer_round(plan, &plan->load, round, to, scratch, bytes, false, result);
        }
        free(scratch);
        if (conflict_free) {
            check(plan->store.wavefronts == plan->store.ideal_wavefronts, "store without conflicts", from);
            check(plan->load.wavefronts == plan->load.ideal_wavefronts, "load without conflicts", to);
        }
    }
    for (int warp = 0; warp < warps && plan->kind != CONVERT_SHARED; warp++) {
        int(*held)[32] = result + warp * to_registers;
        for (int reg = 0; reg < from_registers; reg++)
            for (int lane = 0; lane < 32; lane++)
                source[reg][lane] = element_at(from, reg, lane, warp);
        if (plan->kind == CONVERT_SHUFFLES)
            run_shuffles(plan, source, held);
        for (int reg = 0; reg < to_registers && plan->kind != CONVERT_SHUFFLES; reg++)
            memcpy(held[reg], source[plan->kind == CONVERT_NOTHING ? reg : plan->source_register[reg]],
                   sizeof held[reg]);
    }
    if (plan->kind == CONVERT_SHUFFLES)
        check_cost(plan, to);
    bool right = true;
    for (int warp = 0; warp < warps; warp++)
        for (int reg = 0; reg < to_registers; reg++)
            for (int lane = 0; lane < 32; lane++)
                right &= result[warp * to_registers + reg][lane] == element_at(to, reg, lane, warp);
    if (!right)
        printf("kind %d from %s\n", plan->kind, layout_text(arena, from));
    check(right, "conversion", to);
    free(result);
    free(source);
    return plan->kind;
}

static void test_random_conversions(void)
{
    int kinds[4] = {0};
    for (int round = 0; round < 400; round++) {
        int bits0 = 2 + random_below(4), bits1 = 2 + random_below(4), warp_bits = random_below(3);
        int r0 = 1 + 2 * random_below(2), r1 = 1 + 2 * random_below(3), in_warps = r0 > 1 && random_below(2) ? 0 : -1;
        bool unit = random_below(2);
        const struct layout *from = random_layout(bits0, bits1, r0, r1, warp_bits, in_warps, unit);
        const struct layout *to = random_layout(bits0, bits1, r0, r1, warp_bits, in_warps, unit);
        kinds[check_conversion(from, to, 1 << random_below(4), random_below(2) ? 0 : 256, false, false)]++;
        /* permuted registers, and lanes exchanged with registers */
        kinds[check_conversion(from, from, 4, 0, false, false)]++;
    }
    /* Random exchanges within a warp. */
    for (int round = 0; round < 300; round++) {
        const struct layout *from = random_layout(3, 2 + random_below(5), 1, 1 + random_below(3), 0, -1,
                                                  random_below(2));
        const struct layout *to = random_layout(3, from->atom_bits[1], 1, from->repeat[1], 0, -1, random_below(2));
        kinds[check_conversion(from, to, 4, 0, false, false)]++;
    }
    check(kinds[CONVERT_NOTHING] > 0 && kinds[CONVERT_SHUFFLES] > 20 && kinds[CONVERT_SHARED] > 100, "all kinds seen",
          NULL);
}

/* Blocked along one dimension to blocked along the other: what a transpose needs; no bank conflict is allowed. */
static void test_transposes(void)
{
    static const int extents[][2] = {{64, 64}, {128, 32}, {32, 128}, {96, 64}, {64, 176}, {192, 16}, {128, 128}};
    static const int rows_first[2] = {0, 1}, columns_first[2] = {1, 0};
    for (int i = 0; i < (int)(sizeof extents / sizeof *extents); i++)
        for (int bytes = 1; bytes <= 8; bytes *= 2)
            for (int warps = 1; warps <= 8; warps *= 2) {
                const struct layout *a = layout_blocked_default(table, 2, extents[i], columns_first, bytes, warps);
                const struct layout *b = layout_blocked_default(table, 2, extents[i], rows_first, bytes, warps);
                check_conversion(a, b, bytes, 0, false, bytes == 4);
                check_conversion(b, a, bytes, 2048, false, false);
                check_registers(a);
                check_text(b);
                struct layout_vector vector = layout_vector(a, 1, 16 / bytes);
                int even = 1 << a->atom_bits[1], atom = even << a->atom_bits[0];
                if (even * bytes >= 16 && atom / (32 * warps) * bytes >= 16)
                    check(vector.size * bytes == 16, "16 bytes a lane", a);
                for (int k = 0; k < vector.size; k++)
                    check(element_at(a, layout_vector_register(&vector, 0, k), 3, 0) == element_at(a, 0, 3, 0) + k,
                          "vector", a);
            }
}

/* Fragments of matrix instructions against the tables of the PTX manual. */
static void test_fragments(void)
{
    int extent[2] = {192, 176};
    const struct layout *c = layout_wgmma_accumulator(table, extent, 12);
    check(c && layout_registers(c) == 88 && layout_warps(c) == 12 && c->warp_dimension == 0,
          "192x176 over 3 warpgroups", c);
    check_registers(c);
    check_text(c);
    for (int lane = 0; lane < 32; lane++)
        for (int warp = 0; warp < 12; warp++)
            for (int i = 0; i < 4; i++) { /* d0 d1: row lane/4; d2 d3: row + 8 */
                int row = 64 * (warp / 4) + 16 * (warp % 4) + lane / 4 + 8 * (i / 2), column = 2 * (lane % 4) + i % 2;
                check(element_at(c, i, lane, warp) == row * 176 + column, "accumulator fragment", c);
            }
    int tile[2] = {16, 16};
    const struct layout *a = layout_mma_operand(table, 2, tile, 0, 2, 1, 1);
    const struct layout *b = layout_mma_operand(table, 2, tile, 1, 2, 1, 1);
    const struct layout *f8 = layout_mma_operand(table, 2, (int[]){16, 32}, 0, 1, 1, 1);
    for (int lane = 0; lane < 32; lane++)
        for (int i = 0; i < 8; i++) {
            int row = lane / 4 + 8 * (i >> 1 & 1), column = 2 * (lane % 4) + (i & 1) + 8 * (i >> 2);
            check(element_at(a, i, lane, 0) == row * 16 + column, "A fragment", a);
            int inner = 2 * (lane % 4) + (i & 1) + 8 * (i >> 1 & 1), outer = lane / 4 + 8 * (i >> 2);
            check(element_at(b, i, lane, 0) == inner * 16 + outer, "B fragment", b);
            int byte_row = lane / 4 + 8 * (i >> 2), byte_column = 4 * (lane % 4) + (i & 3);
            check(element_at(f8, i, lane, 0) == byte_row * 32 + byte_column, "A fragment of bytes", f8);
        }
    /* The accumulator of scores is the A operand of the next product: registers alone. */
    int scores[2] = {128, 64};
    const struct layout *s = layout_wgmma_accumulator(table, scores, 8);
    const struct layout *p = layout_mma_operand(table, 2, scores, 0, 2, 8, 1);
    enum layout_conversion_kind kind = check_conversion(s, p, 2, 0, false, false);
    check(kind == CONVERT_NOTHING || kind == CONVERT_REGISTERS, "scores to operand", p);
    const struct layout *m = layout_mma_accumulator(table, 2, (int[]){128, 96}, 2, 2);
    check_registers(m);
    check(layout_registers(m) == 96, "mma accumulator", m);
    check(!layout_wgmma_accumulator(table, (int[]){96, 64}, 4), "96 rows are no wgmma", NULL);
    check(!layout_wgmma_accumulator(table, (int[]){128, 64}, 12), "128 rows over 3 warpgroups", NULL);
}

static void test_shared(void)
{
    static const int swizzles[3] = {128, 64, 32};
    for (int s = 0; s < 3; s++)
        for (int bytes = 1; bytes <= 4; bytes *= 2) {
            int extent[2] = {96, 2 * swizzles[s] / bytes};
            const struct layout *layout = layout_swizzled(table, 2, extent, bytes, swizzles[s]);
            check(layout && layout_is_shared(layout), "swizzled", layout);
            check_text(layout);
            for (int offset = 0; offset < 16 * swizzles[s] / bytes; offset++) {
                int coordinates[LAYOUT_RANK], byte = offset * bytes, plain;
                struct layout_position position = {{0, 0, 0, 0, offset}};
                layout_coordinates(layout, &position, coordinates);
                plain = byte ^ ((byte >> 3 & 0x70) & (swizzles[s] - 1)); /* the hardware's formula */
                check(coordinates[0] == plain / swizzles[s] && coordinates[1] == plain % swizzles[s] / bytes,
                      "TMA swizzle", layout);
                struct layout_position back;
                layout_find(layout, coordinates, &back);
                check(back.part[LAYOUT_OFFSET] == offset, "offset", layout);
            }
        }
    /* Registers in and out of a swizzled tile: addresses by formula, conflicts by counting. */
    int extent[2] = {96, 64}, order[2] = {1, 0};
    const struct layout *shared = layout_swizzled(table, 2, extent, 2, 128);
    const struct layout *registers = layout_blocked_default(table, 2, extent, order, 2, 4);
    const struct layout *plain = layout_linear(table, 2, extent, order);
    const struct layout *tall = layout_blocked(table, 2, extent, (int[]){0, 1}, 1, 4);
    const struct layout *pairs[4][2] = {{registers, shared}, {registers, plain}, {tall, shared}, {tall, plain}};
    for (int i = 0; i < 4; i++) {
        const struct layout *r = pairs[i][0], *m = pairs[i][1];
        struct layout_formula formula;
        struct layout_vector vector = layout_memory_vector(r, m, 8);
        int ideal, count = layout_bank_wavefronts(r, m, 2, vector.size, &ideal), offsets[32];
        layout_memory_formula(r, m, &formula);
        for (int reg = 0; reg < layout_registers(r); reg++)
            for (int warp = 0; warp < 4; warp++)
                for (int lane = 0; lane < 32; lane++) {
                    int atom_part, repeat_part;
                    struct layout_position position = {{0}};
                    layout_memory_parts(r, m, reg, &atom_part, &repeat_part);
                    int offset = (evaluate(&formula, lane, warp) ^ atom_part) + repeat_part +
                                 group_part(&formula, warp);
                    position.part[LAYOUT_OFFSET] = offset;
                    int coordinates[LAYOUT_RANK];
                    layout_coordinates(m, &position, coordinates);
                    check(linear_index(m, coordinates) == element_at(r, reg, lane, warp), "memory formula", r);
                    if (reg == 0 && warp == 0)
                        offsets[lane] = offset;
                }
        check(count == count_wavefronts(offsets, ~0u, 2, vector.size) * (layout_registers(r) / vector.size),
              "bank count", r);
        if (i == 0)
            check(vector.size == 8 && count == ideal, "rows of 128 bytes", r);
        if (i == 3)
            check(count > ideal, "columns without a swizzle conflict", r);
    }
}

/* The layout of the tile whose extent along the axis is 1. */
static const struct layout *thin_of(const struct layout *layout, int axis)
{
    int extent[LAYOUT_RANK];
    memcpy(extent, layout->extent, sizeof(int) * (size_t)layout->rank);
    extent[axis] = 1;
    return layout_broadcast_source(table, layout, extent);
}

/* The element of the thin tile that the thread of a register of the wide one takes for it; -1: it has it not. */
static int broadcast_from(const struct layout *thin, const struct layout *layout, int axis, int reg, int lane, int warp)
{
    int coordinates[LAYOUT_RANK];
    struct layout_position position = {{reg, lane, warp, 0, 0}};
    layout_coordinates(layout, &position, coordinates);
    coordinates[axis] = 0;
    int source = layout_register_at(thin, &position, coordinates);
    return source < 0 || source >= layout_registers(thin) ? -1 : element_at(thin, source, lane, warp);
}

static void test_dimensions(const struct layout *layout)
{
    int warps = layout_warps(layout);
    for (int axis = 0; axis < 2; axis++) {
        const struct layout *row = layout_remove_dimension(table, layout, axis);
        const struct layout *thin = thin_of(layout, axis);
        check(row && thin && layout_remove_dimension(table, thin, axis) == row, "remove an extent of 1", thin);
        check_registers(row);
        check_text(row);
        int count = layout_registers(layout);
        struct layout_reduction reduction;
        layout_reduction(layout, axis, &reduction);
        for (int warp = 0; warp < warps; warp++)
            for (int lane = 0; lane < 32; lane++) {
                for (int reg = 0; reg < count; reg++) {
                    int coordinate[2];
                    coordinates_of(layout, element_at(layout, reg, lane, warp), coordinate);
                    check(broadcast_from(thin, layout, axis, reg, lane, warp) == coordinate[!axis],
                          "broadcast register", layout);
                }
                for (int reg = 0; reg < layout_registers(row); reg++) {
                    int coordinate[2], from = layout_reduction_register(layout, row, axis, reg);
                    coordinates_of(layout, element_at(layout, from, lane, warp), coordinate);
                    check(coordinate[!axis] == element_at(row, reg, lane, warp), "reduction register", layout);
                }
            }
        /* Folding by the steps meets every element of the axis once. */
        int steps = reduction.register_steps + reduction.lane_steps + reduction.warp_steps;
        struct layout_step all[3 * LAYOUT_BITS];
        int n = 0;
        for (int i = 0; i < reduction.register_steps; i++)
            all[n++] = reduction.register_step[i];
        for (int i = 0; i < reduction.lane_steps; i++)
            all[n++] = reduction.lane_step[i];
        for (int i = 0; i < reduction.warp_steps; i++)
            all[n++] = reduction.warp_step[i];
        check(1 << steps == 1 << layout->atom_bits[axis], "as many steps as bits", layout);
        char *seen = calloc((size_t)layout->extent[axis], 1);
        for (int set = 0; set < 1 << steps; set++) {
            int part[3] = {0, 3, 0}, coordinate[2], start[2];
            coordinates_of(layout, element_at(layout, 0, 3, 0), start);
            for (int i = 0; i < steps; i++)
                for (int k = 0; k < 3; k++)
                    part[k] ^= set >> i & 1 ? all[i].part[k] : 0;
            coordinates_of(layout, element_at(layout, part[0], part[1], part[2]), coordinate);
            check(coordinate[!axis] == start[!axis] && !seen[coordinate[axis]], "a step stays in its row", layout);
            seen[coordinate[axis]] = 1;
        }
        free(seen);
    }
    const struct layout *turned = layout_permute(table, layout, (int[]){1, 0});
    check(layout_permute(table, turned, (int[]){1, 0}) == layout, "permute twice", layout);
    for (int lane = 0; lane < 32; lane += 5)
        for (int reg = 0; reg < layout_registers(turned); reg++) {
            struct layout_position position = {{reg, lane, warps - 1, 0, 0}};
            int coordinates[LAYOUT_RANK], swapped[2];
            layout_coordinates(turned, &position, coordinates);
            swapped[0] = coordinates[1];
            swapped[1] = coordinates[0];
            check(layout_register_at(layout, &position, swapped) >= 0, "permute stays in the thread", layout);
        }
}

/* Three dimensions with odd repeats, one of them perhaps over warps: what stays when one goes. */
static void test_three_dimensions(void)
{
    static const int extents[][3] = {{12, 10, 24}, {6, 96, 5}, {3, 64, 20}};
    static const int order[3] = {2, 1, 0};
    for (int i = 0; i < 3; i++)
        for (int warps = 1; warps <= 12; warps += warps == 4 ? 8 : 3) {
            const struct layout *layout = layout_blocked(table, 3, extents[i], order, 4, warps);
            check_registers(layout);
            check_text(layout);
            for (int axis = 0; axis < 3; axis++) {
                const struct layout *plane = layout_remove_dimension(table, layout, axis);
                const struct layout *thin = thin_of(layout, axis);
                check(thin && layout_remove_dimension(table, thin, axis) == plane, "remove an extent of 1", thin);
                for (int lane = 0; lane < 32; lane += 7)
                    for (int reg = 0; reg < layout_registers(layout); reg++) {
                        int whole[3], part[3] = {0}, last = layout_warps(layout) - 1;
                        coordinates_of(layout, element_at(layout, reg, lane, last), whole);
                        coordinates_of(thin, broadcast_from(thin, layout, axis, reg, lane, last), part);
                        for (int d = 0; d < 3; d++)
                            check(part[d] == (d == axis ? 0 : whole[d]), "broadcast register", layout);
                    }
                for (int reg = 0; reg < layout_registers(plane); reg++) {
                    int whole[3], part[2];
                    int from = layout_reduction_register(layout, plane, axis, reg);
                    coordinates_of(layout, element_at(layout, from, 5, 0), whole);
                    coordinates_of(plane, element_at(plane, reg, 5, 0), part);
                    check(part[0] == whole[axis == 0 ? 1 : 0] && part[1] == whole[axis == 2 ? 1 : 2], "row register",
                          layout);
                }
            }
            int turn[3] = {2, 0, 1}, back[3] = {1, 2, 0};
            const struct layout *turned = layout_permute(table, layout, turn);
            check(layout_permute(table, turned, back) == layout, "permute there and back", layout);
            check_registers(turned);
            const struct layout *extended = layout_extend(table, layout,
                                                          (int[]){extents[i][0], 2 * extents[i][1], extents[i][2]});
            if (layout->warp_dimension == 1) {
                check(!extended, "a repeat over warps is in the way", layout);
                continue;
            }
            check(extended && layout_shrink(table, extended, 1, 2) == (layout->repeat[1] == 1 ? layout : NULL),
                  "extend and shrink: the halves of an odd repeat are not aligned", layout);
            const struct layout *thirds = layout_extend(table, layout,
                                                        (int[]){extents[i][0], 3 * extents[i][1], extents[i][2]});
            check(thirds && layout_shrink(table, thirds, 1, 3) == layout, "extend and shrink to thirds", layout);
            for (int d = 0; d < 3; d++) {
                const struct layout *halves = layout_with_parts(table, layout, d, 2);
                bool room = layout->repeat[d] == 1 && layout->atom_bits[d] > 0 && layout->bits[LAYOUT_REGISTER] > 0;
                check(!halves || room, "halves in registers that are not there", layout);
                check(!halves || (layout_shrink(table, halves, d, 2) && layout_size(halves) == layout_size(layout) &&
                                  layout_registers(halves) == layout_registers(layout)),
                      "halves in registers", layout);
                check(halves || !layout_shrink(table, layout, d, 2), "halves that are in registers already", layout);
            }
        }
}

/* Shared memory under names in another order: each element stays where it is, in text as well. */
static void test_rename(void)
{
    static const int extents[][3] = {{3, 48, 96}, {1, 24, 48}, {3, 40, 16}, {5, 16, 48}, {2, 32, 64}};
    static const int orders[][2][3] = {{{0, 2, 1}, {0, 2, 1}}, {{2, 0, 1}, {1, 2, 0}}};
    for (size_t i = 0; i < sizeof extents / sizeof *extents; i++)
        for (int k = 0; k < 2; k++) {
            const int *order = orders[k][0], *extent = extents[i];
            const struct layout *layout = layout_linear(table, 3, extent, (int[]){2, 1, 0});
            const struct layout *named = layout_rename(table, layout, order);
            check(named && layout_rename(table, named, orders[k][1]) == layout, "rename there and back", layout);
            for (int at = 0; at < layout_size(layout); at++) {
                int from[LAYOUT_RANK], to[LAYOUT_RANK];
                struct layout_position position = {.part = {[LAYOUT_OFFSET] = at}}, found;
                layout_coordinates(layout, &position, from);
                layout_coordinates(named, &position, to);
                layout_find(named, to, &found);
                check(found.part[LAYOUT_OFFSET] == at, "found where it is", named);
                for (int d = 0; d < 3; d++)
                    check(to[d] == from[order[d]], "an element stays where it is", named);
            }
            const char *text = layout_text(arena, named), *error = NULL;
            check(layout_parse(table, &text, &error) == named, "a renamed layout as text", named);
        }
}

static void test_reshape(void)
{
    static const int shapes[][2][4] = {
        {{96, 64}, {3, 32, 64, 0}}, {{96, 64}, {6144, 0}}, {{96, 64}, {6, 16, 8, 8}},
        {{32, 16}, {16, 32}},       {{192, 8}, {12, 128}}, {{64, 3}, {32, 2, 3}},
    };
    for (int i = 0; i < (int)(sizeof shapes / sizeof *shapes); i++)
        for (int trial = 0; trial < 10; trial++) {
            const int *extent = shapes[i][0], *to = shapes[i][1];
            int bits0 = __builtin_ctz((unsigned)extent[0]), bits1 = __builtin_ctz((unsigned)extent[1]), rank = 0;
            const struct layout *layout = random_layout(bits0, bits1, extent[0] >> bits0, extent[1] >> bits1, 2,
                                                        trial % 2 ? 0 : -1, false);
            while (rank < 4 && to[rank])
                rank++;
            const struct layout *result = layout_reshape(table, layout, rank, to);
            check(result, "reshape", layout);
            if (!result)
                continue;
            check(layout_reshape(table, result, 2, extent) == layout, "reshape back", layout);
            for (int warp = 0; warp < layout_warps(layout); warp++)
                for (int lane = 0; lane < 32; lane++)
                    for (int reg = 0; reg < layout_registers(layout); reg++) {
                        struct layout_position position = {{reg, lane, warp, 0, 0}};
                        int coordinates[LAYOUT_RANK];
                        coordinates_of(result, element_at(layout, reg, lane, warp), coordinates);
                        check(layout_register_at(result, &position, coordinates) >= 0, "reshape stays in the thread",
                              layout);
                    }
        }
    const struct layout *odd = layout_blocked(table, 2, (int[]){2, 3}, (int[]){1, 0}, 1, 1);
    check(!layout_reshape(table, odd, 1, (int[]){6}), "an odd factor inside", odd);
}

static void test_normal_form(void)
{
    /* One map, made from a small atom repeated and from a large one, is one layout. */
    const struct layout *a = layout_wgmma_accumulator(table, (int[]){64, 96}, 4);
    struct layout_spec spec = {
        .rank = 2, .atom = {64, 8}, .repeat = {1, 12}, .repeat_in_warps = -1, .bits = {2, 5, 2, 0, 0}};
    int reg[2][2] = {{0, 1}, {8, 0}}, lane[5][2] = {{0, 2}, {0, 4}, {1, 0}, {2, 0}, {4, 0}};
    for (int i = 0; i < 5; i++)
        for (int d = 0; d < 2; d++) {
            if (i < 2)
                spec.column[LAYOUT_REGISTER][i][d] = reg[i][d];
            spec.column[LAYOUT_LANE][i][d] = lane[i][d];
        }
    spec.column[LAYOUT_WARP][0][0] = 16;
    spec.column[LAYOUT_WARP][1][0] = 32;
    check(layout_create(table, &spec) == a, "normal form", a);
    check(a && a->repeat[1] == 3 && a->atom_bits[1] == 5, "96 is 32 times 3", a);
    spec.bits[LAYOUT_REGISTER] = 1;
    check(!layout_create(table, &spec), "a layout must be onto", NULL);
    for (int repeat = 1; repeat <= 12; repeat++)
        for (int other = 1; other <= 12; other += 3) {
            const struct layout *layout = random_layout(3, 4, repeat, other, 1, -1, false);
            check_registers(layout);
            check_text(layout);
        }
    static const char *const wrong[] = {"",
                                        "#",
                                        "#(",
                                        "#(64",
                                        "#(64)",
                                        "#(3; register a0)",
                                        "#(8; register a0:3)",
                                        "#(8; lane a0:2; lane .)",
                                        "#(8; register b0)",
                                        "#(8; register a0:2 a1)",
                                        "#(8; offset a0:2; lane .)",
                                        "#(8; what a0)",
                                        "#(99999999999; lane .)",
                                        "#(2*3@warp, 2*3@warp; lane a0 b0)",
                                        "#(8; register a2:1)",
                                        "#(8; register a0:2; lane .; copies 1048576)",
                                        "#(8*4096@warp; register a0:2; lane .)",
                                        "#(3*2097152; lane .)"};
    for (int i = 0; i < (int)(sizeof wrong / sizeof *wrong); i++) {
        const char *cursor = wrong[i], *error;
        check(!layout_parse(table, &cursor, &error) && error, wrong[i], NULL);
    }
}

int main(void)
{
    arena = arena_create();
    table = layout_table_create(arena);
    test_normal_form();
    test_fragments();
    test_shared();
    test_transposes();
    for (int trial = 0; trial < 60; trial++) {
        int r0 = 1 + random_below(6), in_warps = trial % 3 == 0 ? 0 : -1;
        test_dimensions(random_layout(1 + random_below(4), 1 + random_below(5), r0, 1 + random_below(6),
                                      random_below(3), in_warps, trial % 2));
    }
    test_three_dimensions();
    test_rename();
    test_reshape();
    test_random_conversions();
    printf("layout: %d checks, %d failures\n", checks, failures);
    arena_destroy(arena);
    return failures != 0;
}
