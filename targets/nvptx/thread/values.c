/* Registers of tile values as LLVM values: their types, constants, and the table from tile IR to LLVM. */
#include "base/plant.h"
#include "targets/nvptx/thread/thread.h"

#include <string.h>

LLVMTypeRef lower_value_type(const struct lowering *l, enum ir_element element)
{
    switch (element) {
    case IR_BOOL: return l->i1;
    case IR_F16: return l->f16;
    case IR_F32: return l->f32;
    case IR_F64: return l->f64;
    case IR_POINTER: return l->pointer;
    default: break;
    }
    switch (ir_element_info[element].bits) {
    case 8: return l->i8;
    case 16: return l->i16;
    case 32: return l->i32;
    default: return l->i64;
    }
}

int value_bytes(enum ir_element element) { return ir_element_info[element].bits / 8; }

int value_registers(const struct ir_type *type) { return type->rank == 0 ? 1 : layout_registers(type->layout); }

LLVMValueRef *value_array(struct lowering *l, int count) { return ARENA_ARRAY(l->arena, LLVMValueRef, count); }

struct lowered *value_of(struct lowering *l, const struct ir_value *value)
{
    struct lowered *lowered = &l->values[value->id];
    if (!lowered->registers && !lowered->view)
        die("a value of %s is used before it is made", l->function->name);
    return lowered;
}

LLVMValueRef value_register(struct lowering *l, const struct ir_value *value, int reg)
{
    struct lowered *lowered = value_of(l, value);
    if (value->type->rank == 0)
        return lowered->registers[0];
    if (reg >= lowered->count)
        die("register %d of %d in %s", reg, lowered->count, l->function->name);
    return lowered->registers[reg];
}

LLVMValueRef *value_define(struct lowering *l, const struct ir_value *value)
{
    struct lowered *lowered = &l->values[value->id];
    if (value->type->rank > 0 && !value->type->layout)
        die("a tile without layout reaches the target: %s", ir_op_info[l->operation->opcode].text);
    lowered->count = value_registers(value->type);
    lowered->registers = value_array(l, lowered->count);
    return lowered->registers;
}

LLVMValueRef value_i32(const struct lowering *l, int64_t number)
{
    return LLVMConstInt(l->i32, (unsigned long long)(uint32_t)number, false);
}
LLVMValueRef value_i64(const struct lowering *l, int64_t number)
{
    return LLVMConstInt(l->i64, (unsigned long long)number, true);
}
LLVMValueRef value_i1(const struct lowering *l, bool truth) { return LLVMConstInt(l->i1, truth, false); }

static LLVMTypeRef integer_of(const struct lowering *l, int bits)
{
    return bits == 8 ? l->i8 : bits == 16 ? l->i16 : bits == 32 ? l->i32 : l->i64;
}

LLVMValueRef value_constant(const struct lowering *l, enum ir_element element, uint64_t bits)
{
    int width = ir_element_info[element].bits;
    if (element == IR_BOOL)
        return value_i1(l, bits & 1);
    if (width < 64)
        bits &= ((uint64_t)1 << width) - 1;
    LLVMValueRef integer = LLVMConstInt(integer_of(l, width), bits, false);
    LLVMTypeRef type = lower_value_type(l, element);
    if (element == IR_POINTER)
        return LLVMConstIntToPtr(integer, type);
    return type == LLVMTypeOf(integer) ? integer : LLVMConstBitCast(integer, type);
}

LLVMValueRef value_to_bits(struct lowering *l, enum ir_element element, LLVMValueRef value)
{
    if (element == IR_BOOL)
        return LLVMBuildZExt(l->builder, value, l->i8, "");
    if (element == IR_POINTER)
        return LLVMBuildPtrToInt(l->builder, value, l->i64, "");
    if (element == IR_F16 || element == IR_F32 || element == IR_F64)
        return LLVMBuildBitCast(l->builder, value, integer_of(l, ir_element_info[element].bits), "");
    return value;
}

LLVMValueRef value_from_bits(struct lowering *l, enum ir_element element, LLVMValueRef bits)
{
    if (element == IR_BOOL)
        return LLVMBuildICmp(l->builder, LLVMIntNE, bits, LLVMConstInt(LLVMTypeOf(bits), 0, false), "");
    if (element == IR_POINTER)
        return LLVMBuildIntToPtr(l->builder, bits, l->pointer, "");
    if (element == IR_F16 || element == IR_F32 || element == IR_F64)
        return LLVMBuildBitCast(l->builder, bits, lower_value_type(l, element), "");
    return bits;
}

static bool is_number(LLVMValueRef value, unsigned long long number)
{
    return LLVMIsAConstantInt(value) && LLVMGetIntTypeWidth(LLVMTypeOf(value)) <= 64 &&
           LLVMConstIntGetZExtValue(value) == number;
}

LLVMValueRef value_sum(struct lowering *l, LLVMValueRef a, LLVMValueRef b)
{
    if (!a || is_number(a, 0))
        return b;
    return is_number(b, 0) ? a : LLVMBuildAdd(l->builder, a, b, "");
}

LLVMValueRef value_product(struct lowering *l, LLVMValueRef a, LLVMValueRef b)
{
    if (is_number(a, 1))
        return b;
    return is_number(b, 1) ? a : LLVMBuildMul(l->builder, a, b, "");
}

LLVMValueRef value_without(struct lowering *l, LLVMValueRef a, int64_t number)
{
    if (number == 0)
        return a;
    return LLVMBuildSub(l->builder, a, LLVMConstInt(LLVMTypeOf(a), (unsigned long long)number, true), "");
}

/* The word that the value is the low or high half of; NULL: of none. */
static LLVMValueRef half_of(struct lowering *l, LLVMValueRef value, bool high)
{
    if (LLVMIsABitCastInst(value))
        value = LLVMGetOperand(value, 0);
    if (!LLVMIsATruncInst(value) || LLVMTypeOf(value) != l->i16)
        return NULL;
    value = LLVMGetOperand(value, 0);
    if (LLVMTypeOf(value) != l->i32 || !high)
        return LLVMTypeOf(value) == l->i32 ? value : NULL;
    bool shifted = LLVMIsAInstruction(value) && LLVMGetInstructionOpcode(value) == LLVMLShr;
    return shifted && is_number(LLVMGetOperand(value, 1), 16) ? LLVMGetOperand(value, 0) : NULL;
}

LLVMValueRef value_whole(struct lowering *l, LLVMValueRef low, LLVMValueRef high)
{
    LLVMValueRef word = half_of(l, low, false);
    return word && word == half_of(l, high, true) ? word : NULL;
}

/* ((word >> shift) & mask) | set, cut to 16 bits; or, of one half of a word, shift 0 or 16. */
struct field {
    LLVMValueRef word;
    unsigned shift;
    uint64_t mask, set;
};

/* Takes the operation off, where it is one of those and has a constant on its right. */
static bool take_constant(LLVMValueRef *value, LLVMOpcode opcode, uint64_t *number)
{
    if (!LLVMIsAInstruction(*value) || LLVMGetInstructionOpcode(*value) != opcode ||
        !LLVMIsAConstantInt(LLVMGetOperand(*value, 1)))
        return false;
    *number = LLVMConstIntGetZExtValue(LLVMGetOperand(*value, 1));
    *value = LLVMGetOperand(*value, 0);
    return true;
}

static bool find_field(struct lowering *l, LLVMValueRef value, struct field *field)
{
    uint64_t shift = 0;
    *field = (struct field){.mask = UINT16_MAX};
    if (LLVMIsABitCastInst(value))
        value = LLVMGetOperand(value, 0);
    if (!LLVMIsATruncInst(value) || LLVMTypeOf(value) != l->i16)
        return false;
    value = LLVMGetOperand(value, 0);
    if (LLVMTypeOf(value) != l->i32)
        return false;
    take_constant(&value, LLVMOr, &field->set);
    take_constant(&value, LLVMAnd, &field->mask);
    if (!take_constant(&value, LLVMAShr, &shift))
        take_constant(&value, LLVMLShr, &shift);
    field->word = value;
    field->shift = (unsigned)shift;
    return shift < 32 && field->mask <= UINT16_MAX && field->set <= UINT16_MAX && field->mask << shift <= UINT32_MAX;
}

static bool is_half(const struct field *field)
{
    return field->mask == UINT16_MAX && field->set == 0 && field->shift % 16 == 0;
}

LLVMValueRef value_joined(struct lowering *l, LLVMValueRef low, LLVMValueRef high)
{
    struct field a, b;
    LLVMValueRef whole = value_whole(l, low, high);
    if (whole || !find_field(l, low, &a) || !find_field(l, high, &b))
        return whole;
    if (a.word == b.word && b.shift == a.shift + 16) {
        LLVMValueRef shifted = a.shift ? LLVMBuildLShr(l->builder, a.word, value_i32(l, a.shift), "") : a.word;
        LLVMValueRef operands[3] = {shifted, value_i32(l, (int64_t)(a.mask | b.mask << 16)),
                                    value_i32(l, (int64_t)(a.set | b.set << 16))};
        return ptx_emit(l, PTX_MASK_AND_SET, l->i32, operands, 3, NULL);
    }
    if (!is_half(&a) || !is_half(&b))
        return NULL;
    int64_t bytes = (a.shift ? 0x32 : 0x10) | (b.shift ? 0x7600 : 0x5400);
    LLVMValueRef operands[3] = {a.word, b.word, value_i32(l, PLANTED(nvptx_joined_halves) ? 0x5410 : bytes)};
    return ptx_emit(l, PTX_PICK_BYTES, l->i32, operands, 3, NULL);
}

LLVMValueRef value_wide(struct lowering *l, enum ir_element element, LLVMValueRef value)
{
    int bits = ir_element_info[element].bits;
    if (bits == 64)
        return value;
    return ir_is_signed(element) ? LLVMBuildSExt(l->builder, value, l->i64, "")
                                 : LLVMBuildZExt(l->builder, value, l->i64, "");
}

LLVMValueRef value_intrinsic(struct lowering *l, const char *name, LLVMTypeRef overload, LLVMValueRef *arguments,
                             int count)
{
    unsigned id = LLVMLookupIntrinsicID(name, strlen(name));
    if (!id)
        die("LLVM has no intrinsic %s", name);
    size_t overloads = overload ? 1 : 0;
    LLVMValueRef function = LLVMGetIntrinsicDeclaration(l->module, id, &overload, overloads);
    LLVMTypeRef type = LLVMIntrinsicGetType(l->context, id, &overload, overloads);
    return LLVMBuildCall2(l->builder, type, function, arguments, (unsigned)count, "");
}

LLVMBasicBlockRef value_block(struct lowering *l, const char *name)
{
    return LLVMAppendBasicBlockInContext(l->context, l->kernel, name);
}

LLVMBasicBlockRef value_enter_if(struct lowering *l, LLVMValueRef condition)
{
    if (!condition)
        return NULL;
    LLVMBasicBlockRef put = value_block(l, "put"), kept = value_block(l, "kept");
    LLVMBuildCondBr(l->builder, condition, put, kept);
    LLVMPositionBuilderAtEnd(l->builder, put);
    return kept;
}

void value_leave(struct lowering *l, LLVMBasicBlockRef kept)
{
    if (!kept)
        return;
    LLVMBuildBr(l->builder, kept);
    LLVMPositionBuilderAtEnd(l->builder, kept);
}
