/* Keys of sorting.  The bits of a float without its sign grow with its size.  So all bits of a negative float are inverted,
 * and the sign bit of any other is set: positive ones lie above.  Of a signed integer the sign bit is inverted.  A
 * descending order inverts the whole key, but not that of NaN, which is last in any case. */
#include "targets/common/sort_key.h"

static LLVMValueRef number(LLVMValueRef like, uint64_t bits)
{
    unsigned width = LLVMGetIntTypeWidth(LLVMTypeOf(like));
    return LLVMConstInt(LLVMTypeOf(like), width < 64 ? bits & ((UINT64_C(1) << width) - 1) : bits, 0);
}

static uint64_t sign_of(enum ir_element element) { return UINT64_C(1) << (ir_element_info[element].bits - 1); }

/* The largest bits, without the sign, that are no NaN. */
static uint64_t last_number(enum ir_element element)
{
    switch (element) {
    case IR_F16: return 0x7c00;
    case IR_BF16: return 0x7f80;
    case IR_F32: return 0x7f800000;
    case IR_F64: return UINT64_C(0x7ff) << 52;
    case IR_F8E4M3: return 0x7e;
    default: return 0x7c; /* f8e5m2 */
    }
}

static uint64_t quiet_nan(enum ir_element element)
{
    switch (element) {
    case IR_F16: return 0x7e00;
    case IR_BF16: return 0x7fc0;
    case IR_F32: return 0x7fc00000;
    case IR_F64: return UINT64_C(0xfff) << 51;
    case IR_F8E4M3: return 0x7f;
    default: return 0x7e;
    }
}

LLVMValueRef sort_key_of(LLVMBuilderRef builder, enum ir_element element, bool descending, LLVMValueRef bits)
{
    LLVMValueRef key = bits, sign = number(bits, sign_of(element)), last = number(bits, ~UINT64_C(0));
    if (ir_is_float(element)) {
        LLVMValueRef negative = LLVMBuildICmp(builder, LLVMIntSLT, bits, number(bits, 0), "");
        key = LLVMBuildXor(builder, bits, LLVMBuildSelect(builder, negative, last, sign, ""), "");
    } else if (ir_is_signed(element)) {
        key = LLVMBuildXor(builder, bits, sign, "");
    }
    if (descending)
        key = LLVMBuildNot(builder, key, "");
    if (!ir_is_float(element))
        return key;
    LLVMValueRef size = LLVMBuildAnd(builder, bits, LLVMBuildNot(builder, sign, ""), "");
    LLVMValueRef is_nan = LLVMBuildICmp(builder, LLVMIntUGT, size, number(bits, last_number(element)), "");
    return LLVMBuildSelect(builder, is_nan, last, key, "");
}

LLVMValueRef sort_key_bits(LLVMBuilderRef builder, enum ir_element element, bool descending, LLVMValueRef key)
{
    LLVMValueRef bits = descending ? LLVMBuildNot(builder, key, "") : key;
    LLVMValueRef sign = number(key, sign_of(element)), last = number(key, ~UINT64_C(0));
    if (!ir_is_float(element))
        return ir_is_signed(element) ? LLVMBuildXor(builder, bits, sign, "") : bits;
    LLVMValueRef negative = LLVMBuildICmp(builder, LLVMIntSGE, bits, number(key, 0), "");
    bits = LLVMBuildXor(builder, bits, LLVMBuildSelect(builder, negative, last, sign, ""), "");
    LLVMValueRef is_nan = LLVMBuildICmp(builder, LLVMIntEQ, key, last, "");
    return LLVMBuildSelect(builder, is_nan, number(key, quiet_nan(element)), bits, "");
}
