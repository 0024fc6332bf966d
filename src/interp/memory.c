/* Views and everything that touches memory.  An element is inside when every index is in [0, extent) and the view is
 * present; whatever lies inside must also lie in a memory that the caller named. */
#include <stdlib.h>
#include <string.h>

#include "interp/machine.h"
#include "ir/query.h"

/* ---- views ---- */

int64_t memory_scalar(struct frame *frame, const struct ir_value *value)
{
    return ir_bits_to_int(value->type->element, frame_cell(frame, value)->bits[0]);
}

static int64_t element_bytes(const struct ir_type *type) { return ir_element_info[type->element].bits / 8; }

static void subview(struct frame *frame, const struct ir_operation *operation)
{
    const struct ir_type *type = operation->operands[0]->type;
    const struct interp_view *from = &frame_cell(frame, operation->operands[0])->view;
    struct interp_view to = {.data = from->data};
    int64_t drop = ir_number(operation, IR_ATTRIBUTE_DROP, 0);
    int rank = 0;
    for (int d = 0; d < type->rank; d++) {
        int64_t start = memory_scalar(frame, operation->operands[1 + 2 * d]);
        int64_t stop = memory_scalar(frame, operation->operands[2 + 2 * d]);
        if (drop >> d & 1) {
            if (start < 0 || start >= from->extent[d])
                to.data = NULL;
            else if (to.data)
                to.data += start * from->stride[d] * element_bytes(type);
            continue;
        }
        start = int64_max(0, int64_min(start, from->extent[d]));
        stop = int64_max(start, int64_min(stop, from->extent[d]));
        if (to.data)
            to.data += start * from->stride[d] * element_bytes(type);
        to.extent[rank] = stop - start;
        to.stride[rank++] = from->stride[d];
    }
    frame_cell(frame, operation->results[0])->view = to;
}

static void make_view(struct frame *frame, const struct ir_operation *operation)
{
    const struct cell *base = frame_cell(frame, operation->operands[0]);
    bool view = operation->operands[0]->type->kind == IR_VIEW;
    struct interp_view to = {.data = view ? base->view.data : (unsigned char *)(uintptr_t)base->bits[0]};
    int rank = operation->results[0]->type->rank;
    for (int i = 1; i < operation->operand_count; i++) {
        const struct ir_value *given = operation->operands[i];
        int64_t number = ir_bits_to_int(given->type->element, frame_cell(frame, given)->bits[0]);
        if (i <= rank)
            to.extent[i - 1] = number;
        else
            to.stride[i - 1 - rank] = number;
    }
    frame_cell(frame, operation->results[0])->view = to;
}

void execute_view(struct frame *frame, const struct ir_operation *operation)
{
    if (operation->opcode == OP_MAKE_VIEW) {
        make_view(frame, operation);
        return;
    }
    const struct interp_view *view = &frame_cell(frame, operation->operands[0])->view;
    int d = (int)ir_number(operation, IR_ATTRIBUTE_DIMENSION, 0);
    struct cell *result = frame_cell(frame, operation->results[0]);
    enum ir_element element = operation->results[0]->type->element; /* may be narrow: what does not fit wraps */
    switch (operation->opcode) {
    case OP_EXTENT: result->bits[0] = ir_int_to_bits(element, view->extent[d]); return;
    case OP_STRIDE: result->bits[0] = ir_int_to_bits(element, view->stride[d]); return;
    case OP_PRESENT: result->bits[0] = view->data != NULL; return;
    case OP_VIEW_POINTER: result->bits[0] = (uint64_t)(uintptr_t)view->data; return;
    case OP_SUBVIEW: subview(frame, operation); return;
    default: break;
    }
    const struct ir_attribute *permutation = ir_attribute(operation, IR_ATTRIBUTE_PERMUTATION);
    struct interp_view to = {.data = view->data};
    for (int i = 0; i < permutation->count; i++) {
        to.extent[i] = view->extent[permutation->list[i]];
        to.stride[i] = view->stride[permutation->list[i]];
    }
    result->view = to;
}

/* ---- addresses ---- */

unsigned char *memory_checked(struct run *run, const struct ir_operation *operation, uintptr_t address, size_t size,
                              bool writes, bool reads)
{
    const struct interp_options *options = run->options;
    for (int i = 0; i < options->memory_count; i++) {
        const struct interp_memory *memory = &options->memories[i];
        uintptr_t low = (uintptr_t)memory->data;
        if (address < low || address - low > memory->size || memory->size - (address - low) < size)
            continue;
        if (writes && memory->read_only)
            interp_stop(run, operation, "writes '%s', which is only read", memory->name);
        for (size_t k = 0; memory->written && k < size; k++) {
            if (reads && !memory->written[address - low + k])
                interp_stop(run, operation, "reads byte %zu of '%s', which nothing wrote", (size_t)(address - low) + k,
                            memory->name);
            if (writes)
                memory->written[address - low + k] = 1;
        }
        return (unsigned char *)address;
    }
    interp_stop(run, operation, "%s %s", writes ? "writes" : "reads",
                address ? "memory that no argument owns" : "through a null pointer");
}

uint64_t memory_load_bits(const unsigned char *from, enum ir_element element)
{
    uint64_t bits = 0;
    memcpy(&bits, from, (size_t)ir_element_info[element].bits / 8);
    if (element == IR_BOOL)
        return bits != 0;
    return ir_is_integer(element) ? ir_int_to_bits(element, (int64_t)bits) : bits;
}

void memory_store_bits(unsigned char *to, enum ir_element element, uint64_t bits)
{
    memcpy(to, &bits, (size_t)ir_element_info[element].bits / 8);
}

uintptr_t memory_place_address(struct frame *frame, const struct ir_operation *operation,
                               const struct ir_access *access, const int64_t *shape, int rank, int64_t linear)
{
    const struct interp_view *view = &frame_cell(frame, access->view)->view;
    int64_t at[IR_MAX_RANK], claims = ir_number(operation, IR_ATTRIBUTE_INSIDE, 0);
    for (int d = rank - 1; d >= 0; d--) {
        at[d] = linear % shape[d];
        linear /= shape[d];
    }
    int next = 0, gather_first = -1;
    bool inside = view->data != NULL;
    int64_t offset = 0;
    for (int d = 0; d < access->rank; d++) {
        const struct ir_value *operand = access->index[d];
        int64_t index;
        if (access->place[d] == IR_GATHER) {
            const struct ir_type *tile = operand->type;
            if (gather_first < 0) {
                gather_first = next;
                next += tile->rank;
            }
            int64_t element = 0;
            for (int i = 0; i < tile->rank; i++)
                element = element * tile->extent[i] + at[gather_first + i];
            index = ir_bits_to_int(tile->element, frame_cell(frame, operand)->bits[element]);
        } else {
            index = memory_scalar(frame, operand);
            if (access->place[d] > 0)
                index = (int64_t)((uint64_t)index + (uint64_t)at[next++]);
        }
        bool good = index >= 0 && index < view->extent[d];
        if (!good && (claims >> d & 1) && view->data)
            interp_stop(frame->run, operation,
                        "index %lld of dimension %d was said to be inside, but the extent is %lld", (long long)index, d,
                        (long long)view->extent[d]);
        inside = inside && good;
        if (good)
            offset += index * view->stride[d];
    }
    return inside ? (uintptr_t)(view->data + offset * element_bytes(access->view->type)) : 0;
}

/* ---- accesses ---- */

struct element_access {
    uintptr_t address;
    uint64_t other, value, expected;
    bool absent;
    enum ir_element element;
};

uint64_t memory_atomic_result(const struct ir_operation *operation, enum ir_element element, uint64_t old,
                              uint64_t value)
{
    static const enum ir_reduce_kind kind[IR_ACTION_COUNT] = {
        [IR_ACTION_ADD] = IR_REDUCE_ADD, [IR_ACTION_MIN] = IR_REDUCE_MIN, [IR_ACTION_MAX] = IR_REDUCE_MAX,
        [IR_ACTION_AND] = IR_REDUCE_AND, [IR_ACTION_OR] = IR_REDUCE_OR,   [IR_ACTION_XOR] = IR_REDUCE_XOR};
    enum ir_action action = (enum ir_action)ir_number(operation, IR_ATTRIBUTE_ACTION, IR_ACTION_ADD);
    if (action == IR_ACTION_EXCHANGE || action == IR_ACTION_STORE)
        return value;
    return action == IR_ACTION_LOAD ? old : scalar_combine(kind[action], element, false, old, value);
}

/* One element; returns the result's bits (loads and atomics). */
static uint64_t access_element(struct frame *frame, const struct ir_operation *operation,
                               const struct element_access *e)
{
    size_t size = (size_t)ir_element_info[e->element].bits / 8;
    bool absent = e->absent;
    switch (operation->opcode) {
    case OP_LOAD:
    case OP_POINTER_LOAD:
        if (absent)
            return e->other;
        return memory_load_bits(memory_checked(frame->run, operation, e->address, size, false, true), e->element);
    case OP_STORE:
    case OP_POINTER_STORE:
        if (!absent)
            memory_store_bits(memory_checked(frame->run, operation, e->address, size, true, false), e->element,
                              e->value);
        return 0;
    case OP_ATOMIC:
    case OP_POINTER_ATOMIC: {
        if (absent)
            return 0;
        enum ir_action action = (enum ir_action)ir_number(operation, IR_ATTRIBUTE_ACTION, IR_ACTION_ADD);
        unsigned char *at = memory_checked(frame->run, operation, e->address, size, action != IR_ACTION_LOAD,
                                           action != IR_ACTION_STORE);
        uint64_t old = memory_load_bits(at, e->element);
        memory_store_bits(at, e->element, memory_atomic_result(operation, e->element, old, e->value));
        return old;
    }
    default: break;
    }
    if (absent)
        return 0;
    unsigned char *at = memory_checked(frame->run, operation, e->address, size, true, true);
    uint64_t old = memory_load_bits(at, e->element);
    if (old == e->expected)
        memory_store_bits(at, e->element, e->value);
    return old;
}

struct change {
    uintptr_t address;
    uint64_t value;
};

static int compare_changes(const void *a, const void *b)
{
    const struct change *x = a, *y = b;
    return x->address < y->address ? -1 : x->address > y->address;
}

/* Which of two elements of one operation comes first is not said; stores of the same do no harm. */
static void check_distinct(struct run *run, const struct ir_operation *operation, struct change *changed, int64_t count)
{
    if (!changed)
        return;
    bool stores = operation->opcode == OP_STORE || operation->opcode == OP_POINTER_STORE;
    qsort(changed, (size_t)count, sizeof *changed, compare_changes);
    for (int64_t i = 1; i < count; i++)
        if (changed[i].address == changed[i - 1].address && !(stores && changed[i].value == changed[i - 1].value))
            interp_stop(run, operation, "'%s' changes one element twice", ir_op_info[operation->opcode].text);
}

void execute_memory(struct frame *frame, const struct ir_operation *operation)
{
    struct ir_access access;
    int64_t shape[IR_MAX_RANK], count = 1;
    if (!ir_access_of(operation, &access))
        interp_stop(frame->run, operation, "'%s' has too few operands", ir_op_info[operation->opcode].text);
    bool pointers = access.rank == 0;
    int rank = pointers ? access.view->type->rank : ir_place_shape(&access, shape);
    for (int d = 0; d < rank; d++)
        count *= pointers ? access.view->type->extent[d] : shape[d];
    struct cell *result = operation->result_count ? frame_cell(frame, operation->results[0]) : NULL;
    struct global_accessor accessor;
    bool looked_at = machine_global_begin(frame, operation, &access, &accessor);
    bool distinct = frame->run->options->distinct && operation->opcode != OP_INSIDE &&
                    machine_global_kind(operation) == GLOBAL_WRITE;
    struct change *changed = distinct ? ARENA_ARRAY(frame->run->arena, struct change, count + 1) : NULL;
    int64_t changed_count = 0;
    const struct cell *address = pointers ? frame_cell(frame, access.view) : NULL;
    if (frame->run->between)
        between_execute(frame->run);
    for (int64_t i = 0; i < count; i++) {
        struct element_access e = {.element = pointers ? access.view->type->pointee : access.view->type->element};
        e.address = pointers ? (uintptr_t)address->bits[i]
                             : memory_place_address(frame, operation, &access, shape, rank, i);
        if (operation->opcode == OP_INSIDE) {
            result->bits[i] = e.address != 0;
            continue;
        }
        /* no place outside a view is there; but a pointer is meant to point somewhere */
        e.absent = (!pointers && !e.address) || (access.mask && !cell_at(frame_cell(frame, access.mask), i));
        e.other = access.other ? cell_at(frame_cell(frame, access.other), i) : 0;
        e.value = access.value ? cell_at(frame_cell(frame, access.value), i) : 0;
        e.expected = access.expected ? cell_at(frame_cell(frame, access.expected), i) : 0;
        if (changed && !e.absent)
            changed[changed_count++] = (struct change){e.address, e.value};
        uint64_t bits = access_element(frame, operation, &e);
        if (frame->run->between && !e.absent)
            between_touch(frame->run, operation, e.address, (size_t)ir_element_info[e.element].bits / 8, e.value);
        if (looked_at && !e.absent)
            machine_global_touch(&accessor, i, e.address, (size_t)ir_element_info[e.element].bits / 8);
        if (result)
            result->bits[i] = bits;
    }
    check_distinct(frame->run, operation, changed, changed_count);
    if (frame->run->between && ir_has_trait(operation, IR_TRAIT_ATOMIC))
        between_synchronise(frame->run, operation);
}
