/* Dependency files.  The escapes are those that GNU make and ninja both undo, but for `%`: of a target it would make a
 * pattern, unless a backslash stands in front, which make alone undoes.  A name with a line end cannot be written. */
#include "driver/depfile.h"

#include <string.h>

static const char *quote(struct arena *arena, const char *name, bool is_target)
{
    struct buffer out = {0};
    buffer_append(&out, "", 0);
    for (const char *c = name; *c; c++) {
        if (*c == '$')
            buffer_putc(&out, '$');
        /* Backslashes in front of what is escaped would be taken as escaping each other. */
        if (*c == ' ' || *c == '\t' || (is_target && *c == '%'))
            for (const char *b = c; b > name && b[-1] == '\\'; b--)
                buffer_putc(&out, '\\');
        if (strchr(" \t#:", *c) || (is_target && *c == '%'))
            buffer_putc(&out, '\\');
        buffer_putc(&out, *c);
    }
    const char *copy = arena_substring(arena, out.data, out.size);
    buffer_free(&out);
    return copy;
}

const char *depfile_quote_target(struct arena *arena, const char *name) { return quote(arena, name, true); }

bool depfile_can_hold(const char *name) { return !strpbrk(name, "\n\r"); }

void depfile_print(struct buffer *out, struct arena *arena, const struct depfile *depfile)
{
    for (int i = 0; i < depfile->target_count; i++)
        buffer_printf(out, "%s%s", i ? " " : "", depfile->targets[i]);
    buffer_putc(out, ':');
    for (int i = 0; i < depfile->input_count; i++)
        buffer_printf(out, " \\\n  %s", quote(arena, depfile->inputs[i], false));
    buffer_putc(out, '\n');
    for (int i = 1; depfile->phony && i < depfile->input_count; i++)
        buffer_printf(out, "\n%s:\n", depfile_quote_target(arena, depfile->inputs[i]));
}
