/* Shared memory in the checker: what is read and written when, by whom, and who knows that it is over.
 *
 * A thread's ordinary accesses are over for itself at once, for the other threads of its role behind a barrier;
 * copies and products behind the wait for them and a barrier; what TMA brings behind the mbarrier that counts it.  An
 * mbarrier hands on what those who arrive know.  An access may begin when its agent knows that what it collides with
 * is over; what ordinary stores wrote is seen by TMA and wgmma when, besides, the threads that wrote fenced it before
 * they met. */
#include <string.h>

#include "passes/check/check_machine.h"

enum { BYTES_ALIGNMENT = 16, LANES = 32, WARPGROUP = 4 };

static void raise(int *stamp, int to)
{
    if (to > *stamp)
        *stamp = to;
}

/* ---- places ---- */

static int64_t element_bytes(const struct ir_type *type) { return ir_element_info[type->element].bits / 8; }

/* Bytes from one slot of a ring to the next: rings keep the alignment of swizzles, and of copies. */
int64_t check_slot_bytes(const struct ir_type *type)
{
    int64_t bytes = element_bytes(type), step = BYTES_ALIGNMENT;
    if (type->slots > 1)
        step = type->rank > 1 ? CHECK_SWIZZLE_ALIGNMENT : CHECK_ROW_ALIGNMENT;
    for (int d = 0; d < type->rank; d++)
        bytes *= type->extent[d];
    return (bytes + step - 1) / step * step;
}

void check_place_of(const struct check_agent *agent, const struct ir_value *value, struct check_place *place,
                    int *dimension)
{
    const struct ir_operation *op = value->definition;
    const struct ir_type *type = value->type;
    if (op->opcode == OP_BUFFER) {
        int64_t offset = ir_number(op, IR_ATTRIBUTE_SHARED_OFFSET, -1), bytes = offset < 0 ? 0 : check_slot_bytes(type);
        *place = (struct check_place){.object = op, .from = offset, .to = offset + bytes, .rank = type->rank};
        for (int d = 0; d < type->rank; d++) {
            place->extent[d] = (int)type->extent[d];
            dimension[d] = d;
        }
        return;
    }
    check_place_of(agent, op->operands[0], place, dimension);
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

static const char *name_of(const struct check_access *access) { return access->write ? "was written" : "is read"; }

/* Each place belongs to one thread.  The layout asked for last is asked for again. */
static bool has_one_owner(struct check *check, const struct layout *layout)
{
    if (check->asked_layout != layout) {
        check->asked_layout = layout;
        check->one_owner = !layout_redundant_bits(layout, LAYOUT_LANE) && !layout_redundant_bits(layout, LAYOUT_WARP) &&
                           (layout->warp_groups == 1 || layout->warp_dimension >= 0);
    }
    return check->one_owner;
}

/* The tile that a thread stored is there for itself. */
static bool same_owner(struct check *check, const struct check_access *old, const struct ir_operation *op)
{
    const struct ir_operation *other = old->op;
    bool ordinary = (op->opcode == OP_BUFFER_LOAD || op->opcode == OP_BUFFER_STORE) &&
                    (other->opcode == OP_BUFFER_LOAD || other->opcode == OP_BUFFER_STORE);
    if (!ordinary || op->operands[op->operand_count - 1] != other->operands[other->operand_count - 1])
        return false;
    const struct layout *x = (op->result_count ? op->results[0] : op->operands[0])->type->layout;
    const struct layout *y = (other->result_count ? other->results[0] : other->operands[0])->type->layout;
    return x == y && x && has_one_owner(check, x);
}

/* Every place of the layout: whether warpgroup g of so many has only rows of units of CHECK_GROUP_ROWS that are its own. */
static bool has_own_rows(const struct layout *layout, int groups)
{
    int registers = layout ? layout_registers(layout) : 0, at[LAYOUT_RANK];
    for (int reg = 0; reg < registers; reg++)
        for (int thread = 0; thread < groups * WARPGROUP * LANES; thread++) {
            struct layout_position position = {{0}};
            position.part[LAYOUT_REGISTER] = reg;
            position.part[LAYOUT_LANE] = thread % LANES;
            position.part[LAYOUT_WARP] = thread / LANES;
            layout_coordinates(layout, &position, at);
            if (at[0] / CHECK_GROUP_ROWS % groups != thread / LANES / WARPGROUP)
                return false;
        }
    return registers > 0 && layout_warps(layout) == groups * WARPGROUP;
}

/* The layout asked for last is asked for again. */
static bool stores_own_rows(struct check *check, const struct layout *layout, int groups)
{
    if (check->asked_rows != layout || check->asked_groups != groups) {
        check->asked_rows = layout;
        check->asked_groups = groups;
        check->own_rows = has_own_rows(layout, groups);
    }
    return check->own_rows;
}

/* One warpgroup stores to a buffer what another sends from it, each the rows of its own. */
static bool other_rows(struct check *check, const struct ir_operation *a, const struct ir_operation *b)
{
    const struct ir_operation *store = a->opcode == OP_BUFFER_STORE ? a : b, *send = store == a ? b : a;
    bool own = store->opcode == OP_BUFFER_STORE && send->opcode == OP_TMA_STORE &&
               store->operands[1] == send->operands[send->operand_count - 1];
    int groups = own ? (int)ir_number(send, IR_ATTRIBUTE_APART, 0) : 0;
    return groups && stores_own_rows(check, store->operands[0]->type->layout, groups);
}

/* Two warpgroups of a role have each its own part: of what one operation does, of a tile that each stores and loads in
 * the same way, and of one that each stores and sends by itself. */
static bool apart(struct check *check, const struct check_agent *agent, const struct check_access *now,
                  const struct check_access *old)
{
    if (old->agent == agent->number || check->agents.data[old->agent]->group != agent->group)
        return false;
    return (old->op == now->op && old->stamp == now->stamp) || same_owner(check, old, now->op) ||
           other_rows(check, old->op, now->op);
}

static void collide(struct check *check, struct check_agent *agent, const struct check_access *now,
                    const struct check_access *old, bool asynchronous)
{
    bool mine = !asynchronous && old->agent == agent->number;
    if (check_knows(check, agent->known, old, asynchronous) || (mine && same_owner(check, old, now->op)))
        return;
    bool unfenced = asynchronous && old->write && check_knows(check, agent->known, old, false);
    if (unfenced)
        check_report(check, now->op, old->op,
                     "%s shared memory that ordinary stores wrote without fence_async before the barrier",
                     now->write ? "writes" : "reads");
    else if (!same_tile(&now->place, &old->place))
        check_report(check, now->op, old->op,
                     "%s bytes of shared memory that another object still has: there %s by an "
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
        const struct check_place *place = &check->accesses.data[i].place;
        if (!same_tile(&now->place, place) && !overlap(&now->place, place))
            continue;
        struct check_access old = check->accesses.data[i];
        bool meets = overlap(&now->place, &old.place) && !apart(check, agent, now, &old);
        if (meets && (now->write || old.write))
            collide(check, agent, now, &old, asynchronous);
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
                  const struct ir_value *buffer, bool write, enum check_kind kind, int stamp, int mbarrier)
{
    struct check_access access = {
        .op = op, .agent = agent->number, .kind = kind, .stamp = stamp, .mbarrier = mbarrier, .write = write};
    bool asynchronous = kind == CHECK_PRODUCT || kind == CHECK_STORE || kind == CHECK_BULK;
    int dimension[LAYOUT_RANK];
    check_place_of(agent, buffer, &access.place, dimension);
    int slots = access.place.object->results[0]->type->slots;
    if (access.place.slot < 0 || access.place.slot >= slots) {
        check_report(check, op, access.place.object, "uses slot %lld of a ring of %d", (long long)access.place.slot,
                     slots);
        return;
    }
    if (!check->values)
        add_access(check, agent, &access, asynchronous);
}

/* Scratch is written, the threads meet, and it is read. */
static bool use_scratch(struct check *check, struct check_agent *agent, const struct ir_operation *op)
{
    int64_t offset = ir_number(op, IR_ATTRIBUTE_SHARED_OFFSET, 0), bytes = ir_number(op, IR_ATTRIBUTE_SHARED_BYTES, 0);
    struct check_access access = {.op = op, .agent = agent->number, .kind = CHECK_GENERIC, .write = true};
    access.place = (struct check_place){.object = op, .from = offset, .to = offset + bytes};
    if (check->values)
        return check_come_together(check, agent, op);
    if (!agent->in_scratch) {
        access.stamp = ++agent->generic;
        check_turn(check, agent, op);
        add_access(check, agent, &access, false);
        agent->in_scratch = true;
    }
    if (!check_come_together(check, agent, op))
        return false;
    agent->in_scratch = false;
    access.write = false;
    access.stamp = ++agent->generic;
    add_access(check, agent, &access, false);
    return true;
}

/* ---- TMA loads ---- */

/* A multicast also writes to the other blocks, where others may still read what this block's have let go. */
static void check_free_everywhere(struct check *check, const struct check_agent *agent, const struct ir_operation *op,
                                  const struct ir_value *buffer)
{
    struct check_place place;
    int dimension[LAYOUT_RANK];
    check_place_of(agent, buffer, &place, dimension);
    for (int i = 0; i < check->accesses.count; i++) {
        const struct check_access *old = &check->accesses.data[i];
        if (old->agent != agent->number && overlap(&place, &old->place) && !check_knows(check, agent->far, old, false))
            check_report(check, op, old->op,
                         "writes shared memory of other blocks of the cluster that may not have said "
                         "that they are through with it");
    }
}

static void load_bulk(struct check *check, struct check_agent *agent, const struct ir_operation *op)
{
    const struct ir_value *buffer = op->operands[op->operand_count - 3];
    struct check_mbarrier *barrier = check_mbarrier_of(check, agent, op, op->operand_count - 2);
    int64_t bytes = element_bytes(buffer->type);
    for (int d = 0; d < buffer->type->rank; d++)
        bytes *= buffer->type->extent[d];
    if (check_reach_out(check, op, IR_ATTRIBUTE_MULTICAST) > 1)
        check_free_everywhere(check, agent, op, buffer);
    if (!barrier)
        return;
    touch(check, agent, op, buffer, true, CHECK_BULK, barrier->phases + 1, barrier->number);
    check_bytes_come(check, barrier, op->operands[op->operand_count - 2]->definition, agent->known, bytes);
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
            touch(check, agent, op, op->operands[i], false, runs_on ? CHECK_PRODUCT : CHECK_GENERIC, stamp, 0);
    agent->values[op->results[0]->id].product = runs_on ? stamp : 0;
}

static void wait_products(struct check_agent *agent, const struct ir_operation *op)
{
    raise(&agent->products_done, agent->product - (int)ir_number(op, IR_ATTRIBUTE_PENDING, 0));
    for (int i = 0; i < op->operand_count; i++)
        agent->values[op->results[i]->id] = agent->values[op->operands[i]->id];
}

/* Copies, and what waits for them; `copy` is the buffer's operand. */
static void copy(struct check *check, struct check_agent *agent, const struct ir_operation *op)
{
    const struct ir_value *buffer = op->operand_count ? op->operands[op->operand_count - 1] : NULL;
    int pending = (int)ir_number(op, IR_ATTRIBUTE_PENDING, 0);
    switch (op->opcode) {
    case OP_COPY_ASYNC: /* each a group of its own */
        touch(check, agent, op, buffer, true, CHECK_COPY, ++agent->copy_group, 0);
        agent->values[op->results[0]->id].number = agent->copy_group;
        break;
    case OP_STORE_ASYNC:
        touch(check, agent, op, buffer, false, CHECK_STORE, ++agent->store_group, 0);
        agent->values[op->results[0]->id].number = -agent->store_group;
        break;
    case OP_WAIT:
        for (int i = 0; i < op->operand_count; i++) {
            int64_t group = check_number(agent, op->operands[i]);
            raise(group < 0 ? &agent->stores_done : &agent->copies_done, (int)(group < 0 ? -group : group));
        }
        break;
    case OP_CP_ASYNC: touch(check, agent, op, buffer, true, CHECK_COPY, agent->copy_group + 1, 0); break;
    case OP_CP_COMMIT: agent->copy_group++; break;
    case OP_CP_WAIT: raise(&agent->copies_done, agent->copy_group - pending); break;
    case OP_TMA_STORE: touch(check, agent, op, buffer, false, CHECK_STORE, agent->store_group + 1, 0); break;
    case OP_TMA_COMMIT: agent->store_group++; break;
    default: raise(&agent->stores_done, agent->store_group - pending); break;
    }
}

/* One thread of a role does it for all, or one of each warpgroup. */
static bool is_anothers(const struct check_agent *agent, const struct ir_operation *op)
{
    if (ir_attribute(op, IR_ATTRIBUTE_APART))
        return false;
    bool single = op->opcode == OP_MBARRIER_EXPECT || op->opcode == OP_TMA_LOAD || op->opcode == OP_TMA_STORE ||
                  op->opcode == OP_TMA_COMMIT || op->opcode == OP_TMA_WAIT;
    return single && agent->number != agent->group->first;
}

static bool perform(struct check *check, struct check_agent *agent, const struct ir_operation *op)
{
    switch (op->opcode) {
    case OP_BUFFER: return true;
    case OP_SLOT: agent->values[op->results[0]->id].number = check_number(agent, op->operands[1]); return true;
    case OP_MBARRIER:
    case OP_MBARRIER_READY:
    case OP_MBARRIER_WAIT:
    case OP_MBARRIER_ARRIVE:
    case OP_MBARRIER_EXPECT:
    case OP_CLUSTER_BARRIER:
    case OP_BARRIER:
    case OP_TURN_START:
    case OP_TURN_TAKE:
    case OP_TURN_PASS: return check_perform_barrier(check, agent, op);
    case OP_BUFFER_LOAD:
        touch(check, agent, op, op->operands[0], false, CHECK_GENERIC, ++agent->generic, 0);
        if (!check->values)
            agent->values[op->results[0]->id].number = check->stored[op->operands[0]->id];
        return true;
    case OP_BUFFER_STORE:
        touch(check, agent, op, op->operands[1], true, CHECK_GENERIC, ++agent->generic, 0);
        check->stored[op->operands[1]->id] = check_number(agent, op->operands[0]);
        return true;
    case OP_DOT_ASYNC: multiply(check, agent, op); return true;
    case OP_DOT_WAIT: wait_products(agent, op); return true;
    case OP_FENCE_ASYNC:
        agent->fenced = agent->generic;
        agent->copies_fenced = agent->copies_done;
        return true;
    case OP_COPY_ASYNC:
    case OP_STORE_ASYNC:
    case OP_WAIT:
    case OP_CP_ASYNC:
    case OP_CP_COMMIT:
    case OP_CP_WAIT:
    case OP_TMA_STORE:
    case OP_TMA_COMMIT:
    case OP_TMA_WAIT: copy(check, agent, op); return true;
    case OP_TMA_LOAD: load_bulk(check, agent, op); return true;
    default: return !ir_attribute(op, IR_ATTRIBUTE_SHARED_OFFSET) || use_scratch(check, agent, op);
    }
}

bool check_perform(struct check *check, struct check_agent *agent, const struct ir_operation *op)
{
    if (is_anothers(agent, op))
        return true;
    if (!perform(check, agent, op))
        return false;
    if (agent->one_thread)
        check_meet(check, agent);
    return true;
}

void check_end(struct check *check)
{
    check_clock all = check_clock_new(check);
    for (int a = 0; a < check->agents.count; a++) {
        if (check->agents.data[a]->turn)
            check_report(check, check->agents.data[a]->turn, NULL, "takes a turn that is never handed on");
        check_clock_join(check, all, check_all_threads(check, check->agents.data[a]));
    }
    if (check->far)
        check_report(check, check->far, NULL,
                     "may reach into another block that has ended: no cluster_barrier follows");
    for (int i = 0; i < check->accesses.count; i++) {
        const struct check_access *access = &check->accesses.data[i];
        bool copies = access->kind == CHECK_BULK || access->kind == CHECK_STORE || access->kind == CHECK_COPY;
        if (copies && !check_knows(check, all, access, false))
            check_report(check, access->op, NULL, "may still be on its way when the block ends");
    }
}
