#include "varlen_attention.h"
#include "gallery.h"

enum { D = 64, GROUPS = 2, SEQUENCES = 3 };

struct options {
    int64_t window;
    double cap, slope;
};

/* Sequence z has z, 2z … queries and as many keys and some more, packed behind each other; the first one is empty. */
static void run_attention(struct exec_case *c, struct options has)
{
    int64_t l = c->extent[0], more = c->extent[1], h = 2 * GROUPS, tq = 0, tk = 0;
    const double scale = 0.125;
    struct exec_tensor *cuq = exec_input(c, EXEC_I32, ROW(SEQUENCES + 1)),
                       *cuk = exec_input(c, EXEC_I32, ROW(SEQUENCES + 1));
    for (int z = 0; z < SEQUENCES; z++) {
        exec_set_int(cuq, z, tq), exec_set_int(cuk, z, tk);
        tq += z * l / 2, tk += z * l / 2 + (z == 2 ? more : 0);
    }
    exec_set_int(cuq, SEQUENCES, tq), exec_set_int(cuk, SEQUENCES, tk);
    struct exec_tensor *q = draw(exec_input(c, EXEC_F16, CUBE(tq, h, D)), 1);
    struct exec_tensor *k = draw(exec_input(c, EXEC_F16, CUBE(tk, h / GROUPS, D)), 1);
    struct exec_tensor *v = draw(exec_input(c, EXEC_F16, CUBE(tk, h / GROUPS, D)), 2);
    struct exec_tensor *slope = draw(exec_input(c, EXEC_F32, ROW(h)), has.slope);
    struct exec_tensor *o = exec_output(c, EXEC_F16, CUBE(tq, h, D)), *lse = exec_output(c, EXEC_F32, MATRIX(h, tq));
    struct tile_f16_3 vq, vk, vv, vo;
    struct tile_i32_1 vcuq, vcuk;
    struct tile_f32_1 vslope;
    struct tile_f32_2 vlse;
    EXEC_BIND(vq, q), EXEC_BIND(vk, k), EXEC_BIND(vv, v), EXEC_BIND(vo, o), EXEC_BIND(vcuq, cuq), EXEC_BIND(vcuk, cuk);
    EXEC_BIND(vslope, slope), EXEC_BIND(vlse, lse);
    exec_called(c, varlen_attention_f16(c->stream, &vq, &vk, &vv, &vcuq, &vcuk, has.slope > 0 ? &vslope : NULL, &vo,
                                        &vlse, (int32_t)l, (float)scale, (int32_t)has.window, (float)has.cap));
    double *p = calloc((size_t)tk + 1, sizeof *p);
    for (int64_t at = 0; at < tq * h; at++) {
        int64_t row = at / h, head = at % h, z = 0;
        while (row >= exec_before_int(cuq, z + 1))
            z++;
        int64_t first = exec_before_int(cuk, z), keys = exec_before_int(cuk, z + 1) - first;
        int64_t own = row - exec_before_int(cuq, z) + keys - (exec_before_int(cuq, z + 1) - exec_before_int(cuq, z));
        double sum = 0, want[D] = {0};
        for (int64_t j = 0; j <= own; j++) {
            double s = 0;
            for (int d = 0; d < D; d++)
                s += scale * exec_before(q, at * D + d) *
                     exec_before(k, ((first + j) * (h / GROUPS) + head / GROUPS) * D + d);
            s = has.cap > 0 ? has.cap * tanh(s / has.cap) : s;
            s -= has.slope > 0 ? exec_before(slope, head) * (double)(own - j) : 0;
            p[j] = has.window >= 0 && own - j > has.window ? 0 : exp(s);
            sum += p[j];
            for (int d = 0; d < D; d++)
                want[d] += p[j] * exec_before(v, ((first + j) * (h / GROUPS) + head / GROUPS) * D + d);
        }
        exec_expect(c, lse, head * tq + row, log(sum), 1e-3);
        for (int d = 0; d < D; d++)
            exec_expect(c, o, at * D + d, want[d] / sum, 3e-3);
    }
    free(p);
}
static void run_plain(struct exec_case *c) { run_attention(c, (struct options){-1, 0, 0}); }
static void run_window(struct exec_case *c) { run_attention(c, (struct options){20, 0, 0}); }
static void run_cap(struct exec_case *c) { run_attention(c, (struct options){-1, 2, 0.125}); }

static const struct exec_test tests[] = {{"plain", run_plain, 2, {24, 60}, 0},
                                         {"plain_long", run_plain, 2, {150, 20}, 1},
                                         {"window", run_window, 2, {24, 60}, 0},
                                         {"cap_and_slope", run_cap, 2, {24, 6}, 0}};

int main(int count, char **arguments) { return exec_main(count, arguments, tests, sizeof tests / sizeof *tests); }
