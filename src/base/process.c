/* Starting children and serving their pipes with poll, so that no child can block another or us, whatever it does:
 * hang, flood, close its pipes early, or leave a descendant behind that holds them. */
#include "base/process.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { MOST_ERROR_BYTES = 64 * 1024, DRAIN_MILLISECONDS = 1000, TICK_MILLISECONDS = 20, MOST_PROCESSES = 256 };

#if defined(__SANITIZE_ADDRESS__)
enum { ADDRESS_SPACE_IS_RESERVED = 1 }; /* AddressSanitizer maps terabytes: a limit on address space would stop it */
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
enum { ADDRESS_SPACE_IS_RESERVED = 1 };
#else
enum { ADDRESS_SPACE_IS_RESERVED = 0 };
#endif
#else
enum { ADDRESS_SPACE_IS_RESERVED = 0 };
#endif

int64_t process_clock(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

static struct rlimit lowered(struct rlimit limit, size_t most)
{
    if (limit.rlim_max == RLIM_INFINITY || limit.rlim_max > most)
        limit.rlim_max = most;
    limit.rlim_cur = limit.rlim_max;
    return limit;
}

/* A macro, because the type of `resource` differs between C libraries. */
#define LIMIT_RESOURCE(resource, most)          \
    do {                                        \
        struct rlimit limit;                    \
        if (getrlimit(resource, &limit) == 0) { \
            limit = lowered(limit, most);       \
            setrlimit(resource, &limit);        \
        }                                       \
    } while (0)

static void become_child(struct child_limits limits, int in, int out, int err, int *output_descriptor, pid_t parent)
{
    setpgid(0, 0);
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != parent)
        _exit(127);
    sigset_t none;
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
    for (int number = 1; number < 32; number++)
        if (number != SIGKILL && number != SIGSTOP)
            signal(number, SIG_DFL);
    dup2(in, 0);
    dup2(output_descriptor ? err : out, 1);
    dup2(err, 2);
    if (output_descriptor)
        *output_descriptor = out;
    LIMIT_RESOURCE(RLIMIT_CORE, 0);
    if (limits.seconds > 0)
        LIMIT_RESOURCE(RLIMIT_CPU, (size_t)limits.seconds * 2 + 1);
    if (limits.memory_bytes && !ADDRESS_SPACE_IS_RESERVED)
        LIMIT_RESOURCE(RLIMIT_AS, limits.memory_bytes);
}

/* A pipe whose ends are closed on exec and are never one of the standard descriptors, which a caller may have closed.
 */
static bool make_pipe(int ends[2])
{
    if (pipe2(ends, O_CLOEXEC) != 0)
        return false;
    for (int i = 0; i < 2; i++) {
        if (ends[i] > 2)
            continue;
        int higher = fcntl(ends[i], F_DUPFD_CLOEXEC, 3);
        close(ends[i]);
        ends[i] = higher;
        if (higher < 0)
            return false;
    }
    return true;
}

static void close_pipe_end(int *end)
{
    if (*end >= 0)
        close(*end);
    *end = -1;
}

static void set_nonblocking(int file) { fcntl(file, F_SETFL, fcntl(file, F_GETFL) | O_NONBLOCK); }

pid_t process_start(struct process *process, const void *input, size_t input_size, struct child_limits limits,
                    struct child_result *result, int *output_descriptor)
{
    int pipes[3][2] = {{-1, -1}, {-1, -1}, {-1, -1}};
    *process = (struct process){.input = -1, .output = -1, .errors = -1, .limits = limits, .result = result};
    *result = (struct child_result){.exit_code = -1};
    fflush(NULL);
    pid_t parent = getpid(), id = -1;
    if (make_pipe(pipes[0]) && make_pipe(pipes[1]) && make_pipe(pipes[2]))
        id = fork();
    if (id == 0) { /* our ends are closed here, too: a keeper, which never calls exec, would hold the input open */
        close_pipe_end(&pipes[0][1]);
        close_pipe_end(&pipes[1][0]);
        close_pipe_end(&pipes[2][0]);
        become_child(limits, pipes[0][0], pipes[1][1], pipes[2][1], output_descriptor, parent);
        return 0;
    }
    int reason = errno;
    close_pipe_end(&pipes[0][0]);
    close_pipe_end(&pipes[1][1]);
    close_pipe_end(&pipes[2][1]);
    if (id < 0) {
        close_pipe_end(&pipes[0][1]);
        close_pipe_end(&pipes[1][0]);
        close_pipe_end(&pipes[2][0]);
        result->not_started = true;
        errno = reason;
        return -1;
    }
    setpgid(id, id);
    process->id = id;
    process->input = pipes[0][1];
    process->output = pipes[1][0];
    process->errors = pipes[2][0];
    set_nonblocking(process->input);
    set_nonblocking(process->output);
    set_nonblocking(process->errors);
    process->input_data = input;
    process->input_left = input_size;
    if (!input_size)
        close_pipe_end(&process->input);
    if (limits.seconds > 0)
        process->deadline = process_clock() + (int64_t)limits.seconds * 1000;
    return id;
}

static void kill_group(const struct process *process)
{
    if (!process->ended)
        kill(-process->id, SIGKILL);
}

void process_end(struct process *process)
{
    process->result->not_started = true;
    kill_group(process);
}

static void feed(struct process *process)
{
    ssize_t put = write(process->input, process->input_data, process->input_left);
    if (put < 0 && (errno == EAGAIN || errno == EINTR))
        return;
    if (put > 0) {
        process->input_data += put;
        process->input_left -= (size_t)put;
    }
    if (put <= 0 || !process->input_left)
        close_pipe_end(&process->input);
}

static void drain(struct process *process, int *end, struct buffer *into, size_t most, bool is_error_text)
{
    char chunk[65536];
    ssize_t got = read(*end, chunk, sizeof chunk);
    if (got < 0 && (errno == EAGAIN || errno == EINTR))
        return;
    if (got < 0)
        machine_too_small("cannot read what a child wrote: %s", strerror(errno)); /* never taken for its end */
    if (got == 0) {
        close_pipe_end(end);
        return;
    }
    size_t room = !most ? (size_t)got : most - into->size;
    if ((size_t)got > room && !is_error_text) {
        process->result->output_too_large = true;
        kill_group(process);
        close_pipe_end(end);
        return;
    }
    buffer_append(into, chunk, (size_t)got < room ? (size_t)got : room);
}

/* The process has ended: ends its descendants, then takes its status.  The order matters: while the status is not taken
 * the number of the process group cannot be used again. */
static bool collect(struct process *process)
{
    siginfo_t info = {0};
    if (!process->ended) {
        if (waitid(P_PID, (id_t)process->id, &info, WEXITED | WNOHANG | WNOWAIT) != 0 || info.si_pid == 0)
            return false;
        kill(-process->id, SIGKILL);
        int status = 0;
        while (waitpid(process->id, &status, 0) < 0 && errno == EINTR) {}
        process->result->exit_code = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
        process->result->signal = WIFSIGNALED(status) ? WTERMSIG(status) : 0;
        process->ended = true;
        process->drain_until = process_clock() + DRAIN_MILLISECONDS;
        close_pipe_end(&process->input);
    }
    if ((process->output >= 0 || process->errors >= 0) && process_clock() < process->drain_until)
        return false;
    close_pipe_end(&process->output);
    close_pipe_end(&process->errors);
    buffer_append(&process->result->output, "", 0);
    buffer_append(&process->result->errors, "", 0);
    process->id = 0;
    return true;
}

static int wait_milliseconds(const struct process *processes, int count)
{
    int64_t now = process_clock(), wait = TICK_MILLISECONDS;
    for (int i = 0; i < count; i++) {
        if (!processes[i].id)
            continue;
        if (processes[i].output < 0 && processes[i].errors < 0)
            wait = 1; /* about to end: nothing else will wake us */
        if (processes[i].deadline)
            wait = int64_min(wait, int64_max(0, processes[i].deadline - now));
    }
    return (int)wait;
}

static void watch(struct pollfd *set, int *used, int file, short events)
{
    set[*used] = (struct pollfd){.fd = file, .events = events};
    ++*used;
}

static void serve_once(struct process *processes, int count)
{
    struct pollfd set[3 * MOST_PROCESSES];
    int used = 0;
    for (int i = 0; i < count; i++) {
        struct process *process = &processes[i];
        watch(set, &used, process->id ? process->input : -1, POLLOUT);
        watch(set, &used, process->id ? process->output : -1, POLLIN);
        watch(set, &used, process->id ? process->errors : -1, POLLIN);
    }
    if (poll(set, (nfds_t)used, wait_milliseconds(processes, count)) <= 0)
        return;
    for (int i = 0; i < count; i++) {
        struct process *process = &processes[i];
        if (process->input >= 0 && set[3 * i].revents)
            feed(process);
        if (process->output >= 0 && set[3 * i + 1].revents)
            drain(process, &process->output, &process->result->output, process->limits.output_bytes, false);
        if (process->errors >= 0 && set[3 * i + 2].revents)
            drain(process, &process->errors, &process->result->errors, MOST_ERROR_BYTES, true);
    }
}

void process_serve(struct process *processes, int count)
{
    if (count > MOST_PROCESSES)
        die("%d processes at a time", count);
    for (bool any_ended = false; !any_ended;) {
        serve_once(processes, count);
        bool any_left = false;
        for (int i = 0; i < count; i++) {
            struct process *process = &processes[i];
            if (!process->id)
                continue;
            any_left = true;
            if (process->deadline && process_clock() >= process->deadline && !process->ended) {
                process->result->timed_out = true;
                kill_group(process);
                process->deadline = 0;
            }
            if (collect(process))
                any_ended = true;
        }
        if (!any_left)
            return;
    }
}
