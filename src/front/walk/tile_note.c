/* Notes for programs that assign a part of a tile, or read one of its elements at an index known only when running.
 * Tiles do neither.  A note shows how to write it instead, with the program's own names, extents and indexes:
 *
 *     t[2, j] = 5.0;    t = where(iota(4)[:, None] == 2 and iota(8)[None, :] == j, 5.0, t); */
#include "front/walk/walk.h"

/* "iota(8)[None, :]": the positions along a dimension of a tile. */
static void print_positions(struct buffer *out, const struct ir_type *type, int dimension)
{
    buffer_printf(out, "iota(%lld)", (long long)type->extent[dimension]);
    for (int d = 0; type->rank > 1 && d < type->rank; d++)
        buffer_printf(out, "%s%s%s", d ? ", " : "[", d == dimension ? ":" : "None", d == type->rank - 1 ? "]" : "");
}

static bool is_simple(const struct ast_expression *expression)
{
    return expression->kind == EXPRESSION_NAME || expression->kind == EXPRESSION_INTEGER ||
           expression->kind == EXPRESSION_REAL;
}

static const char *source_in_brackets(struct elaborator *e, const struct ast_expression *expression)
{
    return arena_printf(e->arena, is_simple(expression) ? "%s" : "(%s)", front_source(e, expression));
}

/* The condition that holds in the part that the indexes choose; false: there is none. */
static bool print_part(struct elaborator *e, struct buffer *out, const struct ir_type *type,
                       const struct ast_index_list *indexes)
{
    if (indexes->count != type->rank)
        return false;
    for (int d = 0; d < indexes->count; d++) {
        const struct ast_index *item = indexes->data[d];
        if (item->kind == INDEX_ALL)
            continue;
        if (item->kind != INDEX_EXPRESSION && item->kind != INDEX_SLICE)
            return false;
        buffer_puts(out, out->size ? " and " : "");
        print_positions(out, type, d);
        const char *start = source_in_brackets(e, item->value);
        if (item->kind == INDEX_EXPRESSION) {
            buffer_printf(out, " == %s", start);
            continue;
        }
        buffer_printf(out, " >= %s and ", start);
        print_positions(out, type, d);
        buffer_printf(out, " < %s + %s", start, source_in_brackets(e, item->size));
    }
    return out->size > 0;
}

/* What the statement gives to the target, as an operand of `where`: `value` where it is of another shape. */
static const char *text_of_value(struct elaborator *e, const char *tile, const struct ast_statement *s,
                                 const struct ast_expression *target)
{
    const struct ast_expression *value = NULL;
    bool element = true;
    for (int i = 0; i < s->targets.count && s->targets.count == s->values.count; i++)
        if (s->targets.data[i] == target)
            value = s->values.data[i];
    for (int i = 0; i < target->indexes.count; i++)
        element = element && target->indexes.data[i]->kind == INDEX_EXPRESSION;
    bool fits = value && (element || value->kind == EXPRESSION_INTEGER || value->kind == EXPRESSION_REAL);
    if (s->operation == OPERATOR_NONE)
        return fits ? front_source(e, value) : "value";
    return arena_printf(e->arena, "%s %s %s", tile, ast_operator_spelling(s->operation),
                        fits ? source_in_brackets(e, value) : "value");
}

void note_tile_assignment(struct elaborator *e, struct diagnostic *d, struct value base, const struct ast_statement *s,
                          const struct ast_expression *target)
{
    struct buffer part = {0};
    if (value_is_tile(base) && target->base->kind == EXPRESSION_NAME &&
        print_part(e, &part, base.run->type, &target->indexes)) {
        const char *tile = target->base->name;
        front_note(e, d, target->at, "a tile is not changed in part but made anew: `%s = where(%s, %s, %s);`", tile,
                   part.data, text_of_value(e, tile, s, target), tile);
    } else {
        front_note(e, d, target->at, "a tile is not changed in part but made anew: `t = where(condition, value, t);`");
    }
    buffer_free(&part);
}

void note_tile_element(struct elaborator *e, struct diagnostic *d, struct value base,
                       const struct ast_expression *expression, const struct ast_expression *index)
{
    const struct ast_statement *s = e->assigned;
    for (int i = 0; s && i < s->targets.count; i++)
        if (s->targets.data[i] == expression) {
            note_tile_assignment(e, d, base, s, expression);
            return;
        }
    if (expression->indexes.count == 1 && base.run->type->rank == 1 &&
        expression->indexes.data[0]->kind == INDEX_EXPRESSION && expression->base->kind == EXPRESSION_NAME)
        front_note(e, d, index->at,
                   "a view takes any index; the element `%s` of `%s` is `sum(where(iota(%lld) == %s, %s, 0))`",
                   front_source(e, index), expression->base->name, (long long)base.run->type->extent[0],
                   source_in_brackets(e, index), expression->base->name);
    else
        front_note(e, d, index->at,
                   "a view takes any index; the element n of a tile t of 8 is `sum(where(iota(8) == n, t, 0))`");
}
