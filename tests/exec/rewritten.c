#include "exec.h"
#include "rewritten.h"
#include <math.h>

#define TWO(m, n) \
    2, (int64_t[]) { m, n }

/* Sums of one output in f64; the rows and columns of each factor. */
struct factors {
    struct exec_tensor *a, *b;
};

/* b lies as [K, N], or [N, K] when `turned`. */
static double product(const struct factors *f, int64_t row, int64_t column, int64_t n, int64_t k, int turned)
{
    return exec_dot(f->a, row * k, 1, f->b, turned ? column * k : column, turned ? 1 : n, k);
}

static struct factors make(struct exec_case *c, enum exec_type type, int64_t m, int64_t n, int64_t k, int turned)
{
    struct factors f;
    f.a = exec_input(c, type, TWO(m, k));
    f.b = turned ? exec_input(c, type, TWO(n, k)) : exec_input(c, type, TWO(k, n));
    return f;
}

static void check(struct exec_case *c, const struct factors *f, const struct exec_tensor *r, int64_t n, int64_t k,
                  int turned, double tolerance)
{
    for (int64_t i = 0; i < r->elements; i++)
        exec_expect(c, r, i, product(f, i / n, i % n, n, k, turned), tolerance);
}

#define BOUND(type, name, tensor) \
    struct tile_##type##_2 name;  \
    EXEC_BIND(name, tensor)
#define EXTENTS int64_t m = c->extent[0], n = c->extent[1], k = c->extent[2]

/* c = a @ b in one more form: kernel, type of the factors, of c, how b lies, tolerance. */
#define PLAIN(name, kernel, type, TYPE, out, OUT, turned, tolerance)   \
    static void run_##name(struct exec_case *c)                        \
    {                                                                  \
        EXTENTS;                                                       \
        struct factors f = make(c, EXEC_##TYPE, m, n, k, turned);      \
        struct exec_tensor *r = exec_output(c, EXEC_##OUT, TWO(m, n)); \
        BOUND(type, va, f.a);                                          \
        BOUND(type, vb, f.b);                                          \
        BOUND(out, vr, r);                                             \
        exec_called(c, rewritten_##kernel(c->stream, &va, &vb, &vr));  \
        check(c, &f, r, n, k, turned, tolerance);                      \
    }
PLAIN(reversed, reversed, bf16, BF16, bf16, BF16, 0, 8e-3)
PLAIN(whiled, whiled, bf16, BF16, bf16, BF16, 0, 8e-3)
PLAIN(nested, nested, bf16, BF16, bf16, BF16, 0, 8e-3)
PLAIN(bytes, bytes, i8, I8, i32, I32, 1, 0.0)

static void run_two(struct exec_case *c)
{
    EXTENTS;
    struct factors f = make(c, EXEC_BF16, m, n, k, 0), g = make(c, EXEC_BF16, m, n, k, 0);
    struct exec_tensor *r = exec_output(c, EXEC_BF16, TWO(m, n));
    BOUND(bf16, va, f.a);
    BOUND(bf16, vb, f.b);
    BOUND(bf16, va2, g.a);
    BOUND(bf16, vb2, g.b);
    BOUND(bf16, vr, r);
    exec_called(c, rewritten_two(c->stream, &va, &vb, &va2, &vb2, &vr));
    for (int64_t i = 0; i < m * n; i++)
        exec_expect(c, r, i, product(&f, i / n, i % n, n, k, 0) + product(&g, i / n, i % n, n, k, 0), 8e-3);
}

static void run_sequence(struct exec_case *c)
{
    EXTENTS;
    int64_t l = c->extent[3];
    struct factors f = make(c, EXEC_BF16, m, n, k, 0), g = make(c, EXEC_BF16, m, n, l, 0);
    struct exec_tensor *r = exec_output(c, EXEC_BF16, TWO(m, n));
    BOUND(bf16, va, f.a);
    BOUND(bf16, vb, f.b);
    BOUND(bf16, va2, g.a);
    BOUND(bf16, vb2, g.b);
    BOUND(bf16, vr, r);
    exec_called(c, rewritten_sequence(c->stream, &va, &vb, &va2, &vb2, &vr));
    for (int64_t i = 0; i < m * n; i++)
        exec_expect(c, r, i, product(&f, i / n, i % n, n, k, 0) + product(&g, i / n, i % n, n, l, 0), 8e-3);
}

static void run_shared(struct exec_case *c)
{
    EXTENTS;
    struct factors f = make(c, EXEC_BF16, m, n, k, 0), g = {f.a, exec_input(c, EXEC_BF16, TWO(k, n))};
    struct exec_tensor *r = exec_output(c, EXEC_BF16, TWO(m, n)), *s = exec_output(c, EXEC_BF16, TWO(m, n));
    BOUND(bf16, va, f.a);
    BOUND(bf16, vb, f.b);
    BOUND(bf16, vb2, g.b);
    BOUND(bf16, vr, r);
    BOUND(bf16, vs, s);
    exec_called(c, rewritten_shared(c->stream, &va, &vb, &vb2, &vr, &vs));
    for (int64_t i = 0; i < m * n; i++) {
        double x = product(&f, i / n, i % n, n, k, 0), y = product(&g, i / n, i % n, n, k, 0);
        exec_expect(c, r, i, x, 8e-3);
        exec_expect(c, s, i, x * y, 8e-3);
    }
}

static void run_swapped(struct exec_case *c)
{
    EXTENTS;
    struct factors f = make(c, EXEC_BF16, m, n, k, 0);
    struct exec_tensor *r = exec_output(c, EXEC_BF16, TWO(m, n));
    BOUND(bf16, va, f.a);
    BOUND(bf16, vb, f.b);
    BOUND(bf16, vr, r);
    exec_called(c, rewritten_swapped(c->stream, &va, &vb, &vr));
    for (int64_t i = 0; i < m * n; i++)
        exec_expect(c, r, i, fmax(product(&f, i / n, i % n, n, k, 0), 0.0), 8e-3);
}

static void run_turned(struct exec_case *c)
{
    EXTENTS;
    struct factors f = make(c, EXEC_BF16, m, n, k, 0);
    struct exec_tensor *r = exec_output(c, EXEC_BF16, TWO(m, n));
    BOUND(bf16, va, f.a);
    BOUND(bf16, vb, f.b);
    BOUND(bf16, vr, r);
    exec_called(c, rewritten_turned(c->stream, &va, &vb, &vr));
    for (int64_t i = 0; i < m * n; i++)
        exec_expect(c, r, i, product(&f, i / n, i % n, n, k, 0), 8e-3);
}

static void run_extra(struct exec_case *c)
{
    EXTENTS;
    struct factors f = make(c, EXEC_BF16, m, n, k, 1);
    struct exec_tensor *r = exec_output(c, EXEC_BF16, TWO(m, n)), *w = exec_output(c, EXEC_F32, TWO(m, n)),
                       *total = exec_output(c, EXEC_F32, 1, (int64_t[]){m});
    struct tile_f32_1 vt;
    BOUND(bf16, va, f.a);
    BOUND(bf16, vb, f.b);
    BOUND(bf16, vr, r);
    BOUND(f32, vw, w);
    EXEC_BIND(vt, total);
    exec_called(c, rewritten_extra(c->stream, &va, &vb, &vr, &vt, &vw));
    for (int64_t i = 0; i < m * n; i++) {
        double x = product(&f, i / n, i % n, n, k, 1);
        exec_expect(c, r, i, x, 8e-3);
        exec_expect(c, w, i, 2.0 * x, 1e-4);
    }
    for (int64_t i = 0; i < m && n > 0; i++) { /* of the first 256 columns */
        double sum = 0.0;
        for (int64_t j = 0; j < n && j < 256; j++)
            sum += product(&f, i, j, n, k, 1);
        exec_expect(c, total, i, sum, 1e-3);
    }
}

static void run_flat(struct exec_case *c)
{
    EXTENTS;
    struct factors f = make(c, EXEC_F16, m, n, k, 0);
    struct exec_tensor *r = exec_output(c, EXEC_F16, TWO(m, n));
    BOUND(f16, va, f.a);
    BOUND(f16, vb, f.b);
    BOUND(f16, vr, r);
    exec_called(c, rewritten_flat(c->stream, &va, &vb, &vr));
    for (int64_t i = 0; i < m * n; i++)
        exec_expect(c, r, i, fmax(product(&f, i / n, i % n, n, k, 0), -1.0) + 1.0, 1e-3);
}

static void run_batch(struct exec_case *c)
{
    int64_t z = c->extent[0], m = c->extent[1], n = c->extent[2], k = c->extent[3];
    struct exec_tensor *a = exec_input(c, EXEC_BF16, 3, (int64_t[]){z, m, k}),
                       *b = exec_input(c, EXEC_BF16, 3, (int64_t[]){z, k, n});
    struct exec_tensor *r = exec_output(c, EXEC_BF16, 3, (int64_t[]){z, m, n});
    struct tile_bf16_3 va, vb, vr;
    EXEC_BIND(va, a);
    EXEC_BIND(vb, b);
    EXEC_BIND(vr, r);
    exec_called(c, rewritten_batch(c->stream, &va, &vb, &vr));
    for (int64_t i = 0; i < z * m * n; i++) {
        int64_t batch = i / n / m, row = i / n % m;
        exec_expect(c, r, i, exec_dot(a, (batch * m + row) * k, 1, b, batch * k * n + i % n, n, k), 8e-3);
    }
}

static void run_branched(struct exec_case *c)
{
    EXTENTS;
    int on = !c->gaps;
    struct factors f = make(c, EXEC_BF16, m, n, k, 0);
    struct exec_tensor *r = exec_output(c, EXEC_BF16, TWO(m, n));
    BOUND(bf16, va, f.a);
    BOUND(bf16, vb, f.b);
    BOUND(bf16, vr, r);
    exec_called(c, rewritten_branched(c->stream, &va, &vb, &vr, on));
    for (int64_t i = 0; i < m * n; i++)
        exec_expect(c, r, i, on ? product(&f, i / n, i % n, n, k, 0) : 0.0, 8e-3);
}

/* c += a @ b, through a register and through memory. */
static void run_into(struct exec_case *c, int through_memory)
{
    EXTENTS;
    struct factors f = make(c, EXEC_BF16, m, n, k, 0);
    struct exec_tensor *r = exec_inout(c, EXEC_F32, TWO(m, n));
    BOUND(bf16, va, f.a);
    BOUND(bf16, vb, f.b);
    BOUND(f32, vr, r);
    exec_called(c, through_memory ? rewritten_stored(c->stream, &va, &vb, &vr)
                                  : rewritten_added(c->stream, &va, &vb, &vr));
    for (int64_t i = 0; i < m * n; i++)
        exec_expect(c, r, i, exec_before(r, i) + product(&f, i / n, i % n, n, k, 0), 1e-4);
}
static void run_added(struct exec_case *c) { run_into(c, 0); }
static void run_stored(struct exec_case *c) { run_into(c, 1); }

static void run_helped(struct exec_case *c)
{
    EXTENTS;
    int64_t limit = k - k / 3;
    struct factors f = make(c, EXEC_BF16, m, n, k, 0);
    struct exec_tensor *r = exec_output(c, EXEC_BF16, TWO(m, n));
    BOUND(bf16, va, f.a);
    BOUND(bf16, vb, f.b);
    BOUND(bf16, vr, r);
    exec_called(c, rewritten_helped(c->stream, &va, &vb, &vr, (int32_t)limit));
    for (int64_t i = 0; i < m * n; i++) {
        double sum = 0.0;
        for (int64_t l = 0; l < k; l++) /* a masked 0 times an infinity is NaN */
            sum += (l < limit ? exec_before(f.a, i / n * k + l) : 0.0) * exec_before(f.b, l * n + i % n);
        exec_expect(c, r, i, sum, 8e-3);
    }
}

static void run_mixed(struct exec_case *c)
{
    EXTENTS;
    struct exec_tensor *a = exec_input(c, EXEC_F16, TWO(m, k)), *b = exec_input(c, EXEC_BF16, TWO(k, n)),
                       *s = exec_input(c, EXEC_F32, 1, (int64_t[]){k}), *r = exec_output(c, EXEC_F32, TWO(m, n));
    struct tile_f32_1 vs;
    BOUND(f16, va, a);
    BOUND(bf16, vb, b);
    BOUND(f32, vr, r);
    EXEC_BIND(vs, s);
    exec_called(c, rewritten_mixed(c->stream, &va, &vb, &vs, &vr));
    for (int64_t i = 0; i < m * n; i++) {
        double sum = 0.0;
        for (int64_t l = 0; l < k; l++) {
            double scaled = exec_round(EXEC_F32, exec_before(a, i / n * k + l) * exec_before(s, l));
            sum += exec_round(EXEC_BF16, scaled) * exec_before(b, l * n + i % n);
        }
        exec_expect(c, r, i, sum, 1e-4);
    }
}

/* Small whole numbers: tensor cores keep some 14 bits of a sum of 8-bit floats, in which those of a few hundred products
 * of theirs are exact. */
static void make_whole(struct exec_tensor *t, int64_t step, int64_t most)
{
    for (int64_t i = 0; i < t->elements; i++)
        if (isfinite(exec_before(t, i)))
            exec_set(t, i, (double)(i * step % (2 * most + 1) - most));
}
#define EIGHTHS(name, kernel, type, TYPE)                             \
    static void run_##name(struct exec_case *c)                       \
    {                                                                 \
        EXTENTS;                                                      \
        struct factors f = make(c, EXEC_##TYPE, m, n, k, 1);          \
        struct exec_tensor *r = exec_output(c, EXEC_F32, TWO(m, n));  \
        make_whole(f.a, 7, 4);                                        \
        make_whole(f.b, 5, 3);                                        \
        BOUND(type, va, f.a);                                         \
        BOUND(type, vb, f.b);                                         \
        BOUND(f32, vr, r);                                            \
        exec_called(c, rewritten_##kernel(c->stream, &va, &vb, &vr)); \
        check(c, &f, r, n, k, 1, 0.0);                                \
    }
EIGHTHS(f8e4m3, eighths_f8e4m3, f8e4m3, F8E4M3)
EIGHTHS(f8e5m2, eighths_f8e5m2, f8e5m2, F8E5M2)
EIGHTHS(promoted, promoted, f8e4m3, F8E4M3)

/* Any numbers: a sum of 32 products and what was there before keeps 14 bits of the largest of them, so that what is lost is a
 * part of all that was added up; on an H100 somewhat more than 2^-13 of it for one element in a thousand. */
static void check_rounded(struct exec_case *c, const struct factors *f, const struct exec_tensor *r, int64_t n,
                          int64_t k)
{
    for (int64_t i = 0; i < r->elements; i++) {
        double sum = 0.0, size = 0.0;
        for (int64_t l = 0; l < k; l++) {
            double one = exec_before(f->a, i / n * k + l) * exec_before(f->b, i % n * k + l);
            sum += one;
            size += fabs(one);
        }
        exec_expect(c, r, i, sum, ldexp(size, -12) / (1.0 + fabs(sum)));
    }
}
#define ANY_EIGHTHS(name, kernel, type, TYPE)                         \
    static void run_##name(struct exec_case *c)                       \
    {                                                                 \
        EXTENTS;                                                      \
        struct factors f = make(c, EXEC_##TYPE, m, n, k, 1);          \
        struct exec_tensor *r = exec_output(c, EXEC_F32, TWO(m, n));  \
        BOUND(type, va, f.a);                                         \
        BOUND(type, vb, f.b);                                         \
        BOUND(f32, vr, r);                                            \
        exec_called(c, rewritten_##kernel(c->stream, &va, &vb, &vr)); \
        check_rounded(c, &f, r, n, k);                                \
    }
ANY_EIGHTHS(any_f8e4m3, eighths_f8e4m3, f8e4m3, F8E4M3)
ANY_EIGHTHS(any_f8e5m2, eighths_f8e5m2, f8e5m2, F8E5M2)
ANY_EIGHTHS(any_promoted, promoted, f8e4m3, F8E4M3)

/* Blocks of 64 along k are read backwards, and the last one twice. */
static void run_gathered(struct exec_case *c)
{
    EXTENTS;
    int64_t rows = m / 2 + 1, count = (k + 63) / 64;
    struct exec_tensor *a = exec_input(c, EXEC_BF16, TWO(rows, k)), *b = exec_input(c, EXEC_BF16, TWO(n, k)),
                       *ids = exec_range(c, EXEC_I32, 1, (int64_t[]){m}, -1, rows + 1),
                       *blocks = exec_input(c, EXEC_I32, 1, (int64_t[]){count ? count + 1 : 0}),
                       *r = exec_output(c, EXEC_F32, TWO(m, n));
    for (int64_t i = 0; count && i <= count; i++)
        exec_set_int(blocks, i, i < count ? count - 1 - i : 0);
    struct tile_i32_1 vi, vk;
    BOUND(bf16, va, a);
    BOUND(bf16, vb, b);
    BOUND(f32, vr, r);
    EXEC_BIND(vi, ids);
    EXEC_BIND(vk, blocks);
    exec_called(c, rewritten_gathered(c->stream, &va, &vi, &vb, &vk, &vr));
    for (int64_t i = 0; i < m * n; i++) {
        int64_t row = exec_before_int(ids, i / n);
        double sum = 0.0;
        for (int64_t l = 0; l < k; l++) {
            double factor = row >= 0 && row < rows ? exec_before(a, row * k + l) : 0.0;
            sum += (l < 64 ? 2.0 : 1.0) * factor * exec_before(b, i % n * k + l);
        }
        exec_expect(c, r, i, sum, 1e-4);
    }
}

static const struct exec_test tests[] = {
    {"reversed", run_reversed, 3, {50, 40, 70}, 0},
    {"whiled", run_whiled, 3, {50, 40, 70}, 0},
    {"two", run_two, 3, {50, 40, 70}, 0},
    {"shared", run_shared, 3, {50, 40, 70}, 0},
    {"swapped", run_swapped, 3, {50, 40, 70}, 0},
    {"extra", run_extra, 3, {40, 50, 70}, 0},
    {"turned", run_turned, 3, {50, 40, 70}, 0},
    {"flat", run_flat, 3, {50, 40, 70}, 0},
    {"batch", run_batch, 4, {2, 30, 40, 50}, 0},
    {"branched", run_branched, 3, {50, 40, 70}, 0},
    {"sequence", run_sequence, 4, {40, 30, 70, 50}, 0},
    {"nested", run_nested, 3, {50, 40, 70}, 0},
    {"added", run_added, 3, {50, 40, 70}, 0},
    {"stored", run_stored, 3, {50, 40, 70}, 0},
    {"helped", run_helped, 3, {50, 40, 70}, 0},
    {"bytes", run_bytes, 3, {50, 40, 70}, 0},
    {"f8e4m3", run_f8e4m3, 3, {50, 40, 70}, 0},
    {"f8e5m2", run_f8e5m2, 3, {50, 40, 70}, 0},
    {"promoted", run_promoted, 3, {50, 40, 300}, 0},
    {"any_f8e4m3", run_any_f8e4m3, 3, {150, 70, 520}, 0},
    {"any_f8e5m2", run_any_f8e5m2, 3, {50, 140, 520}, 0},
    {"any_promoted", run_any_promoted, 3, {50, 40, 520}, 0},
    {"gathered", run_gathered, 3, {150, 70, 200}, 0},
    {"mixed", run_mixed, 3, {50, 40, 70}, 0},
};

int main(int count, char **arguments) { return exec_main(count, arguments, tests, sizeof tests / sizeof *tests); }
