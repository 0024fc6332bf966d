/* Schedules: the knobs of `tune`.  This file reads their sets, defaults and conditions, and what `on`, -D and --spec
 * (spec.c) say of them, and chooses one value for each.
 *
 * A build takes the defaults.  If the defaults do not meet the conditions, it takes the first combination that does.
 * It looks first among those with every written default and what `on` says, then among those with what `on` says, then
 * among all.  A warning names each written value that was given up. */
#include "front/kernels/kernel_plan.h"

#include <string.h>

enum { MOST_TRIES = 200000 };

/* The compiler's own names, and what a machine could make of a number for each.  Whether a kernel can take it is found
 * later (settle_knobs). */
static const struct known_knob {
    const char *name;
    bool is_bool;
    int least, most;
} known_knobs[] = {
    {"warps", false, 1, 32},    {"stages", false, 1, 64},    {"consumers", false, 1, 7},   {"cluster", false, 1, 16},
    {"persistent", true, 0, 0}, {"raster", false, 1, 65535}, {"split_k", false, 1, 65535}, {"maxnreg", false, 24, 255},
};

static const struct known_knob *find_known(const char *name)
{
    for (size_t i = 0; i < sizeof known_knobs / sizeof *known_knobs; i++)
        if (strcmp(known_knobs[i].name, name) == 0)
            return &known_knobs[i];
    return NULL;
}

static bool is_known(const char *name) { return find_known(name) != NULL; }

/* "`warps` = 64" and what it can be, where the value of one of the compiler's own names makes no sense; else NULL. */
static const char *senseless(struct elaborator *e, const char *name, const struct value *value)
{
    const struct known_knob *known = find_known(name);
    if (!known || (value->kind == VALUE_BOOL && known->is_bool) ||
        (value->kind == VALUE_INTEGER && !known->is_bool && value->integer >= known->least &&
         value->integer <= known->most))
        return NULL;
    struct buffer text = {0};
    value_print_constant(&text, *value);
    const char *said = known->is_bool ? arena_printf(e->arena, "`%s` is true or false, not %s", name, text.data)
                                      : arena_printf(e->arena, "`%s` is a number from %d to %d, not %s", name,
                                                     known->least, known->most, text.data);
    buffer_free(&text);
    return said;
}

static void add_knob(struct elaborator *e, struct tuning *tuning, const char *name, const struct ast_item *item)
{
    for (int i = 0; i < tuning->count; i++)
        if (tuning->data[i].name == name) {
            front_report(e, DIAGNOSTIC_E0202, item->at, "`%s` is already in `tune`", name);
            return;
        }
    vector_push(e->arena, tuning, ((struct knob){name, item->at, item, is_known(name)}));
}

/* ---- names that nothing uses ---- */

static bool is_word_character(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
}

/* How often the word stands in the lines from `first` to `last`. */
static int count_word(const struct source *source, int first, int last, const char *word)
{
    size_t size = strlen(word);
    int line = 1, count = 0;
    const char *end = source->text + source->size;
    for (const char *at = source->text; at < end && line <= last; at++) {
        if (*at == '\n')
            line++;
        if (line < first || (size_t)(end - at) < size || memcmp(at, word, size))
            continue;
        bool begins = at == source->text || !is_word_character(at[-1]);
        if (begins && (at + size == end || !is_word_character(at[size])))
            count++;
    }
    return count;
}

/* A name that stands in `tune` and `on` alone chooses nothing.  Looks at the text, where comments count as uses:
 * nothing is blamed that is used. */
static void warn_of_unused(struct elaborator *e, const struct ast_declaration *kernel, const struct tuning *tuning)
{
    enum { LARGE_SOURCE = 1 << 18 }; /* the time would go with the square of it */
    for (int k = 0; k < tuning->count && kernel->at.source->size < LARGE_SOURCE; k++) {
        const struct knob *knob = &tuning->data[k];
        int mentions = 1;
        for (int c = 0; c < kernel->clauses.count; c++)
            for (int i = 0; kernel->clauses.data[c]->kind == CLAUSE_ON && i < kernel->clauses.data[c]->items.count; i++)
                mentions += kernel->clauses.data[c]->items.data[i]->name.text == knob->name;
        if (knob->known || !kernel->body || !knob->at.source ||
            count_word(knob->at.source, kernel->at.line, kernel->body->closing_at.line, knob->name) > mentions)
            continue;
        struct diagnostic *d = diag_report(e->front->diagnostics, DIAGNOSTIC_W1008, knob->at,
                                           "`%s` is used nowhere, so its value makes no difference", knob->name);
        static const struct {
            const char *foreign, *own;
        } names[] = {{"num_warps", "warps"},
                     {"num_stages", "stages"},
                     {"num_ctas", "cluster"},
                     {"num_consumer_groups", "consumers"}};
        for (size_t i = 0; i < sizeof names / sizeof *names; i++)
            if (strcmp(knob->name, names[i].foreign) == 0)
                front_note(e, d, knob->at, "the compiler's own name for it is `%s`", names[i].own);
        for (size_t i = 0; i < sizeof known_knobs / sizeof *known_knobs; i++)
            if (strlen(knob->name) > 3 && spelling_distance(knob->name, known_knobs[i].name, 3) < 3)
                front_note(e, d, knob->at, "did you mean the compiler's own `%s`?", known_knobs[i].name);
    }
}

void knobs_declare(struct elaborator *e, const struct ast_declaration *kernel, struct tuning *tuning)
{
    for (int c = 0; c < kernel->clauses.count; c++) {
        const struct ast_clause *clause = kernel->clauses.data[c];
        if (clause->kind != CLAUSE_TUNE)
            continue;
        for (int i = 0; i < clause->items.count; i++) {
            const struct ast_item *item = clause->items.data[i];
            if (item->kind == ITEM_DOMAIN)
                add_knob(e, tuning, item->name.text, item);
            else if (item->kind == ITEM_EXPRESSION && item->value->kind == EXPRESSION_NAME &&
                     is_known(item->value->name))
                add_knob(e, tuning, item->value->name, item);
            else if (item->kind == ITEM_ASSIGN)
                front_report(e, DIAGNOSTIC_E0403, item->at,
                             "an item of `tune` is `name: set = default`; `name = value` belongs into `on`");
        }
    }
    if (!kernel->broken)
        warn_of_unused(e, kernel, tuning);
}

/* ---- choosing ---- */

/* `on(sm_90, …)` holds for sm_90 and sm_90a, `on(sm_90a, …)` for that alone. */
static bool target_matches(const char *written, const char *target)
{
    size_t size = strlen(written);
    if (strncmp(written, target, size) != 0)
        return false;
    return target[size] == 0 || ((target[size] == 'a' || target[size] == 'f') && target[size + 1] == 0);
}

static bool target_name_good(const char *name)
{
    if (strcmp(name, "cpu") == 0)
        return true;
    if (strncmp(name, "sm_", 3) != 0)
        return false;
    size_t digits = strspn(name + 3, "0123456789");
    const char *rest = name + 3 + digits;
    return digits >= 2 && (*rest == 0 || ((*rest == 'a' || *rest == 'f') && rest[1] == 0));
}

static int find_knob(const struct tuning *tuning, const char *name)
{
    for (int i = 0; i < tuning->count; i++)
        if (strcmp(tuning->data[i].name, name) == 0)
            return i;
    return -1;
}

/* The knobs' sets. */
static bool check_members(struct elaborator *e, const struct knob *knob, const struct domain *set)
{
    for (int k = 0; k < set->count; k++) {
        if (set->data[k].kind != VALUE_INTEGER && set->data[k].kind != VALUE_BOOL &&
            set->data[k].kind != VALUE_ENUMERATOR) {
            front_report(e, DIAGNOSTIC_E0407, knob->item->domain->at,
                         "the values of a knob are integers, bools or members of an enum");
            return false;
        }
        const char *wrong = senseless(e, knob->name, &set->data[k]);
        if (wrong) {
            front_report(e, DIAGNOSTIC_E0403, knob->item->domain->at, "%s", wrong);
            return false;
        }
    }
    return true;
}

static bool is_member(const struct domain *set, const struct value *value)
{
    return set->count == 0 || domain_has(set, *value);
}

static bool is_condition(const struct ast_clause *clause, const struct ast_item *item)
{
    return clause->kind == CLAUSE_TUNE && item->kind == ITEM_EXPRESSION &&
           !(item->value->kind == EXPRESSION_NAME && is_known(item->value->name));
}

static bool is_that_name(const char *name, enum ast_use use, void *wanted)
{
    return use != AST_USE_CALLED && name == wanted;
}

/* Whether a clause computes with the name, which must have a value then. */
static bool is_computed_with(const struct ast_declaration *kernel, const char *name)
{
    for (int c = 0; c < kernel->clauses.count; c++) {
        const struct ast_clause *clause = kernel->clauses.data[c];
        for (int i = 0; i < clause->items.count; i++) {
            const struct ast_item *item = clause->items.data[i];
            if ((clause->kind != CLAUSE_TUNE || is_condition(clause, item)) && item->value &&
                ast_find_name(item->value, is_that_name, (void *)name))
                return true;
        }
    }
    return false;
}

/* What the compiler takes of a set without a default, for a name of its own: 0, it finds the member later, from
 * `among` where that is none of all. */
static struct value choose_member(const char *name, const struct domain *set, uint64_t *among)
{
    struct value least = set->data[0], most = set->data[0], open = value_integer(0, set->data[0].at);
    bool has_one = false;
    uint64_t members = 0;
    for (int i = 0; i < set->count && least.kind == VALUE_INTEGER; i++) {
        const struct value *member = &set->data[i];
        least = member->integer < least.integer ? *member : least;
        most = member->integer > most.integer ? *member : most;
        has_one = has_one || member->integer == 1;
        members |= member->integer < 64 ? UINT64_C(1) << member->integer : 0;
    }
    if (set->count == 1)
        return set->data[0];
    if (strcmp(name, "persistent") == 0)
        return open; /* both */
    if (strcmp(name, "maxnreg") == 0)
        return most;
    if (strcmp(name, "cluster") == 0 || strcmp(name, "split_k") == 0)
        return has_one ? open : least;
    if (most.integer >= 64)
        return set->data[0];
    *among = members;
    return open;
}

/* Sets of all knobs.  A knob that the compiler knows, bare or with a set but no default, leaves the choice to it: 0,
 * with the set in `among`. */
bool knobs_read_sets(struct elaborator *e, const struct ast_declaration *kernel, const struct tuning *tuning,
                     struct domain *sets, struct value *values, uint64_t *among)
{
    for (int i = 0; i < tuning->count; i++) {
        const struct ast_item *item = tuning->data[i].item;
        sets[i] = (struct domain){0};
        values[i] = value_integer(0, item->at);
        if (item->kind != ITEM_DOMAIN)
            continue;
        if (!domain_evaluate(e, item->domain, tuning->data[i].name, &sets[i]))
            return false;
        if (sets[i].count == 0) {
            front_report(e, DIAGNOSTIC_E0407, item->domain->at, "list the values of `%s`, such as `{64, 128}`",
                         tuning->data[i].name);
            return false;
        }
        if (!check_members(e, &tuning->data[i], &sets[i]))
            return false;
        if (!item->value && tuning->data[i].known && !is_computed_with(kernel, tuning->data[i].name)) {
            values[i] = choose_member(tuning->data[i].name, &sets[i], &among[i]);
            continue;
        }
        values[i] = sets[i].data[0];
        if (!item->value)
            continue;
        e->in_set = true;
        values[i] = elaborate_value(e, item->value);
        e->in_set = false;
        if (value_is_error(values[i]))
            return false;
        if (!is_member(&sets[i], &values[i])) {
            front_report(e, DIAGNOSTIC_E0403, item->value->at, "the default of `%s` is not in its set",
                         tuning->data[i].name);
            return false;
        }
    }
    return true;
}

/* The target that an `on` names; NULL: reported. */
static const char *read_on_target(struct elaborator *e, const struct ast_clause *clause)
{
    const struct ast_item *first = clause->items.count ? clause->items.data[0] : NULL;
    bool (*is_target)(const char *) = e->front->options->is_target;
    if (!first || first->kind != ITEM_EXPRESSION || first->value->kind != EXPRESSION_NAME ||
        !target_name_good(first->value->name)) {
        front_report(e, DIAGNOSTIC_E0403, first ? first->at : clause->at,
                     "`on` begins with a target, such as `on(sm_90, BN = 256)` or `on(cpu, BM = 32)`");
        return NULL;
    }
    if (is_target && !is_target(first->value->name)) {
        front_report(e, DIAGNOSTIC_E0403, first->at, "there is no target `%s`; `tilecc --print-targets` lists them",
                     first->value->name);
        return NULL;
    }
    return first->value->name;
}

/* Whether an `on` for the same target before this clause gives the name a value, too. */
static bool is_given_before(const struct ast_declaration *kernel, const struct ast_clause *clause, const char *target,
                            const char *name)
{
    for (int c = 0; c < kernel->clauses.count && kernel->clauses.data[c] != clause; c++) {
        const struct ast_clause *before = kernel->clauses.data[c];
        const struct ast_item *first = before->items.count ? before->items.data[0] : NULL;
        if (before->kind != CLAUSE_ON || !first || first->kind != ITEM_EXPRESSION ||
            first->value->kind != EXPRESSION_NAME || strcmp(first->value->name, target) != 0)
            continue;
        for (int i = 1; i < before->items.count; i++)
            if (before->items.data[i]->kind == ITEM_ASSIGN && before->items.data[i]->name.text == name)
                return true;
    }
    return false;
}

static void read_on(struct elaborator *e, const struct ast_declaration *kernel, const struct ast_clause *clause,
                    const struct tuning *tuning, const struct domain *sets, const char *target, struct value *values,
                    bool *fixed)
{
    const char *named = read_on_target(e, clause);
    if (!named)
        return;
    for (int i = 1; i < clause->items.count; i++) {
        const struct ast_item *item = clause->items.data[i];
        int knob = item->kind == ITEM_ASSIGN ? find_knob(tuning, item->name.text) : -1;
        if (knob < 0) {
            front_report(e, DIAGNOSTIC_E0403, item->at,
                         item->kind == ITEM_ASSIGN ? "`%s` is not in `tune`" : "an item of `on` is `name = value`",
                         item->name.text);
            continue;
        }
        if (is_given_before(kernel, clause, named, item->name.text)) {
            front_report(e, DIAGNOSTIC_E0403, item->at, "another `on` gives `%s` for %s, too", item->name.text, named);
            continue;
        }
        struct value v = elaborate_value(e, item->value);
        const char *wrong = value_is_error(v) ? NULL : senseless(e, tuning->data[knob].name, &v);
        if (!value_is_error(v) && !value_is_constant(v))
            front_report(e, DIAGNOSTIC_E0501, item->at, "the value of a knob is known when compiling");
        else if (wrong)
            front_report(e, DIAGNOSTIC_E0403, item->at, "%s", wrong);
        else if (!value_is_error(v) && !is_member(&sets[knob], &v))
            front_report(e, DIAGNOSTIC_E0403, item->at, "what `on` gives `%s` is not in its set", item->name.text);
        else if (!value_is_error(v) && target_matches(named, target)) {
            values[knob] = v;
            fixed[knob] = true;
        }
    }
}

void knobs_bind(struct elaborator *e, const struct tuning *tuning, const struct value *values)
{
    for (int i = 0; i < tuning->count; i++) {
        struct binding *binding = scope_find(e, tuning->data[i].name);
        if (!binding || binding->kind != BINDING_TUNE)
            binding = scope_bind(e, BINDING_TUNE, (struct ast_name){tuning->data[i].name, tuning->data[i].at},
                                 values[i]);
        binding->value = values[i];
        binding->value.at = tuning->data[i].at;
    }
}

/* 1: all conditions, or `only` that one, hold, 0: one does not, -1: reported. */
int knobs_hold(struct elaborator *e, const struct ast_declaration *kernel, const struct ast_item *only)
{
    for (int c = 0; c < kernel->clauses.count; c++) {
        const struct ast_clause *clause = kernel->clauses.data[c];
        for (int i = 0; i < clause->items.count; i++) {
            const struct ast_item *item = clause->items.data[i];
            if (!is_condition(clause, item) || (only && item != only))
                continue;
            struct value v = elaborate_condition(e, item->value, "a condition of `tune`");
            if (value_is_error(v))
                return -1;
            if (v.kind != VALUE_BOOL) {
                front_report(e, DIAGNOSTIC_E0501, item->at,
                             "a condition of `tune` is known when compiling; extents and arguments are not");
                return -1;
            }
            if (!v.truth)
                return 0;
        }
    }
    return 1;
}

bool knobs_step(int count, const int *limits, int *at)
{
    for (int i = count - 1; i >= 0; i--) {
        at[i] = at[i] + 1 < limits[i] ? at[i] + 1 : 0;
        if (at[i])
            return true;
    }
    return false;
}

/* All combinations in order until the conditions, or `only` that one, hold. */
static int search(struct elaborator *e, const struct ast_declaration *kernel, const struct tuning *tuning,
                  const struct domain *sets, const bool *fixed, struct value *values, const struct ast_item *only)
{
    int *at = ARENA_ARRAY(e->arena, int, tuning->count), *limits = ARENA_ARRAY(e->arena, int, tuning->count), tries = 0;
    for (int i = 0; i < tuning->count; i++)
        limits[i] = fixed[i] ? 0 : sets[i].count;
    do {
        for (int i = 0; i < tuning->count; i++)
            values[i] = limits[i] ? sets[i].data[at[i]] : values[i];
        knobs_bind(e, tuning, values);
        int hold = knobs_hold(e, kernel, only);
        if (hold != 0)
            return hold;
    } while (++tries < MOST_TRIES && knobs_step(tuning->count, limits, at));
    return 0;
}

/* No choice of the knobs that -D and --spec leave open meets the conditions.  Where the source alone has one, the
 * command is to blame: says its words and the condition that they rule out. */
static void report_conditions(struct elaborator *e, const struct ast_declaration *kernel, const struct tuning *tuning,
                              const struct domain *sets, const bool *fixed, struct value *values)
{
    struct buffer asked = {0};
    struct location at = kernel->at;
    const struct ast_item *broken = NULL;
    for (int i = 0; i < tuning->count; i++) {
        if (!fixed[i])
            continue;
        buffer_printf(&asked, "%s%s = ", asked.size ? ", " : "", tuning->data[i].name);
        value_print_constant(&asked, values[i]);
    }
    for (int c = 0; c < kernel->clauses.count; c++) {
        const struct ast_clause *clause = kernel->clauses.data[c];
        if (clause->kind == CLAUSE_TUNE)
            at = clause->at;
        for (int i = 0; i < clause->items.count && !broken; i++)
            if (is_condition(clause, clause->items.data[i]) &&
                search(e, kernel, tuning, sets, fixed, values, clause->items.data[i]) == 0)
                broken = clause->items.data[i];
    }
    bool *none = ARENA_ARRAY(e->arena, bool, tuning->count);
    for (int i = 0; i < tuning->count; i++)
        if (sets[i].count == 0)
            values[i] = value_integer(0, tuning->data[i].at); /* what has no set: left open */
    if (!asked.size || search(e, kernel, tuning, sets, none, values, NULL) != 1)
        front_report(e, DIAGNOSTIC_E0405, at, "no combination of `tune` meets its conditions");
    else if (broken)
        front_report(e, DIAGNOSTIC_E0414, broken->at, "%s, as asked for on the command line, rules out `%s`",
                     asked.data, front_source(e, broken->value));
    else
        front_report(e, DIAGNOSTIC_E0414, at,
                     "with %s, as asked for on the command line, no values of the other names "
                     "meet all conditions of `tune`",
                     asked.data);
    buffer_free(&asked);
}

/* Values that the source writes gave way, though the command asked for nothing: says which. */
static void warn_of_defaults(struct elaborator *e, const struct tuning *tuning, const bool *written,
                             const struct value *wanted, const struct value *taken)
{
    struct buffer before = {0}, after = {0};
    struct location at = {0};
    for (int i = 0; i < tuning->count; i++) {
        if (!written[i] || value_same(wanted[i], taken[i]))
            continue;
        if (!before.size)
            at = tuning->data[i].at;
        buffer_printf(&before, "%s`%s` = ", before.size ? ", " : "", tuning->data[i].name);
        value_print_constant(&before, wanted[i]);
        buffer_printf(&after, "%s`%s` = ", after.size ? ", " : "", tuning->data[i].name);
        value_print_constant(&after, taken[i]);
    }
    if (before.size)
        front_report(e, DIAGNOSTIC_W1010, at, "nothing with %s meets the conditions of `tune`: %s instead", before.data,
                     after.data);
    buffer_free(&before);
    buffer_free(&after);
}

/* The first combination that meets the conditions, where the defaults in `values` do not.  fixed: what `on` and the
 * command say.  1, 0: none, -1: reported. */
static int search_in_turn(struct elaborator *e, const struct ast_declaration *kernel, const struct tuning *tuning,
                          const struct domain *sets, const struct spec *spec, bool *fixed, struct value *values)
{
    struct value *wanted = ARENA_ARRAY(e->arena, struct value, tuning->count);
    bool *written = ARENA_ARRAY(e->arena, bool, tuning->count), asked = false;
    for (int i = 0; i < tuning->count; i++) {
        wanted[i] = values[i];
        written[i] = fixed[i] || (tuning->data[i].item->kind == ITEM_DOMAIN && tuning->data[i].item->value);
    }
    int hold = search(e, kernel, tuning, sets, written, values, NULL);
    if (hold != 0)
        return hold;
    hold = search(e, kernel, tuning, sets, fixed, values, NULL);
    for (int i = 0; i < tuning->count; i++) { /* what `on` says gives way before what -D says */
        struct value ignored;
        fixed[i] = spec_value(e->front, spec, tuning->data[i].name, &ignored);
        asked = asked || fixed[i];
    }
    if (hold == 0)
        hold = search(e, kernel, tuning, sets, fixed, values, NULL);
    if (hold == 1 && !asked)
        warn_of_defaults(e, tuning, written, wanted, values);
    return hold;
}

/* A value from -D or --spec must be one that can be meant: a number or a bool, of the knob's set where it has one. */
static void check_fixed(struct elaborator *e, const struct ast_declaration *kernel, const struct spec *spec,
                        const struct knob *knob, const struct domain *set, const struct value *value)
{
    const char *wrong = senseless(e, knob->name, value);
    if (wrong)
        front_report(e, DIAGNOSTIC_E0414, knob->at, "as asked for on the command line: %s", wrong);
    if (wrong || is_member(set, value))
        return;
    struct buffer text = {0};
    value_print_constant(&text, *value);
    struct diagnostic *d = front_report(e, DIAGNOSTIC_E0414, knob->at,
                                        "`%s` = %s, as asked for on the command line, is not in its set", knob->name,
                                        text.data);
    if (!spec_has(spec, knob->name))
        spec_note_define(e->front, d, kernel, knob->name);
    buffer_free(&text);
}

/* The sets of all knobs, their values as the source, `on` and the command say, and which of them are said by the last
 * two.  False: reported. */
static bool read_given(struct elaborator *e, const struct ast_declaration *kernel, const struct tuning *tuning,
                       const char *target, const struct spec *spec, struct domain *sets, bool *fixed,
                       struct schedule *schedule)
{
    struct value *values = schedule->tuned = ARENA_ARRAY(e->arena, struct value, tuning->count);
    schedule->among = ARENA_ARRAY(e->arena, uint64_t, tuning->count);
    if (!knobs_read_sets(e, kernel, tuning, sets, values, schedule->among))
        return false;
    int errors = e->errors;
    for (int exact = 0; exact < 2; exact++) /* `on(sm_90a, …)` after `on(sm_90, …)` */
        for (int c = 0; c < kernel->clauses.count; c++) {
            const struct ast_clause *clause = kernel->clauses.data[c];
            if (clause->kind != CLAUSE_ON)
                continue;
            const struct ast_item *first = clause->items.count ? clause->items.data[0] : NULL;
            bool is_exact = first && first->kind == ITEM_EXPRESSION && first->value->kind == EXPRESSION_NAME &&
                            strcmp(first->value->name, target) == 0;
            if (is_exact == (exact == 1))
                read_on(e, kernel, clause, tuning, sets, target, values, fixed);
        }
    for (int i = 0; i < tuning->count; i++) {
        if (!spec_value(e->front, spec, tuning->data[i].name, &values[i]))
            continue;
        fixed[i] = true;
        check_fixed(e, kernel, spec, &tuning->data[i], &sets[i], &values[i]);
    }
    return errors == e->errors;
}

bool knobs_choose(struct elaborator *e, const struct ast_declaration *kernel, const struct tuning *tuning,
                  const char *target, const struct spec *spec, struct schedule *schedule)
{
    struct domain *sets = ARENA_ARRAY(e->arena, struct domain, tuning->count);
    bool *fixed = ARENA_ARRAY(e->arena, bool, tuning->count);
    if (!read_given(e, kernel, tuning, target, spec, sets, fixed, schedule))
        return false;
    knobs_bind(e, tuning, schedule->tuned);
    int hold = knobs_hold(e, kernel, NULL);
    if (hold == 0)
        hold = search_in_turn(e, kernel, tuning, sets, spec, fixed, schedule->tuned);
    if (hold == 0)
        report_conditions(e, kernel, tuning, sets, fixed, schedule->tuned);
    return hold == 1;
}

/* ---- a line of --tuning ---- */

/* The value that a text means for the knob; false: reported. */
static bool read_value(struct elaborator *e, const struct knob *knob, const struct domain *set,
                       const struct spec_item *item, struct location at, struct value *value)
{
    for (int i = 0; i < set->count; i++)
        if (spec_means(item->value, set->data[i])) {
            *value = set->data[i];
            return true;
        }
    bool is_read = !set->count && constant_read(item->value, at, value);
    const char *wrong = is_read ? senseless(e, knob->name, value) : NULL;
    if (is_read && !wrong)
        return true;
    struct diagnostic *d = wrong        ? front_report(e, DIAGNOSTIC_E0421, at, "%s", wrong)
                           : set->count ? front_report(e, DIAGNOSTIC_E0421, at, "`%s` is one of {%s}, not %s",
                                                       knob->name, spec_members(e->front, set), item->value)
                                        : front_report(e, DIAGNOSTIC_E0421, at, "`%s` is a number or a bool, not `%s`",
                                                       knob->name, item->value);
    front_note(e, d, knob->at, "`%s` is listed here", knob->name);
    return false;
}

/* The first condition that does not hold, of the values that are bound. */
static const struct ast_item *find_broken(struct elaborator *e, const struct ast_declaration *kernel)
{
    for (int c = 0; c < kernel->clauses.count; c++)
        for (int i = 0; i < kernel->clauses.data[c]->items.count; i++) {
            const struct ast_item *item = kernel->clauses.data[c]->items.data[i];
            if (is_condition(kernel->clauses.data[c], item) && knobs_hold(e, kernel, item) == 0)
                return item;
        }
    return NULL;
}

static void leave_out(struct elaborator *e, const struct tuned_line *line, const char *why)
{
    front_report(e, DIAGNOSTIC_W1208, line->at, "this schedule is left out: %s on the command line", why);
}

bool knobs_replace(struct elaborator *e, const struct ast_declaration *kernel, const struct tuning *tuning,
                   const struct spec *spec, struct schedule *schedule)
{
    const struct tuned_line *line = schedule->line;
    struct domain *sets = ARENA_ARRAY(e->arena, struct domain, tuning->count);
    struct value *defaults = ARENA_ARRAY(e->arena, struct value, tuning->count), asked;
    uint64_t *among = ARENA_ARRAY(e->arena, uint64_t, tuning->count);
    bool *given = ARENA_ARRAY(e->arena, bool, tuning->count), any_asked = false;
    if (!knobs_read_sets(e, kernel, tuning, sets, defaults, among))
        return false;
    for (int i = 0; i < line->values.items.count; i++) {
        const struct spec_item *item = &line->values.items.data[i];
        struct location at = tuning_place(line->at, item);
        int knob = find_knob(tuning, item->name);
        if (knob < 0 || given[knob]) {
            front_report(e, DIAGNOSTIC_E0421, at,
                         knob < 0 ? "`%s` is not in `tune` of `%s`" : "`%s` of `%s` has a value already", item->name,
                         kernel->name.text);
            return false;
        }
        if (!read_value(e, &tuning->data[knob], &sets[knob], item, at, &schedule->tuned[knob]))
            return false;
        given[knob] = true;
        schedule->among[knob] = 0;
    }
    for (int i = 0; i < tuning->count; i++) {
        if (!spec_value(e->front, spec, tuning->data[i].name, &asked))
            continue;
        any_asked = true;
        if (given[i] && !value_same(asked, schedule->tuned[i])) {
            leave_out(e, line, arena_printf(e->arena, "`%s` has another value", tuning->data[i].name));
            return false;
        }
    }
    knobs_bind(e, tuning, schedule->tuned);
    int hold = knobs_hold(e, kernel, NULL);
    if (hold != 0)
        return hold == 1;
    const struct ast_item *broken = find_broken(e, kernel);
    if (any_asked) {
        leave_out(e, line, "a condition of `tune` does not hold with the values");
        return false;
    }
    struct diagnostic *d = front_report(e, DIAGNOSTIC_E0421, line->at, "`tune` rules this schedule out");
    front_note(e, d, broken->at, "this does not hold: `%s`", front_source(e, broken->value));
    return false;
}

/* ---- candidates ---- */

/* The compiler's own names that candidates differ in, one at a time, and which of the members they take: of warps one
 * group, which two may take programs in turn, of stages the longest ring. */
static const struct open_knob {
    const char *name;
    enum { ALL_MEMBERS, ONE_GROUP, GREATEST, FALSE } takes;
} open_knobs[] = {{"split_k", ALL_MEMBERS},
                  {"cluster", ALL_MEMBERS},
                  {"warps", ONE_GROUP},
                  {"stages", GREATEST},
                  {"persistent", FALSE}};

static const struct open_knob *find_open(const char *name)
{
    for (size_t i = 0; i < sizeof open_knobs / sizeof *open_knobs; i++)
        if (strcmp(open_knobs[i].name, name) == 0)
            return &open_knobs[i];
    return NULL;
}

static bool is_taken(const struct open_knob *open, const struct domain *set, const struct value *member)
{
    if (open->takes != GREATEST)
        return open->takes == ALL_MEMBERS || member->integer == IR_WARPGROUP;
    for (int i = 0; i < set->count; i++)
        if (set->data[i].integer > member->integer)
            return false;
    return true;
}

/* What candidates take of a knob: what the default has, and what else is open where nobody has said it. */
static void list_members(struct elaborator *e, const struct knob *knob, const struct domain *set, struct value standard,
                         struct domain *members)
{
    const struct open_knob *open = knob->known ? find_open(knob->name) : NULL;
    if (knob->known && !open)
        return;
    if (!open || open->takes == ALL_MEMBERS) {
        bool whole = true;
        for (int i = 0; i < set->count; i++)
            whole = whole && set->data[i].kind == VALUE_INTEGER;
        if (whole && set->count > 1)
            *members = *set;
        return;
    }
    vector_push(e->arena, members, standard);
    if (open->takes == FALSE)
        vector_push(e->arena, members, value_bool(false, knob->at));
    for (int i = 0; i < set->count && open->takes != FALSE && set->count > 1; i++)
        if (is_taken(open, set, &set->data[i]))
            vector_push(e->arena, members, set->data[i]);
}

static bool is_same_schedule(const struct tuning *tuning, const struct value *a, const struct value *b)
{
    for (int i = 0; i < tuning->count; i++)
        if (!value_same(a[i], b[i]))
            return false;
    return true;
}

/* The member of a set at `number`; one part is no split, which is what is meant where nothing is said, too. */
static struct value member_of(const struct knob *knob, const struct domain *set, int number, struct value standard)
{
    bool is_one = knob->known && set->data[number].kind == VALUE_INTEGER && set->data[number].integer == 1;
    return is_one && standard.kind == VALUE_INTEGER && standard.integer <= 1 ? standard : set->data[number];
}

/* Adds what is bound, if it is another schedule than those that are there and meets the conditions. */
static void add_candidate(struct elaborator *e, const struct ast_declaration *kernel, const struct tuning *tuning,
                          const struct schedule *standard, const struct value *tuned, struct schedules *all)
{
    struct schedule one = *standard;
    for (int i = 0; i < all->count; i++)
        if (is_same_schedule(tuning, tuned, all->data[i].tuned))
            return;
    knobs_bind(e, tuning, tuned);
    if (knobs_hold(e, kernel, NULL) != 1)
        return;
    one.tuned = arena_copy(e->arena, tuned, sizeof *tuned * (size_t)tuning->count);
    one.among = arena_copy(e->arena, standard->among, sizeof *one.among * (size_t)tuning->count);
    for (int i = 0; i < tuning->count; i++)
        one.among[i] = value_same(tuned[i], standard->tuned[i]) ? one.among[i] : 0;
    vector_push(e->arena, all, one);
}

/* What is open of each knob of this kind, where neither `on` nor the command says what it is; false: reported. */
static bool list_open(struct elaborator *e, const struct ast_declaration *kernel, const struct tuning *tuning,
                      const char *target, const struct spec *spec, const struct schedule *standard, bool known,
                      struct domain *members)
{
    struct domain *sets = ARENA_ARRAY(e->arena, struct domain, tuning->count);
    bool *fixed = ARENA_ARRAY(e->arena, bool, tuning->count);
    struct schedule given = {0};
    if (!read_given(e, kernel, tuning, target, spec, sets, fixed, &given))
        return false;
    for (int i = 0; i < tuning->count; i++)
        if (!fixed[i] && tuning->data[i].known == known)
            list_members(e, &tuning->data[i], &sets[i], standard->tuned[i], &members[i]);
    return true;
}

void knobs_list_tiles(struct elaborator *e, const struct ast_declaration *kernel, const struct tuning *tuning,
                      const char *target, const struct spec *spec, const struct schedule *standard, int most,
                      struct schedules *all)
{
    struct domain *members = ARENA_ARRAY(e->arena, struct domain, tuning->count);
    int *at = ARENA_ARRAY(e->arena, int, tuning->count), *limits = ARENA_ARRAY(e->arena, int, tuning->count), tries = 0;
    vector_push(e->arena, all, *standard);
    if (!list_open(e, kernel, tuning, target, spec, standard, false, members))
        return;
    for (int i = 0; i < tuning->count; i++)
        limits[i] = members[i].count;
    struct value *tuned = arena_copy(e->arena, standard->tuned, sizeof *tuned * (size_t)tuning->count);
    do {
        for (int i = 0; i < tuning->count; i++)
            if (limits[i])
                tuned[i] = members[i].data[at[i]];
        add_candidate(e, kernel, tuning, standard, tuned, all);
    } while (++tries < MOST_TRIES && all->count < most && knobs_step(tuning->count, limits, at));
}

void knobs_list_ways(struct elaborator *e, const struct ast_declaration *kernel, const struct tuning *tuning,
                     const char *target, const struct spec *spec, int most, struct schedules *all)
{
    struct domain *members = ARENA_ARRAY(e->arena, struct domain, tuning->count);
    struct schedule standard = all->data[0];
    size_t size = sizeof *standard.tuned * (size_t)tuning->count;
    if (!list_open(e, kernel, tuning, target, spec, &standard, true, members))
        return;
    for (int tile = 0, tiles = all->count; tile < tiles; tile++)
        for (int i = 0; i < tuning->count; i++)
            for (int k = 0; k < members[i].count && all->count < most; k++) {
                struct value *tuned = arena_copy(e->arena, all->data[tile].tuned, size);
                tuned[i] = member_of(&tuning->data[i], &members[i], k, standard.tuned[i]);
                add_candidate(e, kernel, tuning, &standard, tuned, all);
            }
}
