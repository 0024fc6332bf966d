/* Programs at the edges of operations (support/generate_edge.c) as PTX, run thread by thread (support/ptx.h), against
 * the interpreter, bit for bit.
 *     edge_test [KIND FIRST_SEED COUNT [print]]      KIND: chain, view, fold, product, scan */
#include <stdlib.h>
#include <string.h>

#include "support/generate_edge.h"
#include "support/judge.h"
#include "targets/nvptx/assemble/assemble.h"

static const char *const kinds[FUZZ_EDGE_COUNT] = {"chain", "view", "fold", "product", "scan"};
static const uint64_t programs[FUZZ_EDGE_COUNT] = {28, 32, 44, 42, 44};
static const char *const targets[] = {"sm_80", "sm_90a", "sm_75", "sm_89", "sm_90a"};

static bool run(enum fuzz_edge kind, uint64_t first, uint64_t count, bool print)
{
    int failures = 0, refused = 0;
    for (uint64_t seed = first; seed < first + count && failures < 8; seed++) {
        uint64_t target = kind == FUZZ_EDGE_PRODUCT ? seed : seed / 3; /* elements go with the seed, too */
        struct buffer text = {0}, reason = {0};
        struct judge judge = {.kind = JUDGE_GPU, .target = targets[target % 5], .raw = seed % 5 == 4};
        fuzz_generate_edge(&text, kind, seed);
        if (print)
            fputs(text.data, stdout);
        fuzz_judge(&judge, text.data, text.size, &reason);
        if (reason.size && strstr(reason.data, "local memory is not there yet")) {
            refused++;
        } else if (reason.size) {
            printf("%s, seed %llu: %s\n", kinds[kind], (unsigned long long)seed, reason.data);
            fflush(stdout);
            failures++;
        }
        buffer_free(&text);
        buffer_free(&reason);
    }
    printf("{\"tool\": \"edge_test %s\", \"first\": %llu, \"programs\": %llu, \"failures\": %d, "
           "\"refused\": %d}\n",
           kinds[kind], (unsigned long long)first, (unsigned long long)count, failures, refused);
    return failures == 0 && refused * 10 <= (int)count;
}

int main(int count, char **arguments)
{
    int failures = 0;
    nvptx_begin(NULL);
    for (int kind = 0; kind < FUZZ_EDGE_COUNT; kind++)
        if (count == 1)
            failures += !run((enum fuzz_edge)kind, 1, programs[kind], false);
        else if (count > 3 && strcmp(arguments[1], kinds[kind]) == 0)
            failures += !run((enum fuzz_edge)kind, strtoull(arguments[2], NULL, 0), strtoull(arguments[3], NULL, 0),
                             count > 4);
    return failures != 0;
}
