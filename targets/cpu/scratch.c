/* The thread's scratch: offsets are handed out while a function is emitted, and the bytes of a value that no later
 * operation reads are handed out again.  Everything is static: the function reports the highest byte it needs. */
#include "targets/cpu/emit.h"

int64_t cpu_tile_bytes(const struct ir_type *type) { return ir_type_elements(type) * cpu_bytes(type->element); }

struct cpu_buffer *cpu_buffer_create(struct cpu_emitter *e, int64_t bytes, const struct ir_block *owner, int last)
{
    int64_t size = (bytes + CPU_PADDING + 63) / 64 * 64;
    struct cpu_buffer *buffer = ARENA_NEW(e->arena, struct cpu_buffer);
    buffer->size = size;
    buffer->owner = owner;
    buffer->last = last;
    int best = -1;
    for (int i = 0; i < e->free_ranges.count; i++)
        if (e->free_ranges.data[i].size >= size &&
            (best < 0 || e->free_ranges.data[i].size < e->free_ranges.data[best].size))
            best = i;
    if (best >= 0) {
        struct cpu_buffer *range = &e->free_ranges.data[best];
        buffer->offset = range->offset;
        range->offset += size;
        range->size -= size;
        if (range->size == 0)
            *range = e->free_ranges.data[--e->free_ranges.count];
    } else {
        buffer->offset = e->scratch_top;
        e->scratch_top += size;
    }
    vector_push(e->arena, &e->live, buffer);
    return buffer;
}

struct cpu_buffer *cpu_buffer_borrow(struct cpu_emitter *e, const struct cpu_buffer *buffer,
                                     const struct ir_block *owner, int last)
{
    struct cpu_buffer *borrowed = ARENA_NEW(e->arena, struct cpu_buffer);
    *borrowed = *buffer;
    borrowed->owner = owner;
    borrowed->last = last;
    borrowed->borrowed = true;
    return borrowed;
}

static void give_range(struct cpu_emitter *e, int64_t offset, int64_t size)
{
    for (int i = 0; i < e->free_ranges.count; i++) {
        struct cpu_buffer *range = &e->free_ranges.data[i];
        if (range->offset + range->size == offset || offset + size == range->offset) { /* neighbours melt together */
            int64_t low = int64_min(range->offset, offset), total = range->size + size;
            *range = e->free_ranges.data[--e->free_ranges.count];
            give_range(e, low, total);
            return;
        }
    }
    struct cpu_buffer range = {.offset = offset, .size = size};
    vector_push(e->arena, &e->free_ranges, range);
}

void cpu_buffer_release(struct cpu_emitter *e, struct cpu_buffer *buffer)
{
    for (int i = 0; i < e->live.count; i++)
        if (e->live.data[i] == buffer) {
            e->live.data[i] = e->live.data[--e->live.count];
            give_range(e, buffer->offset, buffer->size);
            return;
        }
}

void cpu_buffer_release_dead(struct cpu_emitter *e, const struct ir_block *owner, int position)
{
    for (int i = 0; i < e->live.count;)
        if (e->live.data[i]->owner == owner && e->live.data[i]->last <= position)
            cpu_buffer_release(e, e->live.data[i]);
        else
            i++;
}

LLVMValueRef cpu_buffer_address(struct cpu_emitter *e, const struct cpu_buffer *buffer)
{
    LLVMValueRef offset = cpu_int(e, buffer->offset);
    return LLVMBuildInBoundsGEP2(e->builder, e->i8, e->scratch, &offset, 1, "");
}
