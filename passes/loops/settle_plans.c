/* settle_plans: behind all that decides how loops work, what a plan (ir/plan.h) leaves open is as a loop does it by itself:
 * an input comes to registers, a product is one of its own iteration.  What was asked for and is not done is noted, for the
 * command to tell.  And each plan is shown (show_plan.h). */
#include <string.h>

#include "passes/base/planning.h"
#include "passes/loops/show_plan.h"

/* ---- what was asked for ---- */

static const char *differs(struct arena *arena, const char *what, const char *asked, const char *done, const char *why)
{
    return arena_printf(arena, "%s: %s is asked for, and it is %s%s%s", what, asked, done, why ? ": " : "",
                        why ? why : "");
}

static const char *number_differs(struct arena *arena, const char *what, const char *word, int asked, int done,
                                  const char *why)
{
    if (asked == IR_PLAN_OPEN || asked == done || (asked == 0 && done == IR_PLAN_OPEN))
        return NULL;
    return differs(arena, what, arena_printf(arena, "%s(%d)", word, asked),
                   done == IR_PLAN_OPEN ? "not" : arena_printf(arena, "%s(%d)", word, done), why);
}

static const char *input_differs(struct arena *arena, const struct ir_plan_input *asked,
                                 const struct ir_plan_input *done)
{
    const char *what = arena_printf(arena, "input %s", asked->name), *problem = NULL;
    if (asked->way != IR_WAY_OPEN && asked->way != done->way)
        return differs(arena, what, ir_way_text(asked->way), ir_way_text(done->way), done->why);
    problem = number_differs(arena, what, "slots", asked->slots, done->slots, done->why);
    if (!problem)
        problem = number_differs(arena, what, "bytes", asked->bytes, done->bytes, NULL);
    return problem ? problem : number_differs(arena, what, "ahead", asked->ahead, done->ahead, done->why);
}

static const char *roles_differ(struct arena *arena, const struct ir_plan *asked, const struct ir_plan *kernel)
{
    static const char *const who[] = {"those that compute", "those that bring"};
    const char *problem = NULL;
    for (int role = 0; role < 2 && !problem; role++) {
        int warps = kernel ? kernel->warps[role] : IR_PLAN_OPEN,
            registers = kernel ? kernel->registers[role] : IR_PLAN_OPEN;
        problem = number_differs(arena, who[role], "warps", asked->warps[role], warps, kernel ? kernel->why : NULL);
        if (!problem)
            problem = number_differs(arena, who[role], "registers", asked->registers[role], registers, NULL);
    }
    if (!problem)
        problem = number_differs(arena, "stores", "apart", asked->apart, kernel ? kernel->apart : IR_PLAN_OPEN,
                                 kernel ? kernel->why_together : NULL);
    return problem ? problem
                   : number_differs(arena, "groups of warps", "programs", asked->programs,
                                    kernel ? kernel->programs : IR_PLAN_OPEN, kernel ? kernel->why_one : NULL);
}

/* The first thing that is asked for and not done, and why; NULL: all is. */
static const char *find_difference(struct arena *arena, const struct ir_plan *asked, const struct ir_plan *done,
                                   const struct ir_plan *kernel)
{
    const char *problem = roles_differ(arena, asked, kernel);
    if (!problem)
        problem = number_differs(arena, "the loop", "turns", asked->turns, done->turns, NULL);
    if (!problem)
        problem = number_differs(arena, "the loop", "together", asked->together, done->together, NULL);
    for (int i = 0; i < asked->inputs.count && !problem; i++)
        for (int k = 0; k < done->inputs.count && !problem; k++)
            if (!strcmp(asked->inputs.data[i].name, done->inputs.data[k].name))
                problem = input_differs(arena, &asked->inputs.data[i], &done->inputs.data[k]);
    for (int i = 0; i < asked->products.count && i < done->products.count && !problem; i++) {
        const struct ir_plan_product *one = &asked->products.data[i], *other = &done->products.data[i];
        const char *what = arena_printf(arena, "product %d", i);
        problem = number_differs(arena, what, "stage", one->stage, other->stage, other->why);
        if (!problem)
            problem = number_differs(arena, what, "in_flight", one->in_flight, other->in_flight, other->why);
    }
    return problem;
}

/* ---- the pass ---- */

/* Whether something was open. */
static bool settle(struct ir_plan *plan)
{
    bool open = false;
    for (int i = 0; i < plan->inputs.count; i++) {
        open |= plan->inputs.data[i].way == IR_WAY_OPEN;
        if (plan->inputs.data[i].way == IR_WAY_OPEN)
            plan->inputs.data[i].way = IR_WAY_REGISTERS;
    }
    for (int i = 0; i < plan->products.count; i++) {
        open |= plan->products.data[i].stage == IR_PLAN_OPEN;
        if (plan->products.data[i].stage == IR_PLAN_OPEN)
            plan->products.data[i].stage = 0;
    }
    return open;
}

struct settling {
    struct pass_context *context;
    bool changed;
};

static void visit(struct ir_operation *op, void *data)
{
    struct settling *s = data;
    struct ir_plan *plan = op->opcode == OP_FOR ? ir_plan_of(op) : NULL;
    if (!plan)
        return;
    s->changed |= settle(plan);
    if (ir_plan_asked(op))
        planning_note_asked(s->context, op,
                            find_difference(s->context->arena, ir_plan_asked(op), plan, op->block->function->plan));
    if (s->context->remarks)
        show_plan(s->context, op, plan);
}

bool pass_settle_plans(struct ir_function *function, struct pass_context *context)
{
    struct settling s = {.context = context};
    if (pass_fuel(context))
        ir_walk(function->body, visit, &s);
    return s.changed;
}
