/* Which schedules an instance has beside the default of `tune`. */
#include "front/kernels/kernel_plan.h"

void schedules_list(const struct variant_plan *plan, const struct schedule *standard, struct schedules *schedules)
{
    vector_push(plan->entry->kernel->front->arena, schedules, *standard);
}
