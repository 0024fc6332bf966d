/* Numbers in the source. */
#include "core.h"
#include <string.h>

WANT(number) { return exactly(judge_size(c, "k")); }
WANT(negative) { return exactly(-(long double)judge_size(c, "k")); }
WANT(half) { return exactly(0.5); }
WANT(yes) { return exactly(1); }
WANT(extent) { return wrapped(c, (uint64_t)judge_size(c, "n")); }
WANT(infinite) { return exactly(INFINITY); }
WANT(undefined) { return exactly(NAN); }

/* Infinities where the type has them. */
static long double end(const struct judge_case *c)
{
    enum judge_type type = result_type(c);
    bool is_infinite = element_is_float(type) && type != JUDGE_F8E4M3;
    return is_infinite ? (long double)INFINITY : element_largest(type);
}
WANT(most) { return exactly(end(c)); }
WANT(least) { return exactly(element_is_float(result_type(c)) ? -end(c) : element_smallest(result_type(c))); }

WANT(same) { return exactly(!isnan(operand(c, 0, at))); }
WANT(differs) { return exactly(isnan(operand(c, 0, at))); }
WANT(ordered) { return exactly(isnan(operand(c, 0, at))); }
WANT(one) { return exactly(operand(c, 0, at)); }

/* -0 + 0 is 0, and -0 - 0 is -0: of the second all is kept. */
WANT(zero)
{
    long double x = operand(c, 0, at);
    return exactly(x == 0 && !strstr(c->problem->name, "negative") ? 0 : x);
}

#include "constants_rows.h"
