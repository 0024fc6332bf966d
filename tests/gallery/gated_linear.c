#include "gated_linear.h"
#include "gallery.h"

static void run_gated(struct exec_case *c)
{
    int64_t m = c->extent[0], n = c->extent[1], k = c->extent[2];
    struct exec_tensor *x = draw(exec_input(c, EXEC_BF16, MATRIX(m, k)), 1);
    struct exec_tensor *g = draw(exec_input(c, EXEC_BF16, MATRIX(n, k)), 0.5);
    struct exec_tensor *u = draw(exec_input(c, EXEC_BF16, MATRIX(n, k)), -1);
    struct exec_tensor *y = exec_output(c, EXEC_BF16, MATRIX(m, n));
    struct tile_bf16_2 vx, vg, vu, vy;
    EXEC_BIND(vx, x), EXEC_BIND(vg, g), EXEC_BIND(vu, u), EXEC_BIND(vy, y);
    exec_called(c, gated_linear_bf16(c->stream, &vx, &vg, &vu, &vy));
    for (int64_t i = 0; i < m * n; i++) {
        double gate = 0, up = 0;
        for (int64_t at = 0; at < k; at++) {
            gate += exec_before(x, i / n * k + at) * exec_before(g, i % n * k + at);
            up += exec_before(x, i / n * k + at) * exec_before(u, i % n * k + at);
        }
        expect_sum(c, y, i, gate / (1 + exp(-gate)) * up, 1 + fabs(gate * up), 0x1p-16);
    }
}

static const struct exec_test tests[] = {{"gated", run_gated, 3, {70, 90, 50}, 0}};

int main(int count, char **arguments) { return exec_main(count, arguments, tests, sizeof tests / sizeof *tests); }
