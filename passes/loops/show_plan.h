/* A plan shown as a remark, with what limits the loop and one iteration as a drawing:
 *
 *     an iteration takes 1069 cycles or more; its limit: tensor cores
 *       | input a: tma, 4 slots of 16384 bytes (an iteration takes 1536 cycles, a copy 2536, so that 3 hide it)
 *       | product 0: in its own iteration, waited for at once (another warpgroup multiplies meanwhile)
 *       | 8 warps with 232 registers compute, 4 with 40 bring
 *       | cycles: issue of its warps 21, tensor cores 1024, shared memory 1024, L2 1069, round the loop 589
 *       | warps   |p.............................................w.................| 1487 cycles in order
 *       | tensor  |00000000000000000000000000000000000000000000....................|
 *
 * The cycles are the model's (loop_model.h) of the loop as it is now, copies of a producer for it included.  The lines are
 * one iteration from left to right, what warps issue and what tensor cores work on. */
#ifndef TILECC_PASSES_SHOW_PLAN_H
#define TILECC_PASSES_SHOW_PLAN_H
#include "ir/plan.h"
#include "passes/base/pass.h"

void show_plan(struct pass_context *context, const struct ir_operation *loop, const struct ir_plan *plan);
#endif
