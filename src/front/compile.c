/* front_compile: reads the sources, declares what they name, checks what no kernel uses, and compiles the kernels. */
#include "front/kernels/kernel_plan.h"
#include "front/open.h"

#include <string.h>

static const char *stem_of(struct arena *arena, const char *path)
{
    const char *slash = strrchr(path, '/');
    const char *name = slash ? slash + 1 : path;
    size_t size = strlen(name);
    if (size > 5 && strcmp(name + size - 5, ".tile") == 0)
        size -= 5;
    return arena_substring(arena, name, size);
}

/* Consts, enums and structs are evaluated even when nothing uses them. */
static void check_values(struct front *front)
{
    for (struct file_scope *file = front->main; file; file = file->next)
        for (struct global *g = file->first; g; g = g->next)
            if (g->declaration->kind == DECLARATION_CONST || g->declaration->kind == DECLARATION_ENUM ||
                g->declaration->kind == DECLARATION_STRUCT)
                declare_value(front, g, g->declaration->at);
}

static void check_defines(struct front *front)
{
    for (int i = 0; i < front->options->define_count; i++)
        if (!front->used_defines[i])
            diag_report(front->diagnostics, DIAGNOSTIC_E0414, (struct location){0},
                        "-D %s=%s names no `tune` or `const` name and no const of the file",
                        front->options->defines[i].name, front->options->defines[i].value);
}

/* A name of -D that stands in some kernel counts as used, also when errors or --spec kept that kernel from being
 * compiled. */
static void mark_defines(struct front *front, const struct ast_declaration *kernel)
{
    for (int c = 0; c < kernel->clauses.count; c++)
        for (int i = 0; i < kernel->clauses.data[c]->items.count; i++) {
            const struct ast_item *item = kernel->clauses.data[c]->items.data[i];
            const char *name = item->name.text ? item->name.text
                               : item->kind == ITEM_EXPRESSION && item->value->kind == EXPRESSION_NAME
                                   ? item->value->name
                                   : NULL;
            for (int k = 0; name && k < front->options->define_count; k++)
                if (strcmp(front->options->defines[k].name, name) == 0)
                    front->used_defines[k] = true;
        }
}

static bool has_kernel(const struct front *front, const char *name)
{
    const struct global *g = front->main->first;
    while (g && (g->declaration->kind != DECLARATION_KERNEL || strcmp(g->name, name) != 0))
        g = g->next;
    return g != NULL;
}

/* The kernel that a name which is none may mean; NULL: none is near. */
static const char *nearest_kernel(struct front *front, const char *name)
{
    VECTOR(const char *) names = {0};
    for (struct global *g = front->main->first; g; g = g->next)
        if (g->declaration->kind == DECLARATION_KERNEL)
            vector_push(front->arena, &names, g->name);
    return spelling_nearest(name, names.data, names.count);
}

static const char *kernel_advice(struct front *front, const char *name)
{
    const char *near = nearest_kernel(front, name);
    return near ? arena_printf(front->arena, "; did you mean `%s`?", near) : "";
}

/* A --spec that chose nothing. */
static void report_unused(struct front *front, const struct spec *spec)
{
    if (has_kernel(front, spec->kernel))
        diag_report(front->diagnostics, DIAGNOSTIC_E0414, (struct location){0},
                    "--spec '%s' matches no instance of `%s`: its types, keys and facts are others", spec->text,
                    spec->kernel);
    else
        diag_report(front->diagnostics, DIAGNOSTIC_E0414, (struct location){0}, "--spec '%s' matches no kernel of %s%s",
                    spec->text, front->module->source_name, kernel_advice(front, spec->kernel));
}

/* Each head of a file of --tuning is of a kernel that is there, compiled or not. */
static void check_tuned(struct front *front, struct tuned_kernel *tuned)
{
    for (; tuned; tuned = tuned->next)
        if (!has_kernel(front, tuned->head.kernel))
            diag_report(front->diagnostics, DIAGNOSTIC_E0421, tuned->at, "%s has no kernel `%s`%s",
                        front->module->source_name, tuned->head.kernel, kernel_advice(front, tuned->head.kernel));
}

struct kernel_module *front_compile(const struct front_options *options, const struct source *source,
                                    void (*imported)(const char *path, void *context), void *context)
{
    struct front *front = front_open(options);
    if (options->read)
        *options->read = front;
    front->module = ARENA_NEW(options->arena, struct kernel_module);
    front->module->source_name = source->name;
    front->module->stem = stem_of(options->arena, source->name);
    front->parse.imported = imported;
    front->parse.imported_context = context;
    int errors = options->diagnostics->errors;
    struct file_scope *last = front->last_file;
    struct ast_file *file = parse_program(&front->parse, source);
    if (front->parse.import_missing)
        return NULL; /* every name of that file would be reported as not known */
    declare_files(front, file);
    front->main = last ? last->next : front->files;
    struct spec *specs;
    struct tuned_kernel *tuned;
    bool good = spec_parse(front, &specs);
    good = tuning_read(front, &tuned) && good;
    check_values(front);
    for (struct global *g = front->main->first; g && good; g = g->next) {
        if (g->declaration->kind != DECLARATION_KERNEL)
            continue;
        mark_defines(front, g->declaration);
        if (g->declaration->clause_missing || g->broken_head)
            continue; /* reported; the rest would make no sense */
        kernel_compile(front, g, specs, tuned);
    }
    check_tuned(front, tuned);
    for (struct spec *s = specs; s; s = s->next)
        if (!s->used && errors == options->diagnostics->errors)
            report_unused(front, s);
    check_defines(front);
    return errors == options->diagnostics->errors ? front->module : NULL;
}
