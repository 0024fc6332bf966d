#include "experts.h"
#include "gallery.h"

enum { BS = 16, TOP = 2, EXPERTS = 3 };

/* Row t goes to expert (t*7)%4; number 3 is nobody's, and one block beyond the used ones must stay as it is. */
static void run_experts(struct exec_case *c)
{
    int64_t m = c->extent[0], n = c->extent[1], k = c->extent[2], rows = m * TOP, count = 0;
    int64_t blocks = EXPERTS + 2 + exec_cdiv(rows, BS), *of_row = malloc((size_t)(rows + 1) * sizeof *of_row);
    struct exec_tensor *a = draw(exec_input(c, EXEC_F16, MATRIX(m, k)), 1);
    struct exec_tensor *w = draw(exec_input(c, EXEC_F16, CUBE(EXPERTS, n, k)), 1);
    struct exec_tensor *ids = exec_input(c, EXEC_I32, ROW(blocks * BS)), *expert = exec_input(c, EXEC_I32, ROW(blocks));
    struct exec_tensor *used = exec_input(c, EXEC_I32, ROW(1)), *weight = draw(exec_input(c, EXEC_F32, ROW(rows)), 2);
    struct exec_tensor *y = exec_inout(c, EXEC_F16, MATRIX(rows, n));
    struct tile_f16_2 va, vy;
    struct tile_f16_3 vw;
    struct tile_i32_1 vids, vexpert, vused;
    struct tile_f32_1 vweight;
    for (int64_t i = 0; i < blocks * BS; i++)
        exec_set_int(ids, i, rows + i);
    for (int64_t e = 0; e <= EXPERTS; e++, count = exec_cdiv(count, BS) * BS)
        for (int64_t t = 0; t < rows; t++)
            if (t * 7 % (EXPERTS + 1) == e) {
                of_row[t] = e < EXPERTS ? e : -1;
                exec_set_int(expert, count / BS, of_row[t]);
                exec_set_int(ids, count++, t);
            }
    for (int64_t b = count / BS; b < blocks; b++)
        exec_set_int(expert, b, 0);
    exec_set_int(ids, blocks * BS - 1, 0); /* in a block that is not used */
    exec_set_int(used, 0, count);
    EXEC_BIND(va, a), EXEC_BIND(vw, w), EXEC_BIND(vids, ids), EXEC_BIND(vexpert, expert), EXEC_BIND(vused, used);
    EXEC_BIND(vweight, weight), EXEC_BIND(vy, y);
    exec_called(c, experts_f16(c->stream, &va, &vw, &vids, &vexpert, &vused, c->gaps ? NULL : &vweight, &vy, TOP, BS));
    for (int64_t i = 0; i < rows * n; i++) {
        int64_t t = i / n, e = of_row[t];
        double sum = 0, sizes = 0, by = c->gaps ? 1 : exec_before(weight, t);
        for (int64_t at = 0; e >= 0 && at < k; at++) {
            double term = exec_before(a, t / TOP * k + at) * exec_before(w, (e * n + i % n) * k + at) * by;
            sum += term, sizes += fabs(term);
        }
        expect_sum(c, y, i, sum, sizes, 0x1p-18);
    }
    free(of_row);
}

static const struct exec_test tests[] = {{"experts", run_experts, 3, {50, 40, 70}, 0}};

int main(int count, char **arguments) { return exec_main(count, arguments, tests, sizeof tests / sizeof *tests); }
