#include "rms_norm.h"
#include "gallery.h"

static const double epsilon = 1e-5;

static void run_norm(struct exec_case *c)
{
    int64_t m = c->extent[0], n = c->extent[1];
    int with_r = !c->gaps;
    struct exec_tensor *x = draw(exec_input(c, EXEC_BF16, MATRIX(m, n)), 1);
    struct exec_tensor *r = draw(exec_inout(c, EXEC_BF16, MATRIX(m, n)), 2);
    struct exec_tensor *w = draw(exec_input(c, EXEC_BF16, ROW(n)), 1);
    struct exec_tensor *y = exec_output(c, EXEC_BF16, MATRIX(m, n)), *rstd = exec_output(c, EXEC_F32, ROW(m));
    struct tile_bf16_2 vx, vr, vy;
    struct tile_bf16_1 vw;
    struct tile_f32_1 vrstd;
    EXEC_BIND(vx, x), EXEC_BIND(vr, r), EXEC_BIND(vw, w), EXEC_BIND(vy, y), EXEC_BIND(vrstd, rstd);
    exec_called(
        c, rms_norm_bf16(c->stream, &vx, with_r ? &vr : NULL, &vw, &vy, with_r ? &vr : NULL, &vrstd, (float)epsilon));
    for (int64_t i = 0; i < m; i++) {
        double squares = 0;
        for (int64_t k = 0; k < n; k++) {
            double t = exec_before(x, i * n + k) + with_r * exec_before(r, i * n + k);
            squares += t * t;
            exec_expect(c, r, i * n + k, with_r ? t : exec_before(r, i * n + k), 0x1p-8);
        }
        double scale = n ? 1 / sqrt(squares / (double)n + epsilon) : 0;
        if (n)
            exec_expect(c, rstd, i, scale, 1e-5);
        for (int64_t k = 0; k < n; k++)
            exec_expect(c, y, i * n + k,
                        (exec_before(x, i * n + k) + with_r * exec_before(r, i * n + k)) * scale * exec_before(w, k),
                        0x1p-7);
    }
}

static void run_norm_bwd(struct exec_case *c)
{
    int64_t m = c->extent[0], n = c->extent[1], parts = 3;
    struct exec_tensor *x = draw(exec_input(c, EXEC_BF16, MATRIX(m, n)), 1);
    struct exec_tensor *dx = draw(exec_inout(c, EXEC_BF16, MATRIX(m, n)), 0.5);
    struct exec_tensor *w = draw(exec_input(c, EXEC_BF16, ROW(n)), 1);
    struct exec_tensor *rstd = draw(exec_input(c, EXEC_F32, ROW(m)), 1.5);
    struct exec_tensor *part = exec_output(c, EXEC_F32, MATRIX(parts, n));
    struct tile_bf16_2 vx, vdx;
    struct tile_bf16_1 vw;
    struct tile_f32_1 vrstd;
    struct tile_f32_2 vpart;
    EXEC_BIND(vx, x), EXEC_BIND(vdx, dx), EXEC_BIND(vw, w), EXEC_BIND(vrstd, rstd), EXEC_BIND(vpart, part);
    exec_called(c, rms_norm_bwd_bf16(c->stream, &vdx, &vx, &vw, &vrstd, &vdx, &vpart));
    for (int64_t i = 0; i < m; i++) {
        double dot = 0, scale = exec_before(rstd, i), sizes = 0;
        for (int64_t k = 0; k < n; k++) {
            double term = exec_before(dx, i * n + k) * exec_before(w, k) * exec_before(x, i * n + k) * scale;
            dot += term / (double)n, sizes += fabs(term) / (double)n;
        }
        for (int64_t k = 0; k < n; k++) {
            double own = exec_before(dx, i * n + k) * exec_before(w, k), normal = exec_before(x, i * n + k) * scale;
            expect_sum(c, dx, i * n + k, scale * (own - normal * dot), fabs(scale * normal) * sizes + fabs(scale * own),
                       0x1p-18);
        }
    }
    for (int64_t at = 0; at < parts * n; at++) {
        double sum = 0, sizes = 0;
        for (int64_t i = at / n; i < m; i += parts) {
            double term = exec_before(dx, i * n + at % n) * exec_before(x, i * n + at % n) * exec_before(rstd, i);
            sum += term, sizes += fabs(term);
        }
        expect_sum(c, part, at, sum, sizes, 0x1p-18);
    }
}

static const struct exec_test tests[] = {{"norm", run_norm, 2, {5, 300}, 0},
                                         {"norm_bwd", run_norm_bwd, 2, {7, 300}, 0}};

int main(int count, char **arguments) { return exec_main(count, arguments, tests, sizeof tests / sizeof *tests); }
