/* Tile IR with one kernel, as PTX of a target run by the reader of PTX. */
#ifndef TILECC_TEST_RUN_TEXT_H
#define TILECC_TEST_RUN_TEXT_H
#include "../../fuzz/support/ptx.h"

struct run_text;
/* Through all passes of the target, as -O2.  NULL: what is wrong was printed. */
struct run_text *run_text_make(struct arena *arena, const char *ir, const char *row);
/* One program, whose views have all their elements in `memory`; false: what is wrong was printed. */
bool run_text_once(struct arena *arena, const struct run_text *text, const uint64_t *slots, int slot_count,
                   struct ptx_memory memory);
#endif
