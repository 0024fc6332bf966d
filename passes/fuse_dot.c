/* Fuse dot: a sum with a product takes the other summand as the product's accumulator.
 *
 *     %z = constant value(0.0) : f32[64, 64]
 *     %p = dot %a, %b, %z : f32[64, 64]           ->      %s = dot %a, %b, %c : f32[64, 64]
 *     %s = add %c, %p : f32[64, 64]
 *
 * Right because the order of accumulation of a product is the target's own (the language says so), and adding from zero
 * is one of these orders; integers wrap.  Only when nothing else uses the product: else it would be computed twice. The
 * product moves down to the sum, where the other summand is known. */
#include "base/plant.h"
#include "passes/pass.h"
#include "passes/rewrite.h"

static struct ir_operation *product_from_zero(const struct ir_value *value)
{
    struct ir_operation *dot = value->definition;
    uint64_t bits;
    if (!dot || dot->opcode != OP_DOT || !ir_constant_of(dot->operands[2], &bits) || !value->uses ||
        (value->uses->next && !PLANTED(fuse_dot_of_shared_product)))
        return NULL;
    return ir_bits_to_double(value->type->element, bits) == 0.0 ? dot : NULL;
}

/* Moving down must not carry the product into another loop, where it would run each time. */
static void fuse(struct ir_operation *sum, void *data)
{
    struct { struct pass_context *context; bool changed; } *state = data;
    if (sum->opcode != OP_ADD)
        return;
    for (int i = 0; i < 2; i++) {
        struct ir_operation *dot = product_from_zero(sum->operands[i]);
        if (!dot || dot->block != sum->block || !pass_fuel(state->context))
            continue;
        struct ir_value *other = sum->operands[1 - i];
        ir_move_before(dot, sum);
        ir_replace_uses(sum->results[0], dot->results[0]);
        if (sum->results[0]->name)
            dot->results[0]->name = sum->results[0]->name;
        ir_remove(sum);
        ir_set_operand(dot, 2, other);
        state->changed = true;
        return;
    }
}

bool pass_fuse_dot(struct ir_function *function, struct pass_context *context)
{
    struct { struct pass_context *context; bool changed; } state = {context, false};
    ir_walk(function->body, fuse, &state);
    return state.changed;
}
