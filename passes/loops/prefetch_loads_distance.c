/* How far ahead prefetch_loads makes each load.
 *
 * The question is one of timing.  loop_model gives a model of a block that issues operations in order: when each
 * operation of an iteration starts, and how long an iteration takes.  From it the distances are found in four steps.
 *
 *   1. When is each value wanted?  The steps go backwards through the iteration: an operation wants its operands when it
 *      starts itself.  Operations that only serve loads move with the load that they serve.
 *   2. A load whose result is wanted before its latency is over is made earlier: by as many iterations as cover the rest
 *      of the latency.  If less than one iteration is missing, it moves to the top of its own iteration.
 *   3. A load whose place comes from another load, as x[index[j]], cannot be farther ahead than that load.  Where the two
 *      do not fit one behind the other, each gets half of the distance.
 *   4. Each iteration ahead costs the registers of the load's result.  While registers are missing anywhere in the loop,
 *      the load that costs most takes a step back: it is made behind the last use of the result before it, so that the
 *      two share registers, or one iteration later, or it stays where it is.
 *
 * Then the whole is done again from step 2, until the registers suffice.  Where registers are missing even if every
 * load stays, no step back would help, and loads of tiles stay.  Numbers come one iteration ahead there too: a register
 * each decides nothing, and the wait for one is as long as that for a tile. */
#include "passes/layout/memory_access.h"
#include "passes/base/rewrite.h"
#include "passes/loops/prefetch_loads.h"

#include <string.h>

enum {
    MOST_SHIFTED = 32, /* registers that change places in each iteration, where a load is more than one ahead */
    FEW_REGISTERS = 8,
    MOST_TOGETHER = 4,
    MOST_OPERATIONS = 80,
    SPARE_TOGETHER = 24,
    ENOUGH_BYTES = 32 * 1024 /* on their way to a multiprocessor keep its share of the memory busy */
};

/* ---- when values are wanted ---- */

struct user {
    int position;
    const struct user *next;
};
struct timing {
    struct loop_model model;
    double *wanted;            /* by position: its operands; of one that runs ahead, before 0 */
    const struct user **users; /* by position: where its results are used */
    uint64_t **needs;          /* by position: a bit for each load whose result it, or what it uses, comes from */
    uint64_t **needed;         /* by load: the loads that need it */
    int words;                 /* of such a set */
    VECTOR(int) moving;        /* loads, and what may stand where they stand; in text order */
};

static bool is_ahead(const struct ir_operation *op, const void *context) { return prefetch_plans(context, op); }

static bool has_bit(const uint64_t *set, int bit) { return set[bit / 64] >> bit % 64 & 1; }

struct finding {
    struct arena *arena;
    struct timing *timing;
    const int *made; /* by value id: one more than the position that makes it; 0: none of the body */
    int position;
};

/* What lies in regions counts as what holds it. */
static void add_user(struct ir_operation *op, void *data)
{
    struct finding *f = data;
    for (int i = 0; i < op->operand_count; i++) {
        int maker = f->made[op->operands[i]->id] - 1;
        if (maker < 0 || (f->timing->users[maker] && f->timing->users[maker]->position == f->position))
            continue;
        struct user *user = ARENA_NEW(f->arena, struct user);
        *user = (struct user){f->position, f->timing->users[maker]};
        f->timing->users[maker] = user;
    }
}

static void find_users(const struct prefetch *s, struct timing *t)
{
    struct arena *arena = s->context->arena;
    int *made = ARENA_ARRAY(arena, int, s->function->next_value_id), next = 0;
    t->users = ARENA_ARRAY(arena, const struct user *, t->model.count);
    t->needs = ARENA_ARRAY(arena, uint64_t *, t->model.count);
    t->words = s->loads.count / 64 + 1;
    for (int i = 0; i < t->model.count; i++) {
        struct ir_operation *op = t->model.operations[i].operation;
        struct finding finding = {arena, t, made, i};
        t->needs[i] = ARENA_ARRAY(arena, uint64_t, t->words);
        for (int k = 0; k < op->operand_count; k++) {
            int maker = made[op->operands[k]->id] - 1;
            for (int w = 0; maker >= 0 && w < t->words; w++)
                t->needs[i][w] |= t->needs[maker][w];
        }
        if (next < s->loads.count && s->loads.data[next].load == op) {
            t->needs[i][next / 64] |= (uint64_t)1 << next % 64;
            next++;
        }
        add_user(op, &finding);
        for (int r = 0; r < op->region_count; r++)
            ir_walk(op->regions[r], add_user, &finding);
        for (int r = 0; r < op->result_count; r++)
            made[op->results[r]->id] = i + 1;
    }
    t->needed = ARENA_ARRAY(arena, uint64_t *, s->loads.count);
    for (int i = 0; i < s->loads.count; i++)
        t->needed[i] = ARENA_ARRAY(arena, uint64_t, t->words);
    for (int i = 0; i < s->loads.count; i++)
        for (int k = 0; k < i; k++)
            if (has_bit(t->needs[s->loads.data[i].position], k))
                t->needed[k][i / 64] |= (uint64_t)1 << i % 64;
}

/* Loads that can run ahead are there from the start.  What only serves loads may stand where they stand: with anything
 * else, what an operation wants stays when it starts. */
static void run_model(const struct prefetch *s, struct timing *t)
{
    t->model = loop_model_make(s->context->arena, s->context->target, s->body, is_ahead, s);
    t->wanted = ARENA_ARRAY(s->context->arena, double, t->model.count);
    find_users(s, t);
    bool *moves = ARENA_ARRAY(s->context->arena, bool, t->model.count);
    int next = s->loads.count - 1;
    for (int i = t->model.count - 1; i >= 0; i--) {
        const struct ir_operation *op = t->model.operations[i].operation;
        bool load = next >= 0 && s->loads.data[next].load == op, serves = false;
        for (const struct user *user = t->users[i]; user; user = user->next)
            serves |= moves[user->position];
        t->wanted[i] = t->model.operations[i].start;
        moves[i] = load || (serves && prefetch_is_plain(op));
        next -= load;
    }
    for (int i = 0; i < t->model.count; i++)
        if (moves[i])
            vector_push(s->context->arena, &t->moving, i);
}

/* When the first user wants the value of the operation at `position`. */
static double first_wanted(const struct timing *t, int position)
{
    double first = t->model.iteration;
    for (const struct user *user = t->users[position]; user; user = user->next)
        if (t->wanted[user->position] < first)
            first = t->wanted[user->position];
    return first;
}

/* The last product by wgmma of a tile that the loop stores for it.  In front of it there is a fence, which waits for
 * every load that is on its way, so that loads ahead had better start behind it.  Not where one gives the place of
 * another: these stand in order. */
static struct ir_operation *find_fenced(const struct prefetch *s, const struct timing *t)
{
    struct ir_operation *found = NULL;
    bool stored = false;
    for (struct ir_operation *op = s->body->first; op; op = op->next) {
        bool wgmma = ir_number(op, IR_ATTRIBUTE_INSTRUCTION, IR_INSTRUCTION_FMA) == IR_INSTRUCTION_WGMMA;
        stored |= op->opcode == OP_BUFFER_STORE;
        if (stored && op->opcode == OP_DOT_ASYNC && wgmma)
            found = op;
    }
    for (int i = 0; i < s->loads.count && found; i++)
        for (int k = 0; k < s->loads.count; k++)
            if (k != i && has_bit(t->needs[s->loads.data[i].position], k))
                return NULL;
    return found;
}

/* Cycles from the top of an iteration to the loads of coming ones. */
static double start_of_loads(const struct prefetch *s, const struct timing *t)
{
    return s->fenced ? t->model.operations[loop_model_position(&t->model, s->fenced)].start : 0;
}

/* Backwards: what an operation wants, its operands must give in time. */
static void choose_distances(struct prefetch *s, struct timing *t)
{
    int next = s->loads.count - 1;
    for (int m = t->moving.count - 1; m >= 0; m--) {
        int i = t->moving.data[m];
        const struct ir_operation *op = t->model.operations[i].operation;
        double first = first_wanted(t, i);
        t->wanted[i] = t->model.operations[i].start;
        if (next < 0 || s->loads.data[next].load != op) {
            /* an operation that only serves loads ahead stands where they stand */
            if (first < t->model.operations[i].start)
                t->wanted[i] = first;
            continue;
        }
        struct scheduled_load *load = &s->loads.data[next--];
        struct loop_cost cost = t->model.operations[i].cost;
        load->distance = 0;
        load->early = load->late = false;
        if (t->model.operations[i].start + cost.latency <= first || load->most < 0)
            continue;
        double beyond = cost.latency - first + start_of_loads(s, t);
        while (load->distance < load->most && load->distance * t->model.iteration < beyond)
            load->distance++;
        load->early = load->distance == 0;
        while (load->distance > 1 && load->distance * load->registers > MOST_SHIFTED)
            load->distance--;
        t->wanted[i] = -load->distance * t->model.iteration;
    }
}

/* A load whose place another load gives follows that one; where that is not as far ahead as both need, each gets half
 * of what there is. */
static void follow_places(struct prefetch *s, const struct timing *t)
{
    s->distance = 0;
    for (int i = 0; i < s->loads.count; i++) {
        struct scheduled_load *load = &s->loads.data[i];
        for (int k = 0; k < i; k++) {
            const struct scheduled_load *place = &s->loads.data[k];
            if (!has_bit(t->needs[load->position], k))
                continue;
            double latency = t->model.operations[place->position].cost.latency;
            int most = place->distance;
            if ((most - load->distance) * t->model.iteration < latency)
                most /= 2;
            if (load->distance > most) {
                load->distance = most;
                load->early = most == 0;
            }
            if (place->distance == 0 && !place->early)
                load->early = false;
        }
        if (load->distance > s->distance)
            s->distance = load->distance;
    }
}

/* ---- registers ---- */

/* Behind its last use of the iteration before, if what follows there covers the latency, or where registers are short a
 * part of it that is worth it. */
static bool make_late(struct prefetch *s, const struct timing *t, struct scheduled_load *load)
{
    int last = -1;
    const uint64_t *needs = t->needs[load->position], *needed = t->needed[load - s->loads.data];
    for (int i = 0; i < s->loads.count; i++) { /* those that it needs, or that need it, stand at the top */
        const struct scheduled_load *other = &s->loads.data[i];
        if (other != load && ((other->late && has_bit(needs, i)) || (other->distance > 0 && has_bit(needed, i))))
            return false;
    }
    for (const struct user *user = t->users[load->position]; user; user = user->next)
        last = user->position > last ? user->position : last;
    int fenced = s->fenced ? loop_model_position(&t->model, s->fenced) : -1;
    last = last >= 0 && fenced > last ? fenced : last;
    if (last < 0 || last >= t->model.count - 1)
        return false;
    double left = t->model.iteration - t->model.operations[last].start - t->model.operations[last].cost.issue;
    if ((load->short_of_registers ? 4 : 1) * left < t->model.operations[load->position].cost.latency)
        return false;
    load->late = true;
    load->behind = t->model.operations[last].operation;
    load->behind_position = last;
    return true;
}

/* Registers that loads take beyond those of the loop as it was, while each operation works: a load was made at its
 * place, and died behind its last use there. */
static void count_ahead(const struct prefetch *s, const struct timing *t, int *ahead)
{
    int count = t->model.count;
    memset(ahead, 0, ((size_t)count + 1) * sizeof *ahead);
    for (int k = 0; k < s->loads.count; k++) {
        const struct scheduled_load *load = &s->loads.data[k];
        ahead[0] += (load->distance * !load->late + 1) * load->registers;
        ahead[load->position] -= load->registers;
        if (load->late)
            ahead[load->behind_position + 1] += load->registers;
    }
    for (int i = 1; i < count; i++)
        ahead[i] += ahead[i - 1];
}

/* The most registers that are missing anywhere; `ahead` is scratch. */
static int missing_registers(const struct prefetch *s, const struct timing *t, const int *taken, int most, int *ahead)
{
    int missing = 0;
    count_ahead(s, t, ahead);
    for (int i = 0; i < t->model.count; i++)
        if (ahead[i] && taken[i] + ahead[i] - most > missing)
            missing = taken[i] + ahead[i] - most;
    return missing;
}

/* Takes a step back from the load that costs most; false: none costs anything. */
static bool step_back(struct prefetch *s, int missing, int most)
{
    struct scheduled_load *widest = NULL;
    int cost = 0;
    for (int i = 0; i < s->loads.count; i++) {
        struct scheduled_load *load = &s->loads.data[i];
        int each = (load->distance + load->early) * load->registers;
        if (each > cost) {
            widest = load;
            cost = each;
        }
    }
    if (!widest)
        return false;
    widest->problem = arena_printf(s->context->arena,
                                   "with it tiles would take %d registers at once, and the loop has %d for them",
                                   missing + most, most);
    if (widest->distance == 1 && !widest->short_of_registers)
        widest->short_of_registers = true;
    else
        widest->most = widest->distance - 1;
    return true;
}

static void choose(struct prefetch *s, struct timing *t)
{
    choose_distances(s, t);
    follow_places(s, t);
    for (int i = 0; i < s->loads.count; i++) {
        struct scheduled_load *load = &s->loads.data[i];
        if (load->distance == 1 && (load->registers >= FEW_REGISTERS || load->short_of_registers))
            make_late(s, t, load);
    }
}

/* The registers that are missing even where all loads that take any stay: no step back would help. */
static int missing_where_all_stay(struct prefetch *s, const struct timing *t, const int *taken, int most, int *ahead)
{
    for (int i = 0; i < s->loads.count; i++) {
        s->loads.data[i].distance = 0;
        s->loads.data[i].early = s->loads.data[i].late = false;
    }
    return missing_registers(s, t, taken, most, ahead);
}

/* Distances that the registers can pay for. */
static void fit_registers(struct prefetch *s, struct timing *t, const int *taken)
{
    int most = loop_model_registers(s->function, s->context->target, s->loop, s->body) - LOOP_MODEL_SPARE;
    int *ahead = ARENA_ARRAY(s->context->arena, int, t->model.count + 1);
    int hopeless = missing_where_all_stay(s, t, taken, most, ahead);
    if (hopeless) {
        choose(s, t);
        for (int i = 0; i < s->loads.count; i++) {
            struct scheduled_load *load = &s->loads.data[i];
            if (load->load->results[0]->type->rank == 0) {
                load->registers = 0;
                load->most = (int)int64_min(load->most, 1);
            } else if (load->registers && (load->distance || load->early)) {
                load->problem = arena_printf(s->context->arena,
                                             "without it tiles take %d registers at once, and the loop has %d for them",
                                             hopeless + most, most);
                load->most = -1;
            }
        }
    }
    int missing;
    do {
        choose(s, t);
        missing = missing_registers(s, t, taken, most, ahead);
    } while (missing && step_back(s, missing, most));
}

static double latency_of(const struct prefetch *s, int load)
{
    return loop_cost_of(s->loads.data[load].load, s->context->target).latency;
}

/* How many iterations together cover the latency of their loads, and have registers for them: a power of two.  No more
 * than it takes to keep memory busy: the registers are other blocks' too. */
static int choose_together(struct prefetch *s, const struct timing *t, const int *taken)
{
    int room = loop_model_registers(s->function, s->context->target, s->loop, s->body) - SPARE_TOGETHER;
    int registers = 0, most = 0, together = 1;
    int asked = s->function->stages > 0 ? s->function->stages
                                        : ir_choose_among(s->function->stages_among, MOST_TOGETHER);
    int stages = asked < MOST_TOGETHER ? asked : MOST_TOGETHER;
    double latency = 0;
    for (int i = 0; i < t->model.count; i++)
        most = (int)int64_max(most, taken[i]);
    for (int i = 0; i < s->loads.count; i++) {
        registers += s->loads.data[i].registers;
        latency = latency_of(s, i) > latency ? latency_of(s, i) : latency;
    }
    if (t->model.count > MOST_OPERATIONS || 2 * t->model.iteration > latency)
        return 1;
    int64_t bytes = (int64_t)registers * 4 * 32 * s->function->warps; /* of a block */
    while (2 * together <= stages && together * t->model.iteration < latency && together * bytes < ENOUGH_BYTES &&
           most + (2 * together - 1) * registers <= room)
        together *= 2;
    return together;
}

void prefetch_plan(struct prefetch *s)
{
    struct timing timing = {0};
    const int *taken = prefetch_pressure(s->context->arena, s->body);
    run_model(s, &timing);
    s->fenced = find_fenced(s, &timing);
    int together = choose_together(s, &timing, taken);
    while (together > 1 && !prefetch_can_be_together(s, together))
        together /= 2;
    s->together = together;
    if (together > 1)
        return;
    for (int i = 0; i < s->loads.count; i++) { /* what changes places in each iteration waits for what is on its way */
        struct scheduled_load *load = &s->loads.data[i];
        if (s->loop->opcode == OP_WHILE || 2 * timing.model.iteration >= latency_of(s, i))
            continue;
        load->most = -1;
        load->problem = "iterations are too short to carry it round; what they load, registers or ranges do not allow "
                        "more of them together";
    }
    fit_registers(s, &timing, taken);
}
