/* What a schedule is thought to cost, found in the IR that the front end made of an instance, before any pass. */
#ifndef TILECC_SCHEDULES_SCHEDULE_COST_H
#define TILECC_SCHEDULES_SCHEDULE_COST_H
#include "ir/kernel.h"
#include "targets/costs.h"

/* Of one program of the grid, in cycles: what it keeps of a multiprocessor busy, and for how long it waits, when others
 * can work, and of all of them together, what it asks of L2. */
struct schedule_cost {
    const struct kernel_expression *programs, *busy, *behind, *waits, *lines;
    int resident; /* programs that share a multiprocessor */
    const struct kernel_expression
        *memory;  /* the time that the device's memory takes for what products read, in any schedule */
    bool unknown; /* how often some loop turns hangs on data, not on extents */
    const struct kernel_expression *modelled; /* the time of all programs, over extents and multiprocessors */
};
struct schedule_cost schedule_cost_of(struct arena *arena, const struct kernel_entry *entry,
                                      const struct kernel_variant *variant);
#endif
