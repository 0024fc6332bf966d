/* Looks through trees for a name. */
#include "front/syntax/ast.h"

#include <string.h>

/* What is done with the part in front of a suffix. */
static enum ast_use use_of_base(const struct ast_expression *x, enum ast_use use)
{
    switch (x->kind) {
    case EXPRESSION_CALL: return AST_USE_CALLED;
    case EXPRESSION_MEMBER: return AST_USE_ASKED;
    case EXPRESSION_INDEX: return use;
    default: return AST_USE_VALUE;
    }
}

/* Atomics change the place that is their first argument. */
static enum ast_use use_of_argument(const struct ast_expression *call, int index)
{
    const struct ast_expression *base = call->base;
    bool is_atomic = base && base->kind == EXPRESSION_NAME && strncmp(base->name, "atomic_", 7) == 0;
    return is_atomic && index == 0 ? AST_USE_CHANGED : AST_USE_VALUE;
}

static const struct ast_expression *find_name(const struct ast_expression *x, enum ast_use use, ast_name_test *is,
                                              void *context)
{
    if (!x)
        return NULL;
    if (x->kind == EXPRESSION_NAME)
        return is(x->name, use, context) ? x : NULL;
    if (x->kind == EXPRESSION_BINARY && x->operation == OPERATOR_MATRIX_MULTIPLY && is("@", use, context))
        return x;
    const struct ast_expression *found = find_name(x->base, use_of_base(x, use), is, context);
    if (!found)
        found = find_name(x->condition, AST_USE_VALUE, is, context);
    if (!found)
        found = find_name(x->left, AST_USE_VALUE, is, context);
    if (!found)
        found = find_name(x->right, AST_USE_VALUE, is, context);
    for (int i = 0; i < x->elements.count && !found; i++)
        found = find_name(x->elements.data[i], AST_USE_VALUE, is, context);
    for (int i = 0; i < x->arguments.count && !found; i++)
        found = find_name(x->arguments.data[i]->value, use_of_argument(x, i), is, context);
    for (int i = 0; i < x->indexes.count && !found; i++) {
        const struct ast_index *index = x->indexes.data[i];
        found = find_name(index->value, AST_USE_VALUE, is, context);
        if (!found)
            found = find_name(index->size, AST_USE_VALUE, is, context);
        if (!found)
            found = find_name(index->end, AST_USE_VALUE, is, context);
    }
    return found;
}

const struct ast_expression *ast_find_name(const struct ast_expression *expression, ast_name_test *is, void *context)
{
    return find_name(expression, AST_USE_VALUE, is, context);
}

static const struct ast_expression *find_in_list(const struct ast_expression_list *list, enum ast_use use,
                                                 ast_name_test *is, void *context)
{
    const struct ast_expression *found = NULL;
    for (int i = 0; i < list->count && !found; i++)
        found = find_name(list->data[i], use, is, context);
    return found;
}

static const struct ast_expression *find_in_statement(const struct ast_statement *s, ast_name_test *is, void *context)
{
    if (!s)
        return NULL;
    enum ast_use stores = s->operation == OPERATOR_NONE ? AST_USE_STORED : AST_USE_CHANGED;
    const struct ast_expression *found = find_in_list(&s->targets, stores, is, context);
    if (!found)
        found = find_in_list(&s->values, AST_USE_VALUE, is, context);
    if (!found)
        found = find_name(s->value, AST_USE_VALUE, is, context);
    if (!found)
        found = find_name(s->condition, AST_USE_VALUE, is, context);
    for (int i = 0; i < 3 && s->range && !found; i++)
        found = find_name(i == 0 ? s->range->from : i == 1 ? s->range->to : s->range->step, AST_USE_VALUE, is, context);
    for (int i = 0; i < s->body.count && !found; i++)
        found = find_in_statement(s->body.data[i], is, context);
    if (!found)
        found = find_in_statement(s->then, is, context);
    return found ? found : find_in_statement(s->otherwise, is, context);
}

const struct ast_expression *ast_find_name_in_body(const struct ast_declaration *declaration, ast_name_test *is,
                                                   void *context)
{
    const struct ast_expression *found = find_in_statement(declaration->body, is, context);
    return found ? found : find_name(declaration->value, AST_USE_VALUE, is, context);
}
