/* External tools: one process, an argument vector, bytes in, bytes out. */
#include "base/child.h"
#include "base/process.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

/* What a tool sees of our environment: nothing that could change what it does.  A compiler may be ccache, which would make
 * a home to keep its files in. */
static const char *const tool_environment[] = {"LC_ALL=C", "HOME=/nonexistent", "TMPDIR=/tmp", "CCACHE_DISABLE=1"};
enum { TOOL_VARIABLES = sizeof tool_environment / sizeof *tool_environment };
struct tool {
    const char *const *argv;
    const char *directory;
    bool keeps_environment;
    const char *environment[TOOL_VARIABLES + 2]; /* and PATH=..., NULL */
};

enum { EXIT_NOT_STARTED = 126 };

/* Replaces this forked copy of us by the tool.  A reason why that failed goes through `report`, which exec closes. */
static _Noreturn void become_tool(const struct tool *tool, int report)
{
    if (chdir(tool->directory ? tool->directory : "/") == 0)
        execve(tool->argv[0], (char *const *)(uintptr_t)tool->argv,
               tool->keeps_environment ? environ : (char *const *)(uintptr_t)tool->environment);
    int reason = errno;
    ssize_t ignored = write(report, &reason, sizeof reason);
    (void)ignored;
    _exit(EXIT_NOT_STARTED);
}

/* Ends the group that the keeper leads: the tool, and whatever that has started. */
static void end_group(int number)
{
    (void)number;
    kill(0, SIGKILL);
}

/* Becomes the tool's keeper and ends as the tool does.  The system ends one process when we are killed, and a tool may be
 * a script, whose own children would go on: so it tells the keeper, which ends them all. */
static _Noreturn void keep_tool(const struct tool *tool, int report, pid_t parent)
{
    struct sigaction ending = {.sa_handler = end_group};
    sigaction(SIGTERM, &ending, NULL);
    prctl(PR_SET_PDEATHSIG, SIGTERM);
    if (getppid() != parent)
        _exit(EXIT_NOT_STARTED);
    pid_t keeper = getpid(), id = fork();
    if (id == 0) {
        signal(SIGTERM, SIG_DFL);
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        if (getppid() != keeper)
            _exit(EXIT_NOT_STARTED);
        become_tool(tool, report);
    }
    if (id < 0) {
        int reason = errno;
        ssize_t ignored = write(report, &reason, sizeof reason);
        (void)ignored;
        _exit(EXIT_NOT_STARTED);
    }
    close(report);
    for (int standard = 0; standard < 3; standard++)
        close(standard); /* their other ends learn when the tool closes them */
    int status = 0;
    while (waitpid(id, &status, 0) < 0 && errno == EINTR) {}
    if (WIFSIGNALED(status)) {
        signal(WTERMSIG(status), SIG_DFL);
        raise(WTERMSIG(status));
    }
    _exit(WIFEXITED(status) ? WEXITSTATUS(status) : EXIT_NOT_STARTED);
}

bool child_run(const char *const *argv, const char *directory, const void *input, size_t input_size,
               struct child_limits limits, struct child_result *result)
{
    struct process process;
    int report[2];
    struct buffer path = {0};
    struct tool tool = {.argv = argv, .directory = directory, .keeps_environment = limits.keeps_environment};
    *result = (struct child_result){.exit_code = -1, .not_started = true};
    if (pipe(report) != 0)
        return false;
    buffer_printf(&path, "PATH=%s", limits.path ? limits.path : "/nonexistent");
    memcpy(tool.environment, tool_environment, sizeof tool_environment);
    tool.environment[TOOL_VARIABLES] = path.data;
    struct sigaction ignore = {.sa_handler = SIG_IGN}, before;
    sigaction(SIGPIPE, &ignore, &before);
    pid_t parent = getpid(), id = process_start(&process, input, input_size, limits, result, NULL);
    if (id == 0) {
        int end = fcntl(report[1], F_DUPFD_CLOEXEC, 3);
        close(report[0]);
        close(report[1]);
        keep_tool(&tool, end, parent);
    }
    int reason = errno;
    close(report[1]);
    if (id > 0) {
        ssize_t got = read(report[0], &reason, sizeof reason);
        result->not_started = got == (ssize_t)sizeof reason;
        process_serve(&process, 1);
    }
    close(report[0]);
    buffer_free(&path);
    sigaction(SIGPIPE, &before, NULL);
    errno = reason;
    return !result->not_started && result->exit_code == 0 && !result->timed_out && !result->output_too_large;
}
