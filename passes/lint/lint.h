/* What is legal and most likely a mistake: looked for in a kernel's IR as the front end made it, before any pass.  Nothing
 * is changed, and what is not surely a mistake is not said. */
#ifndef TILECC_LINT_H
#define TILECC_LINT_H
#include "base/base.h"
#include "ir/ir.h"
#include "ir/kernel.h"

struct lint {
    struct arena *arena; /* emptied after the function */
    struct diagnostics *diagnostics;
    const struct kernel_entry *entry;
    const struct kernel_variant *variant; /* whose function it is */
    const char *instance;                 /* what warnings call the function, or NULL */
    const struct ranges *ranges;          /* of the function, and what they prove of places */
    const struct inside *inside;
};
/* All of them, in the variant's function. */
void lint_variant(const struct kernel_entry *entry, const struct kernel_variant *variant,
                  struct diagnostics *diagnostics);

/* Reductions over what a place has outside of its view, where that is not neutral. */
void lint_padding(const struct lint *lint, const struct ir_function *function);
/* Grids beside the places that they write: elements that several instances write, and those that none does. */
void lint_stores(const struct lint *lint, const struct ir_function *function);
/* Elements of one tile that are stored in one place. */
void lint_within(const struct lint *lint, const struct ir_function *function);
/* Places whose width is a value of `tune`, and which see a part of a view alone. */
void lint_tuned(const struct lint *lint, const struct ir_function *function);
/* Random numbers that do not differ where the elements that they make do. */
void lint_random(const struct lint *lint, const struct ir_function *function);
/* Numbers that were rounded to f32 on their way to f64. */
void lint_digits(const struct lint *lint, const struct ir_function *function);
#endif
