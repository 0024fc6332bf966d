/* Any bytes as source: the parser must report and return, and what it accepts must print to something that it accepts
 * again with the same print.  Not part of make check;
 * `make fuzz` builds it with a clang that has libFuzzer and runs it (tests/fuzz/long-run). */
#include "front/syntax/ast.h"

#include <stdlib.h>
#include <string.h>

static struct ast_file *parse(struct arena *arena, const char *text, size_t size, struct source *source)
{
    struct parse_context *context = ARENA_NEW(arena, struct parse_context);
    context->arena = arena;
    context->names = intern_create(arena);
    context->diagnostics = diagnostics_create(arena);
    *source = (struct source){.name = "fuzz.tile", .text = text, .size = size};
    struct ast_file *file = parse_file(context, source);
    if (file->has_errors != (context->diagnostics->errors > 0))
        abort();
    return file;
}

/* Every place must lie in the text, so that a caret can be drawn. */
static void check_places(const struct diagnostics *diagnostics, const struct source *source)
{
    for (const struct diagnostic *d = diagnostics->first; d; d = d->next) {
        int line = 1;
        const char *at = source->text, *end = source->text + source->size;
        while (line < d->at.line && at < end)
            line += *at++ == '\n';
        if (line != d->at.line || d->at.column < 1 || d->at.column - 1 > end - at || d->at.end_column < d->at.column)
            abort();
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct arena *arena = arena_create();
    struct source source;
    struct buffer once = {0}, twice = {0};
    char *text = malloc(size + 1);
    memcpy(text, data, size);
    text[size] = 0;
    struct parse_context context = {
        .arena = arena, .names = intern_create(arena), .diagnostics = diagnostics_create(arena)};
    context.diagnostics->limit = 20;
    source = (struct source){.name = "fuzz.tile", .text = text, .size = size};
    struct ast_file *file = parse_file(&context, &source);
    check_places(context.diagnostics, &source);
    if (!file->has_errors) {
        ast_print(file, &once);
        struct ast_file *again = parse(arena, once.data ? once.data : "", once.size, &source);
        if (again->has_errors)
            abort();
        ast_print(again, &twice);
        if (once.size != twice.size || (once.size && memcmp(once.data, twice.data, once.size)))
            abort();
    }
    buffer_free(&once);
    buffer_free(&twice);
    free(text);
    arena_destroy(arena);
    return 0;
}
