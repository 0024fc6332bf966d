/* Shared by the files of targets/nvptx/native/ alone. */
#ifndef TILECC_NATIVE_PRIVATE_H
#define TILECC_NATIVE_PRIVATE_H
#include "targets/nvptx/native/native.h"

enum { NATIVE_MOST_INSTRUCTIONS = 1 << 16 };
/* The first place of a set, or -1. */
int native_first(const struct native_set *set);
/* Stays where it is, and so does what is on each side of it. */
bool native_is_wall(const struct native_instruction *instruction);
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
/* A proof of a right order that is kept while blocks of it change. */
struct native_proof;
struct native_proof *native_proof_create(const struct native_code *code); /* NULL: the order is not right */
void native_proof_destroy(struct native_proof *proof);
/* Of a code that differs in one block from what was proved: whether the whole is right.  VERDICT_ELSEWHERE: the block is,
 * but more is carried out of it than before, so that all must be proved anew. */
enum native_verdict { VERDICT_WRONG, VERDICT_RIGHT, VERDICT_ELSEWHERE };
enum native_verdict native_proof_block(struct native_proof *proof, const struct native_code *code, int block,
                                       struct native_faults *faults);
/* Whether an instruction keeps a register for reuse that is written before it is read again. */
bool native_keeps_stale(const struct native_code *code, int at, int end);
#endif
