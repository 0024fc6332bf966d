/* The space that `tune` spans for an instance: every choice of its names that meets the conditions, for `tilecc tune`. */
#include "front/front.h"
#include "front/kernels/kernel_plan.h"

#include <string.h>

enum { MOST_CHOICES = 1 << 18 };

static const char *text_of(struct elaborator *e, struct value value)
{
    struct buffer text = {0};
    value_print_constant(&text, value);
    const char *copy = arena_string(e->arena, text.data);
    buffer_free(&text);
    return copy;
}

/* Of the compiler's own names the processor knows this one alone. */
static bool does_something(const struct knob *knob, const char *target)
{
    return !knob->known || strcmp(target, "cpu") != 0 || strcmp(knob->name, "split_k") == 0;
}

/* What --spec can ask for of one knob, its default in front.  A bool of the compiler's own has no set, and two values. */
static int list_values(const struct knob *knob, const char *target, const struct domain *set, struct value chosen,
                       struct value *values)
{
    bool is_bool = strcmp(knob->name, "persistent") == 0;
    int count = 0;
    values[count++] = chosen;
    if (!does_something(knob, target))
        return count;
    for (int i = 0; i < set->count && count <= UINT8_MAX; i++)
        if (set->data[i].kind != VALUE_ENUMERATOR && !value_same(set->data[i], chosen))
            values[count++] = set->data[i];
    for (int truth = 0; is_bool && !set->count && truth < 2; truth++)
        values[count++] = value_bool(truth, knob->at);
    return count;
}

bool knobs_span(struct elaborator *e, const struct ast_declaration *kernel, const struct tuning *tuning,
                const char *target, const struct value *defaults, struct front_space *space)
{
    int names = tuning->count, tries = 0, hold = 1;
    struct domain *sets = ARENA_ARRAY(e->arena, struct domain, names);
    struct value *values = ARENA_ARRAY(e->arena, struct value, names),
                 **choice = ARENA_ARRAY(e->arena, struct value *, names);
    uint64_t *among = ARENA_ARRAY(e->arena, uint64_t, names);
    VECTOR(unsigned char) taken = {0};
    if (!knobs_read_sets(e, kernel, tuning, sets, values, among))
        return false;
    *space = (struct front_space){.name_count = names,
                                  .names = ARENA_ARRAY(e->arena, const char *, names),
                                  .value_counts = ARENA_ARRAY(e->arena, int, names),
                                  .values = ARENA_ARRAY(e->arena, const char **, names)};
    for (int i = 0; i < names; i++) {
        const struct ast_item *item = tuning->data[i].item;
        bool open = tuning->data[i].known && defaults[i].kind == VALUE_INTEGER && defaults[i].integer == 0 &&
                    !item->value;
        choice[i] = ARENA_ARRAY(e->arena, struct value, UINT8_MAX + 3);
        space->names[i] = tuning->data[i].name;
        space->value_counts[i] = list_values(&tuning->data[i], target, &sets[i], defaults[i], choice[i]);
        space->values[i] = ARENA_ARRAY(e->arena, const char *, space->value_counts[i]);
        for (int k = 0; k < space->value_counts[i]; k++)
            space->values[i][k] = open && !k ? NULL : text_of(e, choice[i][k]);
    }
    int *at = ARENA_ARRAY(e->arena, int, names);
    do {
        for (int i = 0; i < names; i++)
            values[i] = choice[i][at[i]];
        knobs_bind(e, tuning, values);
        hold = knobs_hold(e, kernel, NULL);
        for (int i = 0; hold == 1 && i < names; i++)
            vector_push(e->arena, &taken, (unsigned char)at[i]);
        space->count += hold == 1;
    } while (hold >= 0 && knobs_step(names, space->value_counts, at) && ++tries < MOST_CHOICES);
    space->more = tries == MOST_CHOICES;
    space->taken = taken.data;
    knobs_bind(e, tuning, defaults);
    return hold >= 0;
}
