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
    BOARD_DELAY = 2,      /* cycles until a wait sees that a scoreboard is busy */
    MOST_CLOCK = 1 << 14, /* where cycles are counted anew, so that they fit into a short */
    MOST_SPACE = 16,      /* above all rows of SPACE */
    CYCLES = NATIVE_REGISTERS_END * (NATIVE_PORTS + 2 + NATIVE_LATE_ROWS),
    PENDING = 0x80 /* beside the scoreboards of a flight */
};

struct flight {
    unsigned char writes, reads; /* PENDING and scoreboards */
    bool guarded;                /* its guard has the value that it had; false where it is none */
};

struct native_state {
    union {
        struct {
            short ready[NATIVE_REGISTERS_END][NATIVE_PORTS];
            short written[NATIVE_REGISTERS_END];                /* when a fixed write is done */
            short settled[NATIVE_REGISTERS_END];                /* from when one of variable time may write */
            short read[NATIVE_LATE_ROWS][NATIVE_REGISTERS_END]; /* until when a late reader needs it */
        };
        short cycles[CYCLES]; /* the same in a row */
    };
    int writer[NATIVE_REGISTERS_END]; /* the last, for the message; -1 */
    short begun[PIPE_COUNT];          /* when the last instruction of the pipe was */
    short board[NATIVE_BOARDS];       /* when it was set last */
    struct flight flights[];
};

/* Whether a fault is not only counted. */
static bool is_told(const struct native_checking *c) { return c->faults && c->faults->list.count < c->faults->limit; }

static void report(struct native_checking *c, int at, int other, int missing, const char *text)
{
    if (!c->reports)
        return;
    c->count++;
    if (is_told(c))
        vector_push(c->faults->arena, &c->faults->list, ((struct native_fault){at, other, missing, text}));
}

static const char *name_of(const struct native_checking *c, int origin)
{
    return arena_printf(c->faults->arena, "%s at %x", c->known[origin].form->name, (unsigned)origin * NATIVE_BYTES);
}

#define REPORT_MISSING(c, at, other, missing_cycles, ...)                                                          \
    do {                                                                                                           \
        if ((c)->reports)                                                                                          \
            report(c, at, other, missing_cycles, is_told(c) ? arena_printf((c)->faults->arena, __VA_ARGS__) : ""); \
    } while (0)

#define REPORT(c, at, other, ...) REPORT_MISSING(c, at, other, 0, __VA_ARGS__)

static const char *place_name(const struct native_checking *c, int place)
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

static bool is_flying(const struct flight *f) { return f->writes || f->reads; }

static void add_pending(struct native_checking *c, const struct flight *f, int v)
{
    for (int w = 0; w < NATIVE_WORDS; w++) {
        c->pending_writes.word[w] |= f->writes ? c->variables[v].writes.word[w] : 0;
        c->pending_reads.word[w] |= f->reads ? c->variables[v].reads.word[w] : 0;
    }
}

/* Those that are still in flight, and what they write and read. */
static void sum_flying(struct native_checking *c, const struct native_state *s)
{
    int count = 0;
    memset(&c->pending_writes, 0, sizeof c->pending_writes);
    memset(&c->pending_reads, 0, sizeof c->pending_reads);
    for (int i = 0; i < c->flying_count; i++) {
        int v = c->flying[i];
        if (!is_flying(&s->flights[v]))
            continue;
        c->flying[count++] = v;
        add_pending(c, &s->flights[v], v);
    }
    c->flying_count = count;
}

static void find_flying(struct native_checking *c, const struct native_state *s)
{
    c->flying_count = c->variable_count;
    for (int v = 0; v < c->variable_count; v++)
        c->flying[v] = v;
    sum_flying(c, s);
}

static void take_waits(struct native_checking *c, struct native_state *s, int at, int clock)
{
    unsigned waits = native_waits(&c->code->instructions[at]);
    if (!waits)
        return;
    for (int k = 0; k < NATIVE_BOARDS; k++)
        if (c->code->instructions[at].control.waits >> k & 1 && clock < s->board[k] + BOARD_DELAY)
            REPORT_MISSING(c, at, -1, 1, "%s waits for scoreboard %d, which was set in the cycle before",
                           name_of(c, c->code->instructions[at].origin), k);
    for (int i = 0; i < c->flying_count; i++) {
        struct flight *f = &s->flights[c->flying[i]];
        if (f->writes & waits)
            f->writes = f->reads = 0;
        if (f->reads & waits)
            f->reads = 0;
        f->guarded = f->guarded && is_flying(f);
    }
    sum_flying(c, s);
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
static int late_cycles(const struct native_state *s, const struct native_instruction *in, int place)
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
static bool follows_in_queue(const struct native_state *s, const struct native_instruction *in,
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

/* Results come in the order of the queue, so that the later one stays. */
static bool answers_behind(const struct native_instruction *in, const struct native_instruction *before)
{
    return in->ordered && before->ordered && in->form->queue == before->form->queue && in->form->queue != QUEUE_NONE;
}

/* What an operation in flight still writes is neither read nor written, and what it still reads is not written. */
static void check_flights(struct native_checking *c, const struct native_state *s, int at, int clock)
{
    const struct native_instruction *in = &c->code->instructions[at];
    if (!c->reports || !(native_meet(&in->reads, &c->pending_writes) || native_meet(&in->writes, &c->pending_writes) ||
                         native_meet(&in->writes, &c->pending_reads)))
        return;
    for (int i = 0; i < c->flying_count; i++) {
        const struct native_variable *variable = &c->variables[c->flying[i]];
        const struct flight *f = &s->flights[c->flying[i]];
        const struct native_instruction *other = &c->known[variable->origin];
        if (!is_flying(f) || (f->guarded && native_exclude(other, in)))
            continue;
        struct native_set read = native_both(&in->reads, &other->writes),
                          written = native_both(&in->writes, &other->writes),
                          over = native_both(&in->writes, &variable->reads);
        read = native_registers(&read), written = native_registers(&written);
        int place = f->writes ? native_first(&read) : -1;
        if (place >= 0)
            REPORT(c, at, variable->origin, "%s reads %s before %s is known to have written it",
                   name_of(c, c->code->instructions[at].origin), place_name(c, place), name_of(c, variable->origin));
        place = f->writes ? native_first(&written) : -1;
        if (place >= 0 && !answers_behind(in, other))
            REPORT(c, at, variable->origin, "%s writes %s before %s is known to have written it",
                   name_of(c, c->code->instructions[at].origin), place_name(c, place), name_of(c, variable->origin));
        place = f->reads ? native_first(&over) : -1;
        if (place >= 0 && !follows_in_queue(s, in, other, &over, clock))
            REPORT(c, at, variable->origin, "%s writes %s before %s is known to have read it",
                   name_of(c, c->code->instructions[at].origin), place_name(c, place), name_of(c, variable->origin));
    }
}

static unsigned board_bit(unsigned board) { return board < NATIVE_BOARDS ? 1u << board : 0; }

/* A later operation of a queue has begun, so its scoreboards also speak for those before it. */
static void cover_queue(struct native_checking *c, struct native_state *s, const struct native_instruction *in)
{
    unsigned write = board_bit(in->control.write_board), read = board_bit(in->control.read_board);
    for (int i = 0; i < c->flying_count; i++) {
        struct flight *f = &s->flights[c->flying[i]];
        const struct native_instruction *other = &c->known[c->variables[c->flying[i]].origin];
        if (other->form->queue != in->form->queue || in->form->queue == QUEUE_NONE)
            continue;
        if (f->writes && other->ordered && in->ordered)
            f->writes |= (unsigned char)write;
        if (f->reads)
            f->reads |= (unsigned char)(write | read);
    }
}

static void begin_flight(struct native_checking *c, struct native_state *s, int at, int clock)
{
    const struct native_instruction *in = &c->code->instructions[at];
    unsigned boards[2] = {in->control.write_board, in->control.read_board};
    for (int i = 0; i < 2; i++)
        if (boards[i] < NATIVE_BOARDS)
            s->board[boards[i]] = (short)(in->control.stall ? clock : -BOARD_DELAY);
    if (!in->variable)
        return;
    cover_queue(c, s, in);
    int v = c->number_of[in->origin];
    struct flight *f = &s->flights[v];
    unsigned own = board_bit(boards[0]);
    bool flew = is_flying(f);
    f->writes = native_first(&c->variables[v].writes) >= 0 ? (unsigned char)(PENDING | own) : 0;
    f->reads = native_first(&c->variables[v].reads) >= 0 ? (unsigned char)(PENDING | own | board_bit(boards[1])) : 0;
    f->guarded = in->guard >= 0 && is_flying(f);
    if (!flew && is_flying(f))
        c->flying[c->flying_count++] = v;
    add_pending(c, f, v);
    if (flew)
        sum_flying(c, s);
}

static void forget_guards(struct native_checking *c, struct native_state *s, const struct native_instruction *in)
{
    for (int i = 0; i < c->flying_count; i++) {
        int guard = c->known[c->variables[c->flying[i]].origin].guard;
        if (guard >= 0 && native_has(&in->writes, guard))
            s->flights[c->flying[i]].guarded = false;
    }
}

/* ---- fixed times ---- */

static const short *times_of(const struct native_checking *c, const struct native_instruction *in, int place)
{
    return c->latencies[in->form->pipe][native_kind_written(in, place)];
}

static bool is_uniform(int place) { return native_kind(place) == KIND_UR || native_kind(place) == KIND_UP; }

/* Cycles that ptxas leaves from a write of fixed time to one of variable time, though that answers much later. */
static int variable_behind(int place) { return is_uniform(place) ? 4 : 6; }

static int own_latency(const struct native_checking *c, const struct native_instruction *in, int place)
{
    return times_of(c, in, place)[is_uniform(place) ? PIPE_UNIFORM : PIPE_ALU];
}

/* The cycle from which it may write a place, by what wrote it before. */
static int may_write(const struct native_checking *c, const struct native_state *s, const struct native_instruction *in,
                     int place)
{
    return in->variable ? s->settled[place] : s->written[place] - own_latency(c, in, place);
}

static void check_ready(struct native_checking *c, const struct native_state *s, int at, int clock)
{
    const struct native_instruction *in = &c->code->instructions[at];
    if (!c->reports)
        return;
    FOR_PLACES(&in->reads, place)
    {
        int port = native_port(in, place), missing = s->ready[place][port] - clock;
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
        int missing = may_write(c, s, in, place) - clock, late = in->variable ? 0 : late_cycles(s, in, place) - clock;
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

static void take_writes(struct native_checking *c, struct native_state *s, int at, int clock)
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
        s->settled[place] = (short)(variable ? 0 : clock + variable_behind(place));
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
            int first = next->slots[slot], end_of_source = first + next->widths[slot];
            if (first >= 0 && place >= first && place < end_of_source) {
                if (changed)
                    return true;
                break;
            }
            if (first >= 0 && (first % BANKS == place % BANKS || next->widths[slot] > 1))
                break;
            changed = changed || native_has(&next->writes, place);
        }
    }
    return false;
}

/* Pipes that are busy with an instruction, or would answer two in one cycle. */
static void check_space(struct native_checking *c, const struct native_state *s, int at, int clock)
{
    const struct native_instruction *in = &c->code->instructions[at];
    for (int pipe = 0; pipe < PIPE_COUNT; pipe++) {
        int missing = s->begun[pipe] + c->spaces[in->form->pipe][pipe] - clock;
        if (missing > 0)
            REPORT_MISSING(c, at, -1, missing, "%s begins %d cycles too early behind one of the pipe %s",
                           name_of(c, in->origin), missing, native_pipe_names[pipe]);
    }
}

static void check_bits(struct native_checking *c, const struct native_block *block, int at)
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
static void pass_cycles(struct native_state *s, int clock)
{
    for (int i = 0; i < CYCLES; i++) {
        short rest = (short)(s->cycles[i] - clock);
        s->cycles[i] = rest > 0 ? rest : 0;
    }
    for (int k = 0; k < NATIVE_BOARDS; k++)
        s->board[k] = (short)int64_max(-BOARD_DELAY, s->board[k] - clock);
    for (int pipe = 0; pipe < PIPE_COUNT; pipe++)
        s->begun[pipe] = (short)int64_max(-MOST_SPACE, s->begun[pipe] - clock);
}

void native_follow_block(struct native_checking *c, const struct native_block *block, struct native_state *s)
{
    int clock = 0;
    find_flying(c, s);
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

static struct flight join_flights(struct flight a, struct flight b)
{
    bool a_flies = is_flying(&a), b_flies = is_flying(&b);
    return (struct flight){
        .writes = !a.writes   ? b.writes
                  : !b.writes ? a.writes
                              : a.writes & b.writes,
        .reads = !a.reads   ? b.reads
                 : !b.reads ? a.reads
                            : a.reads & b.reads,
        .guarded = a_flies && b_flies ? a.guarded && b.guarded
                   : b_flies          ? b.guarded
                                      : a.guarded,
    };
}

static bool is_below(const short *a, const short *b, int count)
{
    bool above = false;
    for (int i = 0; i < count; i++)
        above |= a[i] > b[i];
    return !above;
}

static void raise(short *values, const short *to, int count)
{
    for (int i = 0; i < count; i++)
        values[i] = to[i] > values[i] ? to[i] : values[i];
}

bool native_covers(const struct native_checking *c, const struct native_state *a, const struct native_state *b)
{
    if (!is_below(b->cycles, a->cycles, CYCLES) || !is_below(b->board, a->board, NATIVE_BOARDS) ||
        !is_below(b->begun, a->begun, PIPE_COUNT))
        return false;
    for (int v = 0; v < c->variable_count; v++) {
        struct flight had = a->flights[v], both = join_flights(had, b->flights[v]);
        if (both.writes != had.writes || both.reads != had.reads || both.guarded != had.guarded)
            return false;
    }
    return true;
}

void native_join(const struct native_checking *c, struct native_state *into, const struct native_state *from)
{
    for (int place = 0; place < NATIVE_REGISTERS_END; place++)
        if (from->written[place] > into->written[place] || into->writer[place] < 0)
            into->writer[place] = from->writer[place];
    raise(into->cycles, from->cycles, CYCLES);
    raise(into->board, from->board, NATIVE_BOARDS);
    raise(into->begun, from->begun, PIPE_COUNT);
    for (int v = 0; v < c->variable_count; v++)
        into->flights[v] = join_flights(into->flights[v], from->flights[v]);
}

void native_begin_state(const struct native_checking *c, struct native_state *s)
{
    memset(s, 0, c->state_size);
    for (int place = 0; place < NATIVE_REGISTERS_END; place++)
        s->writer[place] = -1;
    for (int k = 0; k < NATIVE_BOARDS; k++)
        s->board[k] = -BOARD_DELAY;
    for (int pipe = 0; pipe < PIPE_COUNT; pipe++)
        s->begun[pipe] = -MOST_SPACE;
}

void native_begin_checking(struct native_checking *c, const struct native_code *code, struct arena *arena)
{
    struct native_instruction *known = ARENA_ARRAY(arena, struct native_instruction, code->count);
    *c = (struct native_checking){.code = code, .known = known};
    c->variables = ARENA_ARRAY(arena, struct native_variable, code->count);
    c->flying = ARENA_ARRAY(arena, int, code->count);
    c->number_of = ARENA_ARRAY(arena, int, code->count);
    for (int i = 0; i < code->count; i++) {
        const struct native_instruction *in = &code->instructions[i];
        known[in->origin] = *in;
        c->number_of[in->origin] = in->variable ? c->variable_count : -1;
        if (in->variable)
            c->variables[c->variable_count++] = (struct native_variable){in->origin, native_registers(&in->writes),
                                                                         late_reads(in)};
    }
    for (int i = 0; i < code->count; i++) /* where one is missing, as when another is twice */
        known[i] = known[i].form ? known[i] : code->instructions[i];
    c->state_size = sizeof(struct native_state) + sizeof(struct flight) * (size_t)c->variable_count;
    native_latencies(code->architecture, c->latencies);
    for (int first = 0; first < PIPE_COUNT; first++)
        for (int second = 0; second < PIPE_COUNT; second++)
            c->spaces[second][first] = (short)native_space(code->architecture, (enum native_pipe)first,
                                                           (enum native_pipe)second);
}
