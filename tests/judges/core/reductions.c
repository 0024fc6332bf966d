/* Reductions. */
#include "core.h"

/* A sum or product of integers, in the result's type. */
#define FOLD_BITS(name, first, step)                           \
    WANT(name)                                                 \
    {                                                          \
        struct line line = line_of(c, 0, at);                  \
        uint64_t r = first;                                    \
        for (int64_t k = 0; k < line.count; k++) {             \
            uint64_t x = bits_of(line_element(c, 0, line, k)); \
            r = step;                                          \
        }                                                      \
        return wrapped(c, r);                                  \
    }
FOLD_BITS(sum, 0, r + x)
FOLD_BITS(xorsum, 0, r ^ x)
FOLD_BITS(any, 0, r | x)
FOLD_BITS(all, 1, r &x)

WANT(total)
{
    struct line line = line_of(c, 0, at);
    struct judge_value r = {0, 0};
    for (int64_t k = 0; k < line.count; k++) {
        long double x = line_element(c, 0, line, k);
        r.value += x, r.size += fabsl(x);
    }
    return r;
}

WANT(product)
{
    struct line line = line_of(c, 0, at);
    long double r = 1;
    uint64_t bits = 1;
    for (int64_t k = 0; k < line.count; k++) {
        long double x = line_element(c, 0, line, k);
        if (is_float(c, 0))
            r *= x;
        else
            bits *= bits_of(x);
    }
    return is_float(c, 0) ? (struct judge_value){r, r} : wrapped(c, bits);
}

/* ---- the most ---- */

/* The position of the largest, with `sign` -1 of the smallest, or of the first NaN; without `nan` NaN loses. */
static int64_t place_of(const struct judge_case *c, struct line line, int sign, bool nan)
{
    int64_t best = 0;
    for (int64_t k = 1; k < line.count; k++) {
        long double x = line_element(c, 0, line, k), y = line_element(c, 0, line, best);
        if (isnan(y) ? !nan && !isnan(x) : isnan(x) ? nan : sign * x > sign * y)
            best = k;
    }
    return best;
}
WANT(argmax) { return exactly(place_of(c, line_of(c, 0, at), 1, false)); }
WANT(argmin) { return exactly(place_of(c, line_of(c, 0, at), -1, false)); }
WANT(nanargmax) { return exactly(place_of(c, line_of(c, 0, at), 1, true)); }
WANT(nanargmin) { return exactly(place_of(c, line_of(c, 0, at), -1, true)); }

static struct judge_value most(const struct judge_case *c, const int64_t *at,
                               long double (*choose)(long double, long double), bool nan)
{
    struct line line = line_of(c, 0, at);
    long double r = line_element(c, 0, line, 0);
    for (int64_t k = 1; k < line.count; k++) {
        long double x = line_element(c, 0, line, k);
        r = nan && (isnan(r) || isnan(x)) ? (long double)NAN : choose(r, x);
    }
    return exactly(r);
}
WANT(max) { return most(c, at, greater, false); }
WANT(min) { return most(c, at, lesser, false); }
WANT(nanmax) { return most(c, at, greater, true); }
WANT(nanmin) { return most(c, at, lesser, true); }

WANT(first) { return exactly(line_element(c, 0, line_of(c, 0, at), 0)); }

WANT(last)
{
    struct line line = line_of(c, 0, at);
    return exactly(line_element(c, 0, line, line.count - 1));
}

/* ---- several numbers at once ---- */

WANT(variance)
{
    struct line line = line_of(c, 0, at);
    long double mean = 0, r = 0;
    for (int64_t k = 0; k < line.count; k++)
        mean += line_element(c, 0, line, k) / line.count;
    for (int64_t k = 0; k < line.count; k++)
        r += powl(line_element(c, 0, line, k) - mean, 2) / line.count;
    return (struct judge_value){r, r + 1};
}

WANT(softmax)
{
    long double sum = 0, x = AT(c, 0, at[0], at[1]);
    for (int64_t k = 0; k < c->tensors[0].extent[1]; k++)
        sum += expl(AT(c, 0, at[0], k) - x);
    return (struct judge_value){1 / sum, 1 / sum};
}

#include "reductions_rows.h"
