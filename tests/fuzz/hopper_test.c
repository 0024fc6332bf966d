/* Kernels of sources as PTX for Hopper, run by the reader of PTX (support/ptx.h) against the interpreter: producers,
 * rings, clusters, wgmma of both kinds, stores in bulk.  And the texts of some of them with one thing wrong each: what
 * the reader says nothing of, in several orders of threads and copies, it would miss in a compiler, too.
 *     hopper_test [CASE [show]]       show: all places, and which changes nobody noticed */
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "support/judge.h"
#include "support/ptx_change.h"
#include "support/text.h"
#include "targets/nvptx/assemble/assemble.h"

struct example {
    const char *file, *spec, *values;
    double tolerance;
    int changes; /* of how many places one is changed; 0: none */
};
static const struct example examples[] = {
    {"examples/matmul.tile", "matmul<bf16,bf16>", "M=200 N=320 K=152 f=0 bias=0", 0, 0},
    {"examples/matmul.tile", "matmul<f16,f16>", "M=200 N=264 K=152 b=turned f=0", 0, 0},
    /* a result whose rows begin anywhere */
    {"examples/matmul.tile", "matmul<bf16,bf16>", "M=200 N=301 K=152 b=turned f=0 bias=0", 0, 0},
    {"examples/matmul.tile", "matmul<f16,f16>[BM=64,BN=64]", "M=200 N=197 K=152 b=turned f=0", 0, 0},
    {"examples/matmul.tile", "matmul<bf16,bf16>[cluster=2]", "M=300 N=264 K=152 f=0", 0, 0},
    {"examples/attention.tile", "attention<bf16>[D=128,CAUSAL=true]", "L=200 S=264 Z=1 H=2 HK=1 scale=1 D=128 CAUSAL=1",
     0.02, 0},
    {"examples/attention.tile", "attention<f16>[D=64,CAUSAL=false]", "L=200 S=264 Z=1 H=2 HK=1 scale=1 D=64 CAUSAL=0",
     0.02, 0},
    {"tests/exec/loops.tile", "attention_bwd<bf16>[D=128,CAUSAL=false]", "L=136 S=200 Z=1 H=1 scale=1 D=128 CAUSAL=0",
     0.02, 0},
    {"tests/exec/loops.tile", "attention_bwd<bf16>[D=64,CAUSAL=true]", "L=200 S=264 Z=1 H=1 scale=1 D=64 CAUSAL=1",
     0.02, 0},
    {"tests/exec/loops.tile", "attention_bwd<f16>[D=64,BM=64,BN=64,CAUSAL=true]",
     "L=136 S=200 Z=1 H=1 scale=1 D=64 CAUSAL=1", 0.02, 0},
    {"tests/exec/rewritten.tile", NULL, "M=72 N=136 K=104 L=40 Z=2", 0, 0},
    {"tests/exec/rewritten.tile", "promoted", "M=72 N=136 K=272", 0, 0},
    {"tests/nvptx/products.tile", NULL, "M=72 N=104 K=104 Z=2", 0, 0},
    {"tests/fuzz/hopper.tile", "across", "M=200 N=200 K=136", 0, 17},
    {"tests/fuzz/hopper.tile", "along", "M=200 N=200 K=200", 0, 17},
    {"tests/fuzz/hopper.tile", "scaled", "M=136 N=136 K=264", 0, 17},
    {"tests/fuzz/hopper.tile", "beside", "M=200 N=264", 0.02, 17},
    {"tests/fuzz/hopper.tile", "summed", "M=456 N=64 K=264", 0, 17},
    {"tests/fuzz/hopper.tile", "uneven", "M=136 N=104 K=264", 0, 0},
    {"tests/fuzz/hopper.tile", "packed4", "M=72 N=144 K=136 L=272", 0, 0},
    {"tests/fuzz/hopper.tile", "parts", "N=330 H=2 Z=2 scale=1", 0.02, 0},
    {"tests/fuzz/hopper.tile", "told", "L=200 B=2 S=300 N=8", 0.02, 0},
    {"tests/fuzz/hopper.tile", "gathered", "M=200 N=136 K=152 L=264", 0, 17},
    {"tests/fuzz/hopper.tile", "few", "M=40 N=264 K=152", 0, 17},
    {"tests/fuzz/hopper.tile", "few_pairs", "M=56 N=104 K=152", 0, 0},
    {"tests/fuzz/hopper.tile", "few_bytes", "M=21 N=200 K=208", 0, 0},
    {"tests/fuzz/hopper.tile", "few_narrow", "M=21 N=104 K=144", 0, 0},
    {"tests/fuzz/hopper.tile", "few_rounded", "M=21 N=104 K=72", 0, 0},
    {"tests/fuzz/hopper.tile", "rounded_by_threads", "M=136 N=104 K=168", 0, 0},
    {"tests/fuzz/hopper.tile", "few_integers", "M=56 N=104 K=144", 0, 0},
    {"tests/fuzz/hopper.tile", "split", "M=200 N=136 K=168", 0, 17},
    {"tests/fuzz/hopper.tile", "split_alone", "M=136 N=72 K=104", 0, 0},
    {"tests/fuzz/hopper.tile", "turned_second", "M=200 N=72 K=168", 0, 17},
    {"tests/fuzz/hopper.tile", "parted", "M=200 N=136 K=328", 0, 17},
    {"tests/fuzz/hopper.tile", "paged", "L=136 P=7 N=21", 0.02, 0},
};
enum { EXAMPLES = sizeof examples / sizeof *examples, SCHEDULES = 5, MOST_STEPS = 4000000 };
struct score {
    int made, reported;
};
struct totals {
    int programs, failures, places;
    struct score scores[PTX_CHANGES];
};

/* What chooses the order of threads and copies, see ptx_run.c and ptx_bulk.c. */
static uint64_t schedule(uint64_t number) { return number * 13 + number % 2 * 4; }

/* In some order somebody notices. */
static bool is_reported(struct fuzz_program *program, const struct fuzz_gpu_code *code,
                        const struct fuzz_memory *reference, uint64_t schedules, int64_t most_steps,
                        struct buffer *problem)
{
    bool reported = false;
    for (uint64_t i = 0; i < schedules && !reported; i++) {
        program->seed = schedule(i);
        problem->size = 0;
        reported = !fuzz_gpu_run(program, code, reference, most_steps, problem, NULL);
    }
    return reported;
}

static void show_change(const char *name, int change, const char *text, const char *at, const char *problem)
{
    while (at > text && at[-1] != '\n')
        at--;
    int size = (int)strcspn(at, "\n");
    printf("%s: %s: %s: %.*s\n", name, ptx_change_name(change), problem, size > 140 ? 140 : size, at);
    fflush(stdout);
}

/* Lines of which nothing ran are left alone, and, unless all is shown, what others may make good. */
static void change_all(const char *name, struct fuzz_program *program, const struct fuzz_gpu_code *code,
                       const struct fuzz_memory *reference, int step, bool show, struct totals *totals)
{
    const char *text = code->text.data;
    for (int c = 0; c < PTX_CHANGES; c++)
        for (const char *at = NULL; (show || !ptx_change_is_spare(c)) && (at = ptx_change_next(text, at, c));) {
            struct fuzz_gpu_code changed = {.shared_bytes = code->shared_bytes, .tolerance = code->tolerance};
            struct buffer problem = {0};
            if (code->ran[ptx_change_line(text, at)] && totals->places++ % step == 0 &&
                ptx_change_write(text, at, c, &changed.text)) {
                bool reported = is_reported(program, &changed, reference, SCHEDULES, MOST_STEPS, &problem);
                totals->scores[c].made++;
                totals->scores[c].reported += reported;
                if (show || (!reported && !ptx_change_is_spare(c)))
                    show_change(name, c, text, at, reported ? problem.data : "-");
            }
            buffer_free(&changed.text);
            buffer_free(&problem);
        }
}

static bool check(const struct example *example, int number, struct fuzz_program *program, struct arena *arena,
                  bool show, struct totals *totals)
{
    struct fuzz_memory *reference = NULL;
    struct buffer reason = {0};
    struct judge judge = {.kind = JUDGE_GPU, .target = "sm_90a"};
    struct fuzz_gpu_code code = {.tolerance = example->tolerance};
    char name[200];
    snprintf(name, sizeof name, "%s, %s, instance %d", example->file, example->spec ? example->spec : "", number);
    bool good = fuzz_is_sound(program, arena, &reference, &reason) &&
                fuzz_gpu_make(&judge, program, arena, &code, &reason);
    if (good) {
        code.ran = ARENA_ARRAY(arena, bool, code.text.size + 1);
        good = !is_reported(program, &code, reference, show ? SCHEDULES : 1, 0, &reason);
    }
    if (!good)
        printf("%s: %s\n", name, reason.data);
    if (good && example->changes)
        change_all(name, program, &code, reference, show ? 1 : example->changes, show, totals);
    if (reference)
        fuzz_memory_free(reference);
    buffer_free(&code.text);
    buffer_free(&reason);
    totals->programs++;
    return good;
}

/* Instances without tensor maps are for random programs (gpu_test). */
static bool wants_maps(const struct fuzz_program *program)
{
    for (int i = 0; i < program->function->facts.count; i++)
        if (program->function->facts.data[i].base_alignment >= 16)
            return true;
    return false;
}

static void run(const struct example *example, bool show, struct totals *totals)
{
    struct arena *arena = arena_create();
    struct ir_context *context = ir_context_create(arena);
    struct buffer text = {0}, problem = {0};
    struct text_programs programs = {0};
    const char *folder = getenv("SRCDIR");
    char path[1000];
    snprintf(path, sizeof path, "%s/%s", folder ? folder : ".", example->file);
    struct text_request request = {.seed = 8, .target = "sm_90a", .spec = example->spec, .values = example->values};
    if (file_read(path, 0, &text)) {
        request.text = text.data;
        request.size = text.size;
        fuzz_text_instances(&request, context, arena, &programs, &problem);
    }
    if (!programs.programs.count) {
        printf("%s: %s\n", path, problem.size ? problem.data : "no instance");
        totals->failures++;
    }
    for (int i = 0; i < programs.programs.count; i++)
        if (wants_maps(programs.programs.data[i]))
            totals->failures += !check(example, i, programs.programs.data[i], arena, show, totals);
    buffer_free(&text);
    buffer_free(&problem);
    arena_destroy(arena);
}

/* What others do not make good is noticed; of twenty one may be where nobody looks, as code changes. */
static bool is_enough(const struct totals *totals, bool show)
{
    int made = 0, reported = 0, needed = 0, missed = 0;
    for (int c = 0; c < PTX_CHANGES; c++) {
        const struct score *score = &totals->scores[c];
        bool spare = ptx_change_is_spare(c);
        needed += spare ? 0 : score->made;
        missed += spare ? 0 : score->made - score->reported;
        made += score->made;
        reported += score->reported;
        if (show)
            printf("%-40s %d of %d\n", ptx_change_name(c), score->reported, score->made);
    }
    printf("{\"tool\": \"hopper_test\", \"programs\": %d, \"failures\": %d, \"changed\": %d, \"reported\": %d}\n",
           totals->programs, totals->failures, made, reported);
    return missed * 20 <= needed;
}

int main(int count, char **arguments)
{
    struct totals totals = {0};
    int only = count > 1 ? atoi(arguments[1]) : -1;
    nvptx_begin(NULL);
    for (int i = 0; i < EXAMPLES; i++)
        if (only < 0 || i == only)
            run(&examples[i], count > 2, &totals);
    return !is_enough(&totals, count > 2) || totals.failures != 0;
}
