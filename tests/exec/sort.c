#include "exec.h"
#include "sort.h"
#include <math.h>
#include <stdlib.h>

#define TWO(m, n) \
    2, (int64_t[]) { m, n }

struct item {
    double real;
    int64_t whole;
    uint64_t natural;
    int64_t position;
};
static int descends;

/* Numbers in order, -0 before 0, NaN behind all of them; of equals the smaller position. */
static int compare(const void *left, const void *right)
{
    const struct item *a = left, *b = right;
    int order = 0;
    if (isnan(a->real) || isnan(b->real)) {
        order = !isnan(b->real) - !isnan(a->real);
        if (order)
            return order;
    } else if (a->real != b->real) {
        order = a->real < b->real ? -1 : 1;
    } else if (signbit(a->real) != signbit(b->real)) {
        order = signbit(a->real) ? -1 : 1;
    } else if (a->whole != b->whole) {
        order = a->whole < b->whole ? -1 : 1;
    } else if (a->natural != b->natural) {
        order = a->natural < b->natural ? -1 : 1;
    }
    if (order)
        return descends ? -order : order;
    return a->position < b->position ? -1 : a->position > b->position;
}

static int64_t tile_of(const int64_t *tiles, int64_t n)
{
    while (*tiles < n)
        tiles++;
    return *tiles;
}

/* Elements first, first + step, ... of a tensor of floats, and others behind them up to `tile`. */
static struct item *line_of(const struct exec_tensor *x, int64_t first, int64_t step, int64_t n, int64_t tile,
                            double other, int descending)
{
    struct item *line = calloc((size_t)tile, sizeof *line);
    for (int64_t i = 0; i < tile; i++)
        line[i] = (struct item){.real = i < n ? exec_before(x, first + i * step) : other, .position = i};
    descends = descending;
    qsort(line, (size_t)tile, sizeof *line, compare);
    return line;
}

/* exec_expect takes 0 for -0. */
static void expect_float(struct exec_case *c, const struct exec_tensor *t, int64_t index, double want)
{
    exec_expect(c, t, index, want, 0.0);
    if (want == 0 && signbit(exec_value(t, index)) != signbit(want))
        exec_fail(c, "element %lld is a zero of the other sign", (long long)index);
}

#define ROWS(type, TYPE)                                                                                             \
    static void run_rows_##type(struct exec_case *c)                                                                 \
    {                                                                                                                \
        int64_t m = c->extent[0], n = c->extent[1], tile = tile_of((int64_t[]){7, 64, 200, 1024, 4096}, n);          \
        struct exec_tensor *x = exec_input(c, EXEC_##TYPE, TWO(m, n)), *up = exec_output(c, EXEC_##TYPE, TWO(m, n)), \
                           *down = exec_output(c, EXEC_##TYPE, TWO(m, n)), *p = exec_output(c, EXEC_I32, TWO(m, n)); \
        struct tile_##type##_2 vx, vu, vd;                                                                           \
        struct tile_i32_2 vp;                                                                                        \
        for (int64_t i = 0; i < m * n; i += 3) /* ties, and zeros of both signs */                                   \
            exec_set(x, i, i % 2 ? -0.0 : (double)(i % 5) - 2);                                                      \
        EXEC_BIND(vx, x);                                                                                            \
        EXEC_BIND(vu, up);                                                                                           \
        EXEC_BIND(vd, down);                                                                                         \
        EXEC_BIND(vp, p);                                                                                            \
        exec_called(c, sort_rows_##type(c->stream, &vx, &vu, &vd, &vp));                                             \
        for (int64_t r = 0; r < m; r++)                                                                              \
            for (int down_now = 0; down_now < 2; down_now++) {                                                       \
                struct item *line = line_of(x, r * n, 1, n, tile, NAN, down_now);                                    \
                for (int64_t i = 0; i < n; i++) {                                                                    \
                    expect_float(c, down_now ? down : up, r *n + i, line[i].real);                                   \
                    if (down_now)                                                                                    \
                        exec_expect_int(c, p, r *n + i, line[i].position);                                           \
                }                                                                                                    \
                free(line);                                                                                          \
            }                                                                                                        \
    }
ROWS(f32, F32)
ROWS(f64, F64)
ROWS(f16, F16)
ROWS(bf16, BF16)

/* Keys from a narrow range, so that the order of equals shows in what follows them; every ninth is anything. */
#define FOLLOW(type, TYPE, most, natural_key)                                                                        \
    static void run_follow_##type(struct exec_case *c)                                                               \
    {                                                                                                                \
        int64_t m = c->extent[0], n = c->extent[1], tile = tile_of((int64_t[]){8, 100, 512, 2048}, n);               \
        struct exec_tensor *x = exec_input(c, EXEC_##TYPE, TWO(m, n)), *y = exec_input(c, EXEC_F32, TWO(m, n)),      \
                           *a = exec_output(c, EXEC_##TYPE, TWO(m, n)), *b = exec_output(c, EXEC_F32, TWO(m, n));    \
        struct tile_##type##_2 vx, va;                                                                               \
        struct tile_f32_2 vy, vb;                                                                                    \
        for (int64_t i = 0; i < m * n; i++)                                                                          \
            if (i % 9)                                                                                               \
                exec_set_int(x, i, i * 7 % 5);                                                                       \
        EXEC_BIND(vx, x);                                                                                            \
        EXEC_BIND(vy, y);                                                                                            \
        EXEC_BIND(va, a);                                                                                            \
        EXEC_BIND(vb, b);                                                                                            \
        exec_called(c, sort_follow_##type(c->stream, &vx, &vy, &va, &vb));                                           \
        struct item *line = calloc((size_t)tile, sizeof *line);                                                      \
        for (int64_t r = 0; r < m; r++) {                                                                            \
            for (int64_t i = 0; i < tile; i++) {                                                                     \
                int64_t key = i < n ? exec_before_int(x, r * n + i) : (int64_t)(most);                               \
                line[i] = (struct item){.whole = natural_key ? 0 : key, .natural = natural_key ? (uint64_t)key : 0}; \
                line[i].position = i;                                                                                \
            }                                                                                                        \
            descends = 0;                                                                                            \
            qsort(line, (size_t)tile, sizeof *line, compare);                                                        \
            for (int64_t i = 0; i < n; i++) {                                                                        \
                exec_expect_int(c, a, r *n + i, natural_key ? (int64_t)line[i].natural : line[i].whole);             \
                double want = line[i].position < n ? exec_before(y, r * n + line[i].position) : 0.0;                 \
                exec_expect(c, b, r *n + i, want, 0.0);                                                              \
            }                                                                                                        \
        }                                                                                                            \
        free(line);                                                                                                  \
    }
FOLLOW(i32, I32, INT32_MAX, 0)
FOLLOW(u8, U8, UINT8_MAX, 1)
FOLLOW(i16, I16, INT16_MAX, 0)
FOLLOW(u64, U64, UINT64_MAX, 1)

static void run_columns(struct exec_case *c)
{
    int64_t m = c->extent[0], n = c->extent[1], tile = tile_of((int64_t[]){16, 48, 128, 512}, m);
    struct exec_tensor *x = exec_input(c, EXEC_F32, TWO(m, n)), *y = exec_output(c, EXEC_F32, TWO(m, n)),
                       *p = exec_output(c, EXEC_I32, TWO(m, n));
    struct tile_f32_2 vx, vy;
    struct tile_i32_2 vp;
    EXEC_BIND(vx, x);
    EXEC_BIND(vy, y);
    EXEC_BIND(vp, p);
    exec_called(c, sort_columns(c->stream, &vx, &vy, &vp));
    for (int64_t k = 0; k < n; k++) {
        struct item *line = line_of(x, k, n, m, tile, -INFINITY, 1);
        for (int64_t i = 0; i < m; i++) {
            expect_float(c, y, i * n + k, line[i].real);
            exec_expect_int(c, p, i * n + k, line[i].position);
        }
        free(line);
    }
}

static void run_largest(struct exec_case *c)
{
    static const int kept[3] = {3, 8, 48};
    int64_t m = c->extent[0], n = c->extent[1], tile = tile_of((int64_t[]){64, 1024, 4096}, n);
    struct exec_tensor *x = exec_input(c, EXEC_F32, TWO(m, n)), *v[3], *p[3];
    struct tile_f32_2 vx, vv[3];
    struct tile_i32_2 vp[3];
    EXEC_BIND(vx, x);
    for (int k = 0; k < 3; k++) {
        v[k] = exec_output(c, EXEC_F32, TWO(m, kept[k]));
        p[k] = exec_output(c, EXEC_I32, TWO(m, kept[k]));
        EXEC_BIND(vv[k], v[k]);
        EXEC_BIND(vp[k], p[k]);
    }
    exec_called(c, sort_largest(c->stream, &vx, &vv[0], &vp[0], &vv[1], &vp[1], &vv[2], &vp[2]));
    for (int64_t r = 0; r < m; r++)
        for (int k = 0; k < 3; k++) {
            struct item *line = line_of(x, r * n, 1, n, tile, -INFINITY, k < 2);
            for (int64_t i = 0; i < kept[k]; i++) {
                expect_float(c, v[k], r * kept[k] + i, line[i].real);
                exec_expect_int(c, p[k], r * kept[k] + i, line[i].position);
            }
            free(line);
        }
}

static void run_route(struct exec_case *c)
{
    int64_t m = c->extent[0], n = c->extent[1], tile = tile_of((int64_t[]){8, 60, 128, 512}, n);
    struct exec_tensor *x = exec_input(c, EXEC_BF16, TWO(m, n)), *at = exec_output(c, EXEC_I32, TWO(m, 2)),
                       *weight = exec_output(c, EXEC_F32, TWO(m, 2));
    struct tile_bf16_2 vx;
    struct tile_i32_2 va;
    struct tile_f32_2 vw;
    EXEC_BIND(vx, x);
    EXEC_BIND(va, at);
    EXEC_BIND(vw, weight);
    exec_called(c, sort_route(c->stream, &vx, &va, &vw));
    for (int64_t r = 0; r < m; r++) {
        struct item *line = line_of(x, r * n, 1, n, tile, -INFINITY, 1);
        double most = isnan(line[0].real) ? NAN : line[0].real;
        double first = exp(line[0].real - most), second = exp(line[1].real - most);
        exec_expect_int(c, at, 2 * r, line[0].position);
        exec_expect_int(c, at, 2 * r + 1, line[1].position);
        exec_expect(c, weight, 2 * r, first / (first + second), 1e-5);
        exec_expect(c, weight, 2 * r + 1, second / (first + second), 1e-5);
        free(line);
    }
}

static void run_counts(struct exec_case *c)
{
    int64_t m = c->extent[0], n = c->extent[1];
    struct exec_tensor *x = exec_input(c, EXEC_U8, TWO(m, n)), *y = exec_range(c, EXEC_I32, TWO(m, n), -5, 45),
                       *a = exec_output(c, EXEC_I32, TWO(m, 256)), *b = exec_output(c, EXEC_I32, TWO(m, 37));
    struct tile_u8_2 vx;
    struct tile_i32_2 vy, va, vb;
    for (int64_t i = 0; i < m * n; i += 2) /* many of one */
        exec_set_int(x, i, 255);
    EXEC_BIND(vx, x);
    EXEC_BIND(vy, y);
    EXEC_BIND(va, a);
    EXEC_BIND(vb, b);
    exec_called(c, sort_counts(c->stream, &vx, &vy, &va, &vb));
    for (int64_t r = 0; r < m; r++) {
        int64_t bytes[256] = {0}, numbers[37] = {0};
        for (int64_t i = 0; i < n; i++) {
            int64_t number = exec_before_int(y, r * n + i);
            bytes[exec_before_int(x, r * n + i) & 255]++;
            if (number >= 0 && number < 37)
                numbers[number]++;
        }
        for (int i = 0; i < 256; i++)
            exec_expect_int(c, a, r * 256 + i, bytes[i]);
        for (int i = 0; i < 37; i++)
            exec_expect_int(c, b, r * 37 + i, numbers[i]);
    }
}

int main(int count, char **arguments)
{
    static const struct exec_test tests[] = {
        {"rows_f32", run_rows_f32, 2, {3, 1500}, 0},    {"rows_f64", run_rows_f64, 2, {3, 900}, 0},
        {"rows_f16", run_rows_f16, 2, {4, 180}, 0},     {"rows_bf16", run_rows_bf16, 2, {5, 61}, 0},
        {"follow_i32", run_follow_i32, 2, {3, 500}, 0}, {"follow_u8", run_follow_u8, 2, {3, 90}, 0},
        {"follow_i16", run_follow_i16, 2, {3, 300}, 0}, {"follow_u64", run_follow_u64, 2, {5, 77}, 0},
        {"columns", run_columns, 2, {45, 21}, 0},       {"largest", run_largest, 2, {3, 1900}, 0},
        {"counts", run_counts, 2, {3, 700}, 0},         {"route", run_route, 2, {37, 60}, 0},
    };
    return exec_main(count, arguments, tests, sizeof tests / sizeof *tests);
}
