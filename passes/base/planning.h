/* Which operations a loop's plan (ir/plan.h) speaks of, and what it says of one.  Passes that decide how a loop works
 * read here what is asked for, and write here what they did, or why they did not. */
#ifndef TILECC_PASSES_PLANNING_H
#define TILECC_PASSES_PLANNING_H
#include "ir/plan.h"
#include "passes/base/pass.h"

/* An input: a read of a tile from memory, or what has taken its place. */
bool planning_is_input(const struct ir_operation *operation);
bool planning_is_product(const struct ir_operation *operation);

/* Gives a loop a plan with the inputs and products of its body, all open; not those of loops in it. */
void planning_begin(struct ir_operation *loop);

/* What the innermost loop around a reader or a product plans for it; NULL: nothing. */
struct ir_plan_input *planning_input(const struct ir_operation *reader);
struct ir_plan_product *planning_product(const struct ir_operation *product);

/* What is asked for it there; NULL: nothing.  The way, and a number or IR_PLAN_OPEN. */
const struct ir_plan_input *planning_asked_input(const struct ir_operation *reader);
const struct ir_plan_product *planning_asked_product(const struct ir_operation *product);
enum ir_way planning_asked_way(const struct ir_operation *reader);
int planning_asked_slots(const struct ir_operation *reader);

/* ---- plans that the command asks for (--plan) ---- */

struct asked_plan {
    const char *file; /* the loop's place */
    int line;
    const struct ir_plan *plan;
    bool done;           /* some loop there does all of it */
    const char *problem; /* or why the first one does not; NULL: no loop was met there */
    const char *instance;
    struct location at;
};
struct asked_plans {
    struct arena *arena;
    struct asked_plan *data;
    int count, capacity;
};
/* The plan that is asked for at the loop's place, or NULL. */
struct asked_plan *planning_find_asked(const struct pass_context *context, const struct ir_operation *loop);
/* Notes why a loop does not do what is asked for; NULL: it does. */
void planning_note_asked(struct pass_context *context, const struct ir_operation *loop, const char *problem);

/* ---- roles of the kernel ---- */

/* Who does what: warps that compute, warps that bring, 0 for none, and why not otherwise. */
void planning_tell_roles(struct ir_function *function, int compute, int bring, const char *why);
/* Whether a producer is planned; and why one is not, where one was looked for. */
bool planning_has_producer(const struct ir_function *function);
const char *planning_why_no_producer(const struct ir_function *function);
/* Whether groups of warps store their own rows by themselves: what some loop's plan asks for, a number or IR_PLAN_OPEN; and
 * that they do (NULL), or why not. */
int planning_asked_apart(const struct ir_function *function);
void planning_tell_apart(struct ir_function *function, const char *why_together);
/* The same of how many groups of warps take whole programs in turn. */
int planning_asked_programs(const struct ir_function *function);
void planning_tell_programs(struct ir_function *function, int programs, const char *why);

/* Says for an input that it comes on this way, or why it does not come on a better one, where that is said for the first
 * time. */
void planning_tell_input(const struct ir_operation *reader, enum ir_way way, const char *why);
void planning_tell_product(const struct ir_operation *product, int stage, const char *why);
#endif
