/* Arithmetic on single elements.  Floats go through double and are rounded once to their format: for + - * / and sqrt
 * of f32 and narrower that equals rounding the exact result (53 >= 2*24 + 2).  Built without contraction. */
#include <math.h>
#include <string.h>

#include "interp/frame.h"

__extension__ typedef __int128 wide_signed;
__extension__ typedef unsigned __int128 wide_unsigned;

static uint64_t float_min_max(enum ir_element element, bool largest, bool propagate, uint64_t a, uint64_t b)
{
    double x = ir_bits_to_double(element, a), y = ir_bits_to_double(element, b);
    if (isnan(x) || isnan(y)) {
        if (propagate || (isnan(x) && isnan(y)))
            return ir_double_to_bits(element, NAN);
        return isnan(x) ? b : a;
    }
    if (x == y) /* -0 < +0 */
        return (signbit(x) != 0) == largest ? b : a;
    return (x < y) == largest ? b : a;
}

static uint64_t integer_min_max(enum ir_element element, bool largest, uint64_t a, uint64_t b)
{
    bool less = ir_is_signed(element) ? ir_bits_to_int(element, a) < ir_bits_to_int(element, b) : a < b;
    return less == largest ? b : a;
}

static uint64_t wrap(enum ir_element element, uint64_t value) { return ir_int_to_bits(element, (int64_t)value); }

uint64_t scalar_combine(enum ir_reduce_kind kind, enum ir_element element, bool propagate, uint64_t a, uint64_t b)
{
    bool real = ir_is_float(element);
    switch (kind) {
    case IR_REDUCE_ADD:
        return real ? ir_double_to_bits(element, ir_bits_to_double(element, a) + ir_bits_to_double(element, b))
                    : wrap(element, a + b);
    case IR_REDUCE_MUL:
        return real ? ir_double_to_bits(element, ir_bits_to_double(element, a) * ir_bits_to_double(element, b))
                    : wrap(element, a * b);
    case IR_REDUCE_MIN:
        return real ? float_min_max(element, false, propagate, a, b) : integer_min_max(element, false, a, b);
    case IR_REDUCE_MAX:
        return real ? float_min_max(element, true, propagate, a, b) : integer_min_max(element, true, a, b);
    case IR_REDUCE_AND: return a & b;
    case IR_REDUCE_OR: return a | b;
    case IR_REDUCE_XOR: return a ^ b;
    case IR_REDUCE_REGION:
    case IR_REDUCE_COUNT: break;
    }
    die("no such way to combine: %d", (int)kind);
}

static uint64_t integer_divide(enum ir_element element, bool remainder, uint64_t a, uint64_t b)
{
    if (b == 0)
        return remainder ? a : 0;
    if (!ir_is_signed(element))
        return remainder ? a % b : a / b;
    int64_t x = ir_bits_to_int(element, a), y = ir_bits_to_int(element, b);
    if (y == -1) /* least / -1 wraps */
        return remainder ? 0 : wrap(element, 0 - (uint64_t)x);
    return wrap(element, (uint64_t)(remainder ? x % y : x / y));
}

static uint64_t shift(enum ir_element element, bool left, uint64_t a, uint64_t amount)
{
    int bits = ir_element_info[element].bits;
    uint64_t mask = bits == 64 ? ~UINT64_C(0) : (UINT64_C(1) << bits) - 1;
    amount &= mask; /* read as unsigned */
    bool over = amount >= (uint64_t)bits;
    if (left)
        return over ? 0 : wrap(element, (a & mask) << amount);
    if (!ir_is_signed(element))
        return over ? 0 : (a & mask) >> amount;
    int64_t value = ir_bits_to_int(element, a);
    return wrap(element, (uint64_t)(value >> (over ? 63 : amount)));
}

static uint64_t multiply_high(enum ir_element element, uint64_t a, uint64_t b)
{
    int bits = ir_element_info[element].bits;
    if (ir_is_signed(element)) {
        wide_signed product = (wide_signed)ir_bits_to_int(element, a) * ir_bits_to_int(element, b);
        return wrap(element, (uint64_t)(product >> bits));
    }
    wide_unsigned product = (wide_unsigned)a * b;
    return wrap(element, (uint64_t)(product >> bits));
}

static bool compare(enum ir_predicate predicate, enum ir_element element, uint64_t a, uint64_t b)
{
    int order; /* -1, 0, 1; 2: unordered */
    if (ir_is_float(element)) {
        double x = ir_bits_to_double(element, a), y = ir_bits_to_double(element, b);
        order = x < y ? -1 : x > y ? 1 : x == y ? 0 : 2;
    } else if (ir_is_signed(element)) {
        int64_t x = ir_bits_to_int(element, a), y = ir_bits_to_int(element, b);
        order = x < y ? -1 : x > y;
    } else {
        order = a < b ? -1 : a > b;
    }
    switch (predicate) {
    case IR_PREDICATE_EQ: return order == 0;
    case IR_PREDICATE_NE: return order != 0;
    case IR_PREDICATE_LT: return order == -1;
    case IR_PREDICATE_LE: return order == -1 || order == 0;
    case IR_PREDICATE_GT: return order == 1;
    case IR_PREDICATE_GE: return order == 1 || order == 0;
    case IR_PREDICATE_COUNT: break;
    }
    die("no such comparison: %d", (int)predicate);
}

/* The neighbour of a pattern in its format: magnitudes are ordered as their bits are. */
static uint64_t neighbour(uint64_t bits, bool away_from_zero) { return away_from_zero ? bits + 1 : bits - 1; }

static uint64_t round_float(enum ir_element to, enum ir_round mode, double value)
{
    uint64_t bits = ir_double_to_bits(to, value);
    double rounded = ir_bits_to_double(to, bits);
    if (mode == IR_ROUND_RTNE || rounded == value || isnan(value) || isinf(value))
        return bits;
    double largest = to == IR_F8E4M3 ? 448.0 : to == IR_F8E5M2 ? 57344.0 : INFINITY;
    if (fabs(value) > largest) /* saturates whatever the mode */
        return bits;
    bool too_far = fabs(rounded) > fabs(value), negative = signbit(value);
    bool outward = (mode == IR_ROUND_RTP && !negative) || (mode == IR_ROUND_RTN && negative);
    if (too_far && !outward)
        return neighbour(bits, false);
    if (!too_far && outward)
        return neighbour(bits, true);
    return bits;
}

/* An integer to a float: the nearest is one of the two around it, an integer itself where it is another number. */
static uint64_t round_integer(enum ir_element to, enum ir_round mode, wide_signed value)
{
    uint64_t bits;
    if (value >> 63 > 0) { /* halve with the lost bit kept sticky; doubling a float is exact */
        int64_t half = (int64_t)(value >> 1 | (value & 1));
        bits = ir_double_to_bits(to, 2.0 * ir_bits_to_double(to, ir_int_to_bits(to, half)));
    } else {
        bits = ir_int_to_bits(to, (int64_t)value);
    }
    double rounded = ir_bits_to_double(to, bits);
    wide_signed magnitude = value < 0 ? -value : value, largest = to == IR_F8E4M3 ? 448 : 57344;
    bool is_small = to == IR_F8E4M3 || to == IR_F8E5M2;
    if (mode == IR_ROUND_RTNE || (is_small && magnitude > largest) ||
        (!isinf(rounded) && (wide_signed)rounded == value))
        return bits;
    bool too_far = isinf(rounded) || (wide_signed)fabs(rounded) > magnitude;
    bool outward = (mode == IR_ROUND_RTP && value > 0) || (mode == IR_ROUND_RTN && value < 0);
    return too_far == outward ? bits : neighbour(bits, outward);
}

static uint64_t saturate_integer(enum ir_element from, enum ir_element to, uint64_t bits)
{
    wide_signed value = ir_is_signed(from) ? (wide_signed)ir_bits_to_int(from, bits) : (wide_signed)bits;
    int width = ir_element_info[to].bits;
    wide_signed least = ir_is_signed(to) ? -((wide_signed)1 << (width - 1)) : 0;
    wide_signed most = ((wide_signed)1 << (ir_is_signed(to) ? width - 1 : width)) - 1;
    return wrap(to, (uint64_t)(value < least ? least : value > most ? most : value));
}

static uint64_t cast(const struct ir_operation *operation, enum ir_element from, enum ir_element to, uint64_t bits)
{
    if (from == to)
        return bits;
    if (to == IR_BOOL)
        return ir_is_float(from) ? ir_bits_to_double(from, bits) != 0.0 : bits != 0;
    if (ir_is_float(from)) {
        double value = ir_bits_to_double(from, bits);
        if (!ir_is_float(to))
            return ir_double_to_bits(to, value);
        return round_float(to, (enum ir_round)ir_number(operation, IR_ATTRIBUTE_ROUND, IR_ROUND_RTNE), value);
    }
    if (from == IR_POINTER || to == IR_POINTER)
        return bits;
    if (ir_is_float(to)) {
        wide_signed value = ir_is_signed(from) ? (wide_signed)ir_bits_to_int(from, bits) : (wide_signed)bits;
        return round_integer(to, (enum ir_round)ir_number(operation, IR_ATTRIBUTE_ROUND, IR_ROUND_RTNE), value);
    }
    if (ir_number(operation, IR_ATTRIBUTE_SATURATE, 0))
        return saturate_integer(from, to, bits);
    return ir_int_to_bits(to, ir_bits_to_int(from, bits));
}

static double math1(enum ir_math function, double x)
{
    switch (function) {
    case IR_MATH_EXP: return exp(x);
    case IR_MATH_EXP2: return exp2(x);
    case IR_MATH_EXPM1: return expm1(x);
    case IR_MATH_LOG: return log(x);
    case IR_MATH_LOG2: return log2(x);
    case IR_MATH_LOG1P: return log1p(x);
    case IR_MATH_SIN: return sin(x);
    case IR_MATH_COS: return cos(x);
    case IR_MATH_TAN: return tan(x);
    case IR_MATH_TANH: return tanh(x);
    case IR_MATH_ERF: return erf(x);
    case IR_MATH_SQRT: return sqrt(x);
    case IR_MATH_RSQRT: return 1.0 / sqrt(x);
    case IR_MATH_RCP: return 1.0 / x;
    case IR_MATH_FLOOR: return floor(x);
    case IR_MATH_CEIL: return ceil(x);
    case IR_MATH_TRUNC: return trunc(x);
    case IR_MATH_ROUND: return nearbyint(x);
    case IR_MATH_ATAN: return atan(x);
    case IR_MATH_ASIN: return asin(x);
    case IR_MATH_ACOS: return acos(x);
    case IR_MATH_SINH: return sinh(x);
    case IR_MATH_COSH: return cosh(x);
    case IR_MATH_SIGMOID: return 1.0 / (1.0 + exp(-x));
    case IR_MATH_ISNAN: return isnan(x) ? 1.0 : 0.0;
    case IR_MATH_POW:
    case IR_MATH_ATAN2:
    case IR_MATH_COPYSIGN:
    case IR_MATH_COUNT: break;
    }
    die("no such function of one number: %d", (int)function);
}

static uint64_t math(const struct ir_operation *operation, enum ir_element element, const uint64_t *operands)
{
    enum ir_math function = (enum ir_math)ir_number(operation, IR_ATTRIBUTE_FUNCTION, IR_MATH_EXP);
    double x = ir_bits_to_double(element, operands[0]), result;
    if (function == IR_MATH_ISNAN)
        return isnan(x) ? UINT64_C(1) : 0;
    if (operation->operand_count == 1) {
        result = math1(function, x);
    } else {
        double y = ir_bits_to_double(element, operands[1]);
        result = function == IR_MATH_POW ? pow(x, y) : function == IR_MATH_ATAN2 ? atan2(x, y) : copysign(x, y);
    }
    return ir_double_to_bits(element, result);
}

static uint64_t fused(enum ir_element element, const uint64_t *o)
{
    if (!ir_is_float(element))
        return wrap(element, o[0] * o[1] + o[2]);
    double a = ir_bits_to_double(element, o[0]), b = ir_bits_to_double(element, o[1]);
    double c = ir_bits_to_double(element, o[2]);
    if (element == IR_F32)
        return ir_double_to_bits(IR_F32, (double)fmaf((float)a, (float)b, (float)c));
    return ir_double_to_bits(element, fma(a, b, c));
}

static uint64_t negate_or_abs(enum ir_opcode opcode, enum ir_element element, uint64_t a)
{
    if (ir_is_float(element)) {
        uint64_t sign = UINT64_C(1) << (ir_element_info[element].bits - 1);
        return opcode == OP_NEG ? a ^ sign : a & ~sign;
    }
    return opcode == OP_NEG || (ir_is_signed(element) && ir_bits_to_int(element, a) < 0) ? wrap(element, 0 - a) : a;
}

static uint64_t count_bits(enum ir_opcode opcode, enum ir_element element, uint64_t a)
{
    int bits = ir_element_info[element].bits;
    uint64_t value = bits == 64 ? a : a & ((UINT64_C(1) << bits) - 1);
    if (opcode == OP_POPCOUNT)
        return (uint64_t)__builtin_popcountll(value);
    if (opcode == OP_CTZ)
        return (uint64_t)(value ? __builtin_ctzll(value) : bits);
    return (uint64_t)(bits - 1 - log2_floor(value));
}

static uint64_t reverse_bits(enum ir_element element, uint64_t a)
{
    int bits = ir_element_info[element].bits;
    uint64_t reversed = 0;
    for (int i = 0; i < bits; i++)
        reversed |= (a >> i & 1) << (bits - 1 - i);
    return wrap(element, reversed);
}

/* The exact sum or difference, or the end of the element's range that it is beyond. */
static uint64_t saturate(enum ir_element element, bool adds, uint64_t a, uint64_t b)
{
    bool has_sign = ir_is_signed(element);
    int bits = ir_element_info[element].bits - has_sign;
    wide_signed most = ((wide_signed)1 << bits) - 1, least = has_sign ? -most - 1 : 0;
    wide_signed left = has_sign ? (wide_signed)ir_bits_to_int(element, a) : (wide_signed)a;
    wide_signed right = has_sign ? (wide_signed)ir_bits_to_int(element, b) : (wide_signed)b;
    wide_signed exact = adds ? left + right : left - right;
    return wrap(element, (uint64_t)(exact < least ? least : exact > most ? most : exact));
}

/* `a` stands above `b`: both move as one number, a bit at a time. */
static uint64_t funnel(enum ir_element element, bool left, const uint64_t *o)
{
    int bits = ir_element_info[element].bits;
    uint64_t mask = bits == 64 ? ~UINT64_C(0) : (UINT64_C(1) << bits) - 1, high = o[0] & mask, low = o[1] & mask;
    for (uint64_t n = (o[2] & mask) % (uint64_t)bits; n > 0; n--) {
        uint64_t from_low = low >> (bits - 1), from_high = high << (bits - 1);
        high = left ? high << 1 | from_low : high >> 1;
        low = (left ? low << 1 : low >> 1 | from_high) & mask;
    }
    return wrap(element, (left ? high : low) & mask);
}

static uint64_t pointer_add(const struct ir_type *pointer, enum ir_element offset_element, const uint64_t *o)
{
    int64_t bytes = ir_element_info[pointer->pointee].bits / 8;
    return o[0] + (uint64_t)(ir_bits_to_int(offset_element, o[1]) * bytes);
}

uint64_t scalar_compute(struct run *run, const struct ir_operation *operation, const uint64_t *o)
{
    const struct ir_type *first = operation->operands[0]->type;
    enum ir_element element = first->element;
    bool real = ir_is_float(element);
    bool propagate = ir_number(operation, IR_ATTRIBUTE_NAN, IR_NAN_SKIP) == IR_NAN_PROPAGATE;
    if (operation->opcode == OP_KEEP_TF32)
        return scalar_keep_tf32(o[0]);
    switch (operation->opcode) {
    case OP_ADD: return scalar_combine(IR_REDUCE_ADD, element, false, o[0], o[1]);
    case OP_MUL: return scalar_combine(IR_REDUCE_MUL, element, false, o[0], o[1]);
    case OP_MIN: return scalar_combine(IR_REDUCE_MIN, element, propagate, o[0], o[1]);
    case OP_MAX: return scalar_combine(IR_REDUCE_MAX, element, propagate, o[0], o[1]);
    case OP_SUB:
        return real ? ir_double_to_bits(element, ir_bits_to_double(element, o[0]) - ir_bits_to_double(element, o[1]))
                    : wrap(element, o[0] - o[1]);
    case OP_DIV:
        return real ? ir_double_to_bits(element, ir_bits_to_double(element, o[0]) / ir_bits_to_double(element, o[1]))
                    : integer_divide(element, false, o[0], o[1]);
    case OP_REM:
        return real ? ir_double_to_bits(element,
                                        fmod(ir_bits_to_double(element, o[0]), ir_bits_to_double(element, o[1])))
                    : integer_divide(element, true, o[0], o[1]);
    case OP_NEG:
    case OP_ABS: return negate_or_abs(operation->opcode, element, o[0]);
    case OP_FMA: return fused(element, o);
    case OP_AND: return o[0] & o[1];
    case OP_OR: return o[0] | o[1];
    case OP_XOR: return o[0] ^ o[1];
    case OP_NOT: return element == IR_BOOL ? !o[0] : wrap(element, ~o[0]);
    case OP_SHL: return shift(element, true, o[0], o[1]);
    case OP_SHR: return shift(element, false, o[0], o[1]);
    case OP_MULHI: return multiply_high(element, o[0], o[1]);
    case OP_POPCOUNT:
    case OP_CTZ:
    case OP_CLZ: return count_bits(operation->opcode, element, o[0]);
    case OP_FSHL:
    case OP_FSHR: return funnel(element, operation->opcode == OP_FSHL, o);
    case OP_ADD_SAT:
    case OP_SUB_SAT: return saturate(element, operation->opcode == OP_ADD_SAT, o[0], o[1]);
    case OP_BITREVERSE: return reverse_bits(element, o[0]);
    case OP_COMPARE:
        return compare((enum ir_predicate)ir_number(operation, IR_ATTRIBUTE_PREDICATE, 0), element, o[0], o[1]);
    case OP_SELECT: return o[0] ? o[1] : o[2];
    case OP_CAST: return cast(operation, element, operation->results[0]->type->element, o[0]);
    case OP_BITCAST: {
        enum ir_element to = operation->results[0]->type->element;
        int bits = ir_element_info[element].bits;
        if (ir_is_integer(to))
            return ir_int_to_bits(to, (int64_t)o[0]);
        return bits == 64 ? o[0] : o[0] & ((UINT64_C(1) << bits) - 1);
    }
    case OP_MATH: return math(operation, element, o);
    case OP_POINTER_ADD: return pointer_add(first, operation->operands[1]->type->element, o);
#define OP(id, ...) case OP_##id:
#define PER_ELEMENT(...)
#include "ir/ops.def"
    case OP_COUNT: break;
    }
    interp_stop(run, operation, "'%s' has no meaning on single elements", ir_op_info[operation->opcode].text);
}

/* Philox4x32-10: Salmon, Moraes, Dror, Shaw, "Parallel random numbers: as easy as 1, 2, 3" (SC 2011). */
void scalar_philox(uint64_t seed, uint64_t counter, uint32_t out[4])
{
    uint32_t c[4] = {(uint32_t)counter, (uint32_t)(counter >> 32), 0, 0};
    uint32_t k0 = (uint32_t)seed, k1 = (uint32_t)(seed >> 32);
    for (int round = 0; round < 10; round++) {
        uint64_t a = UINT64_C(0xD2511F53) * c[0], b = UINT64_C(0xCD9E8D57) * c[2];
        uint32_t next[4] = {(uint32_t)(b >> 32) ^ c[1] ^ k0, (uint32_t)b, (uint32_t)(a >> 32) ^ c[3] ^ k1, (uint32_t)a};
        memcpy(c, next, sizeof c);
        k0 += UINT32_C(0x9E3779B9);
        k1 += UINT32_C(0xBB67AE85);
    }
    memcpy(out, c, sizeof c);
}
