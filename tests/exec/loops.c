#include "exec.h"
#include "loops.h"
#include <math.h>
#include <stdlib.h>

#define MATRIX(m, k) \
    2, (int64_t[]) { m, k }
#define CUBE(a, b, c) \
    3, (int64_t[]) { a, b, c }
#define FOUR(a, b, c, d) \
    4, (int64_t[]) { a, b, c, d }
#define FIVE(a, b, c, d, e) \
    5, (int64_t[]) { a, b, c, d, e }

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

/* ---- attention, backward ---- */

enum { D = 64 };
static double dot(const struct exec_tensor *a, int64_t row, const struct exec_tensor *b, int64_t column)
{
    double sum = 0;
    for (int d = 0; d < D; d++)
        sum += exec_before(a, row * D + d) * exec_before(b, column * D + d);
    return sum;
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

/* ---- weights of four bits ---- */

static void run_int4(struct exec_case *c)
{
    enum { GROUP = 128 };
    int64_t m = c->extent[0], n = 8 * c->extent[1], groups = c->extent[2], parts = c->extent[3], k = GROUP * groups;
    struct exec_tensor *x = exec_input(c, EXEC_BF16, MATRIX(m, k)), *w = exec_input(c, EXEC_I32, MATRIX(k / 8, n));
    struct exec_tensor *s = exec_input(c, EXEC_BF16, MATRIX(groups, n)),
                       *part = exec_output(c, EXEC_F32, CUBE(parts, m, n));
    struct tile_bf16_2 vx, vs;
    struct tile_i32_2 vw;
    struct tile_f32_3 vpart;
    draw(x, 1, 1), draw(s, 2, 0.25);
    EXEC_BIND(vx, x), EXEC_BIND(vw, w), EXEC_BIND(vs, s), EXEC_BIND(vpart, part);
    exec_called(c, loops_int4_part_bf16(c->stream, &vx, &vw, &vs, &vpart, GROUP));
    for (int64_t i = 0; i < parts * m * n; i++) {
        int64_t p = i / (m * n), row = i / n % m, column = i % n;
        double sum = 0, sizes = 0;
        for (int64_t at = p * groups / parts * GROUP; at < (p + 1) * groups / parts * GROUP; at++) {
            int64_t word = exec_before_int(w, at / 8 * n + column);
            double term = exec_before(x, row * k + at) * (double)((word >> 4 * (at % 8) & 15) - 8) *
                          exec_before(s, at / GROUP * n + column);
            sum += term;
            sizes += fabs(term);
        }
        if (!(fabs(exec_value(part, i) - sum) <= sizes * 0x1p-18))
            exec_fail(c, "element %lld is %.9g, not %.9g", (long long)i, exec_value(part, i), sum);
    }
}

/* ---- state-space scan by chunks: each kernel by its own definition, the last from what the one before it gives ---- */

enum { P = 64, N = 64, Q = 64 };

static void run_state(struct exec_case *c)
{
    int64_t l = c->extent[0], h = c->extent[1], chunks = (l + Q - 1) / Q;
    struct exec_tensor *x = exec_input(c, EXEC_BF16, FOUR(1, l, h, P)), *b = exec_input(c, EXEC_BF16, FOUR(1, l, 1, N));
    struct exec_tensor *dt = exec_input(c, EXEC_F32, CUBE(1, l, h)),
                       *da = exec_input(c, EXEC_F32, FOUR(1, h, chunks, Q));
    struct exec_tensor *state = exec_output(c, EXEC_F32, FIVE(1, chunks, h, P, N));
    struct tile_bf16_4 vx, vb;
    struct tile_f32_3 vdt;
    struct tile_f32_4 vda;
    struct tile_f32_5 vstate;
    draw(x, 1, 1), draw(b, 2, 1), draw(dt, 3, 1), draw(da, 4, 1);
    EXEC_BIND(vx, x), EXEC_BIND(vb, b), EXEC_BIND(vdt, dt), EXEC_BIND(vda, da), EXEC_BIND(vstate, state);
    exec_called(c, loops_ssd_chunk_state_bf16(c->stream, &vx, &vb, &vdt, &vda, &vstate));
    for (int64_t i = 0; i < chunks * h * P * N; i++) {
        int64_t n = i % N, p = i / N % P, head = i / (N * P) % h, chunk = i / (N * P * h);
        double sum = 0, sizes = 0;
        for (int64_t t = 0; t < Q && chunk * Q + t < l; t++) {
            int64_t row = chunk * Q + t, at = (head * chunks + chunk) * Q;
            double w = exp(exec_before(da, at + Q - 1) - exec_before(da, at + t)) * exec_before(dt, row * h + head);
            double term = exec_before(x, (row * h + head) * P + p) * exec_before(b, row * N + n) * w;
            sum += term;
            sizes += fabs(term);
        }
        expect_sum(c, state, i, sum, sizes);
    }
}

static void run_passing(struct exec_case *c)
{
    int64_t chunks = c->extent[0], h = c->extent[1], each = h * P * N;
    struct exec_tensor *state = exec_inout(c, EXEC_F32, FIVE(1, chunks, h, P, N));
    struct exec_tensor *da = exec_input(c, EXEC_F32, FOUR(1, h, chunks, Q));
    struct exec_tensor *before = exec_output(c, EXEC_BF16, FIVE(1, chunks, h, P, N));
    struct tile_f32_5 vstate;
    struct tile_f32_4 vda;
    struct tile_bf16_5 vbefore;
    draw(state, 1, 1), draw(da, 2, 1);
    EXEC_BIND(vstate, state), EXEC_BIND(vda, da), EXEC_BIND(vbefore, before);
    exec_called(c, loops_ssd_state_passing_bf16(c->stream, &vstate, &vda, &vbefore));
    for (int64_t i = 0; i < each; i++) {
        double sum = 0, sizes = 0;
        for (int64_t chunk = 0; chunk < chunks; chunk++) {
            double keep = exp(exec_before(da, (i / (P * N) * chunks + chunk) * Q + Q - 1));
            exec_expect(c, state, chunk * each + i, sum, 1e-5 * (1 + sizes));
            expect_sum(c, before, chunk * each + i, sum, sizes);
            sum = keep * sum + exec_before(state, chunk * each + i);
            sizes = keep * sizes + fabs(exec_before(state, chunk * each + i));
        }
    }
}

static void run_scan(struct exec_case *c)
{
    int64_t l = c->extent[0], h = c->extent[1], chunks = (l + Q - 1) / Q;
    struct exec_tensor *x = exec_input(c, EXEC_BF16, FOUR(1, l, h, P)), *b = exec_input(c, EXEC_BF16, FOUR(1, l, 1, N));
    struct exec_tensor *e = exec_input(c, EXEC_BF16, FOUR(1, l, 1, N)), *dt = exec_input(c, EXEC_F32, CUBE(1, l, h));
    struct exec_tensor *da = exec_input(c, EXEC_F32, FOUR(1, h, chunks, Q)),
                       *y = exec_output(c, EXEC_BF16, FOUR(1, l, h, P));
    struct exec_tensor *before = exec_input(c, EXEC_BF16, FIVE(1, chunks, h, P, N)),
                       *own = exec_input(c, EXEC_F32, 1, &h);
    struct tile_bf16_4 vx, vb, ve, vy;
    struct tile_f32_3 vdt;
    struct tile_f32_4 vda;
    struct tile_bf16_5 vbefore;
    struct tile_f32_1 vown;
    draw(x, 1, 1), draw(b, 2, 1), draw(e, 3, 1), draw(dt, 4, 1), draw(da, 5, 1), draw(before, 6, 1), draw(own, 7, 1);
    EXEC_BIND(vx, x), EXEC_BIND(vb, b), EXEC_BIND(ve, e), EXEC_BIND(vdt, dt), EXEC_BIND(vda, da), EXEC_BIND(vy, y);
    EXEC_BIND(vbefore, before), EXEC_BIND(vown, own);
    exec_called(c, loops_ssd_chunk_scan_bf16(c->stream, &vx, &vb, &ve, &vdt, &vda, &vbefore, &vown, &vy));
    for (int64_t i = 0; i < l * h; i++) {
        int64_t row = i / h, head = i % h, chunk = row / Q, at = (head * chunks + chunk) * Q;
        double now = exec_before(da, at + row % Q), weight[Q];
        for (int64_t t = 0; t <= row % Q; t++) {
            double product = 0;
            for (int n = 0; n < N; n++)
                product += exec_before(e, row * N + n) * exec_before(b, (chunk * Q + t) * N + n);
            weight[t] = product * exp(now - exec_before(da, at + t)) * exec_before(dt, (chunk * Q + t) * h + head);
        }
        for (int p = 0; p < P; p++) {
            double sum = exec_before(x, i * P + p) * exec_before(own, head), sizes = fabs(sum);
            for (int n = 0; n < N; n++) {
                double term = exec_before(e, row * N + n) * exp(now) *
                              exec_before(before, ((chunk * h + head) * P + p) * N + n);
                sum += term, sizes += fabs(term);
            }
            for (int64_t t = 0; t <= row % Q; t++) {
                double term = weight[t] * exec_before(x, ((chunk * Q + t) * h + head) * P + p);
                sum += term, sizes += fabs(term);
            }
            expect_sum(c, y, i * P + p, sum, sizes);
        }
    }
}

static const struct exec_test tests[] = {
    {"attention", run_attention, 3, {1, 70, 90}, 0}, {"attention_causal", run_attention_causal, 3, {1, 66, 40}, 0},
    {"int4", run_int4, 4, {9, 9, 3, 2}, 0},          {"state", run_state, 2, {70, 1}, 0},
    {"passing", run_passing, 2, {6, 1}, 0},          {"scan", run_scan, 2, {70, 2}, 0},
};

int main(int count, char **arguments) { return exec_main(count, arguments, tests, sizeof tests / sizeof *tests); }
