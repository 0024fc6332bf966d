/* allocate_shared: a place in shared memory for the scratch of each operation that needs some.
 *
 *     %m = reduce axis(0) kind(max) %v : f32
 *     %t = reduce axis(0) kind(add) %e : f32
 * becomes
 *     %m = reduce axis(0) kind(max) shared_offset(0) shared_bytes(16) %v : f32
 *     %t = reduce axis(0) kind(add) shared_offset(128) shared_bytes(16) %e : f32
 *
 * Scratch lives only while its operation runs, so any two might share a place; but sharing a place with the operation
 * before costs a barrier between them.  So small scratch lives on until the next such operation is through (which
 * meets all threads itself), and gets the lowest place free of what lives; large scratch takes the lowest place
 * alone.
 *
 * Buffers and mbarriers stand in front of all scratch, each in a place of its own. */
#include "base/plant.h"
#include "ir/scratch.h"
#include "passes/pass.h"
#include "passes/rewrite.h"

enum { SMALL = 4096, ALIGNMENT = 128, BUFFER_ALIGNMENT = 1024 /* of swizzled rows */, MBARRIER_BYTES = 8 };

struct allocation {
    struct pass_context *context;
    int64_t live_start, live_end; /* of the operation before, when small */
    int64_t base, most;           /* end of buffers; of everything */
    bool changed;
};

static int64_t round_up(int64_t bytes, int64_t alignment) { return (bytes + alignment - 1) / alignment * alignment; }

static void place(struct allocation *a, struct ir_operation *op, int64_t bytes, int64_t alignment)
{
    int64_t offset = round_up(a->base, alignment);
    a->base = offset + bytes;
    a->most = int64_max(a->most, a->base);
    if (ir_number(op, IR_ATTRIBUTE_SHARED_OFFSET, -1) == offset)
        return;
    ir_set_number(op, IR_ATTRIBUTE_SHARED_OFFSET, offset);
    if (op->opcode == OP_BUFFER)
        ir_set_number(op, IR_ATTRIBUTE_SHARED_BYTES, bytes);
    a->changed = true;
}

static void place_buffers(struct allocation *a, struct ir_block *body)
{
    for (struct ir_operation *op = body->first; op; op = op->next)
        if (op->opcode == OP_BUFFER) {
            const struct ir_type *type = op->results[0]->type;
            place(a, op, ir_type_elements(type) * (ir_element_info[type->element].bits / 8) * type->slots,
                  BUFFER_ALIGNMENT);
        }
    for (struct ir_operation *op = body->first; op; op = op->next)
        if (op->opcode == OP_MBARRIER)
            place(a, op, (int64_t)op->results[0]->type->slots * MBARRIER_BYTES, MBARRIER_BYTES);
    a->base = round_up(a->base, ALIGNMENT);
}

static void visit(struct ir_operation *op, void *context)
{
    struct allocation *a = context;
    struct arena *arena = arena_create();
    struct layout_table *table = ir_context_layouts(rewrite_context(op));
    int64_t bytes = scratch_bytes(table, arena, op), offset = a->base;
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
    if (bytes <= SMALL && a->live_end > a->live_start && bytes > a->live_start - a->base)
        offset = (a->live_end + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
    a->live_start = offset;
    a->live_end = bytes <= SMALL ? offset + bytes : offset;
    a->most = int64_max(a->most, (PLANTED(shared_total_forgets_offset) ? 0 : offset) + bytes);
    if (ir_number(op, IR_ATTRIBUTE_SHARED_OFFSET, -1) == offset &&
        ir_number(op, IR_ATTRIBUTE_SHARED_BYTES, -1) == bytes)
        return;
    ir_set_number(op, IR_ATTRIBUTE_SHARED_OFFSET, offset);
    ir_set_number(op, IR_ATTRIBUTE_SHARED_BYTES, bytes);
    a->changed = true;
}

bool pass_allocate_shared(struct ir_function *function, struct pass_context *context)
{
    struct allocation a = { .context = context };
    place_buffers(&a, function->body);
    a.live_start = a.live_end = a.base;
    ir_walk(function->body, visit, &a);
    a.changed |= function->shared_bytes != a.most;
    function->shared_bytes = a.most;
    return a.changed;
}
