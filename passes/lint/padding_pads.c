/* Which places may reach outside: see padding.h. */
#include "ir/facts/inside.h"
#include "ir/kernel_facts.h"
#include "ir/query.h"
#include "passes/lint/padding.h"

/* The front end's own 0 has no place. */
bool padding_is_unsaid(const struct ir_access *access)
{
    const struct ir_operation *other = access->other ? access->other->definition : NULL;
    if (other && other->opcode == OP_SPLAT)
        other = other->operands[0]->definition;
    return other && other->opcode == OP_CONSTANT && !other->at.source;
}

const struct ir_value *padding_base_of(const struct ir_value *value)
{
    int64_t number;
    for (const struct ir_operation *op = value->definition; op; op = value->definition) {
        bool adds = op->opcode == OP_ADD || op->opcode == OP_SUB;
        if (op->opcode == OP_CAST)
            value = op->operands[0];
        else if (adds && ir_constant_integer(op->operands[1], &number))
            value = op->operands[0];
        else if (op->opcode == OP_ADD && ir_constant_integer(op->operands[0], &number))
            value = op->operands[1];
        else
            break;
    }
    return value;
}

/* Whether a condition that holds keeps the index under something, or with an index that is a number (base NULL) an
 * extent above something, whatever that is: whoever asks has thought of it. */
static bool is_bounded(const struct ir_value *condition, bool holds, const struct ir_value *base)
{
    const struct ir_operation *op = condition->definition;
    if (!op)
        return false;
    if (op->opcode == OP_NOT)
        return is_bounded(op->operands[0], !holds, base);
    if (op->opcode == (holds ? OP_AND : OP_OR))
        return is_bounded(op->operands[0], holds, base) || is_bounded(op->operands[1], holds, base);
    if (op->opcode == OP_SELECT) /* a or b, as a choice: c ? true : b */
        return !holds && (is_bounded(op->operands[0], false, base) || is_bounded(op->operands[2], false, base));
    if (op->opcode != OP_COMPARE)
        return false;
    int64_t predicate = ir_number(op, IR_ATTRIBUTE_PREDICATE, 0);
    bool less = predicate == IR_PREDICATE_LT || predicate == IR_PREDICATE_LE;
    bool greater = predicate == IR_PREDICATE_GT || predicate == IR_PREDICATE_GE;
    if (!less && !greater)
        return false;
    const struct ir_value *under = padding_base_of(op->operands[less == holds ? 0 : 1]);
    const struct ir_value *above = padding_base_of(op->operands[less == holds ? 1 : 0]);
    return base ? under == base : above->definition && above->definition->opcode == OP_EXTENT;
}

bool padding_same_index(const struct ir_value *a, const struct ir_value *b)
{
    int64_t one, two;
    if (ir_constant_integer(a, &one) && ir_constant_integer(b, &two))
        return one == two;
    const struct ir_operation *x = a->definition, *y = b->definition;
    if (a == b || !x || !y)
        return a == b;
    bool alike = x->opcode == y->opcode && x->operand_count == y->operand_count && x->operand_count > 0 &&
                 ir_has_trait(x, IR_TRAIT_ELEMENTWISE);
    for (int i = 0; alike && i < x->operand_count; i++)
        alike = padding_same_index(x->operands[i], y->operands[i]);
    return alike;
}

static bool is_guarded(const struct ir_operation *at, const struct ir_value *index)
{
    const struct ir_value *base = padding_base_of(index);
    if (base->definition && base->definition->opcode == OP_CONSTANT)
        base = NULL;
    for (const struct ir_block *block = at->block; block && block->parent; block = block->parent->block)
        if (block->parent->opcode == OP_IF &&
            is_bounded(block->parent->operands[0], block == block->parent->regions[0], base))
            return true;
    return false;
}

/* i*by +: by, or less, in a grid that counts i to n / by, rounded down. */
static bool is_within_parts(const struct padding_walk *w, const struct ir_access *access, int d)
{
    const struct ir_operation *op = access->index[d]->definition;
    const struct ir_value *view = access->view;
    int64_t by, times;
    if (!op || op->opcode != OP_MUL || view->definition || view->block->parent ||
        view->index >= w->function->facts.count)
        return false;
    int number = ir_constant_integer(op->operands[0], &times) ? 0 : 1;
    const struct ir_operation *grid = padding_base_of(op->operands[1 - number])->definition;
    if (!ir_constant_integer(op->operands[number], &times) || !grid || grid->opcode != OP_GRID_INDEX)
        return false;
    int class = kernel_rounded_down(w->lint->entry, w->lint->variant, (int)ir_number(grid, IR_ATTRIBUTE_DIMENSION, 0),
                                    &by);
    return class && by == times && access->place[d] <= by &&
           class == w->function->facts.data[view->index].extent_class[d];
}

static bool is_proven(const struct padding_walk *w, const struct padding_pad *pad, const struct ir_operation *at)
{
    struct ir_access access;
    if (!ir_access_of(pad->load, &access))
        return false;
    if (pad->dimension == PADDING_MASK)
        return range_at(w->lint->ranges, access.mask, at).low == 1;
    if (access.place[pad->dimension] < 0)
        return false;
    const struct ir_value *index = access.index[pad->dimension];
    return is_guarded(at, index) || is_within_parts(w, &access, pad->dimension) ||
           inside_is_proven(w->lint->inside, at, access.view, pad->dimension, index,
                            access.place[pad->dimension] ? access.place[pad->dimension] : 1);
}

uint64_t padding_left(const struct padding_walk *w, uint64_t pads, const struct ir_operation *at)
{
    for (int i = 0; i < w->pad_count; i++)
        if (pads >> i & 1 && is_proven(w, &w->pads[i], at))
            pads &= ~(UINT64_C(1) << i);
    return pads;
}

uint64_t padding_bit(struct padding_walk *w, const struct ir_operation *load, int dimension)
{
    for (int i = 0; i < w->pad_count; i++)
        if (w->pads[i].load == load && w->pads[i].dimension == dimension)
            return UINT64_C(1) << i;
    if (w->pad_count == PADDING_PADS)
        return 0;
    w->pads[w->pad_count] = (struct padding_pad){load, dimension};
    return UINT64_C(1) << w->pad_count++;
}
