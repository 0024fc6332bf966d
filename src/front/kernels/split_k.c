/* The rule of `split_k`.  Each part of the instances runs a part of one loop, so that the loop may only add to
 * accumulators that started at zero, and may write nothing.  This file reads the rule off the tree, which says which loop is
 * meant, and tells what stands in its way where the knob is listed, also when no instance has more than one part.  The tree
 * does not tell everything (`exp(0)` is written like a conversion of 0, calls may write): for instances with parts
 * split_body.c proves the same on the IR. */
#include "front/kernels/kernel_plan.h"

#include <string.h>

struct offence {
    struct location at;
    const char *text;
};

static bool is_written_zero(const struct ast_expression *x)
{
    if (x->kind == EXPRESSION_INTEGER)
        return x->integer.value == 0;
    if (x->kind == EXPRESSION_REAL)
        return x->real.value == 0;
    if (x->kind != EXPRESSION_CALL)
        return false;
    if (x->base->kind == EXPRESSION_NAME && strcmp(x->base->name, "zeros") == 0)
        return true;
    return x->arguments.count == 1 && is_written_zero(x->arguments.data[0]->value);
}

/* Whether `name` is a `var` of the kernel's body, before `end`, that starts at zero and is not assigned between. */
static bool starts_at_zero(const struct ast_statement_list *body, int end, const char *name)
{
    bool zero = false;
    for (int i = 0; i < end; i++) {
        const struct ast_statement *s = body->data[i];
        for (int k = 0; s->kind == STATEMENT_VAR && k < s->names.count; k++)
            if (s->names.data[k].text == name)
                zero = s->values.count == s->names.count && is_written_zero(s->values.data[k]);
        for (int k = 0; s->kind == STATEMENT_ASSIGN && k < s->targets.count; k++)
            if (s->targets.data[k]->kind == EXPRESSION_NAME && s->targets.data[k]->name == name)
                zero = false;
    }
    return zero;
}

static bool declared_inside(const struct ast_statement *s, const char *name)
{
    if (!s)
        return false;
    for (int i = 0;
         (s->kind == STATEMENT_LET || s->kind == STATEMENT_VAR || s->kind == STATEMENT_FOR) && i < s->names.count; i++)
        if (s->names.data[i].text == name)
            return true;
    for (int i = 0; s->kind == STATEMENT_BLOCK && i < s->body.count; i++)
        if (declared_inside(s->body.data[i], name))
            return true;
    return declared_inside(s->then, name) || declared_inside(s->otherwise, name);
}

static bool calls_writer(const struct ast_expression *x)
{
    return x->kind == EXPRESSION_CALL && x->base->kind == EXPRESSION_NAME &&
           (strcmp(x->base->name, "store") == 0 || strncmp(x->base->name, "atomic_", 7) == 0);
}

/* v = dot(a, b, v) */
static bool is_accumulating_dot(const struct ast_expression *value, const char *name)
{
    return value->kind == EXPRESSION_CALL && value->base->kind == EXPRESSION_NAME &&
           strcmp(value->base->name, "dot") == 0 && value->arguments.count >= 3 &&
           value->arguments.data[2]->value->kind == EXPRESSION_NAME && value->arguments.data[2]->value->name == name;
}

struct search {
    const struct ast_statement_list *body;
    int loop;
    struct offence found;
};

static bool offend(struct search *s, struct location at, const char *text)
{
    s->found = (struct offence){at, text};
    return true;
}

static bool offends(struct search *search, const struct ast_statement *s);

static bool assignment_offends(struct search *search, const struct ast_statement *s)
{
    const struct ast_statement *loop = search->body->data[search->loop];
    for (int i = 0; i < s->targets.count; i++) {
        const struct ast_expression *target = s->targets.data[i];
        if (target->kind != EXPRESSION_NAME)
            return offend(search, target->at, "the loop writes memory");
        if (declared_inside(loop->then, target->name))
            continue;
        bool adds = s->operation == OPERATOR_ADD ||
                    (s->operation == OPERATOR_NONE && s->values.count == s->targets.count &&
                     is_accumulating_dot(s->values.data[i], target->name));
        if (!adds)
            return offend(search, s->at, "a variable of the loop is not only added to");
        if (!starts_at_zero(search->body, search->loop, target->name))
            return offend(search, s->at, "the variable that is added to does not start at zero");
    }
    return false;
}

static bool offends(struct search *search, const struct ast_statement *s)
{
    if (!s)
        return false;
    switch (s->kind) {
    case STATEMENT_ASSIGN: return assignment_offends(search, s);
    case STATEMENT_EXPRESSION: return calls_writer(s->value) ? offend(search, s->at, "the loop writes memory") : false;
    case STATEMENT_RETURN:
    case STATEMENT_BREAK: return offend(search, s->at, "the loop may end early");
    case STATEMENT_BLOCK:
        for (int i = 0; i < s->body.count; i++)
            if (offends(search, s->body.data[i]))
                return true;
        return false;
    default: return offends(search, s->then) || offends(search, s->otherwise);
    }
}

/* How many loops of the body can be split, and one of them; `first`: what stands in the way of the first that cannot. */
static int find_loops(const struct ast_declaration *kernel, int *loops, const struct ast_statement **found,
                      struct offence *first)
{
    struct search search = {.body = &kernel->body->body, .loop = -1};
    int fitting = 0;
    for (int i = 0; i < search.body->count; i++) {
        const struct ast_statement *s = search.body->data[i];
        if (s->kind != STATEMENT_FOR || s->is_static)
            continue;
        ++*loops;
        search.loop = i;
        if (!offends(&search, s->then)) {
            fitting++;
            *found = s;
        } else if (!first->text)
            *first = search.found;
    }
    return fitting;
}

const struct ast_statement *split_loop(const struct ast_declaration *kernel)
{
    const struct ast_statement *found = NULL;
    struct offence first = {0};
    int loops = 0;
    return find_loops(kernel, &loops, &found, &first) == 1 ? found : NULL;
}

void split_check(struct elaborator *e, const struct kernel_plan *kernel, struct location at)
{
    const struct ast_statement *found;
    struct offence first = {at, NULL};
    int loops = 0, fitting = find_loops(kernel->declaration, &loops, &found, &first);
    bool has_room = kernel->grid.count < IR_MAX_RANK; /* parts are one more dimension */
    if (fitting == 1 && has_room)
        return;
    const char *why = loops == 0    ? "the body has no `for` of its own"
                      : fitting > 1 ? "more than one loop could be split"
                      : fitting     ? "its grid has as many dimensions as there can be"
                                    : first.text;
    struct diagnostic *d = front_report(e, DIAGNOSTIC_E0415, fitting ? at : first.at,
                                        "this kernel cannot have `split_k`: %s", why);
    if (loops && !fitting)
        front_note(e, d, at, "`split_k` is listed here");
}
