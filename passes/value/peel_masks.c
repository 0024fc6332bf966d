/* Masks of a loop that ask nothing of most iterations: below a bound they are true in every element, or the whole tile
 * lies inside its view.
 *
 *     c = j + iota(64);  where(c[None, :] < n, s, -inf)              true everywhere while  j < n - 63
 *     load(x[row, j +: 4096], other = -inf)                          inside while  j < extent - 4095
 *
 * A comparison is read as  variable + terms + (something from low to high) < 0: terms are scalars from outside of the
 * loop, what is between low and high differs from element to element.  Only masks of many elements count, since a second
 * copy of the loop is not free, and of loads only those that fill with something else than zero: zeros come with copies
 * at no cost. */
#include "ir/facts/linear.h"
#include "passes/base/rewrite.h"
#include "passes/value/peel.h"

enum { TERM_LIMIT = 4, LEAST_MASK = 4096, LEAST_LOAD = 1024 };

struct sum {
    struct ir_value *term[TERM_LIMIT];
    int sign[TERM_LIMIT], count;
    int variable; /* how often the variable is in it */
    int64_t low, high;
};

static bool add_number(struct sum *sum, int64_t number, int sign)
{
    enum { MOST = 1 << 24 };
    sum->low += sign * number;
    sum->high += sign * number;
    return number >= -MOST && number <= MOST;
}

/* Adds sign * value; false: it is no such sum. */
static bool add_value(const struct peel *peel, struct sum *sum, struct ir_value *value, int sign)
{
    const struct ir_operation *op = value->definition;
    int64_t number;
    if (value == peel->variable) {
        sum->variable += sign;
        return true;
    }
    if (ir_constant_integer(value, &number))
        return add_number(sum, number, sign);
    if (value->type->rank == 0 && !ir_is_inside(value, peel->loop)) {
        if (sum->count == TERM_LIMIT || !peel_is_moderate(peel, value) || value->type->element == IR_U64 ||
            ir_element_info[value->type->element].bits > ir_element_info[peel->variable->type->element].bits)
            return false;
        sum->term[sum->count] = value;
        sum->sign[sum->count++] = sign;
        return true;
    }
    if (!op)
        return false;
    switch (op->opcode) {
    case OP_SPLAT:
    case OP_BROADCAST:
    case OP_RESHAPE:
    case OP_PERMUTE: return add_value(peel, sum, op->operands[0], sign);
    case OP_CAST: return linear_keeps_number(peel->ranges, op) && add_value(peel, sum, op->operands[0], sign);
    case OP_IOTA:
        number = value->type->extent[0] - 1;
        sum->high += sign > 0 ? number : 0;
        sum->low -= sign > 0 ? 0 : number;
        return true;
    case OP_ADD:
    case OP_SUB:
        return linear_is_exact(peel->ranges, op) && add_value(peel, sum, op->operands[0], sign) &&
               add_value(peel, sum, op->operands[1], op->opcode == OP_ADD ? sign : -sign);
    default: return false;
    }
}

/* left < right or left <= right, as  variable + terms + high < 0  in every element. */
static bool sum_of_compare(const struct peel *peel, const struct ir_operation *compare, struct sum *sum)
{
    int64_t predicate = ir_number(compare, IR_ATTRIBUTE_PREDICATE, IR_PREDICATE_EQ);
    bool less = predicate == IR_PREDICATE_LT || predicate == IR_PREDICATE_LE;
    if ((!less && predicate != IR_PREDICATE_GT && predicate != IR_PREDICATE_GE) ||
        !ir_is_integer(compare->operands[0]->type->element))
        return false;
    *sum = (struct sum){0};
    if (!add_value(peel, sum, compare->operands[0], less ? 1 : -1) ||
        !add_value(peel, sum, compare->operands[1], less ? -1 : 1) || sum->variable != 1)
        return false;
    sum->high -= predicate == IR_PREDICATE_LE || predicate == IR_PREDICATE_GE;
    return true;
}

/* Whether the condition decides over many elements of the loop's body. */
static bool is_wide(const struct peel *peel, const struct ir_value *condition, int depth)
{
    for (const struct ir_use *use = condition->uses; use; use = use->next) {
        const struct ir_operation *user = use->user;
        if (user->block != peel->loop->regions[0] || depth == 0)
            continue;
        if (user->opcode == OP_SELECT && use->index == 0 && ir_type_elements(user->results[0]->type) >= LEAST_MASK)
            return true;
        bool passes_on = user->opcode == OP_AND || user->opcode == OP_OR || user->opcode == OP_BROADCAST ||
                         user->opcode == OP_RESHAPE || user->opcode == OP_PERMUTE;
        if (passes_on && is_wide(peel, user->results[0], depth - 1))
            return true;
    }
    return false;
}

/* The variable lies below this where the comparison holds everywhere: number - terms. */
static struct ir_value *build_bound(const struct peel *peel, struct ir_builder *build, const struct sum *sum)
{
    const struct ir_type *type = peel->variable->type;
    struct ir_value *bound = ir_constant_int(build, type, -sum->high);
    for (int i = 0; i < sum->count; i++)
        bound = ir_binary(build, sum->sign[i] > 0 ? OP_SUB : OP_ADD, bound,
                          ir_cast(build, sum->term[i], type->element));
    return bound;
}

/* The only dimension of the place that is not known to be inside, if it runs with the variable; -1: another case. */
static int open_dimension(const struct peel *peel, const struct ir_operation *op, const struct ir_access *access,
                          int64_t *offset)
{
    int open = -1;
    for (int d = 0; d < access->rank; d++) {
        int64_t length = access->place[d] > 0 ? access->place[d] : 1;
        if (ir_number(op, IR_ATTRIBUTE_INSIDE, 0) >> d & 1 ||
            inside_is_proven(peel->inside, op, access->view, d, access->index[d], length))
            continue;
        struct linear index = linear_of(peel->ranges, access->index[d]);
        struct range start = range_of(peel->ranges, peel->loop->operands[0]);
        if (open >= 0 || index.term != peel->variable || index.scale != 1 || index.offset < 0 || start.low < 0 ||
            index.offset > INT32_MAX / 4)
            return -1;
        open = d;
        *offset = index.offset + length;
    }
    return open;
}

/* Inside while  variable < extent - (offset + length) + 1. */
static struct ir_value *bound_of_load(const struct peel *peel, struct ir_builder *build, const struct ir_operation *op)
{
    struct ir_access access;
    uint64_t bits;
    int64_t offset;
    if (op->opcode != OP_LOAD || !ir_access_of(op, &access) || ir_type_elements(op->results[0]->type) < LEAST_LOAD ||
        (ir_constant_of(access.other, &bits) && bits == 0) || ir_is_inside(access.view, peel->loop) ||
        peel->variable->type->element != IR_INDEX || inside_may_be_absent(access.view))
        return NULL;
    int d = open_dimension(peel, op, &access, &offset);
    if (d < 0)
        return NULL;
    struct ir_value *extent = ir_build_value(build, OP_EXTENT, peel->variable->type, 1, &access.view);
    ir_set_number(extent->definition, IR_ATTRIBUTE_DIMENSION, d);
    return ir_binary(build, OP_ADD, extent, ir_constant_int(build, peel->variable->type, 1 - offset));
}

struct ir_value *peel_bound_of_masks(const struct peel *peel, struct peel_masks *masks)
{
    struct ir_builder build = rewrite_before(peel->loop);
    struct ir_value *least = NULL;
    masks->count = 0;
    for (struct ir_operation *op = peel->loop->regions[0]->first; op; op = op->next) {
        struct ir_value *bound = NULL;
        struct sum sum;
        if (op->opcode == OP_COMPARE && op->results[0]->type->rank && masks->count < PEEL_MASK_LIMIT &&
            is_wide(peel, op->results[0], PEEL_MASK_LIMIT) && sum_of_compare(peel, op, &sum)) {
            bound = build_bound(peel, &build, &sum);
            masks->compare[masks->count++] = op;
        } else {
            bound = bound_of_load(peel, &build, op);
        }
        if (bound)
            least = least ? ir_binary(&build, OP_MIN, least, bound) : bound;
    }
    return least;
}
