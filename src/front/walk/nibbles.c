/* Views of 4-bit integers, two a byte, the one with the even index low.  In the IR such a view is one of bytes, whose
 * last extent is half; what is read is taken apart into a tile of i8 or u8, and what is written is put together.
 *
 *     w[m, k +: 4]    bytes [m, k/2 +: 2] -> [2, 1] -> [2, 2], column j shifted by 4*j -> [4]
 *
 * A slice that may start with the upper half of a byte reads each half of its pairs from a load of its own, the second
 * one a byte further on where the start is odd. */
#include "base/plant.h"
#include "front/walk/walk.h"
#include "ir/facts/analysis.h"

#include <string.h>

/* Whether the name, which the source does not declare, is i4 or u4. */
static bool is_nibbles(struct elaborator *e, const char *name, enum ir_element *element)
{
    bool is_signed = strcmp(name, "i4") == 0;
    *element = is_signed ? IR_I8 : IR_U8;
    return (is_signed || strcmp(name, "u4") == 0) && !scope_find(e, name) && !name_table_find(&e->file->names, name);
}

bool nibbles_type(struct elaborator *e, const struct ast_type *node, enum ir_element *element)
{
    if (node->kind != TYPE_NODE_NAME || node->module.text)
        return false;
    const struct binding *bound = scope_find(e, node->name.text);
    if (!bound || bound->value.kind != VALUE_TYPE || !bound->value.type->nibbles)
        return is_nibbles(e, node->name.text, element);
    *element = bound->value.type->plain->element;
    return true;
}

struct value nibbles_elaborate(struct elaborator *e, const struct ast_expression *expression)
{
    enum ir_element element;
    if (expression->kind != EXPRESSION_NAME || !is_nibbles(e, expression->name, &element))
        return elaborate_value(e, expression);
    struct type *type = ARENA_NEW(e->arena, struct type);
    *type = (struct type){.kind = TYPE_PLAIN, .plain = ir_type_scalar(e->context, element), .nibbles = true};
    return value_type(type, expression->at);
}

/* ---- even numbers ---- */

static bool is_even(const struct elaborator *e, const struct ir_value *v, int depth);

static bool is_even_operation(const struct elaborator *e, const struct ir_operation *op, int depth)
{
    struct ir_value *const *o = op->operands;
    int64_t amount;
    switch (op->opcode) {
    case OP_ADD:
    case OP_SUB:
    case OP_MIN:
    case OP_MAX: return is_even(e, o[0], depth) && is_even(e, o[1], depth);
    case OP_SELECT: return is_even(e, o[1], depth) && is_even(e, o[2], depth);
    case OP_MUL: return is_even(e, o[0], depth) || is_even(e, o[1], depth);
    case OP_SHL: return ir_constant_integer(o[1], &amount) && amount > 0;
    case OP_CAST: return ir_is_integer(o[0]->type->element) && is_even(e, o[0], depth);
    case OP_CONSTANT:
    case OP_EXTENT: return divisibility_ask(op->results[0]).multiple[0] % 2 == 0;
    default: return false;
    }
}

/* Loops around are not complete yet: of their variables it is noted when they begin. */
static bool is_even(const struct elaborator *e, const struct ir_value *v, int depth)
{
    if (v->type->rank > 0 || !ir_is_integer(v->type->element) || depth == 0)
        return false;
    for (int i = 0; i < e->even.count; i++)
        if (e->even.data[i] == v)
            return true;
    if (v->definition)
        return is_even_operation(e, v->definition, depth - 1);
    return v->block == e->function->body && divisibility_ask(v).multiple[0] % 2 == 0;
}

bool nibbles_is_even(const struct elaborator *e, const struct ir_value *v) { return is_even(e, v, 24); }

/* ---- places ---- */

static struct ir_value *number(struct elaborator *e, const struct ir_type *type, int64_t value)
{
    return ir_constant_int(&e->builder, type, value);
}

static struct ir_value *half(struct elaborator *e, struct ir_value *v)
{
    return ir_binary(&e->builder, OP_SHR, v, number(e, v->type, 1));
}

static bool report_cut(struct elaborator *e, const struct view_value *view, struct location at, const char *what)
{
    front_report(e, DIAGNOSTIC_E0611, at, "`%s` holds two elements a byte: %s", view->name, what);
    return false;
}

bool nibbles_place(struct elaborator *e, struct place_value *place, struct location at)
{
    int last = place->rank - 1;
    struct ir_value *index = place->index[last];
    if (place->place[last] > 0 && place->place[last] % 2)
        return report_cut(e, place->view, at, "a slice of its last dimension has an even number of them");
    if (place->place[last] > 0 && place->result_rank == IR_MAX_RANK)
        return report_cut(e, place->view, at, "a tile of it has at most 7 dimensions");
    place->odd = ir_binary(&e->builder, OP_AND, index, number(e, index->type, 1));
    place->starts_even = place->place[last] > 0 && (PLANTED(front_halves_start_even) || nibbles_is_even(e, index));
    place->next = half(e, ir_binary(&e->builder, OP_ADD, index, number(e, index->type, 1)));
    place->index[last] = half(e, index);
    if (place->place[last] > 0)
        place->place[last] /= 2;
    return true;
}

bool nibbles_bounds(struct elaborator *e, const struct view_value *view, const struct ast_index *item,
                    struct ir_value **start, struct ir_value **stop)
{
    bool begins = item->value != NULL, ends = item->kind == INDEX_SLICE || item->end != NULL;
    if (item->kind == INDEX_EXPRESSION)
        return report_cut(e, view, item->at, "its last dimension stays in a sub-view");
    if ((begins && !nibbles_is_even(e, *start)) || (ends && !nibbles_is_even(e, *stop)))
        return report_cut(e, view, item->at,
                          "a sub-view of its last dimension starts and ends at even numbers, as in `2*i .. 2*j`");
    if (begins)
        *start = half(e, *start);
    if (ends)
        *stop = half(e, *stop);
    return true;
}

/* The place of bytes. */
static void place_bytes(const struct place_value *place, bool second, struct place_value *bytes,
                        struct view_value *view)
{
    *bytes = *place;
    *view = *place->view;
    view->nibbles = false;
    bytes->view = view;
    bytes->odd = NULL;
    if (second)
        bytes->index[place->rank - 1] = place->next;
    if (place->place[place->rank - 1] > 0)
        bytes->extent[place->result_rank - 1] /= 2;
}

/* ---- pairs: [..., n] of bytes as [..., n, 2] ---- */

static const struct ir_type *pair_type(struct elaborator *e, const struct ir_type *bytes, int64_t count)
{
    int64_t extent[IR_MAX_RANK];
    for (int d = 0; d < bytes->rank; d++)
        extent[d] = bytes->extent[d];
    extent[bytes->rank] = count;
    return ir_type_with_shape(e->context, bytes, bytes->rank + 1, extent);
}

static struct ir_value *reshape(struct elaborator *e, struct ir_value *v, const struct ir_type *type)
{
    return ir_build_value(&e->builder, OP_RESHAPE, type, 1, &v);
}

static struct ir_value *twice(struct elaborator *e, struct ir_value *bytes)
{
    const struct ir_type *type = pair_type(e, bytes->type, 2);
    return ir_broadcast(&e->builder, reshape(e, bytes, pair_type(e, bytes->type, 1)), type->rank, type->extent);
}

/* Which half of its byte an element is, 0 or 1, in the shape of `pairs`. */
static struct ir_value *column(struct elaborator *e, const struct ir_type *pairs)
{
    int64_t two = 2, extent[IR_MAX_RANK];
    struct ir_value *iota = ir_build_value(&e->builder, OP_IOTA, ir_type_tile(e->context, IR_INDEX, 1, &two), 0, NULL);
    for (int d = 0; d < pairs->rank; d++)
        extent[d] = d == pairs->rank - 1 ? 2 : 1;
    iota = reshape(e, iota, ir_type_tile(e->context, IR_INDEX, pairs->rank, extent));
    return ir_broadcast(&e->builder, iota, pairs->rank, pairs->extent);
}

/* The lower or the upper half of each byte, as `which` is 0 or 1. */
static struct ir_value *pick(struct elaborator *e, struct ir_value *bytes, struct ir_value *which)
{
    struct ir_builder *b = &e->builder;
    const struct ir_type *type = bytes->type;
    struct ir_value *by = ir_binary(b, OP_MUL, ir_cast(b, which, type->element), number(e, type, 4));
    if (!ir_is_signed(type->element))
        return ir_binary(b, OP_AND, ir_binary(b, OP_SHR, bytes, by), number(e, type, 15));
    struct ir_value *high = ir_binary(b, OP_SHL, bytes, ir_binary(b, OP_SUB, number(e, type, 4), by));
    return ir_binary(b, OP_SHR, high, number(e, type, 4));
}

static struct ir_value *join(struct elaborator *e, struct ir_value *pairs, const struct place_value *place)
{
    return reshape(e, pairs, ir_type_with_shape(e->context, pairs->type, place->result_rank, place->extent));
}

/* A tile of what stands in the last dimensions of the place's result, stretched over all of it. */
static struct ir_value *stretch(struct elaborator *e, struct ir_value *v, const struct place_value *place)
{
    int64_t extent[IR_MAX_RANK];
    int more = place->result_rank - v->type->rank;
    for (int d = 0; d < place->result_rank; d++)
        extent[d] = d < more ? 1 : v->type->extent[d - more];
    if (v->type->rank > 0 && more > 0)
        v = reshape(e, v, ir_type_with_shape(e->context, v->type, place->result_rank, extent));
    return ir_broadcast(&e->builder, v, place->result_rank, place->extent);
}

/* Of bytes, or of whether they are there: what belongs to the elements.  `first` and `second` hold the even and the odd
 * ones of a slice, and are the same where that starts with an even one. */
static struct ir_value *spread(struct elaborator *e, const struct place_value *place, struct ir_value *first,
                               struct ir_value *second, bool picks)
{
    struct ir_builder *b = &e->builder;
    if (place->place[place->rank - 1] <= 0)
        return picks ? pick(e, first, stretch(e, place->odd, place)) : first;
    struct ir_value *pairs = twice(e, first), *which = column(e, pairs->type);
    if (second != first) {
        struct ir_value *even = ir_compare(b, IR_PREDICATE_EQ, which, number(e, which->type, 0));
        pairs = ir_select(b, even, pairs, twice(e, second));
        struct ir_value *odd = ir_broadcast(b, place->odd, which->type->rank, which->type->extent);
        which = ir_binary(b, OP_XOR, which, odd);
    }
    return join(e, picks ? pick(e, pairs, which) : pairs, place);
}

/* ---- reading and writing ---- */

static bool has_second(const struct place_value *place)
{
    return place->place[place->rank - 1] > 0 && !place->starts_even;
}

struct value nibbles_inside(struct elaborator *e, const struct place_value *place, struct location at)
{
    struct ir_value *there[2];
    for (int i = 0; i < 1 + has_second(place); i++) {
        struct place_value bytes;
        struct view_value view;
        place_bytes(place, i, &bytes, &view);
        there[i] = access_inside(e, &bytes, at).run;
    }
    struct value result = value_run(spread(e, place, there[0], there[has_second(place)], false), at);
    result.origin = place->origin;
    return result;
}

struct value nibbles_load(struct elaborator *e, const struct place_value *place, struct value *other,
                          struct value *mask, int cache, struct location at)
{
    struct ir_value *read[2];
    for (int i = 0; i < 1 + has_second(place); i++) {
        struct place_value bytes;
        struct view_value view;
        place_bytes(place, i, &bytes, &view);
        struct value v = access_load(e, &bytes, NULL, NULL, cache, at);
        if (value_is_error(v))
            return v;
        read[i] = v.run;
    }
    struct value result = value_run(spread(e, place, read[0], read[has_second(place)], true), at);
    result.origin = place->origin;
    if (!other && !mask)
        return result;
    const struct ir_type *type = result.run->type;
    struct ir_value *otherwise = number(e, type, 0), *there = NULL;
    if (other) {
        otherwise = convert_to_type_from(e, *other, type, place->origin, true, "`other`");
        there = nibbles_inside(e, place, at).run;
    }
    if (mask) {
        struct ir_value *wanted = convert_to_type_from(e, *mask, shape_like(e, type, IR_BOOL), place->origin, true,
                                                       "`mask`");
        there = wanted && there ? ir_binary(&e->builder, OP_AND, there, wanted) : wanted;
    }
    if (!otherwise || !there)
        return value_error(at);
    result.run = ir_select(&e->builder, there, result.run, otherwise);
    return result;
}

/* The even or the odd elements. */
static struct ir_value *part(struct elaborator *e, struct ir_value *pairs, int number, const struct ir_type *packed)
{
    int64_t start[IR_MAX_RANK] = {0};
    struct ir_value *half = ir_build_value(&e->builder, OP_EXTRACT, pair_type(e, packed, 1), 1, &pairs);
    start[packed->rank] = number;
    ir_set_list(half->definition, IR_ATTRIBUTE_START, packed->rank + 1, start);
    return reshape(e, half, packed);
}

/* ---- writing ---- */

/* What is written: the place, its elements as the value has them, and which of them, or NULL: all. */
struct writing {
    struct elaborator *e;
    const struct value *target;
    struct ir_value *value, *mask;
    int cache;
    struct location at;
};

static struct ir_value *load_bytes(const struct writing *w, const struct place_value *bytes)
{
    return access_load(w->e, bytes, NULL, NULL, -1, w->at).run;
}

static void store_bytes(const struct writing *w, const struct place_value *bytes, struct ir_value *all,
                        struct ir_value *mask)
{
    struct value whole = *w->target, where;
    whole.place = bytes;
    if (mask)
        where = value_run(mask, w->at);
    access_store(w->e, whole, value_run(all, w->at), mask ? &where : NULL, w->cache, w->at);
}

/* One half of each byte, the upper one where `which` is 1, with the other half as it is. */
static void store_halves(const struct writing *w, const struct place_value *bytes, struct ir_value *which,
                         struct ir_value *halves, struct ir_value *mask)
{
    struct elaborator *e = w->e;
    struct ir_builder *b = &e->builder;
    struct ir_value *old = load_bytes(w, bytes);
    const struct ir_type *type = old->type;
    struct ir_value *upper = ir_compare(b, IR_PREDICATE_NE, which, number(e, which->type, 0));
    struct ir_value *rest = ir_binary(b, OP_AND, old, ir_select(b, upper, number(e, type, 15), number(e, type, 240)));
    struct ir_value *half = ir_binary(b, OP_AND, halves, number(e, type, 15));
    half = ir_select(b, upper, ir_binary(b, OP_SHL, half, number(e, type, 4)), half);
    store_bytes(w, bytes, ir_binary(b, OP_OR, rest, half), mask);
}

/* Single elements.  Of an index tile two may be the halves of one byte: then the lower halves come first, and the upper
 * ones are written into what is there behind that. */
static void store_single(const struct writing *w, const struct place_value *bytes, bool gathers)
{
    struct ir_builder *b = &w->e->builder;
    struct ir_value *which = stretch(w->e, w->target->place->odd, w->target->place);
    for (int upper = 0; upper < 1 + gathers; upper++) {
        struct ir_value *mask = w->mask;
        if (gathers) {
            mask = ir_compare(b, IR_PREDICATE_EQ, which, number(w->e, which->type, upper));
            mask = w->mask ? ir_binary(b, OP_AND, mask, w->mask) : mask;
        }
        store_halves(w, bytes, which, w->value, mask);
    }
}

/* A slice whose first element may be an upper half, or which has a mask: its even elements, then its odd ones. */
static void store_by_halves(const struct writing *w)
{
    struct elaborator *e = w->e;
    const struct place_value *place = w->target->place;
    for (int odd = 0; odd < 2; odd++) {
        struct place_value bytes;
        struct view_value view;
        place_bytes(place, odd, &bytes, &view);
        const struct ir_type *packed = ir_type_tile(e->context, view.run->type->element, bytes.result_rank,
                                                    bytes.extent);
        const struct ir_type *truths = shape_like(e, packed, IR_BOOL);
        struct ir_value *first = ir_broadcast(&e->builder, place->odd, packed->rank, packed->extent);
        struct ir_value *which = odd ? ir_binary(&e->builder, OP_XOR, first, number(e, first->type, 1)) : first;
        struct ir_value *halves = part(e, reshape(e, w->value, pair_type(e, packed, 2)), odd, packed), *mask = NULL;
        if (w->mask)
            mask = part(e, reshape(e, w->mask, pair_type(e, truths, 2)), odd, truths);
        store_halves(w, &bytes, which, halves, mask);
    }
}

/* A slice of whole bytes. */
static void store_whole(const struct writing *w, const struct place_value *bytes, const struct ir_type *type)
{
    struct elaborator *e = w->e;
    struct ir_builder *b = &e->builder;
    const struct ir_type *packed = ir_type_tile(e->context, type->element, bytes->result_rank, bytes->extent);
    struct ir_value *pairs = reshape(e, w->value, pair_type(e, packed, 2));
    struct ir_value *low = ir_binary(b, OP_AND, part(e, pairs, 0, packed), number(e, packed, 15));
    struct ir_value *high = ir_binary(b, OP_SHL, part(e, pairs, 1, packed), number(e, packed, 4));
    store_bytes(w, bytes, ir_binary(b, OP_OR, low, high), NULL);
}

void nibbles_store(struct elaborator *e, const struct value *target, struct value v, const struct value *mask,
                   int cache, struct location at)
{
    const struct place_value *place = target->place;
    bool slice = place->place[place->rank - 1] > 0, whole = slice && place->starts_even && !mask, gathers = false;
    const struct ast_parameter *parameter = place->view->parameter;
    struct place_value bytes;
    struct view_value view;
    for (int d = 0; d < place->rank; d++)
        gathers |= place->place[d] == IR_GATHER;
    if (!whole && (!place->view->run->type->readable || (parameter && parameter->direction == DIRECTION_OUT))) {
        report_cut(e, place->view, at,
                   "a single element, a slice under a mask and one that may start at an odd number are written beside "
                   "what is there, so the view is `inout`");
        return;
    }
    place_bytes(place, false, &bytes, &view);
    const struct ir_type *type = ir_type_tile(e->context, view.run->type->element, place->result_rank, place->extent);
    struct writing w = {e, target, convert_to_memory(e, v, type, place->origin, "the stored value"), NULL, cache, at};
    if (mask)
        w.mask = convert_to_type_from(e, *mask, shape_like(e, type, IR_BOOL), place->origin, true, "`mask`");
    if (!w.value || (mask && !w.mask))
        return;
    if (whole)
        store_whole(&w, &bytes, type);
    else if (slice)
        store_by_halves(&w);
    else
        store_single(&w, &bytes, gathers);
}
