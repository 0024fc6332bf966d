/* plan_roles: who does the work of a kernel on targets with TMA.  One warp may bring what all loops read, a producer, while
 * the others compute, consumers; else all warps do everything.
 *
 *     kernel @k(…) warps(8) { … for %k … { %t = copy_async %a[…], %A   wait %t … } }
 * becomes
 *     kernel @k(…) warps(8) plan(roles(8, 4)) { … }                   a producer of four warps beside these eight
 * or, where a producer cannot bring all that is copied,
 *     kernel @k(…) warps(8) plan(roles(8, 0) because "…") { … }
 *
 * overlap_products and specialise do what is planned.  A producer brings all copies or none: the n-th filling of a ring
 * meets the n-th wait for it only when both roles walk through the same loops (specialise.c), and a copy that it left to
 * the others would make them meet at barriers that it does not come to. */
#include "passes/roles/specialise.h"

#include "passes/base/budget.h"
#include "passes/base/planning.h"
#include "ir/facts/scratch.h"
#include "passes/base/rewrite.h"
#include "passes/loops/buffer_copy.h"

void outline_fail(struct outline *o, const struct ir_operation *op, const char *problem)
{
    if (!o->problem) {
        o->problem = problem;
        o->problem_at = op->at;
    }
}

/* ---- what a producer would bring ---- */

/* The ring of a channel's buffers: all of an old one's or none. */
static bool find_ring(struct outline *o, struct channel *channel)
{
    struct ring made = {0};
    for (int i = 0; i < channel->copies.count; i++) {
        struct ir_value *buffer = outline_buffer_of(channel->copies.data[i]);
        if (outline_has_buffer(&made, buffer))
            return false;
        vector_push(o->context->arena, &made.buffers, buffer);
        made.bytes += ir_type_bytes(buffer->type);
        made.room += scratch_ring_bytes(buffer->type);
    }
    made.in_loop = ir_is_in_loop(channel->wait);
    for (int r = 0; r < o->rings.count; r++) {
        const struct ring *ring = &o->rings.data[r];
        int shared = 0;
        for (int i = 0; i < made.buffers.count; i++)
            shared += outline_has_buffer(ring, made.buffers.data[i]);
        if (shared && (shared != made.buffers.count || shared != ring->buffers.count))
            return false;
        if (shared) {
            channel->ring = r;
            o->rings.data[r].in_loop |= made.in_loop;
            return true;
        }
    }
    channel->ring = o->rings.count;
    vector_push(o->context->arena, &o->rings, made);
    return true;
}

static void find_channel(struct ir_operation *op, void *data)
{
    struct outline *o = data;
    if (op->opcode == OP_ROLES || op->opcode == OP_MBARRIER)
        outline_fail(o, op, "it has roles already");
    if (op->opcode != OP_WAIT)
        return;
    struct channel channel = {.wait = op};
    for (int i = 0; i < op->operand_count; i++) {
        struct ir_operation *copy = op->operands[i]->definition;
        if (!copy || copy->opcode != OP_COPY_ASYNC || copy->block != op->block || copy->results[0]->uses->next) {
            outline_fail(o, op, "a wait is not for copies that stand beside it");
            return;
        }
        const char *reason = planning_asked_way(copy) == IR_WAY_CP_ASYNC
                                 ? "the plan asks for copies by all threads"
                                 : buffer_bulk_problem(copy, outline_buffer_of(copy)->type);
        if (reason) {
            outline_fail(o, copy, reason);
            return;
        }
        vector_push(o->context->arena, &channel.copies, copy);
    }
    if (!find_ring(o, &channel)) {
        outline_fail(o, op, "its buffers are filled together with others elsewhere");
        return;
    }
    vector_push(o->context->arena, &o->channels, channel);
}

/* Rows alone are no work for a producer: without products, blocks beside each other hide how long copies take. */
static bool brings_factors(const struct outline *o)
{
    bool any = false;
    for (int r = 0; r < o->rings.count; r++)
        for (int i = 0; i < o->rings.data[r].buffers.count; i++)
            any |= o->rings.data[r].buffers.data[i]->type->rank > 1;
    return any;
}

/* What a producer would do; false: there is nothing, or a problem. */
bool outline_find_work(struct outline *o)
{
    if (!buffer_has_roles(o->context->target) || !o->function->is_kernel || o->function->warps % 4)
        return false;
    ir_walk(o->function->body, find_channel, o);
    o->value_count = o->function->next_value_id;
    o->needed = ARENA_ARRAY(o->context->arena, bool, o->value_count);
    if (o->channels.count && !brings_factors(o))
        outline_fail(o, o->channels.data[0].wait, "no product reads what it would bring");
    return !o->problem && o->channels.count > 0 && outline_slice(o);
}

/* ---- the pass ---- */

/* Copies that a producer could have brought say why none does. */
static void tell_refusal(struct ir_operation *op, void *data)
{
    const struct outline *o = data;
    if (op->opcode == OP_COPY_ASYNC)
        planning_tell_input(op, IR_WAY_CP_ASYNC, o->problem);
}

void outline_plan_none(struct outline *o)
{
    planning_tell_roles(o->function, o->function->warps, 0, o->problem);
    ir_walk(o->function->body, tell_refusal, o);
    pass_remark(o->context, o->problem_at, "no producer of its own: %s", o->problem);
}

bool pass_plan_roles(struct ir_function *function, struct pass_context *context)
{
    struct outline o = {.function = function, .context = context, .value_count = 0};
    bool found = outline_find_work(&o);
    if ((!found && !o.problem) || !pass_fuel(context))
        return false;
    if (found)
        planning_tell_roles(function, function->warps, BUDGET_PRODUCER_WARPS, NULL);
    else
        outline_plan_none(&o);
    return true;
}
