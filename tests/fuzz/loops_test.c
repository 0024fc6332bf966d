/* Random loops with loads through the pipelines of GPUs and of the processor: the interpreter behind each pass.  A run
 * in which no while was counted, no load ran ahead, in registers or through shared memory, and no iterations worked
 * together has tested nothing and fails.
 *     loops_test FIRST_SEED COUNT [print]  */
#include <stdlib.h>
#include <string.h>

#include "support/differential.h"
#include "support/generate_loop.h"
#include "targets/target.h"

enum reached { REACHED_COUNTED, REACHED_TOGETHER, REACHED_AHEAD, REACHED_STAGED, REACHED_COUNT };
static const char *const reached_name[REACHED_COUNT] = {"counted", "together", "ahead", "staged"};
struct counts {
    int programs, failures, reached[REACHED_COUNT];
    int64_t runs;
};
struct seen {
    int whiles, loops, undefined, rings;
};

static void look(struct ir_operation *op, void *context)
{
    struct seen *seen = context;
    seen->whiles += op->opcode == OP_WHILE;
    seen->loops += op->opcode == OP_FOR;
    seen->undefined += op->opcode == OP_UNDEFINED;
    seen->rings += op->opcode == OP_BUFFER && op->results[0]->type->slots > 1;
}

static void check(uint64_t seed, const char *target, struct counts *counts)
{
    struct arena *arena = arena_create();
    struct diagnostics *diagnostics = diagnostics_create(arena);
    struct buffer text = {0}, reason = {0};
    struct fuzz_memory *reference = NULL;
    const struct target_row *row = &target_rows[target_find(target)];
    fuzz_generate_loop(&text, seed);
    struct source source = {.name = "program", .text = text.data, .size = text.size};
    struct fuzz_program *program = fuzz_read_program(ir_context_create(arena), arena, diagnostics, &source);
    struct seen before = {0}, after = {0};
    struct judge judge = {
        .kind = JUDGE_PASSES, .isa = -1, .target = target, .passes = fuzz_pipeline_text(arena, row, 2)};
    if (program)
        ir_walk(program->function->body, look, &before);
    if (!program)
        buffer_printf(&reason, "program: %s",
                      diagnostics->first ? diagnostics->first->text : "its arguments are missing");
    else if (fuzz_is_sound(program, arena, &reference, &reason))
        fuzz_run_passes(&judge, program, arena, reference, &counts->runs, &reason);
    if (program)
        ir_walk(program->function->body, look, &after);
    counts->reached[REACHED_COUNTED] += after.whiles < before.whiles;
    counts->reached[REACHED_TOGETHER] += after.loops + after.whiles > before.loops + before.whiles;
    counts->reached[REACHED_AHEAD] += after.undefined > 0;
    counts->reached[REACHED_STAGED] += after.rings > 0;
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
    static const char *const targets[] = {"sm_80", "sm_90a", "cpu", "sm_75"};
    uint64_t first = count > 1 ? strtoull(arguments[1], NULL, 0) : 1;
    uint64_t programs = count > 2 ? strtoull(arguments[2], NULL, 0) : 100;
    struct counts counts = {0};
    for (uint64_t seed = first; seed < first + programs && counts.failures < 5; seed++) {
        if (count > 3) {
            struct buffer text = {0};
            fuzz_generate_loop(&text, seed);
            fputs(text.data, stdout);
            buffer_free(&text);
        } else {
            check(seed, targets[seed % 4], &counts);
        }
    }
    if (count > 3)
        return 0;
    printf("{\"tool\": \"loops_test\", \"first\": %llu, \"programs\": %d, \"runs\": %lld, \"failures\": %d",
           (unsigned long long)first, counts.programs, (long long)counts.runs, counts.failures);
    bool missed = false;
    for (int i = 0; i < REACHED_COUNT; i++) {
        printf(", \"%s\": %d", reached_name[i], counts.reached[i]);
        missed |= !counts.reached[i] && programs >= 100;
    }
    printf("}\n");
    return counts.failures != 0 || missed;
}
