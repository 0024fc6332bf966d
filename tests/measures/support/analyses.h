/* What the analyses say of a function, as text: of each value its range, divisors and uniformity, of loops whether they
 * end, of memory operations which may not pass which.  Much of it changes no code of the programs that happen to be
 * there, and the wrong code of another. */
#ifndef TILECC_MEASURES_ANALYSES_H
#define TILECC_MEASURES_ANALYSES_H
#include "ir/ir.h"

void analyses_print(struct buffer *out, const struct ir_function *function);
#endif
