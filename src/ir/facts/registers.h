/* How many registers of 32 bits a thread needs for its part of a tile.  Whoever counts registers asks here. */
#ifndef TILECC_IR_REGISTERS_H
#define TILECC_IR_REGISTERS_H
#include "ir/ir.h"

/* How elements of fewer than 32 bits are counted: each in a register of its own, as code that works on them has them;
 * two of 16 bits in one, as instructions on pairs take them; or packed as in memory, as a tile that only waits may be.
 * Packed truth values take none: they are predicates, or are made again. */
enum registers_packing { REGISTERS_PACKED = 1, REGISTERS_PAIRS = 16, REGISTERS_ELEMENTS = 32 };

/* 0: the type is not a tile, or has no layout yet. */
int registers_of_tile(const struct ir_type *type, enum registers_packing packing);
/* Whether the elements of the operation's result are registers of its operand, or numbers in the code. */
bool registers_are_shared(const struct ir_operation *operation);
/* The value whose registers this one shares; itself, when it has its own. */
const struct ir_value *registers_origin(const struct ir_value *value);
#endif
