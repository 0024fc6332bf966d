/* For which extents each schedule is taken: a list of clauses, of which the first that holds decides, by thresholds of
 * extents and of their products.
 *
 *   features     M, N, K, M*N, M*K, N*K, M*N*K, as far as they differ between calls
 *   conditions   a feature <= or >= a threshold that parts the measured calls, and two of these by `and`
 *   lists        found by a beam search (B. Lowerre, 1976): the best few beginnings are made longer by each clause
 *
 * Of conditions that hold for the same calls the simplest is kept.  A list counts what its calls lose by it, and a little
 * for its own length, so that a longer one must pay.  At the end each clause is bounded by the extents of its calls: of
 * others nothing was measured, and the default is the safer guess. */
#include "driver/tune/tune.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { WORDS = BENCH_MOST_CALLS / 64, MOST_ATOMS = 400, BEAM = 48, MOST_CLAUSES = 6, MOST_FEATURE_NAMES = 6 };
static const double clause_price = 0.001, atom_price = 0.0003; /* as a share of the time of all calls */

struct set {
    uint64_t word[WORDS];
};

static bool set_has(const struct set *set, int i) { return set->word[i / 64] >> i % 64 & 1; }
static void set_add(struct set *set, int i) { set->word[i / 64] |= UINT64_C(1) << i % 64; }
static bool set_is_empty(const struct set *set)
{
    uint64_t any = 0;
    for (int i = 0; i < WORDS; i++)
        any |= set->word[i];
    return !any;
}
static struct set set_meet(const struct set *a, const struct set *b, bool without)
{
    struct set c;
    for (int i = 0; i < WORDS; i++)
        c.word[i] = a->word[i] & (without ? ~b->word[i] : b->word[i]);
    return c;
}

enum { MOST_FACTORS = 3 };
struct atom {
    int factors, names[MOST_FACTORS]; /* of the kernel's extents */
    bool over;                        /* >=, else <= */
    double threshold;
};
struct condition {
    int atom_count, factors;
    struct atom atoms[2];
    struct set holds;
};
struct conditions {
    struct condition *data;
    int count, capacity;
};

/* ---- conditions ---- */

struct feature {
    int factors, names[MOST_FACTORS];
    double *values; /* one a call */
};

static int compare_numbers(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static void add_condition(struct arena *arena, struct conditions *list, struct condition condition)
{
    for (int i = 0; i < list->count; i++)
        if (memcmp(&list->data[i].holds, &condition.holds, sizeof condition.holds) == 0)
            return;
    vector_push(arena, list, condition);
}

/* The power of two from `a` to `b`, one of them left out, that is nearest to their geometric mean; 0: there is none. */
static double power_between(double a, double b, bool with_a)
{
    double wanted = sqrt(fmax(a, 1) * b), best = 0;
    for (double power = 1; power <= b; power *= 2)
        if ((with_a ? power >= a && power < b : power > a) &&
            (best == 0 || fabs(log(power / wanted)) < fabs(log(best / wanted))))
            best = power;
    return best;
}

static void add_atoms(struct arena *arena, struct conditions *list, const struct feature *feature, int call_count)
{
    double *sorted = arena_copy(arena, feature->values, sizeof(double) * (size_t)call_count);
    qsort(sorted, (size_t)call_count, sizeof *sorted, compare_numbers);
    for (int i = 0; i + 1 < call_count && list->count < MOST_ATOMS; i++) {
        if (sorted[i] == sorted[i + 1])
            continue;
        struct condition under = {.atom_count = 1, .factors = feature->factors}, over;
        double most = power_between(sorted[i], sorted[i + 1], true),
               least = power_between(sorted[i], sorted[i + 1], false);
        most = most > 0 ? most : sorted[i];
        least = least > 0 ? least : sorted[i + 1];
        under.atoms[0] = (struct atom){.factors = feature->factors, .threshold = most};
        memcpy(under.atoms[0].names, feature->names, sizeof feature->names);
        over = under;
        over.atoms[0].over = true;
        over.atoms[0].threshold = least;
        for (int k = 0; k < call_count; k++)
            set_add(feature->values[k] <= most ? &under.holds : &over.holds, k);
        add_condition(arena, list, under);
        add_condition(arena, list, over);
    }
}

/* Products of up to three of the names. */
static void list_features(struct arena *arena, const struct tune_head *head, struct conditions *list)
{
    int names[MOST_FEATURE_NAMES], count = 0;
    for (int n = 0; n < head->calls[0]->name_count && count < MOST_FEATURE_NAMES; n++)
        for (int i = 1; i < head->call_count; i++)
            if (head->calls[i]->extents[n] != head->calls[0]->extents[n]) {
                names[count++] = n;
                break;
            }
    for (int factors = 1; factors <= MOST_FACTORS; factors++)
        for (unsigned mask = 1; mask < 1u << count; mask++) {
            struct feature feature = {.values = ARENA_ARRAY(arena, double, head->call_count)};
            if (__builtin_popcount(mask) != factors)
                continue;
            for (int i = 0; i < head->call_count; i++)
                feature.values[i] = 1;
            for (int n = 0; n < count; n++) {
                if (!(mask >> n & 1))
                    continue;
                feature.names[feature.factors++] = names[n];
                for (int i = 0; i < head->call_count; i++)
                    feature.values[i] *= (double)head->calls[i]->extents[names[n]];
            }
            add_atoms(arena, list, &feature, head->call_count);
        }
}

static struct conditions list_conditions(struct arena *arena, const struct tune_head *head)
{
    struct conditions list = {0};
    list_features(arena, head, &list);
    int atoms = list.count < 120 ? list.count : 120; /* of pairs there are many */
    for (int i = 0; i < atoms; i++)
        for (int k = 0; k < i; k++) {
            const struct condition *a = &list.data[k], *b = &list.data[i];
            struct condition both = {2, a->factors + b->factors, {a->atoms[0], b->atoms[0]}, {{0}}};
            both.holds = set_meet(&a->holds, &b->holds, false);
            if (set_is_empty(&both.holds))
                continue;
            add_condition(arena, &list, both);
        }
    return list;
}

/* ---- lists ---- */

struct clause {
    int member, condition;
};
struct list {
    int count;
    struct clause clauses[MOST_CLAUSES];
    int last; /* the schedule of the rest; -1: the default */
    struct set rest;
    double cost, price, hope; /* of what is decided; of its length; the least that it may come to */
};

struct finder {
    const struct tune_head *head;
    const struct conditions *conditions;
    int most;
    double weight; /* of all calls */
    struct list best;
};

static double total(const struct list *list) { return list->cost + list->price; }

static double cost_of(const struct finder *f, int member, const struct set *calls, bool *allowed)
{
    const struct tune_member *m = &f->head->members[member];
    double sum = 0;
    bool any = false;
    *allowed = true;
    for (int i = 0; i < f->head->call_count; i++) {
        if (!set_has(calls, i))
            continue;
        sum += f->head->calls[i]->weight / f->weight * m->cost[i];
        any = any || m->better[i];
        *allowed = *allowed && !m->worse[i];
    }
    *allowed = *allowed && any && sum < 0;
    return sum;
}

/* The least that the rest may come to, if each call had a clause of its own. */
static double hope_of(const struct finder *f, const struct set *rest)
{
    double sum = 0;
    for (int i = 0; i < f->head->call_count; i++) {
        double least = 0;
        for (int m = 0; m < f->head->member_count && set_has(rest, i); m++)
            least = fmin(least, f->head->members[m].cost[i]);
        sum += f->head->calls[i]->weight / f->weight * least;
    }
    return sum;
}

/* How many schedules it has. */
static int width(const struct list *list)
{
    int count = 1;
    for (int i = 0; i < list->count; i++) {
        bool again = list->clauses[i].member == list->last;
        for (int k = 0; k < i; k++)
            again = again || list->clauses[k].member == list->clauses[i].member;
        count += !again;
    }
    return count;
}

/* The list as it is, with the default or one schedule for the rest. */
static void end_list(struct finder *f, const struct list *list)
{
    for (int last = -1; last < f->head->member_count; last++) {
        struct list ended = *list;
        bool allowed = true;
        ended.last = last;
        if (last >= 0) {
            ended.cost += cost_of(f, last, &list->rest, &allowed);
            ended.price += clause_price;
        }
        if (allowed && width(&ended) <= f->most && total(&ended) < total(&f->best))
            f->best = ended;
    }
}

static void keep_in_beam(struct list *beam, int *count, const struct list *list)
{
    for (int i = 0; i < *count; i++)
        if (memcmp(&beam[i].rest, &list->rest, sizeof list->rest) == 0 && total(&beam[i]) <= total(list) &&
            width(&beam[i]) <= width(list))
            return;
    if (*count == BEAM && beam[BEAM - 1].hope <= list->hope)
        return;
    int at = *count < BEAM ? (*count)++ : BEAM - 1;
    for (; at > 0 && beam[at - 1].hope > list->hope; at--)
        beam[at] = beam[at - 1];
    beam[at] = *list;
}

static void extend(const struct finder *f, const struct list *list, struct list *beam, int *count)
{
    for (int c = 0; c < f->conditions->count; c++) {
        const struct condition *condition = &f->conditions->data[c];
        struct list longer = *list;
        struct set here = set_meet(&list->rest, &condition->holds, false);
        longer.rest = set_meet(&list->rest, &condition->holds, true);
        if (set_is_empty(&here) || set_is_empty(&longer.rest))
            continue;
        double hope = hope_of(f, &longer.rest);
        for (int m = 0; m < f->head->member_count; m++) {
            bool allowed;
            double cost = cost_of(f, m, &here, &allowed);
            longer.count = list->count + 1;
            longer.clauses[list->count] = (struct clause){m, c};
            longer.cost = list->cost + cost;
            longer.price = list->price + clause_price +
                           atom_price * (condition->atom_count - 1 + condition->factors - 1);
            longer.hope = longer.cost + longer.price + hope;
            longer.last = -1;
            if (allowed && width(&longer) <= f->most + 1)
                keep_in_beam(beam, count, &longer);
        }
    }
}

/* ---- bounds ---- */

/* The least and the most that an extent may be: what the clause's calls have, up to a power of two on both sides.  Next to
 * calls of the head that are not the clause's it is the one that parts them, as for atoms. */
static void bound_extent(const struct tune_head *head, const bool *covers, int name, double *least, double *most)
{
    double below = -1, above = INFINITY;
    *least = INFINITY;
    *most = 0;
    for (int i = 0; i < head->call_count; i++)
        if (covers[i]) {
            *least = fmin(*least, (double)head->calls[i]->extents[name]);
            *most = fmax(*most, (double)head->calls[i]->extents[name]);
        }
    for (int i = 0; i < head->call_count; i++) {
        double extent = (double)head->calls[i]->extents[name];
        below = extent < *least ? fmax(below, extent) : below;
        above = extent > *most ? fmin(above, extent) : above;
    }
    double under = below < 0 ? exp2(floor(log2(fmax(*least, 1)))) : power_between(below, *least, false);
    double over = isinf(above) ? exp2(ceil(log2(fmax(*most, 1)))) : power_between(*most, above, true);
    *least = under > 0 ? under : *least;
    *most = over > 0 ? over : *most;
}

static void put_product(struct buffer *text, const struct tune_head *head, const struct atom *atom)
{
    buffer_puts(text, text->size ? " and " : "");
    for (int i = 0; i < atom->factors; i++)
        buffer_printf(text, "%s%s", i ? "*" : "", head->calls[0]->names[atom->names[i]]);
    buffer_printf(text, " %s %.0f", atom->over ? ">=" : "<=", atom->threshold);
}

static void put_bounds(struct buffer *text, const char *name, double least, double most)
{
    const char *and = text->size ? " and " : "";
    if (least == most && least > 1)
        buffer_printf(text, "%s%s == %.0f", and, name, most);
    else if (least > 1)
        buffer_printf(text, "%s%s >= %.0f and %s <= %.0f", and, name, least, name, most);
    else
        buffer_printf(text, "%s%s <= %.0f", and, name, most);
}

/* NULL: the kernel has no extents. */
static const char *write_condition(struct arena *arena, const struct tune_head *head, const bool *covers,
                                   const struct condition *condition)
{
    struct buffer text = {0};
    int atoms = condition ? condition->atom_count : 0;
    for (int i = 0; i < atoms; i++)
        if (condition->atoms[i].factors > 1)
            put_product(&text, head, &condition->atoms[i]);
    for (int n = 0; n < head->calls[0]->name_count; n++) {
        double least, most;
        bound_extent(head, covers, n, &least, &most);
        for (int i = 0; i < atoms; i++) {
            const struct atom *atom = &condition->atoms[i];
            if (atom->factors > 1 || atom->names[0] != n)
                continue;
            if (atom->over)
                least = fmax(least, atom->threshold);
            else
                most = fmin(most, atom->threshold);
        }
        put_bounds(&text, head->calls[0]->names[n], least, most);
    }
    const char *copy = text.size ? arena_string(arena, text.data) : NULL;
    buffer_free(&text);
    return copy;
}

static void take_list(struct arena *arena, struct tune_head *head, const struct finder *f)
{
    const struct list *list = &f->best;
    struct set rest = {0};
    head->clauses = ARENA_ARRAY(arena, struct tune_clause, MOST_CLAUSES + 1);
    for (int i = 0; i < head->call_count; i++)
        set_add(&rest, i);
    for (int i = 0; i < list->count + (list->last >= 0); i++) {
        const struct condition *condition = i < list->count ? &f->conditions->data[list->clauses[i].condition] : NULL;
        struct tune_clause *clause = &head->clauses[head->clause_count++];
        *clause = (struct tune_clause){condition ? list->clauses[i].member : list->last, NULL,
                                       ARENA_ARRAY(arena, bool, head->call_count)};
        for (int k = 0; k < head->call_count; k++)
            clause->covers[k] = set_has(&rest, k) && (!condition || set_has(&condition->holds, k));
        clause->condition = write_condition(arena, head, clause->covers, condition);
        if (condition)
            rest = set_meet(&rest, &condition->holds, true);
    }
}

void conditions_find(struct arena *arena, struct tune_head *head, int most)
{
    struct conditions conditions = list_conditions(arena, head);
    struct finder f = {.head = head, .conditions = &conditions, .most = most};
    struct list begin = {.last = -1}, *beam = ARENA_ARRAY(arena, struct list, BEAM),
                *next = ARENA_ARRAY(arena, struct list, BEAM);
    int count = 1;
    for (int i = 0; i < head->call_count; i++) {
        set_add(&begin.rest, i);
        f.weight += head->calls[i]->weight;
    }
    f.best = beam[0] = begin;
    for (int length = 0; length <= MOST_CLAUSES && count; length++) {
        int next_count = 0;
        for (int i = 0; i < count; i++) {
            end_list(&f, &beam[i]);
            if (length < MOST_CLAUSES)
                extend(&f, &beam[i], next, &next_count);
        }
        struct list *other = beam;
        beam = next;
        next = other;
        count = next_count;
    }
    take_list(arena, head, &f);
}
