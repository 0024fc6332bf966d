/* How far ahead schedule makes each load: a model of one block that issues in order, backwards from when results are
 * wanted, within the registers that there are. */
#include "passes/memory_access.h"
#include "passes/rewrite.h"
#include "passes/schedule.h"

enum {
    MOST_SHIFTED = 32, /* registers that change places in each iteration, where a load is more than one ahead */
    FEW_REGISTERS = 8,
    MOST_TOGETHER = 4, MOST_OPERATIONS = 80, SPARE_TOGETHER = 24,
    ENOUGH_BYTES = 32 * 1024 /* on their way to a multiprocessor keep its share of the memory busy */
};

/* ---- when values are wanted ---- */

struct timing {
    struct loop_plan plan;
    double *wanted;                 /* by position: its operands; of one that runs ahead, before 0 */
};

static bool is_ahead(const struct ir_operation *op, const void *context) { return schedule_plans(context, op); }

/* Loads that can run ahead are there from the start. */
static void run_model(const struct schedule *s, struct timing *t)
{
    t->plan = loop_plan_make(s->context->arena, s->context->target, s->body, is_ahead, s);
    t->wanted = ARENA_ARRAY(s->context->arena, double, t->plan.count);
}

/* When the first user wants the value of the operation at `position`; users that lie in regions count as what holds
 * them. */
static double first_wanted(const struct timing *t, int position)
{
    double first = t->plan.iteration;
    for (int r = 0; r < t->plan.operations[position].operation->result_count; r++)
        for (const struct ir_use *use = t->plan.operations[position].operation->results[r]->uses; use;
             use = use->next) {
            int user = loop_plan_position(&t->plan, use->user);
            if (user > position && t->wanted[user] < first)
                first = t->wanted[user];
        }
    return first;
}

static bool depends_on(const struct schedule *s, const struct ir_value *value, const struct ir_operation *load)
{
    const struct ir_operation *op = value->definition;
    if (op == load)
        return true;
    if (!op || op->block != s->body)
        return false;
    for (int i = 0; i < op->operand_count; i++)
        if (depends_on(s, op->operands[i], load))
            return true;
    return false;
}

static bool load_depends_on(const struct schedule *s, const struct ir_operation *op, const struct ir_operation *load)
{
    for (int i = 0; i < op->operand_count; i++)
        if (depends_on(s, op->operands[i], load))
            return true;
    return false;
}

/* Backwards: what an operation wants, its operands must give in time. */
static void choose_distances(struct schedule *s, struct timing *t)
{
    int next = s->loads.count - 1;
    for (int i = t->plan.count - 1; i >= 0; i--) {
        const struct ir_operation *op = t->plan.operations[i].operation;
        double first = first_wanted(t, i);
        t->wanted[i] = t->plan.operations[i].start;
        if (next < 0 || s->loads.data[next].load != op) {
            /* an operation that only serves loads ahead stands where they stand */
            if (first < t->plan.operations[i].start && schedule_is_plain(op))
                t->wanted[i] = first;
            continue;
        }
        struct scheduled_load *load = &s->loads.data[next--];
        struct schedule_cost cost = schedule_cost_of(op, s->context->target);
        load->distance = 0;
        load->early = load->late = false;
        if (t->plan.operations[i].start + cost.latency <= first || load->most < 0)
            continue;
        double beyond = cost.latency - first; /* when made at the top of the iteration */
        while (load->distance < load->most && load->distance * t->plan.iteration < beyond)
            load->distance++;
        load->early = load->distance == 0;
        while (load->distance > 1 && load->distance * load->registers > MOST_SHIFTED)
            load->distance--;
        t->wanted[i] = -load->distance * t->plan.iteration;
    }
}

/* A load whose place another load gives follows that one; where that is not as far ahead as both need, each gets half
 * of what there is. */
static void follow_places(struct schedule *s, const struct timing *t)
{
    s->distance = 0;
    for (int i = 0; i < s->loads.count; i++) {
        struct scheduled_load *load = &s->loads.data[i];
        for (int k = 0; k < i; k++) {
            const struct scheduled_load *place = &s->loads.data[k];
            if (!load_depends_on(s, load->load, place->load))
                continue;
            double latency = schedule_cost_of(place->load, s->context->target).latency;
            int most = place->distance;
            if ((most - load->distance) * t->plan.iteration < latency)
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
static bool make_late(struct schedule *s, const struct timing *t, struct scheduled_load *load)
{
    int last = -1;
    for (int i = 0; i < s->loads.count; i++) { /* those that it needs, or that need it, stand at the top */
        const struct scheduled_load *other = &s->loads.data[i];
        if (other != load && ((other->late && load_depends_on(s, load->load, other->load)) ||
                              (other->distance > 0 && load_depends_on(s, other->load, load->load))))
            return false;
    }
    for (const struct ir_use *use = load->load->results[0]->uses; use; use = use->next) {
        int user = loop_plan_position(&t->plan, use->user);
        last = user > last ? user : last;
    }
    if (last < 0 || last >= t->plan.count - 1)
        return false;
    double left = t->plan.iteration - t->plan.operations[last].start - t->plan.operations[last].cost.issue;
    if ((load->short_of_registers ? 4 : 1) * left < schedule_cost_of(load->load, s->context->target).latency)
        return false;
    load->late = true;
    load->behind = t->plan.operations[last].operation;
    load->behind_position = last;
    return true;
}

/* Registers that a load takes beyond those of the loop as it was, while the operation at `position` works: it was made
 * at its place, and died behind its last use there. */
static int registers_ahead(const struct scheduled_load *load, int position)
{
    if (load->late)
        return position > load->behind_position || position < load->position ? load->registers : 0;
    if (load->early)
        return position < load->position ? load->registers : 0;
    return (load->distance + (position < load->position)) * load->registers;
}

/* The most registers that are missing anywhere. */
static int missing_registers(const struct schedule *s, const struct timing *t, const int *taken, int most)
{
    int missing = 0;
    for (int i = 0; i < t->plan.count; i++) {
        int sum = taken[i], ahead = 0;
        for (int k = 0; k < s->loads.count; k++)
            ahead += registers_ahead(&s->loads.data[k], i);
        if (ahead && sum + ahead - most > missing)
            missing = sum + ahead - most;
    }
    return missing;
}

/* Takes a step back from the load that costs most; false: none costs anything. */
static bool step_back(struct schedule *s)
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
    widest->problem = "there are no registers for it";
    if (widest->distance == 1 && !widest->short_of_registers)
        widest->short_of_registers = true;
    else
        widest->most = widest->distance - 1;
    return true;
}

/* Distances that the registers can pay for. */
static void fit_registers(struct schedule *s, struct timing *t, const int *taken)
{
    int most = loop_plan_registers(s->function, s->loop, s->body) - LOOP_PLAN_SPARE;
    do {
        choose_distances(s, t);
        follow_places(s, t);
        for (int i = 0; i < s->loads.count; i++) {
            struct scheduled_load *load = &s->loads.data[i];
            if (load->distance == 1 && (load->registers >= FEW_REGISTERS || load->short_of_registers))
                make_late(s, t, load);
        }
    } while (missing_registers(s, t, taken, most) && step_back(s));
}

static double latency_of(const struct schedule *s, int load)
{
    return schedule_cost_of(s->loads.data[load].load, s->context->target).latency;
}

/* How many iterations together cover the latency of their loads, and have registers for them: a power of two.  No more
 * than it takes to keep memory busy: the registers are other blocks' too. */
static int choose_together(struct schedule *s, const struct timing *t, const int *taken)
{
    int room = loop_plan_registers(s->function, s->loop, s->body) - SPARE_TOGETHER;
    int registers = 0, most = 0, together = 1;
    int stages = s->function->stages > 0 && s->function->stages < MOST_TOGETHER ? s->function->stages : MOST_TOGETHER;
    double latency = 0;
    for (int i = 0; i < t->plan.count; i++)
        most = (int)int64_max(most, taken[i]);
    for (int i = 0; i < s->loads.count; i++) {
        registers += s->loads.data[i].registers;
        latency = latency_of(s, i) > latency ? latency_of(s, i) : latency;
    }
    if (t->plan.count > MOST_OPERATIONS || 2 * t->plan.iteration > latency)
        return 1;
    int64_t bytes = (int64_t)registers * 4 * 32 * s->function->warps; /* of a block */
    while (2 * together <= stages && together * t->plan.iteration < latency && together * bytes < ENOUGH_BYTES &&
           most + (2 * together - 1) * registers <= room)
        together *= 2;
    return together;
}

void schedule_plan(struct schedule *s)
{
    struct timing timing = { 0 };
    const int *taken = schedule_pressure(s->context->arena, s->body);
    run_model(s, &timing);
    int together = choose_together(s, &timing, taken);
    while (together > 1 && !schedule_can_be_together(s, together))
        together /= 2;
    s->together = together;
    if (together > 1)
        return;
    for (int i = 0; i < s->loads.count; i++) { /* what changes places in each iteration waits for what is on its way */
        struct scheduled_load *load = &s->loads.data[i];
        if (s->loop->opcode == OP_WHILE || 2 * timing.plan.iteration >= latency_of(s, i))
            continue;
        load->most = -1;
        load->problem = "iterations are too short to carry it round; what they load, registers or ranges do not allow "
                        "more of them together";
    }
    fit_registers(s, &timing, taken);
}
