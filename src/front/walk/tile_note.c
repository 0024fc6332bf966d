/* Notes for programs that assign a part of a tile, or read one of its elements at an index known only when running.
 * Tiles do neither.  A note shows how to write it instead, with the program's own names, extents and indexes:
 *
 *     t[2, j] = 5.0;    t = where(iota(4)[:, None] == 2 and iota(8)[None, :] == j, 5.0, t); */
#include "front/walk/walk.h"

#include <string.h>

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

/* Whether a value for the part that the indexes choose may stand beside the whole tile. */
static bool fits_part(const struct ast_expression *value, const struct ast_expression *part)
{
    bool element = true;
    for (int i = 0; i < part->indexes.count; i++)
        element = element && part->indexes.data[i]->kind == INDEX_EXPRESSION;
    return value && (element || value->kind == EXPRESSION_INTEGER || value->kind == EXPRESSION_REAL);
}

/* What the statement gives to the target, as an operand of `where`: `value` where it is of another shape. */
static const char *text_of_value(struct elaborator *e, const char *tile, const struct ast_statement *s,
                                 const struct ast_expression *target)
{
    const struct ast_expression *value = NULL;
    for (int i = 0; i < s->targets.count && s->targets.count == s->values.count; i++)
        if (s->targets.data[i] == target)
            value = s->values.data[i];
    bool fits = fits_part(value, target);
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

/* What a function that works on memory means to do with a part of a tile. */
enum touch { READS, STORES, COMBINES, CALLS, ELSE };

static const struct {
    const char *function;
    enum touch touch;
    const char *with; /* an operator, a function */
} touches[] = {
    {"load", READS, NULL},          {"atomic_load", READS, NULL},  {"store", STORES, NULL},
    {"atomic_store", STORES, NULL}, {"atomic_add", COMBINES, "+"}, {"atomic_and", COMBINES, "&"},
    {"atomic_or", COMBINES, "|"},   {"atomic_xor", COMBINES, "^"}, {"atomic_min", CALLS, "min"},
    {"atomic_max", CALLS, "max"},
};

static enum touch find_touch(const char *function, const char **with)
{
    for (size_t i = 0; i < sizeof touches / sizeof *touches; i++)
        if (strcmp(touches[i].function, function) == 0) {
            *with = touches[i].with;
            return touches[i].touch;
        }
    return ELSE;
}

/* What the call leaves in the part, as an operand of `where`. */
static const char *text_left(struct elaborator *e, const char *tile, const struct ast_expression *call,
                             enum touch touch, const char *with)
{
    const struct ast_argument *second = call->arguments.count > 1 ? call->arguments.data[1] : NULL;
    const struct ast_expression *value = second && !second->name.text ? second->value : NULL;
    value = fits_part(value, call->arguments.data[0]->value) ? value : NULL;
    if (touch == STORES)
        return value ? front_source(e, value) : "value";
    if (touch == CALLS)
        return arena_printf(e->arena, "%s(%s, %s)", with, tile, value ? front_source(e, value) : "value");
    return arena_printf(e->arena, "%s %s %s", tile, with, value ? source_in_brackets(e, value) : "value");
}

/* The element, row or column at indexes of which some are known only when running; NULL: there is no short way. */
static const char *text_of_element(struct elaborator *e, struct value base, const struct ast_expression *expression)
{
    const struct ir_type *type = base.run->type;
    struct buffer part = {0};
    int chosen = 0, axis = 0;
    const char *text = NULL, *tile = front_source(e, expression->base);
    for (int d = 0; d < expression->indexes.count; d++)
        if (expression->indexes.data[d]->kind == INDEX_EXPRESSION)
            axis = chosen++ ? axis : d;
    if (expression->base->kind == EXPRESSION_NAME && print_part(e, &part, type, &expression->indexes) &&
        (chosen == type->rank || chosen == 1)) {
        const char *along = chosen == type->rank ? "" : arena_printf(e->arena, ", axis = %d", axis);
        text = type->element == IR_BOOL ? arena_printf(e->arena, "any(%s and %s%s)", part.data, tile, along)
                                        : arena_printf(e->arena, "sum(where(%s, %s, 0)%s)", part.data, tile, along);
    }
    buffer_free(&part);
    return text;
}

/* load(t[2]), store(t[2], 1.0), atomic_add(t[2], 1.0) of a tile t. */
static void note_tile_touch(struct elaborator *e, struct diagnostic *d, struct value base,
                            const struct ast_expression *call, bool is_known)
{
    const struct ast_expression *place = call->arguments.data[0]->value;
    const char *tile = front_source(e, place->base), *with = NULL;
    enum touch touch = find_touch(call->base->name, &with);
    struct buffer part = {0};
    bool has_part = place->base->kind == EXPRESSION_NAME && print_part(e, &part, base.run->type, &place->indexes);
    const char *element = is_known ? front_source(e, place) : text_of_element(e, base, place);
    if (touch == READS && element)
        front_note(e, d, place->at, "`%s` is a tile, not memory, and read without `%s`: `%s`", tile, call->base->name,
                   element);
    else if (touch != READS && touch != ELSE && has_part)
        front_note(e, d, place->at,
                   "`%s` is a tile, not memory; it is not changed in part but made anew: `%s = where(%s, %s, %s);`",
                   tile, tile, part.data, text_left(e, tile, call, touch, with), tile);
    else
        front_note(e, d, place->at, "`%s` is a tile, not memory: `%s` is for views, as in `%s(x[i]%s)`, and pointers",
                   tile, call->base->name, call->base->name, call->arguments.count > 1 ? ", ..." : "");
    buffer_free(&part);
}

void note_value_touch(struct elaborator *e, struct diagnostic *d, struct value v, const struct ast_expression *call)
{
    const struct ast_expression *place = call->arguments.data[0]->value;
    const char *name = call->base->name, *with = NULL;
    enum touch touch = find_touch(name, &with);
    struct value base = v;
    if (place->kind == EXPRESSION_INDEX && place->base->kind == EXPRESSION_NAME)
        base = elaborate(e, place->base);
    if (place->kind == EXPRESSION_INDEX && value_is_tile(base)) {
        note_tile_touch(e, d, base, call, true);
        return;
    }
    front_note_shape(e, d, v, "the value");
    if (touch == READS)
        front_note(e, d, place->at, "a value is not loaded but used as it is: `%s`", front_source(e, place));
    else if (touch == STORES && place->kind == EXPRESSION_NAME && value_is_tile(v))
        front_note(e, d, place->at, "a variable is assigned: `%s = %s(%s);`", place->name, front_describe(e, v),
                   text_left(e, place->name, call, touch, with));
    else if (touch != ELSE && place->kind == EXPRESSION_NAME)
        front_note(e, d, place->at, "a variable is assigned: `%s = %s;`", place->name,
                   text_left(e, place->name, call, touch, with));
    else
        front_note(e, d, place->at, "a place is a view indexed in full, as in `%s(x[i]%s)`", name,
                   call->arguments.count > 1 ? ", ..." : "");
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
    if (e->touching && e->touching->arguments.data[0]->value == expression &&
        e->touching->base->kind == EXPRESSION_NAME) {
        note_tile_touch(e, d, base, e->touching, false);
        return;
    }
    const char *text = text_of_element(e, base, expression);
    if (text && base.run->type->rank == 1)
        front_note(e, d, index->at, "a view takes any index; the element `%s` of `%s` is `%s`", front_source(e, index),
                   expression->base->name, text);
    else if (text)
        front_note(e, d, index->at, "a view takes any index; `%s` of a tile is `%s`", front_source(e, expression),
                   text);
    else
        front_note(e, d, index->at,
                   "a view takes any index; the element n of a tile t of 8 is `sum(where(iota(8) == n, t, 0))`");
}
