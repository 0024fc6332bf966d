/* Buffers and parts of them, and what all threads read and write there. */
#include <string.h>

#include "interp/machine.h"

const char *machine_name(const struct ir_value *value, char *text, size_t size)
{
    while (value->definition && value->definition->operand_count &&
           (value->definition->opcode == OP_SLOT || value->definition->opcode == OP_BUFFER_PERMUTE ||
            value->definition->opcode == OP_BUFFER_PART))
        value = value->definition->operands[0];
    if (value->name)
        snprintf(text, size, "'%s'", value->name);
    else if (value->definition)
        snprintf(text, size, "the %s of line %d", ir_op_info[value->definition->opcode].text,
                 value->definition->at.line);
    else
        snprintf(text, size, "a value");
    return text;
}

static struct machine_part *part_of(struct frame *frame, const struct ir_operation *op, int operand)
{
    struct machine_part *part = frame_cell(frame, op->operands[operand])->part;
    if (!part)
        interp_stop(frame->run, op, "operand %d is no buffer", operand + 1);
    return part;
}

static void make_buffer(struct frame *frame, const struct ir_operation *op)
{
    struct machine *machine = frame->run->machine;
    const struct ir_type *type = op->results[0]->type;
    struct machine_buffer *buffer = ARENA_NEW(machine->arena, struct machine_buffer);
    *buffer = (struct machine_buffer){.value = op->results[0]};
    buffer->slot_bytes = ir_type_elements(type) * (ir_element_info[type->element].bits / 8);
    if (type->layout) {
        if (!type->layout->shared || type->layout->rank != type->rank)
            interp_stop(machine->run, op, "the buffer's layout is none of shared memory");
        buffer->offset_of = machine_places(frame->run, type->layout)->offset;
    }
    buffer->base = machine_place(machine, op, buffer->slot_bytes * type->slots);
    struct machine_part *part = ARENA_NEW(machine->arena, struct machine_part);
    *part = (struct machine_part){.buffer = buffer, .slot = type->slots == 1 ? 0 : -1};
    for (int d = 0; d < type->rank; d++)
        part->dimension[d] = d;
    frame_cell(frame, op->results[0])->part = part;
}

/* What the result's layout says must be what the part inherits. */
static void check_layout(struct frame *frame, const struct ir_operation *op, const struct machine_part *part)
{
    const struct ir_type *type = op->results[0]->type;
    if (!type->layout || !part->buffer->offset_of || part->slot < 0)
        return;
    const int32_t *offset_of = machine_places(frame->run, type->layout)->offset;
    int64_t size = ir_element_info[type->element].bits / 8, count = ir_type_elements(type);
    int64_t first = machine_element_byte(part, type, 0) - (offset_of ? offset_of[0] * size : 0);
    for (int64_t i = 0; i < count; i++)
        if (!offset_of || machine_element_byte(part, type, i) != first + offset_of[i] * size)
            interp_stop(frame->run, op, "element %lld of the result does not lie where its layout says", (long long)i);
}

static void refer(struct frame *frame, const struct ir_operation *op)
{
    struct machine *machine = frame->run->machine;
    const struct ir_type *type = op->operands[0]->type;
    struct machine_part *part = ARENA_NEW(machine->arena, struct machine_part);
    const struct machine_part *from = part_of(frame, op, 0);
    *part = *from;
    if (op->opcode == OP_SLOT) {
        const struct ir_value *index = op->operands[1];
        int64_t slot = ir_bits_to_int(index->type->element, frame_cell(frame, index)->bits[0]);
        char name[64];
        if (slot < 0 || slot >= type->slots)
            interp_stop(frame->run, op, "slot %lld of %s, which has %d", (long long)slot,
                        machine_name(op->operands[0], name, sizeof name), type->slots);
        part->slot = (int)slot;
    } else if (op->opcode == OP_BUFFER_PERMUTE) {
        const struct ir_attribute *permutation = ir_attribute(op, IR_ATTRIBUTE_PERMUTATION);
        for (int d = 0; d < permutation->count; d++)
            part->dimension[d] = from->dimension[permutation->list[d]];
    } else {
        const struct ir_attribute *start = ir_attribute(op, IR_ATTRIBUTE_START);
        for (int d = 0; d < start->count; d++) {
            if (start->list[d] < 0 || start->list[d] + op->results[0]->type->extent[d] > type->extent[d])
                interp_stop(frame->run, op, "the part goes beyond dimension %d", d);
            part->start[from->dimension[d]] += start->list[d];
        }
    }
    frame_cell(frame, op->results[0])->part = part;
    if (op->opcode != OP_SLOT && !frame_cell(frame, op->results[0])->checked) {
        frame_cell(frame, op->results[0])->checked = true; /* once: the layouts do not depend on the run */
        check_layout(frame, op, part);
    }
}

/* ---- loads and stores by all threads ---- */

/* Which warps hold element i of a tile; `places` NULL: it is not said, so all do. */
static uint64_t holders(const struct machine *machine, const struct element_places *places, int64_t i)
{
    uint64_t active = machine_active_warps(machine);
    return places ? (places->warps[i] << machine->current->first_warp) & active : active;
}

static void move_elements(struct frame *frame, const struct ir_operation *op, bool stores)
{
    struct machine *machine = frame->run->machine;
    const struct ir_value *tile = stores ? op->operands[0] : op->results[0], *buffer = op->operands[stores ? 1 : 0];
    const struct machine_part *part = part_of(frame, op, stores ? 1 : 0);
    const struct layout *layout = tile->type->layout;
    const struct element_places *places = layout && tile->type->rank ? machine_places(frame->run, layout) : NULL;
    struct cell *cell = frame_cell(frame, tile);
    struct accessor accessors[MACHINE_MOST_WARPS];
    int count = 0, known = 0;
    int64_t size = ir_element_info[tile->type->element].bits / 8;
    char name[64];
    const struct ir_attribute *start = stores ? NULL : ir_attribute(op, IR_ATTRIBUTE_START);
    struct machine_part moved = *part;
    bool rounds = ir_number(op, IR_ATTRIBUTE_PRECISION, IR_PRECISION_IEEE) == IR_PRECISION_TF32;
    if (part->slot < 0 || (!start && !ir_type_same_shape(tile->type, buffer->type)) ||
        tile->type->element != buffer->type->element)
        interp_stop(frame->run, op, "the tile and the buffer differ in shape or element");
    for (int d = 0; start && d < start->count; d++) {
        if (start->list[d] < 0 || start->list[d] + tile->type->extent[d] > buffer->type->extent[d])
            interp_stop(frame->run, op, "the tile goes beyond dimension %d of the buffer", d);
        moved.start[part->dimension[d]] += start->list[d];
    }
    if (places && !places->warps)
        interp_stop(frame->run, op, "the tile's layout is one of shared memory");
    machine_name(buffer, name, sizeof name);
    for (int64_t i = 0; i < cell->count; i++) {
        uint64_t warps = holders(machine, places, i);
        for (known = 0; known < count && accessors[known].warps != warps; known++) {}
        if (known == count) {
            if (count == MACHINE_MOST_WARPS || !warps)
                interp_stop(frame->run, op, "the tile's layout is for other warps than those that run this");
            accessors[count] = machine_access_ordinary(machine, op, warps, stores);
            accessors[count++].name = name;
        }
        int64_t byte = machine_element_byte(&moved, tile->type, i);
        machine_touch(&accessors[known], byte, size);
        if (stores)
            machine_write(machine->current->home, byte, tile->type->element,
                          rounds ? scalar_round_tf32(cell->bits[i]) : cell->bits[i]);
        else
            cell->bits[i] = machine_read(machine->current->home, byte, tile->type->element);
    }
}

void execute_buffer(struct frame *frame, const struct ir_operation *op)
{
    struct machine *machine = frame->run->machine;
    machine_operation_begin(machine);
    switch (op->opcode) {
    case OP_BUFFER: make_buffer(frame, op); return;
    case OP_BUFFER_LOAD:
    case OP_BUFFER_STORE:
        machine_point(machine);
        move_elements(frame, op, op->opcode == OP_BUFFER_STORE);
        return;
    default: refer(frame, op); return;
    }
}

/* Operations with scratch write it, meet inside, and read it. */
void execute_scratch(struct frame *frame, const struct ir_operation *op)
{
    struct machine *machine = frame->run->machine;
    int64_t bytes = ir_number(op, IR_ATTRIBUTE_SHARED_BYTES, 0);
    if (!machine || bytes <= 0 || ir_number(op, IR_ATTRIBUTE_SHARED_OFFSET, -1) < 0)
        return;
    if (machine->current->one_thread)
        interp_stop(frame->run, op, "one thread alone runs this role, and '%s' needs all", ir_op_info[op->opcode].text);
    machine_operation_begin(machine);
    int64_t first = machine_place(machine, op, bytes);
    struct accessor writes = machine_access_scratch(machine, op, true);
    machine_touch(&writes, first, bytes);
    machine_warps_meet(machine);
    struct accessor reads = machine_access_scratch(machine, op, false);
    machine_touch(&reads, first, bytes);
}
