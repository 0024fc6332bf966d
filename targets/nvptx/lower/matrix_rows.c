/* Which lane gives the address of which row to ldmatrix.  See matrix_rows.h. */
#include "targets/nvptx/lower/matrix_rows.h"

static void copy_column(const struct layout *from, enum layout_input input, int bit, struct layout_spec *spec,
                        enum layout_input to)
{
    int *column = spec->column[to][spec->bits[to]++];
    for (int d = 0; d < from->rank; d++)
        column[d] = (int)(from->column[input][bit] >> from->shift[d] & ((1U << from->atom_bits[d]) - 1));
}

static void copy_columns(const struct layout *from, enum layout_input input, int first, int end,
                         struct layout_spec *spec, enum layout_input to)
{
    for (int bit = first; bit < end; bit++)
        copy_column(from, input, bit, spec, to);
}

const struct layout *matrix_rows(struct layout_table *table, const struct layout *layout, int bytes, bool transposed,
                                 int *matrix_bits)
{
    int word = bytes < 4 ? log2_floor((uint64_t)(4 / bytes)) : 0, registers = layout->bits[LAYOUT_REGISTER];
    int left = registers - word, matrices = left < 2 ? left : 2;
    if (bytes > 4 || left < 0 || layout->bits[LAYOUT_LANE] != 5 || (transposed && bytes != 2))
        return NULL;
    struct layout_spec spec = {.rank = layout->rank, .repeat_in_warps = layout->warp_dimension};
    for (int d = 0; d < layout->rank; d++) {
        spec.atom[d] = 1 << layout->atom_bits[d];
        spec.repeat[d] = layout->repeat[d];
    }
    if (layout->warp_dimension < 0 && layout->warp_groups > 1)
        spec.warp_copies = layout->warp_groups;
    if (transposed) {
        copy_columns(layout, LAYOUT_LANE, 2, 5, &spec, LAYOUT_REGISTER);
        copy_columns(layout, LAYOUT_REGISTER, 0, word, &spec, LAYOUT_LANE);
        copy_columns(layout, LAYOUT_LANE, 0, 2, &spec, LAYOUT_LANE);
    } else {
        copy_columns(layout, LAYOUT_REGISTER, 0, word, &spec, LAYOUT_REGISTER);
        copy_columns(layout, LAYOUT_LANE, 0, 2, &spec, LAYOUT_REGISTER);
        copy_columns(layout, LAYOUT_LANE, 2, 5, &spec, LAYOUT_LANE);
    }
    copy_columns(layout, LAYOUT_REGISTER, word, word + matrices, &spec, LAYOUT_LANE);
    spec.bits[LAYOUT_LANE] = 5; /* lanes beyond the matrices repeat addresses that nobody reads */
    copy_columns(layout, LAYOUT_REGISTER, word + matrices, registers, &spec, LAYOUT_REGISTER);
    copy_columns(layout, LAYOUT_WARP, 0, layout->bits[LAYOUT_WARP], &spec, LAYOUT_WARP);
    *matrix_bits = matrices;
    return layout_create(table, &spec);
}
