/* Ranges of integers, by one forward walk; loops are walked until their carried values stop growing, and what grows for
 * too long is widened to its element's whole range.  Bool counts as 0 and 1.  A second walk starts with what assume()
 * told. */
#include "base/plant.h"
#include "ir/facts/analysis.h"

enum { WIDEN_AFTER = 3, GIVE_UP_AFTER = 10 };
/* No machine starts more instances along a dimension: at 10^10 a second that would take five days. */
#define GRID_MOST (INT64_C(1) << 52)

struct walker {
    const struct ir_function *function;
    struct ranges *ranges;
    struct range *assumed; /* by value id */
};

static const struct range everything = {INT64_MIN, INT64_MAX};

struct range range_of_element(enum ir_element element)
{
    int bits = ir_element_info[element].bits;
    if (element == IR_BOOL)
        return (struct range){0, 1};
    if (!ir_is_integer(element) || element == IR_U64)
        return everything;
    int64_t half = INT64_C(1) << (bits - 2); /* 2^(bits-2): no step of this overflows */
    if (ir_is_signed(element))
        return (struct range){-half - half, half - 1 + half};
    return (struct range){0, (INT64_C(1) << bits) - 1};
}

static bool has_range(const struct ir_value *value)
{
    enum ir_element e = value->type->element;
    return value->type->kind == IR_TILE && (ir_is_integer(e) || e == IR_BOOL);
}

struct range range_of(const struct ranges *ranges, const struct ir_value *value)
{
    return has_range(value) && value->id < ranges->count ? ranges->of[value->id]
           : has_range(value)                            ? range_of_element(value->type->element)
                                                         : everything;
}

static struct range join(struct range a, struct range b)
{
    return (struct range){int64_min(a.low, b.low), int64_max(a.high, b.high)};
}

static struct range meet(struct range a, struct range b)
{
    struct range out = {int64_max(a.low, b.low), int64_min(a.high, b.high)};
    return out.low <= out.high ? out : a; /* nothing is left: never reached, anything holds */
}

/* ---- arithmetic; `good` false: it may wrap ---- */

static struct range corners(int64_t a, int64_t b, int64_t c, int64_t d)
{
    return (struct range){int64_min(int64_min(a, b), int64_min(c, d)), int64_max(int64_max(a, b), int64_max(c, d))};
}

static struct range add(struct range a, struct range b, bool *good)
{
    struct range out;
    bool low = __builtin_add_overflow(a.low, b.low, &out.low), high = __builtin_add_overflow(a.high, b.high, &out.high);
    *good = !low && !high;
    return out;
}

static struct range subtract(struct range a, struct range b, bool *good)
{
    struct range out;
    bool low = __builtin_sub_overflow(a.low, b.high, &out.low), high = __builtin_sub_overflow(a.high, b.low, &out.high);
    *good = !low && !high;
    return out;
}

static struct range multiply(struct range a, struct range b, bool *good)
{
    int64_t p[4];
    bool wraps[] = {__builtin_mul_overflow(a.low, b.low, &p[0]), __builtin_mul_overflow(a.low, b.high, &p[1]),
                    __builtin_mul_overflow(a.high, b.low, &p[2]), __builtin_mul_overflow(a.high, b.high, &p[3])};
    *good = !wraps[0] && !wraps[1] && !wraps[2] && !wraps[3];
    return PLANTED(range_of_product_two_corners) ? corners(p[0], p[0], p[3], p[3]) : corners(p[0], p[1], p[2], p[3]);
}

/* x/0 = 0 */
static struct range divide(struct range a, struct range b, bool *good)
{
    *good = b.low >= 0;
    if (!*good)
        return a;
    struct range out = {0, 0};
    if (b.high > 0) {
        int64_t low = int64_max(b.low, 1);
        out = corners(a.low / low, a.low / b.high, a.high / low, a.high / b.high);
    }
    return b.low == 0 ? join(out, (struct range){0, 0}) : out;
}

/* x%0 = x; the sign is that of x */
static struct range remainder_of(struct range a, struct range b, bool *good)
{
    *good = b.low >= 0;
    if (!*good || b.high == 0)
        return a;
    struct range out = {a.low < 0 && !PLANTED(range_of_remainder_positive) ? int64_max(a.low, 1 - b.high) : 0,
                        a.high > 0 ? int64_min(a.high, b.high - 1) : 0};
    return b.low == 0 ? join(out, a) : out;
}

static struct range bitwise(enum ir_opcode opcode, struct range a, struct range b, bool *good)
{
    *good = opcode == OP_AND ? a.low >= 0 || b.low >= 0 : a.low >= 0 && b.low >= 0;
    if (opcode == OP_AND) {
        int64_t most = a.low >= 0 && b.low >= 0 ? int64_min(a.high, b.high) : a.low >= 0 ? a.high : b.high;
        return (struct range){0, most};
    }
    int bit = log2_floor((uint64_t)int64_max(int64_max(a.high, b.high), 0));
    int64_t most = bit < 0 ? 0 : bit >= 62 ? INT64_MAX : (INT64_C(2) << bit) - 1;
    return (struct range){opcode == OP_OR ? int64_max(a.low, b.low) : 0, int64_max(most, 0)};
}

static struct range shift(const struct ir_operation *op, struct range a, struct range b, bool *good)
{
    int width = ir_element_info[op->results[0]->type->element].bits;
    *good = b.low >= 0 && b.high < width && b.high < 63;
    if (!*good)
        return a;
    if (op->opcode == OP_SHL)
        return multiply(a, (struct range){INT64_C(1) << b.low, INT64_C(1) << b.high}, good);
    *good = op->results[0]->type->element != IR_U64 || a.low >= 0;
    return corners(a.low >> b.low, a.low >> b.high, a.high >> b.low, a.high >> b.high);
}

static struct range compare(int64_t predicate, struct range a, struct range b)
{
    bool less = a.high<b.low, less_equal = a.high <= b.low, greater = a.low> b.high, greater_equal = a.low >= b.high;
    bool same = a.low == a.high && b.low == b.high && a.low == b.low;
    bool yes = false, no = false;
    switch (predicate) {
    case IR_PREDICATE_EQ:
        yes = same;
        no = less || greater;
        break;
    case IR_PREDICATE_NE:
        yes = less || greater;
        no = same;
        break;
    case IR_PREDICATE_LT:
        yes = less;
        no = greater_equal;
        break;
    case IR_PREDICATE_LE:
        yes = less_equal;
        no = greater;
        break;
    case IR_PREDICATE_GT:
        yes = greater;
        no = less_equal;
        break;
    default:
        yes = greater_equal;
        no = less;
        break;
    }
    return (struct range){yes, !no};
}

/* ---- operations ---- */

static struct range operand(struct walker *walker, const struct ir_operation *op, int index)
{
    return range_of(walker->ranges, op->operands[index]);
}

static struct range cast(struct walker *walker, const struct ir_operation *op)
{
    enum ir_element from = op->operands[0]->type->element, to = op->results[0]->type->element;
    struct range whole = range_of_element(to);
    if (!has_range(op->operands[0]))
        return whole;
    struct range in = operand(walker, op, 0);
    if (to == IR_BOOL)
        return (struct range){in.low > 0 || in.high < 0, in.low != 0 || in.high != 0};
    if (from == IR_U64 && in.low < 0)
        return whole;
    if (to == IR_U64)
        return in.low >= 0 ? in : everything;
    if (ir_number(op, IR_ATTRIBUTE_SATURATE, 0))
        return (struct range){int64_min(int64_max(in.low, whole.low), whole.high),
                              int64_max(int64_min(in.high, whole.high), whole.low)};
    return range_within(in, whole) ? in : PLANTED(range_of_cast_clamps) ? meet(in, whole) : whole;
}

static struct range reduce(struct walker *walker, const struct ir_operation *op, const struct ir_value *result)
{
    struct range in = operand(walker, op, 0), whole = range_of_element(result->type->element), out;
    int64_t n = op->operands[0]->type->extent[ir_number(op, IR_ATTRIBUTE_AXIS, 0)];
    bool good;
    switch (ir_number(op, IR_ATTRIBUTE_KIND, IR_REDUCE_REGION)) {
    case IR_REDUCE_MIN:
    case IR_REDUCE_MAX: return in;
    case IR_REDUCE_ADD:
        out = multiply(in, (struct range){n, n}, &good);
        return good && range_within(out, whole) ? out : whole;
    case IR_REDUCE_AND:
    case IR_REDUCE_OR: return in.low >= 0 && in.high <= 1 ? in : whole;
    default: return whole;
    }
}

/* A sum of none to all of a line, of one or more where the element itself is in it. */
static struct range scan(struct walker *walker, const struct ir_operation *op, const struct ir_value *result)
{
    struct range in = operand(walker, op, 0), whole = range_of_element(result->type->element), out, first = {0, 0};
    int64_t n = op->operands[0]->type->extent[ir_number(op, IR_ATTRIBUTE_AXIS, 0)];
    bool exclusive = ir_number(op, IR_ATTRIBUTE_EXCLUSIVE, 0) != 0, good, also;
    if (exclusive)
        first = operand(walker, op, 1);
    switch (ir_number(op, IR_ATTRIBUTE_KIND, IR_REDUCE_REGION)) {
    case IR_REDUCE_MIN:
    case IR_REDUCE_MAX: return exclusive ? join(in, first) : in;
    case IR_REDUCE_ADD:
        out = multiply(in, exclusive ? (struct range){0, n - 1} : (struct range){1, n}, &good);
        out = good ? add(out, first, &also) : whole;
        return good && also && range_within(out, whole) ? out : whole;
    case IR_REDUCE_AND:
    case IR_REDUCE_OR: out = exclusive ? join(in, first) : in; return out.low >= 0 && out.high <= 1 ? out : whole;
    default: return whole;
    }
}

/* Every extent of an argument is below its limit, and so are those of its sub-views. */
static struct range extent(const struct ir_operation *op)
{
    const struct ir_value *view = op->operands[0];
    int64_t known = view->type->extent[ir_number(op, IR_ATTRIBUTE_DIMENSION, 0)];
    if (known != IR_DYNAMIC)
        return (struct range){known, known};
    while (view->definition && (view->definition->opcode == OP_SUBVIEW || view->definition->opcode == OP_VIEW_PERMUTE))
        view = view->definition->operands[0];
    const struct ir_function *function = op->block->function;
    int64_t limit = !view->definition && !view->block->parent && view->index < function->facts.count
                        ? function->facts.data[view->index].extent_limit
                        : 0;
    return (struct range){0, limit > 0 ? limit - 1 : INT64_MAX};
}

/* program < program_count = the product of the grid's counts; a block a program or fewer blocks */
static struct range program(const struct ir_function *function, enum ir_opcode opcode)
{
    int64_t most = 1, wide;
    for (int d = 0; d < function->grid_rank; d++) {
        bool known = function->grid_limit[d] > 0 && !__builtin_mul_overflow(most, function->grid_limit[d], &wide);
        most = known && wide < GRID_MOST ? wide : GRID_MOST;
        if (most == GRID_MOST)
            break;
    }
    if (opcode == OP_BLOCK_COUNT)
        return (struct range){1, int64_min(most, INT32_MAX)};
    return opcode == OP_PROGRAM ? (struct range){0, most - 1} : (struct range){1, most};
}

static struct range binary(const struct ir_operation *op, struct range a, struct range b, bool *good)
{
    *good = true;
    switch (op->opcode) {
    case OP_ADD: return add(a, b, good);
    case OP_SUB: return subtract(a, b, good);
    case OP_MUL: return multiply(a, b, good);
    case OP_DIV: return divide(a, b, good);
    case OP_REM: return remainder_of(a, b, good);
    case OP_MIN: return (struct range){int64_min(a.low, b.low), int64_min(a.high, b.high)};
    case OP_MAX: return (struct range){int64_max(a.low, b.low), int64_max(a.high, b.high)};
    case OP_AND:
    case OP_OR:
    case OP_XOR: return bitwise(op->opcode, a, b, good);
    case OP_SHL:
    case OP_SHR: return shift(op, a, b, good);
    default: *good = false; return a;
    }
}

static struct range evaluate(struct walker *walker, const struct ir_operation *op, const struct ir_value *result)
{
    enum ir_element e = result->type->element;
    struct range whole = range_of_element(e), out = whole, a, b;
    int64_t number;
    bool good = true;
    switch (op->opcode) {
    case OP_CONSTANT:
        return ir_constant_integer(result, &number) && (e != IR_U64 || number >= 0) ? (struct range){number, number}
                                                                                    : whole;
    case OP_IOTA: out = (struct range){0, result->type->extent[0] - 1}; break;
    case OP_SPLAT:
    case OP_BROADCAST:
    case OP_RESHAPE:
    case OP_PERMUTE:
    case OP_EXTRACT:
    case OP_FLIP:
    case OP_CONVERT_LAYOUT: return operand(walker, op, 0);
    case OP_CONCATENATE:
        out = operand(walker, op, 0);
        for (int i = 1; i < op->operand_count; i++)
            out = join(out, operand(walker, op, i));
        return out;
    case OP_GATHER: return join(operand(walker, op, 0), (struct range){0, 0});
    case OP_SELECT: return join(operand(walker, op, 1), operand(walker, op, 2));
    case OP_CAST: return cast(walker, op);
    case OP_REDUCE: return reduce(walker, op, result);
    case OP_HISTOGRAM: out = (struct range){0, ir_type_elements(op->operands[0]->type)}; break;
    case OP_SORT:
        if (result->index < op->operand_count)
            return operand(walker, op, result->index);
        out = (struct range){0, op->operands[0]->type->extent[ir_number(op, IR_ATTRIBUTE_AXIS, 0)] - 1};
        break;
    case OP_SCAN: return scan(walker, op, result);
    case OP_EXTENT: out = extent(op); break;
    case OP_STRIDE:
        number = op->operands[0]->type->stride[ir_number(op, IR_ATTRIBUTE_DIMENSION, 0)];
        out = number == IR_DYNAMIC ? (struct range){0, INT64_MAX} : (struct range){number, number};
        break;
    case OP_GRID_SIZE:
    case OP_GRID_INDEX:
        number = walker->function->grid_limit[ir_number(op, IR_ATTRIBUTE_DIMENSION, 0)];
        number = number > 0 ? number : GRID_MOST;
        out = op->opcode == OP_GRID_SIZE ? (struct range){1, number} : (struct range){0, number - 1};
        break;
    case OP_PROGRAM:
    case OP_PROGRAM_COUNT:
    case OP_BLOCK_COUNT: out = program(walker->function, op->opcode); break;
    case OP_NEG: out = subtract((struct range){0, 0}, operand(walker, op, 0), &good); break;
    case OP_ABS:
        a = operand(walker, op, 0);
        good = a.low != INT64_MIN;
        b = good ? (struct range){-a.high, -a.low} : a;
        out = a.low >= 0 ? a : a.high <= 0 ? b : (struct range){0, int64_max(a.high, b.high)};
        break;
    case OP_NOT:
        a = operand(walker, op, 0);
        if (e == IR_BOOL)
            return (struct range){!a.high, !a.low};
        out = ir_is_signed(e) ? (struct range){-1 - a.high, -1 - a.low} : whole;
        break;
    case OP_COMPARE:
        if (!has_range(op->operands[0]))
            return whole;
        a = operand(walker, op, 0);
        b = operand(walker, op, 1);
        if (op->operands[0]->type->element == IR_U64 && (a.low < 0 || b.low < 0))
            return whole;
        return compare(ir_number(op, IR_ATTRIBUTE_PREDICATE, 0), a, b);
    default:
        if (ir_op_info[op->opcode].traits & IR_TRAIT_BIT_COUNT)
            return meet(whole, (struct range){0, ir_element_info[e].bits});
        if (op->operand_count != 2 || !has_range(op->operands[0]) || !has_range(op->operands[1]))
            return whole;
        a = operand(walker, op, 0);
        b = operand(walker, op, 1);
        if (e == IR_U64 && (a.low < 0 || b.low < 0))
            return whole; /* their real values are not known as numbers */
        out = binary(op, a, b, &good);
        break;
    }
    if (e == IR_U64)
        whole.low = 0;
    return good && range_within(out, whole) ? out : range_of_element(e);
}

/* ---- regions ---- */

static void set(struct walker *walker, const struct ir_value *value, struct range range)
{
    if (has_range(value))
        walker->ranges->of[value->id] = meet(range, walker->assumed[value->id]);
}

static void walk_block(struct walker *walker, const struct ir_block *block);

/* Joins what comes round again into the arguments; true: something grew.  After a few rounds what grows is widened. */
static bool feed_back(struct walker *walker, int count, struct ir_value *const *arguments, struct ir_value *const *next,
                      int round)
{
    bool grew = false;
    for (int i = 0; i < count; i++) {
        if (!has_range(arguments[i]))
            continue;
        struct range old = range_of(walker->ranges, arguments[i]), now = join(old, range_of(walker->ranges, next[i]));
        struct range whole = range_of_element(arguments[i]->type->element);
        if (now.low == old.low && now.high == old.high)
            continue;
        if (round >= WIDEN_AFTER)
            now = (struct range){now.low < old.low ? whole.low : old.low, now.high > old.high ? whole.high : old.high};
        walker->ranges->of[arguments[i]->id] = now;
        grew = true;
    }
    for (int i = 0; i < count && grew && round >= GIVE_UP_AFTER; i++)
        if (has_range(arguments[i]))
            walker->ranges->of[arguments[i]->id] = range_of_element(arguments[i]->type->element);
    return grew;
}

/* The variable stays below upper (above it when counting down) wherever the body runs.  It starts at lower and only
 * grows, unless the last step wraps. */
static struct range variable_range(struct walker *walker, const struct ir_operation *op)
{
    struct range lower = operand(walker, op, 0), upper = operand(walker, op, 1), step = operand(walker, op, 2);
    struct range whole = range_of_element(op->operands[0]->type->element);
    bool multiply_step = ir_number(op, IR_ATTRIBUTE_MULTIPLY, 0), good;
    if (op->operands[0]->type->element == IR_U64 && (lower.low < 0 || upper.low < 0 || step.low < 0))
        return everything;
    if (multiply_step || step.low >= 0) {
        int64_t last = upper.high == INT64_MIN ? INT64_MIN : upper.high - 1 - PLANTED(range_of_loop_too_short);
        struct range beyond = multiply_step ? multiply((struct range){last, last}, step, &good)
                                            : add((struct range){last, last}, step, &good);
        bool wraps = !good || beyond.high > whole.high || (multiply_step && (step.low < 1 || lower.low < 0));
        if (!wraps && !multiply_step && step.low == step.high && step.low > 0 && lower.low == lower.high &&
            last > lower.low && !__builtin_sub_overflow(last, lower.low, &beyond.low)) /* whole steps only */
            last = lower.low + beyond.low / step.low * step.low;
        return (struct range){wraps ? whole.low : lower.low, int64_max(last, wraps ? whole.low : lower.low)};
    }
    if (step.high < 0) {
        int64_t last = upper.low == INT64_MAX ? INT64_MAX : upper.low + 1;
        struct range beyond = add((struct range){last, last}, step, &good);
        bool wraps = !good || beyond.low < whole.low;
        return (struct range){int64_min(last, wraps ? whole.high : lower.high), wraps ? whole.high : lower.high};
    }
    return whole;
}

static void walk_for(struct walker *walker, const struct ir_operation *op)
{
    const struct ir_block *body = op->regions[0];
    int count = op->result_count;
    struct ir_value *const *arguments = body->arguments.data + 1;
    set(walker, body->arguments.data[0], variable_range(walker, op));
    for (int i = 0; i < count; i++)
        set(walker, arguments[i], operand(walker, op, i + 3));
    for (int round = 0;; round++) {
        walk_block(walker, body);
        if (!feed_back(walker, count, arguments, ir_terminator(body)->operands, round))
            break;
    }
    for (int i = 0; i < count; i++) /* the arguments hold the initial values and all that came round */
        set(walker, op->results[i], range_of(walker->ranges, arguments[i]));
}

static void walk_while(struct walker *walker, const struct ir_operation *op)
{
    const struct ir_block *test = op->regions[0], *body = op->regions[1];
    const struct ir_operation *condition = ir_terminator(test);
    for (int i = 0; i < op->operand_count; i++)
        set(walker, test->arguments.data[i], operand(walker, op, i));
    for (int round = 0;; round++) {
        walk_block(walker, test);
        for (int i = 0; i < op->operand_count; i++)
            set(walker, body->arguments.data[i], range_of(walker->ranges, condition->operands[i + 1]));
        walk_block(walker, body);
        if (!feed_back(walker, op->operand_count, test->arguments.data, ir_terminator(body)->operands, round))
            break;
    }
    for (int i = 0; i < op->result_count; i++)
        set(walker, op->results[i], range_of(walker->ranges, condition->operands[i + 1]));
}

static void walk_operation(struct walker *walker, const struct ir_operation *op)
{
    if (op->opcode == OP_FOR) {
        walk_for(walker, op);
        return;
    }
    if (op->opcode == OP_WHILE) {
        walk_while(walker, op);
        return;
    }
    for (int i = 0; i < op->region_count; i++) {
        for (int k = 0; k < op->regions[i]->arguments.count; k++)
            set(walker, op->regions[i]->arguments.data[k],
                range_of_element(op->regions[i]->arguments.data[k]->type->element));
        walk_block(walker, op->regions[i]);
    }
    for (int i = 0; i < op->result_count; i++) {
        const struct ir_value *result = op->results[i];
        if (!has_range(result))
            continue;
        if (op->opcode == OP_IF)
            set(walker, result,
                join(range_of(walker->ranges, ir_terminator(op->regions[0])->operands[i]),
                     range_of(walker->ranges, ir_terminator(op->regions[!PLANTED(range_if_first_arm)])->operands[i])));
        else
            set(walker, result, evaluate(walker, op, result));
    }
}

static void walk_block(struct walker *walker, const struct ir_block *block)
{
    for (const struct ir_operation *op = block->first; op; op = op->next)
        walk_operation(walker, op);
}

/* ---- conditions ---- */

/* What `condition` (true or, with `holds` false, false) says of `value`. */
static struct range implied(const struct ranges *ranges, const struct ir_value *condition, bool holds,
                            const struct ir_value *value)
{
    const struct ir_operation *op = condition->definition;
    if (condition == value)
        return (struct range){holds, holds};
    if (!op)
        return everything;
    if (op->opcode == OP_NOT)
        return implied(ranges, op->operands[0], !holds, value);
    if ((op->opcode == OP_AND && holds) || (op->opcode == OP_OR && !holds))
        return meet(implied(ranges, op->operands[0], holds, value), implied(ranges, op->operands[1], holds, value));
    if (op->opcode != OP_COMPARE || !has_range(op->operands[0]) || op->operands[0]->type->rank)
        return everything;
    bool left = op->operands[0] == value;
    if (!left && op->operands[1] != value)
        return everything;
    struct range other = range_of(ranges, op->operands[left ? 1 : 0]);
    if (op->operands[0]->type->element == IR_U64 && (other.low < 0 || range_of(ranges, value).low < 0))
        return everything;
    static const enum ir_predicate opposite[IR_PREDICATE_COUNT] = {IR_PREDICATE_NE, IR_PREDICATE_EQ, IR_PREDICATE_GE,
                                                                   IR_PREDICATE_GT, IR_PREDICATE_LE, IR_PREDICATE_LT};
    static const enum ir_predicate mirrored[IR_PREDICATE_COUNT] = {IR_PREDICATE_EQ, IR_PREDICATE_NE, IR_PREDICATE_GT,
                                                                   IR_PREDICATE_GE, IR_PREDICATE_LT, IR_PREDICATE_LE};
    int64_t predicate = ir_number(op, IR_ATTRIBUTE_PREDICATE, 0);
    predicate = holds ? predicate : (int64_t)opposite[predicate];
    predicate = left ? predicate : (int64_t)mirrored[predicate];
    switch (predicate) {
    case IR_PREDICATE_EQ: return other;
    case IR_PREDICATE_LT: return (struct range){INT64_MIN, other.high == INT64_MIN ? INT64_MIN : other.high - 1};
    case IR_PREDICATE_LE: return (struct range){INT64_MIN, other.high};
    case IR_PREDICATE_GT: return (struct range){other.low == INT64_MAX ? INT64_MAX : other.low + 1, INT64_MAX};
    case IR_PREDICATE_GE: return (struct range){other.low, INT64_MAX};
    default: return everything;
    }
}

struct range range_at(const struct ranges *ranges, const struct ir_value *value, const struct ir_operation *at)
{
    struct range range = range_of(ranges, value);
    if (!has_range(value) || value->type->rank)
        return range;
    for (const struct ir_block *block = at->block; block && block->parent; block = block->parent->block)
        if (block->parent->opcode == OP_IF)
            range = meet(range, implied(ranges, block->parent->operands[0], block == block->parent->regions[0], value));
    return range;
}

/* What is known of a value is known of what it was cast from, where every number of that is one of its own. */
static void note_assumed(struct walker *walker, const struct ir_value *value, struct range said)
{
    walker->assumed[value->id] = meet(walker->assumed[value->id], said);
    const struct ir_operation *cast = value->definition;
    if (!cast || cast->opcode != OP_CAST || value->type->element == IR_U64 || !has_range(cast->operands[0]))
        return;
    enum ir_element from = cast->operands[0]->type->element;
    if (from != IR_U64 && range_within(range_of_element(from), range_of_element(value->type->element)))
        note_assumed(walker, cast->operands[0], said);
}

static void note_assumptions(struct walker *walker, const struct ir_operation *assume, const struct ir_value *condition)
{
    const struct ir_operation *op = condition->definition;
    if (!op)
        return;
    if (op->opcode == OP_AND || op->opcode == OP_COMPARE || op->opcode == OP_NOT)
        for (int i = 0; i < op->operand_count; i++) {
            const struct ir_value *value = op->operands[i];
            if (has_range(value) && value->type->rank == 0)
                note_assumed(walker, value, implied(walker->ranges, assume->operands[0], true, value));
            if (op->opcode != OP_COMPARE)
                note_assumptions(walker, assume, value);
        }
}

const struct ranges *ranges_analyse(const struct ir_function *function, struct arena *arena)
{
    struct ranges *ranges = ARENA_NEW(arena, struct ranges);
    ranges->count = function->next_value_id;
    ranges->of = ARENA_ARRAY(arena, struct range, ranges->count);
    struct walker walker = {
        .function = function, .ranges = ranges, .assumed = ARENA_ARRAY(arena, struct range, ranges->count)};
    bool assumes = false;
    for (int i = 0; i < ranges->count; i++)
        ranges->of[i] = walker.assumed[i] = everything;
    for (int walk = 0; walk == 0 || (walk == 1 && assumes); walk++) {
        for (int i = 0; i < function->body->arguments.count; i++)
            set(&walker, function->body->arguments.data[i],
                range_of_element(function->body->arguments.data[i]->type->element));
        walk_block(&walker, function->body);
        for (const struct ir_operation *op = function->body->first; op && walk == 0; op = op->next)
            if (op->opcode == OP_ASSUME) {
                note_assumptions(&walker, op, op->operands[0]);
                assumes = true;
            }
    }
    return ranges;
}

bool range_loop_ends(const struct ranges *ranges, const struct ir_operation *loop)
{
    enum ir_element element = loop->operands[0]->type->element;
    struct range end = range_of(ranges, loop->operands[1]), step = range_of(ranges, loop->operands[2]);
    struct range whole = range_of_element(element);
    int64_t number, next;
    if (element == IR_U64 || end.high == INT64_MIN || end.low == INT64_MAX)
        return false;
    if (ir_number(loop, IR_ATTRIBUTE_MULTIPLY, 0))
        return !__builtin_mul_overflow(end.high - 1, step.high, &next) && next <= whole.high;
    if (ir_constant_integer(loop->operands[2], &number) && number < 0)
        return !__builtin_add_overflow(end.low + 1, number, &next) && next >= whole.low;
    if (PLANTED(range_of_loop_forgets_step))
        return end.high <= whole.high;
    return !__builtin_add_overflow(end.high - 1, step.high, &next) && next <= whole.high;
}
