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
 * Where a difference of two products is added, the first product takes the other summand.  Then only one more tile is
 * alive, the second product:
 *     %p = dot %a, %b, %z     %q = dot %d, %e, %z     %l = sub %p, %q     %s = add %c, %l
 *     ->     %q = dot %d, %e, %z     %p = dot %a, %b, %c     %s = sub %p, %q
 * This adds in another order than the source does, so floats are left alone under --strict-fp.
 *
 * Where a loop subtracts products from a sum, the sum is carried with the other sign, so that the products are added:
 *     %r = for … iter(%s = %c) { %p = dot %a, %b, %z   %t = sub %s, %p   yield %t }
 *     ->     %n = for … iter(%s = -%c) { %p = dot %a, %b, %s   yield %p }   %r = sub 0, %n
 * 0 - n has every bit of the sum, which is -0 only if it started from -0.
 *
 * Right because the order of accumulation of a product is the target's own (the language says so), and adding from zero
 * is one of these orders; integers wrap.  Only when nothing else uses the product: else it would be computed twice. The
 * product moves down to the sum, where the other summand is known. */
#include "base/plant.h"
#include "passes/base/pass.h"
#include "passes/base/rewrite.h"

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

struct fusing {
    struct pass_context *context;
    bool changed;
};

/* sum = other + (product - less): the product takes the other summand.  Floats that are strict keep their order; an
 * integer wraps either way. */
static bool fuse_difference(struct ir_operation *sum, int index, struct fusing *state)
{
    struct ir_value *difference = sum->operands[index], *other = sum->operands[1 - index];
    struct ir_operation *sub = difference->definition;
    if (!sub || sub->opcode != OP_SUB || sub->block != sum->block || difference->uses->next)
        return false;
    if (sum->block->function->strict_fp && ir_is_float(difference->type->element))
        return false;
    struct ir_value *result = sub->operands[0];
    struct ir_operation *dot = product_from_zero(result);
    if (!dot || result->definition->block != sum->block || !product_from_zero(sub->operands[1]) ||
        !pass_fuel(state->context))
        return false;
    move_chain(dot, result->definition, sum);
    ir_move_before(sub, sum);
    ir_set_operand(dot, 2, other);
    ir_replace_uses(sum->results[0], difference);
    if (sum->results[0]->name)
        difference->name = sum->results[0]->name;
    ir_remove(sum);
    state->changed = true;
    return true;
}

/* Moving down must not carry the product into another loop, where it would run each time. */
static void fuse(struct ir_operation *sum, void *data)
{
    struct fusing *state = data;
    if (sum->opcode != OP_ADD)
        return;
    for (int i = 0; i < 2; i++) {
        if (fuse_difference(sum, i, state))
            return;
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

/* ---- products that are taken away ---- */

static bool is_used_once(const struct ir_value *value) { return value->uses && !value->uses->next; }

/* The sum of the loop that starts as a constant but -0, and becomes itself less some products, nothing else. */
static bool falls_by_products(const struct ir_operation *loop, int number)
{
    const struct ir_block *body = loop->regions[0];
    const struct ir_value *sum = body->arguments.data[1 + number];
    const struct ir_operation *yield = ir_terminator(body);
    uint64_t bits;
    enum ir_element element = sum->type->element;
    if (!ir_constant_of(loop->operands[3 + number], &bits) || !ir_is_float(element) || element == IR_F64 ||
        (bits && ir_bits_to_double(element, bits) == 0.0))
        return false;
    int products = 0;
    for (; is_used_once(sum) && sum->uses->user != yield; products++) {
        const struct ir_operation *less = sum->uses->user;
        if (less->opcode != OP_SUB || less->block != body || sum->uses->index != 0 ||
            !product_from_zero(less->operands[1]) || less->operands[1]->definition->block != body)
            return false;
        sum = less->results[0];
    }
    return products > 0 && is_used_once(sum) && sum->uses->index == number;
}

static void carry_negative(struct ir_operation *loop, int number)
{
    struct ir_value *first = loop->operands[3 + number], *result = loop->results[number];
    struct ir_value *sum = loop->regions[0]->arguments.data[1 + number];
    struct ir_builder front = rewrite_before(loop), behind = rewrite_before(loop->next);
    uint64_t bits;
    ir_constant_of(first, &bits);
    double start = ir_bits_to_double(first->type->element, bits);
    double turned_start = start == 0.0 || PLANTED(fuse_dot_start_keeps_sign) ? start : -start;
    ir_set_operand(loop, 3 + number, ir_constant_float(&front, first->type, turned_start));
    while (sum->uses->user != ir_terminator(loop->regions[0])) {
        struct ir_operation *less = sum->uses->user;
        struct ir_builder builder = rewrite_before(less);
        struct ir_value *more = ir_binary(&builder, OP_ADD, sum, less->operands[1]);
        more->name = less->results[0]->name;
        ir_replace_uses(less->results[0], more);
        ir_remove(less);
        sum = more;
    }
    behind.at = loop->at;
    struct ir_value *zero = ir_constant_float(&behind, result->type, 0.0);
    struct ir_operation *turned = ir_build(&behind, OP_SUB, 2, (struct ir_value *[]){zero, zero}, 1, &result->type);
    ir_replace_uses(result, turned->results[0]);
    ir_set_operand(turned, 1, result);
}

static void turn_signs(struct ir_operation *loop, void *data)
{
    struct fusing *f = data;
    for (int i = 0; loop->opcode == OP_FOR && i < loop->result_count; i++)
        if (falls_by_products(loop, i) && pass_fuel(f->context)) {
            carry_negative(loop, i);
            f->changed = true;
        }
}

bool pass_fuse_dot(struct ir_function *function, struct pass_context *context)
{
    struct fusing f = {context, false};
    ir_walk(function->body, turn_signs, &f);
    ir_walk(function->body, fuse, &f);
    return f.changed;
}
