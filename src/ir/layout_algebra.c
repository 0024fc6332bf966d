/* Maps between positions; products and left quotients; removing, adding, permuting and reshaping dimensions. */
#include <string.h>

#include "base/plant.h"
#include "ir/layout_internal.h"

static void store_packed(struct layout_map *map, int input, int bit, uint64_t packed)
{
    for (int output = 0; output < LAYOUT_INPUTS; output++)
        map->column[input][bit][output] = packed_part(packed, output);
}

static uint64_t load_packed(const struct layout_map *map, int input, int bit)
{
    uint64_t packed = 0;
    for (int output = 0; output < LAYOUT_INPUTS; output++)
        packed |= (uint64_t)map->column[input][bit][output] << packed_shift(output);
    return packed;
}

void layout_divide_maps(const struct layout *of, const struct layout *in, struct layout_map *map)
{
    struct f2_basis basis;
    layout_basis(in, &basis);
    memset(map, 0, sizeof *map);
    memcpy(map->in_bits, of->bits, sizeof map->in_bits);
    memcpy(map->out_bits, in->bits, sizeof map->out_bits);
    for (int input = 0; input < LAYOUT_INPUTS; input++)
        for (int bit = 0; bit < of->bits[input]; bit++) {
            /* Start from the same place, and go only where the element is not. */
            uint64_t same = 0, way;
            if (input != LAYOUT_REGISTER && input != LAYOUT_OFFSET && bit < in->bits[input])
                same = packed_bit(input, bit);
            if (!f2_solve(&basis, of->column[input][bit] ^ layout_apply(in, same), &way))
                die("layouts of different shapes are divided");
            store_packed(map, input, bit, same ^ way);
        }
}

void layout_map_apply(const struct layout_map *map, const struct layout_position *in, struct layout_position *out)
{
    uint64_t packed = 0;
    for (int input = 0; input < LAYOUT_INPUTS; input++)
        for (int bit = 0; bit < map->in_bits[input]; bit++)
            if (in->part[input] >> bit & 1)
                packed ^= load_packed(map, input, bit);
    for (int output = 0; output < LAYOUT_INPUTS; output++)
        out->part[output] = (int)packed_part(packed, output);
}

void layout_map_compose(const struct layout_map *second, const struct layout_map *first, struct layout_map *result)
{
    struct layout_map composed = { 0 };
    memcpy(composed.in_bits, first->in_bits, sizeof composed.in_bits);
    memcpy(composed.out_bits, second->out_bits, sizeof composed.out_bits);
    for (int input = 0; input < LAYOUT_INPUTS; input++)
        for (int bit = 0; bit < first->in_bits[input]; bit++) {
            struct layout_position middle, end;
            for (int output = 0; output < LAYOUT_INPUTS; output++)
                middle.part[output] = (int)first->column[input][bit][output];
            layout_map_apply(PLANTED(layout_composed_in_wrong_order) ? first : second, &middle, &end);
            for (int output = 0; output < LAYOUT_INPUTS; output++)
                composed.column[input][bit][output] = (uint32_t)end.part[output];
        }
    *result = composed;
}

/* Gauss-Jordan on packed positions; at most 64 columns. */
bool layout_map_invert(const struct layout_map *map, struct layout_map *inverse)
{
    uint64_t value[64], origin[64];
    int count = 0, outputs = 0;
    struct layout_map result = { 0 };
    for (int input = 0; input < LAYOUT_INPUTS; input++) {
        outputs += map->out_bits[input];
        for (int bit = 0; bit < map->in_bits[input]; bit++) {
            value[count] = load_packed(map, input, bit);
            origin[count++] = packed_bit(input, bit);
        }
    }
    if (count != outputs)
        return false;
    memcpy(result.in_bits, map->out_bits, sizeof result.in_bits);
    memcpy(result.out_bits, map->in_bits, sizeof result.out_bits);
    int row = 0;
    for (int output = 0; output < LAYOUT_INPUTS; output++)
        for (int bit = 0; bit < map->out_bits[output]; bit++, row++) {
            uint64_t wanted = packed_bit(output, bit);
            int pivot = row;
            while (pivot < count && !(value[pivot] & wanted))
                pivot++;
            if (pivot == count)
                return false;
            uint64_t v = value[pivot], o = origin[pivot];
            value[pivot] = value[row];
            origin[pivot] = origin[row];
            value[row] = v;
            origin[row] = o;
            for (int i = 0; i < count; i++)
                if (i != row && (value[i] & wanted)) {
                    value[i] ^= v;
                    origin[i] ^= o;
                }
        }
    row = 0;
    for (int output = 0; output < LAYOUT_INPUTS; output++)
        for (int bit = 0; bit < map->out_bits[output]; bit++, row++)
            store_packed(&result, output, bit, origin[row]);
    *inverse = result;
    return true;
}

const struct layout *layout_multiply(struct layout_table *table, const struct layout *inner, const struct layout *outer)
{
    struct layout_spec a, b;
    if (inner->rank != outer->rank || inner->shared != outer->shared || inner->warp_groups > 1)
        return NULL;
    layout_to_spec(inner, &a);
    layout_to_spec(outer, &b);
    for (int input = 0; input < LAYOUT_INPUTS; input++) {
        if (a.bits[input] + b.bits[input] > packed_width(input))
            return NULL;
        for (int bit = 0; bit < b.bits[input]; bit++)
            for (int d = 0; d < a.rank; d++)
                a.column[input][a.bits[input] + bit][d] = b.column[input][bit][d] * a.atom[d];
        a.bits[input] += b.bits[input];
    }
    for (int d = 0; d < a.rank; d++) {
        if (a.repeat[d] > 1)
            return NULL;
        a.atom[d] *= b.atom[d];
        a.repeat[d] = b.repeat[d];
        a.repeat_place[d] = b.repeat_place[d];
    }
    a.repeat_in_warps = b.repeat_in_warps;
    a.warp_copies = b.warp_copies;
    return layout_create(table, &a);
}

const struct layout *layout_divide(struct layout_table *table, const struct layout *layout, const struct layout *inner)
{
    struct layout_spec whole, part;
    if (layout->rank != inner->rank || layout->shared != inner->shared || inner->warp_groups > 1)
        return NULL;
    layout_to_spec(layout, &whole);
    layout_to_spec(inner, &part);
    for (int d = 0; d < part.rank; d++)
        if (part.repeat[d] > 1 || part.atom[d] > whole.atom[d])
            return NULL;
    for (int input = 0; input < LAYOUT_INPUTS; input++) {
        int skip = part.bits[input];
        if (skip > whole.bits[input])
            return NULL;
        for (int bit = 0; bit < whole.bits[input]; bit++)
            for (int d = 0; d < part.rank; d++) {
                int value = whole.column[input][bit][d];
                if (bit < skip ? value != part.column[input][bit][d] : value % part.atom[d] != 0)
                    return NULL;
                if (bit >= skip)
                    whole.column[input][bit - skip][d] = value / part.atom[d];
            }
        whole.bits[input] -= skip;
    }
    for (int d = 0; d < part.rank; d++)
        whole.atom[d] /= part.atom[d];
    return layout_create(table, &whole);
}

/* Register bits of `layout` that stay when the dimensions of `squashed` (a set of bits) become 1: those that still
 * tell elements apart.  Returns the mask. */
static uint32_t kept_registers(const struct layout *layout, uint32_t squashed)
{
    struct f2_basis basis = { 0 };
    uint32_t kept = 0, mask = 0;
    for (int d = 0; d < layout->rank; d++)
        if (!(squashed >> d & 1))
            mask |= ((UINT32_C(1) << layout->atom_bits[d]) - 1) << layout->shift[d];
    for (int bit = 0; bit < layout->bits[LAYOUT_REGISTER]; bit++)
        if (f2_insert(&basis, layout->column[LAYOUT_REGISTER][bit] & mask, 0))
            kept |= UINT32_C(1) << bit;
    return kept;
}

static const struct layout *squash(struct layout_table *table, const struct layout *layout, uint32_t squashed,
                                   bool drop)
{
    struct layout_spec spec, result = { .repeat_in_warps = -1 };
    uint32_t kept = kept_registers(layout, squashed);
    if (layout->shared)
        return NULL;
    layout_to_spec(layout, &spec);
    memcpy(result.bits, spec.bits, sizeof result.bits);
    result.bits[LAYOUT_REGISTER] = __builtin_popcount(kept);
    result.warp_copies = spec.warp_copies;
    for (int d = 0; d < spec.rank; d++) {
        bool gone = squashed >> d & 1;
        if (gone && d == spec.repeat_in_warps)
            result.warp_copies = layout->warp_groups;
        if (gone && drop)
            continue;
        int to = result.rank++;
        result.atom[to] = gone ? 1 : spec.atom[d];
        result.repeat[to] = gone ? 1 : spec.repeat[d];
        if (gone)
            continue;
        if (d == spec.repeat_in_warps)
            result.repeat_in_warps = to;
        for (int input = 0; input < LAYOUT_INPUTS; input++)
            for (int bit = 0, next = 0; bit < spec.bits[input]; bit++)
                if (input != LAYOUT_REGISTER || (kept >> bit & 1))
                    result.column[input][next++][to] = spec.column[input][bit][d];
    }
    return layout_create(table, &result);
}

const struct layout *layout_remove_dimension(struct layout_table *table, const struct layout *layout, int dimension)
{
    return squash(table, layout, UINT32_C(1) << dimension, true);
}

const struct layout *layout_squash_dimension(struct layout_table *table, const struct layout *layout, int dimension)
{
    return squash(table, layout, UINT32_C(1) << dimension, false);
}

const struct layout *layout_broadcast_source(struct layout_table *table, const struct layout *result, const int *extent)
{
    uint32_t squashed = 0;
    for (int d = 0; d < result->rank; d++)
        if (extent[d] == 1)
            squashed |= UINT32_C(1) << d;
    return squash(table, result, squashed, false);
}

int layout_reduction_register(const struct layout *layout, const struct layout *result, int axis, int reg)
{
    uint32_t kept = kept_registers(layout, UINT32_C(1) << axis);
    int atom = 0, next = 0, repeat = reg >> result->bits[LAYOUT_REGISTER], index = 0;
    for (int bit = 0; bit < layout->bits[LAYOUT_REGISTER]; bit++)
        if (kept >> bit & 1)
            atom |= (reg >> next++ & 1) << bit;
    for (int d = 0; d < layout->rank; d++) {
        int stride = layout_repeat_stride(layout, d);
        if (d == axis || stride == 0)
            continue;
        /* Dimensions keep their order, so the digit's stride in the result is a product over those behind it. */
        int behind = 1;
        for (int e = d + 1; e < layout->rank; e++)
            if ((e != axis || PLANTED(layout_reduction_repeat_stride)) && e != layout->warp_dimension)
                behind *= layout->repeat[e];
        index += repeat / behind % layout->repeat[d] * stride;
    }
    return atom + (index << layout->bits[LAYOUT_REGISTER]);
}

const struct layout *layout_insert_dimension(struct layout_table *table, const struct layout *layout, int dimension)
{
    struct layout_spec spec, result;
    if (layout->rank == LAYOUT_RANK)
        return NULL;
    layout_to_spec(layout, &spec);
    result = spec;
    result.rank++;
    if (spec.repeat_in_warps >= dimension)
        result.repeat_in_warps++;
    for (int d = 0; d < result.rank; d++) {
        int from = d > dimension ? d - 1 : d;
        result.atom[d] = d == dimension ? 1 : spec.atom[from];
        result.repeat[d] = d == dimension ? 1 : spec.repeat[from];
        result.repeat_place[d] = d == dimension ? 0 : spec.repeat_place[from];
        for (int input = 0; input < LAYOUT_INPUTS; input++)
            for (int bit = 0; bit < spec.bits[input]; bit++)
                result.column[input][bit][d] = d == dimension ? 0 : spec.column[input][bit][from];
    }
    return layout_create(table, &result);
}

static const struct layout *permute(struct layout_table *table, const struct layout *layout, const int *order,
                                    bool keeps_order)
{
    struct layout_spec spec, result;
    layout_to_spec(layout, &spec);
    result = spec;
    for (int d = 0; d < spec.rank; d++) {
        result.atom[d] = spec.atom[order[d]];
        result.repeat[d] = spec.repeat[order[d]];
        result.repeat_place[d] = keeps_order ? layout->repeat_place[order[d]] : 0;
        if (spec.repeat_in_warps == order[d])
            result.repeat_in_warps = d;
        int from = PLANTED(layout_columns_not_permuted) ? d : order[d];
        for (int input = 0; input < LAYOUT_INPUTS; input++)
            for (int bit = 0; bit < spec.bits[input]; bit++)
                result.column[input][bit][d] = spec.column[input][bit][from];
    }
    return layout_create(table, &result);
}

const struct layout *layout_permute(struct layout_table *table, const struct layout *layout, const int *order)
{
    return permute(table, layout, order, false);
}

const struct layout *layout_rename(struct layout_table *table, const struct layout *layout, const int *order)
{
    return permute(table, layout, order, true);
}

const struct layout *layout_extend(struct layout_table *table, const struct layout *layout, const int *extent)
{
    struct layout_spec spec;
    layout_to_spec(layout, &spec);
    for (int d = 0; d < spec.rank; d++) {
        int factor = extent[d] / layout->extent[d];
        if (factor * layout->extent[d] != extent[d] || (factor > 1 && d == spec.repeat_in_warps))
            return NULL;
        spec.repeat[d] *= factor;
    }
    return layout_create(table, &spec);
}

const struct layout *layout_shrink(struct layout_table *table, const struct layout *layout, int dimension, int factor)
{
    struct layout_spec spec;
    layout_to_spec(layout, &spec);
    if (!is_power_of_two(factor) || factor > spec.atom[dimension] || spec.repeat[dimension] > 1 || layout->shared)
        return NULL;
    spec.atom[dimension] /= factor;
    int kept = 0, part = spec.atom[dimension];
    for (int input = 0; input < LAYOUT_INPUTS; input++)
        for (int bit = 0; bit < layout->bits[input]; bit++) {
            const int *column = spec.column[input][bit];
            int others = 0;
            for (int d = 0; d < spec.rank; d++)
                others |= d == dimension ? column[d] & (part - 1) : column[d];
            bool above = column[dimension] >= part;
            if (above && (input != LAYOUT_REGISTER || others))
                return NULL;
            if (input == LAYOUT_REGISTER && !above)
                memmove(spec.column[input][kept++], column, sizeof spec.column[input][bit]);
        }
    spec.bits[LAYOUT_REGISTER] = kept;
    return layout_create(table, &spec);
}

const struct layout *layout_replicated(struct layout_table *table, int rank, const int *extent, int warps)
{
    struct layout_spec spec = { .rank = rank, .repeat_in_warps = -1 };
    for (int d = 0; d < rank; d++) {
        spec.atom[d] = 1;
        spec.repeat[d] = extent[d];
    }
    spec.bits[LAYOUT_LANE] = 5;
    spec.bits[LAYOUT_WARP] = __builtin_ctz((unsigned)warps);
    spec.warp_copies = warps >> spec.bits[LAYOUT_WARP];
    return layout_create(table, &spec);
}

/* The dimension of [first, last] with an odd factor, or -1; false: one is not outermost. */
static bool outermost_odd(const int *extent, int first, int last, int *dimension)
{
    *dimension = -1;
    for (int d = first; d <= last; d++) {
        bool odd = !is_power_of_two(extent[d]);
        if (odd && *dimension >= 0)
            return false;
        if (extent[d] > 1 && *dimension < 0) {
            if (odd) {
                *dimension = d;
            } else {
                for (int e = d + 1; e <= last; e++)
                    if (!is_power_of_two(extent[e]))
                        return false;
                return true;
            }
        }
    }
    return true;
}

/* Both shapes are cut from behind into the smallest groups of equal size.  Within a group whose odd factor is
 * outermost on both sides the packed column, which is row-major, stays as it is. */
const struct layout *layout_reshape(struct layout_table *table, const struct layout *layout, int rank,
                                    const int *extent)
{
    struct layout_spec spec, result;
    int64_t size = 1;
    int from = layout->rank - 1, to = rank - 1;
    for (int d = 0; d < rank; d++)
        size *= extent[d];
    if (rank > LAYOUT_RANK || size != layout_size(layout) || !layout_repeats_in_order(layout))
        return NULL;
    layout_to_spec(layout, &spec);
    result = spec;
    result.rank = rank;
    result.repeat_in_warps = -1;
    memset(result.column, 0, sizeof result.column);
    while (from >= 0 || to >= 0) {
        int from_last = from, to_last = to, odd_from, odd_to;
        int64_t left = from >= 0 ? layout->extent[from--] : 1, right = to >= 0 ? extent[to--] : 1;
        while (left != right) {
            if (left < right ? from < 0 : to < 0)
                return NULL;
            if (left < right)
                left *= layout->extent[from--];
            else
                right *= extent[to--];
        }
        if (!outermost_odd(layout->extent, from + 1, from_last, &odd_from) ||
            !outermost_odd(extent, to + 1, to_last, &odd_to))
            return NULL;
        if (odd_from >= 0 && odd_from == spec.repeat_in_warps)
            result.repeat_in_warps = odd_to;
    }
    for (int d = 0; d < rank; d++) {
        result.atom[d] = 1 << __builtin_ctz((unsigned)extent[d]);
        result.repeat[d] = extent[d] / result.atom[d];
    }
    for (int input = 0; input < LAYOUT_INPUTS; input++)
        for (int bit = 0; bit < spec.bits[input]; bit++) {
            uint32_t column = layout->column[input][bit];
            for (int d = rank - 1; d >= 0; d--) {
                result.column[input][bit][d] = (int)(column & ((uint32_t)result.atom[d] - 1));
                column >>= __builtin_ctz((unsigned)result.atom[d]);
            }
        }
    return layout_create(table, &result);
}

/* Columns of `result` seen in the coordinates of `source`, whose extents of 1 have no bits. */
static uint32_t project(const struct layout *source, const struct layout *result, uint32_t column)
{
    uint32_t out = 0;
    for (int d = 0; d < source->rank; d++)
        if (source->extent[d] == result->extent[d])
            out |= layout_part_of(result, column, d) << source->shift[d];
    return out;
}

bool layout_broadcast_registers(const struct layout *source, const struct layout *result, int *source_register)
{
    struct f2_basis basis = { 0 };
    uint32_t map[LAYOUT_BITS];
    if (source->rank != result->rank || layout_warps(source) != layout_warps(result))
        return false;
    int dimension = result->warp_dimension;
    if (dimension >= 0 && source->extent[dimension] != result->extent[dimension])
        dimension = -1;
    if (dimension != source->warp_dimension)
        return false;
    for (int input = LAYOUT_LANE; input <= LAYOUT_BLOCK; input++)
        for (int bit = 0; bit < result->bits[input] || bit < source->bits[input]; bit++) {
            uint32_t wanted = bit < result->bits[input] ? project(source, result, result->column[input][bit]) : 0;
            if (wanted != (bit < source->bits[input] ? source->column[input][bit] : 0))
                return false;
        }
    for (int bit = 0; bit < source->bits[LAYOUT_REGISTER]; bit++)
        f2_insert(&basis, source->column[LAYOUT_REGISTER][bit], packed_bit(LAYOUT_REGISTER, bit));
    for (int bit = 0; bit < result->bits[LAYOUT_REGISTER]; bit++) {
        uint64_t origin;
        if (!f2_solve(&basis, project(source, result, result->column[LAYOUT_REGISTER][bit]), &origin))
            return false;
        map[bit] = packed_part(origin, LAYOUT_REGISTER);
    }
    for (int reg = 0; reg < layout_registers(result); reg++) {
        int atom = 0, index = 0, repeat = reg >> result->bits[LAYOUT_REGISTER];
        for (int bit = 0; bit < result->bits[LAYOUT_REGISTER]; bit++)
            if (reg >> bit & 1)
                atom ^= (int)map[bit];
        for (int d = 0; d < result->rank; d++) {
            int stride = layout_repeat_stride(result, d);
            if (stride && source->extent[d] == result->extent[d])
                index += repeat / stride % result->repeat[d] * layout_repeat_stride(source, d);
        }
        source_register[reg] = atom + (index << source->bits[LAYOUT_REGISTER]);
    }
    return true;
}
