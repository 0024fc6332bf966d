/* Arithmetic, element by element, with the meaning ops.def gives: of integers as targets/common/integer.h makes it; min and
 * max of floats skip NaN unless told.  f16 and bf16 go through f32 where that rounds once (add, sub, mul, div); their fma
 * is the machine's own. */
#include "base/plant.h"
#include "targets/common/combine.h"
#include "targets/common/integer.h"
#include "targets/common/intrinsic.h"
#include "targets/nvptx/thread/divide.h"
#include "targets/nvptx/thread/memory.h"
#include "targets/nvptx/thread/thread.h"

enum { FIRST_WITH_BF16X2 = 9 /* compute capability */ };

static LLVMValueRef contract(struct lowering *l, LLVMValueRef value)
{
    bool rounded = l->operation && ir_number(l->operation, IR_ATTRIBUTE_ROUNDED, 0) != 0;
    if (!rounded && !l->function->strict_fp && !l->options->strict_fp && LLVMIsAInstruction(value) &&
        LLVMCanValueUseFastMathFlags(value))
        LLVMSetFastMathFlags(value, LLVMFastMathAllowContract);
    return value;
}

/* Floats that are computed in f32. */
static bool computes_in_f32(enum ir_element element)
{
    return ir_is_float(element) && element != IR_F32 && element != IR_F64;
}

/* Floats: the machine's min skips NaN and orders the zeros.  f64 has the instruction too; NaN is put back where asked.
 */
static LLVMValueRef float_extreme(struct lowering *l, bool least, enum ir_element element, bool nan, LLVMValueRef a,
                                  LLVMValueRef b)
{
    LLVMBuilderRef builder = l->builder;
    LLVMValueRef arguments[2] = {a, b};
    bool f64 = element == IR_F64;
    if (!f64 && nan && l->row->major >= 8)
        return ptx_emit(l, least ? PTX_MIN_NAN_F32 : PTX_MAX_NAN_F32, l->f32, arguments, 2, NULL);
    enum ptx_row row = f64 ? (least ? PTX_MIN_F64 : PTX_MAX_F64) : (least ? PTX_MIN_F32 : PTX_MAX_F32);
    LLVMValueRef result = ptx_emit(l, row, f64 ? l->f64 : l->f32, arguments, 2, NULL);
    if (!nan)
        return result;
    LLVMValueRef unordered = LLVMBuildFCmp(builder, LLVMRealUNO, a, b, "");
    LLVMValueRef quiet = LLVMConstReal(LLVMTypeOf(a), __builtin_nan(""));
    return LLVMBuildSelect(builder, unordered, quiet, result, "");
}

static LLVMValueRef float_binary(struct lowering *l, enum ir_opcode opcode, enum ir_element element, bool nan,
                                 LLVMValueRef a, LLVMValueRef b)
{
    LLVMBuilderRef builder = l->builder;
    switch (opcode) {
    case OP_ADD: return contract(l, LLVMBuildFAdd(builder, a, b, ""));
    case OP_SUB: return contract(l, LLVMBuildFSub(builder, a, b, ""));
    case OP_MUL: return contract(l, LLVMBuildFMul(builder, a, b, ""));
    case OP_DIV:
        if (element == IR_F64 || !l->operation || !ir_number(l->operation, IR_ATTRIBUTE_NEAR, 0))
            return LLVMBuildFDiv(builder, a, b, "");
        return ptx_emit(l, PTX_DIV_FULL, l->f32, (LLVMValueRef[]){a, b}, 2, NULL);
    case OP_REM: return lower_float_remainder(l, a, b);
    case OP_MIN: return float_extreme(l, true, element, nan, a, b);
    case OP_MAX: return float_extreme(l, false, element, nan, a, b);
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

/* What min and max chose keeps its bits, infinity too, which a cast would bring to the largest finite number.
 * The upper byte of f16, in which f32 that came from e5m2 is exact. */
static LLVMValueRef chosen_e5m2(struct lowering *l, LLVMValueRef f32)
{
    LLVMBuilderRef b = l->builder;
    LLVMValueRef half = LLVMBuildBitCast(b, LLVMBuildFPTrunc(b, f32, l->f16, ""), l->i16, "");
    return LLVMBuildTrunc(b, LLVMBuildLShr(b, half, LLVMConstInt(l->i16, 8, false), ""), l->i8, "");
}

static LLVMValueRef binary(struct lowering *l, enum ir_opcode opcode, enum ir_element element, bool nan, LLVMValueRef a,
                           LLVMValueRef b)
{
    if (!ir_is_float(element))
        return integer_binary(l->builder, opcode, element, a, b);
    if (!computes_in_f32(element))
        return float_binary(l, opcode, element, nan, a, b);
    LLVMValueRef result = float_binary(l, opcode, IR_F32, nan, cast_to_f32(l, element, a), cast_to_f32(l, element, b));
    if (element == IR_F8E5M2 && (opcode == OP_MIN || opcode == OP_MAX))
        return chosen_e5m2(l, result);
    return cast_value(l, IR_F32, element, result, IR_ROUND_RTNE, false);
}

LLVMValueRef arithmetic_combine(struct lowering *l, enum ir_reduce_kind kind, enum ir_element element, bool nan,
                                LLVMValueRef a, LLVMValueRef b)
{
    return binary(l, combine_opcode(kind), element, nan, a, b);
}

/* bf16 before sm_80: the product is exact in f64; the sum is made odd when it is not exact, so that the one rounding
 * that follows is right (Boldo and Melquiond, "Emulation of FMA and correctly rounded sums: proved algorithms using
 * rounding to odd"). */
static LLVMValueRef fma_bf16_by_f64(struct lowering *l, LLVMValueRef a, LLVMValueRef b, LLVMValueRef c)
{
    LLVMBuilderRef builder = l->builder;
    LLVMValueRef x = LLVMBuildFPExt(builder, cast_to_f32(l, IR_BF16, a), l->f64, "");
    LLVMValueRef y = LLVMBuildFPExt(builder, cast_to_f32(l, IR_BF16, b), l->f64, "");
    LLVMValueRef z = LLVMBuildFPExt(builder, cast_to_f32(l, IR_BF16, c), l->f64, "");
    LLVMValueRef product = LLVMBuildFMul(builder, x, y, "");
    LLVMValueRef arguments[2] = {product, z};
    LLVMValueRef down = ptx_emit(l, PTX_ADD_RZ_F64, l->f64, arguments, 2, NULL);
    LLVMValueRef sum = LLVMBuildFAdd(builder, product, z, "");
    /* Inexact exactly when the two-sum error of the rounded sum is not zero. */
    LLVMValueRef part = LLVMBuildFSub(builder, sum, product, "");
    LLVMValueRef error = LLVMBuildFAdd(builder,
                                       LLVMBuildFSub(builder, product, LLVMBuildFSub(builder, sum, part, ""), ""),
                                       LLVMBuildFSub(builder, z, part, ""), "");
    LLVMValueRef inexact = LLVMBuildFCmp(builder, LLVMRealONE, error, LLVMConstReal(l->f64, 0.0), "");
    LLVMValueRef bits = LLVMBuildBitCast(builder, down, l->i64, "");
    bits = LLVMBuildOr(builder, bits, LLVMBuildZExt(builder, inexact, l->i64, ""), "");
    return cast_value(l, IR_F64, IR_BF16, LLVMBuildBitCast(builder, bits, l->f64, ""), IR_ROUND_RTNE, false);
}

static LLVMValueRef fused(struct lowering *l, enum ir_element element, LLVMValueRef a, LLVMValueRef b, LLVMValueRef c)
{
    LLVMBuilderRef builder = l->builder;
    if (!ir_is_float(element))
        return LLVMBuildAdd(builder, LLVMBuildMul(builder, a, b, ""), c, "");
    LLVMValueRef arguments[3] = {a, b, c};
    if (element == IR_BF16)
        return l->row->flags & TARGET_BF16 ? ptx_emit(l, PTX_FMA_BF16, l->i16, arguments, 3, NULL)
                                           : fma_bf16_by_f64(l, a, b, c);
    if (element == IR_F16 || element == IR_F32 || element == IR_F64)
        return value_intrinsic(l, "llvm.fma", lower_value_type(l, element), arguments, 3);
    for (int i = 0; i < 3; i++)
        arguments[i] = cast_to_f32(l, element, arguments[i]);
    LLVMValueRef wide = value_intrinsic(l, "llvm.fma", l->f32, arguments, 3);
    return cast_value(l, IR_F32, element, wide, IR_ROUND_RTNE, false);
}

static LLVMValueRef sign_mask(struct lowering *l, enum ir_element element)
{
    int bits = ir_element_info[element].bits;
    LLVMTypeRef type = bits == 8 ? l->i8 : bits == 16 ? l->i16 : bits == 32 ? l->i32 : l->i64;
    return LLVMConstInt(type, 1ULL << (bits - 1), false);
}

static LLVMValueRef unary(struct lowering *l, enum ir_opcode opcode, enum ir_element element, LLVMValueRef a)
{
    LLVMBuilderRef b = l->builder;
    if (ir_is_float(element)) {
        if (element == IR_F32 || element == IR_F64) {
            if (opcode == OP_NEG)
                return LLVMBuildFNeg(b, a, "");
            return value_intrinsic(l, "llvm.fabs", LLVMTypeOf(a), &a, 1);
        }
        LLVMValueRef bits = value_to_bits(l, element, a), mask = sign_mask(l, element);
        bits = opcode == OP_NEG ? LLVMBuildXor(b, bits, mask, "")
                                : LLVMBuildAnd(b, bits, LLVMBuildNot(b, mask, ""), "");
        return value_from_bits(l, element, bits);
    }
    LLVMValueRef flags[2] = {a, value_i1(l, false)};
    switch (opcode) {
    case OP_NEG: return LLVMBuildNeg(b, a, "");
    case OP_NOT: return LLVMBuildNot(b, a, "");
    case OP_ABS: return ir_is_signed(element) ? value_intrinsic(l, "llvm.abs", LLVMTypeOf(a), flags, 2) : a;
    default: die("%s of one integer", ir_op_info[opcode].text);
    }
}

/* What LLVM has as an intrinsic. */
static LLVMValueRef intrinsic(struct lowering *l, enum ir_opcode opcode, enum ir_element element,
                              const LLVMValueRef *operands)
{
    bool in_f32 = computes_in_f32(element);
    LLVMValueRef wide[3];
    for (int i = 0; i < ir_op_info[opcode].least; i++)
        wide[i] = in_f32 ? cast_to_f32(l, element, operands[i]) : operands[i];
    LLVMValueRef result = intrinsic_call(l->module, l->builder, opcode, element, wide);
    return in_f32 ? cast_value(l, IR_F32, element, result, IR_ROUND_RTNE, false) : result;
}

/* One register of the result. */
static LLVMValueRef compute(struct lowering *l, enum ir_opcode opcode, enum ir_element element, bool nan,
                            const LLVMValueRef *operands)
{
    switch (opcode) {
    case OP_SELECT: return LLVMBuildSelect(l->builder, operands[0], operands[1], operands[2], "");
    case OP_FMA: return fused(l, element, operands[0], operands[1], operands[2]);
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
    case OP_MULHI: return binary(l, opcode, element, nan, operands[0], operands[1]);
    case OP_NEG:
    case OP_ABS:
    case OP_NOT: return unary(l, opcode, element, operands[0]);
#define OP(...)
#define ARITHMETIC(...)
#define INTRINSIC(id, ...) case OP_##id:
#include "ir/ops.def"
        return intrinsic(l, opcode, element, operands);
    case OP_COMPARE:
    case OP_CAST:
    case OP_BITCAST:
    case OP_MATH:
    case OP_POINTER_ADD:
#define OP(id, ...) case OP_##id:
#define PER_ELEMENT(...)
#include "ir/ops.def"
    case OP_COUNT: break;
    }
    die("%s of one register", ir_op_info[opcode].text);
}

static LLVMValueRef compare(struct lowering *l, enum ir_predicate predicate, enum ir_element element, LLVMValueRef a,
                            LLVMValueRef b)
{
    static const LLVMRealPredicate real[] = {
        [IR_PREDICATE_EQ] = LLVMRealOEQ, [IR_PREDICATE_NE] = LLVMRealUNE, [IR_PREDICATE_LT] = LLVMRealOLT,
        [IR_PREDICATE_LE] = LLVMRealOLE, [IR_PREDICATE_GT] = LLVMRealOGT, [IR_PREDICATE_GE] = LLVMRealOGE};
    static const LLVMIntPredicate sign[] = {
        [IR_PREDICATE_EQ] = LLVMIntEQ,  [IR_PREDICATE_NE] = LLVMIntNE,  [IR_PREDICATE_LT] = LLVMIntSLT,
        [IR_PREDICATE_LE] = LLVMIntSLE, [IR_PREDICATE_GT] = LLVMIntSGT, [IR_PREDICATE_GE] = LLVMIntSGE};
    static const LLVMIntPredicate plain[] = {
        [IR_PREDICATE_EQ] = LLVMIntEQ,  [IR_PREDICATE_NE] = LLVMIntNE,  [IR_PREDICATE_LT] = LLVMIntULT,
        [IR_PREDICATE_LE] = LLVMIntULE, [IR_PREDICATE_GT] = LLVMIntUGT, [IR_PREDICATE_GE] = LLVMIntUGE};
    if (ir_is_float(element)) {
        if (computes_in_f32(element))
            a = cast_to_f32(l, element, a), b = cast_to_f32(l, element, b);
        return LLVMBuildFCmp(l->builder, real[predicate], a, b, "");
    }
    return LLVMBuildICmp(l->builder, ir_is_signed(element) ? sign[predicate] : plain[predicate], a, b, "");
}

/* Both far enough from the ends of i32 that their difference is in it. */
static bool is_near_zero(const struct lowering *l, const struct ir_value *value)
{
    struct range range = range_of(l->ranges, value);
    int part = PLANTED(nvptx_far_places_compared) ? 1 : 2;
    return range.low > INT32_MIN / part && range.high < INT32_MAX / part;
}

/* Where a is a thread's place plus a number of the register, as in x + 8 < b: 8 < b - x, which has no sum for each
 * register.  The difference is merged by LLVM. */
static void compare_places(struct lowering *l, LLVMValueRef *a, LLVMValueRef *b)
{
    bool is_sum = LLVMIsAInstruction(*a) && LLVMGetInstructionOpcode(*a) == LLVMAdd;
    if (!is_sum || !LLVMIsAConstantInt(LLVMGetOperand(*a, 1)))
        return;
    *b = LLVMBuildSub(l->builder, *b, LLVMGetOperand(*a, 0), "");
    *a = LLVMGetOperand(*a, 1);
}

void lower_compare(struct lowering *l, struct ir_operation *operation)
{
    const struct ir_value *first = operation->operands[0], *second = operation->operands[1];
    enum ir_predicate predicate = (enum ir_predicate)ir_number(operation, IR_ATTRIBUTE_PREDICATE, IR_PREDICATE_EQ);
    LLVMValueRef *out = value_define(l, operation->results[0]);
    if (lower_compare_uniform(l, operation, predicate, out))
        return;
    bool places = first->type->element == IR_I32 && is_near_zero(l, first) && is_near_zero(l, second);
    for (int i = 0; i < value_registers(operation->results[0]->type); i++) {
        LLVMValueRef a = value_register(l, first, i), b = value_register(l, second, i);
        if (places)
            compare_places(l, &a, &b);
        out[i] = compare(l, predicate, first->type->element, a, b);
    }
}

/* Tiles of registers that end here: used by the operation alone. */
static int tiles_that_end(const struct ir_operation *operation)
{
    int count = 0;
    for (int i = 0; i < operation->operand_count; i++) {
        const struct ir_value *operand = operation->operands[i];
        count += operand->definition && value_registers(operand->type) > 1 && !operand->uses->next &&
                 operand->definition->opcode != OP_CONSTANT && operand->definition->opcode != OP_SPLAT &&
                 operand->definition->opcode != OP_IOTA && operand->definition->opcode != OP_BROADCAST;
    }
    return count;
}

/* Makes one wide tile of two or three, for somebody behind a load.  Where that load's vectors are whole or not LLVM
 * sees a block of its own, and would put the work off behind it: two tiles would wait in registers instead of one. */
static bool makes_room_for_load(const struct ir_operation *operation)
{
    enum { NEAR = 64, MANY = 8 };
    const struct ir_use *use = operation->results[0]->uses;
    bool loads = false;
    if (value_registers(operation->results[0]->type) < MANY || !use || use->next ||
        use->user->block != operation->block || tiles_that_end(operation) < 2)
        return false;
    const struct ir_operation *at = operation->next;
    for (int i = 0; i < NEAR && at != use->user; i++, at = at->next)
        loads |= at->opcode == OP_LOAD;
    return loads && at == use->user;
}

/* Has the value computed here: an empty text that asks for it. */
static LLVMValueRef compute_here(struct lowering *l, enum ir_element element, LLVMValueRef value)
{
    LLVMValueRef bits = value_to_bits(l, element, value);
    unsigned width = LLVMGetIntTypeWidth(LLVMTypeOf(bits));
    if (width < 16)
        return value;
    const char *constraints = width == 64 ? "=l,0" : width == 32 ? "=r,0" : "=h,0";
    return value_from_bits(l, element, ptx_text(l, "", constraints, LLVMTypeOf(bits), &bits, 1, true));
}

/* Two at a time by the machine's own instruction, whose operands are words already where halves came together. */
static void binary_bf16_pairs(struct lowering *l, const struct ir_operation *operation, LLVMValueRef *out, int count)
{
    const char *word = operation->opcode == OP_ADD ? "add" : operation->opcode == OP_SUB ? "sub" : "mul";
    struct memory_shape shape = memory_shape(IR_BF16, 2);
    for (int i = 0; i < count; i += 2) {
        LLVMValueRef operands[2], both;
        for (int o = 0; o < 2; o++) {
            LLVMValueRef halves[2] = {value_register(l, operation->operands[o], i),
                                      value_register(l, operation->operands[o], i + 1)};
            memory_pack(l, IR_BF16, shape, halves, &operands[o]);
        }
        both = ptx_emit(l, PTX_BINARY_BF16X2, l->i32, operands, 2, &word);
        memory_unpack(l, IR_BF16, shape, &both, out + i);
    }
}

/* In f32, rounded two at a time: where the halves go on together they are a word already. */
static void binary_bf16(struct lowering *l, const struct ir_operation *operation, bool nan, LLVMValueRef *out,
                        int count)
{
    bool machine = operation->opcode == OP_ADD || operation->opcode == OP_SUB || operation->opcode == OP_MUL;
    if (machine && count % 2 == 0 && l->row->major >= FIRST_WITH_BF16X2) {
        binary_bf16_pairs(l, operation, out, count);
        return;
    }
    LLVMValueRef *wide = value_array(l, count);
    for (int i = 0; i < count; i++)
        wide[i] = float_binary(l, operation->opcode, IR_F32, nan,
                               cast_to_f32(l, IR_BF16, value_register(l, operation->operands[0], i)),
                               cast_to_f32(l, IR_BF16, value_register(l, operation->operands[1], i)));
    cast_all(l, IR_F32, IR_BF16, wide, out, count);
}

void lower_arithmetic(struct lowering *l, struct ir_operation *operation)
{
    struct ir_value *result = operation->results[0];
    enum ir_element element = result->type->element;
    bool nan = ir_number(operation, IR_ATTRIBUTE_NAN, IR_NAN_SKIP) == IR_NAN_PROPAGATE;
    LLVMValueRef *out = value_define(l, result);
    int count = value_registers(result->type);
    bool makes_room = makes_room_for_load(operation);
    if (count >= 4 && divide_has_one_divisor(operation)) {
        divide_all(l, operation, out, count);
        return;
    }
    bool pairs = element == IR_BF16 && operation->operand_count == 2 && !ir_op_info[operation->opcode].intrinsic;
    if (pairs)
        binary_bf16(l, operation, nan, out, count);
    for (int i = 0; i < count && !pairs; i++) {
        LLVMValueRef a[3] = {0};
        for (int o = 0; o < operation->operand_count && o < 3; o++)
            a[o] = value_register(l, operation->operands[o], i);
        out[i] = compute(l, operation->opcode, element, nan, a);
    }
    for (int i = 0; i < count && makes_room; i++)
        out[i] = compute_here(l, element, out[i]);
}
