/* Elements along an axis: tiles joined and split, put one behind the other, flipped, gathered by an index. */
#include "base/plant.h"
#include "front/builtins/builtins.h"

enum { MOST_EXTENT = 1 << 24 };

static bool can_build(struct elaborator *e, const struct call *call)
{
    if (!e->function)
        front_report(e, DIAGNOSTIC_E0409, call->at, "`%s` cannot be evaluated here", call->builtin->name);
    return e->function != NULL;
}

/* `axis = k`, which may be missing where there is one dimension.  False: reported. */
static bool read_axis(struct elaborator *e, const struct call *call, int rank, int *axis)
{
    int64_t number;
    bool given;
    if (!call_option_axis(e, call, rank, &number, &given))
        return false;
    if (!given && rank > 1) {
        front_report(e, DIAGNOSTIC_E0309, call->at, "say which axis `%s` goes along: `axis = 0`", call->builtin->name);
        return false;
    }
    *axis = given ? (int)number : 0;
    return true;
}

static const struct origin *without_extent(struct elaborator *e, const struct origin *origin, int axis)
{
    if (!origin)
        return NULL;
    struct origin *rest = arena_copy(e->arena, origin, sizeof *origin);
    rest->extent[axis].text = NULL;
    return rest;
}

static struct value result_like(struct elaborator *e, struct value v, struct ir_value *run, int axis,
                                struct location at)
{
    struct value result = value_run(run, at);
    result.enumeration = v.enumeration;
    result.origin = axis < 0 ? v.origin : without_extent(e, v.origin, axis);
    return result;
}

static struct ir_value *concatenate(struct elaborator *e, int count, struct ir_value **tiles, int axis)
{
    const struct ir_type *type = tiles[0]->type;
    int64_t extent[IR_MAX_RANK];
    for (int d = 0; d < type->rank; d++)
        extent[d] = type->extent[d];
    for (int i = 1; i < count; i++)
        extent[axis] += tiles[i]->type->extent[axis];
    struct ir_value *run = ir_build_value(&e->builder, OP_CONCATENATE,
                                          ir_type_with_shape(e->context, type, type->rank, extent), count, tiles);
    ir_set_number(run->definition, IR_ATTRIBUTE_AXIS, axis);
    return run;
}

static struct ir_value *reshape(struct elaborator *e, struct ir_value *tile, int rank, const int64_t *extent)
{
    const struct ir_type *type = ir_type_with_shape(e->context, tile->type, rank, extent);
    return type == tile->type ? tile : ir_build_value(&e->builder, OP_RESHAPE, type, 1, &tile);
}

static bool is_too_long(struct elaborator *e, const struct call *call, int64_t extent)
{
    if (extent > MOST_EXTENT)
        front_report(e, DIAGNOSTIC_E0302, call->at, "the result would have an extent of %lld; at most 2^24 is possible",
                     (long long)extent);
    return extent > MOST_EXTENT;
}

/* Both with a last dimension of 1, one behind the other along it; interleaved, that dimension melts into the one in
 * front. */
struct value build_join(struct elaborator *e, struct call *call, int interleaves)
{
    struct value two[2] = {call->argument[0], call->argument[1]};
    if (!can_build(e, call) || !convert_unify(e, 2, two, interleaves ? "`interleave`" : "`join`", call->at))
        return value_error(call->at);
    const struct ir_type *type = two[0].run->type;
    int rank = type->rank;
    if (rank == IR_MAX_RANK) {
        front_report(e, DIAGNOSTIC_E0307, call->at, "a tile has at most %d dimensions", IR_MAX_RANK);
        return value_error(call->at);
    }
    int64_t extent[IR_MAX_RANK];
    for (int d = 0; d < rank; d++)
        extent[d] = type->extent[d];
    extent[rank] = 1;
    if (interleaves && rank && is_too_long(e, call, 2 * extent[rank - 1]))
        return value_error(call->at);
    struct ir_value *parts[2];
    for (int i = 0; i < 2; i++)
        parts[PLANTED(front_interleave_second_first) && interleaves ? 1 - i : i] =
            rank ? reshape(e, two[i].run, rank + 1, extent)
                 : ir_build_value(&e->builder, OP_SPLAT, ir_type_with_shape(e->context, type, 1, extent), 1,
                                  &two[i].run);
    struct ir_value *run = concatenate(e, 2, parts, rank);
    if (!interleaves || !rank)
        return result_like(e, two[0], run, rank, call->at);
    extent[rank - 1] *= 2;
    return result_like(e, two[0], reshape(e, run, rank, extent), rank - 1, call->at);
}

struct value build_split(struct elaborator *e, struct call *call, int detail)
{
    (void)detail;
    struct value v = call->argument[0], halves[2];
    if (!value_is_tile(v) || v.run->type->extent[v.run->type->rank - 1] != 2)
        return call_wrong(e, call, v, "a tile whose last extent is 2");
    const struct ir_type *type = v.run->type;
    int last = type->rank - 1;
    int64_t extent[IR_MAX_RANK];
    for (int d = 0; d < last; d++)
        extent[d] = type->extent[d];
    extent[last] = 1;
    for (int i = 0; i < 2; i++) {
        int64_t start[IR_MAX_RANK] = {0};
        start[last] = i;
        struct ir_value *half = ir_build_value(&e->builder, OP_EXTRACT,
                                               ir_type_with_shape(e->context, type, type->rank, extent), 1, &v.run);
        ir_set_list(half->definition, IR_ATTRIBUTE_START, type->rank, start);
        halves[i] = result_like(e, v, reshape(e, half, last, extent), last, call->at);
    }
    struct value tuple = {.kind = VALUE_TUPLE, .at = call->at};
    tuple.list.count = 2;
    tuple.list.data = arena_copy(e->arena, halves, sizeof halves);
    return tuple;
}

/* Tiles that differ along the axis alone.  False: reported. */
static bool check_parts(struct elaborator *e, const struct call *call, const struct value *parts, int axis)
{
    const struct ir_type *first = parts[0].run->type;
    int64_t sum = 0;
    for (int i = 0; i < call->count; i++) {
        const struct ir_type *type = parts[i].run->type;
        bool agrees = type->rank == first->rank;
        for (int d = 0; d < first->rank && agrees; d++)
            agrees = d == axis || type->extent[d] == first->extent[d];
        sum += agrees ? type->extent[axis] : 0;
        if (agrees)
            continue;
        struct diagnostic *d = front_report(
            e, DIAGNOSTIC_E0302, call->at,
            "`cat` along axis %d takes tiles that agree in all other extents, and these "
            "are %s and %s",
            axis, front_describe(e, parts[0]), front_describe(e, parts[i]));
        front_note_shape(e, d, parts[0], "the first");
        front_note_shape(e, d, parts[i], "the other");
        return false;
    }
    return !is_too_long(e, call, sum);
}

struct value build_cat(struct elaborator *e, struct call *call, int detail)
{
    (void)detail;
    int axis;
    for (int i = 0; i < call->count; i++)
        if (!value_is_tile(call->argument[i]))
            return call_wrong(e, call, call->argument[i], "tiles");
    if (!convert_unify_elements(e, call->count, call->argument, "`cat`", call->at) ||
        !read_axis(e, call, call->argument[0].run->type->rank, &axis) || !check_parts(e, call, call->argument, axis))
        return value_error(call->at);
    struct ir_value *tiles[MOST_ARGUMENTS];
    for (int i = 0; i < call->count; i++)
        tiles[i] = call->argument[i].run;
    return result_like(e, call->argument[0], concatenate(e, call->count, tiles, axis), axis, call->at);
}

struct value build_flip(struct elaborator *e, struct call *call, int detail)
{
    (void)detail;
    struct value v = call->argument[0];
    int axis;
    if (!value_is_tile(v))
        return call_wrong(e, call, v, "a tile");
    if (!read_axis(e, call, v.run->type->rank, &axis))
        return value_error(call->at);
    struct ir_value *run = ir_build_value(&e->builder, OP_FLIP, v.run->type, 1, &v.run);
    ir_set_number(run->definition, IR_ATTRIBUTE_AXIS, axis);
    return result_like(e, v, run, -1, call->at);
}

struct value build_gather(struct elaborator *e, struct call *call, int detail)
{
    (void)detail;
    struct value v = call->argument[0], index = call->argument[1];
    int axis;
    if (!value_is_tile(v))
        return call_wrong(e, call, v, "a tile");
    if (!value_is_tile(index) || !ir_is_integer(index.run->type->element) || index.enumeration)
        return call_wrong(e, call, index, "a tile of integers as its index");
    const struct ir_type *type = v.run->type, *shape = index.run->type;
    if (!read_axis(e, call, type->rank, &axis))
        return value_error(call->at);
    bool agrees = type->rank == shape->rank;
    for (int d = 0; d < type->rank && agrees; d++)
        agrees = d == axis || type->extent[d] == shape->extent[d];
    if (!agrees) {
        struct diagnostic *d = front_report(
            e, DIAGNOSTIC_E0302, call->at,
            "`gather` along axis %d takes an index that agrees with the tile in all other "
            "extents, and these are %s and %s",
            axis, front_describe(e, v), front_describe(e, index));
        front_note_shape(e, d, v, "the tile");
        front_note_shape(e, d, index, "the index");
        return value_error(call->at);
    }
    struct ir_value *run = ir_build_value(&e->builder, OP_GATHER,
                                          ir_type_with_shape(e->context, type, shape->rank, shape->extent), 2,
                                          (struct ir_value *[]){v.run, index.run});
    ir_set_number(run->definition, IR_ATTRIBUTE_AXIS, axis);
    struct value result = result_like(e, v, run, -1, call->at);
    result.origin = index.origin;
    return result;
}
