/* Loops that count in steps of another number: what count_loops.c and count_loops_scale.c share. */
#ifndef TILECC_COUNT_LOOPS_H
#define TILECC_COUNT_LOOPS_H
#include "ir/facts/analysis.h"
#include "passes/base/pass.h"

/* ceil(n / divisor), divisor > 0, as linear_ceiling_of knows it again. */
struct ir_value *count_loops_ceiling(struct ir_builder *builder, struct ir_value *n, int64_t divisor);

/* A loop up to such a quotient whose variable is only used multiplied by the divisor counts in steps of that. */
bool count_loops_scale(struct pass_context *context, struct ir_operation *loop);
#endif
