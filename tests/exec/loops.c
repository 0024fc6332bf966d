#include "exec.h"
#include "loops.h"
#include <math.h>
#include <stdlib.h>

#define CUBE(a, b, c) \
    3, (int64_t[]) { a, b, c }
#define FOUR(a, b, c, d) \
    4, (int64_t[]) { a, b, c, d }

/* Numbers in -1 … 1 times a size, which are 16-bit floats too: nothing can be said here of NaN and infinities. */
static void draw(struct exec_tensor *t, uint64_t seed, double size)
{
    uint64_t state = seed;
    for (int64_t i = 0; i < t->elements; i++) {
        state = state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
        exec_set(t, i, ((double)(state >> 33 & 127) - 64) / 64 * size);
    }
}

/* Factors are rounded to bf16 on the way; sizes: of all terms together. */
static void expect_sum(struct exec_case *c, const struct exec_tensor *t, int64_t i, double want, double sizes)
{
    double got = exec_value(t, i);
    if (!(fabs(got - want) <= sizes * 0x1p-7 + 1e-6))
        exec_fail(c, "element %lld is %.9g, not %.9g", (long long)i, got, want);
}

enum { D = 64 };
static double dot(const struct exec_tensor *a, int64_t row, const struct exec_tensor *b, int64_t column)
{
    return exec_dot(a, row * D, 1, b, column * D, 1, D);
}

static void attention(struct exec_case *c, int causal)
{
    int64_t h = c->extent[0], l = c->extent[1], s = causal ? l + c->extent[2] : c->extent[2];
    const double scale = 0.125;
    struct exec_tensor *q = exec_input(c, EXEC_BF16, FOUR(1, h, l, D)), *k = exec_input(c, EXEC_BF16, FOUR(1, h, s, D));
    struct exec_tensor *v = exec_input(c, EXEC_BF16, FOUR(1, h, s, D)), *g = exec_input(c, EXEC_BF16, FOUR(1, h, l, D));
    struct exec_tensor *lse = exec_input(c, EXEC_F32, CUBE(1, h, l)), *delta = exec_input(c, EXEC_F32, CUBE(1, h, l));
    struct exec_tensor *dq = exec_inout(c, EXEC_F32, FOUR(1, h, l, D)),
                       *dk = exec_output(c, EXEC_BF16, FOUR(1, h, s, D));
    struct exec_tensor *dv = exec_output(c, EXEC_BF16, FOUR(1, h, s, D));
    struct tile_bf16_4 vq, vk, vv, vg, vdk, vdv;
    struct tile_f32_3 vlse, vdelta;
    struct tile_f32_4 vdq;
    draw(q, 1, 1), draw(k, 2, 1), draw(v, 3, 1), draw(g, 4, 1), draw(delta, 5, 0.5), draw(dq, 6, 0);
    for (int64_t i = 0; i < h * l; i++) {
        double sum = 0;
        for (int64_t j = 0; j < s; j++)
            if (!causal || j <= i % l + s - l)
                sum += exp(scale * dot(q, i, k, i / l * s + j));
        exec_set(lse, i, log(sum));
    }
    EXEC_BIND(vq, q), EXEC_BIND(vk, k), EXEC_BIND(vv, v), EXEC_BIND(vg, g), EXEC_BIND(vdk, dk), EXEC_BIND(vdv, dv);
    EXEC_BIND(vlse, lse), EXEC_BIND(vdelta, delta), EXEC_BIND(vdq, dq);
    exec_called(c, loops_attention_bwd_bf16(c->stream, &vq, &vk, &vv, &vg, &vlse, &vdelta, &vdq, &vdk, &vdv,
                                            (float)scale, causal));
    double *want = calloc((size_t)(2 * D * (l + 2 * s) + 1), sizeof *want), *sizes = want + D * (l + 2 * s);
    for (int64_t n = 0; n < h; n++) {
        for (int64_t i = 0; i < 2 * D * (l + 2 * s); i++)
            want[i] = 0;
        for (int64_t i = 0; i < l; i++)
            for (int64_t j = 0; j < s && (!causal || j <= i + s - l); j++) {
                double p = exp(scale * dot(q, n * l + i, k, n * s + j) - exec_before(lse, n * l + i));
                double ds = p * (dot(g, n * l + i, v, n * s + j) - exec_before(delta, n * l + i));
                for (int d = 0; d < D; d++) {
                    int64_t at[3] = {i * D + d, (l + j) * D + d, (l + s + j) * D + d};
                    double term[3] = {scale * ds * exec_before(k, (n * s + j) * D + d),
                                      scale * ds * exec_before(q, (n * l + i) * D + d),
                                      p * exec_before(g, (n * l + i) * D + d)};
                    for (int t = 0; t < 3; t++)
                        want[at[t]] += term[t], sizes[at[t]] += fabs(term[t]);
                }
            }
        for (int64_t i = 0; i < D * l; i++)
            expect_sum(c, dq, n * l * D + i, want[i], sizes[i]);
        for (int64_t i = 0; i < D * s; i++) {
            expect_sum(c, dk, n * s * D + i, want[l * D + i], sizes[l * D + i]);
            expect_sum(c, dv, n * s * D + i, want[(l + s) * D + i], sizes[(l + s) * D + i]);
        }
    }
    free(want);
}
static void run_attention(struct exec_case *c) { attention(c, 0); }
static void run_attention_causal(struct exec_case *c) { attention(c, 1); }

static const struct exec_test tests[] = {
    {"attention", run_attention, 3, {1, 70, 90}, 0},
    {"attention_causal", run_attention_causal, 3, {1, 66, 40}, 0},
};

int main(int count, char **arguments) { return exec_main(count, arguments, tests, sizeof tests / sizeof *tests); }
