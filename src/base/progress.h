/* One line on a terminal that says how far a long compilation is:  [37/324] softmax<f16> sm_90a  */
#ifndef TILECC_PROGRESS_H
#define TILECC_PROGRESS_H
#include "base/base.h"

/* All functions take NULL and do nothing then. */
struct progress;
/* NULL where standard error is no terminal on which a line can be written over. */
struct progress *progress_open(struct arena *arena);
/* So many are to be made, beside those expected before. */
void progress_expect(struct progress *progress, int count);
/* So many of them are through. */
void progress_pass(struct progress *progress, int count);
/* The next one is being made. */
void progress_show(struct progress *progress, const char *name);
/* Takes the line away, before anything else is written. */
void progress_clear(struct progress *progress);
#endif
