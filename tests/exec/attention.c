/* examples/attention.tile: more keys than queries and fewer, so that under the causal mask the first rows see nothing;
 * no key at all; heads that share keys. */
#include "attention.h"
#include "exec.h"
#include <math.h>
#include <stdlib.h>

enum { HEADS = 2, GROUPS = 1, D = 64 };

/* Row i of one head: o[D] and lse.  A score of NaN or inf makes the row NaN, and its lse -inf as the source says. */
static double attend(const struct exec_tensor *q, const struct exec_tensor *k, const struct exec_tensor *v, int64_t row,
                     int64_t keys, int64_t visible, double scale, double *o)
{
    double most = -INFINITY, sum = 0.0, *score = malloc(sizeof *score * (size_t)(visible + 1));
    for (int d = 0; d < D; d++)
        o[d] = 0.0;
    for (int64_t j = 0; j < visible; j++) {
        score[j] = 0.0;
        for (int d = 0; d < D; d++)
            score[j] += exec_before(q, row * D + d) * exec_before(k, (keys + j) * D + d);
        most = fmax(most, score[j]);
    }
    for (int64_t j = 0; j < visible; j++)
        sum += exp((score[j] - (most > -INFINITY ? most : 0.0)) * scale);
    for (int64_t j = 0; j < visible; j++)
        for (int d = 0; d < D; d++)
            o[d] += exp((score[j] - (most > -INFINITY ? most : 0.0)) * scale) *
                    (sum > 0.0    ? exec_before(v, (keys + j) * D + d) / sum
                     : sum != sum ? NAN
                                  : 0.0);
    free(score);
    return sum > 0.0 ? most * scale + log(sum) : -INFINITY;
}

static void run_attention(struct exec_case *c, int causal)
{
    const int64_t l = c->extent[0], s = c->extent[1], z = c->gaps ? 2 : 1;
    const double scale = 0.03125;
    int64_t of_q[4] = {z, HEADS, l, D}, of_k[4] = {z, GROUPS, s, D};
    struct exec_tensor *q = exec_input(c, EXEC_F16, 4, of_q), *k = exec_input(c, EXEC_F16, 4, of_k);
    int special = c->special;
    c->special = 0; /* what a probability of almost 0 gives with inf is not the same in f16 */
    struct exec_tensor *v = exec_input(c, EXEC_F16, 4, of_k), *o = exec_output(c, EXEC_F16, 4, of_q),
                       *lse = exec_output(c, EXEC_F32, 3, of_q);
    struct tile_f16_4 vq, vk, vv, vo;
    struct tile_f32_3 vl;
    c->special = special;
    EXEC_BIND(vq, q);
    EXEC_BIND(vk, k);
    EXEC_BIND(vv, v);
    EXEC_BIND(vo, o);
    EXEC_BIND(vl, lse);
    exec_called(c, attention_f16(c->stream, &vq, &vk, &vv, &vo, c->gaps ? NULL : &vl, (float)scale, causal));
    for (int64_t row = 0; row < z * HEADS * l; row++) {
        int64_t head = row / l % HEADS, group = row / l / HEADS * GROUPS + head / (HEADS / GROUPS);
        int64_t visible = causal ? row % l + s - l + 1 : s;
        double want[D], sum = attend(q, k, v, row, group * s, visible < 0 ? 0 : visible, scale, want);
        if (!c->gaps)
            exec_expect(c, lse, row, sum, 1e-4);
        for (int d = 0; d < D; d++)
            exec_expect(c, o, row * D + d, want[d], 4e-3);
    }
}

static void run_full(struct exec_case *c) { run_attention(c, 0); }
static void run_causal(struct exec_case *c) { run_attention(c, 1); }

static const struct exec_test tests[] = {
    {"attention", run_full, 2, {20, 70}, 0},
    {"attention causal", run_causal, 2, {40, 30}, 0},
    {"attention causal, no row sees a key", run_causal, 2, {9, 0}, 1},
    {"attention causal, the last row sees one", run_causal, 2, {130, 1}, 1},
};

int main(int count, char **arguments) { return exec_main(count, arguments, tests, sizeof tests / sizeof *tests); }
