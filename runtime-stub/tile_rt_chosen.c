/* SPDX-License-Identifier: MIT
 *
 * Which schedule is fastest is asked of functions of the object that compare modelled times: of up to 16 schedules they
 * take hundreds of nanoseconds.  Programs launch with the same extents again and again, so each thread keeps what they
 * said of the last calls, by the kernel and by a hash of all that they are given.
 *
 * A thread's memory for this comes from its stack, so that the values themselves are not kept.  Of two calls in 2^64 the hash
 * is the same, and another kernel may stand where one of a library was that is closed by now: then a slower schedule is taken,
 * and no wrong one, as all that is asked for here is about speed alone. */
#include "tile_rt_internal.h"

enum { SETS = 8, WAYS = 4 };

struct tile_rt_kept_choices {
    const struct tile_rt_kernel *kernel;
    uint64_t given;       /* the hash */
    uint64_t asked, hold; /* facts, a bit each */
};
static __thread struct {
    struct tile_rt_kept_choices sets[SETS][WAYS];
    uint8_t next[SETS]; /* the way to be replaced */
} last_choices;

static uint64_t add_word(uint64_t hash, uint64_t word)
{
    hash = (hash ^ word) * UINT64_C(0x9e3779b97f4a7c15);
    return hash ^ hash >> 32;
}

/* Functions are given multiprocessors, names and, where they ask for slots, the strides of views. */
static uint64_t hash_given(const struct tile_rt_call *call)
{
    const struct tile_rt_kernel *kernel = call->kernel;
    uint64_t hash = add_word(0, (uint64_t)call->sm_count);
    unsigned i, d;
    for (i = 0; i < kernel->name_count; i++)
        hash = add_word(hash, (uint64_t)call->names[i]);
    for (i = 0; (kernel->needs & TILE_RT_NEEDS_SLOTS) && i < kernel->parameter_count; i++) {
        const struct tile_rt_parameter *parameter = &kernel->parameters[i];
        const uint64_t *strides = call->slots + call->first_slot[i] + 1 + parameter->rank;
        for (d = 0; parameter->kind == TILE_RT_PARAMETER_view && d < parameter->rank; d++)
            hash = add_word(hash, strides[d]);
    }
    return hash;
}

static struct tile_rt_kept_choices *find_kept(const struct tile_rt_call *call)
{
    const uint64_t given = hash_given(call);
    const unsigned number = (unsigned)(given & (SETS - 1));
    struct tile_rt_kept_choices *set = last_choices.sets[number], *way;
    for (way = set; way < set + WAYS; way++)
        if (way->given == given && way->kernel == call->kernel)
            return way;
    way = &set[last_choices.next[number]++ % WAYS];
    *way = (struct tile_rt_kept_choices){call->kernel, given, 0, 0};
    return way;
}

int tile_rt_choice_holds(struct tile_rt_call *call, unsigned fact)
{
    const struct tile_rt_kernel *kernel = call->kernel;
    const uint64_t bit = (uint64_t)1 << fact;
    if (call->choices == NULL)
        call->choices = find_kept(call);
    if (!(call->choices->asked & bit)) {
        tile_rt_choice *choice = kernel->choices[kernel->facts[fact].choice - 1];
        call->choices->asked |= bit;
        if (choice(call->names, call->sm_count, call->slots))
            call->choices->hold |= bit;
    }
    return (call->choices->hold & bit) != 0;
}
