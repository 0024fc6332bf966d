/* --plan: how the loop at a place of the source is to work.
 *
 *     --plan 'k.tile:14: input a cp_async slots(3); product 1 stage(0)'
 *
 * The place is written as messages write it, a column may follow the line; the plan as tile IR has it (ir/plan.h).  Passes
 * do what they can of it, and settle_plans notes what they could not. */
#include "driver/driver.h"

#include <string.h>

static bool is_digit(char c) { return c >= '0' && c <= '9'; }

/* ":14" or ":14:5", which a colon ends; NULL: it is none. */
static const char *take_line(const char *at, int *line)
{
    *line = 0;
    while (is_digit(*at) && *line < 100000000)
        *line = 10 * *line + (*at++ - '0');
    if (*line && *at == ':' && is_digit(at[1]))
        for (at++; is_digit(*at);)
            at++;
    return *line && *at == ':' ? at + 1 : NULL;
}

bool plan_option_add(struct options *options, const char *text)
{
    const char *colon = strchr(text, ':'), *where, *problem;
    struct asked_plan asked = {.file = arena_substring(options->arena, text, colon ? (size_t)(colon - text) : 0)};
    const char *rest = colon && colon != text ? take_line(colon + 1, &asked.line) : NULL;
    if (!rest) {
        driver_error(options, "--plan needs FILE:LINE: PLAN, not '%s'", text);
        return false;
    }
    asked.plan = ir_plan_parse(options->arena, rest, strlen(rest), &where, &problem);
    if (!problem)
        problem = ir_plan_problem(asked.plan);
    if (problem) {
        driver_error(options, "--plan: %s%s%s%s", problem, *where ? ", in front of '" : "", where, *where ? "'" : "");
        return false;
    }
    vector_push(options->arena, &options->plans, asked);
    return true;
}

void plan_option_begin(struct compilation *compilation)
{
    const struct asked_plans *asked = &compilation->options->plans;
    compilation->plans = (struct asked_plans){.arena = compilation->arena};
    for (int i = 0; i < asked->count; i++)
        vector_push(compilation->arena, &compilation->plans, asked->data[i]);
}

bool plan_option_report(struct compilation *compilation)
{
    bool good = true;
    for (int i = 0; i < compilation->plans.count; i++) {
        const struct asked_plan *asked = &compilation->plans.data[i];
        bool elsewhere = !asked->problem && compilation->source &&
                         strcmp(asked->file, compilation->source->name) != 0 && compilation->options->files.count > 1;
        if (asked->done || elsewhere)
            continue;
        struct diagnostic *d =
            asked->problem
                ? diag_report(compilation->diagnostics, DIAGNOSTIC_E1008, asked->at, "--plan: %s", asked->problem)
                : diag_report(compilation->diagnostics, DIAGNOSTIC_E1008, (struct location){0},
                              "--plan: no loop for a GPU that reads tiles or multiplies stands at %s:%d", asked->file,
                              asked->line);
        diag_instance(compilation->diagnostics, d, asked->instance);
        good = false;
    }
    return good;
}
