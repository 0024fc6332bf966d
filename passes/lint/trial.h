/* A call that could be: numbers are chosen for extents and arguments, and indexes computed by them.  What holds in several
 * such calls, each of which meets all conditions of the kernel, is no matter of one lucky number. */
#ifndef TILECC_LINT_TRIAL_H
#define TILECC_LINT_TRIAL_H
#include "passes/lint/form.h"
#include "passes/lint/lint.h"

enum { TRIALS = 3, TRIAL_INSTANCES = 256 };

struct trial {
    const struct lint *lint;
    const struct ir_function *function;
    struct forms *forms;
    int number;       /* below TRIALS */
    int64_t *extents; /* by class */
    int64_t *apart; /* those of no class, by argument and dimension: what a condition says that they are; 0: nothing */
    int64_t count[IR_MAX_RANK], index[IR_MAX_RANK]; /* of the grid; 0: the count is not known */
    int64_t *turn;                                  /* variables of loops that stand at a turn, by value id */
    bool *has_turn;
    int64_t instances; /* at most TRIAL_INSTANCES; 0: more, or it is not known how many */
    /* One instance is looked at by itself, so that a scalar that cannot be computed may be any number. */
    bool alone;
    int64_t steps; /* that are left */
};

/* False: these numbers are not allowed, or whether they are is not known. */
bool trial_begin(struct trial *trial, const struct lint *lint, const struct ir_function *function, struct forms *forms,
                 int number, bool alone);
/* The number of that element; of a pointer, how far it is behind the argument.  False: it is not known. */
bool trial_number(struct trial *trial, const struct ir_value *value, int64_t element, int64_t *number);
/* The extent of a view along a dimension; INT64_MAX: it may be any. */
int64_t trial_extent(const struct trial *trial, const struct ir_value *view, int dimension);

/* The element of an operand from which an operation that only moves elements takes one; -1: it is another operation. */
int64_t trial_source(const struct ir_operation *op, int64_t element);
#endif
