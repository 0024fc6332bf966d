/* Synchronisation that a kernel has twice, found by paths: what is touched in front of an operation since the
 * threads met
 * last, and behind it until they meet again.  A barrier between things that do not touch each other separates
 * nothing; a wait
 * behind another one finds nothing on its way. */
#include "redundant.h"

#include <string.h>

#include "ir/facts/alias.h"

enum { MOST_TOUCHED = 256, RING_STEP = 1024 };

struct touched {
    const struct ir_operation *op;
    const struct ir_value *view; /* global memory, or NULL: shared memory, these bytes */
    int64_t from, to;
    bool write;
};
struct path {
    struct touched list[MOST_TOUCHED];
    int count;
    bool backward, copies_alone;
    enum ir_opcode stop[2]; /* the path ends there; OP_BARRIER: wherever threads meet */
};

/* ---- what an operation touches ---- */

static void put(struct path *path, struct touched touched)
{
    if (path->count < MOST_TOUCHED)
        path->list[path->count] = touched;
    path->count++;
}

static void put_buffer(struct path *path, const struct ir_operation *op, const struct ir_value *value, bool write)
{
    int64_t slot = -1, number;
    while (value->definition->opcode != OP_BUFFER) {
        if (value->definition->opcode == OP_SLOT && mutation_fold(value->definition->operands[1], &number))
            slot = number;
        value = value->definition->operands[0];
    }
    const struct ir_type *type = value->type;
    int64_t from = ir_number(value->definition, IR_ATTRIBUTE_SHARED_OFFSET, 0), bytes = ir_type_bytes(type);
    int64_t step = type->slots > 1 ? (bytes + RING_STEP - 1) / RING_STEP * RING_STEP : bytes;
    bool one = slot >= 0 && slot < type->slots;
    put(path, (struct touched){op, NULL, from + (one ? slot * step : 0),
                               from + (one ? slot * step + bytes : step * type->slots), write});
}

struct everywhere {
    struct path *path;
    const struct ir_operation *op;
    enum ir_opcode opcode;
    bool write;
};

static void put_everywhere(struct ir_operation *op, void *data)
{
    struct everywhere *e = data;
    if (op->opcode != e->opcode)
        return;
    if (op->opcode == OP_DOT_ASYNC) {
        for (int i = 0; i < 2; i++)
            if (op->operands[i]->type->kind == IR_BUFFER)
                put_buffer(e->path, e->op, op->operands[i], e->write);
        return;
    }
    put_buffer(e->path, e->op, op->operands[op->operand_count - 1], e->write);
}

/* A wait or fence touches all that it may be for. */
static void put_all(struct path *path, const struct ir_operation *op, enum ir_opcode opcode, bool write)
{
    struct everywhere e = {path, op, opcode, write};
    ir_walk(op->block->function->body, put_everywhere, &e);
}

/* The factors of what is waited for; of all products where it came round a loop. */
static void put_products(struct path *path, const struct ir_operation *op)
{
    for (int i = 0; i < op->operand_count; i++) {
        const struct ir_operation *product = op->operands[i]->definition;
        if (!product || product->opcode != OP_DOT_ASYNC ||
            (product->operands[2]->definition && product->operands[2]->definition->opcode == OP_DOT_ASYNC)) {
            put_all(path, op, OP_DOT_ASYNC, false);
            continue;
        }
        bool runs_on = ir_number(product, IR_ATTRIBUTE_INSTRUCTION, 0) == IR_INSTRUCTION_WGMMA;
        for (int k = 0; k < 2 && runs_on; k++)
            if (product->operands[k]->type->kind == IR_BUFFER)
                put_buffer(path, op, product->operands[k], false);
    }
}

static bool is_scratch(const struct ir_operation *op)
{
    return ir_attribute(op, IR_ATTRIBUTE_SHARED_OFFSET) && op->opcode != OP_BUFFER && op->opcode != OP_MBARRIER;
}

static bool follow_all(struct path *path, const struct ir_operation *op);

/* What may have been copied in front of a wait. */
static void put_copies(struct path *path, const struct ir_operation *wait)
{
    struct path all = {.backward = true, .stop = {OP_COUNT, OP_COUNT}, .copies_alone = true};
    follow_all(&all, wait);
    if (all.count > MOST_TOUCHED)
        path->count = MOST_TOUCHED + 1;
    for (int i = 0; i < all.count && path->count <= MOST_TOUCHED; i++)
        put(path, all.list[i]);
}

static void add_touched(struct path *path, const struct ir_operation *op)
{
    if (path->copies_alone && op->opcode != OP_CP_ASYNC)
        return;
    const struct ir_value *last = op->operand_count ? op->operands[op->operand_count - 1] : NULL;
    unsigned global = IR_TRAIT_READ | IR_TRAIT_WRITE | IR_TRAIT_ATOMIC;
    switch (op->opcode) {
    case OP_BUFFER_LOAD: put_buffer(path, op, op->operands[0], false); return;
    case OP_BUFFER_STORE: put_buffer(path, op, last, true); return;
    case OP_CP_ASYNC: put_buffer(path, op, last, true); return;
    case OP_TMA_STORE: put_buffer(path, op, last, false); return;
    /* a wait or fence counts for what comes behind: that others may rely on it */
    case OP_CP_WAIT:
        if (path->backward && !redundant_wait(op))
            put_copies(path, op);
        return;
    case OP_TMA_WAIT:
        if (path->backward && !redundant_wait(op))
            put_all(path, op, OP_TMA_STORE, false);
        return;
    case OP_FENCE_ASYNC:
        if (path->backward)
            put_all(path, op, OP_BUFFER_STORE, true);
        return;
    case OP_DOT_WAIT:
        if (path->backward)
            put_products(path, op);
        return;
    case OP_DOT_ASYNC:
        for (int i = 0; i < 2; i++)
            if (op->operands[i]->type->kind == IR_BUFFER)
                put_buffer(path, op, op->operands[i], false);
        return;
    default: break;
    }
    if (is_scratch(op)) {
        int64_t from = ir_number(op, IR_ATTRIBUTE_SHARED_OFFSET, 0);
        put(path, (struct touched){op, NULL, from, from + ir_number(op, IR_ATTRIBUTE_SHARED_BYTES, 0), true});
    } else if (ir_op_info[op->opcode].traits & global && op->opcode != OP_ASSUME && op->operand_count) {
        put(path, (struct touched){op, op->operands[0], 0, 0,
                                   ir_op_info[op->opcode].traits & (IR_TRAIT_WRITE | IR_TRAIT_ATOMIC)});
    }
}

/* ---- paths ---- */

static bool stops(const struct path *path, const struct ir_operation *op)
{
    bool meets = op->opcode == OP_CLUSTER_BARRIER || op->opcode == OP_MBARRIER_READY || is_scratch(op);
    return op->opcode == path->stop[0] || op->opcode == path->stop[1] || (path->stop[0] == OP_BARRIER && meets);
}

/* From `op` on to the block's end or beginning.  True: every path ends on the way. */
static bool follow(struct path *path, const struct ir_operation *op)
{
    for (; op; op = path->backward ? op->previous : op->next) {
        if (stops(path, op)) {
            if (is_scratch(op))
                add_touched(path, op);
            return true;
        }
        bool all = op->opcode == OP_IF;
        for (int r = 0; r < op->region_count; r++)
            all = follow(path, path->backward ? op->regions[r]->last : op->regions[r]->first) && all;
        if (all)
            return true;
        add_touched(path, op);
    }
    return false;
}

/* True: every path ends inside the function. */
static bool follow_all(struct path *path, const struct ir_operation *op)
{
    for (;;) {
        if (follow(path, path->backward ? op->previous : op->next))
            return true;
        const struct ir_operation *outer = op->block->parent;
        if (!outer || outer->opcode == OP_ROLES)
            return false;
        for (int r = 0; r < outer->region_count && outer->opcode != OP_IF; r++) /* round the loop */
            follow(path, path->backward ? outer->regions[r]->last : outer->regions[r]->first);
        op = outer;
    }
}

/* ---- what collides ---- */

static const struct ir_type *tile_of(const struct ir_operation *op)
{
    struct ir_access access;
    if (!ir_access_of(op, &access))
        return NULL;
    return op->result_count ? op->results[0]->type : access.value ? access.value->type : NULL;
}

/* Each thread has its own elements: both name the same ones, or none of them is the same. */
static bool own_elements(const struct ir_operation *a, const struct ir_operation *b)
{
    struct ir_access x, y;
    const struct ir_type *tile = tile_of(a);
    if ((a->opcode != OP_LOAD && a->opcode != OP_STORE) || (b->opcode != OP_LOAD && b->opcode != OP_STORE) || !tile ||
        tile != tile_of(b) || !ir_access_of(a, &x) || !ir_access_of(b, &y) || x.view != y.view)
        return false;
    bool same = true, disjoint = false;
    for (int d = 0; d < x.rank; d++) {
        int64_t distance;
        if (x.place[d] != y.place[d])
            return false;
        bool known = mutation_distance(x.index[d], y.index[d], &distance);
        same = same && known && distance == 0;
        disjoint = disjoint ||
                   (known && (distance >= int64_max(1, x.place[d]) || -distance >= int64_max(1, x.place[d])));
    }
    return same || disjoint;
}

static bool collide(const struct touched *a, const struct touched *b)
{
    if ((!a->write && !b->write) || !a->view != !b->view)
        return false;
    if (a->view)
        return alias_may(a->view, b->view) && !own_elements(a->op, b->op);
    return a->from < b->to && b->from < a->to;
}

static bool any_collide(const struct path *a, const struct path *b)
{
    if (a->count > MOST_TOUCHED || b->count > MOST_TOUCHED)
        return true;
    for (int i = 0; i < a->count; i++)
        for (int k = 0; k < b->count; k++)
            if (collide(&a->list[i], &b->list[k]))
                return true;
    return false;
}

/* ---- rules ---- */

bool redundant_barrier(const struct ir_operation *op)
{
    struct path before = {.backward = true, .stop = {OP_BARRIER, OP_BARRIER}};
    struct path behind = {.stop = {OP_BARRIER, OP_BARRIER}};
    follow_all(&before, op);
    follow_all(&behind, op);
    return !any_collide(&before, &behind);
}

/* Nothing is on its way that was not waited for: no more groups than may be pending were ever closed, or a wait for all
 * comes before on every path and no copy since. */
bool redundant_wait(const struct ir_operation *op)
{
    enum ir_opcode copy = op->opcode == OP_CP_WAIT ? OP_CP_ASYNC : OP_TMA_STORE;
    enum ir_opcode commit = op->opcode == OP_CP_WAIT ? OP_CP_COMMIT : OP_TMA_COMMIT;
    int64_t pending = ir_number(op, IR_ATTRIBUTE_PENDING, 0), closed = 0;
    bool loops = false;
    for (const struct ir_operation *outer = op; outer && outer->opcode != OP_ROLES; outer = outer->block->parent) {
        loops = loops || outer->opcode == OP_FOR || outer->opcode == OP_WHILE;
        for (const struct ir_operation *old = outer->previous; old; old = old->previous) {
            closed += old->opcode == commit;
            closed += old->region_count ? MOST_TOUCHED * mutation_contains(old, commit) : 0;
        }
    }
    if (!loops && closed <= pending)
        return true;
    for (const struct ir_operation *old = op->previous; old && pending == 0; old = old->previous) {
        if (old->opcode == op->opcode)
            return ir_number(old, IR_ATTRIBUTE_PENDING, 0) == 0;
        if (mutation_contains(old, copy) || mutation_contains(old, commit))
            return false;
    }
    return false;
}

/* Before anything touches what may be on its way, all are waited for again. */
bool redundant_with_next_wait(const struct ir_operation *op)
{
    struct path behind = {.stop = {op->opcode, op->opcode}}, own = {0};
    enum ir_opcode copy = op->opcode == OP_CP_WAIT ? OP_CP_ASYNC : OP_TMA_STORE;
    /* what is copied in front of it, and what of it is touched behind it until the next wait, which has to be for
     * all */
    struct path before = {.backward = true, .stop = {op->opcode, op->opcode}};
    follow_all(&before, op);
    for (int i = 0; i < before.count && i < MOST_TOUCHED; i++)
        if (before.list[i].op->opcode == copy)
            put(&own, before.list[i]);
    follow_all(&behind, op); /* at the function's end there is a wait for all, or it is reported */
    return !any_collide(&own, &behind) && !mutation_has_pending(op->block->function, op->opcode);
}

/* Another group is closed before anybody waits, and waits are for all groups. */
bool redundant_commit(const struct ir_operation *op)
{
    enum ir_opcode wait = op->opcode == OP_CP_COMMIT ? OP_CP_WAIT : OP_TMA_WAIT;
    const struct ir_operation *next = op->next;
    while (next && next->opcode != op->opcode && next->opcode != wait && !next->region_count)
        next = next->next;
    if (next && next->opcode == wait && (redundant_wait(next) || redundant_with_next_wait(next)))
        return true;
    return next && next->opcode == op->opcode && !mutation_has_pending(op->block->function, wait);
}

/* Behind `next`, the barrier leaves in front of it what collides with nothing that it touches. */
bool redundant_order(struct ir_operation *barrier, struct ir_operation *next)
{
    struct path before = {.backward = true, .stop = {OP_BARRIER, OP_BARRIER}};
    struct path own = {0};
    struct ir_operation *follower = barrier->next;
    if (!next->next)
        return false;
    ir_move_before(barrier, next->next);
    follow_all(&before, next);
    add_touched(&own, next);
    ir_move_before(barrier, follower);
    return !any_collide(&before, &own);
}

/* Touches only what TMA stores from. */
static bool is_stored(const struct touched *touched, const struct path *stores)
{
    for (int i = 0; i < stores->count && i < MOST_TOUCHED; i++)
        if (touched->view == NULL && stores->list[i].from <= touched->from && touched->to <= stores->list[i].to)
            return true;
    return false;
}

/* All stores by TMA stand in one block, from places that are known. */
static bool all_straight(const struct ir_block *block, const struct ir_block *straight)
{
    for (const struct ir_operation *op = block->first; op; op = op->next) {
        bool stores = op->opcode == OP_TMA_STORE || op->opcode == OP_TMA_COMMIT;
        int64_t slot;
        const struct ir_operation *buffer = stores && op->operand_count
                                                ? op->operands[op->operand_count - 1]->definition
                                                : NULL;
        if (stores &&
            (block != straight || (buffer && buffer->opcode == OP_SLOT && !mutation_fold(buffer->operands[1], &slot))))
            return false;
        if (op->opcode == OP_TMA_WAIT && block != straight && block->parent && block->parent->opcode != OP_ROLES)
            return false;
        for (int r = 0; r < op->region_count; r++)
            if (!all_straight(op->regions[r], straight))
                return false;
    }
    return true;
}

/* In straight code that every program runs in the same way, groups of stores can be in few states, and
 * check_machine has
 * seen all of them: it runs several programs.  A barrier there may separate other things, too. */
bool redundant_in_straight_code(const struct ir_operation *op)
{
    const struct ir_operation *outer = op->block->parent;
    if (outer && outer->opcode == OP_FOR) /* over programs */
        outer = outer->block->parent;
    if ((outer && outer->opcode != OP_ROLES) || !all_straight(op->block->function->body, op->block))
        return false;
    if (op->opcode != OP_BARRIER)
        return true;
    struct path before = {.backward = true, .stop = {OP_BARRIER, OP_BARRIER}};
    struct path behind = {.stop = {OP_BARRIER, OP_BARRIER}}, stores = {.backward = true};
    follow_all(&before, op);
    follow_all(&behind, op);
    put_all(&stores, op, OP_TMA_STORE, false);
    if (before.count > MOST_TOUCHED || behind.count > MOST_TOUCHED)
        return false;
    for (int i = 0; i < before.count; i++)
        for (int k = 0; k < behind.count; k++)
            if (collide(&before.list[i], &behind.list[k]) &&
                !(is_stored(&before.list[i], &stores) && is_stored(&behind.list[k], &stores)))
                return false;
    return true;
}

/* What is waited for collides with nothing that the operation, or what follows a barrier, touches. */
bool redundant_behind(const struct ir_operation *wait, const struct ir_operation *next)
{
    struct path own = {.backward = true}, behind = {.stop = {OP_BARRIER, OP_BARRIER}};
    if (redundant_wait(wait))
        return true;
    add_touched(&own, wait);
    if (next->opcode == OP_BARRIER)
        follow_all(&behind, next);
    else
        add_touched(&behind, next);
    return !any_collide(&own, &behind);
}
