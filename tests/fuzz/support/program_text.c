/* A random program as a text that holds all of it: the module, and in comments in front of it the grid and the
 * arguments.
 *
 *     // seed 17
 *     // grid 3 1 1
 *     // view extent 4 8 stride 8 1 elements 32 block 2 content 0 fill 771 output
 *     // view extent 4 8 stride 8 1 elements 32 block 2 content 0 fill 771 alias 1 offset 0
 *     // view extent 2 9 stride 2147483651 1 elements 2147483660 block 1 content 0 fill 3 windows 9 at 0 2147483651
 *     // scalar bits 4
 *     kernel @fuzz(%y: view<…>, %s: i32) grid(1) { … }
 *
 * So a finding can be kept, reduced and run again without the generator that made it. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "generate.h"
#include "ir/text.h"

static void print_argument(struct buffer *out, const struct fuzz_argument *argument)
{
    if (argument->type->kind != IR_VIEW) {
        buffer_printf(out, "// scalar bits %" PRIu64 "\n", argument->bits);
        return;
    }
    buffer_puts(out, "// view extent");
    for (int d = 0; d < argument->type->rank; d++)
        buffer_printf(out, " %" PRId64, argument->extent[d]);
    buffer_puts(out, " stride");
    for (int d = 0; d < argument->type->rank; d++)
        buffer_printf(out, " %" PRId64, argument->stride[d]);
    buffer_printf(out, " elements %" PRId64 " block %" PRId64 " content %d fill %" PRIu64 "%s%s%s", argument->elements,
                  argument->block, (int)argument->content, argument->fill, argument->output ? " output" : "",
                  argument->atomic ? " atomic" : "", argument->absent ? " absent" : "");
    if (argument->alias)
        buffer_printf(out, " alias %d offset %" PRId64, argument->alias, argument->offset);
    if (argument->windows)
        buffer_printf(out, " windows %" PRId64 " at", argument->window_elements);
    for (int i = 0; i < argument->windows; i++)
        buffer_printf(out, " %" PRId64, argument->window[i]);
    buffer_putc(out, '\n');
}

void fuzz_print_program(struct buffer *out, const struct fuzz_program *program)
{
    buffer_printf(out, "// seed %" PRIu64 "\n// grid", program->seed);
    for (int d = 0; d < program->function->grid_rank; d++)
        buffer_printf(out, " %" PRId64, program->grid[d]);
    buffer_putc(out, '\n');
    for (int i = 0; i < program->argument_count; i++)
        print_argument(out, &program->arguments[i]);
    ir_print_module(out, program->module, false);
}

/* ---- and back ---- */

struct reader {
    const char *at, *end;
};

static bool word(struct reader *reader, const char *text)
{
    size_t size = strlen(text);
    while (reader->at < reader->end && *reader->at == ' ')
        reader->at++;
    if ((size_t)(reader->end - reader->at) < size || memcmp(reader->at, text, size) != 0)
        return false;
    reader->at += size;
    return true;
}

static int numbers(struct reader *reader, int64_t *out, int most)
{
    int count = 0;
    while (count < most) {
        while (reader->at < reader->end && *reader->at == ' ')
            reader->at++;
        if (reader->at == reader->end || ((*reader->at < '0' || *reader->at > '9') && *reader->at != '-'))
            break;
        char *behind;
        out[count++] = *reader->at == '-' ? strtoll(reader->at, &behind, 10)
                                          : (int64_t)strtoull(reader->at, &behind, 10);
        reader->at = behind;
    }
    return count;
}

static int64_t number(struct reader *reader)
{
    int64_t value = 0;
    return numbers(reader, &value, 1) ? value : 0;
}

static void read_view(struct reader *reader, struct fuzz_argument *argument)
{
    word(reader, "extent");
    numbers(reader, argument->extent, IR_MAX_RANK);
    word(reader, "stride");
    numbers(reader, argument->stride, IR_MAX_RANK);
    word(reader, "elements");
    argument->elements = number(reader);
    word(reader, "block");
    argument->block = number(reader);
    word(reader, "content");
    argument->content = (enum fuzz_content)number(reader);
    word(reader, "fill");
    argument->fill = (uint64_t)number(reader);
    argument->output = word(reader, "output");
    argument->atomic = word(reader, "atomic");
    argument->absent = word(reader, "absent");
    if (word(reader, "alias"))
        argument->alias = (int)number(reader);
    if (word(reader, "offset"))
        argument->offset = number(reader);
    if (word(reader, "windows"))
        argument->window_elements = number(reader);
    if (word(reader, "at"))
        argument->windows = numbers(reader, argument->window, FUZZ_MOST_WINDOWS);
}

struct fuzz_program *fuzz_read_program(struct ir_context *context, struct arena *arena, struct diagnostics *diagnostics,
                                       const struct source *source)
{
    struct fuzz_program *program = ARENA_NEW(arena, struct fuzz_program);
    const char *end = source->text + source->size;
    for (struct reader line = {source->text, NULL}; line.at < end; line.at = line.end + 1) {
        const char *newline = memchr(line.at, '\n', (size_t)(end - line.at));
        line.end = newline ? newline : end;
        if (!word(&line, "// "))
            continue;
        if (word(&line, "grid "))
            numbers(&line, program->grid, IR_MAX_RANK);
        else if (word(&line, "seed "))
            program->seed = (uint64_t)number(&line);
        else if (program->argument_count == FUZZ_MAX_ARGUMENTS)
            continue;
        else if (word(&line, "view "))
            read_view(&line, &program->arguments[program->argument_count++]);
        else if (word(&line, "scalar bits "))
            program->arguments[program->argument_count++].bits = (uint64_t)number(&line);
    }
    program->module = ir_parse_module(context, arena, diagnostics, source);
    program->function = program->module ? ir_function_find(program->module, "fuzz") : NULL;
    if (!program->function || program->function->body->arguments.count != program->argument_count)
        return NULL;
    for (int i = 0; i < program->argument_count; i++) {
        program->arguments[i].type = program->function->body->arguments.data[i]->type;
        if (program->arguments[i].alias < 0 || program->arguments[i].alias > i)
            return NULL;
    }
    return program;
}

const char *fuzz_program_path(struct arena *arena, const char *folder, uint64_t seed)
{
    return arena_printf(arena, "%s/%" PRIu64 ".tir", folder, seed);
}

struct fuzz_program *fuzz_load_program(struct ir_context *context, struct arena *arena, const char *folder,
                                       uint64_t seed)
{
    struct buffer text = {0};
    struct source *source = ARENA_NEW(arena, struct source);
    struct fuzz_program *program = NULL;
    if (file_read(fuzz_program_path(arena, folder, seed), 0, &text)) {
        *source = (struct source){
            .name = "program", .text = arena_copy(arena, text.data, text.size), .size = text.size};
        program = fuzz_read_program(context, arena, diagnostics_create(arena), source);
        if (program)
            program->seed = seed; /* names the entry */
    }
    buffer_free(&text);
    return program;
}
