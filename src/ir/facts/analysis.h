/* Analyses of tile IR: what is known of values, apart from any rewriting.  Each is computed for a whole function into
 * tables by value id and holds as long as the function is not changed; values made later are simply not in them. */
#ifndef TILECC_IR_ANALYSIS_H
#define TILECC_IR_ANALYSIS_H
#include "ir/ir.h"

/* ---- ranges: the least and greatest value that any element of an integer or bool value can have ---- */
struct range {
    int64_t low, high;
};
struct ranges {
    int count;
    struct range *of;
};
/* Intervals in 64 bits; an operation that may wrap gives the whole range of its element (u64: everything).  Sources:
 * constants, extents (>= 0 and below their limit), grid_index < grid_size, loop bounds, assume() at the top of the
 * function. */
const struct ranges *ranges_analyse(const struct ir_function *function, struct arena *arena);
struct range range_of(const struct ranges *ranges, const struct ir_value *value);
/* The same, sharpened by the conditions of the `if`s around `at`. */
struct range range_at(const struct ranges *ranges, const struct ir_value *value, const struct ir_operation *at);
struct range range_of_element(enum ir_element element);
/* Whether what follows the last value of a for's variable is known to be a number of its element: else a machine that
 * counts on would start again from the other end. */
bool range_loop_ends(const struct ranges *ranges, const struct ir_operation *loop);
static inline bool range_within(struct range inner, struct range outer)
{
    return inner.low >= outer.low && inner.high <= outer.high;
}

/* ---- divisibility: of integers and pointers (in bytes) ---- */
/* Along dimension d the elements fall into aligned groups of contiguity[d] consecutive numbers (of pointers:
 * consecutive elements), and into aligned groups of constancy[d] equal ones; the first of each contiguous group is a
 * multiple of multiple[d].  All are powers of two.  A scalar has rank 0 and uses entry 0. */
struct divisibility {
    int rank;
    int64_t multiple[IR_MAX_RANK], contiguity[IR_MAX_RANK], constancy[IR_MAX_RANK];
};
struct divisibilities {
    int count;
    struct divisibility *of;
};
const struct divisibilities *divisibility_analyse(const struct ir_function *function, struct arena *arena);
struct divisibility divisibility_of(const struct divisibilities *table, const struct ir_value *value);
/* The same of one value, for who changes the function while asking: by the operations that it is made of, as far as they
 * are not too many, and without ranges. */
struct divisibility divisibility_ask(const struct ir_value *value);
/* The same, but rows of a matrix, `iota * extent`, are supposed to begin as aligned as the first one does.  That is not
 * known: it serves to choose a layout, and no access may rely on it. */
struct divisibility divisibility_guess(const struct ir_value *value);

#endif
