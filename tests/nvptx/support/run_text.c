/* See run_text.h: parsed, verified, through the pipeline of the target, lowered, read back and run. */
#include "run_text.h"

#include <stdio.h>
#include <string.h>

#include "../../fuzz/support/judge.h"
#include "ir/text.h"
#include "ir/verify/verify.h"
#include "passes/run.h"
#include "targets/nvptx/assemble/assemble.h"

struct run_text {
    const struct ptx_module *ptx;
    int64_t shared_bytes;
};

struct run_text *run_text_make(struct arena *arena, const char *ir, const char *row)
{
    struct diagnostics *diagnostics = diagnostics_create(arena);
    struct ir_context *context = ir_context_create(arena);
    struct source source = {"test", ir, strlen(ir), NULL};
    const struct target_row *target = &target_rows[target_find(row)];
    struct target_options options = {
        .arena = arena, .context = context, .diagnostics = diagnostics, .optimization = 2, .jobs = 1};
    struct pass_context passes = {.arena = arena,
                                  .diagnostics = diagnostics,
                                  .target = target,
                                  .name = "test",
                                  .math_function = fuzz_math_function,
                                  .math_context = fuzz_math_context(arena, context, diagnostics)};
    struct pass_run pipeline = {0};
    struct buffer ptx = {0}, problem = {0};
    struct run_text *text = ARENA_NEW(arena, struct run_text);
    struct ir_module *module = ir_parse_module(context, arena, diagnostics, &source);
    pipeline.passes = pass_pipeline(arena, target, 2, &pipeline.count);
    if (module && ir_verify_module(module, diagnostics) && pass_run_all(&pipeline, module->first, &passes) &&
        nvptx_make_ptx(&options, target, module->first, false, &ptx, &text->shared_bytes))
        text->ptx = ptx_read(arena, arena_substring(arena, ptx.data, ptx.size), &problem);
    diag_print(diagnostics, stdout, false);
    if (problem.size)
        printf("%s: %s\n", row, problem.data);
    buffer_free(&ptx);
    buffer_free(&problem);
    return text->ptx ? text : NULL;
}

bool run_text_once(struct arena *arena, const struct run_text *text, const uint64_t *slots, int slot_count,
                   struct ptx_memory memory)
{
    struct ptx_launch launch = {.slots = slots,
                                .slot_count = slot_count,
                                .blocks = 1,
                                .shared_bytes = text->shared_bytes,
                                .memories = &memory,
                                .memory_count = 1};
    struct buffer problem = {0};
    bool ran = ptx_run(arena, text->ptx, &launch, &problem);
    if (!ran)
        printf("%s\n", problem.size ? problem.data : "it did not run");
    buffer_free(&problem);
    return ran;
}
