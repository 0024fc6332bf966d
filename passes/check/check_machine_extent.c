/* Which numbers the checker takes for extents, derived from the loops that the extents bound.
 *
 * A scenario gives one number, other_extent, for all extents.  It suits a loop that advances by 32 elements or more in
 * a round.  It would be too large for other loops:
 *
 *     for %r = 0 to %R step 1 { for %q = 0 to %Q step 1 { for %c = 0 to %C step 32 { … } } }
 *
 * With it, these loops would run 1152 times 1152 times 36 rounds.  The checker would run out of steps in the first
 * round of %r and never see the code behind the loops.  So:
 *   - An extent that bounds only loops with smaller steps is taken smaller, in proportion.
 *   - An extent that bounds only loops around other loops is taken for a few rounds (scenario.around).
 *   - An extent that also bounds a loop with a larger step, or an inner loop, is taken as that loop needs it.
 * Equal extents get equal numbers, whichever loop they were found by, so that roles with loops of their own agree. */
#include <string.h>

#include "passes/check/check_machine.h"

enum { WHOLE_STEP = 32, MOST_STEP = 1 << 20 };

struct loop {
    struct check *check;
    int64_t step;
    int height;
};

static void widen(struct check_bound *bound, const struct loop *loop)
{
    if (bound->step == 0 || loop->height < bound->height)
        bound->height = loop->height;
    if (loop->step > bound->step)
        bound->step = loop->step;
}

static struct check_bound *bound_of(const struct check *check, int argument, int64_t dimension)
{
    return &check->bounds[argument * IR_MAX_RANK + dimension];
}

static void bounded_by(const struct loop *loop, const struct ir_value *value);

static void bounded_by_extent(const struct loop *loop, const struct ir_value *view, int64_t dimension)
{
    const struct ir_operation *op = view->definition;
    if (!op && !view->block->parent)
        widen(bound_of(loop->check, view->index, dimension), loop);
    else if (op && op->opcode == OP_VIEW_PERMUTE)
        bounded_by_extent(loop, op->operands[0], ir_attribute(op, IR_ATTRIBUTE_PERMUTATION)->list[dimension]);
    if (!op || op->opcode != OP_SUBVIEW)
        return;
    int64_t drop = ir_number(op, IR_ATTRIBUTE_DROP, 0), kept = 0;
    for (int d = 0; d < op->operands[0]->type->rank; d++) {
        if (drop >> d & 1 || kept++ != dimension)
            continue;
        bounded_by_extent(loop, op->operands[0], d);
        bounded_by(loop, op->operands[1 + 2 * d]);
        bounded_by(loop, op->operands[2 + 2 * d]);
    }
}

/* n / 64 is bounded by n with steps 64 times as large; n * m by both, each a loop around the other. */
static void bounded_by_scaled(struct loop loop, const struct ir_operation *op)
{
    int64_t factor;
    bool constant = ir_constant_integer(op->operands[1], &factor);
    if (op->opcode == OP_MUL && !constant) {
        loop.height++;
        bounded_by(&loop, op->operands[0]);
        bounded_by(&loop, op->operands[1]);
        return;
    }
    if (constant && op->opcode == OP_SHR)
        factor = factor >= 0 && factor < 20 ? INT64_C(1) << factor : 0;
    if (!constant || factor <= 0 || factor > MOST_STEP)
        return;
    loop.step = op->opcode == OP_MUL ? ceiling_divide(loop.step, factor) : int64_min(loop.step * factor, MOST_STEP);
    bounded_by(&loop, op->operands[0]);
}

static void bounded_by(const struct loop *loop, const struct ir_value *value)
{
    const struct ir_operation *op = value->definition;
    if (!op)
        return;
    switch (op->opcode) {
    case OP_EXTENT: bounded_by_extent(loop, op->operands[0], ir_number(op, IR_ATTRIBUTE_DIMENSION, 0)); break;
    case OP_LOAD:
    case OP_POINTER_LOAD: widen(&loop->check->bound_by_loads, loop); break;
    case OP_ADD:
    case OP_SUB:
    case OP_MIN:
    case OP_MAX:
    case OP_CAST:
    case OP_SELECT:
        for (int i = op->opcode == OP_SELECT; i < op->operand_count; i++)
            bounded_by(loop, op->operands[i]);
        break;
    case OP_MUL:
    case OP_DIV:
    case OP_SHR: bounded_by_scaled(*loop, op); break;
    default: break;
    }
}

static bool has_constant_rounds(const struct ir_operation *loop)
{
    int64_t number;
    return ir_constant_integer(loop->operands[0], &number) && ir_constant_integer(loop->operands[1], &number);
}

/* How many loops that matter are inside of each other in the operation; those of few and known rounds do not count. */
static int survey_loops(struct check *check, const struct ir_operation *op)
{
    struct loop loop = {.check = check};
    for (int r = 0; r < op->region_count; r++)
        for (const struct ir_operation *inner = op->regions[r]->first; inner; inner = inner->next) {
            int height = survey_loops(check, inner);
            loop.height = height > loop.height ? height : loop.height;
        }
    if (op->opcode != OP_FOR || !check_matters(op))
        return loop.height;
    bool constant = ir_constant_integer(op->operands[2], &loop.step);
    loop.step = loop.step < 0 ? -loop.step : loop.step;
    if (!constant || loop.step > MOST_STEP || ir_number(op, IR_ATTRIBUTE_MULTIPLY, 0))
        loop.step = MOST_STEP; /* as many elements as the scenario says */
    bounded_by(&loop, op->operands[0]);
    bounded_by(&loop, op->operands[1]);
    return loop.height + !has_constant_rounds(op);
}

/* Extents of one class are one extent. */
static void join_classes(struct check *check, int arguments)
{
    const struct ir_function *function = check->function;
    int count = (int)int64_min(arguments, function->facts.count) * IR_MAX_RANK;
    for (int i = 0; i < count; i++)
        for (int j = 0; j < count; j++) {
            int one = function->facts.data[i / IR_MAX_RANK].extent_class[i % IR_MAX_RANK];
            int other = function->facts.data[j / IR_MAX_RANK].extent_class[j % IR_MAX_RANK];
            const struct check_bound *from = &check->bounds[j];
            if (one && one == other && from->step)
                widen(&check->bounds[i], &(struct loop){.step = from->step, .height = from->height});
        }
}

void check_survey_loops(struct check *check)
{
    int arguments = check->function->body->arguments.count;
    size_t count = (size_t)arguments * IR_MAX_RANK + 1;
    check->bounds = ARENA_ARRAY(check->arena, struct check_bound, count);
    memset(check->bounds, 0, count * sizeof *check->bounds);
    for (const struct ir_operation *op = check->function->body->first; op; op = op->next)
        survey_loops(check, op);
    join_classes(check, arguments);
}

static int64_t scaled(const struct check *check, const struct check_bound *bound)
{
    int64_t extent = check->scenario.other_extent;
    int64_t rank = int64_min(bound->height, CHECK_AROUND) - 1;
    if (bound->step == 0 || bound->step >= MOST_STEP)
        return extent;
    if (rank >= 0) /* the last round is whole when that of the inner loop is */
        return check->scenario.around[rank] * bound->step - (extent % WHOLE_STEP ? bound->step / 2 : 0);
    return bound->step < WHOLE_STEP ? ceiling_divide(extent * bound->step, WHOLE_STEP) : extent;
}

int64_t check_extent(const struct check *check, int argument, int64_t dimension)
{
    return scaled(check, bound_of(check, argument, dimension));
}

bool check_loads_bound_loops(const struct check *check) { return check->bound_by_loads.step; }

int64_t check_loaded_extent(const struct check *check) { return scaled(check, &check->bound_by_loads); }
