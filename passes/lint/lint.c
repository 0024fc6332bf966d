/* see lint.h */
#include "passes/lint/lint.h"

#include "ir/facts/inside.h"

void lint_function(const struct ir_function *function, struct diagnostics *diagnostics, const char *instance,
                   const char *const *grid)
{
    struct lint lint = {
        .arena = arena_create(), .diagnostics = diagnostics, .instance = instance, .grid = grid, .ranges = NULL};
    lint.ranges = ranges_analyse(function, lint.arena);
    lint.inside = inside_analyse(function, lint.ranges, lint.arena);
    lint_padding(&lint, function);
    lint_stores(&lint, function);
    arena_destroy(lint.arena);
}
