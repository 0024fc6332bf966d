/* Programs at the edges of what operations and places are defined for, written as text.
 *
 * Chains: what wraps in narrow integers, or is rounded to a narrow float, by each operation that does, goes at once,
 * without memory or a cast in between, to each operation that sees all bits of a register: a text that leaves more
 * than the element's bits there, or rounds later, gives something else.  The seed goes through elements first.
 *
 * Views: parts that end before they begin, begin in front or behind the end, or are parts of parts, known when the code
 * is made or not, under every access: tiles, elements, gathers, stores, atomics, with masks of any pattern; rows whose
 * distance no vector divides.  An instance, the only one, does one after the other. */
#include "generate_edge.h"
#include "operations.h"

#include <math.h>
#include <string.h>

enum { MOST_EXTENT = 256, MOST_VIEWS = 8, NAME = 24 };

static const enum ir_element whole[] = {IR_U8, IR_I8, IR_U16, IR_I16, IR_U32, IR_I32, IR_U64, IR_I64};
static const enum ir_element real[] = {IR_F16, IR_BF16, IR_F32, IR_F8E4M3, IR_F8E5M2, IR_F64};
enum { WHOLE = sizeof whole / sizeof *whole, REAL = sizeof real / sizeof *real };

static const char *name_of(enum ir_element element) { return ir_element_info[element].text; }

/* ---- chains ---- */

struct chain {
    struct random random;
    struct buffer *out;
    enum ir_element element;
    const char *type;                  /* of the element */
    int bits, length, next, row, from; /* from: number of the value that is looked at */
};
#define CHAIN_FACTS "{align(16), limit(2147483648), restrict}"

static int amount(struct chain *c) { return random_between(&c->random, 1, c->bits - 1); }

/* %v<next> = ... : type[length] */
static int define(struct chain *c, const char *operation, enum ir_element element)
{
    buffer_printf(c->out, "%%v%d = %s : %s[%d]\n", c->next, operation, name_of(element), c->length);
    return c->next++;
}

static int constant(struct chain *c, int64_t number)
{
    char text[48];
    snprintf(text, sizeof text, ir_is_float(c->element) ? "constant value(%lld.0)" : "constant value(%lld)",
             (long long)number);
    return define(c, text, c->element);
}

static int binary(struct chain *c, const char *operation, int a, int b)
{
    char text[80];
    snprintf(text, sizeof text, "%s %%v%d, %%v%d", operation, a, b);
    return define(c, text, c->element);
}

static int ternary(struct chain *c, const char *operation, int a, int b, int third)
{
    char text[80];
    snprintf(text, sizeof text, "%s %%v%d, %%v%d, %%v%d", operation, a, b, third);
    return define(c, text, c->element);
}

static int unary(struct chain *c, const char *operation, int a, enum ir_element element)
{
    char text[80];
    snprintf(text, sizeof text, "%s %%v%d", operation, a);
    return define(c, text, element);
}

static int compare(struct chain *c, const char *predicate, int a, int b)
{
    char text[80];
    snprintf(text, sizeof text, "compare predicate(%s) %%v%d, %%v%d", predicate, a, b);
    return define(c, text, IR_BOOL);
}

static int choose_of(struct chain *c, int which, int a, int b) { return ternary(c, "select", which, a, b); }

static enum ir_element bits_of(enum ir_element element)
{
    int bits = ir_element_info[element].bits;
    return bits == 8 ? IR_I8 : bits == 16 ? IR_I16 : bits == 32 ? IR_I32 : IR_I64;
}

/* Stores its bits as a row; a NaN's are free. */
static void keep(struct chain *c, int value, enum ir_element element)
{
    int n = value;
    if (ir_is_float(element)) {
        char text[80];
        int nan = compare(c, "ne", value, value);
        int zero = define(c, "constant value(0.0)", element);
        snprintf(text, sizeof text, "select %%v%d, %%v%d, %%v%d", nan, zero, value);
        n = unary(c, "bitcast", define(c, text, element), bits_of(element));
        element = bits_of(element);
    }
    if (element != IR_I64)
        n = unary(c, "cast", n, IR_I64);
    buffer_printf(c->out, "%%row%d = constant value(%d) : index\nstore %%z[%%row%d, %%nought +: %d], %%v%d\n", c->row,
                  c->row, c->row, c->length, n);
    c->row++;
}

static int rotated(struct chain *c, int value, int by, bool left)
{
    int a = binary(c, left ? "shl" : "shr", value, constant(c, by));
    int b = binary(c, left ? "shr" : "shl", value, constant(c, c->bits - by));
    return binary(c, "or", a, b);
}

static enum ir_element other_sign(enum ir_element element)
{
    for (int i = 0; i < WHOLE; i++)
        if (whole[i] == element)
            return whole[i ^ 1];
    return element;
}

/* %v0 and %v1 are the inputs.  -1: there is no such operation. */
static int produce_whole(struct chain *c, int way)
{
    switch (way) {
    case 0: return binary(c, "add", 0, 1);
    case 1: return binary(c, "sub", 0, 1);
    case 2: return binary(c, "mul", 0, 1);
    case 3: return binary(c, "shl", 0, constant(c, amount(c)));
    case 4: return binary(c, "shl", 0, binary(c, "and", 1, constant(c, c->bits - 1)));
    case 5: return unary(c, "neg", 0, c->element);
    case 6: return unary(c, "not", 0, c->element);
    case 7: return rotated(c, 0, amount(c), random_chance(&c->random, 50));
    case 8: return binary(c, "mulhi", 0, 1);
    case 9: return choose_of(c, compare(c, "lt", 0, 1), binary(c, "add", 0, 1), binary(c, "sub", 0, 1));
    case 10: return unary(c, "abs", binary(c, "sub", 1, 0), c->element);
    case 11:
        return unary(c, "bitcast", unary(c, "bitcast", binary(c, "add", 1, 1), other_sign(c->element)), c->element);
    case 12: { /* what a wider one holds */
        enum ir_element wide = c->bits < 32 ? IR_I32 : IR_I64, element = c->element;
        if (c->bits == 64)
            return binary(c, "xor", 0, binary(c, "add", 0, 1));
        int a = unary(c, "cast", 0, wide), b = unary(c, "cast", 1, wide);
        c->element = wide;
        int sum = binary(c, "add", a, binary(c, "add", a, b));
        c->element = element;
        return unary(c, "cast", sum, element);
    }
    default: return -1;
    }
}

/* To every other type, and saturated where something may be lost. */
static void keep_casts(struct chain *c, int value)
{
    for (int e = IR_BOOL; e < IR_INDEX; e++) {
        enum ir_element to = (enum ir_element)e;
        if (to == c->element)
            continue;
        keep(c, unary(c, "cast", value, to), to);
        if (!ir_is_float(c->element) && !ir_is_float(to) && to != IR_BOOL)
            keep(c, unary(c, "cast saturate(1)", value, to), to);
    }
}

static void consume_whole(struct chain *c, int value)
{
    static const char *const both[] = {"div", "rem", "min", "max", "mulhi", "shr"};
    static const char *const predicates[] = {"lt", "le", "gt", "ge", "eq", "ne"};
    struct operations alone = operations_on(c->element, 1), pairs = operations_intrinsic(c->element, 2),
                      threes = operations_intrinsic(c->element, 3);
    static const int divisors[] = {1, 2, 3, 4, 7, 10, 16, 100, 127};
    for (int i = 0; i < 6; i++) {
        keep(c, binary(c, both[i], value, i == 5 ? binary(c, "and", 1, constant(c, c->bits - 1)) : 1), c->element);
        if (i < 4 && random_chance(&c->random, 50))
            keep(c, binary(c, both[i], 1, value), c->element);
    }
    keep(c, binary(c, "shr", value, constant(c, 1)), c->element);
    keep(c, binary(c, "shr", value, constant(c, amount(c))), c->element);
    keep(c, binary(c, "shr", 1, value), c->element);
    keep(c, binary(c, "div", value, constant(c, divisors[random_below(&c->random, 9)])), c->element);
    keep(c, binary(c, "rem", value, constant(c, divisors[random_below(&c->random, 9)])), c->element);
    keep(c, compare(c, predicates[random_below(&c->random, 6)], value, 1), IR_BOOL);
    keep(c, compare(c, predicates[random_below(&c->random, 6)], value, constant(c, random_below(&c->random, 100))),
         IR_BOOL);
    for (int i = 0; i < alone.count; i++)
        if (alone.of[i] != OP_NEG && alone.of[i] != OP_NOT) /* they wrap, as what produces does */
            keep(c, unary(c, operations_text(&alone, i), value, c->element), c->element);
    for (int i = 0; i < pairs.count; i++)
        keep(c, binary(c, operations_text(&pairs, i), i % 2 ? 1 : value, i % 2 ? value : 1), c->element);
    for (int i = 0; i < threes.count; i++)
        keep(c, ternary(c, operations_text(&threes, i), value, 1, value), c->element);
    keep(c, rotated(c, value, amount(c), random_chance(&c->random, 50)), c->element);
    int by = constant(c, amount(c));
    keep(c, binary(c, "shr", binary(c, "shl", value, by), by), c->element);
    enum ir_element element = c->element, other = other_sign(element);
    int turned = unary(c, "bitcast", value, other);
    c->element = other;
    keep(c, binary(c, "shr", turned, constant(c, amount(c))), other);
    keep(c, binary(c, "div", turned, constant(c, 3)), other);
    c->element = element;
}

static int produce_real(struct chain *c, int way)
{
    static const char *const both[] = {
        "add", "sub", "mul", "div", "min", "max", "min nan(propagate)", "max nan(propagate)"};
    if (way < 8)
        return binary(c, both[way], way % 2, 1 - way % 2);
    if (way < 10)
        return unary(c, way == 8 ? "neg" : "abs", 0, c->element);
    enum ir_element wide = c->element == IR_F64 ? IR_F32 : IR_F64;
    if (way == 10)
        return unary(c, "cast", unary(c, "cast", binary(c, "mul", 0, 1), wide), c->element);
    return way == 11 ? choose_of(c, compare(c, "lt", 0, 1), binary(c, "add", 0, 1), binary(c, "mul", 0, 1)) : -1;
}

static void consume_real(struct chain *c, int value)
{
    static const char *const both[] =
        {"add", "sub", "mul", "div", "min", "max", "min nan(propagate)", "max nan(propagate)"},
                             *const predicates[] = {"lt", "le", "gt", "ge", "eq", "ne"};
    for (int i = 0; i < 8; i++)
        keep(c, i % 2 ? binary(c, both[i], value, 1) : binary(c, both[i], 0, value), c->element);
    for (int i = 0; i < 6; i++)
        keep(c, compare(c, predicates[i], value, random_below(&c->random, 2)), IR_BOOL);
    keep(c, unary(c, "abs", value, c->element), c->element);
    keep(c, unary(c, "neg", value, c->element), c->element);
    struct operations alone = operations_intrinsic(c->element, 1), pairs = operations_intrinsic(c->element, 2);
    for (int i = 0; i < alone.count; i++)
        keep(c, unary(c, operations_text(&alone, i), value, c->element), c->element);
    if (pairs.count) { /* the sign of a NaN is free: none stands where an operation may look at it */
        int number = choose_of(c, compare(c, "eq", 1, 1), 1, constant(c, 1));
        for (int i = 0; i < pairs.count; i++)
            keep(c, binary(c, operations_text(&pairs, i), value, number), c->element);
    }
}

enum { PRODUCERS = 4 };

/* %v0 and %v1 out of %w00 and %w10: in each NaN, an infinity and one more that bits at random seldom are, one element
 * in eight each. */
static void add_specials(struct chain *c)
{
    enum { SPECIALS = 3 };
    static const double others[] = {-INFINITY, -0.0, 0.0, 1.0, -1.0, 65504.0, 0x1p31, -0x1p-14};
    buffer_printf(c->out,
                  "%%number = iota : i32[%d]\n%%seven = constant value(7) : i32[%d]\n"
                  "%%eighth = and %%number, %%seven : i32[%d]\n",
                  c->length, c->length, c->length);
    for (int n = 0; n < 2 * SPECIALS; n++) {
        int input = n / SPECIALS, i = n % SPECIALS;
        double number = i == 0 ? NAN : i == 1 ? INFINITY : others[random_below(&c->random, 8)];
        char made[NAME];
        snprintf(made, sizeof made, i < SPECIALS - 1 ? "w%d%d" : "v%d", input, i + 1);
        buffer_printf(c->out,
                      "%%at%d = constant value(%d) : i32[%d]\n"
                      "%%one%d = compare predicate(eq) %%eighth, %%at%d : bool[%d]\n"
                      "%%special%d = constant value(bits(0x%llx)) : %s[%d]\n"
                      "%%%s = select %%one%d, %%special%d, %%w%d%d : %s[%d]\n",
                      n, random_below(&c->random, 8), c->length, n, n, c->length, n,
                      (unsigned long long)ir_double_to_bits(c->element, number), c->type, c->length, made, n, n, input,
                      i, c->type, c->length);
    }
}

static void put_chain(struct buffer *out, struct random *random, uint64_t seed)
{
    struct chain chain = {.random = *random, .next = 2}, *c = &chain;
    bool is_real = seed % 2;
    c->length = 32 << random_below(&c->random, 2);
    c->element = is_real ? real[seed / 2 % REAL] : whole[seed / 2 % WHOLE];
    c->type = name_of(c->element);
    c->bits = ir_element_info[c->element].bits;
    struct buffer body = {0};
    c->out = &body;
    if (is_real)
        add_specials(c);
    int ways = is_real ? 12 : 13, first = random_below(&c->random, ways);
    for (int i = 0; i < PRODUCERS; i++) {
        int way = (first + i * 5) % ways;
        int value = is_real ? produce_real(c, way) : produce_whole(c, way);
        if (is_real)
            consume_real(c, value);
        else
            consume_whole(c, value);
        if (i == 0)
            keep_casts(c, value);
    }
    for (int i = 0; i < 2; i++) /* both wild, or small ones beside */
        buffer_printf(out, "// view extent %d stride 1 elements %d block %d content %d fill %llu\n", c->length,
                      c->length, c->length, i == 0 || random_chance(&c->random, 70),
                      (unsigned long long)seed + (unsigned)i);
    buffer_printf(out, "// view extent %d %d stride %d 1 elements %d block %d content 0 fill 1 output\n", c->row,
                  c->length, c->length, c->row * c->length, c->row);
    buffer_printf(out,
                  "kernel @fuzz(%%x: view<%s, [?], [1], in> " CHAIN_FACTS ", %%y: view<%s, [?], [1], in> " CHAIN_FACTS
                  ", %%z: view<i64, [?, %d], [?, 1], inout> " CHAIN_FACTS ") grid(1) warps(1) strict_fp {\n"
                  "%%nought = constant value(0) : index\n%%none = constant value(bits(0x0)) : %s\n"
                  "%%%s = load %%x[%%nought +: %d], %%none : %s[%d]\n"
                  "%%%s = load %%y[%%nought +: %d], %%none : %s[%d]\n"
                  "%s",
                  c->type, c->type, c->length, c->type, is_real ? "w00" : "v0", c->length, c->type, c->length,
                  is_real ? "w10" : "v1", c->length, c->type, c->length, body.data);
    buffer_free(&body);
}

/* ---- views ---- */

/* A view or a part: `extent` what there may be of it, for the choice of places. */
struct part {
    char name[NAME];
    int rank, extent[2];
    bool written, optional;
};
struct viewing {
    struct random random;
    struct buffer *out;
    enum ir_element element;
    const char *type;
    struct part view[MOST_VIEWS];
    int views, next, row;
    bool aligned; /* most places are multiples of vectors, most tiles begin in a view itself */
};

static bool chance(struct viewing *v, int percent) { return random_chance(&v->random, percent); }

/* The name of an index of this number, which code knows, or of which it knows a divisor, or nothing. */
static int number(struct viewing *v, int64_t value)
{
    int n = v->next++, by = 1;
    if (chance(v, 40)) {
        buffer_printf(v->out, "%%i%d = constant value(%lld) : index\n", n, (long long)value);
        return n;
    }
    while (by < 32 && value % (2 * by) == 0 && chance(v, v->aligned ? 95 : 75))
        by *= 2;
    buffer_printf(v->out,
                  "%%by%d = constant value(%d) : index\n%%units%d = constant value(%lld) : index\n"
                  "%%some%d = add %%hidden, %%units%d : index\n%%i%d = mul %%some%d, %%by%d : index\n",
                  n, by, n, (long long)(value / by), n, n, n, n, n);
    return n;
}

/* A bound, or where a tile begins: inside, at an end or beside it, far away. */
static int64_t any_place(struct viewing *v, int extent, bool far)
{
    static const int64_t away[] = {-70, -300, 1000, INT64_C(1) << 31, -(INT64_C(1) << 31) - 1, (INT64_C(1) << 32) + 3};
    if (v->aligned && chance(v, 85))
        return chance(v, 50) ? 0 : random_between(&v->random, -1, extent / 8) * 8;
    switch (random_below(&v->random, 8)) {
    case 0: return 0;
    case 1: return extent + random_between(&v->random, -2, 2);
    case 2: return random_between(&v->random, -9, 3);
    case 3: return far ? away[random_below(&v->random, 6)] : 8;
    case 4: return random_below(&v->random, extent / 8 + 1) * 8;
    default: return random_below(&v->random, extent + 1);
    }
}

static const char *strides_of(int rank) { return rank == 1 ? "[?], [1]" : "[?, ?], [?, 1]"; }

/* Bounds in order, equal, or the end before the start. */
static void cut(struct viewing *v)
{
    int from = random_below(&v->random, v->views), n, start[2], stop[2], drop = 0;
    const struct part of = v->view[from];
    struct part made = {.written = of.written};
    if (v->views == MOST_VIEWS)
        return;
    for (int d = 0; d < of.rank; d++) {
        int64_t a = any_place(v, of.extent[d], true), b = any_place(v, of.extent[d], true);
        bool drops = of.rank == 2 && d == 0 && chance(v, 40);
        if (chance(v, 40) && a > b) {
            int64_t swap = a;
            a = b;
            b = swap;
        }
        start[d] = number(v, a);
        stop[d] = drops ? v->next++ : number(v, b);
        if (drops) {
            buffer_printf(v->out, "%%i%d = add %%i%d, %%one : index\n", stop[d], start[d]);
            drop |= 1 << d;
        } else {
            made.extent[made.rank++] = of.extent[d];
        }
    }
    n = v->next++;
    made.optional = of.optional || drop;
    snprintf(made.name, sizeof made.name, "part%d", n);
    buffer_printf(v->out, "%%part%d = subview drop(%d) %%%s[%%i%d .. %%i%d", n, drop, of.name, start[0], stop[0]);
    if (of.rank == 2)
        buffer_printf(v->out, ", %%i%d .. %%i%d", start[1], stop[1]);
    buffer_printf(v->out, "] : view<%s, %s, %s%s>\n", v->type, strides_of(made.rank), of.written ? "inout" : "in",
                  made.optional ? "?" : "");
    v->view[v->views++] = made;
}

/* A place: its text behind the name of the view, and the shape that comes out. */
struct spot {
    char text[80];
    int rank, extent[2], elements;
};

static void add_dimension(struct spot *spot, int index, int length)
{
    size_t at = strlen(spot->text);
    snprintf(spot->text + at, sizeof spot->text - at, length ? "%s%%i%d +: %d" : "%s%%i%d", at ? ", " : "", index,
             length);
    if (length)
        spot->extent[spot->rank++] = length;
    spot->elements *= length ? length : 1;
}

/* By indexes of any integer type, some of them below 0 and behind the end; distinct: counted by a step. */
static void add_gather(struct viewing *v, struct spot *spot, int extent, int length, bool distinct)
{
    static const char *const types[] = {"i32", "i64", "i16", "i8"};
    int n = v->next++;
    size_t at = strlen(spot->text);
    const char *type = types[random_below(&v->random, 4)];
    if (distinct || chance(v, 50)) {
        int step = random_between(&v->random, 1, 3), from = random_between(&v->random, -20, extent < 60 ? extent : 60);
        step = chance(v, 40) ? -step : step;
        buffer_printf(v->out,
                      "%%n%d = iota : i64[%d]\n%%step%d = constant value(%d) : i64[%d]\n"
                      "%%turn%d = mul %%n%d, %%step%d : i64[%d]\n%%first%d = constant value(%d) : index\n"
                      "%%from%d = add %%first%d, %%hidden : index\n%%wide%d = cast %%from%d : i64\n"
                      "%%base%d = splat %%wide%d : i64[%d]\n%%long%d = add %%turn%d, %%base%d : i64[%d]\n",
                      n, length, n, step, length, n, n, n, length, n, from, n, n, n, n, n, n, length, n, n, n, length);
    } else { /* what memory holds */
        buffer_printf(v->out,
                      "%%first%d = constant value(%d) : index\n"
                      "%%read%d = load %%g[%%first%d +: %d], %%no : i32[%d]\n"
                      "%%long%d = cast %%read%d : i64[%d]\n",
                      n, random_below(&v->random, 200), n, n, length, length, n, n, length);
    }
    bool narrow = strcmp(type, "i64") != 0;
    if (narrow)
        buffer_printf(v->out, "%%short%d = cast %%long%d : %s[%d]\n", n, n, type, length);
    snprintf(spot->text + at, sizeof spot->text - at, "%sgather %%%s%d", at ? ", " : "", narrow ? "short" : "long", n);
    spot->extent[spot->rank++] = length;
    spot->elements *= length;
}

static struct spot choose_spot(struct viewing *v, const struct part *part, bool distinct)
{
    struct spot spot = {.elements = 1};
    int length = 32 << random_below(&v->random, 4), way = random_below(&v->random, part->rank == 1 ? 6
                                                                                   : v->aligned    ? 5
                                                                                                   : 10);
    int last = part->rank - 1, first = part->rank == 2 ? number(v, any_place(v, part->extent[0], false)) : 0;
    if (part->rank == 1 ? way > 3 : way > 7) { /* by indexes */
        bool both = part->rank == 2 && chance(v, 50);
        if (both && chance(v, 50)) {
            add_dimension(&spot, first, 0);
            add_gather(v, &spot, part->extent[1], 64, distinct);
        } else {
            add_gather(v, &spot, part->extent[0], both ? 8 : 64, distinct);
            if (part->rank == 2)
                add_dimension(&spot, number(v, any_place(v, part->extent[1], false)), both ? 32 : 0);
        }
        return spot;
    }
    int second = number(v, any_place(v, part->extent[last], false));
    if (part->rank == 2)
        add_dimension(&spot, first, way < 4 ? 8 : way == 4 ? 32 : 0);
    add_dimension(&spot, second, part->rank == 1 ? way ? length : 0 : way < 4 ? 32 : way < 6 ? 0 : length);
    return spot;
}

static const char *shape_text(const struct spot *spot, char text[NAME])
{
    text[0] = '\0';
    if (spot->rank)
        snprintf(text, NAME, spot->rank == 1 ? "[%d]" : "[%d, %d]", spot->extent[0], spot->extent[1]);
    return text;
}

/* The same elements in another shape: a name for them. */
static void shape_of_line(struct viewing *v, const char *from, const char *to, int n, const char *element,
                          const struct spot *spot)
{
    char shape[NAME];
    if (spot->rank == 2)
        buffer_printf(v->out, "%%%s%d = reshape %%%s%d : %s%s\n", to, n, from, n, element, shape_text(spot, shape));
    else
        buffer_printf(v->out, "%%%s%d = select %%yes, %%%s%d, %%%s%d : %s%s\n", to, n, from, n, from, n, element,
                      shape_text(spot, shape));
}

/* Elements by their number: one of every few, those behind one, or those of one thread in two. */
static const char *mask(struct viewing *v, const struct spot *spot, char text[NAME])
{
    int n = v->next++, power = 1 << random_between(&v->random, 1, 5);
    text[0] = '\0';
    if (!spot->rank || chance(v, 50))
        return text;
    buffer_printf(v->out,
                  "%%count%d = iota : i32[%d]\n%%power%d = constant value(%d) : i32[%d]\n"
                  "%%part%d_ = and %%count%d, %%power%d : i32[%d]\n%%which%d = constant value(%d) : i32[%d]\n"
                  "%%flat%d = compare predicate(%s) %%part%d_, %%which%d : bool[%d]\n",
                  n, spot->elements, n, chance(v, 30) ? power : power - 1, spot->elements, n, n, n, spot->elements, n,
                  chance(v, 50) ? power - 1 : random_below(&v->random, power), spot->elements, n,
                  chance(v, 70) ? "eq" : "ne", n, n, spot->elements);
    shape_of_line(v, "flat", "mask", n, "bool", spot);
    snprintf(text, NAME, ", %%mask%d", n);
    return text;
}

/* A row of the output, or as many as the tile has: %<name><n> of this shape.  Its rows are aligned,
so that a tile which
 * is stored as it is likes a layout that where it came from may not have vectors for. */
static void put_row(struct viewing *v, const char *name, int n, const struct spot *spot)
{
    int length = spot->rank ? spot->elements : 32;
    if (spot->rank == 2 && chance(v, v->aligned ? 90 : 50)) {
        buffer_printf(v->out,
                      "%%row%d = constant value(%d) : index\nstore %%z[%%row%d +: %d, %%nought +: %d], %%%s%d\n",
                      v->row, v->row, v->row, spot->extent[0], spot->extent[1], name, n);
        v->row += spot->extent[0];
        return;
    }
    if (spot->rank == 0)
        buffer_printf(v->out, "%%line%d = splat %%%s%d : %s[32]\n", n, name, n, v->type);
    else if (spot->rank == 2)
        buffer_printf(v->out, "%%line%d = reshape %%%s%d : %s[%d]\n", n, name, n, v->type, length);
    buffer_printf(v->out, "%%row%d = constant value(%d) : index\nstore %%z[%%row%d, %%nought +: %d], %%%s%d\n", v->row,
                  v->row, v->row, length, spot->rank == 1 ? name : "line", n);
    v->row++;
}

static void read_part(struct viewing *v, const struct part *part)
{
    struct spot spot = choose_spot(v, part, false);
    char shape[NAME], masked[NAME];
    int n = v->next++;
    if (chance(v, 15)) { /* what is there, and how much */
        buffer_printf(v->out,
                      "%%there%d = inside %%%s[%s] : bool%s\n%%long%d = extent dimension(%d) %%%s : index\n"
                      "%%less%d = cast %%long%d : %s\n",
                      n, part->name, spot.text, shape_text(&spot, shape), n, part->rank - 1, part->name, n, n, v->type);
        if (spot.rank)
            buffer_printf(v->out,
                          "%%all%d = splat %%less%d : %s%s\n%%other%d = constant value(bits(0x0)) : %s%s\n"
                          "%%v%d = select %%there%d, %%all%d, %%other%d : %s%s\n",
                          n, n, v->type, shape, n, v->type, shape, n, n, n, n, v->type, shape);
        else
            buffer_printf(v->out, "%%v%d = select %%there%d, %%less%d, %%none : %s\n", n, n, n, v->type);
        put_row(v, "v", n, &spot);
        return;
    }
    mask(v, &spot, masked);
    shape_text(&spot, shape);
    bool own = masked[0] || (spot.rank && chance(v, 30));
    if (own)
        buffer_printf(v->out, "%%other%d = splat %%odd : %s%s\n", n, v->type, shape);
    buffer_printf(v->out, "%%v%d = load %%%s[%s], ", n, part->name, spot.text);
    if (own)
        buffer_printf(v->out, "%%other%d%s : %s%s\n", n, masked, v->type, shape);
    else
        buffer_printf(v->out, "%%%s : %s%s\n", chance(v, 50) ? "odd" : "none", v->type, shape);
    put_row(v, "v", n, &spot);
}

/* What is written differs from element to element, and from place to place. */
static void write_part(struct viewing *v, const struct part *part)
{
    static const char *const actions[] = {"add", "max", "exchange", "min"};
    struct spot spot = choose_spot(v, part, true);
    char shape[NAME], masked[NAME];
    int n = v->next++;
    mask(v, &spot, masked);
    shape_text(&spot, shape);
    if (spot.rank) {
        buffer_printf(v->out,
                      "%%at%d = constant value(%d) : index\n"
                      "%%flat%d = load %%x[%%at%d +: %d], %%odd : %s[%d]\n",
                      n, random_below(&v->random, 9) * 4, n, n, spot.elements, v->type, spot.elements);
        shape_of_line(v, "flat", "new", n, v->type, &spot);
    } else {
        buffer_printf(v->out, "%%new%d = select %%yes, %%odd, %%none : %s\n", n, v->type);
    }
    if (chance(v, 60)) {
        buffer_printf(v->out, "store %%%s[%s], %%new%d%s\n", part->name, spot.text, n, masked);
        return;
    }
    buffer_printf(v->out, "%%old%d = atomic action(%s) %%%s[%s], %%new%d%s : %s%s\n", n,
                  actions[random_below(&v->random, 4)], part->name, spot.text, n, masked, v->type, shape);
    if (chance(v, 60))
        put_row(v, "old", n, &spot);
}

/* Rows lie apart by a number that is a multiple of `step` and of nothing greater. */
static void add_view(struct viewing *v, const char *name, int rank, bool written, struct buffer *parameters, int fill)
{
    struct part *part = &v->view[v->views++];
    int step = 1 << random_below(&v->random, v->aligned ? 3 : 5), rows = random_between(&v->random, 3, 40);
    int length = rank == 1 ? random_between(&v->random, 1, 280) : random_between(&v->random, 1, 90);
    *part = (struct part){.rank = rank, .extent = {rank == 1 ? length : rows, length}, .written = written};
    snprintf(part->name, sizeof part->name, "%s", name);
    int pitch = (length + step - 1) / step * step;
    pitch += pitch / step % 2 ? 0 : step;
    bool told = chance(v, 80);
    if (rank == 1)
        buffer_printf(v->out, "// view extent %d stride 1 elements %d block %d content 1 fill %d%s\n", length,
                      length + 3, length, fill, written ? " output" : "");
    else
        buffer_printf(v->out, "// view extent %d %d stride %d 1 elements %d block %d content 1 fill %d%s\n", rows,
                      length, pitch, rows * pitch, rows, fill, written ? " output" : "");
    buffer_printf(parameters, "%%%s: view<%s, %s, %s> {align(16), limit(2147483648), restrict", name, v->type,
                  strides_of(rank), written ? "inout" : "in");
    if (rank == 2 && told)
        buffer_printf(parameters, ", stride_multiple(%d, 0)", step);
    buffer_puts(parameters, "}, ");
}

static void put_views(struct buffer *out, struct random *random, uint64_t seed)
{
    enum { STATEMENTS = 16 };
    struct viewing viewing = {.random = *random, .out = out}, *v = &viewing;
    struct buffer body = {0}, parameters = {0};
    v->element = seed % 3 == 2 ? real[seed / 3 % REAL] : seed % 3 ? IR_F16 : whole[seed / 3 % WHOLE];
    v->type = name_of(v->element);
    v->aligned = seed % 4 == 1;
    add_view(v, "x", 1, false, &parameters, 1);
    add_view(v, "m", 2, false, &parameters, 2);
    add_view(v, "w", 1, true, &parameters, 3);
    add_view(v, "s", 2, true, &parameters, 4);
    v->out = &body;
    for (int i = 0; i < STATEMENTS; i++) {
        if (!v->aligned && (i % 4 == 0 || chance(v, 25)))
            cut(v);
        int which = v->aligned ? 1 + 2 * random_below(&v->random, 2) : random_below(&v->random, v->views);
        const struct part *part = &v->view[chance(v, v->aligned ? 25 : 50) ? v->views - 1 : which];
        if (part->written && chance(v, 60))
            write_part(v, part);
        else
            read_part(v, part);
    }
    int rows = v->row ? v->row : 1;
    buffer_printf(out,
                  "// view extent 256 stride 1 elements 256 block 256 content %d fill 5\n"
                  "// view extent %d %d stride %d 1 elements %d block %d content 0 fill 6 output\n",
                  random_chance(&v->random, 20), rows, MOST_EXTENT, MOST_EXTENT, rows * MOST_EXTENT, rows);
    buffer_printf(out,
                  "kernel @fuzz(%s%%g: view<i32, [?], [1], in> {limit(2147483648), restrict}, "
                  "%%z: view<%s, [?, %d], [?, 1], inout> {align(16), stride_multiple(256, 0), limit(2147483648), "
                  "restrict}) "
                  "grid(1) warps(%d) strict_fp {\n"
                  "%%nought = constant value(0) : index\n%%one = constant value(1) : index\n"
                  "%%none = constant value(bits(0x0)) : %s\n%%odd = constant value(%s) : %s\n"
                  "%%no = constant value(0) : i32\n%%yes = constant value(true) : bool\n"
                  "%%all = extent dimension(0) %%g : index\n%%size = constant value(256) : index\n"
                  "%%hidden = sub %%all, %%size : index\n%s",
                  parameters.data, v->type, MOST_EXTENT, 1 << random_below(&v->random, 3), v->type,
                  ir_is_float(v->element) ? "3.0" : "3", v->type, body.data);
    buffer_free(&body);
    buffer_free(&parameters);
}

void fuzz_generate_edge(struct buffer *out, enum fuzz_edge kind, uint64_t seed)
{
    struct random random = {seed * FUZZ_EDGE_COUNT + (uint64_t)kind};
    buffer_printf(out, "// seed %llu\n// grid 1\n", (unsigned long long)seed);
    switch (kind) {
    case FUZZ_EDGE_CHAIN: put_chain(out, &random, seed); break;
    case FUZZ_EDGE_VIEW: put_views(out, &random, seed); break;
    case FUZZ_EDGE_FOLD: fuzz_edge_fold(out, &random, seed); break;
    case FUZZ_EDGE_SCAN: fuzz_edge_scan(out, &random, seed); break;
    default: fuzz_edge_product(out, &random, seed);
    }
    buffer_puts(out, "return\n}\n");
}
