/* Machine code as nvdisasm prints it, read as a graph, and one question to it: where do lanes go apart for good? */
#ifndef TILECC_TEST_SASS_H
#define TILECC_TEST_SASS_H
#include "base/base.h"

/* Branches that lanes of a warp may take apart, with no barrier (BSSY, BSYNC) in force, so that both parts run one
 * after the other what a warp does as a whole: shuffles, votes, ldmatrix, products, and sums in a uniform register.
 * Each is told in `out` with its address; returns their number.  *branches: those that were looked at. */
int sass_find_parted(struct arena *arena, const char *text, struct buffer *out, int *branches);
#endif
