/* sort.  A line's elements become words, integers with the key (targets/common/sort_key.h) above and, where somebody asks for
 * it, the position below, so that no two are equal and any way of sorting them is stable.  A few are kept in order while the
 * line is walked over: each word that is less than the last of them moves in at its place.  More are sorted by their bytes,
 * from the lowest on, which keeps the order of equals: positions need no pass of their own. */
#include "base/plant.h"
#include "targets/common/sort_key.h"
#include "targets/cpu/emit.h"

#define B e->builder

enum {
    MOST_INSERTED = 32, /* kept in order by insertion; more are sorted by bytes */
    LONG_LINE = 8,      /* times what is kept: of such a line few words move in, and twice as many may be kept so */
    BYTE_VALUES = 256
};

struct sorting {
    struct cpu_emitter *e;
    struct ir_operation *operation;
    enum ir_element element;
    int64_t extent, kept, inner;
    bool positions, descending, inserts;
    int shift;              /* of the key in a word */
    LLVMTypeRef word;       /* i32, i64 or i128 */
    LLVMValueRef first, to; /* the line's first element in operands and results */
    LLVMValueRef words, other, counts;
};

static LLVMValueRef line_element(const struct sorting *s, LLVMValueRef origin, LLVMValueRef k)
{
    struct cpu_emitter *e = s->e;
    return LLVMBuildAdd(B, origin, LLVMBuildMul(B, k, cpu_int(e, s->inner), ""), "");
}

static LLVMValueRef word_address(const struct sorting *s, LLVMValueRef words, LLVMValueRef k)
{
    return LLVMBuildInBoundsGEP2(s->e->builder, s->word, words, &k, 1, "");
}

static LLVMValueRef word_load(const struct sorting *s, LLVMValueRef words, LLVMValueRef k)
{
    return LLVMBuildLoad2(s->e->builder, s->word, word_address(s, words, k), "");
}

static void word_store(const struct sorting *s, LLVMValueRef words, LLVMValueRef k, LLVMValueRef word)
{
    LLVMBuildStore(s->e->builder, word, word_address(s, words, k));
}

static LLVMTypeRef bits_type(const struct sorting *s, enum ir_element element)
{
    return LLVMIntTypeInContext(s->e->llvm, 8 * (unsigned)cpu_bytes(element));
}

static LLVMValueRef word_of(const struct sorting *s, LLVMValueRef keys, LLVMValueRef k)
{
    struct cpu_emitter *e = s->e;
    LLVMValueRef address = cpu_address(e, s->element, keys, line_element(s, s->first, k));
    LLVMValueRef bits = LLVMBuildLoad2(B, bits_type(s, s->element), address, "");
    LLVMValueRef word = LLVMBuildZExtOrBitCast(B, sort_key_of(B, s->element, s->descending, bits), s->word, "");
    if (!s->positions)
        return word;
    word = LLVMBuildShl(B, word, LLVMConstInt(s->word, (unsigned)s->shift, 0), "");
    return LLVMBuildOr(B, word, LLVMBuildIntCast2(B, k, s->word, 0, ""), "");
}

/* ---- a few ---- */

/* Moves `word` to its place in words[0, slot], of which the last may go. */
static void insert(const struct sorting *s, LLVMValueRef slot, LLVMValueRef word)
{
    struct cpu_emitter *e = s->e;
    LLVMBasicBlockRef before = LLVMGetInsertBlock(B), head = cpu_block(e, "look"), look = cpu_block(e, "compare"),
                      move = cpu_block(e, "move"), found = cpu_block(e, "found");
    LLVMBuildBr(B, head);
    LLVMPositionBuilderAtEnd(B, head);
    LLVMValueRef at = LLVMBuildPhi(B, e->i64, "");
    LLVMAddIncoming(at, &slot, &before, 1);
    LLVMBuildCondBr(B, LLVMBuildICmp(B, LLVMIntSGT, at, cpu_int(e, 0), ""), look, found);
    LLVMPositionBuilderAtEnd(B, look);
    LLVMValueRef left = LLVMBuildSub(B, at, cpu_int(e, 1), ""), held = word_load(s, s->words, left);
    LLVMBuildCondBr(B, LLVMBuildICmp(B, LLVMIntUGT, held, word, ""), move, found);
    LLVMPositionBuilderAtEnd(B, move);
    word_store(s, s->words, at, held);
    LLVMAddIncoming(at, &left, &move, 1);
    LLVMBuildBr(B, head);
    LLVMPositionBuilderAtEnd(B, found);
    word_store(s, s->words, at, word);
}

static void keep_least(const struct sorting *s, LLVMValueRef keys)
{
    struct cpu_emitter *e = s->e;
    struct cpu_loop loop;
    LLVMValueRef last = cpu_int(e, s->kept - 1);
    cpu_loop_begin(e, &loop, cpu_int(e, 0), cpu_int(e, s->kept), 1);
    insert(s, loop.index, word_of(s, keys, loop.index));
    cpu_loop_end(e, &loop);
    if (s->kept == s->extent)
        return;
    cpu_loop_begin(e, &loop, cpu_int(e, s->kept), cpu_int(e, s->extent), 1);
    LLVMValueRef word = word_of(s, keys, loop.index);
    LLVMBasicBlockRef enter = cpu_block(e, "enter"), next = cpu_block(e, "next");
    LLVMBuildCondBr(B, LLVMBuildICmp(B, LLVMIntULT, word, word_load(s, s->words, last), ""), enter, next);
    LLVMPositionBuilderAtEnd(B, enter);
    insert(s, last, word);
    LLVMBuildBr(B, next);
    LLVMPositionBuilderAtEnd(B, next);
    cpu_loop_end(e, &loop);
}

/* ---- many ---- */

static LLVMValueRef count_address(const struct sorting *s, LLVMValueRef word, LLVMValueRef shift)
{
    struct cpu_emitter *e = s->e;
    LLVMValueRef byte = LLVMBuildAnd(B, LLVMBuildLShr(B, word, shift, ""), LLVMConstInt(s->word, BYTE_VALUES - 1, 0),
                                     "");
    byte = LLVMBuildIntCast2(B, byte, e->i64, 0, "");
    return LLVMBuildInBoundsGEP2(B, e->i32, s->counts, &byte, 1, "");
}

/* Where the first word with each byte goes. */
static void sum_counts(const struct sorting *s)
{
    struct cpu_emitter *e = s->e;
    struct cpu_loop loop;
    LLVMValueRef zero = LLVMConstInt(e->i32, 0, 0);
    LLVMBasicBlockRef before = LLVMGetInsertBlock(B);
    cpu_loop_begin(e, &loop, cpu_int(e, 0), cpu_int(e, BYTE_VALUES), 1);
    LLVMBasicBlockRef body = LLVMGetInsertBlock(B);
    LLVMPositionBuilderBefore(B, LLVMGetFirstInstruction(loop.head));
    LLVMValueRef sum = LLVMBuildPhi(B, e->i32, "");
    LLVMPositionBuilderAtEnd(B, body);
    LLVMAddIncoming(sum, &zero, &before, 1);
    LLVMValueRef address = LLVMBuildInBoundsGEP2(B, e->i32, s->counts, &loop.index, 1, "");
    LLVMValueRef next = LLVMBuildAdd(B, sum, LLVMBuildLoad2(B, e->i32, address, ""), "");
    LLVMBuildStore(B, sum, address);
    LLVMAddIncoming(sum, &next, &body, 1);
    cpu_loop_end(e, &loop);
}

/* One pass for each byte of the key, from one half of the words to the other and back. */
static void sort_by_bytes(struct sorting *s, LLVMValueRef keys)
{
    struct cpu_emitter *e = s->e;
    struct cpu_loop pass, loop;
    int passes = cpu_bytes(s->element);
    LLVMValueRef zero = cpu_int(e, 0), extent = cpu_int(e, s->extent);
    cpu_loop_begin(e, &loop, zero, extent, 1);
    word_store(s, s->words, loop.index, word_of(s, keys, loop.index));
    cpu_loop_end(e, &loop);
    cpu_loop_begin(e, &pass, zero, cpu_int(e, passes - PLANTED(cpu_sort_forgets_byte)), 1);
    LLVMValueRef odd = LLVMBuildTrunc(B, pass.index, e->i1, "");
    LLVMValueRef from = LLVMBuildSelect(B, odd, s->other, s->words, ""),
                 to = LLVMBuildSelect(B, odd, s->words, s->other, "");
    LLVMValueRef shift = LLVMBuildAdd(B, LLVMBuildMul(B, pass.index, cpu_int(e, 8), ""), cpu_int(e, s->shift), "");
    shift = LLVMBuildIntCast2(B, shift, s->word, 0, "");
    LLVMBuildMemSet(B, s->counts, LLVMConstInt(e->i8, 0, 0), cpu_int(e, 4 * BYTE_VALUES), 64);
    cpu_loop_begin(e, &loop, zero, extent, 1);
    LLVMValueRef count = count_address(s, word_load(s, from, loop.index), shift), one = LLVMConstInt(e->i32, 1, 0);
    LLVMBuildStore(B, LLVMBuildAdd(B, LLVMBuildLoad2(B, e->i32, count, ""), one, ""), count);
    cpu_loop_end(e, &loop);
    sum_counts(s);
    cpu_loop_begin(e, &loop, zero, extent, 1);
    LLVMValueRef word = word_load(s, from, loop.index);
    count = count_address(s, word, shift);
    LLVMValueRef place = LLVMBuildLoad2(B, e->i32, count, "");
    LLVMBuildStore(B, LLVMBuildAdd(B, place, one, ""), count);
    word_store(s, to, LLVMBuildZExt(B, place, e->i64, ""), word);
    cpu_loop_end(e, &loop);
    cpu_loop_end(e, &pass);
    if (passes % 2)
        s->words = s->other;
}

/* ---- the results ---- */

static void write_result(const struct sorting *s, int i, LLVMValueRef k, LLVMValueRef word,
                         struct cpu_buffer *const *to, struct cpu_buffer *const *from)
{
    struct cpu_emitter *e = s->e;
    enum ir_element element = s->operation->results[i]->type->element;
    LLVMTypeRef type = bits_type(s, element);
    LLVMValueRef position = s->positions ? LLVMBuildTrunc(B, word, e->i32, "") : NULL, value;
    if (i == s->operation->operand_count) {
        value = LLVMBuildIntCast2(B, position, type, 0, "");
    } else if (i > 0) {
        LLVMValueRef at = line_element(s, s->first, LLVMBuildZExt(B, position, e->i64, ""));
        value = LLVMBuildLoad2(B, type, cpu_address(e, element, cpu_buffer_address(e, from[i]), at), "");
    } else {
        LLVMValueRef key = LLVMBuildLShr(B, word, LLVMConstInt(s->word, (unsigned)s->shift, 0), "");
        value = sort_key_bits(B, element, s->descending, LLVMBuildIntCast2(B, key, type, 0, ""));
    }
    LLVMBuildStore(B, value, cpu_address(e, element, cpu_buffer_address(e, to[i]), line_element(s, s->to, k)));
}

static void sort_line(struct sorting s, struct cpu_buffer *const *from, struct cpu_buffer *const *to)
{
    struct cpu_emitter *e = s.e;
    struct cpu_loop loop;
    LLVMValueRef keys = cpu_buffer_address(e, from[0]);
    if (s.inserts)
        keep_least(&s, keys);
    else
        sort_by_bytes(&s, keys);
    cpu_loop_begin(e, &loop, cpu_int(e, 0), cpu_int(e, s.kept), 1);
    LLVMValueRef word = word_load(&s, s.words, loop.index);
    for (int i = 0; i < s.operation->result_count; i++)
        if (to[i])
            write_result(&s, i, loop.index, word, to, from);
    cpu_loop_end(e, &loop);
}

static void sort_lines(struct sorting *s, int64_t outer, struct cpu_buffer *const *from, struct cpu_buffer *const *to)
{
    struct cpu_emitter *e = s->e;
    struct cpu_loop rows, columns;
    cpu_loop_begin(e, &rows, cpu_int(e, 0), cpu_int(e, outer), 1);
    cpu_loop_begin(e, &columns, cpu_int(e, 0), cpu_int(e, s->inner), 1);
    s->first = LLVMBuildMul(B, rows.index, cpu_int(e, s->extent * s->inner), "");
    s->first = LLVMBuildAdd(B, s->first, columns.index, "");
    s->to = LLVMBuildMul(B, rows.index, cpu_int(e, s->kept * s->inner), "");
    s->to = LLVMBuildAdd(B, s->to, columns.index, "");
    sort_line(*s, from, to);
    cpu_loop_end(e, &columns);
    cpu_loop_end(e, &rows);
}

void cpu_emit_sort(struct cpu_emitter *e, struct ir_operation *operation, int position)
{
    enum { MOST_TILES = 16, MOST_WORK = 3 };
    const struct ir_type *type = operation->operands[0]->type;
    int axis = (int)ir_number(operation, IR_ATTRIBUTE_AXIS, 0), work_count = 0, tiles = operation->operand_count;
    struct cpu_buffer *from[MOST_TILES], *to[MOST_TILES + 1], *work[MOST_WORK];
    struct sorting s = {.e = e, .operation = operation, .element = type->element, .inner = 1};
    int64_t outer = 1;
    if (tiles > MOST_TILES) {
        cpu_report(e, operation->at, "a sort of more than 16 tiles at once");
        return;
    }
    s.descending = ir_number(operation, IR_ATTRIBUTE_DESCENDING, 0) != 0;
    s.extent = type->extent[axis];
    s.kept = operation->results[0]->type->extent[axis];
    for (int d = 0; d < type->rank; d++)
        *(d < axis ? &outer : &s.inner) *= d == axis ? 1 : type->extent[d];
    for (int i = 1; i <= tiles; i++)
        s.positions |= operation->results[i]->uses != NULL;
    int key_bits = 8 * cpu_bytes(s.element), word_bits = (key_bits > 32 ? 64 : 32) * (s.positions ? 2 : 1);
    s.word = LLVMIntTypeInContext(e->llvm, (unsigned)word_bits);
    s.shift = s.positions ? word_bits / 2 : 0;
    for (int i = 0; i < tiles; i++) /* none may take over the bytes of another: all are read below */
        if (i == 0 || operation->results[i]->uses)
            from[i] = cpu_materialise(e, operation->operands[i], operation->block, position - 1);
    for (int i = 0; i <= tiles; i++) {
        struct ir_value *result = operation->results[i];
        to[i] = result->uses
                    ? cpu_buffer_create(e, cpu_tile_bytes(result->type), result->block, cpu_state_of(e, result)->last)
                    : NULL;
    }
    s.inserts = s.kept <= MOST_INSERTED || (s.kept <= 2 * MOST_INSERTED && s.extent >= LONG_LINE * s.kept);
    int64_t words = (s.inserts ? s.kept : s.extent) * word_bits / 8;
    for (int i = 0; i < (s.inserts ? 1 : MOST_WORK); i++)
        work[work_count++] = cpu_buffer_create(e, i < 2 ? words : 4 * BYTE_VALUES, NULL, 0);
    s.words = cpu_buffer_address(e, work[0]);
    if (!s.inserts) {
        s.other = cpu_buffer_address(e, work[1]);
        s.counts = cpu_buffer_address(e, work[2]);
    }
    sort_lines(&s, outer, from, to);
    for (int i = 0; i < work_count; i++)
        cpu_buffer_release(e, work[i]);
    for (int i = 0; i <= tiles; i++)
        if (to[i])
            cpu_set_buffer(e, operation->results[i], to[i]);
}
