/* No mistake in the synchronisation of a kernel goes unseen.  The compiler's last IR of kernels that use all the
 * machine
 * has is changed at one operation at a time (support/mutate.h); the verifier, check_machine or the interpreter has
 * to say
 * so, or the change must be one of those that cannot matter (support/harmless.c says which and why).
 *     mutants_test             those of the kernels marked so
 *     mutants_test all         those of all kernels
 *     mutants_test NAME SEEDS  those of the kernels whose name holds NAME, each with who found it; in how many
 * orders of
 *                              roles and arrivals the interpreter runs them, 9 unless it is said
 * Prints found / (all - harmless) for each kernel. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "interp/interp.h"
#include "ir/text.h"
#include "ir/verify/verify.h"
#include "passes/run.h"
#include "support/mutate.h"
#include "targets/target.h"

enum { MOST_ARGUMENTS = 16, MOST_TEXT = 1 << 20, SEEDS = 9, SEEDS_OF_HARMLESS = 2 };

/* Arguments: extents with x between; =number of a scalar; - of a view that is not there. */
struct kernel {
    const char *name, *source, *target, *spec, *arguments;
    int64_t grid[3];
    bool always;
};
#include "mutants_kernels.h"

struct memory {
    struct interp_memory memory;
    unsigned char *before, *want;
    enum ir_element element;
};
struct setting {
    const struct kernel *kernel;
    const struct target_row *target;
    const char *text; /* of the function */
    int argument_count, memory_count;
    struct interp_argument arguments[MOST_ARGUMENTS];
    struct memory memories[MOST_ARGUMENTS];
};
enum finder {
    FINDER_VERIFIER,
    FINDER_CHECKER,
    FINDER_INTERPRETER,
    FINDER_RESULT,
    FINDER_HARMLESS,
    FINDER_NOBODY,
    FINDER_COUNT
};
static const char *const finder_text[] = {"verifier", "checker", "interpreter", "results", "harmless", "nobody"};
struct score {
    int count[FINDER_COUNT], of_kind[MUTATION_KIND_COUNT][FINDER_COUNT];
};

/* ---- the kernel's last IR ---- */

/* The lines of the first kernel that is printed behind check_machine. */
static char *kernel_text(const struct kernel *kernel)
{
    char command[1000];
    char *text = calloc(MOST_TEXT, 1);
    size_t size = 0;
    bool inside = false;
    snprintf(command, sizeof command,
             "\"$TILECC\" -arch=%s --spec='%s' --print-after=check_machine --emit=header -o /dev/null "
             "\"$SRCDIR/%s\" 2>&1",
             kernel->target, kernel->spec, kernel->source);
    FILE *pipe = popen(command, "r");
    static const char begin[] = "kernel @";
    for (char *line = NULL; pipe && text;) {
        size_t capacity = 0;
        ssize_t length = getline(&line, &capacity, pipe);
        bool ends = length > 0 && line[0] == '}';
        inside |= length > 0 && strncmp(line, begin, strlen(begin)) == 0 && size == 0;
        if (length > 0 && inside && size + (size_t)length < MOST_TEXT) {
            memcpy(text + size, line, (size_t)length);
            size += (size_t)length;
        }
        inside &= !ends;
        free(line);
        line = NULL;
        if (length < 0)
            break;
    }
    if (pipe)
        pclose(pipe);
    return text;
}

static struct ir_function *parse(const struct setting *setting, struct arena *arena, struct diagnostics *diagnostics)
{
    struct source *source = ARENA_NEW(arena, struct source);
    *source = (struct source){setting->kernel->name, setting->text, strlen(setting->text), NULL};
    struct ir_module *module = ir_parse_module(ir_context_create(arena), arena, diagnostics, source);
    return module ? module->first : NULL;
}

/* ---- arguments ---- */

static void fill(struct memory *memory, int64_t elements)
{
    size_t size = (size_t)ir_element_info[memory->element].bits / 8;
    for (int64_t i = 0; i < elements; i++) {
        uint64_t bits = ir_int_to_bits(memory->element, (i * 7 + 3) % 11 - 5);
        memcpy(memory->before + (size_t)i * size, &bits, size);
    }
}

static void make_view(struct setting *setting, const struct ir_type *type, const char *word,
                      struct interp_argument *argument)
{
    struct memory *memory = &setting->memories[setting->memory_count++];
    int64_t elements = 1;
    for (int d = 0; d < type->rank; d++) {
        argument->extent[d] = strtoll(word, (char **)&word, 10);
        word += *word == 'x';
        elements *= argument->extent[d];
    }
    /* what the type says is contiguous is; the others follow from the last to the first */
    int64_t stride = 1;
    for (int d = 0; d < type->rank; d++)
        if (type->stride[d] == 1)
            argument->stride[d] = 1, stride = argument->extent[d];
    for (int d = type->rank - 1; d >= 0; d--)
        if (type->stride[d] != 1) {
            argument->stride[d] = stride;
            stride *= argument->extent[d];
        }
    memory->element = type->element;
    size_t size = (size_t)elements * (size_t)ir_element_info[type->element].bits / 8;
    unsigned char *data = aligned_alloc(64, (size + 64) / 64 * 64);
    memory->before = malloc(size + 1);
    memory->want = malloc(size + 1);
    fill(memory, elements);
    memory->memory = (struct interp_memory){
        .data = data, .size = size, .read_only = !type->writable, .name = "argument"};
    memory->memory.written = type->readable ? NULL : malloc(size + 1);
    argument->data = data;
}

static void make_arguments(struct setting *setting, const struct ir_function *function)
{
    char words[400], *rest = words;
    snprintf(words, sizeof words, "%s", setting->kernel->arguments);
    for (int i = 0; i < function->body->arguments.count; i++) {
        const struct ir_type *type = function->body->arguments.data[i]->type;
        const char *word = strtok_r(i ? NULL : words, " ", &rest);
        struct interp_argument *argument = &setting->arguments[setting->argument_count++];
        if (!word)
            die("%s has more arguments than its line says", setting->kernel->name);
        if (word[0] == '=')
            argument->bits = ir_double_to_bits(type->element, strtod(word + 1, NULL));
        else if (word[0] != '-')
            make_view(setting, type, word, argument);
    }
}

static void free_arguments(struct setting *setting)
{
    for (int i = 0; i < setting->memory_count; i++) {
        struct memory *memory = &setting->memories[i];
        free(memory->memory.data);
        free(memory->memory.written);
        free(memory->before);
        free(memory->want);
    }
}

/* ---- who finds it ---- */

/* first: the results are what is wanted from now on. */
static enum finder interpret(struct setting *setting, const struct ir_function *function, bool first, int seeds,
                             char *said, size_t size)
{
    static const int64_t blocks[] = {2, 1, 3};
    struct interp_memory memories[MOST_ARGUMENTS];
    for (int seed = 0; seed < seeds; seed++) {
        struct interp_options options = {.memory_count = setting->memory_count,
                                         .memories = memories,
                                         .seed = (uint64_t)seed,
                                         .ordered = true,
                                         .step_limit = 400000,
                                         .blocks = blocks[(seed + seed / 3) % 3]};
        struct interp_problem problem;
        memcpy(options.grid, setting->kernel->grid, sizeof setting->kernel->grid);
        for (int i = 0; i < setting->memory_count; i++) {
            memories[i] = setting->memories[i].memory;
            memcpy(memories[i].data, setting->memories[i].before, memories[i].size);
            if (memories[i].written)
                memset(memories[i].written, 0, memories[i].size);
        }
        if (!interp_run(function, setting->argument_count, setting->arguments, &options, NULL, &problem)) {
            snprintf(said, size, "%s", problem.text);
            return FINDER_INTERPRETER;
        }
        for (int i = 0; i < setting->memory_count; i++) {
            struct memory *memory = &setting->memories[i];
            if (first && seed == 0)
                memcpy(memory->want, memories[i].data, memories[i].size);
            if (memcmp(memory->want, memories[i].data, memories[i].size)) {
                snprintf(said, size, "other results");
                return FINDER_RESULT;
            }
        }
    }
    return FINDER_NOBODY;
}

static enum finder judge(struct setting *setting, struct ir_function *function, struct diagnostics *diagnostics,
                         bool first, int seeds, char *said, size_t size)
{
    struct arena *arena = arena_create();
    struct pass_context context = {.arena = arena, .diagnostics = diagnostics, .target = setting->target};
    enum finder finder = FINDER_NOBODY;
    if (!ir_verify_module(function->module, diagnostics)) {
        finder = FINDER_VERIFIER;
    } else {
        pass_find("check_machine")->run(function, &context);
        if (diagnostics->errors)
            finder = FINDER_CHECKER;
    }
    if (finder != FINDER_NOBODY)
        snprintf(said, size, "%s", diagnostics->first->text);
    else
        finder = interpret(setting, function, first, seeds, said, size);
    arena_destroy(arena);
    return finder;
}

/* ---- one kernel ---- */

/* The text behind simplify and dce. */
static const char *simplified(const struct setting *setting, const struct mutation *mutation, struct arena *arena)
{
    struct diagnostics *diagnostics = diagnostics_create(arena);
    struct pass_context context = {.arena = arena, .diagnostics = diagnostics, .target = setting->target};
    struct ir_function *function = parse(setting, arena, diagnostics);
    struct buffer text = {0};
    if (mutation)
        mutation_apply(function, mutation);
    for (int i = 0; i < 2; i++) {
        pass_find("simplify")->run(function, &context);
        pass_find("cse")->run(function, &context);
        pass_find("dce")->run(function, &context);
    }
    ir_print_function(&text, function, false);
    const char *copy = arena_string(arena, text.data);
    buffer_free(&text);
    return copy;
}

static const char *why_harmless(const struct setting *setting, struct ir_function *function,
                                const struct mutation *mutation, struct arena *arena)
{
    struct ir_function *changed = parse(setting, arena, diagnostics_create(arena));
    mutation_apply(changed, mutation);
    const char *reason = mutation_harmless(function, changed, mutation);
    if (!reason && strcmp(simplified(setting, NULL, arena), simplified(setting, mutation, arena)) == 0)
        reason = "simplify makes the same of both";
    return reason;
}

/* Those that a rule calls harmless are interpreted, too, but where time is short. */
static void try_mutation(struct setting *setting, const struct mutation *mutation, bool tell, bool hurry, int seeds,
                         struct score *score)
{
    struct arena *arena = arena_create();
    struct diagnostics *diagnostics = diagnostics_create(arena);
    struct ir_function *function = parse(setting, arena, diagnostics);
    struct buffer line = {0};
    char said[500] = "";
    ir_print_operation(&line, mutation_operation(function, mutation->operation));
    int at = mutation_operation(function, mutation->operation)->at.line;
    mutation_apply(function, mutation);
    enum finder finder = judge(setting, function, diagnostics, false, 0, said, sizeof said);
    if (finder == FINDER_NOBODY) {
        const char *harmless = why_harmless(setting, parse(setting, arena, diagnostics), mutation, arena);
        int runs = !harmless ? seeds : hurry ? 0 : SEEDS_OF_HARMLESS;
        finder = interpret(setting, function, false, runs, said, sizeof said);
        if (finder == FINDER_NOBODY && harmless) {
            finder = FINDER_HARMLESS;
            snprintf(said, sizeof said, "%s", harmless);
        }
    }
    score->count[finder]++;
    score->of_kind[mutation->kind][finder]++;
    if (tell || finder == FINDER_NOBODY)
        printf("%s:%d: `%.90s` %s: %s %.160s\n", setting->kernel->name, at, line.data, mutation_text[mutation->kind],
               finder_text[finder], said);
    fflush(stdout);
    buffer_free(&line);
    arena_destroy(arena);
}

static int found_of(const struct score *score)
{
    int found = 0;
    for (int f = 0; f < FINDER_HARMLESS; f++)
        found += score->count[f];
    return found;
}

/* False: something went unseen, or the kernel itself is not right. */
static bool run_kernel(const struct kernel *kernel, bool tell, bool hurry, int seeds, struct score *total)
{
    struct arena *arena = arena_create();
    struct diagnostics *diagnostics = diagnostics_create(arena);
    struct setting setting = {.kernel = kernel, .target = &target_rows[target_find(kernel->target)]};
    struct score score = {0};
    mutation_list list = {0};
    char said[500] = "", *text = kernel_text(kernel);
    clock_t begin = clock();
    setting.text = text;
    struct ir_function *function = parse(&setting, arena, diagnostics);
    bool good = function != NULL;
    if (good) {
        make_arguments(&setting, function);
        mutation_collect(arena, function, &list);
        good = judge(&setting, function, diagnostics, true, hurry ? 3 : seeds, said, sizeof said) == FINDER_NOBODY;
    }
    if (!good)
        printf("%s: %s\n", kernel->name, said[0] ? said : "no IR");
    for (int i = 0; i < list.count && good; i++)
        try_mutation(&setting, &list.data[i], tell, hurry, seeds, &score);
    int found = found_of(&score);
    printf("%-28s %4d of %4d found: %d verifier, %d checker, %d interpreter, %d results; %d harmless; %.1f s\n",
           kernel->name, found, list.count - score.count[FINDER_HARMLESS], score.count[FINDER_VERIFIER],
           score.count[FINDER_CHECKER], score.count[FINDER_INTERPRETER], score.count[FINDER_RESULT],
           score.count[FINDER_HARMLESS], (double)(clock() - begin) / CLOCKS_PER_SEC);
    fflush(stdout);
    good = good && score.count[FINDER_NOBODY] == 0 && list.count > 0;
    for (int f = 0; f < FINDER_COUNT; f++)
        total->count[f] += score.count[f];
    free_arguments(&setting);
    free(text);
    arena_destroy(arena);
    return good;
}

int main(int count, char **arguments)
{
    const char *only = count > 1 ? arguments[1] : NULL;
    int seeds = count > 2 ? atoi(arguments[2]) : SEEDS;
    bool all = only && strcmp(only, "all") == 0, good = true;
    struct score total = {0};
    if (!getenv("TILECC") || !getenv("SRCDIR")) {
        printf("TILECC and SRCDIR are not set\n");
        return 1;
    }
    for (size_t i = 0; i < sizeof kernels / sizeof *kernels; i++)
        if (all || (only ? strstr(kernels[i].name, only) != NULL : kernels[i].always))
            good &= run_kernel(&kernels[i], only && !all, !only, seeds, &total);
    int found = found_of(&total);
    printf("score %d / %d, %d harmless\n", found, found + total.count[FINDER_NOBODY], total.count[FINDER_HARMLESS]);
    return !good;
}
