/* The few of many schedules that together lose least. */
#ifndef TILECC_SCHEDULES_SCHEDULE_SET_H
#define TILECC_SCHEDULES_SCHEDULE_SET_H
#include "passes/schedules/expressions.h"
#include "passes/schedules/schedule_cost.h"

/* An instance costs bytes and time to compile, and the model is wrong by some per cent itself: log2(1.007). */
enum { SCHEDULE_SET_MOST = 16, SCHEDULE_SET_BITS = 24, SCHEDULE_SET_GAIN = 168900 };
struct schedule_set {
    int count, member[SCHEDULE_SET_MOST]; /* candidates, the default first, then those that gain most */
    /* Of so many and one, the mean over all points against the best candidate: by which power of 2 calls take longer, times
     * 2^SCHEDULE_SET_BITS. */
    int64_t loss[SCHEDULE_SET_MOST];
    int points;
};
struct schedule_set schedule_set_find(struct arena *arena, const struct kernel_entry *entry, int count,
                                      const struct kernel_variant *candidates, const struct schedule_cost *costs,
                                      int64_t least_gain, int most);
/* Whether a knob of a candidate is what it is in another. */
bool schedule_shares_knob(const struct kernel_variant *other, const struct kernel_knob *knob);
#endif
