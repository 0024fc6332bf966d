#include "block_sparse.h"
#include "gallery.h"

enum { BS = 16 };

/* Block row r has r % 3 blocks, so that the first one is empty; their block columns go round. */
static void run_product(struct exec_case *c)
{
    int64_t rows = c->extent[0], columns = c->extent[1], n = c->extent[2], count = 0;
    for (int64_t r = 0; r < rows; r++)
        count += r % 3;
    count = columns ? count : 0;
    struct exec_tensor *row = exec_input(c, EXEC_I32, ROW(rows + 1)), *at = exec_input(c, EXEC_I32, ROW(count));
    struct exec_tensor *block = draw(exec_input(c, EXEC_F16, CUBE(count, BS, BS)), 1);
    struct exec_tensor *b = draw(exec_input(c, EXEC_F16, MATRIX(columns * BS, n)), 1);
    struct exec_tensor *y = exec_output(c, EXEC_F16, MATRIX(rows * BS, n));
    struct tile_i32_1 vrow, vat;
    struct tile_f16_3 vblock;
    struct tile_f16_2 vb, vy;
    exec_set_int(row, 0, 0);
    for (int64_t r = 0; r < rows; r++)
        exec_set_int(row, r + 1, exec_before_int(row, r) + (columns ? r % 3 : 0));
    for (int64_t i = 0; i < count; i++)
        exec_set_int(at, i, i * 5 % columns);
    EXEC_BIND(vrow, row), EXEC_BIND(vat, at), EXEC_BIND(vblock, block), EXEC_BIND(vb, b), EXEC_BIND(vy, y);
    exec_called(c, block_sparse_f16(c->stream, &vrow, &vat, &vblock, &vb, &vy));
    for (int64_t i = 0; i < rows * BS * n; i++) {
        int64_t r = i / n / BS, inside = i / n % BS;
        double sum = 0, sizes = 0;
        for (int64_t t = exec_before_int(row, r); t < exec_before_int(row, r + 1); t++)
            for (int64_t k = 0; k < BS; k++) {
                double term = exec_before(block, (t * BS + inside) * BS + k) *
                              exec_before(b, (exec_before_int(at, t) * BS + k) * n + i % n);
                sum += term, sizes += fabs(term);
            }
        expect_sum(c, y, i, sum, sizes, 0x1p-18);
    }
}

static void run_gradient(struct exec_case *c)
{
    int64_t rows = c->extent[0], columns = c->extent[1], n = c->extent[2], count = rows && columns ? 4 : 0;
    struct exec_tensor *row = exec_input(c, EXEC_I32, ROW(count)), *at = exec_input(c, EXEC_I32, ROW(count));
    struct exec_tensor *g = draw(exec_input(c, EXEC_F16, MATRIX(rows * BS, n)), 1);
    struct exec_tensor *b = draw(exec_input(c, EXEC_F16, MATRIX(columns * BS, n)), 1);
    struct exec_tensor *block = exec_output(c, EXEC_F16, CUBE(count, BS, BS));
    struct tile_i32_1 vrow, vat;
    struct tile_f16_3 vblock;
    struct tile_f16_2 vg, vb;
    for (int64_t i = 0; i < count; i++)
        exec_set_int(row, i, i * 3 % rows), exec_set_int(at, i, i * 5 % columns);
    EXEC_BIND(vrow, row), EXEC_BIND(vat, at), EXEC_BIND(vblock, block), EXEC_BIND(vb, b), EXEC_BIND(vg, g);
    exec_called(c, block_sparse_bwd_f16(c->stream, &vrow, &vat, &vg, &vb, &vblock));
    for (int64_t i = 0; i < count * BS * BS; i++) {
        int64_t t = i / (BS * BS), from = exec_before_int(row, t) * BS + i / BS % BS,
                to = exec_before_int(at, t) * BS + i % BS;
        double sum = 0, sizes = 0;
        for (int64_t k = 0; k < n; k++) {
            double term = exec_before(g, from * n + k) * exec_before(b, to * n + k);
            sum += term, sizes += fabs(term);
        }
        expect_sum(c, block, i, sum, sizes, 0x1p-18);
    }
}

static const struct exec_test tests[] = {{"product", run_product, 3, {5, 4, 70}, 0},
                                         {"gradient", run_gradient, 3, {5, 4, 70}, 0}};

int main(int count, char **arguments) { return exec_main(count, arguments, tests, sizeof tests / sizeof *tests); }
