#include "exec.h"
#include "casts.h"
#include <math.h>

#define ONE(n) \
    1, (int64_t[]) { n }

/* Numbers of every magnitude the formats know, and between their neighbours. */
static void spread(struct exec_tensor *t, int64_t n, int low, int high)
{
    for (int64_t i = 0; i < n; i++) {
        double v = exec_before(t, i);
        if (v == v && v - v == 0.0)
            exec_set(t, i, ldexp(v * (1.0 + (double)(i * 7919 % 4096) * 0x1p-13), low + (int)(i % (high - low))));
    }
}

#define NARROW(type, TYPE, low, high)                                                                         \
    static void run_narrow_##type(struct exec_case *c)                                                        \
    {                                                                                                         \
        int64_t n = c->extent[0];                                                                             \
        struct exec_tensor *x = exec_input(c, EXEC_F32, ONE(n)), *w = exec_input(c, EXEC_F64, ONE(n)), *t[5]; \
        struct tile_f32_1 vx;                                                                                 \
        struct tile_f64_1 vw;                                                                                 \
        struct tile_##type##_1 v[5];                                                                          \
        spread(x, n, low, high);                                                                              \
        spread(w, n, low, high);                                                                              \
        for (int64_t i = 0; i + 1 < n; i += 5) /* so near a tie that rounding twice would show */             \
            exec_set(w, i, exec_before(w, i) * (1.0 + 0x1p-45));                                              \
        EXEC_BIND(vx, x);                                                                                     \
        EXEC_BIND(vw, w);                                                                                     \
        for (int i = 0; i < 5; i++) {                                                                         \
            t[i] = exec_output(c, EXEC_##TYPE, ONE(n));                                                       \
            EXEC_BIND(v[i], t[i]);                                                                            \
        }                                                                                                     \
        exec_called(c, casts_narrow_##type(c->stream, &vx, &vw, v, v + 1, v + 2, v + 3, v + 4));              \
        for (int64_t i = 0; i < n; i++) {                                                                     \
            double a = exec_before(x, i);                                                                     \
            exec_expect(c, t[0], i, exec_round(EXEC_##TYPE, a), 0.0);                                         \
            exec_expect(c, t[1], i, exec_round(EXEC_##TYPE, exec_before(w, i)), 0.0);                         \
            exec_expect(c, t[2], i, exec_round_to(EXEC_##TYPE, a, 2), 0.0);                                   \
            exec_expect(c, t[3], i, exec_round_to(EXEC_##TYPE, a, 1), 0.0);                                   \
            exec_expect(c, t[4], i, exec_round_to(EXEC_##TYPE, a, -1), 0.0);                                  \
        }                                                                                                     \
    }                                                                                                         \
    static void run_widen_##type(struct exec_case *c)                                                         \
    {                                                                                                         \
        int64_t n = c->extent[0];                                                                             \
        struct exec_tensor *x = exec_input(c, EXEC_##TYPE, ONE(n)), *s = exec_output(c, EXEC_F32, ONE(n));    \
        struct exec_tensor *d = exec_output(c, EXEC_F64, ONE(n));                                             \
        struct tile_##type##_1 vx;                                                                            \
        struct tile_f32_1 vs;                                                                                 \
        struct tile_f64_1 vd;                                                                                 \
        for (int64_t i = 0; i < n; i++) /* every code of the format, in time */                               \
            exec_set_int(x, i, i * 97);                                                                       \
        EXEC_BIND(vx, x);                                                                                     \
        EXEC_BIND(vs, s);                                                                                     \
        EXEC_BIND(vd, d);                                                                                     \
        exec_called(c, casts_widen_##type(c->stream, &vx, &vs, &vd));                                         \
        for (int64_t i = 0; i < n; i++) {                                                                     \
            exec_expect(c, s, i, exec_before(x, i), 0.0);                                                     \
            exec_expect(c, d, i, exec_before(x, i), 0.0);                                                     \
        }                                                                                                     \
    }
NARROW(f16, F16, -30, 18)
NARROW(bf16, BF16, -140, 126)
NARROW(f8e4m3, F8E4M3, -14, 10)
NARROW(f8e5m2, F8E5M2, -22, 17)

static double saturated(double x, double low, double high)
{
    return isnan(x) ? 0.0 : x < low ? low : x > high ? high : trunc(x);
}

static void run_to_integers(struct exec_case *c)
{
    int64_t n = c->extent[0];
    struct exec_tensor *x = exec_input(c, EXEC_F32, ONE(n)), *w = exec_input(c, EXEC_F64, ONE(n)),
                       *a = exec_output(c, EXEC_I8, ONE(n));
    struct exec_tensor *b = exec_output(c, EXEC_U8, ONE(n)), *i32 = exec_output(c, EXEC_I32, ONE(n)),
                       *u32 = exec_output(c, EXEC_U32, ONE(n));
    struct exec_tensor *i64 = exec_output(c, EXEC_I64, ONE(n)), *u64 = exec_output(c, EXEC_U64, ONE(n)),
                       *g = exec_output(c, EXEC_BOOL, ONE(n));
    struct tile_f32_1 vx;
    struct tile_f64_1 vw;
    struct tile_i8_1 va;
    struct tile_u8_1 vb;
    struct tile_i32_1 vc;
    struct tile_u32_1 vd;
    struct tile_i64_1 ve;
    struct tile_u64_1 vf;
    struct tile_bool_1 vg;
    spread(x, n, -2, 70);
    spread(w, n, -2, 70);
    EXEC_BIND(vx, x);
    EXEC_BIND(vw, w);
    EXEC_BIND(va, a);
    EXEC_BIND(vb, b);
    EXEC_BIND(vc, i32);
    EXEC_BIND(vd, u32);
    EXEC_BIND(ve, i64);
    EXEC_BIND(vf, u64);
    EXEC_BIND(vg, g);
    exec_called(c, casts_to_integers(c->stream, &vx, &vw, &va, &vb, &vc, &vd, &ve, &vf, &vg));
    for (int64_t i = 0; i < n; i++) {
        double v = exec_before(x, i), u = exec_before(w, i);
        exec_expect_int(c, a, i, (int64_t)saturated(v, -128.0, 127.0));
        exec_expect_int(c, b, i, (int64_t)saturated(v, 0.0, 255.0));
        exec_expect_int(c, i32, i, (int64_t)saturated(v, -2147483648.0, 2147483647.0));
        exec_expect_int(c, u32, i, (int64_t)saturated(u, 0.0, 4294967295.0));
        exec_expect_int(c, i64, i, u >= 0x1p63 ? INT64_MAX : u < -0x1p63 ? INT64_MIN : (int64_t)(isnan(u) ? 0.0 : u));
        exec_expect_int(c, u64, i, v >= 0x1p64 ? -1 : (int64_t)(uint64_t)(v > 0.0 ? v : 0.0));
        exec_expect_int(c, g, i, v != 0.0);
    }
}

#define FROM(type, TYPE, unsigned_type)                                                                    \
    static void run_from_##type(struct exec_case *c)                                                       \
    {                                                                                                      \
        int64_t n = c->extent[0];                                                                          \
        struct exec_tensor *x = exec_input(c, EXEC_##TYPE, ONE(n)), *a = exec_output(c, EXEC_F32, ONE(n)); \
        struct exec_tensor *b = exec_output(c, EXEC_F64, ONE(n)), *h = exec_output(c, EXEC_F16, ONE(n));   \
        struct exec_tensor *e = exec_output(c, EXEC_BF16, ONE(n)), *w = exec_output(c, EXEC_I16, ONE(n)),  \
                           *s = exec_output(c, EXEC_I16, ONE(n));                                          \
        struct tile_##type##_1 vx;                                                                         \
        struct tile_f32_1 va;                                                                              \
        struct tile_f64_1 vb;                                                                              \
        struct tile_f16_1 vh;                                                                              \
        struct tile_bf16_1 ve;                                                                             \
        struct tile_i16_1 vw, vs;                                                                          \
        for (int64_t i = 0; i < n; i++) /* of every length */                                              \
            exec_set_int(x, i, exec_before_int(x, i) >> (i * 5 % 64));                                     \
        EXEC_BIND(vx, x);                                                                                  \
        EXEC_BIND(va, a);                                                                                  \
        EXEC_BIND(vb, b);                                                                                  \
        EXEC_BIND(vh, h);                                                                                  \
        EXEC_BIND(ve, e);                                                                                  \
        EXEC_BIND(vw, w);                                                                                  \
        EXEC_BIND(vs, s);                                                                                  \
        exec_called(c, casts_from_integers_##type(c->stream, &vx, &va, &vb, &vh, &ve, &vw, &vs));          \
        for (int64_t i = 0; i < n; i++) {                                                                  \
            int64_t v = exec_before_int(x, i);                                                             \
            int is_u64 = unsigned_type && v < 0;                                                           \
            exec_expect(c, a, i, (double)(is_u64 ? (float)(uint64_t)v : (float)v), 0.0);                   \
            exec_expect(c, b, i, is_u64 ? (double)(uint64_t)v : (double)v, 0.0);                           \
            exec_expect(c, h, i, exec_round(EXEC_F16, is_u64 ? 0x1p63 : (double)v), 0.0);                  \
            exec_expect(c, e, i, exec_round(EXEC_BF16, is_u64 ? (double)(uint64_t)v : (double)v), 0.0);    \
            exec_expect_int(c, w, i, (int16_t)v);                                                          \
            exec_expect_int(c, s, i, is_u64 || v > 32767 ? 32767 : v < -32768 ? -32768 : v);               \
        }                                                                                                  \
    }
FROM(i8, I8, 0)
FROM(u16, U16, 0)
FROM(i32, I32, 0)
FROM(u32, U32, 0)
FROM(i64, I64, 0)
FROM(u64, U64, 1)

static void run_same_bits(struct exec_case *c)
{
    int64_t n = c->extent[0];
    struct exec_tensor *x = exec_input(c, EXEC_F32, ONE(n)), *y = exec_output(c, EXEC_U32, ONE(n)),
                       *h = exec_input(c, EXEC_F16, ONE(n));
    struct exec_tensor *k = exec_output(c, EXEC_I16, ONE(n));
    struct tile_f32_1 vx;
    struct tile_u32_1 vy;
    struct tile_f16_1 vh;
    struct tile_i16_1 vk;
    EXEC_BIND(vx, x);
    EXEC_BIND(vy, y);
    EXEC_BIND(vh, h);
    EXEC_BIND(vk, k);
    exec_called(c, casts_same_bits(c->stream, &vx, &vy, &vh, &vk));
    for (int64_t i = 0; i < n; i++) {
        exec_expect_int(c, y, i, exec_before_int(x, i) ^ 0x80000000);
        exec_expect_int(c, k, i, exec_before_int(h, i) ^ 0x8000);
    }
}

static const struct exec_test tests[] = {
    {"narrow_f16", run_narrow_f16, 1, {700}, 0},       {"narrow_bf16", run_narrow_bf16, 1, {700}, 0},
    {"narrow_f8e4m3", run_narrow_f8e4m3, 1, {700}, 0}, {"narrow_f8e5m2", run_narrow_f8e5m2, 1, {700}, 0},
    {"widen_f16", run_widen_f16, 1, {1024}, 0},        {"widen_bf16", run_widen_bf16, 1, {1024}, 0},
    {"widen_f8e4m3", run_widen_f8e4m3, 1, {256}, 0},   {"widen_f8e5m2", run_widen_f8e5m2, 1, {256}, 0},
    {"to_integers", run_to_integers, 1, {600}, 0},     {"from_i8", run_from_i8, 1, {256}, 0},
    {"from_u16", run_from_u16, 1, {256}, 0},           {"from_i32", run_from_i32, 1, {256}, 0},
    {"from_u32", run_from_u32, 1, {256}, 0},           {"from_i64", run_from_i64, 1, {256}, 0},
    {"from_u64", run_from_u64, 1, {256}, 0},           {"same_bits", run_same_bits, 1, {256}, 0},
};

int main(int count, char **arguments) { return exec_main(count, arguments, tests, sizeof tests / sizeof *tests); }
