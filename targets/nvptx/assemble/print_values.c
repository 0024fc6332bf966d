/* Values of LLVM as registers and constants of PTX. */
#include "targets/nvptx/assemble/print.h"

#include <string.h>

const char *const print_moves[CLASS_COUNT] = {"mov.pred $0, $1;", "mov.b16 $0, $1;", "mov.b32 $0, $1;",
                                              "mov.b64 $0, $1;"};

enum print_class print_class_of(LLVMTypeRef type)
{
    switch (LLVMGetTypeKind(type)) {
    case LLVMIntegerTypeKind:
        switch (LLVMGetIntTypeWidth(type)) {
        case 1: return CLASS_PREDICATE;
        case 8:
        case 16: return CLASS_16;
        case 32: return CLASS_32;
        case 64: return CLASS_64;
        default: return CLASS_NONE;
        }
    case LLVMHalfTypeKind: return CLASS_16;
    case LLVMFloatTypeKind: return CLASS_32;
    case LLVMDoubleTypeKind:
    case LLVMPointerTypeKind: return CLASS_64;
    default: return CLASS_NONE;
    }
}

bool print_is_pair(LLVMTypeRef type)
{
    return LLVMGetTypeKind(type) == LLVMVectorTypeKind && LLVMGetVectorSize(type) == 2 &&
           LLVMGetTypeKind(LLVMGetElementType(type)) == LLVMHalfTypeKind;
}

/* Numbers a value of the type consists of; all are of one class but in structs, where *class is that of the first. */
int print_parts_of(struct printer *p, LLVMTypeRef type, enum print_class *class)
{
    LLVMTypeKind kind = LLVMGetTypeKind(type);
    int count = 1;
    if (print_is_pair(type)) {
        *class = CLASS_32;
        return 1;
    }
    if (kind == LLVMVectorTypeKind) {
        count = (int)LLVMGetVectorSize(type);
        type = LLVMGetElementType(type);
    } else if (kind == LLVMStructTypeKind) {
        count = (int)LLVMCountStructElementTypes(type);
        if (count)
            type = LLVMStructGetTypeAtIndex(type, 0);
    }
    *class = print_class_of(type);
    if (*class == CLASS_NONE)
        p->failed = true;
    return count;
}

int print_variable(struct printer *p, enum print_class class)
{
    struct print_variable variable = {.class = class, .line = -1, .leader = p->variables.count};
    if (class >= CLASS_COUNT) {
        p->failed = true;
        variable.class = CLASS_32;
    }
    vector_push(p->arena, &p->variables, variable);
    return p->variables.count - 1;
}

struct print_operand print_fresh(struct printer *p, enum print_class class)
{
    return (struct print_operand){.variable = print_variable(p, class)};
}

struct print_operand print_text(const char *text) { return (struct print_operand){.variable = -1, .text = text}; }

const char *print_join(struct printer *p, const char *a, const char *b, const char *c, const char *d)
{
    size_t sizes[4] = {strlen(a), strlen(b), strlen(c), strlen(d)};
    char *text = arena_alloc(p->arena, sizes[0] + sizes[1] + sizes[2] + sizes[3] + 1), *at = text;
    memcpy(at, a, sizes[0]);
    memcpy(at += sizes[0], b, sizes[1]);
    memcpy(at += sizes[1], c, sizes[2]);
    memcpy(at += sizes[2], d, sizes[3]);
    return text;
}

struct print_operand print_number(struct printer *p, int64_t number)
{
    char digits[24], *at = digits + sizeof digits;
    uint64_t rest = number < 0 ? 0 - (uint64_t)number : (uint64_t)number;
    *--at = '\0';
    do
        *--at = (char)('0' + rest % 10);
    while (rest /= 10);
    if (number < 0)
        *--at = '-';
    return print_text(arena_substring(p->arena, at, (size_t)(digits + sizeof digits - 1 - at)));
}

/* ---- the table of values ---- */

static struct print_value *find(struct print_value *table, int size, LLVMValueRef value)
{
    uint64_t hash = (uint64_t)(uintptr_t)value * 0x9e3779b97f4a7c15u;
    for (int i = (int)(hash >> 40) & (size - 1);; i = (i + 1) & (size - 1))
        if (!table[i].value || table[i].value == value)
            return &table[i];
}

static void grow(struct printer *p)
{
    int size = p->table_size ? 2 * p->table_size : 4096;
    struct print_value *table = ARENA_ARRAY(p->arena, struct print_value, size);
    for (int i = 0; i < p->table_size; i++)
        if (p->table[i].value)
            *find(table, size, p->table[i].value) = p->table[i];
    p->table = table;
    p->table_size = size;
}

static void make_variables(struct printer *p, struct print_value *of, LLVMTypeRef type)
{
    enum print_class class;
    bool is_struct = LLVMGetTypeKind(type) == LLVMStructTypeKind;
    of->count = print_parts_of(p, type, &class);
    of->parts = ARENA_ARRAY(p->arena, struct print_operand, of->count);
    for (int i = 0; i < of->count; i++) {
        if (is_struct)
            class = print_class_of(LLVMStructGetTypeAtIndex(type, (unsigned)i));
        of->parts[i] = print_fresh(p, class);
    }
}

static void take_constant(struct printer *p, struct print_value *of, LLVMValueRef value)
{
    LLVMTypeRef type = LLVMTypeOf(value);
    enum print_class class;
    of->count = print_parts_of(p, type, &class);
    of->parts = ARENA_ARRAY(p->arena, struct print_operand, of->count);
    LLVMTypeKind kind = LLVMGetTypeKind(type);
    for (int i = 0; i < of->count; i++) {
        LLVMValueRef element = value;
        if ((kind == LLVMVectorTypeKind && !print_is_pair(type)) || kind == LLVMStructTypeKind)
            element = LLVMGetAggregateElement(value, (unsigned)i);
        if (!element)
            p->failed = true;
        of->parts[i] = (struct print_operand){.variable = -1, .constant = element ? element : value};
    }
}

static void rename_parts(struct print_value *of, const struct print_value *source)
{
    of->parts = source->parts;
    of->count = source->count;
}

static void insert_part(struct printer *p, struct print_value *of, LLVMValueRef value)
{
    const struct print_value source = *print_value(p, LLVMGetOperand(value, 0));
    LLVMValueRef index = LLVMGetOperand(value, 2);
    int64_t at = 0;
    of->count = source.count;
    of->parts = arena_copy(p->arena, source.parts, (size_t)source.count * sizeof *source.parts);
    if (!print_constant_number(index, &at) || at < 0 || at >= of->count)
        p->failed = true;
    else
        of->parts[at] = print_part(p, LLVMGetOperand(value, 1), 0);
}

static void take_part(struct printer *p, struct print_value *of, LLVMValueRef value)
{
    const struct print_value source = *print_value(p, LLVMGetOperand(value, 0));
    int64_t at = -1;
    if (LLVMGetInstructionOpcode(value) == LLVMExtractValue)
        at = *LLVMGetIndices(value);
    else if (!print_constant_number(LLVMGetOperand(value, 1), &at))
        at = -1;
    if (at < 0 || at >= source.count) {
        p->failed = true;
        make_variables(p, of, LLVMTypeOf(value));
        return;
    }
    of->parts = source.parts + at;
    of->count = 1;
}

static bool same_parts(struct printer *p, LLVMTypeRef a, LLVMTypeRef b)
{
    enum print_class class_a, class_b;
    return print_parts_of(p, a, &class_a) == print_parts_of(p, b, &class_b) && class_a == class_b;
}

static void fill_value(struct printer *p, struct print_value *of, LLVMValueRef value)
{
    LLVMValueRef from = NULL;
    switch (LLVMGetInstructionOpcode(value)) {
    case LLVMExtractElement:
        if (print_is_pair(LLVMTypeOf(LLVMGetOperand(value, 0))))
            break;
        /* fall through */
    case LLVMExtractValue: take_part(p, of, value); return;
    case LLVMInsertElement:
        if (print_is_pair(LLVMTypeOf(value)))
            break;
        insert_part(p, of, value);
        return;
    case LLVMTrunc: /* i16 to i8: what is above does not count */
        from = LLVMGetOperand(value, 0);
        if (print_class_of(LLVMTypeOf(value)) != CLASS_16 || print_class_of(LLVMTypeOf(from)) != CLASS_16)
            from = NULL;
        break;
    case LLVMBitCast:
    case LLVMPtrToInt:
    case LLVMIntToPtr:
    case LLVMFreeze:
        from = LLVMGetOperand(value, 0);
        if (!same_parts(p, LLVMTypeOf(from), LLVMTypeOf(value)))
            from = NULL;
        break;
    default: break;
    }
    if (!from) {
        make_variables(p, of, LLVMTypeOf(value));
        return;
    }
    const struct print_value source = *print_value(p, from);
    rename_parts(of, &source);
    if (LLVMGetTypeKind(LLVMTypeOf(value)) == LLVMGetTypeKind(LLVMTypeOf(from)))
        return;
    for (int i = 0; i < of->count; i++) /* the text of a constant depends on its type */
        if (of->parts[i].variable < 0)
            p->failed = true;
}

struct print_value *print_value(struct printer *p, LLVMValueRef value)
{
    if (2 * p->table_count >= p->table_size)
        grow(p);
    struct print_value *found = find(p->table, p->table_size, value);
    if (found->value)
        return found;
    struct print_value made = {.value = value};
    if (LLVMIsAInstruction(value))
        fill_value(p, &made, value);
    else if (LLVMIsAConstant(value))
        take_constant(p, &made, value);
    else
        make_variables(p, &made, LLVMTypeOf(value)); /* an argument */
    p->table_count++;
    found = find(p->table, p->table_size, value); /* filling may have made others */
    *found = made;
    return found;
}

struct print_operand print_part(struct printer *p, LLVMValueRef value, int part)
{
    const struct print_value *found = print_value(p, value);
    if (part < found->count)
        return found->parts[part];
    p->failed = true;
    return print_text("0");
}

void print_value_of_block(struct printer *p, LLVMBasicBlockRef block, int number)
{
    if (2 * p->table_count >= p->table_size)
        grow(p);
    LLVMValueRef value = LLVMBasicBlockAsValue(block);
    *find(p->table, p->table_size, value) = (struct print_value){.value = value, .count = number};
    p->table_count++;
}

int print_block_number(const struct printer *p, LLVMBasicBlockRef block)
{
    const struct print_value *found = find(p->table, p->table_size, LLVMBasicBlockAsValue(block));
    return found->value ? found->count : -1;
}

/* ---- constants ---- */

bool print_constant_number(LLVMValueRef value, int64_t *number)
{
    if (!LLVMIsAConstantInt(value) || LLVMGetIntTypeWidth(LLVMTypeOf(value)) > 64)
        return false;
    *number = LLVMConstIntGetSExtValue(value);
    return true;
}

bool print_shared_offset(LLVMValueRef value, int64_t *offset)
{
    int64_t more;
    if (LLVMIsAGlobalVariable(value)) {
        *offset = 0;
        return true;
    }
    if (!LLVMIsAConstantExpr(value))
        return false;
    LLVMValueRef first = LLVMGetOperand(value, 0);
    switch (LLVMGetConstOpcode(value)) {
    case LLVMPtrToInt: return print_shared_offset(first, offset);
    case LLVMAdd:
        if (!print_shared_offset(first, offset))
            return false;
        if (!print_constant_number(LLVMGetOperand(value, 1), &more))
            return false;
        *offset += more;
        return true;
    case LLVMGetElementPtr:
        if (LLVMGetNumOperands(value) != 2 || print_class_of(LLVMGetGEPSourceElementType(value)) != CLASS_16 ||
            LLVMGetIntTypeWidth(LLVMGetGEPSourceElementType(value)) != 8 || !print_shared_offset(first, offset) ||
            !print_constant_number(LLVMGetOperand(value, 1), &more))
            return false;
        *offset += more;
        return true;
    default: return false;
    }
}

static const char *hexadecimal(struct printer *p, const char *before, uint64_t bits, int digits)
{
    char text[24];
    size_t size = strlen(before);
    memcpy(text, before, size);
    for (int i = digits - 1; i >= 0; i--)
        text[size++] = "0123456789ABCDEF"[bits >> (4 * i) & 15];
    return arena_substring(p->arena, text, size);
}

/* Of 64 bits at most; NULL: no number. */
static const char *constant_text(struct printer *p, LLVMValueRef value, bool is_signed)
{
    LLVMTypeRef type = LLVMTypeOf(value);
    LLVMTypeKind kind = LLVMGetTypeKind(type);
    if (LLVMIsUndef(value) || LLVMIsPoison(value))
        value = LLVMConstNull(type);
    if (kind == LLVMPointerTypeKind) {
        if (LLVMIsNull(value))
            return "0";
        if (!LLVMIsAConstantExpr(value) || LLVMGetConstOpcode(value) != LLVMIntToPtr)
            return NULL;
        return constant_text(p, LLVMGetOperand(value, 0), is_signed);
    }
    if (kind == LLVMIntegerTypeKind) {
        if (!LLVMIsAConstantInt(value))
            return NULL;
        int64_t number = LLVMConstIntGetSExtValue(value);
        if (!is_signed && LLVMGetIntTypeWidth(type) < 64)
            number = (int64_t)LLVMConstIntGetZExtValue(value);
        return print_number(p, number).text;
    }
    if (print_is_pair(type)) {
        LLVMValueRef low = LLVMGetAggregateElement(value, 0), high = LLVMGetAggregateElement(value, 1);
        low = low ? LLVMConstBitCast(low, p->l->i16) : NULL;
        high = high ? LLVMConstBitCast(high, p->l->i16) : NULL;
        if (!low || !high || !LLVMIsAConstantInt(low) || !LLVMIsAConstantInt(high))
            return NULL;
        return hexadecimal(p, "0x", LLVMConstIntGetZExtValue(high) << 16 | LLVMConstIntGetZExtValue(low), 8);
    }
    LLVMTypeRef integer = kind == LLVMHalfTypeKind ? p->l->i16 : kind == LLVMDoubleTypeKind ? p->l->i64 : p->l->i32;
    LLVMValueRef bits = LLVMConstBitCast(value, integer);
    if (!LLVMIsAConstantInt(bits))
        return NULL;
    uint64_t number = LLVMConstIntGetZExtValue(bits);
    if (kind == LLVMFloatTypeKind)
        return hexadecimal(p, "0f", number, 8);
    if (kind == LLVMDoubleTypeKind)
        return hexadecimal(p, "0d", number, 16);
    return hexadecimal(p, "0x", number, kind == LLVMHalfTypeKind ? 4 : 8);
}

/* What only a register can hold: addresses of shared memory and what is computed from them. */
static struct print_operand computed_constant(struct printer *p, LLVMValueRef value)
{
    enum print_class class = print_class_of(LLVMTypeOf(value));
    bool word = class == CLASS_32;
    int64_t offset;
    struct print_operand to = print_fresh(p, class);
    if ((class == CLASS_32 || class == CLASS_64) && print_shared_offset(value, &offset)) {
        struct print_operand base = {.variable = word ? p->shared_word : p->shared};
        if (!offset)
            return base;
        print_pure(p, word ? "add.s32 $0, $1, $2;" : "add.s64 $0, $1, $2;", to, base, print_number(p, offset));
        return to;
    }
    const char *text = NULL;
    if (LLVMIsAConstantExpr(value) && word)
        switch (LLVMGetConstOpcode(value)) {
        case LLVMAdd: text = "add.s32 $0, $1, $2;"; break;
        case LLVMSub: text = "sub.s32 $0, $1, $2;"; break;
        case LLVMXor: text = "xor.b32 $0, $1, $2;"; break;
        default: break;
        }
    if (!text) {
        p->failed = true;
        return print_text("0");
    }
    struct print_operand a = print_read(p, LLVMGetOperand(value, 0), true);
    print_pure(p, text, to, a, print_read(p, LLVMGetOperand(value, 1), true));
    return to;
}

static struct print_operand with_text(struct printer *p, struct print_operand operand, bool is_signed)
{
    if (operand.variable >= 0 || operand.text)
        return operand;
    if (print_class_of(LLVMTypeOf(operand.constant)) == CLASS_PREDICATE)
        return print_in_register(p, operand);
    const char *text = constant_text(p, operand.constant, is_signed);
    return text ? (struct print_operand){.variable = -1, .constant = operand.constant, .text = text}
                : computed_constant(p, operand.constant);
}

struct print_operand print_read(struct printer *p, LLVMValueRef value, bool is_signed)
{
    return with_text(p, print_part(p, value, 0), is_signed);
}

struct print_operand print_in_register(struct printer *p, struct print_operand operand)
{
    if (operand.variable >= 0)
        return operand;
    for (int i = 0; i < p->constants.count; i++)
        if (p->constants.data[i].value == operand.constant)
            return (struct print_operand){.variable = p->constants.data[i].variable};
    if (!operand.constant) {
        p->failed = true;
        return operand;
    }
    LLVMTypeRef type = LLVMTypeOf(operand.constant);
    enum print_class class;
    print_parts_of(p, type, &class);
    struct print_operand source;
    if (class == CLASS_PREDICATE)
        source = print_text(LLVMIsNull(operand.constant) ? "0" : "-1");
    else
        source = with_text(p, (struct print_operand){.variable = -1, .constant = operand.constant}, true);
    if (source.variable >= 0 || class >= CLASS_COUNT)
        return source;
    struct print_operand to = print_fresh(p, class);
    print_line(p, LINE_TEXT, print_moves[class], 1, (struct print_operand[]){to, source}, 2);
    vector_push(p->arena, &p->constants, ((struct print_constant){operand.constant, to.variable}));
    return to;
}

struct print_operand print_register(struct printer *p, LLVMValueRef value, int part)
{
    return print_in_register(p, print_part(p, value, part));
}

struct print_operand print_constant_part(struct printer *p, struct print_operand operand)
{
    int64_t offset;
    if (operand.variable >= 0 || operand.text)
        return operand;
    if (print_class_of(LLVMTypeOf(operand.constant)) == CLASS_PREDICATE) {
        int64_t number;
        bool holds = print_constant_number(operand.constant, &number) && number;
        return print_text(holds ? "-1" : "0");
    }
    const char *text = constant_text(p, operand.constant, true);
    if (text)
        return print_text(text);
    if (print_class_of(LLVMTypeOf(operand.constant)) == CLASS_64 && print_shared_offset(operand.constant, &offset))
        return print_text(offset ? print_join(p, "tile_shared+", print_number(p, offset).text, "", "") : "tile_shared");
    p->failed = true;
    return operand;
}

/* ---- lines ---- */

struct print_line *print_line(struct printer *p, enum print_kind kind, const char *text, int written,
                              const struct print_operand *operands, int count)
{
    struct print_line line = {.kind = kind, .text = text, .written = written, .count = count, .place = p->place};
    line.operands = arena_copy(p->arena, operands, (size_t)count * sizeof *operands);
    for (int i = 0; i < written; i++)
        if (operands[i].variable >= 0)
            p->variables.data[operands[i].variable].line = p->lines.count;
    vector_push(p->arena, &p->lines, line);
    return &p->lines.data[p->lines.count - 1];
}

void print_pure(struct printer *p, const char *text, struct print_operand to, struct print_operand a,
                struct print_operand b)
{
    print_line(p, LINE_TEXT, text, 1, (struct print_operand[]){to, a, b}, 3);
}
