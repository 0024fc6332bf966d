/* Counters in memory that survives fork as one, not as copies.  See times.h. */
#include "base/times.h"

#include <stdatomic.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <time.h>

struct times {
    _Atomic int64_t nanoseconds[TIMES_COUNT];
};

struct times *times_open(void)
{
    void *shared = mmap(NULL, sizeof(struct times), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    return shared == MAP_FAILED ? NULL : shared; /* filled with zeros */
}

int64_t times_clock(void)
{
    struct timespec now;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
    return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

void times_add_since(struct times *times, enum times_part part, int64_t from)
{
    if (times)
        atomic_fetch_add(&times->nanoseconds[part], times_clock() - from);
}

static int64_t nanoseconds_of(struct timeval time) { return ((int64_t)time.tv_sec * 1000000 + time.tv_usec) * 1000; }

void times_add_worker(struct times *times, int64_t from)
{
    struct rusage children;
    if (!times)
        return;
    times_add_since(times, TIMES_WORKERS, from);
    if (getrusage(RUSAGE_CHILDREN, &children) == 0)
        atomic_fetch_add(&times->nanoseconds[TIMES_TOOLS],
                         nanoseconds_of(children.ru_utime) + nanoseconds_of(children.ru_stime));
}

int64_t times_get(const struct times *times, enum times_part part)
{
    return times ? atomic_load(&times->nanoseconds[part]) : 0;
}
