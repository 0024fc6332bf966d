/* The parser alone, over tests/lang/grammar and the examples (must parse; printing must lose nothing and be stable)
 * and over those files of tests/lang/reject whose errors the parser finds.  Their first lines say what must be
 * reported, in order and nothing else:  // EXPECT: E0112 at 3:7 Also: every error has a page of at least two
 * sentences. */
#include "front/syntax/ast.h"
#include "base/file.h"

#include <dirent.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static int failures;

static void fail(const char *file, const char *what, const char *detail)
{
    fprintf(stderr, "%s: %s%s%s\n", file, what, detail ? ":\n" : "", detail ? detail : "");
    failures++;
}

static struct parse_context *make_context(struct arena *arena)
{
    struct parse_context *context = ARENA_NEW(arena, struct parse_context);
    context->arena = arena;
    context->names = intern_create(arena);
    context->diagnostics = diagnostics_create(arena);
    return context;
}

static struct source make_source(const char *name, const char *text, size_t size)
{
    return (struct source){.name = name, .text = text, .size = size};
}

/* "E0112 at 3:7\n" for each diagnostic. */
static void list_diagnostics(const struct diagnostics *diagnostics, struct buffer *out)
{
    for (const struct diagnostic *d = diagnostics->first; d; d = d->next)
        buffer_printf(out, "%s at %d:%d\n", diagnostic_info[d->code].code, d->at.line, d->at.column);
}

static void list_expected(const char *text, struct buffer *out)
{
    static const char mark[] = "// EXPECT: ";
    while (strncmp(text, mark, strlen(mark)) == 0) {
        const char *start = text + strlen(mark), *newline = strchr(start, '\n');
        size_t size = newline ? (size_t)(newline - start) + 1 : strlen(start);
        buffer_append(out, start, size);
        text = start + size;
    }
}

static bool parser_finds(const char *expected)
{
    return strncmp(expected, "E01", 3) == 0 || strncmp(expected, "E08", 3) == 0;
}

static void check_rejected(const char *path, bool *covered)
{
    struct arena *arena = arena_create();
    struct buffer text = {0}, expected = {0}, reported = {0};
    if (!file_read(path, 0, &text))
        fail(path, "cannot be read", NULL);
    list_expected(text.data ? text.data : "", &expected);
    if (!expected.size)
        fail(path, "says no EXPECT", NULL);
    for (const char *line = expected.data; line && *line; line = strchr(line, '\n') + 1)
        for (int i = 0; i < DIAGNOSTIC_COUNT; i++)
            if (strncmp(line, diagnostic_info[i].code, 5) == 0)
                covered[i] = true;
    if (expected.size && parser_finds(expected.data)) {
        struct parse_context *context = make_context(arena);
        struct source source = make_source(path, text.data, text.size);
        struct ast_file *file = parse_program(context, &source);
        list_diagnostics(context->diagnostics, &reported);
        if (!reported.data || strcmp(reported.data, expected.data) != 0)
            fail(path, "expected other errors; reported are", reported.data ? reported.data : "none");
        if (!file->has_errors)
            fail(path, "errors, but has_errors is not set", NULL);
    }
    buffer_free(&text);
    buffer_free(&expected);
    buffer_free(&reported);
    arena_destroy(arena);
}

/* What is left of a text without comments, white space, trailing commas and underscores in numbers. */
static void squeeze(const char *text, struct buffer *out)
{
    bool string = false, number = false;
    for (const char *at = text; *at; at++) {
        if (string) {
            buffer_putc(out, *at);
            if (*at == '\\' && at[1])
                buffer_putc(out, *++at);
            else if (*at == '"')
                string = false;
            continue;
        }
        if (strncmp(at, "\xef\xbb\xbf", 3) == 0)
            at += 3;
        if (at[0] == '/' && at[1] == '/' && (at[2] != '/' || at[3] == '/'))
            at += strcspn(at, "\n");
        if (at[0] == '/' && at[1] == '*')
            at = strstr(at + 2, "*/") + 2;
        if (!*at)
            break;
        char last = out->size ? out->data[out->size - 1] : ' ';
        bool word = (*at >= 'a' && *at <= 'z') || (*at >= 'A' && *at <= 'Z') || (*at >= '0' && *at <= '9') ||
                    *at == '_';
        bool after_word = (last >= 'a' && last <= 'z') || (last >= 'A' && last <= 'Z') ||
                          (last >= '0' && last <= '9') || last == '_';
        if (!word)
            number = false;
        if (word && !after_word)
            number = *at >= '0' && *at <= '9';
        if (strchr(" \t\r\n\f\v", *at) || (*at == '_' && number))
            continue;
        if (strchr(")]}>", *at) && last == ',')
            out->data[--out->size] = 0;
        string = *at == '"';
        buffer_putc(out, *at);
    }
}

static void print_again(const char *path, const struct buffer *text, struct buffer *out)
{
    struct arena *arena = arena_create();
    struct parse_context *context = make_context(arena);
    struct source source = make_source(path, text->data ? text->data : "", text->size);
    struct ast_file *file = parse_file(context, &source);
    struct buffer reported = {0};
    list_diagnostics(context->diagnostics, &reported);
    if (reported.size || file->has_errors)
        fail(path, "must parse", reported.data);
    buffer_free(&reported);
    ast_print(file, out);
    arena_destroy(arena);
}

static void check_accepted(const char *path)
{
    struct buffer text = {0}, once = {0}, twice = {0}, left = {0}, right = {0};
    if (!file_read(path, 0, &text))
        fail(path, "cannot be read", NULL);
    print_again(path, &text, &once);
    print_again(path, &once, &twice);
    if (once.size != twice.size || (once.size && memcmp(once.data, twice.data, once.size) != 0))
        fail(path, "printing what was printed gives another text", twice.data);
    squeeze(text.data ? text.data : "", &left);
    squeeze(once.data ? once.data : "", &right);
    if (left.size != right.size || (left.size && strcmp(left.data, right.data) != 0))
        fail(path, "printing loses something", once.data);
    struct buffer *all[] = {&text, &once, &twice, &left, &right};
    for (int i = 0; i < 5; i++)
        buffer_free(all[i]);
}

static int for_each(const char *folder, void (*accepted)(const char *), bool *covered)
{
    DIR *directory = opendir(folder);
    int count = 0;
    if (!directory) {
        fail(folder, "cannot be opened", NULL);
        return 0;
    }
    for (struct dirent *entry; (entry = readdir(directory));) {
        size_t length = strlen(entry->d_name);
        if (length < 5 || strcmp(entry->d_name + length - 5, ".tile") != 0)
            continue;
        char path[4096];
        snprintf(path, sizeof path, "%s/%s", folder, entry->d_name);
        if (accepted)
            accepted(path);
        else
            check_rejected(path, covered);
        count++;
    }
    closedir(directory);
    return count;
}

static void check_pages(void)
{
    for (int i = 0; i < DIAGNOSTIC_COUNT; i++) {
        int sentences = 0;
        for (const char *at = diagnostic_info[i].page; *at; at++)
            sentences += (*at == '.' || *at == '?' || *at == ':') && (at[1] == ' ' || at[1] == 0 || at[1] == '\n');
        if (sentences < 2)
            fail(diagnostic_info[i].code, "its page has less than two sentences", NULL);
    }
}

static void check_docs(void)
{
    static const char text[] = "/// lost\n\n/// One.\n///\n///  Two.\nkernel f() {}\n//// no doc\nfn g() {}\n/// doc "
                               "of h\nnoinline fn h() {}\n";
    struct arena *arena = arena_create();
    struct source source = make_source("docs", text, sizeof text - 1);
    struct ast_file *file = parse_file(make_context(arena), &source);
    const char *expected[] = {"One.\n\n Two.", NULL, "doc of h"};
    for (int i = 0; i < 3; i++) {
        const char *doc = i < file->declarations.count ? file->declarations.data[i]->doc : "missing";
        if ((doc == NULL) != (expected[i] == NULL) || (doc && strcmp(doc, expected[i]) != 0))
            fail("docs", "wrong text", doc);
    }
    arena_destroy(arena);
}

/* Sources too large to keep as files. */
static void check_generated(bool *covered)
{
    struct arena *arena = arena_create();
    struct parse_context *context = make_context(arena);
    struct buffer text = {0};
    const char *where = getenv("TMPDIR");
    char *folder = arena_printf(arena, "%s/tilecc-parse.XXXXXX", where && *where ? where : "/tmp");
    if (!mkdtemp(folder) || chdir(folder))
        fail(folder, "cannot be made", NULL);
    for (int i = 0; i < 1001; i++)
        buffer_puts(&text, "import \"self.tile\";\n");
    struct source self = make_source("self.tile", text.data, text.size);
    FILE *file = fopen("self.tile", "wb");
    if (!file || fwrite(text.data, 1, text.size, file) != text.size || fclose(file))
        fail("self.tile", "cannot be written", NULL);
    parse_program(context, &self);
    remove("self.tile");
    rmdir(folder);
    const struct diagnostic *d = context->diagnostics->first;
    if (!d || d->code != DIAGNOSTIC_E0803 || d->at.line != 1001 || d->next)
        fail("self.tile", "must give E0803 once", NULL);
    covered[DIAGNOSTIC_E0803] = true;
    buffer_free(&text);
    struct parse_context *second = make_context(arena);
    char *spaces = malloc((16 << 20) + 1);
    memset(spaces, ' ', (16 << 20) + 1);
    struct source large = make_source("large.tile", spaces, (16 << 20) + 1),
                  fits = make_source("fits.tile", spaces, 16 << 20);
    parse_file(second, &large);
    if (!second->diagnostics->first || second->diagnostics->first->code != DIAGNOSTIC_E0802)
        fail("large.tile", "must give E0802", NULL);
    if (parse_file(second, &fits)->has_errors)
        fail("fits.tile", "must parse", NULL);
    covered[DIAGNOSTIC_E0802] = true;
    free(spaces);
    arena_destroy(arena);
}

int main(void)
{
    const char *top = getenv("SRCDIR");
    char folder[4096];
    bool covered[DIAGNOSTIC_COUNT] = {false};
    if (!top)
        top = ".";
    snprintf(folder, sizeof folder, "%s/tests/lang/grammar", top);
    int accepted = for_each(folder, check_accepted, NULL);
    snprintf(folder, sizeof folder, "%s/examples", top);
    accepted += for_each(folder, check_accepted, NULL);
    snprintf(folder, sizeof folder, "%s/tests/lang/reject", top);
    int rejected = for_each(folder, NULL, covered);
    check_generated(covered);
    for (int i = 0; i < DIAGNOSTIC_COUNT; i++)
        if (parser_finds(diagnostic_info[i].code) && !covered[i])
            fail(diagnostic_info[i].code, "has no file in tests/lang/reject", NULL);
    check_pages();
    check_docs();
    if (accepted < 10 || rejected < 40)
        fail("tests/lang", "too few files were found", NULL);
    printf("%d parsed, %d rejected, %d failures\n", accepted, rejected, failures);
    return failures != 0;
}
