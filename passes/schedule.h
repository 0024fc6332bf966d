/* What schedule decides about a loop (schedule.c, by the model of loop_plan.c) and what it builds
 * (schedule_emit.c).
 *
 * A load has a *distance*: 0, it stands in the iteration that uses it; d, it is made in the d-th iteration before.  The
 * greatest distance of a loop plus one is its number of stages.  Round i of the new loop runs distance d of iteration
 * i + d, where that exists. */
#ifndef TILECC_PASSES_SCHEDULE_H
#define TILECC_PASSES_SCHEDULE_H
#include "passes/loop_plan.h"
#include "passes/pass.h"

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
struct schedule {
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
};

/* Pure, and cheap enough to be computed again for another iteration. */
bool schedule_is_plain(const struct ir_operation *operation);
/* Whether it is one of the loads. */
bool schedule_plans(const struct schedule *schedule, const struct ir_operation *operation);

/* Sets the loads' distances, or how many iterations work together (schedule_plan.c). */
void schedule_plan(struct schedule *schedule);
/* Rewrites the loop as the loads' distances say (schedule_emit.c). */
void schedule_emit(struct schedule *schedule);
/* Iterations together (schedule_together.c): whether the loop can be written so, and the writing. */
bool schedule_can_be_together(const struct schedule *schedule, int iterations);
void schedule_emit_together(struct schedule *schedule);
/* What a value of the block is in another iteration: the map holds the variable, carried values and loads of that
 * iteration by id; values from `ids` on, and from outside, stay. */
struct ir_value *schedule_make_again(const struct ir_block *block, struct ir_builder *builder, struct ir_value **map,
                                     struct ir_value *value, int ids);

static inline bool schedule_is_inside(const struct ir_block *block, const struct ir_value *value)
{
    for (const struct ir_block *inner = value->block; inner; inner = inner->parent ? inner->parent->block : NULL)
        if (inner == block)
            return true;
    return false;
}
#endif
