#include "linear_cross_entropy.h"
#include "gallery.h"

static void run_chunk(struct exec_case *c)
{
    int64_t m = c->extent[0], v = c->extent[1] ? c->extent[1] : 1;
    struct exec_tensor *x = draw(exec_inout(c, EXEC_F32, MATRIX(m, v)), 6), *loss = exec_output(c, EXEC_F32, ROW(m));
    struct exec_tensor *label = exec_input(c, EXEC_I64, ROW(m)), *total = exec_input(c, EXEC_I64, ROW(1));
    struct tile_f32_2 vx;
    struct tile_i64_1 vlabel, vtotal;
    struct tile_f32_1 vloss;
    exec_set_int(total, 0, 3);
    for (int64_t i = 0; i < m; i++)
        exec_set_int(label, i, i * 37 % v);
    if (m > 1)
        exec_set_int(label, 1, -100);
    EXEC_BIND(vx, x), EXEC_BIND(vlabel, label), EXEC_BIND(vtotal, total), EXEC_BIND(vloss, loss);
    exec_called(c, linear_cross_entropy_f32(c->stream, &vx, &vlabel, &vtotal, &vloss, -100));
    for (int64_t i = 0; i < m; i++) {
        int64_t own = exec_before_int(label, i);
        double sum = 0;
        for (int64_t k = 0; k < v; k++)
            sum += exp(exec_before(x, i * v + k));
        exec_expect(c, loss, i, own < 0 ? 0 : (log(sum) - exec_before(x, i * v + own)) / 3, 1e-5);
        for (int64_t k = 0; k < v; k++)
            exec_expect(c, x, i * v + k, own < 0 ? 0 : (exp(exec_before(x, i * v + k)) / sum - (k == own)) / 3, 1e-6);
    }
}

static const struct exec_test tests[] = {{"chunk", run_chunk, 2, {5, 5000}, 0}};

int main(int count, char **arguments) { return exec_main(count, arguments, tests, sizeof tests / sizeof *tests); }
