/* How often a loop can go round at most, from its bounds alone; and what that makes harmless. */
#include <string.h>

#include "redundant.h"

enum { MOST_TERMS = 12, DEPTH = 24, MOST_ROUNDS = 2 };

/* ---- sums ---- */

struct sum {
    int count;
    const struct ir_value *term[MOST_TERMS];
    int64_t factor[MOST_TERMS], constant;
    bool good;
};

/* Extents and indexes are far from the ends of 32 bits: casts change nothing. */
static const struct ir_value *uncast(const struct ir_value *value)
{
    while (value->definition && value->definition->opcode == OP_CAST &&
           ir_is_integer(value->definition->operands[0]->type->element))
        value = value->definition->operands[0];
    return value;
}

static void add_term(struct sum *sum, const struct ir_value *value, int64_t factor)
{
    int64_t distance;
    for (int i = 0; i < sum->count; i++)
        if (mutation_distance(sum->term[i], value, &distance) && distance == 0) {
            sum->factor[i] += factor;
            return;
        }
    sum->good = sum->good && sum->count < MOST_TERMS;
    if (!sum->good)
        return;
    sum->term[sum->count] = value;
    sum->factor[sum->count++] = factor;
}

static void add_to_sum(struct sum *sum, const struct ir_value *value, int64_t factor, int depth)
{
    const struct ir_operation *op = uncast(value)->definition;
    int64_t number;
    if (ir_constant_integer(uncast(value), &number)) {
        sum->constant += factor * number;
    } else if (op && depth < DEPTH && (op->opcode == OP_ADD || op->opcode == OP_SUB)) {
        add_to_sum(sum, op->operands[0], factor, depth + 1);
        add_to_sum(sum, op->operands[1], op->opcode == OP_ADD ? factor : -factor, depth + 1);
    } else if (op && depth < DEPTH && op->opcode == OP_MUL && ir_constant_integer(uncast(op->operands[1]), &number)) {
        add_to_sum(sum, op->operands[0], factor * number, depth + 1);
    } else {
        add_term(sum, uncast(value), factor);
    }
}

/* ---- upper <= lower + distance ---- */

static bool within(const struct ir_value *upper, const struct ir_value *lower, int64_t distance, int depth);

/* lower is x rounded down, or up, to a multiple of n. */
static bool within_rounded(const struct ir_value *upper, const struct ir_operation *mul, int64_t distance, int depth)
{
    const struct ir_operation *div = uncast(mul->operands[0])->definition;
    int64_t n, by;
    if (!div || div->opcode != OP_DIV || !ir_constant_integer(uncast(mul->operands[1]), &n) ||
        !ir_constant_integer(uncast(div->operands[1]), &by) || by != n || n < 1)
        return false;
    return within(upper, div->operands[0], distance - (n - 1), depth + 1);
}

static bool within(const struct ir_value *upper, const struct ir_value *lower, int64_t distance, int depth)
{
    const struct ir_operation *u = uncast(upper)->definition, *l = uncast(lower)->definition;
    int64_t number;
    if (depth > DEPTH)
        return false;
    if (l && (l->opcode == OP_MIN || l->opcode == OP_MAX)) {
        bool first = within(upper, l->operands[0], distance, depth + 1);
        bool second = within(upper, l->operands[1], distance, depth + 1);
        return l->opcode == OP_MIN ? first && second : first || second;
    }
    if (l && l->opcode == OP_MUL && within_rounded(upper, l, distance, depth))
        return true;
    if (l && l->opcode == OP_ADD && ir_constant_integer(uncast(l->operands[1]), &number) &&
        uncast(l->operands[0])->definition &&
        (uncast(l->operands[0])->definition->opcode == OP_MIN || uncast(l->operands[0])->definition->opcode == OP_MAX))
        return within(upper, l->operands[0], distance + number, depth + 1);
    if (u && (u->opcode == OP_MIN || u->opcode == OP_MAX)) {
        bool first = within(u->operands[0], lower, distance, depth + 1);
        bool second = within(u->operands[1], lower, distance, depth + 1);
        return u->opcode == OP_MIN ? first || second : first && second;
    }
    struct sum sum = {.good = true};
    add_to_sum(&sum, upper, 1, 0);
    add_to_sum(&sum, lower, -1, 0);
    for (int i = 0; i < sum.count; i++)
        sum.good = sum.good && sum.factor[i] == 0;
    return sum.good && sum.constant <= distance;
}

/* upper <= limit, or the loop that starts with `start` has no round. */
static bool ends_by(const struct ir_value *upper, const struct ir_value *start, const struct ir_value *limit, int depth)
{
    const struct ir_operation *op = uncast(upper)->definition;
    if (uncast(upper) == uncast(start))
        return true;
    if (op && depth < DEPTH && op->opcode == OP_MIN)
        return ends_by(op->operands[0], start, limit, depth + 1) || ends_by(op->operands[1], start, limit, depth + 1);
    if (op && depth < DEPTH && op->opcode == OP_SELECT)
        return ends_by(op->operands[1], start, limit, depth + 1) && ends_by(op->operands[2], start, limit, depth + 1);
    return within(upper, limit, 0, depth);
}

bool rounds_end_by(const struct ir_operation *loop, const struct ir_value *limit)
{
    return ends_by(loop->operands[1], loop->operands[0], limit, 0);
}

/* 0: not known. */
static int most_rounds(const struct ir_operation *loop)
{
    int64_t step;
    if (!loop || loop->opcode != OP_FOR || !ir_constant_integer(loop->operands[2], &step) || step < 1)
        return 0;
    for (int rounds = 1; rounds <= MOST_ROUNDS; rounds++)
        if (within(loop->operands[1], loop->operands[0], rounds * step, 0))
            return rounds;
    return 0;
}

/* ---- numbers for a round that does not come ---- */

/* Nothing but numbers of the same block, and the yield, uses it; what the loop gives for it is not used. */
static bool is_for_next_round(const struct ir_value *value, const struct ir_block *block)
{
    for (const struct ir_use *use = value->uses; use; use = use->next) {
        const struct ir_operation *user = use->user;
        if (user->block != block)
            return false;
        if (user->opcode == OP_YIELD) {
            if (block->parent->results[use->index]->uses)
                return false;
            continue;
        }
        if (user->result_count != 1 || user->region_count || !(ir_op_info[user->opcode].traits & IR_TRAIT_PURE) ||
            user->opcode == OP_SLOT || !is_for_next_round(user->results[0], block))
            return false;
    }
    return true;
}

/* Of the first round: arguments are what the loop starts with. */
static bool in_first_round(const struct ir_value *value, const struct ir_operation *loop, int64_t *number)
{
    const struct ir_operation *op = value->definition;
    int64_t a[3];
    if (!op)
        return value->block == loop->regions[0] && value->index > 0 &&
               ir_constant_integer(loop->operands[2 + value->index], number);
    if (ir_constant_integer(value, number))
        return true;
    if (op->operand_count < 1 || op->operand_count > 3 || op->region_count)
        return false;
    for (int i = 0; i < op->operand_count; i++)
        if (!in_first_round(op->operands[i], loop, &a[i]))
            return false;
    switch (op->opcode) {
    case OP_ADD: *number = a[0] + a[1]; return true;
    case OP_SUB: *number = a[0] - a[1]; return true;
    case OP_XOR: *number = a[0] ^ a[1]; return true;
    case OP_SELECT: *number = a[0] ? a[1] : a[2]; return true;
    case OP_COMPARE:
        *number = a[0] == a[1];
        if (ir_number(op, IR_ATTRIBUTE_PREDICATE, 0) == IR_PREDICATE_NE)
            *number = a[0] != a[1];
        return ir_number(op, IR_ATTRIBUTE_PREDICATE, 0) == IR_PREDICATE_EQ ||
               ir_number(op, IR_ATTRIBUTE_PREDICATE, 0) == IR_PREDICATE_NE;
    default: return false;
    }
}

struct find {
    int left;
    struct ir_operation *found;
};

static void find_loop(struct ir_operation *op, void *data)
{
    struct find *find = data;
    if (op->opcode == OP_FOR && find->left-- == 0)
        find->found = op;
}

/* The loop that holds the operation; *number: how many loops begin in front of it. */
static struct ir_operation *loop_of(struct ir_function *function, const struct ir_operation *op, int *number)
{
    for (*number = 0;; ++*number) {
        struct find find = {*number, NULL};
        ir_walk(function->body, find_loop, &find);
        if (!find.found || find.found == op->block->parent)
            return find.found;
    }
}

const char *rounds_harmless(struct ir_function *function, struct ir_function *changed, const struct mutation *mutation)
{
    const struct ir_operation *op = mutation_operation(function, mutation->operation);
    int number, rounds;
    struct ir_operation *loop = loop_of(function, op, &number);
    rounds = most_rounds(loop);
    if (!rounds ||
        (op->opcode != OP_YIELD && (op->result_count != 1 || !is_for_next_round(op->results[0], op->block))) ||
        (op->opcode == OP_YIELD && loop->results[mutation->operand]->uses))
        return NULL;
    if (rounds == 1)
        return "it is for a next round of a loop that has one at most";
    struct find find = {number, NULL};
    ir_walk(changed->body, find_loop, &find);
    const struct ir_operation *before = ir_terminator(loop->regions[0]), *now = ir_terminator(find.found->regions[0]);
    for (int i = 0; i < before->operand_count; i++) {
        int64_t a, b;
        if (before->operands[i]->type->rank || before->operands[i]->type->kind != IR_TILE ||
            !is_for_next_round(before->operands[i], before->block))
            continue;
        if (!in_first_round(before->operands[i], loop, &a) || !in_first_round(now->operands[i], find.found, &b) ||
            a != b)
            return NULL;
    }
    return "the loop has two rounds at most, and the second gets the same numbers";
}

/* How often loops behind the operation arrive at the barrier; -1: not known. */
static int later_rounds(const struct ir_operation *op, const struct ir_value *barrier)
{
    int rounds = 0;
    for (; op && op->opcode != OP_ROLES; op = op->block->parent) {
        if (op->opcode == OP_FOR || op->opcode == OP_WHILE)
            return -1;
        for (const struct ir_operation *next = op->next; next; next = next->next) {
            bool arrives = false;
            for (const struct ir_use *use = barrier->uses; use; use = use->next)
                arrives |= use->user->opcode == OP_MBARRIER_ARRIVE &&
                           (use->user == next || use->user->block->parent == next);
            int most = next->opcode == OP_FOR ? most_rounds(next) : 1;
            if (arrives && (!most || next->opcode == OP_WHILE))
                return -1;
            rounds += arrives ? most : 0;
            if (!arrives && next->region_count && mutation_contains(next, OP_MBARRIER_ARRIVE))
                for (const struct ir_use *use = barrier->uses; use; use = use->next)
                    if (use->user->opcode == OP_MBARRIER_ARRIVE && use->user->block->parent &&
                        use->user->block->parent->block->parent == next)
                        return -1; /* deeper than is looked at */
        }
    }
    return rounds;
}

/* The last arrivals of a role for a ring whose slots are not filled so often again. */
const char *rounds_last_arrivals(const struct ir_operation *op)
{
    const struct ir_operation *loop = op->block->parent;
    int rounds = most_rounds(loop), later = later_rounds(op, op->operands[0]);
    if (later >= 0 && later < op->operands[0]->type->slots)
        return "those that arrive later are fewer than the ring has slots: nobody waits for this arrival";
    if (op->opcode != OP_MBARRIER_ARRIVE || !rounds || rounds > op->operands[0]->type->slots ||
        (loop->block->parent && loop->block->parent->opcode != OP_ROLES))
        return NULL;
    for (const struct ir_operation *next = loop->next; next; next = next->next)
        if (mutation_contains(next, OP_MBARRIER_ARRIVE))
            for (const struct ir_use *use = op->operands[0]->uses; use; use = use->next)
                if (use->user == next || use->user->block->parent == next)
                    return NULL;
    return "the loop is the last to arrive there, no oftener than the ring has slots: nobody waits for these arrivals";
}

/* ---- arrivals of the same round ---- */

/* A wait for `barrier` in front of `wait`, in its block and for the same slot and phase. */
static bool waits_before(const struct ir_operation *wait, const struct ir_value *barrier)
{
    for (const struct ir_operation *old = wait->previous; old; old = old->previous)
        if (old->opcode == OP_MBARRIER_WAIT && old->operands[0] == barrier && old->operands[1] == wait->operands[1] &&
            old->operands[2] == wait->operands[2])
            return true;
    return false;
}

/* Whoever waits for the arrival has waited for another of the same round, which comes behind a wait for all
 * products. */
static bool is_told_again(const struct ir_operation *arrive)
{
    const struct ir_operation *later = arrive->next;
    while (later && (later->opcode != OP_DOT_WAIT || ir_number(later, IR_ATTRIBUTE_PENDING, 0)))
        later = later->next;
    for (; later; later = later->next) {
        bool again = later->opcode == OP_MBARRIER_ARRIVE && later->operands[1] == arrive->operands[1];
        for (const struct ir_use *use = arrive->operands[0]->uses; use && again; use = use->next)
            if (use->user->opcode == OP_MBARRIER_WAIT)
                again = waits_before(use->user, later->operands[0]);
        if (again)
            return true;
    }
    return false;
}

const char *rounds_told_again(const struct ir_operation *wait)
{
    int arrivals = 0;
    for (const struct ir_operation *next = wait->next; next && next->opcode != OP_DOT_WAIT; next = next->next) {
        if (next->opcode != OP_MBARRIER_ARRIVE)
            continue;
        arrivals++;
        if (!is_told_again(next))
            return NULL;
    }
    return wait->opcode == OP_DOT_WAIT && arrivals
               ? "who waits for the arrivals behind it waits for later ones of the same round, too"
               : NULL;
}

/* What is waited for was sent in the same round: the arrival is for a round of the ring that comes later. */
const char *rounds_same(const struct ir_operation *arrive, const struct ir_operation *wait)
{
    if (wait->opcode != OP_MBARRIER_WAIT || arrive->operands[1] != wait->operands[1])
        return NULL;
    for (const struct ir_use *use = arrive->operands[0]->uses; use; use = use->next) {
        bool sent = use->user->opcode != OP_MBARRIER_WAIT;
        for (const struct ir_operation *op = use->user->block->first; op && !sent; op = op->next)
            sent = op->opcode == OP_MBARRIER_EXPECT && op->operands[0] == wait->operands[0] &&
                   op->operands[1] == use->user->operands[1];
        if (!sent)
            return NULL;
    }
    return "what is waited for first now was sent in the same round, and the arrival is for a later one";
}
