/* Products of few rows for wgmma, whose first factor has 64 rows and whose second any multiple of 8 columns, and those of
 * 32-bit factors of which the second lies across, as wgmma reads only a first one: the transposed product is made instead,
 * so that columns of the tile are rows of the instruction. */
#ifndef TILECC_PASSES_TURN_PRODUCT_H
#define TILECC_PASSES_TURN_PRODUCT_H
#include "passes/base/pass.h"

/* Turns each product that wgmma takes, or that keeps both factors in registers, in this way alone.  None, where another
 * product of the kernel would be left to another instruction.  False: nothing is turned. */
bool turn_products(struct ir_function *function, struct pass_context *context);
#endif
