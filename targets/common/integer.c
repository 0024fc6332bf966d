/* Integers wrap, x/0 is 0 and x%0 is x, the least number by -1 wraps, and shifts by the width or more give 0 or the sign. */
#include "targets/common/integer.h"

#include "base/plant.h"

enum { MOST_LANES = 64 };

LLVMValueRef integer_constant(LLVMTypeRef type, int64_t value)
{
    LLVMValueRef all[MOST_LANES];
    if (LLVMGetTypeKind(type) != LLVMVectorTypeKind)
        return LLVMConstInt(type, (unsigned long long)value, true);
    unsigned lanes = LLVMGetVectorSize(type);
    for (unsigned i = 0; i < lanes; i++)
        all[i] = LLVMConstInt(LLVMGetElementType(type), (unsigned long long)value, true);
    return LLVMConstVector(all, lanes);
}

/* Divides by 1 where the divisor is 0 or -1, and puts right what comes of that.  A remainder by 1 is 0, as one by -1 is. */
static LLVMValueRef divide(LLVMBuilderRef builder, bool remainder, enum ir_element element, LLVMValueRef a,
                           LLVMValueRef b)
{
    LLVMTypeRef type = LLVMTypeOf(a);
    LLVMValueRef zero = LLVMConstNull(type), one = integer_constant(type, 1), divisor = b, result;
    bool is_signed = ir_is_signed(element), known = LLVMIsAConstantInt(b) != NULL;
    LLVMValueRef is_zero = NULL, is_minus = NULL;
    if (!known || LLVMConstIntGetZExtValue(b) == 0) {
        is_zero = LLVMBuildICmp(builder, LLVMIntEQ, b, zero, "");
        divisor = LLVMBuildSelect(builder, is_zero, one, divisor, "");
    }
    if (is_signed && (!known || LLVMConstIntGetSExtValue(b) == -1)) {
        is_minus = LLVMBuildICmp(builder, LLVMIntEQ, b, LLVMConstAllOnes(type), "");
        divisor = LLVMBuildSelect(builder, is_minus, one, divisor, "");
    }
    if (remainder) {
        result = is_signed ? LLVMBuildSRem(builder, a, divisor, "") : LLVMBuildURem(builder, a, divisor, "");
        bool lost = PLANTED(remainder_by_zero) && is_signed;
        return is_zero ? LLVMBuildSelect(builder, is_zero, lost ? zero : a, result, "") : result;
    }
    result = is_signed ? LLVMBuildSDiv(builder, a, divisor, "") : LLVMBuildUDiv(builder, a, divisor, "");
    if (is_minus)
        result = LLVMBuildSelect(builder, is_minus, LLVMBuildNeg(builder, a, ""), result, "");
    return is_zero ? LLVMBuildSelect(builder, is_zero, zero, result, "") : result;
}

static LLVMValueRef shift(LLVMBuilderRef builder, bool left, enum ir_element element, LLVMValueRef a,
                          LLVMValueRef distance)
{
    LLVMTypeRef type = LLVMTypeOf(a);
    LLVMValueRef last = integer_constant(type, ir_element_info[element].bits - 1);
    LLVMValueRef inside = LLVMBuildICmp(builder, LLVMIntULE, distance, last, "");
    if (!left && ir_is_signed(element))
        return LLVMBuildAShr(builder, a, LLVMBuildSelect(builder, inside, distance, last, ""), "");
    LLVMValueRef amount = LLVMBuildAnd(builder, distance, last, "");
    LLVMValueRef shifted = left ? LLVMBuildShl(builder, a, amount, "") : LLVMBuildLShr(builder, a, amount, "");
    bool known = LLVMIsAConstantInt(inside) && LLVMConstIntGetZExtValue(inside);
    if (known || PLANTED(shift_over_width))
        return shifted;
    return LLVMBuildSelect(builder, inside, shifted, LLVMConstNull(type), "");
}

static LLVMTypeRef twice_as_wide(LLVMTypeRef type)
{
    if (LLVMGetTypeKind(type) == LLVMVectorTypeKind)
        return LLVMVectorType(twice_as_wide(LLVMGetElementType(type)), LLVMGetVectorSize(type));
    return LLVMIntTypeInContext(LLVMGetTypeContext(type), 2 * LLVMGetIntTypeWidth(type));
}

static LLVMValueRef multiply_high(LLVMBuilderRef builder, enum ir_element element, LLVMValueRef a, LLVMValueRef b)
{
    LLVMTypeRef type = LLVMTypeOf(a), wide = twice_as_wide(type);
    bool is_signed = ir_is_signed(element);
    LLVMValueRef x = is_signed ? LLVMBuildSExt(builder, a, wide, "") : LLVMBuildZExt(builder, a, wide, "");
    LLVMValueRef y = is_signed ? LLVMBuildSExt(builder, b, wide, "") : LLVMBuildZExt(builder, b, wide, "");
    LLVMValueRef product = LLVMBuildMul(builder, x, y, "");
    product = LLVMBuildLShr(builder, product, integer_constant(wide, ir_element_info[element].bits), "");
    return LLVMBuildTrunc(builder, product, type, "");
}

static LLVMValueRef choose(LLVMBuilderRef builder, bool least, enum ir_element element, LLVMValueRef a, LLVMValueRef b)
{
    LLVMIntPredicate predicate = ir_is_signed(element) ? (least ? LLVMIntSLT : LLVMIntSGT)
                                                       : (least ? LLVMIntULT : LLVMIntUGT);
    return LLVMBuildSelect(builder, LLVMBuildICmp(builder, predicate, a, b, ""), a, b, "");
}

LLVMValueRef integer_binary(LLVMBuilderRef builder, enum ir_opcode opcode, enum ir_element element, LLVMValueRef a,
                            LLVMValueRef b)
{
    switch (opcode) {
    case OP_ADD: return LLVMBuildAdd(builder, a, b, "");
    case OP_SUB: return LLVMBuildSub(builder, a, b, "");
    case OP_MUL: return LLVMBuildMul(builder, a, b, "");
    case OP_DIV:
    case OP_REM: return divide(builder, opcode == OP_REM, element, a, b);
    case OP_AND: return LLVMBuildAnd(builder, a, b, "");
    case OP_OR: return LLVMBuildOr(builder, a, b, "");
    case OP_XOR: return LLVMBuildXor(builder, a, b, "");
    case OP_SHL:
    case OP_SHR: return shift(builder, opcode == OP_SHL, element, a, b);
    case OP_MULHI: return multiply_high(builder, element, a, b);
    case OP_MIN:
    case OP_MAX: return choose(builder, opcode == OP_MIN, element, a, b);
    case OP_NEG:
    case OP_ABS:
    case OP_NOT:
    case OP_FMA:
#define OP(id, ...) case OP_##id:
#define ARITHMETIC(...)
#define INTRINSIC(id, ...) case OP_##id:
#include "ir/ops.def"
    case OP_COUNT: break;
    }
    die("%s of integers", ir_op_info[opcode].text);
}
