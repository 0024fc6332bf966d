/* Rows of ptx.def as inline assembly. */
#include "targets/nvptx/thread/thread.h"

#include <string.h>

enum { E = 1, C = 2, P = 4 };
static const struct {
    unsigned flags;
    const char *constraints, *text;
} rows[] = {
#define PTX(id, flags, constraints, text) {flags, constraints, text},
#include "targets/nvptx/thread/ptx.def"
#undef PTX
};

static void mark_call(struct lowering *l, LLVMValueRef call, const char *name, uint64_t number)
{
    unsigned kind = LLVMGetEnumAttributeKindForName(name, strlen(name));
    LLVMAddCallSiteAttribute(call, (LLVMAttributeIndex)LLVMAttributeFunctionIndex,
                             LLVMCreateEnumAttribute(l->context, kind, number));
}

static LLVMValueRef emit(struct lowering *l, const char *text, const char *constraints, unsigned flags,
                         LLVMTypeRef result, const LLVMValueRef *arguments, int count)
{
    LLVMTypeRef *types = ARENA_ARRAY(l->arena, LLVMTypeRef, count);
    for (int i = 0; i < count; i++)
        types[i] = LLVMTypeOf(arguments[i]);
    LLVMTypeRef type = LLVMFunctionType(result, types, (unsigned)count, false);
    struct buffer full = {0};
    buffer_puts(&full, constraints);
    if (flags & E)
        buffer_puts(&full, full.size ? ",~{memory}" : "~{memory}");
    LLVMValueRef assembly = LLVMGetInlineAsm(type, text, strlen(text), full.data ? full.data : "", full.size,
                                             (flags & E) != 0, false, LLVMInlineAsmDialectATT, false);
    buffer_free(&full);
    LLVMValueRef call = LLVMBuildCall2(l->builder, type, assembly, (LLVMValueRef *)(uintptr_t)arguments,
                                       (unsigned)count, "");
    mark_call(l, call, "nounwind", 0);
    if (flags & C)
        mark_call(l, call, "convergent", 0);
    if (flags & P)
        mark_call(l, call, "memory", 0);
    return call;
}

/* Replaces each %s by the next word. */
static char *fill(struct lowering *l, const char *text, const char *const **words)
{
    struct buffer out = {0};
    for (const char *p = text; *p; p++) {
        if (p[0] == '%' && p[1] == 's') {
            buffer_puts(&out, *(*words)++);
            p++;
        } else {
            buffer_putc(&out, *p);
        }
    }
    char *filled = arena_substring(l->arena, out.data ? out.data : "", out.size);
    buffer_free(&out);
    return filled;
}

LLVMValueRef ptx_emit(struct lowering *l, enum ptx_row row, LLVMTypeRef result, const LLVMValueRef *arguments,
                      int count, const char *const *words)
{
    const char *text = fill(l, rows[row].text, &words);
    const char *constraints = fill(l, rows[row].constraints, &words);
    return emit(l, text, constraints, rows[row].flags, result, arguments, count);
}

void ptx_end_arm(struct lowering *l)
{
    if (!l->one_thread && !l->single && !l->per_element)
        ptx_emit(l, PTX_WARP_MEETS, l->nothing, NULL, 0, NULL);
}

const char *ptx_words(struct lowering *l, enum ptx_row row, const char *const *words)
{
    return fill(l, rows[row].text, &words);
}

LLVMValueRef ptx_unary(struct lowering *l, enum ptx_row row, LLVMTypeRef result, LLVMValueRef argument)
{
    return ptx_emit(l, row, result, &argument, 1, NULL);
}

LLVMValueRef ptx_text(struct lowering *l, const char *text, const char *constraints, LLVMTypeRef result,
                      const LLVMValueRef *arguments, int count, bool effects)
{
    return emit(l, text, constraints, effects ? E : P, result, arguments, count);
}

LLVMValueRef ptx_text_together(struct lowering *l, const char *text, const char *constraints, LLVMTypeRef result,
                               const LLVMValueRef *arguments, int count)
{
    return emit(l, text, constraints, E | C, result, arguments, count);
}

void ptx_barrier(struct lowering *l)
{
    if (l->one_thread)
        return;
    if (l->function->together) {
        ptx_emit(l, PTX_WARP_MEETS, l->nothing, NULL, 0, NULL);
        return;
    }
    if (l->role < 0) {
        ptx_emit(l, PTX_BARRIER, l->nothing, NULL, 0, NULL);
        return;
    }
    const char *words[2] = {arena_printf(l->arena, "%d", IR_BARRIER_OF_ROLES + l->role),
                            arena_printf(l->arena, "%d", 32 * l->warps)};
    ptx_emit(l, PTX_BARRIER_OF, l->nothing, NULL, 0, words);
}

/* A shuffle moves 32 bits: narrower values are widened, wider ones go in halves. */
static LLVMValueRef shuffle(struct lowering *l, enum ptx_row row, enum ir_element element, LLVMValueRef value,
                            LLVMValueRef by)
{
    LLVMBuilderRef b = l->builder;
    LLVMValueRef bits = value_to_bits(l, element, value);
    LLVMTypeRef type = LLVMTypeOf(bits);
    unsigned width = LLVMGetIntTypeWidth(type);
    if (width <= 32) {
        LLVMValueRef arguments[2] = {LLVMBuildZExt(b, bits, l->i32, ""), by};
        LLVMValueRef moved = ptx_emit(l, row, l->i32, arguments, 2, NULL);
        return value_from_bits(l, element, LLVMBuildTrunc(b, moved, type, ""));
    }
    LLVMValueRef low[2] = {LLVMBuildTrunc(b, bits, l->i32, ""), by};
    LLVMValueRef high[2] = {LLVMBuildTrunc(b, LLVMBuildLShr(b, bits, value_i64(l, 32), ""), l->i32, ""), by};
    LLVMValueRef low_moved = LLVMBuildZExt(b, ptx_emit(l, row, l->i32, low, 2, NULL), l->i64, "");
    LLVMValueRef high_moved = LLVMBuildZExt(b, ptx_emit(l, row, l->i32, high, 2, NULL), l->i64, "");
    high_moved = LLVMBuildShl(b, high_moved, value_i64(l, 32), "");
    return value_from_bits(l, element, LLVMBuildOr(b, low_moved, high_moved, ""));
}

LLVMValueRef ptx_shuffle_xor(struct lowering *l, enum ir_element element, LLVMValueRef value, int mask)
{
    return shuffle(l, PTX_SHUFFLE_XOR, element, value, value_i32(l, mask));
}

LLVMValueRef ptx_shuffle_xor_by(struct lowering *l, enum ir_element element, LLVMValueRef value, LLVMValueRef mask)
{
    return shuffle(l, PTX_SHUFFLE_XOR_BY, element, value, mask);
}

LLVMValueRef ptx_shuffle_index(struct lowering *l, enum ir_element element, LLVMValueRef value, LLVMValueRef lane)
{
    return shuffle(l, PTX_SHUFFLE_INDEX, element, value, lane);
}
