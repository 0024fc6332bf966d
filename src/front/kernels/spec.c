/* What the command line says of a kernel's compile-time names: -D NAME=VALUE and --spec 'kernel<types>[NAME=VALUE]'.
 * Options that name nothing, or that ask for what cannot be had, are reported here; else nobody would notice them. */
#include "front/kernels/kernel_plan.h"

#include <string.h>

const char *spec_text(struct front *front, const struct spec *spec, const char *name)
{
    for (int i = 0; spec && i < spec->items.count; i++)
        if (strcmp(spec->items.data[i].name, name) == 0)
            return spec->items.data[i].value;
    for (int i = front->options->define_count - 1; i >= 0; i--)
        if (strcmp(front->options->defines[i].name, name) == 0) {
            front->used_defines[i] = true;
            return front->options->defines[i].value;
        }
    return NULL;
}

bool spec_has(const struct spec *spec, const char *name)
{
    for (int i = 0; spec && i < spec->items.count; i++)
        if (strcmp(spec->items.data[i].name, name) == 0)
            return true;
    return false;
}

bool spec_value(struct front *front, const struct spec *spec, const char *name, struct value *value)
{
    const char *text = spec_text(front, spec, name);
    return text && constant_read(text, (struct location){0}, value);
}

bool spec_means(const char *text, struct value member)
{
    struct value read;
    struct buffer own = {0};
    value_print_constant(&own, member); /* members of enums go by name, types as they are written */
    bool same = own.data && strcmp(own.data, text) == 0;
    buffer_free(&own);
    if (same || member.kind == VALUE_TYPE || !constant_read(text, (struct location){0}, &read))
        return same;
    if (member.kind == VALUE_BOOL && read.kind == VALUE_BOOL)
        return member.truth == read.truth;
    return read.kind == VALUE_INTEGER && key_number(member) == (int64_t)read.integer;
}

/* ---- reading --spec ---- */

static const char *trimmed(struct arena *arena, const char *from, const char *to)
{
    while (from < to && (*from == ' ' || *from == '\t'))
        from++;
    while (to > from && (to[-1] == ' ' || to[-1] == '\t'))
        to--;
    return arena_substring(arena, from, (size_t)(to - from));
}

bool spec_read_items(struct front *front, struct spec *spec, const char *from, const char *to)
{
    while (from < to) {
        const char *end = memchr(from, ',', (size_t)(to - from));
        if (!end)
            end = to;
        const char *equal = memchr(from, '=', (size_t)(end - from));
        if (!equal)
            return false;
        int offset = (int)(from - spec->text + (ptrdiff_t)strspn(from, " \t"));
        vector_push(
            front->arena, &spec->items,
            ((struct spec_item){trimmed(front->arena, from, equal), trimmed(front->arena, equal + 1, end), offset}));
        from = end + 1;
    }
    return true;
}

bool spec_read(struct front *front, const char *text, struct spec *spec)
{
    struct arena *arena = front->arena;
    spec->text = text;
    while (*text == ' ')
        text++;
    const char *at = text + strcspn(text, "<[ ");
    spec->kernel = trimmed(arena, text, at);
    if (*at == '<') {
        const char *close = strchr(at, '>');
        if (!close)
            return false;
        for (const char *from = at + 1; from < close;) {
            const char *end = from + strcspn(from, ",>");
            vector_push(arena, &spec->types, trimmed(arena, from, end));
            from = end + 1;
        }
        at = close + 1;
    }
    const char *facts = at;
    while (*at == ' ')
        at++;
    if (*at == '[') {
        const char *close = strchr(at, ']');
        if (!close || !spec_read_items(front, spec, at + 1, close))
            return false;
        facts = close + 1;
    }
    spec->facts = trimmed(arena, facts, facts + strlen(facts));
    return (*facts == 0 || *facts == ' ') && spec->kernel[0] != 0;
}

bool spec_parse(struct front *front, struct spec **specs)
{
    bool good = true;
    struct spec **end = specs;
    *specs = NULL;
    for (int i = 0; i < front->options->spec_count; i++) {
        struct spec *spec = ARENA_NEW(front->arena, struct spec);
        bool is_spec = spec_read(front, front->options->specs[i], spec);
        if (is_spec && spec->facts[0] && front->options->with_callers) {
            diag_report(front->diagnostics, DIAGNOSTIC_E0414, (struct location){0},
                        "--spec '%s': an object takes all arguments and holds all instances of its keys; '%s' chooses "
                        "one with -S, --emit=cubin, --emit=llvm or --emit=tir",
                        spec->text, spec->facts);
            good = false;
        } else if (is_spec) {
            *end = spec;
            end = &spec->next;
        }
        if (is_spec)
            continue;
        diag_report(front->diagnostics, DIAGNOSTIC_E0414, (struct location){0},
                    "--spec '%s' is not of the form 'kernel<types>[NAME=value, ...] facts'", front->options->specs[i]);
        good = false;
    }
    return good;
}

bool spec_selects(const struct entry_plan *plan, const struct spec *spec)
{
    const struct kernel_plan *kernel = plan->kernel;
    if (strcmp(spec->kernel, kernel->declaration->name.text) != 0)
        return false;
    int given = 0;
    for (int i = 0; i < kernel->rows.count && given < spec->types.count; i++) {
        if (!kernel->rows.data[i].is_type)
            continue;
        struct buffer text = {0};
        value_print_constant(&text, plan->types[i]);
        bool same = strcmp(text.data, spec->types.data[given++]) == 0;
        buffer_free(&text);
        if (!same)
            return false;
    }
    return given == spec->types.count;
}

bool spec_has_facts(const struct spec *spec, const char *label)
{
    if (!spec || !spec->facts[0])
        return true;
    size_t all = strlen(label), own = strlen(spec->facts);
    return own < all && label[all - own - 1] == ' ' && strcmp(label + all - own, spec->facts) == 0;
}

/* ---- what cannot be meant ---- */

const struct domain *spec_domain(const struct kernel_plan *kernel, const char *name)
{
    for (int i = 0; i < kernel->rows.count; i++)
        if (strcmp(kernel->rows.data[i].name.text, name) == 0)
            return &kernel->rows.data[i].domain;
    return NULL;
}

const char *spec_members(struct front *front, const struct domain *domain)
{
    struct buffer all = {0};
    for (int i = 0; i < domain->count && i < 12; i++) {
        buffer_puts(&all, i ? ", " : "");
        value_print_constant(&all, domain->data[i]);
    }
    buffer_puts(&all, domain->count > 12 ? ", ..." : "");
    const char *text = arena_substring(front->arena, all.data, all.size);
    buffer_free(&all);
    return text;
}

static bool is_knob(const struct kernel_plan *kernel, const char *name)
{
    for (int i = 0; i < kernel->tuning.count; i++)
        if (strcmp(kernel->tuning.data[i].name, name) == 0)
            return true;
    return false;
}

static bool has_name(const struct ast_declaration *kernel, const char *name)
{
    for (int i = 0; i < kernel->generics.count; i++)
        if (strcmp(kernel->generics.data[i]->name.text, name) == 0)
            return true;
    for (int c = 0; c < kernel->clauses.count; c++)
        for (int i = 0; i < kernel->clauses.data[c]->items.count; i++) {
            const struct ast_clause *clause = kernel->clauses.data[c];
            const struct ast_item *item = clause->items.data[i];
            bool bare = item->kind == ITEM_EXPRESSION && item->value->kind == EXPRESSION_NAME;
            if ((clause->kind == CLAUSE_TUNE || clause->kind == CLAUSE_CONST) &&
                ((item->kind == ITEM_DOMAIN && strcmp(item->name.text, name) == 0) ||
                 (clause->kind == CLAUSE_TUNE && bare && strcmp(item->value->name, name) == 0)))
                return true;
        }
    return false;
}

void spec_note_define(struct front *front, struct diagnostic *d, const struct ast_declaration *kernel, const char *name)
{
    const char *text = NULL;
    for (int i = 0; i < front->options->define_count; i++)
        if (strcmp(front->options->defines[i].name, name) == 0)
            text = front->options->defines[i].value;
    for (struct global *g = front->main->first; g && text && d; g = g->next)
        if (g->declaration->kind == DECLARATION_KERNEL && g->declaration != kernel && has_name(g->declaration, name)) {
            diag_note(front->diagnostics, d, g->declaration->at,
                      "-D is for all kernels that have the name, as `%s` does; --spec '%s[%s=%s]' is for one, and "
                      "--spec '%s' keeps this one beside it",
                      g->declaration->name.text, g->declaration->name.text, name, text, kernel->name.text);
            return;
        }
}

/* The sets of knobs are known for each instance apart: knobs.c looks there. */
static void check_item(struct kernel_plan *kernel, const char *option, const char *name, const char *text)
{
    struct diagnostics *diagnostics = kernel->front->diagnostics;
    struct location at = kernel->declaration->at;
    const struct domain *domain = spec_domain(kernel, name);
    struct value ignored;
    for (int i = 0; domain && i < domain->count; i++)
        if (spec_means(text, domain->data[i]))
            return;
    if (!domain && (!is_knob(kernel, name) || constant_read(text, at, &ignored)))
        return;
    if (domain) {
        struct diagnostic *d = diag_report(diagnostics, DIAGNOSTIC_E0414, at, "%s: `%s` of `%s` is one of {%s}, not %s",
                                           option, name, kernel->declaration->name.text,
                                           spec_members(kernel->front, domain), text);
        if (option[1] == 'D')
            spec_note_define(kernel->front, d, kernel->declaration, name);
    } else
        diag_report(diagnostics, DIAGNOSTIC_E0414, at, "%s: `%s` of `%s` is a number or a bool, not '%s'", option, name,
                    kernel->declaration->name.text, text);
}

void spec_check(struct kernel_plan *kernel, const struct spec *specs)
{
    struct front *front = kernel->front;
    const char *own = kernel->declaration->name.text;
    for (int i = 0; i < front->options->define_count; i++)
        check_item(kernel, arena_printf(front->arena, "-D %s", front->options->defines[i].name),
                   front->options->defines[i].name, front->options->defines[i].value);
    for (const struct spec *s = specs; s; s = s->next) {
        const char *option = arena_printf(front->arena, "--spec '%s'", s->text);
        for (int i = 0; strcmp(s->kernel, own) == 0 && i < s->items.count; i++) {
            const char *name = s->items.data[i].name;
            if (spec_domain(kernel, name) || is_knob(kernel, name))
                check_item(kernel, option, name, s->items.data[i].value);
            else
                diag_report(front->diagnostics, DIAGNOSTIC_E0414, kernel->declaration->at,
                            "%s: `%s` has no key and no `const` or `tune` name `%s`", option, own, name);
        }
    }
}
