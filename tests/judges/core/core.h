/* What the cases of this suite are judged with: the elements that an operation is given, and results of its type.
 * Inputs are inexact in nothing: a long double holds every element there is. */
#ifndef JUDGE_CORE_H
#define JUDGE_CORE_H
#include <math.h>

#include "../judge.h"

static inline enum judge_type type_of(const struct judge_case *c, int t) { return c->tensors[t].type; }
static inline enum judge_type result_type(const struct judge_case *c) { return c->tensors[c->tensor_count - 1].type; }

/* The element of input t that meets element `at` of the result: its last dimension is the result's last one, and an
 * extent of 1 is stretched. */
static inline long double operand(const struct judge_case *c, int t, const int64_t *at)
{
    const struct judge_tensor *tensor = &c->tensors[t];
    const int64_t *index = at + c->tensors[c->tensor_count - 1].rank - tensor->rank;
    int64_t i = 0;
    for (int d = 0; d < tensor->rank; d++)
        i = i * tensor->extent[d] + (tensor->extent[d] == 1 ? 0 : index[d]);
    return judge_exact(c, t, i);
}

/* Element [i, j, ...] of input t; the indexes are as many as it has dimensions, and 0 is read outside. */
static inline long double at_index(const struct judge_case *c, int t, const int64_t *index)
{
    const struct judge_tensor *tensor = &c->tensors[t];
    int64_t i = 0;
    for (int d = 0; d < tensor->rank; d++) {
        if (index[d] < 0 || index[d] >= tensor->extent[d])
            return 0;
        i = i * tensor->extent[d] + index[d];
    }
    return judge_exact(c, t, i);
}
#define AT(c, t, ...) at_index(c, t, (const int64_t[]){__VA_ARGS__})

/* The elements of input t along a dimension: those that become element `at` of a result without it, or with it; axis
 * ALL takes all. */
enum { ALL = 9 };
struct line {
    int64_t first, stride, count;
};
static inline struct line line_of(const struct judge_case *c, int t, const int64_t *at)
{
    const struct judge_tensor *tensor = &c->tensors[t];
    int axis = (int)judge_size_or(c, "a", 0);
    bool kept = c->tensors[c->tensor_count - 1].rank == tensor->rank;
    struct line line = {0, 1, tensor->elements};
    if (axis == ALL)
        return line;
    for (int d = 0, i = 0; d < tensor->rank; d++) {
        line.first *= tensor->extent[d];
        if (d == axis)
            line.count = tensor->extent[d], line.stride = 1, i += kept;
        else
            line.first += at[i++], line.stride *= tensor->extent[d];
    }
    return line;
}
static inline long double line_element(const struct judge_case *c, int t, struct line line, int64_t k)
{
    return judge_exact(c, t, line.first + k * line.stride);
}

static inline struct judge_value exactly(long double value) { return (struct judge_value){value, 0}; }

/* What an operation in the result's type gives that is exact but for one rounding: of f64 it is rounded already, and
 * 53 bits are enough for a second rounding of the others to change nothing. */
static inline struct judge_value rounded(const struct judge_case *c, double value)
{
    return exactly(element_round(result_type(c), value, ELEMENT_NEAREST));
}
static inline uint64_t bits_of(long double integer)
{
    return integer < 0 ? (uint64_t)(int64_t)integer : (uint64_t)integer;
}
static inline struct judge_value wrapped(const struct judge_case *c, uint64_t bits)
{
    return exactly(element_wrap(result_type(c), bits));
}
static inline bool is_float(const struct judge_case *c, int t) { return element_is_float(type_of(c, t)); }

/* min and max of two: NaN loses, -0 is less than 0. */
static inline long double lesser(long double x, long double y)
{
    return isnan(x) ? y : isnan(y) ? x : x < y || (x == y && signbit(x)) ? x : y;
}
static inline long double greater(long double x, long double y)
{
    return isnan(x) ? y : isnan(y) ? x : x > y || (x == y && !signbit(x)) ? x : y;
}

/* A slice of the cases may use no case of an operation, and some elements are the same everywhere. */
#define UNUSED __attribute__((unused))
#define WANT(name) \
    UNUSED static struct judge_value want_##name(UNUSED const struct judge_case *c, UNUSED const int64_t *at)
#endif
