/* No bank of shared memory is asked twice at a time, by the layouts' own arithmetic, where products touch it: accumulators
 * that leave by stmatrix in panels, and chunks of 16 bytes that copies bring into buffers.  (matrix_rows_test looks at
 * ldmatrix.) */
#include <stdio.h>

#include "ir/facts/shared_form.h"
#include "targets/nvptx/lower/matrix_rows.h"

static int failures, checked;

static void compare(const char *what, const int *extent, int bytes, int warps, const struct layout *from,
                    const struct layout *shared)
{
    int ideal = 0, count = -1, vector = from && shared ? layout_memory_vector(from, shared, 16 / bytes).size : 0;
    if (vector == 16 / bytes)
        count = layout_bank_wavefronts(from, shared, bytes, vector, &ideal);
    checked++;
    if (count == ideal && count > 0)
        return;
    printf("%s of %d x %d, %d bytes, %d warps: vectors of %d, %d wavefronts for %d\n", what, extent[0], extent[1],
           bytes, warps, vector, count, ideal);
    failures++;
}

/* An accumulator's panel, columns of one row of shared memory wide. */
static void check_panel(struct layout_table *table, const int *extent, int warps)
{
    int matrix_bits;
    const struct layout *tile = layout_wgmma_accumulator(table, extent, warps);
    const struct layout *rows = tile ? matrix_rows(table, tile, 2, false, &matrix_bits) : NULL;
    compare("panel", extent, 2, warps, rows, shared_form_layout(table, 2, extent, 2, 1));
}

static void check_copy(struct layout_table *table, const int *extent, int bytes, int contiguous, int warps)
{
    int order[2] = {contiguous, 1 - contiguous};
    const struct layout *chunks = layout_blocked_default(table, 2, extent, order, bytes, warps);
    compare("copy", extent, bytes, warps, chunks, shared_form_layout(table, 2, extent, bytes, contiguous));
}

int main(void)
{
    static const int panels[][2] = {{64, 64}, {128, 64}, {256, 64}, {64, 32}, {128, 32}};
    static const int extents[][2] = {{128, 64}, {64, 128}, {128, 128}, {256, 64}, {64, 256}, {64, 64}};
    struct arena *arena = arena_create();
    struct layout_table *table = layout_table_create(arena);
    for (size_t i = 0; i < sizeof panels / sizeof *panels; i++)
        check_panel(table, panels[i], panels[i][0] >= 128 ? 8 : 4);
    for (size_t i = 0; i < sizeof extents / sizeof *extents; i++)
        for (int bytes = 1; bytes <= 4; bytes *= 2)
            for (int contiguous = 0; contiguous < 2; contiguous++)
                for (int warps = 4; warps <= 8; warps *= 2)
                    if (extents[i][contiguous] * bytes % 128 == 0)
                        check_copy(table, extents[i], bytes, contiguous, warps);
    arena_destroy(arena);
    printf("%d checked, %d failure%s\n", checked, failures, failures == 1 ? "" : "s");
    return failures > 0 || checked < 50;
}
