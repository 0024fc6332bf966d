/* plan_loops: each loop that reads tiles or multiplies gets a plan (ir/plan.h) with its inputs and products.
 *
 *     for %k = %lo to %hi step %s iter(%acc …) {
 *         %x = load %a[…]     %y = load %b[…]     %sum = dot %x, %y, %acc …
 *     }
 * becomes
 *     for %k = … plan(input a; input b; product 0) iter(%acc …) { … }
 *
 * The plan is open: passes behind this one fill in what they decide, and settle_plans shows it.  Right because a plan
 * changes nothing that the loop computes. */
#include "passes/base/planning.h"
#include "passes/base/rewrite.h"

static void begin(struct ir_operation *op, void *data)
{
    bool *changed = data;
    if (op->opcode != OP_FOR || ir_plan_of(op))
        return;
    planning_begin(op);
    *changed |= ir_plan_of(op) != NULL;
}

bool pass_plan_loops(struct ir_function *function, struct pass_context *context)
{
    bool changed = false;
    if (pass_fuel(context))
        ir_walk(function->body, begin, &changed);
    return changed;
}
