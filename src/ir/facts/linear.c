/* see linear.h */
#include "ir/facts/linear.h"

#include "ir/query.h"

static bool product_fits(struct range a, struct range b)
{
    int64_t unused;
    return !__builtin_mul_overflow(a.low, b.low, &unused) && !__builtin_mul_overflow(a.low, b.high, &unused) &&
           !__builtin_mul_overflow(a.high, b.low, &unused) && !__builtin_mul_overflow(a.high, b.high, &unused);
}

bool linear_is_exact(const struct ranges *ranges, const struct ir_operation *op)
{
    struct range a = range_of(ranges, op->operands[0]), b = range_of(ranges, op->operands[1]), exact;
    struct range whole = range_of_element(op->results[0]->type->element);
    bool fits;
    if (op->opcode == OP_ADD)
        fits = !__builtin_add_overflow(a.low, b.low, &exact.low) &&
               !__builtin_add_overflow(a.high, b.high, &exact.high);
    else if (op->opcode == OP_SUB)
        fits = !__builtin_sub_overflow(a.low, b.high, &exact.low) &&
               !__builtin_sub_overflow(a.high, b.low, &exact.high);
    else if (!product_fits(a, b))
        fits = false;
    else {
        exact.low = int64_min(int64_min(a.low * b.low, a.low * b.high), int64_min(a.high * b.low, a.high * b.high));
        exact.high = int64_max(int64_max(a.low * b.low, a.low * b.high), int64_max(a.high * b.low, a.high * b.high));
        fits = true;
    }
    return fits && op->results[0]->type->element != IR_U64 && range_within(exact, whole);
}

/* Ranges of u64 are those of its bits as i64. */
bool linear_keeps_number(const struct ranges *ranges, const struct ir_operation *cast)
{
    const struct ir_value *operand = cast->operands[0];
    enum ir_element from = operand->type->element, to = cast->results[0]->type->element;
    if (operand->type->kind != IR_TILE || !ir_is_integer(from))
        return false;
    struct range range = range_of(ranges, operand);
    bool whole = from != IR_U64 && to != IR_U64;
    return (whole || range.low >= 0) && range_within(range, range_of_element(to));
}

enum { MOST_STEPS = 1000 };

static struct linear find_linear(const struct ranges *ranges, const struct ir_value *value, int *steps)
{
    struct linear plain = {value, 1, 0};
    const struct ir_operation *op = value->definition;
    int64_t number;
    if (ir_constant_integer(value, &number))
        return (struct linear){NULL, 0, number};
    if (!op || --*steps < 0)
        return plain;
    if (op->opcode == OP_CAST && linear_keeps_number(ranges, op))
        return find_linear(ranges, op->operands[0], steps);
    if ((op->opcode != OP_ADD && op->opcode != OP_SUB && op->opcode != OP_MUL) || !linear_is_exact(ranges, op))
        return plain;
    struct linear a = find_linear(ranges, op->operands[0], steps), out;
    struct linear b = find_linear(ranges, op->operands[1], steps);
    if (op->opcode == OP_MUL) {
        struct linear factor = a.term ? b : a, other = a.term ? a : b;
        if (factor.term || __builtin_mul_overflow(other.scale, factor.offset, &out.scale) ||
            __builtin_mul_overflow(other.offset, factor.offset, &out.offset))
            return plain;
        out.term = other.term;
        return out;
    }
    if (op->opcode == OP_SUB) {
        if (b.term || b.offset == INT64_MIN)
            return plain;
        b.offset = -b.offset;
    }
    if ((a.term && b.term) || __builtin_add_overflow(a.offset, b.offset, &out.offset))
        return plain;
    out.term = a.term ? a.term : b.term;
    out.scale = a.term ? a.scale : b.scale;
    return out;
}

/* Of a value that is used twice in each of many steps not all ways are gone. */
struct linear linear_of(const struct ranges *ranges, const struct ir_value *value)
{
    int steps = MOST_STEPS;
    return find_linear(ranges, value, &steps);
}

static bool is_positive_test(const struct ir_value *value, const struct ir_value *n, int64_t divisor)
{
    const struct ir_operation *compare = value->definition, *rest;
    int64_t number;
    if (!compare || compare->opcode != OP_COMPARE || ir_number(compare, IR_ATTRIBUTE_PREDICATE, 0) != IR_PREDICATE_GT ||
        !ir_constant_integer(compare->operands[1], &number) || number != 0)
        return false;
    rest = compare->operands[0]->definition;
    if (rest && rest->opcode == OP_CAST && ir_is_signed(compare->operands[0]->type->element) &&
        ir_element_info[compare->operands[0]->type->element].bits >= ir_element_info[n->type->element].bits)
        rest = rest->operands[0]->definition;
    return rest && rest->opcode == OP_REM && rest->operands[0] == n &&
           ir_constant_integer(rest->operands[1], &number) && number == divisor;
}

struct ir_value *linear_ceiling_of(const struct ir_value *value, int64_t *divisor)
{
    const struct ir_operation *sum = value->definition;
    if (!sum || sum->opcode != OP_ADD)
        return NULL;
    for (int side = 0; side < 2; side++) {
        const struct ir_operation *quotient = sum->operands[side]->definition;
        const struct ir_operation *more = sum->operands[1 - side]->definition;
        if (quotient && more && quotient->opcode == OP_DIV && more->opcode == OP_CAST &&
            ir_is_signed(value->type->element) && ir_constant_integer(quotient->operands[1], divisor) && *divisor > 0 &&
            is_positive_test(more->operands[0], quotient->operands[0], *divisor))
            return quotient->operands[0];
    }
    return NULL;
}
