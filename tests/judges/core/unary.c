/* Operations of one element. */
#include "core.h"

WANT(neg)
{
    long double x = operand(c, 0, at);
    return is_float(c, 0) ? exactly(-x) : wrapped(c, -bits_of(x));
}

WANT(abs)
{
    long double x = operand(c, 0, at);
    return is_float(c, 0) ? exactly(fabsl(x)) : wrapped(c, x < 0 ? -bits_of(x) : bits_of(x));
}

WANT(turned) { return wrapped(c, ~bits_of(operand(c, 0, at))); }
WANT(negation) { return exactly(operand(c, 0, at) == 0); }

/* ---- bits, one after the other ---- */

static int bit(const struct judge_case *c, const int64_t *at, int b) { return bits_of(operand(c, 0, at)) >> b & 1; }
static int width(const struct judge_case *c) { return element_bits(type_of(c, 0)); }

WANT(popcount)
{
    int n = 0;
    for (int b = 0; b < width(c); b++)
        n += bit(c, at, b);
    return exactly(n);
}

WANT(clz)
{
    int n = 0;
    while (n < width(c) && !bit(c, at, width(c) - 1 - n))
        n++;
    return exactly(n);
}

WANT(ctz)
{
    int n = 0;
    while (n < width(c) && !bit(c, at, n))
        n++;
    return exactly(n);
}

WANT(bitreverse)
{
    uint64_t r = 0;
    for (int b = 0; b < width(c); b++)
        r = r << 1 | (uint64_t)bit(c, at, b);
    return wrapped(c, r);
}

WANT(ilog2)
{
    long double x = operand(c, 0, at);
    return wrapped(c, x > 0 ? (uint64_t)ilogbl(x) : UINT64_MAX);
}

/* ---- floats ---- */

WANT(isnan) { return exactly(isnan(operand(c, 0, at))); }
WANT(isinf) { return exactly(isinf(operand(c, 0, at)) != 0); }
WANT(isfinite) { return exactly(isfinite(operand(c, 0, at)) != 0); }
WANT(floor) { return exactly(floorl(operand(c, 0, at))); }
WANT(ceil) { return exactly(ceill(operand(c, 0, at))); }
WANT(trunc) { return exactly(truncl(operand(c, 0, at))); }
WANT(nearest) { return exactly(nearbyintl(operand(c, 0, at))); }

WANT(relu)
{
    long double x = operand(c, 0, at);
    return exactly(x > 0 || isnan(x) ? x : 0);
}

#include "unary_rows.h"
