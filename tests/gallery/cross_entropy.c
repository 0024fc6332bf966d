#include "cross_entropy.h"
#include "gallery.h"

static const double scale = 0.5, z_scale = 0.125;
enum { IGNORE = -100 };

/* Labels of the whole vocabulary, of which this shard has [first, first + v); the second row is ignored. */
static struct exec_tensor *draw_labels(struct exec_case *c, int64_t m, int64_t classes)
{
    struct exec_tensor *label = exec_input(c, EXEC_I64, ROW(m));
    for (int64_t i = 0; i < m; i++)
        exec_set_int(label, i, i == 1 ? IGNORE : i * 37 % classes);
    return label;
}

static void run_loss(struct exec_case *c, int split)
{
    int64_t m = c->extent[0], v = c->extent[1] ? c->extent[1] : 1, first = split ? 20 : 0, classes = v + 2 * first;
    double smooth = c->gaps ? 0.25 : 0;
    struct exec_tensor *x = draw(exec_input(c, EXEC_F32, MATRIX(m, v)), 6), *label = draw_labels(c, m, classes);
    struct exec_tensor *loss = exec_output(c, EXEC_F32, ROW(m)), *lse = exec_output(c, EXEC_F32, ROW(m));
    struct exec_tensor *zloss = exec_output(c, EXEC_F32, ROW(m));
    struct tile_f32_2 vx;
    struct tile_i64_1 vlabel;
    struct tile_f32_1 vloss, vlse, vzloss;
    EXEC_BIND(vx, x), EXEC_BIND(vlabel, label), EXEC_BIND(vloss, loss), EXEC_BIND(vlse, lse), EXEC_BIND(vzloss, zloss);
    exec_called(c, cross_entropy_f32(c->stream, &vx, &vlabel, &vloss, &vlse, &vzloss, (float)scale, (float)smooth,
                                     (float)z_scale, IGNORE, classes, first, split));
    for (int64_t i = 0; i < m; i++) {
        int64_t at = exec_before_int(label, i) - first;
        double sum = 0, all = 0, want = 0, z = 0;
        for (int64_t k = 0; k < v; k++) {
            all += scale * exec_before(x, i * v + k);
            sum += exp(scale * exec_before(x, i * v + k));
        }
        double e = split ? 0 : log(sum), share = smooth * all / (double)classes;
        if (exec_before_int(label, i) != IGNORE) {
            z = split ? 0 : z_scale * e * e;
            if (at >= 0 && at < v)
                want = e - share - (1 - smooth) * scale * exec_before(x, i * v + at);
            else
                want = smooth * e - share;
        }
        exec_expect(c, lse, i, log(sum), 1e-5);
        exec_expect(c, loss, i, want + z, 1e-4);
        exec_expect(c, zloss, i, z, 1e-4);
    }
}
static void run_whole(struct exec_case *c) { run_loss(c, 0); }
static void run_shard(struct exec_case *c) { run_loss(c, 1); }

static void run_gradient(struct exec_case *c)
{
    int64_t m = c->extent[0], v = c->extent[1] ? c->extent[1] : 1, first = 10, classes = v + 15;
    const double smooth = 0.25;
    struct exec_tensor *x = draw(exec_inout(c, EXEC_F32, MATRIX(m, v)), 6), *label = draw_labels(c, m, classes);
    struct exec_tensor *lse = draw(exec_input(c, EXEC_F32, ROW(m)), 4),
                       *dloss = draw(exec_input(c, EXEC_F32, ROW(m)), 2);
    struct tile_f32_2 vx;
    struct tile_i64_1 vlabel;
    struct tile_f32_1 vlse, vdloss;
    EXEC_BIND(vx, x), EXEC_BIND(vlabel, label), EXEC_BIND(vlse, lse), EXEC_BIND(vdloss, dloss);
    exec_called(c, cross_entropy_bwd_f32(c->stream, &vx, &vlabel, &vlse, &vdloss, &vx, (float)scale, (float)smooth,
                                         (float)z_scale, IGNORE, classes, first));
    for (int64_t i = 0; i < m * v; i++) {
        int64_t at = exec_before_int(label, i / v);
        double e = exec_before(lse, i / v), p = exp(scale * exec_before(x, i) - e);
        double d = p + 2 * z_scale * e * p - (i % v == at - first ? 1 - smooth : 0) - smooth / (double)classes;
        double want = at == IGNORE ? 0 : exec_before(dloss, i / v) * scale * d;
        expect_sum(c, x, i, want, fabs(exec_before(dloss, i / v)) * (1 + p * (1 + fabs(e))), 0x1p-16);
    }
}

static const struct exec_test tests[] = {{"whole", run_whole, 2, {5, 5000}, 0},
                                         {"shard", run_shard, 2, {5, 300}, 0},
                                         {"gradient", run_gradient, 2, {5, 5000}, 0}};

int main(int count, char **arguments) { return exec_main(count, arguments, tests, sizeof tests / sizeof *tests); }
