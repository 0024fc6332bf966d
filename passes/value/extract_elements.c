/* extract_elements: a few elements of a large tile.
 *
 *     %e = extract start(0, 5) %s : f32[1, 1]                      (%s : f32[64, 128])
 * becomes
 *     %b = bitcast %s : i32[64, 128]
 *     %r = reduce axis(0) kind(or) select(row = 0, %b, 0) : i32[128]
 *     %q = reduce axis(0) kind(or) select(column = 5, %r, 0) : i32
 *     %e = bitcast reshape %q : f32[1, 1]
 *
 * Why not cut the tile?  A cut needs a layout in which the thread that keeps an element also holds what is cut off
 * (layout_extend).  That is free where a tile is halved.  Where one number of an accumulator is asked for it is
 * impossible: each thread would hold the whole tile.  The reduction works in any layout, because a thread that holds
 * nothing of what is asked for gives zero bits.  It combines bits by `or`, since a sum would lose the sign of -0.0 and
 * the payload of a NaN.
 *
 * A dimension of n is cut to e of it, always at a multiple of e, by reshaping it to (n / e, e). */
#include "passes/base/pass.h"
#include "passes/base/rewrite.h"

enum { MOST_KEPT = 127, LEAST_CUT = 65 }; /* elements of the result; of the tile, for each of the result */

static enum ir_element bits_of(enum ir_element element)
{
    switch (ir_element_info[element].bits) {
    case 8: return IR_I8;
    case 16: return IR_I16;
    case 32: return IR_I32;
    default: return IR_I64;
    }
}

static bool is_cut(const struct ir_type *from, const struct ir_type *to, int dimension)
{
    return to->extent[dimension] < from->extent[dimension];
}

/* Large enough, and cut into equal blocks of which one stays. */
static bool is_worth(const struct ir_operation *op)
{
    const struct ir_type *from = op->operands[0]->type, *to = op->results[0]->type;
    int64_t kept = ir_type_elements(to), all = ir_type_elements(from);
    int rank = from->rank;
    if (from->element == IR_POINTER || kept > MOST_KEPT || all / kept < LEAST_CUT)
        return false;
    for (int d = 0; d < from->rank; d++) {
        if (!is_cut(from, to, d))
            continue;
        rank += to->extent[d] > 1;
        if (from->extent[d] % to->extent[d])
            return false;
    }
    return rank <= IR_MAX_RANK;
}

/* What lies at `place` along the axis, as bits, zeros elsewhere, or'ed together. */
static struct ir_value *pick_along(struct ir_builder *builder, struct ir_context *context, struct ir_value *bits,
                                   int axis, int64_t place)
{
    const struct ir_type *type = bits->type;
    int64_t extent = type->extent[axis], shape[IR_MAX_RANK];
    for (int d = 0; d < type->rank; d++)
        shape[d] = d == axis ? extent : 1;
    const struct ir_type *line = ir_type_tile(context, IR_INDEX, 1, &extent);
    struct ir_value *number = ir_build_value(builder, OP_IOTA, line, 0, NULL);
    number = ir_cast(builder, number, IR_I32);
    struct ir_value *wanted = ir_compare(builder, IR_PREDICATE_EQ, number,
                                         ir_constant_int(builder, number->type, place));
    if (type->rank > 1)
        wanted = ir_build_value(builder, OP_RESHAPE, ir_type_with_shape(context, wanted->type, type->rank, shape), 1,
                                &wanted);
    wanted = ir_broadcast(builder, wanted, type->rank, type->extent);
    struct ir_value *chosen = ir_select(builder, wanted, bits, ir_constant_int(builder, type, 0));
    int rank = 0;
    for (int d = 0; d < type->rank; d++)
        if (d != axis)
            shape[rank++] = type->extent[d];
    const struct ir_type *rest = ir_type_with_shape(context, type, rank, shape);
    struct ir_operation *reduce = ir_build(builder, OP_REDUCE, 1, &chosen, 1, &rest);
    ir_set_number(reduce, IR_ATTRIBUTE_AXIS, axis);
    ir_set_number(reduce, IR_ATTRIBUTE_KIND, IR_REDUCE_OR);
    return reduce->results[0];
}

static void pick(struct ir_operation *op)
{
    struct ir_context *context = rewrite_context(op);
    struct ir_builder builder = rewrite_before(op);
    const struct ir_type *from = op->operands[0]->type, *to = op->results[0]->type;
    const int64_t *start = ir_attribute(op, IR_ATTRIBUTE_START)->list;
    enum ir_element element = from->element;
    struct ir_value *bits = op->operands[0];
    int64_t blocks[IR_MAX_RANK], place[IR_MAX_RANK];
    int rank = 0;
    if (element == IR_BOOL)
        bits = ir_cast(&builder, bits, IR_I32);
    else if (ir_is_float(element))
        bits = ir_build_value(&builder, OP_BITCAST, ir_type_tile(context, bits_of(element), from->rank, from->extent),
                              1, &bits);
    for (int d = 0; d < from->rank; d++) {
        bool cut = is_cut(from, to, d);
        place[rank] = cut ? start[d] / to->extent[d] : -1;
        blocks[rank++] = cut ? from->extent[d] / to->extent[d] : from->extent[d];
        if (cut && to->extent[d] > 1) {
            place[rank] = -1;
            blocks[rank++] = to->extent[d];
        }
    }
    if (rank != from->rank)
        bits = ir_build_value(&builder, OP_RESHAPE, ir_type_with_shape(context, bits->type, rank, blocks), 1, &bits);
    for (int d = rank - 1; d >= 0; d--)
        if (place[d] >= 0)
            bits = pick_along(&builder, context, bits, d, place[d]);
    const struct ir_type *shape = ir_type_with_shape(context, bits->type, to->rank, to->extent);
    if (shape != bits->type)
        bits = ir_build_value(&builder, OP_RESHAPE, shape, 1, &bits);
    if (element == IR_BOOL)
        bits = ir_cast(&builder, bits, IR_BOOL);
    else if (ir_is_float(element))
        bits = ir_build_value(&builder, OP_BITCAST, to, 1, &bits);
    ir_replace_uses(op->results[0], bits);
    ir_remove(op);
}

struct picks {
    struct pass_context *context;
    bool changed;
};

static void visit(struct ir_operation *op, void *data)
{
    struct picks *picks = data;
    if (op->opcode != OP_EXTRACT || !is_worth(op) || !pass_fuel(picks->context))
        return;
    pick(op);
    picks->changed = true;
}

bool pass_extract_elements(struct ir_function *function, struct pass_context *context)
{
    struct picks picks = {.context = context};
    ir_walk(function->body, visit, &picks);
    return picks.changed;
}
