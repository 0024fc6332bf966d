/* Every system call of the compiler fails, one at a time, in each of the ways that it can: interrupted, cut short, or
 * refused.  What is interrupted or cut short is taken up again and all goes well.  What is refused is either done
 * without, or ends in a documented exit code with words, and outputs are as they were.
 *
 *     system_call_test         each call in one of its ways, without the slowest command lines
 *     system_call_test full    each call in each of its ways; behind `full` the name of one command line */
#define main tilecc_main
#include "driver/main.c"
#undef main

#include <poll.h>
#include <stdarg.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "support/fault.h"

/* name, result and parameters of a call, the values that it passes on, what it returns when it fails */
#define CALLS(CALL)                                                                                             \
    CALL(fstat, int, (int file, struct stat *status), (file, status), -1)                                       \
    CALL(stat, int, (const char *path, struct stat *status), (path, status), -1)                                \
    CALL(rename, int, (const char *from, const char *to), (from, to), -1)                                       \
    CALL(linkat, int, (int a, const char *from, int b, const char *to, int flags), (a, from, b, to, flags), -1) \
    CALL(pipe, int, (int *ends), (ends), -1)                                                                    \
    CALL(pipe2, int, (int *ends, int flags), (ends, flags), -1)                                                 \
    CALL(fork, pid_t, (void), (), -1)                                                                           \
    CALL(poll, int, (struct pollfd * set, nfds_t count, int wait), (set, count, wait), -1)                      \
    CALL(waitid, int, (idtype_t type, id_t id, siginfo_t * info, int options), (type, id, info, options), -1)   \
    CALL(waitpid, pid_t, (pid_t id, int *status, int options), (id, status, options), -1)                       \
    CALL(chdir, int, (const char *path), (path), -1)                                                            \
    CALL(mkdtemp, char *, (char *name), (name), NULL)                                                           \
    CALL(setpgid, int, (pid_t id, pid_t group), (id, group), -1)                                                \
    CALL(fopen, FILE *, (const char *path, const char *how), (path, how), NULL)

enum call {
#define CALL(name, ...) CALL_##name,
    CALLS(CALL) CALL_open,
    CALL_close,
    CALL_read,
    CALL_write,
    CALL_fcntl,
    CALL_COUNT
#undef CALL
};
static const char *const call_names[] = {
#define CALL(name, ...) #name,
    CALLS(CALL) "open", "close", "read", "write", "fcntl",
#undef CALL
};

enum { CUT_SHORT = -1, MOST_WAYS = 4 };
/* The ways to fail; 0 ends them. */
static const int ways[CALL_COUNT][MOST_WAYS] = {
    [CALL_read] = {EINTR, EIO, CUT_SHORT},
    [CALL_write] = {EINTR, ENOSPC, CUT_SHORT, EIO},
    [CALL_open] = {EACCES, EMFILE, EINTR},
    [CALL_close] = {EIO, ENOSPC},
    [CALL_fstat] = {EIO},
    [CALL_stat] = {EIO, EACCES},
    [CALL_rename] = {ENOSPC, EACCES},
    [CALL_linkat] = {EPERM, EMLINK},
    [CALL_pipe] = {EMFILE},
    [CALL_pipe2] = {EMFILE, ENFILE},
    [CALL_fork] = {EAGAIN, ENOMEM},
    [CALL_poll] = {EINTR, ENOMEM},
    [CALL_waitid] = {EINTR},
    [CALL_waitpid] = {EINTR},
    [CALL_chdir] = {EACCES},
    [CALL_mkdtemp] = {ENOSPC, EROFS},
    [CALL_setpgid] = {EPERM},
    [CALL_fopen] = {EMFILE, EACCES},
    [CALL_fcntl] = {EMFILE},
};

static bool is_on;
static enum call failing;
static int way;
static long when;

/* Whether this call fails: the `when`-th of its kind, counted over all processes of the run. */
static bool fails(enum call call)
{
    if (!is_on || call != failing)
        return false;
    if (__atomic_add_fetch(&fault_page->calls, 1, __ATOMIC_SEQ_CST) != when)
        return false;
    fault_page->fired = 1;
    errno = way > 0 ? way : 0;
    return true;
}

#define CALL(name, type, parameters, values, bad) \
    type __real_##name parameters;                \
    type __wrap_##name parameters;                \
    type __wrap_##name parameters { return fails(CALL_##name) ? bad : __real_##name values; }
CALLS(CALL)
#undef CALL

int __real_open(const char *path, int flags, ...);
int __wrap_open(const char *path, int flags, ...);
int __real_fcntl(int file, int command, ...);
int __wrap_fcntl(int file, int command, ...);
int __real_close(int file);
int __wrap_close(int file);
ssize_t __real_read(int file, void *data, size_t size);
ssize_t __wrap_read(int file, void *data, size_t size);
ssize_t __real_write(int file, const void *data, size_t size);
ssize_t __wrap_write(int file, const void *data, size_t size);

int __wrap_open(const char *path, int flags, ...)
{
    va_list rest;
    va_start(rest, flags);
    unsigned mode = flags & O_CREAT ? va_arg(rest, unsigned) : 0;
    va_end(rest);
    return fails(CALL_open) ? -1 : __real_open(path, flags, mode);
}

int __wrap_fcntl(int file, int command, ...)
{
    va_list rest;
    va_start(rest, command);
    int value = command == F_GETFD || command == F_GETFL ? 0 : va_arg(rest, int);
    va_end(rest);
    return fails(CALL_fcntl) ? -1 : __real_fcntl(file, command, value);
}

/* A close that reports an error has closed nevertheless. */
int __wrap_close(int file)
{
    int result = __real_close(file);
    return fails(CALL_close) ? -1 : result;
}

ssize_t __wrap_read(int file, void *data, size_t size)
{
    bool cut = fails(CALL_read);
    if (cut && way != CUT_SHORT)
        return -1;
    return __real_read(file, data, cut ? (size + 1) / 2 : size);
}

ssize_t __wrap_write(int file, const void *data, size_t size)
{
    bool cut = fails(CALL_write);
    if (cut && way != CUT_SHORT)
        return -1;
    return __real_write(file, data, cut ? (size + 1) / 2 : size);
}

static const char *judge(const struct fault_subject *subject, int status)
{
    if (!WIFEXITED(status))
        return "it did not end by itself";
    int code = WEXITSTATUS(status);
    if (code == subject->code)
        return code ? fault_check_untouched(subject) : fault_check_complete(subject);
    const char *problem = fault_check_untouched(subject);
    if (problem)
        return problem;
    if (way == EINTR || way == CUT_SHORT)
        return "a call that was cut short was not taken up again";
    if (code < EXIT_USAGE || code > EXIT_TOOL)
        return "the code is none for this";
    if (failing != CALL_write && !strchr(fault_said(), '\n'))
        return "nothing is said";
    return NULL;
}

/* Runs the subject once; false when it made fewer calls of the kind. */
static bool run_once(const struct fault_subject *subject)
{
    fault_page->calls = fault_page->fired = 0;
    pid_t id = __real_fork();
    if (id == 0) {
        fault_silence();
        is_on = true;
        fault_run(subject);
    }
    int status = fault_wait(id);
    const char *problem = judge(subject, status);
    if (problem) {
        char where[80];
        snprintf(where, sizeof where, "%s (%s)", call_names[failing], way > 0 ? strerror(way) : "cut short");
        fault_report(subject, where, when, status, problem);
    }
    fault_page->cases += fault_page->fired;
    return fault_page->fired;
}

static void run_subject(const struct fault_subject *subject, bool thorough)
{
    for (int call = 0; call < CALL_COUNT; call++) {
        int count = 0;
        while (count < MOST_WAYS && ways[call][count])
            count++;
        failing = (enum call)call;
        bool any_left = true;
        for (when = 1; any_left && fault_page->failures < 20; when++)
            for (int i = 0; i < (thorough ? count : 1) && any_left; i++) {
                way = ways[call][thorough ? i : when % count];
                any_left = run_once(subject);
            }
    }
}

int main(int count, char **arguments)
{
    bool thorough = count > 1 && strcmp(arguments[1], "full") == 0;
    fault_begin();
    for (int i = 0; i < fault_subject_count; i++) {
        if (!fault_can_run(&fault_subjects[i]) || (fault_subjects[i].is_slow && !thorough))
            continue;
        if (count > 2 && strcmp(fault_subjects[i].name, arguments[2]) != 0)
            continue;
        run_subject(&fault_subjects[i], thorough);
        printf("%s: %ld faults so far\n", fault_subjects[i].name, fault_page->cases);
        fflush(stdout);
    }
    return fault_end();
}
