/* The network that puts a line's words in order, all of them upwards:
 *
 *     for size in 2, 4, 8 …, the line:
 *         word i and i XOR (size - 1) exchange          two ordered halves become two that meet in the middle
 *         for distance in size/4 … 2, 1:
 *             word i and i XOR distance exchange
 *
 * where the one with the smaller number keeps the smaller word.  The low bits of a word's number say the register, the others
 * the thread.  Exchanges between registers are written out; those between threads are loops over bits, so that the code does
 * not grow with the line: by shuffles inside a warp, through shared memory beyond it.
 *
 * Where only the first `list` words are wanted, lists of that length are put in order, and then of two lists the smaller half
 * is kept, min(a[i], b[list - 1 - i]), which the last part of the same network puts in order. */
#include "base/plant.h"
#include "targets/nvptx/lower/sort.h"

enum { LANE_BITS = 5 };

static LLVMTypeRef part_type(const struct sort_network *s, int part)
{
    return s->plan.part_bytes[part] == 8 ? s->l->i64 : s->l->i32;
}
static enum ir_element part_element(const struct sort_network *s, int part)
{
    return s->plan.part_bytes[part] == 8 ? IR_U64 : IR_U32;
}

/* ---- words ---- */

static LLVMValueRef is_less(const struct sort_network *s, const struct sort_word *a, const struct sort_word *b)
{
    LLVMBuilderRef builder = s->l->builder;
    LLVMValueRef less = LLVMBuildICmp(builder, LLVMIntULT, a->part[0], b->part[0], "");
    if (s->plan.parts == 1)
        return less;
    LLVMValueRef same = LLVMBuildICmp(builder, LLVMIntEQ, a->part[0], b->part[0], "");
    LLVMValueRef behind = LLVMBuildICmp(builder, LLVMIntULT, a->part[1], b->part[1], "");
    return LLVMBuildOr(builder, less, LLVMBuildAnd(builder, same, behind, ""), "");
}

static struct sort_word choose(const struct sort_network *s, LLVMValueRef first, const struct sort_word *a,
                               const struct sort_word *b)
{
    struct sort_word word = {{NULL}};
    for (int i = 0; i < s->plan.parts; i++)
        word.part[i] = LLVMBuildSelect(s->l->builder, first, a->part[i], b->part[i], "");
    return word;
}

/* The smaller of two, and in *more, where it is given, the other. */
static struct sort_word smaller(const struct sort_network *s, const struct sort_word *a, const struct sort_word *b,
                                struct sort_word *more)
{
    if (s->plan.parts == 1 && s->plan.part_bytes[0] == 4) {
        LLVMValueRef both[2] = {a->part[0], b->part[0]};
        if (more)
            more->part[0] = value_intrinsic(s->l, "llvm.umax", s->l->i32, both, 2);
        return (struct sort_word){{value_intrinsic(s->l, "llvm.umin", s->l->i32, both, 2)}};
    }
    LLVMValueRef less = is_less(s, a, b);
    if (more)
        *more = choose(s, less, b, a);
    return choose(s, less, a, b);
}

LLVMValueRef sort_word_address(const struct sort_network *s, int part, LLVMValueRef line, LLVMValueRef index)
{
    struct lowering *l = s->l;
    LLVMBuilderRef b = l->builder;
    LLVMValueRef place = LLVMBuildAdd(b, index, LLVMBuildLShr(b, index, value_i32(l, 5), ""), "");
    place = LLVMBuildAdd(b, place, LLVMBuildMul(b, line, value_i32(l, s->plan.pitch), ""), "");
    place = LLVMBuildMul(b, place, value_i32(l, s->plan.part_bytes[part]), "");
    return shared_address(l, s->start + s->plan.part_start[part], place);
}

void sort_word_store(const struct sort_network *s, const struct sort_word *word, LLVMValueRef line, LLVMValueRef index)
{
    for (int i = 0; i < s->plan.parts; i++)
        shared_store(s->l, part_element(s, i), word->part[i], sort_word_address(s, i, line, index),
                     s->plan.part_bytes[i]);
}

struct sort_word sort_word_load(const struct sort_network *s, LLVMValueRef line, LLVMValueRef index)
{
    struct sort_word word = {{NULL}};
    for (int i = 0; i < s->plan.parts; i++)
        word.part[i] = shared_load(s->l, part_element(s, i), sort_word_address(s, i, line, index),
                                   s->plan.part_bytes[i]);
    return word;
}

/* ---- loops, whose words go round ---- */

struct network_loop {
    LLVMBasicBlockRef head, exit;
    LLVMValueRef index;
};

/* for (index = first; index != last; index += step): all i32. */
static void loop_begin(struct sort_network *s, struct network_loop *loop, LLVMValueRef first, LLVMValueRef last)
{
    LLVMBuilderRef b = s->l->builder;
    LLVMBasicBlockRef before = LLVMGetInsertBlock(b), body = value_block(s->l, "stage");
    loop->head = value_block(s->l, "stages");
    loop->exit = value_block(s->l, "sorted");
    LLVMBuildBr(b, loop->head);
    LLVMPositionBuilderAtEnd(b, loop->head);
    loop->index = LLVMBuildPhi(b, s->l->i32, "");
    LLVMAddIncoming(loop->index, &first, &before, 1);
    for (int i = 0; i < s->each; i++)
        for (int p = 0; p < s->plan.parts; p++) {
            LLVMValueRef phi = LLVMBuildPhi(b, part_type(s, p), "");
            LLVMAddIncoming(phi, &s->word[i].part[p], &before, 1);
            s->word[i].part[p] = phi;
        }
    LLVMBuildCondBr(b, LLVMBuildICmp(b, LLVMIntEQ, loop->index, last, ""), loop->exit, body);
    LLVMPositionBuilderAtEnd(b, body);
}

static void loop_end(struct sort_network *s, struct network_loop *loop, int step)
{
    LLVMBuilderRef b = s->l->builder;
    LLVMBasicBlockRef latch = LLVMGetInsertBlock(b);
    LLVMValueRef next = LLVMBuildAdd(b, loop->index, value_i32(s->l, step), "");
    LLVMValueRef phi = LLVMGetNextInstruction(loop->index);
    LLVMAddIncoming(loop->index, &next, &latch, 1);
    for (int i = 0; i < s->each; i++)
        for (int p = 0; p < s->plan.parts; p++) {
            LLVMAddIncoming(phi, &s->word[i].part[p], &latch, 1);
            s->word[i].part[p] = phi;
            phi = LLVMGetNextInstruction(phi);
        }
    LLVMBuildBr(b, loop->head);
    LLVMPositionBuilderAtEnd(b, loop->exit);
}

/* ---- stages ---- */

static void registers_exchange(struct sort_network *s, int mask)
{
    for (int i = 0; i < s->each; i++) {
        struct sort_word more, less;
        if ((i ^ mask) < i)
            continue;
        less = smaller(s, &s->word[i], &s->word[i ^ mask], &more);
        s->word[i] = less;
        s->word[i ^ mask] = more;
    }
}

/* Words of runs of `size` registers that rise and fall become ordered. */
static void registers_merge(struct sort_network *s, int size)
{
    for (int distance = size / 2; distance > 0; distance /= 2)
        registers_exchange(s, distance);
}

static void registers_sort(struct sort_network *s, int size)
{
    for (int run = 2; run <= size; run *= 2) {
        registers_exchange(s, run - 1);
        registers_merge(s, run / 2);
    }
}

/* other[i] is word i of thread (member XOR mask), in opposite order of registers where they are `turned`. */
static void read_by_lanes(const struct sort_network *s, LLVMValueRef mask, bool turned, struct sort_word *other)
{
    for (int i = 0; i < s->each; i++)
        for (int p = 0; p < s->plan.parts; p++)
            other[i].part[p] = ptx_shuffle_xor_by(s->l, part_element(s, p),
                                                  s->word[turned ? s->each - 1 - i : i].part[p], mask);
}

static LLVMValueRef exchange_address(const struct sort_network *s, int part, int i, LLVMValueRef member)
{
    struct lowering *l = s->l;
    LLVMBuilderRef b = l->builder;
    LLVMValueRef place = LLVMBuildAdd(b, LLVMBuildMul(b, s->line, value_i32(l, s->plan.pitch), ""), member, "");
    place = LLVMBuildMul(b, place, value_i32(l, s->plan.part_bytes[part]), "");
    return shared_address(l, s->start + s->plan.part_start[part] + (int64_t)i * s->team * s->plan.part_bytes[part],
                          place);
}

/* In the line's own place: its words are all in registers. */
static void read_by_shared(const struct sort_network *s, LLVMValueRef mask, bool turned, struct sort_word *other)
{
    struct lowering *l = s->l;
    LLVMBuilderRef b = l->builder;
    LLVMBasicBlockRef join = NULL;
    if (s->valid) {
        LLVMBasicBlockRef put = value_block(l, "put");
        join = value_block(l, "kept");
        LLVMBuildCondBr(b, s->valid, put, join);
        LLVMPositionBuilderAtEnd(b, put);
    }
    for (int i = 0; i < s->each; i++)
        for (int p = 0; p < s->plan.parts; p++)
            shared_store(l, part_element(s, p), s->word[i].part[p], exchange_address(s, p, i, s->member),
                         s->plan.part_bytes[p]);
    if (join) {
        LLVMBuildBr(b, join);
        LLVMPositionBuilderAtEnd(b, join);
    }
    if (!PLANTED(nvptx_sort_barrier_dropped))
        ptx_barrier(l);
    LLVMValueRef partner = LLVMBuildXor(b, s->member, mask, "");
    for (int i = 0; i < s->each; i++)
        for (int p = 0; p < s->plan.parts; p++)
            other[i].part[p] = shared_load(l, part_element(s, p),
                                           exchange_address(s, p, turned ? s->each - 1 - i : i, partner),
                                           s->plan.part_bytes[p]);
    ptx_barrier(l);
}

static void read_others(const struct sort_network *s, LLVMValueRef mask, bool turned, bool far, struct sort_word *other)
{
    if (far)
        read_by_shared(s, mask, turned, other);
    else
        read_by_lanes(s, mask, turned, other);
}

/* The thread whose number has `bit` clear keeps the smaller words. */
static void threads_exchange(struct sort_network *s, LLVMValueRef mask, LLVMValueRef bit, bool turned, bool far)
{
    LLVMBuilderRef b = s->l->builder;
    struct sort_word *other = ARENA_ARRAY(s->l->arena, struct sort_word, s->each);
    LLVMValueRef zero = value_i32(s->l, 0);
    LLVMValueRef lower = LLVMBuildICmp(b, LLVMIntEQ, LLVMBuildAnd(b, s->member, bit, ""), zero, "");
    read_others(s, mask, turned, far, other);
    for (int i = 0; i < s->each; i++) {
        LLVMValueRef less = is_less(s, &s->word[i], &other[i]);
        s->word[i] = choose(s, LLVMBuildICmp(b, LLVMIntEQ, less, lower, ""), &s->word[i], &other[i]);
    }
}

static LLVMValueRef power(const struct sort_network *s, LLVMValueRef bit)
{
    return LLVMBuildShl(s->l->builder, value_i32(s->l, 1), bit, "");
}

/* Distances of 2^(bits - 1) … 1 threads; `far`: some of them lie beyond the warp. */
static void threads_merge(struct sort_network *s, LLVMValueRef bits, bool far)
{
    struct lowering *l = s->l;
    struct network_loop loop;
    LLVMValueRef start = LLVMBuildSub(l->builder, bits, value_i32(l, 1), ""), end = value_i32(l, -1);
    for (int beyond = far; beyond >= 0; beyond--) {
        LLVMValueRef last = beyond ? value_i32(l, LANE_BITS - 1) : end;
        if (far && !beyond)
            start = value_i32(l, LANE_BITS - 1);
        loop_begin(s, &loop, start, last);
        LLVMValueRef distance = power(s, loop.index);
        threads_exchange(s, distance, distance, false, beyond);
        loop_end(s, &loop, -1);
    }
}

/* Ordered runs of 2^(q - 1) threads become ones of 2^q, for q from `first` to `last`. */
static void threads_sort(struct sort_network *s, int first, int last, bool far)
{
    struct lowering *l = s->l;
    LLVMBuilderRef b = l->builder;
    struct network_loop loop;
    if (first > last)
        return;
    loop_begin(s, &loop, value_i32(l, first), value_i32(l, last + 1));
    LLVMValueRef below = LLVMBuildSub(b, loop.index, value_i32(l, 1), "");
    LLVMValueRef mask = LLVMBuildSub(b, power(s, loop.index), value_i32(l, 1), "");
    threads_exchange(s, mask, power(s, below), true, far);
    threads_merge(s, below, far);
    registers_merge(s, s->each);
    loop_end(s, &loop, 1);
}

/* ---- lists ---- */

/* Lists that a thread has several of. */
static void registers_keep(struct sort_network *s)
{
    while (s->each > s->list) {
        for (int run = 0; run < s->each / s->list / 2; run++)
            for (int i = 0; i < s->list; i++)
                s->word[run * s->list + i] = smaller(s, &s->word[2 * run * s->list + i],
                                                     &s->word[(2 * run + 2) * s->list - 1 - i], NULL);
        s->each /= 2;
        registers_merge(s, s->list);
    }
}

/* Lists of 2^own threads, of those that stand 2^bit threads apart: both have the result. */
static void threads_keep(struct sort_network *s, int own, int first, int last, bool far)
{
    struct lowering *l = s->l;
    struct network_loop loop;
    struct sort_word *other = ARENA_ARRAY(l->arena, struct sort_word, s->each);
    if (first > last)
        return;
    loop_begin(s, &loop, value_i32(l, first), value_i32(l, last + 1));
    LLVMValueRef mask = LLVMBuildOr(l->builder, power(s, loop.index), value_i32(l, (1 << own) - 1), "");
    read_others(s, mask, true, far, other);
    for (int i = 0; i < s->each; i++)
        s->word[i] = smaller(s, &s->word[i], &other[i], NULL);
    if (own)
        threads_merge(s, value_i32(l, own), own > LANE_BITS);
    registers_merge(s, s->each);
    loop_end(s, &loop, 1);
}

void sort_network(struct sort_network *s)
{
    int bits = log2_floor((uint64_t)s->team), near = bits < LANE_BITS ? bits : LANE_BITS;
    int run = s->list < s->each ? s->list : s->each;
    registers_sort(s, run);
    registers_keep(s);
    int own = log2_floor((uint64_t)(s->list / run)); /* bits of threads that one list goes over */
    threads_sort(s, 1, own < near ? own : near, false);
    threads_sort(s, LANE_BITS + 1, own, true);
    threads_keep(s, own, own, near - 1, false);
    threads_keep(s, own, own > LANE_BITS ? own : LANE_BITS, bits - 1, true);
}
