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

/* What takes its calls: a later variant with the same keys and no condition. */
static const struct kernel_variant *find_stand_in(struct compilation *compilation, const struct kernel_entry *entry,
                                                  const struct kernel_variant *left_out)
{
    struct nvptx_excess excess;
    for (int i = 0; i < entry->variants.count; i++) {
        const struct kernel_variant *other = &entry->variants.data[i];
        bool same = other != left_out && other->target == left_out->target && !other->predicate;
        for (int k = 0; same && k < entry->keys.count; k++)
            same = other->key_values[k] == left_out->key_values[k];
        if (same && !has_excess(compilation, other, &excess))
            return other;
    }
    return NULL;
}

static bool any_stays(struct compilation *compilation, const struct kernel_entry *entry, int target)
{
    struct nvptx_excess excess;
    for (int i = 0; i < entry->variants.count; i++)
        if (entry->variants.data[i].target == target && !has_excess(compilation, &entry->variants.data[i], &excess))
            return true;
    return false;
}

static void report(struct compilation *compilation, const struct kernel_entry *entry,
                   const struct kernel_variant *variant, const struct nvptx_excess *excess, bool stays)
{
    struct diagnostics *diagnostics = compilation->diagnostics;
    struct diagnostic *d;
    if (!stays)
        d = diag_report(diagnostics, excess->code, excess->at, "%s", excess->text);
    else
        d = diag_report(diagnostics, DIAGNOSTIC_W1206, excess->at, "an instance is left out: %s", excess->text);
    diag_note(diagnostics, d, excess->fits_at, "%s", excess->fits);
    if (stays) {
        const struct kernel_variant *other = find_stand_in(compilation, entry, variant);
        if (other)
            diag_note(diagnostics, d, entry->at, "%s takes its calls", other->label);
        else
            diag_note(diagnostics, d, entry->at, "a call that needs %s gets TILE_ERR_NO_IMAGE", variant->label);
    }
    diag_instance(diagnostics, d, variant->label);
}

bool limits_apply(struct compilation *compilation, struct kernel_entry *entry)
{
    int kept = 0, count = entry->variants.count;
    bool good = true;
    bool *left_out = ARENA_ARRAY(compilation->arena, bool, count);
    for (int i = 0; i < count; i++) {
        const struct kernel_variant *variant = &entry->variants.data[i];
        struct nvptx_excess excess;
        left_out[i] = has_excess(compilation, variant, &excess);
        if (!left_out[i])
            continue;
        bool stays = any_stays(compilation, entry, variant->target);
        report(compilation, entry, variant, &excess, stays);
        good = good && stays;
    }
    for (int i = 0; i < count; i++)
        if (!left_out[i])
            entry->variants.data[kept++] = entry->variants.data[i];
    if (good)
        entry->variants.count = kept;
    for (int i = 0; i < kept && good && compilation->options->syntax_only; i++) /* else ptxas tells */
        if (target_rows[entry->variants.data[i].target].kind == TARGET_NVPTX)
            nvptx_warn_registers(&compilation->target, &entry->variants.data[i]);
    return good;
}
