/* Each extent name that a modelled time asks for goes through 16 … 16384 in equal steps of its logarithm, one that only loops
 * run over through 128 … 16384, one that the grid counts one by one, as batches and heads, through 1 … 64.  On points
 * spread over their combinations, with rows that begin with lines and rows that straddle them, the candidates are compared by the logarithm of
 * their time, a launch included: what loses a tenth of 5 µs and of 5 ms counts the same.  The set begins with the default and
 * takes the candidate that gains most, as long as that is worth an instance.  Then each member but the default is exchanged
 * for what gains more beside the others.
 *
 * What all candidates wait for, as what memory gives, is no gain of any of them.
 *
 * All of it is arithmetic on integers: what is chosen must not hang on the C library or the processor that compiles. */
#include "passes/schedules/schedule_set.h"

#include "passes/schedules/expression_list.h"

#include <string.h>

enum { POINTS = 512, POINTS_OF_ONE = 33, MULTIPLIER = 123, STRADDLING = 8, MOST_EXCHANGES = 4 };
enum {
    LEAST_EXCHANGED = SCHEDULE_SET_GAIN / 4,
    OF_A_NAME = SCHEDULE_SET_GAIN /* of two that gain as much the one like the default is better known */
};

struct axis {
    enum kernel_host_op op;      /* NAME or SCALAR */
    int64_t number, least, most; /* powers of two */
};
struct axes {
    struct axis *data;
    int count, capacity;
};

static bool has_name(const struct kernel_expression *e, int64_t name)
{
    if (e->op == KERNEL_HOST_NAME)
        return e->number == name;
    for (int i = 0; i < 3; i++)
        if (e->operand[i] && has_name(e->operand[i], name))
            return true;
    return false;
}

static struct axis axis_of(const struct kernel_variant *variant, const struct kernel_expression *e)
{
    int64_t least = 128, most = 16384;
    for (int d = 0; d < variant->grid_rank && e->op == KERNEL_HOST_NAME; d++) {
        const struct kernel_expression *count = variant->grid[d];
        if (count->op == KERNEL_HOST_NAME && count->number == e->number)
            least = 1, most = 64;
        else if (most > 64 && has_name(count, e->number))
            least = 16;
    }
    return (struct axis){e->op, e->number, least, most};
}

static void collect_axes(struct arena *arena, const struct kernel_variant *variant, const struct kernel_expression *e,
                         struct axes *axes)
{
    for (int i = 0; i < 3; i++)
        if (e->operand[i])
            collect_axes(arena, variant, e->operand[i], axes);
    if (e->op != KERNEL_HOST_NAME && e->op != KERNEL_HOST_SCALAR)
        return;
    for (int i = 0; i < axes->count; i++)
        if (axes->data[i].op == e->op && axes->data[i].number == e->number)
            return;
    vector_push(arena, axes, axis_of(variant, e));
}

/* The points of several axes are a lattice, in which no axis has the same value twice: a grid of as many has eight of each, and
 * says little of extents between those.  The multiplier spreads them evenly over two, three and four axes. */
static int step_at(int point, int axis, int points)
{
    uint64_t step = (uint64_t)point;
    while (axis-- > 0)
        step = step * MULTIPLIER % (uint64_t)points;
    return (int)step;
}

/* To base 2, of what is positive, rounded down. */
static int64_t logarithm(int64_t value)
{
    int whole = log2_floor((uint64_t)value);
    uint64_t rest = whole > 31 ? (uint64_t)value >> (whole - 31)
                               : (uint64_t)value << (31 - whole); /* 2^31 stands for 1 */
    int64_t result = whole;
    for (int bit = 0; bit < SCHEDULE_SET_BITS; bit++) {
        rest = rest * rest >> 31;
        result = result << 1 | (int64_t)(rest >> 32);
        rest >>= rest >> 32;
    }
    return result;
}

/* The value of an axis at a step: whole, and a multiple of 16 where it is more than that. */
static int64_t value_at(const struct axis *axis, int step, int steps)
{
    int64_t least = logarithm(2 * axis->least), span = logarithm(2 * axis->most) - least, twice = 0;
    int64_t wanted = least + span * step / (steps > 1 ? steps - 1 : 1);
    for (int64_t bit = 2 * axis->most; bit; bit /= 2)
        if (logarithm(twice + bit) <= wanted)
            twice += bit;
    return twice < 32 ? (twice + 1) / 2 : (twice + 16) / 32 * 16;
}

/* Logarithms of times, the points of a candidate side by side. */
struct table {
    int64_t *time;
    int points;
};

static struct table make_table(struct arena *arena, const struct kernel_entry *entry,
                               const struct kernel_variant *variant, int count, const struct schedule_cost *costs)
{
    const struct target_costs *numbers = target_costs(&target_rows[variant->target]);
    struct axes axes = {0};
    struct table table = {0};
    for (int i = 0; i < count; i++)
        collect_axes(arena, variant, costs[i].modelled, &axes);
    int steps = axes.count > 1 ? POINTS : axes.count ? POINTS_OF_ONE : 1;
    table.points = steps;
    int64_t *names = ARENA_ARRAY(arena, int64_t, entry->names.count),
            *scalars = ARENA_ARRAY(arena, int64_t, entry->parameters.count);
    int64_t *pitches = ARENA_ARRAY(arena, int64_t, entry->parameters.count);
    struct expression_point point = {names, variant->key_values, scalars, pitches, (int64_t)numbers->multiprocessors};
    table.points *= 2;
    table.time = ARENA_ARRAY(arena, int64_t, count *table.points);
    struct expression_list list = expression_list_create(arena);
    int *modelled = ARENA_ARRAY(arena, int, count), *memory = ARENA_ARRAY(arena, int, count);
    for (int c = 0; c < count; c++) {
        modelled[c] = expression_list_add(&list, costs[c].modelled);
        memory[c] = expression_list_add(&list, costs[c].memory);
    }
    int64_t *values = ARENA_ARRAY(arena, int64_t, list.parts.count);
    for (int p = 0; p < table.points; p++) {
        for (int i = 0; i < entry->parameters.count; i++)
            pitches[i] = p % 2 ? STRADDLING : 0;
        for (int i = 0; i < axes.count; i++)
            (axes.data[i].op == KERNEL_HOST_NAME ? names : scalars)[axes.data[i].number] = value_at(
                &axes.data[i], step_at(p / 2, i, steps), steps);
        expression_list_compute(&list, &point, values);
        for (int c = 0; c < count; c++) {
            int64_t time = values[modelled[c]], most = INT64_MAX / 2, floor = values[memory[c]];
            time = time < floor ? floor : time;
            time = time < 0 ? 0 : time < most ? time : most;
            table.time[c * table.points + p] = logarithm((int64_t)numbers->launch + time);
        }
    }
    return table;
}

bool schedule_shares_knob(const struct kernel_variant *other, const struct kernel_knob *knob)
{
    for (int i = 0; i < other->knobs.count; i++)
        if (strcmp(other->knobs.data[i].name, knob->name) == 0)
            return other->knobs.data[i].value == knob->value;
    return false;
}

static int count_differences(const struct kernel_variant *candidate, const struct kernel_variant *standard)
{
    int differences = 0;
    for (int i = 0; i < candidate->knobs.count; i++)
        differences += !schedule_shares_knob(standard, &candidate->knobs.data[i]);
    return differences;
}

/* The mean of what is lost where the candidate joins those that have the times of `best`. */
static int64_t loss_with(const struct table *table, const int64_t *best, const int64_t *least, int candidate)
{
    const int64_t *time = table->time + candidate * table->points;
    int64_t sum = 0;
    for (int p = 0; p < table->points; p++)
        sum += (time[p] < best[p] ? time[p] : best[p]) - least[p];
    return sum / table->points;
}

static void join(struct schedule_set *set, const struct table *table, int64_t *best, const int64_t *least,
                 int candidate)
{
    const int64_t *time = table->time + candidate * table->points;
    set->loss[set->count] = loss_with(table, best, least, candidate);
    set->member[set->count++] = candidate;
    for (int p = 0; p < table->points; p++)
        best[p] = time[p] < best[p] ? time[p] : best[p];
}

/* The candidate that gains most; 0: none is worth it. */
static int find_next(const struct kernel_variant *candidates, int count, const struct table *table, const int64_t *best,
                     const int64_t *least, int64_t lost, int64_t least_gain)
{
    int next = 0;
    int64_t lowest = INT64_MAX;
    for (int c = 1; c < count; c++) {
        int64_t loss = loss_with(table, best, least, c),
                counted = loss + OF_A_NAME * count_differences(&candidates[c], &candidates[0]);
        if (lost - loss > least_gain && counted < lowest) {
            lowest = counted;
            next = c;
        }
    }
    return next;
}

/* The times of a set without one of its members; -1: of all of it. */
static void times_without(const struct schedule_set *set, const struct table *table, int without, int64_t *best)
{
    for (int p = 0; p < table->points; p++)
        best[p] = INT64_MAX;
    for (int i = 0; i < set->count; i++) {
        const int64_t *time = table->time + set->member[i] * table->points;
        for (int p = 0; i != without && p < table->points; p++)
            best[p] = time[p] < best[p] ? time[p] : best[p];
    }
}

/* Whether another candidate gains more beside the others than this member does, which it then replaces. */
static bool exchange_one(struct schedule_set *set, int member, int count, const struct table *table, int64_t *best,
                         const int64_t *least)
{
    times_without(set, table, member, best);
    int64_t lowest = loss_with(table, best, least, set->member[member]) - LEAST_EXCHANGED;
    bool changed = false;
    for (int c = 1; c < count; c++) {
        int64_t loss = loss_with(table, best, least, c);
        if (loss >= lowest)
            continue;
        lowest = loss;
        set->member[member] = c;
        changed = true;
    }
    return changed;
}

/* What paid when it joined may be worth little beside those that came later. */
static void exchange(struct schedule_set *set, int count, const struct table *table, int64_t *best,
                     const int64_t *least)
{
    bool changed = true;
    for (int turn = 0; turn < MOST_EXCHANGES && changed; turn++) {
        changed = false;
        for (int i = 1; i < set->count; i++)
            changed |= exchange_one(set, i, count, table, best, least);
    }
    struct schedule_set members = *set;
    set->count = 0;
    times_without(set, table, -1, best);
    for (int i = 0; i < members.count; i++)
        join(set, table, best, least, members.member[i]);
}

struct schedule_set schedule_set_find(struct arena *arena, const struct kernel_entry *entry, int count,
                                      const struct kernel_variant *candidates, const struct schedule_cost *costs,
                                      int64_t least_gain, int most)
{
    struct schedule_set set = {0};
    struct table table = make_table(arena, entry, candidates, count, costs);
    int64_t *best = ARENA_ARRAY(arena, int64_t, table.points), *least = ARENA_ARRAY(arena, int64_t, table.points);
    set.points = table.points;
    for (int p = 0; p < table.points; p++) {
        best[p] = least[p] = INT64_MAX;
        for (int c = 0; c < count; c++) {
            int64_t time = table.time[c * table.points + p];
            least[p] = time < least[p] ? time : least[p];
        }
    }
    for (int next = 0; set.count < most && set.count < SCHEDULE_SET_MOST;) {
        join(&set, &table, best, least, next);
        next = find_next(candidates, count, &table, best, least, set.loss[set.count - 1], least_gain);
        if (!next)
            break;
    }
    exchange(&set, count, &table, best, least);
    return set;
}
