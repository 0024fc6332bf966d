/* The text of tile IR and the verifier.
 *   accept/ and every golden of the passes: print(parse(text)) is a fixed point, with and without locations, and
 * verifies; accept/ holds printed text, so printing gives the file itself. reject/: sections between `// ---` lines;
 * each must fail to parse or verify, and say what its `// ERROR:` line says, at the lines and columns that places.txt has
 * (`text_test places` prints what it should be). IR broken by hand, in ways that no text has. */
#include <dirent.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "ir/text.h"
#include "ir/verify/verify.h"

static int failures, cases;
static struct {
    int count;
    char *line[1000];
} places; /* of messages: file, section, line and column of each */

static void fail(const char *where, const char *what)
{
    failures++;
    printf("%s: %s\n", where, what);
}

static struct ir_module *parse(struct arena *arena, struct diagnostics *diagnostics, const char *name, const char *text,
                               size_t size)
{
    struct source *source = ARENA_NEW(arena, struct source);
    *source = (struct source){name, arena_substring(arena, text, size), size, NULL};
    return ir_parse_module(ir_context_create(arena), arena, diagnostics, source);
}

static void print(struct buffer *out, const struct ir_module *module, bool locations)
{
    ir_print_module(out, module, locations);
    buffer_puts(out, "");
}

/* Printing, reading and printing again gives the same bytes. */
static void check_fixed_point(const char *name, struct arena *arena, const struct ir_module *module, bool locations)
{
    struct buffer once = {0}, twice = {0};
    struct diagnostics *diagnostics = diagnostics_create(arena);
    print(&once, module, locations);
    struct ir_module *again = parse(arena, diagnostics, name, once.data, once.size);
    if (!again) {
        fail(name, "what is printed cannot be read");
        diag_print(diagnostics, stdout, false);
    } else {
        print(&twice, again, locations);
        if (once.size != twice.size || memcmp(once.data, twice.data, once.size))
            fail(name, locations ? "printing with locations is no fixed point" : "printing is no fixed point");
    }
    buffer_free(&once);
    buffer_free(&twice);
}

static void check_accepted(const char *name, const char *text, size_t size, bool exact)
{
    struct arena *arena = arena_create();
    struct diagnostics *diagnostics = diagnostics_create(arena);
    struct ir_module *module = parse(arena, diagnostics, name, text, size);
    cases++;
    if (!module || !ir_verify_module(module, diagnostics)) {
        fail(name, "is not accepted");
        diag_print(diagnostics, stdout, false);
    } else {
        check_fixed_point(name, arena, module, false);
        check_fixed_point(name, arena, module, true);
        struct buffer out = {0};
        print(&out, module, false);
        const char *body = exact ? strchr(text, '\n') + 1 : text; /* behind the first comment */
        if (exact && strcmp(out.data, body))
            fail(name, "is printed in another way than it is written");
        buffer_free(&out);
    }
    arena_destroy(arena);
}

static bool says(const struct diagnostics *diagnostics, const char *text)
{
    for (const struct diagnostic *d = diagnostics->first; d; d = d->next)
        if (strstr(d->text, text))
            return true;
    return false;
}

static void note_places(const char *name, int number, const struct diagnostics *diagnostics)
{
    struct buffer out = {0};
    buffer_printf(&out, "%s %d:", strrchr(name, '/') + 1, number);
    for (const struct diagnostic *d = diagnostics->first; d; d = d->next)
        buffer_printf(&out, " %d:%d", d->at.line, d->at.column);
    buffer_puts(&out, "");
    places.line[places.count++] = out.data;
}

static void check_rejected(const char *name, const char *section, size_t size, int number)
{
    struct arena *arena = arena_create();
    struct diagnostics *diagnostics = diagnostics_create(arena);
    const char *text = arena_substring(arena, section, size), *wanted = strstr(text, "// ERROR: ");
    const char *where = arena_printf(arena, "%s, section %d", name, number);
    cases++;
    struct ir_module *module = parse(arena, diagnostics, name, section, size);
    bool good = module && ir_verify_module(module, diagnostics);
    note_places(name, number, diagnostics);
    const char *message = wanted ? arena_substring(arena, wanted + 10, strcspn(wanted + 10, "\n")) : NULL;
    if (!message) {
        fail(where, "says no ERROR");
    } else if (good || !diagnostics->errors) {
        fail(where, "is accepted");
        printf("    wanted: %s\n", message);
    } else if (!says(diagnostics, message)) {
        fail(where, message);
        diag_print(diagnostics, stdout, false);
    } else if (!diagnostics->first->at.line) {
        fail(where, "the message has no place");
    }
    arena_destroy(arena);
}

static void check_sections(const char *name, const char *text)
{
    int number = 1;
    for (const char *end; text; text = end ? end + 7 : NULL, number++) {
        end = strstr(text, "// ---\n");
        check_rejected(name, text, end ? (size_t)(end - text) : strlen(text), number);
    }
}

enum folder_kind { ACCEPT, REJECT, GOLDENS };

static void walk_folder(const char *path, enum folder_kind kind)
{
    DIR *folder = opendir(path);
    struct arena *arena = arena_create();
    if (!folder) {
        fail(path, "cannot be opened");
        arena_destroy(arena);
        return;
    }
    for (struct dirent *entry; (entry = readdir(folder));) {
        size_t length = strlen(entry->d_name);
        const char *name = arena_printf(arena, "%s/%s", path, entry->d_name);
        if (kind == GOLDENS && entry->d_name[0] != '.' && !strchr(entry->d_name, '.'))
            walk_folder(name, GOLDENS);
        if (length < 5 || strcmp(entry->d_name + length - 4, ".tir"))
            continue;
        struct buffer text = {0};
        if (!file_read(name, 0, &text)) {
            fail(name, "cannot be read");
            continue;
        }
        buffer_puts(&text, "");
        if (kind == REJECT)
            check_sections(name, text.data);
        else
            check_accepted(name, text.data, text.size, kind == ACCEPT);
        buffer_free(&text);
    }
    closedir(folder);
    arena_destroy(arena);
}

/* ---- much of one kind ---- */

/* Many types, each used again behind the last, and many blocks in a row, none inside another. */
static void check_many(void)
{
    enum { TYPES = 3000, BLOCKS = 2000 };
    struct buffer text = {0};
    buffer_puts(&text, "function @many(%x: f32, %b: bool) {\n");
    for (int i = 1; i <= TYPES; i++)
        buffer_printf(&text, "    %%t%d = splat %%x : f32[%d]\n", i, i);
    for (int i = 1; i <= TYPES; i++)
        buffer_printf(&text, "    %%s%d = add %%t%d, %%t%d : f32[%d]\n", i, i, i, i);
    for (int i = 0; i < BLOCKS; i++)
        buffer_puts(&text, "    if %b {\n        yield\n    } else {\n        yield\n    }\n");
    buffer_puts(&text, "    return\n}\n");
    check_accepted("many types and blocks", text.data, text.size, false);
    buffer_free(&text);
}

/* ---- broken by hand ---- */

static const char sample[] = "function @f(%x: f32) -> f32 {\n"
                             "    %a = add %x, %x : f32\n"
                             "    %b = mul %a, %a : f32\n"
                             "    return %b\n"
                             "}\n";

static void check_broken(const char *what, void (*harm)(struct ir_function *function), const char *message)
{
    struct arena *arena = arena_create();
    struct diagnostics *diagnostics = diagnostics_create(arena);
    struct ir_module *module = parse(arena, diagnostics, what, sample, sizeof sample - 1);
    cases++;
    harm(module->first);
    if (ir_verify_module(module, diagnostics))
        fail(what, "is accepted");
    else if (!says(diagnostics, message))
        fail(what, message);
    arena_destroy(arena);
}

static void lose_use(struct ir_function *function) { function->body->first->results[0]->uses = NULL; }
static void wrong_use(struct ir_function *function) { function->body->first->next->uses[0]->index = 1; }
static void wrong_id(struct ir_function *function) { function->body->first->results[0]->id = 0; }
static void large_id(struct ir_function *function) { function->body->first->results[0]->id = 1000; }
static void wrong_block(struct ir_function *function) { function->body->first->results[0]->index = 3; }
static void before_definition(struct ir_function *function)
{
    ir_move_before(function->body->first->next, function->body->first);
}
static void broken_list(struct ir_function *function) { function->body->first->next->previous = NULL; }
static void bad_bits(struct ir_function *function)
{
    struct ir_builder builder = {.module = function->module, .block = function->body, .before = function->body->first};
    ir_constant_bits(&builder, ir_type_scalar(function->module->context, IR_U8), 256);
}

static int compare_lines(const void *a, const void *b) { return strcmp(*(char *const *)a, *(char *const *)b); }

/* Sorted: a folder has no order. */
static void check_places(const char *top, bool print)
{
    struct buffer text = {0};
    char path[4096];
    snprintf(path, sizeof path, "%s/tests/ir/reject/places.txt", top);
    if (!file_read(path, 0, &text))
        fail(path, "cannot be read");
    buffer_puts(&text, "");
    qsort(places.line, (size_t)places.count, sizeof *places.line, compare_lines);
    char *wanted = strtok(text.data, "\n");
    for (int i = 0; i < places.count; i++, wanted = wanted ? strtok(NULL, "\n") : NULL) {
        if (print)
            puts(places.line[i]);
        else if (!wanted || strcmp(wanted, places.line[i])) {
            fail(places.line[i], "messages stand at other places");
            printf("    wanted: %s\n", wanted ? wanted : "nothing");
        }
        free(places.line[i]);
    }
    if (wanted && !print)
        fail(wanted, "nothing is rejected there");
    buffer_free(&text);
}

int main(int count, char **arguments)
{
    const char *top = getenv("SRCDIR");
    char path[4096];
    static const struct {
        const char *name;
        enum folder_kind kind;
    } folders[] = {{"tests/ir/accept", ACCEPT}, {"tests/ir/reject", REJECT}, {"tests/passes", GOLDENS}};
    for (int i = 0; i < 3; i++) {
        snprintf(path, sizeof path, "%s/%s", top ? top : ".", folders[i].name);
        walk_folder(path, folders[i].kind);
    }
    check_many();
    check_broken("a lost use list", lose_use, "the use list of a value");
    check_broken("a wrong use record", wrong_use, "an operand's use record is wrong");
    check_broken("two values with one id", wrong_id, "two values share an id");
    check_broken("an id out of range", large_id, "a value's id is not below the function's next");
    check_broken("a wrong result number", wrong_block, "a value does not know where it is defined");
    check_broken("a use before the definition", before_definition, "an operand is not defined on every way to its use");
    check_broken("a broken list", broken_list, "the list of operations is broken");
    check_broken("bits of no u8", bad_bits, "the constant's bits are not those of its element");
    check_places(top ? top : ".", count > 1 && !strcmp(arguments[1], "places"));
    if (count == 1)
        printf("%d cases, %d failures\n", cases, failures);
    return failures != 0 || cases < 100;
}
