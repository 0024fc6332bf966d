/* Scans: running sums, products and extremes, and functions of the source over tuples. */
#include "base/plant.h"
#include "front/builtins/builtins_reduce.h"

#include <math.h>

struct scan_options {
    bool reverse, exclusive;
};

static bool read_options(struct elaborator *e, const struct call *call, struct scan_options *options)
{
    *options = (struct scan_options){false, false};
    return call_option_truth(e, call, "reverse", &options->reverse) &&
           call_option_truth(e, call, "exclusive", &options->exclusive);
}

/* `operands`: the tiles, and where exclusive what stands before their first elements. */
static struct ir_operation *build_one(struct elaborator *e, int count, struct ir_value **operands, int64_t axis,
                                      int kind, const struct scan_options *options)
{
    const struct ir_type *types[MOST_EXTENTS];
    for (int i = 0; i < count; i++)
        types[i] = operands[i]->type;
    struct ir_operation *operation = ir_build(&e->builder, OP_SCAN, options->exclusive ? 2 * count : count, operands,
                                              count, types);
    ir_set_number(operation, IR_ATTRIBUTE_AXIS, axis);
    ir_set_number(operation, IR_ATTRIBUTE_KIND, kind);
    if (options->reverse)
        ir_set_number(operation, IR_ATTRIBUTE_REVERSE, 1);
    if (options->exclusive)
        ir_set_number(operation, IR_ATTRIBUTE_EXCLUSIVE, 1);
    return operation;
}

static const struct ir_type *scalar_of(struct elaborator *e, const struct ir_value *tile)
{
    return ir_type_with_shape(e->context, tile->type, 0, NULL);
}

/* What stands before the first element: 0, 1, or what every element passes. */
static struct ir_value *neutral(struct elaborator *e, int kind, const struct ir_type *type)
{
    if (kind == IR_REDUCE_ADD || kind == IR_REDUCE_MUL) {
        double number = kind == IR_REDUCE_MUL ? 1 : 0;
        return ir_is_float(type->element) ? ir_constant_float(&e->builder, type, number)
                                          : ir_constant_int(&e->builder, type, (int64_t)number);
    }
    if (PLANTED(front_scan_starts_at_zero))
        return ir_constant_bits(&e->builder, type, 0);
    struct value limit = value_limit(type->element, kind == IR_REDUCE_MIN, e->builder.at);
    return convert_to_type(e, limit, type, false, "the first element of a scan");
}

struct value build_scan_kind(struct elaborator *e, struct call *call, int kind)
{
    struct value v = call->argument[0];
    if (!value_is_tile(v))
        return call_wrong(e, call, v, "a tile");
    if (v.enumeration || !reduce_kind_takes(kind, v.run->type->element))
        return call_wrong(e, call, v, "a tile of numbers");
    struct scan_options options;
    int64_t axis;
    int nan = reduce_read_nan(e, call);
    bool fixed = false;
    if (nan == -2 || !call_option_truth(e, call, "fixed", &fixed) || !read_options(e, call, &options) ||
        !reduce_read_one_axis(e, call, v.run->type->rank, &axis))
        return value_error(call->at);
    bool sums = kind == IR_REDUCE_ADD || kind == IR_REDUCE_MUL;
    struct ir_value *operands[2] = {sums ? reduce_widen_sum(e, v.run) : v.run, NULL};
    if (options.exclusive)
        operands[1] = neutral(e, kind, scalar_of(e, operands[0]));
    struct ir_operation *operation = build_one(e, 1, operands, axis, kind, &options);
    if (nan > 0)
        ir_set_number(operation, IR_ATTRIBUTE_NAN, nan);
    if (fixed || reduce_depends_on_order(e, kind, operands[0]->type->element))
        ir_set_number(operation, IR_ATTRIBUTE_FIXED, 1);
    struct value result = value_run(operation->results[0], call->at);
    result.origin = v.origin;
    return result;
}

/* initial = v, or (v, w, ...) for several tiles. */
static bool read_initial(struct elaborator *e, struct call *call, bool exclusive, int count, struct ir_value **operands)
{
    struct value initial;
    bool given = call_option_value(e, call, "initial", &initial);
    if (given != exclusive) {
        front_report(e, DIAGNOSTIC_E0308, call->at,
                     given ? "`initial` goes with `exclusive = true`: it stands before the first element"
                           : "`exclusive = true` needs what stands before the first element: `initial = v`");
        return false;
    }
    if (!given)
        return true;
    if (value_is_error(initial))
        return false;
    int values = initial.kind == VALUE_TUPLE ? initial.list.count : 1;
    if (values != count) {
        front_report(e, DIAGNOSTIC_E0308, initial.at, "`initial` has %d value%s for %d tile%s", values,
                     values == 1 ? "" : "s", count, count == 1 ? "" : "s");
        return false;
    }
    for (int i = 0; i < count; i++) {
        struct value one = initial.kind == VALUE_TUPLE ? initial.list.data[i] : initial;
        operands[count + i] = convert_to_type(e, one, scalar_of(e, operands[i]), false, "`initial` of a scan");
        if (!operands[count + i])
            return false;
    }
    return true;
}

struct value build_scan(struct elaborator *e, struct call *call, int detail)
{
    (void)detail;
    struct value tiles[MOST_EXTENTS];
    struct ir_value *operands[MOST_EXTENTS];
    struct scan_options options;
    int count;
    int64_t axis;
    if (!reduce_read(e, call, tiles, &count, &axis) || !read_options(e, call, &options))
        return value_error(call->at);
    for (int i = 0; i < count; i++)
        operands[i] = tiles[i].run;
    if (!read_initial(e, call, options.exclusive, count, operands))
        return value_error(call->at);
    struct ir_block *body = reduce_build_region(e, call, count, tiles);
    if (!body)
        return value_error(call->at);
    struct ir_operation *operation = build_one(e, count, operands, axis, IR_REDUCE_REGION, &options);
    if (e->front->options->reproducible)
        ir_set_number(operation, IR_ATTRIBUTE_FIXED, 1);
    region_attach(operation, 0, body);
    struct value all = {.kind = VALUE_TUPLE, .at = call->at};
    all.list.count = count;
    all.list.data = ARENA_ARRAY(e->arena, struct value, count);
    for (int i = 0; i < count; i++) {
        all.list.data[i] = value_run(operation->results[i], call->at);
        all.list.data[i].origin = tiles[i].origin;
    }
    return count == 1 ? all.list.data[0] : all;
}
