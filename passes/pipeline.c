/* The pipelines: which passes run in which order, in one place.  A target's own passes, which lead from the Value level to its
 * own, are listed behind the common ones. */
#include "passes/pass.h"
#include "targets/target.h"

#define RUN(name) &pass_table[PASS_##name]
#define COUNT(list) (int)(sizeof list / sizeof *list)

/* -O0: what code generators need. */
static const struct pass_info *const value_none[] = {RUN(inline)};
/* -O1: fast clean-up. */
static const struct pass_info *const value_quick[] = {RUN(inline), RUN(simplify), RUN(cse), RUN(dce)};
/* -O2, -O3 */
static const struct pass_info *const value_full[] = {
    RUN(inline), RUN(simplify), RUN(cse), RUN(dce),
};

const struct pass_info *const *pass_pipeline(const struct target_row *target, int optimization, int *count)
{
    (void)target;
    if (optimization <= 0) {
        *count = COUNT(value_none);
        return value_none;
    }
    *count = optimization == 1 ? COUNT(value_quick) : COUNT(value_full);
    return optimization == 1 ? value_quick : value_full;
}
