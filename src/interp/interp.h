/* The interpreter: the oracle that compiled code is compared with.
 *
 * It follows the meaning of each operation (ops.def, man/tile-ir.7) in the simplest way: one instance after the other,
 * one element after the other, floats in double and rounded once.  It shares no code with passes or targets and links
 * with base and ir alone.  What it checks beyond results: every access lies in memory that an argument owns, `inside`
 * bits and assumptions are true, elements read were written before (when a shadow is given), loops end.
 *
 * Functions of every level run.  At the Schedule and Machine levels it also reports: accesses to shared memory that
 * nothing orders (with `ordered` to global memory, too), missing proxy fences, values looked at while they are on their
 * way, bytes that nothing wrote, arrivals that a phase does not have, and roles that wait for ever (machine.h says
 * how). */
#ifndef TILECC_INTERP_H
#define TILECC_INTERP_H
#include "base/base.h"
#include "ir/ir.h"

/* Memory that the program may touch.  written: one byte for each byte of data, non-zero where it holds a value; NULL:
 * all does. */
struct interp_memory {
    void *data;
    size_t size;
    unsigned char *written;
    bool read_only;
    const char *name;
};

/* One argument of the function, in its order.  Views: data NULL is an absent view; strides in elements. */
struct interp_argument {
    void *data;
    int64_t extent[IR_MAX_RANK], stride[IR_MAX_RANK];
    uint64_t bits; /* scalars: the encoding of ir_attribute; pointers: the address */
};

/* Two operations of different instances on one element, one of which stores; nothing orders them.  Or one store, of one
 * instance, that puts two elements of a tile there. */
struct interp_race {
    const struct ir_operation *op, *other; /* other: the one that ran first */
    int64_t instance, other_instance, element;
    const char *memory;
};
enum { INTERP_MOST_RACES = 16 };
struct interp_races {
    int count;
    struct interp_race list[INTERP_MOST_RACES];
};

struct interp_options {
    int memory_count;
    const struct interp_memory *memories;
    int64_t grid[IR_MAX_RANK]; /* counts, grid_rank of the function many */
    int64_t step_limit;        /* operations executed an instance; 0: 2^40 */
    bool reverse;              /* runs the instances from last to first */
    bool distinct;             /* no operation may change an element twice where the order would show */
    uint64_t seed;             /* Machine level: the order of roles and arrivals */
    bool ordered;              /* barriers stand wherever threads need them: races on global memory count */
    int64_t blocks;            /* of a function that walks over programs; 0: 2 */
    /* Sees the tiles that an operation of the Value level is about to read, and then those that it has made (`made`):
     * their elements as bits, and in which instance.  For tests of what is said of values; NULL: nobody looks. */
    void (*watch)(void *watcher, const struct ir_operation *operation, const struct ir_value *value,
                  const uint64_t *bits, bool made, int64_t instance);
    void *watcher;
    struct interp_races *races; /* gets what between.c finds, at the Value level; NULL: nobody asks */
};

/* The first thing that went wrong. */
struct interp_problem {
    char text[480];
    struct location at;
    const struct ir_operation *operation;
    int64_t instance;
};

/* Runs every instance of a kernel (or a plain function once, grid ignored).  results (may be NULL): one array of bits
 * for each result of a plain function, as many as its type has elements.  False: *problem says what. */
bool interp_run(const struct ir_function *function, int argument_count, const struct interp_argument *arguments,
                const struct interp_options *options, uint64_t *const *results, struct interp_problem *problem);
#endif
