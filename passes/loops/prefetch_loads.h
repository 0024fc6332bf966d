/* What schedule decides about a loop (prefetch_loads.c, by the model of loop_model.c) and what it builds
 * (prefetch_loads_emit.c).
 *
 * A load has a *distance*: 0, it stands in the iteration that uses it; d, it is made in the d-th iteration before.  The
 * greatest distance of a loop plus one is its number of stages.  Round i of the new loop runs distance d of iteration
 * i + d, where that exists. */
#ifndef TILECC_PASSES_SCHEDULE_H
#define TILECC_PASSES_SCHEDULE_H
#include "passes/loops/loop_model.h"
#include "passes/base/pass.h"

struct scheduled_load {
    struct ir_operation *load;
    int position;       /* in the body */
    int distance, most; /* at most */
    int registers;      /* of a thread, for one iteration */
    bool early;         /* distance 0: moved to the top of its iteration */
    bool late;          /* distance 1: behind the last use of this iteration's, in the same registers */
    bool short_of_registers;
    struct ir_operation *behind; /* late: that use, */
    int behind_position;         /* in the body */
    const char *problem;         /* why it stays, or why it is not further ahead */
};
struct prefetch {
    struct pass_context *context;
    struct ir_function *function;
    struct ir_operation *loop;
    struct ir_block *body;
    bool *steady;  /* of the body's arguments: those that can be computed for iterations ahead */
    bool *planned; /* by value id: a load of these makes it */
    int *steps;    /* by value id: operations that lead to it from what is there for iterations ahead */
    VECTOR(const struct ir_operation *) effects; /* that some load may not cross */
    VECTOR(struct scheduled_load) loads;         /* in text order */
    int distance;                                /* the greatest */
    int together;                                /* iterations that make their loads together; 1: each for itself */
    struct ir_operation *fenced;                 /* loads of coming iterations stand behind it; NULL: at the top */
};

/* Pure, and cheap enough to be computed again for another iteration. */
bool prefetch_is_plain(const struct ir_operation *operation);
/* Whether it is one of the loads. */
bool prefetch_plans(const struct prefetch *schedule, const struct ir_operation *operation);

/* Sets the loads' distances, or how many iterations work together (prefetch_loads_distance.c). */
void prefetch_plan(struct prefetch *schedule);
/* Rewrites the loop as the loads' distances say (prefetch_loads_emit.c). */
void prefetch_emit(struct prefetch *schedule);
/* Iterations together (prefetch_loads_together.c): whether the loop can be written so, and the writing. */
bool prefetch_can_be_together(const struct prefetch *schedule, int iterations);
void prefetch_emit_together(struct prefetch *schedule);
#endif
