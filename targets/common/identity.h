/* The neutral element of a reduction or a scan. */
#ifndef TILECC_COMMON_IDENTITY_H
#define TILECC_COMMON_IDENTITY_H
#include "ir/ir.h"

/* Bits of the value that changes nothing under `kind`. */
uint64_t combine_identity(enum ir_reduce_kind kind, enum ir_element element, enum ir_nan nan);
#endif
