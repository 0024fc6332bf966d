/* What prefetch_copies decides (prefetch_copies.c) and what it builds (prefetch_copies_emit.c).
 *
 * A *ring* is a buffer with several slots; a loop whose copies go to rings works on one slot while the copies of later
 * iterations fill the others.  An iteration may fill and read such a slot several times, one *part* of it after the
 * other; else it is one part.  Copies run slots - 1 parts ahead. */
#ifndef TILECC_PASSES_PIPELINE_COPIES_H
#define TILECC_PASSES_PIPELINE_COPIES_H
#include "passes/loops/ring_plan.h"
#include "passes/base/pass.h"
#include "targets/target.h"

struct pipelined_copy {
    struct ir_operation *copy;      /* copy_async in the loop's body */
    struct ir_value *buffer, *ring; /* as it was; with slots */
    struct ir_value *tile;          /* without cp.async: what is on its way in registers */
    int part, place;                /* which part of the iteration reads it; which of the part's buffers it is */
};
struct pipelined_loop {
    struct ir_operation *loop, *emitted; /* as it was; as copies_emit_loop has made it */
    VECTOR(struct pipelined_copy) copies;
    struct ring_plan ring; /* of all its buffers together */
    int slots;
    int parts;         /* that an iteration goes through a slot each, 1 or more */
    bool asynchronous; /* by cp.async, else through registers */
};

/* Parts of an iteration that could share rings, as each reads buffers of the same types and none of another's; sets
 * part and place of the copies when there are more than one. */
int copies_find_parts(struct pipelined_loop *loop);
/* Where part number `part` starts: its wait. */
struct ir_operation *copies_wait_of(const struct pipelined_loop *loop, int part);

/* Gives the rings their slots' places and rewrites the loop.  Copies and waits of it are gone afterwards. */
void copies_emit_loop(struct pass_context *context, struct pipelined_loop *loop);
/* A copy that runs in no pipeline: started and waited for where it stands. */
void copies_emit_alone(struct pass_context *context, struct ir_operation *copy, bool asynchronous);
/* A wait whose copies are all started. */
void copies_emit_wait(struct pass_context *context, struct ir_operation *wait, bool asynchronous);
#endif
