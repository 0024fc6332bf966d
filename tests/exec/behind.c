/* tests/exec/behind.tile: rows behind their sums, with each condition true and false. */
#include "behind.h"
#include "exec.h"

#include <math.h>
#include <stdlib.h>

static double eps(enum exec_type type) { return type == EXEC_BF16 ? 1.0 / 128 : 1e-5; }

/* As large as what rounds in a sum of products, which what is stored is made of. */
static double close_to(enum exec_type type, double sum, double value)
{
    return eps(type) * (4 * fabs(sum) + fabs(value) + 16) + 1e-4;
}

struct rows {
    struct exec_tensor *x, *y, *w, *r;
};

static struct rows make_rows(struct exec_case *c, enum exec_type type)
{
    const int64_t *shape = c->extent;
    struct rows rows;
    rows.x = exec_input(c, type, 2, shape);
    rows.y = exec_input(c, type, 2, shape);
    rows.w = exec_input(c, type, 1, shape + 1);
    rows.r = exec_output(c, type, 2, shape);
    return rows;
}

/* Calls the kernel's instance of a type with the rows; behind them stand its other arguments. */
#define CALL_OF(type, kernel, c, rows, ...)                                                     \
    do {                                                                                        \
        struct tile_##type##_2 vx, vy, vr;                                                      \
        struct tile_##type##_1 vw;                                                              \
        EXEC_BIND(vx, (rows)->x);                                                               \
        EXEC_BIND(vy, (rows)->y);                                                               \
        EXEC_BIND(vw, (rows)->w);                                                               \
        EXEC_BIND(vr, (rows)->r);                                                               \
        exec_called(c, behind_##kernel##_##type((c)->stream, &vx, &vy, &vw, &vr, __VA_ARGS__)); \
    } while (0)
#define CALL(kernel, c, rows, ...)                       \
    do {                                                 \
        if ((rows)->x->type == EXEC_F32)                 \
            CALL_OF(f32, kernel, c, rows, __VA_ARGS__);  \
        else                                             \
            CALL_OF(bf16, kernel, c, rows, __VA_ARGS__); \
    } while (0)

/* Of a row: the means of x*w*y and of w*y. */
static void means_of_row(const struct rows *rows, int64_t row, int64_t n, double *s, double *e)
{
    *s = *e = 0;
    for (int64_t k = 0; k < n; k++) {
        double wd = exec_before(rows->w, k) * exec_before(rows->y, row * n + k);
        *s += exec_before(rows->x, row * n + k) * wd;
        *e += wd;
    }
    *s /= (double)n;
    *e /= (double)n;
}

static void run_norm(struct exec_case *c, enum exec_type type, int is_first)
{
    int64_t m = c->extent[0], n = c->extent[1], shape[2] = {m, n};
    struct rows rows = make_rows(c, type);
    struct exec_tensor *p = exec_inout(c, EXEC_F32, 2, shape), *q = exec_inout(c, EXEC_F32, 2, shape);
    struct tile_f32_2 vp, vq;
    EXEC_BIND(vp, p);
    EXEC_BIND(vq, q);
    CALL(norm_back, c, &rows, &vp, &vq, is_first);
    for (int64_t i = 0; i < m; i++) {
        double s, e;
        means_of_row(&rows, i, n, &s, &e);
        for (int64_t k = 0, at = i * n; k < n; k++, at++) {
            double v = exec_before(rows.x, at), d = exec_before(rows.y, at), wd = exec_before(rows.w, k) * d;
            exec_expect(c, rows.r, at, wd - (v * s + e), close_to(type, v * s + e, wd));
            exec_expect(c, p, at, d * v + (is_first ? 0 : exec_before(p, at)), 1e-5);
            exec_expect(c, q, at, d + (is_first ? 0 : exec_before(q, at)), 1e-5);
        }
    }
}

static void run_added(struct exec_case *c, enum exec_type type)
{
    int64_t m = c->extent[0], n = c->extent[1];
    struct rows rows = make_rows(c, type);
    struct exec_tensor *p = exec_inout(c, EXEC_F32, 1, &n), *q = exec_inout(c, EXEC_F32, 1, &n);
    double *added = calloc((size_t)n, sizeof *added), *most = calloc((size_t)n, sizeof *most);
    struct tile_f32_1 vp, vq;
    EXEC_BIND(vp, p);
    EXEC_BIND(vq, q);
    CALL(norm_added, c, &rows, &vp, &vq);
    for (int64_t k = 0; k < n; k++)
        most[k] = exec_before(q, k);
    for (int64_t i = 0; i < m; i++) {
        double s, e;
        means_of_row(&rows, i, n, &s, &e);
        for (int64_t k = 0, at = i * n; k < n; k++, at++) {
            double v = exec_before(rows.x, at), d = exec_before(rows.y, at), wd = exec_before(rows.w, k) * d;
            exec_expect(c, rows.r, at, wd - (v * s + e), close_to(type, v * s + e, wd));
            added[k] += d * v;
            most[k] = v > 0 ? fmax(most[k], d + e) : most[k];
        }
    }
    for (int64_t k = 0; k < n; k++) {
        exec_expect(c, p, k, exec_before(p, k) + added[k], 1e-4);
        exec_expect(c, q, k, most[k], 1e-4);
    }
    free(added);
    free(most);
}

enum { GROUPS = 2 };

/* What is in p and q before is nobody's: the first row of a group stores its own. */
static void run_locked(struct exec_case *c, enum exec_type type)
{
    int64_t m = c->extent[0], n = c->extent[1], groups[2] = {GROUPS, n};
    struct rows rows = make_rows(c, type);
    struct exec_tensor *p = exec_inout(c, EXEC_F32, 2, groups), *q = exec_inout(c, EXEC_F32, 2, groups),
                       *lock = exec_inout(c, EXEC_I32, 1, groups), *count = exec_inout(c, EXEC_I32, 1, groups);
    double *sums = calloc((size_t)(2 * GROUPS * n), sizeof *sums);
    struct tile_f32_2 vp, vq;
    struct tile_i32_1 vlock, vcount;
    for (int g = 0; g < GROUPS; g++) {
        exec_set_int(lock, g, 0);
        exec_set_int(count, g, 0);
    }
    EXEC_BIND(vp, p);
    EXEC_BIND(vq, q);
    EXEC_BIND(vlock, lock);
    EXEC_BIND(vcount, count);
    CALL(norm_locked, c, &rows, &vp, &vq, &vlock, &vcount);
    for (int64_t i = 0; i < m; i++) {
        double s, e, *sum = sums + 2 * (i % GROUPS) * n;
        means_of_row(&rows, i, n, &s, &e);
        for (int64_t k = 0, at = i * n; k < n; k++, at++) {
            double v = exec_before(rows.x, at), d = exec_before(rows.y, at), wd = exec_before(rows.w, k) * d;
            exec_expect(c, rows.r, at, wd - (v * s + e), close_to(type, v * s + e, wd));
            sum[k] += d * v;
            sum[n + k] += d;
        }
    }
    for (int g = 0; g < GROUPS; g++) {
        exec_expect_int(c, lock, g, 0);
        exec_expect_int(c, count, g, (m - g + GROUPS - 1) / GROUPS);
        for (int64_t k = 0; k < n && g < m; k++) {
            exec_expect(c, p, g * n + k, sums[2 * g * n + k], 1e-5);
            exec_expect(c, q, g * n + k, sums[(2 * g + 1) * n + k], 1e-5);
        }
    }
    free(sums);
}

static void run_sums(struct exec_case *c, enum exec_type type, int number)
{
    int64_t m = c->extent[0], n = c->extent[1], shape[2] = {m, n};
    struct exec_tensor *x = exec_input(c, type, 2, shape), *y = exec_input(c, type, 2, shape),
                       *z = exec_input(c, type, 2, shape), *r = exec_output(c, type, 2, shape),
                       *s = exec_output(c, type, 2, shape), *p = exec_inout(c, EXEC_F32, 2, shape),
                       *q = exec_inout(c, EXEC_F32, 2, shape);
    struct tile_f32_2 vp, vq;
    EXEC_BIND(vp, p);
    EXEC_BIND(vq, q);
    if (type == EXEC_F32) {
        struct tile_f32_2 vx, vy, vz, vr, vs;
        EXEC_BIND(vx, x);
        EXEC_BIND(vy, y);
        EXEC_BIND(vz, z);
        EXEC_BIND(vr, r);
        EXEC_BIND(vs, s);
        exec_called(c, behind_sums_back_f32(c->stream, &vx, &vy, &vz, &vr, &vs, &vp, &vq, number));
    } else {
        struct tile_bf16_2 vx, vy, vz, vr, vs;
        EXEC_BIND(vx, x);
        EXEC_BIND(vy, y);
        EXEC_BIND(vz, z);
        EXEC_BIND(vr, r);
        EXEC_BIND(vs, s);
        exec_called(c, behind_sums_back_bf16(c->stream, &vx, &vy, &vz, &vr, &vs, &vp, &vq, number));
    }
    for (int64_t i = 0; i < m; i++) {
        double a = 0, e = 0, f = 0;
        for (int64_t at = i * n; at < (i + 1) * n; at++) {
            a += exec_before(x, at) * exec_before(y, at) / (double)n;
            e += exec_before(y, at) / (double)n;
            f += exec_before(z, at) * exec_before(y, at) / (double)n;
        }
        for (int64_t at = i * n; at < (i + 1) * n; at++) {
            double v = exec_before(x, at), d = exec_before(y, at), g = exec_before(z, at);
            double more = number <= 0 ? 0 : number + i > 1 ? exec_before(p, at) : -g;
            exec_expect(c, r, at, d - (v * a + e) + g * f, close_to(type, v * a + g * f + e, d));
            exec_expect(c, s, at, g * a + d, close_to(type, g * a, d));
            exec_expect(c, p, at, d * v + more, 1e-5);
            exec_expect(c, q, at, exec_before(q, at) + (number % 2 ? 0 : v * e), 1e-4);
        }
    }
}

static void run_first_bf16(struct exec_case *c) { run_norm(c, EXEC_BF16, 1); }
static void run_first_f32(struct exec_case *c) { run_norm(c, EXEC_F32, 1); }
static void run_next_bf16(struct exec_case *c) { run_norm(c, EXEC_BF16, 0); }
static void run_next_f32(struct exec_case *c) { run_norm(c, EXEC_F32, 0); }
static void run_none_bf16(struct exec_case *c) { run_sums(c, EXEC_BF16, 0); }
static void run_one_f32(struct exec_case *c) { run_sums(c, EXEC_F32, 1); }
static void run_two_bf16(struct exec_case *c) { run_sums(c, EXEC_BF16, 2); }
static void run_two_f32(struct exec_case *c) { run_sums(c, EXEC_F32, 2); }

static void run_added_bf16(struct exec_case *c) { run_added(c, EXEC_BF16); }
static void run_added_f32(struct exec_case *c) { run_added(c, EXEC_F32); }
static void run_locked_bf16(struct exec_case *c) { run_locked(c, EXEC_BF16); }
static void run_locked_f32(struct exec_case *c) { run_locked(c, EXEC_F32); }

static const struct exec_test tests[] = {{"the first of rows of 1500, bf16", run_first_bf16, 2, {3, 1500}, 0},
                                         {"the first of rows of 16000", run_first_f32, 2, {3, 16000}, 0},
                                         {"the next of rows of 16377, bf16", run_next_bf16, 2, {2, 16377}, 0},
                                         {"the next of rows of 30001", run_next_f32, 2, {2, 30001}, 1},
                                         {"the next of rows of 32768, bf16", run_next_bf16, 2, {2, 32768}, 1},
                                         {"the next of rows of 32768", run_next_f32, 2, {2, 32768}, 1},
                                         {"no branch, bf16", run_none_bf16, 2, {2, 16377}, 0},
                                         {"the inner branch", run_one_f32, 2, {3, 32768}, 1},
                                         {"both, bf16", run_two_bf16, 2, {2, 32768}, 1},
                                         {"both", run_two_f32, 2, {2, 16000}, 0},
                                         {"added to columns of 16377, bf16", run_added_bf16, 2, {3, 16377}, 0},
                                         {"added to columns of 16384", run_added_f32, 2, {3, 16384}, 1},
                                         {"added to columns of 32768, bf16", run_added_bf16, 2, {3, 32768}, 1},
                                         {"added to columns of 30001", run_added_f32, 2, {2, 30001}, 1},
                                         {"under a lock, rows of 16377, bf16", run_locked_bf16, 2, {7, 16377}, 0},
                                         {"under a lock, rows of 16384", run_locked_f32, 2, {5, 16384}, 1},
                                         {"under a lock, rows of 32768, bf16", run_locked_bf16, 2, {4, 32768}, 1},
                                         {"under a lock, rows of 30001", run_locked_f32, 2, {3, 30001}, 1}};

int main(int count, char **arguments) { return exec_main(count, arguments, tests, sizeof tests / sizeof *tests); }
