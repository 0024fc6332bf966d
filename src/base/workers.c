/* Forked workers: copies of us that do one task each and send the result home through a pipe.  A worker may abort, run
 * out of memory or hang without harm to the compiler, and its results are taken in task order, so that output does not
 * depend on how many there are. */
#include "base/child.h"
#include "base/process.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { MOST_WORKERS = 128 };

static _Noreturn void do_task(worker_function *work, void *context, int task, int descriptor)
{
    struct buffer out = {0};
    int code = work(context, task, &out);
    fflush(stdout);
    fflush(stderr);
    for (size_t at = 0; at < out.size;) {
        ssize_t put = write(descriptor, out.data + at, out.size - at);
        if (put < 0 && errno == EINTR)
            continue;
        if (put < 0)
            machine_too_small("cannot hand over a result: %s", strerror(errno));
        at += (size_t)put;
    }
    _exit(code);
}

/* False: there is no process or no descriptor left for it now. */
static bool start_task(struct process *process, worker_function *work, void *context, int task,
                       struct child_limits limits, struct child_result *result)
{
    int descriptor = -1;
    pid_t id = process_start(process, NULL, 0, limits, result, &descriptor);
    if (id == 0)
        do_task(work, context, task, descriptor);
    return id > 0;
}

/* Whether one of the tasks ended with the code; then all that still run are ended. */
static bool has_ended_all(struct process *running, int jobs, int last_code)
{
    bool found = false;
    for (int i = 0; i < jobs; i++)
        found |= running[i].result && !running[i].id && running[i].result->exit_code == last_code;
    for (int i = 0; i < jobs && found; i++)
        if (running[i].id)
            process_end(&running[i]);
    return found;
}

void worker_check_machine(const struct child_result *done)
{
    const char *errors = done->errors.data ? done->errors.data : "";
    bool tells = strstr(errors, "tilecc: error: ") != NULL; /* without these words the code is somebody else's */
    if (done->exit_code == EXIT_MACHINE_TOO_SMALL && tells) {
        fputs(errors, stderr);
        _exit(EXIT_MACHINE_TOO_SMALL);
    }
    if (done->signal == SIGABRT && (strstr(errors, "LLVM ERROR: out of memory") || strstr(errors, "std::bad_alloc")))
        memory_exhausted();
}

void workers_run(worker_function *work, void *context, int count, int jobs, struct child_limits limits,
                 struct child_result *done)
{
    workers_run_noticed(work, NULL, context, count, jobs, limits, done);
}

void workers_run_noticed(worker_function *work, worker_notice *begins, void *context, int count, int jobs,
                         struct child_limits limits, struct child_result *done)
{
    if (jobs < 1)
        jobs = 1;
    if (jobs > MOST_WORKERS)
        jobs = MOST_WORKERS;
    if (jobs > count)
        jobs = count;
    struct process *running = calloc((size_t)jobs + 1, sizeof *running);
    if (!running)
        memory_exhausted();
    struct sigaction ignore = {.sa_handler = SIG_IGN}, before;
    sigaction(SIGPIPE, &ignore, &before);
    for (int i = 0; i < count; i++)
        done[i] = (struct child_result){.exit_code = -1, .not_started = true};
    int next = 0, active = 0;
    do {
        for (int i = 0; i < jobs && next < count; i++) {
            if (running[i].id)
                continue;
            if (start_task(&running[i], work, context, next, limits, &done[next])) {
                if (begins)
                    begins(context, next);
                next++;
                active++;
            } else if (active) {
                break; /* go on with fewer at a time */
            } else {
                machine_too_small("cannot start a worker: %s", strerror(errno));
            }
        }
        process_serve(running, jobs);
        if (limits.last_code && has_ended_all(running, jobs, limits.last_code))
            count = next;
        active = 0;
        for (int i = 0; i < jobs; i++)
            active += running[i].id != 0;
    } while (active || next < count);
    sigaction(SIGPIPE, &before, NULL);
    free(running);
}
