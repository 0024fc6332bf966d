/* Agents, their clocks, and which event is known to whom. */
#include <string.h>

#include "interp/machine.h"

static uint32_t *grown(struct machine *machine, const uint32_t *old, int count)
{
    uint32_t *data = ARENA_ARRAY(machine->arena, uint32_t, machine->agent_capacity);
    if (old)
        memcpy(data, old, (size_t)count * sizeof *data);
    return data;
}

void machine_clock_add(struct machine *machine, struct clock *clock)
{
    clock->seen = grown(machine, NULL, 0);
    clock->fenced = grown(machine, NULL, 0);
    clock->next = machine->clocks;
    machine->clocks = clock;
}

void machine_clock_join(struct machine *machine, struct clock *into, const struct clock *from)
{
    for (int i = 0; i < machine->agents.count; i++) {
        if (into->seen[i] < from->seen[i])
            into->seen[i] = from->seen[i];
        if (into->fenced[i] < from->fenced[i])
            into->fenced[i] = from->fenced[i];
    }
}

int machine_agent_add(struct machine *machine, int owner)
{
    int count = machine->agents.count;
    vector_push(machine->arena, &machine->agents, ((struct agent){.owner = owner}));
    if (count < machine->agent_capacity)
        return count;
    machine->agent_capacity = machine->agent_capacity ? 2 * machine->agent_capacity : 256;
    for (struct clock *clock = machine->clocks; clock; clock = clock->next) {
        clock->seen = grown(machine, clock->seen, count);
        clock->fenced = grown(machine, clock->fenced, count);
    }
    return count;
}

/* Reusing the number is sound: whoever learns the new time knows the old one through the warp that started both. */
struct epoch machine_agent_start(struct machine *machine, int warp)
{
    int agent = machine->warps;
    while (agent < machine->agents.count && (machine->agents.data[agent].owner != warp ||
                                             machine->warp[warp].seen[agent] < machine->agents.data[agent].time))
        agent++;
    if (agent == machine->agents.count)
        agent = machine_agent_add(machine, warp);
    return (struct epoch){agent, ++machine->agents.data[agent].time};
}

void machine_warp_learns(struct machine *machine, int warp, struct epoch epoch)
{
    uint32_t *seen = &machine->warp[warp].seen[epoch.agent];
    if (*seen < epoch.time)
        *seen = epoch.time;
}

/* What the warp does from here on is not known to those that have its clock now. */
void machine_warp_tick(struct machine *machine, int warp)
{
    machine->warp[warp].seen[warp] = ++machine->agents.data[warp].time;
}

void machine_lanes_meet(struct machine *machine, int warp)
{
    machine_warp_tick(machine, warp);
    machine->met[warp] = machine->agents.data[warp].time;
}

static void meet(struct machine *machine, int first_warp, int warps)
{
    struct clock *first = &machine->warp[first_warp];
    for (int i = 1; i < warps; i++)
        machine_clock_join(machine, first, &machine->warp[first_warp + i]);
    for (int i = 1; i < warps; i++)
        machine_clock_join(machine, &machine->warp[first_warp + i], first);
    for (int i = 0; i < warps; i++)
        machine_lanes_meet(machine, first_warp + i);
}

void machine_warps_meet(struct machine *machine)
{
    meet(machine, machine->current->first_warp, machine->current->warps);
}

void machine_groups_meet(struct machine *machine)
{
    const struct control *control = machine->current;
    for (int i = 0; i < control->warps; i += IR_WARPGROUP)
        meet(machine, control->first_warp + i, IR_WARPGROUP);
}

/* Of what a warp wrote itself, or through copies that it waited for. */
void machine_fence(struct machine *machine)
{
    const struct control *control = machine->current;
    for (int warp = control->first_warp; warp < control->first_warp + control->warps; warp++) {
        struct clock *clock = &machine->warp[warp];
        for (int i = 0; i < machine->agents.count; i++)
            if (i == warp || machine->agents.data[i].owner == warp)
                clock->fenced[i] = clock->seen[i];
        machine_warp_tick(machine, warp);
    }
}

uint32_t machine_event(struct machine *machine, const struct event *event)
{
    vector_push(machine->arena, &machine->events, *event);
    return (uint32_t)machine->events.count - 1;
}

int machine_epoch_push(struct machine *machine, struct epoch epoch)
{
    vector_push(machine->arena, &machine->epochs, epoch);
    return machine->epochs.count - 1;
}

bool machine_knows(const struct machine *machine, const struct event *event, int warp, bool fenced)
{
    const uint32_t *times = fenced ? machine->warp[warp].fenced : machine->warp[warp].seen;
    for (int i = 0; i < event->epochs; i++) {
        const struct epoch *epoch = &machine->epochs.data[event->first_epoch + i];
        if (times[epoch->agent] < epoch->time)
            return false;
    }
    return true;
}

bool machine_knows_together(const struct machine *machine, const struct event *event, uint64_t warps, bool fenced)
{
    for (int i = 0; i < event->epochs; i++) {
        const struct epoch *epoch = &machine->epochs.data[event->first_epoch + i];
        bool known = false;
        for (int warp = 0; warp < machine->warps && !known; warp++)
            known = warps >> warp & 1 &&
                    (fenced ? machine->warp[warp].fenced : machine->warp[warp].seen)[epoch->agent] >= epoch->time;
        if (!known)
            return false;
    }
    return true;
}

uint32_t machine_random(struct machine *machine, uint32_t below)
{
    machine->random += UINT64_C(0x9E3779B97F4A7C15);
    uint64_t bits = machine->random;
    bits = (bits ^ bits >> 30) * UINT64_C(0xBF58476D1CE4E5B9);
    bits = (bits ^ bits >> 27) * UINT64_C(0x94D049BB133111EB);
    return (uint32_t)((bits ^ bits >> 31) >> 33) % below;
}
