#include "exec.h"
#include "moves.h"

#define TWO(m, n) \
    2, (int64_t[]) { m, n }

static int is_float(enum exec_type type) { return type >= EXEC_F16; }

/* Element `got` of the result is element [row, column] of x, or 0 where x has none. */
static void same(struct exec_case *c, const struct exec_tensor *result, int64_t got, const struct exec_tensor *x,
                 int64_t row, int64_t column)
{
    int64_t columns = x->extent[x->rank - 1], rows = x->rank > 1 ? x->extent[0] : 1;
    int inside = row >= 0 && row < rows && column >= 0 && column < columns;
    if (is_float(x->type))
        exec_expect(c, result, got, inside ? exec_before(x, row * columns + column) : 0, 0);
    else
        exec_expect_int(c, result, got, inside ? exec_before_int(x, row * columns + column) : 0);
}

static int64_t below(int64_t column, int64_t limit) { return column < limit ? column : -1; }

#define MOVES(type, TYPE)                                                                                              \
    static void run_moves_##type(struct exec_case *c)                                                                  \
    {                                                                                                                  \
        int64_t m = c->extent[0], n = c->extent[1];                                                                    \
        struct exec_tensor *x = exec_input(c, EXEC_##TYPE, TWO(m, n)),                                                 \
                           *at = exec_range(c, EXEC_I32, TWO(m, 32), -3, 40),                                          \
                           *r[4] = {exec_output(c, EXEC_##TYPE, TWO(m, 64)), exec_output(c, EXEC_##TYPE, TWO(m, 64)),  \
                                    exec_output(c, EXEC_##TYPE, TWO(m, 32)), exec_output(c, EXEC_##TYPE, TWO(m, 56))}, \
                           *p = exec_output(c, EXEC_##TYPE, 3, (int64_t[]){m, 16, 2});                                 \
        struct tile_##type##_2 xv, rv[4];                                                                              \
        struct tile_i32_2 av;                                                                                          \
        struct tile_##type##_3 pv;                                                                                     \
        EXEC_BIND(xv, x);                                                                                              \
        EXEC_BIND(av, at);                                                                                             \
        EXEC_BIND(pv, p);                                                                                              \
        for (int i = 0; i < 4; i++)                                                                                    \
            EXEC_BIND(rv[i], r[i]);                                                                                    \
        exec_called(c, moves_##type(c->stream, &xv, &av, rv, rv + 1, rv + 2, rv + 3, &pv));                            \
        for (int64_t i = 0; i < m; i++) {                                                                              \
            int64_t over = i / 8 * 8 + 7 - i % 8;                                                                      \
            for (int64_t j = 0; j < 64; j++) {                                                                         \
                same(c, r[0], i * 64 + j, x, i, j < 32 ? j : 63 - j);                                                  \
                same(c, r[1], i * 64 + j, x, j % 2 ? over : i, j / 2);                                                 \
                if (j < 32)                                                                                            \
                    same(c, r[2], i * 32 + j, x, i, below(exec_before_int(at, i * 32 + j), 32));                       \
                if (j < 56)                                                                                            \
                    same(c, r[3], i * 56 + j, x, i, j < 16 ? j + 16 : j < 48 ? j - 16 : j - 40);                       \
                if (j < 32)                                                                                            \
                    same(c, p, i * 32 + j, x, i, j ^ 1);                                                               \
            }                                                                                                          \
        }                                                                                                              \
    }
MOVES(i8, I8)
MOVES(i16, I16)
MOVES(i32, I32)
MOVES(i64, I64)
MOVES(f16, F16)
MOVES(bf16, BF16)
MOVES(f32, F32)
MOVES(f64, F64)

#define COLUMNS(type, TYPE)                                                                \
    static void run_columns_##type(struct exec_case *c)                                    \
    {                                                                                      \
        int64_t m = c->extent[0], n = c->extent[1];                                        \
        struct exec_tensor *x = exec_input(c, EXEC_##TYPE, TWO(m, n)),                     \
                           *at = exec_range(c, EXEC_I64, TWO(128, n), -3, 140), *r[3];     \
        struct tile_##type##_2 xv, rv[3];                                                  \
        struct tile_i64_2 av;                                                              \
        EXEC_BIND(xv, x);                                                                  \
        EXEC_BIND(av, at);                                                                 \
        for (int i = 0; i < 3; i++) {                                                      \
            r[i] = exec_output(c, EXEC_##TYPE, TWO(128, n));                               \
            EXEC_BIND(rv[i], r[i]);                                                        \
        }                                                                                  \
        exec_called(c, moves_columns_##type(c->stream, &xv, &av, rv, rv + 1, rv + 2));     \
        for (int64_t i = 0; i < 128; i++)                                                  \
            for (int64_t j = 0; j < n; j++) {                                              \
                same(c, r[0], i *n + j, x, 127 - i, j);                                    \
                same(c, r[1], i *n + j, x, below(exec_before_int(at, i * n + j), 128), j); \
                same(c, r[2], i *n + j, x, i ^ 64, j);                                     \
            }                                                                              \
    }
COLUMNS(u8, U8)
COLUMNS(f16, F16)
COLUMNS(f32, F32)
COLUMNS(f64, F64)

#define WIDE(type, TYPE)                                                                                     \
    static void run_wide_##type(struct exec_case *c)                                                         \
    {                                                                                                        \
        int64_t n = c->extent[0], width = 8192;                                                              \
        struct exec_tensor *x = exec_input(c, EXEC_##TYPE, 1, &n),                                           \
                           *at = exec_range(c, EXEC_I32, 1, &n, -3, width + 3),                              \
                           *r[2] = {exec_output(c, EXEC_##TYPE, 1, &n), exec_output(c, EXEC_##TYPE, 1, &n)}; \
        struct tile_##type##_1 xv, rv[2];                                                                    \
        struct tile_i32_1 av;                                                                                \
        EXEC_BIND(xv, x);                                                                                    \
        EXEC_BIND(av, at);                                                                                   \
        EXEC_BIND(rv[0], r[0]);                                                                              \
        EXEC_BIND(rv[1], r[1]);                                                                              \
        exec_called(c, moves_wide_##type(c->stream, &xv, &av, rv, rv + 1));                                  \
        for (int64_t i = 0; i < n; i++) {                                                                    \
            same(c, r[0], i, x, 0, width - 1 - i);                                                           \
            same(c, r[1], i, x, 0, exec_before_int(at, i));                                                  \
        }                                                                                                    \
    }
WIDE(i16, I16)
WIDE(f64, F64)

static const struct exec_test tests[] = {
    {"moves_i8", run_moves_i8, 2, {24, 32}, 0},        {"moves_i16", run_moves_i16, 2, {24, 32}, 0},
    {"moves_i32", run_moves_i32, 2, {24, 32}, 0},      {"moves_i64", run_moves_i64, 2, {24, 32}, 0},
    {"moves_f16", run_moves_f16, 2, {24, 32}, 0},      {"moves_bf16", run_moves_bf16, 2, {24, 32}, 0},
    {"moves_f32", run_moves_f32, 2, {24, 32}, 0},      {"moves_f64", run_moves_f64, 2, {24, 32}, 0},
    {"columns_u8", run_columns_u8, 2, {128, 96}, 0},   {"columns_f16", run_columns_f16, 2, {128, 96}, 0},
    {"columns_f32", run_columns_f32, 2, {128, 96}, 0}, {"columns_f64", run_columns_f64, 2, {128, 96}, 0},
    {"wide_i16", run_wide_i16, 1, {8192}, 1},          {"wide_f64", run_wide_f64, 1, {8192}, 1},
};

int main(int count, char **arguments) { return exec_main(count, arguments, tests, sizeof tests / sizeof *tests); }
