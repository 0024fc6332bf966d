#include "linear.h"
#include "gallery.h"

static void run_layer(struct exec_case *c)
{
    int64_t m = c->extent[0], n = c->extent[1], k = c->extent[2];
    int plain = c->gaps; /* without bias and residual, in a view of its own */
    struct exec_tensor *x = draw(exec_input(c, EXEC_BF16, MATRIX(m, k)), 1);
    struct exec_tensor *w = draw(exec_input(c, EXEC_BF16, MATRIX(n, k)), 1),
                       *b = draw(exec_input(c, EXEC_F32, ROW(n)), 2);
    struct exec_tensor *y = draw(exec_inout(c, EXEC_BF16, MATRIX(m, n)), 4);
    struct tile_bf16_2 vx, vw, vy;
    struct tile_f32_1 vb;
    EXEC_BIND(vx, x), EXEC_BIND(vw, w), EXEC_BIND(vb, b), EXEC_BIND(vy, y);
    exec_called(c, linear_bf16(c->stream, &vx, &vw, plain ? NULL : &vb, plain ? NULL : &vy, &vy,
                               plain ? TILE_ACT_NONE : TILE_ACT_RELU));
    for (int64_t i = 0; i < m * n; i++) {
        double sum = plain ? 0 : exec_before(b, i % n), sizes = 4;
        for (int64_t at = 0; at < k; at++) {
            double term = exec_before(x, i / n * k + at) * exec_before(w, i % n * k + at);
            sum += term, sizes += fabs(term);
        }
        expect_sum(c, y, i, plain ? sum : fmax(sum, 0) + exec_before(y, i), sizes, 0x1p-18);
    }
}

static const struct exec_test tests[] = {{"layer", run_layer, 3, {70, 90, 50}, 0}};

int main(int count, char **arguments) { return exec_main(count, arguments, tests, sizeof tests / sizeof *tests); }
