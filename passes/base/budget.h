/* What a block has to share out: registers of its threads and shared memory.  All passes that decide by it ask here, so
 * that what one leaves is what the next one counts on. */
#ifndef TILECC_PASSES_BUDGET_H
#define TILECC_PASSES_BUDGET_H
#include "ir/ir.h"
#include "targets/target.h"

/* ---- roles: a producer, which copies, beside consumers, which multiply ---- */
enum { BUDGET_PRODUCER_WARPS = 4, BUDGET_MAKER_WARPS = 4 };
/* Registers of a thread of each role. */
struct role_budget {
    int consumer, producer;
    int fragments; /* of a consumer's, those that sums and factors of products may take */
};
/* By the number of consumers: three warpgroups are the most, and a number of warps that makes no whole groups counts as
 * one. */
const struct role_budget *budget_of_roles(int warps);
/* Where sums take more than those: a producer with so few that some of its own may go to local memory. */
const struct role_budget *budget_of_crowded_roles(int warps);
/* The same of two warpgroups of consumers beside a producer and a maker. */
enum { BUDGET_CONSUMER_BESIDE_MAKER = 184, BUDGET_PRODUCER_BESIDE_MAKER = 40, BUDGET_MAKER = 96 };
/* Registers of a thread of the role that holds the operation; 0: it is in no role, or no number was given. */
int budget_role_registers(const struct ir_operation *operation);

/* ---- shared memory ---- */
/* The most bytes of scratch that one operation of the function needs while it runs. */
int64_t budget_scratch(const struct ir_function *function, struct arena *arena);
/* Bytes of shared memory that a block takes beside its buffers, when its operations need so much scratch at most: small
 * scratch stays while the next one is used, and there are mbarriers and gaps between buffers. */
int64_t budget_shared_beside(int64_t scratch);
#endif
