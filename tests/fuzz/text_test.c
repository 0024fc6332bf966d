/* Random sources through the front end, the interpreter, a random pipeline and the machine code of this processor: all instances of an
 * entry that fit the same arguments must agree with each other, with every pass and with the code.
 *     text_test [FIRST_SEED COUNT [print]] */
#include <stdlib.h>
#include <string.h>

#include "support/differential.h"
#include "support/text.h"

struct counts { int64_t programs, instances, unsound, failures; };

static void report(uint64_t seed, const char *what, const struct buffer *text)
{
    printf("seed %llu: %s\n", (unsigned long long)seed, what);
    if (text)
        fwrite(text->data, 1, text->size, stdout);
    fflush(stdout);
}

/* One way through the passes and, every third time, the processor. */
static bool judge_instance(uint64_t seed, int number, struct fuzz_program *program, struct counts *counts)
{
    struct arena *arena = arena_create();
    struct buffer text = {0}, reason = {0};
    struct judge judge = {.kind = JUDGE_PASSES, .passes = "", .isa = -1};
    bool good = true;
    fuzz_print_program(&text, program);
    if (number % 3 == 0) {
        judge.kind = JUDGE_CPU;
        judge.raw = seed % 2;
    } else {
        int ways = 0;
        while (fuzz_way(arena, seed, ways, &judge))
            ways++;
        fuzz_way(arena, seed, ways - 1 - number % 2, &judge);
    }
    fuzz_judge(&judge, text.data, text.size, &reason);
    if (reason.size && strstr(reason.data, "a sum depends on its order")) {
        counts->unsound++;
    } else if (reason.size) {
        report(seed, reason.data, &text);
        good = false;
    }
    buffer_free(&text);
    buffer_free(&reason);
    arena_destroy(arena);
    return good;
}

/* What the first instance of an entry gives, the others must give. */
static bool instances_agree(uint64_t seed, const struct text_programs *all)
{
    struct fuzz_memory *first = NULL;
    bool good = true;
    char what[240];
    for (int i = 0; i < all->programs.count && good; i++) {
        struct fuzz_program *program = all->programs.data[i];
        struct fuzz_memory *memory = fuzz_memory_create(program);
        struct interp_problem problem;
        good = fuzz_interpret(program, program->function, memory, false, &problem);
        if (!good)
            report(seed, problem.text, NULL);
        bool fresh = i == 0 || all->entries.data[i] != all->entries.data[i - 1];
        if (good && !fresh && !fuzz_same(program, first, memory, what, sizeof what)) {
            report(seed, "two instances of an entry differ", NULL);
            good = false;
        }
        if (fresh) {
            if (first)
                fuzz_memory_free(first);
            first = memory;
        } else {
            fuzz_memory_free(memory);
        }
    }
    if (first)
        fuzz_memory_free(first);
    return good;
}

static bool check(uint64_t seed, struct counts *counts)
{
    struct arena *arena = arena_create();
    struct buffer text = {0}, problem = {0};
    struct text_programs all = {0};
    fuzz_generate_text(&text, seed);
    bool good = fuzz_text_programs(text.data, text.size, seed, ir_context_create(arena), arena, &all, &problem);
    if (!good)
        report(seed, problem.data, &text);
    for (int i = 0; i < all.programs.count && good; i++)
        good = judge_instance(seed, i + (int)(seed % 3), all.programs.data[i], counts);
    if (good && !(good = instances_agree(seed, &all)))
        report(seed, "the source:", &text);
    counts->programs++;
    counts->instances += all.programs.count;
    buffer_free(&text);
    buffer_free(&problem);
    arena_destroy(arena);
    return good;
}

int main(int count, char **arguments)
{
    uint64_t first = count > 1 ? strtoull(arguments[1], NULL, 0) : 1, programs = count > 2 ? strtoull(arguments[2], NULL, 0) : 30;
    struct counts counts = {0};
    for (uint64_t seed = first; seed < first + programs && counts.failures < 8; seed++) {
        if (count > 3) {
            struct buffer text = {0};
            fuzz_generate_text(&text, seed);
            fputs(text.data, stdout);
            buffer_free(&text);
        } else {
            counts.failures += !check(seed, &counts);
        }
    }
    if (count <= 3)
        printf("{\"tool\": \"text_test\", \"first\": %llu, \"programs\": %lld, \"instances\": %lld, \"unsound\": %lld, \"failures\": %lld}\n",
               (unsigned long long)first, (long long)counts.programs, (long long)counts.instances, (long long)counts.unsound,
               (long long)counts.failures);
    return counts.failures != 0 || (count <= 1 && counts.instances < counts.programs / 2);
}
