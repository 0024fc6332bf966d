/* Runs the golden files tests/passes/PASS/NAME.tir: each says in comments which passes run and what must come out.
 *
 *     // RUN: licm,cse             passes, by name
 *     // TARGET: sm_90a            the architecture they run for; without it, none
 *     // CHECK: text               a line of the output holds text, behind what was matched before; {{.*}} stands for
 * anything
 *     // CHECK-NEXT: text          the very next line does
 *     // CHECK-NOT: text           no line from here to the next match (or the end) does
 *     // UNCHANGED                 the output is the input, printed
 *
 * Without fuel a pass changes nothing, so each file that one changes runs again without; but for those that code for a
 * machine cannot do without.
 *
 * Every folder is named after a pass and must hold at least 5 files that it changes and 3 that it must leave alone. */
#include <dirent.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "ir/text.h"
#include "ir/verify/verify.h"
#include "passes/run.h"
#include "targets/target.h"

static int failures, files;

static void fail(const char *path, int line, const char *what)
{
    failures++;
    printf("%s:%d: %s\n", path, line, what);
}

/* text against a line; {{.*}} matches anything. */
static bool line_holds(const char *line, size_t size, const char *text)
{
    char *copy = strndup(line, size), *pattern = strdup(text), *at = copy;
    bool good = true;
    for (char *part = pattern, *next; part && good; part = next) {
        next = strstr(part, "{{.*}}");
        if (next) {
            *next = '\0';
            next += strlen("{{.*}}");
        }
        at = strstr(at, part);
        good = at != NULL;
        if (at)
            at += strlen(part);
    }
    free(copy);
    free(pattern);
    return good;
}

struct lines {
    const char *text[4096];
    size_t size[4096];
    int count;
};

static void split(const char *text, struct lines *lines)
{
    lines->count = 0;
    while (*text && lines->count < 4096) {
        size_t size = strcspn(text, "\n");
        lines->text[lines->count] = text;
        lines->size[lines->count++] = size;
        text += size + (text[size] == '\n');
    }
}

static int find_line(const struct lines *output, int from, int to, const char *text)
{
    for (int i = from; i < to; i++)
        if (line_holds(output->text[i], output->size[i], text))
            return i;
    return -1;
}

/* The comment's argument, or NULL. */
static char *directive(const struct lines *input, int i, const char *word)
{
    const char *line = input->text[i];
    size_t length = strlen(word);
    if (input->size[i] < length + 3 || strncmp(line, "// ", 3) || strncmp(line + 3, word, length))
        return NULL;
    const char *argument = line + 3 + length;
    while (*argument == ' ')
        argument++;
    return strndup(argument, (size_t)(line + input->size[i] - argument));
}

static void check_output(const char *path, const struct lines *input, const struct lines *output)
{
    int at = 0, not_count = 0;
    char *not_text[64];
    for (int i = 0; i <= input->count; i++) {
        char *check = i < input->count ? directive(input, i, "CHECK:") : NULL;
        char *next = i < input->count ? directive(input, i, "CHECK-NEXT:") : NULL;
        char *none = i < input->count ? directive(input, i, "CHECK-NOT:") : NULL;
        if (none && not_count < 64) {
            not_text[not_count++] = none;
            continue;
        }
        if (!check && !next && i < input->count)
            continue;
        int found = check  ? find_line(output, at, output->count, check)
                    : next ? find_line(output, at, at + 1 < output->count ? at + 1 : output->count, next)
                           : output->count;
        if (found < 0) {
            fail(path, i + 1, "this is not in the output");
            found = at;
        }
        for (int k = 0; k < not_count; k++) {
            if (find_line(output, at, found, not_text[k]) >= 0)
                fail(path, i + 1, not_text[k]);
            free(not_text[k]);
        }
        not_count = 0;
        at = found + 1;
        free(check);
        free(next);
    }
}

/* The library of expand_math: functions of the file itself, named as the library's. */
static struct ir_function *math_function(void *context, struct ir_module *module, enum ir_math function,
                                         enum ir_element element)
{
    char name[128];
    (void)context;
    snprintf(name, sizeof name, "std.%s.%s", ir_attribute_word(IR_ATTRIBUTE_FUNCTION, function),
             ir_element_info[element].text);
    return ir_function_find(module, name);
}

static bool same_text(const struct buffer *a, const struct buffer *b)
{
    return a->size == b->size && memcmp(a->data, b->data, a->size) == 0;
}

/* Whether a pass says truly that it changed a function: --print-after shows that, and passes run again for it. */
struct watched {
    const char *path;
    struct ir_module *module;
    struct buffer text;
};

static void compare_with_word(const struct pass_info *pass, struct ir_function *function, bool changed, void *context)
{
    struct watched *watched = context;
    struct buffer now = {0};
    ir_print_module(&now, watched->module, false);
    if (changed == same_text(&watched->text, &now)) {
        fail(watched->path, 0,
             changed ? "a pass says that it changed what it left as it was"
                     : "a pass changed what it says that it left as it was");
        printf("    %s, @%s\n", pass->name, function->name);
    }
    buffer_free(&watched->text);
    watched->text = now;
}

/* Runs the passes one after the other; *before has the text in front of the last one. */
static void run_passes(const char *path, const struct pass_info *const *passes, int count, struct ir_module *module,
                       struct pass_context *context, struct buffer *before)
{
    struct watched watched = {.path = path, .module = module};
    ir_print_module(&watched.text, module, false);
    for (int i = 0; i < count && passes[i]; i++) {
        struct pass_run run = {.passes = &passes[i], .count = 1, .after = compare_with_word, .after_context = &watched};
        if (i == count - 1)
            ir_print_module(before, module, false);
        for (struct ir_function *function = module->first; function; function = function->next)
            if (!pass_run_all(&run, function, context))
                fail(path, 0, "the pass failed");
    }
    buffer_free(&watched.text);
}

static bool is_needed(const struct pass_info *pass)
{
    static const char *const names[] = {"allocate_shared", "expand_math", "insert_barriers", "prefetch_copies",
                                        "settle_knobs"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (strcmp(pass->name, names[i]) == 0)
            return true;
    return pass->in != pass->out;
}

/* Again from the text, the last pass without fuel. */
static void run_without_fuel(const char *path, struct ir_context *context, const struct source *source,
                             const struct pass_info *const *passes, int count, struct pass_context pass_context)
{
    struct buffer before = {0}, after = {0};
    int64_t none = 0;
    struct ir_module *module = ir_parse_module(context, pass_context.arena, pass_context.diagnostics, source);
    run_passes(path, passes, count - 1, module, &pass_context, &before);
    before.size = 0;
    ir_print_module(&before, module, false);
    pass_context.fuel = &none;
    struct buffer last = {0};
    run_passes(path, passes + count - 1, 1, module, &pass_context, &last);
    ir_print_module(&after, module, false);
    if (!same_text(&before, &after))
        fail(path, 0, "changes without fuel");
    buffer_free(&before);
    buffer_free(&last);
    buffer_free(&after);
}

/* Whether the named pass changed the text. */
static bool run_file(const char *path, const char *pass, bool *unchanged_wanted)
{
    struct arena *arena = arena_create();
    struct diagnostics *diagnostics = diagnostics_create(arena);
    struct ir_context *context = ir_context_create(arena);
    struct buffer text = {0}, before = {0}, after = {0};
    struct lines *input = malloc(sizeof *input), *output = malloc(sizeof *output);
    const struct pass_info *passes[32];
    const struct target_row *target = NULL;
    int count = 0;
    bool changed = false;
    *unchanged_wanted = false;
    if (!file_read(path, 0, &text))
        fail(path, 0, "cannot be read");
    buffer_putc(&text, '\0');
    struct source source = {path, text.data, text.size - 1, NULL};
    split(text.data, input);
    for (int i = 0; i < input->count; i++) {
        char *names = directive(input, i, "RUN:"), *unchanged = directive(input, i, "UNCHANGED");
        for (char *name = names ? strtok(names, ", ") : NULL; name && count < 32; name = strtok(NULL, ", "))
            if (!(passes[count++] = pass_find(name)))
                fail(path, i + 1, "no such pass");
        char *name = directive(input, i, "TARGET:");
        if (name && target_find(name) < 0)
            fail(path, i + 1, "no such target");
        else if (name)
            target = &target_rows[target_find(name)];
        free(name);
        *unchanged_wanted |= unchanged != NULL;
        free(names);
        free(unchanged);
    }
    if (!count || !passes[count - 1] || strcmp(passes[count - 1]->name, pass) != 0)
        fail(path, 1, "the last pass of RUN is not the folder's");
    struct ir_module *module = ir_parse_module(context, arena, diagnostics, &source);
    if (module && ir_verify_module(module, diagnostics)) {
        struct pass_context pass_context = {
            .arena = arena, .diagnostics = diagnostics, .target = target, .math_function = math_function};
        run_passes(path, passes, count, module, &pass_context, &before);
        ir_print_module(&after, module, false);
        changed = !same_text(&before, &after);
        if (changed && !is_needed(passes[count - 1]))
            run_without_fuel(path, context, &source, passes, count, pass_context);
        buffer_putc(&after, '\0');
        split(after.data, output);
        check_output(path, input, output);
        if (*unchanged_wanted && changed)
            fail(path, 0, "must not change");
        if (!*unchanged_wanted && !changed)
            fail(path, 0, "must change");
    } else {
        fail(path, 0, "is not tile IR");
    }
    diag_print(diagnostics, stdout, false);
    if (getenv("GOLDEN_PRINT"))
        printf("%s\n%s", path, after.data);
    buffer_free(&text);
    buffer_free(&before);
    buffer_free(&after);
    free(input);
    free(output);
    arena_destroy(arena);
    files++;
    return changed;
}

static int by_name(const void *a, const void *b) { return strcmp(*(char *const *)a, *(char *const *)b); }

static int list(const char *path, char ***names)
{
    DIR *folder = opendir(path);
    int count = 0;
    *names = NULL;
    for (struct dirent *entry; folder && (entry = readdir(folder));)
        if (entry->d_name[0] != '.') {
            *names = realloc(*names, sizeof(char *) * (size_t)(count + 1));
            (*names)[count++] = strdup(entry->d_name);
        }
    if (folder)
        closedir(folder);
    qsort(*names, (size_t)count, sizeof(char *), by_name);
    return count;
}

int main(int argc, char **argv)
{
    const char *top = getenv("SRCDIR");
    char root[4096], folder[8192], path[16384], **passes, **names;
    snprintf(root, sizeof root, "%s/tests/passes", top ? top : ".");
    int count = list(root, &passes);
    for (int p = 0; p < count; p++) {
        int changing = 0, keeping = 0;
        if (strchr(passes[p], '.') || (argc > 1 && strcmp(argv[1], passes[p]) != 0))
            continue;
        snprintf(folder, sizeof folder, "%s/%s", root, passes[p]);
        int inside = list(folder, &names);
        for (int i = 0; i < inside; i++) {
            bool unchanged;
            size_t length = strlen(names[i]);
            if (length < 5 || strcmp(names[i] + length - 4, ".tir") != 0)
                continue;
            snprintf(path, sizeof path, "%s/%s", folder, names[i]);
            run_file(path, passes[p], &unchanged);
            *(unchanged ? &keeping : &changing) += 1;
            free(names[i]);
        }
        free(names);
        bool levels = pass_find(passes[p]) && pass_find(passes[p])->in != pass_find(passes[p])->out;
        if (changing < 5 || (keeping < 3 && !levels)) /* a pass between levels always changes the text */
            fail(folder, 0, "a pass needs at least 5 goldens that change and 3 that must not");
    }
    for (int p = 0; p < count; p++)
        free(passes[p]);
    free(passes);
    printf("passes: %d goldens, %d failures\n", files, failures);
    return failures != 0;
}
