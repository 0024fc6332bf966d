/* Many units of work on all processors, each told by a number, whatever becomes of single ones.
 *
 * Workers are processes.  Each takes the next number, works on it and says what it found; a worker that crashes, or
 * takes more processor time than a unit may, is a finding of its own, and another takes its seat.  A campaign ends
 * when all numbers are taken or its time is over.  Counts stand in memory that all share, findings in files of their
 * own: FOLDER/NAME-NUMBER.txt. */
#ifndef TILECC_FUZZ_CAMPAIGN_H
#define TILECC_FUZZ_CAMPAIGN_H
#include <stdatomic.h>

#include "base/base.h"

enum { CAMPAIGN_MOST_JOBS = 256, CAMPAIGN_MOST_SKIPPED = 1024 };

/* A worker's place in the shared memory. */
struct campaign_seat {
    _Atomic(uint64_t) unit;   /* worked on now */
    _Atomic(uint64_t) detail; /* the seed in it that is worked on, where a unit is many; UINT64_MAX: none alone */
    _Atomic(int64_t) started; /* when the unit was begun, monotonic milliseconds; 0: none is */
    _Atomic(int64_t) programs, runs, refused;
    int pid;    /* the parent's */
    bool again; /* the parent's: the next worker starts with `unit` */
};
struct campaign_counts {
    int64_t programs, runs, refused, findings;
    double seconds;
};
struct campaign;
/* Works on one unit; what is written to `finding` is one.  `seat` counts. */
typedef void campaign_function(struct campaign *campaign, struct campaign_seat *seat, uint64_t unit,
                               struct buffer *finding);
struct campaign {
    const char *name, *folder; /* folder NULL: findings go to standard output alone */
    uint64_t first, count;     /* units */
    int jobs, seconds;         /* seconds 0: no end but the last unit */
    int unit_seconds;          /* of processor time; four times that of any time; 0: 60 */
    int recycled;              /* units that a worker does before another takes its seat; 0: 4000 */
    bool once_more;            /* a unit whose worker crashed is tried again without the detail that crashed it */
    campaign_function *work;
    const void *context;
    /* set up by campaign_run */
    struct campaign_board *board;
    void *own; /* a worker's, made by `open` at its start; NULL without */
    void *(*open)(struct campaign *campaign);
};
void campaign_run(struct campaign *campaign, struct campaign_counts *counts);
/* Whether a unit that is tried again shall leave this detail out. */
bool campaign_skips(const struct campaign *campaign, uint64_t detail);
/* Work that lasts, such as another program's, is told so that it is not ended too early. */
void campaign_begin(struct campaign_seat *seat, uint64_t detail);
/* A finding beside those that `finding` brings home: for units that hold several. */
void campaign_report(struct campaign *campaign, uint64_t number, const struct buffer *text);
#endif
