/* Lines in PTX: the file and line of an instruction, and the calls that brought it, from the outermost inwards, as
 * ptxas wants them:
 *
 *     .loc 1 15 13
 *     .loc 2 3 9, function_name $helper, inlined_at 1 15 13
 *     …
 *     .file 1 "main.tile"
 *     .file 2 "x.tile"
 *
 * LLVM 19 prints `.loc 2 3 9` alone, and a file for each scope: its directories are numbers of scopes
 * (targets/common/lines.h).  Here a file that several calls lead to is one again. */
#include "targets/nvptx/assemble/lines.h"

#include <stdlib.h>
#include <string.h>

enum { MOST_FILES = 1 << 20 };

struct line_text {
    struct lowering *l;
    VECTOR(int) scopes;             /* of LLVM's files, by number; -1: none */
    VECTOR(const char *) files;     /* ours, from 1 */
    VECTOR(const char *) functions; /* whose names are wanted, from 0 */
};

/* ASCII alone, the rest in octal; ptxas puts the time of a file that it finds into the cubin. */
static const char *file_text(struct line_text *t, const struct source *source)
{
    const char *name = target_source_name(t->l->options, source->name);
    struct buffer text = {0};
    for (name += strspn(name, "/"); *name; name++)
        if (*name >= ' ' && *name <= '~' && *name != '"' && *name != '\\')
            buffer_putc(&text, *name);
        else
            buffer_printf(&text, "\\%03o", (unsigned)(unsigned char)*name);
    char *copy = arena_substring(t->l->arena, text.data ? text.data : "", text.size);
    buffer_free(&text);
    return copy;
}

static int find_text(struct line_text *t, bool is_file, const char *text)
{
    for (int i = 0; i < (is_file ? t->files.count : t->functions.count); i++)
        if (strcmp(is_file ? t->files.data[i] : t->functions.data[i], text) == 0)
            return i;
    if (is_file)
        vector_push(t->l->arena, &t->files, text);
    else
        vector_push(t->l->arena, &t->functions, text);
    return (is_file ? t->files.count : t->functions.count) - 1;
}

static int file_number(struct line_text *t, const struct source *source)
{
    return find_text(t, true, file_text(t, source)) + 1;
}

static void put_place(struct line_text *t, const struct inlined_call *call, int file, int line, int column,
                      struct buffer *out)
{
    if (call)
        put_place(t, call->at.inlined, file_number(t, call->at.source), call->at.line, call->at.column, out);
    buffer_printf(out, "\t.loc\t%d %d %d", file, line, column);
    if (call)
        buffer_printf(out, ", function_name $L__function%d, inlined_at %d %d %d", find_text(t, false, call->function),
                      file_number(t, call->at.source), call->at.line, call->at.column);
    buffer_putc(out, '\n');
}

/* The files that LLVM names stand behind the code. */
static void read_files(struct line_text *t, const char *text)
{
    static const char directive[] = "\n\t.file\t";
    for (const char *at = strstr(text, directive); at; at = strstr(at + 1, directive)) {
        char *end;
        long number = strtol(at + strlen(directive), &end, 10);
        if (number < 1 || number > MOST_FILES || end[0] != ' ' || end[1] != '"')
            die("LLVM printed %.40s", at + 1);
        while (t->scopes.count <= number)
            vector_push(t->l->arena, &t->scopes, -1);
        t->scopes.data[number] = (int)strtol(end + 2, NULL, 10);
    }
}

static void put_line(struct line_text *t, const char *line, size_t size, struct buffer *out)
{
    int file, row, column;
    if (strncmp(line, "\t.file\t", 7) == 0)
        return;
    if (sscanf(line, "\t.loc\t%d %d %d", &file, &row, &column) != 3) {
        buffer_append(out, line, size);
        return;
    }
    const struct line_scope *scope = file >= 1 && file < t->scopes.count
                                         ? lines_scope(t->l->lines, t->scopes.data[file])
                                         : NULL;
    if (!scope)
        die("LLVM printed %.40s", line);
    if (row == 0)
        buffer_printf(out, "\t.loc\t%d 0 0\n", file_number(t, scope->source)); /* no place: none known */
    else
        put_place(t, scope->call, file_number(t, scope->source), row, column, out);
}

static void put_tables(struct line_text *t, struct buffer *out)
{
    for (int i = 0; i < t->files.count; i++)
        buffer_printf(out, "\t.file\t%d \"%s\"\n", i + 1, t->files.data[i]);
    if (!t->functions.count)
        return;
    buffer_puts(out, "\t.section\t.debug_str\n\t{\n");
    for (int i = 0; i < t->functions.count; i++) {
        buffer_printf(out, "$L__function%d:\n.b8 ", i);
        for (const char *p = t->functions.data[i]; *p; p++)
            buffer_printf(out, "%d,", (unsigned char)*p);
        buffer_puts(out, "0\n");
    }
    buffer_puts(out, "\t}\n");
}

void lines_tell_calls(struct lowering *l, struct buffer *text)
{
    if (!l->lines)
        return;
    struct line_text t = {.l = l};
    struct buffer out = {0};
    buffer_putc(text, '\0');
    read_files(&t, text->data);
    for (const char *line = text->data; *line;) {
        const char *end = strchr(line, '\n');
        size_t size = end ? (size_t)(end - line) + 1 : strlen(line);
        put_line(&t, line, size, &out);
        line += size;
    }
    put_tables(&t, &out);
    buffer_free(text);
    *text = out;
}
