/* Barriers and mbarriers: who waits until when, and what is known behind them. */
#include <string.h>

#include "interp/machine.h"

int machine_barrier_of(struct frame *frame, const struct ir_operation *op, int operand)
{
    struct machine *machine = frame->run->machine;
    const struct ir_value *value = op->operands[operand], *index = op->operands[operand + 1];
    int64_t first = frame_cell(frame, value)->number;
    int64_t slot = ir_bits_to_int(index->type->element, frame_cell(frame, index)->bits[0]);
    char name[64];
    if (slot < 0 || slot >= value->type->slots)
        interp_stop(machine->run, op, "%s has %d mbarriers, and this is number %lld",
                    machine_name(value, name, sizeof name), value->type->slots, (long long)slot);
    if (!machine->current->home->barriers.data[first + slot]->ready)
        interp_stop(machine->run, op, "uses %s before mbarrier_ready", machine_name(value, name, sizeof name));
    return (int)(first + slot);
}

static struct mbarrier *own_barrier(struct frame *frame, const struct ir_operation *op)
{
    return frame->run->machine->current->home->barriers.data[machine_barrier_of(frame, op, 0)];
}

static void make(struct frame *frame, const struct ir_operation *op)
{
    struct machine *machine = frame->run->machine;
    const struct ir_value *value = op->results[0];
    int64_t bytes = 8 * (int64_t)value->type->slots, base = machine_place(machine, op, bytes);
    struct accessor accessor = machine_access_ordinary(machine, op, machine_active_warps(machine), true);
    accessor.name = "mbarriers";
    machine_touch(&accessor, base, bytes);
    struct machine_block *home = machine->current->home;
    frame_cell(frame, value)->number = home->barriers.count;
    for (int slot = 0; slot < value->type->slots; slot++) {
        struct mbarrier *barrier = ARENA_NEW(machine->arena, struct mbarrier);
        *barrier = (struct mbarrier){.value = value,
                                     .slot = slot,
                                     .agent = machine_agent_add(machine, -1),
                                     .arrivals = ir_number(op, IR_ATTRIBUTE_ARRIVALS, 1)};
        machine_clock_add(machine, &barrier->gathering);
        machine_clock_add(machine, &barrier->ended);
        machine_clock_add(machine, &barrier->before);
        vector_push(machine->arena, &home->barriers, barrier);
        vector_push(machine->arena, &machine->all_barriers, barrier);
    }
}

/* What is behind cluster_barrier in this block is behind it in all. */
void machine_reach_out(struct machine *machine, const struct ir_operation *op)
{
    if (!machine->current->home->cluster_met)
        interp_stop(machine->run, op, "reaches into other blocks before cluster_barrier");
    machine->current->home->reached_out = op;
}

static void ready(struct machine *machine, const struct ir_operation *op)
{
    if (machine->current->number >= 0)
        interp_stop(machine->run, op, "mbarrier_ready inside a role");
    machine_warps_meet(machine);
    struct machine_block *home = machine->current->home;
    for (int i = 0; i < home->barriers.count; i++)
        home->barriers.data[i]->ready = true;
}

/* ---- phases ---- */

static void clear(struct machine *machine, struct clock *clock)
{
    memset(clock->seen, 0, (size_t)machine->agents.count * sizeof *clock->seen);
    memset(clock->fenced, 0, (size_t)machine->agents.count * sizeof *clock->fenced);
}

static void end_phase_when_full(struct machine *machine, struct mbarrier *barrier)
{
    if (barrier->arrived < barrier->arrivals || barrier->bytes)
        return;
    memcpy(barrier->before.seen, barrier->ended.seen, (size_t)machine->agents.count * sizeof *barrier->ended.seen);
    memcpy(barrier->before.fenced, barrier->ended.fenced,
           (size_t)machine->agents.count * sizeof *barrier->ended.fenced);
    machine_clock_join(machine, &barrier->ended, &barrier->gathering);
    clear(machine, &barrier->gathering);
    barrier->phase++;
    barrier->arrived = 0;
    machine->agents.data[barrier->agent].time = barrier->ended.seen[barrier->agent] = (uint32_t)barrier->phase;
}

/* Who does not know that the phase before has ended might have come early: its arrival would count there. */
static void arrive(struct machine *machine, const struct ir_operation *op, struct mbarrier *barrier, int warp)
{
    char name[64];
    machine_name(barrier->value, name, sizeof name);
    if (barrier->arrived == barrier->arrivals)
        interp_stop(machine->run, op, "an arrival too many at %s[%d]: phase %lld has had all of its %lld", name,
                    barrier->slot, (long long)barrier->phase, (long long)barrier->arrivals);
    if (machine->warp[warp].seen[barrier->agent] < (uint32_t)barrier->phase)
        interp_stop(machine->run, op, "an arrival too many at %s[%d]: nothing tells warp %d that phase %lld has ended",
                    name, barrier->slot, warp, (long long)barrier->phase - 1);
    barrier->arrived++;
    machine_clock_join(machine, &barrier->gathering, &machine->warp[warp]);
    machine_warp_tick(machine, warp);
}

static void arrive_warps(struct frame *frame, const struct ir_operation *op)
{
    struct machine *machine = frame->run->machine;
    if (op->operand_count > 2 && !frame_cell(frame, op->operands[2])->bits[0])
        return;
    int number = machine_barrier_of(frame, op, 0);
    bool everywhere = ir_number(op, IR_ATTRIBUTE_CLUSTER, 1) > 1;
    if (everywhere)
        machine_reach_out(machine, op);
    for (int block = 0; block < machine->block_count; block++)
        for (int i = 0; i < machine->current->warps && (everywhere || block == machine->current->home->number); i++) {
            struct mbarrier *barrier = machine->blocks[block].barriers.data[number];
            arrive(machine, op, barrier, machine->current->first_warp + i);
            end_phase_when_full(machine, barrier);
        }
}

static void expect(struct frame *frame, const struct ir_operation *op)
{
    struct machine *machine = frame->run->machine;
    struct mbarrier *barrier = own_barrier(frame, op);
    arrive(machine, op, barrier, machine->current->first_warp);
    barrier->bytes += ir_number(op, IR_ATTRIBUTE_BYTES, 0);
    end_phase_when_full(machine, barrier);
}

void machine_bytes_arrive(struct machine *machine, struct mbarrier *barrier, const struct transfer *transfer,
                          int64_t bytes)
{
    char name[64];
    barrier->bytes -= bytes;
    if (barrier->bytes < 0 && barrier->arrived == barrier->arrivals)
        interp_stop(machine->run, transfer->op, "%lld bytes more came to %s[%d] than phase %lld announced",
                    (long long)-barrier->bytes, machine_name(barrier->value, name, sizeof name), barrier->slot,
                    (long long)barrier->phase);
    for (int i = 0; i < transfer->epochs; i++) {
        struct epoch epoch = machine->epochs.data[transfer->first_epoch + i];
        if (barrier->gathering.seen[epoch.agent] < epoch.time)
            barrier->gathering.seen[epoch.agent] = epoch.time;
    }
    for (int i = 0; i < transfer->phase_count; i++) { /* it was sent behind the end of these phases */
        uint32_t *seen = &barrier->gathering.seen[machine->all_barriers.data[i]->agent];
        *seen = *seen < transfer->phases[i] ? transfer->phases[i] : *seen;
    }
    end_phase_when_full(machine, barrier);
}

static bool roles_have_ended(const struct machine *machine, const struct control *outer)
{
    for (int i = 0; i < machine->controls.count; i++)
        if (machine->controls.data[i]->outer == outer && !machine->controls.data[i]->finished)
            return false;
    return true;
}

bool machine_may_go(const struct machine *machine, const struct control *control)
{
    switch (control->waiting) {
    case WAITING_ROLES: return roles_have_ended(machine, control);
    case WAITING_PHASE: return (control->barrier->phase & 1) != (control->phase & 1);
    case WAITING_NAMED: return control->named->generation != control->generation;
    default: return true;
    }
}

/* The warp is sure of the least phase that the parity can mean for it. */
static void learn_phase(struct machine *machine, const struct mbarrier *barrier, int64_t parity, int warp)
{
    int64_t sure = machine->warp[warp].seen[barrier->agent];
    sure += (sure & 1) == (parity & 1);
    if (sure == barrier->phase)
        machine_clock_join(machine, &machine->warp[warp], &barrier->ended);
    else if (sure == barrier->phase - 1)
        machine_clock_join(machine, &machine->warp[warp], &barrier->before);
}

static void wait_for_phase(struct frame *frame, const struct ir_operation *op)
{
    struct machine *machine = frame->run->machine;
    struct control *control = machine->current;
    const struct ir_value *phase = op->operands[2];
    control->barrier = own_barrier(frame, op);
    control->phase = ir_bits_to_int(phase->type->element, frame_cell(frame, phase)->bits[0]);
    if (control->phase != 0 && control->phase != 1)
        interp_stop(machine->run, op, "waits for parity %lld: phases have 0 or 1", (long long)control->phase);
    control->waiting = WAITING_PHASE;
    machine_wait(machine, op);
    for (int i = 0; i < control->warps; i++)
        learn_phase(machine, control->barrier, control->phase, control->first_warp + i);
}

/* ---- barriers of threads ---- */

/* The control's warps come to a barrier for so many; the last ones let all go. */
static void come_to(struct machine *machine, const struct ir_operation *op, struct named_barrier *named, int64_t warps)
{
    struct control *control = machine->current;
    if (!named->gathering.seen)
        machine_clock_add(machine, &named->gathering);
    named->warps = warps;
    named->arrived += control->warps;
    named->members |= machine_active_warps(machine);
    for (int i = 0; i < control->warps; i++)
        machine_clock_join(machine, &named->gathering, &machine->warp[control->first_warp + i]);
    control->named = named;
    control->generation = named->generation;
    control->waiting = WAITING_NAMED;
    if (named->arrived == warps) {
        for (int warp = 0; warp < machine->warps; warp++)
            if (named->members >> warp & 1) {
                machine_clock_join(machine, &machine->warp[warp], &named->gathering);
                machine_lanes_meet(machine, warp);
            }
        clear(machine, &named->gathering);
        named->arrived = 0;
        named->members = 0;
        named->generation++;
    }
    machine_wait(machine, op);
}

static void meet_by_name(struct machine *machine, const struct ir_operation *op, int64_t id)
{
    int64_t warps = ir_number(op, IR_ATTRIBUTE_BARRIER_WARPS, machine->current->warps);
    if (id < 0 || id > 15)
        interp_stop(machine->run, op, "there is no barrier %lld", (long long)id);
    struct named_barrier *named = &machine->current->home->named[id];
    if (named->arrived && named->warps != warps)
        interp_stop(machine->run, op, "barrier %lld is for %lld warps here and for %lld elsewhere", (long long)id,
                    (long long)warps, (long long)named->warps);
    if (named->arrived + machine->current->warps > warps)
        interp_stop(machine->run, op, "%lld warps came to barrier %lld, which is for %lld",
                    (long long)named->arrived + machine->current->warps, (long long)id, (long long)warps);
    come_to(machine, op, named, warps);
}

static void meet_cluster(struct machine *machine, const struct ir_operation *op)
{
    struct machine_block *home = machine->current->home;
    if (machine->current->number >= 0)
        interp_stop(machine->run, op, "cluster_barrier inside a role");
    home->reached_out = NULL;
    come_to(machine, op, &machine->cluster, machine->warps);
    home->cluster_met = true;
}

static void meet(struct machine *machine, const struct ir_operation *op)
{
    if (machine->current->one_thread)
        interp_stop(machine->run, op, "one thread alone runs this role: the others never come to the barrier");
    int64_t id = ir_number(op, IR_ATTRIBUTE_BARRIER_ID, -1);
    if (ir_attribute(op, IR_ATTRIBUTE_APART))
        machine_groups_meet(machine);
    else if (id < 0)
        machine_warps_meet(machine);
    else
        meet_by_name(machine, op, id);
}

void execute_barrier(struct frame *frame, const struct ir_operation *op)
{
    struct machine *machine = frame->run->machine;
    if (!machine)
        return;
    machine_point(machine);
    machine_operation_begin(machine);
    switch (op->opcode) {
    case OP_MBARRIER: make(frame, op); return;
    case OP_MBARRIER_READY: ready(machine, op); return;
    case OP_CLUSTER_BARRIER: meet_cluster(machine, op); return;
    case OP_MBARRIER_WAIT: wait_for_phase(frame, op); return;
    case OP_MBARRIER_ARRIVE: arrive_warps(frame, op); return;
    case OP_MBARRIER_EXPECT: expect(frame, op); return;
    default: meet(machine, op); return;
    }
}

/* ---- turns ---- */

/* Warpgroups take the same steps one after the other, so that it is enough to follow one: it may not wait for a turn
 * that it has, and who does not hand it on leaves the next one waiting. */
void execute_turn(struct frame *frame, const struct ir_operation *op)
{
    struct run *run = frame->run;
    struct control *control = run->machine->current;
    switch (op->opcode) {
    case OP_TURN_START:
        if (control->turns)
            interp_stop(run, op, "turns are started twice");
        control->turns = true;
        return;
    case OP_TURN_TAKE:
        if (!control->turns)
            interp_stop(run, op, "deadlock: waits for a turn, and nothing started them");
        if (control->has_turn)
            interp_stop(run, op, "deadlock: waits for the turn that it took at %d:%d and did not pass on",
                        control->turn->at.line, control->turn->at.column);
        control->has_turn = true;
        control->turn = op;
        return;
    default:
        if (!control->has_turn)
            interp_stop(run, op, "passes on a turn that it does not have");
        control->has_turn = false;
    }
}

void machine_check_turns(const struct control *control, struct run *run)
{
    if (control->has_turn)
        interp_stop(run, control->turn, "deadlock: the turn taken here is never passed on");
}
