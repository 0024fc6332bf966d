/* Random kernels that touch the same elements again and again, written as text: loads, stores and atomics of two views
 * in slices that overlap, by permutations of indexes and through pointers, in tiles of one and two dimensions, so that
 * other threads come by each time.  What is read is looked at only at the end of a block, for whatever lies between (a
 * reduction, a conversion) may make threads meet.
 *
 * Each instance has a block of its own.  What an access touches it touches once, so that one operation has one result;
 * numbers are small integers. */
#include "generate_touch.h"

enum { BLOCK = 256, LENGTHS = 2, MOST_READ = 16, MOST_DEPTH = 2 };

struct touch_view {
    const char *element;
    int bits;
    bool real, narrow /* sums would be rounded */;
};
struct touch_program {
    struct random random;
    struct buffer *out;
    struct touch_view views[2];
    int length[LENGTHS];
    int next, depth;              /* numbers for names; of blocks */
    int sum[LENGTHS];             /* names of what is summed up, %s… */
    int variable;                 /* of the loop, %k…; -1: none */
    int read[LENGTHS][MOST_READ]; /* %v… of this block that nobody looked at */
    int read_count[LENGTHS];
};

static bool chance(struct touch_program *p, int percent) { return random_chance(&p->random, percent); }

/* ---- values: i64 of one of the lengths ---- */

static int note_read(struct touch_program *p, int shape, int value)
{
    if (p->read_count[shape] < MOST_READ)
        p->read[shape][p->read_count[shape]++] = value;
    return value;
}

/* Numbers from 0 to 15: those of an element, of something read, or the same. */
static int number(struct touch_program *p, int shape)
{
    int n = p->next++, length = p->length[shape], count = p->read_count[shape];
    buffer_printf(p->out, "%%c%d = constant value(%d) : i64[%d]\n%%f%d = constant value(15) : i64[%d]\n", n,
                  random_below(&p->random, 16), length, n, length);
    if (count && chance(p, 35))
        buffer_printf(p->out, "%%x%d = add %%v%d, %%c%d : i64[%d]\n", n,
                      p->read[shape][random_below(&p->random, count)], n, length);
    else if (chance(p, 60))
        buffer_printf(p->out, "%%i%d = iota : i64[%d]\n%%x%d = add %%i%d, %%c%d : i64[%d]\n", n, length, n, n, n,
                      length);
    else
        buffer_printf(p->out, "%%x%d = xor %%c%d, %%f%d : i64[%d]\n", n, n, n, length);
    buffer_printf(p->out, "%%w%d = and %%x%d, %%f%d : i64[%d]\n", n, n, n, length);
    return n;
}

/* ---- places ---- */

enum form { SLICE, GATHER, POINTER, SQUARE, FORMS };
struct touched {
    enum form form;
    char place[64], type[24];
    int mask;
};

/* In the instance's block, moved by a number and by what the loop's variable brings. */
static int start(struct touch_program *p, int room)
{
    int n = p->next++, offset = room > 3 ? random_below(&p->random, room - 2) : 0;
    if (chance(p, 30))
        offset = 0;
    buffer_printf(p->out, "%%o%d = constant value(%d) : index\n%%p%d = add %%base, %%o%d : index\n", n, offset, n, n);
    if (p->variable >= 0 && room > 3 && chance(p, 50)) /* it is 0, 1 or 2 */
        buffer_printf(p->out, "%%q%d = add %%p%d, %%k%d : index\n", n, n, p->variable);
    else
        buffer_printf(p->out, "%%q%d = add %%p%d, %%nought : index\n", n, n);
    return n;
}

/* start + (odd * i + number) modulo length */
static int permutation(struct touch_program *p, int length)
{
    int at = start(p, BLOCK - length), n = p->next++;
    buffer_printf(p->out,
                  "%%a%d = iota : index[%d]\n%%b%d = constant value(%d) : index[%d]\n"
                  "%%d%d = mul %%a%d, %%b%d : index[%d]\n%%e%d = constant value(%d) : index[%d]\n"
                  "%%g%d = add %%d%d, %%e%d : index[%d]\n",
                  n, length, n, 2 * random_below(&p->random, 16) + 1, length, n, n, n, length, n,
                  random_below(&p->random, length), length, n, n, n, length);
    buffer_printf(p->out,
                  "%%h%d = constant value(%d) : index[%d]\n%%j%d = and %%g%d, %%h%d : index[%d]\n"
                  "%%l%d = splat %%q%d : index[%d]\n%%t%d = add %%j%d, %%l%d : index[%d]\n",
                  n, length - 1, length, n, n, n, length, n, at, length, n, n, n, length);
    return n;
}

static void choose_place(struct touch_program *p, int view, int shape, struct touched *t)
{
    int length = p->length[shape];
    const char *element = p->views[view].element;
    t->form = (enum form)random_below(&p->random, FORMS);
    snprintf(t->type, sizeof t->type, "[%d]", length);
    if (t->form == SLICE) {
        snprintf(t->place, sizeof t->place, "%%x%d[%%q%d +: %d]", view, start(p, BLOCK - length), length);
    } else if (t->form == GATHER) {
        snprintf(t->place, sizeof t->place, "%%x%d[gather %%t%d]", view, permutation(p, length));
    } else {
        int n = permutation(p, length), rows = 1 << random_between(&p->random, 1, 3);
        if (t->form == SQUARE)
            snprintf(t->type, sizeof t->type, "[%d, %d]", rows, length / rows);
        buffer_printf(p->out,
                      "%%u%d = view_pointer %%x%d : *%s\n%%y%d = splat %%u%d : *%s%s\n"
                      "%%f%d = reshape %%t%d : index%s\n%%z%d = pointer_add %%y%d, %%f%d : *%s%s\n",
                      n, view, element, n, n, element, t->type, n, n, t->type, n, n, n, element, t->type);
        snprintf(t->place, sizeof t->place, "%%z%d", n);
    }
    t->mask = -1;
    if (chance(p, 25)) {
        int n = number(p, shape), m = p->next++;
        buffer_printf(p->out,
                      "%%c%d = constant value(%d) : i64[%d]\n"
                      "%%m%d = compare predicate(lt) %%w%d, %%c%d : bool[%d]\n",
                      m, random_below(&p->random, 16), length, m, n, m, length);
        if (t->form == SQUARE)
            buffer_printf(p->out, "%%n%d = reshape %%m%d : bool%s\n", m, m, t->type);
        t->mask = m;
    }
}

static void put_mask(struct touch_program *p, const struct touched *t)
{
    if (t->mask >= 0)
        buffer_printf(p->out, ", %%%c%d", t->form == SQUARE ? 'n' : 'm', t->mask);
}

/* A number as the view's element in the shape of the place: %r… */
static int brought(struct touch_program *p, int view, int shape, const struct touched *t)
{
    int from = number(p, shape), n = p->next++;
    buffer_printf(p->out, "%%j%d = reshape %%w%d : i64%s\n%%r%d = cast %%j%d : %s%s\n", n, from, t->type, n, n,
                  p->views[view].element, t->type);
    return n;
}

/* What was read there, %r…, is now one of the values. */
static void keep(struct touch_program *p, int shape, const struct touched *t, int from)
{
    int n = p->next++;
    buffer_printf(p->out, "%%j%d = cast %%r%d : i64%s\n%%v%d = reshape %%j%d : i64[%d]\n", n, from, t->type, n, n,
                  p->length[shape]);
    note_read(p, shape, n);
}

/* ---- accesses ---- */

static bool by_pointer(const struct touched *t) { return t->form == POINTER || t->form == SQUARE; }

static void load(struct touch_program *p, int view, int shape)
{
    struct touched t;
    choose_place(p, view, shape, &t);
    int n = p->next++;
    buffer_printf(p->out, "%%o%d = constant value(%s) : %s%s\n%%r%d = %s %s, %%o%d", n,
                  p->views[view].real ? "1.0" : "1", p->views[view].element, t.type, n,
                  by_pointer(&t) ? "pointer_load" : "load", t.place, n);
    put_mask(p, &t);
    buffer_printf(p->out, " : %s%s\n", p->views[view].element, t.type);
    keep(p, shape, &t, n);
}

static void store(struct touch_program *p, int view, int shape)
{
    struct touched t;
    choose_place(p, view, shape, &t);
    int from = brought(p, view, shape, &t);
    buffer_printf(p->out, "%s %s, %%r%d", by_pointer(&t) ? "pointer_store" : "store", t.place, from);
    put_mask(p, &t);
    buffer_puts(p->out, "\n");
}

static const char *action_for(struct touch_program *p, const struct touch_view *view)
{
    static const char *const actions[] = {"min", "max", "exchange", "store", "load", "add", "add", "and", "or", "xor"};
    return actions[random_below(&p->random, view->narrow ? 5 : view->real ? 7 : 10)];
}

/* One in four swaps; old values are kept more often than not. */
static void act(struct touch_program *p, int view, int shape)
{
    static const char *const orders[] = {"", " order(relaxed) scope(gpu)", " order(relaxed) scope(block)",
                                         " order(relaxed) scope(gpu)", " order(acq_rel) scope(gpu)"};
    struct touched t;
    choose_place(p, view, shape, &t);
    bool swaps = chance(p, 25);
    int expected = swaps ? brought(p, view, shape, &t) : 0, from = brought(p, view, shape, &t), n = p->next++;
    buffer_printf(p->out, "%%r%d = %s%s", n,
                  by_pointer(&t) ? "pointer_"
                  : swaps        ? "atomic_"
                                 : "",
                  swaps ? "cas" : "atomic");
    if (!swaps)
        buffer_printf(p->out, " action(%s)", action_for(p, &p->views[view]));
    buffer_printf(p->out, "%s %s", orders[chance(p, 90) ? random_below(&p->random, 4) : 4], t.place);
    if (swaps)
        buffer_printf(p->out, ", %%r%d", expected);
    buffer_printf(p->out, ", %%r%d", from);
    put_mask(p, &t);
    buffer_printf(p->out, " : %s%s\n", p->views[view].element, t.type);
    if (chance(p, 60))
        keep(p, shape, &t, n);
}

/* ---- blocks ---- */

/* sum = 3 * sum + value, of all that was read since `first`. */
static void look(struct touch_program *p, const int *first)
{
    for (int shape = 0; shape < LENGTHS; shape++) {
        for (int i = first[shape]; i < p->read_count[shape]; i++) {
            int n = p->next++, length = p->length[shape];
            buffer_printf(p->out,
                          "%%c%d = constant value(3) : i64[%d]\n%%d%d = mul %%s%d, %%c%d : i64[%d]\n"
                          "%%s%d = add %%d%d, %%v%d : i64[%d]\n",
                          n, length, n, p->sum[shape], n, length, n, n, p->read[shape][i], length);
            p->sum[shape] = n;
        }
        p->read_count[shape] = first[shape];
    }
}

static void block(struct touch_program *p, int statements);

static void put_sums(struct touch_program *p, const char *word)
{
    buffer_printf(p->out, "%s %%s%d, %%s%d\n", word, p->sum[0], p->sum[1]);
}

static void loop(struct touch_program *p)
{
    int before[LENGTHS] = {p->sum[0], p->sum[1]}, outer = p->variable, n = p->next;
    p->next += 4;
    buffer_printf(p->out,
                  "%%s%d, %%s%d = for %%k%d: index = %%nought to %%%s step %%one "
                  "iter(%%s%d: i64[%d] = %%s%d, %%s%d: i64[%d] = %%s%d) {\n",
                  n, n + 1, n, chance(p, 70) ? "three" : "two", n + 2, p->length[0], before[0], n + 3, p->length[1],
                  before[1]);
    p->variable = n;
    p->sum[0] = n + 2;
    p->sum[1] = n + 3;
    block(p, random_between(&p->random, 1, 4));
    put_sums(p, "yield");
    buffer_puts(p->out, "}\n");
    p->variable = outer;
    p->sum[0] = n;
    p->sum[1] = n + 1;
}

static void branch(struct touch_program *p)
{
    int before[LENGTHS] = {p->sum[0], p->sum[1]}, n = p->next;
    p->next += 2;
    buffer_printf(p->out, "%%q%d = constant value(%d) : index\n%%m%d = compare predicate(%s) %%%s%d, %%q%d : bool\n", n,
                  random_below(&p->random, 2), n, chance(p, 50) ? "le" : "gt", p->variable >= 0 ? "k" : "which",
                  p->variable >= 0 ? p->variable : 0, n);
    buffer_printf(p->out, "%%s%d, %%s%d = if %%m%d {\n", n, n + 1, n);
    for (int arm = 0; arm < 2; arm++) {
        p->sum[0] = before[0];
        p->sum[1] = before[1];
        block(p, arm ? random_below(&p->random, 2) : random_between(&p->random, 1, 3));
        put_sums(p, "yield");
        buffer_puts(p->out, arm ? "}" : "} else {\n");
    }
    buffer_printf(p->out, " : i64[%d], i64[%d]\n", p->length[0], p->length[1]);
    p->sum[0] = n;
    p->sum[1] = n + 1;
}

static void block(struct touch_program *p, int statements)
{
    int first[LENGTHS] = {p->read_count[0], p->read_count[1]};
    p->depth++;
    for (int i = 0; i < statements; i++) {
        int dice = random_below(&p->random, 100), view = chance(p, 75) ? 0 : 1;
        int shape = random_below(&p->random, LENGTHS);
        if (dice < 12 && p->depth <= MOST_DEPTH)
            loop(p);
        else if (dice < 18 && p->depth <= MOST_DEPTH)
            branch(p);
        else if (dice < 40)
            load(p, view, shape);
        else if (dice < 60)
            store(p, view, shape);
        else
            act(p, view, shape);
    }
    look(p, first);
    p->depth--;
}

/* ---- programs ---- */

static void choose(struct touch_program *p)
{
    static const struct touch_view views[] = {
        {"i32", 32, false, false}, {"u32", 32, false, false}, {"i64", 64, false, false}, {"u64", 64, false, false},
        {"i16", 16, false, false}, {"u16", 16, false, false}, {"i8", 8, false, false},   {"u8", 8, false, false},
        {"f32", 32, true, false},  {"f64", 64, true, false},  {"f16", 16, true, true},   {"bf16", 16, true, true}};
    for (int i = 0; i < 2; i++)
        p->views[i] = views[random_below(&p->random, chance(p, 50) ? 4 : (int)(sizeof views / sizeof *views))];
    p->length[0] = 32 << random_below(&p->random, 3);
    p->length[1] = chance(p, 50) ? p->length[0] : 8 << random_below(&p->random, 5);
}

/* The second view may be the memory of the first. */
static void put_views(struct touch_program *p, uint64_t seed)
{
    buffer_printf(p->out, "// seed %llu\n// grid 2\n", (unsigned long long)seed);
    bool same = chance(p, 15), restrict_both = !same && chance(p, 60);
    if (same)
        p->views[1] = p->views[0];
    for (int i = 0; i < 2; i++)
        buffer_printf(p->out, "// view extent %d stride 1 elements %d block %d content 0 fill %d output%s\n", 2 * BLOCK,
                      2 * BLOCK, BLOCK, i + 1, same && i ? " alias 1 offset 0" : "");
    buffer_printf(p->out, "// view extent 2 64 stride 64 1 elements 128 block 1 content 0 fill 3 output\n");
    buffer_puts(p->out, "kernel @fuzz(");
    for (int i = 0; i < 2; i++)
        buffer_printf(p->out, "%%x%d: view<%s, [?], [1], inout>%s, ", i, p->views[i].element,
                      restrict_both ? " {restrict}" : "");
    buffer_printf(p->out, "%%digest: view<i64, [?, 64], [?, 1], inout> {restrict}) grid(1) level(value) warps(%d) {\n",
                  1 << random_between(&p->random, 1, 3));
    buffer_printf(p->out,
                  "%%nought = constant value(0) : index\n%%one = constant value(1) : index\n"
                  "%%two = constant value(2) : index\n%%three = constant value(3) : index\n"
                  "%%which0 = grid_index dimension(0) : index\n%%size = constant value(%d) : index\n"
                  "%%base = mul %%which0, %%size : index\n",
                  BLOCK);
}

void fuzz_generate_touch(struct buffer *out, uint64_t seed)
{
    struct touch_program program = {.random = {seed ^ 0x746f756368000000}, .out = out, .variable = -1}, *p = &program;
    choose(p);
    put_views(p, seed);
    for (int shape = 0; shape < LENGTHS; shape++) {
        p->sum[shape] = p->next++;
        buffer_printf(out, "%%s%d = constant value(0) : i64[%d]\n", p->sum[shape], p->length[shape]);
    }
    block(p, random_between(&p->random, 3, 9));
    for (int shape = 0; shape < LENGTHS; shape++) {
        int n = p->next++, length = p->length[shape];
        buffer_printf(out,
                      "%%c%d = constant value(7) : i64[%d]\n%%i%d = iota : i64[%d]\n"
                      "%%o%d = add %%i%d, %%c%d : i64[%d]\n%%w%d = mul %%s%d, %%o%d : i64[%d]\n"
                      "%%r%d = reduce axis(0) kind(add) %%w%d : i64\n"
                      "%%p%d = constant value(%d) : index\nstore %%digest[%%which0, %%p%d], %%r%d\n",
                      n, length, n, length, n, n, n, length, n, p->sum[shape], n, length, n, n, n, shape, n, n);
    }
    buffer_puts(out, "return\n}\n");
}
