/* Random views and accesses.  Inputs are read anywhere, outside too.  Outputs are read and written only in the rows that the
 * instance owns, so that no two instances touch one element; shared views take atomics that commute. */
#include "generate.h"

static struct ir_value *index_constant(struct generator *g, int64_t value)
{
    return ir_constant_int(&g->builder, ir_type_scalar(g->context, IR_INDEX), value);
}

/* A place into a view: its operands, PLACE entries and the shape that comes out. */
struct place { struct ir_value *operand[1 + IR_MAX_RANK]; int64_t entry[IR_MAX_RANK], shape[IR_MAX_RANK]; int rank, result_rank; };

static int64_t small_power(struct generator *g, int64_t room)
{
    int64_t length = INT64_C(1) << random_below(&g->random, 6);
    return int64_max(1, length < room ? length : room);
}

static struct ir_value *gather_tile(struct generator *g, int rank, const int64_t *shape)
{
    const struct ir_type *type = ir_type_tile(g->context, random_chance(&g->random, 50) ? IR_INDEX : IR_I32, rank, shape);
    struct ir_value *any = fuzz_of_type(g, type, false).value;
    if (random_chance(&g->random, 30)) /* as it is: mostly outside */
        return any;
    return ir_binary(&g->builder, OP_REM, any, ir_constant_int(&g->builder, type, random_between(&g->random, 1, 40)));
}

/* Own rows first: index along dimension 0 lies in [block*number, block*(number+1)). */
static void own_rows(struct generator *g, const struct known_view *view, struct place *place)
{
    struct ir_value *start = ir_binary(&g->builder, OP_MUL, g->row_block, index_constant(g, view->block));
    int64_t length = small_power(g, view->block);
    int64_t skip = random_below(&g->random, (int)(view->block - length + 1));
    place->operand[1] = ir_binary(&g->builder, OP_ADD, start, index_constant(g, skip));
    place->entry[0] = random_chance(&g->random, 25) ? IR_POINT : length;
    if (place->entry[0] > 0)
        place->shape[place->result_rank++] = length;
}

static void make_place(struct generator *g, const struct known_view *view, bool distinct, struct place *place)
{
    const struct ir_type *type = view->value->type;
    int64_t room = g->limits.max_elements;
    *place = (struct place){ .operand = { view->value }, .rank = type->rank };
    int first = 0;
    if (view->own_rows) {
        own_rows(g, view, place);
        first = 1;
        room /= place->result_rank ? place->shape[0] : 1;
    }
    int gathers = !distinct && random_chance(&g->random, 30) ? random_between(&g->random, 1, type->rank - first > 1 ? 2 : 1) : 0;
    int gather_at = gathers && type->rank - first >= gathers ? first + random_below(&g->random, type->rank - first - gathers + 1) : -1;
    int64_t gather_shape[2] = { small_power(g, room), 1 };
    int gather_rank = random_chance(&g->random, 75) ? 1 : 2;
    for (int d = first; d < type->rank; d++) {
        if (gather_at >= 0 && d >= gather_at && d < gather_at + gathers) {
            place->operand[1 + d] = gather_tile(g, gather_rank, gather_shape);
            place->entry[d] = IR_GATHER;
            for (int i = 0; d == gather_at && i < gather_rank; i++)
                place->shape[place->result_rank++] = gather_shape[i];
            room = d == gather_at ? room / gather_shape[0] : room;
        } else if (random_chance(&g->random, 25) && type->rank > 1) {
            place->operand[1 + d] = fuzz_index_scalar(g, -1, 20);
            place->entry[d] = IR_POINT;
        } else {
            int64_t length = small_power(g, int64_max(room, 1));
            place->operand[1 + d] = random_chance(&g->random, 40) ? index_constant(g, 0) : fuzz_index_scalar(g, -4, 30);
            place->shape[place->result_rank++] = place->entry[d] = length;
            room /= length;
        }
    }
}

static struct ir_operation *build_access(struct generator *g, enum ir_opcode opcode, const struct place *place,
                                         struct ir_value *extra, struct ir_value *mask, const struct ir_type *result)
{
    struct ir_value *operands[3 + IR_MAX_RANK];
    int count = 0;
    for (int i = 0; i <= place->rank; i++)
        operands[count++] = place->operand[i];
    if (extra)
        operands[count++] = extra;
    if (mask)
        operands[count++] = mask;
    struct ir_operation *made = ir_build(&g->builder, opcode, count, operands, result != NULL, &result);
    ir_set_list(made, IR_ATTRIBUTE_PLACE, place->rank, place->entry);
    return made;
}

static struct ir_value *maybe_mask(struct generator *g, const struct place *place)
{
    if (!random_chance(&g->random, 30))
        return NULL;
    return fuzz_of_type(g, ir_type_tile(g->context, IR_BOOL, place->result_rank, place->shape), false).value;
}

static const struct ir_type *place_type(struct generator *g, const struct known_view *view, const struct place *place)
{
    return ir_type_with_shape(g->context, ir_type_scalar(g->context, view->value->type->element), place->result_rank, place->shape);
}

static void load(struct generator *g, const struct known_view *view)
{
    struct place place;
    make_place(g, view, false, &place);
    if (random_chance(&g->random, 10)) {
        const struct ir_type *type = ir_type_tile(g->context, IR_BOOL, place.result_rank, place.shape);
        fuzz_know(g, build_access(g, OP_INSIDE, &place, NULL, NULL, type)->results[0], 0, true);
        return;
    }
    const struct ir_type *type = place_type(g, view, &place);
    struct known other = { ir_constant_int(&g->builder, type, 0), 0, true };
    if (random_chance(&g->random, 40))
        other = fuzz_of_type(g, type, false);
    struct ir_value *mask = maybe_mask(g, &place);
    struct ir_value *loaded = build_access(g, OP_LOAD, &place, other.value, mask, type)->results[0];
    fuzz_know(g, loaded, view->bound > other.bound ? view->bound : other.bound, view->exact && other.exact);
}

/* What is stored keeps the view's promise: a load anywhere, in an earlier line of a loop too, may rely on it. */
static void store(struct generator *g, const struct known_view *view)
{
    struct place place;
    make_place(g, view, true, &place);
    struct known value = fuzz_of_type(g, place_type(g, view, &place), view->exact);
    if (view->exact && ir_is_float(value.value->type->element) && value.bound > view->bound)
        value.value = fuzz_clamp(g, value.value, view->bound);
    build_access(g, OP_STORE, &place, value.value, maybe_mask(g, &place), NULL);
}

static void atomic(struct generator *g, const struct known_view *view)
{
    static const enum ir_action actions[] = { IR_ACTION_ADD, IR_ACTION_MIN, IR_ACTION_MAX, IR_ACTION_AND, IR_ACTION_OR, IR_ACTION_XOR };
    struct place place;
    const struct ir_type *scalar = ir_type_scalar(g->context, view->value->type->element);
    /* one action a view: min and add do not commute; the view's argument number chooses */
    bool real = ir_is_float(scalar->element);
    enum ir_action action = real ? IR_ACTION_ADD : actions[view->argument % 6];
    make_place(g, view, false, &place);
    struct known value = fuzz_of_type(g, place_type(g, view, &place), true);
    if (real && value.bound > 64)
        return;
    struct ir_operation *made = build_access(g, OP_ATOMIC, &place, value.value, maybe_mask(g, &place), place_type(g, view, &place));
    ir_set_number(made, IR_ATTRIBUTE_ACTION, action);
    ir_set_number(made, IR_ATTRIBUTE_ORDER, IR_ORDER_RELAXED);
}

/* ---- views of views ---- */

static void subview(struct generator *g, const struct known_view *view)
{
    const struct ir_type *type = view->value->type;
    struct ir_value *operands[1 + 2 * IR_MAX_RANK] = { view->value };
    struct ir_type made = *type;
    int64_t drop = 0;
    made.rank = 0;
    for (int d = 0; d < type->rank; d++) {
        bool drops = random_chance(&g->random, 25) && type->rank - __builtin_popcountll((unsigned long long)drop) > 1;
        operands[1 + 2 * d] = fuzz_index_scalar(g, -2, 12);
        operands[2 + 2 * d] = drops ? ir_binary(&g->builder, OP_ADD, operands[1 + 2 * d], index_constant(g, 1)) : fuzz_index_scalar(g, 4, 40);
        if (drops) {
            drop |= INT64_C(1) << d;
            continue;
        }
        made.extent[made.rank] = IR_DYNAMIC;
        made.stride[made.rank++] = type->stride[d];
    }
    made.optional = made.optional || drop;
    struct known_view known = *view;
    known.value = ir_build_value(&g->builder, OP_SUBVIEW, ir_type_intern(g->context, &made), 1 + 2 * type->rank, operands);
    ir_set_number(known.value->definition, IR_ATTRIBUTE_DROP, drop);
    vector_push(g->arena, &g->views, known);
}

static void view_permute(struct generator *g, const struct known_view *view)
{
    const struct ir_type *type = view->value->type;
    struct ir_type made = *type;
    int64_t order[IR_MAX_RANK];
    for (int d = 0; d < type->rank; d++) {
        order[d] = type->rank - 1 - d;
        made.extent[d] = type->extent[order[d]];
        made.stride[d] = type->stride[order[d]];
    }
    struct known_view known = *view;
    known.value = ir_build_value(&g->builder, OP_VIEW_PERMUTE, ir_type_intern(g->context, &made), 1, (struct ir_value *[]){ view->value });
    ir_set_list(known.value->definition, IR_ATTRIBUTE_PERMUTATION, type->rank, order);
    vector_push(g->arena, &g->views, known);
}

static void ask(struct generator *g, const struct known_view *view)
{
    if (random_chance(&g->random, 25)) {
        const struct ir_type *type = ir_type_scalar(g->context, IR_BOOL);
        fuzz_know(g, ir_build_value(&g->builder, OP_PRESENT, type, 1, (struct ir_value *[]){ view->value }), 0, true);
        return;
    }
    enum ir_opcode opcode = random_chance(&g->random, 60) ? OP_EXTENT : OP_STRIDE;
    struct ir_value *made = ir_build_value(&g->builder, opcode, ir_type_scalar(g->context, IR_INDEX), 1, (struct ir_value *[]){ view->value });
    ir_set_number(made->definition, IR_ATTRIBUTE_DIMENSION, random_below(&g->random, view->value->type->rank));
    fuzz_know(g, made, 0, true);
}

/* Pointers to an input: offsets are kept inside its allocation. */
static void pointer_load(struct generator *g, const struct known_view *view)
{
    const struct fuzz_argument *argument = &g->program->arguments[view->argument];
    if (argument->absent || view->value->definition)
        return;
    int64_t length = small_power(g, 64);
    int rank = random_below(&g->random, 2);
    const struct ir_type *offsets = ir_type_tile(g->context, IR_U32, rank, &length);
    struct ir_value *offset = ir_binary(&g->builder, OP_REM, fuzz_of_type(g, offsets, false).value,
                                        ir_constant_int(&g->builder, offsets, argument->elements));
    const struct ir_type *pointer = ir_type_pointer(g->context, view->value->type->element, true);
    struct ir_value *base = ir_build_value(&g->builder, OP_VIEW_POINTER, pointer, 1, (struct ir_value *[]){ view->value });
    base = ir_broadcast(&g->builder, base, rank, &length);
    struct ir_value *address = ir_build_value(&g->builder, OP_POINTER_ADD, base->type, 2, (struct ir_value *[]){ base, offset });
    const struct ir_type *type = ir_type_tile(g->context, view->value->type->element, rank, &length);
    struct ir_value *operands[3] = { address, ir_constant_int(&g->builder, type, 0) };
    int count = 2;
    if (random_chance(&g->random, 50))
        operands[count++] = fuzz_of_type(g, ir_type_tile(g->context, IR_BOOL, rank, &length), false).value;
    fuzz_know(g, ir_build_value(&g->builder, OP_POINTER_LOAD, type, count, operands), view->bound, view->exact);
}

void fuzz_memory_statement(struct generator *g)
{
    const struct known_view *view = &g->views.data[random_below(&g->random, g->views.count)];
    if (view->atomic) {
        atomic(g, view);
        return;
    }
    int dice = random_below(&g->random, 100);
    if (view->own_rows) {
        if (dice < 60)
            store(g, view);
        else
            load(g, view);
        return;
    }
    struct known_view copy = *view; /* the vector may move */
    if (dice < 65 || g->limits.no_memory_tricks)
        load(g, &copy);
    else if (dice < 76 && g->depth == 0) /* a view made in a region does not outlive it */
        subview(g, &copy);
    else if (dice < 82 && g->depth == 0)
        view_permute(g, &copy);
    else if (dice < 92)
        ask(g, &copy);
    else
        pointer_load(g, &copy);
}

void fuzz_final_stores(struct generator *g)
{
    for (int i = 0; i < g->views.count; i++)
        if (g->views.data[i].own_rows)
            store(g, &g->views.data[i]);
}
