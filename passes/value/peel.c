/* peel: a loop with an `if` whose condition holds only towards one end of the loop is split there.  The longer part
 * then runs without the `if`.
 *
 *     for %j = %lo to %hi step %s {             for %j = %lo to min(%hi, bound) step %s { A }
 *         A                                ->   for %j = (first value behind that) to %hi step %s {
 *         if %j + 64 > %n { B }                     A
 *     }                                             if %j + 64 > %n { B }
 *                                               }
 *
 * A loop that counts down is split likewise; its last part is then the one below the bound.
 *
 * The pass reads the condition as alternatives joined by `or`.  Each alternative compares `variable + number` with
 * something from outside the loop, and may have further conditions joined to it by `and`.  From this follows a bound,
 * computed in front of the loop, below which (or from which on) the condition is false.  Where no further conditions were
 * joined it is true in the other part; the `if` there says so (`holds`), and stays, since what it alone needs takes no
 * registers elsewhere.
 *
 * Right because the loops visit the same values in the same order and hand on what they carry; only the question is
 * left out where its answer is known.  Ranges must show that computing the bound cannot wrap.  The pass does this only
 * where the guarded code works on tiles, since a scalar `if` costs less than a second copy of the loop.
 *
 * Where no `if` turns, a loop is split where its masks do (peel_masks.c). */
#include "passes/value/peel.h"

#include "base/plant.h"
#include "ir/facts/linear.h"
#include "passes/base/rewrite.h"

enum { SIZE_LIMIT = 1000 };

bool peel_is_moderate(const struct peel *peel, const struct ir_value *value)
{
    int64_t limit = ir_element_info[value->type->element].bits == 64 ? INT64_C(1) << 60 : INT64_C(1) << 28;
    struct range range = range_of(peel->ranges, value);
    return range.low >= -limit && range.high <= limit;
}

/* Where a condition turns: it is false for values below base + offset (late), or for those from there on (early). */
struct turn {
    struct ir_value *base;
    int64_t offset;
};

/* variable + a  predicate  b, b from outside. */
static bool turn_of_compare(const struct peel *peel, const struct ir_operation *compare, bool holds, bool late,
                            struct turn *turn)
{
    static const enum ir_predicate opposite[IR_PREDICATE_COUNT] = {IR_PREDICATE_NE, IR_PREDICATE_EQ, IR_PREDICATE_GE,
                                                                   IR_PREDICATE_GT, IR_PREDICATE_LE, IR_PREDICATE_LT};
    static const enum ir_predicate mirrored[IR_PREDICATE_COUNT] = {IR_PREDICATE_EQ, IR_PREDICATE_NE, IR_PREDICATE_GT,
                                                                   IR_PREDICATE_GE, IR_PREDICATE_LT, IR_PREDICATE_LE};
    int64_t predicate = ir_number(compare, IR_ATTRIBUTE_PREDICATE, 0);
    if (compare->operands[0]->type != peel->variable->type)
        return false;
    predicate = holds ? predicate : (int64_t)opposite[predicate];
    for (int side = 0; side < 2; side++) {
        struct linear linear = linear_of(peel->ranges, compare->operands[side]);
        struct ir_value *other = compare->operands[1 - side];
        if (linear.term != peel->variable || (linear.scale != 1 && !PLANTED(peel_scaled_variable)) ||
            ir_is_inside(other, peel->loop) || !peel_is_moderate(peel, other) || linear.offset > INT32_MAX / 4 ||
            linear.offset < INT32_MIN / 4)
            continue;
        int64_t seen = side == 0 ? predicate : (int64_t)mirrored[predicate];
        bool at_start = seen == IR_PREDICATE_EQ && other == peel->loop->operands[0] && linear.offset == 0;
        turn->base = other;
        turn->offset = -linear.offset;
        if (late) { /* false for variable < base + offset */
            turn->offset += (seen == IR_PREDICATE_GT) + PLANTED(peel_late_off_by_one);
            return seen == IR_PREDICATE_GT || seen == IR_PREDICATE_GE || (at_start && peel->step < 0);
        }
        turn->offset += seen == IR_PREDICATE_LE || seen == IR_PREDICATE_EQ; /* false for variable >= base + offset */
        turn->offset -= PLANTED(peel_early_forgets_equal) && seen == IR_PREDICATE_LE;
        return seen == IR_PREDICATE_LT || seen == IR_PREDICATE_LE || (at_start && peel->step > 0);
    }
    return false;
}

/* Builds the bound in front of the loop: with build NULL only tells whether there is one.  Alternatives must all turn,
 * so the bound is the least (late) or greatest (early) of theirs: on its other side one of them holds.  Of conditions
 * joined by `and` one is enough; whether the condition holds on the other side is not known then: `exact` becomes false. */
static bool bound_of(const struct peel *peel, const struct ir_value *condition, bool holds, bool late,
                     struct ir_builder *build, struct ir_value **bound, bool *exact)
{
    const struct ir_operation *op = condition->definition;
    if (!op || !ir_is_inside(condition, peel->loop))
        return false;
    if (op->opcode == OP_NOT)
        return bound_of(peel, op->operands[0], !holds, late, build, bound, exact);
    bool is_or = op->opcode == (holds ? OP_OR : OP_AND), is_and = op->opcode == (holds ? OP_AND : OP_OR);
    if (is_and) {
        *exact = false;
        return bound_of(peel, op->operands[0], holds, late, build, bound, exact) ||
               bound_of(peel, op->operands[1], holds, late, build, bound, exact);
    }
    if (is_or) {
        struct ir_value *a = NULL, *b = NULL;
        if (!bound_of(peel, op->operands[0], holds, late, NULL, &a, exact) ||
            !bound_of(peel, op->operands[1], holds, late, NULL, &b, exact))
            return false;
        if (!build)
            return true;
        bound_of(peel, op->operands[0], holds, late, build, &a, exact);
        bound_of(peel, op->operands[1], holds, late, build, &b, exact);
        *bound = ir_binary(build, late != PLANTED(peel_takes_other_bound) ? OP_MIN : OP_MAX, a, b);
        return true;
    }
    struct turn turn;
    if (op->opcode != OP_COMPARE || !turn_of_compare(peel, op, holds, late, &turn))
        return false;
    if (build)
        *bound = ir_binary(build, OP_ADD, turn.base, ir_constant_int(build, turn.base->type, turn.offset));
    return true;
}

static bool works_on_tiles(const struct ir_operation *op)
{
    for (int i = 0; i < op->result_count; i++)
        if (op->results[i]->type->kind == IR_TILE && op->results[i]->type->rank > 0)
            return true;
    if (ir_has_trait(op, IR_TRAIT_READ | IR_TRAIT_WRITE | IR_TRAIT_ATOMIC))
        return true;
    for (int r = 0; r < op->region_count; r++)
        for (const struct ir_operation *inner = op->regions[r]->first; inner; inner = inner->next)
            if (works_on_tiles(inner))
                return true;
    return false;
}

static bool is_splittable(const struct peel *peel, int64_t *step)
{
    const struct ir_operation *loop = peel->loop;
    if (loop->opcode != OP_FOR || ir_number(loop, IR_ATTRIBUTE_MULTIPLY, 0) ||
        !ir_is_signed(loop->operands[0]->type->element) ||
        ir_element_info[loop->operands[0]->type->element].bits < 32 || !ir_constant_integer(loop->operands[2], step) ||
        *step == 0 || *step > INT32_MAX / 8 || *step < -(INT32_MAX / 8))
        return false;
    return peel_is_moderate(peel, loop->operands[0]) && peel_is_moderate(peel, loop->operands[1]) &&
           ir_count_operations(loop->regions[0]) <= SIZE_LIMIT;
}

/* The same place in another copy of the block. */
static struct ir_operation *counterpart(const struct ir_operation *op, struct ir_block *block)
{
    struct ir_operation *other = block->first;
    for (const struct ir_operation *each = op->block->first; each != op; each = each->next)
        other = other->next;
    return other;
}

static void make_false(struct ir_operation *condition)
{
    struct ir_builder builder = rewrite_before(condition);
    ir_set_operand(condition, 0, ir_constant_int(&builder, condition->operands[0]->type, 0));
}

/* Where the second part starts when the first one ends at `end`: at lower + ceil(max(end - lower, 0) / step) * step.  Of
 * a loop that counts down through multiples of its step (how it moves from program to program is seen then) at the greatest
 * multiple up to the end. */
static struct ir_value *start_of_second(const struct peel *peel, struct ir_builder *b, struct ir_value *lower,
                                        struct ir_value *end)
{
    const struct ir_type *type = lower->type;
    bool up = peel->step > 0;
    int64_t size = up ? peel->step : -peel->step;
    struct linear linear = linear_of(peel->ranges, lower);
    if (!up && linear.scale % size == 0 && linear.offset % size == 0 &&
        range_of(peel->ranges, peel->loop->operands[1]).low >= -size) {
        struct ir_value *by = ir_constant_int(b, type, size);
        struct ir_value *most = ir_binary(b, OP_DIV, ir_binary(b, OP_ADD, end, by), by);
        return ir_binary(b, OP_MIN, lower, ir_binary(b, OP_SUB, ir_binary(b, OP_MUL, most, by), by));
    }
    struct ir_value *length = ir_binary(b, OP_MAX, ir_binary(b, OP_SUB, up ? end : lower, up ? lower : end),
                                        ir_constant_int(b, type, 0));
    if (size != 1) {
        struct ir_value *by = ir_constant_int(b, type, size);
        struct ir_value *more = ir_constant_int(b, type, PLANTED(peel_rounds_down) ? 0 : size - 1);
        length = ir_binary(b, OP_DIV, ir_binary(b, OP_ADD, length, more), by);
        length = ir_binary(b, OP_MUL, length, by);
    }
    return ir_binary(b, up ? OP_ADD : OP_SUB, lower, length);
}

/* `bound` is where the first part ends, a copy that stands in front of the loop and is returned: of a loop that counts down it has
 * the values from the bound on. */
static struct ir_operation *split(const struct peel *peel, struct ir_value *bound)
{
    struct ir_operation *loop = peel->loop;
    struct ir_builder b = rewrite_before(loop);
    const struct ir_type *type = loop->operands[0]->type;
    bool up = peel->step > 0;
    if (!up)
        bound = ir_binary(&b, OP_SUB, bound, ir_constant_int(&b, type, 1));
    struct ir_value *lower = loop->operands[0];
    struct ir_value *end = ir_binary(&b, up ? OP_MIN : OP_MAX, loop->operands[1], bound);
    struct ir_value **map = ARENA_ARRAY(peel->context->arena, struct ir_value *,
                                        loop->block->function->next_value_id + 1);
    struct ir_operation *first = ir_clone(&b, loop, map);
    ir_set_operand(first, 1, end);
    ir_set_operand(loop, 0, start_of_second(peel, &b, lower, end));
    for (int i = 0; i < loop->result_count; i++)
        ir_set_operand(loop, i + 3, first->results[i]);
    return first;
}

static bool peel_masks(struct peel *peel)
{
    struct peel_masks masks;
    struct ir_value *bound = !peel->context->fuel || *peel->context->fuel > 0 ? peel_bound_of_masks(peel, &masks)
                                                                              : NULL;
    if (!bound || !pass_fuel(peel->context))
        return false;
    struct ir_operation *first = split(peel, bound);
    for (int i = masks.count - 1; i >= 0; i--) { /* from below: what is built here moves no counterpart above it */
        struct ir_operation *compare = masks.compare[i];
        if (peel->step > 0)
            compare = counterpart(compare, first->regions[0]);
        struct ir_builder builder = rewrite_before(compare);
        ir_replace_uses(compare->results[0], ir_constant_bits(&builder, compare->results[0]->type, 1));
    }
    pass_remark(peel->context, peel->loop->at, "the loop is split: its %s part runs without %s",
                peel->step > 0 ? "first" : "last", masks.count ? "masks" : "checks of what it loads");
    return true;
}

static bool peel_loop(struct peel *peel)
{
    struct ir_operation *loop = peel->loop;
    if (!is_splittable(peel, &peel->step))
        return false;
    for (struct ir_operation *op = loop->regions[0]->first; op; op = op->next) {
        if (op->opcode != OP_IF || !works_on_tiles(op) || !ir_is_inside(op->operands[0], loop))
            continue;
        for (int late = 1; late >= 0; late--) {
            struct ir_value *bound;
            bool exact = true;
            if (!bound_of(peel, op->operands[0], true, late, NULL, &bound, &exact) || !pass_fuel(peel->context))
                continue;
            struct ir_builder builder = rewrite_before(loop);
            bound_of(peel, op->operands[0], true, late, &builder, &bound, &exact);
            struct ir_operation *first = split(peel, bound);
            struct ir_operation *other = counterpart(op, first->regions[0]);
            bool in_first = late == (peel->step > 0); /* where it is false */
            if (exact)
                ir_set_number(in_first ? op : other, IR_ATTRIBUTE_HOLDS, 1);
            make_false(in_first ? other : op);
            pass_remark(peel->context, op->at, "the loop is split: its %s part runs without this `if`",
                        in_first ? "first" : "last");
            return true;
        }
        pass_remark(peel->context, op->at, "the loop is not split: this condition is not known to turn once");
    }
    return peel_masks(peel);
}

static bool walk(struct ir_block *block, struct peel *peel)
{
    bool changed = false;
    for (struct ir_operation *op = block->first, *next; op; op = next) {
        next = op->next;
        for (int r = 0; r < op->region_count; r++)
            changed = walk(op->regions[r], peel) || changed;
        if (op->opcode != OP_FOR)
            continue;
        peel->loop = op;
        peel->variable = op->regions[0]->arguments.data[0];
        changed = peel_loop(peel) || changed;
    }
    return changed;
}

bool pass_peel(struct ir_function *function, struct pass_context *context)
{
    struct peel peel = {.context = context,
                        .ranges = context->ranges,
                        .inside = inside_analyse(function, context->ranges, context->arena)};
    return walk(function->body, &peel);
}
