/* Instances that meet, found by computing where all of them store and load in calls that could be. */
#ifndef TILECC_LINT_MEETINGS_H
#define TILECC_LINT_MEETINGS_H
#include "passes/lint/trial.h"

struct meeting {
    const struct ir_operation *store, *other;
    int64_t first[IR_MAX_RANK], second[IR_MAX_RANK]; /* the instance that stores, and the other one */
};
/* An element of that argument, a view, or of what lies behind it, that an instance stores and another one stores with a value
 * of its own, or loads, in each of the calls.  False: there is none, or they cannot be computed. */
bool meetings_find(const struct lint *lint, const struct ir_function *function, struct forms *forms,
                   const struct ir_value *argument, bool is_pointer, bool loads, struct meeting *meeting);
#endif
