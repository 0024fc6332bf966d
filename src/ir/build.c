/* Shorthands over ir_build for the operations that every room builds. */
#include "ir/ir.h"

static struct ir_context *context_of(const struct ir_builder *builder)
{
    return builder->block->function->module->context;
}

struct ir_value *ir_constant_bits(struct ir_builder *builder, const struct ir_type *type, uint64_t bits)
{
    struct ir_operation *operation = ir_build(builder, OP_CONSTANT, 0, NULL, 1, &type);
    ir_set_bits(operation, IR_ATTRIBUTE_VALUE, bits);
    return operation->results[0];
}

struct ir_value *ir_constant_int(struct ir_builder *builder, const struct ir_type *type, int64_t value)
{
    return ir_constant_bits(builder, type,
                            type->element == IR_POINTER ? (uint64_t)value : ir_int_to_bits(type->element, value));
}

struct ir_value *ir_constant_float(struct ir_builder *builder, const struct ir_type *type, double value)
{
    return ir_constant_bits(builder, type, ir_double_to_bits(type->element, value));
}

struct ir_value *ir_binary(struct ir_builder *builder, enum ir_opcode opcode, struct ir_value *a, struct ir_value *b)
{
    return ir_build_value(builder, opcode, a->type, 2, (struct ir_value *[]){a, b});
}

struct ir_value *ir_unary(struct ir_builder *builder, enum ir_opcode opcode, struct ir_value *a)
{
    return ir_build_value(builder, opcode, a->type, 1, &a);
}

struct ir_value *ir_compare(struct ir_builder *builder, enum ir_predicate predicate, struct ir_value *a,
                            struct ir_value *b)
{
    const struct ir_type *type = ir_type_with_element(context_of(builder), a->type, IR_BOOL);
    struct ir_operation *operation = ir_build(builder, OP_COMPARE, 2, (struct ir_value *[]){a, b}, 1, &type);
    ir_set_number(operation, IR_ATTRIBUTE_PREDICATE, predicate);
    return operation->results[0];
}

struct ir_value *ir_select(struct ir_builder *builder, struct ir_value *condition, struct ir_value *a,
                           struct ir_value *b)
{
    return ir_build_value(builder, OP_SELECT, a->type, 3, (struct ir_value *[]){condition, a, b});
}

struct ir_value *ir_cast(struct ir_builder *builder, struct ir_value *a, enum ir_element element)
{
    if (a->type->element == element)
        return a;
    return ir_build_value(builder, OP_CAST, ir_type_with_element(context_of(builder), a->type, element), 1, &a);
}

struct ir_value *ir_math(struct ir_builder *builder, enum ir_math function, struct ir_value *a, struct ir_value *b)
{
    const struct ir_type *type = function == IR_MATH_ISNAN ? ir_type_with_element(context_of(builder), a->type, IR_BOOL)
                                                           : a->type;
    struct ir_operation *operation = ir_build(builder, OP_MATH, b ? 2 : 1, (struct ir_value *[]){a, b}, 1, &type);
    ir_set_number(operation, IR_ATTRIBUTE_FUNCTION, function);
    return operation->results[0];
}

struct ir_value *ir_broadcast(struct ir_builder *builder, struct ir_value *a, int rank, const int64_t *extent)
{
    const struct ir_type *type = ir_type_with_shape(context_of(builder), a->type, rank, extent);
    if (ir_type_same_shape(type, a->type))
        return a;
    return ir_build_value(builder, a->type->rank == 0 ? OP_SPLAT : OP_BROADCAST, type, 1, &a);
}

bool ir_constant_of(const struct ir_value *value, uint64_t *bits)
{
    if (!value->definition || value->definition->opcode != OP_CONSTANT)
        return false;
    /* The verifier asks about operations that it found without it. */
    const struct ir_attribute *number = ir_attribute(value->definition, IR_ATTRIBUTE_VALUE);
    if (!number)
        return false;
    *bits = number->bits;
    return true;
}

bool ir_constant_integer(const struct ir_value *value, int64_t *number)
{
    uint64_t bits;
    if (!(ir_is_integer(value->type->element) || value->type->element == IR_BOOL) || !ir_constant_of(value, &bits))
        return false;
    *number = ir_bits_to_int(value->type->element, bits);
    return true;
}
