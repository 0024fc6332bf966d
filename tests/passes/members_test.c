/* The model of schedules against times that were measured, over the kernels of examples/: at each shape the schedule that is
 * modelled as the fastest of those that were measured must lose little against the one that was. */
#include <math.h>

#include "passes/schedules/expressions.h"
#include "passes/schedules/schedule_cost.h"
#include "passes/modelled.h"

enum { MOST_MEMBERS = 32, MOST_NAMES = 8, MOST_ROWS = 512 };
struct extent {
    char name[8];
    int64_t value;
};
struct row {
    const char *file, *instance;
    int names, members;
    bool by_words; /* views are aligned to 4 bytes, and the code made use of that */
    struct extent extent[MOST_NAMES];
    const char *schedule[MOST_MEMBERS]; /* "BM=64,BN=128" */
    double time[MOST_MEMBERS];
};
struct losses {
    int count;
    double sum, worst;
    const struct row *where;
};
struct checking {
    struct arena *arena;
    const struct row *rows; /* of one instance */
    int count;
    struct losses losses;
};
/* ---- the table ---- */

static void read_row(char *line, struct row *row)
{
    char *next_field, *next;
    row->file = strtok_r(line, ";", &next_field);
    row->instance = strtok_r(NULL, ";", &next_field);
    for (char *one = strtok_r(strtok_r(NULL, ";", &next_field), " ", &next); one; one = strtok_r(NULL, " ", &next))
        if (row->names < MOST_NAMES) {
            struct extent *extent = &row->extent[row->names++];
            char *equals = strchr(one, '=');
            snprintf(extent->name, sizeof extent->name, "%.*s", (int)(equals - one), one);
            extent->value = strtoll(equals + 1, NULL, 10);
        }
    for (char *one; row->members < MOST_MEMBERS && (one = strtok_r(NULL, ";", &next_field)); row->members++) {
        row->schedule[row->members] = strtok_r(one, " ", &next);
        row->time[row->members] = strtod(next, NULL);
    }
}

static int read_table(struct arena *arena, const char *file, bool by_words, struct row *rows)
{
    int count = 0, line = 0;
    char *next, *text = read_text(arena, file);
    for (char *one = strtok_r(text, "\n", &next); one && count < MOST_ROWS / 2; one = strtok_r(NULL, "\n", &next))
        if (line++ > 1) /* behind what it is, and the names of the columns */
            read_row(one, &rows[count++]), rows[count - 1].by_words = by_words;
    return count;
}

/* ---- candidates ---- */

/* The value of a knob of those listed; 1, as of `split_k`, where it is not among them. */
static int64_t value_of(const struct kernel_variant *variant, const char *name, size_t length)
{
    for (int i = 0; i < variant->knobs.count; i++)
        if (strlen(variant->knobs.data[i].name) == length && strncmp(variant->knobs.data[i].name, name, length) == 0)
            return variant->knobs.data[i].value;
    return 1;
}

/* Whether the schedule says anything of the knob. */
static bool names_knob(const char *schedule, const struct kernel_knob *knob)
{
    const char *text = strstr(schedule, knob->name);
    return text && text[strlen(knob->name)] == '=';
}

/* The schedule's values, and for the rest those of the default. */
static bool is_candidate(const char *schedule, const struct kernel_variant *candidate,
                         const struct kernel_variant *standard)
{
    for (const char *at = schedule; at; at = strchr(at, ',') ? strchr(at, ',') + 1 : NULL) {
        size_t length = strcspn(at, "=");
        if (value_of(candidate, at, length) != strtoll(at + length + 1, NULL, 10))
            return false;
    }
    for (int i = 0; i < candidate->knobs.count; i++) {
        const struct kernel_knob *knob = &candidate->knobs.data[i];
        if (!names_knob(schedule, knob) && knob->value != value_of(standard, knob->name, strlen(knob->name)))
            return false;
    }
    return true;
}

static int find_candidate(const char *schedule, int count, const struct kernel_variant *candidates)
{
    for (int i = 0; i < count; i++)
        if (is_candidate(schedule, &candidates[i], &candidates[0]))
            return i;
    printf("no candidate %s\n", schedule);
    exit(1);
}

/* "BM=64,BN=64" of "BM=64,BN=64,split_k=4": the compiler's own names begin with small letters. */
static const char *tile_of(struct arena *arena, const char *schedule)
{
    const char *end = schedule;
    while (*end >= 'A' && *end <= 'Z') {
        end += strcspn(end, ",");
        if (*end)
            end++;
    }
    if (end > schedule && end[-1] == ',')
        end--;
    return arena_printf(arena, "%.*s", (int)(end - schedule), schedule);
}

static int64_t modelled_of(const struct kernel_entry *entry, const struct kernel_variant *variant, struct arena *arena,
                           const struct row *row)
{
    int64_t *names = ARENA_ARRAY(arena, int64_t, entry->names.count),
            *scalars = ARENA_ARRAY(arena, int64_t, entry->parameters.count),
            *pitches = ARENA_ARRAY(arena, int64_t, entry->parameters.count);
    for (int i = 0; i < entry->parameters.count; i++)
        for (int k = 0; k < row->names; k++)
            if (strcmp(entry->parameters.data[i].name, row->extent[k].name) == 0)
                pitches[i] = row->extent[k].value;
    for (int i = 0; i < entry->names.count; i++)
        for (int k = 0; k < row->names; k++)
            if (strcmp(entry->names.data[i].name, row->extent[k].name) == 0)
                names[i] = row->extent[k].value;
    struct expression_point point = {names, variant->key_values, scalars, pitches, 132};
    return expression_value(&point, schedule_cost_of(arena, entry, variant).modelled);
}

static void add_loss(struct losses *losses, const struct row *row, double loss)
{
    losses->count++;
    losses->sum += loss;
    if (loss <= losses->worst)
        return;
    losses->worst = loss;
    losses->where = row;
}

/* What the code relied on: of products, whose elements have 2 bytes, the table states pitches. */
static const char *facts_of(const struct row *row)
{
    int64_t pitches = 0;
    for (int i = 0; i < row->names; i++)
        if (strchr("ab", row->extent[i].name[0]) && !row->extent[i].name[1])
            pitches |= row->extent[i].value;
    return pitches % 8 == 0 ? "aligned" : row->by_words ? "words" : "general";
}

static const char *last_word(const char *facts) { return strrchr(facts, ' ') ? strrchr(facts, ' ') + 1 : facts; }

/* Those that some schedule of the table has. */
static int choose_tiles(const struct checking *c, int count, const struct kernel_variant *candidates, int most,
                        struct kernel_choice *choices)
{
    int chosen = 0;
    for (int i = 0; i < count && chosen < most; i++)
        for (int r = 0; r < c->count; r++) {
            bool has = false;
            for (int k = 0; k < c->rows[r].members; k++)
                has |= is_candidate(tile_of(c->arena, c->rows[r].schedule[k]), &candidates[i], &candidates[0]);
            if (i && !has)
                continue;
            choices[chosen++].candidate = i;
            break;
        }
    return chosen;
}

static int choose(void *context, const struct kernel_entry *entry, int count, const struct kernel_variant *candidates,
                  enum kernel_choosing what, int most, struct kernel_choice *choices)
{
    struct checking *c = context;
    if (what == KERNEL_CHOOSES_TILES)
        return choose_tiles(c, count, candidates, most, choices);
    for (int r = 0; r < c->count; r++) {
        const struct row *row = &c->rows[r];
        int taken = 0, best = 0;
        int64_t least = INT64_MAX;
        if (strcmp(facts_of(row), last_word(candidates[0].facts)) != 0)
            continue;
        for (int i = 0; i < row->members; i++) {
            const struct kernel_variant *candidate = &candidates[find_candidate(row->schedule[i], count, candidates)];
            int64_t time = modelled_of(entry, candidate, c->arena, row);
            best = row->time[i] < row->time[best] ? i : best;
            taken = time < least ? i : taken;
            least = time < least ? time : least;
        }
        add_loss(&c->losses, row, log(row->time[taken] / row->time[best]));
    }
    return 0;
}

/* ---- all of it ---- */

static bool is_same_instance(const struct row *a, const struct row *b)
{
    return strcmp(a->file, b->file) == 0 && strcmp(a->instance, b->instance) == 0;
}

static void tell(const char *what, const struct losses *losses)
{
    printf("%-60s %3d shapes: %5.2f %% lost in the mean, %5.1f %% at most", what, losses->count,
           100 * (exp(losses->sum / losses->count) - 1), 100 * (exp(losses->worst) - 1));
    for (int i = 0; losses->where && i < losses->where->names; i++)
        printf(" %s=%lld", losses->where->extent[i].name, (long long)losses->where->extent[i].value);
    puts("");
}

int main(void)
{
    struct arena *arena = arena_create();
    struct row *rows = ARENA_ARRAY(arena, struct row, MOST_ROWS);
    struct losses all = {0};
    int count = read_table(arena, "tests/passes/members-h200.csv", false, rows);
    count += read_table(arena, "tests/passes/space-h200.csv", false, rows + count);
    count += read_table(arena, "tests/passes/words-h100.csv", true, rows + count);
    for (int first = 0, end; first < count; first = end) {
        for (end = first; end < count && is_same_instance(&rows[first], &rows[end]);)
            end++;
        struct checking c = {arena, rows + first, end - first, {0}};
        compile_example(arena, diagnostics_create(arena), c.rows->file, c.rows->instance, 8, choose, &c);
        if (c.losses.count < c.count)
            fail("nothing was chosen", c.losses.count);
        tell(arena_printf(arena, "%s %s", rows[first].file, rows[first].instance), &c.losses);
        all.count += c.losses.count;
        all.sum += c.losses.sum;
        if (c.losses.worst > all.worst) {
            all.worst = c.losses.worst;
            all.where = c.losses.where;
        }
    }
    tell("all", &all);
    if (exp(all.sum / all.count) > 1.03)
        fail("the model loses too much in the mean", exp(all.sum / all.count));
    if (exp(all.worst) > 1.15)
        fail("the model loses too much once", exp(all.worst));
    arena_destroy(arena);
    return failures != 0;
}
