/* What powers of two divide an integer scalar, asked for one value at a time: by its operations, by facts of arguments,
 * by what the kernel assumes, and through loops.  A value that goes round a loop is what it starts from, and is then
 * supposed to be that much of a multiple until what the loop makes of it says less. */
#include "ir/facts/analysis.h"
#include "passes/layout/memory_access.h"

enum { QUESTIONS = 400, MOST = MEMORY_MOST_DIVISOR };

/* What is supposed of values round loops; how many questions may still be asked. */
struct supposed {
    const struct ir_value *value;
    int64_t divisor;
    const struct supposed *outer;
};
struct asking {
    const struct supposed *supposed;
    int *left;
};

static int64_t ask(const struct ir_value *value, struct asking asking);

static bool is_same(const struct ir_value *a, const struct ir_value *b)
{
    a = divisibility_uncast(a);
    b = divisibility_uncast(b);
    const struct ir_operation *x = a->definition, *y = b->definition;
    return a == b || (x && y && x->opcode == OP_EXTENT && y->opcode == OP_EXTENT && x->operands[0] == y->operands[0] &&
                      ir_number(x, IR_ATTRIBUTE_DIMENSION, 0) == ir_number(y, IR_ATTRIBUTE_DIMENSION, 0));
}

/* What a condition, perhaps of several with `and`, says of the value. */
static int64_t told_by(const struct ir_value *condition, const struct ir_value *value)
{
    const struct ir_operation *op = condition->definition;
    int64_t by;
    if (op && op->opcode == OP_AND)
        return int64_max(told_by(op->operands[0], value), told_by(op->operands[1], value));
    const struct ir_value *multiple = divisibility_told(condition, &by);
    return multiple && is_same(multiple, value) ? memory_low_bit(by) : 1;
}

/* By the assumptions at the top of the function. */
static int64_t assumed(const struct ir_value *value)
{
    int64_t found = 1;
    const struct ir_operation *op = value->block->function->body->first;
    for (; op && !op->region_count; op = op->next)
        if (op->opcode == OP_ASSUME)
            found = int64_max(found, told_by(op->operands[0], value));
    return found;
}

/* ---- loops ---- */

/* What goes round: `argument` starts from `first` and becomes `next`. */
static int64_t ask_carried(const struct ir_value *argument, const struct ir_value *first, const struct ir_value *next,
                           struct asking asking)
{
    struct supposed here = {argument, ask(first, asking), asking.supposed};
    for (int64_t before = 0; before != here.divisor && here.divisor > 1;) {
        before = here.divisor;
        here.divisor = int64_min(before, ask(next, (struct asking){&here, asking.left}));
    }
    return here.divisor;
}

static int64_t ask_argument(const struct ir_value *value, struct asking asking)
{
    const struct ir_operation *loop = value->block->parent;
    if (!loop)
        return assumed(value);
    int index = value->index;
    if (loop->opcode == OP_FOR && index == 0) { /* lower + n * step, or lower * step^n */
        int64_t first = ask(loop->operands[0], asking);
        return ir_number(loop, IR_ATTRIBUTE_MULTIPLY, 0) ? first : int64_min(first, ask(loop->operands[2], asking));
    }
    if (loop->opcode == OP_FOR)
        return ask_carried(value, loop->operands[index + 2], ir_terminator(loop->regions[0])->operands[index - 1],
                           asking);
    if (loop->opcode != OP_WHILE)
        return 1;
    const struct ir_value *next = value->block == loop->regions[1] ? divisibility_next(loop, index) : NULL;
    if (next)
        return ask_carried(value, loop->operands[index], next, asking);
    if (value->block == loop->regions[1])
        return ask(ir_terminator(loop->regions[0])->operands[index + 1], asking);
    return ask_carried(value, loop->operands[index], ir_terminator(loop->regions[1])->operands[index], asking);
}

/* ---- operations ---- */

static int64_t ask_extent(const struct ir_operation *op)
{
    int64_t dimension = ir_number(op, IR_ATTRIBUTE_DIMENSION, 0);
    const struct ir_value *view = op->operands[0];
    if (view->type->extent[dimension] != IR_DYNAMIC)
        return memory_low_bit(view->type->extent[dimension]);
    const struct ir_function *function = view->block->function;
    int64_t multiple = 0;
    if (!view->definition && view->block == function->body && view->index < function->facts.count)
        multiple = function->facts.data[view->index].extent_multiple[dimension];
    return int64_max(multiple > 0 ? memory_low_bit(multiple) : 1, assumed(op->results[0]));
}

/* By a power of two: a multiple of it is divided without a rest; the rest of one is what is left of its multiples. */
static int64_t ask_quotient(const struct ir_operation *op, struct asking asking)
{
    int64_t by, of = ask(op->operands[0], asking);
    if (!ir_constant_integer(op->operands[1], &by) || !is_power_of_two(by))
        return 1;
    if (op->opcode == OP_REM)
        return int64_min(of, memory_low_bit(by));
    return of >= by ? of / by : 1;
}

static int64_t ask_either(const struct ir_value *a, const struct ir_value *b, struct asking asking)
{
    int64_t first = ask(a, asking);
    return first > 1 ? int64_min(first, ask(b, asking)) : 1;
}

static int64_t ask_result(const struct ir_value *value, struct asking asking)
{
    const struct ir_operation *op = value->definition;
    struct ir_value *const *o = op->operands;
    int64_t number;
    switch (op->opcode) {
    case OP_ADD:
    case OP_SUB:
    case OP_MIN:
    case OP_MAX: return ask_either(o[0], o[1], asking);
    case OP_SELECT: return ask_either(o[1], o[2], asking);
    case OP_MUL: return int64_min(MOST, ask(o[0], asking) * ask(o[1], asking));
    case OP_SHL:
        if (ir_constant_integer(o[1], &number) && number >= 0 && number < 20)
            return int64_min(MOST, ask(o[0], asking) << number);
        return ask(o[0], asking);
    case OP_NEG:
    case OP_CAST: return ir_number(op, IR_ATTRIBUTE_SATURATE, 0) ? 1 : ask(o[0], asking);
    case OP_DIV:
    case OP_REM: return ask_quotient(op, asking);
    case OP_EXTENT: return ask_extent(op);
    case OP_IF:
        return ask_either(ir_terminator(op->regions[0])->operands[value->index],
                          ir_terminator(op->regions[1])->operands[value->index], asking);
    case OP_FOR: return ask(op->regions[0]->arguments.data[value->index + 1], asking);
    case OP_WHILE: return ask(ir_terminator(op->regions[0])->operands[value->index + 1], asking);
    default: return assumed(value);
    }
}

static int64_t ask(const struct ir_value *value, struct asking asking)
{
    int64_t number;
    if (value->type->kind != IR_TILE || value->type->rank > 0 || !ir_is_integer(value->type->element))
        return 1;
    if (ir_constant_integer(value, &number))
        return memory_low_bit(number);
    for (const struct supposed *s = asking.supposed; s; s = s->outer)
        if (s->value == value)
            return s->divisor;
    if (--*asking.left < 0)
        return 1;
    return value->definition ? ask_result(value, asking) : ask_argument(value, asking);
}

int64_t memory_divisor(const struct ir_value *value)
{
    int left = QUESTIONS;
    return ask(value, (struct asking){NULL, &left});
}
