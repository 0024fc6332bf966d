/* How many bytes of shared memory (scratch) an operation of the Schedule level needs while it runs.  allocate_shared
 * gives each operation a place of that size (shared_offset, shared_bytes), and the targets use the place.
 *
 * An operation writes its scratch, meets all threads, and reads it.  So all threads must have met between the last
 * reader of those bytes and the operation, and again between the operation and the next writer; insert_barriers sees
 * to that.  If an operation has no place, the target gives it one behind all others, with a barrier in front. */
#ifndef TILECC_IR_SCRATCH_H
#define TILECC_IR_SCRATCH_H
#include "ir/ir.h"
#include "ir/layout/layout.h"

enum {
    SCRATCH_ROUND_BYTES = 48 *
                          1024, /* most for one conversion round or piece of a product: every architecture has it */
    SCRATCH_SMALL_BYTES = 4096  /* no more than that stays apart from what the operation in front used */
};

/* 0: none.  convert_layout, reduce, dot, and atomics whose old value is used by threads that did not act. */
int64_t scratch_bytes(struct layout_table *table, struct arena *arena, const struct ir_operation *operation);

/* A reduction's trip across warps: values each thread brings, and rows that the lanes of a warp hold apart. */
struct scratch_crossing {
    int live, rows_of_lanes;
    uint32_t lanes; /* bits that name copies or were folded */
};
void scratch_reduction(const struct layout *layout, int axis, bool ordered, struct scratch_crossing *crossing);
/* A product in pieces of k: how much of k at once, and bytes of the first operand's piece, rounded up to 16; returns
 * all bytes. */
int64_t scratch_product(const struct ir_operation *dot, int64_t *piece, int64_t *first_bytes);
/* Bytes from one slot of a buffer to the next.  Slots of a ring start where swizzles do: at multiples of 1024. */
int64_t scratch_slot_bytes(const struct ir_type *buffer);
/* The same as part of a ring with others, whatever its own number of slots. */
int64_t scratch_ring_bytes(const struct ir_type *buffer);
#endif
