/* Shared memory that a Schedule-level operation needs while it runs, and what lies where in it.  allocate_shared gives the place,
 * targets follow the form below; both ask here, so that they agree.
 *
 * Every such operation writes its scratch, meets all threads, and reads it; only before it writes must others have read what they
 * had there (insert_barriers sees to that).  A conversion in rounds meets between them, too. */
#ifndef TILECC_SCRATCH_H
#define TILECC_SCRATCH_H
#include "ir/ir.h"
#include "ir/layout.h"

/* Bytes, a multiple of 16; 0: the operation needs none.  `arena` is for intermediate results. */
int64_t scratch_bytes(const struct ir_operation *operation, struct arena *arena);

/* The plan of a convert_layout, always the same one. */
const struct layout_conversion *scratch_conversion(const struct ir_operation *operation, struct arena *arena);

/* A reduce whose axis lies across warps: each warp leaves its partial results, each thread gathers those of its rows.
 * The partial of result register r by warp w in lane l, of operand k, lies at
 *     offset[k] + element_bytes * ((r * warps + w) * lanes + index(l)),   index(l): the bits of l in lane_mask, packed;
 * lanes that differ in other bits hold the same.  A thread of warp w reads the warps w ^ x for x in the span of the warp parts of
 * steps.warp_step, and, when the axis lies over groups of warps, those of each group. */
struct scratch_reduction {
    struct layout_reduction steps;
    const struct layout *result;      /* layout_remove_dimension of the operands' */
    int registers, warps, lanes;
    uint32_t lane_mask;
    int64_t offset[16];               /* by operand; the first 16 */
    int64_t bytes;                    /* 0: no warps to cross */
};
void scratch_reduction(const struct ir_operation *operation, struct scratch_reduction *reduction);

/* Factors of a dot, row-major, first a and then b at b_offset. */
int64_t scratch_dot(const struct ir_operation *operation, int64_t *b_offset);

/* Results of an atomic that other threads than the one that did it want: by the row-major index of the element. */
int64_t scratch_atomic(const struct ir_operation *operation);
#endif
