/* Random programs for a GPU, each under several schedules: shared libraries with one cubin for many programs, and
 * the plans that runner.c checks them by.
 *
 * A chunk is FUZZ_CHUNK programs.  Each of its FUZZ_SCHEDULES schedules gives FOLDER/bundle/CHUNK-SCHEDULE.so; the
 * chunk's plan, FOLDER/bundle/CHUNK.plan, serves all of them, since all must give what the interpreter gave. */
#ifndef TILECC_FUZZ_BUNDLE_H
#define TILECC_FUZZ_BUNDLE_H
#include "campaign.h"

enum { FUZZ_CHUNK = 64, FUZZ_SCHEDULES = 4 };
/* What a schedule changes; 0 leaves a knob as the program has it. */
struct fuzz_schedule {
    const char *target, *assembled /* for this one; its text is the target's */;
    int optimization, warps, stages, persistent, cluster;
};
struct fuzz_schedule fuzz_schedule_of(uint64_t chunk, int number);
/* One schedule of one chunk: unit = FUZZ_SCHEDULES * chunk + schedule. */
campaign_function fuzz_bundle_compile, fuzz_bundle_run;
void *fuzz_bundle_open(struct campaign *campaign);
#endif
