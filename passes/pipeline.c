/* The pipelines: which passes run in which order, in one place. */
#include "passes/run.h"
#include "targets/target.h"

#define RUN(name) &pass_table[PASS_##name]

/* What code generators cannot do without: one function, and no function of mathematics that the target lacks. */
#define REQUIRED RUN(inline), RUN(expand_math)
#define CLEAN_UP RUN(simplify), RUN(cse), RUN(dce)
/* From clean IR to the IR that code is made from: loops first, then facts. */
#define VALUE_LEVEL                                                                                           \
    REQUIRED, CLEAN_UP, RUN(direct_views), RUN(count_loops), RUN(fuse_dot), RUN(licm), RUN(unroll), CLEAN_UP, \
        RUN(peel), CLEAN_UP, RUN(licm), RUN(bounds), RUN(narrow), CLEAN_UP
/* Layouts: choose, improve, then place what converting needs.  No cse behind split_wide_tiles: it computes again on purpose. */
#define SCHEDULE_QUICK                                                                                         \
    RUN(extract_elements), RUN(assign_layouts), RUN(allocate_shared), RUN(insert_barriers), RUN(settle_knobs), \
        RUN(check_machine)
#define SCHEDULE_LEVEL                                                                                           \
    RUN(extract_elements), RUN(read_once), RUN(assign_layouts), RUN(buffer_operands), RUN(dce), RUN(coalesce),   \
        RUN(remove_conversions), RUN(cse), RUN(licm), RUN(buffer_loads), RUN(overlap_products), RUN(specialise), \
        RUN(prefetch_copies), RUN(fuse_map), RUN(cse), RUN(dce), RUN(keep_in_flight), RUN(prefetch_fragments),   \
        RUN(split_copies), RUN(split_stores), RUN(prefetch_loads), RUN(dce), RUN(split_wide_tiles), RUN(dce),    \
        RUN(allocate_shared), RUN(insert_barriers), RUN(settle_knobs), RUN(check_machine)

static const struct pass_info *const cpu_none[] = {REQUIRED};
static const struct pass_info *const cpu_quick[] = {REQUIRED, CLEAN_UP};
static const struct pass_info *const cpu_full[] = {VALUE_LEVEL};
static const struct pass_info *const gpu_none[] = {REQUIRED, SCHEDULE_QUICK};
static const struct pass_info *const gpu_quick[] = {REQUIRED, CLEAN_UP, SCHEDULE_LEVEL};
static const struct pass_info *const gpu_full[] = {VALUE_LEVEL, RUN(choose_product), SCHEDULE_LEVEL};

#define PIPELINE(list) (*count = (int)(sizeof list / sizeof *list), list)

const struct pass_info *const *pass_pipeline(const struct target_row *target, int optimization, int *count)
{
    bool gpu = target && target->kind == TARGET_NVPTX;
    if (optimization <= 0)
        return gpu ? PIPELINE(gpu_none) : PIPELINE(cpu_none);
    if (optimization == 1)
        return gpu ? PIPELINE(gpu_quick) : PIPELINE(cpu_quick);
    return gpu ? PIPELINE(gpu_full) : PIPELINE(cpu_full);
}
