/* Products of a warpgroup: 64 rows by up to 256 columns, factors in shared memory by descriptors, or the first in
 * registers.  Results stand in the registers at once, but nobody may touch them, or change a factor's registers, before
 * the wait.  See ptx_run.h. */
#include <stdio.h>
#include <string.h>

#include "ptx_run.h"

enum { GROUP_THREADS = 128, ROWS = 64, MOST_COLUMNS = 256, STEP_BYTES = 32 };

struct product {
    const struct ptx_instruction *in;
    struct thread *threads;
    int columns, steps; /* steps: elements of k */
    struct ptx_type a_type, b_type;
    bool integer, adds, a_by_columns, b_by_columns;
    uint32_t group;
};

static bool read_type(const char *word, struct ptx_type *type)
{
    static const struct {
        const char *word;
        struct ptx_type type;
    } known[] = {{"f16", {'f', 16}}, {"bf16", {'y', 16}}, {"tf32", {'t', 32}}, {"e4m3", {'q', 8}},
                 {"e5m2", {'r', 8}}, {"s8", {'s', 8}},    {"u8", {'u', 8}}};
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (strcmp(known[i].word, word) == 0) {
            *type = known[i].type;
            return true;
        }
    return false;
}

/* {results}, a or {a}, b, adds[, 1, 1][, transposes of a][, of b] */
static bool read_product(struct machine *m, struct thread *threads, const struct ptx_instruction *in, struct product *p)
{
    *p = (struct product){.in = in, .threads = threads};
    bool shape = in->word_count == 7 && sscanf(in->words[3], "m64n%dk%d", &p->columns, &p->steps) == 2 &&
                 read_type(in->words[5], &p->a_type) && read_type(in->words[6], &p->b_type);
    p->integer = shape && strcmp(in->words[4], "s32") == 0;
    bool in_registers = in->operands[1].place == PTX_LIST, halves = p->a_type.bits == 16;
    int next = 4, count = 4 + (p->integer ? 0 : 2) + (halves ? 2 - in_registers : 0);
    if (!shape || (!p->integer && strcmp(in->words[4], "f32") != 0) || p->columns % 8 || p->columns > MOST_COLUMNS ||
        p->columns < 8 || p->a_type.bits != p->b_type.bits || p->steps * p->a_type.bits != 8 * STEP_BYTES ||
        in->operands[0].count != p->columns / 2 || (in_registers && in->operands[1].count != 4) ||
        in->operand_count != count)
        return ptx_stop(m, threads, "a product that is not known");
    for (int i = 0; i < (p->integer ? 0 : 2); i++)
        if (ptx_operand_value(m, threads, &in->operands[next++]) != 1)
            return ptx_stop(m, threads, "a product that is not known");
    if (halves && !in_registers)
        p->a_by_columns = ptx_operand_value(m, threads, &in->operands[next++]) & 1;
    if (halves)
        p->b_by_columns = ptx_operand_value(m, threads, &in->operands[next++]) & 1;
    p->adds = ptx_operand_value(m, threads, &in->operands[3]) & 1;
    p->group = m->warps[threads->number / 32].groups + 1;
    for (int i = 1; i < GROUP_THREADS; i++) {
        bool same = (ptx_operand_value(m, &threads[i], &in->operands[3]) & 1) == p->adds &&
                    ptx_operand_value(m, &threads[i], &in->operands[2]) ==
                        ptx_operand_value(m, threads, &in->operands[2]) &&
                    (in_registers || ptx_operand_value(m, &threads[i], &in->operands[1]) ==
                                         ptx_operand_value(m, threads, &in->operands[1]));
        if (!same || m->warps[threads[i].number / 32].groups + 1 != p->group)
            return ptx_stop(m, &threads[i], "threads that ask for different products");
    }
    return true;
}

/* Results may be those of an earlier product that is still on its way; nothing else may. */
static bool take_registers(struct machine *m, const struct product *p)
{
    const struct ptx_operand *results = &p->in->operands[0], *factor = &p->in->operands[1];
    for (int i = 0; i < GROUP_THREADS; i++) {
        struct thread *t = &p->threads[i];
        uint32_t fences = m->warps[t->number / 32].fences;
        for (int k = 0; k < results->count + (factor->place == PTX_LIST ? 4 : 0); k++) {
            bool result = k < results->count;
            const struct ptx_operand *one = result ? &results->list[k] : &factor->list[k - results->count];
            if (one->place != PTX_REGISTER) {
                if (result)
                    return ptx_stop(m, t, "a product into what is no register");
                continue;
            }
            uint32_t *mark = &t->marks[one->reg], when = *mark >> MARK_BITS, kind = *mark % (1 << MARK_BITS);
            if (kind == MARK_WRITTEN && when == fences)
                return ptx_stop(m, t, "registers of a product were written behind the last wgmma.fence");
            if (kind != MARK_WRITTEN && when > t->products && (kind == MARK_RESULT) != result)
                return ptx_stop(m, t, "a register of a product on its way in another place");
            *mark = p->group << MARK_BITS | (result ? MARK_RESULT : MARK_FACTOR);
        }
        t->products_begun = p->group;
    }
    return true;
}

/* ---- factors ---- */

/* What all threads of the group know. */
static void know_least(struct machine *m, const struct thread *threads)
{
    memcpy(m->scratch, ptx_knows(m, threads), 2 * (size_t)m->agents * sizeof *m->scratch);
    for (int i = 1; i < GROUP_THREADS; i++) {
        const uint32_t *knows = ptx_knows(m, &threads[i]);
        for (int k = 0; k < 2 * m->agents; k++)
            m->scratch[k] = knows[k] < m->scratch[k] ? knows[k] : m->scratch[k];
    }
}

struct descriptor {
    uint64_t start, leading, stride;
    int swizzle;
};

/* Byte `along` of k of a row where rows run along k: eight rows of the swizzle's width, or of 16 bytes, together. */
static uint64_t place_along(const struct descriptor *d, int row, int along)
{
    if (!d->swizzle)
        return d->start + (uint64_t)(row / 8) * d->stride + (uint64_t)(along / 16) * d->leading +
               (uint64_t)(row % 8 * 16 + along % 16);
    return d->start + (uint64_t)(row / 8) * d->stride + (uint64_t)(row % 8 * d->swizzle + along);
}

/* Element (across, k) where rows run across: panels of the swizzle's width, in which eight k are together. */
static uint64_t place_across(const struct descriptor *d, int across, int k)
{
    return d->start + (uint64_t)(across / d->swizzle) * d->leading + (uint64_t)(k / 8) * d->stride +
           (uint64_t)(k % 8 * d->swizzle + across % d->swizzle);
}

static double element_of(struct ptx_type type, uint64_t bits)
{
    if (type.kind == 's')
        return (double)(int8_t)bits;
    return type.kind == 'u' ? (double)(bits & 0xff) : ptx_number(type, bits);
}

/* into[k * pitch + row] */
static bool read_shared(struct machine *m, const struct product *p, uint64_t bits, struct ptx_type type, int rows,
                        bool by_columns, int pitch, double *into)
{
    static const int swizzles[] = {0, 128, 64, 32};
    static const uint64_t masks[] = {0, 0x70, 0x30, 0x10};
    int mode = (int)(bits >> 62), bytes = type.bits / 8;
    struct descriptor d = {(bits & 0x3fff) << 4, (bits >> 16 & 0x3fff) << 4, (bits >> 32 & 0x3fff) << 4,
                           swizzles[mode]};
    struct actor actor = {m->products + p->threads->number / 32, p->group, m->scratch, m->scratch + m->agents};
    if ((bits >> 49 & 7) || (by_columns && !d.swizzle))
        return ptx_stop(m, p->threads, "a descriptor that is not known");
    for (int k = 0; k < p->steps; k++)
        for (int row = 0; row < rows; row++) {
            uint64_t place = by_columns ? place_across(&d, row * bytes, k) : place_along(&d, row, k * bytes), offset;
            uint64_t word = 0;
            int block;
            place ^= place >> 3 & masks[mode];
            if (!ptx_shared_place(m, p->threads, place, bytes, bytes, &block, &offset) ||
                !ptx_note_read(m, p->threads, block, offset, bytes, &actor))
                return false;
            memcpy(&word, m->blocks[block].shared + offset, (size_t)bytes);
            into[k * pitch + row] = element_of(type, word);
        }
    return true;
}

/* Word i of a lane: row lane / 4 + 8 * (i & 1), bytes of k from 4 * (lane % 4) + 16 * (i / 2) on. */
static void read_registers(const struct product *p, double *into)
{
    int bytes = p->a_type.bits / 8;
    for (int i = 0; i < GROUP_THREADS; i++)
        for (int w = 0; w < 4; w++) {
            const struct thread *t = &p->threads[i];
            int lane = i % 32, row = 16 * (i / 32) + lane / 4 + 8 * (w & 1), from = 4 * (lane % 4) + 16 * (w >> 1);
            const struct ptx_operand *one = &p->in->operands[1].list[w];
            uint64_t word = one->place == PTX_REGISTER ? t->registers[one->reg] : one->number;
            for (int b = 0; b < 4; b += bytes)
                into[(from + b) / bytes * ROWS + row] = element_of(p->a_type, word >> 8 * b);
        }
}

/* ---- the product ---- */

static uint64_t sum_up(const struct machine *m, const struct product *p, int row, int column, uint64_t old)
{
    double sum = !p->adds ? 0 : p->integer ? (double)(int32_t)old : ptx_number((struct ptx_type){'f', 32}, old);
    for (int k = 0; k < p->steps; k++)
        sum += m->a[k * ROWS + row] * m->b[k * MOST_COLUMNS + column];
    if (p->integer)
        return (uint32_t)(int64_t)sum;
    float single = (float)sum;
    uint32_t bits;
    memcpy(&bits, &single, sizeof bits);
    return bits;
}

static bool multiply(struct machine *m, struct thread *threads, const struct ptx_instruction *in)
{
    struct product p;
    if (!read_product(m, threads, in, &p) || !take_registers(m, &p))
        return false;
    know_least(m, threads);
    if (in->operands[1].place == PTX_LIST)
        read_registers(&p, m->a);
    else if (!read_shared(m, &p, ptx_operand_value(m, threads, &in->operands[1]), p.a_type, ROWS, p.a_by_columns, ROWS,
                          m->a))
        return false;
    if (!read_shared(m, &p, ptx_operand_value(m, threads, &in->operands[2]), p.b_type, p.columns, p.b_by_columns,
                     MOST_COLUMNS, m->b))
        return false;
    for (int i = 0; i < GROUP_THREADS; i++)
        for (int r = 0; r < in->operands[0].count; r++) {
            int lane = i % 32, row = 16 * (i / 32) + lane / 4 + 8 * (r >> 1 & 1);
            uint64_t *at = &threads[i].registers[in->operands[0].list[r].reg];
            *at = sum_up(m, &p, row, 8 * (r >> 2) + 2 * (lane % 4) + (r & 1), *at);
        }
    return true;
}

/* A warp's, but for products, which a warpgroup does. */
bool ptx_wgmma(struct machine *m, struct thread *threads, const struct ptx_instruction *in)
{
    struct warp *warp = &m->warps[threads->number / 32];
    if (strncmp(in->name, "wgmma.mma_async.sync.aligned.", 29) == 0)
        return multiply(m, threads, in);
    if (strcmp(in->name, "wgmma.fence.sync.aligned") == 0) {
        warp->fences++;
        return true;
    }
    if (strcmp(in->name, "wgmma.commit_group.sync.aligned") == 0) {
        warp->groups++;
        return true;
    }
    if (strcmp(in->name, "wgmma.wait_group.sync.aligned") != 0)
        return ptx_stop(m, threads, "an operation of a warpgroup that is not known");
    uint32_t pending = (uint32_t)in->operands[0].number;
    uint32_t done = warp->groups > pending ? warp->groups - pending : 0;
    int agent = m->products + threads->number / 32;
    for (int lane = 0; lane < 32; lane++) {
        struct thread *t = &threads[lane];
        uint32_t *knows = ptx_knows(m, t);
        t->products = done > t->products ? done : t->products;
        knows[agent] = done > knows[agent] ? done : knows[agent];
    }
    return true;
}
