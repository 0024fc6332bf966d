/* See generate_touch.c. */
#ifndef TILECC_FUZZ_GENERATE_TOUCH_H
#define TILECC_FUZZ_GENERATE_TOUCH_H
#include "generate.h"

/* The text of a program, as fuzz_read_program reads it. */
void fuzz_generate_touch(struct buffer *out, uint64_t seed);
#endif
