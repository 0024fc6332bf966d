/* A load that stands behind arithmetic which does not wait for it moves in front of that, so that it is on its way
 * meanwhile: the machine issues in the order of the text.
 *
 *     %r, %s, %t, %u = philox %seed, %i           %at = mul %b, %size
 *     %at = mul %b, %size                    →    %v = load %x[%at +: 4096], %none
 *     %v = load %x[%at +: 4096], %none            %r, %s, %t, %u = philox %seed, %i
 *
 * What it passes is what each thread does by itself, and other loads.  Scalars that its place is made of come with it.  It
 * costs the registers of the tile for that long, so no block lifts more than a few.  (Dropout of 2^27 bf16, whose Philox
 * is 300 of 400 instructions of a thread, reads all it needs before them.) */
#include "base/plant.h"
#include "ir/facts/registers.h"
#include "ir/facts/scratch.h"
#include "ir/query.h"
#include "passes/loops/loop_model.h"

enum {
    MOST_REGISTERS = 32,
    MOST_MOVING = 24,
    LEAST_CYCLES = 1000 /* of a block: what a load takes; for less, other blocks hide it, and registers are dear */
};

pass_function pass_lift_loads;

/* The load and what serves it, from the last to the first; what it comes in front of, or NULL. */
struct lift {
    struct pass_context *context;
    struct ir_operation *moving[MOST_MOVING], *target;
    int count;
};

/* No other thread is met, and nothing is written; registers beside a product are for the product. */
static bool may_be_passed(const struct lift *lift, const struct ir_operation *op)
{
    struct layout_table *layouts = ir_context_layouts(op->block->function->module->context);
    if (op->opcode == OP_LOAD || op->opcode == OP_POINTER_LOAD || (PLANTED(lift_over_store) && op->opcode == OP_STORE))
        return true;
    return ir_has_trait(op, IR_TRAIT_PURE) && op->opcode != OP_DOT && op->opcode != OP_REDUCE &&
           op->opcode != OP_SCAN && op->opcode != OP_SORT && !scratch_bytes(layouts, lift->context->arena, op);
}

static bool is_needed(const struct lift *lift, const struct ir_operation *op)
{
    for (int i = 0; i < lift->count; i++)
        for (int r = 0; r < op->result_count; r++)
            if (ir_uses(lift->moving[i], op->results[r]))
                return true;
    return false;
}

/* A scalar or a view that is computed from such, or a tile that is a number in the code. */
static bool may_come_along(const struct lift *lift, const struct ir_operation *op)
{
    if (lift->count == MOST_MOVING || !ir_has_trait(op, IR_TRAIT_PURE) || op->region_count)
        return false;
    for (int r = 0; r < op->result_count; r++)
        if (op->results[r]->type->kind == IR_TILE && op->results[r]->type->rank && op->opcode != OP_CONSTANT)
            return false;
    return true;
}

/* Walks from the load to the top of its block, or to what it cannot pass. */
static void look_up(struct lift *lift)
{
    double cycles = 0;
    for (struct ir_operation *op = lift->moving[0]->previous; op; op = op->previous) {
        if (is_needed(lift, op)) {
            if (!may_come_along(lift, op))
                return;
            lift->moving[lift->count++] = op;
            continue;
        }
        if (!may_be_passed(lift, op))
            return;
        struct loop_cost cost = loop_cost_of(op, lift->context->target);
        bool works = op->opcode != OP_LOAD && op->opcode != OP_POINTER_LOAD && cost.issue + cost.special > 0;
        if (!works)
            continue;
        cycles += cost.issue + cost.special;
        if (cycles >= LEAST_CYCLES)
            lift->target = op;
    }
}

/* A loop other than that over a block's programs, whose turns have nothing to do with each other: prefetch_loads has put
 * its loads where the model of the loop wants them. */
static bool is_timed(const struct ir_operation *op)
{
    const struct ir_operation *from = op->opcode == OP_FOR ? op->operands[0]->definition : NULL;
    return ir_has_trait(op, IR_TRAIT_LOOP) && !(from && from->opcode == OP_PROGRAM);
}

static bool lift_in(struct ir_block *block, struct pass_context *context)
{
    bool changed = false;
    int registers = 0;
    for (struct ir_operation *op = block->first, *next; op; op = next) {
        next = op->next;
        for (int r = 0; r < op->region_count; r++)
            if (!ir_is_isolated(op) && !is_timed(op))
                changed |= lift_in(op->regions[r], context);
        if (op->opcode != OP_LOAD || !op->results[0]->type->rank)
            continue;
        struct lift lift = {.context = context, .moving = {op}, .count = 1};
        int needed = registers_of_tile(op->results[0]->type, REGISTERS_PACKED);
        if (registers + needed > MOST_REGISTERS)
            continue;
        look_up(&lift);
        if (!lift.target || !pass_fuel(context))
            continue;
        for (int i = lift.count - 1; i >= 0; i--)
            if (!ir_comes_before(lift.moving[i], lift.target))
                ir_move_before(lift.moving[i], lift.target);
        registers += needed;
        changed = true;
    }
    return changed;
}

bool pass_lift_loads(struct ir_function *function, struct pass_context *context)
{
    return context->target && lift_in(function->body, context);
}
