/* How often loops turn, as the host computes it from extents.  Where the bounds hang on which program it is, the two in the
 * middle of the grid are asked (one, where the grid has an odd number), and a loop has half of the turns of both: rounded, those
 * of either would be too few or too many where programs are few. */
#include "passes/schedules/schedule_walk.h"

expression walk_number(const struct walk *walk, int64_t value)
{
    return expression_leaf(walk->arena, KERNEL_HOST_CONSTANT, value);
}

/* The number of the argument's parameter; -1: it has none, as scratch. */
int walk_parameter_of(const struct walk *walk, const struct ir_value *value)
{
    const struct ir_block *body = walk->variant->function->body;
    for (int i = 0, argument = 0; i < walk->entry->parameters.count; i++) {
        if (walk->entry->parameters.data[i].slot < 0)
            continue;
        if (argument < body->arguments.count && body->arguments.data[argument] == value)
            return i;
        argument++;
    }
    return -1;
}

expression walk_stride(const struct walk *walk, int parameter, int dimension)
{
    struct kernel_expression *e = ARENA_NEW(walk->arena, struct kernel_expression);
    *e = (struct kernel_expression){.op = KERNEL_HOST_STRIDE, .number = parameter, .dimension = dimension};
    return e;
}

static expression extent_of(const struct walk *walk, const struct ir_operation *op)
{
    int parameter = walk_parameter_of(walk, op->operands[0]), d = (int)ir_number(op, IR_ATTRIBUTE_DIMENSION, 0);
    if (parameter < 0)
        return NULL;
    const struct kernel_parameter *p = &walk->entry->parameters.data[parameter];
    expression extent = p->extent[d];
    return extent && extent->op == KERNEL_HOST_CONSTANT ? walk_number(walk, extent->number) : extent;
}

/* Of a split loop, 1: there is none. */
int64_t walk_parts(const struct walk *walk)
{
    const struct kernel_variant *variant = walk->variant;
    expression parts = variant->grid_rank ? variant->grid[variant->grid_rank - 1] : NULL;
    return walk->entry->splits && parts && parts->op == KERNEL_HOST_CONSTANT ? parts->number : 1;
}

/* Parts of a split loop are alike but for the last, and the first is never shorter. */
static expression middle_of(struct walk *walk, int dimension)
{
    const struct kernel_variant *variant = walk->variant;
    if (walk->entry->splits && dimension == variant->grid_rank - 1)
        return walk_number(walk, 0);
    walk->asked = true;
    expression last = variant->grid[dimension];
    if (!walk->upper)
        last = expression_make(walk->arena, KERNEL_HOST_SUB, last, walk_number(walk, 1));
    return expression_make(walk->arena, KERNEL_HOST_DIV, last, walk_number(walk, 2));
}

static expression host_of(struct walk *walk, const struct ir_value *value);

static expression host_of_operands(struct walk *walk, enum kernel_host_op op, const struct ir_operation *from)
{
    expression a = host_of(walk, from->operands[0]);
    return a ? expression_make(walk->arena, op, a, host_of(walk, from->operands[1])) : NULL;
}

/* The integer scalar as the host would compute it; NULL: it cannot. */
static expression host_of(struct walk *walk, const struct ir_value *value)
{
    const struct ir_operation *op = value->definition;
    int64_t constant;
    if (walk->steps-- <= 0 || value->type->kind != IR_TILE || value->type->rank)
        return NULL;
    if (ir_constant_integer(value, &constant))
        return walk_number(walk, constant);
    if (!op) {
        int parameter = walk_parameter_of(walk, value);
        bool whole = parameter >= 0 && ir_is_integer(value->type->element);
        return whole ? expression_leaf(walk->arena, KERNEL_HOST_SCALAR, parameter) : NULL;
    }
    switch (op->opcode) {
    case OP_EXTENT: return extent_of(walk, op);
    case OP_GRID_INDEX: return middle_of(walk, (int)ir_number(op, IR_ATTRIBUTE_DIMENSION, 0));
    case OP_GRID_SIZE: return walk->variant->grid[ir_number(op, IR_ATTRIBUTE_DIMENSION, 0)];
    case OP_CAST: return host_of(walk, op->operands[0]);
    case OP_ADD: return host_of_operands(walk, KERNEL_HOST_ADD, op);
    case OP_SUB: return host_of_operands(walk, KERNEL_HOST_SUB, op);
    case OP_MUL: return host_of_operands(walk, KERNEL_HOST_MUL, op);
    case OP_DIV: return host_of_operands(walk, KERNEL_HOST_DIV, op);
    case OP_REM: return host_of_operands(walk, KERNEL_HOST_REM, op);
    case OP_MIN: return host_of_operands(walk, KERNEL_HOST_MIN, op);
    case OP_MAX: return host_of_operands(walk, KERNEL_HOST_MAX, op);
    default: return NULL;
    }
}

/* Of a range that nobody knows before: steps of several elements go through as many elements in fewer turns. */
static expression unknown_turns(struct walk *walk, int64_t step)
{
    double turns = walk->costs->trips;
    walk->unknown = true;
    if (step > 1)
        turns = turns * LANES > (double)step ? turns * LANES / (double)step : 1;
    return walk_number(walk, (int64_t)turns);
}

/* Of the program that is asked for; NULL: the host cannot compute it. */
static expression turns_of(struct walk *walk, const struct ir_operation *loop, int64_t step, bool down)
{
    walk->steps = MOST_STEPS;
    expression lower = host_of(walk, loop->operands[down]), upper = host_of(walk, loop->operands[!down]);
    expression span = expression_make(walk->arena, KERNEL_HOST_SUB, upper, lower);
    span = expression_make(walk->arena, KERNEL_HOST_MAX, span, walk_number(walk, 0));
    return expression_make(walk->arena, KERNEL_HOST_CDIV, span, walk_number(walk, step));
}

expression walk_turns(struct walk *walk, const struct ir_operation *loop, double *share)
{
    int64_t step;
    *share = 1;
    if (loop->opcode != OP_FOR || ir_number(loop, IR_ATTRIBUTE_MULTIPLY, 0) ||
        !ir_constant_integer(loop->operands[2], &step) || step == 0)
        return unknown_turns(walk, 1);
    bool down = step < 0;
    step = down ? -step : step;
    walk->asked = false;
    expression turns = turns_of(walk, loop, step, down);
    if (!turns)
        return unknown_turns(walk, step);
    if (!walk->asked)
        return turns;
    walk->upper = true;
    expression more = turns_of(walk, loop, step, down);
    walk->upper = false;
    *share = 0.5;
    return expression_make(walk->arena, KERNEL_HOST_ADD, turns, more);
}
