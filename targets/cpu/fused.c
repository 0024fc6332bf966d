/* a*b + c of f64 in integers of 128 bits.  Product and addend become X * 2^x with the leading bit of X at bit TOP, so
 * that 20 bits or more below the last significant one are free; the smaller one is shifted to the exponent of the
 * larger one, the lowest bit standing for all that fell off.  A sum that loses more than one leading bit had exponents
 * one apart, so nothing fell off.  One shift brings the sum to the last place of the result, 2^-1074 or more, and
 * rounds to nearest even.  Operands that are zero, infinite or NaN (but for c = 0) are the plain expression's. */
#include "targets/cpu/fused.h"

#include <stdint.h>
#include <stdio.h>

enum { TOP = 125, LEAST = -1074 };

struct fusion {
    LLVMContextRef context;
    LLVMModuleRef module;
    LLVMBuilderRef builder;
    LLVMTypeRef real, word, wide; /* double, i64, i128 */
};

/* significand * 2^exponent */
struct scaled {
    LLVMValueRef significand, exponent;
};

#define B f->builder

static LLVMValueRef word(const struct fusion *f, int64_t value) { return LLVMConstInt(f->word, (uint64_t)value, 1); }

static LLVMValueRef wide(const struct fusion *f, uint64_t value) { return LLVMConstInt(f->wide, value, 0); }

static LLVMValueRef is(const struct fusion *f, LLVMIntPredicate predicate, LLVMValueRef a, LLVMValueRef b)
{
    return LLVMBuildICmp(B, predicate, a, b, "");
}

static LLVMValueRef smaller(const struct fusion *f, LLVMIntPredicate predicate, LLVMValueRef a, LLVMValueRef b)
{
    return LLVMBuildSelect(B, is(f, predicate, a, b), a, b, "");
}

static LLVMValueRef widen(const struct fusion *f, LLVMValueRef a) { return LLVMBuildZExt(B, a, f->wide, ""); }

/* In i128, as a word; 128 for 0. */
static LLVMValueRef leading_zeros(const struct fusion *f, LLVMValueRef value)
{
    unsigned id = LLVMLookupIntrinsicID("llvm.ctlz", 9);
    LLVMTypeRef integer = f->wide, type = LLVMIntrinsicGetType(f->context, id, &integer, 1);
    LLVMValueRef arguments[2] = {value, LLVMConstInt(LLVMInt1TypeInContext(f->context), 0, 0)};
    LLVMValueRef count = LLVMBuildCall2(B, type, LLVMGetIntrinsicDeclaration(f->module, id, &integer, 1), arguments, 2,
                                        "");
    return LLVMBuildTrunc(B, count, f->word, "");
}

static LLVMValueRef bits_of(const struct fusion *f, LLVMValueRef x) { return LLVMBuildBitCast(B, x, f->word, ""); }

static struct scaled take_apart(const struct fusion *f, LLVMValueRef x)
{
    LLVMValueRef bits = bits_of(f, x);
    LLVMValueRef field = LLVMBuildAnd(B, LLVMBuildLShr(B, bits, word(f, 52), ""), word(f, 0x7ff), "");
    LLVMValueRef normal = is(f, LLVMIntNE, field, word(f, 0));
    LLVMValueRef fraction = LLVMBuildAnd(B, bits, word(f, (INT64_C(1) << 52) - 1), "");
    LLVMValueRef leading = LLVMBuildSelect(B, normal, word(f, INT64_C(1) << 52), word(f, 0), "");
    LLVMValueRef place = LLVMBuildSelect(B, normal, field, word(f, 1), "");
    return (struct scaled){LLVMBuildOr(B, fraction, leading, ""), LLVMBuildAdd(B, place, word(f, LEAST - 1), "")};
}

/* The leading bit to TOP; of 0 the exponent becomes so low that the other one is the larger. */
static struct scaled lift(const struct fusion *f, struct scaled x)
{
    LLVMValueRef zero = is(f, LLVMIntEQ, x.significand, wide(f, 0));
    LLVMValueRef shift = LLVMBuildSub(B, leading_zeros(f, x.significand), word(f, 127 - TOP), "");
    shift = LLVMBuildSelect(B, zero, word(f, 0), shift, "");
    LLVMValueRef exponent = LLVMBuildSub(B, x.exponent, shift, "");
    return (struct scaled){LLVMBuildShl(B, x.significand, widen(f, shift), ""),
                           LLVMBuildSelect(B, zero, word(f, -10000), exponent, "")};
}

/* x >> distance, the lowest bit set if any that fell off was. */
static LLVMValueRef shift_sticky(const struct fusion *f, LLVMValueRef x, LLVMValueRef distance)
{
    LLVMValueRef by = widen(f, smaller(f, LLVMIntSLT, distance, word(f, 127)));
    LLVMValueRef shifted = LLVMBuildLShr(B, x, by, "");
    LLVMValueRef lost = is(f, LLVMIntNE, LLVMBuildShl(B, shifted, by, ""), x);
    return LLVMBuildOr(B, shifted, widen(f, lost), "");
}

/* Magnitude and sign of the sum of two lifted numbers; the sign is in the word's highest bit. */
static struct scaled add(const struct fusion *f, struct scaled x, LLVMValueRef x_sign, struct scaled y,
                         LLVMValueRef y_sign, LLVMValueRef *sign)
{
    LLVMValueRef above = is(f, LLVMIntSGT, x.exponent, y.exponent);
    LLVMValueRef level = LLVMBuildAnd(B, is(f, LLVMIntEQ, x.exponent, y.exponent),
                                      is(f, LLVMIntUGE, x.significand, y.significand), "");
    LLVMValueRef first = LLVMBuildOr(B, above, level, "");
    LLVMValueRef large = LLVMBuildSelect(B, first, x.significand, y.significand, "");
    LLVMValueRef small = LLVMBuildSelect(B, first, y.significand, x.significand, "");
    LLVMValueRef exponent = LLVMBuildSelect(B, first, x.exponent, y.exponent, "");
    LLVMValueRef lower = LLVMBuildSelect(B, first, y.exponent, x.exponent, "");
    small = shift_sticky(f, small, LLVMBuildSub(B, exponent, lower, ""));
    LLVMValueRef agree = is(f, LLVMIntEQ, x_sign, y_sign);
    LLVMValueRef sum = LLVMBuildSelect(B, agree, LLVMBuildAdd(B, large, small, ""), LLVMBuildSub(B, large, small, ""),
                                       "");
    *sign = LLVMBuildSelect(B, first, x_sign, y_sign, "");
    *sign = LLVMBuildSelect(B, is(f, LLVMIntEQ, sum, wide(f, 0)), word(f, 0), *sign, ""); /* x - x is +0 */
    return (struct scaled){sum, exponent};
}

/* Bits of the nearest f64. */
static LLVMValueRef round_to_even(const struct fusion *f, struct scaled x)
{
    LLVMValueRef zero = word(f, 0), least = word(f, LEAST);
    LLVMValueRef places = LLVMBuildSub(B, word(f, 127 - 52), leading_zeros(f, x.significand), "");
    LLVMValueRef last = LLVMBuildAdd(B, x.exponent, places, ""); /* exponent of the result's last place */
    last = LLVMBuildSelect(B, is(f, LLVMIntSGT, last, least), last, least, "");
    /* two bits more than the result has: the half, and whether anything is below it */
    LLVMValueRef down = LLVMBuildSub(B, LLVMBuildSub(B, last, word(f, 2), ""), x.exponent, "");
    LLVMValueRef falls = is(f, LLVMIntSGT, down, zero);
    LLVMValueRef up = LLVMBuildSelect(B, falls, zero, LLVMBuildNeg(B, down, ""), "");
    LLVMValueRef wanted = shift_sticky(f, x.significand, LLVMBuildSelect(B, falls, down, zero, ""));
    wanted = LLVMBuildTrunc(B, LLVMBuildShl(B, wanted, widen(f, up), ""), f->word, "");
    LLVMValueRef kept = LLVMBuildLShr(B, wanted, word(f, 2), "");
    LLVMValueRef rest = LLVMBuildAnd(B, wanted, word(f, 3), "");
    LLVMValueRef odd = LLVMBuildAnd(B, kept, word(f, 1), "");
    LLVMValueRef more = is(f, LLVMIntUGT, LLVMBuildAdd(B, rest, odd, ""), word(f, 2));
    kept = LLVMBuildAdd(B, kept, LLVMBuildZExt(B, more, f->word, ""), "");
    LLVMValueRef field = LLVMBuildShl(B, LLVMBuildSub(B, last, least, ""), word(f, 52), "");
    LLVMValueRef bits = LLVMBuildAdd(B, kept, field, "");
    bits = smaller(f, LLVMIntULT, bits, word(f, INT64_C(0x7ff) << 52));
    return LLVMBuildSelect(B, is(f, LLVMIntEQ, kept, zero), zero, bits, "");
}

static LLVMValueRef is_finite(const struct fusion *f, LLVMValueRef x)
{
    LLVMValueRef infinite = word(f, INT64_C(0x7ff) << 52), field = LLVMBuildAnd(B, bits_of(f, x), infinite, "");
    return is(f, LLVMIntNE, field, infinite);
}

static LLVMValueRef is_nonzero(const struct fusion *f, LLVMValueRef x)
{
    return LLVMBuildFCmp(B, LLVMRealUNE, x, LLVMConstReal(f->real, 0.0), "");
}

static LLVMBasicBlockRef block(const struct fusion *f, LLVMValueRef function, const char *name)
{
    return LLVMAppendBasicBlockInContext(f->context, function, name);
}

static void build_scalar(const struct fusion *f, LLVMValueRef function)
{
    LLVMPositionBuilderAtEnd(B, block(f, function, "entry"));
    LLVMValueRef a = LLVMGetParam(function, 0), b = LLVMGetParam(function, 1), c = LLVMGetParam(function, 2);
    LLVMValueRef factors_finite = LLVMBuildAnd(B, is_finite(f, a), is_finite(f, b), "");
    LLVMValueRef finite = LLVMBuildAnd(B, factors_finite, is_finite(f, c), "");
    LLVMValueRef nonzero = LLVMBuildAnd(B, is_nonzero(f, a), is_nonzero(f, b), "");
    LLVMBasicBlockRef plain = block(f, function, "plain"), exact = block(f, function, "exact");
    LLVMBuildCondBr(B, LLVMBuildAnd(B, finite, nonzero, ""), exact, plain);

    LLVMPositionBuilderAtEnd(B, plain);
    LLVMValueRef only_c = LLVMBuildAnd(B, factors_finite, LLVMBuildNot(B, is_finite(f, c), ""), "");
    LLVMValueRef sum = LLVMBuildFAdd(B, LLVMBuildFMul(B, a, b, ""), c, ""); /* whose product could overflow */
    LLVMBuildRet(B, LLVMBuildSelect(B, only_c, LLVMBuildFAdd(B, c, c, ""), sum, ""));

    LLVMPositionBuilderAtEnd(B, exact);
    LLVMValueRef highest = word(f, INT64_MIN), sign;
    struct scaled x = take_apart(f, a), y = take_apart(f, b), z = take_apart(f, c);
    LLVMValueRef x_sign = LLVMBuildAnd(B, LLVMBuildXor(B, bits_of(f, a), bits_of(f, b), ""), highest, "");
    LLVMValueRef z_sign = LLVMBuildAnd(B, bits_of(f, c), highest, "");
    x.significand = LLVMBuildMul(B, widen(f, x.significand), widen(f, y.significand), "");
    x.exponent = LLVMBuildAdd(B, x.exponent, y.exponent, "");
    z.significand = widen(f, z.significand);
    x = add(f, lift(f, x), x_sign, lift(f, z), z_sign, &sign);
    LLVMBuildRet(B, LLVMBuildBitCast(B, LLVMBuildOr(B, round_to_even(f, x), sign, ""), f->real, ""));
}

static void build_lanes(const struct fusion *f, LLVMValueRef function, LLVMValueRef scalar, LLVMTypeRef scalar_type,
                        int lanes)
{
    LLVMTypeRef index = LLVMInt32TypeInContext(f->context);
    LLVMValueRef result = LLVMGetPoison(LLVMVectorType(f->real, (unsigned)lanes));
    LLVMPositionBuilderAtEnd(B, block(f, function, "entry"));
    for (int i = 0; i < lanes; i++) {
        LLVMValueRef at = LLVMConstInt(index, (unsigned)i, 0), arguments[3];
        for (unsigned k = 0; k < 3; k++)
            arguments[k] = LLVMBuildExtractElement(B, LLVMGetParam(function, k), at, "");
        LLVMValueRef one = LLVMBuildCall2(B, scalar_type, scalar, arguments, 3, "");
        result = LLVMBuildInsertElement(B, result, one, at, "");
    }
    LLVMBuildRet(B, result);
}

LLVMValueRef fused_function(LLVMModuleRef module, int lanes, LLVMTypeRef *type)
{
    struct fusion f = {.context = LLVMGetModuleContext(module), .module = module};
    LLVMTypeRef scalar_type = NULL;
    LLVMValueRef scalar = lanes > 1 ? fused_function(module, 1, &scalar_type) : NULL, function;
    char name[40];
    snprintf(name, sizeof name, "tilecc.fma.f64.%d", lanes);
    f.real = LLVMDoubleTypeInContext(f.context);
    f.word = LLVMInt64TypeInContext(f.context);
    f.wide = LLVMIntTypeInContext(f.context, 128);
    LLVMTypeRef one = lanes > 1 ? LLVMVectorType(f.real, (unsigned)lanes) : f.real;
    *type = LLVMFunctionType(one, (LLVMTypeRef[]){one, one, one}, 3, 0);
    function = LLVMGetNamedFunction(module, name);
    if (function)
        return function;
    function = LLVMAddFunction(module, name, *type);
    LLVMSetLinkage(function, LLVMInternalLinkage);
    unsigned cold = LLVMGetEnumAttributeKindForName("cold", 4);
    LLVMAddAttributeAtIndex(function, (LLVMAttributeIndex)LLVMAttributeFunctionIndex,
                            LLVMCreateEnumAttribute(f.context, cold, 0));
    f.builder = LLVMCreateBuilderInContext(f.context);
    if (scalar)
        build_lanes(&f, function, scalar, scalar_type, lanes);
    else
        build_scalar(&f, function);
    LLVMDisposeBuilder(f.builder);
    return function;
}
