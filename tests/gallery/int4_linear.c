#include "int4_linear.h"
#include "gallery.h"

static void run_product(struct exec_case *c)
{
    enum { GROUP = 128 };
    int64_t m = c->extent[0], n = 8 * c->extent[1], groups = c->extent[2], k = GROUP * groups;
    struct exec_tensor *x = exec_input(c, EXEC_BF16, MATRIX(m, k)), *w = exec_input(c, EXEC_I32, MATRIX(k / 8, n));
    struct exec_tensor *s = exec_input(c, EXEC_BF16, MATRIX(groups, n)), *y = exec_output(c, EXEC_BF16, MATRIX(m, n));
    struct tile_bf16_2 vx, vs, vy;
    struct tile_i32_2 vw;
    draw(x, 1), draw(s, 0.25);
    EXEC_BIND(vx, x), EXEC_BIND(vw, w), EXEC_BIND(vs, s), EXEC_BIND(vy, y);
    exec_called(c, int4_linear_bf16(c->stream, &vx, &vw, &vs, &vy, GROUP));
    for (int64_t i = 0; i < m * n; i++) {
        double sum = 0, sizes = 0;
        for (int64_t at = 0; at < k; at++) {
            int64_t word = exec_before_int(w, at / 8 * n + i % n);
            double term = exec_before(x, i / n * k + at) * (double)((word >> 4 * (at % 8) & 15) - 8) *
                          exec_before(s, at / GROUP * n + i % n);
            sum += term;
            sizes += fabs(term);
        }
        if (!(fabs(exec_value(y, i) - sum) <= fabs(sum) * 0x1p-8 + sizes * 0x1p-18))
            exec_fail(c, "element %lld is %.9g, not %.9g", (long long)i, exec_value(y, i), sum);
    }
}

static const struct exec_test tests[] = {{"product", run_product, 3, {9, 9, 3}, 0}};

int main(int count, char **arguments) { return exec_main(count, arguments, tests, sizeof tests / sizeof *tests); }
