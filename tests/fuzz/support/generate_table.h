/* See generate_table.c. */
#ifndef TILECC_FUZZ_GENERATE_TABLE_H
#define TILECC_FUZZ_GENERATE_TABLE_H
#include "generate.h"

/* The text of a program, as fuzz_read_program reads it. */
void fuzz_generate_table(struct buffer *out, uint64_t seed);
#endif
