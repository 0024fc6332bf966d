/* See text.h: what a random source's instances must agree with. */
#include <string.h>

#include "differential.h"
#include "meaning.h"
#include "text.h"

static bool report(struct buffer *out, uint64_t seed, const char *what, const struct buffer *text)
{
    buffer_printf(out, "seed %llu: %s\n", (unsigned long long)seed, what);
    if (text)
        buffer_append(out, text->data, text->size);
    return false;
}

static void judge_here(const struct judge *judge, const struct buffer *text, struct buffer *reason)
{
    struct arena *arena = arena_create();
    struct source source = {.name = "program", .text = text->data, .size = text->size};
    struct fuzz_program *program = fuzz_read_program(ir_context_create(arena), arena, diagnostics_create(arena),
                                                     &source);
    int64_t runs = 0;
    if (program)
        fuzz_judge_passes(judge, program, &runs, reason);
    else
        buffer_puts(reason, "program: the printed text cannot be read");
    arena_destroy(arena);
}

/* One way through the passes and, every third time, the processor. */
static bool judge_instance(uint64_t seed, int number, struct fuzz_program *program, bool alone,
                           struct fuzz_text_counts *counts, struct buffer *out)
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
    if (alone)
        fuzz_judge(&judge, text.data, text.size, &reason);
    else
        judge_here(&judge, &text, &reason);
    if (reason.size && strstr(reason.data, "a sum depends on its order"))
        counts->unsound++;
    else if (reason.size)
        good = report(out, seed, reason.data, &text);
    buffer_free(&text);
    buffer_free(&reason);
    arena_destroy(arena);
    return good;
}

/* What the first instance of an entry gives, the others must give. */
static bool instances_agree(uint64_t seed, const struct text_programs *all, struct buffer *out)
{
    struct fuzz_memory *first = NULL;
    bool good = true;
    char what[240];
    for (int i = 0; i < all->programs.count && good; i++) {
        struct fuzz_program *program = all->programs.data[i];
        struct fuzz_memory *memory = fuzz_memory_create(program);
        struct interp_problem problem;
        good = fuzz_interpret(program, program->function, memory, false, &problem) ||
               report(out, seed, problem.text, NULL);
        bool fresh = i == 0 || all->entries.data[i] != all->entries.data[i - 1];
        if (good && !fresh && !fuzz_same(program, first, memory, what, sizeof what))
            good = report(out, seed, "two instances of an entry differ", NULL);
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

void fuzz_make_text(struct buffer *out, uint64_t seed)
{
    if (seed % 3) {
        fuzz_generate_text(out, seed);
        return;
    }
    struct arena *arena = arena_create();
    struct meaning *m = ARENA_NEW(arena, struct meaning);
    meaning_make(m, arena, seed, true);
    meaning_print(m, out);
    arena_destroy(arena);
}

bool fuzz_check_text(uint64_t seed, bool alone, struct fuzz_text_counts *counts, struct buffer *out)
{
    struct arena *arena = arena_create();
    struct buffer text = {0}, problem = {0};
    struct text_programs all = {0};
    fuzz_make_text(&text, seed);
    bool good = fuzz_text_programs(text.data, text.size, seed, ir_context_create(arena), arena, &all, &problem) ||
                report(out, seed, problem.data, &text);
    for (int i = 0; i < all.programs.count && good; i++)
        good = judge_instance(seed, i + (int)(seed % 3), all.programs.data[i], alone, counts, out);
    if (good && !(good = instances_agree(seed, &all, out)))
        report(out, seed, "the source:", &text);
    counts->programs++;
    counts->instances += all.programs.count;
    buffer_free(&text);
    buffer_free(&problem);
    arena_destroy(arena);
    return good;
}
