/* Sorting along an axis: lines in order, their positions, and the first so many of them.  Counting. */
#include "base/plant.h"
#include "front/builtins/builtins.h"

#include <string.h>

enum sort_kind { SORT_TILES, SORT_POSITIONS, SORT_FIRST };

/* The axis and the direction; false: reported. */
static bool read_options(struct elaborator *e, struct call *call, const struct value *key, int64_t *axis,
                         bool *descending)
{
    int rank = key->run->type->rank;
    bool given;
    if (!call_option_axis(e, call, rank, axis, &given))
        return false;
    if (!given && rank > 1) {
        front_report(e, DIAGNOSTIC_E0309, call->at, "say which axis `%s` goes along: `axis = %d`", call->builtin->name,
                     rank - 1);
        return false;
    }
    *axis = given ? *axis : 0;
    return call_option_truth(e, call, "descending", descending);
}

/* How many elements `topk` keeps; false: reported. */
static bool read_count(struct elaborator *e, struct call *call, const struct ir_type *type, int axis, int64_t *kept)
{
    const struct ast_expression *written = call->expression->arguments.data[1]->value;
    wide_integer wide;
    if (!elaborate_integer(e, written, "the number of elements", &wide))
        return false;
    if (wide < 1 || wide > type->extent[axis]) {
        front_report(e, DIAGNOSTIC_E0306, written->at, "`topk` keeps between 1 and %lld elements of an axis of %lld",
                     (long long)type->extent[axis], (long long)type->extent[axis]);
        return false;
    }
    *kept = (int64_t)wide;
    return true;
}

static struct ir_operation *build_operation_of(struct elaborator *e, int count, const struct value *tiles, int axis,
                                               int64_t kept, bool descending)
{
    const struct ir_type *types[MOST_ARGUMENTS];
    struct ir_value *operands[MOST_ARGUMENTS];
    int64_t extent[IR_MAX_RANK] = {0};
    int rank = tiles[0].run->type->rank;
    memcpy(extent, tiles[0].run->type->extent, sizeof *extent * (size_t)rank);
    extent[axis] = kept;
    for (int i = 0; i < count; i++) {
        operands[i] = tiles[i].run;
        types[i] = ir_type_with_shape(e->context, operands[i]->type, rank, extent);
    }
    types[count] = ir_type_tile(e->context, IR_INDEX, rank, extent);
    struct ir_operation *operation = ir_build(&e->builder, OP_SORT, count, operands, count + 1, types);
    ir_set_number(operation, IR_ATTRIBUTE_AXIS, axis);
    if (descending)
        ir_set_number(operation, IR_ATTRIBUTE_DESCENDING, 1);
    return operation;
}

struct value build_sort(struct elaborator *e, struct call *call, int kind)
{
    struct value tiles[MOST_ARGUMENTS];
    int64_t axis, kept;
    bool descending = kind == SORT_FIRST;
    int count;
    if (!call_tiles(e, call, call->argument[0], tiles, &count))
        return value_error(call->at);
    if (kind != SORT_TILES && count > 1)
        return call_wrong(e, call, call->argument[0], "one tile");
    for (int i = 0; i < count; i++)
        if (tiles[i].enumeration || (i == 0 && tiles[0].run->type->element == IR_POINTER))
            return call_wrong(e, call, tiles[i], "a tile of numbers");
    if (!read_options(e, call, &tiles[0], &axis, &descending))
        return value_error(call->at);
    kept = tiles[0].run->type->extent[axis];
    if (kept > IR_MOST_SORTED) {
        front_report(e, DIAGNOSTIC_E0306, call->at, "`%s` takes at most %d elements along its axis, not %lld",
                     call->builtin->name, IR_MOST_SORTED, (long long)kept);
        return value_error(call->at);
    }
    if (kind == SORT_FIRST && !read_count(e, call, tiles[0].run->type, (int)axis, &kept))
        return value_error(call->at);
    struct ir_operation *operation = build_operation_of(e, count, tiles, (int)axis, kept, descending);
    struct value all = {.kind = VALUE_TUPLE, .at = call->at};
    all.list.count = kind == SORT_FIRST ? 2 : count;
    all.list.data = ARENA_ARRAY(e->arena, struct value, all.list.count);
    for (int i = 0; i < all.list.count; i++) {
        bool is_position = kind != SORT_TILES && (kind == SORT_POSITIONS || i == 1);
        all.list.data[i] = value_run(operation->results[is_position ? count : i], call->at);
        all.list.data[i].origin = kind == SORT_FIRST ? NULL : tiles[is_position ? 0 : i].origin;
    }
    return all.list.count == 1 ? all.list.data[0] : all;
}

/* What the mask leaves out becomes -1, which is no bin; false: reported. */
static bool leave_out(struct elaborator *e, struct call *call, struct ir_value **run)
{
    struct value mask;
    if (!call_option_value(e, call, "mask", &mask))
        return true;
    if (!value_is_tile(mask) || mask.run->type->element != IR_BOOL ||
        !ir_type_same_shape(mask.run->type, (*run)->type)) {
        if (!value_is_error(mask))
            front_report(e, DIAGNOSTIC_E0306, mask.at, "the mask of `histogram` is a bool tile of the shape %s, not %s",
                         front_type_text(e, ir_type_with_element(e->context, (*run)->type, IR_BOOL)),
                         front_describe(e, mask));
        return false;
    }
    if (!ir_is_signed((*run)->type->element)) { /* numbers beyond the wider type's are no bins either */
        bool narrow = ir_element_info[(*run)->type->element].bits < 32;
        *run = ir_cast(&e->builder, *run, narrow ? IR_I32 : IR_I64);
    }
    *run = ir_select(&e->builder, mask.run, *run,
                     ir_constant_int(&e->builder, (*run)->type, PLANTED(front_masked_out_is_a_bin) ? 0 : -1));
    return true;
}

struct value build_histogram(struct elaborator *e, struct call *call, int detail)
{
    struct value v = call->argument[0];
    int64_t bins;
    (void)detail;
    if (!value_is_tile(v) || v.enumeration || !ir_is_integer(v.run->type->element))
        return call_wrong(e, call, v, "a tile of integers");
    struct ir_value *run = v.run;
    if (!elaborate_extent(e, call->expression->arguments.data[1]->value, &bins) || !leave_out(e, call, &run))
        return value_error(call->at);
    return value_run(ir_build_value(&e->builder, OP_HISTOGRAM, ir_type_tile(e->context, IR_I32, 1, &bins), 1, &run),
                     call->at);
}
