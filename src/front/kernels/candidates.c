/* The compiler's own choice among the schedules that the sets of `tune` leave open: each candidate is built as an
 * instance, to be looked at and thrown away, and those that are chosen are built again like all others.
 *
 * Which one is taken hangs on the device, so that there is no choice where results may not: with --reproducible.
 *
 * Candidates differ from the default in the extents of their tiles, and from one of these in one of the compiler's own
 * names.  Where there are many tiles, the model takes some of them first.
 *
 * What a candidate reports counts for nothing: one that cannot be built is none.  Of the facts of an instance alignment
 * counts, as threads copy what no tensor map can be made of: one choice serves all aligned instances of the same target and
 * keys, and another one the others, which have three quarters as many schedules; or half as many each, where views may be
 * aligned to the least that can be copied. */
#include "front/kernels/kernel_plan.h"

#include <string.h>

enum { MOST_CANDIDATES = 512, MOST_TILES = 16, MOST_CHOSEN = 16, MOST_CONDITIONS = 48 };

/* What building an instance leaves behind in the front end and in its entry. */
struct traces {
    struct front *front;
    struct entry_plan *plan;
    struct diagnostics *diagnostics;
    struct reported *reported[REPORTED_BUCKETS];
    struct kernel_entry entry;
    int unknown, first_split;
};

static struct traces *begin_traces(struct entry_plan *plan)
{
    struct front *front = plan->kernel->front;
    struct traces *traces = ARENA_NEW(front->arena, struct traces);
    *traces = (struct traces){.front = front,
                              .plan = plan,
                              .diagnostics = front->diagnostics,
                              .entry = *plan->entry,
                              .unknown = front->unknown.count,
                              .first_split = plan->first_split};
    memcpy(traces->reported, front->reported, sizeof traces->reported);
    front->diagnostics = diagnostics_create(front->arena);
    return traces;
}

static void remove_traces(const struct traces *traces)
{
    struct front *front = traces->front;
    front->diagnostics = traces->diagnostics;
    memcpy(front->reported, traces->reported, sizeof traces->reported);
    front->unknown.count = traces->unknown;
    traces->plan->first_split = traces->first_split;
    *traces->plan->entry = traces->entry;
}

/* The tiles, beginning with the default; behind those, other ways to compute with them. */
static void list_candidates(const struct variant_plan *plan, const struct schedule *standard, struct schedules *all)
{
    const struct kernel_plan *kernel = plan->entry->kernel;
    const char *target = kernel->front->options->target_name(plan->target);
    struct elaborator e;
    elaborator_init(&e, kernel->front, kernel->file);
    scope_push(&e, false);
    entry_bind_rows(&e, plan->entry, plan->keys);
    if (standard)
        knobs_list_tiles(&e, kernel->declaration, &kernel->tuning, target, plan->spec, standard, MOST_CANDIDATES, all);
    else
        knobs_list_ways(&e, kernel->declaration, &kernel->tuning, target, plan->spec, MOST_CANDIDATES, all);
    scope_pop(&e);
}

static bool has_split(const struct variant_plan *plan, const struct schedules *all)
{
    for (int i = 0; i < all->count; i++) {
        struct variant_plan one = *plan;
        one.schedule = all->data[i];
        if (split_parts(&one) > 1)
            return true;
    }
    return false;
}

/* Builds them all, leaves out what cannot be built, and has them chosen from.  How many; 0: the first cannot be built. */
static int build_and_choose(const struct variant_plan *plan, struct schedules *all, enum kernel_choosing what, int most,
                            struct kernel_choice *choices)
{
    const struct front_options *options = plan->entry->kernel->front->options;
    struct kernel_variant *variants = ARENA_ARRAY(options->arena, struct kernel_variant, all->count);
    struct traces *traces = begin_traces(plan->entry);
    int built = 0, count = 0;
    if (!plan->entry->entry->splits && has_split(plan, all))
        split_describe(plan->entry);
    for (int i = 0; i < all->count && (built || !i); i++) {
        struct variant_plan one = *plan;
        one.schedule = all->data[i];
        one.number = i;
        if (variant_build(&one, &variants[built]))
            all->data[built++] = all->data[i];
    }
    all->count = built;
    if (built > 1)
        count = options->choose_schedules(options->choose_context, plan->entry->entry, built, variants, what, most,
                                          choices);
    remove_traces(traces);
    return count;
}

/* Of many tiles those that together lose least; what else candidates differ in is tried with them alone. */
static void choose_tiles(const struct variant_plan *plan, struct schedules *all)
{
    struct kernel_choice choices[MOST_TILES];
    if (all->count <= MOST_TILES)
        return;
    int count = build_and_choose(plan, all, KERNEL_CHOOSES_TILES, MOST_TILES, choices);
    struct schedule *tiles = ARENA_ARRAY(plan->entry->kernel->front->arena, struct schedule, count + 1);
    for (int i = 0; i < count; i++)
        tiles[i] = all->data[choices[i].candidate];
    for (int i = 0; i < count; i++)
        all->data[i] = tiles[i];
    all->count = count ? count : 1;
}

/* How many an instance may have: the wrapper knows 64 conditions, facts among them, and those of other keys and targets
 * are others.  Where views are less aligned there are fewer, or what the aligned ones leave. */
static int find_most(const struct variant_plan *plan)
{
    const struct kernel_plan *kernel = plan->entry->kernel;
    const struct front_options *options = kernel->front->options;
    int choices = 0, most = options->schedules < MOST_CHOSEN ? options->schedules : MOST_CHOSEN;
    for (int t = 0; t < options->target_count; t++)
        choices += strcmp(options->target_name(options->targets[t]), "cpu") != 0;
    for (int i = 0; i < kernel->rows.count && choices <= MOST_CONDITIONS; i++)
        choices *= plan->entry->key_of_row[i] < 0 ? 1 : kernel->rows.data[i].domain.count;
    bool by_least = facts_by_least_copy(plan->entry, plan->target);
    int share = choices ? 1 + 4 * MOST_CONDITIONS / ((by_least ? 8 : 7) * choices) : 1;
    most = most < share ? most : share;
    if (plan->facts.aligned == WHOLE_COPY)
        return most;
    if (by_least)
        return (most + 1) / 2;
    int others = (3 * most + 3) / 4, left = choices ? 1 + MOST_CONDITIONS / choices - (most - 1) : 1;
    return others < left ? others : left;
}

static void choose(const struct variant_plan *plan, const struct schedule *standard, struct schedules *chosen)
{
    struct kernel_choice choices[MOST_CHOSEN];
    struct schedules all = {0};
    int most = find_most(plan), count = 0;
    if (most < 2)
        return;
    list_candidates(plan, standard, &all);
    choose_tiles(plan, &all);
    list_candidates(plan, NULL, &all);
    if (all.count > 1)
        count = build_and_choose(plan, &all, KERNEL_CHOOSES_SCHEDULES, most, choices);
    for (int i = 0; i < count; i++) {
        struct schedule one = all.data[choices[i].candidate];
        one.when = choices[i].when;
        one.modelled = choices[i].modelled;
        vector_push(plan->entry->kernel->front->arena, chosen, one);
    }
}

/* Whether a --spec says how the instance is to be scheduled. */
static bool is_asked(const struct variant_plan *plan)
{
    const struct tuning *tuning = &plan->entry->kernel->tuning;
    for (int i = 0; plan->spec && i < tuning->count; i++)
        if (spec_has(plan->spec, tuning->data[i].name))
            return true;
    return false;
}

bool candidates_choose(const struct variant_plan *plan, const struct schedule *standard, struct schedules *schedules)
{
    const struct front_options *options = plan->entry->kernel->front->options;
    struct chosen *chosen = &plan->entry->chosen;
    if (options->schedules < 2 || !options->choose_schedules || options->syntax_only || options->reproducible ||
        is_asked(plan) || strcmp(options->target_name(plan->target), "cpu") == 0)
        return false;
    if (chosen->keys != plan->keys || chosen->target != plan->target || chosen->aligned != plan->facts.aligned) {
        *chosen = (struct chosen){.target = plan->target, .keys = plan->keys, .aligned = plan->facts.aligned};
        choose(plan, standard, &chosen->schedules);
    }
    for (int i = 0; i < chosen->schedules.count; i++)
        vector_push(options->arena, schedules, chosen->schedules.data[i]);
    return chosen->schedules.count > 0;
}
