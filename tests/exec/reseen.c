#include "exec.h"
#include "reseen.h"

#define TWO(m, n) \
    2, (int64_t[]) { m, n }

static int is_float(enum exec_type type) { return type >= EXEC_F16; }

/* An element of a result is one of an input, or 0 where `from` is below 0. */
static void same(struct exec_case *c, const struct exec_tensor *y, int64_t at, const struct exec_tensor *x,
                 int64_t from)
{
    if (is_float(x->type))
        exec_expect(c, y, at, from < 0 ? 0 : exec_before(x, from), 0);
    else
        exec_expect_int(c, y, at, from < 0 ? 0 : exec_before_int(x, from));
}

#define FLAT(type, TYPE)                                                  \
    static void run_flat_##type(struct exec_case *c)                      \
    {                                                                     \
        int64_t shape[3] = {c->extent[0], c->extent[1], 6};               \
        struct exec_tensor *x = exec_packed(c, EXEC_##TYPE, 3, shape, 0), \
                           *y = exec_packed(c, EXEC_##TYPE, 3, shape, 1); \
        struct tile_##type##_3 xv, yv;                                    \
        EXEC_BIND(xv, x);                                                 \
        EXEC_BIND(yv, y);                                                 \
        exec_called(c, reseen_flat_##type(c->stream, &xv, &yv));          \
        for (int64_t i = 0; i < shape[0] * shape[1] * 6; i++)             \
            same(c, y, i, x, i);                                          \
    }
FLAT(i8, I8)
FLAT(f16, F16)
FLAT(i32, I32)
FLAT(f64, F64)

/* Sums of numbers that are exact in any order. */
#define GROUPS(type, TYPE)                                                                                          \
    static void run_groups_##type(struct exec_case *c)                                                              \
    {                                                                                                               \
        int64_t m = c->extent[0], n = c->extent[1];                                                                 \
        struct exec_tensor *x = exec_range(c, EXEC_##TYPE, TWO(m, n), -100, 100),                                   \
                           *columns = exec_output(c, EXEC_##TYPE, TWO(m, n / 4)),                                   \
                           *rows = exec_output(c, EXEC_##TYPE, TWO(m / 2, n));                                      \
        struct tile_##type##_2 xv, cv, rv;                                                                          \
        EXEC_BIND(xv, x);                                                                                           \
        EXEC_BIND(cv, columns);                                                                                     \
        EXEC_BIND(rv, rows);                                                                                        \
        exec_called(c, reseen_groups_##type(c->stream, &xv, &cv, &rv));                                             \
        for (int64_t i = 0; i < m; i++)                                                                             \
            for (int64_t j = 0; j < n / 4; j++) {                                                                   \
                double sum = 0;                                                                                     \
                for (int64_t k = 0; k < 4; k++)                                                                     \
                    sum += exec_before(x, i * n + 4 * j + k);                                                       \
                exec_expect(c, columns, i *(n / 4) + j, sum, 0);                                                    \
            }                                                                                                       \
        for (int64_t i = 0; i < m / 2; i++)                                                                         \
            for (int64_t j = 0; j < n; j++)                                                                         \
                exec_expect(c, rows, i *n + j, exec_before(x, 2 * i * n + j) + exec_before(x, (2 * i + 1) * n + j), \
                            0);                                                                                     \
    }
GROUPS(i32, I32)
GROUPS(f32, F32)
GROUPS(i64, I64)
GROUPS(f64, F64)

#define TENSORS(type, TYPE)                                                          \
    static void run_tensors_##type(struct exec_case *c)                              \
    {                                                                                \
        int64_t count = c->extent[0];                                                \
        struct exec_tensor *list = exec_range(c, EXEC_I64, 1, &count, 0, 1),         \
                           *lengths = exec_range(c, EXEC_I64, 1, &count, 0, 40),     \
                           *y = exec_output(c, EXEC_##TYPE, TWO(count, 32)),         \
                           *there = exec_output(c, EXEC_BOOL, 1, &count), *each[64]; \
        struct tile_pointer_1 pv;                                                    \
        struct tile_i64_1 nv;                                                        \
        struct tile_##type##_2 yv;                                                   \
        struct tile_bool_1 tv;                                                       \
        for (int64_t g = 0; g < count; g++) {                                        \
            int64_t length = exec_before_int(lengths, g);                            \
            each[g] = exec_input(c, EXEC_##TYPE, 1, &length);                        \
            void *memory = exec_pointer(each[g]);                                    \
            exec_set_int(list, g, g % 5 == 3 ? 0 : (int64_t)(uintptr_t)memory);      \
        }                                                                            \
        EXEC_BIND(pv, list);                                                         \
        EXEC_BIND(nv, lengths);                                                      \
        EXEC_BIND(yv, y);                                                            \
        EXEC_BIND(tv, there);                                                        \
        exec_called(c, reseen_tensors_##type(c->stream, &pv, &nv, &yv, &tv));        \
        for (int64_t g = 0; g < count; g++) {                                        \
            int64_t length = g % 5 != 3 ? exec_before_int(lengths, g) : 0;           \
            for (int64_t i = 0; i < 32; i++)                                         \
                same(c, y, g * 32 + i, each[g], i < length ? i : -1);                \
            exec_expect_int(c, there, g, length > 0);                                \
        }                                                                            \
    }
TENSORS(i16, I16)
TENSORS(f32, F32)

#define TURNED(type, TYPE)                                                                                     \
    static void run_turned_##type(struct exec_case *c)                                                         \
    {                                                                                                          \
        int64_t m = c->extent[0], n = c->extent[1];                                                            \
        struct exec_tensor *x = exec_packed(c, EXEC_##TYPE, TWO(m, n), 0),                                     \
                           *y = exec_output(c, EXEC_##TYPE, TWO(n, m));                                        \
        exec_called(c, reseen_turned_##type(c->stream, exec_pointer(x), exec_pointer(y), m, n, y->stride[0])); \
        for (int64_t i = 0; i < n; i++)                                                                        \
            for (int64_t j = 0; j < m; j++)                                                                    \
                same(c, y, i *m + j, x, j * n + i);                                                            \
    }
TURNED(u8, U8)
TURNED(f32, F32)
TURNED(f64, F64)

static const struct exec_test tests[] = {
    {"flat_i8", run_flat_i8, 2, {9, 24}, 0},        {"flat_f16", run_flat_f16, 2, {9, 24}, 0},
    {"flat_i32", run_flat_i32, 2, {9, 24}, 0},      {"flat_f64", run_flat_f64, 2, {9, 24}, 0},
    {"groups_i32", run_groups_i32, 2, {12, 88}, 1}, {"groups_f32", run_groups_f32, 2, {12, 88}, 1},
    {"groups_i64", run_groups_i64, 2, {12, 88}, 1}, {"groups_f64", run_groups_f64, 2, {12, 88}, 1},
    {"tensors_i16", run_tensors_i16, 1, {23}, 1},   {"tensors_f32", run_tensors_f32, 1, {23}, 1},
    {"turned_u8", run_turned_u8, 2, {40, 24}, 0},   {"turned_f32", run_turned_f32, 2, {40, 24}, 0},
    {"turned_f64", run_turned_f64, 2, {40, 24}, 0},
};

int main(int count, char **arguments) { return exec_main(count, arguments, tests, sizeof tests / sizeof *tests); }
