/* Scans: numbers v and y of a case say reverse and exclusive. */
#include "core.h"

/* The elements that come together for `at`, in their order. */
struct way {
    struct line line;
    int64_t count; /* so many of them */
    bool reverse;
};

static struct way way_of(const struct judge_case *c, const int64_t *at)
{
    struct way way = {line_of(c, 0, at), 0, judge_size_or(c, "v", 0) != 0};
    int64_t own = at[judge_size_or(c, "a", 0)];
    way.count = (way.reverse ? way.line.count - 1 - own : own) + !judge_size_or(c, "y", 0);
    return way;
}

static long double element(const struct judge_case *c, int t, struct way way, int64_t k)
{
    return line_element(c, t, way.line, way.reverse ? way.line.count - 1 - k : k);
}

WANT(sum)
{
    struct way way = way_of(c, at);
    uint64_t r = 0;
    for (int64_t k = 0; k < way.count; k++)
        r += bits_of(element(c, 0, way, k));
    return wrapped(c, r);
}

WANT(total)
{
    struct way way = way_of(c, at);
    struct judge_value r = {0, 0};
    for (int64_t k = 0; k < way.count; k++) {
        long double x = element(c, 0, way, k);
        r.value += x, r.size += fabsl(x);
    }
    return r;
}

WANT(product)
{
    struct way way = way_of(c, at);
    long double r = 1;
    uint64_t bits = 1;
    for (int64_t k = 0; k < way.count; k++) {
        long double x = element(c, 0, way, k);
        if (is_float(c, 0))
            r *= x;
        else
            bits *= bits_of(x);
    }
    return is_float(c, 0) ? (struct judge_value){r, r} : wrapped(c, bits);
}

static struct judge_value most(const struct judge_case *c, const int64_t *at, int sign, bool nan)
{
    struct way way = way_of(c, at);
    long double end = sign > 0 ? element_smallest(result_type(c)) : element_largest(result_type(c)), r;
    if (is_float(c, 0))
        end = -sign * INFINITY;
    r = way.count && !judge_size_or(c, "y", 0) ? element(c, 0, way, 0) : end;
    for (int64_t k = 0; k < way.count; k++) {
        long double x = element(c, 0, way, k);
        r = nan && (isnan(r) || isnan(x)) ? (long double)NAN : sign > 0 ? greater(r, x) : lesser(r, x);
    }
    return exactly(r);
}
WANT(max) { return most(c, at, 1, false); }
WANT(min) { return most(c, at, -1, false); }
WANT(nanmax) { return most(c, at, 1, true); }

WANT(first) { return exactly(element(c, 0, way_of(c, at), 0)); }

WANT(last)
{
    struct way way = way_of(c, at);
    return exactly(element(c, 0, way, way.count - 1));
}

/* The element before; the first one is 7. */
WANT(roll)
{
    int64_t before = at[judge_size(c, "a")] - 1;
    return exactly(before < 0 ? 7 : line_element(c, 0, line_of(c, 0, at), before));
}

WANT(recurrence)
{
    struct way way = way_of(c, at);
    struct judge_value r = {0, 0};
    for (int64_t k = 0; k < way.count; k++) {
        long double a = element(c, 0, way, k), b = element(c, 1, way, k);
        r.value = r.value * a + b, r.size = r.size * fabsl(a) + fabsl(b);
    }
    return r;
}

#include "scans_rows.h"
