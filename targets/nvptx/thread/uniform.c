/* Comparisons of uniform random numbers with a bound, as a dropout makes them, by the words the numbers come from.
 *
 * A word w is a signed number; n is w, or -w - 1 where that is negative, and f is n rounded to f32.  The uniform number
 * is f (2^-31 - 2^-55), rounded: the f32 below f, times 2^-31, for f = m 2^e with m of 24 bits is made less by m 2^-24,
 * which lies between a half and 1.  So it reaches p > 0 where f > 2^31 p, and that is so from some n on, the `least`.
 * The words with a smaller n are those from -least to least - 1: w + least tells, without a sign and without a float. */
#include "ir/query.h"
#include "targets/nvptx/thread/thread.h"

/* A thread saves two instructions for each of its numbers, and makes the bound in some fifteen.  Where it has twice as
 * many numbers, those that wait for their words take more registers than that is worth. */
enum { LEAST_NUMBERS = 16, TOO_MANY_NUMBERS = 32 };
enum { BIAS = 127, MANTISSA = 23 }; /* of f32 */

/* The first operand of an instruction of this kind, or NULL. */
static LLVMValueRef operand_of(LLVMValueRef value, LLVMOpcode opcode)
{
    return LLVMIsAInstruction(value) && LLVMGetInstructionOpcode(value) == opcode ? LLVMGetOperand(value, 0) : NULL;
}

/* w of w + (w >> 31), unsigned, or NULL. */
static LLVMValueRef word_of_sum(LLVMValueRef sum)
{
    LLVMValueRef word = operand_of(sum, LLVMAdd);
    if (!word || LLVMGetIntTypeWidth(LLVMTypeOf(word)) != 32)
        return NULL;
    LLVMValueRef sign = LLVMGetOperand(sum, 1);
    bool same = operand_of(sign, LLVMLShr) == word && LLVMIsAConstantInt(LLVMGetOperand(sign, 1));
    return same && LLVMConstIntGetZExtValue(LLVMGetOperand(sign, 1)) == 31 ? word : NULL;
}

/* The word of |f32(i32(w + (w >> 31)))| * (2^-31 - 2^-55), or NULL. */
static LLVMValueRef word_of(LLVMValueRef number)
{
    LLVMValueRef magnitude = operand_of(number, LLVMFMul);
    LLVMValueRef factor = magnitude ? LLVMGetOperand(number, 1) : NULL;
    LLVMBool inexact;
    if (!factor || !LLVMIsAConstantFP(factor) || LLVMConstRealGetDouble(factor, &inexact) != 0x1.fffffep-32)
        return NULL;
    LLVMValueRef rounded = operand_of(magnitude, LLVMCall);
    if (!rounded || LLVMGetIntrinsicID(LLVMGetCalledValue(magnitude)) != LLVMLookupIntrinsicID("llvm.fabs", 9))
        return NULL;
    LLVMValueRef sum = operand_of(rounded, LLVMSIToFP);
    return sum ? word_of_sum(sum) : NULL;
}

/* Which n reach a bound: those from `least` on, or none. */
struct reach {
    LLVMValueRef any, least;
};

/* The least n that rounds to more than a number from 0 on, below 2^31: one behind the middle between that and the next
 * f32, or the middle where it goes up, to an even mantissa. */
static LLVMValueRef least_above(struct lowering *l, LLVMValueRef bits)
{
    LLVMBuilderRef b = l->builder;
    LLVMValueRef one = value_i32(l, 1), unit = value_i32(l, BIAS + MANTISSA + 1);
    LLVMValueRef whole = LLVMBuildFPToSI(b, LLVMBuildBitCast(b, bits, l->f32, ""), l->i32, "");
    LLVMValueRef exponent = LLVMBuildLShr(b, bits, value_i32(l, MANTISSA), "");
    LLVMValueRef half = LLVMBuildShl(b, one, LLVMBuildSub(b, exponent, unit, ""), "");
    LLVMValueRef odd = LLVMBuildAnd(b, bits, one, "");
    LLVMValueRef step = LLVMBuildSub(b, LLVMBuildAdd(b, half, one, ""), odd, "");
    LLVMValueRef is_wide = LLVMBuildICmp(b, LLVMIntUGE, exponent, unit, "");
    return LLVMBuildAdd(b, whole, LLVMBuildSelect(b, is_wide, step, one, ""), "");
}

/* Of numbers >= the bound; or > it (`above`): >= the next f32. */
static struct reach reach_of(struct lowering *l, LLVMValueRef bound, bool above)
{
    LLVMBuilderRef b = l->builder;
    LLVMValueRef zero = LLVMConstReal(l->f32, 0), first = value_i32(l, 0);
    LLVMValueRef scaled = LLVMBuildFMul(b, bound, LLVMConstReal(l->f32, 0x1p31), "");
    LLVMValueRef bits = LLVMBuildAnd(b, LLVMBuildBitCast(b, scaled, l->i32, ""), value_i32(l, INT32_MAX), "");
    if (above)
        bits = LLVMBuildAdd(b, bits, value_i32(l, 1), "");
    LLVMValueRef is_small = LLVMBuildICmp(b, LLVMIntULT, bits, value_i32(l, (BIAS + 31) << MANTISSA), "");
    LLVMValueRef is_positive = LLVMBuildFCmp(b, above ? LLVMRealOGE : LLVMRealOGT, bound, zero, "");
    LLVMValueRef some = LLVMBuildAnd(b, is_positive, is_small, "");
    LLVMValueRef least = least_above(l, LLVMBuildSelect(b, some, bits, first, ""));
    return (struct reach){.any = LLVMBuildOr(b, some, LLVMBuildFCmp(b, LLVMRealOLE, bound, zero, ""), ""),
                          .least = LLVMBuildSelect(b, some, least, first, "")};
}

static bool is_uniform(struct lowering *l, const struct ir_value *number, LLVMValueRef *words)
{
    for (int i = 0; i < value_registers(number->type); i++)
        if (!(words[i] = word_of(value_register(l, number, i))))
            return false;
    return true;
}

bool lower_compare_uniform(struct lowering *l, const struct ir_operation *operation, enum ir_predicate predicate,
                           LLVMValueRef *out)
{
    const struct ir_value *number = operation->operands[0], *bound = operation->operands[1];
    LLVMBuilderRef b = l->builder;
    int count = value_registers(number->type);
    bool is_bound = bound->definition && bound->definition->opcode == OP_SPLAT && !number->uses->next;
    if (number->type->element != IR_F32 || count < LEAST_NUMBERS || count >= TOO_MANY_NUMBERS || !is_bound ||
        predicate == IR_PREDICATE_EQ || predicate == IR_PREDICATE_NE || !is_uniform(l, number, out))
        return false;
    bool above = predicate == IR_PREDICATE_GT || predicate == IR_PREDICATE_LE;
    bool below = predicate == IR_PREDICATE_LT || predicate == IR_PREDICATE_LE;
    LLVMValueRef limit = value_register(l, bound, 0);
    struct reach reach = reach_of(l, limit, above);
    /* Where none reaches it, 0 is compared with 1; with 0 where none is below either, as below NaN. */
    LLVMValueRef most = LLVMBuildSExt(b, reach.any, l->i32, ""), other = value_i32(l, 1);
    if (below)
        other = LLVMBuildZExt(b, LLVMBuildFCmp(b, LLVMRealORD, limit, limit, ""), l->i32, "");
    LLVMValueRef smaller = LLVMBuildSelect(b, reach.any, LLVMBuildShl(b, reach.least, value_i32(l, 1), ""), other, "");
    for (int i = 0; i < count; i++) {
        LLVMValueRef place[2] = {LLVMBuildAdd(b, out[i], reach.least, ""), most};
        place[0] = value_intrinsic(l, "llvm.umin", l->i32, place, 2);
        out[i] = LLVMBuildICmp(b, below ? LLVMIntULT : LLVMIntUGE, place[0], smaller, "");
    }
    return true;
}
