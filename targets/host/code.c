/* Host expressions (trees of ir/kernel.h) to the byte code of the run time (opcodes in runtime-stub/tile_rt.h).
 *
 *   a + b          a b add
 *   a > b          b a less            nothing here has an effect, so the order of the operands is free
 *   a and b        a jump_if_false(2) b jump(1) constant(0)
 *   c ? a : b      c jump_if_false(|a| + 1) a jump(|b|) b
 *
 * Cells (ir/kernel.h) are values kept in front of what uses them.  Of a loop x = start; while (c) x = next:
 *
 *   start keep(x) c jump_if_false(|next| + 2) next keep(x) turn(|c| + |next| + 2)
 *
 * A kernel's codes lie one behind the other in one array.  An expression whose code is there already (the grid of ten
 * variants is one grid) is not added again. */
#include "targets/host/host.h"

#include <limits.h>

_Static_assert((int)KERNEL_HOST_MOST_TURNS == TILE_RT_MAX_TURNS, "the interpreter counts turns as the run time does");

enum { OPERAND_LIMIT = 1 << 23 };

static void push_word(struct host_code *code, int32_t word)
{
    struct host_words *words = &code->words;
    if (words->count == words->capacity)
        words->data = vector_grow(code->builder->arena, words->data, &words->capacity, words->count,
                                  sizeof *words->data);
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
struct plain {
    enum tile_rt_opcode opcode;
    bool swapped, negated;
};

static bool plain_operation(enum kernel_host_op op, struct plain *plain)
{
#define ROW(name, opcode, swapped, negated) \
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

/* These give the cells of the stack that the code needs at most. */
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
    case KERNEL_HOST_CELL: push(code, TILE_RT_OP_load, kernel_cells_first(&code->plan, e->cells) + e->number); return 1;
    case KERNEL_HOST_AND:
    case KERNEL_HOST_OR:
    case KERNEL_HOST_SELECT: return compile_control(code, e);
    default: die("host expression %d", (int)e->op);
    }
}

static bool is_unchanged(const struct kernel_cells *cells, int i)
{
    const struct kernel_expression *next = cells->next[i];
    return next->op == KERNEL_HOST_CELL && next->cells == cells && next->number == i;
}

static int compile_cells_within(struct host_code *code, const struct kernel_cells *loop, int from, int to);

static int deeper(int a, int b) { return a > b ? a : b; }

static int compile_loop(struct host_code *code, const struct kernel_cells *loop, int first)
{
    int top = code->words.count, depth, end, i, changed = 0;
    depth = compile_cells_within(code, loop, 0, loop->body_from);
    depth = deeper(depth, compile(code, loop->condition));
    end = push_jump(code, TILE_RT_OP_jump_if_false);
    depth = deeper(depth, compile_cells_within(code, loop, loop->body_from, INT_MAX));
    for (i = 0; i < loop->count; i++)
        if (!is_unchanged(loop, i))
            depth = deeper(depth, changed++ + compile(code, loop->next[i]));
    for (i = loop->count - 1; i >= 0; i--)
        if (!is_unchanged(loop, i))
            push(code, TILE_RT_OP_keep, first + i);
    push(code, TILE_RT_OP_turn, code->words.count - top);
    land_jump(code, end);
    return depth;
}

static int compile_cells(struct host_code *code, const struct kernel_cells *cells, int first)
{
    int depth = 1, skip = 0, end, i;
    if (cells->guard) {
        depth = compile(code, cells->guard);
        skip = push_jump(code, TILE_RT_OP_jump_if_false);
    }
    for (i = 0; i < cells->count; i++) {
        depth = deeper(depth, compile(code, cells->start[i]));
        push(code, TILE_RT_OP_keep, first + i);
    }
    if (cells->condition)
        depth = deeper(depth, compile_loop(code, cells, first));
    if (cells->guard) {
        end = push_jump(code, TILE_RT_OP_jump);
        land_jump(code, skip);
        for (i = 0; i < cells->count; i++) {
            push_constant(code, 0, false);
            push(code, TILE_RT_OP_keep, first + i);
        }
        land_jump(code, end);
    }
    return depth;
}

/* Those with numbers from `from` to below `to`. */
static int compile_cells_within(struct host_code *code, const struct kernel_cells *loop, int from, int to)
{
    int depth = 0, i;
    for (i = 0; i < code->plan.count; i++) {
        const struct kernel_cells *cells = code->plan.data[i].cells;
        if (cells->within == loop && cells->number >= from && cells->number < to)
            depth = deeper(depth, compile_cells(code, cells, code->plan.data[i].first));
    }
    return depth;
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
    kernel_cells_collect(code->builder->arena, expression, &code->plan);
    depth = compile_cells_within(code, NULL, 0, INT_MAX);
    depth = deeper(depth, compile(code, expression));
    push(code, TILE_RT_OP_end, 0);
    if (depth > TILE_RT_MAX_STACK || code->plan.cells > TILE_RT_MAX_CELLS) {
        bool stack = depth > TILE_RT_MAX_STACK;
        diag_report(code->builder->options->diagnostics, DIAGNOSTIC_E1101, expression->at,
                    "this expression needs %d values %s when the wrapper evaluates it; the limit is %d",
                    stack ? depth : code->plan.cells, stack ? "at a time" : "of variables and loops",
                    stack ? TILE_RT_MAX_STACK : TILE_RT_MAX_CELLS);
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
