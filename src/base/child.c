/* External tools: one process, an argument vector, bytes in, bytes out. */
#include "base/child.h"
#include "base/process.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <unistd.h>

/* What a tool sees of our environment: nothing that could change what it does. */
static char *const tool_environment[] = {"LC_ALL=C", "PATH=/nonexistent", "HOME=/nonexistent", "TMPDIR=/tmp", NULL};

enum { EXIT_NOT_STARTED = 126 };

/* Replaces this forked copy of us by the tool.  A reason why that failed goes through `report`, which exec closes. */
static _Noreturn void become_tool(const char *const *argv, const char *directory, int report)
{
    if (chdir(directory ? directory : "/") == 0)
        execve(argv[0], (char *const *)(uintptr_t)argv, tool_environment);
    int reason = errno;
    ssize_t ignored = write(report, &reason, sizeof reason);
    (void)ignored;
    _exit(EXIT_NOT_STARTED);
}

bool child_run(const char *const *argv, const char *directory, const void *input, size_t input_size,
               struct child_limits limits, struct child_result *result)
{
    struct process process;
    int report[2];
    *result = (struct child_result){.exit_code = -1, .not_started = true};
    if (pipe(report) != 0)
        return false;
    struct sigaction ignore = {.sa_handler = SIG_IGN}, before;
    sigaction(SIGPIPE, &ignore, &before);
    pid_t id = process_start(&process, input, input_size, limits, result, NULL);
    if (id == 0) {
        int end = fcntl(report[1], F_DUPFD_CLOEXEC, 3);
        close(report[0]);
        close(report[1]);
        become_tool(argv, directory, end);
    }
    int reason = errno;
    close(report[1]);
    if (id > 0) {
        ssize_t got = read(report[0], &reason, sizeof reason);
        result->not_started = got == (ssize_t)sizeof reason;
        process_serve(&process, 1);
    }
    close(report[0]);
    sigaction(SIGPIPE, &before, NULL);
    errno = reason;
    return !result->not_started && result->exit_code == 0 && !result->timed_out && !result->output_too_large;
}
