/* The three gates of an order: proved, the same bits, and faster.  They ask the machine, not the journal: an order that is
 * written has passed them in this run. */
#include "driver/orders/orders.h"

#include <math.h>
#include <string.h>

enum {
    LEAST_LAUNCHES = 1000,
    LEAST_ELEMENTS = 10000000,
    LAUNCHES_AT_ONCE = 50,
    MOST_LAUNCHES = 100000,
    ROUNDS = 10, /* each with both codes loaded anew */
    WARM_PAIRS = 16,
    COLD_PAIRS = 48 /* of single launches */
};
static const double student = 2.262; /* of 95 %, 9 degrees of freedom */
static const char too_few[] = "its results are too few to compare";

static const char *prove(const struct orders_search *search, const char *text)
{
    const char *problem = NULL;
    return native_read_order(search->original, text, &problem) ? NULL : problem;
}

static bool load(struct orders_search *search, int slots[2], bool turned)
{
    const struct orders_machine *machine = &search->machine;
    slots[0] = turned ? ORDERS_SLOT_ORIGINAL - 1 : ORDERS_SLOT_ORIGINAL - 2;
    slots[1] = ORDERS_SLOT_ORIGINAL;
    memset(search->loaded, 0, sizeof search->loaded);
    for (int i = 0; i < 2; i++) {
        bool original = (i == 0) == turned;
        if (!machine->load(machine->context, slots[original], original ? search->original : search->best))
            return false;
    }
    return true;
}

const char *orders_refuse_code(const struct orders_machine *machine)
{
    static const int own[2] = {0, 0}; /* what the run time has loaded */
    int64_t all = 0;
    for (int call = 0; call < machine->call_count; call++) {
        int64_t elements = 0;
        enum orders_verdict verdict = machine->check(machine->context, call, own, 0, LAUNCHES_AT_ONCE, &elements);
        if (verdict == ORDERS_FAILED)
            return "a launch fails";
        if (verdict == ORDERS_DIFFERS)
            return "its own results are not the same bits each time, so that none could be judged";
        all += elements;
    }
    /* The gate would say so behind the search. */
    return all * (MOST_LAUNCHES / LAUNCHES_AT_ONCE) / machine->call_count < LEAST_ELEMENTS ? too_few : NULL;
}

/* NULL, or why results cannot be relied on. */
static const char *compare_results(struct orders_search *search, struct orders_gates *gates)
{
    const struct orders_machine *machine = &search->machine;
    int slots[2];
    if (!load(search, slots, false))
        return "it cannot be loaded";
    while (gates->launches < LEAST_LAUNCHES || gates->elements < LEAST_ELEMENTS)
        for (int call = 0; call < machine->call_count; call++) {
            int64_t elements = 0;
            enum orders_verdict verdict = machine->check(machine->context, call, slots, gates->launches,
                                                         LAUNCHES_AT_ONCE, &elements);
            if (verdict == ORDERS_FAILED)
                return "it stopped the GPU";
            if (verdict == ORDERS_DIFFERS)
                return "results differ from those of the code as ptxas made it";
            gates->launches += LAUNCHES_AT_ONCE;
            gates->elements += elements;
            if (gates->launches > MOST_LAUNCHES)
                return too_few;
        }
    return NULL;
}

/* The median of the pairs. */
static bool ratio_of(struct orders_search *search, int call, const int slots[2], bool cold, double *ratio)
{
    const struct orders_machine *machine = &search->machine;
    double taken[ORDERS_MOST_PAIRS][2], logs[ORDERS_MOST_PAIRS];
    int pairs = cold ? COLD_PAIRS : WARM_PAIRS;
    if (!machine->time(machine->context, call, slots, pairs, cold, taken))
        return false;
    for (int i = 0; i < pairs; i++) {
        double here = log(taken[i][0] / taken[i][1]);
        int at = i;
        for (; at && logs[at - 1] > here; at--)
            logs[at] = logs[at - 1];
        logs[at] = here;
    }
    *ratio = (logs[pairs / 2 - 1] + logs[pairs / 2]) / 2;
    return true;
}

/* The mean over rounds, and half of its interval of 95 %. */
static void sum_rounds(const double *rounds, double *mean, double *error)
{
    double sum = 0, square = 0;
    for (int i = 0; i < ROUNDS; i++)
        sum += rounds[i];
    for (int i = 0; i < ROUNDS; i++)
        square += (rounds[i] - sum / ROUNDS) * (rounds[i] - sum / ROUNDS);
    *mean = sum / ROUNDS;
    *error = student * sqrt(square / (ROUNDS - 1) / ROUNDS);
}

static bool run_rounds(struct orders_search *search, double (*ratios)[2][ROUNDS])
{
    for (int round = 0; round < ROUNDS; round++) {
        int slots[2];
        if (!load(search, slots, round % 2))
            return false;
        for (int call = 0; call < search->machine.call_count; call++)
            for (int cold = 0; cold < 2; cold++)
                if (!ratio_of(search, call, slots, cold, &ratios[call][cold][round]))
                    return false;
    }
    return true;
}

static const char *compare_times(struct orders_search *search, struct orders_gates *gates)
{
    int calls = search->machine.call_count;
    double(*ratios)[2][ROUNDS] = arena_alloc(search->arena, sizeof *ratios * (size_t)calls), all[ROUNDS] = {0};
    const char *refused = NULL;
    if (!run_rounds(search, ratios))
        return "it stopped the GPU";
    for (int call = 0; call < calls; call++) {
        struct orders_shape *s = &gates->shapes[call];
        sum_rounds(ratios[call][0], &s->warm, &s->warm_error);
        sum_rounds(ratios[call][1], &s->cold, &s->cold_error);
        if (s->warm > s->warm_error || s->cold > s->cold_error)
            refused = "a call is slower by more than the noise";
        for (int round = 0; round < ROUNDS; round++)
            all[round] += ratios[call][0][round] / calls;
    }
    sum_rounds(all, &gates->ratio, &gates->error);
    if (!refused && gates->ratio + gates->error >= 0)
        refused = "it is not faster by more than the noise";
    return refused;
}

void orders_pass_gates(struct orders_search *search, const char *text, struct orders_gates *gates)
{
    *gates = (struct orders_gates){
        .shapes = ARENA_ARRAY(search->arena, struct orders_shape, search->machine.call_count)};
    gates->refused = !*text ? "nothing is faster than the code as ptxas made it" : prove(search, text);
    if (!gates->refused)
        gates->refused = compare_results(search, gates);
    if (!gates->refused)
        gates->refused = compare_times(search, gates);
}
