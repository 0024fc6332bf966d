/* Whether a place lies in its view: what loops, the grid, conditions and assumptions prove of indexes and extents. */
#ifndef TILECC_IR_INSIDE_H
#define TILECC_IR_INSIDE_H
#include "ir/facts/analysis.h"

struct inside; /* of one function, as it was when analysed */
const struct inside *inside_analyse(const struct ir_function *function, const struct ranges *ranges,
                                    struct arena *arena);
/* Wherever `at` runs, index >= 0 and index + length <= the view's extent along d.  Asks nothing of its presence. */
bool inside_is_proven(const struct inside *inside, const struct ir_operation *at, const struct ir_value *view, int d,
                      const struct ir_value *index, int64_t length);
/* Whether the view itself may be absent, so that all of it is outside: NULL, or a dropped index that was outside. */
bool inside_may_be_absent(const struct ir_value *view);
#endif
