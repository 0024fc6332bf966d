/* prefetch_loads: loads that feed no product run ahead of the iteration that uses them.
 *
 *     for %j = %lo to %hi step %s iter(%acc …) {
 *         %v = load %x[%m, %j +: 512], %zero
 *         %sum = add %acc, %v
 *         yield %sum
 *     }
 * becomes
 *     %v0 = if %lo < %hi { load %x[%m, %lo +: 512] } else { undefined }
 *     for %j = %lo to %hi step %s iter(%acc …, %v = %v0) {
 *         %next = if %hi - %j > %s { load %x[%m, %j + %s +: 512] } else { undefined }
 *         %sum = add %acc, %v
 *         yield %sum, %next
 *     }
 *
 * Three files do the work.  prefetch_loads_distance.c decides how many iterations ahead each load is made, by a model
 * of the loop and by the registers that there are.  prefetch_loads_emit.c builds the new loop.  Short iterations are
 * handled by prefetch_loads_together.c instead: several of them are written out and make their loads together, because
 * a value carried round a loop changes its register, and that waits for a load that is still running.
 *
 * Right because a load runs ahead only if its iteration comes, it has the same operands, and nothing in the loop
 * writes what it reads (but for a store behind it to the same view that other iterations do not read) or orders memory.
 * Scalars that the loop carries and that loads depend on are computed ahead too, if they are arithmetic on such scalars;
 * so is the condition of a while. */
#include "passes/loops/prefetch_loads.h"

#include "base/plant.h"
#include "ir/facts/alias.h"
#include "passes/layout/memory_access.h"
#include "passes/loops/iteration.h"
#include "passes/base/planning.h"
#include "passes/base/rewrite.h"
#include "targets/target.h"

enum { MOST_AHEAD = 2, NEVER = 66 /* steps */ };

/* ---- what can be computed ahead ---- */

static bool is_load(const struct ir_operation *op) { return op->opcode == OP_LOAD || op->opcode == OP_POINTER_LOAD; }

bool prefetch_is_plain(const struct ir_operation *op)
{
    if (op->region_count || !ir_has_trait(op, IR_TRAIT_PURE))
        return false;
    switch (op->opcode) { /* work that is not done twice */
    case OP_CONVERT_LAYOUT:
    case OP_DOT:
    case OP_REDUCE:
    case OP_SORT:
    case OP_HISTOGRAM:
    case OP_PHILOX:
    case OP_UNDEFINED: return false;
    default:
        for (int i = 0; i < op->result_count; i++)
            if (op->results[i]->type->kind != IR_TILE && op->results[i]->type->kind != IR_VIEW)
                return false;
        return true;
    }
}

bool prefetch_plans(const struct prefetch *s, const struct ir_operation *op)
{
    return op->result_count && s->planned[op->results[0]->id];
}

/* Operations of the block in a row that lead to the value from what is there for iterations ahead: what comes from
 * outside, the loop's variable, steady arguments.  NEVER: it is not, or not so soon, computed ahead. */
static int steps_to(const struct prefetch *s, const struct ir_block *block, const struct ir_value *value)
{
    if (!ir_block_holds(block, value->block))
        return 0;
    if (!value->definition)
        return value->block == block && s->steady[value->index] ? 0 : NEVER;
    return value->definition->block == block ? s->steps[value->id] : NEVER;
}

/* For the operation's results; what is in front of it in the block has its own. */
static void count_steps(struct prefetch *s, const struct ir_operation *op)
{
    int steps = (is_load(op) ? prefetch_plans(s, op) : prefetch_is_plain(op)) ? 0 : NEVER;
    for (int i = 0; i < op->operand_count && steps < NEVER; i++) {
        int before = steps_to(s, op->block, op->operands[i]);
        steps = before > steps ? before : steps;
    }
    for (int i = 0; i < op->result_count; i++)
        s->steps[op->results[i]->id] = steps < NEVER ? steps + 1 : NEVER;
}

static void count_all_steps(struct prefetch *s, const struct ir_block *block)
{
    for (const struct ir_operation *op = block->first; op; op = op->next)
        count_steps(s, op);
}

/* The carried argument is a scalar that a while's first region hands on as it is. */
static bool may_be_steady(const struct prefetch *s, int index)
{
    const struct ir_type *type = s->body->arguments.data[index]->type;
    if (type->kind != IR_TILE || type->rank > 0)
        return false;
    if (s->loop->opcode == OP_FOR)
        return true;
    const struct ir_block *test = s->loop->regions[0];
    return ir_terminator(test)->operands[1 + index] == test->arguments.data[index];
}

static void find_steady(struct prefetch *s)
{
    int first = s->loop->opcode == OP_FOR; /* the variable */
    const struct ir_operation *yield = ir_terminator(s->body);
    s->steady = ARENA_ARRAY(s->context->arena, bool, s->body->arguments.count + 1);
    for (int i = 0; i < s->body->arguments.count; i++)
        s->steady[i] = i < first || may_be_steady(s, i);
    for (bool changed = true; changed;) {
        changed = false;
        count_all_steps(s, s->body);
        for (int i = first; i < s->body->arguments.count; i++)
            if (s->steady[i] && steps_to(s, s->body, yield->operands[i - first]) == NEVER) {
                s->steady[i] = false;
                changed = true;
            }
    }
}

/* A while's condition, from steady arguments alone. */
static bool can_test_ahead(struct prefetch *s)
{
    const struct ir_block *test = s->loop->regions[0];
    count_all_steps(s, test);
    return steps_to(s, test, ir_terminator(test)->operands[0]) < NEVER;
}

/* Operations of the loop that some load may not cross. */
static void find_effects(struct prefetch *s)
{
    for (int r = 0; r < s->loop->region_count; r++)
        for (const struct ir_operation *op = s->loop->regions[r]->first; op; op = op->next)
            if (op->region_count || alias_orders(op) ||
                ir_op_info[op->opcode].traits & (IR_TRAIT_WRITE | IR_TRAIT_ATOMIC))
                vector_push(s->context->arena, &s->effects, op);
}

static bool is_clobbered(const struct prefetch *s, const struct ir_operation *load)
{
    for (int i = 0; i < s->effects.count; i++)
        if (alias_clobbers(s->effects.data[i], load) && !iteration_writes_apart(s->loop, s->effects.data[i], load))
            return !alias_is_settled(load);
    return false;
}

static const char *why_clobbered(const struct prefetch *s, const struct ir_operation *load)
{
    for (int r = 0; r < s->loop->region_count; r++) {
        const char *why = alias_describe_write("the loop", s->loop->regions[r], load->operands[0]);
        if (why)
            return why;
    }
    return "the loop may write what it reads";
}

static const char *problem_of_load(const struct prefetch *s, const struct ir_operation *load)
{
    for (int i = 0; i < load->operand_count; i++)
        if (steps_to(s, s->body, load->operands[i]) == NEVER)
            return "where it reads depends on what the loop computes";
    return is_clobbered(s, load) ? why_clobbered(s, load) : NULL;
}

/* Why loads of the loop cannot run ahead at all, or NULL. */
static const char *problem_of_loop(struct prefetch *s)
{
    const struct ir_operation *loop = s->loop;
    int64_t step;
    if (loop->opcode == OP_WHILE)
        return can_test_ahead(s) ? NULL : "the loop's condition depends on what the loop computes";
    if (ir_number(loop, IR_ATTRIBUTE_MULTIPLY, 0))
        return "the loop's step multiplies";
    if (ir_element_info[loop->operands[0]->type->element].bits < 32)
        return "the loop's variable has fewer than 32 bits";
    if (ir_constant_integer(loop->operands[2], &step) && (step == 0 || step > INT32_MAX / 8 || step < -INT32_MAX / 8))
        return "the loop's step is too wide";
    return NULL;
}

/* ---- the pass ---- */

static void remark_load(const struct prefetch *s, const struct scheduled_load *load)
{
    struct pass_context *context = s->context;
    struct ir_plan_input *input = planning_input(load->load);
    planning_tell_input(load->load, IR_WAY_REGISTERS, load->problem);
    if (input)
        input->ahead = load->distance;
    const char *why = load->problem ? load->problem : "";
    const char *link = load->problem ? "; not further: " : "";
    if (load->distance)
        pass_remark(context, load->load->at, "this load runs %d iteration%s ahead, in %d register%s%s%s%s",
                    load->distance, load->distance == 1 ? "" : "s", load->registers * load->distance,
                    load->registers * load->distance == 1 ? "" : "s",
                    load->late ? ", behind the last use of the one before" : "", link, why);
    else
        pass_remark(context, load->load->at, "this load %s: %s",
                    load->early ? "moves to the top of its iteration" : "stays where it is",
                    load->problem ? load->problem : "what stands between it and its use covers its latency");
}

static bool is_innermost(const struct ir_operation *loop)
{
    for (int r = 0; r < loop->region_count; r++)
        for (const struct ir_operation *op = loop->regions[r]->first; op; op = op->next)
            if (ir_has_trait(op, IR_TRAIT_LOOP) || op->opcode == OP_ROLES)
                return false;
    return true;
}

/* Elements that are read one by one, and narrow: such a load is work rather than waiting. */
static bool is_piecemeal(const struct ir_operation *load)
{
    struct memory_access access;
    return memory_access_of(load, &access) && access.vector * access.bytes < 4;
}

static bool find_loads(struct prefetch *s)
{
    int stages = s->function->stages > 0 ? s->function->stages
                                         : ir_choose_among(s->function->stages_among, MOST_AHEAD + 1);
    int most = stages - 1, position = 0;
    bool any = false;
    for (const struct ir_operation *op = s->body->first; op; op = op->next)
        any |= is_load(op);
    if (!any)
        return false;
    s->planned = ARENA_ARRAY(s->context->arena, bool, s->function->next_value_id);
    s->steps = ARENA_ARRAY(s->context->arena, int, s->function->next_value_id);
    find_steady(s);
    find_effects(s);
    const char *problem = problem_of_loop(s);
    for (struct ir_operation *op = s->body->first; op; op = op->next, position++) {
        count_steps(s, op);
        if (!is_load(op))
            continue;
        const char *own = problem ? problem : problem_of_load(s, op);
        struct scheduled_load load = {.load = op, .position = position};
        load.most = most > MOST_AHEAD ? MOST_AHEAD : most;
        const struct ir_plan_input *asked = planning_asked_input(op);
        if (asked && asked->ahead != IR_PLAN_OPEN && asked->ahead < load.most)
            load.most = asked->ahead;
        if (!own && most < 1)
            own = "the schedule says one stage";
        if (!own && is_piecemeal(op))
            own = "its elements are narrow and read one by one";
        if (own) {
            planning_tell_input(op, IR_WAY_REGISTERS, own);
            pass_remark(s->context, op->at, "this load stays where it is: %s", own);
            continue;
        }
        load.registers = op->results[0]->type->rank ? prefetch_registers(op->results[0]) : 1;
        vector_push(s->context->arena, &s->loads, load);
        s->planned[op->results[0]->id] = true;
        count_steps(s, op);
    }
    return s->loads.count > 0;
}

/* What its inner loops have in flight, and for how long, is not known. */
static void remark_outer(const struct prefetch *s)
{
    for (const struct ir_operation *op = s->body->first; op; op = op->next)
        if (is_load(op) && op->results[0]->type->rank > 0) {
            planning_tell_input(op, IR_WAY_REGISTERS, "its loop holds another, whose length is not known");
            pass_remark(s->context, op->at,
                        "this load stays where it is: its loop holds another, whose length is not known");
        }
}

static bool schedule_loop(struct prefetch *s)
{
    bool changed = false;
    int registers = 0;
    if (!is_innermost(s->loop)) {
        remark_outer(s);
        return false;
    }
    if (!find_loads(s))
        return false;
    prefetch_plan(s);
    for (int i = 0; i < s->loads.count; i++) {
        if (s->together == 1)
            remark_load(s, &s->loads.data[i]);
        changed |= s->together > 1 || s->loads.data[i].distance > 0 || s->loads.data[i].early;
        registers += s->loads.data[i].registers * s->together;
    }
    if (s->together > 1)
        pass_remark(s->context, s->loop->at, "%d iterations of this loop make their loads together, in %d registers",
                    s->together, registers);
    if (!changed || !pass_fuel(s->context))
        return false;
    if (s->together > 1)
        prefetch_emit_together(s);
    else
        prefetch_emit(s);
    return true;
}

struct search {
    struct pass_context *context;
    VECTOR(struct ir_operation *) loops;
};

static void collect(struct ir_operation *op, void *data)
{
    struct search *search = data;
    if (op->opcode == OP_FOR || op->opcode == OP_WHILE)
        vector_push(search->context->arena, &search->loops, op);
}

bool pass_prefetch_loads(struct ir_function *function, struct pass_context *context)
{
    struct search search = {.context = context};
    bool changed = false;
    ir_walk(function->body, collect, &search);
    for (int i = 0; i < search.loops.count; i++) {
        struct ir_operation *loop = search.loops.data[i];
        struct prefetch s = {
            .context = context, .function = function, .loop = loop, .body = loop->regions[loop->opcode == OP_WHILE]};
        changed = schedule_loop(&s) || changed;
    }
    return changed;
}
