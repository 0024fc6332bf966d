/* One random program through everything that must agree: text round trip, instance order, every way through the
 * passes. */
#ifndef TILECC_FUZZ_DIFFERENTIAL_H
#define TILECC_FUZZ_DIFFERENTIAL_H
#include "generate.h"
#include "judge.h"
#include "table.h"

struct fuzz_counts {
    int64_t programs, runs;
    struct fuzz_table *table;
};
/* True: all agree.  False: `report` names the seed, the pass and the kind of the difference, and holds the program. */
bool fuzz_check_seed(uint64_t seed, struct fuzz_limits limits, struct fuzz_counts *counts, struct buffer *report);
/* Way `number` (from 0) that a program with this seed goes through the passes; false: there is none. */
bool fuzz_way(struct arena *arena, uint64_t seed, int number, struct judge *judge);
struct target_row;
const char *fuzz_pipeline_text(struct arena *arena, const struct target_row *row, int level);
/* The number of ways whose seed chooses them: random sequences, then pipelines; they are the last ones. */
enum { FUZZ_SEQUENCES = 2, FUZZ_PIPELINES = 3 };
/* The first way that fails, the processor last; each in a process of its own.  False: none does. */
bool fuzz_find_failure(const char *text, size_t size, struct arena *arena, struct judge *judge);
#endif
