/* direct_views: where a view of a view drops dimensions, or begins somewhere and goes on to the end, the memory is
 * reached through the view behind it; where it turns dimensions, a product reads the view behind it and turns the tile.
 *
 *     %one = subview drop(1) %a[%z .. %z1, %0 .. %m, %0 .. %k]      (%m, %k: the extents of %a)
 *     %t = load %one[%i +: 128, %j +: 64], %f                  ->   %t = load %a[%z, %i +: 128, %j +: 64], %f
 *
 *     %turned = view_permute permutation(1, 0) %b
 *     %t = load %turned[%i +: 128, %j +: 64], %f               ->   %u = load %b[%j +: 64, %i +: 128], %f
 *     %p = dot %t, …                                                %t = permute permutation(1, 0) %u
 *
 *     %part = subview drop(1) %a[%z .. %z1, %from .. %to, %0 .. %k]
 *     %t = load %part[%i +: 128, %j +: 64], %f            ->   %p = subview %a[%0 .. %n, %from .. %to, %0 .. %k]
 *                                                                %t = load %p[%z, %i +: 128, %j +: 64], %f
 *
 * Tensor maps, rings and facts of strides belong to parameters, and now find one, or a part of one.  Kernels that say the same in different
 * ways become the same program.
 *
 * Right for two reasons.  A dropped index that lies outside makes the sub-view absent, so nothing of it is read; the same
 * index in a place of the whole view lies outside as well.  And a part that goes on to the end of the view has the
 * view's own indexes, less its begin, if neither is negative. */
#include "base/plant.h"
#include "ir/facts/analysis.h"
#include "passes/base/pass.h"
#include "passes/base/rewrite.h"

struct direct {
    struct pass_context *context;
    const struct ranges *ranges;
    VECTOR(struct ir_operation *) operations; /* that have a view as their first operand */
    bool changed;
};

/* ---- sub-views ---- */

struct dimension {
    const struct ir_value *view;
    int number;
};

static struct dimension dimension_behind(const struct ir_value *view, int number);

static bool is_extent_of(const struct ir_value *value, const struct ir_value *view, int number)
{
    const struct ir_operation *op = value->definition;
    int64_t constant;
    if (ir_constant_integer(value, &constant))
        return constant == view->type->extent[number];
    if (!op || op->opcode != OP_EXTENT)
        return false;
    struct dimension asked = dimension_behind(op->operands[0], (int)ir_number(op, IR_ATTRIBUTE_DIMENSION, 0));
    struct dimension own = dimension_behind(view, number);
    return asked.view == own.view && (PLANTED(direct_absent_extent) || asked.number == own.number);
}

static bool is_dropped(const struct ir_operation *subview, int number)
{
    return ir_number(subview, IR_ATTRIBUTE_DROP, 0) >> number & 1;
}

/* Which dimension of its parent a sub-view's dimension is. */
static int parent_dimension(const struct ir_operation *subview, int number)
{
    int p = 0;
    for (;; p++)
        if (!is_dropped(subview, p) && number-- == 0)
            return p;
}

/* Whether what is left of the parent's dimension ends where the parent ends. */
static bool goes_on_to_the_end(const struct ir_operation *subview, int p)
{
    return is_extent_of(subview->operands[2 + 2 * p], subview->operands[0], p);
}

static bool is_zero(const struct ir_value *value)
{
    int64_t number;
    return ir_constant_integer(value, &number) && number == 0;
}

/* The dimension of the farthest view behind it that has the same extent. */
static struct dimension dimension_behind(const struct ir_value *view, int number)
{
    for (const struct ir_operation *op = view->definition; op; op = view->definition) {
        if (op->opcode == OP_SUBVIEW) {
            int p = parent_dimension(op, number);
            if (!is_zero(op->operands[1 + 2 * p]) || !goes_on_to_the_end(op, p))
                break;
            number = p;
        } else if (op->opcode == OP_VIEW_PERMUTE) {
            number = (int)ir_attribute(op, IR_ATTRIBUTE_PERMUTATION)->list[number];
        } else {
            break;
        }
        view = op->operands[0];
    }
    return (struct dimension){view, number};
}

/* Neither is negative, and their sum is a number: what lies behind the end of the part does so in the view. */
static bool adds_up(const struct direct *d, const struct ir_value *start, const struct ir_value *index)
{
    struct range a = range_of(d->ranges, start), b = range_of(d->ranges, index);
    struct range whole = range_of_element(start->type->element);
    int64_t sum;
    return a.low >= 0 && b.low >= 0 && !__builtin_add_overflow(a.high, b.high, &sum) && sum <= whole.high;
}

/* Whether the access is a slice of a part that drops dimensions and, along one dimension alone, is no whole one. */
static bool is_slice_of_part(const struct ir_operation *subview, const struct ir_access *access)
{
    int parts = 0;
    for (int p = 0, own = 0; p < subview->operands[0]->type->rank; p++)
        if (!is_dropped(subview, p)) {
            parts += !is_zero(subview->operands[1 + 2 * p]) || !goes_on_to_the_end(subview, p);
            if (access->place[own++] == IR_GATHER)
                return false;
        }
    return parts == 1 && ir_number(subview, IR_ATTRIBUTE_DROP, 0);
}

/* The same part with all dimensions of the view behind it: those that were dropped are whole. */
static struct ir_value *keep_dimensions(struct ir_operation *subview)
{
    struct ir_builder builder = rewrite_before(subview);
    struct ir_value *parent = subview->operands[0], *operands[1 + 2 * IR_MAX_RANK] = {parent};
    const struct ir_type *index = subview->operands[1]->type;
    struct ir_type type = *parent->type;
    for (int p = 0; p < type.rank; p++) {
        struct ir_value *start = subview->operands[1 + 2 * p], *stop = subview->operands[2 + 2 * p];
        if (is_dropped(subview, p) || (is_zero(start) && goes_on_to_the_end(subview, p))) {
            start = ir_constant_int(&builder, index, 0);
            stop = ir_build_value(&builder, OP_EXTENT, index, 1, &parent);
            ir_set_number(stop->definition, IR_ATTRIBUTE_DIMENSION, p);
        } else {
            type.extent[p] = IR_DYNAMIC;
        }
        operands[1 + 2 * p] = start;
        operands[2 + 2 * p] = stop;
    }
    return ir_build_value(&builder, OP_SUBVIEW, ir_type_intern(rewrite_context(subview), &type), 1 + 2 * type.rank,
                          operands);
}

/* The places of the parent's dimensions, in order; false: there are none that say the same.  Of a part of the parent
 * what is not dropped is as before. */
static bool places_in_parent(const struct direct *d, const struct ir_operation *subview, const struct ir_access *access,
                             bool part, int64_t *place, struct ir_value **index)
{
    int rank = subview->operands[0]->type->rank, gathers = 0;
    for (int p = 0, own = 0; p < rank; p++) {
        struct ir_value *start = subview->operands[1 + 2 * p];
        index[p] = NULL;
        if (is_dropped(subview, p)) {
            place[p] = IR_POINT;
            continue;
        }
        if (!part && !goes_on_to_the_end(subview, p))
            return false;
        place[p] = access->place[own];
        gathers += place[p] == IR_GATHER;
        if (!part && !is_zero(start) && (place[p] == IR_GATHER || !adds_up(d, start, access->index[own])))
            return false;
        own++;
    }
    return gathers < 2; /* several are neighbours, and would have to stay so */
}

static void reach_parent(struct direct *d, struct ir_operation *op, struct ir_operation *subview)
{
    struct ir_access access;
    struct ir_value *index[IR_MAX_RANK], *parent = subview->operands[0];
    int64_t place[IR_MAX_RANK], inside = ir_number(op, IR_ATTRIBUTE_INSIDE, 0), proven = 0;
    if (!ir_access_of(op, &access) || !access.place)
        return;
    bool part = !places_in_parent(d, subview, &access, false, place, index);
    if ((part && !is_slice_of_part(subview, &access)) || !pass_fuel(d->context))
        return;
    if (part) {
        places_in_parent(d, subview, &access, true, place, index);
        parent = keep_dimensions(subview);
    }
    struct ir_builder builder = rewrite_before(op);
    int own = 0, rank = parent->type->rank, rest = op->operand_count - 1 - access.rank;
    struct ir_value **operands = ARENA_ARRAY(d->context->arena, struct ir_value *, 1 + rank + rest);
    operands[0] = parent;
    for (int p = 0; p < rank; p++) {
        struct ir_value *start = subview->operands[1 + 2 * p];
        operands[1 + p] = start;
        if (is_dropped(subview, p))
            continue;
        operands[1 + p] = access.index[own];
        if (!part && !is_zero(start))
            operands[1 + p] = ir_binary(&builder, OP_ADD, start, access.index[own]);
        proven |= (inside >> own & 1) << p;
        own++;
    }
    for (int i = 0; i < rest; i++)
        operands[1 + rank + i] = op->operands[1 + access.rank + i];
    for (int i = 0; i < 1 + rank + rest; i++)
        if (i < op->operand_count)
            ir_set_operand(op, i, operands[i]);
        else
            ir_add_operand(op, operands[i]);
    ir_set_list(op, IR_ATTRIBUTE_PLACE, rank, place);
    if (inside)
        ir_set_number(op, IR_ATTRIBUTE_INSIDE, proven);
    d->changed = true;
}

/* extent, stride: the parent's. */
static void ask_parent(struct direct *d, struct ir_operation *op, const struct ir_operation *subview)
{
    int p = parent_dimension(subview, (int)ir_number(op, IR_ATTRIBUTE_DIMENSION, 0));
    bool whole = is_zero(subview->operands[1 + 2 * p]) && goes_on_to_the_end(subview, p);
    if ((op->opcode == OP_EXTENT && !whole) || !pass_fuel(d->context))
        return;
    ir_set_operand(op, 0, subview->operands[0]);
    ir_set_number(op, IR_ATTRIBUTE_DIMENSION, p);
    d->changed = true;
}

/* ---- turned views ---- */

/* A whole tile, zeros or one number outside, that products alone take. */
static bool feeds_products(const struct ir_operation *op, const struct ir_access *access)
{
    if (op->opcode != OP_LOAD || access->mask || (access->other && access->other->type->rank) || !op->results[0]->uses)
        return false;
    for (int i = 0; i < access->rank; i++)
        if (access->place[i] == IR_GATHER)
            return false;
    for (const struct ir_use *use = op->results[0]->uses; use; use = use->next)
        if (use->user->opcode != OP_DOT || use->index > 1)
            return false;
    return true;
}

static void turn_tile(struct direct *d, struct ir_operation *load, const struct ir_operation *permuted)
{
    const struct ir_attribute *order = ir_attribute(permuted, IR_ATTRIBUTE_PERMUTATION);
    struct ir_access access;
    int64_t place[IR_MAX_RANK], extent[IR_MAX_RANK], back[IR_MAX_RANK], own[IR_MAX_RANK];
    int64_t inside = ir_number(load, IR_ATTRIBUTE_INSIDE, 0), proven = 0;
    if (!ir_access_of(load, &access) || !feeds_products(load, &access) || !pass_fuel(d->context))
        return;
    struct ir_value *operands[1 + IR_MAX_RANK + 1] = {permuted->operands[0]};
    for (int i = 0; i < access.rank; i++) {
        int64_t p = order->list[i];
        operands[1 + p] = access.index[i];
        place[p] = access.place[i];
        proven |= (inside >> i & 1) << p;
    }
    int rank = 0, count = 1 + access.rank;
    for (int p = 0; p < access.rank; p++) /* own[p]: which dimension of the new tile it is */
        if (place[p] > 0) {
            own[p] = rank;
            extent[rank++] = place[p];
        }
    for (int i = 0, dimension = 0; i < access.rank; i++)
        if (access.place[i] > 0)
            back[dimension++] = own[order->list[i]];
    if (access.other)
        operands[count++] = access.other;
    struct ir_builder builder = rewrite_before(load);
    const struct ir_type *type = load->results[0]->type;
    struct ir_type turned = *type;
    for (int i = 0; i < rank; i++)
        turned.extent[i] = extent[i];
    struct ir_value *tile = ir_build_value(&builder, OP_LOAD, ir_type_intern(rewrite_context(load), &turned), count,
                                           operands);
    tile->definition->attributes = load->attributes;
    ir_set_list(tile->definition, IR_ATTRIBUTE_PLACE, access.rank, place);
    if (inside)
        ir_set_number(tile->definition, IR_ATTRIBUTE_INSIDE, proven);
    struct ir_value *result = ir_build_value(&builder, OP_PERMUTE, type, 1, &tile);
    ir_set_list(result->definition, IR_ATTRIBUTE_PERMUTATION, rank, back);
    ir_replace_uses(load->results[0], result);
    ir_remove(load);
    vector_push(d->context->arena, &d->operations, tile->definition); /* its view may be a part of another */
    d->changed = true;
}

/* ---- the pass ---- */

static void collect(struct ir_operation *op, void *data)
{
    struct direct *d = data;
    if (op->operand_count && op->operands[0]->type->kind == IR_VIEW)
        vector_push(d->context->arena, &d->operations, op);
}

/* In text order, so that a view of a view of a view is reached step by step: an access of one after the other. */
bool pass_direct_views(struct ir_function *function, struct pass_context *context)
{
    struct direct d = {.context = context, .ranges = context->ranges};
    ir_walk(function->body, collect, &d);
    for (int i = 0; i < d.operations.count; i++) {
        struct ir_operation *op = d.operations.data[i];
        for (const struct ir_value *before = NULL; before != op->operands[0];) {
            struct ir_operation *view = op->operands[0]->definition;
            before = op->operands[0];
            if (!view || view->opcode != OP_SUBVIEW)
                break;
            if (op->opcode == OP_EXTENT || op->opcode == OP_STRIDE)
                ask_parent(&d, op, view);
            else
                reach_parent(&d, op, view);
        }
        const struct ir_operation *view = op->operands[0]->definition;
        if (view && view->opcode == OP_VIEW_PERMUTE)
            turn_tile(&d, op, view);
    }
    return d.changed;
}
