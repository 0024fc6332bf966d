/* Fuse dot: a sum with a product takes the other summand as the product's accumulator.
 *
 *     %z = constant value(0.0) : f32[64, 64]
 *     %p = dot %a, %b, %z : f32[64, 64]           ->      %s = dot %a, %b, %c : f32[64, 64]
 *     %s = add %c, %p : f32[64, 64]
 *
 * A chain of products that starts from zero takes the other summand at its start:
 *     %p = dot %a, %b, %z     %q = dot %d, %e, %p     %s = add %c, %q
 *     ->     %p = dot %a, %b, %c     %q = dot %d, %e, %p
 *
 * Right because the order of accumulation of a product is the target's own (the language says so), and adding from zero
 * is one of these orders; integers wrap.  Only when nothing else uses the product: else it would be computed twice. The
 * product moves down to the sum, where the other summand is known. */
#include "base/plant.h"
#include "passes/pass.h"
#include "passes/rewrite.h"

/* The first product of a chain that ends in `value`, all in one block. */
static struct ir_operation *product_from_zero(const struct ir_value *value)
{
    struct ir_operation *dot = value->definition;
    uint64_t bits;
    if (!dot || dot->opcode != OP_DOT || !value->uses || (value->uses->next && !PLANTED(fuse_dot_of_shared_product)))
        return NULL;
    if (!ir_constant_of(dot->operands[2], &bits)) {
        struct ir_operation *first = product_from_zero(dot->operands[2]);
        return first && first->block == dot->block ? first : NULL;
    }
    return ir_bits_to_double(value->type->element, bits) == 0.0 || PLANTED(fuse_dot_from_any_constant) ? dot : NULL;
}

/* Moves the products from `first` to `last`, each the next one's accumulator, in front of `before`. */
static void move_chain(struct ir_operation *first, struct ir_operation *last, struct ir_operation *before)
{
    if (last != first)
        move_chain(first, last->operands[2]->definition, before);
    ir_move_before(last, before);
}

/* Moving down must not carry the product into another loop, where it would run each time. */
static void fuse(struct ir_operation *sum, void *data)
{
    struct { struct pass_context *context; bool changed; } *state = data;
    if (sum->opcode != OP_ADD)
        return;
    for (int i = 0; i < 2; i++) {
        struct ir_operation *dot = product_from_zero(sum->operands[i]);
        if (!dot || sum->operands[i]->definition->block != sum->block || !pass_fuel(state->context))
            continue;
        struct ir_value *other = sum->operands[1 - i], *result = sum->operands[i];
        move_chain(dot, result->definition, sum);
        ir_replace_uses(sum->results[0], result);
        if (sum->results[0]->name)
            result->name = sum->results[0]->name;
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
