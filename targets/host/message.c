/* What workers of the host object report: diagnostics..., -1, and then what the worker made.  A place is given as in
 * memory: the parent has the same sources at the same addresses. */
#include "targets/host/host.h"

#include <string.h>

enum { END = -1, NOTE = -2 };

void host_write_number(struct buffer *out, int64_t number) { buffer_append(out, &number, sizeof number); }

static void write_message(struct buffer *out, int64_t code, const struct location *at, const char *text)
{
    host_write_number(out, code);
    buffer_append(out, at, sizeof *at);
    host_write_number(out, (int64_t)strlen(text));
    buffer_puts(out, text);
}

void host_write_diagnostics(struct buffer *out, const struct diagnostics *diagnostics, const struct diagnostic *last)
{
    const struct diagnostic *d = last ? last->next : diagnostics->first;
    for (; d; d = d->next) {
        write_message(out, (int64_t)d->code, &d->at, d->text);
        for (const struct note *note = d->notes; note; note = note->next)
            write_message(out, NOTE, &note->at, note->text);
    }
    host_write_number(out, END);
}

static bool read_bytes(struct host_reader *reader, void *data, size_t size)
{
    if ((size_t)(reader->end - reader->at) < size)
        return false;
    memcpy(data, reader->at, size);
    reader->at += size;
    return true;
}

bool host_read_number(struct host_reader *reader, int64_t *number)
{
    return read_bytes(reader, number, sizeof *number);
}

bool host_read_part(struct host_reader *reader, struct arena *arena, int64_t size, struct host_part *part)
{
    if (size < 0 || size > reader->end - reader->at)
        return false;
    *part = (struct host_part){.data = arena_copy(arena, reader->at, (size_t)size), .size = (size_t)size};
    reader->at += size;
    return true;
}

/* Takes the diagnostics off the front; false: they are cut short. */
static bool read_diagnostics(struct host_reader *reader, struct diagnostics *diagnostics)
{
    struct diagnostic *latest = NULL;
    for (;;) {
        int64_t code, size;
        struct location at;
        if (!host_read_number(reader, &code))
            return false;
        if (code == END)
            return true;
        if (!read_bytes(reader, &at, sizeof at) || !host_read_number(reader, &size) || size < 0 ||
            size > reader->end - reader->at)
            return false;
        if (code == NOTE && latest)
            diag_note(diagnostics, latest, at, "%.*s", (int)size, reader->at);
        else
            latest = diag_report(diagnostics, (enum diagnostic_code)code, at, "%.*s", (int)size, reader->at);
        reader->at += size;
    }
}

bool host_report_broken(const struct target_options *options, const struct child_result *result)
{
    struct location nowhere = {0};
    const char *said = result->errors.size ? result->errors.data : "";
    if (!*said && !result->signal && !result->timed_out)
        said = arena_printf(options->arena, "the worker ended with code %d and no message", result->exit_code);
    diag_report(options->diagnostics, DIAGNOSTIC_E1102, nowhere, "code for %s could not be made%s%s: %.2000s",
                options->host_triple, result->timed_out ? " in time" : "", result->signal ? " (the worker died)" : "",
                said);
    return false;
}

bool host_read_result(const struct target_options *options, const struct child_result *result,
                      struct host_reader *reader)
{
    int errors = options->diagnostics->errors;
    worker_check_machine(result);
    reader->at = result->output.data ? result->output.data : "";
    reader->end = reader->at + result->output.size;
    bool whole = read_diagnostics(reader, options->diagnostics);
    if (result->exit_code != 0 || !whole || (reader->at == reader->end && options->diagnostics->errors == errors))
        host_report_broken(options, result);
    return options->diagnostics->errors == errors;
}
