/* Divisibility, contiguity and constancy of integers and pointers, all powers of two, by one forward walk.  Loops start
 * from what the initial values have and fall until nothing changes: each entry only gets smaller, so that ends.
 * Integers wrap at powers of two, which keeps every statement about a power of two true; groups that would run over the
 * end of their type are harmless for addresses, because an index that wraps is outside its view. */
#include "base/plant.h"
#include "ir/facts/analysis.h"

enum { LARGEST = 1 << 30 };

struct walker {
    const struct ir_function *function;
    struct divisibilities *table;
    const struct ranges *ranges;
};

static int64_t power_in(int64_t number)
{
    if (number == 0)
        return LARGEST;
    int bit = __builtin_ctzll((uint64_t)number);
    return bit >= 30 ? LARGEST : INT64_C(1) << bit;
}

static struct divisibility unknown(const struct ir_type *type)
{
    struct divisibility out = {.rank = type->kind == IR_TILE ? type->rank : 0};
    int64_t multiple = type->element == IR_POINTER && type->kind == IR_TILE
                           ? int64_max(ir_element_info[type->pointee].bits / 8, 1)
                           : 1;
    for (int d = 0; d < IR_MAX_RANK; d++) {
        out.multiple[d] = multiple;
        out.contiguity[d] = out.constancy[d] = 1;
    }
    return out;
}

/* A tile in which every element is the same multiple of `multiple`. */
static struct divisibility same_everywhere(const struct ir_type *type, int64_t multiple)
{
    struct divisibility out = unknown(type);
    for (int d = 0; d < IR_MAX_RANK; d++) {
        out.multiple[d] = multiple;
        out.constancy[d] = d < out.rank ? power_in(type->extent[d]) : 1;
    }
    return out;
}

static bool is_tracked(const struct ir_value *value)
{
    enum ir_element e = value->type->element;
    return value->type->kind == IR_TILE && (ir_is_integer(e) || e == IR_POINTER || e == IR_BOOL);
}

struct divisibility divisibility_of(const struct divisibilities *table, const struct ir_value *value)
{
    return is_tracked(value) && value->id < table->count && table->of[value->id].multiple[0] ? table->of[value->id]
                                                                                             : unknown(value->type);
}

/* Groups shorter than they were start inside the old ones: at multiples of the new length only. */
static struct divisibility meet(struct divisibility a, struct divisibility b)
{
    for (int d = 0; d < IR_MAX_RANK; d++) {
        int64_t group = int64_min(a.contiguity[d], b.contiguity[d]);
        a.multiple[d] = int64_min(a.multiple[d], b.multiple[d]);
        if (a.contiguity[d] > group || b.contiguity[d] > group)
            a.multiple[d] = int64_min(a.multiple[d], group);
        a.contiguity[d] = group;
        a.constancy[d] = int64_min(a.constancy[d], b.constancy[d]);
    }
    return a;
}

static bool same(const struct divisibility *a, const struct divisibility *b)
{
    for (int d = 0; d < IR_MAX_RANK; d++)
        if (a->multiple[d] != b->multiple[d] || a->contiguity[d] != b->contiguity[d] ||
            a->constancy[d] != b->constancy[d])
            return false;
    return true;
}

/* What divides every element, not only the first of each group. */
static int64_t of_each(const struct divisibility *a, int d) { return a->contiguity[d] > 1 ? 1 : a->multiple[d]; }

/* (group of n consecutive) + (n equal ones) is a group again.  `scale`: the bytes that one step of b means (pointers).
 */
static struct divisibility add(struct divisibility a, struct divisibility b, int64_t scale, bool negative)
{
    for (int d = 0; d < IR_MAX_RANK; d++) {
        int64_t left = int64_min(a.contiguity[d], b.constancy[d]);
        bool falls = negative && !PLANTED(divisibility_of_reversed_run);
        int64_t right = falls ? 1 : int64_min(a.constancy[d], b.contiguity[d]);
        int64_t first_a = a.multiple[d], first_b = int64_min(b.multiple[d] * scale, LARGEST);
        int64_t group = int64_max(left, right);
        /* a group shorter than it was starts inside the old one: at a multiple of the new length only */
        if (a.contiguity[d] > group)
            first_a = int64_min(first_a, group * (scale > 1 ? scale : 1));
        if (b.contiguity[d] > group)
            first_b = int64_min(first_b, group * scale);
        a.contiguity[d] = group;
        a.multiple[d] = int64_min(first_a, first_b);
        a.constancy[d] = int64_min(a.constancy[d], b.constancy[d]);
    }
    return a;
}

static struct divisibility multiply(struct divisibility a, struct divisibility b)
{
    for (int d = 0; d < IR_MAX_RANK; d++) {
        int64_t left = PLANTED(divisibility_product_of_run) ? a.multiple[d] : of_each(&a, d);
        int64_t right = of_each(&b, d);
        a.multiple[d] = left > LARGEST / right ? LARGEST : left * right;
        a.contiguity[d] = 1;
        a.constancy[d] = int64_min(a.constancy[d], b.constancy[d]);
    }
    return a;
}

/* The same in every element as far as the operands are: for operations nothing else is known of. */
static struct divisibility constancy_only(const struct walker *walker, const struct ir_operation *op)
{
    struct divisibility out = unknown(op->results[0]->type);
    for (int d = 0; d < out.rank; d++) {
        int64_t constancy = power_in(op->results[0]->type->extent[d]);
        for (int i = 0; i < op->operand_count; i++) {
            struct divisibility in = divisibility_of(walker->table, op->operands[i]);
            bool known = is_tracked(op->operands[i]) && op->operands[i]->type->rank == out.rank;
            if (op->operands[i]->type->rank)
                constancy = int64_min(constancy, known ? in.constancy[d] : 1);
        }
        out.constancy[d] = constancy;
    }
    return out;
}

static struct divisibility splat(struct divisibility scalar, const struct ir_type *type)
{
    return same_everywhere(type, of_each(&scalar, 0));
}

static struct divisibility broadcast(struct divisibility in, const struct ir_type *from, const struct ir_type *to)
{
    for (int d = 0; d < to->rank; d++)
        if (from->extent[d] == 1 && to->extent[d] > 1) {
            in.contiguity[d] = 1;
            in.constancy[d] = power_in(to->extent[d]);
        }
    return in;
}

/* Extents of 1 come and go: the others keep what they have.  Anything else: only a tile of equal elements keeps
 * something. */
static struct divisibility reshape(struct divisibility in, const struct ir_type *from, const struct ir_type *to)
{
    struct divisibility out = unknown(to);
    int64_t least = LARGEST;
    bool all_same = true;
    for (int d = 0; d < from->rank; d++) {
        least = int64_min(least, of_each(&in, d));
        all_same = all_same && in.constancy[d] == from->extent[d];
    }
    if (all_same)
        return same_everywhere(to, from->rank ? least : in.multiple[0]);
    int source = 0;
    for (int d = 0; d < to->rank; d++) {
        while (source < from->rank && from->extent[source] == 1)
            source++;
        if (to->extent[d] == 1) {
            out.multiple[d] = least;
            continue;
        }
        if (source == from->rank || from->extent[source] != to->extent[d])
            return unknown(to);
        out.multiple[d] = in.multiple[source];
        out.contiguity[d] = in.contiguity[source];
        out.constancy[d] = in.constancy[source++];
    }
    return out;
}

static struct divisibility permute(struct divisibility in, const struct ir_operation *op)
{
    struct divisibility out = in;
    const struct ir_attribute *order = ir_attribute(op, IR_ATTRIBUTE_PERMUTATION);
    for (int d = 0; d < order->count; d++) {
        out.multiple[d] = in.multiple[order->list[d]];
        out.contiguity[d] = in.contiguity[order->list[d]];
        out.constancy[d] = in.constancy[order->list[d]];
    }
    return out;
}

/* x / 2^k and x & -(2^k) of groups; everything else keeps constancy alone. */
static struct divisibility divide(const struct walker *walker, const struct ir_operation *op, struct divisibility a)
{
    struct divisibility out = constancy_only(walker, op);
    bool positive = PLANTED(divisibility_of_negative_quotient) ||
                    range_of(walker->ranges, op->operands[0]).low >=
                        0; /* else quotients cut towards zero across groups */
    int64_t by;
    if (!ir_constant_integer(op->operands[1], &by) || !is_power_of_two(by))
        return out;
    for (int d = 0; d < IR_MAX_RANK; d++) {
        if (op->opcode == OP_DIV && a.contiguity[d] == 1 && a.multiple[d] >= by)
            out.multiple[d] = a.multiple[d] / by;
        /* in a group that starts at a multiple of its length, each aligned `by` of them have one quotient */
        bool aligned = positive && a.multiple[d] >= a.contiguity[d];
        if (op->opcode == OP_DIV && a.contiguity[d] > 1 && aligned)
            out.constancy[d] = int64_max(out.constancy[d], int64_min(by, a.contiguity[d]));
        if (op->opcode == OP_REM) {
            out.multiple[d] = int64_min(a.multiple[d], by);
            out.contiguity[d] = aligned ? int64_min(a.contiguity[d], by) : 1;
            if (!aligned)
                out.multiple[d] = a.contiguity[d] > 1 ? 1 : out.multiple[d];
        }
    }
    return out;
}

static struct divisibility select_between(struct divisibility condition, const struct ir_type *type,
                                          struct divisibility a, struct divisibility b)
{
    struct divisibility out = meet(a, b);
    for (int d = 0; d < type->rank; d++) {
        out.contiguity[d] = int64_min(out.contiguity[d], condition.constancy[d]);
        out.constancy[d] = int64_min(out.constancy[d], condition.constancy[d]);
        if (a.contiguity[d] > out.contiguity[d] || b.contiguity[d] > out.contiguity[d])
            out.multiple[d] = int64_min(out.multiple[d], out.contiguity[d] > 1 ? out.contiguity[d] : 1);
    }
    return out;
}

static struct divisibility argument_fact(const struct ir_function *function, const struct ir_value *value)
{
    struct divisibility out = unknown(value->type);
    if (value->index < function->facts.count && value->type->element == IR_POINTER && value->type->kind == IR_TILE) {
        int64_t align = function->facts.data[value->index].base_alignment;
        for (int d = 0; d < IR_MAX_RANK && align > 0; d++)
            out.multiple[d] = int64_max(out.multiple[d], power_in(align));
    }
    return out;
}

/* Extents and strides of an argument; sub-views share strides, and a pointer to a whole view its base. */
static struct divisibility view_fact(const struct ir_operation *op)
{
    struct divisibility out = unknown(op->results[0]->type);
    const struct ir_function *function = op->block->function;
    const struct ir_value *view = op->operands[0];
    int64_t d = ir_number(op, IR_ATTRIBUTE_DIMENSION, 0), multiple = 1;
    int64_t known = op->opcode == OP_EXTENT   ? view->type->extent[d]
                    : op->opcode == OP_STRIDE ? view->type->stride[d]
                                              : IR_DYNAMIC;
    if (known != IR_DYNAMIC)
        return same_everywhere(op->results[0]->type, power_in(known));
    if (view->definition || view->block->parent || view->index >= function->facts.count)
        return out;
    const struct ir_argument_fact *fact = &function->facts.data[view->index];
    if (op->opcode == OP_VIEW_POINTER)
        multiple = int64_max(out.multiple[0], fact->base_alignment > 0 ? power_in(fact->base_alignment) : 1);
    else
        multiple = op->opcode == OP_EXTENT ? fact->extent_multiple[d] : fact->stride_multiple[d];
    return same_everywhere(op->results[0]->type, multiple > 0 ? power_in(multiple) : 1);
}

static struct divisibility evaluate(const struct walker *walker, const struct ir_operation *op)
{
    const struct ir_type *type = op->results[0]->type;
    struct divisibility a = {0}, b = {0}, out = unknown(type);
    uint64_t bits;
    int64_t number;
    if (op->operand_count > 0)
        a = divisibility_of(walker->table, op->operands[0]);
    if (op->operand_count > 1)
        b = divisibility_of(walker->table, op->operands[1]);
    switch (op->opcode) {
    case OP_CONSTANT:
        return ir_constant_of(op->results[0], &bits) ? same_everywhere(type, power_in((int64_t)bits)) : out;
    case OP_IOTA:
        out.multiple[0] = LARGEST;
        out.contiguity[0] = power_in(type->extent[0]);
        if (out.contiguity[0] != type->extent[0]) /* groups start at multiples of their length */
            out.multiple[0] = out.contiguity[0];
        return out;
    case OP_SPLAT: return splat(a, type);
    case OP_BROADCAST: return broadcast(a, op->operands[0]->type, type);
    case OP_RESHAPE: return reshape(a, op->operands[0]->type, type);
    case OP_PERMUTE: return permute(a, op);
    case OP_CONVERT_LAYOUT: return a;
    case OP_ADD: return add(a, b, 1, false);
    case OP_SUB: return add(a, b, 1, true);
    case OP_POINTER_ADD: return add(a, b, int64_max(ir_element_info[type->pointee].bits / 8, 1), false);
    case OP_MUL: return multiply(a, b);
    case OP_SHL:
        return ir_constant_integer(op->operands[1], &number) && number >= 0 && number < 30
                   ? multiply(a, same_everywhere(type, INT64_C(1) << number))
                   : constancy_only(walker, op);
    case OP_DIV:
    case OP_REM: return divide(walker, op, a);
    case OP_SELECT:
        return select_between(op->operands[0]->type->rank ? a : same_everywhere(type, 1), type, b,
                              divisibility_of(walker->table, op->operands[2]));
    case OP_MIN:
    case OP_MAX:
        out = constancy_only(walker, op);
        for (int d = 0; d < IR_MAX_RANK; d++)
            out.multiple[d] = int64_min(of_each(&a, d), of_each(&b, d));
        return out;
    case OP_CAST: /* cutting bits keeps powers of two; a bool is another number, and saturating gives one */
        return ir_is_integer(op->operands[0]->type->element) && ir_is_integer(type->element) &&
                       !ir_number(op, IR_ATTRIBUTE_SATURATE, 0)
                   ? a
                   : constancy_only(walker, op);
    case OP_EXTENT:
    case OP_STRIDE:
    case OP_VIEW_POINTER: return view_fact(op);
    default:
        return (ir_op_info[op->opcode].traits & IR_TRAIT_ELEMENTWISE) && !op->region_count ? constancy_only(walker, op)
                                                                                           : out;
    }
}

static void set(struct walker *walker, const struct ir_value *value, struct divisibility known)
{
    if (is_tracked(value))
        walker->table->of[value->id] = known;
}

static void walk_block(struct walker *walker, const struct ir_block *block);

static bool feed_back(struct walker *walker, int count, struct ir_value *const *arguments, struct ir_value *const *next)
{
    bool fell = false;
    for (int i = 0; i < count; i++) {
        if (!is_tracked(arguments[i]))
            continue;
        struct divisibility old = divisibility_of(walker->table, arguments[i]);
        struct divisibility now = meet(old, divisibility_of(walker->table, next[i]));
        fell = fell || !same(&old, &now);
        set(walker, arguments[i], now);
    }
    return fell;
}

/* Whether the condition of a while says that the value is not the other one. */
static bool tells_apart(const struct ir_value *condition, const struct ir_value *value, const struct ir_value *other)
{
    const struct ir_operation *op = condition->definition;
    if (op && op->opcode == OP_AND)
        return tells_apart(op->operands[0], value, other) || tells_apart(op->operands[1], value, other);
    if (!op || op->opcode != OP_COMPARE)
        return false;
    enum ir_predicate predicate = (enum ir_predicate)ir_number(op, IR_ATTRIBUTE_PREDICATE, IR_PREDICATE_EQ);
    bool strict = predicate == IR_PREDICATE_LT || predicate == IR_PREDICATE_GT || predicate == IR_PREDICATE_NE;
    return strict && ((op->operands[0] == value && op->operands[1] == other) ||
                      (op->operands[1] == value && op->operands[0] == other));
}

const struct ir_value *divisibility_next(const struct ir_operation *loop, int number)
{
    const struct ir_operation *condition = ir_terminator(loop->regions[0]);
    const struct ir_value *next = ir_terminator(loop->regions[1])->operands[number];
    const struct ir_value *passed = loop->regions[0]->arguments.data[number];
    if (condition->operands[number + 1] != passed)
        return NULL;
    const struct ir_operation *choice = next->definition;
    for (int arm = 1; choice && choice->opcode == OP_SELECT && arm <= 2; arm++) {
        const struct ir_block *from = choice->operands[arm]->block;
        if (from != loop->regions[0] && from != loop->regions[1] &&
            tells_apart(condition->operands[0], passed, choice->operands[arm]))
            return choice->operands[3 - arm];
    }
    return next;
}

/* What the body of a while sees of what goes round. */
static void enter_body(struct walker *walker, const struct ir_operation *op, bool first_time)
{
    const struct ir_block *body = op->regions[1];
    for (int i = 0; i < op->result_count; i++) {
        const struct ir_value *argument = body->arguments.data[i];
        if (!divisibility_next(op, i))
            set(walker, argument, divisibility_of(walker->table, ir_terminator(op->regions[0])->operands[i + 1]));
        else if (first_time)
            set(walker, argument, divisibility_of(walker->table, op->operands[i]));
    }
}

static bool leave_body(struct walker *walker, const struct ir_operation *op)
{
    bool fell = false;
    for (int i = 0; i < op->result_count; i++) {
        const struct ir_value *next = divisibility_next(op, i);
        if (next)
            fell |= feed_back(walker, 1, &op->regions[1]->arguments.data[i], (struct ir_value *const *)&next);
    }
    return fell;
}

static void walk_loop(struct walker *walker, const struct ir_operation *op)
{
    bool is_for = op->opcode == OP_FOR;
    const struct ir_block *first = op->regions[0], *body = op->regions[is_for ? 0 : 1];
    int skip = is_for ? 3 : 0, count = op->result_count;
    struct ir_value *const *arguments = first->arguments.data + (is_for ? 1 : 0);
    if (is_for) {
        struct divisibility variable = divisibility_of(walker->table, op->operands[0]);
        struct divisibility step = divisibility_of(walker->table, op->operands[2]);
        if (PLANTED(divisibility_of_loop_step_alone))
            variable = step;
        /* lower + n * step; lower * step^n: a multiple of what lower is */
        set(walker, first->arguments.data[0],
            ir_number(op, IR_ATTRIBUTE_MULTIPLY, 0) ? variable : meet(variable, step));
    }
    for (int i = 0; i < count; i++)
        set(walker, arguments[i], divisibility_of(walker->table, op->operands[i + skip]));
    bool fell = true;
    for (int round = 0; fell; round++) {
        walk_block(walker, first);
        if (!is_for) {
            enter_body(walker, op, round == 0);
            walk_block(walker, body);
        }
        fell = !is_for && leave_body(walker, op);
        fell |= feed_back(walker, count, arguments, ir_terminator(body)->operands);
    }
    for (int i = 0; i < count; i++)
        set(walker, op->results[i],
            divisibility_of(walker->table, is_for ? arguments[i] : ir_terminator(first)->operands[i + 1]));
}

static void walk_operation(struct walker *walker, const struct ir_operation *op)
{
    if (op->opcode == OP_FOR || op->opcode == OP_WHILE) {
        walk_loop(walker, op);
        return;
    }
    for (int i = 0; i < op->region_count; i++) {
        for (int k = 0; k < op->regions[i]->arguments.count; k++)
            set(walker, op->regions[i]->arguments.data[k], unknown(op->regions[i]->arguments.data[k]->type));
        walk_block(walker, op->regions[i]);
    }
    for (int i = 0; i < op->result_count; i++) {
        if (!is_tracked(op->results[i]))
            continue;
        if (op->opcode == OP_IF)
            set(walker, op->results[i],
                meet(divisibility_of(walker->table, ir_terminator(op->regions[0])->operands[i]),
                     divisibility_of(walker->table, ir_terminator(op->regions[1])->operands[i])));
        else
            set(walker, op->results[i], op->result_count == 1 ? evaluate(walker, op) : unknown(op->results[i]->type));
    }
}

static void walk_block(struct walker *walker, const struct ir_block *block)
{
    for (const struct ir_operation *op = block->first; op; op = op->next)
        walk_operation(walker, op);
}

/* A scalar is alike in all dimensions, as where it is spread over a tile. */
static void set_multiple(struct walker *walker, const struct ir_value *scalar, int64_t multiple)
{
    struct divisibility known = divisibility_of(walker->table, scalar);
    for (int d = 0; d < IR_MAX_RANK; d++)
        known.multiple[d] = int64_max(known.multiple[d], multiple);
    set(walker, scalar, known);
}

const struct ir_value *divisibility_uncast(const struct ir_value *value)
{
    for (const struct ir_operation *op = value->definition; op && op->opcode == OP_CAST; op = value->definition) {
        enum ir_element from = op->operands[0]->type->element, to = value->type->element;
        if (!ir_is_integer(from) || !ir_is_integer(to) || ir_element_info[from].bits < 32 ||
            ir_element_info[to].bits < 32 || ir_number(op, IR_ATTRIBUTE_SATURATE, 0))
            break;
        value = op->operands[0];
    }
    return value;
}

/* The scalar of `compare predicate(eq) %scalar, 0`, or NULL. */
static const struct ir_value *told_zero(const struct ir_value *condition)
{
    const struct ir_operation *op = condition->definition;
    int64_t zero;
    bool told = op && op->opcode == OP_COMPARE && ir_number(op, IR_ATTRIBUTE_PREDICATE, -1) == IR_PREDICATE_EQ &&
                ir_constant_integer(op->operands[1], &zero) && zero == 0 && op->operands[0]->type->rank == 0;
    return told ? op->operands[0] : NULL;
}

const struct ir_value *divisibility_told(const struct ir_value *condition, int64_t *by)
{
    const struct ir_value *zero = told_zero(condition);
    const struct ir_operation *rest = zero ? divisibility_uncast(zero)->definition : NULL;
    bool told = rest && rest->opcode == OP_REM && ir_constant_integer(rest->operands[1], by) && *by != 0;
    return told ? rest->operands[0] : NULL;
}

/* assume(x % 2^k == 0) at the top of the function: x is a multiple, and the rest, computed before, is 0.  Casts of
 * them, and what they are casts of, are as well. */
static void apply_assumption(struct walker *walker, const struct ir_value *condition)
{
    const struct ir_operation *op = condition->definition;
    const struct ir_value *zero = told_zero(condition);
    int64_t by;
    if (op && op->opcode == OP_AND) {
        apply_assumption(walker, op->operands[0]);
        apply_assumption(walker, op->operands[1]);
    }
    if (zero)
        set_multiple(walker, zero, power_in(0));
    const struct ir_value *multiple = divisibility_told(condition, &by);
    if (!multiple)
        return;
    set_multiple(walker, multiple, power_in(by));
    set_multiple(walker, divisibility_uncast(multiple), power_in(by));
}

const struct divisibilities *divisibility_analyse(const struct ir_function *function, struct arena *arena)
{
    struct divisibilities *table = ARENA_NEW(arena, struct divisibilities);
    table->count = function->next_value_id;
    table->of = ARENA_ARRAY(arena, struct divisibility, table->count);
    struct walker walker = {.function = function, .table = table, .ranges = ranges_analyse(function, arena)};
    for (int i = 0; i < function->body->arguments.count; i++)
        set(&walker, function->body->arguments.data[i], argument_fact(function, function->body->arguments.data[i]));
    for (const struct ir_operation *op = function->body->first; op; op = op->next) {
        walk_operation(&walker, op);
        if (op->opcode == OP_ASSUME) /* holds for what comes after; what came before was computed without */
            apply_assumption(&walker, op->operands[0]);
    }
    return table;
}
