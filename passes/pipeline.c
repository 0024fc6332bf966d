/* The pipelines: which passes run in which order, in one place.  A target's own passes, which lead from the Value level to its
 * own, are listed behind the common ones. */
#include "passes/pass.h"
#include "targets/target.h"

#define RUN(name) &pass_table[PASS_##name]
#define COUNT(list) (int)(sizeof list / sizeof *list)

/* What every target needs, -O0; fast clean-up, -O1; -O2 and -O3. */
#define VALUE_NONE RUN(inline)
#define VALUE_QUICK RUN(inline), RUN(simplify), RUN(cse), RUN(dce)
#define VALUE_FULL RUN(inline), RUN(simplify), RUN(cse), RUN(dce)

/* GPUs: to the Schedule level, and what code from it needs. */
#define SCHEDULE_NONE RUN(assign_layouts), RUN(allocate_shared), RUN(insert_barriers)
#define SCHEDULE_FULL                                                                                                 \
    RUN(assign_layouts), RUN(coalesce), RUN(remove_conversions), RUN(cse), RUN(licm), RUN(dce), RUN(allocate_shared),          \
        RUN(insert_barriers)

static const struct pass_info *const cpu_none[] = {VALUE_NONE};
static const struct pass_info *const cpu_quick[] = {VALUE_QUICK};
static const struct pass_info *const cpu_full[] = {VALUE_FULL};
static const struct pass_info *const gpu_none[] = {VALUE_NONE, SCHEDULE_NONE};
static const struct pass_info *const gpu_quick[] = {VALUE_QUICK, SCHEDULE_FULL};
static const struct pass_info *const gpu_full[] = {VALUE_FULL, SCHEDULE_FULL};

const struct pass_info *const *pass_pipeline(const struct target_row *target, int optimization, int *count)
{
    bool gpu = target && target->kind == TARGET_NVPTX;
    if (optimization <= 0) {
        *count = gpu ? COUNT(gpu_none) : COUNT(cpu_none);
        return gpu ? gpu_none : cpu_none;
    }
    if (optimization == 1) {
        *count = gpu ? COUNT(gpu_quick) : COUNT(cpu_quick);
        return gpu ? gpu_quick : cpu_quick;
    }
    *count = gpu ? COUNT(gpu_full) : COUNT(cpu_full);
    return gpu ? gpu_full : cpu_full;
}
