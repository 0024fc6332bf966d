/* A fixed slice of random programs through every way that differential.h knows.  With arguments it is the long run:
 *     differential_test FIRST_SEED COUNT        (one JSON line with the counts at the end)
 *     differential_test FIRST_SEED COUNT print  (prints the programs, checks nothing)
 *     differential_test FIRST_SEED COUNT table [LEAST]  (only generates: the table of operations and elements, as
 *                                                Markdown; fails when a possible cell stands below LEAST, 1000) */
#include <stdlib.h>
#include <string.h>

#include "support/differential.h"

static void print_program(uint64_t seed)
{
    struct arena *arena = arena_create();
    struct buffer text = {0};
    fuzz_print_program(&text, fuzz_generate(ir_context_create(arena), arena, seed, (struct fuzz_limits){0}));
    fputs(text.data, stdout);
    buffer_free(&text);
    arena_destroy(arena);
}

static void count_program(uint64_t seed, struct fuzz_table *table)
{
    struct arena *arena = arena_create();
    fuzz_table_count(table, fuzz_generate(ir_context_create(arena), arena, seed, (struct fuzz_limits){0}));
    arena_destroy(arena);
}

int main(int count, char **arguments)
{
    uint64_t first = count > 1 ? strtoull(arguments[1], NULL, 0) : 1,
             programs = count > 2 ? strtoull(arguments[2], NULL, 0) : 60;
    struct arena *arena = arena_create();
    struct fuzz_counts counts = {.table = fuzz_table_create(arena)};
    const char *mode = count > 3 ? arguments[3] : "";
    int64_t least = count > 4 ? strtoll(arguments[4], NULL, 0) : 1000;
    int failures = 0;
    for (uint64_t seed = first; seed < first + programs && failures < 5; seed++) {
        struct buffer report = {0};
        if (!strcmp(mode, "print")) {
            print_program(seed);
        } else if (!strcmp(mode, "table")) {
            count_program(seed, counts.table);
        } else if (!fuzz_check_seed(seed, (struct fuzz_limits){0}, &counts, &report)) {
            fputs(report.data, stdout);
            fflush(stdout);
            failures++;
        }
        buffer_free(&report);
    }
    if (!strcmp(mode, "table")) {
        fuzz_table_print(counts.table, least, stdout);
        failures = fuzz_table_missing(counts.table, least, stderr);
    } else if (strcmp(mode, "print") != 0) {
        printf("{\"tool\": \"differential_test\", \"first\": %llu, \"programs\": %lld, \"runs\": %lld, \"failures\": "
               "%d}\n",
               (unsigned long long)first, (long long)counts.programs, (long long)counts.runs, failures);
        if (count <= 1) /* even a short run meets nothing that the search says cannot be */
            fuzz_table_missing(counts.table, 0, NULL);
    }
    arena_destroy(arena);
    return failures != 0;
}
