/* Few schedules of those that were measured, for each head: the calls of one instance whose views gave the same facts.
 * Only schedules that were measured in rounds beside the default are asked. */
#include "driver/tune/tune.h"

#include <math.h>
#include <string.h>

/* All rounds of a schedule at a call, and whether it was ahead in each. */
struct pool {
    struct bench_samples taken, standard;
    int rounds, ahead;
};

static struct pool pool_rounds(struct arena *arena, const struct tune_log *log, const struct tune_call *call,
                               const char *values)
{
    struct pool pool = {0};
    pool.taken.data = ARENA_ARRAY(arena, double, BENCH_MOST_SAMPLES);
    pool.standard.data = ARENA_ARRAY(arena, double, BENCH_MOST_SAMPLES);
    for (int i = 0; i < log->results.count; i++) {
        const struct tune_result *r = &log->results.data[i];
        if (!r->round || strcmp(r->values, values) != 0 || strcmp(r->call, call->text) != 0 ||
            strcmp(r->kernel, call->kernel) != 0)
            continue;
        bench_add_samples(&pool.taken, &r->taken);
        bench_add_samples(&pool.standard, &r->standard);
        pool.rounds++;
        pool.ahead += bench_median(&r->taken) < bench_median(&r->standard);
    }
    return pool;
}

/* False: it was not measured at all calls of the head. */
static bool make_member(struct arena *arena, const struct tune_log *log, const struct tune_head *head,
                        const char *values, struct tune_member *member)
{
    *member = (struct tune_member){.values = values,
                                   .ratio = ARENA_ARRAY(arena, struct bench_ratio, head->call_count),
                                   .better = ARENA_ARRAY(arena, bool, head->call_count),
                                   .worse = ARENA_ARRAY(arena, bool, head->call_count),
                                   .cost = ARENA_ARRAY(arena, double, head->call_count)};
    for (int i = 0; i < head->call_count; i++) {
        struct pool pool = pool_rounds(arena, log, head->calls[i], values);
        if (pool.rounds < TUNE_ROUNDS)
            return false;
        struct bench_ratio r = member->ratio[i] = bench_compare(&pool.taken, &pool.standard);
        member->better[i] = bench_is_faster(r) && pool.ahead == pool.rounds;
        member->worse[i] = bench_is_slower(r);
        member->cost[i] = member->better[i] ? log1p(r.ratio - 1) : fmax(0, log1p(r.ratio - 1));
    }
    return true;
}

static bool is_among(const struct tune_head *head, const char *values)
{
    for (int i = 0; i < head->member_count; i++)
        if (strcmp(head->members[i].values, values) == 0)
            return true;
    return false;
}

/* Of `all` those that together take least, one after the other. */
static void take_best(struct arena *arena, struct tune_head *head, int count, const struct tune_member *all, int most)
{
    double *best = ARENA_ARRAY(arena, double, head->call_count);
    head->members = ARENA_ARRAY(arena, struct tune_member, most);
    while (head->member_count < most) {
        const struct tune_member *next = NULL;
        double most_gain = 0;
        for (int i = 0; i < count; i++) {
            double gain = 0;
            for (int k = 0; k < head->call_count && !is_among(head, all[i].values); k++)
                gain += head->calls[k]->weight * fmax(0, best[k] - all[i].cost[k]);
            if (gain > most_gain) {
                most_gain = gain;
                next = &all[i];
            }
        }
        if (!next)
            break;
        for (int k = 0; k < head->call_count; k++)
            best[k] = fmin(best[k], next->cost[k]);
        head->members[head->member_count++] = *next;
    }
}

static void choose(struct arena *arena, const struct tune_log *log, int most, struct tune_head *head)
{
    VECTOR(struct tune_member) all = {0};
    for (int i = 0; i < log->results.count; i++) {
        const struct tune_result *r = &log->results.data[i];
        struct tune_member member;
        bool known = !r->round || strcmp(r->kernel, head->kernel) != 0;
        for (int k = 0; k < all.count && !known; k++)
            known = strcmp(all.data[k].values, r->values) == 0;
        if (!known && make_member(arena, log, head, r->values, &member))
            vector_push(arena, &all, member);
    }
    take_best(arena, head, all.count, all.data, 2 * most);
    conditions_find(arena, head, most);
}

void choose_all(struct arena *arena, const struct tune_log *log, int most, struct tune_heads *heads)
{
    for (int i = 0; i < log->calls.count; i++) {
        const struct tune_call *call = &log->calls.data[i];
        struct tune_head *head = NULL;
        for (int k = 0; k < heads->count; k++)
            if (strcmp(heads->data[k].kernel, call->kernel) == 0 && strcmp(heads->data[k].facts, call->facts) == 0)
                head = &heads->data[k];
        if (!head) {
            struct tune_head new = {.kernel = call->kernel, .facts = call->facts};
            new.calls = ARENA_ARRAY(arena, const struct tune_call *, log->calls.count);
            vector_push(arena, heads, new);
            head = &heads->data[heads->count - 1];
        }
        head->calls[head->call_count++] = call;
    }
    for (int i = 0; i < heads->count; i++)
        choose(arena, log, most, &heads->data[i]);
}
