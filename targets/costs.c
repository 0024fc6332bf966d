/* The table of costs.def and its reader. */
#include "targets/costs.h"

static const struct target_costs without = {
#define COST(field, without_wgmma, with_wgmma) .field = without_wgmma,
#include "targets/costs.def"
#undef COST
};
static const struct target_costs with = {
#define COST(field, without_wgmma, with_wgmma) .field = with_wgmma,
#include "targets/costs.def"
#undef COST
};

const struct target_costs *target_costs(const struct target_row *row)
{
    return row && (row->flags & TARGET_WGMMA) ? &with : &without;
}
