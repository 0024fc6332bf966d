/* Loops of a const fn whose number of turns is known only at the call, so that the wrapper runs them.  Each variable
 * that the body may assign becomes a cell of the loop (ir/kernel.h).  The body is walked once, with the cells as
 * values:
 *
 *   while (y != 0) { let t = x % y; x = y; y = t; }     cells x, y    condition y != 0    next y, x % y */
#include "front/walk/control.h"

#include <string.h>

struct host_turns {
    const struct ast_statement *statement;
    struct kernel_cells *cells;
    struct carried carried;
    struct binding turn; /* of a `for` */
    struct value to, step;
    bool counts, multiply;
    VECTOR(struct value *) leaves;
};

/* ---- what is carried ---- */

static struct value cell(struct elaborator *e, const struct host_turns *h, int number, struct value like)
{
    struct value v = host_make(e, KERNEL_HOST_CELL, number, 0, host_element(like), like.at);
    struct kernel_expression *tree = arena_copy(e->arena, v.host.tree, sizeof *tree);
    tree->cells = h->cells;
    v.host.tree = tree;
    v.enumeration = like.enumeration;
    return v;
}

/* The wrapper has one type of integers, so a variable of another would compute otherwise there. */
static bool is_wide(struct elaborator *e, struct value v)
{
    if (v.kind != VALUE_INTEGER || v.element == IR_ELEMENT_COUNT || element_same_language(v.element, IR_I64))
        return true;
    front_report(e, DIAGNOSTIC_E0409, v.at,
                 "the wrapper cannot evaluate this loop: it changes a variable of type %s, and the wrapper's integers "
                 "are i64",
                 ir_element_info[v.element].text);
    return false;
}

static bool add_leaves(struct elaborator *e, struct host_turns *h, struct value *value)
{
    if (value->kind == VALUE_TUPLE) {
        value->list.data = arena_copy(e->arena, value->list.data, sizeof(struct value) * (size_t)value->list.count);
        for (int i = 0; i < value->list.count; i++)
            if (!add_leaves(e, h, &value->list.data[i]))
                return false;
        return true;
    }
    enum ir_element element = host_element(*value);
    if ((element != IR_I64 && element != IR_BOOL) || value_is_error(*value))
        return true;
    vector_push(e->arena, &h->leaves, value);
    return is_wide(e, *value);
}

static struct value zero_of(struct elaborator *e, const struct type *type, struct location at)
{
    struct value v = {.kind = VALUE_VOID, .at = at};
    if (type->kind == TYPE_TUPLE || type->kind == TYPE_STRUCT) {
        v.kind = VALUE_TUPLE;
        v.structure = type->structure;
        v.list.count = type->count;
        v.list.data = ARENA_ARRAY(e->arena, struct value, type->count);
        for (int i = 0; i < type->count; i++)
            v.list.data[i] = zero_of(e, type->members[i], at);
        return v;
    }
    if (type->kind == TYPE_ENUM) {
        v = value_integer(0, at);
        v.kind = VALUE_ENUMERATOR;
        v.enumeration = type->enumeration;
    } else if (type->plain->element == IR_BOOL)
        v = value_bool(false, at);
    else if (ir_is_integer(type->plain->element))
        v = value_integer(0, at);
    return v;
}

/* A result that is not there yet starts as 0. */
static void start_result(struct elaborator *e, struct value *value, struct location at)
{
    const struct type *type = e->frame->result_type;
    if (value->kind == VALUE_VOID && type)
        *value = zero_of(e, type, at);
}

static bool find_carried(struct elaborator *e, struct host_turns *h)
{
    struct carried all = {0};
    carried_scan(e, &all, h->statement->then);
    for (int i = 0; i < all.count; i++)
        if (all.data[i] != &e->frame->loop->skip)
            carried_add(e, &h->carried, all.data[i]);
    if (h->counts)
        carried_add(e, &h->carried, &h->turn);
    for (int i = 0; i < h->carried.count; i++) {
        struct binding *binding = h->carried.data[i];
        if (binding == &e->frame->result)
            start_result(e, &binding->value, h->statement->at);
        if (!add_leaves(e, h, &binding->value))
            return false;
    }
    return true;
}

/* Makes the cells with their first values; the carried variables stand for them. */
static bool enter(struct elaborator *e, struct host_turns *h)
{
    struct kernel_cells *cells = h->cells = host_cells(e, h->leaves.count);
    cells->next = ARENA_ARRAY(e->arena, const struct kernel_expression *, cells->count);
    for (int i = 0; i < cells->count; i++) {
        struct value *leaf = h->leaves.data[i];
        cells->start[i] = host_tree(e, *leaf, host_element(*leaf), NULL);
        if (!cells->start[i])
            return false;
        *leaf = cell(e, h, i, *leaf);
    }
    e->host_within = cells;
    e->host_guard = NULL;
    return true;
}

/* ---- a turn ---- */

static struct value number(int64_t n, const struct host_turns *h) { return value_integer(n, h->statement->at); }

static bool counts_down(const struct host_turns *h) { return h->step.kind == VALUE_INTEGER && h->step.integer < 0; }

static bool test_turn(struct elaborator *e, struct host_turns *h)
{
    struct location at = h->statement->at;
    struct binding *broken = &e->frame->loop->broken;
    const struct kernel_expression *guard = e->host_guard;
    struct value going = broken->value.kind == VALUE_HOST ? condition_not(e, broken->value) : value_bool(true, at);
    guard = host_guard_enter(e, going, true);
    struct value own = h->counts
                           ? host_binary(e, counts_down(h) ? OPERATOR_GREATER : OPERATOR_LESS, h->turn.value, h->to, at)
                           : elaborate_condition(e, h->statement->condition, "the condition of `while`");
    e->host_guard = guard;
    if (value_is_error(own))
        return false;
    if (going.kind == VALUE_HOST)
        own = host_binary(e, OPERATOR_AND, going, own, at);
    h->cells->condition = value_is_error(own) ? NULL : host_tree(e, own, IR_BOOL, NULL);
    h->cells->body_from = e->front->host_cells;
    return h->cells->condition != NULL;
}

/* The end of the range where i64 has no next number; that ends the loop. */
static struct value next_number(struct elaborator *e, const struct host_turns *h, struct value turn)
{
    struct location at = h->statement->at;
    bool down = counts_down(h);
    struct value most = number(down ? INT64_MIN : INT64_MAX, h), limit, next, over;
    struct value forward[2] = {h->step, number(0, h)};
    struct value step = h->multiply || down ? h->step : host_operate(e, KERNEL_HOST_MAX, IR_I64, 2, forward, at);
    limit = host_operate(e, h->multiply ? KERNEL_HOST_DIV : KERNEL_HOST_SUB, IR_I64, 2, (struct value[]){most, step},
                         at);
    over = host_operate(e, down ? KERNEL_HOST_LT : KERNEL_HOST_GT, IR_BOOL, 2, (struct value[]){turn, limit}, at);
    next = host_operate(e, h->multiply ? KERNEL_HOST_MUL : KERNEL_HOST_ADD, IR_I64, 2, (struct value[]){turn, h->step},
                        at);
    if (value_is_error(next) || value_is_error(over))
        return value_error(at);
    return host_operate(e, KERNEL_HOST_SELECT, IR_I64, 3, (struct value[]){over, h->to, next}, at);
}

/* Inside a turn nothing has jumped. */
static void clear_flags(struct elaborator *e, struct location at)
{
    e->frame->returned.value = value_bool(false, at);
    for (struct loop *l = e->frame->loop; l; l = l->parent)
        l->skip.value = l->broken.value = value_bool(false, at);
}

/* What a variable holds at the end of the body becomes the next value of its cells. */
static bool collect_ends(struct elaborator *e, struct host_turns *h, struct value end, struct value after, int *next)
{
    struct location at = h->statement->at;
    if (value_is_error(end))
        return false;
    if (after.kind == VALUE_TUPLE) {
        bool good = true;
        for (int i = 0; i < after.list.count && good; i++)
            good = collect_ends(e, h, end.kind == VALUE_TUPLE ? end.list.data[i] : after.list.data[i],
                                after.list.data[i], next);
        return good;
    }
    if (after.kind != VALUE_HOST || *next >= h->cells->count || after.host.element == IR_F64) {
        if (value_same(end, after) || (end.kind == VALUE_VOID && after.kind == VALUE_VOID))
            return true;
        front_report(e, DIAGNOSTIC_E0409, at,
                     "the wrapper cannot evaluate this loop: it changes integers and bools, and not %s",
                     front_describe(e, end));
        return false;
    }
    if (end.kind == VALUE_VOID)
        end = after;
    int place = (*next)++;
    if (host_element(end) != after.host.element || end.enumeration != after.enumeration) {
        front_report(e, DIAGNOSTIC_E0314, at, "a value carried by this loop changes its type from %s to %s",
                     front_describe(e, after), front_describe(e, end));
        return false;
    }
    if (!is_wide(e, end))
        return false;
    h->cells->next[place] = host_tree(e, end, after.host.element, NULL);
    return h->cells->next[place] != NULL;
}

static bool take_body(struct elaborator *e, struct host_turns *h, const struct value *after)
{
    int errors = e->errors, next = 0;
    struct value turn = h->turn.value;
    clear_flags(e, h->statement->at);
    loop_take_turn(e, h->statement, turn);
    if (h->counts)
        h->turn.value = next_number(e, h, turn);
    bool good = e->errors == errors;
    for (int i = 0; i < h->carried.count && good; i++)
        good = collect_ends(e, h, h->carried.data[i]->value, after[i], &next);
    return good;
}

/* After an error nothing behind the loop is looked at: what it would say are echoes. */
static void give_up(struct elaborator *e, const struct host_turns *h)
{
    struct location at = h->statement->at;
    for (int i = 0; i < h->carried.count; i++)
        h->carried.data[i]->value = value_error(at);
    e->frame->result.value = value_error(at);
    e->frame->returned.value = value_bool(true, at);
    for (struct loop *l = e->frame->loop; l; l = l->parent)
        l->skip.value = l->broken.value = value_bool(true, at);
}

static bool is_number(struct elaborator *e, struct value bound)
{
    if (host_element(bound) == IR_I64 && !bound.enumeration)
        return true;
    front_report(e, DIAGNOSTIC_E0409, bound.at, "the bounds of this loop are integers, not %s",
                 front_describe(e, bound));
    return false;
}

/* `to`, or `from` where a step that only the call tells would never come to `to`: as in loops of a kernel (loop.c). */
static struct value end_if_advancing(struct elaborator *e, const struct host_turns *h, struct value from)
{
    struct location at = h->statement->at;
    struct value advances = value_bool(true, at);
    if (h->step.kind != VALUE_INTEGER)
        advances = host_binary(e, OPERATOR_GREATER_EQUAL, h->step, number(h->multiply ? 2 : 1, h), at);
    if (h->multiply && from.kind != VALUE_INTEGER) {
        struct value starts = host_binary(e, OPERATOR_GREATER_EQUAL, from, number(1, h), at);
        advances = advances.kind == VALUE_HOST ? host_binary(e, OPERATOR_AND, advances, starts, at) : starts;
    }
    if (advances.kind != VALUE_HOST)
        return value_is_error(advances) ? advances : h->to;
    return host_operate(e, KERNEL_HOST_SELECT, IR_I64, 3, (struct value[]){advances, h->to, from}, at);
}

void host_loop(struct elaborator *e, const struct ast_statement *statement, const struct loop_bounds *bounds)
{
    struct host_turns h = {.statement = statement, .counts = bounds != NULL};
    const struct kernel_cells *within = e->host_within;
    const struct kernel_expression *guard = e->host_guard;
    if (bounds) {
        h.to = host_keep(e, bounds->to);
        h.step = host_keep(e, bounds->step);
        h.multiply = bounds->multiply;
        h.turn.name = "";
        h.turn.value = host_keep(e, bounds->from);
    }
    bool good = !bounds || (is_number(e, bounds->from) && is_number(e, bounds->to) && is_number(e, bounds->step));
    if (good && bounds) {
        h.to = end_if_advancing(e, &h, h.turn.value);
        good = !value_is_error(h.to);
    }
    good = good && find_carried(e, &h) && enter(e, &h);
    struct value *after = carried_values(e, &h.carried);
    good = good && test_turn(e, &h) && take_body(e, &h, after);
    e->host_within = within;
    e->host_guard = guard;
    carried_restore(&h.carried, after);
    if (!good)
        give_up(e, &h);
}
