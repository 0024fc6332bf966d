/* Random loops with loads that feed no product: what count_loops and schedule work on. */
#ifndef TILECC_FUZZ_GENERATE_LOOP_H
#define TILECC_FUZZ_GENERATE_LOOP_H
#include "generate.h"

/* The text of a program in the form of fuzz_print_program. */
void fuzz_generate_loop(struct buffer *out, uint64_t seed);
#endif
