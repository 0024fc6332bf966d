/* Random programs as machine code of this processor, at every instruction set that it has, against the interpreter,
 * bit for bit; with an even seed behind the pipeline of -O2, with an odd one behind that of -O0.  Beside each two
 * tables of what can be done with one element.  Each program runs in a process of its own, so that a crash is one
 * failure.
 *     cpu_test [FIRST_SEED COUNT [ISA]] */
#include <stdlib.h>
#include <string.h>

#include "support/generate_table.h"
#include "support/judge.h"

int main(int count, char **arguments)
{
    uint64_t first = count > 1 ? strtoull(arguments[1], NULL, 0) : 1,
             programs = count > 2 ? strtoull(arguments[2], NULL, 0) : 24;
    int failures = 0, refused = 0;
    uint64_t seed = first;
    for (; seed < first + programs && failures < 8; seed++) {
        struct arena *arena = arena_create();
        struct buffer text = {0}, reason = {0};
        struct judge judge = {.kind = JUDGE_CPU, .isa = count > 3 ? atoi(arguments[3]) : -1, .raw = seed % 2};
        fuzz_print_program(&text, fuzz_generate(ir_context_create(arena), arena, seed, (struct fuzz_limits){0}));
        fuzz_judge(&judge, text.data, text.size, &reason);
        for (int i = 0; i < 2 && !reason.size; i++) { /* and two tables of one element, at one instruction set each */
            text.size = 0;
            fuzz_generate_table(&text, 2 * seed + (uint64_t)i);
            judge.isa = count > 3 ? judge.isa : (int)(seed % (uint64_t)fuzz_cpu_levels());
            judge.raw = false;
            fuzz_judge(&judge, text.data, text.size, &reason);
        }
        if (reason.size && strstr(reason.data, "is not there yet")) {
            refused++;
            if (count > 4)
                printf("seed %llu: %s\n", (unsigned long long)seed, reason.data);
        } else if (reason.size) {
            printf("seed %llu: %s\n", (unsigned long long)seed, reason.data);
            fflush(stdout);
            failures++;
        }
        buffer_free(&text);
        buffer_free(&reason);
        arena_destroy(arena);
    }
    printf("{\"tool\": \"cpu_test\", \"first\": %llu, \"programs\": %llu, \"runs\": %d, \"failures\": %d, \"refused\": "
           "%d}\n",
           (unsigned long long)first, (unsigned long long)(seed - first), fuzz_cpu_levels() * (int)(seed - first),
           failures, refused);
    return failures != 0;
}
