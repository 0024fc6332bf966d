/* sort and histogram, through shared memory.
 *
 * sort: each thread writes its elements as words (ir/facts/scratch.h).  Teams of threads take a line each, put it in order
 * (sort_network.c) and write it back.  Then each thread reads the results that it is to hold.  So operands and results may
 * have any layouts.  A line that is no power of two is filled up with words that sort behind all others.  Tiles that follow
 * the key are not sorted: they are read at the positions that come out.
 *
 * histogram: all threads clear the counts, of those who hold the same elements the first counts, by atomics, and who holds the
 * result reads it. */
#include "targets/common/sort_key.h"
#include "targets/nvptx/lower/sort.h"

struct sorting {
    struct lowering *l;
    const struct ir_operation *operation;
    int axis;
    enum ir_element element;
    bool descending;
    int64_t tile_start[17]; /* of operands behind the key, in shared memory; -1: not wanted */
    struct sort_network network;
};

/* ---- words ---- */

static struct sort_word word_of(const struct sorting *s, LLVMValueRef value, LLVMValueRef position)
{
    struct lowering *l = s->l;
    LLVMBuilderRef b = l->builder;
    const struct scratch_sort *plan = &s->network.plan;
    LLVMValueRef key = sort_key_of(b, s->element, s->descending, value_to_bits(l, s->element, value));
    LLVMTypeRef word = plan->part_bytes[0] == 8 ? l->i64 : l->i32;
    key = LLVMBuildIntCast2(b, key, word, false, "");
    if (!plan->positions)
        return (struct sort_word){{key}};
    if (plan->parts == 2)
        return (struct sort_word){{key, position}};
    LLVMValueRef half = LLVMConstInt(word, (unsigned)plan->part_bytes[0] * 4, false);
    position = LLVMBuildIntCast2(b, position, word, false, "");
    return (struct sort_word){{LLVMBuildOr(b, LLVMBuildShl(b, key, half, ""), position, "")}};
}

static LLVMValueRef position_of(const struct sorting *s, const struct sort_word *word)
{
    struct lowering *l = s->l;
    const struct scratch_sort *plan = &s->network.plan;
    if (plan->parts == 2)
        return word->part[1];
    if (plan->part_bytes[0] == 8)
        return LLVMBuildTrunc(l->builder, word->part[0], l->i32, "");
    return LLVMBuildAnd(l->builder, word->part[0], value_i32(l, 0xffff), "");
}

static LLVMValueRef value_of_word(const struct sorting *s, const struct sort_word *word)
{
    struct lowering *l = s->l;
    LLVMBuilderRef b = l->builder;
    const struct scratch_sort *plan = &s->network.plan;
    LLVMValueRef key = word->part[0];
    LLVMTypeRef type = LLVMIntTypeInContext(l->context, 8 * (unsigned)value_bytes(s->element));
    if (plan->positions && plan->parts == 1)
        key = LLVMBuildLShr(b, key, LLVMConstInt(LLVMTypeOf(key), (unsigned)plan->part_bytes[0] * 4, false), "");
    key = LLVMBuildIntCast2(b, key, type, false, "");
    return value_from_bits(l, s->element, sort_key_bits(b, s->element, s->descending, key));
}

/* ---- between tiles and shared memory ---- */

struct place {
    LLVMValueRef line, index; /* i32: number of the line, and along it */
};

static struct place place_of(const struct sorting *s, const struct ir_type *type, int reg)
{
    struct lowering *l = s->l;
    LLVMBuilderRef b = l->builder;
    struct place place = {value_i32(l, 0), NULL};
    for (int d = 0; d < type->rank; d++) {
        LLVMValueRef at = coordinate_register(l, type->layout, d, reg);
        if (d == s->axis) {
            place.index = at;
            continue;
        }
        place.line = LLVMBuildMul(b, place.line, value_i32(l, type->extent[d]), "");
        place.line = LLVMBuildAdd(b, place.line, at, "");
    }
    return place;
}

static LLVMValueRef tile_address(const struct sorting *s, int index, LLVMValueRef line, LLVMValueRef at)
{
    struct lowering *l = s->l;
    LLVMBuilderRef b = l->builder;
    LLVMValueRef place = LLVMBuildMul(b, line, value_i32(l, s->network.plan.extent), "");
    place = LLVMBuildMul(b, LLVMBuildAdd(b, place, at, ""),
                         value_i32(l, value_bytes(s->operation->operands[index]->type->element)), "");
    return shared_address(l, s->tile_start[index], place);
}

/* Of those who hold the same elements the first writes. */
static void write_tile(const struct sorting *s, int index)
{
    struct lowering *l = s->l;
    const struct ir_value *value = s->operation->operands[index];
    enum ir_element element = value->type->element;
    LLVMValueRef leader = coordinate_leader(l, value->type->layout);
    LLVMBasicBlockRef join = NULL;
    if (leader) {
        LLVMBasicBlockRef put = value_block(l, "put");
        join = value_block(l, "kept");
        LLVMBuildCondBr(l->builder, leader, put, join);
        LLVMPositionBuilderAtEnd(l->builder, put);
    }
    for (int i = 0; i < value_registers(value->type); i++) {
        struct place place = place_of(s, value->type, i);
        if (index == 0) {
            struct sort_word word = word_of(s, value_register(l, value, i), place.index);
            sort_word_store(&s->network, &word, place.line, place.index);
        } else {
            shared_store(l, element, value_register(l, value, i), tile_address(s, index, place.line, place.index),
                         value_bytes(element));
        }
    }
    if (!join)
        return;
    LLVMBuildBr(l->builder, join);
    LLVMPositionBuilderAtEnd(l->builder, join);
}

static void read_tile(const struct sorting *s, int index)
{
    struct lowering *l = s->l;
    const struct ir_value *result = s->operation->results[index];
    enum ir_element element = result->type->element;
    LLVMValueRef *out = value_define(l, result);
    for (int i = 0; i < value_registers(result->type); i++) {
        struct place place = place_of(s, result->type, i);
        struct sort_word word = sort_word_load(&s->network, place.line, place.index);
        if (index == 0)
            out[i] = value_of_word(s, &word);
        else if (index == s->operation->operand_count)
            out[i] = LLVMBuildIntCast2(l->builder, position_of(s, &word), lower_value_type(l, element), false, "");
        else
            out[i] = shared_load(l, element, tile_address(s, index, place.line, position_of(s, &word)),
                                 value_bytes(element));
    }
}

/* ---- lines ---- */

static void load_words(struct sorting *s)
{
    struct sort_network *n = &s->network;
    struct lowering *l = s->l;
    LLVMBuilderRef b = l->builder;
    struct sort_word last = {{NULL}};
    for (int p = 0; p < n->plan.parts; p++)
        last.part[p] = LLVMConstAllOnes(n->plan.part_bytes[p] == 8 ? l->i64 : l->i32);
    for (int i = 0; i < n->each; i++) {
        int64_t first = (int64_t)i * n->team;
        n->word[i] = last;
        if (first >= n->plan.extent)
            continue;
        LLVMValueRef index = LLVMBuildAdd(b, n->member, value_i32(l, first), "");
        if (first + n->team <= n->plan.extent) {
            n->word[i] = sort_word_load(n, n->line, index);
            continue;
        }
        LLVMValueRef end = value_i32(l, n->plan.extent - 1);
        LLVMValueRef there = LLVMBuildICmp(b, LLVMIntULE, index, end, "");
        struct sort_word word = sort_word_load(n, n->line, LLVMBuildSelect(b, there, index, end, ""));
        for (int p = 0; p < n->plan.parts; p++)
            n->word[i].part[p] = LLVMBuildSelect(b, there, word.part[p], last.part[p], "");
    }
}

/* The first `kept` words of the line.  A list that every thread has is written by the team's first one. */
static void store_words(struct sorting *s, int64_t kept)
{
    struct sort_network *n = &s->network;
    struct lowering *l = s->l;
    LLVMBuilderRef b = l->builder;
    LLVMBasicBlockRef put = value_block(l, "put"), join = value_block(l, "kept");
    int64_t owners = (kept + n->each - 1) / n->each;
    LLVMValueRef writes = LLVMBuildICmp(b, LLVMIntULT, n->member, value_i32(l, owners), "");
    if (n->valid)
        writes = LLVMBuildAnd(b, writes, n->valid, "");
    LLVMBuildCondBr(b, writes, put, join);
    LLVMPositionBuilderAtEnd(b, put);
    LLVMValueRef first = LLVMBuildMul(b, n->member, value_i32(l, n->each), "");
    for (int i = 0; i < n->each && i < kept; i++)
        sort_word_store(n, &n->word[i], n->line, LLVMBuildAdd(b, first, value_i32(l, i), ""));
    LLVMBuildBr(b, join);
    LLVMPositionBuilderAtEnd(b, join);
}

/* What a short list of a line costs, in comparisons of all the warps that it goes over: each thread puts its words into
 * lists in order and keeps one of them; then lists meet, at each step by shuffles, and every thread has what comes out. */
static int64_t list_cost(int64_t list, int64_t each, int64_t team)
{
    int64_t log = log2_floor((uint64_t)list), merge = list / 2 * log;
    int64_t cost = each / list * merge * (log + 1) / 2;
    for (int64_t lists = each / list; lists > 1; lists /= 2)
        cost += lists / 2 * (merge + list);
    for (int64_t threads = team; threads > 1; threads /= 2)
        cost += merge + 2 * list;
    return cost * ((team + 31) / 32);
}

enum { MOST_WARPS_OF_LISTS = 8 }; /* more leave a thread no registers for so many words */

/* So many words a thread that all threads are busy, and no more than it has room for.  A short list of a long line is had
 * sooner by one warp whose threads have more of it: every further warp only repeats the steps in which lists meet. */
static void choose_teams(struct sorting *s)
{
    struct sort_network *n = &s->network;
    const struct scratch_sort *plan = &n->plan;
    int64_t threads = INT64_C(1) << log2_floor((uint64_t)(32 * s->l->warps));
    bool narrow = plan->parts == 1 && plan->part_bytes[0] == 4;
    int64_t most = narrow ? 32 : 16, most_of_lists = narrow ? 64 : 32, each = 1;
    while (each < most && each < plan->padded && threads * each < plan->lines * plan->padded)
        each *= 2;
    while (plan->padded / each > threads)
        each *= 2;
    int64_t of_warp = plan->padded / 32;
    if (s->l->warps <= MOST_WARPS_OF_LISTS && n->list <= each && each < of_warp && of_warp <= most_of_lists &&
        list_cost(n->list, of_warp, 32) < list_cost(n->list, each, plan->padded / each))
        each = of_warp;
    if (each > SORT_MOST_EACH)
        die("a sort of %lld elements by %d warps", (long long)plan->extent, s->l->warps);
    n->each = (int)each;
    n->team = (int)(plan->padded / each);
    n->teams = (int)(threads / n->team);
}

/* Whether whole warps may have no line, and their threads nothing to wait for in between. */
static bool may_pass(const struct sort_network *n) { return n->valid && n->team == 32; }

static void sort_lines(struct sorting *s)
{
    struct sort_network *n = &s->network;
    struct lowering *l = s->l;
    LLVMBuilderRef b = l->builder;
    int64_t kept = s->operation->results[0]->type->extent[s->axis];
    int each = n->each;
    int64_t rounds = (n->plan.lines + n->teams - 1) / n->teams;
    bool all = rounds * n->teams == n->plan.lines && n->team * n->teams == 32 * l->warps;
    n->member = LLVMBuildAnd(b, l->thread, value_i32(l, n->team - 1), "");
    LLVMValueRef team = LLVMBuildLShr(b, l->thread, value_i32(l, log2_floor((uint64_t)n->team)), "");
    LLVMBasicBlockRef before = LLVMGetInsertBlock(b), head = value_block(l, "lines"), exit = value_block(l, "sorted");
    LLVMValueRef round = NULL, zero = value_i32(l, 0);
    n->line = team;
    if (rounds > 1) {
        LLVMBuildBr(b, head);
        LLVMPositionBuilderAtEnd(b, head);
        round = LLVMBuildPhi(b, l->i32, "");
        LLVMAddIncoming(round, &zero, &before, 1);
        n->line = LLVMBuildAdd(b, team, LLVMBuildMul(b, round, value_i32(l, n->teams), ""), "");
    }
    if (!all) { /* a team without a line does as the last one does, and writes nothing */
        LLVMValueRef last = value_i32(l, n->plan.lines - 1), most = value_i32(l, n->teams);
        n->valid = LLVMBuildICmp(b, LLVMIntULE, n->line, last, "");
        n->line = LLVMBuildSelect(b, n->valid, n->line, last, "");
        n->valid = LLVMBuildAnd(b, n->valid, LLVMBuildICmp(b, LLVMIntULT, team, most, ""), "");
    }
    load_words(s);
    ptx_barrier(l);
    LLVMBasicBlockRef passed = may_pass(n) ? value_block(l, "passed") : NULL;
    if (passed) {
        LLVMBasicBlockRef some = value_block(l, "some");
        LLVMBuildCondBr(b, n->valid, some, passed);
        LLVMPositionBuilderAtEnd(b, some);
    }
    sort_network(n);
    store_words(s, kept);
    if (passed) {
        LLVMBuildBr(b, passed);
        LLVMPositionBuilderAtEnd(b, passed);
    }
    n->each = each;
    if (round) {
        LLVMBasicBlockRef latch = LLVMGetInsertBlock(b);
        LLVMValueRef next = LLVMBuildAdd(b, round, value_i32(l, 1), "");
        LLVMAddIncoming(round, &next, &latch, 1);
        LLVMBuildCondBr(b, LLVMBuildICmp(b, LLVMIntEQ, next, value_i32(l, rounds), ""), exit, head);
    } else {
        LLVMBuildBr(b, exit);
        LLVMDeleteBasicBlock(head);
    }
    LLVMPositionBuilderAtEnd(b, exit);
}

void lower_sort(struct lowering *l, struct ir_operation *operation)
{
    const struct ir_type *type = operation->operands[0]->type;
    struct sorting *s = ARENA_NEW(l->arena, struct sorting);
    *s = (struct sorting){.l = l, .operation = operation, .element = type->element};
    struct sort_network *n = &s->network;
    int tiles = operation->operand_count;
    bool any = false;
    if (tiles > 16)
        die("a sort of %d tiles", tiles);
    s->axis = (int)ir_number(operation, IR_ATTRIBUTE_AXIS, 0);
    s->descending = ir_number(operation, IR_ATTRIBUTE_DESCENDING, 0) != 0;
    for (int i = 0; i <= tiles; i++)
        any |= operation->results[i]->uses != NULL;
    if (!any)
        return;
    scratch_sort(operation, &n->plan);
    n->l = l;
    n->list = 1;
    while (n->list < operation->results[0]->type->extent[s->axis])
        n->list *= 2;
    n->start = shared_scratch(l, operation, scratch_bytes(l->layouts, l->arena, operation));
    write_tile(s, 0);
    for (int i = 1; i < tiles; i++) {
        s->tile_start[i] = scratch_sort_tile(operation, i);
        if (s->tile_start[i] < 0)
            continue;
        s->tile_start[i] += n->start;
        write_tile(s, i);
    }
    ptx_barrier(l);
    choose_teams(s);
    sort_lines(s);
    ptx_barrier(l);
    for (int i = 0; i <= tiles; i++)
        if (operation->results[i]->uses)
            read_tile(s, i);
}

/* ---- histogram ---- */

/* for (i = thread; i < bins; i += threads) count[i] = 0 */
static void clear(struct lowering *l, int64_t start, int64_t bins)
{
    LLVMBuilderRef b = l->builder;
    LLVMBasicBlockRef before = LLVMGetInsertBlock(b), head = value_block(l, "bins"), body = value_block(l, "bin"),
                      exit = value_block(l, "cleared");
    LLVMBuildBr(b, head);
    LLVMPositionBuilderAtEnd(b, head);
    LLVMValueRef bin = LLVMBuildPhi(b, l->i32, "");
    LLVMAddIncoming(bin, &l->thread, &before, 1);
    LLVMBuildCondBr(b, LLVMBuildICmp(b, LLVMIntULT, bin, value_i32(l, bins), ""), body, exit);
    LLVMPositionBuilderAtEnd(b, body);
    LLVMValueRef address = shared_address(l, start, LLVMBuildMul(b, bin, value_i32(l, 4), ""));
    shared_store(l, IR_I32, value_i32(l, 0), address, 4);
    LLVMValueRef next = LLVMBuildAdd(b, bin, value_i32(l, 32 * l->warps), "");
    LLVMAddIncoming(bin, &next, &body, 1);
    LLVMBuildBr(b, head);
    LLVMPositionBuilderAtEnd(b, exit);
    ptx_end_arm(l); /* lanes leave the loop one by one */
}

static void count(struct lowering *l, const struct ir_value *numbers, int64_t start, int64_t bins)
{
    LLVMBuilderRef b = l->builder;
    enum ir_element element = numbers->type->element;
    LLVMValueRef leader = coordinate_leader(l, numbers->type->layout);
    for (int i = 0; i < value_registers(numbers->type); i++) {
        LLVMValueRef number = value_wide(l, element, value_register(l, numbers, i));
        LLVMValueRef counts = LLVMBuildICmp(b, LLVMIntULT, number, value_i64(l, bins), "");
        if (leader)
            counts = LLVMBuildAnd(b, counts, leader, "");
        LLVMValueRef bin = LLVMBuildSelect(b, counts, LLVMBuildTrunc(b, number, l->i32, ""), value_i32(l, 0), "");
        LLVMValueRef address = shared_address(l, start, LLVMBuildMul(b, bin, value_i32(l, 4), ""));
        LLVMValueRef arguments[2] = {counts, LLVMBuildPtrToInt(b, address, l->i32, "")};
        ptx_emit(l, PTX_COUNT_SHARED, l->nothing, arguments, 2, NULL);
    }
}

void lower_histogram(struct lowering *l, struct ir_operation *operation)
{
    const struct ir_value *result = operation->results[0];
    int64_t bins = result->type->extent[0], start = shared_scratch(l, operation, 4 * bins);
    clear(l, start, bins);
    ptx_barrier(l);
    count(l, operation->operands[0], start, bins);
    ptx_barrier(l);
    LLVMValueRef *out = value_define(l, result);
    for (int i = 0; i < value_registers(result->type); i++) {
        LLVMValueRef bin = coordinate_register(l, result->type->layout, 0, i);
        out[i] = shared_load(l, IR_I32, shared_address(l, start, LLVMBuildMul(l->builder, bin, value_i32(l, 4), "")),
                             4);
    }
}
