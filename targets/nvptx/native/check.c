/* Whether an order of instructions with its control bits keeps all times, proved from the bits alone.
 *
 * The proof follows all ways through the kernel's blocks and carries what is not finished yet:
 *
 *  - of each register that an instruction of fixed time wrote, the cycle from which each pipe may read it (latencies.def).
 *    Cycles are sums of stall counts, which is the least that passes;
 *  - each operation of variable time in flight, with the scoreboards of which any one, once waited for, says that it has
 *    written (or read its sources).  Those are its own and, because a queue begins operations in their order, those of later
 *    ones of its queue: where only the last of a row of loads has a scoreboard, it speaks for all.
 *
 * Where ways meet, cycles are the largest and operations in flight those of either way, with the scoreboards that hold on
 * both.  The end of a block is thus no special case: what is not ready there is carried into each block that may follow. */
#include "targets/nvptx/native/private.h"

#include <string.h>

enum {
    BOARD_DELAY = 2,     /* cycles until a wait sees that a scoreboard is busy */
    LEAST_VARIABLE = 10, /* cycles that no operation of variable time is faster than */
    MOST_CHAINS = 256,
    MOST_STATES = 1 << 29, /* bytes of all states */
    MOST_CLOCK = 1 << 14,  /* where cycles are counted anew, so that they fit into a short */
    MOST_SPACE = 16,       /* above all rows of SPACE */
    PENDING = 0x80         /* beside the scoreboards of a flight */
};

struct flight {
    unsigned char writes, reads; /* PENDING and scoreboards */
    bool guarded;                /* its guard has the value that it had */
};

struct state {
    short ready[NATIVE_REGISTERS_END][NATIVE_PORTS];
    short written[NATIVE_REGISTERS_END];                /* when a fixed write is done */
    short read[NATIVE_LATE_ROWS][NATIVE_REGISTERS_END]; /* until when a late reader needs it */
    int writer[NATIVE_REGISTERS_END];                   /* the last, for the message; -1 */
    short begun[PIPE_COUNT];                            /* when the last instruction of the pipe was */
    short board[NATIVE_BOARDS];                         /* when it was set last */
    struct flight flights[];
};

struct checking {
    const struct native_code *code;
    struct native_faults *faults; /* NULL: counted alone */
    int count;
    bool reports;
    const struct native_instruction *known; /* all, by their origins, which name them while they move */
    int variable_count, *variables;         /* those of variable time; */
    int *number_of;                         /* and which of them one is, -1 */
    size_t state_size;
    short spaces[PIPE_COUNT][PIPE_COUNT]; /* of the second, from the first */
    short latencies[PIPE_COUNT][NATIVE_KINDS][NATIVE_PORTS];
    struct native_set pending_writes, pending_reads; /* of all flights of the state that is followed */
};

/* Whether a fault is not only counted. */
static bool is_told(const struct checking *c) { return c->faults && c->faults->list.count < c->faults->limit; }

static void report(struct checking *c, int at, int other, int missing, const char *text)
{
    if (!c->reports)
        return;
    c->count++;
    if (is_told(c))
        vector_push(c->faults->arena, &c->faults->list, ((struct native_fault){at, other, missing, text}));
}

static const char *name_of(const struct checking *c, int origin)
{
    return arena_printf(c->faults->arena, "%s at %x", c->known[origin].form->name, (unsigned)origin * NATIVE_BYTES);
}

#define REPORT_MISSING(c, at, other, missing_cycles, ...)                                                          \
    do {                                                                                                           \
        if ((c)->reports)                                                                                          \
            report(c, at, other, missing_cycles, is_told(c) ? arena_printf((c)->faults->arena, __VA_ARGS__) : ""); \
    } while (0)

#define REPORT(c, at, other, ...) REPORT_MISSING(c, at, other, 0, __VA_ARGS__)

static const char *place_name(const struct checking *c, int place)
{
    return native_place_name(c->faults->arena, place);
}

/* ---- operations in flight ---- */

/* Predicates are read as it begins, registers when it gets to them. */
static struct native_set late_reads(const struct native_instruction *in)
{
    struct native_set reads = in->reads;
    int from = in->form->traits & TRAIT_UNIFORM_LATE ? NATIVE_PREDICATE / 64 : NATIVE_UNIFORM / 64;
    for (int w = from; w < NATIVE_WORDS; w++)
        reads.word[w] = 0;
    return reads;
}

static void sum_pending(struct checking *c, const struct state *s)
{
    memset(&c->pending_writes, 0, sizeof c->pending_writes);
    memset(&c->pending_reads, 0, sizeof c->pending_reads);
    for (int v = 0; v < c->variable_count; v++) {
        const struct native_instruction *in = &c->known[c->variables[v]];
        if (!s->flights[v].writes && !s->flights[v].reads)
            continue;
        struct native_set reads = late_reads(in);
        for (int w = 0; w < NATIVE_WORDS; w++) {
            c->pending_writes.word[w] |= s->flights[v].writes ? in->writes.word[w] : 0;
            c->pending_reads.word[w] |= s->flights[v].reads ? reads.word[w] : 0;
        }
    }
    c->pending_writes = native_registers(&c->pending_writes);
    c->pending_reads = native_registers(&c->pending_reads);
}

static void take_waits(struct checking *c, struct state *s, int at, int clock)
{
    unsigned waits = native_waits(&c->code->instructions[at]);
    if (!waits)
        return;
    for (int k = 0; k < NATIVE_BOARDS; k++)
        if (c->code->instructions[at].control.waits >> k & 1 && clock < s->board[k] + BOARD_DELAY)
            REPORT_MISSING(c, at, -1, 1, "%s waits for scoreboard %d, which was set in the cycle before",
                           name_of(c, c->code->instructions[at].origin), k);
    for (int v = 0; v < c->variable_count; v++) {
        struct flight *f = &s->flights[v];
        if (f->writes & waits)
            f->writes = f->reads = 0;
        if (f->reads & waits)
            f->reads = 0;
    }
    sum_pending(c, s);
}

static int next_place(const struct native_set *set, int from)
{
    for (int place = from; place < NATIVE_REGISTERS_END; place++) {
        uint64_t rest = set->word[place / 64] >> place % 64;
        if (rest == 0)
            place |= 63;
        else
            return place + __builtin_ctzll(rest) < NATIVE_REGISTERS_END ? place + __builtin_ctzll(rest) : -1;
    }
    return -1;
}

#define FOR_PLACES(set, place) for (int place = next_place(set, 0); place >= 0; place = next_place(set, place + 1))

/* The cycle from which it may write a place, by what reads it. */
static int late_cycles(const struct state *s, const struct native_instruction *in, int place)
{
    int cycle = 0;
    for (int row = 0; row < NATIVE_LATE_ROWS; row++) {
        bool meant = native_late[row].writer == (int)in->form->pipe ||
                     (native_late[row].writer == NATIVE_PORTS && !in->variable);
        if (meant && s->read[row][place] > cycle)
            cycle = s->read[row][place];
    }
    return cycle;
}

/* Its own result comes after the other has read: both wait in one queue, and it has not come too close. */
static bool follows_in_queue(const struct state *s, const struct native_instruction *in,
                             const struct native_instruction *before, const struct native_set *written, int clock)
{
    if (!in->variable || in->form->queue != before->form->queue || in->form->queue == QUEUE_NONE)
        return false;
    FOR_PLACES(written, place)
    {
        if (late_cycles(s, in, place) > clock)
            return false;
    }
    return true;
}

/* What an operation in flight still writes is neither read nor written, and what it still reads is not written. */
static void check_flights(struct checking *c, const struct state *s, int at, int clock)
{
    const struct native_instruction *in = &c->code->instructions[at];
    if (!c->reports || !(native_meet(&in->reads, &c->pending_writes) || native_meet(&in->writes, &c->pending_writes) ||
                         native_meet(&in->writes, &c->pending_reads)))
        return;
    for (int v = 0; v < c->variable_count; v++) {
        const struct flight *f = &s->flights[v];
        const struct native_instruction *other = &c->known[c->variables[v]];
        if ((!f->writes && !f->reads) || (f->guarded && native_exclude(other, in)))
            continue;
        struct native_set read = native_both(&in->reads, &other->writes),
                          written = native_both(&in->writes, &other->writes), over = late_reads(other);
        read = native_registers(&read), written = native_registers(&written), over = native_both(&in->writes, &over);
        int place = f->writes ? native_first(&read) : -1;
        if (place >= 0)
            REPORT(c, at, c->variables[v], "%s reads %s before %s is known to have written it",
                   name_of(c, c->code->instructions[at].origin), place_name(c, place), name_of(c, c->variables[v]));
        place = f->writes ? native_first(&written) : -1;
        if (place >= 0)
            REPORT(c, at, c->variables[v], "%s writes %s before %s is known to have written it",
                   name_of(c, c->code->instructions[at].origin), place_name(c, place), name_of(c, c->variables[v]));
        place = f->reads ? native_first(&over) : -1;
        if (place >= 0 && !follows_in_queue(s, in, other, &over, clock))
            REPORT(c, at, c->variables[v], "%s writes %s before %s is known to have read it",
                   name_of(c, c->code->instructions[at].origin), place_name(c, place), name_of(c, c->variables[v]));
    }
}

static unsigned board_bit(unsigned board) { return board < NATIVE_BOARDS ? 1u << board : 0; }

/* A later operation of a queue has begun, so its scoreboards also speak for those before it. */
static void cover_queue(struct checking *c, struct state *s, const struct native_instruction *in)
{
    unsigned write = board_bit(in->control.write_board), read = board_bit(in->control.read_board);
    for (int v = 0; v < c->variable_count; v++) {
        struct flight *f = &s->flights[v];
        const struct native_instruction *other = &c->known[c->variables[v]];
        if (other->form->queue != in->form->queue || in->form->queue == QUEUE_NONE)
            continue;
        if (f->writes && other->ordered && in->ordered)
            f->writes |= (unsigned char)write;
        if (f->reads)
            f->reads |= (unsigned char)(write | read);
    }
}

static void begin_flight(struct checking *c, struct state *s, int at, int clock)
{
    const struct native_instruction *in = &c->code->instructions[at];
    unsigned boards[2] = {in->control.write_board, in->control.read_board};
    for (int i = 0; i < 2; i++)
        if (boards[i] < NATIVE_BOARDS)
            s->board[boards[i]] = (short)(in->control.stall ? clock : -BOARD_DELAY);
    if (!in->variable)
        return;
    cover_queue(c, s, in);
    struct flight *f = &s->flights[c->number_of[in->origin]];
    struct native_set writes = native_registers(&in->writes), reads = late_reads(in);
    unsigned own = board_bit(boards[0]);
    f->writes = native_first(&writes) >= 0 ? (unsigned char)(PENDING | own) : 0;
    f->reads = native_first(&reads) >= 0 ? (unsigned char)(PENDING | own | board_bit(boards[1])) : 0;
    f->guarded = in->guard >= 0;
    sum_pending(c, s);
}

static void forget_guards(struct checking *c, struct state *s, const struct native_instruction *in)
{
    for (int v = 0; v < c->variable_count; v++) {
        int guard = c->known[c->variables[v]].guard;
        if (guard >= 0 && native_has(&in->writes, guard))
            s->flights[v].guarded = false;
    }
}

/* ---- fixed times ---- */

static const short *times_of(const struct checking *c, const struct native_instruction *in, int place)
{
    return c->latencies[in->form->pipe][native_kind_written(in, place)];
}

static int own_latency(const struct checking *c, const struct native_instruction *in, int place)
{
    if (in->variable)
        return LEAST_VARIABLE;
    return times_of(c, in,
                    place)[native_kind(place) == KIND_UR || native_kind(place) == KIND_UP ? PIPE_UNIFORM : PIPE_ALU];
}

static int port_of(const struct native_instruction *in, int place)
{
    return place == in->guard                ? NATIVE_PORT_GUARD
           : native_has(&in->addends, place) ? NATIVE_PORT_ADDEND
                                             : (int)in->form->pipe;
}

static void check_ready(struct checking *c, const struct state *s, int at, int clock)
{
    const struct native_instruction *in = &c->code->instructions[at];
    if (!c->reports)
        return;
    FOR_PLACES(&in->reads, place)
    {
        int port = port_of(in, place), missing = s->ready[place][port] - clock;
        const struct native_instruction *other = s->writer[place] >= 0 ? &c->known[s->writer[place]] : NULL;
        if (missing > 0)
            REPORT_MISSING(c, at, s->writer[place], missing, "%s reads %s %d cycles too early behind %s (%s to %s)",
                           name_of(c, c->code->instructions[at].origin), place_name(c, place), missing,
                           other ? name_of(c, s->writer[place]) : "another block",
                           other ? native_pipe_names[other->form->pipe] : "",
                           port == NATIVE_PORT_GUARD ? "guard" : native_pipe_names[in->form->pipe]);
    }
    FOR_PLACES(&in->writes, place)
    {
        int missing = s->written[place] - clock - own_latency(c, in, place),
            late = in->variable ? 0 : late_cycles(s, in, place) - clock;
        const struct native_instruction *other = s->writer[place] >= 0 ? &c->known[s->writer[place]] : NULL;
        if (missing > 0)
            REPORT_MISSING(c, at, s->writer[place], missing, "%s writes %s %d cycles too early behind %s",
                           name_of(c, c->code->instructions[at].origin), place_name(c, place), missing,
                           other ? name_of(c, s->writer[place]) : "another block");
        if (late > 0)
            REPORT_MISSING(c, at, -1, late, "%s writes %s %d cycles before it has been read",
                           name_of(c, c->code->instructions[at].origin), place_name(c, place), late);
    }
}

static void take_writes(struct checking *c, struct state *s, int at, int clock)
{
    const struct native_instruction *in = &c->code->instructions[at];
    bool variable = in->variable;
    FOR_PLACES(&in->writes, place)
    {
        for (int port = 0; port < NATIVE_PORTS; port++) {
            int latency = variable ? 0 : times_of(c, in, place)[port];
            s->ready[place][port] = (short)(clock + latency);
        }
        s->written[place] = (short)(variable ? 0 : clock + own_latency(c, in, place));
        s->writer[place] = in->origin;
    }
    struct native_set late = in->variable ? late_reads(in) : in->reads;
    for (int row = 0; row < NATIVE_LATE_ROWS; row++)
        if (native_late[row].reader == (int)in->form->pipe) {
            FOR_PLACES(&late, place)
            {
                s->read[row][place] = (short)(clock + native_late[row].cycles[c->code->architecture >= 90]);
            }
        }
}

/* ---- what the bits themselves must keep ---- */

bool native_keeps_stale(const struct native_code *code, int at, int end)
{
    enum { SLOTS = 3, BANKS = 2 };
    const struct native_instruction *in = &code->instructions[at];
    for (int slot = 0; slot < SLOTS; slot++) {
        int place = in->control.reuse >> slot & 1 ? in->slots[slot] : -1;
        bool changed = place >= 0 && native_has(&in->writes, place);
        for (int i = at + 1; place >= 0 && i < end; i++) {
            const struct native_instruction *next = &code->instructions[i];
            if (next->slots[slot] == place) {
                if (changed)
                    return true;
                break;
            }
            if (next->slots[slot] >= 0 && next->slots[slot] % BANKS == place % BANKS)
                break;
            changed = changed || native_has(&next->writes, place);
        }
    }
    return false;
}

/* Pipes that are busy with an instruction, or would answer two in one cycle. */
static void check_space(struct checking *c, const struct state *s, int at, int clock)
{
    const struct native_instruction *in = &c->code->instructions[at];
    for (int pipe = 0; pipe < PIPE_COUNT; pipe++) {
        int missing = s->begun[pipe] + c->spaces[in->form->pipe][pipe] - clock;
        if (missing > 0)
            REPORT_MISSING(c, at, -1, missing, "%s begins %d cycles too early behind one of the pipe %s",
                           name_of(c, in->origin), missing, native_pipe_names[pipe]);
    }
}

static void check_bits(struct checking *c, const struct native_block *block, int at)
{
    const struct native_control *control = &c->code->instructions[at].control;
    if (control->stall > NATIVE_YIELD_STALL && control->yield)
        REPORT(c, at, -1, "%s stalls for %d cycles without yielding", name_of(c, c->code->instructions[at].origin),
               control->stall);
    if (control->stall > NATIVE_MOST_STALL)
        REPORT(c, at, -1, "%s stalls for %d cycles, %d are the most", name_of(c, c->code->instructions[at].origin),
               control->stall, NATIVE_MOST_STALL);
    if (control->stall == 0 && !native_is_wall(&c->code->instructions[at]))
        REPORT(c, at, -1, "%s begins in the same cycle as the next one", name_of(c, c->code->instructions[at].origin));
    if (control->reuse && c->reports && native_keeps_stale(c->code, at, block->end))
        REPORT(c, at, -1, "%s keeps a register for reuse that is written before it is read again",
               name_of(c, c->code->instructions[at].origin));
}

/* ---- a block, and where ways meet ---- */

/* The state as it is seen so many cycles later. */
static void pass_cycles(struct state *s, int clock)
{
    for (int place = 0; place < NATIVE_REGISTERS_END; place++) {
        for (int port = 0; port < NATIVE_PORTS; port++)
            s->ready[place][port] = (short)int64_max(0, s->ready[place][port] - clock);
        s->written[place] = (short)int64_max(0, s->written[place] - clock);
        for (int row = 0; row < NATIVE_LATE_ROWS; row++)
            s->read[row][place] = (short)int64_max(0, s->read[row][place] - clock);
    }
    for (int k = 0; k < NATIVE_BOARDS; k++)
        s->board[k] = (short)int64_max(-BOARD_DELAY, s->board[k] - clock);
    for (int pipe = 0; pipe < PIPE_COUNT; pipe++)
        s->begun[pipe] = (short)int64_max(-MOST_SPACE, s->begun[pipe] - clock);
}

static void follow_block(struct checking *c, const struct native_block *block, struct state *s)
{
    int clock = 0;
    sum_pending(c, s);
    for (int i = block->first; i < block->end; i++) {
        const struct native_instruction *in = &c->code->instructions[i];
        take_waits(c, s, i, clock);
        check_flights(c, s, i, clock);
        check_ready(c, s, i, clock);
        check_bits(c, block, i);
        check_space(c, s, i, clock);
        s->begun[in->form->pipe] = (short)clock;
        forget_guards(c, s, in);
        take_writes(c, s, i, clock);
        begin_flight(c, s, i, clock);
        clock += in->control.stall > 0 ? in->control.stall : 1;
        if (clock > MOST_CLOCK) {
            pass_cycles(s, clock);
            clock = 0;
        }
    }
    pass_cycles(s, clock);
}

static bool raise(short *value, short to)
{
    bool higher = to > *value;
    *value = higher ? to : *value;
    return higher;
}

static bool join_flight(struct flight *into, const struct flight *from)
{
    struct flight before = *into;
    into->writes = !into->writes ? from->writes : !from->writes ? into->writes : into->writes & from->writes;
    into->reads = !into->reads ? from->reads : !from->reads ? into->reads : into->reads & from->reads;
    bool was = before.writes || before.reads, comes = from->writes || from->reads;
    into->guarded = was && comes ? into->guarded && from->guarded : comes ? from->guarded : into->guarded;
    return into->writes != before.writes || into->reads != before.reads || into->guarded != before.guarded;
}

static bool join(const struct checking *c, struct state *into, const struct state *from)
{
    bool changed = false;
    for (int place = 0; place < NATIVE_REGISTERS_END; place++) {
        for (int port = 0; port < NATIVE_PORTS; port++)
            changed |= raise(&into->ready[place][port], from->ready[place][port]);
        if (raise(&into->written[place], from->written[place]) || into->writer[place] < 0)
            into->writer[place] = from->writer[place];
        for (int row = 0; row < NATIVE_LATE_ROWS; row++)
            changed |= raise(&into->read[row][place], from->read[row][place]);
    }
    for (int k = 0; k < NATIVE_BOARDS; k++)
        changed |= raise(&into->board[k], from->board[k]);
    for (int pipe = 0; pipe < PIPE_COUNT; pipe++)
        changed |= raise(&into->begun[pipe], from->begun[pipe]);
    for (int v = 0; v < c->variable_count; v++)
        changed |= join_flight(&into->flights[v], &from->flights[v]);
    return changed;
}

static struct state *create_state(const struct checking *c, struct arena *arena)
{
    struct state *s = arena_alloc(arena, c->state_size);
    for (int place = 0; place < NATIVE_REGISTERS_END; place++)
        s->writer[place] = -1;
    for (int k = 0; k < NATIVE_BOARDS; k++)
        s->board[k] = -BOARD_DELAY;
    for (int pipe = 0; pipe < PIPE_COUNT; pipe++)
        s->begun[pipe] = -MOST_SPACE;
    return s;
}

static void begin_checking(struct checking *c, const struct native_code *code, struct arena *arena)
{
    struct native_instruction *known = ARENA_ARRAY(arena, struct native_instruction, code->count);
    *c = (struct checking){.code = code, .known = known};
    c->variables = ARENA_ARRAY(arena, int, code->count);
    c->number_of = ARENA_ARRAY(arena, int, code->count);
    for (int i = 0; i < code->count; i++) {
        const struct native_instruction *in = &code->instructions[i];
        known[in->origin] = *in;
        c->number_of[in->origin] = in->variable ? c->variable_count : -1;
        if (in->variable)
            c->variables[c->variable_count++] = in->origin;
    }
    for (int i = 0; i < code->count; i++) /* where one is missing, as when another is twice */
        known[i] = known[i].form ? known[i] : code->instructions[i];
    c->state_size = sizeof(struct state) + sizeof(struct flight) * (size_t)c->variable_count;
    native_latencies(code->architecture, c->latencies);
    for (int first = 0; first < PIPE_COUNT; first++)
        for (int second = 0; second < PIPE_COUNT; second++)
            c->spaces[second][first] = (short)native_space(code->architecture, (enum native_pipe)first,
                                                           (enum native_pipe)second);
}

/* ---- along all ways ---- */

/* A block of a function is followed once for each chain of calls that leads there: ways in and out of different calls do
 * not mix.  Chain 0: the kernel itself. */
struct chain {
    int before, call; /* the chain that the call is made in, and the block that ends with it */
};
struct native_proof {
    struct checking checking, *c;
    struct arena *arena;
    struct state *s, *joined;
    bool followed;
    size_t state_bytes;
    int chain_count;
    struct chain chains[MOST_CHAINS];
    struct state **entries[MOST_CHAINS]; /* of blocks; NULL: not reached */
    bool *waiting[MOST_CHAINS], changed;
};

/* False: there are too many states. */
static bool go_to(struct native_proof *w, int chain, int block, const struct state *s)
{
    struct state **entry = &w->entries[chain][block];
    bool is_new = !*entry;
    if (is_new) {
        w->state_bytes += w->c->state_size;
        if (w->state_bytes > MOST_STATES)
            return false;
        *entry = create_state(w->c, w->arena);
    }
    if (join(w->c, *entry, s) || is_new)
        w->waiting[chain][block] = w->changed = true;
    return true;
}

/* The number of a chain; -1: there are too many. */
static int add_chain(struct native_proof *w, int before, int call)
{
    for (int i = 1; i < w->chain_count; i++)
        if (w->chains[i].before == before && w->chains[i].call == call)
            return i;
    if (w->chain_count == MOST_CHAINS)
        return -1;
    w->chains[w->chain_count] = (struct chain){before, call};
    w->entries[w->chain_count] = ARENA_ARRAY(w->arena, struct state *, w->c->code->block_count);
    w->waiting[w->chain_count] = ARENA_ARRAY(w->arena, bool, w->c->code->block_count);
    return w->chain_count++;
}

/* False: calls are nested without end, or there are too many states. */
static bool leave_block(struct native_proof *w, int chain, int b, const struct state *s)
{
    const struct native_block *block = &w->c->code->blocks[b];
    if (block->returns && chain && !go_to(w, w->chains[chain].before, w->chains[chain].call + 1, s))
        return false;
    for (int k = 0; k < block->next_count; k++) {
        bool enters = block->call && block->next[k] != b + 1;
        int to = enters ? add_chain(w, chain, b) : chain;
        if (to < 0 || !go_to(w, to, block->next[k], s))
            return false;
    }
    return true;
}

static bool follow_all(struct native_proof *w, struct state *s)
{
    const struct native_code *code = w->c->code;
    for (w->changed = true; w->changed;) {
        w->changed = false;
        for (int chain = 0; chain < w->chain_count; chain++)
            for (int b = 0; b < code->block_count; b++) {
                if (!w->waiting[chain][b])
                    continue;
                w->waiting[chain][b] = false;
                memcpy(s, w->entries[chain][b], w->c->state_size);
                follow_block(w->c, &code->blocks[b], s);
                if (!leave_block(w, chain, b, s))
                    return false;
            }
    }
    return true;
}

/* Follows all ways from the beginning; what is found at the entries of blocks holds from then on. */
static struct native_proof *begin_proof(const struct native_code *code)
{
    struct arena *arena = arena_create();
    struct native_proof *w = ARENA_NEW(arena, struct native_proof);
    *w = (struct native_proof){.arena = arena, .c = &w->checking};
    begin_checking(w->c, code, arena);
    w->s = create_state(w->c, arena);
    w->joined = create_state(w->c, arena);
    add_chain(w, -1, -1);
    w->followed = go_to(w, 0, 0, w->s) && follow_all(w, w->s);
    return w;
}

static int count_faults(struct native_proof *w, int block, struct native_faults *faults)
{
    struct checking *c = w->c;
    c->reports = true;
    c->count = 0;
    c->faults = faults;
    for (int chain = 0; chain < w->chain_count; chain++)
        if (w->entries[chain][block])
            follow_block(c, &c->code->blocks[block], memcpy(w->s, w->entries[chain][block], c->state_size));
    c->reports = false;
    return c->count;
}

int native_check_times(const struct native_code *code, struct native_faults *faults)
{
    struct native_proof *w = begin_proof(code);
    int count = 0;
    if (!w->followed) {
        count = 1;
        w->c->reports = true;
        w->c->faults = faults;
        REPORT(w->c, 0, -1, "there are too many ways through it to follow");
    }
    for (int b = 0; w->followed && b < code->block_count; b++)
        count += count_faults(w, b, faults);
    arena_destroy(w->arena);
    return count;
}

/* ---- of a block that changed ---- */

struct native_proof *native_proof_create(const struct native_code *code)
{
    struct native_proof *w = begin_proof(code);
    int count = w->followed ? 0 : 1;
    for (int b = 0; w->followed && b < code->block_count; b++)
        count += count_faults(w, b, NULL);
    if (count == 0)
        return w;
    arena_destroy(w->arena);
    return NULL;
}

void native_proof_destroy(struct native_proof *proof)
{
    if (proof)
        arena_destroy(proof->arena);
}

/* Whether what holds at the entry of a block still does where the state also comes to it. */
static bool covers(struct native_proof *w, int chain, int block, const struct state *s)
{
    if (!w->entries[chain][block])
        return false;
    memcpy(w->joined, w->entries[chain][block], w->c->state_size);
    return !join(w->c, w->joined, s);
}

static bool covers_next(struct native_proof *w, int chain, int b)
{
    const struct native_block *block = &w->c->code->blocks[b];
    bool good = !(block->returns && chain) || covers(w, w->chains[chain].before, w->chains[chain].call + 1, w->s);
    for (int k = 0; good && k < block->next_count; k++) {
        bool enters = block->call && block->next[k] != b + 1;
        int to = enters ? add_chain(w, chain, b) : chain;
        good = to >= 0 && covers(w, to, block->next[k], w->s);
    }
    return good;
}

enum native_verdict native_proof_block(struct native_proof *proof, const struct native_code *code, int block,
                                       struct native_faults *faults)
{
    struct checking *c = proof->c;
    c->code = code;
    if (count_faults(proof, block, faults))
        return VERDICT_WRONG;
    for (int chain = 0; chain < proof->chain_count; chain++) {
        if (!proof->entries[chain][block])
            continue;
        memcpy(proof->s, proof->entries[chain][block], c->state_size);
        follow_block(c, &code->blocks[block], proof->s);
        if (!covers_next(proof, chain, block))
            return VERDICT_ELSEWHERE;
    }
    return VERDICT_RIGHT;
}
