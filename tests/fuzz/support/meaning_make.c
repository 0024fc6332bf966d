/* Expressions of random sources whose meaning is known (see meaning.h): every node is made for a type and a shape. */
#include "meaning_make.h"

#include <math.h>
#include <string.h>

enum { MOST_DEPTH = 4 };
static const struct meaning_shape scalar;

static int below(struct maker *k, int limit) { return random_below(k->random, limit); }
static bool chance(struct maker *k, int percent) { return random_chance(k->random, percent); }

const char *meaning_make_name(struct maker *k, const char *prefix)
{
    return arena_printf(k->arena, "%s%d", prefix, k->names++);
}

struct meaning_node *meaning_make_node(struct maker *k, enum meaning_kind kind, enum ir_element element,
                                       struct meaning_shape shape, struct meaning_node *a, struct meaning_node *b,
                                       struct meaning_node *c)
{
    struct meaning_node *node = ARENA_NEW(k->arena, struct meaning_node);
    *node = (struct meaning_node){.kind = kind, .element = element, .shape = shape, .operand = {a, b, c}, .axis = -1};
    node->constant = a && a->constant && (!b || b->constant) && (!c || c->constant) && shape.rank == 0 &&
                     kind != MEANING_STRETCH;
    return node;
}

enum ir_element meaning_make_element(struct maker *k) { return k->host ? IR_I64 : k->palette[below(k, 4)]; }

struct meaning_shape meaning_make_shape(struct maker *k)
{
    static const struct meaning_shape shapes[] = {{1, {4}},    {1, {8}},    {1, {3}},       {1, {1}},   {2, {2, 4}},
                                                  {2, {4, 2}}, {2, {3, 2}}, {3, {2, 2, 3}}, {2, {4, 4}}};
    return shapes[below(k, 9)];
}

struct meaning_shape meaning_make_part_shape(struct maker *k, struct meaning_shape shape)
{
    int dice = below(k, 10);
    if (dice < 2)
        return scalar;
    if (dice < 5 && shape.rank > 0)
        shape.extent[below(k, shape.rank)] = 1;
    return shape;
}

enum ir_element meaning_sum_element(enum ir_element element)
{
    return element == IR_BOOL || ir_element_info[element].bits < 32 ? IR_I32 : element;
}

static int64_t any_integer(struct maker *k, enum ir_element element)
{
    int bits = ir_element_info[element].bits;
    static const int64_t few[] = {0, 1, -1, 2, 3, 5, 7, 100};
    union meaning_cell value;
    switch (below(k, 8)) {
    case 0: value.integer = (int64_t)(UINT64_MAX << (bits - 1)); break;
    case 1: value.integer = (int64_t)((UINT64_C(1) << (bits - 1)) - 1); break;
    case 2: value.integer = (int64_t)(random_next(k->random) >> below(k, 64)); break;
    default: value.integer = few[below(k, 8)]; break;
    }
    return meaning_fit(element, value).integer;
}

struct meaning_node *meaning_make_number(struct maker *k, int64_t value)
{
    struct meaning_node *node = meaning_make_node(k, MEANING_LITERAL, IR_I64, scalar, NULL, NULL, NULL);
    node->value.integer = value;
    node->bare = node->constant = true;
    return node;
}

struct meaning_node *meaning_make_literal(struct maker *k, enum ir_element element)
{
    struct meaning_node *node = meaning_make_number(k, 0);
    if (k->host && element == IR_I64) {
        node->value.integer = random_between(k->random, -3, 20);
        return node;
    }
    node->element = element;
    node->bare = element == IR_BOOL;
    node->axis = chance(k, 20); /* in hexadecimal */
    if (ir_is_float(element))
        node->value.real = chance(k, 12)  ? (chance(k, 30) ? (double)INFINITY : (double)NAN)
                           : chance(k, 4) ? -(double)INFINITY
                                          : (double)random_between(k->random, -12, 12) / 2;
    else
        node->value.integer = element == IR_BOOL ? below(k, 2) : any_integer(k, element);
    return node;
}

struct meaning_node *meaning_make_variable(struct maker *k, const struct meaning_variable *variable)
{
    struct meaning_node *node = meaning_make_node(k, MEANING_VARIABLE, variable->element, variable->shape, NULL, NULL,
                                                  NULL);
    node->name = variable->name;
    node->slot = variable->slot;
    node->constant = variable->constant;
    return node;
}

static struct meaning_node *any_variable(struct maker *k, enum ir_element element, struct meaning_shape shape)
{
    for (int tries = 0; k->scope.variable_count && tries < 10; tries++) {
        const struct meaning_variable *v = &k->scope.variables[below(k, k->scope.variable_count)];
        if (!v->hidden && v->element == element && v->shape.rank == shape.rank &&
            memcmp(v->shape.extent, shape.extent, sizeof *shape.extent * (size_t)shape.rank) == 0)
            return meaning_make_variable(k, v);
    }
    return NULL;
}

/* The second operand of what takes two: beside one of the whole shape a number may stand without its type; a narrower
 * type becomes it. */
static struct meaning_node *beside(struct maker *k, const struct meaning_node *other, struct meaning_shape shape,
                                   bool whole, int depth)
{
    enum ir_element element = other->element;
    if (other->constant || k->host || element == IR_BOOL || !chance(k, 40))
        return meaning_make_expression(k, element, shape, depth);
    if (whole && chance(k, 60)) {
        struct meaning_node *node = meaning_make_number(k, 0);
        node->element = element;
        if (ir_is_float(element))
            node->value.real = (double)random_between(k->random, -8, 8) / 2;
        else
            node->value.integer = random_between(k->random, ir_is_signed(element) ? -9 : 0, 100);
        return node;
    }
    for (int tries = 0; tries < 4 && !ir_is_float(element); tries++) {
        enum ir_element narrow = k->palette[below(k, 4)];
        if (ir_is_float(narrow) || ir_is_signed(narrow) != ir_is_signed(element) ||
            ir_element_info[narrow].bits >= ir_element_info[element].bits)
            continue;
        struct meaning_node *from = meaning_make_expression(k, narrow, shape, depth);
        return meaning_make_node(k, MEANING_WIDEN, element, from->shape, from, NULL, NULL);
    }
    return meaning_make_expression(k, element, shape, depth);
}

/* Two operands that are stretched to the shape. */
static struct meaning_node *pair(struct maker *k, enum meaning_kind kind, enum ir_element result,
                                 enum ir_element element, struct meaning_shape shape, int depth)
{
    struct meaning_shape left = shape, right = meaning_make_part_shape(k, shape);
    bool crossed = shape.rank == 2 && chance(k, 20);
    if (crossed) {
        left.extent[0] = right.extent[1] = 1;
        right.rank = 2;
        right.extent[0] = shape.extent[0];
    }
    if (shape.rank == 0 && !k->host && chance(k, 10)) /* of constants the front end makes one */
        return meaning_make_node(k, kind, result, shape, meaning_make_literal(k, element),
                                 meaning_make_literal(k, element), NULL);
    struct meaning_node *a = meaning_make_expression(k, element, left, depth + 1);
    struct meaning_node *b = beside(k, a, right, !crossed, depth + 1);
    bool exchanged = chance(k, 40);
    return meaning_make_node(k, kind, result, shape, exchanged ? b : a, exchanged ? a : b, NULL);
}

/* It keeps the type of the left side; a distance that is constant must be small. */
static struct meaning_node *shift(struct maker *k, enum ir_element element, struct meaning_shape shape, int depth)
{
    struct meaning_node *a = meaning_make_expression(k, element, shape, depth + 1), *by = NULL;
    bool chosen = a->kind == MEANING_CHOOSE && a->operand[0]->constant;
    if ((a->constant || chosen) && !k->host) /* a number without a type could become too large for any */
        a = meaning_make_node(k, MEANING_CONVERT, element, shape, a, NULL, NULL);
    enum ir_element narrow = k->palette[below(k, 4)];
    if (ir_is_float(narrow) || ir_element_info[narrow].bits > ir_element_info[element].bits)
        narrow = element;
    if (!k->host && chance(k, 50))
        by = meaning_make_expression(k, narrow, meaning_make_part_shape(k, shape), depth + 1);
    if (!by || by->constant) {
        by = meaning_make_number(k, below(k, k->host ? 5 : ir_element_info[element].bits));
        by->element = element;
    }
    struct meaning_node *node = meaning_make_node(k, MEANING_BINARY, element, shape, a, by, NULL);
    strcpy(node->sign, chance(k, 50) ? "<<" : ">>");
    return node;
}

static struct meaning_node *arithmetic(struct maker *k, enum ir_element element, struct meaning_shape shape, int depth)
{
    static const char *const integers[] = {"+", "-", "*", "/", "%", "&", "|", "^"}, *const reals[] = {"+", "-", "*",
                                                                                                      "/", "%"};
    if (!ir_is_float(element) && chance(k, 20))
        return shift(k, element, shape, depth);
    struct meaning_node *node = pair(k, MEANING_BINARY, element, element, shape, depth);
    const char *sign = ir_is_float(element) ? reals[below(k, 5)] : integers[below(k, 8)];
    strcpy(node->sign, sign);
    return node;
}

static struct meaning_node *minus(struct maker *k, enum ir_element element, struct meaning_shape shape, int depth)
{
    bool turns = !ir_is_float(element) && !k->host && chance(k, 40);
    struct meaning_node *a = meaning_make_expression(k, element, shape, depth + 1);
    return meaning_make_node(k, turns ? MEANING_TURN : MEANING_NEGATE, element, shape, a, NULL, NULL);
}

/* The wrapper does nothing else with floats. */
static struct meaning_node *host_comparison(struct maker *k)
{
    enum ir_element element = chance(k, 50) ? IR_F32 : IR_F64;
    struct meaning_node *a = any_variable(k, element, scalar), *b = any_variable(k, element, scalar);
    if (!a || !b)
        return NULL;
    if (chance(k, 60)) {
        b = meaning_make_number(k, 0);
        b->element = element;
        b->value.real = (double)random_between(k->random, -6, 6) / 2;
    }
    return meaning_make_node(k, MEANING_COMPARE, IR_BOOL, scalar, a, b, NULL);
}

static struct meaning_node *condition(struct maker *k, struct meaning_shape shape, int depth)
{
    static const char *const signs[] = {"==", "!=", "<", "<=", ">", ">="};
    int dice = below(k, 20);
    struct meaning_node *node = k->host && dice < 4 ? host_comparison(k) : NULL;
    if (!k->host && shape.rank == 0 && dice == 19 && (node = meaning_make_same(k)))
        return node;
    if (node) {
        strcpy(node->sign, signs[below(k, 6)]);
        return node;
    }
    if (dice < 10) {
        bool boolean = !k->host && chance(k, 10);
        node = pair(k, MEANING_COMPARE, IR_BOOL, boolean ? IR_BOOL : meaning_make_element(k), shape, depth);
        strcpy(node->sign, signs[below(k, boolean ? 2 : 6)]);
        return node;
    }
    if (dice < 17) {
        node = pair(k, dice < 14 ? MEANING_AND : MEANING_OR, IR_BOOL, IR_BOOL, shape, depth);
        if (shape.rank && node->operand[0]->shape.rank == 0) { /* it could decide alone, without a shape */
            struct meaning_node *first = node->operand[0];
            node->operand[0] = node->operand[1];
            node->operand[1] = first;
        }
        return node;
    }
    node = meaning_make_expression(k, IR_BOOL, shape, depth + 1);
    return meaning_make_node(k, MEANING_NOT, IR_BOOL, shape, node, NULL, NULL);
}

static struct meaning_node *choose(struct maker *k, enum ir_element element, struct meaning_shape shape, int depth)
{
    bool where = !k->host && chance(k, 50);
    struct meaning_node *condition = meaning_make_expression(
                            k, IR_BOOL, where ? meaning_make_part_shape(k, shape) : scalar, depth + 1),
                        *a = meaning_make_expression(k, element, shape, depth + 1), *b = NULL;
    if (where) /* of ?: only the arm taken counts when its condition is known, so both are of one type */
        b = beside(k, a, meaning_make_part_shape(k, shape), true, depth + 1);
    else
        b = meaning_make_expression(k, element, shape, depth + 1);
    return meaning_make_node(k, where ? MEANING_WHERE : MEANING_CHOOSE, element, shape, condition, a, b);
}

static struct meaning_node *convert(struct maker *k, enum ir_element element, struct meaning_shape shape, int depth)
{
    enum ir_element from = chance(k, 10) ? IR_BOOL : meaning_make_element(k);
    struct meaning_node *a = meaning_make_expression(k, from, shape, depth + 1);
    bool saturates = !ir_is_float(from) && !ir_is_float(element) && from != IR_BOOL && chance(k, 25);
    if (a->constant && !saturates) /* a constant that does not fit is an error */
        return meaning_make_literal(k, element);
    bool alike = from != IR_BOOL && ir_element_info[from].bits == ir_element_info[element].bits && !ir_is_float(from) &&
                 !ir_is_float(element);
    enum meaning_kind kind = a->constant              ? MEANING_CONVERT
                             : saturates              ? MEANING_SATURATE
                             : alike && chance(k, 30) ? MEANING_BITCAST
                                                      : MEANING_CONVERT;
    return a->constant ? meaning_make_literal(k, element) : meaning_make_node(k, kind, element, shape, a, NULL, NULL);
}

static struct meaning_node *library(struct maker *k, enum ir_element element, struct meaning_shape shape, int depth)
{
    int dice = below(k, ir_is_float(element) ? 6 : 8);
    struct meaning_node *node;
    if (dice < 4) {
        node = pair(k, dice < 2 ? MEANING_MIN : MEANING_MAX, element, element, shape, depth);
        node->propagates = ir_is_float(element) && chance(k, 40);
        return node;
    }
    if (dice < 5) {
        node = pair(k, MEANING_CLAMP, element, element, shape, depth);
        node->propagates = ir_is_float(element) && chance(k, 40);
        node->operand[2] = meaning_make_expression(k, element, shape, depth + 1);
        node->constant = node->constant && node->operand[2]->constant;
        return node;
    }
    if (dice == 5 || !ir_is_signed(element)) {
        node = meaning_make_expression(k, element, shape, depth + 1);
        return ir_is_signed(element) || ir_is_float(element)
                   ? meaning_make_node(k, MEANING_ABS, element, shape, node, NULL, NULL)
                   : node;
    }
    if (dice == 6)
        return pair(k, MEANING_CDIV, element, element, shape, depth);
    return meaning_make_node(k, MEANING_ILOG2, element, shape, meaning_make_expression(k, element, shape, depth + 1),
                             NULL, NULL);
}

static struct meaning_node *call(struct maker *k, enum ir_element element, struct meaning_shape shape, int depth)
{
    for (int tries = 0; k->m->functions.count && tries < 6; tries++) {
        struct meaning_function *f = k->m->functions.data[below(k, k->m->functions.count)];
        bool all_constant = true, with_constant = false;
        if (f->results != 1 || f->result[0] != element || (k->host && !f->for_host))
            continue;
        for (int i = 0; i < f->parameters; i++)
            with_constant |= f->constant[i];
        if ((f->view >= 0 && (!k->memory || k->in_function || shape.rank)) || (with_constant && shape.rank))
            continue;
        struct meaning_node *node = meaning_make_node(k, MEANING_CALL, element, shape, NULL, NULL, NULL);
        node->function = f;
        if (f->view >= 0) {
            int fitting = -1;
            for (int v = 0; v < k->scope.view_count; v++) {
                const struct meaning_view *view = &k->m->views[k->scope.views[v]];
                if (view->element == f->view_element && view->rank == f->view_rank && !view->optional)
                    fitting = k->scope.views[v];
            }
            if (fitting < 0)
                continue;
            node->place = ARENA_NEW(k->arena, struct meaning_place);
            *node->place = (struct meaning_place){.view = fitting};
        }
        for (int i = 0; i < f->parameters; i++) {
            node->operand[i] = f->constant[i]
                                   ? meaning_make_number(k, below(k, 9))
                                   : meaning_make_expression(k, f->element[i],
                                                             i ? meaning_make_part_shape(k, shape) : shape, depth + 1);
            all_constant = all_constant && node->operand[i]->constant;
        }
        if (all_constant && f->view < 0)
            continue;
        return node;
    }
    return NULL;
}

/* ---- memory ---- */

struct meaning_node *meaning_make_small(struct maker *k, int low, int high)
{
    int dice = below(k, 10);
    struct meaning_node *node = dice < 5 ? NULL : any_variable(k, IR_I64, scalar);
    if (!node || node->constant)
        return meaning_make_number(k, random_between(k->random, low, high));
    struct meaning_node *most = meaning_make_number(k, high - low + 1);
    node = meaning_make_node(k, MEANING_BINARY, IR_I64, scalar, node, most, NULL);
    strcpy(node->sign, "%");
    if (low < 0)
        return node;
    node = meaning_make_node(k, MEANING_ABS, IR_I64, scalar, node, NULL, NULL);
    if (low == 0)
        return node;
    node = meaning_make_node(k, MEANING_BINARY, IR_I64, scalar, node, meaning_make_number(k, low), NULL);
    strcpy(node->sign, "+");
    return node;
}

static struct meaning_node *index_scalar(struct maker *k, bool of_part)
{
    if (chance(k, 85))
        return meaning_make_small(k, -2, 9);
    enum ir_element element = meaning_make_element(k);
    if (ir_is_float(element) || (of_part && element == IR_U64))
        return meaning_make_small(k, 0, 3);
    struct meaning_node *node = meaning_make_expression(k, element, scalar, MOST_DEPTH - 1);
    return node->constant ? meaning_make_small(k, 0, 3) : node;
}

static struct meaning_node *index_tile(struct maker *k, struct meaning_shape shape, bool written)
{
    if (written || (shape.rank == 1 && chance(k, 60))) {
        struct meaning_node *iota = meaning_make_node(k, MEANING_IOTA, IR_I64, shape, NULL, NULL, NULL), *node;
        bool down = chance(k, 40);
        struct meaning_node *from = meaning_make_small(k, down ? 2 : -2, 7);
        node = meaning_make_node(k, MEANING_BINARY, IR_I64, shape, down ? from : iota, down ? iota : from, NULL);
        strcpy(node->sign, down ? "-" : "+");
        return node;
    }
    enum ir_element element = meaning_make_element(k);
    element = ir_is_float(element) ? IR_I64 : element;
    struct meaning_node *node = meaning_make_expression(k, element, shape, MOST_DEPTH - 2),
                        *most = meaning_make_number(k, 7);
    most->element = element;
    most->bare = false;
    node = meaning_make_node(k, MEANING_BINARY, element, shape, node, most, NULL);
    strcpy(node->sign, "%");
    return node;
}

static void place_dimension(struct maker *k, struct meaning_place *place, int d, int size, bool written)
{
    const struct meaning_view *view = &k->m->views[place->view];
    bool gathered = place->kind[0] == PLACE_GATHER && d == 1;
    place->size[d] = size;
    if (view->fixed[d] == size && chance(k, 60)) {
        place->kind[d] = PLACE_ALL;
    } else if (chance(k, 25) && !gathered) {
        place->kind[d] = PLACE_GATHER;
        place->index[d] = index_tile(k, (struct meaning_shape){1, {size}}, written);
    } else {
        place->kind[d] = PLACE_PART;
        place->index[d] = index_scalar(k, true);
    }
}

struct meaning_place *meaning_make_place(struct maker *k, int number, struct meaning_shape shape, bool written)
{
    const struct meaning_view *view = &k->m->views[number];
    struct meaning_place *place = ARENA_NEW(k->arena, struct meaning_place);
    *place = (struct meaning_place){.view = number, .rank = view->rank};
    if (shape.rank == 0 || shape.rank < view->rank) {
        int tile = shape.rank ? below(k, 2) : -1;
        for (int d = 0; d < view->rank; d++)
            if (d == tile)
                place_dimension(k, place, d, shape.extent[0], written);
            else
                place->index[d] = index_scalar(k, false);
    } else if (shape.rank == view->rank && (written || chance(k, 75))) {
        for (int d = 0; d < view->rank; d++)
            place_dimension(k, place, d, shape.extent[d], written);
    } else if (!written) {
        for (int d = 0; d < view->rank; d++) {
            place->kind[d] = PLACE_GATHER;
            place->index[d] = index_tile(k, shape, false);
        }
    } else {
        return NULL;
    }
    return place;
}

struct meaning_node *meaning_make_extent(struct maker *k, int view, int dimension)
{
    struct meaning_node *node = meaning_make_node(k, MEANING_EXTENT, IR_I64, scalar, NULL, NULL, NULL);
    node->place = ARENA_NEW(k->arena, struct meaning_place);
    *node->place = (struct meaning_place){.view = view};
    node->axis = dimension;
    return node;
}

static struct meaning_node *read(struct maker *k, enum ir_element element, struct meaning_shape shape, int depth)
{
    if (!k->scope.view_count || k->reads > 1)
        return NULL;
    int number = k->scope.views[chance(k, 30) ? k->scope.view_count - 1 : below(k, k->scope.view_count)];
    const struct meaning_view *view = &k->m->views[number];
    if (element == IR_I64 && shape.rank == 0 && chance(k, 30)) {
        int d = below(k, view->rank);
        return view->fixed[d] || view->optional ? NULL : meaning_make_extent(k, number, d);
    }
    bool inside = element == IR_BOOL && (view->element != IR_BOOL || chance(k, 30));
    k->reads++;
    struct meaning_place *place = meaning_make_place(k, number, shape, false);
    k->reads--;
    if (!place)
        return NULL;
    struct meaning_node *node = meaning_make_node(k, inside ? MEANING_INSIDE : MEANING_READ,
                                                  inside ? IR_BOOL : view->element, shape, NULL, NULL, NULL);
    node->place = place;
    if (!inside && chance(k, 35)) {
        node->kind = MEANING_LOAD;
        if (chance(k, 70))
            node->operand[0] = beside(k, node, meaning_make_part_shape(k, shape), true, depth + 1);
        if (chance(k, 50))
            node->operand[1] = meaning_make_expression(k, IR_BOOL, meaning_make_part_shape(k, shape), depth + 1);
    }
    return inside || view->element == element ? node
                                              : meaning_make_node(k, MEANING_CONVERT, element, shape, node, NULL, NULL);
}

/* ---- shapes ---- */

static struct meaning_node *reshaped(struct maker *k, enum ir_element element, struct meaning_shape shape, int depth)
{
    struct meaning_shape from = {1, {meaning_elements(shape)}};
    for (int n = 2; n <= 4 && chance(k, 50); n++)
        if (meaning_elements(shape) % n == 0)
            from = (struct meaning_shape){2, {n, meaning_elements(shape) / n}};
    return meaning_make_node(k, MEANING_RESHAPE, element, shape, meaning_make_expression(k, element, from, depth + 1),
                             NULL, NULL);
}

static struct meaning_node *permuted(struct maker *k, enum ir_element element, struct meaning_shape shape, int depth)
{
    static const int orders[][3] = {{0, 1, 2}, {1, 2, 0}, {2, 0, 1}, {2, 1, 0}, {0, 2, 1}, {1, 0, 2}};
    struct meaning_shape from = shape;
    struct meaning_node *node = meaning_make_node(k, MEANING_PERMUTE, element, shape, NULL, NULL, NULL);
    memcpy(node->order, orders[shape.rank == 3 ? below(k, 6) : 5], sizeof node->order);
    node->axis = shape.rank == 2 && chance(k, 60); /* written as trans */
    for (int d = 0; d < shape.rank; d++)
        from.extent[node->order[d]] = shape.extent[d];
    node->operand[0] = meaning_make_expression(k, element, from, depth + 1);
    return node;
}

static struct meaning_node *part(struct maker *k, enum ir_element element, struct meaning_shape shape, int depth)
{
    struct meaning_node *node = meaning_make_node(k, MEANING_PART, element, shape, NULL, NULL, NULL);
    struct meaning_shape from = {0};
    int new_one = -1, dropped = -1;
    for (int d = 0; d < shape.rank; d++)
        if (shape.extent[d] == 1 && shape.rank > 1)
            new_one = d;
    if (new_one < 0) {
        if (shape.rank == MEANING_RANK || meaning_elements(shape) * 3 > MEANING_ELEMENTS)
            return NULL;
        dropped = below(k, shape.rank + 1);
    }
    node->axis = 0;
    for (int d = 0; d <= shape.rank; d++) {
        if (d == dropped) {
            int extent = random_between(k->random, 2, 3);
            node->order[node->axis++] = below(k, extent);
            from.extent[from.rank++] = extent;
        }
        if (d == shape.rank)
            break;
        node->order[node->axis++] = d == new_one ? -2 : -1;
        if (d != new_one)
            from.extent[from.rank++] = shape.extent[d];
    }
    if (node->axis > MEANING_RANK)
        return NULL;
    node->operand[0] = meaning_make_expression(k, element, from, depth + 1);
    return node;
}

static struct meaning_node *product(struct maker *k, struct meaning_shape shape, int depth)
{
    enum ir_element factor = chance(k, 50) ? IR_I8 : IR_U8;
    int inner = random_between(k->random, 1, 4);
    struct meaning_node *a = meaning_make_expression(k, factor, (struct meaning_shape){2, {shape.extent[0], inner}},
                                                     depth + 1),
                        *b = meaning_make_expression(k, factor, (struct meaning_shape){2, {inner, shape.extent[1]}},
                                                     depth + 1);
    return meaning_make_node(k, MEANING_PRODUCT, IR_I32, shape, a, b, NULL);
}

static struct meaning_node *tile_shape(struct maker *k, enum ir_element element, struct meaning_shape shape, int depth)
{
    struct meaning_node *node = NULL;
    int dice = below(k, 18);
    if (dice >= 12)
        return meaning_make_move(k, element, shape, depth);
    if (dice < 2)
        return reshaped(k, element, shape, depth);
    if (dice < 5 && shape.rank > 1)
        return permuted(k, element, shape, depth);
    if (dice < 9)
        node = part(k, element, shape, depth);
    else if (dice < 10 && element == IR_I32 && shape.rank == 2)
        return product(k, shape, depth);
    else if (dice < 11 && shape.rank > 0) {
        struct meaning_shape from = shape;
        from.extent[below(k, shape.rank)] = 1;
        node = meaning_make_expression(k, element, from, depth + 1);
        node = meaning_make_node(k, MEANING_BROADCAST, element, shape, node, NULL, NULL);
    }
    return node;
}

/* Over one dimension of a larger tile, or over all of one. */
static struct meaning_node *reduction(struct maker *k, enum ir_element element, struct meaning_shape shape, int depth)
{
    static const char *const folds[] = {"l", "r", "^", "+", "*"};
    struct meaning_shape from = shape;
    int axis = -1;
    if (shape.rank == 0 && chance(k, 60)) {
        from = meaning_make_shape(k);
    } else {
        if (shape.rank == MEANING_RANK || meaning_elements(shape) > MEANING_ELEMENTS / 4)
            return NULL;
        axis = below(k, shape.rank + 1);
        for (int d = shape.rank; d > axis; d--)
            from.extent[d] = shape.extent[d - 1];
        from.extent[axis] = random_between(k->random, 1, 4);
        from.rank++;
    }
    enum ir_element source = element;
    enum meaning_kind kind = chance(k, 50) ? MEANING_LEAST : MEANING_MOST;
    int dice = below(k, 10);
    struct meaning_node *node = meaning_make_node(k, kind, element, shape, NULL, NULL, NULL);
    if (element == IR_BOOL) {
        node->kind = chance(k, 50) ? MEANING_ANY : MEANING_ALL;
    } else if (dice < 3 && !ir_is_float(element)) {
        source = chance(k, 15) ? IR_BOOL : k->palette[below(k, 4)];
        if (meaning_sum_element(source) != element)
            source = element;
        if (meaning_sum_element(source) == element)
            node->kind = MEANING_SUM;
    } else if (dice < 5 && element == IR_I64 && (axis >= 0 || from.rank == 1)) {
        node->kind = chance(k, 50) ? MEANING_ARGUMENT_OF_MOST : MEANING_ARGUMENT_OF_LEAST;
        source = meaning_make_element(k);
        if (ir_is_float(source))
            source = IR_I64;
    } else if (dice < 7 && !ir_is_float(element) && (axis >= 0 || from.rank == 1)) {
        node->kind = MEANING_FOLD;
        strcpy(node->sign, folds[below(k, 5)]);
        axis = axis < 0 ? 0 : axis;
    }
    node->axis = axis;
    node->propagates = ir_is_float(element) && chance(k, 40);
    node->operand[0] = meaning_make_expression(k, source, from, depth + 1);
    return node;
}

/* ---- all of them ---- */

static struct meaning_node *leaf(struct maker *k, enum ir_element element, struct meaning_shape shape, int depth)
{
    struct meaning_node *node = chance(k, 75) ? any_variable(k, element, shape) : NULL;
    if (!node && k->memory && !k->host && depth <= MOST_DEPTH && chance(k, 60))
        node = read(k, element, shape, MOST_DEPTH);
    if (!node && !k->host && element == IR_I64 && shape.rank == 1 && chance(k, 50))
        node = meaning_make_node(k, MEANING_IOTA, IR_I64, shape, NULL, NULL, NULL);
    if (!node && shape.rank == 0 && k->m->constants.count && chance(k, 30)) {
        const struct meaning_constant *c = &k->m->constants.data[below(k, k->m->constants.count)];
        if (c->value->element == element && (!k->host || !c->typed)) {
            node = meaning_make_number(k, 0);
            node->element = element;
            node->name = c->name;
            int64_t value;
            meaning_host_value(k->m, c->value, &value);
            node->value.integer = value;
            return node;
        }
    }
    if (node)
        return node;
    node = meaning_make_literal(k, element);
    return shape.rank ? meaning_make_node(k, MEANING_STRETCH, element, shape, node, NULL, NULL) : node;
}

struct meaning_node *meaning_make_expression(struct maker *k, enum ir_element element, struct meaning_shape shape,
                                             int depth)
{
    struct meaning_node *node = NULL;
    int dice = below(k, 100);
    if (depth >= MOST_DEPTH || dice < 15)
        return leaf(k, element, shape, depth);
    if (element == IR_BOOL && dice < 70)
        return condition(k, shape, depth);
    if (element != IR_BOOL && dice < 45)
        return arithmetic(k, element, shape, depth);
    if (element != IR_BOOL && dice < 50)
        return minus(k, element, shape, depth);
    if (dice < 60 || (k->host && dice < 73))
        return choose(k, element, shape, depth);
    if (k->host && dice < 86 && element != IR_BOOL)
        return library(k, element, shape, depth);
    if (k->host) {
        node = call(k, element, shape, depth);
        return node ? node : leaf(k, element, shape, depth);
    }
    if (dice < 67 && element != IR_BOOL)
        return convert(k, element, shape, depth);
    if (dice < 72 && element != IR_BOOL)
        return library(k, element, shape, depth);
    if (dice < 79)
        node = call(k, element, shape, depth);
    else if (dice < 84 && !k->in_function)
        node = reduction(k, element, shape, depth);
    else if (dice < 92 && shape.rank > 0)
        node = tile_shape(k, element, shape, depth);
    else if (dice < 98 && k->memory)
        node = read(k, element, shape, depth);
    return node ? node : leaf(k, element, shape, depth);
}
