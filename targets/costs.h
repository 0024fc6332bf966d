/* What operations cost on a target: a row of costs.def.  Facts alone; what they mean for a loop is passes/loops' model. */
#ifndef TILECC_TARGETS_COSTS_H
#define TILECC_TARGETS_COSTS_H
#include "targets/target.h"

struct target_costs {
#define COST(field, without_wgmma, with_wgmma) double field;
#include "targets/costs.def"
#undef COST
};
/* NULL: without a target, as of one without wgmma. */
const struct target_costs *target_costs(const struct target_row *row);
#endif
