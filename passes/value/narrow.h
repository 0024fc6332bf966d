/* The pass `narrow` has two files: narrow.c does index arithmetic in 32 bits, and narrow_offset.c compares places by
 * their distance.  narrow.c calls the other one through this header. */
#ifndef TILECC_PASSES_NARROW_H
#define TILECC_PASSES_NARROW_H
#include "ir/facts/analysis.h"
#include "passes/base/pass.h"

/* narrow_offset.c: comparisons of places near each other, by their distance.  True: something changed. */
bool narrow_offsets(struct ir_function *function, const struct ranges *ranges, struct pass_context *context);
#endif
