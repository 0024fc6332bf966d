/* A socket pair is a partner's standard input and output, so that what is sent to one that has ended is an error and no
 * signal. */
#include "base/partner.h"
#include "base/process.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

enum { EXIT_NOT_STARTED = 126 };

static _Noreturn void become(const char *const *argv, const char *folder, int line, pid_t parent)
{
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() == parent && dup2(line, 0) == 0 && dup2(line, 1) == 1 && chdir(folder) == 0)
        execve(argv[0], (char *const *)(uintptr_t)argv, environ);
    _exit(EXIT_NOT_STARTED);
}

bool partner_start(struct partner *partner, const char *const *argv, const char *folder)
{
    int ends[2];
    pid_t parent = getpid();
    *partner = (struct partner){.line = -1};
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0)
        return false;
    partner->id = fork();
    if (partner->id == 0)
        become(argv, folder, ends[1], parent);
    close(ends[1]);
    partner->line = ends[0];
    if (partner->id > 0)
        return true;
    partner->id = 0;
    close(ends[0]);
    return false;
}

bool partner_send(struct partner *partner, const void *data, size_t size)
{
    const char *at = data;
    while (partner->id && size) {
        ssize_t sent = send(partner->line, at, size, MSG_NOSIGNAL);
        if (sent < 0 && errno == EINTR)
            continue;
        if (sent <= 0)
            return false;
        at += sent;
        size -= (size_t)sent;
    }
    return partner->id != 0;
}

/* False: nothing comes any more, or not in time. */
static bool hear_more(struct partner *partner, int64_t until)
{
    char bytes[4096];
    int64_t left = until - process_clock();
    struct pollfd wait = {.fd = partner->line, .events = POLLIN};
    int ready = left > 0 ? poll(&wait, 1, (int)left) : 0;
    if (ready < 0 && errno == EINTR)
        return true;
    ssize_t got = ready > 0 ? recv(partner->line, bytes, sizeof bytes, 0) : 0;
    if (got > 0)
        buffer_append(&partner->heard, bytes, (size_t)got);
    return got > 0;
}

const char *partner_hear(struct partner *partner, struct arena *arena, int seconds)
{
    int64_t until = process_clock() + (int64_t)seconds * 1000;
    while (partner->id) {
        size_t left = partner->heard.size - partner->taken;
        const char *from = left ? partner->heard.data + partner->taken : "",
                   *end = left ? memchr(from, '\n', left) : NULL;
        if (end) {
            const char *line = arena_substring(arena, from, (size_t)(end - from));
            partner->taken += (size_t)(end - from) + 1;
            if (partner->taken == partner->heard.size)
                partner->heard.size = partner->taken = 0;
            return line;
        }
        if (!hear_more(partner, until))
            return NULL;
    }
    return NULL;
}

void partner_end(struct partner *partner)
{
    if (!partner->id)
        return;
    close(partner->line);
    kill(partner->id, SIGKILL);
    while (waitpid(partner->id, NULL, 0) < 0 && errno == EINTR) {}
    buffer_free(&partner->heard);
    *partner = (struct partner){.line = -1};
}
