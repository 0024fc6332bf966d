/* A program's result before any pass is the reference; it must not depend on the order of instances, must survive being printed
 * and read back, and must stay the same behind every pass, each run alone and all in a random sequence. */
#include <string.h>

#include "differential.h"
#include "ir/text.h"
#include "ir/verify.h"
#include "passes/pass.h"

struct check { struct fuzz_program *program; struct fuzz_memory *reference; struct arena *arena; struct buffer *report; struct fuzz_counts *counts; };

static bool fail(struct check *c, const struct ir_module *module, const char *where, const char *what)
{
    buffer_printf(c->report, "seed %llu: %s: %s\n", (unsigned long long)c->program->seed, where, what);
    ir_print_module(c->report, module, false);
    return false;
}

static bool verified(struct check *c, const struct ir_module *module, const char *where)
{
    struct diagnostics *diagnostics = diagnostics_create(c->arena);
    if (ir_verify_module(module, diagnostics))
        return true;
    return fail(c, module, where, diagnostics->first->text);
}

/* Runs `function` and compares with the reference. */
static bool agrees(struct check *c, const struct ir_function *function, bool reverse, const char *where)
{
    struct fuzz_memory *memory = fuzz_memory_create(c->program);
    struct interp_problem problem;
    char text[200];
    bool good = fuzz_interpret(c->program, function, memory, reverse, &problem);
    if (!good)
        fail(c, function->module, where, problem.text);
    else if (!(good = fuzz_same(c->program, c->reference, memory, text, sizeof text)))
        fail(c, function->module, where, text);
    fuzz_memory_free(memory);
    c->counts->runs++;
    return good;
}

static struct ir_module *read_back(struct check *c, const struct buffer *text, const char *where)
{
    struct source source = { .name = where, .text = text->data, .size = text->size };
    struct diagnostics *diagnostics = diagnostics_create(c->arena);
    struct ir_module *module = ir_parse_module(c->program->module->context, c->arena, diagnostics, &source);
    if (!module)
        buffer_printf(c->report, "seed %llu: %s: %d:%d: %s\n%s", (unsigned long long)c->program->seed, where,
                      diagnostics->first->at.line, diagnostics->first->at.column, diagnostics->first->text, text->data);
    return module;
}

static bool round_trip(struct check *c, struct buffer *text)
{
    struct buffer again = { 0 };
    struct ir_module *module = read_back(c, text, "read back");
    bool good = module != NULL;
    if (good) {
        ir_print_module(&again, module, false);
        good = again.size == text->size && !memcmp(again.data, text->data, text->size);
        if (!good)
            fail(c, module, "round trip", "printed again, the text differs");
    }
    buffer_free(&again);
    return good;
}

static bool value_pass(const struct pass_info *pass) { return pass->in == IR_LEVEL_VALUE && pass->out == IR_LEVEL_VALUE; }

static bool run_pass(struct check *c, struct ir_function *function, const struct pass_info *pass)
{
    struct pass_run run = { .passes = &pass, .count = 1 };
    struct diagnostics *diagnostics = diagnostics_create(c->arena);
    struct pass_context context = { .arena = c->arena, .diagnostics = diagnostics, .name = pass->name };
    if (!pass_run_all(&run, function, &context))
        return fail(c, function->module, pass->name, diagnostics->first ? diagnostics->first->text : "the pass failed");
    return agrees(c, function, false, pass->name);
}

/* Passes need the whole module: helpers are called.  Each trial starts from the text. */
static struct ir_function *fresh(struct check *c, const struct buffer *text)
{
    struct ir_module *module = read_back(c, text, "fresh");
    return module ? ir_function_find(module, "fuzz") : NULL;
}

static bool each_pass_alone(struct check *c, const struct buffer *text)
{
    for (int i = 0; i < pass_count; i++) {
        if (!value_pass(&pass_table[i]))
            continue;
        struct ir_function *function = fresh(c, text);
        if (!function || !run_pass(c, function, &pass_table[i]))
            return false;
    }
    return true;
}

static bool random_sequence(struct check *c, const struct buffer *text)
{
    struct random random = { c->program->seed ^ 0x5eed };
    struct ir_function *function = fresh(c, text);
    for (int i = 0; function && i < 12; i++) {
        const struct pass_info *pass = &pass_table[random_below(&random, pass_count)];
        if (value_pass(pass) && !run_pass(c, function, pass))
            return false;
    }
    return function != NULL;
}

static void count(struct ir_operation *operation, void *context)
{
    struct fuzz_counts *counts = context;
    const struct ir_value *about = operation->operand_count ? operation->operands[0]
                                   : operation->result_count ? operation->results[0] : NULL;
    if (about)
        counts->operations[operation->opcode][about->type->element]++;
}

static bool check_program(struct check *c, struct buffer *text)
{
    const struct ir_function *function = c->program->function;
    struct interp_problem problem;
    if (!verified(c, c->program->module, "generated"))
        return false;
    for (struct ir_function *each = c->program->module->first; each; each = each->next)
        ir_walk(each->body, count, c->counts);
    if (!fuzz_interpret(c->program, function, c->reference, false, &problem))
        return fail(c, c->program->module, "generated", problem.text);
    ir_print_module(text, c->program->module, false);
    return agrees(c, function, true, "instances in reverse order") && round_trip(c, text) && each_pass_alone(c, text) &&
           random_sequence(c, text);
}

bool fuzz_check_seed(uint64_t seed, struct fuzz_limits limits, struct fuzz_counts *counts, struct buffer *report)
{
    struct arena *arena = arena_create();
    struct ir_context *context = ir_context_create(arena);
    struct check c = { .arena = arena, .report = report, .counts = counts };
    struct buffer text = { 0 };
    c.program = fuzz_generate(context, arena, seed, limits);
    c.reference = fuzz_memory_create(c.program);
    bool good = check_program(&c, &text);
    counts->programs++;
    fuzz_memory_free(c.reference);
    buffer_free(&text);
    arena_destroy(arena);
    return good;
}

void fuzz_print_counts(const struct fuzz_counts *counts, int64_t least, FILE *out)
{
    fprintf(out, "programs %lld, runs %lld\n", (long long)counts->programs, (long long)counts->runs);
    for (int op = 0; op < OP_COUNT; op++) {
        int64_t total = 0;
        for (int e = 0; e < IR_ELEMENT_COUNT; e++)
            total += counts->operations[op][e];
        if (!total && least >= 0)
            continue;
        fprintf(out, "%-14s", ir_op_info[op].text);
        for (int e = 0; e < IR_ELEMENT_COUNT; e++)
            if (counts->operations[op][e])
                fprintf(out, " %s %lld", ir_element_info[e].text, (long long)counts->operations[op][e]);
        fputc('\n', out);
    }
}
