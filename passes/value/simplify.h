/* The parts of the pass simplify.  Each looks at one operation and gives the value that stands for its result (built in
 * front of it where needed), the result itself when the operation was changed in place, or NULL. */
#ifndef TILECC_PASSES_SIMPLIFY_H
#define TILECC_PASSES_SIMPLIFY_H
#include "passes/base/pass.h"
#include "passes/base/rewrite.h"

struct ir_value *simplify_integer(struct ir_operation *op); /* simplify_arithmetic.c */
struct ir_value *simplify_float(struct ir_operation *op);
struct ir_value *simplify_choice(struct ir_operation *op); /* select, compare, cast, bitcast: simplify_choice.c */
struct ir_value *simplify_cast(struct ir_operation *op);
struct ir_value *simplify_shape(struct ir_operation *op); /* simplify_shape.c */
struct ir_value *simplify_move(struct ir_operation *op);  /* simplify_move.c */
struct ir_value *simplify_elementwise(struct ir_operation *op);
struct ir_value *simplify_view(struct ir_operation *op);
/* Operations with regions: true when something was rewritten; the operation may be gone.  simplify_control.c */
bool simplify_control(struct ir_operation *op);

static inline const struct ir_operation *simplify_definition(const struct ir_value *value, enum ir_opcode opcode)
{
    return value->definition && value->definition->opcode == opcode ? value->definition : NULL;
}
/* A constant (of a whole tile) with this value: integers by value, floats by bits, so that 0.0 is not -0.0. */
static inline bool simplify_is(const struct ir_value *value, double number)
{
    uint64_t bits;
    enum ir_element e = value->type->element;
    return value->type->kind == IR_TILE && e != IR_POINTER && ir_constant_of(value, &bits) &&
           bits == ir_double_to_bits(e, number);
}
#endif
