/* See generate_edge.c, and for products and folds generate_edge_sum.c. */
#ifndef TILECC_FUZZ_GENERATE_EDGE_H
#define TILECC_FUZZ_GENERATE_EDGE_H
#include "generate.h"

enum fuzz_edge {
    FUZZ_EDGE_CHAIN,   /* what wraps or is rounded, and what looks at all of its bits */
    FUZZ_EDGE_VIEW,    /* parts of views with any bounds, and all accesses to them */
    FUZZ_EDGE_FOLD,    /* reductions of one to three operands across lanes and warps */
    FUZZ_EDGE_PRODUCT, /* products of infinities, NaN and the ends of integers */
    FUZZ_EDGE_SCAN,    /* scans of one to three operands */
    FUZZ_EDGE_COUNT
};
/* The text of a program, as fuzz_read_program reads it. */
void fuzz_generate_edge(struct buffer *out, enum fuzz_edge kind, uint64_t seed);
/* The parts: behind the seed's line. */
void fuzz_edge_fold(struct buffer *out, struct random *random, uint64_t seed);
void fuzz_edge_scan(struct buffer *out, struct random *random, uint64_t seed);
void fuzz_edge_product(struct buffer *out, struct random *random, uint64_t seed);
#endif
