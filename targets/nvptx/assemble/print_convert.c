/* Lines for conversions between types. */
#include "targets/nvptx/assemble/print.h"

static unsigned integer_bits(LLVMTypeRef type)
{
    return LLVMGetTypeKind(type) == LLVMIntegerTypeKind ? LLVMGetIntTypeWidth(type) : 0;
}

LLVMValueRef print_narrow(LLVMValueRef value, unsigned bits, bool is_signed)
{
    if (!LLVMIsAInstruction(value))
        return NULL;
    LLVMOpcode opcode = LLVMGetInstructionOpcode(value);
    bool zero = opcode == LLVMZExt && (!is_signed || LLVMGetNNeg(value));
    if (!zero && !(opcode == LLVMSExt && is_signed))
        return NULL;
    LLVMValueRef from = LLVMGetOperand(value, 0);
    return integer_bits(LLVMTypeOf(from)) == bits ? from : NULL;
}

struct print_operand print_widened(struct printer *p, LLVMValueRef value, bool is_signed)
{
    struct print_operand from = print_read(p, value, is_signed);
    if (integer_bits(LLVMTypeOf(value)) != 8 || from.variable < 0)
        return from;
    struct print_operand to = print_fresh(p, CLASS_16);
    if (!is_signed) {
        print_pure(p, "and.b16 $0, $1, $2;", to, from, print_text("255"));
        return to;
    }
    struct print_operand high = print_fresh(p, CLASS_16);
    print_pure(p, "shl.b16 $0, $1, $2;", high, from, print_text("8"));
    print_pure(p, "shr.s16 $0, $1, $2;", to, high, print_text("8"));
    return to;
}

static void convert(struct printer *p, LLVMValueRef value, const char *text, struct print_operand from)
{
    print_line(p, LINE_TEXT, text, 1, (struct print_operand[]){print_part(p, value, 0), print_in_register(p, from)}, 2);
}

/* mul.hi: the upper half of a product of 64 bits. */
static bool high_product(struct printer *p, LLVMValueRef value)
{
    LLVMValueRef shifted = LLVMGetOperand(value, 0);
    int64_t by;
    if (integer_bits(LLVMTypeOf(shifted)) != 128 || integer_bits(LLVMTypeOf(value)) != 64 ||
        !LLVMIsAInstruction(shifted) || LLVMGetInstructionOpcode(shifted) != LLVMLShr)
        return false;
    LLVMValueRef product = LLVMGetOperand(shifted, 0), amount = LLVMGetOperand(shifted, 1);
    if (!LLVMIsAConstantInt(amount) || LLVMConstIntGetZExtValue(LLVMConstTrunc(amount, p->l->i64)) != 64 ||
        !LLVMIsAInstruction(product) || LLVMGetInstructionOpcode(product) != LLVMMul)
        return false;
    by = 0;
    for (int is_signed = 0; is_signed < 2; is_signed++) {
        LLVMValueRef a = print_narrow(LLVMGetOperand(product, 0), 64, is_signed);
        LLVMValueRef second = LLVMGetOperand(product, 1), b = print_narrow(second, 64, is_signed);
        if (!a)
            continue;
        struct print_operand other;
        if (b) {
            other = print_read(p, b, true);
        } else { /* a constant that 64 bits hold */
            if (!LLVMIsAConstantInt(second))
                continue;
            LLVMValueRef cut = LLVMConstTrunc(second, p->l->i64);
            if (!print_constant_number(cut, &by) || by < 0)
                continue;
            if (LLVMConstInt(LLVMTypeOf(second), (unsigned long long)by, false) != second)
                continue;
            other = print_number(p, by);
        }
        print_pure(p, is_signed ? "mul.hi.s64 $0, $1, $2;" : "mul.hi.u64 $0, $1, $2;", print_part(p, value, 0),
                   print_read(p, a, true), other);
        return true;
    }
    return false;
}

static void truncate(struct printer *p, LLVMValueRef value)
{
    LLVMValueRef from = LLVMGetOperand(value, 0);
    unsigned to_bits = integer_bits(LLVMTypeOf(value)), bits = integer_bits(LLVMTypeOf(from));
    if (bits == 128) {
        if (!high_product(p, value))
            p->failed = true;
        return;
    }
    if (to_bits == 1) {
        static const char *const ands[CLASS_COUNT] = {"", "and.b16 $0, $1, $2;", "and.b32 $0, $1, $2;",
                                                      "and.b64 $0, $1, $2;"};
        static const char *const tests[CLASS_COUNT] = {"", "setp.ne.s16 $0, $1, $2;", "setp.ne.s32 $0, $1, $2;",
                                                       "setp.ne.s64 $0, $1, $2;"};
        enum print_class class = print_class_of(LLVMTypeOf(from));
        if (class == CLASS_NONE) {
            p->failed = true;
            return;
        }
        struct print_operand bit = print_fresh(p, class);
        print_pure(p, ands[class], bit, print_register(p, from, 0), print_text("1"));
        print_pure(p, tests[class], print_part(p, value, 0), bit, print_text("0"));
        return;
    }
    if (to_bits <= 16 && bits <= 16)
        return; /* another name of the register */
    if (bits == 32 && to_bits <= 16 && LLVMIsAInstruction(from) && LLVMGetInstructionOpcode(from) == LLVMLShr) {
        int64_t by;
        if (print_constant_number(LLVMGetOperand(from, 1), &by) && by == 16) {
            convert(p, value, "{ .reg .b16 low; mov.b32 {low, $0}, $1; }", print_part(p, LLVMGetOperand(from, 0), 0));
            return;
        }
    }
    const char *text = to_bits == 32 ? "cvt.u32.u64 $0, $1;"
                       : bits == 64  ? "cvt.u16.u64 $0, $1;"
                                     : "cvt.u16.u32 $0, $1;";
    if (to_bits > 32 || to_bits < 8)
        p->failed = true;
    convert(p, value, text, print_part(p, from, 0));
}

static void extend_predicate(struct printer *p, LLVMValueRef value, bool is_signed)
{
    static const char *const texts[CLASS_COUNT] = {"", "selp.b16 $0, $1, $2, $3;", "selp.b32 $0, $1, $2, $3;",
                                                   "selp.b64 $0, $1, $2, $3;"};
    enum print_class class = print_class_of(LLVMTypeOf(value));
    if (class == CLASS_NONE) {
        p->failed = true;
        return;
    }
    print_line(p, LINE_TEXT, texts[class], 1,
               (struct print_operand[]){print_part(p, value, 0), print_text(is_signed ? "-1" : "1"), print_text("0"),
                                        print_register(p, LLVMGetOperand(value, 0), 0)},
               4);
}

static void extend(struct printer *p, LLVMValueRef value, bool is_signed)
{
    LLVMValueRef from = LLVMGetOperand(value, 0);
    unsigned to_bits = integer_bits(LLVMTypeOf(value)), bits = integer_bits(LLVMTypeOf(from));
    if (to_bits == 128)
        return; /* whoever cuts the product off takes the operand itself */
    if (bits == 1) {
        extend_predicate(p, value, is_signed);
        return;
    }
    struct print_operand wide = print_widened(p, from, is_signed);
    if (bits == 8 && to_bits == 16) {
        print_line(p, LINE_TEXT, "mov.b16 $0, $1;", 1, (struct print_operand[]){print_part(p, value, 0), wide}, 2);
        return;
    }
    const char *text = bits == 32      ? is_signed ? "cvt.s64.s32 $0, $1;" : "cvt.u64.u32 $0, $1;"
                       : to_bits == 32 ? is_signed ? "cvt.s32.s16 $0, $1;" : "cvt.u32.u16 $0, $1;"
                       : is_signed     ? "cvt.s64.s16 $0, $1;"
                                       : "cvt.u64.u16 $0, $1;";
    if (to_bits != 64 && to_bits != 32)
        p->failed = true;
    convert(p, value, text, wide);
}

static void integer_to_float(struct printer *p, LLVMValueRef value, bool is_signed)
{
    LLVMValueRef from = LLVMGetOperand(value, 0);
    LLVMTypeKind kind = LLVMGetTypeKind(LLVMTypeOf(value));
    unsigned bits = integer_bits(LLVMTypeOf(from));
    const char *to = kind == LLVMFloatTypeKind    ? "cvt.rn.f32."
                     : kind == LLVMDoubleTypeKind ? "cvt.rn.f64."
                     : kind == LLVMHalfTypeKind   ? "cvt.rn.f16."
                                                  : NULL;
    if (!to || bits < 8 || bits > 64) {
        p->failed = true;
        return;
    }
    const char *width = bits == 64 ? "64" : bits == 32 ? "32" : "16";
    const char *text = print_join(p, to, is_signed ? "s" : "u", width, " $0, $1;");
    convert(p, value, text, print_widened(p, from, is_signed));
}

static void float_to_float(struct printer *p, LLVMValueRef value)
{
    LLVMValueRef from = LLVMGetOperand(value, 0);
    LLVMTypeKind a = LLVMGetTypeKind(LLVMTypeOf(from)), b = LLVMGetTypeKind(LLVMTypeOf(value));
    const char *text = NULL;
    if (a == LLVMHalfTypeKind && b == LLVMFloatTypeKind)
        text = "cvt.f32.f16 $0, $1;";
    if (a == LLVMHalfTypeKind && b == LLVMDoubleTypeKind)
        text = "cvt.f64.f16 $0, $1;";
    if (a == LLVMFloatTypeKind && b == LLVMDoubleTypeKind)
        text = "cvt.f64.f32 $0, $1;";
    if (a == LLVMFloatTypeKind && b == LLVMHalfTypeKind)
        text = "cvt.rn.f16.f32 $0, $1;";
    if (a == LLVMDoubleTypeKind && b == LLVMHalfTypeKind)
        text = "cvt.rn.f16.f64 $0, $1;";
    if (a == LLVMDoubleTypeKind && b == LLVMFloatTypeKind)
        text = "cvt.rn.f32.f64 $0, $1;";
    if (!text) {
        p->failed = true;
        return;
    }
    convert(p, value, text, print_part(p, from, 0));
}

void print_cast(struct printer *p, LLVMValueRef value)
{
    switch (LLVMGetInstructionOpcode(value)) {
    case LLVMTrunc: truncate(p, value); return;
    case LLVMZExt: extend(p, value, false); return;
    case LLVMSExt: extend(p, value, true); return;
    case LLVMSIToFP: integer_to_float(p, value, true); return;
    case LLVMUIToFP: integer_to_float(p, value, false); return;
    default: float_to_float(p, value); return;
    }
}
