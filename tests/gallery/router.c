#include "router.h"
#include "gallery.h"

enum { TOP = 2 };

static void run_router(struct exec_case *c)
{
    int64_t m = c->extent[0], e = c->extent[1] + TOP;
    struct exec_tensor *logits = exec_input(c, EXEC_F32, MATRIX(m, e));
    struct exec_tensor *expert = exec_output(c, EXEC_I32, MATRIX(m, TOP)),
                       *weight = exec_output(c, EXEC_F32, MATRIX(m, TOP));
    struct tile_f32_2 vlogits, vweight;
    struct tile_i32_2 vexpert;
    for (int64_t i = 0; i < m * e; i++) /* no two alike in a row */
        exec_set(logits, i, (double)((i % e * 29 + i / e * 11) % 251) / 32 + (double)(i % e) / 65536);
    EXEC_BIND(vlogits, logits), EXEC_BIND(vexpert, expert), EXEC_BIND(vweight, weight);
    exec_called(c, router_f32(c->stream, &vlogits, &vexpert, &vweight));
    for (int64_t i = 0; i < m; i++) {
        int64_t first = 0, second = -1;
        for (int64_t k = 1; k < e; k++)
            if (exec_before(logits, i * e + k) > exec_before(logits, i * e + first))
                first = k;
        for (int64_t k = 0; k < e; k++)
            if (k != first && (second < 0 || exec_before(logits, i * e + k) > exec_before(logits, i * e + second)))
                second = k;
        double less = exp(exec_before(logits, i * e + second) - exec_before(logits, i * e + first));
        exec_expect_int(c, expert, i * TOP, first);
        exec_expect_int(c, expert, i * TOP + 1, second);
        exec_expect(c, weight, i * TOP, 1 / (1 + less), 1e-6);
        exec_expect(c, weight, i * TOP + 1, less / (1 + less), 1e-6);
    }
}

static const struct exec_test tests[] = {{"router", run_router, 2, {5, 60}, 0}};

int main(int count, char **arguments) { return exec_main(count, arguments, tests, sizeof tests / sizeof *tests); }
