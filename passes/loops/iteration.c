/* What can be read for iterations to come.  See iteration.h. */
#include "passes/loops/iteration.h"

#include "base/plant.h"
#include "ir/facts/alias.h"
#include "ir/query.h"

enum { DEPTH = 32, MOST_INDEXES = 1024, STEP_LIMIT = 1 << 24 /* of an index: a few steps do not wrap */ };

/* By how much an index grows from one iteration to the next; 0: not known, or it does not change. */
static int64_t step_of_index(const struct ir_operation *loop, const struct ir_value *index)
{
    const struct ir_operation *op = index->definition;
    int64_t number;
    if (index == loop->regions[0]->arguments.data[0])
        return ir_constant_integer(loop->operands[2], &number) ? number : 0;
    if (!op || op->block != loop->regions[0])
        return 0;
    const struct ir_value *left = op->operands[0], *right = op->operand_count == 2 ? op->operands[1] : NULL;
    int bits = ir_element_info[index->type->element].bits;
    if (op->opcode == OP_CAST && ir_element_info[left->type->element].bits <= bits &&
        !ir_is_float(left->type->element) && !ir_is_float(index->type->element))
        return step_of_index(loop, left);
    if (op->opcode == OP_ADD && !ir_block_holds(loop->regions[0], right->block))
        return step_of_index(loop, left);
    if (op->opcode == OP_MUL && ir_constant_integer(right, &number) && number > -STEP_LIMIT && number < STEP_LIMIT)
        return step_of_index(loop, left) * number;
    return 0;
}

/* The same view, or two arguments of a kernel: those that share memory at all are one view (`alias`, which the wrapper
 * checks). */
static bool is_one_view(const struct ir_value *a, const struct ir_value *b)
{
    bool are_arguments = !a->definition && !b->definition && !a->block->parent && !b->block->parent;
    return a == b || (are_arguments && a->block->function->is_kernel);
}

/* Whether the index is another one in each iteration, by at least `covered`.  The loop's variable itself is another one by
 * 1, whatever the step: it comes to the loop's end. */
static bool moves_past(const struct ir_operation *loop, const struct ir_value *index, int64_t covered)
{
    int64_t step = step_of_index(loop, index);
    while (index->definition && index->definition->opcode == OP_CAST &&
           ir_element_info[index->definition->operands[0]->type->element].bits <=
               ir_element_info[index->type->element].bits)
        index = index->definition->operands[0];
    if (covered == 1 && index == loop->regions[0]->arguments.data[0])
        return true;
    return step && step < STEP_LIMIT && step > -STEP_LIMIT &&
           (step < 0 ? -step : step) >= covered - PLANTED(prefetch_reads_what_is_written);
}

bool iteration_writes_apart(const struct ir_operation *loop, const struct ir_operation *write,
                            const struct ir_operation *load)
{
    struct ir_access writing, reading;
    const struct ir_operation *later = load->next;
    while (later && later != write)
        later = later->next;
    if (!later || write->opcode != OP_STORE || (load->opcode != OP_LOAD && load->opcode != OP_COPY_ASYNC) ||
        loop->opcode != OP_FOR || !ir_access_of(write, &writing) || !ir_access_of(load, &reading) ||
        !is_one_view(writing.view, reading.view) || writing.rank != reading.rank ||
        !alias_is_one_to_one(writing.view) || ir_is_inside(reading.view, loop))
        return false;
    for (int d = 0; d < reading.rank; d++) {
        bool gathers = reading.place[d] == IR_GATHER || writing.place[d] == IR_GATHER;
        int64_t covered = int64_max(1, int64_max(reading.place[d], writing.place[d]));
        if (!gathers && reading.index[d] == writing.index[d] && moves_past(loop, reading.index[d], covered))
            return true;
    }
    return false;
}

struct write_search {
    const struct ir_operation *loop, *reader; /* NULL: any write counts */
    const struct ir_value *view;
    bool found;
};

static void find_write(struct ir_operation *op, void *data)
{
    struct write_search *search = data;
    bool writes = ir_has_trait(op, IR_TRAIT_WRITE | IR_TRAIT_ATOMIC) && op->opcode != OP_ASSUME;
    if (search->reader && iteration_writes_apart(search->loop, op, search->reader))
        return;
    search->found |= op->opcode == OP_CALL ||
                     (ir_has_trait(op, IR_TRAIT_ATOMIC) && !PLANTED(copies_ahead_of_acquire)) ||
                     (writes && op->operand_count && alias_may(op->operands[0], search->view));
}

static bool is_written_in(struct ir_block *body, const struct ir_value *view, const struct ir_operation *reader)
{
    struct write_search search = {.loop = body->parent, .reader = reader, .view = view};
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
    bool reads = op->opcode == OP_LOAD && !is_written_in(body, op->operands[0], NULL);
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
    if (!is_written_in(loop->regions[0], access.view, reader))
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
