/* Which floats are known to be no greater than others, element by element. */
#ifndef TILECC_IR_ORDER_H
#define TILECC_IR_ORDER_H
#include "ir/query.h"

/* Each element lies between 0 and 1, or is NaN. */
bool order_is_fraction(const struct ir_value *value);
#endif
