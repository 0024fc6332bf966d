/* See corners.h: kernels round products, with what the generator of tests/fuzz/support leaves out because its numbers
 * must come out exactly, or its loops end soon. */
#include "corners.h"

#include <string.h>

#include "tests/fuzz/support/generate.h"

enum { TRIES = 60 };

struct factor {
    const char *name, *element;
    int high, wide;
    bool turned, twice, masked, computed, optional;
};
struct product {
    struct random random;
    struct buffer *out;
    const char *sum, *stored, *precision;
    int m, n, k, next;
    struct factor factors[2];
    bool planes; /* the output has a dimension more, in front or between */
    bool acquires;
};

static int below(struct product *p, int limit) { return random_below(&p->random, limit); }
static bool chance(struct product *p, int percent) { return random_chance(&p->random, percent); }

static void choose(struct product *p)
{
    static const struct {
        const char *a, *b, *sum, *stored, *precision;
    } elements[] = {
        {"bf16", "bf16", "f32", "bf16", ""},
        {"f16", "f16", "f32", "f16", ""},
        {"f32", "f32", "f32", "f32", " precision(tf32)"},
        {"f32", "f32", "f32", "f32", " precision(ieee)"},
        {"i8", "i8", "i32", "i8", ""},
        {"u8", "u8", "i32", "i32", ""},
        {"f8e4m3", "f8e4m3", "f32", "f16", ""},
        {"f8e5m2", "f8e4m3", "f32", "bf16", " promote(128)"},
        {"f64", "f64", "f64", "f64", ""},
        {"bf16", "bf16", "f32", "f32", ""},
    };
    static const int extents[] = {16, 32, 64, 64, 128, 8}, depths[] = {16, 32, 64, 64};
    int e = below(p, 10);
    p->sum = elements[e].sum;
    p->stored = elements[e].stored;
    p->precision = elements[e].precision;
    p->m = extents[below(p, 5)];
    p->n = extents[below(p, 6)];
    p->k = depths[below(p, 4)];
    if (chance(p, 15)) { /* a tile that fills the registers */
        p->m = 128;
        p->n = 256;
    }
    for (int i = 0; i < 2; i++) {
        struct factor *f = &p->factors[i];
        *f = (struct factor){.name = i ? "b" : "a",
                             .element = i ? elements[e].b : elements[e].a,
                             .high = i ? p->k : p->m,
                             .wide = i ? p->n : p->k};
        f->turned = chance(p, 25);
        f->twice = chance(p, 12);
        f->masked = chance(p, 12);
        f->computed = chance(p, 15);
        f->optional = chance(p, 12);
    }
    p->planes = chance(p, 40);
    p->acquires = chance(p, 12);
}

static void write_head(struct product *p)
{
    static const int warps[] = {0, 0, 4, 4, 8, 1, 2, 3};
    buffer_puts(p->out, "kernel @fuzz(");
    for (int i = 0; i < 2; i++) {
        const struct factor *f = &p->factors[i];
        int multiple = chance(p, 80) ? 16 : 4;
        const char *strides = chance(p, 85) ? "[?, 1]" : "[1, ?]", *multiples = chance(p, 85) ? "16, 0" : "0, 16";
        buffer_printf(p->out,
                      "%%%s: view<%s, [?, ?], %s, in%s> {align(%d), stride_multiple(%s), "
                      "limit(2147483648)%s}, ",
                      f->name, f->element, strides, f->optional ? "?" : "", multiple, multiples,
                      chance(p, 85) ? ", restrict" : "");
    }
    buffer_printf(p->out,
                  "%%e: view<%s, [?], [1], in?> {limit(2147483648)}, %%flag: view<i32, [?], [1], inout> "
                  "{limit(2147483648)}, ",
                  p->sum);
    int alignment = chance(p, 80) ? 16 : 2;
    buffer_printf(p->out,
                  "%%c: view<%s, [%s?, ?], [%s?, 1], inout> {align(%d), stride_multiple(%s8, 0), "
                  "limit(2147483648)%s}, %%n: index, %%s: %s) grid(2)",
                  p->stored, p->planes ? "?, " : "", p->planes ? "?, " : "", alignment, p->planes ? "8, " : "",
                  chance(p, 85) ? ", restrict" : "", p->sum);
    int count = warps[below(p, 8)];
    if (count)
        buffer_printf(p->out, " warps(%d)", count);
    if (chance(p, 60))
        buffer_printf(p->out, " stages(%d)", 1 + below(p, 4));
    if (chance(p, 40))
        buffer_puts(p->out, " persistent(-1)");
    if (chance(p, 25))
        buffer_puts(p->out, " cluster(2)");
    if (chance(p, 20))
        buffer_puts(p->out, " raster(4)");
    buffer_puts(p->out, " {\n");
}

/* The factor's tile at %k as %`name`. */
static void write_factor(struct product *p, const struct factor *f)
{
    int high = f->turned ? f->wide : f->high, wide = f->turned ? f->high : f->wide, n = p->next++;
    const char *others[] = {"0", "0", "0", "0", "1"};
    const char *row = f->name[0] == 'a' ? "row" : "k", *column = f->name[0] == 'a' ? "k" : "column";
    bool real = f->element[0] != 'i' && f->element[0] != 'u';
    buffer_printf(p->out, "%%o%d = constant value(%s%s) : %s\n", n, others[below(p, 5)], real ? ".0" : "", f->element);
    if (f->masked) {
        buffer_printf(p->out, "%%h%d = constant value(3) : i32[%d, %d]\n%%j%d = splat %%lane : i32[%d, %d]\n", n, high,
                      wide, n, high, wide);
        buffer_printf(p->out, "%%mask%d = compare predicate(lt) %%j%d, %%h%d : bool[%d, %d]\n", n, n, n, high, wide);
    }
    buffer_printf(p->out, "%%l%d = load %%%s[%%%s +: %d, %%%s +: %d], %%o%d", n, f->name, f->turned ? column : row,
                  high, f->turned ? row : column, wide, n);
    if (f->masked)
        buffer_printf(p->out, ", %%mask%d", n);
    buffer_printf(p->out, " : %s[%d, %d]\n", f->element, high, wide);
    int last = n;
    for (int i = 0; i < f->turned + 2 * f->twice; i++) {
        int swap = high;
        high = wide;
        wide = swap;
        last = p->next++;
        buffer_printf(p->out, "%%l%d = permute permutation(1, 0) %%l%d : %s[%d, %d]\n", last, i ? last - 1 : n,
                      f->element, high, wide);
    }
    if (f->computed) {
        buffer_printf(p->out, "%%l%d = neg %%l%d : %s[%d, %d]\n", p->next, last, f->element, high, wide);
        last = p->next++;
    }
    buffer_printf(p->out, "%%f%s%d = reshape %%l%d : %s[%d, %d]\n", f->name, p->next, last, f->element, f->high,
                  f->wide);
}

static void write_loop(struct product *p)
{
    static const char *const starts[] = {"0", "0", "0", "0", "1", "-1"};
    const char *point = p->sum[0] == 'i' ? "" : ".0";
    bool down = chance(p, 15), apart = chance(p, 30);
    int from = chance(p, 80) ? 0 : p->k * below(p, 3) - p->k;
    buffer_printf(p->out, "%%start = constant value(%s%s) : %s[%d, %d]\n%%zero = constant value(0%s) : %s[%d, %d]\n",
                  starts[below(p, 6)], point, p->sum, p->m, p->n, point, p->sum, p->m, p->n);
    buffer_printf(p->out,
                  "%%from = constant value(%d) : index\n%%step = constant value(%d) : index\n"
                  "%%depth = extent dimension(%d) %%a : index\n%%few = constant value(%d) : index\n",
                  from, down ? -p->k : p->k, p->factors[0].turned ? 0 : 1, p->k * (1 + below(p, 4)));
    const char *end = chance(p, 70) ? "depth" : chance(p, 50) ? "few" : "n";
    buffer_printf(p->out, "%%sum = for %%k: index = %%%s to %%%s step %%step iter(%%acc: %s[%d, %d] = %%start) {\n",
                  down ? end : "from", down ? "from" : end, p->sum, p->m, p->n);
    if (p->acquires)
        buffer_puts(p->out, "%seen = atomic action(load) order(acquire) %flag[%k], %lane : i32\n");
    write_factor(p, &p->factors[0]);
    int a = p->next++;
    write_factor(p, &p->factors[1]);
    int b = p->next++;
    buffer_printf(p->out, "%%more = dot%s %%fa%d, %%fb%d, %s : %s[%d, %d]\n", p->precision, a, b,
                  !apart          ? "%acc"
                  : chance(p, 80) ? "%zero"
                                  : "%start",
                  p->sum, p->m, p->n);
    if (apart)
        buffer_printf(p->out, "%%next = %s %%acc, %%more : %s[%d, %d]\nyield %%next\n}\n",
                      chance(p, 60) ? "add" : "sub", p->sum, p->m, p->n);
    else
        buffer_puts(p->out, "yield %more\n}\n");
}

/* What is done with the sum before it is stored; the last value is %r0, %r1 … */
static int write_epilogue(struct product *p)
{
    static const char *const unary[] = {"neg", "abs"}, *const binary[] = {"add", "mul", "max", "sub", "min"};
    int last = 0;
    buffer_printf(p->out, "%%r0 = reshape %%sum : %s[%d, %d]\n", p->sum, p->m, p->n);
    for (int i = below(p, 4) + (p->n > 128); i > 0; i--, last++) {
        int dice = p->n > 128 && last == 0 ? 4 : below(p, 5), to = last + 1;
        if (dice == 4) {
            bool again = chance(p, 60); /* what it takes is wanted behind it */
            buffer_printf(p->out,
                          "%%%s%d = map %%r%d (%%e%d: %s) {\n%%q%d = mul %%e%d, %%e%d : %s\nyield %%q%d\n} : "
                          "%s[%d, %d]\n",
                          again ? "m" : "r", to, last, to, p->sum, to, to, to, p->sum, to, p->sum, p->m, p->n);
            if (again)
                buffer_printf(p->out, "%%r%d = mul %%r%d, %%m%d : %s[%d, %d]\n", to, last, to, p->sum, p->m, p->n);
            continue;
        }
        if (dice == 0) {
            buffer_printf(p->out, "%%r%d = %s %%r%d : %s[%d, %d]\n", to, unary[below(p, 2)], last, p->sum, p->m, p->n);
            continue;
        }
        if (dice == 1)
            buffer_printf(p->out, "%%g%d = splat %%s : %s[%d, %d]\n", to, p->sum, p->m, p->n);
        else if (dice == 2)
            buffer_printf(p->out,
                          "%%v%d = load %%e[%%column +: %d], %%s : %s[%d]\n%%w%d = reshape %%v%d : %s[1, %d]\n"
                          "%%g%d = broadcast %%w%d : %s[%d, %d]\n",
                          to, p->n, p->sum, p->n, to, to, p->sum, p->n, to, to, p->sum, p->m, p->n);
        else
            buffer_printf(p->out,
                          "%%v%d = reduce axis(1) kind(max) %%r%d : %s[%d]\n%%w%d = reshape %%v%d : %s[%d, 1]\n"
                          "%%g%d = broadcast %%w%d : %s[%d, %d]\n",
                          to, last, p->sum, p->m, to, to, p->sum, p->m, to, to, p->sum, p->m, p->n);
        buffer_printf(p->out, "%%r%d = %s %%r%d, %%g%d : %s[%d, %d]\n", to, binary[below(p, 5)], last, to, p->sum, p->m,
                      p->n);
    }
    return last;
}

static void write_kernel(struct product *p)
{
    choose(p);
    write_head(p);
    buffer_printf(p->out,
                  "%%gm = grid_index dimension(0) : index\n%%gn = grid_index dimension(1) : index\n"
                  "%%high = constant value(%d) : index\n%%wide = constant value(%d) : index\n"
                  "%%row = mul %%gm, %%high : index\n%%column = mul %%gn, %%wide : index\n"
                  "%%lane = constant value(0) : i32\n",
                  p->m, p->n);
    write_loop(p);
    int last = write_epilogue(p);
    bool between = p->planes && chance(p, 50);
    buffer_printf(p->out, "%%t = cast %%r%d : %s[%d, %d]\nstore %%c[", last, p->stored, p->m, p->n);
    buffer_printf(p->out, p->planes && !between ? "%%gm, %%row +: %d, " : "%%row +: %d, ", p->m);
    buffer_printf(p->out, between ? "%%gm, %%column +: %d], %%t\n" : "%%column +: %d], %%t\n", p->n);
    if (chance(p, 35)) /* it is wanted once more */
        buffer_printf(p->out,
                      "%%total = reduce axis(0) kind(add) %%r%d : %s[%d]\n%%u = cast %%total : %s[%d]\n"
                      "store %%c[%s%%gm, %%column +: %d], %%u\n",
                      last, p->sum, p->n, p->stored, p->n, p->planes ? "%gn, " : "", p->n);
    buffer_puts(p->out, "return\n}\n");
}

void corners_generate_product(struct buffer *out, uint64_t seed)
{
    struct random random = {seed ^ 0x70726f64756374};
    size_t size = out->size;
    for (int tries = 0; tries < TRIES; tries++) {
        struct product product = {.random = {random_next(&random)}, .out = out};
        out->size = size;
        write_kernel(&product);
        if (corners_is_valid(out))
            return;
    }
    die("no kernel in %d tries is valid", TRIES);
}
