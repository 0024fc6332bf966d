/* Clocks, and shared memory with who touched each byte last.  See ptx_run.h. */
#include <string.h>

#include "ptx_run.h"

/* ---- clocks ---- */

void ptx_join(const struct machine *m, uint32_t *into, const uint32_t *clock)
{
    for (int i = 0; i < 2 * m->agents; i++)
        into[i] = clock[i] > into[i] ? clock[i] : into[i];
}

void ptx_release(const struct machine *m, const struct thread *t, uint32_t *clock)
{
    uint32_t *knows = ptx_knows(m, t);
    ptx_join(m, clock, knows);
    knows[t->number]++;
}

void ptx_meet(struct machine *m, struct thread *const *threads, int count)
{
    size_t size = 2 * (size_t)m->agents * sizeof *m->scratch;
    memset(m->scratch, 0, size);
    for (int i = 0; i < count; i++)
        ptx_join(m, m->scratch, ptx_knows(m, threads[i]));
    for (int i = 0; i < count; i++) {
        uint32_t *knows = ptx_knows(m, threads[i]);
        memcpy(knows, m->scratch, size);
        knows[threads[i]->number]++;
    }
}

/* What stands behind the fence is not seen by it. */
void ptx_fence_proxy(struct machine *m, const struct thread *t)
{
    uint32_t *knows = ptx_knows(m, t);
    memcpy(knows + m->agents, knows, (size_t)m->agents * sizeof *knows);
    knows[t->number]++;
}

struct actor ptx_actor(const struct machine *m, const struct thread *t)
{
    const uint32_t *knows = ptx_knows(m, t);
    return (struct actor){t->number, knows[t->number], knows, NULL};
}

/* ---- who touched a byte ---- */

/* What an agent did is done for the actor: its own, if it is a thread, or known. */
bool ptx_is_done(const struct machine *m, const struct actor *actor, int agent, uint32_t time)
{
    if (agent >= m->products) { /* a product reads for four warps */
        bool done = true;
        for (int i = 0; i < 4; i++)
            done &= actor->knows[agent + i] >= time;
        return done;
    }
    return (agent == actor->agent && agent < m->all_threads) || actor->knows[agent] >= time;
}

/* The writer of a byte is one that the actor may build upon. */
static bool follows_writer(struct machine *m, const struct thread *t, const struct shadow *shadow,
                           const struct actor *actor, bool reads)
{
    if (shadow->writer == NOBODY)
        return !reads || ptx_stop(m, t, "reads shared memory that nobody wrote");
    if (shadow->writer == ON_ITS_WAY)
        return ptx_stop(m, t,
                        reads ? "reads shared memory that a copy on its way will write"
                              : "writes shared memory that a copy on its way will write");
    if (shadow->writer == IS_MBARRIER)
        return ptx_stop(m, t, "touches an mbarrier");
    if (!ptx_is_done(m, actor, shadow->writer, shadow->time))
        return ptx_stop(m, t,
                        reads ? "reads shared memory without a barrier behind the write"
                              : "writes shared memory that another touched, without a barrier between");
    if (actor->seen && shadow->writer < m->all_threads && actor->seen[shadow->writer] < shadow->time)
        return ptx_stop(m, t, "touches what was written by ordinary stores, without a proxy fence between");
    return true;
}

static int new_reader(struct machine *m)
{
    if (m->free_reader < 0) {
        vector_push(m->arena, &m->readers, (struct reader){0});
        return m->readers.count - 1;
    }
    int found = m->free_reader;
    m->free_reader = m->readers.data[found].next;
    return found;
}

/* The list goes, from its first on. */
static void free_list(struct machine *m, int first)
{
    while (first >= 0) {
        int next = m->readers.data[first].next;
        m->readers.data[first].next = m->free_reader;
        m->free_reader = first;
        first = next;
    }
}

static void make_table(struct machine *m, int *readers)
{
    int number = m->tables.count;
    if (m->free_tables.count) {
        number = m->free_tables.data[--m->free_tables.count];
    } else {
        uint32_t *table = ARENA_ARRAY(m->arena, uint32_t, m->agents);
        vector_push(m->arena, &m->tables, table);
    }
    memset(m->tables.data[number], 0, (size_t)m->agents * sizeof **m->tables.data);
    for (int i = *readers; i >= 0; i = m->readers.data[i].next)
        m->tables.data[number][m->readers.data[i].agent] = m->readers.data[i].time;
    free_list(m, *readers);
    *readers = -2 - number;
}

/* Readers of whom everybody who knows this one knows, too, are forgotten. */
void ptx_add_reader(struct machine *m, int *readers, const struct actor *actor)
{
    enum { MOST_IN_LIST = 6 };
    int *link = readers, length = 0;
    if (*link < -1) {
        m->tables.data[-2 - *link][actor->agent] = actor->time;
        return;
    }
    while (*link >= 0) {
        int number = *link;
        struct reader *reader = &m->readers.data[number];
        if (reader->agent == actor->agent) {
            reader->time = actor->time;
            return;
        }
        if (!ptx_is_done(m, actor, reader->agent, reader->time)) {
            link = &reader->next;
            length++;
            continue;
        }
        *link = reader->next;
        reader->next = m->free_reader;
        m->free_reader = number;
    }
    int made = new_reader(m);
    m->readers.data[made] = (struct reader){actor->agent, actor->time, *readers};
    *readers = made;
    if (length >= MOST_IN_LIST)
        make_table(m, readers);
}

void ptx_free_readers(struct machine *m, int *readers)
{
    if (*readers < -1)
        vector_push(m->arena, &m->free_tables, -2 - *readers);
    else
        free_list(m, *readers);
    *readers = -1;
}

static bool follows_reader(struct machine *m, const struct thread *t, const struct actor *actor, int agent,
                           uint32_t time)
{
    return time == 0 || ptx_is_done(m, actor, agent, time) ||
           ptx_stop(m, t,
                    agent < m->all_threads ? "writes shared memory that another touched, without a barrier between"
                                           : "writes shared memory that a product or a store on its way reads");
}

static bool follows_all(struct machine *m, const struct thread *t, int readers, const struct actor *actor)
{
    if (readers < -1) {
        for (int i = 0; i < m->agents; i++)
            if (!follows_reader(m, t, actor, i, m->tables.data[-2 - readers][i]))
                return false;
        return true;
    }
    for (int i = readers; i >= 0; i = m->readers.data[i].next)
        if (!follows_reader(m, t, actor, m->readers.data[i].agent, m->readers.data[i].time))
            return false;
    return true;
}

static bool follows_readers(struct machine *m, const struct thread *t, struct shadow *shadow, const struct actor *actor)
{
    if (!follows_all(m, t, shadow->readers, actor) || !follows_all(m, t, shadow->acts, actor))
        return false;
    ptx_free_readers(m, &shadow->readers);
    ptx_free_readers(m, &shadow->acts);
    return true;
}

bool ptx_note_read(struct machine *m, const struct thread *t, int block, uint64_t offset, int bytes,
                   const struct actor *actor)
{
    for (int i = 0; i < bytes; i++) {
        struct shadow *shadow = &m->blocks[block].shadows[offset + (uint64_t)i];
        if (!follows_writer(m, t, shadow, actor, true) || !follows_all(m, t, shadow->acts, actor))
            return false;
        ptx_add_reader(m, &shadow->readers, actor);
    }
    return true;
}

bool ptx_take_off(struct machine *m, const struct thread *t, int block, uint64_t offset, int bytes,
                  const struct actor *actor)
{
    for (int i = 0; i < bytes; i++) {
        struct shadow *shadow = &m->blocks[block].shadows[offset + (uint64_t)i];
        if (!follows_writer(m, t, shadow, actor, false) || !follows_readers(m, t, shadow, actor))
            return false;
        shadow->writer = ON_ITS_WAY;
    }
    return true;
}

void ptx_land(struct machine *m, int block, uint64_t offset, int bytes, int agent, uint32_t time)
{
    for (int i = 0; i < bytes; i++) {
        struct shadow *shadow = &m->blocks[block].shadows[offset + (uint64_t)i];
        shadow->writer = agent;
        shadow->time = time;
    }
}

/* ---- ordinary accesses ---- */

bool ptx_shared_place(struct machine *m, const struct thread *t, uint64_t address, int bytes, int alignment, int *block,
                      uint64_t *offset)
{
    *block = t->block;
    if (address >= PTX_WINDOW) {
        *block = (int)(address / PTX_WINDOW) - 1;
        address %= PTX_WINDOW;
    }
    *offset = address - PTX_SHARED_START;
    if (*block >= m->cluster || address < PTX_SHARED_START ||
        *offset + (uint64_t)bytes > (uint64_t)m->launch->shared_bytes)
        return ptx_stop(m, t, "an access outside shared memory");
    return address % (uint64_t)alignment == 0 || ptx_stop(m, t, "an access to shared memory is not aligned");
}

const unsigned char *ptx_shared_read(struct machine *m, const struct thread *t, uint64_t address, int bytes)
{
    struct actor actor = ptx_actor(m, t);
    int block;
    uint64_t offset;
    if (!ptx_shared_place(m, t, address, bytes, bytes, &block, &offset) ||
        !ptx_note_read(m, t, block, offset, bytes, &actor))
        return NULL;
    return m->blocks[block].shared + offset;
}

/* Threads that hold copies may write the same over each other. */
bool ptx_shared_write(struct machine *m, const struct thread *t, uint64_t address, int bytes, const unsigned char *data)
{
    struct actor actor = ptx_actor(m, t);
    int block;
    uint64_t offset;
    if (!ptx_shared_place(m, t, address, bytes, bytes, &block, &offset))
        return false;
    for (int i = 0; i < bytes; i++, offset++) {
        struct shadow *shadow = &m->blocks[block].shadows[offset];
        if (shadow->writer >= 0 && shadow->writer < m->all_threads && shadow->acts == -1 &&
            m->blocks[block].shared[offset] == data[i] && shadow->time > 0 &&
            !ptx_is_done(m, &actor, shadow->writer, shadow->time))
            continue;
        if (!follows_writer(m, t, shadow, &actor, false) || !follows_readers(m, t, shadow, &actor))
            return false;
        shadow->writer = actor.agent;
        shadow->time = actor.time;
        m->blocks[block].shared[offset] = data[i];
    }
    return true;
}

/* Atomics of one kind may meet; what went before and comes behind may not. */
bool ptx_shared_act(struct machine *m, const struct thread *t, const struct ptx_instruction *in, uint64_t address,
                    uint64_t value)
{
    struct actor actor = ptx_actor(m, t);
    int block, bytes = in->type.bits / 8;
    uint64_t offset, old = 0, result;
    if (!ptx_shared_place(m, t, address, bytes, bytes, &block, &offset))
        return false;
    for (int i = 0; i < bytes; i++) {
        struct shadow *shadow = &m->blocks[block].shadows[offset + (uint64_t)i];
        if (!follows_writer(m, t, shadow, &actor, true) || !follows_all(m, t, shadow->readers, &actor))
            return false;
        ptx_add_reader(m, &shadow->acts, &actor);
    }
    memcpy(&old, m->blocks[block].shared + offset, (size_t)bytes);
    if (!ptx_combine(in, old, value, 0, &result))
        return ptx_stop(m, t, "an atomic that is not known");
    memcpy(m->blocks[block].shared + offset, &result, (size_t)bytes);
    return true;
}
