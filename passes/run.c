/* The runner of passes: the table made from passes.def, the verifier behind each pass that changed something and behind
 * the last, and in debug builds the audit of kept analyses.  A pass that breaks the IR is our bug, and the runner names it. */
#include "passes/run.h"

#include <string.h>

#include "ir/facts/analysis.h"
#include "ir/text.h"
#include "ir/verify/verify.h"
#include "passes/audit.h"

#define PASS(name, in, out, needs, keeps, help) pass_function pass_##name;
#include "passes/passes.def"
#undef PASS

const struct pass_info pass_table[] = {
#define PASS(name, in, out, needs, keeps, help) \
    {#name, IR_LEVEL_##in, IR_LEVEL_##out, ANALYSIS_##needs, ANALYSIS_##keeps, help, pass_##name},
#include "passes/passes.def"
#undef PASS
};
const int pass_count = (int)(sizeof pass_table / sizeof *pass_table);

const struct pass_info *pass_find(const char *name)
{
    for (int i = 0; i < pass_count; i++)
        if (!strcmp(pass_table[i].name, name))
            return &pass_table[i];
    return NULL;
}

bool pass_parse_list(struct arena *arena, const char *text, const struct pass_info *const **passes, int *count,
                     const char **unknown)
{
    VECTOR(const struct pass_info *) list = {0};
    while (*text) {
        size_t size = strcspn(text, ",");
        const char *name = arena_substring(arena, text, size);
        const struct pass_info *pass = pass_find(name);
        if (!pass) {
            *unknown = name;
            return false;
        }
        vector_push(arena, &list, pass);
        text += size + (text[size] == ',');
    }
    *passes = list.data;
    *count = list.count;
    return true;
}

/* A pass that leads to another level starts at its own exactly. */
static bool fits_level(const struct pass_info *pass, const struct ir_function *function)
{
    return pass->in == pass->out ? function->level >= pass->in : function->level == pass->in;
}

/* Debug builds do not take a pass's word for it. */
static bool is_verified(bool changed, bool is_last)
{
#ifdef TILECC_DEBUG
    (void)changed;
    (void)is_last;
    return true;
#else
    return changed || is_last;
#endif
}

static bool run_one(const struct pass_info *pass, struct ir_function *function, struct pass_context *context,
                    bool is_last, bool *changed)
{
    struct arena *outer = context->arena;
    const char *outer_name = context->name;
    context->arena = arena_create();
    context->name = pass->name;
    context->ranges = pass->needs & ANALYSIS_RANGE ? ranges_analyse(function, context->arena) : NULL;
    struct pass_audit *audit = pass_audit_begin(pass, function, context->arena);
    int errors = context->diagnostics->errors;
    *changed = pass->run(function, context);
    bool found = context->diagnostics->errors > errors; /* by the pass itself */
    errors = context->diagnostics->errors;
    bool good = !is_verified(*changed, is_last) || ir_verify_function(function, context->diagnostics);
    if (!good) {
        struct diagnostic *report = diag_report(context->diagnostics, DIAGNOSTIC_E1005, function->at,
                                                "the pass '%s' broke @%s; this is a bug of tilecc", pass->name,
                                                function->name);
        diag_note(context->diagnostics, report, function->at, "%d rule%s broken, see above",
                  context->diagnostics->errors - errors, context->diagnostics->errors - errors == 1 ? "" : "s");
    } else if (pass->out != pass->in && function->level != pass->out) {
        diag_report(context->diagnostics, DIAGNOSTIC_E1005, function->at, "the pass '%s' left @%s at the wrong level",
                    pass->name, function->name);
        good = false;
    } else {
        const char *problem = pass_audit_end(audit, function);
        if (problem)
            diag_report(context->diagnostics, DIAGNOSTIC_E1005, function->at,
                        "the pass '%s' does not keep an analysis of @%s that it says it keeps: %s", pass->name,
                        function->name, problem);
        good = !problem && !found;
    }
    arena_destroy(context->arena);
    context->arena = outer;
    context->ranges = NULL;
    context->name = outer_name;
    return good;
}

/* The function as it is now, for check_machine at the end.  It belongs to no list of functions. */
static const struct ir_function *keep_reference(const struct ir_function *function, struct pass_context *context)
{
    struct ir_module *apart = ir_module_create(function->module->context, context->arena);
    return ir_function_clone(apart, function, function->name);
}

bool pass_run_all(const struct pass_run *run, struct ir_function *function, struct pass_context *context)
{
    context->reference = NULL;
    for (int i = 0; i < run->count; i++) {
        const struct pass_info *pass = run->passes[i];
        if (!fits_level(pass, function)) {
            diag_report(context->diagnostics, run->asked ? DIAGNOSTIC_E0414 : DIAGNOSTIC_E1005, function->at,
                        "the pass '%s' does not work at the %s level of @%s", pass->name,
                        ir_level_text(function->level), function->name);
            return false;
        }
        if (pass == &pass_table[PASS_plan_loops] && run->count > i + 1 && !run->asked)
            context->reference = keep_reference(function, context);
        bool changed = false;
        if (!run_one(pass, function, context, i + 1 == run->count, &changed))
            return false;
        if (run->after)
            run->after(pass, function, changed, run->after_context);
    }
    return true;
}
