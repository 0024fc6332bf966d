/* Showing diagnostics to people (with the source line and carets by display width) and to programs (JSON, one a line).
 *
 * Whatever comes from a source is written so that it cannot act on a terminal: control characters, characters that
 * change the direction of writing and bytes that are not UTF-8 appear as <U+202E> or <FF>.  Long lines are cut around
 * the caret. */
#include "base/base.h"
#include "base/unicode.h"

#include <string.h>

enum { TAB_STOP = 4, LONGEST_LINE = 160, CONTEXT_BEFORE_CARET = 80, MOST_INSTANCES = 5 };

static const char *const severity_names[] = {"note", "remark", "warning", "error"};
static const char *const fixit_words[] = {"fix-it", "fix-it (probable)", "fix-it (hint)"};
static const char *const fixit_names[] = {"certain", "probable", "hint"};
static const char *const severity_colors[] = {"\033[1;36m", "\033[1;34m", "\033[1;35m", "\033[1;31m"};

/* Appends one character as it may be shown; returns the columns it takes. */
static int show_character(struct buffer *out, const char *text, size_t size, int column, int *length)
{
    int32_t character = unicode_decode(text, size, length);
    if (character == '\t') {
        int width = TAB_STOP - column % TAB_STOP;
        for (int i = 0; i < width; i++)
            buffer_putc(out, ' ');
        return width;
    }
    if (!unicode_is_hostile(character)) {
        buffer_append(out, text, (size_t)*length);
        return unicode_width(character);
    }
    size_t before = out->size;
    if (character < 0)
        buffer_printf(out, "<%02X>", (unsigned)(unsigned char)*text);
    else
        buffer_printf(out, "<U+%04X>", (unsigned)character);
    return (int)(out->size - before);
}

static void show_text(struct buffer *out, const char *text)
{
    int length;
    for (size_t left = strlen(text); left; text += length, left -= (size_t)length)
        if (*text == '\n')
            buffer_append(out, text, (size_t)(length = 1));
        else
            show_character(out, text, left, 0, &length);
}

/* Moves back to the first byte of a character. */
static size_t character_start(const char *text, size_t at)
{
    while (at > 0 && ((unsigned char)text[at] & 0xc0) == 0x80)
        at--;
    return at;
}

static void print_caret_lines(struct buffer *out, struct location at, bool color)
{
    const char *text;
    size_t size;
    if (at.column < 1 || !(text = source_line(at, &size)))
        return;
    size_t first = (size_t)at.column - 1, last = at.end_column > at.column ? (size_t)at.end_column - 1 : first + 1;
    size_t begin = 0, end = size;
    if (size > LONGEST_LINE) {
        begin = first > CONTEXT_BEFORE_CARET && first < size ? character_start(text, first - CONTEXT_BEFORE_CARET) : 0;
        end = begin + LONGEST_LINE < size ? character_start(text, begin + LONGEST_LINE) : size;
    }
    buffer_printf(out, "%5d | %s", at.line, begin ? "..." : "");
    struct buffer marks = {0};
    int column = 0, length = 1;
    for (size_t i = begin; i < end; i += (size_t)length) {
        int width = show_character(out, text + i, end - i, column, &length);
        char mark = i + (size_t)length <= first || i >= last ? ' ' : i <= first ? '^' : '~';
        for (int k = 0; k < width; k++)
            buffer_putc(&marks, k > 0 && mark == '^' ? '~' : mark);
        column += width;
    }
    if (first >= end)
        buffer_putc(&marks, '^');
    while (marks.size && marks.data[marks.size - 1] == ' ')
        marks.size--;
    buffer_printf(out, "%s\n      | %s%s%.*s%s\n", end < size ? "..." : "", begin ? "   " : "",
                  color ? "\033[1;32m" : "", (int)marks.size, marks.data ? marks.data : "", color ? "\033[0m" : "");
    buffer_free(&marks);
}

static void print_head(struct buffer *out, struct location at, enum severity severity, bool color)
{
    if (color)
        buffer_puts(out, "\033[1m");
    show_text(out, at.source ? at.source->name : "tilecc");
    if (at.source && at.line > 0)
        buffer_printf(out, ":%d", at.line);
    if (at.source && at.line > 0 && at.column > 0)
        buffer_printf(out, ":%d", at.column);
    buffer_printf(out, ": %s%s:%s ", color ? severity_colors[severity] : "", severity_names[severity],
                  color ? "\033[0m" : "");
}

static void print_tag(struct buffer *out, const struct diagnostic *diagnostic)
{
    const struct diagnostic_info *info = &diagnostic_info[diagnostic->code];
    if (info->severity == SEVERITY_warning)
        buffer_printf(out, diagnostic->severity == SEVERITY_error ? " [-Werror=%s]\n" : " [-W%s]\n", info->name);
    else
        buffer_printf(out, " [%s]\n", info->code);
}

static void show_part(struct buffer *out, const char *text, size_t first, size_t end)
{
    int length;
    for (size_t i = first; i < end; i += (size_t)length)
        show_character(out, text + i, end - i, 0, &length);
}

/* What is put in front of something and behind it is shown as one change: "x" -> "load(x)".  Returns the second. */
static const struct fixit *print_pair(struct buffer *out, const struct fixit *first, bool color)
{
    const struct fixit *second = first->next;
    const char *text;
    size_t size;
    if (!second || second->grade != first->grade || second->at.source != first->at.source ||
        second->at.line != first->at.line || first->at.end_column != first->at.column ||
        second->at.end_column != second->at.column || second->at.column <= first->at.column || first->at.column < 1 ||
        !(text = source_line(first->at, &size)) || (size_t)second->at.column - 1 > size)
        return NULL;
    size_t from = (size_t)first->at.column - 1, to = (size_t)second->at.column - 1;
    print_head(out, first->at, SEVERITY_note, color);
    buffer_printf(out, "%s: \"", fixit_words[first->grade]);
    show_part(out, text, from, to);
    buffer_puts(out, "\" -> \"");
    show_text(out, first->replacement);
    show_part(out, text, from, to);
    show_text(out, second->replacement);
    buffer_puts(out, "\"\n");
    return second;
}

static void print_fixit(struct buffer *out, const struct fixit *fixit, bool color)
{
    print_head(out, fixit->at, SEVERITY_note, color);
    const char *text;
    size_t size, first = (size_t)fixit->at.column - 1, width = (size_t)(fixit->at.end_column - fixit->at.column);
    bool shown = fixit->at.column >= 1 && (text = source_line(fixit->at, &size));
    buffer_printf(out, "%s: ", fixit_words[fixit->grade]);
    if (shown && fixit->at.end_column > fixit->at.column && first <= size && width <= size - first) {
        buffer_puts(out, "\"");
        show_part(out, text, first, first + width);
        buffer_puts(out, "\" -> \"");
    } else {
        buffer_puts(out, "insert \"");
    }
    show_text(out, fixit->replacement);
    buffer_puts(out, "\"\n");
}

/* All of them in JSON; here those that fit under a caret. */
static void print_instances(struct buffer *out, const struct diagnostic *diagnostic)
{
    int count = 0, shown = 0;
    for (const struct instance_line *line = diagnostic->instances; line; line = line->next)
        count++;
    for (const struct instance_line *line = diagnostic->instances; line; line = line->next) {
        if (shown == MOST_INSTANCES - 1 && count > MOST_INSTANCES) {
            buffer_printf(out, "      = in %d more instances\n", count - shown);
            return;
        }
        buffer_puts(out, "      = in ");
        show_text(out, line->text);
        buffer_putc(out, '\n');
        shown++;
    }
}

static const struct diagnostic *first_new(const struct diagnostics *diagnostics)
{
    return diagnostics->shown ? diagnostics->shown->next : diagnostics->first;
}

void diag_print(struct diagnostics *diagnostics, FILE *file, bool color)
{
    struct buffer out = {0};
    for (const struct diagnostic *d = first_new(diagnostics); d; d = d->next) {
        print_head(&out, d->at, d->severity, color);
        show_text(&out, d->text);
        print_tag(&out, d);
        print_caret_lines(&out, d->at, color);
        print_instances(&out, d);
        for (const struct note *note = d->notes; note; note = note->next) {
            print_head(&out, note->at, SEVERITY_note, color);
            show_text(&out, note->text);
            buffer_putc(&out, '\n');
            print_caret_lines(&out, note->at, color);
        }
        for (const struct fixit *fixit = d->fixits; fixit; fixit = fixit->next) {
            const struct fixit *second = print_pair(&out, fixit, color);
            if (second)
                fixit = second;
            else
                print_fixit(&out, fixit, color);
        }
    }
    if (diagnostics->limit && diagnostics->errors > diagnostics->limit)
        buffer_printf(&out, "tilecc: note: %d more errors are not shown\n", diagnostics->errors - diagnostics->limit);
    diagnostics->shown = diagnostics->last;
    if (out.size)
        fwrite(out.data, 1, out.size, file);
    buffer_free(&out);
}

/* ---- JSON ---- */

void buffer_put_json(struct buffer *out, const char *text)
{
    buffer_putc(out, '"');
    int length;
    for (size_t left = strlen(text); left; text += length, left -= (size_t)length) {
        int32_t character = unicode_decode(text, left, &length);
        if (character < 0)
            buffer_puts(out, "\\ufffd");
        else if (character == '"' || character == '\\')
            buffer_printf(out, "\\%c", (char)character);
        else if (character == '\n')
            buffer_puts(out, "\\n");
        else if (character < 0x10000 && unicode_is_hostile(character))
            buffer_printf(out, "\\u%04x", (unsigned)character);
        else
            buffer_append(out, text, (size_t)length);
    }
    buffer_putc(out, '"');
}

static void json_span(struct buffer *out, struct location at, int least)
{
    if (!at.source)
        return;
    int end = at.end_column > at.column ? at.end_column : at.column + least;
    buffer_puts(out, "{\"file\":");
    buffer_put_json(out, at.source->name);
    buffer_printf(out, ",\"line\":%d,\"column\":%d,\"end\":%d}", at.line, at.column, end);
}

void diag_print_json(struct diagnostics *diagnostics, FILE *file)
{
    struct buffer out = {0};
    for (const struct diagnostic *d = first_new(diagnostics); d; d = d->next) {
        const struct diagnostic_info *info = &diagnostic_info[d->code];
        buffer_printf(&out, "{\"version\":1,\"severity\":\"%s\",\"code\":\"%s\",\"name\":\"%s\",\"message\":",
                      severity_names[d->severity], info->code, info->name);
        buffer_put_json(&out, d->text);
        buffer_puts(&out, ",\"spans\":[");
        json_span(&out, d->at, 1);
        buffer_puts(&out, "],\"notes\":[");
        for (const struct note *note = d->notes; note; note = note->next) {
            buffer_puts(&out, "{\"message\":");
            buffer_put_json(&out, note->text);
            buffer_puts(&out, ",\"spans\":[");
            json_span(&out, note->at, 1);
            buffer_puts(&out, note->next ? "]}," : "]}");
        }
        buffer_puts(&out, "],\"fixits\":[");
        for (const struct fixit *fixit = d->fixits; fixit; fixit = fixit->next) {
            buffer_puts(&out, "{\"span\":");
            if (fixit->at.source)
                json_span(&out, fixit->at, 0); /* an insertion has no width */
            else
                buffer_puts(&out, "null");
            buffer_puts(&out, ",\"replacement\":");
            buffer_put_json(&out, fixit->replacement);
            buffer_printf(&out, ",\"grade\":\"%s\"", fixit_names[fixit->grade]);
            buffer_puts(&out, fixit->next ? "}," : "}");
        }
        buffer_puts(&out, "],\"instances\":[");
        for (const struct instance_line *line = d->instances; line; line = line->next) {
            buffer_put_json(&out, line->text);
            if (line->next)
                buffer_putc(&out, ',');
        }
        buffer_puts(&out, "]}\n");
    }
    diagnostics->shown = diagnostics->last;
    if (out.size)
        fwrite(out.data, 1, out.size, file);
    buffer_free(&out);
}
