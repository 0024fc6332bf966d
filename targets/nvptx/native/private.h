/* Shared by the files of targets/nvptx/native/ alone. */
#ifndef TILECC_NATIVE_PRIVATE_H
#define TILECC_NATIVE_PRIVATE_H
#include "targets/nvptx/native/native.h"

enum { NATIVE_MOST_INSTRUCTIONS = 1 << 16 };
/* The first place of a set, or -1. */
int native_first(const struct native_set *set);
/* The control bits, as they lie in an instruction. */
uint64_t native_bits(const struct native_control *control);
struct native_control native_control_of(uint64_t bits);
/* The scoreboards that are free when it has begun. */
unsigned native_waits(const struct native_instruction *instruction);
/* Rows of latencies.def: an instruction of the pipe `writer`, NATIVE_PORTS: of any, comes so long after one of `reader` that
 * reads what it writes. */
struct native_late {
    int reader, writer, cycles[2]; /* of sm_80, sm_90 */
};
enum {
    NATIVE_LATE_ROWS = 0
#define LATENCY(producer, kind, consumer, sm_80, sm_90)
#define LATE(reader, writer, sm_80, sm_90) +1
#define SPACE(first, second, sm_80, sm_90)
#include "targets/nvptx/native/latencies.def"
#undef LATENCY
#undef LATE
#undef SPACE
};
extern const struct native_late native_late[NATIVE_LATE_ROWS];
/* The least cycles between any two instructions of two pipes. */
int native_space(int architecture, enum native_pipe first, enum native_pipe second);
/* What has been found on the ways to a place in the code; check.c tells. */
struct native_state;
struct native_variable {
    int origin;
    struct native_set writes, reads; /* registers, and of what it reads what it reads late */
};
struct native_checking {
    const struct native_code *code;
    struct native_faults *faults; /* NULL: counted alone */
    int count;
    bool reports;
    const struct native_instruction *known; /* all, by their origins, which name them while they move */
    int variable_count;                     /* those of variable time; */
    struct native_variable *variables;
    int *number_of; /* and which of them one is, -1 */
    size_t state_size;
    short spaces[PIPE_COUNT][PIPE_COUNT]; /* of the second, from the first */
    short latencies[PIPE_COUNT][NATIVE_KINDS][NATIVE_PORTS];
    int flying_count, *flying;                       /* the variables in flight in the state that is followed */
    struct native_set pending_writes, pending_reads; /* of all of these */
};
void native_begin_checking(struct native_checking *checking, const struct native_code *code, struct arena *arena);
void native_begin_state(const struct native_checking *checking, struct native_state *state);
/* From the state in front of a block to that behind it; counts and tells faults where it `reports`. */
void native_follow_block(struct native_checking *checking, const struct native_block *block,
                         struct native_state *state);
/* Whether the other has nothing more. */
bool native_covers(const struct native_checking *checking, const struct native_state *state,
                   const struct native_state *other);
void native_join(const struct native_checking *checking, struct native_state *into, const struct native_state *from);
/* Whether an instruction keeps a register for reuse that is written before it is read again. */
bool native_keeps_stale(const struct native_code *code, int at, int end);
#endif
