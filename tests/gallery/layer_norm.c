#include "layer_norm.h"
#include "gallery.h"

static const double epsilon = 1e-5;

static void run_norm(struct exec_case *c)
{
    int64_t m = c->extent[0], n = c->extent[1];
    struct exec_tensor *x = draw(exec_input(c, EXEC_F32, MATRIX(m, n)), 1);
    struct exec_tensor *w = draw(exec_input(c, EXEC_F32, ROW(n)), 1), *b = draw(exec_input(c, EXEC_F32, ROW(n)), 3);
    struct exec_tensor *y = exec_output(c, EXEC_F32, MATRIX(m, n)), *mean = exec_output(c, EXEC_F32, ROW(m));
    struct tile_f32_2 vx, vy;
    struct tile_f32_1 vw, vb, vmean;
    for (int64_t i = 0; i < m * n; i++)
        exec_set(x, i, exec_before(x, i) + 1000); /* what a sum of squares would lose */
    EXEC_BIND(vx, x), EXEC_BIND(vw, w), EXEC_BIND(vb, b), EXEC_BIND(vy, y), EXEC_BIND(vmean, mean);
    exec_called(c, layer_norm_f32(c->stream, &vx, &vw, c->gaps ? NULL : &vb, &vy, &vmean, NULL, (float)epsilon));
    for (int64_t i = 0; i < m && n; i++) {
        double sum = 0, squares = 0;
        for (int64_t k = 0; k < n; k++)
            sum += exec_before(x, i * n + k) / (double)n;
        for (int64_t k = 0; k < n; k++)
            squares += pow(exec_before(x, i * n + k) - sum, 2);
        exec_expect(c, mean, i, sum, 1e-6);
        for (int64_t k = 0; k < n; k++)
            exec_expect(c, y, i * n + k,
                        (exec_before(x, i * n + k) - sum) / sqrt(squares / (double)n + epsilon) * exec_before(w, k) +
                            (c->gaps ? 0 : exec_before(b, k)),
                        1e-3); /* the mean of numbers near 1000 in f32 */
    }
}

static void run_norm_bwd(struct exec_case *c)
{
    int64_t m = c->extent[0], n = c->extent[1], parts = 2;
    struct exec_tensor *x = draw(exec_input(c, EXEC_F32, MATRIX(m, n)), 1);
    struct exec_tensor *dy = draw(exec_input(c, EXEC_F32, MATRIX(m, n)), 0.5);
    struct exec_tensor *w = draw(exec_input(c, EXEC_F32, ROW(n)), 1),
                       *mean = draw(exec_input(c, EXEC_F32, ROW(m)), 0.25);
    struct exec_tensor *rstd = draw(exec_input(c, EXEC_F32, ROW(m)), 1.5), *dx = exec_output(c, EXEC_F32, MATRIX(m, n));
    struct exec_tensor *dw = exec_output(c, EXEC_F32, MATRIX(parts, n)),
                       *db = exec_output(c, EXEC_F32, MATRIX(parts, n));
    struct tile_f32_2 vx, vdy, vdx, vdw, vdb;
    struct tile_f32_1 vw, vmean, vrstd;
    EXEC_BIND(vx, x), EXEC_BIND(vdy, dy), EXEC_BIND(vdx, dx), EXEC_BIND(vdw, dw), EXEC_BIND(vdb, db);
    EXEC_BIND(vw, w), EXEC_BIND(vmean, mean), EXEC_BIND(vrstd, rstd);
    exec_called(c, layer_norm_bwd_f32(c->stream, &vdy, &vx, &vw, &vmean, &vrstd, &vdx, &vdw, &vdb));
    for (int64_t i = 0; i < m; i++) {
        double sum = 0, dot = 0, sizes = 0, scale = exec_before(rstd, i), middle = exec_before(mean, i);
        for (int64_t k = 0; k < n; k++) {
            double own = exec_before(dy, i * n + k) * exec_before(w, k);
            double normal = (exec_before(x, i * n + k) - middle) * scale;
            sum += own / (double)n, dot += own * normal / (double)n, sizes += fabs(own) + fabs(own * normal);
        }
        for (int64_t k = 0; k < n; k++) {
            double own = exec_before(dy, i * n + k) * exec_before(w, k);
            double normal = (exec_before(x, i * n + k) - middle) * scale;
            expect_sum(c, dx, i * n + k, scale * (own - sum - normal * dot), fabs(scale) * (1 + sizes), 0x1p-18);
        }
    }
    for (int64_t at = 0; at < parts * n; at++) {
        double weight = 0, bias = 0;
        for (int64_t i = at / n; i < m; i += parts) {
            double d = exec_before(dy, i * n + at % n);
            weight += d * (exec_before(x, i * n + at % n) - exec_before(mean, i)) * exec_before(rstd, i);
            bias += d;
        }
        expect_sum(c, dw, at, weight, (double)m, 0x1p-18);
        expect_sum(c, db, at, bias, (double)m, 0x1p-18);
    }
}

static const struct exec_test tests[] = {{"norm", run_norm, 2, {5, 300}, 0},
                                         {"norm_bwd", run_norm_bwd, 2, {5, 300}, 0}};

int main(int count, char **arguments) { return exec_main(count, arguments, tests, sizeof tests / sizeof *tests); }
