/* Arithmetic on integer constants, with the meaning that ops.def gives to operations.  What folds while compiling asks
 * here: the front end for constants that have a type, and the pass fold.  The interpreter does not; it is the oracle, and
 * says in its own words what operations mean. */
#ifndef TILECC_IR_ARITHMETIC_H
#define TILECC_IR_ARITHMETIC_H
#include "ir/ir.h"

/* The result of a binary operation on integers or bools.  All bits are in canonical form (ir_int_to_bits).  False: the
 * operation is none of these. */
bool arithmetic_integer(enum ir_opcode opcode, enum ir_element element, uint64_t a, uint64_t b, uint64_t *bits);
#endif
