/* plan_loops: each loop that reads tiles or multiplies gets a plan (ir/plan.h) with its inputs and products.
 *
 *     for %k = %lo to %hi step %s iter(%acc …) {
 *         %x = load %a[…]     %y = load %b[…]     %sum = dot %x, %y, %acc …
 *     }
 * becomes
 *     for %k = … plan(input a tma; input b tma; product 0) iter(%acc …) { … }
 *
 * On which way the factors of matrix instructions come is decided here (factor_way.h).  The rest is open: passes behind this
 * one fill in what they decide, and settle_plans shows it.  What the command asks for
 * (--plan) stands beside it from here on, as `asked`.  Right because a plan changes nothing that the loop computes. */
#include <string.h>

#include "passes/base/planning.h"
#include "passes/base/rewrite.h"
#include "passes/loops/buffer_copy.h"
#include "passes/loops/factor_way.h"
#include "passes/loops/loop_model.h"

enum { ROOMY = TARGET_THREAD_REGISTERS / 2 /* registers of a thread for tiles */ };

/* Why the loop cannot have the plan, as it does not do what that speaks of; NULL: it does. */
static const char *find_stranger(struct arena *arena, const struct ir_plan *asked, const struct ir_plan *plan)
{
    struct buffer names = {0};
    for (int i = 0; i < plan->inputs.count; i++)
        buffer_printf(&names, "%s%s", i ? ", " : "", plan->inputs.data[i].name);
    const char *all = arena_printf(arena, "%s", plan->inputs.count ? names.data : "nothing");
    buffer_free(&names);
    for (int i = 0; i < asked->inputs.count; i++) {
        bool known = false;
        for (int k = 0; k < plan->inputs.count && !known; k++)
            known = !strcmp(asked->inputs.data[i].name, plan->inputs.data[k].name);
        if (!known)
            return arena_printf(arena, "the loop has no input %s; it reads %s", asked->inputs.data[i].name, all);
    }
    return asked->products.count > plan->products.count ? arena_printf(arena, "the loop has no product %d; it has %d",
                                                                       asked->products.count - 1, plan->products.count)
                                                        : NULL;
}

struct beginning {
    struct pass_context *context;
    bool by_threads; /* all that products read */
    bool changed;
};

static void begin(struct ir_operation *op, void *data)
{
    struct beginning *b = data;
    if (op->opcode != OP_FOR || ir_plan_of(op))
        return;
    planning_begin(op);
    if (!ir_plan_of(op))
        return;
    b->changed = true;
    const struct asked_plan *asked = planning_find_asked(b->context, op);
    const char *stranger = asked ? find_stranger(b->context->arena, asked->plan, ir_plan_of(op)) : NULL;
    if (stranger)
        planning_note_asked(b->context, op, stranger);
    else if (asked)
        ir_set_plan(op, IR_ATTRIBUTE_ASKED, ir_plan_copy(op->block->function->module->arena, asked->plan));
}

/* ---- the ways of factors ---- */

/* An input that stands for several reads with ways of their own stays open. */
static void plan_factor(const struct ir_operation *load, enum ir_way way, const char *why)
{
    struct ir_plan_input *input = planning_input(load);
    if (!input || input->differs)
        return;
    input->differs = input->way != IR_WAY_OPEN && input->way != way;
    planning_tell_input(load, input->differs ? IR_WAY_OPEN : way, why);
}

static void plan_factors(struct ir_operation *dot, void *data)
{
    const struct beginning *b = data;
    if (dot->opcode != OP_DOT || ir_number(dot, IR_ATTRIBUTE_INSTRUCTION, IR_INSTRUCTION_FMA) == IR_INSTRUCTION_FMA)
        return;
    for (int i = 0; i < 2; i++) {
        const struct ir_operation *load = factor_source_of(dot->operands[i]).origin->definition;
        const char *why;
        if (!load || load->opcode != OP_LOAD)
            continue;
        enum ir_way way = factor_way(b->context->target, dot, i, b->by_threads, &why);
        plan_factor(load, way, why);
    }
}

/* Why the row may not come beside factors that a producer brings, where it takes no registers until it is used; NULL: it
 * may.  Where registers have room for loads that run ahead, one more wait an iteration would bring nothing: a product of
 * 64 x 64 with a row in each 32 of k on an H200: 2.62 ms with it in registers, 3.42 by a producer; attention's gradients,
 * heads of 64: 2.55 and 1.56. */
static const char *row_problem(const struct beginning *b, const struct ir_operation *load)
{
    const char *why;
    if (!factor_row_buffer(load, &why))
        return why ? why : "the plan asks for it";
    bool roomy = loop_model_pressure(b->context->arena, load->block) <= ROOMY;
    return roomy && planning_asked_way(load) == IR_WAY_OPEN ? "registers have room for it" : NULL;
}

static void plan_row(struct ir_operation *load, void *data)
{
    const struct beginning *b = data;
    const struct ir_operation *loop = load->block->parent;
    const struct ir_plan *plan = loop && loop->opcode == OP_FOR ? ir_plan_of(loop) : NULL;
    bool beside = false;
    if (load->opcode != OP_LOAD || load->results[0]->type->rank != 1 || !plan || !buffer_has_roles(b->context->target))
        return;
    for (int i = 0; i < plan->inputs.count; i++)
        beside |= plan->inputs.data[i].way == IR_WAY_TMA;
    const char *why = beside ? row_problem(b, load) : NULL;
    if (beside)
        plan_factor(load, why ? IR_WAY_REGISTERS : IR_WAY_TMA, why);
}

/* ---- the pass ---- */

bool pass_plan_loops(struct ir_function *function, struct pass_context *context)
{
    struct beginning b = {.context = context};
    if (!pass_fuel(context))
        return false;
    ir_walk(function->body, begin, &b);
    b.by_threads = factor_all_by_threads(context->target, function);
    ir_walk(function->body, plan_factors, &b);
    ir_walk(function->body, plan_row, &b);
    return b.changed;
}
