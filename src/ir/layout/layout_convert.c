/* How to get a tile from one register layout to another: nothing, other register numbers, shuffles within a warp, or
 * shared memory (layout_swizzle.c); the cheapest that is right.
 *
 * Shuffles.  Let result register i of lane l be source register C i ^ D l of lane A l ^ B i.  In round j a lane must
 * ask one lane for one value, and each lane can give one value a round.  So result register j ^ F l is fetched in
 * round j, with F chosen such that E = A ^ B F is one-to-one but for lanes that want the same element.  Then lane s =
 * E l ^ B j gives register C j ^ (C F ^ D) l = (C ^ G B) j ^ G s with G = (C F ^ D) E^-1.  XORing register numbers
 * with G s before and with F l after are the conditional swaps; the shuffle between them has constant register
 * numbers.  (After the factorisation used for layout conversions in "Linear Layouts", Zhou et al. 2025.) */
#include <string.h>

#include "base/plant.h"
#include "ir/layout/layout_internal.h"

/* Source positions for each bit of a result position, packed. */
struct bit_map {
    uint64_t reg[LAYOUT_BITS], lane[5], warp[6];
    bool inside_warp;
};

static uint64_t source_of(const struct layout *from, const struct f2_basis *basis, uint32_t column, uint64_t same)
{
    uint64_t way;
    if (!f2_solve(basis, column ^ layout_apply(from, same), &way))
        die("layouts of different shapes are converted");
    return same ^ way;
}

static void map_bits(const struct layout *from, const struct layout *to, struct bit_map *map)
{
    struct f2_basis basis;
    uint64_t below_warp = (UINT64_C(1) << PACKED_WARP) - 1;
    layout_basis(from, &basis);
    memset(map, 0, sizeof *map);
    map->inside_warp = from->warp_dimension == to->warp_dimension;
    for (int bit = 0; bit < to->bits[LAYOUT_REGISTER]; bit++) {
        map->reg[bit] = source_of(from, &basis, to->column[LAYOUT_REGISTER][bit], 0);
        map->inside_warp &= map->reg[bit] <= below_warp;
    }
    for (int bit = 0; bit < 5; bit++) {
        uint64_t same = bit < from->bits[LAYOUT_LANE] ? packed_bit(LAYOUT_LANE, bit) : 0;
        uint32_t column = bit < to->bits[LAYOUT_LANE] ? to->column[LAYOUT_LANE][bit] : 0;
        map->lane[bit] = source_of(from, &basis, column, same);
        map->inside_warp &= map->lane[bit] <= below_warp;
        if (!same)
            map->lane[bit] |= packed_bit(LAYOUT_LANE, bit); /* the source has no such bit: stay */
    }
    for (int input = LAYOUT_WARP; input <= LAYOUT_BLOCK; input++)
        for (int bit = 0; bit < to->bits[input] || bit < from->bits[input]; bit++) {
            uint64_t same = bit < from->bits[input] ? packed_bit(input, bit) : 0;
            uint32_t column = bit < to->bits[input] ? to->column[input][bit] : 0;
            map->inside_warp &= source_of(from, &basis, column, same) == same;
        }
}

static int atom_registers(const struct layout *layout) { return 1 << layout->bits[LAYOUT_REGISTER]; }

/* XOR of the parts of the columns that the bits of `set` name. */
static uint32_t gather_part(const uint64_t *columns, int count, uint32_t set, enum layout_input input)
{
    uint32_t result = 0;
    for (int bit = 0; bit < count; bit++)
        if (set >> bit & 1)
            result ^= packed_part(columns[bit], (int)input);
    return result;
}

static bool lanes_stay(const struct layout *to, const struct bit_map *map)
{
    for (int bit = 0; bit < to->bits[LAYOUT_REGISTER]; bit++)
        if (packed_part(map->reg[bit], LAYOUT_LANE))
            return false;
    for (int bit = 0; bit < 5; bit++)
        if (map->lane[bit] != packed_bit(LAYOUT_LANE, bit))
            return false;
    return true;
}

static void plan_registers(struct arena *arena, const struct layout *from, const struct layout *to,
                           const struct bit_map *map, struct layout_conversion *plan)
{
    int count = layout_registers(to), atom = atom_registers(to);
    bool identity = count == layout_registers(from);
    plan->source_register = ARENA_ARRAY(arena, int, count);
    for (int i = 0; i < count; i++) {
        int source = (int)gather_part(map->reg, to->bits[LAYOUT_REGISTER], (uint32_t)(i % atom), LAYOUT_REGISTER);
        plan->source_register[i] = source + i / atom * atom_registers(from);
        identity &= plan->source_register[i] == i;
    }
    plan->kind = identity ? CONVERT_NOTHING : CONVERT_REGISTERS;
    plan->cost = identity ? 0 : 0.01;
}

/* Chooses F (fetch[k] for lane bit k) and E (lane_map).  False: shuffles of this form cannot do it. */
static bool choose_fetch(const struct layout *to, const struct bit_map *map, uint32_t *fetch, uint32_t *lane_map)
{
    struct f2_basis span = {0};
    int registers = to->bits[LAYOUT_REGISTER];
    uint32_t late = 0;
    for (int k = 0; k < 5; k++) {
        lane_map[k] = packed_part(map->lane[k], LAYOUT_LANE);
        fetch[k] = 0;
        if (!f2_insert(&span, lane_map[k], UINT64_C(1) << k))
            late |= 1u << k;
    }
    for (int k = 0; k < 5; k++) {
        if (!(late >> k & 1))
            continue;
        int bit = 0;
        while (bit < registers) {
            uint32_t value = lane_map[k] ^ packed_part(map->reg[bit], LAYOUT_LANE);
            if (f2_insert(&span, value, UINT64_C(1) << k)) {
                fetch[k] = 1u << bit;
                lane_map[k] = value;
                break;
            }
            bit++;
        }
        if (bit < registers)
            continue;
        /* Lanes that want the same: the combination that vanishes in E must vanish in the register wanted, too. */
        uint64_t same = 0;
        uint32_t wanted = packed_part(map->lane[k], LAYOUT_REGISTER);
        if (!f2_solve(&span, lane_map[k], &same))
            return false;
        for (int other = 0; other < 5; other++)
            if (same >> other & 1)
                wanted ^= packed_part(map->lane[other], LAYOUT_REGISTER) ^
                          gather_part(map->reg, registers, fetch[other], LAYOUT_REGISTER);
        if (wanted)
            return false;
    }
    return true;
}

static void add_swap(struct layout_swap *swaps, int *count, uint32_t lane_mask, uint32_t xor)
{
    if (!xor)
        return;
    for (int i = 0; i < *count; i++)
        if (swaps[i].register_xor == (int)xor) {
            swaps[i].lane_mask ^= lane_mask;
            return;
        }
    swaps[(*count)++] = (struct layout_swap){lane_mask, (int)xor};
}

static bool plan_shuffles(struct arena *arena, const struct layout *from, const struct layout *to,
                          const struct bit_map *map, struct layout_conversion *plan)
{
    uint32_t fetch[5], give[5] = {0};
    struct f2_basis inverse = {0};
    int registers = to->bits[LAYOUT_REGISTER];
    if (!choose_fetch(to, map, fetch, plan->lane_map))
        return false;
    for (int k = 0; k < 5; k++)
        f2_insert(&inverse, plan->lane_map[k], UINT64_C(1) << k);
    plan->lane_map_identity = true;
    for (int k = 0; k < 5; k++) {
        /* G of source lane bit k: through E's inverse where it reaches, else free, so 0. */
        uint64_t lanes;
        uint32_t image = 1u << k;
        plan->lane_map_identity &= plan->lane_map[k] == image;
        uint64_t origin = 0;
        f2_reduce(&inverse, &image, &origin);
        lanes = origin;
        for (int l = 0; l < 5; l++)
            if (lanes >> l & 1)
                give[k] ^= packed_part(map->lane[l], LAYOUT_REGISTER) ^
                           gather_part(map->reg, registers, fetch[l], LAYOUT_REGISTER);
    }
    for (int k = 0; k < 5; k++) {
        add_swap(plan->before, &plan->before_count, 1u << k, give[k]);
        add_swap(plan->after, &plan->after_count, 1u << k, fetch[k]);
    }
    plan->from_atom_registers = atom_registers(from);
    plan->to_atom_registers = atom_registers(to);
    plan->repeats = layout_repeats(to);
    plan->shuffle = ARENA_ARRAY(arena, struct layout_shuffle, plan->to_atom_registers);
    for (int j = 0; j < plan->to_atom_registers; j++) {
        uint32_t lane = gather_part(map->reg, registers, (uint32_t)j, LAYOUT_LANE);
        uint32_t reg = gather_part(map->reg, registers, (uint32_t)j, LAYOUT_REGISTER);
        for (int k = 0; k < 5; k++)
            if (lane >> k & 1 && !PLANTED(conversion_gives_wrong_register))
                reg ^= give[k];
        plan->shuffle[j] = (struct layout_shuffle){(int)reg, lane};
        plan->shuffles += lane || !plan->lane_map_identity;
    }
    plan->shuffles *= plan->repeats;
    plan->selects = plan->repeats *
                    (plan->before_count * plan->from_atom_registers + plan->after_count * plan->to_atom_registers);
    plan->kind = CONVERT_SHUFFLES;
    plan->cost = 2.0 * plan->shuffles + plan->selects;
    return true;
}

const struct layout_conversion *layout_conversion_plan(struct layout_table *table, struct arena *arena,
                                                       const struct layout *from, const struct layout *to, int bytes,
                                                       int64_t scratch_limit)
{
    struct layout_conversion *plan = ARENA_NEW(arena, struct layout_conversion);
    struct layout_conversion *shared;
    struct bit_map map;
    (void)table;
    if (from->rank != to->rank || from->shared || to->shared || layout_warps(from) != layout_warps(to))
        die("layouts of different shapes or numbers of warps are converted");
    for (int d = 0; d < from->rank; d++)
        if (from->extent[d] != to->extent[d])
            die("layouts of different extents are converted");
    map_bits(from, to, &map);
    if (map.inside_warp && lanes_stay(to, &map)) {
        plan_registers(arena, from, to, &map, plan);
        return plan;
    }
    shared = ARENA_NEW(arena, struct layout_conversion);
    conversion_through_shared(arena, from, to, bytes, scratch_limit, shared);
    if (map.inside_warp && plan_shuffles(arena, from, to, &map, plan) && plan->cost <= shared->cost)
        return plan;
    return shared;
}
