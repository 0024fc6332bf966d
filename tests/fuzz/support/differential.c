/* A program's result before any pass is the reference; it must not depend on the order of instances or of sums, must
 * survive being printed and read back, and must stay the same behind every pass: each run alone, in random sequences
 * with and without fuel, and in the pipelines of random targets, those to the Schedule level included. */
#include <string.h>

#include "differential.h"
#include "ir/text.h"
#include "passes/run.h"
#include "table.h"
#include "targets/target.h"

struct check {
    struct fuzz_program *program;
    struct fuzz_memory *reference;
    struct arena *arena;
    struct buffer text, *report;
    struct fuzz_counts *counts;
};

static bool value_pass(const struct pass_info *pass)
{
    return pass->in == IR_LEVEL_VALUE && pass->out == IR_LEVEL_VALUE;
}

/* ---- ways: lists of passes, numbered ---- */

enum { SEQUENCE_LENGTH = 12 };

static const char *list_text(struct arena *arena, const struct pass_info *const *passes, int count)
{
    struct buffer text = {0};
    for (int i = 0; i < count; i++)
        buffer_printf(&text, "%s%s", i ? "," : "", passes[i]->name);
    const char *copy = arena_string(arena, text.size ? text.data : "");
    buffer_free(&text);
    return copy;
}

const char *fuzz_pipeline_text(struct arena *arena, const struct target_row *row, int level)
{
    int count;
    const struct pass_info *const *passes = pass_pipeline(arena, row, level, &count);
    return list_text(arena, passes, count);
}

static void sequence(struct arena *arena, uint64_t seed, int number, struct judge *judge)
{
    struct random random = {seed * FUZZ_SEQUENCES + (uint64_t)number};
    const struct pass_info *passes[SEQUENCE_LENGTH];
    int count = 0;
    while (count < SEQUENCE_LENGTH) {
        const struct pass_info *pass = &pass_table[random_below(&random, pass_count)];
        if (value_pass(pass))
            passes[count++] = pass;
    }
    judge->passes = list_text(arena, passes, random_between(&random, 2, count));
    judge->target = random_chance(&random, 50) ? "sm_90a" : "cpu";
    judge->fuel = random_chance(&random, 50) ? random_between(&random, 1, 20) : 0;
}

static void pipeline(struct arena *arena, uint64_t seed, int number, struct judge *judge)
{
    struct random random = {seed * FUZZ_PIPELINES + (uint64_t)number};
    static const int levels[] = {2, 2, 2, 2, 3, 1, 0};
    const struct target_row *row = &target_rows[random_below(&random, target_row_count)];
    judge->passes = fuzz_pipeline_text(arena, row, levels[random_below(&random, 7)]);
    judge->target = row->name;
}

bool fuzz_way(struct arena *arena, uint64_t seed, int number, struct judge *judge)
{
    *judge = (struct judge){.kind = JUDGE_PASSES, .isa = -1};
    for (int i = 0; i < pass_count; i++)
        if (value_pass(&pass_table[i]) && number-- == 0) {
            judge->passes = pass_table[i].name;
            judge->target = seed % 2 ? "sm_90a" : "cpu";
            return true;
        }
    if (number < FUZZ_SEQUENCES)
        sequence(arena, seed, number, judge);
    else
        pipeline(arena, seed, number - FUZZ_SEQUENCES, judge);
    return number < FUZZ_SEQUENCES + FUZZ_PIPELINES;
}

/* ---- one program ---- */

static bool fail(struct check *c, const struct judge *judge, const char *reason)
{
    buffer_printf(c->report, "seed %llu: %s\n", (unsigned long long)c->program->seed, reason);
    if (judge && judge->passes)
        buffer_printf(c->report, "passes=%s target=%s fuel=%lld\n", judge->passes, judge->target ? judge->target : "",
                      (long long)judge->fuel);
    buffer_append(c->report, c->text.data, c->text.size);
    return false;
}

static struct fuzz_program *fresh(struct check *c, struct arena *arena)
{
    struct source source = {.name = "fresh", .text = c->text.data, .size = c->text.size};
    struct diagnostics *diagnostics = diagnostics_create(arena);
    struct fuzz_program *program = fuzz_read_program(c->program->module->context, arena, diagnostics, &source);
    if (!program)
        fail(c, NULL, diagnostics->first ? diagnostics->first->text : "the printed text lacks its arguments");
    return program;
}

static bool round_trip(struct check *c)
{
    struct buffer again = {0};
    struct fuzz_program *program = fresh(c, c->arena);
    bool good = program != NULL;
    if (good) {
        fuzz_print_program(&again, program);
        good = again.size == c->text.size && !memcmp(again.data, c->text.data, again.size);
        if (!good)
            fail(c, NULL, "printed again, the text differs");
    }
    buffer_free(&again);
    return good;
}

static bool each_way(struct check *c)
{
    bool good = true;
    struct judge judge;
    for (int i = 0; good && fuzz_way(c->arena, c->program->seed, i, &judge); i++) {
        struct buffer reason = {0};
        struct arena *arena = arena_create();
        struct fuzz_program *program = fresh(c, arena);
        good = program != NULL;
        if (good)
            fuzz_run_passes(&judge, program, arena, c->reference, &c->counts->runs, &reason);
        if (reason.size)
            good = fail(c, &judge, reason.data);
        buffer_free(&reason);
        arena_destroy(arena);
    }
    return good;
}

bool fuzz_check_seed(uint64_t seed, struct fuzz_limits limits, struct fuzz_counts *counts, struct buffer *report)
{
    struct arena *arena = arena_create();
    struct ir_context *context = ir_context_create(arena);
    struct check c = {.arena = arena, .report = report, .counts = counts};
    struct buffer reason = {0};
    c.program = fuzz_generate(context, arena, seed, limits);
    fuzz_print_program(&c.text, c.program);
    fuzz_table_count(counts->table, c.program);
    bool good = fuzz_is_sound(c.program, arena, &c.reference, &reason);
    if (!good)
        fail(&c, NULL, reason.data);
    good = good && round_trip(&c) && each_way(&c);
    counts->programs++;
    counts->runs += 2;
    if (c.reference)
        fuzz_memory_free(c.reference);
    buffer_free(&reason);
    buffer_free(&c.text);
    arena_destroy(arena);
    return good;
}

/* ---- for the reducer ---- */

bool fuzz_find_failure(const char *text, size_t size, struct arena *arena, struct judge *judge)
{
    struct source source = {.name = "program", .text = text, .size = size};
    struct fuzz_program *program = fuzz_read_program(ir_context_create(arena), arena, diagnostics_create(arena),
                                                     &source);
    if (!program)
        return false;
    for (int i = 0;; i++) {
        struct buffer reason = {0};
        bool more = fuzz_way(arena, program->seed, i, judge);
        if (!more)
            *judge = (struct judge){.kind = JUDGE_CPU, .isa = -1};
        fuzz_judge(judge, text, size, &reason);
        bool bad = reason.size != 0;
        buffer_free(&reason);
        if (bad || !more)
            return bad;
    }
}
