/* Random kernels over rows wider than registers hold, written as text.
 *
 * An instance loads a row once or twice, from a view of its own or from the output, reduces what it computes of it once
 * to three times, computes with what comes out and stores one or two rows, some of it under a condition of the instance.
 * Weights and biases come from further views, elements outside are masked, rows end anywhere, a tile is one row or a few.  Every number is a small integer
 * until its last operation, so that all orders of sums give the same bits; powers of two are summed within what f32
 * holds exactly. */
#include "generate_row.h"

#include <string.h>

enum { MOST_VALUES = 12, BOUND = 64 };

struct row_program {
    struct random random;
    struct buffer *out;
    const char *narrow; /* element of the views in memory */
    const char *from;   /* the view that the row is in */
    int height, width;  /* of the tile; height 0: it has one dimension */
    int warps;
    int64_t length;
    bool fixed;   /* lengths are known when it is compiled */
    int beyond;   /* how many elements more the outputs have */
    bool classes; /* lengths are known to be equal */
    bool masked;
    int branches;            /* rows that a condition chooses */
    bool single;             /* views are the row itself; there is one instance */
    int next;                /* number for names */
    char tile[24], line[24]; /* behind the element, in types: of the tile, of what a reduction gives */
    char value[MOST_VALUES][16];
    int value_count;
    char divisor[16], power[16];
};

static bool chance(struct row_program *p, int percent) { return random_chance(&p->random, percent); }

static void add_view(struct row_program *p, const char *name, const char *element, bool is_output,
                     struct buffer *parameters)
{
    int64_t pitch = (p->length + p->beyond + 7) / 8 * 8 + 8 * random_below(&p->random, 2);
    int64_t rows = 2 * int64_max(1, p->height);
    int64_t length = p->length + (is_output ? p->beyond : 0);
    char extent[32] = "?", facts[80];
    if (p->fixed)
        snprintf(extent, sizeof extent, "%lld", (long long)length);
    snprintf(facts, sizeof facts, "limit(2147483648)%s, restrict",
             !p->classes ? ""
             : p->single ? ", extent_class(1)"
                         : ", extent_class(0, 1)");
    const char *direction = is_output ? "inout" : "in";
    if (p->single) {
        buffer_printf(p->out, "// view extent %lld stride 1 elements %lld block %lld content 0 fill %d%s\n",
                      (long long)length, (long long)pitch, (long long)length, p->next++, is_output ? " output" : "");
        buffer_printf(parameters, "%s%%%s: view<%s, [%s], [1], %s> {align(16), %s}", parameters->size ? ", " : "", name,
                      element, extent, direction, facts);
        return;
    }
    buffer_printf(p->out, "// view extent %lld %lld stride %lld 1 elements %lld block %d content 0 fill %d%s\n",
                  (long long)rows, (long long)length, (long long)pitch, (long long)(pitch * rows),
                  p->height ? p->height : 1, p->next++, is_output ? " output" : "");
    buffer_printf(parameters, "%s%%%s: view<%s, [?, %s], [?, 1], %s> {align(16), stride_multiple(8, 0), %s}",
                  parameters->size ? ", " : "", name, element, extent, direction, facts);
}

static const char *place(const struct row_program *p, char *text, size_t size)
{
    if (p->height)
        snprintf(text, size, "%%row +: %d, %%nought +: %d", p->height, p->width);
    else if (p->single)
        snprintf(text, size, "%%nought +: %d", p->width);
    else
        snprintf(text, size, "%%row, %%nought +: %d", p->width);
    return text;
}

static const char *know(struct row_program *p, int number)
{
    int slot = p->value_count < MOST_VALUES ? p->value_count++ : random_below(&p->random, MOST_VALUES);
    snprintf(p->value[slot], sizeof p->value[slot], "v%d", number);
    return p->value[slot];
}

/* Mostly the row itself or what was made last. */
static const char *any(struct row_program *p)
{
    int dice = random_below(&p->random, 10), last = p->value_count - 1;
    return p->value[dice < 3 ? 0 : dice < 7 ? last : random_below(&p->random, p->value_count)];
}

/* Of the name `to`, what the name `from` is between two numbers. */
static void clamp(struct row_program *p, const char *to, const char *from, int low, int high, const char *shape)
{
    int n = p->next++;
    buffer_printf(p->out,
                  "%%l%d = constant value(%d.0) : f32%s\n%%g%d = constant value(%d.0) : f32%s\n"
                  "%%a%d = max %%%s, %%l%d : f32%s\n%%%s = min %%a%d, %%g%d : f32%s\n",
                  n, low, shape, n, high, shape, n, from, n, shape, to, n, n, shape);
}

/* A row as f32, at times with another value outside. */
static void load(struct row_program *p, const char *view, const char *element, bool selects)
{
    int n = p->next++;
    char at[80];
    bool wide = element[0] == 'f' && element[1] == '3';
    place(p, at, sizeof at);
    buffer_printf(p->out, "%%o%d = constant value(%d.0) : %s\n%%x%d = load %%%s[%s], %%o%d : %s%s\n", n,
                  chance(p, 70) ? 0 : -3, element, n, view, at, n, element, p->tile);
    if (wide)
        buffer_printf(p->out, "%%f%d = add %%x%d, %%zeros : f32%s\n", n, n, p->tile);
    else
        buffer_printf(p->out, "%%f%d = cast %%x%d : f32%s\n", n, n, p->tile);
    if (selects)
        buffer_printf(p->out,
                      "%%m%d = inside %%%s[%s] : bool%s\n%%e%d = constant value(%d.0) : f32%s\n"
                      "%%v%d = select %%m%d, %%f%d, %%e%d : f32%s\n",
                      n, view, at, p->tile, n, chance(p, 50) ? -9 : 1, p->tile, n, n, n, n, p->tile);
    else
        buffer_printf(p->out, "%%v%d = sub %%zeros, %%f%d : f32%s\n", n, n, p->tile); /* never -0 */
    know(p, n);
}

/* One or two operations on rows. */
static void compute(struct row_program *p)
{
    static const char *const two[] = {"add", "sub", "mul", "max", "min", "add", "sub"};
    int n = p->next++, dice = random_below(&p->random, 10);
    char made[16], to[16];
    snprintf(made, sizeof made, "c%d", n);
    snprintf(to, sizeof to, "v%d", n);
    if (dice == 2)
        buffer_printf(p->out, "%%z%d = mul %%%s, %%%s : f32%s\n%%%s = add %%z%d, %%zeros : f32%s\n", n, any(p), any(p),
                      p->tile, made, n, p->tile);
    else if (dice < 7)
        buffer_printf(p->out, "%%%s = %s %%%s, %%%s : f32%s\n", made, two[dice], any(p), any(p), p->tile);
    else if (dice == 7)
        buffer_printf(p->out, "%%%s = abs %%%s : f32%s\n", made, any(p), p->tile);
    else if (dice == 8 && !p->height)
        buffer_printf(p->out,
                      "%%i%d = iota : i32%s\n%%k%d = constant value(7) : i32%s\n"
                      "%%j%d = and %%i%d, %%k%d : i32%s\n%%%s = cast %%j%d : f32%s\n",
                      n, p->tile, n, p->tile, n, n, n, p->tile, made, n, p->tile);
    else
        buffer_printf(p->out,
                      "%%q%d = compare predicate(lt) %%%s, %%%s : bool%s\n"
                      "%%%s = select %%q%d, %%%s, %%%s : f32%s\n",
                      n, any(p), any(p), p->tile, made, n, any(p), any(p), p->tile);
    clamp(p, to, made, -BOUND, BOUND, p->tile);
    know(p, n);
}

/* What a reduction gives, as a tile of the row's shape. */
static void spread(struct row_program *p, const char *to, const char *from)
{
    int n = p->next++;
    if (!p->height) {
        buffer_printf(p->out, "%%%s = splat %%%s : f32%s\n", to, from, p->tile);
        return;
    }
    buffer_printf(p->out, "%%h%d = reshape %%%s : f32[%d, 1]\n%%%s = broadcast %%h%d : f32%s\n", n, from, p->height, to,
                  n, p->tile);
}

static void reduce(struct row_program *p)
{
    static const char *const kinds[] = {"max", "add", "min", "add"};
    int n = p->next++, axis = p->height ? 1 : 0;
    char from[16], sum[16], small[16], to[16];
    snprintf(sum, sizeof sum, "r%d", n);
    snprintf(small, sizeof small, "s%d", n);
    snprintf(to, sizeof to, "v%d", n);
    if (chance(p, 35) && !p->power[0]) { /* powers of two, and their sum */
        snprintf(from, sizeof from, "b%d", n);
        clamp(p, from, any(p), -2, 4, p->tile);
        snprintf(p->power, sizeof p->power, "p%d", n);
        snprintf(p->divisor, sizeof p->divisor, "d%d", n);
        buffer_printf(p->out,
                      "%%%s = math function(exp2) %%%s : f32%s\n"
                      "%%%s = reduce axis(%d) kind(add) %%%s : f32%s\n",
                      p->power, from, p->tile, sum, axis, p->power, p->line);
        spread(p, p->divisor, sum);
        return;
    }
    if (chance(p, 15)) { /* integers, by their bits */
        static const char *const bits[] = {"and", "or", "xor", "min"};
        buffer_printf(p->out,
                      "%%w%d = cast %%%s : i32%s\n%%z%d = reduce axis(%d) kind(%s) %%w%d : i32%s\n"
                      "%%%s = cast %%z%d : f32%s\n",
                      n, any(p), p->tile, n, axis, bits[random_below(&p->random, 4)], n, p->line, sum, n, p->line);
    } else {
        buffer_printf(p->out, "%%%s = reduce axis(%d) kind(%s) %%%s : f32%s\n", sum, axis,
                      kinds[random_below(&p->random, 4)], any(p), p->line);
    }
    clamp(p, small, sum, -BOUND, BOUND, p->line);
    spread(p, to, small);
    know(p, n);
}

static void store(struct row_program *p, const char *view, const char *element)
{
    int n = p->next++;
    char at[80], last[16];
    place(p, at, sizeof at);
    snprintf(last, sizeof last, "%s", p->power[0] && chance(p, 70) ? p->power : any(p));
    if (p->divisor[0] && chance(p, 70)) {
        buffer_printf(p->out, "%%t%d = div %%%s, %%%s : f32%s\n", n, last, p->divisor, p->tile);
        snprintf(last, sizeof last, "t%d", n);
        if (chance(p, 40)) {
            buffer_printf(p->out, "%%u%d = mul %%%s, %%%s : f32%s\n", n, last, any(p), p->tile);
            snprintf(last, sizeof last, "u%d", n);
        }
    }
    if (element[0] != 'f' || element[1] != '3') {
        buffer_printf(p->out, "%%y%d = cast %%%s : %s%s\n", n, last, element, p->tile);
        snprintf(last, sizeof last, "y%d", n);
    }
    bool masks = p->masked && chance(p, 40);
    if (masks)
        buffer_printf(p->out, "%%n%d = compare predicate(lt) %%%s, %%%s : bool%s\n", n, any(p), any(p), p->tile);
    buffer_printf(p->out, "store %%%s[%s], %%%s", view, at, last);
    if (masks)
        buffer_printf(p->out, ", %%n%d", n);
    buffer_puts(p->out, "\n");
}

static void condition(struct row_program *p, int n)
{
    static const char *const words[] = {"lt", "ge", "ne"};
    buffer_printf(p->out, "%%k%d = compare predicate(%s) %%which, %%nought : bool\n", n,
                  words[random_below(&p->random, 3)]);
}

static void keep_names(struct row_program *p, const struct row_program *before)
{
    memcpy(p->value, before->value, sizeof p->value);
    p->value_count = before->value_count;
}

/* One of two rows, of which one or both are read or computed there. */
static void branch(struct row_program *p, const char *view, const char *element, int depth)
{
    int n = p->next++;
    struct row_program before = *p;
    condition(p, n);
    buffer_printf(p->out, "%%c%d = if %%k%d {\n", n, n);
    for (int arm = 0; arm < 2; arm++) {
        if (arm == 0 || chance(p, 30))
            load(p, view, element, false);
        if (depth < 2 && chance(p, 25))
            branch(p, view, element, depth + 1);
        if (chance(p, 60))
            compute(p);
        buffer_printf(p->out, "yield %%%s\n%s", p->value[p->value_count - 1], arm == 0 ? "} else {\n" : "");
        keep_names(p, &before);
    }
    buffer_printf(p->out, "} : f32%s\n%%v%d = add %%c%d, %%zeros : f32%s\n", p->tile, n, n, p->tile);
    know(p, n);
}

static void store_in_branch(struct row_program *p, const char *view, const char *element)
{
    int n = p->next++;
    struct row_program before = *p;
    condition(p, n);
    buffer_printf(p->out, "if %%k%d {\n", n);
    if (chance(p, 50))
        load(p, view, element, false);
    if (chance(p, 50))
        compute(p);
    store(p, view, element);
    buffer_puts(p->out, "yield\n} else {\nyield\n}\n");
    keep_names(p, &before);
}

/* Mostly a tile that few threads hold in many registers: it is interpreted soon. */
static void choose(struct row_program *p)
{
    static const char *const elements[] = {"bf16", "f16", "f32"};
    static const int a_thread[] = {32, 64, 128, 128, 256, 256};
    bool large = chance(p, 4);
    p->narrow = elements[random_below(&p->random, 3)];
    p->warps = large ? 16 : 1 << (chance(p, 25) ? random_below(&p->random, 3) : 0);
    int registers = large ? 64 : a_thread[random_below(&p->random, p->warps > 1 ? 4 : 6)];
    p->width = 32 * p->warps * registers;
    p->height = chance(p, 15) ? 2 << random_below(&p->random, 3) : 0;
    if (p->height)
        p->width /= p->height;
    p->length = chance(p, 40) ? p->width : random_between(&p->random, chance(p, 20) ? 1 : p->width / 2, p->width + 9);
    struct random random = {p->random.state ^ UINT64_C(0x6c656e677468)};
    p->fixed = chance(p, 40);
    p->beyond = random_chance(&random, 25) ? random_between(&random, 1, 40) : 0;
    p->classes = !p->fixed && !p->beyond && random_chance(&random, 50);
    p->branches = random_chance(&random, 40) ? random_between(&random, 1, 3) : 0;
    p->single = !p->height && chance(p, 40);
    p->masked = chance(p, p->single ? 60 : 40);
    snprintf(p->tile, sizeof p->tile, p->height ? "[%d, %d]" : "[%d]", p->height ? p->height : p->width, p->width);
    if (p->height)
        snprintf(p->line, sizeof p->line, "[%d]", p->height);
}

static void body(struct row_program *p, bool has_weights, bool has_bias, bool has_second)
{
    load(p, p->from, p->narrow, p->masked);
    for (int i = random_between(&p->random, 1, 3); i > 0; i--) {
        for (int k = random_below(&p->random, 3); k > 0; k--)
            compute(p);
        reduce(p);
    }
    if (chance(p, 30))
        load(p, p->from, p->narrow, p->masked && chance(p, 50));
    if (has_weights)
        load(p, "w", p->narrow, false);
    if (has_bias)
        load(p, "b", "f32", false);
    for (int k = random_below(&p->random, 4); k > 0; k--)
        compute(p);
    for (int k = p->branches; k > 0; k--)
        if (has_second && chance(p, 60))
            branch(p, "z", "f32", 0);
        else
            branch(p, p->from, p->narrow, 0);
    if (has_second && p->branches && chance(p, 40))
        store_in_branch(p, "z", "f32");
    else if (has_second)
        store(p, "z", "f32");
    store(p, "y", p->narrow);
}

void fuzz_generate_row(struct buffer *out, uint64_t seed)
{
    struct row_program program = {.random = {seed}, .out = out}, *p = &program;
    struct buffer parameters = {0};
    choose(p);
    bool in_place = chance(p, 30), has_weights = chance(p, 35), has_bias = chance(p, 35), has_second = chance(p, 25);
    p->from = in_place ? "y" : "x";
    buffer_printf(out, "// seed %llu\n// grid %d\n", (unsigned long long)seed, p->single ? 1 : 2);
    if (!in_place)
        add_view(p, "x", p->narrow, false, &parameters);
    if (has_weights)
        add_view(p, "w", p->narrow, false, &parameters);
    if (has_bias)
        add_view(p, "b", "f32", false, &parameters);
    if (has_second)
        add_view(p, "z", "f32", true, &parameters);
    add_view(p, "y", p->narrow, true, &parameters);
    buffer_printf(out, "kernel @fuzz(%s) grid(1) level(value) warps(%d) {\n", parameters.data, p->warps);
    buffer_printf(out,
                  "%%nought = constant value(0) : index\n%%tall = constant value(%d) : index\n"
                  "%%which = grid_index dimension(0) : index\n%%row = mul %%which, %%tall : index\n"
                  "%%zeros = constant value(0.0) : f32%s\n",
                  p->height ? p->height : 1, p->tile);
    body(p, has_weights, has_bias, has_second);
    buffer_puts(out, "return\n}\n");
    buffer_free(&parameters);
}
