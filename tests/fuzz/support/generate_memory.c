/* Random views and accesses.  Inputs are read anywhere, outside too.  Outputs are read and written only in the rows
 * that the instance owns, so that no two instances touch one element; shared views take atomics that commute. */
#include "generate.h"

struct ir_value *fuzz_index(struct generator *g, int64_t value)
{
    return ir_constant_int(&g->builder, ir_type_scalar(g->context, IR_INDEX), value);
}

static int64_t small_power(struct generator *g, int64_t room)
{
    int64_t length = INT64_C(1) << random_below(&g->random, 6);
    return int64_max(1, length < room ? length : room);
}

static struct ir_value *gather_tile(struct generator *g, int rank, const int64_t *shape)
{
    static const enum ir_element elements[] = {IR_INDEX, IR_INDEX, IR_I32, IR_I32, IR_U32, IR_I64,
                                               IR_U64,   IR_I16,   IR_U8,  IR_I8,  IR_U16};
    const struct ir_type *type = ir_type_tile(g->context, elements[random_below(&g->random, 11)], rank, shape);
    struct ir_value *any = fuzz_of_type(g, type, false).value;
    if (random_chance(&g->random, 30)) /* as it is: mostly outside */
        return any;
    return ir_binary(&g->builder, OP_REM, any, ir_constant_int(&g->builder, type, random_between(&g->random, 1, 40)));
}

/* Own rows first: index along dimension 0 lies in [block*number, block*(number+1)). */
static void own_rows(struct generator *g, const struct known_view *view, struct place *place)
{
    struct ir_value *start = ir_binary(&g->builder, OP_MUL, g->row_block, fuzz_index(g, view->block));
    int64_t block = int64_min(view->block, 48); /* of a large one its start */
    int64_t length = small_power(g, block);
    int64_t skip = random_below(&g->random, (int)(block - length + 1));
    place->operand[1] = ir_binary(&g->builder, OP_ADD, start, fuzz_index(g, skip));
    place->entry[0] = random_chance(&g->random, 25) ? IR_POINT : length;
    if (place->entry[0] > 0)
        place->shape[place->result_rank++] = length;
}

/* Where one of the argument's windows begins, for a view of its only dimension; 0: at the start. */
static int64_t far_start(struct generator *g, const struct known_view *view)
{
    const struct fuzz_argument *argument = &g->program->arguments[view->argument];
    if (view->value->definition || argument->extent[0] <= INT32_MAX || random_chance(&g->random, 20))
        return 0;
    return argument->window[random_below(&g->random, argument->windows)];
}

static struct ir_value *moved(struct generator *g, struct ir_value *index, int64_t distance)
{
    if (!distance)
        return index;
    if (index->type->rank)
        index = ir_cast(&g->builder, index, IR_INDEX);
    return ir_binary(&g->builder, OP_ADD, index, ir_constant_int(&g->builder, index->type, distance));
}

void fuzz_make_place(struct generator *g, const struct known_view *view, bool distinct, struct place *place)
{
    const struct ir_type *type = view->value->type;
    int64_t room = g->limits.max_elements;
    *place = (struct place){.operand = {view->value}, .rank = type->rank};
    int first = 0;
    if (view->own_rows) {
        own_rows(g, view, place);
        first = 1;
        room /= place->result_rank ? place->shape[0] : 1;
    }
    int gathers = !distinct && random_chance(&g->random, 30)
                      ? random_between(&g->random, 1, type->rank - first > 1 ? 2 : 1)
                      : 0;
    int gather_at = gathers && type->rank - first >= gathers
                        ? first + random_below(&g->random, type->rank - first - gathers + 1)
                        : -1;
    int64_t gather_shape[2] = {small_power(g, room), 1};
    int gather_rank = random_chance(&g->random, 75) ? 1 : 2;
    for (int d = first; d < type->rank; d++) {
        if (gather_at >= 0 && d >= gather_at && d < gather_at + gathers) {
            place->operand[1 + d] = moved(g, gather_tile(g, gather_rank, gather_shape), far_start(g, view));
            place->entry[d] = IR_GATHER;
            for (int i = 0; d == gather_at && i < gather_rank; i++)
                place->shape[place->result_rank++] = gather_shape[i];
            room = d == gather_at ? room / gather_shape[0] : room;
        } else if (random_chance(&g->random, 25) && type->rank > 1) {
            place->operand[1 + d] = fuzz_index_scalar(g, -1, 20);
            place->entry[d] = IR_POINT;
        } else {
            int64_t length = small_power(g, int64_max(room, 1));
            place->operand[1 + d] = random_chance(&g->random, 40) ? fuzz_index(g, 0) : fuzz_index_scalar(g, -4, 30);
            place->operand[1 + d] = moved(g, place->operand[1 + d], far_start(g, view));
            place->shape[place->result_rank++] = place->entry[d] = length;
            room /= length;
        }
    }
}

/* Some true `inside` bits: a constant that lies in the argument's own extent. */
static int64_t inside_bits(struct generator *g, const struct place *place)
{
    const struct ir_value *view = place->operand[0];
    int64_t bits = 0, at;
    if (view->definition || view->block != g->program->function->body || g->program->arguments[view->index].absent)
        return 0;
    for (int d = 0; d < place->rank; d++) {
        int64_t length = place->entry[d] > 0 ? place->entry[d] : 1;
        if (place->entry[d] != IR_GATHER && ir_constant_integer(place->operand[1 + d], &at) && at >= 0 &&
            at + length <= g->program->arguments[view->index].extent[d] && random_chance(&g->random, 90))
            bits |= INT64_C(1) << d;
    }
    return bits;
}

struct ir_operation *fuzz_access(struct generator *g, enum ir_opcode opcode, const struct place *place, int count,
                                 struct ir_value *const *extra, const struct ir_type *result)
{
    struct ir_value *operands[4 + IR_MAX_RANK];
    int n = 0;
    for (int i = 0; i <= place->rank; i++)
        operands[n++] = place->operand[i];
    for (int i = 0; i < count; i++)
        if (extra[i])
            operands[n++] = extra[i];
    struct ir_operation *made = ir_build(&g->builder, opcode, n, operands, result != NULL, &result);
    ir_set_list(made, IR_ATTRIBUTE_PLACE, place->rank, place->entry);
    int64_t inside = inside_bits(g, place);
    if (inside)
        ir_set_number(made, IR_ATTRIBUTE_INSIDE, inside);
    if ((opcode == OP_LOAD || opcode == OP_STORE) && random_chance(&g->random, 60))
        ir_set_number(made, IR_ATTRIBUTE_CACHE, random_below(&g->random, IR_CACHE_COUNT));
    return made;
}

struct ir_value *fuzz_mask(struct generator *g, const struct place *place)
{
    if (!random_chance(&g->random, 30))
        return NULL;
    int rank = random_chance(&g->random, 20) ? 0 : place->result_rank;
    return fuzz_of_type(g, ir_type_tile(g->context, IR_BOOL, rank, place->shape), false).value;
}

static const struct ir_type *place_type(struct generator *g, const struct known_view *view, const struct place *place)
{
    const struct ir_type *type = view->value->type, *scalar = ir_type_scalar(g->context, type->element);
    if (type->element == IR_POINTER)
        scalar = ir_type_pointer(g->context, type->pointee, type->pointee_const);
    return ir_type_with_shape(g->context, scalar, place->result_rank, place->shape);
}

static void load(struct generator *g, const struct known_view *view)
{
    struct place place;
    fuzz_make_place(g, view, false, &place);
    if (random_chance(&g->random, 30)) {
        const struct ir_type *type = ir_type_tile(g->context, IR_BOOL, place.result_rank, place.shape);
        for (int d = 0; d < place.rank; d++) /* the first element is inside more often than not */
            if (place.entry[d] != IR_GATHER && random_chance(&g->random, 50))
                place.operand[1 + d] = fuzz_index(g, 0);
        fuzz_know(g, fuzz_access(g, OP_INSIDE, &place, 0, NULL, type)->results[0], 0, true);
        return;
    }
    const struct ir_type *type = place_type(g, view, &place), *scalar = ir_type_with_shape(g->context, type, 0, NULL);
    struct known other = {ir_constant_int(&g->builder, random_chance(&g->random, 20) ? scalar : type, 0), 0, true};
    if (random_chance(&g->random, 40))
        other = fuzz_of_type(g, random_chance(&g->random, 30) ? scalar : type, false);
    struct ir_value *extra[2] = {other.value, fuzz_mask(g, &place)};
    struct ir_value *loaded = fuzz_access(g, OP_LOAD, &place, 2, extra, type)->results[0];
    fuzz_know(g, loaded, view->bound > other.bound ? view->bound : other.bound, view->exact && other.exact);
}

/* What is stored keeps the view's promise: a load anywhere, in an earlier line of a loop too, may rely on it. */
struct ir_value *fuzz_storable(struct generator *g, const struct known_view *view, const struct ir_type *type)
{
    struct known value = fuzz_of_type(g, type, view->exact);
    if (view->exact && ir_is_float(type->element) && value.bound > view->bound)
        return fuzz_clamp(g, value.value, view->bound);
    return value.value;
}

static void store(struct generator *g, const struct known_view *view)
{
    struct place place;
    fuzz_make_place(g, view, true, &place);
    struct ir_value *extra[2] = {fuzz_storable(g, view, place_type(g, view, &place)), fuzz_mask(g, &place)};
    fuzz_access(g, OP_STORE, &place, 2, extra, NULL);
}

/* ---- views of views ---- */

static struct ir_value *extent_of(struct generator *g, struct ir_value *view, int dimension)
{
    const struct ir_type *index = ir_type_scalar(g->context, IR_INDEX);
    struct ir_value *extent = ir_build_value(&g->builder, OP_EXTENT, index, 1, &view);
    ir_set_number(extent->definition, IR_ATTRIBUTE_DIMENSION, dimension);
    return extent;
}

/* Its dimensions go, end somewhere, or where the view ends, or are whole. */
static void subview(struct generator *g, const struct known_view *view)
{
    const struct ir_type *type = view->value->type;
    struct ir_value *operands[1 + 2 * IR_MAX_RANK] = {view->value};
    struct ir_type made = *type;
    int64_t drop = 0;
    made.rank = 0;
    for (int d = 0; d < type->rank; d++) {
        bool drops = random_chance(&g->random, 35) && type->rank - __builtin_popcountll((unsigned long long)drop) > 1;
        int64_t far = far_start(g, view);
        operands[1 + 2 * d] = moved(g, fuzz_index_scalar(g, -2, 12), far);
        operands[2 + 2 * d] = drops ? ir_binary(&g->builder, OP_ADD, operands[1 + 2 * d], fuzz_index(g, 1))
                                    : moved(g, fuzz_index_scalar(g, 4, 40), far);
        if (drops) {
            drop |= INT64_C(1) << d;
            continue;
        }
        if (random_chance(&g->random, 40)) {
            operands[2 + 2 * d] = extent_of(g, view->value, d);
            if (random_chance(&g->random, 50))
                operands[1 + 2 * d] = fuzz_index(g, 0);
        }
        made.extent[made.rank] = IR_DYNAMIC;
        made.stride[made.rank++] = type->stride[d];
    }
    made.optional = made.optional || drop;
    struct known_view known = *view;
    known.value = ir_build_value(&g->builder, OP_SUBVIEW, ir_type_intern(g->context, &made), 1 + 2 * type->rank,
                                 operands);
    ir_set_number(known.value->definition, IR_ATTRIBUTE_DROP, drop);
    vector_push(g->arena, &g->views, known);
}

static void view_permute(struct generator *g, const struct known_view *view)
{
    const struct ir_type *type = view->value->type;
    struct ir_type made = *type;
    int64_t order[IR_MAX_RANK];
    for (int d = 0; d < type->rank; d++) {
        int other = random_below(&g->random, d + 1);
        order[d] = order[other];
        order[other] = d;
    }
    for (int d = 0; d < type->rank; d++) {
        made.extent[d] = type->extent[order[d]];
        made.stride[d] = type->stride[order[d]];
    }
    struct known_view known = *view;
    known.value = ir_build_value(&g->builder, OP_VIEW_PERMUTE, ir_type_intern(g->context, &made), 1,
                                 (struct ir_value *[]){view->value});
    ir_set_list(known.value->definition, IR_ATTRIBUTE_PERMUTATION, type->rank, order);
    vector_push(g->arena, &g->views, known);
}

static struct ir_value *stride_of(struct generator *g, struct ir_value *view, int d)
{
    struct ir_value *stride = ir_build_value(&g->builder, OP_STRIDE, ir_type_scalar(g->context, IR_INDEX), 1, &view);
    ir_set_number(stride->definition, IR_ATTRIBUTE_DIMENSION, d);
    return stride;
}

/* In another shape: a dimension in groups, of which what is left over is lost; over the view, or over its pointer. */
static void seen_again(struct generator *g, const struct known_view *view)
{
    const struct ir_type *type = view->value->type;
    const struct fuzz_argument *argument = &g->program->arguments[view->argument];
    struct ir_value *extent[IR_MAX_RANK], *stride[IR_MAX_RANK], *operands[1 + 2 * IR_MAX_RANK] = {view->value};
    struct ir_type made = *type;
    int split = type->rank < 4 && random_chance(&g->random, 80) ? random_below(&g->random, type->rank) : -1;
    int64_t by = random_between(&g->random, 1, 5);
    made.rank = 0;
    for (int d = 0; d < type->rank; d++) {
        struct ir_value *size = extent_of(g, view->value, d), *step = stride_of(g, view->value, d);
        if (d == split) {
            made.extent[made.rank] = made.stride[made.rank] = IR_DYNAMIC;
            extent[made.rank] = ir_binary(&g->builder, OP_DIV, size, fuzz_index(g, by));
            stride[made.rank++] = ir_binary(&g->builder, OP_MUL, step, fuzz_index(g, by));
            size = fuzz_index(g, by);
        }
        made.extent[made.rank] = d == split ? by : type->extent[d];
        made.stride[made.rank] = type->stride[d];
        extent[made.rank] = size;
        stride[made.rank++] = step;
    }
    for (int d = made.rank; d < IR_MAX_RANK; d++)
        made.extent[d] = made.stride[d] = 0;
    bool direct = !view->value->definition && view->value->block == g->program->function->body;
    if (direct && type->element != IR_POINTER && !type->optional && !argument->windows &&
        random_chance(&g->random, 50)) {
        operands[0] = ir_build_value(&g->builder, OP_VIEW_POINTER,
                                     ir_type_pointer(g->context, type->element, !type->writable), 1, operands);
        made.optional = true;
    }
    for (int d = 0; d < made.rank; d++) {
        operands[1 + d] = extent[d];
        operands[1 + made.rank + d] = stride[d];
    }
    struct known_view known = *view;
    known.value = ir_build_value(&g->builder, OP_MAKE_VIEW, ir_type_intern(g->context, &made), 1 + 2 * made.rank,
                                 operands);
    vector_push(g->arena, &g->views, known);
}

/* The instance's own rows of an output as a view that is all its own. */
static void own_part(struct generator *g, const struct known_view *view)
{
    const struct ir_type *type = view->value->type;
    struct ir_value *operands[1 + 2 * IR_MAX_RANK] = {view->value};
    struct ir_type made = *type;
    struct ir_value *start = ir_binary(&g->builder, OP_MUL, g->row_block, fuzz_index(g, view->block));
    for (int d = 0; d < type->rank; d++) {
        operands[1 + 2 * d] = d ? fuzz_index_scalar(g, -2, 6) : start;
        operands[2 + 2 * d] = d ? fuzz_index_scalar(g, 4, 40)
                                : ir_binary(&g->builder, OP_ADD, start, fuzz_index(g, view->block));
        made.extent[d] = IR_DYNAMIC;
    }
    struct known_view known = *view;
    known.own_rows = false;
    known.mine = true;
    known.value = ir_build_value(&g->builder, OP_SUBVIEW, ir_type_intern(g->context, &made), 1 + 2 * type->rank,
                                 operands);
    vector_push(g->arena, &g->views, known);
}

static void ask(struct generator *g, const struct known_view *view)
{
    if (random_chance(&g->random, 25)) {
        const struct ir_type *type = ir_type_scalar(g->context, IR_BOOL);
        fuzz_know(g, ir_build_value(&g->builder, OP_PRESENT, type, 1, (struct ir_value *[]){view->value}), 0, true);
        return;
    }
    enum ir_opcode opcode = random_chance(&g->random, 60) ? OP_EXTENT : OP_STRIDE;
    static const enum ir_element elements[] = {IR_INDEX, IR_INDEX, IR_INDEX, IR_I8,  IR_I16, IR_I32,
                                               IR_I64,   IR_U8,    IR_U16,   IR_U32, IR_U64};
    const struct ir_type *type = ir_type_scalar(g->context, elements[random_below(&g->random, 11)]);
    struct ir_value *made = ir_build_value(&g->builder, opcode, type, 1, (struct ir_value *[]){view->value});
    ir_set_number(made->definition, IR_ATTRIBUTE_DIMENSION, random_below(&g->random, view->value->type->rank));
    fuzz_know(g, made, 0, true);
}

/* Something true of this run, said to the compiler. */
static void assume(struct generator *g, const struct known_view *view)
{
    const struct ir_type *index = ir_type_scalar(g->context, IR_INDEX);
    const struct fuzz_argument *argument = &g->program->arguments[view->argument];
    struct ir_value *left, *right;
    enum ir_predicate predicate;
    if (view->value->definition || view->value->block != g->program->function->body || random_chance(&g->random, 30)) {
        left = g->row_block;
        right = fuzz_index(g, random_chance(&g->random, 50) ? 100 : 0);
        int64_t bound;
        ir_constant_integer(right, &bound);
        predicate = bound ? IR_PREDICATE_LT : IR_PREDICATE_GE;
    } else {
        static const enum ir_predicate true_of_equals[] = {IR_PREDICATE_EQ, IR_PREDICATE_LE, IR_PREDICATE_GE};
        int d = random_below(&g->random, argument->type->rank);
        bool extent = random_chance(&g->random, 70);
        left = ir_build_value(&g->builder, extent ? OP_EXTENT : OP_STRIDE, index, 1,
                              (struct ir_value *[]){view->value});
        ir_set_number(left->definition, IR_ATTRIBUTE_DIMENSION, d);
        right = fuzz_index(g, extent ? argument->extent[d] : argument->stride[d]);
        predicate = true_of_equals[random_below(&g->random, 3)];
        if (random_chance(&g->random, 40)) { /* so much is left by a division */
            int64_t number = extent ? argument->extent[d] : argument->stride[d], by = random_between(&g->random, 2, 16);
            left = ir_binary(&g->builder, OP_REM, left, fuzz_index(g, by));
            right = fuzz_index(g, number % by);
            predicate = IR_PREDICATE_EQ;
        }
    }
    struct ir_value *condition = ir_compare(&g->builder, predicate, left, right);
    ir_build(&g->builder, OP_ASSUME, 1, &condition, 0, NULL);
}

enum kind { ASSUME, LOAD, STORE, ATOMIC, BY_POINTER, ASK, SUBVIEW, PERMUTE, SEEN_AGAIN, OWN_PART, KIND_COUNT };

static bool fits(const struct generator *g, const struct known_view *view, enum kind kind)
{
    bool written = (view->own_rows || view->mine) && !view->read_only,
         direct = !view->value->definition && view->value->block == g->program->function->body;
    switch (kind) {
    case ATOMIC:
        return (view->atomic || written) && view->value->type->element != IR_BOOL &&
               view->value->type->element != IR_POINTER;
    case STORE: return written;
    case BY_POINTER:
        return direct && view->value->type->element != IR_POINTER && !view->read_only &&
               !g->program->arguments[view->argument].windows;
    case LOAD: return !view->atomic;
    case SUBVIEW:
    case SEEN_AGAIN:
    case PERMUTE: return !view->atomic && !view->own_rows;
    case OWN_PART: return view->own_rows;
    default: return !view->atomic;
    }
}

void fuzz_memory_statement(struct generator *g)
{
    static const enum kind kinds[] = {
        ASSUME,     LOAD,       LOAD,       LOAD,       LOAD,       STORE,      STORE,      ATOMIC,     ATOMIC,
        ATOMIC,     ATOMIC,     ATOMIC,     ATOMIC,     BY_POINTER, BY_POINTER, BY_POINTER, BY_POINTER, BY_POINTER,
        BY_POINTER, BY_POINTER, BY_POINTER, BY_POINTER, BY_POINTER, BY_POINTER, BY_POINTER, BY_POINTER, ASK,
        ASK,        SUBVIEW,    SUBVIEW,    PERMUTE,    OWN_PART,   SEEN_AGAIN, SEEN_AGAIN};
    enum kind kind = g->limits.no_memory_tricks ? LOAD
                                                : kinds[random_below(&g->random, (int)(sizeof kinds / sizeof *kinds))];
    struct known_view view = g->views.data[random_below(&g->random, g->views.count)]; /* a copy: the vector may move */
    bool written = kind == BY_POINTER && random_chance(&g->random, 85); /* where pointers may do more than read */
    for (int tries = 0; tries < 16 && (!fits(g, &view, kind) || (written && !view.own_rows && !view.atomic)); tries++)
        view = g->views.data[random_below(&g->random, g->views.count)];
    if (!fits(g, &view, kind))
        return;
    switch (kind) {
    case ASSUME: assume(g, &view); return;
    case LOAD: load(g, &view); return;
    case STORE: store(g, &view); return;
    case ATOMIC: fuzz_atomic(g, &view); return;
    case BY_POINTER: fuzz_pointer_statement(g, &view); return;
    case ASK: ask(g, &view); return;
    case SUBVIEW: subview(g, &view); return;
    case PERMUTE: view_permute(g, &view); return;
    case SEEN_AGAIN: seen_again(g, &view); return;
    case OWN_PART: own_part(g, &view); return;
    case KIND_COUNT: return;
    }
}

void fuzz_final_stores(struct generator *g)
{
    int count = g->views.count;
    for (int i = 0; i < count; i++) {
        struct known_view view = g->views.data[i];
        if ((view.own_rows || view.mine) && !view.read_only)
            store(g, &view);
    }
}
