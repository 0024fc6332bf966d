/* see inside.h
 *
 * The proof reads an index as scale * t + offset, where no step of the computation may wrap (by ranges), and looks for
 * the greatest value that t can have:
 *   - The extent is a number, or what is assumed keeps it from being less: ranges tell.
 *   - t is the variable of a loop that ends at an extent of the same class: t <= extent - 1.  When the loop's start and
 *     the extent are multiples of the step, even t <= extent - step.
 *   - t is a grid index, and the grid covers that extent: t * grid_step <= extent - 1, or extent - grid_step likewise.
 *   - An `if` around the access, or an assume(), says so: scale * t + a < extent + b.
 * Where the extent is assumed to be another one divided by a number, and the index is divided by it, too, the dividends are
 * compared instead: rows of words that hold eight elements each. */
#include "ir/facts/inside.h"

#include "base/plant.h"
#include "ir/facts/linear.h"

/* An extent of an argument that is assumed to be another one's, divided; by 0: it is not. */
struct quotient {
    const struct ir_value *view;
    int dimension;
    int64_t by;
};

struct inside {
    struct arena *arena;
    const struct ranges *ranges;
    int *class; /* of dimension d of argument a at a * IR_MAX_RANK + d: extents of one class are equal; 0: alone */
    int grid_class[IR_MAX_RANK];
    int64_t *multiple;                           /* by class */
    int64_t *least;                              /* by dimension of an argument, as class: the extent is not under it */
    struct quotient *quotient;                   /* likewise */
    VECTOR(const struct ir_operation *) assumed; /* at the top of the function */
};

/* ---- extents ---- */

/* One dimension of an argument: where a view's extent comes from.  `argument` NULL: not an argument's. */
struct extent {
    const struct ir_value *argument;
    int dimension;
    int64_t number, multiple, least;
    int class;
};

/* The view's extent along d as that of an argument, through permutations. */
static struct extent extent_of(const struct inside *inside, const struct ir_value *view, int d)
{
    struct extent out = {.number = view->type->extent[d], .multiple = 1};
    const struct ir_function *function = view->block->function;
    while (view->definition && view->definition->opcode == OP_VIEW_PERMUTE) {
        d = (int)ir_attribute(view->definition, IR_ATTRIBUTE_PERMUTATION)->list[d];
        view = view->definition->operands[0];
    }
    if (view->definition || view->block->parent)
        return out;
    out.argument = view;
    out.dimension = d;
    if (view->index < function->facts.count)
        out.multiple = int64_max(function->facts.data[view->index].extent_multiple[d], 1);
    out.least = inside->least[view->index * IR_MAX_RANK + d];
    out.class = inside->class[view->index * IR_MAX_RANK + d];
    if (out.class)
        out.multiple = int64_max(out.multiple, inside->multiple[out.class]);
    return out;
}

static bool same_extent(const struct extent *a, const struct extent *b)
{
    return a->argument && b->argument &&
           ((a->argument == b->argument && a->dimension == b->dimension) || (a->class && a->class == b->class));
}

/* Whether `value` is extent `wanted` plus *offset. */
static bool is_extent_plus(const struct inside *inside, const struct ir_value *value, const struct extent *wanted,
                           int64_t *offset)
{
    struct linear linear = linear_of(inside->ranges, value);
    *offset = linear.offset;
    if (!linear.term)
        return wanted->number != IR_DYNAMIC && !__builtin_sub_overflow(linear.offset, wanted->number, offset);
    const struct ir_operation *op = linear.term->definition;
    if (linear.scale != 1 || !op || op->opcode != OP_EXTENT)
        return false;
    struct extent extent = extent_of(inside, op->operands[0], (int)ir_number(op, IR_ATTRIBUTE_DIMENSION, 0));
    return same_extent(&extent, wanted);
}

bool inside_may_be_absent(const struct ir_value *view)
{
    while (view->definition) {
        const struct ir_operation *op = view->definition;
        if (op->opcode != OP_VIEW_PERMUTE && !(op->opcode == OP_SUBVIEW && !ir_number(op, IR_ATTRIBUTE_DROP, 0)))
            return true;
        view = op->operands[0];
    }
    return view->block->parent || view->type->optional || !view->block->function->is_kernel;
}

/* ---- proofs: the greatest g for which  scale * term <= extent - g  is known, as a number; INT64_MIN: nothing ---- */

enum { MIN_DEPTH = 6 };

/* upper <= extent + *offset, the least offset that is seen through minima; false: none. */
static bool least_offset(const struct inside *inside, const struct ir_value *upper, const struct extent *extent,
                         int depth, int64_t *offset)
{
    const struct ir_operation *op = upper->definition;
    if (is_extent_plus(inside, upper, extent, offset))
        return true;
    if (!op || op->opcode != OP_MIN || depth == 0)
        return false;
    int64_t a = INT64_MAX, b = INT64_MAX;
    bool left = least_offset(inside, op->operands[0], extent, depth - 1, &a);
    bool right = least_offset(inside, op->operands[1], extent, depth - 1, &b);
    *offset = left && right ? int64_min(a, b) : left ? a : b;
    return left || right;
}

static int64_t gap_of_loop(const struct inside *inside, const struct ir_value *term, int64_t scale,
                           const struct extent *extent)
{
    const struct ir_operation *loop = term->block->parent;
    int64_t step, lower, offset = 0;
    if (term->definition || term->index != 0 || !loop || loop->opcode != OP_FOR || scale != 1 ||
        ir_number(loop, IR_ATTRIBUTE_MULTIPLY, 0) || !ir_constant_integer(loop->operands[2], &step) || step <= 0)
        return INT64_MIN;
    if (!least_offset(inside, loop->operands[1], extent, MIN_DEPTH, &offset) || offset > INT32_MAX ||
        offset < INT32_MIN)
        return INT64_MIN;
    int64_t multiple = extent->number != IR_DYNAMIC ? extent->number : extent->multiple;
    bool starts_whole = ir_constant_integer(loop->operands[0], &lower)
                            ? lower % step == 0 || PLANTED(bounds_steps_of_odd_start)
                            : divisibility_ask(loop->operands[0]).multiple[0] % step == 0;
    return offset == 0 && multiple % step == 0 && starts_whole ? step : 1 - offset;
}

static int64_t gap_of_grid(const struct inside *inside, const struct ir_value *term, int64_t scale,
                           const struct extent *extent)
{
    const struct ir_operation *op = term->definition;
    if (!op || op->opcode != OP_GRID_INDEX || !extent->class)
        return INT64_MIN;
    const struct ir_function *function = op->block->function;
    int64_t d = ir_number(op, IR_ATTRIBUTE_DIMENSION, 0), step = function->grid_step[d];
    if (inside->grid_class[d] != extent->class || step <= 0 || scale < 1 || scale > step)
        return INT64_MIN;
    return extent->multiple % step == 0 || PLANTED(bounds_last_block_unmasked) ? step : 1;
}

/* From a condition that holds: scale * term + a < extent + b  (or <=, or mirrored). */
static int64_t gap_of_condition(const struct inside *inside, const struct ir_value *condition, bool holds,
                                const struct linear *index, const struct extent *extent)
{
    const struct ir_operation *op = condition->definition;
    if (!op)
        return INT64_MIN;
    if (op->opcode == OP_NOT)
        return gap_of_condition(inside, op->operands[0], !holds, index, extent);
    if ((op->opcode == OP_AND && holds) || (op->opcode == OP_OR && (!holds || PLANTED(bounds_believes_or))))
        return int64_max(gap_of_condition(inside, op->operands[0], holds, index, extent),
                         gap_of_condition(inside, op->operands[1], holds, index, extent));
    if (op->opcode != OP_COMPARE || op->operands[0]->type->kind != IR_TILE ||
        !ir_is_integer(op->operands[0]->type->element))
        return INT64_MIN;
    static const enum ir_predicate opposite[IR_PREDICATE_COUNT] = {IR_PREDICATE_NE, IR_PREDICATE_EQ, IR_PREDICATE_GE,
                                                                   IR_PREDICATE_GT, IR_PREDICATE_LE, IR_PREDICATE_LT};
    int64_t predicate = ir_number(op, IR_ATTRIBUTE_PREDICATE, 0), offset;
    predicate = holds ? predicate : (int64_t)opposite[predicate];
    bool mirrored = predicate == IR_PREDICATE_GT || predicate == IR_PREDICATE_GE;
    bool strict = predicate == IR_PREDICATE_LT || predicate == IR_PREDICATE_GT;
    if (!mirrored && !strict && predicate != IR_PREDICATE_LE)
        return INT64_MIN;
    struct linear left = linear_of(inside->ranges, op->operands[mirrored ? 1 : 0]);
    if (left.term != index->term || left.scale != index->scale ||
        !is_extent_plus(inside, op->operands[mirrored ? 0 : 1], extent, &offset))
        return INT64_MIN;
    if (left.offset > INT32_MAX || left.offset < INT32_MIN || offset > INT32_MAX || offset < INT32_MIN)
        return INT64_MIN;
    return left.offset - offset + (strict ? 1 : 0);
}

static int64_t gap_around(const struct inside *inside, const struct ir_operation *at, const struct linear *index,
                          const struct extent *extent)
{
    int64_t gap = INT64_MIN;
    const struct ir_block *block = at->block;
    for (; block->parent; block = block->parent->block)
        if (block->parent->opcode == OP_IF)
            gap = int64_max(gap,
                            gap_of_condition(inside, block->parent->operands[0],
                                             block == block->parent->regions[0] || PLANTED(bounds_condition_in_else),
                                             index, extent));
    for (int i = 0; i < inside->assumed.count; i++)
        gap = int64_max(gap, gap_of_condition(inside, inside->assumed.data[i]->operands[0], true, index, extent));
    return gap;
}

/* index + length <= extent, for an index that is not negative. */
static bool ends_inside(const struct inside *inside, const struct ir_operation *op, const struct extent *extent,
                        const struct ir_value *index, int64_t length)
{
    int64_t most;
    struct range range = range_at(inside->ranges, index, op);
    if (extent->number != IR_DYNAMIC && !__builtin_add_overflow(range.high, length, &most) && most <= extent->number)
        return true;
    if (!__builtin_add_overflow(range.high, length, &most) && most <= extent->least)
        return true;
    if (index->type->rank || !extent->argument)
        return false;
    struct linear linear = linear_of(inside->ranges, index);
    if (!linear.term || linear.offset > INT32_MAX || linear.offset < INT32_MIN)
        return false;
    int64_t gap = int64_max(gap_of_loop(inside, linear.term, linear.scale, extent),
                            gap_of_grid(inside, linear.term, linear.scale, extent));
    gap = int64_max(gap, gap_around(inside, op, &linear, extent));
    return gap != INT64_MIN && linear.offset + length <= gap + PLANTED(bounds_one_past);
}

/* i / by + length <= e / by  where  i + length * by <= e;  if e is a multiple, where i + (length - 1) * by < e. */
static bool quotient_ends_inside(const struct inside *inside, const struct ir_operation *op,
                                 const struct extent *extent, const struct ir_value *index, int64_t length)
{
    const struct ir_operation *divide = index->definition;
    int64_t by;
    if (!extent->argument || !divide || divide->opcode != OP_DIV || index->type->rank || length > INT32_MAX)
        return false;
    const struct quotient *quotient = &inside->quotient[extent->argument->index * IR_MAX_RANK + extent->dimension];
    const struct ir_value *dividend = divide->operands[0];
    if (!quotient->by || !ir_constant_integer(divide->operands[1], &by) || by != quotient->by ||
        range_at(inside->ranges, dividend, op).low < 0)
        return false;
    struct extent whole = extent_of(inside, quotient->view, quotient->dimension);
    return ends_inside(inside, op, &whole, dividend,
                       whole.multiple % by == 0 || PLANTED(bounds_quotient_rounds_up) ? (length - 1) * by + 1
                                                                                      : length * by);
}

bool inside_is_proven(const struct inside *inside, const struct ir_operation *op, const struct ir_value *view, int d,
                      const struct ir_value *index, int64_t length)
{
    struct range range = range_at(inside->ranges, index, op);
    struct extent extent = extent_of(inside, view, d);
    if ((range.low < 0 && !PLANTED(bounds_negative_index)) ||
        (index->type->element == IR_U64 && range.high == INT64_MAX))
        return false;
    return ends_inside(inside, op, &extent, index, length) || quotient_ends_inside(inside, op, &extent, index, length);
}

/* ---- equal extents: classes that the wrapper checks, joined by what is assumed at the top ---- */

/* The slot of `value` when it is the extent of an argument, else -1. */
static int slot_of(const struct ir_value *value)
{
    const struct ir_operation *op = value->definition;
    if (!op || op->opcode != OP_EXTENT || op->operands[0]->definition || op->operands[0]->block->parent)
        return -1;
    return op->operands[0]->index * IR_MAX_RANK + (int)ir_number(op, IR_ATTRIBUTE_DIMENSION, 0);
}

static void join(struct inside *inside, int slots, int a, int b, int *next)
{
    if (!inside->class[a])
        inside->class[a] = (*next)++;
    int old = inside->class[b], wanted = inside->class[a];
    inside->class[b] = wanted;
    for (int i = 0; i < slots && old; i++)
        if (inside->class[i] == old)
            inside->class[i] = wanted;
    for (int d = 0; d < IR_MAX_RANK && old; d++)
        if (inside->grid_class[d] == old)
            inside->grid_class[d] = wanted;
}

static void note_assumption(struct inside *inside, const struct ir_value *condition, int slots, int *next)
{
    const struct ir_operation *op = condition->definition;
    int64_t zero, by;
    if (op && op->opcode == OP_AND) {
        note_assumption(inside, op->operands[0], slots, next);
        note_assumption(inside, op->operands[1], slots, next);
    }
    if (!op || op->opcode != OP_COMPARE || ir_number(op, IR_ATTRIBUTE_PREDICATE, -1) != IR_PREDICATE_EQ)
        return;
    int a = slot_of(op->operands[0]), b = slot_of(op->operands[1]);
    if (a >= 0 && b >= 0)
        join(inside, slots, a, b, next);
    const struct ir_operation *rest = op->operands[0]->definition;
    a = rest && rest->opcode == OP_REM ? slot_of(rest->operands[0]) : -1;
    if (a < 0 || !ir_constant_integer(op->operands[1], &zero) || zero || !ir_constant_integer(rest->operands[1], &by) ||
        by < 1)
        return;
    if (!inside->class[a])
        inside->class[a] = (*next)++;
    inside->multiple[inside->class[a]] = int64_max(inside->multiple[inside->class[a]], by);
}

static void find_classes(struct inside *inside, const struct ir_function *function)
{
    int slots = function->body->arguments.count * IR_MAX_RANK, next = 1;
    for (int i = 0; i < function->facts.count; i++)
        for (int d = 0; d < IR_MAX_RANK; d++)
            next = next > function->facts.data[i].extent_class[d] ? next : function->facts.data[i].extent_class[d] + 1;
    bool known = next <= INT16_MAX; /* classes are small numbers; larger ones, written by hand, are not worth a table */
    next = known ? next : 1;
    inside->class = ARENA_ARRAY(inside->arena, int, slots + 1);
    inside->multiple = ARENA_ARRAY(inside->arena, int64_t, next + slots + 1); /* each slot may start one more */
    for (int i = 0; i < function->facts.count && known; i++)
        for (int d = 0; d < IR_MAX_RANK; d++)
            inside->class[i * IR_MAX_RANK + d] = function->facts.data[i].extent_class[d];
    for (int d = 0; d < IR_MAX_RANK && known; d++)
        inside->grid_class[d] = function->grid_class[d];
    for (int round = 0; round < 2; round++) { /* the second finds the multiples under their final classes */
        for (const struct ir_operation *op = function->body->first; op; op = op->next)
            if (op->opcode == OP_ASSUME)
                note_assumption(inside, op->operands[0], slots, &next);
        for (int i = 0; i < function->facts.count; i++)
            for (int d = 0; d < IR_MAX_RANK; d++) {
                int class = inside->class[i * IR_MAX_RANK + d];
                inside->multiple[class] = int64_max(inside->multiple[class],
                                                    function->facts.data[i].extent_multiple[d]);
            }
    }
}

static void note_quotient(struct inside *inside, const struct ir_value *condition)
{
    const struct ir_operation *op = condition->definition;
    int64_t by;
    if (op && op->opcode == OP_AND) {
        note_quotient(inside, op->operands[0]);
        note_quotient(inside, op->operands[1]);
    }
    if (!op || op->opcode != OP_COMPARE || ir_number(op, IR_ATTRIBUTE_PREDICATE, -1) != IR_PREDICATE_EQ)
        return;
    for (int i = 0; i < 2; i++) {
        const struct ir_operation *divide = op->operands[1 - i]->definition;
        int slot = slot_of(op->operands[i]);
        if (slot < 0 || !divide || divide->opcode != OP_DIV || slot_of(divide->operands[0]) < 0 ||
            !ir_constant_integer(divide->operands[1], &by) || by < 1 || by > INT16_MAX)
            continue;
        const struct ir_operation *extent = divide->operands[0]->definition;
        inside->quotient[slot] = (struct quotient){extent->operands[0],
                                                   (int)ir_number(extent, IR_ATTRIBUTE_DIMENSION, 0), by};
    }
}

/* What conditions assumed of extents say of their least value, for all of one class. */
static void find_least(struct inside *inside, const struct ir_function *function)
{
    int slots = function->body->arguments.count * IR_MAX_RANK;
    inside->least = ARENA_ARRAY(inside->arena, int64_t, slots + 1);
    for (const struct ir_operation *op = function->body->first; op; op = op->next) {
        int slot = op->opcode == OP_EXTENT ? slot_of(op->results[0]) : -1;
        int64_t low = slot < 0 ? 0 : range_of(inside->ranges, op->results[0]).low;
        for (int i = 0; i < slots && slot >= 0; i++)
            if (i == slot || (inside->class[slot] && inside->class[i] == inside->class[slot]))
                inside->least[i] = int64_max(inside->least[i], low);
    }
}

const struct inside *inside_analyse(const struct ir_function *function, const struct ranges *ranges,
                                    struct arena *arena)
{
    struct inside *inside = ARENA_NEW(arena, struct inside);
    *inside = (struct inside){.arena = arena, .ranges = ranges};
    find_classes(inside, function);
    find_least(inside, function);
    inside->quotient = ARENA_ARRAY(arena, struct quotient, function->body->arguments.count * IR_MAX_RANK + 1);
    for (const struct ir_operation *op = function->body->first; op; op = op->next)
        if (op->opcode == OP_ASSUME) {
            vector_push(arena, &inside->assumed, op);
            note_quotient(inside, op->operands[0]);
        }
    return inside;
}
