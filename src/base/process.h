/* A set of child processes whose pipes are served together.  Private to src/base: child.c and workers.c stand on it. */
#ifndef TILECC_PROCESS_H
#define TILECC_PROCESS_H
#include "base/child.h"

#include <sys/types.h>

struct process {
    pid_t id;                  /* 0: no process */
    int input, output, errors; /* our ends of its pipes, -1 when closed */
    const char *input_data;
    size_t input_left;
    int64_t deadline;    /* of process_clock, 0: none */
    int64_t drain_until; /* once it has ended: how long descendants may hold its pipes */
    bool ended;          /* the process is gone; its pipes may still hold bytes */
    struct child_limits limits;
    struct child_result *result;
};

/* Milliseconds of the monotonic clock. */
int64_t process_clock(void);
/* Forks.  In the child returns 0 with its standard input, output and error connected (output_descriptor, when not NULL,
 * gets the output pipe and standard output goes to the errors), limits set, in a process group of its own that dies
 * with us. In the parent returns its id, or -1 with errno. */
pid_t process_start(struct process *process, const void *input, size_t input_size, struct child_limits limits,
                    struct child_result *result, int *output_descriptor);
/* Ends the process, whose result nobody wants any more; process_serve collects it. */
void process_end(struct process *process);
/* Serves all pipes until at least one of the processes has ended and been collected (its id is 0 again). */
void process_serve(struct process *processes, int count);
#endif
