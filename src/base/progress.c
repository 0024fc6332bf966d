/* See progress.h.  What takes no time to speak of shows no line. */
#include "base/progress.h"

#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <time.h>
#include <unistd.h>

enum { QUIET_MILLISECONDS = 300, USUAL_WIDTH = 80 };

struct progress {
    int64_t begin; /* milliseconds */
    int all, passed;
    bool shown;
};

static int64_t now(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (int64_t)time.tv_sec * 1000 + time.tv_nsec / 1000000;
}

struct progress *progress_open(struct arena *arena)
{
    const char *terminal = getenv("TERM");
    if (!isatty(STDERR_FILENO) || !terminal || !*terminal || strcmp(terminal, "dumb") == 0)
        return NULL;
    struct progress *progress = ARENA_NEW(arena, struct progress);
    progress->begin = now();
    return progress;
}

void progress_expect(struct progress *progress, int count)
{
    if (progress)
        progress->all += count;
}

void progress_pass(struct progress *progress, int count)
{
    if (progress)
        progress->passed += count;
}

/* A line that wraps could not be taken away. */
static int width(void)
{
    struct winsize size;
    return ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col ? size.ws_col : USUAL_WIDTH;
}

void progress_show(struct progress *progress, const char *name)
{
    char line[512];
    if (!progress || now() - progress->begin < QUIET_MILLISECONDS)
        return;
    int next = progress->passed < progress->all ? progress->passed + 1 : progress->all;
    int size = snprintf(line, sizeof line, "[%d/%d] %s", next, progress->all, name);
    int room = width() - 1;
    size = size < 0 ? 0 : size < (int)sizeof line ? size : (int)sizeof line - 1;
    fprintf(stderr, "\r%.*s\033[K", size < room ? size : room, line);
    progress->shown = true;
}

void progress_clear(struct progress *progress)
{
    if (!progress || !progress->shown)
        return;
    fputs("\r\033[K", stderr);
    fflush(stderr);
    progress->shown = false;
}
