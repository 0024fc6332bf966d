/* Races on global memory: what the threads of a block do to it, where the function holds the barriers that keep a
 * program's meaning, one access after the other.
 *
 * A thread is a lane of a warp.  Which one touches an element, its layout says: loads are done by all that hold it,
 * stores and atomics by the first of them, a scalar's by the first thread.  A thread is in order with itself; of
 * another lane of its warp it knows what came before they met last, of another warp what its clock says (machine.h).
 * Atomics do not order each other: only those of one kind whose old values nobody looks at may run in any order.  What
 * other programs and other blocks do is the author's affair. */
#include <string.h>

#include "interp/machine.h"

enum { PAGE = 64, PAGE_LISTS = 1024 };

/* What some lanes of a warp did at a time of the warp, or, lanes 0, an asynchronous operation. */
struct touch {
    int agent;
    uint32_t time, lanes, operation;
    int64_t program;
    const struct ir_operation *op;
};
/* Of a byte, since it was written last; acts: by atomics of one kind. */
struct touches {
    struct touch *data;
    int count, capacity;
};
struct byte {
    struct touches writes, reads, acts;
};
struct global_page {
    uintptr_t address;
    struct global_page *next;
    struct byte bytes[PAGE];
};

static struct byte *byte_at(struct machine *machine, uintptr_t address)
{
    uintptr_t start = address / PAGE * PAGE;
    if (!machine->pages)
        machine->pages = ARENA_ARRAY(machine->arena, struct global_page *, PAGE_LISTS);
    struct global_page **list = &machine->pages[start / PAGE % PAGE_LISTS], *page = *list;
    while (page && page->address != start)
        page = page->next;
    if (!page) {
        page = ARENA_NEW(machine->arena, struct global_page);
        page->address = start;
        page->next = *list;
        *list = page;
    }
    return &page->bytes[address - start];
}

/* ---- order ---- */

static bool warp_knows(const struct machine *machine, const struct touch *old, int warp, uint32_t lanes)
{
    if (old->lanes && old->agent == warp) {
        bool same_thread = old->lanes == lanes && (lanes & (lanes - 1)) == 0;
        return same_thread || old->time < machine->met[warp];
    }
    return machine->warp[warp].seen[old->agent] >= old->time;
}

static bool is_tma(const struct ir_operation *op) { return op->opcode == OP_TMA_LOAD || op->opcode == OP_TMA_STORE; }

/* One thread issues all of TMA. */
static bool may_not_meet(const struct machine *machine, const struct touch *old, const struct touch *now)
{
    int warp = old->lanes ? old->agent : machine->agents.data[old->agent].owner;
    return old->operation == now->operation || old->program != now->program || (is_tma(old->op) && is_tma(now->op)) ||
           warp / machine->block_warps != machine->current->home->number;
}

/* Waits for stores by TMA are for shared memory alone: of what they write to views nothing is known before the program
 * ends. */
static bool is_on_its_way(const struct machine *machine, const struct touch *old, const struct touch *now)
{
    int warp = machine->agents.data[old->agent].owner;
    return !old->lanes && old->op->opcode == OP_TMA_STORE && is_tma(now->op) && old->program == now->program &&
           old->operation != now->operation && warp / machine->block_warps == machine->current->home->number;
}

static bool is_ordered(const struct global_accessor *accessor, const struct touch *old, const struct touch *now)
{
    const struct machine *machine = accessor->machine;
    if (is_on_its_way(machine, old, now))
        return false;
    if (may_not_meet(machine, old, now))
        return true;
    if (now->lanes)
        return warp_knows(machine, old, now->agent, now->lanes);
    bool all = true, any = false;
    for (int warp = 0; warp < machine->warps; warp++)
        if (accessor->warps >> warp & 1) {
            bool knows = warp_knows(machine, old, warp, 0);
            all = all && knows;
            any = any || knows;
        }
    return accessor->any_warp ? any : all;
}

static void check(const struct global_accessor *accessor, const struct touches *touches, const struct touch *now)
{
    const struct ir_operation *op = accessor->op;
    for (int i = 0; i < touches->count; i++) {
        const struct touch *old = &touches->data[i];
        struct ir_access access;
        char name[64] = "memory";
        if (is_ordered(accessor, old, now))
            continue;
        if (ir_access_of(op, &access) && access.view->type->kind == IR_VIEW)
            machine_name(access.view, name, sizeof name);
        interp_stop(accessor->machine->run, op,
                    "race on %s: %s and %s at %d:%d touch a byte in two threads, and nothing orders them", name,
                    ir_op_info[op->opcode].text, ir_op_info[old->op->opcode].text, old->op->at.line,
                    old->op->at.column);
    }
}

/* A later touch of the same threads stands for an earlier one. */
static void add(struct machine *machine, struct touches *touches, const struct touch *now)
{
    for (int i = 0; i < touches->count; i++)
        if (touches->data[i].agent == now->agent && touches->data[i].lanes == now->lanes) {
            touches->data[i] = *now;
            return;
        }
    vector_push(machine->arena, touches, *now);
}

/* ---- accesses ---- */

static int64_t action_of(const struct ir_operation *op) { return ir_number(op, IR_ATTRIBUTE_ACTION, -1); }

static enum ir_element changed_element(const struct ir_operation *op)
{
    return op->result_count ? op->results[0]->type->element : op->operands[0]->type->element;
}

static bool acts_alike(const struct ir_operation *a, const struct ir_operation *b)
{
    return action_of(a) == action_of(b) && changed_element(a) == changed_element(b);
}

enum global_kind machine_global_kind(const struct ir_operation *op)
{
    switch (op->opcode) {
    case OP_LOAD:
    case OP_POINTER_LOAD: return GLOBAL_READ;
    case OP_STORE:
    case OP_POINTER_STORE:
    case OP_ATOMIC_CAS:
    case OP_POINTER_CAS: return GLOBAL_WRITE;
    default: break;
    }
    if (action_of(op) == IR_ACTION_LOAD)
        return GLOBAL_READ;
    return op->results[0]->uses || action_of(op) >= IR_ACTION_EXCHANGE ? GLOBAL_WRITE : GLOBAL_ACT;
}

static void touch_byte(const struct global_accessor *accessor, struct byte *byte, const struct touch *now)
{
    struct machine *machine = accessor->machine;
    bool alike = accessor->kind == GLOBAL_ACT && byte->acts.count && acts_alike(byte->acts.data[0].op, now->op);
    check(accessor, &byte->writes, now);
    if (accessor->kind != GLOBAL_READ)
        check(accessor, &byte->reads, now);
    if (!alike)
        check(accessor, &byte->acts, now);
    if (accessor->kind == GLOBAL_WRITE)
        byte->writes.count = byte->reads.count = 0;
    if (accessor->kind != GLOBAL_READ && !alike)
        byte->acts.count = 0;
    add(machine,
        accessor->kind == GLOBAL_READ  ? &byte->reads
        : accessor->kind == GLOBAL_ACT ? &byte->acts
                                       : &byte->writes,
        now);
}

static void touch_all(const struct global_accessor *accessor, uintptr_t address, size_t size, struct touch now)
{
    const struct machine *machine = accessor->machine;
    now.operation = machine->operations;
    now.program = machine->current->program;
    now.op = accessor->op;
    for (size_t i = 0; i < size; i++)
        touch_byte(accessor, byte_at(accessor->machine, address + i), &now);
}

static bool is_written(const struct run *run, uintptr_t address)
{
    for (int i = 0; i < run->options->memory_count; i++) {
        const struct interp_memory *memory = &run->options->memories[i];
        if (address - (uintptr_t)memory->data < memory->size)
            return !memory->read_only;
    }
    return false;
}

static const struct ir_type *type_held(const struct ir_operation *op, const struct ir_access *access)
{
    if (access->rank == 0) /* pointers */
        return access->view->type;
    return op->result_count ? op->results[0]->type : access->value->type;
}

bool machine_global_begin(struct frame *frame, const struct ir_operation *op, const struct ir_access *access,
                          struct global_accessor *accessor)
{
    struct machine *machine = frame->run->machine;
    if (!machine || !frame->run->options->ordered || op->opcode == OP_INSIDE)
        return false;
    const struct ir_type *type = type_held(op, access);
    machine_operation_begin(machine);
    *accessor = (struct global_accessor){.machine = machine, .op = op, .kind = machine_global_kind(op)};
    if (type->rank)
        accessor->holders = type->layout ? machine_threads(frame->run, type->layout) : NULL;
    return type->rank == 0 || accessor->holders;
}

static void touch_scalar(const struct global_accessor *accessor, uintptr_t address, size_t size)
{
    const struct machine *machine = accessor->machine;
    const struct control *control = machine->current;
    bool one = accessor->kind != GLOBAL_READ || control->one_thread;
    for (int warp = control->first_warp; warp < control->first_warp + (one ? 1 : control->warps); warp++)
        touch_all(
            accessor, address, size,
            (struct touch){.agent = warp, .time = machine->agents.data[warp].time, .lanes = one ? 1 : UINT32_MAX});
}

void machine_global_touch(const struct global_accessor *accessor, int64_t element, uintptr_t address, size_t size)
{
    const struct machine *machine = accessor->machine;
    const struct element_places *holders = accessor->holders;
    if (!is_written(machine->run, address))
        return;
    if (!holders) {
        touch_scalar(accessor, address, size);
        return;
    }
    const uint16_t *thread = holders->threads + holders->first_thread[element];
    const uint16_t *end = holders->threads + holders->first_thread[element + 1];
    if (accessor->kind != GLOBAL_READ && thread < end)
        end = thread + 1;
    while (thread < end && *thread / 32 < machine->current->warps) {
        int warp = *thread / 32, agent = machine->current->first_warp + warp;
        struct touch now = {.agent = agent, .time = machine->agents.data[agent].time};
        for (; thread < end && *thread / 32 == warp; thread++)
            now.lanes |= UINT32_C(1) << *thread % 32;
        touch_all(accessor, address, size, now);
    }
}

void machine_global_transfer(struct machine *machine, const struct transfer *transfer, const struct accessor *shared)
{
    struct global_accessor accessor = {.machine = machine,
                                       .op = transfer->op,
                                       .warps = shared->warps,
                                       .any_warp = shared->any_warp,
                                       .kind = !transfer->stores              ? GLOBAL_READ
                                               : action_of(transfer->op) >= 0 ? GLOBAL_ACT
                                                                              : GLOBAL_WRITE};
    size_t size = (size_t)ir_element_info[transfer->element].bits / 8;
    if (!machine->run->options->ordered)
        return;
    for (int64_t i = 0; i < transfer->count; i++)
        for (int k = 0; k < transfer->epochs && is_written(machine->run, transfer->global[i]); k++) {
            struct epoch epoch = machine->epochs.data[transfer->first_epoch + k];
            touch_all(&accessor, transfer->global[i], size, (struct touch){.agent = epoch.agent, .time = epoch.time});
        }
}
