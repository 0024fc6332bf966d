/* Random programs as PTX, run thread by thread (support/ptx.h), against the interpreter, bit for bit: what
 * targets/nvptx makes, without a GPU.  The seed chooses the kind of program, the target and the pipeline.
 *     gpu_test [FIRST_SEED COUNT [TARGET [print]]]
 *     gpu_test products [FIRST_SEED COUNT [TARGET [print]]]   loops over products alone, mostly by wgmma
 *     gpu_test layouts [FIRST_SEED COUNT [TARGET [print]]]    tiles in random layouts
 *     gpu_test FILE TARGET       a program in a file, such as those in findings/ */
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "support/generate_layout.h"
#include "support/generate_loop.h"
#include "support/generate_product.h"
#include "support/generate_row.h"
#include "support/generate_table.h"
#include "support/judge.h"
#include "targets/nvptx/assemble/assemble.h"

static const char *const targets[] = {"sm_80", "sm_90a", "sm_75", "sm_89"};

static struct judge choose(uint64_t seed, struct arena *arena, struct buffer *text)
{
    struct judge judge = {.kind = JUDGE_GPU, .target = targets[seed / 2 % 4], .raw = seed % 20 == 6};
    if (seed % 2) {
        fuzz_generate_table(text, seed / 2);
        judge.target = targets[seed / 2 % 4];
        return judge;
    }
    switch (seed / 2 % 8) {
    case 3:
        fuzz_generate_product(text, seed);
        judge.target = targets[seed / 16 % 4];
        break;
    case 4:
    case 5: fuzz_generate_loop(text, seed); break;
    case 6: fuzz_generate_row(text, seed); break;
    default: fuzz_print_program(text, fuzz_generate(ir_context_create(arena), arena, seed, fuzz_limits_mixed(seed)));
    }
    return judge;
}

static struct judge choose_product(uint64_t seed, struct buffer *text)
{
    struct judge judge = {.kind = JUDGE_GPU, .target = seed % 5 ? "sm_90a" : seed % 2 ? "sm_80" : "sm_75"};
    fuzz_generate_bulk_product(text, seed);
    return judge;
}

static struct judge choose_layout(uint64_t seed, struct buffer *text)
{
    struct judge judge = {.kind = JUDGE_GPU, .target = targets[seed / 4 % 4], .raw = seed % 4 != 0};
    fuzz_generate_layout(text, seed);
    return judge;
}

static bool check_file(const char *path, const char *target)
{
    struct buffer text = {0}, reason = {0};
    struct judge judge = {.kind = JUDGE_GPU, .target = target};
    if (file_read(path, 0, &text))
        fuzz_judge(&judge, text.data, text.size, &reason);
    else
        buffer_puts(&reason, "the file cannot be read");
    bool good = !reason.size;
    printf("%s: %s\n", path, good ? "good" : reason.data);
    buffer_free(&text);
    buffer_free(&reason);
    return good;
}

enum kind { MIXED, PRODUCTS, LAYOUTS };
static const char *const kinds[] = {"", "products", "layouts"};

/* A fourth of the programs may be refused. */
static bool run(uint64_t first, uint64_t programs, enum kind kind, const char *target, bool print)
{
    int failures = 0, refused = 0;
    uint64_t seed = first;
    for (; seed < first + programs && failures < 8; seed++) {
        struct arena *arena = arena_create();
        struct buffer text = {0}, reason = {0};
        struct judge judge = kind == PRODUCTS  ? choose_product(seed, &text)
                             : kind == LAYOUTS ? choose_layout(seed, &text)
                                               : choose(seed, arena, &text);
        judge.target = target ? target : judge.target;
        if (print)
            fputs(text.data, stdout);
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
    printf("{\"tool\": \"gpu_test%s%s\", \"first\": %llu, \"programs\": %llu, \"failures\": %d, \"refused\": %d}\n",
           kind ? " " : "", kinds[kind], (unsigned long long)first, (unsigned long long)(seed - first), failures,
           refused);
    return failures == 0 && refused * 4 <= (int)programs;
}

int main(int count, char **arguments)
{
    enum kind kind = MIXED;
    nvptx_begin(NULL);
    if (count == 1)
        return !(run(1, 320, LAYOUTS, NULL, false) && run(1, 112, MIXED, NULL, false) &&
                 run(1, 40, PRODUCTS, NULL, false));
    for (int i = PRODUCTS; i <= LAYOUTS; i++)
        kind = strcmp(arguments[1], kinds[i]) == 0 ? (enum kind)i : kind;
    count -= kind != MIXED;
    arguments += kind != MIXED;
    if (count == 3 && !kind && strtoull(arguments[1], NULL, 0) == 0)
        return !check_file(arguments[1], arguments[2]);
    return !run(count > 1 ? strtoull(arguments[1], NULL, 0) : 1, count > 2 ? strtoull(arguments[2], NULL, 0) : 40, kind,
                count > 3 ? arguments[3] : NULL, count > 4);
}
