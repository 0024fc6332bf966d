/* The runner of passes: a pass that breaks the IR, leaves the wrong level or claims to keep what it does not is found
 * and named; fuel, remarks and the call behind each pass. */
#include <string.h>

#include "ir/text.h"
#include "passes/run.h"
#include "targets/target.h"

static int failures;

static void expect(bool good, const char *what)
{
    if (good)
        return;
    failures++;
    printf("wrong: %s\n", what);
}

static const char text[] = "kernel @k(%x: view<i32, [?], [1], out>) grid(1) {\n"
                           "    %a = constant value(8) : i32\n"
                           "    %i = grid_index dimension(0) : index\n"
                           "    %b = add %a, %a : i32\n"
                           "    %c = add %b, %b : i32\n"
                           "    store %x[%i], %c\n"
                           "    return\n"
                           "}\n";

struct setting {
    struct arena *arena;
    struct diagnostics *diagnostics;
    struct ir_function *function;
    struct pass_context context;
};

static void setting_open(struct setting *setting)
{
    static const struct source source = {"test", text, sizeof text - 1, NULL};
    setting->arena = arena_create();
    setting->diagnostics = diagnostics_create(setting->arena);
    setting->function =
        ir_parse_module(ir_context_create(setting->arena), setting->arena, setting->diagnostics, &source)->first;
    setting->context = (struct pass_context){.arena = setting->arena, .diagnostics = setting->diagnostics};
}

static bool says(const struct diagnostics *diagnostics, enum diagnostic_code code, const char *part)
{
    for (const struct diagnostic *d = diagnostics->first; d; d = d->next)
        if (d->code == code && strstr(d->text, part))
            return true;
    return false;
}

static bool run(struct setting *setting, const struct pass_info *pass)
{
    struct pass_run list = {.passes = &pass, .count = 1};
    return pass_run_all(&list, setting->function, &setting->context);
}

/* ---- passes that do wrong ---- */

static bool drop_terminator(struct ir_function *function, struct pass_context *context)
{
    (void)context;
    ir_remove(function->body->last);
    return true;
}

static bool grow_constant(struct ir_function *function, struct pass_context *context)
{
    (void)context;
    ir_set_bits(function->body->first, IR_ATTRIBUTE_VALUE, 9); /* was a multiple of 8 */
    return true;
}

static bool nothing(struct ir_function *function, struct pass_context *context)
{
    (void)function;
    pass_remark(context, function->at, "found %d things", 3);
    return false;
}

static void test_broken(void)
{
    struct setting setting;
    const struct pass_info breaks = {"breaks", IR_LEVEL_VALUE, IR_LEVEL_VALUE, 0, 0, "", drop_terminator};
    setting_open(&setting);
    expect(!run(&setting, &breaks), "a pass that breaks the IR is found");
    expect(says(setting.diagnostics, DIAGNOSTIC_E1005, "'breaks'"), "it is named");
    expect(says(setting.diagnostics, DIAGNOSTIC_E1004, "does not end in return"), "the rule is named");
    arena_destroy(setting.arena);

    const struct pass_info stays = {"stays", IR_LEVEL_VALUE, IR_LEVEL_SCHEDULE, 0, 0, "", nothing};
    setting_open(&setting);
    expect(!run(&setting, &stays), "a pass that leaves the wrong level is found");
    expect(says(setting.diagnostics, DIAGNOSTIC_E1005, "wrong level"), "the level is told");
    arena_destroy(setting.arena);

    const struct pass_info late = {"late", IR_LEVEL_SCHEDULE, IR_LEVEL_SCHEDULE, 0, 0, "", nothing};
    setting_open(&setting);
    expect(!run(&setting, &late), "a pass of a later level does not run");
    expect(says(setting.diagnostics, DIAGNOSTIC_E1005, "does not work at the value level"), "the reason is told");
    arena_destroy(setting.arena);
}

static void test_audit(void)
{
#ifdef TILECC_DEBUG
    bool audited = true;
#else
    bool audited = false;
#endif
    struct setting setting;
    const struct pass_info claims = {"claims", IR_LEVEL_VALUE, IR_LEVEL_VALUE, 0, ANALYSIS_RANGE, "", grow_constant};
    const struct pass_info claims_less = {"claims_less", IR_LEVEL_VALUE, IR_LEVEL_VALUE, 0, ANALYSIS_DIVISIBILITY, "",
                                          grow_constant};
    const struct pass_info honest = {"honest", IR_LEVEL_VALUE, IR_LEVEL_VALUE, 0, 0, "", grow_constant};
    setting_open(&setting);
    expect(run(&setting, &claims) == !audited, "debug builds audit kept ranges");
    expect(says(setting.diagnostics, DIAGNOSTIC_E1005, "a range grew") == audited, "the audit says what");
    arena_destroy(setting.arena);
    setting_open(&setting);
    expect(run(&setting, &claims_less) == !audited, "debug builds audit kept divisibility");
    arena_destroy(setting.arena);
    setting_open(&setting);
    expect(run(&setting, &honest), "what is not claimed is not audited");
    arena_destroy(setting.arena);
}

static void test_fuel(void)
{
    static const int sums_left[] = {2, 1, 0, 0};
    for (int64_t amount = 0; amount < 4; amount++) {
        struct setting setting;
        int64_t fuel = amount;
        int sums = 0;
        setting_open(&setting);
        setting.context.fuel = &fuel;
        expect(run(&setting, pass_find("fold")), "fold runs");
        for (const struct ir_operation *op = setting.function->body->first; op; op = op->next)
            sums += op->opcode == OP_ADD;
        expect(sums == sums_left[amount], "a unit of fuel for each rewrite");
        expect(fuel == (amount > 2 ? amount - 2 : 0), "fuel that was not needed is left");
        arena_destroy(setting.arena);
    }
}

static void count_calls(const struct pass_info *pass, struct ir_function *function, bool changed, void *context)
{
    int *calls = context;
    (void)function;
    calls[changed ? 0 : 1]++;
    expect(pass->run != NULL, "the pass is told");
}

static void test_list(void)
{
    struct setting setting;
    const struct pass_info *const *passes;
    const char *unknown = NULL;
    int count, calls[2] = {0};
    setting_open(&setting);
    expect(pass_parse_list(setting.arena, "fold,dce,dce", &passes, &count, &unknown) && count == 3, "a list is read");
    struct pass_run list = {.passes = passes, .count = count, .after = count_calls, .after_context = calls};
    expect(pass_run_all(&list, setting.function, &setting.context), "it runs");
    expect(calls[0] == 2 && calls[1] == 1, "the call behind each pass knows whether it changed something");
    expect(!pass_parse_list(setting.arena, "fold,nonsense", &passes, &count, &unknown) && !strcmp(unknown, "nonsense"),
           "an unknown pass is named");
    arena_destroy(setting.arena);
}

static void test_remarks(void)
{
    const struct pass_info talks = {"talks", IR_LEVEL_VALUE, IR_LEVEL_VALUE, 0, 0, "", nothing};
    for (int wanted = 0; wanted < 2; wanted++) {
        struct setting setting;
        setting_open(&setting);
        setting.context.remarks = wanted;
        setting.diagnostics->enabled[DIAGNOSTIC_R2001] = 1;
        expect(run(&setting, &talks), "a pass that talks runs");
        expect(says(setting.diagnostics, DIAGNOSTIC_R2001, "talks: found 3 things") == (wanted == 1),
               "remarks when asked for");
        arena_destroy(setting.arena);
    }
}

static bool runs(const char *target, int level, const struct pass_info *pass)
{
    struct arena *arena = arena_create();
    int count;
    const struct pass_info *const *passes = pass_pipeline(arena, &target_rows[target_find(target)], level, &count);
    bool found = false;
    for (int i = 0; i < count; i++)
        found = found || passes[i] == pass;
    arena_destroy(arena);
    return found;
}

/* What the page says of levels is what the passes make of a function. */
static void test_levels(void)
{
    for (int kind = TARGET_CPU; kind <= TARGET_NVPTX; kind++)
        for (int optimization = 0; optimization < 3; optimization++) {
            enum ir_level level = IR_LEVEL_VALUE;
            for (int i = 0; i < pass_row_count; i++) {
                const struct pass_info *pass = &pass_table[pass_rows[i].pass];
                if (!(pass_rows[i].pipelines & PASS_PIPELINE(kind, optimization)))
                    continue;
                expect(pass_rows[i].level == level, pass->name);
                expect(pass->in == pass->out ? level >= pass->in : level == pass->in, pass->name);
                if (pass->in != pass->out)
                    level = pass->out;
            }
            enum ir_level last = kind == TARGET_CPU ? IR_LEVEL_VALUE
                                 : optimization     ? IR_LEVEL_MACHINE
                                                    : IR_LEVEL_SCHEDULE;
            expect(level == last, "the level that a pipeline ends at");
        }
}

/* A pass that says by its change whether it was given ranges. */
static bool sees_ranges(struct ir_function *function, struct pass_context *context)
{
    (void)function;
    return context->ranges != NULL;
}

static void note_change(const struct pass_info *pass, struct ir_function *function, bool changed, void *seen)
{
    (void)pass;
    (void)function;
    *(bool *)seen = changed;
}

static bool has_ranges(struct setting *setting, const struct pass_info *pass)
{
    bool seen = false;
    struct pass_run list = {.passes = &pass, .count = 1, .after = note_change, .after_context = &seen};
    expect(pass_run_all(&list, setting->function, &setting->context), pass->name);
    return seen;
}

/* The runner computes what a pass needs, and nothing else. */
static void test_needs(void)
{
    struct setting setting;
    setting_open(&setting);
    const struct pass_info with = {"with", IR_LEVEL_VALUE, IR_LEVEL_VALUE, ANALYSIS_RANGE, 0, "", sees_ranges};
    const struct pass_info without = {"without", IR_LEVEL_VALUE, IR_LEVEL_VALUE, 0, 0, "", sees_ranges};
    expect(has_ranges(&setting, &with), "a pass that needs ranges has them");
    expect(!has_ranges(&setting, &without), "one that does not need them has none");
    expect(!setting.context.ranges, "and nobody has them behind it");
    arena_destroy(setting.arena);
}

/* No pass is left out: simplify does what fold does, and those that know layouts or blocks are for GPUs. */
static void test_pipelines(void)
{
    static const char *const gpus[] = {"sm_75", "sm_80", "sm_90a"};
    for (int i = 0; i < pass_count; i++) {
        const struct pass_info *pass = &pass_table[i];
        bool value = pass->in == IR_LEVEL_VALUE && pass->out == IR_LEVEL_VALUE;
        if (pass == &pass_table[PASS_fold])
            continue;
        for (int g = 0; g < 3; g++)
            if (!runs(gpus[g], 2, pass))
                expect(false, pass->name);
        bool for_gpus = pass == &pass_table[PASS_choose_product] || pass == &pass_table[PASS_read_once] ||
                        pass == &pass_table[PASS_extract_elements] || pass == &pass_table[PASS_walk_ordered] ||
                        pass == &pass_table[PASS_near_exponentials] || pass == &pass_table[PASS_small_integers] ||
                        pass == &pass_table[PASS_order_words];
        if (value && !for_gpus)
            expect(runs("cpu", 2, pass), pass->name);
    }
    for (int level = 0; level < 3; level++)
        for (int g = 0; g < 3; g++)
            expect(runs(gpus[g], level, &pass_table[PASS_insert_barriers]) &&
                       runs(gpus[g], level, &pass_table[PASS_check_machine]),
                   "barriers, and who checks them");
}

int main(void)
{
    test_pipelines();
    test_levels();
    test_needs();
    test_broken();
    test_audit();
    test_fuel();
    test_list();
    test_remarks();
    printf("%d failures\n", failures);
    return failures != 0;
}
