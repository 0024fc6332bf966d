/* Bulk copies by tensor maps, as TMA does them: a box of a view from or to shared memory, with its swizzle.  Loads land
 * at once or when nobody else can go on; stores reach global memory at once or at the end.  See ptx_run.h. */
#include <stdio.h>
#include <string.h>

#include "ptx_run.h"

struct box {
    const struct ptx_map *map;
    int64_t start[PTX_MAP_RANK];
    int row_bytes, rows, bytes;
};

/* The operand [map, {coordinates}]. */
static bool read_box(struct machine *m, struct thread *t, const struct ptx_operand *operand, int rank, struct box *box)
{
    uint64_t at = ptx_address_of(t, operand) - PTX_MAPS;
    if (at % 128 || at / 128 >= (uint64_t)m->launch->map_count)
        return ptx_stop(m, t, "there is no tensor map");
    const struct ptx_map *map = &m->launch->maps[at / 128];
    *box = (struct box){.map = map, .row_bytes = map->box[0] * map->bytes, .rows = 1};
    if (rank != map->rank || operand->count != rank)
        return ptx_stop(m, t, "a tensor map of another rank");
    for (int d = 0; d < rank; d++)
        box->start[d] = (int32_t)ptx_operand_value(m, t, &operand->list[d]);
    if (box->start[0] * map->bytes % 16)
        return ptx_stop(m, t, "a box that begins at no multiple of 16 bytes");
    for (int d = 1; d < rank; d++)
        box->rows *= map->box[d];
    box->bytes = box->rows * box->row_bytes;
    if (map->swizzle ? box->row_bytes != map->swizzle : box->row_bytes % 16 || map->box[0] > 256)
        return ptx_stop(m, t, "a box whose rows do not fit its swizzle");
    return true;
}

/* Where byte `i` of the box lies in shared memory, from its start at `offset` on. */
static uint64_t swizzled(const struct box *box, uint64_t offset, int i)
{
    uint64_t place = offset + (uint64_t)i, bits = box->map->swizzle == 128  ? 0x70
                                                  : box->map->swizzle == 64 ? 0x30
                                                  : box->map->swizzle == 32 ? 0x10
                                                                            : 0;
    return place ^ (place >> 3 & bits);
}

/* The part of a row of the box that is inside the view: elements [first, last), the address of the first. */
static bool row_inside(const struct box *box, int row, int64_t *first, int64_t *last, uint64_t *address)
{
    const struct ptx_map *map = box->map;
    *address = map->address;
    for (int d = 1; d < map->rank; d++) {
        int64_t at = box->start[d] + row % map->box[d];
        row /= map->box[d];
        if (at < 0 || at >= map->extent[d])
            return false;
        *address += (uint64_t)at * (uint64_t)map->stride[d]; /* wraps, as the hardware does */
    }
    *first = box->start[0] < 0 ? -box->start[0] : 0;
    *last = int64_min(map->box[0], map->extent[0] - box->start[0]);
    *address += (uint64_t)((box->start[0] + *first) * map->bytes);
    return *first < *last;
}

static int bulk_agent(struct machine *m, struct thread *t)
{
    struct block *own = &m->blocks[t->block];
    if (!t->bulk && own->bulk_count < MOST_BULK)
        t->bulk = m->all_threads + m->cluster * m->most_mbarriers + t->block * MOST_BULK + own->bulk_count++;
    return t->bulk;
}

/* ---- loads ---- */

static void land(struct machine *m, const struct landing *landing)
{
    const struct mbarrier *barrier = &m->blocks[landing->block].mbarriers[landing->mbarrier];
    memcpy(m->blocks[landing->block].shared + landing->to, landing->data, (size_t)landing->bytes);
    ptx_land(m, landing->block, landing->to, landing->bytes, ptx_mbarrier_agent(m, landing->block, landing->mbarrier),
             barrier->phase + 1);
    ptx_mbarrier_complete(m, landing->block, landing->mbarrier, landing->bytes);
}

bool ptx_bulk_lands(struct machine *m)
{
    if (!m->landings.count)
        return false;
    int which = (int)ptx_random(m, (uint32_t)m->landings.count);
    struct landing landing = m->landings.data[which];
    m->landings.data[which] = m->landings.data[--m->landings.count];
    land(m, &landing);
    return true;
}

/* To nearest even, as the tensor map's type asks for. */
static void round_words(unsigned char *data, int bytes)
{
    for (int i = 0; i < bytes; i += 4) {
        uint32_t word;
        memcpy(&word, data + i, sizeof word);
        if ((word & 0x7f800000) != 0x7f800000)
            word = (word + 0xfff + (word >> 13 & 1)) & ~UINT32_C(0x1fff);
        memcpy(data + i, &word, sizeof word);
    }
}

static bool take_rows(struct machine *m, struct thread *t, const struct box *box, uint64_t offset,
                      const struct actor *actor, unsigned char *data)
{
    for (int row = 0; row < box->rows; row++) {
        int64_t first, last;
        uint64_t address;
        if (!row_inside(box, row, &first, &last, &address))
            continue;
        int bytes = (int)(last - first) * box->map->bytes;
        const unsigned char *from = ptx_global_read(m, t, address, bytes, PTX_BULK, actor);
        if (!from)
            return false;
        for (int i = 0; i < bytes; i++)
            data[swizzled(box, offset, row * box->row_bytes + (int)first * box->map->bytes + i) - offset] = from[i];
    }
    return true;
}

/* [to], [map, {…}], [mbarrier] with multicast: , blocks.  What is outside the view becomes 0. */
static bool load(struct machine *m, struct thread *t, const struct ptx_instruction *in, int rank, bool multicast)
{
    struct box box;
    uint64_t to = ptx_address_of(t, &in->operands[0]), at = ptx_address_of(t, &in->operands[2]);
    uint64_t blocks = UINT64_C(1) << t->block;
    if (multicast)
        blocks = ptx_operand_value(m, t, &in->operands[3]) & 0xffff;
    if (!read_box(m, t, &in->operands[1], rank, &box))
        return false;
    if (to >= PTX_WINDOW || at >= PTX_WINDOW || !blocks || blocks >> m->cluster)
        return ptx_stop(m, t, "a bulk copy to blocks that are not there");
    for (int block = 0; block < m->cluster; block++) {
        uint64_t base = (uint64_t)(block + 1) * PTX_WINDOW, offset;
        int where;
        if (!(blocks >> block & 1))
            continue;
        const struct mbarrier *barrier = ptx_mbarrier_at(m, t, base + at);
        if (!barrier || !ptx_shared_place(m, t, base + to, box.bytes, 128, &where, &offset))
            return false;
        if (!barrier->shown)
            return ptx_stop(m, t, "an mbarrier that was not shown to copies");
        const uint32_t *knows = ptx_knows(m, t);
        int number = (int)(barrier - m->blocks[block].mbarriers), agent = ptx_mbarrier_agent(m, block, number);
        struct actor actor = {agent, barrier->phase + 1, knows, knows + m->agents};
        struct landing landing = {block, number, offset, box.bytes, ARENA_ARRAY(m->arena, unsigned char, box.bytes)};
        if (!ptx_take_off(m, t, block, offset, box.bytes, &actor) ||
            !take_rows(m, t, &box, offset, &actor, landing.data))
            return false;
        if (box.map->rounds)
            round_words(landing.data, box.bytes);
        uint64_t when = m->launch->seed % 3;
        if (when == 0 || (when == 2 && ptx_random(m, 2)))
            land(m, &landing);
        else
            vector_push(m->arena, &m->landings, landing);
    }
    return true;
}

/* ---- stores ---- */

/* Adds f32 to what is there; the order of such additions is nobody's. */
static bool add_row(struct machine *m, struct thread *t, uint64_t address, int bytes, const unsigned char *data)
{
    for (int i = 0; i < bytes; i += 4) {
        uint64_t word = 0;
        uint32_t bits;
        float old, more;
        if (!ptx_word_read(m, t, address + (uint64_t)i, 4, &word))
            return false;
        bits = (uint32_t)word;
        memcpy(&old, &bits, 4);
        memcpy(&more, data + i, 4);
        old += more;
        memcpy(&bits, &old, 4);
        if (!ptx_word_touch(m, t, address + (uint64_t)i, 4, PTX_ACTS, "adds f32") ||
            !ptx_word_write(m, t, address + (uint64_t)i, 4, bits))
            return false;
    }
    return true;
}

/* [map, {…}], [from] */
static bool store(struct machine *m, struct thread *t, const struct ptx_instruction *in, int rank, bool adds)
{
    struct box box;
    int block;
    uint64_t offset;
    const uint32_t *knows = ptx_knows(m, t);
    struct actor actor = {bulk_agent(m, t), t->bulk_groups + 1, knows, knows + m->agents};
    if (!actor.agent)
        return ptx_stop(m, t, "too many threads store in bulk");
    unsigned char data[256];
    t->bulk_begun = actor.time;
    if (!read_box(m, t, &in->operands[0], rank, &box) ||
        !ptx_shared_place(m, t, ptx_address_of(t, &in->operands[1]), box.bytes, 128, &block, &offset) ||
        !ptx_note_read(m, t, block, offset, box.bytes, &actor))
        return false;
    for (int row = 0; row < box.rows; row++) {
        int64_t first, last;
        uint64_t address;
        if (!row_inside(&box, row, &first, &last, &address))
            continue;
        int bytes = (int)(last - first) * box.map->bytes;
        for (int i = 0; i < bytes; i++)
            data[i] =
                m->blocks[block].shared[swizzled(&box, offset, row * box.row_bytes + (int)first * box.map->bytes + i)];
        if (adds ? !add_row(m, t, address, bytes, data)
                 : !ptx_global_write(m, t, address, bytes, data, PTX_BULK, &actor))
            return false;
    }
    return true;
}

void ptx_bulk_end(struct machine *m)
{
    for (int i = 0; i < m->launch->memory_count; i++)
        for (size_t k = 0; m->written[i] && k < m->launch->memories[i].size; k++)
            if (m->written[i][k] == PTX_BULK)
                m->launch->memories[i].data[k] = m->coming[i][k];
}

bool ptx_bulk(struct machine *m, struct thread *t, const struct ptx_instruction *in)
{
    int rank = 0, end = 0;
    if (strcmp(in->name, "cp.async.bulk.commit_group") == 0) {
        t->bulk_groups++;
        return true;
    }
    if (strcmp(in->name, "cp.async.bulk.wait_group.read") == 0) {
        uint64_t pending = ptx_operand_value(m, t, &in->operands[0]);
        uint32_t *knows = ptx_knows(m, t);
        if (t->bulk && t->bulk_groups > pending && knows[t->bulk] < t->bulk_groups - (uint32_t)pending)
            knows[t->bulk] = t->bulk_groups - (uint32_t)pending;
        return true;
    }
    if (sscanf(in->name, "cp.async.bulk.tensor.%dd%n", &rank, &end) == 1 && end) {
        const char *rest = in->name + end;
        const char *load_words = ".shared::cluster.global.tile.mbarrier::complete_tx::bytes";
        if (strcmp(rest, ".global.shared::cta.tile.bulk_group") == 0 && in->operand_count == 2)
            return store(m, t, in, rank, false);
        if (strcmp(rest, load_words) == 0 && in->operand_count == 3)
            return load(m, t, in, rank, false);
        if (strncmp(rest, load_words, strlen(load_words)) == 0 && in->operand_count == 4 &&
            strcmp(rest + strlen(load_words), ".multicast::cluster") == 0)
            return load(m, t, in, rank, true);
    }
    if (sscanf(in->name, "cp.reduce.async.bulk.tensor.%dd%n", &rank, &end) == 1 && end && in->operand_count == 2 &&
        strcmp(in->name + end, ".global.shared::cta.add.tile.bulk_group") == 0)
        return store(m, t, in, rank, true);
    return ptx_stop(m, t, "a bulk copy that is not known");
}
