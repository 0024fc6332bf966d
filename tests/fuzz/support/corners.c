/* See corners.h.  Text is written statement by statement over a pool of values; what the verifier does not take is
 * thrown away, and the next number is tried. */
#include "corners.h"

#include <string.h>

#include "ir/text.h"
#include "ir/verify/verify.h"
#include "tests/fuzz/support/generate.h"
#include "tests/fuzz/support/operations.h"

enum { MOST_RANK = 3, MOST_VALUES = 160, MOST_VIEWS = 10, PALETTE = 3, TRIES = 200 };

struct shape {
    int rank, extent[MOST_RANK];
};
struct value {
    int number;
    enum ir_element element;
    struct shape shape;
};
struct view {
    enum ir_element element;
    int number, rank; /* %x and the number */
    const char *rights;
    bool read, written, absent;
    bool fixed[MOST_RANK], one[MOST_RANK]; /* the extent is 64, the stride 1 */
};
struct corner {
    struct random random;
    struct buffer *out;
    enum ir_element palette[PALETTE];
    struct shape shapes[3];
    struct value pool[MOST_VALUES];
    struct view views[MOST_VIEWS];
    int count, view_count, next, next_view, depth;
};

static int below(struct corner *c, int limit) { return random_below(&c->random, limit); }
static bool chance(struct corner *c, int percent) { return random_chance(&c->random, percent); }
static const char *name_of(enum ir_element element) { return ir_element_info[element].text; }

static void put_extents(struct corner *c, const struct shape *shape)
{
    for (int d = 0; d < shape->rank; d++)
        buffer_printf(c->out, "%s%d%s", d ? ", " : "[", shape->extent[d], d == shape->rank - 1 ? "]" : "");
}

static void put_type(struct corner *c, enum ir_element element, const struct shape *shape)
{
    buffer_puts(c->out, name_of(element));
    put_extents(c, shape);
}

static bool is_same(const struct shape *a, const struct shape *b)
{
    bool same = a->rank == b->rank;
    for (int d = 0; d < a->rank && same; d++)
        same = a->extent[d] == b->extent[d];
    return same;
}

/* Begins an operation with one result: `%v7 = `. */
static int begin(struct corner *c)
{
    buffer_printf(c->out, "%%v%d = ", c->next);
    return c->next++;
}

/* Ends it: ` : f32[8]`; the result may be used from here on. */
static struct value end(struct corner *c, int number, enum ir_element element, struct shape shape)
{
    struct value value = {number, element, shape};
    buffer_puts(c->out, " : ");
    put_type(c, element, &shape);
    buffer_puts(c->out, "\n");
    if (c->count < MOST_VALUES)
        c->pool[c->count++] = value;
    return value;
}

/* ---- values ---- */

static uint64_t edge(struct corner *c, enum ir_element element)
{
    static const double reals[] = {0.0, -0.0, 1.0, -1.0, 0.5, 2.5, -2.5, 3.0, 0.1, 1e10, -65504.0, 448.0, 1e-40, 7.0};
    static const int64_t integers[] = {0,
                                       0,
                                       1,
                                       -1,
                                       2,
                                       3,
                                       4,
                                       5,
                                       7,
                                       8,
                                       16,
                                       31,
                                       32,
                                       33,
                                       63,
                                       64,
                                       -8,
                                       127,
                                       128,
                                       255,
                                       1000,
                                       INT32_MAX,
                                       INT32_MIN,
                                       INT64_MAX,
                                       INT64_MIN,
                                       0x20000000000001,
                                       0x4000004000000001};
    if (element == IR_BOOL)
        return (uint64_t)below(c, 2);
    if (!ir_is_float(element))
        return ir_int_to_bits(element, integers[below(c, chance(c, 60) ? 13 : 27)]);
    int dice = below(c, 17);
    double real = dice < 14 ? reals[dice] : dice == 14 ? __builtin_inf() : dice == 15 ? __builtin_nan("") : -3.75;
    return ir_double_to_bits(element, real);
}

static struct value constant(struct corner *c, enum ir_element element, struct shape shape)
{
    uint64_t bits = edge(c, element);
    int number = begin(c);
    if (element == IR_BOOL)
        buffer_printf(c->out, "constant value(%s)", bits ? "true" : "false");
    else if (ir_is_float(element))
        buffer_printf(c->out, "constant value(bits(0x%llx))", (unsigned long long)bits);
    else if (ir_is_signed(element))
        buffer_printf(c->out, "constant value(%lld)", (long long)ir_bits_to_int(element, bits));
    else
        buffer_printf(c->out, "constant value(%llu)", (unsigned long long)bits);
    return end(c, number, element, shape);
}

/* A value of the type, made where there is none. */
static struct value of_type(struct corner *c, enum ir_element element, struct shape shape)
{
    for (int tries = 0; c->count && tries < 30; tries++) {
        const struct value *value = &c->pool[below(c, c->count)];
        if (value->element == element && is_same(&value->shape, &shape))
            return *value;
    }
    if (!shape.rank || chance(c, 40))
        return constant(c, element, shape);
    if (shape.rank == 1 && ir_is_integer(element) && chance(c, 60)) {
        int number = begin(c);
        buffer_puts(c->out, "iota");
        return end(c, number, element, shape);
    }
    struct value scalar = of_type(c, element, (struct shape){0});
    int number = begin(c);
    buffer_printf(c->out, "splat %%v%d", scalar.number);
    return end(c, number, element, shape);
}

static struct value index_of(struct corner *c)
{
    return of_type(c, chance(c, 85) ? IR_INDEX : IR_I32, (struct shape){0});
}
static struct value any(struct corner *c) { return c->pool[below(c, c->count)]; }
static enum ir_element any_element(struct corner *c)
{
    if (chance(c, 60))
        return c->palette[below(c, PALETTE)];
    return chance(c, 40) ? IR_INDEX : (enum ir_element)below(c, IR_POINTER);
}
static struct shape any_shape(struct corner *c)
{
    return chance(c, 40) ? (struct shape){0} : c->shapes[below(c, chance(c, 60) ? 1 : 3)];
}

/* What calls choose by chance stands in statements of its own: C leaves the order of arguments open. */
static struct value of_any_type(struct corner *c)
{
    enum ir_element element = any_element(c);
    struct shape shape = any_shape(c);
    return of_type(c, element, shape);
}

/* ---- operations ---- */

static void binary(struct corner *c)
{
    static const char *const all[] = {"add", "sub", "mul", "div", "rem", "min",  "max",
                                      "and", "or",  "xor", "shl", "shr", "mulhi"};
    struct value a = chance(c, 60) ? any(c) : of_any_type(c);
    int first = a.element == IR_BOOL ? 7 : 0, most = a.element == IR_BOOL ? 10 : ir_is_float(a.element) ? 7 : 13;
    struct value b = chance(c, 30) ? constant(c, a.element, a.shape) : of_type(c, a.element, a.shape);
    const char *name = all[first + below(c, most - first)];
    bool extreme = ir_is_float(a.element) && name[0] == 'm' && name[1] != 'u' && name[2] != 'd';
    int number = begin(c);
    buffer_printf(c->out, "%s%s %%v%d, %%v%d", name, extreme && chance(c, 50) ? " nan(propagate)" : "", a.number,
                  b.number);
    end(c, number, a.element, a.shape);
}

static void unary(struct corner *c)
{
    static const char *const maths[] = {"exp",   "log", "sqrt", "floor", "ceil", "trunc",
                                        "round", "rcp", "exp2", "tanh",  "sin",  "isnan"};
    struct value a = chance(c, 70) ? any(c) : of_any_type(c);
    bool real = ir_is_float(a.element);
    struct operations alone = operations_on(a.element, 1);
    int dice = below(c, real ? 4 + alone.count : alone.count);
    const char *function = maths[below(c, 12)];
    if (real && !strcmp(function, "isnan"))
        function = "rsqrt";
    int number = begin(c);
    if (dice >= alone.count)
        buffer_printf(c->out, "math function(%s) %%v%d", function, a.number);
    else
        buffer_printf(c->out, "%s %%v%d", operations_text(&alone, dice), a.number);
    end(c, number, a.element, a.shape);
}

static struct value compare(struct corner *c)
{
    static const char *const predicates[] = {"eq", "ne", "lt", "le", "gt", "ge"};
    struct value a = chance(c, 70) ? any(c) : of_any_type(c);
    struct value b = chance(c, 40) ? constant(c, a.element, a.shape) : of_type(c, a.element, a.shape);
    int number = begin(c);
    buffer_printf(c->out, "compare predicate(%s) %%v%d, %%v%d", predicates[below(c, a.element == IR_BOOL ? 2 : 6)],
                  a.number, b.number);
    return end(c, number, IR_BOOL, a.shape);
}

static void choose(struct corner *c)
{
    struct value a = any(c), b = of_type(c, a.element, a.shape), which = of_type(c, IR_BOOL, a.shape);
    int number = begin(c);
    if (chance(c, 25) && ir_is_float(a.element)) {
        struct value more = of_type(c, a.element, a.shape);
        buffer_printf(c->out, "fma %%v%d, %%v%d, %%v%d", a.number, b.number, more.number);
    } else {
        buffer_printf(c->out, "select %%v%d, %%v%d, %%v%d", which.number, a.number, b.number);
    }
    end(c, number, a.element, a.shape);
}

static void cast(struct corner *c)
{
    static const char *const rounds[] = {"", "", "", " round(rtz)", " round(rtp)", " round(rtn)"};
    struct value a = any(c);
    enum ir_element to = any_element(c);
    int number = begin(c);
    const char *round = rounds[below(c, 6)];
    buffer_printf(c->out, "cast%s%s %%v%d", round, chance(c, 35) ? " saturate(1)" : "", a.number);
    end(c, number, to, a.shape);
}

/* Broadcasts, permutes, cuts and folds. */
static void reshape(struct corner *c)
{
    enum ir_element element = any_element(c);
    struct value a = of_type(c, element, c->shapes[below(c, 3)]);
    struct shape shape = a.shape;
    int axis = below(c, shape.rank), dice = below(c, 4);
    int number = begin(c);
    if (dice == 0) {
        static const char *const kinds[] = {"add", "mul", "min", "max", "and", "or", "xor"};
        int first = a.element == IR_BOOL ? 4 : 0, most = ir_is_float(a.element) ? 4 : 7;
        const char *kind = kinds[first + below(c, most - first)];
        bool extreme = kind[0] == 'm' && kind[1] != 'u' && ir_is_float(a.element) && chance(c, 50);
        bool scan = chance(c, 40);
        buffer_printf(c->out, "%s axis(%d) kind(%s)%s%s%s %%v%d", scan ? "scan" : "reduce", axis, kind,
                      extreme ? " nan(propagate)" : "", chance(c, 25) ? " fixed(1)" : "",
                      scan && chance(c, 50) ? " reverse(1)" : "", a.number);
        for (int d = scan ? shape.rank : axis; d < shape.rank - 1; d++)
            shape.extent[d] = shape.extent[d + 1];
        shape.rank -= !scan;
    } else if (dice == 1 && shape.rank > 1) {
        int other = (axis + 1) % shape.rank, extent = shape.extent[axis];
        int order[MOST_RANK] = {0, 1, 2};
        order[axis] = other;
        order[other] = axis;
        shape.extent[axis] = shape.extent[other];
        shape.extent[other] = extent;
        buffer_puts(c->out, "permute permutation(");
        for (int d = 0; d < shape.rank; d++)
            buffer_printf(c->out, "%s%d", d ? ", " : "", order[d]);
        buffer_printf(c->out, ") %%v%d", a.number);
    } else if (dice == 2 && shape.extent[axis] % 2 == 0) {
        shape.extent[axis] /= 2;
        buffer_puts(c->out, "extract start(");
        for (int d = 0; d < shape.rank; d++)
            buffer_printf(c->out, "%s%d", d ? ", " : "", d == axis && chance(c, 70) ? shape.extent[axis] : 0);
        buffer_printf(c->out, ") %%v%d", a.number);
    } else {
        struct shape flat = {1, {1}};
        for (int d = 0; d < shape.rank; d++)
            flat.extent[0] *= shape.extent[d];
        buffer_printf(c->out, "reshape %%v%d", a.number);
        shape = flat;
    }
    end(c, number, a.element, shape);
}

static void ask_view(struct corner *c)
{
    int view = below(c, c->view_count), dimension = below(c, c->views[view].rank);
    int number = begin(c);
    buffer_printf(c->out, "%s dimension(%d) %%x%d", chance(c, 70) ? "extent" : "stride", dimension,
                  c->views[view].number);
    end(c, number, IR_INDEX, (struct shape){0});
}

/* ---- views ---- */

static void put_view_type(struct corner *c, const struct view *view)
{
    buffer_printf(c->out, "view<%s, [", name_of(view->element));
    for (int d = 0; d < view->rank; d++)
        buffer_printf(c->out, view->fixed[d] ? "%s64" : "%s?", d ? ", " : "");
    buffer_puts(c->out, "], [");
    for (int d = 0; d < view->rank; d++)
        buffer_printf(c->out, view->one[d] ? "%s1" : "%s?", d ? ", " : "");
    buffer_printf(c->out, "], %s%s>", view->rights, view->absent ? "?" : "");
}

static void add_view(struct corner *c, struct view view)
{
    buffer_puts(c->out, " : ");
    put_view_type(c, &view);
    buffer_puts(c->out, "\n");
    c->views[c->view_count++] = view;
}

/* A part of a view, perhaps with fewer dimensions, or the view turned. */
static void part(struct corner *c)
{
    if (c->view_count == MOST_VIEWS)
        return;
    struct view of = c->views[below(c, c->view_count)], made = of;
    made.number = c->next_view++;
    if (of.rank > 1 && chance(c, 30)) {
        for (int d = 0; d < of.rank; d++) {
            made.fixed[d] = of.fixed[of.rank - 1 - d];
            made.one[d] = of.one[of.rank - 1 - d];
        }
        buffer_printf(c->out, "%%x%d = view_permute permutation(%s) %%x%d", made.number,
                      of.rank == 2 ? "1, 0" : "2, 1, 0", of.number);
        add_view(c, made);
        return;
    }
    int bounds[2 * MOST_RANK], dropped = 0;
    made.rank = 0;
    for (int d = 0; d < of.rank; d++) {
        bounds[2 * d] = of_type(c, IR_INDEX, (struct shape){0}).number;
        if (chance(c, 30) && (made.rank || d < of.rank - 1)) {
            int one = begin(c);
            buffer_puts(c->out, "constant value(1) : index\n");
            bounds[2 * d + 1] = begin(c);
            buffer_printf(c->out, "add %%v%d, %%v%d : index\n", bounds[2 * d], one);
            dropped |= 1 << d;
            made.absent = true;
            continue;
        }
        bounds[2 * d + 1] = of_type(c, IR_INDEX, (struct shape){0}).number;
        made.fixed[made.rank] = false;
        made.one[made.rank++] = of.one[d];
    }
    buffer_printf(c->out, "%%x%d = subview drop(%d) %%x%d[", made.number, dropped, of.number);
    for (int d = 0; d < of.rank; d++)
        buffer_printf(c->out, "%s%%v%d .. %%v%d", d ? ", " : "", bounds[2 * d], bounds[2 * d + 1]);
    buffer_puts(c->out, "]");
    add_view(c, made);
}

/* ---- memory ---- */

/* `%x2[%v3, %v4 +: 8, gather %v5]`; the shape that comes out.  What it needs is written before. */
struct corner_place {
    char text[256];
    struct shape shape;
};

static struct corner_place place_in(struct corner *c, int view, const struct shape *wanted)
{
    struct corner_place place = {.shape = {0}};
    int rank = c->views[view].rank, left = wanted->rank, used = 0;
    int size = snprintf(place.text, sizeof place.text, "%%x%d[", c->views[view].number);
    for (int d = 0; d < rank; d++) {
        bool tile = left && (left == rank - d || chance(c, 60));
        struct value index = index_of(c);
        if (tile && chance(c, 12)) {
            struct shape row = {1, {wanted->extent[used]}};
            index = of_type(c, chance(c, 70) ? IR_INDEX : IR_I32, row);
            size += snprintf(place.text + size, sizeof place.text - (size_t)size, "%sgather %%v%d", d ? ", " : "",
                             index.number);
        } else {
            size += snprintf(place.text + size, sizeof place.text - (size_t)size, "%s%%v%d", d ? ", " : "",
                             index.number);
            if (tile)
                size += snprintf(place.text + size, sizeof place.text - (size_t)size, " +: %d", wanted->extent[used]);
        }
        if (tile) {
            place.shape.extent[place.shape.rank++] = wanted->extent[used++];
            left--;
        }
    }
    snprintf(place.text + size, sizeof place.text - (size_t)size, "]");
    return place;
}

static int find_view(struct corner *c, int least_rank, bool written, const enum ir_element *element)
{
    for (int tries = 0; tries < 20; tries++) {
        int view = below(c, c->view_count);
        if (c->views[view].rank >= least_rank && (written ? c->views[view].written : c->views[view].read) &&
            (!element || *element == c->views[view].element))
            return view;
    }
    return -1;
}

static void load(struct corner *c)
{
    struct shape shape = any_shape(c);
    int view = find_view(c, shape.rank, false, NULL);
    if (view < 0)
        return;
    struct corner_place place = place_in(c, view, &shape);
    enum ir_element element = c->views[view].element;
    struct value other = of_type(c, element, chance(c, 80) ? (struct shape){0} : shape);
    struct value mask = {0};
    bool masked = chance(c, 30);
    if (masked)
        mask = of_type(c, IR_BOOL, shape);
    int number = begin(c);
    if (chance(c, 8)) {
        buffer_printf(c->out, "inside %s", place.text);
        element = IR_BOOL;
    } else {
        buffer_printf(c->out, "load %s, %%v%d", place.text, other.number);
        if (masked)
            buffer_printf(c->out, ", %%v%d", mask.number);
    }
    end(c, number, element, shape);
}

static void store(struct corner *c)
{
    struct value value = any(c);
    int view = find_view(c, value.shape.rank, true, &value.element);
    if (view < 0) {
        if ((view = find_view(c, value.shape.rank, true, NULL)) < 0)
            return;
        int number = begin(c);
        buffer_printf(c->out, "cast %%v%d", value.number);
        value = end(c, number, c->views[view].element, value.shape);
    }
    struct corner_place place = place_in(c, view, &value.shape);
    struct value mask = {0};
    bool masked = chance(c, 30);
    if (masked)
        mask = of_type(c, IR_BOOL, value.shape);
    if (chance(c, 15)) {
        static const char *const actions[] = {"add", "max", "min", "exchange", "load", "store"};
        static const char *const orders[] = {"", "", " order(acquire)", " order(release)", " order(acq_rel)"};
        const char *action = actions[below(c, 6)];
        int number = begin(c);
        buffer_printf(c->out, "atomic action(%s)%s %s, %%v%d", action, orders[below(c, 5)], place.text, value.number);
        if (masked)
            buffer_printf(c->out, ", %%v%d", mask.number);
        end(c, number, value.element, value.shape);
        return;
    }
    buffer_printf(c->out, "store %s, %%v%d", place.text, value.number);
    if (masked)
        buffer_printf(c->out, ", %%v%d", mask.number);
    buffer_puts(c->out, "\n");
}

/* Through pointers: read, and stored where that is allowed. */
static void reach(struct corner *c)
{
    const struct view *view = &c->views[below(c, c->view_count)];
    struct shape shape = c->shapes[0];
    char type[64];
    snprintf(type, sizeof type, "%s%s", view->written ? "*" : "*const ", name_of(view->element));
    struct value offsets = of_type(c, chance(c, 70) ? IR_INDEX : IR_U32, shape);
    struct value stored = of_type(c, view->element, shape), mask = of_type(c, IR_BOOL, shape);
    bool masked = chance(c, 40);
    int first = begin(c);
    buffer_printf(c->out, "view_pointer %%x%d : %s\n", view->number, type);
    int all = begin(c);
    buffer_printf(c->out, "splat %%v%d : %s", first, type);
    put_extents(c, &shape);
    buffer_puts(c->out, "\n");
    int places = begin(c);
    buffer_printf(c->out, "pointer_add %%v%d, %%v%d : %s", all, offsets.number, type);
    put_extents(c, &shape);
    buffer_puts(c->out, "\n");
    if (view->written && chance(c, 50)) {
        buffer_printf(c->out, "pointer_store %%v%d, %%v%d", places, stored.number);
        if (masked)
            buffer_printf(c->out, ", %%v%d", mask.number);
        buffer_puts(c->out, "\n");
    }
    if (!view->read)
        return;
    int number = begin(c);
    buffer_printf(c->out, "pointer_load %%v%d, %%v%d", places, stored.number);
    if (masked)
        buffer_printf(c->out, ", %%v%d", mask.number);
    end(c, number, view->element, shape);
}

/* ---- control flow ---- */

static void statements(struct corner *c, int count);

static struct value condition(struct corner *c)
{
    struct value a = of_type(c, chance(c, 60) ? IR_INDEX : IR_I32, (struct shape){0});
    struct value b = chance(c, 50) ? constant(c, a.element, a.shape) : of_type(c, a.element, a.shape);
    static const char *const predicates[] = {"eq", "ne", "lt", "le", "gt", "ge"};
    int number = begin(c);
    buffer_printf(c->out, "compare predicate(%s) %%v%d, %%v%d", predicates[below(c, 6)], a.number, b.number);
    struct value result = end(c, number, IR_BOOL, (struct shape){0});
    if (chance(c, 30)) {
        struct value other = condition(c);
        number = begin(c);
        buffer_printf(c->out, "%s %%v%d, %%v%d", chance(c, 60) ? "and" : "or", result.number, other.number);
        result = end(c, number, IR_BOOL, (struct shape){0});
    }
    if (chance(c, 20)) {
        number = begin(c);
        buffer_printf(c->out, "not %%v%d", result.number);
        result = end(c, number, IR_BOOL, (struct shape){0});
    }
    return result;
}

static void branch(struct corner *c)
{
    struct value which = condition(c), like = any(c);
    int kept, views = c->view_count, number = c->next++;
    buffer_printf(c->out, "%%v%d = if %%v%d {\n", number, which.number);
    for (int arm = 0; arm < 2; arm++) {
        kept = c->count;
        statements(c, 1 + below(c, 3));
        buffer_printf(c->out, "yield %%v%d\n%s", of_type(c, like.element, like.shape).number, arm ? "}" : "} else {\n");
        c->count = kept;
        c->view_count = views;
    }
    end(c, number, like.element, like.shape);
}

static void loop(struct corner *c)
{
    static const int steps[] = {1, 1, 2, 3, 8, 16, 64, -1, -2, -8, -64};
    static const int bounds[] = {0, 0, 1, 2, 3, 7, 8, 64, 100, 128, 1000, -1, -8};
    struct value start = any(c);
    enum ir_element element = chance(c, 70) ? IR_INDEX : chance(c, 70) ? IR_I32 : IR_U8;
    int step = steps[below(c, element == IR_U8 ? 7 : 11)], bound[2];
    struct value ends[2], by;
    for (int i = 0; i < 2; i++) {
        bound[i] = bounds[below(c, element == IR_U8 ? 8 : 13)];
        int number = begin(c);
        buffer_printf(c->out, "constant value(%d)", bound[i]);
        ends[i] = end(c, number, element, (struct shape){0});
        if (chance(c, 40) || (i && (bound[1] > bound[0]) != (step > 0)))
            ends[i] = of_type(c, element, (struct shape){0});
    }
    int number = begin(c), kept, views = c->view_count;
    buffer_printf(c->out, "constant value(%d)", step);
    by = end(c, number, element, (struct shape){0});
    kept = c->count;
    number = c->next++;
    struct value variable = {c->next++, element, {0}}, carried = {c->next++, start.element, start.shape};
    buffer_printf(c->out, "%%v%d = for %s%%v%d: %s = %%v%d to %%v%d step %%v%d iter(%%v%d: ", number,
                  chance(c, 10) ? "unroll(1) " : "", variable.number, name_of(element), ends[0].number, ends[1].number,
                  by.number, carried.number);
    put_type(c, start.element, &start.shape);
    buffer_printf(c->out, " = %%v%d) {\n", start.number);
    for (int i = 0; i < 3; i++) /* looked at often */
        c->pool[c->count < MOST_VALUES ? c->count++ : MOST_VALUES - 1] = i ? variable : carried;
    statements(c, 2 + below(c, 5));
    buffer_printf(c->out, "yield %%v%d\n}\n", of_type(c, start.element, start.shape).number);
    c->count = kept;
    c->view_count = views;
    if (c->count < MOST_VALUES)
        c->pool[c->count++] = (struct value){number, start.element, start.shape};
}

/* A place of tile at %k (plus a number, at times) in one dimension of a view, anywhere in the others. */
static void put_walked(struct corner *c, const struct view *view, int dimension, int at, int length, const int *others)
{
    buffer_printf(c->out, "%%x%d[", view->number);
    for (int d = 0; d < view->rank; d++)
        buffer_printf(c->out, d == dimension ? "%s%%v%d +: %d" : "%s%%v%d", d ? ", " : "",
                      d == dimension ? at : others[d], length);
    buffer_puts(c->out, "]");
}

/* A loop over a dimension of a view, tile by tile, as kernels have it: loads, a condition on where it is, stores. */
static void walk(struct corner *c)
{
    static const int lengths[] = {8, 16, 32, 64}, starts[] = {0, 0, 0, 0, 3, 8, 64, -8};
    int from = below(c, c->view_count), dimension = below(c, c->views[from].rank), others[MOST_RANK];
    struct shape tile = {1, {lengths[below(c, 4)]}};
    int to = find_view(c, 1, true, NULL), kept = c->count, views = c->view_count;
    if (to < 0 || !c->views[from].read)
        return;
    struct view read = c->views[from], write = c->views[to];
    for (int d = 0; d < MOST_RANK; d++)
        others[d] = of_type(c, IR_INDEX, (struct shape){0}).number;
    struct value other = of_type(c, read.element, (struct shape){0});
    int start = begin(c);
    buffer_printf(c->out, "constant value(%d) : index\n", starts[below(c, 8)]);
    int step = begin(c);
    buffer_printf(c->out, "constant value(%d) : index\n", tile.extent[0]);
    int extent = begin(c);
    buffer_printf(c->out, "extent dimension(%d) %%x%d", dimension, read.number);
    struct value limit = end(c, extent, IR_INDEX, (struct shape){0});
    if (chance(c, 25))
        limit = of_type(c, IR_INDEX, (struct shape){0});
    int k = c->next++, at = k;
    bool down = chance(c, 12);
    buffer_printf(c->out, "for %%v%d: index = %%v%d to %%v%d step %%v%d {\n", k, start, limit.number, step);
    struct value variable = {k, IR_INDEX, {0}};
    for (int i = 0; i < 3 && c->count < MOST_VALUES; i++)
        c->pool[c->count++] = variable;
    if (down || chance(c, 20)) { /* from the end, or moved */
        at = begin(c);
        buffer_printf(c->out, "%s %%v%d, %%v%d : index\n", down ? "sub" : "add", down ? limit.number : k,
                      down ? k : others[0]);
    }
    int loaded = begin(c);
    buffer_puts(c->out, "load ");
    put_walked(c, &read, dimension, at, tile.extent[0], others);
    buffer_printf(c->out, ", %%v%d", other.number);
    end(c, loaded, read.element, tile);
    statements(c, 1 + below(c, 4));
    struct value result = of_type(c, write.element, tile);
    if (chance(c, 60) && read.element == write.element)
        result.number = loaded;
    bool asked = chance(c, 40);
    if (asked)
        buffer_printf(c->out, "if %%v%d {\n", condition(c).number);
    buffer_puts(c->out, "store ");
    int along = below(c, write.rank);
    put_walked(c, &write, along, chance(c, 80) ? k : at, tile.extent[0], others);
    buffer_printf(c->out, ", %%v%d\n%syield\n}\n", result.number, asked ? "yield\n} else {\nyield\n}\n" : "");
    c->count = kept;
    c->view_count = views;
}

/* A mask of how far numbers of 64 bits are: their differences are large. */
static void far(struct corner *c)
{
    static const int64_t steps[] = {1, 2, 3, 100000000, 4000000000, -1, 1024, -100000000};
    struct shape tile = c->shapes[0].rank == 1 ? c->shapes[0] : (struct shape){1, {64}};
    enum ir_element element = chance(c, 60) ? IR_INDEX : IR_I64;
    int count = begin(c);
    buffer_printf(c->out, "iota : %s[%d]\n", name_of(element), tile.extent[0]);
    int step = begin(c);
    buffer_printf(c->out, "constant value(%lld) : %s[%d]\n", (long long)steps[below(c, 8)], name_of(element),
                  tile.extent[0]);
    int product = begin(c);
    buffer_printf(c->out, "mul %%v%d, %%v%d", count, step);
    struct value run = end(c, product, element, tile);
    struct value scalar = of_type(c, element, (struct shape){0}), bound = of_type(c, element, (struct shape){0});
    if (chance(c, 50)) { /* a multiple, of any sign */
        int by = begin(c), multiple;
        buffer_printf(c->out, "constant value(%d) : %s\n", 16 << below(c, 4), name_of(element));
        multiple = begin(c);
        buffer_printf(c->out, "mul %%v%d, %%v%d", scalar.number, by);
        scalar = end(c, multiple, element, (struct shape){0});
    }
    int base = begin(c);
    buffer_printf(c->out, "splat %%v%d : %s[%d]\n", scalar.number, name_of(element), tile.extent[0]);
    int sum = begin(c);
    buffer_printf(c->out, "%s %%v%d, %%v%d", chance(c, 70) ? "add" : "sub", run.number, base);
    run = end(c, sum, element, tile);
    if (chance(c, 30)) {
        int by = begin(c), quotient;
        buffer_printf(c->out, "constant value(%d) : %s[%d]\n", 1 << below(c, 5), name_of(element), tile.extent[0]);
        quotient = begin(c);
        buffer_printf(c->out, "%s %%v%d, %%v%d", chance(c, 60) ? "div" : "rem", run.number, by);
        run = end(c, quotient, element, tile);
    }
    int end_of = begin(c);
    buffer_printf(c->out, "splat %%v%d : %s[%d]\n", bound.number, name_of(element), tile.extent[0]);
    int inside = begin(c);
    buffer_printf(c->out, "compare predicate(%s) %%v%d, %%v%d", chance(c, 60) ? "lt" : "ge", run.number, end_of);
    end(c, inside, IR_BOOL, tile);
}

static void statements(struct corner *c, int count)
{
    c->depth++;
    for (int i = 0; i < count; i++) {
        int dice = below(c, 100);
        if (dice < 20)
            binary(c);
        else if (dice < 26)
            unary(c);
        else if (dice < 32)
            compare(c);
        else if (dice < 38)
            choose(c);
        else if (dice < 46)
            cast(c);
        else if (dice < 54)
            reshape(c);
        else if (dice < 57)
            ask_view(c);
        else if (dice < 61)
            part(c);
        else if (dice < 64)
            reach(c);
        else if (dice < 67)
            far(c);
        else if (dice < 76)
            load(c);
        else if (dice < 89)
            store(c);
        else if (c->depth < 4 && dice < 92)
            branch(c);
        else if (c->depth < 4 && dice < 96)
            loop(c);
        else if (c->depth < 4)
            walk(c);
    }
    c->depth--;
}

/* ---- kernels ---- */

static void put_parameter(struct corner *c)
{
    static const char *const rights[] = {"in", "in", "in", "inout", "inout", "out", "inout"};
    static const char *const lists[] = {"stride_multiple", "extent_multiple", "extent_class"};
    int right = below(c, 7);
    struct view view = {.number = c->next_view++,
                        .rights = rights[right],
                        .read = right != 5,
                        .written = right >= 3,
                        .absent = (right == 2 || right == 6)};
    view.element = c->palette[below(c, PALETTE)];
    view.rank = 1 + below(c, MOST_RANK);
    for (int d = 0; d < view.rank; d++) {
        view.fixed[d] = chance(c, 25);
        view.one[d] = d == view.rank - 1 && chance(c, 80);
    }
    buffer_printf(c->out, "%s%%x%d: ", view.number ? ", " : "", view.number);
    put_view_type(c, &view);
    const char *limit = chance(c, 80) ? "2147483648" : "9223372036854775807";
    bool restricted = chance(c, 60);
    buffer_printf(c->out, " {align(%d), limit(%s)%s", 1 << below(c, 9), limit, restricted ? ", restrict" : "");
    for (int i = 0; i < 3; i++) {
        if (!chance(c, 40))
            continue;
        buffer_printf(c->out, ", %s(", lists[i]);
        for (int d = 0; d < view.rank; d++)
            buffer_printf(c->out, "%s%d", d ? ", " : "", i == 2 ? below(c, 3) : chance(c, 50) ? 4 << below(c, 4) : 0);
        buffer_puts(c->out, ")");
    }
    buffer_puts(c->out, "}");
    c->views[c->view_count++] = view;
}

static void write_kernel(struct corner *c)
{
    static const struct shape shapes[] = {{1, {64}},       {1, {32}},      {1, {256}},   {1, {48}},
                                          {1, {7}},        {2, {16, 32}},  {2, {8, 64}}, {2, {3, 40}},
                                          {3, {2, 8, 16}}, {3, {4, 3, 8}}, {1, {1024}}};
    static const enum ir_element common[] = {IR_F32, IR_F16, IR_BF16, IR_I32, IR_I8, IR_F32};
    static const int warps[] = {0, 0, 1, 2, 3, 4, 6, 8};
    for (int i = 0; i < PALETTE; i++)
        c->palette[i] = chance(c, 65) ? common[below(c, 6)] : (enum ir_element)below(c, IR_POINTER);
    for (int i = 0; i < 3; i++)
        c->shapes[i] = shapes[below(c, 11)];
    buffer_puts(c->out, "kernel @fuzz(");
    for (int i = 3 + below(c, 3); i > 0; i--)
        put_parameter(c);
    static const enum ir_element scalars[] = {IR_INDEX, IR_I32, IR_F32, IR_U64, IR_BOOL};
    for (int i = 0; i < 5; i++) {
        buffer_printf(c->out, ", %%v%d: %s", c->next, name_of(scalars[i]));
        c->pool[c->count++] = (struct value){c->next++, scalars[i], {0}};
    }
    buffer_puts(c->out, ") grid(1)");
    if (chance(c, 30))
        buffer_puts(c->out, " grid_class(1) grid_step(64)");
    int count = warps[below(c, 8)];
    if (count)
        buffer_printf(c->out, " warps(%d)", count);
    if (chance(c, 20))
        buffer_printf(c->out, " stages(%d)", 1 + below(c, 4));
    if (chance(c, 20))
        buffer_puts(c->out, " persistent(-1)");
    buffer_puts(c->out, " {\n");
    int number = begin(c);
    buffer_puts(c->out, "grid_index dimension(0)");
    end(c, number, IR_INDEX, (struct shape){0});
    statements(c, 4 + below(c, 16));
    for (int i = 0; i < 4; i++)
        store(c);
    buffer_puts(c->out, "return\n}\n");
}

bool corners_is_valid(const struct buffer *text)
{
    struct arena *arena = arena_create();
    struct diagnostics *diagnostics = diagnostics_create(arena);
    struct source source = {.name = "corner", .text = text->data, .size = text->size};
    struct ir_module *module = ir_parse_module(ir_context_create(arena), arena, diagnostics, &source);
    bool valid = module && ir_verify_module(module, diagnostics);
    arena_destroy(arena);
    return valid;
}

void corners_generate(struct buffer *out, uint64_t seed)
{
    struct random random = {seed ^ 0x636f726e657273};
    size_t size = out->size;
    for (int tries = 0; tries < TRIES; tries++) {
        struct corner corner = {.random = {random_next(&random)}, .out = out};
        out->size = size;
        write_kernel(&corner);
        if (corners_is_valid(out))
            return;
    }
    die("no kernel in %d tries is valid", TRIES);
}
