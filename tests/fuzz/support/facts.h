/* What the analyses say of values (ranges, divisibility, ends of loops, sums of a multiple and a number),
 * held against what the values are when the interpreter runs the function. */
#ifndef TILECC_FUZZ_FACTS_H
#define TILECC_FUZZ_FACTS_H
#include "base/base.h"
#include "interp/interp.h"
#include "ir/ir.h"

/* How much is said, by the operation that makes the values: sums over values, the more the better but for the bits of
 * ranges.  A rule that knows less, or more, changes a number. */
struct fact_sums {
    int64_t values, range_bits, multiple, contiguity, constancy, ends, linear, divisor, inside;
};
struct fact_table {
    struct fact_sums of[OP_COUNT + 1]; /* the last: arguments of functions and regions */
};
void facts_count(struct fact_table *table, const struct ir_function *function);
void facts_print(const struct fact_table *table, FILE *file);

/* Of a function that passes have seen: the accesses that are known to be inside. */
void facts_count_inside(struct fact_table *table, const struct ir_function *function);

struct facts;
struct facts *facts_create(struct arena *arena, const struct ir_function *function);
/* Looks on while options are used for a run of the function, whose arguments are others than those of the last. */
void facts_watch(struct facts *facts, struct interp_options *options);
/* The first thing said that is not so; NULL: there is none. */
const char *facts_wrong(const struct facts *facts);

/* A kernel that computes with integers, in the text form, and its arguments: those of one run, number `run`.  One with
 * results has another argument, FACTS_RESULTS rows of 64 numbers for each of at most FACTS_PROGRAMS programs, and loops
 * that are no `for`. */
void facts_generate(struct buffer *out, uint64_t seed, bool results);
/* Of such a text, parsed and verified; NULL: what is wrong was printed. */
struct ir_function *facts_read(struct arena *arena, const struct buffer *text);
void facts_arguments(uint64_t seed, int run, struct interp_argument *arguments, int64_t *grid);
enum { FACTS_ARGUMENTS = 6, FACTS_GRID = 2, FACTS_MOST_EXTENT = 80, FACTS_RESULTS = 16, FACTS_PROGRAMS = 15 };
#endif
