/* Mistakes that change nothing that a program or a machine could see.  Each rule is an argument that holds for every
 * function, not for one that was tried. */
#include "mutate.h"

/* ---- the end of shared memory's use ---- */

static bool touches_shared(const struct ir_operation *op)
{
    unsigned traits = IR_TRAIT_SHARED_READ | IR_TRAIT_SHARED_WRITE | IR_TRAIT_SYNC;
    if (ir_op_info[op->opcode].traits & traits || ir_attribute(op, IR_ATTRIBUTE_SHARED_OFFSET))
        return true;
    for (int r = 0; r < op->region_count; r++)
        for (const struct ir_operation *inner = op->regions[r]->first; inner; inner = inner->next)
            if (touches_shared(inner))
                return true;
    return false;
}

/* Behind the operation, until the block ends. */
static bool is_last_use(const struct ir_operation *op)
{
    if (op->block->parent)
        return false;
    for (op = op->next; op; op = op->next)
        if (touches_shared(op))
            return false;
    return true;
}

/* ---- who keeps others waiting ---- */

static bool waits_for_others(const struct ir_operation *op)
{
    return op->opcode == OP_MBARRIER_WAIT || op->opcode == OP_BARRIER || op->opcode == OP_CLUSTER_BARRIER ||
           op->opcode == OP_TURN_TAKE || op->opcode == OP_ROLES || ir_attribute(op, IR_ATTRIBUTE_SHARED_OFFSET);
}

static const char *swapped(const struct ir_operation *op)
{
    const struct ir_operation *next = mutation_swap_partner(op);
    if (op->opcode == OP_MBARRIER_EXPECT && next->opcode == OP_TMA_LOAD)
        return "a phase ends when all have arrived and all bytes came, in whatever order";
    if (op->opcode == OP_MBARRIER_ARRIVE && !waits_for_others(next))
        return "an arrival that comes later tells more, and what is now in front of it waits for nobody";
    if (op->opcode == OP_CP_WAIT && next->opcode == OP_BARRIER && is_last_use(next))
        return "nothing of shared memory follows";
    return NULL;
}

/* ---- turns ---- */

struct count { enum ir_opcode opcode; int found; };

static void count_operation(struct ir_operation *op, void *data)
{
    struct count *c = data;
    c->found += op->opcode == c->opcode;
}

/* ---- mbarriers that keep nobody waiting ---- */

static bool in_loop(const struct ir_operation *op)
{
    for (op = op->block->parent; op; op = op->block->parent)
        if (op->opcode == OP_FOR || op->opcode == OP_WHILE)
            return true;
    return false;
}

static bool fold(const struct ir_value *value, int64_t *number)
{
    const struct ir_operation *op = value->definition;
    int64_t a, b;
    if (!op || op->opcode != OP_XOR)
        return ir_constant_integer(value, number);
    if (!fold(op->operands[0], &a) || !fold(op->operands[1], &b))
        return false;
    *number = a ^ b;
    return true;
}

struct uses { const struct ir_value *barrier; bool once; };

static void look_at_use(struct ir_operation *op, void *data)
{
    struct uses *u = data;
    int64_t phase;
    bool waits = op->opcode == OP_MBARRIER_WAIT, arrives = op->opcode == OP_MBARRIER_ARRIVE;
    for (int i = 0; i < op->operand_count; i++)
        if (op->operands[i] == u->barrier)
            u->once = u->once && !in_loop(op) && (waits || arrives) &&
                      (!waits || (fold(op->operands[2], &phase) && (phase & 1)));
}

/* All arrive once and wait once, for the phase that a new mbarrier has behind it: nobody ever waits or learns
 * anything. */
static const char *never_waits(struct ir_function *function, const struct ir_operation *op)
{
    const struct ir_value *barrier = op->opcode == OP_MBARRIER ? op->results[0] : op->operands[0];
    struct uses uses = {barrier, true};
    ir_walk(function->body, look_at_use, &uses);
    return uses.once ? "each wait for this mbarrier comes once, and finds its phase ended from the start" : NULL;
}

static const char *dropped(struct ir_function *function, const struct ir_operation *op)
{
    struct count takes = {OP_TURN_TAKE, 0};
    ir_walk(function->body, count_operation, &takes);
    if (op->opcode == OP_TURN_START && !takes.found)
        return "nobody takes the turns";
    if (op->opcode == OP_BARRIER && is_last_use(op))
        return "nothing of shared memory follows";
    if (op->opcode == OP_MBARRIER_ARRIVE || op->opcode == OP_MBARRIER_WAIT)
        return never_waits(function, op);
    return NULL;
}

/* ---- conditions that are always true ---- */

/* A number that a value is not greater than: another value and a distance from it. */
struct bound { const struct ir_value *value; int64_t distance; };

static struct bound take_apart(const struct ir_value *value)
{
    struct bound bound = {value, 0};
    int64_t number;
    for (;;) {
        const struct ir_operation *op = bound.value->definition;
        bool sum = op && (op->opcode == OP_ADD || op->opcode == OP_SUB);
        if (!sum || !ir_constant_integer(op->operands[1], &number))
            return bound;
        bound.distance += op->opcode == OP_ADD ? number : -number;
        bound.value = op->operands[0];
    }
}

static bool is_same(const struct ir_value *a, const struct ir_value *b)
{
    const struct ir_operation *x = a->definition, *y = b->definition;
    return a == b || (x && y && x->opcode == OP_EXTENT && y->opcode == OP_EXTENT && x->operands[0] == y->operands[0] &&
                      ir_number(x, IR_ATTRIBUTE_DIMENSION, 0) == ir_number(y, IR_ATTRIBUTE_DIMENSION, 0));
}

/* value <= limit, by the arms of minima: extents and indexes are far from the ends of their 64 bits. */
static bool is_at_most(const struct ir_value *value, struct bound limit)
{
    struct bound own = take_apart(value);
    if (is_same(own.value, limit.value) && own.distance <= limit.distance)
        return true;
    const struct ir_operation *op = own.value->definition;
    limit.distance -= own.distance;
    return op && op->opcode == OP_MIN && (is_at_most(op->operands[0], limit) || is_at_most(op->operands[1], limit));
}

/* k < limit, k the variable of a loop that ends in front of it. */
static bool is_always_true(const struct ir_value *condition)
{
    const struct ir_operation *op = condition->definition;
    if (!op || op->opcode != OP_COMPARE || ir_number(op, IR_ATTRIBUTE_PREDICATE, 0) != IR_PREDICATE_LT)
        return false;
    const struct ir_value *k = op->operands[0];
    const struct ir_operation *loop = k->block->parent;
    int64_t step;
    bool counts = !k->definition && k->index == 0 && loop && loop->opcode == OP_FOR &&
                  ir_constant_integer(loop->operands[2], &step) && step > 0 && k->type->element == IR_INDEX;
    return counts && is_at_most(loop->operands[1], take_apart(op->operands[1]));
}

const char *mutation_harmless(struct ir_function *function, const struct mutation *mutation)
{
    const struct ir_operation *op = mutation_operation(function, mutation->operation);
    switch (mutation->kind) {
    case MUTATION_SWAPPED: return swapped(op);
    case MUTATION_DROP: return dropped(function, op);
    case MUTATION_FEWER_ARRIVALS: case MUTATION_MORE_ARRIVALS: return never_waits(function, op);
    case MUTATION_ALONE:
        return op->opcode == OP_TMA_LOAD ? "every block gets all bytes by itself, when all let go of the place" : NULL;
    case MUTATION_SECOND_OPERAND:
        return op->opcode == OP_SELECT && is_always_true(op->operands[0]) ? "that is what it always chooses" : NULL;
    default: return NULL;
    }
}
