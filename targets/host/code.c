/* Host expressions (trees of ir/kernel.h) to the byte code of the run time (opcodes in runtime-stub/tile_rt.h).
 *
 *   a + b          a b add
 *   a > b          b a less            nothing here has an effect, so the order of the operands is free
 *   a and b        a jump_if_false(2) b jump(1) constant(0)
 *   c ? a : b      c jump_if_false(|a| + 1) a jump(|b|) b
 *
 * A kernel's codes lie one behind the other in one array.  An expression whose code is there already (the grid of ten
 * variants is one grid) is not added again. */
#include "targets/host/host.h"

enum { OPERAND_LIMIT = 1 << 23 };

static void push_word(struct host_code *code, int32_t word)
{
    struct host_words *words = &code->words;
    if (words->count == words->capacity)
        words->data =
            vector_grow(code->builder->arena, words->data, &words->capacity, words->count, sizeof *words->data);
    words->data[words->count++] = word;
}

static void push(struct host_code *code, enum tile_rt_opcode opcode, int64_t operand)
{
    if (operand < -OPERAND_LIMIT || operand >= OPERAND_LIMIT)
        die("operand %lld of host code", (long long)operand);
    push_word(code, TILE_RT_CODE(opcode, operand));
}

static void push_constant(struct host_code *code, int64_t value, bool wide)
{
    if (!wide && value >= -OPERAND_LIMIT && value < OPERAND_LIMIT) {
        push(code, TILE_RT_OP_constant, value);
        return;
    }
    push(code, TILE_RT_OP_wide, 0);
    push_word(code, (int32_t)(uint32_t)((uint64_t)value & 0xffffffffu));
    push_word(code, (int32_t)(uint32_t)((uint64_t)value >> 32));
}

static int push_jump(struct host_code *code, enum tile_rt_opcode opcode)
{
    push(code, opcode, 0);
    return code->words.count - 1;
}

/* The jump at `at` leads here. */
static void land_jump(struct host_code *code, int at)
{
    int32_t *word = &code->words.data[at];
    *word = TILE_RT_CODE(*word & 0xff, code->words.count - at - 1);
}

/* What a plain operation becomes: its opcode, whether its operands change places, whether `not` follows. */
struct plain { enum tile_rt_opcode opcode; bool swapped, negated; };

static bool plain_operation(enum kernel_host_op op, struct plain *plain)
{
#define ROW(name, opcode, swapped, negated)                                             \
    case KERNEL_HOST_##name: *plain = (struct plain){TILE_RT_OP_##opcode, swapped, negated}; return true;
    switch (op) {
    ROW(ADD, add, false, false)
    ROW(SUB, subtract, false, false)
    ROW(MUL, multiply, false, false)
    ROW(DIV, divide, false, false)
    ROW(REM, remainder, false, false)
    ROW(MIN, minimum, false, false)
    ROW(MAX, maximum, false, false)
    ROW(CDIV, ceiling_divide, false, false)
    ROW(NEG, negate, false, false)
    ROW(ABS, absolute, false, false)
    ROW(SHL, shift_left, false, false)
    ROW(SHR, shift_right, false, false)
    ROW(BIT_AND, bit_and, false, false)
    ROW(BIT_OR, bit_or, false, false)
    ROW(BIT_XOR, bit_xor, false, false)
    ROW(BIT_NOT, bit_not, false, false)
    ROW(ILOG2, log2, false, false)
    ROW(EQ, equal, false, false)
    ROW(NE, equal, false, true)
    ROW(LT, less, false, false)
    ROW(LE, less_equal, false, false)
    ROW(GT, less, true, false)
    ROW(GE, less_equal, true, false)
    ROW(FLOAT_EQ, real_equal, false, false)
    ROW(FLOAT_NE, real_equal, false, true)
    ROW(FLOAT_LT, real_less, false, false)
    ROW(FLOAT_LE, real_less_equal, false, false)
    ROW(FLOAT_GT, real_less, true, false)
    ROW(FLOAT_GE, real_less_equal, true, false)
    ROW(NOT, not, false, false)
    default: return false;
    }
#undef ROW
}

/* Both give the cells of the stack that the code needs at most. */
static int compile(struct host_code *code, const struct kernel_expression *e);

static int compile_control(struct host_code *code, const struct kernel_expression *e)
{
    int depth = compile(code, e->operand[0]), skip, end, a, b = 1;
    skip = push_jump(code, TILE_RT_OP_jump_if_false);
    if (e->op == KERNEL_HOST_OR) {
        push_constant(code, 1, false);
        a = 1;
    } else {
        a = compile(code, e->operand[1]);
    }
    end = push_jump(code, TILE_RT_OP_jump);
    land_jump(code, skip);
    if (e->op == KERNEL_HOST_AND)
        push_constant(code, 0, false);
    else
        b = compile(code, e->operand[e->op == KERNEL_HOST_OR ? 1 : 2]);
    land_jump(code, end);
    depth = depth > a ? depth : a;
    return depth > b ? depth : b;
}

static int compile_plain(struct host_code *code, const struct kernel_expression *e, struct plain plain)
{
    const struct kernel_expression *a = e->operand[plain.swapped ? 1 : 0], *b = e->operand[plain.swapped ? 0 : 1];
    int depth = compile(code, a), second;
    if (b != NULL) {
        second = 1 + compile(code, b);
        depth = depth > second ? depth : second;
    }
    push(code, plain.opcode, 0);
    if (plain.negated)
        push(code, TILE_RT_OP_not, 0);
    return depth;
}

static int compile(struct host_code *code, const struct kernel_expression *e)
{
    struct plain plain;
    if (plain_operation(e->op, &plain))
        return compile_plain(code, e, plain);
    switch (e->op) {
    case KERNEL_HOST_CONSTANT: push_constant(code, e->number, false); return 1;
    case KERNEL_HOST_FLOAT_CONSTANT: push_constant(code, e->number, true); return 1;
    case KERNEL_HOST_NAME: push(code, TILE_RT_OP_name, e->number); return 1;
    case KERNEL_HOST_KEY: push(code, TILE_RT_OP_name, code->entry->names.count + e->number); return 1;
    case KERNEL_HOST_SCALAR: push(code, TILE_RT_OP_scalar, e->number); return 1;
    case KERNEL_HOST_FLOAT_SCALAR: push(code, TILE_RT_OP_real, e->number); return 1;
    case KERNEL_HOST_EXTENT: push(code, TILE_RT_OP_extent, 16 * e->number + e->dimension); return 1;
    case KERNEL_HOST_STRIDE: push(code, TILE_RT_OP_stride, 16 * e->number + e->dimension); return 1;
    case KERNEL_HOST_PRESENT: push(code, TILE_RT_OP_present, e->number); return 1;
    case KERNEL_HOST_ALIGNED:
        push(code, TILE_RT_OP_aligned, 16 * e->number + log2_floor((uint64_t)e->dimension));
        return 1;
    case KERNEL_HOST_SM_COUNT: push(code, TILE_RT_OP_sm_count, 0); return 1;
    case KERNEL_HOST_AND:
    case KERNEL_HOST_OR:
    case KERNEL_HOST_SELECT: return compile_control(code, e);
    default: die("host expression %d", (int)e->op);
    }
}

/* Where the last `length` words stand already before them, or -1. */
static int find_words(const struct host_words *words, int length)
{
    int begin = words->count - length, at, i;
    for (at = 0; at + length <= begin; at++) {
        for (i = 0; i < length && words->data[at + i] == words->data[begin + i]; i++)
            continue;
        if (i == length)
            return at;
    }
    return -1;
}

int32_t host_code_add(struct host_code *code, const struct kernel_expression *expression)
{
    int begin = code->words.count, depth, found;
    if (expression == NULL)
        return -1;
    depth = compile(code, expression);
    push(code, TILE_RT_OP_end, 0);
    if (depth > TILE_RT_MAX_STACK) {
        diag_report(code->builder->options->diagnostics, DIAGNOSTIC_E1101, expression->at,
                    "this expression needs %d values at a time when the wrapper evaluates it; the limit is %d", depth,
                    TILE_RT_MAX_STACK);
        code->builder->failed = true;
        code->words.count = begin;
        return -1;
    }
    found = find_words(&code->words, code->words.count - begin);
    if (found >= 0) {
        code->words.count = begin;
        return found;
    }
    return begin;
}
