/* Instances that cannot be made: more shared memory than the GPU has, or tiles that no thread holds.  They are found
 * behind the passes, before LLVM and ptxas spend minutes on them. */
#include "driver/driver.h"

static bool has_excess(struct compilation *compilation, const struct kernel_variant *variant,
                       struct nvptx_excess *excess)
{
    return target_rows[variant->target].kind == TARGET_NVPTX &&
           nvptx_find_excess(compilation->arena, &target_rows[variant->target], variant->function, variant->label,
                             excess);
}

/* An entry of which some variants are left out. */
struct selection {
    struct kernel_entry *entry;
    const bool *left_out; /* a variant each */
};

/* Whether the variants differ in their schedules alone: numbers of schedules count up from 0 within the same facts. */
static bool is_same_facts(const struct kernel_entry *entry, int earlier, int later)
{
    while (later > earlier && entry->variants.data[later].schedule)
        later--;
    return later <= earlier;
}

/* The last of the facts that stays takes all calls that come to it. */
static bool is_last_of_facts(const struct selection *selection, int number)
{
    for (int i = number + 1; i < selection->entry->variants.count && is_same_facts(selection->entry, number, i); i++)
        if (!selection->left_out[i])
            return false;
    return true;
}

/* What takes its calls: another schedule of the same facts, or a variant with the same keys and no condition. */
static const struct kernel_variant *find_stand_in(const struct selection *selection, int left_out)
{
    const struct kernel_entry *entry = selection->entry;
    const struct kernel_variant *gone = &entry->variants.data[left_out];
    for (int i = 0; i < entry->variants.count; i++) {
        const struct kernel_variant *other = &entry->variants.data[i];
        bool same = other->target == gone->target && !selection->left_out[i] && is_last_of_facts(selection, i);
        for (int k = 0; same && k < entry->keys.count; k++)
            same = other->key_values[k] == gone->key_values[k];
        bool same_facts = i < left_out ? is_same_facts(entry, i, left_out) : is_same_facts(entry, left_out, i);
        if (same && (same_facts || !other->predicate))
            return other;
    }
    return NULL;
}

static bool any_stays(const struct selection *selection, int target)
{
    for (int i = 0; i < selection->entry->variants.count; i++)
        if (selection->entry->variants.data[i].target == target && !selection->left_out[i])
            return true;
    return false;
}

static void report(struct compilation *compilation, const struct selection *selection, int number,
                   const struct nvptx_excess *excess)
{
    struct diagnostics *diagnostics = compilation->diagnostics;
    const struct kernel_variant *variant = &selection->entry->variants.data[number];
    struct diagnostic *d;
    bool stays = any_stays(selection, variant->target);
    if (!stays)
        d = diag_report(diagnostics, excess->code, excess->at, "%s", excess->text);
    else
        d = diag_report(diagnostics, DIAGNOSTIC_W1206, excess->at, "an instance is left out: %s", excess->text);
    diag_note(diagnostics, d, excess->fits_at, "%s", excess->fits);
    if (stays) {
        const struct kernel_variant *other = find_stand_in(selection, number);
        if (other)
            diag_note(diagnostics, d, selection->entry->at, "%s takes its calls", other->label);
        else
            diag_note(diagnostics, d, selection->entry->at, "a call that needs %s gets TILE_ERR_NO_IMAGE",
                      variant->label);
    }
    diag_instance(diagnostics, d, variant->label);
}

/* Takes those out that are left out.  The last schedule of each facts then stands without a condition. */
static void remove_left_out(const struct selection *selection)
{
    struct kernel_entry *entry = selection->entry;
    int kept = 0;
    for (int i = 0; i < entry->variants.count; i++)
        if (!selection->left_out[i] && is_last_of_facts(selection, i))
            entry->variants.data[i].when = NULL;
    for (int i = 0; i < entry->variants.count; i++)
        if (!selection->left_out[i])
            entry->variants.data[kept++] = entry->variants.data[i];
    entry->variants.count = kept;
}

bool limits_apply(struct compilation *compilation, struct kernel_entry *entry)
{
    int count = entry->variants.count;
    bool good = true;
    bool *left_out = ARENA_ARRAY(compilation->arena, bool, count);
    struct nvptx_excess *excess = ARENA_ARRAY(compilation->arena, struct nvptx_excess, count);
    struct selection selection = {entry, left_out};
    for (int i = 0; i < count; i++)
        left_out[i] = has_excess(compilation, &entry->variants.data[i], &excess[i]);
    for (int i = 0; i < count; i++) {
        if (!left_out[i])
            continue;
        report(compilation, &selection, i, &excess[i]);
        good = good && any_stays(&selection, entry->variants.data[i].target);
    }
    if (good)
        remove_left_out(&selection);
    for (int i = 0; i < entry->variants.count && good && compilation->options->syntax_only; i++) /* else ptxas tells */
        if (target_rows[entry->variants.data[i].target].kind == TARGET_NVPTX)
            nvptx_warn_registers(&compilation->target, &entry->variants.data[i]);
    return good;
}
