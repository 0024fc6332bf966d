/* small_integers: integers of few bits become 16-bit floats by their bits, and are scaled as such.
 *
 *     %f = cast (sub %w, %z) : bf16[32, 128]           %a = bitcast (cast (or %w, 0x4300) : u16) : bf16   (128 + w)
 *                                                ->    %b = bitcast (cast (or %z, 0x4300) : u16) : bf16   (128 + z)
 *                                                      %f = sub %a, %b
 *     cast (mul (cast (sub %w, %z) : f32), (cast %s : f32)) : bf16       ->       mul %f, %s
 *
 * where %w and %z are 0 to 127.  A bf16 of 128 to 255 has steps of 1, an f16 of 1024 to 2047, so that the last bits are the
 * number; the difference is such a number, too, or one with fewer digits, and exact.  So is the product of such an integer and
 * a 16-bit float in f32, which is then rounded once, as mul of 16-bit floats rounds: it gives the same bits.
 *
 * A conversion of an integer is made for each element by itself, at a quarter of the rate of other instructions; a mask with the
 * bits set and a difference are made of two elements at once. */
#include "base/plant.h"
#include "ir/facts/analysis.h"
#include "ir/facts/linear.h"
#include "passes/base/pass.h"
#include "passes/base/rewrite.h"
#include "targets/target.h"

/* Of an element: the number from which on steps are 1, and its bits. */
struct unit {
    int64_t base, bits;
};

static bool find_unit(enum ir_element element, struct unit *unit)
{
    *unit = element == IR_BF16 ? (struct unit){128, 0x4300} : (struct unit){1024, 0x6400};
    return element == IR_BF16 || element == IR_F16;
}

static bool is_small(const struct ranges *ranges, const struct ir_value *value, const struct unit *unit)
{
    return range_within(range_of(ranges, value), (struct range){0, unit->base - 1});
}

/* The integers are such a difference: small numbers less others, or less one number.  `less` is NULL for the latter. */
struct difference {
    struct ir_value *from, *less;
    int64_t number;
};

static bool find_difference(const struct ranges *ranges, struct ir_value *value, const struct unit *unit,
                            struct difference *d)
{
    const struct ir_operation *op = value->definition;
    enum ir_element e = value->type->element;
    int64_t number;
    if (value->type->rank == 0 || ir_is_constant(value) || (e != IR_I32 && e != IR_U32 && e != IR_I16 && e != IR_U16))
        return false;
    *d = (struct difference){value, NULL, 0};
    if (is_small(ranges, value, unit))
        return true;
    if (!op || (op->opcode != OP_SUB && op->opcode != OP_ADD) || !is_small(ranges, op->operands[0], unit) ||
        !linear_is_exact(ranges, op)) /* without a sign it may wrap */
        return false;
    d->from = op->operands[0];
    if (ir_constant_integer(op->operands[1], &number)) {
        d->number = op->opcode == OP_SUB ? number : -number;
        return d->number >= 0 && d->number <= unit->base;
    }
    d->less = op->operands[1];
    return op->opcode == OP_SUB && is_small(ranges, d->less, unit);
}

/* base + value, as a float. */
static struct ir_value *with_base(struct ir_builder *b, struct ir_value *value, enum ir_element element,
                                  const struct unit *unit)
{
    struct ir_value *bits = ir_binary(b, OP_OR, value, ir_constant_int(b, value->type, unit->bits));
    bits = ir_cast(b, bits, IR_U16);
    return ir_build_value(b, OP_BITCAST, ir_type_with_element(b->module->context, value->type, element), 1, &bits);
}

static struct ir_value *make_float(struct ir_builder *b, const struct difference *d, enum ir_element element,
                                   const struct unit *unit)
{
    struct ir_value *from = with_base(b, d->from, element, unit);
    double less = (double)(unit->base + d->number + PLANTED(small_integers_off_by_one));
    return ir_binary(b, OP_SUB, from,
                     d->less ? with_base(b, d->less, element, unit) : ir_constant_float(b, from->type, less));
}

/* The value before it became f32; NULL: it was not one of `element`, or of any integers for IR_I32. */
static struct ir_value *before_f32(const struct ir_value *value, enum ir_element element)
{
    const struct ir_operation *op = value->definition;
    if (!op || op->opcode != OP_CAST)
        return NULL;
    enum ir_element e = op->operands[0]->type->element;
    return e == element || (element == IR_I32 && ir_is_integer(e)) ? op->operands[0] : NULL;
}

struct making {
    struct pass_context *context;
    bool changed;
};

/* `cast` of integers, or of integers times floats of its own element. */
static void visit(struct ir_operation *op, void *data)
{
    struct making *m = data;
    struct unit unit;
    struct difference d;
    if (op->opcode != OP_CAST || ir_attribute(op, IR_ATTRIBUTE_ROUND) ||
        !find_unit(op->results[0]->type->element, &unit))
        return;
    enum ir_element element = op->results[0]->type->element;
    struct ir_value *integers = op->operands[0], *scale = NULL;
    const struct ir_operation *product = integers->definition;
    if (integers->type->element == IR_F32 && product && product->opcode == OP_MUL) {
        int first = before_f32(product->operands[0], IR_I32) ? 0 : 1;
        integers = before_f32(product->operands[first], IR_I32);
        scale = before_f32(product->operands[1 - first], element);
        if (!integers || !scale)
            return;
    }
    if (!ir_is_integer(integers->type->element) || !find_difference(m->context->ranges, integers, &unit, &d) ||
        !pass_fuel(m->context))
        return;
    struct ir_builder builder = rewrite_before(op);
    struct ir_value *made = make_float(&builder, &d, element, &unit);
    if (scale) {
        made = ir_binary(&builder, OP_MUL, made, scale);
        ir_set_number(made->definition, IR_ATTRIBUTE_ROUNDED, 1); /* as the cast did, whatever is added to it */
    }
    ir_replace_uses(op->results[0], made);
    ir_remove(op);
    m->changed = true;
}

bool pass_small_integers(struct ir_function *function, struct pass_context *context)
{
    struct making m = {context, false};
    if (context->target && context->target->major >= 9) /* before, bf16 has a multiply-add alone */
        ir_walk(function->body, visit, &m);
    return m.changed;
}
