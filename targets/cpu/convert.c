/* Conversions between elements, exact for every pair, on scalars and vectors alike, without a call to a library.
 *
 * Narrow floats are integers in registers.  Widening to f32 is exact.  Narrowing rounds once: from f32 by integer
 * arithmetic on the bits (or the processor's own instruction for f16); from anything wider through f32 rounded to odd,
 * which keeps what the second rounding needs because f32 has more than two bits beyond every narrow format (Boldo and
 * Melquiond, "Emulation of FMA and correctly rounded sums", 2008). */
#include "base/plant.h"
#include "targets/cpu/emit.h"

#define B e->builder

/* Formats below 32 bits: bits of exponent and mantissa, largest code that is finite, has infinities. */
struct format {
    int exponent, mantissa;
    int64_t largest;
    bool infinite;
};

static struct format format_of(enum ir_element element)
{
    switch (element) {
    case IR_F16: return (struct format){5, 10, 0x7bff, true};
    case IR_BF16: return (struct format){8, 7, 0x7f7f, true};
    case IR_F8E4M3: return (struct format){4, 3, 0x7e, false};
    case IR_F8E5M2: return (struct format){5, 2, 0x7b, false};
    default: die("%s is no narrow float", ir_element_info[element].text);
    }
}

static bool is_narrow(enum ir_element element) { return ir_is_float(element) && cpu_bytes(element) < 4; }

static LLVMValueRef to_int(struct cpu_emitter *e, LLVMValueRef f32)
{
    return LLVMBuildBitCast(B, f32, cpu_like(e->i32, f32), "");
}

static LLVMValueRef shift_left(struct cpu_emitter *e, LLVMValueRef a, int by)
{
    return LLVMBuildShl(B, a, integer_constant(LLVMTypeOf(a), by), "");
}

static LLVMValueRef shift_right(struct cpu_emitter *e, LLVMValueRef a, int by)
{
    return LLVMBuildLShr(B, a, integer_constant(LLVMTypeOf(a), by), "");
}

static LLVMValueRef mask(struct cpu_emitter *e, LLVMValueRef a, int64_t bits)
{
    return LLVMBuildAnd(B, a, integer_constant(LLVMTypeOf(a), bits), "");
}

LLVMValueRef cpu_widen(struct cpu_emitter *e, enum ir_element from, LLVMValueRef value)
{
    if (!is_narrow(from))
        return value;
    LLVMTypeRef wide = cpu_like(e->i32, value), real = cpu_like(e->f32, value);
    if (from == IR_F16 && e->has_half)
        return LLVMBuildFPExt(B, LLVMBuildBitCast(B, value, cpu_like(LLVMHalfTypeInContext(e->llvm), value), ""), real,
                              "");
    LLVMValueRef bits = LLVMBuildZExt(B, value, wide, "");
    if (from == IR_BF16)
        return LLVMBuildBitCast(B, shift_left(e, bits, 16), real, "");
    struct format format = format_of(from);
    int width = 8 * cpu_bytes(from), low = 23 - format.mantissa;
    int bias = (1 << (format.exponent - 1)) - 1;
    LLVMValueRef magnitude = mask(e, bits, (INT64_C(1) << (width - 1)) - 1);
    LLVMValueRef sign = shift_left(e, shift_right(e, bits, width - 1), 31);
    /* exponent and mantissa in f32's fields, then 2^(127 - bias): exact for normal and subnormal numbers */
    LLVMValueRef moved = shift_left(e, magnitude, low);
    LLVMValueRef scale = LLVMConstBitCast(integer_constant(wide, (int64_t)(127 + 127 - bias) << 23), real);
    LLVMValueRef scaled = to_int(e, LLVMBuildFMul(B, LLVMBuildBitCast(B, moved, real, ""), scale, ""));
    int64_t first_special = from == IR_F8E4M3 ? 0x7f : ((INT64_C(1) << format.exponent) - 1) << format.mantissa;
    LLVMValueRef special = LLVMBuildICmp(B, LLVMIntUGE, magnitude, integer_constant(wide, first_special), "");
    LLVMValueRef ones = LLVMBuildOr(B, moved, integer_constant(wide, 0x7f800000), "");
    LLVMValueRef result = LLVMBuildSelect(B, special, ones, scaled, "");
    return LLVMBuildBitCast(B, LLVMBuildOr(B, result, sign, ""), real, "");
}

/* Adds what makes a following truncation by `shift` bits round as asked. */
static LLVMValueRef before_truncation(struct cpu_emitter *e, LLVMValueRef value, LLVMValueRef shift,
                                      LLVMValueRef negative, enum ir_round round)
{
    LLVMTypeRef type = LLVMTypeOf(value);
    LLVMValueRef one = integer_constant(type, 1), unit = LLVMBuildShl(B, one, shift, ""),
                 zero = integer_constant(type, 0);
    LLVMValueRef below = LLVMBuildSub(B, unit, one, "");
    LLVMValueRef odd = LLVMBuildAnd(B, LLVMBuildLShr(B, value, shift, ""), one, "");
    LLVMValueRef add = NULL;
    if (PLANTED(cpu_cast_rounds_half_up))
        odd = one;
    switch (round) {
    case IR_ROUND_RTNE: add = LLVMBuildAdd(B, LLVMBuildLShr(B, below, one, ""), odd, ""); break;
    case IR_ROUND_RTP: add = LLVMBuildSelect(B, negative, zero, below, ""); break;
    case IR_ROUND_RTN: add = LLVMBuildSelect(B, negative, below, zero, ""); break;
    case IR_ROUND_RTZ:
    case IR_ROUND_COUNT: return value;
    }
    return LLVMBuildAdd(B, value, add, "");
}

/* f32 to a format of 16 or 8 bits. */
static LLVMValueRef narrow_f32(struct cpu_emitter *e, LLVMValueRef value, enum ir_element to, enum ir_round round)
{
    if (to == IR_F16 && e->has_half && round == IR_ROUND_RTNE) {
        LLVMValueRef half = LLVMBuildFPTrunc(B, value, cpu_like(LLVMHalfTypeInContext(e->llvm), value), "");
        return LLVMBuildBitCast(B, half, cpu_like(e->i16, value), "");
    }
    struct format format = format_of(to);
    LLVMTypeRef type = cpu_like(e->i32, value);
    int width = 8 * cpu_bytes(to), low = 23 - format.mantissa, bias = (1 << (format.exponent - 1)) - 1;
    int64_t infinite = ((INT64_C(1) << format.exponent) - 1) << format.mantissa;
    LLVMValueRef bits = to_int(e, value), magnitude = mask(e, bits, 0x7fffffff);
    LLVMValueRef negative = LLVMBuildICmp(B, LLVMIntSLT, bits, integer_constant(type, 0), "");
    LLVMValueRef number, amount = integer_constant(type, low);
    if (to == IR_BF16) {
        number = magnitude; /* the same exponents: subnormal numbers need no care */
    } else {
        /* normal: subtract the difference of biases; subnormal: the mantissa with its leading one, shifted further */
        LLVMValueRef exponent = LLVMBuildSub(B, shift_right(e, magnitude, 23), integer_constant(type, 127 - bias), "");
        LLVMValueRef small = LLVMBuildICmp(B, LLVMIntSLT, exponent, integer_constant(type, 1), "");
        LLVMValueRef leading = LLVMBuildOr(B, mask(e, magnitude, 0x7fffff), integer_constant(type, 0x800000), "");
        LLVMValueRef tiny = LLVMBuildICmp(B, LLVMIntULT, magnitude, integer_constant(type, 0x800000), "");
        leading = LLVMBuildSelect(B, tiny, mask(e, magnitude, 0x7fffff), leading, "");
        LLVMValueRef further = LLVMBuildSub(B, integer_constant(type, low + 1), exponent, "");
        LLVMValueRef far = LLVMBuildICmp(B, LLVMIntSGT, further, integer_constant(type, 26), "");
        further = LLVMBuildSelect(B, far, integer_constant(type, 26), further, "");
        number = LLVMBuildSelect(
            B, small, leading, LLVMBuildSub(B, magnitude, integer_constant(type, (int64_t)(127 - bias) << 23), ""), "");
        amount = LLVMBuildSelect(B, small, further, amount, "");
    }
    number = LLVMBuildLShr(B, before_truncation(e, number, amount, negative, round), amount, "");
    LLVMValueRef top = integer_constant(type, format.infinite ? infinite : format.largest);
    if (format.infinite &&
        round != IR_ROUND_RTNE) { /* directed rounding of what is too large stops at the largest number */
        LLVMValueRef largest = integer_constant(type, format.largest);
        LLVMValueRef reached = round == IR_ROUND_RTP   ? LLVMBuildSelect(B, negative, largest, top, "")
                               : round == IR_ROUND_RTN ? LLVMBuildSelect(B, negative, top, largest, "")
                                                       : largest;
        LLVMValueRef was_infinite = LLVMBuildICmp(B, LLVMIntEQ, magnitude, integer_constant(type, 0x7f800000), "");
        top = LLVMBuildSelect(B, was_infinite, top, reached, "");
    }
    number = LLVMBuildSelect(B, LLVMBuildICmp(B, LLVMIntUGT, number, top, ""), top, number, "");
    int64_t nan = to == IR_F8E4M3 ? 0x7f : infinite | INT64_C(1) << (format.mantissa - 1);
    LLVMValueRef is_nan = LLVMBuildICmp(B, LLVMIntUGT, magnitude, integer_constant(type, 0x7f800000), "");
    number = LLVMBuildSelect(B, is_nan, integer_constant(type, nan), number, "");
    LLVMValueRef sign = shift_left(e, shift_right(e, bits, 31), width - 1);
    return LLVMBuildTrunc(B, LLVMBuildOr(B, number, sign, ""), cpu_like(cpu_memory_type(e, to), value), "");
}

/* f64 to f32 and whether the rounded magnitude is above or the value was not exact. */
static LLVMValueRef f64_to_f32(struct cpu_emitter *e, LLVMValueRef value, LLVMValueRef *above, LLVMValueRef *inexact)
{
    LLVMValueRef near = LLVMBuildFPTrunc(B, value, cpu_like(e->f32, value), "");
    LLVMValueRef back = LLVMBuildFPExt(B, near, LLVMTypeOf(value), "");
    *inexact = LLVMBuildFCmp(B, LLVMRealONE, back, value, "");
    *above = LLVMBuildFCmp(B, LLVMRealOGT, cpu_unary_intrinsic(e, "llvm.fabs", back),
                           cpu_unary_intrinsic(e, "llvm.fabs", value), "");
    return near;
}

LLVMValueRef cpu_round_to_odd(struct cpu_emitter *e, LLVMValueRef f64)
{
    LLVMValueRef above, inexact, bits = to_int(e, f64_to_f32(e, f64, &above, &inexact));
    LLVMTypeRef type = LLVMTypeOf(bits);
    bits = LLVMBuildSub(B, bits, LLVMBuildZExt(B, above, type, ""), "");
    bits = LLVMBuildOr(B, bits, LLVMBuildZExt(B, inexact, type, ""), "");
    return LLVMBuildBitCast(B, bits, cpu_like(e->f32, f64), "");
}

/* f64 to f32 by a directed rounding: step back or on from the nearest one. */
static LLVMValueRef f64_to_f32_directed(struct cpu_emitter *e, LLVMValueRef value, enum ir_round round)
{
    LLVMValueRef above, inexact, bits = to_int(e, f64_to_f32(e, value, &above, &inexact));
    LLVMTypeRef type = LLVMTypeOf(bits);
    LLVMValueRef negative = LLVMBuildICmp(B, LLVMIntSLT, LLVMBuildBitCast(B, value, cpu_like(e->i64, value), ""),
                                          integer_constant(cpu_like(e->i64, value), 0), "");
    LLVMValueRef back = LLVMBuildSub(B, bits, LLVMBuildZExt(B, above, type, ""), ""); /* towards zero */
    LLVMValueRef on = LLVMBuildAdd(B, back, LLVMBuildZExt(B, inexact, type, ""), ""); /* away from zero */
    LLVMValueRef result = round == IR_ROUND_RTP   ? LLVMBuildSelect(B, negative, back, on, "")
                          : round == IR_ROUND_RTN ? LLVMBuildSelect(B, negative, on, back, "")
                                                  : back;
    return LLVMBuildBitCast(B, result, cpu_like(e->f32, value), "");
}

/* From f32 or f64 to any float. */
LLVMValueRef cpu_narrow(struct cpu_emitter *e, LLVMValueRef value, enum ir_element to, enum ir_round round,
                        bool saturate)
{
    (void)saturate; /* fp8 saturates anyway, the others have infinities */
    LLVMTypeRef type = LLVMTypeOf(value);
    bool wide = LLVMGetTypeKind(LLVMGetTypeKind(type) == LLVMVectorTypeKind ? LLVMGetElementType(type) : type) ==
                LLVMDoubleTypeKind;
    if (to == IR_F64)
        return wide ? value : LLVMBuildFPExt(B, value, cpu_like(e->f64, value), "");
    if (to == IR_F32)
        return !wide                    ? value
               : round == IR_ROUND_RTNE ? LLVMBuildFPTrunc(B, value, cpu_like(e->f32, value), "")
                                        : f64_to_f32_directed(e, value, round);
    if (PLANTED(cpu_cast_rounds_twice) && wide)
        return narrow_f32(e, LLVMBuildFPTrunc(B, value, cpu_like(e->f32, value), ""), to, round);
    return narrow_f32(e, wide ? cpu_round_to_odd(e, value) : value, to, round);
}

LLVMValueRef cpu_narrow_chosen(struct cpu_emitter *e, LLVMValueRef value, enum ir_element to)
{
    LLVMValueRef near = cpu_narrow(e, value, to, IR_ROUND_RTNE, false);
    if (to != IR_F8E5M2)
        return near;
    LLVMTypeRef type = LLVMTypeOf(near);
    LLVMValueRef bits = to_int(e, value), magnitude = mask(e, bits, 0x7fffffff);
    LLVMValueRef infinite = LLVMBuildICmp(B, LLVMIntEQ, magnitude, integer_constant(LLVMTypeOf(bits), 0x7f800000), "");
    LLVMValueRef sign = LLVMBuildAnd(B, near, integer_constant(type, 0x80), "");
    return LLVMBuildSelect(B, infinite, LLVMBuildOr(B, sign, integer_constant(type, 0x7c), ""), near, "");
}

/* 64-bit integer to f64 so that a second rounding to at most 24 bits is right: bits beyond the 53rd are folded into
 * one. */
static LLVMValueRef sticky_f64(struct cpu_emitter *e, LLVMValueRef value, bool is_signed)
{
    LLVMTypeRef type = LLVMTypeOf(value), real = cpu_like(e->f64, value);
    LLVMValueRef zero = integer_constant(type, 0), magnitude = value;
    LLVMValueRef negative = LLVMBuildICmp(B, LLVMIntSLT, value, zero, "");
    if (is_signed)
        magnitude = LLVMBuildSelect(B, negative, LLVMBuildNeg(B, value, ""), value, "");
    LLVMValueRef high = mask(e, magnitude, ~INT64_C(0xfff)), lost = mask(e, magnitude, 0xfff);
    LLVMValueRef any = LLVMBuildICmp(B, LLVMIntNE, lost, zero, "");
    LLVMValueRef folded = LLVMBuildOr(B, high, LLVMBuildSelect(B, any, integer_constant(type, 0x800), zero, ""), "");
    LLVMValueRef large = LLVMBuildICmp(B, LLVMIntUGE, magnitude, integer_constant(type, INT64_C(1) << 53), "");
    LLVMValueRef result = LLVMBuildUIToFP(B, LLVMBuildSelect(B, large, folded, magnitude, ""), real, "");
    return is_signed ? LLVMBuildSelect(B, negative, LLVMBuildFNeg(B, result, ""), result, "") : result;
}

/* 64-bit integer to f64 by a directed rounding: the 53 highest bits of the magnitude, and one step on if others were
 * lost. */
static LLVMValueRef integer_to_f64_directed(struct cpu_emitter *e, LLVMValueRef value, bool is_signed,
                                            enum ir_round round)
{
    LLVMTypeRef type = LLVMTypeOf(value), real = cpu_like(e->f64, value);
    LLVMValueRef zero = integer_constant(type, 0), one = integer_constant(type, 1), magnitude = value;
    LLVMValueRef negative = LLVMBuildICmp(B, LLVMIntSLT, value, is_signed ? zero : value, "");
    magnitude = LLVMBuildSelect(B, negative, LLVMBuildNeg(B, value, ""), value, "");
    LLVMValueRef counted[2] = {magnitude, LLVMConstInt(LLVMInt1TypeInContext(e->llvm), 0, false)};
    LLVMValueRef zeros = cpu_intrinsic(e, "llvm.ctlz", 1, &type, 2, counted);
    LLVMValueRef drop = LLVMBuildSub(B, integer_constant(type, 11), zeros, "");
    drop = cpu_binary_intrinsic(e, "llvm.smax", drop, zero);
    LLVMValueRef below = LLVMBuildSub(B, LLVMBuildShl(B, one, drop, ""), one, "");
    LLVMValueRef lost = LLVMBuildICmp(B, LLVMIntNE, LLVMBuildAnd(B, magnitude, below, ""), zero, "");
    LLVMValueRef high = LLVMBuildAnd(B, magnitude, LLVMBuildNot(B, below, ""), "");
    LLVMValueRef bits = LLVMBuildBitCast(B, LLVMBuildUIToFP(B, high, real, ""), type, "");
    LLVMValueRef on = LLVMBuildAdd(B, bits, LLVMBuildZExt(B, lost, type, ""), "");
    bits = round == IR_ROUND_RTP   ? LLVMBuildSelect(B, negative, bits, on, "")
           : round == IR_ROUND_RTN ? LLVMBuildSelect(B, negative, on, bits, "")
                                   : bits;
    LLVMValueRef result = LLVMBuildBitCast(B, bits, real, "");
    return LLVMBuildSelect(B, negative, LLVMBuildFNeg(B, result, ""), result, "");
}

/* Vectors of 64-bit integers become f32 on AArch64 by way of f64, and LLVM 19 rounds there, too. */
static LLVMValueRef integer_to_float(struct cpu_emitter *e, LLVMValueRef value, enum ir_element from,
                                     enum ir_element to, enum ir_round round)
{
    bool is_signed = ir_is_signed(from), rounds_twice = e->arm && cpu_bytes(from) == 8 && to == IR_F32;
    if (round == IR_ROUND_RTNE && (to == IR_F64 || to == IR_F32) && !rounds_twice) {
        LLVMTypeRef type = cpu_like(to == IR_F64 ? e->f64 : e->f32, value);
        return is_signed ? LLVMBuildSIToFP(B, value, type, "") : LLVMBuildUIToFP(B, value, type, "");
    }
    LLVMValueRef exact;
    if (cpu_bytes(from) == 8 && to == IR_F64)
        return integer_to_f64_directed(e, value, is_signed, round);
    if (cpu_bytes(from) == 8)
        exact = sticky_f64(e, value, is_signed);
    else if (cpu_bytes(from) <= 2) /* f32 holds them exactly */
        exact = is_signed ? LLVMBuildSIToFP(B, value, cpu_like(e->f32, value), "")
                          : LLVMBuildUIToFP(B, value, cpu_like(e->f32, value), "");
    else
        exact = is_signed ? LLVMBuildSIToFP(B, value, cpu_like(e->f64, value), "")
                          : LLVMBuildUIToFP(B, value, cpu_like(e->f64, value), "");
    return cpu_narrow(e, exact, to, round, false);
}

static LLVMValueRef float_to_integer(struct cpu_emitter *e, LLVMValueRef value, enum ir_element from,
                                     enum ir_element to)
{
    LLVMValueRef wide = cpu_widen(e, from, value);
    LLVMTypeRef types[2] = {cpu_like(cpu_register_type(e, to), value), LLVMTypeOf(wide)};
    return cpu_intrinsic(e, ir_is_signed(to) ? "llvm.fptosi.sat" : "llvm.fptoui.sat", 2, types, 1, &wide);
}

static LLVMValueRef saturated(struct cpu_emitter *e, LLVMValueRef value, enum ir_element from, enum ir_element to)
{
    int bits = ir_element_info[to].bits, from_bits = ir_element_info[from].bits;
    LLVMTypeRef type = LLVMTypeOf(value);
    bool to_signed = ir_is_signed(to);
    if (ir_is_signed(from)) {
        if (!to_signed)
            value = cpu_binary_intrinsic(e, "llvm.smax", value, integer_constant(type, 0));
        else if (bits < from_bits)
            value = cpu_binary_intrinsic(e, "llvm.smax", value, integer_constant(type, -(INT64_C(1) << (bits - 1))));
        if (bits < from_bits) {
            int64_t most = to_signed ? (INT64_C(1) << (bits - 1)) - 1 : (INT64_C(1) << bits) - 1;
            value = cpu_binary_intrinsic(e, "llvm.smin", value, integer_constant(type, most));
        }
        return value;
    }
    int limit = to_signed && !PLANTED(cpu_saturates_past_sign) ? bits - 1 : bits; /* magnitudes below 2^limit fit */
    if (limit < from_bits)
        value = cpu_binary_intrinsic(e, "llvm.umin", value,
                                     integer_constant(type, (int64_t)((UINT64_C(1) << limit) - 1)));
    return value;
}

LLVMValueRef cpu_cast(struct cpu_emitter *e, LLVMValueRef value, enum ir_element from, enum ir_element to,
                      enum ir_round round, bool saturate)
{
    if (from == to)
        return value;
    LLVMTypeRef type = cpu_like(cpu_register_type(e, to), value);
    if (to == IR_BOOL) {
        if (!ir_is_float(from))
            return LLVMBuildICmp(B, LLVMIntNE, value, LLVMConstNull(LLVMTypeOf(value)), "");
        LLVMValueRef wide = cpu_widen(e, from, value);
        return LLVMBuildFCmp(B, LLVMRealUNE, wide, LLVMConstNull(LLVMTypeOf(wide)), "");
    }
    if (from == IR_BOOL) {
        if (!ir_is_float(to))
            return LLVMBuildZExt(B, value, type, "");
        LLVMValueRef one = cpu_constant(e, to, ir_double_to_bits(to, 1.0));
        return LLVMBuildSelect(B, value, cpu_splat(e, one, cpu_lanes(value)), LLVMConstNull(type), "");
    }
    if (ir_is_float(from) && ir_is_float(to))
        return cpu_narrow(e, cpu_widen(e, from, value), to, round, saturate);
    if (ir_is_float(from))
        return float_to_integer(e, value, from, to);
    if (ir_is_float(to))
        return integer_to_float(e, value, from, to, round);
    if (saturate && from != IR_POINTER && to != IR_POINTER)
        value = saturated(e, value, from, to);
    int bits = ir_element_info[to].bits, from_bits = ir_element_info[from].bits;
    if (bits <= from_bits)
        return bits < from_bits ? LLVMBuildTrunc(B, value, type, "") : value;
    return ir_is_signed(from) ? LLVMBuildSExt(B, value, type, "") : LLVMBuildZExt(B, value, type, "");
}
