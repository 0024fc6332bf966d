/* see padding_value.h */
#include "passes/lint/padding_value.h"

#include <math.h>

#include "ir/query.h"

struct known known_number(double number) { return (struct known){KNOWN_NUMBER, 0, number, number}; }
struct known known_between(double low, double high) { return (struct known){KNOWN_NOTHING, 0, low, high}; }

struct known known_nothing(enum ir_element element)
{
    int bits = ir_element_info[element].bits;
    if (element == IR_BOOL)
        return known_between(0, 1);
    if (!ir_is_integer(element))
        return known_between(-INFINITY, INFINITY);
    return ir_is_signed(element) ? known_between(-ldexp(1, bits - 1), ldexp(1, bits - 1) - 1)
                                 : known_between(0, ldexp(1, bits) - 1);
}

bool known_is(struct known known, double number) { return known.kind == KNOWN_NUMBER && known.low == number; }

bool known_same(struct known a, struct known b)
{
    return a.kind == b.kind && a.left == b.left && a.low == b.low && a.high == b.high;
}

struct known known_as_value(struct known known, enum ir_element element)
{
    return known.kind == KNOWN_POSITION ? known_nothing(element) : known;
}

struct known known_join(struct known a, struct known b)
{
    bool bounded = a.kind == KNOWN_NOTHING || a.kind == KNOWN_COPY;
    if (a.kind == b.kind && a.left == b.left && (a.kind == KNOWN_LEFT || a.low == b.low) && !bounded)
        return a;
    if (a.kind == KNOWN_POSITION || b.kind == KNOWN_POSITION)
        return known_between(-INFINITY, INFINITY);
    struct known both = known_between(fmin(a.low, b.low), fmax(a.high, b.high));
    if (a.kind == KNOWN_COPY && b.kind == KNOWN_COPY)
        both.kind = KNOWN_COPY;
    return both;
}

/* ---- arithmetic ---- */

/* A NaN says nothing of a bound. */
static struct known between(double low, double high)
{
    low = isnan(low) ? -INFINITY : low;
    high = isnan(high) ? INFINITY : high;
    return low == high ? known_number(low) : known_between(low, high);
}

static struct known add(struct known a, struct known b)
{
    if (known_is(a, 0))
        return b;
    if (known_is(b, 0) || known_is(a, -INFINITY) || known_is(a, INFINITY))
        return a;
    if (known_is(b, -INFINITY) || known_is(b, INFINITY))
        return b;
    if (a.kind == KNOWN_POSITION || b.kind == KNOWN_POSITION) {
        struct known position = a.kind == KNOWN_POSITION ? a : b, other = a.kind == KNOWN_POSITION ? b : a;
        return other.kind == KNOWN_POSITION && other.low != position.low ? between(NAN, NAN) : position;
    }
    return between(a.low + b.low, a.high + b.high);
}

static struct known negate(struct known a)
{
    if (a.kind == KNOWN_POSITION) {
        a.low = -a.low;
        return a;
    }
    return between(-a.high, -a.low);
}

static struct known subtract(struct known a, struct known b)
{
    if (a.kind == KNOWN_LEFT && b.kind == KNOWN_LEFT && a.left == b.left)
        return known_number(0);
    return add(a, negate(b));
}

/* 0 * x is 0: an infinity there would be one inside, too. */
static double product(double a, double b) { return a == 0 || b == 0 ? 0 : a * b; }

static struct known multiply(struct known a, struct known b, bool square)
{
    if (known_is(a, 0) || known_is(b, 0))
        return known_number(0);
    if (known_is(a, 1))
        return b;
    if (known_is(b, 1))
        return a;
    if (a.kind == KNOWN_POSITION || b.kind == KNOWN_POSITION) {
        struct known position = a.kind == KNOWN_POSITION ? a : b, by = a.kind == KNOWN_POSITION ? b : a;
        return by.kind != KNOWN_POSITION && by.low >= 0 ? position : between(NAN, NAN);
    }
    double c[4] = {product(a.low, b.low), product(a.low, b.high), product(a.high, b.low), product(a.high, b.high)};
    double low = fmin(fmin(c[0], c[1]), fmin(c[2], c[3])), high = fmax(fmax(c[0], c[1]), fmax(c[2], c[3]));
    return between(square ? fmax(low, 0) : low, high);
}

static struct known divide(struct known a, struct known b, bool floats)
{
    if (floats && known_is(a, 0) && known_is(b, 0))
        return between(NAN, NAN);
    if (known_is(a, 0))
        return a;
    if (a.kind == KNOWN_POSITION)
        return b.kind != KNOWN_POSITION && b.low >= 0 ? a : between(NAN, NAN);
    if (a.kind == KNOWN_NUMBER && b.kind == KNOWN_NUMBER && b.low != 0)
        return between(a.low / b.low, a.low / b.low);
    return a.low >= 0 && b.low >= 0 ? known_between(0, INFINITY) : known_between(-INFINITY, INFINITY);
}

static struct known extreme(struct known a, struct known b, bool maximum)
{
    if (a.kind == KNOWN_POSITION || b.kind == KNOWN_POSITION)
        return known_between(-INFINITY, INFINITY);
    if (maximum ? a.low >= b.high : a.high <= b.low)
        return a;
    if (maximum ? b.low >= a.high : b.high <= a.low)
        return b;
    return maximum ? known_between(fmax(a.low, b.low), fmax(a.high, b.high))
                   : known_between(fmin(a.low, b.low), fmin(a.high, b.high));
}

/* ---- truth ---- */

static struct known truth(bool is_true) { return known_number(is_true); }

/* How far out a position is, every bound lies before it: -1 it is less, 1 it is greater than the other; 0: nothing. */
static int compare_positions(struct known a, struct known b)
{
    if (a.kind == KNOWN_POSITION && b.kind != KNOWN_POSITION)
        return a.low > 0 ? 1 : -1;
    if (b.kind == KNOWN_POSITION && a.kind != KNOWN_POSITION)
        return b.low > 0 ? -1 : 1;
    return 0;
}

static struct known compare(int64_t predicate, struct known a, struct known b)
{
    int order = compare_positions(a, b);
    bool same = a.kind == KNOWN_LEFT && b.kind == KNOWN_LEFT && a.left == b.left;
    if (!order && !same && (a.kind == KNOWN_POSITION || b.kind == KNOWN_POSITION))
        return known_between(0, 1);
    bool less = order < 0 || (!order && a.high < b.low), greater = order > 0 || (!order && a.low > b.high);
    bool equal = same || (a.kind == KNOWN_NUMBER && known_same(a, b));
    bool at_most = less || equal || (!order && a.high <= b.low);
    bool at_least = greater || equal || (!order && a.low >= b.high);
    switch (predicate) {
    case IR_PREDICATE_EQ: return equal ? truth(true) : less || greater ? truth(false) : known_between(0, 1);
    case IR_PREDICATE_NE: return equal ? truth(false) : less || greater ? truth(true) : known_between(0, 1);
    case IR_PREDICATE_LT: return less ? truth(true) : at_least ? truth(false) : known_between(0, 1);
    case IR_PREDICATE_LE: return at_most ? truth(true) : greater ? truth(false) : known_between(0, 1);
    case IR_PREDICATE_GT: return greater ? truth(true) : at_most ? truth(false) : known_between(0, 1);
    case IR_PREDICATE_GE: return at_least ? truth(true) : less ? truth(false) : known_between(0, 1);
    default: return known_between(0, 1);
    }
}

/* and, or, xor: of bools, and of integers as far as zeros decide. */
static struct known combine(enum ir_opcode opcode, struct known a, struct known b, enum ir_element element)
{
    bool is_bool = element == IR_BOOL;
    if (opcode == OP_AND) {
        if (known_is(a, 0) || known_is(b, 0))
            return known_number(0);
        if (is_bool && known_is(a, 1))
            return b;
        return is_bool && known_is(b, 1) ? a : known_nothing(element);
    }
    if (opcode == OP_OR && is_bool && (known_is(a, 1) || known_is(b, 1)))
        return truth(true);
    if (known_is(a, 0))
        return b;
    return known_is(b, 0) ? a : known_nothing(element);
}

/* ---- functions ---- */

struct function_row {
    double (*of)(double);
    bool rises; /* with its operand */
    double low, high;
};

static double sigmoid(double x) { return 1 / (1 + exp(-x)); }
static double rsqrt(double x) { return 1 / sqrt(x); }
static double rcp(double x) { return 1 / x; }

static struct known math(const struct ir_operation *op, const struct known *operand)
{
    static const struct function_row rows[IR_MATH_COUNT] = {
        [IR_MATH_EXP] = {exp, true, 0, INFINITY},
        [IR_MATH_EXP2] = {exp2, true, 0, INFINITY},
        [IR_MATH_EXPM1] = {expm1, true, -1, INFINITY},
        [IR_MATH_LOG] = {log, true, -INFINITY, INFINITY},
        [IR_MATH_LOG2] = {log2, true, -INFINITY, INFINITY},
        [IR_MATH_LOG1P] = {log1p, true, -INFINITY, INFINITY},
        [IR_MATH_SIN] = {sin, false, -1, 1},
        [IR_MATH_COS] = {cos, false, -1, 1},
        [IR_MATH_TAN] = {tan, false, -INFINITY, INFINITY},
        [IR_MATH_TANH] = {tanh, true, -1, 1},
        [IR_MATH_ERF] = {erf, true, -1, 1},
        [IR_MATH_SQRT] = {sqrt, true, 0, INFINITY},
        [IR_MATH_RSQRT] = {rsqrt, false, 0, INFINITY},
        [IR_MATH_RCP] = {rcp, false, -INFINITY, INFINITY},
        [IR_MATH_FLOOR] = {floor, true, -INFINITY, INFINITY},
        [IR_MATH_CEIL] = {ceil, true, -INFINITY, INFINITY},
        [IR_MATH_TRUNC] = {trunc, true, -INFINITY, INFINITY},
        [IR_MATH_ROUND] = {round, true, -INFINITY, INFINITY},
        [IR_MATH_ATAN] = {atan, true, -2, 2},
        [IR_MATH_ASIN] = {asin, true, -2, 2},
        [IR_MATH_ACOS] = {acos, false, 0, 4},
        [IR_MATH_SINH] = {sinh, true, -INFINITY, INFINITY},
        [IR_MATH_COSH] = {cosh, false, 1, INFINITY},
        [IR_MATH_SIGMOID] = {sigmoid, true, 0, 1},
    };
    int64_t function = ir_number(op, IR_ATTRIBUTE_FUNCTION, 0);
    const struct function_row *row = &rows[function];
    struct known x = known_as_value(operand[0], op->operands[0]->type->element);
    if (function == IR_MATH_ISNAN)
        return x.kind == KNOWN_NUMBER ? truth(false) : known_between(0, 1);
    if (!row->of || op->operand_count != 1) {
        if (function == IR_MATH_POW && x.kind == KNOWN_NUMBER && operand[1].kind == KNOWN_NUMBER)
            return between(pow(x.low, operand[1].low), pow(x.low, operand[1].low));
        return known_between(function == IR_MATH_POW && x.low >= 0 ? 0 : -INFINITY, INFINITY);
    }
    if (x.kind == KNOWN_NUMBER)
        return between(row->of(x.low), row->of(x.low));
    if (!row->rises)
        return known_between(row->low, row->high);
    double low = row->of(x.low), high = row->of(x.high);
    return known_between(isnan(low) ? row->low : fmax(low, row->low), isnan(high) ? row->high : fmin(high, row->high));
}

static struct known absolute(struct known a)
{
    if (a.low >= 0)
        return a;
    return a.high <= 0 ? negate(a) : known_between(0, fmax(-a.low, a.high));
}

static struct known cast(const struct ir_operation *op, struct known a)
{
    enum ir_element from = op->operands[0]->type->element, to = op->results[0]->type->element;
    struct known whole = known_nothing(to);
    if (to == IR_BOOL)
        return a.kind == KNOWN_NUMBER ? truth(a.low != 0) : from == IR_BOOL ? a : whole;
    if (a.kind == KNOWN_POSITION)
        return ir_is_integer(to) || ir_is_float(to) ? a : whole;
    if (ir_is_float(from) && !ir_is_float(to))
        return a.kind == KNOWN_NUMBER ? known_number(fmin(fmax(trunc(a.low), whole.low), whole.high)) : whole;
    return a.low >= whole.low && a.high <= whole.high ? a : whole; /* what does not fit wraps */
}

/* An integer that leaves its type wraps. */
static struct known fit(struct known known, enum ir_element element)
{
    struct known whole = known_nothing(element);
    bool bounded = known.kind == KNOWN_NOTHING || known.kind == KNOWN_NUMBER;
    return ir_is_integer(element) && bounded && (known.low < whole.low || known.high > whole.high) ? whole : known;
}

static struct known constant(const struct ir_operation *op)
{
    uint64_t bits = 0;
    enum ir_element element = op->results[0]->type->element;
    if (!ir_constant_of(op->results[0], &bits) || element == IR_POINTER)
        return known_nothing(element);
    if (!ir_is_float(element))
        return known_number(element == IR_U64 ? (double)bits : (double)ir_bits_to_int(element, bits));
    double number = ir_bits_to_double(element, bits);
    return isnan(number) ? known_between(-INFINITY, INFINITY) : known_number(number);
}

/* v > 0 ? v : w: where v is taken it is not under 0. */
static struct known taken(const struct ir_operation *select, struct known left)
{
    const struct ir_operation *op = select->operands[0]->definition;
    if (!op || op->opcode != OP_COMPARE || left.kind != KNOWN_NOTHING || op->operands[0] != select->operands[1])
        return left;
    const struct ir_operation *with = op->operands[1]->definition;
    if (with && with->opcode == OP_SPLAT)
        with = with->operands[0]->definition;
    struct known bound = with && with->opcode == OP_CONSTANT ? constant(with) : left;
    int64_t predicate = ir_number(op, IR_ATTRIBUTE_PREDICATE, 0);
    if (bound.kind != KNOWN_NUMBER)
        return left;
    if (predicate == IR_PREDICATE_GT || predicate == IR_PREDICATE_GE)
        left.low = fmax(left.low, bound.low);
    if (predicate == IR_PREDICATE_LT || predicate == IR_PREDICATE_LE)
        left.high = fmin(left.high, bound.high);
    return left;
}

struct known known_compute(const struct ir_operation *op, const struct known *operand)
{
    enum ir_element element = op->results[0]->type->element;
    const struct known a = op->operand_count > 0 ? operand[0] : (struct known){0};
    const struct known b = op->operand_count > 1 ? operand[1] : (struct known){0};
    switch (op->opcode) {
    case OP_CONSTANT: return constant(op);
    case OP_SELECT:
        if (a.kind == KNOWN_NUMBER)
            return operand[known_is(a, 0) ? 2 : 1];
        return known_join(taken(op, operand[1]), operand[2]);
    case OP_COMPARE: return compare(ir_number(op, IR_ATTRIBUTE_PREDICATE, 0), a, b);
    case OP_CAST: return cast(op, a);
    case OP_MATH: return math(op, operand);
    case OP_ADD: return fit(add(a, b), element);
    case OP_SUB: return fit(op->operands[0] == op->operands[1] ? known_number(0) : subtract(a, b), element);
    case OP_MUL: return fit(multiply(a, b, op->operands[0] == op->operands[1]), element);
    case OP_FMA: return add(multiply(a, b, op->operands[0] == op->operands[1]), operand[2]);
    case OP_DIV: return fit(divide(a, b, ir_is_float(element)), element);
    case OP_NEG: return fit(negate(a), element);
    case OP_ABS: return fit(absolute(known_as_value(a, element)), element);
    case OP_MIN: return extreme(a, b, false);
    case OP_MAX: return extreme(a, b, true);
    case OP_AND:
    case OP_OR:
    case OP_XOR: return combine(op->opcode, known_as_value(a, element), known_as_value(b, element), element);
    case OP_NOT: return element == IR_BOOL && a.kind == KNOWN_NUMBER ? truth(known_is(a, 0)) : known_nothing(element);
    case OP_SHL:
    case OP_SHR: return known_is(a, 0) ? a : known_nothing(element);
    case OP_BITCAST: return known_is(a, 0) && !signbit(a.low) ? a : known_nothing(element);
    default: return known_nothing(element);
    }
}

/* The branch that the condition chooses, or both joined. */
static bool compute_if(struct known *of, const struct ir_operation *op)
{
    struct known condition = of[op->operands[0]->id], results[2][IR_MAX_RANK];
    bool never = known_is(condition, 0), always = known_is(condition, 1);
    if (op->result_count > IR_MAX_RANK)
        return false;
    for (int r = 0; r < 2; r++)
        if (!(r ? always : never) && !known_compute_region(of, op->regions[r], NULL, results[r]))
            return false;
    for (int i = 0; i < op->result_count; i++)
        of[op->results[i]->id] = never    ? results[1][i]
                                 : always ? results[0][i]
                                          : known_join(results[0][i], results[1][i]);
    return true;
}

bool known_compute_region(struct known *of, const struct ir_block *body, const struct known *arguments,
                          struct known *results)
{
    for (int i = 0; i < body->arguments.count; i++)
        of[body->arguments.data[i]->id] = arguments[i];
    for (const struct ir_operation *op = body->first; op; op = op->next) {
        struct known operand[3];
        if (op->opcode == OP_YIELD) {
            for (int i = 0; i < op->operand_count; i++)
                results[i] = of[op->operands[i]->id];
            return true;
        }
        if (op->opcode == OP_IF) {
            if (!compute_if(of, op))
                return false;
            continue;
        }
        if (op->region_count || op->operand_count > 3 || op->result_count != 1)
            return false;
        for (int i = 0; i < op->operand_count; i++)
            operand[i] = of[op->operands[i]->id];
        of[op->results[0]->id] = known_compute(op, operand);
    }
    return false;
}

struct known known_reduce(enum ir_reduce_kind kind, struct known element)
{
    switch (kind) {
    case IR_REDUCE_ADD:
        return known_is(element, 0) ? element
                                    : known_between(element.low >= 0 ? 0 : -INFINITY, element.high <= 0 ? 0 : INFINITY);
    case IR_REDUCE_MUL:
        return known_is(element, 0) || known_is(element, 1) ? element
                                                            : known_between(element.low >= 0 ? 0 : -INFINITY, INFINITY);
    case IR_REDUCE_XOR: return known_is(element, 0) ? element : known_between(-INFINITY, INFINITY);
    default: return element;
    }
}

bool known_is_neutral(enum ir_reduce_kind kind, struct known element, struct known all)
{
    bool once_more_is_the_same = kind == IR_REDUCE_MIN || kind == IR_REDUCE_MAX || kind == IR_REDUCE_AND ||
                                 kind == IR_REDUCE_OR;
    if (element.kind == KNOWN_COPY && once_more_is_the_same)
        return true;
    switch (kind) {
    case IR_REDUCE_ADD:
    case IR_REDUCE_OR:
    case IR_REDUCE_XOR: return known_is(element, 0);
    case IR_REDUCE_MUL:
    case IR_REDUCE_AND: return known_is(element, 1);
    case IR_REDUCE_MIN: return element.kind != KNOWN_POSITION && element.low >= all.high;
    case IR_REDUCE_MAX: return element.kind != KNOWN_POSITION && element.high <= all.low;
    default: return false;
    }
}
