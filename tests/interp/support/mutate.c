/* Lists and makes mistakes.  What counts as synchronisation: operations that order others, and the integers that
 * say which
 * slot, phase or arrival is meant, back to where they are carried round loops. */
#include "mutate.h"

#include <string.h>

const char *const mutation_text[MUTATION_KIND_COUNT] = {
#define X(id, text) text,
    MUTATIONS(X)
#undef X
};

/* ---- what numbers say which slot is meant ---- */

struct numbers {
    struct ir_function *function;
    bool *feeds; /* by id of a value */
};

static void feed(struct numbers *n, const struct ir_value *value);

static bool is_small(const struct ir_value *value)
{
    const struct ir_type *type = value->type;
    return type->kind == IR_TILE && type->rank == 0 && (type->element == IR_I32 || type->element == IR_BOOL);
}

static void feed_from_yields(struct numbers *n, const struct ir_operation *owner, int index)
{
    int skip = owner->opcode == OP_FOR ? 3 : 0;
    if (owner->opcode != OP_IF && skip + index < owner->operand_count)
        feed(n, owner->operands[skip + index]);
    for (int r = 0; r < owner->region_count; r++) {
        const struct ir_operation *end = ir_terminator(owner->regions[r]);
        int first = end->opcode == OP_CONDITION;
        if (first + index < end->operand_count)
            feed(n, end->operands[first + index]);
    }
}

static void feed(struct numbers *n, const struct ir_value *value)
{
    if (!is_small(value) || n->feeds[value->id])
        return;
    n->feeds[value->id] = true;
    const struct ir_operation *op = value->definition;
    if (!op) {
        const struct ir_operation *owner = value->block->parent;
        int index = value->index - (owner && owner->opcode == OP_FOR);
        if (owner && index >= 0)
            feed_from_yields(n, owner, index);
        return;
    }
    if (op->region_count) {
        feed_from_yields(n, op, value->index);
        return;
    }
    for (int i = 0; i < op->operand_count; i++)
        feed(n, op->operands[i]);
}

static void find_numbers(struct ir_operation *op, void *data)
{
    struct numbers *n = data;
    if (op->opcode == OP_SLOT)
        feed(n, op->operands[1]);
    if (op->opcode == OP_MBARRIER_WAIT || op->opcode == OP_MBARRIER_ARRIVE || op->opcode == OP_MBARRIER_EXPECT)
        for (int i = 1; i < op->operand_count; i++)
            feed(n, op->operands[i]);
    if (op->opcode == OP_TMA_LOAD)
        feed(n, op->operands[op->operand_count - 1]);
}

/* ---- the list ---- */

struct collection {
    struct arena *arena;
    mutation_list *list;
    const struct numbers *numbers;
    int number;
};

static void add_at(struct collection *c, enum mutation_kind kind, int operand)
{
    vector_push(c->arena, c->list, ((struct mutation){c->number, kind, operand}));
}

static void add(struct collection *c, enum mutation_kind kind) { add_at(c, kind, 0); }

static bool synchronises(const struct ir_operation *op)
{
    switch (op->opcode) {
    case OP_BARRIER:
    case OP_WAIT:
    case OP_DOT_WAIT:
    case OP_FENCE_ASYNC:
    case OP_MBARRIER_READY:
    case OP_MBARRIER_WAIT:
    case OP_MBARRIER_ARRIVE:
    case OP_MBARRIER_EXPECT:
    case OP_CLUSTER_BARRIER:
    case OP_CP_WAIT:
    case OP_CP_COMMIT:
    case OP_TMA_WAIT:
    case OP_TMA_COMMIT:
    case OP_TURN_START:
    case OP_TURN_TAKE:
    case OP_TURN_PASS: return true;
    default: return false;
    }
}

static bool acts_on_shared(const struct ir_operation *op)
{
    return ir_op_info[op->opcode].traits & (IR_TRAIT_SHARED_READ | IR_TRAIT_SHARED_WRITE | IR_TRAIT_SYNC);
}

/* Turns change nothing but time, so that it does not matter what stands on which side; nor does it behind which
 * wait bytes
 * are announced, where the phase before is known to be over. */
static bool may_move(const struct ir_operation *op, const struct ir_operation *next)
{
    bool turns = next->opcode == OP_TURN_START || next->opcode == OP_TURN_TAKE || next->opcode == OP_TURN_PASS;
    return turns || (op->opcode == OP_MBARRIER_WAIT && next->opcode == OP_MBARRIER_EXPECT);
}

/* The next operation that could take the place of this one: of shared memory, and without what this one gives. */
struct ir_operation *mutation_swap_partner(const struct ir_operation *op)
{
    struct ir_operation *next = op->next;
    if (op->opcode == OP_TURN_START || op->opcode == OP_TURN_TAKE || op->opcode == OP_TURN_PASS)
        return NULL;
    while (next && (!acts_on_shared(next) || may_move(op, next)) && !next->region_count &&
           !(ir_op_info[next->opcode].traits & IR_TRAIT_TERMINATOR))
        next = next->next;
    return next && !next->region_count && acts_on_shared(next) && !op->result_count ? next : NULL;
}

static int slots_of(const struct ir_operation *op)
{
    switch (op->opcode) {
    case OP_SLOT:
    case OP_MBARRIER_WAIT:
    case OP_MBARRIER_ARRIVE:
    case OP_MBARRIER_EXPECT: return op->operands[0]->type->slots;
    case OP_TMA_LOAD: return op->operands[op->operand_count - 2]->type->slots;
    default: return 1;
    }
}

static void collect_numbers(struct collection *c, const struct ir_operation *op)
{
    bool feeds = false;
    for (int i = 0; i < op->result_count; i++)
        feeds |= c->numbers->feeds[op->results[i]->id];
    if (ir_op_info[op->opcode].traits & IR_TRAIT_TERMINATOR) {
        const struct ir_operation *owner = op->block->parent;
        int skip = owner && owner->opcode == OP_FOR;
        for (int i = 0; owner && owner->opcode == OP_FOR && i < op->operand_count; i++)
            if (c->numbers->feeds[owner->regions[0]->arguments.data[i + skip]->id] &&
                op->operands[i] != owner->regions[0]->arguments.data[i + skip])
                add_at(c, MUTATION_NO_ADVANCE, i);
        return;
    }
    if (!feeds || op->region_count)
        return;
    if (op->opcode == OP_COMPARE)
        add(c, MUTATION_NEGATED);
    if (op->opcode == OP_CONSTANT)
        add(c, MUTATION_ONE_MORE);
    for (int i = op->opcode == OP_SELECT; i < op->operand_count && i < 3 && op->result_count == 1; i++)
        if (op->operands[i]->type == op->results[0]->type)
            add(c, (enum mutation_kind)(MUTATION_FIRST_OPERAND + i));
}

static void collect(struct ir_operation *op, void *data)
{
    struct collection *c = data;
    if (synchronises(op)) {
        add(c, MUTATION_DROP);
        if (mutation_swap_partner(op))
            add(c, MUTATION_SWAPPED);
    }
    if (ir_attribute(op, IR_ATTRIBUTE_PENDING))
        add(c, MUTATION_MORE_PENDING);
    if (op->opcode == OP_MBARRIER_WAIT)
        add(c, MUTATION_FLIP_PHASE);
    if (ir_attribute(op, IR_ATTRIBUTE_BYTES)) {
        add(c, MUTATION_FEWER_BYTES);
        add(c, MUTATION_MORE_BYTES);
    }
    if (ir_attribute(op, IR_ATTRIBUTE_ARRIVALS)) {
        add(c, MUTATION_FEWER_ARRIVALS);
        add(c, MUTATION_MORE_ARRIVALS);
    }
    if (slots_of(op) > 1)
        add(c, MUTATION_NEXT_SLOT);
    bool apart = ir_attribute(op, IR_ATTRIBUTE_APART) && op->opcode != OP_BARRIER; /* more may meet than have to */
    if (ir_attribute(op, IR_ATTRIBUTE_CLUSTER) || ir_attribute(op, IR_ATTRIBUTE_MULTICAST) || apart)
        add(c, MUTATION_ALONE);
    if (op->opcode == OP_MBARRIER_ARRIVE && op->operand_count > 2)
        add(c, MUTATION_UNCONDITIONAL);
    collect_numbers(c, op);
    c->number++;
}

void mutation_collect(struct arena *arena, struct ir_function *function, mutation_list *list)
{
    size_t values = (size_t)function->next_value_id + 1;
    struct numbers numbers = {function, ARENA_ARRAY(arena, bool, values)};
    memset(numbers.feeds, 0, values * sizeof *numbers.feeds);
    ir_walk(function->body, find_numbers, &numbers);
    struct collection c = {arena, list, &numbers, 0};
    ir_walk(function->body, collect, &c);
}

/* ---- making them ---- */

struct search {
    int left;
    struct ir_operation *found;
};

static void search(struct ir_operation *op, void *data)
{
    struct search *s = data;
    if (s->left-- == 0)
        s->found = op;
}

struct ir_operation *mutation_operation(struct ir_function *function, int number)
{
    struct search s = {number, NULL};
    ir_walk(function->body, search, &s);
    return s.found;
}

static void drop(struct ir_operation *op)
{
    for (int i = 0; i < op->result_count; i++)
        ir_replace_uses(op->results[i], op->operands[i]);
    ir_remove(op);
}

static void add_to_number(struct ir_operation *op, enum ir_attribute_key key, int64_t more)
{
    ir_set_number(op, key, ir_number(op, key, 0) + more);
}

static struct ir_builder before(struct ir_operation *op)
{
    return (struct ir_builder){op->block->function->module, op->block, op, op->at};
}

static void next_slot(struct ir_operation *op)
{
    int operand = op->opcode == OP_TMA_LOAD ? op->operand_count - 1 : 1;
    struct ir_builder b = before(op);
    struct ir_value *index = op->operands[operand];
    struct ir_value *one = ir_constant_int(&b, index->type, 1), *slots = ir_constant_int(&b, index->type, slots_of(op));
    ir_set_operand(op, operand, ir_binary(&b, OP_REM, ir_binary(&b, OP_ADD, index, one), slots));
}

static void instead(struct ir_operation *op, int operand)
{
    ir_replace_uses(op->results[0], op->operands[operand]);
    ir_remove(op);
}

static void change_number(struct ir_operation *op)
{
    const struct ir_type *type = op->results[0]->type;
    uint64_t bits;
    ir_constant_of(op->results[0], &bits);
    int64_t number = ir_bits_to_int(type->element, bits);
    ir_set_bits(op, IR_ATTRIBUTE_VALUE, ir_int_to_bits(type->element, type->element == IR_BOOL ? !number : number + 1));
}

void mutation_apply(struct ir_function *function, const struct mutation *mutation)
{
    static const enum ir_predicate other[] = {
        [IR_PREDICATE_EQ] = IR_PREDICATE_NE, [IR_PREDICATE_NE] = IR_PREDICATE_EQ, [IR_PREDICATE_LT] = IR_PREDICATE_GE,
        [IR_PREDICATE_LE] = IR_PREDICATE_GT, [IR_PREDICATE_GT] = IR_PREDICATE_LE, [IR_PREDICATE_GE] = IR_PREDICATE_LT};
    struct ir_operation *op = mutation_operation(function, mutation->operation);
    struct ir_builder b = before(op);
    switch (mutation->kind) {
    case MUTATION_DROP: drop(op); return;
    case MUTATION_MORE_PENDING: add_to_number(op, IR_ATTRIBUTE_PENDING, 1); return;
    case MUTATION_FLIP_PHASE:
        ir_set_operand(op, 2, ir_binary(&b, OP_XOR, op->operands[2], ir_constant_int(&b, op->operands[2]->type, 1)));
        return;
    case MUTATION_FEWER_BYTES: add_to_number(op, IR_ATTRIBUTE_BYTES, -16); return;
    case MUTATION_MORE_BYTES: add_to_number(op, IR_ATTRIBUTE_BYTES, 16); return;
    case MUTATION_FEWER_ARRIVALS: add_to_number(op, IR_ATTRIBUTE_ARRIVALS, -1); return;
    case MUTATION_MORE_ARRIVALS: add_to_number(op, IR_ATTRIBUTE_ARRIVALS, 1); return;
    case MUTATION_NEXT_SLOT: next_slot(op); return;
    case MUTATION_FIRST_OPERAND:
    case MUTATION_SECOND_OPERAND:
    case MUTATION_THIRD_OPERAND: instead(op, (int)(mutation->kind - MUTATION_FIRST_OPERAND)); return;
    case MUTATION_NEGATED:
        ir_set_number(op, IR_ATTRIBUTE_PREDICATE, other[ir_number(op, IR_ATTRIBUTE_PREDICATE, 0)]);
        return;
    case MUTATION_ONE_MORE: change_number(op); return;
    case MUTATION_NO_ADVANCE:
        ir_set_operand(op, mutation->operand, op->block->arguments.data[mutation->operand + 1]);
        return;
    case MUTATION_ALONE:
        ir_remove_attribute(op, IR_ATTRIBUTE_CLUSTER);
        ir_remove_attribute(op, IR_ATTRIBUTE_MULTICAST);
        ir_remove_attribute(op, IR_ATTRIBUTE_APART);
        return;
    case MUTATION_UNCONDITIONAL: ir_remove_operand(op, 2); return;
    case MUTATION_SWAPPED: {
        struct ir_operation *partner = mutation_swap_partner(op);
        if (partner->next && partner->next != op)
            ir_move_before(op, partner->next);
        return;
    }
    default: return;
    }
}
