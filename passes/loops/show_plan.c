/* What a plan says, as lines that a person reads.  See show_plan.h. */
#include "passes/loops/show_plan.h"

#include <string.h>

#include "passes/base/planning.h"
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
    if (kernel && kernel->apart == 1)
        buffer_puts(out, "; groups of four warps store their own rows by themselves");
    else if (kernel && kernel->apart == 0)
        buffer_printf(out, "; all store tiles together (%s)", kernel->why_together);
    if (kernel && kernel->programs > 1)
        buffer_printf(out, "; %d groups of warps take programs in turn", kernel->programs);
    else if (kernel && kernel->programs == 1)
        buffer_printf(out, "; one group of warps takes all programs (%s)", kernel->why_one);
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

void show_plan(struct pass_context *context, const struct ir_operation *loop, const struct ir_plan *plan)
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
