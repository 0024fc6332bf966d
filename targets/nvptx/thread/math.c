/* Functions the machine has: rounding, sqrt, rcp (correctly rounded), exp, exp2, tanh, rsqrt (2 ulp in f32), NaN and
 * sign.  expand_math has replaced all others by bodies of src/std/math.tile.  f16 and bf16 go through f32 and are
 * rounded once.  Philox 4x32-10 too. */
#include "targets/nvptx/thread/thread.h"

static const char *const math_name[] = {
#define X(id, text) text,
    IR_MATHS(X)
#undef X
};

static LLVMValueRef real(LLVMValueRef like, double number) { return LLVMConstReal(LLVMTypeOf(like), number); }

/* exp(x) = 2^j * 2^r with j = floor(x log2 e) held to [-126, 126] and r = x log2 e - j, whose product is exact but for
 * one rounding: k = floor(252 * saturate(x / (252 ln 2) + 1/2)), found in the low bits of k + 1.5 * 2^23 + 1;   j = k -
 * 126 Those bits, shifted to the exponent, are 2^j.  Past the ends r leaves [0, 1) and ex2 gives what overflows or
 * vanishes. */
static LLVMValueRef exp_f32(struct lowering *l, LLVMValueRef x)
{
    LLVMBuilderRef b = l->builder;
    if (ir_number(l->operation, IR_ATTRIBUTE_NEAR, 0)) /* off by the rounding of an exponent of up to 126 */
        return ptx_unary(l, PTX_EX2_FLUSH, l->f32, LLVMBuildFMul(b, x, real(x, 1.442695040888963407), ""));
    LLVMValueRef part[3] = {x, real(x, 1.0 / (252.0 * 0.693147180559945309)), real(x, 0.5)};
    LLVMValueRef place[3] = {ptx_emit(l, PTX_FMA_SAT, l->f32, part, 3, NULL), real(x, 252.0), real(x, 0x1.8p23 + 1)};
    LLVMValueRef k = ptx_emit(l, PTX_FMA_DOWN, l->f32, place, 3, NULL);
    LLVMValueRef j = LLVMBuildFSub(b, k, real(x, 0x1.8p23 + 127), "");
    static const double high = 0x1.715476p+0, low = 0x1.4ae0cp-26; /* log2 e = high + low */
    LLVMValueRef first[3] = {x, real(x, high), LLVMBuildFNeg(b, j, "")};
    LLVMValueRef second[3] = {x, real(x, low), value_intrinsic(l, "llvm.fma", l->f32, first, 3)};
    LLVMValueRef power = ptx_unary(l, PTX_EX2_FLUSH, l->f32, value_intrinsic(l, "llvm.fma", l->f32, second, 3));
    LLVMValueRef scale = LLVMBuildShl(b, LLVMBuildBitCast(b, k, l->i32, ""), value_i32(l, 23), "");
    return LLVMBuildFMul(b, power, LLVMBuildBitCast(b, scale, l->f32, ""), "");
}

/* The magnitude of one number with the sign of another: two logical operations (LLVM would compare and select). */
static LLVMValueRef with_sign(struct lowering *l, enum ir_element element, LLVMValueRef magnitude, LLVMValueRef sign)
{
    LLVMBuilderRef b = l->builder;
    LLVMValueRef low = value_to_bits(l, element, magnitude), high = value_to_bits(l, element, sign);
    LLVMTypeRef type = LLVMTypeOf(low);
    LLVMValueRef bit = LLVMConstInt(type, 1ULL << (ir_element_info[element].bits - 1), false);
    low = LLVMBuildAnd(b, low, LLVMBuildNot(b, bit, ""), "");
    return value_from_bits(l, element, LLVMBuildOr(b, low, LLVMBuildAnd(b, high, bit, ""), ""));
}

/* tanh: 1 - 2/(e^2|x| + 1) from 0.6 on, below it x + x^3 P(x^2) with P of degree 4 (0.2 ulp); 1.6 ulp with perfect ex2
 * and rcp.  Both are computed, neither branches; NaN stays through the polynomial. */
static LLVMValueRef tanh_f32(struct lowering *l, LLVMValueRef x)
{
    LLVMBuilderRef b = l->builder;
    LLVMValueRef magnitude = value_intrinsic(l, "llvm.fabs", l->f32, &x, 1);
    LLVMValueRef power = ptx_unary(l, PTX_EX2_FLUSH, l->f32,
                                   LLVMBuildFMul(b, magnitude, real(x, 2.0 * 1.442695040888963407), ""));
    LLVMValueRef inverse = ptx_unary(l, PTX_RCP_APPROX, l->f32, LLVMBuildFAdd(b, power, real(x, 1.0), ""));
    LLVMValueRef far[3] = {inverse, real(x, -2.0), real(x, 1.0)};
    LLVMValueRef large = with_sign(l, IR_F32, value_intrinsic(l, "llvm.fma", l->f32, far, 3), x);
    static const double p[] = {0.021110959049466343, -0.053873948848633654, 0.13332915366987405, -0.3333333033273155};
    LLVMValueRef z = LLVMBuildFMul(b, x, x, ""), sum = real(x, -0.006269119719577108);
    for (int i = 0; i < 4; i++) {
        LLVMValueRef step[3] = {sum, z, real(x, p[i])};
        sum = value_intrinsic(l, "llvm.fma", l->f32, step, 3);
    }
    LLVMValueRef product[3] = {sum, z, real(x, 0.0)}; /* +0 where it is 0, so that -0 stays */
    LLVMValueRef last[3] = {value_intrinsic(l, "llvm.fma", l->f32, product, 3), x, x};
    LLVMValueRef small = value_intrinsic(l, "llvm.fma", l->f32, last, 3);
    LLVMValueRef near = LLVMBuildFCmp(b, LLVMRealULT, magnitude, real(x, 0.6), "");
    return LLVMBuildSelect(b, near, small, large, "");
}

static LLVMValueRef exp2_f32(struct lowering *l, LLVMValueRef x)
{
    bool flush = ir_number(l->operation, IR_ATTRIBUTE_FLUSH, 0) || ir_number(l->operation, IR_ATTRIBUTE_NEAR, 0);
    return ptx_unary(l, flush ? PTX_EX2_FLUSH : PTX_EX2, l->f32, x);
}

/* ---- with few digits (near_exponentials): several elements side by side, which hide each other's latency where sums of
 * products leave few registers ---- */

enum { NEAR_TOGETHER = 8 };

static void scale_each(struct lowering *l, LLVMValueRef *x, int count, double factor)
{
    for (int i = 0; i < count; i++)
        x[i] = LLVMBuildFMul(l->builder, x[i], real(x[i], factor), "");
}

/* 1/(1 + 2^x): past the ends 2^x is inf, or adds nothing. */
static void sigmoids_exp2(struct lowering *l, LLVMValueRef *x, int count)
{
    for (int i = 0; i < count; i++)
        x[i] = ptx_unary(l, PTX_EX2_FLUSH, l->f32, x[i]);
    for (int i = 0; i < count; i++)
        x[i] = LLVMBuildFAdd(l->builder, x[i], real(x[i], 1.0), "");
    for (int i = 0; i < count; i++)
        x[i] = ptx_unary(l, PTX_RCP_APPROX, l->f32, x[i]);
}

/* (1 + erf(x))/2 = 1/(1 + 2^(x Q(x^2))) with Q of degree 8, the minimax fit of the error of x Q below 3.9: 2^-16.4 of the
 * whole.  Beyond it Q falls, and the sum vanishes as it should.  Here x becomes x Q. */
static void erf_exponents(struct lowering *l, LLVMValueRef *x, int count)
{
    static const double q[] = {4.03734255e-08, -1.37604218e-06, 2.62548656e-05, -0.000300592714,
                               0.00189090462,  0.000491535524,  -0.296583921,   -3.25577211};
    LLVMValueRef z[NEAR_TOGETHER], sum[NEAR_TOGETHER];
    for (int i = 0; i < count; i++) {
        z[i] = LLVMBuildFMul(l->builder, x[i], x[i], "");
        sum[i] = real(x[i], -5.09847775e-10);
    }
    for (int k = 0; k < (int)(sizeof q / sizeof *q); k++)
        for (int i = 0; i < count; i++) {
            LLVMValueRef step[3] = {sum[i], z[i], real(x[i], q[k])};
            sum[i] = value_intrinsic(l, "llvm.fma", l->f32, step, 3);
        }
    for (int i = 0; i < count; i++)
        x[i] = LLVMBuildFMul(l->builder, x[i], sum[i], "");
}

/* What is off by 2^-17 of a sigmoid, by 2^-16 of a tanh or erf and 1, which are twice a sigmoid less 1. */
static void near_f32(struct lowering *l, enum ir_math function, LLVMValueRef *x, int count)
{
    static const double log2_e = 1.442695040888963407;
    if (function == IR_MATH_ERF)
        erf_exponents(l, x, count);
    else
        scale_each(l, x, count, function == IR_MATH_TANH ? -2.0 * log2_e : -log2_e);
    sigmoids_exp2(l, x, count);
    for (int i = 0; i < count && function != IR_MATH_SIGMOID; i++) {
        LLVMValueRef part[3] = {x[i], real(x[i], 2.0), real(x[i], -1.0)};
        x[i] = value_intrinsic(l, "llvm.fma", l->f32, part, 3);
    }
}

static bool is_near(const struct ir_operation *operation, enum ir_math function)
{
    bool known = function == IR_MATH_SIGMOID || function == IR_MATH_TANH || function == IR_MATH_ERF;
    return known && ir_number(operation, IR_ATTRIBUTE_NEAR, 0) && operation->operands[0]->type->element == IR_F32;
}

static void lower_near(struct lowering *l, struct ir_operation *operation, enum ir_math function)
{
    LLVMValueRef *out = value_define(l, operation->results[0]);
    int count = value_registers(operation->results[0]->type);
    for (int first = 0, together; first < count; first += together) {
        together = (int)int64_min(NEAR_TOGETHER, count - first);
        for (int i = 0; i < together; i++)
            out[first + i] = value_register(l, operation->operands[0], first + i);
        near_f32(l, function, out + first, together);
    }
}

static LLVMValueRef function_f32(struct lowering *l, enum ir_math function, LLVMValueRef x)
{
    switch (function) {
    case IR_MATH_EXP: return exp_f32(l, x);
    case IR_MATH_EXP2: return exp2_f32(l, x);
    case IR_MATH_TANH: return tanh_f32(l, x);
    case IR_MATH_SQRT: return ptx_unary(l, PTX_SQRT_F32, l->f32, x);
    case IR_MATH_RSQRT: return ptx_unary(l, PTX_RSQRT, l->f32, x);
    case IR_MATH_RCP: return ptx_unary(l, PTX_RCP_F32, l->f32, x);
    default: return NULL;
    }
}

static LLVMValueRef function_f64(struct lowering *l, enum ir_math function, LLVMValueRef x)
{
    switch (function) {
    case IR_MATH_SQRT: return ptx_unary(l, PTX_SQRT_F64, l->f64, x);
    case IR_MATH_RCP: return ptx_unary(l, PTX_RCP_F64, l->f64, x);
    default: return NULL;
    }
}

static LLVMValueRef function_wide(struct lowering *l, enum ir_math function, enum ir_element element, LLVMValueRef x,
                                  LLVMValueRef y)
{
    LLVMTypeRef type = LLVMTypeOf(x);
    switch (function) {
    case IR_MATH_FLOOR: return value_intrinsic(l, "llvm.floor", type, &x, 1);
    case IR_MATH_CEIL: return value_intrinsic(l, "llvm.ceil", type, &x, 1);
    case IR_MATH_TRUNC: return value_intrinsic(l, "llvm.trunc", type, &x, 1);
    case IR_MATH_ROUND: return value_intrinsic(l, "llvm.roundeven", type, &x, 1);
    case IR_MATH_COPYSIGN: return with_sign(l, element, x, y);
    default: break;
    }
    LLVMValueRef result = element == IR_F64 ? function_f64(l, function, x) : function_f32(l, function, x);
    if (!result) {
        diag_report(l->options->diagnostics, DIAGNOSTIC_E1208, l->operation->at, "`%s` of %s is not there yet on a GPU",
                    math_name[function], ir_element_info[element].text);
        return LLVMGetPoison(type);
    }
    return result;
}

void lower_math(struct lowering *l, struct ir_operation *operation)
{
    enum ir_math function = (enum ir_math)ir_number(operation, IR_ATTRIBUTE_FUNCTION, 0);
    enum ir_element element = operation->operands[0]->type->element;
    enum ir_element wide = element == IR_F64 ? IR_F64 : IR_F32;
    if (is_near(operation, function)) {
        lower_near(l, operation, function);
        return;
    }
    LLVMValueRef *out = value_define(l, operation->results[0]);
    int count = value_registers(operation->results[0]->type);
    for (int i = 0; i < count; i++) {
        LLVMValueRef x = value_register(l, operation->operands[0], i), y = NULL;
        if (element != wide)
            x = cast_to_f32(l, element, x);
        if (function == IR_MATH_ISNAN) {
            LLVMValueRef nan = LLVMBuildFCmp(l->builder, LLVMRealUNO, x, x, "");
            enum ir_element to = operation->results[0]->type->element;
            out[i] = to == IR_BOOL ? nan : cast_value(l, IR_BOOL, to, nan, IR_ROUND_RTNE, false);
            continue;
        }
        if (operation->operand_count > 1) {
            y = value_register(l, operation->operands[1], i);
            if (element != wide)
                y = cast_to_f32(l, element, y);
        }
        LLVMValueRef result = function_wide(l, function, wide, x, y);
        out[i] = element == wide ? result : cast_value(l, IR_F32, element, result, IR_ROUND_RTNE, false);
    }
}

/* Philox 4x32 of ten rounds: key and counter words as Salmon et al. 2011 give them.  About sixty instructions an
 * element, so that LLVM sees one text for some elements, with the keys of the rounds made at its top. */
enum { PHILOX_ROUNDS = 10, PHILOX_TOGETHER = 8 };

/* { …  mov.b64 {%k0, %k1}, $S;  add.u32 %k2, %k0, …;  add.u32 %k3, %k1, …;  … */
static void philox_open(struct buffer *text, int seed)
{
    static const uint32_t step[2] = {0x9E3779B9, 0xBB67AE85};
    buffer_printf(text, "{ .reg .b32 %%k<%d>, %%x<4>, %%low<2>, %%high<2>; .reg .b64 %%w<2>;", 2 * PHILOX_ROUNDS);
    buffer_printf(text, "\n\tmov.b64 {%%k0, %%k1}, $%d;", seed);
    for (int k = 2; k < 2 * PHILOX_ROUNDS; k++)
        buffer_printf(text, "\n\tadd.u32 %%k%d, %%k%d, %u;", k, k - 2, (unsigned)step[k % 2]);
}

/* The words of an element: of operand `counter` to results `first` and up. */
static void philox_element(struct buffer *text, int first, int counter)
{
    static const uint32_t multiplier[2] = {0xD2511F53, 0xCD9E8D57};
    buffer_printf(text, "\n\tmov.b64 {%%x0, %%x1}, $%d;\n\tmov.u32 %%x2, 0;\n\tmov.u32 %%x3, 0;", counter);
    for (int round = 0; round < PHILOX_ROUNDS; round++) {
        for (int i = 0; i < 2; i++)
            buffer_printf(text, "\n\tmul.wide.u32 %%w%d, %%x%d, %u;\n\tmov.b64 {%%low%d, %%high%d}, %%w%d;", i, 2 * i,
                          (unsigned)multiplier[i], i, i, i);
        for (int i = 0; i < 2; i++)
            buffer_printf(text, "\n\txor.b32 %%x%d, %%x%d, %%high%d;\n\txor.b32 %%x%d, %%x%d, %%k%d;", 2 * i, 2 * i + 1,
                          1 - i, 2 * i, 2 * i, 2 * round + i);
        buffer_puts(text, "\n\tmov.u32 %x1, %low1;\n\tmov.u32 %x3, %low0;");
    }
    for (int w = 0; w < 4; w++)
        buffer_printf(text, "\n\tmov.u32 $%d, %%x%d;", first + w, w);
}

/* words[4 * i + w]: word w of element i. */
static void philox(struct lowering *l, LLVMValueRef seed, const LLVMValueRef *counters, int count, LLVMValueRef *words)
{
    struct buffer text = {0}, constraints = {0};
    LLVMTypeRef members[4 * PHILOX_TOGETHER];
    LLVMValueRef arguments[1 + PHILOX_TOGETHER] = {seed};
    philox_open(&text, 4 * count);
    for (int i = 0; i < count; i++) {
        philox_element(&text, 4 * i, 4 * count + 1 + i);
        arguments[1 + i] = counters[i];
    }
    buffer_puts(&text, " }");
    for (int i = 0; i < 4 * count; i++) {
        members[i] = l->i32;
        buffer_printf(&constraints, "%s=&r", i ? "," : "");
    }
    for (int i = 0; i <= count; i++)
        buffer_puts(&constraints, ",l");
    LLVMTypeRef type = LLVMStructTypeInContext(l->context, members, (unsigned)(4 * count), false);
    LLVMValueRef all = ptx_text(l, text.data, constraints.data, type, arguments, 1 + count, false);
    for (int i = 0; i < 4 * count; i++)
        words[i] = LLVMBuildExtractValue(l->builder, all, (unsigned)i, "");
    buffer_free(&text);
    buffer_free(&constraints);
}

void lower_philox(struct lowering *l, struct ir_operation *operation)
{
    LLVMValueRef *out[4];
    for (int w = 0; w < 4; w++)
        out[w] = value_define(l, operation->results[w]);
    const struct ir_value *seed = operation->operands[0], *counter = operation->operands[1];
    int count = value_registers(operation->results[0]->type);
    LLVMValueRef key = value_wide(l, seed->type->element, value_register(l, seed, 0));
    for (int first = 0, together; first < count; first += together) {
        LLVMValueRef counters[PHILOX_TOGETHER], words[4 * PHILOX_TOGETHER];
        together = (int)int64_min(PHILOX_TOGETHER, count - first);
        for (int i = 0; i < together; i++)
            counters[i] = value_wide(l, counter->type->element, value_register(l, counter, first + i));
        philox(l, key, counters, together, words);
        for (int i = 0; i < 4 * together; i++)
            out[i % 4][first + i / 4] = words[i];
    }
}
