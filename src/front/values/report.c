/* Errors of the walk: each is reported once however many instances meet it, says which instance met it first, and shows
 * the shapes of the tiles with where each extent came from. */
#include "front/values/elaborate.h"

#include <math.h>
#include <string.h>

static bool same_place(struct location a, struct location b)
{
    return a.source == b.source && a.line == b.line && a.column == b.column;
}

/* True the first time an error, or this warning, is seen at a place: other instances often fail there in other words.
 */
static bool is_new(struct front *front, enum diagnostic_code code, struct location at)
{
    bool is_error = diagnostic_info[code].severity == SEVERITY_error;
    struct reported **bucket = &front->reported[((unsigned)at.line * 31u + (unsigned)at.column) % REPORTED_BUCKETS];
    for (struct reported *r = *bucket; r; r = r->next)
        if ((r->code == code || (is_error && diagnostic_info[r->code].severity == SEVERITY_error && at.source)) &&
            same_place(r->at, at))
            return false;
    struct reported *r = ARENA_NEW(front->arena, struct reported);
    *r = (struct reported){code, at, *bucket};
    *bucket = r;
    return true;
}

struct diagnostic *front_report(struct elaborator *e, enum diagnostic_code code, struct location at, const char *format,
                                ...)
{
    bool is_error = diagnostic_info[code].severity == SEVERITY_error;
    if (is_error)
        e->errors++;
    if (e->muted || !is_new(e->front, code, at))
        return NULL;
    va_list arguments;
    va_start(arguments, format);
    struct diagnostic *diagnostic = diag_vreport(e->front->diagnostics, code, at, format, arguments);
    va_end(arguments);
    for (struct frame *f = e->frame; f; f = f->parent)
        if (f->declaration && f->declaration->kind == DECLARATION_FN)
            diag_note(e->front->diagnostics, diagnostic, f->call_at, "in `%s`, called here", f->declaration->name.text);
    if (e->instance && is_error)
        diag_note(e->front->diagnostics, diagnostic, (struct location){0}, "while compiling %s", e->instance);
    return diagnostic;
}

void front_note(struct elaborator *e, struct diagnostic *diagnostic, struct location at, const char *format, ...)
{
    if (!diagnostic)
        return;
    struct buffer text = {0};
    va_list arguments;
    va_start(arguments, format);
    buffer_vprintf(&text, format, arguments);
    va_end(arguments);
    diag_note(e->front->diagnostics, diagnostic, at, "%s", text.data);
    buffer_free(&text);
}

void front_fixit(struct elaborator *e, struct diagnostic *diagnostic, struct location at, enum fixit_grade grade,
                 const char *replacement)
{
    if (diagnostic)
        diag_fixit(e->front->diagnostics, diagnostic, at, grade, replacement);
}

static const char *keep(struct elaborator *e, struct buffer *text)
{
    const char *copy = arena_substring(e->arena, text->data ? text->data : "", text->size);
    buffer_free(text);
    return copy;
}

const char *front_type_text(struct elaborator *e, const struct ir_type *type)
{
    struct buffer text = {0};
    value_print_ir_type(&text, type);
    return keep(e, &text);
}

const char *front_source(struct elaborator *e, const struct ast_expression *expression)
{
    struct buffer text = {0};
    ast_print_expression(expression, &text);
    return keep(e, &text);
}

const char *front_describe(struct elaborator *e, struct value v)
{
    struct buffer text = {0};
    switch (v.kind) {
    case VALUE_ERROR:
    case VALUE_VOID: buffer_puts(&text, "nothing"); break;
    case VALUE_TYPE:
        buffer_puts(&text, "the type ");
        value_print_type(&text, v.type);
        break;
    case VALUE_INTEGER:
        buffer_puts(&text, "the integer ");
        value_print_wide(&text, v.integer);
        break;
    case VALUE_REAL:
        buffer_puts(&text, "the number ");
        buffer_printf(&text, fabs(v.real.number) < 1e6 && v.real.number == trunc(v.real.number) ? "%.1f" : "%g",
                      v.real.number); /* 2.0, not 2 */
        break;
    case VALUE_BOOL: buffer_puts(&text, "bool"); break;
    case VALUE_ENUMERATOR: buffer_puts(&text, v.enumeration->name); break;
    case VALUE_STRING: buffer_puts(&text, "a string"); break;
    case VALUE_NULL: buffer_puts(&text, "null"); break;
    case VALUE_RUN:
        if (v.enumeration)
            buffer_puts(&text, v.enumeration->name);
        else
            value_print_ir_type(&text, v.run->type);
        break;
    case VALUE_HOST:
        buffer_puts(&text, v.enumeration ? v.enumeration->name : ir_element_info[v.host.element].text);
        break;
    case VALUE_VIEW:
        buffer_puts(&text, "a view ");
        if (v.view->run)
            value_print_ir_type(&text, v.view->run->type);
        break;
    case VALUE_PLACE: buffer_puts(&text, "a place"); break;
    case VALUE_TUPLE:
        if (v.structure)
            buffer_printf(&text, "a struct `%s`", v.structure->name);
        else
            buffer_printf(&text, "a tuple of %d", v.list.count);
        break;
    case VALUE_LIST: buffer_puts(&text, "a list"); break;
    case VALUE_FUNCTION:
    case VALUE_BUILTIN: buffer_puts(&text, "a function"); break;
    case VALUE_MODULE: buffer_puts(&text, "an imported file"); break;
    case VALUE_VIEW_MEMBER:
        buffer_puts(&text, v.member.stride ? "the strides of a view" : "the extents of a view");
        break;
    }
    return keep(e, &text);
}

void front_note_shape(struct elaborator *e, struct diagnostic *diagnostic, struct value v, const char *what)
{
    if (!diagnostic || v.kind != VALUE_RUN)
        return;
    front_note(e, diagnostic, v.at, "%s is %s", what, front_describe(e, v));
    front_note_extents(e, diagnostic, v.run->type, v.origin, "its");
}

void front_note_side(struct elaborator *e, struct diagnostic *diagnostic, struct value v, const char *what,
                     int dimension)
{
    if (dimension >= 0 && v.origin && v.origin->extent[dimension].text)
        front_note(e, diagnostic, v.origin->extent[dimension].at, "extent %d of %s, %lld, comes from `%s` here",
                   dimension, what, (long long)v.run->type->extent[dimension], v.origin->extent[dimension].text);
    else
        front_note(e, diagnostic, v.at, "%s is %s", what, front_describe(e, v));
}

void front_note_extents(struct elaborator *e, struct diagnostic *diagnostic, const struct ir_type *type,
                        const struct origin *origin, const char *whose)
{
    for (int d = 0; origin && d < type->rank; d++)
        if (origin->extent[d].text)
            front_note(e, diagnostic, origin->extent[d].at, "%s extent %d, %lld, comes from `%s` here", whose, d,
                       (long long)type->extent[d], origin->extent[d].text);
}

void origin_add(struct elaborator *e, struct origin **origin, int dimension, const struct ast_expression *source)
{
    if (!*origin)
        *origin = ARENA_NEW(e->arena, struct origin);
    (*origin)->extent[dimension].at = source->at;
    (*origin)->extent[dimension].text = front_source(e, source);
}

bool front_report_untold(struct elaborator *e, const struct ast_expression *name)
{
    struct diagnostic *d = front_report(e, DIAGNOSTIC_E0413, name->at, "nothing tells the value of `%s`", name->name);
    front_note(e, d, name->at, "a name is bound where it stands alone as an extent, or in `n + c`, `n - c` or `c*n`");
    return false;
}
