#include "exec.h"
#include "structs.h"
#include <math.h>

#define ONE(n) \
    1, (int64_t[]) { n }
#define TWO(m, n) \
    2, (int64_t[]) { m, n }

static double bent(double x, const struct tile_wave *w, double scale)
{
    return w->shape == TILE_SHAPE_SQUARE && x < 0 ? -x * scale : x * scale + w->shift;
}

static void run_waves(struct exec_case *c)
{
    int64_t n = c->extent[0], period = c->extent[1] + 1;
    struct exec_tensor *x = exec_input(c, EXEC_F32, ONE(n)), *table = exec_packed(c, EXEC_F32, ONE(256), 0),
                       *y = exec_output(c, EXEC_F32, ONE(n));
    struct tile_f32_1 vx, vy;
    struct tile_wave w = {.scale = 0.75f, .shift = -1.5, .period = (int32_t)period, .on = n % 2 == 0, .narrow = 0.125f};
    w.shape = n % 3 == 0 ? TILE_SHAPE_LINE : TILE_SHAPE_SQUARE;
    w.at = exec_pointer(table);
    w.count = 200;
    EXEC_BIND(vx, x);
    EXEC_BIND(vy, y);
    exec_called(c, structs_waves(c->stream, &w, &vx, &vy));
    int loud = (period + w.on) % 2 == 0;
    for (int64_t i = 0; i < n; i++)
        exec_expect(c, y, i, bent(exec_before(x, i), &w, loud ? 1.5 : 0.75) + exec_before(table, 200) + 0.125, 1e-6);
    if (structs_waves(c->stream, NULL, &vx, &vy) != TILE_ERR_ARG)
        exec_fail(c, "a struct that is NULL is no error");
    w.scale = 0;
    if (structs_waves(c->stream, &w, &vx, &vy) != TILE_ERR_ARG)
        exec_fail(c, "a requirement of a member is not looked at");
}

static void run_rows(struct exec_case *c)
{
    int64_t m = c->extent[0], n = c->extent[1];
    struct exec_tensor *x = exec_input(c, EXEC_F32, TWO(m, n)), *value = exec_output(c, EXEC_F32, ONE(m)),
                       *at = exec_output(c, EXEC_I64, ONE(m));
    struct tile_f32_2 vx;
    struct tile_f32_1 vv;
    struct tile_i64_1 va;
    EXEC_BIND(vx, x);
    EXEC_BIND(vv, value);
    EXEC_BIND(va, at);
    exec_called(c, structs_rows(c->stream, &vx, &vv, &va));
    for (int64_t i = 0; i < m; i++) {
        double best = -INFINITY;
        int64_t where = -1;
        for (int64_t j = 0; j < n; j++)
            if (exec_before(x, i * n + j) > best) {
                best = exec_before(x, i * n + j);
                where = j;
            }
        exec_expect(c, value, i, best, 0);
        exec_expect_int(c, at, i, where);
    }
}

static const struct exec_test tests[] = {
    {"waves", run_waves, 2, {200, 3}, 0},
    {"rows", run_rows, 2, {9, 50}, 0},
};

int main(int count, char **arguments) { return exec_main(count, arguments, tests, sizeof tests / sizeof *tests); }
