/* Operations of two and of three elements. */
#include "core.h"

/* ---- + - * / % ---- */

#define ARITHMETIC(name, of_bits, of_doubles)                              \
    WANT(name)                                                             \
    {                                                                      \
        long double first = operand(c, 0, at), second = operand(c, 1, at); \
        if (is_float(c, 0)) {                                              \
            double x = (double)first, y = (double)second;                  \
            return rounded(c, of_doubles);                                 \
        }                                                                  \
        uint64_t x = bits_of(first), y = bits_of(second);                  \
        return wrapped(c, of_bits);                                        \
    }
ARITHMETIC(add, x + y, x + y)
ARITHMETIC(sub, x - y, x - y)
ARITHMETIC(mul, x *y, x *y)

/* The quotient of integers without its fraction; by 0 it is 0. */
static long double quotient(long double x, long double y) { return y == 0 ? 0 : truncl(x / y); }

/* A long double has 64 bits: the quotient of two integers of 64 bits may be rounded up to the next one. */
static uint64_t divided(const struct judge_case *c, long double x, long double y)
{
    if (y == 0)
        return 0;
    if (!element_is_signed(result_type(c)))
        return (uint64_t)x / (uint64_t)y;
    return y == -1 ? -bits_of(x) : (uint64_t)((int64_t)x / (int64_t)y);
}

WANT(div)
{
    long double x = operand(c, 0, at), y = operand(c, 1, at);
    return is_float(c, 0) ? rounded(c, (double)x / (double)y) : wrapped(c, divided(c, x, y));
}

WANT(rem)
{
    long double x = operand(c, 0, at), y = operand(c, 1, at);
    if (is_float(c, 0))
        return rounded(c, fmod((double)x, (double)y));
    return wrapped(c, bits_of(x) - bits_of(y) * divided(c, x, y));
}

WANT(cdiv)
{
    long double x = operand(c, 0, at), y = operand(c, 1, at);
    return exactly(y == 0 ? 0 : quotient(x + y - 1, y));
}

WANT(mulhi)
{
    uint64_t x = bits_of(operand(c, 0, at)), y = bits_of(operand(c, 1, at));
    int bits = element_bits(result_type(c));
    if (element_is_signed(result_type(c)))
        return wrapped(c, (uint64_t)((__extension__(__int128)(int64_t) x * (int64_t)y) >> bits));
    return wrapped(c, (uint64_t)((__extension__(unsigned __int128) x * y) >> bits));
}

WANT(fma)
{
    long double x = operand(c, 0, at), y = operand(c, 1, at), z = operand(c, 2, at);
    if (result_type(c) == JUDGE_F32)
        return exactly(fmaf((float)x, (float)y, (float)z));
    return rounded(c, fma((double)x, (double)y, (double)z));
}

/* ---- choosing ---- */

WANT(min) { return exactly(lesser(operand(c, 0, at), operand(c, 1, at))); }
WANT(max) { return exactly(greater(operand(c, 0, at), operand(c, 1, at))); }
WANT(max3) { return exactly(greater(greater(operand(c, 0, at), operand(c, 1, at)), operand(c, 2, at))); }
WANT(clamp) { return exactly(lesser(greater(operand(c, 0, at), operand(c, 1, at)), operand(c, 2, at))); }
WANT(where) { return exactly(operand(c, 0, at) != 0 ? operand(c, 1, at) : operand(c, 2, at)); }
WANT(copysign) { return exactly(copysignl(operand(c, 0, at), operand(c, 1, at))); }

WANT(nanmin)
{
    long double x = operand(c, 0, at), y = operand(c, 1, at);
    return exactly(isnan(x) || isnan(y) ? (long double)NAN : lesser(x, y));
}

WANT(nanmax)
{
    long double x = operand(c, 0, at), y = operand(c, 1, at);
    return exactly(isnan(x) || isnan(y) ? (long double)NAN : greater(x, y));
}

WANT(equal) { return exactly(operand(c, 0, at) == operand(c, 1, at)); }
WANT(unequal) { return exactly(operand(c, 0, at) != operand(c, 1, at)); }
WANT(less) { return exactly(operand(c, 0, at) < operand(c, 1, at)); }
WANT(atmost) { return exactly(operand(c, 0, at) <= operand(c, 1, at)); }
WANT(more) { return exactly(operand(c, 0, at) > operand(c, 1, at)); }
WANT(atleast) { return exactly(operand(c, 0, at) >= operand(c, 1, at)); }

/* ---- bits ---- */

WANT(and) { return wrapped(c, bits_of(operand(c, 0, at)) & bits_of(operand(c, 1, at))); }
WANT(or) { return wrapped(c, bits_of(operand(c, 0, at)) | bits_of(operand(c, 1, at))); }
WANT(xor) { return wrapped(c, bits_of(operand(c, 0, at)) ^ bits_of(operand(c, 1, at))); }

/* By how many: input 1, or the number k of the row. */
static uint64_t amount(const struct judge_case *c, const int64_t *at)
{
    return c->tensor_count == 3 ? bits_of(operand(c, 1, at)) : (uint64_t)judge_size(c, "k");
}

WANT(left)
{
    uint64_t x = bits_of(operand(c, 0, at)), by = amount(c, at);
    return wrapped(c, by >= (uint64_t)element_bits(result_type(c)) ? 0 : x << by);
}

/* Of a signed number the sign comes in. */
WANT(right)
{
    long double x = operand(c, 0, at);
    uint64_t by = amount(c, at), most = (uint64_t)element_bits(result_type(c));
    return exactly(floorl(ldexpl(x, -(int)(by > most ? most : by))));
}

/* The bits of x above those of y, as one number of twice the width, from bit `from` on. */
static struct judge_value funnel(const struct judge_case *c, uint64_t x, uint64_t y, int from)
{
    int bits = element_bits(result_type(c));
    uint64_t r = 0;
    for (int b = 0; b < bits; b++) {
        int source = from + b;
        uint64_t bit = source < bits ? y >> source & 1 : x >> (source - bits) & 1;
        r |= bit << b;
    }
    return wrapped(c, r);
}

static int turn(const struct judge_case *c, int t, const int64_t *at)
{
    return (int)(bits_of(operand(c, t, at)) % (uint64_t)element_bits(result_type(c)));
}

WANT(fshl)
{
    int bits = element_bits(result_type(c));
    return funnel(c, bits_of(operand(c, 0, at)), bits_of(operand(c, 1, at)), bits - turn(c, 2, at));
}
WANT(fshr) { return funnel(c, bits_of(operand(c, 0, at)), bits_of(operand(c, 1, at)), turn(c, 2, at)); }

WANT(rotl)
{
    uint64_t x = bits_of(operand(c, 0, at));
    return funnel(c, x, x, element_bits(result_type(c)) - turn(c, 1, at));
}

WANT(rotr)
{
    uint64_t x = bits_of(operand(c, 0, at));
    return funnel(c, x, x, turn(c, 1, at));
}

WANT(permutebytes)
{
    uint64_t both = bits_of(operand(c, 1, at)) << 32 | bits_of(operand(c, 0, at)), s = bits_of(operand(c, 2, at)),
             r = 0;
    for (int k = 0; k < 4; k++) {
        uint64_t digit = s >> 4 * k & 15, byte = both >> 8 * (digit & 7) & 255;
        r |= (digit < 8 ? byte : byte & 128 ? 255 : 0) << 8 * k;
    }
    return wrapped(c, r);
}

#include "arithmetic_rows.h"
