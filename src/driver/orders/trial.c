/* Orders drawn at random, which the proofs take, on a GPU: each gives the same results as the code as ptxas made it, or a rule
 * of the proofs is wrong. */
#include "driver/orders/orders.h"

enum {
    LAUNCHES = 4,      /* of each call by an order: all kinds of inputs and of other work are among four that follow */
    LONGEST_WALK = 64, /* orders that follow from one another before a walk begins from the original again */
    STEPS = 96,        /* moves that are tried from one to the next */
    FIRST_PART = 2,    /* of as many moves as the code has instructions, in front of the first */
    MOST_FAILURES = 20
};

/* Whether the order holds for all calls. */
static bool holds(struct orders_trial *trial, const struct native_code *code)
{
    enum { SLOT = 1, OWN = 0 /* what the run time has loaded */ };
    static const int slots[2] = {SLOT, OWN};
    const struct orders_machine *machine = &trial->machine;
    if (!machine->load(machine->context, SLOT, code))
        return false;
    for (int call = 0; call < machine->call_count; call++) {
        int64_t elements = 0;
        if (machine->check(machine->context, call, slots, trial->launches, LAUNCHES, &elements) != ORDERS_SAME)
            return false;
        trial->launches += LAUNCHES;
        trial->elements += elements;
    }
    return true;
}

static void keep_failure(struct orders_trial *trial, const struct native_code *code)
{
    trial->failure = orders_text(trial->arena, trial->original, code);
    trial->failed++;
}

/* Up to so many orders, one from the other. */
static void walk_on(struct orders_trial *trial, int64_t count)
{
    struct native_walk walk = {
        .code = native_copy(trial->original), .seed = native_draw(&trial->seed, UINT64_MAX), .moves = trial->moves};
    for (int i = 0; i < trial->original->count / FIRST_PART; i++)
        native_walk_step(&walk);
    for (int64_t order = 0; order < count && trial->failed < MOST_FAILURES; order++) {
        for (int i = 0; i < STEPS; i++)
            native_walk_step(&walk);
        trial->orders++;
        if (!holds(trial, walk.code))
            keep_failure(trial, walk.code);
        if (trial->progress)
            trial->progress(trial->progress_context, trial);
    }
    trial->steps += walk.taken;
    native_walk_end(&walk);
}

void orders_try(struct orders_trial *trial)
{
    while (trial->orders < trial->wanted && trial->failed < MOST_FAILURES) {
        int64_t left = trial->wanted - trial->orders;
        walk_on(trial, left < LONGEST_WALK ? left : LONGEST_WALK);
    }
}
