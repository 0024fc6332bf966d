/* The model of schedules against times that were measured: products by eight tiles and 96 shapes.  What the model takes must
 * lose little against the best of the eight, with what the wrapper evaluates, and the set that it makes must contain
 * what pays. */
#include <math.h>

#include "passes/schedules/expressions.h"
#include "passes/schedules/schedule_cost.h"
#include "passes/schedules/schedules.h"
#include "passes/modelled.h"

enum { TILES = 8, MOST_ROWS = 100 };
struct row {
    int64_t extent[3]; /* M, N, K */
    int64_t pitch[2];  /* of a and b */
    double time[TILES];
};
struct table {
    int tile[TILES][3]; /* BM, BN, BK */
    struct row rows[MOST_ROWS];
    int count;
};
struct checking {
    struct schedule_chooser chooser;
    struct table table;
    int asked, tiles, candidates, chosen, chosen_by_words, chosen_anywhere; /* the last: where views lie anywhere */
};

static void read_table(struct arena *arena, struct table *table)
{
    const char *at = strchr(read_text(arena, "tests/passes/products-h200.csv"), '\n') + 1;
    at += strlen("M,N,K,layout");
    for (int t = 0; t < TILES; t++)
        for (int i = 0; i < 3; i++)
            table->tile[t][i] = (int)strtol(at + 1, (char **)&at, 10);
    for (at++; *at && table->count < MOST_ROWS; at++) {
        struct row *row = &table->rows[table->count++];
        for (int i = 0; i < 3; i++, at++)
            row->extent[i] = strtoll(at, (char **)&at, 10);
        row->pitch[0] = at[0] == 'N' ? row->extent[2] : row->extent[0];
        row->pitch[1] = at[1] == 'N' ? row->extent[1] : row->extent[2];
        at = strchr(at, ',');
        for (int t = 0; t < TILES; t++)
            row->time[t] = strtod(at + 1, (char **)&at);
    }
}

static int64_t knob_of(const struct kernel_variant *variant, const char *name)
{
    for (int i = 0; i < variant->knobs.count; i++)
        if (strcmp(variant->knobs.data[i].name, name) == 0)
            return variant->knobs.data[i].value;
    return 0;
}

static int find_tile(const int *tile, int count, const struct kernel_variant *candidates)
{
    for (int i = 0; i < count; i++)
        if (knob_of(&candidates[i], "BM") == tile[0] && knob_of(&candidates[i], "BN") == tile[1] &&
            knob_of(&candidates[i], "BK") == tile[2] && knob_of(&candidates[i], "split_k") < 2)
            return i;
    printf("no candidate %d x %d x %d\n", tile[0], tile[1], tile[2]);
    exit(1);
}

static int64_t value_of(const struct kernel_entry *entry, const struct kernel_variant *variant,
                        const struct kernel_expression *e, const struct row *row)
{
    int64_t names[8] = {0}, scalars[16] = {0}, pitches[16] = {0};
    for (int i = 0; i < entry->parameters.count; i++)
        if (strchr("ab", entry->parameters.data[i].name[0]) && !entry->parameters.data[i].name[1])
            pitches[i] = row->pitch[entry->parameters.data[i].name[0] - 'a'];
    for (int i = 0; i < entry->names.count; i++)
        names[i] = row->extent[strchr("MNK", entry->names.data[i].name[0]) - "MNK"];
    struct expression_point point = {names, variant->key_values, scalars, pitches, 132};
    return expression_value(&point, e);
}

/* The mean of what the tile that is modelled as the fastest loses against the one that was. */
static void check_losses(const struct table *table, const struct kernel_entry *entry, int count,
                         const struct kernel_variant *candidates, struct arena *arena)
{
    struct schedule_cost costs[TILES];
    double sum = 0, worst = 0;
    for (int t = 0; t < TILES; t++)
        costs[t] = schedule_cost_of(arena, entry, &candidates[find_tile(table->tile[t], count, candidates)]);
    for (int i = 0; i < table->count; i++) {
        const struct row *row = &table->rows[i];
        int taken = 0, best = 0;
        int64_t least = INT64_MAX;
        for (int t = 0; t < TILES; t++) {
            int64_t time = value_of(entry, &candidates[0], costs[t].modelled, row);
            best = row->time[t] < row->time[best] ? t : best;
            taken = time < least ? t : taken;
            least = time < least ? time : least;
        }
        double loss = log(row->time[taken] / row->time[best]);
        if (loss > 0.1)
            printf("%d x %d x %d: %.1f %% lost by %d x %d x %d, beside %d x %d x %d\n", (int)row->extent[0],
                   (int)row->extent[1], (int)row->extent[2], 100 * (exp(loss) - 1), table->tile[taken][0],
                   table->tile[taken][1], table->tile[taken][2], table->tile[best][0], table->tile[best][1],
                   table->tile[best][2]);
        sum += loss;
        worst = loss > worst ? loss : worst;
    }
    printf("%d shapes: the choice loses %.2f %% in the mean, %.1f %% at most\n", table->count,
           100 * (exp(sum / table->count) - 1), 100 * (exp(worst) - 1));
    if (exp(sum / table->count) > 1.015)
        fail("the model loses too much in the mean", exp(sum / table->count));
    if (exp(worst) > 1.15)
        fail("the model loses too much once", exp(worst));
}

/* At each shape the first whose `when` holds has the least modelled time of the set, and of equals it is the first. */
static void check_conditions(const struct table *table, const struct kernel_entry *entry,
                             const struct kernel_variant *candidates, int count, const struct kernel_choice *choices)
{
    bool seen[16] = {false};
    for (int i = 0; i < table->count; i++) {
        int taken = 0, best = 0;
        int64_t least = INT64_MAX;
        while (choices[taken].when && !value_of(entry, candidates, choices[taken].when, &table->rows[i]))
            taken++;
        for (int c = 0; c < count; c++) {
            int64_t time = value_of(entry, candidates, choices[c].modelled, &table->rows[i]);
            best = time < least ? c : best;
            least = time < least ? time : least;
        }
        seen[taken] = true;
        if (taken != best)
            fail("the conditions take another than the least", taken);
    }
    for (int c = 0; c < count; c++)
        if (!seen[c])
            fail("a member of the set is taken nowhere", c);
    if (choices[count - 1].when)
        fail("the last has a condition", count);
}

static int choose(void *context, const struct kernel_entry *entry, int count, const struct kernel_variant *candidates,
                  enum kernel_choosing what, int most, struct kernel_choice *choices)
{
    struct checking *c = context;
    bool aligned = strstr(candidates[0].facts, "aligned") != NULL;
    int chosen = 0;
    if (what == KERNEL_CHOOSES_TILES) {
        c->tiles = count;
        if (aligned)
            check_losses(&c->table, entry, count, candidates, c->chooser.arena);
        return schedules_choose(&c->chooser, entry, count, candidates, what, most, choices);
    }
    c->asked++;
    c->candidates = count;
    for (int n = 1; n <= most; n++) {
        chosen = schedules_choose(&c->chooser, entry, count, candidates, what, n, choices);
        if (chosen > n || choices[0].candidate != 0)
            fail("a set is not what was asked for", n);
        if (aligned)
            check_conditions(&c->table, entry, candidates, chosen, choices);
    }
    bool by_words = strstr(candidates[0].facts, "words") != NULL;
    *(aligned ? &c->chosen : by_words ? &c->chosen_by_words : &c->chosen_anywhere) = chosen;
    return chosen;
}

int main(void)
{
    struct arena *arena = arena_create();
    struct diagnostics *diagnostics = diagnostics_create(arena);
    struct checking checking = {.chooser = {arena, diagnostics, false}};
    read_table(arena, &checking.table);
    if (checking.table.count != 96)
        fail("rows of the table", checking.table.count);
    struct kernel_module *module = compile_example(arena, diagnostics, "matmul.tile", "matmul<bf16, bf16>", 4, choose,
                                                   &checking);
    const struct kernel_entry *entry = &module->entries.data[0];
    if (checking.asked != 3)
        fail("a choice serves all aligned instances of the same keys, one those by words, and one the others",
             checking.asked);
    if (checking.tiles < 40 || checking.candidates < 60)
        fail("candidates", checking.candidates);
    if (entry->variants.count != 4 * checking.chosen + 4 * checking.chosen_by_words + 3 * checking.chosen_anywhere ||
        checking.chosen != 4 || checking.chosen_by_words != 2 || checking.chosen_anywhere != 2)
        fail("instances", entry->variants.count);
    arena_destroy(arena);
    return failures != 0;
}
