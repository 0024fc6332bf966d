/* Which programs a block takes, and when.
 *
 * Blocks walk over programs (persistent) where all programs take equally long, and where they differ in a way that makes
 * pairs: where the loops of a program get longer, or shorter, from one place of a grid dimension of size n to the next,
 *
 *     place       0  1  2  3          for j in 0..(i + 1)*BN step BN { … }
 *     turns       1  2  3  4          the first and the last together turn as often as the two between them: n + 1 times
 *
 * Then a block takes pairs of programs, one from each end, so that all blocks are done at about the same time.  The two
 * are of neighbouring lines (two heads that read other keys), so that there are pairs where n is odd, too:
 *
 *     pair        0      1      2      3      4 …               pair k: places n-1 - k%n of line 2*(k/n)
 *     its first   3, 0   2, 0   1, 0   0, 0   3, 2 …                    and      k%n of line 2*(k/n) + 1
 *     its second  0, 1   1, 1   2, 1   3, 1   0, 3 …            (place, line), here with n = 4
 *
 * With an odd number of lines the last one makes pairs of its own two ends.  Block b of G takes pairs b, b + G, … while
 * all blocks have one.  What is left are fewer than 2 G programs: each block takes one of them, and as many blocks as
 * there are more than G take a pair.
 *
 * Where blocks walk over many programs, or these differ much (ENOUGH), what is left are the shortest instead, so that it
 * matters little who has one more: the first m places of each line, or m + 1 of the last few.  Pairs are made of the places
 * behind them,
 *
 *     n-1 and m, n-2 and m + 1, …
 *
 * and the short ones come last, the longest of them first, those beyond G from the other end.  (Elsewhere they would come
 * too late for what they read to be in L2, all at once.)
 *
 * Right because each number below that of programs stands for one short program or one member of a pair.  Of more than
 * 2^31 - 1 programs each block takes those that come to it as they are numbered.
 *
 * Causal attention on an H200 (16384 rows, heads of 128, TFLOP/s; 2026-11-27-h200-pairs.json): 252 by a block for each
 * program and 295 by pairs at s 512, 374 and 428 at s 1024, 581 and 621 at s 4096.  (Blocks that walk over programs as they
 * are numbered: 228, 353, 575, in a run that was not kept.)  Short programs last take 0.97 of the time of pairs alone at
 * s 4096 and 0.95 at s 16384; heads of 256 1.05 and 1.02 at s 1024 and 2048, which ENOUGH leaves out.  A consumer of a single
 * warpgroup leaves room for other blocks, which the hardware fills better.
 *
 * Else, where the work grows along a grid dimension the longest come first, and the hardware hands them out. */
#include "base/plant.h"
#include "passes/base/budget.h"
#include "passes/base/planning.h"
#include "passes/base/rewrite.h"
#include "passes/roles/specialise.h"

enum { RASTER = 8, CONSUMERS = 2, ENOUGH = 128 };

/* ---- the order of programs ---- */

static bool depends_on(const struct ir_value *value, int dimension) { return outline_direction(value, dimension) != 0; }

/* What is known of all loops with channels, by the directions of their bounds along a dimension. */
static int over_loops(const struct outline *o, int dimension, int (*add)(int known, int lower, int upper))
{
    int known = 0;
    for (int c = 0; c < o->channels.count; c++)
        for (const struct ir_block *block = o->channels.data[c].wait->block; block->parent;
             block = block->parent->block) {
            const struct ir_operation *loop = block->parent;
            int64_t step = 1;
            if (loop->opcode != OP_FOR)
                continue;
            bool down = ir_constant_integer(loop->operands[2], &step) && step < 0;
            known = add(known, outline_direction(loop->operands[down], dimension),
                        outline_direction(loop->operands[!down], dimension));
        }
    return known;
}

/* The number of iterations of some loop grows (1) along a dimension, or may shrink (-1). */
static int add_uneven(int known, int lower, int upper)
{
    if (upper == 1 && lower == 0)
        return 1;
    return (upper != 0 || lower != 0) && !known ? -1 : known;
}

/* How the number of iterations of all loops moves along a dimension: 1 up, -1 down, 0 not at all, 2 unknown. */
static int add_length(int known, int lower, int upper)
{
    int own = lower == 2 || upper == 2 ? 2 : lower == upper ? 0 : upper ? upper : -lower;
    return own == 0 || own == known ? known : known == 0 ? own : 2;
}

/* The one dimension along which programs differ in length, so that pairs are alike; or -1. */
static int find_paired(struct outline *o)
{
    int found = -1;
    for (int d = 0; d < o->function->grid_rank; d++) {
        int length = over_loops(o, d, add_length);
        if (length == 2 || (length != 0 && found >= 0))
            return -1;
        found = length ? d : found;
        o->grows |= length == 1;
    }
    return found;
}

/* Programs that differ in dimension 0 alone share some copies, and those that differ in dimension 1 alone share others:
 * both kinds should run together. */
static bool shares_both_ways(const struct outline *o)
{
    bool only_first = false, only_second = false;
    for (int c = 0; c < o->channels.count; c++)
        for (int i = 0; i < o->channels.data[c].copies.count; i++) {
            const struct ir_operation *copy = o->channels.data[c].copies.data[i];
            bool first = false, second = false;
            for (int k = 1; k + 1 < copy->operand_count; k++) {
                first |= depends_on(copy->operands[k], 0);
                second |= depends_on(copy->operands[k], 1);
            }
            only_first |= first && !second;
            only_second |= second && !first;
        }
    return only_first && only_second;
}

/* Parts that meet are neighbours, as blocks come: no other order, and nobody who meets others halfway. */
void outline_order_programs(struct outline *o)
{
    struct ir_function *function = o->function;
    int uneven = 0;
    o->raster = 1;
    o->paired = -1;
    if (function->parts > 1)
        return;
    for (int d = 0; d < function->grid_rank && !uneven; d++)
        uneven = over_loops(o, d, add_uneven);
    o->raster = function->raster > 0 ? function->raster : 1;
    if (function->raster == 0 && function->grid_rank >= 2 && shares_both_ways(o))
        o->raster = RASTER;
    if (function->raster == 0)
        o->raster = ir_choose_among(function->raster_among, o->raster);
    bool fills = function->warps > IR_WARPGROUP; /* else the hardware gives a multiprocessor several blocks */
    int paired = uneven && fills && o->raster == 1 && function->cluster < 2 ? find_paired(o) : -1;
    o->persistent = function->grid_rank > 0 && !function->ordered &&
                    (function->persistent ? function->persistent > 0 : !uneven || paired >= 0);
    o->paired = o->persistent ? paired : -1;
    o->reversed = uneven == 1;
}

/* ---- pairs ---- */

/* All in 32 bits, since what is known of a block's programs takes registers while they run. */
static struct ir_value *number(struct ir_builder *b, int64_t value)
{
    return ir_constant_int(b, ir_type_scalar(b->module->context, IR_I32), value);
}

static struct ir_value *short_of(struct ir_builder *b, struct ir_value *index) { return ir_cast(b, index, IR_I32); }

static struct ir_value *size_of(struct ir_builder *b, int dimension)
{
    struct ir_value *size = ir_build_value(b, OP_GRID_SIZE, ir_type_scalar(b->module->context, IR_INDEX), 0, NULL);
    ir_set_number(size->definition, IR_ATTRIBUTE_DIMENSION, dimension);
    return size;
}

struct outline_pairs outline_count_pairs(const struct outline *o, struct ir_builder *b, struct ir_value *block,
                                         struct ir_value *programs, struct ir_value *blocks)
{
    struct ir_value *one = number(b, 1), *two = number(b, 2);
    struct ir_value *most = ir_constant_int(b, programs->type, INT32_MAX);
    struct outline_pairs p = {.fits = ir_compare(b, IR_PREDICATE_LE, programs, most),
                              .block = short_of(b, block),
                              .blocks = short_of(b, blocks),
                              .along = short_of(b, size_of(b, o->paired)),
                              .last_line = one};
    programs = short_of(b, programs);
    for (int d = 0; d < o->function->grid_rank; d++)
        if (d != o->paired)
            p.last_line = ir_binary(b, OP_MUL, p.last_line, short_of(b, size_of(b, d)));
    struct ir_value *lines = ir_binary(b, OP_DIV, p.last_line, two); /* in twos */
    p.last_line = ir_binary(b, OP_SUB, p.last_line, one);
    p.paired = ir_binary(b, OP_DIV, ir_binary(b, OP_DIV, programs, two), p.blocks);
    p.paired = ir_binary(b, OP_MUL, p.paired, p.blocks);
    p.left = ir_binary(b, OP_SUB, programs, ir_binary(b, OP_MUL, p.paired, two));
    struct ir_value *all = ir_binary(b, OP_MUL, lines, p.along);
    struct ir_value *rounds = ir_binary(b, OP_DIV, programs, p.blocks), *enough = number(b, ENOUGH);
    rounds = ir_binary(b, OP_MIN, rounds, enough);
    p.few = ir_compare(b, IR_PREDICATE_LT, ir_binary(b, OP_MUL, rounds, ir_binary(b, OP_MIN, p.along, enough)), enough);
    p.short_pairs = ir_binary(b, OP_MIN, ir_binary(b, OP_DIV, p.left, two), all);
    p.short_pairs = ir_select(b, p.few, number(b, 0), p.short_pairs);
    p.all_lines = ir_binary(b, OP_MAX, lines, one);
    p.places = ir_binary(b, OP_DIV, p.short_pairs, p.all_lines);
    p.lines = ir_binary(b, OP_SUB, p.all_lines, ir_binary(b, OP_REM, p.short_pairs, p.all_lines));
    p.first_end = ir_binary(b, OP_MUL, p.lines, ir_binary(b, OP_SUB, p.along, p.places));
    p.second_end = ir_binary(b, OP_SUB, all, p.short_pairs);
    return p;
}

/* Two dimensions of a grid: the paired one, and all others as one. */
static void split_line(const struct outline *o, struct ir_builder *b, struct ir_value *line,
                       struct ir_value **coordinate)
{
    int rank = o->function->grid_rank, outermost = o->paired == rank - 1 ? rank - 2 : rank - 1;
    for (int d = 0; d < rank; d++) {
        if (d == o->paired)
            continue;
        struct ir_value *size = ir_cast(b, size_of(b, d), line->type->element);
        coordinate[d] = d == outermost ? line : ir_binary(b, OP_REM, line, size);
        line = d == outermost ? line : ir_binary(b, OP_DIV, line, size);
    }
}

/* A place in a table with rows of so many columns; the first row is that of `line`. */
struct place {
    struct ir_value *number, *columns, *line;
    struct ir_value *skipped; /* short programs in front of the pairs of its row */
};

/* Two lines have a row of pairs: those with `places` short programs, then those with one more, then a last single line. */
static struct place find_pair(struct ir_builder *b, const struct outline_pairs *p, struct ir_value *pair)
{
    struct ir_value *in_first = ir_compare(b, IR_PREDICATE_LT, pair, p->first_end);
    struct ir_value *in_second = ir_compare(b, IR_PREDICATE_LT, pair, p->second_end), *none = number(b, 0);
    struct place at;
    at.skipped = ir_binary(b, OP_ADD, p->places, number(b, 1));
    at.skipped = ir_select(b, in_first, p->places, ir_select(b, in_second, at.skipped, none));
    at.columns = ir_binary(b, OP_SUB, p->along, at.skipped);
    at.number = ir_select(b, in_first, none, ir_select(b, in_second, p->first_end, p->second_end));
    at.number = ir_binary(b, OP_SUB, pair, at.number);
    at.line = ir_select(b, in_first, none, ir_select(b, in_second, p->lines, p->all_lines));
    return at;
}

/* Which of the short programs, two by two: those beyond the blocks from the other end. */
static struct ir_value *short_left(struct ir_builder *b, const struct outline_pairs *p, struct ir_value *left)
{
    struct ir_value *back = ir_binary(b, OP_SUB, ir_binary(b, OP_ADD, p->left, p->blocks), number(b, 1));
    back = ir_binary(b, OP_SUB, back, left);
    return ir_select(b, ir_compare(b, IR_PREDICATE_LT, left, p->blocks), left, back);
}

/* Which member of the pairs that are left, two by two: as many blocks as there are members beyond the blocks take a pair, and
 * the others one member each. */
static struct ir_value *member_left(struct ir_builder *b, const struct outline_pairs *p, struct ir_value *left)
{
    struct ir_value *two = number(b, 2);
    struct ir_value *more = ir_binary(b, OP_MAX, ir_binary(b, OP_SUB, p->left, p->blocks), number(b, 0));
    struct ir_value *second = ir_binary(b, OP_MUL, ir_binary(b, OP_SUB, left, p->blocks), two);
    second = ir_binary(b, OP_ADD, second, number(b, 1));
    struct ir_value *single = ir_binary(b, OP_ADD, left, more), *first = ir_binary(b, OP_MUL, left, two);
    single = ir_select(b, ir_compare(b, IR_PREDICATE_LT, left, more), first, single);
    return ir_select(b, ir_compare(b, IR_PREDICATE_LT, left, p->blocks), single, second);
}

static struct ir_builder region_of(const struct ir_builder *b, struct ir_operation *op, int region)
{
    return (struct ir_builder){.module = b->module, .block = op->regions[region], .at = b->at};
}

/* What a program is: member `second` of a pair, or of two short programs. */
struct member {
    struct ir_value *second, *pair, *twos, *is_pair;
};

static struct member find_left(struct ir_builder *b, const struct outline_pairs *p, struct ir_value *left)
{
    struct ir_value *two = number(b, 2);
    left = ir_select(b, p->few, member_left(b, p, left), short_left(b, p, left));
    struct member m = {.second = ir_binary(b, OP_REM, left, two), .twos = ir_binary(b, OP_DIV, left, two)};
    struct ir_value *beyond = ir_binary(b, OP_SUB, m.twos, p->short_pairs);
    m.is_pair = ir_compare(b, IR_PREDICATE_GE, beyond, number(b, 0));
    m.pair = ir_binary(b, OP_ADD, p->paired, beyond);
    return m;
}

static struct member find_whole(struct ir_builder *b, const struct outline_pairs *p, struct ir_value *turn)
{
    struct ir_value *two = number(b, 2), *none = number(b, 0);
    struct ir_value *pair = ir_binary(b, OP_MUL, ir_binary(b, OP_DIV, turn, two), p->blocks);
    return (struct member){.second = ir_binary(b, OP_REM, turn, two),
                           .pair = ir_binary(b, OP_ADD, pair, p->block),
                           .twos = none,
                           .is_pair = ir_compare(b, IR_PREDICATE_EQ, none, none)};
}

/* Most programs are of pairs that the block takes whole, which is found soon. */
static struct member find_member(struct ir_builder *b, const struct outline_pairs *p, struct ir_value *program,
                                 struct ir_value *turn)
{
    struct ir_value *left = ir_binary(b, OP_SUB, program, ir_binary(b, OP_MUL, p->paired, number(b, 2)));
    struct ir_value *is_left = ir_compare(b, IR_PREDICATE_GE, left, number(b, 0));
    const struct ir_type *types[] = {left->type, left->type, left->type, is_left->type};
    struct ir_operation *either = ir_build(b, OP_IF, 1, &is_left, 4, types);
    for (int region = 0; region < 2; region++) {
        struct ir_builder inner = region_of(b, either, region);
        struct member m = region == 0 ? find_left(&inner, p, left) : find_whole(&inner, p, turn);
        ir_build(&inner, OP_YIELD, 4, (struct ir_value *[]){m.second, m.pair, m.twos, m.is_pair}, 0, NULL);
    }
    return (struct member){either->results[0], either->results[1], either->results[2], either->results[3]};
}

static void place_short(const struct outline *o, struct ir_builder *b, const struct outline_pairs *p,
                        struct ir_value *program, struct ir_value *turn, struct ir_value **coordinate)
{
    struct ir_value *one = number(b, 1), *two = number(b, 2);
    struct member m = find_member(b, p, program, turn);
    struct place at = find_pair(b, p, m.pair);
    at.columns = ir_select(b, m.is_pair, at.columns, p->all_lines);
    at.number = ir_select(b, m.is_pair, at.number, ir_binary(b, OP_ADD, m.twos, p->lines));
    struct ir_value *row = ir_binary(b, OP_DIV, at.number, at.columns);
    struct ir_value *column = ir_binary(b, OP_SUB, at.number, ir_binary(b, OP_MUL, row, at.columns));
    struct ir_value *end = PLANTED(paired_programs_off_by_one) ? p->along : ir_binary(b, OP_SUB, p->along, one);
    struct ir_value *place = ir_select(b, ir_compare(b, IR_PREDICATE_EQ, m.second, number(b, 0)),
                                       ir_binary(b, OP_SUB, end, column), ir_binary(b, OP_ADD, at.skipped, column));
    place = ir_select(b, m.is_pair, place, ir_binary(b, OP_SUB, p->places, row));
    coordinate[o->paired] = o->grows ? place : ir_binary(b, OP_SUB, ir_binary(b, OP_SUB, p->along, one), place);
    struct ir_value *line = ir_select(b, m.is_pair, ir_binary(b, OP_ADD, at.line, row), column);
    line = ir_binary(b, OP_ADD, ir_binary(b, OP_MUL, line, two), m.second);
    split_line(o, b, ir_binary(b, OP_MIN, line, p->last_line), coordinate); /* the last one may be single */
}

/* As they are numbered. */
static void place_long(const struct outline *o, struct ir_builder *b, struct ir_value *program,
                       struct ir_value **coordinate)
{
    struct ir_value *along = size_of(b, o->paired);
    coordinate[o->paired] = ir_binary(b, OP_REM, program, along);
    split_line(o, b, ir_binary(b, OP_DIV, program, along), coordinate);
}

void outline_place_pair(const struct outline *o, struct ir_builder *b, const struct outline_pairs *p,
                        struct ir_value *program, struct ir_value *turn, struct ir_value **coordinate)
{
    int rank = o->function->grid_rank;
    const struct ir_type *types[IR_MAX_RANK];
    for (int d = 0; d < rank; d++)
        types[d] = program->type;
    struct ir_value *fits = p->fits;
    struct ir_operation *either = ir_build(b, OP_IF, 1, &fits, rank, types);
    for (int region = 0; region < 2; region++) {
        struct ir_builder inner = region_of(b, either, region);
        if (region == 0)
            place_short(o, &inner, p, short_of(&inner, program), turn, coordinate);
        else
            place_long(o, &inner, program, coordinate);
        for (int d = 0; d < rank; d++)
            coordinate[d] = ir_cast(&inner, coordinate[d], IR_INDEX);
        ir_build(&inner, OP_YIELD, rank, coordinate, 0, NULL);
    }
    for (int d = 0; d < rank; d++)
        coordinate[d] = either->results[d];
}

/* ---- consumers in turn ---- */

/* Two consumers may take programs in turn.  While one stores what it has computed, tensor cores work for the other:
 *
 *     roles role_warps(4, 4) { for %p = program to … step blocks { … store … } } { producer }
 * becomes
 *     roles role_warps(4, 4, 4) {
 *         for %p = program to … step 2 * blocks { … store …   ring on by one program }
 *     } {
 *         for %p = program + blocks to … step 2 * blocks { ring on by one program   … store … }
 *     } { producer, for all programs in order }
 *
 * Right because the producer fills rings program by program, and each consumer knows how often it fills a ring for a program of
 * the other: as often as for its own, where the bounds of loops do not depend on the program.  A consumer waits for its turn
 * in front of its loop, until the other has seen all its slots filled, so that the phase that it waits for is the next one.
 * Else nothing orders the two: each has registers and memory for its results by itself, and a slot is given back by the one
 * that it was filled for.
 *
 * Where one warpgroup consumes, alone on its multiprocessor, and blocks walk over programs.  On an H200 (bf16, tiles of
 * 128 x 128 by one warpgroup, the ratio to cublasLt's best): 8192 x 8192 x 512 0.79 by one consumer, 0.97 by two;
 * 32768 x 1024 x 1024 0.89 and 0.99; 4096 x 4096 x 4096 0.96 and 0.99; with a program a block 0.98 and 0.97;
 * 2026-11-27-h200-turns.json. */

const struct ir_operation *outline_common_loop(const struct outline *o)
{
    const struct ir_operation *loop = NULL;
    for (int c = 0; c < o->channels.count; c++) {
        const struct ir_operation *parent = o->channels.data[c].wait->block->parent;
        if (!parent || parent->opcode != OP_FOR || parent->block->parent || (loop && loop != parent))
            return NULL;
        loop = parent;
    }
    return loop;
}

/* Whether the loop turns as often in each program. */
static bool turns_alike(const struct outline *o, const struct ir_operation *loop)
{
    int64_t step;
    if (!ir_constant_integer(loop->operands[2], &step) || step < 1 || ir_number(loop, IR_ATTRIBUTE_MULTIPLY, 0))
        return false;
    for (int i = 0; i < 2; i++)
        for (int d = 0; d < o->function->grid_rank; d++)
            if (outline_direction(loop->operands[i], d) != 0)
                return false;
    return true;
}

static const char *why_one(const struct outline *o)
{
    const struct ir_function *function = o->function;
    if (planning_asked_programs(function) == 1)
        return "the plan asks for it";
    if (!o->persistent)
        return "blocks do not walk over programs";
    if (function->max_registers || function->persistent > 1)
        return "several blocks share a multiprocessor";
    const struct ir_operation *loop = outline_common_loop(o);
    if (!loop)
        return "what is brought is not brought in one loop";
    if (!turns_alike(o, loop))
        return "how often its loop turns depends on the program";
    for (const struct ir_operation *op = function->body->first; op; op = op->next) {
        bool filled = op->opcode != OP_BUFFER || outline_is_staging(o, op->results[0]);
        for (int r = 0; r < o->rings.count && !filled; r++)
            filled = outline_has_buffer(&o->rings.data[r], op->results[0]);
        if (!filled)
            return "it stores to a buffer itself";
    }
    return NULL;
}

/* A ring for each consumer's results. */
static void add_staging(struct outline *o)
{
    for (int i = 0; i < o->staged.count; i++) {
        struct staged_store *staged = &o->staged.data[i];
        for (int k = 0; k < i && !staged->other; k++)
            if (o->staged.data[k].ring == staged->ring)
                staged->other = o->staged.data[k].other;
        if (staged->other)
            continue;
        struct ir_builder behind = rewrite_before(staged->ring->definition->next);
        behind.at = staged->ring->definition->at;
        staged->other = ir_build_value(&behind, OP_BUFFER, staged->ring->type, 0, NULL);
    }
}

void outline_choose_consumers(struct outline *o)
{
    o->consumers = 1;
    if (o->function->warps != IR_WARPGROUP)
        return;
    const char *why = why_one(o);
    planning_tell_programs(o->function, why ? 1 : CONSUMERS, why);
    if (why)
        return;
    o->consumers = CONSUMERS;
    add_staging(o);
}

void outline_one_consumer(struct outline *o, const char *why)
{
    o->consumers = 1;
    planning_tell_programs(o->function, 1, why);
    for (int i = 0; i < o->staged.count; i++) {
        struct ir_value *other = o->staged.data[i].other;
        for (int k = i; k < o->staged.count; k++)
            if (o->staged.data[k].other == other)
                o->staged.data[k].other = NULL;
        if (other)
            ir_remove(other->definition);
    }
}

struct ir_value *outline_fillings(const struct outline *o, int ring, struct ir_builder *builder,
                                  struct ir_value *const *copies)
{
    const struct ir_operation *loop = outline_common_loop(o);
    int channels = 0;
    struct ir_value *bound[3];
    for (int c = 0; c < o->channels.count; c++)
        channels += o->channels.data[c].ring == ring;
    for (int i = 0; i < 3; i++)
        bound[i] = copies[loop->operands[i]->id] ? copies[loop->operands[i]->id] : loop->operands[i];
    const struct ir_type *type = bound[0]->type;
    int64_t step = 1;
    ir_constant_integer(loop->operands[2], &step);
    struct ir_value *span = ir_binary(builder, OP_SUB, bound[1], bound[0]), *none = ir_constant_int(builder, type, 0);
    span = ir_binary(builder, OP_ADD, ir_binary(builder, OP_MAX, span, none), ir_constant_int(builder, type, step - 1));
    struct ir_value *turns = ir_binary(builder, OP_DIV, span, ir_constant_int(builder, type, step));
    if (PLANTED(turn_passes_one_slot_less))
        turns = ir_binary(builder, OP_SUB, turns, ir_constant_int(builder, type, 1));
    return ir_binary(builder, OP_MUL, turns, ir_constant_int(builder, type, channels));
}
