/* Random kernels that touch the same elements again and again (support/generate_touch.c): through the pipelines of
 * GPUs, the interpreter behind each pass, and as PTX, run thread by thread.  Both judges know which threads touch a
 * byte of a view without a barrier between.  `text` prints the programs and judges nothing.
 *     touch_test [FIRST_SEED COUNT [passes|gpu|text]] */
#include <stdlib.h>
#include <string.h>

#include "support/differential.h"
#include "support/generate_touch.h"
#include "targets/nvptx/assemble/assemble.h"
#include "targets/target.h"

static const char *const targets[] = {"sm_80", "sm_90a", "sm_75", "sm_89"};

/* No text is refused: every access of these programs has a form that the reader knows. */
static bool check(uint64_t seed, enum judge_kind kind, const char *text, size_t size)
{
    struct arena *arena = arena_create();
    struct buffer reason = {0};
    struct judge judge = {.kind = kind, .isa = -1, .target = targets[seed % 4]};
    judge.raw = kind == JUDGE_GPU && seed % 10 == 9;
    if (kind == JUDGE_PASSES)
        judge.passes = fuzz_pipeline_text(arena, &target_rows[target_find(judge.target)], seed % 5 ? 2 : 1);
    fuzz_judge(&judge, text, size, &reason);
    bool good = !reason.size;
    if (!good)
        fuzz_tell_failure(seed, &judge, text, reason.data);
    buffer_free(&reason);
    arena_destroy(arena);
    return good;
}

int main(int count, char **arguments)
{
    uint64_t first = count > 1 ? strtoull(arguments[1], NULL, 0) : 1;
    uint64_t programs = count > 2 ? strtoull(arguments[2], NULL, 0) : 60;
    const char *only = count > 3 ? arguments[3] : "";
    int failures = 0;
    nvptx_begin(NULL);
    for (uint64_t seed = first; seed < first + programs && failures < 5; seed++) {
        struct buffer text = {0};
        fuzz_generate_touch(&text, seed);
        if (!strcmp(only, "text"))
            fputs(text.data, stdout);
        if (!*only || !strcmp(only, "passes"))
            failures += !check(seed, JUDGE_PASSES, text.data, text.size);
        if (!*only || !strcmp(only, "gpu"))
            failures += !check(seed, JUDGE_GPU, text.data, text.size);
        buffer_free(&text);
    }
    printf("{\"tool\": \"touch_test\", \"first\": %llu, \"programs\": %llu, \"failures\": %d}\n",
           (unsigned long long)first, (unsigned long long)programs, failures);
    return failures != 0;
}
