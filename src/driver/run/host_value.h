/* The values that a wrapper computes before a launch, computed in the compiler, for --interpret: there is no wrapper
 * then. */
#ifndef TILECC_HOST_VALUE_H
#define TILECC_HOST_VALUE_H
#include "interp/interp.h"
#include "ir/kernel.h"

/* One argument of a call.  Scalars: `bits` as their element's encoding (ir_bits_to_int and _double read it). */
struct host_argument {
    bool present;
    void *data;
    int64_t extent[IR_MAX_RANK], stride[IR_MAX_RANK];
    uint64_t bits;
};
struct host_call {
    struct arena *arena;
    const struct kernel_entry *entry;
    const struct host_argument *arguments; /* one a parameter */
    int64_t *names;                        /* one an entry->names */
    int64_t *keys;                         /* one an entry->keys */
};
/* i64 arithmetic as the wrapper does it: x / 0 is 0, x % 0 is x.  False: an overflow, or
 * too many turns of loops; host_failure says which, of `text` or of the expression as it was written. */
bool host_evaluate(const struct host_call *call, const struct kernel_expression *expression, int64_t *value);
const char *host_failure(const struct host_call *call, const struct kernel_expression *expression, const char *text);
/* Fills names and keys and checks extents and `requires`.  NULL, or what is wrong. */
const char *host_bind(struct arena *arena, struct host_call *call);
/* A call of which names and keys are not bound yet. */
struct host_call host_call_begin(struct arena *arena, const struct kernel_entry *entry,
                                 const struct host_argument *arguments);
/* The extents, in elements, of a view that nobody gave, by the names that host_bind has bound.  NULL, or why they are
 * not known. */
const char *host_deduce_extents(const struct host_call *call, int parameter, int64_t *extent);
/* The first variant that fits, as the wrapper picks it; NULL: none. */
struct kernel_variant *host_pick_variant(const struct host_call *call);
/* What the run time gives a launch for itself: a memory and an argument for each scratch of the entry, filled.  NULL, or
 * what is wrong. */
const char *host_make_scratch(const struct host_call *call, const struct kernel_variant *variant,
                              struct interp_memory *memories, struct interp_argument *arguments);
#endif
