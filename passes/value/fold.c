/* Fold: an operation on constants becomes a constant.
 *
 *     %a = constant value(3) : i32            %a = constant value(3) : i32
 *     %b = constant value(4) : i32     ->     %b = constant value(4) : i32
 *     %c = add %a, %b : i32                   %c = constant value(7) : i32
 *
 * A constant tile is one number, so the same works for tiles of any size.  Right because the result has the very bits
 * that the program would compute: integers wrap in 64 bits and are cut to their width; f32 and f64 are computed by the
 * host's IEEE arithmetic, f16 and bf16 in f32 and rounded once, which for + - * / and sqrt is the same as rounding the
 * exact result (24 >= 2*11 + 2 bits).  NaN results and functions that targets approximate are left alone. */
#include <math.h>

#include "base/plant.h"
#include "ir/arithmetic.h"
#include "passes/base/pass.h"
#include "passes/base/rewrite.h"

static int64_t signed_of(enum ir_element e, uint64_t bits) { return ir_bits_to_int(e, bits); }

static bool is_small_float(enum ir_element e) { return ir_element_info[e].bits < 16; }

/* Rounds a result computed in the element's working precision; false: a NaN. */
static bool float_result(enum ir_element e, double value, uint64_t *bits)
{
    *bits = ir_double_to_bits(e, value);
    return value == value;
}

/* min and max skip NaN unless told, and order -0 below +0. */
static bool fold_float_extreme(const struct ir_operation *op, double a, double b, uint64_t *bits)
{
    bool propagate = ir_number(op, IR_ATTRIBUTE_NAN, IR_NAN_SKIP) == IR_NAN_PROPAGATE;
    if (a != a || b != b) {
        *bits = ir_double_to_bits(op->results[0]->type->element, a != a ? b : a);
        return (!propagate || PLANTED(fold_loses_nan_in_min)) && !(a != a && b != b);
    }
    bool less = a < b || (a == b && signbit(a) && !signbit(b) && !PLANTED(fold_extreme_of_zeros));
    *bits = ir_double_to_bits(op->results[0]->type->element, less == (op->opcode == OP_MIN) ? a : b);
    return true;
}

static bool fold_float_binary(const struct ir_operation *op, enum ir_element e, double a, double b, uint64_t *bits)
{
    bool is_double = e == IR_F64;
    float x = (float)a, y = (float)b;
    switch (op->opcode) {
    case OP_ADD: return float_result(e, is_double ? a + b : (double)(x + y), bits);
    case OP_SUB: return float_result(e, is_double ? a - b : (double)(x - y), bits);
    case OP_MUL: return float_result(e, is_double ? a * b : (double)(x * y), bits);
    case OP_DIV: return float_result(e, is_double ? a / b : (double)(x / y), bits);
    case OP_REM: return float_result(e, is_double ? fmod(a, b) : (double)fmodf(x, y), bits);
    case OP_MIN:
    case OP_MAX: return fold_float_extreme(op, a, b, bits);
    default: return false;
    }
}

static uint64_t fold_compare(const struct ir_operation *op, enum ir_element e, uint64_t a, uint64_t b)
{
    enum ir_predicate predicate = (enum ir_predicate)ir_number(op, IR_ATTRIBUTE_PREDICATE, IR_PREDICATE_EQ);
    if (ir_is_float(e)) {
        double x = ir_bits_to_double(e, a), y = ir_bits_to_double(e, b);
        return arithmetic_compare(predicate, x < y, x == y, x > y);
    }
    bool less = ir_is_signed(e) ? (int64_t)a < (int64_t)b : a < b;
    return arithmetic_compare(predicate, less, a == b, !less && a != b);
}

/* Halves are exchanged, then their halves, down to neighbours; the result stands in the upper bits. */
static uint64_t reverse_bits(uint64_t a, int width)
{
    static const uint64_t lower[] = {0x00000000ffffffff, 0x0000ffff0000ffff, 0x00ff00ff00ff00ff,
                                     0x0f0f0f0f0f0f0f0f, 0x3333333333333333, 0x5555555555555555};
    for (int i = 0; i < 6; i++)
        a = (a >> (32 >> i) & lower[i]) | (a & lower[i]) << (32 >> i);
    return a >> (64 - width);
}

static bool fold_unary(const struct ir_operation *op, enum ir_element e, uint64_t a, uint64_t *bits)
{
    int width = ir_element_info[e].bits;
    uint64_t sign = UINT64_C(1) << (width - 1), mask = width == 64 ? UINT64_MAX : (UINT64_C(1) << width) - 1;
    if (ir_is_float(e)) {
        double value = ir_bits_to_double(e, a);
        *bits = op->opcode == OP_NEG ? a ^ sign : a & ~sign;
        return value == value && (op->opcode == OP_NEG || op->opcode == OP_ABS);
    }
    switch (op->opcode) {
    case OP_POPCOUNT: *bits = (uint64_t)__builtin_popcountll(a & mask); return true;
    case OP_CLZ: *bits = (uint64_t)(width - 1 - log2_floor(a & mask)); return true;
    case OP_CTZ: *bits = (uint64_t)(a & mask ? __builtin_ctzll(a & mask) : width); return true;
    case OP_BITREVERSE: *bits = ir_int_to_bits(e, (int64_t)reverse_bits(a, width)); return true;
    default: return arithmetic_integer(op->opcode, e, a, 0, bits);
    }
}

/* Rounding to an integral value and square root are exact on every target; the rest is approximated there. */
static bool fold_math(const struct ir_operation *op, enum ir_element e, uint64_t a, uint64_t *bits)
{
    double value = ir_bits_to_double(e, a);
    switch (ir_number(op, IR_ATTRIBUTE_FUNCTION, 0)) {
    case IR_MATH_ISNAN: *bits = value != value; return true;
    case IR_MATH_FLOOR: return float_result(e, floor(value), bits);
    case IR_MATH_CEIL: return float_result(e, ceil(value), bits);
    case IR_MATH_TRUNC: return float_result(e, trunc(value), bits);
    case IR_MATH_SQRT: return float_result(e, e == IR_F64 ? sqrt(value) : (double)sqrtf((float)value), bits);
    default: return false;
    }
}

static bool integer_limits(enum ir_element e, int64_t *least, int64_t *most)
{
    int width = ir_element_info[e].bits;
    if (!ir_is_integer(e) || e == IR_U64)
        return false;
    *most = ir_is_signed(e) ? (int64_t)((UINT64_C(1) << (width - 1)) - 1) : (int64_t)((UINT64_C(1) << width) - 1);
    *least = ir_is_signed(e) ? -*most - 1 : 0;
    return true;
}

static bool fold_cast(const struct ir_operation *op, enum ir_element from, enum ir_element to, uint64_t a,
                      uint64_t *bits)
{
    int64_t least, most;
    bool rounds = ir_attribute(op, IR_ATTRIBUTE_ROUND) && ir_number(op, IR_ATTRIBUTE_ROUND, 0) != IR_ROUND_RTNE;
    bool saturates = ir_number(op, IR_ATTRIBUTE_SATURATE, 0) != 0;
    if (ir_is_float(from)) {
        double value = ir_bits_to_double(from, a);
        if (to == IR_BOOL) {
            *bits = value != 0.0;
            return true;
        }
        *bits = ir_double_to_bits(to, value);
        if (!ir_is_float(to))
            return !rounds;
        return value == value && !is_small_float(to) && !saturates &&
               (!rounds || ir_bits_to_double(to, *bits) == value);
    }
    if (to == IR_BOOL) {
        *bits = a != 0;
        return true;
    }
    if (ir_is_float(to)) {
        if (rounds || is_small_float(to) || (from == IR_U64 && a >> 63))
            return false;
        *bits = ir_int_to_bits(to, signed_of(from, a));
        return true;
    }
    int64_t value = signed_of(from, a);
    if (saturates) {
        if ((from == IR_U64 && a >> 63) || !integer_limits(to, &least, &most))
            return false;
        value = int64_max(least, int64_min(most, value));
    }
    *bits = ir_int_to_bits(to, value);
    return true;
}

static bool fold_bitcast(enum ir_element from, enum ir_element to, uint64_t a, uint64_t *bits)
{
    int width = ir_element_info[from].bits;
    uint64_t raw = width == 64 ? a : a & ((UINT64_C(1) << width) - 1);
    if (from == IR_POINTER || to == IR_POINTER || from == IR_BOOL || to == IR_BOOL)
        return false;
    *bits = ir_is_float(to) ? raw : ir_int_to_bits(to, (int64_t)raw);
    return true;
}

/* A wrapped result on the wrong side of the first operand is beyond the end that it was going to. */
static uint64_t fold_saturating(enum ir_element e, bool adds, const uint64_t *operand)
{
    uint64_t wrapped, half = UINT64_C(1) << (ir_element_info[e].bits - 1);
    bool has_sign = ir_is_signed(e), up = adds == !(has_sign && (int64_t)operand[1] < 0);
    arithmetic_integer(adds ? OP_ADD : OP_SUB, e, operand[0], operand[1], &wrapped);
    bool below = has_sign ? (int64_t)wrapped < (int64_t)operand[0] : wrapped < operand[0];
    if (wrapped == operand[0] || below != up)
        return wrapped;
    return ir_int_to_bits(e, (int64_t)(has_sign ? half - up : up ? UINT64_MAX : 0));
}

static uint64_t fold_funnel(enum ir_element e, bool left, const uint64_t *operand)
{
    int width = ir_element_info[e].bits;
    uint64_t mask = width == 64 ? ~UINT64_C(0) : (UINT64_C(1) << width) - 1;
    uint64_t above = operand[0] & mask, below = operand[1] & mask;
    int up = (int)((operand[2] & mask) % (uint64_t)width);
    if (!left)
        up = width - up; /* 1 to the width */
    uint64_t high = up == width && width == 64 ? 0 : above << up, low = up == 0 ? 0 : below >> (width - up);
    return ir_int_to_bits(e, (int64_t)((high | low) & mask));
}

static bool fold_fma(enum ir_element e, const uint64_t *operand, uint64_t *bits)
{
    double a = ir_bits_to_double(e, operand[0]), b = ir_bits_to_double(e, operand[1]),
           c = ir_bits_to_double(e, operand[2]);
    if (e == IR_F64)
        return float_result(e, fma(a, b, c), bits);
    return e == IR_F32 && float_result(e, (double)fmaf((float)a, (float)b, (float)c), bits);
}

static bool moves_elements(enum ir_opcode opcode)
{
    return opcode == OP_SPLAT || opcode == OP_BROADCAST || opcode == OP_RESHAPE || opcode == OP_PERMUTE ||
           opcode == OP_EXTRACT || opcode == OP_FLIP || opcode == OP_CONVERT_LAYOUT;
}

bool fold_operation(const struct ir_operation *op, uint64_t *bits)
{
    uint64_t operand[3] = {0};
    if (op->result_count != 1 || op->operand_count < 1 || op->operand_count > 3)
        return false;
    for (int i = 0; i < op->operand_count; i++)
        if (op->operands[i]->type->kind != IR_TILE || !ir_constant_of(op->operands[i], &operand[i]))
            return false;
    enum ir_element e = op->operands[0]->type->element, to = op->results[0]->type->element;
    bool is_float = ir_is_float(e);
    if (moves_elements(op->opcode)) {
        *bits = operand[0];
        return true;
    }
    switch (op->opcode) {
    case OP_ADD:
    case OP_SUB:
    case OP_MUL:
    case OP_DIV:
    case OP_REM:
    case OP_MIN:
    case OP_MAX:
    case OP_AND:
    case OP_OR:
    case OP_XOR:
    case OP_SHL:
    case OP_SHR:
    case OP_MULHI:
        if (is_float)
            return !is_small_float(e) &&
                   fold_float_binary(op, e, ir_bits_to_double(e, operand[0]), ir_bits_to_double(e, operand[1]), bits);
        return arithmetic_integer(op->opcode, e, operand[0], operand[1], bits);
    case OP_NEG:
    case OP_ABS:
    case OP_NOT:
    case OP_POPCOUNT:
    case OP_CLZ:
    case OP_CTZ:
    case OP_BITREVERSE: return fold_unary(op, e, operand[0], bits);
    case OP_ADD_SAT:
    case OP_SUB_SAT: *bits = fold_saturating(e, op->opcode == OP_ADD_SAT, operand); return true;
    case OP_FSHL:
    case OP_FSHR: *bits = fold_funnel(e, op->opcode == OP_FSHL, operand); return true;
    case OP_FMA: return fold_fma(e, operand, bits);
    case OP_COMPARE: *bits = fold_compare(op, e, operand[0], operand[1]); return true;
    case OP_SELECT: *bits = operand[0] ? operand[1] : operand[2]; return true;
    case OP_CAST: return fold_cast(op, e, to, operand[0], bits);
    case OP_BITCAST: return fold_bitcast(e, to, operand[0], bits);
    case OP_MATH: return !is_small_float(e) && op->operand_count == 1 && fold_math(op, e, operand[0], bits);
    case OP_POINTER_ADD:
#define OP(id, ...) case OP_##id:
#define PER_ELEMENT(...)
#include "ir/ops.def"
    case OP_COUNT: return false;
    }
    return false;
}

struct folding {
    struct pass_context *context;
    bool changed;
};

static void visit(struct ir_operation *op, void *data)
{
    struct folding *folding = data;
    uint64_t bits;
    if (!fold_operation(op, &bits) || !pass_fuel(folding->context))
        return;
    struct ir_builder builder = rewrite_before(op);
    struct ir_value *constant = ir_constant_bits(&builder, op->results[0]->type, bits);
    constant->name = op->results[0]->name;
    ir_replace_uses(op->results[0], constant);
    ir_remove(op);
    folding->changed = true;
}

bool pass_fold(struct ir_function *function, struct pass_context *context)
{
    struct folding folding = {.context = context};
    ir_walk(function->body, visit, &folding);
    return folding.changed;
}
