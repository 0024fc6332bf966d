/* Random sources in the language itself, well typed by construction, and their kernels as programs for judge.h. */
#ifndef TILECC_FUZZ_TEXT_H
#define TILECC_FUZZ_TEXT_H
#include "generate.h"

void fuzz_generate_text(struct buffer *out, uint64_t seed);
/* What a seed stands for: such a source or, every third time, one whose meaning is known (meaning.h). */
void fuzz_make_text(struct buffer *out, uint64_t seed);

/* The instances of one source; all variants of an entry get the same arguments, so that they must give the same
 * results. */
struct text_programs {
    VECTOR(struct fuzz_program *) programs;
    VECTOR(int) entries; /* which entry each belongs to */
};
/* Which instances of a source, and with what arguments. */
struct text_request {
    const char *text;
    size_t size;
    uint64_t seed;      /* of what nothing else says */
    const char *target; /* row of the target table; NULL: cpu */
    const char *spec;   /* as --spec has it; NULL: all */
    const char *values; /* "M=200 K=64 scale=1 b=turned": extents, numbers, views with the order of their strides
                              * turned; NULL: none */
};
bool fuzz_text_instances(const struct text_request *request, struct ir_context *context, struct arena *arena,
                         struct text_programs *out, struct buffer *problem);
/* All of them for the processor.  False: the front end refused the source; `problem` has what it says. */
bool fuzz_text_programs(const char *text, size_t size, uint64_t seed, struct ir_context *context, struct arena *arena,
                        struct text_programs *out, struct buffer *problem);
/* Each instance through one way of the passes or the processor, alone: in a process of its own; instances of an
 * entry against each other.  `out` has what is wrong and the source. */
struct fuzz_text_counts {
    int64_t programs, instances, unsound;
};
bool fuzz_check_text(uint64_t seed, bool alone, struct fuzz_text_counts *counts, struct buffer *out);
#endif
