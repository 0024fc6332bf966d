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

bool arithmetic_knows(enum ir_opcode opcode)
{
    switch (opcode) {
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
    case OP_NEG:
    case OP_ABS:
    case OP_NOT: return true;
    default: return false;
    }
}

bool arithmetic_exact(enum ir_opcode opcode, wide_integer a, wide_integer b, wide_integer *result)
{
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
    default: die("%s is no arithmetic on integers", ir_op_info[opcode].name);
    }
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
    bool shifts = opcode == OP_SHL || opcode == OP_SHR;
    wide_integer right = shifts ? shift_distance(e, b) : widen(e, b), result;
    if (opcode == OP_MULHI) {
        *bits = ir_int_to_bits(e, (int64_t)multiply_high(e, a, b));
        return true;
    }
    if (!arithmetic_knows(opcode))
        return false;
    arithmetic_exact(opcode, widen(e, a), right, &result); /* what does not fit wraps */
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
