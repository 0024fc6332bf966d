/* How a reduction or a scan of a kind that the IR knows combines two elements. */
#ifndef TILECC_COMMON_COMBINE_H
#define TILECC_COMMON_COMBINE_H
#include "ir/ir.h"

enum ir_opcode combine_opcode(enum ir_reduce_kind kind);
/* Bits of the value that changes nothing under `kind`. */
uint64_t combine_identity(enum ir_reduce_kind kind, enum ir_element element, enum ir_nan nan);
#endif
