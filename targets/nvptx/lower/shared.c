/* Scratch in shared memory.  allocate_shared gives operations a place (shared_offset, shared_bytes) and insert_barriers
 * orders the places; an operation without one shares a place behind all others, and meets all threads before it writes
 * there. */
#include "targets/nvptx/lower/lower.h"

int64_t shared_scratch(struct lowering *l, const struct ir_operation *operation, int64_t bytes)
{
    int64_t offset = ir_number(operation, IR_ATTRIBUTE_SHARED_OFFSET, -1);
    int64_t given = ir_number(operation, IR_ATTRIBUTE_SHARED_BYTES, operation->opcode == OP_CONVERT_LAYOUT ? bytes : 0);
    if (offset >= 0 && given >= bytes) {
        l->shared_need = int64_max(l->shared_need, offset + bytes);
        return offset;
    }
    int64_t start = (l->function->shared_bytes + 127) / 128 * 128;
    l->shared_need = int64_max(l->shared_need, start + bytes);
    ptx_barrier(l);
    return start;
}

/* The constant goes last, into the instruction that accesses: many addresses are one register then. */
LLVMValueRef shared_address(struct lowering *l, int64_t offset, LLVMValueRef bytes)
{
    LLVMValueRef address = l->shared, constant = value_i32(l, offset);
    if (bytes)
        address = LLVMBuildGEP2(l->builder, l->i8, address, &bytes, 1, "");
    if (!offset)
        return address;
    return LLVMBuildInBoundsGEP2(l->builder, l->i8, address, &constant, 1, "");
}

void shared_store(struct lowering *l, enum ir_element element, LLVMValueRef value, LLVMValueRef address, int alignment)
{
    LLVMValueRef store = LLVMBuildStore(l->builder, value_to_bits(l, element, value), address);
    LLVMSetAlignment(store, (unsigned)alignment);
}

LLVMValueRef shared_load(struct lowering *l, enum ir_element element, LLVMValueRef address, int alignment)
{
    int bits = ir_element_info[element].bits;
    LLVMTypeRef type = bits == 8 ? l->i8 : bits == 16 ? l->i16 : bits == 32 ? l->i32 : l->i64;
    LLVMValueRef load = LLVMBuildLoad2(l->builder, type, address, "");
    LLVMSetAlignment(load, (unsigned)alignment);
    return value_from_bits(l, element, load);
}

/* Words of up to 32 bits that `bytes` are moved in; several of them as a vector. */
static LLVMTypeRef vector_type(struct lowering *l, int bytes)
{
    int word_bytes = bytes >= 4 ? 4 : bytes, words = bytes / word_bytes;
    LLVMTypeRef word = word_bytes == 4 ? l->i32 : word_bytes == 2 ? l->i16 : l->i8;
    return words > 1 ? LLVMVectorType(word, (unsigned)words) : word;
}

static LLVMTypeRef elements_type(struct lowering *l, enum ir_element element, int count)
{
    return LLVMVectorType(LLVMIntTypeInContext(l->context, (unsigned)(8 * value_bytes(element))), (unsigned)count);
}

/* Whether each two neighbours are what a word was taken apart to. */
static bool halves_of_words(struct lowering *l, enum ir_element element, const LLVMValueRef *values, int count)
{
    bool all = value_bytes(element) == 2 && count % 2 == 0;
    for (int i = 0; i < count && all; i += 2)
        all = value_whole(l, values[i], values[i + 1]) != NULL;
    return all;
}

void shared_store_vector(struct lowering *l, enum ir_element element, const LLVMValueRef *values, int count,
                         LLVMValueRef address)
{
    LLVMBuilderRef b = l->builder;
    int bytes = value_bytes(element) * count, each = halves_of_words(l, element, values, count) ? 2 : 1;
    LLVMValueRef vector = LLVMGetPoison(each > 1 ? LLVMVectorType(l->i32, (unsigned)count / 2)
                                                 : elements_type(l, element, count));
    for (int i = 0; i < count; i += each) {
        LLVMValueRef part = each > 1 ? value_whole(l, values[i], values[i + 1]) : value_to_bits(l, element, values[i]);
        vector = LLVMBuildInsertElement(b, vector, part, value_i32(l, i / each), "");
    }
    LLVMValueRef store = LLVMBuildStore(b, LLVMBuildBitCast(b, vector, vector_type(l, bytes), ""), address);
    LLVMSetAlignment(store, (unsigned)bytes);
}

/* Narrow elements come out of words by shifts, which LLVM merges with those that make a bf16 an f32. */
void shared_load_vector(struct lowering *l, enum ir_element element, LLVMValueRef *values, int count,
                        LLVMValueRef address)
{
    LLVMBuilderRef b = l->builder;
    int size = value_bytes(element), bytes = size * count, each = bytes >= 4 && size < 4 ? 4 / size : 1;
    LLVMTypeRef loaded = each > 1 ? vector_type(l, bytes) : elements_type(l, element, count);
    LLVMTypeRef narrow = LLVMIntTypeInContext(l->context, (unsigned)(8 * size));
    LLVMValueRef load = LLVMBuildLoad2(b, vector_type(l, bytes), address, "");
    LLVMSetAlignment(load, (unsigned)bytes);
    if (each == 1)
        load = LLVMBuildBitCast(b, load, loaded, "");
    LLVMValueRef word = load;
    for (int i = 0; i < count; i++) {
        if (i % each == 0 && LLVMGetTypeKind(loaded) == LLVMVectorTypeKind)
            word = LLVMBuildExtractElement(b, load, value_i32(l, i / each), "");
        LLVMValueRef part = word;
        if (i % each)
            part = LLVMBuildLShr(b, part, value_i32(l, 8 * size * (i % each)), "");
        values[i] = value_from_bits(l, element, each > 1 ? LLVMBuildTrunc(b, part, narrow, "") : part);
    }
}
