/* Loops, branches and functions. */
#include "core.h"

/* Sums are as the source says, one after the other, but for those of cases with a tolerance. */
static long double plus(const struct judge_case *c, long double x, long double y)
{
    if (!is_float(c, 0))
        return element_wrap(result_type(c), bits_of(x) + bits_of(y));
    return element_round(result_type(c), (double)x + (double)y, ELEMENT_NEAREST);
}

WANT(repeated)
{
    int64_t step = judge_size_or(c, "w", 1);
    long double r = at_index(c, 1, at);
    for (int64_t k = 0; k < judge_size(c, "n"); k += step)
        r = plus(c, r, AT(c, 0, k));
    return (struct judge_value){r, fabsl(r) + 3};
}

WANT(until)
{
    int64_t k = 0;
    while (k < judge_size(c, "n") && AT(c, 0, k) != 8)
        k++;
    return exactly(k);
}

WANT(skipping)
{
    uint64_t r = 0;
    for (int64_t k = 0; k < judge_size(c, "n"); k++)
        r += bits_of(AT(c, 0, k)) % 2 ? 0 : bits_of(AT(c, 0, k));
    return wrapped(c, r);
}

WANT(branch)
{
    long double x = at_index(c, 0, at);
    return exactly(x > 4 ? 1 : x < 2 ? 2 : 3);
}

WANT(element)
{
    long double x = at_index(c, 0, at);
    return exactly(x > 0 ? x : 2 * x);
}

WANT(increased) { return exactly(plus(c, plus(c, at_index(c, 0, at), 1), 1)); }
WANT(exchanged) { return exactly(at_index(c, 1, at)); }

WANT(collatz)
{
    int64_t m = at[0], count = 0;
    for (; m > 1; count++)
        m = m % 2 ? 3 * m + 1 : m / 2;
    return exactly(count);
}

WANT(clipped)
{
    long double x = at_index(c, 0, at);
    return exactly(x < -50 ? -2 : x < 0 ? -1 : x == 0 ? 0 : x > 50 ? 2 : 1);
}

WANT(powers)
{
    int64_t r = 0;
    for (int64_t k = 1; k < judge_size(c, "n"); k *= 2)
        r += k;
    return exactly(r);
}

WANT(places) { return exactly((at[0] * 100 + at[1]) * 100 + at[2] + judge_size(c, "k") * 1000000); }

#include "control_rows.h"
