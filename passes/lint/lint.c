/* see lint.h */
#include "passes/lint/lint.h"

#include "ir/facts/inside.h"

void lint_variant(const struct kernel_entry *entry, const struct kernel_variant *variant,
                  struct diagnostics *diagnostics)
{
    struct lint lint = {.arena = arena_create(),
                        .diagnostics = diagnostics,
                        .entry = entry,
                        .variant = variant,
                        .instance = entry->variants.count > 1 ? variant->label : NULL};
    lint.ranges = ranges_analyse(variant->function, lint.arena);
    lint.inside = inside_analyse(variant->function, lint.ranges, lint.arena);
    lint_padding(&lint, variant->function);
    lint_stores(&lint, variant->function);
    lint_within(&lint, variant->function);
    lint_random(&lint, variant->function);
    lint_tuned(&lint, variant->function);
    lint_digits(&lint, variant->function);
    arena_destroy(lint.arena);
}
