/* Looks through trees for a name. */
#include "front/syntax/ast.h"

static const struct ast_expression *find_name(const struct ast_expression *x, bool called, ast_name_test *is,
                                              void *context)
{
    if (!x)
        return NULL;
    if (x->kind == EXPRESSION_NAME)
        return is(x->name, called, context) ? x : NULL;
    const struct ast_expression *found = find_name(x->base, x->kind == EXPRESSION_CALL, is, context);
    if (!found)
        found = find_name(x->condition, false, is, context);
    if (!found)
        found = find_name(x->left, false, is, context);
    if (!found)
        found = find_name(x->right, false, is, context);
    for (int i = 0; i < x->elements.count && !found; i++)
        found = find_name(x->elements.data[i], false, is, context);
    for (int i = 0; i < x->arguments.count && !found; i++)
        found = find_name(x->arguments.data[i]->value, false, is, context);
    for (int i = 0; i < x->indexes.count && !found; i++) {
        const struct ast_index *index = x->indexes.data[i];
        found = find_name(index->value, false, is, context);
        if (!found)
            found = find_name(index->size, false, is, context);
        if (!found)
            found = find_name(index->end, false, is, context);
    }
    return found;
}

const struct ast_expression *ast_find_name(const struct ast_expression *expression, ast_name_test *is, void *context)
{
    return find_name(expression, false, is, context);
}

static const struct ast_expression *find_in_list(const struct ast_expression_list *list, ast_name_test *is,
                                                 void *context)
{
    const struct ast_expression *found = NULL;
    for (int i = 0; i < list->count && !found; i++)
        found = find_name(list->data[i], false, is, context);
    return found;
}

static const struct ast_expression *find_in_statement(const struct ast_statement *s, ast_name_test *is, void *context)
{
    if (!s)
        return NULL;
    const struct ast_expression *found = find_in_list(&s->targets, is, context);
    if (!found)
        found = find_in_list(&s->values, is, context);
    if (!found)
        found = find_name(s->value, false, is, context);
    if (!found)
        found = find_name(s->condition, false, is, context);
    for (int i = 0; i < 3 && s->range && !found; i++)
        found = find_name(i == 0 ? s->range->from : i == 1 ? s->range->to : s->range->step, false, is, context);
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
    return found ? found : find_name(declaration->value, false, is, context);
}
