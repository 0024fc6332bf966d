/* A model of a loop.  Its operations cost time and occupy parts of a multiprocessor; values lead from one to another, some
 * of them round the loop.  Two things follow.
 *
 * A *schedule* of one iteration in order, as warps issue it: at which cycle each operation works, and how long an
 * iteration takes once everything that runs ahead is there.
 *
 * *Bounds* that no schedule of the loop passes below, however it moves work between iterations: what each resource needs
 * for an iteration (resource bound), and the longest way round by values that the loop carries, over the iterations that
 * it takes (recurrence bound).  The greatest of them is what limits the loop.
 *
 * All passes that move work between iterations ask it: prefetch_loads (loads into registers), buffer_loads (loads that
 * should go through shared memory), prefetch_copies and specialise (slots of rings, ring_plan.h), and overlap_products
 * (products of two iterations). */
#ifndef TILECC_PASSES_LOOP_MODEL_H
#define TILECC_PASSES_LOOP_MODEL_H
#include "passes/base/pass.h"
#include "targets/costs.h"

/* ---- costs: cycles of a block on a multiprocessor that it has for itself, by targets/costs.def (loop_cost.c) ---- */

/* What operations occupy, and no two at a time. */
#define LOOP_RESOURCES(X)           \
    X(slots, "issue of its warps")  \
    X(tensor, "tensor cores")       \
    X(special, "special functions") \
    X(shared, "shared memory")      \
    X(l2, "L2")
#define X(name, text) LOOP_##name,
enum loop_resource { LOOP_RESOURCES(X) LOOP_RESOURCE_COUNT };
#undef X
struct loop_cost {
    double issue;      /* from its start to what its warp issues behind it */
    double latency;    /* until its result is there, behind what it occupies */
    bool asynchronous; /* tensor cores work on it while warps go on */
#define X(name, text) double name;
    LOOP_RESOURCES(X)
#undef X
};
/* Warps that do an operation: its role's. */
double loop_cost_warps(const struct ir_operation *operation);
struct loop_cost loop_cost_of(const struct ir_operation *operation, const struct target_row *target);
/* Registers of a thread that hold the value. */
int prefetch_registers(const struct ir_value *value);
/* Registers of a thread that are taken while each operation of a loop's body works, in text order. */
int *prefetch_pressure(struct arena *arena, const struct ir_block *body);

/* ---- one iteration, in order ---- */

struct modelled_operation {
    struct ir_operation *operation;
    struct loop_cost cost;
    double start; /* cycles from the top of its iteration; operations issue in order */
    bool ahead;   /* its result is there from the start of the iteration */
};
struct loop_model {
    const struct target_row *target;
    const struct ir_block *body;
    struct modelled_operation *operations;
    int count;
    double chain;     /* cycles of one iteration by itself */
    double tensor;    /* of these, tensor cores work on asynchronous products */
    double memory;    /* cycles that memory takes for an iteration's asynchronous copies */
    double iteration; /* the greatest of them: from one iteration to the next */
};
/* Whether the operation's result is there when an iteration starts, as it was made in one before. */
typedef bool loop_model_ahead(const struct ir_operation *operation, const void *context);
/* Asynchronous copies are; needs no context. */
bool loop_model_copies_ahead(const struct ir_operation *operation, const void *context);
struct loop_model loop_model_make(struct arena *arena, const struct target_row *target, const struct ir_block *body,
                                  loop_model_ahead *ahead, const void *context);
/* The position of the operation of the body that is `operation` or holds it; -1: none. */
int loop_model_position(const struct loop_model *model, const struct ir_operation *operation);

/* ---- bounds (loop_bounds.c) ---- */

/* The result of operation `from` is needed by `to`, so many iterations later. */
struct loop_edge {
    int from, to, distance;
};
struct loop_bounds {
    double resource[LOOP_RESOURCE_COUNT]; /* cycles of it that an iteration needs */
    double recurrence;                    /* cycles an iteration, by values that the loop carries */
    double least;                         /* the greatest of these */
    const char *limit;                    /* which it is: "tensor cores" */
};
/* The edges between the loop's operations that values make, number of them in *count.  What goes through a buffer makes one
 * within an iteration, what goes through memory none. */
struct loop_edge *loop_model_edges(struct arena *arena, const struct loop_model *model, int *count);
/* more: of resources that operations beside the loop's body use for it each iteration, such as copies by a producer; or
 * NULL. */
struct loop_bounds loop_model_bounds(struct arena *arena, const struct loop_model *model, const struct loop_cost *more);

/* ---- registers ---- */

enum { LOOP_MODEL_SPARE = 48 /* registers of a thread for what is not a tile */ };
/* Registers that a thread has for the loop. */
int loop_model_registers(const struct ir_function *function, const struct target_row *target,
                         const struct ir_operation *loop, const struct ir_block *body);
/* The most registers of a thread that tiles take anywhere in the body. */
int loop_model_pressure(struct arena *arena, const struct ir_block *body);
/* Blocks on a multiprocessor whose threads have so many registers, one at least; and how many of them when each takes
 * so many bytes of shared memory, perhaps none. */
int loop_model_residents(const struct ir_function *function, const struct target_row *target, int registers);
int loop_model_residents_beside(const struct target_row *target, int blocks, int64_t bytes);
#endif
