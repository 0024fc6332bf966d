/* See stage_plan.h. */
#include "passes/loops/stage_plan.h"

#include <math.h>

#include "base/plant.h"

double stage_plan_iteration(const struct loop_model *model, const struct stage_plan *plan, unsigned later)
{
    double work = model->chain - model->tensor, moved = 0;
    for (int p = 0; p < plan->count; p++)
        moved += later >> p & 1 ? model->operations[plan->position[p]].cost.tensor : 0;
    return fmax(model->chain - fmin(moved, work), fmax(model->tensor, model->memory));
}

/* Which products each operation needs in its own iteration; and for each product which products need it, in its own
 * iteration or the next: bits. */
static void find_needs(struct arena *arena, const struct loop_model *model, struct stage_plan *plan, unsigned *needing)
{
    int count;
    const struct loop_edge *edges = loop_model_edges(arena, model, &count);
    unsigned *next = ARENA_ARRAY(arena, unsigned, model->count + 1); /* of the iteration before */
    plan->needs = ARENA_ARRAY(arena, unsigned, model->count + 1);
    for (int p = 0; p < plan->count; p++)
        plan->needs[plan->position[p]] = 1u << p;
    for (int e = 0; e < count; e++) /* edges come in order of the operations that they lead to */
        plan->needs[edges[e].to] |= edges[e].distance == 0 ? plan->needs[edges[e].from] : 0;
    for (int e = 0; e < count; e++)
        next[edges[e].to] |= edges[e].distance == 1   ? plan->needs[edges[e].from]
                             : edges[e].distance == 0 ? next[edges[e].from]
                                                      : 0;
    for (int p = 0; p < plan->count; p++)
        for (int q = 0; q < plan->count; q++) {
            unsigned needs = plan->needs[plan->position[q]];
            needs |= PLANTED(stages_forget_next_iteration) ? 0 : next[plan->position[q]];
            needing[p] |= (needs >> p & 1) << q;
        }
}

/* Whether warps would have to work in stage 1, on what one of its products makes: registers hold that for two iterations
 * then, and stage 0 has less beside which tensor cores could work. */
static bool works_behind(const struct loop_model *model, const struct stage_plan *plan, unsigned later)
{
    for (int i = 0; i + 1 < model->count; i++) {
        const struct modelled_operation *made = &model->operations[i];
        bool waits = made->operation->opcode == OP_DOT_WAIT || made->cost.asynchronous;
        if ((plan->needs[i] & later) && !waits && made->cost.issue > 0)
            return true;
    }
    return false;
}

/* What stands in stage 1 is needed there alone. */
static bool is_possible(const struct loop_model *model, const struct stage_plan *plan, const unsigned *needing,
                        unsigned later)
{
    for (int p = 0; p < plan->count; p++)
        if ((later >> p & 1) && needing[p] & ~later)
            return false;
    return !works_behind(model, plan, later);
}

struct stage_plan stage_plan_make(struct arena *arena, const struct loop_model *model)
{
    struct stage_plan plan = {.in_order = model->iteration, .iteration = model->iteration};
    unsigned needing[STAGE_PRODUCTS] = {0};
    for (int i = 0; i < model->count; i++) {
        if (!model->operations[i].cost.asynchronous)
            continue;
        if (plan.count == STAGE_PRODUCTS) {
            plan.count = 0;
            break;
        }
        plan.position[plan.count++] = i;
    }
    find_needs(arena, model, &plan, needing);
    for (unsigned later = 1; later + 1 < 1u << plan.count; later++) { /* all in stage 1 is all in stage 0 */
        double iteration = stage_plan_iteration(model, &plan, later);
        if (iteration < plan.iteration && is_possible(model, &plan, needing, later)) {
            plan.iteration = iteration;
            plan.later = later;
        }
    }
    return plan;
}
