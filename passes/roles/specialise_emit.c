/* The bodies of roles.  All walk over the source's body in its order, and over its loops and branches; each ring's
 * (slot, phase) is carried through them as two i32 scalars.
 *
 * The producer computes only what outline_slice marked.  At a wait of the source it fills the ring's slot:
 *     mbarrier_wait %empty[%slot], 1 - %phase       the consumer has let it go
 *     mbarrier_expect bytes(n) %full[%slot]
 *     tma_load … (each copy of the channel)
 * A maker (specialise_make) reads such a slot and fills those of a ring of its own.
 * The consumer computes everything else.  At the wait it waits for the slot, and behind the last operation that looks
 * at it gives it back:
 *     mbarrier_wait %full[%slot], %phase
 *     …
 *     mbarrier_arrive %empty[%slot]
 * Then the slot is the next one, and the phase the other one when the ring starts again. */
#include "base/plant.h"
#include "ir/plan.h"
#include "passes/base/remake.h"
#include "passes/base/rewrite.h"
#include "passes/roles/specialise.h"

struct ring_state {
    struct ir_value *slot, *phase;
};
struct role {
    struct outline *o;
    bool producer; /* or the maker: of what is computed it has what steers loops alone */
    bool maker;
    int consumer;                    /* which of several that take programs in turn */
    const struct ir_operation *loop; /* that takes slots in turn with other consumers; NULL: there are none */
    struct ir_value *turn, *next;    /* the phase of its own turn; whose is the next */
    struct ir_builder builder;
    struct remake again;      /* what the role has for the source's values */
    struct ring_state *state; /* by ring */
    const struct ir_type *i32, *index;
    struct ir_value *rank;      /* of the block in its cluster */
    struct outline_pairs pairs; /* where it takes programs in pairs */
};

static struct ir_value *number(struct role *r, int64_t value) { return ir_constant_int(&r->builder, r->i32, value); }

static void build(struct role *r, enum ir_opcode opcode, int count, struct ir_value *const *operands)
{
    ir_build(&r->builder, opcode, count, operands, 0, NULL);
}

/* ---- rings ---- */

static void advance(struct role *r, int ring)
{
    struct ring_state *state = &r->state[ring];
    int slots = r->o->rings.data[ring].slots;
    if (slots == 1) {
        state->phase = ir_binary(&r->builder, OP_XOR, state->phase, number(r, 1));
        return;
    }
    struct ir_value *next = ir_binary(&r->builder, OP_ADD, state->slot, number(r, 1));
    int end = slots + PLANTED(ring_turns_late);
    struct ir_value *wraps = ir_compare(&r->builder, IR_PREDICATE_EQ, next, number(r, end));
    struct ir_value *other = ir_binary(&r->builder, OP_XOR, state->phase, number(r, 1));
    state->slot = ir_select(&r->builder, wraps, number(r, 0), next);
    if (!PLANTED(ring_phase_never_turns))
        state->phase = ir_select(&r->builder, wraps, other, state->phase);
}

/* Past as many slots as a program of another consumer takes. */
static void pass_over(struct role *r, int ring, int programs)
{
    struct ring_state *state = &r->state[ring];
    int slots = r->o->rings.data[ring].slots;
    if (!programs)
        return;
    struct ir_value *fillings = outline_fillings(r->o, ring, &r->builder, r->again.map);
    /* fillings behind which slot and phase are what they were */
    struct ir_value *round = number(r, INT64_C(2) * slots);
    fillings = ir_binary(&r->builder, OP_MUL, fillings, ir_constant_int(&r->builder, fillings->type, programs));
    fillings = ir_binary(&r->builder, OP_REM, fillings, ir_cast(&r->builder, round, fillings->type->element));
    struct ir_value *place = ir_binary(&r->builder, OP_MUL, state->phase, number(r, slots));
    place = ir_binary(&r->builder, OP_ADD, place, state->slot);
    place = ir_binary(&r->builder, OP_ADD, place, ir_cast(&r->builder, fillings, IR_I32));
    place = ir_binary(&r->builder, OP_REM, place, round);
    state->phase = ir_binary(&r->builder, OP_DIV, place, number(r, slots));
    state->slot = ir_binary(&r->builder, OP_REM, place, number(r, slots));
}

static struct ir_value *slot_of(struct role *r, const struct ring *ring, int buffer, const struct ring_state *state)
{
    struct ir_value *made = ring->made.data[buffer];
    if (PLANTED(ring_buffers_mistaken) && !r->producer && made->type == ring->made.data[0]->type)
        made = ring->made.data[0];
    if (ring->slots == 1)
        return made;
    return ir_build_value(&r->builder, OP_SLOT, ring->buffers.data[buffer]->type, 2,
                          (struct ir_value *[]){made, state->slot});
}

static void map_slots(struct role *r, const struct ring *ring, const struct ring_state *state)
{
    for (int i = 0; i < ring->buffers.count; i++)
        remake_set(&r->again, ring->buffers.data[i], slot_of(r, ring, i, state));
}

static void build_copy(struct role *r, const struct ir_operation *copy, const struct ring *ring,
                       const struct ring_state *state)
{
    int count = copy->operand_count;
    struct ir_value **operands = ARENA_ARRAY(r->o->context->arena, struct ir_value *, count + 2);
    for (int i = 0; i < count; i++)
        operands[i] = remake_find(&r->again, copy->operands[i]);
    operands[count] = ring->full;
    operands[count + 1] = state->slot;
    struct ir_operation *tma = ir_build(&r->builder, OP_TMA_LOAD, count + 2, operands, 0, NULL);
    const struct ir_attribute *place = ir_attribute(copy, IR_ATTRIBUTE_PLACE);
    ir_set_list(tma, IR_ATTRIBUTE_PLACE, place->count, place->list);
    if (ir_attribute(copy, IR_ATTRIBUTE_PRECISION))
        ir_set_number(tma, IR_ATTRIBUTE_PRECISION, ir_number(copy, IR_ATTRIBUTE_PRECISION, 0));
    if (outline_is_shared(r->o, copy))
        ir_set_number(tma, IR_ATTRIBUTE_MULTICAST, r->o->cluster);
}

static void fill(struct role *r, const struct channel *channel)
{
    const struct ring *ring = &r->o->rings.data[channel->ring];
    struct ring_state *state = &r->state[channel->ring];
    r->builder.at = channel->copies.data[0]->at;
    struct ir_value *empty = ir_binary(&r->builder, OP_XOR, state->phase, number(r, 1));
    if (!PLANTED(ring_filled_before_empty))
        build(r, OP_MBARRIER_WAIT, 3, (struct ir_value *[]){ring->empty, state->slot, empty});
    struct ir_operation *expect = ir_build(&r->builder, OP_MBARRIER_EXPECT, 2,
                                           (struct ir_value *[]){ring->full, state->slot}, 0, NULL);
    ir_set_number(expect, IR_ATTRIBUTE_BYTES, PLANTED(ring_expects_half) ? ring->bytes / 2 : ring->bytes);
    map_slots(r, ring, state);
    for (int i = 0; i < channel->copies.count; i++)
        build_copy(r, channel->copies.data[i], ring, state);
    advance(r, channel->ring);
}

static void acquire(struct role *r, const struct channel *channel)
{
    const struct ring *ring = &r->o->rings.data[channel->ring];
    const struct ring_state *state = &r->state[channel->ring];
    r->builder.at = channel->wait->at;
    if (!PLANTED(ring_read_before_full))
        build(r, OP_MBARRIER_WAIT, 3, (struct ir_value *[]){ring->full, state->slot, state->phase});
    map_slots(r, ring, state);
}

/* Its threads load from the buffers themselves: mma.sync takes registers. */
static bool loads_buffers(const struct ir_operation *op)
{
    return op->opcode == OP_BUFFER_LOAD ||
           (op->opcode == OP_DOT_ASYNC && ir_number(op, IR_ATTRIBUTE_INSTRUCTION, 0) != IR_INSTRUCTION_WGMMA);
}

static bool lies_in(const struct ring *ring, const struct ir_value *buffer)
{
    while (buffer->definition && buffer->definition->operand_count)
        buffer = buffer->definition->operands[0];
    return outline_has_buffer(ring, buffer);
}

/* Looks at the ring by ordinary loads, which the next copy could overtake: TMA knows their order only by a fence. */
static bool loads_from(const struct role *r, const struct ir_operation *op, const struct ring *ring)
{
    for (int i = 0; i < op->operand_count && loads_buffers(op); i++)
        if (op->operands[i]->type->kind == IR_BUFFER && lies_in(ring, op->operands[i]) &&
            outline_is_of_maker(r->o, op) == r->maker)
            return true;
    for (int i = 0; i < op->region_count; i++)
        for (const struct ir_operation *inner = op->regions[i]->first; inner; inner = inner->next)
            if (loads_from(r, inner, ring))
                return true;
    return false;
}

static bool is_loaded(const struct role *r, const struct channel *channel)
{
    for (const struct ir_operation *op = channel->wait; op != channel->release; op = op->next)
        if (loads_from(r, op->next, &r->o->rings.data[channel->ring]))
            return true;
    return false;
}

static void release(struct role *r, const struct channel *channel)
{
    const struct ring *ring = &r->o->rings.data[channel->ring];
    struct ir_operation *arrive = ir_build(&r->builder, OP_MBARRIER_ARRIVE, 2,
                                           (struct ir_value *[]){ring->empty, r->state[channel->ring].slot}, 0, NULL);
    if (ring->shared)
        ir_set_number(arrive, IR_ATTRIBUTE_CLUSTER, r->o->cluster);
    if (is_loaded(r, channel))
        ir_set_number(arrive, IR_ATTRIBUTE_FENCED, 1);
    advance(r, channel->ring);
}

/* The maker's part of a channel that it fills: the producer's slot is given back as soon as it is read. */
static void make(struct role *r, const struct channel *channel)
{
    const struct ring *ring = &r->o->rings.data[channel->ring];
    const struct ring_state *state = &r->state[channel->ring];
    r->builder.at = channel->wait->at;
    outline_make_tiles(r->o, &r->builder, channel, true, r->again.map);
    release(r, &r->o->channels.data[channel->source]);
    outline_make_tiles(r->o, &r->builder, channel, false, r->again.map);
    struct ir_value *empty = ir_binary(&r->builder, OP_XOR, state->phase, number(r, 1));
    if (!PLANTED(parts_made_before_free))
        build(r, OP_MBARRIER_WAIT, 3, (struct ir_value *[]){ring->empty, state->slot, empty});
    map_slots(r, ring, state);
    for (const struct ir_operation *op = channel->wait->next; op != channel->last; op = op->next)
        remake_operation(&r->again, &r->builder, op);
    build(r, OP_MBARRIER_ARRIVE, 2, (struct ir_value *[]){ring->full, state->slot});
    advance(r, channel->ring);
}

static bool is_source(const struct outline *o, int channel)
{
    for (int c = 0; c < o->channels.count; c++)
        if (o->channels.data[c].last && o->channels.data[c].source == channel)
            return true;
    return false;
}

static void emit_channel(struct role *r, int number)
{
    const struct channel *channel = &r->o->channels.data[number];
    if (r->maker) {
        if (channel->last)
            make(r, channel);
        else if (is_source(r->o, number))
            acquire(r, channel);
    } else if (!r->producer) {
        acquire(r, channel);
    } else if (!channel->last) {
        fill(r, channel);
    }
}

/* ---- control flow ---- */

bool outline_holds_ring(const struct outline *o, const struct ir_operation *op, int ring)
{
    int channel = outline_channel(o, op);
    if (channel >= 0 && (ring < 0 || o->channels.data[channel].ring == ring))
        return true;
    for (int i = 0; i < op->region_count; i++)
        for (const struct ir_operation *inner = op->regions[i]->first; inner; inner = inner->next)
            if (outline_holds_ring(o, inner, ring))
                return true;
    return false;
}

static void emit_block(struct role *r, struct ir_block *block);

/* The values that an operation passes on, and the rings that it carries besides. */
struct passing {
    int count, *index, rings, *ring;
};

static struct passing passing_of(const struct role *r, const struct ir_operation *op)
{
    const struct outline *o = r->o;
    struct passing p = {0, ARENA_ARRAY(o->context->arena, int, op->result_count + 1), 0,
                        ARENA_ARRAY(o->context->arena, int, o->rings.count + 1)};
    for (int i = 0; i < op->result_count; i++)
        if (!r->producer || o->needed[op->results[i]->id])
            p.index[p.count++] = i;
    for (int ring = 0; ring < o->rings.count; ring++)
        if (outline_holds_ring(o, op, ring))
            p.ring[p.rings++] = ring;
    return p;
}

/* Appends the rings' state to a list of values. */
static int add_state(const struct role *r, const struct passing *p, struct ir_value **values, int count)
{
    for (int i = 0; i < p->rings; i++) {
        values[count++] = r->state[p->ring[i]].slot;
        values[count++] = r->state[p->ring[i]].phase;
    }
    return count;
}

static void take_state(struct role *r, const struct passing *p, struct ir_value *const *values)
{
    for (int i = 0; i < p->rings; i++)
        r->state[p->ring[i]] = (struct ring_state){values[2 * i], values[2 * i + 1]};
}

/* Arguments of a region: `skipped` ones that stand in front (a loop's variable), the values passed on, the state. */
static void make_arguments(struct role *r, const struct passing *p, const struct ir_block *source, int skipped,
                           struct ir_block *block)
{
    for (int i = 0; i < skipped; i++)
        remake_set(&r->again, source->arguments.data[i],
                   ir_block_argument(block, source->arguments.data[i]->type, source->arguments.data[i]->name));
    for (int i = 0; i < p->count; i++) {
        const struct ir_value *old = source->arguments.data[skipped + p->index[i]];
        remake_set(&r->again, old, ir_block_argument(block, old->type, old->name));
    }
    for (int i = 0; i < p->rings; i++) {
        struct ir_value *slot = ir_block_argument(block, r->i32, "slot");
        r->state[p->ring[i]] = (struct ring_state){slot, ir_block_argument(block, r->i32, "phase")};
    }
}

/* The terminator of a region: `skipped` operands as they are, the values passed on, the state. */
static void end_region(struct role *r, const struct passing *p, const struct ir_operation *terminator, int skipped)
{
    struct ir_value **values = ARENA_ARRAY(r->o->context->arena, struct ir_value *,
                                           skipped + p->count + 2 * p->rings + 1);
    int count = 0;
    for (int i = 0; i < skipped; i++)
        values[count++] = remake_find(&r->again, terminator->operands[i]);
    for (int i = 0; i < p->count; i++)
        values[count++] = remake_find(&r->again, terminator->operands[skipped + p->index[i]]);
    count = add_state(r, p, values, count);
    r->builder.at = terminator->at;
    build(r, terminator->opcode, count, values);
}

static void emit_region(struct role *r, const struct passing *p, const struct ir_operation *source, int region,
                        struct ir_operation *made, int arguments_before, int operands_before)
{
    struct ir_builder outer = r->builder;
    r->builder.block = made->regions[region];
    r->builder.before = NULL;
    if (source->opcode != OP_IF)
        make_arguments(r, p, source->regions[region], arguments_before, made->regions[region]);
    emit_block(r, source->regions[region]);
    end_region(r, p, ir_terminator(source->regions[region]), operands_before);
    r->builder = outer;
}

static void emit_control(struct role *r, const struct ir_operation *op)
{
    struct arena *arena = r->o->context->arena;
    struct passing p = passing_of(r, op);
    int first = op->opcode == OP_FOR ? 3 : op->opcode == OP_IF ? 1 : 0, count = 0;
    struct ir_value **operands = ARENA_ARRAY(arena, struct ir_value *, first + p.count + 2 * p.rings + 1);
    const struct ir_type **types = ARENA_ARRAY(arena, const struct ir_type *, p.count + 2 * p.rings + 1);
    for (int i = 0; i < first; i++)
        operands[count++] = remake_find(&r->again, op->operands[i]);
    for (int i = 0; i < p.count; i++) {
        types[i] = op->results[p.index[i]]->type;
        if (op->opcode != OP_IF)
            operands[count++] = remake_find(&r->again, op->operands[first + p.index[i]]);
    }
    for (int i = 0; i < 2 * p.rings; i++)
        types[p.count + i] = r->i32;
    if (op->opcode != OP_IF)
        count = add_state(r, &p, operands, count);
    r->builder.at = op->at;
    struct ir_operation *made = ir_build(&r->builder, op->opcode, count, operands, p.count + 2 * p.rings, types);
    if (!r->producer)
        ir_plan_keep(made, op);
    if (ir_attribute(op, IR_ATTRIBUTE_MULTIPLY))
        ir_set_number(made, IR_ATTRIBUTE_MULTIPLY, ir_number(op, IR_ATTRIBUTE_MULTIPLY, 0));
    struct ring_state *before = arena_copy(arena, r->state, sizeof *before * (size_t)(r->o->rings.count + 1));
    for (int region = 0; region < op->region_count; region++) {
        for (int i = 0; i < r->o->rings.count && !PLANTED(ring_state_of_other_branch); i++)
            r->state[i] = before[i];
        bool condition = op->opcode == OP_WHILE && region == 0;
        emit_region(r, &p, op, region, made, op->opcode == OP_FOR ? 1 : 0, condition ? 1 : 0);
    }
    for (int i = 0; i < r->o->rings.count; i++)
        r->state[i] = before[i];
    for (int i = 0; i < p.count; i++) {
        remake_set(&r->again, op->results[p.index[i]], made->results[i]);
        made->results[i]->name = op->results[p.index[i]]->name;
    }
    take_state(r, &p, made->results + p.count);
}

/* ---- operations ---- */

static bool is_wanted(const struct role *r, const struct ir_operation *op)
{
    for (int i = 0; i < op->result_count; i++)
        if (r->o->needed[op->results[i]->id])
            return true;
    return false;
}

static bool is_control(const struct ir_operation *op)
{
    return op->opcode == OP_FOR || op->opcode == OP_WHILE || op->opcode == OP_IF;
}

static void emit_staged(struct role *r, const struct staged_store *staged)
{
    const struct ir_operation *op = staged->store;
    struct ir_access access;
    ir_access_of(op, &access);
    struct ir_value **operands = ARENA_ARRAY(r->o->context->arena, struct ir_value *, access.rank + 1);
    for (int i = 0; i <= access.rank; i++)
        operands[i] = remake_find(&r->again, op->operands[i]);
    r->builder.at = op->at;
    outline_emit_store(r->o, &r->builder, staged, r->again.map, operands);
}

static void emit_operation(struct role *r, struct ir_operation *op)
{
    int channel = outline_channel(r->o, op);
    const struct staged_store *staged = outline_staged(r->o, op);
    if (op->opcode == OP_BUFFER || op->opcode == OP_COPY_ASYNC || op->opcode == OP_TURN_START)
        return;
    if (channel >= 0) {
        emit_channel(r, channel);
        return;
    }
    if (outline_is_of_maker(r->o, op))
        return;
    if (r->producer && !is_wanted(r, op) && !outline_holds_ring(r->o, op, -1))
        return;
    if (is_control(op))
        emit_control(r, op);
    else if (staged)
        emit_staged(r, staged);
    else if (!(op->opcode == OP_GRID_INDEX && r->again.map[op->results[0]->id]))
        remake_operation(&r->again, &r->builder, op);
}

/* In front of what takes slots of a program, those of the programs in front are passed over.  The turn says that these are all
 * filled: until then a phase could be mistaken for the one two before. */
static void take_turn(struct role *r)
{
    for (int ring = 0; ring < r->o->rings.count; ring++)
        pass_over(r, ring, r->consumer);
    if (!PLANTED(turn_taken_at_once))
        build(r, OP_MBARRIER_WAIT, 3, (struct ir_value *[]){r->o->turn, number(r, r->consumer), r->turn});
    r->next = number(r, (r->consumer + 1) % r->o->consumers);
}

/* Directly behind the loop, so that it may come in front of the wait for the last product. */
static void pass_turn(struct role *r)
{
    build(r, OP_MBARRIER_ARRIVE, 2, (struct ir_value *[]){r->o->turn, r->next});
    r->turn = ir_binary(&r->builder, OP_XOR, r->turn, number(r, 1));
}

static void emit_block(struct role *r, struct ir_block *block)
{
    for (struct ir_operation *op = block->first; op; op = op->next) {
        if (ir_has_trait(op, IR_TRAIT_TERMINATOR))
            return;
        if (op == r->loop)
            take_turn(r);
        emit_operation(r, op);
        for (int c = 0; c < r->o->channels.count && !r->producer; c++)
            if (r->o->channels.data[c].release == op)
                release(r, &r->o->channels.data[c]);
        if (op == r->loop)
            pass_turn(r);
        if (op == r->o->last)
            return;
    }
}

/* ---- programs ---- */

static struct ir_value *index_number(struct role *r, int64_t value)
{
    return ir_constant_int(&r->builder, r->index, value);
}

static struct ir_value *grid_size(struct role *r, int dimension)
{
    struct ir_value *size = ir_build_value(&r->builder, OP_GRID_SIZE, r->index, 0, NULL);
    ir_set_number(size->definition, IR_ATTRIBUTE_DIMENSION, dimension);
    return size;
}

/* Of the grid that programs, or with clusters groups of as many neighbours, are walked over by. */
static struct ir_value *walked_size(struct role *r, int dimension)
{
    struct ir_value *size = grid_size(r, dimension);
    int blocks = r->o->cluster;
    if (blocks == 1 || dimension != r->o->cluster_dimension)
        return size;
    size = ir_binary(&r->builder, OP_ADD, size, index_number(r, blocks - 1));
    return ir_binary(&r->builder, OP_DIV, size, index_number(r, blocks));
}

static struct ir_value *walked_count(struct role *r)
{
    if (r->o->cluster == 1)
        return ir_build_value(&r->builder, OP_PROGRAM_COUNT, r->index, 0, NULL);
    struct ir_value *count = walked_size(r, 0);
    for (int d = 1; d < r->o->function->grid_rank; d++)
        count = ir_binary(&r->builder, OP_MUL, count, walked_size(r, d));
    return count;
}

/* From the place of a group to that of this block's program; blocks of the last group that have none take the last one. */
static struct ir_value *own_place(struct role *r, struct ir_value *group)
{
    struct ir_builder *b = &r->builder;
    struct ir_value *last = ir_binary(b, OP_SUB, grid_size(r, r->o->cluster_dimension), index_number(r, 1));
    struct ir_value *first = ir_binary(b, OP_MUL, group, index_number(r, r->o->cluster));
    if (PLANTED(cluster_runs_past_odd_end))
        return ir_binary(b, OP_ADD, first, r->rank);
    return ir_binary(b, OP_MIN, ir_binary(b, OP_ADD, first, r->rank), last);
}

/* What is known to fit 32 bits goes through them, so that it takes one register while programs run. */
static struct ir_value *within_limit(struct role *r, struct ir_value *coordinate, int dimension)
{
    int64_t limit = r->o->function->grid_limit[dimension];
    if (limit < 1 || limit > INT32_MAX)
        return coordinate;
    return ir_cast(&r->builder, ir_cast(&r->builder, coordinate, IR_U32), IR_INDEX);
}

struct mapping {
    struct role *role;
    struct ir_value **coordinate;
};

static void map_grid_index(struct ir_operation *op, void *data)
{
    struct mapping *m = data;
    if (op->opcode != OP_GRID_INDEX)
        return;
    struct ir_value *value = m->coordinate[ir_number(op, IR_ATTRIBUTE_DIMENSION, 0)];
    remake_set(&m->role->again, op->results[0], ir_cast(&m->role->builder, value, op->results[0]->type->element));
}

static void set_place(struct role *r, struct ir_value **coordinate)
{
    for (int d = 0; d < r->o->function->grid_rank; d++)
        coordinate[d] = within_limit(r, coordinate[d], d);
    struct mapping mapping = {r, coordinate};
    ir_walk(r->o->function->body, map_grid_index, &mapping);
}

/* Coordinates in the grid of program number p.  With raster R, programs go down R of dimension 0 before the next of
 * dimension 1, so that programs that run together share what they read. */
static void place_program(struct role *r, struct ir_value *p)
{
    struct ir_builder *b = &r->builder;
    struct ir_function *function = r->o->function;
    struct ir_value *coordinate[IR_MAX_RANK], *rest = p;
    int rank = function->grid_rank, first = 0;
    if (r->o->reversed) {
        int64_t behind = PLANTED(reversed_programs_off_by_one) ? 0 : 1;
        rest = ir_binary(b, OP_SUB, ir_binary(b, OP_SUB, walked_count(r), index_number(r, behind)), p);
    }
    int raster = r->o->cluster > 1 && r->o->cluster_dimension == 0 ? r->o->raster / r->o->cluster : r->o->raster;
    if (raster > 1 && rank >= 2) {
        struct ir_value *rows = walked_size(r, 0), *columns = walked_size(r, 1), *wide = index_number(r, raster);
        struct ir_value *plane = rest;
        if (rank > 2) {
            struct ir_value *area = ir_binary(b, OP_MUL, rows, columns);
            plane = ir_binary(b, OP_REM, rest, area);
            rest = ir_binary(b, OP_DIV, rest, area);
        }
        struct ir_value *group = ir_binary(b, OP_MUL, wide, columns);
        struct ir_value *start = ir_binary(b, OP_MUL, ir_binary(b, OP_DIV, plane, group), wide);
        struct ir_value *height = ir_binary(b, OP_MIN, ir_binary(b, OP_SUB, rows, start), wide);
        if (PLANTED(raster_forgets_short_group))
            height = wide;
        struct ir_value *inside = ir_binary(b, OP_REM, plane, group);
        coordinate[0] = ir_binary(b, OP_ADD, start, ir_binary(b, OP_REM, inside, height));
        coordinate[1] = ir_binary(b, OP_DIV, inside, height);
        first = 2;
    }
    for (int d = first; d < rank; d++) {
        coordinate[d] = rest;
        if (d + 1 < rank) {
            struct ir_value *size = walked_size(r, d);
            coordinate[d] = ir_binary(b, OP_REM, rest, size);
            rest = ir_binary(b, OP_DIV, rest, size);
        }
    }
    if (r->o->cluster > 1)
        coordinate[r->o->cluster_dimension] = own_place(r, coordinate[r->o->cluster_dimension]);
    set_place(r, coordinate);
}

static void place_pair(struct role *r, struct ir_value *program, struct ir_value *taken)
{
    struct ir_value *coordinate[IR_MAX_RANK];
    outline_place_pair(r->o, &r->builder, &r->pairs, program, taken, coordinate);
    set_place(r, coordinate);
}

static void finish_stores(struct role *r)
{
    if (r->producer || r->o->staged.count == 0)
        return;
    struct ir_operation *wait = outline_build_of_groups(r->o, &r->builder, OP_TMA_WAIT);
    ir_set_number(wait, IR_ATTRIBUTE_PENDING, 0);
}

static void emit_programs(struct role *r, struct ir_block *source)
{
    struct arena *arena = r->o->context->arena;
    int rings = r->o->rings.count, count = 0;
    bool pairs = r->o->paired >= 0;
    int carried = 2 * rings + (r->loop != NULL) + pairs;
    struct ir_value **operands = ARENA_ARRAY(arena, struct ir_value *, 3 + carried);
    const struct ir_type **types = ARENA_ARRAY(arena, const struct ir_type *, carried + 1);
    struct ir_value *first = ir_build_value(&r->builder, OP_PROGRAM, r->index, 0, NULL);
    struct ir_value *total = walked_count(r), *step = ir_build_value(&r->builder, OP_BLOCK_COUNT, r->index, 0, NULL);
    if (r->o->cluster > 1) {
        struct ir_value *blocks = index_number(r, r->o->cluster);
        r->rank = ir_binary(&r->builder, OP_REM, first, blocks);
        first = ir_binary(&r->builder, OP_DIV, first, blocks);
        step = ir_binary(&r->builder, OP_DIV, step, blocks);
    }
    if (!r->producer && r->consumer)
        first = ir_binary(&r->builder, OP_ADD, first,
                          ir_binary(&r->builder, OP_MUL, step, index_number(r, r->consumer)));
    if (!r->producer && r->o->consumers > 1)
        step = ir_binary(&r->builder, OP_MUL, step, index_number(r, r->o->consumers));
    operands[count++] = first;
    operands[count++] = total;
    operands[count++] = step;
    struct passing p = {0, NULL, 0, ARENA_ARRAY(arena, int, rings + 1)};
    for (int i = 0; i < rings; i++)
        p.ring[p.rings++] = i;
    for (int i = 0; i < carried; i++)
        types[i] = r->i32;
    count = add_state(r, &p, operands, count);
    if (r->loop)
        operands[count++] = r->turn;
    if (pairs) {
        r->pairs = outline_count_pairs(r->o, &r->builder, first, total, step);
        operands[count++] = number(r, 0);
    }
    struct ir_operation *loop = ir_build(&r->builder, OP_FOR, count, operands, carried, types);
    struct ir_builder outer = r->builder;
    r->builder.block = loop->regions[0];
    r->builder.before = NULL;
    struct ir_value *program = ir_block_argument(loop->regions[0], r->index, "program");
    make_arguments(r, &p, loop->regions[0], 0, loop->regions[0]);
    if (r->loop)
        r->turn = ir_block_argument(loop->regions[0], r->i32, "turn");
    struct ir_value *taken = pairs ? ir_block_argument(loop->regions[0], r->i32, "taken") : NULL;
    if (pairs)
        place_pair(r, program, taken);
    else
        place_program(r, program);
    emit_block(r, source);
    for (int ring = 0; ring < rings && r->loop; ring++)
        pass_over(r, ring, r->o->consumers - 1 - r->consumer);
    count = add_state(r, &p, operands, 0);
    if (r->loop)
        operands[count++] = r->turn;
    if (pairs)
        operands[count++] = ir_binary(&r->builder, OP_ADD, taken, number(r, 1));
    build(r, OP_YIELD, count, operands);
    r->builder = outer;
}

void outline_emit(struct outline *o, int consumer, struct ir_builder *builder)
{
    struct ir_context *types = o->function->module->context;
    bool producer = consumer < 0;
    struct role r = {.o = o,
                     .producer = producer,
                     .maker = consumer == OUTLINE_MAKER,
                     .consumer = consumer,
                     .builder = *builder,
                     .i32 = ir_type_scalar(types, IR_I32),
                     .index = ir_type_scalar(types, IR_INDEX)};
    r.again = remake_open(o->context->arena, o->function, NULL);
    r.state = ARENA_ARRAY(o->context->arena, struct ring_state, o->rings.count + 1);
    r.loop = o->consumers > 1 && !producer ? outline_common_loop(o) : NULL;
    r.turn = number(&r, consumer == 0); /* the first one's has come before it starts */
    o->consumer = consumer;
    for (int i = 0; i < o->rings.count; i++)
        r.state[i] = (struct ring_state){number(&r, 0), number(&r, 0)};
    for (const struct ir_operation *op = o->function->body->first; op && !producer; op = op->next)
        if (op->opcode == OP_TURN_START) /* once, in front of all programs */
            build(&r, OP_TURN_START, 0, NULL);
    if (o->persistent) {
        emit_programs(&r, o->function->body);
    } else {
        if (o->reversed || o->raster > 1)
            place_program(&r, ir_build_value(&r.builder, OP_PROGRAM, r.index, 0, NULL));
        emit_block(&r, o->function->body);
    }
    finish_stores(&r);
    build(&r, OP_YIELD, 0, NULL);
    *builder = r.builder;
}
