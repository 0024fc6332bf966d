/* See generate_layout.c. */
#ifndef TILECC_FUZZ_GENERATE_LAYOUT_H
#define TILECC_FUZZ_GENERATE_LAYOUT_H
#include "generate.h"

/* The text of a program, as fuzz_read_program reads it, at the schedule level: its tiles have layouts. */
void fuzz_generate_layout(struct buffer *out, uint64_t seed);
#endif
