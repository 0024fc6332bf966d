/* Kernels of reproducible.tile, compiled with --reproducible, against the tree of neighbours computed here: every bit
 * must agree on any instruction set and GPU.  PREFIX is what the object's names begin with; the first argument "gpu", or
 * TILE_TEST_STREAM=gpu, runs them on device 0 instead of the processor. */
#include "reproducible.h"
#include <dlfcn.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { ROWS = 48, COLUMNS = 700, MOST = 4096 };

static float values[ROWS * COLUMNS], odd_x[ROWS * 96], odd_y[ROWS * 160];
static tile_bf16 narrow[ROWS * COLUMNS];

/* ---- where ---- */

static int (*device_allocate)(uintptr_t *, size_t);
static int (*to_device)(uintptr_t, const void *, size_t);
static int (*from_device)(void *, uintptr_t, size_t);
static struct CUstream_st *stream = TILE_CPU;

static void find(void *library, const char *name, void *where)
{
    void *address = dlsym(library, name);
    memcpy(where, &address, sizeof address);
}

static int open_gpu(void)
{
    void *library = dlopen("libcuda.so.1", RTLD_NOW), *context;
    int (*initialize)(unsigned), (*retain)(void **, int), (*set_current)(void *);
    if (library == NULL)
        return 0;
    find(library, "cuInit", &initialize);
    find(library, "cuDevicePrimaryCtxRetain", &retain);
    find(library, "cuCtxSetCurrent", &set_current);
    find(library, "cuMemAlloc_v2", &device_allocate);
    find(library, "cuMemcpyHtoD_v2", &to_device);
    find(library, "cuMemcpyDtoH_v2", &from_device);
    stream = NULL;
    return initialize(0) == 0 && retain(&context, 0) == 0 && set_current(context) == 0;
}

/* The data where kernels reach it. */
static void *place(void *data, size_t bytes)
{
    uintptr_t there = 0;
    if (stream == TILE_CPU)
        return data;
    if (device_allocate(&there, bytes) != 0 || to_device(there, data, bytes) != 0)
        exit(3);
    return (void *)there;
}

static void fetch(void *data, void *there, size_t bytes)
{
    if (stream != TILE_CPU && from_device(data, (uintptr_t)there, bytes) != 0)
        exit(4);
}

/* ---- the model ---- */

struct pair {
    float value, weight;
};
typedef struct pair combine(struct pair a, struct pair b);
static struct pair sum_of(struct pair a, struct pair b) { return (struct pair){a.value + b.value, 0}; }
static struct pair product_of(struct pair a, struct pair b) { return (struct pair){a.value * b.value, 0}; }
static struct pair mean_of(struct pair a, struct pair b)
{
    float n = a.weight + b.weight;
    return (struct pair){(a.value * a.weight + b.value * b.weight) / n, n};
}

static float tree(combine *both, struct pair *line, int count)
{
    for (int left = count; left > 1; left = (left + 1) / 2) {
        for (int k = 0; k < left / 2; k++)
            line[k] = both(line[2 * k], line[2 * k + 1]);
        if (left % 2)
            line[left / 2] = line[left - 1];
    }
    return line[0].value;
}

static int failures;
static void expect(const char *what, int i, float got, float wanted)
{
    if (memcmp(&got, &wanted, sizeof got) != 0 && failures++ < 10)
        printf("%s[%d] is %a, not %a\n", what, i, (double)got, (double)wanted);
}

static void run(int status, const char *what)
{
    if (status == TILE_OK)
        return;
    printf("%s: %s\n", what, tile_last_error());
    exit(1);
}

/* ---- the kernels ---- */

#define JOIN(a, b) a##b
#define NAME(prefix, name) JOIN(prefix, name)
#define KERNEL(name) NAME(PREFIX, name)

static void check_rows(int columns)
{
    static struct pair line[MOST];
    static float sums[ROWS], products[ROWS], means[ROWS];
    float *x = place(values, sizeof values), *s = place(sums, sizeof sums), *p = place(products, sizeof products),
          *m = place(means, sizeof means);
    struct tile_f32_2 vx = tile_f32_2_row_major(x, ROWS, columns);
    struct tile_f32_1 vs = tile_f32_1_row_major(s, ROWS), vp = tile_f32_1_row_major(p, ROWS),
                      vm = tile_f32_1_row_major(m, ROWS);
    int tile = 64;
    vx.stride[0] = COLUMNS;
    while (tile < columns)
        tile *= 4;
    run(KERNEL(rows)(stream, &vx, &vs, &vp, &vm), "rows");
    fetch(sums, s, sizeof sums), fetch(products, p, sizeof products), fetch(means, m, sizeof means);
    for (int r = 0; r < ROWS; r++) {
        const float *row = values + r * COLUMNS;
        for (int k = 0; k < tile; k++)
            line[k] = (struct pair){k < columns ? row[k] : 0, 0};
        expect("sum", r, sums[r], tree(sum_of, line, tile));
        for (int k = 0; k < tile; k++)
            line[k] = (struct pair){k < columns ? row[k] : 1, 0};
        expect("product", r, products[r], tree(product_of, line, tile));
        for (int k = 0; k < tile; k++)
            line[k] = (struct pair){k < columns ? row[k] : 0, k < columns ? 2 : 1};
        expect("mean", r, means[r], tree(mean_of, line, tile));
    }
}

static void check_odd(void)
{
    struct pair line[160];
    static float small[ROWS], large[ROWS], down[96];
    float *x = place(odd_x, sizeof odd_x), *y = place(odd_y, sizeof odd_y), *s = place(small, sizeof small),
          *t = place(large, sizeof large), *u = place(down, sizeof down);
    struct tile_f32_2 vx = tile_f32_2_row_major(x, ROWS, 96), vy = tile_f32_2_row_major(y, ROWS, 160);
    struct tile_f32_1 vs = tile_f32_1_row_major(s, ROWS), vt = tile_f32_1_row_major(t, ROWS),
                      vu = tile_f32_1_row_major(u, 96);
    run(KERNEL(odd)(stream, &vx, &vy, &vs, &vt, &vu), "odd");
    fetch(small, s, sizeof small), fetch(large, t, sizeof large), fetch(down, u, sizeof down);
    for (int r = 0; r < ROWS; r++) {
        for (int k = 0; k < 96; k++)
            line[k].value = odd_x[r * 96 + k];
        expect("sum of 96", r, small[r], tree(sum_of, line, 96));
        for (int k = 0; k < 160; k++)
            line[k].value = odd_y[r * 160 + k];
        expect("sum of 160", r, large[r], tree(sum_of, line, 160));
    }
    for (int c = 0; c < 96; c++) {
        for (int r = 0; r < 48; r++)
            line[r].value = odd_x[r * 96 + c];
        expect("sum of 48 rows", c, down[c], tree(sum_of, line, 48));
    }
}

static void check_columns(void)
{
    struct pair line[64];
    static float sums[COLUMNS];
    tile_bf16 *x = place(narrow, sizeof narrow);
    float *s = place(sums, sizeof sums);
    struct tile_bf16_2 vx = tile_bf16_2_row_major(x, ROWS, COLUMNS);
    struct tile_f32_1 vs = tile_f32_1_row_major(s, COLUMNS);
    run(KERNEL(columns)(stream, &vx, &vs), "columns");
    fetch(sums, s, sizeof sums);
    for (int c = 0; c < COLUMNS; c++) {
        for (int r = 0; r < 64; r++) {
            float v = r < ROWS ? tile_bf16_to_float(narrow[r * COLUMNS + c]) : 0;
            line[r].value = v * v + v * 0.3f;
        }
        expect("column", c, sums[c], sqrtf(0.0f + tree(sum_of, line, 64)) / 3.0f);
    }
}

int main(int count, char **arguments)
{
    static const int widths[] = {1, 63, 64, 200, 700};
    uint32_t state = 12345;
    const char *wanted = count > 1 ? arguments[1] : getenv("TILE_TEST_STREAM");
    if (wanted != NULL && strcmp(wanted, "gpu") == 0 && !open_gpu())
        return 77;
    for (int i = 0; i < ROWS * COLUMNS; i++) {
        state = state * 1664525u + 1013904223u;
        values[i] = 0.9f + (float)(state >> 8) / 67108864.0f; /* from 0.9 to 1.15: products stay in range */
        narrow[i] = tile_bf16_from_float(values[i]);
    }
    for (int i = 0; i < ROWS * 96; i++)
        odd_x[i] = values[(i * 7) % (ROWS * COLUMNS)] - 1;
    for (int i = 0; i < ROWS * 160; i++)
        odd_y[i] = values[(i * 3) % (ROWS * COLUMNS)] - 1;
    for (size_t i = 0; i < sizeof widths / sizeof widths[0]; i++)
        check_rows(widths[i]);
    check_odd();
    check_columns();
    printf("%d values differ\n", failures);
    return failures != 0;
}
