/* Statements, functions and kernels of random sources whose meaning is known (see meaning.h). */
#include "meaning_make.h"

#include <math.h>
#include <string.h>

enum { MOST_NESTED = 3 };
static const struct meaning_shape scalar;

static int below(struct maker *k, int limit) { return random_below(k->random, limit); }
static bool chance(struct maker *k, int percent) { return random_chance(k->random, percent); }

struct meaning_statement *meaning_add(struct maker *k, struct meaning_body *body, enum meaning_statement_kind kind)
{
    struct meaning_statement *s = ARENA_NEW(k->arena, struct meaning_statement);
    *s = (struct meaning_statement){.kind = kind, .step = 1};
    vector_push(k->arena, &body->statements, s);
    return s;
}

static void make_body(struct maker *k, struct meaning_body *body, int statements);

/* Names what was made.  Inside of a block it may take the name of something further out, which is gone until the block
 * ends. */
static const struct meaning_variable *declare(struct maker *k, enum ir_element element, struct meaning_shape shape,
                                              bool assignable)
{
    const char *name = meaning_make_name(k, "v");
    if (k->block && chance(k, 10)) {
        struct meaning_variable *v = &k->scope.variables[below(k, k->block)];
        if (v->name[0] == 'v' && !v->hidden) {
            name = v->name;
            v->hidden = true;
        }
    }
    int slot = k->m->slot_count < MEANING_SLOTS - 1 ? k->m->slot_count++ : MEANING_SLOTS - 1;
    k->scope.variables[k->scope.variable_count++] = (struct meaning_variable){
        .name = name, .slot = slot, .element = element, .shape = shape, .assignable = assignable};
    return &k->scope.variables[k->scope.variable_count - 1];
}

static bool is_full(const struct maker *k)
{
    return k->m->slot_count >= MEANING_SLOTS - 8 || k->scope.variable_count >= MEANING_SLOTS - 8;
}

static struct meaning_shape any_shape(struct maker *k)
{
    return k->host || k->in_function || chance(k, 45) ? scalar : meaning_make_shape(k);
}

static void make_declaration(struct maker *k, struct meaning_body *body)
{
    enum ir_element element = chance(k, 12) ? IR_BOOL : meaning_make_element(k);
    struct meaning_shape shape = any_shape(k);
    struct meaning_node *value = meaning_make_expression(k, element, shape, 0);
    bool assignable = chance(k, 50);
    struct meaning_statement *s = meaning_add(k, body, assignable ? MEANING_VAR : MEANING_LET);
    /* a name for something known when compiling takes its type from what it meets, too */
    s->typed = value->constant || chance(k, 20);
    s->element = element;
    s->value[0] = value;
    const struct meaning_variable *v = declare(k, element, shape, assignable);
    k->scope.variables[k->scope.variable_count - 1].constant = value->constant && !assignable;
    s->name = v->name;
    s->slot = v->slot;
}

static const struct meaning_variable *any_assignable(struct maker *k)
{
    for (int tries = 0; k->scope.variable_count && tries < 12; tries++) {
        const struct meaning_variable *v = &k->scope.variables[below(k, k->scope.variable_count)];
        if (v->assignable && !v->hidden)
            return v;
    }
    return NULL;
}

static const char *any_sign(struct maker *k, enum ir_element element)
{
    static const char *const signs[] = {"+", "-", "*", "&", "|", "^"};
    return signs[below(k, ir_is_float(element) ? 3 : k->host ? 2 : 6)];
}

static void make_assignment(struct maker *k, struct meaning_body *body)
{
    const struct meaning_variable *v = any_assignable(k);
    for (int tries = 0; !v && tries < 8; tries++)
        v = any_assignable(k);
    if (!v) {
        make_declaration(k, body);
        return;
    }
    bool updates = v->element != IR_BOOL && chance(k, 50);
    struct meaning_node *target = meaning_make_variable(k, v);
    struct meaning_node *value = meaning_make_expression(k, v->element, v->shape, 1);
    struct meaning_statement *s = meaning_add(k, body, updates ? MEANING_UPDATE : MEANING_ASSIGN);
    s->name = v->name;
    s->slot = v->slot;
    s->value[0] = value;
    s->value[2] = target;
    strcpy(s->sign, any_sign(k, v->element));
    const struct meaning_variable *other = any_assignable(k);
    if (!updates && other && other->slot != v->slot && chance(k, 40)) { /* both are computed first */
        s->kind = MEANING_SWAP;
        s->value[2] = NULL;
        s->second = other->slot;
        s->other_name = other->name;
        s->value[1] = chance(k, 50) && other->element == v->element && other->shape.rank == 0 && v->shape.rank == 0
                          ? target
                          : meaning_make_expression(k, other->element, other->shape, 1);
    }
}

static void make_store(struct maker *k, struct meaning_body *body)
{
    int number = k->m->inputs;
    const struct meaning_view *view = &k->m->views[number];
    struct meaning_shape shape = chance(k, 40) ? scalar : meaning_make_shape(k);
    struct meaning_place *place = meaning_make_place(k, number, shape, true);
    if (!place)
        return;
    struct meaning_node *value = meaning_make_expression(k, view->element, shape, 0);
    bool updates = chance(k, 50), masked = chance(k, 25),
         atomic = updates && !ir_is_float(view->element) && ir_element_info[view->element].bits >= 32 && chance(k, 25);
    struct meaning_statement *s = meaning_add(k, body,
                                              atomic    ? MEANING_ATOMIC
                                              : masked  ? MEANING_STORE_MASKED
                                              : updates ? MEANING_STORE_UPDATE
                                                        : MEANING_STORE);
    s->place = place;
    s->value[0] = value;
    if (masked)
        s->value[1] = meaning_make_expression(k, IR_BOOL, meaning_make_part_shape(k, shape), 1);
    strcpy(s->sign, any_sign(k, view->element));
    if (atomic) {
        static const char *const signs[] = {"+", "&", "|", "^"};
        strcpy(s->sign, signs[below(k, 4)]);
        const struct meaning_variable *v = declare(k, view->element, shape, false);
        s->name = v->name;
        s->slot = v->slot;
        k->scope.variables[k->scope.variable_count - 1].hidden = masked; /* what was not done gives nothing */
    }
}

static void make_branch(struct maker *k, struct meaning_body *body)
{
    struct meaning_node *value = meaning_make_expression(k, IR_BOOL, scalar, 1);
    struct meaning_statement *s = meaning_add(k, body, MEANING_IF);
    s->value[0] = value;
    for (int v = 0; v < k->scope.view_count && !k->in_function && !k->host; v++)
        if (k->m->views[k->scope.views[v]].optional && chance(k, 50)) {
            s->value[0] = meaning_make_node(k, MEANING_PRESENT, IR_BOOL, scalar, NULL, NULL, NULL);
            s->value[0]->place = ARENA_NEW(k->arena, struct meaning_place);
            *s->value[0]->place = (struct meaning_place){.view = k->scope.views[v]};
        }
    make_body(k, &s->body, random_between(k->random, 1, 3));
    if (chance(k, 60))
        make_body(k, &s->otherwise, random_between(k->random, 1, 3));
}

static void make_leaving(struct maker *k, struct meaning_body *body)
{
    struct meaning_node *value = meaning_make_expression(k, IR_BOOL, scalar, 2);
    struct meaning_statement *s = meaning_add(k, body, MEANING_IF);
    int dice = below(k, 10);
    s->value[0] = value;
    if (chance(k, 30)) /* what it names is gone before it leaves */
        make_body(k, &meaning_add(k, &s->body, MEANING_BLOCK)->body, 1);
    if (k->in_loop && dice < 8) {
        meaning_add(k, &s->body, dice < 4 ? MEANING_BREAK : MEANING_CONTINUE);
        return;
    }
    struct meaning_statement *leaving = meaning_add(k, &s->body, MEANING_RETURN);
    for (int i = 0; k->function && i < k->function->results; i++)
        leaving->value[i] = meaning_make_expression(k, k->function->result[i], scalar, 2);
}

/* Its variable is gone behind it. */
static void make_loop(struct maker *k, struct meaning_body *body)
{
    bool in_loop = k->in_loop;
    struct meaning_scope *saved = ARENA_NEW(k->arena, struct meaning_scope);
    *saved = k->scope;
    if (chance(k, 25)) { /* while */
        struct meaning_statement *count = meaning_add(k, body, MEANING_VAR);
        count->value[0] = meaning_make_number(k, below(k, 5));
        count->element = IR_I64;
        count->typed = true;
        const struct meaning_variable left = *declare(k, IR_I64, scalar, false);
        *saved = k->scope;
        struct meaning_node *more = meaning_make_node(k, MEANING_COMPARE, IR_BOOL, scalar,
                                                      meaning_make_variable(k, &left), meaning_make_number(k, 0), NULL);
        count->name = left.name;
        count->slot = left.slot;
        strcpy(more->sign, ">");
        if (chance(k, 40))
            more = meaning_make_node(k, MEANING_AND, IR_BOOL, scalar, more,
                                     meaning_make_expression(k, IR_BOOL, scalar, 2), NULL);
        struct meaning_statement *s = meaning_add(k, body, MEANING_WHILE);
        s->value[0] = more;
        struct meaning_statement *down = meaning_add(k, &s->body, MEANING_UPDATE);
        down->name = left.name;
        down->slot = left.slot;
        down->value[0] = meaning_make_number(k, 1);
        down->value[2] = meaning_make_variable(k, &left);
        strcpy(down->sign, "-");
        k->in_loop = true;
        make_body(k, &s->body, random_between(k->random, 1, 3));
        k->in_loop = in_loop;
        k->scope = *saved;
        return;
    }
    bool is_static = !k->host && chance(k, 20), multiplies = chance(k, 15), down = !multiplies && chance(k, 35);
    int64_t step = random_between(k->random, multiplies ? 2 : 1, 3) * (down ? -1 : 1);
    int low = multiplies ? 1 : -3, high = multiplies ? 30 : 6;
    struct meaning_node *from = is_static ? meaning_make_number(k, random_between(k->random, low, down ? high : 3))
                                          : meaning_make_small(k, low, down ? high : 3),
                        *to = is_static ? meaning_make_number(k, random_between(k->random, low, high))
                                        : meaning_make_small(k, low, high);
    if (multiplies && from->kind != MEANING_LITERAL)
        from = meaning_make_number(k, 1);
    struct meaning_statement *s = meaning_add(k, body, is_static ? MEANING_STATIC_FOR : MEANING_FOR);
    s->value[0] = from;
    s->value[1] = to;
    s->step = step;
    s->multiplies = multiplies;
    const struct meaning_variable *v = declare(k, IR_I64, scalar, false);
    s->name = v->name;
    s->slot = v->slot;
    k->scope.variables[k->scope.variable_count - 1].constant = is_static;
    k->in_loop = !is_static;
    make_body(k, &s->body, random_between(k->random, 1, 3));
    k->in_loop = in_loop;
    k->scope = *saved;
}

static int new_view(struct maker *k, const char *prefix, enum ir_element element, int rank)
{
    int number = k->m->view_count++;
    k->m->views[number] = (struct meaning_view){
        .name = meaning_make_name(k, prefix), .element = element, .rank = rank, .array = -1};
    return number;
}

static void make_subview(struct maker *k, struct meaning_body *body)
{
    if (!k->scope.view_count || k->m->view_count >= MEANING_VIEWS - 1)
        return;
    int parent = k->scope.views[below(k, k->scope.view_count)];
    struct meaning_view *from = &k->m->views[parent];
    if (from->optional)
        return;
    struct meaning_statement *s = meaning_add(k, body,
                                              from->rank == 2 && chance(k, 30) ? MEANING_TURN_VIEW : MEANING_SUBVIEW);
    s->parent = parent;
    s->step = below(k, 2);
    int dropped = s->kind == MEANING_SUBVIEW && from->rank == 2 && chance(k, 40) ? below(k, 2) : -1;
    for (int d = 0; d < from->rank && s->kind == MEANING_SUBVIEW; d++) {
        if (d == dropped) {
            s->kinds[d] = PLACE_AT;
            s->value[d] = chance(k, 30) && !from->fixed[d] ? meaning_make_extent(k, parent, d)
                                                           : meaning_make_small(k, -1, 4);
            continue;
        }
        s->kinds[d] = PLACE_PART;
        s->low[d] = chance(k, 70) ? meaning_make_small(k, -2, 4) : NULL;
        s->high[d] = chance(k, 70) ? meaning_make_small(k, 1, 9) : NULL;
    }
    int number = new_view(k, "w", from->element, from->rank - (dropped >= 0));
    s->slot = number;
    if (s->kind == MEANING_TURN_VIEW)
        for (int d = 0; d < 2; d++)
            k->m->views[number].fixed[d] = k->m->views[parent].fixed[1 - d];
    k->scope.views[k->scope.view_count++] = number;
}

static void take_apart(struct maker *k, struct meaning_body *body)
{
    for (int i = 0; i < k->m->functions.count; i++) {
        struct meaning_function *f = k->m->functions.data[i];
        if (f->results != 2 || f->view >= 0 || k->host || !chance(k, 60))
            continue;
        struct meaning_node *node = meaning_make_node(k, MEANING_CALL, f->result[0], scalar, NULL, NULL, NULL);
        node->function = f;
        for (int p = 0; p < f->parameters; p++)
            node->operand[p] = f->constant[p] ? meaning_make_number(k, below(k, 9))
                                              : meaning_make_expression(k, f->element[p], scalar, 1);
        struct meaning_statement *s = meaning_add(k, body, MEANING_TAKE_APART);
        s->value[0] = node;
        struct meaning_variable first = *declare(k, f->result[0], scalar, false),
                                second = *declare(k, f->result[1], scalar, false);
        s->name = first.name;
        s->slot = first.slot;
        s->other_name = second.name;
        s->second = second.slot;
        return;
    }
}

static void make_statement(struct maker *k, struct meaning_body *body)
{
    int dice = below(k, 100);
    bool nests = k->depth < MOST_NESTED;
    if (dice < 12 && nests) {
        make_loop(k, body);
    } else if (dice < 24 && nests) {
        make_branch(k, body);
    } else if (dice < 30 && nests && k->depth > 0) {
        make_leaving(k, body);
    } else if (dice < 34 && nests) {
        struct meaning_statement *s = meaning_add(k, body, MEANING_BLOCK);
        make_body(k, &s->body, random_between(k->random, 1, 3));
    } else if (dice < 50 && k->memory && !k->in_function) {
        make_store(k, body);
    } else if (dice < 55 && k->memory && !k->in_function) {
        make_subview(k, body);
    } else if (dice < 60) {
        take_apart(k, body);
    } else if (dice < 63) {
        meaning_declare_struct(k, body);
    } else if (dice < 65) {
        meaning_copy_struct(k, body);
    } else if (dice < 67) {
        meaning_say(k, body);
    } else if (dice < 80) {
        make_assignment(k, body);
    } else {
        make_declaration(k, body);
    }
}

/* What is declared inside is forgotten behind. */
static void make_body(struct maker *k, struct meaning_body *body, int statements)
{
    struct meaning_scope *saved = ARENA_NEW(k->arena, struct meaning_scope);
    *saved = k->scope;
    int block = k->block;
    k->depth++;
    k->block = k->scope.variable_count;
    for (int i = 0; (i < statements || !body->statements.count) && !is_full(k); i++)
        make_statement(k, body);
    if (!body->statements.count)
        make_declaration(k, body);
    k->depth--;
    k->block = block;
    k->scope = *saved;
}

/* ---- declarations ---- */

static void make_function(struct maker *k)
{
    struct meaning_function *f = ARENA_NEW(k->arena, struct meaning_function);
    *f = (struct meaning_function){.name = meaning_make_name(k, "call"),
                                   .parameters = random_between(k->random, 1, 3),
                                   .for_host = chance(k, 35),
                                   .results = 1,
                                   .view = -1};
    memset(&k->scope, 0, sizeof k->scope);
    k->host = f->for_host;
    k->in_function = true;
    k->function = f;
    if (!f->for_host && chance(k, 25)) {
        f->view_rank = random_between(k->random, 1, 2);
        f->view_element = meaning_make_element(k);
        f->view = new_view(k, "q", f->view_element, f->view_rank);
        k->scope.views[k->scope.view_count++] = f->view;
    } else if (!f->for_host && chance(k, 25)) {
        f->results = 2;
    }
    k->memory = f->view >= 0;
    for (int i = 0; i < f->results; i++)
        f->result[i] = meaning_make_element(k);
    for (int i = 0; i < f->parameters; i++) {
        f->element[i] = meaning_make_element(k);
        f->constant[i] = !f->for_host && i && f->element[i] == IR_I64 && chance(k, 30);
        f->slot[i] = k->m->slot_count++;
        k->scope.variables[k->scope.variable_count++] = (struct meaning_variable){
            .name = arena_printf(k->arena, "p%d", f->slot[i]),
            .slot = f->slot[i],
            .element = f->element[i],
            .constant = f->constant[i]};
    }
    for (int i = random_below(k->random, 4); i > 0; i--)
        make_statement(k, &f->body);
    struct meaning_statement *last = meaning_add(k, &f->body, MEANING_RETURN);
    for (int i = 0; i < f->results; i++)
        last->value[i] = meaning_make_expression(k, f->result[i], scalar, 1);
    vector_push(k->arena, &k->m->functions, f);
    k->host = k->in_function = k->memory = false;
    k->function = NULL;
}

static void make_constants(struct maker *k)
{
    memset(&k->scope, 0, sizeof k->scope);
    k->in_function = true;
    for (int i = random_below(k->random, 4); i > 0; i--) {
        bool typed = chance(k, 40);
        enum ir_element element = typed ? meaning_make_element(k) : IR_I64;
        if (ir_is_float(element))
            continue;
        k->host = !typed;
        int functions = k->m->functions.count; /* calls would be computed as at run time */
        k->m->functions.count = 0;
        struct meaning_node *value = meaning_make_expression(k, element, scalar, 1);
        k->m->functions.count = functions;
        int64_t number;
        if (!typed && !meaning_host_value(k->m, value, &number))
            continue;
        vector_push(k->arena, &k->m->constants, ((struct meaning_constant){meaning_make_name(k, "C"), value, typed}));
    }
    k->host = k->in_function = false;
}

static void fill(struct maker *k, int number)
{
    struct meaning_argument *argument = &k->m->arguments[number];
    enum ir_element element = k->m->views[number].element;
    for (int i = 0; i < MEANING_ARRAY; i++) {
        const struct meaning_node *value = meaning_make_literal(k, element);
        argument->cell[i] = value->value;
    }
}

static void make_argument(struct maker *k, int number, bool written)
{
    struct meaning_argument *argument = &k->m->arguments[number];
    struct meaning_view *view =
        &k->m->views[new_view(k, written ? "y" : "x", !written && chance(k, 12) ? IR_BOOL : meaning_make_element(k),
                              random_between(k->random, 1, 2))];
    view->array = number;
    view->writable = written;
    view->optional = !written && number && chance(k, 25);
    view->strided = chance(k, 30);
    int64_t stride = 1;
    for (int d = view->rank - 1; d >= 0; d--) {
        argument->extent[d] = random_between(k->random, 1, 6);
        if (chance(k, 25))
            view->fixed[d] = argument->extent[d] = random_between(k->random, 2, 4);
        argument->stride[d] = stride;
        stride *= argument->extent[d] + (d ? below(k, 2) : 0);
    }
    if (view->strided && view->rank == 2 && chance(k, 50)) { /* column by column */
        argument->stride[0] = 1;
        argument->stride[1] = argument->extent[0];
    }
    argument->absent = view->optional && chance(k, 50);
    if (argument->absent)
        memset(argument->stride, 0, sizeof argument->stride);
    fill(k, number);
    k->scope.views[k->scope.view_count++] = number;
}

static void make_scalars(struct maker *k)
{
    k->m->scalar_count = random_between(k->random, 1, 4);
    for (int i = 0; i < k->m->scalar_count; i++) {
        enum ir_element element = chance(k, 25) ? IR_BOOL : meaning_make_element(k);
        if (element == IR_U64)
            element = IR_I64;
        const char *name = arena_printf(k->arena, "n%d", i);
        k->m->scalar_element[i] = element;
        k->m->scalar_name[i] = name;
        k->m->scalar_slot[i] = k->m->slot_count++;
        if (chance(k, 50) && !ir_is_float(element))
            k->m->scalar[i].integer = element == IR_BOOL ? below(k, 2) : below(k, 12);
        else
            k->m->scalar[i] = meaning_make_literal(k, element)->value;
        if (ir_is_float(element) && chance(k, 25))
            k->m->scalar[i].real = (double)NAN;
        k->scope.variables[k->scope.variable_count++] = (struct meaning_variable){
            .name = name, .slot = k->m->scalar_slot[i], .element = element};
    }
}

/* What the wrapper computes: integers of every type are i64 there. */
static struct meaning_node *host_expression(struct maker *k, enum ir_element element)
{
    struct meaning_scope *saved = ARENA_NEW(k->arena, struct meaning_scope);
    struct meaning_node *node = NULL;
    int64_t value;
    *saved = k->scope;
    k->host = true;
    k->scope.variable_count = 0;
    for (int i = 0; i < saved->variable_count; i++) {
        struct meaning_variable v = saved->variables[i];
        v.element = v.element == IR_BOOL || ir_is_float(v.element) ? v.element : IR_I64;
        k->scope.variables[k->scope.variable_count++] = v;
    }
    for (int tries = 0; tries < 8 && !node; tries++) {
        node = meaning_make_expression(k, element, scalar, 0);
        if (!meaning_host_value(k->m, node, &value))
            node = NULL;
    }
    k->host = false;
    k->scope = *saved;
    return node ? node : element == IR_BOOL ? meaning_make_literal(k, IR_BOOL) : meaning_make_number(k, 7);
}

/* As most kernels say it: an extent in blocks, near it, or one of two counts. */
static struct meaning_node *usual_count(struct maker *k)
{
    static const char *const signs[] = {"+", "-"};
    struct meaning_node *extent = meaning_make_extent(k, below(k, k->m->inputs + 1), 0);
    int by = random_between(k->random, 1, 5), more = chance(k, 50) ? by - 1 : below(k, 3);
    struct meaning_node *size = meaning_make_number(k, by), *count = extent;
    bool up = chance(k, 50);
    if (!up || chance(k, 20)) {
        count = meaning_make_node(k, MEANING_BINARY, IR_I64, scalar, count, meaning_make_number(k, more), NULL);
        strcpy(count->sign, signs[chance(k, 20)]);
    }
    count = meaning_make_node(k, up ? MEANING_CDIV : MEANING_BINARY, IR_I64, scalar, count, size, NULL);
    strcpy(count->sign, up ? "" : "/");
    if (chance(k, 60))
        return count;
    struct meaning_node *other = chance(k, 50) ? usual_count(k) : meaning_make_number(k, below(k, 6));
    static const enum meaning_kind kinds[] = {MEANING_MIN, MEANING_MAX, MEANING_CHOOSE};
    enum meaning_kind kind = kinds[below(k, 3)];
    if (kind != MEANING_CHOOSE)
        return meaning_make_node(k, kind, IR_I64, scalar, count, other, NULL);
    return meaning_make_node(k, kind, IR_I64, scalar, host_expression(k, IR_BOOL), chance(k, 50) ? other : count,
                             chance(k, 50) ? count : other);
}

/* All that is known at the end shows. */
static void store_all(struct maker *k)
{
    int number = k->m->inputs;
    const struct meaning_view *view = &k->m->views[number];
    struct meaning_node *all = meaning_make_number(k, 0);
    all->bare = false;
    for (int i = 0; i < k->scope.variable_count; i++) {
        const struct meaning_variable *v = &k->scope.variables[i];
        struct meaning_node *node = meaning_make_variable(k, v), *sum;
        if (v->constant || v->hidden)
            continue;
        if (v->element != IR_I64)
            node = meaning_make_node(k, MEANING_CONVERT, IR_I64, v->shape, node, NULL, NULL);
        if (v->shape.rank)
            node = meaning_make_node(k, MEANING_SUM, IR_I64, scalar, node, NULL, NULL);
        sum = meaning_make_node(k, MEANING_BINARY, IR_I64, scalar, all, meaning_make_number(k, 3), NULL);
        strcpy(sum->sign, "*");
        all = meaning_make_node(k, MEANING_BINARY, IR_I64, scalar, sum, node, NULL);
        strcpy(all->sign, "+");
    }
    if (all->constant)
        return;
    if (view->element != IR_I64)
        all = meaning_make_node(k, MEANING_CONVERT, view->element, scalar, all, NULL, NULL);
    struct meaning_statement *s = meaning_add(k, &k->m->body, MEANING_STORE_UPDATE);
    s->place = ARENA_NEW(k->arena, struct meaning_place);
    *s->place = (struct meaning_place){.view = number, .rank = view->rank};
    for (int d = 0; d < view->rank; d++)
        s->place->index[d] = meaning_make_number(k, 0);
    s->value[0] = all;
    strcpy(s->sign, "+");
}

void meaning_make(struct meaning *m, struct arena *arena, uint64_t seed, bool for_code)
{
    static const enum ir_element numbers[] = {IR_I8,  IR_I16, IR_I32, IR_I64, IR_U8, IR_U16,
                                              IR_U32, IR_U64, IR_F32, IR_F64, IR_I64};
    struct maker *k = ARENA_NEW(arena, struct maker);
    *m = (struct meaning){.arena = arena, .random = {seed * 0x9e3779b97f4a7c15 + 1}};
    k->m = m;
    k->arena = arena;
    k->random = &m->random;
    for (int i = 0; i < 4; i++)
        k->palette[i] = numbers[below(k, for_code ? 8 : 11)];
    m->inputs = random_between(k->random, 1, MEANING_INPUTS);
    for (int i = 0; i <= m->inputs; i++)
        make_argument(k, i, i == m->inputs);
    struct meaning_scope *views = ARENA_NEW(arena, struct meaning_scope);
    *views = k->scope;
    k->for_code = for_code;
    make_constants(k);
    meaning_make_structs(k);
    for (int i = random_below(k->random, 5); i > 0; i--)
        make_function(k);
    k->scope = *views;
    make_scalars(k);
    for (int i = 0; i < 2; i++)
        m->grid[i] = for_code ? meaning_make_number(k, 1) : chance(k, 40) ? usual_count(k) : host_expression(k, IR_I64);
    int64_t holds = 1;
    if (!for_code && chance(k, 40)) {
        m->
            requires
        = host_expression(k, IR_BOOL);
        meaning_host_value(m, m->requires, &holds);
        m->fails = !holds;
    }
    if (chance(k, 40))
        m->specialize = host_expression(k, IR_BOOL);
    k->memory = true;
    for (int i = random_between(k->random, 2, 8); i > 0 && !is_full(k); i--)
        make_statement(k, &m->body);
    store_all(k);
}
