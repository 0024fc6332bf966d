/* What kernels print: the same records in the interpreter, after each pass, in code of this processor and in the text
 * for GPUs, which support/ptx.h runs.  The records stand in memory, so that what is compared are their bits.
 *     print_test [TARGET] */
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "ir/kernel.h"
#include "support/judge.h"
#include "support/text.h"
#include "targets/nvptx/assemble/assemble.h"

static const char *const values[] = {"a=4 b=1 c=200 M=16 N=32 K=200 n=3", "a=0 b=2 c=7 M=13 N=64 K=64 n=0",
                                     "a=9 b=3 c=255 M=64 N=64 K=130 n=4"};

/* Words that the program prints. */
static uint64_t printed(struct fuzz_program *program, struct arena *arena)
{
    struct fuzz_memory *memory = NULL;
    struct buffer reason = {0};
    uint64_t words = 0;
    if (fuzz_is_sound(program, arena, &memory, &reason))
        words = ((const uint64_t *)memory->arguments[program->argument_count - 1].data)[KERNEL_REPORT_USED];
    else
        printf("%s\n", reason.data);
    if (memory)
        fuzz_memory_free(memory);
    buffer_free(&reason);
    return words;
}

static int check(const struct buffer *text, const char *target, const char *given, int *programs, uint64_t *words)
{
    static const char passes[] = "inline,simplify,fold,cse,dce,licm,unroll,peel,simplify,cse,licm,dce,bounds,narrow";
    static const enum judge_kind kinds[] = {JUDGE_PASSES, JUDGE_GPU, JUDGE_CPU};
    struct arena *arena = arena_create();
    struct buffer problem = {0};
    struct text_programs made = {0};
    int failures = 0;
    bool gpu = strcmp(target, "cpu") != 0;
    struct text_request request = {text->data, text->size, 3, target, NULL, given};
    fuzz_text_instances(&request, ir_context_create(arena), arena, &made, &problem);
    if (!made.programs.count) {
        printf("print.tile: %s\n", problem.size ? problem.data : "no instance");
        failures++;
    }
    for (int i = 0; i < made.programs.count; i++)
        for (int k = 0; k < 2; k++) {
            struct judge judge = {
                .kind = kinds[!gpu && k ? 2 : k], .target = gpu ? target : NULL, .isa = -1, .passes = passes};
            struct buffer reason = {0};
            if (k == 0)
                *words += printed(made.programs.data[i], arena);
            fuzz_judge_passes(&judge, made.programs.data[i], &(int64_t){0}, &reason);
            if (reason.size) {
                printf("%s, instance %d, %s: %s\n", target, i, given, reason.data);
                failures++;
            }
            buffer_free(&reason);
            ++*programs;
        }
    buffer_free(&problem);
    arena_destroy(arena);
    return failures;
}

int main(int count, char **arguments)
{
    static const char *const targets[] = {"cpu", "sm_75", "sm_80", "sm_90a"};
    const char *folder = getenv("SRCDIR");
    struct buffer text = {0};
    char path[1000];
    int failures = 0, programs = 0;
    uint64_t words = 0;
    nvptx_begin(NULL);
    snprintf(path, sizeof path, "%s/tests/fuzz/print.tile", folder ? folder : ".");
    if (!file_read(path, 0, &text)) {
        printf("%s cannot be read\n", path);
        return 1;
    }
    for (size_t t = 0; t < sizeof targets / sizeof *targets; t++)
        for (size_t v = 0; v < sizeof values / sizeof *values; v++)
            if (count < 2 || strcmp(arguments[1], targets[t]) == 0)
                failures += check(&text, targets[t], values[v], &programs, &words);
    printf("{\"tool\": \"print_test\", \"programs\": %d, \"words\": %llu, \"failures\": %d}\n", programs,
           (unsigned long long)words, failures);
    buffer_free(&text);
    return failures != 0 || (count < 2 && words < 20000);
}
