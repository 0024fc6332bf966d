#include "exec.h"
#include "scaled.h"
#include <math.h>

#define ROWS(m, k) \
    2, (int64_t[]) { m, k }

/* By the tables of the formats (OCP Microscaling Formats 1.0). */
static double e2m1(int64_t code)
{
    static const double sizes[8] = {0, 0.5, 1, 1.5, 2, 3, 4, 6};
    return code & 8 ? -sizes[code & 7] : sizes[code & 7];
}
static double small(int64_t code, int fraction, int bias) /* no NaN and no infinity */
{
    int field = (int)(code & 127) >> fraction, unit = (int)(code & ((1 << fraction) - 1));
    double size = field ? ldexp(unit + (1 << fraction), field - bias - fraction) : ldexp(unit, 1 - bias - fraction);
    return code & 128 ? -size : size;
}
static double e4m3(int64_t code) { return small(code, 3, 7); }
static double e5m2(int64_t code) { return small(code, 2, 15); }

/* Codes at random, of which one bit in the exponent keeps NaN and infinities away; scales near 1, so that f32 holds the sums. */
static void draw(struct exec_tensor *t, int64_t seed, int64_t mask, int64_t add)
{
    uint64_t state = (uint64_t)seed;
    for (int64_t i = 0; i < t->elements; i++) {
        state = state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
        exec_set_int(t, i, (int64_t)((state >> 33 & (uint64_t)mask) + (uint64_t)add));
    }
}
static struct exec_tensor *codes(struct exec_case *c, enum exec_type type, int64_t m, int64_t k, int64_t mask,
                                 int64_t add)
{
    struct exec_tensor *t = exec_input(c, type, ROWS(m, k));
    draw(t, m * 1000 + k * 7 + mask + add, mask, add);
    return t;
}

static int64_t at(const struct exec_tensor *t, int64_t row, int64_t columns, int64_t column)
{
    return exec_before_int(t, row * columns + column) & 255;
}

static void expect_sum(struct exec_case *c, const struct exec_tensor *t, int64_t i, double want, double sizes)
{
    double got = exec_value(t, i);
    if (!(fabs(got - want) <= sizes * 0x1p-19))
        exec_fail(c, "element %lld is %.9g, not %.9g", (long long)i, got, want);
}

static void run_mxfp8(struct exec_case *c)
{
    int64_t m = c->extent[0], n = c->extent[1], g = c->extent[2], k = 32 * g;
    struct exec_tensor *a = codes(c, EXEC_F8E4M3, m, k, 0xbf, 0), *b = codes(c, EXEC_F8E5M2, k, n, 0xbf, 0);
    struct exec_tensor *sa = codes(c, EXEC_U8, m, g, 7, 124), *sb = codes(c, EXEC_U8, n, g, 7, 124);
    struct exec_tensor *r = exec_output(c, EXEC_F32, ROWS(m, n));
    struct tile_f8e4m3_2 va;
    struct tile_f8e5m2_2 vb;
    struct tile_u8_2 vsa, vsb;
    struct tile_f32_2 vr;
    EXEC_BIND(va, a);
    EXEC_BIND(vb, b);
    EXEC_BIND(vsa, sa);
    EXEC_BIND(vsb, sb);
    EXEC_BIND(vr, r);
    exec_called(c, scaled_mxfp8(c->stream, &va, &vsa, &vb, &vsb, &vr));
    for (int64_t i = 0; i < m * n; i++) {
        double sum = 0, sizes = 0;
        for (int64_t p = 0; p < k; p++) {
            double scale = ldexp(1.0, (int)(at(sa, i / n, g, p / 32) + at(sb, i % n, g, p / 32)) - 254);
            double term = e4m3(at(a, i / n, k, p)) * e5m2(at(b, p, n, i % n)) * scale;
            sum += term;
            sizes += fabs(term);
        }
        expect_sum(c, r, i, sum, sizes);
    }
}

static void run_mxfp4(struct exec_case *c)
{
    int64_t m = c->extent[0], n = c->extent[1], g = c->extent[2], h = 16 * g;
    struct exec_tensor *a = codes(c, EXEC_U8, m, h, 255, 0), *b = codes(c, EXEC_U8, h, n, 255, 0);
    struct exec_tensor *sa = codes(c, EXEC_U8, m, g, 31, 110), *sb = codes(c, EXEC_U8, n, g, 31, 110);
    struct exec_tensor *r = exec_output(c, EXEC_F32, ROWS(m, n));
    struct tile_u8_2 va, vb, vsa, vsb;
    struct tile_f32_2 vr;
    EXEC_BIND(va, a);
    EXEC_BIND(vb, b);
    EXEC_BIND(vsa, sa);
    EXEC_BIND(vsb, sb);
    EXEC_BIND(vr, r);
    exec_called(c, scaled_mxfp4(c->stream, &va, &vsa, &vb, &vsb, &vr));
    for (int64_t i = 0; i < m * n; i++) {
        double sum = 0, sizes = 0;
        for (int64_t p = 0; p < 2 * h; p++) {
            double scale = ldexp(1.0, (int)(at(sa, i / n, g, p / 32) + at(sb, i % n, g, p / 32)) - 254);
            double term = e2m1(at(a, i / n, h, p / 2) >> p % 2 * 4 & 15) *
                          e2m1(at(b, p / 2, n, i % n) >> p % 2 * 4 & 15);
            sum += term * scale;
            sizes += fabs(term * scale);
        }
        expect_sum(c, r, i, sum, sizes);
    }
}

static void run_nvfp4(struct exec_case *c)
{
    int64_t m = c->extent[0], n = c->extent[1], g = 2 * c->extent[2], k = 16 * g;
    struct exec_tensor *a = exec_input(c, EXEC_BF16, ROWS(m, k)), *w = codes(c, EXEC_U8, k / 2, n, 255, 0);
    struct exec_tensor *sw = codes(c, EXEC_F8E4M3, n, g, 0x3f, 0), *x = codes(c, EXEC_U8, m, k, 0xbf, 0);
    struct exec_tensor *r = exec_output(c, EXEC_F32, ROWS(m, n)), *d = exec_output(c, EXEC_F32, ROWS(m, m));
    struct tile_bf16_2 va;
    struct tile_u8_2 vw, vx;
    struct tile_f8e4m3_2 vsw;
    struct tile_f32_2 vr, vd;
    for (int64_t i = 0; i < m * k; i++) /* of NaN and infinities nothing can be said here */
        exec_set(a, i, (double)(i * 37 % 129 - 64) / 16);
    EXEC_BIND(va, a);
    EXEC_BIND(vw, w);
    EXEC_BIND(vsw, sw);
    EXEC_BIND(vx, x);
    EXEC_BIND(vr, r);
    EXEC_BIND(vd, d);
    exec_called(c, scaled_nvfp4(c->stream, &va, &vw, &vsw, &vx, &vr, &vd));
    for (int64_t i = 0; i < m * n; i++) {
        double sum = 0, sizes = 0;
        for (int64_t p = 0; p < k; p++) {
            double term = exec_before(a, i / n * k + p) * e2m1(at(w, p / 2, n, i % n) >> p % 2 * 4 & 15) *
                          e4m3(at(sw, i % n, g, p / 16));
            sum += term;
            sizes += fabs(term);
        }
        expect_sum(c, r, i, sum, sizes);
    }
    for (int64_t i = 0; n && i < m * m; i++) {
        double sum = 0, sizes = 0;
        for (int64_t p = 0; p < k; p++) {
            double term = e4m3(at(x, i / m, k, p)) * e4m3(at(x, i % m, k, p));
            sum += term;
            sizes += fabs(term);
        }
        expect_sum(c, d, i, sum, sizes);
    }
}

static const struct exec_test tests[] = {
    {"mxfp8", run_mxfp8, 3, {37, 45, 5}, 0},
    {"mxfp4", run_mxfp4, 3, {37, 45, 5}, 0},
    {"nvfp4", run_nvfp4, 3, {37, 45, 3}, 0},
};

int main(int count, char **arguments) { return exec_main(count, arguments, tests, sizeof tests / sizeof *tests); }
