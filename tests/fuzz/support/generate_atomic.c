/* Atomics, and accesses by pointers.  Two kinds of memory: what only this instance touches takes every action and
 * its old values are used; what all instances share takes one action that commutes, and nobody looks at what it was. */
#include "generate.h"

static bool takes_bits(enum ir_action action)
{
    return action == IR_ACTION_AND || action == IR_ACTION_OR || action == IR_ACTION_XOR;
}

static void set_order(struct generator *g, struct ir_operation *made)
{
    if (random_chance(&g->random, 95))
        ir_set_number(made, IR_ATTRIBUTE_ORDER, random_below(&g->random, IR_ORDER_COUNT));
    if (random_chance(&g->random, 80))
        ir_set_number(made, IR_ATTRIBUTE_SCOPE, random_below(&g->random, IR_SCOPE_COUNT));
}

/* Sums of narrow floats would be rounded: they take minima. */
static enum ir_action shared_action(const struct generator *g, const struct known_view *view)
{
    int number = (int)((g->program->seed + (uint64_t)view->argument) % 6); /* the same wherever the view stands */
    static const enum ir_action actions[] = {IR_ACTION_ADD, IR_ACTION_MIN, IR_ACTION_MAX,
                                             IR_ACTION_AND, IR_ACTION_OR,  IR_ACTION_XOR};
    enum ir_element element = view->value->type->element;
    if (!ir_is_float(element))
        return actions[number];
    return element == IR_F32 || element == IR_F64 ? actions[number % 3] : actions[1 + number % 2];
}

static enum ir_action own_action(struct generator *g, const struct known_view *view)
{
    enum ir_action action = (enum ir_action)random_between(&g->random, IR_ACTION_EXCHANGE, IR_ACTION_STORE);
    if (random_chance(&g->random, 18)) /* the three that shared memory never takes */
        return action;
    do
        action = (enum ir_action)random_below(&g->random, IR_ACTION_COUNT);
    while (takes_bits(action) && ir_is_float(view->value->type->element));
    return action;
}

/* What an atomic may bring without breaking the view's promise: additions to what must stay small bring nothing. */
static struct ir_value *brought(struct generator *g, const struct known_view *view, enum ir_action action,
                                const struct ir_type *type)
{
    bool small = ir_is_float(type->element) && (view->atomic || view->exact);
    if (small && action == IR_ACTION_ADD && !view->atomic)
        return ir_constant_float(&g->builder, type, random_chance(&g->random, 50) ? 0.0 : -0.0);
    if (view->atomic && small)
        return fuzz_clamp(g, fuzz_of_type(g, type, true).value, 8);
    return fuzz_storable(g, view, type);
}

static void compare_and_swap(struct generator *g, const struct known_view *view, const struct place *place,
                             const struct ir_type *type)
{
    struct known expected = fuzz_of_type(g, type, true);
    if (random_chance(&g->random, 60)) { /* what is there */
        struct ir_value *other = ir_constant_int(&g->builder, type, 0);
        expected = (struct known){fuzz_access(g, OP_LOAD, place, 1, &other, type)->results[0], view->bound,
                                  view->exact};
    }
    struct ir_value *extra[3] = {expected.value, fuzz_storable(g, view, type), fuzz_mask(g, place)};
    struct ir_operation *made = fuzz_access(g, OP_ATOMIC_CAS, place, 3, extra, type);
    set_order(g, made);
    fuzz_know(g, made->results[0], view->bound, view->exact);
}

void fuzz_atomic(struct generator *g, const struct known_view *view)
{
    enum ir_element element = view->value->type->element;
    if (element == IR_BOOL || element == IR_POINTER)
        return;
    struct place place;
    fuzz_make_place(g, view, !view->atomic, &place);
    const struct ir_type *type = ir_type_with_shape(g->context, ir_type_scalar(g->context, element), place.result_rank,
                                                    place.shape);
    if (!view->atomic && random_chance(&g->random, 40)) {
        compare_and_swap(g, view, &place, type);
        return;
    }
    enum ir_action action = view->atomic ? shared_action(g, view) : own_action(g, view);
    struct ir_value *extra[2] = {brought(g, view, action, type), fuzz_mask(g, &place)};
    struct ir_operation *made = fuzz_access(g, OP_ATOMIC, &place, 2, extra, type);
    ir_set_number(made, IR_ATTRIBUTE_ACTION, action);
    set_order(g, made);
    if (!view->atomic)
        fuzz_know(g, made->results[0], view->bound, view->exact);
}

/* ---- pointers ---- */

/* A tile of addresses in an argument, and for which of them there is an element; mask NULL: for all. */
struct addresses {
    struct ir_value *pointer, *mask;
    int rank;
    int64_t length;
};

static struct ir_value *start_of(struct generator *g, const struct known_view *view, int rank, int64_t length)
{
    bool written = view->value->type->writable;
    const struct ir_type *type = ir_type_pointer(g->context, view->value->type->element,
                                                 !written || random_chance(&g->random, 10));
    if (written && (view->own_rows || view->atomic))
        type = ir_type_pointer(g->context, view->value->type->element, false);
    struct ir_value *base = ir_build_value(&g->builder, OP_VIEW_POINTER, type, 1, (struct ir_value *[]){view->value});
    fuzz_know(g, base, 0, true);
    return ir_broadcast(&g->builder, base, rank, &length);
}

static struct ir_value *add(struct generator *g, struct ir_value *base, struct ir_value *offset)
{
    return ir_build_value(&g->builder, OP_POINTER_ADD, base->type, 2, (struct ir_value *[]){base, offset});
}

/* Anywhere in an argument's memory. */
static void any_addresses(struct generator *g, const struct known_view *view, struct addresses *out)
{
    static const enum ir_element elements[] = {IR_U32, IR_U64, IR_U16, IR_U8};
    int64_t elements_there = g->program->arguments[view->argument].elements;
    enum ir_element element = elements[random_below(&g->random, 4)];
    if (ir_element_info[element].bits == 8 && elements_there > 200)
        element = IR_U32;
    const struct ir_type *type = ir_type_tile(g->context, element, out->rank, &out->length);
    struct ir_value *offset = ir_binary(&g->builder, OP_REM, fuzz_of_type(g, type, false).value,
                                        ir_constant_int(&g->builder, type, elements_there));
    out->pointer = add(g, start_of(g, view, out->rank, out->length), offset);
    if (random_chance(&g->random, 40))
        out->mask = fuzz_of_type(g, ir_type_tile(g->context, IR_BOOL, out->rank, &out->length), false).value;
}

/* One row of the instance's own, as much of it as the view has; each address once. */
static void own_addresses(struct generator *g, const struct known_view *view, struct addresses *out)
{
    static const enum ir_element elements[] = {IR_INDEX, IR_INDEX, IR_I64, IR_I32, IR_U64, IR_U32};
    const struct fuzz_argument *argument = &g->program->arguments[view->argument];
    struct ir_builder *b = &g->builder;
    int last = argument->type->rank - 1;
    bool vector = last == 0; /* the row itself is the vector */
    int64_t skip = random_below(&g->random, (int)argument->block), fixed = 0;
    if (vector && out->rank && out->length > argument->block - skip)
        skip = 0;
    if (vector && out->rank && out->length > argument->block)
        out->length = argument->block;
    struct ir_value *row = ir_binary(b, OP_ADD, ir_binary(b, OP_MUL, g->row_block, fuzz_index(g, argument->block)),
                                     fuzz_index(g, skip));
    for (int d = 1; d < last; d++)
        fixed += random_below(&g->random, (int)argument->extent[d]) * argument->stride[d];
    struct ir_value *count = ir_broadcast(b, fuzz_index(g, random_below(&g->random, (int)argument->extent[last])),
                                          out->rank, &out->length);
    if (out->rank)
        count = ir_build_value(b, OP_IOTA, ir_type_tile(g->context, IR_INDEX, 1, &out->length), 0, NULL);
    struct ir_value *rows = ir_broadcast(b, row, out->rank, &out->length), *offset;
    struct ir_value *limit = ir_broadcast(b, fuzz_index(g, argument->extent[0]), out->rank, &out->length);
    struct ir_value *step = ir_broadcast(b, fuzz_index(g, argument->stride[last]), out->rank, &out->length);
    if (vector) {
        if (out->rank)
            rows = ir_binary(b, OP_ADD, rows, count);
        offset = ir_binary(b, OP_MUL, rows, step);
        out->mask = ir_compare(b, IR_PREDICATE_LT, rows, limit);
    } else {
        struct ir_value *columns = ir_broadcast(b, fuzz_index(g, argument->extent[last]), out->rank, &out->length);
        struct ir_value *pitch = ir_broadcast(b, fuzz_index(g, argument->stride[0]), out->rank, &out->length);
        offset = ir_binary(b, OP_ADD, ir_binary(b, OP_MUL, rows, pitch), ir_binary(b, OP_MUL, count, step));
        offset = ir_binary(b, OP_ADD, offset, ir_broadcast(b, fuzz_index(g, fixed), out->rank, &out->length));
        out->mask = ir_binary(b, OP_AND, ir_compare(b, IR_PREDICATE_LT, rows, limit),
                              ir_compare(b, IR_PREDICATE_LT, count, columns));
    }
    offset = ir_cast(b, offset, elements[random_below(&g->random, 6)]);
    out->pointer = add(g, start_of(g, view, out->rank, out->length), offset);
}

static bool has_memory(const struct fuzz_argument *argument)
{
    for (int d = 0; d < argument->type->rank; d++)
        if (argument->extent[d] < 1)
            return false;
    return !argument->absent;
}

/* Compared, chosen between, handed on. */
static void play(struct generator *g, struct addresses *at)
{
    struct ir_value *one = ir_constant_int(&g->builder, ir_type_tile(g->context, IR_INDEX, at->rank, &at->length),
                                           random_below(&g->random, 3));
    struct ir_value *near = add(g, at->pointer, one);
    struct ir_value *less = ir_compare(&g->builder, (enum ir_predicate)random_below(&g->random, IR_PREDICATE_COUNT),
                                       at->pointer, near);
    fuzz_know(g, less, 0, true);
    at->pointer = ir_select(&g->builder, less, at->pointer, at->pointer);
    if (random_chance(&g->random, 40)) {
        static const enum ir_element elements[] = {IR_U64, IR_I64, IR_INDEX, IR_F64};
        const struct ir_type *type = ir_type_tile(g->context, elements[random_below(&g->random, 4)], at->rank,
                                                  &at->length);
        struct ir_value *bits = ir_build_value(&g->builder, OP_BITCAST, type, 1, &at->pointer);
        at->pointer = ir_build_value(&g->builder, OP_BITCAST, at->pointer->type, 1, &bits);
    }
    if (random_chance(&g->random, 50))
        fuzz_know(g, at->pointer, 0, true);
}

static void act(struct generator *g, const struct known_view *view, const struct addresses *at,
                const struct ir_type *type)
{
    enum ir_element element = type->element;
    struct ir_value *operands[4] = {at->pointer};
    int count = 1, dice = random_below(&g->random, 100);
    enum ir_action action = view->atomic ? shared_action(g, view) : own_action(g, view);
    const struct ir_type *none = NULL;
    struct ir_operation *made;
    if (!view->atomic && (dice < 33 || element == IR_BOOL)) {
        operands[count++] = fuzz_storable(g, view, type);
        if (at->mask)
            operands[count++] = at->mask;
        made = ir_build(&g->builder, OP_POINTER_STORE, count, operands, 0, &none);
        if (random_chance(&g->random, 80))
            ir_set_number(made, IR_ATTRIBUTE_CACHE, random_below(&g->random, IR_CACHE_COUNT));
        return;
    }
    bool swap = !view->atomic && dice < 60;
    if (swap)
        operands[count++] = fuzz_of_type(g, type, true).value;
    operands[count++] = swap ? fuzz_storable(g, view, type) : brought(g, view, action, type);
    if (at->mask)
        operands[count++] = at->mask;
    made = ir_build(&g->builder, swap ? OP_POINTER_CAS : OP_POINTER_ATOMIC, count, operands, 1, &type);
    if (!swap)
        ir_set_number(made, IR_ATTRIBUTE_ACTION, action);
    set_order(g, made);
    if (!view->atomic)
        fuzz_know(g, made->results[0], view->bound, view->exact);
}

void fuzz_pointer_statement(struct generator *g, const struct known_view *view)
{
    const struct ir_value *value = view->value;
    enum ir_element element = value->type->element;
    if (value->definition || value->block != g->program->function->body || element == IR_POINTER ||
        !has_memory(&g->program->arguments[view->argument]) || (view->atomic && element == IR_BOOL))
        return;
    struct addresses at = {.rank = random_below(&g->random, 4) > 0,
                           .length = INT64_C(1) << random_below(&g->random, 6)};
    if (view->own_rows)
        own_addresses(g, view, &at);
    else
        any_addresses(g, view, &at);
    if (random_chance(&g->random, 30))
        play(g, &at);
    const struct ir_type *type = ir_type_tile(g->context, element, at.rank, &at.length);
    if (view->atomic || (view->own_rows && random_chance(&g->random, 85))) {
        act(g, view, &at, type);
        return;
    }
    struct known other = {ir_constant_int(&g->builder, type, 0), 0, true};
    if (random_chance(&g->random, 50))
        other = fuzz_of_type(g, random_chance(&g->random, 30) ? ir_type_scalar(g->context, element) : type, false);
    struct ir_value *operands[3] = {at.pointer, other.value, at.mask};
    struct ir_value *loaded = ir_build_value(&g->builder, OP_POINTER_LOAD, type, at.mask ? 3 : 2, operands);
    if (random_chance(&g->random, 80))
        ir_set_number(loaded->definition, IR_ATTRIBUTE_CACHE, random_below(&g->random, IR_CACHE_COUNT));
    fuzz_know(g, loaded, view->bound > other.bound ? view->bound : other.bound, view->exact && other.exact);
}
