/* The beginning of a compilation: its record, and src/std, the library written in the language itself, which every
 * source sees without import. */
#include "front/open.h"

#include "base/embedded.h"
#include "front/builtins/builtins.h"

#include <string.h>

static const char *library_text(const char *path, size_t *size)
{
    const char *name = strncmp(path, "std/", 4) == 0 ? path : NULL;
    const struct embedded_file *file = name ? embedded_find(name) : NULL;
    if (!file)
        return NULL;
    *size = file->size;
    return (const char *)file->data;
}

struct file_scope *front_read_library(struct front *front, const char *path)
{
    size_t size;
    const char *text = library_text(path, &size);
    if (!text)
        die("the library has no %s", path);
    struct source *source = ARENA_NEW(front->arena, struct source);
    *source = (struct source){.name = path, .text = text, .size = size};
    struct file_scope *last = front->last_file;
    struct parse_context *parse = &front->parse;
    struct ast_file *file = parse_program(parse, source);
    if (file->has_errors) {
        diag_print(front->diagnostics, stderr, false);
        die("the library's %s has errors", path);
    }
    declare_files(front, file);
    return last ? last->next : front->files;
}

struct front *front_open(const struct front_options *options)
{
    struct front *front = ARENA_NEW(options->arena, struct front);
    front->options = options;
    front->arena = options->arena;
    front->names = ir_context_names(options->context);
    front->diagnostics = options->diagnostics;
    front->used_defines = ARENA_ARRAY(options->arena, bool, options->define_count);
    front->parse.arena = options->arena;
    front->parse.names = front->names;
    front->parse.diagnostics = options->diagnostics;
    front->parse.import_folders = options->includes;
    front->parse.import_folder_count = options->include_count;
    front->parse.library_text = library_text;
    front->builtins = &builtin_functions;
    front->standard = front_read_library(front, "std/std.tile");
    return front;
}
