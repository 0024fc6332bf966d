/* Lines for loads, stores and addresses.  A constant distance goes into the access itself. */
#include "targets/nvptx/assemble/print.h"

enum { SPACE_GLOBAL = 1, SPACE_SHARED = 3 };

/* How many registers of which width an access moves, `each` numbers in one: 8 x i16 are .v4.b32. */
struct shape {
    int registers, width, each, element;
};

static int bits_of(LLVMTypeRef type)
{
    switch (print_class_of(type)) {
    case CLASS_16: return LLVMGetTypeKind(type) == LLVMIntegerTypeKind ? (int)LLVMGetIntTypeWidth(type) : 16;
    case CLASS_32: return 32;
    case CLASS_64: return 64;
    default: return 0;
    }
}

static bool shape_of(struct printer *p, LLVMTypeRef type, unsigned alignment, struct shape *shape)
{
    enum print_class class;
    int count = print_parts_of(p, type, &class);
    LLVMTypeRef element = LLVMGetTypeKind(type) == LLVMVectorTypeKind ? LLVMGetElementType(type) : type;
    int bits = count > 1 || class != CLASS_32 ? bits_of(element) : 32;
    int bytes = bits * count / 8;
    if (!bits || bytes > 16 || (bytes & (bytes - 1)) || (int)alignment < bytes)
        return false;
    *shape = (struct shape){.registers = count, .width = bits, .each = 1, .element = bits};
    if (count > 4 || (count > 1 && bits < 16)) {
        if (bytes < 4)
            return false;
        *shape = (struct shape){.registers = bytes / 4, .width = 32, .each = 32 / bits, .element = bits};
    }
    return true;
}

/* base + offset as the text of an address, whose base is operand `number`. */
static const char *address_text(struct printer *p, const char *base, int64_t offset)
{
    if (!offset)
        return print_join(p, "[", base, "]", "");
    return print_join(p, "[", base, "+", print_join(p, print_number(p, offset).text, "]", "", ""));
}

/* Takes constant distances off a pointer. */
static LLVMValueRef strip(const struct printer *p, LLVMValueRef pointer, int64_t *offset)
{
    int64_t more;
    while (LLVMIsAGetElementPtrInst(pointer) && LLVMGetNumOperands(pointer) == 2) {
        if (LLVMGetGEPSourceElementType(pointer) != p->l->i8)
            break;
        if (!print_constant_number(LLVMGetOperand(pointer, 1), &more) || more < INT32_MIN / 2 || more > INT32_MAX / 2)
            break;
        *offset += more;
        pointer = LLVMGetOperand(pointer, 0);
    }
    return pointer;
}

/* The address as text and, where it has a register, that; "": not known. */
static const char *address_of(struct printer *p, LLVMValueRef pointer, const char *operand, struct print_operand *base,
                              const char **space)
{
    int64_t offset = 0, start;
    unsigned number = LLVMGetPointerAddressSpace(LLVMTypeOf(pointer));
    pointer = strip(p, pointer, &offset);
    *base = print_text("");
    if (offset < INT32_MIN || offset > INT32_MAX)
        p->failed = true;
    *space = number == SPACE_SHARED ? ".shared" : ".global";
    if (pointer == LLVMGetParam(p->function, 0)) {
        *space = ".param";
        return address_text(p, print_join(p, p->l->function->name, "_param_0", "", ""), offset);
    }
    if (number == SPACE_SHARED && print_shared_offset(pointer, &start))
        return address_text(p, "tile_shared", start + offset);
    if (number != SPACE_SHARED && number != SPACE_GLOBAL)
        p->failed = true;
    *base = print_register(p, pointer, 0);
    return address_text(p, operand, offset);
}

static const char *access_text(struct printer *p, const char *name, const char *space, const struct shape *shape)
{
    static const char *const vectors[] = {"", "", ".v2", "", ".v4"};
    static const char *const widths[] = {".b8 ", ".b16 ", ".b32 ", ".b64 "};
    int width = shape->width == 8 ? 0 : shape->width == 16 ? 1 : shape->width == 32 ? 2 : 3;
    return print_join(p, name, space, vectors[shape->registers], widths[width]);
}

static const char *list_text(const struct shape *shape, int first)
{
    static const char *const lists[2][5] = {{"", "$0", "{$0, $1}", "", "{$0, $1, $2, $3}"},
                                            {"", "$1", "{$1, $2}", "", "{$1, $2, $3, $4}"}};
    return lists[first][shape->registers];
}

/* The numbers in one register of 32 bits. */
static void take_apart(struct printer *p, struct print_operand word, const struct shape *shape,
                       const struct print_operand *parts)
{
    if (shape->each == 2) {
        print_line(p, LINE_TEXT, "mov.b32 {$0, $1}, $2;", 2, (struct print_operand[]){parts[0], parts[1], word}, 3);
        return;
    }
    print_line(p, LINE_TEXT, "mov.b32 {$0, $1}, $2;", 2, (struct print_operand[]){parts[0], parts[2], word}, 3);
    print_pure(p, "shr.u16 $0, $1, $2;", parts[1], parts[0], print_text("8"));
    print_pure(p, "shr.u16 $0, $1, $2;", parts[3], parts[2], print_text("8"));
}

void print_load(struct printer *p, LLVMValueRef value)
{
    struct shape shape;
    struct print_operand operands[6], base;
    const char *space;
    if (LLVMGetVolatile(value) || LLVMGetOrdering(value) != LLVMAtomicOrderingNotAtomic ||
        !shape_of(p, LLVMTypeOf(value), LLVMGetAlignment(value), &shape)) {
        p->failed = true;
        return;
    }
    const char *number = shape.registers == 1 ? "$1" : shape.registers == 2 ? "$2" : "$4";
    const char *address = address_of(p, LLVMGetOperand(value, 0), number, &base, &space);
    const struct print_value of = *print_value(p, value);
    for (int i = 0; i < shape.registers; i++)
        operands[i] = shape.each == 1 ? of.parts[i] : print_fresh(p, CLASS_32);
    int count = shape.registers;
    if (base.variable >= 0)
        operands[count++] = base;
    const char *text = print_join(p, access_text(p, "ld", space, &shape), list_text(&shape, 0), ", ",
                                  print_join(p, address, ";", "", ""));
    print_line(p, *space == '.' && space[1] == 'p' ? LINE_TEXT : LINE_EFFECT, text, shape.registers, operands, count);
    for (int i = 0; i < shape.registers && shape.each > 1; i++)
        take_apart(p, operands[i], &shape, of.parts + i * shape.each);
}

/* Two numbers of 8 bits in a register of 16. */
static struct print_operand join_bytes(struct printer *p, struct print_operand low, struct print_operand high)
{
    struct print_operand cut = print_fresh(p, CLASS_16), moved = print_fresh(p, CLASS_16);
    struct print_operand both = print_fresh(p, CLASS_16);
    print_pure(p, "and.b16 $0, $1, $2;", cut, low, print_text("255"));
    print_pure(p, "shl.b16 $0, $1, $2;", moved, high, print_text("8"));
    print_pure(p, "or.b16 $0, $1, $2;", both, cut, moved);
    return both;
}

static struct print_operand join_parts(struct printer *p, LLVMValueRef value, int first, const struct shape *shape)
{
    struct print_operand part[4], to = print_fresh(p, CLASS_32);
    for (int i = 0; i < shape->each; i++)
        part[i] = print_register(p, value, first + i);
    if (shape->each == 4) {
        part[0] = join_bytes(p, part[0], part[1]);
        part[1] = join_bytes(p, part[2], part[3]);
    }
    print_pure(p, "mov.b32 $0, {$1, $2};", to, part[0], part[1]);
    return to;
}

void print_store(struct printer *p, LLVMValueRef instruction)
{
    struct shape shape;
    struct print_operand operands[6], base;
    const char *space;
    LLVMValueRef value = LLVMGetOperand(instruction, 0);
    if (LLVMGetVolatile(instruction) || LLVMGetOrdering(instruction) != LLVMAtomicOrderingNotAtomic ||
        !shape_of(p, LLVMTypeOf(value), LLVMGetAlignment(instruction), &shape)) {
        p->failed = true;
        return;
    }
    const char *address = address_of(p, LLVMGetOperand(instruction, 1), "$0", &base, &space);
    if (base.variable < 0)
        base = print_text("0"); /* takes its place among the operands */
    operands[0] = base;
    for (int i = 0; i < shape.registers; i++)
        operands[1 + i] = shape.each == 1 ? print_register(p, value, i) : join_parts(p, value, i * shape.each, &shape);
    const char *text = print_join(p, access_text(p, "st", space, &shape), address, ", ",
                                  print_join(p, list_text(&shape, 1), ";", "", ""));
    print_line(p, LINE_EFFECT, text, 0, operands, 1 + shape.registers);
}

void print_element_pointer(struct printer *p, LLVMValueRef value)
{
    LLVMValueRef base = LLVMGetOperand(value, 0);
    if (LLVMGetNumOperands(value) != 2 || LLVMGetGEPSourceElementType(value) != p->l->i8 ||
        LLVMTypeOf(LLVMGetOperand(value, 1)) != p->l->i64) {
        p->failed = true;
        return;
    }
    if (base == LLVMGetParam(p->function, 0))
        return; /* loads take it as a name */
    print_pure(p, "add.s64 $0, $1, $2;", print_part(p, value, 0), print_register(p, base, 0),
               print_read(p, LLVMGetOperand(value, 1), true));
}
