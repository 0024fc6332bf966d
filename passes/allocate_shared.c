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
 * alone. */
#include "base/plant.h"
#include "ir/scratch.h"
#include "passes/pass.h"
#include "passes/rewrite.h"

enum { SMALL = 4096, ALIGNMENT = 128 };

struct allocation {
    struct pass_context *context;
    int64_t live_start, live_end; /* of the operation before, when small */
    int64_t most;
    bool changed;
};

static void visit(struct ir_operation *op, void *context)
{
    struct allocation *a = context;
    struct arena *arena = arena_create();
    struct layout_table *table = ir_context_layouts(rewrite_context(op));
    int64_t bytes = scratch_bytes(table, arena, op), offset = 0;
    arena_destroy(arena);
    if (bytes == 0) {
        if (ir_attribute(op, IR_ATTRIBUTE_SHARED_OFFSET)) {
            ir_remove_attribute(op, IR_ATTRIBUTE_SHARED_OFFSET);
            ir_remove_attribute(op, IR_ATTRIBUTE_SHARED_BYTES);
            a->changed = true;
        }
        return;
    }
    if (bytes <= SMALL && a->live_end > a->live_start && bytes > a->live_start)
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
    ir_walk(function->body, visit, &a);
    a.changed |= function->shared_bytes != a.most;
    function->shared_bytes = a.most;
    return a.changed;
}
