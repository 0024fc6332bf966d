/* Which schedules are tried next.  First those that differ from the default in one name.  What they and all later ones
 * took tells what each value of each name does to each call by itself; of the schedules that are left, those are next
 * from which these effects together promise most, for one call after the other, and every fourth is drawn by chance, so
 * that what only works together is met, too. */
#include "driver/tune/tune.h"

#include <math.h>
#include <string.h>

enum { CHANCE = 4 };
static const float drop_score = 0.7f; /* of what cannot run: as if it took twice as long */

static int name_count(const struct tune_unit *unit) { return unit->space.name_count; }

static const unsigned char *values_of(const struct tune_unit *unit, int number)
{
    return unit->space.taken + (size_t)number * (size_t)unit->space.name_count;
}

/* "BM=64, BN=64": what differs from the default. */
static const char *text_of(struct arena *arena, const struct tune_unit *unit, int number)
{
    struct buffer text = {0};
    const unsigned char *values = values_of(unit, number);
    for (int i = 0; i < name_count(unit); i++)
        if (values[i])
            buffer_printf(&text, "%s%s=%s", text.size ? ", " : "", unit->space.names[i],
                          unit->space.values[i][values[i]]);
    const char *copy = arena_string(arena, text.data ? text.data : "");
    buffer_free(&text);
    return copy;
}

static bool is_ours(const struct options *options, int number)
{
    return !options->tune_parts || number % options->tune_parts == options->tune_part - 1;
}

static int find_values(const struct tune_unit *unit, const char *values)
{
    for (int i = 1; i < unit->space.count; i++)
        if (strcmp(unit->values[i], values) == 0)
            return i;
    return -1;
}

static int find_call(const struct tune *tune, const struct tune_unit *unit, const char *text)
{
    for (int i = 0; i < unit->calls.count; i++)
        if (strcmp(tune->log.calls.data[unit->calls.data[i]].text, text) == 0)
            return i;
    return -1;
}

void search_note(struct tune_unit *unit, int number, const float *scores)
{
    float *own = unit->score + (size_t)number * (size_t)unit->calls.count;
    if (!unit->state[number])
        unit->remaining--;
    unit->state[number] = scores ? 1 : -1;
    unit->tried++;
    for (int i = 0; i < unit->calls.count; i++)
        own[i] = scores ? scores[i] : drop_score;
}

/* What the log has of a candidate at all calls.  A line may come twice: those of a look that was cut off are there, too. */
static void take_from_log(const struct tune *tune, struct tune_unit *unit)
{
    size_t calls = (size_t)unit->calls.count;
    float *scores = ARENA_ARRAY(tune->arena, float, calls *(size_t)unit->space.count);
    bool *has = ARENA_ARRAY(tune->arena, bool, calls *(size_t)unit->space.count);
    int *met = ARENA_ARRAY(tune->arena, int, unit->space.count);
    for (int i = 0; i < tune->log.results.count; i++) {
        const struct tune_result *r = &tune->log.results.data[i];
        int number = r->round || strcmp(r->kernel, unit->kernel) != 0 ? -1 : find_values(unit, r->values);
        int call = number < 0 ? -1 : find_call(tune, unit, r->call);
        if (call < 0)
            continue;
        size_t place = (size_t)number * calls + (size_t)call;
        scores[place] = logf((float)(r->taken.data[0] / r->standard.data[0]));
        met[number] += !has[place];
        has[place] = true;
    }
    for (int n = 0; n < unit->space.count; n++)
        if (met[n] == unit->calls.count)
            search_note(unit, n, scores + (size_t)n * calls);
    for (int i = 0; i < tune->log.dropped.count; i++) {
        const struct tune_dropped *d = &tune->log.dropped.data[i];
        int number = strcmp(d->kernel, unit->kernel) != 0 ? -1 : find_values(unit, d->values);
        if (number >= 0)
            search_note(unit, number, NULL);
    }
}

void search_begin(const struct tune *tune, struct tune_unit *unit)
{
    int count = unit->space.count;
    unit->values = ARENA_ARRAY(tune->arena, const char *, count);
    unit->state = ARENA_ARRAY(tune->arena, signed char, count);
    unit->score = ARENA_ARRAY(tune->arena, float, (size_t)count *(size_t)unit->calls.count);
    for (int i = 0; i < count; i++)
        unit->values[i] = text_of(tune->arena, unit, i);
    take_from_log(tune, unit);
    unit->remaining = 0;
    for (int i = 1; i < count; i++)
        unit->remaining += !unit->state[i] && is_ours(tune->options, i);
}

/* What each value of each name does to a call: the mean over those that have it, less the mean of all. */
struct effects {
    double *sum;
    int *count;
    double mean;
};

static size_t effect_place(int name, int value) { return (size_t)name * (UINT8_MAX + 1) + (size_t)value; }

static struct effects measure_effects(struct arena *arena, const struct tune_unit *unit, int call)
{
    size_t room = (size_t)(name_count(unit) + 1) * (UINT8_MAX + 1);
    struct effects effects = {ARENA_ARRAY(arena, double, room), ARENA_ARRAY(arena, int, room), 0};
    int tried = 1; /* the default, whose logarithm is 0 */
    double sum = 0;
    for (int n = 0; n < unit->space.count; n++) {
        if (n && !unit->state[n])
            continue;
        double score = n ? unit->score[(size_t)n * (size_t)unit->calls.count + (size_t)call] : 0;
        for (int i = 0; i < name_count(unit); i++) {
            effects.sum[effect_place(i, values_of(unit, n)[i])] += score;
            effects.count[effect_place(i, values_of(unit, n)[i])]++;
        }
        sum += score;
        tried += n > 0;
    }
    effects.mean = sum / tried;
    return effects;
}

static double promise(const struct tune_unit *unit, const struct effects *effects, int number)
{
    double sum = 0;
    for (int i = 0; i < name_count(unit); i++) {
        size_t place = effect_place(i, values_of(unit, number)[i]);
        sum += effects->count[place] ? effects->sum[place] / effects->count[place] - effects->mean : 0;
    }
    return sum;
}

/* SplitMix64 (G. Steele and others, 2014) of the candidate's number: an order by chance. */
static uint64_t chance(const struct tune *tune, int number)
{
    uint64_t z = (uint64_t)tune->options->tune_seed * 0x9e3779b97f4a7c15u + (uint64_t)number * 0xd1342543de82ef95u;
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
    z = (z ^ z >> 27) * 0x94d049bb133111ebu;
    return z ^ z >> 31;
}

static bool is_open(const struct tune *tune, const struct tune_unit *unit, int number, int count, const int *numbers)
{
    if (unit->state[number] || !is_ours(tune->options, number))
        return false;
    for (int i = 0; i < count; i++)
        if (numbers[i] == number)
            return false;
    return true;
}

static int changes(const struct tune_unit *unit, int number)
{
    int count = 0;
    for (int i = 0; i < name_count(unit); i++)
        count += values_of(unit, number)[i] != 0;
    return count;
}

/* -1: none is left. */
static int pick(const struct tune *tune, const struct tune_unit *unit, int count, const int *numbers)
{
    int turn = unit->tried + count, best = -1;
    bool by_chance = turn % CHANCE == CHANCE - 1;
    struct arena *scratch = arena_create();
    struct effects effects = measure_effects(scratch, unit, turn % unit->calls.count);
    double least = 0;
    for (int n = 1; n < unit->space.count; n++) {
        if (!is_open(tune, unit, n, count, numbers))
            continue;
        double value = by_chance ? (double)(chance(tune, n) >> 11) : promise(unit, &effects, n);
        if (best < 0 || value < least) {
            best = n;
            least = value;
        }
    }
    arena_destroy(scratch);
    return best;
}

int search_next(const struct tune *tune, struct tune_unit *unit, int most, int *numbers)
{
    int count = 0;
    for (int n = 1; n < unit->space.count && count < most; n++)
        if (changes(unit, n) == 1 && is_open(tune, unit, n, count, numbers))
            numbers[count++] = n;
    while (count < most) {
        int n = pick(tune, unit, count, numbers);
        if (n < 0)
            break;
        numbers[count++] = n;
    }
    return count;
}

int search_best(const struct tune_unit *unit, int most, int *numbers)
{
    int calls = unit->calls.count, count = 0;
    struct arena *scratch = arena_create();
    double *best = ARENA_ARRAY(scratch, double, calls); /* of each call: 0 is the default's */
    while (count < most) {
        int next = -1;
        double most_gain = 0.005 * calls; /* half of a per cent in the mean */
        for (int n = 1; n < unit->space.count; n++) {
            double gain = 0;
            for (int i = 0; i < calls && unit->state[n] == 1; i++)
                gain += fmax(0, best[i] - unit->score[(size_t)n * (size_t)calls + (size_t)i]);
            if (gain > most_gain) {
                most_gain = gain;
                next = n;
            }
        }
        if (next < 0)
            break;
        for (int i = 0; i < calls; i++)
            best[i] = fmin(best[i], unit->score[(size_t)next * (size_t)calls + (size_t)i]);
        numbers[count++] = next;
    }
    arena_destroy(scratch);
    return count;
}
