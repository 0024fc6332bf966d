/* unswitch: a loop with a branch whose condition it does not change becomes two loops, one for each answer.
 *
 *     %r = for %k … {                                  %r = if %c {
 *         %z = if %c { load … } else { %eight }            %r1 = for %k … { load … use … }
 *         use %z …                               ->        yield %r1
 *     }                                                } else {
 *                                                          %r0 = for %k … { use %eight … }
 *                                                          yield %r0
 *                                                      }
 *
 * Right because the condition has one value for the whole loop.  Each loop is then planned for what it reads: an argument that
 * may be absent is not asked for in each turn, and what stands for it is a constant there.  Only where a branch reads tiles, in
 * loops that multiply: others do not get faster by it, and the code is twice as long. */
#include "base/plant.h"
#include "passes/base/pass.h"
#include "passes/base/remake.h"
#include "passes/base/rewrite.h"

enum { MOST_OPERATIONS = 300 };

static bool reads_tiles(const struct ir_block *block)
{
    for (const struct ir_operation *op = block->first; op; op = op->next) {
        if (op->opcode == OP_LOAD && op->results[0]->type->rank > 0)
            return true;
        for (int r = 0; r < op->region_count; r++)
            if (reads_tiles(op->regions[r]))
                return true;
    }
    return false;
}

static bool is_made_in(const struct ir_value *value, const struct ir_operation *loop)
{
    const struct ir_block *block = value->definition ? value->definition->block : value->block;
    for (; block; block = block->parent ? block->parent->block : NULL)
        if (block->parent == loop)
            return true;
    return false;
}

/* The condition of a branch in the loop's body that is worth a loop for each answer; NULL: there is none. */
static struct ir_value *steady_condition(const struct ir_operation *loop)
{
    for (const struct ir_operation *op = loop->regions[0]->first; op; op = op->next) {
        if (op->opcode != OP_IF || ir_is_constant(op->operands[0]) || is_made_in(op->operands[0], loop))
            continue;
        for (int r = 0; r < op->region_count; r++)
            if (reads_tiles(op->regions[r]))
                return op->operands[0];
    }
    return NULL;
}

static void put_loop(struct arena *arena, struct ir_operation *branch, int region, const struct ir_operation *loop,
                     const struct ir_value *condition)
{
    struct ir_builder builder = {
        .module = loop->block->function->module, .block = branch->regions[region], .at = loop->at};
    struct remake again = remake_open(arena, loop->block->function, loop);
    bool answer = PLANTED(unswitch_other_way) ? region == 1 : region == 0;
    remake_set(&again, condition, ir_constant_bits(&builder, condition->type, answer));
    struct ir_operation *copy = remake_operation(&again, &builder, loop);
    ir_build(&builder, OP_YIELD, copy->result_count, copy->results, 0, NULL);
}

static bool unswitch(struct ir_operation *loop, struct pass_context *context)
{
    struct ir_value *condition = steady_condition(loop);
    if (!condition || ir_is_in_loop(loop) || !rewrite_holds(loop, OP_DOT) ||
        ir_count_operations(loop->regions[0]) > MOST_OPERATIONS || !pass_fuel(context))
        return false;
    struct ir_builder builder = rewrite_before(loop);
    const struct ir_type **types = ARENA_ARRAY(context->arena, const struct ir_type *, loop->result_count);
    for (int i = 0; i < loop->result_count; i++)
        types[i] = loop->results[i]->type;
    struct ir_operation *branch = ir_build(&builder, OP_IF, 1, &condition, loop->result_count, types);
    for (int r = 0; r < 2; r++)
        put_loop(context->arena, branch, r, loop, condition);
    pass_remark(context, loop->at, "a loop for each answer of a condition that it does not change");
    for (int i = 0; i < loop->result_count; i++)
        ir_replace_uses(loop->results[i], branch->results[i]);
    ir_remove(loop);
    return true;
}

bool pass_unswitch(struct ir_function *function, struct pass_context *context)
{
    bool changed = false;
    for (struct ir_operation *op = function->body->first, *next; op; op = next) {
        next = op->next;
        if (op->opcode == OP_FOR)
            changed = unswitch(op, context) || changed;
    }
    return changed;
}
