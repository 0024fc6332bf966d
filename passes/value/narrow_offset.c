/* The second half of narrow: comparisons of places that may lie beyond 32 bits while their distance does not.
 *
 *     %c = add (splat %j), (iota : index[128])       %t = cast (clamp (sub %n, %j), 2^30) : i32
 *     %m = compare predicate(lt) %c, (splat %n)  ->  %m = compare predicate(lt) (iota : i32[128]), (splat %t)
 *
 * The pass splits each side into a scalar, which is the same for the whole tile, and a small rest.  One difference of
 * scalars then takes the place of both scalar parts.  A thread holds one number for a row or a column, where it held a
 * wide place for each element.
 *
 * Right for two reasons.  Nothing wraps, because the ranges stay far from the ends of 64 bits; so a + x < b + y says
 * the same as x < y + (b - a).  And the rests are at most 2^29, so that clamping b - a to 2^30 cannot change the
 * answer.  Whether two are equal is the same also where they wrap, so that nothing need be known of scalars then: a label
 * from memory may be compared with a column. */
#include "base/plant.h"
#include "passes/value/narrow.h"
#include "passes/base/rewrite.h"

enum { FAR = (1 << 30) + 1, NEAR = 1 << 26, MOST_LEAVES = 8 };

struct offsets {
    const struct ranges *ranges;
    struct pass_context *context;
    bool equality; /* of the comparison that is looked at */
    bool changed;
};
/* The sum of a scalar (or NULL: 0) and a tile (or NULL: 0). */
struct split {
    struct ir_value *scalar, *rest;
};

static bool is_between(const struct offsets *o, const struct ir_value *value, int64_t bound)
{
    struct range range = range_of(o->ranges, value);
    return range.low >= -bound && range.high <= bound;
}

/* Whether sums of the value's parts say the same as the value. */
static bool adds_up(const struct offsets *o, const struct ir_value *value)
{
    return o->equality || is_between(o, value, INT64_MAX / 4);
}

static bool is_wide_element(enum ir_element element) { return element == IR_INDEX || element == IR_I64; }

static bool is_wide_cast(const struct ir_operation *op)
{
    return op->opcode == OP_CAST && is_wide_element(op->operands[0]->type->element) &&
           is_wide_element(op->results[0]->type->element);
}

static struct ir_value *combine(struct ir_builder *builder, enum ir_opcode opcode, struct ir_value *a,
                                struct ir_value *b)
{
    if (a && b)
        return ir_binary(builder, opcode, a, b);
    if (!b || opcode == OP_ADD)
        return a ? a : b;
    return ir_binary(builder, OP_SUB, ir_constant_int(builder, b->type, 0), b);
}

static bool is_form(const struct ir_operation *op) { return op->opcode == OP_BROADCAST || op->opcode == OP_RESHAPE; }

static struct ir_value *in_form(struct ir_builder *builder, const struct ir_operation *form, struct ir_value *value)
{
    struct ir_context *context = builder->module->context;
    const struct ir_type *type = ir_type_with_element(context, form->results[0]->type, value->type->element);
    return ir_build_value(builder, form->opcode, type, 1, &value);
}

static struct split split_of(const struct offsets *o, struct ir_builder *builder, struct ir_value *value)
{
    const struct ir_operation *op = value->definition;
    if (!op || !adds_up(o, value))
        return (struct split){NULL, value};
    if (op->opcode == OP_SPLAT)
        return (struct split){op->operands[0], NULL};
    if (is_wide_cast(op)) {
        struct split inner = split_of(o, builder, op->operands[0]);
        enum ir_element element = value->type->element;
        return (struct split){inner.scalar ? ir_cast(builder, inner.scalar, element) : NULL,
                              inner.rest ? ir_cast(builder, inner.rest, element) : NULL};
    }
    if (is_form(op)) {
        struct split inner = split_of(o, builder, op->operands[0]);
        if (inner.scalar && inner.rest)
            return (struct split){inner.scalar, in_form(builder, op, inner.rest)};
        return inner.scalar ? inner : (struct split){NULL, value};
    }
    if (op->opcode != OP_ADD && op->opcode != OP_SUB)
        return (struct split){NULL, value};
    struct split a = split_of(o, builder, op->operands[0]), b = split_of(o, builder, op->operands[1]);
    struct ir_value *scalar = combine(builder, op->opcode, a.scalar, b.scalar);
    return (struct split){scalar, combine(builder, op->opcode, a.rest, b.rest)};
}

/* What split_of would find, without building: scalars, and tiles that are left.  False: one of these may be large. */
struct census {
    int scalars, rests;
};

static bool count_parts(const struct offsets *o, const struct ir_value *value, struct census *c)
{
    const struct ir_operation *op = value->definition;
    if (op && adds_up(o, value)) {
        if (op->opcode == OP_SPLAT) {
            c->scalars++;
            return true;
        }
        if (is_form(op) || is_wide_cast(op))
            return count_parts(o, op->operands[0], c);
        if (op->opcode == OP_ADD || op->opcode == OP_SUB)
            return count_parts(o, op->operands[0], c) && count_parts(o, op->operands[1], c);
    }
    c->rests++;
    return c->rests <= MOST_LEAVES && is_between(o, value, NEAR);
}

/* value + offset in 32 bits, added where the value is smallest. */
static struct ir_value *moved(struct ir_builder *builder, struct ir_value *value, struct ir_value *offset)
{
    if (value->definition && is_form(value->definition))
        return in_form(builder, value->definition, moved(builder, value->definition->operands[0], offset));
    struct ir_value *narrow = ir_cast(builder, value, IR_I32);
    if (!offset)
        return narrow;
    return ir_binary(builder, OP_ADD, narrow, ir_build_value(builder, OP_SPLAT, narrow->type, 1, &offset));
}

static void visit(struct ir_operation *op, void *data)
{
    struct offsets *o = data;
    if (op->opcode != OP_COMPARE || !is_wide_element(op->operands[0]->type->element) ||
        op->operands[0]->type->rank == 0)
        return;
    bool is_sum = false, is_wide = false;
    int64_t predicate = ir_number(op, IR_ATTRIBUTE_PREDICATE, IR_PREDICATE_EQ);
    o->equality = predicate == IR_PREDICATE_EQ || predicate == IR_PREDICATE_NE;
    for (int i = 0; i < 2; i++) {
        struct census c = {0};
        is_wide |= !is_between(o, op->operands[i], INT32_MAX);
        if (!adds_up(o, op->operands[i]) || !count_parts(o, op->operands[i], &c))
            return;
        is_sum |= c.scalars && c.rests;
    }
    if (!is_sum || !is_wide || !pass_fuel(o->context))
        return;
    struct ir_builder builder = rewrite_before(op);
    struct ir_context *context = builder.module->context;
    struct split side[2] = {split_of(o, &builder, op->operands[0]), split_of(o, &builder, op->operands[1])};
    const struct ir_type *narrow = ir_type_with_element(context, op->operands[0]->type, IR_I32);
    struct ir_value *difference = combine(&builder, OP_SUB, side[1].scalar, side[0].scalar);
    const struct ir_type *wide = difference->type;
    if (!PLANTED(narrow_offset_not_clamped))
        difference = ir_binary(&builder, OP_MIN, difference, ir_constant_int(&builder, wide, FAR));
    difference = ir_binary(&builder, OP_MAX, difference, ir_constant_int(&builder, wide, -FAR));
    difference = ir_cast(&builder, difference, IR_I32);
    struct ir_value *left = side[0].rest ? moved(&builder, side[0].rest, NULL) : ir_constant_int(&builder, narrow, 0);
    struct ir_value *right = side[1].rest ? moved(&builder, side[1].rest, difference)
                                          : ir_build_value(&builder, OP_SPLAT, narrow, 1, &difference);
    ir_set_operand(op, 0, left);
    ir_set_operand(op, 1, right);
    o->changed = true;
}

bool narrow_offsets(struct ir_function *function, const struct ranges *ranges, struct pass_context *context)
{
    struct offsets o = {.ranges = ranges, .context = context};
    ir_walk(function->body, visit, &o);
    return o.changed;
}
