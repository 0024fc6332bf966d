/* The machine that runs PTX: what ptx_run.c and ptx_together.c share. */
#ifndef TILECC_FUZZ_PTX_RUN_H
#define TILECC_FUZZ_PTX_RUN_H
#include "ptx.h"

enum { PTX_SHARED_START = 1024, MOST_PARAMETERS = 16 };
enum { NOBODY = -1, MANY_LANES = -2 /* of one warp */, MANY_WARPS = -3 };
/* Who touched a byte of shared memory last, and how often threads had met by then. */
struct touch { int thread, warp, block_meetings, warp_meetings; };
struct shadow { struct touch writer, reader; };
struct flight { uint64_t to; int bytes; int64_t group; unsigned char data[16]; };
struct frame { const struct ptx_function *function; uint64_t *registers; int at; const char *result; };
enum thread_state { RUNS, AT_WARP, AT_BLOCK, DONE };
struct thread {
    int number, at, depth, parameter_count;
    enum thread_state state;
    const struct ptx_function *function;
    uint64_t *registers, *first_registers;
    struct { const char *name; uint64_t value; } parameters[MOST_PARAMETERS];
    struct frame frames[4];
    int64_t groups;                      /* of cp.async, closed so far */
    VECTOR(struct flight) flights;
};
struct machine {
    struct arena *arena;
    const struct ptx_module *module;
    const struct ptx_launch *launch;
    struct buffer *problem;
    int kernel, block, threads, meetings;
    int *order, *warp_meetings;
    int64_t steps;
    struct thread *all;
    unsigned char *shared;
    struct shadow *shadows;
};

/* Always false. */
bool ptx_stop(struct machine *machine, const struct thread *thread, const char *what);
uint64_t ptx_operand_value(const struct machine *machine, const struct thread *thread,
                           const struct ptx_operand *operand);
uint64_t ptx_address_of(const struct thread *thread, const struct ptx_operand *operand);
void ptx_set(struct thread *thread, const struct ptx_operand *operand, uint64_t value, int bits);
/* ld and st, atomics, cp.async (ptx_memory.c).  False: the thread may not. */
bool ptx_access(struct machine *machine, struct thread *thread, const struct ptx_instruction *instruction);
bool ptx_act(struct machine *machine, struct thread *thread, const struct ptx_instruction *instruction);
bool ptx_copy_async(struct machine *machine, struct thread *thread, const struct ptx_instruction *instruction);
const unsigned char *ptx_shared_read(struct machine *machine, const struct thread *thread, uint64_t address,
                                     int bytes);
/* The operation that all threads of the warp stand at (ptx_together.c). */
bool ptx_together(struct machine *machine, int warp);
#endif
