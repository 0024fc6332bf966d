/* insert_barriers: puts a barrier where one thread could otherwise overtake another.
 *
 *     %a = convert_layout shared_offset(0) %x     writes scratch, meets, reads it
 *     %b = convert_layout shared_offset(0) %y     a fast thread would overwrite what a slow one still reads
 * becomes
 *     %a = convert_layout shared_offset(0) %x
 *     barrier
 *     %b = convert_layout shared_offset(0) %y
 *
 * The pass does the same for global memory: a load behind a store through the same view needs a barrier, unless both
 * touch the same elements from the same threads (same indexes, same layout, no copies of an element in other threads).
 *
 * How it works.  A walk in program order keeps a list of what has been read and written since all threads met last.
 * An access that conflicts with the list gets a barrier in front, which empties the list.  An operation with scratch
 * contains a meeting of its own; behind it the list holds one entry, that its scratch is read.
 *
 * Loops are walked twice, the second time with what the end of the body leaves behind.  In the second walk, two uses
 * of one index value may stand for different numbers, unless the value comes from outside the loop or is the loop's
 * own variable.  Parts of a view at constant distances from each other never overlap.
 *
 * Buffers in shared memory are treated alike, with three differences:
 *   - A copy or a wgmma product that is still running reads or writes also behind a barrier.  Only the wait for it, and
 *     then a barrier behind the wait, end the access.
 *   - Slots of a ring are left to the pass that made the ring, and data that TMA brings is ordered by mbarriers.
 *   - Roles run at the same time.  Each role is walked alone, its barriers are met by its own threads only, and a role of
 *     one thread needs none.  Programs that a persistent block walks over are not ordered among themselves. */
#include <string.h>

#include "base/plant.h"
#include "ir/facts/alias.h"
#include "ir/facts/scratch.h"
#include "passes/base/pass.h"
#include "passes/base/rewrite.h"

/* An access since the last barrier. */
struct pending {
    const struct ir_operation *op;
    const struct ir_operation *loop; /* came round it, or NULL */
    bool flying;                     /* nobody has waited for it */
};
struct state {
    VECTOR(struct pending) accesses;
    bool ordered; /* an acquire nobody met behind */
};
struct insertion {
    struct pass_context *context;
    bool one_thread;
    bool changed;
};

/* What started last stands last. */
static void put_last(struct state *state, int index)
{
    struct pending last = state->accesses.data[index];
    for (int i = index; i + 1 < state->accesses.count; i++)
        state->accesses.data[i] = state->accesses.data[i + 1];
    state->accesses.data[state->accesses.count - 1] = last;
}

static void add_pending(struct insertion *in, struct state *state, const struct ir_operation *op,
                        const struct ir_operation *loop, bool flying)
{
    for (int i = 0; i < state->accesses.count; i++)
        if (state->accesses.data[i].op == op && (state->accesses.data[i].loop || !loop)) {
            state->accesses.data[i].flying |= flying;
            if (flying)
                put_last(state, i);
            return;
        }
    struct pending pending = {op, loop, flying};
    vector_push(in->context->arena, &state->accesses, pending);
}

static void merge(struct insertion *in, struct state *into, const struct state *from, const struct ir_operation *loop)
{
    for (int i = 0; i < from->accesses.count; i++) {
        const struct pending *old = &from->accesses.data[i];
        add_pending(in, into, old->op, loop ? loop : old->loop, old->flying);
    }
    into->ordered |= from->ordered;
}

static bool uses_memory(const struct ir_operation *op)
{
    return ir_has_trait(op, IR_TRAIT_READ | IR_TRAIT_WRITE | IR_TRAIT_ATOMIC) && op->opcode != OP_ASSUME;
}

static bool writes(const struct ir_operation *op) { return ir_has_trait(op, IR_TRAIT_WRITE | IR_TRAIT_ATOMIC); }

/* ---- same elements from the same threads ---- */

static const struct layout *layout_of_access(const struct ir_operation *op)
{
    struct ir_access access;
    if (!ir_access_of(op, &access))
        return NULL;
    const struct ir_value *value = op->result_count ? op->results[0] : access.value;
    return value ? value->type->layout : NULL;
}

static bool held_once(const struct layout *layout) { return layout && layout_is_held_once(layout); }

/* The loop's variable, moving by at least `length` each time: no iteration meets another's elements. */
static bool moves_on(const struct ir_value *index, int64_t length, const struct ir_operation *loop)
{
    int64_t step;
    return loop->opcode == OP_FOR && index == loop->regions[0]->arguments.data[0] &&
           !ir_number(loop, IR_ATTRIBUTE_MULTIPLY, 0) && ir_constant_integer(loop->operands[2], &step) &&
           (step >= length || -step >= length || PLANTED(barrier_of_overlapping_turns_dropped));
}

/* index = base + number */
static const struct ir_value *base_of(const struct ir_value *index, int64_t *number)
{
    const struct ir_operation *op = index->definition;
    *number = 0;
    if (ir_constant_integer(index, number))
        return NULL;
    if (op && op->opcode == OP_ADD && ir_constant_integer(op->operands[1], number))
        return op->operands[0];
    return index;
}

/* Parts of one dimension that lie side by side.  Indexes wrap at 64 bits, and so do their distances. */
static bool apart(const struct ir_value *a, int64_t a_length, const struct ir_value *b, int64_t b_length,
                  const struct ir_operation *loop)
{
    int64_t first, second;
    const struct ir_value *base = base_of(a, &first);
    if (base != base_of(b, &second) || (base && loop && ir_is_inside(base, loop)))
        return false;
    uint64_t ahead = (uint64_t)second - (uint64_t)first;
    return ahead >= (uint64_t)a_length && 0 - ahead >= (uint64_t)b_length;
}

static bool is_argument(const struct ir_value *view) { return !view->definition && !view->block->parent; }

/* No element of the tile is another's equal: numbers in a row, at a distance, from anywhere on; pointers at such distances.
 * A distance of at most 64 keeps 2^24 numbers apart in 32 bits. */
static bool all_differ(const struct ir_value *tile)
{
    enum { MOST_DISTANCE = 64 };
    const struct ir_operation *op = tile->definition;
    int64_t distance;
    if (!op)
        return false;
    switch (op->opcode) {
    case OP_IOTA: return true;
    case OP_CONVERT_LAYOUT:
    case OP_RESHAPE:
    case OP_PERMUTE:
    case OP_EXTRACT: return all_differ(op->operands[0]);
    case OP_CAST: return ir_element_info[tile->type->element].bits >= 32 && all_differ(op->operands[0]);
    case OP_ADD:
    case OP_SUB:
    case OP_POINTER_ADD:
        for (int i = 0; i < 2; i++) {
            const struct ir_operation *other = op->operands[1 - i]->definition;
            if (other && (other->opcode == OP_SPLAT || other->opcode == OP_CONSTANT) && all_differ(op->operands[i]))
                return true;
        }
        return false;
    case OP_MUL:
        return ir_constant_integer(op->operands[1], &distance) && distance && distance <= MOST_DISTANCE &&
               -distance <= MOST_DISTANCE && all_differ(op->operands[0]);
    default: return false;
    }
}

/* Whether two elements of the tile that is read or written may be one element of memory, held by two threads. */
static bool may_meet_itself(const struct ir_access *access, const struct ir_value *tile)
{
    bool gathers = !access->place && tile->type->rank > 0;
    if (PLANTED(barrier_of_equal_indexes_dropped))
        return false;
    if (gathers && all_differ(access->view))
        return false;
    for (int d = 0; d < access->rank; d++)
        if (access->place[d] == IR_GATHER) {
            gathers = true;
            if (all_differ(access->index[d]))
                return false;
        }
    return gathers;
}

/* Different views are the same or disjoint when both are arguments (the language allows no other overlap of views).  Which
 * thread has an element says its place in the tile alone: another row of the same columns is the same thread's, too. */
static bool same_threads(const struct ir_operation *a, const struct ir_operation *b, const struct ir_operation *loop)
{
    struct ir_access x, y;
    const struct layout *layout = layout_of_access(a);
    if (!ir_access_of(a, &x) || !ir_access_of(b, &y) || !x.view || !y.view)
        return false;
    if (x.view != y.view && !(x.place && is_argument(x.view) && is_argument(y.view)))
        return false;
    const struct ir_value *tile = a->result_count ? a->results[0] : x.value;
    bool disjoint = false, same = held_once(layout) && layout == layout_of_access(b) && !may_meet_itself(&x, tile);
    bool one_to_one = !x.place || (alias_is_one_to_one(x.view) && alias_is_one_to_one(y.view));
    if (loop && ir_is_inside(x.view, loop))
        return false;
    if (x.rank != y.rank || !x.place != !y.place)
        return false;
    for (int d = 0; d < x.rank; d++) {
        int64_t length = x.place[d] > 0 ? x.place[d] : 1;
        bool other_index = x.index[d] != y.index[d] || (loop && ir_is_inside(x.index[d], loop));
        bool point = x.place[d] == IR_POINT && y.place[d] == IR_POINT;
        same &= x.place[d] == y.place[d] && (!other_index || (point && one_to_one));
        if (x.place[d] != IR_GATHER && y.place[d] != IR_GATHER)
            disjoint |= apart(x.index[d], length, y.index[d], y.place[d] > 0 ? y.place[d] : 1, loop);
        if (x.index[d] == y.index[d] && x.place[d] == y.place[d] && loop && x.place[d] != IR_GATHER &&
            moves_on(x.index[d], length, loop))
            disjoint = true;
    }
    return same || (disjoint && one_to_one);
}

/* ---- hazards ---- */

static bool has_scratch(const struct ir_operation *op)
{
    return op->opcode != OP_BUFFER && op->opcode != OP_MBARRIER && ir_number(op, IR_ATTRIBUTE_SHARED_OFFSET, -1) >= 0;
}

/* Bytes of shared memory that an operation reads or writes. */
struct span {
    const struct ir_operation *buffer; /* NULL: scratch */
    int64_t offset, bytes;
    bool write;
};
enum { MOST_SPANS = 4 };

static const struct ir_operation *buffer_of(const struct ir_value *value)
{
    const struct ir_operation *op = value->definition;
    while (op && op->opcode != OP_BUFFER && op->operand_count)
        op = op->operands[0]->definition;
    return op;
}

static void add_span(struct span *spans, int *count, const struct ir_operation *buffer,
                     const struct ir_operation *sized, bool write)
{
    spans[(*count)++] = (struct span){buffer, ir_number(sized, IR_ATTRIBUTE_SHARED_OFFSET, -1),
                                      ir_number(sized, IR_ATTRIBUTE_SHARED_BYTES, 0), write};
}

static int spans_of(const struct ir_operation *op, struct span *spans)
{
    int count = 0;
    if (has_scratch(op))
        add_span(spans, &count, NULL, op, true);
    switch (op->opcode) {
    case OP_BUFFER_LOAD:
    case OP_BUFFER_STORE:
    case OP_COPY_ASYNC:
    case OP_CP_ASYNC:
    case OP_STORE_ASYNC:
    case OP_TMA_STORE:
    case OP_DOT_ASYNC: break;
    default: return count;
    }
    bool write = op->opcode == OP_BUFFER_STORE || op->opcode == OP_COPY_ASYNC || op->opcode == OP_CP_ASYNC;
    for (int i = 0; i < op->operand_count && count < MOST_SPANS; i++)
        if (op->operands[i]->type->kind == IR_BUFFER)
            add_span(spans, &count, buffer_of(op->operands[i]), buffer_of(op->operands[i]), write);
    return count;
}

/* A tile that comes back to where it was stored from, in the same threads. */
static bool same_owner(const struct ir_operation *a, const struct ir_operation *b)
{
    bool known = (a->opcode == OP_BUFFER_LOAD || a->opcode == OP_BUFFER_STORE) &&
                 (b->opcode == OP_BUFFER_LOAD || b->opcode == OP_BUFFER_STORE);
    if (!known)
        return false;
    const struct ir_value *x = a->opcode == OP_BUFFER_LOAD ? a->results[0] : a->operands[0];
    const struct ir_value *y = b->opcode == OP_BUFFER_LOAD ? b->results[0] : b->operands[0];
    return a->operands[a->operand_count - 1] == b->operands[b->operand_count - 1] &&
           x->type->layout == y->type->layout && held_once(x->type->layout);
}

static bool share_bytes(const struct ir_operation *a, const struct ir_operation *b)
{
    struct span x[MOST_SPANS], y[MOST_SPANS];
    int x_count = spans_of(a, x), y_count = spans_of(b, y);
    for (int i = 0; i < x_count; i++)
        for (int j = 0; j < y_count; j++) {
            if ((!x[i].write && !y[j].write) || (PLANTED(shared_ranges_overlap) && x[i].offset != y[j].offset))
                continue;
            if (x[i].buffer && x[i].buffer == y[j].buffer) {
                if (x[i].buffer->results[0]->type->slots == 1 && !same_owner(a, b))
                    return true;
            } else if (x[i].offset >= 0 && y[j].offset >= 0 && x[i].offset < y[j].offset + y[j].bytes &&
                       y[j].offset < x[i].offset + x[i].bytes) {
                return true;
            }
        }
    return false;
}

/* What goes on behind the operation until somebody waits. */
static bool flies(const struct ir_operation *op)
{
    switch (op->opcode) {
    case OP_COPY_ASYNC:
    case OP_STORE_ASYNC:
    case OP_CP_ASYNC:
    case OP_TMA_STORE: return true;
    case OP_DOT_ASYNC: return ir_number(op, IR_ATTRIBUTE_INSTRUCTION, IR_INSTRUCTION_FMA) == IR_INSTRUCTION_WGMMA;
    default: return false;
    }
}

static bool lands_by(const struct ir_operation *op, const struct ir_operation *wait)
{
    switch (wait->opcode) {
    case OP_WAIT: return op->opcode == OP_COPY_ASYNC || op->opcode == OP_STORE_ASYNC;
    case OP_CP_WAIT: return op->opcode == OP_CP_ASYNC;
    case OP_TMA_WAIT: return op->opcode == OP_TMA_STORE;
    case OP_DOT_WAIT: return op->opcode == OP_DOT_ASYNC;
    default: return false;
    }
}

/* One thread issues all of them. */
static bool both_tma(const struct ir_operation *a, const struct ir_operation *b)
{
    return (a->opcode == OP_TMA_LOAD || a->opcode == OP_TMA_STORE) &&
           (b->opcode == OP_TMA_LOAD || b->opcode == OP_TMA_STORE);
}

/* Another time round a loop over programs is another program: what these do to memory has no order. */
static bool is_other_program(const struct pending *old)
{
    const struct ir_operation *lower = old->loop && old->loop->opcode == OP_FOR ? old->loop->operands[0]->definition
                                                                                : NULL;
    return lower && lower->opcode == OP_PROGRAM;
}

/* Atomics that may run in any order: they only read, or they do one and the same thing to memory and nobody looks at
 * what was there before. */
static bool may_trade_places(const struct ir_operation *a, const struct ir_operation *b)
{
    if (!ir_has_trait(a, IR_TRAIT_ATOMIC) || !ir_has_trait(b, IR_TRAIT_ATOMIC))
        return false;
    if (PLANTED(barrier_between_atomics_dropped))
        return true;
    int64_t action = ir_number(a, IR_ATTRIBUTE_ACTION, -1);
    if (action != ir_number(b, IR_ATTRIBUTE_ACTION, -1))
        return false;
    switch (action) {
    case IR_ACTION_LOAD: return true;
    case IR_ACTION_ADD:
    case IR_ACTION_MIN:
    case IR_ACTION_MAX:
    case IR_ACTION_AND:
    case IR_ACTION_OR:
    case IR_ACTION_XOR: return !ir_is_used(a) && !ir_is_used(b);
    default: return false;
    }
}

/* *copies: copies on their way have to land first. */
static bool needs_barrier(const struct state *state, const struct ir_operation *op, bool *copies)
{
    bool memory = uses_memory(op), orders = memory && alias_orders(op);
    for (int i = 0; i < state->accesses.count; i++) {
        const struct pending *old = &state->accesses.data[i];
        if (share_bytes(old->op, op) && !PLANTED(barrier_between_scratch_dropped)) {
            *copies = old->flying && old->op->opcode == OP_CP_ASYNC;
            return true;
        }
        if (!memory || !uses_memory(old->op) || both_tma(old->op, op))
            continue;
        if (orders)
            return true;
        if (op->opcode == OP_CALL || old->op->opcode == OP_CALL)
            return true;
        bool conflict = writes(op) || (writes(old->op) && !PLANTED(barrier_after_store_dropped));
        if (conflict && !may_trade_places(old->op, op) && !is_other_program(old) &&
            alias_may(alias_memory(old->op), alias_memory(op)) && !same_threads(old->op, op, old->loop))
            return true;
    }
    return memory && state->ordered;
}

static void meet(struct state *state)
{
    int kept = 0;
    for (int i = 0; i < state->accesses.count; i++)
        if (state->accesses.data[i].flying)
            state->accesses.data[kept++] = state->accesses.data[i];
    state->accesses.count = kept;
    state->ordered = false;
}

/* Products that the wait lets be on their way still read their factors: a barrier behind it is none for them. */
static void land(struct state *state, const struct ir_operation *wait)
{
    int64_t left = wait->opcode == OP_DOT_WAIT ? ir_number(wait, IR_ATTRIBUTE_PENDING, 0) : 0;
    for (int i = state->accesses.count - 1; i >= 0; i--) {
        struct pending *old = &state->accesses.data[i];
        if (old->flying && lands_by(old->op, wait) && left-- <= 0)
            old->flying = false;
    }
}

static void walk(struct insertion *in, struct ir_block *block, struct state *state);

static void copy_state(struct insertion *in, struct state *into, const struct state *from)
{
    memset(into, 0, sizeof *into);
    merge(in, into, from, NULL);
}

static void walk_loop(struct insertion *in, struct ir_operation *op, struct state *state)
{
    struct state left = {0}; /* a while is left behind its condition, not behind its body */
    for (int round = 0; round < 2 - PLANTED(barrier_round_loop_dropped); round++) {
        struct state before;
        copy_state(in, &before, state);
        for (int r = 0; r < op->region_count; r++) {
            walk(in, op->regions[r], state);
            if (op->opcode == OP_WHILE && r == 0)
                merge(in, &left, state, NULL);
        }
        /* What the body leaves meets its own start; the loop may also not run at all. */
        struct state after = *state;
        *state = before;
        merge(in, state, &after, op);
    }
    if (op->opcode == OP_WHILE)
        *state = left;
}

static void walk_branches(struct insertion *in, struct ir_operation *op, struct state *state)
{
    struct state entry, result = {0};
    copy_state(in, &entry, state);
    for (int r = 0; r < op->region_count; r++) {
        struct state branch;
        copy_state(in, &branch, &entry);
        walk(in, op->regions[r], &branch);
        merge(in, &result, &branch, NULL);
    }
    *state = result;
}

static void look_for_tiles(struct ir_operation *op, void *context)
{
    bool *tiles = context;
    *tiles |= op->opcode == OP_BARRIER || op->opcode == OP_BUFFER_STORE || op->opcode == OP_DOT_ASYNC;
    for (int i = 0; i < op->result_count; i++)
        *tiles |= op->results[i]->type->kind == IR_TILE && op->results[i]->type->rank > 0;
}

static bool is_meeting(const struct ir_operation *op)
{
    return op && (op->opcode == OP_MBARRIER_READY ||
                  (op->opcode == OP_BARRIER && !ir_attribute(op, IR_ATTRIBUTE_BARRIER_ID) &&
                   !ir_attribute(op, IR_ATTRIBUTE_APART)));
}

static bool is_sent_apart(const struct ir_value *buffer)
{
    for (const struct ir_use *use = buffer->uses; use; use = use->next) {
        bool sends = use->user->opcode == OP_TMA_STORE && ir_attribute(use->user, IR_ATTRIBUTE_APART);
        if (sends || (use->user->opcode == OP_SLOT && is_sent_apart(use->user->results[0])))
            return true;
    }
    return false;
}

/* The threads of each warpgroup meet: what each of these stores to a buffer for itself, and sends from it, is in order. */
static void meet_apart(struct state *state)
{
    int kept = 0;
    for (int i = 0; i < state->accesses.count; i++) {
        const struct pending *old = &state->accesses.data[i];
        bool own = old->op->opcode == OP_BUFFER_STORE || old->op->opcode == OP_TMA_STORE;
        if (old->flying || !own || !is_sent_apart(buffer_of(old->op->operands[old->op->operand_count - 1])->results[0]))
            state->accesses.data[kept++] = *old;
    }
    state->accesses.count = kept;
}

static void insert(struct insertion *in, struct ir_operation *op, struct state *state, bool copies)
{
    struct ir_builder builder = rewrite_before(op);
    if (copies && op->block->function->level == IR_LEVEL_MACHINE) {
        struct ir_operation *wait = ir_build(&builder, OP_CP_WAIT, 0, NULL, 0, NULL);
        ir_set_number(wait, IR_ATTRIBUTE_PENDING, 0);
        land(state, wait);
    } else if (is_meeting(op->previous)) {
        return; /* what conflicts is on its way: another barrier does not help */
    }
    ir_build(&builder, OP_BARRIER, 0, NULL, 0, NULL);
    in->changed = true;
    meet(state);
}

/* The roles start together, behind what all threads did before; a role's threads meet no others. */
static void walk_roles(struct insertion *in, struct ir_operation *op, struct state *state)
{
    struct state result = {0};
    if (state->accesses.count || state->ordered)
        insert(in, op, state, false);
    for (int r = 0; r < op->region_count; r++) {
        struct state role;
        bool tiles = false;
        copy_state(in, &role, state);
        ir_walk(op->regions[r], look_for_tiles, &tiles);
        in->one_thread = !tiles;
        walk(in, op->regions[r], &role);
        in->one_thread = false;
        merge(in, &result, &role, NULL);
    }
    *state = result;
}

static void walk(struct insertion *in, struct ir_block *block, struct state *state)
{
    for (struct ir_operation *op = block->first; op; op = op->next) {
        bool copies = false, scratch = has_scratch(op);
        struct span spans[MOST_SPANS];
        if (is_meeting(op)) {
            meet(state);
            continue;
        }
        if (op->opcode == OP_BARRIER && ir_attribute(op, IR_ATTRIBUTE_APART)) {
            meet_apart(state);
            continue;
        }
        if (op->region_count && !ir_is_isolated(op)) {
            if (op->opcode == OP_ROLES)
                walk_roles(in, op, state);
            else if (ir_has_trait(op, IR_TRAIT_LOOP))
                walk_loop(in, op, state);
            else
                walk_branches(in, op, state);
            continue;
        }
        if (!in->one_thread && needs_barrier(state, op, &copies))
            insert(in, op, state, copies);
        land(state, op);
        if (scratch)
            meet(state); /* inside */
        if (uses_memory(op) && !scratch && alias_orders(op))
            state->ordered = true;
        if (uses_memory(op) || spans_of(op, spans))
            add_pending(in, state, op, NULL, flies(op));
    }
}

bool pass_insert_barriers(struct ir_function *function, struct pass_context *context)
{
    struct insertion in = {.context = context};
    struct state state = {0};
    walk(&in, function->body, &state);
    return in.changed;
}
