/* Lines for instructions that compute: arithmetic, comparisons, choices. */
#include "targets/nvptx/assemble/print.h"

static bool is_float_type(LLVMTypeRef type)
{
    LLVMTypeKind kind = LLVMGetTypeKind(type);
    return kind == LLVMFloatTypeKind || kind == LLVMDoubleTypeKind || kind == LLVMHalfTypeKind;
}

/* Of floats: f32, f64, f16, f16x2. */
static const char *float_name(struct printer *p, LLVMTypeRef type)
{
    switch (LLVMGetTypeKind(type)) {
    case LLVMFloatTypeKind: return "f32";
    case LLVMDoubleTypeKind: return "f64";
    case LLVMHalfTypeKind: return "f16";
    case LLVMVectorTypeKind:
        if (LLVMGetVectorSize(type) == 2 && LLVMGetTypeKind(LLVMGetElementType(type)) == LLVMHalfTypeKind)
            return "f16x2";
        break;
    default: break;
    }
    p->failed = true;
    return "f32";
}

/* Halves are taken from registers alone. */
static struct print_operand read_float(struct printer *p, LLVMValueRef value)
{
    LLVMTypeKind kind = LLVMGetTypeKind(LLVMTypeOf(value));
    if (kind == LLVMFloatTypeKind || kind == LLVMDoubleTypeKind)
        return print_read(p, value, true);
    return print_register(p, value, 0);
}

static const char *const width_name[CLASS_COUNT] = {"pred", "16", "32", "64"};

/* ---- floats ---- */

static bool contracts(LLVMValueRef value)
{
    return LLVMCanValueUseFastMathFlags(value) && LLVMGetFastMathFlags(value) & LLVMFastMathAllowContract;
}

static int uses_of(LLVMValueRef value)
{
    int count = 0;
    for (LLVMUseRef use = LLVMGetFirstUse(value); use; use = LLVMGetNextUse(use))
        count++;
    return count;
}

/* A product in the same block that may be rounded together with the sum. */
static bool is_product(LLVMValueRef value, LLVMValueRef sum)
{
    return LLVMIsAInstruction(value) && LLVMGetInstructionOpcode(value) == LLVMFMul && contracts(value) &&
           LLVMGetInstructionParent(value) == LLVMGetInstructionParent(sum);
}

static struct print_operand negated(struct printer *p, LLVMValueRef value)
{
    struct print_operand to = print_fresh(p, print_class_of(LLVMTypeOf(value)));
    const char *text = print_join(p, "neg.", float_name(p, LLVMTypeOf(value)), " $0, $1;", "");
    print_line(p, LINE_TEXT, text, 1, (struct print_operand[]){to, read_float(p, value)}, 2);
    return to;
}

/* fadd and fsub of a product: fma.  Where both operands are, that which fewer others use, as LLVM does. */
static bool contract_sum(struct printer *p, LLVMValueRef sum, bool subtract)
{
    if (!contracts(sum) || !is_float_type(LLVMTypeOf(sum)))
        return false;
    LLVMValueRef operand[2] = {LLVMGetOperand(sum, 0), LLVMGetOperand(sum, 1)};
    bool product[2] = {is_product(operand[0], sum), is_product(operand[1], sum)};
    if (!product[0] && !product[1])
        return false;
    int with = product[0] ? 0 : 1;
    if (product[0] && product[1] && uses_of(operand[0]) > uses_of(operand[1]))
        with = 1;
    LLVMValueRef a = LLVMGetOperand(operand[with], 0), b = LLVMGetOperand(operand[with], 1), c = operand[1 - with];
    const char *text = print_join(p, "fma.rn.", float_name(p, LLVMTypeOf(sum)), " $0, $1, $2, $3;", "");
    struct print_operand parts[4] = {print_part(p, sum, 0)};
    parts[1] = subtract && with == 1 ? negated(p, a) : read_float(p, a);
    parts[2] = read_float(p, b);
    parts[3] = subtract && with == 0 ? negated(p, c) : read_float(p, c);
    print_line(p, LINE_TEXT, text, 1, parts, 4);
    return true;
}

static bool is_one(LLVMValueRef value)
{
    LLVMBool loses;
    return LLVMIsAConstantFP(value) && LLVMConstRealGetDouble(value, &loses) == 1.0;
}

/* PTX divides no halves: as f32, which has more than twice their bits, so that rounding twice is rounding once. */
static void divide_halves(struct printer *p, LLVMValueRef value)
{
    struct print_operand wide[3];
    for (int i = 0; i < 3; i++)
        wide[i] = print_fresh(p, CLASS_32);
    for (int i = 0; i < 2; i++)
        print_line(p, LINE_TEXT, "cvt.f32.f16 $0, $1;", 1,
                   (struct print_operand[]){wide[i], print_register(p, LLVMGetOperand(value, (unsigned)i), 0)}, 2);
    print_pure(p, "div.rn.f32 $0, $1, $2;", wide[2], wide[0], wide[1]);
    print_line(p, LINE_TEXT, "cvt.rn.f16.f32 $0, $1;", 1, (struct print_operand[]){print_part(p, value, 0), wide[2]},
               2);
}

static void float_binary(struct printer *p, LLVMValueRef value, const char *name)
{
    LLVMValueRef a = LLVMGetOperand(value, 0), b = LLVMGetOperand(value, 1);
    struct print_operand to = print_part(p, value, 0);
    const char *type = float_name(p, LLVMTypeOf(value));
    if (LLVMGetInstructionOpcode(value) == LLVMFDiv && LLVMGetTypeKind(LLVMTypeOf(a)) == LLVMHalfTypeKind) {
        divide_halves(p, value);
        return;
    }
    if (LLVMGetInstructionOpcode(value) == LLVMFDiv && LLVMGetTypeKind(LLVMTypeOf(a)) == LLVMVectorTypeKind)
        p->failed = true;
    if (LLVMGetInstructionOpcode(value) == LLVMFDiv && is_one(a)) {
        print_line(p, LINE_TEXT, print_join(p, "rcp.rn.", type, " $0, $1;", ""), 1,
                   (struct print_operand[]){to, read_float(p, b)}, 2);
        return;
    }
    print_pure(p, print_join(p, name, ".rn.", type, " $0, $1, $2;"), to, read_float(p, a), read_float(p, b));
}

static void float_compare(struct printer *p, LLVMValueRef value)
{
    static const char *const names[] = {
        [LLVMRealOEQ] = "eq",  [LLVMRealOGT] = "gt",  [LLVMRealOGE] = "ge",          [LLVMRealOLT] = "lt",
        [LLVMRealOLE] = "le",  [LLVMRealONE] = "ne",  [LLVMRealORD] = "num",         [LLVMRealUNO] = "nan",
        [LLVMRealUEQ] = "equ", [LLVMRealUGT] = "gtu", [LLVMRealUGE] = "geu",         [LLVMRealULT] = "ltu",
        [LLVMRealULE] = "leu", [LLVMRealUNE] = "neu", [LLVMRealPredicateTrue] = NULL};
    LLVMValueRef a = LLVMGetOperand(value, 0), b = LLVMGetOperand(value, 1);
    const char *name = names[LLVMGetFCmpPredicate(value)];
    if (!name || !is_float_type(LLVMTypeOf(a))) {
        p->failed = true;
        return;
    }
    const char *text = print_join(p, "setp.", name, print_join(p, ".", float_name(p, LLVMTypeOf(a)), "", ""),
                                  " $0, $1, $2;");
    print_pure(p, text, print_part(p, value, 0), read_float(p, a), read_float(p, b));
}

static void float_negate(struct printer *p, LLVMValueRef value)
{
    LLVMValueRef a = LLVMGetOperand(value, 0);
    const char *text = print_join(p, "neg.", float_name(p, LLVMTypeOf(a)), " $0, $1;", "");
    print_line(p, LINE_TEXT, text, 1, (struct print_operand[]){print_part(p, value, 0), read_float(p, a)}, 2);
}

/* ---- integers ---- */

/* mul.wide: a product in 64 bits of what 32 hold. */
static bool wide_product(struct printer *p, LLVMValueRef value)
{
    LLVMValueRef a = LLVMGetOperand(value, 0), b = LLVMGetOperand(value, 1);
    bool is_shift = LLVMGetInstructionOpcode(value) == LLVMShl;
    if (print_class_of(LLVMTypeOf(value)) != CLASS_64)
        return false;
    for (int is_signed = 0; is_signed < 2; is_signed++) {
        LLVMValueRef narrow = print_narrow(a, 32, is_signed);
        int64_t number;
        if (!narrow)
            continue;
        const char *text = is_signed ? "mul.wide.s32 $0, $1, $2;" : "mul.wide.u32 $0, $1, $2;";
        struct print_operand by;
        if (print_constant_number(b, &number)) {
            if (is_shift && (number < 0 || number > 30))
                return false;
            if (is_shift)
                number = (int64_t)1 << number;
            if (is_signed ? number < INT32_MIN || number > INT32_MAX : number < 0 || number > UINT32_MAX)
                return false;
            by = print_number(p, number);
        } else {
            LLVMValueRef second = is_shift ? NULL : print_narrow(b, 32, is_signed);
            if (!second)
                continue;
            by = print_read(p, second, true);
        }
        print_pure(p, text, print_part(p, value, 0), print_read(p, narrow, true), by);
        return true;
    }
    return false;
}

static void integer_binary(struct printer *p, LLVMValueRef value, const char *name, const char *type)
{
    LLVMTypeRef of = LLVMTypeOf(value);
    enum print_class class = print_class_of(of);
    if (class == CLASS_NONE || class == CLASS_PREDICATE) {
        p->failed = true;
        return;
    }
    const char *text = print_join(p, name, type, width_name[class], " $0, $1, $2;");
    print_pure(p, text, print_part(p, value, 0), print_read(p, LLVMGetOperand(value, 0), true),
               print_read(p, LLVMGetOperand(value, 1), true));
}

/* Bits above those of i8 count in divisions, comparisons and shifts to the right. */
static void integer_whole(struct printer *p, LLVMValueRef value, const char *name, bool is_signed)
{
    enum print_class class = print_class_of(LLVMTypeOf(value));
    if (class == CLASS_NONE || class == CLASS_PREDICATE) {
        p->failed = true;
        return;
    }
    const char *text = print_join(p, name, is_signed ? ".s" : ".u", width_name[class], " $0, $1, $2;");
    print_pure(p, text, print_part(p, value, 0), print_widened(p, LLVMGetOperand(value, 0), is_signed),
               print_widened(p, LLVMGetOperand(value, 1), is_signed));
}

/* The division of the same numbers in the same block, or NULL. */
static LLVMValueRef quotient_of(LLVMValueRef rest)
{
    LLVMOpcode opcode = LLVMGetInstructionOpcode(rest) == LLVMURem ? LLVMUDiv : LLVMSDiv;
    LLVMValueRef a = LLVMGetOperand(rest, 0), b = LLVMGetOperand(rest, 1);
    LLVMValueRef by = LLVMIsAConstant(a) ? b : a;
    if (LLVMIsAConstant(by))
        return NULL;
    for (LLVMUseRef use = LLVMGetFirstUse(by); use; use = LLVMGetNextUse(use)) {
        LLVMValueRef user = LLVMGetUser(use);
        if (LLVMIsAInstruction(user) && LLVMGetInstructionOpcode(user) == opcode &&
            LLVMGetInstructionParent(user) == LLVMGetInstructionParent(rest) && LLVMGetOperand(user, 0) == a &&
            LLVMGetOperand(user, 1) == b)
            return user;
    }
    return NULL;
}

static void divide(struct printer *p, LLVMValueRef value, bool is_signed)
{
    struct print_operand to = print_part(p, value, 0);
    if (to.variable < 0 || p->variables.data[to.variable].line >= 0)
        return; /* the remainder wanted it before */
    integer_whole(p, value, "div", is_signed);
}

/* a % b = a - a / b * b where the quotient is wanted, too. */
static void remainder_of(struct printer *p, LLVMValueRef value, bool is_signed)
{
    LLVMValueRef quotient = quotient_of(value);
    enum print_class class = print_class_of(LLVMTypeOf(value));
    if (!quotient || (class != CLASS_32 && class != CLASS_64)) {
        integer_whole(p, value, "rem", is_signed);
        return;
    }
    bool wide = class == CLASS_64;
    divide(p, quotient, is_signed);
    struct print_operand product = print_fresh(p, class);
    print_pure(p, wide ? "mul.lo.s64 $0, $1, $2;" : "mul.lo.s32 $0, $1, $2;", product, print_part(p, quotient, 0),
               print_read(p, LLVMGetOperand(value, 1), true));
    print_pure(p, wide ? "sub.s64 $0, $1, $2;" : "sub.s32 $0, $1, $2;", print_part(p, value, 0),
               print_read(p, LLVMGetOperand(value, 0), true), product);
}

static void shift(struct printer *p, LLVMValueRef value, const char *name, bool right, bool is_signed)
{
    LLVMValueRef a = LLVMGetOperand(value, 0), by = LLVMGetOperand(value, 1);
    enum print_class class = print_class_of(LLVMTypeOf(value));
    struct print_operand amount;
    int64_t number;
    if (class == CLASS_NONE)
        return; /* the product of 64 bits in 128: whoever cuts it off makes it */
    if (class == CLASS_PREDICATE) {
        p->failed = true;
        return;
    }
    if (print_constant_number(by, &number))
        amount = print_number(p, number);
    else if (class == CLASS_32)
        amount = print_read(p, by, false);
    else {
        bool wide = class == CLASS_64;
        amount = print_fresh(p, CLASS_32);
        struct print_operand whole = print_in_register(p, wide ? print_part(p, by, 0) : print_widened(p, by, false));
        print_line(p, LINE_TEXT, wide ? "cvt.u32.u64 $0, $1;" : "cvt.u32.u16 $0, $1;", 1,
                   (struct print_operand[]){amount, whole}, 2);
    }
    const char *text = print_join(p, name, width_name[class], " $0, $1, $2;", "");
    struct print_operand shifted = right ? print_widened(p, a, is_signed) : print_read(p, a, true);
    print_pure(p, text, print_part(p, value, 0), shifted, amount);
}

static bool is_all_ones(LLVMValueRef value)
{
    int64_t number;
    return print_constant_number(value, &number) && number == -1;
}

/* and, or, xor */
static void logical(struct printer *p, LLVMValueRef value, const char *name)
{
    LLVMValueRef a = LLVMGetOperand(value, 0), b = LLVMGetOperand(value, 1);
    enum print_class class = print_class_of(LLVMTypeOf(value));
    if (class == CLASS_NONE) {
        p->failed = true;
        return;
    }
    const char *type = print_join(p, class == CLASS_PREDICATE ? ".pred" : ".b",
                                  class == CLASS_PREDICATE ? "" : width_name[class], "", "");
    struct print_operand to = print_part(p, value, 0);
    if (LLVMGetInstructionOpcode(value) == LLVMXor && is_all_ones(b)) {
        print_line(p, LINE_TEXT, print_join(p, "not", type, " $0, $1;", ""), 1,
                   (struct print_operand[]){to, print_read(p, a, true)}, 2);
        return;
    }
    print_pure(p, print_join(p, name, type, " $0, $1, $2;", ""), to, print_read(p, a, true), print_read(p, b, true));
}

static void integer_compare(struct printer *p, LLVMValueRef value)
{
    static const struct {
        const char *name;
        bool is_signed;
    } names[] = {[LLVMIntEQ] = {"eq", true},   [LLVMIntNE] = {"ne", true},   [LLVMIntUGT] = {"gt", false},
                 [LLVMIntUGE] = {"ge", false}, [LLVMIntULT] = {"lt", false}, [LLVMIntULE] = {"le", false},
                 [LLVMIntSGT] = {"gt", true},  [LLVMIntSGE] = {"ge", true},  [LLVMIntSLT] = {"lt", true},
                 [LLVMIntSLE] = {"le", true}};
    LLVMValueRef a = LLVMGetOperand(value, 0), b = LLVMGetOperand(value, 1);
    LLVMIntPredicate predicate = LLVMGetICmpPredicate(value);
    enum print_class class = print_class_of(LLVMTypeOf(a));
    struct print_operand to = print_part(p, value, 0);
    if (class == CLASS_NONE) {
        p->failed = true;
    } else if (class == CLASS_PREDICATE) {
        bool equal = predicate == LLVMIntEQ;
        if (!equal && predicate != LLVMIntNE)
            p->failed = true;
        struct print_operand differ = equal ? print_fresh(p, CLASS_PREDICATE) : to;
        print_pure(p, "xor.pred $0, $1, $2;", differ, print_read(p, a, true), print_read(p, b, true));
        if (equal)
            print_line(p, LINE_TEXT, "not.pred $0, $1;", 1, (struct print_operand[]){to, differ}, 2);
    } else {
        bool is_signed = names[predicate].is_signed;
        const char *text = print_join(p, print_join(p, "setp.", names[predicate].name, "", ""), is_signed ? ".s" : ".u",
                                      width_name[class], " $0, $1, $2;");
        print_pure(p, text, to, print_widened(p, a, is_signed), print_widened(p, b, is_signed));
    }
}

/* ---- choices ---- */

static struct print_operand not_of(struct printer *p, struct print_operand a)
{
    struct print_operand to = print_fresh(p, CLASS_PREDICATE);
    print_line(p, LINE_TEXT, "not.pred $0, $1;", 1, (struct print_operand[]){to, a}, 2);
    return to;
}

static void select_predicate(struct printer *p, LLVMValueRef value)
{
    LLVMValueRef a = LLVMGetOperand(value, 1), b = LLVMGetOperand(value, 2);
    struct print_operand to = print_part(p, value, 0), when = print_register(p, LLVMGetOperand(value, 0), 0);
    int64_t constant;
    if (print_constant_number(b, &constant)) {
        if (!constant)
            print_pure(p, "and.pred $0, $1, $2;", to, when, print_read(p, a, true));
        else
            print_pure(p, "or.pred $0, $1, $2;", to, not_of(p, when), print_read(p, a, true));
    } else if (print_constant_number(a, &constant)) {
        if (constant)
            print_pure(p, "or.pred $0, $1, $2;", to, when, print_read(p, b, true));
        else
            print_pure(p, "and.pred $0, $1, $2;", to, not_of(p, when), print_read(p, b, true));
    } else {
        struct print_operand first = print_fresh(p, CLASS_PREDICATE), second = print_fresh(p, CLASS_PREDICATE);
        print_pure(p, "and.pred $0, $1, $2;", first, when, print_read(p, a, true));
        print_pure(p, "and.pred $0, $1, $2;", second, not_of(p, when), print_read(p, b, true));
        print_pure(p, "or.pred $0, $1, $2;", to, first, second);
    }
}

static void choose(struct printer *p, LLVMValueRef value)
{
    static const char *const texts[CLASS_COUNT] = {"", "selp.b16 $0, $1, $2, $3;", "selp.b32 $0, $1, $2, $3;",
                                                   "selp.b64 $0, $1, $2, $3;"};
    LLVMTypeRef type = LLVMTypeOf(value);
    enum print_class class = print_class_of(type);
    if (class == CLASS_PREDICATE) {
        select_predicate(p, value);
        return;
    }
    if (class == CLASS_NONE) {
        p->failed = true;
        return;
    }
    const char *text = texts[class];
    if (LLVMGetTypeKind(type) == LLVMFloatTypeKind)
        text = "selp.f32 $0, $1, $2, $3;";
    if (LLVMGetTypeKind(type) == LLVMDoubleTypeKind)
        text = "selp.f64 $0, $1, $2, $3;";
    print_line(p, LINE_TEXT, text, 1,
               (struct print_operand[]){print_part(p, value, 0), print_read(p, LLVMGetOperand(value, 1), true),
                                        print_read(p, LLVMGetOperand(value, 2), true),
                                        print_register(p, LLVMGetOperand(value, 0), 0)},
               4);
}

/* ---- all ---- */

static bool print_arithmetic(struct printer *p, LLVMValueRef value, LLVMOpcode opcode)
{
    switch (opcode) {
    case LLVMFAdd:
        if (!contract_sum(p, value, false))
            float_binary(p, value, "add");
        return true;
    case LLVMFSub:
        if (!contract_sum(p, value, true))
            float_binary(p, value, "sub");
        return true;
    case LLVMFMul: float_binary(p, value, "mul"); return true;
    case LLVMFDiv: float_binary(p, value, "div"); return true;
    case LLVMFNeg: float_negate(p, value); return true;
    case LLVMFCmp: float_compare(p, value); return true;
    case LLVMICmp: integer_compare(p, value); return true;
    case LLVMAdd: integer_binary(p, value, "add", ".s"); return true;
    case LLVMSub: integer_binary(p, value, "sub", ".s"); return true;
    case LLVMMul:
        if (print_class_of(LLVMTypeOf(value)) == CLASS_NONE)
            return true; /* see shift */
        if (!wide_product(p, value))
            integer_binary(p, value, "mul.lo", ".s");
        return true;
    case LLVMUDiv: divide(p, value, false); return true;
    case LLVMSDiv: divide(p, value, true); return true;
    case LLVMURem: remainder_of(p, value, false); return true;
    case LLVMSRem: remainder_of(p, value, true); return true;
    case LLVMShl:
        if (!wide_product(p, value))
            shift(p, value, "shl.b", false, true);
        return true;
    case LLVMLShr: shift(p, value, "shr.u", true, false); return true;
    case LLVMAShr: shift(p, value, "shr.s", true, true); return true;
    case LLVMAnd: logical(p, value, "and"); return true;
    case LLVMOr: logical(p, value, "or"); return true;
    case LLVMXor: logical(p, value, "xor"); return true;
    case LLVMSelect: choose(p, value); return true;
    default: return false;
    }
}

/* One of two halves that share a register; false: the elements have registers of their own. */
static bool print_half(struct printer *p, LLVMValueRef value)
{
    static const char *const puts[] = {"{ .reg .b16 low, high; mov.b32 {low, high}, $1; mov.b32 $0, {$2, high}; }",
                                       "{ .reg .b16 low, high; mov.b32 {low, high}, $1; mov.b32 $0, {low, $2}; }"};
    static const char *const takes[] = {"{ .reg .b16 high; mov.b32 {$0, high}, $1; }",
                                        "{ .reg .b16 low; mov.b32 {low, $0}, $1; }"};
    bool put = LLVMGetInstructionOpcode(value) == LLVMInsertElement;
    LLVMValueRef pair = LLVMGetOperand(value, 0);
    int64_t at;
    if (!print_is_pair(LLVMTypeOf(pair)))
        return false;
    if (!print_constant_number(LLVMGetOperand(value, put ? 2 : 1), &at) || at < 0 || at > 1) {
        p->failed = true;
        return true;
    }
    struct print_operand operands[3] = {print_part(p, value, 0), print_register(p, pair, 0)};
    if (put)
        operands[2] = print_register(p, LLVMGetOperand(value, 1), 0);
    print_line(p, LINE_TEXT, put ? puts[at] : takes[at], 1, operands, put ? 3 : 2);
    return true;
}

void print_instruction(struct printer *p, LLVMValueRef value)
{
    LLVMOpcode opcode = LLVMGetInstructionOpcode(value);
    if (print_arithmetic(p, value, opcode))
        return;
    switch (opcode) {
    case LLVMCall: print_call(p, value); return;
    case LLVMLoad: print_load(p, value); return;
    case LLVMStore: print_store(p, value); return;
    case LLVMGetElementPtr: print_element_pointer(p, value); return;
    case LLVMTrunc:
    case LLVMZExt:
    case LLVMSExt:
    case LLVMFPTrunc:
    case LLVMFPExt:
    case LLVMSIToFP:
    case LLVMUIToFP: print_cast(p, value); return;
    case LLVMBitCast:
    case LLVMPtrToInt:
    case LLVMIntToPtr:
    case LLVMFreeze: {
        /* another name, or nothing that is known here */
        const struct print_value *of = print_value(p, value), *from = print_value(p, LLVMGetOperand(value, 0));
        if (of->parts != from->parts)
            p->failed = true;
        return;
    }
    case LLVMExtractElement:
    case LLVMInsertElement:
        if (print_half(p, value))
            return;
        /* fall through */
    case LLVMExtractValue: print_value(p, value); return;
    default: p->failed = true;
    }
}
