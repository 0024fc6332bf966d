#include "residual_norm.h"
#include "gallery.h"

static const double epsilon = 1e-5;

/* Which elements stay is taken from what the kernel says of itself, `keep`: about 1 - p of them. */
static void run_norm(struct exec_case *c, int rms, double p)
{
    int64_t m = c->extent[0], n = c->extent[1], stay = 0;
    struct exec_tensor *x = draw(exec_input(c, EXEC_BF16, MATRIX(m, n)), 1);
    struct exec_tensor *r = draw(exec_inout(c, EXEC_F32, MATRIX(m, n)), 2);
    struct exec_tensor *w = draw(exec_input(c, EXEC_BF16, ROW(n)), 1), *b = draw(exec_input(c, EXEC_BF16, ROW(n)), 1);
    struct exec_tensor *scale = draw(exec_input(c, EXEC_F32, ROW(m)), 2), *seed = exec_input(c, EXEC_U64, ROW(m));
    struct exec_tensor *y = exec_output(c, EXEC_BF16, MATRIX(m, n)), *keep = exec_output(c, EXEC_U8, MATRIX(m, n));
    struct exec_tensor *rstd = exec_output(c, EXEC_F32, ROW(m));
    struct tile_bf16_2 vx, vy;
    struct tile_f32_2 vr;
    struct tile_bf16_1 vw, vb;
    struct tile_f32_1 vscale, vrstd;
    struct tile_u64_1 vseed;
    struct tile_u8_2 vkeep;
    EXEC_BIND(vx, x), EXEC_BIND(vr, r), EXEC_BIND(vw, w), EXEC_BIND(vb, b), EXEC_BIND(vy, y), EXEC_BIND(vkeep, keep);
    EXEC_BIND(vscale, scale), EXEC_BIND(vseed, seed), EXEC_BIND(vrstd, rstd);
    exec_called(c, residual_norm_bf16(c->stream, &vx, &vr, &vw, &vb, c->gaps ? NULL : &vscale, p > 0 ? &vseed : NULL,
                                      &vy, &vr, p > 0 ? &vkeep : NULL, NULL, &vrstd, (float)p, (float)epsilon, rms));
    double *t = calloc((size_t)n + 1, sizeof *t);
    for (int64_t i = 0; i < m && n; i++) {
        double mean = 0, squares = 0;
        for (int64_t k = 0; k < n; k++) {
            int64_t stays = p > 0 ? exec_value_int(keep, i * n + k) : 1;
            stay += stays;
            t[k] = exec_before(x, i * n + k) * (c->gaps ? 1 : exec_before(scale, i)) / (1 - p) * (double)stays +
                   exec_before(r, i * n + k);
            mean += rms ? 0 : t[k] / (double)n;
            exec_expect(c, r, i * n + k, t[k], 1e-6);
        }
        for (int64_t k = 0; k < n; k++)
            squares += (t[k] - mean) * (t[k] - mean);
        exec_expect(c, rstd, i, 1 / sqrt(squares / (double)n + epsilon), 1e-3);
        for (int64_t k = 0; k < n; k++)
            exec_expect(c, y, i * n + k,
                        (t[k] - mean) / sqrt(squares / (double)n + epsilon) * exec_before(w, k) + exec_before(b, k),
                        0x1p-6);
    }
    if (m * n > 500 && fabs((double)stay / (double)(m * n) - (1 - p)) > 0.06)
        exec_fail(c, "%lld of %lld stay", (long long)stay, (long long)(m * n));
    free(t);
}
static void run_layer(struct exec_case *c) { run_norm(c, 0, 0.25); }
static void run_rms(struct exec_case *c) { run_norm(c, 1, 0); }
static void run_rms_dropout(struct exec_case *c) { run_norm(c, 1, 0.5); }

static const struct exec_test tests[] = {{"layer", run_layer, 2, {5, 300}, 0},
                                         {"rms", run_rms, 2, {5, 300}, 0},
                                         {"rms_dropout", run_rms_dropout, 2, {5, 300}, 0}};

int main(int count, char **arguments) { return exec_main(count, arguments, tests, sizeof tests / sizeof *tests); }
