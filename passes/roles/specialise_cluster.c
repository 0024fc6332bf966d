/* Two or four blocks that work together in a function with roles.  Neighbours along one dimension of the grid run at the
 * same time as a cluster, and what all read comes from memory once: each block's producer brings its share of it to all.
 * With two:
 *
 *     for %p = program to program_count step block_count          place of %p
 * becomes, with dimension 0 of the grid shared out and %rank = program % 2,
 *     for %p = program / 2 to pairs step block_count / 2          place of %p among the pairs,
 *         coordinate 0 = min(2 * place + %rank, size - 1)
 *     tma_load %b[…], … multicast(2)                              where the place does not depend on dimension 0
 *     mbarrier_arrive %empty[…] cluster(2)                        a slot is free when the consumers of both say so
 *
 * Right because all blocks walk over equally many programs, through loops and branches that do not depend on the
 * dimension, so that the n-th filling of a ring is the same in each.  Where the size of the dimension is no multiple of the
 * blocks, those of the last cluster that have no program compute the last one, too, and store the same numbers to the same
 * places: so clusters are for kernels without atomic operations that read nothing of what they write.
 *
 * Four ask L2 for less, and leave multiprocessors idle that are in no whole four.  On an H200, tiles of 128 x 256 of bf16:
 * 5000 x 5000 x 5000, whose rows begin in the middle of lines so that L2 is the limit, 369 us by fours and 419 by twos;
 * 4096 x 4096 x 4096 212 by fours and 179 by twos; 2026-11-27-h200-clusters.json.  On an H100 378, 462;
 * 211, 177; 2026-11-27-h100-clusters.json. */
#include "base/plant.h"
#include "ir/facts/alias.h"
#include "ir/facts/shared_form.h"
#include "passes/base/rewrite.h"
#include "passes/roles/specialise.h"
#include "targets/target.h"

enum { MOST_BLOCKS = 4 };

/* Whether all blocks of a cluster along the dimension bring the same by this copy. */
static bool is_the_same(const struct ir_operation *copy, int dimension)
{
    for (int i = 0; i + 1 < copy->operand_count; i++) /* the view, too: it may be a part that the grid chooses */
        if (outline_direction(copy->operands[i], dimension) != 0)
            return false;
    return true;
}

/* And can share it out. */
static bool may_share(const struct ir_operation *copy, int dimension, int blocks)
{
    return is_the_same(copy, dimension) &&
           tensor_map_shared_rows(copy->operands[copy->operand_count - 1]->type, blocks) > 0;
}

bool outline_is_shared(const struct outline *o, const struct ir_operation *copy)
{
    return o->cluster > 1 && may_share(copy, o->cluster_dimension, o->cluster);
}

/* Whether neighbours along the dimension come to the operation equally often. */
static bool runs_alike(const struct ir_operation *op, int dimension)
{
    for (const struct ir_operation *outer = op->block->parent; outer; outer = outer->block->parent) {
        int count = outer->opcode == OP_FOR ? 3 : outer->opcode == OP_IF ? 1 : 0;
        if (count == 0)
            return false;
        for (int i = 0; i < count; i++)
            if (outline_direction(outer->operands[i], dimension) != 0)
                return false;
    }
    return true;
}

/* Bytes that need not be read twice. */
static int64_t saved_along(const struct outline *o, int dimension)
{
    int64_t saved = 0;
    for (int c = 0; c < o->channels.count; c++) {
        const struct channel *channel = &o->channels.data[c];
        if (!runs_alike(channel->wait, dimension) && !PLANTED(cluster_runs_unlike))
            return 0;
        for (int i = 0; i < channel->copies.count; i++) {
            const struct ir_operation *copy = channel->copies.data[i];
            if (may_share(copy, dimension, o->function->cluster))
                saved += ir_type_bytes(copy->operands[copy->operand_count - 1]->type);
        }
    }
    return saved;
}

/* What is in the way where nothing is saved along any dimension. */
static const char *why_nothing_saved(const struct outline *o)
{
    bool same = false, unlike = false;
    for (int d = 0; d < o->function->grid_rank; d++) {
        bool same_here = false, unlike_here = false;
        for (int c = 0; c < o->channels.count; c++) {
            const struct channel *channel = &o->channels.data[c];
            unlike_here |= !runs_alike(channel->wait, d);
            for (int i = 0; i < channel->copies.count; i++)
                same_here |= is_the_same(channel->copies.data[i], d);
        }
        same |= same_here;
        unlike |= same_here && unlike_here;
    }
    return unlike ? "loops or branches of neighbouring programs that read the same depend on their places"
           : same ? "what neighbouring programs both read has no rows to share out"
                  : "no two neighbouring programs read the same";
}

struct effects {
    const struct ir_operation *write;
    bool collides;
    unsigned written_along; /* dimensions that places of writes depend on; along others there is one program */
};

static bool is_memory(const struct ir_operation *op, unsigned traits)
{
    return op->operand_count && op->opcode != OP_ASSUME && ir_has_trait(op, traits);
}

static void find_read(struct ir_operation *op, void *data)
{
    struct effects *e = data;
    e->collides |= is_memory(op, IR_TRAIT_READ) && alias_may(op->operands[0], e->write->operands[0]);
}

static bool is_tile(const struct ir_value *value) { return value->type->kind == IR_TILE && value->type->rank; }

static void find_effect(struct ir_operation *op, void *data)
{
    struct effects *e = data;
    e->collides |= op->opcode == OP_CALL || ir_has_trait(op, IR_TRAIT_ATOMIC);
    if (e->collides || !is_memory(op, IR_TRAIT_WRITE))
        return;
    e->write = op;
    for (int d = 0; d < op->block->function->grid_rank; d++)
        for (int i = 0; i < op->operand_count; i++)
            if (!is_tile(op->operands[i]) && outline_direction(op->operands[i], d) != 0)
                e->written_along |= 1u << d;
    ir_walk(op->block->function->body, find_read, e);
}

static const char *choose(struct outline *o)
{
    struct effects effects = {0};
    int64_t most = 0;
    if (!(o->context->target->flags & TARGET_CLUSTER))
        return "the target has no clusters";
    if (!o->persistent)
        return "its blocks do not walk over programs";
    ir_walk(o->function->body, find_effect, &effects);
    if (effects.collides)
        return "a program may not run twice: it reads what it writes, or has atomic operations";
    for (int d = 0; d < o->function->grid_rank; d++) {
        int64_t saved = effects.written_along >> d & 1 ? saved_along(o, d) : 0;
        if (saved > most) {
            most = saved;
            o->cluster_dimension = d;
        }
    }
    if (most == 0)
        return why_nothing_saved(o);
    o->cluster = o->function->cluster;
    return NULL;
}

void outline_choose_cluster(struct outline *o)
{
    struct ir_function *function = o->function;
    int wanted = function->cluster;
    o->cluster = 1;
    if (wanted < 2) {
        function->cluster = 0;
        return;
    }
    const char *problem = wanted > MOST_BLOCKS || wanted == 3 ? "clusters have 2 or 4 blocks" : choose(o);
    if (problem) {
        function->cluster = 0;
        pass_idle_knob(o->context, function->at, "cluster", (struct asked_knob){wanted, 0}, "%s", problem);
        return;
    }
    function->cluster = o->cluster;
    for (int c = 0; c < o->channels.count; c++)
        for (int i = 0; i < o->channels.data[c].copies.count; i++) {
            const struct ir_operation *copy = o->channels.data[c].copies.data[i];
            if (!outline_is_shared(o, copy))
                continue;
            o->rings.data[o->channels.data[c].ring].shared = true;
            pass_remark(o->context, copy->at, "%s blocks bring this together: neighbours along grid dimension %d",
                        o->cluster == 2 ? "two" : "four", o->cluster_dimension);
        }
}
