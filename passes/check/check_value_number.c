/* Numbers of the value checker.  Integers are what programs compute.  A float is a number modulo a prime: sums,
 * differences and products are those of that field, so that a sum in another order, in parts, or with a fused
 * operation is the same; maxima are those of the numbers; and every other function (exp, a quotient, rounding to a
 * narrower element) is a hash of its name and its operands.  Values that are made in the same way have one number, and
 * two that are not differ but for a chance of one in two billion. */
#include <math.h>
#include <string.h>

#include "passes/check/check_value.h"

enum { SMALL = 1 << 20, INDEXES = 512 };
static const int64_t prime = INT64_C(0x7FFFFFFF);

uint64_t check_mix(uint64_t a, uint64_t b)
{
    uint64_t hash = (a ^ (b + UINT64_C(0x9E3779B97F4A7C15) + (a << 6) + (a >> 2))) * UINT64_C(0xBF58476D1CE4E5B9);
    hash = (hash ^ (hash >> 29)) * UINT64_C(0x94D049BB133111EB);
    return hash ^ (hash >> 32);
}

static int64_t in_field(int64_t number)
{
    number %= prime;
    return number < 0 ? number + prime : number;
}

int64_t check_made(enum ir_element element, uint64_t hash)
{
    if (ir_is_float(element))
        return (int64_t)(hash % (uint64_t)prime);
    if (element == IR_BOOL)
        return (int64_t)(hash >> 63);
    return ir_is_integer(element) ? check_cut(element, (int64_t)hash) : (int64_t)hash;
}

static bool is_small(int64_t number) { return number < SMALL || number > prime - SMALL; }

/* An infinity is the least or the largest number, as maxima and minima start with it. */
int64_t check_constant(const struct ir_operation *op)
{
    enum ir_element element = op->results[0]->type->element;
    uint64_t bits = ir_attribute(op, IR_ATTRIBUTE_VALUE)->bits;
    if (!ir_is_float(element))
        return element == IR_POINTER ? (int64_t)bits : ir_bits_to_int(element, bits);
    double number = ir_bits_to_double(element, bits);
    if (isinf(number))
        return number < 0 ? 0 : prime - 1;
    if (fabs(number) < SMALL && number == nearbyint(number))
        return in_field((int64_t)number);
    memcpy(&bits, &number, sizeof bits);
    return check_made(element, check_mix(bits, 1));
}

static int64_t cast(const struct ir_operation *op, int64_t number)
{
    enum ir_element from = op->operands[0]->type->element, to = op->results[0]->type->element;
    uint64_t hash = check_mix((uint64_t)number, (uint64_t)to * 64 + (uint64_t)ir_number(op, IR_ATTRIBUTE_ROUND, 0));
    if (to == IR_BOOL)
        return number != 0;
    if (ir_is_float(from) && ir_is_float(to))
        return is_small(number) ? number : check_made(to, hash);
    if (ir_is_float(to))
        return in_field(number);
    if (ir_is_float(from)) {
        number = number < SMALL ? number : number > prime - SMALL ? number - prime : (int64_t)(hash % INDEXES);
        return check_cut(to, number);
    }
    bool fits = check_cut(to, number) == number || !ir_number(op, IR_ATTRIBUTE_SATURATE, 0);
    return fits ? check_cut(to, number) : check_made(to, hash);
}

static uint64_t hash_of_attributes(const struct ir_operation *op, uint64_t hash)
{
    const struct ir_attribute *text = ir_attribute(op, IR_ATTRIBUTE_TEXT);
    for (const char *c = text ? text->name : ""; *c; c++)
        hash = check_mix(hash, (unsigned char)*c);
    return check_mix(hash, (uint64_t)ir_number(op, IR_ATTRIBUTE_FUNCTION, 0));
}

static int64_t hashed(const struct ir_operation *op, int result, const int64_t *operands)
{
    uint64_t hash = hash_of_attributes(op, check_mix((uint64_t)op->opcode, (uint64_t)result));
    for (int i = 0; i < op->operand_count; i++)
        hash = check_mix(hash, (uint64_t)operands[i]);
    return check_made(op->results[result]->type->element, hash);
}

static bool is_compared(int64_t predicate, int64_t a, int64_t b)
{
    switch (predicate) {
    case IR_PREDICATE_EQ: return a == b;
    case IR_PREDICATE_NE: return a != b;
    case IR_PREDICATE_LT: return a < b;
    case IR_PREDICATE_LE: return a <= b;
    case IR_PREDICATE_GT: return a > b;
    default: return a >= b;
    }
}

static int64_t compute_float(const struct ir_operation *op, int result, const int64_t *operands)
{
    int64_t a = operands[0], b = op->operand_count > 1 ? operands[1] : 0;
    switch (op->opcode) {
    case OP_ADD: return in_field(a + b);
    case OP_SUB: return in_field(a - b);
    case OP_MUL: return in_field(a * b);
    case OP_NEG: return in_field(-a);
    case OP_FMA: return in_field(in_field(a * b) + operands[2]);
    case OP_KEEP_TF32: return a; /* precisions are not told apart */
    case OP_MIN: return int64_min(a, b);
    case OP_MAX: return int64_max(a, b);
    case OP_COMPARE: return is_compared(ir_number(op, IR_ATTRIBUTE_PREDICATE, 0), a, b);
    default: return hashed(op, result, operands);
    }
}

int64_t check_compute(const struct ir_operation *op, int result, const int64_t *operands)
{
    int64_t number;
    if (op->opcode == OP_SELECT)
        return operands[0] ? operands[1] : operands[2];
    if (op->opcode == OP_CAST)
        return cast(op, operands[0]);
    if (op->opcode == OP_POINTER_ADD)
        return (int64_t)((uint64_t)operands[0] + (uint64_t)operands[1]);
    if (op->opcode == OP_CONSTANT)
        return check_constant(op);
    enum ir_element element = op->operand_count ? op->operands[0]->type->element : IR_BOOL;
    if (ir_is_float(element))
        return compute_float(op, result, operands);
    bool plain = op->opcode != OP_BITCAST && op->opcode != OP_MATH && op->opcode != OP_ASM && op->opcode != OP_PHILOX;
    if (plain && check_arithmetic(op, operands, &number))
        return op->opcode == OP_COMPARE ? number : check_cut(op->results[result]->type->element, number);
    return hashed(op, result, operands);
}

int64_t check_combine(enum ir_reduce_kind kind, enum ir_element element, int64_t a, int64_t b)
{
    bool number = ir_is_float(element);
    switch (kind) {
    case IR_REDUCE_ADD: return number ? in_field(a + b) : check_cut(element, (int64_t)((uint64_t)a + (uint64_t)b));
    case IR_REDUCE_MUL: return number ? in_field(a * b) : check_cut(element, (int64_t)((uint64_t)a * (uint64_t)b));
    case IR_REDUCE_MIN:
        return element == IR_U64 && (uint64_t)a > (uint64_t)b ? b : element == IR_U64 ? a : int64_min(a, b);
    case IR_REDUCE_MAX:
        return element == IR_U64 && (uint64_t)a < (uint64_t)b ? b : element == IR_U64 ? a : int64_max(a, b);
    case IR_REDUCE_AND: return a & b;
    case IR_REDUCE_OR: return a | b;
    default: return a ^ b;
    }
}

int64_t check_product(enum ir_element element, int64_t a, int64_t b, int64_t sum)
{
    if (ir_is_float(element))
        return in_field(in_field(a) * in_field(b) + sum);
    return check_cut(element, (int64_t)((uint64_t)a * (uint64_t)b + (uint64_t)sum));
}
