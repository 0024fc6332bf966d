/* Tiles between being virtual and being buffers: states, filling a buffer from an expression, overwriting a dying one
 * in place. */
#include "targets/cpu/emit.h"

struct cpu_state *cpu_state_of(struct cpu_emitter *e, const struct ir_value *value)
{
    const struct ir_function *function = value->block->function;
    for (struct cpu_frame *frame = e->frames; frame; frame = frame->next)
        if (frame->function == function)
            return &frame->states[value->id];
    struct cpu_frame *frame = ARENA_NEW(e->arena, struct cpu_frame);
    frame->function = function;
    frame->states = ARENA_ARRAY(e->arena, struct cpu_state, function->next_value_id + 1);
    frame->next = e->frames;
    e->frames = frame;
    return &frame->states[value->id];
}

void cpu_set_scalar(struct cpu_emitter *e, const struct ir_value *value, LLVMValueRef scalar)
{
    struct cpu_state *state = cpu_state_of(e, value);
    state->kind = CPU_SCALAR;
    state->scalar = scalar;
}

void cpu_set_buffer(struct cpu_emitter *e, const struct ir_value *value, struct cpu_buffer *buffer)
{
    struct cpu_state *state = cpu_state_of(e, value);
    state->kind = CPU_BUFFER;
    state->buffer = buffer;
    if (value->block == buffer->owner && state->last > buffer->last)
        buffer->last = state->last;
}

/* ---- what an expression reads ---- */

static bool keeps_points(const struct ir_operation *operation)
{
    return (ir_op_info[operation->opcode].traits & IR_TRAIT_ELEMENTWISE) != 0;
}

static enum cpu_reads reads_walk(struct cpu_emitter *e, struct ir_value *value, const struct cpu_buffer *buffer,
                                 bool same, int mark)
{
    if (!cpu_is_tile(value))
        return CPU_READS_NOT;
    struct cpu_state *state = cpu_state_of(e, value);
    if (state->kind == CPU_BUFFER)
        return state->buffer->offset != buffer->offset ? CPU_READS_NOT : same ? CPU_READS_SAME : CPU_READS_OTHER;
    int stamp = mark + (same ? 0 : 1); /* seen in one way says nothing of the other */
    if (state->kind != CPU_VIRTUAL || state->mark == stamp || state->mark == mark + 1)
        return CPU_READS_NOT;
    state->mark = stamp;
    enum cpu_reads worst = CPU_READS_NOT;
    const struct ir_operation *definition = value->definition;
    for (int i = 0; i < definition->operand_count; i++) {
        enum cpu_reads one = reads_walk(e, definition->operands[i], buffer, same && keeps_points(definition), mark);
        if (one > worst)
            worst = one;
    }
    return worst;
}

enum cpu_reads cpu_reads(struct cpu_emitter *e, struct ir_value *value, const struct cpu_buffer *buffer)
{
    e->marks += 2;
    return reads_walk(e, value, buffer, true, e->marks);
}

static struct cpu_buffer *reusable_walk(struct cpu_emitter *e, struct ir_value *value, struct ir_value *whole,
                                        const struct ir_block *block, int position, int64_t bytes, int depth)
{
    struct cpu_state *state = cpu_is_tile(value) ? cpu_state_of(e, value) : NULL;
    if (!state || depth > 6)
        return NULL;
    if (state->kind == CPU_BUFFER) {
        struct cpu_buffer *buffer = state->buffer;
        bool dies = buffer->owner == block && buffer->last <= position && state->last <= position &&
                    value->block == block;
        bool fits = cpu_tile_bytes(value->type) == bytes && value->type->element == whole->type->element;
        return dies && fits && cpu_reads(e, whole, buffer) == CPU_READS_SAME ? buffer : NULL;
    }
    if (state->kind != CPU_VIRTUAL || !keeps_points(value->definition))
        return NULL;
    for (int i = 0; i < value->definition->operand_count; i++) {
        struct cpu_buffer *found = reusable_walk(e, value->definition->operands[i], whole, block, position, bytes,
                                                 depth + 1);
        if (found)
            return found;
    }
    return NULL;
}

struct cpu_buffer *cpu_reusable(struct cpu_emitter *e, struct ir_value *value, const struct ir_block *block,
                                int position)
{
    return reusable_walk(e, value, value, block, position, cpu_tile_bytes(value->type), 0);
}

/* ---- filling ---- */

static void store_root(struct cpu_nest *nest, const struct cpu_point *point, int copy)
{
    (void)copy;
    struct ir_value *root = nest->roots.data[0];
    cpu_buffer_store(nest, nest->context, root->type, point, cpu_element_full(nest, root, point));
}

static void copy_bytes(struct cpu_emitter *e, const struct cpu_buffer *to, const struct cpu_buffer *from, int64_t bytes)
{
    if (to->offset != from->offset)
        LLVMBuildMemCpy(e->builder, cpu_buffer_address(e, to), 64, cpu_buffer_address(e, from), 64, cpu_int(e, bytes));
}

void cpu_fill(struct cpu_emitter *e, struct ir_value *value, struct cpu_buffer *buffer)
{
    const struct ir_type *type = value->type;
    struct cpu_state *state = cpu_state_of(e, value);
    if (state->kind == CPU_BUFFER) {
        copy_bytes(e, buffer, state->buffer, cpu_tile_bytes(type));
        return;
    }
    struct cpu_buffer *apart = NULL, *to = buffer;
    if (cpu_reads(e, value, buffer) == CPU_READS_OTHER)
        to = apart = cpu_buffer_create(e, cpu_tile_bytes(type), NULL, 0);
    struct cpu_nest nest = {.e = e, .rank = type->rank, .lanes_dim = -1, .body = store_root, .context = to};
    for (int d = 0; d < type->rank; d++)
        nest.extent[d] = type->extent[d];
    vector_push(e->arena, &nest.roots, value);
    cpu_nest_emit(&nest);
    if (apart) {
        copy_bytes(e, buffer, apart, cpu_tile_bytes(type));
        cpu_buffer_release(e, apart);
    }
}

struct cpu_buffer *cpu_materialise(struct cpu_emitter *e, struct ir_value *value, const struct ir_block *block,
                                   int position)
{
    struct cpu_state *state = cpu_state_of(e, value);
    if (state->kind == CPU_BUFFER)
        return state->buffer;
    if (block &&
        value->block != block) { /* a value of an outer block: elsewhere it stays virtual, for this may be a branch */
        struct cpu_buffer *copy = cpu_buffer_create(e, cpu_tile_bytes(value->type), block, position);
        cpu_fill(e, value, copy);
        return copy;
    }
    struct cpu_buffer *buffer = block ? cpu_reusable(e, value, block, position) : NULL;
    if (!buffer)
        buffer = cpu_buffer_create(e, cpu_tile_bytes(value->type), value->block, state->last);
    cpu_fill(e, value, buffer);
    cpu_set_buffer(e, value, buffer);
    return buffer;
}

/* ---- what a nest needs beforehand ---- */

static bool covers(const struct cpu_nest *nest, const struct ir_type *type)
{
    if (nest->partial || nest->fixed || nest->rank != type->rank)
        return false;
    for (int d = 0; d < type->rank; d++)
        if (nest->extent[d] != type->extent[d])
            return false;
    return true;
}

/* Two walks: first what is needed at other points than the nest's own becomes a buffer at once; then the rest is noted
 * as sides. */
static void prepare_walk(struct cpu_nest *nest, struct ir_value *value, bool own, bool note, int mark)
{
    struct cpu_emitter *e = nest->e;
    if (value->type->kind != IR_TILE)
        return;
    struct cpu_state *state = cpu_state_of(e, value);
    int stamp = mark + (own ? 0 : 1);
    if (state->kind != CPU_VIRTUAL || state->mark == stamp || state->mark == mark + 1)
        return;
    state->mark = stamp;
    bool is_filled = nest->body == store_root && nest->roots.data[0] == value;
    if (state->keep && !is_filled) {
        if (!own || !covers(nest, value->type)) {
            cpu_materialise(e, value, NULL, 0);
            return;
        }
        if (note) {
            struct cpu_side side = {value,
                                    cpu_buffer_create(e, cpu_tile_bytes(value->type), value->block, state->last)};
            vector_push(e->arena, &nest->sides, side);
        }
    }
    const struct ir_operation *definition = value->definition;
    for (int i = 0; i < definition->operand_count; i++)
        prepare_walk(nest, definition->operands[i], own && keeps_points(definition), note, mark);
}

void cpu_prepare(struct cpu_nest *nest)
{
    for (int note = 0; note < 2; note++) {
        for (int i = 0; i < nest->roots.count; i++) {
            nest->e->marks += 2;
            prepare_walk(nest, nest->roots.data[i], true, note == 1, nest->e->marks);
        }
    }
}

void cpu_finish(struct cpu_nest *nest)
{
    for (int i = 0; i < nest->sides.count; i++)
        cpu_set_buffer(nest->e, nest->sides.data[i].value, nest->sides.data[i].buffer);
}
