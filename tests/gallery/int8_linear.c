#include "int8_linear.h"
#include "gallery.h"

static void run_product(struct exec_case *c)
{
    int64_t m = c->extent[0], n = c->extent[1], k = c->extent[2];
    struct exec_tensor *q = exec_range(c, EXEC_I8, MATRIX(m, k), -127, 127),
                       *w = exec_range(c, EXEC_I8, MATRIX(n, k), -127, 127);
    struct exec_tensor *s = draw(exec_input(c, EXEC_F32, ROW(m)), 1), *sw = draw(exec_input(c, EXEC_F32, ROW(n)), 1);
    struct exec_tensor *b = draw(exec_input(c, EXEC_F32, ROW(n)), 9), *y = exec_output(c, EXEC_BF16, MATRIX(m, n));
    struct tile_i8_2 vq, vw;
    struct tile_f32_1 vs, vsw, vb;
    struct tile_bf16_2 vy;
    EXEC_BIND(vq, q), EXEC_BIND(vw, w), EXEC_BIND(vs, s), EXEC_BIND(vsw, sw), EXEC_BIND(vb, b), EXEC_BIND(vy, y);
    exec_called(c, int8_linear_product_bf16(c->stream, &vq, &vs, &vw, &vsw, c->gaps ? NULL : &vb, &vy));
    for (int64_t i = 0; i < m * n; i++) {
        int64_t sum = 0;
        for (int64_t at = 0; at < k; at++)
            sum += exec_before_int(q, i / n * k + at) * exec_before_int(w, i % n * k + at);
        exec_expect(c, y, i,
                    (double)sum * exec_before(s, i / n) * exec_before(sw, i % n) +
                        (c->gaps ? 0 : exec_before(b, i % n)),
                    0x1p-7);
    }
}

static void run_quantise(struct exec_case *c)
{
    int64_t m = c->extent[0], k = c->extent[1];
    struct exec_tensor *x = draw(exec_input(c, EXEC_F32, MATRIX(m, k)), 4), *q = exec_output(c, EXEC_I8, MATRIX(m, k));
    struct exec_tensor *s = exec_output(c, EXEC_F32, ROW(m));
    struct tile_f32_2 vx;
    struct tile_i8_2 vq;
    struct tile_f32_1 vs;
    EXEC_BIND(vx, x), EXEC_BIND(vq, q), EXEC_BIND(vs, s);
    exec_called(c, int8_linear_quantise_f32(c->stream, &vx, &vq, &vs));
    for (int64_t i = 0; i < m; i++) {
        double most = 1e-12;
        for (int64_t at = 0; at < k; at++)
            most = fmax(most, fabs(exec_before(x, i * k + at)));
        exec_expect(c, s, i, most / 127, 1e-6);
        for (int64_t at = 0; at < k; at++) {
            double want = exec_before(x, i * k + at) / most * 127;
            if (!(fabs((double)exec_value_int(q, i * k + at) - want) <= 0.5001)) /* a tie may go either way */
                exec_fail(c, "element %lld is %lld, not %g", (long long)(i * k + at),
                          (long long)exec_value_int(q, i * k + at), want);
        }
    }
}

static const struct exec_test tests[] = {{"product", run_product, 3, {40, 70, 90}, 0},
                                         {"quantise", run_quantise, 2, {7, 300}, 0}};

int main(int count, char **arguments) { return exec_main(count, arguments, tests, sizeof tests / sizeof *tests); }
