/* Removing, permuting and reshaping dimensions; parts of tiles. */
#include <string.h>

#include "base/plant.h"
#include "ir/layout/layout_internal.h"

/* Register bits of `layout` that stay when the dimensions of `squashed` (a set of bits) become 1: those that still
 * tell elements apart.  Returns the mask. */
static uint32_t kept_registers(const struct layout *layout, uint32_t squashed)
{
    struct f2_basis basis = {0};
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
    struct layout_spec spec, result = {.repeat_in_warps = -1};
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
    int even = factor & -factor, odd = factor / even;
    if (layout->shared || spec.repeat[dimension] % odd || (odd > 1 && dimension == spec.repeat_in_warps))
        return NULL;
    spec.repeat[dimension] /= odd; /* repeats lie in registers, outermost */
    if (even == 1)
        return layout_create(table, &spec);
    if (even > spec.atom[dimension] || spec.repeat[dimension] > 1)
        return NULL;
    spec.atom[dimension] /= even;
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

/* The register bit, of those that stay, that gives way to a bit of the dimension: the highest that holds something. */
static int register_to_exchange(const struct layout_spec *spec, int dimension, int part)
{
    for (int bit = spec->bits[LAYOUT_REGISTER] - 1; bit >= 0; bit--)
        if (spec->column[LAYOUT_REGISTER][bit][dimension] < part)
            return bit;
    return -1;
}

const struct layout *layout_with_parts(struct layout_table *table, const struct layout *layout, int dimension,
                                       int factor)
{
    struct layout_spec spec;
    layout_to_spec(layout, &spec);
    if (!is_power_of_two(factor) || factor > spec.atom[dimension] || spec.repeat[dimension] > 1 || layout->shared)
        return NULL;
    int part = spec.atom[dimension] / factor;
    for (int input = LAYOUT_LANE; input <= LAYOUT_WARP; input++)
        for (int bit = 0; bit < spec.bits[input]; bit++) {
            int swap[LAYOUT_RANK], other;
            if (spec.column[input][bit][dimension] < part)
                continue;
            other = register_to_exchange(&spec, dimension, part);
            if (other < 0)
                return NULL;
            memcpy(swap, spec.column[input][bit], sizeof swap);
            memcpy(spec.column[input][bit], spec.column[LAYOUT_REGISTER][other], sizeof swap);
            memcpy(spec.column[LAYOUT_REGISTER][other], swap, sizeof swap);
        }
    const struct layout *exchanged = layout_create(table, &spec);
    return exchanged && layout_shrink(table, exchanged, dimension, factor) ? exchanged : NULL;
}

const struct layout *layout_replicated(struct layout_table *table, int rank, const int *extent, int warps)
{
    struct layout_spec spec = {.rank = rank, .repeat_in_warps = -1};
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
