/* A maker: a role of four warps between the producer and the consumers, which makes of what is brought what wgmma reads.
 *
 *     for %k … {
 *         wait %s, %t                                          %X and %Y hold what was brought
 *         %x = buffer_load %X     %y = buffer_load %Y
 *         %h = keep_tf32 %y       %l = sub %y, %h
 *         barrier     buffer_store %h, %H     buffer_store %l, %L     fence_async     barrier
 *         … %x, %H, %L …
 *     }
 * becomes for consumers
 *     mbarrier_wait %full …     %x = buffer_load %X     mbarrier_arrive %empty …
 *     mbarrier_wait %made …     … %x, slots of %H and %L …     mbarrier_arrive %free …
 * and for the maker
 *     mbarrier_wait %full …     %y = buffer_load %Y     mbarrier_arrive %empty …     %h = …     %l = …
 *     mbarrier_wait %free …     buffer_store …     buffer_store …     fence_async     mbarrier_arrive %made …
 *
 * Consumers no longer meet, nor do tensor cores wait while they compute and store.  To the rest of `specialise` the buffers
 * between two barriers are one more ring, and the first barrier is what waits for it.
 *
 * Right because all that is stored follows from what was brought, element by element, so that another role can compute it; and
 * because a slot is written again only behind the arrival of each warp that has read it.
 *
 * Done beside two warpgroups that consume programs together, on a multiprocessor of their own: one leaves room for another block,
 * which computes while this one waits, and three leave no registers. */
#include "passes/roles/specialise.h"

#include "base/plant.h"
#include "ir/facts/scratch.h"
#include "passes/base/budget.h"
#include "passes/base/rewrite.h"
#include "passes/loops/factor_way.h"

enum { CONSUMER_WARPS = 2 * IR_WARPGROUP, SLOTS = 2 };

struct finding {
    struct outline *o;
    VECTOR(struct channel) made;
    VECTOR(struct ring) rings;
    bool *by_maker;
    const struct ir_type *from; /* the buffer that was looked at last */
    bool failed;
};

/* The last operation of a group that begins with this barrier, or NULL. */
static struct ir_operation *end_of_group(const struct ir_operation *barrier)
{
    struct ir_operation *op = barrier->next;
    if (barrier->opcode != OP_BARRIER || ir_number(barrier, IR_ATTRIBUTE_BARRIER_ID, 0))
        return NULL;
    for (; op && op->opcode == OP_BUFFER_STORE; op = op->next)
        ;
    bool fenced = op && op != barrier->next && op->opcode == OP_FENCE_ASYNC;
    return fenced && op->next && op->next->opcode == OP_BARRIER ? op->next : NULL;
}

/* The channel that brings the buffer, in the block, in front of the operation; -1: none does. */
static int channel_of(const struct outline *o, const struct ir_value *buffer, const struct ir_operation *op)
{
    for (int c = 0; c < o->channels.count; c++) {
        const struct channel *channel = &o->channels.data[c];
        if (outline_has_buffer(&o->rings.data[channel->ring], buffer) && channel->wait->block == op->block &&
            ir_comes_before(channel->wait, op))
            return c;
    }
    return -1;
}

/* Whether the tile follows, element by element, from what one channel brings; all that it follows from is marked. */
static bool follows(struct finding *f, struct channel *made, struct ir_value *tile)
{
    const struct ir_operation *op = tile->definition;
    if (!op || op->block != made->wait->block || op->result_count != 1 || op->region_count)
        return false;
    f->by_maker[tile->id] = true;
    if (op->opcode == OP_BUFFER_LOAD) {
        int source = channel_of(f->o, op->operands[0], op);
        bool same = source >= 0 && (made->source < 0 || made->source == source);
        made->source = source;
        f->from = op->operands[0]->type;
        return same && !ir_attribute(op, IR_ATTRIBUTE_START);
    }
    for (int i = 0; i < op->operand_count; i++)
        if (!ir_has_trait(op, IR_TRAIT_ELEMENTWISE) || op->operands[i]->type->layout != tile->type->layout ||
            !follows(f, made, op->operands[i]))
            return false;
    return op->operand_count > 0;
}

static void find_made(struct ir_operation *op, void *data)
{
    struct finding *f = data;
    struct ir_operation *last = end_of_group(op);
    struct channel made = {.wait = op, .last = last, .source = -1};
    struct ring ring = {.made_by_maker = true, .in_loop = true};
    if (!last)
        return;
    for (struct ir_operation *store = op->next; store->opcode == OP_BUFFER_STORE; store = store->next) {
        struct ir_value *tile = store->operands[0], *buffer = store->operands[1];
        if (!follows(f, &made, tile) || buffer->definition->opcode != OP_BUFFER || !ir_is_in_loop(op)) {
            f->failed = true;
            return;
        }
        vector_push(f->o->context->arena, &ring.buffers, buffer);
        ring.bytes += ir_type_bytes(buffer->type);
        ring.room += scratch_ring_bytes(buffer->type);
    }
    made.layout = factor_remaking_layout(ir_context_layouts(rewrite_context(op)), f->from, ring.buffers.data[0]->type,
                                         BUDGET_MAKER_WARPS);
    made.ring = f->rings.count;
    for (int r = 0; r < f->rings.count; r++)
        if (outline_has_buffer(&f->rings.data[r], ring.buffers.data[0]))
            made.ring = r;
    if (made.ring == f->rings.count)
        vector_push(f->o->context->arena, &f->rings, ring);
    vector_push(f->o->context->arena, &f->made, made);
}

/* Consumers ask for nothing that the maker computes, and what is stored nowhere else. */
static bool is_asked_for(const struct finding *f, const struct ir_operation *op)
{
    bool inside = op->result_count == 1 && f->by_maker[op->results[0]->id];
    for (int c = 0; c < f->made.count; c++)
        inside |= op->block == f->made.data[c].wait->block && ir_comes_before(f->made.data[c].wait, op) &&
                  ir_comes_before(op, f->made.data[c].last);
    for (int i = 0; i < op->operand_count && !inside; i++)
        if (f->by_maker[op->operands[i]->id])
            return true;
    return false;
}

static void look_for_askers(struct ir_operation *op, void *data)
{
    struct finding *f = data;
    f->failed |= is_asked_for(f, op);
}

/* Each filling of a ring that the maker reads is read by it once. */
static bool sources_agree(const struct finding *f)
{
    const struct outline *o = f->o;
    for (int c = 0; c < o->channels.count; c++) {
        int readers = 0;
        bool read = false;
        for (int m = 0; m < f->made.count; m++) {
            const struct channel *source = &o->channels.data[f->made.data[m].source];
            readers += f->made.data[m].source == c;
            read |= source->ring == o->channels.data[c].ring;
        }
        if (readers > 1 || (read && !readers))
            return false;
    }
    return true;
}

void outline_choose_maker(struct outline *o)
{
    struct finding f = {.o = o};
    const struct ir_function *function = o->function;
    if (function->warps != CONSUMER_WARPS || function->max_registers)
        return;
    f.by_maker = ARENA_ARRAY(o->context->arena, bool, function->next_value_id);
    ir_walk(function->body, find_made, &f);
    if (f.failed || !f.made.count)
        return;
    ir_walk(function->body, look_for_askers, &f);
    if (f.failed || !sources_agree(&f))
        return;
    for (int m = 0; m < f.made.count; m++) {
        f.made.data[m].ring += o->rings.count;
        o->rings.data[o->channels.data[f.made.data[m].source].ring].read_by_maker = true;
    }
    for (int r = 0; r < f.rings.count; r++) {
        f.rings.data[r].plan = (struct ring_plan){.bytes = f.rings.data[r].room, .wanted = SLOTS, .most = SLOTS};
        vector_push(o->context->arena, &o->rings, f.rings.data[r]);
    }
    for (int m = 0; m < f.made.count; m++)
        vector_push(o->context->arena, &o->channels, f.made.data[m]);
    o->by_maker = f.by_maker;
    o->maker = true;
}

bool outline_is_of_maker(const struct outline *o, const struct ir_operation *op)
{
    if (!o->maker)
        return false;
    bool inside = op->result_count == 1 && op->results[0]->id < o->value_count && o->by_maker[op->results[0]->id];
    for (int c = 0; c < o->channels.count && !inside; c++) {
        const struct channel *channel = &o->channels.data[c];
        inside = channel->last && op->block == channel->wait->block && ir_comes_before(channel->wait, op) &&
                 ir_comes_before(op, channel->last);
    }
    return inside;
}

void outline_make_tiles(const struct outline *o, struct ir_builder *builder, const struct channel *channel, bool loads,
                        struct ir_value **copies)
{
    for (const struct ir_operation *op = channel->wait->block->first; op != channel->wait; op = op->next)
        if (op->result_count == 1 && o->by_maker[op->results[0]->id] && (op->opcode == OP_BUFFER_LOAD) == loads) {
            struct ir_value *made = ir_clone(builder, op, copies)->results[0];
            made->type = ir_type_with_layout(o->function->module->context, made->type, channel->layout);
        }
}
