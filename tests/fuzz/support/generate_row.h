/* See generate_row.c. */
#ifndef TILECC_FUZZ_GENERATE_ROW_H
#define TILECC_FUZZ_GENERATE_ROW_H
#include "generate.h"

/* The text of a program, as fuzz_read_program reads it. */
void fuzz_generate_row(struct buffer *out, uint64_t seed);
#endif
