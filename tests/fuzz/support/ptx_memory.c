/* Memory: parameters, global and shared memory, atomics, copies that are waited for.  See ptx.h. */
#include <string.h>

#include "ptx_run.h"

static uint64_t mask_of(int bits) { return bits >= 64 ? ~UINT64_C(0) : (UINT64_C(1) << bits) - 1; }

/* ---- global memory ---- */

static unsigned char *global(struct machine *m, const struct thread *t, uint64_t address, int bytes, bool writes)
{
    for (int i = 0; i < m->launch->memory_count; i++) {
        const struct ptx_memory *memory = &m->launch->memories[i];
        uint64_t start = (uint64_t)(uintptr_t)memory->data;
        if (address < start || address - start > memory->size || memory->size - (address - start) < (uint64_t)bytes)
            continue;
        if (writes && memory->read_only)
            ptx_stop(m, t, "writes what is only read");
        else if (address % (uint64_t)bytes)
            ptx_stop(m, t, "an access is not aligned");
        else
            return memory->data + (address - start);
        return NULL;
    }
    ptx_stop(m, t, writes ? "writes memory that no argument owns" : "reads memory that no argument owns");
    return NULL;
}

/* ---- shared memory, and who touched it since the last barrier ---- */

/* Between the moment of a touch and now, `t` and the thread that touched have met. */
static bool have_met(const struct machine *m, const struct thread *t, const struct touch *touch)
{
    if (touch->thread == t->number || touch->block_meetings < m->meetings)
        return true;
    int warp = t->number / 32;
    return touch->thread != MANY_WARPS && touch->warp == warp && touch->warp_meetings < m->warp_meetings[warp];
}

static void note_touch(const struct machine *m, const struct thread *t, struct touch *touch)
{
    int warp = t->number / 32;
    bool same_time = touch->block_meetings == m->meetings && touch->thread != NOBODY;
    int thread = t->number;
    if (same_time && touch->thread != thread)
        thread = touch->warp != warp || touch->thread == MANY_WARPS ? MANY_WARPS : MANY_LANES;
    *touch = (struct touch){thread, warp, m->meetings, m->warp_meetings[warp]};
}

static bool is_in_shared(struct machine *m, const struct thread *t, uint64_t address, int bytes)
{
    uint64_t offset = address - PTX_SHARED_START;
    if (address < PTX_SHARED_START || offset + (uint64_t)bytes > (uint64_t)m->launch->shared_bytes)
        return ptx_stop(m, t, "an access outside shared memory");
    return offset % (uint64_t)bytes == 0 || ptx_stop(m, t, "an access to shared memory is not aligned");
}

const unsigned char *ptx_shared_read(struct machine *m, const struct thread *t, uint64_t address, int bytes)
{
    if (!is_in_shared(m, t, address, bytes))
        return NULL;
    for (int i = 0; i < bytes; i++) {
        struct shadow *shadow = &m->shadows[address - PTX_SHARED_START + (uint64_t)i];
        if (shadow->writer.thread == NOBODY)
            ptx_stop(m, t, "reads shared memory that nobody wrote");
        else if (!have_met(m, t, &shadow->writer))
            ptx_stop(m, t, "reads shared memory without a barrier behind the write");
        note_touch(m, t, &shadow->reader);
    }
    return m->problem->size ? NULL : m->shared + (address - PTX_SHARED_START);
}

/* Threads that hold copies may write the same over each other. */
static bool write_shared(struct machine *m, const struct thread *t, uint64_t address, int bytes,
                      const unsigned char *data)
{
    if (!is_in_shared(m, t, address, bytes))
        return false;
    for (int i = 0; i < bytes; i++) {
        uint64_t offset = address - PTX_SHARED_START + (uint64_t)i;
        struct shadow *shadow = &m->shadows[offset];
        if (shadow->writer.thread != NOBODY && m->shared[offset] == data[i])
            continue;
        if ((shadow->writer.thread != NOBODY && !have_met(m, t, &shadow->writer)) ||
            (shadow->reader.thread != NOBODY && !have_met(m, t, &shadow->reader)))
            ptx_stop(m, t, "writes shared memory that another touched, without a barrier between");
        shadow->reader.thread = shadow->writer.thread = NOBODY;
        note_touch(m, t, &shadow->writer);
        m->shared[offset] = data[i];
    }
    return !m->problem->size;
}

/* ---- ld and st ---- */

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
            ptx_set(t, one, extended(in, value), 64);
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
        ptx_set(t, &in->operands[0], t->parameters[i].value, in->type.bits);
    else
        t->parameters[i].value = ptx_operand_value(m, t, &in->operands[1]);
    return true;
}

/* A byte's atomic works on the aligned word around it, which may reach beyond the end: bytes there are nobody's. */
static bool move_word(struct machine *m, const struct thread *t, uint64_t address, int bytes, uint64_t *word,
                      bool writes)
{
    bool any = false;
    for (int i = 0; i < bytes; i++)
        for (int k = 0; k < m->launch->memory_count; k++) {
            const struct ptx_memory *memory = &m->launch->memories[k];
            uint64_t offset = address + (uint64_t)i - (uint64_t)(uintptr_t)memory->data;
            if (offset >= memory->size)
                continue;
            any = true;
            if (writes)
                memory->data[offset] = (unsigned char)(*word >> 8 * i);
            else
                *word |= (uint64_t)memory->data[offset] << 8 * i;
            break;
        }
    return (any && address % (uint64_t)bytes == 0) || ptx_stop(m, t, "an atomic on memory that no argument owns");
}

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
        bool good = move_word(m, t, address, bytes, &word, false);
        ptx_set(t, value, word, in->type.bits);
        return good;
    }
    unsigned char bits[64], *at = shared ? NULL : global(m, t, address, bytes * in->vector, !loads);
    const unsigned char *from = shared && loads ? ptx_shared_read(m, t, address, bytes * in->vector) : at;
    if (!from && (loads || !shared))
        return false;
    for (int i = 0; i < in->vector; i++) {
        const struct ptx_operand *one = value->place == PTX_LIST ? &value->list[i] : value;
        word = loads ? 0 : ptx_operand_value(m, t, one);
        if (!loads) {
            memcpy(bits + i * bytes, &word, (size_t)bytes);
            continue;
        }
        memcpy(&word, from + i * bytes, (size_t)bytes);
        ptx_set(t, one, extended(in, word), 64);
    }
    if (!loads && shared)
        return write_shared(m, t, address, bytes * in->vector, bits);
    if (!loads)
        memcpy(at, bits, (size_t)(bytes * in->vector));
    return true;
}

bool ptx_act(struct machine *m, struct thread *t, const struct ptx_instruction *in)
{
    bool returns = in->opcode == PTX_atom;
    const struct ptx_operand *operands = in->operands + returns;
    int bytes = in->type.bits / 8;
    uint64_t old = 0, result, address = ptx_address_of(t, &operands[0]);
    if (!move_word(m, t, address, bytes, &old, false))
        return false;
    uint64_t value = ptx_operand_value(m, t, &operands[1]) & mask_of(in->type.bits);
    uint64_t second = in->operand_count > 2 + returns ? ptx_operand_value(m, t, &operands[2]) : 0;
    if (!ptx_combine(in, old, value, second, &result))
        return ptx_stop(m, t, "an atomic that is not known");
    if (returns)
        ptx_set(t, &in->operands[0], old, in->type.bits);
    return move_word(m, t, address, bytes, &result, true);
}

/* ---- cp.async ---- */

bool ptx_copy_async(struct machine *m, struct thread *t, const struct ptx_instruction *in)
{
    if (ptx_has(in, "commit_group")) {
        t->groups++;
        return true;
    }
    if (ptx_has(in, "wait_group") || ptx_has(in, "wait_all")) {
        int64_t pending = in->operand_count ? (int64_t)in->operands[0].number : 0, kept = 0;
        for (int i = 0; i < t->flights.count; i++) {
            struct flight *flight = &t->flights.data[i];
            if (ptx_has(in, "wait_group") && flight->group >= t->groups - pending) {
                t->flights.data[kept++] = *flight;
                continue;
            }
            if (!write_shared(m, t, flight->to, flight->bytes, flight->data))
                return false;
        }
        t->flights.count = (int)kept;
        return true;
    }
    struct flight flight = {.to = ptx_address_of(t, &in->operands[0]), .bytes = (int)in->operands[2].number,
                            .group = t->groups};
    static const unsigned char poison[16] = {0xa5, 0xa5};
    uint64_t read = (uint64_t)flight.bytes;
    if (in->operand_count > 3) {
        uint64_t last = ptx_operand_value(m, t, &in->operands[3]);
        const char *comma = strrchr(in->text, ',');
        read = strstr(comma, "%p") ? (last ? 0 : read) : last;
    }
    if (flight.bytes > 16 || read > (uint64_t)flight.bytes)
        return ptx_stop(m, t, "a copy of more than 16 bytes");
    if (!write_shared(m, t, flight.to, flight.bytes, poison))
        return false;
    for (int i = 0; i < flight.bytes; i++) /* nothing to read until it was waited for */
        m->shadows[flight.to - PTX_SHARED_START + (uint64_t)i].writer.thread = NOBODY;
    if (read) {
        uint64_t from = ptx_address_of(t, &in->operands[1]);
        if (from % (uint64_t)flight.bytes)
            return ptx_stop(m, t, "a copy is not aligned");
        for (uint64_t i = 0; i < read; i++) {
            unsigned char *at = global(m, t, from + i, 1, false);
            if (!at)
                return false;
            flight.data[i] = *at;
        }
    }
    vector_push(m->arena, &t->flights, flight);
    return true;
}
