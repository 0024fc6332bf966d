/* Simulated annealing over orders (S. Kirkpatrick, C. Gelatt, M. Vecchi, 1983; on the instructions of cubins: G. He, E. Yoneki,
 * "SIP", 2024).
 *
 * A step is one move that the proofs take.  It is looked at in a few pairs of times beside the order it comes from; what
 * seems no worse than the temperature allows is measured in more pairs, and by these taken or taken back.  Whoever takes the
 * luckiest of many noisy times believes in gains that are none, so the order is measured beside the original again every few
 * steps, each time loaded anew, and only that says which one is the best. */
#include "driver/orders/orders.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum {
    ANCHOR_STEPS = 10,  /* steps taken between two measurements beside the original */
    MOST_FAILURES = 20, /* of orders that stop the GPU: then the proofs are wrong, and so is all that comes of them */
    MOST_IDLE = 4000    /* moves that the proofs refuse, one behind the other */
};
static const double
    coolest = 0.1,
    least_error = 1e-4,
    doubt = 0.7; /* of a measurement's error, by which a step must be better than it seems: most steps change nothing */
static const int pairs_of[] = {[ORDERS_LOOK] = 2, [ORDERS_MEASURE] = 6, [ORDERS_JUDGE] = 16};

/* ---- questions ---- */

static uint64_t mix(uint64_t sum, uint64_t value)
{
    sum = (sum ^ value) * 0x9e3779b97f4a7c15u;
    return sum ^ sum >> 29;
}

static uint64_t digest_of(const struct native_code *code)
{
    uint64_t sum = 1;
    for (int i = 0; i < code->count; i++) {
        const struct native_instruction *in = &code->instructions[i];
        const struct native_control *c = &in->control;
        sum = mix(sum, (uint64_t)in->origin << 32 | (uint64_t)c->stall << 24 | (uint64_t)c->yield << 20 |
                           (uint64_t)c->reuse << 12 | c->waits);
    }
    return sum;
}

static int compare_numbers(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static double median_of(double *values, int count)
{
    qsort(values, (size_t)count, sizeof *values, compare_numbers);
    return (values[(count - 1) / 2] + values[count / 2]) / 2;
}

/* The median of the pairs, and its standard error by the median distance from it. */
static void sum_pairs(int pairs, double (*taken)[2], double *ratio, double *error)
{
    double logs[ORDERS_MOST_PAIRS], middle;
    for (int i = 0; i < pairs; i++)
        logs[i] = log(taken[i][0] / taken[i][1]);
    *ratio = middle = median_of(logs, pairs);
    for (int i = 0; i < pairs; i++)
        logs[i] = fabs(logs[i] - middle);
    *error = fmax(least_error, 1.2533 * 1.4826 * median_of(logs, pairs) / sqrt(pairs));
}

/* Which slot holds it, loaded if none does; 0: it cannot be.  Not the one that is `kept`. */
static int put_code(struct orders_search *search, const struct native_code *code, int kept)
{
    uint64_t digest = digest_of(code);
    bool own = code == search->original && kept != ORDERS_SLOT_ORIGINAL;
    int slot = own ? ORDERS_SLOT_ORIGINAL : kept == 1 ? 2 : 1;
    for (int i = 1; i < ORDERS_SLOTS; i++)
        if (search->loaded[i] == digest && i != kept)
            return i;
    search->loaded[slot] = 0;
    if (!search->machine.load(search->machine.context, slot, code))
        return 0;
    search->loaded[slot] = digest;
    return slot;
}

/* A few launches: an order that is wrong would spoil all that come from it. */
static bool gives_same(struct orders_search *search, const int slots[2])
{
    enum { FEW_LAUNCHES = 4 };
    const struct orders_machine *machine = &search->machine;
    bool same = true;
    for (int call = 0; call < machine->call_count && same; call++) {
        int64_t elements;
        same = machine->check(machine->context, call, slots, search->looked, FEW_LAUNCHES, &elements) == ORDERS_SAME;
    }
    return same;
}

static struct orders_answer measure(struct orders_search *search, const struct native_code *code,
                                    const struct native_code *beside, enum orders_effort effort)
{
    const struct orders_machine *machine = &search->machine;
    struct orders_answer answer = {0};
    double taken[ORDERS_MOST_PAIRS][2], square = 0;
    int slots[2] = {0, put_code(search, beside, 0)}, pairs = pairs_of[effort], calls = 0;
    slots[0] = slots[1] ? put_code(search, code, slots[1]) : 0;
    answer.failed = !slots[0];
    for (int call = 0; call < machine->call_count && !answer.failed; call++) {
        double ratio, error;
        if (effort == ORDERS_LOOK && call != search->looked % machine->call_count)
            continue;
        answer.failed = !machine->time(machine->context, call, slots, pairs, false, taken);
        if (answer.failed)
            break;
        sum_pairs(pairs, taken, &ratio, &error);
        answer.ratio += ratio;
        square += error * error;
        calls++;
    }
    if (!answer.failed) {
        answer.ratio /= calls;
        answer.error = sqrt(square) / calls;
        answer.failed = effort == ORDERS_JUDGE && !gives_same(search, slots);
    }
    if (answer.failed) /* what runs kernels may have begun anew, with empty slots */
        memset(search->loaded, 0, sizeof search->loaded);
    return answer;
}

/* It was proved, so that somebody will want to see it. */
static void keep_failure(struct orders_search *search, const struct native_code *code)
{
    search->failure = orders_text(search->arena, search->original, code);
    search->failed++;
}

struct orders_answer orders_ask(struct orders_search *search, const struct native_code *code,
                                const struct native_code *beside, enum orders_effort effort)
{
    struct orders_answer answer;
    const struct orders_machine *machine = &search->machine;
    beside = beside ? beside : search->original;
    uint64_t question = mix(mix(digest_of(code), digest_of(beside)), (uint64_t)effort);
    if (effort == ORDERS_JUDGE) /* afresh, as two loads of one code differ by where it lies */
        memset(search->loaded, 0, sizeof search->loaded);
    if (!search->journal || !orders_journal_find(search->journal, question, &answer)) {
        if (!search->asked_machine)
            search->last_clock = machine->clock(machine->context);
        search->asked_machine = true;
        answer = measure(search, code, beside, effort);
        double now = machine->clock(machine->context);
        answer.seconds = now - search->last_clock;
        search->last_clock = now;
        if (search->journal)
            orders_journal_add(search->journal, question, &answer);
    }
    search->clock += answer.seconds;
    search->looked += effort == ORDERS_LOOK;
    search->measured += effort != ORDERS_LOOK;
    if (answer.failed)
        keep_failure(search, code);
    if (search->progress)
        search->progress(search->progress_context, search);
    return answer;
}

/* ---- steps ---- */

struct annealing {
    struct orders_search *search;
    struct native_walk walk;
    struct native_code *before; /* the order that the step comes from */
    double ratio;               /* of it, by the original: measured, and steps since then */
    double begin, end;          /* of this restart, by the search's clock */
    int since_anchor;
};

static void note(struct orders_search *search, double ratio, int kind)
{
    struct orders_point point = {search->clock, ratio, kind};
    vector_push(search->arena, &search->points, point);
}

static void copy_order(struct native_code *to, const struct native_code *from)
{
    memcpy(to->instructions, from->instructions, sizeof *from->instructions * (size_t)from->count);
}

static double chance(struct orders_search *search)
{
    return (double)(native_draw(&search->seed, 1u << 30) + 1) / (double)(1u << 30);
}

static double temperature_of(const struct annealing *a)
{
    double part = (a->search->clock - a->begin) / (a->end - a->begin);
    return a->search->options.temperature * pow(coolest, fmin(1, fmax(0, part)));
}

/* Whether the walk's order is to be taken, by its time beside that before; *ratio says how it did. */
static bool is_taken(struct annealing *a, double *ratio)
{
    struct orders_search *search = a->search;
    double temperature = temperature_of(a);
    struct orders_answer look = orders_ask(search, a->walk.code, a->before, ORDERS_LOOK);
    note(search, a->ratio + look.ratio, POINT_LOOKED);
    if (look.failed || look.ratio > temperature)
        return false;
    struct orders_answer answer = orders_ask(search, a->walk.code, a->before, ORDERS_MEASURE);
    *ratio = answer.ratio;
    return !answer.failed && answer.ratio + doubt * answer.error <= -temperature * log(chance(search));
}

static void go_back(struct annealing *a)
{
    copy_order(a->walk.code, a->search->best);
    copy_order(a->before, a->search->best);
    a->ratio = a->search->best_ratio;
    native_walk_end(&a->walk); /* the proof is of another order */
}

/* What seems the best of many is lucky as well, so that it is measured twice. */
static void keep_best(struct annealing *a)
{
    struct orders_search *search = a->search;
    if (a->ratio >= search->best_ratio)
        return;
    struct orders_answer again = orders_ask(search, a->walk.code, NULL, ORDERS_JUDGE);
    if (again.failed) {
        go_back(a);
        return;
    }
    a->ratio = (a->ratio + again.ratio) / 2;
    if (a->ratio >= search->best_ratio)
        return;
    copy_order(search->best, a->walk.code);
    search->best_ratio = a->ratio;
    search->best_error = again.error;
    note(search, a->ratio, POINT_BEST);
}

/* Where the steps have led, by the original. */
static void anchor(struct annealing *a)
{
    const struct orders_search *search = a->search;
    struct orders_answer answer = orders_ask(a->search, a->walk.code, NULL, ORDERS_JUDGE);
    double bound = search->best_ratio + 2 * (answer.error + search->best_error + temperature_of(a));
    a->since_anchor = 0;
    if (answer.failed || answer.ratio > bound) {
        go_back(a);
        return;
    }
    a->ratio = answer.ratio;
    keep_best(a);
}

static void take(struct annealing *a, double ratio)
{
    a->search->taken++;
    a->ratio += ratio;
    note(a->search, a->ratio, POINT_TAKEN);
    copy_order(a->before, a->walk.code);
    if (++a->since_anchor >= ANCHOR_STEPS)
        anchor(a);
}

/* False: no move is found. */
static bool step(struct annealing *a)
{
    double ratio = 0;
    for (int idle = 0; !native_walk_step(&a->walk); idle++)
        if (idle == MOST_IDLE)
            return false;
    a->search->tried++;
    if (is_taken(a, &ratio))
        take(a, ratio);
    else
        native_walk_undo(&a->walk);
    return true;
}

static void restart(struct orders_search *search, double seconds)
{
    struct annealing a = {.search = search,
                          .ratio = search->best_ratio,
                          .begin = search->clock,
                          .end = search->clock + seconds,
                          .before = native_copy(search->best),
                          .walk = {.code = native_copy(search->best),
                                   .seed = native_draw(&search->seed, UINT64_MAX),
                                   .moves = search->options.moves,
                                   .shares = search->shares}};
    while (search->clock < a.end && search->failed < MOST_FAILURES && step(&a)) {}
    if (a.since_anchor)
        anchor(&a);
    native_walk_end(&a.walk);
}

/* Another device, or another driver, may find it slower. */
static void begin_from(struct orders_search *search, const struct native_code *start)
{
    struct orders_answer answer = orders_ask(search, start, NULL, ORDERS_JUDGE);
    if (answer.failed || answer.ratio >= 0)
        return;
    copy_order(search->best, start);
    search->best_ratio = answer.ratio;
    search->best_error = answer.error;
    note(search, answer.ratio, POINT_BEST);
}

void orders_find(struct orders_search *search)
{
    enum { PRUNE_PART = 5 }; /* of the seconds */
    const struct orders_options *options = &search->options;
    search->seed = options->seed;
    search->best = native_copy(search->original);
    if (search->start)
        begin_from(search, search->start);
    orders_weigh(search);
    double end = options->seconds * (1 - 1.0 / PRUNE_PART), rest = end - search->clock;
    for (int i = 0; i < options->restarts && search->worth && search->clock < end; i++)
        restart(search, rest / options->restarts);
    if (search->best_ratio < 0)
        orders_prune(search);
}
