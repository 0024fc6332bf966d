/* Collecting diagnostics: what is kept, what counts as an error, and what is a repetition.  diagnostics_print.c shows
 * them. */
#include "base/base.h"

#include <string.h>

const struct diagnostic_info diagnostic_info[DIAGNOSTIC_COUNT] = {
#define DIAGNOSTIC(code, severity, name, summary, page) {#code, SEVERITY_##severity, name, summary, page},
#include "base/diagnostics.def"
#undef DIAGNOSTIC
};

struct diagnostics *diagnostics_create(struct arena *arena)
{
    struct diagnostics *diagnostics = ARENA_NEW(arena, struct diagnostics);
    diagnostics->arena = arena;
    return diagnostics;
}

static char *format_text(struct arena *arena, const char *format, va_list arguments)
{
    struct buffer text = {0};
    buffer_vprintf(&text, format, arguments);
    char *copy = arena_substring(arena, text.data, text.size);
    buffer_free(&text);
    return copy;
}

/* Whether it is wanted at all, and as what.  Remarks are asked for one by one; an error cannot be turned off. */
static bool is_wanted(const struct diagnostics *diagnostics, enum diagnostic_code code, enum severity *severity)
{
    *severity = diagnostic_info[code].severity;
    signed char enabled = diagnostics->enabled[code];
    if (*severity == SEVERITY_remark)
        return enabled > 0;
    if (*severity != SEVERITY_warning)
        return true;
    if (enabled < 0)
        return false;
    if (diagnostics->warnings_are_errors || enabled == 2)
        *severity = SEVERITY_error;
    return true;
}

const char *source_line(struct location at, size_t *size)
{
    const struct source *source = at.source;
    if (!source || !source->text || at.line < 1)
        return NULL;
    const char *text = source->text, *end = source->text + source->size;
    for (int i = 1; i < at.line; i++) {
        const char *newline = text < end ? memchr(text, '\n', (size_t)(end - text)) : NULL;
        if (!newline)
            return NULL;
        text = newline + 1;
    }
    const char *newline = text < end ? memchr(text, '\n', (size_t)(end - text)) : NULL;
    *size = (size_t)((newline ? newline : end) - text);
    if (*size && text[*size - 1] == '\r')
        --*size;
    return text;
}

static bool same_place(struct location a, struct location b)
{
    return a.source == b.source && a.line == b.line && a.column == b.column && a.end_column == b.end_column;
}

static struct diagnostic *find_repetition(struct diagnostics *diagnostics, const struct diagnostic *wanted)
{
    for (struct diagnostic *d = diagnostics->first; d; d = d->next)
        if (d->code == wanted->code && same_place(d->at, wanted->at) && strcmp(d->text, wanted->text) == 0)
            return d;
    return NULL;
}

struct diagnostic *diag_report(struct diagnostics *diagnostics, enum diagnostic_code code, struct location at,
                               const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    struct diagnostic *diagnostic = diag_vreport(diagnostics, code, at, format, arguments);
    va_end(arguments);
    return diagnostic;
}

struct diagnostic *diag_vreport(struct diagnostics *diagnostics, enum diagnostic_code code, struct location at,
                                const char *format, va_list arguments)
{
    struct diagnostic *diagnostic = ARENA_NEW(diagnostics->arena, struct diagnostic);
    diagnostic->text = format_text(diagnostics->arena, format, arguments);
    diagnostic->code = code;
    diagnostic->at = at;
    if (!is_wanted(diagnostics, code, &diagnostic->severity))
        return diagnostic;
    struct diagnostic *repeated = find_repetition(diagnostics, diagnostic);
    if (repeated)
        return repeated;
    if (diagnostic->severity == SEVERITY_warning)
        diagnostics->warnings++;
    if (diagnostic->severity == SEVERITY_error && diagnostics->errors++ >= diagnostics->limit && diagnostics->limit)
        return diagnostic;
    if (diagnostics->last)
        diagnostics->last->next = diagnostic;
    else
        diagnostics->first = diagnostic;
    diagnostics->last = diagnostic;
    return diagnostic;
}

void diag_note(struct diagnostics *diagnostics, struct diagnostic *diagnostic, struct location at, const char *format,
               ...)
{
    struct note *note = ARENA_NEW(diagnostics->arena, struct note);
    va_list arguments;
    va_start(arguments, format);
    note->text = format_text(diagnostics->arena, format, arguments);
    va_end(arguments);
    note->at = at;
    for (struct note *n = diagnostic->notes; n; n = n->next)
        if (same_place(n->at, at) && strcmp(n->text, note->text) == 0)
            return;
    if (diagnostic->last_note)
        diagnostic->last_note->next = note;
    else
        diagnostic->notes = note;
    diagnostic->last_note = note;
}

void diag_fixit(struct diagnostics *diagnostics, struct diagnostic *diagnostic, struct location at,
                enum fixit_grade grade, const char *replacement)
{
    for (struct fixit *f = diagnostic->fixits; f; f = f->next)
        if (same_place(f->at, at) && strcmp(f->replacement, replacement) == 0)
            return;
    struct fixit *fixit = ARENA_NEW(diagnostics->arena, struct fixit);
    fixit->at = at;
    fixit->grade = grade;
    fixit->replacement = arena_string(diagnostics->arena, replacement);
    struct fixit **end = &diagnostic->fixits;
    while (*end)
        end = &(*end)->next;
    *end = fixit;
}

void diag_instance(struct diagnostics *diagnostics, struct diagnostic *diagnostic, const char *text)
{
    if (!text)
        return;
    for (struct instance_line *line = diagnostic->instances; line; line = line->next)
        if (strcmp(line->text, text) == 0)
            return;
    struct instance_line *line = ARENA_NEW(diagnostics->arena, struct instance_line);
    line->text = arena_string(diagnostics->arena, text);
    if (diagnostic->last_instance)
        diagnostic->last_instance->next = line;
    else
        diagnostic->instances = line;
    diagnostic->last_instance = line;
}

const struct diagnostic *diag_take_back(struct diagnostics *diagnostics, const struct diagnostics *before)
{
    const struct diagnostic *error = before->last ? before->last->next : diagnostics->first;
    while (error && error->severity != SEVERITY_error)
        error = error->next;
    if (before->last)
        before->last->next = NULL;
    *diagnostics = *before;
    return error;
}
