/* Views seen again: a dimension split in two, several merged to one, and views made from a pointer.  None moves anything:
 * all three are make_view, over the view or pointer behind it.  What splitting and merging need is looked up in the IR
 * that the instance has so far: its types and marks, and operations assume, which `requires`, declared extents and
 * `assume` leave there. */
#include "base/plant.h"
#include "front/builtins/builtins.h"

#include <limits.h>

enum { MOST_DEPTH = 6, MOST_EQUATIONS = 2 /* one behind the other */ };

/* ---- dimensions ---- */

static struct ir_value *constant(struct elaborator *e, int64_t number)
{
    return ir_constant_int(&e->builder, ir_type_scalar(e->context, IR_INDEX), number);
}

/* The extent or stride of a view as it was made, or asked for. */
static struct ir_value *measure(struct elaborator *e, struct ir_value *view, int d, bool stride)
{
    const struct ir_type *type = view->type;
    int64_t known = stride ? type->stride[d] : type->extent[d];
    if (known != IR_DYNAMIC)
        return constant(e, known);
    const struct ir_operation *op = view->definition;
    if (op && op->opcode == OP_MAKE_VIEW)
        return op->operands[1 + d + (stride ? type->rank : 0)];
    if (op && op->opcode == OP_VIEW_PERMUTE)
        return measure(e, op->operands[0], (int)ir_attribute(op, IR_ATTRIBUTE_PERMUTATION)->list[d], stride);
    struct ir_value *run = ir_build_value(&e->builder, stride ? OP_STRIDE : OP_EXTENT,
                                          ir_type_scalar(e->context, IR_INDEX), 1, &view);
    ir_set_number(run->definition, IR_ATTRIBUTE_DIMENSION, d);
    return run;
}

static struct ir_value *product(struct elaborator *e, struct ir_value *a, struct ir_value *b)
{
    int64_t x, y, both;
    bool left = ir_constant_integer(a, &x), right = ir_constant_integer(b, &y);
    if ((left && x == 1) || (right && y == 1))
        return left && x == 1 ? b : a;
    if (left && right && !__builtin_mul_overflow(x, y, &both))
        return constant(e, both);
    return ir_binary(&e->builder, OP_MUL, a, b);
}

/* The kernel's parameter that an argument is; NULL: of none. */
static const struct kernel_parameter *parameter_of(const struct elaborator *e, const struct ir_value *argument)
{
    int left = argument->index;
    for (int i = 0; e->entry && i < e->entry->parameters.count; i++)
        if (e->entry->parameters.data[i].slot >= 0 && left-- == 0)
            return &e->entry->parameters.data[i];
    return NULL;
}

/* ---- what is known ---- */

struct knowledge {
    struct elaborator *e;
    int depth;
};

static bool same(const struct knowledge *k, const struct ir_value *a, const struct ir_value *b);
static bool divides(const struct knowledge *k, const struct ir_value *value, const struct ir_value *by);

static bool is_commutative(enum ir_opcode opcode) { return opcode == OP_ADD || opcode == OP_MUL; }

/* Computed in one way from values that are the same. */
static bool same_operation(const struct knowledge *k, const struct ir_operation *a, const struct ir_operation *b)
{
    if (!a || !b || a->opcode != b->opcode || a->operand_count != b->operand_count || a->operand_count < 1)
        return false;
    switch (a->opcode) {
    case OP_EXTENT:
    case OP_STRIDE:
        return a->operands[0] == b->operands[0] &&
               ir_number(a, IR_ATTRIBUTE_DIMENSION, 0) == ir_number(b, IR_ATTRIBUTE_DIMENSION, 0);
    case OP_CAST: return a->results[0]->type == b->results[0]->type && same(k, a->operands[0], b->operands[0]);
    case OP_ADD:
    case OP_SUB:
    case OP_MUL:
    case OP_DIV:
    case OP_REM:
    case OP_MIN:
    case OP_MAX: break;
    default: return false;
    }
    if (same(k, a->operands[0], b->operands[0]) && same(k, a->operands[1], b->operands[1]))
        return true;
    return is_commutative(a->opcode) && same(k, a->operands[0], b->operands[1]) &&
           same(k, a->operands[1], b->operands[0]);
}

static bool is_index(const struct ir_value *value)
{
    return value->type->element == IR_INDEX || value->type->element == IR_I64;
}

/* Behind casts from i64 to index or back and products by 1. */
static const struct ir_value *plain(const struct ir_value *value)
{
    int64_t number;
    for (const struct ir_operation *op = value->definition; op; op = value->definition) {
        if (op->opcode == OP_CAST && is_index(value) && is_index(op->operands[0]))
            value = op->operands[0];
        else if (op->opcode == OP_MUL && ir_constant_integer(op->operands[1], &number) && number == 1)
            value = op->operands[0];
        else if (op->opcode == OP_MUL && ir_constant_integer(op->operands[0], &number) && number == 1)
            value = op->operands[1];
        else
            break;
    }
    return value;
}

/* Calls `holds` on each equation that is believed; true: one did. */
typedef bool equation(const struct knowledge *k, const struct ir_value *left, const struct ir_value *right,
                      const void *context);

static bool find_in_condition(const struct knowledge *k, const struct ir_value *condition, equation *holds,
                              const void *context)
{
    const struct ir_operation *op = condition->definition;
    if (op && op->opcode == OP_AND)
        return find_in_condition(k, op->operands[0], holds, context) ||
               find_in_condition(k, op->operands[1], holds, context);
    if (!op || op->opcode != OP_COMPARE || ir_number(op, IR_ATTRIBUTE_PREDICATE, -1) != IR_PREDICATE_EQ)
        return false;
    return holds(k, op->operands[0], op->operands[1], context) || holds(k, op->operands[1], op->operands[0], context);
}

static bool find_in_block(const struct knowledge *k, const struct ir_block *block, equation *holds, const void *context)
{
    for (const struct ir_operation *op = block->first; op; op = op->next)
        if (op->opcode == OP_ASSUME && find_in_condition(k, op->operands[0], holds, context))
            return true;
    return false;
}

/* In the block at hand and in the function's own; blocks between them are not attached yet. */
static bool find_equation(const struct knowledge *k, equation *holds, const void *context)
{
    const struct elaborator *e = k->e;
    return find_in_block(k, e->function->body, holds, context) ||
           (e->builder.block != e->function->body && find_in_block(k, e->builder.block, holds, context));
}

static bool equates(const struct knowledge *k, const struct ir_value *left, const struct ir_value *right,
                    const void *context)
{
    const struct ir_value *const *both = context;
    return same(k, left, both[0]) && same(k, right, both[1]);
}

/* The elements from one row to the next of a dimension, as those behind it say: n/g groups of g*s each are n*s. */
static struct ir_value *row_of(const struct knowledge *k, struct ir_value *view, int d)
{
    struct ir_value *extent = measure(k->e, view, d, false), *stride = measure(k->e, view, d, true);
    const struct ir_operation *groups = extent->definition, *group = stride->definition;
    if (groups && groups->opcode == OP_DIV && divides(k, groups->operands[0], groups->operands[1])) {
        if (same(k, stride, groups->operands[1]))
            return groups->operands[0];
        if (group && group->opcode == OP_MUL && same(k, group->operands[1], groups->operands[1]))
            return product(k->e, groups->operands[0], group->operands[0]);
    }
    return product(k->e, extent, stride);
}

/* A stride of a packed view is what lies behind its dimension. */
static bool is_row(const struct knowledge *k, const struct ir_value *stride, const struct ir_value *row)
{
    const struct ir_operation *op = stride->definition;
    if (!op || op->opcode != OP_STRIDE || op->operands[0]->definition || op->operands[0]->block != k->e->function->body)
        return false;
    const struct kernel_parameter *parameter = parameter_of(k->e, op->operands[0]);
    int d = (int)ir_number(op, IR_ATTRIBUTE_DIMENSION, 0);
    return parameter && parameter->packed && d + 1 < op->operands[0]->type->rank &&
           same(k, row_of(k, op->operands[0], d + 1), row);
}

static bool same(const struct knowledge *k, const struct ir_value *a, const struct ir_value *b)
{
    int64_t x, y;
    a = plain(a);
    b = plain(b);
    if (a == b)
        return true;
    if (ir_constant_integer(a, &x) && ir_constant_integer(b, &y))
        return x == y;
    if (same_operation(k, a->definition, b->definition) || is_row(k, a, b) || is_row(k, b, a))
        return true;
    struct knowledge deeper = {k->e, k->depth + 1};
    return deeper.depth <= MOST_EQUATIONS && find_equation(&deeper, equates, (const struct ir_value *[]){a, b});
}

/* rest == 0, where rest is value % n and n is a multiple of the divisor; or the value is another that it divides. */
static bool says_divisible(const struct knowledge *k, const struct ir_value *left, const struct ir_value *right,
                           const void *context)
{
    const struct ir_value *const *both = context;
    const struct ir_operation *rest = plain(left)->definition;
    int64_t zero, multiple, by;
    if (!ir_constant_integer(right, &zero))
        return k->depth <= MOST_EQUATIONS && same(&(struct knowledge){k->e, MOST_DEPTH}, left, both[0]) &&
               divides(k, right, both[1]);
    if (zero != 0 || !rest || rest->opcode != OP_REM || !same(k, rest->operands[0], both[0]))
        return false;
    if (same(k, rest->operands[1], both[1]))
        return true;
    return ir_constant_integer(rest->operands[1], &multiple) && ir_constant_integer(both[1], &by) && by > 0 &&
           multiple % by == 0;
}

/* Whether value % by is known to be 0. */
static bool divides(const struct knowledge *k, const struct ir_value *value, const struct ir_value *by)
{
    int64_t number, divisor;
    struct knowledge deeper = {k->e, k->depth + 1};
    if (deeper.depth > MOST_DEPTH)
        return false;
    value = plain(value);
    by = plain(by);
    if (ir_constant_integer(by, &divisor) && divisor == 1)
        return true;
    if (ir_constant_integer(value, &number) && ir_constant_integer(by, &divisor))
        return divisor > 0 && number % divisor == 0;
    const struct ir_operation *product = value->definition, *quotient = by->definition;
    if (product && product->opcode == OP_MUL &&
        (divides(&deeper, product->operands[0], by) || divides(&deeper, product->operands[1], by)))
        return true;
    if (quotient && quotient->opcode == OP_DIV && same(k, quotient->operands[0], value) &&
        divides(&deeper, value, quotient->operands[1])) /* n = h*q with q = n/h */
        return true;
    return same(k, value, by) || find_equation(&deeper, says_divisible, (const struct ir_value *[]){value, by});
}

/* ---- rows without gaps ---- */

/* Dimension `d` of a sub-view in the view behind it. */
static int dimension_behind(const struct ir_operation *subview, int d)
{
    int64_t drop = ir_number(subview, IR_ATTRIBUTE_DROP, 0);
    for (int p = 0;; p++)
        if (!(drop >> p & 1) && d-- == 0)
            return p;
}

/* From 0 to the end. */
static bool is_whole(const struct ir_operation *subview, int p)
{
    const struct ir_operation *stop = subview->operands[2 + 2 * p]->definition;
    const struct ir_value *view = subview->operands[0];
    int64_t start, number;
    if (!ir_constant_integer(subview->operands[1 + 2 * p], &start) || start != 0)
        return false;
    if (ir_constant_integer(subview->operands[2 + 2 * p], &number))
        return number == view->type->extent[p];
    return stop->opcode == OP_EXTENT && stop->operands[0] == view && ir_number(stop, IR_ATTRIBUTE_DIMENSION, 0) == p;
}

/* Whether each row along dimension d begins where the one before it ends: stride[d] = extent[d + 1] * stride[d + 1]. */
static bool lies_together(struct elaborator *e, struct ir_value *view, int d)
{
    const struct ir_operation *op = view->definition;
    if (op && op->opcode == OP_VIEW_PERMUTE) {
        const int64_t *order = ir_attribute(op, IR_ATTRIBUTE_PERMUTATION)->list;
        if (order[d + 1] == order[d] + 1 && lies_together(e, op->operands[0], (int)order[d]))
            return true;
    }
    if (op && op->opcode == OP_SUBVIEW) {
        int p = dimension_behind(op, d);
        if (dimension_behind(op, d + 1) == p + 1 && is_whole(op, p + 1) && lies_together(e, op->operands[0], p))
            return true;
    }
    const struct knowledge k = {e, 0};
    return same(&k, measure(e, view, d, true), row_of(&k, view, d + 1));
}

/* ---- the view ---- */

struct shape {
    int rank;
    struct ir_value *extent[IR_MAX_RANK], *stride[IR_MAX_RANK];
};

static void keep_dimension(struct elaborator *e, struct shape *shape, struct ir_value *view, int d)
{
    shape->extent[shape->rank] = measure(e, view, d, false);
    shape->stride[shape->rank++] = measure(e, view, d, true);
}

static int64_t number_or_dynamic(const struct ir_value *value)
{
    int64_t number;
    return ir_constant_integer(value, &number) && number >= 0 ? number : IR_DYNAMIC;
}

/* `type`: element and rights of the result. */
static struct value make_view(struct elaborator *e, const struct ir_type *type, struct ir_value *base,
                              const struct shape *shape, struct view_value whole, struct location at)
{
    struct ir_type result = *type;
    struct ir_value *operands[1 + 2 * IR_MAX_RANK] = {base};
    result.rank = shape->rank;
    for (int d = 0; d < IR_MAX_RANK; d++) {
        result.extent[d] = d < shape->rank ? number_or_dynamic(shape->extent[d]) : 0;
        result.stride[d] = d < shape->rank ? number_or_dynamic(shape->stride[d]) : 0;
    }
    for (int d = 0; d < shape->rank; d++) {
        operands[1 + d] = shape->extent[d];
        operands[1 + shape->rank + d] = shape->stride[d];
    }
    struct view_value *made = ARENA_NEW(e->arena, struct view_value);
    *made = whole;
    made->run = ir_build_value(&e->builder, OP_MAKE_VIEW, ir_type_intern(e->context, &result), 1 + 2 * shape->rank,
                               operands);
    made->rank = shape->rank;
    made->origin = NULL;
    return (struct value){.kind = VALUE_VIEW, .at = at, .view = made};
}

/* False: reported. */
static bool read_view(struct elaborator *e, const struct call *call)
{
    struct value v = call->argument[0];
    if (value_is_error(v))
        return false;
    if (v.kind != VALUE_VIEW || !v.view->run) {
        call_wrong(e, call, v, "a view as its first argument (`reshape` is for tiles)");
        return false;
    }
    if (e->in_map)
        front_report(e, DIAGNOSTIC_E0606, call->at,
                     "a function that is applied element by element may not touch memory");
    return !e->in_map;
}

static bool read_dimension(struct elaborator *e, const struct call *call, int number, int rank, int *dimension)
{
    struct value v = call->argument[number];
    if (v.kind == VALUE_INTEGER && v.integer >= 0 && v.integer < rank) {
        *dimension = (int)v.integer;
        return true;
    }
    if (!value_is_error(v))
        front_report(e, DIAGNOSTIC_E0309, v.at, "`%s` takes dimensions from 0 to %d, known when compiling, not %s",
                     call->builtin->name, rank - 1, front_describe(e, v));
    return false;
}

/* The size of groups in what the view counts along a dimension: of 4-bit elements two are one byte.  NULL: reported. */
static struct ir_value *read_group(struct elaborator *e, const struct call *call, const struct view_value *view, int d)
{
    struct value by = call->argument[2];
    if (by.kind == VALUE_INTEGER && by.integer < 1) {
        front_report(e, DIAGNOSTIC_E0307, by.at, "a group has at least 1 element");
        return NULL;
    }
    if (!view->nibbles || d < view->run->type->rank - 1)
        return convert_to_index(e, by, "the extent of a group");
    if (by.kind == VALUE_INTEGER && by.integer % 2 == 0)
        return constant(e, (int64_t)(by.integer / 2));
    front_report(e, DIAGNOSTIC_E0611, by.at,
                 "`%s` holds two elements a byte: its last dimension is split by an even number known when compiling",
                 view->name);
    return NULL;
}

struct value build_split_dim(struct elaborator *e, struct call *call, int detail)
{
    (void)detail;
    int d;
    if (!read_view(e, call))
        return value_error(call->at);
    const struct view_value *view = call->argument[0].view;
    const struct ir_type *type = view->run->type;
    struct shape shape = {0};
    if (!read_dimension(e, call, 1, type->rank, &d))
        return value_error(call->at);
    if (type->rank == IR_MAX_RANK) {
        front_report(e, DIAGNOSTIC_E0307, call->at, "a view has at most %d dimensions", IR_MAX_RANK);
        return value_error(call->at);
    }
    struct ir_value *group = read_group(e, call, view, d);
    if (!group)
        return value_error(call->at);
    struct ir_value *extent = measure(e, view->run, d, false);
    if (!divides(&(struct knowledge){e, 0}, extent, group)) {
        struct diagnostic *report = front_report(e, DIAGNOSTIC_E0612, call->at,
                                                 "extent %d of `%s` is not known to be a multiple of %s", d, view->name,
                                                 front_source(e, call->expression->arguments.data[2]->value));
        front_note(e, report, call->at, "say it in the kernel's clause `requires`, as in `requires(N %% 8 == 0)`");
        return value_error(call->at);
    }
    for (int i = 0; i < type->rank; i++) {
        if (i != d) {
            keep_dimension(e, &shape, view->run, i);
            continue;
        }
        int64_t number, size;
        bool known = ir_constant_integer(extent, &number) && ir_constant_integer(group, &size);
        struct ir_value *stride = measure(e, view->run, i, true);
        shape.extent[shape.rank] = known ? constant(e, number / size) : ir_binary(&e->builder, OP_DIV, extent, group);
        shape.stride[shape.rank++] = product(e, stride, group);
        shape.extent[shape.rank] = group;
        shape.stride[shape.rank++] = stride;
    }
    return make_view(e, type, view->run, &shape, *view, call->at);
}

struct value build_merge_dims(struct elaborator *e, struct call *call, int detail)
{
    (void)detail;
    int first, last;
    if (!read_view(e, call))
        return value_error(call->at);
    const struct view_value *view = call->argument[0].view;
    const struct ir_type *type = view->run->type;
    struct shape shape = {0};
    if (!read_dimension(e, call, 1, type->rank, &first) || !read_dimension(e, call, 2, type->rank, &last))
        return value_error(call->at);
    if (first > last) {
        front_report(e, DIAGNOSTIC_E0309, call->at, "`merge_dims` takes the first and the last dimension to merge");
        return value_error(call->at);
    }
    for (int d = first; d < last; d++)
        if (!lies_together(e, view->run, d)) {
            struct diagnostic *report = front_report(e, DIAGNOSTIC_E0613, call->at,
                                                     "dimensions %d and %d of `%s` are not known to lie without gaps",
                                                     d, d + 1, view->name);
            front_note(e, report, call->at,
                       "declare the view `packed`, or say it in the kernel's clause `requires`: `%s.stride[%d] == "
                       "%s.extent[%d] * %s.stride[%d]`",
                       view->name, d, view->name, d + 1, view->name, d + 1);
            return value_error(call->at);
        }
    for (int d = 0; d < type->rank; d++) {
        if (d <= first || d > last) {
            keep_dimension(e, &shape, view->run, d);
            continue;
        }
        shape.extent[first] = product(e, shape.extent[first], measure(e, view->run, d, false));
        shape.stride[first] = measure(e, view->run, d, true);
    }
    return make_view(e, type, view->run, &shape, *view, call->at);
}

/* ---- from a pointer ---- */

/* A list of integers, known when compiling or not.  -1: reported. */
static int read_list(struct elaborator *e, const struct call *call, struct value list, const char *what,
                     struct ir_value **numbers)
{
    if (list.kind != VALUE_LIST && list.kind != VALUE_TUPLE) {
        if (!value_is_error(list))
            front_report(e, DIAGNOSTIC_E0306, list.at, "`view` takes its %s as a list, `[M, K]`, not %s", what,
                         front_describe(e, list));
        return -1;
    }
    if (list.list.count < 1 || list.list.count > IR_MAX_RANK) {
        front_report(e, DIAGNOSTIC_E0307, call->at, "a view has 1 to %d dimensions", IR_MAX_RANK);
        return -1;
    }
    for (int i = 0; i < list.list.count; i++) {
        struct value v = list.list.data[i];
        if (v.kind == VALUE_INTEGER && (v.integer < 0 || v.integer > INT64_MAX)) {
            front_report(e, DIAGNOSTIC_E0306, v.at, "%s of a view are 0 or more", what);
            return -1;
        }
        numbers[i] = convert_to_index(e, v, what);
        if (!numbers[i])
            return -1;
    }
    return list.list.count;
}

/* Of something that is known only when running: 0 where it is negative, and told by --checks. */
static struct ir_value *not_negative(struct elaborator *e, struct ir_value *number, const char *what,
                                     const struct call *call)
{
    int64_t known;
    if (ir_constant_integer(number, &known))
        return number;
    struct ir_value *zero = constant(e, 0);
    if (e->front->options->check_asserts && check_is_possible(e))
        check_demand(e, ir_compare(&e->builder, IR_PREDICATE_GE, number, zero),
                     check_text(e, arena_printf(e->arena, "0 <= %s of %s", what, front_source(e, call->expression))),
                     NULL, call->at);
    return ir_binary(&e->builder, OP_MAX, number, zero);
}

struct value build_view(struct elaborator *e, struct call *call, int detail)
{
    (void)detail;
    struct value p = call->argument[0], strides = {0};
    struct shape shape = {0};
    if (p.kind != VALUE_RUN || p.run->type->rank || p.run->type->element != IR_POINTER)
        return call_wrong(e, call, p, "a pointer");
    if (e->in_map) {
        front_report(e, DIAGNOSTIC_E0606, call->at,
                     "a function that is applied element by element may not touch memory");
        return value_error(call->at);
    }
    shape.rank = read_list(e, call, call->argument[1], "extents", shape.extent);
    if (shape.rank < 0)
        return value_error(call->at);
    for (int d = 0; d < shape.rank; d++)
        shape.extent[d] = not_negative(e, shape.extent[d], "extents", call);
    if (call_option_value(e, call, "strides", &strides)) {
        int count = read_list(e, call, strides, "strides", shape.stride);
        if (count >= 0 && count != shape.rank)
            front_report(e, DIAGNOSTIC_E0307, strides.at, "there are %d extents and %d strides", shape.rank, count);
        if (count != shape.rank)
            return value_error(call->at);
        for (int d = 0; d < shape.rank; d++)
            shape.stride[d] = not_negative(e, shape.stride[d], "strides", call);
    } else { /* rows without gaps */
        shape.stride[shape.rank - 1] = constant(e, 1);
        for (int d = shape.rank - 2; d >= 0; d--)
            shape.stride[d] = product(e, shape.extent[PLANTED(front_made_rows_of_other_length) ? d : d + 1],
                                      shape.stride[d + 1]);
    }
    check_made_view(e, p.run, shape.rank, shape.extent, shape.stride, front_source(e, call->expression), call->at);
    const struct ir_type *pointer = p.run->type;
    const struct ir_type type = {.kind = IR_VIEW,
                                 .element = pointer->pointee,
                                 .readable = true,
                                 .writable = !pointer->pointee_const,
                                 .optional = true};
    struct view_value whole = {.name = front_source(e, call->expression), .declared_optional = true, .number = INT_MAX};
    return make_view(e, &type, p.run, &shape, whole, call->at);
}
