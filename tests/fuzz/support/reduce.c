/* See reduce.h.  The current text is read anew for each candidate, changed in one place, verified, and judged; it
 * becomes the current one when the reason is the same.  Large bites first: halves of the operations, then quarters,
 * down to one. */
#include "reduce.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "ir/verify/verify.h"

struct reducer {
    const struct judge *judge;
    const char *reason;
    struct buffer *text;
    struct reduction *out;
    FILE *log;
    time_t end;
    int operations;
};

int fuzz_count_lines(const struct buffer *text)
{
    int lines = 0;
    for (const char *at = text->data, *end = text->data + text->size; at < end;) {
        const char *newline = memchr(at, '\n', (size_t)(end - at));
        size_t size = (size_t)((newline ? newline : end) - at);
        lines += size > 0 && !(size > 1 && at[0] == '/' && at[1] == '/');
        at += size + 1;
    }
    return lines;
}

static int count_operations(const struct fuzz_program *program)
{
    int count = 0;
    while (edit_operation(program, count))
        count++;
    return count;
}

static bool still_fails(struct reducer *r, const struct buffer *candidate)
{
    struct buffer reason = {0};
    r->out->candidates++;
    fuzz_judge(r->judge, candidate->data, candidate->size, &reason);
    bool same = reason.size == strlen(r->reason) && !memcmp(reason.data, r->reason, reason.size);
    r->out->unsound += reason.size > 8 && !memcmp(reason.data, "program:", 8);
    buffer_free(&reason);
    return same;
}

/* Tries one place; EDIT_DONE: it was taken. */
static enum edit_result try(struct reducer *r, const struct edit *edit, int which, int size)
{
    struct arena *arena = arena_create();
    struct source source = {.name = "program", .text = r->text->data, .size = r->text->size};
    struct diagnostics *diagnostics = diagnostics_create(arena);
    struct fuzz_program *program = fuzz_read_program(ir_context_create(arena), arena, diagnostics, &source);
    if (!program)
        die("the reducer's own text cannot be read: %s",
            diagnostics->first ? diagnostics->first->text : "no arguments");
    enum edit_result result = edit->apply(program, which, size);
    if (result == EDIT_DONE) {
        struct buffer candidate = {0};
        bool smaller = false;
        if (ir_verify_module(program->module, diagnostics)) {
            fuzz_print_program(&candidate, program);
            bool other = candidate.size != r->text->size || memcmp(candidate.data, r->text->data, candidate.size) != 0;
            smaller = other && still_fails(r, &candidate);
        }
        if (smaller) {
            struct buffer old = *r->text;
            *r->text = candidate;
            candidate = old;
            r->operations = count_operations(program);
        }
        buffer_free(&candidate);
        result = smaller ? EDIT_DONE : EDIT_NONE;
    }
    arena_destroy(arena);
    return result;
}

static void run_edit(struct reducer *r, const struct edit *edit, int size)
{
    bool any = false;
    int which = 0;
    while (time(NULL) < r->end) {
        enum edit_result result = try(r, edit, which, size);
        if (result == EDIT_END)
            break;
        any |= result == EDIT_DONE;
        if (result == EDIT_NONE)
            which += edit->chunks ? size : 1;
    }
    if (r->log && any)
        fprintf(r->log, "%s %d: %d operations, %d lines\n", edit->name, size, r->operations, fuzz_count_lines(r->text));
}

void fuzz_reduce(const struct judge *judge, const char *reason, int seconds, struct buffer *text, struct reduction *out,
                 FILE *log)
{
    time_t begin = time(NULL);
    struct reducer r = {judge, reason, text, out, log, begin + (seconds ? seconds : 120), 0};
    r.operations = fuzz_count_lines(text);
    *out = (struct reduction){0};
    for (size_t lines = SIZE_MAX, size_before = 0; time(NULL) < r.end;) { /* rounds, until one makes nothing smaller */
        size_t now = (size_t)fuzz_count_lines(text);
        if (now > lines || (now == lines && text->size >= size_before))
            break;
        lines = now;
        size_before = text->size;
        for (int i = 0; i < edit_count; i++) {
            int size = edit_table[i].chunks ? r.operations / 2 : 1;
            for (size = size ? size : 1; size; size /= 2)
                run_edit(&r, &edit_table[i], size);
        }
    }
    out->seconds = (int)(time(NULL) - begin);
}
