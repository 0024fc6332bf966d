/* Runs the control skeleton in the checker.  An agent has a stack of frames, one for each region that it is in.  So an
 * agent can stop at a barrier in the middle of a loop while another one goes on. */
#include <string.h>

#include "ir/query.h"
#include "passes/check/check_value.h"

enum {
    WARPGROUP = 4,
    MOST_TURNS = 1000 /* of a while, for values: one that waits for other programs turns for ever here */
};

int64_t check_number(const struct check_agent *agent, const struct ir_value *value)
{
    return agent->values[value->id].number;
}

/* ---- what may be left out ---- */

/* Whether running a loop can matter: shared memory inside, or an integer that is asked for behind it. */
bool check_matters(const struct ir_operation *op)
{
    if (check_is_shared(op))
        return true;
    for (int i = 0; i < op->result_count; i++) {
        const struct ir_type *type = op->results[i]->type;
        bool number = type->kind == IR_TILE && type->rank == 0 && !ir_is_float(type->element);
        if (op->region_count && number && op->results[i]->uses)
            return true;
    }
    for (int r = 0; r < op->region_count; r++)
        for (const struct ir_operation *inner = op->regions[r]->first; inner; inner = inner->next)
            if (check_matters(inner))
                return true;
    return false;
}

/* ---- values ---- */

static void copy_values(struct check *check, struct check_agent *agent, int count, struct ir_value *const *from,
                        struct ir_value *const *to)
{
    struct check_value few[16], *values = few;
    if (count > 16)
        values = ARENA_ARRAY(check->arena, struct check_value, count);
    for (int i = 0; i < count; i++)
        values[i] = agent->values[from[i]->id];
    for (int i = 0; i < count; i++)
        agent->values[to[i]->id] = values[i];
}

/* Nobody but another product and a wait looks at a product on its way. */
static void check_products(struct check *check, const struct check_agent *agent, const struct ir_operation *op)
{
    bool loop = op->opcode == OP_FOR || op->opcode == OP_WHILE;
    bool passes = op->opcode == OP_YIELD || op->opcode == OP_CONDITION;
    for (int i = 0; i < op->operand_count; i++) {
        int product = agent->values[op->operands[i]->id].product;
        bool waits = op->opcode == OP_DOT_WAIT || (op->opcode == OP_DOT_ASYNC && i == 2);
        if (product > agent->products_done && !waits && !loop && !passes)
            check_report(check, op, NULL, "uses the result of a product that nobody has waited for");
    }
}

/* The same for a loop that is not run. */
static void check_products_inside(struct check *check, const struct check_agent *agent, const struct ir_operation *op)
{
    for (int r = 0; r < op->region_count; r++)
        for (const struct ir_operation *inner = op->regions[r]->first; inner; inner = inner->next) {
            check_products(check, agent, inner);
            check_products_inside(check, agent, inner);
        }
}

/* ---- control flow ---- */

static struct check_frame *top(struct check_agent *agent) { return &agent->frames.data[agent->frames.count - 1]; }

static void enter(struct check *check, struct check_agent *agent, const struct ir_block *block,
                  const struct ir_operation *owner)
{
    struct check_frame frame = {.block = block, .next = block->first, .owner = owner};
    vector_push(check->arena, &agent->frames, frame);
}

static bool goes_on(const struct check_frame *frame)
{
    return frame->step > 0 ? frame->variable < frame->upper : frame->step < 0 && frame->variable > frame->upper;
}

static void start_round(struct check_agent *agent)
{
    struct check_frame *frame = top(agent);
    frame->next = frame->block->first;
    agent->values[frame->block->arguments.data[0]->id] = (struct check_value){.number = frame->variable};
}

static void start_for(struct check *check, struct check_agent *agent, const struct ir_operation *op)
{
    const struct ir_block *body = op->regions[0];
    struct check_frame loop = {.variable = check_number(agent, op->operands[0]),
                               .upper = check_number(agent, op->operands[1]),
                               .step = check_number(agent, op->operands[2])};
    if (!goes_on(&loop)) {
        copy_values(check, agent, op->result_count, op->operands + 3, op->results);
        return;
    }
    copy_values(check, agent, op->result_count, op->operands + 3, body->arguments.data + 1);
    enter(check, agent, body, op);
    top(agent)->variable = loop.variable;
    top(agent)->upper = loop.upper;
    top(agent)->step = loop.step;
    start_round(agent);
}

static void end_for(struct check *check, struct check_agent *agent, const struct ir_operation *yield)
{
    struct check_frame *frame = top(agent);
    const struct ir_operation *op = frame->owner;
    bool multiply = ir_number(op, IR_ATTRIBUTE_MULTIPLY, 0);
    int64_t before = frame->variable;
    bool wraps = multiply ? __builtin_mul_overflow(before, frame->step, &frame->variable)
                          : __builtin_add_overflow(before, frame->step, &frame->variable);
    if (!wraps && goes_on(frame) && frame->variable != before) {
        copy_values(check, agent, op->result_count, yield->operands, frame->block->arguments.data + 1);
        start_round(agent);
        return;
    }
    copy_values(check, agent, op->result_count, yield->operands, op->results);
    agent->frames.count--;
}

/* A turn of a loop in which an instance of an ordered grid waits for others: nothing is as it would be but for what they
 * write, so the next turn would be like it.  Nobody writes here; the loop is left. */
static bool waits_for_others(const struct check *check, const struct check_agent *agent,
                             const struct ir_operation *yield)
{
    const struct ir_operation *loop = yield->block->parent;
    if (check->values || !ir_walks_in_order(check->function))
        return false;
    for (int i = 0; i < loop->result_count; i++)
        if (check_number(agent, yield->operands[i]) != check_number(agent, yield->block->arguments.data[i]))
            return false;
    return true;
}

/* yield and condition */
static void end_block(struct check *check, struct check_agent *agent, const struct ir_operation *op)
{
    struct check_frame *frame = top(agent);
    const struct ir_operation *owner = frame->owner;
    if (!owner) {
        agent->state = CHECK_DONE;
    } else if (owner->opcode == OP_FOR) {
        end_for(check, agent, op);
    } else if (owner->opcode == OP_WHILE &&
               (op->opcode == OP_YIELD || (check_number(agent, op->operands[0]) && !frame->waits))) {
        int skip = op->opcode == OP_CONDITION;
        frame->waits = op->opcode == OP_YIELD && waits_for_others(check, agent, op);
        if (check->values && ++frame->variable > MOST_TURNS)
            check->steps = 0;
        frame->block = owner->regions[skip];
        frame->next = frame->block->first;
        copy_values(check, agent, owner->result_count, op->operands + skip, frame->block->arguments.data);
    } else {
        int skip = op->opcode == OP_CONDITION;
        copy_values(check, agent, owner->result_count, op->operands + skip, owner->results);
        agent->frames.count--;
    }
}

static void start_region(struct check *check, struct check_agent *agent, const struct ir_operation *op)
{
    if (op->opcode == OP_FOR) {
        start_for(check, agent, op);
    } else if (op->opcode == OP_IF) {
        enter(check, agent, op->regions[check_number(agent, op->operands[0]) ? 0 : 1], op);
    } else {
        copy_values(check, agent, op->result_count, op->operands, op->regions[0]->arguments.data);
        enter(check, agent, op->regions[0], op);
    }
}

/* ---- roles ---- */

bool check_has_tiles(const struct ir_block *block)
{
    for (const struct ir_operation *op = block->first; op; op = op->next) {
        if (op->opcode == OP_BARRIER || op->opcode == OP_BUFFER_STORE)
            return true;
        for (int i = 0; i < op->result_count; i++)
            if (op->results[i]->type->kind == IR_TILE && op->results[i]->type->rank > 0)
                return true;
        for (int r = 0; r < op->region_count; r++)
            if (check_has_tiles(op->regions[r]))
                return true;
    }
    return false;
}

static struct check_agent *new_agent(struct check *check, const struct ir_block *block, struct check_group *group,
                                     int warps)
{
    struct check_agent *agent = ARENA_NEW(check->arena, struct check_agent);
    memset(agent, 0, sizeof *agent);
    agent->number = check->agents.count;
    agent->group = group;
    agent->warps = warps;
    agent->values = ARENA_ARRAY(check->arena, struct check_value, check->function->next_value_id);
    memset(agent->values, 0, sizeof *agent->values * (size_t)check->function->next_value_id);
    agent->known = check_clock_new(check);
    agent->far = check_clock_new(check);
    enter(check, agent, block, NULL);
    vector_push(check->arena, &check->agents, agent);
    return agent;
}

static struct check_group *new_group(struct check *check, int count, int warps)
{
    struct check_group *group = ARENA_NEW(check->arena, struct check_group);
    *group = (struct check_group){.first = check->agents.count, .count = count, .warps = warps};
    return group;
}

/* A role without tiles is run by one thread; of others each warpgroup may get ahead, with the same values. */
static int agents_of_role(const struct check *check, const struct ir_operation *roles, int role)
{
    int warps = (int)ir_attribute(roles, IR_ATTRIBUTE_ROLE_WARPS)->list[role];
    return !check->values && check_has_tiles(roles->regions[role]) && warps % WARPGROUP == 0 ? warps / WARPGROUP : 1;
}

static void add_role(struct check *check, struct check_agent *body, const struct ir_operation *op, int role)
{
    int count = agents_of_role(check, op, role), warps = (int)ir_attribute(op, IR_ATTRIBUTE_ROLE_WARPS)->list[role];
    struct check_group *group = new_group(check, count, warps);
    for (int i = 0; i < count; i++) {
        struct check_agent *agent = new_agent(check, op->regions[role], group, warps / count);
        memcpy(agent->values, body->values, sizeof *agent->values * (size_t)check->function->next_value_id);
        check_clock_copy(check, agent->known, body->known);
        check_clock_copy(check, agent->far, body->far);
        agent->turns = body->turns;
        agent->one_thread = !check_has_tiles(op->regions[role]);
    }
}

static void run_roles(struct check *check, struct check_agent *body, const struct ir_operation *op);

/* ---- one operation ---- */

/* Tiles alone, and none that may be a product on its way. */
static bool is_idle(const struct ir_operation *op)
{
    if (!op->result_count || op->region_count || check_is_shared(op))
        return false;
    for (int i = 0; i < op->result_count; i++)
        if (op->results[i]->type->kind != IR_TILE || op->results[i]->type->rank == 0)
            return false;
    for (int i = 0; i < op->operand_count; i++) {
        const struct ir_operation *from = op->operands[i]->definition;
        bool tile = op->operands[i]->type->kind == IR_TILE && op->operands[i]->type->rank > 0;
        if (tile && (!from || from->region_count || from->opcode == OP_DOT_WAIT || from->opcode == OP_DOT_ASYNC))
            return false;
    }
    return true;
}

static const struct ir_operation *next_that_matters(struct check *check, const struct ir_operation *op)
{
    if (check->values)
        return op;
    const struct ir_operation *first = op, **jump = op->result_count ? &check->jump[op->results[0]->id] : NULL;
    bool counts = ir_walks_in_order(check->function); /* numbers go through tiles */
    if (jump && *jump)
        return *jump;
    while (is_idle(op) && !(counts && (op->opcode == OP_SPLAT || op->opcode == OP_ATOMIC)))
        op = op->next;
    if (first->result_count)
        check->jump[first->results[0]->id] = op;
    return op;
}

static void step(struct check *check, struct check_agent *agent)
{
    const struct ir_operation *op = next_that_matters(check, top(agent)->next);
    check_products(check, agent, op);
    if (ir_op_info[op->opcode].traits & IR_TRAIT_TERMINATOR) {
        end_block(check, agent, op);
        return;
    }
    if (op->opcode == OP_ROLES) {
        top(agent)->next = op->next;
        run_roles(check, agent, op);
        return;
    }
    bool flow = op->opcode == OP_FOR || op->opcode == OP_WHILE || op->opcode == OP_IF;
    if (op->opcode == OP_IF || (flow && (check->values || check_matters(op)))) {
        top(agent)->next = op->next;
        start_region(check, agent, op);
        return;
    }
    if (flow)
        check_products_inside(check, agent, op);
    bool shared = check_is_shared(op);
    for (int i = 0; i < op->result_count && !shared && !check->values; i++)
        agent->values[op->results[i]->id] = (struct check_value){.number = check_evaluate(check, agent, op, i)};
    if (shared) {
        bool value = ir_op_info[op->opcode].level == IR_LEVEL_VALUE && !check->values;
        for (int i = 0; i < op->result_count && value; i++)
            agent->values[op->results[i]->id] = (struct check_value){.number = check_evaluate(check, agent, op, i)};
        if (!check_perform(check, agent, op)) {
            agent->state = CHECK_BLOCKED;
            agent->blocked = op;
            return;
        }
    }
    if (check->values)
        check_value_step(check, agent, op);
    check->taken += check_takes_number(check, agent, op);
    agent->state = CHECK_RUNS;
    top(agent)->next = op->next;
}

/* Until it is done, blocked, out of steps or something was found. */
static void run_agent(struct check *check, struct check_agent *agent)
{
    do {
        step(check, agent);
        check->steps--;
    } while (agent->state == CHECK_RUNS && check->steps > 0 && !check->found);
}

static bool is_told(const struct check *check, int first, int agent)
{
    for (int a = first; a < agent; a++)
        if (check->agents.data[a]->state == CHECK_BLOCKED &&
            check->agents.data[a]->blocked == check->agents.data[agent]->blocked)
            return true;
    return false;
}

/* Each place where somebody waits, once. */
static void report_deadlock(struct check *check, int first)
{
    const struct check_agent *waiting = NULL, *other = NULL;
    const char *text = "";
    for (int a = first; a < check->agents.count; a++) {
        const struct check_agent *agent = check->agents.data[a];
        if (agent->state != CHECK_BLOCKED || is_told(check, first, a))
            continue;
        text = arena_printf(check->arena, "%s%s%s", text, waiting ? "; another role " : "",
                            check_why_blocked(check, agent));
        other = waiting && !other ? agent : other;
        waiting = waiting ? waiting : agent;
    }
    if (waiting)
        check_report(check, waiting->blocked, other ? other->blocked : NULL, "%s", text);
}

static void run_roles(struct check *check, struct check_agent *body, const struct ir_operation *op)
{
    int first = check->agents.count;
    for (int r = 0; r < op->region_count; r++)
        add_role(check, body, op, r);
    for (bool moved = true, waiting = true; moved && waiting && check->steps > 0 && !check->found;) {
        moved = waiting = false;
        for (int a = first; a < check->agents.count; a++) {
            struct check_agent *agent = check->agents.data[a];
            int before = check->steps;
            if (agent->state == CHECK_DONE)
                continue;
            run_agent(check, agent);
            moved |= agent->state != CHECK_BLOCKED || before - check->steps > 1;
            waiting |= agent->state != CHECK_DONE;
        }
    }
    if (check->steps > 0 && !check->found)
        report_deadlock(check, first);
    for (int a = first; a < check->agents.count; a++) /* what stands behind roles is theirs to order */
        check_clock_join(check, body->known, check_all_threads(check, check->agents.data[a]));
}

static void measure(struct ir_operation *op, void *data)
{
    struct check *check = data;
    if (op->opcode == OP_MBARRIER)
        check->clock_size += op->results[0]->type->slots;
    for (int r = 0; op->opcode == OP_ROLES && r < op->region_count; r++)
        check->most_agents += agents_of_role(check, op, r);
}

void check_run(struct check *check)
{
    check->most_agents = 1;
    check->clock_size = 0;
    ir_walk(check->function->body, measure, check);
    check->clock_size += check->most_agents * CHECK_KINDS;
    check->scratch = check_clock_new(check);
    check->stored = ARENA_ARRAY(check->arena, int64_t, check->function->next_value_id);
    memset(check->stored, 0, sizeof *check->stored * (size_t)check->function->next_value_id);
    struct check_group *group = new_group(check, 1, check->function->warps);
    struct check_agent *body = new_agent(check, check->function->body, group, check->function->warps);
    for (int i = 0; i < check->function->body->arguments.count; i++) {
        const struct ir_value *argument = check->function->body->arguments.data[i];
        int64_t number = argument->type->kind == IR_TILE ? check->scenario.scalar : i + 1;
        if (argument->type->element == IR_BOOL && argument->type->kind == IR_TILE)
            number &= 1;
        body->values[argument->id].number = number;
    }
    if (check->values)
        check_value_arguments(check, body);
    while (body->state == CHECK_RUNS && check->steps > 0 && !check->found)
        run_agent(check, body);
    if (check->steps > 0 && !check->found && !check->values)
        check_end(check);
}
