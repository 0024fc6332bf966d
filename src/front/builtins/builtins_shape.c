/* Products, shapes, conversions with options, and tiles from nothing. */
#include "front/builtins/builtins.h"

#include <string.h>

/* Options that would do nothing are mistakes, but for `ieee`, which says what all factors but those of f32 have
 * anyway: a generic kernel writes it once.  False: reported. */
static bool check_dot_options(struct elaborator *e, const struct call *call, int *precision, bool has_promote,
                              int64_t promote)
{
    const struct value *a = &call->argument[0];
    if (a->kind != VALUE_RUN || a->run->type->kind != IR_TILE)
        return true; /* operate_dot says it */
    enum ir_element element = a->run->type->element;
    const char *text = ir_element_info[element].text;
    if (*precision == IR_PRECISION_IEEE && element != IR_F32)
        *precision = -1;
    if (*precision >= 0 && element != IR_F32) {
        front_report(e, DIAGNOSTIC_E0316, call->at,
                     "a `precision` other than `ieee` is for factors of f32, and these are %s; in a generic kernel "
                     "write it under `if (T == f32)`",
                     text);
        return false;
    }
    if (has_promote && element != IR_F8E4M3 && element != IR_F8E5M2) {
        front_report(e, DIAGNOSTIC_E0316, call->at, "`promote` is for factors of 8-bit floats, and these are %s", text);
        return false;
    }
    if (has_promote && (promote < 1 || promote > 1 << 20)) {
        front_report(e, DIAGNOSTIC_E0316, call->at, "`promote` counts products, 1 to 1048576, and is %lld here",
                     (long long)promote);
        return false;
    }
    return true;
}

struct value build_dot(struct elaborator *e, struct call *call, int detail)
{
    (void)detail;
#define X(id, text) text,
    static const char *const words[] = { IR_PRECISIONS(X) };
#undef X
    int precision = call_option_word(e, call, "precision", IR_PRECISION_COUNT, words, -1);
    int64_t promote = 0;
    bool given;
    if (precision == -2 || !call_option_integer(e, call, "promote", &promote, &given))
        return value_error(call->at);
    if (!check_dot_options(e, call, &precision, given, promote))
        return value_error(call->at);
    return operate_dot(e, call->argument[0], call->argument[1], call->count > 2 ? &call->argument[2] : NULL, precision,
                       (int)promote, call->at);
}

/* ---- order of dimensions ---- */

static const struct origin *permute_origin(struct elaborator *e, const struct origin *from, int rank,
                                           const int64_t *order)
{
    if (!from)
        return NULL;
    struct origin *origin = ARENA_NEW(e->arena, struct origin);
    for (int d = 0; d < rank; d++)
        origin->extent[d] = from->extent[order[d]];
    return origin;
}

static struct value permute_view(struct elaborator *e, const struct view_value *view, const int64_t *order,
                                 struct location at)
{
    const struct ir_type *type = view->run->type;
    struct ir_type result = *type;
    if (view->nibbles && order[type->rank - 1] != type->rank - 1) {
        front_report(e, DIAGNOSTIC_E0611, at,
                     "`%s` holds two elements a byte: its last dimension stays the last; permute what is loaded",
                     view->name);
        return value_error(at);
    }
    for (int d = 0; d < type->rank; d++) {
        result.extent[d] = type->extent[order[d]];
        result.stride[d] = type->stride[order[d]];
    }
    struct ir_value *run = ir_build_value(&e->builder, OP_VIEW_PERMUTE, ir_type_intern(e->context, &result), 1,
                                          (struct ir_value *[]){view->run});
    ir_set_list(run->definition, IR_ATTRIBUTE_PERMUTATION, type->rank, order);
    struct view_value *permuted = ARENA_NEW(e->arena, struct view_value);
    *permuted = *view;
    permuted->run = run;
    permuted->origin = permute_origin(e, view->origin, type->rank, order);
    return (struct value){.kind = VALUE_VIEW, .at = at, .view = permuted};
}

static struct value permute_tile(struct elaborator *e, struct value v, const int64_t *order, struct location at)
{
    const struct ir_type *type = v.run->type;
    int64_t extent[IR_MAX_RANK];
    for (int d = 0; d < type->rank; d++)
        extent[d] = type->extent[order[d]];
    struct ir_value *run = ir_build_value(&e->builder, OP_PERMUTE,
                                          ir_type_with_shape(e->context, type, type->rank, extent), 1, &v.run);
    ir_set_list(run->definition, IR_ATTRIBUTE_PERMUTATION, type->rank, order);
    struct value result = value_run(run, at);
    result.origin = permute_origin(e, v.origin, type->rank, order);
    return result;
}

static int rank_of(struct value v)
{
    if (v.kind == VALUE_VIEW)
        return v.view->run ? v.view->run->type->rank : 0;
    return v.kind == VALUE_RUN ? v.run->type->rank : 0;
}

static struct value permute(struct elaborator *e, struct value v, const int64_t *order, struct location at)
{
    return v.kind == VALUE_VIEW ? permute_view(e, v.view, order, at) : permute_tile(e, v, order, at);
}

struct value build_trans(struct elaborator *e, struct call *call, int detail)
{
    (void)detail;
    struct value v = call->argument[0];
    if (v.kind != VALUE_VIEW)
        v = value_read(e, v);
    int rank = rank_of(v);
    if (rank < 2)
        return call_wrong(e, call, v, "a tile or view of 2 or more dimensions");
    int64_t order[IR_MAX_RANK];
    for (int d = 0; d < rank; d++)
        order[d] = d;
    order[rank - 2] = rank - 1;
    order[rank - 1] = rank - 2;
    return permute(e, v, order, call->at);
}

/* Integers after the first argument, or in one list.  -1: reported. */
static int read_integers(struct elaborator *e, struct call *call, int64_t *numbers)
{
    struct value *given = call->argument + 1;
    int count = call->count - 1;
    if (count == 1 && (given[0].kind == VALUE_LIST || given[0].kind == VALUE_TUPLE)) {
        count = given[0].list.count;
        given = given[0].list.data;
    }
    if (count > IR_MAX_RANK) {
        front_report(e, DIAGNOSTIC_E0307, call->at, "a tile has at most %d dimensions", IR_MAX_RANK);
        return -1;
    }
    for (int i = 0; i < count; i++) {
        if (given[i].kind != VALUE_INTEGER || given[i].integer < 0 || given[i].integer > (1 << 24)) {
            front_report(e, DIAGNOSTIC_E0501, given[i].at, "`%s` takes integers known when compiling, not %s",
                         call->builtin->name, front_describe(e, given[i]));
            return -1;
        }
        numbers[i] = (int64_t)given[i].integer;
    }
    return count;
}

/* Where they stand. */
static const struct origin *integers_origin(struct elaborator *e, const struct call *call)
{
    const struct ast_argument_list *given = &call->expression->arguments;
    const struct ast_expression *first = given->data[1]->value;
    bool listed = given->count == 2 && (first->kind == EXPRESSION_LIST || first->kind == EXPRESSION_TUPLE);
    struct origin *origin = NULL;
    int count = listed ? first->elements.count : given->count - 1;
    for (int d = 0; d < count && d < IR_MAX_RANK; d++)
        origin_add(e, &origin, d, listed ? first->elements.data[d] : given->data[d + 1]->value);
    return origin;
}

struct value build_permute(struct elaborator *e, struct call *call, int detail)
{
    (void)detail;
    struct value v = call->argument[0];
    if (v.kind != VALUE_VIEW)
        v = value_read(e, v);
    int64_t order[IR_MAX_RANK];
    int count = read_integers(e, call, order), rank = rank_of(v);
    if (count < 0 || value_is_error(v))
        return value_error(call->at);
    unsigned seen = 0;
    for (int i = 0; i < count; i++)
        if (order[i] < rank)
            seen |= 1u << order[i];
    if (rank == 0 || count != rank || seen != (1u << rank) - 1) {
        front_report(e, DIAGNOSTIC_E0309, call->at, "`permute` of %s takes each dimension from 0 to %d once",
                     front_describe(e, v), rank - 1);
        return value_error(call->at);
    }
    return permute(e, v, order, call->at);
}

struct value build_reshape(struct elaborator *e, struct call *call, int detail)
{
    (void)detail;
    struct value v = call->argument[0];
    int64_t extent[IR_MAX_RANK], product = 1;
    int count = read_integers(e, call, extent);
    if (count < 0)
        return value_error(call->at);
    if (!value_is_tile(v))
        return call_wrong(e, call, v, "a tile");
    for (int i = 0; i < count; i++)
        product *= extent[i];
    if (product != ir_type_elements(v.run->type) || count == 0) {
        struct diagnostic *d = front_report(e, DIAGNOSTIC_E0302, call->at,
                                            "%s has %lld elements, and the new shape has %lld", front_describe(e, v),
                                            (long long)ir_type_elements(v.run->type), (long long)product);
        front_note_shape(e, d, v, "the tile");
        return value_error(call->at);
    }
    const struct ir_type *type = ir_type_with_shape(e->context, v.run->type, count, extent);
    if (ir_type_same_shape(type, v.run->type))
        return v;
    struct value result = value_run(ir_build_value(&e->builder, OP_RESHAPE, type, 1, &v.run), call->at);
    result.origin = integers_origin(e, call);
    return result;
}

struct value build_broadcast(struct elaborator *e, struct call *call, int detail)
{
    (void)detail;
    struct value v = value_materialize(e, call->argument[0]);
    int64_t extent[IR_MAX_RANK];
    int count = read_integers(e, call, extent);
    if (count <= 0)
        return value_error(call->at);
    if (v.kind != VALUE_RUN)
        return call_wrong(e, call, v, "a scalar or a tile");
    for (int i = 0; i < count; i++)
        if (extent[i] < 1)
            return call_wrong(e, call, v, "extents of 1 or more");
    const struct origin *origin = integers_origin(e, call);
    struct ir_value *run = convert_to_type_from(e, v, ir_type_with_shape(e->context, v.run->type, count, extent),
                                                origin, true, "`broadcast`");
    if (!run)
        return value_error(call->at);
    struct value result = value_run(run, call->at);
    result.origin = origin;
    return result;
}

/* ---- conversions with options: f16(x, round = rtz), cast(x, f16, round = rtz) ---- */

struct value build_cast(struct elaborator *e, struct call *call, int detail)
{
    (void)detail;
    struct value target = call->count == 2 ? call->argument[1] : elaborate(e, call->expression->base);
    if (target.kind != VALUE_TYPE || target.type->kind != TYPE_PLAIN || target.type->plain->rank) {
        front_report(e, DIAGNOSTIC_E0204, call->at, "`cast` takes a value and a scalar type");
        return value_error(call->at);
    }
#define X(id, text) text,
    static const char *const words[] = { IR_ROUNDS(X) };
#undef X
    int round = call_option_word(e, call, "round", IR_ROUND_COUNT, words, -1);
    struct value saturate = value_bool(false, call->at);
    call_option_value(e, call, "saturate", &saturate);
    if (round == -2)
        return value_error(call->at);
    if (saturate.kind != VALUE_BOOL) {
        front_report(e, DIAGNOSTIC_E0308, call->at, "`saturate` is true or false, known when compiling");
        return value_error(call->at);
    }
    return convert_explicit(e, call->argument[0], target.type->plain->element, round, saturate.truth, call->at);
}

struct value build_bitcast(struct elaborator *e, struct call *call, int detail)
{
    (void)detail;
    struct value v = call->argument[0], target = call->argument[1];
    if (target.kind != VALUE_TYPE || target.type->kind != TYPE_PLAIN || target.type->plain->rank)
        return call_wrong(e, call, target, "a scalar type as its second argument");
    if (value_is_constant(v))
        v = value_materialize(e, v);
    if (v.kind != VALUE_RUN)
        return call_wrong(e, call, v, "a scalar or a tile");
    enum ir_element from = v.run->type->element, to = target.type->plain->element;
    if (from == to)
        return v;
    if (from == IR_POINTER) {
        front_report(e, DIAGNOSTIC_E0306, call->at,
                     "`bitcast` is of numbers, not of %s; `u64(...)` gives a pointer's address",
                     front_type_text(e, v.run->type));
        return value_error(call->at);
    }
    if (from == IR_BOOL || to == IR_BOOL || ir_element_info[from].bits != ir_element_info[to].bits) {
        front_report(e, DIAGNOSTIC_E0306, call->at, "`bitcast` keeps the number of bits: %s has %d, %s has %d",
                     front_type_text(e, ir_type_scalar(e->context, from)),
                     from == IR_BOOL ? 1 : ir_element_info[from].bits, ir_element_info[to].text,
                     to == IR_BOOL ? 1 : ir_element_info[to].bits);
        return value_error(call->at);
    }
    struct value result = value_run(ir_build_value(&e->builder, OP_BITCAST, shape_like(e, v.run->type, to), 1, &v.run),
                                    call->at);
    result.origin = v.origin;
    return result;
}

/* ---- tiles from nothing ---- */

struct value build_iota(struct elaborator *e, struct call *call, int detail)
{
    (void)detail;
    int64_t extent;
    if (!e->function) {
        front_report(e, DIAGNOSTIC_E0409, call->at, "there are no tiles here");
        return value_error(call->at);
    }
    if (!elaborate_extent(e, call->expression->arguments.data[0]->value, &extent))
        return value_error(call->at);
    struct value result = value_run(
        ir_build_value(&e->builder, OP_IOTA, ir_type_tile(e->context, IR_INDEX, 1, &extent), 0, NULL), call->at);
    struct origin *origin = NULL;
    origin_add_extent(e, &origin, 0, call->expression->arguments.data[0]->value);
    result.origin = origin;
    return result;
}

/* float32, tl.float32 or f32 as an element. */
static const char *element_of_python(struct elaborator *e, const struct ast_expression *x)
{
    if (x->kind == EXPRESSION_NAME || x->kind == EXPRESSION_MEMBER)
        return foreign_type(x->name);
    return x->kind == EXPRESSION_SCALAR_TYPE ? front_source(e, x) : "f32";
}

void zeros_note(struct elaborator *e, struct diagnostic *d, const struct ast_expression *call)
{
    const struct ast_argument_list *list = &call->arguments;
    const struct ast_expression *shape = list->count ? list->data[0]->value : NULL;
    if (!d || !shape || (!shape->elements.count && shape->kind != EXPRESSION_INTEGER && shape->kind != EXPRESSION_NAME))
        return;
    struct buffer text = {0};
    buffer_printf(&text, "%s[", list->count == 2 ? element_of_python(e, list->data[1]->value) : "f32");
    for (int i = 0; i < shape->elements.count; i++)
        buffer_printf(&text, "%s%s", i ? ", " : "", front_source(e, shape->elements.data[i]));
    buffer_printf(&text, "%s](0)", shape->elements.count ? "" : front_source(e, shape));
    front_note(e, d, call->at, "a tile of zeros is `%s`", text.data);
    front_fixit(e, d, call->at, FIXIT_PROBABLE, arena_string(e->arena, text.data));
    buffer_free(&text);
}

struct value build_zeros(struct elaborator *e, struct call *call, int detail)
{
    (void)detail;
    struct value target = call->argument[0];
    if (target.kind != VALUE_TYPE) {
        if (value_is_error(target))
            return target;
        struct diagnostic *d = front_report(e, DIAGNOSTIC_E0306, target.at, "`zeros` takes a type, not %s",
                                            front_describe(e, target));
        zeros_note(e, d, call->expression);
        return value_error(call->at);
    }
    return convert_construct(e, target.type, value_integer(0, call->at), call->at);
}

struct value value_limit(enum ir_element element, bool highest, struct location at)
{
    struct value v;
    if (ir_is_float(element)) {
        v = value_real(ir_bits_to_double(element, ir_infinity_bits(element, !highest)), at);
    } else if (element == IR_BOOL) {
        return value_bool(highest, at);
    } else {
        int bits = ir_element_info[element].bits - (ir_is_signed(element) ? 1 : 0);
        wide_integer top = (wide_integer)1 << bits;
        v = value_integer(highest ? top - 1 : ir_is_signed(element) ? -top : 0, at);
    }
    v.element = element;
    return v;
}

struct value build_limit(struct elaborator *e, struct call *call, int highest)
{
    struct value target = call->argument[0];
    if (target.kind != VALUE_TYPE || target.type->kind != TYPE_PLAIN || target.type->plain->rank ||
        target.type->plain->element == IR_POINTER)
        return call_wrong(e, call, target, "a scalar type");
    return value_limit(target.type->plain->element, highest != 0, call->at);
}
