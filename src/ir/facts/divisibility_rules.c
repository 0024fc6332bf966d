/* The rules of divisibility: what is known of an operation's result when something is known of its operands.  Everything
 * is a power of two.  Integers wrap at powers of two, which keeps every statement about a power of two true; groups that
 * would run over the end of their type are harmless for addresses, because an index that wraps is outside its view.
 *
 * Two walks use these rules: divisibility.c goes forward over a whole function, and divisibility_ask.c goes back from one
 * value.  They differ in how they go round loops, and in nothing else. */
#include "ir/facts/divisibility_rules.h"

#include "base/plant.h"
#include "ir/query.h"

enum { LARGEST = 1 << 30 };

int64_t divisibility_power(int64_t number)
{
    if (number == 0)
        return LARGEST;
    int bit = __builtin_ctzll((uint64_t)number);
    return bit >= 30 ? LARGEST : INT64_C(1) << bit;
}

struct divisibility divisibility_unknown(const struct ir_type *type)
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
    struct divisibility out = divisibility_unknown(type);
    for (int d = 0; d < IR_MAX_RANK; d++) {
        out.multiple[d] = multiple;
        out.constancy[d] = d < out.rank ? divisibility_power(type->extent[d]) : 1;
    }
    return out;
}

bool divisibility_is_tracked(const struct ir_value *value)
{
    enum ir_element e = value->type->element;
    return value->type->kind == IR_TILE && (ir_is_integer(e) || e == IR_POINTER || e == IR_BOOL);
}

/* Groups shorter than they were start inside the old ones: at multiples of the new length only. */
struct divisibility divisibility_meet(struct divisibility a, struct divisibility b)
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

bool divisibility_same(const struct divisibility *a, const struct divisibility *b)
{
    for (int d = 0; d < IR_MAX_RANK; d++)
        if (a->multiple[d] != b->multiple[d] || a->contiguity[d] != b->contiguity[d] ||
            a->constancy[d] != b->constancy[d])
            return false;
    return true;
}

/* What divides every element, not only the first of each group. */
static int64_t of_each(const struct divisibility *a, int d) { return a->contiguity[d] > 1 ? 1 : a->multiple[d]; }
/* What rows of a matrix that begin where the run's elements say are taken for: who guesses takes the first row's. */
static int64_t of_run(const struct divisibility *a, int d, bool guesses)
{
    return guesses ? a->multiple[d] : of_each(a, d);
}

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

/* A run times a number: what divides every element of both. */
static struct divisibility multiply(struct divisibility a, struct divisibility b, bool guesses)
{
    for (int d = 0; d < IR_MAX_RANK; d++) {
        int64_t left = of_run(&a, d, guesses || PLANTED(divisibility_product_of_run)), right = of_run(&b, d, guesses);
        a.multiple[d] = left > LARGEST / right ? LARGEST : left * right;
        a.contiguity[d] = 1;
        a.constancy[d] = int64_min(a.constancy[d], b.constancy[d]);
    }
    return a;
}

/* What is known of the operands of one operation, each asked for once. */
enum { OPERANDS = 3 };
struct known {
    int count;
    struct divisibility of[OPERANDS];
};

static void ask_operands(const struct divisibility_source *source, const struct ir_operation *op, struct known *in)
{
    bool asks = ir_has_trait(op, IR_TRAIT_PURE) && !op->region_count && op->operand_count <= OPERANDS;
    in->count = asks ? op->operand_count : 0;
    for (int i = 0; i < in->count; i++)
        in->of[i] = source->of(source, op->operands[i]);
}

/* The same in every element as far as the operands are: for operations nothing else is known of. */
static struct divisibility constancy_only(const struct ir_operation *op, const struct known *in)
{
    struct divisibility out = divisibility_unknown(op->results[0]->type);
    for (int d = 0; d < out.rank; d++) {
        int64_t constancy = divisibility_power(op->results[0]->type->extent[d]);
        for (int i = 0; i < op->operand_count; i++) {
            bool known = i < in->count && divisibility_is_tracked(op->operands[i]) &&
                         op->operands[i]->type->rank == out.rank;
            if (op->operands[i]->type->rank)
                constancy = int64_min(constancy, known ? in->of[i].constancy[d] : 1);
        }
        out.constancy[d] = constancy;
    }
    return out;
}

/* Each element is a multiple of what the first operand's was, and no more is known of its neighbours. */
static struct divisibility of_multiples(const struct ir_operation *op, const struct known *in)
{
    struct divisibility out = constancy_only(op, in);
    for (int d = 0; d < IR_MAX_RANK; d++)
        out.multiple[d] = of_each(&in->of[0], d);
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
            in.constancy[d] = divisibility_power(to->extent[d]);
        }
    return in;
}

/* Extents of 1 come and go: the others keep what they have.  Anything else: only a tile of equal elements keeps
 * something. */
static struct divisibility reshape(struct divisibility in, const struct ir_type *from, const struct ir_type *to,
                                   bool guesses)
{
    struct divisibility out = divisibility_unknown(to);
    int64_t least = LARGEST;
    bool all_same = true;
    for (int d = 0; d < from->rank; d++) {
        least = int64_min(least, of_run(&in, d, guesses));
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
            return divisibility_unknown(to);
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

/* x / 2^k and x % 2^k of groups; everything else keeps constancy alone. */
static struct divisibility divide(const struct divisibility_source *source, const struct ir_operation *op,
                                  const struct known *in)
{
    struct divisibility a = in->of[0], out = constancy_only(op, in);
    bool positive = PLANTED(divisibility_of_negative_quotient) ||
                    (source->ranges && range_of(source->ranges, op->operands[0]).low >=
                                           0); /* else quotients cut towards zero across groups */
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

/* x >> k rounds down, whatever the sign: groups of 2^k that are aligned have one result. */
static struct divisibility shift_right(const struct ir_operation *op, const struct known *in)
{
    struct divisibility a = in->of[0], out = constancy_only(op, in);
    int64_t amount;
    if (!ir_constant_integer(op->operands[1], &amount) || amount < 0 || amount >= 30)
        return out;
    int64_t by = INT64_C(1) << amount;
    for (int d = 0; d < IR_MAX_RANK; d++) {
        if (a.contiguity[d] == 1 && a.multiple[d] >= by)
            out.multiple[d] = a.multiple[d] / by;
        if (a.contiguity[d] > 1 && a.multiple[d] >= a.contiguity[d])
            out.constancy[d] = int64_max(out.constancy[d], int64_min(by, a.contiguity[d]));
    }
    return out;
}

static struct divisibility select_between(struct divisibility condition, const struct ir_type *type,
                                          struct divisibility a, struct divisibility b)
{
    struct divisibility out = divisibility_meet(a, b);
    for (int d = 0; d < type->rank; d++) {
        out.contiguity[d] = int64_min(out.contiguity[d], condition.constancy[d]);
        out.constancy[d] = int64_min(out.constancy[d], condition.constancy[d]);
        if (a.contiguity[d] > out.contiguity[d] || b.contiguity[d] > out.contiguity[d])
            out.multiple[d] = int64_min(out.multiple[d], out.contiguity[d] > 1 ? out.contiguity[d] : 1);
    }
    return out;
}

struct divisibility divisibility_of_argument(const struct ir_value *value)
{
    const struct ir_function *function = value->block->function;
    struct divisibility out = divisibility_unknown(value->type);
    if (value->index < function->facts.count && value->type->element == IR_POINTER && value->type->kind == IR_TILE) {
        int64_t align = function->facts.data[value->index].base_alignment;
        for (int d = 0; d < IR_MAX_RANK && align > 0; d++)
            out.multiple[d] = int64_max(out.multiple[d], divisibility_power(align));
    }
    return out;
}

/* Extents and strides of an argument; sub-views share strides, and a pointer to a whole view its base. */
static struct divisibility view_fact(const struct ir_operation *op)
{
    struct divisibility out = divisibility_unknown(op->results[0]->type);
    const struct ir_function *function = op->block->function;
    const struct ir_value *view = op->operands[0];
    int64_t d = ir_number(op, IR_ATTRIBUTE_DIMENSION, 0), multiple = 1;
    int64_t known = op->opcode == OP_EXTENT   ? view->type->extent[d]
                    : op->opcode == OP_STRIDE ? view->type->stride[d]
                                              : IR_DYNAMIC;
    if (known != IR_DYNAMIC)
        return same_everywhere(op->results[0]->type, divisibility_power(known));
    if (view->definition || view->block->parent || view->index >= function->facts.count)
        return out;
    const struct ir_argument_fact *fact = &function->facts.data[view->index];
    if (op->opcode == OP_VIEW_POINTER)
        multiple = int64_max(out.multiple[0], fact->base_alignment > 0 ? divisibility_power(fact->base_alignment) : 1);
    else
        multiple = op->opcode == OP_EXTENT ? fact->extent_multiple[d] : fact->stride_multiple[d];
    return same_everywhere(op->results[0]->type, multiple > 0 ? divisibility_power(multiple) : 1);
}

struct divisibility divisibility_evaluate(const struct divisibility_source *source, const struct ir_operation *op)
{
    const struct ir_type *type = op->results[0]->type;
    struct divisibility out = divisibility_unknown(type);
    struct known in = {0};
    uint64_t bits;
    int64_t number;
    ask_operands(source, op, &in);
    struct divisibility a = in.of[0], b = in.of[1];
    switch (op->opcode) {
    case OP_CONSTANT:
        return ir_constant_of(op->results[0], &bits) ? same_everywhere(type, divisibility_power((int64_t)bits)) : out;
    case OP_IOTA:
        out.multiple[0] = LARGEST;
        out.contiguity[0] = divisibility_power(type->extent[0]);
        if (out.contiguity[0] != type->extent[0]) /* groups start at multiples of their length */
            out.multiple[0] = out.contiguity[0];
        return out;
    case OP_SPLAT: return splat(a, type);
    case OP_BROADCAST: return broadcast(a, op->operands[0]->type, type);
    case OP_RESHAPE: return reshape(a, op->operands[0]->type, type, source->guesses);
    case OP_PERMUTE: return permute(a, op);
    case OP_CONVERT_LAYOUT: return a;
    case OP_ADD: return add(a, b, 1, false);
    case OP_SUB: return add(a, b, 1, true);
    case OP_POINTER_ADD: return add(a, b, int64_max(ir_element_info[type->pointee].bits / 8, 1), false);
    case OP_MUL: return multiply(a, b, source->guesses);
    case OP_SHL:
        if (ir_constant_integer(op->operands[1], &number) && number >= 0 && number < 30)
            return multiply(a, same_everywhere(type, INT64_C(1) << number), false);
        return of_multiples(op, &in);
    case OP_SHR: return shift_right(op, &in);
    case OP_NEG: return of_multiples(op, &in);
    case OP_DIV:
    case OP_REM: return divide(source, op, &in);
    case OP_SELECT:
        return select_between(op->operands[0]->type->rank ? a : same_everywhere(type, 1), type, b, in.of[2]);
    case OP_MIN:
    case OP_MAX:
        out = constancy_only(op, &in);
        for (int d = 0; d < IR_MAX_RANK; d++)
            out.multiple[d] = int64_min(of_each(&a, d), of_each(&b, d));
        return out;
    case OP_CAST: /* cutting bits keeps powers of two; a bool is another number, and saturating gives one */
        return ir_is_integer(op->operands[0]->type->element) && ir_is_integer(type->element) &&
                       !ir_number(op, IR_ATTRIBUTE_SATURATE, 0)
                   ? a
                   : constancy_only(op, &in);
    case OP_EXTENT:
    case OP_STRIDE:
    case OP_VIEW_POINTER: return view_fact(op);
    default:
        return (ir_op_info[op->opcode].traits & IR_TRAIT_ELEMENTWISE) && !op->region_count ? constancy_only(op, &in)
                                                                                           : out;
    }
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
const struct ir_value *divisibility_told_zero(const struct ir_value *condition)
{
    const struct ir_operation *op = condition->definition;
    int64_t zero;
    bool told = op && op->opcode == OP_COMPARE && ir_number(op, IR_ATTRIBUTE_PREDICATE, -1) == IR_PREDICATE_EQ &&
                ir_constant_integer(op->operands[1], &zero) && zero == 0 && op->operands[0]->type->rank == 0;
    return told ? op->operands[0] : NULL;
}

/* x & 15 is what x % 16 is: the constant's lowest bit that is not set is what divides x where nothing is left. */
const struct ir_value *divisibility_told(const struct ir_value *condition, int64_t *by)
{
    const struct ir_value *zero = divisibility_told_zero(condition);
    const struct ir_operation *rest = zero ? divisibility_uncast(zero)->definition : NULL;
    if (!rest || (rest->opcode != OP_REM && rest->opcode != OP_AND) || !ir_constant_integer(rest->operands[1], by))
        return NULL;
    if (rest->opcode == OP_AND)
        *by = (int64_t)(~(uint64_t)*by & ((uint64_t)*by + 1));
    return *by != 0 ? rest->operands[0] : NULL;
}
