#include "assembly.h"
#include "exec.h"

#include <math.h>

#define ONE(n) \
    1, (int64_t[]) { n }
#define TWO(m, n) \
    2, (int64_t[]) { m, n }

static uint64_t reversed(uint64_t x)
{
    uint64_t r = 0;
    for (int i = 0; i < 64; i++)
        r |= (x >> i & 1) << (63 - i);
    return r;
}

static void run_single(struct exec_case *c)
{
    int64_t n = c->extent[0];
    struct exec_tensor *x = exec_input(c, EXEC_F32, ONE(n)), *d = exec_input(c, EXEC_F64, ONE(n));
    struct exec_tensor *w = exec_input(c, EXEC_I16, ONE(n)), *l = exec_input(c, EXEC_I64, ONE(n));
    struct exec_tensor *i8 = exec_input(c, EXEC_I8, ONE(n)), *y = exec_output(c, EXEC_F32, ONE(n));
    struct exec_tensor *e = exec_output(c, EXEC_F64, ONE(n)), *v = exec_output(c, EXEC_I32, ONE(n));
    struct exec_tensor *m = exec_output(c, EXEC_I64, ONE(n)), *b = exec_output(c, EXEC_I32, ONE(n));
    struct exec_tensor *k = exec_output(c, EXEC_BOOL, ONE(n)), *s = exec_output(c, EXEC_F32, ONE(n));
    struct tile_f32_1 vx, vy, vs;
    struct tile_f64_1 vd, ve;
    struct tile_i16_1 vw;
    struct tile_i64_1 vl, vm;
    struct tile_i8_1 vi8;
    struct tile_i32_1 vv, vb;
    struct tile_bool_1 vk;
    EXEC_BIND(vx, x);
    EXEC_BIND(vd, d);
    EXEC_BIND(vw, w);
    EXEC_BIND(vl, l);
    EXEC_BIND(vi8, i8);
    EXEC_BIND(vy, y);
    EXEC_BIND(ve, e);
    EXEC_BIND(vv, v);
    EXEC_BIND(vm, m);
    EXEC_BIND(vb, b);
    EXEC_BIND(vk, k);
    EXEC_BIND(vs, s);
    exec_called(c, assembly_single(c->stream, &vx, &vd, &vw, &vl, &vi8, &vy, &ve, &vv, &vm, &vb, &vk, &vs));
    for (int64_t i = 0; i < n; i++) {
        double a = exec_before(x, i);
        exec_expect(c, y, i, trunc(a), 0);
        exec_expect(c, e, i, -exec_before(d, i), 0);
        exec_expect_int(c, v, i, -3 * exec_before_int(w, i));
        exec_expect_int(c, m, i, (int64_t)reversed((uint64_t)exec_before_int(l, i)));
        exec_expect_int(c, b, i, exec_before_int(i8, i));
        exec_expect_int(c, k, i, a < 0.5);
        exec_expect(c, s, i, a < 0.5 ? a : -a, 0);
    }
}

/* Of an f8e4m3. */
static double small(int64_t bits)
{
    int64_t exponent = bits >> 3 & 15, mantissa = bits & 7;
    double value = exponent ? ldexp((double)(8 + mantissa), (int)exponent - 10) : ldexp((double)mantissa, -9);
    return exponent == 15 && mantissa == 7 ? NAN : bits & 128 ? -value : value;
}

static void run_packed(struct exec_case *c)
{
    int64_t m = c->extent[0], n = c->extent[1];
    struct exec_tensor *x = exec_input(c, EXEC_F16, TWO(m, n)), *a = exec_input(c, EXEC_U8, TWO(m, n));
    struct exec_tensor *b = exec_input(c, EXEC_U8, TWO(m, n)), *h = exec_output(c, EXEC_F16, TWO(m, n));
    struct exec_tensor *z = exec_output(c, EXEC_U8, TWO(m, n)), *f = exec_output(c, EXEC_F32, TWO(m, n));
    struct exec_tensor *g = exec_output(c, EXEC_F32, TWO(m, n)), *r = exec_output(c, EXEC_F16, TWO(m, n));
    struct tile_f16_2 vx, vh, vr;
    struct tile_u8_2 va, vb, vz;
    struct tile_f32_2 vf, vg;
    EXEC_BIND(vx, x);
    EXEC_BIND(va, a);
    EXEC_BIND(vb, b);
    EXEC_BIND(vh, h);
    EXEC_BIND(vz, z);
    EXEC_BIND(vf, f);
    EXEC_BIND(vg, g);
    EXEC_BIND(vr, r);
    exec_called(c, assembly_packed(c->stream, &vx, &va, &vb, &vh, &vz, &vf, &vg, &vr));
    for (int64_t i = 0; i < m * n; i++) {
        exec_expect(c, h, i, -exec_before(x, i), 0);
        exec_expect_int(c, z, i, exec_before_int(a, i) ^ exec_before_int(b, i));
        exec_expect(c, f, i, (double)exec_before_int(a, i), 0);
        exec_expect(c, g, i, 0.5 * (double)exec_before_int(a, i), 0);
        exec_expect(c, r, i, small(exec_before_int(a, i)), 0);
    }
}

static void run_scalars(struct exec_case *c)
{
    int64_t n = c->extent[0];
    struct exec_tensor *x = exec_input(c, EXEC_F32, ONE(n)), *y = exec_output(c, EXEC_F32, ONE(n));
    struct exec_tensor *z = exec_output(c, EXEC_U32, ONE(n));
    struct tile_f32_1 vx, vy;
    struct tile_u32_1 vz;
    for (int64_t i = 0; i < n; i++) /* infinity has no end */
        if (isinf(exec_before(x, i)))
            exec_set(x, i, 2.25);
    EXEC_BIND(vx, x);
    EXEC_BIND(vy, y);
    EXEC_BIND(vz, z);
    exec_called(c, assembly_scalars(c->stream, &vx, &vy, &vz));
    for (int64_t i = 0; i < n; i++) {
        double rest = fabs(exec_before(x, i));
        uint32_t sum = 32;
        while (rest > 1)
            rest -= 1;
        for (uint32_t k = 0; k < i % 5; k++)
            sum = sum * 3 + k;
        exec_expect(c, y, i, rest, 0);
        exec_expect_int(c, z, i, sum);
    }
}

static void run_effects(struct exec_case *c)
{
    int64_t n = c->extent[0], all = n + (n == 0);
    struct exec_tensor *p = exec_packed(c, EXEC_I32, ONE(all), 1), *t = exec_packed(c, EXEC_U32, ONE(all), 1);
    struct exec_tensor *old = exec_output(c, EXEC_I32, ONE(n)), *turned = exec_output(c, EXEC_U32, ONE(n));
    struct tile_i32_1 vold;
    struct tile_u32_1 vturned;
    for (int64_t i = 0; i < all; i++) {
        exec_set_int(p, i, 1000 - 3 * i);
        exec_set_int(t, i, 77);
    }
    EXEC_BIND(vold, old);
    EXEC_BIND(vturned, turned);
    exec_called(c, assembly_effects(c->stream, exec_pointer(p), exec_pointer(t), &vold, &vturned, (int32_t)n));
    for (int64_t i = 0; i < n; i++) {
        int64_t other = i / 16 * 16 + 15 - i % 16;
        exec_expect_int(c, p, i, 1005 - 3 * i);
        exec_expect_int(c, t, i, 7 * i);
        exec_expect_int(c, old, i, 1000 - 3 * i);
        exec_expect_int(c, turned, i, other < n ? 7 * other : 0);
    }
}

static const struct exec_test tests[] = {{"single", run_single, 1, {1000}, 0},
                                         {"packed", run_packed, 2, {33, 130}, 0},
                                         {"scalars", run_scalars, 1, {70}, 0},
                                         {"effects", run_effects, 1, {333}, 0}};

int main(int count, char **arguments)
{
    return exec_main(count, arguments, tests, (int)(sizeof tests / sizeof *tests));
}
