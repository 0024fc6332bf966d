/* Mistakes in the synchronisation of a function, one at a time: what a pass would have made if it had forgotten a wait,
 * turned a phase round, or counted a slot wrong. */
#ifndef TILECC_INTERP_MUTATE_H
#define TILECC_INTERP_MUTATE_H
#include "ir/ir.h"

#define MUTATIONS(X)                                \
    X(DROP, "dropped")                              \
    X(MORE_PENDING, "one more may be pending")      \
    X(FLIP_PHASE, "the other phase")                \
    X(FEWER_BYTES, "fewer bytes")                   \
    X(MORE_BYTES, "more bytes")                     \
    X(FEWER_ARRIVALS, "an arrival fewer")           \
    X(MORE_ARRIVALS, "an arrival more")             \
    X(NEXT_SLOT, "the next slot")                   \
    X(FIRST_OPERAND, "its first operand instead")   \
    X(SECOND_OPERAND, "its second operand instead") \
    X(THIRD_OPERAND, "its third operand instead")   \
    X(NEGATED, "the other answer")                  \
    X(ONE_MORE, "one more")                         \
    X(NO_ADVANCE, "not carried on")                 \
    X(ALONE, "alone, not with or beside others")    \
    X(UNCONDITIONAL, "always")                      \
    X(SWAPPED, "behind the next operation")
enum mutation_kind {
#define X(id, text) MUTATION_##id,
    MUTATIONS(X)
#undef X
        MUTATION_KIND_COUNT
};
extern const char *const mutation_text[MUTATION_KIND_COUNT];

struct mutation {
    int operation; /* in the order of ir_walk */
    enum mutation_kind kind;
    int operand;
};
typedef VECTOR(struct mutation) mutation_list;

/* All that can be done to the function. */
void mutation_collect(struct arena *arena, struct ir_function *function, mutation_list *list);
/* Operation number `number` of the function. */
struct ir_operation *mutation_operation(struct ir_function *function, int number);
/* The operation that MUTATION_SWAPPED puts this one behind; NULL: none. */
struct ir_operation *mutation_swap_partner(const struct ir_operation *op);
/* Why it cannot matter, of a function that is not yet changed; NULL: it may.  harmless.c */
const char *mutation_harmless(struct ir_function *function, struct ir_function *changed,
                              const struct mutation *mutation);
void mutation_apply(struct ir_function *function, const struct mutation *mutation);
#endif
