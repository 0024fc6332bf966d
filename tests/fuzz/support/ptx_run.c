/* Threads: operands, one instruction at a time, calls, and where threads wait for each other.  See ptx.h. */
#include "ptx_run.h"

#include <string.h>

enum { MOST_STEPS = 200 * 1000 * 1000, MOST_DEPTH = 4 };

bool ptx_stop(struct machine *m, const struct thread *t, const char *what)
{
    if (!m->problem->size)
        buffer_printf(m->problem, "ptx: %s: block %d, thread %d: %s", what, m->first_block + (t ? t->block : 0),
                      t ? t->id : -1, t && t->at < t->function->code.count ? t->function->code.data[t->at].text : "");
    return false;
}

/* ---- operands ---- */

static uint64_t mask_of(int bits) { return bits >= 64 ? ~UINT64_C(0) : (UINT64_C(1) << bits) - 1; }

static uint64_t special(const struct machine *m, const struct thread *t, uint64_t which)
{
    switch (which) {
    case 0: return (uint64_t)t->id;
    case 1: return (uint64_t)(m->first_block + t->block);
    case 2: return (uint64_t)m->threads;
    case 3: return (uint64_t)m->launch->blocks;
    case 4: return (uint64_t)t->id % 32;
    case 5: return (uint64_t)t->block;
    default: return (uint64_t)t->id / 32;
    }
}

/* Where a name stands: shared memory, or a tensor map; the slots from 0 on. */
static uint64_t place_of(struct machine *m, const struct thread *t, const char *name)
{
    const struct ptx_function *kernel = &m->module->functions.data[m->kernel];
    if (strcmp(name, "tile_shared") == 0)
        return PTX_SHARED_START;
    for (int i = 0; i < kernel->parameter_count; i++)
        if (strcmp(kernel->parameters[i], name) == 0)
            return i ? PTX_MAPS + 128 * (uint64_t)(i - 1) : 0;
    ptx_stop(m, t, "a name that is not known");
    return 0;
}

uint64_t ptx_operand_value(struct machine *m, const struct thread *t, const struct ptx_operand *operand)
{
    switch (operand->place) {
    case PTX_REGISTER:
        if (t->marks[operand->reg] % (1 << MARK_BITS) == MARK_RESULT &&
            t->marks[operand->reg] >> MARK_BITS > t->products)
            ptx_stop(m, t, "reads a result of a product on its way");
        return t->registers[operand->reg];
    case PTX_SPECIAL: return special(m, t, operand->number);
    case PTX_NAME: return place_of(m, t, operand->name);
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

void ptx_set(struct machine *m, struct thread *t, const struct ptx_operand *operand, uint64_t value, int bits)
{
    if (operand->place != PTX_REGISTER)
        return;
    uint32_t *mark = &t->marks[operand->reg];
    if (*mark % (1 << MARK_BITS) != MARK_WRITTEN && *mark >> MARK_BITS > t->products)
        ptx_stop(m, t, "writes a register of a product on its way");
    *mark = m->warps[t->number / 32].fences << MARK_BITS | MARK_WRITTEN;
    t->registers[operand->reg] = value & mask_of(bits);
}

uint32_t ptx_random(struct machine *m, uint32_t limit)
{
    m->random = m->random * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (uint32_t)((m->random >> 33) % limit);
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
    if (!function || t->depth == MOST_DEPTH || in->operands[0].count != 1 || given->count != function->parameter_count)
        return ptx_stop(m, t, "a call that is not understood");
    for (int i = 0; i < given->count; i++) {
        uint64_t *from = parameter(t, given->list[i].name), *to = parameter(t, function->parameters[i]);
        if (!from || !to)
            return ptx_stop(m, t, "too many parameters");
        *to = *from;
    }
    t->frames[t->depth++] = (struct frame){t->function, t->registers, t->marks, t->at, in->operands[0].list[0].name};
    t->function = function;
    t->registers = ARENA_ARRAY(m->arena, uint64_t, function->register_count + 1);
    t->marks = ARENA_ARRAY(m->arena, uint32_t, function->register_count + 1);
    t->at = -1;
    return true;
}

static bool finish(struct machine *m, struct thread *t)
{
    if (t->flights.count || t->products_begun > t->products || (t->bulk && t->bulk_begun > ptx_knows(m, t)[t->bulk]))
        return ptx_stop(m, t, "a thread ends that did not wait for what it began");
    t->state = DONE;
    return true;
}

static bool leave(struct machine *m, struct thread *t)
{
    if (t->depth == 0)
        return finish(m, t);
    const struct frame *frame = &t->frames[--t->depth];
    uint64_t *from = parameter(t, "func_retval0"), *to = parameter(t, frame->result);
    if (!from || !to)
        return ptx_stop(m, t, "too many parameters");
    *to = *from;
    t->function = frame->function;
    t->registers = frame->registers;
    t->marks = frame->marks;
    t->at = frame->at;
    return true;
}

/* ---- one thread ---- */

static bool move(struct machine *m, struct thread *t, const struct ptx_instruction *in)
{
    const struct ptx_operand *to = &in->operands[0], *from = &in->operands[1];
    if (to->place == PTX_LIST) {
        int bits = in->type.bits / to->count;
        uint64_t value = ptx_operand_value(m, t, from);
        for (int i = 0; i < to->count; i++)
            ptx_set(m, t, &to->list[i], value >> i * bits, bits);
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
    ptx_set(m, t, to, value, in->type.bits);
    return true;
}

static bool compute(struct machine *m, struct thread *t, const struct ptx_instruction *in)
{
    uint64_t values[4] = {0}, result;
    int bits = in->opcode == PTX_cvt                             ? (in->source.kind == 's' ? 64 : in->source.bits)
               : in->opcode == PTX_setp                          ? 1
               : in->wide                                        ? 2 * in->type.bits
               : in->opcode == PTX_popc || in->opcode == PTX_clz ? 32
                                                                 : in->type.bits;
    for (int i = 0; i < 4 && i + 1 < in->operand_count; i++) {
        values[i] = ptx_operand_value(m, t, &in->operands[i + 1]);
        bool whole = in->wide && i == 2; /* the summand of mad.wide */
        if (!whole)
            values[i] &= mask_of(in->type.bits);
    }
    if (!ptx_compute(in, values, &result))
        return ptx_stop(m, t, "an instruction that is not known");
    ptx_set(m, t, &in->operands[0], result, bits);
    return true;
}

/* Executes one instruction; what several threads reach together is left to them. */
static bool step(struct machine *m, struct thread *t)
{
    const struct ptx_instruction *in = &t->function->code.data[t->at];
    bool good = true;
    if (m->launch->ran)
        m->launch->ran[in->line] = true;
    if (in->guard >= 0 && (t->registers[in->guard] & 1) == in->unless) {
        t->at++;
        return true;
    }
    switch (in->opcode) {
    case PTX_bra: t->at = in->target - 1; break;
    case PTX_exit: good = finish(m, t); break;
    case PTX_ret: good = leave(m, t); break;
    case PTX_call: good = call(m, t, in); break;
    case PTX_ld:
    case PTX_st: good = ptx_access(m, t, in); break;
    case PTX_atom:
    case PTX_red: good = ptx_act(m, t, in); break;
    case PTX_cp: good = ptx_copy_async(m, t, in); break;
    case PTX_mov: good = move(m, t, in); break;
    case PTX_fence:
    case PTX_membar: good = ptx_fence(m, t, in); break;
    case PTX_mapa: good = ptx_map_address(m, t, in); break;
    case PTX_griddepcontrol: break;
    case PTX_prefetch:
        if (strcmp(in->name, "prefetch.tensormap") != 0 ||
            ptx_address_of(t, &in->operands[0]) - PTX_MAPS >= 128 * (uint64_t)m->launch->map_count)
            return ptx_stop(m, t, "there is no tensor map");
        break;
    case PTX_mbarrier:
        if (!ptx_mbarrier(m, t, in))
            return false;
        if (t->state == AT_PHASE)
            return true;
        break;
    case PTX_bar:
    case PTX_barrier:
    case PTX_shfl:
    case PTX_mma:
    case PTX_ldmatrix:
    case PTX_stmatrix:
    case PTX_elect:
    case PTX_setmaxnreg: t->state = AT_WARP; return true;
    case PTX_wgmma: t->state = strcmp(in->words[0], "mma_async") == 0 ? AT_GROUP : AT_WARP; return true;
    default: good = compute(m, t, in); break;
    }
    t->at++;
    return good && !m->problem->size;
}

static bool run_thread(struct machine *m, struct thread *t)
{
    while (t->state == RUNS) {
        if (t->at >= t->function->code.count)
            return ptx_stop(m, t, "the end of a function");
        if (++m->steps > (m->launch->most_steps ? m->launch->most_steps : MOST_STEPS))
            return ptx_stop(m, t, "too many steps");
        if (!step(m, t))
            return false;
    }
    return true;
}

/* ---- the threads of blocks that run together ---- */

static bool are_together(const struct thread *threads, int count, enum thread_state state)
{
    for (int i = 0; i < count; i++)
        if (threads[i].state != state || threads[i].at != threads->at || threads[i].function != threads->function)
            return false;
    return true;
}

static void go_on(struct thread *threads, int count, enum thread_state state)
{
    for (int i = 0; i < count; i++) {
        threads[i].at++;
        threads[i].state = threads[i].state == state ? RUNS : threads[i].state;
    }
}

/* A guard of what a warp does together holds for all or for none: those that it held for are all there. */
static bool meet_warps(struct machine *m, bool *moved)
{
    for (int warp = 0; warp < m->all_threads / 32; warp++) {
        bool waits = false;
        if (!are_together(&m->all[warp * 32], 32, AT_WARP))
            continue;
        if (!ptx_together(m, warp, &waits))
            return false;
        if (waits)
            continue;
        *moved = true;
        go_on(&m->all[warp * 32], 32, AT_WARP);
    }
    return true;
}

static bool meet_groups(struct machine *m, bool *moved)
{
    enum { GROUP = 128 };
    for (int block = 0; block < m->cluster; block++)
        for (int id = 0; id + GROUP <= m->threads; id += GROUP) {
            int first = block * m->threads + id;
            if (!are_together(&m->all[first], GROUP, AT_GROUP))
                continue;
            *moved = true;
            if (!ptx_together_group(m, first))
                return false;
            go_on(&m->all[first], GROUP, AT_GROUP);
        }
    return true;
}

/* Runs who can; with some seeds warps are left out of a turn by chance, until nobody else moves. */
static bool run_threads(struct machine *m, bool all, bool *moved)
{
    bool leaves_out = !all && m->launch->seed & 4, left_out = false;
    for (int i = 0; i < m->all_threads; i++) {
        struct thread *t = &m->all[m->order[i]];
        if (i % 32 == 0)
            left_out = leaves_out && ptx_random(m, 3) == 0;
        if (left_out || (t->state != RUNS && !ptx_wake(m, t)))
            continue;
        *moved = true;
        if (!run_thread(m, t))
            return false;
    }
    return true;
}

static bool run_blocks(struct machine *m)
{
    bool moved = true, all = true;
    do {
        all = !moved;
        moved = false;
        if (!run_threads(m, all, &moved) || !meet_warps(m, &moved) || !meet_groups(m, &moved))
            return false;
        if (!moved && all)
            moved = ptx_bulk_lands(m);
    } while (moved || !all);
    if (m->problem->size)
        return false;
    for (int i = 0; i < m->all_threads; i++)
        if (m->all[i].state != DONE)
            return ptx_stop(m, &m->all[i], "threads wait for each other");
    ptx_bulk_end(m);
    return true;
}

/* Warps forth or back, and lanes forth or back. */
static void choose_order(struct machine *m)
{
    uint64_t seed = m->launch->seed + (uint64_t)m->first_block;
    for (int i = 0; i < m->all_threads; i++) {
        int warp = i / 32, lane = i % 32;
        warp = seed & 1 ? m->all_threads / 32 - 1 - warp : warp;
        m->order[i] = warp * 32 + (seed & 2 ? 31 - lane : lane);
    }
    m->random = seed;
}

/* Registers of a thread at the start, where they are set later: what the multiprocessor has for each. */
static int registers_at_start(const struct machine *m)
{
    enum { REGISTERS = 65536, MOST = 256 };
    const struct ptx_function *kernel = &m->module->functions.data[m->kernel];
    int each = REGISTERS / (m->threads * kernel->blocks) / 8 * 8, most = kernel->most ? kernel->most / 8 * 8 : MOST;
    return each > most ? most : each;
}

/* A NaN as a float of 32 or 64 bits, a large number as others. */
#define NEVER_SET UINT64_C(0x7ff7a5a57fb7a5a5)

static void open_blocks(struct machine *m)
{
    const struct ptx_function *kernel = &m->module->functions.data[m->kernel];
    m->readers.count = m->landings.count = m->free_tables.count = 0;
    for (int i = 0; i < m->tables.count; i++)
        vector_push(m->arena, &m->free_tables, i);
    m->free_reader = -1;
    ptx_global_open(m);
    m->cluster_arrived = m->cluster_meetings = 0;
    memset(m->cluster_collects, 0, sizeof *m->clocks * 2 * (size_t)m->agents);
    memset(m->cluster_done, 0, sizeof *m->clocks * 2 * (size_t)m->agents);
    memset(m->clocks, 0, sizeof *m->clocks * 2 * (size_t)m->agents * (size_t)m->all_threads);
    for (int b = 0; b < m->cluster; b++) {
        struct block *block = &m->blocks[b];
        for (int64_t i = 0; i < m->launch->shared_bytes; i++)
            block->shadows[i] = (struct shadow){NOBODY, 0, -1, -1};
        for (int i = 0; i < NAMED_BARRIERS; i++) {
            block->barriers[i].arrived = 0;
            memset(block->barriers[i].clock, 0, sizeof *m->clocks * 2 * (size_t)m->agents);
        }
        block->mbarrier_count = block->bulk_count = block->registers = 0;
    }
    for (int i = 0; i < m->all_threads / 32; i++)
        m->warps[i] = (struct warp){.registers = registers_at_start(m)};
    for (int i = 0; i < m->all_threads; i++) {
        struct thread *t = &m->all[i];
        uint64_t *registers = t->first_registers;
        uint32_t *marks = t->first_marks;
        for (int r = 0; r < kernel->register_count; r++)
            registers[r] = NEVER_SET;
        memset(marks, 0, sizeof *marks * (size_t)kernel->register_count);
        *t = (struct thread){.number = i,
                             .id = i % m->threads,
                             .block = i / m->threads,
                             .function = kernel,
                             .registers = registers,
                             .first_registers = registers,
                             .marks = marks,
                             .first_marks = marks};
        ptx_knows(m, t)[i] = 1;
    }
    choose_order(m);
}

static void make_blocks(struct machine *m)
{
    size_t clock = 2 * (size_t)m->agents;
    m->blocks = ARENA_ARRAY(m->arena, struct block, m->cluster);
    for (int b = 0; b < m->cluster; b++) {
        m->blocks[b].shared = ARENA_ARRAY(m->arena, unsigned char, m->launch->shared_bytes + 1);
        m->blocks[b].shadows = ARENA_ARRAY(m->arena, struct shadow, m->launch->shared_bytes + 1);
        m->blocks[b].mbarriers = ARENA_ARRAY(m->arena, struct mbarrier, m->most_mbarriers + 1);
        for (int i = 0; i < NAMED_BARRIERS; i++)
            m->blocks[b].barriers[i].clock = ARENA_ARRAY(m->arena, uint32_t, clock);
    }
    m->clocks = ARENA_ARRAY(m->arena, uint32_t, clock *(size_t)m->all_threads);
    m->scratch = ARENA_ARRAY(m->arena, uint32_t, clock);
    m->cluster_collects = ARENA_ARRAY(m->arena, uint32_t, clock);
    m->cluster_done = ARENA_ARRAY(m->arena, uint32_t, clock);
    m->warps = ARENA_ARRAY(m->arena, struct warp, m->all_threads / 32 + 1);
    m->a = ARENA_ARRAY(m->arena, double, 64 * 32);
    m->b = ARENA_ARRAY(m->arena, double, 256 * 32);
    m->written = ARENA_ARRAY(m->arena, unsigned char *, m->launch->memory_count + 1);
    m->coming = ARENA_ARRAY(m->arena, unsigned char *, m->launch->memory_count + 1);
    for (int i = 0; i < m->launch->memory_count && m->launch->map_count; i++) {
        enum { LARGE = 1 << 26 };
        size_t size = m->launch->memories[i].size;
        if (m->launch->memories[i].read_only || size >= LARGE)
            continue;
        m->written[i] = ARENA_ARRAY(m->arena, unsigned char, size + 1);
        m->coming[i] = ARENA_ARRAY(m->arena, unsigned char, size + 1);
    }
}

bool ptx_run(struct arena *arena, const struct ptx_module *module, const struct ptx_launch *launch,
             struct buffer *problem)
{
    struct machine m = {.arena = arena,
                        .module = module,
                        .launch = launch,
                        .problem = problem,
                        .kernel = -1,
                        .cluster = launch->cluster > 1 ? launch->cluster : 1};
    for (int i = 0; i < module->functions.count; i++)
        if (module->functions.data[i].threads > 1)
            m.kernel = i;
    if (m.kernel < 0)
        return ptx_stop(&m, NULL, "there is no kernel");
    const struct ptx_function *kernel = &module->functions.data[m.kernel];
    if (launch->blocks % m.cluster || kernel->parameter_count != 1 + launch->map_count)
        return ptx_stop(&m, NULL, "a launch that does not fit the kernel");
    m.threads = kernel->threads;
    m.all_threads = m.threads * m.cluster;
    for (int i = 0; i < kernel->code.count; i++)
        m.most_mbarriers += kernel->code.data[i].opcode == PTX_mbarrier && ptx_has(&kernel->code.data[i], "init");
    m.products = m.all_threads + m.cluster * (m.most_mbarriers + MOST_BULK);
    m.agents = m.products + m.all_threads / 32;
    m.all = ARENA_ARRAY(arena, struct thread, m.all_threads);
    m.order = ARENA_ARRAY(arena, int, m.all_threads);
    for (int i = 0; i < m.all_threads; i++) {
        m.all[i].first_registers = ARENA_ARRAY(arena, uint64_t, kernel->register_count + 1);
        m.all[i].first_marks = ARENA_ARRAY(arena, uint32_t, kernel->register_count + 1);
    }
    make_blocks(&m);
    ptx_find_looked_at(&m);
    for (m.first_block = 0; m.first_block < launch->blocks; m.first_block += m.cluster) {
        open_blocks(&m);
        if (!run_blocks(&m))
            return false;
    }
    return true;
}
