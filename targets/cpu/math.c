/* Functions that the processor has, or nearly: square root, rounding to integers, fused multiply-add, remainder.
 * Everything else was expanded before by the library's own definitions.  Baseline x86-64 has neither rounding nor fused
 * instructions; they are written out here, exactly, because a call to libm is not allowed in an object. */
#include "targets/cpu/emit.h"
#include "targets/cpu/fused.h"
#include "targets/cpu/remainder.h"

#define B e->builder

/* |x| below this has a fraction. */
static double whole_from(enum ir_element element) { return element == IR_F64 ? 4503599627370496.0 : 8388608.0; }

/* Rounding without instructions for it: adding and subtracting 2^52 (2^23) rounds to nearest even; the others step from
 * there. */
static LLVMValueRef round_by_addition(struct cpu_emitter *e, enum ir_math function, enum ir_element element,
                                      LLVMValueRef x)
{
    LLVMTypeRef type = LLVMTypeOf(x);
    LLVMValueRef whole = cpu_float_like(type, whole_from(element)), magnitude = cpu_unary_intrinsic(e, "llvm.fabs", x);
    LLVMValueRef near = LLVMBuildFSub(B, LLVMBuildFAdd(B, magnitude, whole, ""), whole, "");
    LLVMValueRef one = cpu_float_like(type, 1.0), zero = cpu_float_like(type, 0.0);
    LLVMValueRef result = near;
    if (function != IR_MATH_ROUND) {
        LLVMValueRef above = LLVMBuildFCmp(B, LLVMRealOGT, near, magnitude, "");
        LLVMValueRef down = LLVMBuildFSub(B, near, LLVMBuildSelect(B, above, one, zero, ""), ""); /* towards zero */
        LLVMValueRef fraction = LLVMBuildFCmp(B, LLVMRealOLT, down, magnitude, "");
        LLVMValueRef up = LLVMBuildFAdd(B, down, LLVMBuildSelect(B, fraction, one, zero, ""), "");
        LLVMValueRef negative = LLVMBuildFCmp(B, LLVMRealOLT, x, zero, "");
        result = function == IR_MATH_TRUNC   ? down
                 : function == IR_MATH_FLOOR ? LLVMBuildSelect(B, negative, up, down, "")
                                             : LLVMBuildSelect(B, negative, down, up, "");
    }
    result = cpu_binary_intrinsic(e, "llvm.copysign", result, x);
    return LLVMBuildSelect(B, LLVMBuildFCmp(B, LLVMRealOLT, magnitude, whole, ""), result, x,
                           ""); /* large, infinite, NaN: itself */
}

LLVMValueRef cpu_math(struct cpu_emitter *e, enum ir_math function, enum ir_element element, LLVMValueRef a,
                      LLVMValueRef b)
{
    LLVMTypeRef type = LLVMTypeOf(a);
    switch (function) {
    case IR_MATH_SQRT: return cpu_unary_intrinsic(e, "llvm.sqrt", a);
    case IR_MATH_RSQRT: return LLVMBuildFDiv(B, cpu_float_like(type, 1.0), cpu_unary_intrinsic(e, "llvm.sqrt", a), "");
    case IR_MATH_RCP: return LLVMBuildFDiv(B, cpu_float_like(type, 1.0), a, "");
    case IR_MATH_FLOOR:
    case IR_MATH_CEIL:
    case IR_MATH_TRUNC:
    case IR_MATH_ROUND:
        if (!e->has_round)
            return round_by_addition(e, function, element, a);
        return cpu_unary_intrinsic(e,
                                   function == IR_MATH_FLOOR   ? "llvm.floor"
                                   : function == IR_MATH_CEIL  ? "llvm.ceil"
                                   : function == IR_MATH_TRUNC ? "llvm.trunc"
                                                               : "llvm.roundeven",
                                   a);
    case IR_MATH_COPYSIGN: return cpu_binary_intrinsic(e, "llvm.copysign", a, b);
    case IR_MATH_ISNAN: return LLVMBuildFCmp(B, LLVMRealUNO, a, a, "");
    default: return NULL;
    }
}

/* a + b in f64 rounded to odd: the exact error of the sum (Knuth's two-sum) says in which direction the last bit must
 * go. */
static LLVMValueRef odd_sum(struct cpu_emitter *e, LLVMValueRef a, LLVMValueRef b)
{
    LLVMTypeRef real = LLVMTypeOf(a), type = cpu_like(e->i64, a);
    LLVMValueRef sum = LLVMBuildFAdd(B, a, b, ""), other = LLVMBuildFSub(B, sum, a, "");
    LLVMValueRef error = LLVMBuildFAdd(B, LLVMBuildFSub(B, a, LLVMBuildFSub(B, sum, other, ""), ""),
                                       LLVMBuildFSub(B, b, other, ""), "");
    LLVMValueRef bits = LLVMBuildBitCast(B, sum, type, ""), zero = cpu_float_like(real, 0.0),
                 one = integer_constant(type, 1);
    LLVMValueRef inexact = LLVMBuildFCmp(B, LLVMRealONE, error, zero, "");
    LLVMValueRef even = LLVMBuildICmp(B, LLVMIntEQ, LLVMBuildAnd(B, bits, one, ""), integer_constant(type, 0), "");
    LLVMValueRef error_negative = LLVMBuildFCmp(B, LLVMRealOLT, error, zero, "");
    LLVMValueRef sum_negative = LLVMBuildFCmp(B, LLVMRealOLT, sum, zero, "");
    LLVMValueRef shrinks = LLVMBuildXor(B, error_negative, sum_negative, "");
    LLVMValueRef moved = LLVMBuildSelect(B, shrinks, LLVMBuildSub(B, bits, one, ""), LLVMBuildAdd(B, bits, one, ""),
                                         "");
    bits = LLVMBuildSelect(B, LLVMBuildAnd(B, inexact, even, ""), moved, bits, "");
    return LLVMBuildBitCast(B, bits, real, "");
}

/* The leading 26 bits, rounded, so that what is left has a sign and 26 bits, too: the four products are exact. */
static LLVMValueRef split_high(struct cpu_emitter *e, LLVMValueRef x)
{
    LLVMTypeRef type = cpu_like(e->i64, x);
    LLVMValueRef bits = LLVMBuildAdd(B, LLVMBuildBitCast(B, x, type, ""), integer_constant(type, 0x4000000), "");
    bits = LLVMBuildAnd(B, bits, integer_constant(type, ~INT64_C(0x7ffffff)), "");
    return LLVMBuildBitCast(B, bits, LLVMTypeOf(x), "");
}

static LLVMValueRef two_sum_error(struct cpu_emitter *e, LLVMValueRef a, LLVMValueRef b, LLVMValueRef sum)
{
    LLVMValueRef other = LLVMBuildFSub(B, sum, a, "");
    return LLVMBuildFAdd(B, LLVMBuildFSub(B, a, LLVMBuildFSub(B, sum, other, ""), ""), LLVMBuildFSub(B, b, other, ""),
                         "");
}

/* Dekker's product split in halves, two-sum, and the last sum rounded to odd (Boldo and Melquiond, 2008): right where
 * the halves' products are normal and nothing overflows.  A product that is zero without rounding leaves c, by its
 * sign.  *usual: the lanes where that holds. */
static LLVMValueRef fused_usual(struct cpu_emitter *e, LLVMValueRef a, LLVMValueRef b, LLVMValueRef c,
                                LLVMValueRef *usual)
{
    LLVMTypeRef type = LLVMTypeOf(a);
    LLVMValueRef product = LLVMBuildFMul(B, a, b, "");
    LLVMValueRef ah = split_high(e, a), bh = split_high(e, b);
    LLVMValueRef al = LLVMBuildFSub(B, a, ah, ""), bl = LLVMBuildFSub(B, b, bh, "");
    LLVMValueRef low = LLVMBuildFSub(B, LLVMBuildFMul(B, ah, bh, ""), product, "");
    low = LLVMBuildFAdd(B, low, LLVMBuildFMul(B, ah, bl, ""), "");
    low = LLVMBuildFAdd(B, low, LLVMBuildFMul(B, al, bh, ""), "");
    low = LLVMBuildFAdd(B, low, LLVMBuildFMul(B, al, bl, ""), "");
    LLVMValueRef t = LLVMBuildFAdd(B, c, low, ""), t_low = two_sum_error(e, c, low, t);
    LLVMValueRef v = LLVMBuildFAdd(B, product, t, ""), v_low = two_sum_error(e, product, t, v);
    LLVMValueRef result = LLVMBuildFAdd(B, v, odd_sum(e, t_low, v_low), "");

    LLVMValueRef zero = cpu_float_like(type, 0.0), most = cpu_float_like(type, 0x1p1022);
    LLVMValueRef size = cpu_unary_intrinsic(e, "llvm.fabs", product);
    LLVMValueRef none = LLVMBuildFCmp(B, LLVMRealOEQ, size, zero, "");
    LLVMValueRef exact = LLVMBuildFCmp(B, LLVMRealOGE, size, cpu_float_like(type, 0x1p-960), "");
    LLVMValueRef low_enough = LLVMBuildFCmp(B, LLVMRealOLE, size, most, "");
    LLVMValueRef factor = LLVMBuildOr(B, LLVMBuildFCmp(B, LLVMRealOEQ, a, zero, ""),
                                      LLVMBuildFCmp(B, LLVMRealOEQ, b, zero, ""), "");
    LLVMValueRef c_low = LLVMBuildFCmp(B, LLVMRealOLE, cpu_unary_intrinsic(e, "llvm.fabs", c), most, "");
    *usual = LLVMBuildOr(B, LLVMBuildAnd(B, exact, low_enough, ""), LLVMBuildAnd(B, none, factor, ""), "");
    *usual = LLVMBuildAnd(B, *usual, c_low, "");
    /* the largest numbers round to infinity in the split */
    *usual = LLVMBuildAnd(B, *usual, LLVMBuildFCmp(B, LLVMRealORD, result, result, ""), "");
    return LLVMBuildSelect(B, none, LLVMBuildFAdd(B, product, c, ""), result, "");
}

/* a*b + c of f64 without the instruction.  Where a lane is near the ends of the exponents, a function does them all. */
static LLVMValueRef fused_f64(struct cpu_emitter *e, LLVMValueRef a, LLVMValueRef b, LLVMValueRef c)
{
    int lanes = cpu_lanes(a);
    LLVMTypeRef type;
    LLVMValueRef function = fused_function(e->module, lanes, &type), usual;
    LLVMValueRef quick = fused_usual(e, a, b, c, &usual);
    LLVMValueRef all = lanes > 1 ? cpu_unary_intrinsic(e, "llvm.vector.reduce.and", usual) : usual;
    LLVMBasicBlockRef before = LLVMGetInsertBlock(B), ends = cpu_block(e, "ends"), done = cpu_block(e, "fused");
    LLVMBuildCondBr(B, all, done, ends);
    LLVMPositionBuilderAtEnd(B, ends);
    LLVMValueRef slow = LLVMBuildCall2(B, type, function, (LLVMValueRef[]){a, b, c}, 3, "");
    LLVMBuildBr(B, done);
    LLVMPositionBuilderAtEnd(B, done);
    LLVMValueRef result = LLVMBuildPhi(B, LLVMTypeOf(quick), "");
    LLVMAddIncoming(result, (LLVMValueRef[]){quick, slow}, (LLVMBasicBlockRef[]){before, ends}, 2);
    return result;
}

LLVMValueRef cpu_fused(struct cpu_emitter *e, enum ir_element element, LLVMValueRef a, LLVMValueRef b, LLVMValueRef c)
{
    if (!ir_is_float(element))
        return LLVMBuildAdd(B, LLVMBuildMul(B, a, b, ""), c, "");
    if (element == IR_F64 && !e->has_fma)
        return fused_f64(e, a, b, c);
    if (e->has_fma && (element == IR_F32 || element == IR_F64))
        return cpu_multiply_add(e, a, b, c, true);
    /* the product is exact in f64; its sum with c, rounded to odd, still rounds right */
    LLVMTypeRef wide = cpu_like(e->f64, a);
    LLVMValueRef x = LLVMBuildFPExt(B, cpu_widen(e, element, a), wide, ""),
                 y = LLVMBuildFPExt(B, cpu_widen(e, element, b), wide, "");
    LLVMValueRef z = LLVMBuildFPExt(B, cpu_widen(e, element, c), wide, "");
    return cpu_narrow(e, odd_sum(e, LLVMBuildFMul(B, x, y, ""), z), element, IR_ROUND_RTNE, false);
}

LLVMValueRef cpu_float_remainder(struct cpu_emitter *e, enum ir_element element, LLVMValueRef a, LLVMValueRef b)
{
    LLVMTypeRef type;
    LLVMValueRef function = remainder_function(e->module, element == IR_F64, &type);
    int lanes = cpu_lanes(a);
    if (lanes == 1)
        return LLVMBuildCall2(B, type, function, (LLVMValueRef[]){a, b}, 2, "");
    LLVMValueRef result = LLVMGetPoison(LLVMTypeOf(a));
    for (int i = 0; i < lanes; i++) {
        LLVMValueRef at = LLVMConstInt(e->i32, (unsigned)i, 0);
        LLVMValueRef pair[2] = {LLVMBuildExtractElement(B, a, at, ""), LLVMBuildExtractElement(B, b, at, "")};
        result = LLVMBuildInsertElement(B, result, LLVMBuildCall2(B, type, function, pair, 2, ""), at, "");
    }
    return result;
}
