/* fmod by long division on the bits: the significand of x modulo that of y, one bit of the quotient a round while the
 * exponents differ, then the leading one brought back to its place.  Exact for every pair, subnormal numbers included;
 * NaN for x infinite or y zero; the sign of x. */
#include "targets/cpu/remainder.h"

#include <stdint.h>
#include <string.h>

struct division {
    LLVMContextRef context;
    LLVMModuleRef module;
    LLVMBuilderRef builder;
    LLVMValueRef function;
    LLVMTypeRef integer, real;
    int mantissa;
};

#define B d->builder

static LLVMValueRef number(const struct division *d, uint64_t value) { return LLVMConstInt(d->integer, value, 0); }

static LLVMBasicBlockRef block(const struct division *d, const char *name)
{
    return LLVMAppendBasicBlockInContext(d->context, d->function, name);
}

static LLVMValueRef is(const struct division *d, LLVMIntPredicate predicate, LLVMValueRef a, LLVMValueRef b)
{
    return LLVMBuildICmp(B, predicate, a, b, "");
}

/* value = significand * 2^(exponent - bias - mantissa), the exponent at least 1 */
static void take_apart(const struct division *d, LLVMValueRef magnitude, LLVMValueRef *significand,
                       LLVMValueRef *exponent)
{
    LLVMValueRef field = LLVMBuildLShr(B, magnitude, number(d, (uint64_t)d->mantissa), "");
    LLVMValueRef normal = is(d, LLVMIntNE, field, number(d, 0));
    LLVMValueRef fraction = LLVMBuildAnd(B, magnitude, number(d, (UINT64_C(1) << d->mantissa) - 1), "");
    LLVMValueRef leading = LLVMBuildSelect(B, normal, number(d, UINT64_C(1) << d->mantissa), number(d, 0), "");
    *significand = LLVMBuildOr(B, fraction, leading, "");
    *exponent = LLVMBuildSelect(B, normal, field, number(d, 1), "");
}

/* rest = rest * 2^rounds modulo divisor, by doubling */
static LLVMValueRef divide(const struct division *d, LLVMValueRef start, LLVMValueRef divisor, LLVMValueRef rounds)
{
    LLVMBasicBlockRef before = LLVMGetInsertBlock(B), head = block(d, "head"), body = block(d, "body"),
                      done = block(d, "done");
    LLVMBuildBr(B, head);
    LLVMPositionBuilderAtEnd(B, head);
    LLVMValueRef left = LLVMBuildPhi(B, d->integer, ""), rest = LLVMBuildPhi(B, d->integer, "");
    LLVMAddIncoming(left, &rounds, &before, 1);
    LLVMAddIncoming(rest, &start, &before, 1);
    LLVMBuildCondBr(B, is(d, LLVMIntNE, left, number(d, 0)), body, done);
    LLVMPositionBuilderAtEnd(B, body);
    LLVMValueRef twice = LLVMBuildShl(B, rest, number(d, 1), ""), less = LLVMBuildSub(B, twice, divisor, "");
    LLVMValueRef next = LLVMBuildSelect(B, is(d, LLVMIntUGE, twice, divisor), less, twice, "");
    LLVMValueRef fewer = LLVMBuildSub(B, left, number(d, 1), "");
    LLVMAddIncoming(left, &fewer, &body, 1);
    LLVMAddIncoming(rest, &next, &body, 1);
    LLVMBuildBr(B, head);
    LLVMPositionBuilderAtEnd(B, done);
    return rest;
}

static LLVMValueRef leading_zeros(const struct division *d, LLVMValueRef value)
{
    unsigned id = LLVMLookupIntrinsicID("llvm.ctlz", 9);
    LLVMTypeRef integer = d->integer, type = LLVMIntrinsicGetType(d->context, id, &integer, 1);
    LLVMValueRef arguments[2] = {value, LLVMConstInt(LLVMInt1TypeInContext(d->context), 0, 0)};
    return LLVMBuildCall2(B, type, LLVMGetIntrinsicDeclaration(d->module, id, &integer, 1), arguments, 2, "");
}

/* Shifts the rest up as far as its exponent allows; a leading one in its place adds 1 to the exponent's field. */
static LLVMValueRef put_together(const struct division *d, LLVMValueRef rest, LLVMValueRef exponent, LLVMValueRef sign)
{
    unsigned above = LLVMGetIntTypeWidth(d->integer) - (unsigned)d->mantissa - 1;
    LLVMValueRef want = LLVMBuildSub(B, leading_zeros(d, rest), number(d, above), "");
    LLVMValueRef room = LLVMBuildSub(B, exponent, number(d, 1), ""), empty = is(d, LLVMIntEQ, rest, number(d, 0));
    LLVMValueRef shift = LLVMBuildSelect(B, is(d, LLVMIntULT, want, room), want, room, "");
    shift = LLVMBuildSelect(B, empty, number(d, 0), shift, "");
    LLVMValueRef field = LLVMBuildShl(B, LLVMBuildSub(B, room, shift, ""), number(d, (uint64_t)d->mantissa), "");
    LLVMValueRef bits = LLVMBuildAdd(B, field, LLVMBuildShl(B, rest, shift, ""), "");
    return LLVMBuildOr(B, LLVMBuildSelect(B, empty, number(d, 0), bits, ""), sign, "");
}

static void build(const struct division *d)
{
    bool wide = d->mantissa == 52;
    LLVMValueRef mask = number(d, (UINT64_C(1) << (wide ? 63 : 31)) - 1);
    LLVMValueRef infinite = number(d, (wide ? UINT64_C(0x7ff) : 0xff) << d->mantissa);
    LLVMPositionBuilderAtEnd(B, block(d, "entry"));
    LLVMValueRef x = LLVMBuildBitCast(B, LLVMGetParam(d->function, 0), d->integer, "");
    LLVMValueRef y = LLVMBuildBitCast(B, LLVMGetParam(d->function, 1), d->integer, "");
    LLVMValueRef sign = LLVMBuildAnd(B, x, LLVMBuildNot(B, mask, ""), "");
    LLVMValueRef ax = LLVMBuildAnd(B, x, mask, ""), ay = LLVMBuildAnd(B, y, mask, "");
    LLVMValueRef bad = LLVMBuildOr(B, is(d, LLVMIntUGE, ax, infinite), is(d, LLVMIntEQ, ay, number(d, 0)), "");
    bad = LLVMBuildOr(B, bad, is(d, LLVMIntUGT, ay, infinite), "");
    LLVMBasicBlockRef nan = block(d, "nan"), good = block(d, "good"), small = block(d, "small"),
                      large = block(d, "large");
    LLVMBuildCondBr(B, bad, nan, good);
    LLVMPositionBuilderAtEnd(B, nan);
    LLVMBuildRet(B, LLVMBuildBitCast(B, number(d, (wide ? UINT64_C(0xfff) : 0x1ff) << (d->mantissa - 1)), d->real, ""));
    LLVMPositionBuilderAtEnd(B, good);
    LLVMBuildCondBr(B, is(d, LLVMIntULT, ax, ay), small, large);
    LLVMPositionBuilderAtEnd(B, small);
    LLVMBuildRet(B, LLVMGetParam(d->function, 0));
    LLVMPositionBuilderAtEnd(B, large);
    LLVMValueRef significand[2], exponent[2];
    take_apart(d, ax, &significand[0], &exponent[0]);
    take_apart(d, ay, &significand[1], &exponent[1]);
    LLVMValueRef start = LLVMBuildURem(B, significand[0], significand[1], "");
    LLVMValueRef rest = divide(d, start, significand[1], LLVMBuildSub(B, exponent[0], exponent[1], ""));
    LLVMBuildRet(B, LLVMBuildBitCast(B, put_together(d, rest, exponent[1], sign), d->real, ""));
}

LLVMValueRef remainder_function(LLVMModuleRef module, bool wide, LLVMTypeRef *type)
{
    const char *name = wide ? "tilecc.fmod.f64" : "tilecc.fmod.f32";
    struct division d = {.context = LLVMGetModuleContext(module), .module = module, .mantissa = wide ? 52 : 23};
    d.real = wide ? LLVMDoubleTypeInContext(d.context) : LLVMFloatTypeInContext(d.context);
    d.integer = wide ? LLVMInt64TypeInContext(d.context) : LLVMInt32TypeInContext(d.context);
    *type = LLVMFunctionType(d.real, (LLVMTypeRef[]){d.real, d.real}, 2, 0);
    d.function = LLVMGetNamedFunction(module, name);
    if (d.function)
        return d.function;
    d.function = LLVMAddFunction(module, name, *type);
    LLVMSetLinkage(d.function, LLVMInternalLinkage);
    d.builder = LLVMCreateBuilderInContext(d.context);
    build(&d);
    LLVMDisposeBuilder(d.builder);
    return d.function;
}
