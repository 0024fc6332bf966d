/* What the threads of a warp do together: shuffles, matrices out of and into shared memory, products of fragments. */
#include <math.h>
#include <string.h>

#include "ptx_run.h"

static bool shuffle(struct machine *m, struct thread *threads, const struct ptx_instruction *in)
{
    uint64_t values[32], result[32];
    for (int lane = 0; lane < 32; lane++)
        values[lane] = ptx_operand_value(m, &threads[lane], &in->operands[1]);
    for (int lane = 0; lane < 32; lane++) {
        int by = (int)(ptx_operand_value(m, &threads[lane], &in->operands[2]) & 31), from = lane;
        if (ptx_operand_value(m, &threads[lane], &in->operands[3]) != 31 ||
            (ptx_operand_value(m, &threads[lane], &in->operands[4]) & UINT32_MAX) != UINT32_MAX)
            return ptx_stop(m, &threads[lane], "a shuffle of a part of a warp");
        if (ptx_has(in, "bfly"))
            from = lane ^ by;
        else if (ptx_has(in, "idx"))
            from = by;
        else
            return ptx_stop(m, &threads[lane], "a shuffle that is not known");
        result[lane] = values[from];
    }
    for (int lane = 0; lane < 32; lane++)
        ptx_set(m, &threads[lane], &in->operands[0], result[lane], 32);
    return true;
}

/* Row r of matrix i is at the address of lane 8 * i + r; thread l gets the elements 2 * (l % 4) and the next of row
 * l / 4, or with .trans of column l / 4. */
static bool load_matrices(struct machine *m, struct thread *threads, const struct ptx_instruction *in)
{
    int count = in->operands[0].count;
    unsigned char rows[32][16];
    for (int lane = 0; lane < 8 * count; lane++) {
        uint64_t address = ptx_address_of(&threads[lane], &in->operands[1]);
        const unsigned char *at = ptx_shared_read(m, &threads[lane], address, 16);
        if (!at)
            return false;
        memcpy(rows[lane], at, 16);
    }
    for (int lane = 0; lane < 32; lane++)
        for (int i = 0; i < count; i++) {
            uint64_t word = 0;
            for (int half = 0; half < 2; half++) {
                int along = 2 * (lane % 4) + half, row = ptx_has(in, "trans") ? along : lane / 4;
                int column = ptx_has(in, "trans") ? lane / 4 : along;
                uint64_t element = (uint64_t)(rows[8 * i + row][2 * column] | rows[8 * i + row][2 * column + 1] << 8);
                word |= element << 16 * half;
            }
            ptx_set(m, &threads[lane], &in->operands[0].list[i], word, 32);
        }
    return true;
}

/* The other way round. */
static bool store_matrices(struct machine *m, struct thread *threads, const struct ptx_instruction *in)
{
    bool turned = ptx_has(in, "trans");
    int count = in->operands[1].count;
    unsigned char rows[32][16];
    if (!ptx_has(in, "m8n8") || !ptx_has(in, "b16") || count > 4)
        return ptx_stop(m, threads, "a stmatrix that is not known");
    for (int lane = 0; lane < 32; lane++)
        for (int i = 0; i < count; i++) {
            uint64_t word = ptx_operand_value(m, &threads[lane], &in->operands[1].list[i]);
            for (int half = 0; half < 2; half++) {
                int along = 2 * (lane % 4) + half, row = turned ? along : lane / 4, column = turned ? lane / 4 : along;
                rows[8 * i + row][2 * column] = (unsigned char)(word >> 16 * half);
                rows[8 * i + row][2 * column + 1] = (unsigned char)(word >> (16 * half + 8));
            }
        }
    for (int lane = 0; lane < 8 * count; lane++)
        if (!ptx_shared_write(m, &threads[lane], ptx_address_of(&threads[lane], &in->operands[0]), 16, rows[lane]))
            return false;
    return true;
}

/* One of the warp, the same at each time. */
static bool elect(struct machine *m, struct thread *threads, const struct ptx_instruction *in)
{
    int chosen = (int)((m->launch->seed / 16 + (uint64_t)threads->number / 32) % 32);
    if ((ptx_operand_value(m, threads, &in->operands[1]) & UINT32_MAX) != UINT32_MAX)
        return ptx_stop(m, threads, "an election in a part of a warp");
    for (int lane = 0; lane < 32; lane++)
        ptx_set(m, &threads[lane], &in->operands[0], lane == chosen, 1);
    return true;
}

/* ---- mma: words m16n8kK (of f64 also m8n8k4), row, col, then the types of d, a, b, c ---- */

static bool type_of(const char *word, struct ptx_type *type)
{
    static const struct {
        const char *word;
        struct ptx_type type;
    } known[] = {{"f16", {'f', 16}}, {"bf16", {'y', 16}}, {"tf32", {'t', 32}}, {"e4m3", {'q', 8}}, {"e5m2", {'r', 8}},
                 {"s8", {'s', 8}},   {"u8", {'u', 8}},    {"f32", {'f', 32}},  {"s32", {'s', 32}}, {"f64", {'f', 64}}};
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (strcmp(known[i].word, word) == 0) {
            *type = known[i].type;
            return true;
        }
    return false;
}

static double element(struct ptx_type type, uint64_t word, int number)
{
    uint64_t bits = type.bits >= 32 ? word : word >> number * type.bits & ((UINT64_C(1) << type.bits) - 1);
    if (type.kind == 's')
        return (double)((int64_t)(bits << (64 - type.bits)) >> (64 - type.bits));
    return type.kind == 'u' ? (double)bits : ptx_number(type, bits);
}

static bool multiply(struct machine *m, struct thread *threads, const struct ptx_instruction *in)
{
    static const char *const shapes[] = {"m16n8k8", "m16n8k16", "m16n8k32"};
    struct ptx_type types[4];
    double a[16][32] = {{0}}, b[32][8] = {{0}};
    int word = in->word_count - 4, k = ptx_has(in, "m8n8k4") ? 4 : 0, rows = k ? 1 : 2; /* of 8 */
    for (int i = 0; i < 4 && word >= 0; i++)
        if (!type_of(in->words[word + i], &types[i]))
            return ptx_stop(m, threads, "a type of mma");
    for (int i = 0; i < 3; i++)
        k = ptx_has(in, shapes[i]) ? 8 << i : k;
    if (!k || word < 0)
        return ptx_stop(m, threads, "a shape of mma");
    int each = types[1].bits < 32 ? 32 / types[1].bits : 1; /* elements of a register, of k */
    for (int lane = 0; lane < 32; lane++) {
        for (int i = 0; i < in->operands[1].count * each; i++) {
            int reg = i / each, row = lane / 4 + 8 * (reg % rows);
            int at = lane % 4 * each + i % each + reg / rows * 4 * each;
            a[row][at] = element(types[1], ptx_operand_value(m, &threads[lane], &in->operands[1].list[reg]), i % each);
        }
        for (int i = 0; i < in->operands[2].count * each; i++) {
            int reg = i / each, at = lane % 4 * each + i % each + reg * 4 * each;
            b[at][lane / 4] = element(types[2], ptx_operand_value(m, &threads[lane], &in->operands[2].list[reg]),
                                      i % each);
        }
    }
    for (int lane = 0; lane < 32; lane++)
        for (int reg = 0; reg < 2 * rows; reg++) {
            int row = lane / 4 + 8 * (reg / 2), column = 2 * (lane % 4) + reg % 2;
            double sum = element(types[3], ptx_operand_value(m, &threads[lane], &in->operands[3].list[reg]), 0);
            for (int i = 0; i < k; i++)
                sum = fma(a[row][i], b[i][column], sum); /* as f64 does; others are exact in f64 */
            uint64_t bits = 0;
            float single = (float)sum;
            if (types[0].kind == 's')
                bits = (uint64_t)(int64_t)sum;
            else if (types[0].bits == 64)
                memcpy(&bits, &sum, sizeof sum);
            else
                memcpy(&bits, &single, sizeof single);
            ptx_set(m, &threads[lane], &in->operands[0].list[reg], bits, types[0].bits);
        }
    return true;
}

bool ptx_together(struct machine *m, int warp, bool *waits)
{
    struct thread *threads = &m->all[warp * 32], *lanes[32];
    const struct ptx_instruction *in = &threads->function->code.data[threads->at];
    switch (in->opcode) {
    case PTX_shfl: return shuffle(m, threads, in);
    case PTX_ldmatrix: return load_matrices(m, threads, in);
    case PTX_stmatrix: return store_matrices(m, threads, in);
    case PTX_mma: return multiply(m, threads, in);
    case PTX_elect: return elect(m, threads, in);
    case PTX_wgmma: return ptx_wgmma(m, threads, in);
    case PTX_barrier: return ptx_cluster_barrier(m, threads, in);
    case PTX_setmaxnreg: return ptx_set_registers(m, threads, in, waits);
    default: break;
    }
    if (!ptx_has(in, "warp"))
        return ptx_block_barrier(m, threads, in);
    for (int lane = 0; lane < 32; lane++)
        lanes[lane] = &threads[lane];
    ptx_meet(m, lanes, 32);
    return true;
}

bool ptx_together_group(struct machine *m, int first)
{
    struct thread *threads = &m->all[first];
    return ptx_wgmma(m, threads, &threads->function->code.data[threads->at]);
}
