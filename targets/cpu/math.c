/* Functions that the processor has, or nearly: square root, rounding to integers, fused multiply-add, remainder.
 * Everything else was expanded before by the library's own definitions.  Baseline x86-64 has neither rounding nor fused
 * instructions; they are written out here, exactly, because a call to libm is not allowed in an object. */
#include "targets/cpu/emit.h"

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
    LLVMValueRef error =
        LLVMBuildFAdd(B, LLVMBuildFSub(B, a, LLVMBuildFSub(B, sum, other, ""), ""), LLVMBuildFSub(B, b, other, ""), "");
    LLVMValueRef bits = LLVMBuildBitCast(B, sum, type, ""), zero = cpu_float_like(real, 0.0),
                 one = cpu_int_like(type, 1);
    LLVMValueRef inexact = LLVMBuildFCmp(B, LLVMRealONE, error, zero, "");
    LLVMValueRef even = LLVMBuildICmp(B, LLVMIntEQ, LLVMBuildAnd(B, bits, one, ""), cpu_int_like(type, 0), "");
    LLVMValueRef error_negative = LLVMBuildFCmp(B, LLVMRealOLT, error, zero, "");
    LLVMValueRef sum_negative = LLVMBuildFCmp(B, LLVMRealOLT, sum, zero, "");
    LLVMValueRef shrinks = LLVMBuildXor(B, error_negative, sum_negative, "");
    LLVMValueRef moved =
        LLVMBuildSelect(B, shrinks, LLVMBuildSub(B, bits, one, ""), LLVMBuildAdd(B, bits, one, ""), "");
    bits = LLVMBuildSelect(B, LLVMBuildAnd(B, inexact, even, ""), moved, bits, "");
    return LLVMBuildBitCast(B, bits, real, "");
}

/* a*b + c of f64 without the instruction: Dekker's product split in halves, two-sum, and the last sum rounded to odd
 * (Boldo and Melquiond, 2008).  Exponents near the ends are scaled by powers of two before. */
static LLVMValueRef split_high(struct cpu_emitter *e, LLVMValueRef x)
{
    LLVMTypeRef type = cpu_like(e->i64, x);
    LLVMValueRef bits = LLVMBuildAnd(B, LLVMBuildBitCast(B, x, type, ""), cpu_int_like(type, ~INT64_C(0x7ffffff)), "");
    return LLVMBuildBitCast(B, bits, LLVMTypeOf(x), "");
}

static LLVMValueRef two_sum_error(struct cpu_emitter *e, LLVMValueRef a, LLVMValueRef b, LLVMValueRef sum)
{
    LLVMValueRef other = LLVMBuildFSub(B, sum, a, "");
    return LLVMBuildFAdd(B, LLVMBuildFSub(B, a, LLVMBuildFSub(B, sum, other, ""), ""), LLVMBuildFSub(B, b, other, ""),
                         "");
}

static LLVMValueRef fused_f64(struct cpu_emitter *e, LLVMValueRef a, LLVMValueRef b, LLVMValueRef c)
{
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
    /* infinities, NaN and overflow: the plain expression says what they are */
    LLVMValueRef plain = LLVMBuildFAdd(B, product, c, "");
    LLVMValueRef finite = LLVMBuildFCmp(B, LLVMRealORD, result, result, "");
    return LLVMBuildSelect(B, finite, result, plain, "");
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

/* ---- fmod ---- */

/* One function a module and width: long division on the bits, one bit of the quotient a round. */
static void remainder_body(struct cpu_emitter *e, LLVMValueRef function, bool wide)
{
    LLVMTypeRef type = wide ? e->i64 : e->i32, real = wide ? e->f64 : e->f32;
    int mantissa = wide ? 52 : 23;
    LLVMValueRef save = e->function;
    LLVMBasicBlockRef here = LLVMGetInsertBlock(B);
    e->function = function;
    LLVMPositionBuilderAtEnd(B, cpu_block(e, "entry"));
    LLVMValueRef x = LLVMBuildBitCast(B, LLVMGetParam(function, 0), type, ""),
                 y = LLVMBuildBitCast(B, LLVMGetParam(function, 1), type, "");
    LLVMValueRef low = LLVMConstInt(type, (UINT64_C(1) << mantissa) - 1, 0), one = LLVMConstInt(type, 1, 0),
                 zero = LLVMConstInt(type, 0, 0);
    LLVMValueRef not_sign = LLVMConstInt(type, (UINT64_C(1) << (wide ? 63 : 31)) - 1, 0);
    LLVMValueRef infinite = LLVMConstInt(type, (wide ? UINT64_C(0x7ff) : 0xff) << mantissa, 0);
    LLVMValueRef sign = LLVMBuildAnd(B, x, LLVMBuildNot(B, not_sign, ""), "");
    LLVMValueRef ax = LLVMBuildAnd(B, x, not_sign, ""), ay = LLVMBuildAnd(B, y, not_sign, "");
    LLVMValueRef bad =
        LLVMBuildOr(B, LLVMBuildICmp(B, LLVMIntUGE, ax, infinite, ""), LLVMBuildICmp(B, LLVMIntEQ, ay, zero, ""), "");
    bad = LLVMBuildOr(B, bad, LLVMBuildICmp(B, LLVMIntUGT, ay, infinite, ""), "");
    LLVMBasicBlockRef nan = cpu_block(e, "nan"), good = cpu_block(e, "good"), small = cpu_block(e, "small"),
                      divide = cpu_block(e, "divide");
    LLVMBuildCondBr(B, bad, nan, good);
    LLVMPositionBuilderAtEnd(B, nan);
    LLVMBuildRet(
        B, LLVMBuildBitCast(B, LLVMConstInt(type, (wide ? UINT64_C(0xfff) : 0x1ff) << (mantissa - 1), 0), real, ""));
    LLVMPositionBuilderAtEnd(B, good);
    LLVMBuildCondBr(B, LLVMBuildICmp(B, LLVMIntULT, ax, ay, ""), small, divide);
    LLVMPositionBuilderAtEnd(B, small);
    LLVMBuildRet(B, LLVMGetParam(function, 0));
    LLVMPositionBuilderAtEnd(B, divide);
    /* value = significand * 2^(exponent - bias - mantissa), exponent at least 1 */
    LLVMValueRef significand[2], exponent[2], a[2] = {ax, ay};
    for (int i = 0; i < 2; i++) {
        LLVMValueRef field = LLVMBuildLShr(B, a[i], LLVMConstInt(type, (unsigned)mantissa, 0), "");
        LLVMValueRef normal = LLVMBuildICmp(B, LLVMIntNE, field, zero, "");
        LLVMValueRef fraction = LLVMBuildAnd(B, a[i], low, "");
        significand[i] = LLVMBuildOr(
            B, fraction, LLVMBuildSelect(B, normal, LLVMConstInt(type, UINT64_C(1) << mantissa, 0), zero, ""), "");
        exponent[i] = LLVMBuildSelect(B, normal, field, one, "");
    }
    LLVMValueRef rounds = LLVMBuildSub(B, exponent[0], exponent[1], "");
    LLVMBasicBlockRef before = LLVMGetInsertBlock(B), head = cpu_block(e, "head"), body = cpu_block(e, "body"),
                      done = cpu_block(e, "done");
    LLVMValueRef start = LLVMBuildURem(B, significand[0], significand[1], "");
    LLVMBuildBr(B, head);
    LLVMPositionBuilderAtEnd(B, head);
    LLVMValueRef left = LLVMBuildPhi(B, type, ""), rest = LLVMBuildPhi(B, type, "");
    LLVMAddIncoming(left, &rounds, &before, 1);
    LLVMAddIncoming(rest, &start, &before, 1);
    LLVMBuildCondBr(B, LLVMBuildICmp(B, LLVMIntNE, left, zero, ""), body, done);
    LLVMPositionBuilderAtEnd(B, body);
    LLVMValueRef twice = LLVMBuildShl(B, rest, one, ""), less = LLVMBuildSub(B, twice, significand[1], "");
    LLVMValueRef next = LLVMBuildSelect(B, LLVMBuildICmp(B, LLVMIntUGE, twice, significand[1], ""), less, twice, "");
    LLVMValueRef fewer = LLVMBuildSub(B, left, one, "");
    LLVMAddIncoming(left, &fewer, &body, 1);
    LLVMAddIncoming(rest, &next, &body, 1);
    LLVMBuildBr(B, head);
    LLVMPositionBuilderAtEnd(B, done);
    /* bring the leading one back to its place as far as the exponent allows */
    LLVMValueRef zeros = cpu_intrinsic(e, "llvm.ctlz", 1, &type, 2, (LLVMValueRef[]){rest, LLVMConstInt(e->i1, 0, 0)});
    LLVMValueRef want = LLVMBuildSub(B, zeros, LLVMConstInt(type, wide ? 11 : 8, 0), "");
    LLVMValueRef room = LLVMBuildSub(B, exponent[1], one, "");
    LLVMValueRef shift = cpu_binary_intrinsic(e, "llvm.umin", want, room);
    LLVMValueRef is_zero = LLVMBuildICmp(B, LLVMIntEQ, rest, zero, "");
    shift = LLVMBuildSelect(B, is_zero, zero, shift, "");
    LLVMValueRef moved = LLVMBuildShl(B, rest, shift, "");
    LLVMValueRef field =
        LLVMBuildShl(B, LLVMBuildSub(B, room, shift, ""), LLVMConstInt(type, (unsigned)mantissa, 0), "");
    LLVMValueRef bits =
        LLVMBuildAdd(B, field, moved, ""); /* a leading one adds 1 to the field; a subnormal has field 0 */
    bits = LLVMBuildOr(B, LLVMBuildSelect(B, is_zero, zero, bits, ""), sign, "");
    LLVMBuildRet(B, LLVMBuildBitCast(B, bits, real, ""));
    e->function = save;
    LLVMPositionBuilderAtEnd(B, here);
}

LLVMValueRef cpu_float_remainder(struct cpu_emitter *e, enum ir_element element, LLVMValueRef a, LLVMValueRef b)
{
    bool wide = element == IR_F64;
    const char *name = wide ? "tilecc.fmod.f64" : "tilecc.fmod.f32";
    LLVMTypeRef real = wide ? e->f64 : e->f32, type = LLVMFunctionType(real, (LLVMTypeRef[]){real, real}, 2, 0);
    LLVMValueRef function = LLVMGetNamedFunction(e->module, name);
    if (!function) {
        function = LLVMAddFunction(e->module, name, type);
        LLVMSetLinkage(function, LLVMInternalLinkage);
        remainder_body(e, function, wide);
    }
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
