#include "int4_linear.h"
#include "gallery.h"

static void run_part(struct exec_case *c)
{
    enum { GROUP = 128 };
    int64_t m = c->extent[0], n = 8 * c->extent[1], groups = c->extent[2], parts = c->extent[3], k = GROUP * groups;
    struct exec_tensor *x = exec_input(c, EXEC_BF16, MATRIX(m, k)), *w = exec_input(c, EXEC_I32, MATRIX(k / 8, n));
    struct exec_tensor *s = exec_input(c, EXEC_BF16, MATRIX(groups, n)),
                       *part = exec_output(c, EXEC_F32, CUBE(parts, m, n));
    struct tile_bf16_2 vx, vs;
    struct tile_i32_2 vw;
    struct tile_f32_3 vpart;
    draw(x, 1), draw(s, 0.25);
    EXEC_BIND(vx, x), EXEC_BIND(vw, w), EXEC_BIND(vs, s), EXEC_BIND(vpart, part);
    exec_called(c, int4_linear_part_bf16(c->stream, &vx, &vw, &vs, &vpart, GROUP));
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

static void run_total(struct exec_case *c)
{
    int64_t parts = c->extent[0], m = c->extent[1], n = c->extent[2];
    struct exec_tensor *part = draw(exec_input(c, EXEC_F32, CUBE(parts, m, n)), 1),
                       *y = exec_output(c, EXEC_BF16, MATRIX(m, n));
    struct tile_f32_3 vpart;
    struct tile_bf16_2 vy;
    EXEC_BIND(vpart, part), EXEC_BIND(vy, y);
    exec_called(c, int4_linear_total_bf16(c->stream, &vpart, &vy));
    for (int64_t i = 0; i < m * n; i++) {
        double sum = 0;
        for (int64_t p = 0; p < parts; p++)
            sum += exec_before(part, p * m * n + i);
        exec_expect(c, y, i, sum, 0x1p-8);
    }
}

static const struct exec_test tests[] = {{"part", run_part, 4, {9, 9, 3, 2}, 0},
                                         {"total", run_total, 3, {4, 5, 300}, 0}};

int main(int count, char **arguments) { return exec_main(count, arguments, tests, sizeof tests / sizeof *tests); }
