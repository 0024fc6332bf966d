/* Asynchronous copies: issued here, done at some time until somebody waits for them.  The time is the seed's choice,
 * but what is reported does not depend on it: from its issue on, a copy is an agent that nobody knows the end of. */
#include <stdlib.h>
#include <string.h>

#include "interp/machine.h"
#include "ir/facts/shared_form.h"

/* ---- bytes move ---- */

/* An element that a store brings, or adds to what is there. */
static void put(struct machine *machine, const struct transfer *transfer, uintptr_t global, uint64_t bits)
{
    size_t size = (size_t)ir_element_info[transfer->element].bits / 8;
    bool acts = ir_attribute(transfer->op, IR_ATTRIBUTE_ACTION);
    unsigned char *at = memory_checked(machine->run, transfer->op, global, size, true, acts);
    if (acts)
        bits = memory_atomic_result(transfer->op, transfer->element, memory_load_bits(at, transfer->element), bits);
    memory_store_bits(at, transfer->element, bits);
}

static void move(struct machine *machine, const struct transfer *transfer, struct machine_block *block)
{
    size_t size = (size_t)ir_element_info[transfer->element].bits / 8;
    for (int64_t i = 0; i < transfer->count; i++) {
        uintptr_t global = transfer->global[i];
        if (transfer->stores) {
            if (global)
                put(machine, transfer, global, machine_read(block, transfer->shared[i], transfer->element));
            continue;
        }
        uint64_t bits = 0;
        if (global)
            bits = memory_load_bits(memory_checked(machine->run, transfer->op, global, size, false, true),
                                    transfer->element);
        if (ir_number(transfer->op, IR_ATTRIBUTE_PRECISION, IR_PRECISION_IEEE) == IR_PRECISION_TF32)
            bits = scalar_round_tf32(bits);
        machine_write(block, transfer->shared[i], transfer->element, bits);
    }
}

void machine_transfer_finish(struct machine *machine, struct transfer *transfer)
{
    if (transfer->done)
        return;
    transfer->done = true;
    int kept = 0;
    for (int i = 0; i < machine->transfers.count; i++)
        if (machine->transfers.data[i] != transfer)
            machine->transfers.data[kept++] = machine->transfers.data[i];
    machine->transfers.count = kept;
    for (int b = 0; b < machine->block_count; b++) {
        struct machine_block *block = &machine->blocks[b];
        if (block != transfer->home && !transfer->everywhere)
            continue;
        move(machine, transfer, block);
        if (transfer->barrier >= 0)
            machine_bytes_arrive(machine, block->barriers.data[transfer->barrier], transfer,
                                 transfer->count * (ir_element_info[transfer->element].bits / 8));
    }
}

bool machine_transfer_some(struct machine *machine)
{
    if (!machine->transfers.count)
        return false;
    machine_transfer_finish(machine,
                            machine->transfers.data[machine_random(machine, (uint32_t)machine->transfers.count)]);
    return true;
}

/* ---- issue ---- */

/* Who brings what of a load that `blocks` blocks do together: boxes of which each block has as many. */
static const unsigned char *bringers(struct run *run, const struct ir_type *type, int blocks)
{
    for (const struct element_bringers *old = run->bringers; old; old = old->next)
        if (old->type == type && old->blocks == blocks)
            return old->block;
    struct element_bringers *list = ARENA_NEW(run->arena, struct element_bringers);
    int64_t count = ir_type_elements(type);
    struct shared_form form;
    int(*starts)[LAYOUT_RANK];
    *list = (struct element_bringers){.type = type, .blocks = blocks, .next = run->bringers};
    list->block = ARENA_ARRAY(run->arena, unsigned char, count);
    bool divides = shared_form_of(ir_context_layouts(run->context), type->layout,
                                  ir_element_info[type->element].bits / 8, &form);
    int boxes = divides ? tensor_map_shared_boxes(run->arena, type, blocks, &starts) : 0;
    for (int64_t i = 0; i < count; i++) { /* what cannot be divided is wrong elsewhere */
        list->block[i] = (unsigned char)(i * blocks / count);
        int64_t rest = i, at[LAYOUT_RANK];
        for (int d = type->rank - 1; d >= 0; rest /= type->extent[d--])
            at[d] = rest % type->extent[d];
        for (int box = 0; box < boxes; box++) {
            bool inside = true;
            for (int d = 0; d < type->rank; d++) {
                int extent = d == form.row ? tensor_map_shared_rows(type, blocks) : form.box[d];
                inside = inside && at[d] >= starts[box][d] && at[d] < starts[box][d] + extent;
            }
            if (inside)
                list->block[i] = (unsigned char)(box * blocks / boxes);
        }
    }
    run->bringers = list;
    return list->block;
}

/* Addresses of all elements; what the place names must have the buffer's shape. */
static void list_elements(struct frame *frame, struct transfer *transfer, const struct ir_access *access)
{
    struct machine *machine = frame->run->machine;
    const struct ir_operation *op = transfer->op;
    const struct ir_type *type = access->buffer->type;
    const struct machine_part *part = frame_cell(frame, access->buffer)->part;
    int64_t shape[IR_MAX_RANK], count = 1;
    int rank = ir_place_shape(access, shape);
    bool same = rank == type->rank && part && part->slot >= 0 && access->view->type->element == type->element;
    for (int d = 0; d < rank; d++) {
        count *= shape[d];
        same = same && shape[d] == type->extent[d];
    }
    if (!same)
        interp_stop(machine->run, op, "the place and the buffer differ in shape or element");
    transfer->element = type->element;
    transfer->count = count;
    transfer->global = ARENA_ARRAY(machine->arena, uintptr_t, count);
    transfer->shared = ARENA_ARRAY(machine->arena, int64_t, count);
    int64_t groups = ir_number(op, IR_ATTRIBUTE_APART, 0);
    const unsigned char *bringer = transfer->everywhere ? bringers(frame->run, type, machine->block_count) : NULL;
    transfer->count = 0;
    for (int64_t i = 0; i < count; i++) {
        if (bringer && bringer[i] != transfer->home->number)
            continue;
        if (groups && i / (count / shape[0]) / IR_GROUP_ROWS % groups != transfer->issuer)
            continue;
        transfer->global[transfer->count] = memory_place_address(frame, op, access, shape, rank, i);
        transfer->shared[transfer->count++] = machine_element_byte(part, type, i);
    }
}

/* The first of the warps that issue it. */
static int issuing_warp(const struct machine *machine, const struct transfer *transfer)
{
    return machine->current->first_warp + transfer->issuer * IR_WARPGROUP;
}

/* Epochs: one of the first warp, or one of each. */
static void start_agents(struct machine *machine, struct transfer *transfer, bool each_warp)
{
    transfer->first_epoch = machine->epochs.count;
    transfer->epochs = each_warp ? machine->current->warps : 1;
    for (int i = 0; i < transfer->epochs; i++)
        machine_epoch_push(machine, machine_agent_start(machine, issuing_warp(machine, transfer) + i));
}

/* Whether threads store what TMA cannot, as the alignment of the argument behind the view is asked for when running. */
static bool is_asked(const struct ir_operation *op, const struct ir_value *view)
{
    while (view->definition && view->definition->operand_count && view->definition->operands[0]->type->kind == IR_VIEW)
        view = view->definition->operands[0];
    const struct ir_function *function = op->block->function;
    bool is_argument = view->block == function->body && !view->definition && view->index < function->facts.count;
    return op->opcode == OP_TMA_STORE && is_argument && function->facts.data[view->index].asked_alignment;
}

/* What a tensor map can say: one dimension of neighbours, the others 16 bytes or a multiple apart; and where a box can
 * begin. */
static void check_tensor(struct frame *frame, const struct ir_operation *op, const struct ir_access *access)
{
    const struct ir_value *value = access->view;
    const struct interp_view *view = &frame_cell(frame, value)->view;
    int64_t size = ir_element_info[value->type->element].bits / 8;
    int neighbours = 0;
    bool asked = is_asked(op, value);
    char name[64];
    if (!view->data)
        interp_stop(frame->run, op, "TMA on %s, which is absent", machine_name(value, name, sizeof name));
    if ((uintptr_t)view->data % 16 && !asked)
        interp_stop(frame->run, op, "TMA on %s, whose address is no multiple of 16",
                    machine_name(value, name, sizeof name));
    for (int d = 0; d < value->type->rank; d++) {
        neighbours += view->stride[d] == 1;
        if (view->stride[d] != 1 && view->stride[d] * size % 16 && !asked)
            interp_stop(frame->run, op, "TMA on %s, whose dimension %d has a stride of %lld bytes: no multiple of 16",
                        machine_name(value, name, sizeof name), d, (long long)(view->stride[d] * size));
    }
    if (!neighbours)
        interp_stop(frame->run, op, "TMA on %s, which has no dimension of neighbours",
                    machine_name(value, name, sizeof name));
    for (int d = 0; d < access->rank; d++) {
        if (access->place[d] <= 0 || value->type->stride[d] != 1)
            continue;
        int64_t start = memory_scalar(frame, access->index[d]);
        if (start % 16 * size % 16)
            interp_stop(frame->run, op, "TMA from element %lld of dimension %d of %s on: no multiple of 16 bytes",
                        (long long)start, d, machine_name(value, name, sizeof name));
    }
}

static struct transfer *issue(struct frame *frame, const struct ir_operation *op, enum transfer_kind kind, int issuer)
{
    struct machine *machine = frame->run->machine;
    struct ir_access access;
    if (!ir_access_of(op, &access) || !access.buffer)
        interp_stop(machine->run, op, "'%s' has too few operands", ir_op_info[op->opcode].text);
    if (kind == TRANSFER_TMA_LOAD || kind == TRANSFER_TMA_STORE)
        check_tensor(frame, op, &access);
    struct transfer *transfer = ARENA_NEW(machine->arena, struct transfer);
    *transfer = (struct transfer){.kind = kind,
                                  .op = op,
                                  .home = machine->current->home,
                                  .issuer = issuer,
                                  .barrier = -1,
                                  .everywhere = ir_number(op, IR_ATTRIBUTE_MULTICAST, 1) > 1,
                                  .stores = op->opcode == OP_STORE_ASYNC || op->opcode == OP_TMA_STORE};
    list_elements(frame, transfer, &access);
    start_agents(machine, transfer, kind == TRANSFER_CP);
    /* store_async stands for either form of store */
    bool ordinary = kind == TRANSFER_CP || op->opcode == OP_STORE_ASYNC;
    struct accessor accessor = machine_access_asynchronous(machine, op, !transfer->stores, ordinary,
                                                           transfer->first_epoch, transfer->epochs);
    accessor.any_warp = kind == TRANSFER_TOKEN;
    if (kind == TRANSFER_TMA_LOAD || kind == TRANSFER_TMA_STORE)
        accessor.warps = UINT64_C(1) << issuing_warp(machine, transfer);
    char name[64];
    accessor.name = machine_name(access.buffer, name, sizeof name);
    for (int b = 0; b < machine->block_count; b++) {
        accessor.block = &machine->blocks[b];
        for (int64_t i = 0; i < transfer->count && (transfer->everywhere || accessor.block == transfer->home); i++)
            machine_touch(&accessor, transfer->shared[i], ir_element_info[transfer->element].bits / 8);
    }
    machine_global_transfer(machine, transfer, &accessor);
    vector_push(machine->arena, &machine->transfers, transfer);
    vector_push(machine->arena, &machine->all_transfers, transfer);
    return transfer;
}

static void issue_with_token(struct frame *frame, const struct ir_operation *op)
{
    struct machine *machine = frame->run->machine;
    struct transfer *transfer = issue(frame, op, TRANSFER_TOKEN, 0);
    vector_push(machine->arena, &machine->tokens, transfer);
    frame_cell(frame, op->results[0])->number = machine->tokens.count;
}

static void issue_tma_load(struct frame *frame, const struct ir_operation *op)
{
    if (ir_number(op, IR_ATTRIBUTE_MULTICAST, 1) > 1)
        machine_reach_out(frame->run->machine, op);
    struct transfer *transfer = issue(frame, op, TRANSFER_TMA_LOAD, 0);
    transfer->barrier = machine_barrier_of(frame, op, op->operand_count - 2);
    struct machine *machine = frame->run->machine;
    transfer->phase_count = machine->all_barriers.count;
    transfer->phases = ARENA_ARRAY(machine->arena, uint32_t, transfer->phase_count);
    for (int i = 0; i < transfer->phase_count; i++)
        transfer->phases[i] = machine->warp[machine->current->first_warp].seen[machine->all_barriers.data[i]->agent];
}

static void issue_in_group(struct frame *frame, const struct ir_operation *op)
{
    struct machine *machine = frame->run->machine;
    bool cp = op->opcode == OP_CP_ASYNC;
    int issuers = ir_attribute(op, IR_ATTRIBUTE_APART) ? machine->current->warps / IR_WARPGROUP : 1;
    for (int i = 0; i < issuers; i++) {
        struct transfer *transfer = issue(frame, op, cp ? TRANSFER_CP : TRANSFER_TMA_STORE, i);
        transfer->group = cp ? machine->current->cp_committed : machine->current->tma_committed;
        vector_push(machine->arena, &machine->current->groups, transfer);
    }
}

/* ---- waits ---- */

static void learn(struct machine *machine, const struct transfer *transfer)
{
    const struct control *control = machine->current;
    for (int i = 0; i < transfer->epochs; i++) {
        struct epoch epoch = machine->epochs.data[transfer->first_epoch + i];
        if (transfer->kind == TRANSFER_TOKEN)
            for (int warp = 0; warp < control->warps; warp++)
                machine_warp_learns(machine, control->first_warp + warp, epoch);
        else /* those that issued it, each for itself */
            machine_warp_learns(machine, machine->agents.data[epoch.agent].owner, epoch);
    }
}

static void wait_for_tokens(struct frame *frame, const struct ir_operation *op)
{
    struct machine *machine = frame->run->machine;
    for (int i = 0; i < op->operand_count; i++) {
        int64_t number = frame_cell(frame, op->operands[i])->number;
        if (number < 1 || number > machine->tokens.count)
            interp_stop(machine->run, op, "waits for a token that stands for nothing");
        machine_transfer_finish(machine, machine->tokens.data[number - 1]);
        learn(machine, machine->tokens.data[number - 1]);
    }
}

static void wait_for_groups(struct machine *machine, const struct ir_operation *op)
{
    struct control *control = machine->current;
    enum transfer_kind kind = op->opcode == OP_CP_WAIT ? TRANSFER_CP : TRANSFER_TMA_STORE;
    int64_t open = (kind == TRANSFER_CP ? control->cp_committed : control->tma_committed) -
                   ir_number(op, IR_ATTRIBUTE_PENDING, 0);
    int kept = 0;
    for (int i = 0; i < control->groups.count; i++) {
        struct transfer *transfer = control->groups.data[i];
        bool anothers = transfer->issuer > 0 && !ir_attribute(op, IR_ATTRIBUTE_APART);
        if (transfer->kind != kind || transfer->group >= open || anothers) {
            control->groups.data[kept++] = transfer;
            continue;
        }
        machine_transfer_finish(machine, transfer);
        learn(machine, transfer);
    }
    control->groups.count = kept;
}

void execute_transfer(struct frame *frame, const struct ir_operation *op)
{
    struct machine *machine = frame->run->machine;
    machine_point(machine);
    machine_operation_begin(machine);
    switch (op->opcode) {
    case OP_COPY_ASYNC:
    case OP_STORE_ASYNC: issue_with_token(frame, op); return;
    case OP_TMA_LOAD: issue_tma_load(frame, op); return;
    case OP_TMA_STORE:
    case OP_CP_ASYNC: issue_in_group(frame, op); return;
    case OP_WAIT: wait_for_tokens(frame, op); return;
    case OP_TMA_COMMIT: machine->current->tma_committed++; return;
    case OP_CP_COMMIT: machine->current->cp_committed++; return;
    case OP_TMA_WAIT:
    case OP_CP_WAIT: wait_for_groups(machine, op); return;
    default: machine_fence(machine); return;
    }
}

/* A block may not end while something still reads or writes its shared memory. */
void machine_check_end(struct machine *machine)
{
    for (int b = 0; b < machine->block_count; b++)
        if (machine->blocks[b].reached_out)
            interp_stop(machine->run, machine->blocks[b].reached_out,
                        "reaches into other blocks, which may have ended: no cluster_barrier follows");
    for (int i = 0; i < machine->all_transfers.count; i++) {
        const struct transfer *transfer = machine->all_transfers.data[i];
        for (int k = 0; k < transfer->epochs; k++) {
            struct epoch epoch = machine->epochs.data[transfer->first_epoch + k];
            bool known = false;
            for (int warp = 0; warp < machine->warps && !known; warp++)
                known = machine->warp[warp].seen[epoch.agent] >= epoch.time;
            if (!known)
                interp_stop(machine->run, transfer->op, "the block ends, and nobody waited for this %s",
                            ir_op_info[transfer->op->opcode].text);
        }
    }
}
