/* Which schedules of a kernel's `tune` are compiled, where its sets leave a choice, by a model and without measuring.
 *
 *   expressions.c     host expressions made of others, and their values
 *   schedule_turns.c  how often its loops turn, an expression over extents
 *   schedule_effort.c what its operations take
 *   schedule_cost.c   what a candidate takes, from the IR of the front end to an expression over extents
 *   schedule_set.c    the few that together lose least over a spread of extents
 *   choose.c          the conditions by which the wrapper takes one of them, and what is said of it */
#ifndef TILECC_SCHEDULES_H
#define TILECC_SCHEDULES_H
#include "ir/kernel.h"

struct schedule_chooser {
    struct arena *arena;
    struct diagnostics *diagnostics;
    bool remarks;
};
/* Of candidates, instances of one target, keys and facts of which the first is the default: at most so many, in the order
 * in which the wrapper looks at them.  Of tiles nothing is told.  How many; `chooser` is a struct schedule_chooser. */
int schedules_choose(void *chooser, const struct kernel_entry *entry, int count,
                     const struct kernel_variant *candidates, enum kernel_choosing what, int most,
                     struct kernel_choice *choices);
/* Where each of these is taken: where its modelled time is the least of all. */
void schedules_set_conditions(struct arena *arena, int count, struct kernel_choice *choices);
#endif
