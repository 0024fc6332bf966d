/* Dead code: an operation goes when nothing uses its results and it does nothing else; so does a value carried round a
 * loop that only feeds itself, and a result of a branch.
 *
 *     %r, %s = for … iter(%a = %x, %b = %y) {          %r = for … iter(%a = %x) {
 *         %c = add %a, %a                                  %c = add %a, %a
 *         %d = add %b, %b                        ->        yield %c
 *         yield %c, %d                                 }
 *     }                     (%s is not used)
 *
 * Right because operations without WRITE, ATOMIC or SYNC inside change nothing that could be seen; reads of memory are
 * not seen either.  A `while` is kept: it might not end. */
#include "base/plant.h"
#include "passes/base/pass.h"
#include "passes/base/rewrite.h"

/* ---- carried values ---- */

/* The argument's uses all lead, by pure operations of the body, to the body's own yield of it and nowhere else. */
struct carried {
    int count;
    bool *live;
    bool *marked; /* by value id */
};

static void mark(struct carried *carried, const struct ir_value *value, const struct ir_operation *loop);

static void mark_operands(struct carried *carried, const struct ir_operation *op, const struct ir_operation *loop)
{
    for (int i = 0; i < op->operand_count; i++)
        mark(carried, op->operands[i], loop);
}

/* All of it is needed, so what it defines is marked here: asked for one by one, each would bring us here again. */
static void mark_inside(struct carried *carried, const struct ir_operation *op, const struct ir_operation *loop)
{
    for (int i = 0; i < op->result_count; i++)
        carried->marked[op->results[i]->id] = true;
    mark_operands(carried, op, loop);
    for (int r = 0; r < op->region_count; r++)
        for (const struct ir_operation *inner = op->regions[r]->first; inner; inner = inner->next)
            mark_inside(carried, inner, loop);
}

/* `value` is needed: so is what it is made from. */
static void mark(struct carried *carried, const struct ir_value *value, const struct ir_operation *loop)
{
    if (carried->marked[value->id])
        return;
    carried->marked[value->id] = true;
    if (value->definition) {
        struct ir_operation *holder = ir_ancestor_in(loop->regions[0], value->definition);
        if (holder)
            mark_inside(carried, holder, loop);
        return;
    }
    if (value->block != loop->regions[0] || value->index == 0)
        return;
    carried->live[value->index - 1] = true;
    mark(carried, ir_terminator(loop->regions[0])->operands[value->index - 1], loop);
}

static bool find_live(const struct ir_operation *loop, struct carried *carried, struct arena *arena)
{
    const struct ir_block *body = loop->regions[0];
    const struct ir_operation *yield = ir_terminator(body);
    carried->count = loop->result_count;
    carried->live = ARENA_ARRAY(arena, bool, carried->count);
    carried->marked = ARENA_ARRAY(arena, bool, body->function->next_value_id);
    for (const struct ir_operation *op = body->first; op; op = op->next)
        if (op != yield && ((ir_has_effect(op) && !PLANTED(dce_forgets_stores_in_loop)) || rewrite_holds(op, OP_WHILE)))
            mark_inside(carried, op, loop);
    for (int i = 0; i < carried->count; i++)
        if (loop->results[i]->uses) {
            carried->live[i] = true;
            mark(carried, yield->operands[i], loop);
        }
    for (int i = 0; i < carried->count; i++)
        if (!carried->live[i])
            return true;
    return false;
}

/* The loop anew with the live carried values only; its body is moved over. */
static struct ir_operation *drop_carried(struct ir_operation *loop, const struct carried *carried, struct arena *arena)
{
    struct ir_builder builder = rewrite_before(loop);
    struct ir_value **operands = ARENA_ARRAY(arena, struct ir_value *, loop->operand_count);
    const struct ir_type **types = ARENA_ARRAY(arena, const struct ir_type *, loop->result_count);
    int count = 0;
    for (int i = 0; i < 3; i++)
        operands[i] = loop->operands[i];
    for (int i = 0; i < carried->count; i++)
        if (carried->live[i]) {
            operands[3 + count] = loop->operands[3 + i];
            types[count++] = loop->results[i]->type;
        }
    struct ir_operation *slim = ir_build(&builder, OP_FOR, 3 + count, operands, count, types);
    slim->attributes = loop->attributes;
    struct ir_block *body = loop->regions[0], *into = slim->regions[0];
    const struct ir_value *variable = body->arguments.data[0];
    ir_replace_uses(body->arguments.data[0], ir_block_argument(into, variable->type, variable->name));
    int next = 0;
    for (int i = 0; i < carried->count; i++) {
        struct ir_value *argument = body->arguments.data[i + 1];
        if (!carried->live[i]) /* what is left of its chain goes with the first walk over the new body */
            ir_replace_uses(argument, loop->operands[3 + i]);
        else
            ir_replace_uses(argument, ir_block_argument(into, argument->type, argument->name));
    }
    struct ir_operation *yield = ir_terminator(body);
    for (int i = carried->count - 1; i >= 0; i--)
        if (!carried->live[i])
            ir_remove_operand(yield, i);
    while (body->first)
        ir_move_to_end(body->first, into);
    for (int i = 0; i < carried->count; i++)
        if (carried->live[i]) {
            slim->results[next]->name = loop->results[i]->name;
            ir_replace_uses(loop->results[i], slim->results[next++]);
        }
    ir_remove(loop);
    return slim;
}

/* ---- the walk ---- */

static bool drop_all_carried(struct ir_block *block, struct pass_context *context)
{
    bool changed = false;
    for (struct ir_operation *op = block->last; op; op = op->previous) {
        struct carried carried;
        if (op->opcode == OP_FOR && find_live(op, &carried, context->arena) && pass_fuel(context)) {
            op = drop_carried(op, &carried, context->arena);
            changed = true;
        }
        for (int i = 0; i < op->region_count; i++)
            changed = drop_all_carried(op->regions[i], context) || changed;
    }
    return changed;
}

bool pass_dce(struct ir_function *function, struct pass_context *context)
{
    bool changed = rewrite_remove_dead(function->body, context);
    while (drop_all_carried(function->body, context)) {
        rewrite_remove_dead(function->body, context); /* what only fed a carried value */
        changed = true;
    }
    return changed;
}
