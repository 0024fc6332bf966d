/* Plans as data: made, copied, kept, checked.  See plan.h. */
#include "ir/plan.h"

#include <string.h>

enum { MOST_SLOTS = 64, MOST_AHEAD = 64, MOST_WARPS = 64, MOST_REGISTERS = 255 };

struct ir_plan *ir_plan_of(const struct ir_operation *loop)
{
    const struct ir_attribute *attribute = ir_attribute(loop, IR_ATTRIBUTE_PLAN);
    return attribute ? attribute->plan : NULL;
}

struct ir_plan *ir_plan_asked(const struct ir_operation *loop)
{
    const struct ir_attribute *attribute = ir_attribute(loop, IR_ATTRIBUTE_ASKED);
    return attribute ? attribute->plan : NULL;
}

struct ir_plan *ir_plan_make(struct arena *arena)
{
    struct ir_plan *plan = ARENA_NEW(arena, struct ir_plan);
    plan->arena = arena;
    for (int role = 0; role < 2; role++)
        plan->warps[role] = plan->registers[role] = IR_PLAN_OPEN;
    plan->apart = plan->programs = plan->turns = plan->together = IR_PLAN_OPEN;
    return plan;
}

struct ir_plan *ir_plan_copy(struct arena *arena, const struct ir_plan *plan)
{
    struct ir_plan *copy = ARENA_NEW(arena, struct ir_plan);
    *copy = *plan;
    copy->arena = arena;
    memset(&copy->inputs, 0, sizeof copy->inputs);
    memset(&copy->products, 0, sizeof copy->products);
    for (int i = 0; i < plan->inputs.count; i++) {
        struct ir_plan_input input = plan->inputs.data[i];
        input.name = arena_printf(arena, "%s", input.name);
        ir_plan_explain(arena, &input.why, input.why);
        vector_push(arena, &copy->inputs, input);
    }
    for (int i = 0; i < plan->products.count; i++) {
        struct ir_plan_product product = plan->products.data[i];
        ir_plan_explain(arena, &product.why, product.why);
        vector_push(arena, &copy->products, product);
    }
    ir_plan_explain(arena, &copy->why, plan->why);
    ir_plan_explain(arena, &copy->why_together, plan->why_together);
    ir_plan_explain(arena, &copy->why_one, plan->why_one);
    return copy;
}

void ir_plan_keep(struct ir_operation *loop, const struct ir_operation *from)
{
    struct arena *arena = loop->block->function->module->arena;
    if (ir_plan_of(from))
        ir_set_plan(loop, IR_ATTRIBUTE_PLAN, ir_plan_copy(arena, ir_plan_of(from)));
    if (ir_plan_asked(from))
        ir_set_plan(loop, IR_ATTRIBUTE_ASKED, ir_plan_copy(arena, ir_plan_asked(from)));
}

struct ir_plan_input *ir_plan_add_input(struct ir_plan *plan, const char *name, struct location at)
{
    struct ir_plan_input input = {
        .name = name, .at = at, .slots = IR_PLAN_OPEN, .bytes = IR_PLAN_OPEN, .ahead = IR_PLAN_OPEN};
    vector_push(plan->arena, &plan->inputs, input);
    return &plan->inputs.data[plan->inputs.count - 1];
}

struct ir_plan_product *ir_plan_add_product(struct ir_plan *plan, struct location at)
{
    struct ir_plan_product product = {.at = at, .stage = IR_PLAN_OPEN, .in_flight = IR_PLAN_OPEN};
    vector_push(plan->arena, &plan->products, product);
    return &plan->products.data[plan->products.count - 1];
}

void ir_plan_explain(struct arena *arena, const char **why, const char *text)
{
    *why = text ? arena_printf(arena, "%s", text) : NULL;
}

static bool is_within(int number, int most) { return number == IR_PLAN_OPEN || (number >= 0 && number <= most); }

static const char *input_problem(const struct ir_plan *plan, int index)
{
    const struct ir_plan_input *input = &plan->inputs.data[index];
    for (int i = 0; i < index; i++)
        if (!strcmp(plan->inputs.data[i].name, input->name))
            return "a plan has two inputs of one name";
    if (input->slots == 0 || !is_within(input->slots, MOST_SLOTS))
        return "an input has 1 to 64 slots";
    if (!is_within(input->ahead, MOST_AHEAD))
        return "an input comes 0 to 64 iterations ahead";
    return input->bytes < IR_PLAN_OPEN ? "a slot has no bytes" : NULL;
}

const char *ir_plan_problem(const struct ir_plan *plan)
{
    const char *problem = plan ? NULL : "an attribute lacks its plan";
    for (int i = 0; plan && i < plan->inputs.count && !problem; i++)
        problem = input_problem(plan, i);
    for (int i = 0; plan && i < plan->products.count && !problem; i++) {
        if (!is_within(plan->products.data[i].stage, 1))
            problem = "a product stands in stage 0 or 1";
        else if (!is_within(plan->products.data[i].in_flight, 1))
            problem = "a product is waited for at once, or behind one more";
    }
    if (problem || !plan)
        return problem;
    for (int role = 0; role < 2; role++)
        if (!is_within(plan->warps[role], MOST_WARPS) || !is_within(plan->registers[role], MOST_REGISTERS))
            return "a role has up to 64 warps, and their threads up to 255 registers";
    if ((plan->warps[0] == IR_PLAN_OPEN) != (plan->warps[1] == IR_PLAN_OPEN))
        return "roles are a consumer's and a producer's";
    if (plan->together == 0 || !is_within(plan->together, MOST_AHEAD))
        return "1 to 64 iterations make their reads together";
    if (!is_within(plan->apart, 1))
        return "groups of warps store apart, 1, or do not, 0";
    if (plan->programs == 0 || !is_within(plan->programs, 2))
        return "1 or 2 groups of warps take programs";
    return is_within(plan->turns, 1) ? NULL : "groups of warps take turns, 1, or do not, 0";
}
