/* Lines for calls: inline texts and the intrinsics that the lowering and LLVM's passes make. */
#include "targets/nvptx/assemble/print.h"

#include <stdlib.h>
#include <string.h>

/* ---- inline texts ---- */

/* "=&f,r,0,~{memory}": the next constraint's first letter (or digit), its number, and whether it is written. */
struct constraint {
    char letter;
    int number;
    bool written;
};

static const char *next_constraint(const char *at, const char *end, struct constraint *constraint)
{
    *constraint = (struct constraint){0};
    if (at < end && *at == '~') {
        constraint->letter = '~';
    } else {
        if (at < end && *at == '=') {
            constraint->written = true;
            at++;
        }
        if (at < end && *at == '&')
            at++;
        if (at < end)
            constraint->letter = *at;
        if (*at >= '0' && *at <= '9')
            constraint->number = atoi(at);
    }
    while (at < end && *at != ',')
        at++;
    return at < end ? at + 1 : end;
}

static bool is_digit(char letter) { return letter >= '0' && letter <= '9'; }

static enum print_class class_of_letter(char letter)
{
    switch (letter) {
    case 'b': return CLASS_PREDICATE;
    case 'h': return CLASS_16;
    case 'r':
    case 'f': return CLASS_32;
    case 'l':
    case 'd': return CLASS_64;
    default: return CLASS_NONE;
    }
}

static void check_class(struct printer *p, struct print_operand operand, char letter)
{
    if (operand.variable < 0 || p->variables.data[operand.variable].class != class_of_letter(letter))
        p->failed = true;
}

static void print_assembly(struct printer *p, LLVMValueRef call, LLVMValueRef assembly)
{
    enum { MOST = 512 };
    size_t size, constraint_size;
    const char *text = LLVMGetInlineAsmAsmString(assembly, &size);
    const char *at = LLVMGetInlineAsmConstraintString(assembly, &constraint_size), *end = at + constraint_size;
    struct print_operand operands[MOST];
    int ties[MOST], count = 0, written = 0, argument = 0;
    bool effects = LLVMGetInlineAsmHasSideEffects(assembly), tied = false;
    const struct print_value of = LLVMGetTypeKind(LLVMTypeOf(call)) == LLVMVoidTypeKind ? (struct print_value){0}
                                                                                        : *print_value(p, call);
    while (at < end && count < MOST) {
        struct constraint constraint;
        at = next_constraint(at, end, &constraint);
        ties[count] = -1;
        if (constraint.letter == '~')
            continue;
        if (constraint.written) {
            if (written >= of.count)
                p->failed = true;
            else
                check_class(p, operands[count++] = of.parts[written++], constraint.letter);
            continue;
        }
        LLVMValueRef value = LLVMGetOperand(call, (unsigned)argument++);
        if (constraint.letter == 'n' || constraint.letter == 'i') {
            operands[count] = print_read(p, value, true);
            if (operands[count].variable >= 0)
                p->failed = true;
        } else if (is_digit(constraint.letter)) {
            ties[count] = constraint.number;
            tied = true;
            operands[count] = print_register(p, value, 0);
            if (constraint.number >= written)
                p->failed = true;
        } else {
            operands[count] = print_register(p, value, 0);
            check_class(p, operands[count], constraint.letter);
        }
        count++;
    }
    if (count == MOST || written != of.count || argument != (int)LLVMGetNumArgOperands(call))
        p->failed = true;
    if (p->failed || (size == 0 && !count))
        return;
    char *copy = arena_substring(p->arena, text, size);
    struct print_line *line = print_line(p, effects ? LINE_EFFECT : LINE_TEXT, copy, written, operands, count);
    line->early = true;
    if (tied)
        line->ties = arena_copy(p->arena, ties, (size_t)count * sizeof *ties);
}

/* ---- intrinsics ---- */

static bool begins(const char *name, const char *with) { return !strncmp(name, with, strlen(with)); }

static void special_register(struct printer *p, LLVMValueRef call, const char *name)
{
    static const struct {
        const char *name, *text;
    } names[] = {
        {"tid.x", "tid.x"}, {"ctaid.x", "ctaid.x"}, {"nctaid.x", "nctaid.x"}, {"cluster.ctarank", "cluster_ctarank"}};
    for (int i = 0; i < 4; i++)
        if (!strcmp(name, names[i].name)) {
            print_line(p, LINE_TEXT, print_join(p, "mov.u32 $0, %", names[i].text, ";", ""), 1,
                       (struct print_operand[]){print_part(p, call, 0)}, 1);
            return;
        }
    p->failed = true;
}

static const char *real_type(struct printer *p, LLVMTypeRef type, bool halves)
{
    LLVMTypeKind kind = LLVMGetTypeKind(type);
    if (kind == LLVMFloatTypeKind)
        return "f32";
    if (kind == LLVMDoubleTypeKind)
        return "f64";
    if (halves && kind == LLVMHalfTypeKind)
        return "f16";
    if (halves && kind == LLVMVectorTypeKind && LLVMGetVectorSize(type) == 2 &&
        LLVMGetTypeKind(LLVMGetElementType(type)) == LLVMHalfTypeKind)
        return "f16x2";
    p->failed = true;
    return "f32";
}

static struct print_operand read_real(struct printer *p, LLVMValueRef value)
{
    LLVMTypeKind kind = LLVMGetTypeKind(LLVMTypeOf(value));
    bool plain = kind == LLVMFloatTypeKind || kind == LLVMDoubleTypeKind;
    return plain ? print_read(p, value, true) : print_register(p, value, 0);
}

static void fused(struct printer *p, LLVMValueRef call)
{
    const char *text = print_join(p, "fma.rn.", real_type(p, LLVMTypeOf(call), true), " $0, $1, $2, $3;", "");
    struct print_operand operands[4] = {print_part(p, call, 0)};
    for (int i = 0; i < 3; i++)
        operands[i + 1] = read_real(p, LLVMGetOperand(call, (unsigned)i));
    print_line(p, LINE_TEXT, text, 1, operands, 4);
}

static void real_unary(struct printer *p, LLVMValueRef call, const char *before, bool twice)
{
    const char *type = real_type(p, LLVMTypeOf(call), false);
    const char *text = print_join(p, before, type, twice ? print_join(p, ".", type, "", "") : "", " $0, $1;");
    print_line(p, LINE_TEXT, text, 1,
               (struct print_operand[]){print_part(p, call, 0), print_register(p, LLVMGetOperand(call, 0), 0)}, 2);
}

static void integer_extreme(struct printer *p, LLVMValueRef call, const char *name, bool is_signed)
{
    static const char *const widths[CLASS_COUNT] = {"", "16 $0, $1, $2;", "32 $0, $1, $2;", "64 $0, $1, $2;"};
    enum print_class class = print_class_of(LLVMTypeOf(call));
    if (class == CLASS_NONE || class == CLASS_PREDICATE) {
        p->failed = true;
        return;
    }
    struct print_operand a = print_widened(p, LLVMGetOperand(call, 0), is_signed);
    struct print_operand b = print_widened(p, LLVMGetOperand(call, 1), is_signed);
    print_pure(p, print_join(p, name, is_signed ? ".s" : ".u", widths[class], ""), print_part(p, call, 0), a, b);
}

/* ctpop, ctlz: of 32 or 64 bits, as a number of 32. */
static void count_bits(struct printer *p, LLVMValueRef call, bool leading)
{
    LLVMValueRef value = LLVMGetOperand(call, 0);
    enum print_class class = print_class_of(LLVMTypeOf(call));
    struct print_operand to = print_part(p, call, 0), from = print_register(p, value, 0), counted = to;
    if (class != CLASS_32)
        counted = print_fresh(p, CLASS_32);
    if (class == CLASS_16) {
        struct print_operand narrow = from;
        from = print_fresh(p, CLASS_32);
        narrow = print_in_register(p, print_widened(p, value, false));
        print_line(p, LINE_TEXT, "cvt.u32.u16 $0, $1;", 1, (struct print_operand[]){from, narrow}, 2);
    }
    bool wide = class == CLASS_64;
    const char *text = leading ? wide ? "clz.b64 $0, $1;" : "clz.b32 $0, $1;"
                       : wide  ? "popc.b64 $0, $1;"
                               : "popc.b32 $0, $1;";
    print_line(p, LINE_TEXT, text, 1, (struct print_operand[]){counted, from}, 2);
    if (class == CLASS_16 && leading) {
        struct print_operand less = print_fresh(p, CLASS_32);
        unsigned over = 32 - LLVMGetIntTypeWidth(LLVMTypeOf(value));
        print_pure(p, "sub.s32 $0, $1, $2;", less, counted, print_number(p, (int64_t)over));
        counted = less;
    }
    if (class != CLASS_32)
        print_line(p, LINE_TEXT, wide ? "cvt.u64.u32 $0, $1;" : "cvt.u16.u32 $0, $1;", 1,
                   (struct print_operand[]){to, counted}, 2);
    if (class == CLASS_NONE || class == CLASS_PREDICATE)
        p->failed = true;
}

static void absolute(struct printer *p, LLVMValueRef call)
{
    static const char *const texts[CLASS_COUNT] = {"", "abs.s16 $0, $1;", "abs.s32 $0, $1;", "abs.s64 $0, $1;"};
    enum print_class class = print_class_of(LLVMTypeOf(call));
    if (class == CLASS_NONE || class == CLASS_PREDICATE) {
        p->failed = true;
        return;
    }
    struct print_operand from = print_in_register(p, print_widened(p, LLVMGetOperand(call, 0), true));
    print_line(p, LINE_TEXT, texts[class], 1, (struct print_operand[]){print_part(p, call, 0), from}, 2);
}

/* a - b, 0 where that is negative */
static void subtract_to_zero(struct printer *p, LLVMValueRef call)
{
    enum print_class class = print_class_of(LLVMTypeOf(call));
    bool wide = class == CLASS_64;
    if (class != CLASS_32 && !wide) {
        p->failed = true;
        return;
    }
    struct print_operand a = print_read(p, LLVMGetOperand(call, 0), true), most = print_fresh(p, class);
    struct print_operand b = print_read(p, LLVMGetOperand(call, 1), true);
    print_pure(p, wide ? "max.u64 $0, $1, $2;" : "max.u32 $0, $1, $2;", most, a, b);
    print_pure(p, wide ? "sub.s64 $0, $1, $2;" : "sub.s32 $0, $1, $2;", print_part(p, call, 0), most, b);
}

/* The upper half of a:b shifted to the left by a constant, or the lower half to the right, which LLVM's passes make of
 * two shifts. */
static void funnel_shift(struct printer *p, LLVMValueRef call, bool left)
{
    enum print_class class = print_class_of(LLVMTypeOf(call));
    bool wide = class == CLASS_64;
    int64_t by, bits = wide ? 64 : 32;
    if ((class != CLASS_32 && !wide) || !print_constant_number(LLVMGetOperand(call, 2), &by) || by <= 0 || by >= bits) {
        p->failed = true;
        return;
    }
    struct print_operand high = print_fresh(p, class), low = print_fresh(p, class);
    print_pure(p, wide ? "shl.b64 $0, $1, $2;" : "shl.b32 $0, $1, $2;", high,
               print_register(p, LLVMGetOperand(call, 0), 0), print_number(p, left ? by : bits - by));
    print_pure(p, wide ? "shr.u64 $0, $1, $2;" : "shr.u32 $0, $1, $2;", low,
               print_register(p, LLVMGetOperand(call, 1), 0), print_number(p, left ? bits - by : by));
    print_pure(p, wide ? "or.b64 $0, $1, $2;" : "or.b32 $0, $1, $2;", print_part(p, call, 0), high, low);
}

/* a + b and whether that was more than the bits hold */
static void add_with_carry(struct printer *p, LLVMValueRef call)
{
    const struct print_value of = *print_value(p, call);
    struct print_operand a = print_register(p, LLVMGetOperand(call, 0), 0);
    enum print_class class = print_class_of(LLVMTypeOf(LLVMGetOperand(call, 0)));
    bool wide = class == CLASS_64;
    if ((class != CLASS_32 && !wide) || of.count != 2) {
        p->failed = true;
        return;
    }
    print_pure(p, wide ? "add.s64 $0, $1, $2;" : "add.s32 $0, $1, $2;", of.parts[0], a,
               print_read(p, LLVMGetOperand(call, 1), true));
    print_pure(p, wide ? "setp.lt.u64 $0, $1, $2;" : "setp.lt.u32 $0, $1, $2;", of.parts[1], of.parts[0], a);
}

/* Whether a float is of some kinds, which LLVM's passes make of comparisons. */
static void is_of_kind(struct printer *p, LLVMValueRef call)
{
    enum { NAN = 3, INFINITE = 0x204, FINITE = 0x1f8, ALL = 0x3ff };
    LLVMValueRef value = LLVMGetOperand(call, 0);
    const char *type = real_type(p, LLVMTypeOf(value), false);
    int64_t kinds = 0;
    struct print_operand a = print_register(p, value, 0), to = print_part(p, call, 0);
    bool wide = LLVMGetTypeKind(LLVMTypeOf(value)) == LLVMDoubleTypeKind;
    print_constant_number(LLVMGetOperand(call, 1), &kinds);
    if (kinds == NAN || kinds == (ALL & ~NAN)) {
        print_pure(p, print_join(p, kinds == NAN ? "setp.nan." : "setp.num.", type, " $0, $1, $2;", ""), to, a, a);
    } else if (kinds == INFINITE || kinds == FINITE || kinds == (ALL & ~INFINITE) || kinds == (ALL & ~FINITE)) {
        struct print_operand size = print_fresh(p, wide ? CLASS_64 : CLASS_32);
        const char *name = kinds == INFINITE            ? "setp.eq."
                           : kinds == FINITE            ? "setp.lt."
                           : kinds == (ALL & ~INFINITE) ? "setp.neu."
                                                        : "setp.geu.";
        const char *text = print_join(p, name, type, " $0, $1, $2;", "");
        print_line(p, LINE_TEXT, print_join(p, "abs.", type, " $0, $1;", ""), 1, (struct print_operand[]){size, a}, 2);
        print_pure(p, text, to, size, print_text(wide ? "0d7FF0000000000000" : "0f7F800000"));
    } else {
        p->failed = true;
    }
}

static void print_intrinsic(struct printer *p, LLVMValueRef call, const char *name)
{
    static const struct {
        const char *name, *text;
    } round[] = {{"trunc.", "cvt.rzi."},
                 {"floor.", "cvt.rmi."},
                 {"ceil.", "cvt.rpi."},
                 {"roundeven.", "cvt.rni."},
                 {"rint.", "cvt.rni."}};
    static const struct {
        const char *name, *text;
        bool is_signed;
    } extreme[] = {{"smin.", "min", true}, {"smax.", "max", true}, {"umin.", "min", false}, {"umax.", "max", false}};
    if (begins(name, "assume"))
        return;
    if (begins(name, "nvvm.read.ptx.sreg.")) {
        special_register(p, call, name + strlen("nvvm.read.ptx.sreg."));
        return;
    }
    for (int i = 0; i < 4; i++)
        if (begins(name, extreme[i].name)) {
            integer_extreme(p, call, extreme[i].text, extreme[i].is_signed);
            return;
        }
    for (int i = 0; i < 5; i++)
        if (begins(name, round[i].name)) {
            real_unary(p, call, round[i].text, true);
            return;
        }
    if (begins(name, "fma."))
        fused(p, call);
    else if (begins(name, "fabs."))
        real_unary(p, call, "abs.", false);
    else if (begins(name, "is.fpclass."))
        is_of_kind(p, call);
    else if (begins(name, "uadd.with.overflow."))
        add_with_carry(p, call);
    else if (begins(name, "ctpop."))
        count_bits(p, call, false);
    else if (begins(name, "ctlz."))
        count_bits(p, call, true);
    else if (begins(name, "abs."))
        absolute(p, call);
    else if (begins(name, "fshl."))
        funnel_shift(p, call, true);
    else if (begins(name, "fshr."))
        funnel_shift(p, call, false);
    else if (begins(name, "usub.sat."))
        subtract_to_zero(p, call);
    else
        p->failed = true;
}

void print_call(struct printer *p, LLVMValueRef call)
{
    LLVMValueRef called = LLVMGetCalledValue(call);
    if (LLVMIsAInlineAsm(called)) {
        print_assembly(p, call, called);
        return;
    }
    size_t size;
    const char *name = LLVMIsAFunction(called) ? LLVMGetValueName2(called, &size) : "";
    if (begins(name, "llvm."))
        print_intrinsic(p, call, name + 5);
    else
        p->failed = true;
}
