/* Layouts for what hardware wants: coalesced access, shared memory with swizzle, fragments of matrix instructions. */
#include <string.h>

#include "ir/layout/layout_internal.h"

/* Atom bits of an extent. */
static int even_bits(int extent) { return __builtin_ctz((unsigned)extent); }

/* A spec whose atoms are the power-of-two parts of the extents, without columns. */
static void start_spec(struct layout_spec *spec, int rank, const int *extent)
{
    memset(spec, 0, sizeof *spec);
    spec->rank = rank;
    spec->repeat_in_warps = -1;
    for (int d = 0; d < rank; d++) {
        spec->atom[d] = 1 << even_bits(extent[d]);
        spec->repeat[d] = extent[d] >> even_bits(extent[d]);
    }
}

static void add_bit(struct layout_spec *spec, enum layout_input input, int dimension, int bit)
{
    spec->column[input][spec->bits[input]++][dimension] = 1 << bit;
}

/* Gives up to `count` bits of the input the next free bits of the dimension; returns how many. */
static int take_bits(struct layout_spec *spec, enum layout_input input, int dimension, int *used, int count)
{
    int taken = 0;
    while (taken < count && (1 << used[dimension]) < spec->atom[dimension]) {
        add_bit(spec, input, dimension, used[dimension]++);
        taken++;
    }
    return taken;
}

const struct layout *layout_blocked_by(struct layout_table *table, int rank, const int *extent, const int *order,
                                       int vector, const int *lanes, const int *warp_order, int warps)
{
    struct layout_spec spec;
    int used[LAYOUT_RANK] = {0};
    start_spec(&spec, rank, extent);
    if (rank > 0)
        take_bits(&spec, LAYOUT_REGISTER, order[0], used, log2_floor((uint64_t)vector));
    int left = 5;
    for (int i = 0; i < rank; i++) {
        int most = lanes ? log2_floor((uint64_t)lanes[order[i]]) : left;
        left -= take_bits(&spec, LAYOUT_LANE, order[i], used, most < left ? most : left);
    }
    spec.bits[LAYOUT_LANE] += left;
    left = __builtin_ctz((unsigned)warps);
    int groups = warps >> left;
    for (int i = 0; i < rank; i++) {
        left -= take_bits(&spec, LAYOUT_WARP, warp_order[i], used, left);
        if (groups > 1 && spec.repeat[warp_order[i]] == groups && spec.repeat_in_warps < 0)
            spec.repeat_in_warps = warp_order[i];
    }
    spec.bits[LAYOUT_WARP] += left;
    if (spec.repeat_in_warps < 0)
        spec.warp_copies = groups;
    for (int i = 0; i < rank; i++)
        take_bits(&spec, LAYOUT_REGISTER, order[i], used, LAYOUT_BITS - spec.bits[LAYOUT_REGISTER]);
    return layout_create(table, &spec);
}

const struct layout *layout_blocked(struct layout_table *table, int rank, const int *extent, const int *order,
                                    int vector, int warps)
{
    return layout_blocked_by(table, rank, extent, order, vector, NULL, order, warps);
}

const struct layout *layout_blocked_default(struct layout_table *table, int rank, const int *extent, const int *order,
                                            int bytes, int warps)
{
    int vector = bytes < 16 ? 16 / bytes : 1, bits = 0;
    for (int d = 0; d < rank; d++)
        bits += even_bits(extent[d]);
    int each = bits - 5 - __builtin_ctz((unsigned)warps);
    while (vector > 1 && log2_floor((uint64_t)vector) > each)
        vector /= 2;
    return layout_blocked(table, rank, extent, order, vector, warps);
}

const struct layout *layout_linear(struct layout_table *table, int rank, const int *extent, const int *order)
{
    struct layout_spec spec;
    int used[LAYOUT_RANK] = {0};
    start_spec(&spec, rank, extent);
    spec.shared = true;
    for (int i = 0; i < rank; i++)
        take_bits(&spec, LAYOUT_OFFSET, order[i], used, LAYOUT_BITS - spec.bits[LAYOUT_OFFSET]);
    return layout_create(table, &spec);
}

const struct layout *layout_swizzled(struct layout_table *table, int rank, const int *extent, int bytes,
                                     int swizzle_bytes)
{
    struct layout_spec spec;
    int used[LAYOUT_RANK] = {0};
    if (rank < 2 || bytes < 1 || bytes > 16 || !is_power_of_two(bytes) ||
        (swizzle_bytes != 128 && swizzle_bytes != 64 && swizzle_bytes != 32 && swizzle_bytes != 16))
        return NULL;
    int column = rank - 1, row = rank - 2;
    int chunk_bits = log2_floor((uint64_t)(swizzle_bytes / 16)), chunk = log2_floor((uint64_t)(16 / bytes));
    start_spec(&spec, rank, extent);
    spec.shared = true;
    spec.repeat_place[row] = 1; /* the rows of a panel go on at one distance */
    if (spec.atom[column] * bytes < swizzle_bytes || spec.atom[row] < 8)
        return NULL;
    take_bits(&spec, LAYOUT_OFFSET, column, used, chunk + chunk_bits);
    int first_row = spec.bits[LAYOUT_OFFSET], row_of_bit7 = 3 - chunk_bits;
    take_bits(&spec, LAYOUT_OFFSET, row, used, LAYOUT_BITS - spec.bits[LAYOUT_OFFSET]);
    for (int i = 0; i < chunk_bits; i++)
        spec.column[LAYOUT_OFFSET][first_row + row_of_bit7 + i][column] = 1 << (chunk + i);
    for (int d = rank - 1; d >= 0; d--)
        take_bits(&spec, LAYOUT_OFFSET, d, used, LAYOUT_BITS - spec.bits[LAYOUT_OFFSET]);
    return layout_create(table, &spec);
}

const struct layout *layout_turned(struct layout_table *table, const int *extent, int bytes, int step)
{
    enum { BANK_CHUNKS = 3 /* bits: of 16 bytes, in 128 */ };
    struct layout_spec spec;
    int used[LAYOUT_RANK] = {0}, chunk = log2_floor((uint64_t)(16 / bytes));
    if (!is_power_of_two(extent[0]) || !is_power_of_two(extent[1]) || extent[1] < 8 << chunk)
        return NULL;
    start_spec(&spec, 2, extent);
    spec.shared = true;
    take_bits(&spec, LAYOUT_OFFSET, 1, used, LAYOUT_BITS);
    int first_row = spec.bits[LAYOUT_OFFSET];
    take_bits(&spec, LAYOUT_OFFSET, 0, used, LAYOUT_BITS);
    for (int i = 0; i + step < BANK_CHUNKS && first_row + i < spec.bits[LAYOUT_OFFSET]; i++)
        spec.column[LAYOUT_OFFSET][first_row + i][1] = 1 << (chunk + step + i);
    return layout_create(table, &spec);
}

/* Deals blocks of rows (the dimension's bits from used[dimension] on) to warps that own whole blocks.  The odd part
 * of the warps' number becomes groups.  False: it does not come out even. */
static bool deal_to_warps(struct layout_spec *spec, int dimension, int *used, int warps)
{
    int bits = log2_floor((uint64_t)(warps & -warps)), groups = warps >> bits;
    int taken = take_bits(spec, LAYOUT_WARP, dimension, used, bits);
    spec->bits[LAYOUT_WARP] += bits - taken; /* more warps than rows: they hold the same */
    if (groups == 1)
        return true;
    if (spec->repeat[dimension] != groups)
        return false;
    spec->repeat_in_warps = dimension;
    return true;
}

const struct layout *layout_wgmma_accumulator(struct layout_table *table, const int *extent, int warps)
{
    struct layout_spec spec;
    if (extent[0] % 64 || extent[1] % 8 || warps < 4 || warps % 4)
        return NULL;
    start_spec(&spec, 2, extent);
    int used[LAYOUT_RANK] = {0, 1};
    add_bit(&spec, LAYOUT_REGISTER, 1, 0);
    take_bits(&spec, LAYOUT_LANE, 1, used, 2);
    take_bits(&spec, LAYOUT_LANE, 0, used, 3);
    take_bits(&spec, LAYOUT_REGISTER, 0, used, 1);
    if (!deal_to_warps(&spec, 0, used, warps))
        return NULL;
    take_bits(&spec, LAYOUT_REGISTER, 1, used, LAYOUT_BITS);
    take_bits(&spec, LAYOUT_REGISTER, 0, used, LAYOUT_BITS);
    return layout_create(table, &spec);
}

const struct layout *layout_wgmma_rows(struct layout_table *table, const int *extent, int warps)
{
    enum { LANE_BITS = 5, WARP_ROW_BITS = 4 };
    struct layout_spec spec;
    int used[LAYOUT_RANK] = {0};
    if (extent[0] % 64 || warps < 4 || warps % 4)
        return NULL;
    start_spec(&spec, 2, extent);
    take_bits(&spec, LAYOUT_LANE, 1, used, LANE_BITS);
    take_bits(&spec, LAYOUT_LANE, 0, used, LANE_BITS - spec.bits[LAYOUT_LANE]);
    take_bits(&spec, LAYOUT_REGISTER, 0, used, WARP_ROW_BITS - used[0]);
    if (!deal_to_warps(&spec, 0, used, warps))
        return NULL;
    take_bits(&spec, LAYOUT_REGISTER, 1, used, LAYOUT_BITS);
    take_bits(&spec, LAYOUT_REGISTER, 0, used, LAYOUT_BITS);
    return layout_create(table, &spec);
}

/* Deals dimension `rows` to warps_m and then `columns` to warps_n; -1 for a dimension that those warps share. */
static const struct layout *finish_fragment(struct layout_table *table, struct layout_spec *spec, int *used, int rows,
                                            int warps_m, int columns, int warps_n)
{
    int odd_m = warps_m >> __builtin_ctz((unsigned)warps_m);
    if (!is_power_of_two(warps_n) || warps_m < 1)
        return NULL;
    if (rows >= 0) {
        if (!deal_to_warps(spec, rows, used, warps_m))
            return NULL;
    } else {
        spec->bits[LAYOUT_WARP] += __builtin_ctz((unsigned)warps_m);
        spec->warp_copies = odd_m;
    }
    if (columns >= 0)
        deal_to_warps(spec, columns, used, warps_n);
    else
        spec->bits[LAYOUT_WARP] += log2_floor((uint64_t)warps_n);
    for (int d = spec->rank - 1; d >= 0; d--)
        take_bits(spec, LAYOUT_REGISTER, d, used, LAYOUT_BITS - spec->bits[LAYOUT_REGISTER]);
    return layout_create(table, spec);
}

const struct layout *layout_mma_accumulator(struct layout_table *table, int rank, const int *extent, int warps_m,
                                            int warps_n)
{
    struct layout_spec spec;
    int used[LAYOUT_RANK] = {0};
    if (rank < 2 || extent[rank - 2] % 16 || extent[rank - 1] % 8)
        return NULL;
    int row = rank - 2, column = rank - 1;
    start_spec(&spec, rank, extent);
    take_bits(&spec, LAYOUT_REGISTER, column, used, 1);
    take_bits(&spec, LAYOUT_LANE, column, used, 2);
    take_bits(&spec, LAYOUT_LANE, row, used, 3);
    take_bits(&spec, LAYOUT_REGISTER, row, used, 1);
    return finish_fragment(table, &spec, used, row, warps_m, column, warps_n);
}

const struct layout *layout_mma_operand(struct layout_table *table, int rank, const int *extent, int operand, int bytes,
                                        int warps_m, int warps_n)
{
    struct layout_spec spec;
    int used[LAYOUT_RANK] = {0};
    int inner = operand == 0 ? rank - 1 : rank - 2, outer = operand == 0 ? rank - 2 : rank - 1;
    int word = bytes < 4 ? 4 / bytes : 1; /* elements */
    if (rank < 2 || bytes < 1 || bytes > 8 || !is_power_of_two(bytes) || extent[outer] % (operand == 0 ? 16 : 8) ||
        extent[inner] % (4 * word))
        return NULL;
    start_spec(&spec, rank, extent);
    take_bits(&spec, LAYOUT_REGISTER, inner, used, log2_floor((uint64_t)word));
    take_bits(&spec, LAYOUT_LANE, inner, used, 2);
    take_bits(&spec, LAYOUT_LANE, outer, used, 3);
    if (operand == 0)
        take_bits(&spec, LAYOUT_REGISTER, outer, used, 1);
    take_bits(&spec, LAYOUT_REGISTER, inner, used, 1);
    return finish_fragment(table, &spec, used, operand == 0 ? outer : -1, warps_m, operand == 0 ? -1 : outer, warps_n);
}
