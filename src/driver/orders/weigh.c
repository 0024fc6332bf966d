/* Where time depends on the order: a cycle more is added to all instructions at first, then to each half, and so on where it
 * costs something.  Where it costs nothing, as in code that waits for memory, no order can bring anything, and moves are drawn
 * elsewhere. */
#include "driver/orders/orders.h"

#include <math.h>

enum {
    FEW = 8,         /* instructions that are not weighed apart */
    MOST_SHARE = 60, /* of a place that matters most, beside the 1 that each has */
    LONGEST_STALL = 10
};
static const double least_effect = 0.002, /* of all instructions: less, and a search cannot pay */
    weigh_part = 0.2;                     /* of the seconds */

/* The original with a cycle more behind each of these.  False: it has none of them, or it is not right. */
static bool slow_down(struct native_code *code, int first, int end)
{
    int changed = 0;
    for (int i = first; i < end; i++) {
        struct native_instruction *in = &code->instructions[i];
        if (native_is_wall(in) || in->control.stall < 1 || in->control.stall > LONGEST_STALL)
            continue;
        native_set_stall(in, in->control.stall + 1);
        changed++;
    }
    return changed && native_check_times(code, NULL) == 0;
}

static bool effect_of(struct orders_search *search, int first, int end, enum orders_effort effort,
                      struct orders_effect *effect)
{
    struct native_code *code = native_copy(search->original);
    if (!slow_down(code, first, end))
        return false;
    struct orders_answer answer = orders_ask(search, code, NULL, effort);
    if (!answer.failed)
        *effect = (struct orders_effect){first, end, answer.ratio, answer.error, false};
    return !answer.failed;
}

/* Both halves of a part; false: neither costs anything that can be seen. */
static bool split(struct orders_search *search, int number)
{
    struct orders_effect whole = search->effects.data[number], half;
    int middle = (whole.first + whole.end) / 2, seen = 0;
    for (int side = 0; side < 2; side++)
        if (effect_of(search, side ? middle : whole.first, side ? whole.end : middle, ORDERS_MEASURE, &half) &&
            half.ratio > 1.5 * half.error) {
            vector_push(search->arena, &search->effects, half);
            seen++;
        }
    return seen > 0;
}

static double weight_of(const struct orders_effect *effect) { return effect->ratio / (effect->end - effect->first); }

static void set_shares(struct orders_search *search)
{
    uint32_t *share = search->shares, sum = 0;
    double most = 0;
    for (int i = 0; i < search->effects.count; i++)
        if (!search->effects.data[i].split)
            most = fmax(most, weight_of(&search->effects.data[i]));
    for (int i = 0; i < search->original->count; i++)
        share[i] = 1;
    for (int i = 0; i < search->effects.count; i++) {
        const struct orders_effect *e = &search->effects.data[i];
        for (int k = e->first; k < e->end && !e->split; k++)
            share[k] += (uint32_t)lrint(MOST_SHARE * weight_of(e) / most);
    }
    for (int i = 0; i < search->original->count; i++)
        share[i] = sum += share[i];
}

void orders_weigh(struct orders_search *search)
{
    int count = search->original->count;
    search->noise = orders_ask(search, search->original, NULL, ORDERS_JUDGE);
    search->worth = effect_of(search, 0, count, ORDERS_JUDGE, &search->all) && search->all.ratio > least_effect;
    if (!search->worth)
        return;
    vector_push(search->arena, &search->effects, search->all);
    for (int i = 0; i < search->effects.count; i++) /* broad before deep, until the time is over */
        if (search->effects.data[i].end - search->effects.data[i].first > FEW &&
            search->clock < weigh_part * search->options.seconds) {
            bool seen = split(search, i);
            search->effects.data[i].split = seen;
        }
    search->shares = ARENA_ARRAY(search->arena, uint32_t, count);
    set_shares(search);
}
