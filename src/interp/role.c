/* Roles run in turns, each on a stack of its own: a seed says who goes on, so that a run can be repeated.  Also the
 * beginning and the end of a block. */
#include <stdlib.h>
#include <string.h>

#include "interp/machine.h"

enum { STACK_BYTES = 1 << 20 };

/* ---- turns ---- */

static void leave_turn(struct machine *machine)
{
    struct control *control = machine->current;
    machine->current = &machine->between;
    if (swapcontext(&control->context, &machine->scheduler))
        die("swapcontext failed");
    machine->current = control;
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
        buffer_printf(
            out, " waits at %d:%d for parity %lld of %s[%d] (phase %lld: %lld of %lld arrived, %lld bytes to come)",
            control->op->at.line, control->op->at.column, (long long)(control->phase & 1),
            machine_name(barrier->value, name, sizeof name), barrier->slot, (long long)barrier->phase,
            (long long)barrier->arrived, (long long)barrier->arrivals, (long long)barrier->bytes);
    }
    return out->data;
}

static _Noreturn void report_deadlock(struct machine *machine, const struct control *outside)
{
    struct buffer text = {0};
    char copy[400];
    const struct ir_operation *op = outside ? outside->op : NULL;
    if (outside)
        wait_text(outside, &text);
    for (int i = 0; !outside && i < machine->controls.count; i++) {
        const struct control *control = machine->controls.data[i];
        if (control->finished || control->waiting == WAITING_ROLES)
            continue;
        if (text.size)
            buffer_puts(&text, "; ");
        if (machine->block_count > 1)
            buffer_printf(&text, "block %d: ", control->home->number);
        wait_text(control, &text);
        op = op ? op : control->op;
    }
    snprintf(copy, sizeof copy, "%s", text.data);
    buffer_free(&text);
    interp_stop(machine->run, op, "deadlock: %s", copy);
}

void machine_wait(struct machine *machine, const struct ir_operation *op)
{
    struct control *control = machine->current;
    control->op = op;
    while (!machine_may_go(machine, control)) {
        if (control->stack)
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
        while (machine_transfer_some(machine)) {}
    else if (machine->policy_transfers == 2 && machine_random(machine, 2))
        machine_transfer_some(machine);
    if (machine->current->stack && machine->policy_roles == 2 && machine_random(machine, 4) == 0)
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
static void control_entry(unsigned high, unsigned low)
{
    struct machine *machine = (struct machine *)(uintptr_t)((uint64_t)high << 32 | low);
    struct control *control = machine->current;
    execute_block(control->frame, control->block);
    machine_check_turns(control, machine->run);
    control->finished = true;
    leave_turn(machine);
}

/* A stack of its own for the control, which runs from here on whenever it can. */
static void add_control(struct machine *machine, struct control *control)
{
    control->stack = malloc(STACK_BYTES);
    if (!control->stack || getcontext(&control->context))
        memory_exhausted();
    control->context.uc_stack.ss_sp = control->stack;
    control->context.uc_stack.ss_size = STACK_BYTES;
    control->context.uc_link = NULL;
    uint64_t pointer = (uint64_t)(uintptr_t)machine;
    makecontext(&control->context, (void (*)(void))control_entry, 2, (unsigned)(pointer >> 32), (unsigned)pointer);
    vector_push(machine->arena, &machine->controls, control);
}

static void add_role(struct frame *frame, const struct ir_operation *op, int number, int first_warp)
{
    struct machine *machine = frame->run->machine;
    struct machine_block *home = machine->current->home;
    int64_t warps = ir_attribute(op, IR_ATTRIBUTE_ROLE_WARPS)->list[number];
    if (warps < 1 || first_warp + warps > machine->block_warps)
        interp_stop(frame->run, op, "role %d has %lld warps, and the block has %d", number, (long long)warps,
                    machine->block_warps);
    struct control *role = ARENA_NEW(machine->arena, struct control);
    *role = (struct control){.number = number,
                             .home = home,
                             .outer = machine->current,
                             .first_warp = home->first_warp + first_warp,
                             .warps = (int)warps,
                             .block = op->regions[number],
                             .frame = frame,
                             .op = op};
    if (!has_tiles(role->block)) {
        role->one_thread = true;
        role->warps = 1;
    }
    add_control(machine, role);
}

/* 0: the first that can; 1: the last; 2: any. */
static struct control *next_control(struct machine *machine)
{
    struct control *ready[MACHINE_MOST_WARPS + MACHINE_MOST_BLOCKS];
    int count = 0;
    for (int i = 0; i < machine->controls.count; i++)
        if (!machine->controls.data[i]->finished && machine_may_go(machine, machine->controls.data[i]))
            ready[count++] = machine->controls.data[i];
    if (!count)
        return NULL;
    return ready[machine->policy_roles == 0   ? 0
                 : machine->policy_roles == 1 ? count - 1
                                              : (int)machine_random(machine, (uint32_t)count)];
}

static bool all_finished(const struct machine *machine)
{
    for (int i = 0; i < machine->controls.count; i++)
        if (!machine->controls.data[i]->finished)
            return false;
    return true;
}

static void free_controls(struct machine *machine)
{
    for (int i = 0; i < machine->controls.count; i++)
        free(machine->controls.data[i]->stack);
    machine->controls.count = 0;
}

/* Until all controls with stacks of their own have finished. */
static void schedule(struct machine *machine)
{
    struct control *caller = machine->current;
    struct run *run = machine->run;
    machine->current = &machine->between;
    while (!all_finished(machine)) {
        struct control *control = next_control(machine);
        if (!control) {
            if (!machine_transfer_some(machine))
                report_deadlock(machine, NULL);
            continue;
        }
        machine->current = control;
        run->instance = control->home->instance;
        memcpy(run->index, control->home->index, sizeof run->index);
        if (swapcontext(&machine->scheduler, &control->context))
            die("swapcontext failed");
        if (run->stopped)
            interp_give_up(run);
    }
    machine->current = caller;
    free_controls(machine);
}

void execute_roles(struct frame *frame, const struct ir_operation *op)
{
    struct machine *machine = frame->run->machine;
    const struct ir_attribute *warps = ir_attribute(op, IR_ATTRIBUTE_ROLE_WARPS);
    if (machine->current->number >= 0)
        interp_stop(frame->run, op, "roles inside a role");
    if (!warps || warps->count != op->region_count || op->region_count > MACHINE_MOST_WARPS / machine->block_count)
        interp_stop(frame->run, op, "%d regions, and warps for %d roles", op->region_count, warps ? warps->count : 0);
    for (int i = 0, first = 0; i < op->region_count; first += (int)warps->list[i++])
        add_role(frame, op, i, first);
    if (machine->current->stack) {
        machine->current->waiting = WAITING_ROLES;
        machine_wait(machine, op);
    } else {
        schedule(machine);
    }
}

/* ---- blocks ---- */

void machine_run_cluster(struct run *run, struct frame *const *frames, const struct ir_block *body)
{
    struct machine *machine = run->machine;
    for (int b = 0; b < machine->block_count; b++) {
        struct control *outside = &machine->blocks[b].outside;
        outside->frame = frames[b];
        outside->block = body;
        add_control(machine, outside);
    }
    schedule(machine);
}

static void begin_block(struct machine *machine, int number)
{
    struct machine_block *block = &machine->blocks[number];
    unsigned char *bytes = block->bytes;
    struct shadow *shadow = block->shadow;
    int64_t capacity = block->capacity;
    *block = (struct machine_block){.number = number,
                                    .first_warp = number * machine->block_warps,
                                    .bytes = bytes,
                                    .shadow = shadow,
                                    .capacity = capacity};
    block->outside = (struct control){
        .number = -1, .home = block, .first_warp = block->first_warp, .warps = machine->block_warps};
}

void machine_begin(struct run *run, const struct ir_function *function, int blocks)
{
    struct machine *machine = run->machine;
    if (!machine) {
        machine = run->machine = calloc(1, sizeof *machine);
        if (!machine)
            memory_exhausted();
    }
    struct machine_block kept[MACHINE_MOST_BLOCKS];
    memcpy(kept, machine->blocks, sizeof kept);
    if (machine->arena)
        arena_destroy(machine->arena);
    *machine = (struct machine){.run = run,
                                .arena = arena_create(),
                                .function = function,
                                .random = run->options->seed * 7919 + (uint64_t)run->instance};
    memcpy(machine->blocks, kept, sizeof kept);
    machine->policy_transfers = (int)((run->options->seed + 2) % 3);
    machine->policy_roles = (int)((run->options->seed / 3 + 2) % 3);
    machine->block_warps = function->warps > 0 ? function->warps : 1;
    machine->block_count = blocks;
    machine->warps = machine->block_warps * blocks;
    if (blocks > MACHINE_MOST_BLOCKS || machine->warps > MACHINE_MOST_WARPS)
        interp_stop(run, NULL, "%d warps are more than can be followed", machine->warps);
    for (int b = 0; b < blocks; b++)
        begin_block(machine, b);
    machine->blocks[0].instance = run->instance; /* those behind it: run_cluster says */
    memcpy(machine->blocks[0].index, run->index, sizeof run->index);
    machine->between = machine->blocks[0].outside;
    machine->current = &machine->blocks[0].outside;
    vector_push(machine->arena, &machine->events, (struct event){0});
    vector_push(machine->arena, &machine->sets, (struct readers){0});
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
    for (int b = 0; b < run->machine->block_count; b++)
        machine_check_turns(&run->machine->blocks[b].outside, run);
    machine_check_end(run->machine);
}

void machine_release(struct run *run)
{
    struct machine *machine = run->machine;
    if (!machine)
        return;
    free_controls(machine);
    if (machine->arena)
        arena_destroy(machine->arena);
    for (int b = 0; b < MACHINE_MOST_BLOCKS; b++) {
        free(machine->blocks[b].bytes);
        free(machine->blocks[b].shadow);
    }
    free(machine);
    run->machine = NULL;
}
