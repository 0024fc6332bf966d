/* Programs of sums whose parts meet in other threads, written as text.
 *
 * Folds: reductions by a kind or by a region on one to four operands of differing widths, across registers, lanes and
 * one to eight warps, along either axis of tiles that lie as they are in memory or transposed.  A region is put
 * together from functions that are associative, of which half are not commutative: what meets in another order, or in
 * another operand's place, gives something else.
 *
 * Scans: the same along an axis, in both directions, of what stands up to or before each element.
 *
 * Products: factors in every precision, of small whole numbers with infinities and NaN among them, or of integers up
 * to their ends, in shapes for every instruction; batches; from zero or from a matrix. */
#include "generate_edge.h"

#include <math.h>
#include <string.h>

static const char *name_of(enum ir_element element) { return ir_element_info[element].text; }

/* ---- folds ---- */

enum { MOST_OPERANDS = 4 };
struct fold {
    struct random random;
    struct buffer *out, region, head, parameters;
    enum ir_element element[MOST_OPERANDS];
    int content[MOST_OPERANDS], count;
    char kind[40];                  /* of a reduction without a region */
    int rows, columns, axis, warps; /* rows 0: the tile has one dimension */
    bool permuted;
};

static enum ir_element any_whole(struct fold *f)
{
    static const enum ir_element whole[] = {IR_I8, IR_U8, IR_I16, IR_U16, IR_I32, IR_U32, IR_I64, IR_U64};
    return whole[random_below(&f->random, 8)];
}

static enum ir_element any_element(struct fold *f)
{
    static const enum ir_element real[] = {IR_F32, IR_F64, IR_F16, IR_BF16};
    return random_chance(&f->random, 40) ? real[random_below(&f->random, 4)] : any_whole(f);
}

static int operand(struct fold *f, enum ir_element element, bool wild)
{
    f->element[f->count] = element;
    f->content[f->count] = wild;
    return f->count++;
}

/* Operands %l<i> and %r<i>, what comes of them in %o<i>. */
static void add_single(struct fold *f)
{
    static const char *const kinds[] = {"add", "min", "max", "xor", "mul", "or", "and"};
    static const char *const nan[] = {"", " nan(propagate)"};
    enum ir_element element = any_element(f);
    bool real = ir_is_float(element);
    int way = random_below(&f->random, real ? 3 : 7);
    int i = operand(f, element, !real || way); /* sums of floats are exact: of small numbers alone */
    bool keeps = real && way && random_chance(&f->random, 50);
    snprintf(f->kind, sizeof f->kind, "kind(%s)%s", kinds[way], nan[keeps]);
    buffer_printf(&f->region, "    %%o%d = %s%s %%l%d, %%r%d : %s\n", i, kinds[way], nan[keeps], i, i,
                  name_of(element));
}

/* The greater one and where it was; of equal ones the lesser place. */
static void add_place(struct fold *f)
{
    enum ir_element value = any_element(f), place = any_whole(f);
    int i = operand(f, value, !ir_is_float(value)), j = operand(f, place, true);
    buffer_printf(&f->region,
                  "    %%more%d = compare predicate(gt) %%l%d, %%r%d : bool\n"
                  "    %%same%d = compare predicate(eq) %%l%d, %%r%d : bool\n"
                  "    %%front%d = compare predicate(lt) %%l%d, %%r%d : bool\n"
                  "    %%both%d = and %%same%d, %%front%d : bool\n"
                  "    %%left%d = or %%more%d, %%both%d : bool\n"
                  "    %%o%d = select %%left%d, %%l%d, %%r%d : %s\n"
                  "    %%o%d = select %%left%d, %%l%d, %%r%d : %s\n",
                  i, i, i, i, i, i, i, j, j, i, i, i, i, i, i, i, i, i, i, name_of(value), j, i, j, j, name_of(place));
}

/* x -> a*x + b, one behind the other. */
static void add_affine(struct fold *f)
{
    enum ir_element element = any_whole(f);
    int i = operand(f, element, true), j = operand(f, element, true);
    const char *type = name_of(element);
    buffer_printf(&f->region,
                  "    %%o%d = mul %%l%d, %%r%d : %s\n    %%times%d = mul %%l%d, %%r%d : %s\n"
                  "    %%o%d = add %%times%d, %%r%d : %s\n",
                  i, i, i, type, i, j, i, type, j, i, j, type);
}

/* The last one whose flag is even, or the first of all. */
static void add_last(struct fold *f)
{
    enum ir_element flag = any_whole(f), value = any_element(f);
    int i = operand(f, flag, true), j = operand(f, value, true);
    const char *type = name_of(flag);
    buffer_printf(&f->region,
                  "    %%one%d = constant value(1) : %s\n    %%low%d = and %%r%d, %%one%d : %s\n"
                  "    %%odd%d = compare predicate(eq) %%low%d, %%one%d : bool\n"
                  "    %%o%d = and %%l%d, %%r%d : %s\n    %%o%d = select %%odd%d, %%l%d, %%r%d : %s\n",
                  i, type, i, i, i, type, i, i, i, i, i, i, type, j, i, j, j, name_of(value));
}

static const char *shape_of(int rows, int columns, char text[24])
{
    text[0] = '\0';
    if (rows && columns)
        snprintf(text, 24, "[%d, %d]", rows, columns);
    else if (rows || columns)
        snprintf(text, 24, "[%d]", rows ? rows : columns);
    return text;
}

static void add_view(struct fold *f, const char *name, int number, enum ir_element element, int rows, int columns,
                     int content)
{
    bool output = name[0] != 'x';
    buffer_printf(&f->head, "// view extent %d %d stride %d 1 elements %d block %d content %d fill %d%s\n", rows,
                  columns, columns, rows * columns, rows, content, number, output ? " output" : "");
    buffer_printf(&f->parameters,
                  "%s%%%s%d: view<%s, [?, ?], [?, 1], %s> {align(16), stride_multiple(%d, 0), "
                  "limit(2147483648), restrict}",
                  f->parameters.size ? ", " : "", name, number, name_of(element), output ? "inout" : "in",
                  columns & -columns);
}

static void load_operands(struct fold *f)
{
    char shape[24], turned[24];
    for (int i = 0; i < f->count; i++) {
        const char *type = name_of(f->element[i]);
        int rows = f->rows ? f->rows : 1;
        bool turns = f->permuted && (i == 0 || random_chance(&f->random, 50));
        add_view(f, "x", i, f->element[i], turns ? f->columns : rows, turns ? rows : f->columns, f->content[i]);
        buffer_printf(f->out, "%%none%d = constant value(bits(0x0)) : %s\n", i, type);
        if (!f->rows)
            buffer_printf(f->out, "%%v%d = load %%x%d[%%c, %%c +: %d], %%none%d : %s[%d]\n", i, i, f->columns, i, type,
                          f->columns);
        else if (turns)
            buffer_printf(f->out,
                          "%%w%d = load %%x%d[%%c +: %d, %%c +: %d], %%none%d : %s%s\n"
                          "%%v%d = permute permutation(1, 0) %%w%d : %s%s\n",
                          i, i, f->columns, f->rows, i, type, shape_of(f->columns, f->rows, turned), i, i, type,
                          shape_of(f->rows, f->columns, shape));
        else
            buffer_printf(f->out, "%%v%d = load %%x%d[%%c +: %d, %%c +: %d], %%none%d : %s%s\n", i, i, f->rows,
                          f->columns, i, type, shape_of(f->rows, f->columns, shape));
    }
}

/* What came out, and at times where in the tile it is met again: all threads need it then. */
static void store_results(struct fold *f)
{
    int left = f->rows ? f->axis ? f->rows : f->columns : 0;
    char shape[24];
    for (int i = 0; i < f->count; i++) {
        const char *type = name_of(f->element[i]);
        if (f->count > 1 && random_chance(&f->random, 10)) /* nobody asks for it */
            continue;
        add_view(f, "y", i, f->element[i], 1, left ? left : 1, 0);
        if (left)
            buffer_printf(f->out, "store %%y%d[%%c, %%c +: %d], %%s%d\n", i, left, i);
        else
            buffer_printf(f->out, "store %%y%d[%%c, %%c], %%s%d\n", i, i);
        if (random_chance(&f->random, 60))
            continue;
        add_view(f, "z", i, IR_I8, f->rows ? f->rows : 1, f->columns, 0);
        shape_of(f->rows, f->columns, shape);
        if (f->rows)
            buffer_printf(f->out, "%%h%d = reshape %%s%d : %s[%d, %d]\n%%b%d = broadcast %%h%d : %s%s\n", i, i, type,
                          f->axis ? f->rows : 1, f->axis ? 1 : f->columns, i, i, type, shape);
        else
            buffer_printf(f->out, "%%b%d = splat %%s%d : %s%s\n", i, i, type, shape);
        buffer_printf(f->out, "%%q%d = compare predicate(%s) %%v%d, %%b%d : bool%s\n%%t%d = cast %%q%d : i8%s\n", i,
                      random_chance(&f->random, 50) ? "eq" : "lt", i, i, shape, i, i, shape);
        if (f->rows)
            buffer_printf(f->out, "store %%z%d[%%c +: %d, %%c +: %d], %%t%d\n", i, f->rows, f->columns, i);
        else
            buffer_printf(f->out, "store %%z%d[%%c, %%c +: %d], %%t%d\n", i, f->columns, i);
    }
}

static void put_region(struct fold *f)
{
    for (int side = 0; side < 2; side++)
        for (int i = 0; i < f->count; i++)
            buffer_printf(f->out, "%s%%%c%d: %s", side || i ? ", " : " (", side ? 'r' : 'l', i, name_of(f->element[i]));
    buffer_printf(f->out, ") {\n%s    yield ", f->region.data);
    for (int i = 0; i < f->count; i++)
        buffer_printf(f->out, "%s%%o%d", i ? ", " : "", i);
    buffer_puts(f->out, "\n}");
}

static void choose_shape(struct fold *f)
{
    f->warps = 1 << random_below(&f->random, 4);
    int total = 32 * f->warps << random_below(&f->random, 3);
    total *= random_chance(&f->random, 20) ? 3 : 1;
    f->columns = total;
    if (random_chance(&f->random, 30))
        return;
    f->columns = random_chance(&f->random, 50) ? 1 << random_between(&f->random, 1, 5)
                                               : total / (2 << random_below(&f->random, 4));
    f->rows = total / f->columns;
    f->axis = random_below(&f->random, 2);
    f->permuted = random_chance(&f->random, 30);
}

static void choose_operands(struct fold *f, uint64_t seed)
{
    int blocks = seed % 4 ? random_between(&f->random, 1, 2) : 1;
    choose_shape(f);
    for (int i = 0; i < blocks; i++)
        switch (seed % 4 ? random_below(&f->random, 4) : 0) {
        case 0: add_single(f); break;
        case 1: add_place(f); break;
        case 2: add_affine(f); break;
        default: add_last(f);
        }
    load_operands(f);
}

/* " = <name> axis(n) <how>", the operands, and the region or none. */
static void put_operation(struct fold *f, const char *name, const char *how, bool first)
{
    bool plain = f->count == 1 && random_chance(&f->random, 70);
    for (int i = 0; i < f->count; i++)
        buffer_printf(f->out, "%s%%s%d", i ? ", " : "", i);
    buffer_printf(f->out, " = %s axis(%d) %s%s", name, f->axis, plain ? f->kind : "kind(region)", how);
    for (int i = 0; i < f->count; i++)
        buffer_printf(f->out, "%s%%v%d", i ? ", " : " ", i);
    for (int i = 0; first && i < f->count; i++)
        buffer_printf(f->out, ", %%first%d", i);
    if (!plain)
        put_region(f);
}

static void put_results(struct fold *f, const char *shape)
{
    for (int i = 0; i < f->count; i++)
        buffer_printf(f->out, "%s%s%s", i ? ", " : " : ", name_of(f->element[i]), shape);
    buffer_putc(f->out, '\n');
}

static void finish(struct fold *f, struct buffer *out)
{
    buffer_printf(out, "%skernel @fuzz(%s) grid(1) warps(%d) strict_fp {\n%%c = constant value(0) : index\n%s",
                  f->head.data, f->parameters.data, f->warps, f->out->data);
    buffer_free(f->out);
    buffer_free(&f->region);
    buffer_free(&f->head);
    buffer_free(&f->parameters);
}

void fuzz_edge_fold(struct buffer *out, struct random *random, uint64_t seed)
{
    struct buffer body = {0};
    struct fold fold = {.random = *random, .out = &body}, *f = &fold;
    char shape[24];
    choose_operands(f, seed);
    put_operation(f, "reduce", "", false);
    put_results(f, shape_of(f->rows && f->axis ? f->rows : 0, f->rows && !f->axis ? f->columns : 0, shape));
    store_results(f);
    finish(f, out);
}

void fuzz_edge_scan(struct buffer *out, struct random *random, uint64_t seed)
{
    struct buffer body = {0};
    struct fold fold = {.random = *random, .out = &body}, *f = &fold;
    char shape[24];
    choose_operands(f, seed);
    bool exclusive = random_chance(&f->random, 40);
    for (int i = 0; exclusive && i < f->count; i++)
        buffer_printf(f->out, "%%first%d = constant value(3) : %s\n", i, name_of(f->element[i]));
    put_operation(f, "scan",
                  exclusive ? random_chance(&f->random, 50) ? " exclusive(1)" : " reverse(1) exclusive(1)"
                  : random_chance(&f->random, 50) ? ""
                                                  : " reverse(1)",
                  exclusive);
    shape_of(f->rows, f->columns, shape);
    put_results(f, shape);
    for (int i = 0; i < f->count; i++) {
        if (f->count > 1 && random_chance(&f->random, 10)) /* nobody asks for it */
            continue;
        add_view(f, "y", i, f->element[i], f->rows ? f->rows : 1, f->columns, 0);
        if (f->rows)
            buffer_printf(f->out, "store %%y%d[%%c +: %d, %%c +: %d], %%s%d\n", i, f->rows, f->columns, i);
        else
            buffer_printf(f->out, "store %%y%d[%%c, %%c +: %d], %%s%d\n", i, f->columns, i);
    }
    finish(f, out);
}

/* ---- products ---- */

struct product {
    enum ir_element a, b, sum;
    const char *precision;
};

/* Of a batch where there is one: "[2, 16, 8]", and the place of all of it. */
static void describe(int batch, int rows, int columns, char shape[40], char place[64])
{
    char first[40] = "[", lead[40] = "";
    if (batch) {
        snprintf(first, sizeof first, "[%d, ", batch);
        snprintf(lead, sizeof lead, "%%c +: %d, ", batch);
    }
    snprintf(shape, 40, "%.12s%d, %d]", first, rows, columns);
    snprintf(place, 64, "%.20s%%c +: %d, %%c +: %d", lead, rows, columns);
}

/* Bits of a number; where a cast saturates, which infinity does not become. */
static uint64_t bits_of(enum ir_element element, double number)
{
    if (element == IR_F8E5M2 && isinf(number))
        return number < 0 ? 0xfc : 0x7c;
    return ir_double_to_bits(element, number);
}

/* %<name>: a factor out of view %<name>m, with one of these every so often. */
static void put_factor(struct buffer *out, struct random *random, const char *name, enum ir_element element, int batch,
                       int rows, int columns, int period)
{
    static const double special[] = {INFINITY, -INFINITY, NAN, -0.0, INFINITY, -INFINITY};
    static const char *const number[] = {"1", "2"};
    char shape[40], place[64];
    const char *type = name_of(element);
    int all = (batch ? batch : 1) * rows * columns;
    describe(batch, rows, columns, shape, place);
    buffer_printf(out, "%%none_%s = constant value(bits(0x0)) : %s\n%%%s%s = load %%%sm[%s], %%none_%s : %s%s\n", name,
                  type, name, period ? "0" : "", name, place, name, type, shape);
    if (!period)
        return;
    int count = random_between(random, 1, 3);
    buffer_printf(out,
                  "%%line_%s = iota : i32[%d]\n%%all_%s = reshape %%line_%s : i32%s\n"
                  "%%period_%s = constant value(%d) : i32%s\n%%rest_%s = rem %%all_%s, %%period_%s : i32%s\n",
                  name, all, name, name, shape, name, period, shape, name, name, name, shape);
    for (int i = 0; i < count; i++)
        buffer_printf(out,
                      "%%at_%s%d = constant value(%d) : i32%s\n"
                      "%%here_%s%d = compare predicate(eq) %%rest_%s, %%at_%s%d : bool%s\n"
                      "%%special_%s%d = constant value(bits(0x%llx)) : %s%s\n"
                      "%%%s%s = select %%here_%s%d, %%special_%s%d, %%%s%d : %s%s\n",
                      name, i, random_below(random, period), shape, name, i, name, name, i, shape, name, i,
                      (unsigned long long)bits_of(element, special[random_below(random, 6)]), type, shape, name,
                      i + 1 < count ? number[i] : "", name, i, name, i, name, i, type, shape);
}

static void put_view(struct buffer *out, struct buffer *parameters, const char *name, enum ir_element element,
                     int batch, int rows, int columns, int content)
{
    bool output = name[0] == 'd';
    char lead[24] = "", stride[24] = "";
    if (batch) {
        snprintf(lead, sizeof lead, "%d ", batch);
        snprintf(stride, sizeof stride, "%d ", rows * columns);
    }
    buffer_printf(out, "// view extent %s%d %d stride %s%d 1 elements %d block %d content %d fill %d%s\n", lead, rows,
                  columns, stride, columns, (batch ? batch : 1) * rows * columns, batch ? batch : rows, content,
                  name[0], output ? " output" : "");
    buffer_printf(parameters,
                  "%s%%%s: view<%s, [%s?, ?], [%s?, 1], %s> {align(16), stride_multiple(%s8, 0), "
                  "limit(2147483648), restrict}",
                  parameters->size ? ", " : "", name, name_of(element), batch ? "?, " : "", batch ? "?, " : "",
                  output ? "inout" : "in", batch ? "8, " : "");
}

void fuzz_edge_product(struct buffer *out, struct random *random, uint64_t seed)
{
    static const struct product products[] = {{IR_F32, IR_F32, IR_F32, "precision(tf32x3) "},
                                              {IR_F16, IR_F16, IR_F32, ""},
                                              {IR_BF16, IR_BF16, IR_F32, ""},
                                              {IR_F32, IR_F32, IR_F32, "precision(tf32) "},
                                              {IR_F8E4M3, IR_F8E4M3, IR_F32, ""},
                                              {IR_I8, IR_I8, IR_I32, ""},
                                              {IR_F32, IR_F32, IR_F32, "precision(tf32x3) "},
                                              {IR_F16, IR_F16, IR_F32, ""},
                                              {IR_BF16, IR_BF16, IR_F32, ""},
                                              {IR_F8E5M2, IR_F8E5M2, IR_F32, ""},
                                              {IR_F32, IR_F32, IR_F32, ""},
                                              {IR_U8, IR_U8, IR_I32, ""},
                                              {IR_F8E4M3, IR_F8E5M2, IR_F32, ""},
                                              {IR_F64, IR_F64, IR_F64, ""}};
    enum { PRODUCTS = sizeof products / sizeof *products };
    const struct product *p = &products[seed % PRODUCTS];
    struct buffer body = {0}, parameters = {0};
    bool real = ir_is_float(p->a), from_zero = random_chance(random, 50);
    bool half = p->a == IR_F16 || p->a == IR_BF16; /* what a warpgroup multiplies, by rows of 64 */
    int warps = half && random_chance(random, 75) ? 4 : 1 << random_below(random, 3);
    int batch = random_chance(random, half || *p->precision ? 10 : 25) ? 2 << random_below(random, 2) : 0;
    int m = half && warps == 4 && !batch ? random_chance(random, 70) ? 128 : 64
                                         : 16 << random_below(random, batch ? 2 : 4);
    int n = 8 << random_below(random, batch ? 2 : 3), k = 16 << random_below(random, batch ? 2 : 3);
    char shape[40], place[64];
    describe(batch, m, n, shape, place);
    put_view(out, &parameters, "am", p->a, batch, m, k, !real);
    put_view(out, &parameters, "bm", p->b, batch, k, n, !real);
    if (!from_zero)
        put_view(out, &parameters, "cm", p->sum, batch, m, n, !real);
    put_view(out, &parameters, "dm", p->sum, batch, m, n, 0);
    int which = real ? random_between(random, 1, 3) : 0; /* that few rows, or columns, have anything special in them */
    put_factor(&body, random, "a", p->a, batch, m, k, which & 1 ? k * random_between(random, 3, 5) : 0);
    put_factor(&body, random, "b", p->b, batch, k, n, which & 2 ? n * random_between(random, 5, 9) : 0);
    if (from_zero)
        buffer_printf(&body, "%%c0 = constant value(%d%s) : %s%s\n", seed / PRODUCTS % 3 == 1 ? -3 : 0,
                      real ? ".0" : "", name_of(p->sum), shape);
    else
        buffer_printf(&body, "%%none_c = constant value(bits(0x0)) : %s\n%%c0 = load %%cm[%s], %%none_c : %s%s\n",
                      name_of(p->sum), place, name_of(p->sum), shape);
    buffer_printf(&body, "%%d = dot %s%%a, %%b, %%c0 : %s%s\nstore %%dm[%s], %%d\n", p->precision, name_of(p->sum),
                  shape, place);
    buffer_printf(out, "kernel @fuzz(%s) grid(1) warps(%d) strict_fp {\n%%c = constant value(0) : index\n%s",
                  parameters.data, warps, body.data);
    buffer_free(&body);
    buffer_free(&parameters);
}
