/* What the Schedule and Machine operations run on: the shared memory of a block, its warps and asynchronous
 * operations with what each knows of the others, mbarriers, and roles.  One `struct machine` lives as long as one
 * block of programs, or as the blocks of a cluster, which run side by side.
 *
 * Order.  Whoever touches shared memory on its own is an *agent*: each warp, and each asynchronous operation once a
 * warp that waits for it.  An agent counts its own time; a *clock* holds for each agent the last time that is known to
 * be over.  Warps exchange clocks where they meet (barrier, mbarrier, waits).  Each byte remembers the *event* that
 * wrote it last and those that read it since; an access that does not know all it collides with is a race, in whatever
 * order this run came by.  A second clock of the same form holds what a proxy fence has made visible to asynchronous
 * readers. */
#ifndef TILECC_INTERP_MACHINE_H
#define TILECC_INTERP_MACHINE_H
#include <ucontext.h>

#include "interp/frame.h"
#include "ir/layout/layout.h"

enum { MACHINE_MOST_WARPS = 64, MACHINE_MOST_BLOCKS = 8 };

/* ---- clocks ---- */

struct clock {
    uint32_t *seen, *fenced;
    struct clock *next;
}; /* one number an agent; all clocks grow together */
struct agent {
    uint32_t time;
    int owner;
}; /* owner: the warp that started it; -1: a phase counter */
struct epoch {
    int agent;
    uint32_t time;
};

/* One operation of some warps on shared memory.  Readers and writers of bytes name it by its index. */
struct event {
    const struct ir_operation *op;
    uint32_t operation; /* which execution; accesses of one never race with each other */
    int role;
    bool asynchronous, ordinary, scratch, writes; /* ordinary: not through the asynchronous proxy */
    int first_epoch, epochs;
    uint32_t compared; /* the event that was last found to be ordered behind it */
};
struct readers {
    int first, count;
    uint32_t added;
    uint32_t result;
}; /* a set of events; what it became at `added` */

/* ---- shared memory ---- */

struct shadow {
    uint32_t writer, readers;
}; /* 0: nobody */
struct machine_buffer {
    const struct ir_value *value;
    int64_t base, slot_bytes;
    const int32_t *offset_of; /* element of a slot -> place in elements */
};
/* A buffer value: a whole ring, or the part of one slot, under other names of dimensions. */
struct machine_part {
    const struct machine_buffer *buffer;
    int slot;
    int dimension[IR_MAX_RANK]; /* of the buffer, for each of the part */
    int64_t start[IR_MAX_RANK]; /* by dimension of the buffer */
};
/* Where a layout puts elements, listed once a run. */
struct element_places {
    const struct layout *layout;
    int32_t *offset;       /* shared: by row-major element */
    uint64_t *warps;       /* registers: the warps that hold it */
    int32_t *first_thread; /* of those that hold it, in `threads`; one more behind the last element */
    uint16_t *threads;     /* 32 * warp + lane, in order; NULL: nobody asked */
    struct element_places *next;
};

/* Which block of a cluster brings an element of a buffer that they load together: row-major. */
struct element_bringers {
    const struct ir_type *type;
    int blocks;
    unsigned char *block;
    struct element_bringers *next;
};

/* ---- asynchronous operations ---- */

enum transfer_kind { TRANSFER_TOKEN, TRANSFER_TMA_LOAD, TRANSFER_TMA_STORE, TRANSFER_CP };
/* Bytes on their way between global and shared memory. */
struct transfer {
    enum transfer_kind kind;
    const struct ir_operation *op;
    enum ir_element element;
    bool stores, done;
    int64_t count;
    uintptr_t *global; /* 0: outside */
    int64_t *shared;
    struct machine_block *home; /* that issued it */
    bool everywhere;            /* to all blocks of the cluster */
    int barrier;                /* of each block that gets the bytes: counts them; -1: none */
    int phase_count;
    uint32_t *phases; /* of all mbarriers, that its warp knew to have ended */
    int first_epoch, epochs;
    int group;  /* commits of the role before it */
    int issuer; /* the warpgroup of the role that issued it, where each stores by itself; else 0 */
};
struct control;
struct product {
    const struct ir_operation *op;
    const struct control *control;
    int first_epoch, epochs;
    bool done;
};

struct mbarrier {
    const struct ir_value *value;
    int slot, agent;
    int64_t arrivals, phase;               /* of one phase; number of the phase that has not ended */
    int64_t arrived, bytes;                /* in this phase; announced and not come yet */
    struct clock gathering, ended, before; /* before: what was known when the phase before the last ended */
    bool ready;
};
struct named_barrier {
    int64_t warps, arrived, generation;
    uint64_t members;
    struct clock gathering;
};

/* ---- threads of control ---- */

enum waiting { WAITING_NOT, WAITING_PHASE, WAITING_NAMED, WAITING_ROLES };
struct control {
    int number; /* of the role; -1: outside roles */
    struct machine_block *home;
    struct control *outer; /* that waits for the role's end */
    int first_warp, warps; /* warps that execute: 1 where one thread runs the role */
    bool one_thread, finished;
    enum waiting waiting;
    const struct ir_operation *op; /* where it waits */
    struct mbarrier *barrier;
    int64_t phase;
    struct named_barrier *named;
    int64_t generation;
    VECTOR(int) products;             /* on their way, oldest first */
    VECTOR(struct transfer *) groups; /* tma_store, cp_async not waited for, oldest first */
    int tma_committed, cp_committed;  /* groups closed so far */
    bool turns, has_turn;             /* they were started; every warpgroup, one after the other, has it */
    const struct ir_operation *turn;  /* taken last */
    int64_t program;                  /* that it works on, in a loop over programs */
    const struct ir_block *block;
    struct frame *frame;
    ucontext_t context;
    void *stack; /* NULL: runs on the stack of interp_run */
};

/* One block of a cluster, or the only one. */
struct machine_block {
    int number; /* in the cluster */
    int64_t instance, index[IR_MAX_RANK];
    int first_warp;
    unsigned char *bytes;
    struct shadow *shadow;
    int64_t size, capacity;
    VECTOR(struct mbarrier *) barriers;
    struct named_barrier named[16];
    bool cluster_met;
    const struct ir_operation *reached_out; /* into another block, since all blocks met last */
    struct control outside;
};

struct machine {
    struct run *run;
    struct arena *arena;
    const struct ir_function *function;
    uint64_t random;
    int policy_transfers, policy_roles;
    int warps, block_warps; /* of all blocks; of one */
    int block_count;
    struct machine_block blocks[MACHINE_MOST_BLOCKS];
    /* clocks */
    struct clock warp[MACHINE_MOST_WARPS];
    uint32_t met[MACHINE_MOST_WARPS]; /* when the lanes of each met last */
    struct clock *clocks;
    VECTOR(struct agent) agents;
    int agent_capacity;
    VECTOR(struct event) events; /* 0 is nobody */
    VECTOR(struct epoch) epochs;
    VECTOR(struct readers) sets; /* 0 is empty */
    VECTOR(uint32_t) members;
    uint32_t operations;
    struct global_page **pages; /* who touched global memory: global.c */
    /* what is there */
    VECTOR(struct transfer *) transfers; /* on their way */
    VECTOR(struct transfer *) all_transfers;
    VECTOR(struct transfer *) tokens;
    VECTOR(struct product) products;
    VECTOR(struct mbarrier *) all_barriers;
    struct named_barrier cluster;
    /* control */
    struct control *current, between;  /* between: what is current while one of those is chosen */
    VECTOR(struct control *) controls; /* on stacks of their own */
    ucontext_t scheduler;
};

/* clock.c */
void machine_clock_add(struct machine *machine, struct clock *clock);
void machine_clock_join(struct machine *machine, struct clock *into, const struct clock *from);
int machine_agent_add(struct machine *machine, int owner);
/* An agent for something that a warp starts, at a time that nobody has seen: the last one that it knows to be over, or
 * new. */
struct epoch machine_agent_start(struct machine *machine, int warp);
void machine_warp_learns(struct machine *machine, int warp, struct epoch epoch);
void machine_warp_tick(struct machine *machine, int warp);
/* The same where the warp's lanes met: what each did before, the others know. */
void machine_lanes_meet(struct machine *machine, int warp);
/* All active warps of the current control know all that one knows. */
void machine_warps_meet(struct machine *machine);
void machine_groups_meet(struct machine *machine); /* each warpgroup of the role by itself */
void machine_fence(struct machine *machine);
uint32_t machine_event(struct machine *machine, const struct event *event);
/* The warp knows the whole event; fenced: through proxy fences, too. */
bool machine_knows(const struct machine *machine, const struct event *event, int warp, bool fenced);
/* Each of its epochs is known to one of the warps. */
bool machine_knows_together(const struct machine *machine, const struct event *event, uint64_t warps, bool fenced);
int machine_epoch_push(struct machine *machine, struct epoch epoch);
uint32_t machine_random(struct machine *machine, uint32_t below);

/* shared.c */
struct accessor {
    struct machine *machine;
    struct machine_block *block; /* whose memory */
    const struct ir_operation *op;
    uint64_t warps; /* that must know what went before */
    bool any_warp;  /* it is enough that they know it together: sequential operations */
    bool writes;
    uint32_t event;
    const char *name; /* of the buffer */
};
/* Starts an execution of an operation: accesses made until the next one do not race with each other. */
void machine_operation_begin(struct machine *machine);
struct accessor machine_access_ordinary(struct machine *machine, const struct ir_operation *op, uint64_t warps,
                                        bool writes);
struct accessor machine_access_scratch(struct machine *machine, const struct ir_operation *op, bool writes);
/* `epochs` are pushed already. */
struct accessor machine_access_asynchronous(struct machine *machine, const struct ir_operation *op, bool writes,
                                            bool ordinary, int first_epoch, int epochs);
void machine_touch(const struct accessor *accessor, int64_t byte, int64_t size);
uint64_t machine_active_warps(const struct machine *machine);
int64_t machine_place(struct machine *machine, const struct ir_operation *op, int64_t bytes); /* its first byte */
const struct element_places *machine_places(struct run *run, const struct layout *layout);
/* Byte of a part's element, row-major. */
int64_t machine_element_byte(const struct machine_part *part, const struct ir_type *type, int64_t element);
const char *machine_name(const struct ir_value *value, char *text, size_t size);
uint64_t machine_read(const struct machine_block *block, int64_t byte, enum ir_element element);
void machine_write(struct machine_block *block, int64_t byte, enum ir_element element, uint64_t bits);

/* The same with the threads that hold each element. */
const struct element_places *machine_threads(struct run *run, const struct layout *layout);

/* global.c */
enum global_kind { GLOBAL_READ, GLOBAL_ACT /* in any order with its like */, GLOBAL_WRITE };
struct global_accessor {
    struct machine *machine;
    const struct ir_operation *op;
    enum global_kind kind;
    const struct element_places *holders; /* NULL: a scalar */
    uint64_t warps;                       /* of asynchronous operations: those that must know what went before */
    bool any_warp;                        /* one of them is enough */
};
enum global_kind machine_global_kind(const struct ir_operation *op);
/* Of a load, a store or an atomic; false: nobody looks at what it touches. */
bool machine_global_begin(struct frame *frame, const struct ir_operation *op, const struct ir_access *access,
                          struct global_accessor *accessor);
void machine_global_touch(const struct global_accessor *accessor, int64_t element, uintptr_t address, size_t size);
void machine_global_transfer(struct machine *machine, const struct transfer *transfer, const struct accessor *shared);

/* transfer.c */
void machine_transfer_finish(struct machine *machine, struct transfer *transfer);
bool machine_transfer_some(struct machine *machine); /* finishes one of those on their way; false: there is none */
void machine_check_end(struct machine *machine);

/* barrier.c */
bool machine_may_go(const struct machine *machine, const struct control *control);
void machine_check_turns(const struct control *control, struct run *run); /* at its end */
/* The number, in each block, of the mbarrier that an operand and the index behind it name. */
int machine_barrier_of(struct frame *frame, const struct ir_operation *op, int operand);
void machine_reach_out(struct machine *machine, const struct ir_operation *op);
void machine_bytes_arrive(struct machine *machine, struct mbarrier *barrier, const struct transfer *transfer,
                          int64_t bytes);

/* product.c */
/* Whether an operand is undefined; stops where one is a product on its way. */
bool machine_operands_undefined(struct frame *frame, const struct ir_operation *op);
void machine_mark_results(struct frame *frame, const struct ir_operation *op, bool undefined);

/* role.c */
void machine_wait(struct machine *machine, const struct ir_operation *op); /* until machine_may_go */
_Noreturn void machine_stop_role(struct machine *machine);
void machine_point(struct machine *machine); /* others may get ahead here */

/* What interp.c calls. */
void machine_begin(struct run *run, const struct ir_function *function, int blocks);
/* Runs the function's body in each block, from the first instance on. */
void machine_run_cluster(struct run *run, struct frame *const *frames, const struct ir_block *body);
void machine_end(struct run *run); /* of blocks that came to their end */
void machine_release(struct run *run);
void execute_buffer(struct frame *frame, const struct ir_operation *operation);
void execute_transfer(struct frame *frame, const struct ir_operation *operation);
void execute_barrier(struct frame *frame, const struct ir_operation *operation);
void execute_turn(struct frame *frame, const struct ir_operation *operation);
void execute_product(struct frame *frame, const struct ir_operation *operation);
void execute_roles(struct frame *frame, const struct ir_operation *operation);
void execute_scratch(struct frame *frame, const struct ir_operation *operation); /* what it leaves in shared memory */
#endif
