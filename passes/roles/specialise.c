/* specialise: from the Schedule to the Machine level on targets with TMA.  The function is split into a producer, one
 * thread that brings factors to shared memory, and consumers, which compute:
 *
 *     %A = buffer …
 *     for %k … {
 *         %t = copy_async %a[…], %A      wait %t
 *         … %A …
 *     }
 * becomes
 *     %A = buffer … slots(4)             %full = mbarrier …   %empty = mbarrier …   mbarrier_ready
 *     roles role_warps(8, 4) role_registers(232, 40) {
 *         for %k … { mbarrier_wait %full …   … slot of %A …   mbarrier_arrive %empty … }
 *     } {
 *         for %k … { mbarrier_wait %empty …   mbarrier_expect %full …   tma_load %a[…], slot of %A, %full … }
 *     }
 *
 * Copies that one wait waits for share a ring of slots; the producer runs ahead as far as there are slots, also into
 * the next program where blocks are persistent, so that loads go on under the stores of the program before.
 *
 * Right because both roles walk through the same loops and branches (specialise_slice: these depend on nothing that
 * only one of them has), so that the n-th filling of a ring meets the n-th wait for it; a slot is written again only
 * after every warp of the consumers has said that it is through with it; and no copy reads what the kernel writes.
 *
 * Which programs a block takes, and when: specialise_programs.c. */
#include "passes/roles/specialise.h"
#include "base/plant.h"

#include <string.h>

#include "ir/facts/scratch.h"
#include "passes/base/budget.h"
#include "passes/base/planning.h"
#include "passes/base/rewrite.h"
#include "passes/loops/buffer_copy.h"
#include "passes/loops/loop_model.h"

enum {
    BLOCK_SHARED = 1024, /* that the hardware takes for itself */
    LEAST_WORK = 128,    /* cycles */
    /* Registers of a thread for tiles, as loop_model_pressure counts them: ptxas computes tiles piece by piece, and needs
     * fewer.  Of loops of four products one with 284 fits into 216 without a spill, one with 418 does not. */
    MOST_OF_TWO = 290
};

/* ---- channels and rings ---- */

/* Values through which a buffer is looked at: itself, other forms of it, products on their way. */
struct looks {
    VECTOR(const struct ir_value *) values;
};

static void add_looks(struct arena *arena, struct looks *looks, const struct ir_operation *op)
{
    bool passes_on = op->opcode == OP_BUFFER_PERMUTE || op->opcode == OP_BUFFER_PART || op->opcode == OP_SLOT ||
                     op->opcode == OP_DOT_ASYNC;
    if (passes_on)
        vector_push(arena, &looks->values, op->results[0]);
    for (int r = 0; r < op->region_count; r++)
        for (const struct ir_operation *inner = op->regions[r]->first; inner; inner = inner->next)
            for (int i = 0; i < looks->values.count; i++)
                if (ir_uses(inner, looks->values.data[i])) {
                    add_looks(arena, looks, inner);
                    break;
                }
}

/* Up to the next time that the ring is filled. */
static void find_release(struct outline *o, struct channel *channel)
{
    struct looks looks = {0};
    struct ring *ring = &o->rings.data[channel->ring];
    for (int i = 0; i < ring->buffers.count; i++)
        vector_push(o->context->arena, &looks.values, (const struct ir_value *)ring->buffers.data[i]);
    channel->release = channel->wait;
    for (struct ir_operation *op = channel->wait->next; op && !outline_holds_ring(o, op, channel->ring); op = op->next)
        for (int i = 0; i < looks.values.count; i++)
            if (ir_uses(op, looks.values.data[i])) {
                bool seen = PLANTED(slot_released_at_first_look) && channel->release != channel->wait;
                if (outline_channel(o, op) < 0 && op->opcode != OP_COPY_ASYNC && !seen)
                    channel->release = op;
                add_looks(o->context->arena, &looks, op);
                break;
            }
}

/* Other forms of a buffer are made in front of each use, behind the wait that says which slot is meant.  All are
 * gathered first, since a walk would meet the new ones, too; the last first, so that a form of a form follows its
 * user. */
struct forms {
    struct arena *arena;
    VECTOR(struct ir_operation *) all;
};

static void gather_form(struct ir_operation *op, void *data)
{
    struct forms *forms = data;
    if (op->opcode == OP_BUFFER_PERMUTE || op->opcode == OP_BUFFER_PART)
        vector_push(forms->arena, &forms->all, op);
}

static void sink_form(struct ir_operation *op)
{
    while (op->results[0]->uses) {
        struct ir_operation *user = op->results[0]->uses->user;
        int index = op->results[0]->uses->index;
        struct ir_builder builder = rewrite_before(user);
        struct ir_operation *form = ir_build(&builder, op->opcode, 1, op->operands, 1, &op->results[0]->type);
        enum ir_attribute_key key = op->opcode == OP_BUFFER_PART ? IR_ATTRIBUTE_START : IR_ATTRIBUTE_PERMUTATION;
        const struct ir_attribute *list = ir_attribute(op, key);
        ir_set_list(form, key, list->count, list->list);
        ir_set_operand(user, index, form->results[0]);
    }
    ir_remove(op);
}

static void sink_forms(struct ir_function *function, struct arena *arena)
{
    struct forms forms = {.arena = arena};
    ir_walk(function->body, gather_form, &forms);
    for (int i = forms.all.count; i-- > 0;)
        sink_form(forms.all.data[i]);
}

/* ---- how many slots ---- */

struct scratching {
    struct outline *o;
    int64_t most;
};

static void measure_scratch(struct ir_operation *op, void *data)
{
    struct scratching *s = data;
    struct arena *arena = s->o->context->arena;
    bool stored = op->opcode == OP_CONVERT_LAYOUT && op->results[0]->uses;
    for (const struct ir_use *use = stored ? op->results[0]->uses : NULL; use; use = use->next)
        stored &= outline_staged(s->o, use->user) != NULL;
    if (!stored)
        s->most = int64_max(s->most, scratch_bytes(ir_context_layouts(rewrite_context(op)), arena, op));
}

static const struct ir_block *loop_body_of(const struct ir_operation *op)
{
    const struct ir_block *block = op->block;
    while (block->parent && !ir_has_trait(block->parent, IR_TRAIT_LOOP))
        block = block->parent->block;
    return block->parent ? block : NULL;
}

/* The slots that each ring's loops want: the greatest number of its channels. */
static void plan_rings(struct outline *o)
{
    for (int c = 0; c < o->channels.count; c++) {
        const struct channel *channel = &o->channels.data[c];
        struct ring *ring = &o->rings.data[channel->ring];
        const struct ir_block *body = loop_body_of(channel->wait);
        if (!body || channel->last)
            continue;
        struct loop_model model = loop_model_make(o->context->arena, o->context->target, body, loop_model_copies_ahead,
                                                  NULL);
        int from = loop_model_position(&model, channel->wait), to = loop_model_position(&model, channel->release);
        double busy = 0; /* from the wait for it to the end of its last reader */
        if (from >= 0 && to >= 0)
            busy = model.operations[to].start + model.operations[to].cost.issue - model.operations[from].start;
        struct ring_plan one = ring_plan_make(&model, ring->room, busy, true, o->function);
        for (int i = 0; i < channel->copies.count; i++)
            if (planning_asked_slots(channel->copies.data[i]) > 0)
                one.most = planning_asked_slots(channel->copies.data[i]);
        bool inner = one.most == ring->plan.most && one.wanted == ring->plan.wanted &&
                     one.iteration < ring->plan.iteration;
        if (one.most > ring->plan.most || one.wanted > ring->plan.wanted || inner)
            ring->plan = one;
    }
}

static bool share_room(struct outline *o, int64_t room)
{
    struct ring_plan **plans = ARENA_ARRAY(o->context->arena, struct ring_plan *, o->rings.count + 1);
    int count = 0;
    for (int r = 0; r < o->rings.count; r++)
        if (o->rings.data[r].in_loop)
            plans[count++] = &o->rings.data[r].plan;
    return ring_plan_share(plans, count, room);
}

/* The slots of the first ring in a loop that has use for more; 0: there is none, or it does not fit. */
static int slots_to_gain(struct outline *o, int64_t room)
{
    int least = 0;
    if (room < 0 || !share_room(o, room))
        return 0;
    for (int r = 0; r < o->rings.count; r++) {
        const struct ring *ring = &o->rings.data[r];
        if (ring->in_loop && (!least || ring->plan.slots < least))
            least = ring->plan.slots;
    }
    return least;
}

/* Warps of all consumers, and of those who work for them. */
static int consumer_warps(const struct outline *o) { return o->function->warps * o->consumers; }
static int helper_warps(const struct outline *o) { return BUDGET_PRODUCER_WARPS + (o->maker ? BUDGET_MAKER_WARPS : 0); }

/* Blocks that a multiprocessor has registers for. */
static int blocks_of(const struct outline *o)
{
    int all = consumer_warps(o) + helper_warps(o), most = o->function->max_registers;
    int blocks = most ? target_registers(o->context->target) / (32 * all * most) : 1;
    return blocks > 1 ? blocks : 1;
}

/* Shared memory of a block, when as many as there are registers for share a multiprocessor's. */
static int64_t block_room(const struct outline *o)
{
    return (o->context->target->shared_bytes + BLOCK_SHARED) / blocks_of(o) - BLOCK_SHARED;
}

/* Whether tiles have no room in the registers of one of two blocks, with one that no copy brings while it is loaded. */
static bool needs_registers(const struct outline *o, const struct ir_block *body)
{
    int spare = o->persistent ? LOOP_MODEL_SPARE / 2 : 0; /* for what the loop over programs needs */
    int pressure = loop_model_pressure(o->context->arena, body) + spare, most = 0;
    for (const struct ir_operation *op = body->first; op; op = op->next)
        if (op->opcode == OP_LOAD && op->results[0]->type->rank > 1)
            most = prefetch_registers(op->results[0]) > most ? prefetch_registers(op->results[0]) : most;
    return pressure + most > MOST_OF_TWO;
}

/* Cycles for which the loop computes with tiles beside its products. */
static double work_beside(const struct loop_model *model)
{
    double cycles = 0;
    for (int i = 0; i < model->count; i++) {
        const struct ir_operation *op = model->operations[i].operation;
        bool tile = op->result_count && op->results[0]->type->kind == IR_TILE && op->results[0]->type->rank > 0;
        bool product = op->opcode == OP_DOT || op->opcode == OP_DOT_ASYNC || op->opcode == OP_DOT_WAIT;
        cycles += tile && !product ? model->operations[i].cost.issue : 0;
    }
    return cycles;
}

/* Whether one warpgroup of consumers leaves tensor cores idle for most of the time, since in each loop it waits for
 * what it computes itself, and has registers to spare.  (Where it does nothing but multiply, products in flight and
 * longer rings serve better.)  On an H200 a scan of state-space chunks takes 1.81 ms by one block, 1.16 by two
 * (2026-11-27-h200-loops.json); what each chunk adds to the state 385 us and 329, though a load into registers no longer
 * runs ahead; linear attention 298 and 222 (2026-11-27-h200-two-blocks.json). */
static bool leaves_idle(const struct outline *o)
{
    bool any = false;
    for (int c = 0; c < o->channels.count; c++) {
        const struct ir_block *body = loop_body_of(o->channels.data[c].wait);
        if (!body)
            continue;
        struct loop_model model = loop_model_make(o->context->arena, o->context->target, body, loop_model_copies_ahead,
                                                  NULL);
        if (2 * model.tensor > model.chain || work_beside(&model) < LEAST_WORK || needs_registers(o, body))
            return false;
        any = true;
    }
    return any && o->function->warps == BUDGET_PRODUCER_WARPS && !o->function->max_registers;
}

/* Two blocks a multiprocessor then, of which one computes while the other waits: if each still has the slots that hide
 * the latency of its copies.  `taken`: what a block takes beside its rings. */
static void choose_blocks(struct outline *o, int64_t taken)
{
    bool enough = leaves_idle(o);
    if (!enough)
        return;
    o->function->max_registers = target_thread_registers(o->context->target, 2 * 2 * BUDGET_PRODUCER_WARPS);
    enough = share_room(o, block_room(o) - taken);
    for (int r = 0; r < o->rings.count && enough; r++)
        enough = !o->rings.data[r].in_loop || o->rings.data[r].plan.slots >= o->rings.data[r].plan.wanted;
    if (!enough)
        o->function->max_registers = 0;
}

/* Where blocks walk over programs a second slot for what is brought once a program: that of the next one comes while this
 * one is computed, and what the producer brings behind it does not wait for that.  If rings in loops keep their slots, or one
 * more than hide the latency. */
static int slots_of_programs(struct outline *o, int64_t room)
{
    int64_t once = 0;
    bool enough = o->persistent;
    int *before = ARENA_ARRAY(o->context->arena, int, o->rings.count + 1);
    for (int r = 0; r < o->rings.count; r++) {
        once += o->rings.data[r].in_loop ? 0 : o->rings.data[r].room;
        before[r] = o->rings.data[r].plan.slots;
    }
    if (!once || !enough)
        return 1;
    enough = once <= room && share_room(o, room - once);
    for (int r = 0; r < o->rings.count && enough; r++) {
        const struct ring_plan *plan = &o->rings.data[r].plan;
        enough = !o->rings.data[r].in_loop || plan->slots == before[r] || plan->slots > plan->wanted;
    }
    if (!enough)
        share_room(o, room);
    return enough ? 2 : 1;
}

/* Slots for each ring in a loop, by latency and by the room there is. */
static bool choose_slots(struct outline *o)
{
    struct scratching scratch = {.o = o};
    ir_walk(o->function->body, measure_scratch, &scratch);
    int64_t room = -budget_shared_beside(scratch.most) - (o->consumers - 1) * scratch.most;
    for (struct ir_operation *op = o->function->body->first; op; op = op->next) /* those that no copy fills */
        if (op->opcode == OP_BUFFER) {
            bool filled = false;
            for (int r = 0; r < o->rings.count; r++)
                filled |= outline_has_buffer(&o->rings.data[r], op->results[0]);
            room -= filled ? 0 : scratch_ring_bytes(op->results[0]->type) * op->results[0]->type->slots;
        }
    for (int r = 0; r < o->rings.count; r++)
        room -= o->rings.data[r].in_loop ? 0 : o->rings.data[r].room;
    plan_rings(o);
    choose_blocks(o, -room);
    room += block_room(o);
    o->scarce = slots_to_gain(o, room) == 1;
    int64_t spare = outline_spare_staging(o);
    if (spare && (room < 0 || slots_to_gain(o, room + spare) > slots_to_gain(o, room))) { /* loads before stores */
        outline_save_staging(o);
        room += spare;
    }
    if (room < 0 || !share_room(o, room)) {
        outline_fail(o, o->function->body->first, "its buffers do not fit into shared memory");
        return false;
    }
    int once = slots_of_programs(o, room);
    for (int r = 0; r < o->rings.count; r++)
        o->rings.data[r].slots = o->rings.data[r].in_loop ? o->rings.data[r].plan.slots : once;
    return true;
}

/* Whether each ring hides the latency of its copies. */
static bool has_slots(const struct outline *o)
{
    bool enough = true;
    for (int r = 0; r < o->rings.count; r++) {
        const struct ring_plan *plan = &o->rings.data[r].plan;
        enough &= !o->rings.data[r].in_loop || plan->slots >= plan->wanted || plan->slots >= plan->most;
    }
    return enough;
}

/* Slots, and one consumer where two would leave too few. */
static bool choose_room(struct outline *o)
{
    const char *why = o->consumers == 1                   ? NULL
                      : leaves_idle(o)                    ? "two blocks share a multiprocessor"
                      : !choose_slots(o) || !has_slots(o) ? "results of two leave too little shared memory"
                                                          : NULL;
    if (o->consumers > 1 && !why)
        return true;
    if (why)
        outline_one_consumer(o, why);
    o->problem = NULL;
    return choose_slots(o);
}

/* ---- building ---- */

static struct ir_value *build_mbarrier(struct outline *o, struct ir_builder *builder, int slots, int arrivals)
{
    const struct ir_type *type = ir_type_mbarrier(o->function->module->context, slots);
    struct ir_value *value = ir_build_value(builder, OP_MBARRIER, type, 0, NULL);
    ir_set_number(value->definition, IR_ATTRIBUTE_ARRIVALS, arrivals);
    return value;
}

/* Those of rows behind the others, so that no gaps come between these, which start at wider multiples. */
static void build_slots(struct outline *o, struct ir_builder *builder, bool rows)
{
    for (int r = 0; r < o->rings.count; r++) {
        struct ring *ring = &o->rings.data[r];
        if ((ring->buffers.data[0]->type->rank == 1) != rows)
            continue;
        for (int i = 0; i < ring->buffers.count; i++) {
            struct ir_type type = *ring->buffers.data[i]->type;
            type.slots = ring->slots;
            builder->at = ring->buffers.data[i]->definition->at;
            struct ir_value *made = ir_build_value(builder, OP_BUFFER,
                                                   ir_type_intern(o->function->module->context, &type), 0, NULL);
            vector_push(o->context->arena, &ring->made, made);
        }
    }
}

static void build_rings(struct outline *o, struct ir_builder *builder, int consumer_warps)
{
    build_slots(o, builder, false);
    build_slots(o, builder, true);
    for (int r = 0; r < o->rings.count; r++) {
        struct ring *ring = &o->rings.data[r];
        int readers = consumer_warps + (ring->read_by_maker ? BUDGET_MAKER_WARPS : 0);
        ring->full = build_mbarrier(o, builder, ring->slots, ring->made_by_maker ? BUDGET_MAKER_WARPS : 1);
        ring->empty = build_mbarrier(o, builder, ring->slots, readers * (ring->shared ? o->cluster : 1));
    }
    if (o->consumers > 1)
        o->turn = build_mbarrier(o, builder, o->consumers, consumer_warps);
    ir_build(builder, OP_MBARRIER_READY, 0, NULL, 0, NULL);
    if (o->cluster > 1)
        ir_build(builder, OP_CLUSTER_BARRIER, 0, NULL, 0, NULL);
}

/* Registers of a thread for the sums of all products of an iteration; of the loop where they are most. */
static void find_sums(struct ir_operation *op, void *data)
{
    int *most = data, sums = 0;
    for (const struct ir_operation *in = op->opcode == OP_FOR ? op->regions[0]->first : NULL; in; in = in->next)
        sums += in->opcode == OP_DOT_ASYNC ? prefetch_registers(in->results[0]) : 0;
    *most = sums > *most ? sums : *most;
}

static bool is_crowded(const struct outline *o)
{
    int sums = 0;
    ir_walk(o->function->body, find_sums, &sums);
    return sums > budget_of_roles(consumer_warps(o))->fragments;
}

/* Registers of a thread of the consumers and of the producer; 0: as many as it starts with.  Where threads start with
 * less than they could, because several blocks share a multiprocessor, consumers get what the producer's give back. */
static void registers_of(const struct outline *o, int64_t *registers)
{
    const struct role_budget *budget = is_crowded(o) ? budget_of_crowded_roles(consumer_warps(o))
                                                     : budget_of_roles(consumer_warps(o));
    int warps = consumer_warps(o), all = warps + BUDGET_PRODUCER_WARPS, most = o->function->max_registers;
    int start = target_thread_registers(o->context->target, all);
    if (o->maker) {
        registers[0] = BUDGET_CONSUMER_BESIDE_MAKER;
        registers[1] = BUDGET_PRODUCER_BESIDE_MAKER;
        registers[2] = BUDGET_MAKER;
        return;
    }
    bool shared_out = warps >= 4 && warps <= 12 && warps % 4 == 0;
    int64_t each = most ? most / TARGET_REGISTER_STEP * TARGET_REGISTER_STEP : TARGET_THREAD_REGISTERS;
    registers[0] = shared_out ? int64_min(budget->consumer, each) : 0;
    registers[1] = shared_out ? int64_min(budget->producer, each) : 0;
    if (shared_out && most && most < start) {
        int64_t left = each * all - registers[1] * BUDGET_PRODUCER_WARPS;
        registers[0] = int64_min(budget->consumer, left / warps / TARGET_REGISTER_STEP * TARGET_REGISTER_STEP);
    }
}

static void remove_source(struct outline *o)
{
    struct ir_block *body = o->function->body;
    for (struct ir_operation *op = ir_terminator(body)->previous, *previous; op; op = previous) {
        previous = op->previous;
        bool kept = op->opcode == OP_ROLES || op->opcode == OP_MBARRIER || op->opcode == OP_MBARRIER_READY ||
                    op->opcode == OP_CLUSTER_BARRIER || (op->opcode == OP_BUFFER && op->results[0]->uses);
        if (!kept)
            ir_remove(op);
    }
}

static void build_roles(struct outline *o)
{
    struct ir_function *function = o->function;
    struct ir_operation *last = ir_terminator(function->body);
    struct ir_builder builder = rewrite_before(last);
    int count = o->consumers + o->maker + 1;
    int64_t *warps = ARENA_ARRAY(o->context->arena, int64_t, count);
    int64_t *registers = ARENA_ARRAY(o->context->arena, int64_t, count), each[3];
    o->last = last->previous;
    registers_of(o, each);
    for (int role = 0; role < count; role++) {
        bool producer = role == count - 1, consumes = role < o->consumers;
        warps[role] = consumes ? function->warps : producer ? BUDGET_PRODUCER_WARPS : BUDGET_MAKER_WARPS;
        registers[role] = each[consumes ? 0 : producer ? 1 : 2];
        if (consumes || producer)
            function->plan->registers[producer] = (int)registers[role];
    }
    build_rings(o, &builder, function->warps);
    builder.at = function->at;
    struct ir_operation *roles = ir_build_regions(&builder, OP_ROLES, count);
    ir_set_list(roles, IR_ATTRIBUTE_ROLE_WARPS, count, warps);
    ir_set_list(roles, IR_ATTRIBUTE_ROLE_REGISTERS, count, registers);
    for (int role = 0; role < count; role++) {
        struct ir_builder inner = {.module = function->module, .block = roles->regions[role], .at = function->at};
        outline_emit(o, role < o->consumers ? role : role == count - 1 ? OUTLINE_PRODUCER : OUTLINE_MAKER, &inner);
    }
    if (o->cluster > 1)
        ir_build(&builder, OP_CLUSTER_BARRIER, 0, NULL, 0, NULL);
    remove_source(o);
    int most = blocks_of(o);
    int blocks = function->persistent > 1 && function->persistent < most ? function->persistent : most;
    function->warps = consumer_warps(o) + helper_warps(o);
    if (function->persistent > blocks)
        pass_remark(o->context, function->at,
                    "persistent = %d becomes %d: a multiprocessor holds the rings and registers of %d block%s",
                    function->persistent, blocks, blocks, blocks > 1 ? "s" : "");
    function->persistent = o->persistent ? blocks : ir_walks_in_order(function) ? function->persistent : 0;
    function->raster = 0;
    function->raster_among = 0;
}

static void tell_copy(const struct outline *o, const struct ir_operation *copy, const struct ring *ring)
{
    struct ir_plan_input *input = planning_input(copy);
    if (!input)
        return;
    input->way = IR_WAY_TMA;
    input->slots = ring->slots;
    input->bytes = (int)ir_type_bytes(outline_buffer_of(copy)->type);
    if (ring->in_loop)
        ir_plan_explain(o->function->module->arena, &input->why,
                        ring_plan_reason(o->context->arena, &ring->plan, o->function->stages));
}

static void report(const struct outline *o)
{
    for (int c = 0; c < o->channels.count; c++) {
        const struct channel *channel = &o->channels.data[c];
        const struct ring *ring = &o->rings.data[channel->ring];
        for (int i = 0; i < channel->copies.count; i++)
            tell_copy(o, channel->copies.data[i], ring);
        if (channel->last)
            pass_remark(o->context, channel->wait->at,
                        "%d warps of their own make a factor's parts: %d slots of %lld bytes", BUDGET_MAKER_WARPS,
                        ring->slots, (long long)ring->bytes);
        else
            pass_remark(o->context, channel->copies.data[0]->at,
                        "a producer brings this by TMA: %d slot%s of %lld bytes: %s", ring->slots,
                        ring->slots == 1 ? "" : "s", (long long)ring->bytes,
                        ring->in_loop     ? ring_plan_reason(o->context->arena, &ring->plan, o->function->stages)
                        : ring->slots > 1 ? "it is brought once a program, one ahead"
                                          : "it is brought once a program");
    }
    const char *blocks = blocks_of(o) > 1 ? arena_printf(o->context->arena, ", %d on a multiprocessor", blocks_of(o))
                                          : "";
    pass_remark(o->context, o->function->at, "%d warps are consumers beside a producer; programs %s%s%s",
                o->function->warps, o->persistent ? "are walked over by persistent blocks" : "have a block each",
                blocks,
                o->paired >= 0  ? ", long and short ones in pairs"
                : o->reversed   ? ", the longest first"
                : o->raster > 1 ? ", in a raster"
                                : "");
}

/* False: it stays one program of all threads. */
static bool split(struct ir_function *function, struct pass_context *context)
{
    struct outline o = {.function = function, .context = context, .value_count = 0};
    if (!planning_has_producer(function) || !outline_find_work(&o) || !pass_fuel(context)) {
        if (o.problem)
            outline_plan_none(&o);
        return false;
    }
    outline_choose_maker(&o);
    sink_forms(function, context->arena);
    outline_plan_stores(&o);
    for (int i = 0; i < o.channels.count; i++)
        find_release(&o, &o.channels.data[i]);
    outline_order_programs(&o);
    outline_choose_consumers(&o);
    if (!choose_room(&o)) {
        for (struct ir_operation *op = function->body->first, *next; op; op = next) {
            next = op->next;
            if (op->opcode == OP_BUFFER && outline_is_staging(&o, op->results[0]))
                ir_remove(op);
        }
        outline_plan_none(&o);
        return false;
    }
    /* What was made since the slice, such as staging, the producer does not need. */
    bool *needed = ARENA_ARRAY(context->arena, bool, function->next_value_id);
    memcpy(needed, o.needed, sizeof *needed * (size_t)o.value_count);
    o.needed = needed;
    bool *by_maker = ARENA_ARRAY(context->arena, bool, function->next_value_id);
    if (o.maker)
        memcpy(by_maker, o.by_maker, sizeof *by_maker * (size_t)o.value_count);
    o.by_maker = by_maker;
    o.value_count = function->next_value_id;
    function->plan->warps[0] = consumer_warps(&o);
    outline_plan_apart(&o);
    outline_choose_cluster(&o);
    report(&o);
    build_roles(&o);
    return true;
}

static void drop_turn(struct ir_operation *op, void *data)
{
    (void)data;
    if (op->opcode == OP_TURN_START || op->opcode == OP_TURN_TAKE || op->opcode == OP_TURN_PASS)
        ir_remove(op);
}

bool pass_specialise(struct ir_function *function, struct pass_context *context)
{
    function->level = IR_LEVEL_MACHINE; /* which is a change whatever else happens */
    if (!split(function, context)) /* copies are waited for by all threads together, also by those that have no turn */
        ir_walk(function->body, drop_turn, NULL);
    return true;
}
