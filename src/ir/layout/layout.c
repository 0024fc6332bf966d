/* The table of layouts, their normal form, and questions about positions and coordinates. */
#include <string.h>

#include "base/plant.h"
#include "ir/layout/layout_internal.h"

const char *const layout_input_name[LAYOUT_INPUTS] = {"register", "lane", "warp", "block", "offset"};

struct layout_table {
    struct arena *arena;
    const struct layout *bucket[256];
};

struct layout_table *layout_table_create(struct arena *arena)
{
    struct layout_table *table = ARENA_NEW(arena, struct layout_table);
    table->arena = arena;
    return table;
}

void f2_reduce(const struct f2_basis *basis, uint32_t *vector, uint64_t *origin)
{
    for (int i = 0; i < basis->count; i++)
        if (*vector >> log2_floor(basis->vector[i]) & 1) {
            *vector ^= basis->vector[i];
            *origin ^= basis->origin[i];
        }
}

bool f2_insert(struct f2_basis *basis, uint32_t vector, uint64_t origin)
{
    f2_reduce(basis, &vector, &origin);
    if (!vector)
        return false;
    int at = basis->count++; /* highest bits descend, so one sweep reduces */
    while (at > 0 && basis->vector[at - 1] < vector) {
        basis->vector[at] = basis->vector[at - 1];
        basis->origin[at] = basis->origin[at - 1];
        at--;
    }
    basis->vector[at] = vector;
    basis->origin[at] = origin;
    return true;
}

bool f2_solve(const struct f2_basis *basis, uint32_t vector, uint64_t *origin)
{
    *origin = 0;
    f2_reduce(basis, &vector, origin);
    return vector == 0;
}

/* Zassenhaus by origins: a combination of b that vanishes modulo a names a vector of both. */
int f2_intersect(const uint32_t *a, int a_count, const uint32_t *b, int b_count, uint32_t *result)
{
    struct f2_basis basis = {0}, found = {0};
    int count = 0;
    for (int i = 0; i < a_count; i++)
        f2_insert(&basis, a[i], 0);
    for (int i = 0; i < b_count; i++) {
        uint32_t vector = b[i];
        uint64_t origin = UINT64_C(1) << i;
        f2_reduce(&basis, &vector, &origin);
        if (vector) {
            f2_insert(&basis, b[i], UINT64_C(1) << i);
            continue;
        }
        uint32_t common = 0;
        for (int k = 0; k <= i; k++)
            if (origin >> k & 1)
                common ^= b[k];
        if (f2_insert(&found, common, 0))
            result[count++] = common;
    }
    return count;
}

static bool same_layout(const struct layout *a, const struct layout *b)
{
    if (a->rank != b->rank || a->shared != b->shared || a->warp_groups != b->warp_groups ||
        a->warp_dimension != b->warp_dimension || memcmp(a->bits, b->bits, sizeof a->bits) != 0)
        return false;
    for (int d = 0; d < a->rank; d++)
        if (a->extent[d] != b->extent[d] || a->repeat_place[d] != b->repeat_place[d])
            return false;
    for (int input = 0; input < LAYOUT_INPUTS; input++)
        for (int bit = 0; bit < a->bits[input]; bit++)
            if (a->column[input][bit] != b->column[input][bit])
                return false;
    return true;
}

bool layout_equal(const struct layout *a, const struct layout *b) { return a == b || (a && b && same_layout(a, b)); }

static const struct layout *intern_layout(struct layout_table *table, struct layout *layout)
{
    uint32_t hash = 2166136261u;
#define MIX(value) (hash = (hash ^ (uint32_t)(value)) * 16777619u)
    MIX(layout->rank);
    MIX(layout->warp_groups + 64 * layout->warp_dimension);
    for (int d = 0; d < layout->rank; d++)
        MIX(layout->extent[d]);
    for (int input = 0; input < LAYOUT_INPUTS; input++)
        for (int bit = 0; bit < layout->bits[input]; bit++)
            MIX(layout->column[input][bit] * 8 + (uint32_t)input);
#undef MIX
    layout->hash = hash;
    const struct layout **bucket = &table->bucket[(hash ^ hash >> 15) & 255];
    for (const struct layout *old = *bucket; old; old = old->next)
        if (old->hash == hash && same_layout(old, layout))
            return old;
    layout->next = *bucket;
    *bucket = arena_copy(table->arena, layout, sizeof *layout);
    return *bucket;
}

/* Moves the even factors of repeats into the atom: their columns follow those of the spec. */
static bool add_even_factors(const struct layout_spec *spec, struct layout *layout, const int *even, int even_copies)
{
    enum layout_input home = layout->shared ? LAYOUT_OFFSET : LAYOUT_REGISTER;
    for (int d = spec->rank - 1; d >= 0; d--) {
        enum layout_input input = d == spec->repeat_in_warps ? LAYOUT_WARP : home;
        for (int k = 0; k < even[d]; k++) {
            int bit = layout->bits[input]++;
            if (bit >= packed_width((int)input))
                return false;
            layout->column[input][bit] = UINT32_C(1) << (layout->shift[d] + log2_floor((uint64_t)spec->atom[d]) + k);
        }
    }
    for (int k = 0; k < even_copies; k++) {
        int bit = layout->bits[LAYOUT_WARP]++;
        if (bit >= packed_width(LAYOUT_WARP))
            return false;
        layout->column[LAYOUT_WARP][bit] = 0;
    }
    return true;
}

static bool is_onto(const struct layout *layout)
{
    struct f2_basis basis = {0};
    for (int bit = 0; bit < layout->bits[LAYOUT_REGISTER]; bit++)
        if (!f2_insert(&basis, layout->column[LAYOUT_REGISTER][bit], 0))
            return false;
    for (int bit = 0; bit < layout->bits[LAYOUT_OFFSET]; bit++)
        if (!f2_insert(&basis, layout->column[LAYOUT_OFFSET][bit], 0))
            return false;
    for (int input = LAYOUT_LANE; input <= LAYOUT_BLOCK; input++)
        for (int bit = 0; bit < layout->bits[input]; bit++)
            f2_insert(&basis, layout->column[input][bit], 0);
    return basis.count == layout->coordinate_bits;
}

/* Extents and where each dimension's bits lie in a column; counts the even factors. */
static bool shape_layout(const struct layout_spec *spec, struct layout *layout, int *even, int *even_copies)
{
    int total = 0, copies = spec->warp_copies > 1 ? spec->warp_copies : 1;
    int64_t size = 1;
    layout->rank = spec->rank;
    layout->shared = spec->shared;
    for (int d = spec->rank - 1; d >= 0; d--) {
        if (!is_power_of_two(spec->atom[d]) || spec->repeat[d] < 1)
            return false;
        size *= (int64_t)spec->atom[d] * spec->repeat[d];
        if (size > INT32_MAX)
            return false;
        even[d] = __builtin_ctz((unsigned)spec->repeat[d]);
        layout->repeat[d] = spec->repeat[d] >> even[d];
        layout->extent[d] = spec->atom[d] * spec->repeat[d];
        layout->atom_bits[d] = (uint8_t)(log2_floor((uint64_t)spec->atom[d]) + even[d]);
        layout->shift[d] = (uint8_t)total;
        total += layout->atom_bits[d];
    }
    layout->coordinate_bits = (uint8_t)total;
    *even_copies = __builtin_ctz((unsigned)copies);
    layout->warp_groups = copies >> *even_copies;
    layout->warp_dimension = -1;
    if (spec->repeat_in_warps >= 0) {
        if (copies > 1 || spec->shared || spec->repeat_in_warps >= spec->rank)
            return false;
        layout->warp_groups = layout->repeat[spec->repeat_in_warps];
        if (layout->warp_groups > 1)
            layout->warp_dimension = spec->repeat_in_warps;
    }
    return true;
}

/* The normal form of the spec's places. */
static void order_repeats(const struct layout_spec *spec, struct layout *layout)
{
    for (int d = 0; d < layout->rank; d++)
        for (int e = 0; e < layout->rank; e++) {
            int by = spec->shared ? spec->repeat_place[e] - spec->repeat_place[d] : 0;
            if (layout->repeat[d] > 1 && layout->repeat[e] > 1 && (by < 0 || (by == 0 && e < d)))
                layout->repeat_place[d]++;
        }
}

const struct layout *layout_create(struct layout_table *table, const struct layout_spec *spec)
{
    struct layout layout = {0};
    int even[LAYOUT_RANK] = {0}, even_copies;
    if (spec->rank < 0 || spec->rank > LAYOUT_RANK || !shape_layout(spec, &layout, even, &even_copies))
        return NULL;
    order_repeats(spec, &layout);
    for (int input = 0; input < LAYOUT_INPUTS; input++) {
        if (spec->bits[input] < 0 || spec->bits[input] > packed_width(input) ||
            (spec->bits[input] > 0 && (input == LAYOUT_OFFSET) != spec->shared))
            return NULL;
        layout.bits[input] = (uint8_t)spec->bits[input];
        for (int bit = 0; bit < spec->bits[input]; bit++)
            for (int d = 0; d < spec->rank; d++) {
                int value = spec->column[input][bit][d];
                if (value < 0 || value >= spec->atom[d])
                    return NULL;
                layout.column[input][bit] ^= (uint32_t)value << layout.shift[d];
            }
    }
    if (!add_even_factors(spec, &layout, even, even_copies) || !is_onto(&layout))
        return NULL;
    return intern_layout(table, &layout);
}

void layout_to_spec(const struct layout *layout, struct layout_spec *spec)
{
    memset(spec, 0, sizeof *spec);
    spec->rank = layout->rank;
    spec->shared = layout->shared;
    spec->repeat_in_warps = layout->warp_dimension;
    spec->warp_copies = layout->warp_dimension < 0 ? layout->warp_groups : 1;
    for (int d = 0; d < layout->rank; d++) {
        spec->atom[d] = 1 << layout->atom_bits[d];
        spec->repeat[d] = layout->repeat[d];
        spec->repeat_place[d] = layout_repeats_in_order(layout) ? 0 : layout->repeat_place[d];
    }
    for (int input = 0; input < LAYOUT_INPUTS; input++) {
        spec->bits[input] = layout->bits[input];
        for (int bit = 0; bit < layout->bits[input]; bit++)
            for (int d = 0; d < layout->rank; d++)
                spec->column[input][bit][d] = (int)layout_part_of(layout, layout->column[input][bit], d);
    }
}

bool layout_is_shared(const struct layout *layout) { return layout->shared; }

int layout_repeat_stride(const struct layout *layout, int dimension)
{
    int stride = 1;
    if (dimension == layout->warp_dimension)
        return 0;
    for (int d = 0; d < layout->rank; d++)
        if (d != layout->warp_dimension && layout->repeat_place[d] > layout->repeat_place[dimension])
            stride *= layout->repeat[d];
    return stride;
}

bool layout_repeats_in_order(const struct layout *layout)
{
    int place = 0;
    for (int d = 0; d < layout->rank; d++)
        if (layout->repeat[d] > 1 && layout->repeat_place[d] != place++)
            return false;
    return true;
}

int layout_repeats(const struct layout *layout)
{
    int product = 1;
    for (int d = 0; d < layout->rank; d++)
        if (d != layout->warp_dimension)
            product *= layout->repeat[d];
    return product;
}

int layout_registers(const struct layout *layout)
{
    return layout->shared ? 0 : layout_repeats(layout) << layout->bits[LAYOUT_REGISTER];
}

int layout_warps(const struct layout *layout) { return layout->warp_groups << layout->bits[LAYOUT_WARP]; }

int64_t layout_size(const struct layout *layout)
{
    int64_t size = 1;
    for (int d = 0; d < layout->rank; d++)
        size *= layout->extent[d];
    return size;
}

uint32_t layout_apply(const struct layout *layout, uint64_t packed)
{
    uint32_t result = 0;
    for (int input = 0; input < LAYOUT_INPUTS; input++) {
        uint32_t part = packed_part(packed, input);
        for (int bit = 0; bit < layout->bits[input]; bit++)
            if (part >> bit & 1)
                result ^= layout->column[input][bit];
    }
    return result;
}

void layout_basis(const struct layout *layout, struct f2_basis *basis)
{
    memset(basis, 0, sizeof *basis);
    for (int input = 0; input < LAYOUT_INPUTS; input++)
        for (int bit = 0; bit < layout->bits[input]; bit++)
            f2_insert(basis, layout->column[input][bit], packed_bit(input, bit));
}

void layout_coordinates(const struct layout *layout, const struct layout_position *position, int *coordinates)
{
    enum layout_input home = layout->shared ? LAYOUT_OFFSET : LAYOUT_REGISTER;
    uint64_t packed = 0;
    for (int input = 0; input < LAYOUT_INPUTS; input++)
        packed |= ((uint64_t)position->part[input] & ((UINT64_C(1) << layout->bits[input]) - 1)) << packed_shift(input);
    uint32_t atom = layout_apply(layout, packed);
    int repeat = position->part[home] >> layout->bits[home];
    int group = position->part[LAYOUT_WARP] >> layout->bits[LAYOUT_WARP];
    for (int d = 0; d < layout->rank; d++) {
        int stride = layout_repeat_stride(layout, d);
        int index = stride ? (repeat + PLANTED(layout_repeat_off_by_one)) / stride % layout->repeat[d] : group;
        coordinates[d] = (int)layout_part_of(layout, atom, d) + (index << layout->atom_bits[d]);
    }
}

/* Atom part of coordinates as one column; the repeats' row-major index and the group of warps. */
static uint32_t split_coordinates(const struct layout *layout, const int *coordinates, int *repeat, int *group)
{
    uint32_t atom = 0;
    *repeat = *group = 0;
    for (int d = 0; d < layout->rank; d++) {
        int stride = layout_repeat_stride(layout, d), index = coordinates[d] >> layout->atom_bits[d];
        atom |= ((uint32_t)coordinates[d] & ((UINT32_C(1) << layout->atom_bits[d]) - 1)) << layout->shift[d];
        if (stride)
            *repeat += index * stride;
        else
            *group = index;
    }
    return atom;
}

void layout_find(const struct layout *layout, const int *coordinates, struct layout_position *position)
{
    struct f2_basis basis;
    uint64_t packed;
    int repeat, group;
    layout_basis(layout, &basis);
    if (!f2_solve(&basis, split_coordinates(layout, coordinates, &repeat, &group), &packed))
        die("a layout that is not onto");
    for (int input = 0; input < LAYOUT_INPUTS; input++)
        position->part[input] = (int)packed_part(packed, input);
    enum layout_input home = layout->shared ? LAYOUT_OFFSET : LAYOUT_REGISTER;
    position->part[home] += repeat << layout->bits[home];
    position->part[LAYOUT_WARP] += group << layout->bits[LAYOUT_WARP];
}

int layout_register_at(const struct layout *layout, const struct layout_position *thread, const int *coordinates)
{
    struct f2_basis basis = {0};
    uint64_t packed = 0, found;
    int repeat, group;
    uint32_t atom = split_coordinates(layout, coordinates, &repeat, &group);
    for (int input = LAYOUT_LANE; input <= LAYOUT_BLOCK; input++)
        packed |= ((uint64_t)thread->part[input] & ((UINT64_C(1) << layout->bits[input]) - 1)) << packed_shift(input);
    if (layout->warp_dimension >= 0 && group != thread->part[LAYOUT_WARP] >> layout->bits[LAYOUT_WARP])
        return -1;
    for (int bit = 0; bit < layout->bits[LAYOUT_REGISTER]; bit++)
        f2_insert(&basis, layout->column[LAYOUT_REGISTER][bit], packed_bit(LAYOUT_REGISTER, bit));
    if (!f2_solve(&basis, atom ^ layout_apply(layout, packed), &found))
        return -1;
    return (int)packed_part(found, LAYOUT_REGISTER) + (repeat << layout->bits[LAYOUT_REGISTER]);
}

uint32_t layout_redundant_bits(const struct layout *layout, enum layout_input wanted)
{
    struct f2_basis basis = {0};
    uint32_t redundant = 0;
    for (int input = 0; input < LAYOUT_INPUTS; input++)
        for (int bit = 0; bit < layout->bits[input]; bit++)
            if (!f2_insert(&basis, layout->column[input][bit], 0) && input == (int)wanted &&
                !PLANTED(layout_copies_not_seen))
                redundant |= UINT32_C(1) << bit;
    return redundant;
}

bool layout_is_held_once(const struct layout *layout)
{
    return !layout_redundant_bits(layout, LAYOUT_LANE) && !layout_redundant_bits(layout, LAYOUT_WARP) &&
           (layout->warp_groups == 1 || layout->warp_dimension >= 0);
}
