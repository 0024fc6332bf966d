/* Arithmetic on integer constants.  See arithmetic.h. */
#include "ir/arithmetic.h"

#include "base/plant.h"

__extension__ typedef __int128 wide;
__extension__ typedef unsigned __int128 unsigned_wide;

static uint64_t shift(enum ir_opcode opcode, enum ir_element e, uint64_t a, uint64_t amount)
{
    int width = ir_element_info[e].bits;
    /* the amount is read as unsigned in its own width */
    uint64_t by = width == 64 ? amount : amount & ((UINT64_C(1) << width) - 1);
    if (PLANTED(fold_wraps_shift_distance))
        by %= (uint64_t)width;
    bool out = by >= (uint64_t)width;
    if (opcode == OP_SHL)
        return out ? 0 : a << by;
    if (ir_is_signed(e))
        return (uint64_t)((int64_t)a >> (out ? width - 1 : (int)by));
    return out ? 0 : a >> by;
}

static uint64_t multiply_high(enum ir_element e, uint64_t a, uint64_t b)
{
    int width = ir_element_info[e].bits;
    return ir_is_signed(e) ? (uint64_t)(((wide)(int64_t)a * (int64_t)b) >> width)
                           : (uint64_t)(((unsigned_wide)a * b) >> width);
}

static uint64_t divide(enum ir_element e, uint64_t a, uint64_t b, bool remainder)
{
    if (b == 0)
        return remainder ? a : 0;
    if (!ir_is_signed(e))
        return remainder ? a % b : a / b;
    if ((int64_t)b == -1)
        return remainder ? 0 : 0 - a;
    bool lower = PLANTED(fold_floors_division) && (int64_t)(a ^ b) < 0 && (int64_t)a % (int64_t)b != 0;
    return (uint64_t)(remainder ? (int64_t)a % (int64_t)b : (int64_t)a / (int64_t)b - lower);
}

bool arithmetic_integer(enum ir_opcode opcode, enum ir_element e, uint64_t a, uint64_t b, uint64_t *bits)
{
    bool less = ir_is_signed(e) ? (int64_t)a < (int64_t)b : a < b;
    uint64_t result;
    switch (opcode) {
    case OP_ADD: result = a + b; break;
    case OP_SUB: result = a - b; break;
    case OP_MUL: result = a * b; break;
    case OP_DIV: result = divide(e, a, b, false); break;
    case OP_REM: result = divide(e, a, b, true); break;
    case OP_MIN: result = less ? a : b; break;
    case OP_MAX: result = less ? b : a; break;
    case OP_AND: result = a & b; break;
    case OP_OR: result = a | b; break;
    case OP_XOR: result = a ^ b; break;
    case OP_SHL:
    case OP_SHR: result = shift(opcode, e, a, b); break;
    case OP_MULHI: result = multiply_high(e, a, b); break;
    default: return false;
    }
    *bits = ir_int_to_bits(e, (int64_t)result);
    return true;
}
