/* Loop-invariant code motion: what a loop computes anew each time from values made outside it moves in front of it.
 *
 *     for %k: index = %lo to %hi step %s {          %c = mul %a, %b : index
 *         %c = mul %a, %b : index             ->    for %k: index = %lo to %hi step %s {
 *         use %k, %c                                    use %k, %c
 *     }                                             }
 *
 * Pure operations have no effect, so computing them when the loop runs no iteration is harmless.  A load through a view
 * moves only when nothing in the loop may write what it reads and nothing there orders memory: no acquire, no release,
 * no barrier, no call (ir/facts/alias.h).  Reading a view never faults, pointers do: a load through pointers stays.  Inner
 * loops first, so that code leaves a nest step by step.  Loops inside loops and `if`s move whole only when they are
 * pure. */
#include "base/plant.h"
#include "ir/facts/alias.h"
#include "passes/base/pass.h"
#include "passes/base/rewrite.h"

/* Operands of the operation and of all inside it, apart from what is made inside it. */
static bool operands_outside(const struct ir_operation *op, const struct ir_operation *loop,
                             const struct ir_operation *whole)
{
    for (int i = 0; i < op->operand_count; i++)
        if (ir_is_inside(op->operands[i], loop) && !ir_is_inside(op->operands[i], whole))
            return false;
    for (int r = 0; r < op->region_count; r++)
        for (const struct ir_operation *inner = op->regions[r]->first; inner; inner = inner->next)
            if (!operands_outside(inner, loop, whole))
                return false;
    return true;
}

/* Pure with all that is inside, and sure to end: nothing that reads, writes or loops. */
static bool is_pure(const struct ir_operation *op)
{
    if (ir_has_trait(op, IR_TRAIT_READ | IR_TRAIT_WRITE | IR_TRAIT_ATOMIC | IR_TRAIT_SYNC | IR_TRAIT_LOOP |
                             IR_TRAIT_SHARED_READ | IR_TRAIT_SHARED_WRITE))
        return false;
    for (int r = 0; r < op->region_count; r++)
        for (const struct ir_operation *inner = op->regions[r]->first; inner; inner = inner->next)
            if (!is_pure(inner))
                return false;
    return true;
}

static const char *why_clobbered(const struct ir_operation *load, const struct ir_operation *loop)
{
    for (int r = 0; r < loop->region_count; r++) {
        const char *why = alias_describe_write("the loop", loop->regions[r], load->operands[0]);
        if (why)
            return why;
    }
    return "the loop may write what it reads";
}

static bool may_move(const struct ir_operation *op, const struct ir_operation *loop, struct pass_context *context)
{
    if (ir_has_trait(op, IR_TRAIT_TERMINATOR) || !operands_outside(op, loop, op))
        return false;
    if (is_pure(op))
        return true;
    if (op->opcode != OP_LOAD)
        return false;
    if (!alias_clobbers(loop, op) || PLANTED(licm_across_store))
        return true;
    pass_remark(context, op->at, "the load stays in the loop: %s", why_clobbered(op, loop));
    return false;
}

static bool hoist(struct ir_operation *loop, struct pass_context *context)
{
    bool changed = false;
    for (int r = 0; r < loop->region_count; r++)
        for (struct ir_operation *op = loop->regions[r]->first, *next; op; op = next) {
            next = op->next;
            if (!may_move(op, loop, context) || !pass_fuel(context))
                continue;
            ir_move_before(op, loop);
            changed = true;
        }
    return changed;
}

static bool walk(struct ir_block *block, struct pass_context *context)
{
    bool changed = false;
    for (struct ir_operation *op = block->first; op; op = op->next) {
        for (int r = 0; r < op->region_count; r++)
            changed = walk(op->regions[r], context) || changed;
        if (ir_has_trait(op, IR_TRAIT_LOOP))
            changed = hoist(op, context) || changed;
    }
    return changed;
}

bool pass_licm(struct ir_function *function, struct pass_context *context) { return walk(function->body, context); }
