/* allocate_shared: finds a place in shared memory for buffers, for mbarriers and for the scratch of operations.
 *
 *     %a = buffer : buffer<bf16, [128, 64], slots(4), #…>
 *     %m = mbarrier arrivals(1) : mbarrier<4>
 *     %t = reduce axis(0) kind(max) %v : f32
 * becomes
 *     %a = buffer shared_offset(0) shared_bytes(65536) : buffer<bf16, [128, 64], slots(4), #…>
 *     %m = mbarrier arrivals(1) shared_offset(65536) : mbarrier<4>
 *     %t = reduce axis(0) kind(max) shared_offset(65664) shared_bytes(16) %v : f32
 *
 * Lives.  Time is counted in operations of the function's body and of its branches; a loop counts as one.  A buffer
 * lives from the first operation that looks at it to the last, and on to the wait for copies that are still running,
 * in either branch.  Two buffers that are never alive together may share bytes.  In a function with roles nothing is
 * shared, because roles run at any time relative to each other; each role has scratch of its own.
 *
 * Scratch lives only while its operation runs, so that any two operations might share a place.  But sharing a place
 * with the operation just before costs a barrier between the two.  So small scratch stays alive until the next
 * operation with scratch is through (that one meets all threads itself), and takes the lowest place free of everything
 * alive; large scratch takes the lowest place behind the living buffers, whatever scratch was there.  insert_barriers
 * makes all threads meet where places are shared. */
#include "base/plant.h"
#include "ir/facts/scratch.h"
#include "passes/base/pass.h"
#include "passes/base/rewrite.h"

enum { ALIGNMENT = 128, MBARRIER_BYTES = 8 };

/* What may still be on its way to or from a buffer. */
enum flight { COPIES = 1, PRODUCTS = 2 };
struct placed {
    struct ir_operation *op;
    int from, to;
    int flights;
    int64_t offset, bytes;
};

struct allocation {
    struct pass_context *context;
    VECTOR(struct placed) buffers;
    bool roles;
    int now;                      /* operation of the body or of its branches, in the order of the text */
    int64_t base;                 /* behind what lives always */
    int64_t live_start, live_end; /* of the operation with scratch before, when small */
    int64_t most;
    bool changed;
};

static int64_t align(int64_t offset, int64_t alignment) { return (offset + alignment - 1) / alignment * alignment; }

static void place(struct allocation *a, struct ir_operation *op, int64_t offset, int64_t bytes)
{
    a->most = int64_max(a->most, (PLANTED(shared_total_forgets_offset) ? 0 : offset) + bytes);
    bool sized = op->opcode != OP_MBARRIER;
    if (ir_number(op, IR_ATTRIBUTE_SHARED_OFFSET, -1) == offset &&
        (!sized || ir_number(op, IR_ATTRIBUTE_SHARED_BYTES, -1) == bytes))
        return;
    ir_set_number(op, IR_ATTRIBUTE_SHARED_OFFSET, offset);
    if (sized)
        ir_set_number(op, IR_ATTRIBUTE_SHARED_BYTES, bytes);
    a->changed = true;
}

/* ---- when buffers live ---- */

static const struct ir_operation *root_of(const struct ir_value *value)
{
    const struct ir_operation *op = value->definition;
    while (op && (op->opcode == OP_SLOT || op->opcode == OP_BUFFER_PERMUTE || op->opcode == OP_BUFFER_PART))
        op = op->operands[0]->definition;
    return op;
}

static int flights_of(const struct ir_operation *op)
{
    switch (op->opcode) {
    case OP_COPY_ASYNC:
    case OP_STORE_ASYNC:
    case OP_CP_ASYNC:
    case OP_TMA_LOAD:
    case OP_TMA_STORE: return COPIES;
    case OP_DOT_ASYNC: return PRODUCTS;
    default: return 0;
    }
}

/* What an operation lets nobody be on the way behind it. */
static int ended_by(const struct ir_operation *op)
{
    if (ir_number(op, IR_ATTRIBUTE_PENDING, 0) > 0)
        return 0;
    return op->opcode == OP_DOT_WAIT                                                        ? PRODUCTS
           : op->opcode == OP_WAIT || op->opcode == OP_CP_WAIT || op->opcode == OP_TMA_WAIT ? COPIES
                                                                                            : 0;
}

static void look(struct ir_operation *op, void *data)
{
    struct allocation *a = data;
    int ended = ended_by(op);
    if (op->opcode == OP_ROLES)
        a->roles = true;
    if (op->opcode == OP_BUFFER) {
        struct placed made = {.op = op, .from = INT32_MAX, .to = -1};
        vector_push(a->context->arena, &a->buffers, made);
    }
    for (int b = 0; b < a->buffers.count; b++) {
        struct placed *buffer = &a->buffers.data[b];
        bool looks = buffer->flights & ended;
        buffer->flights &= ~ended;
        for (int i = 0; i < op->operand_count; i++)
            if (op->operands[i]->type->kind == IR_BUFFER && root_of(op->operands[i]) == buffer->op) {
                looks = true;
                buffer->flights |= flights_of(op);
            }
        if (looks && buffer->from > a->now)
            buffer->from = a->now;
        if (looks)
            buffer->to = a->now;
    }
}

static void look_along(struct allocation *a, const struct ir_block *block);

/* What is on its way behind a branch is what is so behind either side of it. */
static void look_at_sides(struct allocation *a, const struct ir_operation *branch)
{
    int count = a->buffers.count; /* no buffers are made in branches */
    int *before = ARENA_ARRAY(a->context->arena, int, count), *behind = ARENA_ARRAY(a->context->arena, int, count);
    for (int b = 0; b < count; b++)
        before[b] = a->buffers.data[b].flights;
    for (int r = 0; r < branch->region_count; r++) {
        for (int b = 0; b < count; b++)
            a->buffers.data[b].flights = before[b];
        a->now++;
        look_along(a, branch->regions[r]);
        for (int b = 0; b < count; b++)
            behind[b] |= a->buffers.data[b].flights;
    }
    for (int b = 0; b < count; b++)
        a->buffers.data[b].flights = behind[b];
}

static void look_along(struct allocation *a, const struct ir_block *block)
{
    for (struct ir_operation *op = block->first; op; op = op->next, a->now++) {
        look(op, a);
        if (op->opcode == OP_IF)
            look_at_sides(a, op);
        else
            for (int r = 0; r < op->region_count; r++)
                ir_walk(op->regions[r], look, a);
    }
}

static void find_lives(struct allocation *a, const struct ir_block *body)
{
    look_along(a, body);
    for (int b = 0; b < a->buffers.count; b++) {
        struct placed *buffer = &a->buffers.data[b];
        if (a->roles || buffer->to < 0)
            buffer->from = 0;
        if (a->roles || buffer->to < 0 || (buffer->flights && !PLANTED(allocation_forgets_flights)))
            buffer->to = a->now;
    }
}

/* ---- buffers and mbarriers ---- */

static void place_buffer(struct allocation *a, int index)
{
    struct placed *buffer = &a->buffers.data[index];
    const struct ir_type *type = buffer->op->results[0]->type;
    bool moved = true;
    buffer->bytes = scratch_slot_bytes(type) * type->slots;
    buffer->offset = 0;
    while (moved) {
        moved = false;
        for (int i = 0; i < index; i++) {
            const struct placed *other = &a->buffers.data[i];
            bool together = other->from <= buffer->to && buffer->from <= other->to;
            if (!together || other->offset >= buffer->offset + buffer->bytes ||
                buffer->offset >= other->offset + other->bytes)
                continue;
            buffer->offset = align(other->offset + other->bytes, scratch_buffer_alignment(type));
            moved = true;
        }
    }
    place(a, buffer->op, buffer->offset, buffer->bytes);
}

static void place_mbarriers(struct allocation *a, const struct ir_block *body)
{
    int64_t offset = align(a->most, ALIGNMENT);
    for (struct ir_operation *op = body->first; op; op = op->next) {
        if (op->opcode != OP_MBARRIER)
            continue;
        int64_t bytes = (int64_t)MBARRIER_BYTES * op->results[0]->type->slots;
        place(a, op, offset, bytes);
        offset += bytes;
        a->base = offset;
    }
}

/* ---- scratch ---- */

static int64_t lowest_free(const struct allocation *a)
{
    int64_t offset = a->base;
    for (int b = 0; b < a->buffers.count; b++) {
        const struct placed *buffer = &a->buffers.data[b];
        if (buffer->from <= a->now && a->now <= buffer->to)
            offset = int64_max(offset, buffer->offset + buffer->bytes);
    }
    return align(offset, ALIGNMENT);
}

static void place_scratch(struct ir_operation *op, void *context)
{
    struct allocation *a = context;
    struct arena *arena = arena_create();
    int64_t bytes = scratch_bytes(ir_context_layouts(rewrite_context(op)), arena, op), offset = lowest_free(a);
    arena_destroy(arena);
    if (op->opcode == OP_BUFFER || op->opcode == OP_MBARRIER)
        return;
    if (bytes == 0) {
        if (ir_attribute(op, IR_ATTRIBUTE_SHARED_OFFSET)) {
            ir_remove_attribute(op, IR_ATTRIBUTE_SHARED_OFFSET);
            ir_remove_attribute(op, IR_ATTRIBUTE_SHARED_BYTES);
            a->changed = true;
        }
        return;
    }
    if (bytes <= SCRATCH_SMALL_BYTES && offset < a->live_end && offset + bytes > a->live_start)
        offset = align(a->live_end, ALIGNMENT);
    a->live_start = offset;
    a->live_end = bytes <= SCRATCH_SMALL_BYTES ? offset + bytes : offset;
    place(a, op, offset, bytes);
}

/* In the same time as look_along.  Each role behind the one before, all behind what the block does alone. */
static void place_all_scratch(struct allocation *a, const struct ir_block *block)
{
    for (struct ir_operation *op = block->first; op; op = op->next, a->now++) {
        place_scratch(op, a);
        for (int r = 0; r < op->region_count; r++) {
            if (op->opcode == OP_ROLES) {
                a->base = align(a->most, ALIGNMENT);
                a->live_start = a->live_end = 0;
            }
            if (op->opcode == OP_IF) {
                a->now++;
                place_all_scratch(a, op->regions[r]);
            } else {
                ir_walk(op->regions[r], place_scratch, a);
            }
        }
    }
}

bool pass_allocate_shared(struct ir_function *function, struct pass_context *context)
{
    struct allocation a = {.context = context};
    find_lives(&a, function->body);
    for (int i = 0; i < a.buffers.count; i++)
        place_buffer(&a, i);
    place_mbarriers(&a, function->body);
    a.now = 0;
    place_all_scratch(&a, function->body);
    a.changed |= function->shared_bytes != a.most;
    function->shared_bytes = a.most;
    return a.changed;
}
