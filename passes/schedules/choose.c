/* The wrapper looks at the schedules in their order and takes the first whose `when` holds.  The conditions halve the set,
 * so that each modelled time is compared few times; with times a, b, c, d:
 *
 *   first    min(a, b) <= min(c, d) and a <= b
 *   second   min(a, b) <= min(c, d)
 *   third    c <= d
 *   fourth   always
 *
 * Where the model says the same of two, the one in front is taken, the default first, which others have to be faster than by
 * a 32nd: those who wrote it know it. */
#include "passes/schedules/expressions.h"
#include "passes/schedules/schedule_set.h"
#include "passes/schedules/schedules.h"

#include <math.h>

enum { KNOWN_BETTER = 32 };

struct choosing {
    struct schedule_chooser *chooser;
    struct arena *arena;
    const struct kernel_entry *entry;
    const struct kernel_variant *candidates;
    const struct schedule_cost *costs;
    struct schedule_set set;
};

/* "BM=64,BN=128": what a candidate has beyond the default, which is "the default". */
static const char *name_candidate(const struct choosing *c, int candidate)
{
    const struct kernel_variant *variant = &c->candidates[candidate], *standard = &c->candidates[0];
    struct buffer text = {0};
    for (int i = 0; i < variant->knobs.count; i++) {
        const struct kernel_knob *knob = &variant->knobs.data[i];
        if (!schedule_shares_knob(standard, knob))
            buffer_printf(&text, "%s%s=%lld", text.size ? "," : "", knob->name, (long long)knob->value);
    }
    const char *name = text.size ? arena_substring(c->arena, text.data, text.size) : "the default";
    buffer_free(&text);
    return name;
}

/* ---- conditions ---- */

static const struct kernel_expression *with_text(struct arena *arena, const struct kernel_expression *e,
                                                 const char *text)
{
    struct kernel_expression *named = arena_copy(arena, e, sizeof *e);
    named->text = text;
    return named;
}

static const struct kernel_expression *least_of(struct arena *arena, int count, const struct kernel_choice *choices)
{
    const struct kernel_expression *least = choices[0].modelled;
    for (int i = 1; i < count; i++)
        least = expression_make(arena, KERNEL_HOST_MIN, least, choices[i].modelled);
    return least;
}

/* Of choices of which one is taken where `when` holds; NULL: always. */
static void set_conditions(struct arena *arena, int count, struct kernel_choice *choices,
                           const struct kernel_expression *when)
{
    const char *name = choices->modelled->text;
    if (count == 1) {
        choices->when = when ? with_text(arena, when, arena_printf(arena, "the modelled time of %s is least", name))
                             : NULL;
        return;
    }
    int half = (count + 1) / 2;
    const struct kernel_expression *first = expression_make(arena, KERNEL_HOST_LE, least_of(arena, half, choices),
                                                            least_of(arena, count - half, choices + half));
    first = with_text(arena, first,
                      arena_printf(arena, "the modelled time of %s%s is least", name, half > 1 ? " or the next" : ""));
    first = when ? expression_make(arena, KERNEL_HOST_AND, when, first) : first;
    set_conditions(arena, half, choices, first);
    set_conditions(arena, count - half, choices + half, when);
}

void schedules_set_conditions(struct arena *arena, int count, struct kernel_choice *choices)
{
    set_conditions(arena, count, choices, NULL);
}

/* ---- what is said ---- */

static double microseconds(const struct choosing *c, const struct expression_point *point, int member)
{
    const struct target_costs *costs = target_costs(&target_rows[c->candidates[0].target]);
    double cycles = (double)expression_value(point, c->costs[c->set.member[member]].modelled);
    return (cycles + costs->launch) / costs->megahertz;
}

/* All extents alike: "all extents 256: 12, 8, 9 µs". */
static void print_times(const struct choosing *c, struct buffer *text, int64_t extent)
{
    int64_t *names = ARENA_ARRAY(c->arena, int64_t, c->entry->names.count),
            *scalars = ARENA_ARRAY(c->arena, int64_t, c->entry->parameters.count),
            *pitches = ARENA_ARRAY(c->arena, int64_t, c->entry->parameters.count);
    const struct target_costs *costs = target_costs(&target_rows[c->candidates[0].target]);
    for (int i = 0; i < c->entry->names.count; i++)
        names[i] = extent;
    for (int i = 0; i < c->entry->parameters.count; i++)
        scalars[i] = extent;
    struct expression_point point = {names, c->candidates[0].key_values, scalars, pitches,
                                     (int64_t)costs->multiprocessors};
    buffer_printf(text, "; all extents %lld:", (long long)extent);
    for (int i = 0; i < c->set.count; i++)
        buffer_printf(text, "%s %.3g", i ? "," : "", microseconds(c, &point, i));
    buffer_puts(text, " us");
}

static void report(const struct choosing *c, const char *text)
{
    struct diagnostic *d = diag_report(c->chooser->diagnostics, DIAGNOSTIC_R2001, c->entry->at, "schedules: %s", text);
    diag_instance(c->chooser->diagnostics, d, c->candidates[0].label);
}

static void tell(const struct choosing *c, int count)
{
    struct buffer text = {0};
    if (!c->chooser->remarks)
        return;
    buffer_printf(&text, "%d of %d candidates", c->set.count, count);
    for (int i = 0; i < c->set.count; i++)
        buffer_printf(&text, "%s %s (%.1f %% lost%s)", i ? "," : ":", name_candidate(c, c->set.member[i]),
                      100 * (exp2(ldexp((double)c->set.loss[i], -SCHEDULE_SET_BITS)) - 1), i ? " with it" : " alone");
    buffer_printf(&text, ", modelled on %d points", c->set.points);
    print_times(c, &text, 512);
    print_times(c, &text, 2048);
    report(c, text.data);
    buffer_free(&text);
}

/* Programs of which data say how long they run are not compared by extents. */
static bool is_unknown(const struct choosing *c, int count)
{
    bool unknown = false;
    for (int i = 0; i < count; i++)
        unknown |= c->costs[i].unknown;
    if (unknown && c->chooser->remarks)
        report(c, "the default alone: how often a loop turns is not told by extents");
    return unknown;
}

int schedules_choose(void *context, const struct kernel_entry *entry, int count,
                     const struct kernel_variant *candidates, enum kernel_choosing what, int most,
                     struct kernel_choice *choices)
{
    struct schedule_chooser *chooser = context;
    struct choosing c = {.chooser = chooser, .arena = chooser->arena, .entry = entry, .candidates = candidates};
    struct schedule_cost *costs = ARENA_ARRAY(c.arena, struct schedule_cost, count);
    for (int i = 0; i < count; i++)
        costs[i] = schedule_cost_of(c.arena, entry, &candidates[i]);
    c.costs = costs;
    bool tiles = what == KERNEL_CHOOSES_TILES;
    if (is_unknown(&c, count))
        return 0;
    c.set = schedule_set_find(c.arena, entry, count, candidates, costs, tiles ? 0 : SCHEDULE_SET_GAIN, most);
    for (int i = 0; i < c.set.count; i++) {
        const struct kernel_expression *modelled = costs[c.set.member[i]].modelled;
        if (i)
            modelled = expression_make(c.arena, KERNEL_HOST_ADD, modelled,
                                       expression_make(c.arena, KERNEL_HOST_DIV, modelled,
                                                       expression_leaf(c.arena, KERNEL_HOST_CONSTANT, KNOWN_BETTER)));
        choices[i] = (struct kernel_choice){
            .candidate = c.set.member[i],
            .modelled = with_text(c.arena, modelled, name_candidate(&c, c.set.member[i]))};
    }
    schedules_set_conditions(c.arena, c.set.count, choices);
    if (!tiles)
        tell(&c, count);
    return c.set.count;
}
