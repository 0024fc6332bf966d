/* decide: a comparison whose answer is known becomes that answer.  It is known by the ranges of both sides, or because an
 * assumption (of `requires`, `specialize` or assume()) compares the same two.
 *
 *     %a = compare predicate(eq) %cap, %zero : bool          %a = compare predicate(eq) %cap, %zero : bool
 *     assume %a                                              assume %a
 *     %b = compare predicate(gt) %cap, %zero : bool    ->    %c = constant value(false) : bool
 *     if %b { ... }                                          if %c { ... }
 *
 * Right because a program whose assumption does not hold means nothing.  What an assumption itself says stays: later
 * passes and code generators read it.  Of numbers that may be NaN an assumption decides only what follows from its own
 * answer, which says that neither side is one. */
#include "ir/facts/analysis.h"
#include "passes/base/pass.h"
#include "passes/base/rewrite.h"

struct deciding {
    struct pass_context *context;
    const struct ir_function *function;
    bool changed;
};

/* What a comparison says of another of the same two: 1 that it holds, 0 that it does not, -1 nothing.  Rows: what is
 * known, in the order of the predicates. */
static int known_from(enum ir_predicate known, enum ir_predicate asked)
{
    switch (known) {
    case IR_PREDICATE_EQ: return asked == IR_PREDICATE_EQ || asked == IR_PREDICATE_LE || asked == IR_PREDICATE_GE;
    case IR_PREDICATE_NE: return asked == IR_PREDICATE_NE ? 1 : asked == IR_PREDICATE_EQ ? 0 : -1;
    case IR_PREDICATE_LT: return asked == IR_PREDICATE_LT || asked == IR_PREDICATE_LE || asked == IR_PREDICATE_NE;
    case IR_PREDICATE_GT: return asked == IR_PREDICATE_GT || asked == IR_PREDICATE_GE || asked == IR_PREDICATE_NE;
    case IR_PREDICATE_LE: return asked == IR_PREDICATE_LE ? 1 : asked == IR_PREDICATE_GT ? 0 : -1;
    case IR_PREDICATE_GE: return asked == IR_PREDICATE_GE ? 1 : asked == IR_PREDICATE_LT ? 0 : -1;
    default: return -1;
    }
}

static enum ir_predicate predicate_of(const struct ir_operation *compare)
{
    return (enum ir_predicate)ir_number(compare, IR_ATTRIBUTE_PREDICATE, IR_PREDICATE_EQ);
}

static bool is_same(const struct ir_value *a, const struct ir_value *b)
{
    uint64_t left, right;
    return a == b || (a->type == b->type && ir_constant_of(a, &left) && ir_constant_of(b, &right) && left == right);
}

/* What an assumed condition says of the comparison. */
static int said_by(const struct ir_value *condition, const struct ir_operation *compare)
{
    const struct ir_operation *op = condition->definition;
    if (op && op->opcode == OP_AND) {
        int answer = said_by(op->operands[0], compare);
        return answer >= 0 ? answer : said_by(op->operands[1], compare);
    }
    if (!op || op->opcode != OP_COMPARE || !is_same(op->operands[0], compare->operands[0]) ||
        !is_same(op->operands[1], compare->operands[1]))
        return -1;
    return known_from(predicate_of(op), predicate_of(compare));
}

static int assumed(const struct deciding *deciding, const struct ir_operation *compare)
{
    int answer = -1;
    for (const struct ir_operation *op = deciding->function->body->first; op && answer < 0; op = op->next)
        if (op->opcode == OP_ASSUME)
            answer = said_by(op->operands[0], compare);
    return answer;
}

static int shown_by_ranges(const struct ranges *ranges, const struct ir_operation *compare)
{
    const struct ir_value *left = compare->operands[0], *right = compare->operands[1];
    if (!ir_is_integer(left->type->element))
        return -1;
    struct range a = range_of(ranges, left), b = range_of(ranges, right);
    if (left->type->element == IR_U64 && (a.low < 0 || b.low < 0)) /* these are the bits as i64 */
        return -1;
    bool less = a.high<b.low, more = a.low> b.high, at_most = a.high <= b.low, at_least = a.low >= b.high;
    switch (predicate_of(compare)) {
    case IR_PREDICATE_EQ: return less || more ? 0 : at_most && at_least ? 1 : -1;
    case IR_PREDICATE_NE: return less || more ? 1 : at_most && at_least ? 0 : -1;
    case IR_PREDICATE_LT: return less ? 1 : at_least ? 0 : -1;
    case IR_PREDICATE_LE: return at_most ? 1 : more ? 0 : -1;
    case IR_PREDICATE_GT: return more ? 1 : at_most ? 0 : -1;
    case IR_PREDICATE_GE: return at_least ? 1 : less ? 0 : -1;
    default: return -1;
    }
}

/* An assumption, or a condition that one is made of. */
static bool is_assumed(const struct ir_operation *user)
{
    if (user->opcode == OP_ASSUME)
        return true;
    if (user->opcode != OP_AND && user->opcode != OP_OR && user->opcode != OP_NOT)
        return false;
    for (const struct ir_use *use = user->results[0]->uses; use; use = use->next)
        if (is_assumed(use->user))
            return true;
    return false;
}

static bool is_asked(const struct ir_operation *compare)
{
    for (const struct ir_use *use = compare->results[0]->uses; use; use = use->next)
        if (!is_assumed(use->user))
            return true;
    return false;
}

static void visit(struct ir_operation *op, void *data)
{
    struct deciding *deciding = data;
    if (op->opcode != OP_COMPARE || op->operands[0]->type->kind != IR_TILE || !is_asked(op))
        return;
    int answer = shown_by_ranges(deciding->context->ranges, op);
    answer = answer < 0 ? assumed(deciding, op) : answer;
    if (answer < 0 || !pass_fuel(deciding->context))
        return;
    struct ir_builder builder = rewrite_before(op);
    struct ir_value *constant = ir_constant_bits(&builder, op->results[0]->type, (uint64_t)answer);
    for (struct ir_use *use = op->results[0]->uses, *next; use; use = next) {
        next = use->next;
        if (!is_assumed(use->user))
            ir_set_operand(use->user, use->index, constant);
    }
    deciding->changed = true;
}

bool pass_decide(struct ir_function *function, struct pass_context *context)
{
    struct deciding deciding = {context, function, false};
    ir_walk(function->body, visit, &deciding);
    return deciding.changed;
}
