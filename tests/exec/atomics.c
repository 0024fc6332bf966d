#include "exec.h"
#include "atomics.h"
#include <stdlib.h>
#include <string.h>

#define ONE(n) \
    1, (int64_t[]) { n }

#define COUNTS(type, TYPE, c_type)                                                                                  \
    static void run_counts_##type(struct exec_case *c)                                                              \
    {                                                                                                               \
        int64_t n = c->extent[0], k = c->extent[1];                                                                 \
        struct exec_tensor *bins = exec_range(c, EXEC_I32, ONE(n), -1, k), *x = exec_input(c, EXEC_##TYPE, ONE(n)), \
                           *t[3];                                                                                   \
        struct tile_i32_1 vb;                                                                                       \
        struct tile_##type##_1 vx, v[3];                                                                            \
        if (c->special)                                                                                             \
            return; /* the order of additions would show */                                                         \
        EXEC_BIND(vb, bins);                                                                                        \
        EXEC_BIND(vx, x);                                                                                           \
        for (int i = 0; i < 3; i++) {                                                                               \
            t[i] = exec_inout(c, EXEC_##TYPE, ONE(k));                                                              \
            EXEC_BIND(v[i], t[i]);                                                                                  \
        }                                                                                                           \
        exec_called(c, atomics_counts_##type(c->stream, &vb, &vx, v, v + 1, v + 2));                                \
        for (int64_t b = 0; b < k; b++) {                                                                           \
            c_type sum, high, low;                                                                                  \
            sum = GET(TYPE, t[0], b, c_type);                                                                       \
            high = GET(TYPE, t[1], b, c_type);                                                                      \
            low = GET(TYPE, t[2], b, c_type);                                                                       \
            for (int64_t i = 0; i < n; i++) {                                                                       \
                c_type value = GET(TYPE, x, i, c_type);                                                             \
                if (exec_before_int(bins, i) != b)                                                                  \
                    continue;                                                                                       \
                sum = (c_type)(sum + value);                                                                        \
                high = value > high ? value : high;                                                                 \
                low = value < low ? value : low;                                                                    \
            }                                                                                                       \
            EXPECT(TYPE, t[0], b, sum);                                                                             \
            EXPECT(TYPE, t[1], b, high);                                                                            \
            EXPECT(TYPE, t[2], b, low);                                                                             \
        }                                                                                                           \
    }
#define GET(TYPE, t, i, c_type) (EXEC_##TYPE >= EXEC_F16 ? (c_type)exec_before(t, i) : (c_type)exec_before_int(t, i))
#define EXPECT(TYPE, t, i, want) \
    (EXEC_##TYPE >= EXEC_F16 ? exec_expect(c, t, i, (double)(want), 1e-6) : exec_expect_int(c, t, i, (int64_t)(want)))
COUNTS(i32, I32, int32_t)
COUNTS(u32, U32, uint32_t)
COUNTS(i64, I64, int64_t)
COUNTS(u64, U64, uint64_t)
COUNTS(f32, F32, double)

/* Small whole numbers: their sum is exact in every order. */
#define SUMS(type, TYPE)                                                                                         \
    static void run_sums_##type(struct exec_case *c)                                                             \
    {                                                                                                            \
        int64_t n = c->extent[0];                                                                                \
        struct exec_tensor *x = exec_input(c, EXEC_##TYPE, ONE(n)), *total = exec_inout(c, EXEC_##TYPE, ONE(1)); \
        struct tile_##type##_1 vx, vt;                                                                           \
        double sum = 3.0;                                                                                        \
        exec_set(total, 0, sum);                                                                                 \
        for (int64_t i = 0; i < n; i++) {                                                                        \
            exec_set(x, i, (double)(i % 5) - 2.0);                                                               \
            sum += (double)(i % 5) - 2.0;                                                                        \
        }                                                                                                        \
        EXEC_BIND(vx, x);                                                                                        \
        EXEC_BIND(vt, total);                                                                                    \
        exec_called(c, atomics_sums_##type(c->stream, &vx, &vt));                                                \
        exec_expect(c, total, 0, sum, 0.0);                                                                      \
    }
SUMS(f64, F64)
SUMS(f16, F16)
SUMS(bf16, BF16)

static void run_bits(struct exec_case *c)
{
    int64_t n = c->extent[0];
    struct exec_tensor *x = exec_input(c, EXEC_U32, ONE(n)), *t[3];
    struct tile_u32_1 vx, v[3];
    EXEC_BIND(vx, x);
    for (int i = 0; i < 3; i++) {
        t[i] = exec_inout(c, EXEC_U32, ONE(1));
        EXEC_BIND(v[i], t[i]);
    }
    exec_called(c, atomics_bits(c->stream, &vx, v, v + 1, v + 2));
    int64_t a = exec_before_int(t[0], 0), o = exec_before_int(t[1], 0), e = exec_before_int(t[2], 0);
    for (int64_t i = 0; i < n; i++) {
        a &= exec_before_int(x, i);
        o |= exec_before_int(x, i);
        e ^= exec_before_int(x, i);
    }
    exec_expect_int(c, t[0], 0, a);
    exec_expect_int(c, t[1], 0, o);
    exec_expect_int(c, t[2], 0, e);
}

static void run_tickets(struct exec_case *c)
{
    int64_t n = c->extent[0];
    struct exec_tensor *next = exec_inout(c, EXEC_I64, ONE(1)), *taken = exec_inout(c, EXEC_I32, ONE(n));
    struct tile_i64_1 vn;
    struct tile_i32_1 vt;
    exec_set_int(next, 0, 0);
    EXEC_BIND(vn, next);
    EXEC_BIND(vt, taken);
    exec_called(c, atomics_tickets(c->stream, &vn, &vt));
    char *seen = calloc((size_t)n + 1, 1);
    exec_expect_int(c, next, 0, n);
    for (int64_t i = 0; i < n; i++) {
        int64_t program = exec_value_int(taken, i) - 1;
        if (program < 0 || program >= n || seen[program])
            exec_fail(c, "ticket %lld went to %lld", (long long)i, (long long)program);
        else
            seen[program] = 1;
    }
    free(seen);
}

static void run_locked(struct exec_case *c)
{
    int64_t n = c->extent[0];
    struct exec_tensor *lock = exec_inout(c, EXEC_I32, ONE(1)), *sum = exec_inout(c, EXEC_F64, ONE(2)),
                       *x = exec_input(c, EXEC_F64, ONE(n));
    struct tile_i32_1 vl;
    struct tile_f64_1 vs, vx;
    double want = 0.0;
    exec_set_int(lock, 0, 0);
    exec_set(sum, 0, 0.0);
    exec_set(sum, 1, 0.0);
    for (int64_t i = 0; i < n; i++) {
        exec_set(x, i, (double)(i % 17));
        want += (double)(i % 17);
    }
    EXEC_BIND(vl, lock);
    EXEC_BIND(vs, sum);
    EXEC_BIND(vx, x);
    exec_called(c, atomics_locked(c->stream, &vl, &vs, &vx));
    exec_expect(c, sum, 0, want, 0.0);
    exec_expect(c, sum, 1, (double)n, 0.0);
    exec_expect_int(c, lock, 0, 0);
}

static void run_exchange(struct exec_case *c)
{
    int64_t n = c->extent[0];
    struct exec_tensor *x = exec_inout(c, EXEC_I32, ONE(n)), *y = exec_output(c, EXEC_I32, ONE(n)),
                       *z = exec_output(c, EXEC_I32, ONE(n));
    struct tile_i32_1 vx, vy, vz;
    EXEC_BIND(vx, x);
    EXEC_BIND(vy, y);
    EXEC_BIND(vz, z);
    exec_called(c, atomics_exchange(c->stream, &vx, &vy, &vz));
    for (int64_t i = 0; i < n; i++) {
        exec_expect_int(c, x, i, i);
        exec_expect_int(c, y, i, exec_before_int(x, i));
        exec_expect_int(c, z, i, i);
    }
}

static void run_by_pointer(struct exec_case *c)
{
    int64_t n = c->extent[0];
    struct exec_tensor *x = exec_input(c, EXEC_I32, ONE(n)), *total = exec_packed(c, EXEC_I32, ONE(4), 1);
    struct exec_tensor *best = exec_packed(c, EXEC_I32, ONE(n), 1), *old = exec_output(c, EXEC_I32, ONE(n));
    struct tile_i32_1 vx, vo;
    uint32_t sums[4] = {10, 11, 12, 13};
    for (int64_t i = 0; i < 4; i++)
        exec_set_int(total, i, 10 + i);
    for (int64_t i = 0; i < n; i++)
        exec_set_int(best, i, i % 3 ? 0 : i + 1);
    EXEC_BIND(vx, x);
    EXEC_BIND(vo, old);
    exec_called(c, atomics_by_pointer(c->stream, &vx, exec_pointer(total), exec_pointer(best), &vo));
    for (int64_t i = 0; i < n; i++) {
        sums[i % 4] += (uint32_t)exec_before_int(x, i);
        exec_expect_int(c, best, i, i % 3 ? exec_before_int(x, i) : i + 1);
        exec_expect_int(c, old, i, i % 3 ? 0 : i + 1);
    }
    for (int64_t i = 0; i < 4; i++)
        exec_expect_int(c, total, i, sums[i]);
}

static void run_swap_if(struct exec_case *c)
{
    int64_t n = c->extent[0];
    struct exec_tensor *x = exec_inout(c, EXEC_I32, ONE(n)), *want = exec_input(c, EXEC_I32, ONE(n));
    struct exec_tensor *by = exec_input(c, EXEC_I32, ONE(n)), *old = exec_output(c, EXEC_I32, ONE(n));
    struct tile_i32_1 vx, vw, vb, vo;
    for (int64_t i = 0; i < n; i += 2)
        exec_set_int(want, i, exec_before_int(x, i));
    EXEC_BIND(vx, x);
    EXEC_BIND(vw, want);
    EXEC_BIND(vb, by);
    EXEC_BIND(vo, old);
    exec_called(c, atomics_swap_if(c->stream, &vx, &vw, &vb, &vo));
    for (int64_t i = 0; i < n; i++) {
        int same = exec_before_int(x, i) == exec_before_int(want, i);
        exec_expect_int(c, x, i, same ? exec_before_int(by, i) : exec_before_int(x, i));
        exec_expect_int(c, old, i, exec_before_int(x, i));
    }
}

static const struct exec_test tests[] = {
    {"by_pointer", run_by_pointer, 1, {300}, 0},
    {"swap_if", run_swap_if, 1, {300}, 0},
    {"counts_i32", run_counts_i32, 2, {300, 7}, 0},
    {"counts_u32", run_counts_u32, 2, {300, 7}, 0},
    {"counts_i64", run_counts_i64, 2, {300, 7}, 0},
    {"counts_u64", run_counts_u64, 2, {300, 7}, 0},
    {"counts_f32", run_counts_f32, 2, {300, 7}, 0},
    {"sums_f64", run_sums_f64, 1, {300}, 0},
    {"sums_f16", run_sums_f16, 1, {300}, 0},
    {"sums_bf16", run_sums_bf16, 1, {300}, 0},
    {"bits", run_bits, 1, {300}, 0},
    {"tickets", run_tickets, 1, {1000}, 0},
    {"locked", run_locked, 1, {500}, 0},
    {"exchange", run_exchange, 1, {300}, 0},
};

int main(int count, char **arguments) { return exec_main(count, arguments, tests, sizeof tests / sizeof *tests); }
