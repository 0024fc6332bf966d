/* schedule: loads that feed no product run ahead of the iteration that uses them, by a (stage, order) for each.
 *
 *     for %j = %lo to %hi step %s iter(%acc …) {
 *         %v = load %x[%m, %j +: 512], %zero
 *         %sum = add %acc, %v
 *         yield %sum
 *     }
 * becomes
 *     %v0 = if %lo < %hi { load %x[%m, %lo +: 512] } else { undefined }
 *     for %j = %lo to %hi step %s iter(%acc …, %v = %v0) {
 *         %next = if %hi - %j > %s { load %x[%m, %j + %s +: 512] } else { undefined }
 *         %sum = add %acc, %v
 *         yield %sum, %next
 *     }
 *
 * The body's operations form a graph: values, and effects that a load may not cross.  A model of one block that issues in
 * order (schedule_cost.c has the latencies) gives the time at which each load's result is wanted and the time of an
 * iteration, hence how many iterations ahead it must be made; a load whose place comes from another load (x[index[j]])
 * is wanted by that one.  Each iteration ahead costs the registers of its result: where these do not do, a load is made
 * behind the last use of the one before, in the same registers, or stays.  A load that its own iteration can cover moves
 * to the top of it.
 *
 * Right because a load that runs ahead is made only if its iteration comes, from the same operands, and nothing in the
 * loop writes what it reads or orders memory.  Scalars that the loop carries and that loads depend on are computed ahead
 * too, when they are arithmetic on such scalars; so is a while's condition. */
#include "passes/schedule.h"

#include "ir/alias.h"
#include "passes/memory_access.h"
#include "passes/rewrite.h"
#include "targets/target.h"

enum {
    MOST_AHEAD = 4, DEPTH = 64, SPARE_REGISTERS = 48, BUSY_WARPS = 12, MOST_REGISTERS = 255,
    MOST_SHIFTED = 32, /* registers that change places in each iteration, where a load is more than one ahead */
    FEW_REGISTERS = 8
};

/* ---- what can be computed ahead ---- */

static bool is_load(const struct ir_operation *op) { return op->opcode == OP_LOAD || op->opcode == OP_POINTER_LOAD; }

static bool is_plain(const struct ir_operation *op)
{
    if (op->region_count || !rewrite_has_trait(op, IR_TRAIT_PURE))
        return false;
    switch (op->opcode) { /* work that is not done twice */
    case OP_CONVERT_LAYOUT: case OP_DOT: case OP_REDUCE: case OP_PHILOX: case OP_UNDEFINED:
        return false;
    default:
        for (int i = 0; i < op->result_count; i++)
            if (op->results[i]->type->kind != IR_TILE && op->results[i]->type->kind != IR_VIEW)
                return false;
        return true;
    }
}

static bool is_planned(const struct schedule *s, const struct ir_operation *op)
{
    for (int i = 0; i < s->loads.count; i++)
        if (s->loads.data[i].load == op)
            return true;
    return false;
}

/* From the loop's variable, steady arguments, what comes from outside, and (where these may be) planned loads. */
static bool can_run_ahead(const struct schedule *s, const struct ir_value *value, bool loads, int depth)
{
    if (!schedule_is_inside(s->body, value))
        return true;
    const struct ir_operation *op = value->definition;
    if (!op)
        return value->block == s->body && s->steady[value->index];
    if (depth > DEPTH || op->block != s->body)
        return false;
    if (is_load(op) ? !(loads && is_planned(s, op)) : !is_plain(op))
        return false;
    for (int i = 0; i < op->operand_count; i++)
        if (!can_run_ahead(s, op->operands[i], loads, depth + 1))
            return false;
    return true;
}

/* The carried argument is a scalar that a while's first region hands on as it is. */
static bool may_be_steady(const struct schedule *s, int index)
{
    const struct ir_type *type = s->body->arguments.data[index]->type;
    if (type->kind != IR_TILE || type->rank > 0)
        return false;
    if (s->loop->opcode == OP_FOR)
        return true;
    const struct ir_block *test = s->loop->regions[0];
    return ir_terminator(test)->operands[1 + index] == test->arguments.data[index];
}

static void find_steady(struct schedule *s)
{
    int first = s->loop->opcode == OP_FOR; /* the variable */
    const struct ir_operation *yield = ir_terminator(s->body);
    s->steady = ARENA_ARRAY(s->context->arena, bool, s->body->arguments.count + 1);
    for (int i = 0; i < s->body->arguments.count; i++)
        s->steady[i] = i < first || may_be_steady(s, i);
    for (bool changed = true; changed;) {
        changed = false;
        for (int i = first; i < s->body->arguments.count; i++)
            if (s->steady[i] && !can_run_ahead(s, yield->operands[i - first], false, 0)) {
                s->steady[i] = false;
                changed = true;
            }
    }
}

/* A while's condition, from steady arguments alone. */
static bool can_test_ahead(const struct schedule *s, const struct ir_value *value, int depth)
{
    const struct ir_block *test = s->loop->regions[0];
    if (!schedule_is_inside(test, value))
        return true;
    const struct ir_operation *op = value->definition;
    if (!op)
        return value->block == test && s->steady[value->index];
    if (depth > DEPTH || op->block != test || !is_plain(op))
        return false;
    for (int i = 0; i < op->operand_count; i++)
        if (!can_test_ahead(s, op->operands[i], depth + 1))
            return false;
    return true;
}

static bool is_clobbered(const struct schedule *s, const struct ir_operation *load)
{
    if (alias_is_settled(s->function, load->operands[0]))
        return false;
    for (int r = 0; r < s->loop->region_count; r++)
        for (const struct ir_operation *op = s->loop->regions[r]->first; op; op = op->next)
            if (alias_clobbers(op, load))
                return true;
    return false;
}

static const char *problem_of_load(const struct schedule *s, const struct ir_operation *load)
{
    for (int i = 0; i < load->operand_count; i++)
        if (!can_run_ahead(s, load->operands[i], true, 0))
            return "where it reads depends on what the loop computes";
    return is_clobbered(s, load) ? "the loop may write what it reads, or orders memory" : NULL;
}

/* Why loads of the loop cannot run ahead at all, or NULL. */
static const char *problem_of_loop(const struct schedule *s)
{
    const struct ir_operation *loop = s->loop;
    int64_t step;
    if (loop->opcode == OP_WHILE)
        return can_test_ahead(s, ir_terminator(loop->regions[0])->operands[0], 0)
                   ? NULL : "the loop's condition depends on what the loop computes";
    if (ir_number(loop, IR_ATTRIBUTE_MULTIPLY, 0))
        return "the loop's step multiplies";
    if (ir_element_info[loop->operands[0]->type->element].bits < 32)
        return "the loop's variable has fewer than 32 bits";
    if (ir_constant_integer(loop->operands[2], &step) && (step == 0 || step > INT32_MAX / 8 || step < -INT32_MAX / 8))
        return "the loop's step is too wide";
    return NULL;
}

/* ---- when values are wanted ---- */

struct timing {
    double *start, *wanted;         /* of the body's operations, by position: of one that runs ahead, before 0 */
    double iteration;
    struct ir_operation **operations;
    int count;
};

/* In order: each operation starts when the one before is issued and its operands are there; loads that can run ahead
 * are there from the start. */
static void run_model(const struct schedule *s, struct timing *t)
{
    struct arena *arena = s->context->arena;
    double clock = 0, *ready;
    t->count = 0;
    for (const struct ir_operation *op = s->body->first; op; op = op->next)
        t->count++;
    t->operations = ARENA_ARRAY(arena, struct ir_operation *, t->count);
    t->start = ARENA_ARRAY(arena, double, t->count);
    t->wanted = ARENA_ARRAY(arena, double, t->count);
    ready = ARENA_ARRAY(arena, double, s->function->next_value_id);
    int i = 0;
    for (struct ir_operation *op = s->body->first; op; op = op->next, i++) {
        struct schedule_cost cost = schedule_cost_of(op, s->context->target);
        t->operations[i] = op;
        for (int k = 0; k < op->operand_count; k++)
            if (ready[op->operands[k]->id] > clock && !is_planned(s, op))
                clock = ready[op->operands[k]->id];
        t->start[i] = clock;
        clock += cost.issue;
        for (int k = 0; k < op->result_count; k++)
            ready[op->results[k]->id] = is_planned(s, op) ? 0 : clock + cost.latency;
    }
    t->iteration = clock < 1 ? 1 : clock;
}

/* When the first user wants the value of the operation at `position`; users that lie in regions count as what holds
 * them. */
static double first_wanted(const struct schedule *s, const struct timing *t, int position)
{
    double first = t->iteration;
    for (int r = 0; r < t->operations[position]->result_count; r++)
        for (const struct ir_use *use = t->operations[position]->results[r]->uses; use; use = use->next) {
            const struct ir_operation *user = use->user;
            while (user && user->block != s->body)
                user = user->block->parent;
            for (int i = position + 1; user && i < t->count; i++)
                if (t->operations[i] == user && t->wanted[i] < first)
                    first = t->wanted[i];
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
    for (int i = t->count - 1; i >= 0; i--) {
        const struct ir_operation *op = t->operations[i];
        double first = first_wanted(s, t, i);
        t->wanted[i] = t->start[i];
        if (next < 0 || s->loads.data[next].load != op) {
            /* an operation that only serves loads ahead stands where they stand */
            if (first < t->start[i] && is_plain(op))
                t->wanted[i] = first;
            continue;
        }
        struct scheduled_load *load = &s->loads.data[next--];
        struct schedule_cost cost = schedule_cost_of(op, s->context->target);
        load->distance = 0;
        load->early = load->late = false;
        if (t->start[i] + cost.latency <= first || load->most < 0)
            continue;
        double beyond = cost.latency - first; /* when made at the top of the iteration */
        while (load->distance < load->most && load->distance * t->iteration < beyond)
            load->distance++;
        load->early = load->distance == 0;
        while (load->distance > 1 && load->distance * load->registers > MOST_SHIFTED)
            load->distance--;
        t->wanted[i] = -load->distance * t->iteration;
    }
}

/* A load whose place another load gives follows that one; where that is not as far ahead as both need, each gets half of
 * what there is. */
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
            if ((most - load->distance) * t->iteration < latency)
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

static int registers_there_are(const struct schedule *s)
{
    const struct ir_operation *parent = s->loop->block->parent;
    int warps = s->function->warps, most, spare = SPARE_REGISTERS;
    for (; parent && parent->opcode != OP_ROLES; parent = parent->block->parent)
        if (rewrite_has_trait(parent, IR_TRAIT_LOOP))
            spare += SPARE_REGISTERS / 2; /* for what the loops around need */
    bool products = false;
    for (const struct ir_operation *op = s->body->first; op; op = op->next)
        products |= op->opcode == OP_DOT || op->opcode == OP_DOT_ASYNC;
    if (parent) { /* what the role was given */
        const struct ir_attribute *list = ir_attribute(parent, IR_ATTRIBUTE_ROLE_REGISTERS);
        const struct ir_attribute *sizes = ir_attribute(parent, IR_ATTRIBUTE_ROLE_WARPS);
        most = MOST_REGISTERS;
        for (int i = 0; list && sizes && i < list->count; i++)
            if (sizes->list[i] == warps && list->list[i])
                most = (int)int64_min(most, list->list[i]);
    } else {
        int resident = products || warps > BUSY_WARPS ? warps : BUSY_WARPS;
        most = 65536 / 32 / (resident ? resident : 1);
    }
    if (s->function->max_registers > 0 && s->function->max_registers < most)
        most = s->function->max_registers;
    return (most > MOST_REGISTERS ? MOST_REGISTERS : most) - spare;
}

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
        const struct ir_operation *user = use->user;
        while (user && user->block != s->body)
            user = user->block->parent;
        for (int i = 0; user && i < t->count; i++)
            if (t->operations[i] == user && i > last)
                last = i;
    }
    if (last < 0 || last >= t->count - 1)
        return false;
    double left = t->iteration - t->start[last] - schedule_cost_of(t->operations[last], s->context->target).issue;
    if ((load->short_of_registers ? 4 : 1) * left < schedule_cost_of(load->load, s->context->target).latency)
        return false;
    load->late = true;
    load->behind = t->operations[last];
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
    for (int i = 0; i < t->count; i++) {
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
static void fit_registers(struct schedule *s, struct timing *t)
{
    const int *taken = schedule_pressure(s->context->arena, s->body);
    int most = registers_there_are(s);
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

/* ---- the pass ---- */

static void remark_load(const struct schedule *s, const struct scheduled_load *load)
{
    struct pass_context *context = s->context;
    const char *why = load->problem ? load->problem : "";
    const char *link = load->problem ? "; not further: " : "";
    if (load->distance)
        pass_remark(context, load->load->at, "this load runs %d iteration%s ahead, in %d register%s%s%s%s",
                    load->distance, load->distance == 1 ? "" : "s", load->registers * load->distance,
                    load->registers * load->distance == 1 ? "" : "s",
                    load->late ? ", behind the last use of the one before" : "", link, why);
    else
        pass_remark(context, load->load->at, "this load %s: %s",
                    load->early ? "moves to the top of its iteration" : "stays where it is",
                    load->problem ? load->problem : "what stands between it and its use covers its latency");
}

static bool is_innermost(const struct ir_operation *loop)
{
    for (int r = 0; r < loop->region_count; r++)
        for (const struct ir_operation *op = loop->regions[r]->first; op; op = op->next)
            if (rewrite_has_trait(op, IR_TRAIT_LOOP) || op->opcode == OP_ROLES)
                return false;
    return true;
}

/* Registers of a thread for what is on its way.  Elements that are read one by one, and narrow, take more while they are
 * put together. */
static int registers_of(const struct ir_operation *load)
{
    struct memory_access access;
    int registers = schedule_registers(load->results[0]);
    if (load->results[0]->type->rank == 0)
        return 1;
    return memory_access_of(load, &access) && access.vector * access.bytes < 4 ? 2 * registers : registers;
}

static bool find_loads(struct schedule *s)
{
    int most = s->function->stages > 0 ? s->function->stages - 1 : MOST_AHEAD, position = 0;
    bool any = false;
    for (const struct ir_operation *op = s->body->first; op; op = op->next)
        any |= is_load(op);
    if (!any)
        return false;
    find_steady(s);
    const char *problem = problem_of_loop(s);
    for (struct ir_operation *op = s->body->first; op; op = op->next, position++) {
        if (!is_load(op))
            continue;
        const char *own = problem ? problem : problem_of_load(s, op);
        struct scheduled_load load = { .load = op, .position = position, .most = most > MOST_AHEAD ? MOST_AHEAD : most };
        if (!own && most < 1)
            own = "the schedule says one stage";
        if (own) {
            pass_remark(s->context, op->at, "this load stays where it is: %s", own);
            continue;
        }
        load.registers = registers_of(op);
        vector_push(s->context->arena, &s->loads, load);
    }
    return s->loads.count > 0;
}

static bool schedule_loop(struct schedule *s)
{
    struct timing timing = { 0 };
    bool changed = false;
    if (!is_innermost(s->loop) || !find_loads(s))
        return false;
    run_model(s, &timing);
    fit_registers(s, &timing);
    for (int i = 0; i < s->loads.count; i++) {
        remark_load(s, &s->loads.data[i]);
        changed |= s->loads.data[i].distance > 0 || s->loads.data[i].early;
    }
    if (!changed || !pass_fuel(s->context))
        return false;
    schedule_emit(s);
    return true;
}

struct search { struct pass_context *context; VECTOR(struct ir_operation *) loops; };

static void collect(struct ir_operation *op, void *data)
{
    struct search *search = data;
    if (op->opcode == OP_FOR || op->opcode == OP_WHILE)
        vector_push(search->context->arena, &search->loops, op);
}

bool pass_schedule(struct ir_function *function, struct pass_context *context)
{
    struct search search = { .context = context };
    bool changed = false;
    ir_walk(function->body, collect, &search);
    for (int i = 0; i < search.loops.count; i++) {
        struct ir_operation *loop = search.loops.data[i];
        struct schedule s = { .context = context, .function = function, .loop = loop,
                              .body = loop->regions[loop->opcode == OP_WHILE] };
        changed = schedule_loop(&s) || changed;
    }
    return changed;
}
