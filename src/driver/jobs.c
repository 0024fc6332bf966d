/* How many workers run at a time.  Under make's jobserver we may always use the one slot that make started us in; each
 * further worker needs a token, a byte read from the jobserver's pipe, which goes back when the work is done. */
#include "driver/tools.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static int processors(void)
{
    long count = sysconf(_SC_NPROCESSORS_ONLN);
    return count < 1 ? 1 : count > 64 ? 64 : (int)count;
}

/* The last --jobserver-auth= in MAKEFLAGS: "R,W" (descriptors) or "fifo:PATH".  False: not under a parallel make. */
static bool open_jobserver(struct jobs *jobs, bool *is_under_make)
{
    const char *flags = getenv("MAKEFLAGS"), *found = NULL;
    *is_under_make = flags != NULL;
    for (const char *at = flags; at && (at = strstr(at, "--jobserver-")); at++) {
        if (strncmp(at, "--jobserver-auth=", 17) == 0)
            found = at + 17;
        if (strncmp(at, "--jobserver-fds=", 16) == 0)
            found = at + 16;
    }
    if (!found)
        return false;
    if (strncmp(found, "fifo:", 5) == 0) {
        char path[4096];
        size_t length = strcspn(found + 5, " ");
        if (length >= sizeof path)
            return false;
        memcpy(path, found + 5, length);
        path[length] = '\0';
        jobs->read_end = jobs->write_end = open(path, O_RDWR | O_CLOEXEC);
        return jobs->read_end >= 0;
    }
    char *end;
    long in = strtol(found, &end, 10), out = *end == ',' ? strtol(end + 1, &end, 10) : -1;
    if (in < 0 || out < 0 || in > 65535 || out > 65535)
        return false;
    if (fcntl((int)in, F_GETFD) < 0 || fcntl((int)out, F_GETFD) < 0)
        return false; /* the rule lacks its '+' */
    jobs->read_end = (int)in;
    jobs->write_end = (int)out;
    return true;
}

static void take_tokens(struct jobs *jobs, int most)
{
    while (jobs->tokens < most && jobs->tokens < (int)sizeof jobs->taken) {
        struct pollfd ready = {.fd = jobs->read_end, .events = POLLIN};
        if (poll(&ready, 1, 0) <= 0)
            return;
        if (read(jobs->read_end, &jobs->taken[jobs->tokens], 1) != 1)
            return;
        jobs->tokens++;
    }
}

void jobs_acquire(struct jobs *jobs, const struct options *options, int most)
{
    bool is_under_make;
    *jobs = (struct jobs){.count = 1, .read_end = -1, .write_end = -1};
    if (options->jobs) {
        jobs->count = options->jobs;
        return;
    }
    if (!open_jobserver(jobs, &is_under_make)) {
        if (!is_under_make)
            jobs->count = processors();
        return;
    }
    take_tokens(jobs, most - 1);
    jobs->count = 1 + jobs->tokens;
}

void jobs_release(struct jobs *jobs)
{
    for (int i = 0; i < jobs->tokens; i++)
        while (write(jobs->write_end, &jobs->taken[i], 1) < 0 && errno == EINTR) {}
    jobs->tokens = 0;
}
