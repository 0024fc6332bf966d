/* Conversions. */
#include "core.h"

/* A float as an integer: without its fraction, in range; NaN is 0. */
static long double whole(enum judge_type to, long double x, int rounding)
{
    long double near = rounding == ELEMENT_NEAREST ? nearbyintl(x)
                       : rounding == ELEMENT_UP    ? ceill(x)
                       : rounding == ELEMENT_DOWN  ? floorl(x)
                                                   : truncl(x);
    if (isnan(x) || near == 0)
        return 0;
    return near > element_largest(to) ? element_largest(to) : near < element_smallest(to) ? element_smallest(to) : near;
}

static struct judge_value converted(const struct judge_case *c, const int64_t *at, int rounding, int to_whole)
{
    enum judge_type from = type_of(c, 0), to = result_type(c);
    long double x = operand(c, 0, at);
    if (to == JUDGE_BOOL)
        return exactly(x != 0);
    if (element_is_float(to))
        return exactly(element_round(to, x, (enum element_rounding)rounding));
    return element_is_float(from) ? exactly(whole(to, x, to_whole)) : wrapped(c, bits_of(x));
}

WANT(plain) { return converted(c, at, ELEMENT_NEAREST, ELEMENT_TO_ZERO); }

WANT(rounded)
{
    int way = (int)judge_size(c, "w");
    return converted(c, at, way, way);
}

WANT(saturated)
{
    enum judge_type to = result_type(c);
    long double x = operand(c, 0, at), most = element_largest(to), least = element_smallest(to);
    if (isnan(x))
        return exactly(x);
    x = x > most ? most : x < least ? least : x;
    return exactly(element_round(to, x, ELEMENT_NEAREST));
}

WANT(bits)
{
    enum judge_type from = type_of(c, 0), to = result_type(c);
    return exactly(element_decode(to, element_encode(from, operand(c, 0, at))));
}

#include "casts_rows.h"
