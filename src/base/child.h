/* Child processes: external tools fed and read by pipes (no shell, no temporary file), and forked workers that isolate
 * code that may abort (LLVM) from the compiler. */
#ifndef TILECC_CHILD_H
#define TILECC_CHILD_H
#include "base/base.h"

struct child_limits {
    int seconds;
    size_t memory_bytes, output_bytes;
    int last_code;          /* a worker that ends with it is the last: those that run are ended, no other is begun */
    bool keeps_environment; /* ours; it is a program of the user's, and no tool */
    const char *path;       /* a tool's PATH, by which a compiler finds its parts; NULL: it finds nothing */
}; /* 0: none */
struct child_result {
    int exit_code; /* of a normal exit, else -1 */
    int signal;    /* that ended it, else 0 */
    bool timed_out, not_started /* or ended, behind another's last_code */, output_too_large;
    struct buffer output, errors;
};
/* Runs argv[0] (an absolute path) with `input` on its standard input, a fixed small environment and `directory` as its
 * working directory (NULL: "/").  Kills its process group at the limit.  Returns exit_code == 0 and nothing went wrong.
 */
bool child_run(const char *const *argv, const char *directory, const void *input, size_t input_size,
               struct child_limits limits, struct child_result *result);

/* Calls `work(context, out)` in forked workers, at most `jobs` at a time, for tasks 0..count-1.  `work` fills `out` and
 * returns an exit code; bytes written to its standard error come back in errors.  done[i] is filled in task order
 * whatever the order of ending. */
typedef int worker_function(void *context, int task, struct buffer *out);
void workers_run(worker_function *work, void *context, int count, int jobs, struct child_limits limits,
                 struct child_result *done);
/* The same, and says here, not in the worker, which task begins. */
typedef void worker_notice(void *context, int task);
void workers_run_noticed(worker_function *work, worker_notice *begins, void *context, int count, int jobs,
                         struct child_limits limits, struct child_result *done);
/* Ends us, too, when a worker ended because the machine is too small: with its words and code. */
void worker_check_machine(const struct child_result *done);
#endif
