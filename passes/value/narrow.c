/* Narrow: index arithmetic that is proven to stay within 32 bits is done in i32, with casts at its edges.
 *
 *     %i = iota : index[64]                        %i = iota : i32[64]
 *     %s = splat %n : index[64]              ->    %m = cast %n : i32
 *     %c = compare predicate(lt) %i, %s            %s = splat %m : i32[64]
 *                                                  %c = compare predicate(lt) %i, %s
 *
 * Right when the operands and the result of an operation have ranges within i32 (ir/facts/range.c): a range that is smaller
 * than the whole of index is one that does not wrap, so the 32-bit operation gives the same number.  A loop's variable
 * is narrowed when its bounds and the value behind the last are within i32; an upper bound that may lie below them is
 * raised to them, since no iteration is done either way.  Casts are left at the edges (extents,
 * places, carried values that stay); simplify removes those that meet. */
#include "base/plant.h"
#include "passes/value/narrow.h"
#include "passes/base/rewrite.h"

struct narrowing {
    struct pass_context *context;
    struct range *of; /* by value id; grows with the values made here */
    int count, capacity;
    bool changed;
};

static const struct range narrow_range = {INT32_MIN, INT32_MAX};

static struct range known_range(const struct narrowing *n, const struct ir_value *value)
{
    return value->id < n->count ? n->of[value->id] : range_of_element(value->type->element);
}

static void note_range(struct narrowing *n, const struct ir_value *value, struct range range)
{
    if (value->id >= n->capacity) {
        int capacity = 2 * value->id + 64;
        struct range *bigger = ARENA_ARRAY(n->context->arena, struct range, capacity);
        for (int i = 0; i < n->count; i++)
            bigger[i] = n->of[i];
        n->of = bigger;
        n->capacity = capacity;
    }
    for (; n->count <= value->id; n->count++)
        n->of[n->count] = (struct range){INT64_MIN, INT64_MAX};
    n->of[value->id] = range;
}

static bool is_index(const struct ir_value *value)
{
    return value->type->kind == IR_TILE && value->type->element == IR_INDEX;
}

static bool fits(const struct narrowing *n, const struct ir_value *value)
{
    return !is_index(value) || range_within(known_range(n, value), narrow_range) || PLANTED(narrow_not_proven);
}

/* The value as i32: what a cast at an edge was made from, or a cast. */
static struct ir_value *as_narrow(struct narrowing *n, struct ir_builder *builder, struct ir_value *value)
{
    const struct ir_operation *op = value->definition;
    int64_t number;
    if (!is_index(value))
        return value;
    if (op && op->opcode == OP_CAST && op->operands[0]->type->element == IR_I32)
        return op->operands[0];
    struct ir_context *context = builder->module->context;
    if (ir_constant_integer(value, &number))
        return ir_constant_int(builder, ir_type_with_element(context, value->type, IR_I32), number);
    struct ir_value *narrow = ir_cast(builder, value, IR_I32);
    note_range(n, narrow, known_range(n, value));
    return narrow;
}

/* Puts `narrow` and a cast back to index in the place of `wide`. */
static void replace_by(struct narrowing *n, struct ir_builder *builder, struct ir_value *wide, struct ir_value *narrow)
{
    note_range(n, narrow, known_range(n, wide));
    if (!narrow->name)
        narrow->name = wide->name;
    struct ir_value *back = ir_cast(builder, narrow, IR_INDEX);
    note_range(n, back, known_range(n, wide));
    ir_replace_uses(wide, back);
}

/* Operations that mean the same in 32 bits when operands and result fit. */
static bool is_narrowable(const struct narrowing *n, const struct ir_operation *op)
{
    struct range amount;
    switch (op->opcode) {
    case OP_ADD:
    case OP_SUB:
    case OP_MUL:
    case OP_DIV:
    case OP_REM:
    case OP_NEG:
    case OP_MIN:
    case OP_MAX:
    case OP_ABS:
    case OP_AND:
    case OP_OR:
    case OP_XOR:
    case OP_NOT:
    case OP_SELECT:
    case OP_IOTA:
    case OP_SPLAT:
    case OP_BROADCAST:
    case OP_RESHAPE:
    case OP_PERMUTE:
    case OP_EXTRACT: return true;
    case OP_SHL:
    case OP_SHR: amount = known_range(n, op->operands[1]); return amount.low >= 0 && amount.high < 32;
    case OP_REDUCE:
    case OP_SCAN: return ir_number(op, IR_ATTRIBUTE_KIND, IR_REDUCE_REGION) != IR_REDUCE_REGION;
    default: return false;
    }
}

static void narrow_plain(struct narrowing *n, struct ir_operation *op)
{
    struct ir_builder builder = rewrite_before(op);
    struct ir_value *operands[3];
    for (int i = 0; i < op->operand_count; i++)
        operands[i] = as_narrow(n, &builder, op->operands[i]);
    const struct ir_type *type = ir_type_with_element(rewrite_context(op), op->results[0]->type, IR_I32);
    struct ir_operation *narrow = ir_build(&builder, op->opcode, op->operand_count, operands, 1, &type);
    narrow->attributes = op->attributes;
    replace_by(n, &builder, op->results[0], narrow->results[0]);
    ir_remove(op);
    n->changed = true;
}

static void narrow_compare(struct narrowing *n, struct ir_operation *op)
{
    struct ir_builder builder = rewrite_before(op);
    for (int i = 0; i < 2; i++)
        ir_set_operand(op, i, as_narrow(n, &builder, op->operands[i]));
    n->changed = true;
}

/* Index tiles that gather may have any integer element: the cast at this edge is not needed. */
static void narrow_gather(struct narrowing *n, struct ir_operation *op)
{
    struct ir_access access;
    if (!ir_access_of(op, &access) || !access.place)
        return;
    for (int d = 0; d < access.rank; d++) {
        if (access.place[d] != IR_GATHER || !is_index(op->operands[d + 1]) || !fits(n, op->operands[d + 1]) ||
            !pass_fuel(n->context))
            continue;
        struct ir_builder builder = rewrite_before(op);
        ir_set_operand(op, d + 1, as_narrow(n, &builder, op->operands[d + 1]));
        n->changed = true;
    }
}

/* ---- loops ---- */

/* The loop goes up to a bound that is at most in i32, but may lie below. */
static bool may_end_below(const struct narrowing *n, const struct ir_operation *loop)
{
    int64_t step;
    struct range upper = known_range(n, loop->operands[1]);
    return !fits(n, loop->operands[1]) && upper.high <= INT32_MAX && !ir_number(loop, IR_ATTRIBUTE_MULTIPLY, 0) &&
           ir_constant_integer(loop->operands[2], &step) && step > 0;
}

/* The variable's values, and the one that ends the loop, are within i32. */
static bool variable_fits(const struct narrowing *n, const struct ir_operation *loop)
{
    int64_t end, step;
    if (!is_index(loop->operands[0]))
        return false;
    for (int i = 0; i < 3; i++)
        if (!fits(n, loop->operands[i]) && !(i == 1 && may_end_below(n, loop)))
            return false;
    struct range upper = known_range(n, loop->operands[1]);
    if (!ir_constant_integer(loop->operands[2], &step))
        return false;
    if (ir_number(loop, IR_ATTRIBUTE_MULTIPLY, 0))
        return step > 0 && known_range(n, loop->operands[0]).low >= 0 &&
               !__builtin_mul_overflow(int64_max(upper.high - 1, 0), step, &end) && end <= INT32_MAX;
    end = step > 0 ? upper.high - 1 + step : upper.low + 1 + step;
    return end <= INT32_MAX && end >= INT32_MIN;
}

static void narrow_loop(struct narrowing *n, struct ir_operation *loop)
{
    struct ir_block *body = loop->regions[0];
    bool variable = variable_fits(n, loop), any = variable;
    bool *carried = ARENA_ARRAY(n->context->arena, bool, loop->result_count);
    for (int i = 0; i < loop->result_count; i++) {
        carried[i] = is_index(loop->results[i]) &&
                     (fits(n, body->arguments.data[i + 1]) || PLANTED(narrow_carried_by_its_start)) &&
                     fits(n, loop->operands[i + 3]);
        any = any || carried[i];
    }
    if (!any || !pass_fuel(n->context))
        return;
    struct arena *arena = n->context->arena;
    struct ir_builder before = rewrite_before(loop);
    struct ir_value **operands = ARENA_ARRAY(arena, struct ir_value *, loop->operand_count);
    const struct ir_type **types = ARENA_ARRAY(arena, const struct ir_type *, loop->result_count);
    if (variable && may_end_below(n, loop)) {
        struct ir_value *upper = loop->operands[1], *least = ir_constant_int(&before, upper->type, INT32_MIN);
        struct ir_value *raised = ir_binary(&before, OP_MAX, upper, least);
        note_range(n, raised, (struct range){INT32_MIN, known_range(n, upper).high});
        ir_set_operand(loop, 1, raised);
    }
    for (int i = 0; i < loop->operand_count; i++) {
        bool narrow = i < 3 ? variable : carried[i - 3];
        operands[i] = narrow ? as_narrow(n, &before, loop->operands[i]) : loop->operands[i];
        if (i >= 3)
            types[i - 3] = operands[i]->type;
    }
    struct ir_operation *slim = ir_build(&before, OP_FOR, loop->operand_count, operands, loop->result_count, types);
    slim->attributes = loop->attributes;
    struct ir_block *into = slim->regions[0];
    while (body->first)
        ir_move_to_end(body->first, into);
    struct ir_builder inside = {.module = before.module, .block = into, .before = into->first, .at = loop->at};
    for (int i = 0; i < body->arguments.count; i++) {
        struct ir_value *argument = body->arguments.data[i];
        bool narrow = i == 0 ? variable : carried[i - 1];
        const struct ir_type *type = narrow ? operands[i == 0 ? 0 : i + 2]->type : argument->type;
        struct ir_value *fresh = ir_block_argument(into, type, argument->name);
        note_range(n, fresh, known_range(n, argument));
        if (narrow)
            replace_by(n, &inside, argument, fresh);
        else
            ir_replace_uses(argument, fresh);
    }
    struct ir_operation *end = ir_terminator(into);
    struct ir_builder last = rewrite_before(end),
                      after = {.module = before.module, .block = slim->block, .before = loop, .at = loop->at};
    for (int i = 0; i < loop->result_count; i++) {
        slim->results[i]->name = loop->results[i]->name;
        if (!carried[i]) {
            note_range(n, slim->results[i], known_range(n, loop->results[i]));
            ir_replace_uses(loop->results[i], slim->results[i]);
            continue;
        }
        ir_set_operand(end, i, as_narrow(n, &last, end->operands[i]));
        replace_by(n, &after, loop->results[i], slim->results[i]);
    }
    ir_remove(loop);
    n->changed = true;
}

static void walk(struct narrowing *n, struct ir_block *block)
{
    for (struct ir_operation *op = block->first, *next; op; op = next) {
        next = op->next;
        if (op->opcode == OP_FOR) {
            narrow_loop(n, op);
            op = next ? next->previous : block->last; /* the loop itself, or casts of results behind its new form */
            while (op && op->opcode != OP_FOR)
                op = op->previous;
        }
        for (int r = 0; op && r < op->region_count; r++)
            walk(n, op->regions[r]);
        if (!op || op->region_count > (op->opcode == OP_REDUCE || op->opcode == OP_SCAN))
            continue;
        narrow_gather(n, op);
        bool all = true, any = false;
        for (int i = 0; i < op->operand_count; i++) {
            all = all && fits(n, op->operands[i]);
            any = any || is_index(op->operands[i]);
        }
        if (op->opcode == OP_COMPARE && any && all && op->operands[0]->type->rank && pass_fuel(n->context))
            narrow_compare(n, op);
        else if (op->result_count == 1 && is_index(op->results[0]) && op->operand_count <= 3 && all &&
                 fits(n, op->results[0]) && is_narrowable(n, op) && pass_fuel(n->context))
            narrow_plain(n, op);
    }
}

bool pass_narrow(struct ir_function *function, struct pass_context *context)
{
    const struct ranges *ranges = context->ranges;
    bool changed = narrow_offsets(function, ranges, context);
    if (changed) /* the runner's ranges do not know the index values that this has built, which are narrowed in turn */
        ranges = ranges_analyse(function, context->arena);
    struct narrowing n = {.context = context, .count = ranges->count, .capacity = ranges->count, .of = ranges->of};
    walk(&n, function->body);
    return changed || n.changed;
}
