/* What passes of the Value level make of kernels of integers (support/generate_facts.c: loops that count in every
 * element, branches, casts, numbers at the ends of their ranges): the interpreter behind a pass alone, and behind all
 * in the order of the pipeline.
 *     value_test FIRST_SEED COUNT
 *     value_test FIRST_SEED print        prints a kernel */
#include <stdlib.h>
#include <string.h>

#include "passes/run.h"
#include "support/facts.h"

enum { RUNS = 3, KERNELS = 300, NUMBERS = FACTS_PROGRAMS * FACTS_RESULTS * 64, MOST_STEPS = 20000 };

static int failures, unsound;
static int64_t wanted[RUNS][NUMBERS], got[NUMBERS];

static bool run_kernel(const struct ir_function *function, uint64_t seed, int run, int64_t *results,
                       struct interp_problem *problem)
{
    static int32_t content[12 * FACTS_MOST_EXTENT];
    struct interp_argument arguments[FACTS_ARGUMENTS + 1];
    struct interp_options options = {.step_limit = MOST_STEPS * (results == got ? 8 : 1)}; /* passes may add some */
    facts_arguments(seed, run, arguments, options.grid);
    for (int i = 0; i < 12 * FACTS_MOST_EXTENT; i++)
        content[i] = i * 7 % 23 - 9;
    arguments[FACTS_ARGUMENTS - 2].data = arguments[FACTS_ARGUMENTS - 1].data = content;
    arguments[FACTS_ARGUMENTS] = (struct interp_argument){
        .data = results, .extent = {FACTS_PROGRAMS * FACTS_RESULTS, 8, 8}, .stride = {64, 8, 1}};
    struct interp_memory memories[2] = {{content, sizeof content, NULL, true, "content"},
                                        {results, sizeof got, NULL, false, "results"}};
    options.memory_count = 2;
    options.memories = memories;
    memset(results, 0, sizeof got);
    return interp_run(function, FACTS_ARGUMENTS + 1, arguments, &options, NULL, problem);
}

static void report(uint64_t seed, const char *passes, const char *what)
{
    if (failures++ < 5)
        printf("seed %llu, behind %s: %s\n", (unsigned long long)seed, passes, what);
}

/* The function anew, the passes, and every run once more. */
static void check_passes(uint64_t seed, const struct buffer *text, const char *list)
{
    struct arena *arena = arena_create();
    struct ir_function *function = facts_read(arena, text);
    struct interp_problem problem;
    struct pass_context context = {.arena = arena, .diagnostics = diagnostics_create(arena)};
    struct pass_run passes = {0};
    const char *unknown;
    if (!pass_parse_list(arena, list, (const struct pass_info *const **)&passes.passes, &passes.count, &unknown))
        die("no pass is called %s", unknown);
    if (!pass_run_all(&passes, function, &context)) {
        diag_print(context.diagnostics, stdout, false);
        report(seed, list, "the IR is broken");
    }
    for (int run = 0; run < RUNS && !failures; run++) {
        if (!run_kernel(function, seed, run, got, &problem))
            report(seed, list, problem.text);
        else if (memcmp(wanted[run], got, sizeof got) != 0)
            report(seed, list, "another result");
    }
    arena_destroy(arena);
}

static void check(uint64_t seed)
{
    static const char *const alone[] = {"narrow", "count_loops", "unroll", "decide", "peel",
                                        "licm",   "simplify",    "cse",    "dce"};
    struct arena *arena = arena_create();
    struct buffer text = {0};
    struct interp_problem problem;
    facts_generate(&text, seed, true);
    struct ir_function *function = facts_read(arena, &text);
    bool sound = function;
    for (int run = 0; run < RUNS && sound; run++)
        sound = run_kernel(function, seed, run, wanted[run], &problem);
    if (!function)
        report(seed, "nothing", "no kernel");
    else if (!sound) /* a loop that steps over its end, say */
        unsound++;
    if (sound) {
        check_passes(seed, &text, alone[seed % (sizeof alone / sizeof *alone)]);
        check_passes(seed, &text, "count_loops,narrow");
        check_passes(seed, &text,
                     "simplify,cse,dce,count_loops,licm,unroll,decide,simplify,cse,dce,peel,simplify,cse,dce,"
                     "licm,bounds,narrow,simplify,cse,dce");
    }
    buffer_free(&text);
    arena_destroy(arena);
}

int main(int count, char **arguments)
{
    uint64_t first = count > 1 ? strtoull(arguments[1], NULL, 0) : 1;
    if (count > 2 && !strcmp(arguments[2], "print")) {
        struct buffer text = {0};
        facts_generate(&text, first, true);
        fputs(text.data, stdout);
        buffer_free(&text);
        return 0;
    }
    uint64_t kernels = count > 2 ? strtoull(arguments[2], NULL, 0) : KERNELS;
    for (uint64_t seed = first; seed < first + kernels && !failures; seed++)
        check(seed);
    printf("{\"tool\": \"value_test\", \"first\": %llu, \"programs\": %llu, \"unsound\": %d, \"failures\": %d}\n",
           (unsigned long long)first, (unsigned long long)kernels, unsound, failures);
    return failures != 0 || (uint64_t)unsound > kernels / 4;
}
