/* Random kernels that nobody runs: what they compute need not be sound, only well typed.  So they may do what the
 * other generators may not: begin anywhere, count by any step, store where others read, compute with numbers at the
 * edges of formats.  Those of corners_generate_constants alone are sound. */
#ifndef TILECC_FUZZ_CORNERS_H
#define TILECC_FUZZ_CORNERS_H
#include "base/base.h"

void corners_generate(struct buffer *out, uint64_t seed);
/* Products: all elements, precisions, starts, factors turned, masked, computed; in loops and alone. */
void corners_generate_product(struct buffer *out, uint64_t seed);
/* Operations on constants, with the arguments that fuzz_read_program reads. */
void corners_generate_constants(struct buffer *out, uint64_t seed);
/* Whether it can be read and breaks no rule: the verifier knows more of them than the generators ask. */
bool corners_is_valid(const struct buffer *text);
#endif
