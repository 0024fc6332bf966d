/* Where agents of the checker meet: mbarriers, barriers of threads, turns.
 *
 * An mbarrier hands on what those who arrive know to those who wait for that phase.  A wait names a phase by its parity
 * alone.  The checker takes the least phase of that parity that is possible by what the agent knows, even if this run
 * has come further: another run may not have. */
#include <string.h>

#include "passes/check/check_machine.h"

enum { WARPGROUP = 4 };

/* ---- mbarriers ---- */

struct check_mbarrier *check_mbarrier_of(struct check *check, struct check_agent *agent, const struct ir_operation *op,
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

static void add_mbarrier(struct check *check, const struct ir_operation *op)
{
    struct check_array array = {.op = op, .slots = op->results[0]->type->slots};
    int number = 0;
    for (int i = 0; i < check->mbarriers.count; i++)
        number += check->mbarriers.data[i].slots;
    array.each = ARENA_ARRAY(check->arena, struct check_mbarrier, array.slots);
    for (int i = 0; i < array.slots; i++)
        array.each[i] = (struct check_mbarrier){.number = number + i,
                                                .coming = check_clock_new(check),
                                                .done = check_clock_new(check),
                                                .before = check_clock_new(check),
                                                .far_coming = check_clock_new(check),
                                                .far_done = check_clock_new(check)};
    vector_push(check->arena, &check->mbarriers, array);
}

static void end_phase(struct check *check, struct check_mbarrier *barrier, const struct ir_operation *array,
                      const struct ir_operation *op)
{
    int wanted = (int)ir_number(array, IR_ATTRIBUTE_ARRIVALS, 0);
    if (barrier->arrived > wanted)
        check_report(check, op, array, "arrives %d times in a phase that %d arrivals end", barrier->arrived, wanted);
    if (barrier->arrived < wanted || barrier->bytes)
        return;
    barrier->arrived = 0;
    barrier->phases++;
    barrier->coming[check_phase_position(check, barrier->number)] = barrier->phases;
    check_clock_copy(check, barrier->before, barrier->done);
    check_clock_join(check, barrier->done, barrier->coming);
    check_clock_join(check, barrier->far_done, barrier->far_coming);
}

int check_reach_out(struct check *check, const struct ir_operation *op, enum ir_attribute_key key)
{
    if (!ir_attribute(op, key))
        return 1;
    if (!check->cluster_ready)
        check_report(check, op, NULL,
                     "reaches into another block before cluster_barrier: its mbarriers may not be set up");
    check->far = op;
    return (int)ir_number(op, key, 1);
}

/* Who is not sure that the phase before has ended might arrive in that one. */
static void arrive(struct check *check, struct check_agent *agent, const struct ir_operation *op, int count)
{
    struct check_mbarrier *barrier = check_mbarrier_of(check, agent, op, 0);
    if (!barrier || (op->operand_count > 2 && !check_number(agent, op->operands[2])))
        return;
    if (agent->known[check_phase_position(check, barrier->number)] < barrier->phases)
        check_report(check, op, op->operands[0]->definition,
                     "may arrive too early: nothing tells its role that the %d phases before have ended",
                     barrier->phases);
    const int *clock = op->opcode == OP_MBARRIER_ARRIVE ? check_all_threads(check, agent) : agent->known;
    check_clock_join(check, barrier->coming, clock);
    if (ir_attribute(op, IR_ATTRIBUTE_CLUSTER))
        check_clock_join(check, barrier->far_coming, clock);
    barrier->arrived += count * check_reach_out(check, op, IR_ATTRIBUTE_CLUSTER);
    if (op->opcode == OP_MBARRIER_EXPECT) {
        barrier->bytes += ir_number(op, IR_ATTRIBUTE_BYTES, 0);
        barrier->expect = op;
    }
    end_phase(check, barrier, op->operands[0]->definition, op);
}

void check_bytes_come(struct check *check, struct check_mbarrier *barrier, const struct ir_operation *op,
                      const int *known, int64_t bytes)
{
    check_clock_join(check, barrier->coming, known);
    barrier->bytes -= bytes;
    end_phase(check, barrier, op, op);
}

static bool wait_mbarrier(struct check *check, struct check_agent *agent, const struct ir_operation *op)
{
    struct check_mbarrier *barrier = check_mbarrier_of(check, agent, op, 0);
    if (!barrier)
        return true;
    int parity = (int)(check_number(agent, op->operands[2]) & 1);
    agent->waits_for = barrier;
    if ((barrier->phases & 1) == parity)
        return false;
    int sure = agent->known[check_phase_position(check, barrier->number)];
    sure += (sure & 1) == parity;
    if (sure == barrier->phases) {
        check_clock_join(check, agent->known, barrier->done);
        check_clock_join(check, agent->far, barrier->far_done);
    } else if (sure == barrier->phases - 1) {
        check_clock_join(check, agent->known, barrier->before);
    }
    return true;
}

static const char *why_at_mbarrier(struct check *check, const struct check_agent *agent)
{
    const struct check_mbarrier *barrier = agent->waits_for;
    int wanted = (int)ir_number(agent->blocked->operands[0]->definition, IR_ATTRIBUTE_ARRIVALS, 0);
    if (barrier->arrived >= wanted && barrier->bytes)
        return arena_printf(check->arena, "waits for a phase that never ends: %lld bytes %s than were announced",
                            (long long)(barrier->bytes < 0 ? -barrier->bytes : barrier->bytes),
                            barrier->bytes < 0 ? "more come" : "fewer come");
    return arena_printf(check->arena, "waits for a phase that never ends: %d of %d arrivals came, after %d phases",
                        barrier->arrived, wanted, barrier->phases);
}

const char *check_why_blocked(struct check *check, const struct check_agent *agent)
{
    switch (agent->blocked->opcode) {
    case OP_MBARRIER_WAIT: return why_at_mbarrier(check, agent);
    case OP_TURN_TAKE: return "waits for a turn that another warpgroup does not hand on";
    default: return "waits at a barrier that not all its warps come to";
    }
}

/* ---- barriers of threads ---- */

static bool join_meeting(struct check *check, struct check_agent *agent, struct check_meeting *meeting, int *mine,
                         int64_t warps)
{
    if (!meeting->coming) {
        meeting->coming = check_clock_new(check);
        meeting->done = check_clock_new(check);
    }
    if (*mine == 0) {
        check_clock_join(check, meeting->coming, check_all_threads(check, agent));
        meeting->warps += agent->warps;
        *mine = meeting->round + 1;
        if (meeting->warps >= warps) {
            check_clock_copy(check, meeting->done, meeting->coming);
            meeting->warps = 0;
            meeting->round++;
        }
    }
    if (meeting->round < *mine)
        return false;
    *mine = 0;
    check_clock_join(check, agent->known, meeting->done);
    return true;
}

bool check_come_together(struct check *check, struct check_agent *agent, const struct ir_operation *op)
{
    int64_t id = ir_number(op, IR_ATTRIBUTE_BARRIER_ID, 0), warps = ir_number(op, IR_ATTRIBUTE_BARRIER_WARPS, 0);
    bool named = ir_attribute(op, IR_ATTRIBUTE_BARRIER_ID) && id < CHECK_BARRIERS;
    if (op->opcode == OP_BARRIER && ir_attribute(op, IR_ATTRIBUTE_APART)) { /* an agent is a warpgroup */
        check_meet(check, agent);
        return true;
    }
    if (named && warps > agent->warps)
        return join_meeting(check, agent, &check->meetings[id], &agent->met_round[id], warps);
    if (!named && agent->group->count > 1)
        return join_meeting(check, agent, &agent->group->meeting, &agent->met_round[CHECK_BARRIERS],
                            agent->group->warps);
    check_meet(check, agent);
    return true;
}

/* ---- turns ---- */

/* Warpgroups that wait for the turn do not come to a barrier of all. */
void check_turn(struct check *check, const struct check_agent *agent, const struct ir_operation *op)
{
    if (agent->turn && agent->group->warps >= 2 * WARPGROUP && !ir_attribute(op, IR_ATTRIBUTE_APART))
        check_report(check, op, agent->turn,
                     "lets all warps meet while one warpgroup has the turn that others wait for");
}

static bool take_turns(struct check *check, struct check_agent *agent, const struct ir_operation *op)
{
    struct check_group *group = agent->group;
    if (op->opcode == OP_TURN_START ? agent->turns : !agent->turns)
        check_report(check, op, NULL,
                     op->opcode == OP_TURN_START ? "starts turns a second time"
                                                 : "is about turns that nothing started");
    if (op->opcode == OP_TURN_TAKE && agent->turn)
        check_report(check, op, agent->turn, "waits for a turn that was taken and not handed on");
    if (op->opcode == OP_TURN_PASS && !agent->turn)
        check_report(check, op, NULL, "hands on a turn that was not taken");
    if (op->opcode == OP_TURN_TAKE && group->turn != agent->number - group->first)
        return false;
    if (op->opcode == OP_TURN_PASS)
        group->turn = (group->turn + 1) % group->count;
    agent->turns = true;
    agent->turn = op->opcode == OP_TURN_TAKE ? op : NULL;
    return true;
}

/* ---- operations ---- */

bool check_perform_barrier(struct check *check, struct check_agent *agent, const struct ir_operation *op)
{
    switch (op->opcode) {
    case OP_MBARRIER: add_mbarrier(check, op); return true;
    case OP_MBARRIER_READY:
        check->ready = true;
        check_meet(check, agent);
        return true;
    case OP_CLUSTER_BARRIER:
        check->cluster_ready = check->ready;
        check->far = NULL;
        check_meet(check, agent);
        return true;
    case OP_MBARRIER_WAIT: return wait_mbarrier(check, agent, op);
    case OP_MBARRIER_ARRIVE: arrive(check, agent, op, agent->one_thread ? 1 : agent->warps); return true;
    case OP_MBARRIER_EXPECT: arrive(check, agent, op, 1); return true;
    case OP_BARRIER: check_turn(check, agent, op); return check_come_together(check, agent, op);
    default: return take_turns(check, agent, op);
    }
}
