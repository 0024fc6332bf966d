/* Random programs of a few variables that are assigned again and again (support/generate_variables.h): as machine code
 * of this processor, through the pipelines of GPUs with the interpreter behind each pass, and as PTX.
 *     variables_test [FIRST_SEED COUNT [cpu|passes|gpu|text]] */
#include <stdlib.h>
#include <string.h>

#include "support/differential.h"
#include "support/generate_variables.h"
#include "targets/nvptx/assemble/assemble.h"
#include "targets/target.h"

static const char *const targets[] = {"sm_80", "sm_90a", "sm_75", "sm_120a"};

/* Text for a GPU in which a tile lies in local memory is refused. */
static bool check(uint64_t seed, enum judge_kind kind, const struct buffer *text)
{
    struct arena *arena = arena_create();
    struct buffer reason = {0};
    struct judge judge = {.kind = kind, .isa = (int)(seed % (uint64_t)fuzz_cpu_levels())};
    judge.raw = kind != JUDGE_PASSES && seed % 8 >= 6;
    if (kind != JUDGE_CPU)
        judge.target = targets[seed % 4];
    else
        judge.code_level = 1; /* LLVM's passes would take nine tenths of the time, and are not what is tested */
    if (kind == JUDGE_PASSES)
        judge.passes = fuzz_pipeline_text(arena, &target_rows[target_find(judge.target)], seed % 5 ? 2 : 1);
    fuzz_judge(&judge, text->data, text->size, &reason);
    bool good = !reason.size || (kind == JUDGE_GPU && strstr(reason.data, "is not there yet"));
    if (!good)
        fuzz_tell_failure(seed, &judge, text->data, reason.data);
    buffer_free(&reason);
    arena_destroy(arena);
    return good;
}

int main(int count, char **arguments)
{
    static const char *const words[] = {[JUDGE_PASSES] = "passes", [JUDGE_CPU] = "cpu", [JUDGE_GPU] = "gpu"};
    uint64_t first = count > 1 ? strtoull(arguments[1], NULL, 0) : 1;
    uint64_t programs = count > 2 ? strtoull(arguments[2], NULL, 0) : 80;
    const char *only = count > 3 ? arguments[3] : "";
    int failures = 0;
    nvptx_begin(NULL);
    for (uint64_t seed = first; seed < first + programs && failures < 5; seed++) {
        struct buffer text = {0};
        fuzz_generate_variables(&text, seed);
        if (!strcmp(only, "text"))
            fputs(text.data, stdout);
        for (int kind = JUDGE_PASSES; kind <= JUDGE_GPU; kind++)
            if (*only ? !strcmp(only, words[kind]) : kind == JUDGE_CPU || seed % 4 == (kind == JUDGE_GPU))
                failures += !check(seed, (enum judge_kind)kind, &text);
        buffer_free(&text);
    }
    printf("{\"tool\": \"variables_test\", \"first\": %llu, \"programs\": %llu, \"failures\": %d}\n",
           (unsigned long long)first, (unsigned long long)programs, failures);
    return failures != 0;
}
