/* Promises and checks: static_assert when compiling; assume and assert when running (walk/check.c). */
#include "front/builtins/builtins.h"

#include <string.h>

struct value build_assume(struct elaborator *e, struct call *call, int detail)
{
    (void)detail;
    const struct ast_expression *said = call->expression->arguments.data[0]->value;
    struct value v = elaborate_condition(e, said, "what `assume` says");
    if (v.kind == VALUE_BOOL && !v.truth)
        front_report(e, DIAGNOSTIC_E0503, call->at, "this is known to be false");
    if (v.kind == VALUE_RUN && v.run->type->rank == 0) {
        if (e->in_map)
            return (struct value){.kind = VALUE_VOID, .at = call->at}; /* nothing can be said of one element */
        if (!e->front->options->check_assumes)
            ir_build(&e->builder, OP_ASSUME, 1, &v.run, 0, NULL);
        else if (check_is_possible(e))
            check_demand(e, v.run, check_text(e, arena_printf(e->arena, "assume(%s)", front_source(e, said))), NULL,
                         call->at);
    }
    return value_is_error(v) ? v : (struct value){.kind = VALUE_VOID, .at = call->at};
}

/* Values of a failing assert stand behind its word, of the first that fails alone. */
static void store_values(struct elaborator *e, int count, const struct value *values, const char **conversions)
{
    for (int i = 0; i < count; i++)
        report_store(e, KERNEL_REPORT_VALUES + i, text_bits(e, values[i], conversions[i]));
}

struct value build_assert(struct elaborator *e, struct call *call, int detail)
{
    (void)detail;
    const struct ast_expression *said = call->expression->arguments.data[0]->value;
    struct value values[MOST_ARGUMENTS], v = elaborate_condition(e, said, "what `assert` says");
    bool has_text = call->count > 1 && call->argument[1].kind == VALUE_STRING;
    int count = call->count > 2 ? call->count - 2 : 0;
    const char **conversions = NULL, *text = "";
    if (call->count > 1 && !has_text)
        return call_wrong(e, call, call->argument[1], "a text as its second argument");
    if (value_is_error(v))
        return v;
    if (!e->function)
        return (struct value){.kind = VALUE_VOID, .at = call->at};
    struct ir_block *saved, *store = region_begin(e, &saved); /* becomes part of the branch, or nothing */
    bool good = text_values(e, call, 2, values);
    for (int i = 0; good && i < count; i++)
        if (value_is_tile(values[i])) {
            call_wrong(e, call, values[i], "scalars behind its text");
            good = false;
        }
    if (good && has_text)
        good = (text = text_of_values(e, call, call->argument[1].string, count, values, &conversions)) != NULL;
    if (!e->front->options->check_asserts)
        e->front->leaves_asserts = true;
    bool wanted = e->front->options->check_asserts && check_is_possible(e) && !(v.kind == VALUE_BOOL && v.truth);
    if (good && wanted)
        store_values(e, count, values, conversions);
    region_end(e, saved);
    if (!good)
        return value_error(call->at);
    if (wanted) {
        struct ir_value *condition = v.kind == VALUE_RUN ? v.run : value_materialize(e, v).run;
        const char *whole = arena_printf(e->arena, "assert(%s)", front_source(e, said));
        if (condition->type->rank == 0)
            check_demand(e, condition,
                         arena_printf(e->front->arena, has_text ? "%s (%s)" : "%s", check_text(e, whole), text),
                         count ? store : NULL, call->at);
    }
    return (struct value){.kind = VALUE_VOID, .at = call->at};
}

struct value build_static_assert(struct elaborator *e, struct call *call, int detail)
{
    (void)detail;
    struct value v = call->argument[0];
    if (v.kind == VALUE_BOOL && !v.truth)
        front_report(e, DIAGNOSTIC_E0503, call->at, "static_assert failed: %s",
                     call->count > 1 && call->argument[1].kind == VALUE_STRING
                         ? call->argument[1].string
                         : front_source(e, call->expression->arguments.data[0]->value));
    else if (v.kind != VALUE_BOOL && !value_is_error(v))
        front_report(e, DIAGNOSTIC_E0501, call->at, "`static_assert` takes a bool known when compiling; this is %s",
                     v.kind == VALUE_RUN || v.kind == VALUE_HOST ? "known only when running: `assert` takes it"
                                                                 : front_describe(e, v));
    return (struct value){.kind = VALUE_VOID, .at = call->at};
}
