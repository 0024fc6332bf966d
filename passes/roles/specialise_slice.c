/* The slice of a function that a producer needs: the places of its copies, and the control flow around them.  The
 * slice must not depend on tiles, which the producer does not have, nor on memory that the kernel writes. */
#include "base/plant.h"
#include "passes/roles/specialise.h"

#include "ir/facts/alias.h"
#include "ir/facts/linear.h"
#include "passes/base/rewrite.h"

static void need(struct outline *o, const struct ir_value *value);

static void need_operands(struct outline *o, const struct ir_operation *op, int from, int to)
{
    for (int i = from; i < to && i < op->operand_count; i++)
        need(o, op->operands[i]);
}

/* The control flow that an operation stands in. */
static void need_around(struct outline *o, const struct ir_block *block)
{
    for (; block->parent; block = block->parent->block) {
        const struct ir_operation *op = block->parent;
        if (op->opcode == OP_FOR)
            need_operands(o, op, 0, 3);
        else if (op->opcode == OP_IF)
            need_operands(o, op, 0, 1);
        else if (op->opcode == OP_WHILE)
            need(o, ir_terminator(op->regions[0])->operands[0]);
    }
}

/* A value carried round a loop: where it comes from first and every later time. */
static void need_carried(struct outline *o, const struct ir_operation *loop, int index)
{
    if (loop->opcode == OP_FOR) {
        need_operands(o, loop, 0, 3);
        need(o, loop->operands[3 + index]);
        need(o, ir_terminator(loop->regions[0])->operands[index]);
        need(o, loop->regions[0]->arguments.data[1 + index]);
        need(o, loop->results[index]);
    } else {
        need(o, loop->operands[index]);
        need(o, ir_terminator(loop->regions[0])->operands[0]);
        need(o, ir_terminator(loop->regions[0])->operands[1 + index]);
        need(o, ir_terminator(loop->regions[1])->operands[index]);
        for (int r = 0; r < 2; r++)
            need(o, loop->regions[r]->arguments.data[index]);
        need(o, loop->results[index]);
    }
}

static void need_operation(struct outline *o, const struct ir_operation *op, const struct ir_value *value)
{
    if (op->opcode == OP_FOR || op->opcode == OP_WHILE) {
        need_carried(o, op, value->index);
        return;
    }
    if (op->opcode == OP_IF) {
        need(o, op->operands[0]);
        for (int r = 0; r < 2; r++)
            need(o, ir_terminator(op->regions[r])->operands[value->index]);
        return;
    }
    if (ir_has_effect(op) || op->region_count) {
        outline_fail(o, op, "where it reads depends on an operation with an effect");
        return;
    }
    if (ir_has_trait(op, IR_TRAIT_READ) &&
        ((alias_is_written(o->function, op->operands[0]) && !PLANTED(producer_reads_what_is_written)) ||
         alias_follows_acquire(op)))
        outline_fail(o, op, "where it reads depends on memory that may change while the kernel runs");
    need_operands(o, op, 0, op->operand_count);
}

static void need(struct outline *o, const struct ir_value *value)
{
    if (o->problem || o->needed[value->id])
        return;
    o->needed[value->id] = true;
    const struct ir_operation *op = value->definition;
    if (value->type->kind == IR_TILE && value->type->rank > 0) {
        outline_fail(o, op ? op : value->block->parent, "where it reads depends on a tile");
        return;
    }
    need_around(o, value->block);
    if (op)
        need_operation(o, op, value);
    else if (value->block->parent && value->block->parent->opcode == OP_FOR && value->index > 0)
        need_carried(o, value->block->parent, value->index - 1);
    else if (value->block->parent && value->block->parent->opcode == OP_WHILE)
        need_carried(o, value->block->parent, value->index);
}

bool outline_slice(struct outline *o)
{
    for (int c = 0; c < o->channels.count; c++) {
        const struct channel *channel = &o->channels.data[c];
        need_around(o, channel->wait->block);
        for (int i = 0; i < channel->copies.count; i++) {
            const struct ir_operation *copy = channel->copies.data[i];
            need_operands(o, copy, 0, copy->operand_count - 1);
        }
    }
    return !o->problem;
}

/* ---- directions ---- */

static int both(int a, int b)
{
    if (a == 0 || a == b)
        return b;
    return b == 0 ? a : 2;
}

static int against(int direction) { return direction == 2 ? 2 : -direction; }

int outline_direction(const struct ir_value *value, int dimension)
{
    const struct ir_operation *op = value->definition;
    int64_t number;
    if (!op) {
        const struct ir_operation *loop = value->block->parent;
        bool variable = loop && loop->opcode == OP_FOR && value->index == 0;
        if (variable && outline_direction(loop->operands[2], dimension) == 0)
            return outline_direction(loop->operands[0], dimension);
        return loop ? 2 : 0;
    }
    switch (op->opcode) {
    case OP_GRID_INDEX: return ir_number(op, IR_ATTRIBUTE_DIMENSION, 0) == dimension;
    case OP_CONSTANT:
    case OP_GRID_SIZE: return 0;
    case OP_EXTENT:
    case OP_STRIDE:
    case OP_PRESENT:
    case OP_CAST: return outline_direction(op->operands[0], dimension);
    case OP_ADD:
        if (linear_ceiling_of(value, &number))
            return outline_direction(linear_ceiling_of(value, &number), dimension);
        return both(outline_direction(op->operands[0], dimension), outline_direction(op->operands[1], dimension));
    case OP_MIN:
    case OP_MAX:
        return both(outline_direction(op->operands[0], dimension), outline_direction(op->operands[1], dimension));
    case OP_SUB:
        return both(outline_direction(op->operands[0], dimension),
                    against(outline_direction(op->operands[1], dimension)));
    case OP_SELECT: { /* of two that grow alike either */
        int either = both(outline_direction(op->operands[1], dimension), outline_direction(op->operands[2], dimension));
        return either == 0 && outline_direction(op->operands[0], dimension) != 0 ? 2 : either;
    }
    case OP_MUL:
    case OP_DIV:
    case OP_SHL:
    case OP_SHR: {
        int first = outline_direction(op->operands[0], dimension);
        if (first == 0 && outline_direction(op->operands[1], dimension) == 0)
            return 0;
        return ir_constant_integer(op->operands[1], &number) && number > 0 ? first : 2;
    }
    default: {
        for (int i = 0; i < op->operand_count; i++)
            if (op->region_count ||
                (outline_direction(op->operands[i], dimension) != 0 && !PLANTED(cluster_shares_remainders)))
                return 2;
        if (op->opcode == OP_LOAD && alias_is_settled(op))
            return 0;
        return op->region_count || ir_may_read(op) ? 2 : 0;
    }
    }
}
