/* See kinds.h. */
#include "kinds.h"

#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "bundle.h"
#include "differential.h"
#include "generate_loop.h"
#include "generate_product.h"
#include "generate_row.h"
#include "generate_touch.h"
#include "generate_variables.h"
#include "targets/target.h"
#include "text.h"

/* What programs of one worker share: types, names and the library's functions, made anew before they grow large. */
enum { PROGRAMS_A_SESSION = 2000, ASKED_IN_EIGHT = 1 };
struct session {
    struct arena *arena;
    struct ir_context *context;
    struct fuzz_math *math;
    int programs;
};

static void *open_session(struct campaign *campaign)
{
    (void)campaign;
    return calloc(1, sizeof(struct session));
}

static struct session *session_of(struct campaign *campaign)
{
    struct session *session = campaign->own;
    if (session->programs++ % PROGRAMS_A_SESSION == 0) {
        if (session->arena)
            arena_destroy(session->arena);
        session->arena = arena_create();
        session->context = ir_context_create(session->arena);
        session->math = fuzz_math_keep(session->arena, session->context, diagnostics_create(session->arena));
    }
    return session;
}

/* The program again, and what to call the failure. */
static void put_finding(struct buffer *finding, const struct judge *judge, uint64_t seed, const struct buffer *reason,
                        const struct buffer *text)
{
    buffer_printf(finding, "seed %llu: %s\npasses=%s target=%s fuel=%lld isa=%d raw=%d code_level=%d\n",
                  (unsigned long long)seed, reason->data, judge->passes ? judge->passes : "",
                  judge->target ? judge->target : "", (long long)judge->fuel, judge->isa, judge->raw,
                  judge->code_level);
    buffer_append(finding, text->data, text->size);
}

/* One in eight is asked whether it is sound, and read back from its text; the others when something is wrong with
 * them. */
static void judge_random(struct campaign *campaign, struct campaign_seat *seat, uint64_t seed,
                         struct fuzz_limits limits, struct judge *judge, struct buffer *finding)
{
    struct session *session = session_of(campaign);
    struct arena *arena = arena_create();
    struct buffer reason = {0}, text = {0};
    int64_t runs = 0;
    struct fuzz_program *program = fuzz_generate(session->context, arena, seed, limits);
    judge->math = session->math;
    judge->trusted = seed % 8 >= ASKED_IN_EIGHT;
    judge->announce = true;
    if (!judge->trusted)
        fuzz_print_program(&text, program);
    fuzz_judge_passes(judge, program, &runs, &reason);
    if (strstr(reason.size ? reason.data : "", "is not there yet")) {
        seat->refused++;
    } else if (reason.size) {
        text.size = 0;
        fuzz_print_program(&text, fuzz_generate(session->context, arena, seed, limits));
        put_finding(finding, judge, seed, &reason, &text);
    }
    seat->programs++;
    seat->runs += runs;
    buffer_free(&reason);
    buffer_free(&text);
    arena_destroy(arena);
}

/* The interpreter behind each pass of a pipeline (six in ten), a random sequence, or a single pass. */
static void work_passes(struct campaign *campaign, struct campaign_seat *seat, uint64_t seed, struct buffer *finding)
{
    struct random random = {seed ^ 0x7061737365730000};
    struct arena *arena = arena_create();
    struct judge judge;
    int ways = 0, dice = random_below(&random, 100);
    while (fuzz_way(arena, seed, ways, &judge))
        ways++;
    int single = ways - FUZZ_SEQUENCES - FUZZ_PIPELINES;
    fuzz_way(arena, seed, dice < 60 ? ways - 1 : dice < 85 ? single : random_below(&random, single), &judge);
    judge_random(campaign, seat, seed, fuzz_limits_mixed(seed), &judge, finding);
    arena_destroy(arena);
}

/* Code of this processor: one instruction set, pipeline and level of LLVM, as the seed chooses.  LLVM takes most of
 * the time, as much as there is code: most programs are of a few statements. */
static void work_cpu(struct campaign *campaign, struct campaign_seat *seat, uint64_t seed, struct buffer *finding)
{
    struct random random = {seed ^ 0x6370750000000000};
    struct judge judge = {
        .kind = JUDGE_CPU, .isa = random_below(&random, fuzz_cpu_levels()), .raw = random_chance(&random, 40)};
    static const int levels[] = {3, 3, 1, 1, 2, 1, 2, 4};
    struct fuzz_limits limits = fuzz_limits_mixed(seed);
    judge.code_level = levels[random_below(&random, 8)];
    if (limits.most_extent == 9 || random_chance(&random, 50))
        limits.statements = random_between(&random, 1, 5);
    judge_random(campaign, seat, seed, limits, &judge, finding);
}

/* A program written as text, through the pipeline of a GPU, or as code of this processor without LLVM's passes. */
static void judge_written_for(struct campaign *campaign, struct campaign_seat *seat, uint64_t seed,
                              const struct buffer *text, bool cpu, struct buffer *finding)
{
    static const char *const targets[] = {"sm_80", "sm_90a", "sm_75", "sm_89", "sm_90a", "sm_120a", "sm_90a", "sm_90"};
    struct session *session = session_of(campaign);
    struct arena *arena = arena_create();
    struct buffer reason = {0};
    int64_t runs = 0;
    struct judge judge = {
        .kind = JUDGE_PASSES, .isa = -1, .target = targets[seed / 5 % 8], .math = session->math, .announce = true};
    judge.passes = fuzz_pipeline_text(arena, &target_rows[target_find(judge.target)], seed % 5 ? 2 : 1);
    judge.trusted = seed % 8 >= ASKED_IN_EIGHT;
    if (cpu) {
        judge.kind = JUDGE_CPU;
        judge.isa = (int)(seed / 2 % (uint64_t)fuzz_cpu_levels());
        judge.code_level = 1;
    }
    struct source source = {.name = "program", .text = text->data, .size = text->size};
    struct fuzz_program *program = fuzz_read_program(session->context, arena, diagnostics_create(arena), &source);
    if (program)
        fuzz_judge_passes(&judge, program, &runs, &reason);
    else
        buffer_puts(&reason, "program: it cannot be read");
    if (reason.size)
        put_finding(finding, &judge, seed, &reason, text);
    seat->programs++;
    seat->runs += runs;
    buffer_free(&reason);
    arena_destroy(arena);
}

static void judge_written(struct campaign *campaign, struct campaign_seat *seat, uint64_t seed,
                          const struct buffer *text, struct buffer *finding)
{
    judge_written_for(campaign, seat, seed, text, false, finding);
}

static void work_products(struct campaign *campaign, struct campaign_seat *seat, uint64_t seed, struct buffer *finding)
{
    struct buffer text = {0};
    fuzz_generate_product(&text, seed);
    judge_written(campaign, seat, seed, &text, finding);
    buffer_free(&text);
}

static void work_loops(struct campaign *campaign, struct campaign_seat *seat, uint64_t seed, struct buffer *finding)
{
    struct buffer text = {0};
    fuzz_generate_loop(&text, seed);
    judge_written(campaign, seat, seed, &text, finding);
    buffer_free(&text);
}

static void work_rows(struct campaign *campaign, struct campaign_seat *seat, uint64_t seed, struct buffer *finding)
{
    struct buffer text = {0};
    fuzz_generate_row(&text, seed);
    judge_written(campaign, seat, seed, &text, finding);
    buffer_free(&text);
}

static void work_touch(struct campaign *campaign, struct campaign_seat *seat, uint64_t seed, struct buffer *finding)
{
    struct buffer text = {0};
    fuzz_generate_touch(&text, seed);
    judge_written(campaign, seat, seed, &text, finding);
    buffer_free(&text);
}

static void work_variables(struct campaign *campaign, struct campaign_seat *seat, uint64_t seed, struct buffer *finding)
{
    struct buffer text = {0};
    fuzz_generate_variables(&text, seed);
    judge_written_for(campaign, seat, seed, &text, seed % 2 == 0, finding);
    buffer_free(&text);
}

static void work_text(struct campaign *campaign, struct campaign_seat *seat, uint64_t seed, struct buffer *finding)
{
    struct fuzz_text_counts counts = {0};
    (void)campaign;
    fuzz_check_text(seed, false, &counts, finding);
    seat->programs++;
    seat->runs += counts.instances;
    seat->refused += counts.unsound;
}

/* ---- inputs ---- */

static int run_inputs(const char *path, uint64_t first, uint64_t count)
{
    char from[32], number[32];
    int status = -1, pid = fork();
    snprintf(from, sizeof from, "%llu", (unsigned long long)first);
    snprintf(number, sizeof number, "%llu", (unsigned long long)count);
    if (pid == 0) {
        if (freopen("/dev/null", "w", stdout))
            execl(path, path, "seeds", from, number, (char *)NULL);
        _exit(127);
    }
    if (pid > 0)
        waitpid(pid, &status, 0);
    return status;
}

/* A run of a corpus test; when it fails, seed by seed until one fails alone. */
static void work_inputs(struct campaign *campaign, struct campaign_seat *seat, uint64_t unit, struct buffer *finding)
{
    const char *path = campaign->context;
    uint64_t first = unit * FUZZ_INPUTS_A_UNIT, seed = first;
    int status = run_inputs(path, first, FUZZ_INPUTS_A_UNIT);
    seat->runs += FUZZ_INPUTS_A_UNIT;
    if (status == 0)
        return;
    for (; seed < first + FUZZ_INPUTS_A_UNIT; seed++) {
        campaign_begin(seat, seed);
        int alone = run_inputs(path, seed, 1);
        if (alone == 0)
            continue;
        buffer_printf(finding, "seed %llu: status %d\n%s seeds %llu 1\n", (unsigned long long)seed, alone, path,
                      (unsigned long long)seed);
        return;
    }
    buffer_printf(finding, "seed %llu: status %d, and not when run alone\n%s seeds %llu %d\n",
                  (unsigned long long)first, status, path, (unsigned long long)first, FUZZ_INPUTS_A_UNIT);
}

const struct kind fuzz_kinds[] = {
    {"passes", "random programs, the interpreter behind each pass", work_passes, open_session},
    {"products", "loops over products, the interpreter behind each pass of a GPU's pipeline", work_products,
     open_session},
    {"loops", "loops whose loads feed no product, likewise", work_loops, open_session},
    {"rows", "rows wider than registers hold, likewise", work_rows, open_session},
    {"touch", "accesses to the same elements again and again, likewise", work_touch, open_session},
    {"variables", "few variables that are assigned again and again, likewise or as machine code of this processor",
     work_variables, open_session},
    {"cpu", "random programs as machine code of this processor", work_cpu, open_session},
    {"text", "random sources, their instances against passes, code and each other", work_text, NULL},
    {"compile",
     "random programs under four schedules each, as libraries for a GPU; a unit is 64 programs and a schedule; with a "
     "folder those of its SEED.tir",
     fuzz_bundle_compile, fuzz_bundle_open},
    {"run", "runs what `compile` made", fuzz_bundle_run, NULL},
    {"inputs", "changed inputs of a corpus; with the path of its test", work_inputs, NULL},
};
const int fuzz_kind_count = (int)(sizeof fuzz_kinds / sizeof *fuzz_kinds);
