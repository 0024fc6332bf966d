/* What can be read for iterations to come.  See iteration.h. */
#include "passes/loops/iteration.h"

#include "base/plant.h"
#include "ir/facts/alias.h"
#include "ir/query.h"

enum { DEPTH = 32, MOST_INDEXES = 1024 };

struct write_search {
    const struct ir_value *view;
    bool found;
};

static void find_write(struct ir_operation *op, void *data)
{
    struct write_search *search = data;
    bool writes = ir_has_trait(op, IR_TRAIT_WRITE | IR_TRAIT_ATOMIC) && op->opcode != OP_ASSUME;
    search->found |= op->opcode == OP_CALL ||
                     (ir_has_trait(op, IR_TRAIT_ATOMIC) && !PLANTED(copies_ahead_of_acquire)) ||
                     (writes && op->operand_count && alias_may(op->operands[0], search->view));
}

static bool is_written_in(struct ir_block *body, const struct ir_value *view)
{
    struct write_search search = {.view = view};
    ir_walk(body, find_write, &search);
    return search.found;
}

/* Made of the loop's variable and of what comes from outside: scalars, views, and index tiles, also those that are read
 * from memory that the loop does not write. */
static bool is_movable(const struct ir_value *value, struct ir_block *body, int depth)
{
    const struct ir_operation *op = value->definition;
    if (!ir_block_holds(body, value->block))
        return true;
    if (!op)
        return value->block == body && value->index == 0;
    bool reads = op->opcode == OP_LOAD && !is_written_in(body, op->operands[0]);
    bool large = value->type->kind == IR_TILE && ir_type_elements(value->type) > MOST_INDEXES;
    if (depth > DEPTH || op->block != body || op->region_count || large || !(ir_has_trait(op, IR_TRAIT_PURE) || reads))
        return false;
    for (int i = 0; i < op->operand_count; i++)
        if (!is_movable(op->operands[i], body, depth + 1))
            return false;
    return true;
}

const char *iteration_read_problem(const struct ir_operation *loop, const struct ir_operation *reader)
{
    struct ir_access access;
    ir_access_of(reader, &access);
    for (int i = 0; i < 1 + access.rank; i++)
        if (!is_movable(reader->operands[i], loop->regions[0], 0))
            return "where it reads depends on more than the loop's variable";
    if (!is_written_in(loop->regions[0], access.view))
        return NULL;
    const char *why = alias_describe_write("the loop", loop->regions[0], access.view);
    return why ? why : "the loop may write what it reads";
}

const char *iteration_loop_problem(const struct ir_operation *loop)
{
    if (ir_number(loop, IR_ATTRIBUTE_MULTIPLY, 0))
        return "its step multiplies";
    return ir_is_signed(loop->operands[0]->type->element) ? NULL : "its variable has no sign";
}
