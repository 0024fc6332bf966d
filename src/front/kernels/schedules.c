/* Which schedules an instance has: those that files of --tuning list for it, then the default of `tune`, which stands for
 * all calls that no condition above it takes; or where no file means it, those that the compiler chooses (candidates.c). */
#include "front/kernels/kernel_plan.h"

#include <string.h>

/* A wrapper knows as many conditions: a file of more comes to nothing, and would take long to compile. */
enum { MOST_LINES = 64 };

static bool has_keys(const struct tuned_kernel *tuned, const struct variant_plan *plan)
{
    const struct kernel_entry *entry = plan->entry->entry;
    for (int i = 0; i < tuned->head.items.count; i++)
        for (int k = 0; k < entry->keys.count; k++)
            if (strcmp(entry->keys.data[k].name, tuned->head.items.data[i].name) == 0 &&
                !spec_means(tuned->head.items.data[i].value, plan->keys[k]))
                return false;
    return true;
}

/* Whether the head means this instance; of one that has other facts it keeps what they are, for a message. */
static bool is_meant(struct tuned_kernel *tuned, const struct variant_plan *plan)
{
    struct front *front = plan->entry->kernel->front;
    const char *target = front->options->target_name(plan->target);
    if (strcmp(tuned->target, target) != 0 || !spec_selects(plan->entry, &tuned->head) || !has_keys(tuned, plan))
        return false;
    if (spec_has_facts(&tuned->head, plan->label)) {
        tuned->has_facts = true;
        return true;
    }
    const char *facts = variant_facts(plan);
    if (!tuned->other_facts)
        tuned->other_facts = arena_printf(front->arena, "`%s`", facts);
    else if (!strstr(tuned->other_facts, arena_printf(front->arena, "`%s`", facts)))
        tuned->other_facts = arena_printf(front->arena, "%s, `%s`", tuned->other_facts, facts);
    return false;
}

static bool is_no_extent(const struct kernel_expression *part, void *context)
{
    (void)context;
    return part->op == KERNEL_HOST_SM_COUNT || part->op == KERNEL_HOST_STRIDE;
}

/* The condition as the wrapper computes it, NULL: it holds always.  False: reported, or it never holds. */
static bool read_condition(struct elaborator *e, const struct ast_expression *written,
                           const struct kernel_expression **when)
{
    struct value v = elaborate_condition(e, written, "the condition of a schedule");
    *when = NULL;
    if (value_is_error(v) || (v.kind == VALUE_BOOL && !v.truth))
        return false;
    if (v.kind != VALUE_BOOL)
        *when = host_tree(e, v, IR_BOOL, written);
    const struct kernel_expression *part = *when && e->front->options->reproducible
                                               ? kernel_expression_find(e->arena, *when, is_no_extent, NULL)
                                               : NULL;
    if (part)
        front_report(e, DIAGNOSTIC_E0421, written->at,
                     "under --reproducible a schedule depends on extents, and not on %s",
                     part->op == KERNEL_HOST_STRIDE ? "strides" : "the device");
    return !part && (v.kind == VALUE_BOOL || *when);
}

/* Adds the schedule of a line, if this instance can have it.  True: it takes all calls, and none behind it has one. */
static bool add_line(const struct variant_plan *plan, const struct schedule *standard, const struct tuned_line *line,
                     struct schedules *schedules)
{
    const struct kernel_plan *kernel = plan->entry->kernel;
    struct schedule schedule = {.line = line};
    struct elaborator e;
    size_t count = (size_t)kernel->tuning.count;
    if (schedules->count == MOST_LINES) {
        struct diagnostic *d = diag_report(kernel->front->diagnostics, DIAGNOSTIC_E0421, line->at,
                                           "an instance has at most %d schedules with conditions", MOST_LINES);
        diag_instance(kernel->front->diagnostics, d, plan->label);
        return true;
    }
    schedule.tuned = arena_copy(kernel->front->arena, standard->tuned, sizeof *schedule.tuned * count);
    schedule.among = arena_copy(kernel->front->arena, standard->among, sizeof *schedule.among * count);
    elaborator_init(&e, kernel->front, kernel->file);
    e.instance = plan->label;
    scope_push(&e, false);
    entry_bind_rows(&e, plan->entry, plan->keys);
    if (!knobs_replace(&e, kernel->declaration, &kernel->tuning, plan->spec, &schedule))
        return false;
    scope_pop(&e);
    entry_host_scope(&e, plan->entry, plan->keys, schedule.tuned);
    if ((line->when && !read_condition(&e, line->when, &schedule.when)) || !facts_are_possible(&e, plan))
        return false;
    vector_push(kernel->front->arena, schedules, schedule);
    return !schedule.when;
}

void schedules_list(const struct variant_plan *plan, const struct schedule *standard, struct schedules *schedules)
{
    for (struct tuned_kernel *tuned = plan->entry->kernel->tuned; tuned; tuned = tuned->next)
        for (int i = 0, meant = is_meant(tuned, plan); meant && i < tuned->lines.count; i++)
            if (add_line(plan, standard, &tuned->lines.data[i], schedules))
                return;
    if (schedules->count || !candidates_choose(plan, standard, schedules))
        vector_push(plan->entry->kernel->front->arena, schedules, *standard);
}

/* ---- what cannot be meant ---- */

/* A key of a head must be one of the kernel, and have the value for some instance. */
static void check_key(const struct kernel_plan *kernel, const struct tuned_kernel *tuned, const struct spec_item *item)
{
    const struct domain *domain = spec_domain(kernel, item->name);
    struct location at = tuning_place(tuned->at, item);
    const char *name = kernel->declaration->name.text;
    for (int i = 0; domain && i < domain->count; i++)
        if (spec_means(item->value, domain->data[i]))
            return;
    struct diagnostic *d = domain ? diag_report(kernel->front->diagnostics, DIAGNOSTIC_E0421, at,
                                                "`%s` of `%s` is one of {%s}, not %s", item->name, name,
                                                spec_members(kernel->front, domain), item->value)
                                  : diag_report(kernel->front->diagnostics, DIAGNOSTIC_E0421, at,
                                                "`%s` has no key and no `const` name `%s`", name, item->name);
    diag_note(kernel->front->diagnostics, d, kernel->declaration->at, "the kernel is here");
}

void schedules_begin(struct kernel_plan *kernel, struct tuned_kernel *tuned)
{
    kernel->tuned = tuned;
    for (; tuned; tuned = tuned->next) {
        if (strcmp(tuned->head.kernel, kernel->declaration->name.text) != 0)
            continue;
        if (tuned->head.facts[0] && kernel->front->options->reproducible)
            diag_report(kernel->front->diagnostics, DIAGNOSTIC_E0421, tuned->at,
                        "under --reproducible a schedule depends on extents, and not on facts such as `%s`",
                        tuned->head.facts);
        for (int i = 0; i < tuned->head.items.count; i++)
            check_key(kernel, tuned, &tuned->head.items.data[i]);
    }
}

void schedules_note_types(const struct entry_plan *plan)
{
    for (struct tuned_kernel *tuned = plan->kernel->tuned; tuned; tuned = tuned->next)
        tuned->has_types = tuned->has_types || spec_selects(plan, &tuned->head);
}

void schedules_end(const struct kernel_plan *kernel)
{
    struct diagnostics *diagnostics = kernel->front->diagnostics;
    for (const struct tuned_kernel *tuned = kernel->tuned; tuned; tuned = tuned->next) {
        struct diagnostic *d = NULL;
        if (strcmp(tuned->head.kernel, kernel->declaration->name.text) != 0)
            continue;
        if (!tuned->has_types)
            d = diag_report(diagnostics, DIAGNOSTIC_E0421, tuned->at, "`%s` has no instances of these types",
                            tuned->head.kernel);
        else if (tuned->other_facts && !tuned->has_facts)
            d = diag_report(diagnostics, DIAGNOSTIC_E0421, tuned->at,
                            "no instance for %s has the facts `%s`: there are %s", tuned->target, tuned->head.facts,
                            tuned->other_facts);
        if (d)
            diag_note(diagnostics, d, kernel->declaration->at, "the kernel is here");
    }
}
