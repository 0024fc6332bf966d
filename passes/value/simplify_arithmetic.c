/* Algebra of numbers, for simplify.  c, d are constants; (c+d) is computed when compiling.  Integers wrap, so integer
 * rules hold for every value.  Float rules keep every bit of every result that is not a NaN: what would lose a sign of
 * zero is not here. */
#include "base/plant.h"
#include "passes/value/simplify.h"

static struct ir_value *constant_like(struct ir_operation *op, const struct ir_value *like, uint64_t bits)
{
    struct ir_builder builder = rewrite_before(op);
    return ir_constant_bits(&builder, like->type, bits);
}

static struct ir_value *build(struct ir_operation *op, enum ir_opcode opcode, struct ir_value *a, struct ir_value *b)
{
    struct ir_builder builder = rewrite_before(op);
    return b ? ir_binary(&builder, opcode, a, b) : ir_unary(&builder, opcode, a);
}

static bool is_zero(const struct ir_value *value) { return simplify_is(value, 0); }

static bool is_all_ones(const struct ir_value *value)
{
    int64_t number;
    return ir_constant_integer(value, &number) &&
           (uint64_t)number == ir_int_to_bits(value->type->element, value->type->element == IR_BOOL ? 1 : -1);
}

/* c op x = x op c, for what commutes. */
static struct ir_value *constant_right(struct ir_operation *op)
{
    struct ir_value *a = op->operands[0], *b = op->operands[1];
    if (!ir_has_trait(op, IR_TRAIT_COMMUTATIVE) || !ir_is_constant(a) || ir_is_constant(b))
        return NULL;
    ir_set_operand(op, 0, b);
    ir_set_operand(op, 1, a);
    return op->results[0];
}

/* (x op c) op d = x op (c op d), for + * & | ^ min max. */
static struct ir_value *reassociate(struct ir_operation *op)
{
    const struct ir_operation *inner = simplify_definition(op->operands[0], op->opcode);
    if (!inner || !ir_is_constant(op->operands[1]) || !ir_is_constant(inner->operands[1]))
        return NULL;
    struct ir_value *constant = build(op, op->opcode, inner->operands[1], op->operands[1]);
    return build(op, op->opcode, inner->operands[0], constant);
}

/* x + 0 = x;  x + (-y) = x - y;  (-x) + y = y - x;  (x - y) + y = x;  y + (x - y) = x */
static struct ir_value *integer_add(struct ir_operation *op)
{
    struct ir_value *a = op->operands[0], *b = op->operands[1];
    if (is_zero(b))
        return a;
    const struct ir_operation *sub = simplify_definition(a, OP_SUB);
    if (sub && sub->operands[1] == b)
        return sub->operands[0];
    sub = simplify_definition(b, OP_SUB);
    if (sub && sub->operands[1] == a)
        return sub->operands[0];
    const struct ir_operation *neg = simplify_definition(b, OP_NEG);
    if (neg)
        return build(op, OP_SUB, a, neg->operands[0]);
    neg = simplify_definition(a, OP_NEG);
    return neg ? build(op, OP_SUB, b, neg->operands[0]) : reassociate(op);
}

/* x - x = 0;  x - c = x + (-c);  0 - x = -x;  x - (-y) = x + y;  (x + y) - x = y;  (x + y) - y = x */
static struct ir_value *integer_sub(struct ir_operation *op)
{
    struct ir_value *a = op->operands[0], *b = op->operands[1];
    int64_t number;
    enum ir_element e = a->type->element;
    if (a == b)
        return constant_like(op, a, 0);
    if (ir_is_signed(e) && ir_constant_integer(b, &number)) /* unsigned: the negative would look huge to ranges */
        return build(op, OP_ADD, a, constant_like(op, b, ir_int_to_bits(e, (int64_t)(0 - (uint64_t)number))));
    if (is_zero(a))
        return build(op, OP_NEG, b, NULL);
    const struct ir_operation *neg = simplify_definition(b, OP_NEG), *add = simplify_definition(a, OP_ADD);
    if (neg)
        return build(op, OP_ADD, a, neg->operands[0]);
    if (add && add->operands[0] == b)
        return add->operands[1];
    return add && add->operands[1] == b ? add->operands[0] : NULL;
}

/* x * 0 = 0;  x * 1 = x;  x * -1 = -x */
static struct ir_value *integer_mul(struct ir_operation *op)
{
    struct ir_value *a = op->operands[0], *b = op->operands[1];
    if (is_zero(b))
        return b;
    if (simplify_is(b, 1))
        return a;
    return is_all_ones(b) ? build(op, OP_NEG, a, NULL) : reassociate(op);
}

/* x / 1 = x;  x / 0 = 0;  0 / x = 0;  x % 1 = 0;  x % 0 = x;  0 % x = 0;
 * unsigned: x / 2^n = x >> n;  x % 2^n = x & (2^n - 1) */
static struct ir_value *integer_divide(struct ir_operation *op)
{
    struct ir_value *a = op->operands[0], *b = op->operands[1];
    bool remainder = op->opcode == OP_REM;
    int64_t number;
    if (is_zero(a))
        return a;
    if (simplify_is(b, 1))
        return remainder ? constant_like(op, a, 0) : a;
    if (is_zero(b))
        return remainder ? a : b;
    if ((ir_is_signed(a->type->element) && !PLANTED(simplify_shifts_signed)) || !ir_constant_integer(b, &number) ||
        !is_power_of_two(number))
        return NULL;
    int64_t operand = remainder ? number - 1 : log2_floor((uint64_t)number);
    return build(op, remainder ? OP_AND : OP_SHR, a, constant_like(op, b, (uint64_t)operand));
}

/* x & x = x;  x & 0 = 0;  x & -1 = x;  x | x = x;  x | 0 = x;  x | -1 = -1;  x ^ x = 0;  x ^ 0 = x;  x ^ -1 = ~x */
static struct ir_value *integer_bits(struct ir_operation *op)
{
    struct ir_value *a = op->operands[0], *b = op->operands[1];
    if (a == b)
        return op->opcode == OP_XOR ? constant_like(op, a, 0) : a;
    if (is_zero(b))
        return op->opcode == OP_AND ? b : a;
    if (is_all_ones(b))
        return op->opcode == OP_AND ? a : op->opcode == OP_OR ? b : build(op, OP_NOT, a, NULL);
    return reassociate(op);
}

/* min(x, x) = x;  max(x, x) = x;  of bool-free integers: min(x, least) = least … are left to ranges */
static struct ir_value *integer_extreme(struct ir_operation *op)
{
    return op->operands[0] == op->operands[1] ? op->operands[0] : reassociate(op);
}

/* x << 0 = x;  x >> 0 = x;  0 << x = 0;  0 >> x = 0 */
static struct ir_value *integer_shift(struct ir_operation *op)
{
    return is_zero(op->operands[1]) || is_zero(op->operands[0]) ? op->operands[0] : NULL;
}

/* -(-x) = x;  ~~x = x;  -(x - y) = y - x;  ~(a < b) = a >= b for integers */
static struct ir_value *integer_unary(struct ir_operation *op)
{
    const struct ir_operation *same = simplify_definition(op->operands[0], op->opcode);
    if (same)
        return same->operands[0];
    const struct ir_operation *sub = simplify_definition(op->operands[0], OP_SUB);
    if (op->opcode == OP_NEG && sub)
        return build(op, OP_SUB, sub->operands[1], sub->operands[0]);
    const struct ir_operation *compare = simplify_definition(op->operands[0], OP_COMPARE);
    if (op->opcode != OP_NOT || !compare || ir_is_float(compare->operands[0]->type->element))
        return NULL;
    static const enum ir_predicate opposite[IR_PREDICATE_COUNT] = {IR_PREDICATE_NE, IR_PREDICATE_EQ, IR_PREDICATE_GE,
                                                                   IR_PREDICATE_GT, IR_PREDICATE_LE, IR_PREDICATE_LT};
    struct ir_builder builder = rewrite_before(op);
    return ir_compare(&builder, opposite[ir_number(compare, IR_ATTRIBUTE_PREDICATE, 0)], compare->operands[0],
                      compare->operands[1]);
}

struct ir_value *simplify_integer(struct ir_operation *op)
{
    struct ir_value *swapped = op->operand_count == 2 ? constant_right(op) : NULL;
    if (swapped)
        return swapped;
    switch (op->opcode) {
    case OP_ADD: return integer_add(op);
    case OP_SUB: return integer_sub(op);
    case OP_MUL: return integer_mul(op);
    case OP_DIV:
    case OP_REM: return integer_divide(op);
    case OP_AND:
    case OP_OR:
    case OP_XOR: return integer_bits(op);
    case OP_MIN:
    case OP_MAX: return integer_extreme(op);
    case OP_SHL:
    case OP_SHR: return integer_shift(op);
    case OP_NEG:
    case OP_NOT: return integer_unary(op);
    default: return NULL;
    }
}

/* 1/c is exact: a power of two whose inverse is one too. */
static bool exact_inverse(enum ir_element e, uint64_t bits, uint64_t *inverse)
{
    double value = ir_bits_to_double(e, bits);
    if (value == 0 || value - value != 0)
        return false;
    uint64_t raw;
    __builtin_memcpy(&raw, &value, sizeof raw);
    double quotient = 1.0 / value;
    *inverse = ir_double_to_bits(e, quotient);
    /* a subnormal inverse might be flushed by hardware: only normal ones, which f16 has down to 2^-14 */
    double least = e == IR_F16 ? 0x1p-14 : e == IR_F64 ? 0x1p-1022 : 0x1p-126;
    double size = quotient < 0 ? -quotient : quotient;
    return (PLANTED(simplify_inexact_inverse) || !(raw & ((UINT64_C(1) << 52) - 1))) && size >= least &&
           ir_bits_to_double(e, *inverse) == quotient;
}

/* x + -0.0 = x;  x - 0.0 = x;  x * 1.0 = x;  x / 1.0 = x;  x / 2^n = x * 2^-n;  min(x, x) = x;  --x = x;  | |x| | =
 * |x|; | -x | = |x|.  Not x + 0.0 = x (-0.0), not x * 0.0 = 0.0 (inf, -x), not x - x = 0.0 (inf), and no x of
 * f8e5m2 from arithmetic, which makes infinity the largest finite number. */
struct ir_value *simplify_float(struct ir_operation *op)
{
    struct ir_value *a = op->operands[0], *b = op->operand_count > 1 ? op->operands[1] : NULL;
    struct ir_value *swapped = op->operand_count == 2 ? constant_right(op) : NULL;
    uint64_t bits, inverse;
    bool rounds = op->opcode == OP_ADD || op->opcode == OP_SUB || op->opcode == OP_MUL || op->opcode == OP_DIV;
    if (swapped)
        return swapped;
    if (rounds && a->type->element == IR_F8E5M2)
        return NULL;
    switch (op->opcode) {
    case OP_ADD: return simplify_is(b, PLANTED(simplify_adds_zero) ? 0.0 : -0.0) ? a : NULL;
    case OP_SUB: return simplify_is(b, 0.0) ? a : NULL;
    case OP_MUL: return simplify_is(b, 1.0) ? a : NULL;
    case OP_DIV:
        if (simplify_is(b, 1.0))
            return a;
        if (!ir_constant_of(b, &bits) || ir_element_info[a->type->element].bits < 16 ||
            !exact_inverse(a->type->element, bits, &inverse))
            return NULL;
        return build(op, OP_MUL, a, constant_like(op, b, inverse));
    case OP_MIN:
    case OP_MAX: return a == b ? a : NULL;
    case OP_NEG: return simplify_definition(a, OP_NEG) ? a->definition->operands[0] : NULL;
    case OP_ABS:
        if (simplify_definition(a, OP_ABS))
            return a;
        return simplify_definition(a, OP_NEG) ? build(op, OP_ABS, a->definition->operands[0], NULL) : NULL;
    default: return NULL;
    }
}
