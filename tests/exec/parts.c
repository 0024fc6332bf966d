#include "exec.h"
#include "parts.h"
#include <math.h>

/* Five groups, one of them empty, one of a single row; the last rows belong to none. */
enum { GROUPS = 5 };
static int64_t begin_of(int64_t rows, int group)
{
    static const int64_t share[GROUPS + 1] = {0, 10, 10, 43, 44, 60};
    return share[group] * rows / 64;
}

static struct exec_tensor *make_bounds(struct exec_case *c, int64_t rows)
{
    struct exec_tensor *at = exec_range(c, EXEC_I32, 1, (int64_t[]){GROUPS + 1}, 0, 0);
    for (int z = 0; z <= GROUPS; z++)
        exec_set_int(at, z, begin_of(rows, z));
    return at;
}

static void run_grouped(struct exec_case *c)
{
    int64_t t = c->extent[0], k = c->extent[1], n = c->extent[2], longest = 0;
    struct exec_tensor *a = exec_input(c, EXEC_BF16, 2, (int64_t[]){t, k});
    struct exec_tensor *b = exec_input(c, EXEC_BF16, 3, (int64_t[]){GROUPS, k, n});
    struct exec_tensor *at = make_bounds(c, t), *r = exec_inout(c, EXEC_BF16, 2, (int64_t[]){t, n});
    struct tile_bf16_2 va, vr;
    struct tile_bf16_3 vb;
    struct tile_i32_1 vat;
    EXEC_BIND(va, a);
    EXEC_BIND(vb, b);
    EXEC_BIND(vat, at);
    EXEC_BIND(vr, r);
    for (int z = 0; z < GROUPS; z++)
        if (begin_of(t, z + 1) - begin_of(t, z) > longest)
            longest = begin_of(t, z + 1) - begin_of(t, z);
    exec_called(c, parts_grouped(c->stream, &va, &vb, &vat, &vr, longest));
    for (int64_t row = 0, z = 0; row < t; row++) {
        while (z < GROUPS && row >= begin_of(t, (int)z + 1))
            z++;
        for (int64_t column = 0; column < n; column++) {
            double sum = z < GROUPS ? exec_dot(a, row * k, 1, b, z * k * n + column, n, k) : 0.0;
            exec_expect(c, r, row * n + column, z < GROUPS ? sum : exec_before(r, row * n + column),
                        z < GROUPS ? 8e-3 : 0.0);
        }
    }
}

static void run_sums(struct exec_case *c)
{
    int64_t t = c->extent[0], m = c->extent[1], n = c->extent[2];
    struct exec_tensor *a = exec_input(c, EXEC_BF16, 2, (int64_t[]){t, m});
    struct exec_tensor *b = exec_input(c, EXEC_BF16, 2, (int64_t[]){t, n});
    struct exec_tensor *at = make_bounds(c, t), *r = exec_output(c, EXEC_F32, 3, (int64_t[]){GROUPS, m, n});
    struct tile_bf16_2 va, vb;
    struct tile_f32_3 vr;
    struct tile_i32_1 vat;
    EXEC_BIND(va, a);
    EXEC_BIND(vb, b);
    EXEC_BIND(vat, at);
    EXEC_BIND(vr, r);
    exec_called(c, parts_gathered_sums(c->stream, &va, &vb, &vat, &vr));
    for (int64_t i = 0; i < r->elements; i++) {
        int64_t z = i / (m * n), row = i / n % m, column = i % n;
        int64_t begin = begin_of(t, (int)z), end = begin_of(t, (int)z + 1);
        exec_expect(c, r, i, exec_dot(a, begin * m + row, m, b, begin * n + column, n, end - begin), 1e-3);
    }
}

int main(int count, char **arguments)
{
    static const struct exec_test tests[] = {
        {"grouped", run_grouped, 3, {330, 136, 200}, 0},
        {"sums", run_sums, 3, {330, 72, 136}, 0},
    };
    return exec_main(count, arguments, tests, (int)(sizeof tests / sizeof *tests));
}
