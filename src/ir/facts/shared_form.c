/* The swizzled form of shared memory, recognised in a layout and made.  See shared_form.h.
 *
 * In bits of an offset, lowest first, for bf16 with 128-byte rows:
 *
 *     c0 c1 c2 | c3 c4 c5 | r0^c3 r1^c4 r2^c5 r3 … | the boxes: any single bits, then odd repeats
 *     16 bytes   the row    rows of the box
 *
 * The hardware XORs bits 4 to 6 of a byte's address with bits 7 to 9 (of 64-byte rows 4, 5 with 7, 8; of 32-byte rows
 * 4 with 7), so that with shorter rows the row number's bits 1 and 2, or 2 alone, count. */
#include "ir/facts/shared_form.h"

enum { CHUNK = 16, MOST_ROWS = 256, LEAST_ROW_BITS = 3 };

static uint32_t bit_of(const struct layout *layout, int dimension, int bit)
{
    return UINT32_C(1) << (layout->shift[dimension] + bit);
}

/* The dimension that a column's part belongs to, other than `without`; -1: none or several. */
static int dimension_of(const struct layout *layout, uint32_t column, int without)
{
    int found = -1;
    for (int d = 0; d < layout->rank; d++) {
        uint32_t mask = ((UINT32_C(1) << layout->atom_bits[d]) - 1) << layout->shift[d];
        if (d == without || !(column & mask))
            continue;
        if (found >= 0)
            return -1;
        found = d;
    }
    return found;
}

/* Bits of the offset from `first` on that are rows 0, 1, 2 … with the swizzle of `chunk_bits` in them. */
static int count_rows(const struct layout *layout, const struct shared_form *form, int first, int chunk, int chunk_bits)
{
    int rows = 0, swizzled = LEAST_ROW_BITS - chunk_bits;
    for (; first + rows < layout->bits[LAYOUT_OFFSET] && rows < layout->atom_bits[form->row]; rows++) {
        uint32_t wanted = bit_of(layout, form->row, rows);
        if (rows >= swizzled && rows < LEAST_ROW_BITS)
            wanted |= bit_of(layout, form->contiguous, chunk + rows - swizzled);
        if (layout->column[LAYOUT_OFFSET][first + rows] != wanted)
            break;
    }
    return rows;
}

/* The repeats of the rows follow the box at once: nothing lies between, and no repeats lie further in. */
static bool rows_go_on(const struct layout *layout, const struct shared_form *form, int used)
{
    for (int d = 0; d < layout->rank; d++)
        if (layout->repeat_place[d] > layout->repeat_place[form->row])
            return false;
    return used == layout->bits[LAYOUT_OFFSET];
}

/* One dimension: elements lie as they are numbered, and each is a row of its own. */
static bool form_of_row(const struct layout *layout, int bytes, struct shared_form *form)
{
    int atom = 1 << layout->atom_bits[0], extent = atom * layout->repeat[0];
    for (int i = 0; i < layout->bits[LAYOUT_OFFSET]; i++)
        if (layout->column[LAYOUT_OFFSET][i] != bit_of(layout, 0, i))
            return false;
    form->box[0] = extent <= MOST_ROWS ? extent : atom < MOST_ROWS ? atom : MOST_ROWS;
    form->box_bytes = (int64_t)form->box[0] * bytes;
    return form->box_bytes % CHUNK == 0;
}

bool shared_form_of(struct layout_table *table, const struct layout *layout, int bytes, struct shared_form *form)
{
    (void)table;
    *form = (struct shared_form){0};
    if (!layout->shared || bytes < 1 || bytes > 8 || !is_power_of_two(bytes))
        return false;
    if (layout->rank < 2)
        return layout->rank == 1 && form_of_row(layout, bytes, form);
    const uint32_t *column = layout->column[LAYOUT_OFFSET];
    int bits = layout->bits[LAYOUT_OFFSET], chunk = log2_floor((uint64_t)(CHUNK / bytes)), inner = 0;
    form->contiguous = bits ? dimension_of(layout, column[0], -1) : -1;
    if (form->contiguous < 0)
        return false;
    while (inner < bits && inner < layout->atom_bits[form->contiguous] &&
           column[inner] == bit_of(layout, form->contiguous, inner))
        inner++;
    int chunk_bits = inner - chunk;
    if (chunk_bits < 0 || chunk_bits > LEAST_ROW_BITS || inner == bits)
        return false;
    form->row = dimension_of(layout, column[inner], form->contiguous);
    if (form->row < 0)
        return false;
    int rows = count_rows(layout, form, inner, chunk, chunk_bits);
    if (rows < LEAST_ROW_BITS)
        return false;
    for (int i = inner + rows; i < bits; i++)
        if (!is_power_of_two(column[i]))
            return false;
    int64_t high = INT64_C(1) << rows;
    if (high * layout->repeat[form->row] <= MOST_ROWS && rows_go_on(layout, form, inner + rows))
        high *= layout->repeat[form->row];
    for (int d = 0; d < layout->rank; d++)
        form->box[d] = 1;
    form->box[form->row] = (int)(high < MOST_ROWS ? high : MOST_ROWS);
    form->box[form->contiguous] = 1 << inner;
    form->swizzle = chunk_bits ? CHUNK << chunk_bits : 0;
    form->box_bytes = ((int64_t)CHUNK << chunk_bits) * form->box[form->row];
    return true;
}

const struct layout *shared_form_layout(struct layout_table *table, int rank, const int *extent, int bytes,
                                        int contiguous)
{
    static const int widths[] = {128, 64, 32};
    int ordered[LAYOUT_RANK], back[LAYOUT_RANK];
    if (rank < 2 || rank > LAYOUT_RANK || contiguous < 0 || contiguous >= rank)
        return NULL;
    int next = 0;
    for (int d = 0; d < rank; d++)
        if (d != contiguous) {
            ordered[next] = extent[d];
            back[d] = next++;
        }
    ordered[next] = extent[contiguous];
    back[contiguous] = next;
    for (size_t i = 0; i < sizeof widths / sizeof *widths; i++) {
        const struct layout *layout = layout_swizzled(table, rank, ordered, bytes, widths[i]);
        struct shared_form form;
        if (layout && contiguous < rank - 1)
            layout = layout_rename(table, layout, back);
        if (layout && shared_form_of(table, layout, bytes, &form))
            return layout;
    }
    return NULL;
}

int64_t shared_form_offset(const struct layout *layout, int bytes, const int *coordinates)
{
    struct layout_position position;
    layout_find(layout, coordinates, &position);
    return (int64_t)position.part[LAYOUT_OFFSET] * bytes;
}
