/* A program as PTX of a target, run by the reader of PTX in ptx.h. */
#include <stdlib.h>
#include <string.h>

#include "judge.h"
#include "passes/pass.h"
#include "ptx.h"
#include "targets/nvptx/assemble.h"
#include "targets/target.h"

/* Not what ptx.h leaves out. */
static bool is_known(const char *text)
{
    static const char *const unknown[] = {"cp.async.bulk", "wgmma", "mbarrier", "cluster", "setmaxnreg", ".local",
                                          "stmatrix"};
    for (size_t i = 0; i < sizeof unknown / sizeof *unknown; i++)
        if (strstr(text, unknown[i]))
            return false;
    return true;
}

static bool run(struct arena *arena, struct fuzz_program *program, const char *text, int64_t shared_bytes,
                struct fuzz_memory *memory, struct buffer *problem)
{
    uint64_t *slots = ARENA_ARRAY(arena, uint64_t, FUZZ_MOST_SLOTS);
    int64_t programs;
    struct ptx_launch launch = {.slots = slots, .shared_bytes = shared_bytes, .seed = program->seed,
                                .memory_count = memory->count};
    launch.slot_count = fuzz_fill_slots(program, memory, slots, &programs);
    launch.blocks = (int)(program->function->persistent && programs > 2 ? 2 : programs);
    launch.memories = ARENA_ARRAY(arena, struct ptx_memory, memory->count + 1);
    for (int i = 0; i < memory->count; i++)
        launch.memories[i] = (struct ptx_memory){memory->memories[i].data, memory->memories[i].size,
                                                 memory->memories[i].read_only};
    const struct ptx_module *module = ptx_read(arena, text, problem);
    return module && ptx_run(arena, module, &launch, problem);
}

void fuzz_judge_gpu(const struct judge *judge, struct fuzz_program *program, const struct fuzz_memory *reference,
                    int64_t *runs, struct buffer *reason)
{
    struct arena *arena = arena_create();
    struct diagnostics *diagnostics = diagnostics_create(arena);
    const struct target_row *row = &target_rows[target_find(judge->target ? judge->target : "sm_80")];
    struct target_options options = {.arena = arena, .context = program->module->context, .diagnostics = diagnostics,
                                     .optimization = judge->raw ? 0 : 2, .jobs = 1, .strict_fp = true};
    struct pass_context context = {.arena = arena, .diagnostics = diagnostics, .target = row, .name = "pipeline",
                                   .math_function = fuzz_math_function,
                                   .math_context = judge->math ? judge->math :
                                                   fuzz_math_context(arena, program->module->context, diagnostics)};
    struct pass_run passes = {0};
    struct buffer text = {0}, problem = {0};
    int64_t shared_bytes = 0;
    char difference[200];
    passes.passes = pass_pipeline(row, judge->raw ? 0 : 2, &passes.count);
    if (!pass_run_all(&passes, program->function, &context) ||
        !nvptx_make_ptx(&options, row, program->function, false, &text, &shared_bytes)) {
        buffer_printf(reason, "%s: ", row->name);
        fuzz_put_kind(reason, diagnostics->first ? diagnostics->first->text : "no text");
    } else if (!is_known(text.data)) {
        buffer_printf(reason, "%s: PTX with what is not there yet", row->name);
    } else {
        struct fuzz_memory *got = fuzz_memory_create(program);
        ++*runs;
        if (!run(arena, program, text.data, shared_bytes, got, &problem)) {
            buffer_printf(reason, "%s: ", row->name);
            fuzz_put_kind(reason, problem.data);
            if (judge->announce)
                fprintf(stderr, "%s\n%s", problem.data, text.data);
        } else if (!fuzz_same(program, reference, got, difference, sizeof difference)) {
            buffer_printf(reason, "%s: the result differs", row->name);
            if (judge->announce)
                fprintf(stderr, "%s\n%s", difference, text.data);
        }
        fuzz_memory_free(got);
    }
    buffer_free(&text);
    buffer_free(&problem);
    arena_destroy(arena);
}
