/* Arithmetic on integer constants, with the meaning that ops.def gives to operations.  What computes while compiling asks
 * here: the front end for its constants, the pass fold, and the driver for what a wrapper computes before a launch.  The
 * interpreter does not; it is the oracle, and says in its own words what operations mean.  Nor does the run time, which
 * is linked into users' programs and has nothing of the compiler's. */
#ifndef TILECC_IR_ARITHMETIC_H
#define TILECC_IR_ARITHMETIC_H
#include "ir/ir.h"

__extension__ typedef __int128 wide_integer; /* holds any i64 and u64, and products of two i64 */

/* The exact result on integers without a width: of add sub mul div rem min max and or xor shl shr, and of neg abs not,
 * which take a alone.  x/0 is 0 and x%0 is x; a shift by less than 0 is one by more than there are bits.  False: 128
 * bits do not hold it; *result has the lowest of its bits. */
bool arithmetic_exact(enum ir_opcode opcode, wide_integer a, wide_integer b, wide_integer *result);
bool arithmetic_knows(enum ir_opcode opcode); /* whether it is one of these */
/* The result of the same, and of mulhi, in an element's width, where integers wrap.  Integers or bools; all bits are in
 * canonical form (ir_int_to_bits).  False: the operation is none of these. */
bool arithmetic_integer(enum ir_opcode opcode, enum ir_element element, uint64_t a, uint64_t b, uint64_t *bits);
bool arithmetic_fits(wide_integer number, enum ir_element element);

wide_integer arithmetic_divide_up(wide_integer a, wide_integer b); /* 0 for b = 0; not for -2^127 / -1 */
int arithmetic_log2(wide_integer number);                          /* rounded down; -1: there is none */
/* What a comparison says of two numbers; of a NaN and another none of the three is true. */
bool arithmetic_compare(enum ir_predicate predicate, bool less, bool equal, bool greater);
#endif
