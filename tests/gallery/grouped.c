#include "grouped.h"
#include "gallery.h"

enum { GROUPS = 19 };

/* Rows of a group; each third has none.  The first rows and the last are in no group, and stay as they are. */
static int64_t size_of(int64_t rows, int64_t group)
{
    return group % 3 == 1 ? 0 : group == 5 ? rows / 3 : rows / 40 + group;
}

static void run_grouped(struct exec_case *c)
{
    int64_t m = c->extent[0], n = c->extent[1], k = c->extent[2], *group = malloc((size_t)(m + 1) * sizeof *group),
            at = 2;
    struct exec_tensor *a = draw(exec_input(c, EXEC_F16, MATRIX(m, k)), 1);
    struct exec_tensor *w = draw(exec_input(c, EXEC_F16, CUBE(GROUPS, n, k)), 1);
    struct exec_tensor *cu = exec_input(c, EXEC_I32, ROW(GROUPS + 1)), *y = exec_inout(c, EXEC_F16, MATRIX(m, n));
    struct tile_f16_2 va, vy;
    struct tile_f16_3 vw;
    struct tile_i32_1 vcu;
    for (int64_t i = 0; i < m; i++)
        group[i] = -1;
    for (int64_t g = 0; g <= GROUPS; g++) {
        exec_set_int(cu, g, at < m ? at : m);
        for (int64_t end = at + size_of(m, g); g < GROUPS && at < end; at++)
            if (at < m)
                group[at] = g;
    }
    EXEC_BIND(va, a), EXEC_BIND(vw, w), EXEC_BIND(vcu, cu), EXEC_BIND(vy, y);
    exec_called(c, grouped_f16(c->stream, &va, &vw, &vcu, &vy));
    for (int64_t i = 0; i < m * n; i++) {
        int64_t g = group[i / n];
        double sum = 0, sizes = 0;
        for (int64_t j = 0; g >= 0 && j < k; j++) {
            double term = exec_before(a, i / n * k + j) * exec_before(w, (g * n + i % n) * k + j);
            sum += term, sizes += fabs(term);
        }
        if (g < 0)
            exec_expect(c, y, i, exec_before(y, i), 0);
        else
            expect_sum(c, y, i, sum, sizes, 0x1p-18);
    }
    free(group);
}

static const struct exec_test tests[] = {{"grouped", run_grouped, 3, {300, 40, 70}, 0}};

int main(int count, char **arguments) { return exec_main(count, arguments, tests, sizeof tests / sizeof *tests); }
