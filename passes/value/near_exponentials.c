/* near_exponentials: exponentials, and functions that consist of one, which reach memory as floats of 16 bits or fewer alone,
 * are computed with the digits that those can hold.
 *
 * The exponentials are those of what lies below a maximum, and are summed; so is what is divided by their sum:
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
 * So are exponentials that become 16-bit factors of products of matrices, and are beside that only summed, as attention's are
 * (1111 -> 889 us with `exp`, packed lengths 766 -> 639 us on an H100, 2026-11-28-h100-forms.json):
 * the factors hold no more digits, and the sum is one of these weights.
 *
 * Right because the manual of the library says so, but for --strict-fp.  The error stays one of 2^-17 in what is made of
 * exponentials by products, quotients, sums of numbers without a sign, choices and moves; nothing else is looked through:
 * no difference, which could leave the error alone, no comparison, and no f32 that is stored or goes round a loop.  Beside
 * the maximum's own, which is 1, those that are flushed to 0 (below 2^-126) add nothing to the sum.
 *
 * The functions are a sigmoid, and a hyperbolic tangent or an error function to which 1 is added: what silu and gelu are made of.
 *
 *     %s = math function(sigmoid) %v                         %s = math function(sigmoid) near(1) %v
 *     %y = mul %v, %s                                        %y = mul %v, %s
 *     %e = math function(erf) %v                             %e = math function(erf) near(1) %v
 *     %u = add 1.0, %e                                   →   %u = add 1.0, %e
 *
 * One exponential and a reciprocal instead of some sixty instructions, for which wgmma waits behind a product; on targets without
 * it nothing was measured, and what was sixty instructions in a loop spills where it is written out
 * (tests/bench/results/2026-11-28-h100-activations.json).  Errors are 2^-17 of a sigmoid and 2^-16 of the sum with 1 (and
 * 2^-24, as in f32).  A number that has been a float of 16 bits may be added as well (a residual): what the sum lacks then is
 * less than half of what that number could not hold. */
#include "base/plant.h"
#include "ir/query.h"
#include "passes/base/pass.h"
#include "targets/target.h"

pass_function pass_near_exponentials;

enum { MOST_SEEN = 64, MOST_STEPS = 4 };

/* What is made of one exponential, or of a function (without a maximum). */
struct trace {
    const struct ir_operation *maximum;
    struct ir_operation *quotients[MOST_SEEN];
    int quotient_count, seen;
    bool summed;
    bool factors; /* what is sought is a factor of products: sums beside it may go anywhere */
    bool multiplied;
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

/* Has been a float of 16 bits or fewer. */
static bool was_short(const struct ir_value *value)
{
    const struct ir_operation *op = value->definition;
    while (op && (op->opcode == OP_SPLAT || op->opcode == OP_BROADCAST || op->opcode == OP_RESHAPE))
        op = op->operands[0]->definition;
    return op && op->opcode == OP_CAST && is_short_float(op->operands[0]->type);
}

static bool other_was_short(const struct trace *trace, const struct ir_operation *op, int operand)
{
    return !trace->maximum && !trace->factors && was_short(op->operands[op->operand_count - 1 - operand]);
}

/* What an `if` yields goes on as its result. */
static bool leaves_short(struct trace *trace, const struct ir_use *use, bool positive)
{
    const struct ir_operation *parent = use->user->block->parent;
    return parent && parent->opcode == OP_IF && becomes_short(trace, parent->results[use->index], positive);
}

static bool is_factor(const struct ir_value *value)
{
    for (const struct ir_use *use = value->uses; use; use = use->next)
        if ((use->user->opcode == OP_DOT && use->index < 2) ||
            (use->user->opcode == OP_PERMUTE && is_factor(use->user->results[0])))
            return true;
    return false;
}

/* One use of what was made of the exponential. */
static bool keeps_error(struct trace *trace, const struct ir_use *use, bool positive)
{
    struct ir_operation *op = use->user;
    switch (op->opcode) {
    case OP_CAST: trace->multiplied |= is_factor(op->results[0]); return is_short_float(op->results[0]->type);
    case OP_SPLAT:
    case OP_BROADCAST:
    case OP_RESHAPE:
    case OP_PERMUTE:
    case OP_EXTRACT: return becomes_short(trace, op->results[0], positive);
    case OP_SELECT: {
        const struct ir_value *other = op->operands[use->index == 1 ? 2 : 1];
        return use->index > 0 && becomes_short(trace, op->results[0], positive && is_positive(other, MOST_STEPS));
    }
    case OP_ADD:
        if (positive && other_is_positive(op, use->index))
            return becomes_short(trace, op->results[0], true);
        return other_was_short(trace, op, use->index) && becomes_short(trace, op->results[0], false);
    case OP_YIELD: return leaves_short(trace, use, false);
    case OP_DIV:
        if (trace->quotient_count == MOST_SEEN)
            return false;
        trace->quotients[trace->quotient_count++] = op;
        return becomes_short(trace, op->results[0], positive && other_is_positive(op, use->index));
    case OP_MUL: return becomes_short(trace, op->results[0], positive && other_is_positive(op, use->index));
    case OP_REDUCE:
        trace->summed = true;
        if (trace->factors && positive && op->operand_count == 1 &&
            ir_number(op, IR_ATTRIBUTE_KIND, IR_REDUCE_ADD) == IR_REDUCE_ADD)
            return true;
        return trace->maximum && ir_number(op, IR_ATTRIBUTE_KIND, IR_REDUCE_ADD) == IR_REDUCE_ADD &&
               op->operand_count == 1 && sums_its_lines(trace, op) && (positive || PLANTED(near_sums_any_sign)) &&
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
    bool no_wgmma; /* that waits for functions of its sums */
    bool changed;
};

static bool is_one(const struct ir_value *value)
{
    const struct ir_operation *op = value->definition;
    while (op && (op->opcode == OP_SPLAT || op->opcode == OP_BROADCAST))
        op = op->operands[0]->definition;
    return op && op->opcode == OP_CONSTANT && op->results[0]->type->element == IR_F32 &&
           (uint32_t)ir_attribute(op, IR_ATTRIBUTE_VALUE)->bits == 0x3f800000;
}

/* 1 is added at each use, and no more than that happens to it. */
static bool only_adds_one(struct trace *trace, const struct ir_value *value)
{
    for (const struct ir_use *use = value->uses; use; use = use->next) {
        const struct ir_operation *op = use->user;
        bool adds = op->opcode == OP_ADD && is_one(op->operands[1 - use->index]);
        if (!adds || !becomes_short(trace, op->results[0], true))
            return false;
    }
    return value->uses;
}

static bool is_near_function(const struct ir_operation *op)
{
    struct trace trace = {0};
    switch (ir_number(op, IR_ATTRIBUTE_FUNCTION, 0)) {
    case IR_MATH_SIGMOID: return becomes_short(&trace, op->results[0], true);
    case IR_MATH_TANH:
    case IR_MATH_ERF: return only_adds_one(&trace, op->results[0]);
    default: return false;
    }
}

static void look(struct ir_operation *op, void *context)
{
    struct search *search = context;
    if (op->opcode != OP_MATH || op->results[0]->type->element != IR_F32 || ir_attribute(op, IR_ATTRIBUTE_NEAR))
        return;
    struct trace trace = {0}, factors = {.factors = true};
    bool sums = false;
    if (is_exponential(op)) {
        trace.maximum = find_maximum(op->operands[0]);
        sums = trace.maximum && becomes_short(&trace, op->results[0], true) && trace.summed;
        if (!sums && (!becomes_short(&factors, op->results[0], true) || !factors.multiplied))
            return;
    } else if (search->no_wgmma || !is_near_function(op)) {
        return;
    }
    if (!pass_fuel(search->context))
        return;
    ir_set_number(op, IR_ATTRIBUTE_NEAR, 1);
    for (int i = 0; i < trace.quotient_count && sums; i++)
        ir_set_number(trace.quotients[i], IR_ATTRIBUTE_NEAR, 1);
    search->changed = true;
}

bool pass_near_exponentials(struct ir_function *function, struct pass_context *context)
{
    const struct target_row *target = context->target;
    struct search search = {.context = context, .no_wgmma = target && !(target->flags & TARGET_WGMMA)};
    if (!function->strict_fp)
        ir_walk(function->body, look, &search);
    return search.changed;
}
