#include "fp8_blocks.h"
#include "gallery.h"

static void run_product(struct exec_case *c)
{
    int64_t m = c->extent[0], n = c->extent[1], k = c->extent[2], kb = exec_cdiv(k, 128), nb = exec_cdiv(n, 128);
    struct exec_tensor *a = draw(exec_input(c, EXEC_F8E4M3, MATRIX(m, k)), 1);
    struct exec_tensor *w = draw(exec_input(c, EXEC_F8E4M3, MATRIX(n, k)), 1);
    struct exec_tensor *sa = draw(exec_input(c, EXEC_F32, MATRIX(m, kb)), 2);
    struct exec_tensor *sw = draw(exec_input(c, EXEC_F32, MATRIX(nb, kb)), 1),
                       *y = exec_output(c, EXEC_BF16, MATRIX(m, n));
    struct tile_f8e4m3_2 va, vw;
    struct tile_f32_2 vsa, vsw;
    struct tile_bf16_2 vy;
    EXEC_BIND(va, a), EXEC_BIND(vw, w), EXEC_BIND(vsa, sa), EXEC_BIND(vsw, sw), EXEC_BIND(vy, y);
    exec_called(c, fp8_blocks_product(c->stream, &va, &vsa, &vw, &vsw, &vy));
    for (int64_t i = 0; i < m * n; i++) {
        int64_t row = i / n, column = i % n;
        double sum = 0, sizes = 0;
        for (int64_t at = 0; at < k; at++) {
            double term = exec_before(a, row * k + at) * exec_before(w, column * k + at) *
                          exec_before(sa, row * kb + at / 128) * exec_before(sw, column / 128 * kb + at / 128);
            sum += term, sizes += fabs(term);
        }
        expect_sum(c, y, i, sum, sizes,
                   0x1p-13); /* Hopper adds products of 8 bits with fewer than f32 has, 128 at a time */
    }
}

static void run_quantise(struct exec_case *c)
{
    int64_t m = c->extent[0], k = c->extent[1], kb = exec_cdiv(k, 128);
    struct exec_tensor *x = draw(exec_input(c, EXEC_F32, MATRIX(m, k)), 4),
                       *q = exec_output(c, EXEC_F8E4M3, MATRIX(m, k));
    struct exec_tensor *s = exec_output(c, EXEC_F32, MATRIX(m, kb));
    struct tile_f32_2 vx, vs;
    struct tile_f8e4m3_2 vq;
    EXEC_BIND(vx, x), EXEC_BIND(vq, q), EXEC_BIND(vs, s);
    exec_called(c, fp8_blocks_quantise_f32(c->stream, &vx, &vq, &vs));
    for (int64_t i = 0; i < m * kb; i++) {
        double most = 1e-12;
        int64_t row = i / kb, first = i % kb * 128;
        for (int64_t at = first; at < k && at < first + 128; at++)
            most = fmax(most, fabs(exec_before(x, row * k + at)));
        exec_expect(c, s, i, most / 448, 1e-6);
        for (int64_t at = first; at < k && at < first + 128; at++) {
            double want = exec_before(x, row * k + at) / most * 448;
            double got = exec_value(
                q, row * k + at); /* half of 2^-3 of it, and a step of the smallest; a tie may go either way */
            if (!(fabs(got - want) <= fabs(want) * 0x1.01p-4 + 0x1p-10))
                exec_fail(c, "element %lld is %g, not %g", (long long)(row * k + at), got, want);
        }
    }
}

static const struct exec_test tests[] = {{"product", run_product, 3, {40, 150, 200}, 0},
                                         {"quantise", run_quantise, 2, {20, 300}, 0}};

int main(int count, char **arguments) { return exec_main(count, arguments, tests, sizeof tests / sizeof *tests); }
