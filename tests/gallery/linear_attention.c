#include "linear_attention.h"
#include "gallery.h"

enum { D = 64, H = 2 };

static void run_attention(struct exec_case *c)
{
    int64_t h = H, l = c->extent[0], e = c->extent[1];
    int carried = !c->gaps;
    struct exec_tensor *q = draw(exec_input(c, EXEC_BF16, FOUR(1, h, l, D)), 0.25);
    struct exec_tensor *k = draw(exec_input(c, EXEC_BF16, FOUR(1, h, l, D)), 0.25);
    struct exec_tensor *v = draw(exec_input(c, EXEC_BF16, FOUR(1, h, l, e)), 1),
                       *decay = exec_input(c, EXEC_F32, ROW(h));
    struct exec_tensor *s0 = draw(exec_input(c, EXEC_F32, FOUR(1, h, D, e)), 1),
                       *o = exec_output(c, EXEC_BF16, FOUR(1, h, l, e));
    struct exec_tensor *s1 = exec_output(c, EXEC_F32, FOUR(1, h, D, e));
    struct tile_bf16_4 vq, vk, vv, vo;
    struct tile_f32_1 vdecay;
    struct tile_f32_4 vs0, vs1;
    for (int64_t i = 0; i < h; i++)
        exec_set(decay, i, i % 2 ? 0 : -0.125);
    EXEC_BIND(vq, q), EXEC_BIND(vk, k), EXEC_BIND(vv, v), EXEC_BIND(vo, o), EXEC_BIND(vdecay, decay);
    EXEC_BIND(vs0, s0), EXEC_BIND(vs1, s1);
    exec_called(c, linear_attention_bf16(c->stream, &vq, &vk, &vv, &vdecay, carried ? &vs0 : NULL, &vo, &vs1));
    for (int64_t i = 0; i < h * e; i++) {
        double state[D], sizes[D], keep = exp(exec_before(decay, i / e));
        for (int d = 0; d < D; d++) {
            state[d] = carried ? exec_before(s0, (i / e * D + d) * e + i % e) : 0;
            sizes[d] = fabs(state[d]);
        }
        for (int64_t t = i / e * l; t < (i / e + 1) * l; t++) {
            double sum = 0, all = 0;
            for (int d = 0; d < D; d++) {
                double term = exec_before(k, t * D + d) * exec_before(v, t * e + i % e);
                state[d] = keep * state[d] + term, sizes[d] = keep * sizes[d] + fabs(term);
                sum += exec_before(q, t * D + d) * state[d], all += fabs(exec_before(q, t * D + d)) * sizes[d];
            }
            expect_sum(c, o, t * e + i % e, sum, all, 0x1p-7);
        }
        for (int d = 0; d < D; d++)
            expect_sum(c, s1, (i / e * D + d) * e + i % e, state[d], sizes[d], 0x1p-7);
    }
}

static const struct exec_test tests[] = {{"attention", run_attention, 2, {110, 20}, 0}};

int main(int count, char **arguments) { return exec_main(count, arguments, tests, sizeof tests / sizeof *tests); }
