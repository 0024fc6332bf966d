/* Integer values read as  scale * term + offset  where no step of their computation can wrap, by ranges. */
#ifndef TILECC_PASSES_LINEAR_H
#define TILECC_PASSES_LINEAR_H
#include "ir/facts/analysis.h"

/* scale * term + offset; term NULL: a number */
struct linear {
    const struct ir_value *term;
    int64_t scale, offset;
};

/* Whether an addition, subtraction or multiplication computes the number that it would in unlimited precision; whether a
 * cast gives the number that it takes. */
bool linear_is_exact(const struct ranges *ranges, const struct ir_operation *op);
bool linear_keeps_number(const struct ranges *ranges, const struct ir_operation *cast);
struct linear linear_of(const struct ranges *ranges, const struct ir_value *value);
/* n of a value ceil(n / divisor), divisor > 0, as the language's cdiv writes it: n / divisor + (n % divisor > 0); or NULL. */
struct ir_value *linear_ceiling_of(const struct ir_value *value, int64_t *divisor);
#endif
