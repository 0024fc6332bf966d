/* Threads: operands, one instruction at a time, calls, and where threads wait for each other.  See ptx.h. */
#include "ptx_run.h"

#include <string.h>

enum { MOST_STEPS = 200 * 1000 * 1000, MOST_DEPTH = 4 };

bool ptx_stop(struct machine *m, const struct thread *t, const char *what)
{
    if (!m->problem->size)
        buffer_printf(m->problem, "ptx: %s: block %d, thread %d: %s", what, m->block, t ? t->number : -1,
                      t && t->at < t->function->code.count ? t->function->code.data[t->at].text : "");
    return false;
}

/* ---- operands ---- */

static uint64_t mask_of(int bits) { return bits >= 64 ? ~UINT64_C(0) : (UINT64_C(1) << bits) - 1; }

static uint64_t special(const struct machine *m, const struct thread *t, uint64_t which)
{
    switch (which) {
    case 0: return (uint64_t)t->number;
    case 1: return (uint64_t)m->block;
    case 2: return (uint64_t)m->threads;
    case 3: return (uint64_t)m->launch->blocks;
    case 4: return (uint64_t)t->number % 32;
    default: return (uint64_t)t->number / 32;
    }
}

uint64_t ptx_operand_value(const struct machine *m, const struct thread *t, const struct ptx_operand *operand)
{
    switch (operand->place) {
    case PTX_REGISTER: return t->registers[operand->reg];
    case PTX_SPECIAL: return special(m, t, operand->number);
    case PTX_NAME: return strcmp(operand->name, "tile_shared") == 0 ? PTX_SHARED_START : 0;
    default: return operand->number;
    }
}

uint64_t ptx_address_of(const struct thread *t, const struct ptx_operand *operand)
{
    uint64_t base = operand->reg >= 0 ? t->registers[operand->reg] : 0;
    if (operand->name && strcmp(operand->name, "tile_shared") == 0)
        base = PTX_SHARED_START;
    return base + operand->number;
}

void ptx_set(struct thread *t, const struct ptx_operand *operand, uint64_t value, int bits)
{
    if (operand->place == PTX_REGISTER)
        t->registers[operand->reg] = value & mask_of(bits);
}

/* ---- calls ---- */

static uint64_t *parameter(struct thread *t, const char *name)
{
    for (int i = 0; i < t->parameter_count; i++)
        if (strcmp(t->parameters[i].name, name) == 0)
            return &t->parameters[i].value;
    if (t->parameter_count == MOST_PARAMETERS)
        return NULL;
    t->parameters[t->parameter_count].name = name;
    t->parameters[t->parameter_count].value = 0;
    return &t->parameters[t->parameter_count++].value;
}

static bool call(struct machine *m, struct thread *t, const struct ptx_instruction *in)
{
    const struct ptx_operand *name = &in->operands[1], *given = &in->operands[2];
    const struct ptx_function *function = NULL;
    for (int i = 0; i < m->module->functions.count; i++)
        if (in->operand_count == 3 && name->name && strcmp(m->module->functions.data[i].name, name->name) == 0)
            function = &m->module->functions.data[i];
    if (!function || t->depth == MOST_DEPTH || in->operands[0].count != 1 ||
        given->count != function->parameter_count)
        return ptx_stop(m, t, "a call that is not understood");
    for (int i = 0; i < given->count; i++) {
        uint64_t *from = parameter(t, given->list[i].name), *to = parameter(t, function->parameters[i]);
        if (!from || !to)
            return ptx_stop(m, t, "too many parameters");
        *to = *from;
    }
    t->frames[t->depth++] = (struct frame){t->function, t->registers, t->at, in->operands[0].list[0].name};
    t->function = function;
    t->registers = ARENA_ARRAY(m->arena, uint64_t, function->register_count);
    t->at = -1;
    return true;
}

static bool leave(struct machine *m, struct thread *t)
{
    if (t->depth == 0) {
        t->state = DONE;
        return true;
    }
    const struct frame *frame = &t->frames[--t->depth];
    uint64_t *from = parameter(t, "func_retval0"), *to = parameter(t, frame->result);
    if (!from || !to)
        return ptx_stop(m, t, "too many parameters");
    *to = *from;
    t->function = frame->function;
    t->registers = frame->registers;
    t->at = frame->at;
    return true;
}

/* ---- one thread ---- */

static bool move(const struct machine *m, struct thread *t, const struct ptx_instruction *in)
{
    const struct ptx_operand *to = &in->operands[0], *from = &in->operands[1];
    if (to->place == PTX_LIST) {
        int bits = in->type.bits / to->count;
        uint64_t value = ptx_operand_value(m, t, from);
        for (int i = 0; i < to->count; i++)
            ptx_set(t, &to->list[i], value >> i * bits, bits);
        return true;
    }
    uint64_t value = 0;
    if (from->place == PTX_LIST) {
        int bits = in->type.bits / from->count;
        for (int i = 0; i < from->count; i++)
            value |= (ptx_operand_value(m, t, &from->list[i]) & mask_of(bits)) << i * bits;
    } else {
        value = ptx_operand_value(m, t, from);
    }
    ptx_set(t, to, value, in->type.bits);
    return true;
}

static bool compute(struct machine *m, struct thread *t, const struct ptx_instruction *in)
{
    uint64_t values[4] = {0}, result;
    int bits = in->opcode == PTX_cvt ? (in->source.kind == 's' ? 64 : in->source.bits) : in->opcode == PTX_setp ? 1
             : in->wide ? 2 * in->type.bits : in->opcode == PTX_popc || in->opcode == PTX_clz ? 32 : in->type.bits;
    for (int i = 0; i < 4 && i + 1 < in->operand_count; i++) {
        values[i] = ptx_operand_value(m, t, &in->operands[i + 1]);
        bool whole = in->wide && i == 2; /* the summand of mad.wide */
        if (!whole)
            values[i] &= mask_of(in->type.bits);
    }
    if (!ptx_compute(in, values, &result))
        return ptx_stop(m, t, "an instruction that is not known");
    ptx_set(t, &in->operands[0], result, bits);
    return true;
}

/* Executes one instruction; what several threads reach together is left to them. */
static bool step(struct machine *m, struct thread *t)
{
    const struct ptx_instruction *in = &t->function->code.data[t->at];
    bool good = true;
    if (in->guard >= 0 && (t->registers[in->guard] & 1) == in->unless) {
        t->at++;
        return true;
    }
    switch (in->opcode) {
    case PTX_bra: t->at = in->target - 1; break;
    case PTX_exit: t->state = DONE; break;
    case PTX_ret: good = leave(m, t); break;
    case PTX_call: good = call(m, t, in); break;
    case PTX_ld: case PTX_st: good = ptx_access(m, t, in); break;
    case PTX_atom: case PTX_red: good = ptx_act(m, t, in); break;
    case PTX_cp: good = ptx_copy_async(m, t, in); break;
    case PTX_mov: good = move(m, t, in); break;
    case PTX_fence: case PTX_membar: break;
    case PTX_bar: t->state = ptx_has(in, "warp") ? AT_WARP : AT_BLOCK; return true;
    case PTX_shfl: case PTX_mma: case PTX_ldmatrix: t->state = AT_WARP; return true;
    default: good = compute(m, t, in); break;
    }
    t->at++;
    return good;
}

static bool run_thread(struct machine *m, struct thread *t)
{
    while (t->state == RUNS) {
        if (t->at >= t->function->code.count)
            return ptx_stop(m, t, "the end of a function");
        if (++m->steps > MOST_STEPS)
            return ptx_stop(m, t, "too many steps");
        if (!step(m, t))
            return false;
    }
    return true;
}

/* ---- blocks ---- */

static bool meet_warps(struct machine *m, bool *moved)
{
    for (int warp = 0; warp < m->threads / 32; warp++) {
        struct thread *first = &m->all[warp * 32];
        bool together = first->state == AT_WARP;
        for (int lane = 1; lane < 32; lane++)
            together &= first[lane].state == AT_WARP && first[lane].at == first->at &&
                        first[lane].function == first->function;
        if (!together)
            continue;
        *moved = true;
        if (!ptx_together(m, warp))
            return false;
        for (int lane = 0; lane < 32; lane++) {
            first[lane].at++;
            first[lane].state = RUNS;
        }
    }
    return true;
}

static bool meet_block(struct machine *m, bool *moved)
{
    for (int i = 0; i < m->threads; i++)
        if (m->all[i].state != AT_BLOCK)
            return true;
    for (int i = 0; i < m->threads; i++) {
        const struct ptx_instruction *in = &m->all[i].function->code.data[m->all[i].at];
        if (!ptx_has(in, "sync") || in->operand_count != 1 || in->operands[0].number != 0)
            return ptx_stop(m, &m->all[i], "a barrier that is not here");
        m->all[i].at++;
        m->all[i].state = RUNS;
    }
    m->meetings++;
    *moved = true;
    return true;
}

static bool run_block(struct machine *m)
{
    bool moved = true;
    while (moved) {
        moved = false;
        for (int i = 0; i < m->threads; i++) {
            struct thread *t = &m->all[m->order[i]];
            moved |= t->state == RUNS;
            if (!run_thread(m, t))
                return false;
        }
        if (!meet_warps(m, &moved) || !meet_block(m, &moved))
            return false;
    }
    for (int i = 0; i < m->threads; i++)
        if (m->all[i].state != DONE)
            return ptx_stop(m, &m->all[i], "threads wait for each other");
    return true;
}

/* Warps forth or back, and lanes forth or back. */
static void choose_order(struct machine *m)
{
    uint64_t seed = m->launch->seed + (uint64_t)m->block;
    for (int i = 0; i < m->threads; i++) {
        int warp = i / 32, lane = i % 32;
        warp = seed & 1 ? m->threads / 32 - 1 - warp : warp;
        m->order[i] = warp * 32 + (seed & 2 ? 31 - lane : lane);
    }
}

static void open_block(struct machine *m)
{
    const struct ptx_function *kernel = &m->module->functions.data[m->kernel];
    m->meetings = 0;
    memset(m->warp_meetings, 0, sizeof *m->warp_meetings * (size_t)(m->threads / 32));
    for (int64_t i = 0; i < m->launch->shared_bytes; i++)
        m->shadows[i].writer.thread = m->shadows[i].reader.thread = NOBODY;
    for (int i = 0; i < m->threads; i++) {
        struct thread *t = &m->all[i];
        uint64_t *registers = t->first_registers;
        memset(registers, 0, sizeof *registers * (size_t)kernel->register_count);
        *t = (struct thread){.number = i, .function = kernel, .registers = registers, .first_registers = registers};
    }
    choose_order(m);
}

bool ptx_run(struct arena *arena, const struct ptx_module *module, const struct ptx_launch *launch,
             struct buffer *problem)
{
    struct machine m = {.arena = arena, .module = module, .launch = launch, .problem = problem, .kernel = -1};
    for (int i = 0; i < module->functions.count; i++)
        if (module->functions.data[i].threads > 1)
            m.kernel = i;
    if (m.kernel < 0)
        return ptx_stop(&m, NULL, "there is no kernel");
    m.threads = module->functions.data[m.kernel].threads;
    m.all = ARENA_ARRAY(arena, struct thread, m.threads);
    m.order = ARENA_ARRAY(arena, int, m.threads);
    m.warp_meetings = ARENA_ARRAY(arena, int, m.threads / 32 + 1);
    m.shared = ARENA_ARRAY(arena, unsigned char, launch->shared_bytes + 1);
    m.shadows = ARENA_ARRAY(arena, struct shadow, launch->shared_bytes + 1);
    for (int i = 0; i < m.threads; i++)
        m.all[i].first_registers = ARENA_ARRAY(arena, uint64_t, module->functions.data[m.kernel].register_count + 1);
    for (m.block = 0; m.block < launch->blocks; m.block++) {
        open_block(&m);
        if (!run_block(&m))
            return false;
    }
    return true;
}
