/* What analyses say of values, against the values: random kernels of integers (support/generate_facts.c) and the
 * general random programs, several runs of each.  The kernels read views near their ends: the interpreter checks what
 * the pass bounds says of these.  Without arguments also how much is said is compared with facts.csv,
 * where a rule that knows less shows, or one that knows more.
 *     facts_test FIRST_SEED COUNT
 *     facts_test table              prints what facts.csv should be */
#include <stdlib.h>
#include <string.h>

#include "passes/run.h"
#include "support/facts.h"
#include "support/generate.h"

enum { RUNS = 8, KERNELS = 400, GENERAL = 60 };

static int failures;

static void report(uint64_t seed, const char *what, const char *text)
{
    failures++;
    printf("seed %llu: %s\n%s\n", (unsigned long long)seed, what, text ? text : "");
}

/* NULL: all is well.  Without facts the values are not looked at. */
static const char *run_kernel(struct arena *arena, const struct ir_function *function, uint64_t seed, int run,
                              struct facts *facts)
{
    static const int32_t content[12 * FACTS_MOST_EXTENT];
    struct interp_argument arguments[FACTS_ARGUMENTS];
    struct interp_options options = {.step_limit = 1000000};
    struct interp_problem problem;
    facts_arguments(seed, run, arguments, options.grid);
    arguments[FACTS_ARGUMENTS - 2].data = arguments[FACTS_ARGUMENTS - 1].data = (void *)content;
    struct interp_memory memory = {(void *)content, sizeof content, NULL, true, "content"};
    options.memory_count = 1;
    options.memories = &memory;
    if (facts)
        facts_watch(facts, &options);
    if (!interp_run(function, FACTS_ARGUMENTS, arguments, &options, NULL, &problem))
        return arena_string(arena, problem.text);
    return facts ? facts_wrong(facts) : NULL;
}

/* What lies inside its view; of every second kernel before its accesses reach the views behind, too. */
static bool mark_inside(struct arena *arena, struct ir_function *function, uint64_t seed)
{
    const struct pass_info *passes[] = {pass_find("bounds"), pass_find("direct_views")};
    struct pass_run run = {.passes = passes, .count = 1 + (int)(seed % 2)};
    struct pass_context context = {.arena = arena_create(), .diagnostics = diagnostics_create(arena)};
    bool good = pass_run_all(&run, function, &context);
    arena_destroy(context.arena);
    return good;
}

static void check_kernel(uint64_t seed, struct fact_table *table)
{
    struct arena *arena = arena_create();
    struct buffer text = {0};
    facts_generate(&text, seed, false);
    struct ir_function *function = facts_read(arena, &text);
    struct facts *facts = function ? facts_create(arena, function) : NULL;
    if (!function)
        report(seed, "no kernel", text.data);
    else
        facts_count(table, function);
    for (int run = 0; function && run < RUNS; run++) {
        const char *wrong = run_kernel(arena, function, seed, run, facts);
        if (wrong) {
            report(seed, wrong, text.data);
            break;
        }
    }
    bool proven = function && mark_inside(arena, function, seed);
    if (proven)
        facts_count_inside(table, function);
    for (int run = 0; proven && run < RUNS; run++) {
        const char *wrong = run_kernel(arena, function, seed, run, NULL);
        if (wrong) {
            report(seed, arena_printf(arena, "behind bounds: %s", wrong), text.data);
            break;
        }
    }
    buffer_free(&text);
    arena_destroy(arena);
}

static void check_program(uint64_t seed)
{
    struct arena *arena = arena_create();
    struct fuzz_program *program = fuzz_generate(ir_context_create(arena), arena, seed, fuzz_limits_mixed(seed));
    struct facts *facts = facts_create(arena, program->function);
    struct fuzz_memory *memory = fuzz_memory_create(program);
    struct interp_problem problem;
    struct interp_options options = {
        .memory_count = memory->count, .memories = memory->memories, .step_limit = 40000000, .seed = seed};
    memcpy(options.grid, program->grid, sizeof options.grid);
    facts_watch(facts, &options);
    bool good = interp_run(program->function, program->argument_count, memory->arguments, &options, NULL, &problem);
    if (facts_wrong(facts) || !good)
        report(seed, good ? facts_wrong(facts) : problem.text, "of the general programs");
    fuzz_memory_free(memory);
    arena_destroy(arena);
}

/* Whether the table is that of facts.csv. */
static void compare(const struct fact_table *table)
{
    char path[4096], wanted[4096], *now;
    size_t size;
    const char *top = getenv("SRCDIR");
    snprintf(path, sizeof path, "%s/tests/fuzz/facts.csv", top ? top : ".");
    FILE *file = fopen(path, "r"), *made = open_memstream(&now, &size);
    if (!file || !made)
        die("cannot open %s", path);
    facts_print(table, made);
    fclose(made);
    const char *line = now;
    for (int number = 1; fgets(wanted, sizeof wanted, file) || *line; number++) {
        size_t length = strcspn(line, "\n");
        if (strncmp(line, wanted, length + 1) != 0) {
            failures++;
            printf("line %d of facts.csv: %snow it is %.*s\n", number, wanted, (int)length, line);
        }
        line += length + (line[length] == '\n');
        wanted[0] = '\0';
    }
    fclose(file);
    free(now);
}

int main(int count, char **arguments)
{
    bool prints = count == 2 && !strcmp(arguments[1], "table"), slice = count < 3;
    uint64_t first = slice ? 1 : strtoull(arguments[1], NULL, 0);
    uint64_t kernels = slice ? KERNELS : strtoull(arguments[2], NULL, 0);
    struct fact_table table = {0};
    for (uint64_t seed = first; seed < first + kernels && failures < 5; seed++)
        check_kernel(seed, &table);
    for (uint64_t seed = first; seed < first + (slice ? GENERAL : kernels / 4) && failures < 5 && !prints; seed++)
        check_program(seed);
    if (prints)
        facts_print(&table, stdout);
    else if (slice && !failures)
        compare(&table);
    if (!prints)
        printf("{\"tool\": \"facts_test\", \"first\": %llu, \"programs\": %llu, \"failures\": %d}\n",
               (unsigned long long)first, (unsigned long long)kernels, failures);
    return failures != 0;
}
