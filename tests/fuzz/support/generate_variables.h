/* Random programs of a few variables that are assigned again and again. */
#ifndef TILECC_FUZZ_GENERATE_VARIABLES_H
#define TILECC_FUZZ_GENERATE_VARIABLES_H
#include "generate.h"

void fuzz_generate_variables(struct buffer *out, uint64_t seed);
#endif
