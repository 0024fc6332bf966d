/* ldmatrix, followed lane by lane as the PTX manual defines it, must give each lane the elements that the operand
 * layout of mma.sync says it holds; and the rows must lie in different banks in the buffers that matrix instructions
 * read. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ir/facts/shared_form.h"
#include "targets/nvptx/lower/matrix_rows.h"

static int failures;

static void coordinates_of(const struct layout *layout, int reg, int lane, int warp, int *coordinates)
{
    struct layout_position position = {{[LAYOUT_REGISTER] = reg, [LAYOUT_LANE] = lane, [LAYOUT_WARP] = warp}};
    layout_coordinates(layout, &position, coordinates);
}

/* Where byte `byte` of word `matrix` of `lane` comes from: a lane that gave a row's address, and a byte of that row. */
static void source_of(bool transposed, int lane, int matrix, int byte, int *row_lane, int *row_byte)
{
    if (transposed) { /* elements of two bytes: rows 2 * (lane % 4) and the next, column lane / 4 */
        *row_lane = 8 * matrix + 2 * (lane % 4) + byte / 2;
        *row_byte = 2 * (lane / 4) + byte % 2;
    } else {
        *row_lane = 8 * matrix + lane / 4;
        *row_byte = 4 * (lane % 4) + byte;
    }
}

static int compare_lane(const struct layout *layout, const struct layout *rows, int bytes, bool transposed,
                        int matrix_bits, int group, int lane, int warp)
{
    int word_bits = log2_floor((uint64_t)(4 / bytes)), wrong = 0;
    for (int matrix = 0; matrix < 1 << matrix_bits; matrix++)
        for (int element = 0; element < 4 / bytes; element++) {
            int want[LAYOUT_RANK], got[LAYOUT_RANK], row_lane, row_byte;
            int word = (group << matrix_bits) + matrix;
            coordinates_of(layout, (word << word_bits) + element, lane, warp, want);
            source_of(transposed, lane, matrix, element * bytes, &row_lane, &row_byte);
            coordinates_of(rows, group * (16 / bytes) + row_byte / bytes, row_lane, warp, got);
            wrong += want[0] != got[0] || want[1] != got[1];
        }
    return wrong;
}

static void check(struct layout_table *table, int operand, int m, int n, int bytes, int warps_m, int warps_n,
                  bool transposed)
{
    int extent[2] = {m, n}, matrix_bits = 0, wrong = 0, checked = 0, ideal = 0;
    const struct layout *layout = layout_mma_operand(table, 2, extent, operand, bytes, warps_m, warps_n);
    const struct layout *rows = layout ? matrix_rows(table, layout, bytes, transposed, &matrix_bits) : NULL;
    if (!rows) {
        printf("operand %d of %d x %d, %d bytes, warps %d x %d: no rows\n", operand, m, n, bytes, warps_m, warps_n);
        failures++;
        return;
    }
    for (int warp = 0; warp < warps_m * warps_n; warp++)
        for (int group = 0; group < layout_registers(rows) / (16 / bytes); group++)
            for (int lane = 0; lane < 32; lane++, checked++)
                wrong += compare_lane(layout, rows, bytes, transposed, matrix_bits, group, lane, warp);
    int inner = operand == 0 ? 1 : 0, contiguous = transposed ? 1 - inner : inner;
    const struct layout *shared = shared_form_layout(table, 2, extent, bytes, contiguous);
    int vector = shared ? layout_memory_vector(rows, shared, 16 / bytes).size : 0;
    int wavefronts = vector == 16 / bytes ? layout_bank_wavefronts(rows, shared, bytes, vector, &ideal) : -1;
    if (wrong || !checked || wavefronts != ideal) {
        printf("operand %d of %d x %d, %d bytes, warps %d x %d%s: %d of %d wrong, %d wavefronts for %d\n", operand, m,
               n, bytes, warps_m, warps_n, transposed ? ", transposed" : "", wrong, checked, wavefronts, ideal);
        failures++;
    }
}

int main(void)
{
    static const int grids[][2] = {{1, 1}, {2, 2}, {4, 2}, {8, 1}, {1, 4}, {4, 1}};
    static const int extents[][2] = {{128, 64}, {64, 128}, {128, 128}, {256, 32}, {128, 96}, {192, 64}};
    struct arena *arena = arena_create();
    struct layout_table *table = layout_table_create(arena);
    for (size_t g = 0; g < sizeof grids / sizeof *grids; g++)
        for (size_t e = 0; e < sizeof extents / sizeof *extents; e++)
            for (int operand = 0; operand < 2; operand++)
                for (int bytes = 1; bytes <= 4; bytes *= 2)
                    for (int transposed = 0; transposed <= (bytes == 2); transposed++) {
                        const int *extent = extents[e];
                        int inner = operand == 0 ? 1 : 0, contiguous = transposed ? 1 - inner : inner;
                        if (extent[contiguous] * bytes % 32) /* no row of shared memory's form */
                            continue;
                        check(table, operand, extent[0], extent[1], bytes, grids[g][0], grids[g][1], transposed);
                    }
    arena_destroy(arena);
    printf("%d failure%s\n", failures, failures == 1 ? "" : "s");
    return failures > 0;
}
