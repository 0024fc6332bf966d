/* Conversions between element types, as ops.def says: float to integer saturates and NaN gives 0; narrowing floats
 * round to nearest even unless told; fp8 saturates to the largest finite number and keeps NaN; integers wrap unless
 * they saturate. bf16 and fp8 are bits in registers.  What an architecture lacks is made from integer operations. */
#include "base/plant.h"
#include "targets/nvptx/thread/thread.h"

static const char *const round_word[] = {
    [IR_ROUND_RTNE] = "rn", [IR_ROUND_RTZ] = "rz", [IR_ROUND_RTP] = "rp", [IR_ROUND_RTN] = "rm"};

static LLVMValueRef bits_of(struct lowering *l, LLVMValueRef f32)
{
    return LLVMBuildBitCast(l->builder, f32, l->i32, "");
}
static LLVMValueRef float_of(struct lowering *l, LLVMValueRef i32)
{
    return LLVMBuildBitCast(l->builder, i32, l->f32, "");
}

/* fp8 to f32 by bits: shift sign and magnitude under f16 (e5m2 is its upper byte) or rescale a subnormal-safe product
 * (e4m3). */
static LLVMValueRef fp8_to_f32(struct lowering *l, enum ir_element from, LLVMValueRef value)
{
    LLVMBuilderRef b = l->builder;
    if (l->row->flags & TARGET_FP8) {
        LLVMValueRef pair = LLVMBuildZExt(b, value, l->i16, "");
        LLVMValueRef halves = ptx_unary(l, from == IR_F8E4M3 ? PTX_CVT_E4M3_F16X2 : PTX_CVT_E5M2_F16X2, l->i32, pair);
        LLVMValueRef half = LLVMBuildBitCast(b, LLVMBuildTrunc(b, halves, l->i16, ""), l->f16, "");
        return LLVMBuildFPExt(b, half, l->f32, "");
    }
    LLVMValueRef wide = LLVMBuildZExt(b, value, l->i32, "");
    if (from == IR_F8E5M2) {
        LLVMValueRef half = LLVMBuildTrunc(b, LLVMBuildShl(b, wide, value_i32(l, 8), ""), l->i16, "");
        return LLVMBuildFPExt(b, LLVMBuildBitCast(b, half, l->f16, ""), l->f32, "");
    }
    /* seeeemmm: put eeeemmm where f32 has exponent and mantissa, then scale by 2^(127 - 7); exact for subnormals too.
     */
    LLVMValueRef magnitude = LLVMBuildAnd(b, wide, value_i32(l, 0x7f), "");
    LLVMValueRef scaled = LLVMBuildFMul(b, float_of(l, LLVMBuildShl(b, magnitude, value_i32(l, 20), "")),
                                        LLVMConstReal(l->f32, 0x1p120), "");
    LLVMValueRef nan = LLVMBuildICmp(b, LLVMIntEQ, magnitude, value_i32(l, 0x7f), "");
    LLVMValueRef bits = LLVMBuildSelect(b, nan, value_i32(l, 0x7fc00000), bits_of(l, scaled), "");
    LLVMValueRef sign = LLVMBuildShl(b, LLVMBuildAnd(b, wide, value_i32(l, 0x80), ""), value_i32(l, 24), "");
    return float_of(l, LLVMBuildOr(b, bits, sign, ""));
}

LLVMValueRef cast_to_f32(struct lowering *l, enum ir_element from, LLVMValueRef value)
{
    LLVMBuilderRef b = l->builder;
    switch (from) {
    case IR_BF16: return float_of(l, LLVMBuildShl(b, LLVMBuildZExt(b, value, l->i32, ""), value_i32(l, 16), ""));
    case IR_F16: return LLVMBuildFPExt(b, value, l->f32, "");
    case IR_F8E4M3:
    case IR_F8E5M2: return fp8_to_f32(l, from, value);
    default: return value;
    }
}

/* Rounds the 23-bit mantissa of f32 bits at `drop` bits, by the mode; a carry runs into the exponent as it should.  The
 * bits below are cleared.  Not for NaN. */
static LLVMValueRef round_bits(struct lowering *l, LLVMValueRef bits, LLVMValueRef drop, enum ir_round round)
{
    LLVMBuilderRef b = l->builder;
    LLVMValueRef one = value_i32(l, 1);
    LLVMValueRef unit = LLVMBuildShl(b, one, drop, "");
    LLVMValueRef below = LLVMBuildSub(b, unit, one, "");
    LLVMValueRef add;
    LLVMValueRef negative = LLVMBuildICmp(b, LLVMIntSLT, bits, value_i32(l, 0), "");
    if (round == IR_ROUND_RTNE) {
        LLVMValueRef odd = LLVMBuildAnd(b, LLVMBuildLShr(b, bits, drop, ""), one, "");
        add = LLVMBuildAdd(b, LLVMBuildSub(b, LLVMBuildLShr(b, unit, one, ""), one, ""), odd, "");
    } else if (round == IR_ROUND_RTZ) {
        add = value_i32(l, 0);
    } else {
        LLVMValueRef away = round == IR_ROUND_RTN ? negative : LLVMBuildNot(b, negative, "");
        add = LLVMBuildSelect(b, away, below, value_i32(l, 0), "");
    }
    LLVMValueRef sum = LLVMBuildAdd(b, bits, add, "");
    return LLVMBuildAnd(b, sum, LLVMBuildNot(b, below, ""), "");
}

static LLVMValueRef f32_to_bf16(struct lowering *l, LLVMValueRef value, enum ir_round round)
{
    LLVMBuilderRef b = l->builder;
    if ((l->row->flags & TARGET_BF16) && (round == IR_ROUND_RTNE || round == IR_ROUND_RTZ))
        return ptx_emit(l, PTX_CVT_BF16, l->i16, &value, 1, &round_word[round]);
    LLVMValueRef rounded = round_bits(l, bits_of(l, value), value_i32(l, 16), round);
    LLVMValueRef nan = LLVMBuildFCmp(b, LLVMRealUNO, value, value, "");
    /* An infinity stays one: rounding away from zero must not carry out of it, and its mantissa is 0 already. */
    LLVMValueRef chosen = LLVMBuildSelect(b, nan, value_i32(l, 0x7fff0000), rounded, "");
    return LLVMBuildTrunc(b, LLVMBuildLShr(b, chosen, value_i32(l, 16), ""), l->i16, "");
}

/* Toward plus or minus infinity: from the number rounded to zero one step away when something was lost. */
static LLVMValueRef f32_to_f16(struct lowering *l, LLVMValueRef value, enum ir_round round)
{
    LLVMBuilderRef b = l->builder;
    LLVMValueRef bits;
    if (round == IR_ROUND_RTNE)
        return LLVMBuildFPTrunc(b, value, l->f16, "");
    const char *word = "rz";
    bits = ptx_emit(l, PTX_CVT_F16, l->i16, &value, 1, &word);
    if (round != IR_ROUND_RTZ) {
        LLVMValueRef back = LLVMBuildFPExt(b, LLVMBuildBitCast(b, bits, l->f16, ""), l->f32, "");
        LLVMValueRef beyond = LLVMBuildFCmp(b, round == IR_ROUND_RTP ? LLVMRealOLT : LLVMRealOGT, back, value, "");
        /* Zero of either sign goes to the least subnormal of the right sign; else one up in magnitude. */
        bits = LLVMBuildAdd(b, bits, LLVMBuildZExt(b, beyond, l->i16, ""), "");
    }
    return LLVMBuildBitCast(b, bits, l->f16, "");
}

/* f32 to fp8 by bits.  mantissa bits m, exponent bias, largest finite pattern. */
static LLVMValueRef f32_to_fp8_bits(struct lowering *l, enum ir_element to, LLVMValueRef value, enum ir_round round)
{
    LLVMBuilderRef b = l->builder;
    bool e4m3 = to == IR_F8E4M3;
    int mantissa = e4m3 ? 3 : 2, bias = e4m3 ? 7 : 15;
    uint32_t largest = e4m3 ? 0x7e : 0x7b;
    LLVMValueRef bits = bits_of(l, value);
    LLVMValueRef exponent = LLVMBuildAnd(b, LLVMBuildLShr(b, bits, value_i32(l, 23), ""), value_i32(l, 0xff), "");
    /* Normal results drop 23 - m bits; below the least normal exponent each step drops one more, up to all and the
     * guard. */
    LLVMValueRef least = value_i32(l, 127 - bias + 1);
    LLVMValueRef under = LLVMBuildICmp(b, LLVMIntULT, exponent, least, "");
    LLVMValueRef more = LLVMBuildSelect(b, under, LLVMBuildSub(b, least, exponent, ""), value_i32(l, 0), "");
    LLVMValueRef too_small = LLVMBuildICmp(b, LLVMIntUGT, more, value_i32(l, mantissa + 1), "");
    /* In fixed point below the least normal: add the number 2^(23 - m + least exponent) so that the f32 adder's own
     * unit is the subnormal's.  Rounding by the mode is done on the exact integer significand. */
    LLVMValueRef significand = LLVMBuildOr(b, LLVMBuildAnd(b, bits, value_i32(l, 0x7fffff), ""), value_i32(l, 0x800000),
                                           "");
    LLVMValueRef sign = LLVMBuildAnd(b, bits, value_i32(l, 0x80000000), "");
    LLVMValueRef drop = LLVMBuildAdd(b, value_i32(l, 23 - mantissa), more, "");
    drop = LLVMBuildSelect(b, too_small, value_i32(l, 25), drop, "");
    LLVMValueRef smallest = LLVMBuildSelect(
        b, LLVMBuildICmp(b, LLVMIntEQ, LLVMBuildAnd(b, bits, value_i32(l, 0x7fffffff), ""), value_i32(l, 0), ""),
        value_i32(l, 0), value_i32(l, 1), "");
    significand = LLVMBuildSelect(b, too_small, smallest, significand, "");
    LLVMValueRef rounded = round_bits(l, LLVMBuildOr(b, significand, sign, ""), drop, round);
    rounded = LLVMBuildAnd(b, rounded, value_i32(l, 0x7fffffff), "");
    LLVMValueRef steps = LLVMBuildLShr(b, rounded, drop, ""); /* with the hidden bit when normal */
    LLVMValueRef normal = LLVMBuildAdd(
        b, steps, LLVMBuildShl(b, LLVMBuildSub(b, exponent, least, ""), value_i32(l, mantissa), ""), "");
    LLVMValueRef magnitude = LLVMBuildSelect(b, under, steps, normal, "");
    LLVMValueRef over = LLVMBuildICmp(b, LLVMIntUGT, magnitude, value_i32(l, largest), "");
    magnitude = LLVMBuildSelect(b, over, value_i32(l, largest), magnitude, "");
    LLVMValueRef nan = LLVMBuildFCmp(b, LLVMRealUNO, value, value, "");
    magnitude = LLVMBuildSelect(b, nan, value_i32(l, 0x7f), magnitude, "");
    LLVMValueRef result = LLVMBuildOr(b, magnitude, LLVMBuildLShr(b, sign, value_i32(l, 24), ""), "");
    return LLVMBuildTrunc(b, result, l->i8, "");
}

static LLVMValueRef f32_to_fp8(struct lowering *l, enum ir_element to, LLVMValueRef value, enum ir_round round)
{
    if (!(l->row->flags & TARGET_FP8) || round != IR_ROUND_RTNE)
        return f32_to_fp8_bits(l, to, value, round);
    LLVMValueRef arguments[2] = {value, LLVMConstReal(l->f32, 0.0)};
    LLVMValueRef pair = ptx_emit(l, to == IR_F8E4M3 ? PTX_CVT_E4M3X2 : PTX_CVT_E5M2X2, l->i16, arguments, 2, NULL);
    return LLVMBuildTrunc(l->builder, pair, l->i8, "");
}

/* f64 to something narrower than f32: f32 rounded to odd keeps what the second rounding needs. */
static LLVMValueRef f64_to_odd_f32(struct lowering *l, LLVMValueRef value)
{
    LLVMBuilderRef b = l->builder;
    const char *word = "rz";
    LLVMValueRef down = ptx_emit(l, PTX_CVT_F32_F64, l->f32, &value, 1, &word);
    LLVMValueRef exact = LLVMBuildFCmp(b, LLVMRealUEQ, LLVMBuildFPExt(b, down, l->f64, ""), value, "");
    LLVMValueRef sticky = LLVMBuildZExt(b, LLVMBuildNot(b, exact, ""), l->i32, "");
    return float_of(l, LLVMBuildOr(b, bits_of(l, down), sticky, ""));
}

static LLVMValueRef narrow_float(struct lowering *l, enum ir_element from, enum ir_element to, LLVMValueRef value,
                                 enum ir_round round)
{
    if (from == IR_F64) {
        if (to == IR_F32) {
            if (round == IR_ROUND_RTNE)
                return LLVMBuildFPTrunc(l->builder, value, l->f32, "");
            return ptx_emit(l, PTX_CVT_F32_F64, l->f32, &value, 1, &round_word[round]);
        }
        value = f64_to_odd_f32(l, value);
    } else {
        value = cast_to_f32(l, from, value);
    }
    switch (to) {
    case IR_F32: return value;
    case IR_F16: return f32_to_f16(l, value, round);
    case IR_BF16: return f32_to_bf16(l, value, round);
    case IR_F8E4M3:
    case IR_F8E5M2: return f32_to_fp8(l, to, value, round);
    case IR_F64: return LLVMBuildFPExt(l->builder, value, l->f64, "");
    default: die("no float");
    }
}

/* Saturates to [least, most] of the element, given in a wider or equal integer. */
static LLVMValueRef narrow_integer(struct lowering *l, enum ir_element from, enum ir_element to, LLVMValueRef value,
                                   bool saturate)
{
    LLVMBuilderRef b = l->builder;
    LLVMTypeRef type = lower_value_type(l, to);
    LLVMValueRef wide = from == IR_POINTER ? value_to_bits(l, from, value) : value_wide(l, from, value);
    int bits = ir_element_info[to].bits;
    bool from_signed = ir_is_signed(from), to_signed = ir_is_signed(to);
    if (saturate) {
        uint64_t most = to_signed ? (1ULL << (bits - 1)) - 1 : bits == 64 ? UINT64_MAX : (1ULL << bits) - 1;
        if (from_signed && (to_signed || !PLANTED(nvptx_saturate_negative_to_unsigned))) {
            int64_t least = to_signed ? -(int64_t)most - 1 : 0;
            LLVMValueRef low = LLVMConstInt(l->i64, (unsigned long long)least, true);
            wide = LLVMBuildSelect(b, LLVMBuildICmp(b, LLVMIntSLT, wide, low, ""), low, wide, "");
        }
        LLVMValueRef high = LLVMConstInt(l->i64, most, false);
        if (!(from_signed && !to_signed && bits == 64)) {
            LLVMIntPredicate greater = from_signed ? LLVMIntSGT : LLVMIntUGT;
            wide = LLVMBuildSelect(b, LLVMBuildICmp(b, greater, wide, high, ""), high, wide, "");
        }
    }
    if (to == IR_POINTER)
        return LLVMBuildIntToPtr(b, wide, l->pointer, "");
    return LLVMBuildTrunc(b, wide, type, "");
}

/* At most 16 bits as f32, exact, by an `or` and a subtraction: 2^23 + n has the bits of n below those of 2^23.  Conversions
 * of the machine run at a quarter of the rate or less. */
static LLVMValueRef small_integer_to_f32(struct lowering *l, LLVMValueRef value, int bits, bool is_signed)
{
    LLVMBuilderRef b = l->builder;
    int64_t middle = is_signed ? INT64_C(1) << (bits - 1) : 0;
    LLVMValueRef wide = LLVMBuildZExt(b, value, l->i32, "");
    if (is_signed) /* from the lowest number on */
        wide = LLVMBuildXor(b, wide, value_i32(l, middle), "");
    LLVMValueRef above = float_of(l, LLVMBuildOr(b, wide, value_i32(l, 0x4b000000), ""));
    return LLVMBuildFSub(b, above, LLVMConstReal(l->f32, 8388608.0 + (double)middle), "");
}

/* Integer to float, rounded once: 64-bit values reach f16 and bf16 through f64 rounded to odd. */
static LLVMValueRef integer_to_float(struct lowering *l, enum ir_element from, enum ir_element to, LLVMValueRef value,
                                     enum ir_round round)
{
    LLVMBuilderRef b = l->builder;
    bool is_signed = ir_is_signed(from);
    if (from == IR_BOOL)
        value = LLVMBuildZExt(b, value, l->i32, "");
    int bits = from == IR_BOOL ? 8 : ir_element_info[from].bits;
    if (bits <= 16 && from != IR_BOOL && to != IR_F64) {
        LLVMValueRef exact = small_integer_to_f32(l, value, bits, is_signed);
        if (bits <= 8 && to == IR_BF16) /* the upper half has it all */
            return LLVMBuildTrunc(b, LLVMBuildLShr(b, bits_of(l, exact), value_i32(l, 16), ""), l->i16, "");
        return narrow_float(l, IR_F32, to, exact, round);
    }
    if (round == IR_ROUND_RTNE && (to == IR_F32 || to == IR_F64)) {
        LLVMTypeRef type = lower_value_type(l, to);
        return is_signed ? LLVMBuildSIToFP(b, value, type, "") : LLVMBuildUIToFP(b, value, type, "");
    }
    if (bits <= 16) {
        LLVMValueRef exact = is_signed ? LLVMBuildSIToFP(b, value, l->f32, "") : LLVMBuildUIToFP(b, value, l->f32, "");
        return narrow_float(l, IR_F32, to, exact, round);
    }
    LLVMValueRef wide = is_signed ? LLVMBuildSExt(b, value, l->i64, "") : LLVMBuildZExt(b, value, l->i64, "");
    if (bits == 64 && to == IR_F64) {
        const char *words[2] = {round_word[round], is_signed ? "s64" : "u64"};
        return ptx_emit(l, PTX_CVT_F64_INTEGER, l->f64, &wide, 1, words);
    }
    if (bits == 64) {
        /* Fold the low 11 bits into one sticky bit where the magnitude needs more than 53: still exact in f64 and odd.
         */
        LLVMValueRef sign = is_signed ? LLVMBuildAShr(b, wide, value_i64(l, 63), "") : value_i64(l, 0);
        LLVMValueRef magnitude = LLVMBuildSub(b, LLVMBuildXor(b, wide, sign, ""), sign, "");
        LLVMValueRef large = LLVMBuildICmp(b, LLVMIntUGT, magnitude, value_i64(l, (1LL << 53) - 1), "");
        LLVMValueRef low = LLVMBuildAnd(b, magnitude, value_i64(l, 0x7ff), "");
        LLVMValueRef sticky = LLVMBuildZExt(b, LLVMBuildICmp(b, LLVMIntNE, low, value_i64(l, 0), ""), l->i64, "");
        sticky = LLVMBuildShl(b, sticky, value_i64(l, 11), "");
        LLVMValueRef odd = LLVMBuildOr(b, LLVMBuildAnd(b, magnitude, value_i64(l, ~0x7ffLL), ""), sticky, "");
        magnitude = LLVMBuildSelect(b, large, odd, magnitude, "");
        LLVMValueRef real = LLVMBuildUIToFP(b, magnitude, l->f64, "");
        LLVMValueRef negative = LLVMBuildICmp(b, LLVMIntNE, sign, value_i64(l, 0), "");
        real = LLVMBuildSelect(b, negative, LLVMBuildFNeg(b, real, ""), real, "");
        return narrow_float(l, IR_F64, to, real, round);
    }
    LLVMValueRef real = is_signed ? LLVMBuildSIToFP(b, wide, l->f64, "") : LLVMBuildUIToFP(b, wide, l->f64, "");
    return to == IR_F64 ? real : narrow_float(l, IR_F64, to, real, round);
}

/* The machine's own conversion clamps to what 32 or 64 bits hold.  NaN becomes 0 from f32 to 32 bits, else the lowest
 * number. */
static LLVMValueRef float_to_integer(struct lowering *l, enum ir_element from, enum ir_element to, LLVMValueRef value)
{
    LLVMBuilderRef b = l->builder;
    LLVMValueRef real = from == IR_F64 ? value : cast_to_f32(l, from, value);
    LLVMTypeRef type = lower_value_type(l, to);
    bool is_signed = ir_is_signed(to), is_double = from == IR_F64;
    int bits = ir_element_info[to].bits;
    const char *words[4] = {arena_printf(l->arena, "%c%d", is_signed ? 's' : 'u', bits > 32 ? 64 : 32),
                            is_double ? "f64" : "f32", bits > 32 ? "l" : "r", is_double ? "d" : "f"};
    LLVMValueRef number = ptx_emit(l, PTX_CVT_INTEGER, bits > 32 ? l->i64 : l->i32, &real, 1, words);
    if (is_double || bits > 32) {
        LLVMValueRef nan = LLVMBuildFCmp(b, LLVMRealUNO, real, real, "");
        number = LLVMBuildSelect(b, nan, LLVMConstNull(LLVMTypeOf(number)), number, "");
    }
    if (bits >= 32)
        return number;
    LLVMValueRef high[2] = {number, value_i32(l, is_signed ? (1 << (bits - 1)) - 1 : (1 << bits) - 1)};
    number = value_intrinsic(l, is_signed ? "llvm.smin" : "llvm.umin", l->i32, high, 2);
    LLVMValueRef low[2] = {number, value_i32(l, -(1 << (bits - 1)))};
    if (is_signed)
        number = value_intrinsic(l, "llvm.smax", l->i32, low, 2);
    return LLVMBuildTrunc(b, number, type, "");
}

LLVMValueRef cast_value(struct lowering *l, enum ir_element from, enum ir_element to, LLVMValueRef value,
                        enum ir_round round, bool saturate)
{
    LLVMBuilderRef b = l->builder;
    if (from == to)
        return value;
    bool from_float = ir_is_float(from), to_float = ir_is_float(to);
    if (to == IR_BOOL) {
        if (!from_float) {
            LLVMValueRef bits = value_to_bits(l, from, value);
            return LLVMBuildICmp(b, LLVMIntNE, bits, LLVMConstInt(LLVMTypeOf(bits), 0, false), "");
        }
        LLVMValueRef wide = from == IR_F64 ? value : cast_to_f32(l, from, value);
        return LLVMBuildFCmp(b, LLVMRealUNE, wide, LLVMConstReal(LLVMTypeOf(wide), 0.0), "");
    }
    if (from_float)
        return to_float ? narrow_float(l, from, to, value, round) : float_to_integer(l, from, to, value);
    if (to_float)
        return integer_to_float(l, from, to, value, round);
    if (from != IR_POINTER && to != IR_POINTER && !saturate) {
        LLVMTypeRef type = lower_value_type(l, to);
        bool is_signed = ir_is_signed(from);
        return LLVMBuildIntCast2(b, value, type, is_signed, "");
    }
    return narrow_integer(l, from, to, value, saturate);
}

/* Two neighbours of f32 to 16 bits in one instruction: the halves are packed already when they are stored. */
static bool cast_pairs(struct lowering *l, enum ir_element from, enum ir_element to, const LLVMValueRef *in,
                       LLVMValueRef *out, int count)
{
    if (from != IR_F32 || (to != IR_F16 && to != IR_BF16) || count % 2 || !(l->row->flags & TARGET_BF16))
        return false;
    LLVMBuilderRef b = l->builder;
    for (int i = 0; i < count; i += 2) {
        LLVMValueRef both = ptx_emit(l, to == IR_F16 ? PTX_CVT_F16X2 : PTX_CVT_BF16X2, l->i32, in + i, 2, NULL);
        LLVMValueRef low = LLVMBuildTrunc(b, both, l->i16, "");
        LLVMValueRef high = LLVMBuildTrunc(b, LLVMBuildLShr(b, both, value_i32(l, 16), ""), l->i16, "");
        out[i] = value_from_bits(l, to, low);
        out[i + 1] = value_from_bits(l, to, high);
    }
    return true;
}

void cast_all(struct lowering *l, enum ir_element from, enum ir_element to, const LLVMValueRef *in, LLVMValueRef *out,
              int count)
{
    if (cast_pairs(l, from, to, in, out, count))
        return;
    for (int i = 0; i < count; i++)
        out[i] = cast_value(l, from, to, in[i], IR_ROUND_RTNE, false);
}

static void cast_bits(struct lowering *l, enum ir_element from, enum ir_element to, LLVMValueRef in, LLVMValueRef *out)
{
    *out = from == to ? in : value_from_bits(l, to, value_to_bits(l, from, in));
}

/* Integers known to be so small that f32 has them all: rounded once more, to something narrower, they are right. */
static bool is_exact_in_f32(const struct lowering *l, const struct ir_value *value)
{
    enum { MOST = 1 << 24 };
    if (!ir_is_integer(value->type->element) || ir_element_info[value->type->element].bits < 32)
        return false;
    struct range range = range_of(l->ranges, value);
    return range.low >= -MOST && range.high <= MOST;
}

void lower_cast(struct lowering *l, struct ir_operation *operation)
{
    struct ir_value *source = operation->operands[0], *result = operation->results[0];
    enum ir_element from = source->type->element, to = result->type->element;
    enum ir_round round = (enum ir_round)ir_number(operation, IR_ATTRIBUTE_ROUND, IR_ROUND_RTNE);
    bool saturate = ir_number(operation, IR_ATTRIBUTE_SATURATE, 0) != 0;
    int count = value_registers(result->type);
    LLVMValueRef *out = value_define(l, result);
    const LLVMValueRef *in = value_of(l, source)->registers;
    if (operation->opcode == OP_BITCAST) {
        for (int i = 0; i < count; i++)
            cast_bits(l, from, to, in[i], &out[i]);
        return;
    }
    if (result->type->rank && from >= IR_I8 && from <= IR_I32 && ir_is_integer(to) && fact_not_negative(l, source))
        from = (enum ir_element)(from - IR_I8 + IR_U8); /* no sign to be spread over the upper half */
    if (round == IR_ROUND_RTNE && cast_pairs(l, from, to, in, out, count))
        return;
    if (round == IR_ROUND_RTNE && (to == IR_F16 || to == IR_BF16) && is_exact_in_f32(l, source)) {
        LLVMValueRef *wide = value_array(l, count);
        for (int i = 0; i < count; i++)
            wide[i] = cast_value(l, from, IR_F32, in[i], round, false);
        cast_all(l, IR_F32, to, wide, out, count);
        return;
    }
    for (int i = 0; i < count; i++)
        out[i] = cast_value(l, from, to, in[i], round, saturate);
}
