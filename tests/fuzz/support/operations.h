/* Lists of operations for tests, from the table of the tile IR: what is computed from one element of each operand, of one
 * type with the result. A new row of ops.def is in all of them. */
#ifndef FUZZ_OPERATIONS_H
#define FUZZ_OPERATIONS_H
#include "ir/ir.h"

struct operations {
    int count;
    enum ir_opcode of[OP_COUNT];
};
/* Of so many operands of that element, in the order of the table. */
struct operations operations_on(enum ir_element element, int operands);
/* Those of them that LLVM has as an intrinsic. */
struct operations operations_intrinsic(enum ir_element element, int operands);
const char *operations_text(const struct operations *operations, int number);
#endif
