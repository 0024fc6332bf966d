#include "paged_decode.h"
#include "gallery.h"

enum { D = 64, PAGE = 16, GROUP = 3, SEQUENCES = 3, HEADS = 2 };

static double score(const struct exec_tensor *q, const struct exec_tensor *k, int64_t row, int64_t slot)
{
    double sum = 0;
    for (int d = 0; d < D; d++)
        sum += exec_before(q, row * D + d) * exec_before(k, slot * D + d);
    return sum;
}

/* Sequences of 0, 1 and so on keys, whose pages lie in any order; slots that are not used hold what they happen to.  The first
 * says that it is longer than its pages. */
static void run_decode(struct exec_case *c)
{
    int64_t z = SEQUENCES, heads = HEADS, most = c->extent[0], columns = exec_cdiv(most, PAGE);
    int64_t parts = c->extent[1] > 1 ? c->extent[1] : 1;
    int64_t pages = z * columns, h = heads * GROUP;
    const double scale = 0.125;
    struct exec_tensor *q = draw(exec_input(c, EXEC_F16, CUBE(z, h, D)), 1);
    struct exec_tensor *k = draw(exec_input(c, EXEC_F16, FOUR(pages, PAGE, heads, D)), 1);
    struct exec_tensor *v = draw(exec_input(c, EXEC_F16, FOUR(pages, PAGE, heads, D)), 2);
    struct exec_tensor *table = exec_input(c, EXEC_I32, MATRIX(z, columns)), *len = exec_input(c, EXEC_I32, ROW(z));
    struct exec_tensor *part = exec_inout(c, EXEC_F32, FOUR(z, h, parts, D));
    struct exec_tensor *lse = exec_inout(c, EXEC_F32, ROW(z * h * parts)),
                       *met = exec_inout(c, EXEC_U32, ROW(z * heads));
    struct exec_tensor *o = exec_output(c, EXEC_F16, CUBE(z, h, D));
    struct tile_f16_3 vq, vo;
    struct tile_f16_4 vk, vv;
    struct tile_i32_2 vtable;
    struct tile_i32_1 vlen;
    struct tile_f32_4 vpart;
    struct tile_f32_1 vlse;
    struct tile_u32_1 vmet;
    for (int64_t i = 0; i < pages; i++)
        exec_set_int(table, i, pages - 1 - i);
    for (int64_t i = 0; i < z; i++)
        exec_set_int(len, i, i == 0 ? columns * PAGE + 5 : i * 7 % (most + 1));
    for (int64_t i = 0; i < z * heads; i++)
        exec_set_int(met, i, 0);
    EXEC_BIND(vq, q), EXEC_BIND(vo, o), EXEC_BIND(vk, k), EXEC_BIND(vv, v), EXEC_BIND(vtable, table);
    EXEC_BIND(vlen, len), EXEC_BIND(vpart, part), EXEC_BIND(vlse, lse), EXEC_BIND(vmet, met);
    exec_called(c, paged_decode_f16(c->stream, &vq, &vk, &vv, &vtable, &vlen, &vpart, &vlse, &vmet, &vo, (float)scale));
    for (int64_t i = 0; i < z * heads; i++)
        exec_expect(c, met, i, 0, 0);
    for (int64_t row = 0; row < z * h; row++) {
        int64_t head = row % h / GROUP, at = row / h, n = exec_before_int(len, at);
        n = n < columns * PAGE ? n : columns * PAGE;
        double sum = 0, want[D] = {0};
        for (int64_t j = 0; j < n; j++) {
            int64_t page = exec_before_int(table, at * columns + j / PAGE);
            int64_t slot = (page * PAGE + j % PAGE) * heads + head;
            double p = exp(score(q, k, row, slot) * scale);
            sum += p;
            for (int d = 0; d < D; d++)
                want[d] += p * exec_before(v, slot * D + d);
        }
        for (int d = 0; d < D; d++)
            exec_expect(c, o, row * D + d, n ? want[d] / sum : 0, 2e-3);
    }
}

static const struct exec_test tests[] = {{"decode", run_decode, 2, {150, 3}, 0}};

int main(int count, char **arguments) { return exec_main(count, arguments, tests, sizeof tests / sizeof *tests); }
