/* What campaigns work on: kinds of random programs and of changed inputs, each unit told by its seed alone. */
#ifndef TILECC_FUZZ_KINDS_H
#define TILECC_FUZZ_KINDS_H
#include "campaign.h"

struct kind {
    const char *name, *help;
    campaign_function *work;
    void *(*open)(struct campaign *campaign);
};
extern const struct kind fuzz_kinds[];
extern const int fuzz_kind_count;

/* Seeds of one run of a corpus_test: one unit of the kind `inputs`; campaign->context is the path of that program. */
enum { FUZZ_INPUTS_A_UNIT = 2000 };
#endif
