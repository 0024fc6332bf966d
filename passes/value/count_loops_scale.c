/* see count_loops.h
 *
 *     for %t = %lo to ceil(%n / 64) step 1 {          for %j = %lo * 64 to %n step 64 {
 *         %k = mul %t, 64                      ->         … %j …
 *         … %k …                                      }
 *     }
 *
 * Attention written so takes 1.08 (causal 1.17) of its time on an H100 otherwise (2026-11-28-h100-forms.json): its masks stay in all
 * iterations, and blocks do not know which programs are long.
 *
 * Right because `t < ceil(n / 64)` and `t * 64 < n` are the same for whole numbers, and the ranges show that nothing wraps. */
#include "passes/value/count_loops.h"

#include "ir/facts/linear.h"
#include "ir/query.h"
#include "passes/base/rewrite.h"

struct ir_value *count_loops_ceiling(struct ir_builder *builder, struct ir_value *n, int64_t divisor)
{
    struct ir_value *by = ir_constant_int(builder, n->type, divisor);
    struct ir_value *rest = ir_binary(builder, OP_REM, n, by);
    struct ir_value *more = ir_compare(builder, IR_PREDICATE_GT, rest, ir_constant_int(builder, n->type, 0));
    return ir_binary(builder, OP_ADD, ir_binary(builder, OP_DIV, n, by), ir_cast(builder, more, n->type->element));
}

/* What a while carried to count, and nobody looks at any more: only handed on. */
static bool is_left_over(const struct ir_operation *op, const struct ir_operation *loop)
{
    const struct ir_block *body = loop->regions[0];
    const struct ir_use *use = op->result_count == 1 ? op->results[0]->uses : NULL;
    return use && !use->next && use->user == ir_terminator(body) && ir_has_trait(op, IR_TRAIT_PURE) &&
           !body->arguments.data[use->index + 1]->uses && !loop->results[use->index]->uses;
}

/* The variable is used multiplied by the number, and in no other way. */
static bool is_only_multiplied(const struct ir_operation *loop, int64_t factor)
{
    bool multiplied = false;
    for (const struct ir_use *use = loop->regions[0]->arguments.data[0]->uses; use; use = use->next) {
        int64_t number;
        bool product = use->user->opcode == OP_MUL &&
                       ir_constant_integer(use->user->operands[1 - use->index], &number) && number == factor;
        if (!product && !is_left_over(use->user, loop))
            return false;
        multiplied |= product;
    }
    return multiplied;
}

static bool fits(struct range range, int64_t factor, int64_t beyond, struct range whole)
{
    int64_t low, high;
    return !__builtin_mul_overflow(range.low, factor, &low) && !__builtin_mul_overflow(range.high, factor, &high) &&
           !__builtin_sub_overflow(low, beyond, &low) && !__builtin_add_overflow(high, beyond, &high) &&
           range_within((struct range){low, high}, whole);
}

/* Also of what the pass has just made. */
static struct range range_of_end(const struct ranges *ranges, const struct ir_value *end)
{
    const struct ir_operation *cast = end->definition;
    bool same = cast && cast->opcode == OP_CAST && linear_keeps_number(ranges, cast);
    return range_of(ranges, same ? cast->operands[0] : end);
}

bool count_loops_scale(struct pass_context *context, struct ir_operation *loop)
{
    struct ir_value *variable = loop->regions[0]->arguments.data[0];
    struct range whole = range_of_element(variable->type->element);
    int64_t step, factor;
    struct ir_value *end = linear_ceiling_of(loop->operands[1], &factor);
    if (!end || factor == 1 || ir_number(loop, IR_ATTRIBUTE_MULTIPLY, 0) ||
        !ir_constant_integer(loop->operands[2], &step) || step <= 0 || __builtin_mul_overflow(step, factor, &step) ||
        !is_only_multiplied(loop, factor) || !fits(range_of(context->ranges, loop->operands[0]), factor, 0, whole) ||
        !fits(range_of_end(context->ranges, end), 1, step, whole) || !pass_fuel(context))
        return false;
    struct ir_builder builder = rewrite_before(loop);
    struct ir_value *by = ir_constant_int(&builder, variable->type, factor);
    ir_set_operand(loop, 0, ir_binary(&builder, OP_MUL, loop->operands[0], by));
    ir_set_operand(loop, 1, end);
    ir_set_operand(loop, 2, ir_constant_int(&builder, variable->type, step));
    VECTOR(struct ir_operation *) users = {0};
    for (const struct ir_use *use = variable->uses; use; use = use->next)
        vector_push(context->arena, &users, use->user);
    for (int i = 0; i < users.count; i++) {
        struct ir_operation *op = users.data[i];
        bool left_over = is_left_over(op, loop);
        ir_replace_uses(op->results[0],
                        left_over ? loop->regions[0]->arguments.data[op->results[0]->uses->index + 1] : variable);
        ir_remove(op);
    }
    return true;
}
