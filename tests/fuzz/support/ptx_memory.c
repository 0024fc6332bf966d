/* Memory: parameters, global and shared memory, atomics, copies that are waited for.  See ptx.h. */
#include <string.h>

#include "ptx_run.h"

static uint64_t mask_of(int bits) { return bits >= 64 ? ~UINT64_C(0) : (UINT64_C(1) << bits) - 1; }

/* ---- parameters ---- */

static bool is_in(const struct ptx_instruction *in, const char *space)
{
    for (int i = 0; i < in->word_count; i++)
        if (strncmp(in->words[i], space, strlen(space)) == 0)
            return true;
    return false;
}

/* What is loaded goes into wider registers by its sign. */
static uint64_t extended(const struct ptx_instruction *in, uint64_t bits)
{
    bool fills = in->type.kind == 's' && in->type.bits < 64 && bits >> (in->type.bits - 1) & 1;
    return fills ? bits | ~mask_of(in->type.bits) : bits;
}

/* Parameters of kernels are the slots; those of functions, and of calls, are names with a value. */
static bool access_parameter(struct machine *m, struct thread *t, const struct ptx_instruction *in)
{
    bool loads = in->opcode == PTX_ld;
    const struct ptx_operand *place = &in->operands[loads ? 1 : 0];
    int bytes = in->type.bits / 8;
    const struct ptx_function *kernel = &m->module->functions.data[m->kernel];
    if (loads && (!place->name || strcmp(place->name, kernel->parameters[0]) == 0)) {
        uint64_t at = ptx_address_of(t, place); /* the name stands for 0 */
        if (t->depth || at + (uint64_t)(bytes * in->vector) > (uint64_t)m->launch->slot_count * 8)
            return ptx_stop(m, t, "a parameter beyond the slots");
        for (int i = 0; i < in->vector; i++) {
            const struct ptx_operand *one = in->operands[0].place == PTX_LIST ? &in->operands[0].list[i] : in->operands;
            uint64_t value = 0;
            memcpy(&value, (const char *)m->launch->slots + at + (uint64_t)(i * bytes), (size_t)bytes);
            ptx_set(m, t, one, extended(in, value), 64);
        }
        return true;
    }
    if (!place->name)
        return ptx_stop(m, t, "a parameter without a name");
    int i = 0;
    while (i < t->parameter_count && strcmp(t->parameters[i].name, place->name) != 0)
        i++;
    if (i == MOST_PARAMETERS || (loads && i == t->parameter_count))
        return ptx_stop(m, t, "a parameter that is not there");
    if (i == t->parameter_count)
        t->parameter_count++;
    t->parameters[i].name = place->name;
    if (loads)
        ptx_set(m, t, &in->operands[0], t->parameters[i].value, in->type.bits);
    else
        t->parameters[i].value = ptx_operand_value(m, t, &in->operands[1]);
    return true;
}

/* ---- atomics ---- */

/* Loops around compare-and-swap, and what they begin with: one kind, if they commute at all. */
static const char by_swaps[] = "cas";

static bool is_swap(const struct ptx_instruction *in) { return in->opcode == PTX_atom && ptx_has(in, "cas"); }

/* The word around a byte whose atomic goes by a loop: its neighbours have atomics of their own. */
static bool is_of_byte(const struct machine *m, const struct ptx_instruction *in)
{
    return m->launch->byte_atomics && in->type.bits == 32;
}

static bool touch_by_atomic(struct machine *m, struct thread *t, const struct ptx_instruction *in, uint64_t address,
                            uint64_t old, uint64_t result)
{
    int bytes = in->type.bits / 8;
    bool swap = is_swap(in), ignored = in->opcode == PTX_red || (!t->depth && !m->looked_at[t->at]);
    bool commutes = swap ? (m->launch->commuting_loops & bytes) != 0 : ignored && !ptx_has(in, "exch");
    enum ptx_touch touch = commutes ? PTX_ACTS : PTX_WRITES;
    const char *behind = strstr(in->name, "global"), *kind = behind ? behind : in->name; /* not the scope */
    if (!swap || !is_of_byte(m, in))
        return ptx_word_touch(m, t, address, bytes, touch, swap ? by_swaps : kind);
    for (int i = 0; i < bytes; i++)
        if ((old ^ result) >> 8 * i & 0xff && !ptx_word_touch(m, t, address + (uint64_t)i, 1, touch, by_swaps))
            return false;
    return true;
}

bool ptx_act(struct machine *m, struct thread *t, const struct ptx_instruction *in)
{
    bool returns = in->opcode == PTX_atom;
    const struct ptx_operand *operands = in->operands + returns;
    int bytes = in->type.bits / 8;
    uint64_t old = 0, result, address = ptx_address_of(t, &operands[0]);
    if (!returns && is_in(in, "shared"))
        return ptx_shared_act(m, t, in, address, ptx_operand_value(m, t, &operands[1]) & mask_of(in->type.bits));
    if (!ptx_word_read(m, t, address, bytes, &old))
        return false;
    uint64_t value = ptx_operand_value(m, t, &operands[1]) & mask_of(in->type.bits);
    uint64_t second = in->operand_count > 2 + returns ? ptx_operand_value(m, t, &operands[2]) : 0;
    if (!ptx_combine(in, old, value, second, &result))
        return ptx_stop(m, t, "an atomic that is not known");
    if (returns)
        ptx_set(m, t, &in->operands[0], old, in->type.bits);
    return touch_by_atomic(m, t, in, address, old, result) && ptx_word_write(m, t, address, bytes, result);
}

/* ---- ld and st ---- */

bool ptx_access(struct machine *m, struct thread *t, const struct ptx_instruction *in)
{
    bool loads = in->opcode == PTX_ld, shared = is_in(in, "shared");
    const struct ptx_operand *value = &in->operands[loads ? 0 : 1], *place = &in->operands[loads ? 1 : 0];
    int bytes = in->type.bits / 8;
    if (is_in(in, "param"))
        return access_parameter(m, t, in);
    if (!shared && !is_in(in, "global"))
        return ptx_stop(m, t, "an address of no known space");
    uint64_t address = ptx_address_of(t, place), word = 0;
    if (loads && !shared && ptx_has(in, "relaxed")) {
        bool good = ptx_word_read(m, t, address, bytes, &word) &&
                    (is_of_byte(m, in) ||
                     ptx_word_touch(m, t, address, bytes, m->launch->commuting_loops & bytes ? PTX_ACTS : PTX_READS,
                                    by_swaps));
        ptx_set(m, t, value, word, in->type.bits);
        return good;
    }
    if (loads && ptx_has(in, "nc") && !ptx_global_is_constant(m, t, address, bytes * in->vector))
        return false;
    unsigned char bits[64];
    struct actor actor = ptx_actor(m, t);
    const unsigned char *from = !loads   ? NULL
                                : shared ? ptx_shared_read(m, t, address, bytes * in->vector)
                                         : ptx_global_read(m, t, address, bytes * in->vector, PTX_ORDINARY, &actor);
    if (!from && loads)
        return false;
    for (int i = 0; i < in->vector; i++) {
        const struct ptx_operand *one = value->place == PTX_LIST ? &value->list[i] : value;
        word = loads ? 0 : ptx_operand_value(m, t, one);
        if (!loads) {
            memcpy(bits + i * bytes, &word, (size_t)bytes);
            continue;
        }
        memcpy(&word, from + i * bytes, (size_t)bytes);
        ptx_set(m, t, one, extended(in, word), 64);
    }
    if (loads)
        return true;
    return shared ? ptx_shared_write(m, t, address, bytes * in->vector, bits)
                  : ptx_global_write(m, t, address, bytes * in->vector, bits, PTX_ORDINARY, &actor);
}

/* ---- cp.async ---- */

/* Behind the wait it is as if the thread itself had written. */
static bool land(struct machine *m, struct thread *t, const struct flight *flight)
{
    struct actor actor = ptx_actor(m, t);
    int block;
    uint64_t offset;
    if (!ptx_shared_place(m, t, flight->to, flight->bytes, flight->bytes, &block, &offset))
        return false;
    memcpy(m->blocks[block].shared + offset, flight->data, (size_t)flight->bytes);
    ptx_land(m, block, offset, flight->bytes, actor.agent, actor.time);
    return true;
}

static bool wait_for_groups(struct machine *m, struct thread *t, int64_t pending)
{
    int kept = 0;
    for (int i = 0; i < t->flights.count; i++) {
        struct flight *flight = &t->flights.data[i];
        if (flight->group >= t->groups - pending)
            t->flights.data[kept++] = *flight;
        else if (!land(m, t, flight))
            return false;
    }
    t->flights.count = kept;
    return true;
}

bool ptx_copy_async(struct machine *m, struct thread *t, const struct ptx_instruction *in)
{
    if (ptx_has(in, "bulk"))
        return ptx_bulk(m, t, in);
    if (ptx_has(in, "commit_group")) {
        t->groups++;
        return true;
    }
    if (ptx_has(in, "wait_group"))
        return wait_for_groups(m, t, in->operand_count ? (int64_t)in->operands[0].number : 0);
    if (ptx_has(in, "wait_all"))
        return wait_for_groups(m, t, -1);
    struct flight flight = {
        .to = ptx_address_of(t, &in->operands[0]), .bytes = (int)in->operands[2].number, .group = t->groups};
    uint64_t read = (uint64_t)flight.bytes, offset;
    int block;
    if (in->operand_count > 3) {
        uint64_t last = ptx_operand_value(m, t, &in->operands[3]);
        const char *comma = strrchr(in->text, ',');
        read = strstr(comma, "%p") ? (last ? 0 : read) : last;
    }
    if (flight.bytes > 16 || read > (uint64_t)flight.bytes)
        return ptx_stop(m, t, "a copy of more than 16 bytes");
    struct actor actor = ptx_actor(m, t);
    if (!ptx_shared_place(m, t, flight.to, flight.bytes, flight.bytes, &block, &offset) ||
        !ptx_take_off(m, t, block, offset, flight.bytes, &actor))
        return false;
    if (read) {
        uint64_t from = ptx_address_of(t, &in->operands[1]);
        if (from % (uint64_t)flight.bytes)
            return ptx_stop(m, t, "a copy is not aligned");
        for (uint64_t i = 0; i < read; i++) {
            const unsigned char *at = ptx_global_read(m, t, from + i, 1, PTX_ORDINARY, &actor);
            if (!at)
                return false;
            flight.data[i] = *at;
        }
    }
    vector_push(m->arena, &t->flights, flight);
    return true;
}
