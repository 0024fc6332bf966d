/* Roles run in turns, each on a stack of its own: a seed says who goes on, so that a run can be repeated.  Also the
 * beginning and the end of a block. */
#include <stdlib.h>
#include <string.h>

#include "interp/machine.h"

enum { STACK_BYTES = 1 << 20 };

/* ---- turns ---- */

static void leave_turn(struct machine *machine)
{
    struct control *role = machine->current;
    machine->current = &machine->outside;
    if (swapcontext(&role->context, &machine->scheduler))
        die("swapcontext failed");
    machine->current = role;
}

void machine_stop_role(struct machine *machine)
{
    leave_turn(machine);
    die("a role that stopped went on");
}

static const char *wait_text(const struct control *control, struct buffer *out)
{
    char name[64];
    buffer_printf(out, control->number < 0 ? "the block" : "role %d", control->number);
    if (control->waiting == WAITING_NAMED) {
        buffer_printf(out, " waits at %d:%d for a barrier that %lld of %lld warps reached", control->op->at.line,
                      control->op->at.column, (long long)control->named->arrived, (long long)control->named->warps);
    } else {
        const struct mbarrier *barrier = control->barrier;
        buffer_printf(out,
                      " waits at %d:%d for parity %lld of %s[%d] (phase %lld: %lld of %lld arrived, %lld bytes to come)",
                      control->op->at.line, control->op->at.column, (long long)(control->phase & 1),
                      machine_name(barrier->value, name, sizeof name), barrier->slot, (long long)barrier->phase,
                      (long long)barrier->arrived, (long long)barrier->arrivals, (long long)barrier->bytes);
    }
    return out->data;
}

static _Noreturn void report_deadlock(struct machine *machine, const struct control *outside)
{
    struct buffer text = { 0 };
    char copy[400];
    const struct ir_operation *op = outside ? outside->op : NULL;
    if (outside)
        wait_text(outside, &text);
    for (int i = 0; !outside && i < machine->role_count; i++)
        if (!machine->roles[i].finished) {
            if (text.size)
                buffer_puts(&text, "; ");
            wait_text(&machine->roles[i], &text);
            op = op ? op : machine->roles[i].op;
        }
    snprintf(copy, sizeof copy, "%s", text.data);
    buffer_free(&text);
    interp_stop(machine->run, op, "deadlock: %s", copy);
}

void machine_wait(struct machine *machine, const struct ir_operation *op)
{
    struct control *control = machine->current;
    control->op = op;
    while (!machine_may_go(control)) {
        if (control->number >= 0)
            leave_turn(machine);
        else if (!machine_transfer_some(machine))
            report_deadlock(machine, control);
    }
    control->waiting = WAITING_NOT;
}

/* Some of what is on its way arrives, and another role may get ahead. */
void machine_point(struct machine *machine)
{
    if (machine->policy_transfers == 1)
        while (machine_transfer_some(machine)) {
        }
    else if (machine->policy_transfers == 2 && machine_random(machine, 2))
        machine_transfer_some(machine);
    if (machine->current->number >= 0 && machine->policy_roles == 2 && machine_random(machine, 4) == 0)
        leave_turn(machine);
}

/* ---- roles ---- */

static bool has_tiles(const struct ir_block *block)
{
    for (const struct ir_operation *op = block->first; op; op = op->next) {
        for (int i = 0; i < op->operand_count; i++)
            if (op->operands[i]->type->kind == IR_TILE && op->operands[i]->type->rank > 0)
                return true;
        for (int i = 0; i < op->result_count; i++)
            if (op->results[i]->type->kind == IR_TILE && op->results[i]->type->rank > 0)
                return true;
        for (int i = 0; i < op->region_count; i++)
            if (has_tiles(op->regions[i]))
                return true;
    }
    return false;
}

/* makecontext hands over ints alone. */
static void role_entry(unsigned high, unsigned low)
{
    struct machine *machine = (struct machine *)(uintptr_t)((uint64_t)high << 32 | low);
    struct control *role = machine->current;
    execute_block(role->frame, role->block);
    machine_check_turns(machine);
    role->finished = true;
    leave_turn(machine);
}

static void prepare(struct frame *frame, const struct ir_operation *op, int number, int first_warp)
{
    struct machine *machine = frame->run->machine;
    struct control *role = &machine->roles[number];
    int64_t warps = ir_attribute(op, IR_ATTRIBUTE_ROLE_WARPS)->list[number];
    if (warps < 1 || first_warp + warps > machine->warps)
        interp_stop(frame->run, op, "role %d has %lld warps, and the block has %d", number, (long long)warps,
                    machine->warps);
    *role = (struct control){ .number = number, .first_warp = first_warp, .warps = (int)warps,
                              .block = op->regions[number],
                              .frame = frame, .stack = malloc(STACK_BYTES), .op = op };
    if (!role->stack || getcontext(&role->context))
        memory_exhausted();
    if (!has_tiles(role->block)) {
        role->one_thread = true;
        role->warps = 1;
    }
    role->context.uc_stack.ss_sp = role->stack;
    role->context.uc_stack.ss_size = STACK_BYTES;
    role->context.uc_link = NULL;
    uint64_t pointer = (uint64_t)(uintptr_t)machine;
    makecontext(&role->context, (void (*)(void))role_entry, 2, (unsigned)(pointer >> 32), (unsigned)pointer);
}

/* 0: the first that can; 1: the last; 2: any. */
static struct control *next_role(struct machine *machine)
{
    struct control *ready[MACHINE_MOST_WARPS];
    int count = 0;
    for (int i = 0; i < machine->role_count; i++)
        if (!machine->roles[i].finished && machine_may_go(&machine->roles[i]))
            ready[count++] = &machine->roles[i];
    if (!count)
        return NULL;
    return ready[machine->policy_roles == 0 ? 0 : machine->policy_roles == 1 ? count - 1
                 : (int)machine_random(machine, (uint32_t)count)];
}

static bool all_finished(const struct machine *machine)
{
    for (int i = 0; i < machine->role_count; i++)
        if (!machine->roles[i].finished)
            return false;
    return true;
}

static void free_roles(struct machine *machine)
{
    for (int i = 0; i < machine->role_count; i++)
        free(machine->roles[i].stack);
    machine->role_count = 0;
}

void execute_roles(struct frame *frame, const struct ir_operation *op)
{
    struct machine *machine = frame->run->machine;
    const struct ir_attribute *warps = ir_attribute(op, IR_ATTRIBUTE_ROLE_WARPS);
    if (machine->current->number >= 0)
        interp_stop(frame->run, op, "roles inside a role");
    if (!warps || warps->count != op->region_count || op->region_count > MACHINE_MOST_WARPS)
        interp_stop(frame->run, op, "%d regions, and warps for %d roles", op->region_count, warps ? warps->count : 0);
    machine->roles = ARENA_ARRAY(machine->arena, struct control, op->region_count);
    for (int i = 0, first = 0; i < op->region_count; first += (int)warps->list[i++]) {
        machine->role_count = i + 1;
        prepare(frame, op, i, first);
    }
    while (!all_finished(machine)) {
        struct control *role = next_role(machine);
        if (!role) {
            if (!machine_transfer_some(machine))
                report_deadlock(machine, NULL);
            continue;
        }
        machine->current = role;
        if (swapcontext(&machine->scheduler, &role->context))
            die("swapcontext failed");
        if (frame->run->stopped)
            interp_give_up(frame->run);
    }
    free_roles(machine);
}

/* ---- blocks ---- */

void machine_begin(struct run *run, const struct ir_function *function)
{
    struct machine *machine = run->machine;
    if (!machine) {
        machine = run->machine = calloc(1, sizeof *machine);
        if (!machine)
            memory_exhausted();
    }
    unsigned char *bytes = machine->bytes;
    struct shadow *shadow = machine->shadow;
    int64_t capacity = machine->capacity;
    if (machine->arena)
        arena_destroy(machine->arena);
    *machine = (struct machine){ .run = run, .arena = arena_create(), .function = function, .bytes = bytes,
                                 .shadow = shadow,
                                 .capacity = capacity, .random = run->options->seed * 7919 + (uint64_t)run->instance };
    machine->policy_transfers = (int)((run->options->seed + 2) % 3);
    machine->policy_roles = (int)((run->options->seed / 3 + 2) % 3);
    machine->warps = function->warps > 0 ? function->warps : 1;
    if (machine->warps > MACHINE_MOST_WARPS)
        interp_stop(run, NULL, "%d warps are more than a block can have", machine->warps);
    machine->outside = (struct control){ .number = -1, .warps = machine->warps };
    machine->current = &machine->outside;
    vector_push(machine->arena, &machine->events, (struct event){ 0 });
    vector_push(machine->arena, &machine->sets, (struct readers){ 0 });
    machine_agent_add(machine, 0);
    for (int warp = 0; warp < machine->warps; warp++) {
        if (warp)
            machine_agent_add(machine, warp);
        machine_clock_add(machine, &machine->warp[warp]);
        machine_warp_tick(machine, warp);
    }
}

void machine_end(struct run *run)
{
    if (!run->machine || !run->machine->arena)
        return;
    machine_check_turns(run->machine);
    machine_check_end(run->machine);
}

void machine_release(struct run *run)
{
    struct machine *machine = run->machine;
    if (!machine)
        return;
    free_roles(machine);
    if (machine->arena)
        arena_destroy(machine->arena);
    free(machine->bytes);
    free(machine->shadow);
    free(machine);
    run->machine = NULL;
}
