/* Elementwise operations on registers: each operand is a scalar or a vector of the nest's lanes, and all agree.
 * Whatever LLVM leaves undefined (in integer.h, and conversions out of range) is defined by selects. */
#include "base/plant.h"
#include "targets/common/combine.h"
#include "targets/common/integer.h"
#include "targets/common/intrinsic.h"
#include "targets/cpu/emit.h"
#include <string.h>

#define B e->builder

static bool is_small_float(enum ir_element element) { return ir_is_float(element) && cpu_bytes(element) < 4; }

/* Without strict_fp a product and the sum over it may become one fused operation, unless the IR says otherwise. */
static LLVMValueRef contract(struct cpu_emitter *e, LLVMValueRef value)
{
    if (!e->strict && !e->rounded && LLVMIsAInstruction(value) && LLVMCanValueUseFastMathFlags(value))
        LLVMSetFastMathFlags(value, LLVMFastMathAllowContract);
    return value;
}

static LLVMValueRef as_int(struct cpu_emitter *e, LLVMValueRef real)
{
    LLVMTypeRef type = LLVMTypeOf(real);
    if (LLVMGetTypeKind(type) == LLVMVectorTypeKind)
        type = LLVMGetElementType(type);
    return LLVMBuildBitCast(B, real, cpu_like(LLVMGetTypeKind(type) == LLVMDoubleTypeKind ? e->i64 : e->i32, real), "");
}

/* AVX-512 has the language's own minimum and maximum: a NaN loses and -0 < +0. */
static LLVMValueRef range_instruction(struct cpu_emitter *e, bool largest, LLVMValueRef a, LLVMValueRef b, bool wide)
{
    LLVMTypeRef type = LLVMTypeOf(a);
    LLVMValueRef arguments[6] = {a,
                                 b,
                                 LLVMConstInt(e->i32, largest ? 5 : 4, 0),
                                 LLVMConstNull(type),
                                 LLVMConstAllOnes(wide ? e->i8 : e->i16),
                                 LLVMConstInt(e->i32, 4, 0)};
    return cpu_intrinsic(e, wide ? "llvm.x86.avx512.mask.range.pd.512" : "llvm.x86.avx512.mask.range.ps.512", 0, NULL,
                         6, arguments);
}

static LLVMValueRef is_nan(struct cpu_emitter *e, LLVMValueRef a) { return LLVMBuildFCmp(B, LLVMRealUNO, a, a, ""); }

/* f32 and f64.  -0 < +0; NaN loses unless propagated, a signalling one too, which AVX-512 and AArch64 turn into a NaN
 * that wins.  quiet: `a` has been computed, and is no signalling one. */
static LLVMValueRef real_extreme(struct cpu_emitter *e, bool largest, LLVMValueRef a, LLVMValueRef b, enum ir_nan nan,
                                 bool quiet)
{
    bool propagate = nan == IR_NAN_PROPAGATE && !PLANTED(cpu_loses_nan_in_min);
    if (e->arm && propagate)
        return cpu_binary_intrinsic(e, largest ? "llvm.maximum" : "llvm.minimum", a, b);
    if (e->arm) {
        LLVMValueRef of_numbers = cpu_binary_intrinsic(e, largest ? "llvm.maxnum" : "llvm.minnum", a, b);
        LLVMValueRef result = LLVMBuildSelect(B, is_nan(e, b), a, of_numbers, "");
        return quiet ? result : LLVMBuildSelect(B, is_nan(e, a), b, result, "");
    }
    LLVMTypeRef type = LLVMTypeOf(a);
    if (propagate) { /* not llvm.maximum: LLVM 19 narrows it to f16 and then loses a NaN on AVX2 */
        LLVMValueRef unordered = LLVMBuildFCmp(B, LLVMRealUNO, a, b, "");
        return LLVMBuildSelect(B, unordered, LLVMBuildFAdd(B, a, b, ""),
                               real_extreme(e, largest, a, b, IR_NAN_SKIP, quiet), "");
    }
    bool vector = LLVMGetTypeKind(type) == LLVMVectorTypeKind;
    if (e->isa == CPU_WIDEST && vector) {
        bool wide = LLVMGetTypeKind(LLVMGetElementType(type)) == LLVMDoubleTypeKind;
        if (cpu_lanes(a) == (wide ? 8 : 16)) { /* of a value with itself: the value, or a quiet NaN */
            if (!quiet)
                a = range_instruction(e, largest, a, a, wide);
            return range_instruction(e, largest, a, range_instruction(e, largest, b, b, wide), wide);
        }
    }
    LLVMValueRef first = LLVMBuildFCmp(B, largest ? LLVMRealOGT : LLVMRealOLT, a, b, "");
    LLVMValueRef result = LLVMBuildSelect(B, first, a, b, ""); /* b when equal or unordered */
    LLVMValueRef x = as_int(e, a), y = as_int(e, b);           /* equal numbers differ in the sign of zero at most */
    LLVMValueRef same = largest ? LLVMBuildAnd(B, x, y, "") : LLVMBuildOr(B, x, y, "");
    result = LLVMBuildSelect(B, LLVMBuildFCmp(B, LLVMRealOEQ, a, b, ""), LLVMBuildBitCast(B, same, type, ""), result,
                             "");
    return LLVMBuildSelect(B, is_nan(e, b), a, result, "");
}

/* Copies of one operation on both halves, for what is two registers wide. */
static LLVMValueRef half_of(struct cpu_emitter *e, LLVMValueRef vector, int half)
{
    int lanes = cpu_lanes(vector) / 2;
    LLVMValueRef picks[64];
    for (int i = 0; i < lanes; i++)
        picks[i] = LLVMConstInt(e->i32, (unsigned)(half * lanes + i), 0);
    return LLVMBuildShuffleVector(B, vector, LLVMGetPoison(LLVMTypeOf(vector)), LLVMConstVector(picks, (unsigned)lanes),
                                  "");
}

static LLVMValueRef joined(struct cpu_emitter *e, LLVMValueRef low, LLVMValueRef high)
{
    int lanes = cpu_lanes(low) * 2;
    LLVMValueRef picks[64];
    for (int i = 0; i < lanes; i++)
        picks[i] = LLVMConstInt(e->i32, (unsigned)i, 0);
    return LLVMBuildShuffleVector(B, low, high, LLVMConstVector(picks, (unsigned)lanes), "");
}

static LLVMValueRef extreme(struct cpu_emitter *e, bool largest, enum ir_element element, LLVMValueRef a,
                            LLVMValueRef b, enum ir_nan nan, bool quiet)
{
    if (e->isa == CPU_WIDEST && !e->arm && element == IR_F64 && cpu_lanes(a) == 16)
        return joined(e, real_extreme(e, largest, half_of(e, a, 0), half_of(e, b, 0), nan, quiet),
                      real_extreme(e, largest, half_of(e, a, 1), half_of(e, b, 1), nan, quiet));
    return real_extreme(e, largest, a, b, nan, quiet);
}

static LLVMValueRef real_binary(struct cpu_emitter *e, enum ir_opcode opcode, enum ir_element element, LLVMValueRef a,
                                LLVMValueRef b, enum ir_nan nan)
{
    switch (opcode) {
    case OP_ADD: return contract(e, LLVMBuildFAdd(B, a, b, ""));
    case OP_SUB: return contract(e, LLVMBuildFSub(B, a, b, ""));
    case OP_MUL: return contract(e, LLVMBuildFMul(B, a, b, ""));
    case OP_DIV: return LLVMBuildFDiv(B, a, b, "");
    case OP_REM: return cpu_float_remainder(e, element, a, b);
    case OP_MIN: return extreme(e, false, element, a, b, nan, false);
    case OP_MAX: return extreme(e, true, element, a, b, nan, false);
    case OP_AND:
    case OP_OR:
    case OP_XOR:
    case OP_SHL:
    case OP_SHR:
    case OP_MULHI:
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
    die("%s of floats", ir_op_info[opcode].text);
}

LLVMValueRef cpu_binary(struct cpu_emitter *e, enum ir_opcode opcode, enum ir_element element, LLVMValueRef a,
                        LLVMValueRef b, enum ir_nan nan)
{
    if (is_small_float(element)) {
        LLVMValueRef wide = cpu_binary(e, opcode, IR_F32, cpu_widen(e, element, a), cpu_widen(e, element, b), nan);
        bool picks = opcode == OP_MIN || opcode == OP_MAX;
        return picks ? cpu_narrow_chosen(e, wide, element) : cpu_narrow(e, wide, element, IR_ROUND_RTNE, false);
    }
    if (element == IR_BOOL && opcode == OP_ADD)
        return LLVMBuildOr(B, a, b, "");
    return ir_is_float(element) ? real_binary(e, opcode, element, a, b, nan) : integer_binary(B, opcode, element, a, b);
}

LLVMValueRef cpu_multiply_add(struct cpu_emitter *e, LLVMValueRef a, LLVMValueRef b, LLVMValueRef c, bool is_float)
{
    if (!is_float)
        return LLVMBuildAdd(B, LLVMBuildMul(B, a, b, ""), c, "");
    if (e->has_fma) {
        LLVMTypeRef type = LLVMTypeOf(a);
        return cpu_intrinsic(e, "llvm.fma", 1, &type, 3, (LLVMValueRef[]){a, b, c});
    }
    return LLVMBuildFAdd(B, LLVMBuildFMul(B, a, b, ""), c, "");
}

LLVMValueRef cpu_combine(struct cpu_emitter *e, enum ir_reduce_kind kind, enum ir_element element, LLVMValueRef a,
                         LLVMValueRef b, enum ir_nan nan)
{
    if ((kind == IR_REDUCE_MIN || kind == IR_REDUCE_MAX) && (element == IR_F32 || element == IR_F64))
        return extreme(e, kind == IR_REDUCE_MAX, element, a, b, nan, true);
    return cpu_binary(e, combine_opcode(kind), element, a, b, nan);
}

LLVMValueRef cpu_reduce_kind_lanes(struct cpu_emitter *e, enum ir_reduce_kind kind, enum ir_element element,
                                   LLVMValueRef vector, enum ir_nan nan)
{
    while (cpu_lanes(vector) > 2)
        vector = cpu_combine(e, kind, element, half_of(e, vector, 0), half_of(e, vector, 1), nan);
    if (cpu_lanes(vector) == 1)
        return vector;
    LLVMValueRef a = LLVMBuildExtractElement(B, vector, LLVMConstInt(e->i32, 0, 0), "");
    LLVMValueRef b = LLVMBuildExtractElement(B, vector, LLVMConstInt(e->i32, 1, 0), "");
    return cpu_combine(e, kind, element, a, b, nan);
}

static LLVMValueRef compare(struct cpu_emitter *e, enum ir_predicate predicate, enum ir_element element, LLVMValueRef a,
                            LLVMValueRef b)
{
    static const LLVMRealPredicate reals[] = {LLVMRealOEQ, LLVMRealUNE, LLVMRealOLT,
                                              LLVMRealOLE, LLVMRealOGT, LLVMRealOGE};
    static const LLVMIntPredicate with_sign[] = {LLVMIntEQ, LLVMIntNE, LLVMIntSLT, LLVMIntSLE, LLVMIntSGT, LLVMIntSGE};
    static const LLVMIntPredicate without[] = {LLVMIntEQ, LLVMIntNE, LLVMIntULT, LLVMIntULE, LLVMIntUGT, LLVMIntUGE};
    if (ir_is_float(element))
        return LLVMBuildFCmp(B, reals[predicate], cpu_widen(e, element, a), cpu_widen(e, element, b), "");
    return LLVMBuildICmp(B, (ir_is_signed(element) ? with_sign : without)[predicate], a, b, "");
}

static LLVMValueRef negate_or_abs(struct cpu_emitter *e, bool negate, enum ir_element element, LLVMValueRef a)
{
    LLVMTypeRef type = LLVMTypeOf(a);
    if (is_small_float(element)) {
        int64_t sign = INT64_C(1) << (ir_element_info[element].bits - 1);
        return negate ? LLVMBuildXor(B, a, integer_constant(type, sign), "")
                      : LLVMBuildAnd(B, a, integer_constant(type, sign - 1), "");
    }
    if (ir_is_float(element))
        return negate ? LLVMBuildFNeg(B, a, "") : cpu_unary_intrinsic(e, "llvm.fabs", a);
    if (negate)
        return LLVMBuildNeg(B, a, "");
    return ir_is_signed(element)
               ? cpu_intrinsic(e, "llvm.abs", 1, &type, 2, (LLVMValueRef[]){a, LLVMConstInt(e->i1, 0, 0)})
               : a;
}

/* Philox4x32-10: Salmon, Moraes, Dror, Shaw, "Parallel random numbers: as easy as 1, 2, 3" (SC 2011). */
static void philox(struct cpu_emitter *e, LLVMValueRef seed, LLVMValueRef counter, LLVMValueRef *results)
{
    LLVMTypeRef wide = LLVMTypeOf(counter), word = cpu_like(e->i32, counter);
    LLVMValueRef half = integer_constant(wide, 32), k0 = LLVMBuildTrunc(B, seed, word, "");
    LLVMValueRef k1 = LLVMBuildTrunc(B, LLVMBuildLShr(B, seed, half, ""), word, "");
    LLVMValueRef c[4] = {LLVMBuildTrunc(B, counter, word, ""),
                         LLVMBuildTrunc(B, LLVMBuildLShr(B, counter, half, ""), word, ""), integer_constant(word, 0),
                         integer_constant(word, 0)};
    for (int round = 0; round < 10; round++) {
        LLVMValueRef a = LLVMBuildMul(B, LLVMBuildZExt(B, c[0], wide, ""), integer_constant(wide, 0xD2511F53), "");
        LLVMValueRef b = LLVMBuildMul(B, LLVMBuildZExt(B, c[2], wide, ""), integer_constant(wide, 0xCD9E8D57), "");
        LLVMValueRef a_high = LLVMBuildTrunc(B, LLVMBuildLShr(B, a, half, ""), word, "");
        LLVMValueRef b_high = LLVMBuildTrunc(B, LLVMBuildLShr(B, b, half, ""), word, "");
        LLVMValueRef x = LLVMBuildXor(B, LLVMBuildXor(B, b_high, c[1], ""), k0, "");
        LLVMValueRef y = LLVMBuildXor(B, LLVMBuildXor(B, a_high, c[3], ""), k1, "");
        c[1] = LLVMBuildTrunc(B, b, word, "");
        c[3] = LLVMBuildTrunc(B, a, word, "");
        c[0] = x;
        c[2] = y;
        k0 = LLVMBuildAdd(B, k0, integer_constant(word, 0x9E3779B9), "");
        k1 = LLVMBuildAdd(B, k1, integer_constant(word, 0xBB67AE85), "");
    }
    memcpy(results, c, sizeof c);
}

static LLVMValueRef pointer_sum(struct cpu_emitter *e, const struct ir_operation *operation, LLVMValueRef pointer,
                                LLVMValueRef offset)
{
    enum ir_element element = operation->operands[1]->type->element;
    LLVMTypeRef type = LLVMTypeOf(pointer);
    bool is_signed = ir_is_signed(element) || PLANTED(cpu_pointer_offset_sign);
    if (ir_element_info[element].bits < 64)
        offset = is_signed ? LLVMBuildSExt(B, offset, type, "") : LLVMBuildZExt(B, offset, type, "");
    int64_t bytes = cpu_bytes(operation->operands[0]->type->pointee);
    return LLVMBuildAdd(B, pointer, LLVMBuildMul(B, offset, integer_constant(type, bytes), ""), "");
}

/* What LLVM has as an intrinsic. */
static LLVMValueRef intrinsic(struct cpu_emitter *e, enum ir_opcode opcode, enum ir_element element,
                              const LLVMValueRef *operands)
{
    LLVMValueRef wide[3];
    for (int i = 0; i < ir_op_info[opcode].least; i++)
        wide[i] = ir_is_float(element) ? cpu_widen(e, element, operands[i]) : operands[i];
    LLVMValueRef result = intrinsic_call(e->module, B, opcode, element, wide);
    return ir_is_float(element) ? cpu_narrow(e, result, element, IR_ROUND_RTNE, false) : result;
}

static LLVMValueRef math(struct cpu_emitter *e, const struct ir_operation *operation, enum ir_element element,
                         LLVMValueRef *operands)
{
    enum ir_math function = (enum ir_math)ir_number(operation, IR_ATTRIBUTE_FUNCTION, 0);
    LLVMValueRef second = operation->operand_count > 1 ? operands[1] : NULL;
    LLVMValueRef a = cpu_widen(e, element, operands[0]), b = second ? cpu_widen(e, element, second) : NULL;
    LLVMValueRef result = cpu_math(e, function, element == IR_F64 ? IR_F64 : IR_F32, a, b);
    if (!result) {
        cpu_report(e, operation->at, "a math function that the library of tilecc does not have");
        return LLVMGetPoison(LLVMTypeOf(operands[0]));
    }
    enum ir_element to = operation->results[0]->type->element;
    if (function == IR_MATH_ISNAN)
        return to == IR_BOOL ? result : cpu_cast(e, result, IR_BOOL, to, IR_ROUND_RTNE, false);
    return cpu_narrow(e, result, to, IR_ROUND_RTNE, false);
}

bool cpu_arithmetic(struct cpu_emitter *e, const struct ir_operation *operation, LLVMValueRef *operands,
                    LLVMValueRef *results)
{
    enum ir_element element = operation->operand_count ? operation->operands[0]->type->element : IR_I32;
    enum ir_element to = operation->results[0]->type->element;
    enum ir_nan nan = (enum ir_nan)ir_number(operation, IR_ATTRIBUTE_NAN, IR_NAN_SKIP);
    if (operation->opcode == OP_PHILOX) {
        philox(e, operands[0], operands[1], results);
        return true;
    }
    switch (operation->opcode) {
    case OP_ADD:
    case OP_SUB:
    case OP_MUL:
    case OP_DIV:
    case OP_REM:
    case OP_MIN:
    case OP_MAX:
    case OP_AND:
    case OP_OR:
    case OP_XOR:
    case OP_SHL:
    case OP_SHR:
    case OP_MULHI:
        e->rounded = ir_number(operation, IR_ATTRIBUTE_ROUNDED, 0) != 0;
        results[0] = cpu_binary(e, operation->opcode, element, operands[0], operands[1], nan);
        e->rounded = false;
        return true;
    case OP_NEG:
    case OP_ABS: results[0] = negate_or_abs(e, operation->opcode == OP_NEG, element, operands[0]); return true;
    case OP_FMA: results[0] = cpu_fused(e, element, operands[0], operands[1], operands[2]); return true;
    case OP_NOT: results[0] = LLVMBuildNot(B, operands[0], ""); return true;
#define OP(...)
#define ARITHMETIC(...)
#define INTRINSIC(id, ...) case OP_##id:
#include "ir/ops.def"
        results[0] = intrinsic(e, operation->opcode, element, operands);
        return true;
    case OP_COMPARE:
        results[0] = compare(e, (enum ir_predicate)ir_number(operation, IR_ATTRIBUTE_PREDICATE, 0), element,
                             operands[0], operands[1]);
        return true;
    case OP_SELECT: results[0] = LLVMBuildSelect(B, operands[0], operands[1], operands[2], ""); return true;
    case OP_CAST:
        results[0] = cpu_cast(e, operands[0], element, to,
                              (enum ir_round)ir_number(operation, IR_ATTRIBUTE_ROUND, IR_ROUND_RTNE),
                              ir_number(operation, IR_ATTRIBUTE_SATURATE, 0) != 0);
        return true;
    case OP_BITCAST: {
        LLVMTypeRef type = cpu_like(cpu_register_type(e, to), operands[0]);
        if (element == IR_BOOL || to == IR_BOOL)
            results[0] = cpu_cast(e, operands[0], element, to, IR_ROUND_RTNE, false);
        else
            results[0] = LLVMTypeOf(operands[0]) == type ? operands[0] : LLVMBuildBitCast(B, operands[0], type, "");
        return true;
    }
    case OP_MATH: results[0] = math(e, operation, element, operands); return true;
    case OP_POINTER_ADD: results[0] = pointer_sum(e, operation, operands[0], operands[1]); return true;
#define OP(id, ...) case OP_##id:
#define PER_ELEMENT(...)
#include "ir/ops.def"
    case OP_COUNT: break;
    }
    return cpu_report(e, operation->at, ir_op_info[operation->opcode].text);
}
