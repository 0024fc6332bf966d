/* Words of mma.sync out of the factors' words.  See mma_form.h. */
#include "targets/nvptx/lower/mma_form.h"

#include <float.h>

#include "base/plant.h"
#include "targets/product_choice.h"

static const struct mma_words as_it_is[] = {{1, {{MMA_AS_IT_IS}, {MMA_AS_IT_IS}}}};
static const struct mma_words nearest[] = {{1, {{MMA_NEAREST}, {MMA_NEAREST}}}};
/* Small sums first. */
static const struct mma_words three[] = {
    {1, {{MMA_LOW}, {MMA_FINITE}}}, {1, {{MMA_FINITE}, {MMA_LOW}}}, {1, {{MMA_HIGH}, {MMA_HIGH}}}};
static const struct mma_words halves[] = {{2, {{MMA_EVEN, MMA_ODD}, {MMA_EVEN, MMA_ODD}}}};
static const struct mma_words quarters[] = {{1, {{MMA_EVEN}, {MMA_EVEN}}}, {1, {{MMA_ODD}, {MMA_ODD}}}};

static const char *type_name(enum ir_element element)
{
    switch (element) {
    case IR_BF16: return "bf16";
    case IR_F16: return "f16";
    case IR_F8E4M3: return "e4m3";
    case IR_F8E5M2: return "e5m2";
    case IR_I8: return "s8";
    case IR_U8: return "u8";
    case IR_F32: return "tf32";
    case IR_F64: return "f64";
    default: die("no tensor core takes %s", ir_element_info[element].text);
    }
}

struct mma_instruction mma_form_choose(struct lowering *l, const struct ir_operation *operation)
{
    struct product product = product_of(operation);
    struct product_shape shape = product_shape(l->row, &product, IR_INSTRUCTION_MMA);
    if (shape.m < 8)
        die("mma of %s and %s", ir_element_info[product.a].text, ir_element_info[product.b].text);
    int bytes = value_bytes(product.a), word = bytes == 8 ? 8 : 16 / bytes;
    struct mma_instruction by = {false,
                                 shape.m == 8,
                                 shape.k,
                                 shape.k < word ? word : shape.k,
                                 1,
                                 as_it_is,
                                 type_name(product.a),
                                 type_name(product.b),
                                 product.accumulator == IR_I32   ? "s32"
                                 : product.accumulator == IR_F64 ? "f64"
                                                                 : "f32"};
    if (shape.by != product.a) {
        by.a = by.b = type_name(shape.by);
        by.words = shape.k == 16 ? halves : quarters;
        by.count = shape.k == 16 ? 1 : 2;
    } else if (product.a == IR_F32) {
        by.apart = product.precision == IR_PRECISION_TF32X3;
        by.words = by.apart ? three : nearest;
        by.count = by.apart ? 3 : 1;
    }
    return by;
}

static LLVMValueRef cut(struct lowering *l, LLVMValueRef word)
{
    return LLVMBuildAnd(l->builder, word, value_i32(l, ~0x1fff), "");
}

/* tf32 keeps 10 bits of the mantissa, rounded to nearest even; the least bits of an infinity do not carry, those of NaN
 * would. */
static LLVMValueRef round_tf32(struct lowering *l, LLVMValueRef word)
{
    LLVMBuilderRef b = l->builder;
    bool half_up = PLANTED(nvptx_tf32_rounds_half_up);
    if (l->row->major >= 9 && !half_up)
        return ptx_unary(l, PTX_ROUND_TF32, l->i32, LLVMBuildBitCast(b, word, l->f32, ""));
    LLVMValueRef odd = LLVMBuildAnd(b, LLVMBuildLShr(b, word, value_i32(l, 13), ""), value_i32(l, 1), "");
    if (half_up)
        odd = value_i32(l, 1);
    LLVMValueRef sum = LLVMBuildAdd(b, LLVMBuildAdd(b, word, odd, ""), value_i32(l, 0xfff), "");
    LLVMValueRef magnitude = LLVMBuildAnd(b, word, value_i32(l, 0x7fffffff), "");
    LLVMValueRef nan = LLVMBuildICmp(b, LLVMIntUGT, magnitude, value_i32(l, 0x7f800000), "");
    return LLVMBuildSelect(b, nan, value_i32(l, 0x7fffe000), cut(l, sum), "");
}

static LLVMValueRef as_f32(struct lowering *l, LLVMValueRef word)
{
    return LLVMBuildBitCast(l->builder, word, l->f32, "");
}

/* An infinity and NaN as the largest number, anything else as it is: minimum and maximum drop NaN. */
static LLVMValueRef bounded(struct lowering *l, LLVMValueRef word)
{
    LLVMValueRef largest = LLVMConstReal(l->f32, FLT_MAX), bounds[2] = {as_f32(l, word), largest};
    bool by_magnitude = l->row->major > 8 || (l->row->major == 8 && l->row->minor >= 6);
    if (by_magnitude)
        return value_intrinsic(l, "llvm.nvvm.fmin.xorsign.abs.f", NULL, bounds, 2);
    bounds[0] = value_intrinsic(l, "llvm.minnum", l->f32, bounds, 2);
    bounds[1] = LLVMConstReal(l->f32, -FLT_MAX);
    return value_intrinsic(l, "llvm.maxnum", l->f32, bounds, 2);
}

static LLVMValueRef finite_part(struct lowering *l, LLVMValueRef word)
{
    return cut(l, LLVMBuildBitCast(l->builder, bounded(l, word), l->i32, ""));
}

/* What was taken off an infinity or NaN is one again, and 0 of all else: two sums by units that products leave idle, where
 * comparing and choosing would keep those busy that split the words. */
static LLVMValueRef higher_part(struct lowering *l, LLVMValueRef word)
{
    LLVMBuilderRef b = l->builder;
    LLVMValueRef beyond = LLVMBuildFSub(b, as_f32(l, word), bounded(l, word), "");
    return LLVMBuildBitCast(b, LLVMBuildFAdd(b, as_f32(l, finite_part(l, word)), beyond, ""), l->i32, "");
}

/* Rounding the lower part, of 13 bits, up from the middle carries nowhere: it is far below the largest number. */
static LLVMValueRef lower_part(struct lowering *l, LLVMValueRef word)
{
    LLVMBuilderRef b = l->builder;
    LLVMValueRef rest = LLVMBuildFSub(b, bounded(l, word), as_f32(l, finite_part(l, word)), "");
    return cut(l, LLVMBuildAdd(b, LLVMBuildBitCast(b, rest, l->i32, ""), value_i32(l, 0x1000), ""));
}

static LLVMValueRef pair_of(struct lowering *l, double number)
{
    LLVMValueRef both[2] = {LLVMConstReal(l->f16, number), LLVMConstReal(l->f16, number)};
    return LLVMConstVector(both, 2);
}

/* Bytes of e4m3 to f16.  seeeemmm: eeeemmm goes to where f16 has the end of its exponent, and 2^(15 - 7) makes up for
 * the bias; exact for subnormals too.  The largest pattern, and it alone, is NaN: 140 times 480 is beyond f16, 140 times
 * 448 is not, and 0 times infinity is NaN. */
static LLVMValueRef spread_bytes(struct lowering *l, LLVMValueRef word, bool odd)
{
    LLVMBuilderRef b = l->builder;
    LLVMTypeRef pair = LLVMVectorType(l->f16, 2);
    LLVMValueRef sign = odd ? word : LLVMBuildShl(b, word, value_i32(l, 8), "");
    LLVMValueRef rest = odd ? LLVMBuildLShr(b, word, value_i32(l, 1), "") : LLVMBuildShl(b, word, value_i32(l, 7), "");
    LLVMValueRef small = LLVMBuildOr(b, LLVMBuildAnd(b, rest, value_i32(l, 0x3f803f80), ""),
                                     LLVMBuildAnd(b, sign, value_i32(l, 0x80008000), ""), "");
    LLVMValueRef number = LLVMBuildBitCast(b, small, pair, "");
    LLVMValueRef scaled = LLVMBuildFMul(b, number, pair_of(l, 256), "");
    LLVMValueRef beyond = LLVMBuildFMul(b, number, pair_of(l, 256 * 140), "");
    LLVMValueRef parts[3] = {beyond, pair_of(l, 0), scaled};
    return LLVMBuildBitCast(b, value_intrinsic(l, "llvm.fma", pair, parts, 3), l->i32, "");
}

/* e5m2 is f16's upper byte. */
static LLVMValueRef to_f16(struct lowering *l, enum ir_element element, LLVMValueRef word, bool odd)
{
    LLVMBuilderRef b = l->builder;
    if (element == IR_F8E4M3)
        return spread_bytes(l, word, odd);
    if (!odd)
        word = LLVMBuildShl(b, word, value_i32(l, 8), "");
    return LLVMBuildAnd(b, word, value_i32(l, 0xff00ff00), "");
}

LLVMValueRef mma_form_make(struct lowering *l, enum ir_element element, LLVMValueRef word, enum mma_form form)
{
    switch (form) {
    case MMA_NEAREST: return round_tf32(l, word);
    case MMA_HIGH: return higher_part(l, word);
    case MMA_FINITE: return finite_part(l, word);
    case MMA_LOW: return lower_part(l, word);
    case MMA_EVEN: return to_f16(l, element, word, false);
    case MMA_ODD: return to_f16(l, element, word, true);
    default: return word;
    }
}
