/* What instances do to each other's elements, when they run one after the other: two that store one, or one that stores
 * what another loads, where nothing orders them; and what elements of one tile do to each other, where a store puts two
 * of them in one place.  The language leaves one of the values then, so it is no fault, but hardly ever meant.  Atomics
 * may meet anything.
 *
 * Order.  A release publishes what its instance did before; an acquire sees what was published until then.  Instances
 * run to their end, so a touch is ordered before another instance's if its own instance released behind it, and the
 * other one has acquired.  Which element they released and acquired is not asked: a race may be missed, none is made
 * up. */
#include <stdlib.h>
#include <string.h>

#include "interp/frame.h"

enum { MOST_ELEMENTS = 1 << 22 };

struct side {
    int64_t instance; /* + 1; 0: nobody */
    const struct ir_operation *op;
    int64_t releases;  /* of its instance before it */
    int64_t execution; /* of an operation */
};
/* Of the loads two are kept that are of different instances: one of them is not the storing one's. */
struct touched {
    struct side store, load[2];
    uint64_t bits; /* stored */
};
struct between {
    struct touched *of[64]; /* by memory, then by element */
    size_t size[64];        /* of an element */
    int64_t elements;
    int64_t *releases; /* by instance */
    int64_t acquired;  /* + 1: the instance that did last */
    int64_t executions;
};

void between_begin(struct run *run)
{
    if (!run->options->races || run->machine || run->programs > MOST_ELEMENTS)
        return;
    run->between = ARENA_NEW(run->arena, struct between);
    run->between->releases = ARENA_ARRAY(run->arena, int64_t, run->programs + 1);
}

/* The element that lies there; NULL: nobody writes that memory, or there is too much of it. */
static struct touched *find(struct run *run, uintptr_t address, size_t size, int *number, int64_t *element)
{
    struct between *b = run->between;
    for (int i = 0; i < run->options->memory_count && i < 64; i++) {
        const struct interp_memory *memory = &run->options->memories[i];
        if (address - (uintptr_t)memory->data >= memory->size)
            continue;
        if (memory->read_only)
            return NULL;
        int64_t count = (int64_t)(memory->size / size);
        if (b->size[i] != size) { /* the first touch, or by another type: what was before is forgotten */
            if (b->elements + count > MOST_ELEMENTS)
                return NULL;
            b->elements += count;
            b->of[i] = ARENA_ARRAY(run->arena, struct touched, count + 1);
            b->size[i] = size;
        }
        *number = i;
        *element = (int64_t)((address - (uintptr_t)memory->data) / size);
        return &b->of[i][*element];
    }
    return NULL;
}

static bool is_ordered(const struct run *run, const struct side *old)
{
    return run->between->releases[old->instance - 1] > old->releases && run->between->acquired == run->instance + 1;
}

static void keep(struct run *run, const struct ir_operation *op, const struct side *old, int memory, int64_t element)
{
    struct interp_races *races = run->options->races;
    for (int i = 0; i < races->count; i++)
        if (races->list[i].op == op && races->list[i].other == old->op)
            return;
    if (races->count < INTERP_MOST_RACES)
        races->list[races->count++] = (struct interp_race){
            op, old->op, run->instance, old->instance - 1, element, run->options->memories[memory].name};
}

static void report(struct run *run, const struct ir_operation *op, const struct side *old, int memory, int64_t element)
{
    if (old->instance && old->instance != run->instance + 1 && !is_ordered(run, old))
        keep(run, op, old, memory, element);
}

void between_execute(struct run *run) { run->between->executions++; }

void between_touch(struct run *run, const struct ir_operation *op, uintptr_t address, size_t size, uint64_t bits)
{
    bool stores = op->opcode == OP_STORE || op->opcode == OP_POINTER_STORE;
    int memory;
    int64_t element;
    if (!stores && op->opcode != OP_LOAD && op->opcode != OP_POINTER_LOAD)
        return;
    struct touched *touched = find(run, address, size, &memory, &element);
    if (!touched)
        return;
    struct side now = {run->instance + 1, op, run->between->releases[run->instance], run->between->executions};
    if (!stores) {
        report(run, op, &touched->store, memory, element);
        touched->load[touched->load[0].instance && touched->load[0].instance != now.instance] = now;
        return;
    }
    for (int i = 0; i < 2; i++)
        report(run, op, &touched->load[i], memory, element);
    if (touched->bits != bits) /* of equal values one is left whatever the order */
        report(run, op, &touched->store, memory, element);
    /* An update of equal values is one where two were meant. */
    if (touched->store.execution == now.execution && (touched->bits != bits || ir_updates_place(op)))
        keep(run, op, &touched->store, memory, element);
    touched->store = now;
    touched->bits = bits;
}

void between_synchronise(struct run *run, const struct ir_operation *op)
{
    int64_t order = op->opcode == OP_MEET ? IR_ORDER_ACQ_REL : ir_number(op, IR_ATTRIBUTE_ORDER, IR_ORDER_RELAXED);
    if (order == IR_ORDER_ACQUIRE || order == IR_ORDER_ACQ_REL)
        run->between->acquired = run->instance + 1;
    if (order == IR_ORDER_RELEASE || order == IR_ORDER_ACQ_REL)
        run->between->releases[run->instance]++;
}
