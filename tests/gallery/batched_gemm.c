#include "batched_gemm.h"
#include "gallery.h"

/* b is column-major and, without gaps, one matrix of all z; beta = 0 must not read c, which is NaN then. */
static void run_gemm(struct exec_case *c)
{
    int64_t z = 2, m = c->extent[0], n = c->extent[1], k = c->extent[2], many = c->gaps ? z : 1;
    double alpha = -1.5, beta = c->gaps ? 0.5 : 0;
    struct exec_tensor *a = draw(exec_input(c, EXEC_F16, CUBE(z, m, k)), 1);
    struct exec_tensor *b = draw(exec_input(c, EXEC_F16, CUBE(many, n, k)), 1);
    struct exec_tensor *y = draw(exec_inout(c, EXEC_F16, CUBE(z, m, n)), 1);
    struct tile_f16_3 va, stored, vy;
    for (int64_t i = 0; beta == 0 && i < z * m * n; i++)
        exec_set(y, i, NAN);
    EXEC_BIND(va, a), EXEC_BIND(stored, b), EXEC_BIND(vy, y);
    struct tile_f16_3 vb = {stored.data, {z, k, n}, {many > 1 ? stored.stride[0] : 0, 1, stored.stride[1]}};
    exec_called(c, batched_gemm_f16(c->stream, (float)alpha, &va, &vb, (float)beta, &vy));
    for (int64_t i = 0; i < z * m * n; i++) {
        int64_t at = i / (m * n), row = i / n, column = i % n;
        double sum = 0, sizes = 0;
        for (int64_t d = 0; d < k; d++) {
            double term = exec_before(a, row * k + d) * exec_before(b, ((many > 1 ? at : 0) * n + column) * k + d);
            sum += term, sizes += fabs(term);
        }
        expect_sum(c, y, i, alpha * sum + (beta == 0 ? 0 : beta * exec_before(y, i)), 1 + sizes, 0x1p-16);
    }
}

static const struct exec_test tests[] = {{"gemm", run_gemm, 3, {70, 50, 41}, 0}};

int main(int count, char **arguments) { return exec_main(count, arguments, tests, sizeof tests / sizeof *tests); }
