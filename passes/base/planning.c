/* What loops' plans say of their operations.  See planning.h. */
#include "passes/base/planning.h"

#include <string.h>

#include "base/plant.h"
#include "ir/query.h"

bool planning_is_input(const struct ir_operation *op)
{
    switch (op->opcode) {
    case OP_LOAD:
    case OP_POINTER_LOAD: return op->results[0]->type->rank > 0;
    case OP_COPY_ASYNC:
    case OP_CP_ASYNC:
    case OP_TMA_LOAD: return true;
    default: return false;
    }
}

bool planning_is_product(const struct ir_operation *op) { return op->opcode == OP_DOT || op->opcode == OP_DOT_ASYNC; }

/* ---- names and places ---- */

/* Of the view or pointer that is read, through its parts, turns and sums, as the kernel calls it. */
static const char *read_name(struct arena *arena, const struct ir_operation *reader)
{
    const struct ir_value *value = reader->operands[0];
    while (value->definition && value->definition->operand_count)
        value = value->definition->operands[0];
    const char *name = value->name ? value->name : "";
    char *clean = arena_printf(arena, "%s", name);
    size_t size = 0;
    for (const char *c = name; *c; c++) /* what a plan's text can say */
        if ((*c >= 'a' && *c <= 'z') || (*c >= 'A' && *c <= 'Z') || (*c >= '0' && *c <= '9') || *c == '_' || *c == '.')
            clean[size++] = *c;
    clean[size] = '\0';
    return size ? clean : "memory";
}

static bool is_same_place(struct location a, struct location b)
{
    return a.source == b.source && a.line == b.line && a.column == b.column && a.inlined == b.inlined;
}

static struct ir_plan_input *input_at(const struct ir_plan *plan, struct location at)
{
    for (int i = 0; i < plan->inputs.count; i++)
        if (is_same_place(plan->inputs.data[i].at, at))
            return &plan->inputs.data[i];
    return NULL;
}

static struct ir_plan_product *product_at(const struct ir_plan *plan, struct location at)
{
    for (int i = 0; i < plan->products.count; i++)
        if (is_same_place(plan->products.data[i].at, at))
            return &plan->products.data[i];
    return NULL;
}

/* Those of one base: "a", "a.2" … */
static int count_inputs(const struct ir_plan *plan, const char *base)
{
    size_t size = strlen(base);
    int count = 0;
    for (int i = 0; i < plan->inputs.count; i++) {
        const char *name = plan->inputs.data[i].name;
        count += !strncmp(name, base, size) && (name[size] == '\0' || name[size] == '.');
    }
    return count;
}

/* ---- what a loop does ---- */

static void find_work(struct ir_plan *plan, const struct ir_block *block)
{
    for (const struct ir_operation *op = block->first; op; op = op->next) {
        if (planning_is_input(op) && !input_at(plan, op->at)) {
            const char *base = read_name(plan->arena, op);
            int before = count_inputs(plan, base);
            ir_plan_add_input(plan,
                              before ? arena_printf(plan->arena, "%s.%d", base, before + 1)
                                     : arena_printf(plan->arena, "%s", base),
                              op->at);
        }
        if (planning_is_product(op) && !product_at(plan, op->at))
            ir_plan_add_product(plan, op->at);
        for (int r = 0; r < op->region_count && !ir_has_trait(op, IR_TRAIT_LOOP); r++)
            find_work(plan, op->regions[r]);
    }
}

static struct ir_plan *work_of(const struct ir_operation *loop)
{
    struct ir_plan *plan = ir_plan_make(loop->block->function->module->arena);
    find_work(plan, loop->regions[0]);
    plan->settled = true;
    return plan;
}

void planning_begin(struct ir_operation *loop)
{
    struct ir_plan *plan = work_of(loop);
    if (plan->inputs.count || plan->products.count)
        ir_set_plan(loop, IR_ATTRIBUTE_PLAN, plan);
}

/* ---- what is said of one operation ---- */

/* The plan of the innermost loop around; one that was read as text learns here which places its names stand for. */
static struct ir_plan *plan_around(const struct ir_operation *op, struct ir_plan *of_loop(const struct ir_operation *))
{
    const struct ir_operation *loop = op->block->parent;
    while (loop && !ir_has_trait(loop, IR_TRAIT_LOOP))
        loop = loop->block->parent;
    struct ir_plan *plan = loop ? of_loop(loop) : NULL;
    if (!plan || plan->settled)
        return plan;
    const struct ir_plan *work = work_of(loop);
    for (int i = 0; i < plan->inputs.count; i++)
        for (int k = 0; k < work->inputs.count && !plan->inputs.data[i].at.line; k++)
            if (!strcmp(work->inputs.data[k].name, plan->inputs.data[i].name))
                plan->inputs.data[i].at = work->inputs.data[k].at;
    for (int i = 0; i < plan->products.count && i < work->products.count; i++)
        if (!plan->products.data[i].at.line)
            plan->products.data[i].at = work->products.data[i].at;
    plan->settled = true;
    return plan;
}

struct ir_plan_input *planning_input(const struct ir_operation *reader)
{
    struct ir_plan *plan = plan_around(reader, ir_plan_of);
    return plan ? input_at(plan, reader->at) : NULL;
}

struct ir_plan_product *planning_product(const struct ir_operation *product)
{
    struct ir_plan *plan = plan_around(product, ir_plan_of);
    return plan ? product_at(plan, product->at) : NULL;
}

const struct ir_plan_input *planning_asked_input(const struct ir_operation *reader)
{
    const struct ir_plan *plan = plan_around(reader, ir_plan_asked);
    return plan ? input_at(plan, reader->at) : NULL;
}

const struct ir_plan_product *planning_asked_product(const struct ir_operation *product)
{
    const struct ir_plan *plan = plan_around(product, ir_plan_asked);
    return plan ? product_at(plan, product->at) : NULL;
}

enum ir_way planning_asked_way(const struct ir_operation *reader)
{
    const struct ir_plan_input *input = planning_asked_input(reader);
    return input ? input->way : IR_WAY_OPEN;
}

int planning_asked_slots(const struct ir_operation *reader)
{
    const struct ir_plan_input *input = planning_asked_input(reader);
    return input ? input->slots : IR_PLAN_OPEN;
}

/* ---- plans that the command asks for ---- */

struct asked_plan *planning_find_asked(const struct pass_context *context, const struct ir_operation *loop)
{
    for (int i = 0; context->asked && i < context->asked->count; i++) {
        struct asked_plan *asked = &context->asked->data[i];
        if (loop->at.source && loop->at.line == asked->line && !strcmp(loop->at.source->name, asked->file))
            return asked;
    }
    return NULL;
}

void planning_note_asked(struct pass_context *context, const struct ir_operation *loop, const char *problem)
{
    struct asked_plan *asked = planning_find_asked(context, loop);
    if (!asked)
        return;
    asked->done |= !problem || PLANTED(asked_plan_is_never_refused);
    if (!problem || asked->problem)
        return;
    asked->problem = arena_printf(context->asked->arena, "%s", problem);
    asked->instance = context->instance;
    asked->at = loop->at;
}

/* ---- roles ---- */

void planning_tell_roles(struct ir_function *function, int compute, int bring, const char *why)
{
    if (!function->plan)
        function->plan = ir_plan_make(function->module->arena);
    function->plan->warps[0] = compute;
    function->plan->warps[1] = bring;
    ir_plan_explain(function->module->arena, &function->plan->why, why);
}

bool planning_has_producer(const struct ir_function *function)
{
    return function->plan && function->plan->warps[1] > 0;
}

const char *planning_why_no_producer(const struct ir_function *function)
{
    return function->plan && function->plan->warps[1] == 0 ? function->plan->why : NULL;
}

struct asked_stores {
    int apart, programs;
};

static void find_asked(struct ir_operation *op, void *data)
{
    struct asked_stores *asked = data;
    const struct ir_plan *plan = op->opcode == OP_FOR ? ir_plan_asked(op) : NULL;
    asked->apart = plan && plan->apart != IR_PLAN_OPEN ? plan->apart : asked->apart;
    asked->programs = plan && plan->programs != IR_PLAN_OPEN ? plan->programs : asked->programs;
}

int planning_asked_apart(const struct ir_function *function)
{
    struct asked_stores asked = {IR_PLAN_OPEN, IR_PLAN_OPEN};
    ir_walk(function->body, find_asked, &asked);
    return asked.apart;
}

int planning_asked_programs(const struct ir_function *function)
{
    struct asked_stores asked = {IR_PLAN_OPEN, IR_PLAN_OPEN};
    ir_walk(function->body, find_asked, &asked);
    return asked.programs;
}

static struct ir_plan *plan_of_kernel(struct ir_function *function)
{
    if (!function->plan)
        function->plan = ir_plan_make(function->module->arena);
    return function->plan;
}

void planning_tell_programs(struct ir_function *function, int programs, const char *why)
{
    plan_of_kernel(function)->programs = programs;
    ir_plan_explain(function->module->arena, &function->plan->why_one, why);
}

void planning_tell_apart(struct ir_function *function, const char *why_together)
{
    plan_of_kernel(function)->apart = !why_together;
    ir_plan_explain(function->module->arena, &function->plan->why_together, why_together);
}

/* ---- what passes tell ---- */

void planning_tell_input(const struct ir_operation *reader, enum ir_way way, const char *why)
{
    struct ir_plan_input *input = planning_input(reader);
    if (!input)
        return;
    input->way = way;
    if (why && !input->why)
        ir_plan_explain(reader->block->function->module->arena, &input->why, why);
}

void planning_tell_product(const struct ir_operation *product, int stage, const char *why)
{
    struct ir_plan_product *planned = planning_product(product);
    if (!planned)
        return;
    planned->stage = stage;
    if (why && !planned->why)
        ir_plan_explain(product->block->function->module->arena, &planned->why, why);
}
