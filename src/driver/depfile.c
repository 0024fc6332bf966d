/* Dependency files.  The escapes are those that GNU make and ninja both undo; a name with a line end cannot be written
 * and is left out rather than written wrong. */
#include "driver/depfile.h"

#include <string.h>

const char *depfile_quote(struct arena *arena, const char *name)
{
    struct buffer out = {0};
    buffer_append(&out, "", 0);
    for (const char *c = name; *c; c++) {
        if (*c == '$')
            buffer_putc(&out, '$');
        if (*c == ' ' || *c == '\t') /* backslashes before white space would be taken as escaping each other */
            for (const char *b = c; b > name && b[-1] == '\\'; b--)
                buffer_putc(&out, '\\');
        if (strchr(" \t#:", *c))
            buffer_putc(&out, '\\');
        buffer_putc(&out, *c);
    }
    const char *copy = arena_substring(arena, out.data, out.size);
    buffer_free(&out);
    return copy;
}

static bool can_be_written(const char *name) { return !strpbrk(name, "\n\r"); }

void depfile_print(struct buffer *out, struct arena *arena, const struct depfile *depfile)
{
    for (int i = 0; i < depfile->target_count; i++)
        buffer_printf(out, "%s%s", i ? " " : "", depfile->targets[i]);
    buffer_putc(out, ':');
    for (int i = 0; i < depfile->input_count; i++)
        if (can_be_written(depfile->inputs[i]))
            buffer_printf(out, " \\\n  %s", depfile_quote(arena, depfile->inputs[i]));
    buffer_putc(out, '\n');
    for (int i = 1; depfile->phony && i < depfile->input_count; i++)
        if (can_be_written(depfile->inputs[i]))
            buffer_printf(out, "\n%s:\n", depfile_quote(arena, depfile->inputs[i]));
}
