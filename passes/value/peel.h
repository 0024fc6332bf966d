/* Where a loop is split: found in peel.c (conditions of `if`s) and peel_masks.c (conditions of elements). */
#ifndef TILECC_PEEL_H
#define TILECC_PEEL_H
#include "ir/facts/inside.h"
#include "passes/base/pass.h"

struct peel {
    struct pass_context *context;
    const struct ranges *ranges;
    const struct inside *inside; /* of the function as the pass found it */
    struct ir_operation *loop;
    const struct ir_value *variable;
    int64_t step;
};

/* Small enough that sums of a few of them stay in the element. */
bool peel_is_moderate(const struct peel *peel, const struct ir_value *value);

enum { PEEL_MASK_LIMIT = 8 };

/* Comparisons of the loop's body that are true in every element below the bound. */
struct peel_masks {
    struct ir_operation *compare[PEEL_MASK_LIMIT];
    int count;
};
/* The least bound of all masks and checked loads of the loop, built in front of it; NULL: there is none. */
struct ir_value *peel_bound_of_masks(const struct peel *peel, struct peel_masks *masks);
#endif
