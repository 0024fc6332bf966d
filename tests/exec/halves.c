#include "exec.h"
#include "halves.h"

#include <stdlib.h>

#define ROWS(m, k) \
    2, (int64_t[]) { m, k }
#define ONE(n) \
    1, (int64_t[]) { n }

/* Element k of a row of n, of bytes that hold two each. */
static int64_t half_of(int64_t byte, int64_t k, int is_signed)
{
    int64_t nibble = byte >> (k % 2 * 4) & 15;
    return is_signed && nibble > 7 ? nibble - 16 : nibble;
}
static int64_t before(const struct exec_tensor *t, int64_t m, int64_t k, int64_t n, int is_signed)
{
    return half_of(exec_before_int(t, m * (n / 2) + k / 2), k, is_signed);
}

#define TAKEN(type, TYPE)                                                                                              \
    static void run_taken_##type(struct exec_case *c)                                                                  \
    {                                                                                                                  \
        int64_t m = c->extent[0], n = 2 * c->extent[1];                                                                \
        struct exec_tensor *w = exec_input(c, EXEC_I8, ROWS(m, n / 2)), *v = exec_input(c, EXEC_U8, ROWS(m, n / 2));   \
        struct exec_tensor *y = exec_output(c, EXEC_##TYPE, ROWS(m, n)), *z = exec_output(c, EXEC_##TYPE, ROWS(m, n)); \
        struct tile_i8_2 vw;                                                                                           \
        struct tile_u8_2 vv;                                                                                           \
        struct tile_##type##_2 vy, vz;                                                                                 \
        EXEC_BIND(vw, w);                                                                                              \
        EXEC_BIND(vv, v);                                                                                              \
        EXEC_BIND(vy, y);                                                                                              \
        EXEC_BIND(vz, z);                                                                                              \
        exec_called(c, halves_taken_##type(c->stream, &vw, &vv, &vy, &vz));                                            \
        for (int64_t i = 0; i < m * n; i++) {                                                                          \
            exec_expect(c, y, i, (double)before(w, i / n, i % n, n, 1), 0.0);                                          \
            exec_expect(c, z, i, (double)before(v, i / n, i % n, n, 0), 0.0);                                          \
        }                                                                                                              \
    }
TAKEN(i8, I8)
TAKEN(f16, F16)
TAKEN(bf16, BF16)
TAKEN(f32, F32)

static void run_stored(struct exec_case *c)
{
    int64_t m = c->extent[0], n = 2 * c->extent[1];
    struct exec_tensor *x = exec_input(c, EXEC_I8, ROWS(m, n)), *y = exec_input(c, EXEC_U8, ROWS(m, n));
    struct exec_tensor *w = exec_output(c, EXEC_I8, ROWS(m, n / 2)), *v = exec_inout(c, EXEC_U8, ROWS(m, n / 2));
    struct tile_i8_2 vx, vw;
    struct tile_u8_2 vy, vv;
    EXEC_BIND(vx, x);
    EXEC_BIND(vy, y);
    EXEC_BIND(vw, w);
    EXEC_BIND(vv, v);
    exec_called(c, halves_stored(c->stream, &vx, &vy, &vw, &vv));
    for (int64_t i = 0; i < m * n / 2; i++) {
        int64_t low = exec_before_int(v, i) + exec_before_int(y, 2 * i), high = exec_before_int(y, 2 * i + 1);
        high += exec_before_int(v, i) >> 4;
        exec_expect_int(c, w, i,
                        (int8_t)((exec_before_int(x, 2 * i) & 15) | (exec_before_int(x, 2 * i + 1) & 15) << 4));
        exec_expect_int(c, v, i, (low & 15) | (high & 15) << 4);
    }
}

static void run_places(struct exec_case *c, int64_t from, int there)
{
    enum { WIDE = 32, NUMBERS = 64 };
    int64_t m = c->extent[0], n = 2 * c->extent[1], sum;
    struct exec_tensor *w = exec_input(c, EXEC_I8, ROWS(m, n / 2)), *v = exec_input(c, EXEC_U8, ROWS(m, n / 2));
    struct exec_tensor *at = exec_range(c, EXEC_I32, ONE(NUMBERS), -3, n + 3);
    struct exec_tensor *a = exec_output(c, EXEC_I8, ROWS(m, WIDE)), *b = exec_output(c, EXEC_U8, ROWS(m, NUMBERS));
    struct exec_tensor *in = exec_output(c, EXEC_BOOL, ROWS(m, WIDE)), *d = exec_output(c, EXEC_I8, ROWS(m, WIDE));
    struct exec_tensor *e = exec_output(c, EXEC_I64, ONE(6)), *s = exec_output(c, EXEC_I32, ONE(m));
    struct tile_i8_2 vw, va, vd;
    struct tile_u8_2 vv, vb;
    struct tile_i32_1 vat, vs;
    struct tile_bool_2 vin;
    struct tile_i64_1 ve;
    EXEC_BIND(vw, w);
    EXEC_BIND(vv, v);
    EXEC_BIND(vat, at);
    EXEC_BIND(va, a);
    EXEC_BIND(vb, b);
    EXEC_BIND(vin, in);
    EXEC_BIND(vd, d);
    EXEC_BIND(ve, e);
    EXEC_BIND(vs, s);
    exec_called(c, halves_places(c->stream, &vw, there ? &vv : NULL, &vat, from, &va, &vb, &vin, &vd, &ve, &vs));
    for (int64_t r = 0; r < m; r++) {
        sum = 0;
        for (int64_t i = 0; i < WIDE; i++) {
            int64_t k = from + i, p = 2 - 4 + i;
            int inside = k >= 0 && k < n;
            exec_expect_int(c, a, r * WIDE + i, inside ? before(w, r, k, n, 1) : 99);
            exec_expect_int(c, in, r * WIDE + i, inside);
            exec_expect_int(c, d, r * WIDE + i, i % 3 && p >= 2 && p < n - 2 ? before(w, r, p, n, 1) : 0);
            sum += inside && i < 16 ? before(w, r, k, n, 1) * (i == 0 ? 2 : 1) : 0;
        }
        exec_expect_int(c, s, r, sum);
        for (int64_t i = 0; i < NUMBERS; i++) {
            int64_t k = exec_before_int(at, i);
            exec_expect_int(c, b, r * NUMBERS + i, there && k >= 0 && k < n ? before(v, r, k, n, 0) : 99);
        }
    }
    for (int i = 0; m && i < 6; i++)
        exec_expect_int(c, e, i,
                        i < 2    ? n
                        : i == 2 ? n > 4 ? n - 4 : 0
                        : i == 3 ? 2 * w->stride[0]
                        : i == 4 ? 1
                        : there  ? n
                                 : -1);
}
static void run_places_even(struct exec_case *c) { run_places(c, 6, 1); }
static void run_places_odd(struct exec_case *c) { run_places(c, 3, 0); }
static void run_places_before(struct exec_case *c) { run_places(c, -5, 1); }

/* ---- writing: the elements of a view one by one, as they should be ---- */

struct model {
    int64_t n;
    unsigned char *element; /* 4 bits each */
};

static struct model model_of(const struct exec_tensor *t, int64_t n)
{
    struct model m = {n, calloc((size_t)(2 * t->elements + 1), 1)};
    for (int64_t i = 0; i < 2 * t->elements; i++)
        m.element[i] = (unsigned char)(exec_before_int(t, i / 2) >> i % 2 * 4 & 15);
    return m;
}

static void put(struct model *m, int64_t row, int64_t k, int64_t value)
{
    if (k >= 0 && k < m->n)
        m->element[row * m->n + k] = (unsigned char)(value & 15);
}

static void compare(struct exec_case *c, const struct exec_tensor *t, struct model *m, int is_signed)
{
    for (int64_t i = 0; i < t->elements; i++) {
        int byte = m->element[2 * i] | m->element[2 * i + 1] << 4;
        exec_expect_int(c, t, i, is_signed ? (int8_t)byte : byte);
    }
    free(m->element);
}

static void run_written(struct exec_case *c, int64_t from)
{
    enum { WIDE = 32, NUMBERS = 64 };
    int64_t m = c->extent[0], n = 2 * c->extent[1];
    struct exec_tensor *w = exec_inout(c, EXEC_I8, ROWS(m, n / 2)), *v = exec_inout(c, EXEC_U8, ROWS(m, n / 2));
    struct exec_tensor *at = exec_range(c, EXEC_I32, ONE(NUMBERS), -3, n + 3),
                       *x = exec_input(c, EXEC_U8, ROWS(m, WIDE));
    struct exec_tensor *keep = exec_input(c, EXEC_BOOL, ROWS(m, WIDE));
    struct tile_i8_2 vw;
    struct tile_u8_2 vv, vx;
    struct tile_i32_1 vat;
    struct tile_bool_2 vkeep;
    EXEC_BIND(vw, w);
    EXEC_BIND(vv, v);
    EXEC_BIND(vat, at);
    EXEC_BIND(vx, x);
    EXEC_BIND(vkeep, keep);
    exec_called(c, halves_written(c->stream, &vw, &vv, &vat, &vx, &vkeep, from));
    struct model mw = model_of(w, n), mv = model_of(v, n);
    for (int64_t r = 0; r < m; r++) {
        put(&mw, r, from, r + 5);
        for (int64_t i = 0; i < WIDE; i++) {
            int64_t t = exec_before_int(x, r * WIDE + i);
            if (exec_before_int(keep, r * WIDE + i))
                put(&mv, r, 4 + i, t);
            put(&mw, r, from + i, t - 3);
        }
        if (from + 1 >= 0 && from + 1 < n)
            put(&mw, r, from + 1, mw.element[r * n + from + 1] + 1);
        for (int64_t i = 0; i < WIDE; i++)
            if (exec_before_int(keep, r * WIDE + i))
                put(&mw, r, from + 3 + i, exec_before_int(x, r * WIDE + i) + 1);
        for (int64_t i = 0; i < NUMBERS; i++)
            put(&mv, r, exec_before_int(at, i), 3 * exec_before_int(at, i));
        for (int64_t i = 0; i < NUMBERS; i++)
            if (exec_before_int(at, i) % 3 == 0)
                put(&mv, r, 7 - exec_before_int(at, i), exec_before_int(at, i) + 1);
    }
    compare(c, w, &mw, 1);
    compare(c, v, &mv, 0);
}
static void run_written_even(struct exec_case *c) { run_written(c, 6); }
static void run_written_odd(struct exec_case *c) { run_written(c, 3); }
static void run_written_before(struct exec_case *c) { run_written(c, -5); }

static void run_rows(struct exec_case *c, int64_t column)
{
    enum { WIDE = 32, ROWS_AT = 8 };
    int64_t m = c->extent[0], n = 2 * c->extent[1];
    struct exec_tensor *w = exec_inout(c, EXEC_U8, ROWS(m, n / 2));
    struct exec_tensor *row = exec_range(c, EXEC_I32, ONE(ROWS_AT), -1, m), *x = exec_packed(c, EXEC_U8, ONE(WIDE), 0);
    struct tile_u8_2 vw;
    struct tile_i32_1 vrow;
    struct tile_u8_1 vx;
    EXEC_BIND(vw, w);
    EXEC_BIND(vrow, row);
    EXEC_BIND(vx, x);
    exec_called(c, halves_written_rows(c->stream, &vw, &vrow, &vx, column));
    struct model mw = model_of(w, n);
    for (int64_t i = 0; i < ROWS_AT; i++)
        for (int64_t k = 0, r = exec_before_int(row, i); k < WIDE && r >= 0 && r < m; k++)
            if (r % 2 == 0 && k % 3)
                put(&mw, r, column + k, exec_before_int(x, k));
    for (int64_t r = 0; r < m; r++)
        put(&mw, r, column, r / 4 * 4 + r % 4);
    compare(c, w, &mw, 0);
}
static void run_rows_even(struct exec_case *c) { run_rows(c, 4); }
static void run_rows_odd(struct exec_case *c) { run_rows(c, 9); }

#define ANY(name, type, TYPE, is_signed, halves, add, times)                                             \
    static void run_any_##name(struct exec_case *c)                                                      \
    {                                                                                                    \
        int64_t m = c->extent[0], n = 2 * c->extent[1], wide = halves ? n / 2 : n;                       \
        struct exec_tensor *w = exec_input(c, EXEC_##TYPE, ROWS(m, wide)),                               \
                           *q = exec_output(c, EXEC_##TYPE, ROWS(m, wide));                              \
        struct exec_tensor *y = exec_output(c, EXEC_F32, ONE(m)), *s = exec_output(c, EXEC_I32, ONE(m)); \
        struct tile_##type##_2 vw, vq;                                                                   \
        struct tile_f32_1 vy;                                                                            \
        struct tile_i32_1 vs;                                                                            \
        EXEC_BIND(vw, w);                                                                                \
        EXEC_BIND(vq, q);                                                                                \
        EXEC_BIND(vy, y);                                                                                \
        EXEC_BIND(vs, s);                                                                                \
        exec_called(c, halves_any_##name(c->stream, &vw, &vq, &vy, &vs));                                \
        for (int64_t i = 0; i < m; i++) {                                                                \
            int64_t sum = 0, few = 0;                                                                    \
            for (int64_t k = 0; k < n; k++) {                                                            \
                int64_t v = halves ? before(w, i, k, n, is_signed) : exec_before_int(w, i * n + k);      \
                int64_t got = exec_value_int(q, halves ? i * (n / 2) + k / 2 : i * n + k);               \
                int64_t mask = halves ? 15 : 255;                                                        \
                if (((halves ? got >> k % 2 * 4 : got) & mask) != ((v + (add)) & mask))                  \
                    exec_fail(c, "element %lld of row %lld is wrong", (long long)k, (long long)i);       \
                sum += v;                                                                                \
                few += k >= 2 && k < 6 ? v : 0;                                                          \
            }                                                                                            \
            exec_expect(c, y, i, (double)sum, 0.0);                                                      \
            exec_expect_int(c, s, i, (times) * few);                                                     \
        }                                                                                                \
    }
ANY(i4, i8, I8, 1, 1, 1, 1)
ANY(u4, u8, U8, 0, 1, 2, 1)
ANY(i8, i8, I8, 1, 0, 3, 10)

static const struct exec_test tests[] = {
    {"any_i4", run_any_i4, 2, {6, 45}, 0},           {"any_u4", run_any_u4, 2, {6, 45}, 0},
    {"any_i8", run_any_i8, 2, {6, 45}, 0},           {"taken_i8", run_taken_i8, 2, {9, 77}, 0},
    {"taken_f16", run_taken_f16, 2, {9, 77}, 0},     {"taken_bf16", run_taken_bf16, 2, {9, 160}, 0},
    {"taken_f32", run_taken_f32, 2, {9, 77}, 0},     {"stored", run_stored, 2, {7, 61}, 0},
    {"places_even", run_places_even, 2, {5, 40}, 0}, {"written_even", run_written_even, 2, {5, 40}, 0},
    {"written_odd", run_written_odd, 2, {5, 40}, 0}, {"written_before", run_written_before, 2, {5, 11}, 0},
    {"rows_even", run_rows_even, 2, {9, 40}, 0},     {"rows_odd", run_rows_odd, 2, {9, 40}, 0},
    {"places_odd", run_places_odd, 2, {5, 40}, 0},   {"places_before", run_places_before, 2, {5, 11}, 0},
};

int main(int count, char **arguments) { return exec_main(count, arguments, tests, sizeof tests / sizeof *tests); }
