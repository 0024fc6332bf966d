/* Sizes of convolutions in one to three dimensions, d, h and w: of each a letter before the dimension's, k for the number of
 * taps, s for steps, p for margins, l for the distance of taps, q for what is added to the result.  What is missing is 1,
 * margins and additions 0. */
#ifndef JUDGE_TAPS_H
#define JUDGE_TAPS_H
#include "../judge.h"

static const char *const taps_names[3] = {"d", "h", "w"};

static inline int64_t taps_size(const struct judge_case *c, char letter, int dimension, int64_t otherwise)
{
    char name[] = {letter, taps_names[dimension][0], 0};
    return judge_size_or(c, name, otherwise);
}

/* Adds what is missing, the extents of the result (od, oh, ow) and the number of all taps. */
static inline void taps_derive(struct judge_case *c, int64_t (*outer_extent)(const struct judge_case *c, int dimension))
{
    int64_t taps = 1;
    for (int d = 0; d < 3; d++) {
        char length[] = {'k', taps_names[d][0], 0}, outer[] = {'o', taps_names[d][0], 0};
        if (judge_size_or(c, taps_names[d], -1) < 0)
            judge_set_size(c, taps_names[d], 1);
        if (judge_size_or(c, length, -1) < 0)
            judge_set_size(c, length, 1);
        taps *= judge_size(c, length);
        judge_set_size(c, outer, outer_extent(c, d));
    }
    judge_set_size(c, "taps", taps);
}

/* Where tap k, of all, lies in each dimension. */
static inline void taps_split(const struct judge_case *c, int64_t k, int64_t *tap)
{
    for (int d = 2; d >= 0; d--) {
        tap[d] = k % taps_size(c, 'k', d, 1);
        k /= taps_size(c, 'k', d, 1);
    }
}

/* Extents of the result of a convolution and of a transposed one. */
static inline int64_t taps_outer(const struct judge_case *c, int d)
{
    int64_t reach = taps_size(c, 'l', d, 1) * (taps_size(c, 'k', d, 1) - 1);
    return (judge_size(c, taps_names[d]) + 2 * taps_size(c, 'p', d, 0) - reach - 1) / taps_size(c, 's', d, 1) + 1;
}

static inline int64_t taps_outer_turned(const struct judge_case *c, int d)
{
    int64_t reach = taps_size(c, 'l', d, 1) * (taps_size(c, 'k', d, 1) - 1);
    return (judge_size(c, taps_names[d]) - 1) * taps_size(c, 's', d, 1) - 2 * taps_size(c, 'p', d, 0) + reach +
           taps_size(c, 'q', d, 0) + 1;
}

/* Where tap k takes element `to` of the result from: its place among the elements of a channel, -1 for nowhere. */
static inline int64_t taps_from(const struct judge_case *c, const int64_t *to, int64_t k)
{
    int64_t place = 0, tap[3];
    taps_split(c, k, tap);
    for (int d = 0; d < 3; d++) {
        int64_t extent = judge_size(c, taps_names[d]);
        int64_t from = to[d] * taps_size(c, 's', d, 1) - taps_size(c, 'p', d, 0) + tap[d] * taps_size(c, 'l', d, 1);
        if (from < 0 || from >= extent)
            return -1;
        place = place * extent + from;
    }
    return place;
}

static inline int64_t taps_from_turned(const struct judge_case *c, const int64_t *to, int64_t k)
{
    int64_t place = 0, tap[3];
    taps_split(c, k, tap);
    for (int d = 0; d < 3; d++) {
        int64_t extent = judge_size(c, taps_names[d]), stride = taps_size(c, 's', d, 1);
        int64_t from = to[d] + taps_size(c, 'p', d, 0) - tap[d] * taps_size(c, 'l', d, 1);
        if (from < 0 || from % stride != 0 || from / stride >= extent)
            return -1;
        place = place * extent + from / stride;
    }
    return place;
}
#endif
