/* Global memory: whose it is, and who touched each byte in this block without a barrier behind it.  See ptx_run.h.
 *
 * A language of tiles gives a program's accesses the meaning of one after the other, so that within a block two threads
 * that touch one byte, at least one of them to change it, need a barrier between.  Atomics do not order each other: the
 * result of one, and what two of different kinds leave, depends on which was first.  Only those of one kind whose
 * results nobody looks at may run in any order.  What blocks do to each other is the author's affair. */
#include <string.h>

#include "ptx_run.h"

enum { PAGE = 64 };
/* Acts: readers that change the byte in one and the same way; `kind` says which. */
struct touched {
    struct shadow plain;
    int acts;
    const char *kind;
};
struct ptx_page {
    uint64_t address;
    struct ptx_page *next;
    struct touched bytes[PAGE];
};

void ptx_global_open(struct machine *m)
{
    for (int i = 0; i < PTX_PAGE_LISTS; i++)
        while (m->pages[i]) {
            struct ptx_page *page = m->pages[i];
            m->pages[i] = page->next;
            page->next = m->free_pages;
            m->free_pages = page;
        }
}

static struct touched *touched_at(struct machine *m, uint64_t address)
{
    uint64_t start = address / PAGE * PAGE;
    struct ptx_page **list = &m->pages[start / PAGE % PTX_PAGE_LISTS], *page = *list;
    while (page && page->address != start)
        page = page->next;
    if (page)
        return &page->bytes[address - start];
    page = m->free_pages;
    if (page)
        m->free_pages = page->next;
    else
        page = ARENA_NEW(m->arena, struct ptx_page);
    page->address = start;
    page->next = *list;
    *list = page;
    for (int i = 0; i < PAGE; i++)
        page->bytes[i] = (struct touched){{NOBODY, 0, -1, -1}, -1, NULL};
    return &page->bytes[address - start];
}

/* The block of a cluster whose agent it is; products touch no global memory. */
static int block_of(const struct machine *m, int agent)
{
    int bulk = m->all_threads + m->cluster * m->most_mbarriers;
    return agent < m->all_threads ? agent / m->threads
           : agent < bulk         ? (agent - m->all_threads) / m->most_mbarriers
                                  : (agent - bulk) / MOST_BULK;
}

static bool follows_write(struct machine *m, const struct thread *t, const struct touched *byte,
                          const struct actor *actor, bool reads)
{
    const struct shadow *last = &byte->plain;
    return last->writer == NOBODY || ptx_is_done(m, actor, last->writer, last->time) ||
           block_of(m, last->writer) != block_of(m, actor->agent) ||
           ptx_stop(m, t,
                    reads ? "reads global memory without a barrier behind the write"
                          : "writes global memory that another wrote, without a barrier between");
}

static bool follows_touch(struct machine *m, const struct thread *t, int readers, const struct actor *actor)
{
    const char *what = "touches global memory that another touched, without a barrier between";
    if (readers < -1) {
        const uint32_t *times = m->tables.data[-2 - readers];
        for (int i = 0; i < m->agents; i++)
            if (times[i] && !ptx_is_done(m, actor, i, times[i]) && block_of(m, i) == block_of(m, actor->agent))
                return ptx_stop(m, t, what);
        return true;
    }
    for (int i = readers; i >= 0; i = m->readers.data[i].next) {
        const struct reader *reader = &m->readers.data[i];
        if (!ptx_is_done(m, actor, reader->agent, reader->time) &&
            block_of(m, reader->agent) == block_of(m, actor->agent))
            return ptx_stop(m, t, what);
    }
    return true;
}

static bool note_read(struct machine *m, const struct thread *t, struct touched *byte, const struct actor *actor)
{
    if (!follows_write(m, t, byte, actor, true) || !follows_touch(m, t, byte->acts, actor))
        return false;
    ptx_add_reader(m, &byte->plain.readers, actor);
    return true;
}

static bool note_write(struct machine *m, const struct thread *t, struct touched *byte, const struct actor *actor)
{
    if (!follows_write(m, t, byte, actor, false) || !follows_touch(m, t, byte->acts, actor) ||
        !follows_touch(m, t, byte->plain.readers, actor))
        return false;
    ptx_free_readers(m, &byte->acts);
    ptx_free_readers(m, &byte->plain.readers);
    byte->plain.writer = actor->agent;
    byte->plain.time = actor->time;
    return true;
}

/* Those of another kind are forgotten: whoever knows this one knows them, too. */
static bool note_act(struct machine *m, const struct thread *t, struct touched *byte, const struct actor *actor,
                     const char *kind)
{
    bool other = byte->kind && strcmp(byte->kind, kind) != 0;
    if (!follows_write(m, t, byte, actor, false) || !follows_touch(m, t, byte->plain.readers, actor) ||
        (other && !follows_touch(m, t, byte->acts, actor)))
        return false;
    if (other)
        ptx_free_readers(m, &byte->acts);
    byte->kind = kind;
    ptx_add_reader(m, &byte->acts, actor);
    return true;
}

/* ---- ordinary and bulk accesses ---- */

/* The memory that owns the place, or -1. */
static int owner(struct machine *m, const struct thread *t, uint64_t address, int bytes, bool writes, int how)
{
    for (int i = 0; i < m->launch->memory_count; i++) {
        const struct ptx_memory *memory = &m->launch->memories[i];
        uint64_t start = (uint64_t)(uintptr_t)memory->data;
        if (address < start || address - start > memory->size || memory->size - (address - start) < (uint64_t)bytes)
            continue;
        if (writes && memory->read_only)
            ptx_stop(m, t, "writes what is only read");
        else if (how == PTX_ORDINARY && address % (uint64_t)bytes)
            ptx_stop(m, t, "an access is not aligned");
        else
            return i;
        return -1;
    }
    ptx_stop(m, t, writes ? "writes memory that no argument owns" : "reads memory that no argument owns");
    return -1;
}

/* Bulk copies and ordinary accesses do not see each other's writes without fences that are not here: what one wrote,
 * the other must not touch. */
static bool follows(struct machine *m, const struct thread *t, int before, int how)
{
    if (before == PTX_BULK)
        return ptx_stop(m, t, "touches global memory that a bulk store on its way writes");
    return before != PTX_ORDINARY || how == PTX_ORDINARY ||
           ptx_stop(m, t, "a bulk copy touches global memory that ordinary stores wrote");
}

const unsigned char *ptx_global_read(struct machine *m, const struct thread *t, uint64_t address, int bytes, int how,
                                     const struct actor *actor)
{
    int number = owner(m, t, address, bytes, false, how);
    if (number < 0)
        return NULL;
    const unsigned char *data = m->launch->memories[number].data;
    size_t start = (size_t)(address - (uint64_t)(uintptr_t)data);
    for (int i = 0; i < bytes && m->written[number]; i++)
        if (!follows(m, t, m->written[number][start + (size_t)i], how))
            return NULL;
    for (int i = 0; i < bytes && !m->launch->memories[number].read_only; i++)
        if (!note_read(m, t, touched_at(m, address + (uint64_t)i), actor))
            return NULL;
    return data + start;
}

bool ptx_global_is_constant(struct machine *m, const struct thread *t, uint64_t address, int bytes)
{
    for (int i = 0; i < bytes; i++) {
        const struct touched *byte = touched_at(m, address + (uint64_t)i);
        if (byte->plain.writer != NOBODY || byte->acts != -1)
            return ptx_stop(m, t, "reads by .nc what this block wrote");
    }
    return true;
}

/* Bulk stores may bring the same twice, and are there at once or at the end; threads that hold copies may write the
 * same over each other. */
bool ptx_global_write(struct machine *m, const struct thread *t, uint64_t address, int bytes, const unsigned char *data,
                      int how, const struct actor *actor)
{
    int number = owner(m, t, address, bytes, true, how);
    if (number < 0)
        return false;
    unsigned char *memory = m->launch->memories[number].data, *written = m->written[number];
    size_t start = (size_t)(address - (uint64_t)(uintptr_t)memory);
    for (size_t i = start; i < start + (size_t)bytes; i++) {
        struct touched *byte = touched_at(m, (uint64_t)(uintptr_t)memory + i);
        bool again = written && how == PTX_BULK && written[i] == PTX_BULK && m->coming[number][i] == data[i - start];
        if (written && !again && !follows(m, t, written[i], how))
            return false;
        bool copy = how == PTX_ORDINARY && byte->plain.writer != NOBODY && memory[i] == data[i - start] &&
                    !ptx_is_done(m, actor, byte->plain.writer, byte->plain.time);
        if (!again && !copy && !note_write(m, t, byte, actor))
            return false;
        if (written) {
            written[i] = (unsigned char)how;
            m->coming[number][i] = data[i - start];
        }
    }
    if (!written || how == PTX_ORDINARY || !(m->launch->seed & 8))
        memcpy(memory + start, data, (size_t)bytes);
    return true;
}

/* ---- atomics ---- */

/* A byte's atomic works on the aligned word around it, which may reach beyond the end: bytes there are nobody's. */
static unsigned char *byte_at(const struct machine *m, uint64_t address, const struct ptx_memory **memory)
{
    for (int k = 0; k < m->launch->memory_count; k++) {
        *memory = &m->launch->memories[k];
        uint64_t offset = address - (uint64_t)(uintptr_t)(*memory)->data;
        if (offset < (*memory)->size)
            return (*memory)->data + offset;
    }
    return NULL;
}

bool ptx_word_read(struct machine *m, const struct thread *t, uint64_t address, int bytes, uint64_t *word)
{
    bool any = false;
    for (int i = 0; i < bytes; i++) {
        const struct ptx_memory *memory;
        const unsigned char *byte = byte_at(m, address + (uint64_t)i, &memory);
        any |= byte != NULL;
        *word |= byte ? (uint64_t)*byte << 8 * i : 0;
    }
    return (any && address % (uint64_t)bytes == 0) || ptx_stop(m, t, "an atomic on memory that no argument owns");
}

bool ptx_word_touch(struct machine *m, const struct thread *t, uint64_t address, int bytes, enum ptx_touch touch,
                    const char *kind)
{
    struct actor actor = ptx_actor(m, t);
    for (int i = 0; i < bytes; i++) {
        const struct ptx_memory *memory;
        if (!byte_at(m, address + (uint64_t)i, &memory) || memory->read_only)
            continue;
        struct touched *byte = touched_at(m, address + (uint64_t)i);
        bool good = touch == PTX_READS                      ? note_read(m, t, byte, &actor)
                    : touch == PTX_ACTS || memory->commutes ? note_act(m, t, byte, &actor, memory->commutes ? "" : kind)
                                                            : note_write(m, t, byte, &actor);
        if (!good)
            return false;
    }
    return true;
}

bool ptx_word_write(struct machine *m, const struct thread *t, uint64_t address, int bytes, uint64_t word)
{
    for (int i = 0; i < bytes; i++) {
        const struct ptx_memory *memory;
        unsigned char *byte = byte_at(m, address + (uint64_t)i, &memory), now = (unsigned char)(word >> 8 * i);
        if (!byte || *byte == now)
            continue;
        if (memory->read_only)
            return ptx_stop(m, t, "writes what is only read");
        *byte = now;
    }
    return true;
}

/* ---- atomics whose results something reads ---- */

static bool names(const struct ptx_operand *operand, int reg)
{
    if (operand->reg == reg && (operand->place == PTX_REGISTER || operand->place == PTX_ADDRESS))
        return true;
    for (int i = 0; i < operand->count; i++)
        if (names(&operand->list[i], reg))
            return true;
    return false;
}

/* The first operand is the result, unless an address stands there or nothing comes out. */
static bool has_result(const struct ptx_instruction *in)
{
    return in->operands[0].place == PTX_REGISTER || (in->operands[0].place == PTX_LIST && in->opcode != PTX_st);
}

static bool reads(const struct ptx_instruction *in, int reg)
{
    for (int i = has_result(in); i < in->operand_count; i++)
        if (names(&in->operands[i], reg))
            return true;
    return in->guard == reg;
}

/* From instruction `at` on, before it is set anew. */
static bool is_read_behind(const struct ptx_function *function, int at, int reg, bool *been)
{
    for (; at < function->code.count && !been[at]; at++) {
        const struct ptx_instruction *in = &function->code.data[at];
        been[at] = true;
        if (reads(in, reg))
            return true;
        if (in->guard < 0 &&
            (in->opcode == PTX_exit || in->opcode == PTX_ret || (has_result(in) && names(&in->operands[0], reg))))
            return false;
        if (in->opcode == PTX_bra && is_read_behind(function, in->target, reg, been))
            return true;
        if (in->opcode == PTX_bra && in->guard < 0)
            return false;
    }
    return false;
}

void ptx_find_looked_at(struct machine *m)
{
    const struct ptx_function *kernel = &m->module->functions.data[m->kernel];
    bool *been = ARENA_ARRAY(m->arena, bool, kernel->code.count + 1);
    m->looked_at = ARENA_ARRAY(m->arena, bool, kernel->code.count + 1);
    for (int i = 0; i < kernel->code.count; i++) {
        if (kernel->code.data[i].opcode != PTX_atom)
            continue;
        memset(been, 0, (size_t)kernel->code.count);
        m->looked_at[i] = is_read_behind(kernel, i + 1, kernel->code.data[i].operands[0].reg, been);
    }
}
