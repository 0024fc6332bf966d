/* Clocks of the checker.  A clock holds, for each agent and each kind of access, the last access of which somebody is
 * sure that it is over, and for each mbarrier the last phase.  Whoever meets others at a barrier joins their clocks
 * with his. */
#include <string.h>

#include "passes/check/check_machine.h"

check_clock check_clock_new(const struct check *check)
{
    check_clock clock = ARENA_ARRAY(check->arena, int, check->clock_size);
    memset(clock, 0, sizeof *clock * (size_t)check->clock_size);
    return clock;
}

void check_clock_join(const struct check *check, check_clock into, const int *from)
{
    for (int i = 0; i < check->clock_size; i++)
        into[i] = from[i] > into[i] ? from[i] : into[i];
}

void check_clock_copy(const struct check *check, check_clock into, const int *from)
{
    memcpy(into, from, sizeof *into * (size_t)check->clock_size);
}

int check_phase_position(const struct check *check, int mbarrier)
{
    return check->most_agents * CHECK_KINDS + mbarrier;
}

static void raise(int *stamp, int to)
{
    if (to > *stamp)
        *stamp = to;
}

const int *check_all_threads(struct check *check, const struct check_agent *agent)
{
    check_clock_copy(check, check->scratch, agent->known);
    int *own = check->scratch + agent->number * CHECK_KINDS;
    raise(&own[CHECK_GENERIC], agent->generic);
    raise(&own[CHECK_FENCED], agent->fenced);
    raise(&own[CHECK_PRODUCT], agent->products_done);
    raise(&own[CHECK_COPY], agent->copies_done);
    raise(&own[CHECK_FENCED_COPY], agent->copies_fenced);
    raise(&own[CHECK_STORE], agent->stores_done);
    return check->scratch;
}

void check_meet(struct check *check, struct check_agent *agent)
{
    check_clock_copy(check, agent->known, check_all_threads(check, agent));
}

bool check_knows(const struct check *check, const int *clock, const struct check_access *access, bool asynchronous)
{
    enum check_kind kind = access->kind;
    if (kind == CHECK_BULK)
        return clock[check_phase_position(check, access->mbarrier)] >= access->stamp;
    if (asynchronous && access->write)
        kind = kind == CHECK_GENERIC ? CHECK_FENCED : kind == CHECK_COPY ? CHECK_FENCED_COPY : kind;
    return clock[access->agent * CHECK_KINDS + (int)kind] >= access->stamp;
}
