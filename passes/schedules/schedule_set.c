/* Each extent name that a modelled time asks for goes through 16 … 16384 in equal steps of its logarithm, one that only loops
 * run over through 128 … 16384, one that the grid counts one by one, as batches and heads, through 1 … 64.  On all combinations the candidates
 * are compared by the logarithm of their time, a launch included: what loses a tenth of 5 µs and of 5 ms counts the same.
 * The set begins with the default and takes the candidate that gains most, as long as that is more than a trifle. */
#include "passes/schedules/schedule_set.h"

#include <math.h>
#include <string.h>

enum { MOST_POINTS = 512, MOST_STEPS = 33 };
static const double trifle = 0.02;

struct axis {
    enum kernel_host_op op; /* NAME or SCALAR */
    int64_t number;
    double least, most;
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
    double least = 128, most = 16384;
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

static int steps_of(int axes)
{
    int steps = 2;
    while (axes && steps < MOST_STEPS && pow(steps + 1, axes) <= MOST_POINTS)
        steps++;
    return axes ? steps : 1;
}

/* The value of an axis at a step: whole, and a multiple of 16 where it is more than that. */
static int64_t value_at(const struct axis *axis, int step, int steps)
{
    double value = axis->least * pow(axis->most / axis->least, (double)step / (steps > 1 ? steps - 1 : 1));
    return value < 16 ? (int64_t)(value + 0.5) : (int64_t)(value / 16 + 0.5) * 16;
}

/* Logarithms of times, the points of a candidate side by side. */
struct table {
    double *time;
    int points;
};

static struct table make_table(struct arena *arena, const struct kernel_entry *entry,
                               const struct kernel_variant *variant, int count, const struct schedule_cost *costs)
{
    const struct target_costs *numbers = target_costs(&target_rows[variant->target]);
    struct axes axes = {0};
    struct table table = {.points = 1};
    for (int i = 0; i < count; i++)
        collect_axes(arena, variant, costs[i].modelled, &axes);
    int steps = steps_of(axes.count);
    for (int i = 0; i < axes.count && table.points <= MOST_POINTS; i++)
        table.points *= steps;
    int64_t *names = ARENA_ARRAY(arena, int64_t, entry->names.count),
            *scalars = ARENA_ARRAY(arena, int64_t, entry->parameters.count);
    struct expression_point point = {names, variant->key_values, scalars, (int64_t)numbers->multiprocessors};
    table.time = ARENA_ARRAY(arena, double, count *table.points);
    for (int p = 0; p < table.points; p++) {
        for (int i = 0, rest = p; i < axes.count; i++, rest /= steps)
            (axes.data[i].op == KERNEL_HOST_NAME ? names : scalars)[axes.data[i].number] = value_at(
                &axes.data[i], rest % steps, steps);
        for (int c = 0; c < count; c++) {
            double time = (double)expression_value(&point, costs[c].modelled);
            table.time[c * table.points + p] = log(numbers->launch + (time > 0 ? time : 0));
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

/* Of two that gain as much the one like the default is better known. */
static double strangeness(const struct kernel_variant *candidate, const struct kernel_variant *standard)
{
    int differences = 0;
    for (int i = 0; i < candidate->knobs.count; i++)
        differences += !schedule_shares_knob(standard, &candidate->knobs.data[i]);
    return differences * trifle / 2;
}

/* The mean of what is lost where the candidate joins those that have the times of `best`. */
static double loss_with(const struct table *table, const double *best, const double *least, int candidate)
{
    const double *time = table->time + candidate * table->points;
    double sum = 0;
    for (int p = 0; p < table->points; p++)
        sum += (time[p] < best[p] ? time[p] : best[p]) - least[p];
    return exp(sum / table->points) - 1;
}

static void join(struct schedule_set *set, const struct table *table, double *best, const double *least, int candidate)
{
    const double *time = table->time + candidate * table->points;
    set->loss[set->count] = loss_with(table, best, least, candidate);
    set->member[set->count++] = candidate;
    for (int p = 0; p < table->points; p++)
        best[p] = time[p] < best[p] ? time[p] : best[p];
}

/* The candidate that gains most, and more than a trifle; 0: there is none. */
static int find_next(const struct kernel_variant *candidates, int count, const struct table *table, const double *best,
                     const double *least, double lost)
{
    int next = 0;
    double lowest = INFINITY;
    for (int c = 1; c < count; c++) {
        double loss = loss_with(table, best, least, c), counted = loss + strangeness(&candidates[c], &candidates[0]);
        if (lost - loss >= trifle && counted < lowest) {
            lowest = counted;
            next = c;
        }
    }
    return next;
}

struct schedule_set schedule_set_find(struct arena *arena, const struct kernel_entry *entry, int count,
                                      const struct kernel_variant *candidates, const struct schedule_cost *costs,
                                      int most)
{
    struct schedule_set set = {0};
    struct table table = make_table(arena, entry, candidates, count, costs);
    double *best = ARENA_ARRAY(arena, double, table.points), *least = ARENA_ARRAY(arena, double, table.points);
    set.points = table.points;
    for (int p = 0; p < table.points; p++) {
        best[p] = least[p] = INFINITY;
        for (int c = 0; c < count; c++)
            least[p] = fmin(least[p], table.time[c * table.points + p]);
    }
    for (int next = 0; set.count < most && set.count < SCHEDULE_SET_MOST;) {
        join(&set, &table, best, least, next);
        next = find_next(candidates, count, &table, best, least, set.loss[set.count - 1]);
        if (!next)
            break;
    }
    return set;
}
