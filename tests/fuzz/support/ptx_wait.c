/* Where threads wait for each other, for copies and for registers: barriers, mbarriers, clusters, setmaxnreg.  See
 * ptx_run.h. */
#include <string.h>

#include "ptx_run.h"

/* ---- mbarriers: a phase ends when all have arrived and all bytes are there ---- */

enum { MBARRIER_BYTES = 8, MOST_BYTES = (1 << 20) - 1 };

int ptx_mbarrier_agent(const struct machine *m, int block, int mbarrier)
{
    return m->all_threads + block * m->most_mbarriers + mbarrier;
}

static bool is_there(const struct machine *m, int block)
{
    for (int i = 0; i < m->threads; i++)
        if (m->all[block * m->threads + i].state != DONE)
            return true;
    return false;
}

/* Of any block; NULL: there is none, or the thread cannot know of it. */
struct mbarrier *ptx_mbarrier_at(struct machine *m, const struct thread *t, uint64_t address)
{
    int block;
    uint64_t offset;
    if (!ptx_shared_place(m, t, address, MBARRIER_BYTES, MBARRIER_BYTES, &block, &offset))
        return NULL;
    for (int i = 0; i < m->blocks[block].mbarrier_count; i++) {
        struct mbarrier *barrier = &m->blocks[block].mbarriers[i];
        if (barrier->place != offset)
            continue;
        bool met = barrier->shown && t->meetings > barrier->shown_in;
        bool knows = barrier->maker == t->number || met || ptx_knows(m, t)[barrier->maker] >= barrier->made;
        if (knows && (block == t->block || is_there(m, block)))
            return barrier;
        ptx_stop(m, t, knows ? "a block that has ended" : "an mbarrier without a barrier behind its making");
        return NULL;
    }
    ptx_stop(m, t, "there is no mbarrier");
    return NULL;
}

static void locate(const struct machine *m, const struct mbarrier *barrier, int *block, int *number)
{
    *block = 0;
    while (barrier < m->blocks[*block].mbarriers || barrier >= m->blocks[*block].mbarriers + m->most_mbarriers)
        ++*block;
    *number = (int)(barrier - m->blocks[*block].mbarriers);
}

static void settle(struct machine *m, struct mbarrier *barrier)
{
    int block, number;
    if (barrier->pending || barrier->bytes)
        return;
    locate(m, barrier, &block, &number);
    barrier->pending = barrier->count;
    barrier->phase++;
    ptx_join(m, barrier->done, barrier->collects);
    barrier->done[ptx_mbarrier_agent(m, block, number)] = barrier->phase;
}

void ptx_mbarrier_complete(struct machine *m, int block, int mbarrier, int64_t bytes)
{
    struct mbarrier *barrier = &m->blocks[block].mbarriers[mbarrier];
    barrier->bytes -= bytes;
    settle(m, barrier);
}

static bool make(struct machine *m, struct thread *t, const struct ptx_instruction *in)
{
    struct block *own = &m->blocks[t->block];
    uint64_t offset, count = ptx_operand_value(m, t, &in->operands[1]);
    int block;
    if (!ptx_shared_place(m, t, ptx_address_of(t, &in->operands[0]), MBARRIER_BYTES, MBARRIER_BYTES, &block, &offset))
        return false;
    if (block != t->block || own->mbarrier_count == m->most_mbarriers || count == 0 || count > MOST_BYTES)
        return ptx_stop(m, t, "an mbarrier that cannot be made");
    struct mbarrier *made = &own->mbarriers[own->mbarrier_count++];
    uint32_t *collects = made->collects, *done = made->done;
    size_t size = 2 * (size_t)m->agents;
    struct actor actor = ptx_actor(m, t);
    *made = (struct mbarrier){
        .place = offset, .count = (int)count, .pending = (int)count, .maker = t->number, .made = actor.time};
    made->collects = collects ? collects : ARENA_ARRAY(m->arena, uint32_t, size);
    made->done = done ? done : ARENA_ARRAY(m->arena, uint32_t, size);
    memset(made->collects, 0, size * sizeof *collects);
    memset(made->done, 0, size * sizeof *done);
    if (!ptx_take_off(m, t, block, offset, MBARRIER_BYTES, &actor))
        return false;
    ptx_land(m, block, offset, MBARRIER_BYTES, IS_MBARRIER, 0);
    return true;
}

static bool arrive(struct machine *m, struct thread *t, const struct ptx_instruction *in, bool far, int64_t bytes)
{
    uint64_t address = ptx_address_of(t, &in->operands[1]);
    struct mbarrier *barrier = ptx_mbarrier_at(m, t, address);
    int block, number;
    if (!barrier)
        return false;
    locate(m, barrier, &block, &number);
    if (!far && block != t->block)
        return ptx_stop(m, t, "an arrival at another block's mbarrier");
    if (block != t->block && !barrier->shown)
        return ptx_stop(m, t, "an mbarrier that was not shown to the cluster");
    if (!barrier->pending)
        return ptx_stop(m, t, "more arrivals than the mbarrier counts");
    if (bytes < 0 || barrier->bytes + bytes > MOST_BYTES)
        return ptx_stop(m, t, "more bytes than an mbarrier counts");
    ptx_release(m, t, barrier->collects);
    barrier->bytes += bytes;
    barrier->pending--;
    settle(m, barrier);
    return true;
}

bool ptx_mbarrier(struct machine *m, struct thread *t, const struct ptx_instruction *in)
{
    if (strcmp(in->name, "mbarrier.init.shared::cta.b64") == 0)
        return make(m, t, in);
    if (strcmp(in->name, "mbarrier.arrive.release.cta.shared::cta.b64") == 0 && in->operand_count == 2)
        return arrive(m, t, in, false, 0);
    if (strcmp(in->name, "mbarrier.arrive.release.cta.shared::cluster.b64") == 0 && in->operand_count == 2)
        return arrive(m, t, in, true, 0);
    if (strcmp(in->name, "mbarrier.arrive.expect_tx.shared::cta.b64") == 0 && in->operand_count == 3)
        return arrive(m, t, in, false, (int64_t)ptx_operand_value(m, t, &in->operands[2]));
    if (strcmp(in->name, "mbarrier.try_wait.parity.shared::cta.b64") != 0)
        return ptx_stop(m, t, "an operation on mbarriers that is not known");
    t->waits = ptx_mbarrier_at(m, t, ptx_address_of(t, &in->operands[1]));
    t->parity = (uint32_t)ptx_operand_value(m, t, &in->operands[2]);
    if (t->waits && t->parity > 1)
        return ptx_stop(m, t, "a parity that is neither 0 nor 1");
    t->state = AT_PHASE;
    return t->waits != NULL;
}

bool ptx_fence(struct machine *m, struct thread *t, const struct ptx_instruction *in)
{
    struct block *own = &m->blocks[t->block];
    if (strcmp(in->name, "fence.mbarrier_init.release.cluster") == 0) {
        for (int i = 0; i < own->mbarrier_count; i++)
            if (own->mbarriers[i].maker == t->number && !own->mbarriers[i].shown) {
                own->mbarriers[i].shown = true;
                own->mbarriers[i].shown_in = m->cluster_meetings;
            }
        return true;
    }
    if (strcmp(in->name, "fence.proxy.async.shared::cta") == 0) {
        ptx_fence_proxy(m, t);
        return true;
    }
    return (in->word_count == 2 && (strcmp(in->words[0], "acq_rel") == 0 || strcmp(in->words[0], "sc") == 0)) ||
           in->opcode == PTX_membar || ptx_stop(m, t, "a fence that is not known");
}

/* ---- barriers of a block ---- */

bool ptx_block_barrier(struct machine *m, struct thread *threads, const struct ptx_instruction *in)
{
    uint64_t number = ptx_operand_value(m, threads, &in->operands[0]), count = (uint64_t)m->threads;
    bool counted = in->operand_count > 1, sync = strcmp(in->name, "bar.sync") == 0;
    if (counted)
        count = ptx_operand_value(m, threads, &in->operands[1]);
    for (int lane = 1; lane < 32; lane++)
        if (ptx_operand_value(m, &threads[lane], &in->operands[0]) != number)
            return ptx_stop(m, threads, "a warp at several barriers");
    if ((!sync && (strcmp(in->name, "bar.arrive") != 0 || !counted)) || number >= NAMED_BARRIERS || count % 32 ||
        count > (uint64_t)m->threads)
        return ptx_stop(m, threads, "a barrier that is not known");
    struct named_barrier *barrier = &m->blocks[threads->block].barriers[number];
    if (barrier->arrived && barrier->threads != (int)count)
        return ptx_stop(m, threads, "a barrier with two counts");
    barrier->threads = (int)count;
    barrier->arrived += 32;
    for (int lane = 0; lane < 32; lane++) {
        ptx_release(m, &threads[lane], barrier->clock);
        if (sync) {
            threads[lane].state = AT_BARRIER;
            threads[lane].barrier = (int)number;
        }
    }
    if (barrier->arrived < barrier->threads)
        return true;
    struct thread *first = &m->all[threads->block * m->threads];
    for (int i = 0; i < m->threads; i++)
        if (first[i].state == AT_BARRIER && first[i].barrier == (int)number) {
            ptx_join(m, ptx_knows(m, &first[i]), barrier->clock);
            first[i].state = RUNS;
        }
    barrier->arrived = 0;
    memset(barrier->clock, 0, 2 * (size_t)m->agents * sizeof *barrier->clock);
    return true;
}

/* ---- clusters ---- */

/* Relaxed it hands on no data: only mbarriers that were shown before. */
bool ptx_cluster_barrier(struct machine *m, struct thread *threads, const struct ptx_instruction *in)
{
    bool releases = strcmp(in->name, "barrier.cluster.arrive.release") == 0;
    if (releases || strcmp(in->name, "barrier.cluster.arrive.relaxed") == 0) {
        for (int lane = 0; lane < 32 && releases; lane++)
            ptx_release(m, &threads[lane], m->cluster_collects);
        m->cluster_arrived += 32;
        return true;
    }
    if (strcmp(in->name, "barrier.cluster.wait") != 0 && strcmp(in->name, "barrier.cluster.wait.acquire") != 0)
        return ptx_stop(m, threads, "a barrier of clusters that is not known");
    for (int lane = 0; lane < 32; lane++)
        threads[lane].state = AT_CLUSTER;
    return true;
}

static void settle_cluster(struct machine *m)
{
    int done = 0;
    for (int i = 0; i < m->all_threads; i++)
        done += m->all[i].state == DONE;
    if (m->cluster_arrived + done < m->all_threads)
        return;
    m->cluster_arrived = 0;
    m->cluster_meetings++;
    ptx_join(m, m->cluster_done, m->cluster_collects);
}

bool ptx_map_address(struct machine *m, struct thread *t, const struct ptx_instruction *in)
{
    uint64_t address = ptx_operand_value(m, t, &in->operands[1]), rank = ptx_operand_value(m, t, &in->operands[2]);
    if (strcmp(in->name, "mapa.shared::cluster.u32") != 0 || address >= PTX_WINDOW || rank >= (uint64_t)m->cluster)
        return ptx_stop(m, t, "an address of another block that is not known");
    ptx_set(m, t, &in->operands[0], (rank + 1) * PTX_WINDOW + address, 32);
    return true;
}

/* ---- whoever waits alone ---- */

bool ptx_wake(struct machine *m, struct thread *t)
{
    if (t->state == AT_CLUSTER) {
        if (m->cluster_arrived)
            settle_cluster(m);
        if (m->cluster_meetings == t->meetings)
            return false;
        t->meetings = m->cluster_meetings;
        ptx_join(m, ptx_knows(m, t), m->cluster_done);
    } else {
        if (t->state != AT_PHASE || (t->waits->phase & 1) == t->parity)
            return false;
        ptx_join(m, ptx_knows(m, t), t->waits->done);
        ptx_set(m, t, &t->function->code.data[t->at].operands[0], 1, 1);
        t->at++;
    }
    t->state = RUNS;
    return true;
}

/* ---- setmaxnreg: registers that a warp gives back are for those of its block that want more ---- */

bool ptx_set_registers(struct machine *m, struct thread *threads, const struct ptx_instruction *in, bool *waits)
{
    struct warp *warp = &m->warps[threads->number / 32];
    int *left = &m->blocks[threads->block].registers, wanted = (int)in->operands[0].number;
    bool more = strcmp(in->name, "setmaxnreg.inc.sync.aligned.u32") == 0;
    if ((!more && strcmp(in->name, "setmaxnreg.dec.sync.aligned.u32") != 0) || wanted < 24 || wanted > 256 ||
        wanted % 8 || (more ? wanted < warp->registers : wanted > warp->registers))
        return ptx_stop(m, threads, "a number of registers that cannot be set");
    *waits = wanted - warp->registers > *left;
    if (!*waits) {
        *left -= wanted - warp->registers;
        warp->registers = wanted;
    }
    return true;
}
