/* What the parts of the verifier's rules share.  For src/ir/verify*.c alone. */
#ifndef TILECC_IR_VERIFY_INTERNAL_H
#define TILECC_IR_VERIFY_INTERNAL_H
#include "ir/verify/verify.h"

static inline bool verify_is_tile(const struct ir_value *value) { return value->type->kind == IR_TILE; }
static inline bool verify_is_scalar(const struct ir_value *value)
{
    return verify_is_tile(value) && value->type->rank == 0;
}
static inline bool verify_is_scalar_of(const struct ir_value *value, enum ir_element element)
{
    return verify_is_scalar(value) && value->type->element == element;
}
static inline bool verify_is_integer_scalar(const struct ir_value *value)
{
    return verify_is_scalar(value) && ir_is_integer(value->type->element);
}
static inline bool verify_same_element(const struct ir_type *a, const struct ir_type *b)
{
    return a->element == b->element && a->pointee == b->pointee && a->pointee_const == b->pointee_const;
}

/* Entries of `place` against the view and the index operands. */
const char *verify_place(const struct ir_operation *op);
/* The extents of two factors and an accumulator, tiles or buffers. */
const char *verify_product(const struct ir_type *a, const struct ir_type *b, const struct ir_type *c);
/* A list that names each of 0 .. rank - 1 once. */
bool verify_is_permutation(const struct ir_attribute *list, int rank);
/* Operations of the Schedule and Machine levels (verify_machine.c). */
const char *verify_schedule(const struct ir_operation *op);
const char *verify_machine(const struct ir_operation *op);
#endif
