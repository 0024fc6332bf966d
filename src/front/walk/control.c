/* Branches.  On a condition known while compiling only the branch taken is looked at; on one known when running both
 * are built and joined; jumps out of them become flags, and what follows a possible jump is guarded. */
#include "front/walk/control.h"

#include <string.h>

#include "base/plant.h"

static bool always_jumps(const struct ast_statement *s)
{
    if (!s)
        return false;
    switch (s->kind) {
    case STATEMENT_BREAK:
    case STATEMENT_CONTINUE:
    case STATEMENT_RETURN: return true;
    case STATEMENT_BLOCK: return s->body.count > 0 && always_jumps(s->body.data[s->body.count - 1]);
    case STATEMENT_IF: return always_jumps(s->then) && always_jumps(s->otherwise);
    default: return false;
    }
}

bool statement_always_jumps(const struct ast_statement *statement) { return always_jumps(statement); }

struct binding *control_guard_flag(struct elaborator *e)
{
    return e->frame->loop ? &e->frame->loop->skip : &e->frame->returned;
}

static void in_scope(struct elaborator *e, const struct ast_statement *statement)
{
    if (!statement)
        return;
    scope_push(e, false);
    elaborate_statement(e, statement);
    scope_pop(e);
}

/* Branch `otherwise`, then the rest of the block, which only runs when the branch `then` did not jump. */
static void otherwise_and_rest(struct elaborator *e, const struct ast_statement *otherwise,
                               const struct ast_statement_list *rest, int from)
{
    in_scope(e, otherwise);
    if (!rest)
        return;
    struct value flag = control_guard_flag(e)->value;
    if (flag.kind == VALUE_BOOL && flag.truth)
        return;
    if (flag.kind == VALUE_BOOL)
        elaborate_block(e, rest, from);
    else
        control_guard(e, condition_not(e, flag), rest, from);
}

/* After an error in a condition both branches are still looked at, for their own errors. */
static void look_only(struct elaborator *e, const struct ast_statement *statement, const struct carried *carried)
{
    struct value *before = carried_values(e, carried);
    struct ir_block *saved;
    region_begin(e, &saved);
    in_scope(e, statement->then);
    carried_restore(carried, before);
    in_scope(e, statement->otherwise);
    carried_restore(carried, before);
    region_end(e, saved);
}

void control_if(struct elaborator *e, const struct ast_statement *statement, const struct ast_statement_list *rest,
                int from)
{
    struct value condition = elaborate_condition(e, statement->condition, "the condition of `if`");
    if (condition.kind == VALUE_BOOL) {
        in_scope(e, condition.truth ? statement->then : statement->otherwise);
        if (rest)
            otherwise_and_rest(e, NULL, rest, from);
        return;
    }
    struct carried carried = {0};
    carried_scan(e, &carried, statement);
    if (rest)
        carried_scan_list(e, &carried, rest, from);
    if (value_is_error(condition)) {
        look_only(e, statement, &carried);
        if (rest)
            elaborate_block(e, rest, from);
        return;
    }
    struct value *before = carried_values(e, &carried);
    struct ir_block *saved;
    struct ir_block *in_then = region_begin(e, &saved);
    const struct kernel_expression *guard = host_guard_enter(e, condition, true);
    in_scope(e, statement->then);
    e->host_guard = guard;
    region_end(e, saved);
    struct value *then = carried_values(e, &carried);
    carried_restore(&carried, before);
    struct ir_block *in_else = region_begin(e, &saved);
    host_guard_enter(e, condition, false);
    otherwise_and_rest(e, statement->otherwise, rest, from);
    e->host_guard = guard;
    region_end(e, saved);
    struct value *otherwise = carried_values(e, &carried);
    struct value *joined = ARENA_ARRAY(e->arena, struct value, carried.count);
    join_branches(e, condition, in_then, in_else, carried.count, then, otherwise, joined, "the branches of `if`", false,
                  statement->at);
    carried_restore(&carried, joined);
}

/* The flags that the body cannot set are not carried and hold afterwards what they held before: a join of theirs would
 * be unknown to the branches around, which carry what their statements may change, and be used behind them. */
void control_when(struct elaborator *e, struct value keep, struct binding *flag, struct carried *carried,
                  void (*body)(struct elaborator *e, void *context), void *context, struct location at)
{
    struct value *before = carried_values(e, carried);
    struct ir_block *saved;
    struct ir_block *inside = region_begin(e, &saved);
    struct carried flags = {0};
    carried_add_flags(e, &flags);
    struct value *flags_before = carried_values(e, &flags);
    /* inside, nothing has jumped */
    struct value clear = value_bool(false, at);
    e->frame->returned.value = clear;
    for (struct loop *l = e->frame->loop; l; l = l->parent)
        l->skip.value = l->broken.value = clear;
    const struct kernel_expression *guard = host_guard_enter(e, keep, true);
    body(e, context);
    e->host_guard = guard;
    region_end(e, saved);
    struct value *after = carried_values(e, carried);
    for (int i = 0; i < carried->count; i++)
        if (carried->data[i] == flag)
            before[i] = value_bool(true, at);
    struct ir_block *outside = region_begin(e, &saved);
    region_end(e, saved);
    struct value *joined = ARENA_ARRAY(e->arena, struct value, carried->count);
    join_branches(e, keep, inside, outside, carried->count, after, before, joined, "a guarded part", false, at);
    if (!PLANTED(front_guard_keeps_flags))
        carried_restore(&flags, flags_before);
    carried_restore(carried, joined);
}

struct rest {
    const struct ast_statement_list *list;
    int from;
};
static void elaborate_rest(struct elaborator *e, void *context)
{
    const struct rest *rest = context;
    elaborate_block(e, rest->list, rest->from);
}

void control_guard(struct elaborator *e, struct value keep, const struct ast_statement_list *list, int from)
{
    struct carried carried = {0};
    carried_scan_list(e, &carried, list, from);
    struct rest rest = {list, from};
    control_when(e, keep, control_guard_flag(e), &carried, elaborate_rest, &rest, list->data[from]->at);
}

/* ---- jumps ---- */

static void set_returned(struct elaborator *e, struct location at)
{
    e->frame->returned.value = value_bool(true, at);
    for (struct loop *l = e->frame->loop; l; l = l->parent)
        l->skip.value = l->broken.value = value_bool(true, at);
}

static void jump_return(struct elaborator *e, const struct ast_statement *statement)
{
    struct value result = {.kind = VALUE_VOID, .at = statement->at};
    bool in_function = e->frame->declaration && e->frame->declaration->kind == DECLARATION_FN;
    if (statement->values.count == 1)
        result = elaborate(e, statement->values.data[0]);
    else if (statement->values.count > 1) {
        result.kind = VALUE_TUPLE;
        result.list.count = statement->values.count;
        result.list.data = ARENA_ARRAY(e->arena, struct value, result.list.count);
        for (int i = 0; i < result.list.count; i++)
            result.list.data[i] = elaborate_value(e, statement->values.data[i]);
    }
    if (result.kind != VALUE_VOID && result.kind != VALUE_VIEW)
        result = value_read(e, result);
    if (!in_function && statement->values.count) {
        front_report(e, DIAGNOSTIC_E0313, statement->at,
                     "a kernel returns nothing; write its results into `out` views");
        return;
    }
    if (in_function)
        result = call_check_result(e, result, statement->at);
    e->frame->result.value = result;
    set_returned(e, statement->at);
}

void control_jump(struct elaborator *e, const struct ast_statement *statement)
{
    if (statement->kind == STATEMENT_RETURN) {
        jump_return(e, statement);
        return;
    }
    if (!e->frame->loop) {
        front_report(e, DIAGNOSTIC_E0318, statement->at, "`%s` stands outside a loop",
                     statement->kind == STATEMENT_BREAK ? "break" : "continue");
        return;
    }
    e->frame->loop->skip.value = value_bool(true, statement->at);
    if (statement->kind == STATEMENT_BREAK)
        e->frame->loop->broken.value = value_bool(true, statement->at);
}

/* ---- c ? a : b, and, or ---- */

/* What a condition known when compiling leaves of `c ? a : b`, `a and b` and `a or b` has the shape and the type of a tile on
 * the side that is not computed all the same, where that side means something:
 *     (CAUSAL and below)[:, 0]        a tile of false where CAUSAL is
 * What is wrong with that side is not told, as of an `if` that is not taken; nor are functions entered, which may only end by
 * the condition. */
static struct value shaped_like(struct elaborator *e, struct value taken, const struct ast_expression *other)
{
    if (!e->function || e->asks_shape || value_is_error(taken) || value_is_tile(taken))
        return taken;
    int errors = e->errors;
    struct ir_block *saved;
    struct ir_value *run = NULL;
    e->muted++;
    e->asks_shape = true;
    region_begin(e, &saved);
    struct value side = condition_value(e, other);
    region_end(e, saved);
    e->asks_shape = false;
    if (e->errors == errors && value_is_tile(side))
        run = convert_to_type(e, taken, side.run->type, true, "the value");
    e->muted--;
    e->errors = errors;
    return run ? value_run(run, taken.at) : taken;
}

struct value control_conditional(struct elaborator *e, const struct ast_expression *expression)
{
    struct value condition = elaborate_choice_condition(e, expression);
    if (value_is_error(condition)) {
        elaborate_value(e, expression->left);
        elaborate_value(e, expression->right);
        return value_error(expression->at);
    }
    if (condition.kind == VALUE_BOOL)
        return shaped_like(e, elaborate_value(e, condition.truth ? expression->left : expression->right),
                           condition.truth ? expression->right : expression->left);
    struct ir_block *saved;
    struct ir_block *in_a = region_begin(e, &saved);
    const struct kernel_expression *guard = host_guard_enter(e, condition, true);
    struct value a = elaborate_value(e, expression->left);
    e->host_guard = guard;
    region_end(e, saved);
    struct ir_block *in_b = region_begin(e, &saved);
    host_guard_enter(e, condition, false);
    struct value b = elaborate_value(e, expression->right);
    e->host_guard = guard;
    region_end(e, saved);
    if (value_is_error(a) || value_is_error(b))
        return value_error(expression->at);
    bool scalars = !value_is_tile(a) && !value_is_tile(b);
    bool select = condition.kind == VALUE_RUN && scalars && region_is_speculable(in_a) && region_is_speculable(in_b);
    struct value joined;
    join_branches(e, condition, in_a, in_b, 1, &a, &b, &joined, "the arms of `?:`", select, expression->at);
    joined.at = expression->at;
    return joined;
}

struct value control_logical(struct elaborator *e, const struct ast_expression *expression)
{
    bool absorbing = expression->operation == OPERATOR_OR;
    struct value left = condition_value(e, expression->left);
    if (left.kind == VALUE_BOOL && left.truth == absorbing)
        return shaped_like(e, left, expression->right);
    struct ir_block *saved;
    struct ir_block *in_right = region_begin(e, &saved);
    const struct kernel_expression *guard = host_guard_enter(e, left, !absorbing);
    struct value right = condition_value(e, expression->right);
    e->host_guard = guard;
    region_end(e, saved);
    if (value_is_error(left) || value_is_error(right)) {
        if (e->function)
            region_splice(e, in_right);
        return value_error(expression->at);
    }
    bool scalar_left = left.kind == VALUE_RUN && left.run->type->rank == 0 && left.run->type->element == IR_BOOL;
    bool scalar_right = right.kind == VALUE_RUN && right.run->type->rank == 0 && right.run->type->element == IR_BOOL;
    if (!e->function)
        return operate_binary(e, expression->operation, left, right, expression->at);
    if (!scalar_left || !scalar_right || region_is_speculable(in_right)) {
        region_splice(e, in_right);
        return operate_binary(e, expression->operation, left, right, expression->at);
    }
    /* the right side has effects, or may not run: only when the left side does not decide */
    struct ir_block *decided = region_begin(e, &saved);
    region_end(e, saved);
    struct value known = value_bool(absorbing, expression->at), joined;
    if (absorbing)
        join_branches(e, left, decided, in_right, 1, &known, &right, &joined, "`or`", false, expression->at);
    else
        join_branches(e, left, in_right, decided, 1, &right, &known, &joined, "`and`", false, expression->at);
    return joined;
}
