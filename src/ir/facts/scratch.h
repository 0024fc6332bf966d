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

/* 0: none.  convert_layout, what moves elements along an axis, reduce, sort, histogram, dot, and atomics whose old value is
 * used by threads that did not act. */
int64_t scratch_bytes(struct layout_table *table, struct arena *arena, const struct ir_operation *operation);

/* A reduction's trip across warps: values each thread brings, and rows that the lanes of a warp hold apart. */
struct scratch_crossing {
    int live, rows_of_lanes;
    uint32_t lanes; /* bits that name copies or were folded */
};
void scratch_reduction(const struct layout *layout, int axis, bool ordered, struct scratch_crossing *crossing);
/* What is sorted, in shared memory: words with the key above and the position below, line by line, in one part or, of keys of
 * 64 bits, in two (keys, positions); one word is left out behind each 32, so that threads that own neighbours use different
 * banks.  Behind them the tiles that follow the key, line by line. */
struct scratch_sort {
    bool positions; /* somebody asks where elements came from */
    int parts, part_bytes[2];
    int64_t extent, padded, lines; /* of the axis; the power of two above it */
    int64_t pitch;                 /* words from one line to the next */
    int64_t part_start[2], bytes;
};
void scratch_sort(const struct ir_operation *sort, struct scratch_sort *plan);
/* Where operand `index` >= 1 lies; -1: nobody asks for what becomes of it. */
int64_t scratch_sort_tile(const struct ir_operation *sort, int index);
/* A product in pieces of k: how much of k at once, and bytes of the first operand's piece, rounded up to 16; returns
 * all bytes. */
int64_t scratch_product(const struct ir_operation *dot, int64_t *piece, int64_t *first_bytes);
/* Where a buffer may start: where swizzles do, at a multiple of 1024 bytes; one of a single dimension, which has none, where
 * copies do. */
int64_t scratch_buffer_alignment(const struct ir_type *buffer);
/* Bytes from one slot of a buffer to the next.  Slots of a ring start where a buffer may. */
int64_t scratch_slot_bytes(const struct ir_type *buffer);
/* The same as part of a ring with others, whatever its own number of slots. */
int64_t scratch_ring_bytes(const struct ir_type *buffer);
#endif
