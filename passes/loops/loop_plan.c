/* The model of a loop.  See loop_plan.h.
 *
 * The model is of one block that issues an iteration in order.  An operation starts when the one before it is issued
 * and its operands are there.  Asynchronous products queue for the tensor cores while warps go on.  An iteration takes
 * as long as the longest of three: this chain, the products in it, and the memory traffic of its copies.
 *
 * A ring of n slots hides the latency of copies when n iterations last as long as a slot is busy.  A slot is busy from
 * the start of its copy until the data is there (latency), and from then on until its last reader is through (busy):
 *
 *     n * iteration >= latency + busy
 *
 * A ring gets more slots than that, for two reasons: latency varies under load, and the first iterations of the next
 * program come on top.  It may have CHEAP_SLOTS in any case.  Where no other block could use the memory, it may have
 * FREE_SLOTS, or twice as many as the formula says.  Where other blocks could use it they hide latency too, and
 * MOST_SHARED is the limit. */
#include "passes/loops/loop_plan.h"

#include <math.h>

#include "passes/base/budget.h"
#include "passes/base/rewrite.h"

enum {
    COPY_LATENCY = 1000, /* of a copy, on a loaded memory */
    BYTES_A_CYCLE = 32,  /* that L2 gives each multiprocessor when all ask */
    CHEAP_SLOTS = 4,
    MOST_SHARED = 8,
    FREE_SLOTS = 6,
    MOST_SLOTS = 16,
    BUSY_WARPS = 16
};

static void place_operation(struct planned_operation *op, double *ready, double *clock, double *tensor_free)
{
    const struct ir_operation *operation = op->operation;
    for (int k = 0; k < operation->operand_count && !op->ahead; k++)
        if (ready[operation->operands[k]->id] > *clock)
            *clock = ready[operation->operands[k]->id];
    op->start = *clock;
    *clock += op->cost.issue;
    double there = *clock + op->cost.latency;
    if (op->cost.tensor > 0) {
        *tensor_free = (*tensor_free > *clock ? *tensor_free : *clock) + op->cost.tensor;
        there = *tensor_free + op->cost.latency;
    }
    for (int k = 0; k < operation->result_count; k++)
        ready[operation->results[k]->id] = op->ahead ? 0 : there;
}

static int64_t copied_bytes(const struct ir_operation *op)
{
    return op->opcode == OP_COPY_ASYNC || op->opcode == OP_CP_ASYNC
               ? ir_type_bytes(op->operands[op->operand_count - 1]->type)
               : 0;
}

struct loop_plan loop_plan_make(struct arena *arena, const struct target_row *target, const struct ir_block *body,
                                loop_plan_ahead *ahead, const void *context)
{
    struct loop_plan plan = {.body = body};
    for (const struct ir_operation *op = body->first; op; op = op->next)
        plan.count++;
    plan.operations = ARENA_ARRAY(arena, struct planned_operation, plan.count + 1);
    double *ready = ARENA_ARRAY(arena, double, body->function->next_value_id), clock = 0, tensor_free = 0;
    int i = 0;
    for (struct ir_operation *op = body->first; op; op = op->next, i++) {
        struct planned_operation *planned = &plan.operations[i];
        *planned = (struct planned_operation){op, loop_cost_of(op, target), 0, ahead && ahead(op, context)};
        place_operation(planned, ready, &clock, &tensor_free);
        plan.tensor += planned->cost.tensor;
        plan.memory += (double)copied_bytes(op) / BYTES_A_CYCLE;
    }
    plan.chain = clock < 1 ? 1 : clock;
    plan.iteration = fmax(plan.chain, fmax(plan.tensor, plan.memory));
    return plan;
}

bool loop_plan_copies_ahead(const struct ir_operation *operation, const void *context)
{
    (void)context;
    return operation->opcode == OP_COPY_ASYNC;
}

int loop_plan_position(const struct loop_plan *plan, const struct ir_operation *operation)
{
    operation = ir_ancestor_in(plan->body, operation);
    for (int i = 0; operation && i < plan->count; i++)
        if (plan->operations[i].operation == operation)
            return i;
    return -1;
}

/* ---- registers ---- */

int loop_plan_registers(const struct ir_function *function, const struct target_row *target,
                        const struct ir_operation *loop, const struct ir_block *body)
{
    const struct ir_operation *parent = loop->block->parent;
    int warps = function->warps, most = budget_role_registers(loop), spare = 0;
    for (; parent && parent->opcode != OP_ROLES; parent = parent->block->parent)
        if (ir_has_trait(parent, IR_TRAIT_LOOP))
            spare += LOOP_PLAN_SPARE / 2; /* for what the loops around need */
    bool products = false;
    for (const struct ir_operation *op = body->first; op; op = op->next)
        products |= op->opcode == OP_DOT || op->opcode == OP_DOT_ASYNC;
    if (!most)
        most = target_thread_registers(target, parent || products || warps > BUSY_WARPS ? warps : BUSY_WARPS);
    if (function->max_registers > 0 && function->max_registers < most)
        most = function->max_registers;
    return most - spare;
}

int loop_plan_pressure(struct arena *arena, const struct ir_block *body)
{
    const int *taken = prefetch_pressure(arena, body);
    int most = 0, i = 0;
    for (const struct ir_operation *op = body->first; op; op = op->next, i++)
        most = taken[i] > most ? taken[i] : most;
    return most;
}

int loop_plan_residents(const struct ir_function *function, const struct target_row *target, int registers)
{
    int warps = function->warps > 0 ? function->warps : 1;
    int blocks = target_registers(target) / (32 * warps * (int)int64_min(registers, TARGET_THREAD_REGISTERS));
    if (blocks > target->warps / warps)
        blocks = target->warps / warps;
    return blocks > 0 ? blocks : 1;
}

int loop_plan_residents_beside(const struct target_row *target, int blocks, int64_t bytes)
{
    int64_t fit = bytes > 0 ? target->shared_bytes / bytes : blocks;
    return (int)(fit < blocks ? fit : blocks);
}

/* ---- rings ---- */

double loop_plan_latency(int64_t bytes) { return COPY_LATENCY + (double)bytes / BYTES_A_CYCLE; }

struct ring_plan loop_plan_ring(const struct loop_plan *plan, int64_t bytes, double busy, bool alone,
                                const struct ir_function *function)
{
    struct ring_plan ring = {.iteration = plan->iteration, .bytes = bytes, .latency = loop_plan_latency(bytes)};
    double wanted = ceil((ring.latency + busy) / ring.iteration);
    ring.wanted = wanted < 2 ? 2 : wanted > MOST_SLOTS ? MOST_SLOTS : (int)wanted;
    ring.most = (int)(alone ? int64_max(FREE_SLOTS, int64_min(MOST_SLOTS, 2 * ring.wanted))
                            : int64_max(CHEAP_SLOTS, int64_min(MOST_SHARED, ring.wanted)));
    ring.among = function->stages_among;
    ring.most = ir_choose_among(ring.among, ring.most);
    if (function->stages > 0)
        ring.most = function->stages;
    return ring;
}

bool loop_plan_share(struct ring_plan *const *rings, int count, int64_t room)
{
    int64_t each = 0;
    for (int r = 0; r < count; r++) {
        each += rings[r]->bytes;
        rings[r]->slots = rings[r]->fit = 0;
    }
    if (each > room)
        return false;
    for (int slots = 1, more = count; more > 0; slots++) {
        int64_t sum = 0;
        for (int r = 0; r < count; r++)
            sum += rings[r]->bytes * (slots < rings[r]->most ? slots : rings[r]->most);
        if (sum > room)
            break;
        more = 0;
        for (int r = 0; r < count; r++) {
            rings[r]->fit = slots;
            rings[r]->slots = slots < rings[r]->most ? slots : rings[r]->most;
            more += slots < rings[r]->most;
        }
    }
    for (int r = 0; r < count; r++) /* where there is no room for it, the next lower member of the set */
        for (int slots = rings[r]->slots; slots > 0 && rings[r]->among; slots--)
            if (rings[r]->among >> slots & 1) {
                rings[r]->slots = slots;
                break;
            }
    return true;
}

const char *loop_plan_reason(struct arena *arena, const struct ring_plan *ring, int stages)
{
    const char *bound = ring->slots < ring->most && ring->blocks > 1
                            ? arena_printf(arena, "%d blocks share a multiprocessor's memory", ring->blocks)
                        : ring->slots < ring->most ? "shared memory has room for no more"
                        : stages > 0               ? "the schedule asks for no more"
                                                   : "more would bring nothing";
    return arena_printf(arena, "%s takes %.0f cycles, a copy %.0f, so that %d hide it; %s",
                        ring->parts > 1 ? "a part" : "an iteration", ring->iteration, ring->latency, ring->wanted,
                        bound);
}
