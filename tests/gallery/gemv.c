#include "gemv.h"
#include "gallery.h"
#include <stdbool.h>

static void run_vector(struct exec_case *c, bool turned)
{
    int64_t m = c->extent[0], k = c->extent[1], rows = turned ? k : m, columns = turned ? m : k;
    struct exec_tensor *a = draw(exec_input(c, EXEC_BF16, MATRIX(rows, columns)), 1);
    struct exec_tensor *x = draw(exec_input(c, EXEC_BF16, ROW(k)), 1), *y = exec_output(c, EXEC_BF16, ROW(m));
    struct tile_bf16_2 va;
    struct tile_bf16_1 vx, vy;
    EXEC_BIND(va, a), EXEC_BIND(vx, x), EXEC_BIND(vy, y);
    exec_called(c, turned ? gemv_columns_bf16(c->stream, &va, &vx, &vy) : gemv_bf16(c->stream, &va, &vx, &vy));
    for (int64_t i = 0; i < m; i++) {
        double sum = 0, sizes = 0;
        for (int64_t at = 0; at < k; at++) {
            double term = exec_before(a, turned ? at * m + i : i * k + at) * exec_before(x, at);
            sum += term, sizes += fabs(term);
        }
        expect_sum(c, y, i, sum, sizes, 0x1p-18);
    }
}

static void run_rows(struct exec_case *c) { run_vector(c, false); }
static void run_columns(struct exec_case *c) { run_vector(c, true); }

static const struct exec_test tests[] = {{"rows", run_rows, 2, {300, 1100}, 0},
                                         {"columns", run_columns, 2, {300, 1100}, 0}};

int main(int count, char **arguments) { return exec_main(count, arguments, tests, sizeof tests / sizeof *tests); }
