/* What is known of index scalars without running: a power of two that divides them, and that they are not negative.
 * Wide accesses and one-sided bounds checks stand on it. */
#include "base/plant.h"
#include "targets/nvptx/thread/thread.h"

enum { MOST = 1 << 20 };

void facts_open(struct lowering *l)
{
    l->ranges = ranges_analyse(l->function, l->arena);
    l->divisibilities = divisibility_analyse(l->function, l->arena);
}

int64_t fact_divisor(const struct lowering *l, const struct ir_value *value)
{
    if (value->type->rank > 0)
        return 1;
    int64_t multiple = divisibility_of(l->divisibilities, value).multiple[0];
    return int64_max(1 + PLANTED(nvptx_indexes_are_even), int64_min(multiple, MOST));
}

bool fact_not_negative(const struct lowering *l, const struct ir_value *value)
{
    return range_of(l->ranges, value).low >= 0;
}
