/* Algebra of select, compare and conversions, for simplify. */
#include "base/plant.h"
#include "passes/value/simplify.h"

/* A choice between equal sides, by a constant, or of a bool itself. */
static struct ir_value *simplify_select(struct ir_operation *op)
{
    struct ir_value *condition = op->operands[0], *a = op->operands[1], *b = op->operands[2];
    struct ir_builder builder = rewrite_before(op);
    uint64_t bits;
    if (a == b)
        return a;
    if (ir_constant_of(condition, &bits))
        return bits ? a : b;
    /* not c ? a : b = c ? b : a */
    const struct ir_operation *not_c = simplify_definition(condition, OP_NOT);
    if (not_c)
        return ir_select(&builder, not_c->operands[0], b, a);
    /* c ? true : false = c;  c ? false : true = not c */
    if (a->type->element == IR_BOOL && condition->type == a->type) {
        if (simplify_is(a, 1) && simplify_is(b, 0))
            return condition;
        if (simplify_is(a, 0) && simplify_is(b, 1))
            return ir_unary(&builder, OP_NOT, condition);
    }
    /* c ? (c ? x : y) : b = c ? x : b;  c ? a : (c ? x : y) = c ? a : y */
    const struct ir_operation *inner = simplify_definition(a, OP_SELECT);
    if (inner && inner->operands[0] == condition)
        return ir_select(&builder, condition, inner->operands[1], b);
    inner = simplify_definition(b, OP_SELECT);
    if (!inner || inner->operands[0] != condition)
        return NULL;
    return ir_select(&builder, condition, a, inner->operands[2 - PLANTED(simplify_select_inner_swapped)]);
}

/* c < x = x > c;  integers: x < x = false, x <= x = true …;  bool: x == true = x, x == false = not x */
static struct ir_value *simplify_compare(struct ir_operation *op)
{
    static const enum ir_predicate mirrored[IR_PREDICATE_COUNT] = {IR_PREDICATE_EQ, IR_PREDICATE_NE, IR_PREDICATE_GT,
                                                                   IR_PREDICATE_GE, IR_PREDICATE_LT, IR_PREDICATE_LE};
    struct ir_value *a = op->operands[0], *b = op->operands[1];
    int64_t predicate = ir_number(op, IR_ATTRIBUTE_PREDICATE, IR_PREDICATE_EQ);
    struct ir_builder builder = rewrite_before(op);
    if (ir_is_constant(a) && !ir_is_constant(b)) {
        ir_set_operand(op, 0, b);
        ir_set_operand(op, 1, a);
        if (!PLANTED(simplify_compare_not_mirrored))
            ir_set_number(op, IR_ATTRIBUTE_PREDICATE, mirrored[predicate]);
        return op->results[0];
    }
    if (a == b && !ir_is_float(a->type->element)) {
        bool holds = predicate == IR_PREDICATE_EQ || predicate == IR_PREDICATE_LE || predicate == IR_PREDICATE_GE;
        return ir_constant_bits(&builder, op->results[0]->type, holds);
    }
    uint64_t bits;
    bool equality = predicate == IR_PREDICATE_EQ || predicate == IR_PREDICATE_NE;
    if (a->type->element == IR_BOOL && equality && ir_constant_of(b, &bits))
        return (bits != 0) == (predicate == IR_PREDICATE_EQ) ? a : ir_unary(&builder, OP_NOT, a);
    return NULL;
}

struct ir_value *simplify_choice(struct ir_operation *op)
{
    return op->opcode == OP_SELECT ? simplify_select(op) : op->opcode == OP_COMPARE ? simplify_compare(op) : NULL;
}

/* Every value of `from` has its own in `to`: integers into wider ones or the same with room for the sign, bool into
 * integers, floats into floats with more of both exponent and fraction. */
static bool keeps_values(enum ir_element from, enum ir_element to)
{
    int a = ir_element_info[from].bits, b = ir_element_info[to].bits;
    if (from == to)
        return true;
    if (from == IR_BOOL)
        return ir_is_integer(to);
    if (ir_is_integer(from) && ir_is_integer(to))
        return ir_is_signed(from) == ir_is_signed(to)
                   ? a <= b
                   : (!ir_is_signed(from) || PLANTED(simplify_cast_drops_sign)) && a < b;
    if (ir_is_float(from) && ir_is_float(to)) /* f16 and bf16 hold no range of the other; fp8 fits f16 and all above */
        return (to == IR_F64 || to == IR_F32 || (to == IR_F16 && a == 8)) && a < b;
    return PLANTED(simplify_cast_through_float);
}

/* cast to the same = x;  (to b, then c) = to c when b keeps every value;  integers also when c is no wider than b and
 * bits are just cut:  i64 -> i32 -> i16 = i64 -> i16.  Not f8e5m2 -> f32 -> f8e5m2, which saturates infinity. */
struct ir_value *simplify_cast(struct ir_operation *op)
{
    if (op->opcode != OP_CAST && op->opcode != OP_BITCAST)
        return NULL;
    struct ir_value *x = op->operands[0];
    struct ir_builder builder = rewrite_before(op);
    if (x->type == op->results[0]->type)
        return x;
    const struct ir_operation *inner = simplify_definition(x, op->opcode);
    if (!inner)
        return NULL;
    if (op->opcode == OP_BITCAST)
        return ir_build_value(&builder, OP_BITCAST, op->results[0]->type, 1, inner->operands);
    enum ir_element from = inner->operands[0]->type->element, middle = x->type->element,
                    to = op->results[0]->type->element;
    bool plain = !ir_number(op, IR_ATTRIBUTE_SATURATE, 0) && !ir_number(inner, IR_ATTRIBUTE_SATURATE, 0);
    bool cut = plain && ir_is_integer(from) && ir_is_integer(middle) && ir_is_integer(to) &&
               ir_element_info[to].bits <= ir_element_info[middle].bits;
    if (!cut && !keeps_values(from, middle))
        return NULL;
    /* a way through a float ends with the rounding of the last step, which has the exact value either way */
    if (inner->operands[0]->type == op->results[0]->type)
        return to == IR_F8E5M2 ? NULL : inner->operands[0];
    struct ir_value *direct = ir_build_value(&builder, OP_CAST, op->results[0]->type, 1, inner->operands);
    const struct ir_attribute *round = ir_attribute(op, IR_ATTRIBUTE_ROUND);
    if (round)
        ir_set_number(direct->definition, IR_ATTRIBUTE_ROUND, round->number);
    if (ir_number(op, IR_ATTRIBUTE_SATURATE, 0))
        ir_set_number(direct->definition, IR_ATTRIBUTE_SATURATE, 1);
    return direct;
}
