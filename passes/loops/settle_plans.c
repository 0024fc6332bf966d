/* settle_plans: behind all that decides how loops work, what a plan (ir/plan.h) leaves open is as a loop does it by itself:
 * an input comes to registers, a product is one of its own iteration.  What was asked for and is not done is noted, for the
 * command to tell.  And each plan is shown, as a remark:
 *
 *     an iteration takes 1069 cycles or more; its limit: tensor cores
 *       | input a: tma, 4 slots of 16384 bytes (an iteration takes 1536 cycles, a copy 2536, so that 3 hide it)
 *       | product 0: in its own iteration, waited for at once (another warpgroup multiplies meanwhile)
 *       | 8 warps with 232 registers compute, 4 with 40 bring
 *       | cycles: issue of its warps 21, tensor cores 1024, shared memory 1024, L2 1069, round the loop 589
 *       | warps   |p.............................................w.................| 1487 cycles in order
 *       | tensor  |00000000000000000000000000000000000000000000....................|
 *
 * The cycles are the model's (loop_model.h) of the loop as it is now, copies of a producer for it included.  The lines are
 * one iteration from left to right, what warps issue and what tensor cores work on. */
#include <string.h>

#include "passes/base/planning.h"
#include "passes/base/rewrite.h"
#include "passes/loops/loop_model.h"

enum { COLUMNS = 64 };

/* ---- what the plan says ---- */

static void show_reason(struct buffer *out, const char *why) { buffer_printf(out, why ? " (%s)" : "", why); }

static void show_input(struct buffer *out, const struct ir_plan_input *input)
{
    buffer_printf(out, "\n      | input %s: %s", input->name, ir_way_text(input->way));
    if (input->slots > 0)
        buffer_printf(out, ", %d slot%s of %d bytes", input->slots, input->slots == 1 ? "" : "s", input->bytes);
    if (input->ahead > 0)
        buffer_printf(out, ", %d iteration%s ahead", input->ahead, input->ahead == 1 ? "" : "s");
    show_reason(out, input->why);
}

static void show_product(struct buffer *out, const struct ir_plan_product *product, int index)
{
    buffer_printf(out, "\n      | product %d: %s", index,
                  product->stage == 1 ? "beside those of the next iteration" : "in its own iteration");
    if (product->in_flight != IR_PLAN_OPEN)
        buffer_puts(out, product->in_flight ? ", waited for behind the next one" : ", waited for at once");
    show_reason(out, product->why);
}

static void show_roles(struct buffer *out, const struct ir_plan *plan, const struct ir_plan *kernel)
{
    if (kernel && kernel->warps[1] > 0)
        buffer_printf(out, "\n      | %d warps with %d registers compute, %d with %d bring", kernel->warps[0],
                      kernel->registers[0], kernel->warps[1], kernel->registers[1]);
    else if (kernel && kernel->warps[1] == 0)
        buffer_printf(out, "\n      | %d warps do everything", kernel->warps[0]);
    if (kernel)
        show_reason(out, kernel->why);
    if (plan->turns == 1)
        buffer_puts(out, "; groups of four warps take turns at products");
    if (plan->together > 1)
        buffer_printf(out, "\n      | %d iterations make their reads together", plan->together);
}

/* ---- what the model says ---- */

static char letter_of(const struct ir_operation *op)
{
    switch (op->opcode) {
    case OP_DOT:
    case OP_DOT_ASYNC: return 'p';
    case OP_MBARRIER_WAIT:
    case OP_CP_WAIT:
    case OP_DOT_WAIT:
    case OP_BARRIER: return 'w';
    case OP_CP_ASYNC:
    case OP_TMA_LOAD: return 'c';
    case OP_LOAD:
    case OP_POINTER_LOAD: return 'l';
    case OP_STORE:
    case OP_POINTER_STORE:
    case OP_ATOMIC: return 's';
    case OP_REDUCE:
    case OP_SCAN: return 'r';
    case OP_CONVERT_LAYOUT:
    case OP_BUFFER_LOAD:
    case OP_BUFFER_STORE: return 'm';
    default: return 'v';
    }
}

/* Fills a line from one cycle to another, one place at least. */
static void draw(char *line, double from, double to, double all, char letter)
{
    int first = (int)(from * COLUMNS / all), last = (int)(to * COLUMNS / all);
    for (int i = first; i < COLUMNS && (i == first || i < last); i++)
        if (line[i] == '.' || letter != 'v')
            line[i] = letter;
}

static void show_lines(struct buffer *out, const struct loop_model *model)
{
    char warps[COLUMNS + 1], tensor[COLUMNS + 1];
    double busy = 0;
    bool any = false;
    memset(warps, '.', COLUMNS);
    memset(tensor, '.', COLUMNS);
    warps[COLUMNS] = tensor[COLUMNS] = '\0';
    for (int i = 0, product = 0; i + 1 < model->count; i++) {
        const struct modelled_operation *made = &model->operations[i];
        double end = made->start + made->cost.issue;
        if (made->cost.issue > 0)
            draw(warps, made->start, end, model->chain, letter_of(made->operation));
        if (!planning_is_product(made->operation))
            continue;
        char digit = (char)('0' + product++ % 10);
        any |= made->cost.tensor > 0;
        busy = busy > end && made->cost.asynchronous ? busy : made->cost.asynchronous ? end : made->start;
        if (made->cost.tensor > 0)
            draw(tensor, busy, busy + made->cost.tensor, model->chain, digit);
        busy += made->cost.tensor;
    }
    buffer_printf(out, "\n      | warps   |%s| %.0f cycles in order", warps, model->chain);
    if (any)
        buffer_printf(out, "\n      | tensor  |%s|", tensor);
    buffer_puts(out,
                "\n      | (p product, w wait, c copy, l load, s store, r reduction, m shared memory, v other work)");
}

static struct loop_cost brought_by_producer(const struct ir_plan *plan, const struct target_row *target)
{
    const struct target_costs *costs = target_costs(target);
    struct loop_cost more = {0};
    for (int i = 0; i < plan->inputs.count; i++)
        if (plan->inputs.data[i].way == IR_WAY_TMA && plan->inputs.data[i].bytes > 0) {
            more.l2 += plan->inputs.data[i].bytes / costs->l2_bytes;
            more.shared += plan->inputs.data[i].bytes / costs->shared_bytes;
        }
    return more;
}

static void show_bounds(struct buffer *out, const struct loop_bounds *bounds)
{
    const char *separator = "\n      | cycles: ";
#define X(name, text)                                                                    \
    if (bounds->resource[LOOP_##name] > 0) {                                             \
        buffer_printf(out, "%s" text " %.0f", separator, bounds->resource[LOOP_##name]); \
        separator = ", ";                                                                \
    }
    LOOP_RESOURCES(X)
#undef X
    if (bounds->recurrence > 0)
        buffer_printf(out, "%sround the loop %.0f", separator, bounds->recurrence);
}

static void show(struct pass_context *context, const struct ir_operation *loop, const struct ir_plan *plan)
{
    struct buffer text = {0};
    struct loop_model model = loop_model_make(context->arena, context->target, loop->regions[0], NULL, NULL);
    struct loop_cost more = brought_by_producer(plan, context->target);
    struct loop_bounds bounds = loop_model_bounds(context->arena, &model, &more);
    buffer_printf(&text, "an iteration takes %.0f cycles or more; its limit: %s", bounds.least, bounds.limit);
    for (int i = 0; i < plan->inputs.count; i++)
        show_input(&text, &plan->inputs.data[i]);
    for (int i = 0; i < plan->products.count; i++)
        show_product(&text, &plan->products.data[i], i);
    show_roles(&text, plan, loop->block->function->plan);
    show_bounds(&text, &bounds);
    show_lines(&text, &model);
    pass_remark(context, loop->at, "%s", text.data);
    buffer_free(&text);
}

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
    return problem;
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
        show(s->context, op, plan);
}

bool pass_settle_plans(struct ir_function *function, struct pass_context *context)
{
    struct settling s = {.context = context};
    if (pass_fuel(context))
        ir_walk(function->body, visit, &s);
    return s.changed;
}
