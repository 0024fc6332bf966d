/* near_exponentials: exponentials of what lies below a maximum, which are summed, and reach memory as floats of 16 bits or
 * fewer alone, are computed with the digits that those can hold; so is what is divided by their sum.
 *
 *     %d = sub %v, splat (reduce axis(0) kind(max) %v)   %d = sub %v, splat (reduce axis(0) kind(max) %v)
 *     %e = math function(exp) %d : f32[4096]             %e = math function(exp) near(1) %d : f32[4096]
 *     %t = reduce axis(0) kind(add) %e : f32             %t = reduce axis(0) kind(add) %e : f32
 *     %q = div %e, splat %t : f32[4096]              →   %q = div near(1) %e, splat %t : f32[4096]
 *     store %y[%row, 0 +: 4096], cast %q                 store %y[%row, 0 +: 4096], cast %q
 *
 * An exponential of f32 that is right to its last bits takes eight instructions, one that is off by 2^-17 of itself three.
 * (Softmax of bf16 on an H200 issues 26 instructions an element otherwise, and memory waits for them.)
 *
 * Right because the manual of the library says so, but for --strict-fp.  The error stays one of 2^-17 in what is made of
 * exponentials by products, quotients, sums of numbers without a sign, choices and moves; nothing else is looked through:
 * no difference, which could leave the error alone, no comparison, and no f32 that is stored or goes round a loop.  Beside
 * the maximum's own, which is 1, those that are flushed to 0 (below 2^-126) add nothing to the sum. */
#include "base/plant.h"
#include "ir/query.h"
#include "passes/base/pass.h"

pass_function pass_near_exponentials;

enum { MOST_SEEN = 64, MOST_STEPS = 4 };

/* What is made of one exponential. */
struct trace {
    const struct ir_operation *maximum;
    struct ir_operation *quotients[MOST_SEEN];
    int quotient_count, seen;
    bool summed;
};

static bool becomes_short(struct trace *trace, const struct ir_value *value, bool positive);

static bool is_exponential(const struct ir_operation *op)
{
    int64_t function = op->opcode == OP_MATH ? ir_number(op, IR_ATTRIBUTE_FUNCTION, 0) : -1;
    return function == IR_MATH_EXP || function == IR_MATH_EXP2;
}

/* The maximum of the value that it is subtracted from: of others all may lie far below.  NULL: there is none. */
static const struct ir_operation *find_maximum(const struct ir_value *value)
{
    const struct ir_operation *difference = value->definition, *op;
    if (!difference || difference->opcode != OP_SUB)
        return NULL;
    op = difference->operands[1]->definition;
    while (op && (op->opcode == OP_SPLAT || op->opcode == OP_BROADCAST || op->opcode == OP_RESHAPE))
        op = op->operands[0]->definition;
    bool is_maximum = op && op->opcode == OP_REDUCE && ir_number(op, IR_ATTRIBUTE_KIND, 0) == IR_REDUCE_MAX &&
                      op->operands[0] == difference->operands[0];
    return is_maximum ? op : NULL;
}

/* Whether each line that is summed has a maximum of its own among its elements. */
static bool sums_its_lines(const struct trace *trace, const struct ir_operation *sum)
{
    const struct ir_operation *maximum = trace->maximum;
    return sum->operands[0]->type != maximum->operands[0]->type ||
           ir_number(sum, IR_ATTRIBUTE_AXIS, 0) == ir_number(maximum, IR_ATTRIBUTE_AXIS, 0);
}

/* Never below 0, as far as one sees in a few steps. */
static bool is_positive(const struct ir_value *value, int steps)
{
    const struct ir_operation *op = value->definition;
    if (!op || steps == 0)
        return false;
    if (op->opcode == OP_CONSTANT)
        return value->type->element == IR_F32 && !(ir_attribute(op, IR_ATTRIBUTE_VALUE)->bits >> 31);
    if (is_exponential(op))
        return true;
    int first = op->opcode == OP_SELECT ? 1 : 0;
    bool keeps = op->opcode == OP_ADD || op->opcode == OP_MUL || op->opcode == OP_DIV || op->opcode == OP_SELECT ||
                 op->opcode == OP_SPLAT || op->opcode == OP_BROADCAST || op->opcode == OP_RESHAPE ||
                 (op->opcode == OP_REDUCE && ir_number(op, IR_ATTRIBUTE_KIND, 0) == IR_REDUCE_ADD);
    for (int i = first; keeps && i < op->operand_count; i++)
        keeps = is_positive(op->operands[i], steps - 1);
    return keeps;
}

static bool is_short_float(const struct ir_type *type)
{
    return ir_is_float(type->element) && ir_element_info[type->element].bits <= 16;
}

static bool other_is_positive(const struct ir_operation *op, int operand)
{
    return is_positive(op->operands[op->operand_count - 1 - operand], MOST_STEPS);
}

/* One use of what was made of the exponential. */
static bool keeps_error(struct trace *trace, const struct ir_use *use, bool positive)
{
    struct ir_operation *op = use->user;
    switch (op->opcode) {
    case OP_CAST: return is_short_float(op->results[0]->type);
    case OP_SPLAT:
    case OP_BROADCAST:
    case OP_RESHAPE:
    case OP_PERMUTE:
    case OP_EXTRACT: return becomes_short(trace, op->results[0], positive);
    case OP_SELECT: {
        const struct ir_value *other = op->operands[use->index == 1 ? 2 : 1];
        return use->index > 0 && becomes_short(trace, op->results[0], positive && is_positive(other, MOST_STEPS));
    }
    case OP_ADD: return positive && other_is_positive(op, use->index) && becomes_short(trace, op->results[0], true);
    case OP_DIV:
        if (trace->quotient_count == MOST_SEEN)
            return false;
        trace->quotients[trace->quotient_count++] = op;
        return becomes_short(trace, op->results[0], positive && other_is_positive(op, use->index));
    case OP_MUL: return becomes_short(trace, op->results[0], positive && other_is_positive(op, use->index));
    case OP_REDUCE:
        trace->summed = true;
        return ir_number(op, IR_ATTRIBUTE_KIND, IR_REDUCE_ADD) == IR_REDUCE_ADD && op->operand_count == 1 &&
               sums_its_lines(trace, op) && (positive || PLANTED(near_sums_any_sign)) &&
               becomes_short(trace, op->results[0], true);
    default: return false;
    }
}

static bool becomes_short(struct trace *trace, const struct ir_value *value, bool positive)
{
    if (!value->uses || ++trace->seen > MOST_SEEN)
        return false;
    for (const struct ir_use *use = value->uses; use; use = use->next)
        if (!keeps_error(trace, use, positive))
            return false;
    return true;
}

struct search {
    struct pass_context *context;
    bool changed;
};

static void look(struct ir_operation *op, void *context)
{
    struct search *search = context;
    if (!is_exponential(op))
        return;
    struct trace trace = {.maximum = find_maximum(op->operands[0])};
    if (!trace.maximum || op->results[0]->type->element != IR_F32 || ir_attribute(op, IR_ATTRIBUTE_NEAR) ||
        !becomes_short(&trace, op->results[0], true) || !trace.summed || !pass_fuel(search->context))
        return;
    ir_set_number(op, IR_ATTRIBUTE_NEAR, 1);
    for (int i = 0; i < trace.quotient_count; i++)
        ir_set_number(trace.quotients[i], IR_ATTRIBUTE_NEAR, 1);
    search->changed = true;
}

bool pass_near_exponentials(struct ir_function *function, struct pass_context *context)
{
    struct search search = {context, false};
    if (!function->strict_fp)
        ir_walk(function->body, look, &search);
    return search.changed;
}
