/* Algebra of shapes and views, for simplify.  Types are kept exactly, layouts included. */
#include "base/plant.h"
#include "passes/value/simplify.h"

static struct ir_value *splat(struct ir_operation *op, struct ir_value *scalar)
{
    struct ir_builder builder = rewrite_before(op);
    return ir_build_value(&builder, OP_SPLAT, op->results[0]->type, 1, &scalar);
}

static struct ir_value *permute(struct ir_operation *op)
{
    const struct ir_attribute *order = ir_attribute(op, IR_ATTRIBUTE_PERMUTATION);
    const struct ir_operation *inner = simplify_definition(op->operands[0], op->opcode);
    bool identity = true;
    for (int i = 0; i < order->count; i++)
        identity = identity && order->list[i] == i;
    if (identity && op->operands[0]->type == op->results[0]->type)
        return op->operands[0];
    if (!inner)
        return NULL;
    /* permute(permute(x, p), q) = permute(x, p o q) */
    const struct ir_attribute *first = ir_attribute(inner, IR_ATTRIBUTE_PERMUTATION);
    int64_t both[IR_MAX_RANK];
    for (int i = 0; i < order->count; i++)
        both[i] = PLANTED(simplify_permutes_in_wrong_order) ? order->list[first->list[i]] : first->list[order->list[i]];
    struct ir_builder builder = rewrite_before(op);
    struct ir_value *direct = ir_build_value(&builder, op->opcode, op->results[0]->type, 1, inner->operands);
    ir_set_list(direct->definition, IR_ATTRIBUTE_PERMUTATION, order->count, both);
    return direct;
}

static bool is_shape_operation(enum ir_opcode opcode)
{
    return opcode == OP_SPLAT || opcode == OP_BROADCAST || opcode == OP_RESHAPE || opcode == OP_PERMUTE ||
           opcode == OP_EXTRACT;
}

/* f(x) = x for the same type (permutations: the identity only);  f(splat s) = splat s;  reshape(reshape x) = reshape x;
 * broadcast(broadcast x) = broadcast x;  extract(extract x) = extract x from the sum of starts */
struct ir_value *simplify_shape(struct ir_operation *op)
{
    if (!is_shape_operation(op->opcode))
        return NULL;
    struct ir_value *x = op->operands[0];
    if (op->opcode != OP_PERMUTE && x->type == op->results[0]->type)
        return x;
    const struct ir_operation *source = simplify_definition(x, OP_SPLAT);
    if (source && source->operands[0]->type->rank == 0)
        return splat(op, source->operands[0]);
    if (op->opcode == OP_PERMUTE)
        return permute(op);
    const struct ir_operation *inner = simplify_definition(x, op->opcode);
    if (!inner || op->opcode == OP_SPLAT)
        return NULL;
    struct ir_builder builder = rewrite_before(op);
    struct ir_value *direct = ir_build_value(&builder, op->opcode, op->results[0]->type, 1, inner->operands);
    if (op->opcode == OP_EXTRACT) {
        const struct ir_attribute *outer = ir_attribute(op, IR_ATTRIBUTE_START);
        const struct ir_attribute *first = ir_attribute(inner, IR_ATTRIBUTE_START);
        int64_t start[IR_MAX_RANK];
        for (int i = 0; i < outer->count; i++)
            start[i] = outer->list[i] + (PLANTED(simplify_extract_forgets_start) ? 0 : first->list[i]);
        ir_set_list(direct->definition, IR_ATTRIBUTE_START, outer->count, start);
    }
    return direct;
}

/* The scalar that fills a tile: a splat's operand, or a constant made anew; NULL: none. */
static struct ir_value *scalar_of(struct ir_operation *op, struct ir_value *value)
{
    const struct ir_operation *source = simplify_definition(value, OP_SPLAT);
    uint64_t bits;
    if (source)
        return source->operands[0];
    if (!ir_constant_of(value, &bits))
        return NULL;
    struct ir_builder builder = rewrite_before(op);
    struct ir_type scalar = *value->type;
    scalar.rank = 0;
    scalar.layout = NULL;
    return ir_constant_bits(&builder, ir_type_intern(rewrite_context(op), &scalar), bits);
}

/* f(splat a, splat b) = splat f(a, b): once instead of for each element. */
struct ir_value *simplify_elementwise(struct ir_operation *op)
{
    if (!ir_has_trait(op, IR_TRAIT_ELEMENTWISE) || op->region_count || op->results[0]->type->rank == 0 ||
        op->operand_count > 3 || op->result_count > 1)
        return NULL;
    bool any = false;
    for (int i = 0; i < op->operand_count; i++) {
        const struct ir_value *operand = op->operands[i];
        any = any || simplify_definition(operand, OP_SPLAT);
        bool scalar_condition = op->opcode == OP_SELECT && i == 0 && operand->type->rank == 0;
        if (!simplify_definition(operand, OP_SPLAT) && !ir_is_constant(operand) && !scalar_condition)
            return NULL;
    }
    if (!any)
        return NULL;
    struct ir_value *scalars[3];
    for (int i = 0; i < op->operand_count; i++)
        scalars[i] = op->operands[i]->type->rank ? scalar_of(op, op->operands[i]) : op->operands[i];
    struct ir_type type = *op->results[0]->type;
    type.rank = 0;
    type.layout = NULL;
    struct ir_builder builder = rewrite_before(op);
    struct ir_value *scalar = ir_build_value(&builder, op->opcode, ir_type_intern(rewrite_context(op), &type),
                                             op->operand_count, scalars);
    scalar->definition->attributes = op->attributes;
    return splat(op, scalar);
}

/* extent of a view whose type tells it = a constant, so is a stride; of a made view = what it is made with;  present of a kernel's view that is never absent =
 * true; extent, stride of a permuted view = those of the view.  A sub-view's stride is its parent's; its extent is
 * clamped. */
struct ir_value *simplify_view(struct ir_operation *op)
{
    if (op->opcode != OP_EXTENT && op->opcode != OP_STRIDE && op->opcode != OP_PRESENT && op->opcode != OP_VIEW_PERMUTE)
        return NULL;
    struct ir_value *view = op->operands[0];
    const struct ir_type *type = view->type;
    struct ir_builder builder = rewrite_before(op);
    if (op->opcode == OP_VIEW_PERMUTE)
        return permute(op);
    const struct ir_operation *permuted = simplify_definition(view, OP_VIEW_PERMUTE);
    const struct ir_operation *made = simplify_definition(view, OP_MAKE_VIEW);
    if (op->opcode == OP_PRESENT) {
        if (made && made->operands[0]->type->kind == IR_VIEW)
            return ir_build_value(&builder, OP_PRESENT, op->results[0]->type, 1, made->operands);
        bool argument = !view->definition && !view->block->parent && op->block->function->is_kernel;
        if (!type->optional && argument)
            return ir_constant_bits(&builder, op->results[0]->type, 1);
        return permuted ? ir_build_value(&builder, OP_PRESENT, op->results[0]->type, 1, permuted->operands) : NULL;
    }
    int64_t dimension = ir_number(op, IR_ATTRIBUTE_DIMENSION, 0);
    int64_t known = op->opcode == OP_EXTENT ? type->extent[dimension] : type->stride[dimension];
    if (known != IR_DYNAMIC)
        return ir_constant_int(&builder, op->results[0]->type, known);
    if (made) {
        struct ir_value *given = made->operands[1 + dimension + (op->opcode == OP_STRIDE ? type->rank : 0)];
        return given->type == op->results[0]->type ? given : NULL;
    }
    if (!permuted)
        return NULL;
    struct ir_value *direct = ir_build_value(&builder, op->opcode, op->results[0]->type, 1, permuted->operands);
    ir_set_number(direct->definition, IR_ATTRIBUTE_DIMENSION,
                  ir_attribute(permuted, IR_ATTRIBUTE_PERMUTATION)->list[dimension]);
    return direct;
}
