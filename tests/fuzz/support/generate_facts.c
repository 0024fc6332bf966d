/* Kernels of integer arithmetic whose arguments are known to lie in small ranges, so that much is said of values and a
 * few runs come to what they can be.  See facts.h. */
#include <string.h>

#include "facts.h"
#include "generate.h"
#include "ir/text.h"
#include "ir/verify/verify.h"
#include "operations.h"

enum { MOST_VALUES = 400, DEPTH = 3 };
struct shape {
    int rank, extent[2];
};
struct value {
    int number;
    enum ir_element element;
    struct shape shape;
};
struct maker {
    struct random random;
    struct buffer *out;
    struct value values[MOST_VALUES];
    int count, next, depth, indent;
    bool results;         /* of a kernel that stores what it computes */
    struct value ends[4]; /* what the last of the `while`s left, stored as well: a wrong count is seen there alone */
    int end_count;
};
static const enum ir_element elements[] = {IR_I8, IR_U8, IR_I16, IR_I32, IR_U32, IR_I64, IR_U64, IR_INDEX};
static const struct shape shapes[] = {{1, {8, 0}}, {1, {6, 0}}, {2, {4, 8}}, {2, {1, 8}}, {2, {4, 1}}, {2, {2, 6}}};

/* What the arguments are known to be: %a0 and %a1 in ranges, %a2 a multiple, %a3 anything, two views. */
struct known_arguments {
    int64_t low[2], high[2];
    int multiple, limit, extent_multiple;
};
static struct known_arguments known_arguments(uint64_t seed)
{
    struct random random = {seed * 7 + 1};
    struct known_arguments known;
    for (int i = 0; i < 2; i++) {
        known.low[i] = random_between(&random, -6, 9);
        known.high[i] = known.low[i] + random_between(&random, 0, 12);
    }
    known.multiple = 1 << random_between(&random, 1, 5);
    known.limit = random_between(&random, 13, 44); /* of all extents, also those that are constant */
    known.extent_multiple = 1 << random_between(&random, 0, 2);
    return known;
}

void facts_arguments(uint64_t seed, int run, struct interp_argument *arguments, int64_t *grid)
{
    struct known_arguments known = known_arguments(seed);
    struct random random = {seed * 1000 + (uint64_t)run};
    memset(arguments, 0, FACTS_ARGUMENTS * sizeof *arguments);
    for (int i = 0; i < 2; i++) {
        int64_t number = known.low[i] + random_below(&random, (int)(known.high[i] - known.low[i]) + 1);
        number = run == 0 ? known.low[i] : run == 1 ? known.high[i] : number;
        arguments[i].bits = ir_int_to_bits(i == 0 ? IR_I32 : IR_INDEX, number);
    }
    arguments[2].bits = (uint64_t)(known.multiple * (int64_t)random_between(&random, -3, 9));
    static const uint64_t edges[] = {0, 1, 0x7F, 0x80, 0xFF};
    arguments[3].bits = random_chance(&random, 50) ? edges[random_below(&random, 5)] : random_next(&random) & 0xFF;
    int groups = (known.limit - 1) / known.extent_multiple;
    arguments[4].extent[0] = random_below(&random, groups + 1) * known.extent_multiple;
    arguments[4].extent[1] = arguments[4].stride[0] = 12;
    arguments[4].stride[1] = arguments[5].stride[0] = 1;
    arguments[5].extent[0] = random_below(&random, FACTS_MOST_EXTENT);
    grid[0] = random_between(&random, 1, 5);
    grid[1] = random_between(&random, 1, 3);
}

static void line(struct maker *m, const char *format, ...) __attribute__((format(printf, 2, 3)));
static void line(struct maker *m, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    buffer_printf(m->out, "%*s", 4 * m->indent, "");
    buffer_vprintf(m->out, format, arguments);
    buffer_putc(m->out, '\n');
    va_end(arguments);
}

static const char *type_text(const struct value *value, char *text)
{
    const char *name = ir_element_info[value->element].text;
    if (value->shape.rank == 0)
        snprintf(text, 32, "%s", name);
    else if (value->shape.rank == 1)
        snprintf(text, 32, "%s[%d]", name, value->shape.extent[0]);
    else
        snprintf(text, 32, "%s[%d, %d]", name, value->shape.extent[0], value->shape.extent[1]);
    return text;
}

static struct value know(struct maker *m, int number, enum ir_element element, struct shape shape)
{
    struct value value = {number, element, shape};
    if (m->count < MOST_VALUES)
        m->values[m->count++] = value;
    return value;
}

/* A new value: `text` is what makes it, without its type. */
static struct value make(struct maker *m, enum ir_element element, struct shape shape, const char *text)
{
    struct value value = {m->next++, element, shape};
    char type[32];
    line(m, "%%v%d = %s : %s", value.number, text, type_text(&value, type));
    return know(m, value.number, element, shape);
}

static struct value any(struct maker *m) { return m->values[random_below(&m->random, m->count)]; }

static struct value constant(struct maker *m, enum ir_element element, struct shape shape, int64_t number)
{
    char text[64];
    snprintf(text, sizeof text, "constant value(%lld)", (long long)number);
    return make(m, element, shape, text);
}

static int64_t small_number(struct maker *m, enum ir_element element)
{
    int64_t number = random_chance(&m->random, 40) ? INT64_C(1) << random_below(&m->random, 6)
                                                   : random_between(&m->random, -5, 12);
    if (element != IR_U64 && random_chance(&m->random, 8)) {
        int bits = ir_element_info[element].bits;
        bool is_signed = ir_is_signed(element);
        number = (int64_t)((is_signed ? UINT64_C(1) << (bits - 1) : bits < 64 ? UINT64_C(1) << bits : 0) - 1);
    }
    if (m->results && ir_element_info[element].bits == 64 && random_chance(&m->random, 12))
        number = (INT64_C(1) << random_between(&m->random, 26, 45)) + random_between(&m->random, -1, 1);
    return number < 0 && !ir_is_signed(element) ? -number : number;
}

static bool same_shape(struct shape a, struct shape b)
{
    return a.rank == b.rank && a.extent[0] == b.extent[0] && a.extent[1] == b.extent[1];
}

/* A known value of this type, or one made. */
static struct value of_type(struct maker *m, enum ir_element element, struct shape shape)
{
    char text[64];
    for (int tries = 0; tries < 12; tries++) {
        struct value value = any(m);
        if (value.element == element && same_shape(value.shape, shape))
            return value;
        if (value.element != IR_BOOL && same_shape(value.shape, shape) && tries > 8) {
            snprintf(text, sizeof text, "cast %%v%d", value.number);
            return make(m, element, shape, text);
        }
    }
    if (element != IR_BOOL)
        return constant(m, element, shape, small_number(m, element));
    return make(m, element, shape, random_chance(&m->random, 50) ? "constant value(true)" : "constant value(false)");
}

static struct value number(struct maker *m)
{
    for (int tries = 0; tries < 30; tries++) {
        struct value value = any(m);
        if (value.element != IR_BOOL)
            return value;
    }
    return constant(m, IR_I32, (struct shape){0}, small_number(m, IR_I32));
}

static struct value condition(struct maker *m, struct shape shape)
{
    static const char *const predicates[] = {"eq", "ne", "lt", "le", "gt", "ge"};
    struct value a = number(m), b;
    for (int tries = 0; tries < 30 && !same_shape(a.shape, shape); tries++)
        a = number(m);
    if (!same_shape(a.shape, shape))
        a = of_type(m, IR_I32, shape);
    b = of_type(m, a.element, shape);
    char text[64];
    snprintf(text, sizeof text, "compare predicate(%s) %%v%d, %%v%d", predicates[random_below(&m->random, 6)], a.number,
             b.number);
    struct value c = make(m, IR_BOOL, shape, text);
    if (random_chance(&m->random, 30)) {
        struct value other = of_type(m, IR_BOOL, shape);
        static const char *const words[] = {"and", "or", "xor"};
        snprintf(text, sizeof text, "%s %%v%d, %%v%d", words[random_below(&m->random, 3)], c.number, other.number);
        c = make(m, IR_BOOL, shape, text);
    }
    if (random_chance(&m->random, 20)) {
        snprintf(text, sizeof text, "not %%v%d", c.number);
        c = make(m, IR_BOOL, shape, text);
    }
    return c;
}

/* Makes `operation` of a and others of its type. */
static void make_one(struct maker *m, const char *operation, struct value a, int operands)
{
    char text[96];
    int length = snprintf(text, sizeof text, "%s %%v%d", operation, a.number);
    for (int i = 1; i < operands; i++) {
        struct value b = random_chance(&m->random, 40) ? constant(m, a.element, a.shape, small_number(m, a.element))
                                                       : of_type(m, a.element, a.shape);
        length += snprintf(text + length, sizeof text - (size_t)length, ", %%v%d", b.number);
    }
    make(m, a.element, a.shape, text);
}

static void arithmetic(struct maker *m)
{
    static const char *const again[] = {"add", "sub", "mul"};
    struct value a = number(m);
    struct operations alone = operations_on(a.element, 1), pairs = operations_on(a.element, 2),
                      threes = operations_on(a.element, 3);
    if (random_chance(&m->random, 20)) {
        make_one(m, operations_text(&alone, random_below(&m->random, alone.count)), a, 1);
    } else if (threes.count && random_chance(&m->random, 10)) {
        make_one(m, operations_text(&threes, random_below(&m->random, threes.count)), a, 3);
    } else {
        int which = random_below(&m->random, pairs.count + 3);
        make_one(m, which < pairs.count ? operations_text(&pairs, which) : again[which - pairs.count], a, 2);
    }
}

/* One side of a comparison of places: a scalar plus numbers that count by a step. */
static struct value places(struct maker *m, struct shape shape)
{
    char text[64];
    struct value scalar = of_type(m, IR_INDEX, (struct shape){0});
    snprintf(text, sizeof text, "splat %%v%d", scalar.number);
    struct value sum = make(m, IR_INDEX, shape, text);
    for (int i = random_below(&m->random, 3); i > 0; i--) {
        struct value count = make(m, IR_INDEX, shape, "iota");
        struct value step = constant(m, IR_INDEX, shape, small_number(m, IR_INDEX));
        snprintf(text, sizeof text, "mul %%v%d, %%v%d", count.number, step.number);
        count = make(m, IR_INDEX, shape, text);
        snprintf(text, sizeof text, "%s %%v%d, %%v%d", random_chance(&m->random, 70) ? "add" : "sub", sum.number,
                 count.number);
        sum = make(m, IR_INDEX, shape, text);
    }
    return sum;
}

static void compare_places(struct maker *m)
{
    static const char *const predicates[] = {"eq", "ne", "lt", "le", "gt", "ge"};
    struct shape shape = shapes[0];
    struct value a = places(m, shape), b = places(m, shape);
    char text[64];
    snprintf(text, sizeof text, "compare predicate(%s) %%v%d, %%v%d", predicates[random_below(&m->random, 6)], a.number,
             b.number);
    make(m, IR_BOOL, shape, text);
}

static void choose(struct maker *m)
{
    struct value a = number(m), b = of_type(m, a.element, a.shape);
    struct value c = condition(m, random_chance(&m->random, 50) ? a.shape : (struct shape){0});
    char text[64];
    if (!same_shape(c.shape, a.shape)) {
        snprintf(text, sizeof text, "splat %%v%d", c.number);
        c = make(m, IR_BOOL, a.shape, text);
    }
    snprintf(text, sizeof text, "select %%v%d, %%v%d, %%v%d", c.number, a.number, b.number);
    make(m, a.element, a.shape, text);
}

static void convert(struct maker *m)
{
    struct value a = any(m);
    enum ir_element to = elements[random_below(&m->random, 8)];
    bool saturate = a.element != IR_BOOL && random_chance(&m->random, 40);
    char text[64];
    if (a.element == to)
        return;
    snprintf(text, sizeof text, "cast %s%%v%d", saturate ? "saturate(1) " : "", a.number);
    make(m, to, a.shape, text);
}

static void reshape(struct maker *m)
{
    struct value a = number(m);
    struct shape to = a.shape;
    char text[96];
    switch (random_below(&m->random, 6)) {
    case 0:
    case 1: /* a scalar is spread */
        if (a.shape.rank == 0) {
            snprintf(text, sizeof text, "splat %%v%d", a.number);
            make(m, a.element, shapes[random_below(&m->random, 6)], text);
            return;
        }
        if (!same_shape(a.shape, shapes[3]) && !same_shape(a.shape, shapes[4]))
            return;
        to.extent[0] = 4, to.extent[1] = 8;
        snprintf(text, sizeof text, "broadcast %%v%d", a.number);
        break;
    case 2:
        if (a.shape.rank != 2)
            return;
        to.extent[0] = a.shape.extent[1], to.extent[1] = a.shape.extent[0];
        snprintf(text, sizeof text, "permute permutation(1, 0) %%v%d", a.number);
        break;
    case 3:
        if (a.shape.rank == 0)
            return;
        if (a.shape.rank == 1)
            to = random_chance(&m->random, 50) || a.shape.extent[0] % 2 ? (struct shape){2, {1, a.shape.extent[0]}}
                                                                        : (struct shape){2, {a.shape.extent[0] / 2, 2}};
        else
            to = (struct shape){1, {a.shape.extent[0] * a.shape.extent[1], 0}};
        snprintf(text, sizeof text, "reshape %%v%d", a.number);
        break;
    case 4:
        if (a.shape.rank != 1 || a.shape.extent[0] < 2)
            return;
        to.extent[0] = a.shape.extent[0] / 2;
        snprintf(text, sizeof text, "extract start(%d) %%v%d", to.extent[0], a.number);
        break;
    default: {
        static const char *const kinds[] = {"add", "min", "max", "and", "or", "xor"};
        int axis = random_below(&m->random, 2);
        if (a.shape.rank == 0)
            return;
        axis = a.shape.rank == 1 ? 0 : axis;
        if (random_chance(&m->random, 50)) {
            bool exclusive = random_chance(&m->random, 50);
            char first[24] = "";
            if (exclusive)
                snprintf(first, sizeof first, ", %%v%d",
                         constant(m, a.element, (struct shape){0}, small_number(m, a.element)).number);
            snprintf(text, sizeof text, "scan axis(%d) kind(%s)%s%s %%v%d%s", axis, kinds[random_below(&m->random, 6)],
                     random_chance(&m->random, 50) ? " reverse(1)" : "", exclusive ? " exclusive(1)" : "", a.number,
                     first);
            break;
        }
        to = a.shape.rank == 1 ? (struct shape){0} : (struct shape){1, {a.shape.extent[1 - axis], 0}};
        snprintf(text, sizeof text, "reduce axis(%d) kind(%s) %%v%d", axis, kinds[random_below(&m->random, 6)],
                 a.number);
        break;
    }
    }
    make(m, a.element, to, text);
}

static void leaf(struct maker *m)
{
    char text[64];
    struct shape shape = shapes[random_below(&m->random, 2)];
    enum ir_element element = elements[random_below(&m->random, 8)];
    switch (random_below(&m->random, 5)) {
    case 0: make(m, element, shape, "iota"); return;
    case 1: snprintf(text, sizeof text, "grid_index dimension(%d)", random_below(&m->random, 2)); break;
    case 2: snprintf(text, sizeof text, "grid_size dimension(%d)", random_below(&m->random, 2)); break;
    case 3: snprintf(text, sizeof text, "extent dimension(%d) %%x", random_below(&m->random, 2)); break;
    default: snprintf(text, sizeof text, "stride dimension(%d) %%x", random_below(&m->random, 2)); break;
    }
    make(m, IR_INDEX, (struct shape){0}, text);
}

static void statement(struct maker *m);

static void block(struct maker *m)
{
    m->indent++;
    m->depth++;
    for (int i = random_between(&m->random, 1, 4); i > 0; i--)
        statement(m);
    m->depth--;
    m->indent--;
}

/* What a loop carries on: any value like it, or it and some more. */
static struct value carried_on(struct maker *m, const struct value *round)
{
    static const char *const words[] = {"add", "add", "add", "sub", "mul", "max"};
    struct value other = of_type(m, round->element, round->shape);
    char text[64];
    if (!m->results || round->element == IR_BOOL || random_chance(&m->random, 40))
        return other;
    snprintf(text, sizeof text, "%s %%v%d, %%v%d", words[random_below(&m->random, 6)], round->number, other.number);
    return make(m, round->element, round->shape, text);
}

/* Statements of a block and the yield of a value like this one, which a loop carries. */
static void body(struct maker *m, const struct value *like, bool in_loop)
{
    block(m);
    m->indent++;
    struct value end = in_loop ? carried_on(m, like) : of_type(m, like->element, like->shape);
    line(m, "yield %%v%d", end.number);
    m->indent--;
}

static void branch(struct maker *m)
{
    struct value c = condition(m, (struct shape){0}), like = number(m);
    char type[32];
    int result = m->next++, kept = m->count;
    line(m, "%%v%d = if %%v%d {", result, c.number);
    for (int side = 0; side < 2; side++) {
        body(m, &like, false);
        m->count = kept;
        if (side == 0)
            line(m, "} else {");
    }
    line(m, "} : %s", type_text(&like, type));
    know(m, result, like.element, like.shape);
}

/* A value of the element between numbers that keep loops short. */
static struct value bounded(struct maker *m, enum ir_element element, int low, int high)
{
    struct shape scalar = {0};
    struct value a = of_type(m, element, scalar);
    char text[64];
    snprintf(text, sizeof text, "max %%v%d, %%v%d", a.number, constant(m, element, scalar, low).number);
    a = make(m, element, scalar, text);
    snprintf(text, sizeof text, "min %%v%d, %%v%d", a.number, constant(m, element, scalar, high).number);
    return make(m, element, scalar, text);
}

static void loop(struct maker *m)
{
    enum ir_element element = elements[random_below(&m->random, 8)];
    struct shape scalar = {0};
    bool down = ir_is_signed(element) && random_chance(&m->random, 30);
    bool multiply = !down && random_chance(&m->random, 15);
    bool counts_places = m->results && random_chance(&m->random, 40);
    struct value ends[2], step, like = counts_places ? of_type(m, IR_INDEX, scalar) : number(m);
    int least = ir_is_signed(element) && !multiply ? -9 : multiply ? 1 : 0;
    for (int i = 0; i < 2; i++)
        ends[i] = random_chance(&m->random, 50) ? constant(m, element, scalar, random_between(&m->random, least, 20))
                                                : bounded(m, element, least, 20);
    step = down                            ? constant(m, element, scalar, -random_between(&m->random, 1, 4))
           : multiply                      ? constant(m, element, scalar, random_between(&m->random, 2, 4))
           : random_chance(&m->random, 70) ? constant(m, element, scalar, random_between(&m->random, 1, 6))
                                           : bounded(m, element, 1, 5);
    struct value first = of_type(m, like.element, like.shape);
    char type[32], carried[32];
    struct value variable = {m->next++, element, scalar}, round = {m->next++, like.element, like.shape};
    int result = m->next++, kept = m->count;
    line(m, "%%v%d = for %s%%v%d: %s = %%v%d to %%v%d step %%v%d iter(%%v%d: %s = %%v%d) {", result,
         multiply ? "multiply(1) " : "", variable.number, type_text(&variable, type), ends[down].number,
         ends[!down].number, step.number, round.number, type_text(&like, carried), first.number);
    know(m, variable.number, element, scalar);
    know(m, round.number, like.element, like.shape);
    body(m, &round, true);
    m->count = kept;
    line(m, "}");
    know(m, result, like.element, like.shape);
}

/* The element that a `while` compares in: its own, or a cast of it, often to the one of the same bits and the other
 * sign, where a count below 0 is a large one. */
static enum ir_element compared_element(struct maker *m, enum ir_element own)
{
    static const enum ir_element turned[IR_ELEMENT_COUNT] = {
        [IR_I8] = IR_U8,   [IR_U8] = IR_I8,   [IR_I16] = IR_U16, [IR_I32] = IR_U32,
        [IR_U32] = IR_I32, [IR_I64] = IR_U64, [IR_U64] = IR_I64, [IR_INDEX] = IR_U32};
    enum ir_element other = elements[random_below(&m->random, 8)];
    if (random_chance(&m->random, 50))
        return own;
    bool narrow = ir_element_info[other].bits < ir_element_info[own].bits;
    return narrow || random_chance(&m->random, 50) ? turned[own] : other;
}

/* A `while` that counts to a number, up or down, with the count among what it carries. */
static void open_loop(struct maker *m)
{
    static const char *const up[] = {"lt", "le", "ne"}, *const down[] = {"gt", "ge", "ne"};
    static const char *const steps[] = {"add", "add", "add", "add", "sub", "mul"};
    int from = random_chance(&m->random, 30) ? 0 : 3, to = random_chance(&m->random, 30) ? 4 : 7;
    enum ir_element element = elements[random_between(&m->random, from, to)];
    struct shape scalar = {0};
    const char *word = steps[random_below(&m->random, 6)];
    bool is_down = ir_is_signed(element) && random_chance(&m->random, 40), mirrored = random_chance(&m->random, 30);
    struct value like = number(m);
    enum ir_element compared = compared_element(m, element);
    bool is_unsigned = !ir_is_signed(compared); /* down to a number that no step jumps over */
    int first_number = *word == 'm';
    if (is_down)
        first_number = random_between(&m->random, is_unsigned ? 9 : 0, 20);
    else if (!first_number && ir_is_signed(element) && random_chance(&m->random, compared == element ? 30 : 70))
        first_number = random_between(&m->random, -5, 0);
    bool turns = ir_is_signed(element) && random_chance(&m->random, 12); /* step - at: far beyond the end at once */
    if (turns)
        first_number = is_down ? random_between(&m->random, 8, 24) : random_between(&m->random, -40, -10);
    struct value start = constant(m, element, scalar, first_number);
    int low = !is_down ? 0 : is_unsigned ? 4 : -9, high = !is_down ? 20 : is_unsigned ? 9 : 0;
    struct value end = random_chance(&m->random, 50) ? constant(m, compared, scalar,
                                                                !is_down      ? 20
                                                                : is_unsigned ? 5
                                                                              : -3)
                                                     : bounded(m, compared, low, high);
    int by = random_chance(&m->random, 70) ? 1 : random_between(&m->random, 2, 4);
    bool jumps = (by > 1 || *word == 'm') && random_chance(&m->random, 80); /* over a number that ends it */
    int kind = random_below(&m->random, jumps || turns ? 2 : 3);
    if (*word == 's' && !ir_is_signed(element))
        word = "add";
    int64_t number_of_step = *word == 'm' ? by + 1 : is_down == (*word == 's') ? by : -by;
    if (turns) {
        word = "sub";
        number_of_step = first_number + random_below(&m->random, 4) + (!is_down ? 21 : is_unsigned ? 0 : -13);
    }
    struct value step = constant(m, element, scalar, number_of_step), first = of_type(m, like.element, like.shape);
    char type[32], carried[32];
    struct value at = {m->next++, element, scalar}, round = {m->next++, like.element, like.shape};
    int results[2] = {m->next++, m->next++}, asked[3] = {m->next++, m->next++, m->next++}, kept = m->count;
    int counted = asked[0];
    type_text(&at, type);
    type_text(&like, carried);
    line(m, "%%v%d, %%v%d = while %%v%d, %%v%d (%%v%d: %s, %%v%d: %s) {", results[0], results[1], start.number,
         first.number, asked[0], type, asked[1], carried);
    const char *predicate = is_down != mirrored || kind == 2 ? down[kind] : up[kind];
    if (compared != element) {
        counted = m->next++;
        line(m, "    %%v%d = cast %%v%d : %s", counted, asked[0], ir_element_info[compared].text);
    }
    line(m, "    %%v%d = compare predicate(%s) %%v%d, %%v%d : bool", asked[2], predicate,
         mirrored ? end.number : counted, mirrored ? counted : end.number);
    line(m, "    condition %%v%d, %%v%d, %%v%d", asked[2], asked[0], asked[1]);
    line(m, "} do (%%v%d: %s, %%v%d: %s) {", at.number, type, round.number, carried);
    know(m, at.number, element, scalar);
    know(m, round.number, like.element, like.shape);
    block(m);
    line(m, "    %%v%d = %s %%v%d, %%v%d : %s", m->next, word, turns ? step.number : at.number,
         turns ? at.number : step.number, type);
    int next = m->next++;
    m->indent++;
    line(m, "yield %%v%d, %%v%d", next, carried_on(m, &round).number);
    m->indent--;
    m->count = kept;
    line(m, "} : %s, %s", type, carried);
    for (int i = 0; i < 2; i++) {
        struct value left = know(m, results[i], i ? like.element : element, i ? like.shape : scalar);
        if (m->depth == 0)
            m->ends[m->end_count++ % 4] = left;
    }
}

/* ---- reads of the views, near their ends ---- */

static struct value plus(struct maker *m, struct value a, int64_t number)
{
    struct shape scalar = {0};
    char text[64];
    struct value b = constant(m, IR_INDEX, scalar, number < 0 ? -number : number);
    snprintf(text, sizeof text, "%s %%v%d, %%v%d", number < 0 ? "sub" : "add", a.number, b.number);
    return make(m, IR_INDEX, scalar, text);
}

/* A view and the dimension that is read along: one of the arguments, a part of it, or either turned. */
struct seen {
    int number, along;
    bool of_x, is_argument;
};

static const char *seen_name(const struct seen *seen, char *name)
{
    if (seen->is_argument)
        return seen->of_x ? "%x" : "%y";
    snprintf(name, 16, "%%v%d", seen->number);
    return name;
}

static struct value extent(struct maker *m, const struct seen *seen)
{
    char text[64], name[16];
    snprintf(text, sizeof text, "extent dimension(%d) %s", seen->along, seen_name(seen, name));
    return make(m, IR_INDEX, (struct shape){0}, text);
}

static struct value extreme(struct maker *m, struct value a, struct value b, int chance_of_min)
{
    char text[64];
    bool least = random_chance(&m->random, chance_of_min);
    snprintf(text, sizeof text, "%s %%v%d, %%v%d", least ? "min" : "max", a.number, b.number);
    return make(m, IR_INDEX, (struct shape){0}, text);
}

static struct value constant_index(struct maker *m, int low, int high)
{
    return constant(m, IR_INDEX, (struct shape){0}, random_between(&m->random, low, high));
}

static void take_part(struct maker *m, struct seen *seen)
{
    char name[16], columns[40] = "";
    struct value begin = random_chance(&m->random, 60) ? constant_index(m, 0, 4) : bounded(m, IR_INDEX, 0, 6);
    struct value end = random_chance(&m->random, 70) ? extent(m, seen) : bounded(m, IR_INDEX, 0, 40);
    if (random_chance(&m->random, 20))
        end = extreme(m, end, constant_index(m, 0, 30), 50);
    if (seen->of_x) {
        struct value first = constant_index(m, 0, 0), last = constant_index(m, 12, 12);
        snprintf(columns, sizeof columns, ", %%v%d .. %%v%d", first.number, last.number);
    }
    int number = m->next++;
    line(m, "%%v%d = subview drop(0) %s[%%v%d .. %%v%d%s] : view<i32, %s, in>", number, seen_name(seen, name),
         begin.number, end.number, columns, seen->of_x ? "[?, ?], [12, 1]" : "[?], [1]");
    seen->number = number;
    seen->is_argument = false;
}

static struct seen choose_view(struct maker *m)
{
    struct seen seen = {.of_x = random_chance(&m->random, 40), .is_argument = true};
    char name[16];
    bool part = random_chance(&m->random, 30);
    if (part)
        take_part(m, &seen);
    if (seen.of_x && random_chance(&m->random, 25)) {
        int number = m->next++;
        line(m, "%%v%d = view_permute permutation(1, 0) %s : view<i32, [%s, ?], [1, 12], in>", number,
             seen_name(&seen, name), part ? "?" : "12");
        seen = (struct seen){number, 1, true, false};
    }
    return seen;
}

static void load(struct maker *m, const struct seen *seen, struct value start, int width)
{
    char text[96], name[16];
    struct shape shape = !seen->of_x   ? (struct shape){1, {width, 0}}
                         : seen->along ? (struct shape){2, {4, width}}
                                       : (struct shape){2, {width, 4}};
    struct value other = constant(m, IR_I32, shape, 7);
    if (!seen->of_x) {
        snprintf(text, sizeof text, "load %s[%%v%d +: %d], %%v%d", seen_name(seen, name), start.number, width,
                 other.number);
    } else {
        struct value column = constant_index(m, 0, 9);
        snprintf(text, sizeof text,
                 seen->along ? "load %s[%%v%d +: 4, %%v%d +: %d], %%v%d" : "load %s[%%v%d +: %d, %%v%d +: 4], %%v%d",
                 seen_name(seen, name), seen->along ? column.number : start.number, seen->along ? start.number : width,
                 seen->along ? width : column.number, other.number);
    }
    make(m, IR_I32, shape, text);
}

/* A number near an extent, at times the other one's, which a loop ends at or a condition compares with: at times the
 * lesser or the greater of it and others. */
static struct value near_extent(struct maker *m, const struct seen *seen)
{
    struct seen asked = *seen;
    asked.along ^= seen->of_x && random_chance(&m->random, 12);
    struct value end = extent(m, &asked);
    if (random_chance(&m->random, 30))
        end = plus(m, end, random_between(&m->random, -8, 2));
    for (int chance = 35; random_chance(&m->random, chance); chance /= 2) {
        struct seen other = {.of_x = !seen->of_x, .is_argument = true};
        struct value most = random_chance(&m->random, 60) ? constant_index(m, 4, 30) : extent(m, &other);
        end = random_chance(&m->random, 50) ? extreme(m, end, most, 70) : extreme(m, most, end, 70);
    }
    return end;
}

/* Blocks of a view by a loop to its end, or to a multiple of the step before it. */
static void read_in_loop(struct maker *m, const struct seen *seen, int width)
{
    struct shape scalar = {0};
    char text[64];
    int first = random_chance(&m->random, 70) ? random_below(&m->random, 3) * width : random_between(&m->random, -2, 5);
    struct value low = constant(m, IR_INDEX, scalar, first);
    int distance = random_chance(&m->random, 60) ? width : 1 << random_below(&m->random, 4);
    struct value step = constant(m, IR_INDEX, scalar, distance);
    struct value end = near_extent(m, seen);
    if (random_chance(&m->random, 40)) {
        snprintf(text, sizeof text, "rem %%v%d, %%v%d", end.number, step.number);
        struct value rest = make(m, IR_INDEX, scalar, text);
        snprintf(text, sizeof text, "sub %%v%d, %%v%d", end.number, rest.number);
        end = make(m, IR_INDEX, scalar, text);
    }
    int variable = m->next++, kept = m->count;
    line(m, "for %%v%d: index = %%v%d to %%v%d step %%v%d {", variable, low.number, end.number, step.number);
    m->indent++;
    struct value start = know(m, variable, IR_INDEX, scalar);
    if (random_chance(&m->random, 10)) {
        snprintf(text, sizeof text, "mul %%v%d, %%v%d", start.number, constant_index(m, 2, 3).number);
        start = make(m, IR_INDEX, scalar, text);
    }
    if (random_chance(&m->random, 30))
        start = plus(m, start, random_between(&m->random, -3, 3));
    load(m, seen, start, width);
    line(m, "yield");
    m->indent--;
    m->count = kept;
    line(m, "}");
}

/* Where conditions say that it lies inside, or nearly so. */
static void read_in_branch(struct maker *m, const struct seen *seen, int width)
{
    struct shape scalar = {0};
    char text[64];
    static const char *const predicates[] = {"lt", "le", "gt", "ge"};
    struct value start = of_type(m, IR_INDEX, scalar), end = near_extent(m, seen);
    if (random_chance(&m->random, 50))
        start = bounded(m, IR_INDEX, random_between(&m->random, -1, 2), 40);
    struct value last = plus(m, start, width + random_between(&m->random, -2, 1));
    bool turned = random_chance(&m->random, 50);
    snprintf(text, sizeof text, "compare predicate(%s) %%v%d, %%v%d",
             predicates[random_below(&m->random, 2) + (random_chance(&m->random, 85) ? 2 * turned : 2 * !turned)],
             turned ? end.number : last.number, turned ? last.number : end.number);
    struct value below = make(m, IR_BOOL, scalar, text);
    struct value least = constant(m, IR_INDEX, scalar, random_between(&m->random, -1, 1));
    snprintf(text, sizeof text, "compare predicate(%s) %%v%d, %%v%d", predicates[random_between(&m->random, 2, 3)],
             start.number, least.number);
    struct value above = make(m, IR_BOOL, scalar, text);
    snprintf(text, sizeof text, "%s %%v%d, %%v%d", random_chance(&m->random, 85) ? "and" : "or", below.number,
             above.number);
    struct value both = make(m, IR_BOOL, scalar, text);
    bool inverted = random_chance(&m->random, 20);
    if (inverted) {
        snprintf(text, sizeof text, "not %%v%d", both.number);
        both = make(m, IR_BOOL, scalar, text);
    }
    int kept = m->count;
    line(m, "if %%v%d {", both.number);
    for (int side = 0; side < 2; side++) {
        m->indent++;
        if ((side == 1) == inverted || random_chance(&m->random, 20))
            load(m, seen, start, width);
        line(m, "yield");
        m->indent--;
        m->count = kept;
        line(m, side ? "}" : "} else {");
    }
}

static void read_view(struct maker *m)
{
    struct seen seen = choose_view(m);
    int width = 1 << random_below(&m->random, 4);
    if (random_chance(&m->random, 60))
        read_in_loop(m, &seen, width);
    else
        read_in_branch(m, &seen, width);
}

static void statement(struct maker *m)
{
    int kind = random_below(&m->random, 100);
    if (kind < 5 && m->results)
        compare_places(m);
    else if (kind < 40)
        arithmetic(m);
    else if (kind < 50)
        choose(m);
    else if (kind < 60)
        convert(m);
    else if (kind < 76 && !(m->results && kind >= 70))
        reshape(m);
    else if ((kind < 86 && !(m->results && kind < 80)) || m->depth >= DEPTH - m->results)
        leaf(m);
    else if (kind < 93 && !(m->results && kind < 80))
        branch(m);
    else if (m->results && random_chance(&m->random, 50))
        open_loop(m);
    else
        loop(m);
}

/* At the top: what the arguments are known to be. */
static void assumptions(struct maker *m, uint64_t seed)
{
    struct known_arguments known = known_arguments(seed);
    static const enum ir_element of[] = {IR_I32, IR_INDEX, IR_INDEX, IR_U8};
    struct shape scalar = {0};
    char text[64];
    for (int i = 0; i < 4; i++) { /* the arguments are %v0 to %v3 */
        m->next++;
        know(m, i, of[i], scalar);
    }
    for (int i = 0; i < 2; i++) {
        struct value low = constant(m, of[i], scalar, known.low[i]), high = constant(m, of[i], scalar, known.high[i]);
        bool turned = random_chance(&m->random, 30);
        snprintf(text, sizeof text, "compare predicate(%s) %%v%d, %%v%d", turned ? "le" : "ge", turned ? low.number : i,
                 turned ? i : low.number);
        struct value at_least = make(m, IR_BOOL, scalar, text);
        snprintf(text, sizeof text, "compare predicate(gt) %%v%d, %%v%d", i, high.number);
        struct value above = make(m, IR_BOOL, scalar, text);
        snprintf(text, sizeof text, "not %%v%d", above.number);
        struct value at_most = make(m, IR_BOOL, scalar, text);
        snprintf(text, sizeof text, "and %%v%d, %%v%d", at_least.number, at_most.number);
        line(m, "assume %%v%d", make(m, IR_BOOL, scalar, text).number);
    }
    struct value zero = constant(m, IR_INDEX, scalar, 0), by = constant(m, IR_INDEX, scalar, known.multiple);
    snprintf(text, sizeof text, "rem %%v2, %%v%d", by.number);
    struct value rest = make(m, IR_INDEX, scalar, text);
    snprintf(text, sizeof text, "compare predicate(eq) %%v%d, %%v%d", rest.number, zero.number);
    line(m, "assume %%v%d", make(m, IR_BOOL, scalar, text).number);
}

/* Some of what is known at the end, widened, to rows of the program's own. */
static void store_results(struct maker *m)
{
    struct shape scalar = {0};
    struct value zero = constant(m, IR_INDEX, scalar, 0), first[2], rows = constant(m, IR_INDEX, scalar, FACTS_RESULTS);
    char text[64];
    int known = m->count - 2;
    for (int d = 0; d < 2; d++) {
        snprintf(text, sizeof text, "grid_index dimension(%d)", d);
        first[d] = make(m, IR_INDEX, scalar, text);
    }
    snprintf(text, sizeof text, "mul %%v%d, %%v%d", first[1].number, constant(m, IR_INDEX, scalar, 5).number);
    struct value program = make(m, IR_INDEX, scalar, text);
    snprintf(text, sizeof text, "add %%v%d, %%v%d", program.number, first[0].number);
    program = make(m, IR_INDEX, scalar, text);
    snprintf(text, sizeof text, "mul %%v%d, %%v%d", program.number, rows.number);
    program = make(m, IR_INDEX, scalar, text);
    for (int i = 0; i < FACTS_RESULTS; i++) {
        struct value value = m->values[known - 1 - (i < 6 ? i : random_below(&m->random, known))];
        struct value row = constant(m, IR_INDEX, scalar, i);
        if (i >= 6 && i - 6 < m->end_count && i < 10)
            value = m->ends[i - 6];
        snprintf(text, sizeof text, "add %%v%d, %%v%d", program.number, row.number);
        row = make(m, IR_INDEX, scalar, text);
        snprintf(text, sizeof text, "cast %%v%d", value.number);
        if (value.element != IR_I64)
            value = make(m, IR_I64, value.shape, text);
        char to[2][32];
        for (int d = 0; d < 2; d++) {
            int dimension = d - 2 + value.shape.rank;
            snprintf(to[d], sizeof to[d], dimension < 0 ? "%%v%d" : "%%v%d +: %d", zero.number,
                     dimension < 0 ? 0 : value.shape.extent[dimension]);
        }
        line(m, "store %%z[%%v%d, %s, %s], %%v%d", row.number, to[0], to[1], value.number);
    }
}

void facts_generate(struct buffer *out, uint64_t seed, bool results)
{
    struct known_arguments known = known_arguments(seed);
    struct maker m = {.random = {seed}, .out = out, .indent = 1, .results = results};
    buffer_printf(out,
                  "kernel @k(%%v0: i32, %%v1: index, %%v2: index, %%v3: u8, %%x: view<i32, [?, 12], [12, 1], in> "
                  "{align(16), extent_multiple(%d, 0), limit(%d)}, %%y: view<i32, [?], [1], in>%s) grid(2) "
                  "grid_limit(5, 0) {\n",
                  known.extent_multiple, known.limit, results ? ", %z: view<i64, [?, 8, 8], [64, 8, 1], out>" : "");
    assumptions(&m, seed);
    for (int i = 0; i < 24; i++)
        statement(&m);
    for (int i = 0; i < 4; i++)
        read_view(&m);
    if (results)
        store_results(&m);
    buffer_printf(out, "    return\n}\n");
}

struct ir_function *facts_read(struct arena *arena, const struct buffer *text)
{
    struct diagnostics *diagnostics = diagnostics_create(arena);
    struct source source = {.name = "kernel", .text = text->data, .size = text->size};
    struct ir_module *module = ir_parse_module(ir_context_create(arena), arena, diagnostics, &source);
    if (module && ir_verify_module(module, diagnostics))
        return module->first;
    diag_print(diagnostics, stdout, false);
    return NULL;
}
