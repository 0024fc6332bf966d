/* How the operations that move elements along an axis (concatenate, flip, gather) are done with the layouts that their
 * tiles have: the agreement between layout choice, scratch.c and the targets.  Elements stay in their threads where the
 * layouts let them, go from lane to lane where all stay in their warp, and else through shared memory, where each has
 * its row-major place. */
#ifndef TILECC_IR_MOVE_PLAN_H
#define TILECC_IR_MOVE_PLAN_H
#include "ir/ir.h"
#include "ir/layout/layout.h"

enum move_kind { MOVE_REGISTERS, MOVE_SHUFFLES, MOVE_SHARED };
struct move_source {
    int operand, reg;
    uint32_t lane_xor; /* of the lane that is asked */
};
struct move_plan {
    enum move_kind kind;
    struct move_source *source; /* concatenate, flip: for each register of the result */
    /* gather: bits of the index that lanes hold, and the lane bit that bit i of it stands for (-1: none); the other bits
     * choose among `choices` registers: register[i * choices + c] where they are value[c], for register i of the result. */
    uint32_t lane_mask, axis_lanes;
    int lane_bit[LAYOUT_BITS], choices, *reg, *value;
    int64_t elements, rounds; /* MOVE_SHARED: of scratch; a part of the tile at a time */
    double cost;              /* in about instructions a thread */
};
bool move_is_planned(const struct ir_operation *operation); /* one of the three */
/* All tiles have layouts.  Result is in the arena. */
const struct move_plan *move_plan(struct arena *arena, const struct ir_operation *operation);
/* The same if operands and result had others: those of operands by number, then the result's. */
const struct move_plan *move_plan_with(struct arena *arena, const struct ir_operation *operation,
                                       const struct layout *const *layouts);
#endif
