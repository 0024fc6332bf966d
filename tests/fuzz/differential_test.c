/* A fixed slice of random programs through every Value-level pass.  With arguments it is the long run:
 *     differential_test FIRST_SEED COUNT        (prints the table of operations and element types at the end)
 *     differential_test FIRST_SEED COUNT print  (prints the programs, checks nothing) */
#include <stdlib.h>
#include <string.h>

#include "ir/text.h"
#include "support/differential.h"

static void print_program(uint64_t seed)
{
    struct arena *arena = arena_create();
    struct fuzz_program *program = fuzz_generate(ir_context_create(arena), arena, seed, (struct fuzz_limits){ 0 });
    struct buffer text = { 0 };
    ir_print_module(&text, program->module, false);
    fputs(text.data, stdout);
    buffer_free(&text);
    arena_destroy(arena);
}

int main(int count, char **arguments)
{
    uint64_t first = count > 1 ? strtoull(arguments[1], NULL, 0) : 1, programs = count > 2 ? strtoull(arguments[2], NULL, 0) : 400;
    static struct fuzz_counts counts;
    int failures = 0;
    for (uint64_t seed = first; seed < first + programs && failures < 5; seed++) {
        struct buffer report = { 0 };
        if (count > 3 && !strcmp(arguments[3], "print")) {
            print_program(seed);
        } else if (!fuzz_check_seed(seed, (struct fuzz_limits){ 0 }, &counts, &report)) {
            fputs(report.data, stdout);
            failures++;
        }
        buffer_free(&report);
    }
    if (count > 1)
        fuzz_print_counts(&counts, 0, stdout);
    printf("%lld programs, %lld runs, %d failures\n", (long long)counts.programs, (long long)counts.runs, failures);
    return failures != 0;
}
