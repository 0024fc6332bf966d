/* One random program through everything that must agree: text round trip, instance order, each Value-level pass. */
#ifndef TILECC_FUZZ_DIFFERENTIAL_H
#define TILECC_FUZZ_DIFFERENTIAL_H
#include "generate.h"

struct fuzz_counts { int64_t programs, runs, operations[OP_COUNT][IR_ELEMENT_COUNT]; };
/* True: all agree.  False: `report` names the seed, the pass and the difference, and holds the program. */
bool fuzz_check_seed(uint64_t seed, struct fuzz_limits limits, struct fuzz_counts *counts, struct buffer *report);
void fuzz_print_counts(const struct fuzz_counts *counts, int64_t least, FILE *out);
#endif
