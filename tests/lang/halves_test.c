/* The kernels of tests/exec/halves.tile, whose views hold two elements of 4 bits a byte, by the interpreter, as machine
 * code of this processor and as the text for each kind of GPU: bit for bit the same.  (What they give: tests/exec.)
 *     halves_test [FILE "M=5 K=64 ..."] */
#include <stdlib.h>

#include "base/file.h"
#include "fuzz/support/judge.h"
#include "fuzz/support/text.h"
#include "targets/nvptx/assemble/assemble.h"

struct counts {
    int failures;
    int64_t runs;
};

static bool make(const struct buffer *text, const char *values, const char *target, struct arena *arena,
                 struct text_programs *all)
{
    struct buffer problem = {0};
    struct text_request request = {
        .text = text->data, .size = text->size, .seed = 1, .target = target, .values = values};
    bool good = fuzz_text_instances(&request, ir_context_create(arena), arena, all, &problem) && all->programs.count;
    if (!good)
        printf("%s\n", problem.size ? problem.data : "no program");
    buffer_free(&problem);
    return good;
}

/* One instance: what the interpreter makes of it, and the same elsewhere. */
static void check(struct fuzz_program *program, const char *target, uint64_t seed, struct counts *counts)
{
    struct judge judge = {.kind = target ? JUDGE_GPU : JUDGE_CPU, .target = target, .isa = -1, .code_level = 1};
    struct interp_problem problem;
    struct buffer reason = {0};
    for (int i = 0; i < program->argument_count; i++) {
        program->arguments[i].content = FUZZ_WILD;
        program->arguments[i].fill = seed * 32 + (uint64_t)i;
    }
    struct fuzz_memory *memory = fuzz_memory_create(program);
    if (!fuzz_interpret(program, program->function, memory, false, &problem))
        buffer_printf(&reason, "interpreter: %s", problem.text);
    else if (target)
        fuzz_judge_gpu(&judge, program, memory, &counts->runs, &reason);
    else
        fuzz_judge_cpu(&judge, program, memory, &counts->runs, &reason);
    if (reason.size) {
        printf("%s, seed %llu: %s\n", target ? target : "cpu", (unsigned long long)seed, reason.data);
        counts->failures++;
    }
    buffer_free(&reason);
    fuzz_memory_free(memory);
}

static void check_values(const struct buffer *text, const char *values, uint64_t seed, struct counts *counts)
{
    static const char *const targets[] = {NULL, "sm_80", "sm_90a", "sm_75"};
    for (size_t t = 0; t < sizeof targets / sizeof *targets; t++) {
        struct arena *arena = arena_create();
        struct text_programs all = {0};
        if (!make(text, values, targets[t], arena, &all))
            counts->failures++;
        for (int i = 0; i < all.programs.count && counts->failures < 8; i++)
            check(all.programs.data[i], targets[t], seed, counts);
        arena_destroy(arena);
    }
}

int main(int count, char **arguments)
{
    static const char *const values[] = {"M=5 K=192 L=64 from=6", "M=3 K=70 L=64 from=3", "M=2 K=2 L=64 from=-1"};
    struct buffer path = {0}, text = {0};
    struct counts counts = {0};
    buffer_printf(&path, "%s/tests/exec/halves.tile", getenv("SRCDIR"));
    if (!file_read(count > 1 ? arguments[1] : path.data, SIZE_MAX, &text)) {
        printf("cannot read %s\n", path.data);
        return 1;
    }
    nvptx_begin(NULL);
    for (size_t i = 0; i < sizeof values / sizeof *values; i++)
        check_values(&text, count > 2 ? arguments[2] : values[i], i + 1, &counts);
    buffer_free(&path);
    buffer_free(&text);
    if (counts.runs < 60)
        printf("only %lld runs\n", (long long)counts.runs);
    return counts.failures != 0 || counts.runs < 60;
}
