/* Random programs round products through the pipelines of GPUs: the interpreter, with race detection, behind each
 * pass, in an order of roles and arrivals that the seed chooses.  A run that never came to roles, TMA, cp.async, mma
 * and wgmma has tested nothing and fails.  Without arguments also the first few programs of the seeds behind that have
 * what is rare among them.
 *     machine_test FIRST_SEED COUNT [print]  */
#include <stdlib.h>
#include <string.h>

#include "support/differential.h"
#include "support/generate_product.h"
#include "targets/target.h"

enum reached {
    REACHED_ROLES,
    REACHED_TMA_STORE,
    REACHED_CP_ASYNC,
    REACHED_MMA,
    REACHED_WGMMA,
    REACHED_REGISTERS,
    REACHED_PENDING,
    REACHED_CLUSTER,
    REACHED_COUNT
};
static const char *const reached_name[REACHED_COUNT] = {"roles", "tma_store",    "cp_async",         "mma",
                                                        "wgmma", "buffer_store", "dot_wait pending", "cluster"};
struct counts {
    int programs, failures, reached[REACHED_COUNT];
    int64_t runs;
};

static void look(struct ir_operation *op, void *context)
{
    bool *seen = context;
    seen[REACHED_ROLES] |= op->opcode == OP_ROLES;
    seen[REACHED_TMA_STORE] |= op->opcode == OP_TMA_STORE;
    seen[REACHED_CP_ASYNC] |= op->opcode == OP_CP_ASYNC;
    seen[REACHED_REGISTERS] |= op->opcode == OP_BUFFER_STORE;
    seen[REACHED_CLUSTER] |= op->opcode == OP_CLUSTER_BARRIER;
    seen[REACHED_PENDING] |= op->opcode == OP_DOT_WAIT && ir_number(op, IR_ATTRIBUTE_PENDING, 0) > 0;
    if (op->opcode == OP_DOT_ASYNC) {
        seen[REACHED_MMA] |= ir_number(op, IR_ATTRIBUTE_INSTRUCTION, 0) == IR_INSTRUCTION_MMA;
        seen[REACHED_WGMMA] |= ir_number(op, IR_ATTRIBUTE_INSTRUCTION, 0) == IR_INSTRUCTION_WGMMA;
    }
}

static void check(uint64_t seed, const char *target, struct counts *counts)
{
    struct arena *arena = arena_create();
    struct diagnostics *diagnostics = diagnostics_create(arena);
    struct buffer text = {0}, reason = {0};
    struct fuzz_memory *reference = NULL;
    const struct target_row *row = &target_rows[target_find(target)];
    fuzz_generate_product(&text, seed);
    struct source source = {.name = "program", .text = text.data, .size = text.size};
    struct fuzz_program *program = fuzz_read_program(ir_context_create(arena), arena, diagnostics, &source);
    bool seen[REACHED_COUNT] = {false};
    struct judge judge = {
        .kind = JUDGE_PASSES, .isa = -1, .target = target, .passes = fuzz_pipeline_text(arena, row, seed % 5 ? 2 : 1)};
    if (!program)
        buffer_printf(&reason, "program: %s",
                      diagnostics->first ? diagnostics->first->text : "its arguments are missing");
    else if (fuzz_is_sound(program, arena, &reference, &reason))
        fuzz_run_passes(&judge, program, arena, reference, &counts->runs, &reason);
    if (program)
        ir_walk(program->function->body, look, seen);
    for (int i = 0; i < REACHED_COUNT; i++)
        counts->reached[i] += seen[i];
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

/* What a few programs have, and what goes with it. */
static const char *const rare[][2] = {{"for multiply(1)", "persistent"},
                                      {"stride_multiple(4", "dot"},
                                      {"atomic action(add)", "cluster(2)"},
                                      {"%tile_t", "dot"},
                                      {"extent_multiple", "dot"}};
enum { RARE_COUNT = sizeof rare / sizeof rare[0], OF_EACH = 5 };

static void check_rare(uint64_t first, struct counts *counts)
{
    int left[RARE_COUNT], all = RARE_COUNT * OF_EACH;
    for (int i = 0; i < RARE_COUNT; i++)
        left[i] = OF_EACH;
    for (uint64_t seed = first; all > 0; seed++) {
        struct buffer text = {0};
        bool has = false;
        fuzz_generate_product(&text, seed);
        for (int i = 0; i < RARE_COUNT; i++)
            if (left[i] > 0 && strstr(text.data, rare[i][0]) && strstr(text.data, rare[i][1])) {
                has = true;
                left[i]--;
                all--;
            }
        buffer_free(&text);
        if (has)
            check(seed, "sm_90a", counts);
    }
}

int main(int count, char **arguments)
{
    static const char *const targets[] = {"sm_80", "sm_90a", "sm_75", "sm_89", "sm_90a", "sm_120a", "sm_90a"};
    uint64_t first = count > 1 ? strtoull(arguments[1], NULL, 0) : 1;
    uint64_t programs = count > 2 ? strtoull(arguments[2], NULL, 0) : 60;
    struct counts counts = {0};
    for (uint64_t seed = first; seed < first + programs && counts.failures < 5; seed++) {
        if (count > 3) {
            struct buffer text = {0};
            fuzz_generate_product(&text, seed);
            fputs(text.data, stdout);
            buffer_free(&text);
        } else {
            check(seed, targets[seed % 7], &counts);
        }
    }
    if (count > 3)
        return 0;
    if (count == 1)
        check_rare(first + programs, &counts);
    printf("{\"tool\": \"machine_test\", \"first\": %llu, \"programs\": %d, \"runs\": %lld, \"failures\": %d",
           (unsigned long long)first, counts.programs, (long long)counts.runs, counts.failures);
    bool missed = false;
    for (int i = 0; i < REACHED_COUNT; i++) {
        printf(", \"%s\": %d", reached_name[i], counts.reached[i]);
        missed |= i < REACHED_PENDING && !counts.reached[i] && programs >= 60; /* the others are rare */
    }
    printf("}\n");
    return counts.failures != 0 || missed;
}
