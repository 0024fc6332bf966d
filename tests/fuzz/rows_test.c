/* Random kernels over wide rows through the pipelines of GPUs: the interpreter behind each pass.  A run in which
 * nothing was stored or reduced by pieces, and nothing was held in shared memory, has tested nothing and fails.
 *     rows_test FIRST_SEED COUNT */
#include <stdlib.h>

#include "support/differential.h"
#include "support/generate_row.h"
#include "targets/target.h"

struct seen {
    int stores, held;
};
struct counts {
    int programs, failures, pieces, held;
    int64_t runs;
};

static void look(struct ir_operation *op, void *context)
{
    struct seen *seen = context;
    seen->stores += op->opcode == OP_STORE;
    seen->held += op->opcode == OP_BUFFER_LOAD;
}

static void check(uint64_t seed, const char *target, struct counts *counts)
{
    struct arena *arena = arena_create();
    struct diagnostics *diagnostics = diagnostics_create(arena);
    struct buffer text = {0}, reason = {0};
    struct fuzz_memory *reference = NULL;
    struct seen before = {0}, after = {0};
    fuzz_generate_row(&text, seed);
    struct source source = {.name = "program", .text = text.data, .size = text.size};
    struct fuzz_program *program = fuzz_read_program(ir_context_create(arena), arena, diagnostics, &source);
    struct judge judge = {.kind = JUDGE_PASSES,
                          .isa = -1,
                          .target = target,
                          .passes = fuzz_pipeline_text(arena, &target_rows[target_find(target)], 2)};
    if (!program) {
        buffer_printf(&reason, "program: %s", diagnostics->first ? diagnostics->first->text : "it has no arguments");
    } else {
        ir_walk(program->function->body, look, &before);
        if (fuzz_is_sound(program, arena, &reference, &reason))
            fuzz_run_passes(&judge, program, arena, reference, &counts->runs, &reason);
        ir_walk(program->function->body, look, &after);
    }
    counts->pieces += after.stores > before.stores;
    counts->held += after.held > before.held;
    counts->programs++;
    if (reason.size) {
        counts->failures++;
        fuzz_tell_failure(seed, &judge, text.data, reason.data);
    }
    if (reference)
        fuzz_memory_free(reference);
    buffer_free(&reason);
    buffer_free(&text);
    arena_destroy(arena);
}

int main(int count, char **arguments)
{
    static const char *const targets[] = {"sm_90a", "sm_80"};
    uint64_t first = count > 1 ? strtoull(arguments[1], NULL, 0) : 1;
    uint64_t programs = count > 2 ? strtoull(arguments[2], NULL, 0) : 12;
    struct counts counts = {0};
    for (uint64_t seed = first; seed < first + programs && counts.failures < 5; seed++)
        check(seed, targets[seed % 2], &counts);
    printf("{\"tool\": \"rows_test\", \"first\": %llu, \"programs\": %d, \"runs\": %lld, \"failures\": %d, "
           "\"pieces\": %d, \"held\": %d}\n",
           (unsigned long long)first, counts.programs, (long long)counts.runs, counts.failures, counts.pieces,
           counts.held);
    bool missed = programs >= 12 && (!counts.pieces || !counts.held);
    return counts.failures != 0 || missed;
}
