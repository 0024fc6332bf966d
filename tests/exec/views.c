#include "exec.h"
#include "views.h"
#include <sys/mman.h>

#define ONE(n) \
    1, (int64_t[]) { n }
#define TWO(m, n) \
    2, (int64_t[]) { m, n }

#define TRANSPOSE(type, TYPE)                                                                                       \
    static void run_transpose_##type(struct exec_case *c)                                                           \
    {                                                                                                               \
        int64_t m = c->extent[0], n = c->extent[1];                                                                 \
        struct exec_tensor *x = exec_input(c, EXEC_##TYPE, TWO(m, n)), *y = exec_output(c, EXEC_##TYPE, TWO(n, m)); \
        struct tile_##type##_2 vx, vy;                                                                              \
        EXEC_BIND(vx, x);                                                                                           \
        EXEC_BIND(vy, y);                                                                                           \
        exec_called(c, views_transpose_##type(c->stream, &vx, &vy));                                                \
        for (int64_t i = 0; i < m; i++)                                                                             \
            for (int64_t j = 0; j < n; j++)                                                                         \
                exec_expect(c, y, j *m + i, exec_before(x, i * n + j), 0.0);                                        \
    }
TRANSPOSE(f32, F32)
TRANSPOSE(f16, F16)
TRANSPOSE(i8, I8)

static void run_strided_sum(struct exec_case *c)
{
    int64_t m = c->extent[0], n = c->extent[1];
    struct exec_tensor *x = exec_strided(c, EXEC_F32, TWO(m, n), 0), *y, *z;
    struct tile_f32_2 vx, vy, vz;
    c->columns_first = !c->columns_first;
    y = exec_strided(c, EXEC_F32, TWO(m, n), 0);
    z = exec_strided(c, EXEC_F32, TWO(m, n), 1);
    EXEC_BIND(vx, x);
    EXEC_BIND(vy, y);
    EXEC_BIND(vz, z);
    exec_called(c, views_strided_sum(c->stream, &vx, &vy, &vz));
    for (int64_t i = 0; i < m * n; i++)
        exec_expect(c, z, i, exec_before(x, i) + 2.0 * exec_before(y, i), 1e-7);
}

static void run_heads(struct exec_case *c)
{
    int64_t z = c->extent[0], l = c->extent[1], h = c->extent[2], d = c->extent[3];
    struct exec_tensor *x = exec_input(c, EXEC_F32, 4, (int64_t[]){z, l, h, d}),
                       *y = exec_output(c, EXEC_F32, 4, (int64_t[]){z, h, l, d});
    struct tile_f32_4 vx, vy;
    EXEC_BIND(vx, x);
    EXEC_BIND(vy, y);
    exec_called(c, views_heads(c->stream, &vx, &vy));
    for (int64_t i = 0; i < z * l * h * d; i++) {
        int64_t at = i % d, head = i / d % h, row = i / d / h % l, batch = i / d / h / l;
        exec_expect(c, y, ((batch * h + head) * l + row) * d + at, exec_before(x, i), 0.0);
    }
}

static void run_segments(struct exec_case *c)
{
    int64_t s = c->extent[0], d = c->extent[1], total = 0;
    struct exec_tensor *cu = exec_range(c, EXEC_I32, ONE(s + 1), 0, 9), *y = exec_output(c, EXEC_F32, TWO(s, d));
    for (int64_t i = 0; i <= s; i++) {
        int64_t length = exec_before_int(cu, i);
        exec_set_int(cu, i, total);
        total += i < s ? length : 0;
    }
    struct exec_tensor *x = exec_input(c, EXEC_F32, TWO(total, d));
    struct tile_f32_2 vx, vy;
    struct tile_i32_1 vc;
    EXEC_BIND(vx, x);
    EXEC_BIND(vy, y);
    EXEC_BIND(vc, cu);
    exec_called(c, views_segments(c->stream, &vx, &vc, &vy));
    for (int64_t i = 0; i < s * d; i++) {
        double sum = 0.0;
        for (int64_t r = exec_before_int(cu, i / d); r < exec_before_int(cu, i / d + 1); r++)
            sum += exec_before(x, r * d + i % d);
        exec_expect(c, y, i, sum, 1e-5);
    }
}

static void run_optional(struct exec_case *c)
{
    int64_t n = c->extent[0];
    int there = c->gaps;
    struct exec_tensor *x = exec_input(c, EXEC_F32, ONE(n)), *bias = exec_input(c, EXEC_F32, ONE(n)),
                       *y = exec_output(c, EXEC_F32, ONE(n));
    struct exec_tensor *seen = exec_output(c, EXEC_BOOL, ONE(n));
    struct tile_f32_1 vx, vb, vy;
    struct tile_bool_1 vs;
    EXEC_BIND(vx, x);
    EXEC_BIND(vb, bias);
    EXEC_BIND(vy, y);
    EXEC_BIND(vs, seen);
    exec_called(c, views_optional(c->stream, &vx, there ? &vb : NULL, &vy, there ? NULL : &vs));
    for (int64_t i = 0; i < n; i++) {
        exec_expect(c, y, i, exec_before(x, i) + (there ? 3.0 * exec_before(bias, i) : 0.0), 1e-6);
        if (!there)
            exec_expect_int(c, seen, i, 1);
        else if (exec_value_int(seen, i) != exec_before_int(seen, i))
            exec_fail(c, "an absent view was written");
    }
}

static double at(const struct exec_tensor *x, int64_t m, int64_t n, int64_t i, int64_t j, double other)
{
    return i < 0 || j < 0 || i >= m || j >= n ? other : exec_before(x, i * n + j);
}

static void run_stencil(struct exec_case *c)
{
    int64_t m = c->extent[0], n = c->extent[1];
    struct exec_tensor *x = exec_input(c, EXEC_F32, TWO(m, n)), *y = exec_output(c, EXEC_F32, TWO(m, n));
    struct tile_f32_2 vx, vy;
    EXEC_BIND(vx, x);
    EXEC_BIND(vy, y);
    exec_called(c, views_stencil(c->stream, &vx, &vy));
    for (int64_t i = 0; i < m; i++)
        for (int64_t j = 0; j < n; j++)
            exec_expect(c, y, i * n + j,
                        at(x, m, n, i, j - 1, -1.0) + 2.0 * at(x, m, n, i, j + 1, 1.0) +
                            4.0 * at(x, m, n, i - 1, j, 0.0) + 8.0 * at(x, m, n, i + 1, j, 0.0) +
                            at(x, m, n, i, j, 0.0),
                        1e-5);
}

static void run_shapes(struct exec_case *c)
{
    int64_t m = c->extent[0], n = 32;
    struct exec_tensor *x = exec_input(c, EXEC_F32, TWO(m, n)), *a = exec_output(c, EXEC_F32, TWO(m, n)),
                       *b = exec_output(c, EXEC_F32, TWO(m, n));
    struct tile_f32_2 vx, va, vb;
    EXEC_BIND(vx, x);
    EXEC_BIND(va, a);
    EXEC_BIND(vb, b);
    exec_called(c, views_shapes(c->stream, &vx, &va, &vb));
    for (int64_t r = 0; r < m; r++) {
        int64_t top = r / 8 * 8;
        double sum = 0.0;
        for (int64_t j = 0; j < 16; j++)
            sum += exec_before(x, r * n + j);
        for (int64_t j = 0; j < n; j++) {
            int64_t from = j * 8 + r - top; /* of the tile's 256 elements in order */
            exec_expect(c, a, r * n + j, at(x, m, n, top + from / 32, from % 32, 0.0), 0.0);
            exec_expect(c, b, r * n + j, exec_before(x, top * n + j) + sum * (double)j, 1e-5);
        }
    }
}

static void run_fill(struct exec_case *c)
{
    int64_t l = c->extent[0], m = c->extent[1], n = c->extent[2];
    struct exec_tensor *x = exec_output(c, EXEC_I64, 3, (int64_t[]){l, m, n});
    struct tile_i64_3 vx;
    EXEC_BIND(vx, x);
    exec_called(c, views_fill(c->stream, &vx, INT64_C(1) << 40));
    for (int64_t i = 0; i < l * m * n; i++)
        exec_expect_int(c, x, i, i + (INT64_C(1) << 40));
}

static void run_shift(struct exec_case *c)
{
    int64_t m = c->extent[0], n = c->extent[1];
    struct exec_tensor *x = exec_input(c, EXEC_F32, TWO(m, n)), *y = exec_output(c, EXEC_F32, TWO(m, n)),
                       *z = exec_inout(c, EXEC_F32, TWO(m, n));
    struct tile_f32_2 vx, vy, vz;
    EXEC_BIND(vx, x);
    EXEC_BIND(vy, y);
    EXEC_BIND(vz, z);
    int status = views_shift(c->stream, &vx, &vy);
    exec_called(c, status ? status : views_shift(c->stream, &vz, &vz));
    for (int64_t i = 0; i < m * n; i++) {
        exec_expect(c, y, i, at(x, m, n, i / n, i % n + 1, 0.5) + exec_before(x, i), 1e-6);
        exec_expect(c, z, i, at(z, m, n, i / n, i % n + 1, 0.5) + exec_before(z, i), 1e-6);
    }
}

/* Rows 2^31 + 5 elements apart: an offset of 32 bits would land elsewhere.  The pages between are never touched. */
static void run_far(struct exec_case *c)
{
    const int64_t rows = 3, columns = 20, stride = (INT64_C(1) << 31) + 5;
    size_t size = (size_t)(2 * stride + columns) * sizeof(float);
    struct tile_f32_2 x = {NULL, {rows, columns}, {stride, 1}}, y;
    if (c->stream != TILE_CPU || c->gaps)
        return;
    x.data = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    y = x;
    y.data = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (x.data == MAP_FAILED || y.data == MAP_FAILED)
        return; /* not so much address space */
    for (int64_t i = 0; i < rows * columns; i++)
        x.data[i / columns * stride + i % columns] = (float)i;
    exec_called(c, views_strided_sum(c->stream, &x, &x, &y));
    for (int64_t i = 0; i < rows * columns; i++)
        if (y.data[i / columns * stride + i % columns] != 3.0f * (float)i)
            exec_fail(c, "element %lld of far rows is wrong", (long long)i);
    munmap(x.data, size);
    munmap(y.data, size);
}

static const struct exec_test tests[] = {
    {"transpose_f32", run_transpose_f32, 2, {50, 70}, 0},
    {"transpose_f16", run_transpose_f16, 2, {50, 70}, 0},
    {"transpose_i8", run_transpose_i8, 2, {50, 70}, 0},
    {"strided_sum", run_strided_sum, 2, {40, 50}, 0},
    {"heads", run_heads, 4, {2, 11, 3, 20}, 0},
    {"segments", run_segments, 2, {6, 40}, 0},
    {"optional", run_optional, 1, {200}, 0},
    {"stencil", run_stencil, 2, {5, 150}, 0},
    {"shapes", run_shapes, 1, {20}, 0},
    {"far", run_far, 1, {1}, 1},
    {"shift", run_shift, 2, {4, 200}, 0},
    {"fill", run_fill, 3, {2, 10, 40}, 0},
};

int main(int count, char **arguments) { return exec_main(count, arguments, tests, sizeof tests / sizeof *tests); }
