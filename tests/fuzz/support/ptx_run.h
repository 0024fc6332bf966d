/* The machine that runs PTX: what its files share.
 *
 * What happened before what is told by clocks.  An *agent* does things in an order of its own: each thread of the
 * blocks that run together, each mbarrier (the copies that complete a phase of it), each warp (its groups of products
 * by wgmma), each thread that stores in bulk (its groups of stores).  What an agent does has a time, and each thread
 * knows of each agent up to which time it is done: knows[agent].  Barriers hand that on.  `seen` is the same as far as
 * a proxy fence stood behind it, which ordinary writes need before asynchronous instructions touch the place. */
#ifndef TILECC_FUZZ_PTX_RUN_H
#define TILECC_FUZZ_PTX_RUN_H
#include "ptx.h"

enum {
    PTX_SHARED_START = 1024,
    PTX_WINDOW = 1 << 24, /* block b of a cluster: addresses from (b + 1) << 24 on */
    MOST_PARAMETERS = 16,
    MOST_BULK = 4 /* threads of a block that store */,
    NAMED_BARRIERS = 16,
    PTX_PAGE_LISTS = 4096,
    NOBODY = -1,
    ON_ITS_WAY = -2,
    IS_MBARRIER = -3
};
#define PTX_MAPS UINT64_C(0x7e0000000000) /* addresses of tensor maps, 128 bytes each */

/* Of a byte.  Readers: the first of a list, -1: none, or -2 - the number of a table with the times of all agents, where
 * there are many. */
struct shadow {
    int writer;
    uint32_t time;
    int readers;
    int acts; /* those who did an atomic since it was written, as readers; of shared memory */
};
struct reader {
    int agent;
    uint32_t time;
    int next;
};
/* Who touches memory, what it knows; seen: NULL for ordinary accesses. */
struct actor {
    int agent;
    uint32_t time;
    const uint32_t *knows, *seen;
};

struct named_barrier {
    int threads, arrived;
    uint32_t *clock;
};
struct mbarrier {
    uint64_t place;
    int count, pending, maker;
    int64_t bytes; /* that the phase still waits for */
    uint32_t phase, made;
    bool shown;                /* by a fence of its maker, to copies and to those who meet as a cluster */
    int shown_in;              /* how often the cluster had met by then */
    uint32_t *collects, *done; /* clocks: of who arrived; of the last phase that ended */
};
struct block {
    unsigned char *shared;
    struct shadow *shadows;
    struct named_barrier barriers[NAMED_BARRIERS];
    struct mbarrier *mbarriers;
    int mbarrier_count, bulk_count, registers; /* registers: given back by setmaxnreg */
};
/* Of a warp: registers of each thread; wgmma: fences so far, groups closed. */
struct warp {
    int registers;
    uint32_t fences, groups;
};

struct flight {
    uint64_t to;
    int bytes;
    int64_t group;
    unsigned char data[16];
};
/* A bulk load on its way: to block `block`, where it tells the mbarrier. */
struct landing {
    int block, mbarrier;
    uint64_t to;
    int bytes;
    unsigned char *data;
};

struct frame {
    const struct ptx_function *function;
    uint64_t *registers;
    uint32_t *marks;
    int at;
    const char *result;
};
enum thread_state { RUNS, AT_WARP, AT_GROUP, AT_BARRIER, AT_PHASE, AT_CLUSTER, DONE };
/* A register's mark: what was done to it last, in the low bits, and when: fences of the warp, or the group of products
 * that reads or writes it. */
enum mark { MARK_WRITTEN, MARK_RESULT, MARK_FACTOR, MARK_BITS = 2 };
struct thread {
    int number, at, depth, parameter_count; /* number: among the threads of all blocks that run together */
    int id, block;
    enum thread_state state;
    const struct ptx_function *function;
    uint64_t *registers, *first_registers;
    uint32_t *marks, *first_marks;
    struct {
        const char *name;
        uint64_t value;
    } parameters[MOST_PARAMETERS];
    struct frame frames[4];
    int64_t groups; /* of cp.async, closed so far */
    VECTOR(struct flight) flights;
    struct mbarrier *waits; /* AT_PHASE: for the phase of this parity */
    uint32_t parity;
    int barrier;                       /* AT_BARRIER */
    uint32_t products, products_begun; /* groups of products: waited for, the last one with something in it */
    int bulk;                          /* agent of its bulk stores; 0: none yet */
    uint32_t bulk_groups, bulk_begun;  /* closed; the last one with something in it */
    int meetings;                      /* of the cluster, seen */
};
struct machine {
    struct arena *arena;
    const struct ptx_module *module;
    const struct ptx_launch *launch;
    struct buffer *problem;
    int kernel, first_block, cluster, threads /* of a block */, all_threads, agents;
    int most_mbarriers; /* of a block */
    int products;       /* the first warp's agent: of products, each warp waits for its own part */
    int *order;
    int64_t steps;
    uint64_t random;
    struct thread *all;
    struct block *blocks;
    struct warp *warps;
    uint32_t *clocks, *scratch;                /* of each thread: knows, seen */
    uint32_t *cluster_collects, *cluster_done; /* clocks: of who arrived, of the last meeting */
    VECTOR(struct reader) readers;
    int free_reader;
    VECTOR(uint32_t *) tables; /* of readers */
    VECTOR(int) free_tables;
    VECTOR(struct landing) landings;
    int cluster_arrived, cluster_meetings;
    /* Of each memory, by byte: PTX_ORDINARY, PTX_BULK; what a bulk store brings.  NULL: not looked at. */
    unsigned char **written, **coming;
    struct ptx_page *pages[PTX_PAGE_LISTS], *free_pages; /* who touched global memory: ptx_global.c */
    bool *looked_at;                                     /* atomics of the kernel whose results something reads */
    double *a, *b;                                       /* factors of a product */
};
enum { PTX_ORDINARY = 1, PTX_BULK = 2 };

/* Always false. */
bool ptx_stop(struct machine *machine, const struct thread *thread, const char *what);
uint64_t ptx_operand_value(struct machine *machine, const struct thread *thread, const struct ptx_operand *operand);
uint64_t ptx_address_of(const struct thread *thread, const struct ptx_operand *operand);
void ptx_set(struct machine *machine, struct thread *thread, const struct ptx_operand *operand, uint64_t value,
             int bits);
uint32_t ptx_random(struct machine *machine, uint32_t limit);

/* ---- clocks and shared memory (ptx_shared.c) ---- */
static inline uint32_t *ptx_knows(const struct machine *m, const struct thread *t)
{
    return m->clocks + (size_t)t->number * 2 * (size_t)m->agents;
}
void ptx_join(const struct machine *machine, uint32_t *into, const uint32_t *clock);
/* All threads of the list know what one of them knew. */
void ptx_meet(struct machine *machine, struct thread *const *threads, int count);
/* Into `clock` goes what the thread knows; what it does from here on is later. */
void ptx_release(const struct machine *machine, const struct thread *thread, uint32_t *clock);
void ptx_fence_proxy(struct machine *machine, const struct thread *thread);
struct actor ptx_actor(const struct machine *machine, const struct thread *thread);
/* What an agent did is done for the actor: its own, if it is a thread, or known. */
bool ptx_is_done(const struct machine *machine, const struct actor *actor, int agent, uint32_t time);
void ptx_add_reader(struct machine *machine, int *readers, const struct actor *actor);
void ptx_free_readers(struct machine *machine, int *readers);
/* The bytes at an address of shared memory; NULL: the thread may not. `alignment`: a power of two. */
bool ptx_shared_place(struct machine *machine, const struct thread *thread, uint64_t address, int bytes, int alignment,
                      int *block, uint64_t *offset);
const unsigned char *ptx_shared_read(struct machine *machine, const struct thread *thread, uint64_t address, int bytes);
bool ptx_shared_write(struct machine *machine, const struct thread *thread, uint64_t address, int bytes,
                      const unsigned char *data);
/* An atomic without a result: what it makes of `value` and memory. */
bool ptx_shared_act(struct machine *machine, const struct thread *thread, const struct ptx_instruction *instruction,
                    uint64_t address, uint64_t value);
bool ptx_note_read(struct machine *machine, const struct thread *thread, int block, uint64_t offset, int bytes,
                   const struct actor *actor);
/* Whether the bytes may change; they have nobody's content until ptx_land. */
bool ptx_take_off(struct machine *machine, const struct thread *thread, int block, uint64_t offset, int bytes,
                  const struct actor *actor);
void ptx_land(struct machine *machine, int block, uint64_t offset, int bytes, int agent, uint32_t time);

/* ---- memory (ptx_memory.c).  False: the thread may not. ---- */
bool ptx_access(struct machine *machine, struct thread *thread, const struct ptx_instruction *instruction);
bool ptx_act(struct machine *machine, struct thread *thread, const struct ptx_instruction *instruction);
bool ptx_copy_async(struct machine *machine, struct thread *thread, const struct ptx_instruction *instruction);

/* ---- global memory (ptx_global.c) ---- */
void ptx_global_open(struct machine *machine); /* nobody has touched it yet */
const unsigned char *ptx_global_read(struct machine *machine, const struct thread *thread, uint64_t address, int bytes,
                                     int how /* PTX_ORDINARY, PTX_BULK */, const struct actor *actor);
/* Nobody has written there: what .nc may be asked for. */
bool ptx_global_is_constant(struct machine *machine, const struct thread *thread, uint64_t address, int bytes);
bool ptx_global_write(struct machine *machine, const struct thread *thread, uint64_t address, int bytes,
                      const unsigned char *data, int how, const struct actor *actor);
void ptx_find_looked_at(struct machine *machine);
/* Words of atomics.  PTX_ACTS: those of one kind may run in any order. */
enum ptx_touch { PTX_READS, PTX_ACTS, PTX_WRITES };
bool ptx_word_touch(struct machine *machine, const struct thread *thread, uint64_t address, int bytes,
                    enum ptx_touch touch, const char *kind);
bool ptx_word_read(struct machine *machine, const struct thread *thread, uint64_t address, int bytes, uint64_t *word);
bool ptx_word_write(struct machine *machine, const struct thread *thread, uint64_t address, int bytes, uint64_t word);

/* ---- waiting (ptx_wait.c) ---- */
bool ptx_mbarrier(struct machine *machine, struct thread *thread, const struct ptx_instruction *instruction);
struct mbarrier *ptx_mbarrier_at(struct machine *machine, const struct thread *thread, uint64_t address);
int ptx_mbarrier_agent(const struct machine *machine, int block, int mbarrier);
void ptx_mbarrier_complete(struct machine *machine, int block, int mbarrier, int64_t bytes);
bool ptx_fence(struct machine *machine, struct thread *thread, const struct ptx_instruction *instruction);
bool ptx_map_address(struct machine *machine, struct thread *thread, const struct ptx_instruction *instruction);
/* Whether a thread that waits may go on, and then it does. */
bool ptx_wake(struct machine *machine, struct thread *thread);
bool ptx_block_barrier(struct machine *machine, struct thread *threads, const struct ptx_instruction *instruction);
bool ptx_cluster_barrier(struct machine *machine, struct thread *threads, const struct ptx_instruction *instruction);
bool ptx_set_registers(struct machine *machine, struct thread *threads, const struct ptx_instruction *instruction,
                       bool *waits);

/* ---- bulk copies (ptx_bulk.c) ---- */
bool ptx_bulk(struct machine *machine, struct thread *thread, const struct ptx_instruction *instruction);
/* One load that is on its way lands; false: there is none. */
bool ptx_bulk_lands(struct machine *machine);
void ptx_bulk_end(struct machine *machine);

/* ---- products of a warpgroup (ptx_wgmma.c) ---- */
bool ptx_wgmma(struct machine *machine, struct thread *threads, const struct ptx_instruction *instruction);

/* ---- what all threads of a warp, or of a warpgroup, stand at (ptx_together.c); `waits`: they stay there ---- */
bool ptx_together(struct machine *machine, int warp, bool *waits);
bool ptx_together_group(struct machine *machine, int group);
#endif
