/* A kernel of the source to its entries (one a combination of types) and their variants, with the rule that keeps the
 * number of instances in bounds. */
#include "front/kernels/kernel_plan.h"

#include "base/unicode.h"

#include <ctype.h>
#include <string.h>

enum {
    WARN_INSTANCES = 64,
    MOST_INSTANCES = 256,
    MOST_KEYS = 65536,
    MOST_FAILURES = 16,
    MOST_TYPES = 4096,
    MOST_PARAMETERS = 64
};

struct work { /* variants planned for one kernel, before any is built */
    struct kernel_plan *kernel;
    VECTOR(struct variant_plan) variants;
    VECTOR(struct entry_plan *) entries;
};

/* ---- entries ---- */

static const char *symbol_prefix(struct front *front, const char *kernel)
{
    if (front->options->prefix)
        return front->options->prefix;
    const char *stem = front->module->stem;
    if (strcmp(stem, kernel) == 0)
        return "";
    struct buffer prefix = {0};
    if (isdigit((unsigned char)stem[0]))
        buffer_putc(&prefix, '_');
    unicode_put_name(&prefix, stem);
    buffer_putc(&prefix, '_');
    const char *copy = arena_substring(front->arena, prefix.data, prefix.size);
    buffer_free(&prefix);
    return copy;
}

static void name_entry(struct entry_plan *plan)
{
    struct kernel_plan *kernel = plan->kernel;
    struct front *front = kernel->front;
    struct buffer symbol = {0}, suffix = {0};
    const char *name = kernel->declaration->name.text;
    buffer_printf(&symbol, "%s%s", symbol_prefix(front, name), name);
    const char *separator = "<";
    for (int i = 0; i < kernel->rows.count; i++) {
        if (!kernel->rows.data[i].is_type)
            continue;
        buffer_putc(&symbol, '_');
        value_print_constant(&symbol, plan->types[i]);
        buffer_puts(&suffix, separator);
        value_print_constant(&suffix, plan->types[i]);
        separator = ", ";
    }
    if (suffix.size)
        buffer_putc(&suffix, '>');
    plan->entry->symbol = arena_substring(front->arena, symbol.data, symbol.size);
    plan->suffix = arena_substring(front->arena, suffix.data ? suffix.data : "", suffix.size);
    buffer_free(&symbol);
    buffer_free(&suffix);
}

static void check_clash(struct front *front, const struct kernel_entry *entry)
{
    for (int i = 0; i < front->module->entries.count; i++) {
        const struct kernel_entry *other = &front->module->entries.data[i];
        if (strcmp(other->symbol, entry->symbol) != 0)
            continue;
        struct diagnostic *d = diag_report(front->diagnostics, DIAGNOSTIC_E0410, entry->at,
                                           "two kernels become the C function `%s`", entry->symbol);
        diag_note(front->diagnostics, d, other->at, "the other one is here");
    }
}

static struct entry_plan *make_entry(struct work *work, struct value *types)
{
    struct kernel_plan *kernel = work->kernel;
    struct arena *arena = kernel->front->arena;
    struct entry_plan *plan = ARENA_NEW(arena, struct entry_plan);
    struct kernel_entry *entry = ARENA_NEW(arena, struct kernel_entry);
    *entry = (struct kernel_entry){
        .kernel = kernel->declaration->name.text, .doc = kernel->declaration->doc, .at = kernel->declaration->at};
    *plan = (struct entry_plan){.kernel = kernel, .entry = entry};
    plan->types = arena_copy(arena, types, sizeof(struct value) * (size_t)kernel->rows.count);
    name_entry(plan);
    return plan;
}

/* ---- keys ---- */

static bool key_allowed(struct front *front, const struct spec *spec, const char *name, struct value v)
{
    const char *text = spec_text(front, spec, name);
    return !text || spec_means(text, v);
}

/* Requirements over what is known while compiling remove instances. */
static bool keys_meet_requirements(struct entry_plan *plan, const struct value *keys)
{
    struct elaborator e;
    elaborator_init(&e, plan->kernel->front, plan->kernel->file);
    entry_host_scope(&e, plan, keys, NULL);
    for (int i = 0; i < plan->kernel->requirements.count; i++) {
        struct value v = elaborate_condition(&e, plan->kernel->requirements.data[i].expression, "a requirement");
        if (v.kind == VALUE_BOOL && !v.truth)
            return false;
    }
    return true;
}

/* "k<f16>[D=16,F=true] for cpu": sets of knobs may be wrong for some keys alone. */
static const char *name_choice(const struct entry_plan *plan, const struct value *keys, const char *target)
{
    struct arena *arena = plan->kernel->front->arena;
    struct buffer text = {0};
    buffer_printf(&text, "%s%s", plan->kernel->declaration->name.text, plan->suffix);
    for (int k = 0; k < plan->entry->keys.count; k++) {
        buffer_printf(&text, "%s%s=", k ? "," : "[", plan->entry->keys.data[k].name);
        value_print_constant(&text, keys[k]);
    }
    buffer_printf(&text, "%s for %s", plan->entry->keys.count ? "]" : "", target);
    const char *name = arena_substring(arena, text.data, text.size);
    buffer_free(&text);
    return name;
}

/* An earlier --spec has brought it.  Labels do not tell optional parameters: those of one --spec are not compared. */
static bool is_among(const struct work *work, int count, const struct variant_plan *variant)
{
    for (int i = 0; i < count; i++)
        if (work->variants.data[i].entry == variant->entry && strcmp(work->variants.data[i].label, variant->label) == 0)
            return true;
    return false;
}

static void plan_variants(struct work *work, struct entry_plan *plan, struct value *keys, int target_index)
{
    struct front *front = work->kernel->front;
    struct elaborator e;
    int target = front->options->targets[target_index];
    const char *name = front->options->target_name(target);
    elaborator_init(&e, front, work->kernel->file);
    if (plan_has_choices(work->kernel))
        e.instance = name_choice(plan, keys, name);
    struct schedule standard = {0};
    scope_push(&e, false);
    entry_bind_rows(&e, plan, keys);
    if (!knobs_choose(&e, work->kernel->declaration, &work->kernel->tuning, name, plan->spec, &standard))
        return;
    struct front_space *space = front->options->space;
    if (space && !space->count &&
        !knobs_span(&e, work->kernel->declaration, &work->kernel->tuning, name, standard.tuned, space))
        return;
    scope_pop(&e);
    entry_host_scope(&e, plan, keys, standard.tuned);
    struct facts *facts;
    int count = facts_list(&e, plan, target, &facts), before = work->variants.count;
    keys = arena_copy(front->arena, keys, sizeof(struct value) * (size_t)plan->entry->keys.count);
    for (int i = 0; i < count; i++) {
        struct variant_plan variant = {
            .entry = plan, .spec = plan->spec, .target = target, .keys = keys, .facts = facts[i], .schedule = standard};
        struct schedules schedules = {0};
        variant.label = variant_label(&variant);
        if (!spec_has_facts(plan->spec, variant.label))
            continue;
        if (plan->spec)
            plan->spec->used = true;
        schedules_list(&variant, &standard, &schedules);
        for (int k = 0; k < schedules.count; k++) {
            variant.schedule = schedules.data[k];
            variant.label = variant_label(&variant);
            if (plan->spec && is_among(work, before, &variant))
                continue;
            vector_push(front->arena, &work->variants, variant);
            variant.schedule_number++;
        }
    }
}

/* An earlier --spec without facts has these keys. */
static bool is_planned(const struct work *work, const struct entry_plan *plan, const struct value *keys, int target)
{
    for (int i = 0; i < work->variants.count; i++) {
        const struct variant_plan *variant = &work->variants.data[i];
        bool same = variant->entry == plan && variant->target == target && !variant->spec->facts[0];
        for (int k = 0; same && k < plan->entry->keys.count; k++)
            same = value_same(variant->keys[k], keys[k]);
        if (same)
            return true;
    }
    return false;
}

/* values: of the rows, from which keys come. */
static void plan_keys(struct work *work, struct entry_plan *plan, struct value *values, struct value *keys, int row,
                      int target_index)
{
    if (work->variants.count > MOST_KEYS)
        return;
    while (row < work->kernel->rows.count && plan->key_of_row[row] < 0)
        row++;
    if (row == work->kernel->rows.count) {
        bool planned = plan->spec && is_planned(work, plan, keys, work->kernel->front->options->targets[target_index]);
        if (!planned && !keys_meet_requirements(plan, keys))
            return;
        if (plan->spec && !plan->spec->facts[0])
            plan->spec->used = true;
        if (!planned)
            plan_variants(work, plan, keys, target_index);
        return;
    }
    const struct domain *domain = row_domain(work->kernel, row, &plan->sets[row], values);
    for (int i = 0; i < domain->count; i++) {
        const char *name = work->kernel->rows.data[row].name.text;
        if (!key_allowed(work->kernel->front, plan->spec, name, domain->data[i]))
            continue;
        values[row] = keys[plan->key_of_row[row]] = domain->data[i];
        plan_keys(work, plan, values, keys, row + 1, target_index);
    }
}

static void plan_entry(struct work *work, struct value *types, struct spec *specs)
{
    struct front *front = work->kernel->front;
    bool dropped = false, selected = specs == NULL;
    struct entry_plan *plan = make_entry(work, types);
    schedules_note_types(plan);
    for (struct spec *s = specs; s && !selected; s = s->next)
        selected = spec_selects(plan, s);
    if (!selected || !entry_build(plan, &dropped) || dropped)
        return;
    check_clash(front, plan->entry);
    vector_push(front->arena, &work->entries, plan);
    struct value *keys = ARENA_ARRAY(front->arena, struct value, plan->entry->keys.count);
    struct value *values = arena_copy(front->arena, types, sizeof(struct value) * (size_t)work->kernel->rows.count);
    for (int t = 0; t < front->options->target_count; t++) {
        if (!specs)
            plan_keys(work, plan, values, keys, 0, t);
        for (struct spec *s = specs; s; s = s->next) {
            if (!spec_selects(plan, s))
                continue;
            plan->spec = s;
            plan_keys(work, plan, values, keys, 0, t);
        }
    }
}

static void plan_types(struct work *work, struct value *types, int generic, struct spec *specs)
{
    struct kernel_plan *kernel = work->kernel;
    if (generic == kernel->rows.count) {
        plan_entry(work, types, specs);
        return;
    }
    if (!kernel->rows.data[generic].is_type) {
        types[generic] = value_error(kernel->declaration->at);
        plan_types(work, types, generic + 1, specs);
        return;
    }
    for (int i = 0; i < kernel->rows.data[generic].domain.count; i++) {
        types[generic] = kernel->rows.data[generic].domain.data[i];
        plan_types(work, types, generic + 1, specs);
    }
}

/* ---- the rule of instances ---- */

static void note_factors(struct work *work, struct diagnostic *d)
{
    struct kernel_plan *kernel = work->kernel;
    struct diagnostics *diagnostics = kernel->front->diagnostics;
    for (int i = 0; i < kernel->rows.count; i++) {
        const struct row *row = &kernel->rows.data[i];
        diag_note(diagnostics, d, row->at, "`%s` has %d values", row->name.text, row->domain.count);
    }
}

static int count_instances(const struct work *work, int target)
{
    int count = 0;
    for (int i = 0; i < work->variants.count; i++)
        count += work->variants.data[i].target == target && !work->variants.data[i].schedule_number;
    return count;
}

/* The general instances compute what those of views that are aligned to the least copy would: of many, these are none. */
static void leave_least_copies(struct work *work, int target)
{
    int kept = 0;
    for (int i = 0; i < work->variants.count; i++) {
        struct variant_plan variant = work->variants.data[i];
        if (variant.target != target || variant.facts.aligned != LEAST_COPY)
            work->variants.data[kept++] = variant;
    }
    work->variants.count = kept;
}

static bool check_count(struct work *work)
{
    struct front *front = work->kernel->front;
    const struct ast_declaration *declaration = work->kernel->declaration;
    for (int t = 0; t < front->options->target_count; t++) {
        int most = front->options->max_instances ? front->options->max_instances : MOST_INSTANCES;
        int few = most < WARN_INSTANCES ? most : WARN_INSTANCES;
        if (count_instances(work, front->options->targets[t]) > few)
            leave_least_copies(work, front->options->targets[t]);
        int count = count_instances(work, front->options->targets[t]);
        if (count <= few)
            continue;
        const char *target = front->options->target_name(front->options->targets[t]);
        if (count > most) {
            struct diagnostic *d = diag_report(front->diagnostics, DIAGNOSTIC_E0406, declaration->at,
                                               "`%s` has %d instances for %s, and %d are the most",
                                               declaration->name.text, count, target, most);
            note_factors(work, d);
            diag_note(front->diagnostics, d, declaration->at,
                      "a cheap choice is better a run-time parameter than a key in `< >`; --spec compiles some "
                      "instances alone");
            return false;
        }
        struct diagnostic *d = diag_report(front->diagnostics, DIAGNOSTIC_W1002, declaration->at,
                                           "`%s` has %d instances for %s", declaration->name.text, count, target);
        note_factors(work, d);
        return true;
    }
    return true;
}

/* When nothing but errors is asked for, one variant of each combination of keys is enough, and of each schedule that a
 * file gives. */
static bool is_repetition(const struct work *work, int number)
{
    const struct variant_plan *plan = &work->variants.data[number];
    for (int i = 0; i < number; i++) {
        const struct variant_plan *other = &work->variants.data[i];
        bool same = other->entry == plan->entry && other->schedule.line == plan->schedule.line;
        for (int k = 0; same && k < plan->entry->entry->keys.count; k++)
            same = value_same(plan->keys[k], other->keys[k]);
        if (same)
            return true;
    }
    return false;
}

static bool has_split(const struct work *work, const struct entry_plan *entry)
{
    for (int i = 0; i < work->variants.count; i++)
        if (work->variants.data[i].entry == entry && split_parts(&work->variants.data[i]) > 1)
            return true;
    return false;
}

static void build_variants(struct work *work)
{
    struct front *front = work->kernel->front;
    for (int k = 0; k < work->entries.count; k++) {
        struct entry_plan *entry = work->entries.data[k];
        int made = 0, failed = 0;
        if (has_split(work, entry))
            split_describe(entry);
        for (int i = 0; i < work->variants.count && failed < MOST_FAILURES; i++) {
            struct variant_plan *plan = &work->variants.data[i];
            if (plan->entry != entry || (front->options->syntax_only && is_repetition(work, i)))
                continue;
            struct kernel_variant variant;
            plan->number = made;
            if (!variant_build(plan, &variant)) {
                failed++;
                continue;
            }
            made++;
            vector_push(front->arena, &entry->entry->variants, variant);
        }
        if (made && !failed)
            vector_push(front->arena, &front->module->entries, *entry->entry);
    }
}

static bool has_space_for(const struct ast_declaration *d, struct diagnostics *diagnostics)
{
    if (strncmp(d->name.text, "tile_", 5) != 0)
        return true;
    diag_report(diagnostics, DIAGNOSTIC_E0416, d->at,
                "the name of a kernel may not start with `tile_`, which belongs to the run time");
    return false;
}

/* Before any combination is tried: what no spec could bring down to a sane number. */
static bool has_bounds(struct work *work)
{
    const struct kernel_plan *kernel = work->kernel;
    struct diagnostics *diagnostics = kernel->front->diagnostics;
    const struct ast_declaration *declaration = kernel->declaration;
    int64_t combinations = 1;
    for (int i = 0; i < kernel->rows.count && combinations <= MOST_TYPES; i++)
        if (kernel->rows.data[i].is_type)
            combinations *= kernel->rows.data[i].domain.count;
    if (combinations <= MOST_TYPES)
        return true;
    struct diagnostic *d = diag_report(diagnostics, DIAGNOSTIC_E0406, declaration->at,
                                       "the types of `%s` have more than %d combinations", declaration->name.text,
                                       MOST_TYPES);
    note_factors(work, d);
    return false;
}

static bool has_few_parameters(const struct ast_declaration *d, struct diagnostics *diagnostics)
{
    if (d->parameters.count <= MOST_PARAMETERS)
        return true;
    diag_report(diagnostics, DIAGNOSTIC_E0412, d->at, "`%s` has %d parameters, and %d are the most", d->name.text,
                d->parameters.count, MOST_PARAMETERS);
    return false;
}

void kernel_compile(struct front *front, struct global *global, struct spec *specs, struct tuned_kernel *tuned)
{
    struct kernel_plan plan = {.front = front, .file = global->file, .declaration = global->declaration};
    struct work work = {.kernel = &plan};
    if (specs) {
        bool any = false;
        for (struct spec *s = specs; s; s = s->next)
            any = any || strcmp(s->kernel, global->name) == 0;
        if (!any)
            return;
    }
    bool named = has_space_for(global->declaration, front->diagnostics);
    named = has_few_parameters(global->declaration, front->diagnostics) && named;
    if (!named || !plan_read(&plan) || !has_bounds(&work))
        return;
    struct value *types = ARENA_ARRAY(front->arena, struct value, plan.rows.count);
    int errors = front->diagnostics->errors;
    spec_check(&plan, specs);
    schedules_begin(&plan, tuned);
    if (errors != front->diagnostics->errors)
        return;
    plan_types(&work, types, 0, specs);
    schedules_end(&plan);
    if (!specs && work.variants.count == 0 && front->diagnostics->errors == 0) /* an error of elsewhere may be why */
        diag_report(front->diagnostics, DIAGNOSTIC_W1004, global->declaration->at,
                    "`%s` has no instance: its requirements rule out every combination of types and keys",
                    global->name);
    if (!check_count(&work))
        return;
    build_variants(&work);
}
