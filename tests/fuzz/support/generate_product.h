/* Random programs round products: what choose_product, buffer_operands, specialise and prefetch_copies work on. */
#ifndef TILECC_FUZZ_GENERATE_PRODUCT_H
#define TILECC_FUZZ_GENERATE_PRODUCT_H
#include "generate.h"

/* The text of a program in the form of fuzz_print_program. */
void fuzz_generate_product(struct buffer *out, uint64_t seed);
/* The same with rows of outputs that bulk stores can write, mostly. */
void fuzz_generate_bulk_product(struct buffer *out, uint64_t seed);
#endif
