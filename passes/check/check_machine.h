/* The independent checker of machine-level IR: what its files share.  See check_machine.c.
 *
 * The control skeleton of a function is run with small numbers for what only the launch knows: scalars are computed,
 * tiles are not.  Each warpgroup of a role, or a role of one thread, is an *agent*.  What agents do to shared memory
 * is dated by clocks: an agent knows of an access when all its threads are sure that it is over.  Everything here is
 * derived from the IR alone and shares no code with the passes that make it. */
#ifndef TILECC_CHECK_MACHINE_H
#define TILECC_CHECK_MACHINE_H
#include "ir/ir.h"
#include "ir/layout/layout.h"
#include "passes/base/pass.h"

enum { CHECK_BARRIERS = 16, CHECK_AROUND = 3 };
/* Where swizzles and copies to shared memory may start, by the manual of PTX.  The passes have these numbers from
 * src/ir/facts/scratch.c; the checker would not notice a mistake there if it asked the same place. */
enum { CHECK_SWIZZLE_ALIGNMENT = 1024, CHECK_ROW_ALIGNMENT = 128 };
/* Rows that a warpgroup has together where each of a role stores by itself. */
enum { CHECK_GROUP_ROWS = 64 };
/* Accesses of one agent are numbered by kind; knowing number n is knowing all before. */
enum check_kind {
    CHECK_GENERIC, /* ordinary loads and stores, mma */
    CHECK_FENCED,  /* of these, the stores that asynchronous readers see */
    CHECK_PRODUCT, /* wgmma */
    CHECK_COPY,    /* groups of cp.async */
    CHECK_FENCED_COPY,
    CHECK_STORE, /* groups of TMA stores */
    CHECK_KINDS,
    CHECK_BULK /* TMA loads come in any order, and are over when a phase of the mbarrier they count in is */
};
/* What is known to be over: check->clock_size numbers, CHECK_KINDS for each agent and the phases of each mbarrier. */
typedef int *check_clock;

/* Bytes of shared memory, and which part of which tile they are. */
struct check_place {
    const struct ir_operation *object; /* buffer, or an operation with scratch */
    int64_t slot, from, to;            /* bytes [from, to) */
    int rank, start[LAYOUT_RANK], extent[LAYOUT_RANK];
};
struct check_access {
    struct check_place place;
    const struct ir_operation *op;
    int agent, stamp, mbarrier; /* CHECK_BULK: stamp counts the phases of that mbarrier */
    enum check_kind kind;
    bool write;
};

/* One mbarrier of an array. */
struct check_mbarrier {
    int number;                        /* of all mbarriers */
    int arrived, phases;               /* of the current phase; phases that ended */
    int64_t bytes;                     /* announced and not yet come */
    check_clock coming, done, before;  /* what arrivals bring; what the last phase tells that ended, the one before */
    check_clock far_coming, far_done;  /* the same of arrivals in all blocks of the cluster: of every block */
    const struct ir_operation *expect; /* the last */
};
struct check_array {
    const struct ir_operation *op;
    int slots;
    struct check_mbarrier *each;
};
/* A barrier of some threads, met by several agents. */
struct check_meeting {
    int64_t warps;
    int round;
    check_clock coming, done;
};
/* The warpgroups of a role: each is an agent, and takes the same steps. */
struct check_group {
    int first, count, warps;
    int turn;
    struct check_meeting meeting;
};

struct check_value {
    int64_t number;
    int product; /* on its way; 0: none */
    int node;    /* where values are checked: what made it (check_value.h) */
};
struct check_values;
struct check_frame {
    const struct ir_block *block;
    const struct ir_operation *next, *owner; /* owner NULL: the agent's own block */
    int64_t variable, upper, step;
    bool waits; /* of a while: the last turn changed nothing */
};
enum check_state { CHECK_RUNS, CHECK_BLOCKED, CHECK_DONE };
struct check_agent {
    int number, warps;
    struct check_group *group;
    bool one_thread, in_scratch;
    enum check_state state;
    const struct ir_operation *blocked;
    const struct check_mbarrier *waits_for;
    bool turns;                        /* were started */
    const struct ir_operation *turn;   /* taken here; NULL: handed on */
    int met_round[CHECK_BARRIERS + 1]; /* of the meeting it waits in, + 1; 0: none; the last: of its role */
    struct check_value *values;        /* by id */
    VECTOR(struct check_frame) frames;
    check_clock known;
    check_clock far; /* what it knows to be over in all blocks of the cluster */
    int generic, fenced, product, products_done, copy_group, copies_done, copies_fenced, store_group, stores_done;
};

/* Numbers for what only the launch knows. */
/* quarter: where in the grid, 4 is its last program.  around: rounds of loops around one loop, two, three or more. */
struct check_scenario {
    int64_t grid_extent, other_extent, programs, scalar;
    int quarter, around[CHECK_AROUND];
};
/* Of loops that go to an extent: the largest step, 0 if there are none, and the fewest loops inside. */
struct check_bound {
    int64_t step;
    int height;
};

struct check {
    const struct ir_function *function;
    struct pass_context *context;
    struct arena *arena;
    struct check_scenario scenario;
    int64_t block_count, program_count, grid[IR_MAX_RANK];
    int64_t block, place[IR_MAX_RANK];    /* which block is run; the program's place in the grid */
    struct check_values *values;          /* of all agents, where those are checked; else NULL */
    VECTOR(struct check_access) accesses; /* that later ones have to know of */
    VECTOR(struct check_array) mbarriers;
    struct check_meeting meetings[CHECK_BARRIERS];
    VECTOR(struct check_agent *) agents; /* 0: the function's body */
    int most_agents, clock_size;
    check_clock scratch;
    const struct ir_operation **jump; /* by id of an operation's first result: what matters next, if known */
    struct check_bound *bounds;       /* IR_MAX_RANK extents for each argument */
    struct check_bound bound_by_loads;
    const struct layout *asked_layout; /* whether each place of it belongs to one thread: one_owner */
    bool one_owner;
    const struct layout *asked_rows; /* whether so many warpgroups have rows of their own in it: own_rows */
    int asked_groups;
    bool own_rows;
    int64_t taken;                  /* numbers that the block has taken of an ordered grid, one after the other */
    int64_t *stored;                /* by id of a buffer: the number that all elements have, as far as is known */
    int steps;                      /* left */
    bool ready, found;              /* mbarriers are set up; something was reported */
    bool cluster_ready;             /* those of the cluster's other blocks, too */
    const struct ir_operation *far; /* the last that reached into another block since the blocks met */
};

/* Reports the first finding of a function, E1006.  `other`: what it collides with, or NULL. */
void check_report(struct check *check, const struct ir_operation *op, const struct ir_operation *other,
                  const char *format, ...) __attribute__((format(printf, 4, 5)));

/* check_machine_run.c: runs the function's body under check->scenario. */
void check_run(struct check *check);
int64_t check_number(const struct check_agent *agent, const struct ir_value *value);
bool check_matters(const struct ir_operation *op); /* running it can change what is found */
/* A number of an ordered grid, from its counter. */
bool check_takes_number(const struct check *check, const struct check_agent *agent, const struct ir_operation *op);
bool check_has_tiles(const struct ir_block *block); /* of a role: else one thread runs it */

/* check_machine_named.c: numbered barriers, without running. */
void check_named_barriers(struct check *check);

/* check_machine_extent.c: extents of arguments, and numbers from memory that bound loops. */
void check_survey_loops(struct check *check);
int64_t check_extent(const struct check *check, int argument, int64_t dimension);
int64_t check_loaded_extent(const struct check *check);
bool check_loads_bound_loops(const struct check *check);

/* check_machine_scalar.c: the result of an operation on scalars; others get a number made from their operands'. */
int64_t check_evaluate(const struct check *check, const struct check_agent *agent, const struct ir_operation *op,
                       int result);
int64_t check_extent_of(const struct check *check, const struct check_agent *agent, const struct ir_value *view,
                        int64_t dimension);
int64_t check_cut(enum ir_element element, int64_t value); /* wraps */
/* Of integers and bools; false: not computed. */
bool check_arithmetic(const struct ir_operation *op, const int64_t *operands, int64_t *number);
void check_choose_grid(struct check *check);
/* Which block is run, and without a loop over programs which program. */
void check_choose_block(struct check *check, int64_t block);

/* check_machine_clock.c */
check_clock check_clock_new(const struct check *check);
void check_clock_join(const struct check *check, check_clock into, const int *from);
void check_clock_copy(const struct check *check, check_clock into, const int *from);
/* What the agent's threads know together; until the next call. */
const int *check_all_threads(struct check *check, const struct check_agent *agent);
void check_meet(struct check *check, struct check_agent *agent); /* all its threads know it */
/* asynchronous: to the eyes of TMA and wgmma. */
bool check_knows(const struct check *check, const int *clock, const struct check_access *access, bool asynchronous);
int check_phase_position(const struct check *check, int mbarrier);

/* check_machine_memory.c: what an operation does to shared memory and to what its agent knows.  False: it has to wait.
 */
bool check_perform(struct check *check, struct check_agent *agent, const struct ir_operation *op);
/* In the dimensions of the buffer that the value is a form of; dimension[d] is the one behind the value's d. */
void check_place_of(const struct check_agent *agent, const struct ir_value *value, struct check_place *place,
                    int *dimension);
bool check_is_shared(const struct ir_operation *op); /* check_perform would do something */
void check_end(struct check *check);                 /* nothing may be on its way when the block ends */
int64_t check_slot_bytes(const struct ir_type *type);

/* check_machine_barrier.c: the same for what agents meet at. */
bool check_perform_barrier(struct check *check, struct check_agent *agent, const struct ir_operation *op);
/* All threads of the agent's role, or those that a named barrier is for. */
bool check_come_together(struct check *check, struct check_agent *agent, const struct ir_operation *op);
void check_turn(struct check *check, const struct check_agent *agent, const struct ir_operation *op);
struct check_mbarrier *check_mbarrier_of(struct check *check, struct check_agent *agent, const struct ir_operation *op,
                                         int operand);
void check_bytes_come(struct check *check, struct check_mbarrier *barrier, const struct ir_operation *op,
                      const int *known, int64_t bytes);
/* The other blocks of a cluster are taken to do the same at the same time.  Returns how many there are. */
int check_reach_out(struct check *check, const struct ir_operation *op, enum ir_attribute_key key);
/* The reason why an agent waits, for the report of a deadlock. */
const char *check_why_blocked(struct check *check, const struct check_agent *agent);
#endif
