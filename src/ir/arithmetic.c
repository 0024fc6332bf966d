/* Arithmetic on integer constants.  See arithmetic.h. */
#include "ir/arithmetic.h"

#include "base/plant.h"

__extension__ typedef unsigned __int128 wide_magnitude;

static bool divide(wide_integer a, wide_integer b, wide_integer *result)
{
    if (b == -1)
        return !__builtin_sub_overflow((wide_integer)0, a, result);
    bool lower = PLANTED(fold_floors_division) && b != 0 && (a < 0) != (b < 0) && a % b != 0;
    *result = b == 0 ? 0 : a / b - lower;
    return true;
}

static bool shift_left(wide_integer a, wide_integer distance, wide_integer *result)
{
    bool out = distance < 0 || distance > 127;
    *result = out ? 0 : (wide_integer)((wide_magnitude)a << (int)distance);
    return a == 0 || (!out && *result >> (int)distance == a);
}

/* As arithmetic_exact; *known: whether the operation is one of these. */
static bool compute(enum ir_opcode opcode, wide_integer a, wide_integer b, wide_integer *result, bool *known)
{
    *known = true;
    switch (opcode) {
    case OP_ADD: return !__builtin_add_overflow(a, b, result);
    case OP_SUB: return !__builtin_sub_overflow(a, b, result);
    case OP_MUL: return !__builtin_mul_overflow(a, b, result);
    case OP_DIV: return divide(a, b, result);
    case OP_REM: *result = b == 0 ? a : b == -1 ? 0 : a % b; return true;
    case OP_MIN: *result = a < b ? a : b; return true;
    case OP_MAX: *result = a < b ? b : a; return true;
    case OP_AND: *result = a & b; return true;
    case OP_OR: *result = a | b; return true;
    case OP_XOR: *result = a ^ b; return true;
    case OP_SHL: return shift_left(a, b, result);
    case OP_SHR: *result = a >> (b < 0 || b > 127 ? 127 : (int)b); return true;
    case OP_NEG: return !__builtin_sub_overflow((wide_integer)0, a, result);
    case OP_ABS: *result = a; return a >= 0 || !__builtin_sub_overflow((wide_integer)0, a, result);
    case OP_NOT: *result = ~a; return true;
    default: *known = false; return false;
    }
}

bool arithmetic_knows(enum ir_opcode opcode)
{
    wide_integer result;
    bool known;
    compute(opcode, 0, 1, &result, &known);
    return known;
}

bool arithmetic_exact(enum ir_opcode opcode, wide_integer a, wide_integer b, wide_integer *result)
{
    bool known, fits = compute(opcode, a, b, result, &known);
    if (!known)
        die("%s is no arithmetic on integers", ir_op_info[opcode].name);
    return fits;
}

static wide_integer widen(enum ir_element e, uint64_t bits)
{
    return ir_is_signed(e) ? (wide_integer)(int64_t)bits : (wide_integer)bits;
}

static uint64_t multiply_high(enum ir_element e, uint64_t a, uint64_t b)
{
    int width = ir_element_info[e].bits;
    return ir_is_signed(e) ? (uint64_t)(widen(e, a) * widen(e, b) >> width)
                           : (uint64_t)((wide_magnitude)a * b >> width);
}

/* The distance is read as unsigned in its own width; one of the width or more moves everything out. */
static wide_integer shift_distance(enum ir_element e, uint64_t bits)
{
    int width = ir_element_info[e].bits;
    uint64_t by = width == 64 ? bits : bits & ((UINT64_C(1) << width) - 1);
    return (wide_integer)(PLANTED(fold_wraps_shift_distance) ? by % (uint64_t)width : by);
}

bool arithmetic_integer(enum ir_opcode opcode, enum ir_element e, uint64_t a, uint64_t b, uint64_t *bits)
{
    bool known, shifts = opcode == OP_SHL || opcode == OP_SHR;
    wide_integer right = shifts ? shift_distance(e, b) : widen(e, b), result;
    if (opcode == OP_MULHI) {
        *bits = ir_int_to_bits(e, (int64_t)multiply_high(e, a, b));
        return true;
    }
    compute(opcode, widen(e, a), right, &result, &known); /* what does not fit wraps */
    if (!known)
        return false;
    if (e == IR_BOOL)
        result &= 1;
    *bits = ir_int_to_bits(e, (int64_t)(uint64_t)result);
    return true;
}

bool arithmetic_fits(wide_integer number, enum ir_element element)
{
    if (element == IR_BOOL)
        return number == 0 || number == 1;
    int bits = ir_element_info[element].bits;
    if (ir_is_signed(element))
        return number >= -((wide_integer)1 << (bits - 1)) && number < ((wide_integer)1 << (bits - 1));
    return number >= 0 && number < ((wide_integer)1 << bits);
}

wide_integer arithmetic_divide_up(wide_integer a, wide_integer b)
{
    return b == 0 ? 0 : a / b + (a % b != 0 && (a < 0) == (b < 0));
}

int arithmetic_log2(wide_integer number)
{
    uint64_t high = (uint64_t)(number >> 64);
    return number <= 0 ? -1 : high ? 64 + log2_floor(high) : log2_floor((uint64_t)number);
}

bool arithmetic_compare(enum ir_predicate predicate, bool less, bool equal, bool greater)
{
    switch (predicate) {
    case IR_PREDICATE_EQ: return equal;
    case IR_PREDICATE_NE: return !equal;
    case IR_PREDICATE_LT: return less;
    case IR_PREDICATE_LE: return less || equal;
    case IR_PREDICATE_GT: return greater;
    default: return greater || equal;
    }
}
