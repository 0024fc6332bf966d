/* Which operations a loop's plan (ir/plan.h) speaks of, and what it says of one.  Passes that decide how a loop works
 * write here what they did, or why they did not. */
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

/* Says for an input that it comes on this way, or why it does not come on a better one, where that is said for the first
 * time. */
void planning_tell_input(const struct ir_operation *reader, enum ir_way way, const char *why);
void planning_tell_product(const struct ir_operation *product, int stage, const char *why);
#endif
