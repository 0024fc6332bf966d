/* How many slots a ring of copies gets, and why: by the model of the loop that fills it (loop_model.h) and the shared
 * memory that there is.  All passes that give a buffer slots ask here. */
#ifndef TILECC_PASSES_RING_PLAN_H
#define TILECC_PASSES_RING_PLAN_H
#include "passes/loops/loop_model.h"

/* The slots of one ring and why. */
struct ring_plan {
    double iteration, latency; /* cycles: between two fillings; from the start of a copy until it is there */
    int64_t bytes;             /* of a slot */
    int wanted;                /* slots that hide the latency */
    int most;                  /* what more than these would be good for is not known */
    int fit;                   /* that there is room for */
    uint64_t among;            /* of which it is one, see struct ir_function; 0: any */
    int slots;                 /* what it gets: the least of most and fit */
    int parts;                 /* fillings an iteration, 0: one */
    int blocks;                /* that share the memory, 0: one */
};
/* Cycles from the start of copies of so many bytes until they are there. */
double ring_plan_latency(const struct target_row *target, int64_t bytes);
/* Plans a ring that is filled once an iteration: a slot may be filled again `busy` cycles after its reader starts to
 * wait for it.  alone: no other block can have the memory that is left.  function: whose stages are asked for. */
struct ring_plan ring_plan_make(const struct loop_model *model, int64_t bytes, double busy, bool alone,
                                const struct ir_function *function);
/* Shares `room` bytes out: the same number of slots for each ring, but no more than it has use for.  False: there is no
 * room for one slot of each. */
bool ring_plan_share(struct ring_plan *const *rings, int count, int64_t room);
/* "an iteration takes 1536 cycles, a copy 2536: 3 slots hide that, 4 fit" */
const char *ring_plan_reason(struct arena *arena, const struct ring_plan *ring, int stages);
#endif
