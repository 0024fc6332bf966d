/* Mistakes that change nothing that a program or a machine could see.  Each rule is an argument that holds for every
 * function, not for one that was tried. */
#include "redundant.h"

#include "ir/query.h"

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

bool mutation_contains(const struct ir_operation *op, enum ir_opcode opcode)
{
    if (op->opcode == opcode)
        return true;
    for (int r = 0; r < op->region_count; r++)
        for (const struct ir_operation *inner = op->regions[r]->first; inner; inner = inner->next)
            if (mutation_contains(inner, opcode))
                return true;
    return false;
}

static bool any_pending(const struct ir_block *block, enum ir_opcode wait)
{
    for (const struct ir_operation *op = block->first; op; op = op->next) {
        if (op->opcode == wait && ir_number(op, IR_ATTRIBUTE_PENDING, 0))
            return true;
        for (int r = 0; r < op->region_count; r++)
            if (any_pending(op->regions[r], wait))
                return true;
    }
    return false;
}

bool mutation_has_pending(const struct ir_function *function, enum ir_opcode wait)
{
    return any_pending(function->body, wait);
}

/* ---- mbarriers that keep nobody waiting ---- */

bool mutation_fold(const struct ir_value *value, int64_t *number)
{
    const struct ir_operation *op = value->definition;
    int64_t a, b;
    if (!op || op->opcode != OP_XOR)
        return ir_constant_integer(value, number);
    if (!mutation_fold(op->operands[0], &a) || !mutation_fold(op->operands[1], &b))
        return false;
    *number = a ^ b;
    return true;
}

struct uses {
    const struct ir_value *barrier;
    bool once;
};

static void look_at_use(struct ir_operation *op, void *data)
{
    struct uses *u = data;
    int64_t phase;
    bool waits = op->opcode == OP_MBARRIER_WAIT, arrives = op->opcode == OP_MBARRIER_ARRIVE;
    for (int i = 0; i < op->operand_count; i++)
        if (op->operands[i] == u->barrier)
            u->once = u->once && !ir_is_in_loop(op) && (waits || arrives) &&
                      (!waits || (mutation_fold(op->operands[2], &phase) && (phase & 1)));
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

/* The first wait of a role for an mbarrier, outside loops, for the phase that a new one has behind it. */
static const char *first_wait(const struct ir_operation *op)
{
    int64_t phase;
    if (op->opcode != OP_MBARRIER_WAIT || ir_is_in_loop(op) || !mutation_fold(op->operands[2], &phase) || !(phase & 1))
        return NULL;
    for (const struct ir_operation *inner = op; inner && inner->opcode != OP_ROLES; inner = inner->block->parent)
        for (const struct ir_operation *old = inner->previous; old; old = old->previous)
            if (old->opcode == OP_MBARRIER_WAIT ? old->operands[0] == op->operands[0]
                                                : mutation_contains(old, OP_MBARRIER_WAIT))
                return NULL;
    return "the first wait, for the phase that a new mbarrier has behind it, is sure of nothing";
}

/* ---- who keeps others waiting ---- */

static bool waits_for_others(const struct ir_operation *op)
{
    return op->opcode == OP_MBARRIER_WAIT || op->opcode == OP_BARRIER || op->opcode == OP_CLUSTER_BARRIER ||
           op->opcode == OP_TURN_TAKE || op->opcode == OP_ROLES || ir_attribute(op, IR_ATTRIBUTE_SHARED_OFFSET);
}

static bool is_of_copies(const struct ir_operation *op)
{
    return op->opcode == OP_CP_ASYNC || op->opcode == OP_CP_WAIT || op->opcode == OP_CP_COMMIT ||
           op->opcode == OP_TMA_STORE || op->opcode == OP_TMA_WAIT || op->opcode == OP_TMA_COMMIT;
}

static const char in_straight_code[] = "check_machine has seen all states of the stores in this straight code";

static const char *swapped_wait(struct ir_operation *op, struct ir_operation *next)
{
    bool closes = op->opcode == OP_CP_COMMIT || op->opcode == OP_TMA_COMMIT;
    if (closes && (!is_of_copies(next) || redundant_commit(op)))
        return "a group may be closed any time before the next wait that is for it";
    if ((op->opcode == OP_CP_WAIT || op->opcode == OP_TMA_WAIT) && redundant_behind(op, next))
        return "what is waited for is not touched by what comes first now";
    if (op->opcode == OP_BARRIER && (redundant_barrier(op) || redundant_order(op, next)))
        return "what comes in front of the barrier now touches nothing that was there";
    bool stores = op->opcode == OP_TMA_WAIT || op->opcode == OP_TMA_COMMIT || op->opcode == OP_BARRIER;
    return stores && redundant_in_straight_code(op) ? in_straight_code : NULL;
}

static const struct ir_value *whole(const struct ir_value *buffer)
{
    while (buffer->definition && buffer->definition->opcode != OP_BUFFER && buffer->definition->operand_count)
        buffer = buffer->definition->operands[0];
    return buffer;
}

struct bringing {
    const struct ir_value *barrier;
    const struct ir_operation *product;
    bool reads;
};

static void look_at_load(struct ir_operation *op, void *data)
{
    struct bringing *b = data;
    if (op->opcode != OP_TMA_LOAD || op->operands[op->operand_count - 2] != b->barrier)
        return;
    for (int i = 0; i < 2; i++)
        b->reads |= b->product->operands[i]->type->kind == IR_BUFFER &&
                    whole(b->product->operands[i]) == whole(op->operands[op->operand_count - 3]);
}

/* A wait for copies that comes behind a product which reads none of them. */
static const char *of_others(struct ir_function *function, const struct ir_operation *wait,
                             const struct ir_operation *product)
{
    struct bringing b = {wait->operands[0], product, product->opcode != OP_DOT_ASYNC};
    if (!b.reads)
        ir_walk(function->body, look_at_load, &b);
    return b.reads ? NULL : "the product reads nothing that the wait is for";
}

/* Arrivals at two barriers: those at `early` come first, as long as nobody arrives at `late` without them. */
struct pair {
    const struct ir_value *early, *late;
    bool holds, any;
};

static void look_at_arrival(struct ir_operation *op, void *data)
{
    struct pair *pair = data;
    if (op->opcode != OP_MBARRIER_ARRIVE || op->operands[0] != pair->late)
        return;
    const struct ir_operation *at = op->previous;
    while (at && !(at->opcode == OP_MBARRIER_ARRIVE && at->operand_count == 2 && at->operands[0] == pair->early &&
                   at->operands[1] == op->operands[1]))
        at = at->previous;
    pair->holds &= at != NULL;
    pair->any = true;
}

/* The role has waited for the same phase of another barrier, whose arrivals tell of those here. */
static bool told_by_another(struct ir_function *function, const struct ir_operation *wait)
{
    for (const struct ir_operation *at = wait->previous; at; at = at->previous) {
        struct pair pair = {wait->operands[0], at->operand_count ? at->operands[0] : NULL, .holds = true};
        if (at->opcode != OP_MBARRIER_WAIT || at->operands[1] != wait->operands[1] ||
            at->operands[2] != wait->operands[2])
            continue;
        ir_walk(function->body, look_at_arrival, &pair);
        if (pair.any && pair.holds)
            return true;
    }
    return false;
}

static const char *swapped(struct ir_function *function, struct ir_operation *op)
{
    struct ir_operation *next = mutation_swap_partner(op);
    if (op->opcode == OP_MBARRIER_EXPECT && next->opcode == OP_TMA_LOAD)
        return "a phase ends when all have arrived and all bytes came, in whatever order";
    bool own_barrier = next->opcode == OP_BARRIER && !ir_attribute(next, IR_ATTRIBUTE_BARRIER_ID);
    if (op->opcode == OP_MBARRIER_ARRIVE && (!waits_for_others(next) || own_barrier))
        return "an arrival that comes later tells more, and what is now in front of it waits for nobody else";
    if (op->opcode == OP_MBARRIER_ARRIVE && rounds_same(op, next))
        return rounds_same(op, next);
    if (op->opcode == OP_CP_WAIT && next->opcode == OP_BARRIER && is_last_use(next))
        return "nothing of shared memory follows";
    if (op->opcode == OP_MBARRIER_WAIT && next->opcode == OP_MBARRIER_WAIT)
        return "both are waited for, in whatever order";
    if (op->opcode == OP_MBARRIER_WAIT && told_by_another(function, op))
        return "who arrives where the role has waited before has arrived here in front of that";
    if (op->opcode == OP_MBARRIER_WAIT && first_wait(op))
        return first_wait(op);
    if (op->opcode == OP_MBARRIER_WAIT && of_others(function, op, next))
        return of_others(function, op, next);
    const char *reason = op->opcode == OP_MBARRIER_WAIT ? never_waits(function, op) : NULL;
    return reason ? reason : swapped_wait(op, next);
}

/* ---- turns ---- */

struct count {
    enum ir_opcode opcode;
    int found;
};

static void count_operation(struct ir_operation *op, void *data)
{
    struct count *c = data;
    c->found += op->opcode == c->opcode;
}

/* Waits that do not wait. */
static const char *waited(const struct ir_operation *op)
{
    bool copies = op->opcode == OP_CP_WAIT || op->opcode == OP_TMA_WAIT;
    if (copies && redundant_wait(op))
        return "nothing is on its way there that may not be";
    if (copies && redundant_with_next_wait(op))
        return "it is waited for again before anything touches it";
    if (op->opcode == OP_TMA_WAIT && redundant_in_straight_code(op))
        return in_straight_code;
    if (op->opcode != OP_DOT_WAIT)
        return NULL;
    if (rounds_told_again(op))
        return rounds_told_again(op);
    for (int i = 0; i < op->operand_count; i++) {
        const struct ir_operation *product = op->operands[i]->definition;
        if (!product || ir_number(product, IR_ATTRIBUTE_INSTRUCTION, 0) != IR_INSTRUCTION_MMA)
            return NULL;
    }
    return "mma is over when it was issued";
}

static const char *dropped(struct ir_function *function, const struct ir_operation *op)
{
    struct count takes = {OP_TURN_TAKE, 0};
    ir_walk(function->body, count_operation, &takes);
    if (op->opcode == OP_TURN_START && !takes.found)
        return "nobody takes the turns";
    if (op->opcode == OP_BARRIER && is_last_use(op))
        return "nothing of shared memory follows";
    if (op->opcode == OP_MBARRIER_ARRIVE && rounds_last_arrivals(op))
        return rounds_last_arrivals(op);
    if (op->opcode == OP_MBARRIER_ARRIVE || op->opcode == OP_MBARRIER_WAIT)
        return op->opcode == OP_MBARRIER_WAIT && first_wait(op) ? first_wait(op) : never_waits(function, op);
    if (op->opcode == OP_BARRIER && redundant_barrier(op))
        return "nothing behind it touches what was touched in front of it";
    if ((op->opcode == OP_CP_COMMIT || op->opcode == OP_TMA_COMMIT) && redundant_commit(op))
        return "the next group holds its copies, too, before anybody waits for either";
    if ((op->opcode == OP_TMA_COMMIT || op->opcode == OP_BARRIER) && redundant_in_straight_code(op))
        return in_straight_code;
    return waited(op);
}

/* ---- conditions that are always true ---- */

/* A number that a value is not greater than: another value and a distance from it. */
struct bound {
    const struct ir_value *value;
    int64_t distance;
};

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

bool mutation_distance(const struct ir_value *a, const struct ir_value *b, int64_t *distance)
{
    struct bound x = take_apart(a), y = take_apart(b);
    int64_t first, second;
    bool numbers = ir_constant_integer(x.value, &first) && ir_constant_integer(y.value, &second);
    *distance = y.distance - x.distance + (numbers ? second - first : 0);
    return numbers || is_same(x.value, y.value);
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
    return counts && rounds_end_by(loop, op->operands[1]);
}

const char *mutation_harmless(struct ir_function *function, struct ir_function *changed,
                              const struct mutation *mutation)
{
    struct ir_operation *op = mutation_operation(function, mutation->operation);
    switch (mutation->kind) {
    case MUTATION_SWAPPED: return swapped(function, op);
    case MUTATION_DROP: return dropped(function, op);
    case MUTATION_FEWER_ARRIVALS:
    case MUTATION_MORE_ARRIVALS: return never_waits(function, op);
    case MUTATION_MORE_PENDING: return waited(op);
    case MUTATION_NEXT_SLOT: return first_wait(op);
    case MUTATION_SECOND_OPERAND:
        if (op->opcode == OP_SELECT && is_always_true(op->operands[0]))
            return "that is what it always chooses";
        return rounds_harmless(function, changed, mutation);
    default: return rounds_harmless(function, changed, mutation);
    }
}
