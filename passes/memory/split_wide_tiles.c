/* split_wide_tiles: wide tiles are written and reduced piece by piece, each computed just before it is needed.
 *
 *     %e = math function(exp) %d : f32[65536]                    64 elements a thread
 *     %t = reduce axis(0) kind(add) %e : f32
 *     %q = div %e, splat %t : f32[65536]
 *     store %y[%row, 0 +: 65536], cast %q
 * becomes
 *     %t = reduce axis(0) kind(add) %e : f32
 *     store %y[%row, 0 +: 16384], cast (div (math function(exp) …(load %x[%row, 0 +: 16384])), splat %t)
 *     store %y[%row, 16384 +: 16384], cast (div (math function(exp) …(load %x[%row, 16384 +: 16384])), splat %t)
 *     …
 * A thread then holds no wide value across a reduction.  Where the row itself fits into shared memory it is put there
 * when it is read, and the pieces come from there:
 *
 *     %x = load %x[%row, 0 +: 65536]      buffer_store %x, %held
 *     …
 *     %p = buffer_load start(16384) %held : bf16[16384]
 *
 * else it is read again: it lies in the second-level cache by then.  Reductions of such rows go piece by piece, too:
 *
 *     %t = reduce axis(0) kind(add) %e : f32      becomes the reduction of a piece: ((%e0 + %e1) + %e2) + %e3
 *
 * A row so wide that shared memory holds it for one block alone is held by quarters, three in shared memory and the last in
 * registers: two blocks take turns then, one reads or writes while the other computes.  (Softmax of 4096 rows of 65536 bf16
 * on an H200: 0.88 of a copy's rate with one block, 0.97 with two.)
 *
 * Exponentials that both a sum and the store need stay in registers, as many as there is room for.  What else the store
 * reads is read a piece ahead.  Where a row waits for two sums, and two blocks would fill a multiprocessor, the row is
 * held in shared memory as well, and registers are kept low enough for a third block: the others load and store while
 * one waits.
 *
 * Where a block by itself lacks registers for what is kept after all this, nothing is kept that can be had again: the
 * function is split in that way instead, if it lacks less then, which is tried on copies.  A row that a branch gives is
 * made there piece by piece, too:
 *
 *     %p = if %c { %o = load %x[%row, 0 +: 65536]   %s = add %o, %a   yield %s } else { yield %a }   store %y[…], %p
 * becomes
 *     %q = if %c { %o = load %x[%row, 0 +: 16384]   %s = add %o, %b   yield %s } else { yield %b }   store %y[…], %q
 *     …
 * and behind a lock, which is acquired meanwhile, rows that nobody writes are read again.
 *
 * Rows half as wide stay whole.  Only what the store alone needs (weights, biases) is read piece by piece; otherwise such
 * rows spill.
 *
 * Right because elementwise operations compute each element alone; pieces are parts that lie in registers of their
 * own, so extract moves nothing; a load goes down only past operations that do not write what it reads, the
 * pieces stored before its own holding other elements; nobody else writes a held tile's buffer; and the order in which
 * a reduction of the seven kinds combines is the target's unless it is fixed. */
#include "base/plant.h"
#include "ir/facts/alias.h"
#include "ir/facts/layout_rules.h"
#include "passes/base/budget.h"
#include "passes/base/pass.h"
#include "passes/base/rewrite.h"
#include "passes/memory/split_wide_tiles.h"

enum { WIDE = 32, PIECE = 16, PIECES = 4 };            /* elements a thread, and their parts */
enum { LARGE = 16, BLOCKS = 3, LEAST_REGISTERS = 40 }; /* warps of a block; blocks of a multiprocessor; a thread's */
/* Registers of a thread for what is not a tile: of several blocks, which wait for each other, and where tiles are
 * counted by element; of one, which computes ahead. */
enum { SPARE = 24, ROOM = 32 };

/* How the pieces of an operation are made. */
struct piece_plan {
    struct ir_operation *op;
    const struct layout *layout, *piece;
    int dimension, pieces;
    int64_t length, in_flight;
    bool again, reload;
    bool roomy; /* pieces may be kept, and what they need from views read ahead */
};

/* ---- what is kept ---- */

static int64_t bytes_of(const struct ir_value *value)
{
    return layout_registers(value->type->layout) * (ir_element_info[value->type->element].bits / 8);
}

static void look(struct wide_tile *s, struct ir_value *value, int depth, bool alone)
{
    bool once = alone && stream_used_once(value);
    if (!layout_rule_has(value))
        return;
    if (!wide_tile_is_computed(s, value, depth, alone)) {
        for (int i = 0; i < s->kept.count; i++)
            if (s->kept.data[i] == value)
                return;
        vector_push(s->context->arena, &s->kept, value);
        return;
    }
    s->dear |= value->definition->opcode == OP_MATH && !once;
    if (value->definition->opcode == OP_LOAD) {
        int waits = wide_tile_waits(s, value->definition);
        s->sunk_loads++;
        s->parted |= wide_tile_is_quartered(s, value->definition);
        s->waits = waits > s->waits ? waits : s->waits;
        s->crowded |= waits && !once &&
                      (!wide_tile_can_hold(s, value->definition) || wide_tile_too_much(s, bytes_of(value)));
    }
    for (int i = 0; i < value->definition->operand_count; i++)
        look(s, value->definition->operands[i], depth + 1, once);
    for (int r = 0; r < value->definition->region_count; r++)
        look(s, value->definition->regions[r]->last->operands[value->index], depth + 1, once);
}

/* Bytes a thread keeps for the operation's sake. */
static int64_t kept_bytes(struct wide_tile *s, struct ir_value *value, struct ir_value *mask, bool again)
{
    int64_t bytes = 0;
    s->again = again;
    s->kept.count = s->sunk_loads = s->waits = 0;
    s->dear = s->crowded = s->parted = false;
    look(s, value, 1, true);
    if (mask)
        look(s, mask, 1, true);
    for (int i = 0; i < s->kept.count; i++) {
        const struct ir_value *kept = s->kept.data[i];
        bool free = kept->definition && kept->definition->opcode == OP_BROADCAST; /* its registers are shared */
        bytes += free ? 0 : bytes_of(kept);
    }
    return bytes;
}

/* ---- pieces ---- */

/* The dimension whose parts lie in registers, and its parts. */
static bool choose_pieces(struct wide_tile *s, const struct ir_type *type)
{
    int registers = layout_registers(s->layout);
    int size = s->most ? s->most : registers / PIECES > PIECE ? registers / PIECES : PIECE;
    for (int factor = registers / size; factor >= 2; factor /= 2)
        for (s->dimension = 0; s->dimension < type->rank; s->dimension++) {
            s->piece = layout_shrink(s->adapter.table, s->layout, s->dimension, factor);
            s->pieces = factor;
            s->length = type->extent[s->dimension] / factor;
            if (s->piece)
                return true;
        }
    return false;
}

static void keep_plan(struct wide_tile *s, struct piece_plan *plan)
{
    *plan = (struct piece_plan){s->at,     s->layout,    s->piece, s->dimension, s->pieces,
                                s->length, s->in_flight, s->again, s->reload,    s->again && s->reload && !s->crowded};
}

static void take_plan(struct wide_tile *s, const struct piece_plan *plan)
{
    s->at = plan->op;
    s->last = plan->op->previous;
    s->layout = plan->layout;
    s->piece = plan->piece;
    s->dimension = plan->dimension;
    s->pieces = plan->pieces;
    s->length = plan->length;
    s->in_flight = plan->in_flight;
    s->again = plan->again;
    s->reload = plan->reload;
    s->roomy = plan->roomy;
}

static bool plan_store(struct wide_tile *s, struct ir_operation *op, struct piece_plan *plan)
{
    struct ir_access access;
    if (!wide_tile_is_written(op) || !ir_access_of(op, &access) || !layout_rule_has(access.value))
        return false;
    s->at = op;
    s->last = op->previous;
    s->layout = access.value->type->layout;
    int registers = layout_registers(s->layout);
    if (registers < WIDE || !choose_pieces(s, access.value->type) || wide_tile_view_dimension(s, &access) < 0)
        return false;
    s->reload = false;
    int64_t kept = kept_bytes(s, access.value, access.mask, false);
    bool sinks = s->sunk_loads > 0;
    s->reload = s->pressed || wide_tile_too_much(s, kept);
    int64_t kept_again = kept_bytes(s, access.value, access.mask, true);
    s->again = kept_again < kept && (s->reload || !sinks);
    if (!s->again)
        kept_bytes(s, access.value, access.mask, false);
    if (!s->again && (s->sunk_loads == 0 || (s->kept.count == 0 && !s->waits)))
        return false; /* nothing to gain; loads that nothing waits for are better all in flight at once */
    keep_plan(s, plan);
    return true;
}

/* Pieces along the axis are combined element by element, each made when it is added: only one piece and the sum live
 * in registers at a time. */
static bool plan_reduce(struct wide_tile *s, struct ir_operation *op, struct piece_plan *plan)
{
    struct ir_value *value = op->operands[0];
    if (op->opcode != OP_REDUCE)
        return false;
    s->at = op;
    s->last = op->previous;
    s->layout = value->type->layout;
    if (layout_registers(s->layout) < WIDE || ir_reduce_is_ordered(op) || op->result_count > 1 ||
        !choose_pieces(s, value->type) || s->dimension != ir_number(op, IR_ATTRIBUTE_AXIS, 0))
        return false;
    s->in_flight = wide_tile_in_flight(s, value);
    s->reload = false;
    int64_t kept = kept_bytes(s, value, NULL, false);
    bool parted = s->parted; /* there is no whole of it */
    s->reload = s->pressed || parted || wide_tile_too_much(s, int64_max(kept, s->in_flight));
    if (!s->reload || (kept_bytes(s, value, NULL, true) >= kept && !parted))
        return false;
    keep_plan(s, plan);
    return true;
}

/* ---- how many blocks ---- */

/* While a block waits in its reductions others load and store.  A block so large that two fill a multiprocessor, whose
 * row waits for two reductions, had better hold the row in shared memory and leave registers to a third; not where
 * exponentials would be computed again for it. */
static int choose_blocks(struct wide_tile *s)
{
    struct piece_plan plan;
    if (!s->context->target || s->function->max_registers || s->pressed || s->adapter.warps < LARGE)
        return 1;
    for (s->blocks = BLOCKS; s->blocks > 1; s->blocks--)
        for (int i = 0; i < s->ops.count && wide_tile_registers(s) >= LEAST_REGISTERS; i++)
            if (plan_store(s, s->ops.data[i], &plan) && plan.again && plan.reload && s->waits >= 2 && !s->dear &&
                !s->crowded)
                return s->blocks;
    return 1;
}

static bool is_wide_load(const struct ir_operation *op)
{
    return op->opcode == OP_LOAD && op->results[0]->type->layout &&
           layout_registers(op->results[0]->type->layout) >= WIDE;
}

/* The one load of a wide row, in front of the first reduction, of 128 elements a thread or more.  NULL: there is none, or others
 * beside it: in front of the reduction, or, where `blocks` share a multiprocessor, anywhere, as two have no registers for them
 * (weights that are read piece by piece behind the sum make it slower by a sixth); nor have they for f16, which are made wide
 * one by one. */
static struct ir_operation *find_row(const struct wide_tile *s, int blocks)
{
    struct ir_operation *found = NULL;
    bool reduced = false;
    for (struct ir_operation *op = s->function->body->first; op; op = op->next) {
        reduced |= op->opcode == OP_REDUCE;
        bool row = is_wide_load(op) && !(reduced && found && blocks == 1);
        if (ir_has_trait(op, IR_TRAIT_LOOP) || op->opcode == OP_IF || (row && (found || reduced)))
            return NULL;
        if (row)
            found = op;
    }
    const struct ir_type *type = found ? found->results[0]->type : NULL;
    bool fits = type && layout_registers(type->layout) >= 4 * WIDE && (type->element != IR_F16 || blocks == 1);
    return fits && reduced ? found : NULL;
}

/* Behind the first reduction another one, or a store of such a tile. */
static bool is_wanted_again(const struct wide_tile *s)
{
    struct ir_access access;
    bool reduced = false;
    for (int i = 0; i < s->ops.count; i++) {
        const struct ir_operation *op = s->ops.data[i];
        bool stores = op->opcode != OP_REDUCE && ir_access_of(op, &access) && access.value->type->layout &&
                      layout_registers(access.value->type->layout) >= 4 * WIDE;
        if (reduced && (op->opcode == OP_REDUCE || stores))
            return true;
        reduced |= op->opcode == OP_REDUCE;
    }
    return false;
}

static bool hold_quarters(struct wide_tile *s, int blocks)
{
    struct ir_operation *row = find_row(s, blocks);
    return row && pass_fuel(s->context) && wide_tile_hold_quarters(s, row, blocks);
}

/* A row that shared memory does not hold whole for two blocks is held by quarters: a block by itself reads, computes and
 * writes in turn, and memory waits for it meanwhile.  A row that it does not hold whole for one block is held so for that
 * one: what is read again from memory takes longer than that. */
static int choose_quarters(struct wide_tile *s)
{
    bool alone = !s->context->target || s->function->max_registers || s->pressed || s->adapter.warps < LARGE;
    if (alone || !is_wanted_again(s))
        return 1;
    return hold_quarters(s, 2) ? 2 : (hold_quarters(s, 1), 1);
}

/* ---- rewriting ---- */

/* What a store's piece needs from views is read at once, in front of the piece before (or of itself, where registers
 * are few: other blocks work while it waits), and for the first piece in front of the last reduction. */
static void prefetch_fragments(struct wide_tile *s, struct ir_builder *builder, int number)
{
    struct ir_access access;
    if (!ir_access_of(s->at, &access) || number == s->pieces)
        return;
    wide_tile_read_piece(s, builder, access.value, number, 1, true);
    if (access.mask)
        wide_tile_read_piece(s, builder, access.mask, number, 1, true);
}

/* What is loaded behind the reduction must not be written between the two. */
static bool may_read_before(const struct ir_operation *reduction, const struct ir_operation *at)
{
    for (const struct ir_operation *load = reduction; load != at; load = load->next)
        for (const struct ir_operation *op = reduction; load->opcode == OP_LOAD && op != load; op = op->next)
            if (alias_clobbers(op, load))
                return false;
    return true;
}

static struct ir_operation *last_reduction(const struct wide_tile *s)
{
    struct ir_operation *op = s->last;
    while (op && op->opcode != OP_REDUCE)
        op = op->previous;
    return op && may_read_before(op, s->at) ? op : NULL;
}

static void wide_tile_store(struct wide_tile *s, const struct piece_plan *plan)
{
    take_plan(s, plan);
    struct ir_builder builder = rewrite_before(s->at);
    struct ir_operation *reduction = plan->roomy && !s->pressed ? last_reduction(s) : NULL;
    if (reduction) {
        struct ir_builder front = rewrite_before(reduction);
        s->front = reduction;
        prefetch_fragments(s, &front, 0);
        s->front = NULL;
    }
    for (int number = 0; number < s->pieces; number++) {
        s->made.count = 0;
        if (reduction)
            prefetch_fragments(s, &builder, s->blocks > 1 ? number : number + 1);
        wide_tile_piece_of_access(s, &builder, s->at, number, 0, true);
    }
    pass_remark(s->context, s->at->at, "written in %d pieces%s", s->pieces,
                s->again ? ", computed again for each" : "");
    ir_remove(s->at);
}

/* The elementwise operation of a kind of reduction. */
static enum ir_opcode combining(enum ir_reduce_kind kind)
{
    switch (kind) {
    case IR_REDUCE_ADD: return OP_ADD;
    case IR_REDUCE_MUL: return OP_MUL;
    case IR_REDUCE_MIN: return OP_MIN;
    case IR_REDUCE_MAX: return OP_MAX;
    case IR_REDUCE_AND: return OP_AND;
    case IR_REDUCE_OR: return OP_OR;
    case IR_REDUCE_XOR: return OP_XOR;
    default: die("a reduction by a region is in order");
    }
}

static struct ir_value *combine(struct ir_builder *builder, const struct ir_operation *reduce, struct ir_value *left,
                                struct ir_value *right)
{
    struct ir_value *both = ir_binary(builder, combining((enum ir_reduce_kind)ir_number(reduce, IR_ATTRIBUTE_KIND, 0)),
                                      left, right);
    bool picks = both->definition->opcode == OP_MIN || both->definition->opcode == OP_MAX;
    if (picks && ir_attribute(reduce, IR_ATTRIBUTE_NAN) && !PLANTED(stream_loses_nan_in_max))
        ir_set_number(both->definition, IR_ATTRIBUTE_NAN, ir_number(reduce, IR_ATTRIBUTE_NAN, 0));
    return both;
}

/* A mask that pieces of the value select by, on their way from what they are computed from. */
static const struct ir_operation *find_mask(const struct wide_tile *s, struct ir_value *value, int depth)
{
    const struct ir_operation *op = value->definition;
    const struct ir_operation *mask = NULL;
    if (!layout_rule_has(value) || !wide_tile_is_computed(s, value, depth, false) || op->opcode == OP_LOAD)
        return NULL;
    if (op->opcode == OP_SELECT && op->operands[0]->definition && op->operands[0]->definition->opcode == OP_INSIDE)
        return op->operands[0]->definition;
    for (int i = 0; i < op->operand_count && !mask; i++)
        mask = find_mask(s, op->operands[i], depth + 1);
    return mask;
}

/* Whether all elements that the mask asks for are inside, as a scalar; NULL: that is not told by the extents alone. */
static struct ir_value *test_whole(struct ir_builder *builder, const struct ir_operation *mask)
{
    struct ir_access access;
    struct ir_value *whole = NULL;
    if (!mask || !ir_access_of(mask, &access) || access.view->type->optional)
        return NULL;
    for (int d = 0; d < access.rank; d++) {
        int64_t start;
        if (access.place[d] != IR_GATHER && ir_number(mask, IR_ATTRIBUTE_INSIDE, 0) >> d & 1)
            continue;
        if (access.place[d] <= 0 || !ir_constant_integer(access.index[d], &start) ||
            (start < 0 && !PLANTED(stream_start_not_asked)) || start > INT32_MAX)
            return NULL;
        const struct ir_type *type = access.index[d]->type;
        struct ir_value *extent = ir_build_value(builder, OP_EXTENT, type, 1, &mask->operands[0]);
        ir_set_number(extent->definition, IR_ATTRIBUTE_DIMENSION, d);
        struct ir_value *end = ir_constant_int(builder, type, start + access.place[d]);
        struct ir_value *reaches = ir_compare(builder, IR_PREDICATE_LE, end, extent);
        whole = whole ? ir_binary(builder, OP_AND, whole, reaches) : reaches;
    }
    return whole;
}

static struct ir_value *sum_pieces(struct wide_tile *s, struct ir_builder *builder, struct ir_value *value)
{
    struct ir_value *sum = NULL;
    for (int number = 0; number < s->pieces; number++) {
        s->made.count = 0;
        struct ir_value *piece = wide_tile_make_piece(s, builder, value, number, 1, true);
        sum = sum ? combine(builder, s->at, sum, piece) : piece;
    }
    return sum;
}

/*     %d = select (inside %x[0 +: n]), %a, %b      where all of the row is inside, which one test tells, its pieces are
 * those of %a. */
static struct ir_value *sum_masked(struct wide_tile *s, struct ir_builder *builder, struct ir_value *value,
                                   const struct ir_operation *mask, struct ir_value *whole)
{
    const struct ir_type *type = wide_tile_piece_type(s, value->type);
    struct ir_operation *branch = ir_build(builder, OP_IF, 1, &whole, 1, &type);
    for (int r = 0; r < 2; r++) {
        struct ir_builder inner = {.module = builder->module, .block = branch->regions[r], .at = builder->at};
        s->whole = r == 0 ? mask : NULL;
        struct ir_value *sum = sum_pieces(s, &inner, value);
        ir_build(&inner, OP_YIELD, 1, &sum, 0, NULL);
    }
    s->whole = NULL;
    return branch->results[0];
}

static void wide_tile_reduce(struct wide_tile *s, const struct piece_plan *plan)
{
    struct ir_value *value = plan->op->operands[0];
    take_plan(s, plan);
    struct ir_builder builder = rewrite_before(s->at);
    const struct ir_operation *mask = find_mask(s, value, 1);
    struct ir_value *whole = test_whole(&builder, mask);
    ir_set_operand(s->at, 0, whole ? sum_masked(s, &builder, value, mask, whole) : sum_pieces(s, &builder, value));
    pass_remark(s->context, s->at->at, "reduced in %d pieces%s", s->pieces,
                whole ? ", without a mask where all of the row is inside" : "");
}

static void collect(struct ir_operation *op, void *context)
{
    struct wide_tile *s = context;
    bool reduces = op->opcode == OP_REDUCE && op->operand_count == 1 && layout_rule_has(op->operands[0]);
    if (wide_tile_is_written(op) || reduces)
        vector_push(s->context->arena, &s->ops, op);
}

/* Whether a piece has several tiles in registers that are short already. */
static bool reads_several(const struct wide_tile *s) { return s->pressed && s->sunk_loads > 1; }

/* Plans of all, each made while nothing is rewritten: who else needs a value shows what would be kept. */
static struct piece_plan *plan_all(struct wide_tile *s, int *count)
{
    struct piece_plan *plans = ARENA_ARRAY(s->context->arena, struct piece_plan, s->ops.count + 1);
    bool small = false; /* pieces, of which some are kept or read ahead */
    s->blocks = choose_blocks(s);
    if (s->blocks == 1)
        s->blocks = choose_quarters(s);
    for (int i = 0; i < s->ops.count; i++)
        small |= (plan_reduce(s, s->ops.data[i], plans) && (s->dear || reads_several(s))) ||
                 (plan_store(s, s->ops.data[i], plans) && (plans->roomy || reads_several(s)));
    s->most = s->blocks > 1 ? PIECE / 2 : small ? PIECE : 0;
    *count = 0;
    for (int i = 0; i < s->ops.count; i++)
        if (plan_reduce(s, s->ops.data[i], &plans[*count]) || plan_store(s, s->ops.data[i], &plans[*count]))
            ++*count;
    return plans;
}

/* As many blocks as have registers for what is in the function now, behind what was split, too.  (On an H200, a row of
 * 16384 on 512 threads, of which three blocks have 42 registers: with 16 of tiles nothing is spilled, with 24 some.) */
static void cap_registers(struct wide_tile *s, struct location at)
{
    int living = wide_tile_living(s->context->arena, s->function);
    while (s->blocks > 1 && living + SPARE > wide_tile_registers(s))
        s->blocks--;
    if (s->blocks < 2) {
        pass_remark(s->context, at, "one block of a multiprocessor: tiles take %d registers at once", living);
        return;
    }
    s->function->max_registers = (int)wide_tile_registers(s) / 8 * 8;
    pass_remark(s->context, at, "registers for %d blocks of a multiprocessor", s->blocks);
}

/* Two blocks of 16 warps fill the registers with 64 a thread.  Where tiles take half of them, and wait for two sums, ptxas
 * takes a few more unasked, and leaves a multiprocessor to one block.  (Softmax of 8192 rows of 16384 f32 on an H200: 0.82
 * of a copy with 68 registers.)  A limit that spills is raised again. */
static bool cap_for_two(struct wide_tile *s)
{
    int reductions = 0;
    for (int i = 0; i < s->ops.count; i++)
        reductions += s->ops.data[i]->opcode == OP_REDUCE;
    if (!s->context->target || s->function->max_registers || s->adapter.warps != LARGE || reductions < 2)
        return false;
    int most = target_thread_registers(s->context->target, 2 * LARGE);
    if (2 * wide_tile_living(s->context->arena, s->function) != most || !pass_fuel(s->context))
        return false;
    s->function->max_registers = most;
    return true;
}

static bool split(struct ir_function *function, struct pass_context *context, bool pressed)
{
    int count, done = 0;
    struct wide_tile s = {.context = context,
                          .function = function,
                          .pressed = pressed,
                          .blocks = 1,
                          .scratch = budget_scratch(function, context->arena)};
    s.adapter = (struct layout_adapter){function->module, ir_context_layouts(function->module->context), context->arena,
                                        function->warps};
    ir_walk(function->body, collect, &s);
    const struct piece_plan *plans = plan_all(&s, &count);
    for (; done < count && pass_fuel(context); done++)
        if (plans[done].op->opcode == OP_REDUCE)
            wide_tile_reduce(&s, &plans[done]);
        else
            wide_tile_store(&s, &plans[done]);
    if (count && s.blocks > 1 && s.held.count)
        cap_registers(&s, plans[0].op->at);
    bool capped = s.blocks == 1 && !pressed && cap_for_two(&s);
    return done > 0 || capped || s.held.count > 0;
}

/* What a thread lacks of `most` registers when the function is split; 0: nothing. */
static int lack_of_split(const struct ir_function *function, struct pass_context *context, int most, bool pressed)
{
    struct pass_context quiet = *context;
    struct ir_function *copy = ir_function_clone(function->module, function, "copy");
    quiet.remarks = false;
    quiet.fuel = NULL;
    split(copy, &quiet, pressed);
    rewrite_remove_dead(copy->body, &quiet); /* what pieces were made of */
    int packed = wide_tile_packed(context->arena, copy) + ROOM - most;
    int elements = wide_tile_elements(context->arena, copy) + SPARE - most;
    ir_function_remove(copy);
    return (int)int64_max(0, int64_max(packed, elements));
}

/* Whether tiles that are wanted again leave a block too few registers, and where they are made again it lacks less.
 * The function as it comes does not tell: pieces that are read ahead are not in it yet. */
static bool is_pressed(const struct ir_function *function, struct pass_context *context)
{
    int most = context->target ? target_thread_registers(context->target, function->warps) : 0;
    if (function->max_registers && function->max_registers < most)
        most = function->max_registers;
    int lack = most ? lack_of_split(function, context, most, false) : 0;
    return lack && lack_of_split(function, context, most, true) < lack;
}

bool pass_split_wide_tiles(struct ir_function *function, struct pass_context *context)
{
    return split(function, context, is_pressed(function, context));
}
