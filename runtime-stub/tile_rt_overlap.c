/* SPDX-License-Identifier: MIT
 *
 * Do views share bytes?  Two views whose address ranges are apart do not.  Where the ranges meet (q, k and v inside one
 * tensor, or columns that interleave) the question is whether
 *
 *     sum x_i * s_i + u  ==  delta + sum y_j * t_j + v      for  0 <= x_i < extent_i,  0 <= y_j < extent_j
 *
 * with strides s, t in bytes, u and v a byte inside an element.  Terms of equal stride merge into one unknown
 * x - y, so that there is an equation  sum d_k * c_k = delta  with each d_k in an interval.  The unknown with the
 * largest coefficient comes first: the others together reach only an interval, which leaves few values for it, one or
 * two where the strides nest as those of tensors do.  So the search ends at once in practice and is exact; a bound on
 * its steps guards the rest, and beyond it the views count as overlapping. */
#include "tile_rt_internal.h"

#define MAX_STEPS 4096

int tile_rt_view_range(const uint64_t *view, unsigned rank, unsigned size, struct tile_rt_range *range)
{
    int64_t last = 0, part, bytes;
    uint64_t high;
    unsigned d;
    range->low = range->high = (uintptr_t)view[0];
    for (d = 0; d < rank; d++)
        if (view[1 + d] == 0)
            return 1;
    for (d = 0; d < rank; d++)
        if (__builtin_mul_overflow((int64_t)view[1 + d] - 1, (int64_t)view[1 + rank + d], &part) ||
            __builtin_add_overflow(last, part, &last))
            return 0;
    if (__builtin_add_overflow(last, 1, &last) || __builtin_mul_overflow(last, (int64_t)size, &bytes) ||
        bytes > INT64_MAX / 4 /* so that sums over two views fit */ ||
        __builtin_add_overflow(view[0], (uint64_t)bytes, &high))
        return 0;
    range->high = (uintptr_t)high;
    return 1;
}

int tile_rt_view_overlaps_itself(const uint64_t *view, unsigned rank)
{
    /* In the order of strides each must step over all that the smaller ones reach. */
    unsigned order[TILE_RT_MAX_RANK], d, k, count = 0;
    int64_t reach = 0, part;
    for (d = 0; d < rank; d++) {
        if (view[1 + d] == 0)
            return 0;
        if (view[1 + d] == 1)
            continue;
        for (k = count++; k > 0 && view[1 + rank + order[k - 1]] > view[1 + rank + d]; k--)
            order[k] = order[k - 1];
        order[k] = d;
    }
    for (k = 0; k < count; k++) {
        int64_t extent = (int64_t)view[1 + order[k]], stride = (int64_t)view[1 + rank + order[k]];
        if (stride <= reach)
            return 1;
        if (__builtin_mul_overflow(extent - 1, stride, &part) || __builtin_add_overflow(reach, part, &reach))
            return 0; /* larger than memory, which tile_rt_view_range says */
    }
    return 0;
}

/* d * coefficient with d in [low, high] */
struct term {
    int64_t coefficient, low, high;
};

struct search {
    struct term terms[2 * TILE_RT_MAX_RANK + 1];
    int count, steps;
};

static void term_add(struct search *search, int64_t coefficient, int64_t low, int64_t high)
{
    int i;
    if (low == 0 && high == 0)
        return;
    for (i = 0; i < search->count; i++)
        if (search->terms[i].coefficient == coefficient) {
            search->terms[i].low += low;
            search->terms[i].high += high;
            return;
        }
    for (i = search->count++; i > 0 && search->terms[i - 1].coefficient < coefficient; i--)
        search->terms[i] = search->terms[i - 1];
    search->terms[i].coefficient = coefficient;
    search->terms[i].low = low;
    search->terms[i].high = high;
}

static int64_t divide_down(int64_t a, int64_t b) { return a / b - (a % b < 0); }

/* Has sum over terms[first..] of d * c == delta a solution? */
static int search_solution(struct search *search, int first, int64_t delta)
{
    int64_t low = 0, high = 0, from, to, d;
    const struct term *term = &search->terms[first];
    int i;
    if (first == search->count)
        return delta == 0;
    for (i = first + 1; i < search->count; i++) {
        low += search->terms[i].low * search->terms[i].coefficient;
        high += search->terms[i].high * search->terms[i].coefficient;
    }
    /* the rest must reach delta - d * c:  low <= delta - d * c <= high */
    from = -divide_down(high - delta, term->coefficient);
    to = divide_down(delta - low, term->coefficient);
    from = from > term->low ? from : term->low;
    to = to < term->high ? to : term->high;
    for (d = from; d <= to; d++) {
        if (++search->steps > MAX_STEPS)
            return 1;
        if (search_solution(search, first + 1, delta - d * term->coefficient))
            return 1;
    }
    return 0;
}

int tile_rt_views_overlap(const uint64_t *a, unsigned rank_a, unsigned size_a, const uint64_t *b, unsigned rank_b,
                          unsigned size_b)
{
    struct search search;
    unsigned d;
    search.count = search.steps = 0;
    /* Strides of 0 say nothing and would divide; both ranges were checked, so no sum here overflows. */
    for (d = 0; d < rank_a; d++)
        if (a[1 + rank_a + d] != 0)
            term_add(&search, (int64_t)(a[1 + rank_a + d] * size_a), 0, (int64_t)a[1 + d] - 1);
    for (d = 0; d < rank_b; d++)
        if (b[1 + rank_b + d] != 0)
            term_add(&search, (int64_t)(b[1 + rank_b + d] * size_b), -((int64_t)b[1 + d] - 1), 0);
    term_add(&search, 1, -((int64_t)size_b - 1), (int64_t)size_a - 1);
    return search_solution(&search, 0, (int64_t)(b[0] - a[0]));
}
