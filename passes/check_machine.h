/* The independent checker of machine-level IR: what its files share.  See check_machine.c.
 *
 * The control skeleton of a function is run with small numbers for what only the launch knows: scalars are computed,
 * tiles are not.  A role is an *agent*.  What agents do to shared memory is dated by clocks: an agent knows of an
 * access when all its threads are sure that it is over.  Everything here is derived from the IR alone and shares no
 * code with the passes that make it. */
#ifndef TILECC_CHECK_MACHINE_H
#define TILECC_CHECK_MACHINE_H
#include "ir/ir.h"
#include "ir/layout.h"
#include "passes/pass.h"

enum { CHECK_AGENTS = 9, CHECK_BARRIERS = 16 };
/* Accesses of one agent are numbered by kind; knowing number n is knowing all before. */
enum check_kind {
    CHECK_GENERIC,        /* ordinary loads and stores, mma */
    CHECK_FENCED,         /* of these, the stores that asynchronous readers see */
    CHECK_PRODUCT,        /* wgmma */
    CHECK_COPY,           /* groups of cp.async */
    CHECK_FENCED_COPY,
    CHECK_STORE,          /* groups of TMA stores */
    CHECK_BULK,           /* TMA loads */
    CHECK_KINDS
};
struct check_clock { int stamp[CHECK_AGENTS][CHECK_KINDS]; };

/* Bytes of shared memory, and which part of which tile they are. */
struct check_place {
    const struct ir_operation *object;   /* buffer, or an operation with scratch */
    int64_t slot, from, to;              /* bytes [from, to) */
    int rank, start[LAYOUT_RANK], extent[LAYOUT_RANK];
};
struct check_access {
    struct check_place place;
    const struct ir_operation *op;
    int agent, stamp;
    enum check_kind kind;
    bool write;
};

/* One mbarrier of an array. */
struct check_mbarrier {
    int arrived, phases;                 /* of the current phase; phases that ended */
    int64_t bytes;                       /* announced and not yet come */
    struct check_clock coming, done;     /* what arrivals bring; what those who waited know */
    struct check_clock far_coming, far_done; /* the same of arrivals in all blocks of the cluster: of every block */
    const struct ir_operation *expect;   /* the last */
};
struct check_array { const struct ir_operation *op; int slots; struct check_mbarrier *each; };
/* A barrier of some threads, met by several agents. */
struct check_meeting { int64_t warps; int round; struct check_clock coming, done; };

struct check_value { int64_t number; int product; /* on its way; 0: none */ };
struct check_frame {
    const struct ir_block *block;
    const struct ir_operation *next, *owner; /* owner NULL: the agent's own block */
    int64_t variable, upper, step;
};
enum check_state { CHECK_RUNS, CHECK_BLOCKED, CHECK_DONE };
struct check_agent {
    int number, warps;
    bool one_thread;
    enum check_state state;
    const struct ir_operation *blocked;
    bool turns;                          /* were started */
    const struct ir_operation *turn;     /* taken here; NULL: handed on */
    int met_round[CHECK_BARRIERS];       /* of the meeting it waits in, + 1; 0: none */
    struct check_value *values;          /* by id */
    VECTOR(struct check_frame) frames;
    struct check_clock known;
    struct check_clock far;              /* what it knows to be over in all blocks of the cluster */
    int generic, fenced, product, products_done, group, copies_done, copies_fenced, store_group, stores_done, bulk;
};

/* Numbers for what only the launch knows. */
struct check_scenario { int64_t grid_extent, other_extent, programs; int64_t scalar; };

struct check {
    const struct ir_function *function;
    struct pass_context *context;
    struct arena *arena;
    struct check_scenario scenario;
    int64_t block_count, program_count, grid[IR_MAX_RANK];
    VECTOR(struct check_access) accesses;  /* that later ones have to know of */
    VECTOR(struct check_array) mbarriers;
    struct check_meeting meetings[CHECK_BARRIERS];
    struct check_agent *agents[CHECK_AGENTS]; /* 0: the function's body */
    int agent_count;
    int steps;                             /* left */
    bool ready, found;                     /* mbarriers are set up; something was reported */
    bool cluster_ready;                    /* those of the cluster's other blocks, too */
    const struct ir_operation *far;        /* the last that reached into another block since the blocks met */
};

/* Reports the first finding of a function, E1006.  `other`: what it collides with, or NULL. */
void check_report(struct check *check, const struct ir_operation *op, const struct ir_operation *other,
                  const char *format, ...) __attribute__((format(printf, 4, 5)));

/* check_machine_run.c: runs the function's body under check->scenario. */
void check_run(struct check *check);
int64_t check_number(const struct check_agent *agent, const struct ir_value *value);

/* check_machine_scalar.c: the result of an operation on scalars; others get a number made from their operands'. */
int64_t check_evaluate(const struct check *check, const struct check_agent *agent, const struct ir_operation *op,
                       int result);
void check_choose_grid(struct check *check);

/* check_machine_memory.c: what an operation does to shared memory and to what its agent knows.  False: it has to wait.
 */
bool check_perform(struct check *check, struct check_agent *agent, const struct ir_operation *op);
bool check_is_shared(const struct ir_operation *op); /* check_perform would do something */
void check_join(struct check_agent *into, const struct check_agent *from); /* learns what the other knows */
void check_end(struct check *check);                 /* nothing may be on its way when the block ends */
/* The reason why an agent waits, for the report of a deadlock. */
const char *check_why_blocked(struct check *check, const struct check_agent *agent);
#endif
