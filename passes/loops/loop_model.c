/* The model of a loop.  See loop_model.h.
 *
 * The model is of one block that issues an iteration in order.  An operation starts when the one before it is issued
 * and its operands are there.  Asynchronous products queue for the tensor cores while warps go on.  An iteration takes
 * as long as the longest of three: this chain, the products in it, and the memory traffic of its copies. */
#include "passes/loops/loop_model.h"

#include <math.h>

#include "passes/base/budget.h"
#include "passes/base/rewrite.h"

enum { BUSY_WARPS = 16 };

static void place_operation(struct modelled_operation *op, double *ready, double *clock, double *tensor_free)
{
    const struct ir_operation *operation = op->operation;
    for (int k = 0; k < operation->operand_count && !op->ahead; k++)
        if (ready[operation->operands[k]->id] > *clock)
            *clock = ready[operation->operands[k]->id];
    op->start = *clock;
    *clock += op->cost.issue;
    double there = *clock + op->cost.latency;
    if (op->cost.asynchronous) {
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

struct loop_model loop_model_make(struct arena *arena, const struct target_row *target, const struct ir_block *body,
                                  loop_model_ahead *ahead, const void *context)
{
    struct loop_model model = {.target = target, .body = body};
    for (const struct ir_operation *op = body->first; op; op = op->next)
        model.count++;
    model.operations = ARENA_ARRAY(arena, struct modelled_operation, model.count + 1);
    double *ready = ARENA_ARRAY(arena, double, body->function->next_value_id), clock = 0, tensor_free = 0;
    int i = 0;
    for (struct ir_operation *op = body->first; op; op = op->next, i++) {
        struct modelled_operation *made = &model.operations[i];
        *made = (struct modelled_operation){op, loop_cost_of(op, target), 0, ahead && ahead(op, context)};
        place_operation(made, ready, &clock, &tensor_free);
        model.tensor += made->cost.asynchronous ? made->cost.tensor : 0;
        model.memory += (double)copied_bytes(op) / target_costs(target)->copy_bytes;
    }
    model.chain = clock < 1 ? 1 : clock;
    model.iteration = fmax(model.chain, fmax(model.tensor, model.memory));
    return model;
}

bool loop_model_copies_ahead(const struct ir_operation *operation, const void *context)
{
    (void)context;
    return operation->opcode == OP_COPY_ASYNC;
}

int loop_model_position(const struct loop_model *model, const struct ir_operation *operation)
{
    operation = ir_ancestor_in(model->body, operation);
    for (int i = 0; operation && i < model->count; i++)
        if (model->operations[i].operation == operation)
            return i;
    return -1;
}

/* ---- registers ---- */

int loop_model_registers(const struct ir_function *function, const struct target_row *target,
                         const struct ir_operation *loop, const struct ir_block *body)
{
    const struct ir_operation *parent = loop->block->parent;
    int warps = function->warps, own = budget_role_registers(loop), spare = 0;
    for (; parent && parent->opcode != OP_ROLES; parent = parent->block->parent)
        if (ir_has_trait(parent, IR_TRAIT_LOOP))
            spare += LOOP_MODEL_SPARE / 2; /* for what the loops around need */
    bool products = false;
    for (const struct ir_operation *op = body->first; op; op = op->next)
        products |= op->opcode == OP_DOT || op->opcode == OP_DOT_ASYNC;
    if (own)
        return own - spare;
    int most = target_thread_registers(target, parent || products || warps > BUSY_WARPS ? warps : BUSY_WARPS);
    if (function->max_registers > 0 && function->max_registers < most)
        most = function->max_registers;
    return most - spare;
}

int loop_model_pressure(struct arena *arena, const struct ir_block *body)
{
    const int *taken = prefetch_pressure(arena, body);
    int most = 0, i = 0;
    for (const struct ir_operation *op = body->first; op; op = op->next, i++)
        most = taken[i] > most ? taken[i] : most;
    return most;
}

int loop_model_residents(const struct ir_function *function, const struct target_row *target, int registers)
{
    int warps = function->warps > 0 ? function->warps : 1;
    int blocks = target_registers(target) / (32 * warps * (int)int64_min(registers, TARGET_THREAD_REGISTERS));
    if (blocks > target->warps / warps)
        blocks = target->warps / warps;
    return blocks > 0 ? blocks : 1;
}

int loop_model_residents_beside(const struct target_row *target, int blocks, int64_t bytes)
{
    int64_t fit = bytes > 0 ? target->shared_bytes / bytes : blocks;
    return (int)(fit < blocks ? fit : blocks);
}
