/* Views and pointers whose elements lie 2^31 and 2^32 elements apart.  On the CPU the space between is reserved and
 * never touched, on a GPU it is memory like any other; where there is not enough of either, a case passes by. */
#include "exec.h"
#include "far.h"
#include <math.h>
#include <string.h>

static const int64_t far31 = INT64_C(1) << 31, far32 = INT64_C(1) << 32;

/* The element's bytes at an offset of so many elements. */
#define PUT(space, offset, value) exec_space_put(space, (offset) * (int64_t)sizeof(value), &(value), sizeof(value))
#define GET(space, offset, value) exec_space_get(space, (offset) * (int64_t)sizeof(value), &(value), sizeof(value))

static struct exec_space *two(struct exec_case *c, struct exec_space *pair, int64_t bytes)
{
    return exec_space_open(c, &pair[0], bytes) && exec_space_open(c, &pair[1], bytes) ? pair : NULL;
}

static void close_two(struct exec_space *pair)
{
    exec_space_close(&pair[0]);
    exec_space_close(&pair[1]);
}

/* x and y of [m, n] with these strides through `call`: y = x + 7. */
static void copy_with(struct exec_case *c, int64_t m, int64_t n, int64_t row, int64_t column,
                      int (*call)(struct CUstream_st *, const struct tile_u16_2 *, const struct tile_u16_2 *))
{
    struct exec_space pair[2] = {{0}};
    int64_t last = (m - 1) * row + (n - 1) * column;
    if (two(c, pair, 2 * (last + 1))) {
        struct tile_u16_2 x = {pair[0].base, {m, n}, {row, column}}, y = {pair[1].base, {m, n}, {row, column}};
        for (int64_t i = 0; i < m * n; i++) {
            uint16_t value = (uint16_t)(i * 31 + 5);
            PUT(&pair[0], i / n * row + i % n * column, value);
        }
        exec_called(c, call(c->stream, &x, &y));
        for (int64_t i = 0; i < m * n; i++) {
            uint16_t value = 0;
            GET(&pair[1], i / n * row + i % n * column, value);
            if (value != (uint16_t)(i * 31 + 12))
                exec_fail(c, "element %lld is %d, not %d", (long long)i, value, (uint16_t)(i * 31 + 12));
        }
    }
    close_two(pair);
}

static void run_rows(struct exec_case *c) { copy_with(c, 4, 50 + c->gaps, far31 / 2 * 3 + 5 + c->gaps, 1, far_rows); }
static void run_columns(struct exec_case *c) { copy_with(c, 9, 5, 11, far31 / 2 + 3 + c->gaps, far_both); }
static void run_both(struct exec_case *c) { copy_with(c, 3, 3, far31 - 9 - c->gaps, far31 / 4 + 77, far_both); }

static void run_line(struct exec_case *c)
{
    enum { BLOCK = 64 };
    const int64_t n = far32 + 1000 + c->gaps;
    const int64_t starts[] = {0, far31 - 32, far31 + 200, far32 - 64, far32, n - 20, n, -10 - BLOCK, n + far31};
    enum { COUNT = sizeof starts / sizeof *starts };
    int64_t count = COUNT;
    struct exec_space pair[2] = {{0}};
    struct exec_tensor *start = exec_input(c, EXEC_I64, 1, &count);
    struct tile_i64_1 vs;
    for (int64_t s = 0; s < COUNT; s++)
        exec_set_int(start, s, starts[s]);
    EXEC_BIND(vs, start);
    if (two(c, pair, n)) {
        struct tile_u8_1 x = {pair[0].base, {n}, {1}}, y = {pair[1].base, {n}, {1}};
        for (int s = 0; s < COUNT; s++)
            for (int64_t i = starts[s]; i < starts[s] + BLOCK; i++) {
                uint8_t value = (uint8_t)(s * 20 + i % 13 + 1), before = 200;
                if (i >= 0 && i < n) {
                    PUT(&pair[0], i, value);
                    PUT(&pair[1], i, before);
                }
            }
        exec_called(c, far_line(c->stream, &x, &y, &vs));
        for (int s = 0; s < COUNT; s++)
            for (int64_t i = starts[s]; i < starts[s] + BLOCK; i++) {
                uint8_t value = 0, want = (uint8_t)(s * 20 + i % 13 + 2);
                if (i < 0 || i >= n)
                    continue;
                GET(&pair[1], i, value);
                if (value != want)
                    exec_fail(c, "element %lld is %d, not %d", (long long)i, value, want);
            }
    }
    close_two(pair);
}

static void run_cube(struct exec_case *c)
{
    const int64_t l = 3, m = 50000, n = 30011 + c->gaps; /* 2^31 within the second plane, 2^32 in the third */
    const int64_t planes[][2] = {{0, 0}, {1, m - 1}, {2, 5}, {2, m - 1}};
    struct exec_space pair[2] = {{0}};
    if (two(c, pair, l * m * n)) {
        struct tile_u8_3 x = {pair[0].base, {l, m, n}, {m * n, n, 1}}, y = {pair[1].base, {l, m, n}, {m * n, n, 1}};
        for (int p = 0; p < 4; p++) {
            int64_t first = (planes[p][0] * m + planes[p][1]) * n;
            for (int64_t i = 0; i < n; i += 97) {
                uint8_t value = (uint8_t)(i + 50 * p);
                PUT(&pair[0], first + i, value);
            }
            exec_called(c, far_cube(c->stream, &x, &y, planes[p][0], planes[p][1]));
            for (int64_t i = 0; i < n; i += 97) {
                uint8_t value = 0;
                GET(&pair[1], first + i, value);
                if (value != (uint8_t)(i + 50 * p + 3))
                    exec_fail(c, "element %lld of plane %d is %d", (long long)i, p, value);
            }
        }
    }
    close_two(pair);
}

/* Indexes around 0, 2^31, 2^32 and the end, then outside. */
enum { PLACES = 21, INSIDE = 17 };
static struct exec_tensor *places(struct exec_case *c, int64_t n, struct tile_i64_1 *view)
{
    const int64_t at[PLACES] = {n - 1,         0,          far31,     far31 - 1, far31 + 1, far32,  far32 - 1,
                                far32 + 1,     5,          far31 + 5, far32 + 5, 17,        n - 2,  far31 / 2,
                                far31 * 3 / 2, far32 + 40, 40,        n,         -1,        -far31, n + far32};
    int64_t count = PLACES;
    struct exec_tensor *tensor = exec_input(c, EXEC_I64, 1, &count);
    for (int64_t i = 0; i < PLACES; i++)
        exec_set_int(tensor, i, at[i]);
    exec_bind(tensor, view, sizeof *view);
    return tensor;
}

static void run_gathered(struct exec_case *c)
{
    const int64_t n = far32 + 100;
    int64_t count = PLACES;
    struct exec_space space = {0};
    struct tile_i64_1 at;
    struct exec_tensor *index = places(c, n, &at), *y = exec_output(c, EXEC_U16, 1, &count);
    struct tile_u16_1 vy;
    EXEC_BIND(vy, y);
    if (!exec_space_open(c, &space, 2 * n))
        return;
    for (int64_t i = 0; i < INSIDE; i++) {
        uint16_t value = (uint16_t)(1000 + i);
        PUT(&space, exec_before_int(index, i), value);
    }
    struct tile_u16_1 x = {space.base, {n}, {1}};
    exec_called(c, far_gathered(c->stream, &x, &at, &vy));
    for (int64_t i = 0; i < PLACES; i++)
        exec_expect_int(c, y, i, i < INSIDE ? 1000 + i : 77);
    exec_space_close(&space);
}

static void run_scattered(struct exec_case *c)
{
    const int64_t n = far32 + 100;
    int64_t count = PLACES;
    struct exec_space space = {0};
    struct tile_i64_1 at;
    struct exec_tensor *index = places(c, n, &at), *x = exec_input(c, EXEC_U16, 1, &count);
    struct tile_u16_1 vx;
    EXEC_BIND(vx, x);
    if (!exec_space_open(c, &space, 2 * n))
        return;
    struct tile_u16_1 y = {space.base, {n}, {1}};
    exec_called(c, far_scattered(c->stream, &y, &at, &vx));
    for (int64_t i = 0; i < INSIDE; i++) {
        uint16_t value = 0;
        GET(&space, exec_before_int(index, i), value);
        if (value != (uint16_t)exec_before_int(x, i))
            exec_fail(c, "element %lld is %d", (long long)exec_before_int(index, i), value);
    }
    exec_space_close(&space);
}

static void run_counted(struct exec_case *c)
{
    const int64_t n = far32 + 100;
    int64_t count = PLACES;
    struct exec_space space = {0};
    struct tile_i64_1 at;
    struct exec_tensor *index = places(c, n, &at), *old = exec_output(c, EXEC_I32, 1, &count);
    struct tile_i32_1 vo;
    EXEC_BIND(vo, old);
    if (!exec_space_open(c, &space, 4 * n))
        return;
    for (int64_t i = 0; i < INSIDE; i++) {
        int32_t value = (int32_t)(100 * i);
        PUT(&space, exec_before_int(index, i), value);
    }
    struct tile_i32_1 total = {space.base, {n}, {1}};
    exec_called(c, far_counted(c->stream, &total, &at, &vo));
    for (int64_t i = 0; i < INSIDE; i++) {
        int32_t value = 0;
        exec_expect_int(c, old, i, 100 * i);
        GET(&space, exec_before_int(index, i), value);
        if (value != 100 * i + 5)
            exec_fail(c, "element %lld is %d", (long long)exec_before_int(index, i), value);
    }
    exec_space_close(&space);
}

static void run_pointed(struct exec_case *c)
{
    struct exec_space pair[2] = {{0}};
    struct tile_i64_1 at;
    struct exec_tensor *index = places(c, far32 + 100, &at);
    if (two(c, pair, 2 * (far32 + 100))) {
        at.extent[0] = INSIDE;
        for (int64_t i = 0; i < INSIDE; i++) {
            uint16_t value = (uint16_t)(300 + i);
            PUT(&pair[0], exec_before_int(index, i), value);
        }
        exec_called(c, far_pointed(c->stream, pair[0].base, pair[1].base, &at));
        for (int64_t i = 0; i < INSIDE; i++) {
            uint16_t value = 0;
            GET(&pair[1], exec_before_int(index, i), value);
            if (value != 302 + i)
                exec_fail(c, "element %lld is %d", (long long)exec_before_int(index, i), value);
        }
    }
    close_two(pair);
}

static void run_gathered_rows(struct exec_case *c)
{
    const int64_t stride = far31 / 2 + 8, rows = 5, d = 40;
    const int64_t ids[] = {4, 0, 3, 3, 1, 2, 5, -1, 4};
    int64_t count = sizeof ids / sizeof *ids;
    struct exec_space space = {0};
    struct exec_tensor *id = exec_input(c, EXEC_I32, 1, &count),
                       *y = exec_output(c, EXEC_F16, 2, (int64_t[]){count, d});
    struct tile_i32_1 vi;
    struct tile_f16_2 vy;
    for (int64_t i = 0; i < count; i++)
        exec_set_int(id, i, ids[i]);
    EXEC_BIND(vi, id);
    EXEC_BIND(vy, y);
    if (!exec_space_open(c, &space, 2 * ((rows - 1) * stride + d)))
        return;
    for (int64_t i = 0; i < rows * d; i++) {
        uint16_t value = (uint16_t)(0x3c00 + i); /* 1 + i/1024 */
        PUT(&space, i / d * stride + i % d, value);
    }
    struct tile_f16_2 table = {space.base, {rows, d}, {stride, 1}};
    exec_called(c, far_gathered_rows(c->stream, &table, &vi, &vy));
    for (int64_t i = 0; i < count * d; i++) {
        int64_t row = ids[i / d];
        exec_expect(c, y, i, row < 0 || row >= rows ? 0.0 : 1.0 + (double)(row * d + i % d) / 1024.0, 0.0);
    }
    exec_space_close(&space);
}

static void run_row_sums(struct exec_case *c)
{
    int64_t m = 4, n = 61, stride = far31 / 2 * 3 + 1;
    struct exec_space space = {0};
    struct exec_tensor *y = exec_output(c, EXEC_F32, 1, &m);
    struct tile_f32_1 vy;
    EXEC_BIND(vy, y);
    if (!exec_space_open(c, &space, 4 * ((m - 1) * stride + n)))
        return;
    for (int64_t i = 0; i < m * n; i++) {
        float value = (float)(i % 50);
        PUT(&space, i / n * stride + i % n, value);
    }
    struct tile_f32_2 x = {space.base, {m, n}, {stride, 1}};
    exec_called(c, far_row_sums(c->stream, &x, &vy));
    for (int64_t r = 0; r < m; r++) {
        double sum = 0.0;
        for (int64_t i = 0; i < n; i++)
            sum += (double)((r * n + i) % 50);
        exec_expect(c, y, r, sum, 0.0);
    }
    exec_space_close(&space);
}

/* Rows of a so far apart that the last ones are 2^32 away. */
static void run_product(struct exec_case *c)
{
    int64_t m = 70, k = 48, n = 40, stride = far31 / 32 + 8 + c->gaps;
    struct exec_space space = {0};
    struct exec_tensor *b = exec_input(c, EXEC_F16, 2, (int64_t[]){k, n}),
                       *y = exec_output(c, EXEC_F32, 2, (int64_t[]){m, n});
    struct tile_f16_2 vb;
    struct tile_f32_2 vy;
    EXEC_BIND(vb, b);
    EXEC_BIND(vy, y);
    if (!exec_space_open(c, &space, 2 * ((m - 1) * stride + k)))
        return;
    for (int64_t i = 0; i < m * k; i++) {
        uint16_t value = (uint16_t)(0x3c00 + 64 * (i % 16)); /* 1 + i/16 */
        PUT(&space, i / k * stride + i % k, value);
    }
    struct tile_f16_2 a = {space.base, {m, k}, {stride, 1}};
    exec_called(c, far_product_f16(c->stream, &a, &vb, &vy));
    for (int64_t i = 0; i < m * n; i++) {
        double sum = 0.0;
        for (int64_t p = 0; p < k; p++)
            sum += (1.0 + (double)((i / n * k + p) % 16) / 16.0) * exec_before(b, p * n + i % n);
        exec_expect(c, y, i, sum, 1e-5);
    }
    exec_space_close(&space);
}

static const struct exec_test tests[] = {
    {"rows", run_rows, 1, {1}, 1},           {"columns", run_columns, 1, {1}, 1},
    {"both", run_both, 1, {1}, 1},           {"line", run_line, 1, {1}, 1},
    {"cube", run_cube, 1, {1}, 1},           {"gathered", run_gathered, 1, {1}, 1},
    {"scattered", run_scattered, 1, {1}, 1}, {"gathered_rows", run_gathered_rows, 1, {1}, 1},
    {"counted", run_counted, 1, {1}, 1},     {"pointed", run_pointed, 1, {1}, 1},
    {"row_sums", run_row_sums, 1, {1}, 1},   {"product", run_product, 1, {1}, 1},
};

int main(int count, char **arguments) { return exec_main(count, arguments, tests, sizeof tests / sizeof *tests); }
