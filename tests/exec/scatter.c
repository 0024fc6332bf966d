#include "exec.h"
#include "scatter.h"

#include <stdlib.h>

#define ONE(n) \
    1, (int64_t[]) { n }
#define TWO(m, n) \
    2, (int64_t[]) { m, n }

#define GATHER(type, TYPE)                                                                           \
    static void run_gather_##type(struct exec_case *c)                                               \
    {                                                                                                \
        int64_t v = c->extent[0], d = c->extent[1], n = c->extent[2];                                \
        struct exec_tensor *table = exec_input(c, EXEC_##TYPE, TWO(v, d)),                           \
                           *ids = exec_range(c, EXEC_I32, ONE(n), -2, v + 1);                        \
        struct exec_tensor *y = exec_output(c, EXEC_##TYPE, TWO(n, d));                              \
        struct tile_##type##_2 vt, vy;                                                               \
        struct tile_i32_1 vi;                                                                        \
        EXEC_BIND(vt, table);                                                                        \
        EXEC_BIND(vi, ids);                                                                          \
        EXEC_BIND(vy, y);                                                                            \
        exec_called(c, scatter_gather_rows_##type(c->stream, &vt, &vi, &vy));                        \
        for (int64_t i = 0; i < n * d; i++) {                                                        \
            int64_t id = exec_before_int(ids, i / d);                                                \
            exec_expect(c, y, i, id < 0 || id >= v ? 7.0 : exec_before(table, id * d + i % d), 0.0); \
        }                                                                                            \
    }
GATHER(f32, F32)
GATHER(bf16, BF16)

static void run_elements(struct exec_case *c)
{
    int64_t m = c->extent[0], n = c->extent[1], k = c->extent[2];
    struct exec_tensor *x = exec_input(c, EXEC_F32, TWO(m, n)), *rows = exec_range(c, EXEC_I64, ONE(k), -1, m);
    struct exec_tensor *columns = exec_range(c, EXEC_I32, ONE(k), -1, n), *y = exec_output(c, EXEC_F32, ONE(k)),
                       *there = exec_output(c, EXEC_BOOL, ONE(k));
    struct tile_f32_2 vx;
    struct tile_f32_1 vy;
    struct tile_i64_1 vr;
    struct tile_i32_1 vc;
    struct tile_bool_1 vt;
    if (k > 2)
        exec_set_int(rows, 1, INT64_MAX); /* far out: nothing may wrap into the view */
    EXEC_BIND(vx, x);
    EXEC_BIND(vr, rows);
    EXEC_BIND(vc, columns);
    EXEC_BIND(vy, y);
    EXEC_BIND(vt, there);
    exec_called(c, scatter_gather_elements(c->stream, &vx, &vr, &vc, &vy, &vt));
    for (int64_t i = 0; i < k; i++) {
        int64_t r = exec_before_int(rows, i), s = exec_before_int(columns, i);
        int inside = r >= 0 && r < m && s >= 0 && s < n;
        exec_expect(c, y, i, inside ? exec_before(x, r * n + s) : -5.0, 0.0);
        exec_expect_int(c, there, i, inside);
    }
}

static void run_invert(struct exec_case *c)
{
    int64_t n = c->extent[0];
    struct exec_tensor *p = exec_input(c, EXEC_I32, ONE(n)), *y = exec_output(c, EXEC_I64, ONE(n));
    struct tile_i32_1 vp;
    struct tile_i64_1 vy;
    for (int64_t i = 0; i < n; i++) /* a permutation: 7 and n may share a factor, then a rotation */
        exec_set_int(p, i, n % 7 ? i * 7 % n : (i + 3) % n);
    EXEC_BIND(vp, p);
    EXEC_BIND(vy, y);
    exec_called(c, scatter_invert(c->stream, &vp, &vy));
    for (int64_t i = 0; i < n; i++)
        exec_expect_int(c, y, exec_before_int(p, i), i);
}

static void run_pointers(struct exec_case *c)
{
    int64_t n = c->extent[0];
    struct exec_tensor *x = exec_packed(c, EXEC_F32, ONE(n), 0), *y = exec_packed(c, EXEC_F32, ONE(n), 1);
    exec_called(c, scatter_pointers(c->stream, exec_pointer(x), exec_pointer(y), n));
    for (int64_t i = 0; i < n; i++)
        exec_expect(c, y, n - 1 - i, 3.0 * exec_before(x, i), 0.0);
}

static void run_back(struct exec_case *c)
{
    struct exec_tensor *x = exec_packed(c, EXEC_F32, ONE(129), 0), *y = exec_packed(c, EXEC_F32, ONE(1), 1);
    exec_called(c, scatter_back(c->stream, exec_pointer(x), exec_pointer(y), -128));
    exec_expect(c, y, 0, exec_before(x, 128), 0.0);
}

static void run_masked(struct exec_case *c)
{
    int64_t n = c->extent[0];
    struct exec_tensor *x = exec_input(c, EXEC_F32, ONE(n)), *keep = exec_input(c, EXEC_BOOL, ONE(n)),
                       *y = exec_inout(c, EXEC_F32, ONE(n));
    struct tile_f32_1 vx, vy;
    struct tile_bool_1 vk;
    EXEC_BIND(vx, x);
    EXEC_BIND(vk, keep);
    EXEC_BIND(vy, y);
    exec_called(c, scatter_masked(c->stream, &vx, &vk, &vy));
    for (int64_t i = 0; i < n; i++) {
        int m = exec_before_int(keep, i) != 0;
        double v = m ? exec_before(x, i) : 9.0;
        exec_expect(c, y, i, !m || v > 0.0 ? v + 1.0 : exec_before(y, i), 1e-7);
    }
}

/* Philox4x32-10, first word; counter (lo, hi, 0, 0). */
static uint32_t philox(uint64_t seed, uint64_t counter, int word)
{
    uint32_t w[4] = {(uint32_t)counter, (uint32_t)(counter >> 32), 0, 0}, k0 = (uint32_t)seed,
             k1 = (uint32_t)(seed >> 32);
    for (int round = 0; round < 10; round++) {
        uint64_t a = UINT64_C(0xD2511F53) * w[0], b = UINT64_C(0xCD9E8D57) * w[2];
        uint32_t next[4] = {(uint32_t)(b >> 32) ^ w[1] ^ k0, (uint32_t)b, (uint32_t)(a >> 32) ^ w[3] ^ k1, (uint32_t)a};
        for (int i = 0; i < 4; i++)
            w[i] = next[i];
        k0 += 0x9E3779B9u;
        k1 += 0xBB67AE85u;
    }
    return w[word];
}

static void run_random(struct exec_case *c)
{
    int64_t n = c->extent[0];
    uint64_t seed = UINT64_C(0x123456789abcdef0);
    struct exec_tensor *y = exec_output(c, EXEC_U32, ONE(n));
    struct tile_u32_1 vy;
    EXEC_BIND(vy, y);
    exec_called(c, scatter_random(c->stream, &vy, seed));
    for (int64_t i = 0; i < n; i++)
        exec_expect_int(c, y, i, philox(seed, (uint64_t)i, 0));
}

/* An element that a tile of 1024 names, however often, gets one more. */
static void run_once(struct exec_case *c)
{
    enum { TILE = 1024 };
    int64_t m = c->extent[0], n = c->extent[1];
    struct exec_tensor *x = exec_inout(c, EXEC_F32, ONE(m)),
                       *at = exec_range(c, EXEC_I32, ONE(n), 0, m > 2 ? m - 1 : 1);
    struct exec_tensor *p = exec_packed(c, EXEC_I32, ONE(m + 2), 1);
    int64_t *named = calloc((size_t)m + 2, sizeof *named), *last = calloc((size_t)m + 2, sizeof *last);
    struct tile_f32_1 vx;
    struct tile_i32_1 vat;
    for (int64_t i = 0; i < m; i++)
        exec_set(x, i, (double)(i % 7));
    for (int64_t i = 0; i < m + 2; i++)
        exec_set_int(p, i, 3 * i);
    EXEC_BIND(vx, x);
    EXEC_BIND(vat, at);
    exec_called(c, scatter_once(c->stream, &vx, &vat, exec_pointer(p)));
    for (int64_t i = 0; i < n; i++) {
        int64_t k = exec_before_int(at, i);
        named[k] += last[k] != i / TILE + 1;
        last[k] = i / TILE + 1;
    }
    for (int64_t i = 0; i < m; i++)
        exec_expect(c, x, i, (double)(i % 7 + named[i]), 0);
    for (int64_t i = 0; i < m + 2; i++)
        exec_expect_int(c, p, i, 3 * i + named[i]);
    free(named);
    free(last);
}

#define DROPPED(type, TYPE, divisor)                                                                          \
    static void run_dropped_##type(struct exec_case *c)                                                       \
    {                                                                                                         \
        int64_t n = c->extent[0];                                                                             \
        uint64_t seed = UINT64_C(0xfedcba9876543210);                                                         \
        struct exec_tensor *x = exec_input(c, EXEC_##TYPE, ONE(n)), *y = exec_output(c, EXEC_##TYPE, ONE(n)); \
        struct tile_##type##_1 vx, vy;                                                                        \
        EXEC_BIND(vx, x);                                                                                     \
        EXEC_BIND(vy, y);                                                                                     \
        exec_called(c, scatter_dropped_##type(c->stream, &vx, &vy, 1 - divisor, seed));                       \
        for (int64_t i = 0; i < n; i++) {                                                                     \
            uint32_t word = philox(seed, (uint64_t)i / 4, (int)(i % 4));                                      \
            float number = (float)(word >> 31 ? ~word : word) * 4.6566127342e-10f;                            \
            float kept = (float)exec_before(x, i) / (1 - (1 - divisor));                                      \
            exec_expect(c, y, i, number >= 1 - divisor ? exec_round(EXEC_##TYPE, (double)kept) : 0, 0);       \
        }                                                                                                     \
    }
DROPPED(f32, F32, 0.7f)
DROPPED(bf16, BF16, 0.9f)

static const struct exec_test tests[] = {
    {"gather_f32", run_gather_f32, 3, {20, 50, 40}, 0},
    {"gather_bf16", run_gather_bf16, 3, {20, 50, 40}, 0},
    {"elements", run_elements, 3, {20, 30, 200}, 0},
    {"invert", run_invert, 1, {300}, 0},
    {"pointers", run_pointers, 1, {300}, 0},
    {"back", run_back, 1, {1}, 0},
    {"masked", run_masked, 1, {300}, 0},
    {"once", run_once, 2, {50, 3000}, 0},
    {"random", run_random, 1, {300}, 0},
    {"dropped_f32", run_dropped_f32, 1, {9000}, 0},
    {"dropped_bf16", run_dropped_bf16, 1, {9000}, 0},
};

int main(int count, char **arguments) { return exec_main(count, arguments, tests, sizeof tests / sizeof *tests); }
