/* Products on their way: dot_async reads its factors until dot_wait, and nobody may look at its result before. */
#include <string.h>

#include "interp/machine.h"

/* The elements of a factor: a tile's own, or a copy of what the buffer holds now. */
static const uint64_t *factor(struct frame *frame, const struct ir_operation *op, int operand,
                              const struct accessor *accessor)
{
    struct machine *machine = frame->run->machine;
    const struct ir_value *value = op->operands[operand];
    const struct cell *cell = frame_cell(frame, value);
    if (value->type->kind != IR_BUFFER)
        return cell->bits;
    if (!cell->part || cell->part->slot < 0)
        interp_stop(frame->run, op, "factor %d is a whole ring", operand + 1);
    char name[64];
    struct accessor own = *accessor;
    own.name = machine_name(value, name, sizeof name);
    int64_t count = ir_type_elements(value->type), size = ir_element_info[value->type->element].bits / 8;
    uint64_t *bits = ARENA_ARRAY(frame->run->scratch, uint64_t, count);
    for (int64_t i = 0; i < count; i++) {
        int64_t byte = machine_element_byte(cell->part, value->type, i);
        machine_touch(&own, byte, size);
        bits[i] = machine_read(machine->current->home, byte, value->type->element);
    }
    return bits;
}

static void start(struct frame *frame, const struct ir_operation *op)
{
    struct machine *machine = frame->run->machine;
    struct control *control = machine->current;
    bool adds = op->operand_count < 4 || frame_cell(frame, op->operands[3])->bits[0];
    const struct cell *accumulator = frame_cell(frame, op->operands[2]);
    if (control->one_thread)
        interp_stop(frame->run, op, "one thread alone runs this role, and a product needs all");
    if (adds && accumulator->undefined)
        interp_stop(frame->run, op, "adds to an undefined tile");
    if (adds && accumulator->number && !machine->products.data[accumulator->number - 1].done &&
        machine->products.data[accumulator->number - 1].control != control)
        interp_stop(frame->run, op, "adds to a product that is on its way elsewhere");
    struct product product = {
        .op = op, .control = control, .first_epoch = machine->epochs.count, .epochs = control->warps};
    for (int i = 0; i < control->warps; i++)
        machine_epoch_push(machine, machine_agent_start(machine, control->first_warp + i));
    bool ordinary = ir_number(op, IR_ATTRIBUTE_INSTRUCTION, IR_INSTRUCTION_FMA) != IR_INSTRUCTION_WGMMA;
    struct accessor accessor = machine_access_asynchronous(machine, op, false, ordinary, product.first_epoch,
                                                           product.epochs);
    struct cell *result = frame_cell(frame, op->results[0]);
    frame->run->scratch = arena_create();
    const uint64_t *a = factor(frame, op, 0, &accessor), *b = factor(frame, op, 1, &accessor);
    dot_compute(op, a, b, adds ? accumulator->bits : NULL, result);
    arena_destroy(frame->run->scratch);
    frame->run->scratch = NULL;
    vector_push(machine->arena, &machine->products, product);
    vector_push(machine->arena, &control->products, machine->products.count - 1);
    result->number = machine->products.count;
    result->undefined = false;
}

static void wait_for(struct frame *frame, const struct ir_operation *op)
{
    struct machine *machine = frame->run->machine;
    struct control *control = machine->current;
    int64_t pending = ir_number(op, IR_ATTRIBUTE_PENDING, 0);
    int over = (int)int64_max(0, control->products.count - pending);
    for (int i = 0; i < over; i++) {
        struct product *product = &machine->products.data[control->products.data[i]];
        product->done = true;
        for (int k = 0; k < product->epochs; k++)
            machine_warp_learns(machine, control->first_warp + k, machine->epochs.data[product->first_epoch + k]);
    }
    control->products.count -= over;
    if (control->products.count)
        memmove(control->products.data, control->products.data + over,
                (size_t)control->products.count * sizeof *control->products.data);
    for (int i = 0; i < op->result_count; i++)
        cell_copy(frame_cell(frame, op->results[i]), frame_cell(frame, op->operands[i]));
}

void execute_product(struct frame *frame, const struct ir_operation *op)
{
    struct machine *machine = frame->run->machine;
    machine_point(machine);
    machine_operation_begin(machine);
    if (op->opcode == OP_DOT_ASYNC)
        start(frame, op);
    else
        wait_for(frame, op);
}

/* ---- values that nobody may look at ---- */

static bool passes_on(const struct ir_operation *op, int operand)
{
    switch (op->opcode) {
    case OP_YIELD: return true;
    case OP_CONDITION: return operand > 0;
    case OP_FOR: return operand >= 3;
    case OP_WHILE:
    case OP_DOT_WAIT: return true;
    case OP_DOT_ASYNC: return operand == 2;
    default: return false;
    }
}

bool machine_operands_undefined(struct frame *frame, const struct ir_operation *op)
{
    struct machine *machine = frame->run->machine;
    bool undefined = false;
    for (int i = 0; i < op->operand_count; i++) {
        const struct cell *cell = &frame->cells[op->operands[i]->id];
        if (op->operands[i]->type->kind != IR_TILE || passes_on(op, i))
            continue;
        if (cell->number && !machine->products.data[cell->number - 1].done) {
            const struct location *at = &machine->products.data[cell->number - 1].op->at;
            interp_stop(frame->run, op, "'%s' looks at the product of dot_async at %d:%d, which is still on its way",
                        ir_op_info[op->opcode].text, at->line, at->column);
        }
        undefined |= cell->undefined;
    }
    return undefined;
}

/* A choice takes no more from what it does not choose. */
static bool chosen_undefined(struct frame *frame, const struct ir_operation *op)
{
    const struct cell *condition = frame_cell(frame, op->operands[0]);
    for (int64_t i = 0; i < condition->count; i++)
        if (frame_cell(frame, op->operands[condition->bits[i] ? 1 : 2])->undefined)
            return true;
    return condition->undefined;
}

/* Pure operations hand it on; whatever else looks is wrong. */
void machine_mark_results(struct frame *frame, const struct ir_operation *op, bool undefined)
{
    if (undefined && op->opcode == OP_SELECT)
        undefined = chosen_undefined(frame, op);
    if (undefined && !(ir_op_info[op->opcode].traits & IR_TRAIT_PURE))
        interp_stop(frame->run, op, "'%s' looks at an undefined tile", ir_op_info[op->opcode].text);
    for (int i = 0; i < op->result_count; i++)
        if (op->results[i]->type->kind == IR_TILE) {
            struct cell *cell = frame_cell(frame, op->results[i]);
            cell->undefined = undefined || op->opcode == OP_UNDEFINED;
            cell->number = 0;
            uint64_t mask = UINT64_MAX >> (64 - ir_element_info[op->results[i]->type->element].bits);
            for (int64_t k = 0; op->opcode == OP_UNDEFINED && k < cell->count; k++)
                cell->bits[k] = UINT64_C(0xa5a5a5a5a5a5a5a5) & mask;
        }
}
