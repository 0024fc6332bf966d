/* See campaign.h. */
#include "campaign.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/file.h"

enum { POLL_MICROSECONDS = 5000, MOST_TOLD = 4000 };

struct campaign_board {
    _Atomic(uint64_t) next; /* unit to take */
    _Atomic(int64_t) findings;
    _Atomic(int) stop, skipped_count;
    uint64_t skipped[CAMPAIGN_MOST_SKIPPED];
    struct campaign_seat seats[CAMPAIGN_MOST_JOBS];
};

static int64_t now_in_milliseconds(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000 + 1;
}

static int unit_seconds(const struct campaign *campaign)
{
    return campaign->unit_seconds ? campaign->unit_seconds : 60;
}

bool campaign_skips(const struct campaign *campaign, uint64_t detail)
{
    int count = campaign->board->skipped_count;
    for (int i = 0; i < count; i++)
        if (campaign->board->skipped[i] == detail)
            return true;
    return false;
}

void campaign_begin(struct campaign_seat *seat, uint64_t detail)
{
    seat->detail = detail;
    seat->started = now_in_milliseconds();
}

void campaign_report(struct campaign *campaign, uint64_t number, const struct buffer *text)
{
    campaign->board->findings++;
    size_t shown = text->size < MOST_TOLD ? strcspn(text->data, "\n") : 200;
    printf("%s %llu: %.*s\n", campaign->name, (unsigned long long)number, (int)shown, text->data);
    fflush(stdout);
    if (!campaign->folder)
        return;
    char path[512];
    snprintf(path, sizeof path, "%s/%s-%llu.txt", campaign->folder, campaign->name, (unsigned long long)number);
    FILE *file = fopen(path, "w");
    if (!file)
        die("cannot write %s: %s", path, strerror(errno));
    fwrite(text->data, 1, text->size, file);
    fclose(file);
}

/* ---- a worker ---- */

static void limit_processor(int seconds)
{
    struct itimerval limit = {.it_value = {.tv_sec = seconds}};
    setitimer(ITIMER_PROF, &limit, NULL);
}

static bool take_unit(struct campaign *campaign, struct campaign_seat *seat, int64_t end, uint64_t *unit)
{
    if (seat->again) {
        seat->again = false;
        *unit = seat->unit;
        return true;
    }
    if (campaign->board->stop || (end && now_in_milliseconds() >= end))
        return false;
    uint64_t taken = campaign->board->next++;
    *unit = campaign->first + taken;
    return taken < campaign->count;
}

static void work_on_units(struct campaign *campaign, struct campaign_seat *seat, int64_t end, int errors)
{
    struct buffer finding = {0};
    uint64_t unit;
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    dup2(errors, STDERR_FILENO);
    campaign->own = campaign->open ? campaign->open(campaign) : NULL;
    for (int done = 0; done < (campaign->recycled ? campaign->recycled : 4000) && take_unit(campaign, seat, end, &unit);
         done++) {
        if (ftruncate(STDERR_FILENO, 0) == 0)
            lseek(STDERR_FILENO, 0, SEEK_SET);
        seat->unit = unit;
        campaign_begin(seat, unit);
        limit_processor(unit_seconds(campaign));
        campaign->work(campaign, seat, unit, &finding);
        limit_processor(0);
        seat->started = 0;
        if (finding.size)
            campaign_report(campaign, unit, &finding);
        finding.size = 0;
    }
    exit(0); /* not _exit: what counts lines writes at the end */
}

/* ---- the parent ---- */

struct pool {
    struct campaign *campaign;
    int64_t end;
    int errors[CAMPAIGN_MOST_JOBS];
};

static void start(struct pool *pool, int number)
{
    struct campaign_seat *seat = &pool->campaign->board->seats[number];
    fflush(stdout);
    int pid = fork();
    if (pid == 0)
        work_on_units(pool->campaign, seat, pool->end, pool->errors[number]);
    if (pid < 0)
        die("cannot fork: %s", strerror(errno));
    seat->pid = pid;
}

static void tell_end(struct pool *pool, int number, int status)
{
    struct campaign *campaign = pool->campaign;
    struct campaign_seat *seat = &campaign->board->seats[number];
    char errors[2001];
    ssize_t size = pread(pool->errors[number], errors, sizeof errors - 1, 0);
    struct buffer text = {0};
    int ended_by = WIFSIGNALED(status) ? WTERMSIG(status) : 0;
    errors[size > 0 ? size : 0] = '\0';
    if (ended_by == SIGPROF || ended_by == SIGKILL)
        buffer_printf(&text, "seed %llu: does not end\n", (unsigned long long)seat->detail);
    else
        buffer_printf(&text, "seed %llu: %s %d\n", (unsigned long long)seat->detail, ended_by ? "signal" : "exit code",
                      ended_by ? ended_by : WEXITSTATUS(status));
    buffer_puts(&text, errors);
    campaign_report(campaign, seat->detail, &text);
    buffer_free(&text);
    if (campaign->once_more && seat->detail != UINT64_MAX && campaign->board->skipped_count < CAMPAIGN_MOST_SKIPPED) {
        campaign->board->skipped[campaign->board->skipped_count] = seat->detail;
        campaign->board->skipped_count++;
        seat->again = true;
    }
}

/* True while the seat is taken. */
static bool look_after(struct pool *pool, int number)
{
    struct campaign *campaign = pool->campaign;
    struct campaign_seat *seat = &campaign->board->seats[number];
    int status, ended = waitpid(seat->pid, &status, WNOHANG);
    if (ended == 0) {
        int64_t started = seat->started;
        if (started && now_in_milliseconds() - started > 4000 * (int64_t)unit_seconds(campaign))
            kill(seat->pid, SIGKILL);
        return true;
    }
    if (WIFSIGNALED(status) || WEXITSTATUS(status))
        tell_end(pool, number, status);
    seat->started = 0;
    bool more = seat->again ||
                (campaign->board->next < campaign->count && (!pool->end || now_in_milliseconds() < pool->end));
    if (more)
        start(pool, number);
    else
        seat->pid = 0;
    return more;
}

static int scratch_file(const char *folder)
{
    const char *where = folder ? folder : getenv("TMPDIR");
    char path[512];
    snprintf(path, sizeof path, "%s/campaign-XXXXXX", where && *where ? where : "/tmp");
    int descriptor = mkstemp(path);
    if (descriptor < 0)
        die("cannot write %s: %s", path, strerror(errno));
    unlink(path);
    return descriptor;
}

void campaign_run(struct campaign *campaign, struct campaign_counts *counts)
{
    struct pool pool = {.campaign = campaign};
    int jobs = campaign->jobs > CAMPAIGN_MOST_JOBS ? CAMPAIGN_MOST_JOBS : campaign->jobs > 0 ? campaign->jobs : 1;
    int64_t begin = now_in_milliseconds();
    pool.end = campaign->seconds ? begin + 1000 * (int64_t)campaign->seconds : 0;
    campaign->board = mmap(NULL, sizeof *campaign->board, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (campaign->board == MAP_FAILED)
        die("no memory to share");
    for (int i = 0; i < jobs; i++) {
        pool.errors[i] = scratch_file(campaign->folder);
        start(&pool, i);
    }
    for (bool busy = true; busy;) {
        busy = false;
        for (int i = 0; i < jobs; i++)
            if (campaign->board->seats[i].pid)
                busy |= look_after(&pool, i);
        usleep(POLL_MICROSECONDS);
    }
    *counts = (struct campaign_counts){.findings = campaign->board->findings,
                                       .seconds = (double)(now_in_milliseconds() - begin) / 1000};
    for (int i = 0; i < jobs; i++) {
        const struct campaign_seat *seat = &campaign->board->seats[i];
        counts->programs += seat->programs;
        counts->runs += seat->runs;
        counts->refused += seat->refused;
        close(pool.errors[i]);
    }
    munmap(campaign->board, sizeof *campaign->board);
}
