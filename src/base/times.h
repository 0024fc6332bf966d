/* Processor time by who takes it, summed over a process and its forked workers: for --time-report. */
#ifndef TILECC_TIMES_H
#define TILECC_TIMES_H
#include "base/base.h"

/* TIMES_WORKERS is all that workers take themselves, LLVM's part included; TIMES_TOOLS is what their children take. */
enum times_part { TIMES_WORKERS, TIMES_LLVM_GPU, TIMES_LLVM_HOST, TIMES_TOOLS, TIMES_COUNT };
struct times;

/* Counters that workers share with the process that forks them.  NULL, which all below take, too: nothing is counted,
 * also where the system has no memory to share. */
struct times *times_open(void);
/* Processor time of this process so far, in nanoseconds. */
int64_t times_clock(void);
/* Adds what this process has taken since `from`, a result of times_clock. */
void times_add_since(struct times *times, enum times_part part, int64_t from);
/* A worker is about to end: adds what it took from `from` on, and what its children took. */
void times_add_worker(struct times *times, int64_t from);
int64_t times_get(const struct times *times, enum times_part part); /* nanoseconds */
#endif
