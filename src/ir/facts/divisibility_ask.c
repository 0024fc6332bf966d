/* Divisibility of one value, asked backwards: of an operation by what is known of its operands, of arguments by the facts
 * of the function, and by what the kernel assumes.
 *
 * A value that goes round a loop is asked for like this.  It is first supposed to be what the loop starts from.  Under
 * that supposition the value that the loop passes on is asked for; both hold only as far as they agree, which is the next
 * supposition.  Each is less than the one before, so that ends:
 *
 *     for %i = %0 to %n step %1 iter(%k = %0) {        %0 is a multiple of everything: suppose 2^30
 *         yield add %k, %64                            then this is one of 64: suppose 64; then again: %k is one of 64
 *
 * Questions are counted, as values that are used several times are asked for again: behind the last one nothing is
 * known. */
#include "ir/facts/divisibility_rules.h"

enum { QUESTIONS = 400 };

/* What is supposed of a value that goes round a loop. */
struct supposed {
    const struct ir_value *value;
    struct divisibility known;
    const struct supposed *outer;
};
struct asking {
    struct divisibility_source source;
    const struct supposed *supposed;
    int *left;
};

static struct divisibility ask(const struct asking *asking, const struct ir_value *value);

static struct divisibility ask_source(const struct divisibility_source *source, const struct ir_value *value)
{
    return ask((const struct asking *)source, value);
}

/* ---- what the kernel assumes ---- */

static bool is_same(const struct ir_value *a, const struct ir_value *b)
{
    a = divisibility_uncast(a);
    b = divisibility_uncast(b);
    const struct ir_operation *x = a->definition, *y = b->definition;
    return a == b || (x && y && x->opcode == OP_EXTENT && y->opcode == OP_EXTENT && x->operands[0] == y->operands[0] &&
                      ir_number(x, IR_ATTRIBUTE_DIMENSION, 0) == ir_number(y, IR_ATTRIBUTE_DIMENSION, 0));
}

/* The multiple that a condition, perhaps of several with `and`, says the value to be. */
static int64_t told_by(const struct ir_value *condition, const struct ir_value *value)
{
    const struct ir_operation *op = condition->definition;
    int64_t by;
    if (op && op->opcode == OP_AND)
        return int64_max(told_by(op->operands[0], value), told_by(op->operands[1], value));
    const struct ir_value *multiple = divisibility_told(condition, &by);
    return multiple && is_same(multiple, value) ? divisibility_power(by) : 1;
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
static struct divisibility ask_carried(const struct asking *asking, const struct ir_value *argument,
                                       const struct ir_value *first, const struct ir_value *next)
{
    struct supposed here = {argument, ask(asking, first), asking->supposed};
    struct asking inside = {asking->source, &here, asking->left};
    struct divisibility before, least = divisibility_unknown(argument->type);
    do {
        before = here.known;
        here.known = divisibility_same(&before, &least) ? before : divisibility_meet(before, ask(&inside, next));
    } while (!divisibility_same(&before, &here.known));
    return here.known;
}

static struct divisibility ask_argument(const struct asking *asking, const struct ir_value *value)
{
    const struct ir_operation *loop = value->block->parent;
    int index = value->index;
    if (!loop)
        return divisibility_of_argument(value);
    if (loop->opcode == OP_FOR && index == 0) { /* lower + n * step, or lower * step^n */
        struct divisibility first = ask(asking, loop->operands[0]);
        bool multiplies = ir_number(loop, IR_ATTRIBUTE_MULTIPLY, 0);
        return multiplies ? first : divisibility_meet(first, ask(asking, loop->operands[2]));
    }
    if (loop->opcode == OP_FOR)
        return ask_carried(asking, value, loop->operands[index + 2],
                           ir_terminator(loop->regions[0])->operands[index - 1]);
    if (loop->opcode != OP_WHILE)
        return divisibility_unknown(value->type);
    const struct ir_value *next = value->block == loop->regions[1] ? divisibility_next(loop, index) : NULL;
    if (next)
        return ask_carried(asking, value, loop->operands[index], next);
    if (value->block == loop->regions[1])
        return ask(asking, ir_terminator(loop->regions[0])->operands[index + 1]);
    return ask_carried(asking, value, loop->operands[index], ir_terminator(loop->regions[1])->operands[index]);
}

/* ---- values ---- */

static struct divisibility ask_result(const struct asking *asking, const struct ir_value *value)
{
    const struct ir_operation *op = value->definition;
    switch (op->opcode) {
    case OP_IF: {
        struct divisibility first = ask(asking, ir_terminator(op->regions[0])->operands[value->index]);
        return divisibility_meet(first, ask(asking, ir_terminator(op->regions[1])->operands[value->index]));
    }
    case OP_FOR: return ask(asking, op->regions[0]->arguments.data[value->index + 1]);
    case OP_WHILE: return ask(asking, ir_terminator(op->regions[0])->operands[value->index + 1]);
    default:
        return op->result_count == 1 ? divisibility_evaluate(&asking->source, op) : divisibility_unknown(value->type);
    }
}

static struct divisibility ask(const struct asking *asking, const struct ir_value *value)
{
    struct divisibility known = divisibility_unknown(value->type);
    if (!divisibility_is_tracked(value))
        return known;
    for (const struct supposed *s = asking->supposed; s; s = s->outer)
        if (s->value == value)
            return s->known;
    bool is_number = value->definition &&
                     value->definition->opcode == OP_CONSTANT; /* which leads to no other question */
    if (!is_number && --*asking->left < 0)
        return known;
    known = value->definition ? ask_result(asking, value) : ask_argument(asking, value);
    if (value->type->rank == 0 && known.multiple[0] == 1 && ir_is_integer(value->type->element))
        for (int d = 0, multiple = (int)assumed(value); d < IR_MAX_RANK; d++)
            known.multiple[d] = multiple;
    return known;
}

static struct divisibility ask_first(const struct ir_value *value, bool guesses)
{
    int left = QUESTIONS;
    struct asking asking = {{ask_source, NULL, guesses}, NULL, &left};
    return ask(&asking, value);
}

struct divisibility divisibility_ask(const struct ir_value *value) { return ask_first(value, false); }
struct divisibility divisibility_guess(const struct ir_value *value) { return ask_first(value, true); }
