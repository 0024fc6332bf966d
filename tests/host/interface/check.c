/* Calls the kernels of an object that a compiler before this one made, through the header of that compiler.  `refused`: each
 * call must give TILE_ERR_ABI and change nothing. */
#include "kernels.h"
#include <stdio.h>
#include <string.h>

enum { ROWS = 3, COLUMNS = 70, NUMBERS = 1000 };
static const float untouched = -1;
static tile_f16 in[ROWS * COLUMNS], out[ROWS * COLUMNS];
static int32_t numbers[NUMBERS], sums[NUMBERS];
static float seen[3] = {1, 2.5f, 9};
static int failures;

static void expect(int holds, const char *text)
{
    if (holds)
        return;
    failures++;
    printf("not so: %s (last error: %s)\n", text, tile_last_error());
}
#define EXPECT(condition) expect(condition, #condition)

static void fill(void)
{
    for (int i = 0; i < ROWS * COLUMNS; i++) {
        in[i] = tile_f16_from_float((float)(i % 100));
        out[i] = tile_f16_from_float(untouched);
    }
    for (int i = 0; i < NUMBERS; i++)
        numbers[i] = i * 37 % 101 - 50;
}

static void all_run(struct tile_f16_2 *x, struct tile_f16_2 *y, struct tile_i32_1 *n, struct tile_i32_1 *s,
                    struct tile_f32_1 *t)
{
    struct old_line line = {2, 1};
    struct tile_launch_options options = {sizeof options, TILE_LAUNCH_VARIANT, 0, 1};
    struct tile_kernel_info info;
    EXPECT(old_rows(TILE_CPU, x, &line, OLD_MODE_TWICE, 12, y) == TILE_OK);
    for (int i = 0; i < ROWS * COLUMNS; i++)
        EXPECT(tile_f16_to_float(out[i]) == 2 * (2 * (float)(i % 100) + 1));
    EXPECT(old_rows(TILE_CPU, x, &line, OLD_MODE_KEEP, 13, y) == TILE_ERR_ARG);
    EXPECT(strstr(tile_last_error(), "n <= 4 * M") != NULL);
    EXPECT(old_rows(TILE_CPU, x, &line, 1, 0, y) == TILE_ERR_ARG);
    EXPECT(old_rows_query(TILE_CPU, x, &line, OLD_MODE_KEEP, 0, y, &info) == TILE_OK);
    EXPECT(info.value_count == 1 && info.values[0] == 256 && info.programs == ROWS);
    EXPECT(old_rows_variant(TILE_CPU, x, &line, OLD_MODE_KEEP, 0, y, 0) == TILE_ERR_ARG);
    EXPECT(old_rows_launch_ex(TILE_CPU, x, &line, OLD_MODE_KEEP, 0, x, &options) == TILE_OK); /* in place */
    for (int i = 0; i < ROWS * COLUMNS; i++)
        EXPECT(tile_f16_to_float(in[i]) == 2 * (float)(i % 100) + 1);

    EXPECT(old_up_to_workspace(TILE_CPU, n, s) > 0);
    EXPECT(old_up_to(TILE_CPU, n, s) == TILE_OK);
    for (int i = 0, sum = 0; i < NUMBERS; i++)
        EXPECT(sums[i] == (sum += numbers[i]));

    EXPECT(old_told(TILE_CPU, t) == TILE_ERR_CHECK); /* prints three lines, in any order */
    EXPECT(strstr(tile_last_error(), "9.0 is too large does not hold in program 2") != NULL);
    t->extent[0] = 2;
    EXPECT(old_told(TILE_CPU, t) == TILE_OK);
    EXPECT(old_rows_unload() != TILE_ERR_ABI);
}

static void all_refused(struct tile_f16_2 *x, struct tile_f16_2 *y, struct tile_i32_1 *n, struct tile_i32_1 *s,
                        struct tile_f32_1 *t)
{
    struct old_line line = {2, 1};
    struct tile_kernel_info info;
    EXPECT(old_rows(TILE_CPU, x, &line, OLD_MODE_TWICE, 12, y) == TILE_ERR_ABI);
    EXPECT(strstr(tile_last_error(), "link the libtilert of the tilecc that made it") != NULL);
    printf("%s\n", tile_last_error());
    EXPECT(old_rows(NULL, x, &line, OLD_MODE_TWICE, 12, y) == TILE_ERR_ABI);
    EXPECT(old_rows_query(TILE_CPU, x, &line, OLD_MODE_KEEP, 0, y, &info) == TILE_ERR_ABI);
    EXPECT(old_rows_launch_ex(TILE_CPU, x, &line, OLD_MODE_KEEP, 0, y, NULL) == TILE_ERR_ABI);
    EXPECT(old_up_to_workspace(TILE_CPU, n, s) == (size_t)-1);
    EXPECT(old_up_to(TILE_CPU, n, s) == TILE_ERR_ABI);
    EXPECT(old_told(TILE_CPU, t) == TILE_ERR_ABI);
    EXPECT(old_told_load() == TILE_ERR_ABI);
    EXPECT(old_told_unload() == TILE_ERR_ABI);
    for (int i = 0; i < ROWS * COLUMNS; i++)
        EXPECT(tile_f16_to_float(out[i]) == untouched);
    EXPECT(sums[NUMBERS - 1] == 0);
}

int main(int count, char **arguments)
{
    struct tile_f16_2 x = tile_f16_2_row_major(in, ROWS, COLUMNS), y = tile_f16_2_row_major(out, ROWS, COLUMNS);
    struct tile_i32_1 n = tile_i32_1_row_major(numbers, NUMBERS), s = tile_i32_1_row_major(sums, NUMBERS);
    struct tile_f32_1 t = tile_f32_1_row_major(seen, 3);
    fill();
    if (count == 2 && strcmp(arguments[1], "refused") == 0)
        all_refused(&x, &y, &n, &s, &t);
    else
        all_run(&x, &y, &n, &s, &t);
    return failures != 0;
}
