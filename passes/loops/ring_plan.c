/* Slots of rings.  See ring_plan.h.
 *
 * A ring of n slots hides the latency of copies when n iterations last as long as a slot is busy.  A slot is busy from
 * the start of its copy until the data is there (latency), and from then on until its last reader is through (busy):
 *
 *     n * iteration >= latency + busy
 *
 * A ring gets more slots than that, for two reasons: latency varies under load, and the first iterations of the next
 * program come on top.  It may have CHEAP_SLOTS in any case.  Where no other block could use the memory, it may have
 * FREE_SLOTS, or twice as many as the formula says.  Where other blocks could use it they hide latency too, and
 * MOST_SHARED is the limit. */
#include "passes/loops/ring_plan.h"

#include <math.h>

enum { CHEAP_SLOTS = 4, MOST_SHARED = 8, FREE_SLOTS = 6, MOST_SLOTS = 16, RARELY = 4 };

double ring_plan_latency(const struct target_row *target, int64_t bytes)
{
    const struct target_costs *costs = target_costs(target);
    return costs->copy_latency + (double)bytes / costs->copy_bytes;
}

struct ring_plan ring_plan_make(const struct loop_model *model, int64_t bytes, double busy, bool alone,
                                const struct ir_function *function)
{
    struct ring_plan ring = {
        .iteration = model->iteration, .bytes = bytes, .latency = ring_plan_latency(model->target, bytes)};
    double wanted = ceil((ring.latency + busy) / ring.iteration);
    ring.wanted = wanted < 2 ? 2 : wanted > MOST_SLOTS ? MOST_SLOTS : (int)wanted;
    ring.most = (int)(alone ? int64_max(FREE_SLOTS, int64_min(MOST_SLOTS, 2 * ring.wanted))
                            : int64_max(CHEAP_SLOTS, int64_min(MOST_SHARED, ring.wanted)));
    ring.among = function->stages_among;
    ring.most = ir_choose_among(ring.among, ring.most);
    if (function->stages > 0)
        ring.most = function->stages;
    return ring;
}

static int64_t sum_of(struct ring_plan *const *rings, int count)
{
    int64_t sum = 0;
    for (int r = 0; r < count; r++)
        sum += rings[r]->bytes * rings[r]->slots;
    return sum;
}

static bool is_often(const struct ring_plan *ring, double least)
{
    return ring->slots < ring->most && ring->iteration <= RARELY * least;
}

/* What is left goes to the rings that are filled most often, one slot more for each of these together: an outer loop
 * has the time of its inner ones to wait for what it brings. */
static void share_rest(struct ring_plan *const *rings, int count, int64_t room)
{
    for (bool more = true; more;) {
        double least = INFINITY;
        int64_t sum = sum_of(rings, count);
        for (int r = 0; r < count; r++)
            if (rings[r]->slots < rings[r]->most)
                least = fmin(least, rings[r]->iteration);
        for (int r = 0; r < count; r++)
            sum += is_often(rings[r], least) ? rings[r]->bytes : 0;
        more = least < INFINITY && sum <= room;
        for (int r = 0; r < count && more; r++)
            if (is_often(rings[r], least))
                rings[r]->fit = ++rings[r]->slots;
    }
}

bool ring_plan_share(struct ring_plan *const *rings, int count, int64_t room)
{
    int64_t each = 0;
    for (int r = 0; r < count; r++) {
        each += rings[r]->bytes;
        rings[r]->slots = rings[r]->fit = 0;
    }
    if (each > room)
        return false;
    for (int slots = 1, more = count; more > 0; slots++) {
        int64_t sum = 0;
        for (int r = 0; r < count; r++)
            sum += rings[r]->bytes * (slots < rings[r]->most ? slots : rings[r]->most);
        if (sum > room)
            break;
        more = 0;
        for (int r = 0; r < count; r++) {
            rings[r]->fit = slots;
            rings[r]->slots = slots < rings[r]->most ? slots : rings[r]->most;
            more += slots < rings[r]->most;
        }
    }
    share_rest(rings, count, room);
    for (int r = 0; r < count; r++) /* where there is no room for it, the next lower member of the set */
        for (int slots = rings[r]->slots; slots > 0 && rings[r]->among; slots--)
            if (rings[r]->among >> slots & 1) {
                rings[r]->slots = slots;
                break;
            }
    return true;
}

const char *ring_plan_reason(struct arena *arena, const struct ring_plan *ring, int stages)
{
    const char *bound = ring->slots < ring->most && ring->blocks > 1
                            ? arena_printf(arena, "%d blocks share a multiprocessor's memory", ring->blocks)
                        : ring->slots < ring->most ? "shared memory has room for no more"
                        : stages > 0               ? "the schedule asks for no more"
                                                   : "more would bring nothing";
    return arena_printf(arena, "%s takes %.0f cycles, a copy %.0f, so that %d hide it; %s",
                        ring->parts > 1 ? "a part" : "an iteration", ring->iteration, ring->latency, ring->wanted,
                        bound);
}
