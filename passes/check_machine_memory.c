/* Shared memory in the checker: what is read and written when, by whom, and who knows that it is over.
 *
 * A thread's ordinary accesses are over for itself at once, for the other threads of its role behind a barrier;
 * copies and products behind the wait for them and a barrier; what TMA brings behind the mbarrier that counts it.  An
 * mbarrier hands on what those who arrive know.  An access may begin when its agent knows that what it collides with
 * is over; what ordinary stores wrote is seen by TMA and wgmma when, besides, the threads that wrote fenced it before
 * they met. */
#include <string.h>

#include "ir/shared_form.h"
#include "passes/check_machine.h"

enum { WARPGROUP = 4, MBARRIER_BYTES = 8, RING_ALIGNMENT = 1024, BYTES_ALIGNMENT = 16 };

/* ---- clocks ---- */

static void join(struct check_clock *into, const struct check_clock *from)
{
    for (int a = 0; a < CHECK_AGENTS; a++)
        for (int k = 0; k < CHECK_KINDS; k++)
            if (from->stamp[a][k] > into->stamp[a][k])
                into->stamp[a][k] = from->stamp[a][k];
}

static void raise(int *stamp, int to)
{
    if (to > *stamp)
        *stamp = to;
}

/* What the agent's threads know together. */
static struct check_clock of_all_threads(const struct check_agent *agent)
{
    struct check_clock clock = agent->known;
    int *own = clock.stamp[agent->number];
    raise(&own[CHECK_GENERIC], agent->generic);
    raise(&own[CHECK_FENCED], agent->fenced);
    raise(&own[CHECK_PRODUCT], agent->products_done);
    raise(&own[CHECK_COPY], agent->copies_done);
    raise(&own[CHECK_FENCED_COPY], agent->copies_fenced);
    raise(&own[CHECK_STORE], agent->stores_done);
    return clock;
}

static void meet(struct check_agent *agent) { agent->known = of_all_threads(agent); }

static bool knows(const struct check_agent *agent, const struct check_access *access, bool asynchronous)
{
    enum check_kind kind = access->kind;
    if (asynchronous && access->write)
        kind = kind == CHECK_GENERIC ? CHECK_FENCED : kind == CHECK_COPY ? CHECK_FENCED_COPY : kind;
    return agent->known.stamp[access->agent][kind] >= access->stamp;
}

/* ---- places ---- */

static int64_t element_bytes(const struct ir_type *type) { return ir_element_info[type->element].bits / 8; }

/* Bytes from one slot of a ring to the next: rings keep the alignment of swizzles. */
static int64_t slot_bytes(const struct ir_type *type)
{
    int64_t bytes = element_bytes(type), step = type->slots > 1 ? RING_ALIGNMENT : BYTES_ALIGNMENT;
    for (int d = 0; d < type->rank; d++)
        bytes *= type->extent[d];
    return (bytes + step - 1) / step * step;
}

/* In the dimensions of the buffer that the value is a form of; dimension[d] is the one behind the value's d. */
static void place_of(const struct check_agent *agent, const struct ir_value *value, struct check_place *place,
                     int *dimension)
{
    const struct ir_operation *op = value->definition;
    const struct ir_type *type = value->type;
    if (op->opcode == OP_BUFFER) {
        int64_t offset = ir_number(op, IR_ATTRIBUTE_SHARED_OFFSET, -1), bytes = offset < 0 ? 0 : slot_bytes(type);
        *place = (struct check_place){.object = op, .from = offset, .to = offset + bytes, .rank = type->rank};
        for (int d = 0; d < type->rank; d++) {
            place->extent[d] = (int)type->extent[d];
            dimension[d] = d;
        }
        return;
    }
    place_of(agent, op->operands[0], place, dimension);
    if (op->opcode == OP_SLOT) {
        int64_t bytes = place->to - place->from;
        place->slot = agent->values[value->id].number;
        bool inside = place->slot >= 0 && place->slot < op->operands[0]->type->slots; /* else it is reported */
        place->from += inside ? place->slot * bytes : 0;
        place->to = place->from + bytes;
    } else if (op->opcode == OP_BUFFER_PERMUTE) {
        const struct ir_attribute *order = ir_attribute(op, IR_ATTRIBUTE_PERMUTATION);
        int old[LAYOUT_RANK];
        memcpy(old, dimension, sizeof old);
        for (int d = 0; d < type->rank; d++)
            dimension[d] = old[order->list[d]];
    } else if (op->opcode == OP_BUFFER_PART) {
        const struct ir_attribute *start = ir_attribute(op, IR_ATTRIBUTE_START);
        for (int d = 0; d < type->rank; d++) {
            place->start[dimension[d]] += (int)start->list[d];
            place->extent[dimension[d]] = (int)type->extent[d];
        }
    }
}

static bool same_tile(const struct check_place *a, const struct check_place *b)
{
    return a->object == b->object && a->slot == b->slot;
}

static bool overlap(const struct check_place *a, const struct check_place *b)
{
    if (!same_tile(a, b))
        return a->from < b->to && b->from < a->to;
    for (int d = 0; d < a->rank; d++)
        if (a->start[d] + a->extent[d] <= b->start[d] || b->start[d] + b->extent[d] <= a->start[d])
            return false;
    return true;
}

static bool covers(const struct check_place *a, const struct check_place *b)
{
    if (!same_tile(a, b))
        return a->from <= b->from && b->to <= a->to;
    for (int d = 0; d < a->rank; d++)
        if (a->start[d] > b->start[d] || a->start[d] + a->extent[d] < b->start[d] + b->extent[d])
            return false;
    return true;
}

/* ---- accesses ---- */

static const char *name_of(const struct check_access *access)
{
    return access->write ? "was written" : "is read";
}

/* The tile that a thread stored is there for itself. */
static bool same_owner(const struct check_access *old, const struct ir_operation *op)
{
    const struct ir_operation *other = old->op;
    bool ordinary = (op->opcode == OP_BUFFER_LOAD || op->opcode == OP_BUFFER_STORE) &&
                    (other->opcode == OP_BUFFER_LOAD || other->opcode == OP_BUFFER_STORE);
    if (!ordinary || op->operands[op->operand_count - 1] != other->operands[other->operand_count - 1])
        return false;
    const struct layout *x = (op->result_count ? op->results[0] : op->operands[0])->type->layout;
    const struct layout *y = (other->result_count ? other->results[0] : other->operands[0])->type->layout;
    return x == y && x && !layout_redundant_bits(x, LAYOUT_LANE) && !layout_redundant_bits(x, LAYOUT_WARP) &&
           (x->warp_groups == 1 || x->warp_dimension >= 0);
}

static void collide(struct check *check, struct check_agent *agent, const struct check_access *now,
                    const struct check_access *old, bool asynchronous)
{
    bool mine = old->agent == agent->number && same_owner(old, now->op);
    if (knows(agent, old, asynchronous) || (mine && !asynchronous))
        return;
    bool unfenced = asynchronous && old->write && knows(agent, old, false);
    if (unfenced)
        check_report(check, now->op, old->op,
                     "reads shared memory that ordinary stores wrote without fence_async before the barrier");
    else if (!same_tile(&now->place, &old->place))
        check_report(check, now->op, old->op, "%s bytes of shared memory that another object still has: there %s by an "
                                              "operation that may not be over",
                     now->write ? "writes" : "reads", name_of(old));
    else if (now->write)
        check_report(check, now->op, old->op, "writes shared memory that %s by an operation that may not be over",
                     name_of(old));
    else
        check_report(check, now->op, old->op, "reads shared memory before it is sure that it was written");
}

/* What is left of an older access when other bytes are written over some of it. */
static void keep_rest(struct check *check, const struct check_access *now, const struct check_access *old)
{
    struct check_access rest = *old;
    if (same_tile(&now->place, &old->place)) {
        vector_push(check->arena, &check->accesses, rest);
        return;
    }
    if (old->place.from < now->place.from) {
        rest.place.to = now->place.from;
        vector_push(check->arena, &check->accesses, rest);
    }
    if (old->place.to > now->place.to) {
        rest.place.from = now->place.to;
        rest.place.to = old->place.to;
        vector_push(check->arena, &check->accesses, rest);
    }
}

static void add_access(struct check *check, struct check_agent *agent, const struct check_access *now,
                       bool asynchronous)
{
    bool written = now->write || now->place.object->opcode != OP_BUFFER;
    int count = check->accesses.count;
    for (int i = 0; i < count; i++) {
        struct check_access old = check->accesses.data[i];
        bool meets = overlap(&now->place, &old.place);
        if (meets && (now->write || old.write))
            collide(check, agent, now, &old, asynchronous && !now->write);
        if (meets && !now->write && old.write && !same_tile(&now->place, &old.place))
            check_report(check, now->op, old.op, "reads a buffer whose bytes another object has overwritten");
        written |= meets && old.write;
        if (meets && now->write && !covers(&now->place, &old.place))
            keep_rest(check, now, &old);
        bool repeated = !now->write && !old.write && old.op == now->op && old.agent == now->agent &&
                        same_tile(&now->place, &old.place);
        if ((meets && now->write) || repeated) {
            check->accesses.data[i--] = check->accesses.data[--count];
            check->accesses.data[count] = check->accesses.data[--check->accesses.count];
        }
    }
    if (!written)
        check_report(check, now->op, now->place.object, "reads a slot of a buffer that nobody has written");
    vector_push(check->arena, &check->accesses, *now);
}

static void touch(struct check *check, struct check_agent *agent, const struct ir_operation *op,
                  const struct ir_value *buffer, bool write, enum check_kind kind, int stamp)
{
    struct check_access access = {.op = op, .agent = agent->number, .kind = kind, .stamp = stamp, .write = write};
    bool asynchronous = kind == CHECK_PRODUCT || kind == CHECK_STORE || kind == CHECK_BULK;
    int dimension[LAYOUT_RANK];
    place_of(agent, buffer, &access.place, dimension);
    int slots = access.place.object->results[0]->type->slots;
    if (access.place.slot < 0 || access.place.slot >= slots) {
        check_report(check, op, access.place.object, "uses slot %lld of a ring of %d", (long long)access.place.slot,
                     slots);
        return;
    }
    add_access(check, agent, &access, asynchronous);
}

/* Warpgroups that wait for the turn do not come to a barrier of all. */
static void check_turn(struct check *check, const struct check_agent *agent, const struct ir_operation *op)
{
    if (agent->turn && agent->warps >= 2 * WARPGROUP)
        check_report(check, op, agent->turn,
                     "lets all warps meet while one warpgroup has the turn that others wait for");
}

static void take_turns(struct check *check, struct check_agent *agent, const struct ir_operation *op)
{
    if (op->opcode == OP_TURN_START ? agent->turns : !agent->turns)
        check_report(check, op, NULL, op->opcode == OP_TURN_START ? "starts turns a second time"
                                                                  : "is about turns that nothing started");
    if (op->opcode == OP_TURN_TAKE && agent->turn)
        check_report(check, op, agent->turn, "waits for a turn that was taken and not handed on");
    if (op->opcode == OP_TURN_PASS && !agent->turn)
        check_report(check, op, NULL, "hands on a turn that was not taken");
    agent->turns = true;
    agent->turn = op->opcode == OP_TURN_TAKE ? op : NULL;
}

/* Scratch is written, the threads meet, and it is read. */
static void use_scratch(struct check *check, struct check_agent *agent, const struct ir_operation *op)
{
    int64_t offset = ir_number(op, IR_ATTRIBUTE_SHARED_OFFSET, 0), bytes = ir_number(op, IR_ATTRIBUTE_SHARED_BYTES, 0);
    struct check_access access = {.op = op, .agent = agent->number, .kind = CHECK_GENERIC, .write = true};
    access.place = (struct check_place){.object = op, .from = offset, .to = offset + bytes};
    access.stamp = ++agent->generic;
    check_turn(check, agent, op);
    add_access(check, agent, &access, false);
    meet(agent);
    access.write = false;
    access.stamp = ++agent->generic;
    add_access(check, agent, &access, false);
}

/* ---- mbarriers ---- */

static struct check_mbarrier *mbarrier_of(struct check *check, struct check_agent *agent, const struct ir_operation *op,
                                          int operand)
{
    int64_t index = check_number(agent, op->operands[operand + 1]);
    if (!check->ready)
        check_report(check, op, op->operands[operand]->definition, "uses an mbarrier before mbarrier_ready");
    for (int i = 0; i < check->mbarriers.count; i++) {
        struct check_array *array = &check->mbarriers.data[i];
        if (array->op != op->operands[operand]->definition)
            continue;
        if (index >= 0 && index < array->slots)
            return &array->each[index];
        check_report(check, op, array->op, "uses mbarrier %lld of %d", (long long)index, array->slots);
    }
    return NULL;
}

static void end_phase(struct check *check, struct check_mbarrier *barrier, const struct ir_operation *array,
                      const struct ir_operation *op)
{
    int wanted = (int)ir_number(array, IR_ATTRIBUTE_ARRIVALS, 0);
    if (barrier->arrived > wanted)
        check_report(check, op, array, "arrives %d times in a phase that %d arrivals end", barrier->arrived, wanted);
    if (barrier->arrived < wanted || barrier->bytes)
        return;
    join(&barrier->done, &barrier->coming);
    join(&barrier->far_done, &barrier->far_coming);
    barrier->arrived = 0;
    barrier->phases++;
}

/* The other blocks of a cluster are taken to do the same at the same time: what this one does to them, they do to it. */
static int reach_out(struct check *check, const struct ir_operation *op, enum ir_attribute_key key)
{
    if (!ir_attribute(op, key))
        return 1;
    if (!check->cluster_ready)
        check_report(check, op, NULL, "reaches into another block before cluster_barrier: its mbarriers may not be set up");
    check->far = op;
    return (int)ir_number(op, key, 1);
}

static void arrive(struct check *check, struct check_agent *agent, const struct ir_operation *op, int count)
{
    struct check_mbarrier *barrier = mbarrier_of(check, agent, op, 0);
    if (!barrier || (op->operand_count > 2 && !check_number(agent, op->operands[2])))
        return;
    struct check_clock clock = op->opcode == OP_MBARRIER_ARRIVE ? of_all_threads(agent) : agent->known;
    join(&barrier->coming, &clock);
    if (ir_attribute(op, IR_ATTRIBUTE_CLUSTER))
        join(&barrier->far_coming, &clock);
    barrier->arrived += count * reach_out(check, op, IR_ATTRIBUTE_CLUSTER);
    if (op->opcode == OP_MBARRIER_EXPECT) {
        barrier->bytes += ir_number(op, IR_ATTRIBUTE_BYTES, 0);
        barrier->expect = op;
    }
    end_phase(check, barrier, op->operands[0]->definition, op);
}

/* A multicast also writes to the other blocks, where others may still read what this block's have let go. */
static void check_free_everywhere(struct check *check, const struct check_agent *agent, const struct ir_operation *op,
                                  const struct ir_value *buffer)
{
    struct check_place place;
    int dimension[LAYOUT_RANK];
    place_of(agent, buffer, &place, dimension);
    for (int i = 0; i < check->accesses.count; i++) {
        const struct check_access *old = &check->accesses.data[i];
        if (old->agent != agent->number && overlap(&place, &old->place) &&
            agent->far.stamp[old->agent][old->kind] < old->stamp)
            check_report(check, op, old->op, "writes shared memory of other blocks of the cluster that may not have said "
                                             "that they are through with it");
    }
}

static void load_bulk(struct check *check, struct check_agent *agent, const struct ir_operation *op)
{
    const struct ir_value *buffer = op->operands[op->operand_count - 3];
    struct check_mbarrier *barrier = mbarrier_of(check, agent, op, op->operand_count - 2);
    struct check_clock clock = agent->known;
    int64_t bytes = element_bytes(buffer->type);
    for (int d = 0; d < buffer->type->rank; d++)
        bytes *= buffer->type->extent[d];
    if (reach_out(check, op, IR_ATTRIBUTE_MULTICAST) > 1)
        check_free_everywhere(check, agent, op, buffer);
    touch(check, agent, op, buffer, true, CHECK_BULK, ++agent->bulk);
    if (!barrier)
        return;
    raise(&clock.stamp[agent->number][CHECK_BULK], agent->bulk);
    join(&barrier->coming, &clock);
    barrier->bytes -= bytes;
    end_phase(check, barrier, op->operands[op->operand_count - 2]->definition, op);
}

static bool wait_mbarrier(struct check *check, struct check_agent *agent, const struct ir_operation *op)
{
    struct check_mbarrier *barrier = mbarrier_of(check, agent, op, 0);
    if (!barrier)
        return true;
    if ((barrier->phases & 1) == (check_number(agent, op->operands[2]) & 1))
        return false;
    join(&agent->known, &barrier->done);
    join(&agent->far, &barrier->far_done);
    return true;
}

const char *check_why_blocked(struct check *check, const struct check_agent *agent)
{
    const struct ir_operation *op = agent->blocked;
    if (op->opcode != OP_MBARRIER_WAIT)
        return "waits at a barrier that not all its warps come to";
    int64_t index = check_number(agent, op->operands[1]);
    for (int i = 0; i < check->mbarriers.count; i++) {
        const struct check_array *array = &check->mbarriers.data[i];
        if (array->op != op->operands[0]->definition || index < 0 || index >= array->slots)
            continue;
        const struct check_mbarrier *barrier = &array->each[index];
        int wanted = (int)ir_number(array->op, IR_ATTRIBUTE_ARRIVALS, 0);
        if (barrier->arrived >= wanted && barrier->bytes)
            return arena_printf(check->arena, "waits for a phase that never ends: %lld bytes %s than were announced",
                                (long long)(barrier->bytes < 0 ? -barrier->bytes : barrier->bytes),
                                barrier->bytes < 0 ? "more come" : "fewer come");
        return arena_printf(check->arena, "waits for a phase that never ends: %d of %d arrivals came, after %d phases",
                            barrier->arrived, wanted, barrier->phases);
    }
    return "waits for ever";
}

/* ---- barriers ---- */

/* A barrier of an id may take in several roles: the last to come lets all go on. */
static bool meet_others(struct check *check, struct check_agent *agent, const struct ir_operation *op)
{
    int64_t id = ir_number(op, IR_ATTRIBUTE_BARRIER_ID, 0), warps = ir_number(op, IR_ATTRIBUTE_BARRIER_WARPS, 0);
    if (!ir_attribute(op, IR_ATTRIBUTE_BARRIER_ID) || warps <= agent->warps || id >= CHECK_BARRIERS) {
        meet(agent);
        return true;
    }
    struct check_meeting *meeting = &check->meetings[id];
    int *mine = &agent->met_round[id];
    if (*mine == 0) {
        struct check_clock clock = of_all_threads(agent);
        join(&meeting->coming, &clock);
        meeting->warps += agent->warps;
        *mine = meeting->round + 1;
        if (meeting->warps >= warps) {
            meeting->done = meeting->coming;
            meeting->warps = 0;
            meeting->round++;
        }
    }
    if (meeting->round < *mine)
        return false;
    *mine = 0;
    join(&agent->known, &meeting->done);
    return true;
}

/* ---- operations ---- */

bool check_is_shared(const struct ir_operation *op)
{
    return ir_op_info[op->opcode].traits & (IR_TRAIT_SHARED_READ | IR_TRAIT_SHARED_WRITE | IR_TRAIT_SYNC) ||
           op->opcode == OP_BUFFER || op->opcode == OP_MBARRIER || op->opcode == OP_SLOT ||
           ir_attribute(op, IR_ATTRIBUTE_SHARED_OFFSET);
}

static void multiply(struct check *check, struct check_agent *agent, const struct ir_operation *op)
{
    bool runs_on = ir_number(op, IR_ATTRIBUTE_INSTRUCTION, IR_INSTRUCTION_FMA) == IR_INSTRUCTION_WGMMA;
    int stamp = runs_on ? ++agent->product : ++agent->generic;
    for (int i = 0; i < 2; i++)
        if (op->operands[i]->type->kind == IR_BUFFER)
            touch(check, agent, op, op->operands[i], false, runs_on ? CHECK_PRODUCT : CHECK_GENERIC, stamp);
    agent->values[op->results[0]->id].product = runs_on ? stamp : 0;
}

static void wait_products(struct check_agent *agent, const struct ir_operation *op)
{
    raise(&agent->products_done, agent->product - (int)ir_number(op, IR_ATTRIBUTE_PENDING, 0));
    for (int i = 0; i < op->operand_count; i++)
        agent->values[op->results[i]->id] = agent->values[op->operands[i]->id];
}

static void add_mbarrier(struct check *check, const struct ir_operation *op)
{
    struct check_array array = {.op = op, .slots = op->results[0]->type->slots};
    array.each = ARENA_ARRAY(check->arena, struct check_mbarrier, array.slots);
    memset(array.each, 0, sizeof *array.each * (size_t)array.slots);
    vector_push(check->arena, &check->mbarriers, array);
}

/* Copies, and what waits for them; `copy` is the buffer's operand. */
static void copy(struct check *check, struct check_agent *agent, const struct ir_operation *op)
{
    const struct ir_value *buffer = op->operand_count ? op->operands[op->operand_count - 1] : NULL;
    int pending = (int)ir_number(op, IR_ATTRIBUTE_PENDING, 0);
    switch (op->opcode) {
    case OP_COPY_ASYNC: /* each a group of its own */
        touch(check, agent, op, buffer, true, CHECK_COPY, ++agent->group);
        agent->values[op->results[0]->id].number = agent->group;
        break;
    case OP_STORE_ASYNC:
        touch(check, agent, op, buffer, false, CHECK_STORE, ++agent->store_group);
        agent->values[op->results[0]->id].number = -agent->store_group;
        break;
    case OP_WAIT:
        for (int i = 0; i < op->operand_count; i++) {
            int64_t group = check_number(agent, op->operands[i]);
            raise(group < 0 ? &agent->stores_done : &agent->copies_done, (int)(group < 0 ? -group : group));
        }
        break;
    case OP_CP_ASYNC: touch(check, agent, op, buffer, true, CHECK_COPY, agent->group + 1); break;
    case OP_CP_COMMIT: agent->group++; break;
    case OP_CP_WAIT: raise(&agent->copies_done, agent->group - pending); break;
    case OP_TMA_STORE: touch(check, agent, op, buffer, false, CHECK_STORE, agent->store_group + 1); break;
    case OP_TMA_COMMIT: agent->store_group++; break;
    default: raise(&agent->stores_done, agent->store_group - pending); break;
    }
}

bool check_perform(struct check *check, struct check_agent *agent, const struct ir_operation *op)
{
    int64_t offset = ir_number(op, IR_ATTRIBUTE_SHARED_OFFSET, -1);
    switch (op->opcode) {
    case OP_BUFFER: break;
    case OP_MBARRIER: add_mbarrier(check, op); break;
    case OP_SLOT: agent->values[op->results[0]->id].number = check_number(agent, op->operands[1]); break;
    case OP_MBARRIER_READY:
        check->ready = true;
        meet(agent);
        break;
    case OP_CLUSTER_BARRIER:
        check->cluster_ready = check->ready;
        check->far = NULL;
        meet(agent);
        break;
    case OP_BARRIER:
        check_turn(check, agent, op);
        return meet_others(check, agent, op);
    case OP_TURN_START: case OP_TURN_TAKE: case OP_TURN_PASS: take_turns(check, agent, op); break;
    case OP_BUFFER_LOAD: touch(check, agent, op, op->operands[0], false, CHECK_GENERIC, ++agent->generic); break;
    case OP_BUFFER_STORE: touch(check, agent, op, op->operands[1], true, CHECK_GENERIC, ++agent->generic); break;
    case OP_DOT_ASYNC: multiply(check, agent, op); break;
    case OP_DOT_WAIT: wait_products(agent, op); break;
    case OP_FENCE_ASYNC:
        agent->fenced = agent->generic;
        agent->copies_fenced = agent->copies_done;
        break;
    case OP_COPY_ASYNC: case OP_STORE_ASYNC: case OP_WAIT: case OP_CP_ASYNC: case OP_CP_COMMIT: case OP_CP_WAIT:
    case OP_TMA_STORE: case OP_TMA_COMMIT: case OP_TMA_WAIT:
        copy(check, agent, op);
        break;
    case OP_MBARRIER_WAIT: return wait_mbarrier(check, agent, op);
    case OP_MBARRIER_ARRIVE: arrive(check, agent, op, agent->one_thread ? 1 : agent->warps); break;
    case OP_MBARRIER_EXPECT: arrive(check, agent, op, 1); break;
    case OP_TMA_LOAD: load_bulk(check, agent, op); break;
    default:
        if (offset >= 0)
            use_scratch(check, agent, op);
        break;
    }
    if (agent->one_thread)
        meet(agent);
    return true;
}

void check_join(struct check_agent *into, const struct check_agent *from)
{
    struct check_clock clock = of_all_threads(from);
    join(&into->known, &clock);
}

void check_end(struct check *check)
{
    struct check_agent all = *check->agents[0];
    for (int a = 0; a < check->agent_count; a++) {
        if (check->agents[a]->turn)
            check_report(check, check->agents[a]->turn, NULL, "takes a turn that is never handed on");
        check_join(&all, check->agents[a]);
    }
    if (check->far)
        check_report(check, check->far, NULL, "may reach into another block that has ended: no cluster_barrier follows");
    for (int i = 0; i < check->accesses.count; i++) {
        const struct check_access *access = &check->accesses.data[i];
        bool bulk = access->kind == CHECK_BULK || access->kind == CHECK_STORE;
        if (bulk && !knows(&all, access, false))
            check_report(check, access->op, NULL, "may still be on its way when the block ends");
    }
}
