/* Text of the user's as inline assembly, for each element of a thread or for `pack` of them at a time:
 *
 *     %y = asm pack(2) text(@"cvt.rn.f16x2.e4m3x2 $0, $1;") %x : f16[64]      x0 x1 | x2 x3 → h, r → y0 y1 | y2 y3
 *
 * Where a thread has fewer elements than go together, the last one stands for those that are missing.  The text stands in
 * braces of its own, so that its registers and labels can repeat, behind a comment with its number, by which a message of
 * the assembler finds it (assemble/complaint.c). */
#include "ir/query.h"
#include "targets/nvptx/lower/lower.h"
#include "targets/nvptx/thread/memory.h"

#include <string.h>

/* ---- registers ---- */

/* How `pack` elements lie in registers; each: of one register. */
static struct memory_shape shape_of(enum ir_element element, int pack)
{
    int bytes = value_bytes(element), registers = ir_asm_registers(element, pack);
    int unit = bytes * pack / registers;
    return (struct memory_shape){.unit = unit < 2 ? 2 : unit, .words = registers, .each = pack / registers};
}

static char constraint_of(enum ir_element element, struct memory_shape shape)
{
    if (element == IR_BOOL)
        return 'b';
    if (element == IR_F32 || element == IR_F64)
        return element == IR_F32 ? 'f' : 'd';
    return shape.unit == 8 ? 'l' : shape.unit == 4 ? 'r' : 'h';
}

/* bool, f32, f64 and pointers are in registers as they are. */
static bool is_whole(enum ir_element element)
{
    return element == IR_BOOL || element == IR_F32 || element == IR_F64 || element == IR_POINTER;
}

static LLVMTypeRef register_type(const struct lowering *l, enum ir_element element, struct memory_shape shape)
{
    return is_whole(element) ? lower_value_type(l, element)
                             : LLVMIntTypeInContext(l->context, 8 * (unsigned)shape.unit);
}

struct call {
    struct ir_operation *operation;
    int pack, results, registers; /* registers of results; of all */
    LLVMTypeRef *type;            /* by register */
    LLVMValueRef *argument;       /* registers of operands */
    struct buffer constraints;
};

static void add_register(struct call *c, LLVMTypeRef type, char letter, bool result)
{
    buffer_printf(&c->constraints, "%s%s%c", c->registers ? "," : "", result ? "=" : "", letter);
    c->type[c->registers++] = type;
}

static int count_registers(const struct ir_operation *operation, int pack)
{
    int count = 0;
    for (int i = 0; i < operation->result_count; i++)
        count += ir_asm_registers(operation->results[i]->type->element, pack);
    for (int i = 0; i < operation->operand_count; i++)
        count += ir_asm_registers(operation->operands[i]->type->element, pack);
    return count;
}

static void open_call(struct lowering *l, struct call *c, struct ir_operation *operation)
{
    *c = (struct call){.operation = operation, .pack = (int)ir_number(operation, IR_ATTRIBUTE_PACK, 1)};
    int count = count_registers(operation, c->pack);
    c->type = ARENA_ARRAY(l->arena, LLVMTypeRef, count);
    c->argument = value_array(l, count);
    for (int i = 0; i < operation->result_count + operation->operand_count; i++) {
        bool result = i < operation->result_count;
        enum ir_element element =
            (result ? operation->results[i] : operation->operands[i - operation->result_count])->type->element;
        struct memory_shape shape = shape_of(element, c->pack);
        for (int w = 0; w < shape.words; w++)
            add_register(c, register_type(l, element, shape), constraint_of(element, shape), result);
        if (result)
            c->results = c->registers;
    }
}

/* The registers of the operands' elements from `first` on. */
static void gather_arguments(struct lowering *l, struct call *c, int first)
{
    LLVMValueRef values[16];
    int at = 0;
    for (int i = 0; i < c->operation->operand_count; i++) {
        const struct ir_value *operand = c->operation->operands[i];
        struct memory_shape shape = shape_of(operand->type->element, c->pack);
        int last = value_registers(operand->type) - 1;
        for (int k = 0; k < c->pack; k++)
            values[k] = value_register(l, operand, first + k < last ? first + k : last);
        if (is_whole(operand->type->element))
            memcpy(c->argument + at, values, (size_t)shape.words * sizeof *values);
        else
            memory_pack(l, operand->type->element, shape, values, c->argument + at);
        at += shape.words;
    }
}

/* The elements of the results from `first` on, of what the text gave: one register, or several as a struct. */
static void spread_results(struct lowering *l, struct call *c, LLVMValueRef given, int first, LLVMValueRef *const *out)
{
    LLVMValueRef words[16], values[16];
    int at = 0;
    for (int i = 0; i < c->operation->result_count; i++) {
        const struct ir_type *type = c->operation->results[i]->type;
        struct memory_shape shape = shape_of(type->element, c->pack);
        for (int w = 0; w < shape.words; w++, at++)
            words[w] = c->results == 1 ? given : LLVMBuildExtractValue(l->builder, given, (unsigned)at, "");
        if (is_whole(type->element))
            memcpy(values, words, (size_t)shape.words * sizeof *values);
        else
            memory_unpack(l, type->element, shape, words, values);
        for (int k = 0; k < c->pack && first + k < value_registers(type); k++)
            out[i][first + k] = values[k];
    }
}

/* ---- the text ---- */

struct search {
    const struct ir_operation *wanted;
    int count, found;
};

static void look(struct ir_operation *operation, void *context)
{
    struct search *search = context;
    if (operation->opcode != OP_ASM && operation->opcode != OP_ASM_EFFECT)
        return;
    search->count++;
    if (operation == search->wanted)
        search->found = search->count;
}

int asm_number(const struct ir_operation *operation)
{
    struct search search = {.wanted = operation};
    ir_walk(operation->block->function->body, look, &search);
    return search.found;
}

static const char *text_of(struct lowering *l, const struct ir_operation *operation)
{
    return arena_printf(l->arena, "{ // asm %d\n\t%s\n\t}", asm_number(operation),
                        ir_attribute(operation, IR_ATTRIBUTE_TEXT)->name);
}

static LLVMTypeRef type_given(const struct lowering *l, const struct call *c)
{
    if (c->results < 2)
        return c->results ? c->type[0] : l->nothing;
    return LLVMStructTypeInContext(l->context, c->type, (unsigned)c->results, false);
}

void lower_asm(struct lowering *l, struct ir_operation *operation)
{
    struct call c;
    open_call(l, &c, operation);
    const char *text = text_of(l, operation);
    LLVMValueRef **out = ARENA_ARRAY(l->arena, LLVMValueRef *, operation->result_count);
    for (int i = 0; i < operation->result_count; i++)
        out[i] = value_define(l, operation->results[i]);
    for (int first = 0; first < value_registers(operation->results[0]->type); first += c.pack) {
        gather_arguments(l, &c, first);
        LLVMValueRef given = ptx_text(l, text, c.constraints.data, type_given(l, &c), c.argument,
                                      c.registers - c.results, false);
        spread_results(l, &c, given, first, out);
    }
    buffer_free(&c.constraints);
}

/* ---- with effects ---- */

/* As an atomic: of the threads that hold an element the first runs the text, and tells the others what it gave. */
void lower_asm_effect(struct lowering *l, struct ir_operation *operation)
{
    struct call c;
    open_call(l, &c, operation);
    const char *text = text_of(l, operation), *constraints = c.constraints.data ? c.constraints.data : "";
    const struct ir_value *result = operation->result_count ? operation->results[0] : NULL;
    const struct ir_type *tile = result ? result->type : operation->operand_count ? operation->operands[0]->type : NULL;
    int count = tile ? value_registers(tile) : 1;
    LLVMValueRef leader = coordinate_leader(l, tile && tile->rank ? tile->layout : NULL);
    LLVMBasicBlockRef before = LLVMGetInsertBlock(l->builder), run = value_block(l, "text"),
                      after = value_block(l, "behind");
    LLVMValueRef *out = result ? value_define(l, result) : NULL;
    LLVMBuildCondBr(l->builder, leader ? leader : value_i1(l, true), run, after);
    LLVMPositionBuilderAtEnd(l->builder, run);
    for (int i = 0; i < count; i++) {
        gather_arguments(l, &c, i);
        LLVMValueRef given = ptx_text_together(l, text, constraints, type_given(l, &c), c.argument,
                                               c.registers - c.results);
        if (result)
            spread_results(l, &c, given, i, &out);
    }
    run = LLVMGetInsertBlock(l->builder);
    LLVMBuildBr(l->builder, after);
    LLVMPositionBuilderAtEnd(l->builder, after);
    for (int i = 0; result && i < count; i++) {
        LLVMValueRef values[2] = {out[i], LLVMConstNull(LLVMTypeOf(out[i]))};
        LLVMBasicBlockRef blocks[2] = {run, before};
        out[i] = LLVMBuildPhi(l->builder, LLVMTypeOf(values[0]), "");
        LLVMAddIncoming(out[i], values, blocks, 2);
    }
    ptx_end_arm(l);
    if (result && result->uses && leader)
        shared_tell(l, operation, leader, out);
    buffer_free(&c.constraints);
}
