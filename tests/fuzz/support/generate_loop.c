/* Random loops with loads that feed no product, written as text.
 *
 * A loop walks along the rows of a view, up or down, counted or by a condition, and adds what it loads: slices at its
 * place and beside it, rows that an index names, single elements, elements that the loop itself writes, with and
 * without masks.  It may store, count by atomics, branch, and carry a place of its own.  Rows end anywhere, loops run
 * from no to a dozen times, bodies are short or long; some rows are as long as the loop is known to go, some loops
 * start in front of theirs, some views are not there.  Sums are clamped small integers, so that every order of exact
 * steps gives the same bits. */
#include "generate_loop.h"

enum form { FORM_UP, FORM_DOWN, FORM_WHILE, FORM_WHILE_DOWN, FORM_WHILE_ODD, FORM_COUNT };
struct loop_program {
    struct random random;
    struct buffer *out;
    enum form form;
    int tile, step;
    int64_t rows, length;
    bool wide;          /* registers do not hold two tiles: they go through shared memory where they can */
    bool carries_place; /* a place that goes with the loop, by a step of its own */
    bool shared;        /* what the loop writes is read by another view of the same memory */
    bool fixed;         /* lengths are known when it is compiled, and the loop ends with the row */
    int next, views;    /* number for names, views so far */
    char sum[16];       /* name of the running sum */
};

static bool chance(struct loop_program *p, int percent) { return random_chance(&p->random, percent); }

enum use { USE_READ, USE_WRITTEN, USE_ABSENT, USE_SHARED /* written, and read under another name */ };

static void add_view(struct loop_program *p, const char *name, const char *element, int64_t rows, int64_t columns,
                     enum use use, struct buffer *parameters)
{
    static const char *const words[] = {"", " output", " absent", " output"};
    static const char *const directions[] = {"in", "inout", "in?", "inout"};
    int number = p->views += 1 + (use == USE_SHARED);
    int64_t pitch = (columns + 7) / 8 * 8 + 8 * random_below(&p->random, 2);
    char extent[32] = "?";
    if (p->fixed)
        snprintf(extent, sizeof extent, "%lld", (long long)columns);
    buffer_printf(p->out, "// view extent %lld %lld stride %lld 1 elements %lld block 1 content 0 fill %d%s\n",
                  (long long)rows, (long long)columns, (long long)pitch, (long long)int64_max(1, pitch * rows),
                  p->next++, words[use]);
    buffer_printf(parameters,
                  "%s%%%s: view<%s, [?, %s], [?, 1], %s> {align(16), stride_multiple(4, 0), "
                  "limit(2147483648)%s}",
                  parameters->size ? ", " : "", name, element, extent, directions[use],
                  use == USE_SHARED ? "" : ", restrict");
    if (use != USE_SHARED)
        return;
    buffer_printf(p->out,
                  "// view extent %lld %lld stride %lld 1 elements %lld block 1 content 0 fill 0 "
                  "alias %d offset 0\n",
                  (long long)rows, (long long)columns, (long long)pitch, (long long)int64_max(1, pitch * rows),
                  number - 1);
    buffer_printf(parameters,
                  ", %%%s2: view<%s, [?, %s], [?, 1], in> {align(16), stride_multiple(4, 0), "
                  "limit(2147483648)}",
                  name, element, extent);
}

/* The sum grows by a tile and stays small. */
static void add_up(struct loop_program *p, const char *value)
{
    int n = p->next++;
    buffer_printf(p->out,
                  "%%t%d = add %%%s, %%%s : f32[%d]\n%%u%d = min %%t%d, %%most : f32[%d]\n"
                  "%%s%d = max %%u%d, %%least : f32[%d]\n",
                  n, p->sum, value, p->tile, n, n, p->tile, n, n, p->tile);
    snprintf(p->sum, sizeof p->sum, "s%d", n);
}

/* A slice at the place, or beside it; masked or with another value outside at times. */
static void load_slice(struct loop_program *p, const char *view, const char *row, const char *place)
{
    int n = p->next++, beside = chance(p, p->fixed ? 10 : 30) ? random_between(&p->random, -3, 9) : 0;
    if (p->wide) /* aligned, most of them */
        beside *= 4;
    char name[16];
    snprintf(name, sizeof name, "v%d", n);
    buffer_printf(p->out, "%%b%d = constant value(%d) : index\n%%p%d = add %%%s, %%b%d : index\n", n, beside, n, place,
                  n);
    const char *at = "p";
    if (chance(p, p->wide ? 5 : 20)) {
        buffer_printf(p->out,
                      "%%i%d = iota : index[%d]\n%%w%d = splat %%%s : index[%d]\n"
                      "%%m%d = compare predicate(lt) %%i%d, %%w%d : bool[%d]\n"
                      "%%%s = load %%%s[%%%s, %%%s%d +: %d], %%other, %%m%d : f32[%d]\n",
                      n, p->tile, n, place, p->tile, n, n, n, p->tile, name, view, row, at, n, p->tile, n, p->tile);
    } else {
        buffer_printf(p->out, "%%%s = load %%%s[%%%s, %%%s%d +: %d], %%other : f32[%d]\n", name, view, row, at, n,
                      p->tile, p->tile);
    }
    add_up(p, name);
}

/* A row that an index names. */
static void load_gathered(struct loop_program *p, const char *place)
{
    int n = p->next++;
    char name[16];
    snprintf(name, sizeof name, "v%d", n);
    buffer_printf(p->out,
                  "%%id%d = load %%ids[%%row, %%%s], %%no : i32\n%%r%d = cast %%id%d : index\n"
                  "%%%s = load %%x[%%r%d, %%nought +: %d], %%other : f32[%d]\n",
                  n, place, n, n, name, n, p->tile, p->tile);
    add_up(p, name);
}

static void work(struct loop_program *p, int count)
{
    for (int i = 0; i < count; i++)
        add_up(p, chance(p, 50) ? p->sum : "start");
}

static void statement(struct loop_program *p, const char *place)
{
    int n = p->next++;
    switch (random_below(&p->random, 10)) {
    case 0:
    case 1:
    case 2: load_slice(p, chance(p, 85) ? "x" : "none", "row", place); return;
    case 3:
    case 4: load_gathered(p, place); return;
    case 5: load_slice(p, p->shared ? "z2" : "z", "row", place); return;
    case 6: buffer_printf(p->out, "store %%z[%%row, %%%s +: %d], %%%s\n", place, p->tile, p->sum); return;
    case 7:
        buffer_printf(p->out, "%%h%d = atomic action(add) order(%s) scope(gpu) %%h[%%row, %%nought], %%one : i32\n", n,
                      chance(p, 70) ? "relaxed" : "acq_rel");
        return;
    case 8: {
        char name[16];
        snprintf(name, sizeof name, "c%d", n);
        buffer_printf(p->out, "%%e%d = load %%x[%%row, %%%s], %%single : f32\n%%%s = splat %%e%d : f32[%d]\n", n, place,
                      name, n, p->tile);
        add_up(p, name);
        return;
    }
    default: work(p, random_below(&p->random, chance(p, 30) ? 40 : 4)); return;
    }
}

static void branch(struct loop_program *p, const char *place)
{
    char before[16], made[16];
    int n = p->next++;
    snprintf(before, sizeof before, "%s", p->sum);
    snprintf(made, sizeof made, "q%d", n);
    buffer_printf(p->out, "%%g%d = compare predicate(gt) %%%s, %%second : bool\n%%%s = if %%g%d {\n", n, place, made,
                  n);
    statement(p, place);
    buffer_printf(p->out, "yield %%%s\n} else {\nyield %%%s\n} : f32[%d]\n", p->sum, before, p->tile);
    snprintf(p->sum, sizeof p->sum, "%s", made);
}

static void body(struct loop_program *p, const char *variable)
{
    int statements = random_between(&p->random, 1, 5);
    snprintf(p->sum, sizeof p->sum, "acc");
    for (int i = 0; i < statements; i++) {
        const char *place = p->carries_place && chance(p, 50) ? "along" : variable;
        if (chance(p, 12))
            branch(p, place);
        else
            statement(p, place);
    }
    if (p->carries_place)
        buffer_puts(p->out, "%further = add %along, %own : index\n");
}

static void write_for(struct loop_program *p)
{
    bool down = p->form == FORM_DOWN;
    buffer_printf(p->out, "%%total%s = for %%at: index = %%%s to %%%s step %%step iter(%%acc: f32[%d] = %%start%s) {\n",
                  p->carries_place ? ", %last" : "", down ? "end" : "first", down ? "first" : "end", p->tile,
                  p->carries_place ? ", %along: index = %second" : "");
    body(p, "at");
    buffer_printf(p->out, "yield %%%s%s\n}\n", p->sum, p->carries_place ? ", %further" : "");
}

static void write_while(struct loop_program *p)
{
    bool down = p->form == FORM_WHILE_DOWN;
    const char *carried = p->carries_place ? ", %along0: index" : "";
    buffer_printf(p->out, "%%total, %%reached%s = while %%start, %%%s%s (%%acc0: f32[%d], %%at0: index%s) {\n",
                  p->carries_place ? ", %last" : "", down ? "end" : "first", p->carries_place ? ", %second" : "",
                  p->tile, carried);
    buffer_printf(p->out, "%%go = compare predicate(%s) %%at0, %%%s : bool\ncondition %%go, %%acc0, %%at0%s\n",
                  down            ? chance(p, 50) ? "gt" : "ge"
                  : chance(p, 70) ? "lt"
                                  : "le",
                  down ? "first" : "end", p->carries_place ? ", %along0" : "");
    buffer_printf(p->out, "} do (%%acc: f32[%d], %%at: index%s) {\n", p->tile,
                  p->carries_place ? ", %along: index" : "");
    body(p, "at");
    if (p->form == FORM_WHILE_ODD) /* what is added changes: it does not count */
        buffer_puts(p->out, "%uneven = and %at, %unit : index\n%odd = add %step, %uneven : index\n"
                            "%following = add %at, %odd : index\n");
    else
        buffer_puts(p->out, "%following = add %at, %step : index\n");
    buffer_printf(p->out, "yield %%%s, %%following%s\n} : f32[%d], index%s\n", p->sum,
                  p->carries_place ? ", %further" : "", p->tile, p->carries_place ? ", index" : "");
}

static void prelude(struct loop_program *p)
{
    bool down = p->form == FORM_DOWN || p->form == FORM_WHILE_DOWN;
    int own = chance(p, 50) ? p->step : random_between(&p->random, 1, 2 * p->step);
    buffer_printf(p->out,
                  "%%nought = constant value(0) : index\n%%unit = constant value(1) : index\n"
                  "%%step = constant value(%d) : index\n%%own = constant value(%d) : index\n"
                  "%%first = constant value(%d) : index\n%%second = constant value(%d) : index\n"
                  "%%row = grid_index dimension(0) : index\n%%long = extent dimension(1) %%x : index\n"
                  "%%less = constant value(%d) : index\n%%end = sub %%long, %%less : index\n",
                  down ? -p->step : p->step, chance(p, 20) ? -own : own,
                  p->wide         ? chance(p, 70) ? 0 : -8 * random_between(&p->random, 1, 9)
                          : p->fixed ? 0
                  : chance(p, 25) ? -random_between(&p->random, 1, p->tile)
                                  : random_between(&p->random, 0, chance(p, 80) ? 0 : 5),
                  random_between(&p->random, 0, 9),
                  p->fixed && !down ? 0 : random_between(&p->random, down ? 1 : -3, 5));
    buffer_printf(p->out,
                  "%%no = constant value(0) : i32\n%%one = constant value(1) : i32\n"
                  "%%other = constant value(%d.0) : f32\n%%single = constant value(2.0) : f32\n"
                  "%%most = constant value(64.0) : f32[%d]\n%%least = constant value(-64.0) : f32[%d]\n"
                  "%%start = constant value(%d.0) : f32[%d]\n",
                  chance(p, 70) || p->wide ? 0 : 3, p->tile, p->tile, random_between(&p->random, 0, 1), p->tile);
}

void fuzz_generate_loop(struct buffer *out, uint64_t seed)
{
    static const int tiles[] = {32, 64, 128, 256, 512}, warps[] = {0, 1, 2, 4};
    struct loop_program program = {.random = {seed}, .out = out}, *p = &program;
    struct buffer parameters = {0};
    p->form = (enum form)random_below(&p->random, FORM_COUNT);
    p->tile = tiles[random_below(&p->random, 5)];
    p->wide = seed % 6 == 1;
    if (p->wide)
        p->tile = 8192;
    p->step = chance(p, 70) || p->wide ? p->tile : random_between(&p->random, 1, p->tile);
    p->rows = p->wide ? 1 : random_between(&p->random, 1, 3);
    p->length = random_below(&p->random, 12) * p->step + (chance(p, 60) ? random_below(&p->random, p->step) : 0);
    p->carries_place = chance(p, 35);
    p->fixed = chance(p, 25);
    p->shared = chance(p, 35);
    if (p->fixed) {
        p->step = p->tile;
        p->length = random_between(&p->random, 1, 12) * p->step;
    }
    buffer_printf(out, "// seed %llu\n// grid %lld\n", (unsigned long long)seed, (long long)p->rows);
    add_view(p, "x", "f32", p->rows, p->length, USE_READ, &parameters);
    add_view(p, "none", "f32", p->rows, p->length, USE_ABSENT, &parameters);
    add_view(p, "ids", "i32", p->rows, p->length, USE_READ, &parameters);
    add_view(p, "z", "f32", p->rows, p->length, p->shared ? USE_SHARED : USE_WRITTEN, &parameters);
    add_view(p, "h", "i32", p->rows, 4, USE_WRITTEN, &parameters);
    add_view(p, "y", "f32", p->rows, p->tile + 1, USE_WRITTEN, &parameters);
    buffer_printf(out, "kernel @fuzz(%s) grid(1) level(value)", parameters.data);
    int count = warps[random_below(&p->random, 4)], stages = random_below(&p->random, 6);
    if (p->wide || count)
        buffer_printf(out, " warps(%d)", p->wide ? 8 : count);
    if (p->wide)
        stages = 2 + stages / 2;
    if (stages > 1)
        buffer_printf(out, " stages(%d)", stages);
    buffer_puts(out, " {\n");
    prelude(p);
    if (p->form <= FORM_DOWN)
        write_for(p);
    else
        write_while(p);
    buffer_printf(out, "store %%y[%%row, %%nought +: %d], %%total\n", p->tile);
    if (p->carries_place || p->form > FORM_DOWN)
        buffer_printf(out,
                      "%%seen = cast %%%s : f32\n%%behind = constant value(%d) : index\n"
                      "store %%y[%%row, %%behind], %%seen\n",
                      p->carries_place ? "last" : "reached", p->tile);
    buffer_puts(out, "return\n}\n");
    buffer_free(&parameters);
}
