/* fmod, exactly: one function a kernel and width.
 *
 *     r = |x|, t = |y|;  while (t <= r/2) t = 2t;  while (t >= |y|) { if (r >= t) r = r - t;  t = t/2; }
 *
 * The result is r with the sign of x.
 *
 * Every step is exact: t is |y| times a power of two not above r, so r - t has no more digits than r (Sterbenz); r/2
 * may round only where r is subnormal, and then a t beyond r is merely not subtracted. */
#include "targets/nvptx/thread/thread.h"

static LLVMValueRef magnitude(LLVMBuilderRef b, LLVMValueRef value, LLVMTypeRef bits, uint64_t mask)
{
    LLVMValueRef integer = LLVMBuildAnd(b, LLVMBuildBitCast(b, value, bits, ""), LLVMConstInt(bits, mask, false), "");
    return LLVMBuildBitCast(b, integer, LLVMTypeOf(value), "");
}

static LLVMValueRef with_sign(LLVMBuilderRef b, LLVMValueRef value, LLVMValueRef like, LLVMTypeRef bits, uint64_t mask)
{
    LLVMValueRef sign = LLVMBuildAnd(b, LLVMBuildBitCast(b, like, bits, ""), LLVMConstInt(bits, ~mask, false), "");
    LLVMValueRef both = LLVMBuildOr(b, LLVMBuildBitCast(b, value, bits, ""), sign, "");
    return LLVMBuildBitCast(b, both, LLVMTypeOf(value), "");
}

static void write_body(struct lowering *l, LLVMValueRef function, bool wide)
{
    LLVMBuilderRef b = LLVMCreateBuilderInContext(l->context);
    LLVMTypeRef real = wide ? l->f64 : l->f32, bits = wide ? l->i64 : l->i32;
    uint64_t mask = wide ? UINT64_C(0x7fffffffffffffff) : UINT64_C(0x7fffffff);
    LLVMBasicBlockRef block[7];
    static const char *const names[] = {"entry", "nan", "start", "grow", "grown", "shrink", "done"};
    for (int i = 0; i < 7; i++)
        block[i] = LLVMAppendBasicBlockInContext(l->context, function, names[i]);
    LLVMPositionBuilderAtEnd(b, block[0]);
    LLVMValueRef x = LLVMGetParam(function, 0), half = LLVMConstReal(real, 0.5), two = LLVMConstReal(real, 2.0);
    LLVMValueRef ax = magnitude(b, x, bits, mask), ay = magnitude(b, LLVMGetParam(function, 1), bits, mask);
    LLVMValueRef finite = LLVMBuildFCmp(b, LLVMRealOLT, ax, LLVMConstReal(real, __builtin_inf()), "");
    LLVMValueRef divides = LLVMBuildFCmp(b, LLVMRealOGT, ay, LLVMConstReal(real, 0.0), "");
    LLVMBuildCondBr(b, LLVMBuildAnd(b, finite, divides, ""), block[2], block[1]);
    LLVMPositionBuilderAtEnd(b, block[1]);
    LLVMBuildRet(b, LLVMConstReal(real, __builtin_nan("")));
    LLVMPositionBuilderAtEnd(b, block[2]);
    LLVMValueRef limit = LLVMBuildFMul(b, ax, half, "");
    LLVMBuildCondBr(b, LLVMBuildFCmp(b, LLVMRealOLT, ax, ay, ""), block[6], block[3]);
    LLVMPositionBuilderAtEnd(b, block[3]);
    LLVMValueRef grown = LLVMBuildPhi(b, real, ""), more = LLVMBuildFMul(b, grown, two, "");
    LLVMAddIncoming(grown, (LLVMValueRef[]){ay, more}, (LLVMBasicBlockRef[]){block[2], block[3]}, 2);
    LLVMBuildCondBr(b, LLVMBuildFCmp(b, LLVMRealOLE, grown, limit, ""), block[3], block[4]);
    LLVMPositionBuilderAtEnd(b, block[4]);
    LLVMBuildBr(b, block[5]);
    LLVMPositionBuilderAtEnd(b, block[5]);
    LLVMValueRef rest = LLVMBuildPhi(b, real, ""), step = LLVMBuildPhi(b, real, "");
    LLVMValueRef fits = LLVMBuildFCmp(b, LLVMRealOGE, rest, step, "");
    LLVMValueRef less = LLVMBuildSelect(b, fits, LLVMBuildFSub(b, rest, step, ""), rest, "");
    LLVMValueRef smaller = LLVMBuildFMul(b, step, half, "");
    LLVMAddIncoming(rest, (LLVMValueRef[]){ax, less}, (LLVMBasicBlockRef[]){block[4], block[5]}, 2);
    LLVMAddIncoming(step, (LLVMValueRef[]){grown, smaller}, (LLVMBasicBlockRef[]){block[4], block[5]}, 2);
    /* the last step is by |y| itself */
    LLVMBuildCondBr(b, LLVMBuildFCmp(b, LLVMRealOGT, step, ay, ""), block[5], block[6]);
    LLVMPositionBuilderAtEnd(b, block[6]);
    LLVMValueRef result = LLVMBuildPhi(b, real, "");
    LLVMAddIncoming(result, (LLVMValueRef[]){ax, less}, (LLVMBasicBlockRef[]){block[2], block[5]}, 2);
    LLVMBuildRet(b, with_sign(b, result, x, bits, mask));
    LLVMDisposeBuilder(b);
}

LLVMValueRef lower_float_remainder(struct lowering *l, LLVMValueRef a, LLVMValueRef b)
{
    bool wide = LLVMTypeOf(a) == l->f64;
    LLVMTypeRef real = wide ? l->f64 : l->f32, type = LLVMFunctionType(real, (LLVMTypeRef[]){real, real}, 2, false);
    const char *name = wide ? "tile_fmod_f64" : "tile_fmod_f32";
    LLVMValueRef function = LLVMGetNamedFunction(l->module, name);
    if (!function) {
        function = LLVMAddFunction(l->module, name, type);
        LLVMSetLinkage(function, LLVMInternalLinkage);
        write_body(l, function, wide);
    }
    return LLVMBuildCall2(l->builder, type, function, (LLVMValueRef[]){a, b}, 2, "");
}
