/* Sorting and counting: number e of a case is 1 where it descends. */
#include "core.h"

enum { LONGEST = 1024 };

/* Whether element i of a line stands before element j. */
static bool stands_before(const long double *line, int64_t i, int64_t j, bool descends)
{
    long double x = line[i], y = line[j];
    if (isnan(x) || isnan(y))
        return isnan(x) && isnan(y) ? i < j : isnan(y);
    if (x == y && signbit(x) != signbit(y))
        return (signbit(x) != 0) != descends;
    return x == y ? i < j : descends ? x > y : x < y;
}

/* The position of the element that comes to `place`. */
static int64_t comes_to(const struct judge_case *c, struct line line, int64_t place)
{
    long double elements[LONGEST];
    bool descends = judge_size_or(c, "e", 0) != 0;
    for (int64_t i = 0; i < line.count && i < LONGEST; i++)
        elements[i] = line_element(c, 0, line, i);
    for (int64_t i = 0; i < line.count; i++) {
        int64_t before = 0;
        for (int64_t j = 0; j < line.count; j++)
            before += j != i && stands_before(elements, j, i, descends);
        if (before == place)
            return i;
    }
    return -1;
}

static struct judge_value sorted(const struct judge_case *c, const int64_t *at, int t)
{
    struct line line = line_of(c, 0, at);
    return exactly(line_element(c, t, line, comes_to(c, line, at[judge_size_or(c, "a", 0)])));
}
WANT(sort) { return sorted(c, at, 0); }
WANT(topk) { return sorted(c, at, 0); }
WANT(follows) { return sorted(c, at, 1); }
WANT(argsort) { return exactly(comes_to(c, line_of(c, 0, at), at[judge_size_or(c, "a", 0)])); }
WANT(topkat) { return exactly(comes_to(c, line_of(c, 0, at), at[judge_size_or(c, "a", 0)])); }

WANT(histogram)
{
    int64_t n = 0;
    for (int64_t i = 0; i < c->tensors[0].elements; i++)
        n += judge_exact(c, 0, i) == at[0] && (c->tensor_count == 2 || judge_exact(c, 1, i) != 0);
    return exactly(n);
}

#include "sorting_rows.h"
