/* One access of a thread to global memory: 1 to 16 bytes, under a predicate, as inline PTX.  Elements narrower than the
 * words of the access are packed, element 0 lowest. */
#include "targets/nvptx/thread/memory.h"

struct memory_shape memory_shape(enum ir_element element, int count)
{
    int bytes = value_bytes(element), total = bytes * count;
    int unit = bytes == 8 ? 8 : total >= 4 ? 4 : total;
    return (struct memory_shape){unit, total / unit, unit / bytes};
}

LLVMTypeRef memory_word_type(const struct lowering *l, struct memory_shape shape)
{
    return shape.unit == 8 ? l->i64 : shape.unit == 4 ? l->i32 : l->i16;
}
char memory_word_letter(struct memory_shape shape) { return shape.unit == 8 ? 'l' : shape.unit == 4 ? 'r' : 'h'; }
const char *memory_word_name(struct memory_shape shape)
{
    return shape.unit == 8 ? "b64" : shape.unit == 4 ? "b32" : shape.unit == 2 ? "b16" : "b8";
}
static const char *vector_name(int words) { return words == 4 ? ".v4" : words == 2 ? ".v2" : ""; }

void memory_pack(struct lowering *l, enum ir_element element, struct memory_shape shape, const LLVMValueRef *values,
                 LLVMValueRef *words)
{
    LLVMBuilderRef b = l->builder;
    LLVMTypeRef type = memory_word_type(l, shape);
    int bits = 8 * shape.unit / shape.each;
    for (int w = 0; w < shape.words; w++) {
        words[w] = shape.unit == 4 && shape.each == 2 ? value_joined(l, values[2 * w], values[2 * w + 1]) : NULL;
        if (words[w])
            continue;
        LLVMValueRef word = NULL;
        for (int i = 0; i < shape.each; i++) {
            LLVMValueRef part = value_to_bits(l, element, values[w * shape.each + i]);
            part = LLVMBuildZExt(b, part, type, "");
            if (i)
                part = LLVMBuildShl(b, part, LLVMConstInt(type, (unsigned long long)(i * bits), false), "");
            word = word ? LLVMBuildOr(b, word, part, "") : part;
        }
        words[w] = word;
    }
}

void memory_unpack(struct lowering *l, enum ir_element element, struct memory_shape shape, const LLVMValueRef *words,
                   LLVMValueRef *values)
{
    LLVMBuilderRef b = l->builder;
    LLVMTypeRef type = memory_word_type(l, shape);
    int bits = 8 * value_bytes(element);
    LLVMTypeRef narrow = LLVMIntTypeInContext(l->context, (unsigned)bits);
    for (int w = 0; w < shape.words; w++)
        for (int i = 0; i < shape.each; i++) {
            LLVMValueRef part = words[w];
            if (i)
                part = LLVMBuildLShr(b, part, LLVMConstInt(type, (unsigned long long)(i * bits), false), "");
            values[w * shape.each + i] = value_from_bits(l, element, LLVMBuildTrunc(b, part, narrow, ""));
        }
}

static void put_words(struct buffer *text, int first, int words)
{
    if (words > 1)
        buffer_putc(text, '{');
    for (int w = 0; w < words; w++)
        buffer_printf(text, "%s$%d", w ? ", " : "", first + w);
    if (words > 1)
        buffer_putc(text, '}');
}

static void put_address(struct buffer *text, int operand, int64_t offset)
{
    if (offset)
        buffer_printf(text, "[$%d+%lld]", operand, (long long)offset);
    else
        buffer_printf(text, "[$%d]", operand);
}

/* @p ld.global.nc.v4.b32 {$0, …}, [$4+16];  with `other` tied to the results so that it stays where p is false. */
void memory_load(struct lowering *l, enum ir_element element, const char *cache, LLVMValueRef address, int64_t offset,
                 int count, LLVMValueRef predicate, const LLVMValueRef *other, LLVMValueRef *words)
{
    struct memory_shape shape = memory_shape(element, count);
    LLVMValueRef arguments[8];
    struct buffer text = {0}, constraints = {0};
    int n = 0;
    for (int w = 0; w < shape.words; w++)
        buffer_printf(&constraints, "%s=%c", w ? "," : "", memory_word_letter(shape));
    arguments[n++] = address;
    buffer_puts(&constraints, ",l");
    if (predicate) {
        buffer_printf(&text, "@$%d ", shape.words + n);
        arguments[n++] = predicate;
        buffer_puts(&constraints, ",b");
        memory_pack(l, element, shape, other, arguments + n);
        for (int w = 0; w < shape.words; w++)
            buffer_printf(&constraints, ",%d", w);
        n += shape.words;
    }
    const char *row_words[3] = {cache, vector_name(shape.words), memory_word_name(shape)};
    buffer_puts(&text, ptx_words(l, PTX_LOAD, row_words));
    buffer_putc(&text, ' ');
    put_words(&text, 0, shape.words);
    buffer_puts(&text, ", ");
    put_address(&text, shape.words, offset);
    buffer_putc(&text, ';');
    LLVMTypeRef word = memory_word_type(l, shape), members[4] = {word, word, word, word};
    LLVMTypeRef type = shape.words == 1 ? word
                                        : LLVMStructTypeInContext(l->context, members, (unsigned)shape.words, false);
    LLVMValueRef all = ptx_text(l, text.data, constraints.data, type, arguments, n, true);
    for (int w = 0; w < shape.words; w++)
        words[w] = shape.words == 1 ? all : LLVMBuildExtractValue(l->builder, all, (unsigned)w, "");
    buffer_free(&text);
    buffer_free(&constraints);
}

void memory_store(struct lowering *l, enum ir_element element, const char *cache, LLVMValueRef address, int64_t offset,
                  int count, LLVMValueRef predicate, const LLVMValueRef *values)
{
    struct memory_shape shape = memory_shape(element, count);
    LLVMValueRef arguments[8];
    struct buffer text = {0}, constraints = {0};
    int n = 0;
    arguments[n++] = address;
    buffer_puts(&constraints, "l");
    memory_pack(l, element, shape, values, arguments + n);
    for (int w = 0; w < shape.words; w++)
        buffer_printf(&constraints, ",%c", memory_word_letter(shape));
    n += shape.words;
    if (predicate) {
        buffer_printf(&text, "@$%d ", n);
        arguments[n++] = predicate;
        buffer_puts(&constraints, ",b");
    }
    const char *row_words[3] = {cache, vector_name(shape.words), memory_word_name(shape)};
    buffer_puts(&text, ptx_words(l, PTX_STORE, row_words));
    buffer_putc(&text, ' ');
    put_address(&text, 0, offset);
    buffer_puts(&text, ", ");
    put_words(&text, 1, shape.words);
    buffer_putc(&text, ';');
    ptx_text(l, text.data, constraints.data, l->nothing, arguments, n, true);
    buffer_free(&text);
    buffer_free(&constraints);
}
