/* Reductions: kinds that the IR knows, functions of the source over tuples, positions of extremes. */
#include "base/plant.h"
#include "front/builtins/builtins_reduce.h"

#include <string.h>

int reduce_read_nan(struct elaborator *e, const struct call *call)
{
#define X(id, text) text,
    static const char *const nans[] = { IR_NANS(X) };
#undef X
    return call_option_word(e, call, "nan", IR_NAN_COUNT, nans, IR_NAN_SKIP);
}

static const struct ir_type *without_axis(struct elaborator *e, const struct ir_type *type, int axis)
{
    int64_t extent[IR_MAX_RANK] = {0};
    int rank = 0;
    for (int d = 0; d < type->rank; d++)
        if (d != axis)
            extent[rank++] = type->extent[d];
    return ir_type_with_shape(e->context, type, rank, extent);
}

static const struct origin *drop_origin(struct elaborator *e, const struct origin *origin, int axis)
{
    if (!origin)
        return NULL;
    struct origin *kept = ARENA_NEW(e->arena, struct origin);
    for (int d = 0, k = 0; d < IR_MAX_RANK; d++)
        if (d != axis)
            kept->extent[k++] = origin->extent[d];
    return kept;
}

static struct ir_operation *build_one(struct elaborator *e, int count, struct ir_value **tiles, int axis, int kind)
{
    const struct ir_type *types[MOST_EXTENTS];
    for (int i = 0; i < count; i++)
        types[i] = without_axis(e, tiles[i]->type, axis);
    struct ir_operation *operation = ir_build(&e->builder, OP_REDUCE, count, tiles, count, types);
    ir_set_number(operation, IR_ATTRIBUTE_AXIS, axis);
    ir_set_number(operation, IR_ATTRIBUTE_KIND, kind);
    return operation;
}

struct ir_value *reduce_widen_sum(struct elaborator *e, struct ir_value *v)
{
    enum ir_element element = v->type->element;
    if (ir_is_float(element) && ir_element_info[element].bits < 32)
        return ir_cast(&e->builder, v, IR_F32);
    int wide = PLANTED(front_sum_stays_narrow) ? 16 : 32;
    if (element == IR_BOOL || (ir_is_integer(element) && ir_element_info[element].bits < wide))
        return ir_cast(&e->builder, v, IR_I32);
    return v;
}

bool reduce_kind_takes(int kind, enum ir_element element)
{
    if (element == IR_POINTER)
        return false;
    if (kind == IR_REDUCE_AND || kind == IR_REDUCE_OR)
        return element == IR_BOOL;
    if (kind == IR_REDUCE_XOR)
        return ir_is_integer(element);
    if (kind == IR_REDUCE_ADD)
        return true;
    return element != IR_BOOL;
}

bool reduce_depends_on_order(const struct elaborator *e, int kind, enum ir_element element)
{
    return e->front->options->reproducible && ir_is_float(element) && (kind == IR_REDUCE_ADD || kind == IR_REDUCE_MUL);
}

struct value build_reduce_kind(struct elaborator *e, struct call *call, int kind)
{
    struct value v = call->argument[0];
    if (!value_is_tile(v))
        return call_wrong(e, call, v, "a tile");
    if (v.enumeration || !reduce_kind_takes(kind, v.run->type->element))
        return call_wrong(e, call, v,
                          kind == IR_REDUCE_AND || kind == IR_REDUCE_OR ? "a tile of bool"
                          : kind == IR_REDUCE_XOR                       ? "a tile of integers"
                                                                        : "a tile of numbers");
    int nan = reduce_read_nan(e, call);
    int64_t axis;
    bool given, fixed = false;
    if (nan == -2 || !call_option_truth(e, call, "fixed", &fixed) ||
        !call_option_axis(e, call, v.run->type->rank, &axis, &given))
        return value_error(call->at);
    struct ir_value *run = kind == IR_REDUCE_ADD || kind == IR_REDUCE_MUL ? reduce_widen_sum(e, v.run) : v.run;
    const struct origin *origin = v.origin;
    do {
        int at = given ? (int)axis : run->type->rank - 1;
        struct ir_operation *operation = build_one(e, 1, &run, at, kind);
        if (nan > 0)
            ir_set_number(operation, IR_ATTRIBUTE_NAN, nan);
        if (fixed || reduce_depends_on_order(e, kind, run->type->element))
            ir_set_number(operation, IR_ATTRIBUTE_FIXED, 1);
        run = operation->results[0];
        origin = drop_origin(e, origin, at);
    } while (!given && run->type->rank > 0);
    struct value result = value_run(run, call->at);
    result.origin = origin;
    return result;
}

/* ---- functions of the source ---- */

bool call_tiles(struct elaborator *e, struct call *call, struct value v, struct value *tiles, int *count)
{
    const char *name = call->builtin->name;
    *count = v.kind == VALUE_TUPLE ? v.list.count : 1;
    if (*count > MOST_EXTENTS / 2) {
        front_report(e, DIAGNOSTIC_E0307, call->at, "`%s` takes a tuple of at most %d tiles", name, MOST_EXTENTS / 2);
        return false;
    }
    for (int i = 0; i < *count; i++) {
        tiles[i] = v.kind == VALUE_TUPLE ? v.list.data[i] : v;
        if (!value_is_tile(tiles[i])) {
            call_wrong(e, call, tiles[i], "a tile or a tuple of tiles");
            return false;
        }
        if (!ir_type_same_shape(tiles[i].run->type, tiles[0].run->type)) {
            struct diagnostic *d = front_report(e, DIAGNOSTIC_E0302, tiles[i].at,
                                                "the tiles of `%s` have one shape, and %s and %s differ", name,
                                                front_describe(e, tiles[0]), front_describe(e, tiles[i]));
            front_note_shape(e, d, tiles[0], "the first");
            front_note_shape(e, d, tiles[i], "this one");
            return false;
        }
    }
    return true;
}

static bool fill_region(struct elaborator *e, struct call *call, int count, struct value *tiles, struct ir_block *body)
{
    struct value arguments[MOST_EXTENTS];
    for (int i = 0; i < 2 * count; i++) {
        const struct ir_type *type = ir_type_with_shape(e->context, tiles[i % count].run->type, 0, NULL);
        arguments[i] = value_run(ir_block_argument(body, type, NULL), call->at);
    }
    bool outer = e->in_map;
    e->in_map = true;
    struct value result = call_with_values(e, call->argument[1].function, 2 * count, arguments, call->at);
    e->in_map = outer;
    if (value_is_error(result))
        return false;
    int results = result.kind == VALUE_TUPLE ? result.list.count : 1;
    if (results != count) {
        front_report(e, DIAGNOSTIC_E0313, call->at, "a function for `%s` over %d tile%s returns %d value%s",
                     call->builtin->name, count, count == 1 ? "" : "s", count, count == 1 ? "" : "s");
        return false;
    }
    struct ir_value *yields[MOST_EXTENTS];
    for (int i = 0; i < count; i++) {
        struct value one = result.kind == VALUE_TUPLE ? result.list.data[i] : result;
        yields[i] = convert_to_type(e, one, ir_type_with_shape(e->context, tiles[i].run->type, 0, NULL), false,
                                    "the result of a reduction function");
        if (!yields[i])
            return false;
    }
    ir_build(&e->builder, OP_YIELD, count, yields, 0, NULL);
    return true;
}

struct ir_block *reduce_build_region(struct elaborator *e, struct call *call, int count, struct value *tiles)
{
    struct ir_block *saved, *body = region_begin(e, &saved);
    bool good = fill_region(e, call, count, tiles, body);
    region_end(e, saved);
    return good ? body : NULL;
}

static struct value reduce_result(struct elaborator *e, struct ir_operation *operation, const struct value *tiles,
                                  int axis, struct location at)
{
    struct value all = {.kind = VALUE_TUPLE, .at = at};
    all.list.count = operation->result_count;
    all.list.data = ARENA_ARRAY(e->arena, struct value, all.list.count);
    for (int i = 0; i < all.list.count; i++) {
        all.list.data[i] = value_run(operation->results[i], at);
        all.list.data[i].origin = drop_origin(e, tiles[i].origin, axis);
    }
    return all.list.count == 1 ? all.list.data[0] : all;
}

static struct value wrong_function(struct elaborator *e, struct call *call, struct value function)
{
    static const struct {
        const char *name, *scan;
    } own[] = {{"max", "cummax"},      {"min", "cummin"}, {"sum", "cumsum"},
               {"product", "cumprod"}, {"any", NULL},     {"all", NULL}};
    bool scans = call->builtin->build == build_scan;
    const char *name = function.kind == VALUE_BUILTIN ? function.builtin->name : NULL;
    if (!name)
        return call_wrong(e, call, function, "a function of the source as its second argument");
    struct diagnostic *d = front_report(e, DIAGNOSTIC_E0306, function.at,
                                        "`%s` takes a function of the source, and `%s` is one of the language",
                                        call->builtin->name, name);
    for (size_t i = 0; i < sizeof own / sizeof *own; i++) {
        if (strcmp(name, own[i].name) != 0 || (scans && !own[i].scan))
            continue;
        if (scans)
            front_note(e, d, call->at, "`%s(x, axis = k)` is that scan", own[i].scan);
        else
            front_note(e, d, call->at, "`%s(x, axis = k)` is that reduction, `%s(x)` goes over all axes", name, name);
        return value_error(call->at);
    }
    front_note(e, d, call->at,
               "declare one over scalars, left then right, such as `fn f(a: f32, b: f32) -> f32 = ...;`");
    return value_error(call->at);
}

static bool read_function(struct elaborator *e, struct call *call, int count)
{
    struct value function = call->argument[1];
    if (function.kind != VALUE_FUNCTION) {
        wrong_function(e, call, function);
        return false;
    }
    if (function.function->declaration->parameters.count == 2 * count)
        return true;
    struct diagnostic *d = front_report(e, DIAGNOSTIC_E0307, function.at,
                                        "`%s` must take %d scalars: %d of the left and %d of the right",
                                        function.function->name, 2 * count, count, count);
    front_note(e, d, function.function->declaration->at, "it is declared here");
    return false;
}

bool reduce_read_one_axis(struct elaborator *e, const struct call *call, int rank, int64_t *axis)
{
    bool given;
    if (!call_option_axis(e, call, rank, axis, &given))
        return false;
    if (!given && rank > 1) {
        front_report(e, DIAGNOSTIC_E0309, call->at, "say which axis `%s` goes along: `axis = 0`", call->builtin->name);
        return false;
    }
    if (!given)
        *axis = 0;
    return true;
}

bool reduce_read(struct elaborator *e, struct call *call, struct value *tiles, int *count, int64_t *axis)
{
    return call_tiles(e, call, call->argument[0], tiles, count) && read_function(e, call, *count) &&
           reduce_read_one_axis(e, call, tiles[0].run->type->rank, axis);
}

struct value build_reduce(struct elaborator *e, struct call *call, int detail)
{
    (void)detail;
    struct value tiles[MOST_EXTENTS];
    int count;
    int64_t axis;
    if (!reduce_read(e, call, tiles, &count, &axis))
        return value_error(call->at);
    struct ir_block *body = reduce_build_region(e, call, count, tiles);
    if (!body)
        return value_error(call->at);
    struct ir_value *operands[MOST_EXTENTS];
    for (int i = 0; i < count; i++)
        operands[i] = tiles[i].run;
    struct ir_operation *operation = build_one(e, count, operands, (int)axis, IR_REDUCE_REGION);
    if (e->front->options->reproducible)
        ir_set_number(operation, IR_ATTRIBUTE_FIXED, 1);
    region_attach(operation, 0, body);
    return reduce_result(e, operation, tiles, (int)axis, call->at);
}

/* ---- positions ---- */

/* 0, 1, 2 … along `axis`, of the tile's shape. */
static struct ir_value *positions(struct elaborator *e, const struct ir_type *type, int axis)
{
    int64_t extent[IR_MAX_RANK];
    struct ir_value *run = ir_build_value(&e->builder, OP_IOTA,
                                          ir_type_tile(e->context, IR_INDEX, 1, &type->extent[axis]), 0, NULL);
    if (type->rank == 1)
        return run;
    for (int d = 0; d < type->rank; d++)
        extent[d] = d == axis ? type->extent[d] : 1;
    run = ir_build_value(&e->builder, OP_RESHAPE, ir_type_tile(e->context, IR_INDEX, type->rank, extent), 1, &run);
    return ir_broadcast(&e->builder, run, type->rank, type->extent);
}

/* Takes the right side when it is strictly better, or one of them is NaN and `nan` prefers the right one: ties go to the
 * smaller position. */
static void build_arg_region(struct elaborator *e, struct ir_block *body, const struct ir_type *element, int maximum,
                             enum ir_nan nan)
{
    const struct ir_type *index = ir_type_scalar(e->context, IR_INDEX);
    struct ir_value *left = ir_block_argument(body, element, "left"),
                    *left_at = ir_block_argument(body, index, "left_at");
    struct ir_value *right = ir_block_argument(body, element, "right"),
                    *right_at = ir_block_argument(body, index, "right_at");
    struct ir_value *better = ir_compare(&e->builder, maximum ? IR_PREDICATE_GT : IR_PREDICATE_LT, right, left);
    if (ir_is_float(element->element)) {
        bool skips = nan == IR_NAN_SKIP;
        struct ir_value *lost = skips ? left : right, *fine = skips ? right : left;
        lost = ir_compare(&e->builder, IR_PREDICATE_NE, lost, lost);
        fine = ir_compare(&e->builder, IR_PREDICATE_EQ, fine, fine);
        better = ir_binary(&e->builder, OP_OR, better, ir_binary(&e->builder, OP_AND, lost, fine));
    }
    struct ir_value *yields[2] = {ir_select(&e->builder, better, right, left),
                                  ir_select(&e->builder, better, right_at, left_at)};
    ir_build(&e->builder, OP_YIELD, 2, yields, 0, NULL);
}

struct value build_arg(struct elaborator *e, struct call *call, int maximum)
{
    struct value v = call->argument[0];
    int64_t axis;
    if (!value_is_tile(v) || !reduce_kind_takes(IR_REDUCE_MAX, v.run->type->element) || v.enumeration)
        return call_wrong(e, call, v, "a tile of numbers");
    if (!reduce_read_one_axis(e, call, v.run->type->rank, &axis))
        return value_error(call->at);
    int nan = reduce_read_nan(e, call);
    if (nan == -2)
        return value_error(call->at);
    struct ir_value *operands[2] = {v.run, positions(e, v.run->type, (int)axis)};
    struct ir_block *saved, *body = region_begin(e, &saved);
    build_arg_region(e, body, ir_type_with_shape(e->context, v.run->type, 0, NULL), maximum, (enum ir_nan)nan);
    region_end(e, saved);
    struct ir_operation *operation = build_one(e, 2, operands, (int)axis, IR_REDUCE_REGION);
    ir_set_number(operation, IR_ATTRIBUTE_POSITIONS, 1);
    region_attach(operation, 0, body);
    struct value result = value_run(operation->results[1], call->at);
    result.origin = drop_origin(e, v.origin, (int)axis);
    return result;
}
