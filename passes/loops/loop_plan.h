/* A model of a loop: at which cycle each operation of an iteration works, how long an iteration takes once everything
 * that runs ahead is there, and hence how many iterations ahead loads and copies must start.
 *
 * All passes that move work between iterations ask it: prefetch_loads (loads into registers), buffer_loads (loads that
 * should go through shared memory), prefetch_copies and specialise (slots of rings), and overlap_products (products of
 * two iterations). */
#ifndef TILECC_PASSES_LOOP_PLAN_H
#define TILECC_PASSES_LOOP_PLAN_H
#include "passes/base/pass.h"

/* ---- costs: cycles of a block on a multiprocessor that it has for itself (loop_cost.c) ---- */
struct loop_cost {
    double issue;   /* warps are busy with it */
    double latency; /* until its result is there */
    double tensor;  /* of an asynchronous product: tensor cores work on it while warps go on */
};
struct loop_cost loop_cost_of(const struct ir_operation *operation, const struct target_row *target);
/* Registers of a thread that hold the value. */
int prefetch_registers(const struct ir_value *value);
/* Registers of a thread that are taken while each operation of a loop's body works, in text order. */
int *prefetch_pressure(struct arena *arena, const struct ir_block *body);

struct planned_operation {
    struct ir_operation *operation;
    struct loop_cost cost;
    double start; /* cycles from the top of its iteration; operations issue in order */
    bool ahead;   /* its result is there from the start of the iteration */
};
struct loop_plan {
    const struct ir_block *body;
    struct planned_operation *operations;
    int count;
    double chain;     /* cycles of one iteration by itself */
    double tensor;    /* of these, tensor cores work on asynchronous products */
    double memory;    /* cycles that memory takes for an iteration's asynchronous copies */
    double iteration; /* the greatest of them: from one iteration to the next */
};
/* Whether the operation's result is there when an iteration starts, as it was made in one before. */
typedef bool loop_plan_ahead(const struct ir_operation *operation, const void *context);
/* Asynchronous copies are; needs no context. */
bool loop_plan_copies_ahead(const struct ir_operation *operation, const void *context);
struct loop_plan loop_plan_make(struct arena *arena, const struct target_row *target, const struct ir_block *body,
                                loop_plan_ahead *ahead, const void *context);
/* The position of the operation of the body that is `operation` or holds it; -1: none. */
int loop_plan_position(const struct loop_plan *plan, const struct ir_operation *operation);

/* ---- registers ---- */

enum { LOOP_PLAN_SPARE = 48 /* registers of a thread for what is not a tile */ };
/* Registers that a thread has for the loop. */
int loop_plan_registers(const struct ir_function *function, const struct target_row *target,
                        const struct ir_operation *loop, const struct ir_block *body);
/* The most registers of a thread that tiles take anywhere in the body. */
int loop_plan_pressure(struct arena *arena, const struct ir_block *body);
/* Blocks on a multiprocessor whose threads have so many registers, one at least; and how many of them when each takes
 * so many bytes of shared memory, perhaps none. */
int loop_plan_residents(const struct ir_function *function, const struct target_row *target, int registers);
int loop_plan_residents_beside(const struct target_row *target, int blocks, int64_t bytes);

/* ---- rings ---- */

/* The slots of one ring and why. */
struct ring_plan {
    double iteration, latency; /* cycles: between two fillings; from the start of a copy until it is there */
    int64_t bytes;             /* of a slot */
    int wanted;                /* slots that hide the latency */
    int most;                  /* what more than these would be good for is not known */
    int fit;                   /* that there is room for */
    uint64_t among;            /* of which it is one, see struct ir_function; 0: any */
    int slots;                 /* what it gets: the least of most and fit */
    int parts;                 /* fillings an iteration, 0: one */
    int blocks;                /* that share the memory, 0: one */
};
/* Cycles from the start of copies of so many bytes until they are there. */
double loop_plan_latency(int64_t bytes);
/* Plans a ring that is filled once an iteration: a slot may be filled again `busy` cycles after its reader starts to
 * wait for it.  alone: no other block can have the memory that is left.  function: whose stages are asked for. */
struct ring_plan loop_plan_ring(const struct loop_plan *plan, int64_t bytes, double busy, bool alone,
                                const struct ir_function *function);
/* Shares `room` bytes out: the same number of slots for each ring, but no more than it has use for.  False: there is no
 * room for one slot of each. */
bool loop_plan_share(struct ring_plan *const *rings, int count, int64_t room);
/* "an iteration takes 1536 cycles, a copy 2536: 3 slots hide that, 4 fit" */
const char *loop_plan_reason(struct arena *arena, const struct ring_plan *ring, int stages);
#endif
