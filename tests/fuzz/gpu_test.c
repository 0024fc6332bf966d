/* Random programs as PTX, run thread by thread (support/ptx.h), against the interpreter, bit for bit: what
 * targets/nvptx makes, without a GPU.  The seed chooses the target and the pipeline, as in cpu_test.
 *     gpu_test [FIRST_SEED COUNT [TARGET]] */
#include <stdlib.h>
#include <string.h>

#include "support/judge.h"

int main(int count, char **arguments)
{
    static const char *const targets[] = {"sm_80", "sm_90a", "sm_75", "sm_89"};
    uint64_t first = count > 1 ? strtoull(arguments[1], NULL, 0) : 1,
             programs = count > 2 ? strtoull(arguments[2], NULL, 0) : 150;
    int failures = 0, refused = 0;
    uint64_t seed = first;
    for (; seed < first + programs && failures < 8; seed++) {
        struct arena *arena = arena_create();
        struct buffer text = {0}, reason = {0};
        struct judge judge = {.kind = JUDGE_GPU, .raw = seed % 5 == 0, .announce = count > 4};
        judge.target = count > 3 ? arguments[3] : targets[seed % 4];
        fuzz_print_program(&text, fuzz_generate(ir_context_create(arena), arena, seed, fuzz_limits_mixed(seed)));
        fuzz_judge(&judge, text.data, text.size, &reason);
        if (reason.size && strstr(reason.data, "is not there yet")) {
            refused++;
        } else if (reason.size) {
            printf("seed %llu: %s\n", (unsigned long long)seed, reason.data);
            fflush(stdout);
            failures++;
        }
        buffer_free(&text);
        buffer_free(&reason);
        arena_destroy(arena);
    }
    printf("{\"tool\": \"gpu_test\", \"first\": %llu, \"programs\": %llu, \"failures\": %d, \"refused\": %d}\n",
           (unsigned long long)first, (unsigned long long)(seed - first), failures, refused);
    return failures != 0;
}
