/* Division of many f32 numbers by one, as a row by its sum.  The reciprocal of the divisor is made once.  There are
 * two ways; both test all numbers of a thread, and a thread that fails the test divides in the longer, general way.
 *
 * - Every quotient is rounded right, by Markstein's correction.
 * - Where quotients only become bf16, x is multiplied by a number a little larger than 1/s.  The product is no smaller than x/s
 *   in magnitude, and at most 8 units of f32 larger, so that both round to the same bf16 (x/s by way of an f32) unless a tie
 *   lies at the product or at most 8 units below; the test looks for that.
 *   Where the divisor comes from what the kernel loads, as a row's sum, 1/s itself is taken, whose product lies less than 2 units
 *   from x/s to either side.  That test takes twice as long, but the general way begins with the same products, and a thread
 *   that holds a row is short of registers. */
#include "targets/nvptx/thread/divide.h"

#include "ir/query.h"

static LLVMValueRef fma_f32(struct lowering *l, LLVMValueRef a, LLVMValueRef b, LLVMValueRef c)
{
    LLVMValueRef arguments[3] = {a, b, c};
    return value_intrinsic(l, "llvm.fma", l->f32, arguments, 3);
}

static LLVMValueRef number_f32(const struct lowering *l, double number) { return LLVMConstReal(l->f32, number); }

/* Whether the short division below is right for a divisor: 2^-20 to 2^40, mantissa not all ones. */
static LLVMValueRef good_divisor(struct lowering *l, LLVMValueRef divisor)
{
    LLVMBuilderRef b = l->builder;
    LLVMValueRef bits = LLVMBuildBitCast(b, divisor, l->i32, "");
    LLVMValueRef magnitude = LLVMBuildAnd(b, bits, value_i32(l, 0x7fffffff), "");
    LLVMValueRef above = LLVMBuildSub(b, magnitude, value_i32(l, (127 - 20) << 23), "");
    LLVMValueRef good = LLVMBuildICmp(b, LLVMIntULT, above, value_i32(l, 60 << 23), "");
    LLVMValueRef mantissa = LLVMBuildAnd(b, bits, value_i32(l, 0x7fffff), "");
    return LLVMBuildAnd(b, good, LLVMBuildICmp(b, LLVMIntNE, mantissa, value_i32(l, 0x7fffff), ""), "");
}

/* And for numbers: all 0, or from 2^-84 to 2^84 in magnitude.  Told by full-rate operations alone: x 2^44 overflows
 * above, and x 2^-66 loses bits below (some above 2^-84 do, too; they are divided the long way for nothing). */
static LLVMValueRef good_dividends(struct lowering *l, const struct ir_value *dividend, int count)
{
    LLVMBuilderRef b = l->builder;
    LLVMValueRef large = number_f32(l, 0.0), lost = number_f32(l, 0.0);
    for (int i = 0; i < count; i++) {
        LLVMValueRef x = value_register(l, dividend, i);
        large = fma_f32(l, x, number_f32(l, 0x1p44), large);
        LLVMValueRef small = LLVMBuildFMul(b, x, number_f32(l, 0x1p-66), "");
        LLVMValueRef rest = fma_f32(l, small, number_f32(l, 0x1p66), LLVMBuildFNeg(b, x, ""));
        lost = LLVMBuildFAdd(b, lost, value_intrinsic(l, "llvm.fabs", l->f32, &rest, 1), "");
    }
    LLVMValueRef magnitude = value_intrinsic(l, "llvm.fabs", l->f32, &large, 1);
    LLVMValueRef finite = LLVMBuildFCmp(b, LLVMRealOLT, magnitude, number_f32(l, __builtin_inf()), "");
    return LLVMBuildAnd(b, finite, LLVMBuildFCmp(b, LLVMRealOEQ, lost, number_f32(l, 0.0), ""), "");
}

/* Rounded right: with r = 1/s rounded right, q = x r and e = q s - x (exact), q - e r is x/s rounded
 * right (Markstein 1990), for s > 0 in this order of signs also for x = -0; for s < 0 a quotient of 0 would be +0.
 * Where it might not be, a thread does all its divisions the long way. */
static void divide_right(struct lowering *l, struct ir_operation *operation, LLVMValueRef *out, int count)
{
    LLVMBuilderRef b = l->builder;
    LLVMValueRef divisor = value_register(l, operation->operands[1]->definition->operands[0], 0);
    LLVMValueRef positive = LLVMBuildFCmp(b, LLVMRealOGT, divisor, number_f32(l, 0.0), "");
    LLVMValueRef good = LLVMBuildAnd(b, good_divisor(l, divisor), positive, "");
    good = LLVMBuildAnd(b, good, good_dividends(l, operation->operands[0], count), "");
    LLVMBasicBlockRef fast = value_block(l, "near"), slow = value_block(l, "far"), join = value_block(l, "quotients");
    LLVMValueRef *quotient[2] = {value_array(l, count), value_array(l, count)};
    LLVMBuildCondBr(b, good, fast, slow);
    LLVMPositionBuilderAtEnd(b, fast);
    LLVMValueRef reciprocal = ptx_unary(l, PTX_RCP_F32, l->f32, divisor);
    for (int i = 0; i < count; i++) {
        LLVMValueRef x = value_register(l, operation->operands[0], i);
        LLVMValueRef q = LLVMBuildFMul(b, x, reciprocal, "");
        LLVMValueRef rest = fma_f32(l, q, divisor, LLVMBuildFNeg(b, x, ""));
        quotient[0][i] = fma_f32(l, LLVMBuildFNeg(b, rest, ""), reciprocal, q);
    }
    LLVMBuildBr(b, join);
    LLVMPositionBuilderAtEnd(b, slow);
    for (int i = 0; i < count; i++)
        quotient[1][i] = LLVMBuildFDiv(b, value_register(l, operation->operands[0], i), divisor, "");
    LLVMBuildBr(b, join);
    LLVMPositionBuilderAtEnd(b, join);
    LLVMBasicBlockRef blocks[2] = {fast, slow};
    for (int i = 0; i < count; i++) {
        LLVMValueRef values[2] = {quotient[0][i], quotient[1][i]};
        out[i] = LLVMBuildPhi(b, l->f32, "");
        LLVMAddIncoming(out[i], values, blocks, 2);
    }
}

/* ---- quotients that become bf16 ---- */

/* Also where something else may be chosen in its place. */
static bool becomes_bf16(const struct ir_value *quotient)
{
    for (const struct ir_use *use = quotient->uses; use; use = use->next) {
        const struct ir_operation *user = use->user;
        if (user->opcode == OP_SELECT ? !becomes_bf16(user->results[0])
                                      : user->opcode != OP_CAST || user->results[0]->type->element != IR_BF16 ||
                                            ir_attribute(user, IR_ATTRIBUTE_ROUND))
            return false;
    }
    return quotient->uses != NULL;
}

/* A bf16 is the upper half of an f32, and a tie has 0x8000 in the lower half, in subnormal numbers, too.  As a number with a
 * sign that is the least one, so that the least of all lower halves tells; in upper halves stands what nobody asks for. */
static LLVMValueRef behind_no_tie(struct lowering *l, const LLVMValueRef *product, int count)
{
    LLVMBuilderRef b = l->builder;
    LLVMValueRef least = value_i32(l, 0);
    for (int i = 0; i + 1 < count; i += 2) {
        LLVMValueRef arguments[3] = {LLVMBuildBitCast(b, product[i], l->i32, ""),
                                     LLVMBuildBitCast(b, product[i + 1], l->i32, ""), least};
        least = ptx_text(l, "{.reg .b32 both; min.s16x2 both, $1, $2; min.s16x2 $0, both, $3;}", "=r,r,r,r", l->i32,
                         arguments, 3, false);
    }
    LLVMValueRef lower = LLVMBuildShl(b, least, value_i32(l, 16), "");
    return LLVMBuildICmp(b, LLVMIntSGT, lower, value_i32(l, (int64_t)0x80080000), "");
}

/* 1/s as the hardware makes it, which is right to a unit, times 1 + 2^-22: no smaller than 1/s, and larger by 7 2^-24 of it at
 * most.  Its product is no smaller than x/s then, and rounding keeps that: also of subnormal numbers. */
static LLVMValueRef larger_reciprocal(struct lowering *l, LLVMValueRef divisor)
{
    return LLVMBuildFMul(l->builder, ptx_unary(l, PTX_RCP_APPROX, l->f32, divisor), number_f32(l, 0x1.000004p0), "");
}

/* Neither the divisor nor its reciprocal counted as 0 for being subnormal. */
static LLVMValueRef good_reciprocal(struct lowering *l, LLVMValueRef reciprocal)
{
    LLVMBuilderRef b = l->builder;
    LLVMValueRef magnitude = value_intrinsic(l, "llvm.fabs", l->f32, &reciprocal, 1);
    return LLVMBuildAnd(b, LLVMBuildFCmp(b, LLVMRealOGE, magnitude, number_f32(l, 0x1p-125), ""),
                        LLVMBuildFCmp(b, LLVMRealOLE, magnitude, number_f32(l, 0x1p125), ""), "");
}

/* Whether all lower halves are further than 2 units from a tie: two to a register, of each the least of what it is above
 * 0x7ffe. */
static LLVMValueRef far_from_ties(struct lowering *l, const LLVMValueRef *quotient, int count)
{
    LLVMBuilderRef b = l->builder;
    LLVMValueRef least = value_i32(l, 0xffffffff);
    for (int i = 0; i + 1 < count; i += 2) {
        LLVMValueRef arguments[4] = {LLVMBuildBitCast(b, quotient[i], l->i32, ""),
                                     LLVMBuildBitCast(b, quotient[i + 1], l->i32, ""), least, value_i32(l, 0x80028002)};
        least = ptx_text(l,
                         "{.reg .b32 halves; prmt.b32 halves, $1, $2, 0x5410; "
                         "add.u16x2 halves, halves, $4; min.u16x2 $0, halves, $3;}",
                         "=r,r,r,r,r", l->i32, arguments, 4, false);
    }
    LLVMValueRef high = LLVMBuildLShr(b, least, value_i32(l, 16), "");
    LLVMValueRef low = LLVMBuildAnd(b, least, value_i32(l, 0xffff), "");
    return LLVMBuildAnd(b, LLVMBuildICmp(b, LLVMIntUGT, high, value_i32(l, 4), ""),
                        LLVMBuildICmp(b, LLVMIntUGT, low, value_i32(l, 4), ""), "");
}

/* Computed from arguments of the kernel and numbers alone, in few steps. */
static bool is_given(const struct ir_value *scalar, int steps)
{
    const struct ir_operation *op = scalar->definition;
    if (!op || op->opcode == OP_CONSTANT)
        return op || !scalar->block->parent;
    for (int i = 0; i < op->operand_count; i++)
        if (steps == 0 || !ir_has_trait(op, IR_TRAIT_ELEMENTWISE) || !is_given(op->operands[i], steps - 1))
            return false;
    return op->operand_count > 0;
}

enum { MOST_STEPS = 4 };

static void divide_for_bf16(struct lowering *l, struct ir_operation *operation, LLVMValueRef *out, int count)
{
    LLVMBuilderRef b = l->builder;
    const struct ir_value *scalar = operation->operands[1]->definition->operands[0];
    LLVMValueRef divisor = value_register(l, scalar, 0);
    bool larger = is_given(scalar, MOST_STEPS);
    LLVMValueRef reciprocal = larger ? larger_reciprocal(l, divisor) : ptx_unary(l, PTX_RCP_F32, l->f32, divisor);
    LLVMValueRef *near = value_array(l, count), *right = value_array(l, count);
    for (int i = 0; i < count; i++)
        near[i] = LLVMBuildFMul(b, value_register(l, operation->operands[0], i), reciprocal, "");
    LLVMValueRef able = larger ? good_reciprocal(l, reciprocal) : NULL;
    LLVMValueRef apart = larger ? behind_no_tie(l, near, count) : far_from_ties(l, near, count);
    LLVMValueRef good = LLVMBuildAnd(b, larger ? able : good_divisor(l, divisor), apart, "");
    LLVMBasicBlockRef start = LLVMGetInsertBlock(b), again = value_block(l, "ties"), join = value_block(l, "rounded");
    LLVMBuildCondBr(b, good, join, again);
    LLVMPositionBuilderAtEnd(b, again);
    divide_right(l, operation, right, count);
    LLVMBasicBlockRef blocks[2] = {start, LLVMGetInsertBlock(b)};
    LLVMBuildBr(b, join);
    LLVMPositionBuilderAtEnd(b, join);
    for (int i = 0; i < count; i++) {
        LLVMValueRef values[2] = {near[i], right[i]};
        out[i] = LLVMBuildPhi(b, l->f32, "");
        LLVMAddIncoming(out[i], values, blocks, 2);
    }
}

bool divide_has_one_divisor(const struct ir_operation *operation)
{
    const struct ir_value *divisor = operation->operands[operation->operand_count - 1];
    return operation->opcode == OP_DIV && operation->results[0]->type->element == IR_F32 && divisor->definition &&
           divisor->definition->opcode == OP_SPLAT;
}

/* The last bits do not matter: products with the reciprocal.  Where that is no normal number a thread divides the way that
 * one quotient alone is made. */
static void divide_near(struct lowering *l, struct ir_operation *operation, LLVMValueRef *out, int count)
{
    LLVMBuilderRef b = l->builder;
    LLVMValueRef divisor = value_register(l, operation->operands[1]->definition->operands[0], 0);
    LLVMValueRef reciprocal = ptx_unary(l, PTX_RCP_APPROX, l->f32, divisor);
    LLVMBasicBlockRef blocks[2] = {LLVMGetInsertBlock(b), value_block(l, "far")}, join = value_block(l, "quotients");
    LLVMValueRef *quotient[2] = {value_array(l, count), value_array(l, count)};
    for (int i = 0; i < count; i++)
        quotient[0][i] = LLVMBuildFMul(b, value_register(l, operation->operands[0], i), reciprocal, "");
    LLVMBuildCondBr(b, good_reciprocal(l, reciprocal), join, blocks[1]);
    LLVMPositionBuilderAtEnd(b, blocks[1]);
    for (int i = 0; i < count; i++) {
        LLVMValueRef arguments[2] = {value_register(l, operation->operands[0], i), divisor};
        quotient[1][i] = ptx_emit(l, PTX_DIV_FULL, l->f32, arguments, 2, NULL);
    }
    LLVMBuildBr(b, join);
    LLVMPositionBuilderAtEnd(b, join);
    for (int i = 0; i < count; i++) {
        LLVMValueRef values[2] = {quotient[0][i], quotient[1][i]};
        out[i] = LLVMBuildPhi(b, l->f32, "");
        LLVMAddIncoming(out[i], values, blocks, 2);
    }
}

void divide_all(struct lowering *l, struct ir_operation *operation, LLVMValueRef *out, int count)
{
    if (ir_number(operation, IR_ATTRIBUTE_NEAR, 0))
        divide_near(l, operation, out, count);
    else if (l->row->major >= 9 && count % 2 == 0 && becomes_bf16(operation->results[0]))
        divide_for_bf16(l, operation, out, count);
    else
        divide_right(l, operation, out, count);
}
